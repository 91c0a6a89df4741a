/* SPDX-License-Identifier: Apache-2.0
 * See reduce_private.h. What is declared and not used any more is found by name, in the text: a name that stands elsewhere in the block of its declaration counts as used. */
#define _GNU_SOURCE
#include "replay/reduce_private.h"

#include "replay/instrument_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16, MOST = 1 << 16 };      /* registers of a range that are listed; that are looked at */

static bool
of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next name at or behind s, outside of comments; *n: its length. */
static const char *
next_name(const char *s, const char *end, size_t *n)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
    s = cwi_find(s, end, names);
    for (*n = 0; s && s + *n < end && of_name(s[*n]); ++*n)
        ;
    return s;
}

static bool
mentions(const char *s, const char *end, const char *name, size_t size)
{
    for (size_t n; (s = next_name(s, end, &n)); s += n)
        if (n == size && !memcmp(s, name, n))
            return true;
    return false;
}

bool
reduce_mentions(const struct cw_buf *text, size_t from, size_t to, const char *name)
{
    return text->data && mentions(text->data + from, text->data + to, name, strlen(name));
}

/* Behind the brace that closes the block in which s lies; the text's end where there is none. */
static const char *
block_end(const char *s, const char *end)
{
    unsigned depth = 1;
    for (; (s = cwi_find(s, end, "{}")); s++) {
        depth += *s == '{' ? 1 : -1u;
        if (!depth)
            return s + 1;
    }
    return end;
}

/* ---- the kernel's parameters ------------------------------------------------------------------------------------------------- */

/* The kernel's list of parameters, between its parentheses, and behind it its body; false: there is none in this text. */
static bool
kernel_at(const char *kernel, const struct cw_buf *text, const char **open, const char **close, const char **end)
{
    const char *stop = text->data + text->size, *s = text->data;
    bool entry = false;
    for (size_t n; s && (s = next_name(s, stop, &n)); s += n) {
        if (entry && n == strlen(kernel) && !memcmp(s, kernel, n)) {
            *open = cwi_find(s + n, stop, "({;");
            *close = *open ? cwi_find(*open, stop, "){;") : NULL;
            const char *body = *close && **open == '(' && **close == ')' ? cwi_find(*close, stop, "{;") : NULL;
            if (!body || *body != '{')
                return false;
            *end = block_end(body + 1, stop);
            return true;
        }
        entry = n == 5 && !memcmp(s, "entry", 5);
    }
    return false;
}

/* Parameter `i` in the list, with the comma or the parenthesis before it left out: [*s, *end). */
static bool
param_at(const char *open, const char *close, uint32_t i, const char **s, const char **end)
{
    for (*s = open + 1;; *s = *end + 1) {
        *end = cwi_find(*s, close, ",");
        *end = *end ? *end : close;
        if (!i--)
            return true;
        if (*end == close)
            return false;
    }
}

bool
reduce_uses_param(const char *kernel, uint32_t i, const struct cw_buf *text)
{
    const char *open, *close, *end, *s, *e, *name = NULL;
    size_t n, size = 0;
    if (!text->data || !kernel_at(kernel, text, &open, &close, &end))
        return false;
    if (!param_at(open, close, i, &s, &e))
        return true;
    const char *bracket = cwi_find(s, e, "[");
    for (const char *t = s; (t = next_name(t, bracket ? bracket : e, &n)); t += n) {     /* the last one */
        name = t;
        size = n;
    }
    return !name || mentions(close, end, name, size);
}

static void
drop_params(const char *kernel, const bool *param, uint32_t nparams, struct cw_buf *text)
{
    struct cw_buf out;
    const char *open, *close, *end, *s, *e;
    bool any = false;
    for (uint32_t i = 0; i < nparams; i++)
        any = any || param[i];
    if (!any || !kernel_at(kernel, text, &open, &close, &end))
        return;
    cw_buf_init(&out);
    cw_buf_append(&out, text->data, (size_t)(open + 1 - text->data));
    bool first = true;
    for (uint32_t i = 0; param_at(open, close, i, &s, &e); i++) {
        if (i < nparams && param[i])
            continue;
        cw_buf_puts(&out, first ? "" : ",");
        cw_buf_append(&out, s, (size_t)(e - s));
        first = false;
    }
    cw_buf_append(&out, close, (size_t)(text->data + text->size - close));
    cw_buf_finish(text);
    *text = out;
}

/* ---- registers and variables ------------------------------------------------------------------------------------------------- */

/* The names of "%r<40>" that stand in [from, to): one by one, or where these are many, the range up to the last. */
static void
write_range(const char *stem, size_t n, uint32_t count, const char *from, const char *to, unsigned *written, struct cw_buf *out)
{
    bool *used = calloc(count + (size_t)1, sizeof *used);
    uint32_t total = 0, last = 0;
    size_t size;
    for (const char *s = from; used && (s = next_name(s, to, &size)); s += size) {
        uint32_t v = 0, digits = 0;
        if (size <= n || memcmp(s, stem, n) || (s[n] == '0' && size > n + 1))
            continue;
        for (size_t k = n; k < size && s[k] >= '0' && s[k] <= '9' && v < MOST; k++, digits++)
            v = v * 10 + (uint32_t)(s[k] - '0');
        if (n + digits == size && v < count) {
            total += !used[v];
            used[v] = true;
            last = v > last ? v : last;
        }
    }
    if (!used)
        out->failed = true;
    if (total > FEW)
        cw_buf_printf(out, "%s%.*s<%u>", (*written)++ ? ", " : " ", (int)n, stem, last + 1);
    for (uint32_t i = 0; i < count && total && total <= FEW; i++)
        if (used[i])
            cw_buf_printf(out, "%s%.*s%u", (*written)++ ? ", " : " ", (int)n, stem, i);
    free(used);
}

/* ".reg .b32 %r<40>, %c;" in [s, end), whose names stand in [end, to) where they are used. */
static void
write_registers(const char *s, const char *end, const char *to, struct cw_buf *out)
{
    const char *list = s;
    size_t n;
    unsigned written = 0;
    struct cw_buf names;
    for (const char *dot = s; (dot = cwi_find(dot, end, ".")); dot++) {
        list = next_name(dot, end, &n);                 /* behind .reg, .v4, .b32 */
        list += n;
    }
    cw_buf_init(&names);
    for (const char *name = list; (name = next_name(name, end, &n)); ) {
        const char *behind = cwi_find(name + n, end, "<,;");
        if (*behind == '<') {
            unsigned long count = strtoul(behind + 1, NULL, 0);
            write_range(name, n, count < MOST ? (uint32_t)count : MOST, end, to, &written, &names);
            behind = cwi_find(behind, end, ",;");
        } else if (mentions(end, to, name, n)) {
            cw_buf_printf(&names, "%s%.*s", written++ ? ", " : " ", (int)n, name);
        }
        name = behind + 1;
    }
    if (written) {
        cw_buf_append(out, s, (size_t)(list - s));
        cw_buf_append(out, names.data, names.size);
        cw_buf_puts(out, ";");
    }
    out->failed = out->failed || names.failed;
    cw_buf_finish(&names);
}

/* The end of the statement at s, behind its semicolon; NULL: there is none. Initialisers have braces. */
static const char *
statement_end(const char *s, const char *end)
{
    unsigned depth = 0;
    for (; (s = cwi_find(s, end, ";{}")); s++) {
        depth += *s == '{' ? 1 : *s == '}' ? -1u : 0;
        if (*s == ';' && !depth)
            return s + 1;
    }
    return NULL;
}

/* Whether a variable declared in [s, end) stands elsewhere in the text. True also where several are declared. */
static bool
variable_used(const char *s, const char *end, const struct cw_buf *text)
{
    const char *stop = cwi_find(s, end, "[=,;"), *name = NULL;
    size_t n, size = 0;
    for (const char *t = s; (t = next_name(t, stop, &n)); t += n) {
        name = t;
        size = n;
    }
    const char *brace = cwi_find(s, end, "={;"), *comma = cwi_find(s, brace, ",");
    return !name || comma || mentions(text->data, s, name, size) || mentions(end, text->data + text->size, name, size);
}

static bool
is_word(const char *s, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - s) > n && !memcmp(s, word, n) && is_space(s[n]);
}

/* Behind what was written, a variable's linkage, which goes with it. */
static void
drop_linkage(struct cw_buf *out)
{
    static const char *const words[] = { ".visible", ".extern", ".weak", ".common" };
    size_t n = out->size;
    while (n && is_space(out->data[n - 1]))
        n--;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (n >= strlen(words[i]) && !memcmp(out->data + n - strlen(words[i]), words[i], strlen(words[i])))
            out->size = n - strlen(words[i]);
}

static void
drop_unused(struct cw_buf *text)
{
    static const char *const spaces[] = { ".global", ".const", ".shared", ".local" };
    const char *begin = text->data, *end = begin + text->size, *at = begin, *stop;
    unsigned parentheses = 0;
    struct cw_buf out;
    cw_buf_init(&out);
    for (const char *s = begin; (s = cwi_find(s, end, ".()")); s++) {
        parentheses += *s == '(' ? 1 : *s == ')' ? -1u : 0;
        if (*s != '.' || parentheses || (s > begin && !is_space(s[-1]) && !strchr(";{}", s[-1])))
            continue;
        bool reg = is_word(s, end, ".reg"), variable = false;
        for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
            variable = variable || is_word(s, end, spaces[i]);
        if ((!reg && !variable) || !(stop = statement_end(s, end)))
            continue;
        if (reg || !variable_used(s, stop, text)) {
            cw_buf_append(&out, at, (size_t)(s - at));
            if (reg)
                write_registers(s, stop, block_end(stop, end), &out);
            else
                drop_linkage(&out);
            at = stop;
        }
        s = stop - 1;
    }
    cw_buf_append(&out, at, (size_t)(end - at));
    cw_buf_finish(text);
    *text = out;
}

/* Lines in which nothing stands any more. */
static void
drop_blank_lines(struct cw_buf *text)
{
    size_t to = 0, line = 0;
    bool any = false;
    for (size_t i = 0; i < text->size; i++) {
        any = any || !is_space(text->data[i]);
        text->data[to++] = text->data[i];
        if (text->data[i] == '\n') {
            to = any ? to : line;
            line = to;
            any = false;
        }
    }
    text->size = to;
}

void
reduce_declarations(const char *kernel, const bool *param, uint32_t nparams, bool unused, struct cw_buf *text)
{
    if (!text->data)
        return;
    drop_params(kernel, param, nparams, text);
    if (!unused)
        return;
    drop_unused(text);
    if (!text->failed)
        drop_blank_lines(text);
}
