/* SPDX-License-Identifier: Apache-2.0
 * Loops that wait for another thread: locks, flags, hand-made barriers. Threads of a block share one thread of execution
 * on the host device, so such a loop must let the others run.
 *
 * A loop waits if one of its exits depends on the result of an atomic operation, of a test of an mbarrier, of a strong or volatile load, or, where
 * the loop has a fence, of any load from global or shared memory, made in the loop. Too many found costs time, too few
 * would cost an endless loop. */
#include "jit/emit/flow.h"
#include "jit/emit/flow_private.h"

#include <string.h>

struct taint {
    uint64_t *regs;
    bool source, changed;
};

static void
visit(void *user, uint32_t r, bool write)
{
    struct taint *t = user;
    uint64_t bit = (uint64_t)1 << (r % 64);
    if (!write) {
        t->source |= (t->regs[r / 64] & bit) != 0;
    } else if (t->source && !(t->regs[r / 64] & bit)) {
        t->regs[r / 64] |= bit;
        t->changed = true;
    }
}

static bool
is_fence(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MEMBAR || in->op == PTX_OP_FENCE || in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER;
}

static bool
reads_shared_state(const struct ptx_inst *in, bool fenced)
{
    if (in->op == PTX_OP_ATOM || in->op == PTX_OP_MBARRIER_TEST_WAIT || in->op == PTX_OP_MBARRIER_TRY_WAIT)
        return true;
    if (in->op != PTX_OP_LD || in->space == PTX_SPACE_PARAM || in->space == PTX_SPACE_CONST || in->space == PTX_SPACE_LOCAL)
        return false;
    return fenced || (in->sem != PTX_SEM_NONE && in->sem != PTX_SEM_WEAK);
}

static bool
waits(const struct flow *f, uint32_t l, uint64_t *regs)
{
    const struct ptx_function *fn = f->fn;
    struct taint t = { .regs = regs };
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
            any |= reads_shared_state(&fn->insts[blk->first + i], fenced);
    }
    if (!any)
        return false;
    memset(regs, 0, f->words * sizeof *regs);
    do {
        t.changed = false;
        for (uint32_t p = first; p <= last; p++) {
            const struct ptx_block *blk = &fn->blocks[f->order[p]];
            for (uint32_t i = 0; i < blk->count; i++) {
                const struct ptx_inst *in = &fn->insts[blk->first + i];
                t.source = reads_shared_state(in, fenced);
                flow_visit_regs(in, visit, &t);
            }
        }
    } while (t.changed);
    for (uint32_t p = first; p <= last; p++) {
        uint32_t b = f->order[p];
        const struct ptx_block *blk = &fn->blocks[b];
        const struct ptx_inst *end = blk->count ? &fn->insts[blk->first + blk->count - 1] : NULL;
        if (!end || !end->has_guard || !(regs[end->guard / 64] >> (end->guard % 64) & 1))
            continue;
        for (uint32_t k = 0; k < blk->nsucc; k++)
            if (!flow_in_loop(f, blk->succ[k], l))
                return true;
    }
    return false;
}

void
flow_find_spins(struct flow *f, struct cw_arena *a)
{
    uint64_t *regs = f->nloops ? cw_arena_array(a, uint64_t, f->words) : NULL;
    for (uint32_t l = 0; l < f->nloops && regs; l++)
        f->spin[f->loops[l].header] = waits(f, l, regs);
}
