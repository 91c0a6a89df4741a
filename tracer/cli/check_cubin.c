/* SPDX-License-Identifier: Apache-2.0
 * See check_cubin.h. An LZ4 block does not say how large its contents are, so the space for them grows until they fit. */
#include "tracer/cli/check_cubin.h"

#include "tracer/cli/check_elf.h"

#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* malloc'd, or NULL. */
static char *
unpack_lz4(const void *data, size_t size, size_t room, size_t *out)
{
    if (size > INT_MAX)
        return NULL;
    size_t most = size < room / 255 ? 255 * size : room;        /* no block expands more */
    most = most < INT_MAX ? most : INT_MAX;
    for (size_t capacity = 4 * size;; capacity *= 4) {
        capacity = capacity < most ? capacity : most;
        char *text = malloc(capacity + 1);
        int n = text ? LZ4_decompress_safe(data, text, (int)size, (int)capacity) : -1;
        if (n >= 0) {
            *out = (size_t)n;
            return text;
        }
        free(text);
        if (capacity == most || !text)
            return NULL;
    }
}

static char *
unpack_zstd(const void *data, size_t size, size_t room, size_t *out)
{
    unsigned long long content = ZSTD_getFrameContentSize(data, size);
    if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN || content > room)
        return NULL;
    char *text = malloc(content + 1);
    size_t n = text ? ZSTD_decompress(text, content, data, size) : 0;
    if (!text || ZSTD_isError(n)) {
        free(text);
        return NULL;
    }
    *out = n;
    return text;
}

bool
cubin_read(const void *data, size_t size, const char *compression, size_t *room, void (*found)(void *user, const char *name, bool kernel), void *user)
{
    bool lz4 = !strcmp(compression, "lz4"), zstd = !strcmp(compression, "zstd");
    if (!lz4 && !zstd)
        return elf_cubin_read(data, size, found, user);
    size_t n = 0;
    char *text = lz4 ? unpack_lz4(data, size, *room, &n) : unpack_zstd(data, size, *room, &n);
    *room -= n;
    bool ok = text && elf_cubin_read(text, n, found, user);
    free(text);
    return ok;
}
