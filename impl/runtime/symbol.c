/* SPDX-License-Identifier: Apache-2.0
 * Variables of the program's device code by their shadow on the host (__device__, __constant__, __managed__). */
#include "impl/runtime/runtime.h"

static cudaError_t
part(const void *symbol, size_t count, size_t offset, void **address)
{
    CUdeviceptr a;
    size_t size;

    ENTER();
    cudaError_t e = rt_variable(symbol, &a, &size);
    if (e != cudaSuccess)
        return e;
    if (offset > size || count > size - offset)
        return cudaErrorInvalidValue;
    *address = rt_pointer(a + offset);
    return cudaSuccess;
}

/* A symbol is on the device: the other end may be either. */
static bool
to_symbol(cudaMemcpyKind k)
{
    return k == cudaMemcpyHostToDevice || k == cudaMemcpyDeviceToDevice || k == cudaMemcpyDefault;
}

static bool
from_symbol(cudaMemcpyKind k)
{
    return k == cudaMemcpyDeviceToHost || k == cudaMemcpyDeviceToDevice || k == cudaMemcpyDefault;
}

cudaError_t
rt_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind)
{
    void *dst;
    if (!to_symbol(kind))
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t e = part(symbol, count, offset, &dst);
    return e == cudaSuccess ? rt_cudaMemcpy(dst, src, count, kind) : e;
}

cudaError_t
rt_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind)
{
    void *src;
    if (!from_symbol(kind))
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t e = part(symbol, count, offset, &src);
    return e == cudaSuccess ? rt_cudaMemcpy(dst, src, count, kind) : e;
}

cudaError_t
rt_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream)
{
    void *dst;
    if (!to_symbol(kind))
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t e = part(symbol, count, offset, &dst);
    return e == cudaSuccess ? rt_cudaMemcpyAsync(dst, src, count, kind, stream) : e;
}

cudaError_t
rt_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream)
{
    void *src;
    if (!from_symbol(kind))
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t e = part(symbol, count, offset, &src);
    return e == cudaSuccess ? rt_cudaMemcpyAsync(dst, src, count, kind, stream) : e;
}

cudaError_t
rt_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    CUdeviceptr a;
    size_t size;

    if (!devPtr)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_variable(symbol, &a, &size);
    if (e == cudaSuccess)
        *devPtr = rt_pointer(a);
    return e;
}

cudaError_t
rt_cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr a;

    if (!size)
        return cudaErrorInvalidValue;
    ENTER();
    return rt_variable(symbol, &a, size);
}

cudaError_t
rt_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    if (!functionPtr)
        return cudaErrorInvalidValue;
    ENTER();
    return rt_function(symbolPtr, functionPtr);
}
