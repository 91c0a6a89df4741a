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

#include "jit/analysis/flow_private.h"

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
    return (struct ptx_operand){ .kind = PTX_OPND_REG, .video_sel = -1, .index = r };
}

static struct ptx_operand
number(int64_t n)
{
    return (struct ptx_operand){ .kind = PTX_OPND_IMM, .video_sel = -1, .imm = n };
}

static uint32_t
add(struct rounds *r, struct ptx_inst in, ptx_type type, const struct ptx_operand *operands, unsigned n)
{
    struct park_graph *g = r->g;
    in.operand = cw_arena_array(g->a, struct ptx_operand, n + 1);
    if (!in.operand) {
        g->ok = false;
        return 0;
    }
    memcpy(in.operand, operands, n * sizeof *operands);
    in.noperands = (uint8_t)n;
    in.type[0] = (uint8_t)type;
    in.vec = 1;
    return park_add_inst(g, &in);
}

static uint32_t
block_to(struct rounds *r, uint32_t first, uint32_t count, uint32_t yes, uint32_t no)
{
    uint32_t b = park_add_block(r->g, first, count, no == FLOW_NONE ? 1 : 2);
    if (!r->g->ok)
        return 0;
    r->g->fn->blocks[b].succ[0] = yes;
    if (no != FLOW_NONE)
        r->g->fn->blocks[b].succ[1] = no;
    return b;
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
    uint32_t top = 0;
    g->stamp++;
    g->in_region[h] = g->stamp;
    if (g->in_region[b] != g->stamp) {
        g->in_region[b] = g->stamp;
        g->stack[top++] = b;
    }
    bool stops = r->kind[h] || r->head[h] || r->kind[b] || r->head[b];
    while (top && !stops) {
        const struct ptx_block *blk = &g->fn->blocks[g->stack[--top]];
        for (uint32_t k = 0; k < blk->npred; k++) {
            uint32_t p = blk->pred[k];
            stops |= r->kind[p] || r->head[p];
            if (g->in_region[p] != g->stamp) {
                g->in_region[p] = g->stamp;
                g->stack[top++] = p;
            }
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
    struct ptx_operand mask = masked && in.noperands ? in.operand[in.noperands - 1] : number(UINT32_MAX);
    uint32_t park = park_setting_block(g, r->number[b], r->latch);
    uint32_t first = add(r, (struct ptx_inst){ .op = PTX_OP_MOV }, PTX_U32, (struct ptx_operand[]){ reg(r->want), mask }, 2);
    uint32_t stop = block_to(r, first, 1, park, FLOW_NONE);
    if (!in.has_guard || !g->ok)
        return stop;
    first = park_add_inst(g, &(struct ptx_inst){ .op = PTX_OP_BRA, .has_guard = true, .guard = in.guard, .guard_negated = in.guard_negated });
    return block_to(r, first, 1, stop, 0);
}

/* To `yes` if the active lanes are all of those that they want and that are alive; else to the latch. */
static uint32_t
gate(struct rounds *r, uint32_t yes)
{
    uint32_t m = r->missing;
    uint32_t first = add(r, (struct ptx_inst){ .op = PTX_OP_ACTIVEMASK }, PTX_B32, (struct ptx_operand[]){ reg(m) }, 1);
    add(r, (struct ptx_inst){ .op = PTX_OP_NOT }, PTX_B32, (struct ptx_operand[]){ reg(m), reg(m) }, 2);
    add(r, (struct ptx_inst){ .op = PTX_OP_AND }, PTX_B32, (struct ptx_operand[]){ reg(m), reg(m), reg(r->want) }, 3);
    add(r, (struct ptx_inst){ .op = PTX_OP_AND }, PTX_B32, (struct ptx_operand[]){ reg(m), reg(m), reg(r->alive) }, 3);
    add(r, (struct ptx_inst){ .op = PTX_OP_SETP, .cmp = PTX_EQ }, PTX_U32, (struct ptx_operand[]){ reg(r->complete), reg(m), number(0) }, 3);
    park_add_inst(r->g, &(struct ptx_inst){ .op = PTX_OP_BRA, .has_guard = true, .guard = r->complete });
    return block_to(r, first, 6, yes, r->latch);
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

static bool
make_registers(struct rounds *r)
{
    struct ptx_function *fn = r->g->fn;
    struct ptx_reg *regs = cw_arena_array(r->g->a, struct ptx_reg, fn->nregs + 4u);
    if (!regs)
        return false;
    memcpy(regs, fn->regs, fn->nregs * sizeof *regs);
    r->want = fn->nregs;
    r->alive = fn->nregs + 1;
    r->missing = fn->nregs + 2;
    r->complete = fn->nregs + 3;
    regs[r->want] = (struct ptx_reg){ "want", PTX_B32 };
    regs[r->alive] = (struct ptx_reg){ "alive", PTX_B32 };
    regs[r->missing] = (struct ptx_reg){ "missing", PTX_B32 };
    regs[r->complete] = (struct ptx_reg){ "complete", PTX_PRED };
    fn->regs = regs;
    fn->nregs += 4;
    return true;
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
    for (uint32_t b = 0; b < g->nsplit && g->ok; b++)
        r->stop[b] = r->kind[b] ? meeting_stop(r, b) : r->number[b] ? park_setting_block(g, r->number[b], r->latch) : FLOW_NONE;
    for (uint32_t b = 0; b < g->nsplit && g->ok; b++) {
        struct ptx_block *blk = &g->fn->blocks[b];
        if (r->kind[b] && g->fn->insts[blk->first].has_guard) {
            g->fn->blocks[r->stop[b]].succ[1] = route(r, b, blk->succ[0]);
            g->fn->insts[blk->first].has_guard = false;
        }
    }
    for (uint32_t b = 0; b < g->nsplit && g->ok; b++)
        for (uint32_t k = 0; k < g->fn->blocks[b].nsucc; k++)
            g->fn->blocks[b].succ[k] = route(r, b, g->fn->blocks[b].succ[k]);
    if (!g->ok)
        return;
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
    uint32_t first = add(r, (struct ptx_inst){ .op = PTX_OP_ACTIVEMASK }, PTX_B32, (struct ptx_operand[]){ reg(r->alive) }, 1);
    uint32_t head = block_to(r, first, 1, no, FLOW_NONE);
    if (!g->ok)
        return;
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
    if (!r.kind || !r.head || !r.number || !r.stop || !r.target || !make_registers(&r)) {
        g->ok = false;
        return;
    }
    find_stops(&r);
    make_blocks(&r);
}
