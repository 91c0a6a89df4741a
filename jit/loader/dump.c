/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_JIT_DUMP: writes the stages of every compilation to files. */
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/hash.h"
#include "impl/base/log.h"
#include "jit/loader/loader.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool
cwj_dump_enabled(void)
{
    const char *dir = cw_env_get(CW_ENV_JIT_DUMP);
    return dir && *dir;
}

void
cwj_dump(const char *kernel, const uint8_t key[32], const char *suffix, const void *data, size_t size)
{
    const char *dir = cw_env_get(CW_ENV_JIT_DUMP);
    if (!dir || !*dir)
        return;
    char name[101], hex[9], path[PATH_MAX];
    size_t n = 0;
    for (; kernel[n] && n < sizeof name - 1; n++) {
        char c = kernel[n];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        name[n] = plain ? c : '-';
    }
    name[n] = 0;
    cw_hex(key, 4, hex);
    if (snprintf(path, sizeof path, "%s/%s-%s.%s", dir, name, hex, suffix) >= (int)sizeof path)
        errno = ENAMETOOLONG;
    else if (!cw_mkdirs(dir, 0700) && !cw_file_write_atomic(path, data, size, 0600))
        return;
    cw_warn("cannot write %s: %s", path, strerror(errno));
}
