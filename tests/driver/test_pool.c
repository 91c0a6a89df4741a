/* SPDX-License-Identifier: Apache-2.0
 * Memory pools (CUDA driver API, "Stream Ordered Memory Allocator"): what is freed stays up to the release threshold and is used again, at once
 * in the stream that freed it, in others when that stream has got there. Expectations are the manual's; that a pool reserves 32 MiB at a time is
 * what driver 580 does on an H100 (RESERVED_MEM_CURRENT behind an allocation of 1 KiB). */
#include "tests/driver/pools.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* Allocations lie in what the pool has reserved, each on its own; what lies side by side and is free is one. */
static void
chunks(CUstream s, CUstream t)
{
    static const size_t sizes[] = { 1, 1000, SIZE + 1, 512, 70000 };
    enum { N = sizeof sizes / sizeof *sizes };
    CUdeviceptr a[N], base;
    size_t size, used = 0;
    CUmemoryPool p = make_pool(0);
    set(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    for (int i = 0; i < N; i++) {
        a[i] = alloc(p, sizes[i], s);
        used += sizes[i];
        EXPECT(a[i] % 512 == 0);
        OK(cuMemGetAddressRange_v2(&base, &size, a[i] + sizes[i] - 1));
        EXPECT(base == a[i] && size >= sizes[i] && size < sizes[i] + 512);
        OK(cuMemsetD8Async(a[i], (unsigned char)(i + 1), sizes[i], s));
    }
    OK(cuStreamSynchronize(s));
    for (int i = 0; i < N; i++)
        EXPECT(holds(a[i], sizes[i], (uint8_t)(i + 1)));
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == used);
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);
    OK(cuMemPoolTrimTo(p, 0));          /* all of the chunk stays for what is in use */
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);
    EXPECT(holds(a[2], sizes[2], 3));
    /* Freed in any order, with the stream still to get there: the same stream may use all of it at once, another one only what was never used. */
    static const int order[N] = { 1, 3, 0, 4, 2 };
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    for (int i = 0; i < N; i++)
        OK(cuMemFreeAsync(a[order[i]], s));
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    CUdeviceptr other = alloc(p, SIZE, t);
    for (int i = 0; i < N; i++)
        EXPECT(other >= a[i] + sizes[i] || other + SIZE <= a[i]);
    OK(cuMemFreeAsync(other, t));
    OK(cuStreamSynchronize(t));
    CUdeviceptr all = alloc(p, CHUNK, s);
    EXPECT(all <= a[0] && get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);
    EXPECT(write(gate[1], "x", 1) == 1);
    OK(cuMemsetD8Async(all, 9, CHUNK, s));
    OK(cuStreamSynchronize(s));
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == CHUNK && holds(all + CHUNK - SIZE, SIZE, 9));
    /* One more does not fit; the pool is never trimmed below what is asked ("cuMemPoolTrimTo"). */
    other = alloc(p, 1, s);
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 2 * CHUNK);
    OK(cuMemFreeAsync(all, s));
    OK(cuMemFreeAsync(other, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolTrimTo(p, CHUNK + 1));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 2 * CHUNK);
    OK(cuMemPoolTrimTo(p, CHUNK));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);
    /* What a threshold keeps is no more than that (H100, driver 580.159.04: a threshold of 63 MiB keeps 32 of 64, one of 64 MiB keeps all). */
    for (unsigned less = 0; less < 2; less++) {
        set(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 2 * CHUNK - less * SIZE);
        all = alloc(p, CHUNK, s);
        other = alloc(p, 1, s);
        OK(cuMemFreeAsync(all, s));
        OK(cuMemFreeAsync(other, s));
        OK(cuStreamSynchronize(s));
        EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == (less ? CHUNK : 2 * CHUNK));
    }
    set(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    /* A larger one has chunks of its own. */
    OK(cuMemPoolTrimTo(p, 0));
    other = alloc(p, CHUNK + SIZE, s);
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 2 * CHUNK);
    OK(cuMemFreeAsync(other, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolDestroy(p));
}

/* maxSize holds for all threads together: of several that want its last unit at a time one gets it. */
struct want {
    CUcontext c;
    CUmemoryPool p;
    pthread_barrier_t *start;
    CUdeviceptr a;
};

static void *
wants(void *arg)
{
    struct want *w = arg;
    OK(cuCtxSetCurrent(w->c));
    pthread_barrier_wait(w->start);
    CUresult e = cuMemAllocFromPoolAsync(&w->a, 20 * SIZE, w->p, CU_STREAM_PER_THREAD);
    EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_OUT_OF_MEMORY);
    return NULL;
}

static void
bounded(CUcontext c)
{
    enum { THREADS = 8, ROUNDS = 50 };
    for (int i = 0; i < ROUNDS; i++) {
        struct want w[THREADS];
        pthread_t threads[THREADS];
        pthread_barrier_t start;
        CUmemoryPool p = make_pool(CHUNK);
        int got = 0;
        pthread_barrier_init(&start, NULL, THREADS);
        for (int k = 0; k < THREADS; k++) {
            w[k] = (struct want){ c, p, &start, 0 };
            EXPECT(!pthread_create(&threads[k], NULL, wants, &w[k]));
        }
        for (int k = 0; k < THREADS; k++) {
            pthread_join(threads[k], NULL);
            got += w[k].a != 0;
        }
        EXPECT(got == 1 && get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) <= CHUNK);
        for (int k = 0; k < THREADS; k++)
            if (w[k].a)
                OK(cuMemFreeAsync(w[k].a, NULL));
        OK(cuMemPoolDestroy(p));
        pthread_barrier_destroy(&start);
    }
}

/* Streams that allocate, fill, look and free at random, with contents that tell if two ever have the same memory. */
static void
many(void)
{
    enum { STREAMS = 3, LIVE = 40, ROUNDS = 400 };
    struct { CUdeviceptr a; size_t size; uint8_t value; CUstream s; } live[LIVE] = { { 0 } };
    uint8_t expected[ROUNDS] = { 0 };
    CUstream s[STREAMS];
    uint64_t x = 88172645463325252u, used = 0;
    uint8_t *back;
    CUmemoryPool p = make_pool(0);
    OK(cuMemAllocHost_v2((void **)&back, 2 * ROUNDS));
    memset(back, 0, 2 * ROUNDS);
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < ROUNDS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;        /* Marsaglia's xorshift */
        unsigned k = (unsigned)(x >> 40) % LIVE;
        if (!live[k].a) {
            live[k].s = s[x % STREAMS];
            live[k].size = 1 + (x >> 8) % (x >> 5 & 7 ? 100000 : 9 << 20);
            live[k].value = (uint8_t)(i | 1);
            live[k].a = alloc(p, live[k].size, live[k].s);
            used += live[k].size;
            OK(cuMemsetD8Async(live[k].a, live[k].value, live[k].size, live[k].s));
        } else {
            OK(cuMemcpyDtoHAsync_v2(back + 2 * i, live[k].a, 1, live[k].s));
            OK(cuMemcpyDtoHAsync_v2(back + 2 * i + 1, live[k].a + live[k].size - 1, 1, live[k].s));
            OK(cuMemFreeAsync(live[k].a, live[k].s));
            expected[i] = live[k].value;
            used -= live[k].size;
            if (!(x >> 20 & 3))
                OK(cuStreamSynchronize(live[k].s));
            live[k].a = 0;
        }
        EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == used && get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) % CHUNK == 0);
        EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= used);
    }
    for (int k = 0; k < LIVE; k++)
        if (live[k].a)
            OK(cuMemFreeAsync(live[k].a, live[k].s));
    OK(cuCtxSynchronize());
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    for (int i = 0; i < ROUNDS; i++)
        EXPECT(back[2 * i] == expected[i] && back[2 * i + 1] == expected[i]);
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamDestroy_v2(s[i]));
    OK(cuMemFreeHost(back));
    OK(cuMemPoolDestroy(p));
}

/* A fill whose memory is given back before its turn comes: the context's sticky error, and no signal. Only the host device is asked, where it
 * is this process's memory that is gone; elsewhere it is the backend's business. An allocation beside it keeps the chunk, but not these pages. */
static void
gone(bool beside)
{
    CUcontext c = make_context();
    CUstream s, t;
    CUmemoryPool p = make_pool(0);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    if (beside)
        (void)alloc(p, 100, s);
    CUdeviceptr a = alloc(p, SIZE, s);
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuMemsetD8Async(a, 1, SIZE, s));
    OK(cuMemFreeAsync(a, t));           /* not ordered behind the fill: the program's mistake */
    OK(cuStreamSynchronize(t));
    EXPECT(write(gate[1], "x", 1) == 1);
    EXPECT_RESULT(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_RESULT(cuMemAlloc_v2(&a, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuMemPoolDestroy(p));
    OK(cuCtxDestroy_v2(c));
}

/* A free that comes while its context ends, with work that uses the memory still in the queue: the memory stays until that is done. */
static struct {
    CUcontext c, ends;
    CUstream s;
    CUdeviceptr a;
} loser;

static void *
waits(void *unused)
{
    OK(cuCtxSetCurrent(loser.c));
    CUresult e = cuStreamSynchronize(loser.s);
    EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_INVALID_HANDLE || e == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return unused;
}

static void *
ends(void *unused)
{
    OK(cuCtxDestroy_v2(loser.ends));
    return unused;
}

static void *
frees(void *unused)
{
    OK(cuCtxSetCurrent(loser.c));
    EXPECT_RESULT(cuMemFreeAsync(loser.a, loser.s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return unused;
}

static void
a_moment(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

static void
lost_free(CUcontext c, CUmemoryPool p)
{
    pthread_t t[3];
    CUresult e;
    loser.c = c;
    OK(cuCtxCreate_v2(&loser.ends, 0, 0));
    OK(cuStreamCreate(&loser.s, CU_STREAM_NON_BLOCKING));
    loser.a = alloc(p, SIZE, loser.s);
    OK(cuCtxSetCurrent(c));
    OK(cuMemPoolTrimTo(p, 0));          /* so that nothing else is to give back below: HIP would wait */
    OK(cuLaunchHostFunc(loser.s, wait_for_gate, NULL));
    OK(cuMemsetD8Async(loser.a, 1, SIZE, loser.s));
    pthread_create(&t[0], NULL, waits, NULL);
    a_moment();
    pthread_create(&t[1], NULL, ends, NULL);
    while ((e = cuMemsetD8Async(loser.a, 1, SIZE, loser.s)) == CUDA_SUCCESS)
        a_moment();
    EXPECT_RESULT(e, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    pthread_create(&t[2], NULL, frees, NULL);
    a_moment();
    OK(cuMemPoolTrimTo(p, 0));
    EXPECT(write(gate[1], "x", 1) == 1);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

int
main(void)
{
    const char *device = getenv("CUDAWAY_DEVICE");
    CUcontext c = make_context();
    CUstream s, t;
    CUmemoryPool p = make_pool(0);
    cuuint64_t v = 0;
    EXPECT(!pipe(gate));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));

    /* Threshold 0, which is where a pool starts: the next wait gives all back. */
    EXPECT(get(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0);
    CUdeviceptr a = alloc(p, SIZE, s);
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);

    /* A threshold that is not reached: it stays, and is what the next one gets, in any stream. */
    v = UINT64_MAX;
    OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
    a = alloc(p, SIZE, s);
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);
    EXPECT(alloc(p, SIZE - 100, t) == a);
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == SIZE - 100);
    OK(cuMemFreeAsync(a, t));
    OK(cuCtxSynchronize());

    /* While the free is queued: the same stream may use it again, another may not. */
    a = alloc(p, SIZE, s);
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuMemFreeAsync(a, s));
    CUdeviceptr other = alloc(p, SIZE, t), again = alloc(p, SIZE, s);
    EXPECT(other != a && again == a);
    /* The free that was overtaken does not take the memory away. */
    EXPECT(write(gate[1], "x", 1) == 1);
    OK(cuStreamSynchronize(s));
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 2 * SIZE);
    OK(cuMemsetD8Async(again, 1, SIZE, s));
    CUdeviceptr third = alloc(p, SIZE, s);
    EXPECT(third != again && third != other);
    OK(cuMemFreeAsync(again, s));
    OK(cuMemFreeAsync(other, t));
    OK(cuMemFree_v2(third));
    OK(cuCtxSynchronize());
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 3 * SIZE);

    /* A loop in one stream takes one block, without ever waiting. */
    OK(cuMemPoolTrimTo(p, 0));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    v = 0;
    OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &v));
    for (int i = 0; i < 100; i++)
        OK(cuMemFreeAsync(alloc(p, SIZE, s), s));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == CHUNK);

    /* Trimming keeps as much as it is told to, and never what is used. */
    CUdeviceptr keep = alloc(p, 4 * SIZE, s);
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolTrimTo(p, 0));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);
    OK(cuMemsetD8_v2(keep, 7, 4 * SIZE));
    OK(cuMemFree_v2(keep));             /* waits */
    OK(cuMemPoolTrimTo(p, 4 * SIZE));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK);

    /* maxSize is rounded up to whole chunks (H100, driver 580.159.04: after 1 KiB of a pool of 2 MiB, 2 MiB more are given). */
    CUmemoryPool small = make_pool(2 * SIZE);
    a = alloc(small, SIZE, s);
    OK(cuMemFreeAsync(alloc(small, 2 * SIZE, s), s));
    EXPECT_RESULT(cuMemAllocFromPoolAsync(&other, CHUNK, small, s), CUDA_ERROR_OUT_OF_MEMORY);
    /* Destroyed with memory in use: that stays, and works, until it is freed. */
    OK(cuMemPoolDestroy(small));
    OK(cuMemsetD8_v2(a, 1, SIZE));
    OK(cuStreamSynchronize(NULL));      /* the other stream is not ordered behind it */
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    EXPECT_RESULT(cuMemsetD8_v2(a, 1, SIZE), CUDA_ERROR_INVALID_VALUE);

    /* A context's end takes along what pools keep of it. */
    CUcontext d;
    CUstream u;
    OK(cuCtxCreate_v2(&d, 0, 0));
    OK(cuStreamCreate(&u, 0));
    cuuint64_t before = get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    OK(cuMemFreeAsync(alloc(p, SIZE, u), u));
    (void)alloc(p, SIZE, u);
    (void)alloc(p, SIZE, u);
    OK(cuCtxDestroy_v2(d));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == before);
    EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    chunks(s, t);
    many();
    bounded(c);
    lost_free(c, p);
    OK(cuMemPoolDestroy(p));
    OK(cuCtxDestroy_v2(c));
    if (device && !strcmp(device, "host"))
        gone(false), gone(true);
    return failures != 0;
}
