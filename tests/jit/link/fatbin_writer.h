/* SPDX-License-Identifier: Apache-2.0
 * Writes fatbin containers from the layout that jit/link/fatbin.h states, so that no test needs a vendor's compiler. */
#ifndef TESTS_FATBIN_WRITER_H
#define TESTS_FATBIN_WRITER_H

#include "impl/base/buf.h"

#include <lz4.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum writer_how { WRITE_PLAIN, WRITE_LZ4, WRITE_ZSTD };

static inline void
write_int(struct cw_buf *b, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, v >>= 8)
        cw_buf_append(b, &(uint8_t){ (uint8_t)v }, 1);
}

static inline void
patch_int(struct cw_buf *b, size_t at, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, v >>= 8)
        b->data[at + i] = (char)v;
}

/* Begin a container; returns where it starts, for fatbin_end. */
static inline size_t
fatbin_begin(struct cw_buf *b)
{
    size_t at = b->size;
    write_int(b, 0xBA55ED50u, 4);
    write_int(b, 1, 2);
    write_int(b, 16, 2);
    write_int(b, 0, 8);
    return at;
}

static inline void
fatbin_end(struct cw_buf *b, size_t start)
{
    patch_int(b, start + 8, b->size - start - 16, 8);
}

/* kind: 1 PTX, 2 cubin. name: NULL for none. */
static inline void
fatbin_entry(struct cw_buf *b, unsigned kind, unsigned sm, enum writer_how how, const char *name, const void *data, size_t size)
{
    size_t bound = how == WRITE_ZSTD ? ZSTD_compressBound(size) : (size_t)LZ4_compressBound((int)size);
    char *packed = malloc(bound + 1);
    size_t n = size, name_size = name ? strlen(name) : 0, header = 64 + (name_size + 7) / 8 * 8;
    if (how == WRITE_LZ4)
        n = (size_t)LZ4_compress_default(data, packed, (int)size, (int)bound);
    else if (how == WRITE_ZSTD)
        n = ZSTD_compress(packed, bound, data, size, 3);
    size_t padded = (n + 7) / 8 * 8;
    write_int(b, kind, 2);
    write_int(b, 0x101, 2);
    write_int(b, header, 4);
    write_int(b, padded, 8);
    write_int(b, how == WRITE_PLAIN ? 0 : n, 4);
    write_int(b, 0, 4);
    write_int(b, 1, 2);
    write_int(b, 7, 2);
    write_int(b, sm, 4);
    write_int(b, name ? 64 : 0, 4);
    write_int(b, name_size, 4);
    write_int(b, 0x11 | (how == WRITE_LZ4 ? 0x2000 : how == WRITE_ZSTD ? 0x8000 : 0), 8);
    write_int(b, 0, 8);
    write_int(b, how == WRITE_PLAIN ? 0 : size, 8);
    if (name)
        cw_buf_append(b, name, name_size);
    while (header > 64 + name_size++)
        write_int(b, 0, 1);
    cw_buf_append(b, how == WRITE_PLAIN ? data : packed, n);
    while (n++ < padded)
        write_int(b, 0, 1);
    free(packed);
}

#endif
