/* SPDX-License-Identifier: Apache-2.0
 * Linear, pitched, managed, pinned and registered memory. Every allocation is a range (ranges.c) from before its address is
 * given out until after it is taken back. */
#include "impl/base/log.h"
#include "impl/driver/graph.h"

#include <stdlib.h>

#define ALIGN 512u              /* what cuMemAlloc guarantees in practice; texture alignment, too */

CUresult
memory_get(const struct ctx *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address)
{
    cwb_result r = c->b->mem_alloc(c->be, kind, size, align, address);
    if (r == CWB_NOMEM && later_wait())
        r = c->b->mem_alloc(c->be, kind, size, align, address);
    return result_of(r);
}

static CUresult
allocate(struct ctx *c, enum range_kind kind, size_t size, unsigned flags, uint64_t *address)
{
    static const enum cwb_mem_kind map[] = {
        [RANGE_DEVICE] = CWB_MEM_DEVICE, [RANGE_PINNED] = CWB_MEM_PINNED, [RANGE_MANAGED] = CWB_MEM_MANAGED,
    };
    if (size > c->dev->props.total_memory && kind != RANGE_PINNED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t a;
    CUresult e = memory_get(c, map[kind], size, kind == RANGE_PINNED ? 4096 : ALIGN, &a);
    if (e != CUDA_SUCCESS)              /* at addresses of registered memory that the program has freed, NVIDIA's driver 580 gives 208 */
        return e == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CUDA_ERROR_ALREADY_MAPPED : e;
    struct range r = { .base = a, .size = size, .kind = kind, .ctx = c, .device = c->device, .flags = flags, .device_address = a,
                       .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
    struct range stale;
    /* The program has freed what it had registered there: it could not have been given out again otherwise. */
    while ((e = range_add(&r)) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED && range_remove_registered(a, size, &stale)) {
        cw_warn("host memory at 0x%llx was freed while it was registered (cuMemHostUnregister was not called)", (unsigned long long)stale.base);
        (void)memory_release(&stale);
    }
    if (e != CUDA_SUCCESS) {
        (void)c->b->mem_free(c->be, map[kind], a, size);
        return e == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CUDA_ERROR_ALREADY_MAPPED : e;
    }
    *address = a;
    return CUDA_SUCCESS;
}

static CUresult
give_back(const struct range *r)
{
    struct ctx *c = r->ctx;
    switch (r->kind) {
    case RANGE_DEVICE:     return result_of(c->b->mem_free(c->be, CWB_MEM_DEVICE, r->base, r->size));
    case RANGE_PINNED:     return result_of(c->b->mem_free(c->be, CWB_MEM_PINNED, r->base, r->size));
    case RANGE_MANAGED:    return result_of(c->b->mem_free(c->be, CWB_MEM_MANAGED, r->base, r->size));
    case RANGE_REGISTERED: return result_of(c->b->mem_unregister(c->be, (void *)(uintptr_t)r->base, r->size));
    case RANGE_POOL:
        block_free(r->block);
        return CUDA_SUCCESS;
    case RANGE_IPC:        ipc_memory_unmap(r->base); break;
    case RANGE_MODULE:
    case RANGE_VARIABLE:
    case RANGE_MAPPED:     break;       /* go with their module or mapping */
    case RANGE_GRAPH:      graph_memory_ended(r->base); break;
    }
    return CUDA_SUCCESS;
}

CUresult
memory_settle(struct ctx *c)
{
    pthread_mutex_lock(&c->order);      /* who found the memory before has submitted */
    pthread_mutex_unlock(&c->order);
    if (atomic_load(&c->lent))
        contexts_settle(c);
    return result_of(c->b->context_sync(c->be));
}

bool
memory_settled(struct ctx *c)
{
    return streams_settled(c) && (!atomic_load(&c->lent) || contexts_settled(c));
}

CUresult
memory_release(const struct range *r)
{
    CUresult e = give_back(r);
    range_forget(r);
    return e;
}

/* Freeing waits for the work that may use the memory, as NVIDIA's driver does; r is out of the table, so no more work finds it. */
static CUresult
release_after_work(const struct range *r)
{
    CUresult e = memory_settle(r->ctx), f = memory_release(r);
    return e == CUDA_SUCCESS ? f : e;
}

CUresult
drv_cuMemGetInfo_v2(size_t *free, size_t *total)
{
    USABLE(c);
    size_t unwanted;                    /* neither need be asked for: an H200 takes two NULLs */
    return result_of(c->b->memory_info(c->dev->index, free ? free : &unwanted, total ? total : &unwanted));
}

CUresult
drv_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    USABLE(c);
    CAPTURE_SAFE();
    if (!dptr || !bytesize)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t a;
    CUresult e = allocate(c, RANGE_DEVICE, bytesize, 0, &a);
    if (e == CUDA_SUCCESS)
        *dptr = a;
    return e;
}

CUresult
drv_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes)
{
    USABLE(c);
    CAPTURE_SAFE();
    if (!dptr || !pPitch || !WidthInBytes || !Height || (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (WidthInBytes > SIZE_MAX / 2)
        return CUDA_ERROR_INVALID_VALUE;
    if (WidthInBytes > 0x7fffffff - ALIGN)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t pitch = (WidthInBytes + ALIGN - 1) & ~(size_t)(ALIGN - 1), size;
    if (__builtin_mul_overflow(pitch, Height, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t a;
    CUresult e = allocate(c, RANGE_DEVICE, size, 0, &a);
    if (e == CUDA_SUCCESS) {
        *dptr = a;
        *pPitch = pitch;
    }
    return e;
}

CUresult
drv_cuMemFree_v2(CUdeviceptr dptr)
{
    struct ctx *c;
    CUresult usable = ctx_usable(&c);   /* the address says whose the memory is: no context needs to be current (driver 580) */
    if (usable != CUDA_SUCCESS && usable != CUDA_ERROR_INVALID_CONTEXT)
        return usable;
    CAPTURE_SAFE();
    if (!dptr)
        return CUDA_SUCCESS;
    struct range r;
    CUresult freed;
    if (graph_memory_free(dptr, &freed))
        return freed;
    if (range_find(dptr, &r) && r.kind == RANGE_IPC && r.base == dptr && r.pool)
        return ipc_memory_close(dptr);
    if (!range_remove(dptr, 1u << RANGE_DEVICE | 1u << RANGE_MANAGED | 1u << RANGE_POOL, &r))
        return CUDA_ERROR_INVALID_VALUE;
    return release_after_work(&r);
}

CUresult
drv_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    USABLE(c);
    struct range r;
    if (!range_find(dptr, &r) || (r.kind == RANGE_MAPPED && !r.access_flags))      /* without rights it is not there (driver 580) */
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = r.base;
    if (psize)
        *psize = r.size;
    return CUDA_SUCCESS;
}

/* ---- host memory ----------------------------------------------------------------------------------------------------- */

CUresult
drv_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    USABLE(c);
    CAPTURE_SAFE();
    if (pp && !bytesize) {              /* as driver 580 */
        *pp = NULL;
        return CUDA_SUCCESS;
    }
    if (!pp || Flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t a;
    CUresult e = allocate(c, RANGE_PINNED, bytesize, Flags | CU_MEMHOSTALLOC_DEVICEMAP, &a);
    if (e == CUDA_SUCCESS)
        *pp = (void *)(uintptr_t)a;
    return e;
}

CUresult
drv_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return drv_cuMemHostAlloc(pp, bytesize, CU_MEMHOSTALLOC_PORTABLE);
}

CUresult
drv_cuMemFreeHost(void *p)
{
    USABLE(c);
    CAPTURE_SAFE();
    struct range r;
    if (!p)
        return CUDA_SUCCESS;
    if (!range_remove((uintptr_t)p, 1u << RANGE_PINNED, &r))
        return CUDA_ERROR_INVALID_VALUE;
    return release_after_work(&r);
}

CUresult
drv_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    USABLE(c);
    struct range r;
    if (!pdptr || Flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!range_find((uintptr_t)p, &r) || (r.kind != RANGE_PINNED && r.kind != RANGE_REGISTERED))
        return CUDA_ERROR_INVALID_VALUE;
    *pdptr = r.device_address + ((uintptr_t)p - r.base);
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    CURRENT(c);
    struct range r;
    if (!pFlags || !range_find((uintptr_t)p, &r) || (r.kind != RANGE_PINNED && r.kind != RANGE_REGISTERED && !RANGE_IS_MANAGED(r.kind)))
        return CUDA_ERROR_INVALID_VALUE;
    /* Registered and managed memory have flags, too: those of cuMemHostAlloc (driver 580). */
    *pFlags = r.kind == RANGE_PINNED ? r.flags : CU_MEMHOSTALLOC_DEVICEMAP | (r.kind == RANGE_REGISTERED ? r.flags & CU_MEMHOSTREGISTER_PORTABLE : 0);
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    USABLE(c);
    CAPTURE_SAFE();
    const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    struct range there;
    if (!p || !bytesize || Flags & ~known || (uintptr_t)p + bytesize < (uintptr_t)p)
        return CUDA_ERROR_INVALID_VALUE;
    if (range_find((uintptr_t)p, &there) && there.kind != RANGE_REGISTERED)
        return CUDA_ERROR_INVALID_VALUE;        /* the driver's own memory */
    if (!(c->b->caps & CWB_CAP_REGISTER))
        cw_error("host memory at %p cannot be registered: kernels run in another process, which cannot have the program's own memory; cuMemHostAlloc "
                 "gives memory that both have", p);
    if (!(c->b->caps & CWB_CAP_REGISTER))
        return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t device;
    if (range_overlaps((uintptr_t)p, bytesize))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (Flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_INVALID_VALUE;        /* so driver 580 for ordinary memory; there is no support for device files */
    CUresult e = result_of(c->b->mem_register(c->be, p, bytesize, Flags & CU_MEMHOSTREGISTER_READ_ONLY, &device));
    if (e != CUDA_SUCCESS)
        return e;
    struct range r = { .base = (uintptr_t)p, .size = bytesize, .kind = RANGE_REGISTERED, .ctx = c, .device = c->device, .flags = Flags,
                       .device_address = device, .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
    e = range_add(&r);
    if (e != CUDA_SUCCESS)
        (void)c->b->mem_unregister(c->be, p, bytesize);
    return e;
}

CUresult
drv_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return drv_cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult
drv_cuMemHostUnregister(void *p)
{
    USABLE(c);
    CAPTURE_SAFE();
    struct range r;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (!range_find((uintptr_t)p, &r))
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (r.kind != RANGE_REGISTERED || r.base != (uintptr_t)p)
        return CUDA_ERROR_INVALID_VALUE;
    if (!range_remove((uintptr_t)p, 1u << RANGE_REGISTERED, &r))
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return release_after_work(&r);
}

/* ---- managed memory -------------------------------------------------------------------------------------------------- */

CUresult
drv_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    USABLE(c);
    CAPTURE_SAFE();
    if (!dptr || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    if (!(c->b->caps & CWB_CAP_MANAGED))
        return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t a;
    CUresult e = allocate(c, RANGE_MANAGED, bytesize, flags, &a);
    if (e == CUDA_SUCCESS)
        *dptr = a;
    return e;
}

static CUresult
managed(const struct ctx *c, CUdeviceptr p, size_t count)
{
    unsigned kinds;
    if (!p || !count)
        return CUDA_ERROR_INVALID_VALUE;
    if (range_covers(p, count, &kinds))
        return kinds && !(kinds & ~RANGES_MANAGED) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    /* Pageable memory may be named where the device reads it. */
    return c->b->caps & CWB_CAP_PAGEABLE && !range_overlaps(p, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct advice {
    CUmem_advise advice;
    int location;
};

static void
set_advice(struct range *r, void *user)
{
    const struct advice *a = user;
    unsigned bit = a->location >= 0 && (uint32_t)a->location < g.ndevices ? 1u << a->location : 1u << 31;    /* else the host's, or one of its nodes */
    switch ((int)a->advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:          r->read_mostly = 1; break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:        r->read_mostly = 0; break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:   r->preferred = a->location; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: r->preferred = CU_DEVICE_INVALID; break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:          r->accessed_by |= bit; break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:        r->accessed_by &= ~bit; break;
    }
}

static void
set_prefetched(struct range *r, void *user)
{
    r->prefetched = *(const int *)user;
}

static CUresult
location_device(CUmemLocation l, int *out)
{
    switch ((int)l.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (l.id < 0 || (uint32_t)l.id >= g.ndevices)
            return CUDA_ERROR_INVALID_DEVICE;
        *out = l.id;
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *out = CU_DEVICE_CPU;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult
advise(CUdeviceptr p, size_t count, CUmem_advise advice, int location)
{
    CURRENT(c);
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = managed(c, p, count);
    if (e != CUDA_SUCCESS)
        return e;
    struct advice a = { advice, location };
    (void)range_update(p, set_advice, &a);
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    READY();
    bool located = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                   advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (located && device != CU_DEVICE_CPU && (device < 0 || (uint32_t)device >= g.ndevices))
        return CUDA_ERROR_INVALID_DEVICE;
    return advise(devPtr, count, advice, device);
}

CUresult
drv_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
    READY();
    int device = CU_DEVICE_CPU;
    bool located = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                   advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (location.type < CU_MEM_LOCATION_TYPE_DEVICE || location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    if (located && location_device(location, &device) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    bool numa = location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    if (numa && (advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY))
        return CUDA_ERROR_INVALID_VALUE;        /* the host as a whole accesses memory, or a device */
    return advise(devPtr, count, advice, device);
}

static CUresult
prefetch(CUdeviceptr p, size_t count, int device, CUstream hStream)
{
    STREAM_CURRENT(c, hStream);
    CUresult e = managed(c, p, count);
    if (e != CUDA_SUCCESS)
        return e;
    struct stream *s AUTO_PUT = NULL;
    e = stream_get(c, hStream, &s);
    if (e == CUDA_SUCCESS)
        (void)range_update(p, set_prefetched, &device);     /* memory does not move on a unified device */
    return e;
}

CUresult
drv_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
    READY();
    if (dstDevice != CU_DEVICE_CPU && (dstDevice < 0 || (uint32_t)dstDevice >= g.ndevices))
        return CUDA_ERROR_INVALID_DEVICE;
    return prefetch(devPtr, count, dstDevice, hStream);
}

CUresult
drv_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream)
{
    READY();
    int device;
    if (flags || !devPtr || !count)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = location_device(location, &device);
    return e == CUDA_SUCCESS ? prefetch(devPtr, count, device, hStream) : e;
}

/* Lists of managed ranges. indexes[k]: the first range that locations[k] is for; no locations: discard alone. */
static CUresult
managed_batch(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *indexes, size_t nlocations,
              unsigned long long flags, CUstream hStream, bool move)
{
    READY();
    if (!dptrs || !sizes || !count || flags || !hStream)
        return CUDA_ERROR_INVALID_VALUE;
    if (move && (!locations || !indexes || !nlocations || nlocations > count || indexes[0]))
        return CUDA_ERROR_INVALID_VALUE;
    STREAM_CURRENT(c, hStream);
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    for (size_t i = 0; i < count && e == CUDA_SUCCESS; i++)
        e = managed(c, dptrs[i], sizes[i]);
    for (size_t i = 1; move && i < nlocations && e == CUDA_SUCCESS; i++)
        if (indexes[i] <= indexes[i - 1] || indexes[i] >= count)
            e = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, k = 0; move && i < count && e == CUDA_SUCCESS; i++) {
        int device;
        if (k + 1 < nlocations && indexes[k + 1] == i)
            k++;
        e = location_device(locations[k], &device);
        if (e == CUDA_SUCCESS)
            (void)range_update(dptrs[i], set_prefetched, &device);
    }
    return e;                           /* discarded contents may be anything: also what they were */
}

CUresult
drv_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                            size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
    return managed_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream, true);
}

CUresult
drv_cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream hStream)
{
    return managed_batch(dptrs, sizes, count, NULL, NULL, 0, flags, hStream, false);
}

CUresult
drv_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                      size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
    return managed_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream, true);
}

static CUmemLocationType
location_type(int device)
{
    return device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : device < 0 ? CU_MEM_LOCATION_TYPE_INVALID : CU_MEM_LOCATION_TYPE_DEVICE;
}

CUresult
drv_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr, size_t count)
{
    CURRENT(c);
    struct range r;
    if (!data || !count || !range_find(devPtr, &r) || !RANGE_IS_MANAGED(r.kind) || count > r.size - (devPtr - r.base))
        return CUDA_ERROR_INVALID_VALUE;
    int *v = data;
    if (dataSize < 4 || dataSize % 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY && dataSize != 4)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:            *v = r.read_mostly; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:     *v = r.preferred; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *v = r.prefetched; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:     *v = location_type(r.preferred); return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *v = location_type(r.prefetched); return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:       *v = r.preferred == CU_DEVICE_CPU ? 0 : r.preferred; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:   *v = r.prefetched == CU_DEVICE_CPU ? 0 : r.prefetched; return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
        size_t n = 0;
        for (unsigned i = 0; i < 32 && n < dataSize / 4; i++) {
            if (r.accessed_by & 1u << i)
                v[n++] = i == 31 ? CU_DEVICE_CPU : (int)i;
        }
        while (n < dataSize / 4)
            v[n++] = CU_DEVICE_INVALID;
        return CUDA_SUCCESS;
    }
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult
drv_cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes, size_t numAttributes,
                            CUdeviceptr devPtr, size_t count)
{
    if (!data || !dataSizes || !attributes || !numAttributes)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = CUDA_SUCCESS;
    for (size_t i = 0; i < numAttributes && e == CUDA_SUCCESS; i++)
        e = drv_cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count);
    return e;
}

/* ---- pointer attributes ---------------------------------------------------------------------------------------------- */

static CUresult
attribute(void *data, CUpointer_attribute a, CUdeviceptr ptr, const struct range *r)
{
    const bool host = r->kind == RANGE_PINNED || r->kind == RANGE_REGISTERED;
    const bool both = host || RANGE_IS_MANAGED(r->kind);
    switch ((int)a) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = r->kind != RANGE_MAPPED && r->kind != RANGE_POOL ? r->handle : NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = host ? r->device_address + (ptr - r->base) : ptr;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!both)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = (void *)(uintptr_t)ptr;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)data = (unsigned)r->sync_memops;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = r->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = RANGE_IS_MANAGED(r->kind);     /* booleans take four bytes, as on NVIDIA's driver */
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = r->device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)data = r->kind == RANGE_DEVICE && g.backend->mem_share;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(unsigned *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = r->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = r->size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)data = 1;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = r->kind == RANGE_MAPPED || r->kind == RANGE_POOL ? r->flags : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = r->kind == RANGE_MAPPED ? r->access_flags : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = r->kind == RANGE_POOL || r->kind == RANGE_IPC ? (CUmemoryPool)(uintptr_t)r->pool : NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult
drv_cuPointerGetAttribute(void *data, CUpointer_attribute a, CUdeviceptr ptr)
{
    CURRENT(c);
    struct range r;
    if (!data || !range_find(ptr, &r))
        return CUDA_ERROR_INVALID_VALUE;
    return attribute(data, a, ptr, &r);
}

/* Size of what an attribute writes, to clear it for pointers that are not CUDA's. */
static size_t
attribute_size(CUpointer_attribute a)
{
    switch ((int)a) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return 4;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS);
    default:
        return 8;
    }
}

CUresult
drv_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
    CURRENT(c);
    if (!numAttributes || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    struct range r;
    bool known = range_find(ptr, &r);
    for (unsigned i = 0; i < numAttributes; i++) {
        if (!data[i] || attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT || attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return CUDA_ERROR_INVALID_VALUE;
        if (known && attribute(data[i], attributes[i], ptr, &r) == CUDA_SUCCESS)
            continue;
        memset(data[i], 0, attribute_size(attributes[i]));
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = -2;
    }
    return CUDA_SUCCESS;
}

static void
set_sync_memops(struct range *r, void *user)
{
    r->sync_memops = *(const int *)user;
}

CUresult
drv_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    CURRENT(c);
    struct range r;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !range_find(ptr, &r) || r.kind == RANGE_PINNED ||
        r.kind == RANGE_REGISTERED)
        return CUDA_ERROR_INVALID_VALUE;
    int on = *(const unsigned *)value != 0;
    (void)range_update(ptr, set_sync_memops, &on);
    return CUDA_SUCCESS;
}
