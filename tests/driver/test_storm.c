/* SPDX-License-Identifier: Apache-2.0
 * Many threads make, use and end objects of every kind in contexts that other threads destroy and primary contexts that they reset.
 * Each call succeeds or says which race it lost; what is checked besides is that nothing crashes, and, under a sanitizer, that nothing
 * is used after its end. `test_driver_storm [seconds [threads]]`. */
#include "tests/driver/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { CONTEXTS = 6, SHARED = 48 };

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.global .align 8 .b8 v[64];\n.global .texref t;\n"
    ".visible .entry k()\n{\n    ret;\n}\n.visible .entry l(.param .u64 p)\n{\n    ret;\n}\n";

static _Atomic(CUcontext) contexts[CONTEXTS];   /* the last one is the primary context */
static _Atomic(void *) streams[SHARED], events[SHARED], modules[SHARED], functions[SHARED], arrays[SHARED], mipmaps[SHARED], graphs[SHARED],
    execs[SHARED], links[SHARED], libraries[SHARED];
static _Atomic bool over;
static _Atomic unsigned long calls, lost;
static _Atomic unsigned seen[1000];

static void
note(CUresult e)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (e != CUDA_SUCCESS)
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    if ((unsigned)e < 1000)
        atomic_fetch_add_explicit(&seen[e], 1, memory_order_relaxed);
    switch ((int)e) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_VALUE:      /* what graphs, memory and textures say of a handle or address that is gone */
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_NOT_SUPPORTED:      /* a graph in another context; no texture unit */
        break;
    default:
        EXPECT_RESULT(e, CUDA_SUCCESS);
    }
}

static unsigned
rnd(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (unsigned)(*s >> 16);
}

#define PICK(table) atomic_load_explicit(&(table)[rnd(s) % SHARED], memory_order_relaxed)
#define SHARE(table, h) atomic_exchange(&(table)[rnd(s) % SHARED], (void *)(h))
/* Make one, put it in the place of another, end that one. */
#define RENEW(table, type, make, end)                                                                                  \
    do {                                                                                                               \
        type new_ = NULL;                                                                                              \
        CUresult e_ = make;                                                                                            \
        note(e_);                                                                                                      \
        if (e_ == CUDA_SUCCESS) {                                                                                      \
            type old_ = (type)SHARE(table, new_);                                                                      \
            if (old_)                                                                                                  \
                note(end(old_));                                                                                       \
        }                                                                                                              \
    } while (0)

static void
module_ops(uint64_t *s)
{
    CUfunction f;
    CUdeviceptr p;
    size_t n;
    CUtexref t;
    CUmodule m = PICK(modules);
    CUlibrary lib;
    CUkernel kernel;
    switch (rnd(s) % 6) {
    case 0:
        RENEW(modules, CUmodule, cuModuleLoadData(&new_, text), cuModuleUnload);
        break;
    case 1:
        if (cuModuleGetFunction(&f, m, "k") == CUDA_SUCCESS)
            (void)SHARE(functions, f);
        break;
    case 2:
        note(cuModuleGetGlobal_v2(&p, &n, m, "v"));
        break;
    case 3:
        note(cuModuleGetTexRef(&t, m, "t"));
        break;
    case 4:
        RENEW(libraries, CUlibrary, cuLibraryLoadData(&new_, text, NULL, NULL, 0, NULL, NULL, 0), cuLibraryUnload);
        break;
    case 5:
        lib = PICK(libraries);
        if (lib && cuLibraryGetKernel(&kernel, lib, "k") == CUDA_SUCCESS)
            note(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        break;
    }
    for (unsigned i = 0; i < 4; i++)
        note(cuLaunchKernel(PICK(functions), 1, 1, 1, 1, 1, 1, 0, rnd(s) % 2 ? PICK(streams) : CU_STREAM_PER_THREAD, NULL, NULL));
}

static void
array_ops(uint64_t *s)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1,
                                  .Flags = CUDA_ARRAY3D_SURFACE_LDST };
    char host[64];
    CUarray level;
    CUDA_TEXTURE_DESC td = { .flags = 0 };
    CUDA_RESOURCE_DESC rd = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = PICK(arrays) };
    CUtexObject o;
    CUsurfObject u;
    switch (rnd(s) % 5) {
    case 0: RENEW(arrays, CUarray, cuArray3DCreate_v2(&new_, &d), cuArrayDestroy); break;
    case 1: RENEW(mipmaps, CUmipmappedArray, cuMipmappedArrayCreate(&new_, &d, 3), cuMipmappedArrayDestroy); break;
    case 2:
        if (cuMipmappedArrayGetLevel(&level, PICK(mipmaps), rnd(s) % 3) == CUDA_SUCCESS)
            note(cuMemcpyAtoH_v2(host, level, 0, 4));
        break;
    case 3:
        note(cuMemcpyAtoH_v2(host, PICK(arrays), 0, 16));       /* only read: two that write would race by the program's fault */
        break;
    case 4:
        if (cuTexObjectCreate(&o, &rd, &td, NULL) == CUDA_SUCCESS)
            note(cuTexObjectDestroy(o));
        if (cuSurfObjectCreate(&u, &rd) == CUDA_SUCCESS && rnd(s) % 8)     /* the others end with their context */
            note(cuSurfObjectDestroy(u));
        break;
    }
}

static void
graph_ops(uint64_t *s)
{
    CUgraphNode n;
    CUevent e = PICK(events);
    CUgraph g = PICK(graphs);
    CUDA_KERNEL_NODE_PARAMS k = { .func = PICK(functions), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
                                  .blockDimZ = 1 };
    switch (rnd(s) % 6) {
    case 0: RENEW(graphs, CUgraph, cuGraphCreate(&new_, 0), cuGraphDestroy); break;
    case 1: note(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &k)); break;
    case 2: note(cuGraphAddEventRecordNode(&n, g, NULL, 0, e)); break;
    case 3: RENEW(execs, CUgraphExec, cuGraphInstantiateWithFlags(&new_, g, 0), cuGraphExecDestroy); break;
    case 4: note(cuGraphLaunch(PICK(execs), rnd(s) % 2 ? PICK(streams) : NULL)); break;
    case 5: {
        CUgraph mine;
        CUstream own;
        if (cuStreamCreate(&own, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
            break;
        if (cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
            note(cuLaunchKernel(PICK(functions), 1, 1, 1, 1, 1, 1, 0, own, NULL, NULL));
            if (rnd(s) % 4 && cuStreamEndCapture(own, &mine) == CUDA_SUCCESS && mine)
                note(cuGraphDestroy(mine));
        }
        note(cuStreamDestroy_v2(own));
        break;
    }
    }
}

static void
memory_ops(uint64_t *s)
{
    CUdeviceptr p;
    void *h;
    static _Thread_local char reg[4096] __attribute__((aligned(4096)));
    switch (rnd(s) % 5) {
    case 0:
        if (cuMemAlloc_v2(&p, 4096) == CUDA_SUCCESS) {
            note(cuMemsetD8_v2(p, 1, 4096));
            if (rnd(s) % 8)             /* the others end with their context */
                note(cuMemFree_v2(p));
        }
        break;
    case 1:
        if (cuMemHostAlloc(&h, 4096, 0) == CUDA_SUCCESS)
            note(cuMemFreeHost(h));
        break;
    case 2:
        if (cuMemAllocAsync(&p, 4096, NULL) == CUDA_SUCCESS) {
            note(cuMemsetD8Async(p, 1, 4096, NULL));
            note(cuMemFreeAsync(p, NULL));
        }
        break;
    case 3:
        if (cuMemHostRegister_v2(reg, sizeof reg, 0) == CUDA_SUCCESS) {
            CUresult e = cuMemHostUnregister(reg);
            if (e != CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)     /* it ended with its context */
                note(e);
        }
        break;
    case 4:
        if (cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS)
            note(cuMemFree_v2(p));
        break;
    }
}

static void
stream_ops(uint64_t *s)
{
    CUevent e = PICK(events);
    CUstream st = PICK(streams);
    RENEW(streams, CUstream, cuStreamCreate(&new_, rnd(s) % 2), cuStreamDestroy_v2);
    RENEW(events, CUevent, cuEventCreate(&new_, CU_EVENT_DISABLE_TIMING), cuEventDestroy_v2);
    note(cuEventRecord(e, st));
    note(cuEventRecord(PICK(events), rnd(s) % 2 ? NULL : CU_STREAM_PER_THREAD));
    note(cuStreamWaitEvent(PICK(streams), PICK(events), 0));
    note(cuStreamQuery(st));
    if (rnd(s) % 16 == 0)
        note(cuStreamSynchronize(st));
    if (rnd(s) % 16 == 0)
        note(cuEventSynchronize(e));
}

static void
link_ops(uint64_t *s)
{
    void *image;
    size_t size;
    RENEW(links, CUlinkState, cuLinkCreate_v2(0, NULL, NULL, &new_), cuLinkDestroy);
    CUlinkState l = PICK(links);
    note(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text, "text", 0, NULL, NULL));
    if (rnd(s) % 4 == 0)
        (void)cuLinkComplete(l, &image, &size);
}

static void
primary_ops(uint64_t *s)
{
    CUcontext c;
    switch (rnd(s) % 4) {
    case 0: note(cuDevicePrimaryCtxReset_v2(0)); break;
    case 1: note(cuDevicePrimaryCtxRelease_v2(0)); break;
    }
    note(cuDevicePrimaryCtxRetain(&c, 0));
}

static void *
worker(void *seed)
{
    uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1, *s = &state;
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++) {
        if (i % 4 == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(s) % CONTEXTS]));
        switch (rnd(s) % 6) {
        case 0:
        case 1: stream_ops(s); break;
        case 2: module_ops(s); break;
        case 3: array_ops(s); break;
        case 4: graph_ops(s); break;
        case 5:
            memory_ops(s);
            if (rnd(s) % 8 == 0)
                link_ops(s);
            break;
        }
    }
    (void)cuCtxSetCurrent(NULL);
    return NULL;
}

static void *
destroyer(void *seed)
{
    uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1, *s = &state;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        CUcontext c, old;
        if (cuCtxCreate_v2(&c, 0, 0) == CUDA_SUCCESS) {
            (void)cuCtxPopCurrent_v2(NULL);
            old = atomic_exchange(&contexts[rnd(s) % (CONTEXTS - 1)], c);
            if (old)
                note(cuCtxDestroy_v2(old));
        }
        primary_ops(s);
        nanosleep(&(struct timespec){ .tv_nsec = 200000 + rnd(s) % 2000000 }, NULL);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    int n = argc > 2 ? atoi(argv[2]) : 64;
    pthread_t *t = calloc((size_t)n, sizeof *t);
    if (!t || n < 2)
        return 2;
    OK(cuInit(0));
    for (int i = 0; i < CONTEXTS - 1; i++) {
        CUcontext c;
        OK(cuCtxCreate_v2(&c, 0, 0));
        OK(cuCtxPopCurrent_v2(NULL));
        atomic_store(&contexts[i], c);
    }
    CUcontext primary;
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    atomic_store(&contexts[CONTEXTS - 1], primary);
    int ends = n / 16 ? n / 16 : 1;
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, i < ends ? destroyer : worker, (void *)(uintptr_t)(i + 1));
    nanosleep(&(struct timespec){ .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) }, NULL);
    atomic_store(&over, true);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    printf("%lu calls, %lu lost a race\n", atomic_load(&calls), atomic_load(&lost));
    for (int i = 0; i < 1000; i++)
        if (atomic_load(&seen[i]))
            printf("  %3d: %u\n", i, atomic_load(&seen[i]));
    EXPECT(atomic_load(&calls) > 1000);
    for (int i = 0; i < CONTEXTS - 1; i++)
        OK(cuCtxDestroy_v2(atomic_load(&contexts[i])));
    OK(cuDevicePrimaryCtxReset_v2(0));
    /* Handles that outlived all contexts are recognised. */
    for (int i = 0; i < SHARED; i++)
        if (atomic_load(&streams[i]))
            EXPECT_RESULT(cuStreamQuery(atomic_load(&streams[i])), CUDA_ERROR_INVALID_HANDLE);
    free(t);
    return failures != 0;
}
