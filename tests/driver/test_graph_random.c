/* SPDX-License-Identifier: Apache-2.0
 * Random calls on graphs, captures and executable graphs, right and wrong ones, many with handles that are gone. After each round the
 * graphs must be sound: both ends of every edge know it, and what can be instantiated is what has no cycle. Sanitizers see the rest.
 * Usage: test_graph_random [seed [rounds]] */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>

enum { STREAMS = 4, GRAPHS = 8, NODES = 64, EXECS = 6, CALLS = 400 };

static uint64_t state;
static CUcontext ctx;
static CUfunction kernel;
static CUstream s[STREAMS];
static CUevent e[STREAMS];
static CUgraph g[GRAPHS];
static CUgraphNode n[NODES];
static CUgraphExec x[EXECS];
static CUuserObject user;
static CUdeviceptr mem, own;
static unsigned long good;

static unsigned
below(unsigned limit)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % limit;
}

static void
nothing(void *unused)
{
}

/* Streams that nothing orders fill and copy the same memory. That is a race, of this program, and the thread sanitizer is right to
 * say so: it sees nodes that touch no memory. */
#ifdef __SANITIZE_THREAD__
enum { TOUCHES_MEMORY = 0 };
#else
enum { TOUCHES_MEMORY = 1 };
#endif

static CUresult
add_node(CUgraphNode *out, CUgraph to, const CUgraphNode *deps, size_t count)
{
    void *args[] = { &mem };
    CUDA_KERNEL_NODE_PARAMS k = { .func = kernel, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
                                  .kernelParams = args };
    CUDA_MEMSET_NODE_PARAMS f = { .dst = mem, .elementSize = 4, .width = 16, .height = 1 };
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = mem, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = mem + 1024,
                        .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    CUDA_HOST_NODE_PARAMS h = { .fn = nothing };
    CUDA_MEM_ALLOC_NODE_PARAMS a = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                     .bytesize = 512 };
    CUresult r;
    switch (below(11)) {
    case 0:
    case 1: return cuGraphAddKernelNode_v2(out, to, deps, count, &k);
    case 2: return TOUCHES_MEMORY ? cuGraphAddMemsetNode(out, to, deps, count, &f, ctx) : cuGraphAddEmptyNode(out, to, deps, count);
    case 3: return TOUCHES_MEMORY ? cuGraphAddMemcpyNode(out, to, deps, count, &c, ctx) : cuGraphAddEmptyNode(out, to, deps, count);
    case 4: return cuGraphAddHostNode(out, to, deps, count, &h);
    case 5: return cuGraphAddEmptyNode(out, to, deps, count);
    case 6: return cuGraphAddChildGraphNode(out, to, deps, count, g[below(GRAPHS)]);
    case 7: return cuGraphAddEventRecordNode(out, to, deps, count, e[below(STREAMS)]);
    case 8: return cuGraphAddEventWaitNode(out, to, deps, count, e[below(STREAMS)]);
    case 9: return cuGraphAddMemFreeNode(out, to, deps, count, own);
    default:
        r = cuGraphAddMemAllocNode(out, to, deps, count, &a);
        own = a.dptr;
        return r;
    }
}

/* An operation of a stream, which may be capturing. */
static CUresult
stream_call(CUstream at)
{
    void *args[] = { &mem };
    CUstreamCaptureStatus status;
    switch (below(8)) {
    case 0:
    case 1:  return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, at, args, NULL);
    case 2:  return TOUCHES_MEMORY ? cuMemsetD32Async(mem, 1, 4, at) : cuStreamIsCapturing(at, &status);
    case 3:  return cuEventRecord(e[below(STREAMS)], at);
    case 4:  return cuStreamWaitEvent(at, e[below(STREAMS)], 0);
    case 5:  return cuMemAllocAsync(&own, 256, at);
    case 6:  return cuMemFreeAsync(own, at);
    default: return cuGraphLaunch(x[below(EXECS)], at);
    }
}

static CUresult
change(CUgraph to, CUgraphNode *deps, size_t count)
{
    unsigned i = below(STREAMS), k = below(GRAPHS), m = below(EXECS);
    CUgraph new = NULL;
    CUgraphExec made = NULL;
    CUgraphExecUpdateResultInfo info;
    CUresult r;
    switch (below(16)) {
    case 0: return cuGraphAddDependencies(to, deps, deps + 1, 1 + below(2));
    case 1: return cuGraphRemoveDependencies(to, deps, deps + 1, 1);
    case 2: return cuGraphDestroyNode(deps[0]);
    case 3:
        r = cuGraphClone(&new, to);
        if (r == CUDA_SUCCESS && cuGraphDestroy(g[k]) == CUDA_SUCCESS)
            g[k] = new;
        else if (r == CUDA_SUCCESS)
            (void)cuGraphDestroy(new);
        return r;
    case 4:
    case 5:
        r = cuGraphInstantiateWithFlags(&made, to, below(2));
        if (r == CUDA_SUCCESS) {
            (void)cuGraphExecDestroy(x[m]);
            x[m] = made;
        }
        return r;
    case 6: return cuGraphExecUpdate_v2(x[m], to, &info);
    case 7: return cuGraphExecDestroy(x[m]);
    case 8: return cuStreamBeginCapture_v2(s[i], (CUstreamCaptureMode)below(3));
    case 9: return cuStreamBeginCaptureToGraph(s[i], to, deps, NULL, count, (CUstreamCaptureMode)below(3));
    case 10:
    case 11:
        r = cuStreamEndCapture(s[i], &new);
        if (r == CUDA_SUCCESS && new != g[k]) {
            bool mine = false;          /* captured to one of ours */
            for (unsigned j = 0; j < GRAPHS; j++)
                mine |= g[j] == new;
            if (!mine && cuGraphDestroy(g[k]) == CUDA_SUCCESS)
                g[k] = new;
            else if (!mine)
                (void)cuGraphDestroy(new);
        }
        return r;
    case 12: return cuStreamUpdateCaptureDependencies(s[i], deps, count, below(2));
    case 13: return below(2) ? cuGraphRetainUserObject(to, user, 1, 0) : cuGraphReleaseUserObject(to, user, 1);
    case 14:
        r = cuStreamDestroy_v2(s[i]);
        OK(cuStreamCreate(&s[i], below(2)));
        return r;
    default:
        if (below(2))
            return cuGraphDebugDotPrint(to, "/dev/null", below(65536));
        r = cuEventDestroy_v2(e[i]);
        if (below(2))
            OK(cuEventCreate(&e[i], 0));
        return r;
    }
}

/* Depth first; more than 2 at a node that is being visited: a cycle. */
static bool
acyclic(CUgraph of, size_t nodes, size_t edges, const CUgraphNode *list, const CUgraphNode *from, const CUgraphNode *to)
{
    size_t removed = 0;
    bool gone[512] = { false }, more = true;
    while (more) {                      /* take away whatever nothing leads to */
        more = false;
        for (size_t i = 0; i < nodes; i++) {
            bool free_of = !gone[i];
            for (size_t k = 0; free_of && k < edges; k++)
                if (to[k] == list[i])
                    for (size_t j = 0; j < nodes; j++)
                        free_of &= list[j] != from[k] || gone[j];
            if (free_of) {
                gone[i] = more = true;
                removed++;
            }
        }
    }
    return removed == nodes;
}

static void
check(CUgraph of)
{
    static CUgraphNode list[512], from[4096], to[4096];
    size_t nodes = 512, edges = 4096, in = 0, out = 0;
    bool plain = true;
    OK(cuGraphGetNodes(of, list, &nodes));
    OK(cuGraphGetEdges(of, from, to, &edges));
    for (size_t i = 0; i < nodes; i++) {
        size_t a = 0, b = 0;
        CUgraphNodeType t;
        OK(cuGraphNodeGetDependencies(list[i], NULL, &a));
        OK(cuGraphNodeGetDependentNodes(list[i], NULL, &b));
        OK(cuGraphNodeGetType(list[i], &t));
        plain &= t != CU_GRAPH_NODE_TYPE_GRAPH && t != CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        in += a;
        out += b;
    }
    EXPECT(in == edges && out == edges);
    CUgraphExec made = NULL;
    if (!plain || nodes == 512 || edges == 4096)
        return;
    EXPECT_RESULT(cuGraphInstantiateWithFlags(&made, of, 0), acyclic(of, nodes, edges, list, from, to) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (made)
        OK(cuGraphExecDestroy(made));
}

static void
end_captures(void)
{
    CUgraph new = NULL;
    for (unsigned i = 0; i < STREAMS; i++)
        if (cuStreamEndCapture(s[i], &new) == CUDA_SUCCESS) {
            bool mine = false;
            for (unsigned j = 0; j < GRAPHS; j++)
                mine |= g[j] == new;
            if (!mine)
                (void)cuGraphDestroy(new);
        }
}

static void
run_round(void)
{
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n";
    CUmodule m;
    ctx = make_context();
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&kernel, m, "k"));
    OK(cuMemAlloc_v2(&mem, 4096));
    OK(cuUserObjectCreate(&user, NULL, nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    for (unsigned i = 0; i < STREAMS; i++) {
        OK(cuStreamCreate(&s[i], below(2)));
        OK(cuEventCreate(&e[i], 0));
    }
    for (unsigned i = 0; i < GRAPHS; i++)
        OK(cuGraphCreate(&g[i], 0));
    for (unsigned i = 0; i < CALLS; i++) {
        CUgraph to = g[below(GRAPHS)];
        CUgraphNode deps[3] = { n[below(NODES)], n[below(NODES)], n[below(NODES)] }, list[NODES];
        size_t count = NODES, ndeps = below(4);
        if (below(3) && cuGraphGetNodes(to, list, &count) == CUDA_SUCCESS && count) {
            for (unsigned k = 0; k < 3; k++)
                deps[k] = list[below((unsigned)count)];
            ndeps = below(2);
        }
        unsigned what = below(4);
        CUresult r = what == 0 ? add_node(&n[below(NODES)], to, deps, ndeps) : what == 1 ? stream_call(s[below(STREAMS)]) : change(to, deps, ndeps);
        good += r == CUDA_SUCCESS;
    }
    end_captures();
    for (unsigned i = 0; i < GRAPHS; i++)
        check(g[i]);
    bool first = below(2);
    if (first)                          /* graphs may outlive the context */
        OK(cuCtxDestroy_v2(ctx));
    for (unsigned i = 0; i < EXECS; i++)
        (void)cuGraphExecDestroy(x[i]);
    for (unsigned i = 0; i < GRAPHS; i++)
        OK(cuGraphDestroy(g[i]));
    OK(cuUserObjectRelease(user, 1));
    if (!first)
        OK(cuCtxDestroy_v2(ctx));
}

int
main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
    for (unsigned i = 0; i < rounds; i++)
        run_round();
    EXPECT(good > rounds * (CALLS / 10));       /* most calls must not be refused, or nothing is tried */
    return failures != 0;
}
