/* SPDX-License-Identifier: Apache-2.0
 * malloc for a compiler that runs once and ends: the release form of cudaway-cc (docs/performance.md). LLVM allocates and frees millions of
 * small blocks; what it frees it soon wants again, and nothing but the pages of large blocks has to go back to the system before the end.
 *
 * One region of address space, reserved at the first call, is cut into units of 16 KiB, handed out from the bottom and never taken back.
 * Blocks have one of about a hundred sizes, four to a doubling. Each thread cuts the blocks of a size off a run of units that it has for
 * that size, and keeps those that it frees in a list for each size, whoever allocated them: no locks, no headers. A byte for each unit
 * says which size its blocks have. Invariant: what has not been handed out is zero.
 *
 * A block whose size is a power of two is aligned to its size, up to a unit. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT_BITS = 14, CLASSES = 120 };
#define UNIT      ((size_t)1 << UNIT_BITS)
#define REGION    ((size_t)1 << 36)
#define HUGE_PAGE ((size_t)1 << 21)
#define RELEASED  ((size_t)1 << 18)     /* blocks from this size on keep one page while they are free */
#define PAGE      ((size_t)1 << 12)
#define LARGEST   ((size_t)1 << 34)

struct thread_heap {
    void *free[CLASSES];        /* each points to the next */
    char *at[CLASSES], *end[CLASSES];
};

static _Thread_local struct thread_heap heap;
static char *base;
static size_t units;                    /* in the region */
static atomic_size_t next_unit;
static uint8_t class_of_unit[REGION / UNIT];
static atomic_int state;                /* 0, 1 being made, 2 made */

/* 1 to 128 bytes in steps of 16, then four sizes to a doubling. */
static inline unsigned
class_of(size_t size)
{
    if (size <= 128)
        return size ? (unsigned)(size - 1) >> 4 : 0;
    unsigned log = 63u - (unsigned)__builtin_clzl(size - 1);
    return 8 + (log - 7) * 4 + (unsigned)((size - 1) >> (log - 2) & 3);
}

static inline size_t
size_of(unsigned class)
{
    return class < 8 ? (class + 1) * 16 : (size_t)(5 + (class & 3)) << (5 + (class - 8) / 4);
}

static void
make_region(void)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&state, &none, 1)) {
        while (atomic_load(&state) != 2)
            ;
        return;
    }
    /* Less where the address space is limited. */
    for (size_t size = REGION; size >= HUGE_PAGE; size /= 2) {
        char *p = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            continue;
        base = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
        units = size / UNIT;
        (void)madvise(base, size, MADV_HUGEPAGE);       /* a fault for 2 MiB in place of 4 KiB, where the system has them */
        break;
    }
    atomic_store(&state, 2);
}

/* A new run of units for a class, and its first block; `alignment` is at most HUGE_PAGE. */
static __attribute__((noinline)) void *
more(unsigned class, size_t alignment)
{
    if (atomic_load(&state) != 2)
        make_region();
    /* At least four blocks of the smaller sizes, one of the others. */
    size_t size = size_of(class), n = size <= UNIT / 4 ? 1 : (size + UNIT - 1) / UNIT;
    size_t mask = alignment <= UNIT ? 0 : alignment / UNIT - 1, first, next = atomic_load(&next_unit);
    do {
        first = (next + mask) & ~mask;
        if (first + n > units) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&next_unit, &next, first + n));
    memset(class_of_unit + first, (int)class, n);
    char *run = base + first * UNIT;
    heap.at[class] = run + size;
    heap.end[class] = run + n * UNIT;
    return run;
}

static inline void *
take(unsigned class, int *is_zero)
{
    char **p = heap.free[class];
    if (p) {
        heap.free[class] = *p;
        return p;
    }
    if (is_zero)
        *is_zero = 1;
    char *block = heap.at[class];
    size_t size = size_of(class);
    if ((size_t)(heap.end[class] - block) < size)
        return more(class, UNIT);
    heap.at[class] = block + size;
    return block;
}

static inline int
is_ours(const void *p)
{
    return (size_t)((const char *)p - base) < units * UNIT;
}

static inline unsigned
class_at(const void *p)
{
    return class_of_unit[(size_t)((const char *)p - base) >> UNIT_BITS];
}

void *
malloc(size_t size)
{
    if (size > LARGEST) {
        errno = ENOMEM;
        return NULL;
    }
    return take(class_of(size), NULL);
}

void
free(void *p)
{
    if (!p || !is_ours(p))      /* the loader's own */
        return;
    unsigned class = class_at(p);
    if (size_of(class) >= RELEASED)     /* tables that grew: each size of them is wanted once, and a tenth of all memory */
        (void)madvise((char *)p + PAGE, size_of(class) - PAGE, MADV_DONTNEED);
    *(void **)p = heap.free[class];
    heap.free[class] = p;
}

void *
calloc(size_t n, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(n, size, &all) || all > LARGEST) {
        errno = ENOMEM;
        return NULL;
    }
    int is_zero = 0;
    void *p = take(class_of(all), &is_zero);
    return p && !is_zero ? memset(p, 0, all) : p;
}

void *
realloc(void *old, size_t size)
{
    if (!old)
        return malloc(size);
    size_t had = size_of(class_at(old));
    if (size <= had && size >= had / 2)
        return old;
    void *p = malloc(size);
    if (p) {
        memcpy(p, old, size < had ? size : had);
        free(old);
    }
    return p;
}

void *
memalign(size_t alignment, size_t size)
{
    if (alignment <= 16)
        return malloc(size);
    if (alignment > HUGE_PAGE || size > LARGEST) {
        errno = ENOMEM;
        return NULL;
    }
    if (alignment > UNIT)       /* always a new one */
        return more(class_of(size > UNIT ? size : UNIT), alignment);
    size_t power = alignment;
    while (power < size)
        power *= 2;
    return malloc(power);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int
posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = memalign(alignment, size);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

size_t
malloc_usable_size(void *p)
{
    return p ? size_of(class_at(p)) : 0;
}

/* What asks glibc's malloc for its state, or sets it: there is nothing to set and nothing to tell. */
int
mallopt(int what, int value)
{
    return 1;
}

struct mallinfo2
mallinfo2(void)
{
    return (struct mallinfo2){ 0 };
}
