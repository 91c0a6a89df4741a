/* SPDX-License-Identifier: Apache-2.0
 * Which of the freed memory of a pool is used again, by its three policies (CUDA programming guide, "Stream-Ordered Memory Allocator"; CUmemPool_attribute), and
 * chunks that grow and shrink. Addresses tell: a pool takes the lowest place that it may. */
#include "tests/driver/pools.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static _Atomic bool passed;

static void
pass(void *unused)
{
    passed = true;
}

static void
open_gate(void)
{
    EXPECT(write(gate[1], "x", 1) == 1);
}

static void *
open_gate_soon(void *unused)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    open_gate();
    return NULL;
}

/* s has got there, and nobody has waited for it as CUDA counts it. */
static void
let_pass(CUstream s)
{
    passed = false;
    OK(cuLaunchHostFunc(s, pass, NULL));
    while (!passed)
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

/* A pool that gives nothing back by itself. */
static CUmemoryPool
keeping_pool(size_t most)
{
    CUmemoryPool p = make_pool(most);
    set(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    return p;
}

static cuuint64_t
reserved(CUmemoryPool p)
{
    return get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

/* What an allocation in s would get: it is given back at once, and s alone may use it until others have a right to. */
static CUdeviceptr
probe(CUmemoryPool p, CUstream s)
{
    CUdeviceptr a = alloc(p, SIZE, s);
    OK(cuMemFreeAsync(a, s));
    return a;
}

static CUstream
make_stream(unsigned flags)
{
    CUstream s = NULL;
    OK(cuStreamCreate(&s, flags));
    return s;
}

/* An event that was recorded behind the free orders later allocations behind it, through further streams too; one from before the free does not. */
static void
follow(void)
{
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING), t = make_stream(CU_STREAM_NON_BLOCKING), u = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent early, e, f;
    OK(cuEventCreate(&early, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
    CUmemoryPool p = keeping_pool(0);
    CUdeviceptr a = alloc(p, SIZE, s);
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuMemsetD8Async(a, 5, SIZE, s));
    OK(cuEventRecord(early, s));
    OK(cuMemFreeAsync(a, s));
    EXPECT(probe(p, t) != a);
    OK(cuStreamWaitEvent(t, early, 0));
    EXPECT(probe(p, t) != a);
    OK(cuEventRecord(e, s));
    EXPECT(probe(p, t) != a);
    OK(cuStreamWaitEvent(t, e, 0));
    set(p, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 0);
    EXPECT(probe(p, t) != a);
    set(p, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
    EXPECT(probe(p, u) != a);
    OK(cuEventRecord(f, t));
    OK(cuStreamWaitEvent(u, f, 0));
    CUdeviceptr b = alloc(p, SIZE, u);
    EXPECT(b == a);                     /* u behind t behind s */
    OK(cuMemsetD8Async(b, 7, SIZE, u));
    EXPECT(probe(p, t) != a && probe(p, s) != a);
    EXPECT_RESULT(cuStreamQuery(u), CUDA_ERROR_NOT_READY);
    open_gate();
    OK(cuCtxSynchronize());
    EXPECT(holds(b, SIZE, 7));          /* not 5, which s wrote before its free */
    /* A record replaces the earlier one: who waits for e now is behind u's work alone. */
    OK(cuEventRecord(e, u));
    OK(cuLaunchHostFunc(u, wait_for_gate, NULL));
    OK(cuMemFreeAsync(b, u));
    OK(cuStreamWaitEvent(t, e, 0));
    EXPECT(probe(p, t) != a);
    open_gate();
    OK(cuCtxSynchronize());
    EXPECT(probe(p, t) == a);
    OK(cuCtxSynchronize());
    OK(cuMemPoolDestroy(p));
    OK(cuEventDestroy_v2(early));
    OK(cuEventDestroy_v2(e));
    OK(cuEventDestroy_v2(f));
    OK(cuStreamDestroy_v2(s));
    OK(cuStreamDestroy_v2(t));
    OK(cuStreamDestroy_v2(u));
}

/* Memory that is used again in its stream: earlier work of that stream still has all of it, also the page that the host device makes inaccessible behind a large
 * allocation. */
static void
earlier_work(void)
{
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING);
    CUmemoryPool p = keeping_pool(0);
    CUdeviceptr a = alloc(p, 8 * SIZE, s), b;
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuMemsetD8Async(a, 5, 8 * SIZE, s));
    OK(cuMemFreeAsync(a, s));
    b = alloc(p, 2 * SIZE, s);
    EXPECT(b == a);
    OK(cuMemsetD8Async(b, 7, SIZE, s));
    open_gate();
    OK(cuStreamSynchronize(s));
    EXPECT(holds(b, SIZE, 7) && holds(b + SIZE, SIZE, 5));
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolDestroy(p));
    OK(cuStreamDestroy_v2(s));
}

/* More streams than one remembers: some are forgotten, none is mixed up. */
static void
follow_many(void)
{
    enum { N = 20 };
    CUstream s[N], t = make_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a[N], b;
    CUevent e;
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    CUmemoryPool p = keeping_pool(0);
    for (int i = 0; i < N; i++) {
        s[i] = make_stream(CU_STREAM_NON_BLOCKING);
        a[i] = alloc(p, SIZE, s[i]);
    }
    for (int i = 0; i < N; i++) {
        OK(cuLaunchHostFunc(s[i], wait_for_gate, NULL));
        OK(cuMemsetD8Async(a[i], 5, SIZE, s[i]));
        OK(cuMemFreeAsync(a[i], s[i]));
    }
    int last = -1;
    for (int i = 0; i < N; i++) {       /* each is used again when t is behind it */
        OK(cuEventRecord(e, s[i]));
        OK(cuStreamWaitEvent(t, e, 0));
        b = alloc(p, SIZE, t);
        for (int k = 0; k < N; k++)
            last = b == a[k] ? k : last;
        EXPECT(last == i);
        OK(cuMemsetD8Async(b, (unsigned char)(100 + i), SIZE, t));
        a[i] = b;
    }
    for (int i = 0; i < N; i++)
        open_gate();
    OK(cuCtxSynchronize());
    for (int i = 0; i < N; i++)
        EXPECT(holds(a[i], SIZE, (uint8_t)(100 + i)));
    for (int i = 0; i < N; i++) {
        OK(cuMemFreeAsync(a[i], t));
        OK(cuStreamDestroy_v2(s[i]));
    }
    OK(cuMemPoolDestroy(p));
    OK(cuEventDestroy_v2(e));
    OK(cuStreamDestroy_v2(t));
}

/* "Cuda events and null stream interactions can create the required stream ordered dependencies" (CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES). */
static void
null_stream(void)
{
    CUstream s = make_stream(0), t = make_stream(0), apart = make_stream(CU_STREAM_NON_BLOCKING);
    CUmemoryPool p = keeping_pool(0);
    CUdeviceptr a = alloc(p, SIZE, s);
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuMemFreeAsync(a, s));
    EXPECT(probe(p, t) != a && probe(p, apart) != a);
    EXPECT(probe(p, NULL) == a);        /* it is behind s, and t behind it */
    EXPECT(probe(p, apart) != a);
    EXPECT(probe(p, t) == a);
    open_gate();
    OK(cuCtxSynchronize());
    OK(cuMemPoolDestroy(p));
    OK(cuStreamDestroy_v2(s));
    OK(cuStreamDestroy_v2(t));
    OK(cuStreamDestroy_v2(apart));
}

/* Without opportunistic reuse what a stream has got behind is used by others when the program has waited for that: by stream, event or context. */
static void
opportunistic(void)
{
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING), t = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent e;
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    CUmemoryPool p = keeping_pool(0);
    CUdeviceptr a = probe(p, s);
    let_pass(s);
    EXPECT(probe(p, t) == a);
    let_pass(t);
    set(p, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0);
    EXPECT(probe(p, s) == a);           /* free before that */
    let_pass(s);
    EXPECT(probe(p, t) != a);
    OK(cuStreamSynchronize(t));
    EXPECT(probe(p, t) != a && probe(p, s) == a);
    let_pass(s);
    OK(cuStreamSynchronize(s));
    EXPECT(probe(p, t) == a);           /* and the rest is now t's */
    OK(cuEventRecord(e, t));
    let_pass(t);
    EXPECT(probe(p, s) != a);
    OK(cuEventSynchronize(e));
    EXPECT(probe(p, s) == a);
    let_pass(s);
    EXPECT(probe(p, t) != a);
    OK(cuCtxSynchronize());
    EXPECT(probe(p, t) == a);
    let_pass(t);
    EXPECT(probe(p, s) != a);
    set(p, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 1);
    let_pass(s);
    EXPECT(probe(p, s) == a);
    /* A pool that ends so gives all back. */
    set(p, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0);
    let_pass(s);
    OK(cuMemPoolDestroy(p));
    OK(cuEventDestroy_v2(e));
    OK(cuStreamDestroy_v2(s));
    OK(cuStreamDestroy_v2(t));
}

/* A pool that may not grow has the allocation wait in its stream for what other streams have freed; the call returns at once. */
static void
internal(void)
{
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING), t = make_stream(CU_STREAM_NON_BLOCKING), u = make_stream(CU_STREAM_NON_BLOCKING);
    CUmemoryPool p = keeping_pool(CHUNK);
    CUdeviceptr a = alloc(p, 20 * SIZE, s), b = alloc(p, 10 * SIZE, t), c;
    pthread_t opens;
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuMemsetD8Async(a, 5, 20 * SIZE, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuMemFreeAsync(b, t));
    c = alloc(p, 30 * SIZE, u);         /* behind both */
    EXPECT(c == a && reserved(p) == CHUNK);
    OK(cuMemsetD8Async(c, 7, 30 * SIZE, u));
    EXPECT_RESULT(cuStreamQuery(u), CUDA_ERROR_NOT_READY);
    open_gate();
    OK(cuStreamSynchronize(u));
    EXPECT(holds(c, 30 * SIZE, 7));
    /* Where that is not allowed, there is no memory (so driver 580 on an H200, 2026-11-28). */
    set(p, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
    OK(cuLaunchHostFunc(u, wait_for_gate, NULL));
    OK(cuMemFreeAsync(c, u));
    EXPECT_RESULT(cuMemAllocFromPoolAsync(&c, 30 * SIZE, p, s), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_RESULT(cuStreamQuery(u), CUDA_ERROR_NOT_READY);
    open_gate();
    OK(cuStreamSynchronize(u));
    /* Where it is and the stream is no more, the call waits. */
    set(p, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1);
    c = alloc(p, 30 * SIZE, u);
    OK(cuLaunchHostFunc(u, wait_for_gate, NULL));
    OK(cuMemFreeAsync(c, u));
    OK(cuStreamDestroy_v2(u));
    pthread_create(&opens, NULL, open_gate_soon, NULL);
    c = alloc(p, 30 * SIZE, s);
    EXPECT(reserved(p) == CHUNK);       /* at any address: the chunk has been given back to the device in between */
    OK(cuStreamQuery(s));
    pthread_join(opens, NULL);
    OK(cuStreamSynchronize(s));
    OK(cuMemFreeAsync(c, s));
    OK(cuCtxSynchronize());
    OK(cuMemPoolDestroy(p));
    OK(cuStreamDestroy_v2(s));
    OK(cuStreamDestroy_v2(t));
}

/* Three allocations of 20 MiB lie in 64 MiB, as an H100 has it (driver 580), where a chunk can grow; on HIP and over NVIDIA's driver it cannot. What is free of a chunk goes back by
 * units of 32 MiB. */
static void
units(bool grows)
{
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING);
    CUmemoryPool p = keeping_pool(0);
    cuuint64_t none = 0;
    CUdeviceptr a[4];
    OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
    for (int i = 0; i < 3; i++) {
        a[i] = alloc(p, 20 * SIZE, s);
        OK(cuMemsetD8Async(a[i], (unsigned char)(i + 1), 20 * SIZE, s));
    }
    EXPECT(reserved(p) == (grows ? 2 : 3) * CHUNK);
    OK(cuMemFreeAsync(a[0], s));
    OK(cuStreamSynchronize(s));
    EXPECT(reserved(p) == 2 * CHUNK);   /* the second one is partly in the first unit */
    OK(cuMemFreeAsync(a[1], s));
    OK(cuStreamSynchronize(s));
    EXPECT(reserved(p) == CHUNK && holds(a[2], 20 * SIZE, 3));
    OK(cuMemFreeAsync(a[2], s));
    OK(cuStreamSynchronize(s));
    EXPECT(reserved(p) == 0);
    /* Units in the middle, at either end, several at a time. */
    static const unsigned gaps[] = { 1, 2, 8, 5, 6, 9, 7, 14 };
    for (size_t k = 0; k < sizeof gaps / sizeof *gaps; k++) {
        unsigned gone = gaps[k];
        for (int i = 0; i < 4; i++) {
            a[i] = alloc(p, CHUNK, s);
            OK(cuMemsetD8Async(a[i] + CHUNK - SIZE, (unsigned char)(i + 1), SIZE, s));
        }
        EXPECT(reserved(p) == 4 * CHUNK);
        for (int i = 0; i < 4; i++)
            if (gone >> i & 1)
                OK(cuMemFreeAsync(a[i], s));
        OK(cuStreamSynchronize(s));
        EXPECT(reserved(p) == (4 - (unsigned)__builtin_popcount(gone)) * CHUNK);
        for (int i = 0; i < 4; i++)
            EXPECT(gone >> i & 1 || holds(a[i] + CHUNK - SIZE, SIZE, (uint8_t)(i + 1)));
        for (int i = 0; i < 4; i++) {   /* and what comes into the gaps leaves the others alone */
            if (gone >> i & 1)
                a[i] = alloc(p, CHUNK, s);
            OK(cuMemsetD8Async(a[i], (unsigned char)(i + 11), SIZE, s));
            OK(cuMemsetD8Async(a[i] + CHUNK - SIZE, (unsigned char)(i + 11), SIZE, s));
        }
        EXPECT(reserved(p) == 4 * CHUNK);
        OK(cuStreamSynchronize(s));
        for (int i = 0; i < 4; i++) {
            EXPECT(holds(a[i], SIZE, (uint8_t)(i + 11)) && holds(a[i] + CHUNK - SIZE, SIZE, (uint8_t)(i + 11)));
            OK(cuMemFreeAsync(a[i], s));
        }
        OK(cuStreamSynchronize(s));
        EXPECT(reserved(p) == 0);
    }
    OK(cuMemPoolDestroy(p));
    OK(cuStreamDestroy_v2(s));
}

int
main(void)
{
    const char *device = getenv("CUDAWAY_DEVICE");
    const bool grows = !is_over_cuda() && (!device || strncmp(device, "gfxemu", 6) != 0);
    CUcontext c = make_context();
    size_t before, after, total;
    EXPECT(!pipe(gate));
    OK(cuMemGetInfo_v2(&before, &total));
    earlier_work();
    follow();
    follow_many();
    null_stream();
    opportunistic();
    internal();
    units(grows);
    OK(cuCtxSynchronize());
    OK(cuMemGetInfo_v2(&after, &total));
    EXPECT(after == before);            /* all has been given back */
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
