/* SPDX-License-Identifier: Apache-2.0
 * Any function of the driver with any arguments of the right kinds: any_call.py writes the calls from the API's model. A call does not crash, whatever
 * it is given in handles, addresses and values; buffers are as large as the call is told. fuzz_any.c and test_any.c choose the calls. */
#ifndef DRIVER_ANY_CALL_H
#define DRIVER_ANY_CALL_H

#include "tests/driver/at_random.h"

enum { DATA = 1 << 20 };

#include "tests/any.h"

static CUdeviceptr
address(struct dice *s)
{
    void *p = rnd(s) % 4 ? PICK(memory) : PICK(ranges);
    return (uintptr_t)p + (rnd(s) % 4 ? 0 : number(s, 4096));
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
