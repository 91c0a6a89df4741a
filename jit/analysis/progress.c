/* SPDX-License-Identifier: Apache-2.0
 * See progress.h. Warps of a block wait for each other elsewhere than at a barrier that all reach together in three cases:
 *
 *   1. a barrier with a number or a thread count, which is meant for some of the warps (REQUIRED);
 *   2. a loop whose exit waits for memory that another thread writes (MAYBE). Two do not wait, because they fail only if another
 *      thread has made progress: a compare-and-swap that retries with the value found, and a ticket drawn by an atomic addition (waits.c);
 *   3. bar.sync 0 where warps may have diverged: behind a branch that is not uniform in the block, if two of its paths have a
 *      barrier, or if one path has a barrier and another follows their join (MAYBE: in most such kernels the block agrees, but
 *      the analysis cannot see that). A barrier counts a finished warp as present, so a path that ends does not count.
 *
 * A value is uniform in the block unless it comes from thread numbers, atomics, other lanes, calls, or loads from non-uniform addresses. */
#include "jit/analysis/progress.h"
#include "jit/analysis/find.h"
#include "jit/analysis/flow_private.h"
#include "jit/analysis/waits.h"

#include <string.h>

struct progress {
    struct cwj_program *p;
    const struct cwj_closure *closure;
    struct waits waits;
    struct cw_arena arena;
    enum cwj_progress result;
};

/* The barrier of the whole block: number 0, no count; bar.red has its predicate behind. Or that of its whole cluster. */
static bool
is_whole(const struct ptx_inst *in)
{
    bool red = in->mode == PTX_MODE_RED;
    const struct ptx_operand *id = &in->operand[red];
    return in->op == PTX_OP_BARRIER_CLUSTER || (in->mode != PTX_MODE_ARRIVE && in->noperands == (red ? 3 : 1) && id->kind == PTX_OPND_IMM && id->imm == 0);
}

static bool
is_partial(const struct ptx_inst *in)
{
    return waits_is_barrier(in) && !is_whole(in);
}

/* ---- 3: barriers of diverged warps ---- */

struct apart {
    const struct flow *f;
    bool *barrier;                  /* the block has one */
    bool *ahead;                    /* has one, or can reach one */
    struct flow_walk walk;
    uint64_t budget;                /* remaining block visits; at 0 warps are assumed to diverge */
};

/* Can a barrier be reached from `start` before `join`? */
static bool
path_has(struct apart *a, uint32_t start, uint32_t join)
{
    if (start == join || !a->ahead[start])
        return false;
    flow_walk_from(&a->walk, start);
    while (a->walk.top && a->budget) {
        uint32_t b = a->walk.stack[--a->walk.top];
        const struct ptx_block *blk = &a->f->fn->blocks[b];
        a->budget--;
        if (a->barrier[b])
            return true;
        for (uint32_t k = 0; k < blk->nsucc; k++)
            if (blk->succ[k] != join && a->ahead[blk->succ[k]])
                flow_walk_to(&a->walk, blk->succ[k]);
    }
    return !a->budget;
}

static bool
find_barriers(struct progress *w, struct apart *a)
{
    const struct ptx_function *fn = a->f->fn;
    bool guarded = false;
    for (uint32_t b = 0; b < a->f->n; b++)
        for (uint32_t i = 0; i < fn->blocks[b].count; i++) {
            const struct ptx_inst *in = &fn->insts[fn->blocks[b].first + i];
            if (!waits_is_barrier(in) && !waits_called(&w->waits, in).barrier)
                continue;
            a->barrier[b] = a->ahead[b] = true;
            guarded |= in->has_guard && !a->f->uniform[in->guard];
        }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = a->f->n; p-- > 0;) {
            const struct ptx_block *blk = &fn->blocks[a->f->order[p]];
            for (uint32_t k = 0; k < blk->nsucc && !a->ahead[a->f->order[p]]; k++)
                changed |= a->ahead[a->f->order[p]] = a->ahead[blk->succ[k]];
        }
    }
    return guarded;
}

static bool
barriers_apart(struct progress *w, const struct flow *f)
{
    uint32_t n = f->n;
    struct apart a = { .f = f, .barrier = cw_arena_array(&w->arena, bool, n + 1), .ahead = cw_arena_array(&w->arena, bool, n + 1),
                       .walk = flow_walk_new(n, &w->arena), .budget = 100 * (uint64_t)n + 1000 };
    bool yes = find_barriers(w, &a);
    for (uint32_t b = 0; b < n && !yes; b++) {
        const struct ptx_block *blk = &f->fn->blocks[b];
        uint32_t join = f->ipdom[b], paths = 0;
        if (!f->divergent[b] || !a.ahead[b])
            continue;
        for (uint32_t k = 0; k < blk->nsucc; k++)
            paths += path_has(&a, blk->succ[k], join);
        yes = paths > 1 || (paths == 1 && join < n && a.ahead[join]);
    }
    return yes;
}

/* ---- functions and kernels ---- */

static bool
function_waits(struct progress *w, const struct ptx_function *fn, const struct wait_facts *h)
{
    struct flow f;
    if (ptx_function_build_cfg((struct ptx_function *)fn) != CW_OK)
        cw_arena_exhausted(&w->arena);
    flow_analyse(&f, fn, h->barrier ? FLOW_BLOCK : 1, false, &w->arena);
    waits_begin(&w->waits, &f, &w->arena);
    bool yes = false;
    for (uint32_t l = 0; l < f.nloops && h->peek && !yes; l++)
        yes = waits_in(&w->waits, &f, l, false);
    return yes || (h->barrier && barriers_apart(w, &f));
}

static void
kernel_progress(void *user)
{
    struct progress *w = user;
    bool partial = cwj_closure_has_inst(w->p, w->closure, is_partial), yes = false;
    if (!partial)
        waits_collect(&w->waits, w->p, w->closure->funcs, w->closure->nfuncs, &w->arena);
    for (uint32_t k = 0; k < w->closure->nfuncs && !partial && !yes; k++) {
        const struct cwj_function *f = cwj_program_function(w->p, w->closure->funcs[k]);
        const struct wait_facts *h = &w->waits.facts[w->closure->funcs[k]];
        yes = f->fn && f->fn->has_body && (h->barrier || h->peek) && function_waits(w, f->fn, h);
    }
    w->result = partial ? CWJ_PROGRESS_REQUIRED : yes ? CWJ_PROGRESS_MAYBE : CWJ_PROGRESS_COMMON;
}

enum cwj_progress
cwj_independent_progress_locked(struct cwj_program *p, uint32_t index)
{
    if (index >= p->nkernels)
        return CWJ_PROGRESS_COMMON;
    struct cwj_closure *closure = &p->closure[index];
    if (closure->progress)
        return (enum cwj_progress)(closure->progress - 1);
    struct progress w = { .p = p, .closure = closure, .result = CWJ_PROGRESS_COMMON };
    cw_arena_init(&w.arena);
    if (cw_arena_guard(&w.arena, kernel_progress, &w))
        closure->progress = (uint8_t)(w.result + 1);
    cw_arena_finish(&w.arena);
    return w.result;
}

enum cwj_progress
cwj_independent_progress(struct cwj_program *p, uint32_t index)
{
    pthread_mutex_lock(&p->lock);
    enum cwj_progress result = cwj_independent_progress_locked(p, index);
    pthread_mutex_unlock(&p->lock);
    return result;
}
