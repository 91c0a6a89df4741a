/* SPDX-License-Identifier: Apache-2.0
 * Every form of copy and fill against a plain loop, pointer attributes, registered and managed memory. */
#include "tests/driver/test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

static uint32_t seed = 1;

static uint8_t
next_byte(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint8_t)(seed >> 24);
}

static void
noise(uint8_t *p, size_t n)
{
    while (n--)
        *p++ = next_byte();
}

static void
linear(void)
{
    enum { N = 100003 };
    static uint8_t in[N], out[N];
    CUdeviceptr a, b;
    noise(in, N);
    OK(cuMemAlloc_v2(&a, N));
    OK(cuMemAlloc_v2(&b, N));
    EXPECT(a % 256 == 0 && b % 256 == 0 && a != b);
    OK(cuMemcpyHtoD_v2(a, in, N));
    OK(cuMemcpyDtoD_v2(b + 1, a, N - 1));
    OK(cuMemcpyDtoH_v2(out, b + 1, N - 1));
    EXPECT(!memcmp(in, out, N - 1));
    memset(out, 0, N);
    OK(cuMemcpyHtoDAsync_v2(b, in, N, NULL));
    OK(cuMemcpyDtoHAsync_v2(out, b, N, NULL));
    OK(cuStreamSynchronize(NULL));
    EXPECT(!memcmp(in, out, N));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)out, a + 5, 100));
    EXPECT(!memcmp(in + 5, out, 100));
    OK(cuMemcpyHtoD_v2(a, in, 0));
    EXPECT_RESULT(cuMemcpyHtoD_v2(a, in, N + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpyDtoH_v2(out, a + N, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpyDtoH_v2(out, 64, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpyHtoD_v2(a, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpyDtoD_v2(a, (CUdeviceptr)-8, 16), CUDA_ERROR_INVALID_VALUE);
    /* Addresses that no process has: no memory is touched, and the context goes on. */
    EXPECT_RESULT(cuMemcpy(a, 1ull << 63 | 0xe00, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpy(1ull << 47, a, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpyHtoD_v2(a, (void *)((1ull << 47) - 8), 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemFree_v2(a + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(a));
    EXPECT_RESULT(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(b));
    OK(cuMemFree_v2(0));
    EXPECT_RESULT(cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemAlloc_v2(&a, (size_t)1 << 60), CUDA_ERROR_OUT_OF_MEMORY);
}

static void *
free_elsewhere(void *user)
{
    CUdeviceptr *p = user;
    CUcontext c = (CUcontext)(uintptr_t)p[1];
    OK(cuCtxSetCurrent(c));
    OK(cuMemFree_v2(p[0]));
    return NULL;
}

/* What a thread has just copied to is gone for it when it is freed, also by another thread, and so are its attributes. */
static void
freed(CUcontext c)
{
    char byte = 1;
    for (int turn = 0; turn < 8; turn++) {
        CUdeviceptr p[2] = { 0, (uintptr_t)c }, q;
        pthread_t t;
        OK(cuMemAlloc_v2(&p[0], 256));
        OK(cuMemcpyHtoD_v2(p[0], &byte, 1));
        OK(cuMemcpyDtoH_v2(&byte, p[0], 1));
        if (turn & 1) {
            OK(cuMemFree_v2(p[0]));
        } else {
            EXPECT(!pthread_create(&t, NULL, free_elsewhere, p) && !pthread_join(t, NULL));
        }
        EXPECT_RESULT(cuMemcpyHtoD_v2(p[0], &byte, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_RESULT(cuPointerGetAttribute(&q, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p[0]), CUDA_ERROR_INVALID_VALUE);
        OK(cuMemAlloc_v2(&q, 128));
        OK(cuMemcpyHtoD_v2(q, &byte, 1));
        EXPECT_RESULT(cuMemcpyHtoD_v2(q, &p, 200), CUDA_ERROR_INVALID_VALUE);
        OK(cuMemFree_v2(q));
    }
}

/* Copy a w x h x d box between two volumes, both as memory of the given kinds; compare with a loop over bytes. */
enum where { HOST_END, DEVICE_END, ARRAY_END, UNIFIED_END, WHERE_COUNT };
enum { VW = 64, VH = 12, VD = 5, VOLUME = VW * VH * VD };

struct volume {
    enum where where;
    uint8_t host[VOLUME];
    CUdeviceptr device;
    CUarray array;
};

static void
volume_set(struct volume *v, enum where where, const uint8_t *bytes)
{
    v->where = where;
    memcpy(v->host, bytes, VOLUME);
    if (where == DEVICE_END || where == UNIFIED_END) {
        OK(cuMemcpyHtoD_v2(v->device, bytes, VOLUME));
    } else if (where == ARRAY_END) {
        CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = bytes, .srcPitch = VW, .srcHeight = VH,
                            .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = v->array, .WidthInBytes = VW, .Height = VH, .Depth = VD };
        OK(cuMemcpy3D_v2(&m));
    }
}

static void
volume_get(struct volume *v, uint8_t *bytes)
{
    if (v->where == HOST_END) {
        memcpy(bytes, v->host, VOLUME);
    } else if (v->where != ARRAY_END) {
        OK(cuMemcpyDtoH_v2(bytes, v->device, VOLUME));
    } else {
        CUDA_MEMCPY3D m = { .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = bytes, .dstPitch = VW, .dstHeight = VH,
                            .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = v->array, .WidthInBytes = VW, .Height = VH, .Depth = VD };
        OK(cuMemcpy3D_v2(&m));
    }
}

static void
boxes(void)
{
    static const CUmemorytype type[] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_UNIFIED };
    static const CUDA_ARRAY3D_DESCRIPTOR desc = { .Width = VW / 4, .Height = VH, .Depth = VD, .Format = CU_AD_FORMAT_UNSIGNED_INT16, .NumChannels = 2 };
    static struct volume src, dst;
    static uint8_t a[VOLUME], b[VOLUME], want[VOLUME], got[VOLUME];
    struct volume *both[] = { &src, &dst };
    for (int i = 0; i < 2; i++) {
        OK(cuMemAlloc_v2(&both[i]->device, VOLUME));
        OK(cuArray3DCreate_v2(&both[i]->array, &desc));
    }
    for (int from = 0; from < WHERE_COUNT; from++) {
        for (int to = 0; to < WHERE_COUNT; to++) {
            for (int round = 0; round < 6; round++) {
                bool two = round % 2, async = round >= 4;
                noise(a, VOLUME);
                noise(b, VOLUME);
                volume_set(&src, from, a);
                volume_set(&dst, to, b);
                size_t sx = next_byte() % 4 * 4, sy = next_byte() % 4, sz = two ? 0 : next_byte() % 2;
                size_t dx = next_byte() % 4 * 4, dy = next_byte() % 4, dz = two ? 0 : next_byte() % 2;
                size_t w = 4 + next_byte() % 12 * 4, h = 1 + next_byte() % 8, d = two ? 1 : 1 + next_byte() % 4;
                memcpy(want, b, VOLUME);
                for (size_t z = 0; z < d; z++)
                    for (size_t y = 0; y < h; y++)
                        for (size_t x = 0; x < w; x++)
                            want[((dz + z) * VH + dy + y) * VW + dx + x] = a[((sz + z) * VH + sy + y) * VW + sx + x];
                if (two) {
                    CUDA_MEMCPY2D m = { .srcXInBytes = sx, .srcY = sy, .srcMemoryType = type[from], .srcHost = src.host, .srcDevice = src.device,
                                        .srcArray = src.array, .srcPitch = VW, .dstXInBytes = dx, .dstY = dy, .dstMemoryType = type[to],
                                        .dstHost = dst.host, .dstDevice = dst.device, .dstArray = dst.array, .dstPitch = VW,
                                        .WidthInBytes = w, .Height = h };
                    OK(async ? cuMemcpy2DAsync_v2(&m, NULL) : round == 1 ? cuMemcpy2D_v2(&m) : cuMemcpy2DUnaligned_v2(&m));
                } else {
                    CUDA_MEMCPY3D m = { .srcXInBytes = sx, .srcY = sy, .srcZ = sz, .srcMemoryType = type[from], .srcHost = src.host,
                                        .srcDevice = src.device, .srcArray = src.array, .srcPitch = VW, .srcHeight = VH, .dstXInBytes = dx,
                                        .dstY = dy, .dstZ = dz, .dstMemoryType = type[to], .dstHost = dst.host, .dstDevice = dst.device,
                                        .dstArray = dst.array, .dstPitch = VW, .dstHeight = VH, .WidthInBytes = w, .Height = h, .Depth = d };
                    OK(async ? cuMemcpy3DAsync_v2(&m, NULL) : cuMemcpy3D_v2(&m));
                }
                OK(cuCtxSynchronize());
                volume_get(&dst, got);
                EXPECT(!memcmp(want, got, VOLUME));
            }
        }
    }
    /* Rows of an array as linear memory. */
    CUarray line;
    CUDA_ARRAY_DESCRIPTOR d1 = { .Width = 100, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    OK(cuArrayCreate_v2(&line, &d1));
    noise(a, 400);
    OK(cuMemcpyHtoA_v2(line, 0, a, 400));
    OK(cuMemcpyAtoD_v2(src.device, line, 40, 360));
    OK(cuMemcpyDtoA_v2(dst.array, 0, src.device, VW));
    OK(cuMemcpyAtoH_v2(b, line, 4, 396));
    EXPECT(!memcmp(a + 4, b, 396));
    OK(cuMemcpyDtoH_v2(b, src.device, 360));
    EXPECT(!memcmp(a + 40, b, 360));
    EXPECT_RESULT(cuMemcpyHtoA_v2(line, 4, a, 400), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D bad = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = src.device, .srcPitch = 16, .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = b, .dstPitch = 64, .WidthInBytes = 64, .Height = 2 };
    EXPECT_RESULT(cuMemcpy2D_v2(&bad), CUDA_ERROR_INVALID_VALUE);
    bad.srcPitch = 64;
    bad.Height = VH * VD + 1;
    EXPECT_RESULT(cuMemcpy2D_v2(&bad), CUDA_ERROR_INVALID_VALUE);
    /* A row has to fit into the pitch, and rows into the height, also where there is only one. */
    bad.srcPitch = 16;
    bad.Height = 1;
    EXPECT_RESULT(cuMemcpy2D_v2(&bad), CUDA_ERROR_INVALID_VALUE);
    bad.srcXInBytes = 16;
    bad.WidthInBytes = 16;
    EXPECT_RESULT(cuMemcpy2D_v2(&bad), CUDA_ERROR_INVALID_VALUE);
    static const uint8_t numbers[96] = { [16] = 1, [32] = 2, [48] = 3, [64] = 4 };
    static uint8_t rows[3 * 64];
    OK(cuMemcpyHtoD_v2(src.device, numbers, sizeof numbers));
    bad.srcXInBytes = 32;
    bad.Height = 3;
    bad.dstHost = rows;
    EXPECT_RESULT(cuMemcpy2D_v2(&bad), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpy2DAsync_v2(&bad, NULL), CUDA_ERROR_INVALID_VALUE);
    /* Copies of a pool's memory may begin behind the pitch (seen on an H200). */
    CUdeviceptr pooled;
    OK(cuMemAllocAsync(&pooled, sizeof numbers, NULL));
    OK(cuMemcpyHtoD_v2(pooled, numbers, sizeof numbers));
    bad.srcDevice = pooled;
    OK(cuMemcpy2D_v2(&bad));
    EXPECT(rows[0] == 2 && rows[64] == 3 && rows[128] == 4);
    memset(rows, 0, sizeof rows);
    OK(cuMemcpy2DAsync_v2(&bad, NULL));
    OK(cuStreamSynchronize(NULL));
    EXPECT(rows[0] == 2 && rows[64] == 3 && rows[128] == 4);
    OK(cuMemFreeAsync(pooled, NULL));
    bad.srcDevice = src.device;
    bad.dstHost = b;
    bad.Height = 1;
    bad.srcXInBytes = 0;
    OK(cuMemcpy2D_v2(&bad));
    CUDA_MEMCPY3D high = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = src.device, .srcPitch = 64, .srcHeight = 2, .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = b, .dstPitch = 64, .WidthInBytes = 16, .Height = 3, .Depth = 1 };
    EXPECT_RESULT(cuMemcpy3D_v2(&high), CUDA_ERROR_INVALID_VALUE);
    high.srcHeight = 3;
    OK(cuMemcpy3D_v2(&high));
    OK(cuArrayDestroy(line));
    for (int i = 0; i < 2; i++) {
        OK(cuMemFree_v2(both[i]->device));
        OK(cuArrayDestroy(both[i]->array));
    }
}

/* Two allocations that touch are not one. */
static void
neighbours(void)
{
    enum { N = 64, BYTES = 4096 };
    static uint8_t bytes[2 * BYTES];
    CUdeviceptr p[N], low = 0;
    for (int i = 0; i < N; i++)
        OK(cuMemAlloc_v2(&p[i], BYTES));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            if (p[k] == p[i] + BYTES)
                low = p[i];
    EXPECT(low);
    EXPECT_RESULT(cuMemcpyDtoH_v2(bytes, low, sizeof bytes), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemcpyHtoD_v2(low + BYTES / 2, bytes, BYTES), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemsetD8_v2(low, 0, sizeof bytes), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyDtoH_v2(bytes, low + BYTES, BYTES));
    for (int i = 0; i < N; i++)
        OK(cuMemFree_v2(p[i]));
}

static void
fills(void)
{
    enum { W = 37, H = 9, PITCH = 256 };
    static uint8_t want[PITCH * H], got[PITCH * H];
    CUdeviceptr p;
    OK(cuMemAlloc_v2(&p, sizeof want));
    for (int size = 1; size <= 4; size *= 2) {
        for (int async = 0; async < 2; async++) {
            const uint32_t value = 0xa1b2c3d4u >> (async * 3);
            memset(want, 0x11, sizeof want);
            OK(cuMemsetD8_v2(p, 0x11, sizeof want));
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W * size; x++)
                    want[y * PITCH + x] = (uint8_t)(value >> 8 * (x % size));
            if (size == 1)
                OK(async ? cuMemsetD2D8Async(p, PITCH, (unsigned char)value, W, H, NULL) : cuMemsetD2D8_v2(p, PITCH, (unsigned char)value, W, H));
            else if (size == 2)
                OK(async ? cuMemsetD2D16Async(p, PITCH, (unsigned short)value, W, H, NULL) : cuMemsetD2D16_v2(p, PITCH, (unsigned short)value, W, H));
            else
                OK(async ? cuMemsetD2D32Async(p, PITCH, value, W, H, NULL) : cuMemsetD2D32_v2(p, PITCH, value, W, H));
            OK(cuMemcpyDtoH_v2(got, p, sizeof got));
            EXPECT(!memcmp(want, got, sizeof got));
        }
    }
    OK(cuMemsetD16_v2(p + 2, 0x1234, 3));
    OK(cuMemsetD32_v2(p + 8, 0x89abcdef, 2));
    OK(cuMemcpyDtoH_v2(got, p, 16));
    static const uint8_t expect[] = { 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0xef, 0xcd, 0xab, 0x89, 0xef, 0xcd, 0xab, 0x89 };
    EXPECT(!memcmp(got + 2, expect, sizeof expect));
    EXPECT_RESULT(cuMemsetD32_v2(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemsetD8_v2(p, 0, sizeof want + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemsetD2D8_v2(p, 16, 0, 17, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
    size_t pitch = 0;
    OK(cuMemAllocPitch_v2(&p, &pitch, 1000, 10, 4));
    EXPECT(pitch >= 1000 && pitch % 32 == 0);
    OK(cuMemsetD2D8_v2(p, pitch, 1, 1000, 10));
    EXPECT_RESULT(cuMemAllocPitch_v2(&p, &pitch, 1000, 10, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
}

static void
attributes(CUcontext ctx)
{
    CUdeviceptr d, base, m, q;
    size_t size;
    void *h;
    unsigned type, flags;
    OK(cuMemAlloc_v2(&d, 1000));
    OK(cuMemGetAddressRange_v2(&base, &size, d + 999));
    EXPECT(base == d && size == 1000);
    EXPECT_RESULT(cuMemGetAddressRange_v2(&base, &size, d + 1000), CUDA_ERROR_NOT_FOUND);
    CUcontext c = NULL;
    OK(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, d + 1));
    EXPECT(c == ctx);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
    EXPECT(type == CU_MEMORYTYPE_DEVICE);
    EXPECT_RESULT(cuPointerGetAttribute(&h, CU_POINTER_ATTRIBUTE_HOST_POINTER, d), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&d), CUDA_ERROR_INVALID_VALUE);

    OK(cuMemHostAlloc(&h, 5000, CU_MEMHOSTALLOC_PORTABLE));
    memset(h, 7, 5000);
    OK(cuMemHostGetDevicePointer_v2(&q, (char *)h + 10, 0));
    OK(cuMemHostGetFlags(&flags, h));
    EXPECT(flags & CU_MEMHOSTALLOC_PORTABLE);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)h));
    EXPECT(type == CU_MEMORYTYPE_HOST);
    OK(cuMemcpyDtoD_v2(d, q, 100));
    EXPECT_RESULT(cuMemFree_v2((CUdeviceptr)(uintptr_t)h), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(h));
    EXPECT_RESULT(cuMemFreeHost(h), CUDA_ERROR_INVALID_VALUE);

    static char buffer[4096];
    int registers = 0;
    OK(cuDeviceGetAttribute(&registers, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 0));
    if (registers) {
        OK(cuMemHostRegister_v2(buffer, sizeof buffer, 0));
        EXPECT_RESULT(cuMemHostRegister_v2(buffer + 5, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        OK(cuMemHostGetDevicePointer_v2(&q, buffer + 1, 0));
        OK(cuMemsetD8_v2(q, 0x5a, 3));
        EXPECT(buffer[0] == 0 && buffer[1] == 0x5a && buffer[3] == 0x5a && buffer[4] == 0);
        OK(cuMemHostUnregister(buffer));
        EXPECT_RESULT(cuMemHostUnregister(buffer), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        /* Where nothing is, and where the device's memory is to be: allocations go on. */
        const char *device = getenv("CUDAWAY_DEVICE");
        if (device && (!strncmp(device, "host", 4) || !strcmp(device, "null"))) {
            EXPECT_RESULT(cuMemHostRegister_v2((void *)4096, 4096, 0), CUDA_ERROR_INVALID_VALUE);
            EXPECT_RESULT(cuMemHostRegister_v2((void *)4096, (size_t)1 << 46, 0), CUDA_ERROR_INVALID_VALUE);
            EXPECT_RESULT(cuMemHostRegister_v2((void *)(uintptr_t)(d + ((size_t)1 << 30)), 4 << 20, 0), CUDA_ERROR_INVALID_VALUE);
            OK(cuMemAlloc_v2(&q, 4 << 20));
            OK(cuMemFree_v2(q));
        }
        /* What the program has freed is no obstacle to memory that comes to lie there. NVIDIA's driver holds such pages. */
        if (device && strncmp(device, "cuda", 4)) {
            size_t size = 64 << 20;
            void *gone = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            EXPECT(gone != MAP_FAILED);
            OK(cuMemHostRegister_v2(gone, size, 0));
            munmap(gone, size);
            OK(cuMemHostAlloc(&h, size, 0));
            bool over_it = (uintptr_t)h < (uintptr_t)gone + size && (uintptr_t)gone < (uintptr_t)h + size;
            EXPECT((cuMemHostUnregister(gone) != CUDA_SUCCESS) == over_it);
            OK(cuMemFreeHost(h));
        }
    } else {
        EXPECT_RESULT(cuMemHostRegister_v2(buffer, sizeof buffer, 0), CUDA_ERROR_NOT_SUPPORTED);
    }

    OK(cuMemAllocManaged(&m, 10000, CU_MEM_ATTACH_GLOBAL));
    *(volatile int *)(uintptr_t)m = 42;
    int seen = 0;
    OK(cuMemcpyDtoH_v2(&seen, m, 4));
    EXPECT(seen == 42);
    unsigned is = 0;                    /* booleans take four bytes */
    OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_IS_MANAGED, m));
    EXPECT(is);
    OK(cuMemAdvise(m, 10000, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    OK(cuMemRangeGetAttribute(&seen, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 10000));
    EXPECT(seen == 1);
    OK(cuMemPrefetchAsync(m, 10000, 0, NULL));
    OK(cuMemFree_v2(m));

    CUpointer_attribute ask[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_IS_MANAGED };
    unsigned managed = 1;
    void *out[] = { &type, &size, &managed };
    OK(cuPointerGetAttributes(3, ask, out, d));
    EXPECT(type == CU_MEMORYTYPE_DEVICE && size == 1000 && !managed);
    OK(cuPointerGetAttributes(3, ask, out, (CUdeviceptr)(uintptr_t)buffer));
    EXPECT(type == 0 && size == 0);
    OK(cuMemFree_v2(d));
}

static void
virtual_memory(void)
{
    size_t grain = 0;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
    CUmemAccessDesc rw = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle a, b;
    CUdeviceptr p = 0, again = 0;
    OK(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT(grain && !(grain & (grain - 1)));
    OK(cuMemAddressReserve(&p, 3 * grain, 0, 0, 0));
    OK(cuMemCreate(&a, grain, &prop, 0));
    OK(cuMemCreate(&b, grain, &prop, 0));
    EXPECT_RESULT(cuMemCreate(&b, grain + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(p, grain, 0, a, 0));
    OK(cuMemMap(p + grain, grain, 0, b, 0));
    EXPECT_RESULT(cuMemMap(p, grain, 0, b, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemMap(p + 3 * grain, grain, 0, b, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemSetAccess(p, 2 * grain, &rw, 1));
    unsigned long long flags = 0;
    OK(cuMemGetAccess(&flags, &rw.location, p + grain));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    /* A copy may cross the border of two mappings, not run into the hole behind them. */
    static uint8_t in[100], out[100];
    noise(in, sizeof in);
    OK(cuMemcpyHtoD_v2(p + grain - 50, in, sizeof in));
    OK(cuMemcpyDtoH_v2(out, p + grain - 50, sizeof out));
    EXPECT(!memcmp(in, out, sizeof in));
    EXPECT_RESULT(cuMemcpyHtoD_v2(p + 2 * grain - 50, in, sizeof in), CUDA_ERROR_INVALID_VALUE);
    /* The same physical memory at a second address. */
    OK(cuMemMap(p + 2 * grain, grain, 0, b, 0));
    OK(cuMemSetAccess(p + 2 * grain, grain, &rw, 1));
    OK(cuMemcpyDtoH_v2(out, p + 2 * grain, 50));
    EXPECT(!memcmp(in + 50, out, 50));
    OK(cuMemRelease(a));
    EXPECT_RESULT(cuMemRelease(a), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(b));
    EXPECT_RESULT(cuMemAddressFree(p, 3 * grain), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemUnmap(p, grain / 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(p, 3 * grain));
    OK(cuMemAddressFree(p, 3 * grain));
    /* A free address that is asked for is given. */
    OK(cuMemAddressReserve(&again, grain, 0, p, 0));
    EXPECT(again == p);
    OK(cuMemAddressFree(again, grain));
}

static bool over_cuda;

/* A multicast object of one device: what is bound to it is there under its address, also what is bound after it was mapped. */
static void
multicast(void)
{
    size_t grain = 0;
    CUmulticastObjectProp prop = { .numDevices = 1 };
    CUmemAllocationProp mem = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemAccessDesc rw = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle mc, a, b;
    CUdeviceptr p, q;
    OK(cuMulticastGetGranularity(&grain, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
    EXPECT_RESULT(cuMulticastCreate(&mc, &prop), CUDA_ERROR_INVALID_VALUE);     /* no size */
    prop.size = 4 * grain;
    if (over_cuda) {
        EXPECT_RESULT(cuMulticastCreate(&mc, &prop), CUDA_ERROR_NOT_SUPPORTED);     /* which its attribute says */
        return;
    }
    OK(cuMulticastCreate(&mc, &prop));
    OK(cuMemCreate(&a, 2 * grain, &mem, 0));
    OK(cuMemCreate(&b, grain, &mem, 0));
    EXPECT_RESULT(cuMulticastBindMem(mc, 0, a, 0, grain, 0), CUDA_ERROR_INVALID_VALUE);     /* no device */
    EXPECT_RESULT(cuMulticastAddDevice(mc, 99), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuMulticastAddDevice(a, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMulticastAddDevice(mc, 0));
    EXPECT_RESULT(cuMulticastAddDevice(mc, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&q, 2 * grain, 0, 0, 0));
    OK(cuMemMap(q, 2 * grain, 0, a, 0));
    OK(cuMemSetAccess(q, 2 * grain, &rw, 1));
    OK(cuMulticastBindMem(mc, grain, a, grain, grain, 0));
    EXPECT_RESULT(cuMulticastBindMem(mc, grain, b, 0, grain, 0), CUDA_ERROR_INVALID_VALUE);     /* taken */
    EXPECT_RESULT(cuMulticastBindMem(mc, 4 * grain, b, 0, grain, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&p, 4 * grain, 0, 0, 0));
    OK(cuMemMap(p, 4 * grain, 0, mc, 0));
    OK(cuMemSetAccess(p, 4 * grain, &rw, 1));
    OK(cuMulticastBindAddr(mc, 0, q, grain, 0));        /* the halves of a, in their order */
    OK(cuMulticastBindMem(mc, 3 * grain, b, 0, grain, 0));
    unsigned char in[64], out[64] = { 0 };
    for (unsigned i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * 3 + 1);
    OK(cuMemcpyHtoD_v2(p + grain - 32, in, 64));        /* over the seam of two bindings */
    OK(cuMemcpyDtoH_v2(out, q + grain - 32, 64));
    EXPECT(!memcmp(in, out, 64));
    OK(cuMemsetD8_v2(p + 3 * grain, 7, grain));
    OK(cuMemcpyDtoH_v2(out, p + 4 * grain - 64, 64));
    EXPECT(out[63] == 7);
    OK(cuCtxSynchronize());
    OK(cuMulticastUnbind(mc, 0, 3 * grain, grain));
    EXPECT_RESULT(cuMulticastUnbind(mc, 0, 3 * grain, grain), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(p, 4 * grain));
    OK(cuMemRelease(mc));
    OK(cuMemRelease(b));
    OK(cuMemUnmap(q, 2 * grain));
    OK(cuMemRelease(a));
    OK(cuMemAddressFree(p, 4 * grain));
    OK(cuMemAddressFree(q, 2 * grain));
}

static void
pools(void)
{
    CUmemoryPool pool;
    CUdeviceptr p;
    cuuint64_t used = 1;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocAsync(&p, 12345, NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT(used == 12345);
    OK(cuMemsetD8Async(p, 3, 12345, NULL));
    OK(cuMemFreeAsync(p, NULL));
    EXPECT_RESULT(cuMemFreeAsync(p, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT(used == 0);
    EXPECT_RESULT(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&p, 100, pool, NULL));
    OK(cuMemPoolDestroy(pool));
    EXPECT_RESULT(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
}

static unsigned
mappings(void)
{
    unsigned n = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    for (int c; f && (c = fgetc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

/* Fill or look for the numbers of blocks first, first + step, ... */
static bool
numbered(const CUdeviceptr *p, unsigned n, unsigned first, unsigned step, bool fill)
{
    for (unsigned i = first; i < n; i += step) {
        unsigned v = i;
        if (fill ? cuMemcpyHtoD_v2(p[i] + 4096 * (i % 16), &v, sizeof v) : cuMemcpyDtoH_v2(&v, p[i] + 4096 * (i % 16), sizeof v))
            return false;
        if (v != i)
            return false;
    }
    return true;
}

/* Physical memory takes no descriptors, of which a program often may have no more than 1,024: not for the handle, nor where it is mapped. */
static void
many_handles(size_t grain)
{
    enum { MANY = 200 };
    static CUmemGenericAllocationHandle h[MANY];
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
    CUmemAccessDesc all = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUdeviceptr p;
    unsigned failed = 0, v;
    const int before = entries("/proc/self/fd");
    OK(cuMemAddressReserve(&p, MANY * grain, 0, 0, 0));
    for (unsigned i = 0; i < MANY; i++)
        failed += cuMemCreate(&h[i], grain, &prop, 0) != CUDA_SUCCESS;
    for (unsigned i = 0; i < MANY; i++)         /* in another order */
        failed += cuMemMap(p + i * grain, grain, 0, h[(i * 7) % MANY], 0) != CUDA_SUCCESS;
    OK(cuMemSetAccess(p, MANY * grain, &all, 1));
    EXPECT(!failed && entries("/proc/self/fd") <= before + 2);
    for (unsigned i = 0; i < MANY; i++)
        failed += cuMemcpyHtoD_v2(p + i * grain + 8, &i, sizeof i) != CUDA_SUCCESS;
    for (unsigned i = 0; i < MANY; i += 2)      /* every second one is another's in turn */
        failed += cuMemUnmap(p + i * grain, grain) || cuMemRelease(h[(i * 7) % MANY]) || cuMemCreate(&h[(i * 7) % MANY], grain, &prop, 0) ||
                  cuMemMap(p + i * grain, grain, 0, h[(i * 7) % MANY], 0) || cuMemSetAccess(p + i * grain, grain, &all, 1) ||
                  cuMemcpyHtoD_v2(p + i * grain + 8, &i, sizeof i);
    for (unsigned i = 0; i < MANY; i++)
        failed += cuMemcpyDtoH_v2(&v, p + i * grain + 8, sizeof v) || v != i;
    OK(cuMemUnmap(p, MANY * grain));
    for (unsigned i = 0; i < MANY; i++)
        failed += cuMemRelease(h[i]) != CUDA_SUCCESS;
    OK(cuMemAddressFree(p, MANY * grain));
    EXPECT(!failed);
}

/* Memory in many pieces takes a part of the 65,530 mappings that a process may have; the program has the rest for its threads and files. Each hole is
 * used again, and its neighbours keep what they hold. */
static void
holes(bool pool)
{
    enum { MANY = 20000, SIZE = 65536, MOST = 18000 };
    static CUdeviceptr p[MANY];
    unsigned failed = 0;
    for (unsigned i = 0; i < MANY; i++)
        failed += (pool ? cuMemAllocAsync(&p[i], SIZE, NULL) : cuMemAlloc_v2(&p[i], SIZE)) != CUDA_SUCCESS;
    EXPECT(!failed);
    EXPECT(numbered(p, MANY, 0, 1, true));
    for (unsigned i = 0; i < MANY; i += 2)
        failed += (pool ? cuMemFreeAsync(p[i], NULL) : cuMemFree_v2(p[i])) != CUDA_SUCCESS;
    OK(cuStreamSynchronize(NULL));
    EXPECT(!failed && mappings() < MOST);
    EXPECT(numbered(p, MANY, 1, 2, false));
    for (unsigned i = 0; i < MANY; i += 2)
        failed += (pool ? cuMemAllocAsync(&p[i], SIZE, NULL) : cuMemAlloc_v2(&p[i], SIZE)) != CUDA_SUCCESS;
    EXPECT(!failed && mappings() < MOST && numbered(p, MANY, 0, 2, true) && numbered(p, MANY, 0, 1, false));
    for (unsigned i = 0; i < MANY; i++)
        failed += cuMemFree_v2(p[i]) != CUDA_SUCCESS;
    OK(cuStreamSynchronize(NULL));
    EXPECT(!failed && mappings() < 1000);
}

int
main(void)
{
    over_cuda = is_over_cuda();
    CUcontext c = make_context();
    linear();
    freed(c);
    boxes();
    neighbours();
    fills();
    attributes(c);
    virtual_memory();
    int vmm = 0;
    OK(cuDeviceGetAttribute(&vmm, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    if (vmm)
        multicast();
    pools();
    const char *device = getenv("CUDAWAY_DEVICE");
    if (device && (!strcmp(device, "host") || !strcmp(device, "null"))) {      /* whose memory is this process's, by impl/va.c */
        many_handles(2 << 20);
        holes(false);
        holes(true);
    }
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
