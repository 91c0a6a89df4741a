/* SPDX-License-Identifier: Apache-2.0
 * Control flow between the blocks of a function: terminators, and what follows a run of masked blocks (function.c). */
#include "jit/emit/emit_private.h"
#include "jit/emit/function_private.h"

#include <stdlib.h>

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
void
emit_enter_together(struct emit *e, uint32_t b)
{
    if (is_masked(e, b))
        emit_mask_store(e, e->f->mask_slot[b], emit_full_mask(e, emit_together_mask(e)));
    LLVMBuildBr(e->b, e->f->bb[b]);
}

/* After the masked block at position p: repeat the loops that end here, else go to the next masked position, else to where the lanes join. */
void
emit_next_position(struct emit *e, uint32_t p)
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
LLVMValueRef
emit_guard(struct emit *e, const struct ptx_inst *in)
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
void
emit_leave_masked(struct emit *e, uint32_t b, const struct ptx_inst *last)
{
    const struct ptx_block *blk = &e->fn->blocks[b];
    LLVMValueRef mask = e->mask;
    if (last && last->op == PTX_OP_BRX_IDX) {
        LLVMValueRef index = emit_src(e, last, 0, PTX_U32);
        LLVMValueRef guard = last->has_guard ? emit_guard(e, last) : NULL;
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
        LLVMValueRef p = emit_splat(e, emit_guard(e, last));
        add_lanes(e, blk->succ[0], emit_mask_and(e, mask, p));
        if (blk->nsucc > 1)
            add_lanes(e, blk->succ[1], emit_mask_and(e, mask, invert(e, p)));
    } else if (last && (last->op == PTX_OP_RET || last->op == PTX_OP_EXIT || last->op == PTX_OP_TRAP)) {
        if (leaves_kernel(e, last))
            emit_add_exited(e, last->has_guard ? emit_mask_and(e, mask, emit_splat(e, emit_guard(e, last))) : mask);
        if (last->has_guard && blk->nsucc)
            add_lanes(e, blk->succ[0], emit_mask_and(e, mask, invert(e, emit_splat(e, emit_guard(e, last)))));
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
        e->target->leaving(e, last && last->has_guard ? emit_guard(e, last) : NULL);
}

/* The terminator of an unmasked block. Divergent edges lead into masked blocks or to the block where the lanes join. */
void
emit_leave_unmasked(struct emit *e, uint32_t b, const struct ptx_inst *last)
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
            blk->nsucc ? emit_enter_together(e, blk->succ[0]) : (void)LLVMBuildBr(e->b, f->exit);
            return;
        }
        emit_leave_masked(e, b, last);
        LLVMBuildBr(e->b, f->bb[f->flow.order[first]]);
        return;
    }
    if (last && last->op == PTX_OP_BRX_IDX) {
        LLVMValueRef index = emit_src(e, last, 0, PTX_U32);
        const struct ptx_table *t = last->operand[1].table;
        LLVMBasicBlockRef bad = emit_new_block(e, "brx.bad");
        if (last->has_guard) {
            LLVMBasicBlockRef yes = emit_new_block(e, "brx"), no = emit_new_block(e, "brx.not");
            LLVMBuildCondBr(e->b, emit_guard(e, last), yes, no);
            LLVMPositionBuilderAtEnd(e->b, no);
            emit_enter_together(e, blk->succ[blk->nsucc - 1]);
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
            emit_enter_together(e, blk->succ[k]);
        }
        LLVMPositionBuilderAtEnd(e->b, bad);
        LLVMBuildUnreachable(e->b);
    } else if (last && last->op == PTX_OP_BRA && last->has_guard && blk->nsucc > 1) {
        LLVMBasicBlockRef yes = emit_new_block(e, "taken"), no = emit_new_block(e, "not.taken");
        LLVMBuildCondBr(e->b, emit_guard(e, last), yes, no);
        LLVMPositionBuilderAtEnd(e->b, yes);
        emit_enter_together(e, blk->succ[0]);
        LLVMPositionBuilderAtEnd(e->b, no);
        emit_enter_together(e, blk->succ[1]);
    } else if (last && (last->op == PTX_OP_RET || last->op == PTX_OP_EXIT || last->op == PTX_OP_TRAP)) {
        bool leaves = leaves_kernel(e, last);
        if (last->op != PTX_OP_TRAP)
            tell_leaving(e, last);
        if (leaves && e->target->exit_thread) {
            LLVMBasicBlockRef gone = emit_new_block(e, "gone"), stay = last->has_guard && blk->nsucc ? emit_new_block(e, "stay") : NULL;
            if (stay)
                LLVMBuildCondBr(e->b, emit_guard(e, last), gone, stay);
            else
                LLVMBuildBr(e->b, gone);
            LLVMPositionBuilderAtEnd(e->b, gone);
            e->target->exit_thread(e);
            LLVMBuildUnreachable(e->b);
            if (stay) {
                LLVMPositionBuilderAtEnd(e->b, stay);
                emit_enter_together(e, blk->succ[0]);
            }
            return;
        }
        if (last->has_guard && blk->nsucc) {
            LLVMBasicBlockRef no = emit_new_block(e, "stay"), yes = leaves ? emit_new_block(e, "leave") : f->exit;
            LLVMBuildCondBr(e->b, emit_guard(e, last), yes, no);
            if (leaves) {
                LLVMPositionBuilderAtEnd(e->b, yes);
                emit_add_exited(e, e->width == 1 ? NULL : e->mask);
                LLVMBuildBr(e->b, f->exit);
            }
            LLVMPositionBuilderAtEnd(e->b, no);
            emit_enter_together(e, blk->succ[0]);
        } else {
            if (leaves)
                emit_add_exited(e, e->width == 1 ? NULL : e->mask);
            LLVMBuildBr(e->b, f->exit);
        }
    } else if (blk->nsucc) {
        emit_enter_together(e, blk->succ[0]);
    } else {
        tell_leaving(e, NULL);
        LLVMBuildBr(e->b, f->exit);
    }
}
