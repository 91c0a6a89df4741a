/* SPDX-License-Identifier: Apache-2.0
 * See format.h. */
#include "impl/format.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { STRING_MAX = 4096 };

struct line {
    char *text;
    size_t size, room;
};

static void
put(struct line *l, const char *s, size_t n)
{
    if (n > l->room - l->size)
        n = l->room - l->size;
    memcpy(l->text + l->size, s, n);
    l->size += n;
}

struct args {
    const uint8_t *base;
    size_t offset, room;
    bool over;                  /* more was taken than there is */
};

/* Arguments lie at their natural alignment. */
static uint64_t
take(struct args *a, unsigned size)
{
    a->offset = (a->offset + size - 1) & ~(size_t)(size - 1);
    uint64_t v = 0;
    if (!a->base || a->offset > a->room || size > a->room - a->offset) {
        a->over = true;
        return 0;
    }
    memcpy(&v, a->base + a->offset, size);
    a->offset += size;
    return v;
}

/* One conversion. `spec` is "%...c" with the length modifier removed and room for two more characters. */
static void
convert(struct line *l, struct args *a, char *spec, size_t n, char conv, unsigned size)
{
    char tmp[512];
    int w;
    spec[n] = 0;
    switch (conv) {
    case 'd':
    case 'i': {
        uint64_t v = take(a, size);
        int64_t s = size == 8 ? (int64_t)v : (int32_t)v;
        memcpy(spec + n, "ld", 3);
        w = snprintf(tmp, sizeof tmp, spec, (long)s);
        break;
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
        uint64_t v = take(a, size);
        spec[n] = 'l';
        spec[n + 1] = conv;
        spec[n + 2] = 0;
        w = snprintf(tmp, sizeof tmp, spec, (unsigned long)v);
        break;
    }
    case 'c':
        spec[n] = 'c';
        spec[n + 1] = 0;
        w = snprintf(tmp, sizeof tmp, spec, (int)take(a, 4));
        break;
    case 'p': {
        uint64_t v = take(a, size);
        spec[n] = 'p';
        spec[n + 1] = 0;
        w = snprintf(tmp, sizeof tmp, spec, (void *)(uintptr_t)v);
        break;
    }
    case 'a': case 'A': case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': {
        uint64_t v = take(a, 8);
        double d;
        memcpy(&d, &v, 8);
        spec[n] = conv;
        spec[n + 1] = 0;
        w = snprintf(tmp, sizeof tmp, spec, d);
        break;
    }
    default:
        return;
    }
    if (w > 0 && !a->over)
        put(l, tmp, (size_t)w < sizeof tmp ? (size_t)w : sizeof tmp - 1);
}

/* A string with its width; the bytes are read here, at most `limit`, so an invalid pointer faults here. */
static void
convert_string(struct line *l, const char *s, bool left, unsigned width, size_t limit)
{
    size_t n = 0;
    if (!s)
        s = "(null)";
    while (n < limit && s[n])
        n++;
    size_t pad = width > n ? width - n : 0;
    if (pad > 256)
        pad = 256;
    for (size_t i = 0; !left && i < pad; i++)
        put(l, " ", 1);
    put(l, s, n);
    for (size_t i = 0; left && i < pad; i++)
        put(l, " ", 1);
}

int32_t
cw_format(const char *f, const uint8_t *base, size_t room, unsigned word, cw_format_string *string, void *user, char *out, size_t *size)
{
    struct line line = { out, 0, CW_FORMAT_MAX }, *l = &line;
    struct args a = { base, 0, room, false };
    int32_t conversions = 0;
    const char *start = f;
    char buffer[STRING_MAX];
    *size = 0;
    if (!f)
        return -1;
    while (*f && (size_t)(f - start) < CW_FORMAT_MAX) {
        if (*f != '%') {
            put(l, f++, 1);
            continue;
        }
        if (f[1] == '%') {
            put(l, f, 1);
            f += 2;
            continue;
        }
        /* %[flags][width][.precision][size]type */
        char spec[64] = "%";
        size_t n = 1;
        bool left = false;
        const char *p = f + 1;
        for (; *p && strchr("-+ #0", *p); p++) {
            left |= *p == '-';
            if (n < 8)
                spec[n++] = *p;
        }
        long width = -1, precision = -1;
        if (*p == '*') {
            width = (int32_t)take(&a, 4);
            p++;
            if (width < 0) {
                left = true;
                spec[n++] = '-';
                width = -width;
            }
        } else if (*p >= '0' && *p <= '9') {
            for (width = 0; *p >= '0' && *p <= '9'; p++)
                width = width < 100000 ? width * 10 + (*p - '0') : width;
        }
        if (*p == '.') {
            p++;
            if (*p == '*') {
                precision = (int32_t)take(&a, 4);
                p++;
            } else {
                for (precision = 0; *p >= '0' && *p <= '9'; p++)
                    precision = precision < 100000 ? precision * 10 + (*p - '0') : precision;
            }
        }
        if (width > 256)
            width = 256;
        if (precision > 256 && *p != 's')
            precision = 256;
        if (width >= 0)
            n += (size_t)snprintf(spec + n, 8, "%ld", width);
        if (precision >= 0 && *p != 's')
            n += (size_t)snprintf(spec + n, 8, ".%ld", precision);
        unsigned size = 4;
        bool half = false;
        while (*p && strchr("hljztL", *p)) {
            if (*p == 'h')
                half = true;
            else
                size = strchr("lzt", *p) && p[-1] != 'l' ? word : 8;
            p++;
        }
        char conv = *p;
        if (conv == 's') {
            uint64_t s = take(&a, word);
            if (a.over)
                break;
            size_t limit = precision >= 0 && precision < STRING_MAX ? (size_t)precision : STRING_MAX - 1;
            convert_string(l, !string ? (const char *)(uintptr_t)s : s ? string(user, s, buffer, limit + 1) : NULL, left, width < 0 ? 0 : (unsigned)width,
                           limit);
        } else if (conv && strchr("diuoxXcpaAeEfFgG", conv)) {
            convert(l, &a, spec, n, conv, conv == 'p' ? word : half ? 4 : size);
        } else {
            /* Not a conversion: printed unchanged, as in CUDA. */
            put(l, f, (size_t)(p - f) + (conv != 0));
            f = conv ? p + 1 : p;
            continue;
        }
        if (a.over)
            break;
        conversions++;
        f = p + 1;
    }
    *size = line.size;
    return a.over ? CW_FORMAT_OVER : conversions;
}
