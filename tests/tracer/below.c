/* SPDX-License-Identifier: Apache-2.0
 * A CUDA library of a few functions with answers that the tests know, to be the library below the tracer. It lacks most
 * functions on purpose. Every function leaves its mark in errno as a real one might. */
#include "impl/api/cuda.h"
#include "impl/device_times.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned allocations;

/* A thread may be cancelled in a library's start. */
static void __attribute__((constructor))
begin(void)
{
    pthread_testcancel();
}

/* Times of operations, as our own driver tells them: the launches take 1, 2 and 3 us and start 5 us after each other; 7 us behind the last
 * one, a copy takes 0.6 us; the kernel came from the cache in 123.456 us. */
static const struct cw_device_observer *observer;
static uint64_t base;

static bool
observe(const struct cw_device_observer *o)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    base = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    observer = o;
    return true;
}

static void
ran(struct cw_device_op op, uint64_t start, uint64_t end)
{
    if (!observer)
        return;
    op.queue = 0x77;
    uint64_t number = observer->submit(&op, base + start, base + end);
    if (op.kind != CW_DEVICE_COMPILE)
        observer->done(number, base + start, base + end);
}

CUresult
cuGetExportTable(const void **table, const CUuuid *id)
{
    static const unsigned char times[16] = CW_DEVICE_TIMES_ID;
    static const struct cw_device_times given = { sizeof given, observe };
    if (!getenv("BELOW_TIMES") || memcmp(id->bytes, times, 16))
        return CUDA_ERROR_INVALID_VALUE;
    *table = &given;
    return CUDA_SUCCESS;
}

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
    ran((struct cw_device_op){ .kind = CW_DEVICE_COPY, .way = CW_WAY_HTOD, .name = "", .bytes = count }, 20000, 20600);
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
    static uint64_t launches;
    if (bx > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (!launches)
        ran((struct cw_device_op){ .kind = CW_DEVICE_COMPILE, .name = "saxpy", .cached = true }, 100, 123556);
    struct cw_device_op op = { .kind = CW_DEVICE_LAUNCH, .name = "saxpy", .grid = { gx, gy, gz }, .block = { bx, by, bz }, .occupancy = 500 };
    ran(op, launches * 5000, launches * 5000 + 1000 * (launches + 1));
    launches++;
    return CUDA_SUCCESS;
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
