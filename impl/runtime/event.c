/* SPDX-License-Identifier: Apache-2.0
 * Events ("Event Management", CUDA Runtime API). Handles are the driver's. */
#include "impl/runtime/runtime.h"

cudaError_t
rt_cudaEventCreate(cudaEvent_t *event)
{
    return rt_cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t
rt_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    if (!event || flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess))
        return cudaErrorInvalidValue;
    ENTER();
    return rt_result(CU(cuEventCreate)(event, flags));
}

cudaError_t
rt_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuEventRecord)(event, stream));
}

cudaError_t
rt_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    ENTER();
    return rt_result(CU(cuEventRecordWithFlags)(event, stream, flags));
}

cudaError_t
rt_cudaEventQuery(cudaEvent_t event)
{
    ENTER();
    return rt_result(CU(cuEventQuery)(event));
}

cudaError_t
rt_cudaEventSynchronize(cudaEvent_t event)
{
    ENTER();
    return rt_result(CU(cuEventSynchronize)(event));
}

cudaError_t
rt_cudaEventDestroy(cudaEvent_t event)
{
    ENTER();
    return rt_result(CU(cuEventDestroy_v2)(event));
}

cudaError_t
rt_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    ENTER();
    return rt_result(CU(cuEventElapsedTime)(ms, start, end));
}
