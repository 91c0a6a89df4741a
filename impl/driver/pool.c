/* SPDX-License-Identifier: Apache-2.0
 * Memory pools and stream-ordered allocation (CUDA driver API, "Stream Ordered Memory Allocator"; docs/memory.md). What was freed in a stream may be
 * allocated again in that stream at once, in others by the pool's reuse policies. Chunks without an allocation that the pool keeps beyond its release
 * threshold go back to the backend when the program next waits for work; of others the pages go that no allocation is on. */
#define _GNU_SOURCE
#include "impl/driver/graph.h"
#include "impl/driver/pool.h"

#include "impl/base/file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;  /* before pool.lock */
static struct pool *pools;              /* pools_lock */
_Atomic bool pools_over;

/* ---- what is used again, and when ------------------------------------------------------------------------------------------------- */

_Atomic uint32_t pools_strict;

static bool
free_is_reached(const struct queued_free *f)
{
    const cwb_result r = f->ctx->b->event_query(f->event);
    return r != CWB_NOT_READY && r != CWB_NOT_PERMITTED;        /* after a fault nothing comes any more */
}

struct behind {
    uint64_t stream[8];                 /* that have not got to an earlier free, so to none behind it */
    unsigned n;
};

/* Whether f stays in the list: its stream has not reached it. Frees of c, which has ended (or NULL), go. */
static bool
free_stays(const struct queued_free *f, const struct ctx *c, struct behind *b)
{
    if (!f->recorded)
        return true;
    if (f->ctx == c)
        return false;
    for (unsigned i = 0; i < b->n; i++)
        if (b->stream[i] == f->stream)
            return true;
    if (free_is_reached(f))
        return false;
    if (b->n < COUNT(b->stream))
        b->stream[b->n++] = f->stream;
    return true;
}

/* The frees that do not stay leave the list. Everyone may use their blocks: at once, or where the program has to wait for that, when it has. p->lock held;
 * whoever lets it go calls frees_finish(*gone). */
static void
frees_take(struct pool *p, const struct ctx *c, struct queued_free **gone)
{
    struct behind behind = { .n = 0 };
    struct queued_free **l = &p->queued;
    for (struct queued_free *f; (f = *l);) {
        if (free_stays(f, c, &behind)) {
            l = &f->next;
            continue;
        }
        *l = f->next;
        if (f->b->state == BLOCK_PENDING && p->reuse_opportunistic)
            (void)block_now_free(f->b);
        else
            f->b->reached = true;
        f->next = *gone;
        *gone = f;
    }
    p->queued_end = l;
}

static void
frees_finish(struct queued_free *gone)
{
    for (struct queued_free *f; (f = gone); free(f)) {
        gone = f->next;
        f->ctx->b->event_destroy(f->event);
        block_unref(f->b);
        ctx_unref(f->ctx);
    }
}

/* Blocks of c (NULL: of all) that streams have reached may be used by everyone, if the program has waited for what `done` names (NULL: for all of them). p->lock
 * held. */
static void
blocks_waited(struct pool *p, const struct ctx *c, const struct frees *done)
{
    for (struct chunk *h = p->chunks; h; h = h->next)
        for (struct block *b = !c || h->ctx == c ? h->blocks : NULL; b; b = b->next)
            if (b->state == BLOCK_PENDING && b->reached && (!done || frees_have(done, atomic_load(&b->stream), b->number)))
                b = block_now_free(b);
}

void
pools_waited_slow(const struct ctx *c, const struct frees *done)
{
    struct queued_free *reached = NULL;
    pthread_mutex_lock(&pools_lock);
    for (struct pool *p = pools; p; p = p->next) {
        pthread_mutex_lock(&p->lock);
        if (!p->reuse_opportunistic) {
            frees_take(p, NULL, &reached);
            blocks_waited(p, c, done);
        }
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&pools_lock);
    frees_finish(reached);
}

/* What streams have reached until now is used again by the policy until now. As frees_take. */
static void
pool_set_opportunistic(struct pool *p, int value, struct queued_free **gone)
{
    frees_take(p, NULL, gone);
    if (!value != !p->reuse_opportunistic)
        atomic_fetch_add(&pools_strict, value ? -1u : 1u);
    p->reuse_opportunistic = value;
    if (value)
        blocks_waited(p, NULL, NULL);
}

static void
pool_trim(struct pool *p, uint64_t keep)
{
    struct chunk *gone = NULL;
    struct queued_free *reached = NULL;
    pthread_mutex_lock(&p->lock);
    frees_take(p, NULL, &reached);
    chunks_take(p, keep, keep, NULL, &gone);
    pthread_mutex_unlock(&p->lock);
    frees_finish(reached);
    chunks_release(gone);
}

void
pools_trim_slow(void)
{
    struct chunk *gone = NULL;
    struct queued_free *reached = NULL;
    bool over = false;
    atomic_store(&pools_over, false);
    pthread_mutex_lock(&pools_lock);
    for (struct pool **l = &pools; *l;) {
        struct pool *p = *l;
        pthread_mutex_lock(&p->lock);
        frees_take(p, NULL, &reached);
        chunks_take(p, p->ended ? 0 : p->release_threshold, 0, NULL, &gone);
        bool end = p->ended && !p->chunks && !p->queued;
        over = over || (p->queued && (p->ended || p->reserved > p->release_threshold));
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
    if (over)
        atomic_store(&pools_over, true);
    frees_finish(reached);
    chunks_release(gone);
}

void
pools_context_end(struct ctx *c)
{
    struct chunk *gone = NULL;
    struct queued_free *reached = NULL;
    pthread_mutex_lock(&pools_lock);
    for (struct pool *p = pools; p; p = p->next) {
        pthread_mutex_lock(&p->lock);
        frees_take(p, c, &reached);
        chunks_take(p, 0, 0, c, &gone);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&pools_lock);
    frees_finish(reached);
    chunks_release(gone);
}

/* The pool stays in the list until its last block has gone. */
static void
pool_finish(struct obj *o)
{
    struct pool *p = (struct pool *)o;
    struct queued_free *reached = NULL;
    pthread_mutex_lock(&p->lock);
    pool_set_opportunistic(p, 1, &reached);
    p->ended = true;
    pthread_mutex_unlock(&p->lock);
    frees_finish(reached);
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
    p->queued_end = &p->queued;
    p->device = device;
    p->is_default = is_default;
    p->handle_types = props ? props->handleTypes : CU_MEM_HANDLE_TYPE_NONE;
    p->max_size = props ? round_up(props->maxSize, CHUNK) : 0;
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
    READY();
    struct device *d;
    struct pool *p AUTO_PUT = NULL;
    if (!pool || device_get(dev, &d) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;        /* driver 580, where cuDeviceGetDefaultMemPool says INVALID_DEVICE */
    CUresult e = current_pool(d, &p);
    if (e == CUDA_SUCCESS)
        *pool = HANDLE(CUmemoryPool, p);
    return e;
}

CUresult
drv_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct device *d;
    POOL(p, pool);
    if (p->device != dev || device_get(dev, &d) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&g.lock);
    d->current_pool = (uintptr_t)pool;
    pthread_mutex_unlock(&g.lock);
    return CUDA_SUCCESS;
}

/* Is there such a place for memory of this type, whether or not it can have a pool? INVALID_VALUE: no. NOT_SUPPORTED: there is no such type of location
 * (driver 580). */
static CUresult
location_known(const CUmemLocation *l, CUmemAllocationType type)
{
    if (!l || l->type == CU_MEM_LOCATION_TYPE_INVALID)
        return CUDA_ERROR_INVALID_VALUE;
    if (l->type < CU_MEM_LOCATION_TYPE_DEVICE || l->type > CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    bool none = l->type == CU_MEM_LOCATION_TYPE_DEVICE && (l->id < 0 || (uint32_t)l->id >= g.ndevices);
    return none ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult
drv_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    READY();
    CAPTURE_SAFE();
    if (!pool || !poolProps)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult known = location_known(&poolProps->location, poolProps->allocType);
    if (known != CUDA_SUCCESS)
        return known == CUDA_ERROR_NOT_SUPPORTED ? CUDA_ERROR_INVALID_VALUE : known;
    for (unsigned i = 0; i < COUNT(poolProps->reserved); i++)
        if (poolProps->reserved[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->handleTypes && poolProps->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && poolProps->handleTypes != CU_MEM_HANDLE_TYPE_FABRIC)
        return CUDA_ERROR_INVALID_VALUE;
    if (poolProps->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || (poolProps->handleTypes && !g.backend->mem_share))
        return unsupported("cuMemPoolCreate", "sharing a pool with another process by this type of handle");
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return unsupported("cuMemPoolCreate", "a pool of host or managed memory");
    if (poolProps->maxSize > g.devices[poolProps->location.id].props.total_memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
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

static bool
is_switch(CUmemPool_attribute attr)
{
    return attr >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES && attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult
drv_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    POOL(p, pool);
    if (!value || attr < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attr > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    const cuuint64_t v = is_switch(attr) ? *(int *)value != 0 : *(cuuint64_t *)value;
    CUresult e = CUDA_SUCCESS;
    struct queued_free *reached = NULL;
    pthread_mutex_lock(&p->lock);
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:   p->reuse_follow = v != 0; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:         pool_set_opportunistic(p, v != 0, &reached); break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: p->reuse_internal = v != 0; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:                 p->release_threshold = v; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (v)
            e = CUDA_ERROR_INVALID_VALUE;       /* may only be reset */
        else if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            p->used_high = p->used;
        else
            p->reserved_high = p->reserved;
        break;
    default: e = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    frees_finish(reached);
    return e;
}

CUresult
drv_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    POOL(p, pool);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = CUDA_SUCCESS;
    cuuint64_t v = 0;
    pthread_mutex_lock(&p->lock);
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:   v = (cuuint64_t)p->reuse_follow; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:         v = (cuuint64_t)p->reuse_opportunistic; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: v = (cuuint64_t)p->reuse_internal; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:                 v = p->release_threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:              v = p->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:                 v = p->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:                  v = p->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:                     v = p->used_high; break;
    default: e = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    if (e == CUDA_SUCCESS && is_switch(attr))
        *(int *)value = (int)v;
    else if (e == CUDA_SUCCESS)
        *(cuuint64_t *)value = v;
    return e;
}

CUresult
drv_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    POOL(p, pool);
    if (!map)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            return CUDA_ERROR_NOT_SUPPORTED;
        DEVICE(d, map[i].location.id);
        (void)d;
        if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
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
    if (!flags || location_known(location, CU_MEM_ALLOCATION_TYPE_PINNED) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
        *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    }
    const int device = location->id;
    pthread_mutex_lock(&p->lock);
    const CUmemAccess_flags access = p->access[device];
    pthread_mutex_unlock(&p->lock);
    *flags = access;
    return CUDA_SUCCESS;
}

/* ---- stream-ordered allocation --------------------------------------------------------------------------------------------- */

/* The first block in the way of an allocation there that more of what is freed would make room for. p->lock held. */
static uint64_t
pool_in_the_way(const struct pool *p, const struct ctx *c, const struct place *at, uint64_t wanted)
{
    struct run r;
    for (const struct chunk *h = p->chunks; h; h = h->next)
        if (h->ctx == c && run_find(h, NULL, wanted, &r))
            for (const struct block *b = r.first; b != r.last->next; b = b->next)
                if (!block_may_be_used(b, at))
                    return b->handle;
    return 0;
}

/* "Internal dependencies": s waits for the stream whose free is in the way. That stream's other work, too, is waited for. */
static bool
place_behind(struct stream *s, uint64_t handle, struct place *at)
{
    struct ctx *c = s->obj.ctx;
    struct cwb_event *e;
    bool done = false;
    if (!handle || c->b->event_create(c->be, 0, &e) != CWB_OK)
        return false;
    if (stream_order(s) == CUDA_SUCCESS) {
        struct stream *other = handle_peek((void *)(uintptr_t)handle, KIND_STREAM, c);       /* or it has been destroyed */
        done = other && stream_follow(s, other, e) == CWB_OK;
        frees_add(&at->behind, &s->behind);
        stream_end(s);
    }
    c->b->event_destroy(e);
    return done;
}

static CUresult
block_get(struct pool *p, struct stream *s, uint64_t wanted, struct block **out)
{
    struct ctx *c = s->obj.ctx;
    struct place at = { .stream = s->id };
    if (wanted > UINT64_MAX - 2 * CHUNK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = stream_order(s);       /* as work that is submitted now */
    if (e != CUDA_SUCCESS)
        return e;
    at.behind = s->behind;
    stream_end(s);
    bool waited = false;
    for (unsigned added = 0;;) {
        struct block *b = NULL;
        struct run r;
        bool found = false;
        struct queued_free *reached = NULL;
        pthread_mutex_lock(&p->lock);
        frees_take(p, NULL, &reached);
        if (!p->reuse_follow && !added)
            at.behind.n = 0;
        for (struct chunk *h = p->chunks; h && !b; h = h->next)
            if (h->ctx == c && run_find(h, &at, wanted, &r)) {
                found = true;
                b = block_carve(h, &r, wanted);
            }
        bool internal = p->reuse_internal;
        uint64_t other = b ? 0 : pool_in_the_way(p, c, &at, wanted);
        pthread_mutex_unlock(&p->lock);
        frees_finish(reached);
        *out = b;
        if (b)
            return CUDA_SUCCESS;
        if (found)                      /* it is the host's memory that is lacking, and more of the device's would not help */
            return CUDA_ERROR_OUT_OF_MEMORY;
        e = chunk_make(p, c, round_up(wanted, UNIT), CHUNK);
        if (e == CUDA_ERROR_OUT_OF_MEMORY)
            e = chunk_make(p, c, round_up(wanted, UNIT), GRANULE);
        if (e == CUDA_SUCCESS)
            continue;
        if (e != CUDA_ERROR_OUT_OF_MEMORY)
            return e;
        if (internal && added < FREES_STREAMS && place_behind(s, other, &at)) {
            added++;
        } else if (!waited) {           /* what it keeps is in the way: wait for what is about to be freed, where that is allowed, and try again */
            if (internal) {
                (void)c->b->context_sync(c->be);
                pools_waited(c, NULL);
            }
            pool_trim(p, 0);
            waited = true;
        } else {
            return e;
        }
    }
}

void
block_free(struct block *b)
{
    struct pool *p = b->pool;
    pthread_mutex_lock(&p->lock);
    block_leave(b);
    (void)block_now_free(b);
    pthread_mutex_unlock(&p->lock);
}

/* The same where queued work may use it: a stream's order no longer says when that is done. */
static void
block_give_back(struct block *b, struct ctx *c)
{
    (void)memory_settle(c);
    block_free(b);
}

/* Free b in stream order; s->obj.ctx->order is not held. */
static CUresult
block_free_async(struct block *b, struct stream *s)
{
    struct pool *p = b->pool;
    struct ctx *c = s->obj.ctx;
    struct queued_free *f = malloc(sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *f = (struct queued_free){ .b = b, .ctx = c, .stream = s->id };
    CUresult e = result_of(c->b->event_create(c->be, 0, &f->event));
    if (e != CUDA_SUCCESS) {
        free(f);
        return e;
    }
    ctx_ref(c);
    atomic_fetch_add(&b->refs, 1);
    e = stream_begin(s);
    if (e != CUDA_SUCCESS) {
        frees_finish(f);
        return e;
    }
    pthread_mutex_lock(&p->lock);
    block_leave(b);
    atomic_store(&b->stream, 0);
    b->number = ++s->frees;
    b->handle = s->obj.handle;
    b->reached = false;
    block_now_pending(b);
    *p->queued_end = f;                 /* and the pool stays */
    p->queued_end = &f->next;
    pthread_mutex_unlock(&p->lock);
    e = result_of(c->b->event_record(f->event, s->be));
    pthread_mutex_lock(&p->lock);
    struct queued_free *refused = NULL;
    if (e == CUDA_SUCCESS) {
        atomic_store(&b->stream, s->id);        /* it is in the queue now, and counts where b is still pending */
        f->recorded = true;
        if (p->ended || p->reserved > p->release_threshold)
            atomic_store(&pools_over, true);
    } else {
        if (b->state == BLOCK_PENDING)
            block_enter(b);
        else
            e = CUDA_SUCCESS;           /* its context has ended, and took it along */
        struct queued_free **l = &p->queued;
        while (*l != f)
            l = &(*l)->next;
        *l = f->next;
        if (p->queued_end == &f->next)
            p->queued_end = l;
        f->next = NULL;
        refused = f;
    }
    pthread_mutex_unlock(&p->lock);
    stream_end(s);
    frees_finish(refused);
    return e;
}

static CUresult
alloc(struct ctx *c, CUdeviceptr *dptr, size_t size, struct pool *p, CUstream hStream)
{
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e == CUDA_SUCCESS)
        e = capture_error(s);
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
        e = work_alloc(&w, s->obj.ctx, &n);
        e = capture_work(s, e, &w);
        if (e == CUDA_SUCCESS)
            *dptr = n.dptr;
        return e;
    }
    CAPTURE_SAFE();
    if (p->shared_by)
        return CUDA_ERROR_INVALID_VALUE;        /* a pool of another process gives no memory here (so driver 580) */
    struct block *b;
    e = block_get(p, s, size, &b);
    if (e != CUDA_SUCCESS)
        return e;
    struct range r = { .base = b->base, .size = size, .kind = RANGE_POOL, .ctx = s->obj.ctx, .device = p->device, .flags = p->handle_types, .device_address = b->base,
                       .block = b, .pool = p->obj.handle, .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
    uint64_t base = b->base;
    e = range_add(&r);
    if (e != CUDA_SUCCESS)
        block_give_back(b, s->obj.ctx);
    else
        *dptr = base;
    return e;
}

CUresult
drv_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    READY();
    STREAM_CONTEXT(c, hStream);
    struct pool *p AUTO_PUT = NULL;
    CUresult e = current_pool(c->dev, &p);
    return e == CUDA_SUCCESS ? alloc(c, dptr, bytesize, p, hStream) : e;
}

CUresult
drv_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    READY();
    STREAM_CONTEXT(c, hStream);
    POOL(p, pool);
    return alloc(c, dptr, bytesize, p, hStream);
}

CUresult
drv_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    READY();
    STREAM_CONTEXT(c, hStream);
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e != CUDA_SUCCESS)
        return e;
    if (stream_captures(s)) {
        struct work w;
        return dptr ? capture_work(s, work_free(&w, dptr), &w) : capture_error(s);    /* nothing is no node */
    }
    CAPTURE_SAFE();
    if (!dptr)
        return CUDA_SUCCESS;
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
        block_give_back(r.block, r.ctx);
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
    int fd = cw_memory_file("cudaway-pool", sizeof f);
    if (fd < 0 || !cw_write_all_at(fd, &f, sizeof f, 0)) {
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
    CUresult e = location_known(l, type);
    if (e != CUDA_SUCCESS)
        return e;
    return l->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
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
