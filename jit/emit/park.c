/* SPDX-License-Identifier: Apache-2.0
 * Lanes of one warp that wait for each other (independent thread scheduling, sm_70).
 *
 *     while (atomicExch(&lock, 1)) ;  critical section;  atomicExch(&lock, 0);
 *
 * Lanes that leave a loop wait for the others behind it, so the lane with the lock would never release it. Such a loop is changed: a lane
 * that would go round is parked, while the others run on to the end of a region behind the loop, which has the release in it; then the
 * parked lanes return to their loop.
 *
 *     loop head ─> test ──────────────> rest of the region: critical section, release ──> park = 0 ──> latch ──> behind the region
 *         ^          └─> park = k ───────────────────────────────────────────────────────────────────────^   │
 *         └────────────────────────────────── dispatch: by park's number <── park != 0 ──────────────────────┘
 *
 * A region has one entry and one exit, no instruction that lanes execute together, and is the smallest one with every write to common
 * memory that a waiting lane could wait for: those behind the loop, and those on other paths around it. Each thread executes the same
 * instructions as before, so the transformation is correct for any region; a region that is too small leaves a hang.
 *
 * The function is copied; its instructions stay, blocks are split and edges redirected. */
#include "jit/emit/park_private.h"

#include "impl/base/log.h"
#include "jit/analysis/flow_private.h"

#include <stdlib.h>
#include <string.h>


/* ---- the copy ---- */

static void *
grown(struct park_graph *g, void *old, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap)
        return old;
    *cap = *cap * 2 + 16;
    void *fresh = cw_arena_alloc(g->a, *cap * size);
    if (!fresh) {
        g->ok = false;
        *cap = n;
        return NULL;
    }
    if (n)
        memcpy(fresh, old, n * size);
    return fresh;
}

/* A block with the given instructions; successors are to be set. FLOW_NONE: out of memory. */
uint32_t
park_add_block(struct park_graph *g, uint32_t first, uint32_t count, uint32_t nsucc)
{
    struct ptx_function *fn = g->fn;
    struct ptx_block *blocks = grown(g, fn->blocks, fn->nblocks, &g->block_cap, sizeof *blocks);
    uint32_t *succ = cw_arena_array(g->a, uint32_t, nsucc + 1);
    if (!blocks || !succ) {
        g->ok = false;
        return FLOW_NONE;
    }
    fn->blocks = blocks;
    fn->blocks[fn->nblocks] = (struct ptx_block){ .first = first, .count = count, .nsucc = nsucc, .succ = succ };
    return fn->nblocks++;
}

uint32_t
park_add_inst(struct park_graph *g, const struct ptx_inst *in)
{
    struct ptx_function *fn = g->fn;
    struct ptx_inst *insts = grown(g, fn->insts, fn->ninsts, &g->inst_cap, sizeof *insts);
    if (!insts)
        return 0;
    fn->insts = insts;
    fn->insts[fn->ninsts] = *in;
    return fn->ninsts++;
}

static uint32_t
add_op(struct park_graph *g, struct ptx_inst in, uint32_t reg, bool from_reg, int64_t source, bool and_number, int64_t number)
{
    struct ptx_operand *o = cw_arena_array(g->a, struct ptx_operand, 3);
    if (!o) {
        g->ok = false;
        return 0;
    }
    o[0] = (struct ptx_operand){ .kind = PTX_OPND_REG, .video_sel = -1, .index = reg };
    o[1] = (struct ptx_operand){ .kind = from_reg ? PTX_OPND_REG : PTX_OPND_IMM, .video_sel = -1, .index = from_reg ? (uint32_t)source : 0,
                                 .imm = from_reg ? 0 : source };
    o[2] = (struct ptx_operand){ .kind = PTX_OPND_IMM, .video_sel = -1, .imm = number };
    in.operand = o;
    in.noperands = (uint8_t)(2 + and_number);
    in.type[0] = PTX_U32;
    in.vec = 1;
    return park_add_inst(g, &in);
}

/* park = number; then to `to`. */
uint32_t
park_setting_block(struct park_graph *g, uint32_t number, uint32_t to)
{
    uint32_t i = add_op(g, (struct ptx_inst){ .op = PTX_OP_MOV }, g->park->reg, false, number, false, 0);
    uint32_t b = park_add_block(g, i, 1, 1);
    if (g->ok)
        g->fn->blocks[b].succ[0] = to;
    return b;
}

/* if (park == number, or with PTX_NE: != number) to `yes`, else to `no`. */
uint32_t
park_testing_block(struct park_graph *g, uint8_t cmp, uint32_t number, uint32_t yes, uint32_t no)
{
    uint32_t i = add_op(g, (struct ptx_inst){ .op = PTX_OP_SETP, .cmp = cmp }, g->park->reg + 1, true, g->park->reg, true, number);
    park_add_inst(g, &(struct ptx_inst){ .op = PTX_OP_BRA, .has_guard = true, .guard = g->park->reg + 1 });
    uint32_t b = park_add_block(g, i, 2, 2);
    if (g->ok) {
        g->fn->blocks[b].succ[0] = yes;
        g->fn->blocks[b].succ[1] = no;
    }
    return b;
}

/* Move the instructions from `at` on, and the successors, into a new block behind block b. Returns it. */
static uint32_t
split(struct park_graph *g, uint32_t b, uint32_t at)
{
    struct ptx_block old = g->fn->blocks[b];
    uint32_t rest = park_add_block(g, at, old.first + old.count - at, 1);
    if (!g->ok)
        return b;
    struct ptx_block *head = &g->fn->blocks[b], *tail = &g->fn->blocks[rest];
    head->count = at - old.first;
    head->succ = tail->succ;        /* one successor */
    head->nsucc = 1;
    head->succ[0] = rest;
    tail->succ = old.succ;
    tail->nsucc = old.nsucc;
    return rest;
}

static bool
leaves(const struct park_graph *g, const struct ptx_inst *in)
{
    return in->op == PTX_OP_RET || (in->op == PTX_OP_EXIT && g->fn->is_entry);
}

/* All ways out of the function lead through one block. */
static void
join_exit(struct park_graph *g, uint32_t b)
{
    struct ptx_block *blk = &g->fn->blocks[b];
    struct ptx_inst *last = blk->count ? &g->fn->insts[blk->first + blk->count - 1] : NULL;
    if (last && leaves(g, last) && last->has_guard && blk->nsucc == 1) {
        uint32_t *both = cw_arena_array(g->a, uint32_t, 2);
        g->ok = g->ok && both;
        if (!both)
            return;
        both[0] = g->leave;
        both[1] = blk->succ[0];
        blk->succ = both;
        blk->nsucc = 2;
        last->op = PTX_OP_BRA;
    } else if (!blk->nsucc && (!last || leaves(g, last) || last->op == PTX_OP_TRAP || !(ptx_op_info((ptx_op)last->op)->traits & PTX_T_TERMINATOR))) {
        if (last && leaves(g, last))
            blk->count--;
        blk->succ = cw_arena_array(g->a, uint32_t, 1);
        g->ok = g->ok && blk->succ;
        if (!blk->succ)
            return;
        blk->succ[0] = g->leave;
        blk->nsucc = 1;
    }
}

/* Instructions that lanes execute together get blocks of their own; block 0 keeps no branch. */
static void
split_all(struct park_graph *g)
{
    uint32_t n = g->fn->nblocks;
    uint32_t ret = park_add_inst(g, &(struct ptx_inst){ .op = PTX_OP_RET });
    g->leave = park_add_block(g, ret, 1, 0);
    for (uint32_t b = 0; b < n && g->ok; b++)
        join_exit(g, b);
    for (uint32_t b = 0; b < n && g->ok; b++) {
        uint32_t at = b;
        struct ptx_block old = g->fn->blocks[b];
        for (uint32_t i = old.first; i < old.first + old.count && g->ok; i++) {
            bool meets = waits_is_meeting(g->w, &g->fn->insts[i]);
            bool last = i + 1 == old.first + old.count;
            if ((meets || (b == 0 && last && ptx_op_info((ptx_op)g->fn->insts[i].op)->traits & PTX_T_TERMINATOR)) &&
                (i > g->fn->blocks[at].first || b == 0))
                at = split(g, at, i);
            if (meets && !last && g->ok)
                at = split(g, at, i + 1);
        }
    }
}

static bool
copy_function(struct park_graph *g, const struct ptx_function *fn)
{
    struct ptx_function *copy = cw_arena_new(g->a, struct ptx_function);
    struct ptx_reg *regs = cw_arena_array(g->a, struct ptx_reg, fn->nregs + 2u);
    if (!copy || !regs)
        return false;
    *copy = *fn;
    memcpy(regs, fn->regs, fn->nregs * sizeof *regs);
    regs[fn->nregs] = (struct ptx_reg){ "park", PTX_U32 };
    regs[fn->nregs + 1] = (struct ptx_reg){ "parked", PTX_PRED };
    g->park->reg = fn->nregs;
    copy->regs = regs;
    copy->nregs += 2;
    g->inst_cap = fn->ninsts + 16;
    g->block_cap = fn->nblocks + 16;
    copy->insts = cw_arena_array(g->a, struct ptx_inst, g->inst_cap);
    copy->blocks = cw_arena_array(g->a, struct ptx_block, g->block_cap);
    if (!copy->insts || !copy->blocks)
        return false;
    memcpy(copy->insts, fn->insts, fn->ninsts * sizeof *fn->insts);
    memcpy(copy->blocks, fn->blocks, fn->nblocks * sizeof *fn->blocks);
    for (uint32_t b = 0; b < fn->nblocks; b++) {
        copy->blocks[b].succ = cw_arena_array(g->a, uint32_t, fn->blocks[b].nsucc + 1);
        if (!copy->blocks[b].succ)
            return false;
        memcpy(copy->blocks[b].succ, fn->blocks[b].succ, fn->blocks[b].nsucc * sizeof(uint32_t));
    }
    g->fn = copy;
    split_all(g);
    return g->ok;
}

/* pred from succ. Blocks that nothing reaches get no edges. */
bool
park_mirror_edges(struct park_graph *g)
{
    struct ptx_function *fn = g->fn;
    uint32_t *stack = cw_arena_array(g->a, uint32_t, fn->nblocks + 1), top = 0;
    bool *seen = cw_arena_array(g->a, bool, fn->nblocks + 1);
    if (!stack || !seen)
        return false;
    seen[0] = true;
    stack[top++] = 0;
    while (top) {
        const struct ptx_block *blk = &fn->blocks[stack[--top]];
        for (uint32_t k = 0; k < blk->nsucc; k++)
            if (!seen[blk->succ[k]]) {
                seen[blk->succ[k]] = true;
                stack[top++] = blk->succ[k];
            }
    }
    /* Renumber: analyses expect every block to be reached. Order is the old one. */
    uint32_t n = 0, *number = cw_arena_array(g->a, uint32_t, fn->nblocks + 1);
    if (!number)
        return false;
    for (uint32_t b = 0; b < fn->nblocks; b++)
        if (seen[b]) {
            number[b] = n;
            fn->blocks[n] = fn->blocks[b];
            fn->blocks[n++].npred = 0;
        }
    for (uint32_t i = 0; i < g->park->nheads; i++)
        g->park->heads[i] = number[g->park->heads[i]];
    for (uint32_t i = 0; i < g->park->nlatches; i++)
        g->park->latches[i] = number[g->park->latches[i]];
    g->leave = g->leave != FLOW_NONE && seen[g->leave] ? number[g->leave] : FLOW_NONE;
    fn->nblocks = n;
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = 0; k < fn->blocks[b].nsucc; k++) {
            fn->blocks[b].succ[k] = number[fn->blocks[b].succ[k]];
            fn->blocks[fn->blocks[b].succ[k]].npred++;
        }
    for (uint32_t b = 0; b < n; b++) {
        fn->blocks[b].pred = cw_arena_array(g->a, uint32_t, fn->blocks[b].npred + 1);
        if (!fn->blocks[b].pred)
            return false;
        fn->blocks[b].npred = 0;
    }
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = 0; k < fn->blocks[b].nsucc; k++) {
            struct ptx_block *to = &fn->blocks[fn->blocks[b].succ[k]];
            to->pred[to->npred++] = b;
        }
    return true;
}

/* ---- regions ---- */

enum closed { CLOSED, OPEN, MEETING };

/* The blocks from `d` to `j`, without j, into g->member. CLOSED: d is their only entry and j their only exit. */
static enum closed
collect(struct park_graph *g, uint32_t d, uint32_t j)
{
    uint32_t top = 0;
    g->stamp++;
    g->nmember = 0;
    if (d == j)
        return OPEN;
    g->in_region[d] = g->stamp;
    g->stack[top++] = d;
    while (top) {
        uint32_t b = g->stack[--top];
        const struct ptx_block *blk = &g->fn->blocks[b];
        if (!g->budget)
            return OPEN;
        g->budget--;
        if (g->meets[b])
            return MEETING;
        if (!blk->nsucc || !flow_dominates(&g->flow, d, b))
            return OPEN;
        g->member[g->nmember++] = b;
        for (uint32_t k = 0; k < blk->nsucc; k++) {
            uint32_t s = blk->succ[k];
            if (s == g->entry[j])
                continue;
            if (s >= g->nsplit)     /* another region has changed it */
                return OPEN;
            if (g->in_region[s] != g->stamp) {
                g->in_region[s] = g->stamp;
                g->stack[top++] = s;
            }
        }
    }
    return CLOSED;
}

/* Mark the members that are reached from h (forward), or that reach it. */
static void
mark(struct park_graph *g, uint32_t h, bool forward, uint32_t *marks)
{
    uint32_t top = 0;
    g->stack[top++] = h;
    marks[h] = g->stamp;
    while (top) {
        const struct ptx_block *blk = &g->fn->blocks[g->stack[--top]];
        uint32_t n = forward ? blk->nsucc : blk->npred;
        const uint32_t *next = forward ? blk->succ : blk->pred;
        for (uint32_t k = 0; k < n; k++)
            if (g->in_region[next[k]] == g->stamp && marks[next[k]] != g->stamp) {
                marks[next[k]] = g->stamp;
                g->stack[top++] = next[k];
            }
    }
    g->budget -= g->budget < g->nmember ? g->budget : g->nmember;
}

/* The number of blocks of the region with a write that lanes in loop l may wait for: all but those that every lane has behind it when it comes
 * to the loop. Those in the loop itself come before the back edge, unless LLVM threads the jump of a lane that goes round. */
static uint32_t
count_releases(struct park_graph *g, uint32_t l)
{
    uint32_t h = g->flow.loops[l].header, n = 0;
    if (g->in_region[h] != g->stamp)
        return 0;
    mark(g, h, true, g->ahead);
    mark(g, h, false, g->behind);
    for (uint32_t i = 0; i < g->nmember; i++) {
        uint32_t b = g->member[i];
        n += g->releases[b] && (g->e->target->fixed || !flow_in_loop(&g->flow, b, l)) && (g->ahead[b] == g->stamp || g->behind[b] != g->stamp);
    }
    return n;
}

/* Find the region of loop l: of all entries above the loop and exits behind it, the closest with the most releases. False: there is none
 * with a release. *open: some paths end the region where a release may still follow. */
static bool
find_region(struct park_graph *g, uint32_t l, uint32_t *entry, uint32_t *exit, bool *open)
{
    uint32_t most = 0, h = g->flow.loops[l].header;
    bool any = false;
    for (uint32_t d = h;; d = g->flow.idom[d]) {
        enum closed closed = OPEN;
        for (uint32_t j = g->flow.ipdom[d]; d && j < g->fn->nblocks; j = g->flow.ipdom[j]) {
            closed = collect(g, d, j);
            uint32_t n = closed == CLOSED ? count_releases(g, l) : 0;
            if (closed == CLOSED && g->in_region[h] == g->stamp)
                any = true;
            if (closed != CLOSED)
                break;
            if (n > most) {
                most = n;
                *entry = d;
                *exit = j;
            }
        }
        if (!d || (closed == MEETING && g->nmember == 0) || !g->budget)
            break;
    }
    *open = !any || !g->budget;
    return most > 0;
}

/* ---- redirecting edges ---- */

static void
redirect(struct park_graph *g, uint32_t b, uint32_t from, uint32_t to)
{
    struct ptx_block *blk = &g->fn->blocks[b];
    for (uint32_t k = 0; k < blk->nsucc; k++)
        if (blk->succ[k] == from)
            blk->succ[k] = to;
}

/* brx.idx finds its targets by their instructions, and so must keep them. */
static bool
ends_in_table(const struct park_graph *g, uint32_t b)
{
    const struct ptx_block *blk = &g->fn->blocks[b];
    return blk->count && g->fn->insts[blk->first + blk->count - 1].op == PTX_OP_BRX_IDX;
}

static bool
can_redirect(const struct park_graph *g, uint32_t d, uint32_t j)
{
    for (uint32_t b = 0; b < g->fn->nblocks; b++)
        for (uint32_t k = 0; k < g->fn->blocks[b].nsucc; k++) {
            uint32_t s = g->fn->blocks[b].succ[k];
            bool header = s < g->nsplit && g->in_region[s] == g->stamp && g->flow.loop_of[s] != FLOW_NONE &&
                          g->flow.loops[g->flow.loop_of[s]].header == s;
            if ((s == g->entry[d] || (s == g->entry[j] && b < g->nsplit && g->in_region[b] == g->stamp) || header) && ends_in_table(g, b))
                return false;
        }
    return true;
}

static void
note(struct park_graph *g, uint32_t **list, uint32_t *n, uint32_t b)
{
    if (*n == g->head_cap || !g->ok) {
        g->ok = false;
        return;
    }
    (*list)[(*n)++] = b;
}

static void
rewrite(struct park_graph *g, uint32_t d, uint32_t j)
{
    struct flow *f = &g->flow;
    uint32_t k = 0, only = FLOW_NONE, before = g->fn->nblocks;
    for (uint32_t l = 0; l < f->nloops; l++) {
        g->parked[l] |= g->waiting[l] && g->in_region[f->loops[l].header] == g->stamp;
        if (g->waiting[l] && g->in_region[f->loops[l].header] == g->stamp) {
            only = f->loops[l].header;
            k++;
        }
    }
    uint32_t latch = park_testing_block(g, PTX_NE, 0, FLOW_NONE, g->entry[j]);
    uint32_t out = park_setting_block(g, 0, latch);
    if (!g->ok)
        return;
    for (uint32_t i = 0; i < g->nmember; i++)
        redirect(g, g->member[i], g->entry[j], out);
    /* Back edges of the loops lead to the latch. */
    uint32_t number = 0, dispatch = g->entry[d];
    for (uint32_t l = 0; l < f->nloops && g->ok; l++) {
        uint32_t h = f->loops[l].header;
        if (!g->waiting[l] || g->in_region[h] != g->stamp)
            continue;
        uint32_t parking = park_setting_block(g, ++number, latch);
        for (uint32_t i = 0; i < g->nmember && g->ok; i++)
            if (flow_in_loop(f, g->member[i], l))
                redirect(g, g->member[i], h, parking);
    }
    if (!g->ok)
        return;
    if (k == 1 && only == d) {
        g->fn->blocks[latch].succ[0] = d;
        note(g, &g->park->heads, &g->park->nheads, d);
    } else {
        number = 0;
        for (uint32_t l = 0; l < f->nloops && g->ok; l++)
            if (g->waiting[l] && g->in_region[f->loops[l].header] == g->stamp)
                dispatch = park_testing_block(g, PTX_EQ, ++number, f->loops[l].header, dispatch);
        uint32_t enter = park_setting_block(g, 0, dispatch);
        if (!g->ok)
            return;
        for (uint32_t b = 0; b < before; b++)
            redirect(g, b, g->entry[d], enter);
        g->entry[d] = enter;
        g->fn->blocks[latch].succ[0] = dispatch;
        note(g, &g->park->heads, &g->park->nheads, dispatch);
    }
    note(g, &g->park->latches, &g->park->nlatches, latch);
}

/* ---- a function ---- */

/* Is `ret` of a device function reached from loop l without a meeting of lanes? Then the release may be the caller's. */
static bool
reaches_return(struct park_graph *g, uint32_t l)
{
    uint32_t top = 0;
    g->stamp++;
    g->stack[top++] = g->flow.loops[l].header;
    g->in_region[g->flow.loops[l].header] = g->stamp;
    while (top) {
        uint32_t b = g->stack[--top];
        const struct ptx_block *blk = &g->fn->blocks[b];
        if (b == g->leave || !blk->nsucc)
            return true;
        for (uint32_t k = 0; k < blk->nsucc && !g->meets[b]; k++)
            if (g->in_region[blk->succ[k]] != g->stamp) {
                g->in_region[blk->succ[k]] = g->stamp;
                g->stack[top++] = blk->succ[k];
            }
    }
    return false;
}

/* May lanes that meet as part of a warp release what others of the warp wait for in loop l? The lane that has left the loop waits there for
 * lanes beside it, and the release is behind that. A meeting of the whole warp ends the search. Blocks are visited twice: before such a
 * meeting (in_region) and behind it (ahead). */
static bool
meets_partly(struct park_graph *g, uint32_t l)
{
    uint32_t top = 0, h = g->flow.loops[l].header, n = g->fn->nblocks;
    g->stamp++;
    g->stack[top++] = h;
    g->in_region[h] = g->stamp;
    for (unsigned behind = 0; behind < 2; behind++) {
        uint32_t *seen = behind ? g->ahead : g->in_region;
        if (behind)
            for (uint32_t b = 0; b < n; b++)
                if (g->partly[b] && g->in_region[b] == g->stamp) {
                    seen[b] = g->stamp;
                    g->stack[top++] = b;
                }
        while (top) {
            uint32_t b = g->stack[--top];
            const struct ptx_block *blk = &g->fn->blocks[b];
            if (g->meets[b] && !g->partly[b])
                continue;
            if (behind && g->releases[b] && !g->meets[b] && !flow_in_loop(&g->flow, b, l))
                return true;
            for (uint32_t k = 0; k < blk->nsucc; k++)
                if (seen[blk->succ[k]] != g->stamp) {
                    seen[blk->succ[k]] = g->stamp;
                    g->stack[top++] = blk->succ[k];
                }
        }
    }
    return false;
}

static bool
find_waiting(struct park_graph *g)
{
    struct flow *f = &g->flow;
    bool any = false;
    for (uint32_t l = 0; l < f->nloops; l++) {
        g->waiting[l] = waits_in(g->w, f, l, true);
        for (uint32_t p = f->position[f->loops[l].header]; p <= f->loops[l].last; p++)
            g->waiting[l] &= !g->meets[f->order[p]];
        any |= g->waiting[l];
    }
    return any;
}

static bool
prepare(struct park_graph *g)
{
    uint32_t n = g->fn->nblocks;
    if (flow_analyse(&g->flow, g->fn, 1, false, g->a) != CW_OK || !waits_begin(g->w, &g->flow, g->a))
        return false;
    g->nsplit = n;
    g->meets = cw_arena_array(g->a, bool, n + 1);
    g->releases = cw_arena_array(g->a, bool, n + 1);
    g->partly = cw_arena_array(g->a, bool, n + 1);
    g->entry = cw_arena_array(g->a, uint32_t, n + 1);
    g->stack = cw_arena_array(g->a, uint32_t, n + 1);
    g->member = cw_arena_array(g->a, uint32_t, n + 1);
    g->in_region = cw_arena_array(g->a, uint32_t, n + 1);
    g->ahead = cw_arena_array(g->a, uint32_t, n + 1);
    g->behind = cw_arena_array(g->a, uint32_t, n + 1);
    g->waiting = cw_arena_array(g->a, bool, g->flow.nloops + 1);
    g->parked = cw_arena_array(g->a, bool, g->flow.nloops + 1);
    g->head_cap = g->flow.nloops + 1;
    g->park->heads = cw_arena_array(g->a, uint32_t, g->head_cap);
    g->park->latches = cw_arena_array(g->a, uint32_t, g->head_cap);
    if (!g->meets || !g->releases || !g->partly || !g->entry || !g->stack || !g->member || !g->in_region || !g->ahead || !g->behind || !g->waiting ||
        !g->parked || !g->park->heads || !g->park->latches)
        return false;
    for (uint32_t b = 0; b < n; b++) {
        const struct ptx_block *blk = &g->fn->blocks[b];
        g->entry[b] = b;
        for (uint32_t i = blk->first; i < blk->first + blk->count; i++) {
            g->meets[b] |= waits_is_meeting(g->w, &g->fn->insts[i]);
            g->partly[b] |= waits_is_partial(g->fn, &g->fn->insts[i]);
            g->releases[b] |= waits_writes(g->w, &g->fn->insts[i]);
        }
    }
    g->budget = 200 * (uint64_t)n + 1000;
    return true;
}

/* Does the function have a waiting loop at all? Builds no copy. */
static bool
may_wait(struct park_graph *g, const struct ptx_function *fn, bool *yes)
{
    bool peek = false;
    *yes = false;
    for (uint32_t i = 0; i < fn->ninsts && !peek; i++)
        peek = waits_peeks(g->w, &fn->insts[i]);
    if (!peek)
        return true;
    struct cw_arena a;
    struct flow f;
    cw_arena_init(&a);
    bool ok = flow_analyse(&f, fn, 1, false, &a) == CW_OK && waits_begin(g->w, &f, &a);
    for (uint32_t l = 0; ok && l < f.nloops && !*yes; l++)
        *yes = waits_in(g->w, &f, l, true);
    cw_arena_finish(&a);
    return ok;
}

struct region { uint32_t loop, entry, exit, size; };

static int
larger_first(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size ? 1 : -1) : (x->loop > y->loop) - (x->loop < y->loop);
}

/* A region takes the loops within it along, so the larger ones come first. *left: some loop may still wait for lanes behind it. */
static void
park_loops(struct park_graph *g, bool *left)
{
    struct flow *f = &g->flow;
    struct region *r = cw_arena_array(g->a, struct region, f->nloops + 1);
    bool *taken = cw_arena_array(g->a, bool, g->nsplit + 1);
    uint32_t n = 0;
    g->ok = g->ok && r && taken;
    for (uint32_t l = 0; l < f->nloops && g->ok; l++) {
        bool open = false;
        if (!g->waiting[l])
            continue;
        r[n].loop = l;
        if (find_region(g, l, &r[n].entry, &r[n].exit, &open)) {
            (void)collect(g, r[n].entry, r[n].exit);
            r[n++].size = g->nmember;
        }
        *left |= open || (!g->fn->is_entry && reaches_return(g, l)) || meets_partly(g, l);
    }
    if (g->ok)
        qsort(r, n, sizeof *r, larger_first);
    for (uint32_t i = 0; i < n && g->ok; i++) {
        if (g->parked[r[i].loop])
            continue;
        bool clear = taken[f->loops[r[i].loop].header] ? false : collect(g, r[i].entry, r[i].exit) == CLOSED;
        for (uint32_t k = 0; k < g->nmember && clear; k++)
            clear = !taken[g->member[k]];
        if (!clear || !can_redirect(g, r[i].entry, r[i].exit)) {
            *left = true;
            continue;
        }
        for (uint32_t k = 0; k < g->nmember; k++)
            taken[g->member[k]] = true;
        rewrite(g, r[i].entry, r[i].exit);
    }
}

static bool
facts_known(struct emit *e)
{
    struct emit_session *s = emit_session(e);
    if (s->waits)
        return true;
    uint32_t n = 0, *ids = cw_arena_array(&e->arena, uint32_t, e->program->nfuncs + 1);
    struct waits *w = cw_arena_new(&e->arena, struct waits);
    if (!ids || !w)
        return false;
    for (uint32_t i = 0; i < e->program->nfuncs; i++)
        if (s->needed[i])
            ids[n++] = i;
    if (!waits_collect(w, e->program, ids, n, &e->arena))
        return false;
    s->waits = w;
    return true;
}

/* Change the function's loops; the graph has the result. *left: some loops may still wait for lanes of their warp. Nothing is done to one
 * that has no waiting loop. */
static bool
park_function(struct park_graph *g, const struct ptx_function *fn, bool *left)
{
    bool yes = false;
    *left = false;
    if (!facts_known(g->e))
        return false;
    g->w = emit_session(g->e)->waits;
    if (!may_wait(g, fn, &yes))
        return false;
    if (!yes)
        return true;
    if (!copy_function(g, fn) || !park_mirror_edges(g) || !prepare(g))
        return false;
    if (find_waiting(g))
        park_loops(g, left);
    return g->ok;
}

bool
emit_park_leaves(struct emit *e, const struct ptx_function *fn, bool *left)
{
    struct emit_park park = { 0 };
    struct park_graph g = { .e = e, .a = &e->arena, .park = &park, .ok = true, .leave = FLOW_NONE };
    *left = false;
    return e->width == 1 && !e->target->fixed ? true : park_function(&g, fn, left);
}

const struct ptx_function *
emit_park(struct emit *e, const struct ptx_function *fn, struct emit_park *park)
{
    struct park_graph g = { .e = e, .a = &e->arena, .park = park, .ok = true, .leave = FLOW_NONE };
    bool left = false;
    if (e->width == 1 && !e->target->fixed)
        return fn;
    if (!park_function(&g, fn, &left))
        return NULL;
    if (left && fn == emit_session(e)->flat) {
        *park = (struct emit_park){ 0 };
        g = (struct park_graph){ .e = e, .a = &e->arena, .park = park, .w = g.w, .ok = true, .leave = FLOW_NONE };
        if (!copy_function(&g, fn) || !park_mirror_edges(&g) || !prepare(&g))
            return NULL;
        (void)find_waiting(&g);
        park_rounds(&g);
        left = false;
    }
    emit_session(e)->lanes_wait |= left;
    if (!g.ok)
        return NULL;
    if (!park->nlatches)
        return fn;
    return park_mirror_edges(&g) ? g.fn : NULL;
}
