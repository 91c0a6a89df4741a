/* SPDX-License-Identifier: Apache-2.0
 * Nodes of each type: adding them, reading their parameters back and changing them. A description is made and checked first
 * (graph_work.c); what it replaces is released after the lock. */
#include "impl/driver/graph.h"

#include <stdlib.h>

/* Add w, which `made` says was made, to the graph. */
static CUresult
add(CUgraphNode *out, CUgraph hGraph, const CUgraphNode *deps, size_t n, CUresult made, struct work *w)
{
    if (made != CUDA_SUCCESS)
        return made;
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    CUresult e = !g || !out || (n && !deps) ? CUDA_ERROR_INVALID_VALUE : node_add(g, deps, n, w, out);
    if (e != CUDA_SUCCESS)
        work_finish(w);
    return e;
}

/* What is wrong with the call whatever the node is: known before anything is made. */
#define CHECK_ADD(node, graph, deps, n)                                                                                \
    do {                                                                                                               \
        READY();                                                                                                       \
        if (!(node) || handle_kind(graph) != KIND_GRAPH || ((n) && !(deps)))                                           \
            return CUDA_ERROR_INVALID_VALUE;                                                                           \
    } while (0)

/* The node h of that type; other types (and no nodes) are invalid values. */
#define NODE_OF(n, h, t)                                                                                               \
    READY();                                                                                                           \
    struct node *n AUTO_PUT = handle_get(h, KIND_NODE);                                                                \
    if (!n || n->type != (t))                                                                                          \
        return CUDA_ERROR_INVALID_VALUE

static inline void
unlock_graphs(pthread_mutex_t **l)
{
    if (*l)
        pthread_mutex_unlock(*l);
    *l = NULL;
}

/* The same, with graph_lock held until the function returns: nobody replaces the node's work. */
#define NODE_LOCKED(n, h, t)                                                                                           \
    NODE_OF(n, h, t);                                                                                                  \
    pthread_mutex_lock(&graph_lock);                                                                                   \
    pthread_mutex_t *held_ __attribute__((cleanup(unlock_graphs))) = &graph_lock
/* *out = value, without the lock: a handler of SIGSEGV may leave the call by a long jump. */
#define GIVE(out, value)                                                                                               \
    do {                                                                                                               \
        const __typeof__(*(out)) value_ = (value);                                                                     \
        unlock_graphs(&held_);                                                                                         \
        *(out) = value_;                                                                                               \
        return CUDA_SUCCESS;                                                                                           \
    } while (0)

/* The handle of the context that n's work is for. */
static CUcontext
node_context(const struct node *n)
{
    pthread_mutex_lock(&graph_lock);
    CUcontext h = work_context(&n->w)->handle;
    pthread_mutex_unlock(&graph_lock);
    return h;
}

static CUresult
replace(struct node *n, CUresult made, struct work *w)
{
    if (made != CUDA_SUCCESS)
        return made;
    pthread_mutex_lock(&graph_lock);
    struct work old = n->w;
    CUresult e = work_keep(w, &old);
    if (e == CUDA_SUCCESS)
        n->w = *w;
    if (e == CUDA_SUCCESS && w->type == CU_GRAPH_NODE_TYPE_GRAPH)
        w->child->owner = n;
    pthread_mutex_unlock(&graph_lock);
    work_finish(e == CUDA_SUCCESS ? &old : w);
    return e;
}

/* ---- kernels -------------------------------------------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS
kernel_v2(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    return (CUDA_KERNEL_NODE_PARAMS){ p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ,
                                      p->sharedMemBytes, p->kernelParams, p->extra, NULL, NULL };
}

CUresult
drv_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                            const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct work w;
    return add(phGraphNode, hGraph, dependencies, numDependencies, work_kernel_params(&w, nodeParams), &w);
}

CUresult
drv_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                         const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS p = kernel_v2(nodeParams);
    return drv_cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult
drv_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    const struct cwb_launch *l = &n->w.kernel.l;
    struct func *f = n->w.kernel.f;
    GIVE(nodeParams, ((CUDA_KERNEL_NODE_PARAMS){ HANDLE(CUfunction, f), l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                                                 l->block[2], l->dynamic_shared, n->w.kernel.args, NULL, NULL, f->obj.ctx->handle }));
}

CUresult
drv_cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS v;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = drv_cuGraphKernelNodeGetParams_v2(hNode, &v);
    if (e == CUDA_SUCCESS)
        *p = (CUDA_KERNEL_NODE_PARAMS_v1){ v.func, v.gridDimX, v.gridDimY, v.gridDimZ, v.blockDimX, v.blockDimY, v.blockDimZ,
                                           v.sharedMemBytes, v.kernelParams, v.extra };
    return e;
}

CUresult
drv_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    NODE_OF(n, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    struct work w;
    return replace(n, work_kernel_params(&w, nodeParams), &w);
}

CUresult
drv_cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS p = kernel_v2(nodeParams);
    return drv_cuGraphKernelNodeSetParams_v2(hNode, &p);
}

/* What is read back may be less than a whole value: the rest of *value_out stays as it is. */
CUresult
drv_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    const struct hints hints = n->w.kernel.hints;
    const bool cooperative = (n->w.kernel.l.flags & CWB_LAUNCH_COOPERATIVE) != 0;
    uint32_t size[3];                   /* as an H100: the kernel's directive counts, too; zeros: nobody asks for clusters */
    memcpy(size, n->w.kernel.l.cluster[0] ? n->w.kernel.l.cluster : n->w.kernel.f->k->cluster, sizeof size);
    unlock_graphs(&held_);              /* *value_out is written without it */
    if (!value_out)
        return CUDA_ERROR_INVALID_VALUE;
    if (hint_for(HINT_KERNEL, attr)) {
        hint_get(&hints, attr, value_out);
        return CUDA_SUCCESS;
    }
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        value_out->cooperative = cooperative;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        value_out->clusterDim.x = size[0];
        value_out->clusterDim.y = size[1];
        value_out->clusterDim.z = size[2];
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        value_out->deviceUpdatableKernelNode.deviceUpdatable = 0;
        value_out->deviceUpdatableKernelNode.devNode = NULL;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult
set_attribute(struct node *n, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
    if (hint_for(HINT_KERNEL, attr))
        return hint_set(&n->w.kernel.hints, attr, value);
    struct cwb_launch l = n->w.kernel.l;
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        l.flags = value->cooperative ? l.flags | CWB_LAUNCH_COOPERATIVE : l.flags & ~(uint32_t)CWB_LAUNCH_COOPERATIVE;
        break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {       /* zeros: no clusters (driver 580) */
        const uint32_t size[3] = { value->clusterDim.x, value->clusterDim.y, value->clusterDim.z };
        const bool none = !size[0] && !size[1] && !size[2];
        if (!none && (!size[0] || !size[1] || !size[2]))
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        memcpy(l.cluster, size, sizeof l.cluster);
        l.flags = none ? l.flags & ~(uint32_t)CWB_LAUNCH_CLUSTER : l.flags | CWB_LAUNCH_CLUSTER;
        break;
    }
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return value->deviceUpdatableKernelNode.deviceUpdatable ? unsupported("cuGraphKernelNodeSetAttribute", "a node that the device updates")
                                                                : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:    /* a hint that can only be given (driver 580) */
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult e = launch_check(n->w.kernel.f, &l);
    if (e == CUDA_SUCCESS)
        n->w.kernel.l = l;
    return e;
}

CUresult
drv_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
    NODE_OF(n, hNode, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    const CUkernelNodeAttrValue v = *value;     /* read without the lock */
    pthread_mutex_lock(&graph_lock);
    CUresult e = set_attribute(n, attr, &v);
    pthread_mutex_unlock(&graph_lock);
    return e;
}

CUresult
drv_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    const uint32_t copied = CWB_LAUNCH_COOPERATIVE | CWB_LAUNCH_CLUSTER;
    struct node *s AUTO_PUT = handle_get(src, KIND_NODE);
    NODE_LOCKED(d, dst, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!s || s->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    struct cwb_launch l = d->w.kernel.l;
    l.flags = (l.flags & ~copied) | (s->w.kernel.l.flags & copied);
    memcpy(l.cluster, s->w.kernel.l.cluster, sizeof l.cluster);
    if (launch_check(d->w.kernel.f, &l) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;        /* they do not suit its shape (so an H200) */
    d->w.kernel.l = l;
    d->w.kernel.hints = s->w.kernel.hints;
    return CUDA_SUCCESS;
}

/* ---- copies and fills ------------------------------------------------------------------------------------------------------------- */

CUresult
drv_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                         const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct work w;
    return add(phGraphNode, hGraph, dependencies, numDependencies, work_memcpy(&w, copyParams, ctx), &w);
}

CUresult
drv_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(nodeParams, n->w.copy.p);
}

CUresult
drv_cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    NODE_OF(n, hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
    struct work w;
    return replace(n, work_memcpy(&w, nodeParams, node_context(n)), &w);
}

CUresult
drv_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                         const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct work w;
    return add(phGraphNode, hGraph, dependencies, numDependencies, work_memset(&w, memsetParams, ctx), &w);
}

CUresult
drv_cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_MEMSET);
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(nodeParams, n->w.fill.p);
}

CUresult
drv_cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    NODE_OF(n, hNode, CU_GRAPH_NODE_TYPE_MEMSET);
    struct work w;
    return replace(n, work_memset(&w, nodeParams, node_context(n)), &w);
}

/* ---- host functions, empty nodes, children, events ---------------------------------------------------------------------------------- */

CUresult
drv_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                       const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct work w;
    return add(phGraphNode, hGraph, dependencies, numDependencies, work_host(&w, nodeParams), &w);
}

CUresult
drv_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_HOST);
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(nodeParams, n->w.host);
}

CUresult
drv_cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    NODE_OF(n, hNode, CU_GRAPH_NODE_TYPE_HOST);
    struct work w;
    return replace(n, work_host(&w, nodeParams), &w);
}

CUresult
drv_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct work w = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
    return add(phGraphNode, hGraph, dependencies, numDependencies, CUDA_SUCCESS, &w);
}

CUresult
drv_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                             CUgraph childGraph)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct graph *g AUTO_PUT = handle_get(childGraph, KIND_GRAPH);
    if (!g || childGraph == hGraph)
        return CUDA_ERROR_INVALID_VALUE;
    struct work w = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
    return add(phGraphNode, hGraph, dependencies, numDependencies, graph_child(g, &w.child), &w);
}

CUresult
drv_cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_GRAPH);
    if (!phGraph)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(phGraph, HANDLE(CUgraph, n->w.child));
}

static CUresult
add_event(CUgraphNodeType type, CUgraphNode *out, CUgraph hGraph, const CUgraphNode *dependencies, size_t n, CUevent event)
{
    CHECK_ADD(out, hGraph, dependencies, n);
    struct work w;
    return add(out, hGraph, dependencies, n, work_event(&w, type, event), &w);
}

static CUresult
get_event(CUgraphNodeType type, CUgraphNode hNode, CUevent *out)
{
    NODE_LOCKED(n, hNode, type);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(out, HANDLE(CUevent, n->w.event));
}

static CUresult
set_event(CUgraphNodeType type, CUgraphNode hNode, CUevent event)
{
    NODE_OF(n, hNode, type);
    struct work w;
    return replace(n, work_event(&w, type, event), &w);
}

CUresult
drv_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                              CUevent event)
{
    return add_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, phGraphNode, hGraph, dependencies, numDependencies, event);
}

CUresult
drv_cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return get_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, hNode, event_out);
}

CUresult
drv_cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return set_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, hNode, event);
}

CUresult
drv_cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                            CUevent event)
{
    return add_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, phGraphNode, hGraph, dependencies, numDependencies, event);
}

CUresult
drv_cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return get_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, hNode, event_out);
}

CUresult
drv_cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return set_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, hNode, event);
}

/* ---- memory, values ---------------------------------------------------------------------------------------------------------------- */

CUresult
drv_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                           CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct work w;
    return add(phGraphNode, hGraph, dependencies, numDependencies, work_alloc(&w, NULL, nodeParams), &w);
}

CUresult
drv_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    if (!params_out)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(params_out, n->w.alloc.p);
}

/* A free node of that memory anywhere in the graph. graph_lock held. */
static bool
freed_in(const struct graph *g, const struct graph_memory *m)
{
    for (const struct node *n = g->first; n; n = n->next)
        if (n->w.type == CU_GRAPH_NODE_TYPE_MEM_FREE && n->w.free.m == m)
            return true;
    return false;
}

CUresult
drv_cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                          CUdeviceptr dptr)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    struct work w;
    CUresult e = g ? work_free(&w, dptr) : CUDA_ERROR_INVALID_VALUE;
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&graph_lock);
    bool twice = freed_in(g, w.free.m);
    pthread_mutex_unlock(&graph_lock);
    if (twice) {
        work_finish(&w);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return add(phGraphNode, hGraph, dependencies, numDependencies, e, &w);
}

CUresult
drv_cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_MEM_FREE);
    if (!dptr_out)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(dptr_out, n->w.free.address);
}

CUresult
drv_cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                             const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    struct work w;
    return add(phGraphNode, hGraph, dependencies, numDependencies, work_batch_params(&w, nodeParams), &w);
}

CUresult
drv_cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    NODE_LOCKED(n, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    GIVE(p, ((CUDA_BATCH_MEM_OP_NODE_PARAMS){ n->w.batch.ctx->handle, n->w.batch.count, n->w.batch.list, n->w.batch.flags }));
}

CUresult
drv_cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    NODE_OF(n, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    struct work w;
    return replace(n, work_batch_params(&w, nodeParams), &w);
}

/* ---- any node (CUDA 12.3) ------------------------------------------------------------------------------------------------------------ */

CUresult
drv_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                      size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    CHECK_ADD(phGraphNode, hGraph, dependencies, numDependencies);
    CUresult e = edges_check("cuGraphAddNode_v2", dependencies, dependencyData, numDependencies);
    if (e != CUDA_SUCCESS)
        return e;
    if (!general_form(nodeParams))
        return CUDA_ERROR_INVALID_VALUE;
    struct work w;
    return add(phGraphNode, hGraph, dependencies, numDependencies, work_general(&w, nodeParams), &w);
}

CUresult
drv_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies,
                   CUgraphNodeParams *nodeParams)
{
    return drv_cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

CUresult
drv_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    READY();
    struct node *n AUTO_PUT = handle_get(hNode, KIND_NODE);
    if (!n || !general_form(nodeParams) || nodeParams->type != n->type)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)n->type) {
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return CUDA_ERROR_INVALID_VALUE;        /* these have nothing that may change */
    }
    struct work w;
    return replace(n, work_general(&w, nodeParams), &w);
}
