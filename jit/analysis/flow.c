/* SPDX-License-Identifier: Apache-2.0
 * Block layout, dominators, loops and liveness of one PTX function. Divergence is in divergence.c. */
#include "jit/analysis/flow.h"
#include "jit/analysis/flow_private.h"

#include <stdlib.h>
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

/* ---- dominators (semi-NCA; Georgiadis, Tarjan, Werneck: "Finding Dominators in Practice") ------------------------------ */

/* A depth-first search. A node's number is its place in preorder. */
struct search {
    uint32_t **adj, *nadj;
    uint32_t *order, *number, *parent;  /* number to node, node to number or FLOW_NONE, number to number */
    uint32_t *post;                     /* nodes in postorder */
    uint32_t count, npost;
    uint32_t *stack, *next;
};

static struct search
new_search(uint32_t n, uint32_t **adj, uint32_t *nadj, struct cw_arena *a)
{
    struct search s = { .adj = adj, .nadj = nadj, .order = cw_arena_array(a, uint32_t, n + 1), .number = cw_arena_array(a, uint32_t, n + 1),
                        .parent = cw_arena_array(a, uint32_t, n + 1), .post = cw_arena_array(a, uint32_t, n + 1), .stack = cw_arena_array(a, uint32_t, n + 1),
                        .next = cw_arena_array(a, uint32_t, n + 1) };
    for (uint32_t i = 0; i < n; i++)
        s.number[i] = FLOW_NONE;
    return s;
}

static void
reach(struct search *s, uint32_t node, uint32_t parent)
{
    s->parent[s->count] = parent;
    s->order[s->count] = node;
    s->number[node] = s->count++;
}

/* Search from `root`, which has not been reached yet. All roots but the first are children of the first. */
static void
search_from(struct search *s, uint32_t root)
{
    uint32_t top = 0;
    reach(s, root, 0);
    s->stack[top++] = root;
    while (top) {
        uint32_t b = s->stack[top - 1];
        if (s->next[b] < s->nadj[b]) {
            uint32_t x = s->adj[b][s->next[b]++];
            if (s->number[x] == FLOW_NONE) {
                reach(s, x, s->number[b]);
                s->stack[top++] = x;
            }
        } else {
            s->post[s->npost++] = b;
            top--;
        }
    }
}

/* Of v and its ancestors down to number `last`, the one with the least semidominator. The path is compressed: up[x] is an ancestor, label[x] the best of those
 * between. */
static uint32_t
best_ancestor(uint32_t v, uint32_t last, uint32_t *up, uint32_t *label, const uint32_t *semi, uint32_t *stack)
{
    uint32_t top = 0;
    for (; up[v] >= last; v = up[v])
        stack[top++] = v;
    while (top) {
        uint32_t x = stack[--top];
        if (semi[label[v]] < semi[label[x]])
            label[x] = label[v];
        up[x] = up[v];
        v = x;
    }
    return label[v];
}

/* idom[root] is the root; of what was not reached, FLOW_NONE. */
static void
dominators(const struct search *s, uint32_t n, uint32_t *const *pred, const uint32_t *npred, uint32_t *idom, struct cw_arena *a)
{
    uint32_t *up = cw_arena_array(a, uint32_t, s->count + 1), *label = cw_arena_array(a, uint32_t, s->count + 1), *semi = cw_arena_array(a, uint32_t, s->count + 1);
    uint32_t *dom = cw_arena_array(a, uint32_t, s->count + 1);
    for (uint32_t i = 0; i < s->count; i++) {
        up[i] = s->parent[i];
        label[i] = semi[i] = i;
    }
    for (uint32_t i = s->count; i-- > 1;) {
        const uint32_t b = s->order[i];
        semi[i] = s->parent[i];
        for (uint32_t k = 0; k < npred[b]; k++) {
            uint32_t p = s->number[pred[b][k]];
            if (p == FLOW_NONE)
                continue;
            p = semi[best_ancestor(p, i + 1, up, label, semi, s->stack)];
            semi[i] = p < semi[i] ? p : semi[i];
        }
    }
    for (uint32_t i = 0; i < n; i++)
        idom[i] = FLOW_NONE;
    for (uint32_t i = 0; i < s->count; i++) {
        for (dom[i] = s->parent[i]; dom[i] > semi[i];)
            dom[i] = dom[dom[i]];
        idom[s->order[i]] = s->order[dom[i]];
    }
}

bool
flow_dominates(const struct flow *f, uint32_t a, uint32_t b)
{
    return f->dom_first[a] <= f->dom_first[b] && f->dom_first[b] <= f->dom_last[a];
}

/* Number the nodes of a forest in preorder: the descendants of x are those with first[x] <= first[y] <= last[x]. For a root, parent[x] is x
 * or FLOW_NONE. */
static void
number_forest(const uint32_t *parent, uint32_t n, uint32_t *first, uint32_t *last, struct cw_arena *a)
{
    uint32_t *child = cw_arena_array(a, uint32_t, n + 1), *sibling = cw_arena_array(a, uint32_t, n + 1), *stack = cw_arena_array(a, uint32_t, n + 1);
    uint32_t next = 0, top = 0;
    for (uint32_t i = 0; i < n; i++)
        child[i] = FLOW_NONE;
    for (uint32_t i = n; i-- > 0;)
        if (parent[i] != i && parent[i] != FLOW_NONE) {
            sibling[i] = child[parent[i]];
            child[parent[i]] = i;
        }
    for (uint32_t root = 0; root < n; root++) {
        if (parent[root] != root && parent[root] != FLOW_NONE)
            continue;
        first[root] = next++;
        stack[top++] = root;
        while (top) {
            uint32_t x = stack[top - 1], c = child[x];
            if (c == FLOW_NONE) {
                last[x] = next - 1;
                top--;
            } else {
                child[x] = sibling[c];
                first[c] = next++;
                stack[top++] = c;
            }
        }
    }
}

/* Does block b end in a guarded ret or exit? Some lanes leave there; the others fall through. */
bool
flow_guarded_leave(const struct ptx_function *fn, uint32_t b)
{
    const struct ptx_block *blk = &fn->blocks[b];
    const struct ptx_inst *last = &fn->insts[blk->first + blk->count - 1];
    return blk->count && last->has_guard && (last->op == PTX_OP_RET || last->op == PTX_OP_EXIT);
}

/* Forward dominators and, over the reversed graph with a virtual exit node n, post-dominators. A block that reaches no exit (an endless
 * loop) gets an edge to the virtual exit, so that every block has a post-dominator. */
static void
find_dominators(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n;
    const struct ptx_block *blk = f->fn->blocks;
    uint32_t **succ = cw_arena_array(a, uint32_t *, n + 1), **pred = cw_arena_array(a, uint32_t *, n + 1);
    uint32_t *nsucc = cw_arena_array(a, uint32_t, n + 1), *npred = cw_arena_array(a, uint32_t, n + 1);
    f->idom = cw_arena_array(a, uint32_t, n + 1);
    f->ipdom = cw_arena_array(a, uint32_t, n + 1);
    for (uint32_t b = 0; b < n; b++) {
        succ[b] = blk[b].succ, nsucc[b] = blk[b].nsucc;
        pred[b] = blk[b].pred, npred[b] = blk[b].npred;
    }
    struct search forward = new_search(n, succ, nsucc, a);
    search_from(&forward, 0);
    f->post = forward.post;
    f->npost = forward.npost;
    dominators(&forward, n, pred, npred, f->idom, a);
    f->dom_first = cw_arena_array(a, uint32_t, n + 1);
    f->dom_last = cw_arena_array(a, uint32_t, n + 1);
    number_forest(f->idom, n, f->dom_first, f->dom_last, a);

    /* Reversed: successors of x are its predecessors; the virtual exit n has an edge to each block without successor. */
    uint32_t *exits = cw_arena_array(a, uint32_t, n + 1), nexits = 0;
    uint32_t **rpred = cw_arena_array(a, uint32_t *, n + 1), *nrpred = cw_arena_array(a, uint32_t, n + 1);
    uint32_t *virtual_exit = cw_arena_array(a, uint32_t, 1);
    *virtual_exit = n;
    for (uint32_t b = 0; b < n; b++) {
        rpred[b] = succ[b], nrpred[b] = nsucc[b];
        if (!nsucc[b]) {
            exits[nexits++] = b;
            rpred[b] = virtual_exit, nrpred[b] = 1;
        } else if (flow_guarded_leave(f->fn, b)) {
            exits[nexits++] = b;
            rpred[b] = cw_arena_array(a, uint32_t, nsucc[b] + 1);
            memcpy(rpred[b], succ[b], nsucc[b] * sizeof *rpred[b]);
            rpred[b][nrpred[b]++] = n;
        }
    }
    pred[n] = exits, npred[n] = nexits;
    struct search backward = new_search(n + 1, pred, npred, a);
    search_from(&backward, n);
    /* Endless loops: of what is left, the block with the highest number becomes an exit. */
    for (uint32_t b = n; b-- > 0;) {
        if (backward.number[b] != FLOW_NONE)
            continue;
        uint32_t *r = cw_arena_array(a, uint32_t, nrpred[b] + 1);
        memcpy(r, rpred[b], nrpred[b] * sizeof *r);
        r[nrpred[b]++] = n;
        rpred[b] = r;
        search_from(&backward, b);
    }
    dominators(&backward, n + 1, rpred, nrpred, f->ipdom, a);
}

/* ---- loops and layout --------------------------------------------------------------------------------------------------- */

/* Block b reaches the header of loop `number` inside that loop: add it to the loop, together with the loop that contains b. Push each block
 * from which the walk continues once. */
static void
take_into_loop(struct flow *f, uint32_t number, uint32_t b, uint32_t *stack, uint32_t *top, uint32_t *outermost)
{
    uint32_t l = f->loop_of[b];
    if (l == FLOW_NONE) {
        f->loop_of[b] = number;
        f->loops[number].nblocks++;
        stack[(*top)++] = b;
        return;
    }
    while (outermost[l] != l)               /* b's outermost loop so far, with path compression */
        l = outermost[l] = outermost[outermost[l]];
    if (l == number)
        return;
    outermost[l] = number;
    f->loops[l].parent = number;
    f->loops[number].nblocks += f->loops[l].nblocks;
    stack[(*top)++] = f->loops[l].header;
}

/* One natural loop per header, inner ones first. Walking backwards from the latches of a header, a block that is in a loop already stands
 * for its outermost loop so far. */
static void
find_loops(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n;
    const struct ptx_block *blk = f->fn->blocks;
    uint32_t *stack = cw_arena_array(a, uint32_t, n + 1);
    uint32_t *outermost = cw_arena_array(a, uint32_t, n + 1), *parent = cw_arena_array(a, uint32_t, n + 1);
    uint32_t *first = cw_arena_array(a, uint32_t, n + 1), *last = cw_arena_array(a, uint32_t, n + 1);
    f->loops = cw_arena_array(a, struct flow_loop, n + 1);
    f->loop_of = cw_arena_array(a, uint32_t, n + 1);
    for (uint32_t b = 0; b < n; b++)
        f->loop_of[b] = FLOW_NONE;
    /* Post-order visits the blocks that a header dominates before the header. */
    for (uint32_t i = 0; i < f->npost; i++) {
        uint32_t h = f->post[i], top = 0, number = f->nloops;
        for (uint32_t k = 0; k < blk[h].npred; k++)
            if (flow_dominates(f, h, blk[h].pred[k]))
                top++;
        if (!top)
            continue;
        f->nloops++;
        f->loops[number] = (struct flow_loop){ .header = h, .parent = FLOW_NONE, .nblocks = 1 };
        parent[number] = FLOW_NONE;
        outermost[number] = number;
        f->loop_of[h] = number;
        top = 0;
        for (uint32_t k = 0; k < blk[h].npred; k++)
            if (flow_dominates(f, h, blk[h].pred[k]))
                take_into_loop(f, number, blk[h].pred[k], stack, &top, outermost);
        while (top) {
            uint32_t b = stack[--top];
            for (uint32_t k = 0; k < blk[b].npred; k++)     /* a loop header's latches lead nowhere new */
                take_into_loop(f, number, blk[b].pred[k], stack, &top, outermost);
        }
    }
    for (uint32_t l = 0; l < f->nloops; l++)
        parent[l] = f->loops[l].parent;
    number_forest(parent, f->nloops, first, last, a);
    for (uint32_t l = f->nloops; l-- > 0;) {        /* outer loops have higher numbers */
        uint32_t p = f->loops[l].parent;
        f->loops[l].depth = p == FLOW_NONE ? 1 : f->loops[p].depth + 1;
        f->loops[l].first_number = first[l];
        f->loops[l].last_number = last[l];
    }
}

/* Is block b in loop l (at any depth)? */
bool
flow_in_loop(const struct flow *f, uint32_t b, uint32_t l)
{
    uint32_t m = f->loop_of[b];
    return m != FLOW_NONE && f->loops[l].first_number <= f->loops[m].first_number && f->loops[m].first_number <= f->loops[l].last_number;
}

struct layout {
    struct flow *f;
    struct cw_arena *a;
    uint32_t *ancestor;             /* of a loop: the child of the current region that contains it */
    uint32_t *loop_at;              /* loops by their preorder numbers */
    uint32_t *members;              /* blocks, grouped by loop with nested loops included */
    uint32_t *begin;                /* index in `members` of the first block of the loop with this preorder number */
    uint32_t *sorted;               /* the blocks of the current region */
    uint32_t *first, *chain;        /* the same, chained by representative */
    uint32_t *stack, *at, *edge, *po;
    bool *seen;
};

/* The child of `region` (a loop, or FLOW_NONE for the function) that holds block b: itself, or a loop's header block. */
static uint32_t
representative(const struct layout *lay, uint32_t b, uint32_t region)
{
    uint32_t l = lay->f->loop_of[b];
    return l == region ? b : lay->f->loops[lay->ancestor[l]].header;
}

/* Post-order over the direct children of `region`, edges to its header left out. Blocks of one child are scanned as one node. */
static uint32_t
order_children(struct layout *lay, uint32_t region, uint32_t entry, const uint32_t *members, uint32_t nmembers)
{
    struct flow *f = lay->f;
    const struct ptx_block *blk = f->fn->blocks;
    uint32_t top = 0, npo = 0, root = region == FLOW_NONE ? representative(lay, entry, region) : entry;
    for (uint32_t i = 0; i < nmembers; i++) {
        lay->first[members[i]] = lay->chain[members[i]] = FLOW_NONE;
        lay->edge[members[i]] = 0;
        lay->seen[members[i]] = false;
    }
    for (uint32_t i = nmembers; i-- > 0;) {
        uint32_t r = representative(lay, members[i], region);
        lay->chain[members[i]] = lay->first[r];
        lay->first[r] = members[i];
    }
    lay->stack[top++] = root;
    lay->seen[root] = true;
    lay->at[root] = lay->first[root];
    while (top) {
        uint32_t r = lay->stack[top - 1], next = FLOW_NONE;
        while (lay->at[r] != FLOW_NONE && next == FLOW_NONE) {
            uint32_t b = lay->at[r];
            if (lay->edge[r] >= blk[b].nsucc) {
                lay->at[r] = lay->chain[b];
                lay->edge[r] = 0;
                continue;
            }
            uint32_t s = blk[b].succ[lay->edge[r]++];
            if (region != FLOW_NONE && (!flow_in_loop(f, s, region) || s == entry))
                continue;
            uint32_t sr = representative(lay, s, region);
            if (!lay->seen[sr])
                next = sr;
        }
        if (next == FLOW_NONE) {
            lay->po[npo++] = r;
            top--;
        } else {
            lay->seen[next] = true;
            lay->at[next] = lay->first[next];
            lay->stack[top++] = next;
        }
    }
    return npo;
}

/* Each region's children in topological order, a loop's blocks in its place. Regions are kept on an explicit stack, since nests
 * may be deep. */
static void
layout_regions(struct layout *lay, uint32_t *out, uint32_t *nout)
{
    struct flow *f = lay->f;
    struct region { uint32_t loop, left, *children; } *open = cw_arena_array(lay->a, struct region, f->nloops + 1);
    uint32_t depth = 0;
    for (uint32_t l = 0; l < f->nloops; l++)
        lay->loop_at[f->loops[l].first_number] = l;
    for (uint32_t i = 0; i < f->nloops; i++) {
        uint32_t l = lay->loop_at[i], outer = f->loops[l].parent;
        lay->ancestor[l] = outer == FLOW_NONE ? l : lay->ancestor[outer];
    }
    for (uint32_t region = FLOW_NONE, next = FLOW_NONE, begin = 0, end = f->n, entry = 0;;) {
        if (region != FLOW_NONE) {
            const struct flow_loop *r = &f->loops[region];
            begin = lay->begin[r->first_number], end = lay->begin[r->last_number + 1], entry = r->header;
            for (uint32_t i = r->first_number + 1; i <= r->last_number; i++) {
                uint32_t l = lay->loop_at[i], outer = f->loops[l].parent;
                lay->ancestor[l] = outer == region ? l : lay->ancestor[outer];
            }
        }
        memcpy(lay->sorted, lay->members + begin, (end - begin) * sizeof *lay->sorted);
        qsort(lay->sorted, end - begin, sizeof *lay->sorted, flow_ascending);
        uint32_t n = order_children(lay, region, entry, lay->sorted, end - begin);
        open[depth] = (struct region){ region, n, cw_arena_array(lay->a, uint32_t, n + 1) };
        memcpy(open[depth++].children, lay->po, n * sizeof *lay->po);
        /* Continue with the open regions. */
        for (next = FLOW_NONE; depth && next == FLOW_NONE;) {
            struct region *r = &open[depth - 1];
            if (!r->left) {
                if (r->loop != FLOW_NONE)
                    f->loops[r->loop].last = *nout - 1;
                depth--;
                continue;
            }
            uint32_t b = r->children[--r->left];
            if (f->loop_of[b] == r->loop)
                out[(*nout)++] = b;
            else
                next = f->loop_of[b];               /* a header's innermost loop is its own */
        }
        if (next == FLOW_NONE)
            return;
        region = next;
    }
}

static void
find_layout(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n, count = 0;
    f->order = cw_arena_array(a, uint32_t, n);
    f->position = cw_arena_array(a, uint32_t, n);
    struct layout lay = {
        .f = f, .a = a, .ancestor = cw_arena_array(a, uint32_t, f->nloops + 1), .members = cw_arena_array(a, uint32_t, n + 1),
        .loop_at = cw_arena_array(a, uint32_t, f->nloops + 1), .sorted = cw_arena_array(a, uint32_t, n + 1),
        .begin = cw_arena_array(a, uint32_t, f->nloops + 3), .first = cw_arena_array(a, uint32_t, n + 1), .chain = cw_arena_array(a, uint32_t, n + 1),
        .stack = cw_arena_array(a, uint32_t, n + 1), .at = cw_arena_array(a, uint32_t, n + 1), .edge = cw_arena_array(a, uint32_t, n + 1),
        .po = cw_arena_array(a, uint32_t, n + 1), .seen = cw_arena_array(a, bool, n + 1),
    };
    /* Sort blocks by the numbers of their loops; those outside of loops come last. */
    uint32_t *place = lay.begin + 1;
    for (uint32_t b = 0; b < n; b++)
        place[f->loop_of[b] == FLOW_NONE ? f->nloops : f->loops[f->loop_of[b]].first_number]++;
    for (uint32_t i = 0, sum = 0; i <= f->nloops; i++) {
        uint32_t c = place[i];
        place[i] = sum;
        sum += c;
    }
    for (uint32_t b = 0; b < n; b++)
        lay.members[place[f->loop_of[b] == FLOW_NONE ? f->nloops : f->loops[f->loop_of[b]].first_number]++] = b;
    layout_regions(&lay, f->order, &count);
    for (uint32_t i = 0; i < n; i++)
        f->position[f->order[i]] = i;
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = 0; k < f->fn->blocks[b].nsucc; k++) {
            uint32_t s = f->fn->blocks[b].succ[k];
            if (f->position[s] <= f->position[b] && !flow_dominates(f, s, b))
                f->irreducible = true;
        }
}

/* ---- liveness ------------------------------------------------------------------------------------------------------------- */

struct live_ctx {
    struct flow_set *use, *def;     /* of the block being scanned */
    uint32_t *ndefs, *def_block;
    uint32_t block;
    bool guarded;
};

static void
live_visit(void *user, uint32_t r, bool write)
{
    struct live_ctx *c = user;
    uint64_t bit = (uint64_t)1 << (r % 64);
    bool defined = (c->def->bits[r / 64] & bit) != 0;
    if (write) {
        c->ndefs[r]++;
        c->def_block[r] = c->ndefs[r] == 1 && !c->guarded ? c->block : FLOW_NONE;
    }
    /* A guarded write keeps the old value of some lanes: it counts as a use, and does not kill. */
    if (write && c->guarded)
        c->ndefs[r]++;              /* never a plain single definition */
    if (write && !c->guarded)
        flow_set_add(c->def, r / 64, bit);
    else if (!defined)
        flow_set_add(c->use, r / 64, bit);
}

/* What block b reads before it writes, and what it writes. */
static void
scan_block(struct flow *f, uint32_t b, struct flow_set *use, struct flow_set *def, struct flow_row *writes, struct cw_arena *a)
{
    struct live_ctx c = { use, def, f->ndefs, f->def_block, b, false };
    const struct ptx_block *blk = &f->fn->blocks[b];
    flow_set_clear(use);
    flow_set_clear(def);
    for (uint32_t i = 0; i < blk->count; i++) {
        const struct ptx_inst *in = &f->fn->insts[blk->first + i];
        c.guarded = in->has_guard && !(ptx_op_info((ptx_op)in->op)->traits & PTX_T_TERMINATOR);
        flow_visit_regs(in, live_visit, &c);
    }
    flow_set_row(use, &f->live_in[b], a);
    flow_set_row(def, writes, a);
}

/* Add to block b what its successors need and it does not write; true if there was more. */
static bool
flow_back(struct flow *f, uint32_t b, struct flow_set *in, struct flow_set *def, const struct flow_row *writes, struct cw_arena *a)
{
    const struct ptx_block *blk = &f->fn->blocks[b];
    bool more = false;
    flow_set_clear(in);
    flow_set_clear(def);
    flow_set_add_row(in, &f->live_in[b]);
    flow_set_add_row(def, writes);
    for (uint32_t k = 0; k < blk->nsucc; k++) {
        const struct flow_row *s = &f->live_in[blk->succ[k]];
        for (uint32_t i = 0; i < s->n; i++) {
            uint32_t w = s->word[i].index;
            uint64_t bits = s->word[i].bits & ~def->bits[w];
            if (bits & ~in->bits[w]) {
                flow_set_add(in, w, bits);
                more = true;
            }
        }
    }
    if (more)
        flow_set_row(in, &f->live_in[b], a);
    return more;
}

static void
find_liveness(struct flow *f, struct cw_arena *a)
{
    uint32_t n = f->n, nregs = f->fn->nregs;
    struct flow_set use, def;
    f->words = (nregs + 63) / 64;
    if (!f->words)
        f->words = 1;
    f->live_in = cw_arena_array(a, struct flow_row, n + 1);
    f->ndefs = cw_arena_array(a, uint32_t, nregs + 1);
    f->def_block = cw_arena_array(a, uint32_t, nregs + 1);
    struct flow_row *writes = cw_arena_array(a, struct flow_row, n + 1);
    flow_set_init(&use, f->words, a);
    flow_set_init(&def, f->words, a);
    for (uint32_t r = 0; r < nregs; r++)
        f->def_block[r] = FLOW_NONE;
    for (uint32_t b = 0; b < n; b++)
        scan_block(f, b, &use, &def, &writes[b], a);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = n; i-- > 0;)
            changed |= flow_back(f, f->order[i], &use, &def, &writes[f->order[i]], a);
    }
}

void
flow_analyse(struct flow *f, const struct ptx_function *fn, unsigned width, bool linear_x, struct cw_arena *a)
{
    memset(f, 0, sizeof *f);
    f->fn = fn;
    f->n = fn->nblocks;
    f->uniform = cw_arena_array(a, bool, fn->nregs + 1);
    f->masked_write = cw_arena_array(a, bool, fn->nregs + 1);
    f->masked = cw_arena_array(a, bool, f->n + 1);
    f->divergent = cw_arena_array(a, bool, f->n + 1);
    f->shape = cw_arena_array(a, struct flow_shape, fn->nregs + 1);
    f->spin = cw_arena_array(a, bool, f->n + 1);
    find_dominators(f, a);
    find_loops(f, a);
    find_layout(f, a);
    find_liveness(f, a);
    flow_find_spins(f, a);
    if (width > 1) {
        flow_divergence(f, width, linear_x, a);
        return;
    }
    for (uint32_t r = 0; r < fn->nregs; r++) {
        f->uniform[r] = true;
        f->shape[r].kind = FLOW_UNIFORM;
    }
}
