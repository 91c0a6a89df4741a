/* SPDX-License-Identifier: Apache-2.0
 * malloc for a compiler that runs once and ends: the release form of cudaway-cc (docs/performance.md). LLVM allocates and frees millions of
 * small blocks; what it frees it soon wants again, often for another purpose, and nothing has to go back to the system before the end.
 *
 * One region of address space, reserved at the first call, is cut into units of 16 KiB. Spans of units are handed out under a lock, the lowest
 * that is long enough; free ones that touch become one. A block of 14 KiB or more is a span. Smaller ones have one of 35 sizes, four to a
 * doubling. Each thread cuts the blocks of a size off a run, a span that it has for that size, and keeps those that it frees in a list for
 * each size, whoever allocated them: no locks, no headers. malloc_trim gives the runs back all of whose blocks are in the caller's list; the
 * compiler calls it where it has freed most of what it had. Invariant: what was never handed out is zero.
 *
 * A block whose size is a power of two is aligned to its size, up to a unit. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT_BITS = 14, CLASSES = 35, SPAN = 254, FREE = 255 };
#define UNIT      ((size_t)1 << UNIT_BITS)
#define REGION    ((size_t)1 << 36)
#define HUGE_PAGE ((size_t)1 << 21)
#define LARGEST   ((size_t)1 << 34)
#define SMALL     (UNIT / 8 * 7)        /* the largest class */
#define NONE      SIZE_MAX
#define GOING     UINT16_MAX

struct thread_heap {
    void *free[CLASSES];        /* each points to the next */
    char *at[CLASSES], *end[CLASSES];
};

static _Thread_local struct thread_heap heap;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* of all below; a unit's kind and length are read without it by who has it */
static char *base;
static size_t units;                            /* in the region */
static size_t used;                             /* units that were ever handed out are below */
static uint8_t kind[REGION / UNIT];             /* the class of the run that a unit belongs to, SPAN or FREE */
static uint32_t length[REGION / UNIT];          /* of a span: at its first unit, and at the last while it is free. 0: in a run, not its first */
static uint64_t starts[REGION / UNIT / 64];     /* bit set: a free span starts there */
static uint16_t counted[REGION / UNIT];         /* for malloc_trim */

/* 1 to 128 bytes in steps of 16, then four sizes to a doubling, up to SMALL. */
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
}

static void
set_free(size_t first, size_t n)
{
    kind[first] = kind[first + n - 1] = FREE;
    length[first] = length[first + n - 1] = (uint32_t)n;
    starts[first / 64] |= (uint64_t)1 << first % 64;
}

static void
unset_free(size_t first)
{
    starts[first / 64] &= ~((uint64_t)1 << first % 64);
}

static void
give_units(size_t first, size_t n)
{
    if (first && kind[first - 1] == FREE) {
        size_t before = length[first - 1];
        unset_free(first - before);
        first -= before;
        n += before;
    }
    if (first + n < used && kind[first + n] == FREE) {
        size_t after = length[first + n];
        unset_free(first + n);
        n += after;
    }
    set_free(first, n);
}

/* The first of n units, a multiple of mask + 1 from the base; NONE where there is no room. */
static size_t
take_units(size_t n, size_t mask, uint8_t what, int *is_zero)
{
    size_t first, at, all;
    for (size_t word = 0; word * 64 < used; word++)
        for (uint64_t bits = starts[word]; bits; bits &= bits - 1) {
            at = word * 64 + (size_t)__builtin_ctzl(bits);
            all = length[at];
            first = (at + mask) & ~mask;
            if (first + n <= at + all) {
                unset_free(at);
                *is_zero = 0;
                goto found;
            }
        }
    at = used;
    first = (at + mask) & ~mask;
    if (first + n > units)
        return NONE;
    all = first + n - at;
    used = first + n;
    *is_zero = 1;
found:
    if (first > at)
        set_free(at, first - at);
    if (at + all > first + n)
        set_free(first + n, at + all - first - n);
    memset(kind + first, what, n);
    memset(length + first, 0, n * sizeof *length);
    length[first] = (uint32_t)n;
    return first;
}

static __attribute__((noinline)) char *
span(size_t n, size_t alignment, uint8_t what, int *is_zero)
{
    pthread_mutex_lock(&lock);
    if (!base)
        make_region();
    size_t first = take_units(n, alignment <= UNIT ? 0 : alignment / UNIT - 1, what, is_zero);
    pthread_mutex_unlock(&lock);
    if (first != NONE)
        return base + first * UNIT;
    errno = ENOMEM;
    return NULL;
}

static void *
large(size_t size, size_t alignment, int *is_zero)
{
    return span((size + UNIT - 1) / UNIT, alignment, SPAN, is_zero);
}

/* Units of a run: so many that an eighth at most is left over. */
static size_t
run_length(size_t size)
{
    size_t n = 1;
    while (n * UNIT % size > n * UNIT / 8)
        n++;
    return n;
}

/* A new run for a class, and its first block. */
static __attribute__((noinline)) void *
more(unsigned class)
{
    size_t size = size_of(class), n = run_length(size);
    int is_zero;
    char *run = span(n, UNIT, (uint8_t)class, &is_zero);
    if (!run)
        return NULL;
    heap.at[class] = run + size;
    heap.end[class] = run + n * UNIT;
    return run;
}

static inline void *
take(unsigned class)
{
    char **p = heap.free[class];
    if (p) {
        heap.free[class] = *p;
        return p;
    }
    char *block = heap.at[class];
    size_t size = size_of(class);
    if ((size_t)(heap.end[class] - block) < size)
        return more(class);
    heap.at[class] = block + size;
    return block;
}

static inline int
is_ours(const void *p)
{
    return (size_t)((const char *)p - base) < units * UNIT;
}

static inline size_t
unit_at(const void *p)
{
    return (size_t)((const char *)p - base) >> UNIT_BITS;
}

static inline size_t
size_at(const void *p)
{
    size_t u = unit_at(p);
    return kind[u] == SPAN ? length[u] * UNIT : size_of(kind[u]);
}

void *
malloc(size_t size)
{
    int is_zero;
    if (size <= SMALL)
        return take(class_of(size));
    if (size <= LARGEST)
        return large(size, UNIT, &is_zero);
    errno = ENOMEM;
    return NULL;
}

static __attribute__((noinline)) void
free_span(size_t first)
{
    pthread_mutex_lock(&lock);
    give_units(first, length[first]);
    pthread_mutex_unlock(&lock);
}

void
free(void *p)
{
    if (!p || !is_ours(p))      /* the loader's own */
        return;
    unsigned class = kind[unit_at(p)];
    if (class == SPAN) {
        free_span(unit_at(p));
        return;
    }
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
    void *p = all <= SMALL ? take(class_of(all)) : large(all, UNIT, &is_zero);
    return p && !is_zero ? memset(p, 0, all) : p;
}

void *
realloc(void *old, size_t size)
{
    if (!old)
        return malloc(size);
    size_t had = size_at(old);
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
    int is_zero;
    if (alignment <= 16)
        return malloc(size);
    if (alignment > HUGE_PAGE || size > LARGEST) {
        errno = ENOMEM;
        return NULL;
    }
    if (alignment > UNIT || size > UNIT)
        return large(size, alignment, &is_zero);
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
    return p ? size_at(p) : 0;
}

/* The first unit of the run with a block. */
static size_t
run_at(const void *block)
{
    size_t u = unit_at(block);
    while (!length[u])
        u--;
    return u;
}

static int
trim_class(unsigned class)
{
    size_t size = size_of(class), n = run_length(size), all = n * UNIT / size, last = NONE, cut = 0;
    char *going = NULL, **kept = (char **)&heap.free[class];
    int any = 0;
    if (!*kept)
        return 0;
    if (heap.at[class]) {
        char *run = heap.end[class] - n * UNIT;
        last = unit_at(run);
        cut = (size_t)(heap.at[class] - run) / size;
    }
    /* Blocks lie scattered: most classes have no run to give, and are gone through once. */
    for (char *p = *kept; p; p = *(char **)p) {
        size_t run = run_at(p);
        if (++counted[run] == (run == last ? cut : all))
            any = 1;
    }
    for (char *p = *kept, *next; any && p; p = next) {
        size_t run = run_at(p);
        next = *(char **)p;
        if (counted[run] == (run == last ? cut : all)) {
            counted[run] = GOING;
            *(char **)p = going;
            going = p;
        } else if (counted[run] != GOING) {
            *kept = p;
            kept = (char **)p;
        }
    }
    if (any)
        *kept = NULL;
    memset(counted, 0, used * sizeof *counted);
    for (char *p = going, *next; p; p = next) {
        size_t run = run_at(p);
        next = *(char **)p;
        give_units(run, n);
        if (run == last)
            heap.at[class] = heap.end[class] = NULL;
    }
    return going != NULL;
}

/* Gives the runs back that the calling thread has all blocks of. */
int
malloc_trim(size_t pad)
{
    int any = 0;
    pthread_mutex_lock(&lock);
    for (unsigned class = 0; class < CLASSES; class++)
        any |= trim_class(class);
    pthread_mutex_unlock(&lock);
    return any;
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
