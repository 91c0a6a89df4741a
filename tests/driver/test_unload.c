/* SPDX-License-Identifier: Apache-2.0
 * A launch holds its module: threads launch kernels that take a while, another unloads their modules in the middle, and loads others in their place.
 * A launch is done whole or refused; nothing runs code that is gone. What is destroyed goes when queued work is done: a call does not wait for work
 * that this thread will let go on. */
#include "tests/driver/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 60, BLOCKS = 8, CALLS = 4 };

/* Each thread counts to `turns`, in a way that no compiler shortens, and adds that to a sum. */
static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n"
    ".visible .entry count(.param .u64 sum, .param .u32 turns)\n{\n"
    "    .reg .pred %p;\n    .reg .u32 %i, %n, %x;\n    .reg .u64 %s, %a;\n"
    "    ld.param.u64 %s, [sum];\n    ld.param.u32 %n, [turns];\n    mov.u32 %i, 0;\n    mov.u32 %x, 12345;\n"
    "again:\n    mad.lo.u32 %x, %x, 1664525, 1013904223;\n    add.u32 %i, %i, 1;\n    setp.lt.u32 %p, %i, %n;\n    @%p bra again;\n"
    "    setp.eq.u32 %p, %x, 99;\n    @%p add.u32 %i, %i, 1;\n    cvt.u64.u32 %a, %i;\n    atom.global.add.u64 %a, [%s], %a;\n    ret;\n}\n";

static unsigned turns = 20000;
static CUcontext ctx;
static CUdeviceptr sum;
static _Atomic(CUmodule) current;
static _Atomic bool over;
static _Atomic unsigned long long launched;
static _Atomic unsigned refused;

static void *
worker(void *unused)
{
    CUstream s;
    void *params[] = { &sum, &turns };
    OK(cuCtxSetCurrent(ctx));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    while (!atomic_load(&over)) {
        CUfunction f;
        CUresult e = cuModuleGetFunction(&f, atomic_load(&current), "count");
        for (int i = 0; i < CALLS && e == CUDA_SUCCESS; i++) {
            e = cuLaunchKernel(f, BLOCKS, 1, 1, 1, 1, 1, 0, s, params, NULL);
            if (e == CUDA_SUCCESS)
                atomic_fetch_add(&launched, BLOCKS);
        }
        EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_INVALID_HANDLE);
        if (e != CUDA_SUCCESS)
            atomic_fetch_add(&refused, 1);
        else
            OK(cuStreamSynchronize(s));
    }
    OK(cuStreamSynchronize(s));
    return unused;
}

/* A stream waits for a value that this thread writes at the end. */
static void
nothing_waits(void)
{
    CUmodule m;
    CUfunction f;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream s;
    CUarray array = NULL, another;
    CUtexObject texture = 0, many = 0;
    _Atomic unsigned *let;
    const CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
    const CUDA_TEXTURE_DESC t = { 0 };
    OK(cuMemHostAlloc((void **)&let, 4, 0));
    atomic_init(let, 0);
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&f, m, "count"));
    unsigned none = 0;
    void *params[] = { &sum, &none };
    const CUDA_KERNEL_NODE_PARAMS kernel = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params };
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuModuleUnload(m));
    CUresult e = cuArray3DCreate_v2(&array, &shape);
    EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_NOT_SUPPORTED);
    r.res.array.hArray = array;
    if (array)
        e = cuTexObjectCreate(&texture, &r, &t, NULL);
    EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_NOT_SUPPORTED);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    e = cuStreamWaitValue32_v2(s, (CUdeviceptr)let, 1, CU_STREAM_WAIT_VALUE_GEQ);
    EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_NOT_SUPPORTED);
    alarm(120);
    OK(cuGraphExecDestroy(exec));       /* it has the module's last reference */
    OK(cuModuleLoadData(&m, text));
    if (texture) {
        OK(cuTexObjectDestroy(texture));
        EXPECT_RESULT(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
        OK(cuArray3DCreate_v2(&another, &shape));
        for (int i = 0; i < 100; i++) {
            OK(cuTexObjectCreate(&many, &r, &t, NULL));
            OK(cuTexObjectDestroy(many));
        }
    }
    atomic_store(let, 1);
    alarm(0);
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy_v2(s));
    if (array)
        OK(cuArrayDestroy(array));
    OK(cuModuleUnload(m));
    OK(cuMemFreeHost(let));
}

int
main(void)
{
    const char *device = getenv("CUDAWAY_DEVICE");
    CUmodule m, old;
    pthread_t t[THREADS];
    if (device && !strncmp(device, "gfxemu", 6))
        turns = 300;                    /* each instruction takes it long */
    ctx = make_context();
    OK(cuMemAlloc_v2(&sum, 8));
    OK(cuMemsetD32_v2(sum, 0, 2));
    OK(cuCtxSynchronize());
    OK(cuModuleLoadData(&m, text));
    atomic_store(&current, m);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned long long before = atomic_load(&launched);
        while (atomic_load(&launched) < before + BLOCKS)        /* there is something to unload in the middle of */
            sched_yield();
        OK(cuModuleLoadData(&m, text));
        old = atomic_exchange(&current, m);
        OK(cuModuleUnload(old));
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    OK(cuCtxSynchronize());
    unsigned long long got = 0;
    OK(cuMemcpyDtoH_v2(&got, sum, 8));
    if (!device || strcmp(device, "null"))
        EXPECT(got >= launched * turns && got <= launched * (turns + 1));
    printf("%llu blocks, refused %u times\n", launched, refused);
    if (!device || strncmp(device, "cuda", 4))          /* NVIDIA's driver waits for every stream when it loads or unloads a module */
        nothing_waits();
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
