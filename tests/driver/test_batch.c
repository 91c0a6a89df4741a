/* SPDX-License-Identifier: Apache-2.0
 * Batches: copies in one and three dimensions, prefetches and discards of managed memory, in every version; what each element says is done, and a
 * bad one is named. Value operations, of which a bad one leaves all undone. */
#include "tests/driver/test.h"

#include <stdbool.h>
#include <stdint.h>

enum { N = 5, SIZE = 1000 };

static void
linear(CUstream s)
{
    CUdeviceptr dev, dst[N], src[N];
    static uint8_t from[N][SIZE], to[N][SIZE];
    size_t sizes[N], index[2] = { 0, 3 }, fail = 77;
    CUmemcpyAttributes attrs[2] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM }, { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY } };
    OK(cuMemAlloc_v2(&dev, N * SIZE));
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < SIZE; k++)
            from[i][k] = (uint8_t)(i * 31 + k);
        dst[i] = dev + i * SIZE;
        src[i] = (CUdeviceptr)(uintptr_t)from[i];
        sizes[i] = SIZE - i * 10;
    }
    OK(cuMemsetD8_v2(dev, 0xee, N * SIZE));
    OK(cuStreamSynchronize(NULL));      /* s does not wait for it */
    OK(cuMemcpyBatchAsync_v2(dst, src, sizes, N, attrs, index, 2, s));
    for (size_t i = 0; i < N; i++) {
        src[i] = dst[i];
        dst[i] = (CUdeviceptr)(uintptr_t)to[i];
        sizes[i] = SIZE;
    }
    OK(cuMemcpyBatchAsync(dst, src, sizes, N, attrs, index, 2, &fail, s));
    OK(cuStreamSynchronize(s));
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < SIZE; k++)
            EXPECT(to[i][k] == (k < SIZE - i * 10 ? from[i][k] : 0xee));
    /* One that runs out of its allocation. */
    src[3] = dev + N * SIZE - 1;
    EXPECT_RESULT(cuMemcpyBatchAsync(dst, src, sizes, N, attrs, index, 2, &fail, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(fail == 3);
    fail = 77;
    index[1] = 9;
    EXPECT_RESULT(cuMemcpyBatchAsync(dst, src, sizes, N, attrs, index, 2, &fail, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(fail == SIZE_MAX);
    attrs[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    EXPECT_RESULT(cuMemcpyBatchAsync_v2(dst, src, sizes, N, attrs, index, 1, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpyBatchAsync_v2(dst, src, sizes, N, attrs, index, 0, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(dev));
}

static void
boxes(CUstream s)
{
    enum { W = 12, H = 6, D = 3 };
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = W, .Height = H, .Depth = D, .Format = CU_AD_FORMAT_UNSIGNED_INT16, .NumChannels = 2 };
    static uint32_t from[D][H][W], to[D][H][W], dev_copy[D * H * W];
    CUarray a;
    CUdeviceptr dev;
    size_t fail = 77;
    OK(cuArray3DCreate_v2(&a, &d));
    OK(cuMemAlloc_v2(&dev, sizeof from));
    for (unsigned i = 0; i < D * H * W; i++)
        (&from[0][0][0])[i] = i * 7919;
    CUmemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    CUmemcpy3DOperand host_from = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                                    .op.ptr = { (CUdeviceptr)(uintptr_t)from, W, H, here } };
    CUmemcpy3DOperand array = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = { a, { 0, 0, 0 } } };
    CUmemcpy3DOperand inner = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = { a, { 2, 1, 1 } } };
    CUmemcpy3DOperand packed = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { dev, 5, 4, here } };     /* rows of five elements */
    CUmemcpy3DOperand host_to = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = { (CUdeviceptr)(uintptr_t)to, W, H, here } };
    CUDA_MEMCPY3D_BATCH_OP ops[3] = {
        { host_from, array, { W, H, D }, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 0 },
        { inner, packed, { 5, 4, 2 }, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 0 },
        { array, host_to, { W, H, D }, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 0 },
    };
    OK(cuMemcpy3DBatchAsync_v2(3, ops, 0, s));
    OK(cuStreamSynchronize(s));
    EXPECT(!memcmp(from, to, sizeof from));
    OK(cuMemcpyDtoH_v2(dev_copy, dev, 5 * 4 * 2 * 4));
    for (unsigned z = 0; z < 2; z++)
        for (unsigned y = 0; y < 4; y++)
            for (unsigned x = 0; x < 5; x++)
                EXPECT(dev_copy[(z * 4 + y) * 5 + x] == from[z + 1][y + 1][x + 2]);
    ops[1].extent.depth = 3;            /* from layer 1 of 3 on */
    EXPECT_RESULT(cuMemcpy3DBatchAsync(3, ops, &fail, 0, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(fail == 1);
    EXPECT_RESULT(cuMemcpy3DBatchAsync_v2(3, ops, 1, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpy3DBatchAsync_v2(0, ops, 0, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(dev));
    OK(cuArrayDestroy(a));
}

/* Of value operations all are done or none (an H200). */
static void
values(CUstream s)
{
    CUdeviceptr dev, gone;
    OK(cuMemAlloc_v2(&dev, 64));
    OK(cuMemAlloc_v2(&gone, 1 << 22));
    OK(cuMemFree_v2(gone));
    const struct { CUdeviceptr address; unsigned flags; } bad[] = { { dev + 1, 0 }, { 0, 0 }, { gone, 0 }, { dev + 8, 8 } };
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        const bool good = i == sizeof bad / sizeof *bad;
        CUstreamBatchMemOpParams op[2] = {
            { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = dev, .value = 7 } },
            { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = good ? dev + 8 : bad[i].address, .value = 7,
                              .flags = good ? 0 : bad[i].flags } },
        };
        uint32_t v = 99;
        OK(cuMemsetD32_v2(dev, 0, 16));
        OK(cuStreamSynchronize(NULL));
        CUresult e = cuStreamBatchMemOp_v2(s, 2, op, 0);
        if (e == CUDA_ERROR_NOT_SUPPORTED)
            break;                      /* not on every device */
        EXPECT_RESULT(e, good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        OK(cuStreamSynchronize(s));
        OK(cuMemcpyDtoH_v2(&v, dev, 4));
        EXPECT(v == (good ? 7 : 0));
    }
    OK(cuMemFree_v2(dev));
}

static int
where(CUdeviceptr p)
{
    int v = -99;
    OK(cuMemRangeGetAttribute(&v, sizeof v, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 4096));
    return v;
}

static void
managed(CUstream s)
{
    CUdeviceptr p[3], plain;
    size_t sizes[3] = { 8192, 8192, 8192 }, index[2] = { 0, 2 };
    CUmemLocation to[2] = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, { CU_MEM_LOCATION_TYPE_HOST, 0 } };
    for (int i = 0; i < 3; i++)
        OK(cuMemAllocManaged(&p[i], 8192, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAlloc_v2(&plain, 64));
    OK(cuMemPrefetchBatchAsync(p, sizes, 3, to, index, 2, 0, s));
    EXPECT(where(p[0]) == 0 && where(p[1]) == 0 && where(p[2]) == CU_DEVICE_CPU);
    OK(cuMemDiscardBatchAsync(p, sizes, 2, 0, s));
    index[1] = 1;
    OK(cuMemDiscardAndPrefetchBatchAsync(p, sizes, 3, to, index, 2, 0, s));
    EXPECT(where(p[0]) == 0 && where(p[1]) == CU_DEVICE_CPU && where(p[2]) == CU_DEVICE_CPU);
    OK(cuMemsetD8Async(p[0], 5, 8192, s));
    OK(cuStreamSynchronize(s));
    uint8_t b = 0;
    OK(cuMemcpyDtoH_v2(&b, p[0] + 8191, 1));
    EXPECT(b == 5);
    CUdeviceptr mixed[2] = { p[0], plain };
    EXPECT_RESULT(cuMemDiscardBatchAsync(mixed, sizes, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemPrefetchBatchAsync(p, sizes, 3, to, index, 0, 0, s), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemPrefetchBatchAsync(p, sizes, 3, to, index, 2, 1, s), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 3; i++)
        OK(cuMemFree_v2(p[i]));
    OK(cuMemFree_v2(plain));
}

int
main(void)
{
    CUcontext c = make_context();
    CUstream s;
    int has = 0;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    linear(s);
    boxes(s);
    values(s);
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0));
    if (has)
        managed(s);
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
