/* SPDX-License-Identifier: Apache-2.0
 * Loops that wait for another thread: locks, flags, hand-written barriers. On the host device the threads of a block share one thread of
 * execution, so such a loop must let the others run.
 *
 * A loop waits if one of its exits depends on one of these, executed in the loop: an atomic operation, a test of an mbarrier, a strong or
 * volatile load, or, if the loop has a fence, any load from global or shared memory. A false positive costs time; a false negative is an
 * endless loop. */
#include "jit/analysis/flow.h"
#include "jit/analysis/flow_private.h"

#include <string.h>

struct taint {
    const struct flow *f;
    uint64_t *regs;
    bool source, changed;
    bool joined_only;               /* count only writes of registers with several definitions */
};

static void
visit(void *user, uint32_t r, bool write)
{
    struct taint *t = user;
    uint64_t bit = (uint64_t)1 << (r % 64);
    if (!write) {
        t->source |= !t->joined_only && (t->regs[r / 64] & bit) != 0;
    } else if (t->source && !(t->regs[r / 64] & bit) && (!t->joined_only || t->f->ndefs[r] > 1)) {
        t->regs[r / 64] |= bit;
        t->changed = true;
    }
}

static bool
tainted_end(const struct flow *f, uint32_t b, const uint64_t *regs)
{
    const struct ptx_block *blk = &f->fn->blocks[b];
    const struct ptx_inst *end = blk->count ? &f->fn->insts[blk->first + blk->count - 1] : NULL;
    if (!end)
        return false;
    const struct ptx_operand *index = end->op == PTX_OP_BRX_IDX && end->operand[0].kind == PTX_OPND_REG ? &end->operand[0] : NULL;
    return (end->has_guard && regs[end->guard / 64] >> (end->guard % 64) & 1) || (index && regs[index->index / 64] >> (index->index % 64) & 1);
}

/* Registers written between a tainted branch in the loop and its join depend on the branch. */
static void
taint_paths(struct taint *t, uint32_t l)
{
    const struct flow *f = t->f;
    t->joined_only = t->source = true;
    for (uint32_t p = f->position[f->loops[l].header]; p <= f->loops[l].last; p++) {
        uint32_t b = f->order[p], join = f->ipdom[b];
        if (!tainted_end(f, b, t->regs))
            continue;
        /* The layout puts the blocks between a branch and its join right behind the branch: up to the join if that is in the loop and not
         * its header, else up to the end of the loop. */
        bool within = join < f->n && flow_in_loop(f, join, l) && f->position[join] > p;
        uint32_t end = within ? f->position[join] : f->loops[l].last + 1;
        for (uint32_t q = p + 1; q < end; q++)
            for (uint32_t i = 0; i < f->fn->blocks[f->order[q]].count; i++)
                flow_visit_regs(&f->fn->insts[f->fn->blocks[f->order[q]].first + i], visit, t);
    }
    t->joined_only = false;
}

void
flow_taint(const struct flow *f, uint32_t l, uint64_t *regs, bool control, bool (*source)(const struct ptx_inst *, void *), void *user)
{
    struct taint t = { .f = f, .regs = regs };
    uint32_t first = f->position[f->loops[l].header], last = f->loops[l].last;
    memset(regs, 0, f->words * sizeof *regs);
    do {
        t.changed = false;
        for (uint32_t p = first; p <= last; p++) {
            const struct ptx_block *blk = &f->fn->blocks[f->order[p]];
            for (uint32_t i = 0; i < blk->count; i++) {
                const struct ptx_inst *in = &f->fn->insts[blk->first + i];
                t.source = source(in, user);
                flow_visit_regs(in, visit, &t);
            }
        }
        if (control)
            taint_paths(&t, l);
    } while (t.changed);
}

/* Does control from block b reach the loop's header unconditionally? Then a branch to b is a back edge. */
static bool
goes_round(const struct flow *f, uint32_t b, uint32_t l)
{
    for (unsigned steps = 0; steps < 16 && f->fn->blocks[b].nsucc == 1 && b != f->loops[l].header; steps++)
        b = f->fn->blocks[b].succ[0];
    return b == f->loops[l].header;
}

bool
flow_leaves_by(const struct flow *f, uint32_t l, const uint64_t *regs)
{
    for (uint32_t p = f->position[f->loops[l].header]; p <= f->loops[l].last; p++) {
        uint32_t b = f->order[p];
        const struct ptx_block *blk = &f->fn->blocks[b];
        if (!tainted_end(f, b, regs))
            continue;
        if (flow_guarded_leave(f->fn, b))
            return true;
        for (uint32_t k = 0; k < blk->nsucc; k++)       /* a back edge: another loop with the same header */
            if (!flow_in_loop(f, blk->succ[k], l) || (blk->nsucc > 1 && goes_round(f, blk->succ[k], l)))
                return true;
    }
    return false;
}

static bool
is_fence(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MEMBAR || in->op == PTX_OP_FENCE || in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER;
}

/* user: whether the loop has a fence */
static bool
reads_shared_state(const struct ptx_inst *in, void *user)
{
    if (in->op == PTX_OP_ATOM || in->op == PTX_OP_MBARRIER_TEST_WAIT || in->op == PTX_OP_MBARRIER_TRY_WAIT)
        return true;
    if (in->op != PTX_OP_LD || in->space == PTX_SPACE_PARAM || in->space == PTX_SPACE_CONST || in->space == PTX_SPACE_LOCAL)
        return false;
    return *(const bool *)user || (in->sem != PTX_SEM_NONE && in->sem != PTX_SEM_WEAK);
}

static bool
waits(const struct flow *f, uint32_t l, uint64_t *regs)
{
    const struct ptx_function *fn = f->fn;
    bool fenced = false, any = false;
    uint32_t first = f->position[f->loops[l].header], last = f->loops[l].last;
    for (uint32_t p = first; p <= last; p++) {
        const struct ptx_block *blk = &fn->blocks[f->order[p]];
        for (uint32_t i = 0; i < blk->count; i++)
            fenced |= is_fence(&fn->insts[blk->first + i]);
    }
    for (uint32_t p = first; p <= last && !any; p++) {
        const struct ptx_block *blk = &fn->blocks[f->order[p]];
        for (uint32_t i = 0; i < blk->count; i++)
            any |= reads_shared_state(&fn->insts[blk->first + i], &fenced);
    }
    if (!any)
        return false;
    flow_taint(f, l, regs, true, reads_shared_state, &fenced);
    return flow_leaves_by(f, l, regs);
}

void
flow_find_spins(struct flow *f, struct cw_arena *a)
{
    uint64_t *regs = f->nloops ? cw_arena_array(a, uint64_t, f->words) : NULL;
    for (uint32_t l = 0; l < f->nloops; l++)
        f->spin[f->loops[l].header] = waits(f, l, regs);
}
