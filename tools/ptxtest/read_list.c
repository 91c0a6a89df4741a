/* SPDX-License-Identifier: Apache-2.0
 * Lists of values in the directives of a test: elements, sets, repetitions, addresses, the side file. */
#include "tools/ptxtest/read_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
    struct pt_list l;
    uint32_t capacity, limit;       /* limit: no more elements than this */
    struct pt_token first;             /* for messages */
};

static bool
grow(struct pt_reader *r, struct list *x, uint32_t need)
{
    unsigned size = pt_type_size(x->l.type);
    if (need > x->limit)
        return rd_error(r, "more than %u values", x->limit);
    if (need <= x->capacity)
        return true;
    uint32_t cap = x->capacity ? x->capacity : 16;
    while (cap < need)
        cap *= 2;
    r->bytes += (uint64_t)cap * (size + 1);
    if (r->bytes > PT_MAX_BYTES)
        return rd_error(r, "more than %u bytes of values in the file", PT_MAX_BYTES);
    uint8_t *bytes = rd_alloc(r, (size_t)cap * size), *how = rd_alloc(r, cap);
    if (!bytes || !how)
        return false;
    if (x->l.count) {
        memcpy(bytes, x->l.bytes, (size_t)x->l.count * size);
        memcpy(how, x->l.how, x->l.count);
    }
    if (x->l.target) {
        uint16_t *target = rd_alloc(r, cap * sizeof *target);
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
push(struct pt_reader *r, struct list *x, struct pt_bits v, enum pt_how how)
{
    if (!grow(r, x, x->l.count + 1))
        return false;
    pt_store(x->l.type, x->l.bytes, x->l.count, v);
    x->l.how[x->l.count++] = (uint8_t)how;
    return true;
}

/* &NAME or &NAME+OFFSET */
static bool
push_address(struct pt_reader *r, struct list *x)
{
    const char *s = r->tok.s + 1, *end = r->tok.s + r->tok.length, *plus = memchr(s, '+', (size_t)(end - s));
    uint64_t offset = 0;
    int at = rd_find(r, s, (size_t)((plus ? plus : end) - s));
    if (pt_type_size(x->l.type) != (r->f->addr32 ? 4 : 8) || x->l.type->lanes != 1)
        return rd_error(r, "addresses of this module have %u bits", r->f->addr32 ? 32 : 64);
    if (at < 0 || !pt_in_memory(&r->f->decls[r->scope[at]]) || (plus && !rd_to_number(plus + 1, (size_t)(end - plus - 1), UINT32_MAX, &offset)))
        return rd_error(r, "'%.*s' is not the address of a buffer or variable declared above", rd_shown(r), r->tok.s);
    if (!push(r, x, (struct pt_bits){ offset, 0 }, PT_ADDRESS))
        return false;
    if (!x->l.target && !(x->l.target = rd_alloc(r, x->capacity * sizeof *x->l.target)))
        return false;
    x->l.target[x->l.count - 1] = r->scope[at];
    return true;
}

/* The arguments of @rd_name(a,b,...); -1 when malformed. */
static int
arguments(const struct pt_token *t, size_t from, int64_t *arg, int max)
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
        if (n == max || rd_blank(*p))
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
push_side_file(struct pt_reader *r, struct list *x, const char *section)
{
    const struct pt_file *f = r->f;
    if (!section)
        return rd_error(r, "@file stands in expect lines only");
    if (!f->values)
        return rd_error(r, "there is no side file with values");
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
                while (p < stop && rd_blank(*p))
                    p++;
                const char *s = p, *why;
                while (p < stop && !rd_blank(*p))
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
                    return rd_error(r, "the side file has a damaged value in [%s]", section);
                memcpy(text + 2, s, n);
                if (!pt_parse(&raw, text, n + 2, &v, &why))
                    return rd_error(r, "the side file has a damaged value in [%s]", section);
                if (!push(r, x, v, PT_EXACT))
                    return false;
            }
        }
        p = nl ? nl + 1 : end;
    }
    return found || rd_error(r, "the side file has no section [%s]", section);
}

/* @edge @few @shift @random(seed) @near1(seed) @range(first,last[,step]) @file. Open-ended ones give `count` values. */
static bool
push_set(struct pt_reader *r, struct list *x, uint32_t count, bool counted, const char *section)
{
    static const struct { const char *name; enum pt_set set; } sets[] = {
        { "@edge", PT_EDGE }, { "@few", PT_FEW }, { "@shift", PT_SHIFT }, { "@random", PT_RANDOM }, { "@near1", PT_NEAR_ONE },
    };
    const struct pt_token t = r->tok;
    const char *paren = memchr(t.s, '(', t.length);
    size_t n = paren ? (size_t)(paren - t.s) : t.length;
    int64_t arg[3] = { 0 };
    int nargs = arguments(&t, n, arg, 3);
    if (n == 5 && !memcmp(t.s, "@file", 5))
        return push_side_file(r, x, section);
    if (n == 6 && !memcmp(t.s, "@range", 6) && nargs >= 2) {
        int64_t step = nargs == 3 ? arg[2] : 1;
        if (x->l.type->kind == PT_FLOAT || x->l.type->lanes != 1 || x->l.type->bits > 64)
            return rd_error(r, "@range is for integers");
        if (!step || (step > 0) != (arg[1] >= arg[0]) || arg[0] > INT32_MAX || arg[0] < INT32_MIN || arg[1] > INT32_MAX || arg[1] < INT32_MIN)
            return rd_error(r, "@range does not lead from the first number to the last");
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
            return rd_error(r, own ? "%s takes no arguments" : "%s takes one argument, a seed", sets[i].name);
        if (!own && !count)
            return rd_error(r, "%s needs a count: N x %s(...), or [N] behind the type", sets[i].name, sets[i].name);
        if (!counted && own)
            count = own;
        if (!grow(r, x, x->l.count + count))
            return false;
        for (unsigned k = 0; k < count; k++)
            if (!push(r, x, pt_set_value(x->l.type, sets[i].set, (uint64_t)arg[0], k), PT_EXACT))
                return false;
        return true;
    }
    return rd_error(r, "'%.*s' is no set of values", rd_shown(r), t.s);
}

/* Values to the end of the directive. `want`: how many there should be in the end, 0 when open. */
bool
rd_list(struct pt_reader *r, const struct pt_type *t, uint32_t want, bool expected, const char *section, struct pt_list *out)
{
    struct list x = { .l.type = t, .limit = want ? want : PT_MAX_ELEMENTS };
    while (r->tok.s) {
        uint64_t repeat = 1;
        bool counted = false;
        struct pt_token first = r->tok;
        const char *why;
        struct pt_bits v;
        if (rd_to_number(first.s, first.length, PT_MAX_ELEMENTS, &repeat)) {
            /* A number, or how often the value behind `x` is repeated. */
            const struct pt_reader before = *r;
            rd_next(r);
            counted = rd_accept(r, "x");
            if (!counted)
                *r = before;
        }
        if (!counted)
            repeat = 1;
        if (!r->tok.s)
            return rd_error(r, "a value is expected here");
        if (r->tok.s[0] == '@' && !r->tok.quoted) {
            uint32_t room = x.limit - x.l.count;
            if (!push_set(r, &x, counted ? (uint32_t)repeat : want ? room : 0, counted, section))
                return false;
            rd_next(r);
            continue;
        }
        if (repeat > x.limit - x.l.count)
            return rd_error(r, "more than %u values", x.limit);
        for (uint64_t i = 0; i < repeat; i++) {
            bool ok;
            if (r->tok.s[0] == '&')
                ok = push_address(r, &x);
            else if (expected && (rd_is(r, "?") || rd_is(r, "nan*")))
                ok = push(r, &x, (struct pt_bits){ 0 }, rd_is(r, "?") ? PT_ANY : PT_ANY_NAN);
            else if (i)
                ok = push(r, &x, v, PT_EXACT);
            else
                ok = (pt_parse(t, r->tok.s, r->tok.length, &v, &why) ||
                      rd_error(r, "'%.*s' is no %s: %s", rd_shown(r), r->tok.s, t->name, why)) && push(r, &x, v, PT_EXACT);
            if (!ok)
                return false;
        }
        rd_next(r);
    }
    *out = x.l;
    return true;
}

/* TYPE, TYPE[N] or TYPE[NAME]: as many elements as that declaration has. */
bool
rd_type(struct pt_reader *r, const struct pt_type **type, uint32_t *count)
{
    if (!r->tok.s)
        return rd_error(r, "a type is expected here");
    const char *open = memchr(r->tok.s, '[', r->tok.length);
    size_t n = open ? (size_t)(open - r->tok.s) : r->tok.length;
    *type = pt_type_find(r->tok.s, n);
    *count = 0;
    if (!*type)
        return rd_error(r, "'%.*s' is no element type", (int)(n > 60 ? 60 : n), r->tok.s);
    if (open) {
        const char *s = open + 1, *close = r->tok.s + r->tok.length - 1;
        uint64_t v = 0;
        if (*close != ']' || close < s)
            return rd_error(r, "']' is missing");
        int at = rd_find(r, s, (size_t)(close - s));
        if (at >= 0)
            v = r->f->decls[r->scope[at]].init.count;
        else if (!rd_to_number(s, (size_t)(close - s), PT_MAX_ELEMENTS, &v))
            return rd_error(r, "'%.*s' is neither a number up to %u nor a buffer declared above", (int)(close - s > 60 ? 60 : close - s), s,
                         PT_MAX_ELEMENTS);
        if (!v)
            return rd_error(r, "no elements");
        *count = (uint32_t)v;
    }
    rd_next(r);
    return true;
}

bool
rd_fill(struct pt_reader *r, const struct pt_type *t, uint32_t count, struct pt_list *out)
{
    *out = (struct pt_list){ .type = t, .count = count };
    size_t size = (size_t)count * pt_type_size(t);
    r->bytes += size;
    if (r->bytes > PT_MAX_BYTES)
        return rd_error(r, "more than %u bytes of values in the file", PT_MAX_BYTES);
    out->bytes = rd_alloc(r, size);
    return out->bytes != NULL;
}
