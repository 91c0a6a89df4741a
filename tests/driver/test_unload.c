/* SPDX-License-Identifier: Apache-2.0
 * A launch holds its module: threads launch kernels that take a while, another unloads their modules in the middle, and loads others in their place.
 * A launch is done whole or refused; nothing runs code that is gone. */
#include "tests/driver/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

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
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
