/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "heap": malloc and free of kernels (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation"). Blocks have
 * sizes 2^k; those that were freed wait in a list of their size, a stack of offsets whose head counts changes; new ones are taken
 * from the end of what was ever used. Nobody waits for anybody, so lanes of a wave may do as they please. */
#include "jit/devlib/heap.h"

#define GLOBAL __MEMORY_SCOPE_DEVICE

enum { MAGIC = 0x68656170 };

/* In front of each block's 2^k - 16 bytes. `next`: of a free block, the unit of the next one. */
struct block {
    uint32_t magic, k, next, used;
};

static struct block *
at_unit(struct cwd_heap *h, uint32_t unit)
{
    return (struct block *)((char *)h + (uint64_t)unit * 16);
}

static struct block *
take_free(struct cwd_heap *h, uint32_t k)
{
    uint64_t head = __scoped_atomic_load_n(&h->free[k], __ATOMIC_ACQUIRE, GLOBAL), next;
    do {
        if (!(uint32_t)head)
            return 0;
        next = __scoped_atomic_load_n(&at_unit(h, (uint32_t)head)->next, __ATOMIC_RELAXED, GLOBAL) | ((head >> 32) + 1) << 32;
    } while (!__scoped_atomic_compare_exchange_n(&h->free[k], &head, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, GLOBAL));
    return at_unit(h, (uint32_t)head);
}

static struct block *
take_new(struct cwd_heap *h, uint32_t k)
{
    uint64_t size = 1ull << k, top = __scoped_atomic_load_n(&h->top, __ATOMIC_RELAXED, GLOBAL);
    do
        if (top > h->size || size > h->size - top)
            return 0;
    while (!__scoped_atomic_compare_exchange_n(&h->top, &top, top + size, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, GLOBAL));
    return (struct block *)((char *)h + top);
}

/* NULL when there is no room. */
void *
cwd_heap_malloc(struct cwd_heap *h, uint64_t size)
{
    if (!size || size > h->size)
        return 0;
    uint32_t k = 64 - (uint32_t)__builtin_clzll(size + sizeof(struct block) - 1);
    if (k < 5)
        k = 5;
    struct block *b = take_free(h, k);
    if (!b)
        b = take_new(h, k);
    if (!b)
        return 0;
    b->magic = MAGIC;
    b->k = k;
    b->used = 1;
    return b + 1;
}

void
cwd_heap_free(struct cwd_heap *h, void *p)
{
    struct block *b = (struct block *)p - 1;
    uint64_t from = (uint64_t)((char *)b - (char *)h);
    if (!p)
        return;
    /* What malloc did not give, or free has had already, ends the kernel. */
    if (from < sizeof *h || from >= h->size || from & 15 || b->magic != MAGIC || !b->used)
        __builtin_trap();
    b->used = 0;
    uint64_t head = __scoped_atomic_load_n(&h->free[b->k], __ATOMIC_RELAXED, GLOBAL), next;
    do {
        __scoped_atomic_store_n(&b->next, (uint32_t)head, __ATOMIC_RELAXED, GLOBAL);
        next = from / 16 | ((head >> 32) + 1) << 32;
    } while (!__scoped_atomic_compare_exchange_n(&h->free[b->k], &head, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, GLOBAL));
}
