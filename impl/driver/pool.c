/* SPDX-License-Identifier: Apache-2.0
 * Memory pools and stream-ordered allocation (CUDA driver API, "Stream Ordered Memory Allocator"). A pool keeps what is freed as blocks: one
 * that was freed in a stream may be allocated again in that stream at once, and in any stream when the first one has got there. What it keeps
 * beyond its release threshold goes back to the backend when the program next waits for work. Blocks belong to the context in which
 * they were made, and end with it. */
#define _GNU_SOURCE
#include "impl/driver/graph.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNIT 512u                       /* sizes of blocks */

enum block_state { BLOCK_USED, BLOCK_PENDING, BLOCK_FREE };

struct block {
    struct block *next;                 /* pool.lock, and so on */
    struct pool *pool;                  /* which stays while it has blocks */
    struct ctx *ctx;                    /* owned reference */
    uint64_t base, size;
    uint64_t wanted;                    /* USED: what was asked for */
    enum block_state state;
    uint64_t stream;                    /* PENDING: number of the stream that frees it */
    uint64_t frees;                     /* how often it was freed: a free that was overtaken by a new use is recognised */
    _Atomic uint32_t refs;              /* the pool's list, and frees that are queued */
};

struct pool {
    struct obj obj;
    struct pool *next;                  /* pools_lock: all pools that have not ended */
    CUdevice device;
    uint32_t shared_by;                 /* process that exported it; 0: it is this one's */
    CUmemAllocationHandleType handle_types;
    uint64_t max_size;                  /* 0: any */
    bool is_default;
    pthread_mutex_t lock;
    struct block *blocks;               /* lock, and so on */
    bool ended;                         /* nobody has the pool; its blocks may still be used */
    uint64_t release_threshold;
    uint64_t used, used_high, reserved, reserved_high;
    int reuse_follow, reuse_opportunistic, reuse_internal;
    CUmemAccess_flags access[MAX_DEVICES];
};

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;  /* before pool.lock */
static struct pool *pools;              /* pools_lock */
_Atomic bool pools_over;

static void
block_unref(struct block *b)
{
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        free(b);
}

/* Take blocks off the list, into *out: those that are free, until the pool keeps no more than `keep`, and of contexts that have ended; or all of a context, whose work is done.
 * p->lock held. */
static void
blocks_take(struct pool *p, uint64_t keep, const struct ctx *c, struct block **out)
{
    for (struct block **l = &p->blocks; *l;) {
        struct block *b = *l;
        if (c ? b->ctx == c && b->state != BLOCK_USED : b->state == BLOCK_FREE && (p->reserved > keep || atomic_load(&b->ctx->dead))) {
            *l = b->next;
            p->reserved -= b->size;
            b->state = BLOCK_FREE;
            b->frees++;
            b->next = *out;
            *out = b;
        } else {
            l = &b->next;
        }
    }
}

/* Give them to the backend; no lock held. */
static void
blocks_release(struct block *b)
{
    for (struct block *next; b; b = next) {
        next = b->next;
        (void)b->ctx->b->mem_free(b->ctx->be, CWB_MEM_DEVICE, b->base, b->size);
        ctx_unref(b->ctx);
        block_unref(b);
    }
}

static void
pool_trim(struct pool *p, uint64_t keep)
{
    struct block *gone = NULL;
    pthread_mutex_lock(&p->lock);
    blocks_take(p, keep, NULL, &gone);
    pthread_mutex_unlock(&p->lock);
    blocks_release(gone);
}

void
pools_trim_slow(void)
{
    struct block *gone = NULL;
    atomic_store(&pools_over, false);
    pthread_mutex_lock(&pools_lock);
    for (struct pool **l = &pools; *l;) {
        struct pool *p = *l;
        pthread_mutex_lock(&p->lock);
        blocks_take(p, p->ended ? 0 : p->release_threshold, NULL, &gone);
        bool end = p->ended && !p->blocks;
        pthread_mutex_unlock(&p->lock);
        if (end) {
            *l = p->next;
            pthread_mutex_destroy(&p->lock);
            free(p);
        } else {
            l = &p->next;
        }
    }
    pthread_mutex_unlock(&pools_lock);
    blocks_release(gone);
}

void
pools_context_end(struct ctx *c)
{
    struct block *gone = NULL;
    pthread_mutex_lock(&pools_lock);
    for (struct pool *p = pools; p; p = p->next) {
        pthread_mutex_lock(&p->lock);
        blocks_take(p, 0, c, &gone);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&pools_lock);
    blocks_release(gone);
}

/* The pool stays in the list until its last block has gone. */
static void
pool_finish(struct obj *o)
{
    struct pool *p = (struct pool *)o;
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_mutex_unlock(&p->lock);
    pools_trim_slow();
}

static const struct obj_class pool_class = { .kind = KIND_POOL, .finish = pool_finish };

/* With a reference. */
static CUresult
pool_make(CUdevice device, bool is_default, const CUmemPoolProps *props, struct pool **out)
{
    struct pool *p = calloc(1, sizeof *p);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&p->lock, NULL);
    p->device = device;
    p->is_default = is_default;
    p->handle_types = props ? props->handleTypes : CU_MEM_HANDLE_TYPE_NONE;
    p->max_size = props ? props->maxSize : 0;
    p->reuse_follow = p->reuse_opportunistic = p->reuse_internal = 1;
    p->access[device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUresult e = handle_new(&p->obj, &pool_class, NULL);
    if (e != CUDA_SUCCESS) {
        pthread_mutex_destroy(&p->lock);
        free(p);
        return e;
    }
    pthread_mutex_lock(&pools_lock);
    p->next = pools;
    pools = p;
    pthread_mutex_unlock(&pools_lock);
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
        e = pool_make((CUdevice)(d - g.devices), true, NULL, &d->default_pool);
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
    if (poolProps->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || (poolProps->handleTypes && !g.backend->mem_share))
        return unsupported("cuMemPoolCreate", "sharing a pool with another process by this type of handle");
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return unsupported("cuMemPoolCreate", "a pool of host memory");
    DEVICE(d, poolProps->location.id);
    (void)d;
    struct pool *p;
    CUresult e = pool_make(poolProps->location.id, false, poolProps, &p);
    if (e == CUDA_SUCCESS) {
        *pool = HANDLE(CUmemoryPool, p);
        handle_put(&p->obj);
    }
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
    pool_trim(p, minBytesToKeep);
    return CUDA_SUCCESS;
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

/* A block that work of stream number `stream` of c may use now, taken for use: the smallest that is large enough and not much too large. */
static struct block *
block_find(struct pool *p, const struct ctx *c, uint64_t stream, uint64_t size)
{
    struct block *best = NULL;
    for (struct block *b = p->blocks; b; b = b->next) {
        if (b->ctx != c || b->size < size || b->size - size > size / 4 + (64 << 10) || (best && best->size <= b->size))
            continue;
        if (b->state == BLOCK_FREE || (b->state == BLOCK_PENDING && b->stream == stream))
            best = b;
    }
    return best;
}

static void
account(struct pool *p, uint64_t wanted)
{
    p->used += wanted;
    if (p->used > p->used_high)
        p->used_high = p->used;
    if (p->reserved > p->reserved_high)
        p->reserved_high = p->reserved;
}

static CUresult
block_make(struct pool *p, struct ctx *c, uint64_t size, uint64_t wanted, struct block **out)
{
    uint64_t base;
    if (size > c->dev->props.total_memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&p->lock);
    bool full = p->max_size && p->reserved + size > p->max_size;
    pthread_mutex_unlock(&p->lock);
    if (full)
        return CUDA_ERROR_OUT_OF_MEMORY;
    cwb_result r = c->b->mem_alloc(c->be, CWB_MEM_DEVICE, size, 512, &base);
    if (r != CWB_OK)
        return result_of(r);
    struct block *b = calloc(1, sizeof *b);
    if (!b) {
        (void)c->b->mem_free(c->be, CWB_MEM_DEVICE, base, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *b = (struct block){ .pool = p, .ctx = c, .base = base, .size = size, .wanted = wanted };
    atomic_init(&b->refs, 1);
    ctx_ref(c);
    pthread_mutex_lock(&p->lock);
    b->next = p->blocks;
    p->blocks = b;
    p->reserved += size;
    account(p, wanted);
    pthread_mutex_unlock(&p->lock);
    *out = b;
    return CUDA_SUCCESS;
}

static CUresult
block_get(struct pool *p, struct ctx *c, uint64_t stream, uint64_t size, struct block **out)
{
    if (size > UINT64_MAX - UNIT)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t wanted = size;
    size = (size + UNIT - 1) / UNIT * UNIT;
    pthread_mutex_lock(&p->lock);
    *out = block_find(p, c, stream, size);
    if (*out) {
        (*out)->state = BLOCK_USED;
        (*out)->wanted = wanted;
        account(p, wanted);
    }
    pthread_mutex_unlock(&p->lock);
    if (*out)
        return CUDA_SUCCESS;
    CUresult e = block_make(p, c, size, wanted, out);
    if (e == CUDA_ERROR_OUT_OF_MEMORY) {        /* what it keeps is in the way: wait for what is about to be freed, and try again */
        (void)c->b->context_sync(c->be);
        pool_trim(p, 0);
        e = block_make(p, c, size, wanted, out);
    }
    return e;
}

/* p->lock held. */
static void
now_free(struct block *b)
{
    b->state = BLOCK_FREE;
    if (b->pool->ended || atomic_load(&b->ctx->dead) || b->pool->reserved > b->pool->release_threshold)
        atomic_store(&pools_over, true);
}

void
block_free(struct block *b)
{
    struct pool *p = b->pool;
    pthread_mutex_lock(&p->lock);
    p->used -= b->wanted;
    b->frees++;
    now_free(b);
    pthread_mutex_unlock(&p->lock);
}

/* The same where queued work may use it: a stream's order no longer says when that is done. */
static void
block_give_back(struct block *b)
{
    (void)memory_settle(b->ctx);
    block_free(b);
}

struct queued_free {
    struct block *b;                    /* owned reference */
    struct pool *p;                     /* there while the block is pending */
    uint64_t frees;
};

/* On a thread of the backend. */
static void
stream_reached(void *user, cwb_result status)
{
    struct queued_free *f = user;
    pthread_mutex_lock(&pools_lock);    /* the pool may have ended with its blocks */
    bool there = false;
    for (const struct pool *p = pools; p && !there; p = p->next)
        there = p == f->p;
    if (there) {
        pthread_mutex_lock(&f->p->lock);
        if (f->b->state == BLOCK_PENDING && f->b->frees == f->frees)
            now_free(f->b);
        pthread_mutex_unlock(&f->p->lock);
    }
    pthread_mutex_unlock(&pools_lock);
    block_unref(f->b);
    free(f);
}

/* Free b in stream order; s->obj.ctx->order is not held. */
static CUresult
block_free_async(struct block *b, struct stream *s)
{
    struct pool *p = b->pool;
    struct queued_free *f = malloc(sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = stream_begin(s);
    if (e == CUDA_SUCCESS) {
        atomic_fetch_add(&b->refs, 1);
        pthread_mutex_lock(&p->lock);
        p->used -= b->wanted;
        b->state = BLOCK_PENDING;
        b->stream = s->id;
        *f = (struct queued_free){ b, p, ++b->frees };
        pthread_mutex_unlock(&p->lock);
        e = result_of(s->obj.ctx->b->stream_host_fn(s->be, stream_reached, f));
        if (e != CUDA_SUCCESS) {
            pthread_mutex_lock(&p->lock);
            if (b->state == BLOCK_PENDING && b->frees == f->frees) {
                b->state = BLOCK_USED;
                account(p, b->wanted);
            } else {
                e = CUDA_SUCCESS;       /* a new use has overtaken it, and nobody needs to hear when the stream gets there */
            }
            pthread_mutex_unlock(&p->lock);
            free(f);
            block_unref(b);
        }
        stream_end(s);
    } else {
        free(f);
    }
    return e;
}

static CUresult
alloc(struct ctx *c, CUdeviceptr *dptr, size_t size, struct pool *p, CUstream hStream)
{
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e != CUDA_SUCCESS)
        return e;
    if (!dptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!size) {                        /* as driver 580 */
        *dptr = 0;
        return CUDA_SUCCESS;
    }
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
    if (p->shared_by)
        return CUDA_ERROR_INVALID_VALUE;        /* a pool of another process gives no memory here (so driver 580) */
    struct block *b;
    e = block_get(p, s->obj.ctx, s->id, size, &b);
    if (e != CUDA_SUCCESS)
        return e;
    struct range r = { .base = b->base, .size = size, .kind = RANGE_POOL, .ctx = b->ctx, .device = p->device, .flags = p->handle_types, .device_address = b->base,
                       .block = b, .pool = p->obj.handle, .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
    uint64_t base = b->base;
    e = range_add(&r);
    if (e != CUDA_SUCCESS)
        block_give_back(b);
    else
        *dptr = base;
    return e;
}

CUresult
drv_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    STREAM_CONTEXT(c, hStream);
    struct pool *p AUTO_PUT = NULL;
    CUresult e = current_pool(c->dev, &p);
    return e == CUDA_SUCCESS ? alloc(c, dptr, bytesize, p, hStream) : e;
}

CUresult
drv_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    STREAM_CONTEXT(c, hStream);
    POOL(p, pool);
    return alloc(c, dptr, bytesize, p, hStream);
}

CUresult
drv_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    STREAM_CONTEXT(c, hStream);
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
    struct range r;
    if (range_find(dptr, &r) && r.kind == RANGE_IPC && r.base == dptr && r.pool) {
        e = stream_wait_idle(s);        /* unmapping is nothing that a stream can do */
        return e == CUDA_SUCCESS ? ipc_memory_close(dptr) : e;
    }
    if (!range_remove(dptr, 1u << RANGE_POOL | 1u << RANGE_DEVICE, &r))
        return CUDA_ERROR_INVALID_VALUE;
    if (r.kind == RANGE_DEVICE) {       /* as cuMemFree */
        e = memory_settle(r.ctx);
        CUresult f = memory_release(&r);
        return e == CUDA_SUCCESS ? f : e;
    }
    if (r.ctx != s->obj.ctx || atomic_load(&r.ctx->lent))   /* the stream's order does not hold in other contexts */
        (void)memory_settle(r.ctx);
    e = block_free_async(r.block, s);
    if (e != CUDA_SUCCESS && range_add(&r) != CUDA_SUCCESS)     /* as it was; or its context has ended meanwhile */
        block_give_back(r.block);
    range_forget(&r);
    return e;
}

/* ---- between processes --------------------------------------------------------------------------------------------------------------- */

enum { MAGIC_POOL = 0x50495743 };

struct pool_file {                      /* what is in the file that stands for a pool */
    uint32_t magic, pid;
};

CUresult
drv_cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool, CUmemAllocationHandleType handleType, unsigned long long flags)
{
    POOL(p, pool);
    if (!handle_out || flags || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !(p->handle_types & handleType))
        return CUDA_ERROR_INVALID_VALUE;
    struct pool_file f = { MAGIC_POOL, (uint32_t)getpid() };
    int fd = memfd_create("cudaway-pool", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, &f, sizeof f, 0) != sizeof f) {
        if (fd >= 0)
            close(fd);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *(int *)handle_out = fd;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle, CUmemAllocationHandleType handleType, unsigned long long flags)
{
    READY();
    struct pool_file f;
    struct pool *p;
    if (!pool_out || flags || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        pread((int)(intptr_t)handle, &f, sizeof f, 0) != sizeof f || f.magic != MAGIC_POOL || !f.pid)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = pool_make(0, false, NULL, &p);
    if (e == CUDA_SUCCESS) {
        p->shared_by = f.pid;
        *pool_out = HANDLE(CUmemoryPool, p);
        handle_put(&p->obj);
    }
    return e;
}

CUresult
drv_cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    READY();
    struct range r;
    if (!shareData_out || !range_find(ptr, &r) || r.kind != RANGE_POOL || r.base != ptr)
        return CUDA_ERROR_INVALID_VALUE;
    struct pool *p AUTO_PUT = handle_get((void *)(uintptr_t)r.pool, KIND_POOL);
    if (!p || !(p->handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_INVALID_VALUE;
    return ipc_memory_export(ptr, RANGE_POOL, shareData_out);
}

CUresult
drv_cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData)
{
    USABLE(c);
    POOL(p, pool);
    if (!ptr_out || !shareData || !p->shared_by)
        return CUDA_ERROR_INVALID_VALUE;
    return ipc_memory_open(c, shareData, p->obj.handle, p->shared_by, ptr_out);
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
