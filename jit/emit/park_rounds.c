/* SPDX-License-Identifier: Apache-2.0
 * Lanes of a warp that run one by one, where regions (park.c) do not suffice: the lane that others wait for meets a part of the warp before it
 * releases them, or leaves the loop by a way that no region has.
 *
 *     start ──> latch ──> dispatch ──> by park's number: the start, a loop's head, a gate
 *                 ^                                                             └─> the meeting of lanes, if all that it names have come
 *                 └── park = number <── a back edge, an edge to a meeting <── the blocks of the function
 *
 * The function becomes one loop. Each time round each lane goes on from where it stopped, to the next back edge of a loop that waits or has
 * a meeting, to the next meeting, or to the end. A meeting (bar.warp.sync, shfl.sync, bar.sync, mma, ...) is passed by the lanes that have
 * come when no lane is missing that its mask names; `want` has the mask. Lanes that have left the function are not waited for. bar.warp.sync
 * pairs with any other, and so do barriers of the block; all other instructions pair with themselves.
 *
 * Loops that neither wait nor have a meeting stay as they are. Vote and shuffle without a mask, which no processor with lanes that run by
 * themselves has, are executed by the lanes that come together. */
#include "jit/emit/park_private.h"

#include <string.h>

/* Instructions of a kind wait for each other. */
enum kind { KIND_NONE, KIND_ITSELF, KIND_WARP, KIND_BLOCK };

struct rounds {
    struct park_graph *g;
    uint8_t *kind;                  /* per block: how its instruction meets */
    bool *head;                     /* per block: lanes stop before they come back to it */
    uint32_t *number;               /* per block: of park; 0: none */
    uint32_t *stop;                 /* per block: the block that parks a lane on its way to it; FLOW_NONE: none */
    uint32_t *target, ntargets;     /* by number: where a lane goes on */
    uint32_t latch, out;
    uint32_t want, alive, missing, complete;    /* registers */
};

static struct ptx_operand
reg(uint32_t r)
{
    return rewrite_register(r);
}

static uint32_t
add(struct rounds *r, ptx_op op, ptx_type type, const struct ptx_operand *operands, unsigned n)
{
    return rewrite_inst_with(&r->g->to, (struct ptx_inst){ .op = op, .type = { (uint8_t)type }, .cmp = op == PTX_OP_SETP ? PTX_EQ : PTX_CMP_NONE }, operands, n);
}

/* ---- where lanes stop --------------------------------------------------------------------------------------------------- */

static uint8_t
kind_of(const struct park_graph *g, uint32_t b)
{
    if (!g->meets[b])
        return KIND_NONE;
    const struct ptx_inst *in = &g->fn->insts[g->fn->blocks[b].first];
    switch (in->op) {
    case PTX_OP_BAR: case PTX_OP_BARRIER: case PTX_OP_BARRIER_CLUSTER:
        return KIND_BLOCK;
    case PTX_OP_BAR_WARP_SYNC:
        return KIND_WARP;
    case PTX_OP_SHFL: case PTX_OP_VOTE:
        return in->flags & PTX_F_SYNC ? KIND_ITSELF : KIND_NONE;
    default:
        return KIND_ITSELF;
    }
}

/* Does a way round from h to b, which has a branch back to it, pass a block where lanes stop? */
static bool
stops_between(struct rounds *r, uint32_t h, uint32_t b)
{
    struct park_graph *g = r->g;
    flow_walk_from(&g->walk, b);
    if (h != b)
        g->walk.seen[h] = g->walk.stamp;
    else
        g->walk.top = 0;
    bool stops = r->kind[h] || r->head[h] || r->kind[b] || r->head[b];
    while (g->walk.top && !stops) {
        const struct ptx_block *blk = &g->fn->blocks[g->walk.stack[--g->walk.top]];
        for (uint32_t k = 0; k < blk->npred; k++) {
            stops |= r->kind[blk->pred[k]] || r->head[blk->pred[k]];
            flow_walk_to(&g->walk, blk->pred[k]);
        }
    }
    return stops;
}

/* An edge against the layout, which has loops contiguous: a back edge, or one of a cycle with several entries. */
static bool
goes_back(const struct park_graph *g, uint32_t from, uint32_t to)
{
    return g->flow.position[to] <= g->flow.position[from];
}

/* Heads of waiting loops, then those of all loops around a place where lanes stop. A cycle with several entries counts as one. */
static void
find_stops(struct rounds *r)
{
    struct park_graph *g = r->g;
    for (uint32_t b = 0; b < g->nsplit; b++)
        r->kind[b] = kind_of(g, b);
    for (uint32_t l = 0; l < g->flow.nloops; l++)
        r->head[g->flow.loops[l].header] |= g->waiting[l];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < g->nsplit; b++)
            for (uint32_t k = 0; k < g->fn->blocks[b].nsucc; k++) {
                uint32_t h = g->fn->blocks[b].succ[k];
                if (goes_back(g, b, h) && !r->head[h] && (!flow_dominates(&g->flow, h, b) || stops_between(r, h, b)))
                    changed = r->head[h] = true;
            }
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------- */

/* On the way to a meeting: want = its mask; park = its number. Lanes for which the instruction's guard does not hold pass it by; where to is
 * set later. */
static uint32_t
meeting_stop(struct rounds *r, uint32_t b)
{
    struct park_graph *g = r->g;
    const struct ptx_inst in = g->fn->insts[g->fn->blocks[b].first];
    bool masked = r->kind[b] == KIND_WARP || in.op == PTX_OP_MATCH || in.op == PTX_OP_REDUX || in.op == PTX_OP_ELECT || in.op == PTX_OP_SHFL ||
                  in.op == PTX_OP_VOTE;
    struct ptx_operand mask = masked && in.noperands ? in.operand[in.noperands - 1] : rewrite_number(UINT32_MAX);
    uint32_t park = park_setting_block(g, r->number[b], r->latch);
    uint32_t first = add(r, PTX_OP_MOV, PTX_U32, (struct ptx_operand[]){ reg(r->want), mask }, 2);
    uint32_t stop = rewrite_block(&g->to, first, 1, 1, park, 0);
    if (!in.has_guard)
        return stop;
    first = rewrite_inst(&g->to, &(struct ptx_inst){ .op = PTX_OP_BRA, .has_guard = true, .guard = in.guard, .guard_negated = in.guard_negated });
    return rewrite_block(&g->to, first, 1, 2, stop, 0);
}

/* To `yes` if the active lanes are all of those that they want and that are alive; else to the latch. */
static uint32_t
gate(struct rounds *r, uint32_t yes)
{
    uint32_t m = r->missing;
    uint32_t first = add(r, PTX_OP_ACTIVEMASK, PTX_B32, (struct ptx_operand[]){ reg(m) }, 1);
    add(r, PTX_OP_NOT, PTX_B32, (struct ptx_operand[]){ reg(m), reg(m) }, 2);
    add(r, PTX_OP_AND, PTX_B32, (struct ptx_operand[]){ reg(m), reg(m), reg(r->want) }, 3);
    add(r, PTX_OP_AND, PTX_B32, (struct ptx_operand[]){ reg(m), reg(m), reg(r->alive) }, 3);
    add(r, PTX_OP_SETP, PTX_U32, (struct ptx_operand[]){ reg(r->complete), reg(m), rewrite_number(0) }, 3);
    rewrite_inst(&r->g->to, &(struct ptx_inst){ .op = PTX_OP_BRA, .has_guard = true, .guard = r->complete });
    return rewrite_block(&r->g->to, first, 6, 2, yes, r->latch);
}

/* Branch by park's number, which is one of [from, from + n). */
static uint32_t
dispatch(struct rounds *r, uint32_t from, uint32_t n)
{
    if (n <= 1)
        return r->target[from];
    uint32_t half = n / 2, low = dispatch(r, from, half), high = dispatch(r, from + half, n - half);
    return park_testing_block(r->g, PTX_LT, from + half, low, high);
}

/* Number the blocks of a kind; for KIND_NONE: the heads. Returns the first number. */
static uint32_t
number_kind(struct rounds *r, uint8_t kind)
{
    uint32_t first = r->ntargets;
    for (uint32_t b = 0; b < r->g->nsplit; b++)
        if (r->kind[b] == kind && (kind || r->head[b])) {
            r->number[b] = r->ntargets;
            r->target[r->ntargets++] = b;
        }
    return first;
}

/* Where the edge from b to s leads. */
static uint32_t
route(const struct rounds *r, uint32_t b, uint32_t s)
{
    if (s == r->g->leave)
        return r->out;
    if (r->kind[s] || b == 0 || (r->head[s] && goes_back(r->g, b, s)))
        return r->stop[s];
    return s;
}

static void
make_registers(struct rounds *r)
{
    struct rewrite *to = &r->g->to;
    r->want = rewrite_reg(to, "want", PTX_B32);
    r->alive = rewrite_reg(to, "alive", PTX_B32);
    r->missing = rewrite_reg(to, "missing", PTX_B32);
    r->complete = rewrite_reg(to, "complete", PTX_PRED);
}

static void
make_blocks(struct rounds *r)
{
    struct park_graph *g = r->g;
    uint32_t start = g->fn->blocks[0].succ[0];
    r->head[start] |= !r->kind[start];          /* it begins like a lane that has stopped */
    r->latch = park_testing_block(g, PTX_NE, 0, 0, g->leave);
    r->out = park_setting_block(g, 0, r->latch);
    r->ntargets = 1;
    uint32_t units = number_kind(r, KIND_NONE);
    uint32_t itself = number_kind(r, KIND_ITSELF);
    uint32_t warp = number_kind(r, KIND_WARP);
    uint32_t block = number_kind(r, KIND_BLOCK), end = r->ntargets;
    for (uint32_t b = 0; b < g->nsplit; b++)
        r->stop[b] = r->kind[b] ? meeting_stop(r, b) : r->number[b] ? park_setting_block(g, r->number[b], r->latch) : FLOW_NONE;
    for (uint32_t b = 0; b < g->nsplit; b++) {
        struct ptx_block *blk = &g->fn->blocks[b];
        if (r->kind[b] && g->fn->insts[blk->first].has_guard) {
            g->fn->blocks[r->stop[b]].succ[1] = route(r, b, blk->succ[0]);
            g->fn->insts[blk->first].has_guard = false;
        }
    }
    for (uint32_t b = 0; b < g->nsplit; b++)
        for (uint32_t k = 0; k < g->fn->blocks[b].nsucc; k++)
            g->fn->blocks[b].succ[k] = route(r, b, g->fn->blocks[b].succ[k]);
    /* A gate for each meeting by itself, and one for each kind of those that pair. */
    for (uint32_t n = itself; n < warp; n++)
        r->target[n] = gate(r, r->target[n]);
    uint32_t no = FLOW_NONE;
    if (end > block)
        no = gate(r, dispatch(r, block, end - block));
    if (block > warp) {
        uint32_t to = gate(r, dispatch(r, warp, block - warp));
        no = no == FLOW_NONE ? to : park_testing_block(g, PTX_LT, block, to, no);
    }
    if (warp > units) {
        uint32_t to = dispatch(r, units, warp - units);
        no = no == FLOW_NONE ? to : park_testing_block(g, PTX_LT, warp, to, no);
    }
    uint32_t first = add(r, PTX_OP_ACTIVEMASK, PTX_B32, (struct ptx_operand[]){ reg(r->alive) }, 1);
    uint32_t head = rewrite_block(&g->to, first, 1, 1, no, 0);
    g->fn->blocks[r->latch].succ[0] = head;
    g->park->heads[g->park->nheads++] = head;
    g->park->latches[g->park->nlatches++] = r->latch;
}

void
park_rounds(struct park_graph *g)
{
    size_t n = (size_t)g->nsplit + 1;
    struct rounds r = { .g = g, .kind = cw_arena_array(g->a, uint8_t, n), .head = cw_arena_array(g->a, bool, n), .number = cw_arena_array(g->a, uint32_t, n),
                        .stop = cw_arena_array(g->a, uint32_t, n), .target = cw_arena_array(g->a, uint32_t, n + 1) };
    make_registers(&r);
    find_stops(&r);
    make_blocks(&r);
}
