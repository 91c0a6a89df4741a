/* SPDX-License-Identifier: Apache-2.0
 * Memory that is short for a while: one allocation in 64 of the libraries' fails, in every thread; none of the program's own. Included first, with _GNU_SOURCE. */
#ifndef TESTS_SCARCE_H
#define TESTS_SCARCE_H

#include "tests/no_memory.h"

#include <stdatomic.h>

static atomic_bool scarce;

static bool
fails(const void *caller)
{
    static _Thread_local uint64_t state;
    Dl_info from, here;
    if (!atomic_load_explicit(&scarce, memory_order_relaxed) || is_exempt(caller))
        return false;
    if (dladdr(caller, &from) && dladdr(&scarce, &here) && from.dli_fbase == here.dli_fbase)
        return false;
    if (!state)
        state = (uintptr_t)&state * 0x9e3779b97f4a7c15ull | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    if ((state >> 16) % 64)
        return false;
    errno = ENOMEM;
    return true;
}

#endif
