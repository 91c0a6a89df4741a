/* SPDX-License-Identifier: Apache-2.0
 * See text.h. */
#define _GNU_SOURCE
#include "impl/base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Unicode 16.0, table 3-7: neither overlong forms, nor surrogates, nor more than U+10FFFF. */
unsigned
cw_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (!*s)
        return 0;
    if (*s < 0x80)
        return 1;
    unsigned n = *s >= 0xc2 && *s <= 0xdf ? 2 : *s >= 0xe0 && *s <= 0xef ? 3 : *s >= 0xf0 && *s <= 0xf4 ? 4 : 0;
    unsigned low = *s == 0xe0 ? 0xa0 : *s == 0xf0 ? 0x90 : 0x80, high = *s == 0xed ? 0x9f : *s == 0xf4 ? 0x8f : 0xbf;
    for (unsigned i = 1; i < n; i++, low = 0x80, high = 0xbf)
        if (s[i] < low || s[i] > high)
            return 0;
    return n;
}

static bool
is_safe(const unsigned char *s, unsigned n, const char *keep)
{
    switch (n) {
    case 0:
        return false;
    case 1:
        return (*s >= ' ' && *s != 127) || strchr(keep, *s);
    case 2:
        return !(s[0] == 0xc2 && s[1] < 0xa0) && !(s[0] == 0xd8 && s[1] == 0x9c);
    case 3:     /* U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069 */
        return s[0] != 0xe2 || !((s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae))) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
    default:
        return true;
    }
}

bool
cw_text_is_safe(const char *s, const char *keep)
{
    for (unsigned n; *s; s += n) {
        n = cw_utf8_length(s);
        if (!is_safe((const unsigned char *)s, n, keep))
            return false;
    }
    return true;
}

bool
cw_text_make_safe(char *s, const char *keep)
{
    bool was = true;
    char *to = s;
    while (*s) {
        unsigned n = cw_utf8_length(s);
        if (is_safe((const unsigned char *)s, n, keep)) {
            memmove(to, s, n);
            to += n;
        } else {
            *to++ = '?';
            was = false;
        }
        s += n ? n : 1;
    }
    *to = 0;
    return was;
}

size_t
cw_text_make_line(char *s)
{
    size_t n = strlen(s);
    while (n && s[n - 1] == '\n')
        s[--n] = 0;
    for (char *c = s; (c = strchr(c, '\n')) != NULL;)
        *c = ' ';
    (void)cw_text_make_safe(s, "\t");
    return strlen(s);
}

static void
print(FILE *out, bool line, const char *fmt, va_list ap)
{
    char small[1024], *text = small;
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0)
        *small = 0;
    if (n >= (int)sizeof small && (text = malloc((size_t)n + 1)))
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    const bool cut = !text;
    text = cut ? small : text;
    if (line)
        (void)cw_text_make_line(text);
    else
        (void)cw_text_make_safe(text, "\n\t");
    fprintf(out, "%s%s%s", text, cut ? "... (out of memory)" : "", line || cut ? "\n" : "");
    if (text != small)
        free(text);
}

void
cw_text_print(FILE *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print(out, false, fmt, ap);
    va_end(ap);
}

void
cw_text_vline(FILE *out, const char *fmt, va_list ap)
{
    print(out, true, fmt, ap);
}

void
cw_text_line(FILE *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print(out, true, fmt, ap);
    va_end(ap);
}

unsigned
cw_utf8_unsafe(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    const unsigned n = cw_utf8_length(text);
    if (!n || is_safe(s, n, ""))
        return 0;
    return n == 1 ? s[0] : n == 2 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu) : (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
}

void
cw_text_put_in_script(FILE *out, const char *json, size_t size)
{
    const char *end = json + size;
    for (const char *at; (at = memchr(json, '<', (size_t)(end - json))); json = at + 1) {
        fwrite(json, 1, (size_t)(at - json), out);
        fputs("\\u003c", out);
    }
    fwrite(json, 1, (size_t)(end - json), out);
}
