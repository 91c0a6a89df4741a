/* SPDX-License-Identifier: Apache-2.0
 * Any function of the driver with any arguments of the right kinds: any_call.py writes the calls from the API's model. A call does not crash, whatever
 * it is given in handles, addresses and values; buffers are as large as the call is told. fuzz_any.c and test_any.c choose the calls. */
#ifndef DRIVER_ANY_CALL_H
#define DRIVER_ANY_CALL_H

#include "tests/driver/at_random.h"

enum { DATA = 1 << 20, OUT = 1 << 16, OUTS = 16 };

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
    static const uint64_t some[] = { 0, 1, 2, 3, 4, 8, 16, 32, 64, 256, 4096, 65536, PIECE, 1ull << 32, ~0ull, ~0ull >> 1 };
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

static CUdeviceptr
address(struct dice *s)
{
    void *p = rnd(s) % 4 ? PICK(memory) : PICK(ranges);
    return (uintptr_t)p + (rnd(s) % 4 ? 0 : number(s, 4096));
}

static const char *
string(struct dice *s)
{
    static const char *const some[] = { "k", "w", "v", "t", "u", "", "/dev/null", "cuInit", "not there", "%s%n" };
    return rnd(s) % 16 ? some[rnd(s) % (sizeof some / sizeof *some)] : NULL;
}

static const void *
image(struct dice *s)
{
    static const char nonsense[4096] = "\177ELF nonsense";
    return rnd(s) % 4 ? text : rnd(s) % 2 ? nonsense : NULL;
}

/* Of this kind, or, now and then, of another. */
static void *
handle(struct dice *s, _Atomic(void *) table[SHARED])
{
    unsigned v = rnd(s) % 16;
    return v == 0 ? NULL : v == 1 ? PICK(streams) : v == 2 ? (void *)(uintptr_t)number(s, 0) : v == 3 ? atomic_load(&contexts[CONTEXTS - 1]) : PICK(table);
}

static void
keep(struct dice *s, _Atomic(void *) table[SHARED], void *h)
{
    (void)SHARE(table, h);
}

static void
any_result(CUresult e, const char *function)
{
    const char *name;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&lost, e != CUDA_SUCCESS, memory_order_relaxed);
    if (cuGetErrorName(e, &name) != CUDA_SUCCESS) {
        fprintf(stderr, "%s gave %d, which is no result\n", function, (int)e);
        failures++;
    }
}

#include "any_calls.inc"

static void
any_step(struct dice *s)
{
    unsigned n = (rnd(s) | rnd(s) << 8) % (sizeof any_calls / sizeof *any_calls);
    if (memory_goes || !any_calls[n].touches)
        any_calls[n].call(s);
}

static void __attribute__((unused))
forget_any(void)
{
    for (unsigned i = 0; i < sizeof any_tables / sizeof *any_tables; i++)
        END_ALL(any_tables[i], h)
}

#endif
