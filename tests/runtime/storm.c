/* SPDX-License-Identifier: Apache-2.0
 * Many threads use the Runtime, register and unregister modules and launch their kernels, while others reset the device. What is checked besides
 * each call's result is that nothing crashes, and, under a sanitizer, that nothing is used after its end. `storm [seconds [threads]]`.
 * tests/driver/test_storm.c is the same of the driver. */
#include "impl/api/cuda_runtime.h"
#include "tests/runtime/program.h"
#include "tests/storm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHARED = 32, BINARIES = 16, BYTES = 4096 };

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .global .align 8 .b8 v[64];\n"
                          ".visible .global .attribute(.managed) .align 4 .u32 mv = 4;\n"
                          ".visible .entry k(.param .u64 p)\n{\n ret;\n}\n"
                          ".visible .entry w(.param .u64 p)\n{\n .reg .b64 %a;\n ld.param.u64 %a, [p];\n st.global.u32 [%a], 7;\n ret;\n}\n";

/* A module of a program: whoever holds the lock registers or unregisters it, anyone launches its kernels at any time, as threads of a program do in
 * whose library another thread calls dlclose. */
static struct binary {
    pthread_mutex_t lock;
    void **handle;
    char kernel, writer, variable;      /* their addresses are the names */
    void *managed;
} binaries[BINARIES];

static _Atomic(void *) memory[SHARED], streams[SHARED], events[SHARED], graphs[SHARED], execs[SHARED], pools[SHARED];
static _Atomic unsigned long calls, lost;
static _Atomic unsigned seen[1000];
static _Atomic int failures;
static bool memory_goes;

static void
note(cudaError_t e, const char *call)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&lost, e != cudaSuccess, memory_order_relaxed);
    if ((unsigned)e < 1000)
        atomic_fetch_add_explicit(&seen[e], 1, memory_order_relaxed);
    switch ((int)e) {
    case cudaSuccess:
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDeviceUninitialized:
    case cudaErrorInvalidDeviceFunction:        /* its module is not registered */
    case cudaErrorInvalidSymbol:
    case cudaErrorCudartUnloading:              /* its module is being unregistered */
    case cudaErrorNotReady:
    case cudaErrorNotSupported:
    case cudaErrorNotPermitted:
    case cudaErrorIllegalState:
        return;
    case cudaErrorIllegalAddress:
        if (memory_goes)
            return;
    }
    if (e >= cudaErrorStreamCaptureUnsupported && e <= cudaErrorStreamCaptureWrongThread)
        return;
    fprintf(stderr, "%s gave %s (%d)\n", call, cudaGetErrorName(e), (int)e);
    atomic_fetch_add(&failures, 1);
}
#define NOTE(call) note(call, #call)

static unsigned
rnd(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (unsigned)(*s >> 16);
}

#define PICK(table) atomic_load_explicit(&(table)[rnd(s) % SHARED], memory_order_relaxed)
/* Make one, put it in the place of another, end that one. */
#define RENEW(table, make, end)                                                                                        \
    do {                                                                                                               \
        void *new_ = NULL;                                                                                             \
        cudaError_t e_ = make;                                                                                         \
        note(e_, #make);                                                                                               \
        if (e_ == cudaSuccess && new_) {                                                                               \
            void *old_ = atomic_exchange(&(table)[rnd(s) % SHARED], new_);                                             \
            if (old_)                                                                                                  \
                note(end, #end);                                                                                       \
        }                                                                                                              \
    } while (0)

static void
memory_ops(uint64_t *s)
{
    static _Thread_local char host[64];
    struct cudaPointerAttributes a;
    void *p = PICK(memory);
    size_t n, all;
    switch (rnd(s) % 9) {
    case 0: RENEW(memory, cudaMalloc(&new_, BYTES), cudaFree(old_)); break;
    case 1: RENEW(memory, cudaMallocManaged(&new_, BYTES, cudaMemAttachGlobal), cudaFree(old_)); break;
    case 2: RENEW(memory, cudaMallocAsync(&new_, BYTES, PICK(streams)), cudaFreeAsync(old_, PICK(streams))); break;
    case 3:
        p = NULL;
        NOTE(cudaHostAlloc(&p, BYTES, 0));
        NOTE(cudaFreeHost(p));
        break;
    case 4: NOTE(cudaPointerGetAttributes(&a, p)); break;
    case 5: NOTE(cudaMemGetInfo(&n, &all)); break;
    case 6:
        if (memory_goes)
            NOTE(cudaMemsetAsync(p, 1, BYTES, PICK(streams)));
        break;
    case 7:
        if (memory_goes)
            NOTE(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
        break;
    case 8: {
        cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned, .location = { cudaMemLocationTypeDevice, 0 } };
        RENEW(pools, cudaMemPoolCreate((cudaMemPool_t *)&new_, &props), cudaMemPoolDestroy(old_));
        break;
    }
    }
}

static void
object_ops(uint64_t *s)
{
    cudaGraphNode_t node;
    cudaGraph_t g = NULL;
    switch (rnd(s) % 10) {
    case 0: RENEW(streams, cudaStreamCreateWithFlags((cudaStream_t *)&new_, rnd(s) % 2), cudaStreamDestroy(old_)); break;
    case 1: RENEW(events, cudaEventCreateWithFlags((cudaEvent_t *)&new_, cudaEventDisableTiming), cudaEventDestroy(old_)); break;
    case 2: NOTE(cudaEventRecord(PICK(events), PICK(streams))); break;
    case 3: NOTE(cudaStreamWaitEvent(PICK(streams), PICK(events), 0)); break;
    case 4: NOTE(cudaStreamQuery(PICK(streams))); break;
    case 5: RENEW(graphs, cudaGraphCreate((cudaGraph_t *)&new_, 0), cudaGraphDestroy(old_)); break;
    case 6: NOTE(cudaGraphAddEmptyNode(&node, PICK(graphs), NULL, 0)); break;
    case 7: RENEW(execs, cudaGraphInstantiateWithFlags((cudaGraphExec_t *)&new_, PICK(graphs), 0), cudaGraphExecDestroy(old_)); break;
    case 8: NOTE(cudaGraphLaunch(PICK(execs), PICK(streams))); break;
    case 9:
        NOTE(cudaStreamBeginCapture(PICK(streams), cudaStreamCaptureModeRelaxed));
        NOTE(cudaStreamEndCapture(PICK(streams), &g));
        if (g)
            NOTE(cudaGraphDestroy(g));
        break;
    }
}

static void
register_binary(struct binary *b)
{
    b->handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(b->handle, &b->kernel, "k", "k", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(b->handle, &b->writer, "w", "w", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(b->handle, &b->variable, "v", "v", 0, 64, 0, 0);
    __cudaRegisterManagedVar(b->handle, &b->managed, "mv", "mv", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(b->handle);
}

static void
module_ops(uint64_t *s)
{
    struct binary *b = &binaries[rnd(s) % BINARIES];
    struct cudaFuncAttributes a;
    void *p = PICK(memory), *args[] = { &p };
    static const char value[64];
    dim3 one = { 1, 1, 1 };
    size_t n;
    int blocks;
    switch (rnd(s) % 10) {
    case 0:
        if (pthread_mutex_trylock(&b->lock))
            break;
        if (b->handle)
            __cudaUnregisterFatBinary(b->handle);
        b->handle = NULL;
        if (rnd(s) % 4)
            register_binary(b);
        pthread_mutex_unlock(&b->lock);
        break;
    case 1: NOTE(cudaFuncGetAttributes(&a, &b->kernel)); break;
    case 2: NOTE(cudaGetSymbolAddress(&p, &b->variable)); break;
    case 3: NOTE(cudaGetSymbolSize(&n, &b->variable)); break;
    case 4:
        if (memory_goes)
            NOTE(cudaMemcpyToSymbol(&b->variable, value, sizeof value, 0, cudaMemcpyHostToDevice));
        break;
    case 5: NOTE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &b->kernel, 32, 0)); break;
    case 6:
        if (memory_goes)
            NOTE(cudaLaunchKernel(&b->writer, one, one, args, 0, PICK(streams)));
        break;
    default: NOTE(cudaLaunchKernel(&b->kernel, one, one, args, 0, rnd(s) % 2 ? PICK(streams) : NULL)); break;
    }
}

static void *
worker(void *seed)
{
    uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1, *s = &state;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        switch (rnd(s) % 8) {
        case 0: case 1: memory_ops(s); break;
        case 2: case 3: case 4: object_ops(s); break;
        case 5: case 6: module_ops(s); break;
        case 7:
            NOTE(cudaSetDevice((int)(rnd(s) % 2)));
            (void)cudaGetLastError();
            break;
        }
        if (rnd(s) % 256 == 0)
            NOTE(cudaDeviceSynchronize());
    }
    return NULL;
}

static void *
resetter(void *seed)
{
    uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1, *s = &state;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        NOTE(cudaSetDevice((int)(rnd(s) % 2)));
        NOTE(cudaDeviceReset());
        nanosleep(&(struct timespec){ .tv_nsec = 200000 + rnd(s) % 4000000 }, NULL);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    int n = argc > 2 ? atoi(argv[2]) : 64, devices = 0;
    if (n < 2)
        return 2;
    no_log();
    memory_goes = memory_can_go();
    pack_program(ptx, sizeof ptx);
    for (int i = 0; i < BINARIES; i++) {
        pthread_mutex_init(&binaries[i].lock, NULL);
        register_binary(&binaries[i]);
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
        fprintf(stderr, "%d devices, and 2 are needed\n", devices);
        return 2;
    }
    int ends = n / 16 ? n / 16 : 1;
    run_threads(seconds, n, ends, resetter, worker);
    printf("%lu calls, %lu lost a race\n", atomic_load(&calls), atomic_load(&lost));
    for (int i = 0; i < 1000; i++)
        if (atomic_load(&seen[i]))
            printf("  %3d: %u\n", i, atomic_load(&seen[i]));
    /* The device works as before. */
    struct binary *b = &binaries[0];
    unsigned *p = NULL, got = 0;
    void *args[] = { &p };
    if (!b->handle)
        register_binary(b);
    for (int d = 0; d < 2; d++)
        if (cudaSetDevice(d) != cudaSuccess || cudaDeviceReset() != cudaSuccess || cudaMalloc((void **)&p, 4) != cudaSuccess ||
            cudaLaunchKernel(&b->writer, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, args, 0, NULL) != cudaSuccess ||
            cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost) != cudaSuccess || got != 7) {
            fprintf(stderr, "device %d does not work any more: %s, %u\n", d, cudaGetErrorName(cudaGetLastError()), got);
            atomic_fetch_add(&failures, 1);
        }
    return atomic_load(&calls) < 1000 || atomic_load(&failures) != 0;
}
