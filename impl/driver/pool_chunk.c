/* SPDX-License-Identifier: Apache-2.0
 * See pool.h. A chunk belongs to the context in which it was made, and ends with it. Where the backend can, it grows by units and gives them back one by
 * one. Blocks tile it: allocations, and what was freed. docs/memory.md has a picture. */
#include "impl/driver/pool.h"

#include <stdlib.h>

/* ---- blocks of a chunk; pool.lock held ------------------------------------------------------------------------------------------ */

void
block_unref(struct block *b)
{
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        free(b);
}

static void
unused_add(struct block *b)
{
    b->node.key = b->base;
    cw_tree_insert(&b->chunk->unused, &b->node);
}

static void
unused_remove(struct block *b)
{
    cw_tree_remove(&b->chunk->unused, &b->node);
}

static struct block *
unused_beyond(const struct chunk *h, uint64_t base)
{
    return (struct block *)(void *)cw_tree_beyond(&h->unused, base);
}

static void
block_drop(struct block *b)
{
    if (b->state != BLOCK_USED)
        unused_remove(b);
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

void
block_now_pending(struct block *b)
{
    b->state = BLOCK_PENDING;
    unused_add(b);
}

struct block *
block_now_free(struct block *b)
{
    const struct chunk *h = b->chunk;
    const struct pool *p = h->pool;
    if (b->state == BLOCK_USED)
        unused_add(b);
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

void
block_leave(struct block *b)
{
    b->pool->used -= b->wanted;
    b->chunk->used -= round_up(b->wanted, UNIT);
}

void
block_enter(struct block *b)
{
    struct pool *p = b->pool;
    if (b->state != BLOCK_USED)         /* a free that was refused */
        unused_remove(b);
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

/* Where an allocation goes that may begin with b: not in what a unit has for pages behind allocations, so that one of a unit's size lies in one unit. */
static uint64_t
block_base(const struct chunk *h, uint64_t base, uint64_t size)
{
    uint64_t at = (base - h->base) % UNIT_ROOM;
    return size >= LARGE && at >= CHUNK && chunk_has_units(h) ? base - at + UNIT_ROOM : base;
}

/* What is left of the last block stays what it is, and so does what is before the allocation in the first. */
struct block *
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
        first->base = first->node.key = r->base;
        unused_add(before);
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
    if (last->size)
        last->node.key = end;
    else
        block_drop(last);
    block_enter(b);
    return b;
}

bool
block_may_be_used(const struct block *b, const struct place *at)
{
    if (b->state != BLOCK_PENDING)
        return b->state == BLOCK_FREE;
    uint64_t stream = atomic_load(&b->stream);
    return stream && (!at || stream == at->stream || frees_have(&at->behind, stream, b->number));
}

bool
run_find(const struct chunk *h, const struct place *at, uint64_t wanted, struct run *r)
{
    uint64_t size = round_up(wanted, UNIT);
    struct block *first = NULL, *last = NULL;
    if (h->size - h->used < size)
        return false;
    for (struct block *b = unused_beyond(h, 0); b; b = unused_beyond(h, b->base)) {
        if (b->prev != last)            /* an allocation lies between the two */
            first = NULL;
        last = b;
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

/* Give units of h that lie in its free block b, but are not all of h, to the backend. What is behind them becomes a chunk of its own, the next one. False:
 * no memory for that. */
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
    if (b->size)
        b->node.key = b->base;
    h->room -= size;
    if (middle) {
        *rest = (struct chunk){ .next = h->next, .pool = h->pool, .ctx = h->ctx, .base = to, .size = (end - to) / UNIT_ROOM * CHUNK, .room = end - to,
                                .blocks = b->next };
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
            if (i->state != BLOCK_USED && i != behind)
                unused_remove(i);
            i->chunk = rest;
            if (i->state == BLOCK_USED)
                rest->used += round_up(i->wanted, UNIT);
            else
                unused_add(i);
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

static uint64_t
pool_left(const struct pool *p)
{
    return !p->max_size ? UINT64_MAX : p->max_size > p->reserved ? p->max_size - p->reserved : 0;
}

static void
pool_note_reserved(struct pool *p)
{
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
        uint64_t over = h->used + size > h->size ? (h->used + size - h->size + CHUNK - 1) / CHUNK : 0;
        uint64_t n = want > end ? (want - end + UNIT_ROOM - 1) / UNIT_ROOM : 0;
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
            unused_add(b);
        } else {
            last->size += n * UNIT_ROOM;
            last->pages = last->pages == PAGES_CLOSED ? PAGES_CLOSED : PAGES_MIXED;
        }
        h->room += n * UNIT_ROOM;
        h->size += n * CHUNK;
        p->reserved += n * CHUNK;
        pool_note_reserved(p);
        return true;
    }
    return false;
}

CUresult
chunk_make(struct pool *p, struct ctx *c, uint64_t size, uint64_t unit)
{
    if (size > c->dev->props.total_memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t want = round_up(size, unit);
    pthread_mutex_lock(&p->lock);
    bool grown = unit == CHUNK && pool_grow(p, c, size), fits = pool_left(p) >= want;
    if (!grown && fits)
        p->reserved += want;            /* before the lock is left, or several threads take what is left */
    pthread_mutex_unlock(&p->lock);
    if (grown || !fits)
        return grown ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    struct chunk *h = calloc(1, sizeof *h);
    struct block *b = calloc(1, sizeof *b);
    CUresult e = h && b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS) {
        *h = (struct chunk){ .pool = p, .ctx = c, .size = want, .room = want + (c->b->mem_use ? (want / LARGE + want / unit) * PAGE : 0), .blocks = b };
        e = result_of(c->b->mem_alloc(c->be, CWB_MEM_DEVICE, h->room, UNIT, &h->base));
    }
    if (e != CUDA_SUCCESS) {
        pthread_mutex_lock(&p->lock);
        p->reserved -= want;
        pthread_mutex_unlock(&p->lock);
        free(h);
        free(b);
        return e;
    }
    *b = (struct block){ .chunk = h, .pool = p, .base = h->base, .size = h->room, .state = BLOCK_FREE };
    atomic_init(&b->refs, 1);
    unused_add(b);
    ctx_ref(c);
    pthread_mutex_lock(&p->lock);
    block_close(b);
    struct chunk **l = &p->chunks;
    while (*l)
        l = &(*l)->next;
    *l = h;
    pool_note_reserved(p);
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

void
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

void
chunks_release(struct chunk *h)
{
    for (struct chunk *next; h; h = next) {
        next = h->next;
        (void)h->ctx->b->mem_free(h->ctx->be, CWB_MEM_DEVICE, h->base, h->room);
        ctx_unref(h->ctx);
        free(h);
    }
}
