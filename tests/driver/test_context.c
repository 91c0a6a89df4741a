/* SPDX-License-Identifier: Apache-2.0
 * The context stack of a thread, primary contexts, contexts that another thread destroys. */
#include "tests/driver/test.h"

#include <pthread.h>

static CUcontext shared;

static void *
other_thread(void *unused)
{
    CUcontext c = (CUcontext)1;
    CUdevice d;
    size_t n;
    OK(cuCtxGetCurrent(&c));
    EXPECT(c == NULL);
    EXPECT_RESULT(cuMemGetInfo_v2(&n, &n), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuCtxPopCurrent_v2(&c), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(shared));
    OK(cuCtxGetDevice(&d));
    EXPECT(d == 0);
    OK(cuCtxDestroy_v2(shared));
    return NULL;
}

int
main(void)
{
    CUcontext a, b, c, got;
    CUdevice d;
    unsigned flags, version;
    int active;
    OK(cuInit(0));
    OK(cuCtxGetCurrent(&got));
    EXPECT(!got);
    EXPECT_RESULT(cuCtxGetDevice(&d), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuCtxCreate_v2(&a, 0, 77), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuCtxCreate_v2(NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuCtxCreate_v2(&a, 0xffffff00, 0), CUDA_ERROR_INVALID_VALUE);

    OK(cuCtxCreate_v2(&a, CU_CTX_SCHED_YIELD, 0));
    OK(cuCtxCreate_v2(&b, 0, 0));
    EXPECT(a != b);
    OK(cuCtxGetCurrent(&got));
    EXPECT(got == b);
    OK(cuCtxPushCurrent_v2(a));
    OK(cuCtxGetFlags(&flags));
    EXPECT(flags == CU_CTX_SCHED_YIELD);
    OK(cuCtxPopCurrent_v2(&got));
    EXPECT(got == a);
    OK(cuCtxPopCurrent_v2(&got));
    EXPECT(got == b);
    OK(cuCtxGetCurrent(&got));
    EXPECT(got == a);
    OK(cuCtxSetCurrent(b));             /* replaces the top */
    OK(cuCtxPopCurrent_v2(&got));
    EXPECT(got == b);
    EXPECT_RESULT(cuCtxPopCurrent_v2(&got), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(NULL));
    unsigned long long id_a, id_b;
    OK(cuCtxGetId(a, &id_a));
    OK(cuCtxGetId(b, &id_b));
    EXPECT(id_a != id_b);
    OK(cuCtxGetApiVersion(a, &version));
    EXPECT(version >= 3010);

    /* Memory of one context is gone with it. */
    CUdeviceptr p;
    OK(cuCtxSetCurrent(a));
    OK(cuMemAlloc_v2(&p, 100));
    size_t v = 0;
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
    EXPECT(v == 4096);
    EXPECT_RESULT(cuCtxSetLimit((CUlimit)99, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy_v2(a));
    OK(cuCtxGetCurrent(&got));
    EXPECT(!got);                       /* it was current here, so it was popped */
    OK(cuCtxSetCurrent(b));
    EXPECT_RESULT(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxPushCurrent_v2(a));         /* a context that has ended may be current */
    EXPECT_RESULT(cuMemAlloc_v2(&p, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent_v2(&got));
    EXPECT(got == a);

    /* Destroyed by another thread while current here. */
    OK(cuCtxCreate_v2(&c, 0, 0));
    shared = c;
    pthread_t t;
    pthread_create(&t, NULL, other_thread, NULL);
    pthread_join(t, NULL);
    EXPECT_RESULT(cuMemAlloc_v2(&p, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent_v2(&got));
    EXPECT(got == c);
    OK(cuMemAlloc_v2(&p, 100));         /* b is current again */
    OK(cuCtxDestroy_v2(b));

    /* Primary context. */
    CUcontext p1, p2;
    EXPECT_RESULT(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(flags == CU_CTX_SCHED_BLOCKING_SYNC && !active);
    OK(cuDevicePrimaryCtxRetain(&p1, 0));
    OK(cuDevicePrimaryCtxRetain(&p2, 0));
    EXPECT(p1 == p2);
    OK(cuCtxGetCurrent(&got));
    EXPECT(!got);                       /* retaining does not make it current */
    OK(cuCtxSetCurrent(p1));
    OK(cuCtxGetFlags(&flags));
    EXPECT(flags == CU_CTX_SCHED_BLOCKING_SYNC);
    OK(cuMemAlloc_v2(&p, 64));
    EXPECT_RESULT(cuCtxDestroy_v2(p1), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuMemsetD8_v2(p, 0, 64));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(!active);
    EXPECT_RESULT(cuMemAlloc_v2(&p, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRetain(&p2, 0));
    EXPECT(p1 == p2);
    OK(cuMemAlloc_v2(&p, 64));          /* the same handle is alive again */
    OK(cuDevicePrimaryCtxReset_v2(0));
    EXPECT_RESULT(cuMemFree_v2(p), CUDA_ERROR_CONTEXT_IS_DESTROYED);

    /* A reset ends what there is, and leaves who has retained it (an H200, driver 580.159.04, 2026-11-29). */
    OK(cuDevicePrimaryCtxReset_v2(0));
    OK(cuDevicePrimaryCtxRetain(&p2, 0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(!active);
    EXPECT_RESULT(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    return failures != 0;
}
