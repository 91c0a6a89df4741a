/* SPDX-License-Identifier: Apache-2.0
 * Invented, freed and wrong handles of every kind give the documented error and no crash. */
#include "tests/driver/test.h"

#include <stdint.h>

int
main(void)
{
    CUcontext c = make_context();
    CUstream s;
    CUevent e;
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR d = { .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 };
    OK(cuStreamCreate(&s, 0));
    OK(cuEventCreate(&e, 0));
    OK(cuArrayCreate_v2(&a, &d));

    static char on_heap_like[4096];
    uintptr_t bad[] = { 3, 0x10, (uintptr_t)on_heap_like, UINTPTR_MAX, (uintptr_t)1 << 63, (uintptr_t)&bad, 0x4000000000000000u,
                        (uintptr_t)s ^ 0x10, (uintptr_t)s + ((uintptr_t)1 << 28), (uintptr_t)s | 8, (uintptr_t)e, (uintptr_t)a, (uintptr_t)c };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        void *h = (void *)bad[i];
        unsigned u;
        int n;
        CUfunction f;
        CUDA_ARRAY_DESCRIPTOR out;
        EXPECT_RESULT(cuStreamQuery(h), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuStreamSynchronize(h), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuStreamDestroy_v2(h), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuStreamGetFlags(h, &u), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuModuleUnload(h), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuModuleGetFunction(&f, h, "x"), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, h), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuLaunchKernel(h, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuLinkDestroy(h), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuLibraryUnload(h), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_RESULT(cuTexObjectDestroy(bad[i]), CUDA_ERROR_INVALID_VALUE);
        EXPECT_RESULT(cuSurfObjectDestroy(bad[i]), CUDA_ERROR_INVALID_VALUE);
        EXPECT_RESULT(cuMemRelease(bad[i]), CUDA_ERROR_INVALID_VALUE);
        EXPECT_RESULT(cuMemPoolTrimTo(h, 0), CUDA_ERROR_INVALID_VALUE);
        if (h != (void *)e) {
            EXPECT_RESULT(cuEventQuery(h), CUDA_ERROR_INVALID_HANDLE);
            EXPECT_RESULT(cuEventRecord(h, s), CUDA_ERROR_INVALID_HANDLE);
            EXPECT_RESULT(cuStreamWaitEvent(s, h, 0), CUDA_ERROR_INVALID_HANDLE);
        }
        if (h != (void *)a) {
            EXPECT_RESULT(cuArrayGetDescriptor_v2(&out, h), CUDA_ERROR_INVALID_HANDLE);
            EXPECT_RESULT(cuArrayDestroy(h), CUDA_ERROR_INVALID_HANDLE);
        }
        if (h != (void *)c) {
            EXPECT_RESULT(cuCtxPushCurrent_v2(h), CUDA_ERROR_INVALID_CONTEXT);
            EXPECT_RESULT(cuCtxSetCurrent(h), CUDA_ERROR_INVALID_CONTEXT);
            EXPECT_RESULT(cuCtxDestroy_v2(h), CUDA_ERROR_INVALID_CONTEXT);
        }
    }

    /* Freed, and not mistaken for what took its place. */
    OK(cuEventDestroy_v2(e));
    EXPECT_RESULT(cuEventDestroy_v2(e), CUDA_ERROR_INVALID_HANDLE);
    CUevent e2;
    OK(cuEventCreate(&e2, 0));
    EXPECT(e2 != e);
    EXPECT_RESULT(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventQuery(e2));
    OK(cuStreamDestroy_v2(s));
    EXPECT_RESULT(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    OK(cuArrayDestroy(a));
    EXPECT_RESULT(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);

    /* A context takes its objects along. */
    OK(cuStreamCreate(&s, 0));
    CUcontext other;
    OK(cuCtxCreate_v2(&other, 0, 0));
    CUstream s2;
    OK(cuStreamCreate(&s2, 0));
    OK(cuCtxDestroy_v2(other));
    EXPECT_RESULT(cuCtxDestroy_v2(other), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_RESULT(cuStreamQuery(s2), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamQuery(s));
    OK(cuCtxDestroy_v2(c));

    /* Many handles: numbers are used again with a new generation. */
    c = make_context();
    uintptr_t first = 0;
    for (int i = 0; i < 5000; i++) {
        OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
        if (!i)
            first = (uintptr_t)e;
        else
            EXPECT((uintptr_t)e != first);
        OK(cuEventDestroy_v2(e));
    }
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
