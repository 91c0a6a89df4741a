/* SPDX-License-Identifier: Apache-2.0
 * Emission of one function: register slots, blocks, masks and control flow.
 *
 * Unmasked blocks, which all lanes of the function execute together, are joined by plain branches. A masked block has a mask slot: the
 * lanes that wait for it. Masked blocks stand in layout order. Each runs if some lane waits for it, moves its lanes to the masks of its
 * successors, and falls through to the next position. At the last position of a loop with a masked header, control returns to the header
 * while any lane waits there. At the end of a run of masked blocks the lanes have either joined at an unmasked block, which a `pending`
 * flag names, or all left. With width 1 nothing is masked. */
#include "jit/emit/emit_private.h"
#include "jit/analysis/flow_private.h"
#include "jit/analysis/lockstep.h"

#include <llvm-c/Analysis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- masks -------------------------------------------------------------------------------------------------------- */

LLVMBasicBlockRef
emit_new_block(struct emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->llvm, e->f->fn, name);
}

void
emit_goto(struct emit *e, LLVMBasicBlockRef bb)
{
    LLVMBuildBr(e->b, bb);
    LLVMPositionBuilderAtEnd(e->b, bb);
}

LLVMValueRef
emit_iota(struct emit *e, LLVMTypeRef scalar)
{
    if (e->width == 1)
        return LLVMConstNull(scalar);
    LLVMValueRef v[EMIT_MAX_WIDTH];
    for (unsigned i = 0; i < e->width; i++)
        v[i] = LLVMConstInt(scalar, i, false);
    return LLVMConstVector(v, e->width);
}

/* Is the register written once, and each read behind that? It is a value then, not a variable: an initial zero would make LLVM look for the places
 * where the two meet. */
static bool
is_single(const struct flow *w, uint32_t reg)
{
    return w->def_block[reg] != FLOW_NONE && !w->masked_write[reg] && !flow_live_in(w, 0, reg);
}

/* The slot of a register. A register that is never read before it is written needs no initial zero, which saves mem2reg work; on targets that
 * mask writes it gets one where plan_initial says. */
static LLVMValueRef
register_slot(struct emit *e, uint32_t reg, LLVMTypeRef type)
{
    const char *name = e->fn->regs[reg].name;
    if (e->f->initial_at[reg] != FLOW_NONE || is_single(&e->f->flow, reg) ||
        (e->target->undefined_slots && !flow_live_in(&e->f->flow, 0, reg)))
        return LLVMBuildAlloca(e->f->entry_b, type, name);
    return emit_alloca(e, type, 0, name);
}

LLVMValueRef
emit_alloca(struct emit *e, LLVMTypeRef type, unsigned align, const char *name)
{
    LLVMValueRef a = LLVMBuildAlloca(e->f->entry_b, type, name);
    if (align)
        LLVMSetAlignment(a, align);
    LLVMTypeKind k = LLVMGetTypeKind(type);
    if (k != LLVMArrayTypeKind)
        LLVMBuildStore(e->f->entry_b, LLVMConstNull(type), a);
    return a;
}

/* Lane predicates that live across blocks are stored sign-extended to the width of the data they select: LLVM moves <n x i1> values between
 * blocks inefficiently. */
LLVMTypeRef
emit_mask_storage(struct emit *e)
{
    if (e->width == 1)
        return e->i1;
    return LLVMVectorType(e->width <= 8 ? e->i32 : e->i8, e->width);
}

LLVMValueRef
emit_mask_load(struct emit *e, LLVMValueRef slot)
{
    LLVMTypeRef t = emit_mask_storage(e);
    LLVMValueRef v = LLVMBuildLoad2(e->b, t, slot, "");
    return e->width == 1 ? v : LLVMBuildICmp(e->b, LLVMIntSLT, v, LLVMConstNull(t), "");
}

void
emit_mask_store(struct emit *e, LLVMValueRef slot, LLVMValueRef mask)
{
    if (e->width > 1)
        mask = LLVMBuildSExt(e->b, emit_splat(e, mask), emit_mask_storage(e), "");
    LLVMBuildStore(e->b, mask, slot);
}

LLVMValueRef
emit_full_mask(struct emit *e, LLVMValueRef mask)
{
    if (mask)
        return emit_splat(e, mask);
    return e->width == 1 ? LLVMConstInt(e->i1, 1, false) : LLVMConstAllOnes(LLVMVectorType(e->i1, e->width));
}

static LLVMValueRef
mask_word(struct emit *e, LLVMValueRef mask)
{
    return LLVMBuildBitCast(e->b, emit_full_mask(e, mask), LLVMIntTypeInContext(e->llvm, e->width), "");
}

LLVMValueRef
emit_any(struct emit *e, LLVMValueRef mask)
{
    if (!mask)
        return LLVMConstInt(e->i1, 1, false);
    if (!emit_is_vector(mask))
        return mask;
    LLVMValueRef w = mask_word(e, mask);
    return LLVMBuildICmp(e->b, LLVMIntNE, w, LLVMConstNull(LLVMTypeOf(w)), "any");
}

LLVMValueRef
emit_all(struct emit *e, LLVMValueRef mask)
{
    if (!mask)
        return LLVMConstInt(e->i1, 1, false);
    if (!emit_is_vector(mask))
        return mask;
    LLVMValueRef w = mask_word(e, mask);
    return LLVMBuildICmp(e->b, LLVMIntEQ, w, LLVMConstAllOnes(LLVMTypeOf(w)), "all");
}

LLVMValueRef
emit_mask_bits(struct emit *e, LLVMValueRef mask)
{
    LLVMValueRef w = mask_word(e, mask);
    return e->width == 32 ? w : LLVMBuildZExt(e->b, w, e->i32, "");
}

LLVMValueRef
emit_mask_from_bits(struct emit *e, LLVMValueRef bits)
{
    if (e->width == 1)
        return LLVMBuildTrunc(e->b, bits, e->i1, "");
    LLVMTypeRef w = LLVMIntTypeInContext(e->llvm, e->width);
    if (e->width < 32)
        bits = LLVMBuildTrunc(e->b, bits, w, "");
    return LLVMBuildBitCast(e->b, bits, LLVMVectorType(e->i1, e->width), "");
}

LLVMValueRef
emit_mask_and(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
    if (!a || !b)
        return a ? a : b;
    return emit_bin(e, LLVMAnd, a, b);
}

void
emit_for_lanes(struct emit *e, LLVMValueRef mask, void (*body)(struct emit *, LLVMValueRef, void *), void *user)
{
    LLVMValueRef bits = emit_mask_bits(e, mask);
    LLVMBasicBlockRef pre = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef head = emit_new_block(e, "lanes"), loop = emit_new_block(e, "lane"), done = emit_new_block(e, "lanes.done");
    emit_goto(e, head);
    LLVMValueRef phi = LLVMBuildPhi(e->b, e->i32, "bits");
    LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntNE, phi, LLVMConstNull(e->i32), "");
    LLVMBuildCondBr(e->b, more, loop, done);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef lane = emit_intrinsic(e, "llvm.cttz", &phi, 1, 1);
    body(e, lane, user);
    LLVMValueRef minus = LLVMBuildSub(e->b, phi, LLVMConstInt(e->i32, 1, false), "");
    LLVMValueRef rest = LLVMBuildAnd(e->b, phi, minus, "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, head);
    LLVMValueRef values[2] = { bits, rest };
    LLVMBasicBlockRef blocks[2] = { pre, end };
    LLVMAddIncoming(phi, values, blocks, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
}

/* ---- exit in device functions ----
 *
 * `exit` ends the thread in whatever function it stands. The functions of a gang share a slot with the lanes that have exited; after every
 * call the caller removes them from its masks. */

static LLVMValueRef
load_exited(struct emit *e)
{
    return e->width == 1 ? LLVMBuildLoad2(e->b, e->i1, e->f->exited, "exited") : emit_mask_load(e, e->f->exited);
}

static void
add_exited(struct emit *e, LLVMValueRef lanes)
{
    if (e->width == 1)
        LLVMBuildStore(e->b, lanes ? LLVMBuildOr(e->b, load_exited(e), lanes, "") : LLVMConstInt(e->i1, 1, false), e->f->exited);
    else
        emit_mask_store(e, e->f->exited, emit_bin(e, LLVMOr, load_exited(e), emit_full_mask(e, lanes)));
}

bool
emit_has_exits(const struct cwj_program *p, const struct cwj_closure *closure)
{
    for (uint32_t i = 0; i < closure->nfuncs; i++) {
        const struct ptx_function *fn = cwj_program_function(p, closure->funcs[i])->fn;
        for (uint32_t k = 0; fn && fn->has_body && !fn->is_entry && k < fn->ninsts; k++)
            if (fn->insts[k].op == PTX_OP_EXIT && !(k && fn->insts[k - 1].op == PTX_OP_TRAP))
                return true;
    }
    return false;
}

/* Lanes that run an unmasked block. */
static LLVMValueRef
together_mask(struct emit *e)
{
    return e->f->alive ? emit_mask_load(e, e->f->alive) : e->f->entry_mask;
}

/* The mask of the block being emitted, without lanes that have exited since it began. */
static LLVMValueRef
current_mask(struct emit *e)
{
    if (e->width == 1)
        return NULL;
    if (!emit_session(e)->exits)
        return e->f->block_mask;
    return emit_mask_and(e, e->f->block_mask, LLVMBuildNot(e->b, load_exited(e), ""));
}

void
emit_drop_exited(struct emit *e)
{
    LLVMBasicBlockRef on = emit_new_block(e, "remain");
    if (e->width == 1) {
        LLVMBuildCondBr(e->b, load_exited(e), e->f->bail, on);
        LLVMPositionBuilderAtEnd(e->b, on);
        return;
    }
    LLVMValueRef remain = LLVMBuildNot(e->b, load_exited(e), "");
    emit_mask_store(e, e->f->alive, emit_bin(e, LLVMAnd, emit_mask_load(e, e->f->alive), remain));
    e->mask = emit_mask_and(e, e->mask, remain);
    LLVMBuildCondBr(e->b, emit_any(e, current_mask(e)), on, e->f->bail);
    LLVMPositionBuilderAtEnd(e->b, on);
}

/* ---- slots -------------------------------------------------------------------------------------------------------------- */

/* Masked blocks by their positions. */
struct runs {
    uint32_t *entries;              /* how often unmasked blocks enter a run up to this position */
    uint32_t *from;                 /* at the first position of a run: the unmasked block that enters it last */
    uint32_t *start, *end;          /* first and last position of the run */
};

static bool
find_runs(struct emit *e, const struct flow *w, struct runs *r)
{
    uint32_t n = w->n;
    r->entries = cw_arena_array(&e->arena, uint32_t, n + 1);
    r->from = cw_arena_array(&e->arena, uint32_t, n + 1);
    r->start = cw_arena_array(&e->arena, uint32_t, n + 1);
    r->end = cw_arena_array(&e->arena, uint32_t, n + 1);
    if (!r->entries || !r->from || !r->start || !r->end)
        return false;
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
    return true;
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
static bool
plan_clearing(struct emit *e, struct emit_fn *f)
{
    const struct flow *w = &f->flow;
    struct runs r;
    f->clear_at = cw_arena_array(&e->arena, uint32_t, w->n + 1);
    f->clear_next = cw_arena_array(&e->arena, uint32_t, w->n + 1);
    f->clear_first = cw_arena_array(&e->arena, uint32_t, w->n + 1);
    if (!f->clear_at || !f->clear_next || !f->clear_first || !find_runs(e, w, &r))
        return false;
    for (uint32_t b = 0; b < w->n; b++)
        f->clear_at[b] = f->clear_next[b] = f->clear_first[b] = FLOW_NONE;
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
        if (at == FLOW_NONE)
            continue;
        f->clear_at[b] = at;
        f->clear_next[b] = f->clear_first[at];
        f->clear_first[at] = b;
    }
    return true;
}

static void
clear_slots(struct emit *e, uint32_t at)
{
    struct emit_fn *f = e->f;
    for (uint32_t b = f->clear_first[at]; b != FLOW_NONE; b = f->clear_next[b])
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
static bool
plan_initial(struct emit *e, struct emit_fn *f)
{
    const struct flow *w = &f->flow;
    uint32_t nregs = e->fn->nregs, *together = cw_arena_array(&e->arena, uint32_t, w->n + 1);
    struct definitions d = { .flow = w, .above = cw_arena_array(&e->arena, uint32_t, nregs + 1) };
    f->initial_at = cw_arena_array(&e->arena, uint32_t, nregs + 1);
    f->initial_next = cw_arena_array(&e->arena, uint32_t, nregs + 1);
    f->initial_first = cw_arena_array(&e->arena, uint32_t, w->n + 1);
    if (!together || !d.above || !f->initial_at || !f->initial_next || !f->initial_first)
        return false;
    for (uint32_t r = 0; r < nregs; r++)
        d.above[r] = f->initial_at[r] = f->initial_next[r] = FLOW_NONE;
    for (uint32_t p = 0; p < w->n; p++) {
        uint32_t b = w->order[p];
        f->initial_first[b] = FLOW_NONE;
        together[b] = w->masked[b] ? together[w->idom[b]] : b;
    }
    if (e->target->undefined_slots)
        return true;
    for (d.block = 0; d.block < w->n; d.block++)
        for (uint32_t i = 0; i < e->fn->blocks[d.block].count; i++)
            flow_visit_regs(&e->fn->insts[e->fn->blocks[d.block].first + i], visit_definition, &d);
    for (uint32_t r = 0; r < nregs; r++) {
        uint32_t at = d.above[r] == FLOW_NONE ? 0 : together[d.above[r]];
        if (!at || is_single(w, r) || flow_live_in(w, at, r))
            continue;
        f->initial_at[r] = at;
        f->initial_next[r] = f->initial_first[at];
        f->initial_first[at] = r;
    }
    return true;
}

static void
initialise_registers(struct emit *e, uint32_t block)
{
    struct emit_fn *f = e->f;
    for (uint32_t r = f->initial_first[block]; r != FLOW_NONE; r = f->initial_next[r]) {
        LLVMBuildStore(e->b, LLVMConstNull(f->slot_type[r]), f->slot[r]);
        if (f->slot_base[r])
            LLVMBuildStore(e->b, LLVMConstNull(e->i32), f->slot_base[r]);
    }
}

static bool
make_slots(struct emit *e, struct emit_fn *f)
{
    const struct ptx_function *fn = e->fn;
    f->slot = cw_arena_array(&e->arena, LLVMValueRef, fn->nregs + 1);
    f->slot_type = cw_arena_array(&e->arena, LLVMTypeRef, fn->nregs + 1);
    f->slot_base = cw_arena_array(&e->arena, LLVMValueRef, fn->nregs + 1);
    f->mask_slot = cw_arena_array(&e->arena, LLVMValueRef, f->flow.n + 1);
    f->pending = cw_arena_array(&e->arena, LLVMValueRef, f->flow.n + 1);
    f->bb = cw_arena_array(&e->arena, LLVMBasicBlockRef, f->flow.n + 1);
    f->local = cw_arena_array(&e->arena, LLVMValueRef, fn->nlocals + 1);
    f->param = cw_arena_array(&e->arena, LLVMValueRef, fn->nparams + 1);
    f->ret = cw_arena_array(&e->arena, LLVMValueRef, fn->nrets + 1);
    f->joined = cw_arena_array(&e->arena, uint32_t, f->flow.n + 1);
    if (!plan_clearing(e, f) || !plan_initial(e, f) || !f->joined)
        return false;
    if (!f->slot || !f->slot_base || !f->slot_type || !f->mask_slot || !f->pending || !f->bb || !f->local || !f->param || !f->ret)
        return false;
    for (uint32_t r = 0; r < fn->nregs; r++) {
        LLVMTypeRef t = emit_type(e, fn->regs[r].type);
        if (e->width > 1 && !f->flow.uniform[r])
            t = fn->regs[r].type == PTX_PRED ? emit_mask_storage(e) : LLVMVectorType(t, e->width);
        if (f->flow.shape[r].kind == FLOW_AFFINE32 || f->flow.shape[r].kind == FLOW_AFFINE64)
            t = f->flow.shape[r].kind == FLOW_AFFINE32 ? e->i32 : e->i64;
        if (f->flow.shape[r].kind == FLOW_AFFINE64)
            f->slot_base[r] = f->initial_at[r] == FLOW_NONE && !is_single(&f->flow, r) ? emit_alloca(e, e->i32, 0, "base") : LLVMBuildAlloca(f->entry_b, e->i32, "base");
        f->slot_type[r] = t;
        f->slot[r] = register_slot(e, r, t);
    }
    for (uint32_t b = 0; b < f->flow.n; b++) {
        char name[32];
        snprintf(name, sizeof name, "b%u", b);
        f->bb[b] = emit_new_block(e, name);
        if (f->flow.masked[b])
            f->mask_slot[b] = f->clear_at[b] == FLOW_NONE ? emit_alloca(e, emit_mask_storage(e), 0, "mask")
                                                          : LLVMBuildAlloca(f->entry_b, emit_mask_storage(e), "mask");
    }
    for (uint32_t b = 0; b < f->flow.n; b++) {
        if (f->flow.masked[b])
            continue;
        for (uint32_t k = 0; k < fn->blocks[b].npred && !f->pending[b]; k++)
            if (f->flow.masked[fn->blocks[b].pred[k]])
                f->pending[b] = f->clear_at[b] == FLOW_NONE ? emit_alloca(e, e->i1, 0, "pending") : LLVMBuildAlloca(f->entry_b, e->i1, "pending");
    }
    for (uint32_t i = 0; i < fn->nlocals; i++) {
        const struct ptx_symbol *s = fn->locals[i];
        if (s->space == PTX_SPACE_LOCAL)
            f->local[i] = e->target->local_storage(e, emit_lane_stride(s), s->align);
        else if (s->space == PTX_SPACE_PARAM)
            f->local[i] = emit_param_is_scalar(s) ? emit_alloca(e, emit_param_type(e, s), 0, s->name)
                                                  : e->target->local_storage(e, emit_lane_stride(s), s->align);
    }
    f->carry = emit_alloca(e, e->width > 1 ? emit_mask_storage(e) : e->i1, 0, "carry");
    return true;
}

/* ---- control flow ----------------------------------------------------------------------------------------------------------- */

static bool
is_masked(struct emit *e, uint32_t b)
{
    return e->f->flow.masked[b];
}

/* Lanes `lanes` (NULL: all that run the block) continue at block b. Updates masks only; emits no branch. */
static void
add_lanes(struct emit *e, uint32_t b, LLVMValueRef lanes)
{
    struct emit_fn *f = e->f;
    if (is_masked(e, b)) {
        LLVMValueRef old = emit_mask_load(e, f->mask_slot[b]);
        emit_mask_store(e, f->mask_slot[b], emit_bin(e, LLVMOr, old, emit_full_mask(e, lanes)));
    } else {
        LLVMValueRef old = LLVMBuildLoad2(e->b, e->i1, f->pending[b], "");
        LLVMBuildStore(e->b, LLVMBuildOr(e->b, old, emit_any(e, lanes), ""), f->pending[b]);
    }
}

/* From an unmasked block, enter block b with all lanes. */
static void
enter_together(struct emit *e, uint32_t b)
{
    if (is_masked(e, b))
        emit_mask_store(e, e->f->mask_slot[b], emit_full_mask(e, together_mask(e)));
    LLVMBuildBr(e->b, e->f->bb[b]);
}

/* After the masked block at position p: repeat the loops that end here, else go to the next masked position, else to where the lanes join. */
static void
next_position(struct emit *e, uint32_t p)
{
    struct emit_fn *f = e->f;
    struct flow *w = &f->flow;
    uint32_t b = w->order[p];
    for (uint32_t l = w->loop_of[b]; l != FLOW_NONE; l = w->loops[l].parent) {
        uint32_t h = w->loops[l].header;
        if (w->loops[l].last != p)      /* then outer ones end behind it, too */
            break;
        if (!w->masked[h])
            continue;
        LLVMBasicBlockRef on = emit_new_block(e, "loop.done");
        LLVMBuildCondBr(e->b, emit_any(e, emit_mask_load(e, f->mask_slot[h])), f->bb[h], on);
        LLVMPositionBuilderAtEnd(e->b, on);
    }
    if (p + 1 < w->n && w->masked[w->order[p + 1]]) {
        LLVMBuildBr(e->b, f->bb[w->order[p + 1]]);
        return;
    }
    /* End of a run: the lanes may have joined at any unmasked successor of its blocks. */
    uint32_t first = p;
    while (first > 0 && w->masked[w->order[first - 1]])
        first--;
    for (uint32_t i = first; i <= p; i++) {
        const struct ptx_block *blk = &e->fn->blocks[w->order[i]];
        for (uint32_t k = 0; k < blk->nsucc; k++) {
            uint32_t s = blk->succ[k];
            if (w->masked[s] || f->joined[s] == p + 1)
                continue;
            f->joined[s] = p + 1;
            LLVMBasicBlockRef take = emit_new_block(e, "join"), on = emit_new_block(e, "join.not");
            LLVMBuildCondBr(e->b, LLVMBuildLoad2(e->b, e->i1, f->pending[s], ""), take, on);
            LLVMPositionBuilderAtEnd(e->b, take);
            LLVMBuildStore(e->b, LLVMConstNull(e->i1), f->pending[s]);
            LLVMBuildBr(e->b, f->bb[s]);
            LLVMPositionBuilderAtEnd(e->b, on);
        }
    }
    LLVMBuildBr(e->b, f->exit);
}

/* Value of a guard, with its negation: i1 in either shape. */
static LLVMValueRef
guard_value(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_operand o = { .kind = PTX_OPND_REG, .index = in->guard, .negate_pred = in->guard_negated };
    return emit_operand(e, &o, PTX_PRED);
}

static LLVMValueRef
invert(struct emit *e, LLVMValueRef v)
{
    return LLVMBuildNot(e->b, v, "");
}

static bool
leaves_kernel(struct emit *e, const struct ptx_inst *last)
{
    return last->op == PTX_OP_EXIT && !e->f->is_kernel && (emit_session(e)->exits || e->target->exit_thread);
}

struct edge { uint32_t label, number; };

static int
by_label(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->label != y->label ? (x->label < y->label ? -1 : 1) : (x->number > y->number) - (x->number < y->number);
}

/* The successors of block b by the instruction that each begins with. NULL: out of memory. */
static struct edge *
sort_edges(struct emit *e, uint32_t b)
{
    const struct ptx_block *blk = &e->fn->blocks[b];
    struct edge *edges = cw_arena_array(&e->arena, struct edge, blk->nsucc + 1);
    if (!edges) {
        e->result = CW_ERR_NOMEM;
        return NULL;
    }
    for (uint32_t k = 0; k < blk->nsucc; k++)
        edges[k] = (struct edge){ e->fn->blocks[blk->succ[k]].first, k };
    qsort(edges, blk->nsucc, sizeof *edges, by_label);
    return edges;
}

/* The number of the successor that begins with this instruction, or FLOW_NONE. */
static uint32_t
edge_to(const struct edge *edges, uint32_t n, uint32_t label)
{
    uint32_t low = 0, high = n;
    while (edges && low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (edges[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    return edges && low < n && edges[low].label == label ? edges[low].number : FLOW_NONE;
}

/* The terminator of a masked block, whose mask is e->mask. */
static void
leave_masked(struct emit *e, uint32_t b, const struct ptx_inst *last)
{
    const struct ptx_block *blk = &e->fn->blocks[b];
    LLVMValueRef mask = e->mask;
    if (last && last->op == PTX_OP_BRX_IDX) {
        LLVMValueRef index = emit_src(e, last, 0, PTX_U32);
        LLVMValueRef guard = last->has_guard ? guard_value(e, last) : NULL;
        const struct ptx_table *t = last->operand[1].table;
        LLVMValueRef taken = emit_mask_and(e, mask, guard);
        const struct edge *edges = sort_edges(e, b);
        for (uint32_t i = 0; t && i < t->count; i++) {
            LLVMValueRef hit = emit_icmp(e, LLVMIntEQ, index, emit_int_like(e, index, i));
            uint32_t k = edge_to(edges, blk->nsucc, t->labels[i]);
            if (k != FLOW_NONE)
                add_lanes(e, blk->succ[k], emit_mask_and(e, taken, emit_splat(e, hit)));
        }
        if (guard)
            add_lanes(e, blk->succ[blk->nsucc - 1], emit_mask_and(e, mask, invert(e, emit_splat(e, guard))));
    } else if (last && last->op == PTX_OP_BRA && last->has_guard) {
        LLVMValueRef p = emit_splat(e, guard_value(e, last));
        add_lanes(e, blk->succ[0], emit_mask_and(e, mask, p));
        if (blk->nsucc > 1)
            add_lanes(e, blk->succ[1], emit_mask_and(e, mask, invert(e, p)));
    } else if (last && (last->op == PTX_OP_RET || last->op == PTX_OP_EXIT || last->op == PTX_OP_TRAP)) {
        if (leaves_kernel(e, last))
            add_exited(e, last->has_guard ? emit_mask_and(e, mask, emit_splat(e, guard_value(e, last))) : mask);
        if (last->has_guard && blk->nsucc)
            add_lanes(e, blk->succ[0], emit_mask_and(e, mask, invert(e, emit_splat(e, guard_value(e, last)))));
    } else if (blk->nsucc) {
        add_lanes(e, blk->succ[0], mask);
    }
}

/* Called before lanes leave: the remaining lanes may be waiting for all other threads of the block. */
static void
tell_leaving(struct emit *e, const struct ptx_inst *last)
{
    const struct emit_session *s = emit_session(e);
    if (s->counts_exited && (e->f->is_kernel || (last && last->op == PTX_OP_EXIT)))
        e->target->leaving(e, last && last->has_guard ? guard_value(e, last) : NULL);
}

/* The terminator of an unmasked block. Divergent edges lead into masked blocks or to the block where the lanes join. */
static void
leave_unmasked(struct emit *e, uint32_t b, const struct ptx_inst *last)
{
    struct emit_fn *f = e->f;
    const struct ptx_block *blk = &e->fn->blocks[b];
    if (f->flow.divergent[b]) {
        /* The run of masked blocks begins with the first masked successor in layout order. */
        uint32_t first = FLOW_NONE;
        for (uint32_t k = 0; k < blk->nsucc; k++)
            if (f->flow.masked[blk->succ[k]] && (first == FLOW_NONE || f->flow.position[blk->succ[k]] < first))
                first = f->flow.position[blk->succ[k]];
        if (first == FLOW_NONE) {       /* both edges lead to the same block, or every edge leaves */
            blk->nsucc ? enter_together(e, blk->succ[0]) : (void)LLVMBuildBr(e->b, f->exit);
            return;
        }
        leave_masked(e, b, last);
        LLVMBuildBr(e->b, f->bb[f->flow.order[first]]);
        return;
    }
    if (last && last->op == PTX_OP_BRX_IDX) {
        LLVMValueRef index = emit_src(e, last, 0, PTX_U32);
        const struct ptx_table *t = last->operand[1].table;
        LLVMBasicBlockRef bad = emit_new_block(e, "brx.bad");
        if (last->has_guard) {
            LLVMBasicBlockRef yes = emit_new_block(e, "brx"), no = emit_new_block(e, "brx.not");
            LLVMBuildCondBr(e->b, guard_value(e, last), yes, no);
            LLVMPositionBuilderAtEnd(e->b, no);
            enter_together(e, blk->succ[blk->nsucc - 1]);
            LLVMPositionBuilderAtEnd(e->b, yes);
        }
        LLVMValueRef sw = LLVMBuildSwitch(e->b, index, bad, t ? t->count : 0);
        const struct edge *edges = sort_edges(e, b);
        for (uint32_t i = 0; t && i < t->count; i++) {
            uint32_t k = edge_to(edges, blk->nsucc, t->labels[i]);
            if (k == FLOW_NONE)
                continue;
            LLVMBasicBlockRef edge = emit_new_block(e, "edge");
            LLVMAddCase(sw, LLVMConstInt(e->i32, i, false), edge);
            LLVMPositionBuilderAtEnd(e->b, edge);
            enter_together(e, blk->succ[k]);
        }
        LLVMPositionBuilderAtEnd(e->b, bad);
        LLVMBuildUnreachable(e->b);
    } else if (last && last->op == PTX_OP_BRA && last->has_guard && blk->nsucc > 1) {
        LLVMBasicBlockRef yes = emit_new_block(e, "taken"), no = emit_new_block(e, "not.taken");
        LLVMBuildCondBr(e->b, guard_value(e, last), yes, no);
        LLVMPositionBuilderAtEnd(e->b, yes);
        enter_together(e, blk->succ[0]);
        LLVMPositionBuilderAtEnd(e->b, no);
        enter_together(e, blk->succ[1]);
    } else if (last && (last->op == PTX_OP_RET || last->op == PTX_OP_EXIT || last->op == PTX_OP_TRAP)) {
        bool leaves = leaves_kernel(e, last);
        if (last->op != PTX_OP_TRAP)
            tell_leaving(e, last);
        if (leaves && e->target->exit_thread) {
            LLVMBasicBlockRef gone = emit_new_block(e, "gone"), stay = last->has_guard && blk->nsucc ? emit_new_block(e, "stay") : NULL;
            if (stay)
                LLVMBuildCondBr(e->b, guard_value(e, last), gone, stay);
            else
                LLVMBuildBr(e->b, gone);
            LLVMPositionBuilderAtEnd(e->b, gone);
            e->target->exit_thread(e);
            LLVMBuildUnreachable(e->b);
            if (stay) {
                LLVMPositionBuilderAtEnd(e->b, stay);
                enter_together(e, blk->succ[0]);
            }
            return;
        }
        if (last->has_guard && blk->nsucc) {
            LLVMBasicBlockRef no = emit_new_block(e, "stay"), yes = leaves ? emit_new_block(e, "leave") : f->exit;
            LLVMBuildCondBr(e->b, guard_value(e, last), yes, no);
            if (leaves) {
                LLVMPositionBuilderAtEnd(e->b, yes);
                add_exited(e, e->width == 1 ? NULL : e->mask);
                LLVMBuildBr(e->b, f->exit);
            }
            LLVMPositionBuilderAtEnd(e->b, no);
            enter_together(e, blk->succ[0]);
        } else {
            if (leaves)
                add_exited(e, e->width == 1 ? NULL : e->mask);
            LLVMBuildBr(e->b, f->exit);
        }
    } else if (blk->nsucc) {
        enter_together(e, blk->succ[0]);
    } else {
        tell_leaving(e, NULL);
        LLVMBuildBr(e->b, f->exit);
    }
}

/* ---- instructions -------------------------------------------------------------------------------------------------------------- */

static bool
has_effects(const struct ptx_inst *in)
{
    return ptx_op_info(in->op)->traits & (PTX_T_READS_MEM | PTX_T_WRITES_MEM | PTX_T_CALL | PTX_T_CONVERGENT | PTX_T_BARRIER |
                                          PTX_T_WARP) ||
           in->op == PTX_OP_TRAP || in->op == PTX_OP_BRKPT || in->op == PTX_OP_NANOSLEEP || in->op == PTX_OP_ALLOCA;
}

static bool
touches_common_memory(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_LD: case PTX_OP_ATOM: case PTX_OP_RED: case PTX_OP_LDU:  /* for st: emit_st */
        return in->space != PTX_SPACE_PARAM && in->space != PTX_SPACE_CONST && in->space != PTX_SPACE_LOCAL;
    default:
        return false;
    }
}

/* leave_masked and leave_unmasked emit terminators; one inside of a block is an internal error. */
void
emit_terminator(struct emit *e, const struct ptx_inst *in)
{
    e->result = CW_ERR_INTERNAL;
    cwj_diag_add(e->diags, PTX_ERROR, 5002, in->line, in->column, "%s inside of a block", ptx_op_info(in->op)->mnemonic);
}

/* Does .ftz have no effect? (rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 are different operations from those without.) */
static bool
drops_ftz(const struct emit *e, const struct ptx_inst *in)
{
    return e->native_floats & CWJ_NATIVE_FTZ && in->flags & PTX_F_FTZ &&
           !(in->type[0] == PTX_F64 && (in->op == PTX_OP_RCP || in->op == PTX_OP_RSQRT));
}

/* Do lanes in lockstep exchange values by this access? LLVM must not move it, nor forward a value from the lane's own earlier store. (With
 * vectors of lanes, each store is made for all lanes at once.) */
static bool
is_exchange(struct emit *e, const struct ptx_inst *in)
{
    bool shared = in->space == PTX_SPACE_SHARED || (in->space == PTX_SPACE_GENERIC && cwj_lockstep_setting() == CWJ_LOCKSTEP_ON);
    return emit_session(e)->in_step && e->width == 1 && shared && (in->op == PTX_OP_LD || in->op == PTX_OP_ST) &&
           (in->sem == PTX_SEM_NONE || in->sem == PTX_SEM_WEAK);
}

static void
emit_stepped(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_inst other = *in;
    if (drops_ftz(e, in))
        other.flags &= ~PTX_F_FTZ;
    if (is_exchange(e, in))
        other.sem = PTX_SEM_VOLATILE;
    if (emit_session(e)->lockstep && touches_common_memory(in))
        e->target->step(e);
    emit_one(e, other.flags != in->flags || other.sem != in->sem ? &other : in);
}

static void
emit_inst(struct emit *e, const struct ptx_inst *in)
{
    if (!in->has_guard) {
        emit_stepped(e, in);
        return;
    }
    LLVMValueRef guard = guard_value(e, in), mask = e->mask;
    if (!emit_is_vector(guard) && has_effects(in)) {
        /* The guard is uniform: branch around the instruction. */
        LLVMBasicBlockRef yes = emit_new_block(e, "guarded"), on = emit_new_block(e, "guarded.done");
        LLVMBuildCondBr(e->b, guard, yes, on);
        LLVMPositionBuilderAtEnd(e->b, yes);
        emit_stepped(e, in);
        emit_goto(e, on);
        if (in->op == PTX_OP_CALL)
            e->mask = current_mask(e);
        return;
    }
    if (has_effects(in) && emit_is_vector(guard)) {
        e->mask = emit_mask_and(e, mask, guard);
        LLVMBasicBlockRef yes = emit_new_block(e, "guarded"), on = emit_new_block(e, "guarded.done");
        LLVMBuildCondBr(e->b, emit_any(e, e->mask), yes, on);
        LLVMPositionBuilderAtEnd(e->b, yes);
        e->f->guard = guard;
        emit_stepped(e, in);
        emit_goto(e, on);
    } else {
        if (emit_is_vector(guard))
            e->mask = emit_mask_and(e, mask, guard);
        e->f->guard = guard;
        emit_stepped(e, in);
    }
    e->f->guard = NULL;
    e->mask = in->op == PTX_OP_CALL ? current_mask(e) : mask;
}

static void
emit_block(struct emit *e, uint32_t p)
{
    struct emit_fn *f = e->f;
    uint32_t b = f->flow.order[p];
    const struct ptx_block *blk = &e->fn->blocks[b];
    f->block = b;
    LLVMPositionBuilderAtEnd(e->b, f->bb[b]);
    bool masked = f->flow.masked[b];
    LLVMBasicBlockRef next = NULL;
    e->mask = together_mask(e);
    f->bail = f->exit;
    if (!masked)
        initialise_registers(e, b);
    if (masked) {
        LLVMBasicBlockRef body = emit_new_block(e, "run");
        next = emit_new_block(e, "next");
        clear_slots(e, b);
        e->mask = emit_mask_load(e, f->mask_slot[b]);
        LLVMBuildCondBr(e->b, emit_any(e, e->mask), body, next);
        LLVMPositionBuilderAtEnd(e->b, body);
        LLVMBuildStore(e->b, LLVMConstNull(emit_mask_storage(e)), f->mask_slot[b]);
        f->bail = next;
    }
    f->block_mask = e->mask;
    if (f->flow.spin[b] && e->target->yield)
        e->target->yield(e);
    if (f->latch && f->latch[b] && e->target->fixed) {
        LLVMValueRef slot = f->slot[f->park.reg], v = LLVMBuildLoad2(e->b, e->i32, slot, "");
        LLVMBuildStore(e->b, e->target->fixed(e, v), slot);
    }
    const struct ptx_inst *last = NULL;
    for (uint32_t i = 0; i < blk->count; i++) {
        const struct ptx_inst *in = &e->fn->insts[blk->first + i];
        if (i + 1 == blk->count && (ptx_op_info(in->op)->traits & PTX_T_TERMINATOR || in->op == PTX_OP_TRAP)) {
            last = in;
            if (in->op == PTX_OP_TRAP)
                emit_inst(e, in);
            break;
        }
        emit_inst(e, in);
    }
    if (!masked) {
        clear_slots(e, b);
        leave_unmasked(e, b, last);
        return;
    }
    leave_masked(e, b, last);
    emit_goto(e, next);
    if (f->flow.irreducible) {
        /* A retreating edge that is not a loop's back edge: take it as soon as a lane waits there. */
        for (uint32_t k = 0; k < blk->nsucc; k++) {
            uint32_t s = blk->succ[k];
            if (f->flow.position[s] > p || flow_dominates(&f->flow, s, b) || !f->flow.masked[s])
                continue;
            LLVMBasicBlockRef on = emit_new_block(e, "retreat.not");
            LLVMBuildCondBr(e->b, emit_any(e, emit_mask_load(e, f->mask_slot[s])), f->bb[s], on);
            LLVMPositionBuilderAtEnd(e->b, on);
        }
    }
    next_position(e, p);
}

/* The blocks that park.c names: parked lanes return from latches to heads, where other warps may run. */
static bool
find_latches(struct emit *e, struct emit_fn *f)
{
    if (!f->park.nlatches)
        return true;
    f->latch = cw_arena_array(&e->arena, bool, f->flow.n + 1);
    if (!f->latch)
        return false;
    for (uint32_t i = 0; i < f->park.nlatches; i++) {
        f->latch[f->park.latches[i]] = true;
        f->flow.spin[f->park.heads[i]] = true;
    }
    return true;
}

bool
emit_function(struct emit *e, const struct ptx_function *fn, LLVMValueRef llvm_fn, bool is_kernel)
{
    struct emit_fn *outer = e->f;
    const struct ptx_function *outer_fn = e->fn;
    struct emit_fn *f = cw_arena_new(&e->arena, struct emit_fn);
    if (!f)
        return false;
    const struct emit_session *s = emit_session(e);
    f->fn = llvm_fn;
    f->is_kernel = is_kernel;
    f->linear_x = s->variant && s->variant->linear_x;
    e->f = f;
    e->fn = fn;
    cw_result r = ptx_function_build_cfg((struct ptx_function *)fn);
    const struct ptx_function *parked = r == CW_OK ? emit_park(e, fn, &f->park) : fn;
    if (!parked)
        r = CW_ERR_NOMEM;
    else
        e->fn = fn = parked;
    if (r == CW_OK)
        r = flow_analyse(&f->flow, fn, e->width, f->linear_x, &e->arena);
    if (r == CW_OK && !find_latches(e, f))
        r = CW_ERR_NOMEM;
    bool ok = r == CW_OK;
    if (!ok) {
        e->result = r;
        cwj_diag_add(e->diags, PTX_ERROR, 6001, 0, 0, "out of memory while compiling %s", fn->sym->name);
        goto done;
    }
    f->entry = LLVMAppendBasicBlockInContext(e->llvm, llvm_fn, "entry");
    f->exit = LLVMAppendBasicBlockInContext(e->llvm, llvm_fn, "exit");
    f->entry_b = LLVMCreateBuilderInContext(e->llvm);
    LLVMPositionBuilderAtEnd(f->entry_b, f->entry);
    LLVMPositionBuilderAtEnd(e->b, f->entry);
    if (e->target->enter)
        e->target->enter(e);
    ok = make_slots(e, f);
    if (ok && s->exits) {
        LLVMPositionBuilderAtEnd(e->b, f->entry);
        if (e->width > 1) {
            f->alive = emit_alloca(e, emit_mask_storage(e), 0, "alive");
            emit_mask_store(e, f->alive, emit_full_mask(e, f->entry_mask));
        }
        f->exited = is_kernel ? emit_alloca(e, e->width > 1 ? emit_mask_storage(e) : e->i1, 0, "exited")
                              : LLVMGetLastParam(llvm_fn);
    }
    if (ok) {
        LLVMPositionBuilderAtEnd(e->b, f->entry);
        if (!is_kernel)
            emit_bind_params(e);
        for (uint32_t p = 0; p < f->flow.n; p++)
            emit_block(e, p);
        LLVMPositionBuilderAtEnd(f->entry_b, f->entry);
        LLVMPositionBuilderAtEnd(e->b, f->entry);
        if (e->target->start)
            e->target->start(e);
        enter_together(e, 0);
        LLVMPositionBuilderAtEnd(e->b, f->exit);
        e->mask = f->entry_mask;
        if (e->target->leave)
            e->target->leave(e);
        if (is_kernel)
            LLVMBuildRetVoid(e->b);
        else
            emit_return(e);
    } else {
        e->result = CW_ERR_NOMEM;
    }
    LLVMDisposeBuilder(f->entry_b);
done:
    e->f = outer;
    e->fn = outer_fn;
    return ok;
}
