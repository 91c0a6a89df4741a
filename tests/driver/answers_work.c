/* SPDX-License-Identifier: Apache-2.0
 * Sections of `answers`: streams, events, launches, graphs. */
#include "tests/driver/answers.h"

static void CUDA_CB
nothing(void *p)
{
}

static void CUDA_CB
nothing_stream(CUstream s, CUresult e, void *p)
{
}

static void
stream(void)
{
    CUstream s = NULL;
    unsigned f = 99;
    int p = 99;
    CUcontext c = NULL;
    if (!A(cuStreamCreate(PP(CUstream *, out, U(&s), 0), (unsigned)P(flags, 0, 1, 2, 3, 4, 99))))
        A(cuStreamDestroy_v2(s));
    if (!A(cuStreamCreateWithPriority(PP(CUstream *, outp, U(&s), 0), (unsigned)P(pflags, 1, 0, 2, 3), (int)P(priority, 0, -1, 1, -5, -100, 100)))) {
        A(cuStreamGetPriority(s, &p));
        V(p <= 0);
        A(cuStreamDestroy_v2(s));
    }
    s = STREAM(stream);
    A(cuStreamGetFlags(s, PP(unsigned *, outf, U(&f), 0)));
    V(f);
    A(cuStreamGetPriority(s, PP(int *, outq, U(&p), 0)));
    A(cuStreamGetCtx(s, PP(CUcontext *, outc, U(&c), 0)));
    V(c == o.ctx);
    unsigned long long id;
    A(cuStreamGetId(s, PP(unsigned long long *, outi, U(&id), 0)));
    CUdevice d = 99;
    A(cuStreamGetDevice(s, PP(CUdevice *, outd, U(&d), 0)));
    CUgreenCtx g;
    A(cuStreamGetCtx_v2(s, &c, PP(CUgreenCtx *, outg, U(&g), 0)));
    A(cuStreamQuery(s) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : cuStreamQuery(s));
    A(cuStreamSynchronize(s));
    A(cuStreamDestroy_v2(PP(CUstream, destroy, 0, U(CU_STREAM_LEGACY), U(CU_STREAM_PER_THREAD))));
}

static void
stream_attribute(void)
{
    CUstreamAttrValue v;
    memset(&v, 0, sizeof v);
    CUstreamAttrID a = (CUstreamAttrID)RANGE(attribute, 3, 0, 18);
    v.syncPolicy = (CUsynchronizationPolicy)P(value, 1, 0, 2, 3, 4, 5, 99, -1);
    CUstream s = STREAM(stream);
    A(cuStreamSetAttribute(s, a, PP(CUstreamAttrValue *, in, U(&v), 0)));
    memset(&v, 0, sizeof v);
    A(cuStreamGetAttribute(s, a, PP(CUstreamAttrValue *, out, U(&v), 0)));
    if (a != CU_LAUNCH_ATTRIBUTE_PRIORITY)
        V(v.syncPolicy);
    A(cuStreamCopyAttributes(PP(CUstream, to, U(o.blocking), 0, U(CU_STREAM_LEGACY), U(other_stream)), s));
    memset(&v, 0, sizeof v);
    v.syncPolicy = CU_SYNC_POLICY_AUTO;
    (void)cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
    memset(&v, 0, sizeof v);
    (void)cuStreamSetAttribute(s, a, &v);
}

static void
access_window(void)
{
    CUstreamAttrValue v;
    memset(&v, 0, sizeof v);
    v.accessPolicyWindow.base_ptr = PP(void *, base, U(o.dev), 0, U(host), U(o.freed));
    v.accessPolicyWindow.num_bytes = P(bytes, 4096, 0, SIZE, 1 << 30);
    v.accessPolicyWindow.hitRatio = (float)P(ratio, 1, 0, 2, -1);
    v.accessPolicyWindow.hitProp = (CUaccessProperty)P(hit, 2, 0, 1, 3, 99);
    v.accessPolicyWindow.missProp = (CUaccessProperty)P(miss, 1, 0, 2, 3, 99);
    A(cuStreamSetAttribute(o.stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    memset(&v, 0, sizeof v);
    (void)cuStreamSetAttribute(o.stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
}

static void
events(void)
{
    CUevent e = NULL;
    float ms = 0;
    if (!A(cuEventCreate(PP(CUevent *, out, U(&e), 0), (unsigned)P(flags, 0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 99)))) {
        A(cuEventQuery(e));
        A(cuEventSynchronize(e));
        A(cuEventElapsedTime(&ms, o.timed, e));
        A(cuEventRecord(e, o.stream));
        A(cuEventSynchronize(e));
        A(cuEventElapsedTime(&ms, o.timed, e));
        A(cuEventDestroy_v2(e));
    }
    CUevent a = PP(CUevent, event, U(o.timed), 0, U(o.event), U(o.late));
    CUstream s = STREAM(stream);
    if (a != o.late) {
        A(cuEventRecord(a, s));
        A(cuEventRecordWithFlags(a, s, (unsigned)P(rflags, 0, 1, 2, 3)));
    }
    A(cuStreamWaitEvent(s, a, (unsigned)P(wflags, 0, 1, 2, 3)));
    (void)cuCtxSynchronize();
    A(cuEventQuery(a));
    A(cuEventSynchronize(a));
    A(cuEventElapsedTime(PP(float *, ms, U(&ms), 0), a, PP(CUevent, end, U(o.timed), 0, U(o.event), U(o.late))));
    A(cuEventElapsedTime_v2(PP(float *, ms2, U(&ms), 0), PP(CUevent, begin2, U(o.timed), 0, U(o.event), U(o.late)), a));
    A(cuEventDestroy_v2(PP(CUevent, destroy, 0)));
}

static void
callbacks(void)
{
    CUstream s = STREAM(stream);
    A(cuLaunchHostFunc(s, PP(CUhostFn, fn, U(nothing), 0), NULL));
    A(cuStreamAddCallback(s, PP(CUstreamCallback, callback, U(nothing_stream), 0), NULL, (unsigned)P(flags, 0, 1, 2)));
    (void)cuStreamSynchronize(s);
}

static void
stream_values(void)
{
    CUstream s = STREAM(stream);
    CUdeviceptr p = P(p, U(o.dev), 0, U(o.dev + 1), U(o.dev + 2), U(o.dev + 4), U(o.dev + SIZE - 4), U(o.dev + SIZE), U(o.freed), U(o.pinned),
        U(o.managed), U(host), U(o.registered));
    unsigned f = (unsigned)P(flags, 0, 1, 2, 3, 4, 99);
    A(cuMemsetD8_v2(o.dev, 0, SIZE));
    (void)cuCtxSynchronize();           /* a stream that is not blocking does not wait for it */
    memset(o.pinned, 0, SIZE);
    memset(o.registered, 0, SIZE);
    bool written = !A(cuStreamWriteValue32_v2(s, p, 7, f));
    A(cuStreamWriteValue64_v2(s, p, 7, f));
    unsigned w = (unsigned)P(wait, 0, 1, 2, 3, 4, 5, 1 << 30, 99);
    if (w != 2 && (w != 1 || written))
        A(cuStreamWaitValue32_v2(s, p, w == 1 ? 7 : 0, w));         /* 0: >= */
    CUstreamBatchMemOpParams op[2];
    memset(op, 0, sizeof op);
    op[0].operation = (CUstreamBatchMemOpType)P(op, CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, 3, 5, 6, 7, 99);
    op[0].writeValue.address = p;
    op[0].writeValue.flags = (unsigned)P(opflags, 0, 1, 2);
    op[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    op[1].writeValue.address = o.dev;
    if ((unsigned)op[0].operation != 1)
        A(cuStreamBatchMemOp_v2(s, (unsigned)P(count, 2, 0, 1, 257), PP(CUstreamBatchMemOpParams *, list, U(op), 0), (unsigned)P(bflags, 0, 1)));
    (void)cuCtxSynchronize();
}

/* ---- launches ---- */

static void
launch(void)
{
    uint32_t a = 1;
    uint64_t b = 2;
    void *params[] = { PP(void *, param0, U(&a), 0), &b };
    CUfunction f = PP(CUfunction, function, U(o.func), U(o.two), U(o.shared), U(o.limited), 0, U(o.kernel));
    A(cuLaunchKernel(f, (unsigned)P(gx, 1, 0, 65536, 0x80000000), (unsigned)P(gy, 1, 0, 65536), (unsigned)P(gz, 1, 0, 65536), (unsigned)P(bx, 32, 0,
        1, 65, 1024, 1025),
                     (unsigned)P(by, 1, 0, 2, 33, 1024, 1025), (unsigned)P(bz, 1, 0, 2, 64, 65), (unsigned)P(shared, 0, 1, 47 << 10, 48 << 10,
                         (48 << 10) + 1, 1 << 20, -1), STREAM(stream),
                     PP(void **, params, U(params), 0), NULL));
    (void)cuCtxSynchronize();
}

static void
launch_extra(void)
{
    struct {
        uint32_t a;
        uint64_t b;
    } block = { 1, 2 };
    size_t n = P(size, sizeof block, 0, 4, 12, 15, 17, 20);
    void *extra[] = { PP(void *, id0, 1, 0, 2, 3, 99), PP(void *, block, U(&block), 0), PP(void *, id1, 2, 0, 1, 99), PP(void *, size_at, U(&n), 0),
        PP(void *, end, 0) };
    void *params[] = { &block.a, &block.b };
    A(cuLaunchKernel(PP(CUfunction, function, U(o.two), U(o.func)), 1, 1, 1, 1, 1, 1, 0, o.stream, PP(void **, params, 0, U(params)), PP(void **,
        extra, U(extra), 0)));
    (void)cuCtxSynchronize();
}

static void
launch_ex(void)
{
    CUlaunchAttribute a[2];
    memset(a, 0, sizeof a);
    a[0].id = (CUlaunchAttributeID)RANGE(attribute, 0, 0, 19);
    a[0].value.clusterDim.x = (unsigned)P(x, 1, 0, 2, 3, 4, 8, 16, -1);
    a[0].value.clusterDim.y = (unsigned)P(y, 1, 0, 2);
    a[0].value.clusterDim.z = (unsigned)P(z, 1, 0, 2);
    a[1].id = (CUlaunchAttributeID)P(second, 0, 2, 4, 8, 99);
    a[1].value.cooperative = (int)P(second_value, 1, 0, 2);
    if (a[0].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || a[0].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
        memset(&a[0].value, 0, sizeof a[0].value);
        a[0].value.programmaticEvent.event = PP(CUevent, event, U(o.event), 0, U(o.timed));
        a[0].value.programmaticEvent.flags = (int)P(eflags, 0, 1, 2);
    }
    if (a[0].id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
        memset(&a[0].value, 0, sizeof a[0].value);
    CUlaunchConfig c = { .gridDimX = (unsigned)P(gx, 8, 0, 7, 1), .gridDimY = (unsigned)P(gy, 1, 0, 65536), .gridDimZ = (unsigned)P(gz, 1, 0, 2),
        .blockDimX = (unsigned)P(bx, 32, 0, 1025), .blockDimY = 1,
                         .blockDimZ = 1, .sharedMemBytes = (unsigned)P(shared, 0, 1 << 20), .hStream = STREAM(stream),
                             .attrs = PP(CUlaunchAttribute *, attrs, U(a), 0),
                         .numAttrs = (unsigned)P(nattrs, 1, 0, 2) };
    A(cuLaunchKernelEx(PP(CUlaunchConfig *, config, U(&c), 0), PP(CUfunction, function, U(o.func), 0, U(o.kernel)), NULL, NULL));
    (void)cuCtxSynchronize();
}

static void
launch_cooperative(void)
{
    A(cuLaunchCooperativeKernel(PP(CUfunction, function, U(o.func), U(o.shared), U(o.limited), 0), (unsigned)P(gx, 1, 0, 1000000), (unsigned)P(gy, 1,
        0, 65536), 1, (unsigned)P(bx, 32, 0, 65, 1025), 1,
                                (unsigned)P(bz, 1, 65), (unsigned)P(shared, 0, (48 << 10) + 1), STREAM(stream), NULL));
    (void)cuCtxSynchronize();
    A(cuFuncSetBlockShape(o.func, (int)P(x, 1, 0, -1, 1025), 1, 1));
    A(cuFuncSetSharedSize(o.func, (unsigned)P(ssize, 0, 1 << 20)));
    A(cuParamSetSize(o.func, (unsigned)P(psize, 0, 1, 4097)));
    A(cuParamSeti(o.func, (int)P(at, 0, 1, 4, 4096, -1), 1));
    A(cuParamSetSize(o.func, 0));
    A(cuLaunch(PP(CUfunction, old, U(o.func), 0)));
    A(cuLaunchGrid(o.func, (int)P(gw, 1, 0, -1), 1));
    (void)cuCtxSynchronize();
}

/* ---- graphs ---- */

static CUgraph g;

static void
graph_begin(void)
{
    MUST(cuGraphCreate(&g, 0));
}

/* What can be made of the graph. */
static void
graph_end(CUgraphNode n)
{
    CUgraphExec e = NULL;
    if (n) {
        CUgraphNodeType t = (CUgraphNodeType)99;
        A(cuGraphNodeGetType(n, &t));
        V(t);
    }
    if (!A(cuGraphInstantiateWithFlags(&e, g, 0)))
        (void)cuGraphExecDestroy(e);
    (void)cuGraphDestroy(g);
}

/* What the node depends on, and where it goes. */
#define OWN_DEPS() \
    CUgraphNode deps[2], out_ = NULL; \
    MUST(cuGraphAddEmptyNode(&deps[0], g, NULL, 0)); \
    deps[1] = P(dep1, 0, 1) ? o.other_node : deps[0]; \
    CUgraphNode *out_at = PP(CUgraphNode *, out, U(&out_), 0); \
    const CUgraphNode *dep_list = PP(CUgraphNode *, deps, U(deps), 0); \
    size_t ndeps = P(ndeps, 0, 1, 2); \
    CUgraph into = PP(CUgraph, graph, U(g), 0)

static CUDA_KERNEL_NODE_PARAMS
kernel_params(void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = PP(CUfunction, func, U(o.func), U(o.two), U(o.shared), U(o.limited), 0, U(o.kernel)),
        .gridDimX = (unsigned)P(gx, 1, 0, 0x80000000),
        .gridDimY = (unsigned)P(gy, 1, 0, 65536), .gridDimZ = (unsigned)P(gz, 1, 0, 65536), .blockDimX = (unsigned)P(bx, 32, 0, 65, 1024, 1025),
            .blockDimY = (unsigned)P(by, 1, 0, 2, 33),
        .blockDimZ = (unsigned)P(bz, 1, 0, 65), .sharedMemBytes = (unsigned)P(shared, 0, 48 << 10, (48 << 10) + 1, 1 << 20),
            .kernelParams = PP(void **, params, U(params), 0),
        .kern = PP(CUkernel, kern, 0, U(o.kernel)), .ctx = PP(CUcontext, ctx, 0, U(o.ctx), U(other)) };
}

static void
graph_kernel(void)
{
    uint32_t a = 1;
    uint64_t b = 2;
    void *params[] = { &a, &b };
    graph_begin();
    OWN_DEPS();
    CUDA_KERNEL_NODE_PARAMS p = kernel_params(params);
    if (!A(cuGraphAddKernelNode_v2(out_at, into, dep_list, ndeps, PP(CUDA_KERNEL_NODE_PARAMS *, p, U(&p), 0)))) {
        A(cuGraphKernelNodeSetParams_v2(out_, &p));
        A(cuGraphKernelNodeGetParams_v2(out_, &p));
    }
    graph_end(out_);
}

static void
graph_kernel_set(void)
{
    uint32_t a = 1;
    uint64_t b = 2;
    void *params[] = { &a, &b };
    graph_begin();
    CUgraphNode n = NULL, empty = NULL;
    CUgraphExec e = NULL;
    CUDA_KERNEL_NODE_PARAMS q = { .func = o.two, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
        .kernelParams = params };
    MUST(cuGraphAddEmptyNode(&empty, g, NULL, 0));
    MUST(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &q));
    MUST(cuGraphInstantiateWithFlags(&e, g, 0));
    CUDA_KERNEL_NODE_PARAMS p = kernel_params(params);
    CUgraphNode at = PP(CUgraphNode, node, U(n), 0, U(empty), U(o.other_node));
    A(cuGraphKernelNodeSetParams_v2(at, &p));
    A(cuGraphExecKernelNodeSetParams_v2(PP(CUgraphExec, exec, U(e), 0), at, &p));
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    CUlaunchAttributeID id = (CUlaunchAttributeID)RANGE(attribute, 2, 0, 18);
    v.cooperative = (int)P(value, 0, 1, 2, 99, -1);
    A(cuGraphKernelNodeSetAttribute(at, id, PP(CUlaunchAttributeValue *, in, U(&v), 0)));
    A(cuGraphKernelNodeGetAttribute(at, id, PP(CUlaunchAttributeValue *, outv, U(&v), 0)));
    A(cuGraphKernelNodeCopyAttributes(n, PP(CUgraphNode, from, U(n), 0, U(empty))));
    unsigned on = 99;
    A(cuGraphNodeSetEnabled(e, at, (unsigned)P(enabled, 1, 0, 2)));
    A(cuGraphNodeGetEnabled(e, at, PP(unsigned *, on, U(&on), 0)));
    V(on);
    (void)cuGraphExecDestroy(e);
    (void)cuGraphDestroy(g);
}

static void
graph_memset(void)
{
    graph_begin();
    OWN_DEPS();
    CUDA_MEMSET_NODE_PARAMS p = { .dst = P(dst, U(o.dev), 0, U(o.dev + 1), U(o.freed), U(o.managed), U(o.pinned), U(host), U(other_dev),
        U(o.dev + SIZE)), .pitch = P(pitch, 256, 0, 15, 16, 255),
                                  .value = 1, .elementSize = (unsigned)P(element, 1, 0, 2, 3, 4, 8), .width = P(width, 16, 0, 1, SIZE + 1),
                                      .height = P(height, 1, 0, 4, SIZE) };
    CUcontext c = PP(CUcontext, ctx, U(o.ctx), 0, U(other));
    if (!A(cuGraphAddMemsetNode(out_at, into, dep_list, ndeps, PP(CUDA_MEMSET_NODE_PARAMS *, p, U(&p), 0), c)))
        A(cuGraphMemsetNodeSetParams(out_, &p));
    graph_end(out_);
}

static CUDA_MEMCPY3D
copy_params(void)
{
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = (CUmemorytype)P(srcType, 2, 0, 1, 3, 4, 99);
    c.dstMemoryType = (CUmemorytype)P(dstType, 2, 0, 1, 3, 4, 99);
    c.srcHost = PP(void *, srcHost, U(host), 0, U(o.pinned));
    c.dstHost = PP(void *, dstHost, U(host), 0, U(o.pinned));
    c.srcDevice = P(src, U(o.dev + 8192), 0, U(o.freed), U(o.pinned), U(host), U(other_dev));
    c.dstDevice = P(dst, U(o.dev), 0, U(o.freed), U(o.pinned), U(host), U(o.dev + SIZE - 32));
    c.srcArray = o.array3d;
    c.dstArray = o.array3d;
    c.srcPitch = P(srcPitch, 128, 0, 31);
    c.dstPitch = P(dstPitch, 128, 0, 31);
    c.srcHeight = P(srcHeight, 8, 0, 3);
    c.dstHeight = P(dstHeight, 8, 0, 3);
    c.WidthInBytes = P(width, 32, 0, 129, 1 << 20);
    c.Height = P(height, 4, 0, 17);
    c.Depth = P(depth, 1, 0, 5);
    return c;
}

static void
graph_memcpy(void)
{
    graph_begin();
    OWN_DEPS();
    CUDA_MEMCPY3D c = copy_params();
    if (!A(cuGraphAddMemcpyNode(out_at, into, dep_list, ndeps, PP(CUDA_MEMCPY3D *, p, U(&c), 0), PP(CUcontext, ctx, U(o.ctx), 0, U(other)))))
        A(cuGraphMemcpyNodeSetParams(out_, &c));
    graph_end(out_);
}

static void
graph_exec_set(void)
{
    graph_begin();
    CUgraphNode n = NULL, m = NULL, h = NULL, w = NULL, r = NULL, k = NULL;
    CUgraphExec e = NULL;
    CUDA_MEMCPY3D c = { .srcMemoryType = 2, .dstMemoryType = 2, .srcDevice = o.dev + 8192, .dstDevice = o.dev, .srcPitch = 128, .dstPitch = 128,
        .srcHeight = 8, .dstHeight = 8, .WidthInBytes = 32, .Height = 4,
                        .Depth = 1 };
    CUDA_MEMSET_NODE_PARAMS p = { .dst = o.dev, .pitch = 256, .elementSize = 1, .width = 16, .height = 1 };
    CUDA_HOST_NODE_PARAMS f = { nothing, NULL };
    MUST(cuGraphAddMemcpyNode(&n, g, NULL, 0, &c, o.ctx));
    MUST(cuGraphAddMemsetNode(&m, g, NULL, 0, &p, o.ctx));
    MUST(cuGraphAddHostNode(&h, g, NULL, 0, &f));
    MUST(cuGraphAddEventRecordNode(&r, g, NULL, 0, o.event));
    MUST(cuGraphAddEventWaitNode(&w, g, NULL, 0, o.event));
    MUST(cuGraphAddChildGraphNode(&k, g, NULL, 0, o.other_graph));
    MUST(cuGraphInstantiateWithFlags(&e, g, 0));
    c = copy_params();
    CUgraphExec x = PP(CUgraphExec, exec, U(e), 0);
    A(cuGraphExecMemcpyNodeSetParams(x, PP(CUgraphNode, copy, U(n), 0, U(m), U(o.other_node)), &c, PP(CUcontext, ctx, U(o.ctx), 0, U(other))));
    p = (CUDA_MEMSET_NODE_PARAMS){ .dst = P(mdst, U(o.dev + 16), 0, U(o.freed), U(o.pinned)), .pitch = P(mpitch, 256, 0, 15),
        .elementSize = (unsigned)P(element, 1, 0, 2, 3, 4), .width = P(mwidth, 16, 0, 8),
                                   .height = P(mheight, 1, 0, 2) };
    A(cuGraphExecMemsetNodeSetParams(x, PP(CUgraphNode, set, U(m), 0, U(n)), &p, PP(CUcontext, mctx, U(o.ctx), 0, U(other))));
    f.fn = PP(CUhostFn, fn, U(nothing), 0);
    A(cuGraphExecHostNodeSetParams(x, PP(CUgraphNode, host_node, U(h), 0, U(n)), &f));
    A(cuGraphExecEventRecordNodeSetEvent(x, PP(CUgraphNode, record, U(r), 0, U(w)), PP(CUevent, event, U(o.timed), 0)));
    A(cuGraphExecEventWaitNodeSetEvent(x, PP(CUgraphNode, wait, U(w), 0, U(r)), PP(CUevent, wevent, U(o.timed), 0)));
    A(cuGraphExecChildGraphNodeSetParams(x, PP(CUgraphNode, child, U(k), 0, U(n)), PP(CUgraph, child_graph, U(o.other_graph), 0, U(g), U(o.graph))));
    A(cuGraphUpload(x, STREAM(stream)));
    CUgraphExecUpdateResultInfo info;
    memset(&info, 0, sizeof info);
    A(cuGraphExecUpdate_v2(x, PP(CUgraph, update, U(g), 0, U(o.graph)), PP(CUgraphExecUpdateResultInfo *, info, U(&info), 0)));
    V(info.result);
    unsigned long long flags = 99;
    A(cuGraphExecGetFlags(x, PP(cuuint64_t *, flags, U(&flags), 0)));
    (void)cuCtxSynchronize();
    (void)cuGraphExecDestroy(e);
    (void)cuGraphDestroy(g);
}

static void
graph_simple(void)
{
    graph_begin();
    OWN_DEPS();
    CUgraphNode n = NULL;
    CUDA_HOST_NODE_PARAMS h = { PP(CUhostFn, fn, U(nothing), 0), NULL };
    A(cuGraphAddEmptyNode(out_at, into, dep_list, ndeps));
    A(cuGraphAddHostNode(&n, into, dep_list, ndeps, PP(CUDA_HOST_NODE_PARAMS *, host, U(&h), 0)));
    A(cuGraphAddEventRecordNode(&n, into, dep_list, ndeps, PP(CUevent, record, U(o.event), 0)));
    A(cuGraphAddEventWaitNode(&n, into, dep_list, ndeps, PP(CUevent, wait, U(o.event), 0)));
    A(cuGraphAddChildGraphNode(&n, into, dep_list, ndeps, PP(CUgraph, child, U(o.other_graph), 0, U(g), U(o.graph))));
    size_t count = 99;
    A(cuGraphGetNodes(into, NULL, PP(size_t *, count, U(&count), 0)));
    V(count);
    CUgraphNode to[2] = { n, PP(CUgraphNode, to, U(n), 0, U(o.other_node)) }, from[2] = { deps[0], PP(CUgraphNode, from, U(deps[0]), 0,
        U(o.other_node)) };
    A(cuGraphAddDependencies(into, PP(CUgraphNode *, from_list, U(from + 1), 0), PP(CUgraphNode *, to_list, U(to + 1), 0), P(edges, 1, 0)));
    A(cuGraphAddDependencies(g, from + 1, to + 1, 1));
    A(cuGraphRemoveDependencies(g, from + 1, to + 1, P(removed, 1, 0)));
    A(cuGraphRemoveDependencies(g, from + 1, to + 1, 1));
    A(cuGraphNodeGetDependencies(n, NULL, PP(size_t *, dcount, U(&count), 0)));
    V(count);
    A(cuGraphGetEdges(into, NULL, NULL, PP(size_t *, ecount, U(&count), 0)));
    A(cuGraphGetRootNodes(into, NULL, PP(size_t *, rcount, U(&count), 0)));
    CUgraph clone = NULL;
    if (!A(cuGraphClone(PP(CUgraph *, clone, U(&clone), 0), into))) {
        CUgraphNode there;
        A(cuGraphNodeFindInClone(PP(CUgraphNode *, there, U(&there), 0), PP(CUgraphNode, original, U(n), 0, U(o.other_node)), clone));
        (void)cuGraphDestroy(clone);
    }
    A(cuGraphDestroyNode(PP(CUgraphNode, destroy, U(n), 0)));
    graph_end(NULL);
}

static void
graph_alloc(void)
{
    graph_begin();
    OWN_DEPS();
    CUmemAccessDesc access = { .location = { (CUmemLocationType)P(access_type, 1, 0, 2, 99), (int)P(access_id, 0, -1, 99) },
        .flags = (CUmemAccess_flags)P(access_flags, 3, 0, 1, 99) };
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    memset(&p, 0, sizeof p);
    p.poolProps.allocType = (CUmemAllocationType)P(type, 1, 0, 2, 99);
    p.poolProps.handleTypes = (CUmemAllocationHandleType)P(handles, 0, 1, 8, 99);
    p.poolProps.location.type = (CUmemLocationType)P(location_type, 1, 0, 2, 3, 99);
    p.poolProps.location.id = (int)P(location_id, 0, -1, 99);
    p.poolProps.maxSize = P(max, 0, 1);
    p.accessDescs = PP(CUmemAccessDesc *, access, 0, U(&access));
    p.accessDescCount = P(count, 0, 1);
    p.bytesize = P(size, 4096, 0, 1, 1ull << 50);
    CUgraphNode f = NULL;
    CUdeviceptr d = 0;
    if (!A(cuGraphAddMemAllocNode(out_at, into, dep_list, ndeps, PP(CUDA_MEM_ALLOC_NODE_PARAMS *, p, U(&p), 0)))) {
        A(cuGraphMemAllocNodeGetParams(out_, PP(CUDA_MEM_ALLOC_NODE_PARAMS *, get, U(&p), 0)));
        A(cuGraphAddMemFreeNode(&f, g, &out_, 1, p.dptr + P(at, 0, 1, 512)));
        A(cuGraphAddMemFreeNode(&f, g, &out_, 1, p.dptr));
        CUgraph clone;
        A(cuGraphClone(&clone, g));
    }
    A(cuGraphAddMemFreeNode(&f, g, NULL, 0, P(free, U(o.dev), 0, U(o.freed), U(o.pinned))));
    A(cuGraphMemFreeNodeGetParams(PP(CUgraphNode, node, U(deps[0]), 0), &d));
    graph_end(out_);
}

static void
graph_add_node(void)
{
    graph_begin();
    OWN_DEPS();
    CUgraphEdgeData edges[2];
    memset(edges, 0, sizeof edges);
    edges[0].from_port = (unsigned char)P(from_port, 0, 1, 2, 99);
    edges[0].to_port = (unsigned char)P(to_port, 0, 1);
    edges[0].type = (unsigned char)P(edge_type, 0, 1, 2);
    edges[0].reserved[0] = (unsigned char)P(edge_reserved, 0, 1);
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = (CUgraphNodeType)P(type, CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET,
        CU_GRAPH_NODE_TYPE_HOST,
        CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
            CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_CONDITIONAL, 14, 99);
    p.reserved0[0] = (int)P(reserved0, 0, 1);
    p.reserved2 = (long long)P(reserved2, 0, 1);
    p.reserved1[28] = (long long)P(reserved1, 0, 1);
    bool filled = P(filled, 1, 0);
    if (filled) {
        switch ((int)p.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: p.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){ .func = o.func, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
            .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 }; break;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            p.memcpy.copyCtx = o.ctx;
            p.memcpy.flags = (int)P(copy_flags, 0, 1);
            p.memcpy.copyParams = (CUDA_MEMCPY3D){ .srcMemoryType = 2, .dstMemoryType = 2, .srcDevice = o.dev + 8192, .dstDevice = o.dev,
                .WidthInBytes = 32, .Height = 1, .Depth = 1 };
            break;
        case CU_GRAPH_NODE_TYPE_MEMSET: p.memset = (CUDA_MEMSET_NODE_PARAMS_v2){ .dst = o.dev, .elementSize = 1, .width = 16, .height = 1,
            .ctx = o.ctx }; break;
        case CU_GRAPH_NODE_TYPE_HOST: p.host.fn = nothing; break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            p.graph.graph = o.other_graph;
            p.graph.ownership = (CUgraphChildGraphNodeOwnership)P(ownership, 0, 2, 99);
            break;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT: p.eventWait.event = o.event; break;
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD: p.eventRecord.event = o.event; break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            p.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
            p.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
            p.alloc.bytesize = 4096;
            break;
        case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
            CUgraphConditionalHandle h = 0;
            MUST(cuGraphConditionalHandleCreate(&h, g, o.ctx, 0, 0));
            p.conditional.handle = h;
            p.conditional.type = (CUgraphConditionalNodeType)P(conditional, 0, 1, 2, 3, 99);
            p.conditional.size = (unsigned)P(bodies, 1, 0, 2, 3);
            p.conditional.ctx = PP(CUcontext, conditional_ctx, U(o.ctx), 0, U(other));
            break;
        }
        default: break;
        }
    }
    A(cuGraphAddNode_v2(out_at, into, dep_list, PP(CUgraphEdgeData *, edges, 0, U(edges)), ndeps, PP(CUgraphNodeParams *, p, U(&p), 0)));
    graph_end(out_);
}

static void
conditional_handle(void)
{
    graph_begin();
    CUgraphConditionalHandle h;
    A(cuGraphConditionalHandleCreate(PP(CUgraphConditionalHandle *, out, U(&h), 0), PP(CUgraph, graph, U(g), 0), PP(CUcontext, ctx, U(o.ctx), 0,
        U(other)), (unsigned)P(value, 0, 1),
                                     (unsigned)P(flags, 0, 1, 2, 3)));
    graph_end(NULL);
}

static void
graph_instantiate(void)
{
    graph_begin();
    CUgraphNode n = NULL;
    CUgraphExec e = NULL;
    CUDA_KERNEL_NODE_PARAMS q = { .func = o.func, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
    MUST(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &q));
    if (P(with_host, 0, 1)) {
        CUDA_HOST_NODE_PARAMS h = { nothing, NULL };
        MUST(cuGraphAddHostNode(&n, g, NULL, 0, &h));
    }
    if (!A(cuGraphInstantiateWithFlags(PP(CUgraphExec *, out, U(&e), 0), PP(CUgraph, graph, U(g), 0), P(flags, 0, 1, 2, 3, 4, 8, 9, 12, 16, 32)))) {
        A(cuGraphLaunch(e, STREAM(stream)));
        (void)cuCtxSynchronize();
        A(cuGraphExecDestroy(e));
    }
    CUDA_GRAPH_INSTANTIATE_PARAMS p;
    memset(&p, 0, sizeof p);
    p.flags = P(pflags, 0, 1, 2, 3, 4, 8, 9, 16, 32);
    p.hUploadStream = STREAM(upload);
    if (!A(cuGraphInstantiateWithParams(&e, g, PP(CUDA_GRAPH_INSTANTIATE_PARAMS *, p, U(&p), 0))))
        A(cuGraphExecDestroy(e));
    V(p.result_out);
    A(cuGraphDebugDotPrint(g, PP(const char *, path, U("/dev/null"), 0, U("/"), U("")), (unsigned)P(dflags, 0, 1, 2, 1 << 20)));
    A(cuGraphDestroy(g));
    A(cuGraphCreate(PP(CUgraph *, create, U(&g), 0), (unsigned)P(cflags, 0, 1)));
    (void)cuGraphDestroy(g);
}

static void
user_objects(void)
{
    CUuserObject u = NULL;
    graph_begin();
    if (!A(cuUserObjectCreate(PP(CUuserObject *, out, U(&u), 0), PP(void *, ptr, U(host), 0), PP(CUhostFn, fn, U(nothing), 0), (unsigned)P(initial,
        4, 0, 1, 0x7fffffff, 0x80000000),
                              (unsigned)P(flags, 1, 0, 2, 3)))) {
        A(cuUserObjectRetain(u, (unsigned)P(retain, 1, 0, 0x7fffffff, 0x80000000)));
        A(cuGraphRetainUserObject(PP(CUgraph, graph, U(g), 0), u, (unsigned)P(count, 1, 0, 0x80000000), (unsigned)P(gflags, 0, 1, 2)));
        A(cuGraphReleaseUserObject(PP(CUgraph, rgraph, U(g), 0), u, (unsigned)P(rcount, 1, 0, 2)));
        A(cuUserObjectRelease(u, (unsigned)P(release, 1, 0)));
    }
    A(cuUserObjectRetain(PP(CUuserObject, none, 0), 1));
    graph_end(NULL);
}

/* While a stream is captured. */
static void
capture(void)
{
    CUstream s = PP(CUstream, stream, U(o.stream), U(o.blocking), 0, U(CU_STREAM_LEGACY), U(CU_STREAM_PER_THREAD), U(other_stream));
    CUgraph made = NULL;
    CUstreamCaptureStatus st = (CUstreamCaptureStatus)99;
    cuuint64_t id = 0;
    A(cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)P(mode, 0, 1, 2, 3, 99)));
    switch (P(call, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)) {
    case 0: A(cuMemsetD8Async(o.dev, 1, 16, s)); break;
    case 1: A(cuMemsetD8_v2(o.dev, 1, 16)); break;
    case 2: A(cuMemcpyHtoD_v2(o.dev, host, 16)); break;
    case 3: A(cuMemcpyHtoDAsync_v2(o.dev, host, 16, s)); break;
    case 4: A(cuMemcpyHtoDAsync_v2(o.dev, host, 0, s)); break;
    case 5: A(cuMemsetD8Async(o.dev, 1, 0, s)); break;
    case 6: A(cuMemsetD8Async(o.freed, 1, 16, s)); break;
    case 7: A(cuMemsetD2D8Async(o.dev, 8, 1, 16, 2, s)); break;
    case 8: A(cuLaunchKernel(o.func, 0, 1, 1, 1, 1, 1, 0, s, NULL, NULL)); break;
    case 9: A(cuLaunchKernel(o.func, 1, 1, 1, 2000, 1, 1, 0, s, NULL, NULL)); break;
    case 10: A(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL)); break;
    case 11: A(cuStreamQuery(s)); break;
    case 12: A(cuStreamSynchronize(s)); break;
    case 13: A(cuLaunchHostFunc(s, NULL, NULL)); break;
    case 14: A(cuStreamAddCallback(s, nothing_stream, NULL, 0)); break;
    case 15: A(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL)); break;
    case 16: {
        A(cuEventRecord(o.event, s));
        CUresult e = cuEventQuery(o.event);
        A(e == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : e);
        A(cuEventSynchronize(o.event));
        break;
    }
    case 17: A(cuStreamWriteValue32_v2(s, o.dev, 1, 0)); break;
    case 18: A(cuMemcpy2DAsync_v2(&(CUDA_MEMCPY2D){ .srcMemoryType = 2, .dstMemoryType = 2, .srcDevice = o.dev, .dstDevice = o.dev + 8192,
        .srcPitch = 8, .dstPitch = 32, .WidthInBytes = 16, .Height = 2 }, s)); break;
    case 19: A(cuStreamWaitEvent(s, o.event, 7)); break;
    case 20: A(cuStreamUpdateCaptureDependencies(s, NULL, 1, 0)); A(cuStreamUpdateCaptureDependencies(s, NULL, 0, 99)); break;
    }
    A(cuStreamIsCapturing(s, PP(CUstreamCaptureStatus *, status, U(&st), 0)));
    V(st);
    A(cuStreamGetCaptureInfo_v2(s, PP(CUstreamCaptureStatus *, info, U(&st), 0), &id, NULL, NULL, NULL));
    A(cuStreamEndCapture(PP(CUstream, end, U(s), 0, U(CU_STREAM_LEGACY)), PP(CUgraph *, out, U(&made), 0)));
    if (made) {
        size_t n = 99;
        A(cuGraphGetNodes(made, NULL, &n));
        V(n);
        (void)cuGraphDestroy(made);
    }
    (void)cuStreamEndCapture(s, &made);
    CUstreamCaptureMode m = (CUstreamCaptureMode)P(exchange, 0, 1, 2, 3, 99), back = CU_STREAM_CAPTURE_MODE_GLOBAL;
    A(cuThreadExchangeStreamCaptureMode(PP(CUstreamCaptureMode *, exchanged, U(&m), 0)));
    V(m);
    (void)cuThreadExchangeStreamCaptureMode(&back);
}

static void
green(void)
{
    CUdevResource r, parts[16], rest;
    CUdevResourceDesc d = NULL;
    CUgreenCtx c = NULL;
    unsigned n = (unsigned)P(groups, 1, 0, 2);
    memset(&r, 0, sizeof r);
    A(cuDeviceGetDevResource((CUdevice)P(device, 0, -1, 99), PP(CUdevResource *, out, U(&r), 0), (CUdevResourceType)P(type, 1, 0, 2, 1000, 99)));
    if (A(cuDevSmResourceSplitByCount(parts, PP(unsigned *, n, U(&n), 0), PP(CUdevResource *, in, U(&r), 0), PP(CUdevResource *, rest, U(&rest), 0),
        (unsigned)P(flags, 0, 1, 2, 3, 4), (unsigned)P(least, 8, 0, 1, 9, 100000))))
        return;
    A(cuDevResourceGenerateDesc(PP(CUdevResourceDesc *, desc, U(&d), 0), PP(CUdevResource *, list, U(parts), 0), (unsigned)P(count, 1, 0)));
    if (d && !A(cuGreenCtxCreate(PP(CUgreenCtx *, ctx, U(&c), 0), d, (CUdevice)P(cdevice, 0, -1, 99), (unsigned)P(cflags, 1, 0, 2, 3)))) {
        CUstream s = NULL;
        if (!A(cuGreenCtxStreamCreate(PP(CUstream *, stream, U(&s), 0), c, (unsigned)P(sflags, 1, 0, 2, 3), (int)P(priority, 0, -1, -99))))
            A(cuStreamDestroy_v2(s));
        A(cuGreenCtxRecordEvent(c, o.event));
        A(cuGreenCtxDestroy(c));
    }
    (void)cuCtxSetCurrent(o.ctx);
}

const struct section work_sections[] = {
    { "stream", stream, 100 }, { "stream_attribute", stream_attribute, 200 }, { "access_window", access_window, 40 }, { "events", events, 150 },
        { "callbacks", callbacks, 30 },
    { "stream_values", stream_values, 150 }, { "launch", launch, 500 }, { "launch_extra", launch_extra, 150 }, { "launch_ex", launch_ex, 300 },
    { "launch_cooperative", launch_cooperative, 80 }, { "graph_kernel", graph_kernel, 200 }, { "graph_kernel_set", graph_kernel_set, 200 },
        { "graph_memset", graph_memset, 200 },
    { "graph_memcpy", graph_memcpy, 250 }, { "graph_exec_set", graph_exec_set, 200 }, { "graph_simple", graph_simple, 100 }, { "graph_alloc",
        graph_alloc, 120 },
    { "graph_add_node", graph_add_node, 300 }, { "conditional_handle", conditional_handle, 40 }, { "graph_instantiate", graph_instantiate, 80 },
        { "user_objects", user_objects, 60 },
    { "capture", capture, 300 }, { "green", green, 80 }, { NULL, NULL, 0 },
};
