/* SPDX-License-Identifier: Apache-2.0
 * A CUDA library of a few functions with answers that the tests know, to be the library below the tracer. It lacks most
 * functions on purpose. Every function leaves its mark in errno as a real one might. */
#include "impl/api/cuda.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned allocations;

CUresult
cuInit(unsigned int flags)
{
    errno = ENOTTY;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult
cuDriverGetVersion(int *version)
{
    errno = ENOTTY;
    *version = 12080;
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetName(char *name, int len, CUdevice dev)
{
    if (dev)
        return CUDA_ERROR_INVALID_DEVICE;
    strncpy(name, "Below", (size_t)len);
    return CUDA_SUCCESS;
}

CUresult
cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev)
{
    *context = (CUcontext)0x3330;
    return CUDA_SUCCESS;
}

CUresult
cuCtxSetCurrent(CUcontext context)
{
    return context == (CUcontext)0x3330 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult
cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    if (!bytesize)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *dptr = 0x7000000000 + 0x10000ull * allocations++;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult
cuMemFree_v2(CUdeviceptr dptr)
{
    return dptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t count)
{
    return CUDA_SUCCESS;
}

CUresult
cuModuleLoadData(CUmodule *module, const void *image)
{
    if (strncmp(image, ".version", 8))
        return CUDA_ERROR_INVALID_IMAGE;
    *module = (CUmodule)0x1110;
    return CUDA_SUCCESS;
}

CUresult
cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    if (strcmp(name, "saxpy"))
        return CUDA_ERROR_NOT_FOUND;
    *function = (CUfunction)0x2220;
    return CUDA_SUCCESS;
}

/* saxpy(float a, ptr x, ptr y) */
CUresult
cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    if (index > 2)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 8;
    *size = index ? 8 : 4;
    return CUDA_SUCCESS;
}

CUresult
cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
               unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra)
{
    return bx > 1024 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Calls back, and the callback makes calls: calls nest. */
CUresult
cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
    fn(data);
    return CUDA_SUCCESS;
}

CUresult
cuGraphCreate(CUgraph *graph, unsigned int flags)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult
hidden_free(CUdeviceptr dptr)
{
    return dptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    *pfn = NULL;
    if (!strcmp(symbol, "cuInit"))
        *pfn = (void *)cuInit;
    else if (!strcmp(symbol, "cuMemAlloc"))
        *pfn = (void *)cuMemAlloc_v2;
    else if (!strcmp(symbol, "cuMemFree") || !strcmp(symbol, "cuFromTheFuture"))
        *pfn = (void *)hidden_free;
    if (status)
        *status = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}
