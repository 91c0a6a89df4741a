/* SPDX-License-Identifier: Apache-2.0
 * Sections of `answers`: memory, copies and fills, what is known of an address, pools, virtual memory. */
#include "tests/driver/answers.h"

/* Addresses that every call may be given. */
#define ADDRESS(name) P(name, U(o.dev), 0, U(o.dev + 1), U(o.dev + SIZE - 1), U(o.dev + SIZE), U(o.freed), U(o.managed), U(o.pinned), U(o.registered), \
                        U(other_dev), 16)
static void
memset1(void)
{
    CUdeviceptr p = ADDRESS(dst);
    size_t n = P(n, 16, 0, 1, SIZE, SIZE + 1);
    A(cuMemsetD8_v2(p, 1, n));
    A(cuMemsetD16_v2(p, 1, n));
    A(cuMemsetD32_v2(p, 1, n));
}

static void
memset_async(void)
{
    CUdeviceptr p = ADDRESS(dst);
    size_t n = P(n, 16, 0, 1, SIZE, SIZE + 1);
    CUstream s = STREAM(stream);
    A(cuMemsetD8Async(p, 1, n, s));
    A(cuMemsetD16Async(p, 1, n, s));
    A(cuMemsetD32Async(p, 1, n, s));
}

static void
memset2d(void)
{
    CUdeviceptr p = ADDRESS(dst);
    size_t pitch = P(pitch, 256, 0, 1, 3, 4, 15, 16, 64, 65, 255, SIZE, SIZE * 2), w = P(width, 16, 0, 1, 256, 257), h = P(height, 4, 0, 1, SIZE);
    A(cuMemsetD2D8_v2(p, pitch, 1, w, h));
    A(cuMemsetD2D16_v2(p, pitch, 1, w, h));
    A(cuMemsetD2D32_v2(p, pitch, 1, w, h));
    A(cuMemsetD2D8Async(p, pitch, 1, w, h, o.stream));
    A(cuMemsetD2D32Async(p, pitch, 1, w, h, o.stream));
}

static void
copy_linear(void)
{
    CUdeviceptr dst = ADDRESS(dst), src = P(src, U(o.dev + 4096), 0, U(o.dev + 1), U(o.dev + SIZE), U(o.freed), U(o.managed), U(o.pinned),
        U(other_dev), 16);
    size_t n = P(n, 64, 0, 1, SIZE, SIZE + 1);
    A(cuMemcpyDtoD_v2(dst, src, n));
    A(cuMemcpyDtoDAsync_v2(dst, src, n, o.stream));
}

static void
copy_default(void)
{
    CUdeviceptr dst = P(dst, U(o.dev), U(o.dev + SIZE - 1), U(o.managed), U(o.pinned), U(host), U(o.registered), U(other_dev));
    CUdeviceptr src = P(src, U(o.dev + 4096), U(o.dev + SIZE - 1), U(o.managed), U(o.pinned), U(host), U(o.registered), U(other_dev));
    size_t n = P(n, 64, 0, 1, SIZE / 2);
    A(cuMemcpy(dst, src, n));
    A(cuMemcpyAsync(dst, src, n, o.stream));
}

static void
copy_host(void)
{
    CUdeviceptr p = ADDRESS(device);
    void *h = PP(void *, host, U(host), 0, U(o.pinned), U(o.registered), U(o.managed), U(o.dev));
    size_t n = P(n, 64, 0, 1, SIZE, SIZE + 1);
    A(cuMemcpyHtoD_v2(p, h, n));
    A(cuMemcpyDtoH_v2(h, p, n));
    CUstream s = STREAM(stream);
    A(cuMemcpyHtoDAsync_v2(p, h, n, s));
    A(cuMemcpyDtoHAsync_v2(h, p, n, s));
}

static void
copy_peer(void)
{
    CUcontext to = PP(CUcontext, to, U(o.ctx), 0, U(other)), from = PP(CUcontext, from, U(o.ctx), 0, U(other));
    CUdeviceptr dst = ADDRESS(dst), src = P(src, U(o.dev + 4096), 0, U(o.freed), U(other_dev), U(o.pinned), U(host));
    size_t n = P(n, 64, 0, SIZE + 1);
    A(cuMemcpyPeer(dst, to, src, from, n));
    A(cuMemcpyPeerAsync(dst, to, src, from, n, o.stream));
}

#define SIDE_2D(x, offset) \
    c.x##MemoryType = P(x##MemoryType, CU_MEMORYTYPE_DEVICE, 0, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_UNIFIED, 5, 99); \
    c.x##Device = P(x##Device, U(o.dev + offset), 0, U(o.dev + 1), U(o.freed), U(o.pinned), U(o.dev + SIZE - 64), U(other_dev)); \
    c.x##Host = host; \
    c.x##Array = PP(CUarray, x##Array, U(o.array), 0, U(o.array3d), U(o.array1d)); \
    c.x##Pitch = P(x##Pitch, 128, 0, 1, 31, 32, 63, 64, 127, SIZE); \
    c.x##XInBytes = P(x##XInBytes, 0, 1, 4, 64, 128); \
    c.x##Y = P(x##Y, 0, 1, 13, 16, 1000)

static CUDA_MEMCPY2D
copy2d(void)
{
    CUDA_MEMCPY2D c;
    memset(&c, 0, sizeof c);
    SIDE_2D(src, 4096);
    SIDE_2D(dst, 0);
    c.WidthInBytes = P(width, 32, 0, 1, 128, 129);
    c.Height = P(height, 4, 0, 1, 17, SIZE);
    return c;
}

static void
memcpy2d(void)
{
    CUDA_MEMCPY2D c = copy2d();
    A(cuMemcpy2D_v2(&c));
    A(cuMemcpy2DUnaligned_v2(&c));
    A(cuMemcpy2DAsync_v2(&c, o.stream));
}

/* The same with an array as one side. */
static void
memcpy2d_array(void)
{
    CUDA_MEMCPY2D c;
    memset(&c, 0, sizeof c);
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = PP(CUarray, dstArray, U(o.array), 0, U(o.array3d), U(o.array1d), U(o.layered), U(o.surface));
    c.dstXInBytes = P(dstXInBytes, 0, 1, 4, 96, 128);
    c.dstY = P(dstY, 0, 1, 13, 16);
    c.srcMemoryType = P(srcMemoryType, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_ARRAY);
    c.srcDevice = o.dev;
    c.srcHost = host;
    c.srcArray = PP(CUarray, srcArray, U(o.array), U(o.array1d), U(o.surface), U(o.array3d), 0);
    c.srcPitch = P(srcPitch, 128, 0, 31, 32, 64);
    c.WidthInBytes = P(width, 32, 0, 1, 3, 4, 128, 129);
    c.Height = P(height, 4, 0, 1, 16, 17);
    A(cuMemcpy2D_v2(&c));
    A(cuMemcpy2DUnaligned_v2(&c));
}

#define SIDE_3D(x, offset) \
    c.x##MemoryType = P(x##MemoryType, CU_MEMORYTYPE_DEVICE, 0, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_UNIFIED, 99); \
    c.x##Device = P(x##Device, U(o.dev + offset), 0, U(o.freed), U(o.dev + SIZE - 64)); \
    c.x##Host = host; \
    c.x##Array = PP(CUarray, x##Array, U(o.array3d), 0, U(o.array), U(o.array1d), U(o.layered)); \
    c.x##Pitch = P(x##Pitch, 128, 0, 31, 32, 64, SIZE); \
    c.x##Height = P(x##Height, 8, 0, 1, 3, 4); \
    c.x##XInBytes = P(x##XInBytes, 0, 1, 4, 128); \
    c.x##Y = P(x##Y, 0, 1, 8, 16); \
    c.x##Z = P(x##Z, 0, 1, 3, 4); \
    c.x##LOD = P(x##LOD, 0, 1)

static void
memcpy3d(void)
{
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof c);
    SIDE_3D(src, 8192);
    SIDE_3D(dst, 0);
    c.WidthInBytes = P(width, 32, 0, 1, 129);
    c.Height = P(height, 4, 0, 1, 17);
    c.Depth = P(depth, 2, 0, 1, 5);
    c.reserved0 = PP(void *, reserved0, 0, 1);
    A(cuMemcpy3D_v2(&c));
    A(cuMemcpy3DAsync_v2(&c, o.stream));
}

static void
memcpy3d_peer(void)
{
    CUDA_MEMCPY3D_PEER c;
    memset(&c, 0, sizeof c);
    SIDE_3D(src, 8192);
    SIDE_3D(dst, 0);
    c.srcContext = PP(CUcontext, srcContext, U(o.ctx), 0, U(other));
    c.dstContext = PP(CUcontext, dstContext, U(o.ctx), 0, U(other));
    c.WidthInBytes = P(width, 32, 0, 129);
    c.Height = P(height, 4, 0, 17);
    c.Depth = P(depth, 2, 0, 5);
    A(cuMemcpy3DPeer(&c));
    A(cuMemcpy3DPeerAsync(&c, o.stream));
}

static void
copy_array(void)
{
    CUarray a = PP(CUarray, array, U(o.array), U(o.array1d), U(o.array3d), U(o.layered), U(o.surface), 0);
    size_t at = P(offset, 0, 1, 64, 127, 128, 2048), n = P(n, 64, 0, 1, 128, 129, 2048);
    A(cuMemcpyHtoA_v2(a, at, host, n));
    A(cuMemcpyAtoH_v2(host, a, at, n));
    A(cuMemcpyDtoA_v2(a, at, o.dev, n));
    A(cuMemcpyAtoD_v2(o.dev, a, at, n));
    A(cuMemcpyAtoA_v2(o.array, 0, a, at, n));
    A(cuMemcpyHtoAAsync_v2(a, at, host, n, o.stream));
    A(cuMemcpyAtoHAsync_v2(host, a, at, n, o.stream));
}

static void
copy_batch(void)
{
    CUdeviceptr dst[2] = { P(dst, U(o.dev), 0, U(o.freed), U(o.pinned), U(host), U(o.managed)), o.dev + 1024 };
    CUdeviceptr src[2] = { P(src, U(o.dev + 4096), 0, U(o.freed), U(o.pinned), U(host)), o.dev + 8192 };
    size_t sizes[2] = { P(size, 64, 0, SIZE + 1), 64 }, index[2] = { P(index0, 0, 1), 1 };
    CUmemcpyAttributes attrs[2];
    memset(attrs, 0, sizeof attrs);
    attrs[0].srcAccessOrder = P(order, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 0, 2, 3, 4, 99);
    attrs[0].flags = P(flags, 0, 1, 2, 99);
    attrs[0].srcLocHint.type = P(hint, 0, 1, 2, 3, 4, 99);
    attrs[0].srcLocHint.id = P(hint_id, 0, -1, 99);
    attrs[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    A(cuMemcpyBatchAsync_v2(PP(CUdeviceptr *, dsts, U(dst), 0), PP(CUdeviceptr *, srcs, U(src), 0), PP(size_t *, sizes, U(sizes), 0), P(count, 2, 0,
        1),
                            PP(CUmemcpyAttributes *, attrs, U(attrs), 0), PP(size_t *, indices, U(index), 0), P(nattrs, 1, 0, 2, 3), STREAM(stream)));
}

static void
alloc(void)
{
    CUdeviceptr p = 0;
    void *h = NULL;
    size_t pitch = 0;
    if (!A(cuMemAlloc_v2(PP(CUdeviceptr *, out, U(&p), 0), P(size, 64, 0, 1ull << 50, ~0ull))))
        A(cuMemFree_v2(p));
    if (!A(cuMemAllocPitch_v2(PP(CUdeviceptr *, outp, U(&p), 0), PP(size_t *, pitch, U(&pitch), 0), P(width, 100, 0, 1, 513, 1ull << 40, ~0ull),
                              P(height, 4, 0, 1ull << 40), P(element, 4, 0, 1, 2, 3, 8, 16, 32)))) {
        V(pitch);
        A(cuMemFree_v2(p));
    }
    if (!A(cuMemAllocHost_v2(PP(void **, outh, U(&h), 0), P(hsize, 64, 0))))
        A(cuMemFreeHost(h));
    if (!A(cuMemHostAlloc(PP(void **, outa, U(&h), 0), P(asize, 64, 0), P(flags, 0, 1, 2, 4, 7, 8, 16, 255)))) {
        unsigned f = 99;
        A(cuMemHostGetFlags(&f, h));
        V(f);
        A(cuMemHostGetDevicePointer_v2(&p, h, P(gflags, 0, 1)));
        A(cuMemFreeHost(h));
    }
    if (!A(cuMemAllocManaged(PP(CUdeviceptr *, outm, U(&p), 0), P(msize, 64, 0), P(mflags, 1, 0, 2, 3, 4, 8))))
        A(cuMemFree_v2(p));
}

static void
free_(void)
{
    A(cuMemFree_v2(P(free, 0, U(o.freed), U(o.dev + 16), U(o.pinned), U(o.registered), U(host), 16, U(o.dev + SIZE))));
    A(cuMemFreeHost(PP(void *, freehost, U(host), 0, U(o.dev), U(o.registered), U(o.managed), U((char *)o.pinned + 64))));
    A(cuMemHostUnregister(PP(void *, unregister, U(host), 0, U(o.dev), U(o.pinned), U((char *)o.registered + 4096))));
    A(cuMemFreeAsync(P(freeasync, U(o.freed), 0, U(o.dev + 16), U(o.pinned), U(host), 16), o.stream));
}

static void
registered(void)
{
    char *p = PP(char *, p, U(host), 0, U(host + 1), U(host + 4096), U(o.pinned), U(o.dev), U(o.registered), U(o.managed));
    if (!A(cuMemHostRegister_v2(p, P(size, 4096, 0, 1, 8192, SIZE), P(flags, 0, 1, 2, 3, 4, 8, 15, 16, 255)))) {
        CUdeviceptr d = 0;
        unsigned f = 99;
        A(cuMemHostGetFlags(&f, p));
        V(f);
        A(cuMemHostGetDevicePointer_v2(&d, p + P(at, 0, 1, 4095, 4096), 0));
        A(cuMemHostRegister_v2(p + P(again, 0, 64, 4096), 64, 0));
        A(cuMemHostUnregister(p));
        (void)cuMemHostUnregister(host + 4096);
    }
}

static void
host_asked(void)
{
    CUdeviceptr d;
    unsigned f = 99;
    void *p = PP(void *, p, U(o.pinned), 0, U(host), U(o.registered), U(o.dev), U(o.managed), U((char *)o.pinned + SIZE), U((char *)o.pinned + 64));
    A(cuMemHostGetDevicePointer_v2(PP(CUdeviceptr *, out, U(&d), 0), p, P(flags, 0, 1, 2)));
    A(cuMemHostGetFlags(PP(unsigned *, outf, U(&f), 0), p));
    V(f);
}

/* Values that are addresses or name the process are not printed. */
static bool
printable(unsigned attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID + 1:
        return true;
    default:
        return false;
    }
}

static void
pointer_attribute(void)
{
    uint64_t data[8] = { 0 };
    unsigned a = (unsigned)RANGE(attribute, 1, 0, 24);
    CUdeviceptr p = P(p, U(o.dev), 0, U(o.dev + 16), U(o.dev + SIZE), U(o.managed), U(o.pinned), U(o.registered), U(host), U(other_dev), 16);
    A(cuPointerGetAttribute(PP(void *, data, U(data), 0), (CUpointer_attribute)a, p));
    if (printable(a))
        V(data[0] & 0xffffffff);
    unsigned v = (unsigned)P(set, 1, 0, 2);
    A(cuPointerSetAttribute(PP(void *, value, U(&v), 0), (CUpointer_attribute)a, p));
}

static void
pointer_attributes(void)
{
    uint64_t v[2] = { 0x55, 0x55 };
    void *data[2] = { PP(void *, data0, U(&v[0]), 0), &v[1] };
    CUpointer_attribute a[2] = { (CUpointer_attribute)RANGE(attribute, 1, 0, 24), CU_POINTER_ATTRIBUTE_MEMORY_TYPE };
    CUdeviceptr p = P(p, U(o.dev), 0, U(o.dev + 16), U(o.dev + SIZE), U(o.managed), U(o.pinned), U(o.registered), U(host), U(other_dev), 16);
    A(cuPointerGetAttributes((unsigned)P(n, 2, 0, 1), PP(CUpointer_attribute *, attributes, U(a), 0), PP(void **, data, U(data), 0), p));
    if (printable(a[0]))
        V(v[0] & 0xffffffff);
    V(v[1] & 0xffffffff);
}

static void
address_range(void)
{
    CUdeviceptr base = 0;
    size_t n = 0;
    CUdeviceptr p = ADDRESS(p);
    A(cuMemGetAddressRange_v2(PP(CUdeviceptr *, base, U(&base), 0), PP(size_t *, size, U(&n), 0), p));
    V(n);
    V(base ? p - base : 0);
}

#define LOCATION(x) (CUmemLocation){ .type = (CUmemLocationType)P(x##_type, CU_MEM_LOCATION_TYPE_DEVICE, 0, 2, 3, 4, 5, 99), .id = (int)P(x##_id, 0, \
    -1, 1, 99) }

static void
managed(void)
{
    CUdeviceptr p = P(p, U(o.managed), 0, U(o.managed + 1), U(o.managed + 4096), U(o.dev), U(o.pinned), U(host), U(o.freed));
    size_t n = P(n, 4096, 0, 1, SIZE, SIZE + 1);
    CUmemLocation l = LOCATION(location);
    A(cuMemAdvise_v2(p, n, (CUmem_advise)RANGE(advice, 1, 0, 10), l));
    A(cuMemPrefetchAsync_v2(p, n, l, (unsigned)P(flags, 0, 1), STREAM(stream)));
    A(cuMemAdvise(p, n, CU_MEM_ADVISE_UNSET_READ_MOSTLY, (CUdevice)P(device, 0, 1, -1, -2, 99)));
    A(cuMemPrefetchAsync(p, n, (CUdevice)P(to, 0, 1, -1, -2, 99), o.stream));
    (void)cuCtxSynchronize();
}

static void
range_attribute(void)
{
    int v[4] = { 0x55, 0x55, 0x55, 0x55 };
    CUdeviceptr p = P(p, U(o.managed), 0, U(o.managed + 1), U(o.managed + 4096), U(o.dev), U(o.pinned), U(host));
    unsigned a = (unsigned)RANGE(attribute, 1, 0, 9);
    size_t n = P(n, 4096, 0, 1, SIZE, SIZE + 1);
    size_t size = P(size, 4, 0, 1, 2, 8, 12, 16);
    void *data = PP(void *, data, U(v), 0);
    A(cuMemRangeGetAttribute(data, size, (CUmem_range_attribute)a, p, n));
    V(v[0]);
    void *list[1] = { data };
    CUmem_range_attribute one = (CUmem_range_attribute)a;
    A(cuMemRangeGetAttributes(PP(void **, list, U(list), 0), PP(size_t *, sizes, U(&size), 0), PP(CUmem_range_attribute *, ids, U(&one), 0), P(count,
        1, 0), p, n));
}

static void
attach(void)
{
    A(cuStreamAttachMemAsync(STREAM(stream), P(p, U(o.managed), 0, U(o.managed + 1), U(o.dev), U(o.pinned), U(host)), P(n, 0, 1, 4096, SIZE,
        SIZE + 1),
                             (unsigned)P(flags, 1, 0, 2, 3, 4, 8)));
    (void)cuCtxSynchronize();
    (void)cuStreamAttachMemAsync(o.stream, o.managed, 0, CU_MEM_ATTACH_GLOBAL);
}

/* ---- pools ---- */

static void
pool_create(void)
{
    CUmemPoolProps p;
    CUmemoryPool pool = NULL;
    memset(&p, 0, sizeof p);
    p.allocType = (CUmemAllocationType)P(allocType, CU_MEM_ALLOCATION_TYPE_PINNED, 0, 2, 3, 99);
    p.handleTypes = (CUmemAllocationHandleType)P(handleTypes, 0, 1, 2, 4, 8, 3, 16, 99);
    p.location = LOCATION(location);
    p.win32SecurityAttributes = PP(void *, win32, 0, U(host));
    p.maxSize = P(maxSize, 0, 1, SIZE, 1ull << 60);
    p.usage = (unsigned short)P(usage, 0, 1, 2, 4);
    p.reserved[0] = (unsigned char)P(reserved, 0, 1);
    if (!A(cuMemPoolCreate(PP(CUmemoryPool *, out, U(&pool), 0), PP(CUmemPoolProps *, props, U(&p), 0)))) {
        CUdeviceptr d;
        if (!A(cuMemAllocFromPoolAsync(&d, P(size, 4096, 0, SIZE * 2, 1ull << 50), pool, STREAM(stream)))) {
            A(cuMemPoolTrimTo(pool, 0));
            A(cuMemFreeAsync(d, o.stream));
            (void)cuCtxSynchronize();
        }
        A(cuMemPoolDestroy(pool));
    }
}

static void
pool_attributes(void)
{
    uint64_t v = P(value, 0, 1, 2, SIZE), got = 0x55;
    CUmemPool_attribute a = (CUmemPool_attribute)RANGE(attribute, 1, 0, 14);
    CUmemoryPool p = PP(CUmemoryPool, pool, U(o.pool), 0);
    A(cuMemPoolSetAttribute(p, a, PP(void *, in, U(&v), 0)));
    A(cuMemPoolGetAttribute(p, a, PP(void *, out, U(&got), 0)));
    if (a <= CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        V(got);
    v = 1;
    for (unsigned i = 1; i <= 3; i++)
        (void)cuMemPoolSetAttribute(o.pool, (CUmemPool_attribute)i, &v);
    v = 0;
    (void)cuMemPoolSetAttribute(o.pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v);
}

static void
pool_access(void)
{
    CUmemAccessDesc d = { .location = LOCATION(location), .flags = (CUmemAccess_flags)P(flags, 3, 0, 1, 2, 4, 99) };
    CUmemoryPool p = PP(CUmemoryPool, pool, U(o.pool), 0);
    CUmemAccess_flags f = (CUmemAccess_flags)99;
    A(cuMemPoolSetAccess(p, PP(CUmemAccessDesc *, map, U(&d), 0), P(count, 1, 0)));
    A(cuMemPoolGetAccess(PP(CUmemAccess_flags *, out, U(&f), 0), p, PP(CUmemLocation *, l, U(&d.location), 0)));
    V(f);
}

static void
pool_export(void)
{
    int fd = -1;
    CUmemPoolPtrExportData data;
    A(cuMemPoolExportToShareableHandle(PP(void *, out, U(&fd), 0), PP(CUmemoryPool, pool, U(o.pool), 0), (CUmemAllocationHandleType)P(type, 1, 0, 2,
        8, 99),
                                       P(flags, 0, 1)));
    A(cuMemPoolExportPointer(PP(CUmemPoolPtrExportData *, data, U(&data), 0), P(p, U(o.dev), 0, U(o.pinned), U(o.freed))));
}

static void
pool_device(void)
{
    CUmemoryPool p = NULL, d = NULL;
    CUdevice dev = (CUdevice)P(device, 0, -1, 99);
    A(cuDeviceGetDefaultMemPool(PP(CUmemoryPool *, out, U(&p), 0), dev));
    A(cuDeviceGetMemPool(PP(CUmemoryPool *, outm, U(&d), 0), dev));
    V(p == d);
    A(cuDeviceSetMemPool(dev, PP(CUmemoryPool, set, U(p), 0, U(o.pool))));
    A(cuMemPoolDestroy(p));
    if (!cuDeviceGetDefaultMemPool(&p, 0))
        (void)cuDeviceSetMemPool(0, p);
    CUmemLocation l = LOCATION(location);
    A(cuMemGetMemPool(&p, &l, (CUmemAllocationType)P(type, 1, 0, 2, 3, 99)));
    A(cuMemGetDefaultMemPool(&p, &l, (CUmemAllocationType)P(dtype, 1, 0, 2, 3, 99)));
    if (!cuDeviceGetDefaultMemPool(&p, 0))
        (void)cuDeviceSetMemPool(0, p);
}

static void
alloc_async(void)
{
    CUdeviceptr d = 0;
    CUstream s = STREAM(stream);
    if (!A(cuMemAllocAsync(PP(CUdeviceptr *, out, U(&d), 0), P(size, 4096, 0, 1, 1ull << 50), s))) {
        CUdeviceptr base = 0;
        size_t n = 0;
        A(cuMemGetAddressRange_v2(&base, &n, d));
        V(d - base);
        A(cuMemsetD8Async(d, 1, P(fill, 16, 4096, 4097, 1 << 30), s));
        A(cuMemFreeAsync(d + P(at, 0, 1, 512), STREAM(freed)));
        A(cuMemFreeAsync(d, o.stream));
        (void)cuCtxSynchronize();
        A(cuMemsetD8_v2(d, 1, 16));
        A(cuMemFree_v2(d));
    }
}

/* ---- virtual memory ---- */

static CUmemAllocationProp
properties(void)
{
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = (CUmemAllocationType)P(type, CU_MEM_ALLOCATION_TYPE_PINNED, 0, 2, 3, 99);
    p.requestedHandleTypes = (CUmemAllocationHandleType)P(handles, 0, 1, 2, 4, 8, 3, 16, 99);
    p.location = LOCATION(location);
    p.win32HandleMetaData = PP(void *, win32, 0, U(host));
    p.allocFlags.compressionType = (unsigned char)P(compression, 0, 2, 99);
    p.allocFlags.usage = (unsigned short)P(usage, 0, 1, 2, 4);
    p.allocFlags.reserved[0] = (unsigned char)P(reserved, 0, 1);
    return p;
}

enum { PIECE = 2 << 20 };

static void
vmm_create(void)
{
    CUmemAllocationProp p = properties(), q;
    CUmemGenericAllocationHandle h;
    size_t g = 0;
    A(cuMemGetAllocationGranularity(PP(size_t *, out, U(&g), 0), &p, (CUmemAllocationGranularity_flags)P(option, 0, 1, 2, 99)));
    if (!A(cuMemCreate(PP(CUmemGenericAllocationHandle *, handle, U(&h), 0), P(size, PIECE, 0, 1, 65536, PIECE + 1, 2 * PIECE, 1ull << 50),
                       PP(CUmemAllocationProp *, props, U(&p), 0), P(flags, 0, 1)))) {
        memset(&q, 0, sizeof q);
        A(cuMemGetAllocationPropertiesFromHandle(&q, h));
        V(q.type);
        V(q.location.type);
        int fd = -1;
        A(cuMemExportToShareableHandle(&fd, h, (CUmemAllocationHandleType)P(export, 1, 0, 2, 8, 99), P(eflags, 0, 1)));
        A(cuMemRelease(h));
        A(cuMemRelease(h));
    }
}

static void
vmm_map(void)
{
    CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemGenericAllocationHandle h = 0, back = 0;
    CUdeviceptr va = 0;
    MUST(cuMemCreate(&h, PIECE, &p, 0));
    MUST(cuMemAddressReserve(&va, 4 * PIECE, 0, 0, 0));
    CUdeviceptr at = va + P(at, 0, 1, 65536, PIECE, 4 * PIECE);
    A(cuMemMap(at, P(size, PIECE, 0, 65536, 2 * PIECE), P(offset, 0, 1, 65536, PIECE), h, P(flags, 0, 1)));
    A(cuMemMap(va, PIECE, 0, h, 0));                    /* twice */
    if (P(without_access, 0, 1)) {
        A(cuMemsetD8_v2(va, 1, 16));
        A(cuCtxSynchronize());
    }
    CUmemAccessDesc d = { .location = LOCATION(access), .flags = (CUmemAccess_flags)P(rights, 3, 0, 1, 2, 99) };
    A(cuMemSetAccess(va + P(from, 0, 1, 65536, PIECE), P(bytes, PIECE, 0, 1, 65536, 2 * PIECE, 8 * PIECE), PP(CUmemAccessDesc *, desc, U(&d), 0),
        P(count, 1, 0)));
    unsigned long long f = 99;
    CUmemLocation l = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    A(cuMemGetAccess(PP(unsigned long long *, out, U(&f), 0), PP(CUmemLocation *, where, U(&l), 0), va + P(ask, 0, 1, PIECE, 4 * PIECE)));
    V(f);
    A(cuMemsetD8_v2(va, 1, P(fill, 16, PIECE, PIECE + 1)));
    A(cuCtxSynchronize());
    A(cuMemRetainAllocationHandle(&back, (void *)(uintptr_t)(va + P(retain, 0, 1, PIECE, 4 * PIECE))));
    V(back == h);
    size_t n = 0;
    CUdeviceptr base = 0;
    A(cuMemGetAddressRange_v2(&base, &n, va));
    V(n);
    A(cuMemFree_v2(va));
    (void)cuCtxSynchronize();
    A(cuMemAddressFree(va, 4 * PIECE));                 /* still mapped */
    A(cuMemUnmap(va + P(unmap, 0, 1, PIECE), P(ubytes, PIECE, 0, 65536, 2 * PIECE, 4 * PIECE)));
    A(cuMemsetD8_v2(va, 1, 16));
    (void)cuCtxSynchronize();
    A(cuMemAddressFree(va + P(free, 0, 1, PIECE), P(fbytes, 4 * PIECE, 0, PIECE, 8 * PIECE)));
    if (back)
        (void)cuMemRelease(back);
    A(cuMemRelease(h));
    (void)cuMemUnmap(va, PIECE);
    (void)cuMemAddressFree(va, 4 * PIECE);
}

static void
vmm_reserve(void)
{
    CUdeviceptr va = 0;
    size_t n = P(size, PIECE, 0, 1, 4096, 65536, PIECE + 1, 1ull << 60);
    if (!A(cuMemAddressReserve(PP(CUdeviceptr *, out, U(&va), 0), n, P(align, 0, 1, 3, 4096, 65536, PIECE, 1 << 30, 1ull << 50),
                               P(hint, 0, 1, 4096, U(o.dev), U(host), 1ull << 40), P(flags, 0, 1, 2)))) {
        A(cuMemsetD8_v2(va, 1, 16));
        A(cuMemAddressFree(va, n));
    }
}

static void
handle_range(void)
{
    int fd = -1;
    A(cuMemGetHandleForAddressRange(PP(void *, out, U(&fd), 0), P(p, U(o.dev), 0, U(o.dev + 1), U(o.pinned)), P(size, SIZE, 0, 1, SIZE * 4),
                                    (CUmemRangeHandleType)P(type, 1, 0, 2, 99), P(flags, 0, 1, 2)));
}

static void
ipc_memory(void)
{
    CUipcMemHandle h;
    CUipcEventHandle e;
    CUdeviceptr p = 0;
    CUevent ev = NULL, opened = NULL;
    memset(&h, 0, sizeof h);
    memset(&e, 0, sizeof e);
    A(cuIpcGetMemHandle(PP(CUipcMemHandle *, out, U(&h), 0), P(p, U(o.dev), 0, U(o.dev + 16), U(o.managed), U(o.pinned), U(o.freed), U(host))));
    A(cuIpcOpenMemHandle_v2(PP(CUdeviceptr *, open, U(&p), 0), h, (unsigned)P(flags, 1, 0, 2, 3)));
    A(cuIpcCloseMemHandle(P(close, U(o.dev), 0, U(o.pinned), U(o.freed))));
    MUST(cuEventCreate(&ev, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    A(cuIpcGetEventHandle(PP(CUipcEventHandle *, eout, U(&e), 0), PP(CUevent, event, U(ev), 0, U(o.event), U(o.timed))));
    A(cuIpcOpenEventHandle(PP(CUevent *, eopen, U(&opened), 0), e));
    (void)cuEventDestroy_v2(ev);
}

const struct section memory_sections[] = {
    { "memset", memset1, 200 }, { "memset_async", memset_async, 150 }, { "memset2d", memset2d, 200 }, { "copy_linear", copy_linear, 200 },
    { "copy_default", copy_default, 150 }, { "copy_host", copy_host, 200 }, { "copy_peer", copy_peer, 150 }, { "memcpy2d", memcpy2d, 500 },
    { "memcpy2d_array", memcpy2d_array, 300 }, { "memcpy3d", memcpy3d, 500 }, { "memcpy3d_peer", memcpy3d_peer, 200 }, { "copy_array", copy_array,
        100 },
    { "copy_batch", copy_batch, 150 }, { "alloc", alloc, 100 }, { "free", free_, 30 }, { "registered", registered, 100 }, { "host_asked", host_asked,
        60 },
    { "pointer_attribute", pointer_attribute, 400 }, { "pointer_attributes", pointer_attributes, 400 }, { "address_range", address_range, 40 },
    { "managed", managed, 200 }, { "range_attribute", range_attribute, 150 }, { "attach", attach, 80 }, { "pool_create", pool_create, 150 },
    { "pool_attributes", pool_attributes, 80 }, { "pool_access", pool_access, 80 }, { "pool_export", pool_export, 30 }, { "pool_device", pool_device,
        60 },
    { "alloc_async", alloc_async, 100 }, { "vmm_create", vmm_create, 200 }, { "vmm_map", vmm_map, 200 }, { "vmm_reserve", vmm_reserve, 80 },
    { "handle_range", handle_range, 30 }, { "ipc_memory", ipc_memory, 60 }, { NULL, NULL, 0 },
};
