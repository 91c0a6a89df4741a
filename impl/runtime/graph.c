/* SPDX-License-Identifier: Apache-2.0
 * Graphs as a whole: structure, instantiation, launch, user objects, memory ("Graph Management", CUDA Runtime API). Handles,
 * edges' data and the results of instantiation and update are the driver's. Nodes' parameters are in graph_node.c. */
#include "impl/runtime/runtime.h"

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData) &&
               sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo) &&
               sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "graphs are described in the driver's structures");

cudaError_t
rt_cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    INIT();
    return rt_result(CU(cuGraphCreate)(pGraph, flags));
}

cudaError_t
rt_cudaGraphDestroy(cudaGraph_t graph)
{
    INIT();
    return rt_result(CU(cuGraphDestroy)(graph));
}

cudaError_t
rt_cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    INIT();
    return rt_result(CU(cuGraphClone)(pGraphClone, originalGraph));
}

cudaError_t
rt_cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph)
{
    INIT();
    return rt_result(CU(cuGraphNodeFindInClone)(pNode, originalNode, clonedGraph));
}

cudaError_t
rt_cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *pType)
{
    CUgraphNodeType t = 0;

    if (!pType)
        return cudaErrorInvalidValue;
    INIT();
    cudaError_t e = rt_result(CU(cuGraphNodeGetType)(node, &t));
    if (e == cudaSuccess)
        *pType = (cudaGraphNodeType)t;
    return e;
}

cudaError_t
rt_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    INIT();
    return rt_result(CU(cuGraphGetNodes)(graph, nodes, numNodes));
}

cudaError_t
rt_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes)
{
    INIT();
    return rt_result(CU(cuGraphGetRootNodes)(graph, pRootNodes, pNumRootNodes));
}

/* ---- edges -------------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edgeData, size_t *numEdges)
{
    INIT();
    return rt_result(CU(cuGraphGetEdges_v2)(graph, from, to, (CUgraphEdgeData *)(void *)edgeData, numEdges));
}

cudaError_t
rt_cudaGraphGetEdges_v12(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *numEdges)
{
    INIT();
    return rt_result(CU(cuGraphGetEdges)(graph, from, to, numEdges));
}

cudaError_t
rt_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies, cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
    INIT();
    return rt_result(CU(cuGraphNodeGetDependencies_v2)(node, pDependencies, (CUgraphEdgeData *)(void *)edgeData, pNumDependencies));
}

cudaError_t
rt_cudaGraphNodeGetDependencies_v12(cudaGraphNode_t node, cudaGraphNode_t *pDependencies, size_t *pNumDependencies)
{
    INIT();
    return rt_result(CU(cuGraphNodeGetDependencies)(node, pDependencies, pNumDependencies));
}

cudaError_t
rt_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes, cudaGraphEdgeData *edgeData,
                                  size_t *pNumDependentNodes)
{
    INIT();
    return rt_result(CU(cuGraphNodeGetDependentNodes_v2)(node, pDependentNodes, (CUgraphEdgeData *)(void *)edgeData, pNumDependentNodes));
}

cudaError_t
rt_cudaGraphNodeGetDependentNodes_v12(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes, size_t *pNumDependentNodes)
{
    INIT();
    return rt_result(CU(cuGraphNodeGetDependentNodes)(node, pDependentNodes, pNumDependentNodes));
}

cudaError_t
rt_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
                            size_t numDependencies)
{
    INIT();
    return rt_result(CU(cuGraphAddDependencies_v2)(graph, from, to, (const CUgraphEdgeData *)(const void *)edgeData, numDependencies));
}

cudaError_t
rt_cudaGraphAddDependencies_v12(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t numDependencies)
{
    INIT();
    return rt_result(CU(cuGraphAddDependencies)(graph, from, to, numDependencies));
}

cudaError_t
rt_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
                               size_t numDependencies)
{
    INIT();
    return rt_result(CU(cuGraphRemoveDependencies_v2)(graph, from, to, (const CUgraphEdgeData *)(const void *)edgeData, numDependencies));
}

cudaError_t
rt_cudaGraphRemoveDependencies_v12(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t numDependencies)
{
    INIT();
    return rt_result(CU(cuGraphRemoveDependencies)(graph, from, to, numDependencies));
}

cudaError_t
rt_cudaGraphDestroyNode(cudaGraphNode_t node)
{
    INIT();
    return rt_result(CU(cuGraphDestroyNode)(node));
}

/* ---- execution ------------------------------------------------------------------------------------------------------------------ */

cudaError_t
rt_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    ENTER();
    return rt_result(CU(cuGraphInstantiateWithFlags)(pGraphExec, graph, flags));
}

cudaError_t
rt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    return rt_cudaGraphInstantiate(pGraphExec, graph, flags);
}

cudaError_t
rt_cudaGraphInstantiate_v11(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, cudaGraphNode_t *pErrorNode, char *pLogBuffer, size_t bufferSize)
{
    ENTER();
    return rt_result(CU(cuGraphInstantiate_v2)(pGraphExec, graph, pErrorNode, pLogBuffer, bufferSize));
}

cudaError_t
rt_cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams *instantiateParams)
{
    ENTER();
    return rt_result((rt_ptds ? CU(cuGraphInstantiateWithParams_ptsz) : CU(cuGraphInstantiateWithParams))(pGraphExec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)instantiateParams));
}

cudaError_t
rt_cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    cuuint64_t f = 0;

    if (!flags)
        return cudaErrorInvalidValue;
    INIT();
    cudaError_t e = rt_result(CU(cuGraphExecGetFlags)(graphExec, &f));
    if (e == cudaSuccess)
        *flags = f;
    return e;
}

cudaError_t
rt_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphExecUpdateResultInfo *resultInfo)
{
    INIT();
    return rt_result(CU(cuGraphExecUpdate_v2)(hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)(void *)resultInfo));
}

cudaError_t
rt_cudaGraphExecUpdate_v11(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphNode_t *hErrorNode_out,
                           cudaGraphExecUpdateResult *updateResult_out)
{
    INIT();
    return rt_result(CU(cuGraphExecUpdate)(hGraphExec, hGraph, hErrorNode_out, (CUgraphExecUpdateResult *)(void *)updateResult_out));
}

cudaError_t
rt_cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuGraphUpload)(graphExec, stream));
}

cudaError_t
rt_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuGraphLaunch)(graphExec, stream));
}

cudaError_t
rt_cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    INIT();
    return rt_result(CU(cuGraphExecDestroy)(graphExec));
}

cudaError_t
rt_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    /* The flags of the two APIs differ only in that the driver's has one more, for what the Runtime calls its own types. */
    INIT();
    return rt_result(CU(cuGraphDebugDotPrint)(graph, path, flags));
}

/* ---- user objects ----------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy, unsigned int initialRefcount, unsigned int flags)
{
    INIT();
    return rt_result(CU(cuUserObjectCreate)(object_out, ptr, destroy, initialRefcount, flags));
}

cudaError_t
rt_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    INIT();
    return rt_result(CU(cuUserObjectRetain)(object, count));
}

cudaError_t
rt_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    INIT();
    return rt_result(CU(cuUserObjectRelease)(object, count));
}

cudaError_t
rt_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags)
{
    INIT();
    return rt_result(CU(cuGraphRetainUserObject)(graph, object, count, flags));
}

cudaError_t
rt_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
    INIT();
    return rt_result(CU(cuGraphReleaseUserObject)(graph, object, count));
}

/* ---- memory of graphs --------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaDeviceGraphMemTrim(int device)
{
    INIT();
    return rt_result(CU(cuDeviceGraphMemTrim)(device));
}

cudaError_t
rt_cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void *value)
{
    INIT();
    return rt_result(CU(cuDeviceGetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t
rt_cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void *value)
{
    INIT();
    return rt_result(CU(cuDeviceSetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}
