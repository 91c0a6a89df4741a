/* SPDX-License-Identifier: Apache-2.0
 * What the driver does when the device fails: runs itself once a scenario, with faults injected into the null device; with the arguments
 * FAILING UNDER, into a HIP library (failing_hip.c, and what is under it). */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n";

static void CUDA_CB
nothing(void *unused)
{
}

static int
scenario(const char *name)
{
    CUcontext c;
    CUdeviceptr p;
    CUstream s;
    CUevent e;
    CUmodule m;
    CUfunction f;
    size_t before, after, total;
    char b[8] = { 0 };
    if (!strcmp(name, "open")) {
        const CUresult want = getenv("HIP_FAIL") ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_UNKNOWN;
        EXPECT_RESULT(cuInit(0), want);
        EXPECT_RESULT(cuInit(0), want);
        EXPECT_RESULT(cuDeviceGet((CUdevice[1]){ 0 }, 0), CUDA_ERROR_NOT_INITIALIZED);
        return failures != 0;
    }
    OK(cuInit(0));
    if (!strcmp(name, "context_create") || !strcmp(name, "stream_create") || !strcmp(name, "event_create")) {
        EXPECT_RESULT(cuCtxCreate_v2(&c, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_RESULT(cuMemAlloc_v2(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
        OK(cuCtxCreate_v2(&c, 0, 0));   /* only the first call failed */
        OK(cuMemAlloc_v2(&p, 4));
        OK(cuCtxDestroy_v2(c));
        return failures != 0;
    }
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuMemGetInfo_v2(&before, &total));
    if (!strcmp(name, "mem_alloc")) {
        EXPECT_RESULT(cuMemAlloc_v2(&p, 4096), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuMemAlloc_v2(&p, 4096));
        OK(cuMemFree_v2(p));
    } else if (!strcmp(name, "mem_retried")) {  /* once what the backend keeps has gone back to HIP */
        OK(cuMemAlloc_v2(&p, 4096));
        OK(cuMemFree_v2(p));
    } else if (!strcmp(name, "stream_copy")) {
        OK(cuMemAlloc_v2(&p, 8));
        EXPECT_RESULT(cuMemcpyHtoD_v2(p, b, 8), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuMemcpyHtoD_v2(p, b, 8));
        OK(cuMemFree_v2(p));
    } else if (!strcmp(name, "stream_host_fn")) {
        EXPECT_RESULT(cuLaunchHostFunc(NULL, nothing, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuLaunchHostFunc(NULL, nothing, NULL));
        OK(cuCtxSynchronize());
    } else if (!strcmp(name, "free") || !strcmp(name, "free_refused")) {
        OK(cuMemAllocAsync(&p, 100, NULL));
        EXPECT_RESULT(cuMemFreeAsync(p, NULL), !strcmp(name, "free") ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN);
        OK(cuMemFreeAsync(p, NULL));    /* it is still there */
        OK(cuCtxSynchronize());
    } else if (!strcmp(name, "stream_wait_event")) {
        OK(cuStreamCreate(&s, 0));
        OK(cuMemAlloc_v2(&p, 8));
        OK(cuMemsetD8Async(p, 0, 8, s));
        EXPECT_RESULT(cuMemsetD8Async(p, 1, 8, NULL), CUDA_ERROR_UNKNOWN);     /* the join of s failed: nothing may run */
        OK(cuMemsetD8Async(p, 2, 8, NULL));
        OK(cuMemcpyDtoH_v2(b, p, 8));
        EXPECT(b[0] == 2);
        OK(cuStreamDestroy_v2(s));
        OK(cuMemFree_v2(p));
    } else if (!strcmp(name, "module_load") || !strcmp(name, "kernel_prepare") || !strcmp(name, "compile")) {
        if (!strcmp(name, "module_load"))
            EXPECT_RESULT(cuModuleLoadData(&m, text), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuModuleLoadData(&m, text));
        if (!strcmp(name, "kernel_prepare"))
            EXPECT_RESULT(cuModuleGetFunction(&f, m, "k"), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuModuleGetFunction(&f, m, "k"));
        if (!strcmp(name, "compile"))
            EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        OK(cuModuleUnload(m));
    } else if (!strcmp(name, "mem_host")) {
        void *h;
        EXPECT_RESULT(cuMemAllocHost_v2(&h, 4096), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuMemAllocHost_v2(&h, 4096));
        OK(cuMemFreeHost(h));
    } else if (!strcmp(name, "launch_refused")) {   /* a launch that fails at once is no fault */
        OK(cuModuleLoadData(&m, text));
        OK(cuModuleGetFunction(&f, m, "k"));
        EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
        OK(cuCtxSynchronize());
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        OK(cuModuleUnload(m));
    } else if (!strcmp(name, "event_record")) {
        OK(cuEventCreate(&e, 0));
        EXPECT_RESULT(cuEventRecord(e, NULL), CUDA_ERROR_UNKNOWN);
        OK(cuEventQuery(e));            /* as if it had not been recorded */
        OK(cuEventRecord(e, NULL));
        OK(cuEventSynchronize(e));
        OK(cuEventDestroy_v2(e));
    } else if (!strcmp(name, "launch")) {
        /* The error of a kernel is the context's until it is destroyed; another context is not concerned. */
        OK(cuModuleLoadData(&m, text));
        OK(cuModuleGetFunction(&f, m, "k"));
        OK(cuEventCreate(&e, 0));
        OK(cuMemAlloc_v2(&p, 8));
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_RESULT(cuMemcpyDtoH_v2(b, p, 8), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_RESULT(cuMemAlloc_v2(&p, 8), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
        CUcontext d;
        OK(cuCtxCreate_v2(&d, 0, 0));
        OK(cuMemAlloc_v2(&p, 8));
        OK(cuMemFree_v2(p));
        OK(cuCtxDestroy_v2(d));
    }
    if (strcmp(name, "launch")) {
        OK(cuMemGetInfo_v2(&after, &total));
        EXPECT(before == after);        /* nothing leaked on the way */
    }
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}

int
main(int argc, char **argv)
{
    static const char *const null[][2] = {
        { "open", "null:open@1=internal" }, { "context_create", "null:context_create@1" }, { "stream_create", "null:stream_create@1" },
        { "event_create", "null:event_create@1" }, { "mem_alloc", "null:mem_alloc@1" }, { "stream_copy", "null:stream_copy@1" },
        { "stream_host_fn", "null:stream_host_fn@1" }, { "free", "null:event_create@2" }, { "free_refused", "null:event_record@1=internal" }, { "stream_wait_event", "null:stream_wait_event@1=internal" },
        { "module_load", "null:module_load@1" }, { "kernel_prepare", "null:kernel_prepare@1" }, { "launch", "null:launch@1=fault" },
    };
    static const char *const hip[][2] = {
        { "open", "hipInit@1-1=100" }, { "open", "hipGetDeviceCount@1-1=999" }, { "stream_create", "hipStreamCreateWithPriority@1-1=2" },
        { "event_create", "hipEventCreateWithFlags@1-1=2" }, { "mem_alloc", "hipMalloc@1-2=2" }, { "mem_retried", "hipMalloc@1-1=2" },
        { "mem_host", "hipHostMalloc@1-1=2" }, { "stream_copy", "hipMemcpyAsync@1-1=2" }, { "stream_host_fn", "hipLaunchHostFunc@1-1=2" },
        { "free", "hipEventCreateWithFlags@2-2=2" }, { "free_refused", "hipEventRecord@1-1=999" },
        { "stream_wait_event", "hipStreamWaitEvent@1-1=999" }, { "event_record", "hipEventRecord@1-1=999" },
        { "module_load", "hipMalloc@1-1=2" }, { "compile", "hipModuleLoadData@1-1=2" }, { "compile", "hipModuleGetFunction@1-1=2" },
        { "launch_refused", "hipModuleLaunchKernel@1-1=701" }, { "launch", "hipDeviceSynchronize@1-1=700" },
    };
    if (argc == 2)
        return scenario(argv[1]);
    const bool over_hip = argc == 3;
    const char *const (*all)[2] = over_hip ? hip : null;
    int failed = 0;
    for (size_t i = 0; i < (over_hip ? sizeof hip : sizeof null) / sizeof *all; i++) {
        pid_t pid = fork();
        if (!pid) {
            setenv("CUDAWAY_DEVICE", over_hip ? "hip" : all[i][1], 1);
            if (over_hip) {
                setenv("CUDAWAY_HIP_LIBRARY", argv[1], 1);
                setenv("HIP_UNDER", argv[2], 1);
                setenv("HIP_FAIL", all[i][1], 1);
            }
            execl("/proc/self/exe", argv[0], all[i][0], (char *)NULL);
            _exit(127);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        if (status) {
            fprintf(stderr, "%s with %s: status %d\n", all[i][0], all[i][1], status);
            failed = 1;
        }
    }
    return failed;
}
