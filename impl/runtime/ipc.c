/* SPDX-License-Identifier: Apache-2.0
 * Memory and events of other processes ("cudaIpc...", CUDA Runtime API). A handle is the driver's. */
#include "impl/runtime/runtime.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle) && sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle),
               "handles of other processes are the driver's");

cudaError_t
rt_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    ENTER();
    return rt_result(CU(cuIpcGetEventHandle)((CUipcEventHandle *)(void *)handle, event));
}

cudaError_t
rt_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle h;

    memcpy(&h, &handle, sizeof h);
    ENTER();
    return rt_result(CU(cuIpcOpenEventHandle)(event, h));
}

cudaError_t
rt_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    ENTER();
    return rt_result(CU(cuIpcGetMemHandle)((CUipcMemHandle *)(void *)handle, rt_dptr(devPtr)));
}

cudaError_t
rt_cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    CUipcMemHandle h;
    CUdeviceptr p = 0;

    if (!devPtr)
        return cudaErrorInvalidValue;
    memcpy(&h, &handle, sizeof h);
    ENTER();
    cudaError_t e = rt_result(CU(cuIpcOpenMemHandle_v2)(&p, h, flags));
    if (e == cudaSuccess)
        *devPtr = rt_pointer(p);
    return e;
}

cudaError_t
rt_cudaIpcCloseMemHandle(void *devPtr)
{
    ENTER();
    return rt_result(CU(cuIpcCloseMemHandle)(rt_dptr(devPtr)));
}
