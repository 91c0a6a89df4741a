/* SPDX-License-Identifier: Apache-2.0
 * Declarations: registers, variables, parameters, functions with their directives, and the tables of brx.idx and of indirect calls. Assigns
 * the offsets of kernel parameters. */
#include "jit/ptx/ptx_private.h"

void *
ptx_copy(struct parser *p, const void *at, size_t n, size_t elem)
{
    void *q = cw_arena_alloc(p->arena, n * elem);
    if (n)
        memcpy(q, at, n * elem);
    return q;
}

static uint8_t
space_of(enum directive d)
{
    switch (d) {
    case DIR_GLOBAL: return PTX_SPACE_GLOBAL;
    case DIR_CONST: return PTX_SPACE_CONST;
    case DIR_SHARED: return PTX_SPACE_SHARED;
    case DIR_LOCAL: return PTX_SPACE_LOCAL;
    case DIR_PARAM: return PTX_SPACE_PARAM;
    case DIR_TEX: return PTX_SPACE_TEX;
    default: return PTX_SPACE_GENERIC;
    }
}

static bool
power_of_two(uint64_t v)
{
    return v && !(v & (v - 1));
}

/* The attributes between state space and name. */
struct decl {
    uint8_t  type, vec, ptr_space;
    bool     managed, has_type, ptr;
    uint32_t align, ptr_align;
};

static bool
parse_decl_head(struct parser *p, struct decl *d)
{
    memset(d, 0, sizeof *d);
    d->vec = 1;
    while (p->tok.kind == T_DOT) {
        struct ident *w = p->tok.ident;
        uint64_t v;
        if (w->type) {
            if (d->has_type)
                return ptx_error(p, 2030, "a second type");
            d->type = w->type;
            d->has_type = true;
            ptx_next(p);
        } else if (w->dir == DIR_ALIGN) {
            struct token at;
            ptx_next(p);
            at = p->tok;
            if (!ptx_parse_int(p, &v, "an alignment"))
                return false;
            if (!power_of_two(v) || v > 1 << 20)
                return ptx_error_at(p, at.line, at.column, 3010, "an alignment is a power of two up to 1048576");
            if (d->ptr)
                d->ptr_align = (uint32_t)v;
            else
                d->align = (uint32_t)v;
        } else if (w->dir == DIR_ATTRIBUTE) {
            ptx_next(p);
            if (!ptx_expect(p, '(', "after .attribute"))
                return false;
            while (!is_punct(p, ')')) {
                if (p->tok.kind == T_EOF)
                    return ptx_error(p, 2031, "an attribute list that is not closed");
                if (p->tok.kind == T_DOT && !strcmp(p->tok.ident->name, "managed"))
                    d->managed = true;
                else if (p->tok.kind == T_DOT && strcmp(p->tok.ident->name, "unified"))
                    return ptx_error(p, 2032, "unknown attribute %s", ptx_tok_text(p));
                ptx_next(p);
            }
            ptx_next(p);
        } else if (w->dir == DIR_PTR) {
            d->ptr = true;
            ptx_next(p);
        } else if (d->ptr && space_of(w->dir)) {
            d->ptr_space = space_of(w->dir);
            ptx_next(p);
        } else if (!strcmp(w->name, "v2") || !strcmp(w->name, "v4") || !strcmp(w->name, "v8")) {
            d->vec = (uint8_t)(w->name[1] - '0');
            ptx_next(p);
        } else {
            return ptx_error(p, 2033, "%s is not part of a declaration", ptx_tok_text(p));
        }
    }
    if (d->ptr && !d->ptr_space)
        d->ptr_space = PTX_SPACE_GENERIC;
    if (!d->has_type)
        return ptx_error(p, 2034, "expected a type, found %s", ptx_tok_text(p));
    return true;
}

static bool
parse_dims(struct parser *p, struct ptx_symbol *s, struct decl *d, uint64_t dims[MAX_DIMS], unsigned *ndims)
{
    uint64_t elem = ptx_type_bits(s->type) / 8;
    uint64_t size = elem * d->vec;
    *ndims = 0;
    if (!elem)
        return ptx_error_at(p, s->line, s->column, 3011, "a variable cannot have type .%s", ptx_type_name(s->type));
    while (is_punct(p, '[')) {
        struct token at = p->tok;
        uint64_t n = UINT64_MAX;
        ptx_next(p);
        if (*ndims >= MAX_DIMS)
            return ptx_error(p, 6004, "more than %d array dimensions", MAX_DIMS);
        if (!is_punct(p, ']')) {
            if (!ptx_parse_int(p, &n, "an array size"))
                return false;
            if ((int64_t)n < 0)
                return ptx_error_at(p, at.line, at.column, 3012, "a negative array size");
        } else if (*ndims) {
            return ptx_error(p, 3013, "only the first dimension may be open");
        }
        if (!ptx_expect(p, ']', "after an array size"))
            return false;
        if (n == UINT64_MAX)
            s->unsized = true;
        else if (n && size > (1ull << 48) / n)
            return ptx_error_at(p, at.line, at.column, 6005, "a variable of more than 2^48 bytes");
        else
            size *= n;
        dims[(*ndims)++] = n;
        s->is_array = true;
    }
    if (s->space == PTX_SPACE_PARAM && size > UINT32_MAX)
        return ptx_error_at(p, s->line, s->column, 6014, "a parameter of 4 GiB and more");
    s->size = s->unsized ? 0 : size;
    s->align = d->align > elem * d->vec ? d->align : (uint32_t)(d->align ? (d->align > elem ? d->align : elem) : elem * d->vec);
    if (d->align)
        s->align = d->align;
    return true;
}

static bool
is_name(const struct parser *p)
{
    return p->tok.kind == T_IDENT || p->tok.kind == T_REG;
}

/* Make the symbol of a variable, or reuse its earlier declaration at module scope. */
static struct ptx_symbol *
declare_var(struct parser *p, struct ident *id, struct ptx_symbol *s)
{
    struct binding *old = &id->bind;
    if (old->kind != BIND_NONE && old->depth == p->depth) {
        struct ptx_symbol *o = old->kind == BIND_SYM ? old->sym : NULL;
        if (p->depth || !o || o->kind != PTX_SYM_VAR || (o->linkage != PTX_LINK_EXTERN && s->linkage != PTX_LINK_EXTERN &&
            o->linkage != PTX_LINK_COMMON)) {
            ptx_error_at(p, s->line, s->column, 3003, "'%s' is declared twice", id->name);
            return NULL;
        }
        if (o->space != s->space || o->type != s->type) {
            ptx_error_at(p, s->line, s->column, 3004, "'%s' was declared before with another space or type (line %u)", id->name, o->line);
            return NULL;
        }
        if (s->linkage == PTX_LINK_EXTERN)
            return o;
        s->index = o->index;
        *o = *s;
        return o;
    }
    struct ptx_symbol *n = ptx_copy(p, s, 1, sizeof *s);
    ptx_bind(p, id, &(struct binding){ .kind = BIND_SYM, .sym = n });
    n->index = p->fn ? p->locals.n : p->vars.n;
    if (p->fn)
        VEC_PUSH(p, p->locals, n);
    else
        VEC_PUSH(p, p->vars, n);
    return n;
}

/* A short text may declare many names: v<1000000> a million. `each`: bytes of a name besides its stem. */
static bool
room_for_names(struct parser *p, const struct ident *stem, uint64_t count, size_t each)
{
    p->total_names += count * (stem->len + each);
    return p->total_names <= MAX_MODULE_NAMES || ptx_error(p, 6013, "names that counts declare take more than %d MiB", MAX_MODULE_NAMES >> 20);
}

/* v<2> declares v0 and v1. */
static struct ident *
numbered(struct parser *p, const struct ident *stem, uint32_t i)
{
    const char *name = cw_arena_printf(p->arena, "%s%u", stem->name, i);
    return ptx_intern(p, name, strlen(name));
}

bool
ptx_parse_variable(struct parser *p, uint8_t linkage, enum directive dir)
{
    struct decl d;
    ptx_next(p);
    if (dir == DIR_SHARED || dir == DIR_CONST) {
        /* PTX 2.0 dropped .const[bank]. */
        if (is_punct(p, '['))
            return ptx_error(p, 2036, "constant banks are obsolete and not supported");
    }
    if (!parse_decl_head(p, &d))
        return false;
    do {
        struct ptx_symbol s = { .kind = PTX_SYM_VAR, .space = space_of(dir), .linkage = linkage, .type = d.type,
                                .managed = d.managed, .module = p->m, .line = p->tok.line, .column = p->tok.column };
        uint64_t dims[MAX_DIMS];
        unsigned ndims;
        if (!is_name(p))
            return ptx_error(p, 2037, "expected a name, found %s", ptx_tok_text(p));
        struct ident *id = ptx_tok_ident(p);
        s.name = id->name;
        ptx_next(p);
        if (is_punct(p, '<')) {
            uint64_t n;
            ptx_next(p);
            if (!ptx_parse_count(p, &n) || !ptx_expect(p, '>', "after a count of variables"))
                return false;
            if (n > 65536)
                return ptx_error(p, 6006, "more than 65536 variables in one declaration");
            struct ptx_symbol one = s;
            if (!room_for_names(p, id, n, sizeof one + sizeof *id))
                return false;
            for (uint64_t i = 0; i < n; i++) {
                struct ident *e = numbered(p, id, (uint32_t)i);
                s = one;
                s.name = e->name;
                if (!parse_dims(p, &s, &d, dims, &ndims) || !declare_var(p, e, &s))
                    return false;
            }
            continue;
        }
        if (!parse_dims(p, &s, &d, dims, &ndims))
            return false;
        struct ptx_symbol *n = declare_var(p, id, &s);
        if (!n)
            return false;
        if (is_punct(p, '=')) {
            struct token at = p->tok;
            ptx_next(p);
            if (ptx_type_class(d.type) == PTX_CLASS_OPAQUE) {
                if (!is_punct(p, '{'))
                    return ptx_error(p, 2038, "expected '{', found %s", ptx_tok_text(p));
                if (!ptx_skip_braces(p, "braces"))
                    return false;
                ptx_warn_at(p, at.line, at.column, 3014, "the initialiser of '%s' is ignored", n->name);
            } else if (dir != DIR_GLOBAL && dir != DIR_CONST) {
                return ptx_error_at(p, at.line, at.column, 3015, "only .global and .const variables can have an initialiser");
            } else if (linkage == PTX_LINK_EXTERN) {
                return ptx_error_at(p, at.line, at.column, 3016, "an .extern variable cannot have an initialiser");
            } else if (!ptx_parse_initialiser(p, n, dims, ndims, d.vec)) {
                return false;
            }
        } else if (n->unsized && linkage != PTX_LINK_EXTERN && dir != DIR_PARAM) {
            return ptx_error_at(p, n->line, n->column, 3017, "'%s' has no size: only an .extern array may be open", n->name);
        }
    } while (accept(p, ','));
    return ptx_expect(p, ';', "after a declaration");
}

static bool
room_for_registers(struct parser *p, uint32_t count, uint32_t *first)
{
    if (p->regs.n + (uint64_t)count > MAX_REGS || (p->total_regs += count) > MAX_MODULE_REGS)
        return ptx_error(p, 6007, "more registers than %d in a function or %d in a module", MAX_REGS, MAX_MODULE_REGS);
    *first = p->regs.n;
    VEC_GROW(p, p->regs, count);
    return true;
}

bool
ptx_add_register(struct parser *p, const char *name, uint8_t type, uint32_t *reg)
{
    if (!room_for_registers(p, 1, reg))
        return false;
    p->regs.at[p->regs.n++] = (struct ptx_reg){ name, type };
    return true;
}

static bool
twice(struct parser *p, const char *name, const struct token *at)
{
    return ptx_error_at(p, at->line, at->column, 3003, "'%s' is declared twice", name);
}

/* %r<count> */
static bool
add_range(struct parser *p, const struct ident *id, uint8_t type, uint32_t count, const struct token *at, uint32_t *first)
{
    if (!room_for_registers(p, count, first))
        return false;
    enum { DIGITS = 11 };
    size_t width = id->len + DIGITS;
    if (!room_for_names(p, id, count, DIGITS))
        return false;
    char *names = cw_arena_alloc(p->arena, width * count);
    for (uint32_t i = 0; i < count; i++, names += width) {
        char digits[12];
        unsigned k = 0;
        memcpy(names, id->name, id->len);
        for (uint32_t v = i; k == 0 || v; v /= 10)
            digits[k++] = (char)('0' + v % 10);
        for (unsigned j = 0; j < k; j++)
            names[id->len + j] = digits[k - 1 - j];
        const struct ident *single = p->numbered ? ptx_find(p, names, id->len + k) : NULL;
        if (single && single->bind.kind == BIND_REG && single->bind.depth == p->depth)
            return twice(p, names, at);
        p->regs.at[p->regs.n++] = (struct ptx_reg){ names, type };
    }
    return true;
}

static bool
is_fresh(struct parser *p, const struct ident *id, const struct token *at)
{
    bool of_range = at->kind == T_REG && at->range_depth == p->depth;
    return (!of_range && (id->bind.kind == BIND_NONE || id->bind.kind == BIND_RANGE || id->bind.depth != p->depth)) || twice(p, id->name, at);
}

/* .reg .v4 .f32 v; declares four registers, v.x to v.w. */
static bool
bind_vector(struct parser *p, struct ident *id, const struct decl *d, const struct token *at)
{
    struct binding b = { .kind = BIND_VREG, .type = d->type, .vec = d->vec };
    if (d->type == PTX_PRED || ptx_type_bits(d->type) * d->vec > 128)
        return ptx_error_at(p, at->line, at->column, 3019, "a vector register of %s", d->type == PTX_PRED ? "predicates" : "more than 128 bits");
    if (!is_fresh(p, id, at))
        return false;
    for (unsigned i = 0; i < d->vec; i++) {
        char *name = cw_arena_printf(p->arena, "%s$%c", id->name, "xyzw0123"[i]);
        uint32_t r = 0;
        if (!ptx_add_register(p, name, d->type, &r))
            return false;
        if (!i)
            b.reg = r;
    }
    ptx_bind(p, id, &b);
    return true;
}

bool
ptx_parse_reg_decl(struct parser *p)
{
    struct decl d;
    ptx_next(p);
    if (!parse_decl_head(p, &d))
        return false;
    if (ptx_type_class(d.type) == PTX_CLASS_OPAQUE || d.type == PTX_B1 || (ptx_type_bits(d.type) < 8 && d.type != PTX_PRED))
        return ptx_error(p, 3018, "a register cannot have type .%s", ptx_type_name(d.type));
    do {
        if (!is_name(p))
            return ptx_error(p, 2039, "expected a register name, found %s", ptx_tok_text(p));
        struct token at = p->tok;
        struct ident *id = ptx_tok_ident(p);
        struct binding b = { .kind = BIND_REG, .type = d.type, .vec = d.vec };
        ptx_next(p);
        if (is_punct(p, '<')) {
            uint64_t n;
            ptx_next(p);
            if (!ptx_parse_count(p, &n) || !ptx_expect(p, '>', "after a count of registers"))
                return false;
            if (n > MAX_REGS)
                return ptx_error_at(p, at.line, at.column, 6007, "more registers than %d in a function or %d in a module", MAX_REGS, MAX_MODULE_REGS);
            if (d.vec > 1 && !room_for_names(p, id, n * (1 + d.vec), sizeof *id))
                return false;
            for (uint32_t i = 0; d.vec > 1 && i < n; i++)
                if (!bind_vector(p, numbered(p, id, i), &d, &at))
                    return false;
            if (d.vec > 1)
                continue;
            if (id->bind.kind == BIND_RANGE && id->bind.depth == p->depth)
                return twice(p, id->name, &at);
            b.kind = BIND_RANGE;
            b.count = (uint32_t)n;
            if (!add_range(p, id, d.type, (uint32_t)n, &at, &b.reg))
                return false;
        } else {
            if (d.vec > 1) {
                if (!bind_vector(p, id, &d, &at))
                    return false;
                continue;
            }
            if (!is_fresh(p, id, &at) || !ptx_add_register(p, id->name, d.type, &b.reg))
                return false;
            p->numbered |= id->name[id->len - 1] >= '0' && id->name[id->len - 1] <= '9';
        }
        ptx_bind(p, id, &b);
    } while (accept(p, ','));
    return ptx_expect(p, ';', "after a register declaration");
}

/* ---- functions ---- */

/* ( .param .u64 a, .reg .u32 b ): appends to p->params from their present end. */
static bool
parse_params(struct parser *p, bool entry, bool proto)
{
    ptx_next(p);
    if (accept(p, ')'))
        return true;
    do {
        struct decl d;
        uint64_t dims[MAX_DIMS];
        unsigned ndims = 0;
        uint32_t line = p->tok.line, column = p->tok.column;
        if (p->tok.kind != T_DOT || (p->tok.ident->dir != DIR_PARAM && p->tok.ident->dir != DIR_REG))
            return ptx_error(p, 2040, "expected a parameter, found %s", ptx_tok_text(p));
        bool reg = p->tok.ident->dir == DIR_REG;
        if (reg && entry)
            return ptx_error(p, 3020, "a kernel's parameters are in .param space");
        ptx_next(p);
        if (!parse_decl_head(p, &d))
            return false;
        struct ptx_symbol s = { .kind = PTX_SYM_PARAM, .space = PTX_SPACE_PARAM, .type = d.type, .is_param_reg = reg,
                                .ptr_space = d.ptr ? d.ptr_space : PTX_SPACE_REG, .ptr_align = d.ptr_align, .module = p->m,
                                .line = line, .column = column, .name = "_" };
        struct ident *id = NULL;
        if (is_name(p)) {
            id = ptx_tok_ident(p);
            s.name = id->name;
            s.line = p->tok.line;
            s.column = p->tok.column;
            ptx_next(p);
            if (!strcmp(s.name, "_"))
                id = NULL;
        } else if (!proto) {
            return ptx_error(p, 2037, "expected a name, found %s", ptx_tok_text(p));
        }
        if (reg && d.type == PTX_PRED) {
            s.size = s.align = 1;
        } else if (!parse_dims(p, &s, &d, dims, &ndims)) {
            return false;
        }
        struct ptx_symbol *n = ptx_copy(p, &s, 1, sizeof s);
        n->index = p->params.n;
        if (id && id->bind.kind != BIND_NONE && id->bind.depth == p->depth)
            return ptx_error_at(p, s.line, s.column, 3003, "'%s' is declared twice", id->name);
        if (reg && !proto) {
            struct binding b = { .kind = BIND_REG, .type = d.type, .vec = 1 };
            if (!ptx_add_register(p, s.name, d.type, &b.reg))
                return false;
            if (id)
                ptx_bind(p, id, &b);
            n->reg = b.reg;
        } else if (id && !proto) {
            ptx_bind(p, id, &(struct binding){ .kind = BIND_SYM, .sym = n });
        }
        VEC_PUSH(p, p->params, n);
        if (p->params.n > MAX_ARGS)
            return ptx_error(p, 6008, "more than %d parameters", MAX_ARGS);
    } while (accept(p, ','));
    return ptx_expect(p, ')', "after parameters");
}

static void
take_params(struct parser *p, struct ptx_symbol ***list, uint32_t *n)
{
    *n = p->params.n;
    *list = ptx_copy(p, p->params.at, p->params.n, sizeof *p->params.at);
    p->params.n = 0;
}

/* Parameters of all kernels take at most so many bytes (11.2.1). */
static unsigned
most_param_bytes(const struct ptx_module *m)
{
    return m->version_major * 10 + m->version_minor >= 81 && m->sm >= 70 ? 32764 : 4352;
}

static bool
layout_kernel_params(struct parser *p, struct ptx_function *f)
{
    uint64_t at = 0;
    const unsigned most = most_param_bytes(p->m);
    for (uint32_t i = 0; i < f->nparams; i++) {
        struct ptx_symbol *s = f->params[i];
        uint64_t align = s->align ? s->align : 1;
        at = (at + align - 1) & ~(align - 1);
        s->offset = at;
        at += s->size;
        if (at > most)
            return ptx_error_at(p, s->line, s->column, 6009, "kernel parameters of more than %u bytes", most);
    }
    f->param_size = (uint32_t)at;
    return true;
}

static bool
parse_dim3(struct parser *p, uint32_t out[3], const char *what, bool positive)
{
    for (unsigned i = 0; i < 3; i++) {
        struct token at = p->tok;
        uint64_t v;
        if (!ptx_parse_int(p, &v, what))
            return false;
        if (v > UINT32_MAX)
            return ptx_error_at(p, at.line, at.column, 3021, "%s does not fit 32 bits", what);
        if (!v && positive)
            return ptx_error_at(p, at.line, at.column, 3094, "%s of 0", what);
        out[i] = (uint32_t)v;
        if (i == 2 || !accept(p, ','))
            break;
    }
    for (unsigned i = 0; i < 3; i++)
        if (!out[i])
            out[i] = 1;
    return true;
}

static bool
parse_perf_directives(struct parser *p, struct ptx_function *f)
{
    const struct { enum directive d; const char *name; uint32_t *word, *dims; bool positive; } numbers[] = {
        { DIR_MAXNTID, ".maxntid", NULL, f->maxntid, true }, { DIR_REQNTID, ".reqntid", NULL, f->reqntid, true },
        { DIR_REQNCTAPERCLUSTER, ".reqnctapercluster", NULL, f->cluster, false }, { DIR_MINNCTAPERSM, ".minnctapersm", &f->minnctapersm, NULL, true },
        { DIR_MAXNREG, ".maxnreg", &f->maxnreg, NULL, true }, { DIR_MAXNCTAPERSM, NULL, NULL, NULL, false },
        { DIR_MAXCLUSTERRANK, NULL, NULL, NULL, false }, { DIR_ABI_PRESERVE, NULL, NULL, NULL, false },
        { DIR_ABI_PRESERVE_CONTROL, NULL, NULL, NULL, false },
    };
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    while (p->tok.kind == T_DOT) {
        uint64_t v = 0;
        unsigned i = 0;
        enum directive d = p->tok.ident->dir;
        if (d == DIR_PRAGMA) {
            if (!ptx_parse_pragma(p))
                return false;
            continue;
        }
        struct token at = p->tok;
        ptx_next(p);
        while (i < NUMBERS && numbers[i].d != d)
            i++;
        if (i < NUMBERS) {
            const char *name = numbers[i].name ? numbers[i].name : "this directive's value";
            struct token first = p->tok;
            if (numbers[i].dims ? !parse_dim3(p, numbers[i].dims, name, numbers[i].positive) : !ptx_parse_int(p, &v, name))
                return false;
            if (numbers[i].positive && !numbers[i].dims && !v)
                return ptx_error_at(p, first.line, first.column, 3094, "%s of 0", name);
            if (numbers[i].word)
                *numbers[i].word = (uint32_t)v;
        } else if (d == DIR_EXPLICITCLUSTER) {
            f->explicit_cluster = true;
        } else if (d == DIR_NORETURN) {
            f->noreturn = true;
        } else if (d != DIR_BLOCKSARECLUSTERS) {    /* that is equivalent for clusters of one block, the only ones here */
            p->tok = at;
            return ptx_error(p, 2041, "%s is no directive of a function", ptx_tok_text(p));
        }
    }
    return true;
}

static bool
same_signature(const struct ptx_function *a, const struct ptx_function *b)
{
    if (a->nparams != b->nparams || a->nrets != b->nrets)
        return false;
    for (uint32_t i = 0; i < a->nparams; i++)
        if (a->params[i]->size != b->params[i]->size || a->params[i]->is_param_reg != b->params[i]->is_param_reg)
            return false;
    for (uint32_t i = 0; i < a->nrets; i++)
        if (a->rets[i]->size != b->rets[i]->size || a->rets[i]->is_param_reg != b->rets[i]->is_param_reg)
            return false;
    return true;
}

static void
start_function(struct parser *p, struct ptx_function *f)
{
    p->fn = f;
    p->insts.n = p->regs.n = p->locals.n = p->params.n = 0;
    p->loc_file = p->loc_line = p->last_label = 0;
    p->nounroll = p->numbered = false;
}

static void
end_body(struct parser *p, struct ptx_function *f)
{
    f->nregs = p->regs.n;
    f->nlocals = p->locals.n;
    f->ninsts = p->insts.n;
    f->regs = ptx_copy(p, p->regs.at, p->regs.n, sizeof *p->regs.at);
    f->locals = ptx_copy(p, p->locals.at, p->locals.n, sizeof *p->locals.at);
    f->insts = ptx_copy(p, p->insts.at, p->insts.n, sizeof *p->insts.at);
}

bool
ptx_parse_function(struct parser *p, uint8_t linkage, bool entry)
{
    struct ptx_function *f = cw_arena_new(p->arena, struct ptx_function);
    struct ptx_symbol *s = cw_arena_new(p->arena, struct ptx_symbol);
    ptx_next(p);
    if (p->tok.kind == T_DOT && p->tok.ident->dir == DIR_ATTRIBUTE) {
        ptx_next(p);
        while (!is_punct(p, ')') && p->tok.kind != T_EOF)
            ptx_next(p);
        ptx_next(p);
    }
    f->sym = s;
    f->module = p->m;
    f->is_entry = entry;
    start_function(p, f);
    if (!ptx_scope_open(p)) {
        p->fn = NULL;
        return false;
    }
    bool ok = false;
    if (!entry && is_punct(p, '(')) {
        if (!parse_params(p, false, false))
            goto done;
        take_params(p, &f->rets, &f->nrets);
    }
    if (!is_name(p)) {
        ptx_error(p, 2042, "expected a function name, found %s", ptx_tok_text(p));
        goto done;
    }
    struct ident *id = ptx_tok_ident(p);
    *s = (struct ptx_symbol){ .name = id->name, .kind = PTX_SYM_FUNC, .linkage = linkage, .func = f, .module = p->m,
                              .line = p->tok.line, .column = p->tok.column };
    ptx_next(p);
    if (is_punct(p, '(') && !parse_params(p, entry, false))
        goto done;
    take_params(p, &f->params, &f->nparams);
    if ((entry && !layout_kernel_params(p, f)) || !parse_perf_directives(p, f))
        goto done;

    /* The function's own name belongs to the module's scope. */
    struct binding b = { .kind = BIND_SYM, .sym = s }, *old = &id->bind;
    bool body = is_punct(p, '{');
    struct ptx_function *into = f;
    if (old->kind != BIND_NONE && old->depth == 0) {
        struct ptx_symbol *o = old->kind == BIND_SYM ? old->sym : NULL;
        if (!o || o->kind != PTX_SYM_FUNC || (o->func->has_body && body) || o->func->is_entry != entry) {
            ptx_error_at(p, s->line, s->column, 3003, "'%s' is declared twice", id->name);
            goto done;
        }
        if (!same_signature(o->func, f)) {
            ptx_error_at(p, s->line, s->column, 3005, "'%s' was declared with other parameters (line %u)", id->name, o->line);
            goto done;
        }
        into = o->func;
        if (body) {
            s->index = o->index;
            if (s->linkage == PTX_LINK_LOCAL && o->linkage != PTX_LINK_EXTERN)
                s->linkage = o->linkage;
            s->func = into;
            *o = *s;
            f->sym = o;
            f->noreturn |= into->noreturn;
            *into = *f;
            p->fn = into;
        } else {
            o->func->noreturn |= f->noreturn;
        }
    } else {
        if (old->kind != BIND_NONE) {
            ptx_error_at(p, s->line, s->column, 3003, "'%s' is declared twice", id->name);
            goto done;
        }
        s->index = p->funcs.n;
        VEC_PUSH(p, p->funcs, f);
        id->bind = b;
        id->bind.depth = 0;
    }
    if (!body) {
        ok = ptx_expect(p, ';', "after a function declaration");
        goto done;
    }
    into->has_body = true;
    ok = ptx_parse_body(p);
    if (ok)
        end_body(p, into);
done:
    if (p->depth)
        while (p->depth)
            ptx_scope_close(p);
    p->fn = NULL;
    return ok;
}

/* name: .branchtargets L1, L2;   name: .calltargets f, g;   name: .callprototype (rets) _ (params); */
bool
ptx_parse_table(struct parser *p, struct ident *name, uint32_t line, uint32_t column)
{
    struct ptx_table *t = cw_arena_new(p->arena, struct ptx_table);
    enum directive d = p->tok.ident->dir;
    t->name = name->name;
    ptx_next(p);
    if (name->bind.kind != BIND_NONE && name->bind.depth == p->depth)
        return ptx_error_at(p, line, column, 3003, "'%s' is declared twice", name->name);
    struct binding b = { .kind = BIND_TABLE, .table = t };
    if (d == DIR_CALLPROTOTYPE) {
        struct ptx_function *f = cw_arena_new(p->arena, struct ptx_function);
        struct ptx_symbol *s = cw_arena_new(p->arena, struct ptx_symbol);
        *s = (struct ptx_symbol){ .name = name->name, .kind = PTX_SYM_FUNC, .func = f, .module = p->m, .line = line, .column = column };
        f->sym = s;
        f->module = p->m;
        p->params.n = 0;
        if (is_punct(p, '(') && (!parse_params(p, false, true)))
            return false;
        take_params(p, &f->rets, &f->nrets);
        if (!is_name(p))
            return ptx_error(p, 2043, "expected '_', found %s", ptx_tok_text(p));
        ptx_next(p);
        if (is_punct(p, '(') && !parse_params(p, false, true))
            return false;
        take_params(p, &f->params, &f->nparams);
        if (!parse_perf_directives(p, f))
            return false;
        t->proto = f;
    } else {
        VEC_OF(struct token) list = { NULL, 0, 0 };
        do {
            if (p->tok.kind != T_IDENT)
                return ptx_error(p, 2044, "expected a name, found %s", ptx_tok_text(p));
            VEC_PUSH(p, list, p->tok);
            ptx_next(p);
        } while (accept(p, ','));
        t->count = list.n;
        if (d == DIR_BRANCHTARGETS)
            t->labels = cw_arena_array(p->arena, uint32_t, list.n);
        else
            t->funcs = cw_arena_array(p->arena, const struct ptx_symbol *, list.n);
        for (uint32_t i = 0; i < list.n; i++) {
            const struct token *at = &list.at[i];
            const struct binding *fb = &at->ident->bind;
            if (d == DIR_BRANCHTARGETS) {
                struct fixup f = { at->ident, &t->labels[i], at->line, at->column, p->depth };
                VEC_PUSH(p, p->fixups, f);
            } else if (fb->kind != BIND_SYM || (fb->sym->kind != PTX_SYM_FUNC && fb->sym->kind != PTX_SYM_ALIAS)) {
                return ptx_error_at(p, at->line, at->column, 3006, "'%s' is not a function", at->ident->name);
            } else {
                t->funcs[i] = fb->sym;
            }
        }
    }
    ptx_bind(p, name, &b);
    return ptx_expect(p, ';', "after a table");
}
