/* SPDX-License-Identifier: Apache-2.0
 * Any function of the Runtime with any arguments of the right kinds: tests/any_call.py writes the calls from the API's model, as it does for the driver
 * (tests/driver/any_call.h). A call does not crash, whatever it is given in handles, addresses and values. fuzz_any.c and any.c choose the calls. */
#ifndef RUNTIME_ANY_CALL_H
#define RUNTIME_ANY_CALL_H

#include "impl/api/cuda_runtime.h"
#include "tests/runtime/program.h"

#include <stdio.h>

enum { DATA = 16 << 20 };

#include "tests/any.h"

static const char text[] =
    ".version 7.1\n.target sm_60\n.address_size 64\n.visible .global .align 8 .b8 v[64];\n.visible .global .attribute(.managed) .align 4 .u32 mv = 4;\n"
    ".visible .entry k(.param .u64 p)\n{\n    ret;\n}\n"
    ".visible .entry w(.param .u64 p)\n{\n    .reg .b64 %a;\n    ld.param.u64 %a, [p];\n    st.global.u32 [%a], 7;\n    ret;\n}\n";

/* What programs name kernels and variables by: their addresses. */
static char kernel_stub, writer_stub, variable_stub, unknown_stub;
static void *managed_variable;

static _Atomic(void *) memory[SHARED];  /* of the device, and managed: what copies may use after its end as well */
static _Atomic(void *) pinned[SHARED];  /* of the host: only what takes such addresses apart sees them, since to copies they are the program's after their end */
static _Atomic unsigned long calls, lost, called_back;
static _Atomic int failures;

static const void *
name(struct dice *s)
{
    const void *const some[] = { &kernel_stub, &kernel_stub, &writer_stub, &variable_stub, &managed_variable, managed_variable, &unknown_stub, NULL };
    return some[rnd(s) % 8];
}

/* Memory that a call may read and write, whatever size it is given. */
static void *
place(struct dice *s)
{
    unsigned v = rnd(s) % 8;
    return v < 3 ? data(s) : (char *)PICK(memory) + (v < 7 ? 0 : number(s, 4096));
}

static void *
pinned_place(struct dice *s)
{
    return rnd(s) % 4 ? PICK(pinned) : place(s);
}

static const void *
image(struct dice *s)
{
    static const char nonsense[4096] = "\177ELF nonsense";
    unsigned v = rnd(s) % 8;
    return v < 4 ? text : v < 6 ? (const void *)&wrapper : v < 7 ? nonsense : NULL;
}

/* Mostly one thread: what is large takes a device its time. */
static void
fill_dim3(struct dice *s, dim3 *d)
{
    static const unsigned some[] = { 1, 1, 1, 1, 1, 1, 2, 3, 32, 64, 0, ~0u };
    d->x = some[rnd(s) % (sizeof some / sizeof *some)];
    d->y = some[rnd(s) % 8];
    d->z = some[rnd(s) % 8];
}

static void
count_host(void *of)
{
    (void)of;
    atomic_fetch_add_explicit(&called_back, 1, memory_order_relaxed);
}

static void
count_stream(cudaStream_t stream, cudaError_t e, void *of)
{
    (void)stream;
    (void)e;
    count_host(of);
}

/* Each result has a name. What a device cannot go on after ends with the device's objects. */
static void
any_result(cudaError_t e, const char *function)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&lost, e != cudaSuccess, memory_order_relaxed);
    if (!strncmp(cudaGetErrorName(e), "unrec", 5)) {
        fprintf(stderr, "%s gave %d, which is no result\n", function, (int)e);
        atomic_fetch_add(&failures, 1);
    }
    if (e == cudaErrorIllegalAddress || e == cudaErrorMisalignedAddress || e == cudaErrorLaunchFailure || e == cudaErrorHardwareStackError)
        (void)cudaDeviceReset();
}

static void *handle(struct dice *s, _Atomic(void *) table[SHARED]);
static void keep(struct dice *s, _Atomic(void *) table[SHARED], void *h);

#include "any_calls.inc"

/* Of this kind, or, now and then, of another. */
static void *
handle(struct dice *s, _Atomic(void *) table[SHARED])
{
    unsigned v = rnd(s) % 16;
    return v == 0 ? NULL : v == 1 ? PICK(any_tables[rnd(s) % (sizeof any_tables / sizeof *any_tables)]) : v == 2 ? (void *)(uintptr_t)number(s, 0) : PICK(table);
}

/* What belongs to no device would stay for ever. */
static void
end_object(_Atomic(void *) *table, void *h)
{
    if (table == any_cudaGraph_t)
        (void)cudaGraphDestroy(h);
    else if (table == any_cudaGraphExec_t)
        (void)cudaGraphExecDestroy(h);
    else if (table == any_cudaLibrary_t)
        (void)cudaLibraryUnload(h);
    else if (table == any_cudaUserObject_t)
        (void)cudaUserObjectRelease(h, 1);
    else if (table == any_cudaMemPool_t)
        (void)cudaMemPoolDestroy(h);
    else if (table == pinned)
        (void)cudaFreeHost(h);
    else if (table == memory)
        (void)cudaFree(h);
}

static void
keep(struct dice *s, _Atomic(void *) table[SHARED], void *h)
{
    void *old = SHARE(table, h);
    if (old && old != h)
        end_object(table, old);
}

/* One of each kind, so that calls find some. */
static void
make_objects(struct dice *s)
{
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaMemPool_t pool;
    cudaArray_t array;
    cudaMipmappedArray_t mipmaps;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaUserObject_t object;
    void *p;
    const struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned, .location = { cudaMemLocationTypeDevice, 0 } };
    const struct cudaChannelFormatDesc bytes = { 8, 0, 0, 0, cudaChannelFormatKindUnsigned };
    const struct cudaExtent extent = { 16, 16, 0 };
    const struct cudaHostNodeParams host = { count_host, &called_back };
    const struct cudaMemsetParams set = { .dst = PICK(memory), .elementSize = 1, .width = 64, .height = 1 };
    const struct cudaKernelNodeParams kernel_params = { .func = &kernel_stub, .gridDim = { 1, 1, 1 }, .blockDim = { 1, 1, 1 }, .kernelParams = pointers(s) };
#define MADE(call, table, h)                                                                                           \
    if ((call) == cudaSuccess)                                                                                         \
        keep(s, table, (void *)(uintptr_t)h)
    MADE(cudaStreamCreateWithFlags(&stream, rnd(s) % 2), any_cudaStream_t, stream);
    MADE(cudaEventCreate(&event), any_cudaEvent_t, event);
    MADE(cudaMalloc(&p, 4096), memory, p);
    MADE(cudaMallocManaged(&p, 4096, cudaMemAttachGlobal), memory, p);
    MADE(cudaMallocHost(&p, 4096), pinned, p);
    MADE(cudaMemPoolCreate(&pool, &props), any_cudaMemPool_t, pool);
    MADE(cudaMallocArray(&array, &bytes, 16, 16, 0), any_cudaArray_t, array);
    MADE(cudaMallocMipmappedArray(&mipmaps, &bytes, extent, 3, 0), any_cudaMipmappedArray_t, mipmaps);
    MADE(cudaUserObjectCreate(&object, &called_back, count_host, 1, cudaUserObjectNoDestructorSync), any_cudaUserObject_t, object);
    if (rnd(s) % 8 == 0 && cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0) == cudaSuccess) {
        MADE(cudaLibraryGetKernel(&kernel, library, "k"), any_cudaKernel_t, kernel);
        keep(s, any_cudaLibrary_t, library);
    }
    if (cudaGraphCreate(&graph, 0) == cudaSuccess) {
        MADE(cudaGraphAddEmptyNode(&node, graph, NULL, 0), any_cudaGraphNode_t, node);
        MADE(cudaGraphAddHostNode(&node, graph, NULL, 0, &host), any_cudaGraphNode_t, node);
        MADE(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &set), any_cudaGraphNode_t, node);
        MADE(cudaGraphAddKernelNode(&node, graph, NULL, 0, &kernel_params), any_cudaGraphNode_t, node);
        MADE(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, buffers()->data, PICK(memory), 64, cudaMemcpyDefault), any_cudaGraphNode_t, node);
        MADE(cudaGraphInstantiate(&exec, graph, 0), any_cudaGraphExec_t, exec);
        keep(s, any_cudaGraph_t, graph);
    }
#undef MADE
}

static void
register_program(void)
{
    pack_program(text, sizeof text);
    void **binary = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(binary, &kernel_stub, "k", "k", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(binary, &writer_stub, "w", "w", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(binary, &variable_stub, "v", "v", 0, 64, 0, 0);
    __cudaRegisterManagedVar(binary, &managed_variable, "mv", "mv", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);
}

static void
any_step(struct dice *s, bool memory_goes)
{
    unsigned n = (rnd(s) | rnd(s) << 8) % (sizeof any_calls / sizeof *any_calls);
    if (memory_goes || !any_calls[n].touches)
        any_calls[n].call(s);
}

/* No thread calls any more: every object ends, and the devices' with them. */
static void __attribute__((unused))
end_objects(void)
{
    int devices = 0;
    for (unsigned t = 0; t < sizeof any_tables / sizeof *any_tables; t++)
        for (unsigned i = 0; i < SHARED; i++)
            end_object(any_tables[t], atomic_exchange(&any_tables[t][i], NULL));
    for (unsigned i = 0; i < SHARED; i++) {
        end_object(memory, atomic_exchange(&memory[i], NULL));
        end_object(pinned, atomic_exchange(&pinned[i], NULL));
    }
    (void)cudaGetDeviceCount(&devices);
    for (int d = 0; d < devices; d++)
        if (cudaSetDevice(d) == cudaSuccess)
            (void)cudaDeviceReset();
    (void)cudaSetDevice(0);
    (void)cudaGetLastError();
}

#endif
