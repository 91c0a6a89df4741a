/* SPDX-License-Identifier: Apache-2.0
 * Runs the blocks of a launch on one worker: gang after gang, or, where gangs wait for each other, each on a fiber of its
 * own with cooperative switching at barriers. Gangs start in order, and only when no started one can continue, so a block needs
 * as many stacks as gangs wait at the same time. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"

#include "jit/ptx/ir.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PATIENCE (4 * CWH_WARP)         /* yields by lanes of a warp after which one that waits for its turn has it */
#define LOCAL_WINDOW ((1ull << 32) - CWH_ADDR32_LOCAL)

static size_t
round_up(size_t v, size_t align)
{
    return (v + align - 1) & ~(align - 1);
}

/* ---- the run queue ---- */

static void
set_gang(struct cwh_worker *w, struct cwh_fiber *f, uint32_t index)
{
    f->spun = f->in_cluster = false;
    const struct cwh_exec_launch *l = w->launch;
    uint32_t width = l->info.width, first = index * width, rest = l->nthreads - first;
    f->gang.block = &w->block;
    f->gang.first = first;
    f->gang.lanes = rest < width ? rest : width;
    f->gang.runtime = f;
    f->gang.local_top = f->gang.local + CWH_LOCAL_SIZE - 64;   /* its end would be 0 as an address of 32 bits */
}

static void
enqueue(struct cwh_worker *w, struct cwh_fiber *f)
{
    f->next = NULL;
    *w->queue_last = f;
    w->queue_last = &f->next;
}

static void
wake(struct cwh_worker *w, struct cwh_fiber *f)
{
    if (w->launch->info.width == 1)
        w->warps[f->gang.first / CWH_WARP].runnable++;
    enqueue(w, f);
}

/* A gang begins or ends. */
static inline void
moves_on(struct cwh_worker *w)
{
    w->counted = w->round;
    w->since = 0;
}

static void fiber_main(void *arg);

/* The next gang to run: one that has not begun, else the runnable one that has waited longest, else NULL. */
static inline struct cwh_fiber *
pick(struct cwh_worker *w)
{
    if (w->started < w->launch->ngangs) {
        struct cwh_fiber *f = w->idle[--w->nidle];
        moves_on(w);
        set_gang(w, f, w->started++);
        if (w->launch->info.width == 1)
            w->by_lane[f->gang.first] = f;
        if (f->fresh) {
            f->fresh = false;
            cwh_context_start(&f->context, fiber_main, f, f->slot);
        }
        return f;
    }
    struct cwh_fiber *f = w->queue;
    if (f) {
        w->queue = f->next;
        if (!w->queue)
            w->queue_last = &w->queue;
    }
    return f;
}

static inline void
switch_from(struct cwh_worker *w, struct cwh_fiber *f, struct cwh_fiber *to)
{
    if (to == f)
        return;
    w->current = to;
    cwh_context_switch(&f->context, to ? &to->context : &w->root);
    w->current = f;
}

/* ---- barriers (PTX 9.7.13.1) ---- */

static inline bool
barrier_complete(const struct cwh_worker *w, const struct cwh_barrier *b)
{
    return b->arrived >= (b->count ? b->count : w->live_threads);
}

static uint32_t
barrier_result(const struct cwh_barrier *b)
{
    return b->op == PTX_BOOL_AND ? b->all : b->op == PTX_BOOL_OR ? b->any : b->sum;
}

static void
barrier_release(struct cwh_worker *w, struct cwh_barrier *b)
{
    if (b->op == PTX_BOOL_NONE && w->launch->info.width > 1 && b->first) {      /* nothing to tell them: the whole list at once */
        *w->queue_last = b->first;
        w->queue_last = b->last;
    } else {
        uint32_t result = barrier_result(b);
        for (struct cwh_fiber *f = b->first, *next; f; f = next) {
            next = f->next;
            f->result = result;
            wake(w, f);
        }
    }
    b->first = NULL;
    b->last = &b->first;
    b->arrived = 0;
    w->armed &= ~(1u << (b - w->barriers));
}

/* A barrier counts whole gangs: lanes outside the mask have exited or are in another branch, and a warp arrives as one. Where
 * the program gives a number of threads, a multiple of 32, the threads that the last warp lacks count as well. */
static uint32_t
arrivals(const struct cwh_worker *w, const struct cwh_gang *g, uint32_t count)
{
    uint32_t n = g->lanes, end = g->first + g->lanes;
    if (count && end == w->launch->nthreads)
        n += (uint32_t)round_up(end, CWH_WARP) - end;
    return n;
}

static inline struct cwh_barrier *
barrier_arrive(struct cwh_fiber *f, uint32_t op, uint32_t id, uint32_t count, uint64_t mask, uint64_t preds)
{
    struct cwh_worker *w = f->worker;
    if (!w->launch->info.uses_fibers)
        cwh_abort(f, CWB_INTERNAL, "the kernel has a barrier that its code information does not mention");
    if (id >= CWH_BARRIERS)
        cwh_abort(f, CWB_ILLEGAL_INSTRUCTION, "barrier %u does not exist", id);
    struct cwh_barrier *b = &w->barriers[id];
    if (!b->arrived) {
        w->armed |= 1u << id;
        b->count = count;
        b->all = 1;
        b->any = b->sum = 0;
        b->op = op;
    }
    if (op != PTX_BOOL_NONE) {
        preds &= mask;
        b->all &= preds == mask;
        b->any |= preds != 0;
        b->sum += (uint32_t)__builtin_popcountll(preds);
    }
    b->arrived += arrivals(w, &f->gang, count);
    return b;
}

/* ---- the lanes of a warp when gangs are single threads ---- */

static uint32_t
group_of(const struct cwh_worker *w, const struct cwh_fiber *f, uint32_t candidates)
{
    uint32_t group = 0, base = f->gang.first & ~(CWH_WARP - 1u);
    for (uint32_t m = candidates; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        const struct cwh_fiber *g = w->by_lane[base + lane];
        if (g->site == f->site && g->members == f->members)
            group |= 1u << lane;
    }
    return group;
}

static void
exchange_release(struct cwh_worker *w, uint32_t warp, uint32_t group)
{
    struct cwh_lanes *wp = &w->warps[warp];
    wp->exchanging &= ~group;
    for (uint32_t m = group; m; m &= m - 1) {
        struct cwh_fiber *to = w->by_lane[warp * CWH_WARP + (uint32_t)__builtin_ctz(m)];
        for (uint32_t n = group; n; n &= n - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(n);
            to->values[lane] = w->by_lane[warp * CWH_WARP + lane]->value;
        }
        to->result = group;
        to->spun = false;
        wake(w, to);
    }
}

/* Resume every group with named members whose living members have all arrived. */
static void
exchange_check_members(struct cwh_worker *w, uint32_t warp)
{
    struct cwh_lanes *wp = &w->warps[warp];
    for (uint32_t m = wp->exchanging; m;) {
        struct cwh_fiber *f = w->by_lane[warp * CWH_WARP + (uint32_t)__builtin_ctz(m)];
        m &= m - 1;
        if (!f->members)
            continue;
        uint32_t group = group_of(w, f, wp->exchanging);
        if ((f->members & wp->alive & ~group) == 0) {
            exchange_release(w, warp, group);
            m &= ~group;
        }
    }
}

/* Should lanes without named members be resumed at f rather than at g? */
static bool
comes_before(const struct cwh_lanes *wp, const struct cwh_fiber *f, const struct cwh_fiber *g)
{
    uint32_t waits = wp->yields - f->since, others = wp->yields - g->since;
    if ((waits > PATIENCE || others > PATIENCE) && waits != others)
        return waits > others;
    return f->spun == g->spun ? f->site < g->site : g->spun;
}

/* No lane of the warp can run: resume those without named members, the lowest site first (the order in which the vector form of
 * the same code visits its blocks). Lanes in a spin loop come last: they may wait for the others. Which lanes are in one is not known for sure: two
 * loops that call one function meet there, and are resumed together. So who has waited while others went round and round comes first. */
static void
exchange_check_idle(struct cwh_worker *w, uint32_t warp)
{
    struct cwh_lanes *wp = &w->warps[warp];
    if (wp->runnable || !wp->exchanging)
        return;
    struct cwh_fiber *lowest = NULL;
    for (uint32_t m = wp->exchanging; m; m &= m - 1) {
        struct cwh_fiber *f = w->by_lane[warp * CWH_WARP + (uint32_t)__builtin_ctz(m)];
        if (!f->members && (!lowest || comes_before(wp, f, lowest)))
            lowest = f;
    }
    if (lowest)
        exchange_release(w, warp, group_of(w, lowest, wp->exchanging));
}

static inline void
suspend(struct cwh_fiber *f)
{
    struct cwh_worker *w = f->worker;
    if (w->launch->info.width == 1) {
        uint32_t warp = f->gang.first / CWH_WARP;
        w->warps[warp].runnable--;
        exchange_check_idle(w, warp);
    }
    switch_from(w, f, pick(w));
}

/* ---- what compiled code calls ---- */

static uint32_t
barrier_wait(struct cwh_gang *gang, uint32_t op, uint32_t id, uint32_t count, uint64_t mask, uint64_t preds)
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_worker *w = f->worker;
    struct cwh_barrier *b = barrier_arrive(f, op, id, count, mask, preds);
    if (barrier_complete(w, b)) {
        uint32_t result = barrier_result(b);
        barrier_release(w, b);
        return result;
    }
    f->next = NULL;
    *b->last = f;
    b->last = &f->next;
    suspend(f);
    return f->result;
}

void
cwh_rt_barrier(struct cwh_gang *gang, uint32_t id, uint32_t count, uint64_t mask)
{
    barrier_wait(gang, PTX_BOOL_NONE, id, count, mask, 0);
}

uint32_t
cwh_rt_bar_red(struct cwh_gang *gang, uint32_t op, uint32_t id, uint32_t count, uint64_t mask, uint64_t preds)
{
    return barrier_wait(gang, op, id, count, mask, preds);
}

void
cwh_rt_barrier_arrive(struct cwh_gang *gang, uint32_t id, uint32_t count, uint64_t mask)
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_barrier *b = barrier_arrive(f, PTX_BOOL_NONE, id, count, mask, 0);
    if (barrier_complete(f->worker, b))
        barrier_release(f->worker, b);
}

uint32_t
cwh_rt_warp_exchange(struct cwh_gang *gang, uint32_t site, uint32_t members, uint64_t value, uint64_t values[32])
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_worker *w = f->worker;
    if (w->launch->info.width != 1 || !w->launch->info.uses_fibers)
        cwh_abort(f, CWB_INTERNAL, "the kernel has a warp operation that its code information does not mention");
    uint32_t warp = gang->first / CWH_WARP;
    f->site = site;
    f->members = members;
    f->since = w->warps[warp].yields;
    f->value = value;
    f->values = values;
    w->warps[warp].exchanging |= 1u << gang->first % CWH_WARP;
    if (members)
        exchange_check_members(w, warp);
    suspend(f);
    return f->result;
}

uint32_t
cwh_rt_step_store(struct cwh_gang *gang, uint32_t site, uint64_t address)
{
    uint64_t values[CWH_WARP];
    uint32_t lanes = cwh_rt_warp_exchange(gang, site, 0, address, values);
    for (uint32_t lane = gang->first % CWH_WARP + 1; lane < CWH_WARP; lane++)
        if (lanes >> lane & 1 && values[lane] == address)
            return 0;
    return 1;
}

/* ---- barrier.cluster (PTX 9.7.13.4) ---- */

static struct cwh_cluster_barrier *
cluster_barrier(struct cwh_worker *w)
{
    return w->team ? cwh_team_barrier(w->team) : &w->own_cluster;
}

static void
cluster_check(struct cwh_cluster_barrier *b)
{
    if (b->arrived && b->arrived >= b->live) {
        b->arrived = 0;
        b->phase++;
    }
}

/* Whole gangs, as at other barriers. */
void
cwh_rt_cluster_arrive(struct cwh_gang *gang)
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_cluster_barrier *b = cluster_barrier(f->worker);
    if (!f->worker->launch->info.uses_fibers)
        cwh_abort(f, CWB_INTERNAL, "the kernel has a barrier that its code information does not mention");
    f->in_cluster = true;
    f->cluster_phase = b->phase;
    b->arrived += gang->lanes;
    cluster_check(b);
}

void
cwh_rt_cluster_wait(struct cwh_gang *gang)
{
    struct cwh_fiber *f = cwh_enter(gang);
    const struct cwh_cluster_barrier *b = cluster_barrier(f->worker);
    while (f->in_cluster && b->phase == f->cluster_phase)
        cwh_rt_yield(gang);
    f->in_cluster = false;
}

/* Exited threads are no longer waited for. */
static void
cluster_leave(struct cwh_fiber *f)
{
    struct cwh_cluster_barrier *b = cluster_barrier(f->worker);
    b->live -= f->gang.lanes;
    if (f->in_cluster && f->cluster_phase == b->phase)
        b->arrived -= f->gang.lanes;
    cluster_check(b);
}

enum { LOOK_AFTER = 64 };       /* rounds in which no gang begins or ends */

/* f yields. It has its next turn when every other gang that can run had one; then a round is over. */
static bool
new_round(struct cwh_worker *w, struct cwh_fiber *f)
{
    const bool second = f->round == w->round;
    w->round += second;
    f->round = w->round;
    return second;
}

void
cwh_rt_yield(struct cwh_gang *gang)
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_worker *w = f->worker;
    if (atomic_load_explicit(&w->launch->failed, memory_order_relaxed))
        cwh_abort(f, CWB_LAUNCH_FAILED, "another block failed");
    f->spun = true;
    if (w->launch->info.width == 1)
        w->warps[f->gang.first / CWH_WARP].yields++;
    if (w->team && ++w->yields >= w->live_gangs) {      /* all of this block may wait for another one */
        w->yields = 0;
        cwh_team_pass(w);
    }
    if (!w->team && w->launch->info.waits && new_round(w, f)) {
        if (w->launch->cooperative || w->launch->added)     /* more threads than processors */
            sched_yield();
        if (w->round - w->counted >= LOOK_AFTER) {
            w->counted = w->round;
            w->look = true;
            enqueue(w, f);
            switch_from(w, f, NULL);
            return;
        }
    }
    if (!w->launch->info.uses_fibers || (w->started == w->launch->ngangs && !w->queue)) {
        sched_yield();
        return;
    }
    /* To the queue's tail, so that a gang which has not begun runs before this one. */
    enqueue(w, f);
    switch_from(w, f, pick(w));
}

void
cwh_rt_nanosleep(struct cwh_gang *gang, uint32_t ns)
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_worker *w = f->worker;
    if (!w->launch->info.uses_fibers || (w->started == w->launch->ngangs && !w->queue)) {
        if (ns > 1000000)
            ns = 1000000;       /* the longest sleep that PTX allows */
        struct timespec t = { 0, (long)ns };
        nanosleep(&t, NULL);
    }
    cwh_rt_yield(gang);
}

/* ---- fibers ---- */

/* The gang that f ran has returned. Returns the next fiber to run. */
static struct cwh_fiber *
gang_finished(struct cwh_fiber *f)
{
    struct cwh_worker *w = f->worker;
    cluster_leave(f);
    moves_on(w);
    w->live_gangs--;
    w->live_threads -= f->gang.lanes;
    w->idle[w->nidle++] = f;
    if (w->live_threads) {
        for (uint32_t m = w->armed; m; m &= m - 1) {
            struct cwh_barrier *b = &w->barriers[__builtin_ctz(m)];
            if (!b->count && barrier_complete(w, b))
                barrier_release(w, b);
        }
    }
    if (w->launch->info.width == 1) {
        uint32_t warp = f->gang.first / CWH_WARP;
        struct cwh_lanes *wp = &w->warps[warp];
        w->by_lane[f->gang.first] = NULL;
        wp->alive &= ~(1u << f->gang.first % CWH_WARP);
        wp->runnable--;
        exchange_check_members(w, warp);
        exchange_check_idle(w, warp);
    }
    return pick(w);
}

static void
fiber_main(void *arg)
{
    struct cwh_fiber *f = arg;
    cwh_context_entered();
    for (;;) {
        f->worker->launch->run(&f->gang);
        switch_from(f->worker, f, gang_finished(f));
    }
}

static void
next_block(struct cwh_block *b)
{
    const uint32_t *grid = b->launch->grid;
    if (++b->ctaid[0] == grid[0]) {
        b->ctaid[0] = 0;
        if (++b->ctaid[1] == grid[1]) {
            b->ctaid[1] = 0;
            b->ctaid[2]++;
        }
    }
}

/* A program that reads shared memory which nobody wrote gets the same each time, not what the worker's last block left there. (A team's blocks may write into
 * each other's, so those are left alone.) */
static void
clear_shared(struct cwh_worker *w)
{
    if (!w->team && w->launch->abi.shared_size)
        memset(w->block.shared, 0, w->launch->abi.shared_size);
}

/* Kernels whose gangs never wait: run all blocks of the chunk on one context. */
static void
straight_main(void *arg)
{
    struct cwh_fiber *f = arg;
    struct cwh_worker *w = f->worker;
    cwh_context_entered();
    for (;;) {
        struct cwh_exec_launch *l = w->launch;
        for (uint64_t i = w->from; i < w->to; i++) {
            clear_shared(w);
            for (uint32_t g = 0; g < l->ngangs; g++) {
                set_gang(w, f, g);
                l->run(&f->gang);
            }
            next_block(&w->block);
            if (atomic_load_explicit(&l->failed, memory_order_relaxed))
                break;
        }
        cwh_context_switch(&f->context, &w->root);
    }
}

static void
enter(struct cwh_worker *w, struct cwh_fiber *f)
{
    w->current = f;
    w->in_kernel = 1;
    cwh_context_switch(&w->root, &f->context);
    w->in_kernel = 0;
    w->current = NULL;
}

/* Abandon every context with its frames. */
static void
forget_fibers(struct cwh_worker *w)
{
    w->aborted = false;
    w->main->fresh = true;
    w->nidle = 0;
    for (uint32_t i = w->nfibers; i-- > 0;) {
        w->fibers[i]->fresh = true;
        w->idle[w->nidle++] = w->fibers[i];
    }
}

/* Describe why no gang can run, for the message. */
static void
deadlocked(struct cwh_worker *w)
{
    uint32_t waiting = 0, exchanging = 0, id = 0;
    for (uint32_t i = 0; i < CWH_BARRIERS; i++) {
        for (struct cwh_fiber *f = w->barriers[i].first; f; f = f->next) {
            waiting += f->gang.lanes;
            id = i;
        }
    }
    for (uint32_t i = 0; w->launch->info.width == 1 && i * CWH_WARP < w->launch->nthreads; i++)
        exchanging += (uint32_t)__builtin_popcount(w->warps[i].exchanging);
    const struct cwh_barrier *b = &w->barriers[id];
    const uint32_t *c = w->block.ctaid;
    if (waiting)
        cwh_fail(w->launch, CWB_TIMEOUT,
                 "kernel %s, block (%u,%u,%u): deadlock: %u threads wait at barriers (barrier %u has %u of %u arrivals), %u in warp "
                 "operations, and no thread can run", w->launch->kernel, c[0], c[1], c[2], waiting, id, b->arrived,
                 b->count ? b->count : w->live_threads, exchanging);
    else
        cwh_fail(w->launch, CWB_TIMEOUT,
                 "kernel %s, block (%u,%u,%u): deadlock: %u threads wait in warp operations for members that never come",
                 w->launch->kernel, c[0], c[1], c[2], exchanging);
}

/* An explicit count may include exited threads: they count as arrived when no gang can run otherwise. */
static bool
rescue(struct cwh_worker *w)
{
    uint32_t gone = w->launch->nthreads - w->live_threads;
    for (unsigned i = 0; i < CWH_BARRIERS; i++) {
        struct cwh_barrier *b = &w->barriers[i];
        if (b->first && b->count && b->arrived + gone >= b->count) {
            barrier_release(w, b);
            return true;
        }
    }
    return false;
}

static void
reset_barriers(struct cwh_worker *w)
{
    for (unsigned i = 0; i < CWH_BARRIERS; i++) {
        w->barriers[i].first = NULL;
        w->barriers[i].last = &w->barriers[i].first;
        w->barriers[i].arrived = 0;
    }
    w->armed = 0;
}

static bool
run_block_fibers(struct cwh_worker *w)
{
    const struct cwh_exec_launch *l = w->launch;
    w->queue = NULL;
    w->queue_last = &w->queue;
    w->started = 0;
    w->live_gangs = l->ngangs;
    w->live_threads = l->nthreads;
    w->yields = 0;
    w->own_cluster = (struct cwh_cluster_barrier){ .live = l->nthreads };
    if (w->armed)
        reset_barriers(w);
    if (l->info.width == 1) {
        for (uint32_t i = 0; i < l->nthreads; i += CWH_WARP) {
            uint32_t n = l->nthreads - i;
            struct cwh_lanes *wp = &w->warps[i / CWH_WARP];
            wp->runnable = n < CWH_WARP ? n : CWH_WARP;
            wp->alive = n < CWH_WARP ? (1u << n) - 1 : ~0u;
            wp->exchanging = wp->yields = 0;
        }
    }
    while (w->live_gangs) {
        if (w->look) {
            w->look = false;
            cwh_exec_look(w);
        }
        struct cwh_fiber *f = pick(w);
        if (!f) {
            if (rescue(w))
                continue;
            deadlocked(w);
            return false;
        }
        enter(w, f);
        if (w->aborted)
            return false;
    }
    return true;
}

bool
cwh_run_blocks(struct cwh_worker *w, uint64_t from, uint64_t to)
{
    struct cwh_exec_launch *l = w->launch;
    const uint32_t *grid = l->abi.grid;
    w->from = from;
    w->to = to;
    w->block.ctaid[0] = (uint32_t)(from % grid[0]);
    w->block.ctaid[1] = (uint32_t)(from / grid[0] % grid[1]);
    w->block.ctaid[2] = (uint32_t)(from / grid[0] / grid[1]);
    uint64_t floats = cwh_float_enter();
    void *rested = cwh_context_rest(&w->root);
    if (!l->info.uses_fibers) {
        if (w->main->fresh) {
            w->main->fresh = false;
            cwh_context_start(&w->main->context, straight_main, w->main, 0);
        }
        enter(w, w->main);
    } else {
        for (uint64_t i = from; i < to; i++) {
            clear_shared(w);
            if (!run_block_fibers(w)) {
                w->aborted = true;
                break;
            }
            next_block(&w->block);
            if (atomic_load_explicit(&l->failed, memory_order_relaxed))
                break;
        }
    }
    cwh_context_resume(&w->root, rested);
    cwh_float_leave(floats);
    if (w->aborted) {
        if (w->fault_signal)
            cwh_fault_record(w);
        forget_fibers(w);
        return false;
    }
    return true;
}

/* ---- what a worker owns ---- */

static struct cwh_fiber *
fiber_create(struct cwh_worker *w, uint8_t *lo, size_t size, uint32_t slot)
{
    struct cwh_fiber *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->worker = w;
    f->context.lo = lo;
    f->context.size = size;
    f->fresh = true;
    f->slot = slot;
    f->gang.local_base = (uintptr_t)lo + size - (1ull << 32);
    f->gang.local_low = size < LOCAL_WINDOW ? (uint32_t)-size : CWH_ADDR32_LOCAL;
    return f;
}

static void
fiber_destroy(struct cwh_fiber *f)
{
    cwh_context_finish(&f->context);
    cwh_local_unmap(f);
    free(f);
}

static void
release_fibers(struct cwh_worker *w)
{
    for (uint32_t i = 0; i < w->nfibers; i++) {
        fiber_destroy(w->fibers[i]);
    }
    for (uint32_t i = 0; i < w->nslabs; i++)
        cwh_stacks_unmap(w->slabs[i], w->stack_size, CWH_SLAB);
    w->nfibers = w->nidle = w->nslabs = 0;
}

static void
release_main(struct cwh_worker *w)
{
    if (w->main) {
        fiber_destroy(w->main);
        w->main = NULL;
    }
    cwh_stacks_unmap(w->main_stack, w->main_size, 1);
    w->main_stack = NULL;
}

void
cwh_worker_release(struct cwh_worker *w)
{
    release_fibers(w);
    release_main(w);
    free(w->fibers);
    free(w->idle);
    free(w->slabs);
    if (w->shared_map)
        munmap(w->shared_map, w->shared_size + 2 * CWH_GUARD);
}

static size_t
power_of_two(size_t v)
{
    size_t p = 1;
    while (p < v)
        p <<= 1;
    return p;
}

/* One more slab of stacks. The new fibers go under the idle ones, lowest slot on top. */
static bool
add_fibers(struct cwh_worker *w)
{
    uint8_t *base = cwh_stacks_map(w->stack_size, CWH_SLAB);
    if (!base)
        return false;
    w->slabs[w->nslabs++] = base;
    for (unsigned i = 0; i < CWH_SLAB; i++) {
        struct cwh_fiber *f = fiber_create(w, cwh_stack_at(base, w->stack_size, i), w->stack_size, w->nfibers);
        if (!f)
            return false;
        w->fibers[w->nfibers++] = f;
    }
    w->nidle = 0;
    for (uint32_t i = w->nfibers; i-- > 0;)
        w->idle[w->nidle++] = w->fibers[i];
    return true;
}

static bool
map_locals(struct cwh_worker *w)
{
    if (!w->main->gang.local && !cwh_local_map(w->main))
        return false;
    for (uint32_t i = 0; i < w->nfibers; i++)
        if (!w->fibers[i]->gang.local && !cwh_local_map(w->fibers[i]))
            return false;
    return true;
}

bool
cwh_worker_prepare(struct cwh_worker *w, struct cwh_exec_launch *l)
{
    w->launch = l;
    w->block.launch = &l->abi;
    w->block.worker = w->number;
    w->block.runtime = w;
    w->block.cluster_rank = 0;
    w->fault_signal = 0;

    if (!w->fibers) {
        w->fibers = calloc(CWH_MAX_THREADS, sizeof *w->fibers);
        w->idle = calloc(CWH_MAX_THREADS, sizeof *w->idle);
        w->slabs = calloc(CWH_MAX_THREADS / CWH_SLAB, sizeof *w->slabs);
        if (!w->fibers || !w->idle || !w->slabs)
            goto nomem;
        reset_barriers(w);
    }
    /* Stack size: a gang's frames as the compiler reports them, the runtime's own functions, and recursion, which CUDA bounds
     * by the stack limit of a thread. */
    size_t need = 96 * 1024 + l->info.stack_hint + 2 * (l->stack_per_thread + 1024) * l->info.width;
#if defined(CWH_ASAN) || defined(CWH_TSAN)
    need *= 2;
#endif
    size_t main_need = power_of_two(need > (8u << 20) ? need : 8u << 20);
    if (!w->main || w->main_size < main_need) {
        release_main(w);
        w->main_size = main_need;
        w->main_stack = cwh_stacks_map(main_need, 1);
        if (!w->main_stack || !(w->main = fiber_create(w, cwh_stack_at(w->main_stack, main_need, 0), main_need, 0)))
            goto nomem;
    }
    if (l->info.uses_fibers) {
        need = power_of_two(need);
        if (w->stack_size < need) {
            release_fibers(w);
            w->stack_size = need;
        }
        while (w->nfibers < l->ngangs)
            if (!add_fibers(w))
                goto nomem;
    }
    if (l->info.bounded && !map_locals(w))
        goto nomem;
    if (l->abi.window && !l->info.bounded && (w->main_size > LOCAL_WINDOW || w->stack_size > LOCAL_WINDOW)) {
        cwh_fail(l, CWB_RESOURCES, "kernel %s: stacks of %llu bytes are more than its 32-bit local addresses can name", l->kernel,
                 (unsigned long long)(w->main_size > w->stack_size ? w->main_size : w->stack_size));
        return false;
    }
    size_t shared = round_up(l->abi.shared_size + 1, CWH_GUARD);
    if (w->shared_size < shared || !w->shared_map) {
        if (w->shared_map)
            munmap(w->shared_map, w->shared_size + 2 * CWH_GUARD);
        w->shared_size = shared;
        w->shared_map = mmap(NULL, shared + 2 * CWH_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (w->shared_map == MAP_FAILED) {
            w->shared_map = NULL;
            goto nomem;
        }
        if (mprotect(w->shared_map + CWH_GUARD, shared, PROT_READ | PROT_WRITE))
            goto nomem;
    }
    w->block.shared = w->shared_map + CWH_GUARD;
    return true;

nomem:
    cwh_fail(l, CWB_NOMEM,
             "kernel %s: no memory for the stacks of %u gangs or for %llu bytes of shared memory; fewer CUDAWAY_HOST_THREADS need less",
             l->kernel, l->ngangs, (unsigned long long)l->abi.shared_size);
    return false;
}
