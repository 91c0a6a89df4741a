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

void
emit_enter_together(struct emit *e, uint32_t b)
{
    if (is_masked(e, b))
        emit_mask_store(e, e->f->mask_slot[b], emit_full_mask(e, emit_together_mask(e)));
    LLVMBuildBr(e->b, e->f->bb[b]);
}

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
            LLVMBasicBlockRef on = emit_if(e, LLVMBuildLoad2(e->b, e->i1, f->pending[s], ""), "join", "join.not");
            LLVMBuildStore(e->b, LLVMConstNull(e->i1), f->pending[s]);
            LLVMBuildBr(e->b, f->bb[s]);
            LLVMPositionBuilderAtEnd(e->b, on);
        }
    }
    LLVMBuildBr(e->b, f->exit);
}

LLVMValueRef
emit_guard(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_operand o = { .kind = PTX_OPND_REG, .index = in->guard, .negate_pred = in->guard_negated };
    return emit_operand(e, &o, PTX_PRED);
}

static bool
ends_function(const struct ptx_inst *in)
{
    return in->op == PTX_OP_RET || in->op == PTX_OP_EXIT || in->op == PTX_OP_TRAP;
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

/* The successors of block b by the instruction that each begins with. */
static struct edge *
sort_edges(struct emit *e, uint32_t b)
{
    const struct ptx_block *blk = &e->fn->blocks[b];
    struct edge *edges = cw_arena_array(&e->arena, struct edge, blk->nsucc + 1);
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
        LLVMValueRef beyond = emit_splat(e, emit_icmp(e, LLVMIntUGE, index, emit_int_like(e, index, t ? t->count : 0)));
        LLVMValueRef bad = emit_any(e, emit_mask_and(e, taken, beyond));
        emit_demand(e, LLVMBuildNot(e->b, bad, ""), e->target->bad_call, "brx.bad", "brx");
        const struct edge *edges = sort_edges(e, b);
        for (uint32_t i = 0; t && i < t->count; i++) {
            LLVMValueRef hit = emit_icmp(e, LLVMIntEQ, index, emit_int_like(e, index, i));
            uint32_t k = edge_to(edges, blk->nsucc, t->labels[i]);
            if (k != FLOW_NONE)
                add_lanes(e, blk->succ[k], emit_mask_and(e, taken, emit_splat(e, hit)));
        }
        if (guard)
            add_lanes(e, blk->succ[blk->nsucc - 1], emit_mask_and(e, mask, LLVMBuildNot(e->b, emit_splat(e, guard), "")));
    } else if (last && last->op == PTX_OP_BRA && last->has_guard) {
        LLVMValueRef p = emit_splat(e, emit_guard(e, last));
        add_lanes(e, blk->succ[0], emit_mask_and(e, mask, p));
        if (blk->nsucc > 1)
            add_lanes(e, blk->succ[1], emit_mask_and(e, mask, LLVMBuildNot(e->b, p, "")));
    } else if (last && ends_function(last)) {
        LLVMValueRef p = last->has_guard ? emit_splat(e, emit_guard(e, last)) : NULL;
        if (leaves_kernel(e, last))
            emit_add_exited(e, emit_mask_and(e, mask, p));
        if (p && blk->nsucc)
            add_lanes(e, blk->succ[0], emit_mask_and(e, mask, LLVMBuildNot(e->b, p, "")));
    } else if (blk->nsucc) {
        add_lanes(e, blk->succ[0], mask);
    }
}

/* Called before lanes leave: the remaining lanes may be waiting for all other threads of the block. */
static void
tell_leaving(struct emit *e, const struct ptx_inst *last)
{
    const struct emit_session *s = emit_session(e);
    if ((s->counts_exited || s->cluster_barriers) && (e->f->is_kernel || (last && last->op == PTX_OP_EXIT)))
        e->target->leaving(e, last && last->has_guard ? emit_guard(e, last) : NULL);
}

static void
enter_from(struct emit *e, LLVMBasicBlockRef edge, uint32_t b)
{
    LLVMPositionBuilderAtEnd(e->b, edge);
    emit_enter_together(e, b);
}

static void
leave_by_table(struct emit *e, uint32_t b, const struct ptx_inst *last)
{
    const struct ptx_block *blk = &e->fn->blocks[b];
    const struct ptx_table *t = last->operand[1].table;
    LLVMValueRef index = emit_src(e, last, 0, PTX_U32);
    LLVMBasicBlockRef bad = emit_new_block(e, "brx.bad"), no = last->has_guard ? emit_if(e, emit_guard(e, last), "brx", "brx.not") : NULL;
    LLVMValueRef sw = LLVMBuildSwitch(e->b, index, bad, t ? t->count : 0);
    const struct edge *edges = sort_edges(e, b);
    for (uint32_t i = 0; t && i < t->count; i++) {
        uint32_t k = edge_to(edges, blk->nsucc, t->labels[i]);
        if (k == FLOW_NONE)
            continue;
        LLVMBasicBlockRef edge = emit_new_block(e, "edge");
        LLVMAddCase(sw, LLVMConstInt(e->i32, i, false), edge);
        enter_from(e, edge, blk->succ[k]);
    }
    if (no)
        enter_from(e, no, blk->succ[blk->nsucc - 1]);
    LLVMPositionBuilderAtEnd(e->b, bad);
    e->target->bad_call(e);
    LLVMBuildUnreachable(e->b);
}

/* ret, exit and trap. */
static void
leave_function(struct emit *e, uint32_t b, const struct ptx_inst *last)
{
    const struct ptx_block *blk = &e->fn->blocks[b];
    bool leaves = leaves_kernel(e, last);
    if (last->op != PTX_OP_TRAP)
        tell_leaving(e, last);
    LLVMBasicBlockRef stay = last->has_guard && blk->nsucc ? emit_if(e, emit_guard(e, last), "leave", "stay") : NULL;
    if (leaves && e->target->exit_thread) {
        e->target->exit_thread(e);
        LLVMBuildUnreachable(e->b);
    } else {
        if (leaves)
            emit_add_exited(e, e->width == 1 ? NULL : e->mask);
        LLVMBuildBr(e->b, e->f->exit);
    }
    if (stay)
        enter_from(e, stay, blk->succ[0]);
}

/* The edges of a divergent block lead into masked blocks, whose run begins with the first of them in layout order. */
static void
leave_divergent(struct emit *e, uint32_t b, const struct ptx_inst *last)
{
    const struct flow *w = &e->f->flow;
    const struct ptx_block *blk = &e->fn->blocks[b];
    uint32_t first = FLOW_NONE;
    for (uint32_t k = 0; k < blk->nsucc; k++)
        if (w->masked[blk->succ[k]] && (first == FLOW_NONE || w->position[blk->succ[k]] < first))
            first = w->position[blk->succ[k]];
    if (first != FLOW_NONE) {
        emit_leave_masked(e, b, last);
        LLVMBuildBr(e->b, e->f->bb[w->order[first]]);
    } else if (blk->nsucc) {            /* both edges lead to the same block */
        emit_enter_together(e, blk->succ[0]);
    } else {                            /* every edge leaves */
        LLVMBuildBr(e->b, e->f->exit);
    }
}

void
emit_leave_unmasked(struct emit *e, uint32_t b, const struct ptx_inst *last)
{
    const struct ptx_block *blk = &e->fn->blocks[b];
    if (e->f->flow.divergent[b]) {
        leave_divergent(e, b, last);
    } else if (last && last->op == PTX_OP_BRX_IDX) {
        leave_by_table(e, b, last);
    } else if (last && last->op == PTX_OP_BRA && last->has_guard && blk->nsucc > 1) {
        LLVMBasicBlockRef no = emit_if(e, emit_guard(e, last), "taken", "not.taken");
        emit_enter_together(e, blk->succ[0]);
        enter_from(e, no, blk->succ[1]);
    } else if (last && ends_function(last)) {
        leave_function(e, b, last);
    } else if (blk->nsucc) {
        emit_enter_together(e, blk->succ[0]);
    } else {
        tell_leaving(e, NULL);
        LLVMBuildBr(e->b, e->f->exit);
    }
}
