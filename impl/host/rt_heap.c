/* SPDX-License-Identifier: Apache-2.0
 * malloc and free of kernels: one range of device memory per context. Every block has a header of 16 bytes; the blocks
 * tile the range. A kernel can overwrite headers, so each is checked (magic mixed with its place and size) before use, and the
 * range is walked by sizes that stay inside it. Free blocks are found first fit from a roving start. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"

#include "impl/va.h"

#include <stdlib.h>

struct header {
    uint64_t size;              /* of the block with its header, multiple of 16; bit 0: in use */
    uint64_t check;
};

struct cwh_heap {
    pthread_mutex_t lock;
    size_t limit;
    uint64_t base, size;        /* 0: nothing taken yet */
    uint64_t rover;             /* offset of a block */
    bool     reserved;          /* at HEAP_ADDRESS, not from the allocator */
};

/* The first heap of a process lies at one place, whatever else has been allocated: pointers that kernels store are then
 * the same when a launch is replayed elsewhere. */
#define HEAP_ADDRESS (CW_VA_BASE + CW_VA_SIZE / 2)

struct cwh_heap *
cwh_heap_create(size_t limit)
{
    struct cwh_heap *h = calloc(1, sizeof *h);
    if (h) {
        pthread_mutex_init(&h->lock, NULL);
        h->limit = limit;
    }
    return h;
}

void
cwh_heap_destroy(struct cwh_heap *h)
{
    if (!h)
        return;
    if (h->base && h->reserved)
        (void)cw_va_release(h->base, h->size);
    else if (h->base)
        (void)cw_va_free(h->base, h->size);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void
cwh_heap_limit(struct cwh_heap *h, size_t limit)
{
    pthread_mutex_lock(&h->lock);
    h->limit = limit;
    pthread_mutex_unlock(&h->lock);
}

static struct header *
at(const struct cwh_heap *h, uint64_t offset)
{
    return (struct header *)(uintptr_t)(h->base + offset);
}

static uint64_t
check_of(uint64_t offset, uint64_t size)
{
    return (offset * 0x9e3779b97f4a7c15u) ^ (size + 0xc0ffee5eedull);
}

static void
set_header(struct cwh_heap *h, uint64_t offset, uint64_t size)
{
    *at(h, offset) = (struct header){ size, check_of(offset, size) };
}

/* The block's header, each word read once: another thread of the kernel may write it meanwhile, and what is checked is what is used. False: it was
 * overwritten. */
static bool
get_header(const struct cwh_heap *h, uint64_t offset, uint64_t *size, bool *used)
{
    const struct header *b = at(h, offset);
    uint64_t word = __atomic_load_n(&b->size, __ATOMIC_RELAXED);
    *size = word & ~1ull;
    *used = word & 1;
    return __atomic_load_n(&b->check, __ATOMIC_RELAXED) == check_of(offset, word) && *size >= sizeof *b && *size % 16 == 0 && *size <= h->size - offset;
}

/* Offset of the memory, or 0; *bad when a header was overwritten. Lock held. */
static uint64_t
take(struct cwh_heap *h, uint64_t want, bool *bad)
{
    uint64_t offset = h->rover, gone = 0;
    while (gone < h->size) {
        uint64_t size, more;
        bool used, more_used;
        if (!get_header(h, offset, &size, &used)) {
            *bad = true;
            return 0;
        }
        /* Join the free blocks that follow. */
        while (!used && offset + size < h->size) {
            if (!get_header(h, offset + size, &more, &more_used)) {
                *bad = true;
                return 0;
            }
            if (more_used)
                break;
            size += more;
            gone += more;
            set_header(h, offset, size);
            if (h->rover > offset && h->rover < offset + size)
                h->rover = offset;
        }
        if (!used && size >= want) {
            if (size - want >= 2 * sizeof(struct header)) {
                set_header(h, offset + want, size - want);
                size = want;
            }
            set_header(h, offset, size | 1);
            h->rover = offset + size < h->size ? offset + size : 0;
            return offset + sizeof(struct header);
        }
        gone += size;
        offset = offset + size < h->size ? offset + size : 0;
    }
    return 0;
}

static bool
take_range(struct cwh_heap *h, uint64_t bytes)
{
    if (cw_va_reserve(bytes, 4096, HEAP_ADDRESS, &h->base) == CWB_OK) {
        h->reserved = cw_va_protect(h->base, bytes, true, true) == CWB_OK;
        if (h->reserved)
            return true;
        (void)cw_va_release(h->base, bytes);
    }
    return cw_va_alloc(bytes, 4096, &h->base) == CWB_OK;
}

/* Lock held. */
static bool
own_range(struct cwh_heap *h)
{
    uint64_t bytes = (h->limit + 4095) & ~4095ull;
    if (!h->base && bytes && take_range(h, bytes))
        h->size = bytes;
    if (!h->size)
        h->base = 0;
    return h->base;
}

bool
cwh_heap_range(struct cwh_heap *h, uint64_t *base, uint64_t *size)
{
    pthread_mutex_lock(&h->lock);
    bool ok = own_range(h);
    *base = h->base;
    *size = h->size;
    pthread_mutex_unlock(&h->lock);
    return ok;
}

/* Lock held. */
static bool
first_use(struct cwh_heap *h, struct cwh_exec_launch *l)
{
    if (l->heap_range ? !l->heap_range(l, &h->base, &h->size) : !own_range(h)) {
        h->base = h->size = 0;
        return false;
    }
    h->rover = 0;
    set_header(h, 0, h->size);
    return true;
}

static uint64_t
heap_malloc(struct cwh_heap *h, struct cwh_exec_launch *l, uint64_t size, bool *bad)
{
    if (!h || !size || size > (1ull << 40))
        return 0;
    uint64_t result = 0, want = (size + sizeof(struct header) + 15) & ~15ull;
    pthread_mutex_lock(&h->lock);
    if ((h->base || first_use(h, l)) && (result = take(h, want, bad)))
        result += h->base;
    pthread_mutex_unlock(&h->lock);
    return result;
}

/* False: not a pointer that malloc gave. */
static bool
heap_free(struct cwh_heap *h, uint64_t p)
{
    if (!p)
        return true;
    if (!h)
        return false;
    pthread_mutex_lock(&h->lock);
    bool ok = false, used;
    uint64_t offset = p - h->base - sizeof(struct header), size;
    if (h->base && p >= h->base + sizeof(struct header) && offset < h->size && offset % 16 == 0 && get_header(h, offset, &size, &used) && used) {
        set_header(h, offset, size);
        if (h->rover > offset)
            h->rover = offset;
        ok = true;
    }
    pthread_mutex_unlock(&h->lock);
    return ok;
}

void
cwh_rt_malloc(struct cwh_gang *gang, uint64_t mask, const uint64_t *sizes, uint64_t *results)
{
    struct cwh_fiber *f = cwh_enter(gang);
    bool bad = false;
    for (uint64_t m = mask; m && !bad; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        results[lane] = heap_malloc(f->worker->launch->heap, f->worker->launch, sizes[lane], &bad);
    }
    if (bad)
        cwh_abort(f, CWB_ILLEGAL_ADDRESS, "the heap of device-side malloc was overwritten");
}

void
cwh_rt_free(struct cwh_gang *gang, uint64_t mask, const uint64_t *pointers)
{
    struct cwh_fiber *f = cwh_enter(gang);
    for (uint64_t m = mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        if (!heap_free(f->worker->launch->heap, pointers[lane]))
            cwh_abort(f, CWB_ILLEGAL_ADDRESS, "free(0x%llx): not a pointer that malloc returned, or freed twice",
                      (unsigned long long)pointers[lane]);
    }
}
