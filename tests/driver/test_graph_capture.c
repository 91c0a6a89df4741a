/* SPDX-License-Identifier: Apache-2.0
 * What operations answer while their stream captures: those that do nothing, and all of them once the capture has failed. */
#include "tests/driver/graphs.h"

#include <stdint.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n    ret;\n}\n";

static CUfunction k;

/* Freeing nothing is no node. */
static void
freed_nothing(void)
{
    CUstream s = stream();
    CUgraph g;
    size_t nodes = 1;
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemFreeAsync(0, s));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphGetNodes(g, NULL, &nodes));
    EXPECT(nodes == 0);
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

static void CUDA_CB
no_work(void *unused)
{
}

/* In a capture that has failed, an operation says so before it looks at its arguments, also one that has nothing to do (an H200). A host function that is none
 * is the exception. */
static void
failed_capture(void)
{
    CUstream s = stream();
    CUevent e;
    CUdeviceptr p = 0, plain;
    CUgraph g;
    uint32_t one = 1;
    void *arguments[] = { &one };
    uint8_t b[16] = { 0 };
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuMemAlloc_v2(&plain, 4096));
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_RESULT(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
#define FAILED(call) EXPECT_RESULT(call, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    FAILED(cuMemFreeAsync(0, s));
    FAILED(cuMemFreeAsync(plain, s));
    FAILED(cuMemFreeAsync(12345, s));
    FAILED(cuMemsetD8Async(plain, 0, 0, s));
    FAILED(cuMemsetD8Async(plain, 0, 16, s));
    FAILED(cuMemsetD8Async(0, 0, 16, s));
    FAILED(cuMemcpyHtoDAsync_v2(plain, b, 0, s));
    FAILED(cuMemcpyHtoDAsync_v2(plain, b, 16, s));
    FAILED(cuMemcpyHtoDAsync_v2(0, b, 16, s));
    FAILED(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL));
    FAILED(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
    FAILED(cuLaunchKernel(k, 0, 1, 1, 1, 1, 1, 0, s, arguments, NULL));
    FAILED(cuMemAllocAsync(&p, 4096, s));
    FAILED(cuMemAllocAsync(&p, 0, s));
    FAILED(cuMemAllocAsync(NULL, 4096, s));
    FAILED(cuEventRecord(e, s));
    FAILED(cuStreamWaitEvent(s, e, 0));
    FAILED(cuLaunchHostFunc(s, no_work, NULL));
    FAILED(cuStreamEndCapture(s, &g));
#undef FAILED
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_RESULT(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_RESULT(cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuMemFreeAsync(0, s));           /* and then all is as before */
    OK(cuMemsetD8Async(plain, 0, 0, s));
    OK(cuMemAllocAsync(&p, 0, s));
    OK(cuMemFree_v2(plain));
    OK(cuEventDestroy_v2(e));
    OK(cuStreamDestroy_v2(s));
}

int
main(void)
{
    CUmodule m;
    CUcontext c = make_context();
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&k, m, "k"));
    static const struct graph_case tests[] = { { "freed_nothing", freed_nothing }, { "failed_capture", failed_capture } };
    run_cases(tests, sizeof tests / sizeof *tests);
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
