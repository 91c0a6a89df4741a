/* SPDX-License-Identifier: Apache-2.0
 * Each kind of copy and fill once, of another power of two of bytes, so that the sum for each way says which were seen:
 *
 *   host to device   2^0 .. 2^12   13 operations, 8191 bytes
 *   device to host   2^0 .. 2^6     7 operations,  127 bytes
 *   on the device    2^0 .. 2^10   11 operations, 2047 bytes
 *   host to host     2^2            1 operation,     4 bytes
 *   fills            2^0 .. 2^11   12 operations, 4095 bytes
 *
 * Where the driver has no batches, the last two of the first row are missing (2047 bytes), and the program says so. */
#include "impl/api/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(x)                                                                                                     \
    do {                                                                                                             \
        CUresult r_ = (x);                                                                                           \
        if (r_ != CUDA_SUCCESS) {                                                                                    \
            fprintf(stderr, "copies: line %d: %s: %d\n", __LINE__, #x, (int)r_);                                     \
            exit(99);                                                                                                \
        }                                                                                                            \
    } while (0)

static void *library;
#define FN(name) ((__typeof__(&name))dlsym(library, #name))

enum { SIZE = 1 << 16, PITCH = 1 << 12 };

static CUDA_MEMCPY2D
plane(CUmemorytype from, const void *host_from, CUdeviceptr device_from, CUmemorytype to, void *host_to, CUdeviceptr device_to, size_t width, size_t height)
{
    return (CUDA_MEMCPY2D){ .srcMemoryType = from, .srcHost = host_from, .srcDevice = device_from, .srcPitch = PITCH,
                            .dstMemoryType = to, .dstHost = host_to, .dstDevice = device_to, .dstPitch = PITCH, .WidthInBytes = width, .Height = height };
}

static CUDA_MEMCPY3D
block(CUmemorytype from, const void *host_from, CUdeviceptr device_from, CUmemorytype to, void *host_to, CUdeviceptr device_to, size_t width)
{
    return (CUDA_MEMCPY3D){ .srcMemoryType = from, .srcHost = host_from, .srcDevice = device_from, .srcPitch = PITCH, .srcHeight = 2,
                            .dstMemoryType = to, .dstHost = host_to, .dstDevice = device_to, .dstPitch = PITCH, .dstHeight = 2, .WidthInBytes = width, .Height = 2, .Depth = 2 };
}

static void
to_device(CUstream s, CUdeviceptr a, CUarray array, char *host)
{
    CUdeviceptr h = (CUdeviceptr)(uintptr_t)host;
    CHECK(FN(cuMemcpyHtoD_v2)(a, host, 1));
    CHECK(FN(cuMemcpyHtoDAsync_v2)(a, host, 2, s));
    CHECK(FN(cuMemcpyHtoA_v2)(array, 0, host, 4));
    CHECK(FN(cuMemcpyHtoAAsync_v2)(array, 0, host, 8, s));
    CUDA_MEMCPY2D p = plane(CU_MEMORYTYPE_HOST, host, 0, CU_MEMORYTYPE_DEVICE, NULL, a, 8, 2);
    CHECK(FN(cuMemcpy2D_v2)(&p));
    p = plane(CU_MEMORYTYPE_HOST, host, 0, CU_MEMORYTYPE_ARRAY, NULL, 0, 16, 2);
    p.dstArray = array;
    CHECK(FN(cuMemcpy2DAsync_v2)(&p, s));
    p = plane(CU_MEMORYTYPE_UNIFIED, NULL, h, CU_MEMORYTYPE_UNIFIED, NULL, a, 32, 2);
    CHECK(FN(cuMemcpy2DUnaligned_v2)(&p));
    CUDA_MEMCPY3D b = block(CU_MEMORYTYPE_HOST, host, 0, CU_MEMORYTYPE_DEVICE, NULL, a, 32);
    CHECK(FN(cuMemcpy3D_v2)(&b));
    b = block(CU_MEMORYTYPE_HOST, host, 0, CU_MEMORYTYPE_DEVICE, NULL, a, 64);
    CHECK(FN(cuMemcpy3DAsync_v2)(&b, s));
    CHECK(FN(cuMemcpy)(a, h, 512));
    CHECK(FN(cuMemcpyAsync)(a, h, 1024, s));
}

static void
batches(CUstream s, CUdeviceptr a, char *host)
{
    CUdeviceptr h = (CUdeviceptr)(uintptr_t)host, to[] = { a, a + 1024, a + 1536 }, from[] = { h, h + 1024, h + 1536 };
    size_t sizes[] = { 1024, 512, 512 }, first = 0, failed;
    CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    CUDA_MEMCPY3D_BATCH_OP op = { .extent = { 64, 32, 2 }, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = h;
    op.dst.op.ptr.ptr = a;
    if (!FN(cuMemcpyBatchAsync) || !FN(cuMemcpy3DBatchAsync)) {
        puts("no batches");
        return;
    }
    CHECK(FN(cuMemcpyBatchAsync)(to, from, sizes, 3, &how, &first, 1, &failed, s));
    CHECK(FN(cuMemcpy3DBatchAsync)(1, &op, &failed, 0, s));
}

static void
to_host(CUstream s, CUdeviceptr a, CUarray array, char *host)
{
    CHECK(FN(cuMemcpyDtoH_v2)(host, a, 1));
    CHECK(FN(cuMemcpyDtoHAsync_v2)(host, a, 2, s));
    CHECK(FN(cuMemcpyAtoH_v2)(host, array, 0, 4));
    CHECK(FN(cuMemcpyAtoHAsync_v2)(host, array, 0, 8, s));
    CUDA_MEMCPY2D p = plane(CU_MEMORYTYPE_DEVICE, NULL, a, CU_MEMORYTYPE_HOST, host, 0, 8, 2);
    CHECK(FN(cuMemcpy2D_v2)(&p));
    CHECK(FN(cuMemcpy)((CUdeviceptr)(uintptr_t)host, a, 32));
    CUDA_MEMCPY3D b = block(CU_MEMORYTYPE_DEVICE, NULL, a, CU_MEMORYTYPE_HOST, host, 0, 16);
    CHECK(FN(cuMemcpy3D_v2)(&b));
}

static void
on_device(CUcontext context, CUstream s, CUdeviceptr a, CUdeviceptr b, CUarray array, CUarray other)
{
    CHECK(FN(cuMemcpyDtoD_v2)(b, a, 1));
    CHECK(FN(cuMemcpyDtoDAsync_v2)(b, a, 2, s));
    CHECK(FN(cuMemcpyDtoA_v2)(array, 0, a, 4));
    CHECK(FN(cuMemcpyAtoD_v2)(a, array, 0, 8));
    CHECK(FN(cuMemcpyAtoA_v2)(other, 0, array, 0, 16));
    CHECK(FN(cuMemcpyPeer)(b, context, a, context, 32));
    CHECK(FN(cuMemcpyPeerAsync)(b, context, a, context, 64, s));
    CUDA_MEMCPY3D_PEER p = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .srcContext = context, .srcPitch = PITCH, .srcHeight = 2,
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = b, .dstContext = context, .dstPitch = PITCH, .dstHeight = 2,
                             .WidthInBytes = 32, .Height = 2, .Depth = 2 };
    CHECK(FN(cuMemcpy3DPeer)(&p));
    p.WidthInBytes = 64;
    CHECK(FN(cuMemcpy3DPeerAsync)(&p, s));
    CUDA_MEMCPY2D q = plane(CU_MEMORYTYPE_DEVICE, NULL, a, CU_MEMORYTYPE_DEVICE, NULL, b, 256, 2);
    CHECK(FN(cuMemcpy2D_v2)(&q));
    CHECK(FN(cuMemcpy)(b, a, 1024));
}

static void
fills(CUstream s, CUdeviceptr a)
{
    CHECK(FN(cuMemsetD8_v2)(a, 1, 1));
    CHECK(FN(cuMemsetD16_v2)(a, 1, 1));
    CHECK(FN(cuMemsetD32_v2)(a, 1, 1));
    CHECK(FN(cuMemsetD8Async)(a, 1, 8, s));
    CHECK(FN(cuMemsetD16Async)(a, 1, 8, s));
    CHECK(FN(cuMemsetD32Async)(a, 1, 8, s));
    CHECK(FN(cuMemsetD2D8_v2)(a, PITCH, 1, 32, 2));
    CHECK(FN(cuMemsetD2D16_v2)(a, PITCH, 1, 32, 2));
    CHECK(FN(cuMemsetD2D32_v2)(a, PITCH, 1, 32, 2));
    CHECK(FN(cuMemsetD2D8Async)(a, PITCH, 1, 256, 2, s));
    CHECK(FN(cuMemsetD2D16Async)(a, PITCH, 1, 256, 2, s));
    CHECK(FN(cuMemsetD2D32Async)(a, PITCH, 1, 256, 2, s));
}

int
main(void)
{
    CUcontext context;
    CUstream s;
    CUdeviceptr a, b;
    CUarray array, other;
    void *host;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "copies: %s\n", dlerror());
        return 98;
    }
    const CUDA_ARRAY_DESCRIPTOR bytes = { .Width = PITCH, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 };
    CHECK(FN(cuInit)(0));
    CHECK(FN(cuDevicePrimaryCtxRetain)(&context, 0));
    CHECK(FN(cuCtxSetCurrent)(context));
    CHECK(FN(cuStreamCreate)(&s, CU_STREAM_DEFAULT));
    CHECK(FN(cuMemAlloc_v2)(&a, SIZE));
    CHECK(FN(cuMemAlloc_v2)(&b, SIZE));
    CHECK(FN(cuMemAllocHost_v2)(&host, SIZE));
    CHECK(FN(cuArrayCreate_v2)(&array, &bytes));
    CHECK(FN(cuArrayCreate_v2)(&other, &bytes));
    to_device(s, a, array, host);
    batches(s, a, host);
    CHECK(FN(cuStreamSynchronize)(s));
    to_host(s, a, array, host);
    on_device(context, s, a, b, array, other);
    CUDA_MEMCPY2D p = plane(CU_MEMORYTYPE_HOST, host, 0, CU_MEMORYTYPE_HOST, (char *)host + SIZE / 2, 0, 2, 2);
    CHECK(FN(cuMemcpy2D_v2)(&p));
    fills(s, a);
    CHECK(FN(cuCtxSynchronize)());
    CHECK(FN(cuDevicePrimaryCtxRelease_v2)(0));
    return 0;
}
