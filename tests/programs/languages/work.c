/* SPDX-License-Identifier: Apache-2.0
 * What the programs of this folder call, each in its language: work with a callback into the language, and a kernel's fault. Both give CUDA's result, work
 * -1 for wrong numbers. */
#include <cuda.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int work(int rounds, void (*call)(void *));     /* call: on the driver's thread once a round, or NULL */
int wild(void);

static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n"
                           ".visible .entry add(.param .u64 p, .param .u32 v)\n{\n"
                           "    .reg .b64 %d<3>;\n    .reg .b32 %r<6>;\n"
                           "    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [v];\n"
                           "    mov.u32 %r2, %tid.x;\n    mov.u32 %r3, %ctaid.x;\n    mov.u32 %r4, %ntid.x;\n    mad.lo.u32 %r2, %r3, %r4, %r2;\n"
                           "    mul.wide.u32 %d2, %r2, 4;\n    add.u64 %d1, %d1, %d2;\n"
                           "    ld.global.u32 %r5, [%d1];\n    add.u32 %r5, %r5, %r1;\n    st.global.u32 [%d1], %r5;\n    ret;\n}\n"
                           ".visible .entry wild()\n{\n    .reg .b64 %d1;\n    mov.u64 %d1, 16;\n    st.global.u64 [%d1], %d1;\n    ret;\n}\n";

static CUcontext context;
static CUresult started;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
start(void)
{
    started = cuInit(0);
    if (started == CUDA_SUCCESS)
        started = cuDevicePrimaryCtxRetain(&context, 0);
}

#define OK(call) do { CUresult r_ = (call); if (r_ != CUDA_SUCCESS) { fprintf(stderr, "%s gave %d\n", #call, (int)r_); return (int)r_; } } while (0)

static int
kernel(const char *name, CUmodule *m, CUfunction *f)
{
    pthread_once(&once, start);
    OK(started);
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(m, text));
    OK(cuModuleGetFunction(f, *m, name));
    return 0;
}

int
work(int rounds, void (*call)(void *))
{
    enum { BLOCKS = 40, THREADS = 256, N = BLOCKS * THREADS };
    uint32_t *const h = malloc(N * sizeof *h);
    CUmodule m;
    CUfunction f;
    CUstream s;
    CUdeviceptr p;
    int wrong = kernel("add", &m, &f);
    if (wrong || !h)
        return wrong ? wrong : CUDA_ERROR_OUT_OF_MEMORY;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&p, N * sizeof *h));
    for (uint32_t i = 0; i < N; i++)
        h[i] = i;
    for (int v = 0; v < rounds; v++) {
        OK(cuMemcpyHtoDAsync_v2(p, h, N * sizeof *h, s));
        OK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, s, (void *[]){ &p, &v }, NULL));
        if (call)
            OK(cuLaunchHostFunc(s, call, NULL));
        OK(cuMemcpyDtoHAsync_v2(h, p, N * sizeof *h, s));
        OK(cuStreamSynchronize(s));
    }
    for (uint32_t i = 0; i < N; i++)
        if (h[i] != i + (uint32_t)(rounds * (rounds - 1) / 2))
            wrong = -1;
    OK(cuMemFree_v2(p));
    OK(cuStreamDestroy_v2(s));
    OK(cuModuleUnload(m));
    free(h);
    return wrong;
}

int
wild(void)
{
    CUmodule m;
    CUfunction f;
    int e = kernel("wild", &m, &f);
    if (e)
        return e;
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    return (int)cuCtxSynchronize();
}
