/* SPDX-License-Identifier: Apache-2.0
 * The variables of a function in LLVM IR: a slot for each register, for the mask of each masked block and for the flag of each block where lanes
 * join; and where each of them becomes 0. */
#include "jit/emit/emit_private.h"
#include "jit/emit/function_private.h"
#include "jit/analysis/flow_private.h"

#include <stdio.h>

/* Is the register written once, and each read behind that? It is a value then, not a variable: an initial zero would make LLVM look for the places
 * where the two meet. */
static bool
is_single(const struct flow *w, uint32_t reg)
{
    return w->def_block[reg] != FLOW_NONE && !w->masked_write[reg] && !flow_live_in(w, 0, reg);
}

static void
make_places(struct emit *e, struct emit_places *p, uint32_t nslots, uint32_t nplaces)
{
    p->at = cw_arena_array(&e->arena, uint32_t, nslots + 1);
    p->next = cw_arena_array(&e->arena, uint32_t, nslots + 1);
    p->first = cw_arena_array(&e->arena, uint32_t, nplaces + 1);
    for (uint32_t i = 0; i < nslots; i++)
        p->at[i] = p->next[i] = FLOW_NONE;
    for (uint32_t i = 0; i < nplaces; i++)
        p->first[i] = FLOW_NONE;
}

static void
place(struct emit_places *p, uint32_t slot, uint32_t at)
{
    p->at[slot] = at;
    p->next[slot] = p->first[at];
    p->first[at] = slot;
}

/* Masked blocks by their positions. */
struct runs {
    uint32_t *entries;              /* how often unmasked blocks enter a run up to this position */
    uint32_t *from;                 /* at the first position of a run: the unmasked block that enters it last */
    uint32_t *start, *end;          /* first and last position of the run */
};

static void
find_runs(struct emit *e, const struct flow *w, struct runs *r)
{
    uint32_t n = w->n;
    r->entries = cw_arena_array(&e->arena, uint32_t, n + 1);
    r->from = cw_arena_array(&e->arena, uint32_t, n + 1);
    r->start = cw_arena_array(&e->arena, uint32_t, n + 1);
    r->end = cw_arena_array(&e->arena, uint32_t, n + 1);
    for (uint32_t p = 0; p < n; p++)
        r->start[p] = p && w->masked[w->order[p]] && w->masked[w->order[p - 1]] ? r->start[p - 1] : p;
    for (uint32_t p = n; p-- > 0;)
        r->end[p] = p + 1 < n && r->start[p + 1] == r->start[p] ? r->end[p + 1] : p;
    for (uint32_t b = 0; b < n; b++) {
        uint32_t first = FLOW_NONE;
        for (uint32_t k = 0; k < e->fn->blocks[b].nsucc && !w->masked[b]; k++) {
            uint32_t at = w->position[e->fn->blocks[b].succ[k]];
            if (!w->masked[w->order[at]])
                continue;
            r->from[r->start[at]] = b;
            r->entries[at] += !w->divergent[b];
            first = at < first ? at : first;
        }
        if (first != FLOW_NONE && w->divergent[b])
            r->entries[first]++;
    }
    for (uint32_t p = 1; p < n; p++)
        r->entries[p] += r->entries[p - 1];
}

/* The only block that enters the run at position p, or FLOW_NONE. */
static uint32_t
only_entry(const struct runs *r, uint32_t p)
{
    uint32_t before = r->start[p] ? r->entries[r->start[p] - 1] : 0;
    return r->entries[r->end[p]] - before == 1 ? r->from[r->start[p]] : FLOW_NONE;
}

/* Where the mask slot of a masked block is cleared. */
static uint32_t
clearing_place(struct emit *e, const struct flow *w, const struct runs *r, uint32_t b)
{
    uint32_t at = FLOW_NONE, p = w->position[b];
    for (uint32_t k = 0; k < e->fn->blocks[b].npred; k++)
        at = at == FLOW_NONE || w->position[e->fn->blocks[b].pred[k]] < w->position[at] ? e->fn->blocks[b].pred[k] : at;
    bool passed = at != FLOW_NONE && w->masked[at] && w->position[at] < p && r->start[w->position[at]] == r->start[p] &&
                  r->entries[p] == r->entries[w->position[at]];
    for (uint32_t l = passed ? w->loop_of[at] : FLOW_NONE; l != FLOW_NONE && passed; l = w->loops[l].parent)
        passed = flow_in_loop(w, b, l);
    return passed ? at : only_entry(r, p);
}

/* A mask slot is 0 unless lanes wait for its block, and a pending flag unless lanes are about to join there. Were all cleared in the
 * function's entry, n slots would be live through up to n blocks each, which costs LLVM quadratic time and memory. So a slot is cleared
 * where lanes may first be added to it, if control always comes by there before and no lanes can wait already: no loop has that place and
 * not the block, and no other unmasked block enters the run in between. Or else where the run begins, if that is one place. */
static void
plan_clearing(struct emit *e, struct emit_fn *f)
{
    const struct flow *w = &f->flow;
    struct runs r;
    make_places(e, &f->clear, w->n, w->n);
    find_runs(e, w, &r);
    for (uint32_t b = 0; b < w->n && !w->irreducible && e->width > 1; b++) {
        const struct ptx_block *blk = &e->fn->blocks[b];
        uint32_t at = FLOW_NONE, run = FLOW_NONE;
        if (w->masked[b])
            at = clearing_place(e, w, &r, b);
        for (uint32_t k = 0; k < blk->npred && !w->masked[b]; k++) {
            uint32_t p = w->position[blk->pred[k]];
            if (!w->masked[blk->pred[k]])
                continue;
            at = run == FLOW_NONE || run == r.start[p] ? only_entry(&r, p) : FLOW_NONE;
            if (at == FLOW_NONE)
                break;
            run = r.start[p];
        }
        if (at != FLOW_NONE)
            place(&f->clear, b, at);
    }
}

void
emit_clear_slots(struct emit *e, uint32_t at)
{
    struct emit_fn *f = e->f;
    for (uint32_t b = f->clear.first[at]; b != FLOW_NONE; b = f->clear.next[b])
        if (f->flow.masked[b])
            LLVMBuildStore(e->b, LLVMConstNull(emit_mask_storage(e)), f->mask_slot[b]);
        else if (f->pending[b])
            LLVMBuildStore(e->b, LLVMConstNull(e->i1), f->pending[b]);
}

struct definitions {
    const struct flow *flow;
    uint32_t *above;                /* per register: the closest block that dominates all its definitions, or FLOW_NONE */
    uint32_t block;
};

static void
visit_definition(void *user, uint32_t r, bool write)
{
    struct definitions *d = user;
    if (!write)
        return;
    uint32_t b = d->above[r] == FLOW_NONE ? d->block : d->above[r];
    while (!flow_dominates(d->flow, b, d->block))
        b = d->flow->idom[b];
    d->above[r] = b;
}

/* A masked write reads what the register holds. Were that initialised in the function's entry, n registers would live through up to n blocks
 * each, which costs LLVM quadratic time. So a register is initialised at the start of the closest unmasked block above all its definitions, where
 * all lanes are together, unless one of them needs the value that it has there. */
static void
plan_initial(struct emit *e, struct emit_fn *f)
{
    const struct flow *w = &f->flow;
    uint32_t nregs = e->fn->nregs, *together = cw_arena_array(&e->arena, uint32_t, w->n + 1);
    struct definitions d = { .flow = w, .above = cw_arena_array(&e->arena, uint32_t, nregs + 1) };
    make_places(e, &f->initial, nregs, w->n);
    if (e->target->undefined_slots)
        return;
    for (uint32_t r = 0; r < nregs; r++)
        d.above[r] = FLOW_NONE;
    for (uint32_t p = 0; p < w->n; p++) {
        uint32_t b = w->order[p];
        together[b] = w->masked[b] ? together[w->idom[b]] : b;
    }
    for (d.block = 0; d.block < w->n; d.block++)
        for (uint32_t i = 0; i < e->fn->blocks[d.block].count; i++)
            flow_visit_regs(&e->fn->insts[e->fn->blocks[d.block].first + i], visit_definition, &d);
    for (uint32_t r = 0; r < nregs; r++) {
        uint32_t at = d.above[r] == FLOW_NONE ? 0 : together[d.above[r]];
        if (at && !is_single(w, r) && !flow_live_in(w, at, r))
            place(&f->initial, r, at);
    }
}

void
emit_initialise_registers(struct emit *e, uint32_t block)
{
    struct emit_fn *f = e->f;
    for (uint32_t r = f->initial.first[block]; r != FLOW_NONE; r = f->initial.next[r]) {
        LLVMBuildStore(e->b, LLVMConstNull(f->slot_type[r]), f->slot[r]);
        if (f->slot_base[r])
            LLVMBuildStore(e->b, LLVMConstNull(e->i32), f->slot_base[r]);
    }
}

struct references {
    const struct ptx_function *fn;
    uint32_t *block;                /* per local: the first block with a reference to it, or FLOW_NONE */
    struct emit_places *to;
    uint32_t at, inst;              /* the block and the instruction that are visited */
};

static bool
is_scalar_local(const struct ptx_function *fn, const struct ptx_symbol *s)
{
    return s && s->kind == PTX_SYM_VAR && s->space == PTX_SPACE_PARAM && emit_param_is_scalar(s) && s->index < fn->nlocals && fn->locals[s->index] == s;
}

static void
visit_reference(struct references *r, const struct ptx_operand *o, bool write)
{
    if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_LIST || o->kind == PTX_OPND_PRED_PAIR) {
        for (unsigned i = 0; i < o->count; i++)
            visit_reference(r, &o->elem[i], write);
        return;
    }
    if ((o->kind != PTX_OPND_SYM && (o->kind != PTX_OPND_ADDR || o->has_reg)) || !is_scalar_local(r->fn, o->sym))
        return;
    uint32_t i = o->sym->index;
    if (r->block[i] == FLOW_NONE) {
        r->block[i] = r->at;
        r->to->at[i] = write ? r->inst : FLOW_NONE;
    } else if (r->block[i] != r->at) {
        r->to->at[i] = FLOW_NONE;
    }
}

/* .param variables that carry arguments and results of calls, which as a rule are written, passed and read in one block: those become 0 in front of the
 * first write. A block may hold thousands, and a zero from the function's entry makes mem2reg search the block for each, from its begin. */
static void
plan_locals(struct emit *e, struct emit_fn *f)
{
    const struct ptx_function *fn = e->fn;
    struct references r = { .fn = fn, .block = cw_arena_array(&e->arena, uint32_t, fn->nlocals + 1), .to = &f->local_initial };
    make_places(e, &f->local_initial, fn->nlocals, fn->ninsts);
    for (uint32_t i = 0; i < fn->nlocals; i++)
        r.block[i] = FLOW_NONE;
    for (r.at = 0; r.at < f->flow.n; r.at++)
        for (uint32_t k = 0; k < fn->blocks[r.at].count; k++) {
            const struct ptx_inst *in = &fn->insts[r.inst = fn->blocks[r.at].first + k];
            bool writes = (in->op == PTX_OP_ST || in->op == PTX_OP_CALL) && !in->has_guard;
            for (unsigned i = writes ? 1 : 0; i < in->noperands; i++)       /* arguments are read before results are written */
                visit_reference(&r, &in->operand[i], false);
            if (writes && in->noperands)
                visit_reference(&r, &in->operand[0], true);
        }
    for (uint32_t i = 0; i < fn->nlocals; i++)
        if (f->local_initial.at[i] != FLOW_NONE)
            place(&f->local_initial, i, f->local_initial.at[i]);
}

void
emit_initialise_locals(struct emit *e, uint32_t inst)
{
    struct emit_fn *f = e->f;
    for (uint32_t i = f->local_initial.first[inst]; i != FLOW_NONE; i = f->local_initial.next[i])
        LLVMBuildStore(e->b, LLVMConstNull(emit_param_type(e, e->fn->locals[i])), f->local[i]);
}

static LLVMValueRef
slot(struct emit *e, LLVMTypeRef type, bool zeroed, const char *name)
{
    return zeroed ? emit_alloca(e, type, 0, name) : LLVMBuildAlloca(e->f->entry_b, type, name);
}

static void
make_registers(struct emit *e, struct emit_fn *f)
{
    for (uint32_t r = 0; r < e->fn->nregs; r++) {
        const struct ptx_reg *reg = &e->fn->regs[r];
        enum flow_kind kind = f->flow.shape[r].kind;
        LLVMTypeRef t = emit_type(e, reg->type);
        if (kind == FLOW_AFFINE32 || kind == FLOW_AFFINE64)
            t = kind == FLOW_AFFINE32 ? e->i32 : e->i64;
        else if (e->width > 1 && !f->flow.uniform[r])
            t = reg->type == PTX_PRED ? emit_mask_storage(e) : LLVMVectorType(t, e->width);
        /* A register that is never read before it is written needs no initial zero, which saves mem2reg work; where masks write it, it has one,
         * in the place that plan_initial found. */
        bool zeroed = f->initial.at[r] == FLOW_NONE && !is_single(&f->flow, r) &&
                      (!e->target->undefined_slots || flow_live_in(&f->flow, 0, r));
        if (kind == FLOW_AFFINE64)
            f->slot_base[r] = slot(e, e->i32, zeroed, "base");
        f->slot_type[r] = t;
        f->slot[r] = slot(e, t, zeroed, reg->name);
    }
}

static bool
is_joined(const struct emit_fn *f, const struct ptx_block *blk)
{
    for (uint32_t k = 0; k < blk->npred; k++)
        if (f->flow.masked[blk->pred[k]])
            return true;
    return false;
}

static void
make_blocks(struct emit *e, struct emit_fn *f)
{
    for (uint32_t b = 0; b < f->flow.n; b++) {
        char name[32];
        snprintf(name, sizeof name, "b%u", b);
        f->bb[b] = emit_new_block(e, name);
        bool zeroed = f->clear.at[b] == FLOW_NONE;
        if (f->flow.masked[b])
            f->mask_slot[b] = slot(e, emit_mask_storage(e), zeroed, "mask");
        else if (is_joined(f, &e->fn->blocks[b]))
            f->pending[b] = slot(e, e->i1, zeroed, "pending");
    }
}

static void
make_locals(struct emit *e, struct emit_fn *f)
{
    for (uint32_t i = 0; i < e->fn->nlocals; i++) {
        const struct ptx_symbol *s = e->fn->locals[i];
        if (s->space == PTX_SPACE_PARAM && emit_param_is_scalar(s))
            f->local[i] = slot(e, emit_param_type(e, s), f->local_initial.at[i] == FLOW_NONE, s->name);
        else if (s->space == PTX_SPACE_PARAM || s->space == PTX_SPACE_LOCAL)
            f->local[i] = e->target->local_storage(e, emit_lane_stride(s), s->align);
    }
}

void
emit_make_slots(struct emit *e, struct emit_fn *f)
{
    const struct ptx_function *fn = e->fn;
    f->slot = cw_arena_array(&e->arena, LLVMValueRef, fn->nregs + 1);
    f->slot_type = cw_arena_array(&e->arena, LLVMTypeRef, fn->nregs + 1);
    f->slot_base = cw_arena_array(&e->arena, LLVMValueRef, fn->nregs + 1);
    f->mask_slot = cw_arena_array(&e->arena, LLVMValueRef, f->flow.n + 1);
    f->pending = cw_arena_array(&e->arena, LLVMValueRef, f->flow.n + 1);
    f->bb = cw_arena_array(&e->arena, LLVMBasicBlockRef, f->flow.n + 1);
    f->joined = cw_arena_array(&e->arena, uint32_t, f->flow.n + 1);
    f->local = cw_arena_array(&e->arena, LLVMValueRef, fn->nlocals + 1);
    f->param = cw_arena_array(&e->arena, LLVMValueRef, fn->nparams + 1);
    f->ret = cw_arena_array(&e->arena, LLVMValueRef, fn->nrets + 1);
    plan_clearing(e, f);
    plan_initial(e, f);
    plan_locals(e, f);
    make_registers(e, f);
    make_blocks(e, f);
    make_locals(e, f);
    f->carry = emit_alloca(e, e->width > 1 ? emit_mask_storage(e) : e->i1, 0, "carry");
}
