/* SPDX-License-Identifier: Apache-2.0
 * Copies to, from and between CUDA arrays, and boxes ("Memory Management", CUDA Runtime API). Offsets into arrays are in bytes
 * in the two-dimensional functions and in elements in cudaMemcpy3D, whose extent is in elements as soon as an array takes part. */
#include "impl/runtime/runtime.h"

#include <stdlib.h>

static cudaError_t
element_bytes(cudaArray_const_t a, size_t *bytes, CUDA_ARRAY3D_DESCRIPTOR *d)
{
    cudaError_t e = rt_result(CU(cuArray3DGetDescriptor_v2)(d, rt_array(a)));

    if (e != cudaSuccess)
        return e;
    *bytes = (size_t)rt_format_bytes(d->Format) * d->NumChannels;
    return *bytes ? cudaSuccess : cudaErrorInvalidValue;
}

static CUmemorytype
memory_type(cudaMemcpyKind k, bool source)
{
    if (k == cudaMemcpyDefault)
        return CU_MEMORYTYPE_UNIFIED;
    bool host = source ? k == cudaMemcpyHostToHost || k == cudaMemcpyHostToDevice : k == cudaMemcpyHostToHost || k == cudaMemcpyDeviceToHost;
    return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

/* ---- rectangles ----------------------------------------------------------------------------------------------------------------- */

static void
from_memory(CUDA_MEMCPY2D *c, const void *p, size_t pitch, cudaMemcpyKind kind)
{
    c->srcMemoryType = memory_type(kind, true);
    c->srcHost = p;
    c->srcDevice = rt_dptr(p);
    c->srcPitch = pitch;
}

static void
to_memory(CUDA_MEMCPY2D *c, void *p, size_t pitch, cudaMemcpyKind kind)
{
    c->dstMemoryType = memory_type(kind, false);
    c->dstHost = p;
    c->dstDevice = rt_dptr(p);
    c->dstPitch = pitch;
}

static void
from_array(CUDA_MEMCPY2D *c, cudaArray_const_t a, size_t x, size_t y)
{
    c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c->srcArray = rt_array(a);
    c->srcXInBytes = x;
    c->srcY = y;
}

static void
to_array(CUDA_MEMCPY2D *c, cudaArray_const_t a, size_t x, size_t y)
{
    c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c->dstArray = rt_array(a);
    c->dstXInBytes = x;
    c->dstY = y;
}

static cudaError_t
copy(CUDA_MEMCPY2D *c, size_t width, size_t height, bool async, cudaStream_t stream)
{
    c->WidthInBytes = width;
    c->Height = height;
    if (!width || !height)
        return cudaSuccess;
    return rt_result(async ? CU(cuMemcpy2DAsync_v2)(c, stream) : CU_PTDS(cuMemcpy2DUnaligned_v2)(c));
}

static cudaError_t
memory_to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                bool async, cudaStream_t stream)
{
    CUDA_MEMCPY2D c = { 0 };

    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (width > pitch)
        return cudaErrorInvalidPitchValue;
    ENTER();
    from_memory(&c, src, pitch, kind);
    to_array(&c, dst, x, y);
    return copy(&c, width, height, async, stream);
}

static cudaError_t
array_to_memory(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                bool async, cudaStream_t stream)
{
    CUDA_MEMCPY2D c = { 0 };

    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (width > pitch)
        return cudaErrorInvalidPitchValue;
    ENTER();
    from_array(&c, src, x, y);
    to_memory(&c, dst, pitch, kind);
    return copy(&c, width, height, async, stream);
}

cudaError_t
rt_cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch, size_t width, size_t height,
                       cudaMemcpyKind kind)
{
    return memory_to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, false, NULL);
}

cudaError_t
rt_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch, size_t width, size_t height,
                            cudaMemcpyKind kind, cudaStream_t stream)
{
    return memory_to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, true, stream);
}

cudaError_t
rt_cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t width, size_t height,
                         cudaMemcpyKind kind)
{
    return array_to_memory(dst, dpitch, src, wOffset, hOffset, width, height, kind, false, NULL);
}

cudaError_t
rt_cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream)
{
    return array_to_memory(dst, dpitch, src, wOffset, hOffset, width, height, kind, true, stream);
}

cudaError_t
rt_cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                            size_t width, size_t height, cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c = { 0 };

    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    ENTER();
    from_array(&c, src, wOffsetSrc, hOffsetSrc);
    to_array(&c, dst, wOffsetDst, hOffsetDst);
    return copy(&c, width, height, false, NULL);
}

/* ---- runs of bytes that go on in the next row (deprecated since CUDA 10.1) ----------------------------------------------------------- */

/* The rest of the first row, the whole rows, and what is left: at most three rectangles. */
static cudaError_t
run(cudaArray_const_t array, size_t x, size_t y, void *memory, size_t count, cudaMemcpyKind kind, bool into, bool async, cudaStream_t stream)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    size_t bytes = 0;

    ENTER();
    cudaError_t e = element_bytes(array, &bytes, &d);
    if (e != cudaSuccess)
        return e;
    size_t row = d.Width * bytes;
    if (x >= row && count)
        return cudaErrorInvalidValue;
    for (char *p = memory; count && e == cudaSuccess;) {
        size_t width = x || count < row ? (count < row - x ? count : row - x) : row;
        size_t height = width == row ? count / row : 1;
        e = into ? memory_to_array((cudaArray_t)(uintptr_t)array, x, y, p, width, width, height, kind, async, stream)
                 : array_to_memory(p, width, array, x, y, width, height, kind, async, stream);
        p += width * height;
        count -= width * height;
        y += height;
        x = 0;
    }
    return e;
}

cudaError_t
rt_cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count, cudaMemcpyKind kind)
{
    return run(dst, wOffset, hOffset, (void *)(uintptr_t)src, count, kind, true, false, NULL);
}

cudaError_t
rt_cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count, cudaMemcpyKind kind,
                          cudaStream_t stream)
{
    return run(dst, wOffset, hOffset, (void *)(uintptr_t)src, count, kind, true, true, stream);
}

cudaError_t
rt_cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count, cudaMemcpyKind kind)
{
    return run(src, wOffset, hOffset, dst, count, kind, false, false, NULL);
}

cudaError_t
rt_cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return run(src, wOffset, hOffset, dst, count, kind, false, true, stream);
}

cudaError_t
rt_cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                          size_t count, cudaMemcpyKind kind)
{
    CUDA_ARRAY3D_DESCRIPTOR ds, dd;
    size_t bs = 0, bd = 0;

    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    ENTER();
    cudaError_t e = element_bytes(src, &bs, &ds);
    if (e == cudaSuccess)
        e = element_bytes(dst, &bd, &dd);
    size_t row_s = ds.Width * bs, row_d = dd.Width * bd;
    if (e == cudaSuccess && count && (wOffsetSrc >= row_s || wOffsetDst >= row_d))
        e = cudaErrorInvalidValue;
    while (count && e == cudaSuccess) {
        CUDA_MEMCPY2D c = { 0 };
        size_t n = row_s - wOffsetSrc < row_d - wOffsetDst ? row_s - wOffsetSrc : row_d - wOffsetDst;
        n = n < count ? n : count;
        from_array(&c, src, wOffsetSrc, hOffsetSrc);
        to_array(&c, dst, wOffsetDst, hOffsetDst);
        e = copy(&c, n, 1, false, NULL);
        count -= n;
        wOffsetSrc += n;
        wOffsetDst += n;
        hOffsetSrc += wOffsetSrc == row_s;
        hOffsetDst += wOffsetDst == row_d;
        wOffsetSrc %= row_s;
        wOffsetDst %= row_d;
    }
    return e;
}

/* ---- boxes ------------------------------------------------------------------------------------------------------------------------ */

/* "cudaMemcpy3D": each end is an array or memory, not both. */
cudaError_t
rt_copy_3d(const cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    size_t bs = 1, bd = 1;
    cudaError_t e = cudaSuccess;

    if (!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr) || (!p->srcArray && !p->srcPtr.ptr) ||
        (!p->dstArray && !p->dstPtr.ptr))
        return cudaErrorInvalidValue;
    if (!rt_kind_valid(p->kind))
        return cudaErrorInvalidMemcpyDirection;
    if (p->srcArray)
        e = element_bytes(p->srcArray, &bs, &d);
    if (p->dstArray && e == cudaSuccess)
        e = element_bytes(p->dstArray, &bd, &d);
    if (e != cudaSuccess)
        return e;
    if (p->srcArray && p->dstArray && bs != bd)
        return cudaErrorInvalidValue;
    size_t unit = p->srcArray ? bs : bd;
    *out = (CUDA_MEMCPY3D){ .srcXInBytes = p->srcPos.x * bs, .srcY = p->srcPos.y, .srcZ = p->srcPos.z,
                            .dstXInBytes = p->dstPos.x * bd, .dstY = p->dstPos.y, .dstZ = p->dstPos.z,
                            .WidthInBytes = p->extent.width * unit, .Height = p->extent.height, .Depth = p->extent.depth };
    if (p->srcArray) {
        out->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        out->srcArray = rt_array(p->srcArray);
    } else {
        out->srcMemoryType = memory_type(p->kind, true);
        out->srcHost = p->srcPtr.ptr;
        out->srcDevice = rt_dptr(p->srcPtr.ptr);
        out->srcPitch = p->srcPtr.pitch;
        out->srcHeight = p->srcPtr.ysize;
    }
    if (p->dstArray) {
        out->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        out->dstArray = rt_array(p->dstArray);
    } else {
        out->dstMemoryType = memory_type(p->kind, false);
        out->dstHost = p->dstPtr.ptr;
        out->dstDevice = rt_dptr(p->dstPtr.ptr);
        out->dstPitch = p->dstPtr.pitch;
        out->dstHeight = p->dstPtr.ysize;
    }
    return cudaSuccess;
}

void
rt_copy_3d_back(const CUDA_MEMCPY3D *c, cudaMemcpy3DParms *out)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    size_t bs = 1, bd = 1;
    bool from = c->srcMemoryType == CU_MEMORYTYPE_ARRAY, to = c->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    bool host_from = c->srcMemoryType == CU_MEMORYTYPE_HOST, host_to = c->dstMemoryType == CU_MEMORYTYPE_HOST;

    memset(out, 0, sizeof *out);
    if (from && element_bytes((cudaArray_const_t)c->srcArray, &bs, &d) != cudaSuccess)
        bs = 1;
    if (to && element_bytes((cudaArray_const_t)c->dstArray, &bd, &d) != cudaSuccess)
        bd = 1;
    size_t unit = from ? bs : bd;
    out->extent = (cudaExtent){ c->WidthInBytes / unit, c->Height, c->Depth };
    out->srcPos = (cudaPos){ c->srcXInBytes / bs, c->srcY, c->srcZ };
    out->dstPos = (cudaPos){ c->dstXInBytes / bd, c->dstY, c->dstZ };
    if (from)
        out->srcArray = (cudaArray_t)c->srcArray;
    else
        out->srcPtr = (cudaPitchedPtr){ host_from ? (void *)(uintptr_t)c->srcHost : rt_pointer(c->srcDevice), c->srcPitch, c->WidthInBytes,
                                        c->srcHeight };
    if (to)
        out->dstArray = (cudaArray_t)c->dstArray;
    else
        out->dstPtr = (cudaPitchedPtr){ host_to ? c->dstHost : rt_pointer(c->dstDevice), c->dstPitch, c->WidthInBytes, c->dstHeight };
    out->kind = c->srcMemoryType == CU_MEMORYTYPE_UNIFIED || c->dstMemoryType == CU_MEMORYTYPE_UNIFIED ? cudaMemcpyDefault
              : host_from ? host_to ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
              : host_to ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

cudaError_t
rt_cudaMemcpy3D(const cudaMemcpy3DParms *p)
{
    CUDA_MEMCPY3D c;

    ENTER();
    cudaError_t e = rt_copy_3d(p, &c);
    return e != cudaSuccess || !c.WidthInBytes || !c.Height || !c.Depth ? e : rt_result(CU_PTDS(cuMemcpy3D_v2)(&c));
}

cudaError_t
rt_cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D c;

    ENTER();
    cudaError_t e = rt_copy_3d(p, &c);
    return e != cudaSuccess || !c.WidthInBytes || !c.Height || !c.Depth ? e : rt_result(CU(cuMemcpy3DAsync_v2)(&c, stream));
}

/* Between devices, which share one address space: a box between device memory or arrays. */
static cudaError_t
peers(const cudaMemcpy3DPeerParms *p, cudaMemcpy3DParms *out)
{
    if (!p)
        return cudaErrorInvalidValue;
    *out = (cudaMemcpy3DParms){ .srcArray = p->srcArray, .srcPos = p->srcPos, .srcPtr = p->srcPtr, .dstArray = p->dstArray,
                                .dstPos = p->dstPos, .dstPtr = p->dstPtr, .extent = p->extent, .kind = cudaMemcpyDefault };
    cudaError_t e = rt_check_device(p->srcDevice);
    return e == cudaSuccess ? rt_check_device(p->dstDevice) : e;
}

cudaError_t
rt_cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms *p)
{
    cudaMemcpy3DParms q;
    cudaError_t e = peers(p, &q);
    return e == cudaSuccess ? rt_cudaMemcpy3D(&q) : e;
}

cudaError_t
rt_cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    cudaMemcpy3DParms q;
    cudaError_t e = peers(p, &q);
    return e == cudaSuccess ? rt_cudaMemcpy3DAsync(&q, stream) : e;
}

/* ---- several boxes in one call ------------------------------------------------------------------------------------------------------ */

_Static_assert(sizeof(cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "boxes of a batch are the driver's");

cudaError_t
rt_cudaMemcpy3DBatchAsync(size_t numOps, cudaMemcpy3DBatchOp *opList, unsigned long long flags, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemcpy3DBatchAsync_v2)(numOps, (CUDA_MEMCPY3D_BATCH_OP *)(void *)opList, flags, stream));
}

cudaError_t
rt_cudaMemcpy3DBatchAsync_v12(size_t numOps, cudaMemcpy3DBatchOp *opList, size_t *failIdx, unsigned long long flags, cudaStream_t stream)
{
    ENTER();
    return rt_result(CU(cuMemcpy3DBatchAsync)(numOps, (CUDA_MEMCPY3D_BATCH_OP *)(void *)opList, failIdx, flags, stream));
}
