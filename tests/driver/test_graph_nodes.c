/* SPDX-License-Identifier: Apache-2.0
 * What nodes are told and say of themselves: attributes of kernel nodes, also of those that captured launches make, and what node parameters must not have.
 * No kernel runs. */
#include "tests/driver/graphs.h"

#include <stdint.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 p) {\n  ret;\n}\n";

static CUcontext ctx;
static CUfunction k;
static CUdeviceptr memory;
static uint32_t argument;
static void *arguments[] = { &argument };

static CUDA_KERNEL_NODE_PARAMS
four_blocks(void)
{
    CUDA_KERNEL_NODE_PARAMS p = one_thread(k, arguments);
    p.gridDimX = 4;
    return p;
}

static CUgraphNode
add_kernel(CUgraph g)
{
    CUgraphNode n = NULL;
    CUDA_KERNEL_NODE_PARAMS p = four_blocks();
    OK(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &p));
    return n;
}

static CUkernelNodeAttrValue
get(CUgraphNode n, CUlaunchAttributeID id)
{
    CUkernelNodeAttrValue v = { 0 };
    OK(cuGraphKernelNodeGetAttribute(n, (CUkernelNodeAttrID)id, &v));
    return v;
}

/* New parameters keep a node's cluster dimension, and must suit it. */
static void
cluster(void)
{
    int has = 0;
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    CUgraph g;
    OK(cuGraphCreate(&g, 0));
    CUgraphNode n = add_kernel(g);
    CUkernelNodeAttrValue two = { .clusterDim = { 2, 1, 1 } };
    if (cuGraphKernelNodeSetAttribute(n, (CUkernelNodeAttrID)CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &two) != CUDA_SUCCESS) {
        EXPECT(!has);
        OK(cuGraphDestroy(g));
        return;
    }
    CUgraphExec e = instantiate(g);
    CUDA_KERNEL_NODE_PARAMS p = four_blocks();
    OK(cuGraphKernelNodeSetParams_v2(n, &p));
    CUkernelNodeAttrValue is = get(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    EXPECT(is.clusterDim.x == 2 && is.clusterDim.y == 1 && is.clusterDim.z == 1);
    OK(cuGraphExecKernelNodeSetParams_v2(e, n, &p));
    p.gridDimX = 3;                     /* no whole clusters */
    EXPECT_RESULT(cuGraphKernelNodeSetParams_v2(n, &p), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_RESULT(cuGraphExecKernelNodeSetParams_v2(e, n, &p), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    /* nor are they copied to a node that they do not suit */
    CUgraphNode other;
    OK(cuGraphAddKernelNode_v2(&other, g, NULL, 0, &p));
    EXPECT_RESULT(cuGraphKernelNodeCopyAttributes(other, n), CUDA_ERROR_INVALID_VALUE);
    EXPECT(get(other, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim.x == 0);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
}

/* Hints of a kernel node read back, also from a clone's and from the node that they are copied to; new parameters leave them. */
static void
hints(void)
{
    CUgraph g, clone;
    CUgraphNode there;
    OK(cuGraphCreate(&g, 0));
    CUgraphNode n = add_kernel(g), other = add_kernel(g);
    CUkernelNodeAttrValue v = { .sharedMemCarveout = 50 };
    OK(cuGraphKernelNodeSetAttribute(n, (CUkernelNodeAttrID)CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &v));
    v = (CUkernelNodeAttrValue){ .memSyncDomainMap = { 1, 0 } };
    OK(cuGraphKernelNodeSetAttribute(n, (CUkernelNodeAttrID)CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v));
    CUDA_KERNEL_NODE_PARAMS p = four_blocks();
    OK(cuGraphKernelNodeSetParams_v2(n, &p));
    /* An H200 takes the nearest priority that it has, and any policy. */
    const int asked[] = { -100, 100, -2 }, is[] = { -5, 0, -2 };
    for (unsigned i = 0; i < 3; i++) {
        v = (CUkernelNodeAttrValue){ .priority = asked[i] };
        OK(cuGraphKernelNodeSetAttribute(n, (CUkernelNodeAttrID)CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
        EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == is[i]);
    }
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE).clusterSchedulingPolicyPreference == CU_CLUSTER_SCHEDULING_POLICY_DEFAULT);
    v = (CUkernelNodeAttrValue){ .clusterSchedulingPolicyPreference = 77 };
    OK(cuGraphKernelNodeSetAttribute(n, (CUkernelNodeAttrID)CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &v));
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE).clusterSchedulingPolicyPreference == 77);
    OK(cuGraphKernelNodeCopyAttributes(other, n));
    OK(cuGraphClone(&clone, g));
    OK(cuGraphNodeFindInClone(&there, n, clone));
    CUgraphNode all[] = { n, other, there };
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(get(all[i], CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT).sharedMemCarveout == 50);
        v = get(all[i], CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
        EXPECT(v.memSyncDomainMap.default_ == 1 && v.memSyncDomainMap.remote == 0);
    }
    OK(cuGraphDestroy(clone));
    OK(cuGraphDestroy(g));
}

/* The only node of what s captures of a launch with these attributes; *g is its graph. */
static CUgraphNode
capture(CUstream s, CUlaunchAttribute *attrs, unsigned count, CUgraph *g)
{
    CUlaunchConfig config = { .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s,
                              .attrs = attrs, .numAttrs = count };
    CUgraphNode n = NULL;
    size_t nodes = 1;
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuLaunchKernelEx(&config, k, arguments, NULL));
    OK(cuStreamEndCapture(s, g));
    OK(cuGraphGetNodes(*g, &n, &nodes));
    return n;
}

/* A captured launch's node has the attributes of the launch, and the stream's where the launch has none ("cuGraphInstantiate": priorities; CUDA C++
 * Programming Guide, "Memory Synchronization Domains"). */
static void
captured(void)
{
    CUgraph g;
    CUstream s;
    OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -2));
    CUgraphNode n = capture(s, NULL, 0, &g);
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == -2);
    CUkernelNodeAttrValue v = get(n, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
    EXPECT(v.memSyncDomainMap.default_ == 0 && v.memSyncDomainMap.remote == 1);
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT);
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT).sharedMemCarveout == 0);
    OK(cuGraphDestroy(g));

    CUstreamAttrValue of_stream = { .memSyncDomainMap = { 2, 3 } };
    OK(cuStreamSetAttribute(s, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &of_stream));
    CUaccessPolicyWindow window = { (void *)(uintptr_t)memory, 64, 0.5f, CU_ACCESS_PROPERTY_PERSISTING, CU_ACCESS_PROPERTY_STREAMING };
    CUlaunchAttribute attrs[] = {
        { .id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, .value = { .accessPolicyWindow = window } },
        { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, .value = { .clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD } },
        { .id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = { .priority = -1 } },
        { .id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, .value = { .memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE } },
        { .id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, .value = { .sharedMemCarveout = 50 } },
        { .id = CU_LAUNCH_ATTRIBUTE_IGNORE, .value = { .priority = 0 } },
    };
    n = capture(s, attrs, sizeof attrs / sizeof *attrs, &g);
    v = get(n, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
    EXPECT(v.accessPolicyWindow.base_ptr == window.base_ptr && v.accessPolicyWindow.num_bytes == 64 && v.accessPolicyWindow.hitRatio == 0.5f &&
           v.accessPolicyWindow.hitProp == CU_ACCESS_PROPERTY_PERSISTING && v.accessPolicyWindow.missProp == CU_ACCESS_PROPERTY_STREAMING);
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE).clusterSchedulingPolicyPreference == CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == -1);
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    v = get(n, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
    EXPECT(v.memSyncDomainMap.default_ == 2 && v.memSyncDomainMap.remote == 3);         /* the stream's */
    EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT).sharedMemCarveout == 50);
    /* and none of it is the stream's */
    OK(cuStreamGetAttribute(s, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_PRIORITY, &of_stream));
    EXPECT(of_stream.priority == -2);
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
}

static int
captured_policy(CUstream s, CUlaunchAttribute *attrs, unsigned count)
{
    CUgraph g;
    CUgraphNode n = capture(s, attrs, count, &g);
    int policy = (int)get(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE).clusterSchedulingPolicyPreference;
    OK(cuGraphDestroy(g));
    return policy;
}

/* What an H200 makes of what launches ask: a captured node's policy is the launch's, else the function's, else to spread the blocks; its priority is the nearest
 * that there is. */
static void
resolved(void)
{
    CUstream s = stream();
    CUlaunchAttribute policy = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE };
    EXPECT(captured_policy(s, NULL, 0) == CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING));
    EXPECT(captured_policy(s, NULL, 0) == CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    policy.value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
    EXPECT(captured_policy(s, &policy, 1) == CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    OK(cuFuncSetAttribute(k, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_CLUSTER_SCHEDULING_POLICY_DEFAULT));
    policy.value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
    EXPECT(captured_policy(s, &policy, 1) == CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);

    const int asked[] = { -100, 100, -2 }, is[] = { -5, 0, -2 };
    for (unsigned i = 0; i < 3; i++) {
        CUgraph g;
        CUlaunchAttribute priority = { .id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = { .priority = asked[i] } };
        CUgraphNode n = capture(s, &priority, 1, &g);
        EXPECT(get(n, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority == is[i]);
        OK(cuGraphDestroy(g));
    }
    OK(cuStreamDestroy_v2(s));
}

/* A launch that is refused for one of its attributes is not made, and leaves a capture as it was. */
static void
refused(void)
{
    CUstream s = stream();
    CUevent gone, elsewhere, timed, shared = NULL;
    CUcontext other;
    CUgraph g = NULL;
    size_t nodes = 0;
    OK(cuEventCreate(&timed, 0));
    (void)cuEventCreate(&shared, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);      /* which not every device has */
    OK(cuEventCreate(&gone, CU_EVENT_DISABLE_TIMING));
    OK(cuEventDestroy_v2(gone));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuEventCreate(&elsewhere, CU_EVENT_DISABLE_TIMING));
    OK(cuCtxPopCurrent_v2(NULL));
    /* The last two: "The event supplied must not be an interprocess or interop event. The event must disable timing" (CUlaunchAttributeID); codes of an H200. */
    const struct { CUevent e; CUresult now, captured; } bad[] = {
        { gone, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE }, { elsewhere, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE },
        { timed, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED }, { shared, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED },
    };
    for (unsigned i = 0; i < 9; i++) {
        CUresult now = CUDA_ERROR_INVALID_VALUE, captured = now;
        CUlaunchAttribute after = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, .value = { .clusterSchedulingPolicyPreference = 77 } };
        if (i < 8) {
            if (!bad[i / 2].e)
                continue;
            now = bad[i / 2].now;
            captured = bad[i / 2].captured;
            after = (CUlaunchAttribute){ .id = i % 2 ? CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT : CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT };
            if (i % 2)
                after.value.programmaticEvent.event = bad[i / 2].e;
            else
                after.value.launchCompletionEvent.event = bad[i / 2].e;
        }
        CUlaunchConfig config = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s,
                                  .attrs = &after, .numAttrs = 1 };
        EXPECT_RESULT(cuLaunchKernelEx(&config, k, arguments, NULL), now);
        OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
        EXPECT_RESULT(cuLaunchKernelEx(&config, k, arguments, NULL), captured);
        OK(cuStreamEndCapture(s, &g));
        OK(cuGraphGetNodes(g, NULL, &nodes));
        EXPECT(nodes == 0);
        OK(cuGraphDestroy(g));
    }
    OK(cuEventDestroy_v2(timed));
    if (shared)
        OK(cuEventDestroy_v2(shared));
    OK(cuCtxDestroy_v2(other));
    OK(cuStreamDestroy_v2(s));
}

static void CUDA_CB
nothing(void *unused)
{
}

/* A node of that type, or NULL where a device has none. *size: bytes of its parameters. */
static CUgraphNode
add_general(CUgraph g, CUgraphNodeType type, CUgraphNodeParams *p, size_t *size)
{
    static CUevent e;
    static CUgraph child;
    static CUstreamBatchMemOpParams write;
    CUgraphNode n = NULL;
    write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = memory;
    if (!e) {
        OK(cuEventCreate(&e, 0));
        OK(cuGraphCreate(&child, 0));
    }
    *p = (CUgraphNodeParams){ .type = type };
    *size = 0;                          /* an empty node's */
#define PARAMS(type, field, ...) case CU_GRAPH_NODE_TYPE_##type: *size = sizeof p->field; p->field = (__typeof__(p->field)){ __VA_ARGS__ }; break
    switch (type) {
    PARAMS(KERNEL, kernel, .func = k, 1, 1, 1, 1, 1, 1, .kernelParams = arguments);
    PARAMS(MEMCPY, memcpy, .copyCtx = ctx, .copyParams = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = memory, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
           .dstDevice = memory + 64, .WidthInBytes = 16, .Height = 1, .Depth = 1 });
    PARAMS(MEMSET, memset, .dst = memory, .elementSize = 1, .width = 16, .height = 1, .ctx = ctx);
    PARAMS(HOST, host, .fn = nothing);
    PARAMS(GRAPH, graph, .graph = child);
    PARAMS(WAIT_EVENT, eventWait, .event = e);
    PARAMS(EVENT_RECORD, eventRecord, .event = e);
    PARAMS(MEM_ALLOC, alloc, .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } }, .bytesize = 64);
    PARAMS(BATCH_MEM_OP, memOp, .ctx = ctx, .count = 1, .paramArray = &write);
    PARAMS(CONDITIONAL, conditional, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = ctx);
    default: break;
    }
#undef PARAMS
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        OK(cuGraphConditionalHandleCreate(&p->conditional.handle, g, ctx, 0, 0));
    CUgraphNodeParams given = *p;
    CUresult r = cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &given);
    EXPECT(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_SUPPORTED);
    return n;
}

/* "Unused bytes must be zero" (CUgraphNodeParams): from the end of the parameters on. */
static void
unused_bytes(void)
{
    static const CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_GRAPH,
        CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_CONDITIONAL,
    };
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
        CUgraph g;
        CUgraphNodeParams p;
        size_t size, nodes = 0;
        OK(cuGraphCreate(&g, 0));
        CUgraphNode n = add_general(g, types[t], &p, &size), other;
        const size_t first = size / sizeof *p.reserved1, last = sizeof p.reserved1 / sizeof *p.reserved1 - 1;
        for (unsigned i = 0; n && i < (types[t] == CU_GRAPH_NODE_TYPE_MEMCPY ? 6 : 4); i++) {
            CUgraphNodeParams bad = p;
            long long *word = i == 0 ? &bad.reserved1[first] : i == 1 ? &bad.reserved1[last] : i == 2 ? &bad.reserved2 : NULL;
            if (word)
                *word = 1ll << 40;
            else
                *(i == 3 ? &bad.reserved0[2] : i == 4 ? &bad.memcpy.flags : &bad.memcpy.reserved) = 1;
            EXPECT_RESULT(cuGraphAddNode_v2(&other, g, NULL, NULL, 0, &bad), CUDA_ERROR_INVALID_VALUE);
            EXPECT_RESULT(cuGraphNodeSetParams(n, &bad), CUDA_ERROR_INVALID_VALUE);
            if (types[t] == CU_GRAPH_NODE_TYPE_MEM_ALLOC || types[t] == CU_GRAPH_NODE_TYPE_CONDITIONAL)
                continue;               /* one executable graph each, and nothing of it changes */
            CUgraphExec e = instantiate(g);
            EXPECT_RESULT(cuGraphExecNodeSetParams(e, n, &bad), CUDA_ERROR_INVALID_VALUE);
            OK(cuGraphExecDestroy(e));
        }
        OK(cuGraphGetNodes(g, NULL, &nodes));
        EXPECT(nodes == (n ? 1 : 0));
        OK(cuGraphDestroy(g));
    }
}

static CUgraph
child_of(CUgraphNode n)
{
    CUgraph child = NULL;
    OK(cuGraphChildGraphNodeGetGraph(n, &child));
    return child;
}

/* cuGraphNodeSetParams of nodes that no function of their own changes: an empty one stays what it is, a child graph is another's copy from then on. */
static void
other_parameters(void)
{
    CUgraph g, empty, full;
    CUgraphNode n, c;
    size_t nodes = 0;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphCreate(&empty, 0));
    OK(cuGraphCreate(&full, 0));
    OK(cuGraphAddEmptyNode(&n, full, NULL, 0));
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
    OK(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p));
    p = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = empty } };
    OK(cuGraphAddNode_v2(&c, g, &n, NULL, 1, &p));
    CUgraphExec e = instantiate(g);
    OK(cuGraphNodeSetParams(c, &p));
    OK(cuGraphExecNodeSetParams(e, c, &p));
    p.graph.graph = full;
    OK(cuGraphNodeSetParams(c, &p));
    OK(cuGraphDestroy(full));
    OK(cuGraphGetNodes(child_of(c), NULL, &nodes));
    EXPECT(nodes == 1);
    EXPECT_RESULT(cuGraphDestroy(child_of(c)), CUDA_ERROR_INVALID_VALUE);       /* it is the node's */
    p = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY };
    OK(cuGraphNodeSetParams(n, &p));
    OK(cuGraphExecNodeSetParams(e, n, &p));
    EXPECT_RESULT(cuGraphNodeSetParams(c, &p), CUDA_ERROR_INVALID_VALUE);       /* of another type */
    OK(cuGraphExecDestroy(e));
    e = instantiate(g);
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(empty));
    OK(cuGraphDestroy(g));
}

int
main(void)
{
    CUmodule m;
    ctx = make_context();
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&k, m, "k"));
    OK(cuMemAlloc_v2(&memory, 4096));
    if (failures)
        return 1;
    static const struct graph_case tests[] = { { "cluster", cluster }, { "hints", hints }, { "captured", captured }, { "resolved", resolved }, { "refused", refused }, { "unused_bytes", unused_bytes },
                                              { "other_parameters", other_parameters } };
    run_cases(tests, sizeof tests / sizeof *tests);
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
