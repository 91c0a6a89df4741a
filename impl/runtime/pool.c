/* SPDX-License-Identifier: Apache-2.0
 * Allocation in stream order and its pools; advice on managed memory; memory and events of other processes ("Stream Ordered
 * Memory Allocator", CUDA Runtime API). Structures and numbers are the driver's. */
#include "impl/runtime/runtime.h"

_Static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps) && sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc) &&
               sizeof(cudaMemLocation) == sizeof(CUmemLocation) && sizeof(cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
               "pools are described in the driver's structures");

static cudaError_t
give(cudaError_t e, CUdeviceptr p, void **out)
{
    if (e == cudaSuccess)
        *out = rt_pointer(p);
    return e;
}

cudaError_t
rt_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    CUdeviceptr p = 0;

    if (!devPtr)
        return cudaErrorInvalidValue;
    ENTER();
    if (!size)
        return *devPtr = NULL, cudaSuccess;
    cudaError_t e = rt_result(CU(cuMemAllocAsync)(&p, size, hStream));
    return give(e, p, devPtr);
}

cudaError_t
rt_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    CUdeviceptr p = 0;

    if (!ptr)
        return cudaErrorInvalidValue;
    ENTER();
    if (!size)
        return *ptr = NULL, cudaSuccess;
    cudaError_t e = rt_result(CU(cuMemAllocFromPoolAsync)(&p, size, memPool, stream));
    return give(e, p, ptr);
}

cudaError_t
rt_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    ENTER();
    return devPtr ? rt_result(CU(cuMemFreeAsync)(rt_dptr(devPtr), hStream)) : cudaSuccess;
}

/* ---- pools --------------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    INIT();
    return rt_result(CU(cuDeviceGetDefaultMemPool)(memPool, device));
}

cudaError_t
rt_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    INIT();
    return rt_result(CU(cuDeviceGetMemPool)(memPool, device));
}

cudaError_t
rt_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    INIT();
    return rt_result(CU(cuDeviceSetMemPool)(device, memPool));
}

cudaError_t
rt_cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, cudaMemLocation *location, cudaMemAllocationType type)
{
    INIT();
    return rt_result(CU(cuMemGetDefaultMemPool)(memPool, (CUmemLocation *)(void *)location, (CUmemAllocationType)type));
}

cudaError_t
rt_cudaMemGetMemPool(cudaMemPool_t *memPool, cudaMemLocation *location, cudaMemAllocationType type)
{
    INIT();
    return rt_result(CU(cuMemGetMemPool)(memPool, (CUmemLocation *)(void *)location, (CUmemAllocationType)type));
}

cudaError_t
rt_cudaMemSetMemPool(cudaMemLocation *location, cudaMemAllocationType type, cudaMemPool_t memPool)
{
    INIT();
    return rt_result(CU(cuMemSetMemPool)((CUmemLocation *)(void *)location, (CUmemAllocationType)type, memPool));
}

cudaError_t
rt_cudaMemPoolCreate(cudaMemPool_t *memPool, const cudaMemPoolProps *poolProps)
{
    INIT();
    return rt_result(CU(cuMemPoolCreate)(memPool, (const CUmemPoolProps *)(const void *)poolProps));
}

cudaError_t
rt_cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    INIT();
    return rt_result(CU(cuMemPoolDestroy)(memPool));
}

cudaError_t
rt_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    INIT();
    return rt_result(CU(cuMemPoolTrimTo)(memPool, minBytesToKeep));
}

cudaError_t
rt_cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void *value)
{
    INIT();
    return rt_result(CU(cuMemPoolSetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t
rt_cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void *value)
{
    INIT();
    return rt_result(CU(cuMemPoolGetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t
rt_cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc *descList, size_t count)
{
    INIT();
    return rt_result(CU(cuMemPoolSetAccess)(memPool, (const CUmemAccessDesc *)(const void *)descList, count));
}

cudaError_t
rt_cudaMemPoolGetAccess(cudaMemAccessFlags *flags, cudaMemPool_t memPool, cudaMemLocation *location)
{
    INIT();
    return rt_result(CU(cuMemPoolGetAccess)((CUmemAccess_flags *)(void *)flags, memPool, (CUmemLocation *)(void *)location));
}

cudaError_t
rt_cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool, cudaMemAllocationHandleType handleType, unsigned int flags)
{
    INIT();
    return rt_result(CU(cuMemPoolExportToShareableHandle)(shareableHandle, memPool, (CUmemAllocationHandleType)handleType, flags));
}

cudaError_t
rt_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle, cudaMemAllocationHandleType handleType,
                                        unsigned int flags)
{
    INIT();
    return rt_result(CU(cuMemPoolImportFromShareableHandle)(memPool, shareableHandle, (CUmemAllocationHandleType)handleType, flags));
}

cudaError_t
rt_cudaMemPoolExportPointer(cudaMemPoolPtrExportData *exportData, void *ptr)
{
    INIT();
    return rt_result(CU(cuMemPoolExportPointer)((CUmemPoolPtrExportData *)(void *)exportData, rt_dptr(ptr)));
}

cudaError_t
rt_cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool, cudaMemPoolPtrExportData *exportData)
{
    CUdeviceptr p = 0;

    if (!ptr)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuMemPoolImportPointer)(&p, memPool, (CUmemPoolPtrExportData *)(void *)exportData));
    return give(e, p, ptr);
}

/* ---- managed memory -------------------------------------------------------------------------------------------------------------- */

static CUmemLocation
location(cudaMemLocation l)
{
    return (CUmemLocation){ .type = (CUmemLocationType)l.type, .id = l.id };
}


cudaError_t
rt_cudaMemPrefetchAsync(const void *devPtr, size_t count, cudaMemLocation where, unsigned int flags, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemPrefetchAsync_v2)(rt_dptr(devPtr), count, location(where), flags, stream));
}

cudaError_t
rt_cudaMemPrefetchAsync_v12(const void *devPtr, size_t count, int dstDevice, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemPrefetchAsync)(rt_dptr(devPtr), count, dstDevice, stream));
}

cudaError_t
rt_cudaMemAdvise(const void *devPtr, size_t count, cudaMemoryAdvise advice, cudaMemLocation where)
{
    ENTER();
    return rt_result(CU(cuMemAdvise_v2)(rt_dptr(devPtr), count, (CUmem_advise)advice, location(where)));
}

cudaError_t
rt_cudaMemAdvise_v12(const void *devPtr, size_t count, cudaMemoryAdvise advice, int device)
{
    ENTER();
    return rt_result(CU(cuMemAdvise)(rt_dptr(devPtr), count, (CUmem_advise)advice, device));
}

cudaError_t
rt_cudaMemRangeGetAttribute(void *data, size_t dataSize, cudaMemRangeAttribute attribute, const void *devPtr, size_t count)
{
    ENTER();
    return rt_result(CU(cuMemRangeGetAttribute)(data, dataSize, (CUmem_range_attribute)attribute, rt_dptr(devPtr), count));
}

cudaError_t
rt_cudaMemRangeGetAttributes(void **data, size_t *dataSizes, cudaMemRangeAttribute *attributes, size_t numAttributes, const void *devPtr,
                             size_t count)
{
    ENTER();
    return rt_result(CU(cuMemRangeGetAttributes)(data, dataSizes, (CUmem_range_attribute *)(void *)attributes, numAttributes, rt_dptr(devPtr),
                                                 count));
}

cudaError_t
rt_cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count, cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                             size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemPrefetchBatchAsync)((CUdeviceptr *)(void *)dptrs, sizes, count, (CUmemLocation *)(void *)prefetchLocs,
                                                 prefetchLocIdxs, numPrefetchLocs, flags, stream));
}

cudaError_t
rt_cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemDiscardBatchAsync)((CUdeviceptr *)(void *)dptrs, sizes, count, flags, stream));
}

cudaError_t
rt_cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count, cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                       size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemDiscardAndPrefetchBatchAsync)((CUdeviceptr *)(void *)dptrs, sizes, count, (CUmemLocation *)(void *)prefetchLocs,
                                                           prefetchLocIdxs, numPrefetchLocs, flags, stream));
}
