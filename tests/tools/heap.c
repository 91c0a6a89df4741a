/* SPDX-License-Identifier: Apache-2.0
 * The heap of the release form of cudaway-cc (tools/cc/heap.c), which is this program's: blocks do not overlap, keep what is written, are aligned,
 * zero where that is promised, and what one thread frees another may have; what was freed in one size is had again in another. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SLOTS = 512, STEPS = 60000, THREADS = 4 };

struct slot {
    uint8_t *at;
    size_t size;
    uint8_t mark;
};

static uint64_t
next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Mostly small, up to a megabyte, with the edges of the classes. */
static size_t
some_size(uint64_t *r)
{
    size_t edge = (size_t)1 << next(r) % 17;
    switch (next(r) % 4) {
    case 0:
        return edge;
    case 1:
        return edge + 1;
    case 2:
        return next(r) % (edge + 1);
    default:
        return next(r) % 64 ? next(r) % 300 : next(r) % (1 << 20);
    }
}

static void
fill(struct slot *s, uint8_t mark)
{
    s->mark = mark;
    memset(s->at, mark, s->size);
}

static void
check(const struct slot *s, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert(s->at[i] == s->mark);
}

/* One thread's blocks, left to whoever takes them next. */
static void *
work(void *arg)
{
    struct slot *slots = arg;
    uint64_t r = (uintptr_t)arg | 1;
    for (unsigned i = 0; i < STEPS; i++) {
        struct slot *s = &slots[next(&r) % SLOTS];
        size_t size = some_size(&r);
        if (!s->at) {
            size_t alignment = 16;
            switch (next(&r) % 4) {
            case 0:
                s->at = calloc(1, size);
                for (size_t k = 0; k < size; k++)
                    assert(s->at[k] == 0);
                break;
            case 1:
                alignment = (size_t)8 << next(&r) % 10;
                s->at = aligned_alloc(alignment, size);
                break;
            default:
                s->at = malloc(size);
            }
            assert(s->at && (uintptr_t)s->at % alignment == 0 && malloc_usable_size(s->at) >= size);
            s->size = size;
            fill(s, (uint8_t)next(&r));
        } else if (next(&r) % 3) {
            check(s, s->size);
            free(s->at);
            *s = (struct slot){ 0 };
        } else {
            size_t kept = size < s->size ? size : s->size;
            s->at = realloc(s->at, size);
            assert(s->at);
            check(s, kept);
            s->size = size;
            fill(s, (uint8_t)next(&r));
        }
    }
    return NULL;
}

int
main(void)
{
    static struct slot slots[THREADS][SLOTS];
    static volatile size_t most = SIZE_MAX, half = SIZE_MAX / 2;
    errno = 0;
    assert(!malloc(most) && errno == ENOMEM && !calloc(half, 4) && !realloc(NULL, half));
    void *p;
    assert(posix_memalign(&p, (size_t)1 << 40, 64) == ENOMEM);
    free(NULL);
    for (unsigned log = 3; log <= 21; log++) {
        assert(!posix_memalign(&p, (size_t)1 << log, (size_t)3 << log) && (uintptr_t)p % ((size_t)1 << log) == 0);
        memset(p, (int)log, (size_t)3 << log);
    }
    for (size_t size = 1; size <= (size_t)1 << 33; size *= 2) {
        assert((p = malloc(size)) && malloc_usable_size(p) >= size);
        *(volatile char *)p = ((volatile char *)p)[size - 1] = 1;
        free(p);
    }
    for (unsigned round = 0; round < 3; round++) {
        pthread_t t[THREADS];
        for (unsigned i = 0; i < THREADS; i++)
            assert(!pthread_create(&t[i], NULL, work, slots[(i + round) % THREADS]));
        for (unsigned i = 0; i < THREADS; i++)
            assert(!pthread_join(t[i], NULL));
    }
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned k = 0; k < SLOTS; k++)
            if (slots[i][k].at) {
                check(&slots[i][k], slots[i][k].size);
                free(slots[i][k].at);
            }
    /* What is freed is had again: a thousand times a megabyte is not a gigabyte. */
    for (unsigned i = 0; i < 1000; i++) {
        void *block = malloc(1 << 20);
        assert(block);
        memset(block, (int)i, 1 << 20);
        free(block);
    }
    /* What small blocks had, others have after malloc_trim: 32 MB in each of 16 sizes. */
    enum { BYTES = 32 << 20 };
    static void *block[BYTES / 80];
    for (size_t size = 80; size <= 12000; size += size / 3 + 40) {
        size_t n = BYTES / size;
        for (size_t i = 0; i < n; i++) {
            block[i] = malloc(size);
            assert(block[i]);
            memset(block[i], (int)size, size);
        }
        for (size_t i = 0; i < n; i++)
            free(block[i]);
        assert(malloc_trim(0) == 1);
    }
    struct rusage u;
    assert(!getrusage(RUSAGE_SELF, &u));
    assert(u.ru_maxrss < 250 * 1024);
    printf("ok   %ld kB\n", u.ru_maxrss);
    return 0;
}
