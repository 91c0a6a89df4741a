/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "heap": malloc and free of kernels (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation"). The heap is a
 * sequence of blocks, each with a header, up to `top`; memory behind it is unused. Free blocks are in lists by size class, four between
 * powers of two: stacks of offsets whose heads count changes. A request is rounded up to a class, so any block of that class fits; if there
 * is none, a block is cut from the unused memory. Neither takes a lock. If both fail, a lock is taken: under it larger blocks are split
 * and, if that is not enough and enough was freed since the last time, free neighbours are joined. Splitting happens only under the lock,
 * so no other thread finds a list empty while its block is being split. */
#include "jit/builtins/heap.h"

#include <stdbool.h>

/* The heap is in global memory. Through a generic pointer, a 64-bit atomic would also get code for private memory. */
#ifdef __AMDGCN__
#define IN_GLOBAL(p) ((__attribute__((address_space(1))) __typeof__(*(p)) *)(p))
#else
#define IN_GLOBAL(p) (p)
#endif
#define GLOBAL __MEMORY_SCOPE_DEVICE
#define LOAD(p, order) __scoped_atomic_load_n(IN_GLOBAL(p), __ATOMIC_##order, GLOBAL)
#define STORE(p, v, order) __scoped_atomic_store_n(IN_GLOBAL(p), v, __ATOMIC_##order, GLOBAL)

enum { MAGIC = 0x68656170 };
enum use { FREE, USED, TAKEN };         /* TAKEN: removed from its list, to be joined */
enum { BATCH = 32, SMALL = 64 };        /* BATCH: small blocks cut at once from a larger one, one per lane of a warp */
enum { RARELY = 64 };                   /* join only if a unit was freed for each so many blocks, or as much as requested */

/* Sizes and offsets are in units of 16 bytes. A block has at least two units, so a free one has space behind its header. */
struct block {
    uint32_t magic, size, next, use;    /* next: in its list */
    uint32_t taken;                     /* next TAKEN block, if this one is */
};

static struct block *
at_unit(struct cwd_heap *h, uint32_t unit)
{
    return (struct block *)((char *)h + (uint64_t)unit * 16);
}

static uint32_t
unit_of(struct cwd_heap *h, const struct block *b)
{
    return (uint32_t)((uint64_t)((const char *)b - (const char *)h) / 16);
}

/* ---- classes ---- */

/* The largest class that contains a block of n units, n >= 2. */
static uint32_t
class_of(uint32_t n)
{
    uint32_t k = 31 - (uint32_t)__builtin_clz(n);
    return 4 * k + ((k > 1 ? n >> (k - 2) : n << 1) & 3);
}

static uint32_t
class_size(uint32_t c)
{
    uint32_t k = c / 4, sub = 4 + c % 4;
    return k > 1 ? sub << (k - 2) : sub >> 1;
}

/* ---- lists ---- */

static void
push(struct cwd_heap *h, struct block *b)
{
    uint64_t *list = &h->free[class_of(b->size)], head = LOAD(list, RELAXED), next;
    STORE(&b->use, FREE, RELAXED);
    do {
        STORE(&b->next, (uint32_t)head, RELAXED);
        next = unit_of(h, b) | ((head >> 32) + 1) << 32;
    } while (!__scoped_atomic_compare_exchange_n(IN_GLOBAL(list), &head, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, GLOBAL));
}

/* The block may have left its list and be in use; the value read is then discarded. */
static __attribute__((no_sanitize("thread"))) uint32_t
next_of(const struct block *b)
{
    return LOAD(&b->next, RELAXED);
}

static struct block *
pop(struct cwd_heap *h, uint32_t c)
{
    uint64_t head = LOAD(&h->free[c], ACQUIRE), next;
    do {
        if (!(uint32_t)head)
            return 0;
        next = next_of(at_unit(h, (uint32_t)head)) | ((head >> 32) + 1) << 32;
    } while (!__scoped_atomic_compare_exchange_n(IN_GLOBAL(&h->free[c]), &head, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, GLOBAL));
    return at_unit(h, (uint32_t)head);
}

/* Write a new header. A walk over the blocks passes it once it has its magic number. */
static struct block *
make(struct block *b, uint32_t size, enum use use)
{
    STORE(&b->size, size, RELAXED);
    STORE(&b->use, use, RELAXED);
    STORE(&b->magic, MAGIC, RELEASE);
    return b;
}

static struct block *
take_new(struct cwd_heap *h, uint32_t n)
{
    uint64_t size = (uint64_t)n * 16, top = LOAD(&h->top, RELAXED);
    do
        if (top > h->size || size > h->size - top)
            return 0;
    while (!__scoped_atomic_compare_exchange_n(IN_GLOBAL(&h->top), &top, top + size, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, GLOBAL));
    return make((struct block *)((char *)h + top), n, USED);
}

/* ---- under the lock ---- */

/* Get a block of class c from one of class c or above; a much larger one is cut into several. */
static struct block *
carve(struct cwd_heap *h, uint32_t c)
{
    struct block *b = 0;
    uint32_t need = class_size(c);
    for (uint32_t from = c; from < CWD_HEAP_CLASSES && !b; from++)
        b = pop(h, from);
    if (!b || b->size - need < 2 || b->size - need < need / 4)     /* the remainder would be too small */
        return b;
    /* All parts get their headers before the first one shrinks, and it shrinks before they enter lists: a walk over the blocks then visits
     * every block that can be taken from a list. */
    uint32_t rest = b->size - need, first = unit_of(h, b) + need, at = first;
    for (uint32_t i = 1; i < BATCH && need <= SMALL && rest >= 2 * need; i++, at += need, rest -= need)
        make(at_unit(h, at), need, FREE);
    make(at_unit(h, at), rest, FREE);
    STORE(&b->size, need, RELEASE);
    for (uint32_t p = first, size; p <= at; p += size) {
        struct block *part = at_unit(h, p);
        size = part->size;
        push(h, part);
    }
    __scoped_atomic_fetch_add(IN_GLOBAL(&h->freed), at - first, __ATOMIC_RELAXED, GLOBAL);     /* could be joined again */
    return b;
}

/* Take all blocks from the lists; returns them linked by `taken`. */
static uint32_t
take_all(struct cwd_heap *h)
{
    uint32_t taken = 0;
    for (uint32_t c = 0; c < CWD_HEAP_CLASSES; c++) {
        uint64_t head = LOAD(&h->free[c], ACQUIRE);
        while ((uint32_t)head && !__scoped_atomic_compare_exchange_n(IN_GLOBAL(&h->free[c]), &head, ((head >> 32) + 1) << 32, 0, __ATOMIC_ACQ_REL,
                                                                     __ATOMIC_ACQUIRE, GLOBAL))
            ;
        for (uint32_t u = (uint32_t)head; u;) {
            struct block *b = at_unit(h, u);
            uint32_t next = b->next;
            STORE(&b->use, TAKEN, RELAXED);
            b->taken = taken;
            taken = u;
            u = next;
        }
    }
    return taken;
}

/* Join free neighbours, and the last one with the unused memory behind it. */
static void
join(struct cwd_heap *h)
{
    uint32_t joined = 0, at = sizeof *h / 16, left = 0;
    STORE(&h->freed_seen, LOAD(&h->freed, ACQUIRE), RELAXED);
    uint32_t taken = take_all(h);
    struct block *run = 0;
    uint64_t top = LOAD(&h->top, RELAXED);
    for (;;) {
        struct block *b = at_unit(h, at);
        bool known = (uint64_t)at * 16 < top && LOAD(&b->magic, ACQUIRE) == MAGIC;     /* otherwise it is being created */
        uint32_t size = known ? LOAD(&b->size, ACQUIRE) : 0;
        if (known && LOAD(&b->use, RELAXED) == TAKEN) {
            if (!run) {
                left++;
                run = b;
                run->next = joined;     /* not in a list yet: keep `taken` */
                joined = at;
            } else {
                run->size += size;
            }
        } else if (!known || size < 2 || size > h->size / 16) {
            break;
        } else {
            left++;
            run = 0;
        }
        at += size;
    }
    uint64_t end = h->size & ~15ull;
    if (run && (uint64_t)at * 16 == top && end > top &&
        __scoped_atomic_compare_exchange_n(IN_GLOBAL(&h->top), &top, end, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, GLOBAL))
        run->size += (uint32_t)((end - top) / 16);
    /* Blocks behind the end of the walk. */
    for (uint32_t u = taken; u; u = at_unit(h, u)->taken)
        if (u >= at) {
            at_unit(h, u)->next = joined;
            joined = u;
        }
    while (joined) {
        struct block *b = at_unit(h, joined);
        joined = b->next;
        push(h, b);
    }
    STORE(&h->left, left, RELAXED);
}

static inline __attribute__((always_inline)) struct block *
take_rare(struct cwd_heap *h, uint32_t c)
{
    struct block *b = carve(h, c);
    if (b)
        return b;
    uint32_t fresh = LOAD(&h->freed, RELAXED) - LOAD(&h->freed_seen, RELAXED);
    if (!fresh || (fresh < class_size(c) && fresh < LOAD(&h->left, RELAXED) / RARELY))
        return 0;
    join(h);
    return carve(h, c);
}

/* ---- called by kernels; precompiled for wave32 processors (jit/builtins/precompile) ---- */

/* NULL if the heap is full or absent. */
__attribute__((noinline)) void *
cwd_heap_malloc(struct cwd_heap *h, uint64_t size)
{
    if (!h || !size || size > h->size)
        return 0;
    uint32_t n = (uint32_t)((size + 31) / 16), c = class_of(n);
    c += class_size(c) < n;
    if (c >= CWD_HEAP_CLASSES)
        return 0;
    struct block *b = pop(h, c);
    if (!b)
        b = take_new(h, class_size(c));
    /* As in wide.c: the critical section must stay in the loop, in which lanes of a wave take turns. */
    for (uint32_t done = b != 0; !done;) {
        if (!__scoped_atomic_exchange_n(IN_GLOBAL(&h->lock), 1, __ATOMIC_ACQUIRE, GLOBAL)) {
            b = take_rare(h, c);
            STORE(&h->lock, 0, RELEASE);
            done = 1;
        }
        __asm__ volatile("" : "+v"(done));
    }
    if (!b)
        return 0;
    STORE(&b->use, USED, RELAXED);
    return (char *)b + 16;
}

/* False: not a live block of malloc, which ends the kernel. */
__attribute__((noinline)) uint32_t
cwd_heap_free(struct cwd_heap *h, void *p)
{
    struct block *b = (struct block *)((char *)p - 16);
    uint64_t from = (uint64_t)((char *)b - (char *)h);
    if (!p)
        return true;
    if (!h || from < sizeof *h || from >= h->size || from & 15 || b->magic != MAGIC || LOAD(&b->use, RELAXED) != USED)
        return false;
    uint32_t size = b->size;
    push(h, b);
    __scoped_atomic_fetch_add(IN_GLOBAL(&h->freed), size, __ATOMIC_RELEASE, GLOBAL);
    return true;
}
