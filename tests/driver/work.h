/* SPDX-License-Identifier: Apache-2.0
 * Work that uses most parts of the driver and the Runtime, for tests of what a process may do to them: work() runs it, ends all that it made whatever
 * failed, and leaves the first call that failed and the first wrong result. */
#ifndef DRIVER_WORK_H
#define DRIVER_WORK_H

#include "impl/api/cuda.h"
#include "impl/api/cuda_runtime.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { N = 256, STEPS = 16 };

#define HEAD ".version 7.1\n.target sm_60\n.address_size 64\n"
static const char text[] = HEAD
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".global .align 4 .b32 bias = 7;\n.global .texref image;\n.const .align 4 .b32 zero = 0;\n"
    ".func (.reg .b32 %o) twice (.reg .b32 %i)\n{ add.u32 %o, %i, %i; ret; }\n"
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n"                /* p[i] = 2 * p[i] + bias */
    ".reg .b64 %a<4>; .reg .b32 %r<9>; .reg .pred %q; .shared .align 4 .b32 s[256];\n"
    "ld.param.u64 %a1, [p]; ld.param.u32 %r5, [n]; mov.u32 %r1, %tid.x; setp.ge.u32 %q, %r1, %r5; @%q ret;\n"
    "mul.wide.u32 %a2, %r1, 4; add.u64 %a1, %a1, %a2; ld.global.u32 %r2, [%a1]; call (%r3), twice, (%r2);\n"
    "mov.u64 %a3, s; add.u64 %a3, %a3, %a2; st.shared.u32 [%a3], %r3; bar.sync 0; ld.shared.u32 %r3, [%a3];\n"
    "ld.global.u32 %r4, [bias]; add.u32 %r3, %r3, %r4; st.global.u32 [%a1], %r3; ret;\n}\n"
    ".visible .entry hello()\n{\n.reg .b64 %d<3>; .reg .b32 %r<2>;\n.global .align 1 .b8 fmt[2] = {32, 0};\n"
    "mov.u64 %d1, fmt; cvta.global.u64 %d1, %d1; mov.u64 %d2, 0;\n{ .param .b64 a; .param .b64 b; .param .b32 r;\n"
    "st.param.b64 [a], %d1; st.param.b64 [b], %d2; call.uni (r), vprintf, (a, b); }\nret;\n}\n";
static const char part[] = HEAD ".visible .func (.reg .b32 %o) five ()\n{ mov.u32 %o, 5; ret; }\n";
static const char other_part[] = HEAD ".extern .func (.reg .b32 %o) five ();\n.visible .entry k(.param .u64 p)\n{ .reg .b64 %a; .reg .b32 %r;\n"
    "ld.param.u64 %a, [p]; call (%r), five, (); st.global.u32 [%a], %r; ret; }\n";

/* What went wrong first, by the call's text; and calls that did not fail but gave wrong results. */
static const char *failed_call;
static int failed_code;
static const char *failed_kind;
static const char *wrong;

static bool
note(const char *call, int code, const char *kind)
{
    if (code && !failed_call) {
        failed_call = call;
        failed_code = code;
        failed_kind = kind;
    }
    return !code;
}

static bool
same(bool ok, const char *what)
{
    if (!ok && !wrong)
        wrong = what;
    return ok;
}

#define DID(call) note(#call, (int)(call), "driver")
#define RT(call) note(#call, (int)(call), "Runtime")

static CUcontext context;
static CUmodule module;
static CUfunction add;
static CUdeviceptr memory;
static uint32_t values[N];

static bool
launch(CUstream s)
{
    uint32_t n = N;
    void *params[] = { &memory, &n };
    return DID(cuLaunchKernel(add, 1, 1, 1, N, 1, 1, 0, s, params, NULL));
}

/* Of 1 came x. */
static void
expect_all(uint32_t x, const char *what)
{
    memset(values, 0xaa, sizeof values);
    if (!DID(cuMemcpyDtoH_v2(values, memory, sizeof values)))
        return;
    for (unsigned i = 0; i < N; i++)
        if (!same(values[i] == x, what))
            return;
}

static void
launches(void)
{
    CUfunction hello;
    CUdeviceptr bias;
    size_t size;
    if (DID(cuMemsetD32_v2(memory, 1, N)) && launch(NULL) && DID(cuCtxSynchronize()))
        expect_all(9, "a launch");
    if (DID(cuModuleGetGlobal_v2(&bias, &size, module, "bias")) && DID(cuMemsetD32_v2(bias, 7, 1)))
        same(size == 4, "the size of a global");
    if (DID(cuModuleGetFunction(&hello, module, "hello")) && DID(cuLaunchKernel(hello, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)))
        DID(cuCtxSynchronize());
}

static void
streams(void)
{
    CUstream s = NULL, t = NULL;
    CUevent e = NULL;
    CUdeviceptr p = 0;
    void *pinned = NULL;
    if (DID(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) && DID(cuStreamCreate(&t, 0)) && DID(cuEventCreate(&e, 0)) &&
        DID(cuMemAllocHost_v2(&pinned, 4096))) {
        bool all = DID(cuMemsetD32Async(memory, 2, N, s)) && launch(s) && DID(cuEventRecord(e, s)) && DID(cuStreamWaitEvent(t, e, 0)) &&
                   DID(cuMemcpyDtoHAsync_v2(pinned, memory, N * 4, t)) && DID(cuMemAllocAsync(&p, 1000, t)) && DID(cuMemsetD8Async(p, 3, 1000, t));
        bool done = DID(cuStreamSynchronize(s)) & DID(cuStreamSynchronize(t));
        if (all && done)
            same(((uint32_t *)pinned)[N - 1] == 11, "an asynchronous copy");
    }
    if (p)
        DID(cuMemFreeAsync(p, t));
    if (t)
        DID(cuStreamDestroy_v2(t));
    if (s)
        DID(cuStreamDestroy_v2(s));
    if (e)
        DID(cuEventDestroy_v2(e));
    if (pinned)
        DID(cuMemFreeHost(pinned));
}

static void
graphs(void)
{
    CUstream s = NULL;
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    CUstreamCaptureStatus status;
    if (!DID(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)))
        return;
    if (DID(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))) {
        bool all = DID(cuMemsetD32Async(memory, 3, N, s)) && launch(s) && launch(s);
        bool ended = DID(cuStreamEndCapture(s, &g));
        if (!ended && !DID(cuStreamIsCapturing(s, &status)))
            status = CU_STREAM_CAPTURE_STATUS_NONE;
        if (!ended && status != CU_STREAM_CAPTURE_STATUS_NONE)
            DID(cuStreamEndCapture(s, &g));
        if (all && ended && DID(cuGraphInstantiateWithFlags(&x, g, 0)) && DID(cuGraphLaunch(x, s)) && DID(cuStreamSynchronize(s)))
            expect_all(33, "a graph");
    }
    if (x)
        DID(cuGraphExecDestroy(x));
    if (g)
        DID(cuGraphDestroy(g));
    DID(cuStreamDestroy_v2(s));
}

static void
links(void)
{
    CUlinkState link = NULL;
    CUmodule linked = NULL;
    CUfunction f;
    void *image, *params[] = { &memory };
    size_t size;
    if (!DID(cuLinkCreate_v2(0, NULL, NULL, &link)))
        return;
    if (DID(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)part, sizeof part, "part", 0, NULL, NULL)) &&
        DID(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)other_part, sizeof other_part, "other", 0, NULL, NULL)) &&
        DID(cuLinkComplete(link, &image, &size)) && DID(cuModuleLoadData(&linked, image)) && DID(cuModuleGetFunction(&f, linked, "k")) &&
        DID(cuMemsetD32_v2(memory, 0, N)) && DID(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL)) && DID(cuCtxSynchronize()) &&
        DID(cuMemcpyDtoH_v2(values, memory, 4)))
        same(values[0] == 5, "a linked kernel");
    DID(cuLinkDestroy(link));
    if (linked)
        DID(cuModuleUnload(linked));
}

static void
memories(void)
{
    CUdeviceptr managed = 0;
    CUarray array = NULL;
    CUtexObject texture = 0;
    CUDA_ARRAY_DESCRIPTOR d = { .Width = 32, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    CUDA_TEXTURE_DESC td = { .flags = 0 };
    if (DID(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL))) {
        *(volatile uint32_t *)(uintptr_t)managed = 1;
        DID(cuMemFree_v2(managed));
    }
    if (DID(cuArrayCreate_v2(&array, &d))) {
        CUDA_RESOURCE_DESC rd = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
        if (DID(cuTexObjectCreate(&texture, &rd, &td, NULL)))
            DID(cuTexObjectDestroy(texture));
        DID(cuArrayDestroy(array));
    }
}

static void
runtime(void)
{
    int *p = NULL, got[4] = { 0 };
    cudaStream_t s = NULL;
    cudaLibrary_t library = NULL;
    cudaKernel_t kernel;
    int devices;
    cudaGetLastError();
    if (!RT(cudaGetDeviceCount(&devices)) || !RT(cudaSetDevice(0)))
        return;
    if (RT(cudaMalloc((void **)&p, 1024)) && RT(cudaStreamCreate(&s)) && RT(cudaMemsetAsync(p, 1, 1024, s)) &&
        RT(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0)) && RT(cudaLibraryGetKernel(&kernel, library, "add"))) {
        uint32_t n = 4;
        void *args[] = { &p, &n };
        if (RT(cudaLaunchKernel((const void *)kernel, (struct dim3){ 1, 1, 1 }, (struct dim3){ 4, 1, 1 }, args, 0, s)) &&
            RT(cudaMemcpyAsync(got, p, sizeof got, cudaMemcpyDeviceToHost, s)) && RT(cudaStreamSynchronize(s)))
            same(got[3] == 0x02020209, "the Runtime's launch");
    }
    if (library)
        RT(cudaLibraryUnload(library));
    if (s)
        RT(cudaStreamDestroy(s));
    if (p)
        RT(cudaFree(p));
    RT(cudaDeviceReset());
}

static void
work(void)
{
    failed_call = wrong = NULL;
    failed_code = 0;
    context = NULL;
    module = NULL;
    memory = 0;
    if (!DID(cuInit(0)) || !DID(cuCtxCreate_v2(&context, 0, 0)))
        return;
    if (DID(cuMemAlloc_v2(&memory, N * 4)) && DID(cuModuleLoadData(&module, text)) && DID(cuModuleGetFunction(&add, module, "add"))) {
        launches();
        streams();
        graphs();
        links();
        memories();
    }
    if (module)
        DID(cuModuleUnload(module));
    if (memory)
        DID(cuMemFree_v2(memory));
    DID(cuCtxDestroy_v2(context));
    runtime();
}

#undef HEAD
#endif
