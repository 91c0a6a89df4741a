/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "async": cp.async of variable size, and mbarrier objects (PTX 9.7.9.25, 9.7.13.15). Objects have the host device's
 * layout (jit/abi/host.h). Many waves use one concurrently, so they change by compare-and-swap. */
#include "jit/abi/host.h"

enum { COUNT_MASK = (1 << CWH_MBARRIER_COUNT_BITS) - 1, TX_MASK = (1 << CWH_MBARRIER_TX_BITS) - 1 };

static uint64_t
changed(uint32_t op, uint64_t old, uint32_t n)
{
    uint32_t pending = (0u - (uint32_t)(old >> CWH_MBARRIER_PENDING_SHIFT)) & COUNT_MASK, expected = old & COUNT_MASK;
    uint32_t tx = (uint32_t)(old >> CWH_MBARRIER_TX_SHIFT) & TX_MASK;
    uint64_t phase = old >> CWH_MBARRIER_PHASE_SHIFT;
    switch (op) {
    case CWH_MBARRIER_ARRIVE:
    case CWH_MBARRIER_DROP:
        if (!n || n > pending)
            __builtin_trap();
        pending -= n;
        if (op == CWH_MBARRIER_DROP)
            expected = expected > n ? expected - n : 0;
        break;
    case CWH_MBARRIER_EXPECT:
        tx += n;
        break;
    default:
        tx -= n;
        break;
    }
    tx &= TX_MASK;
    if (op != CWH_MBARRIER_EXPECT && !pending && !tx) {     /* the phase ends */
        phase ^= 1;
        pending = expected;
    }
    return (uint64_t)expected | (uint64_t)tx << CWH_MBARRIER_TX_SHIFT | (uint64_t)((0u - pending) & COUNT_MASK) << CWH_MBARRIER_PENDING_SHIFT |
           phase << CWH_MBARRIER_PHASE_SHIFT;
}

/* op: enum cwh_mbarrier_op. Returns the previous state; for the tests, whether the phase has ended. `scope`: of the threads that share the
 * object, a constant. */
static inline __attribute__((always_inline)) uint64_t
mbarrier(uint32_t op, uint64_t *object, uint64_t value, int scope)
{
    uint32_t n = (uint32_t)value;
    uint64_t old, new;
    if ((uintptr_t)object & 7)
        __builtin_trap();
    switch (op) {
    case CWH_MBARRIER_INIT:
        if (!n || n > COUNT_MASK)
            __builtin_trap();
        new = (uint64_t)n | (uint64_t)((0u - n) & COUNT_MASK) << CWH_MBARRIER_PENDING_SHIFT;
        __scoped_atomic_store_n(object, new, __ATOMIC_RELEASE, scope);
        return 0;
    case CWH_MBARRIER_INVAL:
        __scoped_atomic_store_n(object, 0, __ATOMIC_RELEASE, scope);
        return 0;
    case CWH_MBARRIER_TEST:
    case CWH_MBARRIER_TEST_PARITY:
        old = __scoped_atomic_load_n(object, __ATOMIC_ACQUIRE, scope);
        value = op == CWH_MBARRIER_TEST ? value >> CWH_MBARRIER_PHASE_SHIFT : value & 1;
        if (old >> CWH_MBARRIER_PHASE_SHIFT != value)
            return 1;
        __builtin_amdgcn_s_sleep(1);        /* let the other threads run */
        return 0;
    default:
        old = __scoped_atomic_load_n(object, __ATOMIC_RELAXED, scope);
        do
            new = changed(op, old, n);
        while (!__scoped_atomic_compare_exchange_n(object, &old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, scope));
        return old >> CWH_MBARRIER_PENDING_SHIFT << CWH_MBARRIER_PENDING_SHIFT;
    }
}

uint64_t
cwd_async_mbarrier(uint32_t op, uint64_t *object, uint64_t value)
{
    return mbarrier(op, object, value, __MEMORY_SCOPE_WRKGRP);
}

/* In a cluster of several blocks. */
uint64_t
cwd_async_mbarrier_cluster(uint32_t op, uint64_t *object, uint64_t value)
{
    return mbarrier(op, object, value, __MEMORY_SCOPE_DEVICE);
}
