/* SPDX-License-Identifier: Apache-2.0
 * Graphs built by hand: nodes, edges, parameters and their changes, updates, clones, memory. */
#include "tests/driver/graph_facts.h"

#include <stdlib.h>
#include <string.h>

static CUDA_KERNEL_NODE_PARAMS
kernel_params(CUfunction f, void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
                                      .kernelParams = args };
}

void
explicit_graphs(void)
{
    setup();
    uint32_t n16 = 16, m2 = 2, a1 = 1;
    void *args[] = { &mem, &n16, &m2, &a1 };
    CUgraph g, g2;
    CUgraphNode a, b, c, d, x;
    CUDA_KERNEL_NODE_PARAMS k = kernel_params(mad, args);
    fact("create flags: %d", (int)cuGraphCreate(&g, 1));
    fact("create null: %d", (int)cuGraphCreate(NULL, 0));
    fact("create: %d", (int)cuGraphCreate(&g, 0));
    MUST(cuGraphCreate(&g2, 0));
    fact("destroy null: %d", (int)cuGraphDestroy(NULL));
    fact("kernel: %d", (int)cuGraphAddKernelNode_v2(&a, g, NULL, 0, &k));
    fact("kernel null node: %d", (int)cuGraphAddKernelNode_v2(NULL, g, NULL, 0, &k));
    fact("kernel null graph: %d", (int)cuGraphAddKernelNode_v2(&x, NULL, NULL, 0, &k));
    fact("kernel null params: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, NULL));
    fact("kernel null list: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 1, &k));
    k.func = NULL;
    fact("kernel null func: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, args), k.gridDimX = 0;
    fact("kernel grid 0: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, args), k.blockDimX = 2048;
    fact("kernel block 2048: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, NULL);
    fact("kernel no arguments: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    k = kernel_params(mad, args), k.sharedMemBytes = 1 << 20;
    fact("kernel shared 1 MiB: %d", (int)cuGraphAddKernelNode_v2(&x, g, NULL, 0, &k));
    shape("one", g);
    fact("empty: %d", (int)cuGraphAddEmptyNode(&b, g, &a, 1));
    fact("empty null graph: %d", (int)cuGraphAddEmptyNode(&x, NULL, NULL, 0));
    CUgraphNode twice[] = { a, a };
    fact("same dependency twice: %d", (int)cuGraphAddEmptyNode(&x, g, twice, 2));
    CUgraphNode bad[] = { NULL };
    fact("null dependency: %d", (int)cuGraphAddEmptyNode(&x, g, bad, 1));
    fact("foreign dependency: %d", (int)cuGraphAddEmptyNode(&x, g2, &a, 1));
    shape("two", g);
    CUDA_MEMSET_NODE_PARAMS s = { .dst = mem, .elementSize = 4, .width = 4, .height = 1, .value = 5 };
    fact("memset: %d", (int)cuGraphAddMemsetNode(&c, g, &b, 1, &s, ctx));
    set_params("memset", c);
    fact("memset null ctx: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, NULL));
    s.elementSize = 3;
    fact("memset size 3: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.elementSize = 4, s.width = 0;
    fact("memset width 0: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.width = 4, s.height = 0;
    fact("memset height 0: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.height = 3, s.pitch = 8;
    fact("memset small pitch: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.height = 1, s.pitch = 0, s.width = 4096;
    fact("memset beyond: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.width = 4, s.dst = mem + 1;
    fact("memset misaligned: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.dst = 0;
    fact("memset null: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    s.dst = (CUdeviceptr)(uintptr_t)pageable;
    fact("memset pageable: %d", (int)cuGraphAddMemsetNode(&x, g, NULL, 0, &s, ctx));
    CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pageable, .srcPitch = 64, .srcHeight = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = mem, .dstPitch = 64, .dstHeight = 1, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    fact("memcpy: %d", (int)cuGraphAddMemcpyNode(&d, g, NULL, 0, &m, ctx));
    copy_params("memcpy", d);
    m.srcPitch = m.srcHeight = m.dstPitch = m.dstHeight = 0;
    fact("memcpy pitch 0: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    copy_params("memcpy pitch 0", x);
    fact("memcpy null ctx: %d", (int)cuGraphAddMemcpyNode(&x, g, NULL, 0, &m, NULL));
    m.WidthInBytes = 0;
    fact("memcpy width 0: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    m.WidthInBytes = (size_t)1 << 40;
    fact("memcpy beyond: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    m.WidthInBytes = 64, m.dstDevice = 64;
    fact("memcpy bad address: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    m.dstMemoryType = 9;
    fact("memcpy bad type: %d", (int)cuGraphAddMemcpyNode(&x, g2, NULL, 0, &m, ctx));
    CUDA_HOST_NODE_PARAMS h = { .fn = nothing };
    fact("host: %d", (int)cuGraphAddHostNode(&x, g2, NULL, 0, &h));
    h.fn = NULL;
    fact("host null: %d", (int)cuGraphAddHostNode(&x, g2, NULL, 0, &h));
    CUevent e = event();
    fact("record: %d", (int)cuGraphAddEventRecordNode(&x, g2, NULL, 0, e));
    fact("record null: %d", (int)cuGraphAddEventRecordNode(&x, g2, NULL, 0, NULL));
    fact("wait: %d", (int)cuGraphAddEventWaitNode(&x, g2, NULL, 0, e));
    fact("child: %d", (int)cuGraphAddChildGraphNode(&x, g, NULL, 0, g2));
    CUgraph inner = NULL;
    CUresult r = cuGraphChildGraphNodeGetGraph(x, &inner);
    fact("child's graph: %d, %d", (int)r, inner && inner != g2);
    fact("child null: %d", (int)cuGraphAddChildGraphNode(&x, g, NULL, 0, NULL));
    shape("all", g);
    /* edges */
    fact("add edge: %d", (int)cuGraphAddDependencies(g, &b, &d, 1));
    fact("add it again: %d", (int)cuGraphAddDependencies(g, &b, &d, 1));
    fact("to itself: %d", (int)cuGraphAddDependencies(g, &b, &b, 1));
    fact("null from: %d", (int)cuGraphAddDependencies(g, NULL, &b, 1));
    fact("none: %d", (int)cuGraphAddDependencies(g, NULL, NULL, 0));
    fact("remove edge: %d", (int)cuGraphRemoveDependencies(g, &b, &d, 1));
    fact("remove it again: %d", (int)cuGraphRemoveDependencies(g, &b, &d, 1));
    CUgraphNode from[] = { c, b }, to[] = { d, b };
    fact("second of two is bad: %d", (int)cuGraphAddDependencies(g, from, to, 2));
    shape("edges", g);
    /* looking */
    CUgraphNode list[8];
    size_t count = 2;
    memset(list, 0x11, sizeof list);
    r = cuGraphGetNodes(g, list, &count);
    fact("two of the nodes: %d %zu", (int)r, count);
    count = 8;
    memset(list, 0x11, sizeof list);
    r = cuGraphGetNodes(g, list, &count);
    fact("eight of the nodes: %d %zu, rest null %d", (int)r, count, list[7] == NULL);
    count = 0;
    fact("roots: %d", (int)cuGraphGetRootNodes(g, NULL, &count));
    fact("roots count: %zu", count);
    fact("nodes null count: %d", (int)cuGraphGetNodes(g, list, NULL));
    count = 8;
    r = cuGraphNodeGetDependencies(c, list, &count);
    fact("dependencies: %d %zu %d", (int)r, count, count && list[0] == b);
    count = 8;
    r = cuGraphNodeGetDependentNodes(a, list, &count);
    fact("dependents: %d %zu %d", (int)r, count, count && list[0] == b);
    CUgraphNode f8[8];
    count = 8;
    memset(list, 0x11, sizeof list);
    r = cuGraphGetEdges(g, f8, list, &count);
    fact("edges: %d %zu, rest null %d", (int)r, count, list[7] == NULL);
    count = 8;
    fact("edges null to: %d", (int)cuGraphGetEdges(g, f8, NULL, &count));
    CUgraphNodeType t;
    fact("type null: %d", (int)cuGraphNodeGetType(NULL, &t));
    fact("type to null: %d", (int)cuGraphNodeGetType(a, NULL));
    /* a cycle */
    CUgraph g3;
    CUgraphNode p, q;
    CUgraphExec exec = NULL;
    MUST(cuGraphCreate(&g3, 0));
    MUST(cuGraphAddEmptyNode(&p, g3, NULL, 0));
    MUST(cuGraphAddEmptyNode(&q, g3, &p, 1));
    fact("cycle: %d", (int)cuGraphAddDependencies(g3, &q, &p, 1));
    fact("instantiate it: %d", (int)cuGraphInstantiateWithFlags(&exec, g3, 0));
    CUDA_GRAPH_INSTANTIATE_PARAMS ip = { 0 };
    fact("instantiate it with params: %d", (int)cuGraphInstantiateWithParams(&exec, g3, &ip));
    fact("result %d node %d", (int)ip.result_out, ip.hErrNode_out != NULL);
    /* destroying */
    fact("destroy node: %d", (int)cuGraphDestroyNode(b));
    shape("without it", g);
    fact("destroy node null: %d", (int)cuGraphDestroyNode(NULL));
    fact("destroy: %d", (int)cuGraphDestroy(g));
}

/* Changing parameters in graphs. */
void
node_params(void)
{
    setup();
    uint32_t n16 = 16, m2 = 2, a1 = 1;
    void *args[] = { &mem, &n16, &m2, &a1 }, *zargs[] = { &mem };
    CUgraph g, g2;
    CUgraphNode k, c, s, h, e, w, y, ch;
    CUDA_KERNEL_NODE_PARAMS kp = kernel_params(mad, args);
    CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pinned, .srcPitch = 64, .srcHeight = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = mem, .dstPitch = 64, .dstHeight = 1, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    CUDA_MEMSET_NODE_PARAMS f = { .dst = mem, .elementSize = 4, .width = 4, .height = 1, .value = 5 };
    CUDA_HOST_NODE_PARAMS hp = { .fn = nothing };
    CUevent ev = event(), ev2 = event();
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphCreate(&g2, 0));
    MUST(cuGraphAddEmptyNode(&y, g2, NULL, 0));
    MUST(cuGraphAddKernelNode_v2(&k, g, NULL, 0, &kp));
    MUST(cuGraphAddMemcpyNode(&c, g, &k, 1, &m, ctx));
    MUST(cuGraphAddMemsetNode(&s, g, &c, 1, &f, ctx));
    MUST(cuGraphAddHostNode(&h, g, &s, 1, &hp));
    MUST(cuGraphAddEventRecordNode(&e, g, &h, 1, ev));
    MUST(cuGraphAddEventWaitNode(&w, g, &e, 1, ev));
    MUST(cuGraphAddChildGraphNode(&ch, g, &w, 1, g2));
    CUgraphExec x, none = NULL;
    fact("instantiate: %d", (int)cuGraphInstantiateWithFlags(&x, g, 0));
    fact("instantiate bad flags: %d", (int)cuGraphInstantiateWithFlags(&none, g, 0x100));
    fact("instantiate null: %d", (int)cuGraphInstantiateWithFlags(NULL, g, 0));
    fact("instantiate null graph: %d", (int)cuGraphInstantiateWithFlags(&none, NULL, 0));
    CUDA_GRAPH_INSTANTIATE_PARAMS ip = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
    fact("instantiate with params: %d", (int)cuGraphInstantiateWithParams(&none, g, &ip));
    fact("result %d node %d", (int)ip.result_out, ip.hErrNode_out != NULL);
    cuuint64_t flags = 99;
    fact("flags: %d", (int)cuGraphExecGetFlags(none, &flags));
    fact("flags are %d", (int)flags);
    fact("upload with flags only: %d", (int)cuGraphInstantiateWithFlags(&none, g, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD));
    CUgraphNode err;
    char log[64];
    fact("instantiate_v2: %d", (int)cuGraphInstantiate_v2(&none, g, &err, log, sizeof log));
    /* set in the graph */
    kp.gridDimX = 3;
    fact("set kernel: %d", (int)cuGraphKernelNodeSetParams_v2(k, &kp));
    kp = kernel_params(zero, zargs);
    fact("set other kernel: %d", (int)cuGraphKernelNodeSetParams_v2(k, &kp));
    kp.gridDimX = 0;
    fact("set kernel grid 0: %d", (int)cuGraphKernelNodeSetParams_v2(k, &kp));
    fact("set kernel of a copy: %d", (int)cuGraphKernelNodeSetParams_v2(c, &kp));
    fact("set kernel null: %d", (int)cuGraphKernelNodeSetParams_v2(k, NULL));
    CUDA_MEMCPY3D d2h = { .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned, .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = mem, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    fact("set copy: %d", (int)cuGraphMemcpyNodeSetParams(c, &d2h));
    d2h.WidthInBytes = 0;
    fact("set copy of nothing: %d", (int)cuGraphMemcpyNodeSetParams(c, &d2h));
    f.value = 6, f.height = 2, f.pitch = 64;
    fact("set fill: %d", (int)cuGraphMemsetNodeSetParams(s, &f));
    hp.fn = NULL;
    fact("set host null: %d", (int)cuGraphHostNodeSetParams(h, &hp));
    fact("set event: %d", (int)cuGraphEventRecordNodeSetEvent(e, ev2));
    fact("set wait: %d", (int)cuGraphEventWaitNodeSetEvent(e, ev2));
    /* set in the executable one */
    kp = kernel_params(mad, args), kp.gridDimX = 4;
    fact("exec kernel: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, k, &kp));
    kp = kernel_params(zero, zargs);
    fact("exec other kernel: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, k, &kp));
    kp.gridDimX = 0;
    fact("exec kernel grid 0: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, k, &kp));
    kp.gridDimX = 1;
    fact("exec kernel of a copy: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, c, &kp));
    fact("exec kernel foreign: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, y, &kp));
    fact("exec kernel null node: %d", (int)cuGraphExecKernelNodeSetParams_v2(x, NULL, &kp));
    m.srcHost = pageable;
    fact("exec copy pinned to pageable: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &m, ctx));
    m.WidthInBytes = 32;
    fact("exec copy smaller: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &m, ctx));
    d2h.WidthInBytes = 64;
    fact("exec copy other way: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &d2h, ctx));
    CUDA_MEMCPY3D d2d = { .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = mem2, .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = mem, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
    fact("exec copy inside: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &d2d, ctx));
    CUDA_MEMCPY3D two = m;
    two.srcPitch = 64, two.dstPitch = 64, two.srcHeight = two.dstHeight = 2, two.Height = 2;
    fact("exec copy 2D: %d", (int)cuGraphExecMemcpyNodeSetParams(x, c, &two, ctx));
    f = (CUDA_MEMSET_NODE_PARAMS){ .dst = mem2, .elementSize = 4, .width = 8, .height = 1, .value = 7 };
    fact("exec fill: %d", (int)cuGraphExecMemsetNodeSetParams(x, s, &f, ctx));
    f.elementSize = 1;
    fact("exec fill bytes: %d", (int)cuGraphExecMemsetNodeSetParams(x, s, &f, ctx));
    f.elementSize = 4, f.height = 2, f.pitch = 64;
    fact("exec fill 2D: %d", (int)cuGraphExecMemsetNodeSetParams(x, s, &f, ctx));
    hp.fn = nothing;
    fact("exec host: %d", (int)cuGraphExecHostNodeSetParams(x, h, &hp));
    hp.fn = NULL;
    fact("exec host null: %d", (int)cuGraphExecHostNodeSetParams(x, h, &hp));
    fact("exec event: %d", (int)cuGraphExecEventRecordNodeSetEvent(x, e, ev2));
    fact("exec event of wait: %d", (int)cuGraphExecEventRecordNodeSetEvent(x, w, ev2));
    fact("exec wait: %d", (int)cuGraphExecEventWaitNodeSetEvent(x, w, ev2));
    fact("exec child: %d", (int)cuGraphExecChildGraphNodeSetParams(x, ch, g2));
    CUgraph g3;
    MUST(cuGraphCreate(&g3, 0));
    fact("exec child empty: %d", (int)cuGraphExecChildGraphNodeSetParams(x, ch, g3));
    unsigned on = 99;
    fact("enabled: %d", (int)cuGraphNodeGetEnabled(x, k, &on));
    fact("enabled is %u", on);
    fact("disable: %d", (int)cuGraphNodeSetEnabled(x, k, 0));
    fact("enabled: %d", (int)cuGraphNodeGetEnabled(x, k, &on));
    fact("enabled is %u", on);
    fact("disable copy: %d", (int)cuGraphNodeSetEnabled(x, c, 0));
    fact("disable fill: %d", (int)cuGraphNodeSetEnabled(x, s, 0));
    fact("disable host: %d", (int)cuGraphNodeSetEnabled(x, h, 0));
    fact("disable child: %d", (int)cuGraphNodeSetEnabled(x, ch, 0));
    fact("get enabled of host: %d", (int)cuGraphNodeGetEnabled(x, h, &on));
    /* a node that was destroyed in the graph is gone for the executable */
    CUstream st = stream(0);
    fact("launch: %d", (int)cuGraphLaunch(x, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    fact("launch null: %d", (int)cuGraphLaunch(NULL, st));
    fact("launch legacy: %d", (int)cuGraphLaunch(x, NULL));
    fact("upload: %d", (int)cuGraphUpload(x, st));
    fact("upload null: %d", (int)cuGraphUpload(NULL, st));
    fact("sync: %d", (int)cuCtxSynchronize());
    fact("destroy exec: %d", (int)cuGraphExecDestroy(x));
    fact("destroy exec null: %d", (int)cuGraphExecDestroy(NULL));
    /* attributes of a kernel node */
    CUkernelNodeAttrValue v;
    memset(&v, 0x55, sizeof v);
    fact("attribute cooperative: %d", (int)cuGraphKernelNodeGetAttribute(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    fact("is %d", v.cooperative);
    v.cooperative = 1;
    fact("set: %d", (int)cuGraphKernelNodeSetAttribute(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
    v.cooperative = 0;
    (void)cuGraphKernelNodeGetAttribute(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
    fact("is %d", v.cooperative);
    memset(&v, 0x55, sizeof v);
    fact("attribute priority: %d", (int)cuGraphKernelNodeGetAttribute(k, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    fact("is %d", v.priority);
    fact("attribute of a copy: %d", (int)cuGraphKernelNodeGetAttribute(c, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    fact("attribute 99: %d", (int)cuGraphKernelNodeGetAttribute(k, 99, &v));
}

/* cuGraphExecUpdate. */
static CUgraph
update_graph(int what)
{
    uint32_t n16 = 16, m2 = 2, a1 = what == 1 ? 7 : 1;
    void *args[] = { &mem, &n16, &m2, &a1 }, *zargs[] = { &mem };
    CUgraph g;
    CUgraphNode a, b, c;
    CUDA_KERNEL_NODE_PARAMS k = kernel_params(mad, args), z = kernel_params(zero, zargs);
    CUDA_MEMSET_NODE_PARAMS f = { .dst = what == 2 ? mem2 : mem, .elementSize = what == 9 ? 1 : 4, .width = 4, .height = what == 10 ? 2 : 1, .value = 5,
                                  .pitch = what == 10 ? 64 : 0 };
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddKernelNode_v2(&a, g, NULL, 0, what == 3 ? &z : &k));
    if (what == 4)
        MUST(cuGraphAddEmptyNode(&b, g, &a, 1));
    else
        MUST(cuGraphAddMemsetNode(&b, g, what == 5 ? NULL : &a, what == 5 ? 0 : 1, &f, ctx));
    MUST(cuGraphAddKernelNode_v2(&c, g, &b, 1, &k));
    if (what == 6)
        MUST(cuGraphAddEmptyNode(&b, g, &c, 1));
    if (what == 7)
        MUST(cuGraphAddDependencies(g, &a, &c, 1));
    if (what == 8)
        MUST(cuGraphDestroyNode(c));
    return g;
}

void
updates(void)
{
    setup();
    CUgraph g = update_graph(0);
    CUgraphExec x;
    MUST(cuGraphInstantiateWithFlags(&x, g, 0));
    static const char *const names[] = { "same", "argument", "fill elsewhere", "other kernel", "other type", "edge less", "node more", "edge more", "node less",
                                         "fill bytes", "fill 2D" };
    for (int i = 0; i < (int)COUNT(names); i++) {
        CUgraph h = update_graph(i);
        CUgraphExecUpdateResultInfo info;
        memset(&info, 0, sizeof info);
        CUresult r = cuGraphExecUpdate_v2(x, h, &info);
        fact("update %s: %d result %d node %d from %d", names[i], (int)r, (int)info.result, info.errorNode ? place(h, info.errorNode) : -9,
             info.errorFromNode ? place(h, info.errorFromNode) : -9);
        CUgraphNode n = NULL;
        CUgraphExecUpdateResult res = 99;
        r = cuGraphExecUpdate(x, h, &n, &res);
        fact("update v1 %s: %d", names[i], (int)r);
    }
    CUgraphExecUpdateResultInfo info;
    fact("update null graph: %d", (int)cuGraphExecUpdate_v2(x, NULL, &info));
    fact("update null info: %d", (int)cuGraphExecUpdate_v2(x, g, NULL));
}

/* Clones, children, user objects, picture, memory. */
static int destroyed;
static void destroy_fn(void *p) { destroyed++; }

void
others(void)
{
    setup();
    CUgraph g = update_graph(0), c, d;
    CUgraphNode n[8], m = NULL;
    size_t count = 8;
    MUST(cuGraphGetNodes(g, n, &count));
    fact("clone: %d", (int)cuGraphClone(&c, g));
    shape("clone", c);
    fact("clone null: %d", (int)cuGraphClone(NULL, g));
    fact("clone of null: %d", (int)cuGraphClone(&d, NULL));
    CUresult r = cuGraphNodeFindInClone(&m, n[1], c);
    fact("find: %d %d", (int)r, place(c, m));
    MUST(cuGraphClone(&d, c));
    m = NULL;
    r = cuGraphNodeFindInClone(&m, n[1], d);
    fact("find in clone of clone: %d %d", (int)r, m ? place(d, m) : -9);
    fact("find in itself: %d", (int)cuGraphNodeFindInClone(&m, n[1], g));
    MUST(cuGraphNodeFindInClone(&m, n[1], c));
    fact("destroy found: %d", (int)cuGraphDestroyNode(m));
    fact("find destroyed: %d", (int)cuGraphNodeFindInClone(&m, n[1], c));
    /* child graphs are copies */
    CUgraph parent, inner;
    CUgraphNode child, extra;
    MUST(cuGraphCreate(&parent, 0));
    MUST(cuGraphAddChildGraphNode(&child, parent, NULL, 0, g));
    MUST(cuGraphAddEmptyNode(&extra, g, NULL, 0));
    MUST(cuGraphChildGraphNodeGetGraph(child, &inner));
    shape("inner", inner);
    fact("find in inner: %d", (int)cuGraphNodeFindInClone(&m, n[0], inner));
    fact("add to inner: %d", (int)cuGraphAddEmptyNode(&extra, inner, NULL, 0));
    /* (a graph as child of itself makes NVIDIA's driver 580 crash) */
    /* user objects */
    CUuserObject o = NULL;
    fact("object: %d", (int)cuUserObjectCreate(&o, &destroyed, destroy_fn, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    fact("object no flags: %d", (int)cuUserObjectCreate(&(CUuserObject){ 0 }, &destroyed, destroy_fn, 1, 0));
    fact("object no count: %d", (int)cuUserObjectCreate(&(CUuserObject){ 0 }, &destroyed, destroy_fn, 0, 1));
    fact("object no function: %d", (int)cuUserObjectCreate(&(CUuserObject){ 0 }, &destroyed, NULL, 1, 1));
    fact("retain: %d", (int)cuUserObjectRetain(o, 1));
    fact("retain 0: %d", (int)cuUserObjectRetain(o, 0));
    fact("release: %d", (int)cuUserObjectRelease(o, 1));
    fact("graph retain: %d", (int)cuGraphRetainUserObject(g, o, 1, 0));
    fact("graph retain move: %d", (int)cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    fact("graph retain flags: %d", (int)cuGraphRetainUserObject(g, o, 1, 4));
    fact("graph release: %d", (int)cuGraphReleaseUserObject(g, o, 1));
    fact("release: %d", (int)cuUserObjectRelease(o, 1));
    fact("not yet: %d", destroyed);
    CUgraphExec x;
    MUST(cuGraphInstantiateWithFlags(&x, g, 0));
    fact("destroy graph: %d", (int)cuGraphDestroy(g));
    usleep(100000);
    fact("held by exec: %d", destroyed);
    fact("destroy exec: %d", (int)cuGraphExecDestroy(x));
    for (int i = 0; i < 20000 && !__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE); i++)       /* by a thread of the driver */
        usleep(1000);
    fact("destroyed: %d", destroyed);
    /* Graphviz */
    char path[] = "/tmp/graph_facts.XXXXXX";
    int fd = mkstemp(path);
    fact("dot: %d", (int)cuGraphDebugDotPrint(c, path, 0));
    char text[64] = "";
    ssize_t got = read(fd, text, sizeof text - 1);
    fact("dot begins with digraph: %d", got > 0 && strstr(text, "digraph") != NULL);
    fact("dot bad path: %d", (int)cuGraphDebugDotPrint(c, "/nowhere/x", 0));
    fact("dot null path: %d", (int)cuGraphDebugDotPrint(c, NULL, 0));
    unlink(path);
}

void
memory_nodes(void)
{
    setup();
    CUgraph g, c;
    CUgraphNode a, f, s, x;
    CUgraphExec e1, e2;
    CUstream st = stream(0);
    CUdevice dev;
    MUST(cuCtxGetDevice(&dev));
    CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, dev }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, dev } },
                                     .bytesize = 1024 };
    (void)desc;
    MUST(cuGraphCreate(&g, 0));
    CUresult r = cuGraphAddMemAllocNode(&a, g, NULL, 0, &p);
    fact("alloc: %d %d", (int)r, p.dptr != 0);
    CUDA_MEM_ALLOC_NODE_PARAMS bad = p;
    bad.bytesize = 0;
    fact("alloc 0: %d", (int)cuGraphAddMemAllocNode(&x, g, NULL, 0, &bad));
    CUDA_MEMSET_NODE_PARAMS fill = { .dst = p.dptr, .elementSize = 4, .width = 256, .height = 1, .value = 77 };
    fact("fill it: %d", (int)cuGraphAddMemsetNode(&s, g, &a, 1, &fill, ctx));
    fact("clone: %d", (int)cuGraphClone(&c, g));
    CUgraph parent;
    MUST(cuGraphCreate(&parent, 0));
    fact("as child: %d", (int)cuGraphAddChildGraphNode(&x, parent, NULL, 0, g));
    fact("destroy node: %d", (int)cuGraphDestroyNode(a));
    fact("remove edge: %d", (int)cuGraphRemoveDependencies(g, &a, &s, 1));
    if (strict)                         /* this driver has the memory there from the start */
        fact("copy before launch: %d", (int)cuMemcpyDtoH_v2(pageable, p.dptr, 4));
    fact("instantiate: %d", (int)cuGraphInstantiateWithFlags(&e1, g, 0));
    fact("instantiate again: %d", (int)cuGraphInstantiateWithFlags(&e2, g, 0));
    fact("launch: %d", (int)cuGraphLaunch(e1, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    r = cuMemcpyDtoH_v2(pageable, p.dptr, 4);
    fact("read: %d %u", (int)r, pageable[0]);
    fact("launch again: %d", (int)cuGraphLaunch(e1, st));
    fact("free: %d", (int)cuMemFree_v2(p.dptr));
    fact("free again: %d", (int)cuMemFree_v2(p.dptr));
    fact("launch after free: %d", (int)cuGraphLaunch(e1, st));
    fact("free async: %d", (int)cuMemFreeAsync(p.dptr, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    fact("destroy exec: %d", (int)cuGraphExecDestroy(e1));
    fact("instantiate auto free: %d", (int)cuGraphInstantiateWithFlags(&e1, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    fact("launch: %d", (int)cuGraphLaunch(e1, st));
    fact("launch again: %d", (int)cuGraphLaunch(e1, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    CUgraph h;
    MUST(cuGraphCreate(&h, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS q = p;
    MUST(cuGraphAddMemAllocNode(&a, h, NULL, 0, &q));
    fact("free node: %d", (int)cuGraphAddMemFreeNode(&f, h, &a, 1, q.dptr));
    fact("free it twice: %d", (int)cuGraphAddMemFreeNode(&x, h, &f, 1, q.dptr));
    fact("free not ordered after: %d", (int)cuGraphAddMemFreeNode(&x, h, NULL, 0, q.dptr));
    fact("free of other memory: %d", (int)cuGraphAddMemFreeNode(&x, h, NULL, 0, mem));
    fact("free null: %d", (int)cuGraphAddMemFreeNode(&x, h, NULL, 0, 0));
    fact("instantiate: %d", (int)cuGraphInstantiateWithFlags(&e2, h, 0));
    fact("launch: %d %d", (int)cuGraphLaunch(e2, st), (int)cuGraphLaunch(e2, st));
    fact("sync: %d", (int)cuStreamSynchronize(st));
    cuuint64_t v = 1;
    fact("attribute: %d", (int)cuDeviceGetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
    fact("set attribute: %d", (int)cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &(cuuint64_t){ 0 }));
    fact("set attribute 1: %d", (int)cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &(cuuint64_t){ 1 }));
    fact("set current: %d", (int)cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &(cuuint64_t){ 0 }));
    fact("trim: %d", (int)cuDeviceGraphMemTrim(dev));
}
