/* SPDX-License-Identifier: Apache-2.0
 * Memory pools and stream-ordered allocation. Memory is taken from the device when it is asked for, which is never later than
 * the stream order demands, and given back when the stream reaches the free; a pool therefore caches nothing and its
 * release threshold has no effect. */
#include "impl/driver/graph.h"

#include <stdlib.h>

static void
pool_finish(struct obj *o)
{
    struct pool *p = (struct pool *)o;
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void
pool_account(struct pool *p, int64_t bytes)
{
    pthread_mutex_lock(&p->lock);
    p->used += (uint64_t)bytes;
    p->reserved = p->used;
    if (p->used > p->used_high)
        p->used_high = p->reserved_high = p->used;
    pthread_mutex_unlock(&p->lock);
}

static CUresult
pool_make(CUdevice device, bool is_default, struct pool **out)
{
    struct pool *p = calloc(1, sizeof *p);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&p->lock, NULL);
    p->device = device;
    p->is_default = is_default;
    p->reuse_follow = p->reuse_opportunistic = p->reuse_internal = 1;
    p->access[device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUresult e = handle_new(&p->obj, KIND_POOL, NULL, pool_finish);
    if (e != CUDA_SUCCESS) {
        pthread_mutex_destroy(&p->lock);
        free(p);
        return e;
    }
    *out = p;
    return CUDA_SUCCESS;
}

/* The device's default pool, made when first asked for and kept. */
static CUresult
default_pool(struct device *d, struct pool **out)
{
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&g.lock);
    if (!d->default_pool)
        e = pool_make((CUdevice)(d - g.devices), true, &d->default_pool);
    *out = d->default_pool;
    pthread_mutex_unlock(&g.lock);
    return e;
}

static CUresult
current_pool(struct device *d, struct pool **out)
{
    pthread_mutex_lock(&g.lock);
    struct pool *p = d->current_pool ? handle_get((void *)(uintptr_t)d->current_pool, KIND_POOL) : NULL;
    pthread_mutex_unlock(&g.lock);
    if (p) {
        *out = p;
        return CUDA_SUCCESS;
    }
    CUresult e = default_pool(d, &p);
    if (e == CUDA_SUCCESS) {
        handle_ref(&p->obj);
        *out = p;
    }
    return e;
}

#define DEVICE(d, dev) struct device *d; do { CUresult r_ = device_get(dev, &d); if (r_ != CUDA_SUCCESS) return r_; } while (0)
#define POOL(p, h)                                                                                                     \
    READY();                                                                                                           \
    struct pool *p AUTO_PUT = handle_get(h, KIND_POOL);                                                                \
    if (!p)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE

CUresult
drv_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    DEVICE(d, dev);
    struct pool *p;
    if (!pool_out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = default_pool(d, &p);
    if (e == CUDA_SUCCESS)
        *pool_out = HANDLE(CUmemoryPool, p);
    return e;
}

CUresult
drv_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    DEVICE(d, dev);
    struct pool *p AUTO_PUT = NULL;
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = current_pool(d, &p);
    if (e == CUDA_SUCCESS)
        *pool = HANDLE(CUmemoryPool, p);
    return e;
}

CUresult
drv_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    DEVICE(d, dev);
    POOL(p, pool);
    if (p->device != dev)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&g.lock);
    d->current_pool = (uintptr_t)pool;
    pthread_mutex_unlock(&g.lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    READY();
    CAPTURE_SAFE();
    if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return unsupported("cuMemPoolCreate", "sharing a pool with another process");
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return unsupported("cuMemPoolCreate", "a pool of host memory");
    DEVICE(d, poolProps->location.id);
    (void)d;
    struct pool *p;
    CUresult e = pool_make(poolProps->location.id, false, &p);
    if (e == CUDA_SUCCESS)
        *pool = HANDLE(CUmemoryPool, p);
    return e;
}

CUresult
drv_cuMemPoolDestroy(CUmemoryPool pool)
{
    POOL(p, pool);
    if (p->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    return handle_kill(&p->obj) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;      /* its allocations keep it alive */
}

CUresult
drv_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    POOL(p, pool);
    CAPTURE_SAFE();
    return CUDA_SUCCESS;                /* nothing is cached */
}

CUresult
drv_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    POOL(p, pool);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&p->lock);
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:   p->reuse_follow = *(int *)value; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:         p->reuse_opportunistic = *(int *)value; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: p->reuse_internal = *(int *)value; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:                 p->release_threshold = *(cuuint64_t *)value; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(cuuint64_t *)value)
            e = CUDA_ERROR_INVALID_VALUE;       /* may only be reset */
        else if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            p->used_high = p->used;
        else
            p->reserved_high = p->reserved;
        break;
    default: e = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    return e;
}

CUresult
drv_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    POOL(p, pool);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&p->lock);
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:   *(int *)value = p->reuse_follow; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:         *(int *)value = p->reuse_opportunistic; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *(int *)value = p->reuse_internal; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:                 *(cuuint64_t *)value = p->release_threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:              *(cuuint64_t *)value = p->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:                 *(cuuint64_t *)value = p->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:                  *(cuuint64_t *)value = p->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:                     *(cuuint64_t *)value = p->used_high; break;
    default: e = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    return e;
}

CUresult
drv_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    POOL(p, pool);
    if (!map || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        DEVICE(d, map[i].location.id);
        (void)d;
        if (map[i].location.id == p->device && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&p->lock);
        p->access[map[i].location.id] = map[i].flags;
        pthread_mutex_unlock(&p->lock);
    }
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
    POOL(p, memPool);
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    DEVICE(d, location->id);
    (void)d;
    pthread_mutex_lock(&p->lock);
    *flags = p->access[location->id];
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

/* ---- stream-ordered allocation --------------------------------------------------------------------------------------------- */

static CUresult
alloc(struct ctx *c, CUdeviceptr *dptr, size_t size, struct pool *p, CUstream hStream)
{
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e != CUDA_SUCCESS)
        return e;
    if (!dptr || !size)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream_captures(s)) {
        CUDA_MEM_ALLOC_NODE_PARAMS n = {
            .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, p->device } }, .bytesize = size,
        };
        struct work w;
        e = work_alloc(&w, &n);
        e = capture_work(s, e, &w);
        if (e == CUDA_SUCCESS)
            *dptr = n.dptr;
        return e;
    }
    CAPTURE_SAFE();
    uint64_t a;
    e = result_of(c->b->mem_alloc(c->be, CWB_MEM_DEVICE, size, 512, &a));
    if (e != CUDA_SUCCESS)
        return e;
    struct range r = { .base = a, .size = size, .kind = RANGE_POOL, .ctx = c, .device = p->device, .device_address = a, .pool = p,
                       .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
    handle_ref(&p->obj);
    e = range_add(&r);
    if (e != CUDA_SUCCESS) {
        handle_put(&p->obj);
        (void)c->b->mem_free(c->be, CWB_MEM_DEVICE, a, size);
        return e;
    }
    pool_account(p, (int64_t)size);
    *dptr = a;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    USABLE(c);
    struct pool *p AUTO_PUT = NULL;
    CUresult e = current_pool(c->dev, &p);
    return e == CUDA_SUCCESS ? alloc(c, dptr, bytesize, p, hStream) : e;
}

CUresult
drv_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    USABLE(c);
    POOL(p, pool);
    return alloc(c, dptr, bytesize, p, hStream);
}

struct pending_free {
    struct range r;
};

static void
free_now(void *user, cwb_result status)
{
    struct pending_free *f = user;
    (void)memory_release(&f->r);        /* its context waits for this stream before it goes */
    free(f);
}

CUresult
drv_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    USABLE(c);
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e != CUDA_SUCCESS)
        return e;
    if (!dptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream_captures(s)) {
        struct work w;
        return capture_work(s, work_free(&w, dptr), &w);
    }
    CAPTURE_SAFE();
    if (graph_memory_free(dptr, &e))
        return e;
    struct pending_free *f = malloc(sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!range_remove(dptr, 1u << RANGE_POOL | 1u << RANGE_DEVICE, &f->r)) {
        free(f);
        return CUDA_ERROR_INVALID_VALUE;
    }
    e = stream_begin(s);
    if (e == CUDA_SUCCESS) {
        e = result_of(s->obj.ctx->b->stream_host_fn(s->be, free_now, f));
        stream_end(s);
    }
    if (e != CUDA_SUCCESS) {
        (void)range_add(&f->r);         /* as it was */
        free(f);
    }
    return e;
}

/* ---- by location (CUDA 13.0) ------------------------------------------------------------------------------------------------- */

static CUresult
location(const CUmemLocation *l, CUmemAllocationType type)
{
    if (!l || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    return l->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
drv_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *l, CUmemAllocationType type)
{
    READY();
    CUresult e = location(l, type);
    return e == CUDA_SUCCESS ? drv_cuDeviceGetDefaultMemPool(pool_out, l->id) : e;
}

CUresult
drv_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *l, CUmemAllocationType type)
{
    READY();
    CUresult e = location(l, type);
    return e == CUDA_SUCCESS ? drv_cuDeviceGetMemPool(pool, l->id) : e;
}

CUresult
drv_cuMemSetMemPool(CUmemLocation *l, CUmemAllocationType type, CUmemoryPool pool)
{
    READY();
    CUresult e = location(l, type);
    return e == CUDA_SUCCESS ? drv_cuDeviceSetMemPool(l->id, pool) : e;
}
