/* SPDX-License-Identifier: Apache-2.0
 * Streams and capture ("Stream Management", CUDA Runtime API). Handles are the driver's. */
#include "impl/runtime/runtime.h"

cudaError_t
rt_cudaStreamCreate(cudaStream_t *pStream)
{
    return rt_cudaStreamCreateWithPriority(pStream, cudaStreamDefault, 0);
}

cudaError_t
rt_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return rt_cudaStreamCreateWithPriority(pStream, flags, 0);
}

cudaError_t
rt_cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    if (!pStream || flags & ~(unsigned)cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    ENTER();
    return rt_result(priority ? CU(cuStreamCreateWithPriority)(pStream, flags, priority) : CU(cuStreamCreate)(pStream, flags));
}

cudaError_t
rt_cudaStreamDestroy(cudaStream_t stream)
{
    ENTER();
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return cudaErrorInvalidResourceHandle;
    return rt_result(CU(cuStreamDestroy_v2)(stream));
}

cudaError_t
rt_cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    ENTER();
    return rt_result(CU(cuStreamGetPriority)(hStream, priority));
}

cudaError_t
rt_cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    ENTER();
    return rt_result(CU(cuStreamGetFlags)(hStream, flags));
}

cudaError_t
rt_cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    ENTER();
    return rt_result(CU(cuStreamGetId)(hStream, streamId));
}

cudaError_t
rt_cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
    CUdevice d = 0;

    if (!device)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuStreamGetDevice)(hStream, &d));
    if (e == cudaSuccess)
        *device = d;
    return e;
}

cudaError_t
rt_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    ENTER();
    return rt_result(CU(cuStreamWaitEvent)(stream, event, flags));
}

cudaError_t
rt_cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuStreamSynchronize)(stream));
}

cudaError_t
rt_cudaStreamQuery(cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuStreamQuery)(stream));
}

cudaError_t
rt_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned int flags)
{
    ENTER();
    /* A callback's second parameter is the status: the numbers are the same. */
    return rt_result(CU(cuStreamAddCallback)(stream, (CUstreamCallback)(void *)callback, userData, flags));
}

cudaError_t
rt_cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags)
{
    ENTER();
    return rt_result(CU(cuStreamAttachMemAsync)(stream, rt_dptr(devPtr), length, flags));
}

cudaError_t
rt_cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    ENTER();
    return rt_result(CU(cuStreamCopyAttributes)(dst, src));
}

cudaError_t
rt_cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr, cudaLaunchAttributeValue *value_out)
{
    ENTER();
    return rt_result(CU(cuStreamGetAttribute)(hStream, (CUlaunchAttributeID)attr, (CUlaunchAttributeValue *)(void *)value_out));
}

cudaError_t
rt_cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr, const cudaLaunchAttributeValue *value)
{
    ENTER();
    return rt_result(CU(cuStreamSetAttribute)(hStream, (CUlaunchAttributeID)attr, (const CUlaunchAttributeValue *)(const void *)value));
}

cudaError_t
rt_cudaCtxResetPersistingL2Cache(void)
{
    ENTER();
    return rt_result(CU(cuCtxResetPersistingL2Cache)());
}

/* ---- capture ------------------------------------------------------------------------------------------------------------------ */

cudaError_t
rt_cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    ENTER();
    return rt_result(CU(cuStreamBeginCapture_v2)(stream, (CUstreamCaptureMode)mode));
}

cudaError_t
rt_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                 const cudaGraphEdgeData *dependencyData, size_t numDependencies, cudaStreamCaptureMode mode)
{
    ENTER();
    return rt_result(CU(cuStreamBeginCaptureToGraph)(stream, graph, dependencies, (const CUgraphEdgeData *)dependencyData, numDependencies,
                                                     (CUstreamCaptureMode)mode));
}

cudaError_t
rt_cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode)
{
    INIT();
    return rt_result(CU(cuThreadExchangeStreamCaptureMode)((CUstreamCaptureMode *)(void *)mode));
}

cudaError_t
rt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    ENTER();
    return rt_result(CU(cuStreamEndCapture)(stream, pGraph));
}

cudaError_t
rt_cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *pCaptureStatus)
{
    ENTER();
    return rt_result(CU(cuStreamIsCapturing)(stream, (CUstreamCaptureStatus *)(void *)pCaptureStatus));
}

cudaError_t
rt_cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out,
                            cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out, const cudaGraphEdgeData **edgeData_out,
                            size_t *numDependencies_out)
{
    cuuint64_t id = 0;

    ENTER();
    cudaError_t e = rt_result(CU(cuStreamGetCaptureInfo_v3)(stream, (CUstreamCaptureStatus *)(void *)captureStatus_out, &id, graph_out,
                                                            dependencies_out, (const CUgraphEdgeData **)(void *)edgeData_out,
                                                            numDependencies_out));
    if (e == cudaSuccess && id_out)
        *id_out = id;
    return e;
}

cudaError_t
rt_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out,
                               cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out, size_t *numDependencies_out)
{
    return rt_cudaStreamGetCaptureInfo(stream, captureStatus_out, id_out, graph_out, dependencies_out, NULL, numDependencies_out);
}

cudaError_t
rt_cudaStreamGetCaptureInfo_v12(cudaStream_t stream, cudaStreamCaptureStatus *pCaptureStatus, unsigned long long *pId)
{
    return rt_cudaStreamGetCaptureInfo(stream, pCaptureStatus, pId, NULL, NULL, NULL, NULL);
}

cudaError_t
rt_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData,
                                       size_t numDependencies, unsigned int flags)
{
    ENTER();
    return rt_result(CU(cuStreamUpdateCaptureDependencies_v2)(stream, dependencies, (const CUgraphEdgeData *)dependencyData, numDependencies,
                                                              flags));
}

cudaError_t
rt_cudaStreamUpdateCaptureDependencies_v12(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t numDependencies, unsigned int flags)
{
    return rt_cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, numDependencies, flags);
}
