/* SPDX-License-Identifier: Apache-2.0
 * Block layout, dominators, loops and liveness of one PTX function. Divergence is in divergence.c. */
#include "jit/emit/flow.h"
#include "jit/emit/flow_private.h"

#include <string.h>

/* ---- register visits ---------------------------------------------------------------------------------------------- */

static void
visit_operand(const struct ptx_operand *o, bool write, void (*visit)(void *, uint32_t, bool), void *user)
{
    switch (o->kind) {
    case PTX_OPND_REG:
        visit(user, o->index, write);
        break;
    case PTX_OPND_ADDR:
        if (o->has_reg)
            visit(user, o->index, false);
        break;
    case PTX_OPND_VEC:
    case PTX_OPND_PRED_PAIR:
    case PTX_OPND_LIST:
        for (unsigned i = 0; i < o->count; i++)
            visit_operand(&o->elem[i], write, visit, user);
        break;
    default:
        break;
    }
}

unsigned
flow_destinations(const struct ptx_inst *in)
{
    if (in->op == PTX_OP_CALL)
        return 1;                   /* the list of results; it may be empty */
    if ((in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER) && in->mode == PTX_MODE_RED)
        return 1;
    return ptx_op_info((ptx_op)in->op)->ndst;
}

void
flow_visit_regs(const struct ptx_inst *in, void (*visit)(void *, uint32_t, bool), void *user)
{
    unsigned ndst = flow_destinations(in);
    if (in->has_guard)
        visit(user, in->guard, false);
    /* Reads first: an instruction reads its sources before it writes. */
    for (unsigned i = ndst; i < in->noperands; i++)
        visit_operand(&in->operand[i], false, visit, user);
    for (unsigned i = 0; i < ndst && i < in->noperands; i++)
        visit_operand(&in->operand[i], true, visit, user);
}

/* ---- dominators (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm") --------------------------------------- */


static void
post_order(uint32_t root, uint32_t **adj, const uint32_t *nadj, uint32_t n, uint32_t *out, uint32_t *count, uint32_t *stack,
           uint32_t *next, bool *seen)
{
    uint32_t top = 0;
    memset(next, 0, n * sizeof *next);
    memset(seen, 0, n * sizeof *seen);
    stack[top++] = root;
    seen[root] = true;
    *count = 0;
    while (top) {
        uint32_t b = stack[top - 1];
        if (next[b] < nadj[b]) {
            uint32_t s = adj[b][next[b]++];
            if (!seen[s]) {
                seen[s] = true;
                stack[top++] = s;
            }
        } else {
            out[(*count)++] = b;
            top--;
        }
    }
}

static void
dominators(uint32_t n, uint32_t root, const uint32_t *po, uint32_t npo, uint32_t *const *pred, const uint32_t *npred,
           uint32_t *idom, uint32_t *number)
{
    for (uint32_t i = 0; i < n; i++) {
        idom[i] = FLOW_NONE;
        number[i] = FLOW_NONE;
    }
    for (uint32_t i = 0; i < npo; i++)
        number[po[i]] = i;
    idom[root] = root;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = npo; i-- > 0;) {
            uint32_t b = po[i], new_idom = FLOW_NONE;
            if (b == root)
                continue;
            for (uint32_t k = 0; k < npred[b]; k++) {
                uint32_t p = pred[b][k];
                if (idom[p] == FLOW_NONE)
                    continue;
                if (new_idom == FLOW_NONE) {
                    new_idom = p;
                    continue;
                }
                uint32_t x = p, y = new_idom;
                while (x != y) {
                    while (number[x] < number[y])
                        x = idom[x];
                    while (number[y] < number[x])
                        y = idom[y];
                }
                new_idom = x;
            }
            if (new_idom != idom[b]) {
                idom[b] = new_idom;
                changed = true;
            }
        }
    }
}

bool
flow_dominates(const struct flow *f, uint32_t a, uint32_t b)
{
    while (b != a && b != 0)
        b = f->idom[b];
    return a == b;
}

/* Does block b end in a guarded ret, exit or trap? It falls through, and some lanes leave. */
bool
flow_guarded_leave(const struct ptx_function *fn, uint32_t b)
{
    const struct ptx_block *blk = &fn->blocks[b];
    const struct ptx_inst *last = &fn->insts[blk->first + blk->count - 1];
    return blk->count && last->has_guard && (last->op == PTX_OP_RET || last->op == PTX_OP_EXIT);
}

/* Forward dominators and, over the reversed graph with a virtual exit node n, post-dominators. A block from which no exit
 * can be reached (an endless loop) is tied to the virtual exit, so that everything has a post-dominator. */
static bool
find_dominators(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n;
    const struct ptx_block *blk = f->fn->blocks;
    uint32_t *po = cw_arena_array(a, uint32_t, n + 1), *stack = cw_arena_array(a, uint32_t, n + 1);
    uint32_t *next = cw_arena_array(a, uint32_t, n + 1), *number = cw_arena_array(a, uint32_t, n + 1);
    uint32_t **succ = cw_arena_array(a, uint32_t *, n + 1), **pred = cw_arena_array(a, uint32_t *, n + 1);
    uint32_t *nsucc = cw_arena_array(a, uint32_t, n + 1), *npred = cw_arena_array(a, uint32_t, n + 1);
    bool *seen = cw_arena_array(a, bool, n + 1);
    f->idom = cw_arena_array(a, uint32_t, n + 1);
    f->ipdom = cw_arena_array(a, uint32_t, n + 1);
    if (!po || !stack || !next || !number || !succ || !pred || !nsucc || !npred || !seen || !f->idom || !f->ipdom)
        return false;
    for (uint32_t b = 0; b < n; b++) {
        succ[b] = blk[b].succ, nsucc[b] = blk[b].nsucc;
        pred[b] = blk[b].pred, npred[b] = blk[b].npred;
    }
    uint32_t count;
    post_order(0, succ, nsucc, n, po, &count, stack, next, seen);
    dominators(n, 0, po, count, pred, npred, f->idom, number);

    /* Reversed: successors of x are its predecessors; the virtual exit n has an edge to each block without successor. */
    uint32_t *exits = cw_arena_array(a, uint32_t, n + 1), nexits = 0;
    uint32_t **rpred = cw_arena_array(a, uint32_t *, n + 1), *nrpred = cw_arena_array(a, uint32_t, n + 1);
    uint32_t *virtual_exit = cw_arena_array(a, uint32_t, 1);
    if (!exits || !rpred || !nrpred || !virtual_exit)
        return false;
    *virtual_exit = n;
    for (uint32_t b = 0; b < n; b++) {
        rpred[b] = succ[b], nrpred[b] = nsucc[b];
        if (!nsucc[b]) {
            exits[nexits++] = b;
            rpred[b] = virtual_exit, nrpred[b] = 1;
        } else if (flow_guarded_leave(f->fn, b)) {
            exits[nexits++] = b;
            rpred[b] = cw_arena_array(a, uint32_t, nsucc[b] + 1);
            if (!rpred[b])
                return false;
            memcpy(rpred[b], succ[b], nsucc[b] * sizeof *rpred[b]);
            rpred[b][nrpred[b]++] = n;
        }
    }
    for (;;) {
        pred[n] = exits, npred[n] = nexits;
        post_order(n, pred, npred, n + 1, po, &count, stack, next, seen);
        if (count == n + 1)
            break;
        /* An endless loop: take its last block in number as an exit. */
        for (uint32_t b = n; b-- > 0;) {
            if (seen[b])
                continue;
            exits[nexits++] = b;
            uint32_t *r = cw_arena_array(a, uint32_t, nrpred[b] + 1);
            if (!r)
                return false;
            memcpy(r, rpred[b], nrpred[b] * sizeof *r);
            r[nrpred[b]++] = n;
            rpred[b] = r;
            break;
        }
    }
    dominators(n + 1, n, po, count, rpred, nrpred, f->ipdom, number);
    return true;
}

/* ---- loops and layout --------------------------------------------------------------------------------------------------- */

static bool
find_loops(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n;
    const struct ptx_block *blk = f->fn->blocks;
    uint32_t *stack = cw_arena_array(a, uint32_t, n + 1);
    uint32_t *mark = cw_arena_array(a, uint32_t, n + 1);
    f->loops = cw_arena_array(a, struct flow_loop, n + 1);
    f->loop_of = cw_arena_array(a, uint32_t, n + 1);
    if (!stack || !mark || !f->loops || !f->loop_of)
        return false;
    for (uint32_t b = 0; b < n; b++)
        f->loop_of[b] = FLOW_NONE;
    /* One loop a header. Bodies are found per header; the innermost loop of a block is the smallest body with it. */
    for (uint32_t h = 0; h < n; h++) {
        uint32_t top = 0, size = 0;
        bool is_header = false;
        for (uint32_t k = 0; k < blk[h].npred; k++)
            is_header |= flow_dominates(f, h, blk[h].pred[k]);
        if (!is_header)
            continue;
        uint32_t number = f->nloops++;
        mark[h] = number + 1;
        size = 1;
        for (uint32_t k = 0; k < blk[h].npred; k++) {
            uint32_t t = blk[h].pred[k];
            if (flow_dominates(f, h, t) && mark[t] != number + 1) {
                mark[t] = number + 1;
                stack[top++] = t;
                size++;
            }
        }
        while (top) {
            uint32_t b = stack[--top];
            for (uint32_t k = 0; k < blk[b].npred; k++) {
                uint32_t p = blk[b].pred[k];
                if (mark[p] != number + 1) {
                    mark[p] = number + 1;
                    stack[top++] = p;
                    size++;
                }
            }
        }
        f->loops[number] = (struct flow_loop){ .header = h, .parent = FLOW_NONE, .nblocks = size };
        for (uint32_t b = 0; b < n; b++) {
            if (mark[b] != number + 1)
                continue;
            uint32_t old = f->loop_of[b];
            if (old == FLOW_NONE || f->loops[old].nblocks > size)
                f->loop_of[b] = number;
        }
    }
    /* A header's innermost loop is its own; its parent is the innermost other loop that holds the header. Recompute by
     * size: the smallest loop larger than this one that dominates and contains it. */
    for (uint32_t l = 0; l < f->nloops; l++) {
        uint32_t h = f->loops[l].header, best = FLOW_NONE;
        for (uint32_t m = 0; m < f->nloops; m++) {
            if (m == l || f->loops[m].nblocks <= f->loops[l].nblocks)
                continue;
            if (best != FLOW_NONE && f->loops[best].nblocks <= f->loops[m].nblocks)
                continue;
            /* is h inside m? walk the bodies again, cheaply: m's header dominates h, and h reaches m's header inside. */
            uint32_t top = 0;
            memset(mark, 0, n * sizeof *mark);
            uint32_t mh = f->loops[m].header;
            mark[mh] = 1;
            for (uint32_t k = 0; k < blk[mh].npred; k++) {
                uint32_t t = blk[mh].pred[k];
                if (flow_dominates(f, mh, t) && !mark[t]) {
                    mark[t] = 1;
                    stack[top++] = t;
                }
            }
            while (top) {
                uint32_t b = stack[--top];
                for (uint32_t k = 0; k < blk[b].npred; k++) {
                    uint32_t p = blk[b].pred[k];
                    if (!mark[p]) {
                        mark[p] = 1;
                        stack[top++] = p;
                    }
                }
            }
            if (mark[h])
                best = m;
        }
        f->loops[l].parent = best;
    }
    for (uint32_t l = 0; l < f->nloops; l++) {
        uint32_t d = 1;
        for (uint32_t m = f->loops[l].parent; m != FLOW_NONE; m = f->loops[m].parent)
            d++;
        f->loops[l].depth = d;
    }
    return true;
}

/* Is block b in loop l (at any depth)? */
bool
flow_in_loop(const struct flow *f, uint32_t b, uint32_t l)
{
    for (uint32_t m = f->loop_of[b]; m != FLOW_NONE; m = f->loops[m].parent)
        if (m == l)
            return true;
    return false;
}

/* The child of `region` (a loop, or FLOW_NONE for the function) that holds block b: itself, or a loop's header block. */
static uint32_t
representative(const struct flow *f, uint32_t b, uint32_t region)
{
    uint32_t l = f->loop_of[b];
    if (l == region)
        return b;
    while (f->loops[l].parent != region)
        l = f->loops[l].parent;
    return f->loops[l].header;
}

struct layout {
    struct flow *f;
    struct cw_arena *a;
    uint32_t *node_next;            /* blocks of a region, chained by representative */
    bool failed;
};

/* Order the direct children of `region` topologically (edges to the region's header left out), then expand child loops. */
static void
layout_region(struct layout *lay, uint32_t region, uint32_t entry, const uint32_t *members, uint32_t nmembers,
              uint32_t *out, uint32_t *nout)
{
    struct flow *f = lay->f;
    const struct ptx_block *blk = f->fn->blocks;
    uint32_t n = f->n;
    /* Post-order over representatives, iterative. Blocks of one representative are scanned as one node. */
    uint32_t *first = cw_arena_array(lay->a, uint32_t, n), *chain = cw_arena_array(lay->a, uint32_t, n);
    uint32_t *stack = cw_arena_array(lay->a, uint32_t, n + 1), *at = cw_arena_array(lay->a, uint32_t, n);
    uint32_t *edge = cw_arena_array(lay->a, uint32_t, n), *po = cw_arena_array(lay->a, uint32_t, n + 1);
    bool *seen = cw_arena_array(lay->a, bool, n);
    if (!first || !chain || !stack || !at || !edge || !po || !seen) {
        lay->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        first[i] = chain[i] = FLOW_NONE;
    for (uint32_t i = nmembers; i-- > 0;) {
        uint32_t r = representative(f, members[i], region);
        chain[members[i]] = first[r];
        first[r] = members[i];
    }
    uint32_t top = 0, npo = 0;
    uint32_t root = representative(f, entry, region);
    if (region != FLOW_NONE)
        root = entry;
    stack[top++] = root;
    seen[root] = true;
    at[root] = first[root];
    while (top) {
        uint32_t r = stack[top - 1], next = FLOW_NONE;
        while (at[r] != FLOW_NONE && next == FLOW_NONE) {
            uint32_t b = at[r];
            if (edge[r] >= blk[b].nsucc) {
                at[r] = chain[b];
                edge[r] = 0;
                continue;
            }
            uint32_t s = blk[b].succ[edge[r]++];
            if (region != FLOW_NONE && (!flow_in_loop(f, s, region) || s == entry))
                continue;
            uint32_t sr = representative(f, s, region);
            if (!seen[sr])
                next = sr;
        }
        if (next == FLOW_NONE) {
            po[npo++] = r;
            top--;
        } else {
            seen[next] = true;
            at[next] = first[next];
            stack[top++] = next;
        }
    }
    for (uint32_t i = npo; i-- > 0;) {
        uint32_t r = po[i], l = f->loop_of[r];
        if (l == region) {
            out[(*nout)++] = r;
            continue;
        }
        while (f->loops[l].parent != region)
            l = f->loops[l].parent;
        uint32_t *inner = cw_arena_array(lay->a, uint32_t, n), ninner = 0;
        if (!inner) {
            lay->failed = true;
            return;
        }
        for (uint32_t k = 0; k < nmembers; k++)
            if (flow_in_loop(f, members[k], l))
                inner[ninner++] = members[k];
        layout_region(lay, l, f->loops[l].header, inner, ninner, out, nout);
        f->loops[l].last = *nout - 1;
    }
}

static bool
find_layout(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n, count = 0;
    f->order = cw_arena_array(a, uint32_t, n);
    f->position = cw_arena_array(a, uint32_t, n);
    uint32_t *all = cw_arena_array(a, uint32_t, n);
    if (!f->order || !f->position || !all)
        return false;
    for (uint32_t b = 0; b < n; b++)
        all[b] = b;
    struct layout lay = { .f = f, .a = a };
    layout_region(&lay, FLOW_NONE, 0, all, n, f->order, &count);
    if (lay.failed || count != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        f->position[f->order[i]] = i;
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = 0; k < f->fn->blocks[b].nsucc; k++) {
            uint32_t s = f->fn->blocks[b].succ[k];
            if (f->position[s] <= f->position[b] && !flow_dominates(f, s, b))
                f->irreducible = true;
        }
    return true;
}

/* ---- liveness ------------------------------------------------------------------------------------------------------------- */

struct live_ctx {
    uint64_t *use, *def;            /* of the block being scanned */
    uint32_t *ndefs, *def_block;
    uint32_t block;
    bool guarded;
};

static void
live_visit(void *user, uint32_t r, bool write)
{
    struct live_ctx *c = user;
    uint64_t bit = (uint64_t)1 << (r % 64);
    if (!write) {
        if (!(c->def[r / 64] & bit))
            c->use[r / 64] |= bit;
        return;
    }
    c->ndefs[r]++;
    c->def_block[r] = c->ndefs[r] == 1 ? c->block : FLOW_NONE;
    /* A guarded write keeps the old value of some lanes: it is a use as well, and no kill. */
    if (c->guarded) {
        if (!(c->def[r / 64] & bit))
            c->use[r / 64] |= bit;
        c->ndefs[r]++;              /* never a plain single definition */
        c->def_block[r] = FLOW_NONE;
    } else {
        c->def[r / 64] |= bit;
    }
}

static bool
find_liveness(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n, nregs = f->fn->nregs;
    f->words = (nregs + 63) / 64;
    if (!f->words)
        f->words = 1;
    size_t row = f->words;
    f->live_in = cw_arena_array(a, uint64_t, row * n);
    f->ndefs = cw_arena_array(a, uint32_t, nregs + 1);
    f->def_block = cw_arena_array(a, uint32_t, nregs + 1);
    uint64_t *use = cw_arena_array(a, uint64_t, row * n), *def = cw_arena_array(a, uint64_t, row * n);
    if (!f->live_in || !f->ndefs || !f->def_block || !use || !def)
        return false;
    for (uint32_t r = 0; r < nregs; r++)
        f->def_block[r] = FLOW_NONE;
    for (uint32_t b = 0; b < n; b++) {
        struct live_ctx c = { use + row * b, def + row * b, f->ndefs, f->def_block, b, false };
        const struct ptx_block *blk = &f->fn->blocks[b];
        for (uint32_t i = 0; i < blk->count; i++) {
            const struct ptx_inst *in = &f->fn->insts[blk->first + i];
            c.guarded = in->has_guard && !(ptx_op_info((ptx_op)in->op)->traits & PTX_T_TERMINATOR);
            flow_visit_regs(in, live_visit, &c);
        }
    }
    memcpy(f->live_in, use, row * n * sizeof *use);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = n; i-- > 0;) {
            uint32_t b = f->order[i];
            uint64_t *in = f->live_in + row * b;
            for (uint32_t k = 0; k < f->fn->blocks[b].nsucc; k++) {
                const uint64_t *s = f->live_in + row * f->fn->blocks[b].succ[k];
                for (size_t w = 0; w < row; w++) {
                    uint64_t v = in[w] | (s[w] & ~def[row * b + w]);
                    changed |= v != in[w];
                    in[w] = v;
                }
            }
        }
    }
    return true;
}

cw_result
flow_analyse(struct flow *f, const struct ptx_function *fn, unsigned width, bool linear_x, struct cw_arena *a)
{
    memset(f, 0, sizeof *f);
    f->fn = fn;
    f->n = fn->nblocks;
    f->uniform = cw_arena_array(a, bool, fn->nregs + 1);
    f->blend = cw_arena_array(a, bool, fn->nregs + 1);
    f->masked = cw_arena_array(a, bool, f->n + 1);
    f->divergent = cw_arena_array(a, bool, f->n + 1);
    f->shape = cw_arena_array(a, struct flow_shape, fn->nregs + 1);
    f->spin = cw_arena_array(a, bool, f->n + 1);
    if (!f->spin || !f->shape || !f->uniform || !f->blend || !f->masked || !f->divergent)
        return CW_ERR_NOMEM;
    if (!find_dominators(f, a) || !find_loops(f, a) || !find_layout(f, a) || !find_liveness(f, a))
        return CW_ERR_NOMEM;
    flow_find_spins(f, a);
    if (width > 1)
        return flow_divergence(f, width, linear_x, a);
    for (uint32_t r = 0; r < fn->nregs; r++) {
        f->uniform[r] = true;
        f->shape[r].kind = FLOW_UNIFORM;
    }
    return CW_OK;
}
