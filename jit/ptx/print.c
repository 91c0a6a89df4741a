/* SPDX-License-Identifier: Apache-2.0
 * Prints a module as PTX that parses back to the same IR. Scopes are flattened: a name redeclared in a nested scope gets a suffix (names
 * inside TEXT operands keep their spelling). Order: prototypes of all .func, variables, bodies of .func, kernels, aliases. `.target debug`
 * is omitted, since the debug sections that it requires are not kept. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "jit/ptx/print_private.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>

/* ---- names in use ---- */

static int
compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* False: it is in use already. */
static bool
names_add(struct print *pr, const char *s)
{
    bool fresh = !tfind(s, &pr->names, compare_names);
    if (fresh && !tsearch(s, &pr->names, compare_names))
        cw_arena_exhausted(&pr->arena);
    return fresh;
}

static void
keep_name(void *name)
{
    (void)name;
}

/* s, or s$k with the first free k. */
static const char *
unique_name(struct print *pr, const char *s)
{
    const char *q = s;
    for (unsigned k = 1; !names_add(pr, q); k++)
        q = cw_arena_printf(&pr->arena, "%s$%u", s, k);
    return q;
}

/* ---- variables ---- */

static const char *
linkage_word(uint8_t l)
{
    static const char *const words[] = { "", ".visible ", ".extern ", ".weak ", ".common " };
    return l < sizeof words / sizeof *words ? words[l] : "";
}

static const char *
space_word(uint8_t s)
{
    static const char *const words[] = { "", "reg", "global", "shared", "const", "local", "param", "tex", "shared" };
    return s < sizeof words / sizeof *words ? words[s] : "";
}

static uint64_t
element(const struct ptx_symbol *s, uint64_t at, unsigned elem)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < elem && i < 8 && at + i < s->size; i++)
        v |= (uint64_t)s->init[at + i] << (8 * i);
    return v;
}

static void
print_reloc(struct cw_buf *out, const struct ptx_reloc *r, unsigned elem)
{
    bool mask = r->shift || r->width != elem || elem == 1;
    if (mask)
        cw_buf_printf(out, "0x%" PRIX64 "(", (uint64_t)0xff << r->shift);
    cw_buf_printf(out, r->generic ? "generic(%s)" : "%s", r->target->name);
    if (r->addend)
        cw_buf_printf(out, "+%" PRId64, r->addend);
    if (mask)
        cw_buf_puts(out, ")");
}

static void
print_init(struct cw_buf *out, const struct ptx_symbol *s)
{
    unsigned elem = ptx_type_bits(s->type) / 8;
    uint32_t rel = 0;
    if (!elem)
        return;
    uint64_t n = s->size / elem;
    uint64_t last = s->nrelocs ? s->relocs[s->nrelocs - 1].offset / elem + 1 : 0;
    for (uint64_t i = n; i > last; i--) {
        if (element(s, (i - 1) * elem, elem)) {
            last = i;
            break;
        }
    }
    bool braces = s->is_array || n > 1;
    cw_buf_puts(out, braces ? " = {" : " = ");
    for (uint64_t i = 0; i < last || (!braces && !i); i++) {
        if (i)
            cw_buf_puts(out, i % 16 ? ", " : ",\n    ");
        if (rel < s->nrelocs && s->relocs[rel].offset == i * elem) {
            print_reloc(out, &s->relocs[rel++], elem);
            continue;
        }
        uint64_t v = element(s, i * elem, elem);
        if (s->type == PTX_F32)
            cw_buf_printf(out, "0f%08" PRIX64, v);
        else if (s->type == PTX_F64)
            cw_buf_printf(out, "0d%016" PRIX64, v);
        else
            cw_buf_printf(out, v > 9 ? "0x%" PRIX64 : "%" PRIu64, v);
    }
    cw_buf_puts(out, braces ? "}" : "");
}

static void
print_declarator(struct cw_buf *out, const struct ptx_symbol *s, const char *name)
{
    unsigned elem = ptx_type_bits(s->type) / 8;
    uint64_t n = elem ? s->size / elem : 0;
    if (s->align && ptx_type_class(s->type) != PTX_CLASS_OPAQUE)
        cw_buf_printf(out, ".align %u ", s->align);
    if (!s->is_array && n > 1)
        cw_buf_printf(out, ".v%" PRIu64 " ", n);
    cw_buf_printf(out, ".%s %s", ptx_type_name(s->type), name);
    if (s->unsized)
        cw_buf_puts(out, "[]");
    else if (s->is_array)
        cw_buf_printf(out, "[%" PRIu64 "]", n);
}

static void
print_var(struct cw_buf *out, const struct ptx_symbol *s, const char *name, uint8_t linkage, bool init)
{
    cw_buf_printf(out, "%s.%s ", linkage_word(linkage), space_word(s->space));
    if (s->managed)
        cw_buf_puts(out, ".attribute(.managed) ");
    print_declarator(out, s, name);
    if (init && s->init)
        print_init(out, s);
    cw_buf_puts(out, ";\n");
}

/* Does an initialiser name a variable that is printed later, and so needs a declaration first? */
static bool
refers_forward(const struct ptx_symbol *s)
{
    for (uint32_t i = 0; i < s->nrelocs; i++)
        if (s->relocs[i].target->kind == PTX_SYM_VAR && s->relocs[i].target->index > s->index)
            return true;
    return false;
}

/* ---- functions ---- */

static void
print_params(struct cw_buf *out, struct ptx_symbol *const *list, uint32_t n, const char *const *reg_names)
{
    cw_buf_puts(out, "(");
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_symbol *s = list[i];
        cw_buf_puts(out, i ? ",\n    " : "");
        if (s->is_param_reg) {
            cw_buf_printf(out, ".reg .%s %s", ptx_type_name(s->type), reg_names ? reg_names[s->reg] : s->name);
            continue;
        }
        cw_buf_puts(out, ".param ");
        if (s->ptr_space != PTX_SPACE_REG) {
            cw_buf_printf(out, ".%s .ptr ", ptx_type_name(s->type));
            if (s->ptr_space != PTX_SPACE_GENERIC)
                cw_buf_printf(out, ".%s ", space_word(s->ptr_space));
            if (s->ptr_align)
                cw_buf_printf(out, ".align %u ", s->ptr_align);
            cw_buf_puts(out, s->name);
            continue;
        }
        print_declarator(out, s, s->name);
    }
    cw_buf_puts(out, ")");
}

static void
print_signature(struct cw_buf *out, const struct ptx_function *f, const char *name, const char *const *reg_names)
{
    if (f->nrets) {
        print_params(out, f->rets, f->nrets, reg_names);
        cw_buf_puts(out, " ");
    }
    cw_buf_puts(out, name);
    if (f->nparams || !f->is_entry) {
        cw_buf_puts(out, " ");
        print_params(out, f->params, f->nparams, reg_names);
    }
}

static void
print_dim(struct cw_buf *out, const char *what, const uint32_t d[3])
{
    if (d[0])
        cw_buf_printf(out, "\n.%s %u, %u, %u", what, d[0], d[1], d[2]);
}

static void
print_head(struct cw_buf *out, const struct ptx_function *f, const char *const *reg_names)
{
    cw_buf_printf(out, "%s.%s ", linkage_word(f->sym->linkage), f->is_entry ? "entry" : "func");
    print_signature(out, f, f->sym->name, reg_names);
    print_dim(out, "maxntid", f->maxntid);
    print_dim(out, "reqntid", f->reqntid);
    print_dim(out, "reqnctapercluster", f->cluster);
    if (f->explicit_cluster)
        cw_buf_puts(out, "\n.explicitcluster");
    if (f->minnctapersm)
        cw_buf_printf(out, "\n.minnctapersm %u", f->minnctapersm);
    if (f->maxnreg)
        cw_buf_printf(out, "\n.maxnreg %u", f->maxnreg);
    if (f->noreturn)
        cw_buf_puts(out, "\n.noreturn");
}

/* Number of registers from r on that can be written as %x<n>. */
static uint32_t
range_length(const struct ptx_function *f, const char *const *names, uint32_t r, size_t *prefix)
{
    size_t len = strlen(names[r]);
    uint32_t n = 0;
    if (len < 2 || names[r][len - 1] != '0' || (names[r][len - 2] >= '0' && names[r][len - 2] <= '9'))
        return 0;
    *prefix = len - 1;
    for (; r + n < f->nregs; n++) {
        char digits[12];
        snprintf(digits, sizeof digits, "%u", n);
        if (f->regs[r + n].type != f->regs[r].type || strncmp(names[r + n], names[r], *prefix) || strcmp(names[r + n] + *prefix, digits))
            break;
    }
    return n;
}

static void
print_regs(struct cw_buf *out, const struct ptx_function *f, const char *const *names, uint32_t from)
{
    for (uint32_t r = from; r < f->nregs;) {
        size_t prefix = 0;
        uint32_t n = range_length(f, names, r, &prefix);
        cw_buf_printf(out, "    .reg .%s ", ptx_type_name(f->regs[r].type));
        if (n > 1) {
            cw_buf_printf(out, "%.*s<%u>;\n", (int)prefix, names[r], n);
            r += n;
            continue;
        }
        for (uint32_t k = 0; k < 16 && r < f->nregs && (!k || (f->regs[r].type == f->regs[r - 1].type &&
             range_length(f, names, r, &prefix) < 2)); k++, r++)
            cw_buf_printf(out, k ? ", %s" : "%s", names[r]);
        cw_buf_puts(out, ";\n");
    }
}

static void
print_table(struct print *pr, const struct ptx_table *t)
{
    for (uint32_t i = 0; i < pr->ntables; i++)
        if (pr->tables[i].table == t)
            return;
    const char *name = unique_name(pr, t->name);
    pr->tables = cw_arena_grow(&pr->arena, pr->tables, pr->ntables, 1, &pr->tables_cap, sizeof *pr->tables);
    pr->tables[pr->ntables++] = (struct print_table){ t, name };
    cw_buf_printf(pr->out, "%s: ", name);
    if (t->proto) {
        cw_buf_puts(pr->out, ".callprototype ");
        print_signature(pr->out, t->proto, "_", NULL);
        if (t->proto->noreturn)
            cw_buf_puts(pr->out, " .noreturn");
    } else {
        cw_buf_puts(pr->out, t->labels ? ".branchtargets " : ".calltargets ");
        for (uint32_t i = 0; i < t->count; i++) {
            if (t->labels)
                cw_buf_printf(pr->out, i ? ", $T_%u" : "$T_%u", t->labels[i]);
            else
                cw_buf_printf(pr->out, i ? ", %s" : "%s", t->funcs[i]->name);
        }
    }
    cw_buf_puts(pr->out, ";\n");
}

static void
mark_targets(const struct ptx_function *f, uint8_t *target)
{
    for (uint32_t i = 0; i < f->ninsts; i++) {
        for (unsigned k = 0; k < f->insts[i].noperands; k++) {
            const struct ptx_operand *o = &f->insts[i].operand[k];
            if (o->kind == PTX_OPND_LABEL && o->index < f->ninsts)
                target[o->index] = 1;
            if (o->kind == PTX_OPND_TABLE && o->table->labels)
                for (uint32_t t = 0; t < o->table->count; t++)
                    if (o->table->labels[t] < f->ninsts)
                        target[o->table->labels[t]] = 1;
        }
    }
}

static void
print_block_comment(struct cw_buf *out, const struct ptx_function *f, uint32_t *next, uint32_t inst)
{
    while (*next < f->nblocks && f->blocks[*next].first == inst) {
        const struct ptx_block *b = &f->blocks[*next];
        cw_buf_printf(out, "    // block %u, to", (*next)++);
        for (uint32_t k = 0; k < b->nsucc; k++)
            cw_buf_printf(out, " %u", b->succ[k]);
        cw_buf_puts(out, "\n");
    }
}

static void
print_body(void *user)
{
    struct print *pr = user;
    struct cw_buf *out = pr->out;
    const struct ptx_function *f = pr->fn;
    uint8_t *target = cw_arena_array(&pr->arena, uint8_t, f->ninsts + 1);
    uint32_t first_reg = 0, next_block = 0, loc_file = 0, loc_line = 0;
    pr->reg_names = cw_arena_array(&pr->arena, const char *, f->nregs + 1);
    pr->local_names = cw_arena_array(&pr->arena, const char *, f->nlocals + 1);
    for (uint32_t i = 0; i < f->module->nfuncs; i++)
        names_add(pr, f->module->funcs[i]->sym->name);
    for (uint32_t i = 0; i < f->module->nvars; i++)
        names_add(pr, f->module->vars[i]->name);
    for (uint32_t i = 0; i < f->nparams + f->nrets; i++) {
        const struct ptx_symbol *s = i < f->nrets ? f->rets[i] : f->params[i - f->nrets];
        if (s->is_param_reg)
            first_reg++;
        else
            names_add(pr, s->name);
    }
    for (uint32_t r = 0; r < f->nregs; r++)
        pr->reg_names[r] = unique_name(pr, f->regs[r].name);
    for (uint32_t i = 0; i < f->nlocals; i++)
        pr->local_names[i] = unique_name(pr, f->locals[i]->name);
    mark_targets(f, target);
    print_head(out, f, pr->reg_names);
    cw_buf_puts(out, "\n{\n");
    print_regs(out, f, pr->reg_names, first_reg);
    for (uint32_t i = 0; i < f->nlocals; i++) {
        cw_buf_puts(out, "    ");
        print_var(out, f->locals[i], pr->local_names[i], PTX_LINK_LOCAL, true);
    }
    for (uint32_t i = 0; i < f->ninsts; i++) {
        const struct ptx_inst *in = &f->insts[i];
        print_block_comment(out, f, &next_block, i);
        for (unsigned k = 0; k < in->noperands; k++)
            if (in->operand[k].kind == PTX_OPND_TABLE)
                print_table(pr, in->operand[k].table);
        if (target[i])
            cw_buf_printf(out, "$T_%u:\n", i);
        if (in->loc_file != loc_file || in->loc_line != loc_line) {
            loc_file = in->loc_file;
            loc_line = in->loc_line;
            cw_buf_printf(out, "    .loc %u %u 0\n", loc_file, loc_line);
        }
        cw_buf_puts(out, "    ");
        ptx_print_inst(pr, in);
        cw_buf_puts(out, "\n");
    }
    cw_buf_puts(out, "}\n");
}

static void
print_function(const struct ptx_function *f, struct cw_buf *out)
{
    struct print pr = { .out = out, .fn = f };
    cw_arena_init(&pr.arena);
    if (!cw_arena_guard(&pr.arena, print_body, &pr))
        out->failed = true;
    tdestroy(pr.names, keep_name);
    cw_arena_finish(&pr.arena);
}

void
ptx_module_print(const struct ptx_module *m, struct cw_buf *out)
{
    cw_buf_printf(out, ".version %u.%u\n.target sm_%u", m->version_major, m->version_minor, m->sm);
    if (m->sm_suffix)
        cw_buf_append(out, &m->sm_suffix, 1);
    cw_buf_puts(out, m->texmode_independent ? ", texmode_independent" : "");
    cw_buf_puts(out, m->map_f64_to_f32 ? ", map_f64_to_f32" : "");
    cw_buf_printf(out, "\n.address_size %u\n", m->address_size);
    for (uint32_t i = 0; i < m->nfiles; i++)
        if (m->files[i])
            cw_buf_printf(out, ".file %u \"%s\"\n", i, m->files[i]);
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        if (m->funcs[i]->is_entry)
            continue;
        print_head(out, m->funcs[i], NULL);
        cw_buf_puts(out, ";\n");
    }
    for (uint32_t i = 0; i < m->nvars; i++) {
        bool later = refers_forward(m->vars[i]);
        print_var(out, m->vars[i], m->vars[i]->name, later ? PTX_LINK_EXTERN : m->vars[i]->linkage, !later);
    }
    for (uint32_t i = 0; i < m->nvars; i++)
        if (refers_forward(m->vars[i]))
            print_var(out, m->vars[i], m->vars[i]->name, m->vars[i]->linkage, true);
    for (unsigned entries = 0; entries < 2; entries++)
        for (uint32_t i = 0; i < m->nfuncs; i++)
            if (m->funcs[i]->has_body && m->funcs[i]->is_entry == (entries != 0))
                print_function(m->funcs[i], out);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        if (m->funcs[i]->sym->kind == PTX_SYM_ALIAS)
            cw_buf_printf(out, ".alias %s, %s;\n", m->funcs[i]->sym->name, m->funcs[i]->sym->alias->name);
}
