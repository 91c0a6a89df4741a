/* SPDX-License-Identifier: Apache-2.0
 * Kernels that fail on a device that executes: the context keeps the error; a process that exits while a kernel runs for ever ends soon.
 * Other contexts go on, or, with the argument "process", have the error as well: HIP knows no contexts, CUDA's documentation promises
 * no more ("leaves the process in an inconsistent state and any further CUDA work will return the same error"), and NVIDIA's driver
 * 580 does it too. */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n" \
             "    .reg .b64 %d<3>; .reg .b32 %r<2>; .reg .pred %q<2>;\n    ld.param.u64 %d1, [p];\n    mov.u32 %r1, 7;\n"

static const struct {
    const char *what, *text;
    CUresult want;
} cases[] = {
    { "trap", HEAD "    trap;\n    ret;\n}\n", CUDA_ERROR_LAUNCH_FAILED },
    { "null", HEAD "    mov.u64 %d1, 0;\n    st.global.u32 [%d1], %r1;\n    ret;\n}\n", CUDA_ERROR_ILLEGAL_ADDRESS },
    { "freed", HEAD "    st.global.u32 [%d1], %r1;\n    ret;\n}\n", CUDA_ERROR_ILLEGAL_ADDRESS },
};
static const char forever[] = HEAD "AGAIN:\n    ld.volatile.global.u32 %r1, [%d1];\n    setp.eq.u32 %q1, %r1, 0;\n"
                                   "    @%q1 bra AGAIN;\n    ret;\n}\n";

static CUfunction
kernel(const char *text)
{
    CUmodule m;
    CUfunction f = NULL;
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "k"));
    return f;
}

static int
hang(void)
{
    CUdeviceptr p;
    make_context();
    CUfunction f = kernel(forever);
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuMemsetD32_v2(p, 0, 1));
    void *params[] = { &p };
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    return failures != 0;               /* with the kernel running */
}

/* Made before the fault. */
static CUstream stream;
static CUevent first_event, event;
static CUmodule module;
static CUdeviceptr memory;
static void *pinned;

static void
make_objects(void)
{
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&first_event, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(first_event, stream));
    OK(cuEventRecord(event, stream));
    OK(cuModuleLoadData(&module, cases[0].text));
    OK(cuMemAlloc_v2(&memory, 64));
    OK(cuMemAllocHost_v2(&pinned, 64));
}

static void
nothing(void *unused)
{
}

/* What NVIDIA's driver 580 answers on an H200 once a kernel has failed: its error to nearly everything. */
static void
after_fault(CUresult want, CUcontext c, CUfunction f, void **params)
{
    static char page[8192] __attribute__((aligned(4096)));
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR d = { .Width = 8, .Height = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 };
    CUmodule m;
    CUfunction g;
    CUstream s;
    CUevent e;
    CUdeviceptr p;
    CUcontext now;
    CUgraph graph = NULL;
    CUgraphExec x;
    CUmemoryPool pool;
    CUfunc_cache cache;
    CUstreamCaptureStatus capturing;
    const char *name;
    char text[64];
    unsigned long long id;
    CUtensorMap map;
    unsigned u;
    size_t n, all;
    float ms;
    void *h;
    int v, w;
#define GIVES(call) EXPECT_RESULT(call, want)
    GIVES(cuFuncGetModule(&m, f));
    GIVES(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    GIVES(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
    GIVES(cuFuncGetName(&name, f));
    GIVES(cuFuncLoad(f));
    GIVES(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 32, 0));
    GIVES(cuOccupancyMaxPotentialBlockSize(&v, &w, f, NULL, 0, 0));
    GIVES(cuModuleLoadData(&m, cases[0].text));
    GIVES(cuModuleGetFunction(&g, module, "k"));
    GIVES(cuModuleGetGlobal_v2(&p, &n, module, "k"));
    GIVES(cuMemGetInfo_v2(&n, &all));
    GIVES(cuMemAlloc_v2(&p, 64));
    GIVES(cuMemAllocHost_v2(&h, 64));
    GIVES(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
    GIVES(cuMemAllocAsync(&p, 64, stream));
    GIVES(cuMemHostRegister_v2(page, 4096, 0));
    GIVES(cuMemHostGetDevicePointer_v2(&p, pinned, 0));
    GIVES(cuMemGetAddressRange_v2(&p, &n, memory));
    GIVES(cuMemcpyHtoD_v2(memory, &v, 4));
    GIVES(cuMemcpyDtoH_v2(&v, memory, 4));
    GIVES(cuMemcpyDtoDAsync_v2(memory, memory + 32, 4, stream));
    GIVES(cuMemsetD32_v2(memory, 0, 1));
    GIVES(cuMemsetD32Async(memory, 0, 1, stream));
    GIVES(cuArrayCreate_v2(&a, &d));
    GIVES(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    GIVES(cuLaunchHostFunc(stream, nothing, NULL));
    GIVES(cuStreamCreate(&s, 0));
    GIVES(cuStreamQuery(NULL));
    GIVES(cuStreamQuery(stream));
    GIVES(cuStreamSynchronize(NULL));
    GIVES(cuStreamGetFlags(stream, &u));
    GIVES(cuStreamGetPriority(stream, &v));
    GIVES(cuStreamGetCtx(stream, &now));
    GIVES(cuStreamWaitEvent(stream, event, 0));
    GIVES(cuStreamIsCapturing(stream, &capturing));
    GIVES(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    GIVES(cuEventCreate(&e, 0));
    GIVES(cuEventRecord(event, stream));
    GIVES(cuEventQuery(event));
    GIVES(cuEventSynchronize(event));
    GIVES(cuEventElapsedTime(&ms, first_event, event));
    GIVES(cuCtxSynchronize());
    GIVES(cuCtxGetLimit(&n, CU_LIMIT_STACK_SIZE));
    GIVES(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
    GIVES(cuCtxGetCacheConfig(&cache));
    GIVES(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE));
    GIVES(cuCtxGetStreamPriorityRange(&v, &w));
    GIVES(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, (void *)(uintptr_t)memory, &(cuuint64_t){ 64 }, &(cuuint64_t){ 64 }, &(cuuint32_t){ 16 },
                                 &(cuuint32_t){ 1 }, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    GIVES(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)memory));
    OK(cuGraphCreate(&graph, 0));
    GIVES(cuGraphInstantiateWithFlags(&x, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    OK(cuCtxGetDevice(&v));
    OK(cuCtxGetFlags(&u));
    OK(cuCtxGetApiVersion(c, &u));
    OK(cuCtxGetCurrent(&now));
    OK(cuCtxGetId(c, &id));
    OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0));
    OK(cuDeviceGetName(text, sizeof text, 0));
    OK(cuDeviceTotalMem_v2(&n, 0));
    OK(cuDevicePrimaryCtxGetState(0, &u, &v));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuCtxPushCurrent_v2(c));
    OK(cuCtxPopCurrent_v2(&now));
    OK(cuCtxSetCurrent(c));
    GIVES(cuMemFreeAsync(memory, stream));
    GIVES(cuMemFree_v2(memory));
    GIVES(cuMemFreeHost(pinned));
    GIVES(cuEventDestroy_v2(event));
    GIVES(cuStreamDestroy_v2(stream));
    GIVES(cuModuleUnload(module));
#undef GIVES
}

static int
fault(const char *name, bool process)
{
    size_t i = 0;
    while (strcmp(cases[i].what, name))
        i++;
    const CUresult want = cases[i].want;
    CUcontext good = make_context(), c;
    CUdeviceptr fine, p;
    unsigned v = 0;
    OK(cuMemAlloc_v2(&fine, 4));
    OK(cuMemsetD32_v2(fine, 5, 1));
    CUfunction write = kernel(cases[2].text);
    OK(cuCtxCreate_v2(&c, 0, 0));
    make_objects();
    OK(cuMemAlloc_v2(&p, 4 << 20));
    if (!strcmp(cases[i].what, "freed"))
        OK(cuMemFree_v2(p));
    CUfunction f = kernel(cases[i].text);
    void *params[] = { &p };
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT_RESULT(cuCtxSynchronize(), want);
    after_fault(want, c, f, params);
    OK(cuCtxPopCurrent_v2(NULL));
    params[0] = &fine;
    const CUresult other = process ? want : CUDA_SUCCESS;
    EXPECT_RESULT(cuCtxSynchronize(), other);
    EXPECT_RESULT(cuLaunchKernel(write, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), other);
    EXPECT_RESULT(cuMemcpyDtoH_v2(&v, fine, 4), other);
    EXPECT(v == (process ? 0 : 7));
    OK(cuCtxDestroy_v2(c));
    OK(cuCtxDestroy_v2(good));
    return failures != 0;
}

/* This program anew, with another argument in front. */
static pid_t
start(char **argv, const char *what)
{
    pid_t pid = fork();
    if (!pid) {
        execl("/proc/self/exe", argv[0], what, argv[1], (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int
status_of(pid_t pid)
{
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

int
main(int argc, char **argv)
{
    bool process = argc > 1 && !strcmp(argv[argc - 1], "process");
    if (argc > 1 && !strcmp(argv[1], "hang"))
        return hang();
    if (argc - process == 2)
        return fault(argv[1], process);
    time_t begin = time(NULL);
    pid_t pid = start(argv, "hang");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = status_of(start(argv, cases[i].what));
        if (status)
            fprintf(stderr, "%s: status %#x\n", cases[i].what, (unsigned)status);
        EXPECT(status == 0);
    }
    EXPECT(status_of(pid) == 0);
    EXPECT(time(NULL) - begin < 20);
    return failures != 0;
}
