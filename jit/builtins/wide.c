/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "wide": exchange and compare-and-swap of 128 bits (PTX 9.7.13.1), for which AMD GPUs have no instruction. Each runs
 * under one of the device's locks, selected by the address. These operations are atomic with respect to each other; a plain access to the
 * same bytes may see one half of a change before the other. */
#include <stdint.h>

enum { LOCKS = 256 };           /* CWJ_AMD_LOCKS */

/* old: the previous 128 bits; cell gets `fresh` if they equal `want`, and always if want is NULL. */
void
cwd_wide_swap(uint32_t *locks, uint64_t *cell, const uint64_t *want, const uint64_t *fresh, uint64_t *old)
{
    uint64_t at = (uintptr_t)cell >> 4;
    uint32_t *lock = &locks[(at ^ at >> 8 ^ at >> 16) % LOCKS];
    if ((uintptr_t)cell & 15)
        __builtin_trap();
    /* Lanes of a wave that need the same lock take turns, so the critical section must stay in the loop's body. The inline assembly hides
     * from the compiler, on both paths, whether the loop ends: otherwise it may move the critical section behind the loop, or make waiting
     * a loop of its own, in which lanes wait for ever for those that hold the lock. */
    for (uint32_t done = 0; !done;) {
        if (!__scoped_atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM)) {
            uint64_t low = __scoped_atomic_load_n(&cell[0], __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
            uint64_t high = __scoped_atomic_load_n(&cell[1], __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
            if (!want || (low == want[0] && high == want[1])) {
                __scoped_atomic_store_n(&cell[0], fresh[0], __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
                __scoped_atomic_store_n(&cell[1], fresh[1], __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
            }
            __scoped_atomic_store_n(lock, 0, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
            old[0] = low;
            old[1] = high;
            done = 1;
        }
        __asm__ volatile("" : "+v"(done));
    }
}
