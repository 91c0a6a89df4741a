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

#include <stdlib.h>
#include <string.h>

/* ---- the copy ---- */

/* park = number; then to `to`. */
uint32_t
park_setting_block(struct park_graph *g, uint32_t number, uint32_t to)
{
    const struct ptx_operand o[] = { rewrite_register(g->park->reg), rewrite_number(number) };
    return rewrite_block(&g->to, rewrite_inst_with(&g->to, (struct ptx_inst){ .op = PTX_OP_MOV, .type = { PTX_U32 } }, o, 2), 1, 1, to, 0);
}

/* if (park == number, or with PTX_NE: != number) to `yes`, else to `no`. */
uint32_t
park_testing_block(struct park_graph *g, uint8_t cmp, uint32_t number, uint32_t yes, uint32_t no)
{
    const uint32_t p = g->park->reg + 1;
    const struct ptx_operand o[] = { rewrite_register(p), rewrite_register(g->park->reg), rewrite_number(number) };
    uint32_t i = rewrite_inst_with(&g->to, (struct ptx_inst){ .op = PTX_OP_SETP, .type = { PTX_U32 }, .cmp = cmp }, o, 3);
    rewrite_inst(&g->to, &(struct ptx_inst){ .op = PTX_OP_BRA, .has_guard = true, .guard = p });
    return rewrite_block(&g->to, i, 2, 2, yes, no);
}

/* Move the instructions from `at` on, and the successors, into a new block behind block b. Returns it. */
static uint32_t
split(struct park_graph *g, uint32_t b, uint32_t at)
{
    struct ptx_block old = g->fn->blocks[b];
    uint32_t rest = rewrite_block(&g->to, at, old.first + old.count - at, 1, 0, 0);
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
        blk->succ[1] = blk->succ[0];
        blk->succ[0] = g->leave;
        blk->nsucc = 2;
        last->op = PTX_OP_BRA;
    } else if (!blk->nsucc && (!last || leaves(g, last) || last->op == PTX_OP_TRAP || !(ptx_op_info((ptx_op)last->op)->traits & PTX_T_TERMINATOR))) {
        if (last && leaves(g, last))
            blk->count--;
        blk->succ[0] = g->leave;
        blk->nsucc = 1;
    }
}

/* Instructions that lanes execute together get blocks of their own; block 0 keeps no branch. */
static void
split_all(struct park_graph *g)
{
    uint32_t n = g->fn->nblocks;
    uint32_t ret = rewrite_inst(&g->to, &(struct ptx_inst){ .op = PTX_OP_RET });
    g->leave = rewrite_block(&g->to, ret, 1, 0, 0, 0);
    for (uint32_t b = 0; b < n; b++)
        join_exit(g, b);
    for (uint32_t b = 0; b < n; b++) {
        uint32_t at = b;
        struct ptx_block old = g->fn->blocks[b];
        for (uint32_t i = old.first; i < old.first + old.count; i++) {
            bool meets = waits_is_meeting(g->w, &g->fn->insts[i]);
            bool last = i + 1 == old.first + old.count;
            if ((meets || (b == 0 && last && ptx_op_info((ptx_op)g->fn->insts[i].op)->traits & PTX_T_TERMINATOR)) &&
                (i > g->fn->blocks[at].first || b == 0))
                at = split(g, at, i);
            if (meets && !last)
                at = split(g, at, i + 1);
        }
    }
}

static void
copy_function(struct park_graph *g, const struct ptx_function *fn)
{
    struct ptx_function *copy = cw_arena_new(g->a, struct ptx_function);
    *copy = *fn;
    g->to.fn = g->fn = copy;
    g->to.reg_cap = fn->nregs;          /* grown before they are written to */
    g->to.inst_cap = fn->ninsts;
    g->to.block_cap = fn->nblocks;
    copy->insts = cw_arena_grow(g->a, fn->insts, fn->ninsts, 1, &g->to.inst_cap, sizeof *fn->insts);
    copy->blocks = cw_arena_grow(g->a, fn->blocks, fn->nblocks, 1, &g->to.block_cap, sizeof *fn->blocks);
    g->park->reg = rewrite_reg(&g->to, "park", PTX_U32);
    rewrite_reg(&g->to, "parked", PTX_PRED);
    for (uint32_t b = 0; b < fn->nblocks; b++) {
        copy->blocks[b].succ = cw_arena_array(g->a, uint32_t, fn->blocks[b].nsucc + 2);      /* join_exit may add one */
        memcpy(copy->blocks[b].succ, fn->blocks[b].succ, fn->blocks[b].nsucc * sizeof(uint32_t));
    }
    split_all(g);
}

/* pred from succ. Blocks that nothing reaches get no edges. */
static void
mirror_edges(struct park_graph *g)
{
    struct ptx_function *fn = g->fn;
    uint32_t *stack = cw_arena_array(g->a, uint32_t, fn->nblocks + 1), top = 0;
    bool *seen = cw_arena_array(g->a, bool, fn->nblocks + 1);
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
        fn->blocks[b].npred = 0;
    }
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = 0; k < fn->blocks[b].nsucc; k++) {
            struct ptx_block *to = &fn->blocks[fn->blocks[b].succ[k]];
            to->pred[to->npred++] = b;
        }
}

/* ---- regions ---- */

enum closed { CLOSED, OPEN, MEETING };

/* The blocks from `d` to `j`, without j, into g->member. CLOSED: d is their only entry and j their only exit. */
static enum closed
collect(struct park_graph *g, uint32_t d, uint32_t j)
{
    g->nmember = 0;
    flow_walk_from(&g->walk, d);
    if (d == j)
        return OPEN;
    while (g->walk.top) {
        uint32_t b = g->walk.stack[--g->walk.top];
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
            flow_walk_to(&g->walk, s);
        }
    }
    return CLOSED;
}

/* Mark the members that are reached from h (forward), or that reach it. */
static void
mark(struct park_graph *g, uint32_t h, bool forward, uint32_t *marks)
{
    struct flow_walk w = { g->walk.stack, marks, 0, g->walk.stamp };
    flow_walk_to(&w, h);
    while (w.top) {
        const struct ptx_block *blk = &g->fn->blocks[w.stack[--w.top]];
        uint32_t n = forward ? blk->nsucc : blk->npred;
        const uint32_t *next = forward ? blk->succ : blk->pred;
        for (uint32_t k = 0; k < n; k++)
            if (park_in_region(g, next[k]))
                flow_walk_to(&w, next[k]);
    }
    g->budget -= g->budget < g->nmember ? g->budget : g->nmember;
}

/* The number of blocks of the region with a write that lanes in loop l may wait for: all but those that every lane has behind it when it comes
 * to the loop. Those in the loop itself come before the back edge, unless LLVM threads the jump of a lane that goes round. */
static uint32_t
count_releases(struct park_graph *g, uint32_t l)
{
    uint32_t h = g->flow.loops[l].header, n = 0;
    if (!park_in_region(g, h))
        return 0;
    mark(g, h, true, g->ahead);
    mark(g, h, false, g->behind);
    for (uint32_t i = 0; i < g->nmember; i++) {
        uint32_t b = g->member[i];
        n += g->releases[b] && (g->e->target->fixed || !flow_in_loop(&g->flow, b, l)) && (g->ahead[b] == g->walk.stamp || g->behind[b] != g->walk.stamp);
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
            if (closed == CLOSED && park_in_region(g, h))
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
            bool header = s < g->nsplit && park_in_region(g, s) && g->flow.loop_of[s] != FLOW_NONE &&
                          g->flow.loops[g->flow.loop_of[s]].header == s;
            if ((s == g->entry[d] || (s == g->entry[j] && b < g->nsplit && park_in_region(g, b)) || header) && ends_in_table(g, b))
                return false;
        }
    return true;
}

static void
rewrite(struct park_graph *g, uint32_t d, uint32_t j)
{
    struct flow *f = &g->flow;
    uint32_t k = 0, only = FLOW_NONE, before = g->fn->nblocks;
    for (uint32_t l = 0; l < f->nloops; l++) {
        g->parked[l] |= g->waiting[l] && park_in_region(g, f->loops[l].header);
        if (g->waiting[l] && park_in_region(g, f->loops[l].header)) {
            only = f->loops[l].header;
            k++;
        }
    }
    uint32_t latch = park_testing_block(g, PTX_NE, 0, FLOW_NONE, g->entry[j]);
    uint32_t out = park_setting_block(g, 0, latch);
    for (uint32_t i = 0; i < g->nmember; i++)
        redirect(g, g->member[i], g->entry[j], out);
    /* Back edges of the loops lead to the latch. */
    uint32_t number = 0, dispatch = g->entry[d];
    for (uint32_t l = 0; l < f->nloops; l++) {
        uint32_t h = f->loops[l].header;
        if (!g->waiting[l] || !park_in_region(g, h))
            continue;
        uint32_t parking = park_setting_block(g, ++number, latch);
        for (uint32_t i = 0; i < g->nmember; i++)
            if (flow_in_loop(f, g->member[i], l))
                redirect(g, g->member[i], h, parking);
    }
    if (k == 1 && only == d) {
        g->fn->blocks[latch].succ[0] = d;
        g->park->heads[g->park->nheads++] = d;
    } else {
        number = 0;
        for (uint32_t l = 0; l < f->nloops; l++)
            if (g->waiting[l] && park_in_region(g, f->loops[l].header))
                dispatch = park_testing_block(g, PTX_EQ, ++number, f->loops[l].header, dispatch);
        uint32_t enter = park_setting_block(g, 0, dispatch);
        for (uint32_t b = 0; b < before; b++)
            redirect(g, b, g->entry[d], enter);
        g->entry[d] = enter;
        g->fn->blocks[latch].succ[0] = dispatch;
        g->park->heads[g->park->nheads++] = dispatch;
    }
    g->park->latches[g->park->nlatches++] = latch;
}

/* ---- a function ---- */

/* Is `ret` of a device function reached from loop l without a meeting of lanes? Then the release may be the caller's. */
static bool
reaches_return(struct park_graph *g, uint32_t l)
{
    flow_walk_from(&g->walk, g->flow.loops[l].header);
    while (g->walk.top) {
        uint32_t b = g->walk.stack[--g->walk.top];
        const struct ptx_block *blk = &g->fn->blocks[b];
        if (b == g->leave || !blk->nsucc)
            return true;
        for (uint32_t k = 0; k < blk->nsucc && !g->meets[b]; k++)
            flow_walk_to(&g->walk, blk->succ[k]);
    }
    return false;
}

/* May lanes that meet as part of a warp release what others of the warp wait for in loop l? The lane that has left the loop waits there for
 * lanes beside it, and the release is behind that. A meeting of the whole warp ends the search. Blocks are visited twice: before such a
 * meeting (walk) and behind it (ahead). */
static bool
meets_partly(struct park_graph *g, uint32_t l)
{
    flow_walk_from(&g->walk, g->flow.loops[l].header);
    struct flow_walk walks[2] = { g->walk, { g->walk.stack, g->ahead, 0, g->walk.stamp } };
    for (unsigned behind = 0; behind < 2; behind++) {
        struct flow_walk *w = &walks[behind];
        for (uint32_t b = 0; behind && b < g->fn->nblocks; b++)
            if (g->partly[b] && park_in_region(g, b))
                flow_walk_to(w, b);
        while (w->top) {
            uint32_t b = w->stack[--w->top];
            const struct ptx_block *blk = &g->fn->blocks[b];
            if (g->meets[b] && !g->partly[b])
                continue;
            if (behind && g->releases[b] && !g->meets[b] && !flow_in_loop(&g->flow, b, l))
                return true;
            for (uint32_t k = 0; k < blk->nsucc; k++)
                flow_walk_to(w, blk->succ[k]);
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

static void
prepare(struct park_graph *g)
{
    uint32_t n = g->fn->nblocks;
    flow_analyse(&g->flow, g->fn, 1, false, g->a);
    waits_begin(g->w, &g->flow, g->a);
    g->nsplit = n;
    g->meets = cw_arena_array(g->a, bool, n + 1);
    g->releases = cw_arena_array(g->a, bool, n + 1);
    g->partly = cw_arena_array(g->a, bool, n + 1);
    g->entry = cw_arena_array(g->a, uint32_t, n + 1);
    g->member = cw_arena_array(g->a, uint32_t, n + 1);
    g->ahead = cw_arena_array(g->a, uint32_t, n + 1);
    g->behind = cw_arena_array(g->a, uint32_t, n + 1);
    g->waiting = cw_arena_array(g->a, bool, g->flow.nloops + 1);
    g->parked = cw_arena_array(g->a, bool, g->flow.nloops + 1);
    g->park->heads = cw_arena_array(g->a, uint32_t, g->flow.nloops + 1);
    g->park->latches = cw_arena_array(g->a, uint32_t, g->flow.nloops + 1);
    g->walk = flow_walk_new(n, g->a);
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
}

/* Does the function have a waiting loop at all? Builds no copy. */
static bool
may_wait(struct park_graph *g, const struct ptx_function *fn)
{
    bool peek = false, yes = false;
    for (uint32_t i = 0; i < fn->ninsts && !peek; i++)
        peek = waits_peeks(g->w, &fn->insts[i]);
    if (!peek)
        return false;
    struct flow f;
    flow_analyse(&f, fn, 1, false, g->a);
    waits_begin(g->w, &f, g->a);
    for (uint32_t l = 0; l < f.nloops && !yes; l++)
        yes = waits_in(g->w, &f, l, true);
    return yes;
}

struct region { uint32_t loop, entry, exit, size; };

static int
larger_first(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size ? 1 : -1) : (x->loop > y->loop) - (x->loop < y->loop);
}

/* A region takes the loops within it along, so the larger ones come first. True: some loop may still wait for lanes behind it. */
static bool
park_loops(struct park_graph *g)
{
    struct flow *f = &g->flow;
    struct region *r = cw_arena_array(g->a, struct region, f->nloops + 1);
    bool *taken = cw_arena_array(g->a, bool, g->nsplit + 1);
    uint32_t n = 0;
    bool left = false;
    for (uint32_t l = 0; l < f->nloops; l++) {
        bool open = false;
        if (!g->waiting[l])
            continue;
        r[n].loop = l;
        if (find_region(g, l, &r[n].entry, &r[n].exit, &open)) {
            (void)collect(g, r[n].entry, r[n].exit);
            r[n++].size = g->nmember;
        }
        left |= open || (!g->fn->is_entry && reaches_return(g, l)) || meets_partly(g, l);
    }
    qsort(r, n, sizeof *r, larger_first);
    for (uint32_t i = 0; i < n; i++) {
        if (g->parked[r[i].loop])
            continue;
        bool clear = taken[f->loops[r[i].loop].header] ? false : collect(g, r[i].entry, r[i].exit) == CLOSED;
        for (uint32_t k = 0; k < g->nmember && clear; k++)
            clear = !taken[g->member[k]];
        if (!clear || !can_redirect(g, r[i].entry, r[i].exit)) {
            left = true;
            continue;
        }
        for (uint32_t k = 0; k < g->nmember; k++)
            taken[g->member[k]] = true;
        rewrite(g, r[i].entry, r[i].exit);
    }
    return left;
}

struct waits *
emit_wait_facts(struct emit *e)
{
    struct emit_session *s = emit_session(e);
    if (!s->waits) {
        uint32_t n, *ids = emit_needed(e, &n);
        s->waits = cw_arena_new(&e->arena, struct waits);
        waits_collect(s->waits, e->program, ids, n, &e->arena);
    }
    return s->waits;
}

static struct park_graph
begin(struct emit *e, struct emit_park *park)
{
    return (struct park_graph){ .e = e, .a = &e->arena, .park = park, .w = emit_wait_facts(e), .to = { .a = &e->arena }, .leave = FLOW_NONE };
}

static void
begin_copy(struct park_graph *g, const struct ptx_function *fn)
{
    copy_function(g, fn);
    mirror_edges(g);
    prepare(g);
}

/* Change the function's loops; the graph has the result. True: some loops may still wait for lanes of their warp. Nothing is done to a function
 * that has no waiting loop. */
static bool
park_function(struct park_graph *g, const struct ptx_function *fn)
{
    g->w->flattened = fn == emit_session(g->e)->flat;
    if (!may_wait(g, fn))
        return false;
    begin_copy(g, fn);
    return find_waiting(g) && park_loops(g);
}

bool
emit_park_leaves(struct emit *e, const struct ptx_function *fn)
{
    struct emit_park park = { 0 };
    if (e->width == 1 && !e->target->fixed)
        return false;
    struct park_graph g = begin(e, &park);
    return park_function(&g, fn);
}

const struct ptx_function *
emit_park(struct emit *e, const struct ptx_function *fn, struct emit_park *park)
{
    if (e->width == 1 && !e->target->fixed)
        return fn;
    struct park_graph g = begin(e, park);
    bool left = park_function(&g, fn);
    if (left && fn == emit_session(e)->flat) {
        *park = (struct emit_park){ 0 };
        g = begin(e, park);
        begin_copy(&g, fn);
        (void)find_waiting(&g);
        park_rounds(&g);
        left = false;
    }
    emit_session(e)->lanes_wait |= left;
    if (!park->nlatches)
        return fn;
    mirror_edges(&g);
    return g.fn;
}
