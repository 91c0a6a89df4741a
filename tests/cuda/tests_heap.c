/* SPDX-License-Identifier: Apache-2.0
 * Expectations for heap.cu. The heap is 512 KiB in all of them, set before the first launch. */
#include "tests/cuda/harness.h"


enum { HEAP = 512 << 10, LIMIT_MALLOC_HEAP = 2, MOST = 1024 };

static void
limit_heap(void)
{
    static bool done;
    if (!done)
        MUST(cu.cuCtxSetLimit(LIMIT_MALLOC_HEAP, HEAP));
    done = true;
}

static const uint32_t zeros[MOST];

/* More than the heap has never is; and what the kernels before allocated must be free and in one piece. */
static void
check_whole(CUmodule m, const char *what, unsigned variant)
{
    static const uint64_t sizes[] = { HEAP, 1ull << 36, UINT64_MAX, 0, HEAP / 4 * 3, 1, HEAP / 4 * 3, 16, 1009, HEAP / 4 * 3 };
    static const uint32_t want[] = { 0, 0, 0, 0, 1, 1, 1, 1, 1, 1 };
    enum { N = sizeof want / sizeof *want };
    uint32_t got[N];
    unsigned n = N;
    CUdeviceptr in = buffer_new(sizes, sizeof sizes), out = buffer_new(NULL, sizeof got);
    LAUNCH(get_function(m, "heap_sizes"), D1(1), D1(1), 0, &in, &out, &n);
    buffer_read(got, out, sizeof got);
    check_u32(what, variant, got, want, n);
    buffer_free(in);
    buffer_free(out);
}

static void
test_rounds(CUmodule m)
{
    static const struct { unsigned blocks, threads, most; } runs[] = { { 4, 96, 500 }, { 3, 70, 16 }, { 2, 20, 3000 }, { 1, 1, 70000 } };
    unsigned rounds = 24;
    limit_heap();
    for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
        unsigned n = runs[i].blocks * runs[i].threads, most = runs[i].most;
        uint32_t got[MOST];
        CUdeviceptr errors = buffer_new(NULL, 4 * n);
        LAUNCH(get_function(m, "heap_rounds"), D1(runs[i].blocks), D1(runs[i].threads), 0, &errors, &rounds, &most);
        buffer_read(got, errors, 4 * n);
        check_u32("heap_rounds", most, got, zeros, n);
        buffer_free(errors);
        check_whole(m, "after heap_rounds", most);
    }
}

static void
test_keep(CUmodule m)
{
    unsigned n = 3 * 100;
    uint32_t got[300], want[300];
    limit_heap();
    for (uint32_t t = 0; t < n; t++) {
        uint32_t words = 12 + t % 50;
        want[t] = words * (t << 8) + words * (words - 1) / 2;
    }
    CUdeviceptr blocks = buffer_new(NULL, 8 * n), sums = buffer_new(NULL, 4 * n);
    LAUNCH(get_function(m, "heap_keep"), D1(3), D1(100), 0, &blocks);
    LAUNCH(get_function(m, "heap_collect"), D1(3), D1(100), 0, &blocks, &sums, &n);
    buffer_read(got, sums, sizeof got);
    check_u32("heap_keep", 0, got, want, n);
    buffer_free(blocks);
    buffer_free(sums);
    check_whole(m, "after heap_keep", 0);
}

static void
test_fill(CUmodule m)
{
    limit_heap();
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        uint32_t counts[MOST], got[MOST], total = 0;
        unsigned n = 3 * *bs;
        if (n > MOST)
            continue;
        CUdeviceptr c = buffer_new(NULL, 4 * n), errors = buffer_new(NULL, 4 * n);
        LAUNCH(get_function(m, "heap_fill"), D1(3), D1(*bs), 0, &c, &errors);
        buffer_read(counts, c, 4 * n);
        buffer_read(got, errors, 4 * n);
        for (unsigned i = 0; i < n; i++)
            total += counts[i];
        check_u32("heap_fill", *bs, got, zeros, n);
        check_true("nine tenths of the heap at least were used", total, (uint64_t)total * 1000 >= HEAP / 10 * 9);
        /* Threads that end early give back what the others take then: each at most the heap. */
        check_true("blocks, at least and at most", total, (uint64_t)total * 1000 <= (uint64_t)HEAP * n);
        buffer_free(c);
        buffer_free(errors);
        check_whole(m, "after heap_fill", *bs);
    }
}

static void
test_crowd(CUmodule m)
{
    unsigned rounds = 8, most = 20000, n = 4 * 64;
    uint32_t have[256], got[256], total = 0;
    limit_heap();
    CUdeviceptr h = buffer_new(NULL, 4 * n), errors = buffer_new(NULL, 4 * n);
    LAUNCH(get_function(m, "heap_crowd"), D1(4), D1(64), 0, &h, &errors, &rounds, &most);
    buffer_read(have, h, sizeof have);
    buffer_read(got, errors, sizeof got);
    for (unsigned i = 0; i < n; i++)
        total += have[i];
    check_u32("heap_crowd", 0, got, zeros, n);
    check_true("some were given", total, total >= 100);
    buffer_free(h);
    buffer_free(errors);
    check_whole(m, "after heap_crowd", 0);
}

static void
test_free_twice(CUmodule m)
{
    CUdeviceptr out = buffer_new(NULL, 4);
    void *params[] = { &out };
    CUresult r = cu.cuLaunchKernel(get_function(m, "heap_free_twice"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    if (r == 0)
        r = cu.cuCtxSynchronize();
    check_true("illegal address or launch failure", (unsigned)r, r == 700 || r == 719);
}

const struct test heap_tests[] = {
    { "heap_rounds", "heap", test_rounds, false },
    { "heap_keep", "heap", test_keep, false },
    { "heap_fill", "heap", test_fill, false },
    { "heap_crowd", "heap", test_crowd, false },
    { "free_twice", "heap", test_free_twice, true },
    { NULL, NULL, NULL, false },
};
