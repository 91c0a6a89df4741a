/* SPDX-License-Identifier: Apache-2.0
 * The heap of kernels (jit/builtins/heap.c), compiled for this CPU, with threads as its lanes: blocks do not overlap and keep what is written,
 * all of the heap is there again, in one piece, when all blocks are free, and as long as there is room nobody is refused.
 *   devlib_heap [ROUNDS [SEED]] */
#define __scoped_atomic_load_n(p, order, scope) __atomic_load_n(p, order)
#define __scoped_atomic_store_n(p, v, order, scope) __atomic_store_n(p, v, order)
#define __scoped_atomic_exchange_n(p, v, order, scope) __atomic_exchange_n(p, v, order)
#define __scoped_atomic_fetch_add(p, v, order, scope) __atomic_fetch_add(p, v, order)
#define __scoped_atomic_compare_exchange_n(p, want, v, weak, yes, no, scope) __atomic_compare_exchange_n(p, want, v, weak, yes, no)
#define __MEMORY_SCOPE_DEVICE 0
#include "jit/builtins/heap.c"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 18, THREADS = 4, HELD = 40 };      /* blocks that a thread has at a time */

static struct cwd_heap *h;
static unsigned rounds = 4000, most;
static atomic_uint refused, bad;

static unsigned
next(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (unsigned)((unsigned long long)(*seed >> 4) * below >> 28);
}

static void *
worker(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg, sizes[HELD] = { 0 };
    unsigned char *held[HELD] = { 0 };
    for (unsigned r = 0; r < rounds; r++) {
        unsigned i = next(&seed, HELD), tag = (unsigned)(uintptr_t)arg * 16 + i;
        if (held[i]) {
            for (unsigned k = 0; k < sizes[i]; k++)
                if (held[i][k] != (unsigned char)(tag + k))
                    bad++;
            cwd_heap_free(h, held[i]);
            held[i] = 0;
            continue;
        }
        sizes[i] = 1 + (next(&seed, 3) ? next(&seed, most / 50 + 1) : next(&seed, most));
        held[i] = cwd_heap_malloc(h, sizes[i]);
        if (!held[i])
            refused++;
        else if ((uintptr_t)held[i] & 15 || held[i] < (unsigned char *)h || held[i] + sizes[i] > (unsigned char *)h + BYTES)
            bad++;
        for (unsigned k = 0; held[i] && k < sizes[i]; k++)
            held[i][k] = (unsigned char)(tag + k);
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i])
            cwd_heap_free(h, held[i]);
    return NULL;
}

/* With nothing allocated: nearly all of the heap in one block, twice. */
static int
whole(void)
{
    for (int i = 0; i < 2; i++) {
        void *p = cwd_heap_malloc(h, (BYTES - sizeof *h) / 5 * 4);
        if (!p)
            return 0;
        cwd_heap_free(h, p);
    }
    return 1;
}

int
main(int argc, char **argv)
{
    static const unsigned sizes[] = { 64, 1000, 20000, 120000 };
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    int failed = 0;
    if (argc > 1)
        rounds = (unsigned)atoi(argv[1]);
    for (unsigned c = 4; c < CWD_HEAP_CLASSES; c++)
        if (c != 5 && c != 7 && class_of(class_size(c)) != c)
            failed |= fprintf(stderr, "class %u has size %u, which is in class %u\n", c, class_size(c), class_of(class_size(c)));
    for (unsigned n = 2; n < 5000; n++)                 /* classes 5 and 7 have no sizes of their own */
        if (class_size(class_of(n)) > n || class_size(class_of(n) + 1 + (n < 4)) <= n)
            failed |= fprintf(stderr, "%u units are in class %u\n", n, class_of(n));
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        pthread_t t[THREADS];
        h = aligned_alloc(16, BYTES);
        memset(h, 0, BYTES);
        h->size = BYTES;
        h->top = sizeof *h;
        most = sizes[s];
        refused = bad = 0;
        for (unsigned again = 0; again < 3; again++) {
            for (unsigned i = 0; i < THREADS; i++)
                pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)(seed * 100 + again * 10 + i + 1));
            for (unsigned i = 0; i < THREADS; i++)
                pthread_join(t[i], NULL);
            if (!whole())
                failed |= fprintf(stderr, "blocks of up to %u bytes: the heap is not whole again\n", most);
        }
        /* At most 160 blocks of 1000 bytes at a time have room, with a quarter more for each, as sizes are rounded. */
        if (bad || (refused && most <= 1000))
            failed |= fprintf(stderr, "blocks of up to %u bytes: %u bad, %u refused\n", most, bad, refused);
        if (argc > 1)
            printf("%u: %u refused, %u blocks left by the last joining\n", most, refused, h->left);
        free(h);
    }
    return failed != 0;
}
