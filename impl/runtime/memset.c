/* SPDX-License-Identifier: Apache-2.0
 * Filling memory with a byte ("Memory Management", CUDA Runtime API). */
#include "impl/runtime/runtime.h"

cudaError_t
rt_cudaMemset(void *devPtr, int value, size_t count)
{
    ENTER();
    return count ? rt_result(CU_PTDS(cuMemsetD8_v2)(rt_dptr(devPtr), (unsigned char)value, count)) : cudaSuccess;
}

cudaError_t
rt_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    ENTER();
    return count ? rt_result(CU(cuMemsetD8Async)(rt_dptr(devPtr), (unsigned char)value, count, stream)) : cudaSuccess;
}

cudaError_t
rt_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    ENTER();
    if (!width || !height)
        return cudaSuccess;
    return rt_result(CU_PTDS(cuMemsetD2D8_v2)(rt_dptr(devPtr), pitch, (unsigned char)value, width, height));
}

cudaError_t
rt_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    ENTER();
    if (!width || !height)
        return cudaSuccess;
    return rt_result(CU(cuMemsetD2D8Async)(rt_dptr(devPtr), pitch, (unsigned char)value, width, height, stream));
}

/* Slices are ysize rows apart; where the box has all rows of a slice, the slices are one tall rectangle. */
static cudaError_t
box(cudaPitchedPtr p, int value, cudaExtent x, cudaStream_t stream, bool async)
{
    if (!x.width || !x.height || !x.depth)
        return cudaSuccess;
    if (x.width > p.pitch || x.height > p.ysize)
        return cudaErrorInvalidValue;
    size_t slices = x.height == p.ysize ? 1 : x.depth, rows = x.height == p.ysize ? x.height * x.depth : x.height;
    for (size_t z = 0; z < slices; z++) {
        void *slice = (char *)p.ptr + z * p.pitch * p.ysize;
        cudaError_t e = async ? rt_cudaMemset2DAsync(slice, p.pitch, value, x.width, rows, stream)
                              : rt_cudaMemset2D(slice, p.pitch, value, x.width, rows);
        if (e != cudaSuccess)
            return e;
    }
    return cudaSuccess;
}

cudaError_t
rt_cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent)
{
    ENTER();
    return box(pitchedDevPtr, value, extent, NULL, false);
}

cudaError_t
rt_cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, cudaStream_t stream)
{
    ENTER();
    return box(pitchedDevPtr, value, extent, stream, true);
}
