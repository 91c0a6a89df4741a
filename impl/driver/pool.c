/* SPDX-License-Identifier: Apache-2.0
 * Memory pools and stream-ordered allocation (CUDA driver API, "Stream Ordered Memory Allocator"). A pool reserves memory in chunks, which
 * belong to the context in which they were made, and end with it; where the backend can, a chunk grows by such units and gives them back one by one. Blocks tile a
 * chunk: allocations, and what was freed. What was freed in a stream may be allocated again in that stream at once, in others by the pool's reuse policies.
 * Chunks without an allocation that the pool keeps beyond its release threshold go back to the backend when the program next waits for work; of others the
 * pages go that no allocation is on. */
#define _GNU_SOURCE
#include "impl/driver/graph.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNIT    512u                    /* sizes and addresses of blocks */
#define CHUNK   (32ull << 20)           /* what a pool reserves at a time (driver 580 on an H100) */
#define GRANULE (2ull << 20)            /* the same where memory is short */
#define PAGE    4096ull
#define LARGE   (1ull << 20)            /* from this size on nothing is on the page behind an allocation (impl/va.h does the same) */
#define UNIT_ROOM (CHUNK + (CHUNK / LARGE + 1) * PAGE)  /* what a unit of a chunk that can grow takes with these pages */

/* GONE: a part of others since, or its chunk has gone. */
enum block_state { BLOCK_USED, BLOCK_PENDING, BLOCK_FREE, BLOCK_GONE };

struct block {
    struct block *prev, *next;          /* pool.lock, and so on: in its chunk, by address */
    struct chunk *chunk;                /* while it is not GONE */
    uint64_t base, size;
    uint64_t wanted;                    /* USED: what was asked for */
    enum block_state state;
    enum { PAGES_OPEN, PAGES_CLOSED, PAGES_MIXED } pages;       /* its pages can be touched; not those that it has for itself; some */
    struct pool *pool;                  /* always */
    _Atomic uint64_t stream;            /* PENDING: id of the stream in which it was freed; 0: that is not submitted yet */
    uint64_t number, handle;            /* PENDING with a stream: which of its frees that was; the stream's handle */
    bool reached;                       /* PENDING: the stream has got there, but the pool does not use it again until the program has waited for that */
    _Atomic uint32_t refs;              /* its chunk, and frees that are queued */
};

struct chunk {
    struct chunk *next;                 /* pool.lock, and so on */
    struct pool *pool;                  /* which stays while it has chunks */
    struct ctx *ctx;                    /* owned reference */
    uint64_t base, size;
    uint64_t room;                      /* size, and what the pages behind large allocations take */
    uint64_t used;                      /* bytes of USED blocks, without these pages */
    struct block *blocks;
};

struct pool {
    struct obj obj;
    struct pool *next;                  /* pools_lock: all pools that have not ended */
    CUdevice device;
    uint32_t shared_by;                 /* process that exported it; 0: it is this one's */
    CUmemAllocationHandleType handle_types;
    uint64_t max_size;                  /* a multiple of CHUNK; 0: any */
    bool is_default;
    pthread_mutex_t lock;
    struct chunk *chunks;               /* lock, and so on: oldest first */
    bool ended;                         /* nobody has the pool; its blocks may still be used */
    uint64_t release_threshold;
    uint64_t used, used_high, reserved, reserved_high;
    int reuse_follow, reuse_opportunistic, reuse_internal;
    CUmemAccess_flags access[MAX_DEVICES];
};

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;  /* before pool.lock */
static struct pool *pools;              /* pools_lock */
_Atomic bool pools_over;

static uint64_t
round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

/* ---- blocks of a chunk; pool.lock held ------------------------------------------------------------------------------------------ */

static void
block_unref(struct block *b)
{
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        free(b);
}

static void
block_drop(struct block *b)
{
    *(b->prev ? &b->prev->next : &b->chunk->blocks) = b->next;
    if (b->next)
        b->next->prev = b->prev;
    b->state = BLOCK_GONE;
    block_unref(b);
}

/* b takes in the free block behind it. */
static void
block_join(struct block *b)
{
    struct block *n = b->next;
    b->size += n->size;
    if (n->pages != PAGES_OPEN || b->pages != PAGES_OPEN)
        b->pages = PAGES_MIXED;
    block_drop(n);
}

/* It may be used by everyone. Returns the block that it is part of now. */
static struct block *
block_now_free(struct block *b)
{
    const struct chunk *h = b->chunk;
    const struct pool *p = h->pool;
    b->state = BLOCK_FREE;
    if (b->next && b->next->state == BLOCK_FREE)
        block_join(b);
    if (b->prev && b->prev->state == BLOCK_FREE) {
        b = b->prev;
        block_join(b);
    }
    if (p->ended || atomic_load(&h->ctx->dead) || p->reserved > p->release_threshold)
        atomic_store(&pools_over, true);
    return b;
}

/* The allocation in it has ended. */
static void
block_leave(struct block *b)
{
    b->pool->used -= b->wanted;
    b->chunk->used -= round_up(b->wanted, UNIT);
}

static void
block_enter(struct block *b)
{
    struct pool *p = b->pool;
    b->state = BLOCK_USED;
    b->chunk->used += round_up(b->wanted, UNIT);
    p->used += b->wanted;
    if (p->used > p->used_high)
        p->used_high = p->used;
}

/* What is on the pages of a free block goes; to touch them may be a fault. */
static void
block_close(struct block *b)
{
    const struct ctx *c = b->chunk->ctx;
    if (b->pages == PAGES_CLOSED || !c->b->mem_use)
        return;
    (void)c->b->mem_use(b->base, b->size, false);
    b->pages = PAGES_CLOSED;
}

/* Where a block of this size at base ends. */
static uint64_t
block_end(const struct chunk *h, uint64_t base, uint64_t size)
{
    return size >= LARGE && h->ctx->b->mem_use ? round_up(base + size, PAGE) + PAGE : base + size;
}

/* It grows and shrinks by UNIT_ROOM. */
static bool
chunk_has_units(const struct chunk *h)
{
    return h->ctx->b->mem_extend && h->room == h->size / CHUNK * UNIT_ROOM;
}

struct run {
    struct block *first, *last;
    uint64_t base;                      /* in first */
    uint64_t end;                       /* in last */
};

/* Where an allocation goes that may begin with b: not in what a unit has for pages behind allocations, so that one of a unit's size lies in one unit. */
static uint64_t
block_base(const struct chunk *h, uint64_t base, uint64_t size)
{
    uint64_t at = (base - h->base) % UNIT_ROOM;
    return size >= LARGE && at >= CHUNK && chunk_has_units(h) ? base - at + UNIT_ROOM : base;
}

/* An allocation in the blocks of r, which work of the stream may use now. What is left of the last one stays what it is, and so does what is before it in the first. NULL:
 * no memory. */
static struct block *
block_carve(struct chunk *h, const struct run *r, uint64_t wanted)
{
    struct block *first = r->first, *last = r->last, *b = calloc(1, sizeof *b), *before = r->base > first->base ? calloc(1, sizeof *before) : NULL;
    uint64_t end = r->end;
    if (!b || (r->base > first->base && !before)) {
        free(b);
        free(before);
        return NULL;
    }
    *b = (struct block){ .chunk = h, .pool = h->pool, .base = r->base, .size = end - r->base, .wanted = wanted };
    atomic_init(&b->refs, 1);
    bool open = true, closed = true, pending = false;
    for (const struct block *i = first; i != last->next; i = i->next) {
        open = open && i->pages == PAGES_OPEN;
        closed = closed && i->pages == PAGES_CLOSED;
        pending = pending || i->state == BLOCK_PENDING;
    }
    bool behind = end != b->base + round_up(wanted, UNIT);      /* a page with nothing on it */
    if (!open && h->ctx->b->mem_use && h->ctx->b->mem_use(b->base, wanted, true) != CWB_OK) {
        free(b);
        free(before);
        return NULL;
    }
    if (behind && !closed && !pending)          /* work of what was there before may still touch it */
        (void)h->ctx->b->mem_use(end - PAGE, PAGE, false);
    b->pages = behind ? PAGES_MIXED : PAGES_OPEN;
    if (before) {
        *before = (struct block){ .prev = first->prev, .next = first, .chunk = h, .pool = h->pool, .base = first->base, .size = r->base - first->base, .state = BLOCK_FREE,
                                  .pages = first->pages };
        atomic_init(&before->refs, 1);
        *(first->prev ? &first->prev->next : &h->blocks) = before;
        first->prev = before;
        first->size -= before->size;
        first->base = r->base;
    }
    while (first != last) {
        struct block *next = first->next;
        block_drop(first);
        first = next;
    }
    b->prev = last->prev;
    b->next = last;
    *(last->prev ? &last->prev->next : &h->blocks) = b;
    last->prev = b;
    last->size -= end - last->base;
    last->base = end;
    if (!last->size)
        block_drop(last);
    block_enter(b);
    return b;
}

/* Where in the order of its context's work an allocation is. */
struct place {
    uint64_t stream;
    struct frees behind;                /* what it may use again besides */
};

static bool
block_may_be_used(const struct block *b, const struct place *at)
{
    if (b->state != BLOCK_PENDING)
        return b->state == BLOCK_FREE;
    uint64_t stream = atomic_load(&b->stream);
    return stream && (!at || stream == at->stream || frees_have(&at->behind, stream, b->number));
}

/* The first blocks of h that an allocation there can take; at NULL: if all that is freed could be used. */
static bool
run_find(const struct chunk *h, const struct place *at, uint64_t wanted, struct run *r)
{
    uint64_t size = round_up(wanted, UNIT);
    struct block *first = NULL;
    if (h->size - h->used < size)
        return false;
    for (struct block *b = h->blocks; b; b = b->next) {
        if (!block_may_be_used(b, at)) {
            first = NULL;
            continue;
        }
        if (!first)
            first = b;
        uint64_t base = first->state == BLOCK_FREE ? block_base(h, first->base, size) : first->base, end = block_end(h, base, size);
        if (base >= first->base + first->size) {
            first = NULL;
        } else if (b->base + b->size >= end) {
            *r = (struct run){ first, b, base, end };
            return true;
        }
    }
    return false;
}

/* ---- chunks --------------------------------------------------------------------------------------------------------------------- */

static bool
chunk_is_free(const struct chunk *h)
{
    return h->blocks->state == BLOCK_FREE && !h->blocks->next;
}

/* Give units of h that lie in its free block b, but are not all of h, to the backend. What is behind them becomes a chunk of its own, the next one. False: no memory for that. */
static bool
chunk_cut(struct chunk *h, struct block *b, uint64_t from, uint64_t size)
{
    uint64_t to = from + size, end = h->base + h->room, b_end = b->base + b->size;
    bool head = from == h->base, middle = !head && to < end, two = middle && to < b_end;
    struct chunk *rest = middle ? calloc(1, sizeof *rest) : NULL;
    struct block *behind = two ? calloc(1, sizeof *behind) : NULL;
    if ((middle && !rest) || (two && !behind) || h->ctx->b->mem_cut(h->ctx->be, h->base, from, size) != CWB_OK) {
        free(rest);
        free(behind);
        return false;
    }
    if (head)
        h->base = b->base = to;
    b->size = head ? b_end - to : from - b->base;
    h->room -= size;
    if (middle) {
        *rest = (struct chunk){ .next = h->next, .pool = h->pool, .ctx = h->ctx, .base = to, .size = (end - to) / UNIT_ROOM * CHUNK, .room = end - to, .blocks = b->next };
        ctx_ref(h->ctx);
        h->next = rest;
        b->next = NULL;
        if (two) {
            *behind = (struct block){ .next = rest->blocks, .pool = h->pool, .base = to, .size = b_end - to, .state = BLOCK_FREE, .pages = b->pages };
            atomic_init(&behind->refs, 1);
            rest->blocks = behind;
        }
        for (struct block *i = rest->blocks, *prev = NULL; i; prev = i, i = i->next) {
            i->prev = prev;
            i->chunk = rest;
            if (i->state == BLOCK_USED)
                rest->used += round_up(i->wanted, UNIT);
        }
        h->room -= rest->room;
        h->used -= rest->used;
    }
    h->size = h->room / UNIT_ROOM * CHUNK;
    h->pool->reserved -= size / UNIT_ROOM * CHUNK;
    if (!b->size)
        block_drop(b);
    return true;
}

/* How many units the pool can do without. */
static uint64_t
units_over(const struct pool *p, uint64_t most, uint64_t least)
{
    uint64_t over = p->reserved > most ? (p->reserved - most + CHUNK - 1) / CHUNK : 0, spare = p->reserved > least ? (p->reserved - least) / CHUNK : 0;
    return over < spare ? over : spare;
}

/* Give units of h without an allocation back, as many as the pool has over. True: some, and h may be another than before. */
static bool
chunk_shrink(struct chunk *h, uint64_t most, uint64_t least)
{
    uint64_t n = units_over(h->pool, most, least);
    for (struct block *b = n && chunk_has_units(h) ? h->blocks : NULL; b; b = b->next) {
        if (b->state != BLOCK_FREE)
            continue;
        uint64_t first = (b->base - h->base + UNIT_ROOM - 1) / UNIT_ROOM, last = (b->base + b->size - h->base) / UNIT_ROOM;
        uint64_t k = first >= last ? 0 : last - first < n ? last - first : n;
        if (k && k * UNIT_ROOM < h->room)
            return chunk_cut(h, b, h->base + first * UNIT_ROOM, k * UNIT_ROOM);
    }
    return false;
}

/* Take chunks without an allocation off the list, into *out: while the pool has more than `most` and keeps no less than `least`, and those of contexts
 * that have ended; or all of a context, whose work is done. Chunks with units give them back one by one. p->lock held. */
static void
chunks_take(struct pool *p, uint64_t most, uint64_t least, const struct ctx *c, struct chunk **out)
{
    for (struct chunk **l = &p->chunks; *l;) {
        struct chunk *h = *l;
        for (struct block *b = c == h->ctx ? h->blocks : NULL; b; b = b->next)
            if (b->state == BLOCK_PENDING)
                b = block_now_free(b);
        bool over = p->reserved > most, gone = c ? c == h->ctx : atomic_load(&h->ctx->dead);
        bool whole = chunk_has_units(h) ? units_over(p, most, least) * CHUNK >= h->size : over && p->reserved - h->size >= least;
        if (chunk_is_free(h) && (gone || (!c && whole))) {
            *l = h->next;
            p->reserved -= h->size;
            block_drop(h->blocks);
            h->next = *out;
            *out = h;
            continue;
        }
        if (!c && !gone && chunk_shrink(h, most, least))
            continue;
        for (struct block *b = h->blocks; !c && over && b; b = b->next)
            if (b->state == BLOCK_FREE)
                block_close(b);
        l = &h->next;
    }
}

/* Give them to the backend; no lock held. */
static void
chunks_release(struct chunk *h)
{
    for (struct chunk *next; h; h = next) {
        next = h->next;
        (void)h->ctx->b->mem_free(h->ctx->be, CWB_MEM_DEVICE, h->base, h->room);
        ctx_unref(h->ctx);
        free(h);
    }
}

/* ---- what is used again, and when ------------------------------------------------------------------------------------------------- */

_Atomic uint32_t pools_strict;

/* Blocks of c (NULL: of all) that streams have reached, and the program has waited for by `done` (NULL: all of them), may be used by everyone. p->lock held. */
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
    pthread_mutex_lock(&pools_lock);
    for (struct pool *p = pools; p; p = p->next) {
        pthread_mutex_lock(&p->lock);
        if (!p->reuse_opportunistic)
            blocks_waited(p, c, done);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&pools_lock);
}

/* p->lock held. */
static void
pool_set_opportunistic(struct pool *p, int value)
{
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
    pthread_mutex_lock(&p->lock);
    chunks_take(p, keep, keep, NULL, &gone);
    pthread_mutex_unlock(&p->lock);
    chunks_release(gone);
}

void
pools_trim_slow(void)
{
    struct chunk *gone = NULL;
    atomic_store(&pools_over, false);
    pthread_mutex_lock(&pools_lock);
    for (struct pool **l = &pools; *l;) {
        struct pool *p = *l;
        pthread_mutex_lock(&p->lock);
        chunks_take(p, p->ended ? 0 : p->release_threshold, 0, NULL, &gone);
        bool end = p->ended && !p->chunks;
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
    chunks_release(gone);
}

void
pools_context_end(struct ctx *c)
{
    struct chunk *gone = NULL;
    pthread_mutex_lock(&pools_lock);
    for (struct pool *p = pools; p; p = p->next) {
        pthread_mutex_lock(&p->lock);
        chunks_take(p, 0, 0, c, &gone);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&pools_lock);
    chunks_release(gone);
}

/* The pool stays in the list until its last block has gone. */
static void
pool_finish(struct obj *o)
{
    struct pool *p = (struct pool *)o;
    pthread_mutex_lock(&p->lock);
    pool_set_opportunistic(p, 1);
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
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:         pool_set_opportunistic(p, *(int *)value); break;
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

static uint64_t
pool_left(const struct pool *p)
{
    return !p->max_size ? UINT64_MAX : p->max_size > p->reserved ? p->max_size - p->reserved : 0;
}

static void
pool_reserved(struct pool *p, uint64_t more)
{
    p->reserved += more;
    if (p->reserved > p->reserved_high)
        p->reserved_high = p->reserved;
}

/* Add units behind a chunk, so that an allocation of this size fits there. p->lock held. */
static bool
pool_grow(struct pool *p, struct ctx *c, uint64_t size)
{
    for (struct chunk *h = p->chunks; h; h = h->next) {
        if (h->ctx != c || !chunk_has_units(h))
            continue;
        struct block *last = h->blocks;
        while (last->next)
            last = last->next;
        uint64_t end = h->base + h->room, base = block_base(h, last->state == BLOCK_FREE ? last->base : end, size), want = block_end(h, base, size);
        uint64_t n = want > end ? (want - end + UNIT_ROOM - 1) / UNIT_ROOM : 0, over = h->used + size > h->size ? (h->used + size - h->size + CHUNK - 1) / CHUNK : 0;
        n = n > over ? n : over;
        bool join = last->state == BLOCK_FREE;
        struct block *b = join ? NULL : calloc(1, sizeof *b);
        if (n * CHUNK > pool_left(p) || (!join && !b) || c->b->mem_extend(c->be, h->base, n * UNIT_ROOM) != CWB_OK) {
            free(b);
            continue;
        }
        if (b) {
            *b = (struct block){ .prev = last, .chunk = h, .pool = p, .base = end, .size = n * UNIT_ROOM, .state = BLOCK_FREE, .pages = PAGES_CLOSED };
            atomic_init(&b->refs, 1);
            last->next = b;
        } else {
            last->size += n * UNIT_ROOM;
            last->pages = last->pages == PAGES_CLOSED ? PAGES_CLOSED : PAGES_MIXED;
        }
        h->room += n * UNIT_ROOM;
        h->size += n * CHUNK;
        pool_reserved(p, n * CHUNK);
        return true;
    }
    return false;
}

/* Reserve memory for an allocation of this size: a multiple of `unit`. */
static CUresult
chunk_make(struct pool *p, struct ctx *c, uint64_t size, uint64_t unit)
{
    if (size > c->dev->props.total_memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t want = round_up(size, unit);
    pthread_mutex_lock(&p->lock);
    uint64_t left = pool_left(p);
    bool grown = unit == CHUNK && pool_grow(p, c, size);
    pthread_mutex_unlock(&p->lock);
    if (grown)
        return CUDA_SUCCESS;
    if (left < want)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct chunk *h = calloc(1, sizeof *h);
    struct block *b = calloc(1, sizeof *b);
    CUresult e = h && b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS) {
        *h = (struct chunk){ .pool = p, .ctx = c, .size = want, .room = want + (c->b->mem_use ? (want / LARGE + want / unit) * PAGE : 0), .blocks = b };
        e = result_of(c->b->mem_alloc(c->be, CWB_MEM_DEVICE, h->room, UNIT, &h->base));
    }
    if (e != CUDA_SUCCESS) {
        free(h);
        free(b);
        return e;
    }
    *b = (struct block){ .chunk = h, .pool = p, .base = h->base, .size = h->room, .state = BLOCK_FREE };
    atomic_init(&b->refs, 1);
    ctx_ref(c);
    pthread_mutex_lock(&p->lock);
    block_close(b);
    struct chunk **l = &p->chunks;
    while (*l)
        l = &(*l)->next;
    *l = h;
    pool_reserved(p, want);
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

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
        pthread_mutex_lock(&p->lock);
        if (!p->reuse_follow && !added)
            at.behind.n = 0;
        for (struct chunk *h = p->chunks; h && !b; h = h->next)
            if (h->ctx == c && run_find(h, &at, wanted, &r))
                b = block_carve(h, &r, wanted);
        bool internal = p->reuse_internal;
        uint64_t other = b ? 0 : pool_in_the_way(p, c, &at, wanted);
        pthread_mutex_unlock(&p->lock);
        *out = b;
        if (b)
            return CUDA_SUCCESS;
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

struct queued_free {
    struct block *b;                    /* owned reference */
    struct pool *p;                     /* there while the block is pending */
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
        if (f->b->state == BLOCK_PENDING && f->p->reuse_opportunistic)
            (void)block_now_free(f->b);
        else
            f->b->reached = true;
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
    if (e != CUDA_SUCCESS) {
        free(f);
        return e;
    }
    *f = (struct queued_free){ b, p };
    atomic_fetch_add(&b->refs, 2);      /* the stream's, and one for here */
    pthread_mutex_lock(&p->lock);
    block_leave(b);
    atomic_store(&b->stream, 0);
    b->number = ++s->frees;
    b->handle = s->obj.handle;
    b->reached = false;
    b->state = BLOCK_PENDING;
    pthread_mutex_unlock(&p->lock);
    e = result_of(s->obj.ctx->b->stream_host_fn(s->be, stream_reached, f));
    if (e == CUDA_SUCCESS) {
        atomic_store(&b->stream, s->id);        /* it is in the queue now, and counts where b is still pending */
    } else {
        pthread_mutex_lock(&p->lock);
        if (b->state == BLOCK_PENDING)
            block_enter(b);
        else
            e = CUDA_SUCCESS;           /* its context has ended, and took it along */
        pthread_mutex_unlock(&p->lock);
        free(f);
        block_unref(b);
    }
    stream_end(s);
    block_unref(b);
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
