/* SPDX-License-Identifier: Apache-2.0
 * Arguments for calls of any function (tests/driver/any_call.h, tests/runtime/any_call.h): what is no object of the library's. Who includes it says how many
 * bytes DATA has, which copies of any shape that it asks for stay within. */
#ifndef TESTS_ANY_H
#define TESTS_ANY_H

#include "tests/dice.h"

#include <stdlib.h>
#include <string.h>

enum { OUT = 1 << 16, OUTS = 16 };

/* What is given in place of memory now and then. */
#ifndef ABSENT
#define ABSENT NULL
#endif

/* What a thread's calls read and write; never freed, since queued copies may come late. */
struct buffers {
    char data[DATA] __attribute__((aligned(4096)));     /* what copies read and write */
    char zero[OUT] __attribute__((aligned(64)));        /* structures that nothing is known of */
    char out[OUTS][OUT] __attribute__((aligned(64)));   /* results; for each parameter one */
    void *pointers[64];                                 /* to data */
    struct buffers *next;                               /* for who looks for leaks */
};

static struct buffers *
buffers(void)
{
    static struct buffers *_Atomic all;
    static _Thread_local struct buffers *b;
    if (!b) {
        b = aligned_alloc(4096, (sizeof *b + 4095) & ~(size_t)4095);
        if (!b)
            exit(2);
        memset(b, 0, sizeof *b);
        b->next = atomic_load(&all);
        while (!atomic_compare_exchange_weak(&all, &b->next, b)) { }
    }
    return b;
}

static void *
data(struct dice *s)
{
    return rnd(s) % 16 ? buffers()->data : ABSENT;
}

static void *
nothing(struct dice *s)
{
    return rnd(s) % 2 ? buffers()->zero : ABSENT;
}

static void *
out(struct dice *s, unsigned n)
{
    return rnd(s) % 32 ? buffers()->out[n % OUTS] : ABSENT;
}

/* Made anew for each call: some calls write there what they used. */
static void **
pointers(struct dice *s)
{
    struct buffers *b = buffers();
    for (unsigned i = 0; i < 64; i++)
        b->pointers[i] = b->data + 64 * i;
    return rnd(s) % 16 ? b->pointers : ABSENT;
}

/* Up to `most`; 0: any. */
static uint64_t
number(struct dice *s, uint64_t most)
{
    static const uint64_t some[] = { 0, 1, 2, 3, 4, 8, 16, 32, 64, 256, 4096, 65536, 2 << 20, 1ull << 32, ~0ull, ~0ull >> 1 };
    uint64_t v = some[rnd(s) % (sizeof some / sizeof *some)];
    return !most ? v : v <= most ? v : v % (most + 1);
}

static int
choice(struct dice *s)
{
    unsigned v = rnd(s);
    return v % 32 ? (int)(v / 32 % 12) : v % 64 ? -1 : (int)(v & 0xffff);
}

static int
device(struct dice *s)
{
    return rnd(s) % 16 ? 0 : choice(s);
}

static const char *
string(struct dice *s)
{
    static const char *const some[] = { "k", "w", "v", "t", "u", "", "/dev/null", "cuInit", "not there", "%s%n" };
    return rnd(s) % 16 ? some[rnd(s) % (sizeof some / sizeof *some)] : NULL;
}

#endif
