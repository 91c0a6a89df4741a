/* SPDX-License-Identifier: Apache-2.0
 * Green contexts (CUDA driver API, "Green Contexts"): dividing a device's multiprocessors, contexts and streams over the parts, events of all
 * their streams; and cuCtxRecordEvent, cuCtxWaitEvent. */
#include "tests/driver/test.h"

#include <malloc.h>
#include <unistd.h>

static int gate[2];

static void
wait_for_gate(void *unused)
{
    char c;
    EXPECT(read(gate[0], &c, 1) == 1);
}

static void
open_gate(void)
{
    EXPECT(write(gate[1], "x", 1) == 1);
}

/* An event that is recorded in a whole context, or a green one, is behind all its streams; a wait holds all its streams up. */
static void
events(CUcontext c, CUgreenCtx g, CUstream in, CUstream out)
{
    CUevent e;
    EXPECT(!pipe(gate));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuLaunchHostFunc(in, wait_for_gate, NULL));
    OK(g ? cuGreenCtxRecordEvent(g, e) : cuCtxRecordEvent(c, e));
    EXPECT_RESULT(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    open_gate();
    OK(cuEventSynchronize(e));

    OK(cuLaunchHostFunc(out, wait_for_gate, NULL));
    OK(cuEventRecord(e, out));
    OK(g ? cuGreenCtxWaitEvent(g, e) : cuCtxWaitEvent(c, e));
    EXPECT_RESULT(cuStreamQuery(in), CUDA_ERROR_NOT_READY);
    open_gate();
    OK(cuStreamSynchronize(in));
    OK(cuEventDestroy_v2(e));
    close(gate[0]);
    close(gate[1]);
}

/* So is one that is recorded when a stream with work has been destroyed. */
static void
departed(CUcontext c, CUgreenCtx g)
{
    CUevent e;
    CUstream s;
    EXPECT(!pipe(gate));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(g ? cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0) : cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(s, wait_for_gate, NULL));
    OK(cuStreamDestroy_v2(s));
    OK(g ? cuGreenCtxRecordEvent(g, e) : cuCtxRecordEvent(c, e));
    usleep(20000);
    EXPECT_RESULT(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    open_gate();
    OK(cuEventSynchronize(e));
    OK(cuEventDestroy_v2(e));
    close(gate[0]);
    close(gate[1]);
}

/* Descriptors have no end: that of a resource is made once. */
static void
descriptors(CUdevResource *r)
{
    CUdevResourceDesc d;
    OK(cuDevResourceGenerateDesc(&d, r, 1));
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 20000; i++)
        OK(cuDevResourceGenerateDesc(&d, r, 1));
    EXPECT(mallinfo2().uordblks < before + 100000);
}

int
main(void)
{
    CUdevResource all, part[64], rest, got;
    CUdevResourceDesc desc;
    CUgreenCtx g = NULL, g2;
    CUcontext c = make_context(), green, primary, now;
    int sms = 0, active;
    unsigned n = 0, flags;
    OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(all.type == CU_DEV_RESOURCE_TYPE_SM && all.sm.smCount == (unsigned)sms);
    EXPECT(all.sm.minSmPartitionSize >= 1 && all.sm.smCoscheduledAlignment >= 1);

    /* Division: groups of at least what is asked for, none shares a multiprocessor, nothing is lost. */
    const unsigned each = all.sm.minSmPartitionSize;
    OK(cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, 0, each));
    EXPECT(n == all.sm.smCount / each);
    unsigned want = n > 64 ? 64 : n > 1 ? n - 1 : 1, had = want;
    OK(cuDevSmResourceSplitByCount(part, &want, &all, &rest, 0, each));
    EXPECT(want == had);
    unsigned sum = rest.sm.smCount;
    for (unsigned i = 0; i < want; i++) {
        EXPECT(part[i].sm.smCount >= each);
        sum += part[i].sm.smCount;
    }
    EXPECT(sum == all.sm.smCount);
    had = 1;
    EXPECT_RESULT(cuDevSmResourceSplitByCount(part + 1, &had, &all, NULL, 0, all.sm.smCount + 1), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EXPECT_RESULT(cuDevSmResourceSplitByCount(part + 1, NULL, &all, NULL, 0, each), CUDA_ERROR_INVALID_VALUE);
    rest.type = CU_DEV_RESOURCE_TYPE_INVALID;
    EXPECT_RESULT(cuDevSmResourceSplitByCount(part + 1, &had, &rest, NULL, 0, each), CUDA_ERROR_INVALID_RESOURCE_TYPE);
    if (want > 2) {                     /* neighbours are one, others are not */
        CUdevResource two[2] = { part[0], part[2] };
        EXPECT_RESULT(cuDevResourceGenerateDesc(&desc, two, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
        OK(cuDevResourceGenerateDesc(&desc, part, 2));
    }

    /* A green context: over the primary one, which it keeps. */
    OK(cuDevResourceGenerateDesc(&desc, part, 1));
    EXPECT_RESULT(cuGreenCtxCreate(&g, desc, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGreenCtxCreate(&g, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active);
    OK(cuGreenCtxGetDevResource(g, &got, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(got.sm.smCount == part[0].sm.smCount);
    OK(cuCtxFromGreenCtx(&green, g));
    OK(cuCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(got.sm.smCount == part[0].sm.smCount);
    OK(cuCtxGetDevResource(c, &got, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(got.sm.smCount == all.sm.smCount);
    unsigned long long id, id2;
    OK(cuGreenCtxGetId(g, &id));
    OK(cuGreenCtxCreate(&g2, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxGetId(g2, &id2));
    EXPECT(id != id2);
    OK(cuGreenCtxDestroy(g2));
    EXPECT_RESULT(cuGreenCtxDestroy(g2), CUDA_ERROR_CONTEXT_IS_DESTROYED);

    CUstream s, t, plain;
    CUdeviceptr p;
    EXPECT_RESULT(cuGreenCtxStreamCreate(&s, g, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0));
    OK(cuStreamGetGreenCtx(s, &g2));
    EXPECT(g2 == g);
    OK(cuStreamGetCtx_v2(s, &now, &g2));
    EXPECT(g2 == g);
    OK(cuCtxSetCurrent(green));
    OK(cuCtxGetCurrent(&now));
    EXPECT(now == green);
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuStreamGetGreenCtx(t, &g2));
    EXPECT(g2 == g);
    OK(cuMemAlloc_v2(&p, 4096));        /* the primary context's */
    OK(cuMemsetD8Async(p, 7, 4096, s));
    OK(cuStreamSynchronize(s));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxSetCurrent(primary));
    unsigned char byte = 0;
    OK(cuMemcpyDtoH_v2(&byte, p + 100, 1));
    EXPECT(byte == 7);
    OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
    OK(cuStreamGetGreenCtx(plain, &g2));
    EXPECT(!g2);
    EXPECT_RESULT(cuCtxDestroy_v2(green), CUDA_ERROR_INVALID_CONTEXT);
    events(NULL, g, s, plain);
    events(NULL, g, t, plain);
    events(primary, NULL, plain, s);
    events(primary, NULL, s, plain);
    departed(NULL, g);
    departed(primary, NULL);
    descriptors(part);
    OK(cuStreamDestroy_v2(t));
    OK(cuGreenCtxDestroy(g));
    EXPECT_RESULT(cuCtxSetCurrent(green), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(!active);
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
