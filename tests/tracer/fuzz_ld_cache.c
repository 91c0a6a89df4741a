/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: the input is an ld.so.cache in which `cudaway-trace check` looks for libraries. The path that it finds lies inside, with its end; and no
 * entry for this processor's subdirectories is found where these are not asked for. */
#include "tracer/cli/ld_cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const hwcaps[] = { "x86-64-v3", "x86-64-v2" };
    static const char *const names[] = { "libc.so.6", "liba.so", "" };
    char *file = malloc(size ? size : 1);
    if (!file)
        return 0;
    if (size)
        memcpy(file, data, size);
    for (unsigned i = 0; i < 6; i++) {
        const char *path = ld_cache_find(file, size, names[i % 3], LD_CACHE_X86_64, hwcaps, i < 3 ? 2 : 0);
        if (path && (path < file || path >= file + size || !*path || !memchr(path, 0, (size_t)(file + size - path))))
            abort();
    }
    free(file);
    return 0;
}
