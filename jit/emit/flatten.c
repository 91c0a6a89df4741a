/* SPDX-License-Identifier: Apache-2.0
 * A kernel with everything that it calls in one function of PTX, where park.c sees a waiting loop and the release behind a return.
 *
 *     call.uni (r), f, (a)     becomes     ld.param x, [a];  st.param [f's p], x
 *                                          f's instructions, with registers, variables and labels of their own; ret is a branch to the end
 *                                          ld.param x, [f's r];  st.param [r], x
 *
 * A call through a register compares the token with each function of the prototype's signature whose address is taken. brx.idx becomes
 * comparisons, too, since its table names instructions. Calls of the run time (printf, malloc) stay.
 *
 * Recursion has no such form, and large programs would become too large. */
#include "jit/emit/emit_private.h"
#include "jit/analysis/find.h"
#include "jit/emit/rewrite.h"

#include <string.h>

enum { MAX_DEPTH = 64, MAX_INSTS = 20000 };

struct flat {
    struct emit *e;
    struct rewrite to;              /* the result */
    uint32_t *label, nlabels, label_cap;    /* label -> instruction */
    uint32_t inside[MAX_DEPTH], depth;      /* functions that are being copied */
    const char *why;                /* it cannot be done; NULL: it can */
};

/* One copy of a function. */
struct body {
    const struct ptx_function *from;
    uint32_t regs;                  /* number of its first register */
    uint32_t labels;                /* its instruction i has label labels + i; the end is one of them */
    struct ptx_symbol **params, **rets, **locals;   /* their copies; in the kernel itself NULL: they stay */
};

/* ---- building --------------------------------------------------------------------------------------------------------- */

static void
put_with(struct flat *f, struct ptx_inst in, const struct ptx_operand *operands, unsigned n)
{
    rewrite_inst_with(&f->to, in, operands, n);
}

static uint32_t
add_labels(struct flat *f, uint32_t n)
{
    f->label = cw_arena_grow(f->to.a, f->label, f->nlabels, n, &f->label_cap, sizeof *f->label);
    f->nlabels += n;
    return f->nlabels - n;
}

static void
place(struct flat *f, uint32_t label)
{
    f->label[label] = f->to.fn->ninsts;
}

static struct ptx_operand
reg(uint32_t r)
{
    return rewrite_register(r);
}

static struct ptx_operand
param_at(const struct ptx_symbol *s, uint64_t offset)
{
    return (struct ptx_operand){ .kind = PTX_OPND_ADDR, .video_sel = -1, .sym = s, .imm = (int64_t)offset };
}

/* A branch; guard FLOW_NONE: always taken. */
static void
put_branch(struct flat *f, uint32_t guard, bool negated, uint32_t label)
{
    struct ptx_inst in = { .op = PTX_OP_BRA, .has_guard = guard != FLOW_NONE, .guard = guard != FLOW_NONE ? guard : 0, .guard_negated = negated };
    put_with(f, in, &(struct ptx_operand){ .kind = PTX_OPND_LABEL, .video_sel = -1, .index = label }, 1);
}

/* Skip what follows, up to the label that is returned, where the guard of `in` does not hold. */
static uint32_t
skip_unless(struct flat *f, const struct body *b, const struct ptx_inst *in)
{
    uint32_t past = add_labels(f, 1);
    if (in->has_guard)
        put_branch(f, b->regs + in->guard, !in->guard_negated, past);
    return past;
}

/* Branch to `label` if reg == number. */
static void
put_case(struct flat *f, struct ptx_operand value, ptx_type type, struct ptx_operand number, bool equal, uint32_t label)
{
    uint32_t p = rewrite_reg(&f->to, "flat", PTX_PRED);
    put_with(f, (struct ptx_inst){ .op = PTX_OP_SETP, .type = { (uint8_t)type }, .cmp = equal ? PTX_EQ : PTX_NE },
             (struct ptx_operand[]){ reg(p), value, number }, 3);
    put_branch(f, p, false, label);
}

static struct ptx_symbol *
add_local(struct flat *f, const struct ptx_symbol *like, ptx_space space)
{
    struct ptx_function *fn = f->to.fn;
    struct ptx_symbol *s = cw_arena_new(f->to.a, struct ptx_symbol);
    *s = *like;
    s->kind = PTX_SYM_VAR;
    s->space = (uint8_t)space;
    s->linkage = PTX_LINK_LOCAL;
    s->index = fn->nlocals;
    fn->locals = cw_arena_grow(f->to.a, fn->locals, fn->nlocals, 1, &f->to.local_cap, sizeof s);
    fn->locals[fn->nlocals++] = s;
    return s;
}

/* ---- copying instructions ----------------------------------------------------------------------------------------------- */

static const struct ptx_symbol *
copy_of(const struct body *b, const struct ptx_symbol *s)
{
    if (!b->locals || !s)
        return s;
    if (s->kind == PTX_SYM_VAR)
        return s->index < b->from->nlocals && b->from->locals[s->index] == s && b->locals[s->index] ? b->locals[s->index] : s;
    for (uint32_t i = 0; i < b->from->nparams; i++)
        if (b->from->params[i] == s)
            return b->params[i];
    for (uint32_t i = 0; i < b->from->nrets; i++)
        if (b->from->rets[i] == s)
            return b->rets[i];
    return s;
}

static struct ptx_operand
copy_operand(struct flat *f, const struct body *b, const struct ptx_operand *o)
{
    struct ptx_operand c = *o;
    switch (o->kind) {
    case PTX_OPND_REG:
        c.index += b->regs;
        break;
    case PTX_OPND_ADDR:
        if (o->has_reg)
            c.index += b->regs;
        else
            c.sym = copy_of(b, o->sym);
        break;
    case PTX_OPND_SYM:
        c.sym = copy_of(b, o->sym);
        break;
    case PTX_OPND_LABEL:
        c.index += b->labels;
        break;
    case PTX_OPND_VEC: case PTX_OPND_PRED_PAIR: case PTX_OPND_LIST:
        c.elem = cw_arena_array(f->to.a, struct ptx_operand, o->count + 1u);
        for (unsigned i = 0; i < o->count; i++)
            c.elem[i] = copy_operand(f, b, &o->elem[i]);
        break;
    default:
        break;
    }
    return c;
}

static void
copy_inst(struct flat *f, const struct body *b, const struct ptx_inst *in)
{
    struct ptx_inst c = *in;
    c.operand = cw_arena_array(f->to.a, struct ptx_operand, in->noperands + 1u);
    for (unsigned i = 0; i < in->noperands; i++)
        c.operand[i] = copy_operand(f, b, &in->operand[i]);
    if (in->has_guard)
        c.guard += b->regs;
    /* A device function's parameters are in local memory, where a kernel's are not. */
    if (b->locals && in->op == PTX_OP_LD && in->space == PTX_SPACE_PARAM && in->noperands > 1 && in->operand[1].has_reg)
        c.space = PTX_SPACE_LOCAL;
    rewrite_inst(&f->to, &c);
}

static void
copy_table_branch(struct flat *f, const struct body *b, const struct ptx_inst *in)
{
    const struct ptx_table *t = in->operand[1].table;
    uint32_t past = skip_unless(f, b, in);
    struct ptx_operand index = copy_operand(f, b, &in->operand[0]);
    for (uint32_t i = 0; t && i < t->count; i++)
        put_case(f, index, PTX_U32, rewrite_number(i), true, b->labels + t->labels[i]);
    rewrite_inst(&f->to, &(struct ptx_inst){ .op = PTX_OP_TRAP });    /* the index is beyond the table: undefined */
    place(f, past);
}

/* ---- calls -------------------------------------------------------------------------------------------------------------- */

static ptx_type
bits_type(uint64_t size)
{
    switch (size) {
    case 1: return PTX_B8;
    case 2: return PTX_B16;
    case 4: return PTX_B32;
    case 8: return PTX_B64;
    case 16: return PTX_B128;
    default: return PTX_NONE;
    }
}

/* Registers have 16 bits at least. */
static ptx_type
holds(ptx_type t)
{
    return t == PTX_B8 ? PTX_B16 : t;
}

static void
move_word(struct flat *f, const struct ptx_symbol *to, const struct ptx_symbol *from, uint64_t at, ptx_type t)
{
    uint32_t r = rewrite_reg(&f->to, "flat", holds(t));
    put_with(f, (struct ptx_inst){ .op = PTX_OP_LD, .type = { (uint8_t)t }, .space = PTX_SPACE_PARAM }, (struct ptx_operand[]){ reg(r), param_at(from, at) }, 2);
    put_with(f, (struct ptx_inst){ .op = PTX_OP_ST, .type = { (uint8_t)t }, .space = PTX_SPACE_PARAM }, (struct ptx_operand[]){ param_at(to, at), reg(r) }, 2);
}

static void
move_param(struct flat *f, const struct ptx_symbol *to, const struct ptx_symbol *from)
{
    uint64_t step = to->size;
    if (to->size != from->size || to->is_array != from->is_array) {
        f->why = "an argument has another shape than its parameter";
        return;
    }
    if (to->is_array) {
        uint32_t align = to->align < from->align ? to->align : from->align;
        step = align >= 8 && to->size % 8 == 0 ? 8 : align >= 4 && to->size % 4 == 0 ? 4 : align >= 2 && to->size % 2 == 0 ? 2 : 1;
    }
    if (bits_type(step) == PTX_NONE)
        f->why = "a parameter has no width of a register";
    for (uint64_t at = 0; at < to->size && !f->why; at += step)
        move_word(f, to, from, at, bits_type(step));
}

static bool
is_param(const struct ptx_operand *o)
{
    return o->kind == PTX_OPND_SYM && o->sym && o->sym->kind != PTX_SYM_FUNC && (o->sym->space == PTX_SPACE_PARAM || o->sym->kind == PTX_SYM_PARAM);
}

/* Where a copy of a function has a parameter or result. */
static struct ptx_operand
formal_of(const struct body *c, const struct ptx_symbol *formal, const struct ptx_symbol *copy)
{
    return formal->is_param_reg ? reg(c->regs + formal->reg) : (struct ptx_operand){ .kind = PTX_OPND_SYM, .video_sel = -1, .sym = copy };
}

/* Between caller and callee. */
static void
assign(struct flat *f, uint8_t type, struct ptx_operand to, struct ptx_operand from)
{
    bool store = is_param(&to), load = is_param(&from);
    if (store && load) {
        move_param(f, to.sym, from.sym);
        return;
    }
    const struct ptx_operand o[] = { store ? param_at(to.sym, 0) : to, load ? param_at(from.sym, 0) : from };
    struct ptx_inst in = { .op = store ? PTX_OP_ST : load ? PTX_OP_LD : PTX_OP_MOV, .type = { type } };
    if (store || load)
        in.space = PTX_SPACE_PARAM;
    put_with(f, in, o, 2);
}

static void copy_body(struct flat *f, const struct body *b);

static void
begin_body(struct flat *f, struct body *b, const struct ptx_function *from)
{
    *b = (struct body){ .from = from, .regs = rewrite_regs(&f->to, from->nregs), .labels = add_labels(f, from->ninsts + 1) };
    b->params = cw_arena_array(f->to.a, struct ptx_symbol *, from->nparams + 1);
    b->rets = cw_arena_array(f->to.a, struct ptx_symbol *, from->nrets + 1);
    b->locals = cw_arena_array(f->to.a, struct ptx_symbol *, from->nlocals + 1);
    memcpy(f->to.fn->regs + b->regs, from->regs, from->nregs * sizeof *from->regs);
    for (uint32_t i = 0; i < from->nparams; i++)
        b->params[i] = from->params[i]->is_param_reg ? from->params[i] : add_local(f, from->params[i], PTX_SPACE_PARAM);
    for (uint32_t i = 0; i < from->nrets; i++)
        b->rets[i] = from->rets[i]->is_param_reg ? from->rets[i] : add_local(f, from->rets[i], PTX_SPACE_PARAM);
    for (uint32_t i = 0; i < from->nlocals; i++)
        if (from->locals[i]->space == PTX_SPACE_LOCAL || from->locals[i]->space == PTX_SPACE_PARAM)
            b->locals[i] = add_local(f, from->locals[i], (ptx_space)from->locals[i]->space);
}

static bool
takes_stack(const struct ptx_inst *in)
{
    return in->op == PTX_OP_ALLOCA;
}

static void
copy_callee(struct flat *f, const struct body *b, const struct ptx_inst *in, uint32_t id)
{
    const struct ptx_function *callee = cwj_program_function(f->e->program, id)->fn;
    const struct ptx_operand *args = &in->operand[2], *rets = &in->operand[0];
    struct body c;
    for (uint32_t i = 0; i < f->depth; i++)
        if (f->inside[i] == id)
            f->why = "a function calls itself";
    if (f->depth == MAX_DEPTH || f->to.fn->ninsts + callee->ninsts > MAX_INSTS)
        f->why = "it is too large";
    if ((args->kind == PTX_OPND_LIST ? args->count : 0u) < callee->nparams)
        f->why = "a call has too few arguments";
    if (callee->module->texmode_independent != b->from->module->texmode_independent)
        f->why = "texture modes differ";
    if (f->why)
        return;
    begin_body(f, &c, callee);
    for (uint32_t i = 0; i < callee->nparams; i++)
        assign(f, callee->params[i]->type, formal_of(&c, callee->params[i], c.params[i]), copy_operand(f, b, &args->elem[i]));
    uint32_t mark = cwj_has_inst(callee, takes_stack) ? rewrite_reg(&f->to, "flat", PTX_U64) : FLOW_NONE;
    if (mark != FLOW_NONE)
        put_with(f, (struct ptx_inst){ .op = PTX_OP_STACKSAVE, .type = { PTX_U64 } }, (struct ptx_operand[]){ reg(mark) }, 1);
    f->inside[f->depth++] = id;
    copy_body(f, &c);
    f->depth--;
    place(f, c.labels + callee->ninsts);
    if (mark != FLOW_NONE)
        put_with(f, (struct ptx_inst){ .op = PTX_OP_STACKRESTORE, .type = { PTX_U64 } }, (struct ptx_operand[]){ reg(mark) }, 1);
    for (uint32_t i = 0; i < callee->nrets && rets->kind == PTX_OPND_LIST && i < rets->count; i++)
        if (rets->elem[i].kind != PTX_OPND_SINK && rets->elem[i].kind != PTX_OPND_NONE)
            assign(f, callee->rets[i]->type, copy_operand(f, b, &rets->elem[i]), formal_of(&c, callee->rets[i], c.rets[i]));
}

static bool
same_shape(struct ptx_symbol **a, uint32_t na, struct ptx_symbol **b, uint32_t nb)
{
    bool same = na == nb;
    for (uint32_t i = 0; i < na && same; i++)
        same = a[i]->size == b[i]->size && a[i]->is_array == b[i]->is_array;
    return same;
}

/* A call through a register: a comparison for each function that it may reach. */
static void
copy_indirect(struct flat *f, const struct body *b, const struct ptx_inst *in)
{
    const struct ptx_table *t = in->operand[3].kind == PTX_OPND_TABLE ? in->operand[3].table : NULL;
    const struct ptx_function *proto = t && t->proto ? t->proto : t && t->count ? t->funcs[0]->func : NULL;
    struct ptx_operand token = copy_operand(f, b, &in->operand[1]);
    uint32_t done = add_labels(f, 1);
    if (!proto || token.kind != PTX_OPND_REG) {
        f->why = "a call through a register has no prototype";
        return;
    }
    for (uint32_t id = 0; id < f->e->program->nfuncs && !f->why; id++) {
        const struct cwj_function *c = cwj_program_function(f->e->program, id);
        if (!c->address_taken || c->runtime || !c->fn || !c->fn->has_body || c->fn->is_entry ||
            !same_shape(c->fn->params, c->fn->nparams, proto->params, proto->nparams) || !same_shape(c->fn->rets, c->fn->nrets, proto->rets, proto->nrets))
            continue;
        uint32_t other = add_labels(f, 1);
        put_case(f, token, PTX_B64, rewrite_number((int64_t)CWH_FUNC_TOKEN(id)), false, other);
        copy_callee(f, b, in, id);
        put_branch(f, FLOW_NONE, false, done);
        place(f, other);
    }
    rewrite_inst(&f->to, &(struct ptx_inst){ .op = PTX_OP_TRAP, .aux = PTX_AUX_BAD_CALL });
    place(f, done);
}

static void
copy_call(struct flat *f, const struct body *b, const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->operand[1];
    const struct cwj_function *c = o->kind == PTX_OPND_SYM ? cwj_program_function(f->e->program, o->sym->link_id) : NULL;
    if (c && (c->runtime || c->undefined || !c->fn || !c->fn->has_body)) {
        copy_inst(f, b, in);
        return;
    }
    uint32_t past = skip_unless(f, b, in);
    if (c)
        copy_callee(f, b, in, o->sym->link_id);
    else
        copy_indirect(f, b, in);
    place(f, past);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------------- */

static void
copy_body(struct flat *f, const struct body *b)
{
    for (uint32_t i = 0; i < b->from->ninsts && !f->why; i++) {
        const struct ptx_inst *in = &b->from->insts[i];
        place(f, b->labels + i);
        if (in->op == PTX_OP_CALL)
            copy_call(f, b, in);
        else if (in->op == PTX_OP_BRX_IDX && in->operand[1].kind == PTX_OPND_TABLE)
            copy_table_branch(f, b, in);
        else if (in->op == PTX_OP_RET && b->locals)
            put_branch(f, in->has_guard ? b->regs + in->guard : FLOW_NONE, in->guard_negated, b->labels + b->from->ninsts);
        else
            copy_inst(f, b, in);
    }
}

const struct ptx_function *
emit_flatten(struct emit *e, const struct ptx_function *kernel, const char **why)
{
    struct ptx_function *fn = cw_arena_new(&e->arena, struct ptx_function);
    struct flat f = { .e = e, .to = { .a = &e->arena, .fn = fn } };
    *fn = *kernel;
    fn->insts = NULL;
    fn->blocks = NULL;
    fn->ninsts = fn->nblocks = 0;
    f.to.reg_cap = kernel->nregs;      /* grown before they are written to */
    f.to.local_cap = kernel->nlocals;
    struct body b = { .from = kernel, .labels = add_labels(&f, kernel->ninsts + 1) };
    f.inside[f.depth++] = kernel->sym->link_id;
    copy_body(&f, &b);
    place(&f, b.labels + kernel->ninsts);
    rewrite_inst(&f.to, &(struct ptx_inst){ .op = PTX_OP_RET });    /* labels behind the last instruction mean this */
    for (uint32_t i = 0; i < fn->ninsts; i++)
        if (fn->insts[i].op == PTX_OP_BRA)
            fn->insts[i].operand[0].index = f.label[fn->insts[i].operand[0].index];
    *why = f.why;
    return f.why ? NULL : fn;
}
