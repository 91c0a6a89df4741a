/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer target: machine code of a fatbin as it is stored, of which `cudaway-trace check` names the kernels. The first byte of the input is the
 * compression. Names are short enough to lie in what may be decompressed, and no more is. */
#include "tracer/cli/check_cubin.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 1 << 20 };

static void
found(void *user, const char *name, bool kernel)
{
    size_t *bytes = user;
    *bytes += strlen(name);
    if (!*name || *bytes > ROOM)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const compressions[] = { "none", "lz4", "zstd" };
    size_t room = ROOM, bytes = 0;
    if (!size || size > ROOM)
        return 0;
    (void)cubin_read(data + 1, size - 1, compressions[data[0] % 3], &room, found, &bytes);
    if (room > ROOM)
        abort();
    return 0;
}
