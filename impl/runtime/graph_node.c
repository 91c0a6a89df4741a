/* SPDX-License-Identifier: Apache-2.0
 * Nodes of graphs: their parameters in the driver's terms and back ("Graph Management", CUDA Runtime API). A kernel is named by
 * the program's host stub or a cudaKernel_t; a copy is a cudaMemcpy3DParms, or one dimension of it. */
#include "impl/runtime/runtime.h"

#define NEW cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies, size_t numDependencies

/* The calling thread's context, for nodes that the driver wants one for. */
static CUcontext
here(void)
{
    return rt_self.context;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------------------------- */

static cudaError_t
function_of(const void *func, CUfunction *out)
{
    const char *name;
    cudaError_t e = rt_function(func, out);

    /* What a driver's launch put into a captured graph has no host stub: cudaGraphKernelNodeGetParams gave the function itself. */
    if ((e == cudaErrorInvalidDeviceFunction || e == cudaErrorInvalidResourceHandle) && func && CU(cuFuncGetName)(&name, (CUfunction)(uintptr_t)func) == CUDA_SUCCESS) {
        *out = (CUfunction)(uintptr_t)func;
        e = cudaSuccess;
    }
    return e;
}

static cudaError_t
kernel(const cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *out)
{
    if (!p)
        return cudaErrorInvalidValue;
    *out = (CUDA_KERNEL_NODE_PARAMS){ .gridDimX = p->gridDim.x, .gridDimY = p->gridDim.y, .gridDimZ = p->gridDim.z,
                                      .blockDimX = p->blockDim.x, .blockDimY = p->blockDim.y, .blockDimZ = p->blockDim.z,
                                      .sharedMemBytes = p->sharedMemBytes, .kernelParams = p->kernelParams, .extra = p->extra };
    cudaError_t e = function_of(p->func, &out->func);
    return e == cudaSuccess ? rt_check_dimensions(p->gridDim, p->blockDim) : e;
}

static void
kernel_back(const CUDA_KERNEL_NODE_PARAMS *k, cudaKernelNodeParams *out)
{
    const void *entry = k->func ? rt_entry_of(k->func) : NULL;

    *out = (cudaKernelNodeParams){ .func = entry ? (void *)(uintptr_t)entry : k->func ? (void *)k->func : (void *)k->kern,
                                   .gridDim = { k->gridDimX, k->gridDimY, k->gridDimZ }, .blockDim = { k->blockDimX, k->blockDimY, k->blockDimZ },
                                   .sharedMemBytes = k->sharedMemBytes, .kernelParams = k->kernelParams, .extra = k->extra };
}

cudaError_t
rt_cudaGraphAddKernelNode(NEW, const cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS k;

    ENTER();
    cudaError_t e = kernel(pNodeParams, &k);
    return e == cudaSuccess ? rt_result(CU(cuGraphAddKernelNode_v2)(pGraphNode, graph, pDependencies, numDependencies, &k)) : e;
}

cudaError_t
rt_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS k;

    if (!pNodeParams)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuGraphKernelNodeGetParams_v2)(node, &k));
    if (e == cudaSuccess)
        kernel_back(&k, pNodeParams);
    return e;
}

cudaError_t
rt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS k;

    ENTER();
    cudaError_t e = kernel(pNodeParams, &k);
    return e == cudaSuccess ? rt_result(CU(cuGraphKernelNodeSetParams_v2)(node, &k)) : e;
}

cudaError_t
rt_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS k;

    ENTER();
    cudaError_t e = kernel(pNodeParams, &k);
    return e == cudaSuccess ? rt_result(CU(cuGraphExecKernelNodeSetParams_v2)(hGraphExec, node, &k)) : e;
}

cudaError_t
rt_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    INIT();
    /* The declaration calls the first the source; both APIs copy from hSrc to hDst. */
    return rt_result(CU(cuGraphKernelNodeCopyAttributes)(hDst, hSrc));
}

cudaError_t
rt_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr, cudaLaunchAttributeValue *value_out)
{
    INIT();
    return rt_result(CU(cuGraphKernelNodeGetAttribute)(hNode, (CUkernelNodeAttrID)attr, (CUkernelNodeAttrValue *)(void *)value_out));
}

cudaError_t
rt_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr, const cudaLaunchAttributeValue *value)
{
    INIT();
    return rt_result(CU(cuGraphKernelNodeSetAttribute)(hNode, (CUkernelNodeAttrID)attr, (const CUkernelNodeAttrValue *)(const void *)value));
}

/* ---- copies ------------------------------------------------------------------------------------------------------------------------- */

static cudaMemcpy3DParms
line(void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    return (cudaMemcpy3DParms){ .srcPtr = { (void *)(uintptr_t)src, count, count, 1 }, .dstPtr = { dst, count, count, 1 },
                                .extent = { count, 1, 1 }, .kind = kind };
}

/* The end of a copy that is a variable of the program. */
static cudaError_t
variable_part(const void *symbol, size_t count, size_t offset, void **out)
{
    CUdeviceptr a = 0;
    size_t size = 0;
    cudaError_t e = rt_variable(symbol, &a, &size);

    if (e == cudaSuccess && (offset > size || count > size - offset))
        e = cudaErrorInvalidValue;
    *out = rt_pointer(a + offset);
    return e;
}

static cudaError_t
add_copy(NEW, const cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D c;
    cudaError_t e = rt_copy_3d(p, &c);
    return e == cudaSuccess ? rt_result(CU(cuGraphAddMemcpyNode)(pGraphNode, graph, pDependencies, numDependencies, &c, here())) : e;
}

/* exec: in an executable graph, or NULL: the node itself. */
static cudaError_t
set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D c;
    cudaError_t e = rt_copy_3d(p, &c);
    if (e != cudaSuccess)
        return e;
    return rt_result(exec ? CU(cuGraphExecMemcpyNodeSetParams)(exec, node, &c, here()) : CU(cuGraphMemcpyNodeSetParams)(node, &c));
}

cudaError_t
rt_cudaGraphAddMemcpyNode(NEW, const cudaMemcpy3DParms *pCopyParams)
{
    ENTER();
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, pCopyParams);
}

cudaError_t
rt_cudaGraphAddMemcpyNode1D(NEW, void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    ENTER();
    cudaMemcpy3DParms p = line(dst, src, count, kind);
    return add_copy(pGraphNode, graph, pDependencies, numDependencies, &p);
}

cudaError_t
rt_cudaGraphAddMemcpyNodeToSymbol(NEW, const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind)
{
    void *dst;
    ENTER();
    cudaError_t e = variable_part(symbol, count, offset, &dst);
    return e == cudaSuccess ? rt_cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies, numDependencies, dst, src, count, kind) : e;
}

cudaError_t
rt_cudaGraphAddMemcpyNodeFromSymbol(NEW, void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind)
{
    void *src;
    ENTER();
    cudaError_t e = variable_part(symbol, count, offset, &src);
    return e == cudaSuccess ? rt_cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies, numDependencies, dst, src, count, kind) : e;
}

cudaError_t
rt_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D c;

    if (!pNodeParams)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuGraphMemcpyNodeGetParams)(node, &c));
    if (e == cudaSuccess)
        rt_copy_3d_back(&c, pNodeParams);
    return e;
}

cudaError_t
rt_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *pNodeParams)
{
    ENTER();
    return set_copy(NULL, node, pNodeParams);
}

cudaError_t
rt_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaMemcpy3DParms *pNodeParams)
{
    ENTER();
    return hGraphExec ? set_copy(hGraphExec, node, pNodeParams) : cudaErrorInvalidValue;
}

cudaError_t
rt_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    ENTER();
    cudaMemcpy3DParms p = line(dst, src, count, kind);
    return set_copy(NULL, node, &p);
}

cudaError_t
rt_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *src, size_t count,
                                      cudaMemcpyKind kind)
{
    ENTER();
    cudaMemcpy3DParms p = line(dst, src, count, kind);
    return hGraphExec ? set_copy(hGraphExec, node, &p) : cudaErrorInvalidValue;
}

cudaError_t
rt_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *src, size_t count, size_t offset,
                                        cudaMemcpyKind kind)
{
    void *dst;
    ENTER();
    cudaError_t e = variable_part(symbol, count, offset, &dst);
    return e == cudaSuccess ? rt_cudaGraphMemcpyNodeSetParams1D(node, dst, src, count, kind) : e;
}

cudaError_t
rt_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol, size_t count, size_t offset,
                                          cudaMemcpyKind kind)
{
    void *src;
    ENTER();
    cudaError_t e = variable_part(symbol, count, offset, &src);
    return e == cudaSuccess ? rt_cudaGraphMemcpyNodeSetParams1D(node, dst, src, count, kind) : e;
}

cudaError_t
rt_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const void *symbol, const void *src, size_t count,
                                            size_t offset, cudaMemcpyKind kind)
{
    void *dst;
    ENTER();
    cudaError_t e = variable_part(symbol, count, offset, &dst);
    return e == cudaSuccess ? rt_cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, dst, src, count, kind) : e;
}

cudaError_t
rt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *symbol, size_t count,
                                              size_t offset, cudaMemcpyKind kind)
{
    void *src;
    ENTER();
    cudaError_t e = variable_part(symbol, count, offset, &src);
    return e == cudaSuccess ? rt_cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, dst, src, count, kind) : e;
}

/* ---- fills -------------------------------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS_v1), "a fill is described in the driver's structure");

cudaError_t
rt_cudaGraphAddMemsetNode(NEW, const cudaMemsetParams *pMemsetParams)
{
    ENTER();
    return rt_result(CU(cuGraphAddMemsetNode)(pGraphNode, graph, pDependencies, numDependencies,
                                              (const CUDA_MEMSET_NODE_PARAMS *)(const void *)pMemsetParams, here()));
}

cudaError_t
rt_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *pNodeParams)
{
    INIT();
    return rt_result(CU(cuGraphMemsetNodeGetParams)(node, (CUDA_MEMSET_NODE_PARAMS *)(void *)pNodeParams));
}

cudaError_t
rt_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *pNodeParams)
{
    INIT();
    return rt_result(CU(cuGraphMemsetNodeSetParams)(node, (const CUDA_MEMSET_NODE_PARAMS *)(const void *)pNodeParams));
}

cudaError_t
rt_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaMemsetParams *pNodeParams)
{
    ENTER();
    return rt_result(CU(cuGraphExecMemsetNodeSetParams)(hGraphExec, node, (const CUDA_MEMSET_NODE_PARAMS *)(const void *)pNodeParams, here()));
}

/* ---- host functions, graphs, nothing, events: the driver's --------------------------------------------------------------------------- */

_Static_assert(sizeof(cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "a host function is described in the driver's structure");

cudaError_t
rt_cudaGraphAddHostNode(NEW, const cudaHostNodeParams *pNodeParams)
{
    INIT();
    return rt_result(CU(cuGraphAddHostNode)(pGraphNode, graph, pDependencies, numDependencies,
                                            (const CUDA_HOST_NODE_PARAMS *)(const void *)pNodeParams));
}

cudaError_t
rt_cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams *pNodeParams)
{
    INIT();
    return rt_result(CU(cuGraphHostNodeGetParams)(node, (CUDA_HOST_NODE_PARAMS *)(void *)pNodeParams));
}

cudaError_t
rt_cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams *pNodeParams)
{
    INIT();
    return rt_result(CU(cuGraphHostNodeSetParams)(node, (const CUDA_HOST_NODE_PARAMS *)(const void *)pNodeParams));
}

cudaError_t
rt_cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaHostNodeParams *pNodeParams)
{
    INIT();
    return rt_result(CU(cuGraphExecHostNodeSetParams)(hGraphExec, node, (const CUDA_HOST_NODE_PARAMS *)(const void *)pNodeParams));
}

cudaError_t
rt_cudaGraphAddChildGraphNode(NEW, cudaGraph_t childGraph)
{
    INIT();
    return rt_result(CU(cuGraphAddChildGraphNode)(pGraphNode, graph, pDependencies, numDependencies, childGraph));
}

cudaError_t
rt_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    INIT();
    return rt_result(CU(cuGraphChildGraphNodeGetGraph)(node, pGraph));
}

cudaError_t
rt_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, cudaGraph_t childGraph)
{
    INIT();
    return rt_result(CU(cuGraphExecChildGraphNodeSetParams)(hGraphExec, node, childGraph));
}

cudaError_t
rt_cudaGraphAddEmptyNode(NEW)
{
    INIT();
    return rt_result(CU(cuGraphAddEmptyNode)(pGraphNode, graph, pDependencies, numDependencies));
}

cudaError_t
rt_cudaGraphAddEventRecordNode(NEW, cudaEvent_t event)
{
    INIT();
    return rt_result(CU(cuGraphAddEventRecordNode)(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t
rt_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    INIT();
    return rt_result(CU(cuGraphEventRecordNodeGetEvent)(node, event_out));
}

cudaError_t
rt_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    INIT();
    return rt_result(CU(cuGraphEventRecordNodeSetEvent)(node, event));
}

cudaError_t
rt_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event)
{
    INIT();
    return rt_result(CU(cuGraphExecEventRecordNodeSetEvent)(hGraphExec, hNode, event));
}

cudaError_t
rt_cudaGraphAddEventWaitNode(NEW, cudaEvent_t event)
{
    INIT();
    return rt_result(CU(cuGraphAddEventWaitNode)(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t
rt_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    INIT();
    return rt_result(CU(cuGraphEventWaitNodeGetEvent)(node, event_out));
}

cudaError_t
rt_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    INIT();
    return rt_result(CU(cuGraphEventWaitNodeSetEvent)(node, event));
}

cudaError_t
rt_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event)
{
    INIT();
    return rt_result(CU(cuGraphExecEventWaitNodeSetEvent)(hGraphExec, hNode, event));
}

cudaError_t
rt_cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
    INIT();
    return rt_result(CU(cuGraphNodeSetEnabled)(hGraphExec, hNode, isEnabled));
}

cudaError_t
rt_cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled)
{
    INIT();
    return rt_result(CU(cuGraphNodeGetEnabled)(hGraphExec, hNode, isEnabled));
}

/* ---- memory --------------------------------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "an allocation is described in the driver's structure");

cudaError_t
rt_cudaGraphAddMemAllocNode(NEW, cudaMemAllocNodeParams *nodeParams)
{
    ENTER();
    return rt_result(CU(cuGraphAddMemAllocNode)(pGraphNode, graph, pDependencies, numDependencies,
                                                (CUDA_MEM_ALLOC_NODE_PARAMS *)(void *)nodeParams));
}

cudaError_t
rt_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams *params_out)
{
    INIT();
    return rt_result(CU(cuGraphMemAllocNodeGetParams)(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)(void *)params_out));
}

cudaError_t
rt_cudaGraphAddMemFreeNode(NEW, void *dptr)
{
    ENTER();
    return rt_result(CU(cuGraphAddMemFreeNode)(pGraphNode, graph, pDependencies, numDependencies, rt_dptr(dptr)));
}

/* dptr_out is where the pointer goes, though declared as the pointer. */
cudaError_t
rt_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    INIT();
    return rt_result(CU(cuGraphMemFreeNodeGetParams)(node, dptr_out));
}

/* ---- nodes of any kind ------------------------------------------------------------------------------------------------------------------ */

/* "Unused bytes must be zero": those behind the parameters, where the driver has them otherwise; at the others it looks itself. */
static bool
own_form(const cudaGraphNodeParams *p)
{
    const size_t size = p->type == cudaGraphNodeTypeKernel ? sizeof p->kernel : p->type == cudaGraphNodeTypeMemcpy ? sizeof p->memcpy
                        : p->type == cudaGraphNodeTypeMemset ? sizeof p->memset : p->type == cudaGraphNodeTypeConditional ? sizeof p->conditional
                        : sizeof p->reserved1;
    bool zero = true;
    for (size_t i = size / sizeof *p->reserved1; i < COUNT(p->reserved1); i++)
        zero &= p->reserved1[i] == 0;
    return zero;
}

/* The kinds whose parameters the two APIs have alike are copied as they are. */
static cudaError_t
params(const cudaGraphNodeParams *in, CUgraphNodeParams *out)
{
    CUDA_KERNEL_NODE_PARAMS k;
    cudaKernelNodeParams kp;

    _Static_assert(sizeof in->reserved1 == sizeof out->reserved1, "as long as the driver's");
    if (!in || !own_form(in))
        return cudaErrorInvalidValue;
    memset(out, 0, sizeof *out);
    out->type = (CUgraphNodeType)in->type;
    memcpy(out->reserved0, in->reserved0, sizeof out->reserved0);
    out->reserved2 = in->reserved2;
    cudaError_t e = cudaSuccess;
    switch (in->type) {
    case cudaGraphNodeTypeKernel:
        _Static_assert(sizeof kp == sizeof in->kernel && sizeof k == sizeof out->kernel, "two names of one structure");
        memcpy(&kp, &in->kernel, sizeof kp);
        e = kernel(&kp, &k);
        if (e == cudaSuccess)
            memcpy(&out->kernel, &k, sizeof k);
        return e;
    case cudaGraphNodeTypeMemcpy:
        out->memcpy.flags = in->memcpy.flags;   /* the driver looks at these */
        out->memcpy.reserved = in->memcpy.reserved[0] | in->memcpy.reserved[1] | in->memcpy.reserved[2];
        out->memcpy.copyCtx = here();
        return rt_copy_3d(&in->memcpy.copyParams, &out->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        memcpy(&out->memset, &in->memset, sizeof in->memset);
        out->memset.ctx = here();
        return cudaSuccess;
    case cudaGraphNodeTypeConditional:
        out->conditional.handle = in->conditional.handle;
        out->conditional.type = (CUgraphConditionalNodeType)in->conditional.type;
        out->conditional.size = in->conditional.size;
        out->conditional.phGraph_out = in->conditional.phGraph_out;
        out->conditional.ctx = here();
        return cudaSuccess;
    default:
        memcpy(out->reserved1, in->reserved1, sizeof out->reserved1);
        return cudaSuccess;
    }
}

/* What the driver wrote for the program to read. */
static void
results(const CUgraphNodeParams *from, cudaGraphNodeParams *to)
{
    if (to->type == cudaGraphNodeTypeMemAlloc)
        to->alloc.dptr = rt_pointer(from->alloc.dptr);
    else if (to->type == cudaGraphNodeTypeConditional)
        to->conditional.phGraph_out = from->conditional.phGraph_out;
}

cudaError_t
rt_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
                    const cudaGraphEdgeData *dependencyData, size_t numDependencies, cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams p;

    ENTER();
    cudaError_t e = params(nodeParams, &p);
    if (e == cudaSuccess)
        e = rt_result(CU(cuGraphAddNode_v2)(pGraphNode, graph, pDependencies, (const CUgraphEdgeData *)(const void *)dependencyData,
                                            numDependencies, &p));
    if (e == cudaSuccess)
        results(&p, nodeParams);
    return e;
}

cudaError_t
rt_cudaGraphAddNode_v12(NEW, cudaGraphNodeParams *nodeParams)
{
    return rt_cudaGraphAddNode(pGraphNode, graph, pDependencies, NULL, numDependencies, nodeParams);
}

cudaError_t
rt_cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams p;

    ENTER();
    cudaError_t e = params(nodeParams, &p);
    return e == cudaSuccess ? rt_result(CU(cuGraphNodeSetParams)(node, &p)) : e;
}

cudaError_t
rt_cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node, cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams p;

    ENTER();
    cudaError_t e = params(nodeParams, &p);
    return e == cudaSuccess ? rt_result(CU(cuGraphExecNodeSetParams)(graphExec, node, &p)) : e;
}

cudaError_t
rt_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph, unsigned int defaultLaunchValue,
                                    unsigned int flags)
{
    CUgraphConditionalHandle h = 0;

    if (!pHandle_out)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuGraphConditionalHandleCreate)(&h, graph, here(), defaultLaunchValue, flags));
    if (e == cudaSuccess)
        *pHandle_out = h;
    return e;
}
