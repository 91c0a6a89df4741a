/* SPDX-License-Identifier: Apache-2.0
 * An archive of dumps made here, independently of the writer: for manifests that the writer would never make. */
#ifndef TESTS_REPLAY_PACK_H
#define TESTS_REPLAY_PACK_H

#include "impl/base/buf.h"
#include "impl/base/hash.h"

#include <stdio.h>
#include <string.h>

static inline void
pack_raw(struct cw_buf *b, const char *name, const void *data, size_t size)
{
    static const char zeros[512];
    unsigned char h[512] = { 0 };
    unsigned sum = 0;
    snprintf((char *)h, 100, "%s", name);
    memcpy(h + 100, "0000644", 8);
    memcpy(h + 108, "0000000", 8);
    memcpy(h + 116, "0000000", 8);
    snprintf((char *)h + 124, 12, "%011o", (unsigned)size);
    memcpy(h + 136, "00000000000", 12);
    memset(h + 148, ' ', 8);
    h[156] = '0';
    memcpy(h + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
    cw_buf_append(b, h, sizeof h);
    cw_buf_append(b, data, size);
    cw_buf_append(b, zeros, (512 - size % 512) % 512);
}

static inline void
pack_member(struct cw_buf *b, struct cw_buf *sums, const char *name, const void *data, size_t size)
{
    char hex[65];
    cw_sha256_hex(data, size, hex);
    cw_buf_printf(sums, "%s  %s\n", hex, name);
    pack_raw(b, name, data, size);
}

static inline void
pack_end(struct cw_buf *b, struct cw_buf *sums)
{
    static const char zeros[1024];
    pack_raw(b, "SHA256SUMS", sums->data ? sums->data : "", sums->size);
    cw_buf_append(b, zeros, sizeof zeros);
}

#endif
