/* SPDX-License-Identifier: Apache-2.0
 * A program with something on a timeline: two streams, copies both ways, memsets, two kernels, a graph of two launches, a pause of 200 ms
 * between CUDA calls, and a copy that waits for a long kernel. The argument is the number of rounds (default 4); a round has 3 launches
 * and a graph launch. What a recording of it must hold is written beside each part. With "many N" it makes N launches of 50 kernels in turn, in two
 * streams, and an allocation for each 100 of them. */
#include "impl/api/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(x)                                                                                                     \
    do {                                                                                                             \
        CUresult r_ = (x);                                                                                           \
        if (r_ != CUDA_SUCCESS) {                                                                                    \
            fprintf(stderr, "timeline: line %d: %s: %d\n", __LINE__, #x, (int)r_);                                   \
            exit(99);                                                                                                \
        }                                                                                                            \
    } while (0)

static void *library;
#define FN(name) ((__typeof__(&name))dlsym(library, #name))

/* scale: a[i] *= f. spin: n steps of a recurrence per thread, so that its time grows with n. */
static const char ptx[] =
    ".version 7.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry scale(.param .u64 a, .param .f32 f, .param .u32 n)\n{\n"
    "  .reg .pred %p;\n  .reg .u32 %r<5>;\n  .reg .f32 %f<3>;\n  .reg .u64 %d<4>;\n"
    "  ld.param.u64 %d1, [a];\n  ld.param.f32 %f1, [f];\n  ld.param.u32 %r4, [n];\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n  mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  setp.ge.u32 %p, %r1, %r4;\n  @%p ret;\n"
    "  mul.wide.u32 %d2, %r1, 4;\n  add.u64 %d1, %d1, %d2;\n  ld.global.f32 %f2, [%d1];\n  mul.f32 %f2, %f2, %f1;\n"
    "  st.global.f32 [%d1], %f2;\n  ret;\n}\n"
    ".visible .entry spin(.param .u64 out, .param .u32 n)\n{\n"
    "  .reg .pred %p;\n  .reg .u32 %r<5>;\n  .reg .u64 %d<2>;\n"
    "  ld.param.u64 %d1, [out];\n  ld.param.u32 %r1, [n];\n  mov.u32 %r2, %tid.x;\n"
    "again:\n  mad.lo.u32 %r2, %r2, 1664525, 1013904223;\n  sub.u32 %r1, %r1, 1;\n  setp.ne.u32 %p, %r1, 0;\n  @%p bra again;\n"
    "  st.global.u32 [%d1], %r2;\n  ret;\n}\n";

static int
many(unsigned launches)
{
    enum { KERNELS = 50 };
    static char text[KERNELS * 64 + 128];
    CUcontext context;
    CUmodule module;
    CUfunction kernels[KERNELS];
    CUstream streams[2];
    CUdeviceptr memory;
    char name[16];
    int n = snprintf(text, sizeof text, ".version 7.0\n.target sm_60\n.address_size 64\n");
    for (unsigned i = 0; i < KERNELS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ".visible .entry k%02u() { ret; }\n", i);
    CHECK(FN(cuInit)(0));
    CHECK(FN(cuDevicePrimaryCtxRetain)(&context, 0));
    CHECK(FN(cuCtxSetCurrent)(context));
    CHECK(FN(cuModuleLoadData)(&module, text));
    for (unsigned i = 0; i < KERNELS; i++) {
        snprintf(name, sizeof name, "k%02u", i);
        CHECK(FN(cuModuleGetFunction)(&kernels[i], module, name));
    }
    for (unsigned i = 0; i < 2; i++)
        CHECK(FN(cuStreamCreate)(&streams[i], CU_STREAM_NON_BLOCKING));
    __typeof__(&cuLaunchKernel) launch = FN(cuLaunchKernel);
    for (unsigned i = 0; i < launches; i++) {
        if (i % 100 == 0)
            CHECK(FN(cuMemAlloc_v2)(&memory, 4096));
        CHECK(launch(kernels[i % KERNELS], 1, 1, 1, 1, 1, 1, 0, streams[i & 1], NULL, NULL));
        if (i % 200 == 199)
            CHECK(FN(cuMemFree_v2)(memory));
    }
    CHECK(FN(cuCtxSynchronize)());
    return 0;
}

enum { N = 1 << 18 };
static float host[N];

int
main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 4, n = N, steps = 200000;
    float factor = 1.5f;
    CUcontext context;
    CUmodule module;
    CUfunction scale, spin;
    CUstream side;
    CUdeviceptr a, b;
    CUgraph graph;
    CUgraphExec exec;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "timeline: %s\n", dlerror());
        return 98;
    }
    if (argc > 2 && !strcmp(argv[1], "many"))
        return many((unsigned)atoi(argv[2]));
    CHECK(FN(cuInit)(0));
    CHECK(FN(cuDevicePrimaryCtxRetain)(&context, 0));
    CHECK(FN(cuCtxSetCurrent)(context));
    CHECK(FN(cuModuleLoadData)(&module, ptx));
    CHECK(FN(cuModuleGetFunction)(&scale, module, "scale"));
    CHECK(FN(cuModuleGetFunction)(&spin, module, "spin"));
    CHECK(FN(cuStreamCreate)(&side, CU_STREAM_NON_BLOCKING));
    CHECK(FN(cuMemAlloc_v2)(&a, sizeof host));
    CHECK(FN(cuMemAlloc_v2)(&b, sizeof host));
    void *scale_args[] = { &a, &factor, &n }, *spin_args[] = { &b, &steps };

    /* cuGraphLaunch: two launches of scale inside a graph each. */
    CHECK(FN(cuStreamBeginCapture_v2)(side, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < 2; i++)
        CHECK(FN(cuLaunchKernel)(scale, N / 256, 1, 1, 256, 1, 1, 0, side, scale_args, NULL));
    CHECK(FN(cuStreamEndCapture)(side, &graph));
    CHECK(FN(cuGraphInstantiateWithFlags)(&exec, graph, 0));

    for (unsigned i = 0; i < rounds; i++) {
        CHECK(FN(cuMemcpyHtoD_v2)(a, host, sizeof host));
        CHECK(FN(cuLaunchKernel)(scale, N / 256, 1, 1, 256, 1, 1, 0, NULL, scale_args, NULL));
        CHECK(FN(cuLaunchKernel)(spin, 4, 1, 1, 64, 1, 1, 0, side, spin_args, NULL));
        CHECK(FN(cuMemsetD32Async)(b, 7, N, side));
        CHECK(FN(cuGraphLaunch)(exec, side));
        CHECK(FN(cuStreamSynchronize)(side));
        /* Waits for a long kernel of the default stream. */
        CHECK(FN(cuLaunchKernel)(spin, 4, 1, 1, 64, 1, 1, 0, NULL, spin_args, NULL));
        CHECK(FN(cuMemcpyDtoH_v2)(host, a, sizeof host));
        if (i == 0)
            nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    }
    CHECK(FN(cuMemFree_v2)(b));
    CHECK(FN(cuMemFree_v2)(a));
    CHECK(FN(cuDevicePrimaryCtxRelease_v2)(0));
    return 0;
}
