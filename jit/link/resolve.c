/* SPDX-License-Identifier: Apache-2.0
 * Resolves names to definitions across the modules of a program. Rules, strongest first: .visible (and every .entry), .common (several
 * merge, the largest wins), .weak (the first wins); without a linkage directive a name is private to its module (PTX ISA 11.6, and the
 * linking rules of ELF, by which .weak and .common are defined). An undefined name is an error only if something refers to it. */
#include "jit/link/program.h"

#include <string.h>

/* One name: exported (module NULL), or private to a module. */
struct entry {
    const char *name;
    const struct ptx_module *module;
    struct ptx_symbol *def;         /* winner; an alias symbol counts as a function */
    uint32_t align;                 /* greatest over the definitions that merged */
    uint32_t id;
};

struct linker {
    struct cwj_program *p;
    struct cwj_diags *diags;
    bool allow_undefined;
    struct entry *table;
    size_t mask, used;
    uint32_t cap_funcs, cap_vars;
    uint32_t line, column;          /* of the current instruction */
    const struct ptx_module *module;
};

static size_t
hash_name(const char *s, const struct ptx_module *m)
{
    uint64_t h = 14695981039346656037ull ^ (uintptr_t)m;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211ull;
    return (size_t)(h ^ h >> 29);
}

static struct entry *
find(struct linker *l, const char *name, const struct ptx_module *m)
{
    for (size_t i = hash_name(name, m) & l->mask;; i = (i + 1) & l->mask) {
        struct entry *e = &l->table[i];
        if (!e->name || (e->module == m && !strcmp(e->name, name)))
            return e;
    }
}

static bool
is_function(const struct ptx_symbol *s)
{
    return s->kind == PTX_SYM_FUNC || s->kind == PTX_SYM_ALIAS;
}

/* A variable of the program, not of a thread or call. */
static bool
is_linked_var(const struct ptx_symbol *s)
{
    return s->kind == PTX_SYM_VAR && s->space != PTX_SPACE_LOCAL && s->space != PTX_SPACE_PARAM && s->space != PTX_SPACE_REG;
}

static bool
is_definition(const struct ptx_symbol *s)
{
    if (s->kind == PTX_SYM_FUNC)
        return s->func && s->func->has_body;
    if (s->kind == PTX_SYM_ALIAS)
        return true;
    return s->linkage != PTX_LINK_EXTERN;
}

static bool
is_exported(const struct ptx_symbol *s)
{
    return s->linkage != PTX_LINK_LOCAL || (s->kind == PTX_SYM_FUNC && s->func && s->func->is_entry);
}

static int
rank(const struct ptx_symbol *s)
{
    return s->linkage == PTX_LINK_WEAK ? 1 : s->linkage == PTX_LINK_COMMON ? 2 : 3;
}

static const char *
module_name(const struct ptx_module *m)
{
    return m && m->name ? m->name : "module";
}

static void
define(struct linker *l, struct ptx_module *m, struct ptx_symbol *s)
{
    struct entry *e = find(l, s->name, is_exported(s) ? NULL : m);
    if (!e->name) {
        *e = (struct entry){ .name = s->name, .module = is_exported(s) ? NULL : m, .def = s, .align = s->align, .id = CWJ_NO_ID };
        return;
    }
    if (l->p->device_runtime && e->def->kind == PTX_SYM_FUNC && e->def->func && e->def->func->module == l->p->device_runtime)
        return;                         /* ignore libcudadevrt's definition of the name */
    if (is_function(e->def) != is_function(s)) {
        cwj_diag_add(l->diags, PTX_ERROR, 4003, s->line, s->column, "'%s' is a %s in '%s' and a %s in '%s'", s->name,
                     is_function(e->def) ? "function" : "variable", module_name(e->def->module),
                     is_function(s) ? "function" : "variable", module_name(m));
        return;
    }
    int old = rank(e->def), new = rank(s);
    if (old == 3 && new == 3) {
        cwj_diag_add(l->diags, PTX_ERROR, 4002, s->line, s->column, "'%s' is defined in '%s' and again in '%s'", s->name,
                     module_name(e->def->module), module_name(m));
        return;
    }
    if (old == 2 && new == 2 && s->align > e->align)
        e->align = s->align;
    if (new > old || (new == 2 && old == 2 && s->size > e->def->size)) {
        e->def = s;
        if (new != 2 && old != 2)
            e->align = s->align;
    }
    if (s->align > e->align && new == old)
        e->align = s->align;
}

static uint32_t
add_function(struct linker *l, const struct cwj_function *f)
{
    struct cwj_program *p = l->p;
    p->funcs = cw_arena_grow(&p->arena, p->funcs, p->nfuncs, 1, &l->cap_funcs, sizeof *f);
    p->funcs[p->nfuncs] = *f;
    return p->nfuncs++;
}

static uint32_t
add_variable(struct linker *l, const struct ptx_symbol *s, uint32_t align, bool module_scope, bool dynamic, bool undefined)
{
    struct cwj_program *p = l->p;
    p->link_vars = cw_arena_grow(&p->arena, p->link_vars, p->nlink_vars, 1, &l->cap_vars, sizeof *p->link_vars);
    p->link_vars[p->nlink_vars] = (struct cwj_link_var){
        .name = s->name, .def = s, .align = align ? align : 1, .module_scope = module_scope, .dynamic = dynamic,
        .undefined = undefined,
        .space = s->space == PTX_SPACE_CONST || s->space == PTX_SPACE_SHARED ? s->space : PTX_SPACE_GLOBAL,
    };
    return p->nlink_vars++;
}

static uint8_t
runtime_function(const char *name)
{
    return !strcmp(name, "vprintf") ? CWJ_RT_VPRINTF : !strcmp(name, "malloc") ? CWJ_RT_MALLOC
         : !strcmp(name, "free") ? CWJ_RT_FREE : !strcmp(name, "__assertfail") ? CWJ_RT_ASSERTFAIL : CWJ_RT_NONE;
}

static bool
same_signature(const struct ptx_function *a, const struct ptx_function *b)
{
    if (a->nparams != b->nparams || a->nrets != b->nrets)
        return false;
    for (uint32_t i = 0; i < a->nparams; i++)
        if (a->params[i]->size != b->params[i]->size)
            return false;
    for (uint32_t i = 0; i < a->nrets; i++)
        if (a->rets[i]->size != b->rets[i]->size)
            return false;
    return true;
}

/* The definition of a declaration in module m, or NULL. */
static struct entry *
look_up(struct linker *l, const struct ptx_module *m, const char *name)
{
    struct entry *e = find(l, name, m);
    if (!e->name)
        e = find(l, name, NULL);
    return e->name ? e : NULL;
}

/* An .alias names a function of its own module (11.6.6), possibly through another alias. */
static const struct ptx_symbol *
follow_alias(const struct ptx_symbol *s)
{
    for (unsigned depth = 0; s && s->kind == PTX_SYM_ALIAS; s = s->alias)
        if (++depth > 64)
            return NULL;
    return s;
}

static void
bind_declaration(struct linker *l, struct ptx_module *m, struct ptx_symbol *s)
{
    struct entry *e = look_up(l, m, s->name);
    if (e && is_function(e->def) != is_function(s)) {
        cwj_diag_add(l->diags, PTX_ERROR, 4003, s->line, s->column, "'%s' is declared as a %s in '%s' and is a %s in '%s'",
                     s->name, is_function(s) ? "function" : "variable", module_name(m),
                     is_function(e->def) ? "function" : "variable", module_name(e->def->module));
        return;
    }
    if (s->kind == PTX_SYM_FUNC) {
        if (e) {
            s->link_id = e->id;
            const struct ptx_symbol *t = follow_alias(e->def);
            if (t && t->func && s->func && !same_signature(t->func, s->func))
                cwj_diag_add(l->diags, PTX_ERROR, 4004, s->line, s->column,
                             "'%s' is declared in '%s' with other parameters than it is defined with in '%s'", s->name,
                             module_name(m), module_name(e->def->module));
            return;
        }
        /* declared here, found nowhere: the runtime's, or undefined; see refer() */
        return;
    }
    bool unsized_shared = s->space == PTX_SPACE_SHARED && s->unsized;
    if (!e) {
        if (unsized_shared)
            s->link_id = add_variable(l, s, s->align, true, true, false);
        return;
    }
    uint8_t have = l->p->link_vars[e->id].space;
    uint8_t want = s->space == PTX_SPACE_CONST || s->space == PTX_SPACE_SHARED ? s->space : PTX_SPACE_GLOBAL;
    if (have != want) {
        cwj_diag_add(l->diags, PTX_ERROR, 4003, s->line, s->column, "'%s' is declared in another state space in '%s' than it "
                     "is defined in, in '%s'", s->name, module_name(m), module_name(e->def->module));
        return;
    }
    if (!s->unsized && s->size > e->def->size)
        cwj_diag_add(l->diags, PTX_WARNING, 4005, s->line, s->column, "'%s' is declared in '%s' with %llu bytes and defined in "
                     "'%s' with %llu", s->name, module_name(m), (unsigned long long)s->size, module_name(e->def->module),
                     (unsigned long long)e->def->size);
    s->link_id = e->id;
}

/* Record a reference to s. A name without a definition gets one entry, undefined or runtime. */
static void
refer(struct linker *l, struct ptx_symbol *s)
{
    if (!is_function(s) && !is_linked_var(s))
        return;
    if (s->link_id != CWJ_NO_ID)
        return;
    struct entry *e = find(l, s->name, NULL);
    if (e->name && e->id != CWJ_NO_ID) {
        if (is_function(e->def) == is_function(s))
            s->link_id = e->id;
        return;
    }
    if (e->name)    /* defined, but in error, as already reported */
        return;
    uint8_t rt = is_function(s) ? runtime_function(s->name) : CWJ_RT_NONE;
    /* A module alone is a whole program: ptxas and the driver's compiler ignore .extern of a variable whose size is known. */
    bool own = !is_function(s) && !s->unsized && l->p->nmodules == 1 && !l->allow_undefined;
    if (own)
        cwj_diag_add(l->diags, PTX_WARNING, 4011, s->line, s->column, "'%s' is .extern and defined nowhere: .extern is ignored", s->name);
    else if (!rt && !l->allow_undefined)
        cwj_diag_add(l->diags, PTX_ERROR, 4001, l->line, l->column, "'%s' is not defined%s%s%s", s->name,
                     l->p->nmodules > 1 ? " (used in '" : "", l->p->nmodules > 1 ? module_name(l->module) : "",
                     l->p->nmodules > 1 ? "')" : "");
    uint32_t id = is_function(s)
        ? add_function(l, &(struct cwj_function){ .name = s->name, .fn = s->func, .runtime = rt, .undefined = !rt })
        : add_variable(l, s, s->align, true, false, !own);
    *e = (struct entry){ .name = s->name, .def = s, .id = id };
    s->link_id = id;
}

void
cwj_walk_operand(const struct ptx_operand *o, void (*visit)(void *user, const struct ptx_operand *o), void *user)
{
    visit(user, o);
    if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_PRED_PAIR || o->kind == PTX_OPND_LIST)
        for (unsigned i = 0; i < o->count; i++)
            cwj_walk_operand(&o->elem[i], visit, user);
}

static void
refer_operand(void *user, const struct ptx_operand *o)
{
    struct linker *l = user;
    if (o->sym && (o->kind == PTX_OPND_SYM || (o->kind == PTX_OPND_ADDR && !o->has_reg)))
        refer(l, (struct ptx_symbol *)o->sym);
    if (o->kind == PTX_OPND_TABLE && o->table)
        for (uint32_t i = 0; o->table->funcs && i < o->table->count; i++)
            refer(l, (struct ptx_symbol *)o->table->funcs[i]);
}

static void
refer_initialiser(struct linker *l, const struct ptx_symbol *s)
{
    l->line = s->line;
    l->column = s->column;
    for (uint32_t i = 0; i < s->nrelocs; i++)
        refer(l, (struct ptx_symbol *)s->relocs[i].target);
}

static void
refer_module(struct linker *l, struct ptx_module *m)
{
    l->module = m;
    for (uint32_t i = 0; i < m->nvars; i++)
        refer_initialiser(l, m->vars[i]);
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        struct ptx_function *f = m->funcs[i];
        if (f->sym->link_id != CWJ_NO_ID && l->p->funcs[f->sym->link_id].fn != f)
            continue;                   /* another definition of the name won: do not compile this one */
        for (uint32_t k = 0; k < f->nlocals; k++)
            refer_initialiser(l, f->locals[k]);
        for (uint32_t k = 0; k < f->ninsts; k++) {
            const struct ptx_inst *in = &f->insts[k];
            l->line = in->line;
            l->column = in->column;
            for (unsigned j = 0; j < in->noperands; j++)
                cwj_walk_operand(&in->operand[j], refer_operand, l);
        }
    }
}

/* Number the winning definitions. A duplicate that lost (a weak one) refers to the winner. */
static void
number_definition(struct linker *l, struct ptx_module *m, struct ptx_symbol *s)
{
    struct entry *e = find(l, s->name, is_exported(s) ? NULL : m);
    if (!e->name || e->def != s || s->kind == PTX_SYM_ALIAS)
        return;
    e->id = is_function(s) ? add_function(l, &(struct cwj_function){ .name = s->name, .fn = s->func })
                           : add_variable(l, s, e->align, true, false, false);
    s->link_id = e->id;
}

static void
bind_loser(struct linker *l, struct ptx_module *m, struct ptx_symbol *s)
{
    struct entry *e = find(l, s->name, is_exported(s) ? NULL : m);
    if (e->name && s->link_id == CWJ_NO_ID && is_function(e->def) == is_function(s))
        s->link_id = e->id;
}

static void
bind_alias(struct linker *l, struct ptx_module *m, struct ptx_symbol *s)
{
    const struct ptx_symbol *t = follow_alias(s);
    if (!t || t->link_id == CWJ_NO_ID) {
        cwj_diag_add(l->diags, PTX_ERROR, 4006, s->line, s->column, "alias '%s' leads to no defined function", s->name);
        return;
    }
    struct entry *e = find(l, s->name, is_exported(s) ? NULL : m);
    if (e->name && e->def == s)
        e->id = t->link_id;
    s->link_id = t->link_id;
}

typedef void visit_symbol(struct linker *l, struct ptx_module *m, struct ptx_symbol *s);

/* Every module-scope name of kind FUNC, ALIAS or VAR, in order. */
static void
each_symbol(struct linker *l, int definitions, int aliases, visit_symbol *visit)
{
    for (uint32_t i = 0; i < l->p->nmodules; i++) {
        struct ptx_module *m = l->p->modules[i];
        for (uint32_t k = 0; k < m->nfuncs; k++) {
            struct ptx_symbol *s = m->funcs[k]->sym;
            if (is_definition(s) == definitions && (aliases < 0 || (s->kind == PTX_SYM_ALIAS) == aliases))
                visit(l, m, s);
        }
        for (uint32_t k = 0; aliases <= 0 && k < m->nvars; k++)
            if (is_definition(m->vars[k]) == definitions)
                visit(l, m, m->vars[k]);
    }
}

cw_result
cwj_link_resolve(struct cwj_program *p, bool allow_undefined, struct cwj_diags *diags)
{
    struct linker l = { .p = p, .diags = diags, .allow_undefined = allow_undefined };
    uint32_t errors = diags->errors;
    size_t names = 16;
    for (uint32_t i = 0; i < p->nmodules; i++) {
        struct ptx_module *m = p->modules[i];
        names += (size_t)m->nfuncs + m->nvars;
        for (uint32_t k = 0; k < m->nvars; k++)
            m->vars[k]->link_id = CWJ_NO_ID;
        for (uint32_t k = 0; k < m->nfuncs; k++) {
            m->funcs[k]->sym->link_id = CWJ_NO_ID;
            for (uint32_t j = 0; j < m->funcs[k]->nlocals; j++)
                m->funcs[k]->locals[j]->link_id = CWJ_NO_ID;
        }
    }
    size_t slots = 64;
    while (slots < names * 2)
        slots *= 2;
    l.table = cw_arena_array(&p->scratch, struct entry, slots);
    l.mask = slots - 1;

    for (uint32_t i = 0; p->device_runtime && i < p->device_runtime->nfuncs; i++)
        if (is_definition(p->device_runtime->funcs[i]->sym))
            define(&l, p->modules[p->nmodules - 1], p->device_runtime->funcs[i]->sym);
    each_symbol(&l, true, -1, define);
    each_symbol(&l, true, 0, number_definition);
    for (uint32_t i = 0; i < p->nmodules; i++) {
        struct ptx_module *m = p->modules[i];
        for (uint32_t k = 0; k < m->nfuncs; k++)
            for (uint32_t j = 0; j < m->funcs[k]->nlocals; j++) {
                struct ptx_symbol *s = m->funcs[k]->locals[j];
                if (is_linked_var(s) && s->linkage != PTX_LINK_EXTERN)
                    s->link_id = add_variable(&l, s, s->align, false, false, false);
            }
    }
    each_symbol(&l, true, 0, bind_loser);
    each_symbol(&l, true, 1, bind_alias);
    each_symbol(&l, false, -1, bind_declaration);
    for (uint32_t i = 0; i < p->nmodules; i++) {
        struct ptx_module *m = p->modules[i];
        for (uint32_t k = 0; k < m->nfuncs; k++)
            for (uint32_t j = 0; j < m->funcs[k]->nlocals; j++) {
                struct ptx_symbol *s = m->funcs[k]->locals[j];
                if (is_linked_var(s) && s->linkage == PTX_LINK_EXTERN)
                    bind_declaration(&l, m, s);
            }
    }
    for (uint32_t i = 0; i < p->nmodules; i++)
        refer_module(&l, p->modules[i]);

    if (diags->errors == errors)
        return CW_OK;
    for (const struct cwj_diag *d = diags->first; d; d = d->next)
        if (d->severity == PTX_ERROR && d->code == 4002)
            return CW_ERR_DUPLICATE;
    return CW_ERR_UNRESOLVED;
}
