/* SPDX-License-Identifier: Apache-2.0
 * Reader of the directives in a test's comments (docs/ptx-tests.md). The text is split into directives, each a `//!` line with
 * the lines that continue it; a directive is read token by token. After a mistake the next directive is read, so that one run
 * reports all. Memory is bounded by PT_MAX_*: the text may be anything. */
#include "tools/ptxtest/ptxtest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token {
    const char *s;
    size_t length;
    uint32_t line, column;
    bool quoted;
};

struct reader {
    struct pt_file *f;
    const char *p, *end;            /* the rest of the text, behind what was read of the directive */
    const char *line_start;
    uint32_t line;
    bool more;                      /* inside a directive */
    struct token tok;               /* the current token; s NULL at the end of the directive */
    uint32_t first_line, last_line; /* of the directive */

    uint16_t scope[PT_MAX_SCOPE], common_scope[PT_MAX_SCOPE];   /* what is declared here, and before the first `test` */
    uint32_t nscope, common;
    bool seen_test;
    const char *test;
    struct pt_note *todo, *skip;
    uint32_t ntodo, nskip, common_todo, common_skip;
    uint32_t sm, ptx, common_sm, common_ptx;
    uint64_t memory, common_memory;
    uint64_t bytes;                 /* in lists */
    uint32_t cap_decls, cap_launches;
    struct pt_launch *launch;       /* the last one */
};

/* ---- messages --------------------------------------------------------------------------------------------------------------- */

static bool __attribute__((format(printf, 4, 5)))
error_at(struct reader *r, uint32_t line, uint32_t column, const char *fmt, ...)
{
    va_list ap;
    if (r->f->errors++ >= PT_MAX_ERRORS)
        return false;
    cw_buf_printf(&r->f->messages, "%s:%u:%u: error: ", r->f->path, line, column);
    va_start(ap, fmt);
    cw_buf_vprintf(&r->f->messages, fmt, ap);
    va_end(ap);
    cw_buf_puts(&r->f->messages, "\n");
    return false;
}
#define error(r, ...) error_at((r), (r)->tok.line, (r)->tok.column, __VA_ARGS__)

static void *
alloc(struct reader *r, size_t size)
{
    void *p = cw_arena_alloc(&r->f->arena, size);
    if (!p)
        error(r, "out of memory");
    return p;
}

/* ---- tokens ----------------------------------------------------------------------------------------------------------------- */

static bool
blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool
skip_line(struct reader *r)
{
    const char *nl = memchr(r->p, '\n', (size_t)(r->end - r->p));
    if (!nl) {
        r->p = r->end;
        return false;
    }
    r->p = nl + 1;
    r->line_start = r->p;
    r->line++;
    return true;
}

/* At the start of a line: behind its `//!`, or NULL. */
static const char *
directive_line(const struct reader *r)
{
    const char *p = r->p;
    while (p < r->end && blank(*p))
        p++;
    return r->end - p >= 3 && !memcmp(p, "//!", 3) ? p + 3 : NULL;
}

/* A line goes on with the directive before it when at least two blanks stand behind its `//!`. */
static bool
continues(const struct reader *r, const char *p)
{
    return p && r->end - p >= 2 && blank(p[0]) && blank(p[1]);
}

static void
next(struct reader *r)
{
    r->tok.s = NULL;
    r->tok.length = 0;
    r->tok.quoted = false;
    while (r->more) {
        while (r->p < r->end && blank(*r->p))
            r->p++;
        r->tok.line = r->line;
        r->tok.column = (uint32_t)(r->p - r->line_start) + 1;
        if (r->p < r->end && *r->p != '\n' && *r->p != '#')
            break;
        if (!skip_line(r) || !continues(r, directive_line(r))) {
            r->more = false;
            return;
        }
        r->last_line = r->line;
        r->p = directive_line(r);
    }
    if (!r->more)
        return;
    if (*r->p == '"') {
        const char *s = ++r->p;
        while (r->p < r->end && *r->p != '"' && *r->p != '\n')
            r->p++;
        r->tok = (struct token){ s, (size_t)(r->p - s), r->tok.line, r->tok.column, true };
        if (r->p < r->end && *r->p == '"')
            r->p++;
        else
            error(r, "the string is not closed on its line");
        return;
    }
    const char *s = r->p;
    while (r->p < r->end && !blank(*r->p) && *r->p != '\n')
        r->p++;
    r->tok.s = s;
    r->tok.length = (size_t)(r->p - s);
}

static bool
is(const struct reader *r, const char *word)
{
    return r->tok.s && !r->tok.quoted && r->tok.length == strlen(word) && !memcmp(r->tok.s, word, r->tok.length);
}

static bool
accept(struct reader *r, const char *word)
{
    if (!is(r, word))
        return false;
    next(r);
    return true;
}

static bool
expect(struct reader *r, const char *word)
{
    return accept(r, word) || error(r, "'%s' is expected here", word);
}

static int
shown(const struct reader *r)
{
    return r->tok.length > 60 ? 60 : (int)r->tok.length;
}

static const char *
text_of(struct reader *r, const struct token *t)
{
    if (memchr(t->s, 0, t->length)) {
        error_at(r, t->line, t->column, "a NUL character");
        return NULL;
    }
    char *s = cw_arena_strndup(&r->f->arena, t->s, t->length);
    if (!s)
        error(r, "out of memory");
    return s;
}

/* The current token as a name; NULL with a message. */
static const char *
name(struct reader *r, const char *what)
{
    if (!r->tok.s || r->tok.quoted || !r->tok.length || r->tok.length > PT_MAX_NAME) {
        error(r, "%s is expected here", what);
        return NULL;
    }
    const char *s = text_of(r, &r->tok);
    next(r);
    return s;
}

/* The rest of the directive as one string. */
static const char *
rest(struct reader *r)
{
    struct cw_buf b;
    cw_buf_init(&b);
    for (; r->tok.s && b.size < 1000; next(r)) {
        if (b.size)
            cw_buf_puts(&b, " ");
        cw_buf_append(&b, r->tok.s, r->tok.length);
    }
    const char *s = b.failed ? NULL : cw_arena_strndup(&r->f->arena, b.data ? b.data : "", b.size);
    cw_buf_finish(&b);
    if (!s)
        error(r, "out of memory");
    return s;
}

static bool
to_number(const char *s, size_t length, uint64_t max, uint64_t *out)
{
    char text[24], *end;
    if (!length || length >= sizeof text || s[0] < '0' || s[0] > '9')
        return false;
    memcpy(text, s, length);
    text[length] = 0;
    errno = 0;
    *out = strtoull(text, &end, text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
    return !errno && !*end && *out <= max;
}

static bool
number(struct reader *r, const char *what, uint64_t max, uint64_t *out)
{
    if (!r->tok.s || !to_number(r->tok.s, r->tok.length, max, out))
        return error(r, "%s, a number up to %llu, is expected here", what, (unsigned long long)max);
    next(r);
    return true;
}

/* ---- declarations in scope -------------------------------------------------------------------------------------------------- */

static int
find(const struct reader *r, const char *s, size_t length)
{
    for (uint32_t i = r->nscope; length && i-- > 0;) {
        const char *n = r->f->decls[r->scope[i]].name;
        if (strlen(n) == length && !memcmp(n, s, length))
            return (int)i;
    }
    return -1;
}

static bool
add_decl(struct reader *r, const struct pt_decl *d)
{
    struct pt_file *f = r->f;
    if (f->ndecls == PT_MAX_DECLS)
        return error_at(r, d->line, 1, "more than %u declarations in the file", PT_MAX_DECLS);
    if (f->ndecls == r->cap_decls) {
        uint32_t cap = r->cap_decls ? r->cap_decls * 2 : 16;
        struct pt_decl *p = alloc(r, cap * sizeof *p);
        if (!p)
            return false;
        if (f->ndecls)
            memcpy(p, f->decls, f->ndecls * sizeof *p);
        f->decls = p;
        r->cap_decls = cap;
    }
    int old = find(r, d->name, strlen(d->name));
    if (old < 0 && r->nscope == PT_MAX_SCOPE)
        return error_at(r, d->line, 1, "more than %u declarations at a launch", PT_MAX_SCOPE);
    f->decls[f->ndecls] = *d;
    r->scope[old >= 0 ? (uint32_t)old : r->nscope++] = (uint16_t)f->ndecls++;
    return true;
}

/* ---- lists of values -------------------------------------------------------------------------------------------------------- */

struct list {
    struct pt_list l;
    uint32_t capacity, limit;       /* limit: no more elements than this */
    struct token first;             /* for messages */
};

static bool
grow(struct reader *r, struct list *x, uint32_t need)
{
    unsigned size = pt_type_size(x->l.type);
    if (need > x->limit)
        return error(r, "more than %u values", x->limit);
    if (need <= x->capacity)
        return true;
    uint32_t cap = x->capacity ? x->capacity : 16;
    while (cap < need)
        cap *= 2;
    r->bytes += (uint64_t)cap * (size + 1);
    if (r->bytes > PT_MAX_BYTES)
        return error(r, "more than %u bytes of values in the file", PT_MAX_BYTES);
    uint8_t *bytes = alloc(r, (size_t)cap * size), *how = alloc(r, cap);
    if (!bytes || !how)
        return false;
    if (x->l.count) {
        memcpy(bytes, x->l.bytes, (size_t)x->l.count * size);
        memcpy(how, x->l.how, x->l.count);
    }
    if (x->l.target) {
        uint16_t *target = alloc(r, cap * sizeof *target);
        if (!target)
            return false;
        memcpy(target, x->l.target, x->l.count * sizeof *target);
        x->l.target = target;
    }
    x->l.bytes = bytes;
    x->l.how = how;
    x->capacity = cap;
    return true;
}

static bool
push(struct reader *r, struct list *x, struct pt_bits v, enum pt_how how)
{
    if (!grow(r, x, x->l.count + 1))
        return false;
    pt_store(x->l.type, x->l.bytes, x->l.count, v);
    x->l.how[x->l.count++] = (uint8_t)how;
    return true;
}

/* &NAME or &NAME+OFFSET */
static bool
push_address(struct reader *r, struct list *x)
{
    const char *s = r->tok.s + 1, *end = r->tok.s + r->tok.length, *plus = memchr(s, '+', (size_t)(end - s));
    uint64_t offset = 0;
    int at = find(r, s, (size_t)((plus ? plus : end) - s));
    if (pt_type_size(x->l.type) != 8 || x->l.type->lanes != 1)
        return error(r, "addresses have 64 bits");
    if (at < 0 || !pt_in_memory(&r->f->decls[r->scope[at]]) || (plus && !to_number(plus + 1, (size_t)(end - plus - 1), UINT32_MAX, &offset)))
        return error(r, "'%.*s' is not the address of a buffer or variable declared above", shown(r), r->tok.s);
    if (!push(r, x, (struct pt_bits){ offset, 0 }, PT_ADDRESS))
        return false;
    if (!x->l.target && !(x->l.target = alloc(r, x->capacity * sizeof *x->l.target)))
        return false;
    x->l.target[x->l.count - 1] = r->scope[at];
    return true;
}

/* The arguments of @name(a,b,...); -1 when malformed. */
static int
arguments(const struct token *t, size_t from, int64_t *arg, int max)
{
    int n = 0;
    char text[64], *p = text, *end;
    if (from == t->length)
        return 0;
    if (t->length - from >= sizeof text || t->s[from] != '(' || t->s[t->length - 1] != ')')
        return -1;
    memcpy(text, t->s + from + 1, t->length - from - 2);
    text[t->length - from - 2] = 0;
    while (*p) {
        if (n == max || blank(*p))
            return -1;
        errno = 0;
        arg[n++] = strtoll(p, &end, 0);
        if (errno || end == p || (*end && *end != ','))
            return -1;
        p = *end ? end + 1 : end;
    }
    return n;
}

static bool
push_side_file(struct reader *r, struct list *x, const char *section)
{
    const struct pt_file *f = r->f;
    if (!section)
        return error(r, "@file stands in expect lines only");
    if (!f->values)
        return error(r, "there is no side file with values");
    const char *p = f->values, *end = f->values + f->values_size;
    bool inside = false, found = false;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        if (*p == '[') {
            size_t n = strlen(section);
            inside = (size_t)(stop - p) >= n + 2 && !memcmp(p + 1, section, n) && p[n + 1] == ']';
            found |= inside;
        } else if (inside && *p != '#') {
            while (p < stop) {
                while (p < stop && blank(*p))
                    p++;
                const char *s = p, *why;
                while (p < stop && !blank(*p))
                    p++;
                char text[48] = "0x";
                size_t n = (size_t)(p - s);
                if (!n)
                    break;
                struct pt_bits v;
                struct pt_type raw = *x->l.type;
                raw.kind = PT_BITS;
                raw.bits = raw.lanes > 1 ? (uint8_t)(raw.bits * raw.lanes) : raw.bits;
                raw.lanes = 1;
                if (n > 40)
                    return error(r, "the side file has a damaged value in [%s]", section);
                memcpy(text + 2, s, n);
                if (!pt_parse(&raw, text, n + 2, &v, &why))
                    return error(r, "the side file has a damaged value in [%s]", section);
                if (!push(r, x, v, PT_EXACT))
                    return false;
            }
        }
        p = nl ? nl + 1 : end;
    }
    return found || error(r, "the side file has no section [%s]", section);
}

/* @edge @few @shift @random(seed) @near1(seed) @range(first,last[,step]) @file. Open-ended ones give `count` values. */
static bool
push_set(struct reader *r, struct list *x, uint32_t count, bool counted, const char *section)
{
    static const struct { const char *name; enum pt_set set; } sets[] = {
        { "@edge", PT_EDGE }, { "@few", PT_FEW }, { "@shift", PT_SHIFT }, { "@random", PT_RANDOM }, { "@near1", PT_NEAR_ONE },
    };
    const struct token t = r->tok;
    const char *paren = memchr(t.s, '(', t.length);
    size_t n = paren ? (size_t)(paren - t.s) : t.length;
    int64_t arg[3] = { 0 };
    int nargs = arguments(&t, n, arg, 3);
    if (n == 5 && !memcmp(t.s, "@file", 5))
        return push_side_file(r, x, section);
    if (n == 6 && !memcmp(t.s, "@range", 6) && nargs >= 2) {
        int64_t step = nargs == 3 ? arg[2] : 1;
        if (x->l.type->kind == PT_FLOAT || x->l.type->lanes != 1 || x->l.type->bits > 64)
            return error(r, "@range is for integers");
        if (!step || (step > 0) != (arg[1] >= arg[0]) || arg[0] > INT32_MAX || arg[0] < INT32_MIN || arg[1] > INT32_MAX || arg[1] < INT32_MIN)
            return error(r, "@range does not lead from the first number to the last");
        for (int64_t v = arg[0]; step > 0 ? v <= arg[1] : v >= arg[1]; v += step)
            if (!push(r, x, (struct pt_bits){ (uint64_t)v, 0 }, PT_EXACT))
                return false;
        return true;
    }
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (strlen(sets[i].name) != n || memcmp(sets[i].name, t.s, n))
            continue;
        unsigned own = pt_set_count(x->l.type, sets[i].set);
        if (nargs != (own ? 0 : 1))
            return error(r, own ? "%s takes no arguments" : "%s takes one argument, a seed", sets[i].name);
        if (!own && !count)
            return error(r, "%s needs a count: N x %s(...), or [N] behind the type", sets[i].name, sets[i].name);
        if (!counted && own)
            count = own;
        if (!grow(r, x, x->l.count + count))
            return false;
        for (unsigned k = 0; k < count; k++)
            if (!push(r, x, pt_set_value(x->l.type, sets[i].set, (uint64_t)arg[0], k), PT_EXACT))
                return false;
        return true;
    }
    return error(r, "'%.*s' is no set of values", shown(r), t.s);
}

/* Values to the end of the directive. `want`: how many there should be in the end, 0 when open. */
static bool
read_list(struct reader *r, const struct pt_type *t, uint32_t want, bool expected, const char *section, struct pt_list *out)
{
    struct list x = { .l.type = t, .limit = want ? want : PT_MAX_ELEMENTS };
    while (r->tok.s) {
        uint64_t repeat = 1;
        bool counted = false;
        struct token first = r->tok;
        const char *why;
        struct pt_bits v;
        if (to_number(first.s, first.length, PT_MAX_ELEMENTS, &repeat)) {
            /* A number, or how often the value behind `x` is repeated. */
            const struct reader before = *r;
            next(r);
            counted = accept(r, "x");
            if (!counted)
                *r = before;
        }
        if (!counted)
            repeat = 1;
        if (!r->tok.s)
            return error(r, "a value is expected here");
        if (r->tok.s[0] == '@' && !r->tok.quoted) {
            uint32_t room = x.limit - x.l.count;
            if (!push_set(r, &x, counted ? (uint32_t)repeat : want ? room : 0, counted, section))
                return false;
            next(r);
            continue;
        }
        if (repeat > x.limit - x.l.count)
            return error(r, "more than %u values", x.limit);
        for (uint64_t i = 0; i < repeat; i++) {
            bool ok;
            if (r->tok.s[0] == '&')
                ok = push_address(r, &x);
            else if (expected && (is(r, "?") || is(r, "nan*")))
                ok = push(r, &x, (struct pt_bits){ 0 }, is(r, "?") ? PT_ANY : PT_ANY_NAN);
            else if (i)
                ok = push(r, &x, v, PT_EXACT);
            else
                ok = (pt_parse(t, r->tok.s, r->tok.length, &v, &why) ||
                      error(r, "'%.*s' is no %s: %s", shown(r), r->tok.s, t->name, why)) && push(r, &x, v, PT_EXACT);
            if (!ok)
                return false;
        }
        next(r);
    }
    *out = x.l;
    return true;
}

/* TYPE, TYPE[N] or TYPE[NAME]: as many elements as that declaration has. */
static bool
read_type(struct reader *r, const struct pt_type **type, uint32_t *count)
{
    if (!r->tok.s)
        return error(r, "a type is expected here");
    const char *open = memchr(r->tok.s, '[', r->tok.length);
    size_t n = open ? (size_t)(open - r->tok.s) : r->tok.length;
    *type = pt_type_find(r->tok.s, n);
    *count = 0;
    if (!*type)
        return error(r, "'%.*s' is no element type", (int)(n > 60 ? 60 : n), r->tok.s);
    if (open) {
        const char *s = open + 1, *close = r->tok.s + r->tok.length - 1;
        uint64_t v = 0;
        if (*close != ']' || close < s)
            return error(r, "']' is missing");
        int at = find(r, s, (size_t)(close - s));
        if (at >= 0)
            v = r->f->decls[r->scope[at]].init.count;
        else if (!to_number(s, (size_t)(close - s), PT_MAX_ELEMENTS, &v))
            return error(r, "'%.*s' is neither a number up to %u nor a buffer declared above", (int)(close - s > 60 ? 60 : close - s), s,
                         PT_MAX_ELEMENTS);
        if (!v)
            return error(r, "no elements");
        *count = (uint32_t)v;
    }
    next(r);
    return true;
}

static bool
fill(struct reader *r, const struct pt_type *t, uint32_t count, struct pt_list *out)
{
    *out = (struct pt_list){ .type = t, .count = count };
    size_t size = (size_t)count * pt_type_size(t);
    r->bytes += size;
    if (r->bytes > PT_MAX_BYTES)
        return error(r, "more than %u bytes of values in the file", PT_MAX_BYTES);
    out->bytes = alloc(r, size);
    return out->bytes != NULL;
}

/* ---- directives ------------------------------------------------------------------------------------------------------------- */

/* buffer NAME TYPE = VALUES | buffer NAME TYPE[N] [= VALUES]; variable likewise */
static bool
read_buffer(struct reader *r, enum pt_decl_kind kind)
{
    struct pt_decl d = { .kind = kind, .line = r->tok.line };
    const struct pt_type *t;
    uint32_t count;
    if (!(d.name = name(r, "a name")) || !read_type(r, &t, &count))
        return false;
    if (accept(r, "=")) {
        if (!r->tok.s)
            return error(r, "a value is expected here");
        if (!read_list(r, t, count, false, NULL, &d.init))
            return false;
        if (count && d.init.count != count)
            return error(r, "%u values for %u elements", d.init.count, count);
        d.given = true;
    } else {
        if (r->tok.s)
            return error(r, "'=' is expected here");
        if (!count && kind == PT_BUFFER)
            return error(r, "a buffer without values needs a size: TYPE[N]");
        if (!fill(r, t, count ? count : 1, &d.init))
            return false;
        d.given = kind == PT_BUFFER;
    }
    return add_decl(r, &d);
}

/* value TYPE V | value NAME TYPE = VALUES | value NAME TYPE[N] = VALUES */
static bool
read_value(struct reader *r)
{
    struct pt_decl d = { .kind = PT_VALUE, .name = "", .given = true, .line = r->tok.line };
    const struct pt_type *t = r->tok.s ? pt_type_find(r->tok.s, r->tok.length) : NULL;
    uint32_t count = 1;
    if (t) {
        next(r);
    } else if (!(d.name = name(r, "a name or a type")) || !read_type(r, &t, &count) || !expect(r, "=")) {
        return false;
    }
    if (!count)
        count = 1;
    if (!read_list(r, t, count, false, NULL, &d.init))
        return false;
    if (d.init.count != count)
        return error(r, "%u values for %u elements", d.init.count, count);
    if (pt_type_size(t) * count > 4096)
        return error(r, "more than 4096 bytes");
    return add_decl(r, &d);
}

/* cross A B [C]: every combination of the elements of the buffers, the last one changing fastest. */
static bool
read_cross(struct reader *r)
{
    struct pt_decl old[4], d[4];
    uint64_t total = 1, outer = 1;
    uint32_t n = 0;
    for (; r->tok.s; next(r)) {
        int at = find(r, r->tok.s, r->tok.length);
        if (at < 0 || r->f->decls[r->scope[at]].kind != PT_BUFFER)
            return error(r, "'%.*s' is not a buffer declared above", shown(r), r->tok.s);
        if (n == 4)
            return error(r, "more than 4 buffers");
        old[n] = r->f->decls[r->scope[at]];
        total *= old[n++].init.count;
        if (total > PT_MAX_ELEMENTS)
            return error(r, "more than %u combinations", PT_MAX_ELEMENTS);
    }
    if (n < 2)
        return error(r, "cross needs two buffers or more");
    for (uint32_t i = 0; i < n; i++) {
        const struct pt_list *from = &old[i].init;
        unsigned size = pt_type_size(from->type);
        d[i] = old[i];
        if (from->target)
            return error(r, "buffers with addresses cannot be crossed");
        if (!fill(r, from->type, (uint32_t)total, &d[i].init))
            return false;
        uint64_t inner = total / outer / from->count;
        for (uint64_t k = 0; k < total; k++)
            memcpy(d[i].init.bytes + k * size, from->bytes + k / inner % from->count * size, size);
        outer *= from->count;
        if (!add_decl(r, &d[i]))
            return false;
    }
    return true;
}

static bool
read_note(struct reader *r, struct pt_note **list, uint32_t *count)
{
    const char *device = name(r, "a device");
    if (!device)
        return false;
    if (!r->tok.s)
        return error(r, "a reason is expected here");
    struct pt_note *p = alloc(r, (*count + 1) * sizeof *p);
    if (!p)
        return false;
    if (*count)
        memcpy(p, *list, *count * sizeof *p);
    p[*count] = (struct pt_note){ device, rest(r) };
    *list = p;
    *count += 1;
    return p[*count - 1].reason != NULL;
}

static bool
read_require(struct reader *r)
{
    for (; r->tok.s; next(r)) {
        uint64_t v, minor;
        const struct token t = r->tok;
        if (t.length > 3 && !memcmp(t.s, "sm_", 3) && to_number(t.s + 3, t.length - 3, 999, &v)) {
            r->sm = v > r->sm ? (uint32_t)v : r->sm;
        } else if (t.length == 7 && !memcmp(t.s, "ptx_", 4) && t.s[5] == '.' && to_number(t.s + 4, 1, 9, &v) && to_number(t.s + 6, 1, 9, &minor)) {
            v = v * 10 + minor;
            r->ptx = v > r->ptx ? (uint32_t)v : r->ptx;
        } else if (is(r, "memory")) {
            next(r);
            size_t n = r->tok.s ? r->tok.length : 0;
            if (n < 2 || (r->tok.s[n - 1] != 'M' && r->tok.s[n - 1] != 'G') || !to_number(r->tok.s, n - 1, 1 << 20, &v))
                return error(r, "a size such as 64M or 2G is expected here");
            r->memory = v << (r->tok.s[n - 1] == 'M' ? 20 : 30);
        } else {
            return error(r, "'%.*s' is none of sm_NN, ptx_N.N, memory SIZE", shown(r), t.s);
        }
    }
    return true;
}

/* X[,Y[,Z]] */
static bool
read_dims(struct reader *r, uint32_t dims[3], uint32_t max)
{
    const char *p = r->tok.s, *end = p ? p + r->tok.length : p;
    for (int i = 0; i < 3 && p && p <= end; i++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        uint64_t v;
        if (!to_number(p, (size_t)((comma ? comma : end) - p), max, &v) || !v)
            return error(r, "sizes from 1 to %u are expected here", max);
        dims[i] = (uint32_t)v;
        if (!comma) {
            next(r);
            return true;
        }
        p = comma + 1;
    }
    return error(r, "one to three sizes, such as 32 or 8,4,2, are expected here");
}

static bool
read_arguments(struct reader *r, struct pt_launch *l, const char *s, size_t length)
{
    const char *p = s, *end = s + length;
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        int at = find(r, p, (size_t)(stop - p));
        if (at < 0)
            return error(r, "'%.*s' is not declared above", (int)(stop - p > 60 ? 60 : stop - p), p);
        if (l->nparams == PT_MAX_SCOPE)
            return error(r, "more than %u arguments", PT_MAX_SCOPE);
        l->param[l->nparams++] = r->scope[at];
        p = stop + 1;
    }
    return true;
}

static struct pt_launch *
add_launch(struct reader *r)
{
    struct pt_file *f = r->f;
    if (f->nlaunches == PT_MAX_LAUNCHES) {
        error(r, "more than %u launches in the file", PT_MAX_LAUNCHES);
        return NULL;
    }
    if (f->nlaunches == r->cap_launches) {
        uint32_t cap = r->cap_launches ? r->cap_launches * 2 : 8;
        struct pt_launch *p = alloc(r, cap * sizeof *p);
        if (!p)
            return NULL;
        if (f->nlaunches)
            memcpy(p, f->launches, f->nlaunches * sizeof *p);
        f->launches = p;
        r->cap_launches = cap;
    }
    return &f->launches[f->nlaunches];
}

/* launch KERNEL[(A,B,...)] [grid X,Y,Z] [block X,Y,Z] [each BUFFER] [shared N] */
static bool
read_launch(struct reader *r)
{
    struct pt_launch *l = add_launch(r);
    if (!l)
        return false;
    *l = (struct pt_launch){ .line = r->first_line, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    bool block = false, grid = false, listed = false;
    if (!r->tok.s)
        return error(r, "the name of a kernel is expected here");
    const char *open = memchr(r->tok.s, '(', r->tok.length);
    struct token kernel = r->tok;
    if (open) {
        kernel.length = (size_t)(open - r->tok.s);
        if (r->tok.s[r->tok.length - 1] != ')')
            return error(r, "')' is missing; there are no blanks in a list of arguments");
        if (!read_arguments(r, l, open + 1, r->tok.length - kernel.length - 2))
            return false;
        listed = true;
    }
    if (!kernel.length || kernel.length > PT_MAX_NAME || !(l->kernel = text_of(r, &kernel)))
        return error(r, "the name of a kernel is expected here");
    next(r);
    while (r->tok.s) {
        uint64_t v;
        if (accept(r, "grid")) {
            if (!read_dims(r, l->grid, 1 << 16))
                return false;
            grid = true;
        } else if (accept(r, "block")) {
            if (!read_dims(r, l->block, 1024))
                return false;
            block = true;
        } else if (accept(r, "shared")) {
            if (!number(r, "bytes of shared memory", 1 << 20, &v))
                return false;
            l->shared = (uint32_t)v;
        } else if (accept(r, "each")) {
            int at = r->tok.s ? find(r, r->tok.s, r->tok.length) : -1;
            if (at < 0 || r->f->decls[r->scope[at]].kind != PT_BUFFER)
                return error(r, "a buffer declared above is expected here");
            l->count = r->f->decls[r->scope[at]].init.count;
            next(r);
        } else {
            return error(r, "'%.*s' is none of grid, block, each, shared", shown(r), r->tok.s);
        }
    }
    if (l->count) {
        if (grid || l->block[1] > 1 || l->block[2] > 1)
            return error(r, "each gives the grid, and blocks of one dimension");
        uint32_t round = (l->count + 31) / 32 * 32;
        if (!block)
            l->block[0] = round < 1024 ? round : 1024;
        l->grid[0] = (l->count + l->block[0] - 1) / l->block[0];
        l->threads = l->grid[0] * l->block[0];
    }
    if (!listed)
        for (uint32_t i = 0; i < r->nscope; i++)
            if (r->f->decls[r->scope[i]].kind != PT_VARIABLE)
                l->param[l->nparams++] = r->scope[i];
    l->test = r->test ? r->test : l->kernel;
    memcpy(l->scope, r->scope, r->nscope * sizeof *r->scope);
    l->nscope = r->nscope;
    l->todo = r->todo;
    l->ntodo = r->ntodo;
    l->skip = r->skip;
    l->nskip = r->nskip;
    l->sm = r->sm;
    l->ptx = r->ptx;
    l->memory = r->memory;
    l->last_line = r->last_line;
    r->launch = l;
    r->f->nlaunches++;
    return true;
}

/* What is said behind the size of a texture; false when the word is none of these. */
static bool
texture_option(struct reader *r, struct pt_texture *x)
{
    static const struct { const char *word; uint8_t field; unsigned value; } words[] = {
        { "x1", 0, 1 }, { "x2", 0, 2 }, { "x4", 0, 4 }, { "layered", 1, CUDA_ARRAY3D_LAYERED }, { "cubemap", 1, CUDA_ARRAY3D_CUBEMAP },
        { "gather", 1, CUDA_ARRAY3D_TEXTURE_GATHER }, { "linear", 2, 0 }, { "mip-linear", 3, 0 },
        { "normalized", 4, CU_TRSF_NORMALIZED_COORDINATES }, { "integer", 4, CU_TRSF_READ_AS_INTEGER }, { "srgb", 4, CU_TRSF_SRGB },
        { "seamless", 4, CU_TRSF_SEAMLESS_CUBEMAP }, { "wrap", 5, CU_TR_ADDRESS_MODE_WRAP }, { "clamp", 5, CU_TR_ADDRESS_MODE_CLAMP },
        { "mirror", 5, CU_TR_ADDRESS_MODE_MIRROR }, { "border", 5, CU_TR_ADDRESS_MODE_BORDER },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!accept(r, words[i].word))
            continue;
        switch (words[i].field) {
        case 0:
            x->channels = words[i].value;
            break;
        case 1:
            x->flags |= words[i].value;
            break;
        case 2:
            x->desc.filterMode = CU_TR_FILTER_MODE_LINEAR;
            break;
        case 3:
            x->desc.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
            break;
        case 4:
            x->desc.flags |= words[i].value;
            break;
        default:
            for (int k = 0; k < 3; k++)
                x->desc.addressMode[k] = (CUaddress_mode)words[i].value;
        }
        return true;
    }
    return false;
}

/* texture|surface NAME of BUFFER W[,H[,D]] [OPTIONS] */
static bool
read_texture(struct reader *r, enum pt_decl_kind kind)
{
    struct pt_decl d = { .kind = (uint8_t)kind, .given = true, .line = r->first_line };
    struct pt_texture *x = alloc(r, sizeof *x);
    if (!x || !(d.name = name(r, "a name")) || !expect(r, "of"))
        return false;
    memset(x, 0, sizeof *x);
    int at = r->tok.s ? find(r, r->tok.s, r->tok.length) : -1;
    if (at < 0 || r->f->decls[r->scope[at]].kind != PT_BUFFER)
        return error(r, "a buffer declared above is expected here");
    const struct pt_decl *b = &r->f->decls[x->buffer = r->scope[at]];
    if (b->init.type->lanes != 1 || b->init.type->bits > 32 || (b->init.type->kind == PT_FLOAT && b->init.type->mantissa != 10 && b->init.type->mantissa != 23))
        return error(r, "textures have elements of 8, 16 or 32-bit integers, f16 or f32");
    next(r);
    x->dims = 1;
    for (size_t i = 0; r->tok.s && i < r->tok.length; i++)
        x->dims += r->tok.s[i] == ',';
    x->size[0] = x->size[1] = x->size[2] = x->channels = x->levels = 1;
    x->desc.maxMipmapLevelClamp = 1000;
    if (!read_dims(r, x->size, 16384))
        return false;
    while (r->tok.s) {
        uint64_t v;
        if (accept(r, "levels")) {
            if (!number(r, "mipmap levels", 15, &v))
                return false;
            x->levels = v ? (uint32_t)v : 1;
        } else if (!texture_option(r, x)) {
            return error(r, "'%.*s' is no property of a texture or surface", shown(r), r->tok.s);
        }
    }
    bool layers = x->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    if (layers && x->dims == 2 && !(x->flags & CUDA_ARRAY3D_CUBEMAP)) {     /* W,LAYERS */
        x->size[2] = x->size[1];
        x->size[1] = x->dims = 1;
    }
    uint64_t need = 0;
    for (uint32_t l = 0; l < x->levels; l++) {
        uint64_t n = x->channels;
        for (int k = 0; k < 3; k++)
            n *= k == 2 && layers ? x->size[2] : x->size[k] >> l ? x->size[k] >> l : 1;
        need += n;
    }
    if (need != b->init.count)
        return error_at(r, d.line, 1, "the texture has %llu elements, and %s has %u", (unsigned long long)need, b->name, b->init.count);
    if (kind == PT_SURFACE)
        x->flags |= CUDA_ARRAY3D_SURFACE_LDST;
    d.texture = x;
    d.init.type = pt_type_find("u64", 3);
    d.init.count = 1;
    if (!(d.init.bytes = alloc(r, 8)))
        return false;
    memset(d.init.bytes, 0, 8);
    return add_decl(r, &d);
}

static bool
read_options(struct reader *r, struct pt_expect *x)
{
    for (;;) {
        uint64_t v;
        if (accept(r, "ulp")) {
            if (!number(r, "units in the last place", 1u << 30, &v))
                return false;
            x->ulp = (uint32_t)v;
        } else if (accept(r, "abs")) {
            char text[40], *end;
            size_t n = r->tok.s && r->tok.length < sizeof text ? r->tok.length : 0;
            memcpy(text, n ? r->tok.s : "", n);
            text[n] = 0;
            x->abs = strtod(text, &end);
            if (!n || *end || !(x->abs > 0))
                return error(r, "an allowed difference above 0 is expected here");
            next(r);
        } else if (accept(r, "nan")) {
            if (!expect(r, "any"))
                return false;
            x->nan_any = true;
        } else {
            return true;
        }
    }
}

/* same TEST: what the buffer of the same name holds there. */
static bool
read_same(struct reader *r, const struct pt_decl *d, struct pt_expect *x)
{
    const struct pt_file *f = r->f;
    for (uint32_t i = 0; i + 1 < f->nlaunches && r->tok.s; i++) {
        const struct pt_launch *l = &f->launches[i];
        if (!is(r, l->test))
            continue;
        for (uint32_t k = 0; k < l->nexpects; k++) {
            const struct pt_decl *other = &f->decls[l->expects[k].decl];
            if (strcmp(other->name, d->name))
                continue;
            if (other->init.type != d->init.type || other->init.count != d->init.count)
                return error(r, "%s has another type or size there", d->name);
            uint32_t line = x->line;
            uint16_t decl = x->decl;
            *x = l->expects[k];
            x->pending = x->origin == PT_UNKNOWN;
            x->origin = PT_SAME;
            x->line = line;
            x->decl = decl;
            next(r);
            return true;
        }
        x->origin = PT_SAME;        /* nothing is said of it there yet */
        x->pending = true;
        next(r);
        return true;
    }
    return error(r, "a test above is expected here");
}

/* expect NAME same TEST | expect NAME derived|recorded ["LABEL"] [OPTIONS] = VALUES | expect NAME recorded | expect NAME any | expect error NAME ["TEXT"] */
static bool
read_expect(struct reader *r)
{
    struct pt_launch *l = r->launch;
    struct pt_expect x = { .line = r->first_line };
    if (!l)
        return error(r, "no launch stands above");
    l->last_line = r->last_line;
    if (accept(r, "error")) {
        if (l->error)
            return error(r, "a second error is expected");
        if (!(l->error = name(r, "the name of an error")))
            return false;
        if (r->tok.s && r->tok.quoted) {
            if (!(l->error_text = text_of(r, &r->tok)))
                return false;
            next(r);
        }
        l->last_line = r->last_line;
        return !r->tok.s || error(r, "nothing else is expected here");
    }
    int at = -1;
    for (uint32_t i = 0; i < l->nscope && r->tok.s; i++) {
        const struct pt_decl *d = &r->f->decls[l->scope[i]];
        if (pt_in_memory(d) && strlen(d->name) == r->tok.length && !memcmp(d->name, r->tok.s, r->tok.length))
            at = (int)i;
    }
    if (at < 0)
        return error(r, "a buffer or variable of the launch above is expected here");
    x.decl = l->scope[at];
    for (uint32_t i = 0; i < l->nexpects; i++)
        if (l->expects[i].decl == x.decl)
            return error(r, "'%.*s' is expected twice", shown(r), r->tok.s);
    next(r);
    const struct pt_decl *d = &r->f->decls[x.decl];
    if (accept(r, "any")) {
        x.origin = PT_IGNORED;
    } else if (accept(r, "same")) {
        if (!read_same(r, d, &x))
            return false;
    } else {
        if (is(r, "derived"))
            x.origin = PT_DERIVED;
        else if (is(r, "recorded"))
            x.origin = PT_RECORDED;
        else
            return error(r, "derived, recorded, same or any is expected here");
        next(r);
        if (r->tok.s && r->tok.quoted) {
            if (!(x.label = text_of(r, &r->tok)))
                return false;
            next(r);
        }
        if (!read_options(r, &x))
            return false;
        if (!r->tok.s && x.origin == PT_RECORDED) {
            x.origin = PT_UNKNOWN;
        } else {
            char section[2 * PT_MAX_NAME + 2];
            snprintf(section, sizeof section, "%s.%s", l->test, d->name);
            if (!expect(r, "="))
                return false;
            x.in_values = is(r, "@file");
            if (!read_list(r, d->init.type, d->init.count, true, section, &x.list))
                return false;
            if (x.list.count != d->init.count)
                return error(r, "%u values are expected of %u elements", x.list.count, d->init.count);
        }
    }
    if (r->tok.s)
        return error(r, "nothing else is expected here");
    x.last_line = l->last_line = r->last_line;
    struct pt_expect *p = alloc(r, (l->nexpects + 1) * sizeof *p);
    if (!p)
        return false;
    if (l->nexpects)
        memcpy(p, l->expects, l->nexpects * sizeof *p);
    p[l->nexpects++] = x;
    l->expects = p;
    return true;
}

/* test NAME: forget what was declared since the first `test`. */
static bool
read_test(struct reader *r)
{
    if (!r->seen_test) {
        r->common = r->nscope;
        memcpy(r->common_scope, r->scope, sizeof r->scope);
        r->common_todo = r->ntodo;
        r->common_skip = r->nskip;
        r->common_sm = r->sm;
        r->common_ptx = r->ptx;
        r->common_memory = r->memory;
        r->seen_test = true;
    }
    r->nscope = r->common;
    memcpy(r->scope, r->common_scope, sizeof r->scope);
    r->ntodo = r->common_todo;
    r->nskip = r->common_skip;
    r->sm = r->common_sm;
    r->ptx = r->common_ptx;
    r->memory = r->common_memory;
    r->test = name(r, "a name");
    return r->test != NULL;
}

static void
read_directive(struct reader *r)
{
    static const char *const words = "test, require, todo, skip, buffer, value, variable, texture, surface, cross, launch, expect";
    bool ok;
    r->first_line = r->last_line = r->line;
    r->more = true;
    next(r);
    if (!r->tok.s)
        return;
    if (accept(r, "test"))
        ok = read_test(r);
    else if (accept(r, "require"))
        ok = read_require(r);
    else if (accept(r, "todo"))
        ok = read_note(r, &r->todo, &r->ntodo);
    else if (accept(r, "skip"))
        ok = read_note(r, &r->skip, &r->nskip);
    else if (accept(r, "buffer"))
        ok = read_buffer(r, PT_BUFFER);
    else if (accept(r, "value"))
        ok = read_value(r);
    else if (accept(r, "variable"))
        ok = read_buffer(r, PT_VARIABLE);
    else if (accept(r, "texture"))
        ok = read_texture(r, PT_TEXTURE);
    else if (accept(r, "surface"))
        ok = read_texture(r, PT_SURFACE);
    else if (accept(r, "cross"))
        ok = read_cross(r);
    else if (accept(r, "launch"))
        ok = read_launch(r);
    else if (accept(r, "expect"))
        ok = read_expect(r);
    else
        ok = error(r, "'%.*s' is no directive (%s)", shown(r), r->tok.s, words);
    if (ok && r->tok.s)
        error(r, "nothing else is expected here");
    while (r->more)
        next(r);
}

/* .version and .target say what the driver and the device must know. */
static void
read_head(struct reader *r)
{
    const char *v = strstr(r->f->text, "\n.version"), *t = strstr(r->f->text, "\n.target");
    unsigned major, minor, sm;
    if (v && sscanf(v + 9, " %2u.%1u", &major, &minor) == 2)
        r->ptx = major * 10 + minor;
    if (t && sscanf(t + 8, " sm_%3u", &sm) == 1)
        r->sm = sm;
}

bool
pt_read(struct pt_file *f, const char *path, const char *text, size_t size, const char *values, size_t values_size)
{
    *f = (struct pt_file){ .path = path, .text = text, .size = size, .values = values, .values_size = values_size };
    cw_arena_init(&f->arena);
    cw_buf_init(&f->messages);
    struct reader r = { .f = f, .p = text, .end = text + size, .line_start = text, .line = 1 };
    r.tok.line = r.tok.column = 1;
    if (size > PT_MAX_TEXT)
        return error(&r, "the file is larger than %u bytes", PT_MAX_TEXT);
    read_head(&r);
    while (r.p < r.end && f->errors < PT_MAX_ERRORS) {
        const char *d = directive_line(&r);
        if (!d) {
            if (!skip_line(&r))
                break;
            continue;
        }
        if (continues(&r, d)) {
            const char *p = d;
            while (p < r.end && blank(*p))
                p++;
            if (p < r.end && *p != '\n' && *p != '#')
                error_at(&r, r.line, (uint32_t)(p - r.line_start) + 1, "this line continues no directive (a directive stands one blank behind //!)");
            skip_line(&r);
            continue;
        }
        r.p = d;
        read_directive(&r);
    }
    if (!f->errors && !f->nlaunches) {
        r.tok.line = r.tok.column = 1;
        error(&r, "the file has no launch");
    }
    return !f->errors;
}

void
pt_file_finish(struct pt_file *f)
{
    cw_arena_finish(&f->arena);
    cw_buf_finish(&f->messages);
}
