/* SPDX-License-Identifier: Apache-2.0
 * Calls of the driver chosen at random, on objects that other threads may end at any time: test_storm.c runs them in threads, fuzz_calls.c from a
 * fuzzer's bytes. Each call succeeds or says what it was given or which race it lost. */
#ifndef DRIVER_AT_RANDOM_H
#define DRIVER_AT_RANDOM_H

#include "tests/driver/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CONTEXTS = 6, SHARED = 48 };

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.global .align 8 .b8 v[64];\n.global .texref t;\n"
    ".visible .entry k()\n{\n    ret;\n}\n.visible .entry l(.param .u64 p)\n{\n    ret;\n}\n";

static _Atomic(CUcontext) contexts[CONTEXTS];   /* the last one is the primary context */
static _Atomic(void *) streams[SHARED], events[SHARED], modules[SHARED], functions[SHARED], arrays[SHARED], mipmaps[SHARED], graphs[SHARED],
    execs[SHARED], links[SHARED], libraries[SHARED];
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

/* Where choices come from: a seed, or a fuzzer's input, a byte each, until it is used up. */
struct dice {
    uint64_t state;
    const uint8_t *data, *end;      /* NULL: the seed's */
};

static unsigned
rnd(struct dice *s)
{
    if (s->data)
        return s->data < s->end ? *s->data++ : 0;
    s->state ^= s->state << 13;
    s->state ^= s->state >> 7;
    s->state ^= s->state << 17;
    return (unsigned)(s->state >> 16);
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
module_ops(struct dice *s)
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
array_ops(struct dice *s)
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
graph_ops(struct dice *s)
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
memory_ops(struct dice *s)
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
stream_ops(struct dice *s)
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
link_ops(struct dice *s)
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
primary_ops(struct dice *s)
{
    CUcontext c;
    switch (rnd(s) % 4) {
    case 0: note(cuDevicePrimaryCtxReset_v2(0)); break;
    case 1: note(cuDevicePrimaryCtxRelease_v2(0)); break;
    }
    note(cuDevicePrimaryCtxRetain(&c, 0));
}

/* A handle of one kind, or one that nobody made, in the place of another. */
static void
confused_ops(struct dice *s)
{
    void *const kinds[] = { PICK(streams), PICK(events), PICK(modules), PICK(functions), PICK(arrays), PICK(mipmaps), PICK(graphs), PICK(execs),
                            PICK(links), PICK(libraries), atomic_load(&contexts[rnd(s) % CONTEXTS]), (void *)(uintptr_t)(rnd(s) << 4), NULL };
    void *h = kinds[rnd(s) % (sizeof kinds / sizeof *kinds)];
    CUfunction f;
    CUdeviceptr p;
    CUtexref t;
    CUarray a;
    CUkernel k;
    CUcontext c;
    CUgraph g;
    size_t n;
    unsigned u;
    switch (rnd(s) % 14) {
    case 0: note(cuStreamQuery(h)); break;
    case 1: note(cuEventRecord(h, PICK(streams))); break;
    case 2: note(cuEventQuery(h)); break;
    case 3: note(cuModuleGetFunction(&f, h, "k")); break;
    case 4: note(cuModuleGetGlobal_v2(&p, &n, h, "v")); break;
    case 5: note(cuModuleGetTexRef(&t, h, "t")); break;
    case 6: note(cuLaunchKernel(h, 1, 1, 1, 1, 1, 1, 0, PICK(streams), NULL, NULL)); break;
    case 7: note(cuMipmappedArrayGetLevel(&a, h, 0)); break;
    case 8: note(cuGraphGetNodes(h, NULL, &n)); break;
    case 9: note(cuGraphLaunch(h, PICK(streams))); break;
    case 10: note(cuLibraryGetKernel(&k, h, "k")); break;
    case 11: note(cuStreamGetCtx(h, &c)); break;
    case 12: note(cuGraphClone(&g, h)); if (rnd(s) % 4 == 0) note(cuGraphDestroy(h)); break;
    case 13: note(cuCtxGetApiVersion(h, &u)); break;
    }
}

static void
work_step(struct dice *s)
{
    switch (rnd(s) % 7) {
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
    case 6: confused_ops(s); break;
    }
}

/* Put a new context in the place of another, which ends. */
static void
context_step(struct dice *s)
{
    CUcontext c, old;
    if (cuCtxCreate_v2(&c, 0, 0) == CUDA_SUCCESS) {
        (void)cuCtxPopCurrent_v2(NULL);
        old = atomic_exchange(&contexts[rnd(s) % (CONTEXTS - 1)], c);
        if (old)
            note(cuCtxDestroy_v2(old));
    }
    primary_ops(s);
}

static void
make_contexts(void)
{
    CUcontext c;
    for (int i = 0; i < CONTEXTS - 1; i++) {
        OK(cuCtxCreate_v2(&c, 0, 0));
        OK(cuCtxPopCurrent_v2(NULL));
        atomic_store(&contexts[i], c);
    }
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    atomic_store(&contexts[CONTEXTS - 1], c);
}

static void
end_contexts(void)
{
    for (int i = 0; i < CONTEXTS - 1; i++)
        OK(cuCtxDestroy_v2(atomic_load(&contexts[i])));
    OK(cuDevicePrimaryCtxReset_v2(0));
    /* Handles that outlived all contexts are recognised. */
    for (int i = 0; i < SHARED; i++)
        if (atomic_load(&streams[i]))
            EXPECT_RESULT(cuStreamQuery(atomic_load(&streams[i])), CUDA_ERROR_INVALID_HANDLE);
}

#endif
