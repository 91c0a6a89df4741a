/* SPDX-License-Identifier: Apache-2.0
 * Copies of linear memory and of pitched rectangles ("Memory Management", CUDA Runtime API). The direction chooses the
 * driver's function, so that each copy waits as that one does ("API synchronization behavior"). */
#include "impl/runtime/runtime.h"

cudaError_t
rt_cudaMemcpy(void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    ENTER();
    if (!count)
        return rt_kind_valid(kind) ? cudaSuccess : cudaErrorInvalidMemcpyDirection;
    switch (kind) {
    case cudaMemcpyHostToDevice:   return rt_result(CU_PTDS(cuMemcpyHtoD_v2)(rt_dptr(dst), src, count));
    case cudaMemcpyDeviceToHost:   return rt_result(CU_PTDS(cuMemcpyDtoH_v2)(dst, rt_dptr(src), count));
    case cudaMemcpyDeviceToDevice: return rt_result(CU_PTDS(cuMemcpyDtoD_v2)(rt_dptr(dst), rt_dptr(src), count));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:        return rt_result(CU_PTDS(cuMemcpy)(rt_dptr(dst), rt_dptr(src), count));
    default:                       return cudaErrorInvalidMemcpyDirection;
    }
}

cudaError_t
rt_cudaMemcpyAsync(void *dst, const void *src, size_t count, cudaMemcpyKind kind, cudaStream_t stream)
{
    ENTER();
    if (!count)
        return rt_kind_valid(kind) ? cudaSuccess : cudaErrorInvalidMemcpyDirection;
    switch (kind) {
    case cudaMemcpyHostToDevice:   return rt_result(CU(cuMemcpyHtoDAsync_v2)(rt_dptr(dst), src, count, stream));
    case cudaMemcpyDeviceToHost:   return rt_result(CU(cuMemcpyDtoHAsync_v2)(dst, rt_dptr(src), count, stream));
    case cudaMemcpyDeviceToDevice: return rt_result(CU(cuMemcpyDtoDAsync_v2)(rt_dptr(dst), rt_dptr(src), count, stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:        return rt_result(CU(cuMemcpyAsync)(rt_dptr(dst), rt_dptr(src), count, stream));
    default:                       return cudaErrorInvalidMemcpyDirection;
    }
}

/* ---- rectangles --------------------------------------------------------------------------------------------------------- */

static cudaError_t
rectangle(CUDA_MEMCPY2D *c, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, cudaMemcpyKind kind)
{
    if (!rt_kind_valid(kind))
        return cudaErrorInvalidMemcpyDirection;
    if (width > dpitch || width > spitch)
        return cudaErrorInvalidPitchValue;
    bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
    bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
    *c = (CUDA_MEMCPY2D){ .srcPitch = spitch, .dstPitch = dpitch, .WidthInBytes = width, .Height = height };
    c->srcMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED : from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    c->dstMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED : to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    c->srcHost = src;
    c->srcDevice = rt_dptr(src);
    c->dstHost = dst;
    c->dstDevice = rt_dptr(dst);
    return cudaSuccess;
}

cudaError_t
rt_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c;
    cudaError_t e = rectangle(&c, dst, dpitch, src, spitch, width, height, kind);

    if (e != cudaSuccess)
        return e;
    ENTER();
    return width && height ? rt_result(CU_PTDS(cuMemcpy2DUnaligned_v2)(&c)) : cudaSuccess;
}

cudaError_t
rt_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, cudaMemcpyKind kind,
                     cudaStream_t stream)
{
    CUDA_MEMCPY2D c;
    cudaError_t e = rectangle(&c, dst, dpitch, src, spitch, width, height, kind);

    if (e != cudaSuccess)
        return e;
    ENTER();
    return width && height ? rt_result(CU(cuMemcpy2DAsync_v2)(&c, stream)) : cudaSuccess;
}

/* ---- between devices: one address space, so the addresses say where -------------------------------------------------------------- */

cudaError_t
rt_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
    cudaError_t e = rt_check_device(dstDevice);

    if (e == cudaSuccess)
        e = rt_check_device(srcDevice);
    if (e != cudaSuccess)
        return e;
    ENTER();
    return count ? rt_result(CU_PTDS(cuMemcpy)(rt_dptr(dst), rt_dptr(src), count)) : cudaSuccess;
}

cudaError_t
rt_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count, cudaStream_t stream)
{
    cudaError_t e = rt_check_device(dstDevice);

    if (e == cudaSuccess)
        e = rt_check_device(srcDevice);
    if (e != cudaSuccess)
        return e;
    ENTER();
    return count ? rt_result(CU(cuMemcpyAsync)(rt_dptr(dst), rt_dptr(src), count, stream)) : cudaSuccess;
}

/* ---- several copies in one call ----------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "attributes of copies are the driver's");

cudaError_t
rt_cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count, cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                        size_t numAttrs, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemcpyBatchAsync_v2)((CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs, (size_t *)(uintptr_t)sizes, count,
                                               (CUmemcpyAttributes *)(void *)attrs, attrsIdxs, numAttrs, stream));
}

cudaError_t
rt_cudaMemcpyBatchAsync_v12(void **dsts, void **srcs, size_t *sizes, size_t count, cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                            size_t numAttrs, size_t *failIdx, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemcpyBatchAsync)((CUdeviceptr *)(void *)dsts, (CUdeviceptr *)(void *)srcs, sizes, count,
                                            (CUmemcpyAttributes *)(void *)attrs, attrsIdxs, numAttrs, failIdx, stream));
}
