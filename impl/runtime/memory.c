/* SPDX-License-Identifier: Apache-2.0
 * Memory ("Memory Management", CUDA Runtime API): device, pinned and managed allocations, registered host memory, and what a
 * pointer is. */
#include "impl/runtime/runtime.h"

cudaError_t
rt_cudaMalloc(void **devPtr, size_t size)
{
    CUdeviceptr p = 0;

    if (!devPtr)
        return cudaErrorInvalidValue;
    ENTER();
    if (!size) {                        /* the driver refuses this; here it gives no memory */
        *devPtr = NULL;
        return cudaSuccess;
    }
    CUresult r = CU(cuMemAlloc_v2)(&p, size);
    if (LIKELY(r == CUDA_SUCCESS))
        *devPtr = rt_pointer(p);
    return rt_result(r);
}

cudaError_t
rt_cudaFree(void *devPtr)
{
    ENTER();                            /* cudaFree(0) is how programs make the context */
    return devPtr ? rt_result(CU(cuMemFree_v2)(rt_dptr(devPtr))) : cudaSuccess;
}

cudaError_t
rt_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    CUdeviceptr p = 0;

    if (!devPtr || !pitch)
        return cudaErrorInvalidValue;
    ENTER();
    if (!width || !height) {
        *devPtr = NULL;
        *pitch = 0;
        return cudaSuccess;
    }
    cudaError_t e = rt_result(CU(cuMemAllocPitch_v2)(&p, pitch, width, height, 4));
    if (e == cudaSuccess)
        *devPtr = rt_pointer(p);
    return e;
}

cudaError_t
rt_cudaMalloc3D(cudaPitchedPtr *pitchedDevPtr, cudaExtent extent)
{
    cudaPitchedPtr p = { .xsize = extent.width, .ysize = extent.height };
    size_t rows;

    if (!pitchedDevPtr)
        return cudaErrorInvalidValue;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return cudaErrorMemoryAllocation;
    cudaError_t e = rt_cudaMallocPitch(&p.ptr, &p.pitch, extent.width, rows);
    if (e == cudaSuccess)
        *pitchedDevPtr = p;
    return e;
}

cudaError_t
rt_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    CUdeviceptr p = 0;

    if (!devPtr)
        return cudaErrorInvalidValue;
    ENTER();
    if (!size) {                        /* as cudaMalloc */
        *devPtr = NULL;
        return cudaSuccess;
    }
    cudaError_t e = rt_result(CU(cuMemAllocManaged)(&p, size, flags));
    if (e == cudaSuccess)
        *devPtr = rt_pointer(p);
    return e;
}

cudaError_t
rt_cudaMallocHost(void **ptr, size_t size)
{
    return rt_cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t
rt_cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    if (!pHost || flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        return cudaErrorInvalidValue;
    ENTER();
    if (!size) {
        *pHost = NULL;
        return cudaSuccess;
    }
    /* Under unified addressing all pinned memory is portable and mapped ("Unified Addressing"). */
    return rt_result(CU(cuMemHostAlloc)(pHost, size, flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
}

cudaError_t
rt_cudaFreeHost(void *ptr)
{
    ENTER();
    return ptr ? rt_result(CU(cuMemFreeHost)(ptr)) : cudaSuccess;
}

cudaError_t
rt_cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    if (!ptr || !size ||
        flags & ~(unsigned)(cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly))
        return cudaErrorInvalidValue;
    ENTER();
    return rt_result(CU(cuMemHostRegister_v2)(ptr, size, flags | CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
}

cudaError_t
rt_cudaHostUnregister(void *ptr)
{
    ENTER();
    return rt_result(CU(cuMemHostUnregister)(ptr));
}

cudaError_t
rt_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    CUdeviceptr p = 0;

    if (!pDevice)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuMemHostGetDevicePointer_v2)(&p, pHost, flags));
    if (e == cudaSuccess)
        *pDevice = rt_pointer(p);
    return e;
}

cudaError_t
rt_cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    ENTER();
    return rt_result(CU(cuMemHostGetFlags)(pFlags, pHost));
}

cudaError_t
rt_cudaMemGetInfo(size_t *free, size_t *total)
{
    ENTER();
    return rt_result(CU(cuMemGetInfo_v2)(free, total));
}

/* "cudaPointerGetAttributes": since CUDA 11 a pointer that CUDA does not know is no error but cudaMemoryTypeUnregistered. */
static cudaError_t
pointer_attributes(cudaPointerAttributes_v12 *out, const void *ptr)
{
    unsigned type = 0, managed = 0;
    int device = cudaInvalidDeviceId;
    CUdeviceptr on_device = 0;
    void *on_host = NULL;
    CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER };
    void *where[] = { &type, &managed, &device, &on_device, &on_host };

    ENTER();
    cudaError_t e = rt_result(CU(cuPointerGetAttributes)(COUNT(which), which, where, rt_dptr(ptr)));
    if (e != cudaSuccess)
        return e;
    *out = (cudaPointerAttributes_v12){ .type = cudaMemoryTypeUnregistered, .device = cudaInvalidDeviceId, .hostPointer = (void *)(uintptr_t)ptr };
    if (!type)
        return cudaSuccess;
    out->type = managed & 1 ? cudaMemoryTypeManaged : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    out->device = device;
    out->devicePointer = rt_pointer(on_device);
    out->hostPointer = out->type == cudaMemoryTypeDevice ? NULL : on_host;
    return cudaSuccess;
}

cudaError_t
rt_cudaPointerGetAttributes_v12(cudaPointerAttributes_v12 *attributes, const void *ptr)
{
    return attributes ? pointer_attributes(attributes, ptr) : cudaErrorInvalidValue;
}

cudaError_t
rt_cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *ptr)
{
    cudaPointerAttributes_v12 a;

    if (!attributes)
        return cudaErrorInvalidValue;
    cudaError_t e = pointer_attributes(&a, ptr);
    if (e == cudaSuccess)
        *attributes = (cudaPointerAttributes){ .type = a.type, .device = a.device, .devicePointer = a.devicePointer, .hostPointer = a.hostPointer };
    return e;
}
