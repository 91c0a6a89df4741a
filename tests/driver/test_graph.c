/* SPDX-License-Identifier: Apache-2.0
 * Graphs compute what their nodes say, in an order that respects the edges: captured, built by hand, changed, cloned, nested, launched
 * again and in several streams. Expected values come from plain C. What is answered to wrong use is graph_facts.c's subject. */
#include "tests/driver/graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { N = 100, BYTES = N * 4 };

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* p[i] = p[i] * m + a */
    ".visible .entry mad(.param .u64 p, .param .u32 n, .param .u32 m, .param .u32 a) {\n"
    "  .reg .pred %q; .reg .b32 %r<8>; .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [m]; ld.param.u32 %r2, [a];\n"
    "  mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mad.lo.u32 %r3, %r4, %r5, %r3;\n"
    "  setp.ge.u32 %q, %r3, %r0; @%q ret;\n"
    "  mul.wide.u32 %d1, %r3, 4; add.u64 %d0, %d0, %d1; ld.global.u32 %r6, [%d0];\n"
    "  mad.lo.u32 %r6, %r6, %r1, %r2; st.global.u32 [%d0], %r6; ret;\n}\n"
    /* d[i] = a[i] * 1000 + b[i] */
    ".visible .entry mix(.param .u64 d, .param .u64 a, .param .u64 b, .param .u32 n) {\n"
    "  .reg .pred %q; .reg .b32 %r<8>; .reg .b64 %d<6>;\n"
    "  ld.param.u64 %d0, [d]; ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r0, [n];\n"
    "  mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mad.lo.u32 %r3, %r4, %r5, %r3;\n"
    "  setp.ge.u32 %q, %r3, %r0; @%q ret;\n"
    "  mul.wide.u32 %d3, %r3, 4; add.u64 %d0, %d0, %d3; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n"
    "  ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [%d2]; mad.lo.u32 %r1, %r1, 1000, %r2; st.global.u32 [%d0], %r1; ret;\n}\n";

static CUcontext ctx;
static CUmodule mod;
static CUfunction mad, mix;
static CUdeviceptr x, y, z;
static uint32_t in[N], out[N];

struct args {
    CUdeviceptr p;
    uint32_t n, m, a;
    void *list[4];
};

static void **
mad_args(struct args *s, CUdeviceptr p, uint32_t m, uint32_t a)
{
    *s = (struct args){ p, N, m, a, { &s->p, &s->n, &s->m, &s->a } };
    return s->list;
}

static CUDA_KERNEL_NODE_PARAMS
node_params(CUfunction f, void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = f, .gridDimX = (N + 31) / 32, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1,
                                      .blockDimZ = 1, .kernelParams = args };
}

static CUresult
launch_mad(CUstream s, CUdeviceptr p, uint32_t m, uint32_t a)
{
    struct args t;
    return cuLaunchKernel(mad, (N + 31) / 32, 1, 1, 32, 1, 1, 0, s, mad_args(&t, p, m, a), NULL);
}

static CUresult
launch_mix(CUstream s, CUdeviceptr d, CUdeviceptr a, CUdeviceptr b)
{
    uint32_t n = N;
    void *args[] = { &d, &a, &b, &n };
    return cuLaunchKernel(mix, (N + 31) / 32, 1, 1, 32, 1, 1, 0, s, args, NULL);
}

static CUgraphNode
add_mad(CUgraph g, const CUgraphNode *deps, size_t n, CUdeviceptr p, uint32_t m, uint32_t a)
{
    struct args t;
    CUgraphNode h = NULL;
    CUDA_KERNEL_NODE_PARAMS k = node_params(mad, mad_args(&t, p, m, a));
    OK(cuGraphAddKernelNode_v2(&h, g, deps, n, &k));
    memset(&t, 0xee, sizeof t);         /* the node has copies */
    return h;
}

static void
fill_in(void)
{
    for (uint32_t i = 0; i < N; i++)
        in[i] = i * 7 + 3;
    OK(cuMemcpyHtoD_v2(x, in, BYTES));
    OK(cuMemsetD8_v2(y, 0, BYTES));
    OK(cuMemsetD8_v2(z, 0, BYTES));
    OK(cuCtxSynchronize());
}

/* All of p is f(in, i). */
static void
check(const char *what, CUdeviceptr p, uint32_t (*f)(uint32_t v))
{
    memset(out, 0xcc, sizeof out);
    OK(cuMemcpyDtoH_v2(out, p, BYTES));
    for (uint32_t i = 0; i < N; i++)
        if (out[i] != f(in[i])) {
            fprintf(stderr, "%s: element %u is %u, not %u\n", what, i, out[i], f(in[i]));
            failures++;
            return;
        }
}

static uint32_t same(uint32_t v) { return v; }
static uint32_t twice1(uint32_t v) { return v * 2 + 1; }
static uint32_t three_times(uint32_t v) { return twice1(twice1(twice1(v))); }

static void
run(CUgraphExec e, CUstream s, int times)
{
    for (int i = 0; i < times; i++)
        OK(cuGraphLaunch(e, s));
    OK(cuStreamSynchronize(s));
}

/* ---- capture ----------------------------------------------------------------------------------------------------------------- */

static void
linear(void)
{
    CUstream s = stream();
    CUgraph g;
    static uint32_t back[N];
    fill_in();
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_mad(s, x, 2, 1));
    OK(cuMemcpyDtoDAsync_v2(y, x, BYTES, s));
    OK(cuMemsetD32Async(z, 5, N, s));
    OK(cuMemcpyDtoHAsync_v2(back, x, BYTES, s));
    OK(cuStreamEndCapture(s, &g));
    usleep(20000);
    check("capturing runs nothing", x, same);
    CUgraphExec e = instantiate(g);
    check("instantiating runs nothing", x, same);
    OK(cuGraphDestroy(g));              /* the executable one has copies */
    run(e, s, 3);
    check("three launches", x, three_times);
    check("copied inside", y, three_times);
    for (uint32_t i = 0; i < N; i++)
        EXPECT(back[i] == three_times(in[i]));
    OK(cuMemcpyDtoH_v2(out, z, BYTES));
    EXPECT(out[0] == 5 && out[N - 1] == 5);
    /* among other work of the stream, in order */
    fill_in();
    OK(launch_mad(s, x, 1, 100));
    OK(cuGraphLaunch(e, s));
    OK(launch_mad(s, x, 3, 0));
    OK(cuGraphLaunch(e, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    for (uint32_t i = 0; i < N; i++)
        EXPECT(out[i] == twice1(twice1(in[i] + 100) * 3));
    OK(cuGraphExecDestroy(e));
    OK(cuStreamDestroy_v2(s));
}

/* (x * 2 + 1) goes to y as * 3 and to x as + 10 in two streams; z = x * 1000 + y. */
static uint32_t diamond(uint32_t v) { uint32_t t = twice1(v); return (t + 10) * 1000 + t * 3; }

static void
fork_join(void)
{
    CUstream s = stream(), t = stream();
    CUevent a, b;
    CUgraph g;
    fill_in();
    OK(cuEventCreate(&a, 0));
    OK(cuEventCreate(&b, 0));
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_mad(s, x, 2, 1));
    OK(cuMemcpyDtoDAsync_v2(y, x, BYTES, s));
    OK(cuEventRecord(a, s));
    OK(cuStreamWaitEvent(t, a, 0));
    OK(launch_mad(t, y, 3, 0));
    OK(cuEventRecord(b, t));
    OK(launch_mad(s, x, 1, 10));
    OK(cuStreamWaitEvent(s, b, 0));
    OK(launch_mix(s, z, x, y));
    OK(cuStreamEndCapture(s, &g));
    size_t n = 0, edges = 0;
    OK(cuGraphGetNodes(g, NULL, &n));
    OK(cuGraphGetEdges(g, NULL, NULL, &edges));
    EXPECT(n == 5 && edges == 5);
    CUgraphExec e = instantiate(g);
    run(e, s, 1);
    check("fork and join", z, diamond);
    /* the forked stream is free again */
    fill_in();
    OK(launch_mad(t, x, 2, 1));
    OK(cuStreamSynchronize(t));
    check("after the capture", x, twice1);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuEventDestroy_v2(a));
    OK(cuEventDestroy_v2(b));
    OK(cuStreamDestroy_v2(s));
    OK(cuStreamDestroy_v2(t));
}

static void *
capture_alone(void *unused)
{
    CUdeviceptr p = 0;
    CUgraph g;
    OK(cuCtxSetCurrent(ctx));
    CUstream s = stream();
    uint32_t mine[N];
    OK(cuMemAlloc_v2(&p, BYTES));
    for (uint32_t k = 0; k < 20; k++) {
        OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuMemsetD32Async(p, k, N, s));
        OK(launch_mad(s, p, 3, k));
        OK(cuStreamEndCapture(s, &g));
        CUgraphExec e = instantiate(g);
        run(e, s, 2);
        OK(cuMemcpyDtoH_v2(mine, p, BYTES));
        EXPECT(mine[0] == k * 3 + k && mine[N - 1] == k * 3 + k);
        OK(cuGraphExecDestroy(e));
        OK(cuGraphDestroy(g));
    }
    OK(cuMemFree_v2(p));
    OK(cuStreamDestroy_v2(s));
    return NULL;
}

static void
threads(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, capture_alone, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

/* ---- built by hand ------------------------------------------------------------------------------------------------------------- */

static void
by_hand(void)
{
    CUgraph g;
    CUgraphNode first, copy, left, right, last, empty;
    CUstream s = stream();
    uint32_t n = N;
    void *args[] = { &z, &x, &y, &n };
    CUDA_KERNEL_NODE_PARAMS k = node_params(mix, args);
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = x, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = y,
                        .WidthInBytes = BYTES, .Height = 1, .Depth = 1 };
    fill_in();
    /* created last first, so that order of creation is the wrong order */
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode_v2(&last, g, NULL, 0, &k));
    OK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
    right = add_mad(g, NULL, 0, y, 3, 0);
    left = add_mad(g, NULL, 0, x, 1, 10);
    OK(cuGraphAddMemcpyNode(&copy, g, NULL, 0, &c, ctx));
    first = add_mad(g, NULL, 0, x, 2, 1);
    CUgraphNode from[] = { first, copy, copy, left, right, empty }, to[] = { copy, left, right, empty, empty, last };
    OK(cuGraphAddDependencies(g, from, to, 6));
    CUgraphExec e = instantiate(g);
    run(e, s, 1);
    check("built by hand", z, diamond);
    /* arguments of one node, in the executable graph only */
    struct args t;
    k = node_params(mad, mad_args(&t, x, 5, 7));
    OK(cuGraphExecKernelNodeSetParams_v2(e, first, &k));
    fill_in();
    run(e, s, 1);
    OK(cuMemcpyDtoH_v2(out, z, BYTES));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t v = in[i] * 5 + 7;
        EXPECT(out[i] == (v + 10) * 1000 + v * 3);
    }
    CUgraphExec other = instantiate(g);
    fill_in();
    run(other, s, 1);
    check("the graph kept its arguments", z, diamond);
    /* a node switched off */
    OK(cuGraphNodeSetEnabled(other, first, 0));
    fill_in();
    run(other, s, 1);
    OK(cuMemcpyDtoH_v2(out, z, BYTES));
    for (uint32_t i = 0; i < N; i++)
        EXPECT(out[i] == (in[i] + 10) * 1000 + in[i] * 3);
    /* a clone keeps what the original had */
    CUgraph clone;
    CUgraphNode found = NULL;
    OK(cuGraphClone(&clone, g));
    OK(cuGraphNodeFindInClone(&found, first, clone));
    EXPECT(found && found != first);
    OK(cuGraphKernelNodeSetParams_v2(first, &k));
    OK(cuGraphDestroyNode(left));
    CUgraphExec of_clone = instantiate(clone);
    fill_in();
    run(of_clone, s, 1);
    check("clone", z, diamond);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphExecDestroy(other));
    OK(cuGraphExecDestroy(of_clone));
    OK(cuGraphDestroy(clone));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

static void
children(void)
{
    CUgraph inner, outer;
    CUgraphNode a, b, c;
    CUstream s = stream();
    fill_in();
    OK(cuGraphCreate(&inner, 0));
    a = add_mad(inner, NULL, 0, x, 2, 0);
    add_mad(inner, &a, 1, x, 1, 1);
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddChildGraphNode(&a, outer, NULL, 0, inner));
    OK(cuGraphDestroy(inner));
    CUgraph copy, clone;
    CUgraphExec e;
    OK(cuGraphChildGraphNodeGetGraph(a, &copy));
    b = add_mad(outer, &a, 1, x, 3, 0);
    /* The child is its node's (an H200's answers). */
    EXPECT_RESULT(cuGraphAddChildGraphNode(&c, outer, &b, 1, copy), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_RESULT(cuGraphInstantiateWithFlags(&e, copy, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_RESULT(cuGraphDestroy(copy), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphClone(&clone, copy));
    OK(cuGraphAddChildGraphNode(&c, outer, &b, 1, clone));
    OK(cuGraphDestroy(clone));
    e = instantiate(outer);
    run(e, s, 1);
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    for (uint32_t i = 0; i < N; i++)
        EXPECT(out[i] == twice1(twice1(in[i]) * 3));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(outer));
    OK(cuStreamDestroy_v2(s));
}

/* The whole executable graph takes over another graph's arguments. */
static CUgraph
step_graph(CUstream s, uint32_t m, uint32_t a)
{
    CUgraph g = NULL;
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(launch_mad(s, x, m, a));
    OK(cuMemsetD32Async(y, a, N, s));
    OK(cuStreamEndCapture(s, &g));
    return g;
}

static void
updates(void)
{
    CUstream s = stream();
    CUgraph g = step_graph(s, 2, 1), h = step_graph(s, 4, 9);
    CUgraphExec e = instantiate(g);
    CUgraphExecUpdateResultInfo info;
    fill_in();
    OK(cuGraphLaunch(e, s));
    OK(cuGraphExecUpdate_v2(e, h, &info));      /* later launches only */
    EXPECT(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphDestroy(h));
    OK(cuGraphLaunch(e, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    for (uint32_t i = 0; i < N; i++)
        EXPECT(out[i] == twice1(in[i]) * 4 + 9);
    OK(cuMemcpyDtoH_v2(out, y, BYTES));
    EXPECT(out[0] == 9 && out[N - 1] == 9);
    /* nodes keep their names in the updated graph */
    CUgraphNode n[2];
    size_t count = 2;
    struct args t;
    OK(cuGraphGetNodes(g, n, &count));
    CUDA_KERNEL_NODE_PARAMS k = node_params(mad, mad_args(&t, x, 1, 5));
    OK(cuGraphExecKernelNodeSetParams_v2(e, n[0], &k));
    fill_in();
    run(e, s, 1);
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    EXPECT(out[3] == in[3] + 5);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

/* ---- order between streams ------------------------------------------------------------------------------------------------------- */

static _Atomic int gate, calls;

static void
wait_gate(void *unused)
{
    atomic_fetch_add(&calls, 1);
    while (!atomic_load(&gate))
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void
streams(void)
{
    CUstream s = stream(), t = stream();
    CUgraph g;
    CUgraphNode h;
    CUDA_HOST_NODE_PARAMS p = { .fn = wait_gate };
    fill_in();
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddHostNode(&h, g, NULL, 0, &p));
    add_mad(g, &h, 1, x, 2, 1);
    CUgraphExec e = instantiate(g);
    atomic_store(&gate, 0);
    atomic_store(&calls, 0);
    OK(cuGraphLaunch(e, s));
    OK(cuGraphLaunch(e, t));            /* another stream, the same executable graph: after the first launch */
    while (!atomic_load(&calls))
        usleep(1000);
    usleep(50000);
    EXPECT(atomic_load(&calls) == 1);
    EXPECT_RESULT(cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    OK(cuGraphExecDestroy(e));          /* what was launched runs on */
    OK(cuGraphDestroy(g));
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(t));
    OK(cuStreamSynchronize(s));
    EXPECT(atomic_load(&calls) == 2);
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    for (uint32_t i = 0; i < N; i++)
        EXPECT(out[i] == twice1(twice1(in[i])));
    OK(cuStreamDestroy_v2(s));
    OK(cuStreamDestroy_v2(t));
}

/* Event nodes order a graph with other streams. */
static void
events(void)
{
    CUstream s = stream(), t = stream(), u = stream();
    CUevent before, after;
    CUgraph g;
    CUgraphNode w, k, r;
    fill_in();
    OK(cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddEventWaitNode(&w, g, NULL, 0, before));
    k = add_mad(g, &w, 1, x, 2, 1);
    OK(cuGraphAddEventRecordNode(&r, g, &k, 1, after));
    CUgraphExec e = instantiate(g);
    atomic_store(&gate, 0);
    OK(cuLaunchHostFunc(t, wait_gate, NULL));
    OK(launch_mad(t, x, 1, 100));
    OK(cuEventRecord(before, t));
    OK(cuGraphLaunch(e, s));
    OK(cuStreamWaitEvent(u, after, 0));
    OK(launch_mad(u, x, 3, 0));
    usleep(20000);
    EXPECT_RESULT(cuStreamQuery(u), CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(u));
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    for (uint32_t i = 0; i < N; i++)
        EXPECT(out[i] == twice1(in[i] + 100) * 3);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuEventDestroy_v2(before));
    OK(cuEventDestroy_v2(after));
    OK(cuStreamDestroy_v2(s));
    OK(cuStreamDestroy_v2(t));
    OK(cuStreamDestroy_v2(u));
}

/* The legacy stream waits for blocking streams' graphs and the other way round. */
static void
legacy(void)
{
    CUstream s;
    CUgraph g;
    fill_in();
    OK(cuStreamCreate(&s, 0));
    OK(cuGraphCreate(&g, 0));
    add_mad(g, NULL, 0, x, 2, 1);
    CUgraphExec e = instantiate(g);
    OK(launch_mad(NULL, x, 1, 100));
    OK(cuGraphLaunch(e, s));
    OK(launch_mad(NULL, x, 3, 0));
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    for (uint32_t i = 0; i < N; i++)
        EXPECT(out[i] == twice1(twice1(in[i] + 100) * 3));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------------ */

static void
memory(void)
{
    CUstream s = stream();
    CUgraph g;
    CUdeviceptr p = 0;
    fill_in();
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&p, BYTES, s));
    OK(cuMemcpyDtoDAsync_v2(p, x, BYTES, s));
    OK(launch_mad(s, p, 2, 1));
    OK(cuMemcpyDtoDAsync_v2(x, p, BYTES, s));
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamEndCapture(s, &g));
    CUgraphExec e = instantiate(g);
    run(e, s, 3);
    check("memory of a graph", x, three_times);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

/* A module that goes before the graph that uses it leaves an error, not a crash. */
static void
unloaded(void)
{
    CUmodule m;
    CUfunction f;
    CUgraph g;
    CUgraphNode n;
    CUstream s = stream();
    struct args t;
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&f, m, "mad"));
    CUDA_KERNEL_NODE_PARAMS k = node_params(f, mad_args(&t, x, 2, 1));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &k));
    CUgraphExec e = instantiate(g);
    OK(cuModuleUnload(m));
    fill_in();
    EXPECT_RESULT(cuGraphLaunch(e, s), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamSynchronize(s));
    check("not launched", x, same);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    /* handles that are gone or of another kind */
    EXPECT_RESULT(cuGraphLaunch(e, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuGraphDestroy((CUgraph)s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuGraphDestroyNode(n), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamDestroy_v2(s));
}

/* ---- what may not end, and what must not be taken for the same ------------------------------------------------------------------- */

/* Two graphs of five nodes: a chain that forks, beside a node alone; and two chains that start at one node. */
static void
topology(void)
{
    CUgraph a, b;
    CUgraphExecUpdateResultInfo info = { 0 };
    CUstream s = stream();
    fill_in();
    OK(cuGraphCreate(&a, 0));
    OK(cuGraphCreate(&b, 0));
    CUgraphNode first = add_mad(a, NULL, 0, x, 1, 1), fork = add_mad(a, &first, 1, x, 1, 10);
    add_mad(a, &fork, 1, y, 1, 100);
    add_mad(a, &fork, 1, z, 1, 1000);
    add_mad(a, NULL, 0, x + BYTES / 2, 1, 0);
    CUgraphNode root = add_mad(b, NULL, 0, x, 1, 2), left = add_mad(b, &root, 1, x, 1, 20), right = add_mad(b, &root, 1, y, 1, 200);
    add_mad(b, &left, 1, x, 1, 2000);
    add_mad(b, &right, 1, y, 1, 20000);
    CUgraphExec e = instantiate(a);
    EXPECT_RESULT(cuGraphExecUpdate_v2(e, b, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    CUgraphExec f = instantiate(b);
    EXPECT_RESULT(cuGraphExecUpdate_v2(f, a, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphExecUpdate_v2(e, a, &info));
    OK(cuGraphExecDestroy(f));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(a));
    OK(cuGraphDestroy(b));
    OK(cuStreamDestroy_v2(s));
}

static void
set_gone(void *gone)
{
    atomic_fetch_add((_Atomic int *)gone, 1);
}

/* A graph of an empty node whose user object counts in *gone. */
static CUgraph
with_user(_Atomic int *gone)
{
    CUgraph g;
    CUgraphNode n;
    CUuserObject o;
    atomic_store(gone, 0);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddEmptyNode(&n, g, NULL, 0));
    OK(cuUserObjectCreate(&o, (void *)gone, set_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    return g;
}

static bool
gone_soon(_Atomic int *gone)
{
    for (int i = 0; i < 5000 && !atomic_load(gone); i++)
        usleep(1000);
    return atomic_load(gone) == 1;
}

/* An executable graph has the user objects of the graph that it was last made from, and of graphs in it. */
static void
users(void)
{
    static _Atomic int gone[5];
    CUgraph a = with_user(&gone[0]), b = with_user(&gone[1]), c = with_user(&gone[2]), d = with_user(&gone[3]), outer;
    CUgraphNode n;
    CUgraphExecUpdateResultInfo info;
    CUstream s = stream();
    CUgraphExec e = instantiate(a);
    OK(cuGraphExecUpdate_v2(e, b, &info));
    OK(cuGraphDestroy(a));
    EXPECT(gone[0] == 1);
    OK(cuGraphDestroy(b));
    EXPECT(gone[1] == 0);
    OK(cuGraphExecDestroy(e));
    EXPECT(gone[1] == 1);
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddChildGraphNode(&n, outer, NULL, 0, c));
    OK(cuGraphDestroy(c));
    e = instantiate(outer);
    OK(cuGraphDestroy(outer));
    EXPECT(gone[2] == 0);
    OK(cuGraphExecChildGraphNodeSetParams(e, n, d));
    EXPECT(gone[2] == 1);
    OK(cuGraphDestroy(d));
    EXPECT(gone[3] == 0);
    /* neither the destruction nor an update waits for a launch, and the launch keeps what it has */
    atomic_store(&gate, 0);
    OK(cuLaunchHostFunc(s, wait_gate, NULL));
    OK(cuGraphLaunch(e, s));
    OK(cuGraphExecDestroy(e));
    CUgraph f = with_user(&gone[4]), g = with_user(&gone[0]);
    e = instantiate(f);
    OK(cuGraphDestroy(f));
    OK(cuGraphLaunch(e, s));
    OK(cuGraphExecUpdate_v2(e, g, &info));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    usleep(20000);
    EXPECT(gone[3] == 0 && gone[4] == 0);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(s));
    EXPECT(gone_soon(&gone[3]) && gone_soon(&gone[4]) && gone_soon(&gone[0]));
    OK(cuStreamDestroy_v2(s));
}

static void CUDA_CB
makes_calls(void *gone)
{
    CUdeviceptr p;
    EXPECT_RESULT(cuMemAlloc_v2(&p, 4), CUDA_ERROR_NOT_PERMITTED);      /* as in a host function */
    atomic_store((_Atomic int *)gone, 1);
}

/* "cuGraphRetainUserObject": a graph's counts of one object add up, past 32 bits too. */
static void
many_users(void)
{
    static _Atomic int gone;
    CUgraph g;
    CUuserObject o;
    OK(cuGraphCreate(&g, 0));
    OK(cuUserObjectCreate(&o, (void *)&gone, makes_calls, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    for (int i = 0; i < 2; i++)
        OK(cuGraphRetainUserObject(g, o, INT32_MAX, 0));
    OK(cuGraphRetainUserObject(g, o, 2, 0));
    OK(cuGraphReleaseUserObject(g, o, 1));
    OK(cuUserObjectRelease(o, 1));
    EXPECT(gone == 0);
    OK(cuGraphDestroy(g));
    EXPECT(gone == 1);
}

static CUgraphNode
add_alloc(CUgraph g, CUdeviceptr *p)
{
    CUgraphNode n = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS a = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                     .bytesize = BYTES };
    OK(cuGraphAddMemAllocNode(&n, g, NULL, 0, &a));
    *p = a.dptr;
    return n;
}

/* What a launch left allocated is the program's until it frees it (CUDA Programming Guide, "Graph Memory Nodes"). */
static void
memory_outlives(void)
{
    for (int how = 0; how < 3; how++) {
        CUstream s = stream();
        CUgraph g, h;
        CUgraphNode n;
        CUdeviceptr p;
        OK(cuGraphCreate(&g, 0));
        add_alloc(g, &p);
        CUgraphExec e = instantiate(g);
        OK(cuGraphLaunch(e, s));
        OK(cuMemcpyHtoDAsync_v2(p, in, BYTES, s));
        OK(cuStreamSynchronize(s));
        OK(cuGraphExecDestroy(e));
        OK(cuGraphDestroy(g));
        check("memory whose graph is gone", p, same);
        if (how == 0) {
            OK(cuMemFree_v2(p));
        } else if (how == 1) {
            OK(cuMemFreeAsync(p, s));
        } else {
            OK(cuGraphCreate(&h, 0));
            OK(cuGraphAddMemFreeNode(&n, h, NULL, 0, p));
            e = instantiate(h);
            OK(cuGraphLaunch(e, s));
            OK(cuGraphExecDestroy(e));
            OK(cuGraphDestroy(h));
        }
        EXPECT_RESULT(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
        OK(cuStreamDestroy_v2(s));
    }
    /* or until its context ends */
    CUcontext c;
    CUgraph g;
    CUdeviceptr p;
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuGraphCreate(&g, 0));
    add_alloc(g, &p);
    CUgraphExec e = instantiate(g);
    OK(cuGraphLaunch(e, NULL));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuCtxDestroy_v2(c));
    OK(cuCtxSetCurrent(ctx));
    EXPECT_RESULT(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
}

/* Destroying a graph with memory does not wait for what was launched. */
static void
memory_pending(void)
{
    CUstream s = stream();
    CUgraph g;
    CUgraphNode n;
    CUdeviceptr p;
    OK(cuGraphCreate(&g, 0));
    n = add_alloc(g, &p);
    OK(cuGraphAddMemFreeNode(&n, g, &n, 1, p));
    CUgraphExec e = instantiate(g);
    atomic_store(&gate, 0);
    OK(cuLaunchHostFunc(s, wait_gate, NULL));
    OK(cuGraphLaunch(e, s));
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    EXPECT_RESULT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy_v2(s));
}

/* An event that was recorded in a capture, and then by a launch, is one that was recorded ("cuEventRecord": the latest record counts). */
static void
recorded_again(void)
{
    CUstream s = stream();
    CUevent e;
    CUgraph g;
    CUgraphNode n;
    OK(cuEventCreate(&e, 0));
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(e, s));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphAddEventRecordNode(&n, g, NULL, 0, e));
    CUgraphExec x = instantiate(g);
    OK(cuGraphDestroy(g));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamWaitEvent(s, e, 0));
    OK(cuEventSynchronize(e));
    OK(cuEventQuery(e));
    OK(cuGraphExecDestroy(x));
    OK(cuEventDestroy_v2(e));
    OK(cuStreamDestroy_v2(s));
}

/* What a stream captures is for its context, whichever is current. */
static void
captured_elsewhere(void)
{
    CUcontext other;
    CUstream s = stream();
    CUdeviceptr p;
    CUgraph g;
    fill_in();
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAllocAsync(&p, BYTES, s));
    OK(cuMemcpyDtoDAsync_v2(p, x, BYTES, s));
    OK(launch_mad(s, p, 2, 1));
    OK(cuMemcpyDtoDAsync_v2(y, p, BYTES, s));
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamEndCapture(s, &g));
    CUgraphExec e = instantiate(g);
    OK(cuGraphDestroy(g));
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxSetCurrent(ctx));
    run(e, s, 1);
    check("captured while another context was current", y, twice1);
    OK(cuGraphExecDestroy(e));
    OK(cuStreamDestroy_v2(s));
}

/* Memory that a node needs and the program freed: nothing of the launch runs. */
static void
freed(void)
{
    CUdeviceptr p;
    CUgraph g;
    CUgraphNode n;
    CUstream s = stream();
    fill_in();
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuGraphCreate(&g, 0));
    CUgraphNode first = add_mad(g, NULL, 0, x, 2, 1);
    CUstreamBatchMemOpParams op = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = p, .value = 5 } };
    CUDA_BATCH_MEM_OP_NODE_PARAMS b = { ctx, 1, &op, 0 };
    OK(cuGraphAddBatchMemOpNode(&n, g, &first, 1, &b));
    CUgraphExec e = instantiate(g);
    OK(cuMemFree_v2(p));
    EXPECT_RESULT(cuGraphLaunch(e, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(s));
    check("not launched", x, same);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

/* Long chains and many branches: no recursion, nothing quadratic that hurts. */
static void
large(void)
{
    enum { LONG = 3000 };
    CUgraph g;
    CUstream s = stream();
    CUgraphNode last = NULL;
    OK(cuGraphCreate(&g, 0));
    uint32_t expect = in[0];
    fill_in();
    expect = in[0];
    CUgraphNode start = add_mad(g, NULL, 0, x, 1, 0);
    last = start;
    for (int i = 0; i < LONG; i++) {
        CUgraphNode deps[] = { last, start }, n;
        if (i % 100 == 0) {
            last = add_mad(g, &last, 1, x, 1, (uint32_t)i);
            expect += (uint32_t)i;
        } else {
            OK(cuGraphAddEmptyNode(&n, g, deps, last == start ? 1 : 2));
            last = n;
        }
    }
    CUgraphExec e = instantiate(g);
    run(e, s, 1);
    OK(cuMemcpyDtoH_v2(out, x, BYTES));
    EXPECT(out[0] == expect);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

static atomic_bool waited;

static void CUDA_CB
wait_a_while(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    atomic_store(&waited, true);
}

/* An array of one context, written by a graph in another: destroying it waits, or its memory would be somebody else's by then. */
static void
arrays(void)
{
    CUcontext other;
    CUarray a;
    CUgraph g;
    CUgraphNode host, copy;
    CUDA_ARRAY_DESCRIPTOR d = { .Width = N, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1 };
    CUDA_HOST_NODE_PARAMS wait = { .fn = wait_a_while };
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = x, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .WidthInBytes = BYTES, .Height = 1, .Depth = 1 };
    OK(cuCtxCreate_v2(&other, 0, 0));
    CUresult e = cuArrayCreate_v2(&a, &d);
    OK(cuCtxPopCurrent_v2(NULL));
    if (e != CUDA_ERROR_NOT_SUPPORTED) {
        OK(e);
        CUstream s = stream();
        c.dstArray = a;
        OK(cuGraphCreate(&g, 0));
        OK(cuGraphAddHostNode(&host, g, NULL, 0, &wait));
        OK(cuGraphAddMemcpyNode(&copy, g, &host, 1, &c, ctx));
        CUgraphExec exec = instantiate(g);
        OK(cuGraphDestroy(g));
        OK(cuGraphLaunch(exec, s));
        OK(cuGraphExecDestroy(exec));
        OK(cuArrayDestroy(a));
        EXPECT(atomic_load(&waited));
        OK(cuStreamDestroy_v2(s));
    }
    OK(cuCtxDestroy_v2(other));
}

int
main(void)
{
    ctx = make_context();
    OK(cuModuleLoadData(&mod, ptx));
    OK(cuModuleGetFunction(&mad, mod, "mad"));
    OK(cuModuleGetFunction(&mix, mod, "mix"));
    OK(cuMemAlloc_v2(&x, BYTES));
    OK(cuMemAlloc_v2(&y, BYTES));
    OK(cuMemAlloc_v2(&z, BYTES));
    if (failures)
        return 1;
    static const struct graph_case tests[] = {
        { "linear", linear }, { "fork_join", fork_join }, { "threads", threads }, { "by_hand", by_hand }, { "children", children },
        { "updates", updates }, { "streams", streams }, { "events", events }, { "legacy", legacy }, { "memory", memory },
        { "unloaded", unloaded }, { "topology", topology }, { "users", users }, { "many_users", many_users },
        { "memory_outlives", memory_outlives }, { "memory_pending", memory_pending },
        { "recorded_again", recorded_again }, { "captured_elsewhere", captured_elsewhere }, { "freed", freed }, { "arrays", arrays }, { "large", large },
    };
    run_cases(tests, sizeof tests / sizeof *tests);
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
