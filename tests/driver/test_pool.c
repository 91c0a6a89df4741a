/* SPDX-License-Identifier: Apache-2.0
 * Memory pools (CUDA driver API, "Stream Ordered Memory Allocator"): what is freed stays up to the release threshold and is used again, at once
 * in the stream that freed it, in others when that stream has got there. Expectations are the manual's. */
#include "tests/driver/test.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

static int gate[2];

static void
wait_for_gate(void *unused)
{
    char c;
    EXPECT(read(gate[0], &c, 1) == 1);
}

static cuuint64_t
get(CUmemoryPool p, CUmemPool_attribute a)
{
    cuuint64_t v = ~0ull;
    OK(cuMemPoolGetAttribute(p, a, &v));
    return v;
}

static CUmemoryPool
make_pool(size_t most)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, .maxSize = most };
    CUmemoryPool p = NULL;
    OK(cuMemPoolCreate(&p, &props));
    return p;
}

static CUdeviceptr
alloc(CUmemoryPool p, size_t size, CUstream s)
{
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, size, p, s));
    return a;
}

/* A fill whose memory is given back before its turn comes: the context's sticky error, and no signal. Only the host device is asked, where it
 * is this process's memory that is gone; elsewhere it is the backend's business. */
static void
gone(void)
{
    CUcontext c = make_context();
    CUstream s, t;
    CUmemoryPool p = make_pool(0);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
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
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= SIZE);
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
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= SIZE);
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
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) < 2 * SIZE);

    /* Trimming keeps as much as it is told to, and never what is used. */
    CUdeviceptr keep = alloc(p, 4 * SIZE, s);
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolTrimTo(p, 0));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 4 * SIZE);
    OK(cuMemsetD8_v2(keep, 7, 4 * SIZE));
    OK(cuMemFree_v2(keep));             /* waits */
    OK(cuMemPoolTrimTo(p, 4 * SIZE));
    EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 4 * SIZE);

    /* maxSize */
    CUmemoryPool small = make_pool(2 * SIZE);
    a = alloc(small, SIZE, s);
    EXPECT_RESULT(cuMemAllocFromPoolAsync(&other, 2 * SIZE, small, s), CUDA_ERROR_OUT_OF_MEMORY);
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
    lost_free(c, p);
    OK(cuMemPoolDestroy(p));
    OK(cuCtxDestroy_v2(c));
    if (device && !strcmp(device, "host"))
        gone();
    return failures != 0;
}
