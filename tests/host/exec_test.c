/* SPDX-License-Identifier: Apache-2.0
 * The engine with kernels written in C against jit/abi/host.h, as the compiler would emit them: distribution of blocks,
 * partial gangs, barriers of all kinds, warp exchanges of one-lane gangs, deadlocks, faults and traps, and that the
 * engine works as before after each of them. Expected values are closed forms. */
#define _GNU_SOURCE
#include "impl/host/exec.h"
#include "jit/ptx/ir.h"
#include "tests/host/check.h"

#include <fenv.h>
#include <float.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The largest block; under the thread sanitizer, where a context costs milliseconds, a smaller one. */
#ifdef __SANITIZE_THREAD__
enum { MANY = 160 };
#else
enum { MANY = 1024 };
#endif

static struct cwh_exec_launch
launch(cwh_kernel_fn *run, uint32_t blocks, uint32_t threads, uint32_t width, bool fibers, const void *params)
{
    struct cwh_exec_launch l;
    memset(&l, 0, sizeof l);
    l.abi.grid[0] = blocks;
    l.abi.grid[1] = l.abi.grid[2] = 1;
    l.abi.block[0] = threads;
    l.abi.block[1] = l.abi.block[2] = 1;
    l.abi.params = params;
    l.abi.shared_size = 16384;
    l.run = run;
    l.info.width = width;
    l.info.uses_fibers = fibers;
    l.kernel = "k";
    return l;
}

static uint64_t
full(const struct cwh_gang *g)
{
    return g->lanes == 64 ? ~0ull : (1ull << g->lanes) - 1;
}

/* ---- every thread of every block exactly once; 3-D block numbers ---- */

static void
count_threads(struct cwh_gang *g)
{
    _Atomic uint32_t *out = *(_Atomic uint32_t *const *)g->block->launch->params;
    const uint32_t *grid = g->block->launch->grid, *c = g->block->ctaid;
    uint32_t n = g->block->launch->block[0];
    uint32_t b = c[0] + grid[0] * (c[1] + grid[1] * c[2]);
    for (uint32_t i = 0; i < g->lanes; i++)
        atomic_fetch_add_explicit(&out[b * n + g->first + i], 1, memory_order_relaxed);
}

static void
test_distribution(void)
{
    static const struct { uint32_t grid[3], threads, width; } cases[] = {
        { { 1, 1, 1 }, 1, 32 }, { { 7, 3, 5 }, 33, 32 }, { { 1000, 1, 1 }, 48, 16 }, { { 3, 1, 2 }, MANY, 1 }, { { 2, 9, 1 }, 31, 8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t blocks = cases[i].grid[0] * cases[i].grid[1] * cases[i].grid[2], n = blocks * cases[i].threads;
        uint32_t *out = calloc(n, 4);
        for (int fibers = 0; fibers < 2; fibers++) {
            struct cwh_exec_launch l = launch(count_threads, 1, cases[i].threads, cases[i].width, fibers, &out);
            memcpy(l.abi.grid, cases[i].grid, sizeof l.abi.grid);
            cwh_exec_run(&l);
            CHECK(l.result == CWB_OK, "%s", l.message);
        }
        for (uint32_t j = 0; j < n; j++)
            if (out[j] != 2) {
                CHECK(out[j] == 2, "case %zu thread %u ran %u times", i, j, out[j]);
                break;
            }
        free(out);
    }
}

/* ---- barriers: rotate values through shared memory; wrong order of execution gives wrong sums ---- */

enum { ROUNDS = 10 };

static void
rotate(struct cwh_gang *g)
{
    uint32_t *out = *(uint32_t *const *)g->block->launch->params, n = g->block->launch->block[0];
    uint32_t *s = (uint32_t *)g->block->shared, v[32];
    for (uint32_t i = 0; i < g->lanes; i++)
        v[i] = g->first + i;
    for (int r = 0; r < ROUNDS; r++) {
        for (uint32_t i = 0; i < g->lanes; i++)
            s[g->first + i] = v[i];
        cwh_rt_barrier(g, 0, 0, full(g));
        for (uint32_t i = 0; i < g->lanes; i++)
            v[i] = s[(g->first + i + 1) % n] + 1;
        cwh_rt_barrier(g, r % 2 ? 0 : 3, r % 2 ? 0 : (n + 31) / 32 * 32, full(g));
    }
    for (uint32_t i = 0; i < g->lanes; i++)
        out[g->block->ctaid[0] * n + g->first + i] = v[i];
}

static void
test_barrier(void)
{
    static const struct { uint32_t blocks, threads, width; } cases[] = {
        { 50, 256, 32 }, { 9, MANY, 1 }, { 20, 100, 8 }, { 3, 1, 32 }, { 4, 33, 1 }, { 1, MANY, 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t n = cases[i].threads;
        uint32_t *out = calloc(cases[i].blocks * n, 4);
        struct cwh_exec_launch l = launch(rotate, cases[i].blocks, n, cases[i].width, true, &out);
        cwh_exec_run(&l);
        CHECK(l.result == CWB_OK, "%s", l.message);
        for (uint32_t j = 0; j < cases[i].blocks * n; j++)
            if (out[j] != (j % n + ROUNDS) % n + ROUNDS) {
                CHECK(0, "case %zu: thread %u has %u", i, j, out[j]);
                break;
            }
        free(out);
    }
}

/* Gangs with an odd number leave early; the others still meet. */
static void
early_exit(struct cwh_gang *g)
{
    uint32_t *out = *(uint32_t *const *)g->block->launch->params;
    uint32_t gang = g->first / 32;
    if (gang % 2)
        return;
    uint32_t *s = (uint32_t *)g->block->shared;
    s[gang] = gang + 1;
    cwh_rt_barrier(g, 0, 0, full(g));
    uint32_t sum = 0;
    for (uint32_t i = 0; i < g->block->launch->block[0] / 32; i += 2)
        sum += s[i];
    out[gang] = sum;
}

static void
reduce(struct cwh_gang *g)
{
    uint32_t *out = *(uint32_t *const *)g->block->launch->params;
    uint64_t third = 0, small = 0;
    for (uint32_t i = 0; i < g->lanes; i++) {
        third |= (uint64_t)((g->first + i) % 3 == 0) << i;
        small |= (uint64_t)(g->first + i < 1000) << i;
    }
    uint32_t popc = cwh_rt_bar_red(g, PTX_BOOL_POPC, 1, 0, full(g), third);
    uint32_t all = cwh_rt_bar_red(g, PTX_BOOL_AND, 1, 0, full(g), small);
    uint32_t any = cwh_rt_bar_red(g, PTX_BOOL_OR, 2, 0, full(g), ~small & full(g));
    uint32_t none = cwh_rt_bar_red(g, PTX_BOOL_OR, 2, 0, full(g), 0);
    for (uint32_t i = 0; i < g->lanes; i++)
        out[g->first + i] = popc << 3 | all << 2 | any << 1 | none;
}

/* Producer gangs arrive, consumers wait: named barriers with counts. */
static void
producer(struct cwh_gang *g)
{
    uint32_t *out = *(uint32_t *const *)g->block->launch->params;
    volatile uint32_t *s = (uint32_t *)g->block->shared;
    if (g->first < 64) {        /* consumers come first in gang order */
        cwh_rt_barrier(g, 5, 128, full(g));
        out[g->first / 32] = s[0] + s[1];
    } else {
        s[g->first / 32 - 2] = g->first;
        cwh_rt_barrier_arrive(g, 5, 128, full(g));
    }
}

/* Gang 0 spins until gang 1 has written: only yielding makes it end. */
static void
spin(struct cwh_gang *g)
{
    volatile uint32_t *s = (uint32_t *)g->block->shared;
    uint32_t *out = *(uint32_t *const *)g->block->launch->params;
    if (g->first == 0)
        s[0] = 0;
    if (g->first >= 32) {
        s[0] = 7;
        cwh_rt_nanosleep(g, 10);
    }
    while (s[0] != 7)
        cwh_rt_yield(g);
    out[g->first / 32] = s[0];
}

static void
test_barrier_kinds(void)
{
    uint32_t buf[1024] = { 0 };
    uint32_t *out = buf;
    struct cwh_exec_launch l = launch(early_exit, 1, 256, 32, true, &out);
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK && out[0] == 1 + 3 + 5 + 7 && out[6] == 16, "%s %u", l.message, out[0]);

    /* 1024 threads: 342 multiples of 3 below 1024; not all are below 1000; some are not. */
    static const uint32_t widths[] = { 1, 8, 32 };
    for (int i = 0; i < 3; i++) {
        if (MANY == 1024) {
            l = launch(reduce, 1, 1024, widths[i], true, &out);
            cwh_exec_run(&l);
            CHECK(l.result == CWB_OK && out[0] == (342u << 3 | 2) && out[1023] == out[0], "%s %u", l.message, out[0]);
        }
        l = launch(reduce, 1, 50, widths[i], true, &out);
        cwh_exec_run(&l);
        CHECK(l.result == CWB_OK && out[0] == (17u << 3 | 4) && out[49] == out[0], "%s %u", l.message, out[0]);
    }
    l = launch(producer, 1, 128, 32, true, &out);
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK && out[0] == 160 && out[1] == 160, "%s", l.message);
    l = launch(spin, 1, 64, 32, true, &out);
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK && out[0] == 7 && out[1] == 7, "%s", l.message);
}

/* ---- warp exchanges ---- */

/* Site 1: everybody with named members: sum of the warp. Then odd and even lanes part (sites 2 and 3) without named
 * members; lanes from 20 on leave before site 4, which again names everybody. */
static void
exchange(struct cwh_gang *g)
{
    uint32_t *out = *(uint32_t *const *)g->block->launch->params;
    uint64_t v[32];
    uint32_t lane = g->first % 32, sum = 0, m, part, left;
    m = cwh_rt_warp_exchange(g, 1, ~0u, g->first, v);
    for (int i = 0; i < 32; i++)
        if (m >> i & 1)
            sum += (uint32_t)v[i];
    part = lane % 2 ? cwh_rt_warp_exchange(g, 3, 0, 0, v) : cwh_rt_warp_exchange(g, 2, 0, 0, v);
    if (lane >= 20)
        return;
    left = cwh_rt_warp_exchange(g, 4, ~0u, 0, v);
    out[3 * g->first] = sum;
    out[3 * g->first + 1] = part;
    out[3 * g->first + 2] = left;
}

static void
test_exchange(void)
{
    uint32_t *out = calloc(3 * 1024, 4);
    struct cwh_exec_launch l = launch(exchange, 1, 70, 1, true, &out);
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK, "%s", l.message);
    for (uint32_t t = 0; t < 70; t++) {
        uint32_t lane = t % 32, n = t < 64 ? 32 : 6;
        uint32_t sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += t - lane + i;
        uint32_t exist = n == 32 ? ~0u : (1u << n) - 1;
        if (lane >= 20)
            continue;
        CHECK(out[3 * t] == sum, "thread %u: %u, not %u", t, out[3 * t], sum);
        CHECK(out[3 * t + 1] == ((lane % 2 ? 0xaaaaaaaau : 0x55555555u) & exist), "thread %u: %x", t, out[3 * t + 1]);
        CHECK(out[3 * t + 2] == (0xfffffu & exist), "thread %u: %x", t, out[3 * t + 2]);
    }
    free(out);
}

/* ---- failures ---- */

static void
stuck(struct cwh_gang *g)
{
    if (g->first == 0)
        cwh_rt_barrier(g, 1, 64, full(g));
    else
        cwh_rt_barrier(g, 2, 64, full(g));
}

static void
never_member(struct cwh_gang *g)
{
    uint64_t v[32];
    if (g->first == 0)
        cwh_rt_warp_exchange(g, 1, 3, 0, v);
    else
        cwh_rt_warp_exchange(g, 2, 3, 0, v);
}

static void
wild_store(struct cwh_gang *g)
{
    if (g->block->ctaid[0] == 5 && g->first == 32)
        **(volatile uint32_t *const *)g->block->launch->params = 1;
}

static void
wild_load_after_barrier(struct cwh_gang *g)
{
    cwh_rt_barrier(g, 0, 0, full(g));
    if (g->first == 64)
        (void)**(volatile uint32_t *const *)g->block->launch->params;
    cwh_rt_barrier(g, 0, 0, full(g));
}

static void
traps(struct cwh_gang *g)
{
    if (g->first >= 32)
        cwh_rt_trap(g, 1, *(const uint32_t *)g->block->launch->params);
    cwh_rt_barrier(g, 0, 0, full(g));
}

#ifndef __SANITIZE_THREAD__     /* its shadow call stack is bounded */
static uint32_t
deep(volatile uint8_t *above, uint32_t n)
{
    volatile uint8_t here[512];
    here[0] = (uint8_t)(above ? above[0] + 1 : 0);
    return n ? deep(here, n - 1) + here[0] : here[0];
}

static void
overflow(struct cwh_gang *g)
{
    deep(NULL, 1u << 30);
}
#endif

static void
asserts(struct cwh_gang *g)
{
    uint64_t msg[32], file[32], fn[32];
    uint32_t line[32];
    for (uint32_t i = 0; i < 32; i++) {
        msg[i] = (uintptr_t)"x > 0";
        file[i] = (uintptr_t)"a.cu";
        fn[i] = (uintptr_t)"void f()";
        line[i] = 12;
    }
    cwh_rt_assertfail(g, 6, msg, file, line, fn);
}

static void
still_works(const char *after)
{
    uint32_t *out = calloc(256 * 4, 4);
    struct cwh_exec_launch l = launch(rotate, 4, 256, 32, true, &out);
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK && out[7] == 7 + 2 * ROUNDS, "after %s: %s", after, l.message);
    struct cwh_exec_launch m = launch(count_threads, 4, 256, 16, false, &out);
    cwh_exec_run(&m);
    CHECK(m.result == CWB_OK, "after %s: %s", after, m.message);
    free(out);
}

static void
expect(struct cwh_exec_launch *l, cwb_result r, const char *text)
{
    cwh_exec_run(l);
    CHECK(l->result == r && strstr(l->message, text), "result %d, message \"%s\", expected %d \"%s\"", l->result, l->message, r, text);
    still_works(l->message);
}

static void
test_failures(void)
{
    struct cwh_exec_launch l = launch(stuck, 3, 64, 32, true, NULL);
    expect(&l, CWB_TIMEOUT, "deadlock: 64 threads wait at barriers");
    l = launch(never_member, 1, 2, 1, true, NULL);
    expect(&l, CWB_TIMEOUT, "members that never come");

    void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char address[32];
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)(uintptr_t)hole);
    for (int i = 0; i < 3; i++) {
        l = launch(wild_store, 10, 64, 32, false, &hole);
        expect(&l, CWB_ILLEGAL_ADDRESS, address);
        CHECK(strstr(l.message, "kernel k, block (5,0,0), threads 32 to 63: illegal address"), "%s", l.message);
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
        CHECK(strstr(l.message, "(write)"), "%s", l.message);
#endif
        l = launch(wild_load_after_barrier, 4, 128, 32, true, &hole);
        expect(&l, CWB_ILLEGAL_ADDRESS, "threads 64 to 95");
        l = launch(wild_load_after_barrier, 4, 128, 1, true, &hole);
        expect(&l, CWB_ILLEGAL_ADDRESS, "thread 64");
    }
    munmap(hole, 4096);
    static const struct { uint32_t kind; cwb_result r; const char *text; } kinds[] = {
        { 0, CWB_TRAP, "trap executed" }, { 1, CWB_TRAP, "brkpt" }, { 2, CWB_INVALID_PC, "indirect call" }, { 3, CWB_ILLEGAL_INSTRUCTION, "unreachable" },
    };
    for (int i = 0; i < 4; i++) {
        l = launch(traps, 6, 96, 32, true, &kinds[i].kind);
        expect(&l, kinds[i].r, kinds[i].text);
    }
#ifndef __SANITIZE_THREAD__
    l = launch(overflow, 2, 32, 32, false, NULL);
    expect(&l, CWB_STACK, "stack overflow");
    l = launch(overflow, 2, 32, 32, true, NULL);
    expect(&l, CWB_STACK, "stack overflow");
#endif
    int pipefd[2], saved = dup(2);
    CHECK(pipe(pipefd) == 0, "pipe");
    dup2(pipefd[1], 2);
    l = launch(asserts, 1, 32, 32, false, NULL);
    cwh_exec_run(&l);
    dup2(saved, 2);
    char text[1000] = "";
    CHECK(read(pipefd[0], text, sizeof text - 1) > 0, "read");
    close(saved);
    close(pipefd[0]);
    close(pipefd[1]);
    CHECK(!strcmp(text, "a.cu:12: void f(): block: [0,0,0], thread: [1,0,0] Assertion `x > 0` failed.\n"
                        "a.cu:12: void f(): block: [0,0,0], thread: [2,0,0] Assertion `x > 0` failed.\n"),
          "\"%s\"", text);
    CHECK(l.result == CWB_ASSERT, "%d", l.result);
    still_works("assert");

    l = launch(count_threads, 1, 2000, 32, false, NULL);
    expect(&l, CWB_INVALID, "2000 threads");
}

/* ---- blocks that wait for each other ---- */

static void
meet(struct cwh_gang *g)
{
    _Atomic uint32_t *n = *(_Atomic uint32_t *const *)g->block->launch->params;
    atomic_fetch_add(n, 1);
    while (atomic_load(n) < g->block->launch->grid[0])
        cwh_rt_yield(g);
}

static void
test_cooperative(void)
{
    uint32_t n = 0, *p = &n;
    struct cwh_exec_launch l = launch(meet, 40, 1, 32, false, &p);
    l.cooperative = true;
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK && n == 40, "%s", l.message);
}

/* ---- blocks that wait for each other in an ordinary launch: for the next one, and for all ---- */

enum { IN_FLIGHT = 40 };

static void
wait_for_next(struct cwh_gang *g)
{
    _Atomic uint32_t *here = *(_Atomic uint32_t *const *)g->block->launch->params;
    const uint32_t b = g->block->ctaid[0], last = g->block->launch->grid[0] - 1;
    while (b < last && !atomic_load(&here[b + 1]))
        cwh_rt_yield(g);
    atomic_fetch_add(&here[b], 1);
}

static void
wait_for_all(struct cwh_gang *g)
{
    _Atomic uint32_t *here = *(_Atomic uint32_t *const *)g->block->launch->params;
    const uint32_t n = g->block->launch->grid[0];
    for (uint32_t round = 1; round <= 3; round++) {
        cwh_rt_barrier(g, 0, 0, full(g));
        if (!g->first) {
            atomic_fetch_add(here, 1);
            while (atomic_load(here) < round * n)
                cwh_rt_yield(g);
        }
        cwh_rt_barrier(g, 0, 0, full(g));
    }
}

/* The same, but all threads of the block go round. */
static void
wait_for_all_together(struct cwh_gang *g)
{
    _Atomic uint32_t *here = *(_Atomic uint32_t *const *)g->block->launch->params;
    _Atomic uint32_t *seen = (_Atomic uint32_t *)g->block->shared;
    const uint32_t n = g->block->launch->grid[0];
    for (uint32_t round = 1; round <= 3; round++) {
        if (!g->first)
            atomic_fetch_add(here, 1);
        for (bool over = false; !over;) {
            if (!g->first)
                atomic_store(seen, atomic_load(here));
            cwh_rt_barrier(g, 0, 0, full(g));
            over = atomic_load(seen) >= round * n;
            cwh_rt_barrier(g, 0, 0, full(g));
            if (!over)
                cwh_rt_yield(g);
        }
    }
}

static void
test_blocks_wait(void)
{
    void (*const kernel[])(struct cwh_gang *) = { wait_for_next, wait_for_all, wait_for_all_together };
    _Atomic uint32_t here[IN_FLIGHT], *p = here;
    for (int all = 0; all < 3; all++) {
        _Atomic uint32_t cost = 0;
        for (int again = 0; again < 2; again++) {       /* the second time each block has a thread at once */
            memset((void *)here, 0, sizeof here);
            struct cwh_exec_launch l = launch(kernel[all], IN_FLIGHT, all ? 64 : 32, 32, true, &p);
            l.info.waits = true;
            l.cost = &cost;
            cwh_exec_run(&l);
            CHECK(l.result == CWB_OK, "%s", l.message);
            CHECK(cost >= (CWH_TOGETHER | IN_FLIGHT) && l.added + cwh_exec_threads() >= IN_FLIGHT, "%u, %u threads added", cost, l.added);
            for (int i = 0; i < (all ? 1 : IN_FLIGHT); i++)
                CHECK(here[i] == (all ? 3 * IN_FLIGHT : 1), "block %d: %u", i, here[i]);
        }
    }
}

/* Threads that wait for one of their own block, which works, add none: with CUDAWAY_HOST_THREADS=1 the blocks keep their order. */
static void
wait_for_worker(struct cwh_gang *g)
{
    _Atomic uint32_t *done = &(*(_Atomic uint32_t *const *)g->block->launch->params)[g->block->ctaid[0]];
    if (g->first + g->lanes < g->block->launch->block[0]) {
        while (!atomic_load(done))
            cwh_rt_yield(g);
        return;
    }
    for (int i = 0; i < 3; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
        cwh_rt_yield(g);
    }
    atomic_store(done, 1);
}

static void
test_threads_wait(void)
{
    _Atomic uint32_t done[4] = { 0 }, *p = done;
    struct cwh_exec_launch l = launch(wait_for_worker, 4, 64 * 8, 8, true, &p);
    l.info.waits = true;
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK && !l.added, "%u threads added %s", l.added, l.message);
}

/* ---- several launching threads at once ---- */

static void *
launcher(void *arg)
{
    for (int i = 0; i < 30; i++) {
        uint32_t *out = calloc(64 * 100, 4);
        struct cwh_exec_launch l = launch(i % 2 ? rotate : count_threads, 64, 100, i % 3 ? 32 : 4, i % 2, &out);
        cwh_exec_run(&l);
        CHECK(l.result == CWB_OK, "%s", l.message);
        for (uint32_t j = 0; j < 6400; j++)
            if (out[j] != (i % 2 ? (j % 100 + ROUNDS) % 100 + ROUNDS : 1)) {
                CHECK(0, "thread %u", j);
                break;
            }
        free(out);
    }
    return NULL;
}

static void
test_concurrent(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, launcher, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

/* ---- printf and malloc ---- */

static void
prints(struct cwh_gang *g)
{
    struct { int32_t i; int32_t pad; double d; uint64_t s; int64_t l; int32_t c, x; } a = {
        -5, 0, 1.5, (uintptr_t)"str", -6000000000ll, 'q', 255,
    };
    uint64_t formats[32], args[32];
    int32_t results[32];
    for (uint32_t i = 0; i < 32; i++) {
        formats[i] = (uintptr_t)"%d %.2f [%5s] %lld %c %04x 100%% %y\n";
        args[i] = (uintptr_t)&a;
    }
    cwh_rt_vprintf(g, 5, formats, args, results);
    CHECK(results[0] == 6 && results[2] == 6, "%d", results[0]);
}

static void
test_printf(void)
{
    struct cwh_output *o = cwh_output_create(1 << 20);
    struct cwh_exec_launch l = launch(prints, 1, 32, 32, false, NULL);
    l.output = o;
    cwh_exec_run(&l);
    fflush(stdout);
    int pipefd[2], saved = dup(1);
    CHECK(pipe(pipefd) == 0, "pipe");
    dup2(pipefd[1], 1);
    cwh_output_flush(o);
    dup2(saved, 1);
    char text[1000] = "";
    CHECK(read(pipefd[0], text, sizeof text - 1) > 0, "read");
    close(saved);
    close(pipefd[0]);
    close(pipefd[1]);
    CHECK(!strcmp(text, "-5 1.50 [  str] -6000000000 q 00ff 100% %y\n-5 1.50 [  str] -6000000000 q 00ff 100% %y\n"), "\"%s\"", text);
    cwh_output_destroy(o);
}

static void
mallocs(struct cwh_gang *g)
{
    uint64_t sizes[32], p[32];
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 32; i++)
            sizes[i] = 1 + (g->first + i * 37 + (uint32_t)round * 11) % 500;
        cwh_rt_malloc(g, full(g), sizes, p);
        for (uint32_t i = 0; i < g->lanes; i++) {
            CHECK(p[i] && p[i] % 16 == 0, "malloc");
            memset((void *)(uintptr_t)p[i], (int)i, sizes[i]);
        }
        for (uint32_t i = 0; i < g->lanes; i++)
            for (uint64_t j = 0; j < sizes[i]; j++)
                CHECK(((uint8_t *)(uintptr_t)p[i])[j] == i, "overlap");
        cwh_rt_free(g, full(g), p);
    }
    if (g->first == 0) {
        sizes[0] = 1 << 20;
        cwh_rt_malloc(g, 1, sizes, p);
        CHECK(!p[0], "more than the heap has");
    }
}

static void
double_free(struct cwh_gang *g)
{
    uint64_t size = 100, p[1];
    cwh_rt_malloc(g, 1, &size, p);
    cwh_rt_free(g, 1, p);
    cwh_rt_free(g, 1, p);
}

static void
test_malloc(void)
{
    struct cwh_heap *h = cwh_heap_create(512 * 1024);
    struct cwh_exec_launch l = launch(mallocs, 8, 64, 32, false, NULL);
    l.heap = h;
    cwh_exec_run(&l);
    CHECK(l.result == CWB_OK, "%s", l.message);
    l = launch(double_free, 1, 1, 32, false, NULL);
    l.heap = h;
    cwh_exec_run(&l);
    CHECK(l.result == CWB_ILLEGAL_ADDRESS && strstr(l.message, "freed twice"), "%s", l.message);
    cwh_heap_destroy(h);
}

/* ---- kernels round to nearest and keep denormals whatever the program has set in its thread, which finds that again ---- */

static uint32_t
float_modes(void)
{
    volatile float one = 1, quarter = 0x1p-25f, three_quarters = 0x3p-25f, least = FLT_MIN, half = 0.5f;        /* of the distance to the next number */
    return (one + quarter == 1 && one + three_quarters > 1 ? 1 : 0) | (least * half > 0 ? 2 : 0);
}

static void
note_modes(struct cwh_gang *g)
{
    uint32_t *out = *(uint32_t *const *)g->block->launch->params + 2 * (4 * g->block->ctaid[0] + g->first / 32);
    out[0] = float_modes();
    cwh_rt_barrier(g, 0, 0, full(g));
    out[1] = float_modes();
}

static void
fault_when_rounding_up(struct cwh_gang *g)
{
    fesetround(FE_UPWARD);
    (void)**(volatile uint32_t *const *)g->block->launch->params;
}

static void
test_float_modes(void)
{
    uint32_t out[16 * 4 * 2], *to = out;
    void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fesetround(FE_DOWNWARD);
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  /* flush denormals, read them as zero */
#endif
    uint32_t mine = float_modes();
    for (int i = 0; i < 3; i++) {
        memset(out, 0, sizeof out);
        struct cwh_exec_launch l = launch(note_modes, 16, 128, 32, true, &to);
        cwh_exec_run(&l);
        CHECK(l.result == CWB_OK, "%s", l.message);
        for (size_t j = 0; j < sizeof out / sizeof *out; j++)
            CHECK(out[j] == 3, "run %d, gang %zu, %s the barrier: modes %u", i, j / 2, j % 2 ? "behind" : "before", out[j]);
        CHECK(float_modes() == mine, "the program's modes are %u, not %u", float_modes(), mine);
        l = launch(fault_when_rounding_up, 16, 128, 32, i == 0, &hole);
        expect(&l, CWB_ILLEGAL_ADDRESS, "");
        CHECK(float_modes() == mine, "behind a fault the program's modes are %u, not %u", float_modes(), mine);
    }
    fesetenv(FE_DFL_ENV);
    munmap(hole, 4096);
}

int
main(int argc, char **argv)
{
    test_distribution();
    test_barrier();
    test_barrier_kinds();
    test_exchange();
    test_failures();
    test_cooperative();
    test_blocks_wait();
    test_threads_wait();
    test_concurrent();
    test_printf();
    test_malloc();
    test_float_modes();
    if (argc > 1) {             /* figures for people */
        uint32_t *out = calloc(1024 * 1024, 4);
        static const struct { const char *name; cwh_kernel_fn *fn; uint32_t blocks, threads, width; bool fibers; } runs[] = {
            { "1 block, 1 thread", count_threads, 1, 1, 32, false },
            { "1024 blocks of 256, width 32", count_threads, 1024, 256, 32, false },
            { "1 block of 1024, width 32, 20 barriers", rotate, 1, 1024, 32, true },
            { "1 block of 1024, width 1, 20 barriers", rotate, 1, 1024, 1, true },
        };
        for (int i = 0; i < 4; i++) {
            struct timespec a, b;
            _Atomic uint32_t cost = 0;
            clock_gettime(CLOCK_MONOTONIC, &a);
            for (int r = 0; r < 200; r++) {
                struct cwh_exec_launch l = launch(runs[i].fn, runs[i].blocks, runs[i].threads, runs[i].width, runs[i].fibers, &out);
                l.cost = &cost;
                cwh_exec_run(&l);
            }
            clock_gettime(CLOCK_MONOTONIC, &b);
            printf("%-42s %9.2f us a launch\n", runs[i].name, ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3) / 200);
        }
        free(out);
    }
    return check_result();
}
