/* SPDX-License-Identifier: Apache-2.0
 * The parser's frame: module directives, statements of a body, error recovery. One pass over the text; a failed statement is reported and
 * skipped up to its ';', and parsing continues until the limit of errors. */
#include "jit/ptx/ptx_private.h"

#include <stdlib.h>

bool
ptx_expect(struct parser *p, unsigned c, const char *where)
{
    if (accept(p, c))
        return true;
    return ptx_error(p, 2001, "expected '%c' %s, found %s", (char)c, where, ptx_tok_text(p));
}

/* Skip to just behind the next ';', or to a brace that cannot belong to an operand, because it is on another line than the statement's
 * first. */
void
ptx_skip_statement(struct parser *p, uint32_t line)
{
    unsigned open = 0;
    while (p->tok.kind != T_EOF) {
        if (is_punct(p, '{')) {
            if (p->tok.line != line)
                return;
            open++;
        } else if (is_punct(p, '}')) {
            if (!open && p->tok.line != line)
                return;
            open -= open > 0;
        } else if (accept(p, ';')) {
            return;
        }
        ptx_next(p);
    }
}

static bool
give_up(const struct parser *p)
{
    return p->diags->errors >= (p->diags->limit ? p->diags->limit : 20);
}

/* .loc file line column {, function_name label, inlined_at file line column} */
bool
ptx_parse_loc(struct parser *p)
{
    uint32_t line = p->tok.line;
    ptx_next(p);
    if (p->tok.kind != T_INT)
        return ptx_error(p, 2021, "expected a file number, found %s", ptx_tok_text(p));
    p->loc_file = (uint32_t)p->tok.value;
    ptx_next(p);
    if (p->tok.kind != T_INT)
        return ptx_error(p, 2021, "expected a line number, found %s", ptx_tok_text(p));
    p->loc_line = (uint32_t)p->tok.value;
    ptx_next(p);
    /* skip the rest of the line: column, and the inlined call */
    while (p->tok.kind != T_EOF && p->tok.line == line && !is_punct(p, ';') && !is_punct(p, '}'))
        ptx_next(p);
    accept(p, ';');
    return true;
}

bool
ptx_parse_pragma(struct parser *p)
{
    ptx_next(p);
    do {
        if (p->tok.kind != T_STRING)
            return ptx_error(p, 2022, "expected a string, found %s", ptx_tok_text(p));
        if (p->fn && p->tok.len == 8 && !memcmp(p->tok.s, "nounroll", 8))
            p->nounroll = true;
        ptx_next(p);
    } while (accept(p, ','));
    return ptx_expect(p, ';', "after .pragma");
}

bool
ptx_skip_braces(struct parser *p, const char *what)
{
    unsigned depth = 0;
    do {
        if (is_punct(p, '{'))
            depth++;
        else if (is_punct(p, '}'))
            depth--;
        else if (p->tok.kind == T_EOF)
            return ptx_error(p, 2035, "%s that %s not closed", what, what[0] == 'a' ? "is" : "are");
        ptx_next(p);
    } while (depth);
    return true;
}

/* .section name { ... } of debug data: skipped. */
static bool
parse_section(struct parser *p)
{
    p->seen_dwarf = true;
    ptx_next(p);
    while (p->tok.kind != T_EOF && !is_punct(p, '{'))
        ptx_next(p);
    return ptx_skip_braces(p, "a section");
}

static bool
parse_file(struct parser *p)
{
    ptx_next(p);
    if (p->tok.kind != T_INT)
        return ptx_error(p, 2021, "expected a file number, found %s", ptx_tok_text(p));
    uint64_t n = p->tok.value;
    struct token at = p->tok;
    ptx_next(p);
    if (p->tok.kind != T_STRING)
        return ptx_error(p, 2022, "expected a string, found %s", ptx_tok_text(p));
    if (n > 65535)
        return ptx_error_at(p, at.line, at.column, 6011, "a file number above 65535");
    if (n >= p->m->nfiles) {
        const char **f = cw_arena_array(p->arena, const char *, (n + 1) * 2);
        if (p->m->nfiles)
            memcpy(f, p->m->files, p->m->nfiles * sizeof *f);
        p->m->files = f;
        p->m->nfiles = (uint32_t)n + 1;
    }
    p->m->files[n] = cw_arena_strndup(p->arena, p->tok.s, p->tok.len);
    ptx_next(p);
    while (accept(p, ','))      /* time stamp and size */
        if (p->tok.kind == T_INT)
            ptx_next(p);
    return true;
}

static bool
parse_version(struct parser *p)
{
    struct token at = p->tok;
    ptx_next(p);
    /* The lexer takes "8.0" for a float: parse its text. */
    const char *s = p->tok.s, *e = s + p->tok.len;
    unsigned part[2] = { 0, 0 }, i = 0;
    if (p->tok.kind != T_FLOAT && p->tok.kind != T_INT)
        return ptx_error(p, 2023, "expected a version, found %s", ptx_tok_text(p));
    for (; s < e; s++) {
        if (*s == '.' && i == 0)
            i = 1;
        else if (*s >= '0' && *s <= '9' && part[i] < 1000)
            part[i] = part[i] * 10 + (unsigned)(*s - '0');
        else
            return ptx_error(p, 2023, "expected a version, found %s", ptx_tok_text(p));
    }
    ptx_next(p);
    if (p->seen_version)
        return ptx_error_at(p, at.line, at.column, 2024, "a second .version");
    if (part[0] < 1)
        return ptx_error_at(p, at.line, at.column, 3050, "PTX %u.%u does not exist", part[0], part[1]);
    if (part[0] * 10 + part[1] > PTX_NEWEST)
        ptx_warn_at(p, at.line, at.column, 3051, "PTX %u.%u is newer than 9.0, which this reader knows", part[0], part[1]);
    p->m->version_major = part[0];
    p->m->version_minor = part[1];
    p->seen_version = true;
    return true;
}

/* With which PTX each target came (PTX ISA 9.0, 13 and 11.1.2; LLVM's NVPTX.td knows the same): itself, with suffix a, with suffix f; 0: never. */
static const struct {
    uint8_t sm, plain, a, f;
} targets[] = {
    { 10, 10, 0, 0 }, { 11, 10, 0, 0 }, { 12, 12, 0, 0 }, { 13, 12, 0, 0 }, { 20, 20, 0, 0 }, { 21, 20, 0, 0 }, { 30, 30, 0, 0 }, { 32, 40, 0, 0 },
    { 35, 31, 0, 0 }, { 37, 41, 0, 0 }, { 50, 40, 0, 0 }, { 52, 41, 0, 0 }, { 53, 42, 0, 0 }, { 60, 50, 0, 0 }, { 61, 50, 0, 0 }, { 62, 50, 0, 0 },
    { 70, 60, 0, 0 }, { 72, 61, 0, 0 }, { 75, 63, 0, 0 }, { 80, 70, 0, 0 }, { 86, 71, 0, 0 }, { 87, 74, 0, 0 }, { 88, 73, 0, 0 }, { 89, 78, 0, 0 },
    { 90, 78, 80, 0 }, { 100, 86, 86, 88 }, { 101, 86, 86, 88 }, { 103, 88, 88, 88 }, { 110, 90, 90, 90 }, { 120, 87, 87, 88 }, { 121, 88, 88, 88 },
};

/* Whether the module's version of PTX has the target; one that is newer than this table may have any. */
static bool
check_target(struct parser *p, const char *name, unsigned long sm, char suffix)
{
    unsigned have = p->m->version_major * 10 + p->m->version_minor, i = 0;
    if (!have || have > PTX_NEWEST)
        return true;
    while (i < sizeof targets / sizeof *targets && targets[i].sm != sm)
        i++;
    unsigned since = i == sizeof targets / sizeof *targets ? 0 : suffix == 'a' ? targets[i].a : suffix == 'f' ? targets[i].f : targets[i].plain;
    if (!since)
        return ptx_error(p, 3052, "unknown target '%s'", name);
    return have >= since || ptx_error(p, 3092, "target '%s' came with PTX %u.%u, but the module says %u.%u", name, since / 10, since % 10, have / 10, have % 10);
}

static bool
parse_target(struct parser *p)
{
    ptx_next(p);
    do {
        if (p->tok.kind != T_IDENT)
            return ptx_error(p, 2025, "expected a target, found %s", ptx_tok_text(p));
        const char *w = p->tok.ident->name;
        if (!strncmp(w, "sm_", 3) || !strncmp(w, "compute_", 8)) {
            char *end;
            const char *d = strchr(w, '_') + 1;
            unsigned long v = strtoul(d, &end, 10);
            if (end == d || v < 10 || v > 999 || (*end && (end[1] || (*end != 'a' && *end != 'f'))))
                return ptx_error(p, 3052, "unknown target '%s'", w);
            if (!check_target(p, w, v, *end))
                return false;
            p->m->sm = (unsigned)v;
            p->m->sm_suffix = *end;
            p->seen_target = true;
        } else if (!strcmp(w, "texmode_independent")) {
            p->m->texmode_independent = true;
        } else if (!strcmp(w, "debug")) {
            p->m->debug = true;
            p->debug_at = p->tok;
        } else if (!strcmp(w, "map_f64_to_f32")) {
            p->m->map_f64_to_f32 = true;
        } else if (strcmp(w, "texmode_unified")) {
            return ptx_error(p, 3052, "unknown target '%s'", w);
        }
        ptx_next(p);
    } while (accept(p, ','));
    return true;
}

static bool
parse_alias(struct parser *p)
{
    struct ident *id[2];
    struct token at[2];
    ptx_next(p);
    for (unsigned i = 0; i < 2; i++) {
        if (p->tok.kind != T_IDENT)
            return ptx_error(p, 2037, "expected a name, found %s", ptx_tok_text(p));
        at[i] = p->tok;
        id[i] = p->tok.ident;
        ptx_next(p);
        if (!i && !ptx_expect(p, ',', "between an alias and what it names"))
            return false;
    }
    for (unsigned i = 0; i < 2; i++)
        if (id[i]->bind.kind != BIND_SYM || (id[i]->bind.sym->kind != PTX_SYM_FUNC && id[i]->bind.sym->kind != PTX_SYM_ALIAS))
            return ptx_error_at(p, at[i].line, at[i].column, 3006, "'%s' is not a function", id[i]->name);
    struct ptx_symbol *a = id[0]->bind.sym, *target = id[1]->bind.sym;
    if (a->func->has_body)
        return ptx_error_at(p, at[0].line, at[0].column, 3008, "the alias '%s' has a body of its own", a->name);
    while (target->kind == PTX_SYM_ALIAS && target != a)
        target = (struct ptx_symbol *)target->alias;
    if (target == a)
        return ptx_error_at(p, at[0].line, at[0].column, 3009, "'%s' is an alias of itself", a->name);
    a->kind = PTX_SYM_ALIAS;
    a->alias = target;
    return ptx_expect(p, ';', "after .alias");
}

/* Statements that are allowed both in a module and in a body. */
static bool
parse_directive(struct parser *p)
{
    uint8_t linkage = PTX_LINK_LOCAL;
    struct token first = p->tok;
    for (;;) {
        if (p->tok.kind != T_DOT)
            return ptx_error(p, 2004, "expected a directive, found %s", ptx_tok_text(p));
        enum directive d = p->tok.ident->dir;
        uint8_t link = d == DIR_VISIBLE ? PTX_LINK_VISIBLE : d == DIR_EXTERN ? PTX_LINK_EXTERN : d == DIR_WEAK ? PTX_LINK_WEAK :
                       d == DIR_COMMON ? PTX_LINK_COMMON : PTX_LINK_LOCAL;
        if (link != PTX_LINK_LOCAL) {
            if (linkage != PTX_LINK_LOCAL)
                return ptx_error(p, 2005, "two linking directives");
            if (p->fn)
                return ptx_error(p, 2006, "a linking directive inside a function");
            linkage = link;
            ptx_next(p);
            continue;
        }
        if (!p->seen_version && d != DIR_VERSION && d != DIR_FILE) {
            p->seen_version = true;
            ptx_error_at(p, first.line, first.column, 3053, "a module starts with .version");
        }
        switch (d) {
        case DIR_GLOBAL: case DIR_CONST: case DIR_SHARED: case DIR_LOCAL: case DIR_TEX:
            return ptx_parse_variable(p, linkage, d);
        case DIR_PARAM:
            if (p->fn)
                return ptx_parse_variable(p, linkage, d);
            return ptx_error(p, 2007, ".param outside of a function");
        case DIR_REG:
            if (p->fn)
                return ptx_parse_reg_decl(p);
            return ptx_error(p, 2007, ".reg outside of a function");
        case DIR_ENTRY: case DIR_FUNC:
            if (p->fn)
                return ptx_error(p, 2008, "a function inside a function");
            if (!p->seen_target) {
                p->seen_target = true;
                ptx_error_at(p, first.line, first.column, 3054, "a module needs .target before its first function");
            }
            return ptx_parse_function(p, linkage, d == DIR_ENTRY);
        case DIR_LOC: return ptx_parse_loc(p);
        case DIR_PRAGMA: return ptx_parse_pragma(p);
        case DIR_FILE: return parse_file(p);
        case DIR_SECTION: return parse_section(p);
        default: break;
        }
        if (!p->fn && linkage == PTX_LINK_LOCAL) {
            switch (d) {
            case DIR_VERSION: return parse_version(p);
            case DIR_TARGET: return parse_target(p);
            case DIR_ALIAS: return parse_alias(p);
            case DIR_ADDRESS_SIZE:
                ptx_next(p);
                if (p->tok.kind != T_INT || (p->tok.value != 32 && p->tok.value != 64))
                    return ptx_error(p, 3055, ".address_size is 32 or 64");
                p->m->address_size = (unsigned)p->tok.value;
                ptx_next(p);
                return true;
            default: break;
            }
        }
        return ptx_error(p, 2009, "unknown directive %s", ptx_tok_text(p));
    }
}

/* Add PTX's implied ret to a body that can end without a terminator. */
static void
implicit_ret(struct parser *p)
{
    if (p->insts.n) {
        const struct ptx_inst *last = &p->insts.at[p->insts.n - 1];
        if ((ptx_op_rows[last->op].info.traits & PTX_T_TERMINATOR) && !last->has_guard && p->last_label != p->insts.n)
            return;
    }
    struct ptx_inst ret = { .op = PTX_OP_RET, .vec = 1, .line = p->tok.line, .column = p->tok.column };
    ret.operand = cw_arena_array(p->arena, struct ptx_operand, 1);
    VEC_PUSH(p, p->insts, ret);
}

bool
ptx_parse_body(struct parser *p)
{
    uint16_t outer = p->depth;
    uint32_t line = p->tok.line, column = p->tok.column;
    do {
        if (is_punct(p, '{')) {
            ptx_next(p);
            if (!ptx_scope_open(p))
                return false;
            continue;
        }
        if (is_punct(p, '}')) {
            if (p->depth == outer + 1)
                implicit_ret(p);
            ptx_scope_close(p);
            ptx_next(p);
            continue;
        }
        if (p->tok.kind == T_EOF)
            return ptx_error_at(p, line, column, 2015, "this body is not closed");
        if (accept(p, ';'))
            continue;
        uint32_t first = p->tok.line;
        bool ok = p->tok.kind == T_DOT ? parse_directive(p) : ptx_parse_instruction(p);
        if (!ok) {
            if (give_up(p))
                return false;
            p->elems.n = 0;
            if (p->tok.kind == T_BAD)
                ptx_next(p);
            ptx_skip_statement(p, first);
        }
    } while (p->depth > outer);
    return true;
}

/* After an error at module scope, skip to the next directive that can start a declaration. */
static void
skip_declaration(struct parser *p)
{
    unsigned depth = 0;
    while (p->tok.kind != T_EOF) {
        if (is_punct(p, '{'))
            depth++;
        else if (is_punct(p, '}')) {
            if (depth <= 1) {
                ptx_next(p);
                return;
            }
            depth--;
        } else if (!depth && is_punct(p, ';')) {
            ptx_next(p);
            return;
        }
        ptx_next(p);
    }
}

static void
parse_module(struct parser *p)
{
    ptx_next(p);
    while (p->tok.kind != T_EOF && !give_up(p)) {
        if (accept(p, ';'))
            continue;
        if (is_punct(p, '@')) {     /* @@DWARF */
            uint32_t line = p->tok.line;
            while (p->tok.kind != T_EOF && p->tok.line == line)
                ptx_next(p);
            continue;
        }
        if (!parse_directive(p))
            skip_declaration(p);
    }
    if (!p->seen_version && !p->diags->errors)
        ptx_error_at(p, 1, 1, 3053, "a module starts with .version");
    else if (!p->seen_target && !p->diags->errors)
        ptx_error_at(p, 1, 1, 3054, "a module needs .target");
    if (p->m->debug && !p->seen_dwarf)      /* 11.1.2 */
        ptx_error_at(p, p->debug_at.line, p->debug_at.column, 3093, "a module for debugging needs DWARF (.section)");
}

struct work {
    struct parser *p;
    const char *name, *text;
    size_t size;
};

static void
parse(void *user)
{
    struct work *w = user;
    struct parser *p = w->p;
    struct ptx_module *m = p->m;
    cw_arena_guard_too(&p->names, p->arena);
    m->name = cw_arena_strndup(&m->arena, w->name, strlen(w->name));
    ptx_lex_init(p, w->text, w->size);
    parse_module(p);
    m->nfuncs = p->funcs.n;
    m->nvars = p->vars.n;
    m->funcs = ptx_copy(p, p->funcs.at, m->nfuncs, sizeof *m->funcs);
    m->vars = ptx_copy(p, p->vars.at, m->nvars, sizeof *m->vars);
}

cw_result
ptx_parse(const char *name, const char *text, size_t size, struct ptx_module **out, struct cwj_diags *diags)
{
    *out = NULL;
    while (size && !text[size - 1])
        size--;
    if (size > MAX_TEXT) {
        cwj_diag_add(diags, PTX_ERROR, 6000, 0, 0, "a PTX text of more than %d bytes", MAX_TEXT);
        return CW_ERR_LIMIT;
    }
    struct ptx_module *m = calloc(1, sizeof *m);
    struct parser *p = calloc(1, sizeof *p);
    struct work w = { p, name ? name : "module", text, size };
    cw_result r = CW_ERR_NOMEM;
    uint32_t before = diags->errors;
    if (m && p) {
        cw_arena_init(&m->arena);
        cw_arena_init(&p->names);
        m->address_size = 64;       /* NVIDIA's driver assumes 64 and loads nothing else; the PTX ISA says 32 (11.1.3) */
        p->m = m;
        p->arena = &m->arena;
        p->diags = diags;
        if (cw_arena_guard(&m->arena, parse, &w))
            r = diags->errors > before ? CW_ERR_SYNTAX : CW_OK;
        cw_arena_finish(&p->names);
    }
    free(p);
    if (r == CW_ERR_NOMEM)
        cwj_diag_add(diags, PTX_ERROR, 6099, 0, 0, "out of memory");
    if (r == CW_OK)
        *out = m;
    else
        ptx_module_destroy(m);
    return r;
}

void
ptx_module_destroy(struct ptx_module *m)
{
    if (!m)
        return;
    cw_arena_finish(&m->arena);
    free(m);
}
