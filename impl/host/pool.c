/* SPDX-License-Identifier: Apache-2.0
 * The thread pool. Launches that need help are in a list; helpers take chunks of blocks from the first one that has any left.
 * The thread that launches works too, and waits at the end only for helpers that still run a block.
 *
 * Locks: pool.lock guards the list, the helpers' counts and the number of threads; nothing is called under it. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"

#include "impl/base/env.h"
#include "impl/base/fault.h"
#include "impl/base/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Waking a helper costs several microseconds: a launch that is known to be shorter than this runs on one thread. */
enum { WORTH_HELP_NS = 25000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct cwh_exec_launch *list;
    unsigned limit;             /* threads in all, the launching one included; 0: not read yet */
    unsigned helpers;           /* started */
    unsigned idle;              /* of them, waiting for work */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER };

static _Atomic bool stopping;

static uint64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned
threads_locked(void)
{
    if (!pool.limit) {
        cpu_set_t set;
        unsigned cpus = 1;
        if (!sched_getaffinity(0, sizeof set, &set))
            cpus = (unsigned)CPU_COUNT(&set);
        pool.limit = (unsigned)cw_env_u64(CW_ENV_HOST_THREADS, cpus ? cpus : 1, 1, 1024);
    }
    return pool.limit;
}

unsigned
cwh_exec_threads(void)
{
    pthread_mutex_lock(&pool.lock);
    unsigned n = threads_locked();
    pthread_mutex_unlock(&pool.lock);
    return n;
}

void
cwh_exec_stop(void)
{
    atomic_store(&stopping, true);
}

void
cwh_exec_after_fork(void)
{
    atomic_store(&stopping, false);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.work, NULL);
    pool.list = NULL;
    pool.helpers = pool.idle = 0;
}

/* Take chunks until none are left or the launch failed. */
static void
work_on(struct cwh_exec_launch *l, unsigned number)
{
    struct cwh_worker *w = cwh_worker_self();
    if (!w) {
        cwh_fail(l, CWB_NOMEM, "kernel %s: out of memory", l->kernel);
        return;
    }
    w->number = number;
    bool prepared = false;
    while (!atomic_load_explicit(&l->failed, memory_order_relaxed)) {
        if (atomic_load_explicit(&stopping, memory_order_relaxed)) {
            cwh_fail(l, CWB_SHUT_DOWN, "kernel %s: the program is ending", l->kernel);
            break;
        }
        uint64_t from = atomic_fetch_add_explicit(&l->next, l->chunk, memory_order_relaxed);
        if (from >= l->nblocks)
            break;
        uint64_t to = from + l->chunk < l->nblocks ? from + l->chunk : l->nblocks;
        if (!prepared && !cwh_worker_prepare(w, l))
            break;
        prepared = true;
        if (!cwh_run_blocks(w, from, to))
            break;
        if (l->info.waits)
            atomic_fetch_add_explicit(&l->ended, 1, memory_order_relaxed);
    }
    w->launch = NULL;
}

static bool
has_blocks(const struct cwh_exec_launch *l)
{
    return atomic_load_explicit(&l->next, memory_order_relaxed) < l->nblocks &&
           !atomic_load_explicit(&l->failed, memory_order_relaxed);
}

/* Lock held. */
static void
helped(struct cwh_exec_launch *l)
{
    if (--l->helpers == 0)
        pthread_cond_signal(l->done);
}

static void *
helper_main(void *arg)
{
    unsigned number = (unsigned)(uintptr_t)arg;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct cwh_exec_launch *l = pool.list;
        while (l && !has_blocks(l))
            l = l->link;
        if (!l) {
            pool.idle++;
            pthread_cond_wait(&pool.work, &pool.lock);
            pool.idle--;
            continue;
        }
        l->helpers++;
        pthread_mutex_unlock(&pool.lock);
        work_on(l, number);
        pthread_mutex_lock(&pool.lock);
        helped(l);
    }
    return NULL;
}

bool
cwh_thread_start(void *(*fn)(void *), void *arg, pthread_t *out)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 512 * 1024);
    pthread_attr_setdetachstate(&attr, out ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
    pthread_t t;
    int e = cw_thread_create(&t, &attr, fn, arg);
    pthread_attr_destroy(&attr);
    if (out)
        *out = t;
    return e == 0;
}

/* ---- cooperative launches: a thread per block, released together once all exist ---- */

bool
cwh_gate_wait(struct cwh_gate *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->open)
        pthread_cond_wait(&g->opened, &g->lock);
    bool run = g->open > 0;
    pthread_mutex_unlock(&g->lock);
    return run;
}

void
cwh_gate_open(struct cwh_gate *g, bool run)
{
    pthread_mutex_lock(&g->lock);
    g->open = run ? 1 : -1;
    pthread_cond_broadcast(&g->opened);
    pthread_mutex_unlock(&g->lock);
}

struct cooperative {
    struct cwh_exec_launch *launch;
    struct cwh_gate gate;
};

static void *
cooperative_main(void *arg)
{
    struct cooperative *c = arg;
    if (cwh_gate_wait(&c->gate))
        work_on(c->launch, 0);
    return NULL;
}

static void
run_cooperative(struct cwh_exec_launch *l)
{
    struct cooperative c = { .launch = l, .gate = CWH_GATE };
    uint64_t n = l->nblocks - 1, made = 0;
    pthread_t *threads = n ? calloc(n, sizeof *threads) : NULL;
    l->chunk = 1;
    while (threads && made < n && cwh_thread_start(cooperative_main, &c, &threads[made]))
        made++;
    if (made < n)
        cwh_fail(l, CWB_RESOURCES, "kernel %s: a cooperative launch of %llu blocks needs as many threads, and only %llu can be started",
                 l->kernel, (unsigned long long)l->nblocks, (unsigned long long)made + 1);
    cwh_gate_open(&c.gate, made == n);
    if (made == n)
        work_on(l, 0);
    for (uint64_t i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* ---- blocks that wait for each other without a cooperative launch ----
 * A GPU has hundreds of blocks in flight, and programs rely on that: barriers over the grid that they made of atomics, a block that waits for the next one. So
 * each worker whose block waits, while no block of the launch ends, adds a thread, until every block has one. */

enum { STANDS_STILL_NS = 20000000, MOST_ADDED = 1024 };

static void *
added_main(void *launch)
{
    work_on(launch, 0);
    pthread_mutex_lock(&pool.lock);
    helped(launch);
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

static bool
add_thread(struct cwh_exec_launch *l)
{
    pthread_mutex_lock(&pool.lock);
    l->helpers++;
    pthread_mutex_unlock(&pool.lock);
    if (cwh_thread_start(added_main, l, NULL)) {
        atomic_fetch_add(&l->added, 1);
        return true;
    }
    pthread_mutex_lock(&pool.lock);
    helped(l);
    pthread_mutex_unlock(&pool.lock);
    return false;
}

void
cwh_exec_look(struct cwh_worker *w)
{
    struct cwh_exec_launch *l = w->launch;
    if (l->cooperative || !has_blocks(l))
        return;
    const uint64_t ended = atomic_load_explicit(&l->ended, memory_order_relaxed), now = now_ns();
    const uint32_t added = atomic_load(&l->added);
    if (!w->since || w->ended != ended) {
        w->ended = ended;
        w->since = now;
    } else if (now - w->since >= STANDS_STILL_NS * (uint64_t)(1 + added / 16)) {     /* at most 800 in a second, as the blocks may only be slow */
        static _Atomic bool said;
        w->since = now;
        if (added < MOST_ADDED && !add_thread(l) && !atomic_exchange(&said, true))
            cw_warn("kernel %s: its blocks wait for each other, and no more threads can be started for those that have not begun", l->kernel);
    }
}

/* Those that earlier launches needed; the pool has n. */
static void
add_known(struct cwh_exec_launch *l, unsigned n, uint32_t cost)
{
    const uint32_t known = cost & CWH_TOGETHER ? cost & ~CWH_TOGETHER : 0;
    for (uint64_t all = n; all < known && all < l->nblocks && all < MOST_ADDED; all++)
        if (!add_thread(l))
            break;
}

/* What the launch says of the kernel's next one; ns: a block's time. */
static void
learn(struct cwh_exec_launch *l, unsigned n, uint32_t cost, double ns)
{
    const uint32_t all = atomic_load(&l->added) + n, each = ns < 1 ? 1 : ns > 2e9 ? 2000000000u : (uint32_t)ns;
    if (all > n && all >= l->nblocks && (CWH_TOGETHER | all) > cost)
        atomic_store_explicit(l->cost, CWH_TOGETHER | all, memory_order_relaxed);
    else if (!(cost & CWH_TOGETHER))    /* the first launch pays for page faults and new threads: replace its time by the second's */
        atomic_store_explicit(l->cost, cost && each > cost ? cost / 2 + each / 2 : each, memory_order_relaxed);
}

/* ---- ordinary launches ---- */

/* Put the launch on the list and wake as many helpers as can have work. */
static void
call_helpers(struct cwh_exec_launch *l)
{
    uint64_t chunks = (l->nblocks + l->chunk - 1) / l->chunk;
    pthread_mutex_lock(&pool.lock);
    unsigned want = threads_locked() - 1;
    if (chunks - 1 < want)
        want = (unsigned)(chunks - 1);
    l->listed = true;
    l->link = NULL;
    struct cwh_exec_launch **tail = &pool.list;
    while (*tail)
        tail = &(*tail)->link;
    *tail = l;
    while (pool.helpers < want && pool.idle < want) {
        if (!cwh_thread_start(helper_main, (void *)(uintptr_t)(pool.helpers + 1), NULL)) {
            cw_warn("cannot start worker thread %u; going on with fewer", pool.helpers + 1);
            pool.limit = pool.helpers + 1;
            break;
        }
        pool.helpers++;
    }
    if (pool.idle <= want)
        pthread_cond_broadcast(&pool.work);
    else
        for (unsigned i = 0; i < want; i++)
            pthread_cond_signal(&pool.work);
    pthread_mutex_unlock(&pool.lock);
}

static void
dismiss_helpers(struct cwh_exec_launch *l)
{
    pthread_mutex_lock(&pool.lock);
    struct cwh_exec_launch **p = &pool.list;
    while (l->listed && *p != l)
        p = &(*p)->link;
    if (l->listed)
        *p = l->link;
    while (l->helpers)
        pthread_cond_wait(l->done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void
cwh_exec_run(struct cwh_exec_launch *l)
{
    cw_faults_claim();
    l->abi.runtime = l;
    l->nblocks = (uint64_t)l->abi.grid[0] * l->abi.grid[1] * l->abi.grid[2];
    uint64_t threads = (uint64_t)l->abi.block[0] * l->abi.block[1] * l->abi.block[2];
    l->nthreads = (uint32_t)threads;
    atomic_store(&l->next, 0);
    atomic_store(&l->failed, 0);
    l->result = CWB_OK;
    l->message[0] = 0;
    l->helpers = 0;
    l->listed = false;
    atomic_store(&l->ended, 0);
    atomic_store(&l->added, 0);
    if (!l->stack_per_thread)
        l->stack_per_thread = 1024;
    if (!threads || threads > CWH_MAX_THREADS || !l->info.width || l->info.width > CWH_WARP || CWH_WARP % l->info.width) {
        cwh_fail(l, CWB_INVALID, "kernel %s: %llu threads per block in gangs of %u cannot run", l->kernel, (unsigned long long)threads,
                 l->info.width);
        return;
    }
    l->ngangs = (l->nthreads + l->info.width - 1) / l->info.width;
    if (!l->nblocks)
        return;
    uint32_t workspace[CWH_GRID_WORKSPACE / 4] __attribute__((aligned(8))) = { sizeof workspace, 0 };
    if (l->cooperative && !l->abi.window)       /* without a 32-bit address: grid.sync() has none */
        l->abi.grid_workspace = (uintptr_t)workspace;
    if ((uint64_t)l->abi.cluster[0] * l->abi.cluster[1] * l->abi.cluster[2] > 1) {
        cwh_run_clusters(l);
        return;
    }
    l->abi.cluster[0] = l->abi.cluster[1] = l->abi.cluster[2] = 1;
    l->abi.cluster_stride = l->abi.shared_size + 1;
    if (l->cooperative && l->nblocks > 1) {
        run_cooperative(l);
        return;
    }

    unsigned n = cwh_exec_threads();
    uint64_t chunk = l->nblocks / (n * 16u);
    l->chunk = (uint32_t)(chunk < 1 ? 1 : chunk > 256 ? 256 : chunk);
    const uint32_t cost = l->cost ? atomic_load_explicit(l->cost, memory_order_relaxed) : 0;
    bool help = n > 1 && l->nblocks > 1 && (!cost || cost * (double)l->nblocks > WORTH_HELP_NS);
    if (!help && (uint64_t)l->chunk < l->nblocks)
        l->chunk = (uint32_t)(l->nblocks < 256 ? l->nblocks : 256);
    if (l->info.waits)
        l->chunk = 1;

    pthread_cond_t done = PTHREAD_COND_INITIALIZER;
    l->done = &done;
    uint64_t start = now_ns();
    if (help)
        call_helpers(l);
    add_known(l, n, cost);
    work_on(l, 0);
    dismiss_helpers(l);
    if (l->cost && !atomic_load(&l->failed))
        learn(l, n, cost, (double)(now_ns() - start) * (help ? n : 1) / (double)l->nblocks);
    pthread_cond_destroy(&done);
}
