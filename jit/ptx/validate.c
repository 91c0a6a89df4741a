/* SPDX-License-Identifier: Apache-2.0
 * Checks the invariants of ir.h on a finished module. Reports every violation (P39xx) with the printed instruction. User errors cannot
 * cause one: a violation is a bug of the code that made the module. */
#include "impl/base/buf.h"
#include "jit/ptx/ptx_private.h"

#include <stdarg.h>
#include <stdio.h>

struct validate {
    const struct ptx_module *m;
    const struct ptx_function *fn;
    const struct ptx_inst *in;
    struct cwj_diags *d;
    uint32_t bad;
};

__attribute__((format(printf, 3, 4))) static void
violation(struct validate *v, unsigned code, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    v->bad++;
    cwj_diag_add(v->d, PTX_ERROR, code, v->in ? v->in->line : 0, v->in ? v->in->column : 0, "%s%s%s", v->fn && v->fn->sym ? v->fn->sym->name : "",
                 v->fn ? ": " : "", text);
}

static void
check_sym(struct validate *v, const struct ptx_symbol *s)
{
    if (!s) {
        violation(v, 3902, "an operand without its symbol");
        return;
    }
    if (!s->name || s->kind > PTX_SYM_ALIAS || s->module != v->m)
        violation(v, 3902, "an operand with a broken symbol '%s'", s->name ? s->name : "");
    if (s->kind == PTX_SYM_PARAM && v->fn) {
        bool mine = (s->index < v->fn->nparams && v->fn->params[s->index] == s) || (s->index < v->fn->nrets && v->fn->rets[s->index] == s);
        if (!mine)
            violation(v, 3903, "'%s' is a parameter of another function", s->name);
    }
}

static void
check_operand(struct validate *v, const struct ptx_operand *o, unsigned depth)
{
    switch (o->kind) {
    case PTX_OPND_REG:
        if (o->index >= v->fn->nregs)
            violation(v, 3904, "register number %u of %u", o->index, v->fn->nregs);
        break;
    case PTX_OPND_SREG:
        if (!o->index || o->index >= PTX_SREG_COUNT)
            violation(v, 3905, "special register number %u", o->index);
        break;
    case PTX_OPND_SYM:
        check_sym(v, o->sym);
        break;
    case PTX_OPND_ADDR:
        if (o->has_reg && o->index >= v->fn->nregs)
            violation(v, 3904, "register number %u of %u", o->index, v->fn->nregs);
        if (!o->has_reg && o->sym)
            check_sym(v, o->sym);
        break;
    case PTX_OPND_PRED_PAIR:
        if (o->count != 2)
            violation(v, 3906, "a pair of %u elements", o->count);
        /* fallthrough */
    case PTX_OPND_VEC: case PTX_OPND_LIST:
        if (depth > 3 || (o->count && !o->elem)) {
            violation(v, 3906, "a broken list of operands");
            break;
        }
        for (unsigned i = 0; i < o->count; i++)
            check_operand(v, &o->elem[i], depth + 1);
        break;
    case PTX_OPND_LABEL:
        if (o->index >= v->fn->ninsts)
            violation(v, 3907, "a branch to instruction %u of %u", o->index, v->fn->ninsts);
        break;
    case PTX_OPND_TABLE:
        if (!o->table || (!o->table->labels && !o->table->funcs && !o->table->proto))
            violation(v, 3908, "an empty table");
        else if (o->table->labels)
            for (uint32_t i = 0; i < o->table->count; i++)
                if (o->table->labels[i] >= v->fn->ninsts)
                    violation(v, 3907, "a branch to instruction %u of %u", o->table->labels[i], v->fn->ninsts);
        break;
    case PTX_OPND_TEXT:
        if (!o->text)
            violation(v, 3909, "a TEXT operand without text");
        break;
    case PTX_OPND_NONE: case PTX_OPND_SINK: case PTX_OPND_IMM:
        break;
    default:
        violation(v, 3910, "operand kind %u", o->kind);
    }
}

static void
check_inst(struct validate *v)
{
    const struct ptx_inst *in = v->in;
    if (!in->op || in->op >= PTX_OP_COUNT) {
        violation(v, 3911, "opcode number %u", in->op);
        return;
    }
    const struct op_row *row = &ptx_op_rows[in->op];
    if (in->noperands > PTX_MAX_OPERANDS || (in->noperands && !in->operand)) {
        violation(v, 3912, "'%s' with %u operands", row->info.mnemonic, in->noperands);
        return;
    }
    if (in->noperands < row->info.ndst && !(row->mods & M_RAW))
        violation(v, 3912, "'%s' with %u operands", row->info.mnemonic, in->noperands);
    if (in->op == PTX_OP_CALL && in->noperands != 4)
        violation(v, 3912, "'call' with %u operands", in->noperands);
    for (unsigned i = 0; i < PTX_MAX_TYPES && in->type[i]; i++)
        if (in->type[i] >= PTX_TYPE_COUNT || i >= row->ntypes || !(row->types[i] >> in->type[i] & 1))
            violation(v, 3913, "'%s' with type number %u at position %u", row->info.mnemonic, in->type[i], i);
    if (in->has_guard && (in->guard >= v->fn->nregs || v->fn->regs[in->guard].type != PTX_PRED))
        violation(v, 3914, "'%s' with a guard that is no predicate", row->info.mnemonic);
    for (unsigned i = 0; i < in->noperands; i++)
        check_operand(v, &in->operand[i], 0);
}

static void
check_cfg(struct validate *v)
{
    const struct ptx_function *f = v->fn;
    uint32_t at = 0;
    v->in = NULL;
    if (f->nblocks && f->blocks[0].npred)
        violation(v, 3920, "the entry block has predecessors");
    for (uint32_t b = 0; b < f->nblocks; b++) {
        const struct ptx_block *bl = &f->blocks[b];
        if (bl->first < at || bl->count > f->ninsts || bl->first > f->ninsts - bl->count)
            violation(v, 3921, "block %u overlaps the one before or leaves the function", b);
        at = bl->first + bl->count;
        for (uint32_t i = bl->first; i + 1 < bl->first + bl->count && i + 1 < f->ninsts; i++)
            if (f->insts[i].op < PTX_OP_COUNT && (ptx_op_rows[f->insts[i].op].info.traits & PTX_T_TERMINATOR))
                violation(v, 3922, "block %u goes on after a terminator", b);
        for (uint32_t i = 0; i < bl->nsucc; i++) {
            bool back = false;
            if (bl->succ[i] >= f->nblocks) {
                violation(v, 3923, "block %u has the successor %u of %u", b, bl->succ[i], f->nblocks);
                continue;
            }
            const struct ptx_block *to = &f->blocks[bl->succ[i]];
            for (uint32_t k = 0; k < to->npred; k++)
                back |= to->pred[k] == b;
            if (!back)
                violation(v, 3924, "block %u is missing among the predecessors of %u", b, bl->succ[i]);
        }
    }
}

static void
check_function(struct validate *v, uint32_t i)
{
    const struct ptx_function *f = v->m->funcs[i];
    v->fn = f;
    v->in = NULL;
    if (!f->sym || f->sym->index != i || f->module != v->m) {
        violation(v, 3930, "a function that is not at its index");
        return;
    }
    if (f->has_body && !f->ninsts)
        violation(v, 3931, "a body without an instruction");
    uint64_t end = 0;
    for (uint32_t k = 0; f->is_entry && k < f->nparams; k++) {
        const struct ptx_symbol *s = f->params[k];
        if (s->offset < end || (s->align && s->offset % s->align) || s->offset + s->size > f->param_size)
            violation(v, 3932, "parameter '%s' is misplaced", s->name);
        end = s->offset + s->size;
    }
    for (uint32_t k = 0; k < f->nregs; k++)
        if (!f->regs[k].type || f->regs[k].type >= PTX_TYPE_COUNT || !f->regs[k].name)
            violation(v, 3933, "register %u has no type or no name", k);
    for (uint32_t k = 0; k < f->nlocals; k++)
        if (f->locals[k]->index != k || f->locals[k]->kind != PTX_SYM_VAR)
            violation(v, 3934, "variable '%s' is not at its index", f->locals[k]->name);
    for (uint32_t k = 0; k < f->ninsts; k++) {
        v->in = &f->insts[k];
        check_inst(v);
    }
    v->in = NULL;
    if (f->ninsts) {
        const struct ptx_inst *last = &f->insts[f->ninsts - 1];
        if (last->op < PTX_OP_COUNT && (!(ptx_op_rows[last->op].info.traits & PTX_T_TERMINATOR) || last->has_guard))
            violation(v, 3935, "the last instruction falls off the end");
    }
    if (f->blocks)
        check_cfg(v);
}

static void
check_variable(struct validate *v, uint32_t i)
{
    const struct ptx_symbol *s = v->m->vars[i];
    v->fn = NULL;
    if (s->index != i || s->kind != PTX_SYM_VAR)
        violation(v, 3934, "variable '%s' is not at its index", s->name);
    if (s->unsized ? s->size != 0 : !s->align || (s->align & (s->align - 1)))
        violation(v, 3940, "variable '%s' has a wrong size or alignment", s->name);
    uint64_t end = 0;
    for (uint32_t k = 0; k < s->nrelocs; k++) {
        const struct ptx_reloc *r = &s->relocs[k];
        if (!r->target || !r->width || r->width > 8 || r->offset < end || r->offset + r->width > s->size || r->shift > 56)
            violation(v, 3941, "variable '%s' has a broken address at %llu", s->name, (unsigned long long)r->offset);
        end = r->offset + r->width;
    }
}

cw_result
ptx_module_validate(const struct ptx_module *m, struct cwj_diags *diags)
{
    struct validate v = { .m = m, .d = diags };
    if (!m->version_major || !m->sm || (m->address_size != 32 && m->address_size != 64))
        violation(&v, 3901, "a module without a version, a target or an address size");
    for (uint32_t i = 0; i < m->nfuncs; i++)
        check_function(&v, i);
    for (uint32_t i = 0; i < m->nvars; i++)
        check_variable(&v, i);
    return v.bad ? CW_ERR_INTERNAL : CW_OK;
}
