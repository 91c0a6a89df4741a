/* SPDX-License-Identifier: Apache-2.0
 * Reader of the directives in a test's comments (docs/ptx-tests.md). The text is split into directives, each a `//!` line with
 * the lines that continue it; a directive is read token by token. After an error the next directive is read, so that one run
 * reports all. PT_MAX_* bound memory: the text is untrusted. */
#include "tools/ptxtest/read_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages --------------------------------------------------------------------------------------------------------------- */

bool __attribute__((format(printf, 4, 5)))
rd_error_at(struct pt_reader *r, uint32_t line, uint32_t column, const char *fmt, ...)
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

void *
rd_alloc(struct pt_reader *r, size_t size)
{
    void *p = cw_arena_alloc(&r->f->arena, size);
    if (!p)
        rd_error(r, "out of memory");
    return p;
}

/* ---- tokens ----------------------------------------------------------------------------------------------------------------- */

bool
rd_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool
skip_line(struct pt_reader *r)
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
directive_line(const struct pt_reader *r)
{
    const char *p = r->p;
    while (p < r->end && rd_blank(*p))
        p++;
    return r->end - p >= 3 && !memcmp(p, "//!", 3) ? p + 3 : NULL;
}

/* A line with at least two blanks behind its `//!` continues the directive before it. */
static bool
continues(const struct pt_reader *r, const char *p)
{
    return p && r->end - p >= 2 && rd_blank(p[0]) && rd_blank(p[1]);
}

void
rd_next(struct pt_reader *r)
{
    r->tok.s = NULL;
    r->tok.length = 0;
    r->tok.quoted = false;
    while (r->more) {
        while (r->p < r->end && rd_blank(*r->p))
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
        r->tok = (struct pt_token){ s, (size_t)(r->p - s), r->tok.line, r->tok.column, true };
        if (r->p < r->end && *r->p == '"')
            r->p++;
        else
            rd_error(r, "the string is not closed on its line");
        return;
    }
    const char *s = r->p;
    while (r->p < r->end && !rd_blank(*r->p) && *r->p != '\n')
        r->p++;
    r->tok.s = s;
    r->tok.length = (size_t)(r->p - s);
}

bool
rd_is(const struct pt_reader *r, const char *word)
{
    return r->tok.s && !r->tok.quoted && r->tok.length == strlen(word) && !memcmp(r->tok.s, word, r->tok.length);
}

bool
rd_accept(struct pt_reader *r, const char *word)
{
    if (!rd_is(r, word))
        return false;
    rd_next(r);
    return true;
}

bool
rd_expect(struct pt_reader *r, const char *word)
{
    return rd_accept(r, word) || rd_error(r, "'%s' is expected here", word);
}

int
rd_shown(const struct pt_reader *r)
{
    return r->tok.length > 60 ? 60 : (int)r->tok.length;
}

static const char *
text_of(struct pt_reader *r, const struct pt_token *t)
{
    if (memchr(t->s, 0, t->length)) {
        rd_error_at(r, t->line, t->column, "a NUL character");
        return NULL;
    }
    char *s = cw_arena_strndup(&r->f->arena, t->s, t->length);
    if (!s)
        rd_error(r, "out of memory");
    return s;
}

/* The current token as a name; NULL with a message. */
const char *
rd_name(struct pt_reader *r, const char *what)
{
    if (!r->tok.s || r->tok.quoted || !r->tok.length || r->tok.length > PT_MAX_NAME) {
        rd_error(r, "%s is expected here", what);
        return NULL;
    }
    const char *s = text_of(r, &r->tok);
    rd_next(r);
    return s;
}

/* The rest of the directive as one string. */
static const char *
rest(struct pt_reader *r)
{
    struct cw_buf b;
    cw_buf_init(&b);
    for (; r->tok.s && b.size < 1000; rd_next(r)) {
        if (b.size)
            cw_buf_puts(&b, " ");
        cw_buf_append(&b, r->tok.s, r->tok.length);
    }
    const char *s = b.failed ? NULL : cw_arena_strndup(&r->f->arena, b.data ? b.data : "", b.size);
    cw_buf_finish(&b);
    if (!s)
        rd_error(r, "out of memory");
    return s;
}

bool
rd_to_number(const char *s, size_t length, uint64_t max, uint64_t *out)
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

bool
rd_number(struct pt_reader *r, const char *what, uint64_t max, uint64_t *out)
{
    if (!r->tok.s || !rd_to_number(r->tok.s, r->tok.length, max, out))
        return rd_error(r, "%s, a number up to %llu, is expected here", what, (unsigned long long)max);
    rd_next(r);
    return true;
}

/* ---- declarations in scope -------------------------------------------------------------------------------------------------- */

int
rd_find(const struct pt_reader *r, const char *s, size_t length)
{
    for (uint32_t i = r->nscope; length && i-- > 0;) {
        const char *n = r->f->decls[r->scope[i]].name;
        if (strlen(n) == length && !memcmp(n, s, length))
            return (int)i;
    }
    return -1;
}

bool
rd_add_decl(struct pt_reader *r, const struct pt_decl *d)
{
    struct pt_file *f = r->f;
    if (f->ndecls == PT_MAX_DECLS)
        return rd_error_at(r, d->line, 1, "more than %u declarations in the file", PT_MAX_DECLS);
    if (f->ndecls == r->cap_decls) {
        uint32_t cap = r->cap_decls ? r->cap_decls * 2 : 16;
        struct pt_decl *p = rd_alloc(r, cap * sizeof *p);
        if (!p)
            return false;
        if (f->ndecls)
            memcpy(p, f->decls, f->ndecls * sizeof *p);
        f->decls = p;
        r->cap_decls = cap;
    }
    int old = rd_find(r, d->name, strlen(d->name));
    if (old < 0 && r->nscope == PT_MAX_SCOPE)
        return rd_error_at(r, d->line, 1, "more than %u declarations at a launch", PT_MAX_SCOPE);
    f->decls[f->ndecls] = *d;
    r->scope[old >= 0 ? (uint32_t)old : r->nscope++] = (uint16_t)f->ndecls++;
    return true;
}

/* ---- directives ------------------------------------------------------------------------------------------------------------- */

/* buffer NAME TYPE = VALUES | buffer NAME TYPE[N] [= VALUES]; variable likewise */
static bool
read_buffer(struct pt_reader *r, enum pt_decl_kind kind)
{
    struct pt_decl d = { .kind = kind, .line = r->tok.line };
    const struct pt_type *t;
    uint32_t count;
    if (!(d.name = rd_name(r, "a name")) || !rd_type(r, &t, &count))
        return false;
    if (rd_accept(r, "=")) {
        if (!r->tok.s)
            return rd_error(r, "a value is expected here");
        if (!rd_list(r, t, count, false, NULL, &d.init))
            return false;
        if (count && d.init.count != count)
            return rd_error(r, "%u values for %u elements", d.init.count, count);
        d.given = true;
    } else {
        if (r->tok.s)
            return rd_error(r, "'=' is expected here");
        if (!count && kind == PT_BUFFER)
            return rd_error(r, "a buffer without values needs a size: TYPE[N]");
        if (!rd_fill(r, t, count ? count : 1, &d.init))
            return false;
        d.given = kind == PT_BUFFER;
    }
    return rd_add_decl(r, &d);
}

/* value TYPE V | value NAME TYPE = VALUES | value NAME TYPE[N] = VALUES */
static bool
read_value(struct pt_reader *r)
{
    struct pt_decl d = { .kind = PT_VALUE, .name = "", .given = true, .line = r->tok.line };
    const struct pt_type *t = r->tok.s ? pt_type_find(r->tok.s, r->tok.length) : NULL;
    uint32_t count = 1;
    if (t) {
        rd_next(r);
    } else if (!(d.name = rd_name(r, "a name or a type")) || !rd_type(r, &t, &count) || !rd_expect(r, "=")) {
        return false;
    }
    if (!count)
        count = 1;
    if (!rd_list(r, t, count, false, NULL, &d.init))
        return false;
    if (d.init.count != count)
        return rd_error(r, "%u values for %u elements", d.init.count, count);
    if (pt_type_size(t) * count > 4096)
        return rd_error(r, "more than 4096 bytes");
    return rd_add_decl(r, &d);
}

/* cross A B [C]: every combination of the elements of the buffers, the last one changing fastest. */
static bool
read_cross(struct pt_reader *r)
{
    struct pt_decl old[4], d[4];
    uint64_t total = 1, outer = 1;
    uint32_t n = 0;
    for (; r->tok.s; rd_next(r)) {
        int at = rd_find(r, r->tok.s, r->tok.length);
        if (at < 0 || r->f->decls[r->scope[at]].kind != PT_BUFFER)
            return rd_error(r, "'%.*s' is not a buffer declared above", rd_shown(r), r->tok.s);
        if (n == 4)
            return rd_error(r, "more than 4 buffers");
        old[n] = r->f->decls[r->scope[at]];
        total *= old[n++].init.count;
        if (total > PT_MAX_ELEMENTS)
            return rd_error(r, "more than %u combinations", PT_MAX_ELEMENTS);
    }
    if (n < 2)
        return rd_error(r, "cross needs two buffers or more");
    for (uint32_t i = 0; i < n; i++) {
        const struct pt_list *from = &old[i].init;
        unsigned size = pt_type_size(from->type);
        d[i] = old[i];
        if (from->target)
            return rd_error(r, "buffers with addresses cannot be crossed");
        if (!rd_fill(r, from->type, (uint32_t)total, &d[i].init))
            return false;
        uint64_t inner = total / outer / from->count;
        for (uint64_t k = 0; k < total; k++)
            memcpy(d[i].init.bytes + k * size, from->bytes + k / inner % from->count * size, size);
        outer *= from->count;
        if (!rd_add_decl(r, &d[i]))
            return false;
    }
    return true;
}

static bool
read_note(struct pt_reader *r, struct pt_note **list, uint32_t *count)
{
    const char *device = rd_name(r, "a device");
    if (!device)
        return false;
    if (!r->tok.s)
        return rd_error(r, "a reason is expected here");
    struct pt_note *p = rd_alloc(r, (*count + 1) * sizeof *p);
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
read_require(struct pt_reader *r)
{
    for (; r->tok.s; rd_next(r)) {
        uint64_t v, minor;
        const struct pt_token t = r->tok;
        if (t.length > 3 && !memcmp(t.s, "sm_", 3) && rd_to_number(t.s + 3, t.length - 3, 999, &v)) {
            r->sm = v > r->sm ? (uint32_t)v : r->sm;
        } else if (t.length == 7 && !memcmp(t.s, "ptx_", 4) && t.s[5] == '.' && rd_to_number(t.s + 4, 1, 9, &v) && rd_to_number(t.s + 6, 1, 9, &minor)) {
            v = v * 10 + minor;
            r->ptx = v > r->ptx ? (uint32_t)v : r->ptx;
        } else if (rd_is(r, "memory")) {
            rd_next(r);
            size_t n = r->tok.s ? r->tok.length : 0;
            if (n < 2 || (r->tok.s[n - 1] != 'M' && r->tok.s[n - 1] != 'G') || !rd_to_number(r->tok.s, n - 1, 1 << 20, &v))
                return rd_error(r, "a size such as 64M or 2G is expected here");
            r->memory = v << (r->tok.s[n - 1] == 'M' ? 20 : 30);
        } else {
            return rd_error(r, "'%.*s' is none of sm_NN, ptx_N.N, memory SIZE", rd_shown(r), t.s);
        }
    }
    return true;
}

/* X[,Y[,Z]] */
bool
rd_dims(struct pt_reader *r, uint32_t dims[3], uint32_t max)
{
    const char *p = r->tok.s, *end = p ? p + r->tok.length : p;
    for (int i = 0; i < 3 && p && p <= end; i++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        uint64_t v;
        if (!rd_to_number(p, (size_t)((comma ? comma : end) - p), max, &v) || !v)
            return rd_error(r, "sizes from 1 to %u are expected here", max);
        dims[i] = (uint32_t)v;
        if (!comma) {
            rd_next(r);
            return true;
        }
        p = comma + 1;
    }
    return rd_error(r, "one to three sizes, such as 32 or 8,4,2, are expected here");
}

static bool
read_arguments(struct pt_reader *r, struct pt_launch *l, const char *s, size_t length)
{
    const char *p = s, *end = s + length;
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        int at = rd_find(r, p, (size_t)(stop - p));
        if (at < 0)
            return rd_error(r, "'%.*s' is not declared above", (int)(stop - p > 60 ? 60 : stop - p), p);
        const struct pt_texture *x = r->f->decls[r->scope[at]].texture;
        if (x && x->reference)
            return rd_error(r, "'%.*s' is a reference, which is no parameter", (int)(stop - p > 60 ? 60 : stop - p), p);
        if (l->nparams == PT_MAX_SCOPE)
            return rd_error(r, "more than %u arguments", PT_MAX_SCOPE);
        l->param[l->nparams++] = r->scope[at];
        p = stop + 1;
    }
    return true;
}

static struct pt_launch *
add_launch(struct pt_reader *r)
{
    struct pt_file *f = r->f;
    if (f->nlaunches == PT_MAX_LAUNCHES) {
        rd_error(r, "more than %u launches in the file", PT_MAX_LAUNCHES);
        return NULL;
    }
    if (f->nlaunches == r->cap_launches) {
        uint32_t cap = r->cap_launches ? r->cap_launches * 2 : 8;
        struct pt_launch *p = rd_alloc(r, cap * sizeof *p);
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
read_launch(struct pt_reader *r)
{
    struct pt_launch *l = add_launch(r);
    if (!l)
        return false;
    *l = (struct pt_launch){ .line = r->first_line, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
    bool block = false, grid = false, listed = false;
    if (!r->tok.s)
        return rd_error(r, "the name of a kernel is expected here");
    const char *open = memchr(r->tok.s, '(', r->tok.length);
    struct pt_token kernel = r->tok;
    if (open) {
        kernel.length = (size_t)(open - r->tok.s);
        if (r->tok.s[r->tok.length - 1] != ')')
            return rd_error(r, "')' is missing; there are no blanks in a list of arguments");
        if (!read_arguments(r, l, open + 1, r->tok.length - kernel.length - 2))
            return false;
        listed = true;
    }
    if (!kernel.length || kernel.length > PT_MAX_NAME || !(l->kernel = text_of(r, &kernel)))
        return rd_error(r, "the name of a kernel is expected here");
    rd_next(r);
    while (r->tok.s) {
        uint64_t v;
        if (rd_accept(r, "grid")) {
            if (!rd_dims(r, l->grid, 1 << 16))
                return false;
            grid = true;
        } else if (rd_accept(r, "block")) {
            if (!rd_dims(r, l->block, 1024))
                return false;
            block = true;
        } else if (rd_accept(r, "cooperative")) {
            l->cooperative = true;
        } else if (rd_accept(r, "shared")) {
            if (!rd_number(r, "bytes of shared memory", 1 << 20, &v))
                return false;
            l->shared = (uint32_t)v;
        } else if (rd_accept(r, "each")) {
            int at = r->tok.s ? rd_find(r, r->tok.s, r->tok.length) : -1;
            if (at < 0 || r->f->decls[r->scope[at]].kind != PT_BUFFER)
                return rd_error(r, "a buffer declared above is expected here");
            l->count = r->f->decls[r->scope[at]].init.count;
            rd_next(r);
        } else {
            return rd_error(r, "'%.*s' is none of grid, block, each, shared, cooperative", rd_shown(r), r->tok.s);
        }
    }
    if (l->count) {
        if (grid || l->block[1] > 1 || l->block[2] > 1)
            return rd_error(r, "each gives the grid, and blocks of one dimension");
        uint32_t round = (l->count + 31) / 32 * 32;
        if (!block)
            l->block[0] = round < 1024 ? round : 1024;
        l->grid[0] = (l->count + l->block[0] - 1) / l->block[0];
        l->threads = l->grid[0] * l->block[0];
    }
    if (!listed)
        for (uint32_t i = 0; i < r->nscope; i++)
            if (pt_is_parameter(&r->f->decls[r->scope[i]]))
                l->param[l->nparams++] = r->scope[i];
    l->test = r->test ? r->test : l->kernel;
    memcpy(l->scope, r->scope, r->nscope * sizeof *r->scope);
    l->nscope = r->nscope;
    l->todo = r->todo;
    l->ntodo = r->ntodo;
    l->skip = r->skip;
    l->nskip = r->nskip;
    l->sm = r->sm;
    l->target = r->target;
    l->ptx = r->ptx;
    l->memory = r->memory;
    l->last_line = r->last_line;
    r->launch = l;
    r->f->nlaunches++;
    return true;
}

static bool
read_options(struct pt_reader *r, struct pt_expect *x)
{
    for (;;) {
        uint64_t v;
        if (rd_accept(r, "ulp")) {
            if (!rd_number(r, "units in the last place", 1u << 30, &v))
                return false;
            x->ulp = (uint32_t)v;
        } else if (rd_accept(r, "abs")) {
            char text[40], *end;
            size_t n = r->tok.s && r->tok.length < sizeof text ? r->tok.length : 0;
            memcpy(text, n ? r->tok.s : "", n);
            text[n] = 0;
            x->abs = strtod(text, &end);
            if (!n || *end || !(x->abs > 0))
                return rd_error(r, "an allowed difference above 0 is expected here");
            rd_next(r);
        } else if (rd_accept(r, "nan")) {
            if (!rd_expect(r, "any"))
                return false;
            x->nan_any = true;
        } else {
            return true;
        }
    }
}

/* same TEST: what the buffer of the same name holds there. */
static bool
read_same(struct pt_reader *r, const struct pt_decl *d, struct pt_expect *x)
{
    const struct pt_file *f = r->f;
    for (uint32_t i = 0; i + 1 < f->nlaunches && r->tok.s; i++) {
        const struct pt_launch *l = &f->launches[i];
        if (!rd_is(r, l->test))
            continue;
        for (uint32_t k = 0; k < l->nexpects; k++) {
            const struct pt_decl *other = &f->decls[l->expects[k].decl];
            if (strcmp(other->name, d->name))
                continue;
            if (other->init.type != d->init.type || other->init.count != d->init.count)
                return rd_error(r, "%s has another type or size there", d->name);
            uint32_t line = x->line;
            uint16_t decl = x->decl;
            *x = l->expects[k];
            x->pending = x->origin == PT_UNKNOWN;
            x->origin = PT_SAME;
            x->line = line;
            x->decl = decl;
            rd_next(r);
            return true;
        }
        x->origin = PT_SAME;        /* without an expectation there yet */
        x->pending = true;
        rd_next(r);
        return true;
    }
    return rd_error(r, "a test above is expected here");
}

/* expect NAME same TEST | expect NAME derived|recorded ["LABEL"] [OPTIONS] = VALUES | expect NAME recorded | expect NAME any | expect error NAME ["TEXT"] */
static bool
read_expect(struct pt_reader *r)
{
    struct pt_launch *l = r->launch;
    struct pt_expect x = { .line = r->first_line };
    if (!l)
        return rd_error(r, "no launch stands above");
    l->last_line = r->last_line;
    if (rd_accept(r, "error")) {
        if (l->error)
            return rd_error(r, "a second error is expected");
        if (!(l->error = rd_name(r, "the name of an error")))
            return false;
        if (r->tok.s && r->tok.quoted) {
            if (!(l->error_text = text_of(r, &r->tok)))
                return false;
            rd_next(r);
        }
        l->last_line = r->last_line;
        return !r->tok.s || rd_error(r, "nothing else is expected here");
    }
    int at = -1;
    for (uint32_t i = 0; i < l->nscope && r->tok.s; i++) {
        const struct pt_decl *d = &r->f->decls[l->scope[i]];
        if (pt_in_memory(d) && strlen(d->name) == r->tok.length && !memcmp(d->name, r->tok.s, r->tok.length))
            at = (int)i;
    }
    if (at < 0)
        return rd_error(r, "a buffer or variable of the launch above is expected here");
    x.decl = l->scope[at];
    for (uint32_t i = 0; i < l->nexpects; i++)
        if (l->expects[i].decl == x.decl)
            return rd_error(r, "'%.*s' is expected twice", rd_shown(r), r->tok.s);
    rd_next(r);
    const struct pt_decl *d = &r->f->decls[x.decl];
    if (rd_accept(r, "any")) {
        x.origin = PT_IGNORED;
    } else if (rd_accept(r, "same")) {
        if (!read_same(r, d, &x))
            return false;
    } else {
        if (rd_is(r, "derived"))
            x.origin = PT_DERIVED;
        else if (rd_is(r, "recorded"))
            x.origin = PT_RECORDED;
        else
            return rd_error(r, "derived, recorded, same or any is expected here");
        rd_next(r);
        if (r->tok.s && r->tok.quoted) {
            if (!(x.label = text_of(r, &r->tok)))
                return false;
            rd_next(r);
        }
        if (!read_options(r, &x))
            return false;
        if (!r->tok.s && x.origin == PT_RECORDED) {
            x.origin = PT_UNKNOWN;
        } else {
            char section[2 * PT_MAX_NAME + 2];
            snprintf(section, sizeof section, "%s.%s", l->test, d->name);
            if (!rd_expect(r, "="))
                return false;
            x.in_values = rd_is(r, "@file");
            if (!rd_list(r, d->init.type, d->init.count, true, section, &x.list))
                return false;
            if (x.list.count != d->init.count)
                return rd_error(r, "%u values are expected of %u elements", x.list.count, d->init.count);
        }
    }
    if (r->tok.s)
        return rd_error(r, "nothing else is expected here");
    x.last_line = l->last_line = r->last_line;
    struct pt_expect *p = rd_alloc(r, (l->nexpects + 1) * sizeof *p);
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
read_test(struct pt_reader *r)
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
    r->test = rd_name(r, "a name");
    return r->test != NULL;
}

static void
read_directive(struct pt_reader *r)
{
    static const char *const words = "test, require, todo, skip, buffer, value, variable, texture, surface, tensor, cross, launch, expect";
    bool ok;
    r->first_line = r->last_line = r->line;
    r->more = true;
    rd_next(r);
    if (!r->tok.s)
        return;
    if (rd_accept(r, "test"))
        ok = read_test(r);
    else if (rd_accept(r, "require"))
        ok = read_require(r);
    else if (rd_accept(r, "todo"))
        ok = read_note(r, &r->todo, &r->ntodo);
    else if (rd_accept(r, "skip"))
        ok = read_note(r, &r->skip, &r->nskip);
    else if (rd_accept(r, "buffer"))
        ok = read_buffer(r, PT_BUFFER);
    else if (rd_accept(r, "value"))
        ok = read_value(r);
    else if (rd_accept(r, "variable"))
        ok = read_buffer(r, PT_VARIABLE);
    else if (rd_accept(r, "texture"))
        ok = rd_texture(r, PT_TEXTURE);
    else if (rd_accept(r, "surface"))
        ok = rd_texture(r, PT_SURFACE);
    else if (rd_accept(r, "tensor"))
        ok = rd_tensor(r);
    else if (rd_accept(r, "cross"))
        ok = read_cross(r);
    else if (rd_accept(r, "launch"))
        ok = read_launch(r);
    else if (rd_accept(r, "expect"))
        ok = read_expect(r);
    else
        ok = rd_error(r, "'%.*s' is no directive (%s)", rd_shown(r), r->tok.s, words);
    if (ok && r->tok.s)
        rd_error(r, "nothing else is expected here");
    while (r->more)
        rd_next(r);
}

/* .version and .target say what the driver and the device must know. */
static void
read_head(struct pt_reader *r)
{
    const char *v = strstr(r->f->text, "\n.version"), *t = strstr(r->f->text, "\n.target");
    unsigned major, minor, sm;
    if (v && sscanf(v + 9, " %2u.%1u", &major, &minor) == 2)
        r->ptx = major * 10 + minor;
    if (t && sscanf(t + 8, " sm_%3u", &sm) == 1)
        r->target = sm;
    r->f->addr32 = strstr(r->f->text, "\n.address_size 32") != NULL;
}

bool
pt_read(struct pt_file *f, const char *path, const char *text, size_t size, const char *values, size_t values_size)
{
    *f = (struct pt_file){ .path = path, .text = text, .size = size, .values = values, .values_size = values_size };
    cw_arena_init(&f->arena);
    cw_buf_init(&f->messages);
    struct pt_reader r = { .f = f, .p = text, .end = text + size, .line_start = text, .line = 1 };
    r.tok.line = r.tok.column = 1;
    if (size > PT_MAX_TEXT)
        return rd_error(&r, "the file is larger than %u bytes", PT_MAX_TEXT);
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
            while (p < r.end && rd_blank(*p))
                p++;
            if (p < r.end && *p != '\n' && *p != '#')
                rd_error_at(&r, r.line, (uint32_t)(p - r.line_start) + 1, "this line continues no directive (a directive stands one blank behind //!)");
            skip_line(&r);
            continue;
        }
        r.p = d;
        read_directive(&r);
    }
    if (!f->errors && !f->nlaunches) {
        r.tok.line = r.tok.column = 1;
        rd_error(&r, "the file has no launch");
    }
    return !f->errors;
}

void
pt_file_finish(struct pt_file *f)
{
    cw_arena_finish(&f->arena);
    cw_buf_finish(&f->messages);
}
