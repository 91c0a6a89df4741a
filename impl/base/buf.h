/* SPDX-License-Identifier: Apache-2.0
 * Growable byte buffer, also used as a string builder. Growth failure is sticky: `failed` is set, later appends do
 * nothing, and the owner checks once at the end. `data` is always NUL-terminated when non-NULL. */
#ifndef CW_BUF_H
#define CW_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_buf {
    char  *data;
    size_t size, capacity;
    bool   failed;
};

void cw_buf_init(struct cw_buf *b);
void cw_buf_finish(struct cw_buf *b);
void cw_buf_append(struct cw_buf *b, const void *data, size_t size);
void cw_buf_puts(struct cw_buf *b, const char *s);
void cw_buf_printf(struct cw_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cw_buf_vprintf(struct cw_buf *b, const char *fmt, va_list ap);
/* Append a JSON string literal, quotes included. It is UTF-8 that a terminal acts on nowhere, whatever `s` is: control characters, and those that turn the
 * direction of text, are escaped, and a byte of no character becomes U+FFFD. */
void cw_buf_json_string(struct cw_buf *b, const char *s);

/* An integer of 1 to 8 bytes, little endian. */
static inline uint64_t
cw_read_le(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

#endif
