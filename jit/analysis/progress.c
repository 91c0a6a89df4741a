/* SPDX-License-Identifier: Apache-2.0
 * See progress.h. Warps of a block wait for each other elsewhere than at a barrier that all reach together in three cases:
 *
 *   1. a barrier with a number or a thread count, which is meant for some of the warps (REQUIRED);
 *   2. a loop whose exit waits for memory that another thread writes (MAYBE). Two do not wait, because they fail only if another
 *      thread has made progress: a compare-and-swap that retries with the value found, and a ticket drawn by an atomic addition;
 *   3. bar.sync 0 where warps may have diverged: behind a branch that is not uniform in the block, if two of its paths have a
 *      barrier, or if one path has a barrier and another follows their join (MAYBE: in most such kernels the block agrees, but
 *      the analysis cannot see that). A barrier counts a finished warp as present, so a path that ends does not count.
 *
 * A value is uniform in the block unless it comes from thread numbers, atomics, other lanes, calls, or loads from non-uniform addresses. */
#include "jit/analysis/progress.h"
#include "jit/analysis/flow.h"
#include "jit/analysis/flow_private.h"
#include "jit/link/program.h"

#include <string.h>

/* Facts of a function with its call closure. */
struct has {
    bool barrier;                   /* bar.sync 0 */
    bool peek;                      /* a load that may be the test of a wait loop */
};

struct progress {
    struct cwj_program *p;
    const struct cwj_closure *closure;
    struct has *has;                /* by function id */
    struct has indirect;            /* of the functions that a call through a register may target */
    struct cw_arena arena;          /* for one function */
    /* the current loop */
    bool fenced, calls;             /* it has a fence; it calls a function that peeks */
    const uint64_t *memory;         /* registers that hold values read from memory in it */
};

/* ---- instructions ---- */

static bool
is_barrier(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER;
}

/* The barrier of the whole block: number 0, no count; bar.red has its predicate behind. */
static bool
is_whole(const struct ptx_inst *in)
{
    bool red = in->mode == PTX_MODE_RED;
    const struct ptx_operand *id = &in->operand[red];
    return in->mode != PTX_MODE_ARRIVE && in->noperands == (red ? 3 : 1) && id->kind == PTX_OPND_IMM && id->imm == 0;
}

static bool
is_load(const struct ptx_inst *in)
{
    return in->op == PTX_OP_LD && in->space != PTX_SPACE_PARAM && in->space != PTX_SPACE_CONST && in->space != PTX_SPACE_LOCAL;
}

static bool
is_fence(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MEMBAR || in->op == PTX_OP_FENCE;
}

/* Draws a ticket: the next draw gives another number. */
static bool
is_ticket(const struct ptx_inst *in)
{
    const struct ptx_operand *by = &in->operand[2];
    return in->atomop == PTX_ATOM_INC || in->atomop == PTX_ATOM_DEC ||
           (in->atomop == PTX_ATOM_ADD && !(by->kind == PTX_OPND_IMM && by->imm == 0));
}

static bool
peeks(const struct ptx_inst *in, bool fenced)
{
    if (in->op == PTX_OP_MBARRIER_TEST_WAIT || in->op == PTX_OP_MBARRIER_TRY_WAIT)
        return true;
    if (in->op == PTX_OP_ATOM)
        return !is_ticket(in);
    return is_load(in) && (fenced || (in->sem != PTX_SEM_NONE && in->sem != PTX_SEM_WEAK));
}

/* ---- facts of functions ---- */

static struct has
called(const struct progress *w, const struct ptx_inst *in)
{
    struct has h = { 0 };
    if (in->op != PTX_OP_CALL)
        return h;
    bool direct = false;
    for (unsigned i = 0; i < in->noperands; i++) {
        const struct ptx_operand *o = &in->operand[i];
        if (!o->sym || (o->sym->kind != PTX_SYM_FUNC && o->sym->kind != PTX_SYM_ALIAS))
            continue;
        if (o->sym->link_id < w->p->nfuncs)
            h = w->has[o->sym->link_id];
        direct = true;
    }
    return direct ? h : w->indirect;
}

/* False: a barrier has a number or a count. */
static bool
scan(struct progress *w, const struct ptx_function *fn, struct has *h)
{
    bool fenced = false;
    for (uint32_t i = 0; i < fn->ninsts; i++)
        fenced |= is_fence(&fn->insts[i]);
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        if (is_barrier(in) && !is_whole(in))
            return false;
        h->barrier |= is_barrier(in);
        h->peek |= peeks(in, fenced);
    }
    return true;
}

/* Propagate callees' facts to callers until nothing changes. */
static void
propagate(struct progress *w)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < w->closure->nfuncs; k++) {
            const struct cwj_function *f = cwj_program_function(w->p, w->closure->funcs[k]);
            struct has *h = &w->has[w->closure->funcs[k]], old = *h;
            for (uint32_t i = 0; i < f->ncallees; i++) {
                h->barrier |= w->has[f->callees[i]].barrier;
                h->peek |= w->has[f->callees[i]].peek;
            }
            if (f->calls_indirect) {
                h->barrier |= w->indirect.barrier;
                h->peek |= w->indirect.peek;
            }
            if (f->address_taken) {
                w->indirect.barrier |= h->barrier;
                w->indirect.peek |= h->peek;
            }
            changed |= old.barrier != h->barrier || old.peek != h->peek;
        }
    }
}

/* ---- 2: loops ---- */

static bool
reads_memory(const struct ptx_inst *in, void *user)
{
    (void)user;
    return in->op == PTX_OP_ATOM || is_load(in);
}

/* Unoptimised code keeps values in local memory and passes them through calls, which this analysis does not track. */
static bool
is_source(const struct ptx_inst *in, void *user)
{
    const struct progress *w = user;
    if (in->op == PTX_OP_LD && in->space == PTX_SPACE_LOCAL)
        return true;
    if (w->calls && (in->op == PTX_OP_CALL || (in->op == PTX_OP_LD && in->space == PTX_SPACE_PARAM)))
        return true;
    if (!peeks(in, w->fenced))
        return false;
    if (in->op != PTX_OP_ATOM || in->atomop != PTX_ATOM_CAS || in->operand[2].kind != PTX_OPND_REG)
        return true;
    uint32_t r = in->operand[2].index;
    return !(w->memory[r / 64] >> (r % 64) & 1);    /* false: it retries with the value found */
}

static bool
loop_waits(struct progress *w, const struct flow *f, uint32_t l, uint64_t *memory, uint64_t *regs)
{
    const struct ptx_function *fn = f->fn;
    uint32_t first = f->position[f->loops[l].header], last = f->loops[l].last;
    bool any = false;
    w->memory = memory;
    w->fenced = w->calls = false;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t p = first; p <= last; p++) {
            const struct ptx_block *blk = &fn->blocks[f->order[p]];
            for (uint32_t i = 0; i < blk->count; i++) {
                const struct ptx_inst *in = &fn->insts[blk->first + i];
                w->fenced |= is_fence(in);
                w->calls |= called(w, in).peek;
                any |= w->calls || (pass && peeks(in, w->fenced));
            }
        }
    if (!any)
        return false;
    flow_taint(f, l, memory, false, reads_memory, w);
    flow_taint(f, l, regs, true, is_source, w);
    return flow_leaves_by(f, l, regs);
}

/* ---- 3: barriers of diverged warps ---- */

struct apart {
    const struct flow *f;
    bool *barrier;                  /* the block has one */
    bool *ahead;                    /* has one, or can reach one */
    uint32_t *stack, *visited, stamp;
    uint64_t budget;                /* remaining block visits; at 0 warps are assumed to diverge */
};

/* Can a barrier be reached from `start` before `join`? */
static bool
path_has(struct apart *a, uint32_t start, uint32_t join)
{
    uint32_t top = 0;
    if (start == join || !a->ahead[start])
        return false;
    a->stamp++;
    a->stack[top++] = start;
    a->visited[start] = a->stamp;
    while (top && a->budget) {
        uint32_t b = a->stack[--top];
        a->budget--;
        if (a->barrier[b])
            return true;
        const struct ptx_block *blk = &a->f->fn->blocks[b];
        for (uint32_t k = 0; k < blk->nsucc; k++)
            if (blk->succ[k] != join && a->visited[blk->succ[k]] != a->stamp && a->ahead[blk->succ[k]]) {
                a->visited[blk->succ[k]] = a->stamp;
                a->stack[top++] = blk->succ[k];
            }
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
            if (!is_barrier(in) && !called(w, in).barrier)
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

static cw_result
barriers_apart(struct progress *w, const struct flow *f, bool *yes)
{
    uint32_t n = f->n;
    struct apart a = { .f = f, .barrier = cw_arena_array(&w->arena, bool, n + 1), .ahead = cw_arena_array(&w->arena, bool, n + 1),
                       .stack = cw_arena_array(&w->arena, uint32_t, n + 1), .visited = cw_arena_array(&w->arena, uint32_t, n + 1),
                       .budget = 100 * (uint64_t)n + 1000 };
    if (!a.barrier || !a.ahead || !a.stack || !a.visited)
        return CW_ERR_NOMEM;
    *yes = find_barriers(w, &a);
    for (uint32_t b = 0; b < n && !*yes; b++) {
        const struct ptx_block *blk = &f->fn->blocks[b];
        uint32_t join = f->ipdom[b], paths = 0;
        if (!f->divergent[b] || !a.ahead[b])
            continue;
        for (uint32_t k = 0; k < blk->nsucc; k++)
            paths += path_has(&a, blk->succ[k], join);
        *yes = paths > 1 || (paths == 1 && join < n && a.ahead[join]);
    }
    return CW_OK;
}

/* ---- functions and kernels ---- */

static cw_result
function_waits(struct progress *w, const struct ptx_function *fn, const struct has *h, bool *yes)
{
    struct flow f;
    cw_result r = ptx_function_build_cfg((struct ptx_function *)fn);
    if (r == CW_OK)
        r = flow_analyse(&f, fn, h->barrier ? FLOW_BLOCK : 1, false, &w->arena);
    if (r != CW_OK)
        return r;
    uint64_t *memory = cw_arena_array(&w->arena, uint64_t, f.words), *regs = cw_arena_array(&w->arena, uint64_t, f.words);
    if (!memory || !regs)
        return CW_ERR_NOMEM;
    for (uint32_t l = 0; l < f.nloops && h->peek && !*yes; l++)
        *yes = loop_waits(w, &f, l, memory, regs);
    return h->barrier && !*yes ? barriers_apart(w, &f, yes) : CW_OK;
}

static cw_result
kernel_progress(struct progress *w, enum cwj_progress *out)
{
    *out = CWJ_PROGRESS_REQUIRED;
    for (uint32_t k = 0; k < w->closure->nfuncs; k++) {
        const struct cwj_function *f = cwj_program_function(w->p, w->closure->funcs[k]);
        if (f->fn && f->fn->has_body && !scan(w, f->fn, &w->has[w->closure->funcs[k]]))
            return CW_OK;
    }
    propagate(w);
    *out = CWJ_PROGRESS_COMMON;
    for (uint32_t k = 0; k < w->closure->nfuncs; k++) {
        const struct cwj_function *f = cwj_program_function(w->p, w->closure->funcs[k]);
        const struct has *h = &w->has[w->closure->funcs[k]];
        bool yes = false;
        if (!f->fn || !f->fn->has_body || (!h->barrier && !h->peek))
            continue;
        cw_arena_init(&w->arena);
        cw_result r = function_waits(w, f->fn, h, &yes);
        cw_arena_finish(&w->arena);
        if (r != CW_OK)
            return r;
        if (yes) {
            *out = CWJ_PROGRESS_MAYBE;
            return CW_OK;
        }
    }
    return CW_OK;
}

enum cwj_progress
cwj_independent_progress(struct cwj_program *p, uint32_t index)
{
    if (index >= p->nkernels)
        return CWJ_PROGRESS_COMMON;
    struct cwj_closure *closure = &p->closure[index];
    struct progress w = { .p = p, .closure = closure };
    enum cwj_progress result = CWJ_PROGRESS_COMMON;
    struct cw_arena arena;
    pthread_mutex_lock(&p->lock);
    if (!closure->progress) {
        cw_arena_init(&arena);
        w.has = cw_arena_array(&arena, struct has, (size_t)p->nfuncs + 1);
        if (w.has && kernel_progress(&w, &result) == CW_OK)
            closure->progress = (uint8_t)(result + 1);
        cw_arena_finish(&arena);
    } else {
        result = (enum cwj_progress)(closure->progress - 1);
    }
    pthread_mutex_unlock(&p->lock);
    return result;
}
