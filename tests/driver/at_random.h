/* SPDX-License-Identifier: Apache-2.0
 * Calls of the driver chosen at random, on objects that other threads may end at any time: test_storm.c runs them in threads, fuzz_calls.c from a
 * fuzzer's bytes. Each call succeeds or says what it was given or which race it lost. */
#ifndef DRIVER_AT_RANDOM_H
#define DRIVER_AT_RANDOM_H

#include "tests/dice.h"
#include "tests/driver/test.h"
#include "tests/storm.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { CONTEXTS = 6 };

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.global .align 8 .b8 v[64];\n.global .texref t;\n.global .surfref u;\n"
    ".visible .entry k()\n{\n    ret;\n}\n.visible .entry l(.param .u64 p)\n{\n    ret;\n}\n"
    ".visible .entry w(.param .u64 p)\n{\n    .reg .b64 %a;\n    ld.param.u64 %a, [p];\n    st.global.u32 [%a], 7;\n    ret;\n}\n";

static _Atomic(CUcontext) contexts[CONTEXTS];   /* the last one is the primary context */
static _Atomic(void *) streams[SHARED], events[SHARED], modules[SHARED], functions[SHARED], writers[SHARED], arrays[SHARED], mipmaps[SHARED],
    graphs[SHARED], nodes[SHARED], execs[SHARED], links[SHARED], libraries[SHARED], memory[SHARED], pools[SHARED], ranges[SHARED], pieces[SHARED],
    greens[SHARED];
static _Atomic unsigned long calls, lost, called_back;
static _Atomic unsigned seen[1000];
/* Kernels and copies may use memory that another thread frees: the context's sticky error. */
static bool memory_goes;
/* Any call with any arguments is made as well (any_call.h): results say nothing, and contexts may have ended. */
static bool lenient;

#define note(call) note_at(call, #call, __LINE__)

static void
note_at(CUresult e, const char *call, int line)
{
    const char *name = "?";
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (e != CUDA_SUCCESS)
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    if ((unsigned)e < 1000)
        atomic_fetch_add_explicit(&seen[e], 1, memory_order_relaxed);
    if (lenient)
        return;
    switch ((int)e) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_VALUE:      /* what graphs, memory and textures say of a handle or address that is gone */
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_NOT_SUPPORTED:      /* a graph in another context; no texture unit */
    case CUDA_ERROR_ILLEGAL_STATE:      /* an end of a capture where none is */
    case CUDA_ERROR_NOT_PERMITTED:      /* a stream that is captured, a context with work for a limit */
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: /* it ended with its context */
        break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:    /* memory that went */
    case CUDA_ERROR_MISALIGNED_ADDRESS:
        if (memory_goes)
            break;
        /* fall through */
    default:
        if (e >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && e <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
            break;
        (void)cuGetErrorName(e, &name);
        fprintf(stderr, "%s:%d: %s gave %s (%d)\n", __FILE__, line, call, name, (int)e);
        failures++;
    }
}

/* Make one, put it in the place of another, end that one: in spite of captures, else what belongs to no context would stay for ever. */
#define RENEW(table, type, make, end)                                                                                  \
    do {                                                                                                               \
        type new_ = (type)0;                                                                                             \
        CUresult e_ = make;                                                                                            \
        note(e_);                                                                                                      \
        if (e_ == CUDA_SUCCESS) {                                                                                      \
            type old_ = (type)SHARE(table, new_);                                                                      \
            CUresult r_ = old_ ? end(old_) : CUDA_SUCCESS;                                                             \
            note(r_);                                                                                                  \
            if (r_ >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && r_ <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {         \
                CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;                                            \
                note(cuThreadExchangeStreamCaptureMode(&mode_));                                                       \
                note(end(old_));                                                                                       \
                note(cuThreadExchangeStreamCaptureMode(&mode_));                                                       \
            }                                                                                                          \
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

/* A graph that is captured into just now cannot be destroyed: it goes back, and the one that it replaces ends instead. */
static void
end_graph(struct dice *s, CUgraph g)
{
    size_t n;
    CUresult e = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; g && i < SHARED && e != CUDA_SUCCESS; i++) {
        note(e = cuGraphDestroy(g));
        if (e != CUDA_SUCCESS)
            g = cuGraphGetNodes(g, NULL, &n) == CUDA_SUCCESS ? (CUgraph)SHARE(graphs, g) : NULL;
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
    case 0:
        if (cuGraphCreate(&g, 0) == CUDA_SUCCESS)
            end_graph(s, SHARE(graphs, g));
        break;
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

/* ---- memory that one thread makes, others use, and a third frees ---- */

enum { PIECE = 2 << 20, BYTES = 4096 };

static CUresult
free_memory(struct dice *s, void *p)
{
    return rnd(s) % 2 ? cuMemFree_v2((CUdeviceptr)(uintptr_t)p) : cuMemFreeAsync((CUdeviceptr)(uintptr_t)p, PICK(streams));
}

/* Another memory in the place of what another thread may be using. */
static void
share_memory(struct dice *s, CUresult made, CUdeviceptr p)
{
    note(made);
    void *old = made == CUDA_SUCCESS ? SHARE(memory, (uintptr_t)p) : NULL;
    if (old)
        note(free_memory(s, old));
}

static void
pool_ops(struct dice *s)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemAccessDesc access = { props.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemPoolPtrExportData exported;
    CUmemoryPool pool = PICK(pools), now;
    CUdeviceptr p = 0;
    cuuint64_t v = rnd(s) % 2 ? BYTES << rnd(s) % 12 : 0;
    switch (rnd(s) % 10) {
    case 0: RENEW(pools, CUmemoryPool, cuMemPoolCreate(&new_, &props), cuMemPoolDestroy); break;
    case 1: share_memory(s, cuMemAllocFromPoolAsync(&p, BYTES, pool, PICK(streams)), p); break;
    case 2: share_memory(s, cuMemAllocAsync(&p, BYTES, PICK(streams)), p); break;
    case 3: share_memory(s, cuMemAlloc_v2(&p, BYTES), p); break;
    case 4: share_memory(s, cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL), p); break;
    case 5: note(cuMemPoolTrimTo(pool, v)); break;
    case 6: note(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v)); break;
    case 7: note(cuMemPoolGetAttribute(pool, rnd(s) % 2 ? CU_MEMPOOL_ATTR_USED_MEM_CURRENT : CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &v)); break;
    case 8:
        note(cuDeviceSetMemPool(0, pool));
        note(cuDeviceGetMemPool(&now, 0));
        note(cuMemPoolSetAccess(now, &access, 1));
        break;
    case 9:
        note(cuMemPoolExportPointer(&exported, (uintptr_t)PICK(memory)));
        break;
    }
}

static CUresult
free_range(CUdeviceptr p)
{
    CUresult e = CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 10 && e == CUDA_ERROR_INVALID_VALUE; i++) {     /* another thread may map something there in between */
        (void)cuMemUnmap(p, PIECE);
        e = cuMemAddressFree(p, PIECE);
    }
    return e;
}

/* Addresses and memory for them, each of which may end while the other is used. */
static void
mapping_ops(struct dice *s)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemAccessDesc access = { prop.location, rnd(s) % 4 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ };
    CUmemGenericAllocationHandle piece = (uintptr_t)PICK(pieces), again;
    CUdeviceptr p = (uintptr_t)PICK(ranges);
    unsigned long long flags;
    switch (rnd(s) % 8) {
    case 0: RENEW(ranges, CUdeviceptr, cuMemAddressReserve(&new_, PIECE, 0, 0, 0), free_range); break;
    case 1: RENEW(pieces, CUmemGenericAllocationHandle, cuMemCreate(&new_, PIECE, &prop, 0), cuMemRelease); break;
    case 2:
    case 3:
        if (cuMemMap(p, PIECE, 0, piece, 0) == CUDA_SUCCESS)
            note(cuMemSetAccess(p, PIECE, &access, 1));
        break;
    case 4: note(cuMemUnmap(p, PIECE)); break;
    case 5:
        if (cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)p) == CUDA_SUCCESS)
            note(cuMemRelease(again));
        break;
    case 6: note(cuMemGetAccess(&flags, &access.location, p)); break;
    case 7:
        if (memory_goes)
            note(cuMemsetD8Async(p, 1, 64, PICK(streams)));
        break;
    }
}

static void CUDA_CB
count_host(void *data)
{
    (void)data;
    atomic_fetch_add_explicit(&called_back, 1, memory_order_relaxed);
}

static void CUDA_CB
count_stream(CUstream st, CUresult e, void *data)
{
    (void)st;
    (void)e;
    count_host(data);
}

/* Work in streams on memory that may have gone when its turn comes. */
static void
queued_ops(struct dice *s)
{
    static const char from[64];
    CUdeviceptr p = (uintptr_t)PICK(memory), q = (uintptr_t)PICK(memory), base;
    CUstream st = rnd(s) % 4 ? PICK(streams) : NULL;
    CUpointer_attribute what = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    unsigned type;
    void *data[] = { &type }, *params[] = { &p };
    CUipcMemHandle ipc;
    size_t n;
    switch (rnd(s) % (memory_goes ? 14 : 7)) {
    case 0: note(cuLaunchHostFunc(st, count_host, NULL)); break;
    case 1: note(cuStreamAddCallback(st, count_stream, NULL, 0)); break;
    case 2: note(cuPointerGetAttributes(1, &what, data, p)); break;
    case 3: note(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p)); break;
    case 4:
        if (cuMemGetAddressRange_v2(&base, &n, p) == CUDA_SUCCESS)
            EXPECT(base <= p && p - base < n);
        break;
    case 5: note(cuIpcGetMemHandle(&ipc, p)); break;
    case 6: note(cuMemAdvise_v2(p, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 0 })); break;
    case 7: note(cuMemsetD8Async(p, 1, BYTES, st)); break;
    case 8: note(cuMemcpyDtoDAsync_v2(p, q, 64, st)); break;
    case 9: note(cuMemcpyHtoDAsync_v2(p, from, sizeof from, st)); break;
    case 10: note(cuStreamWriteValue32_v2(st, p, 1, 0)); break;
    case 11:
        if (!lenient)                   /* which writes what does not end the wait */
            note(cuStreamWaitValue32_v2(st, p, 0, CU_STREAM_WAIT_VALUE_GEQ));
        break;
    case 12: note(cuMemPrefetchAsync_v2(p, BYTES, (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 0, st)); break;
    case 13: note(cuLaunchKernel(PICK(writers), 1, 1, 1, 1, 1, 1, 0, st, params, NULL)); break;
    }
}

/* A batch of values that streams write, and wait for where that is so at once. */
static void
value_ops(struct dice *s)
{
    CUstreamBatchMemOpParams p[4];
    const unsigned n = rnd(s) % 5;
    CUstream st = rnd(s) % 4 ? PICK(streams) : CU_STREAM_PER_THREAD;
    CUdeviceptr at = (uintptr_t)PICK(memory) + (rnd(s) % 8 ? 0 : rnd(s));
    for (unsigned i = 0; i < n; i++) {
        p[i] = (CUstreamBatchMemOpParams){ .writeValue = { .operation = rnd(s) % 2 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64,
                                                           .address = at, .value64 = rnd(s), .flags = rnd(s) % 8 == 0 } };
        if (!lenient && rnd(s) % 4 == 0)
            p[i].waitValue = (struct CUstreamMemOpWaitValueParams_st){ .operation = rnd(s) % 2 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64,
                                                                       .address = at, .flags = CU_STREAM_WAIT_VALUE_GEQ };
        if (rnd(s) % 16 == 0)
            p[i].operation = (CUstreamBatchMemOpType)rnd(s);
    }
    switch (rnd(s) % 4) {
    case 0: note(cuStreamWriteValue64_v2(st, at, 1, 0)); break;
    case 1:
        if (!lenient)
            note(cuStreamWaitValue64_v2(st, at, 0, CU_STREAM_WAIT_VALUE_GEQ));
        break;
    default: note(cuStreamBatchMemOp_v2(st, n, p, 0)); break;
    }
}

static void
tensor_map_ops(struct dice *s)
{
    CUtensorMap map;
    cuuint64_t dim[5], stride[5];
    cuuint32_t box[5], step[5];
    int lower[3], upper[3];
    const unsigned rank = rnd(s) % 8 ? 1 + rnd(s) % 5 : rnd(s);
    void *at = PICK(memory);
    for (unsigned i = 0; i < 5; i++) {
        dim[i] = 1ull << rnd(s) % 34;
        stride[i] = (cuuint64_t)rnd(s) << rnd(s) % 34;
        box[i] = rnd(s) % 8 ? 16u << rnd(s) % 5 : rnd(s);
        step[i] = rnd(s) % 8 ? 1 : rnd(s) % 10;
    }
    for (unsigned i = 0; i < 3; i++) {
        lower[i] = (int)(rnd(s) % 32) - 16;
        upper[i] = (int)(rnd(s) % 32) - 16;
    }
    const unsigned type = rnd(s) % 17, interleave = rnd(s) % 4 ? 0 : rnd(s) % 4, swizzle = rnd(s) % 8, promotion = rnd(s) % 5, fill = rnd(s) % 3;
    if (rnd(s) % 2)
        note(cuTensorMapEncodeTiled(&map, type, rank, at, dim, stride, box, step, interleave, swizzle, promotion, fill));
    else
        note(cuTensorMapEncodeIm2col(&map, type, rank, at, dim, stride, lower, upper, box[0], box[1], step, interleave, swizzle, promotion, fill));
}

/* Memory and pools as files, which come back by them. */
static void
file_ops(struct dice *s)
{
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    int fd = -1;
    switch (rnd(s) % 4) {
    case 0: RENEW(pieces, CUmemGenericAllocationHandle, cuMemCreate(&new_, PIECE, &prop, 0), cuMemRelease); break;
    case 1: RENEW(pools, CUmemoryPool, cuMemPoolCreate(&new_, &props), cuMemPoolDestroy); break;
    case 2:
        if (cuMemExportToShareableHandle(&fd, (uintptr_t)PICK(pieces), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS) {
            RENEW(pieces, CUmemGenericAllocationHandle, cuMemImportFromShareableHandle(&new_, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), cuMemRelease);
            close(fd);
        }
        break;
    case 3:
        if (cuMemPoolExportToShareableHandle(&fd, PICK(pools), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS) {
            RENEW(pools, CUmemoryPool, cuMemPoolImportFromShareableHandle(&new_, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), cuMemPoolDestroy);
            close(fd);
        }
        break;
    }
}

/* ---- green contexts, nodes of graphs, captures that several threads share, what objects say of themselves ---- */

static CUresult
make_green(CUgreenCtx *out)
{
    CUdevResource all;
    CUdevResourceDesc desc;
    CUresult e = cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);
    if (e == CUDA_SUCCESS)
        e = cuDevResourceGenerateDesc(&desc, &all, 1);
    return e != CUDA_SUCCESS ? e : cuGreenCtxCreate(out, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM);
}

static void
green_ops(struct dice *s)
{
    CUgreenCtx g = PICK(greens);
    CUcontext c;
    CUdevResource got;
    CUstream st;
    unsigned long long id;
    switch (rnd(s) % 6) {
    case 0: RENEW(greens, CUgreenCtx, make_green(&new_), cuGreenCtxDestroy); break;
    case 1:
        if (cuGreenCtxStreamCreate(&st, g, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS) {
            void *old = SHARE(streams, st);
            if (old)
                note(cuStreamDestroy_v2(old));
        }
        break;
    case 2:
        if (cuCtxFromGreenCtx(&c, g) == CUDA_SUCCESS)
            note(cuCtxSetCurrent(c));
        break;
    case 3: note(cuGreenCtxRecordEvent(g, PICK(events))); break;
    case 4: note(cuGreenCtxWaitEvent(g, PICK(events))); break;
    case 5:
        note(cuGreenCtxGetDevResource(g, &got, CU_DEV_RESOURCE_TYPE_SM));
        note(cuGreenCtxGetId(g, &id));
        break;
    }
}

static void
node_ops(struct dice *s)
{
    CUgraph g = PICK(graphs), other = PICK(graphs);
    CUgraphNode n = NULL, from = PICK(nodes), to = PICK(nodes);
    CUcontext c = NULL;
    CUDA_HOST_NODE_PARAMS host = { count_host, NULL };
    CUDA_MEMSET_NODE_PARAMS set = { .dst = (uintptr_t)PICK(memory), .elementSize = 1, .value = 3, .width = 64, .height = 1 };
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                         .bytesize = BYTES };
    CUDA_KERNEL_NODE_PARAMS k;
    CUgraphExecUpdateResultInfo result;
    CUgraphConditionalHandle condition;
    CUuserObject object;
    CUgraphNodeType type;
    CUresult e = CUDA_SUCCESS;
    (void)cuCtxGetCurrent(&c);
    switch (rnd(s) % 16) {
    case 0: e = cuGraphAddHostNode(&n, g, &from, rnd(s) % 2, &host); break;
    case 1: e = memory_goes ? cuGraphAddMemsetNode(&n, g, NULL, 0, &set, c) : cuGraphAddEmptyNode(&n, g, NULL, 0); break;
    case 2: e = cuGraphAddChildGraphNode(&n, g, NULL, 0, other); break;
    case 3:
        e = cuGraphAddMemAllocNode(&n, g, NULL, 0, &alloc);
        if (e == CUDA_SUCCESS && rnd(s) % 4) {
            CUgraphNode end;
            note(cuGraphAddMemFreeNode(&end, g, &n, 1, alloc.dptr));
        }
        break;
    case 4: e = cuGraphAddEventWaitNode(&n, g, &from, rnd(s) % 2, PICK(events)); break;
    case 5: note(cuGraphDestroyNode(from)); break;
    case 6: note(cuGraphAddDependencies_v2(g, &from, &to, NULL, 1)); break;
    case 7: note(cuGraphRemoveDependencies_v2(g, &from, &to, NULL, 1)); break;
    case 8: note(cuGraphNodeSetEnabled(PICK(execs), from, rnd(s) % 2)); break;
    case 9: {
        CUresult u = cuGraphExecUpdate_v2(PICK(execs), g, &result);
        if (u != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
            note(u);
        break;
    }
    case 10: note(cuGraphKernelNodeGetParams_v2(from, &k)); break;
    case 11: note(cuGraphNodeGetType(from, &type)); break;
    case 12: note(cuGraphDebugDotPrint(g, "/dev/null", 1)); break;
    case 13:
        if (cuUserObjectCreate(&object, &called_back, count_host, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) == CUDA_SUCCESS) {
            note(cuGraphRetainUserObject(g, object, 1, 0));
            note(cuUserObjectRelease(object, 1));
        }
        break;
    case 14: {                          /* a graph of its own, since the list of bodies goes with the node */
        CUgraph own;
        if (cuGraphCreate(&own, 0) != CUDA_SUCCESS)
            break;
        if (cuGraphConditionalHandleCreate(&condition, own, c, rnd(s) % 2, CU_GRAPH_COND_ASSIGN_DEFAULT) == CUDA_SUCCESS) {
            CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                    .conditional = { .handle = condition, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = c } };
            CUgraphNode inner;
            CUresult made = cuGraphAddNode(&n, own, NULL, 0, &p);
            note(made);
            if (made == CUDA_SUCCESS)
                note(cuGraphAddEmptyNode(&inner, p.conditional.phGraph_out[0], NULL, 0));
        }
        end_graph(s, SHARE(graphs, own));
        break;
    }
    case 15: note(cuGraphUpload(PICK(execs), PICK(streams))); break;
    }
    note(e);
    if (n)
        (void)SHARE(nodes, n);
}

/* A capture of a stream that other threads use. */
static void
capture_ops(struct dice *s)
{
    CUstream st = PICK(streams);
    CUgraph g = NULL;
    CUstreamCaptureStatus status;
    cuuint64_t id;
    switch (rnd(s) % 6) {
    case 0: note(cuStreamBeginCapture_v2(st, (CUstreamCaptureMode)(rnd(s) % 3))); break;
    case 1: note(cuStreamBeginCaptureToGraph(st, PICK(graphs), NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED)); break;
    case 2:
    case 3:
        note(cuStreamEndCapture(st, &g));
        if (g)
            end_graph(s, SHARE(graphs, g));
        break;
    case 4: note(cuStreamIsCapturing(st, &status)); break;
    case 5: note(cuStreamGetCaptureInfo(st, &status, &id)); break;
    }
}

static void
question_ops(struct dice *s)
{
    CUfunction f = PICK(functions), g;
    CUmodule m;
    CUlibrary lib = PICK(libraries);
    CUsurfref u;
    CUtexref t;
    CUdeviceptr p;
    CUcontext c;
    CUipcEventHandle ipc;
    const char *name;
    unsigned long long id;
    float ms;
    size_t n;
    int v;
    switch (rnd(s) % 14) {
    case 0: note(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, f)); break;
    case 1: note(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)(rnd(s) % 65536))); break;
    case 2: note(cuFuncGetName(&name, f)); break;
    case 3: note(cuFuncGetModule(&m, f)); break;
    case 4: note(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 32, 0)); break;
    case 5:
        if (cuModuleEnumerateFunctions(&g, 1, PICK(modules)) == CUDA_SUCCESS)
            (void)SHARE(functions, g);
        break;
    case 6:
        if (cuModuleGetFunction(&g, PICK(modules), "w") == CUDA_SUCCESS)
            (void)SHARE(writers, g);
        break;
    case 7: note(cuLibraryGetGlobal(&p, &n, lib, "v")); break;
    case 8:
        if (cuLibraryGetModule(&m, lib) == CUDA_SUCCESS)
            note(cuModuleGetFunction(&g, m, "l"));
        break;
    case 9:
        if (cuModuleGetSurfRef(&u, PICK(modules), "u") == CUDA_SUCCESS)
            note(cuSurfRefSetArray(u, PICK(arrays), 0));
        break;
    case 10:
        if (cuModuleGetTexRef(&t, PICK(modules), "t") == CUDA_SUCCESS)
            note(cuTexRefSetArray(t, PICK(arrays), CU_TRSA_OVERRIDE_FORMAT));
        break;
    case 11: note(cuIpcGetEventHandle(&ipc, PICK(events))); break;
    case 12: (void)cuEventElapsedTime_v2(&ms, PICK(events), PICK(events)); break;
    case 13:
        if (cuCtxPushCurrent_v2(atomic_load(&contexts[rnd(s) % CONTEXTS])) == CUDA_SUCCESS) {
            note(cuCtxGetLimit(&n, CU_LIMIT_PRINTF_FIFO_SIZE));
            note(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
            note(cuCtxGetId(NULL, &id));
            note(cuCtxPopCurrent_v2(&c));
        }
        break;
    }
}

/* A handle of one kind, or one that nobody made, in the place of another. */
static void
confused_ops(struct dice *s)
{
    void *const kinds[] = { PICK(streams), PICK(events), PICK(modules), PICK(functions), PICK(arrays), PICK(mipmaps), PICK(graphs), PICK(execs),
                            PICK(links), PICK(libraries), PICK(nodes), PICK(pools), PICK(pieces), PICK(ranges), PICK(greens), PICK(memory),
                            atomic_load(&contexts[rnd(s) % CONTEXTS]), (void *)(uintptr_t)(rnd(s) << 4), NULL };
    void *h = kinds[rnd(s) % (sizeof kinds / sizeof *kinds)];
    CUfunction f;
    CUdeviceptr p;
    CUtexref t;
    CUarray a;
    CUkernel k;
    CUcontext c;
    CUgraph g = NULL;
    size_t n;
    unsigned u;
    switch (rnd(s) % 21) {
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
    case 14: note(cuGraphDestroyNode(h)); break;
    case 15: note(cuMemPoolTrimTo(h, 0)); break;
    case 16: note(cuGreenCtxRecordEvent(h, PICK(events))); break;
    case 17: note(cuMemUnmap((uintptr_t)h, PIECE)); break;
    case 18: note(cuMemRelease((uintptr_t)h)); break;
    case 19: note(cuStreamEndCapture(h, &g)); break;
    case 20: note(free_memory(s, h)); break;
    }
    if (g)
        end_graph(s, g);
}

static void
work_step(struct dice *s)
{
    switch (rnd(s) % 17) {
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
    case 7: pool_ops(s); break;
    case 8: mapping_ops(s); break;
    case 9: queued_ops(s); break;
    case 10: green_ops(s); break;
    case 11: node_ops(s); break;
    case 12: capture_ops(s); break;
    case 13: question_ops(s); break;
    case 14: tensor_map_ops(s); break;
    case 15: file_ops(s); break;
    case 16:
        if (memory_goes)
            value_ops(s);
        break;
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
    memory_goes = memory_can_go();
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
        EXPECT(cuCtxDestroy_v2(atomic_load(&contexts[i])) == CUDA_SUCCESS || lenient);
    OK(cuDevicePrimaryCtxReset_v2(0));
    /* Handles that outlived all contexts are recognised. */
    for (int i = 0; i < SHARED && !lenient; i++)
        if (atomic_load(&streams[i]))
            EXPECT_RESULT(cuStreamQuery(atomic_load(&streams[i])), CUDA_ERROR_INVALID_HANDLE);
}

/* End what a table has, with an expression of h, or forget it. */
#define END_ALL(table, end)                                                                                            \
    for (int i_ = 0; i_ < SHARED; i_++) {                                                                              \
        void *h = atomic_exchange(&(table)[i_], NULL);                                                                 \
        if (h)                                                                                                         \
            (void)(end);                                                                                               \
    }

/* As at the beginning: nothing is left. */
static void __attribute__((unused))
end_everything(void)
{
    (void)cuCtxSetCurrent(NULL);
    /* What no context owns. */
    END_ALL(links, cuLinkDestroy(h))
    END_ALL(libraries, cuLibraryUnload(h))
    END_ALL(execs, cuGraphExecDestroy(h))
    END_ALL(graphs, cuGraphDestroy(h))
    END_ALL(greens, cuGreenCtxDestroy(h))
    END_ALL(pools, cuMemPoolDestroy(h))
    END_ALL(ranges, free_range((uintptr_t)h))
    END_ALL(pieces, cuMemRelease((uintptr_t)h))
    end_contexts();
    END_ALL(streams, h)
    END_ALL(events, h)
    END_ALL(modules, h)
    END_ALL(functions, h)
    END_ALL(writers, h)
    END_ALL(nodes, h)
    END_ALL(memory, h)
    END_ALL(arrays, h)
    END_ALL(mipmaps, h)
}

#endif
