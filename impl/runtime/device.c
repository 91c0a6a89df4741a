/* SPDX-License-Identifier: Apache-2.0
 * Facts and settings of devices ("Device Management", CUDA Runtime API), and access between them. The numbers of attributes,
 * limits and configurations are the driver's. */
#include "impl/runtime/runtime.h"

cudaError_t
rt_cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device)
{
    INIT();
    return rt_result(CU(cuDeviceGetAttribute)(value, (CUdevice_attribute)attr, device));
}

cudaError_t
rt_cudaDeviceSetLimit(cudaLimit limit, size_t value)
{
    ENTER();
    return rt_result(CU(cuCtxSetLimit)((CUlimit)limit, value));
}

cudaError_t
rt_cudaDeviceGetLimit(size_t *pValue, cudaLimit limit)
{
    ENTER();
    return rt_result(CU(cuCtxGetLimit)(pValue, (CUlimit)limit));
}

cudaError_t
rt_cudaDeviceGetCacheConfig(cudaFuncCache *pCacheConfig)
{
    ENTER();
    return rt_result(CU(cuCtxGetCacheConfig)((CUfunc_cache *)(void *)pCacheConfig));
}

cudaError_t
rt_cudaDeviceSetCacheConfig(cudaFuncCache cacheConfig)
{
    ENTER();
    return rt_result(CU(cuCtxSetCacheConfig)((CUfunc_cache)cacheConfig));
}

cudaError_t
rt_cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *pConfig)
{
    ENTER();
    return rt_result(CU(cuCtxGetSharedMemConfig)((CUsharedconfig *)(void *)pConfig));
}

cudaError_t
rt_cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config)
{
    ENTER();
    return rt_result(CU(cuCtxSetSharedMemConfig)((CUsharedconfig)config));
}

cudaError_t
rt_cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    ENTER();
    return rt_result(CU(cuCtxGetStreamPriorityRange)(leastPriority, greatestPriority));
}

cudaError_t
rt_cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    CUdevice d = 0;

    if (!device)
        return cudaErrorInvalidValue;
    INIT();
    cudaError_t e = rt_result(CU(cuDeviceGetByPCIBusId)(&d, pciBusId));
    if (e == cudaSuccess)
        *device = d;
    return e;
}

cudaError_t
rt_cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    INIT();
    return rt_result(CU(cuDeviceGetPCIBusId)(pciBusId, len, device));
}

cudaError_t
rt_cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr attr, int srcDevice, int dstDevice)
{
    INIT();
    return rt_result(CU(cuDeviceGetP2PAttribute)(value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice));
}

cudaError_t
rt_cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget target, cudaFlushGPUDirectRDMAWritesScope scope)
{
    ENTER();
    return rt_result(CU(cuFlushGPUDirectRDMAWrites)((CUflushGPUDirectRDMAWritesTarget)target, (CUflushGPUDirectRDMAWritesScope)scope));
}

cudaError_t
rt_cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities, const cudaAtomicOperation *operations, unsigned int count, int device)
{
    INIT();
    return rt_result(CU(cuDeviceGetHostAtomicCapabilities)(capabilities, (const CUatomicOperation *)operations, count, device));
}

cudaError_t
rt_cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities, const cudaAtomicOperation *operations, unsigned int count, int srcDevice,
                                      int dstDevice)
{
    INIT();
    return rt_result(CU(cuDeviceGetP2PAtomicCapabilities)(capabilities, (const CUatomicOperation *)operations, count, srcDevice, dstDevice));
}

/* ---- access between devices ------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    INIT();
    return rt_result(CU(cuDeviceCanAccessPeer)(canAccessPeer, device, peerDevice));
}

static cudaError_t
primary_of(int device, CUcontext *out)
{
    CUcontext was = NULL;
    cudaError_t e = rt_enter_device(device, &was);

    if (e != cudaSuccess)
        return e;
    e = rt_result(CU(cuCtxGetCurrent)(out));
    rt_leave_device(was);
    return e;
}

cudaError_t
rt_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    CUcontext peer = NULL;

    if (flags)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = primary_of(peerDevice, &peer);
    if (e == cudaSuccess && peerDevice == rt_self.context_device)
        e = cudaErrorPeerAccessUnsupported;      /* as CUDA 13.0 on an H100; the manual names cudaErrorInvalidDevice */
    return e == cudaSuccess ? rt_result(CU(cuCtxEnablePeerAccess)(peer, flags)) : e;
}

cudaError_t
rt_cudaDeviceDisablePeerAccess(int peerDevice)
{
    CUcontext peer = NULL;

    ENTER();
    cudaError_t e = primary_of(peerDevice, &peer);
    return e == cudaSuccess ? rt_result(CU(cuCtxDisablePeerAccess)(peer)) : e;
}

/* ---- the names of CUDA 3: a thread was what a device is now ---------------------------------------------------------------------- */

cudaError_t rt_cudaThreadExit(void) { return rt_cudaDeviceReset(); }
cudaError_t rt_cudaThreadSynchronize(void) { return rt_cudaDeviceSynchronize(); }
cudaError_t rt_cudaThreadSetLimit(cudaLimit limit, size_t value) { return rt_cudaDeviceSetLimit(limit, value); }
cudaError_t rt_cudaThreadGetLimit(size_t *pValue, cudaLimit limit) { return rt_cudaDeviceGetLimit(pValue, limit); }
cudaError_t rt_cudaThreadGetCacheConfig(cudaFuncCache *pCacheConfig) { return rt_cudaDeviceGetCacheConfig(pCacheConfig); }
cudaError_t rt_cudaThreadSetCacheConfig(cudaFuncCache cacheConfig) { return rt_cudaDeviceSetCacheConfig(cacheConfig); }
