/* SPDX-License-Identifier: Apache-2.0
 * Sections of `answers`: calls whose answers depend on the calls before them. Each makes any two of its calls after each other, then asks. */
#include "tests/driver/answers.h"

static void CUDA_CB
nothing(void *p)
{
}

/* ---- contexts: a stack, a context of its own, the primary one ---- */

enum { CONTEXT_CALLS = 22 };

static CUcontext a, primary;

static void
context_call(unsigned n)
{
    CUcontext c = NULL;
    CUdevice d = 99;
    switch (n) {
    case 1: A(cuCtxCreate_v2(&c, 0, 0)); if (c) a = c; break;
    case 2: A(cuCtxDestroy_v2(a)); break;
    case 3: A(cuCtxPushCurrent_v2(a)); break;
    case 4: A(cuCtxPopCurrent_v2(&c)); V(c == a ? 1 : c == o.ctx ? 2 : c == primary ? 3 : c != NULL ? 4 : 0); break;
    case 5: A(cuCtxSetCurrent(a)); break;
    case 6: A(cuCtxSetCurrent(NULL)); break;
    case 7: A(cuCtxSetCurrent(other)); break;
    case 8: A(cuDevicePrimaryCtxRetain(&c, 0)); if (c) primary = c; break;
    case 9: A(cuDevicePrimaryCtxRelease_v2(0)); break;
    case 10: A(cuDevicePrimaryCtxReset_v2(0)); break;
    case 11: A(cuCtxSetCurrent(primary)); break;
    case 12: A(cuCtxPushCurrent_v2(primary)); break;
    case 13: A(cuCtxDestroy_v2(primary)); break;
    case 14: A(cuCtxAttach(&c, 0)); break;
    case 15: A(cuCtxDetach(a)); break;
    case 16: A(cuCtxGetDevice(&d)); V(d); break;
    case 17: A(cuCtxSynchronize()); break;
    case 18: A(cuDevicePrimaryCtxSetFlags_v2(0, 4)); break;
    case 19: A(cuCtxCreate_v2(&c, 0x300, 0)); break;
    case 20: A(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20)); break;
    case 21: A(cuCtxPushCurrent_v2(NULL)); break;
    case 22: A(cuCtxResetPersistingL2Cache()); break;
    default: break;
    }
}

static void
order_context(void)
{
    CUdeviceptr p = 0;
    CUcontext c = NULL;
    CUstream s = NULL;
    unsigned flags = 99;
    int active = 99;
    MUST(cuCtxCreate_v2(&a, 0, 0));
    CUcontext made = a;
    MUST(cuDevicePrimaryCtxRetain(&primary, 0));
    if (!P(current, 1, 0))
        (void)cuCtxPopCurrent_v2(&c);
    context_call((unsigned)RANGE(first, 0, 1, CONTEXT_CALLS));
    context_call((unsigned)RANGE(then, 0, 1, CONTEXT_CALLS));
    A(cuCtxGetCurrent(&c));
    V(c == made ? 1 : c == o.ctx ? 2 : c == primary ? 3 : c == other ? 4 : c == a ? 5 : c != NULL);
    A(cuMemAlloc_v2(&p, 64));
    A(cuMemsetD8_v2(p, 0, 64));
    A(cuStreamCreate(&s, 0));
    A(cuStreamSynchronize(s));
    A(cuStreamSynchronize(NULL));
    A(cuMemsetD8_v2(o.dev, 0, 64));                     /* of another context */
    A(cuLaunchKernel(o.func, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    A(cuLaunchKernel(o.func, 1, 1, 1, 1, 1, 1, 0, o.stream, NULL, NULL));
    A(cuEventRecord(o.event, NULL));
    A(cuEventRecord(o.event, s));
    A(cuEventQuery(o.timed));
    A(cuDevicePrimaryCtxGetState(0, &flags, &active));
    V(flags);
    V(active);
    while (cuCtxGetCurrent(&c) == CUDA_SUCCESS && c && c != o.ctx && cuCtxPopCurrent_v2(&c) == CUDA_SUCCESS)
        ;
    A(cuCtxDestroy_v2(a));
    if (!cuDevicePrimaryCtxGetState(0, &flags, &active) && active)
        (void)cuDevicePrimaryCtxRelease_v2(0);
    (void)cuDevicePrimaryCtxSetFlags_v2(0, 0);
    (void)cuCtxSetCurrent(o.ctx);
}

/* ---- streams, events, captures ---- */

enum { STREAM_CALLS = 30 };

static CUstream s1, s2;
static CUevent e1;
static CUgraph captured;

static void
stream_call(unsigned n)
{
    CUgraph g = NULL;
    switch (n) {
    case 1: A(cuStreamDestroy_v2(s2)); s2 = NULL; break;
    case 2: A(cuEventRecord(e1, s1)); break;
    case 3: A(cuEventRecord(e1, s2)); break;
    case 4: A(cuEventRecord(e1, NULL)); break;
    case 5: A(cuStreamWaitEvent(s1, e1, 0)); break;
    case 6: A(cuStreamWaitEvent(s2, e1, 0)); break;
    case 7: A(cuStreamWaitEvent(NULL, e1, 0)); break;
    case 8: A(cuStreamBeginCapture_v2(s1, CU_STREAM_CAPTURE_MODE_GLOBAL)); break;
    case 9: A(cuStreamBeginCapture_v2(s1, CU_STREAM_CAPTURE_MODE_RELAXED)); break;
    case 10: A(cuStreamBeginCapture_v2(s2, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); break;
    case 11: A(cuStreamEndCapture(s1, &g)); if (g) captured = g; V(g != NULL); break;
    case 12: A(cuStreamEndCapture(s2, &g)); if (g) captured = g; V(g != NULL); break;
    case 13: A(cuLaunchKernel(o.func, 1, 1, 1, 1, 1, 1, 0, s1, NULL, NULL)); break;
    case 14: A(cuLaunchKernel(o.func, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)); break;
    case 15: A(cuMemsetD8Async(o.dev, 0, 16, s1)); break;
    case 16: A(cuMemsetD8Async(o.dev, 0, 16, s2)); break;
    case 17: A(cuMemsetD8_v2(o.dev, 0, 16)); break;
    case 18: A(cuStreamSynchronize(s1)); break;
    case 19: A(cuStreamSynchronize(NULL)); break;
    case 20: A(cuCtxSynchronize()); break;
    case 21: A(cuEventSynchronize(e1)); break;
    case 22: { CUdeviceptr p = 0; A(cuMemAlloc_v2(&p, 64)); A(cuMemFree_v2(p)); break; }
    case 23: { CUdeviceptr p = 0; A(cuMemAllocAsync(&p, 64, s1)); A(cuMemFreeAsync(p, s1)); break; }
    case 24: { CUmodule m = NULL; A(cuModuleLoadData(&m, text)); A(m ? cuModuleUnload(m) : CUDA_SUCCESS); break; }
    case 25: { CUevent e = NULL; A(cuEventCreate(&e, 0)); A(cuEventDestroy_v2(e)); break; }
    case 26: { CUstream s = NULL; A(cuStreamCreate(&s, 0)); A(cuStreamDestroy_v2(s)); break; }
    case 27: A(cuLaunchHostFunc(s1, nothing, NULL)); break;
    case 28: A(cuMemcpyDtoHAsync_v2(host, o.dev, 16, s1)); break;
    case 29: A(cuMemcpyDtoHAsync_v2(o.pinned, o.dev, 16, s2)); break;
    case 30: { CUstreamCaptureMode m = CU_STREAM_CAPTURE_MODE_RELAXED; A(cuThreadExchangeStreamCaptureMode(&m)); break; }
    default: break;
    }
}

static void
order_stream(void)
{
    CUstreamCaptureStatus st;
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    CUstreamCaptureMode m = CU_STREAM_CAPTURE_MODE_GLOBAL;
    unsigned flags = (unsigned)P(flags, CU_STREAM_NON_BLOCKING, 0);
    s1 = s2 = NULL;
    captured = NULL;
    MUST(cuStreamCreate(&s1, flags));
    MUST(cuStreamCreate(&s2, flags));
    MUST(cuEventCreate(&e1, 0));
    unsigned begun = (unsigned)P(begun, 0, 8, 10);
    if (begun)
        stream_call(begun);
    stream_call((unsigned)RANGE(first, 0, 1, STREAM_CALLS));
    stream_call((unsigned)RANGE(then, 0, 1, STREAM_CALLS));
    A(cuStreamIsCapturing(s1, &st));
    V(st);
    if (s2) {
        A(cuStreamIsCapturing(s2, &st));
        V(st);
    }
    CUresult e = cuEventQuery(e1);
    A(e == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : e);
    A(cuStreamEndCapture(s1, &g));
    g = g ? g : captured;
    if (g) {
        size_t n = 99;
        A(cuGraphGetNodes(g, NULL, &n));
        V(n);
        if (!A(cuGraphInstantiateWithFlags(&x, g, 0))) {
            A(cuGraphLaunch(x, s1));
            (void)cuGraphExecDestroy(x);
        }
        (void)cuGraphDestroy(g);
    }
    (void)cuThreadExchangeStreamCaptureMode(&m);
    A(cuStreamDestroy_v2(s1));
    if (s2)
        A(cuStreamDestroy_v2(s2));
    A(cuEventDestroy_v2(e1));
}

/* ---- graphs ---- */

enum { GRAPH_CALLS = 26 };

static CUgraph g1, g2;
static CUgraphNode n1, n2, n3;
static CUgraphExec x1;

static void
graph_call(unsigned n)
{
    CUDA_MEMSET_NODE_PARAMS set = { .dst = o.dev, .elementSize = 1, .width = 16, .height = 1 };
    CUDA_KERNEL_NODE_PARAMS k = { .func = o.func, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
    CUgraphNode out_ = NULL;
    CUgraphExecUpdateResultInfo info;
    CUgraphExec x = NULL;
    memset(&info, 0, sizeof info);
    switch (n) {
    case 1: A(cuGraphAddDependencies(g1, &n1, &n2, 1)); break;
    case 2: A(cuGraphAddDependencies(g1, &n2, &n1, 1)); break;
    case 3: A(cuGraphAddDependencies(g1, &n1, &n1, 1)); break;
    case 4: A(cuGraphAddDependencies(g1, &n1, &n3, 1)); break;
    case 5: A(cuGraphRemoveDependencies(g1, &n1, &n2, 1)); break;
    case 6: A(cuGraphDestroyNode(n2)); n2 = n1; break;
    case 7: A(cuGraphAddEmptyNode(&out_, g1, &n2, 1)); break;
    case 8: A(cuGraphAddEmptyNode(&out_, g1, (CUgraphNode[]){ n1, n1 }, 2)); break;
    case 9: A(cuGraphAddMemsetNode(&out_, g1, NULL, 0, &set, o.ctx)); break;
    case 10: A(cuGraphAddKernelNode_v2(&out_, g1, NULL, 0, &k)); break;
    case 11: A(cuGraphAddChildGraphNode(&out_, g1, NULL, 0, g2)); break;
    case 12: A(cuGraphAddChildGraphNode(&out_, g2, NULL, 0, g1)); break;
    case 13: A(cuGraphAddEventRecordNode(&out_, g2, NULL, 0, o.event)); break;
    case 14: A(cuGraphInstantiateWithFlags(&x, g1, 0)); if (x) x1 = x; break;
    case 15: A(cuGraphInstantiateWithFlags(&x, g1, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)); if (x) x1 = x; break;
    case 16: if (x1) A(cuGraphLaunch(x1, o.stream)); break;
    case 17: if (x1) { A(cuGraphExecUpdate_v2(x1, g1, &info)); V(info.result); } break;
    case 18: if (x1) { A(cuGraphExecUpdate_v2(x1, g2, &info)); V(info.result); } break;
    case 19: if (x1) { A(cuGraphExecDestroy(x1)); x1 = NULL; } break;
    case 20: {
        CUDA_MEM_ALLOC_NODE_PARAMS p;
        memset(&p, 0, sizeof p);
        p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        p.bytesize = 4096;
        A(cuGraphAddMemAllocNode(&out_, g1, NULL, 0, &p));
        break;
    }
    case 21: if (x1) { unsigned on = 9; A(cuGraphNodeSetEnabled(x1, n2, 0)); A(cuGraphNodeGetEnabled(x1, n2, &on)); V(on); } break;
    case 22: { CUgraph c = NULL; if (!A(cuGraphClone(&c, g1))) (void)cuGraphDestroy(c); break; }
    case 23: A(cuGraphMemsetNodeSetParams(n2, &set)); break;
    case 24: if (x1) A(cuGraphExecMemsetNodeSetParams(x1, n2, &set, o.ctx)); break;
    case 25: if (x1) { set.width = 32; A(cuGraphExecMemsetNodeSetParams(x1, n2, &set, o.ctx)); } break;
    case 26: { CUgraphNode none[1] = { NULL }; A(cuGraphAddDependencies(g1, none, &n2, 1)); } break;
    default: break;
    }
}

static void
order_graph(void)
{
    CUDA_MEMSET_NODE_PARAMS set = { .dst = o.dev, .elementSize = 1, .width = 16, .height = 1 };
    CUgraphExec x = NULL;
    size_t n = 99;
    g1 = g2 = NULL;
    x1 = NULL;
    MUST(cuGraphCreate(&g1, 0));
    MUST(cuGraphCreate(&g2, 0));
    MUST(cuGraphAddEmptyNode(&n1, g1, NULL, 0));
    MUST(cuGraphAddMemsetNode(&n2, g1, NULL, 0, &set, o.ctx));
    MUST(cuGraphAddEmptyNode(&n3, g2, NULL, 0));
    unsigned begun = (unsigned)P(begun, 0, 1, 14);
    if (begun)
        graph_call(begun);
    graph_call((unsigned)RANGE(first, 0, 1, GRAPH_CALLS));
    graph_call((unsigned)RANGE(then, 0, 1, GRAPH_CALLS));
    A(cuGraphGetNodes(g1, NULL, &n));
    V(n);
    A(cuGraphGetEdges(g1, NULL, NULL, &n));
    V(n);
    A(cuGraphGetRootNodes(g1, NULL, &n));
    V(n);
    if (!A(cuGraphInstantiateWithFlags(&x, g1, 0))) {
        A(cuGraphLaunch(x, o.stream));
        A(cuStreamSynchronize(o.stream));
        A(cuGraphLaunch(x, o.stream));
        A(cuStreamSynchronize(o.stream));
        A(cuGraphExecDestroy(x));
    }
    if (x1)
        (void)cuGraphExecDestroy(x1);
    A(cuGraphDestroy(g1));
    A(cuGraphDestroy(g2));
    (void)cuDeviceGraphMemTrim(0);
}

/* ---- memory ---- */

enum { MEMORY_CALLS = 26 };

static CUdeviceptr p1, q1;
static CUmemoryPool pool;
static void *at_end;

static void
memory_call(unsigned n)
{
    static char page[1 << 14] __attribute__((aligned(4096)));
    CUdeviceptr d = 0;
    unsigned f = 9;
    switch (n) {
    case 1: A(cuMemFree_v2(p1)); break;
    case 2: A(cuMemFreeAsync(p1, o.stream)); break;
    case 3: A(cuMemFree_v2(q1)); break;
    case 4: A(cuMemFreeAsync(q1, o.stream)); break;
    case 5: A(cuCtxSynchronize()); break;
    case 6: A(cuMemsetD8_v2(p1, 1, 64)); break;
    case 7: A(cuMemsetD8Async(q1, 1, 64, o.stream)); break;
    case 8: A(cuMemHostRegister_v2(page, 8192, 0)); break;
    case 9: A(cuMemHostRegister_v2(page + 4096, 8192, 0)); break;
    case 10: A(cuMemHostUnregister(page)); break;
    case 11: A(cuMemHostGetDevicePointer_v2(&d, page + 100, 0)); break;
    case 12: A(cuMemHostGetFlags(&f, page)); V(f); break;
    case 13: A(cuMemPoolDestroy(pool)); pool = NULL; break;
    case 14: if (pool) A(cuMemPoolTrimTo(pool, 0)); break;
    case 15: if (pool) { A(cuMemAllocFromPoolAsync(&d, 64, pool, o.stream)); if (d) A(cuMemFreeAsync(d, o.stream)); } break;
    case 16: if (pool) { uint64_t v = 9; A(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &v)); V(v); } break;
    case 17: if (pool) { A(cuDeviceSetMemPool(0, pool)); } break;
    case 18: A(cuMemAllocAsync(&d, 64, o.stream)); if (d) A(cuMemFreeAsync(d, o.stream)); break;
    case 19: A(cuMemGetAddressRange_v2(&d, NULL, p1)); break;
    case 20: A(cuPointerGetAttribute(&f, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q1)); V(f); break;
    case 21: A(cuMemcpyDtoH_v2(host, p1 + 64, 64)); break;
    case 22: A(cuMemcpyDtoD_v2(p1, q1, 64)); break;
    case 23: A(cuIpcGetMemHandle((CUipcMemHandle *)out, p1)); break;
    case 24: A(cuIpcGetMemHandle((CUipcMemHandle *)out, q1)); break;
    case 25: A(cuMemHostUnregister(page + 4096)); break;
    case 26: A(cuMemFreeHost(page)); break;
    default: break;
    }
    memset(page, 0, sizeof page);
    at_end = page;
}

static void
order_memory(void)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool usual;
    p1 = q1 = 0;
    MUST(cuMemAlloc_v2(&p1, 4 << 20));
    MUST(cuMemPoolCreate(&pool, &props));
    MUST(cuMemAllocFromPoolAsync(&q1, 4 << 20, pool, o.stream));
    memory_call((unsigned)RANGE(first, 0, 1, MEMORY_CALLS));
    memory_call((unsigned)RANGE(then, 0, 1, MEMORY_CALLS));
    (void)cuCtxSynchronize();
    A(cuMemFreeAsync(q1, o.stream));
    A(cuMemFree_v2(p1));
    (void)cuCtxSynchronize();
    if (pool)
        A(cuMemPoolDestroy(pool));
    if (!cuDeviceGetDefaultMemPool(&usual, 0))
        (void)cuDeviceSetMemPool(0, usual);
    (void)cuMemHostUnregister(at_end);
    (void)cuMemHostUnregister((char *)at_end + 4096);
}

const struct section order_sections[] = {
    { "order_context", order_context, 700 }, { "order_stream", order_stream, 900 }, { "order_graph", order_graph, 800 }, { "order_memory",
        order_memory, 700 }, { NULL, NULL, 0 },
};
