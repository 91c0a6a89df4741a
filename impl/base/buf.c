/* SPDX-License-Identifier: Apache-2.0
 * See buf.h. */
#include "impl/base/buf.h"

#include "impl/base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
cw_buf_init(struct cw_buf *b)
{
    memset(b, 0, sizeof *b);
}

void
cw_buf_finish(struct cw_buf *b)
{
    free(b->data);
    memset(b, 0, sizeof *b);
}

static bool
reserve(struct cw_buf *b, size_t extra)
{
    if (b->failed || extra > SIZE_MAX / 4 || b->size > SIZE_MAX / 4) {
        b->failed = true;
        return false;
    }
    size_t need = b->size + extra + 1;
    if (need <= b->capacity)
        return true;
    size_t cap = b->capacity ? b->capacity : 256;
    while (cap < need)
        cap *= 2;
    char *p = realloc(b->data, cap);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->data = p;
    b->capacity = cap;
    return true;
}

void
cw_buf_append(struct cw_buf *b, const void *data, size_t size)
{
    if (!reserve(b, size))
        return;
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = 0;
}

void
cw_buf_puts(struct cw_buf *b, const char *s)
{
    cw_buf_append(b, s, strlen(s));
}

void
cw_buf_vprintf(struct cw_buf *b, const char *fmt, va_list ap)
{
    va_list ap2;
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap2);
    va_end(ap2);
    if (n < 0 || !reserve(b, (size_t)n))
        return;
    vsnprintf(b->data + b->size, (size_t)n + 1, fmt, ap);
    b->size += (size_t)n;
}

void
cw_buf_printf(struct cw_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cw_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void
cw_buf_json_string(struct cw_buf *b, const char *s)
{
    cw_buf_append(b, "\"", 1);
    for (unsigned n; *s; s += n ? n : 1) {
        const unsigned unsafe = cw_utf8_unsafe(s);
        n = cw_utf8_length(s);
        if (*s == '"' || *s == '\\')
            cw_buf_printf(b, "\\%c", *s);
        else if (unsafe)
            cw_buf_printf(b, "\\u%04x", unsafe);
        else if (n)
            cw_buf_append(b, s, n);
        else
            cw_buf_puts(b, "\xef\xbf\xbd");     /* U+FFFD: a byte of no character */
    }
    cw_buf_append(b, "\"", 1);
}
