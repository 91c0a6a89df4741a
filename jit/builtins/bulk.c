/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "bulk": bulk copies, tensor maps, st.bulk and clusterlaunchcontrol (PTX 9.7.9.25.4 ff.), for one thread. A copy is made where
 * it is issued. A block is a cluster of its own: of a multicast's destinations it is the first. */
#include "jit/abi/host.h"

#define BULK_ATOMIC_LOAD(p)            __scoped_atomic_load_n(p, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define BULK_ATOMIC_SWAP(p, old, new)  __scoped_atomic_compare_exchange_n(p, old, new, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#include "jit/builtins/core/bulk_core.h"

uint64_t cwd_async_mbarrier(uint32_t op, uint64_t *object, uint64_t value);

static void
complete(uint64_t barrier, uint32_t bytes)
{
    if (barrier)
        cwd_async_mbarrier(CWH_MBARRIER_COMPLETE, (uint64_t *)barrier, bytes);
}

static void
check(bool good)
{
    if (!good)
        __builtin_trap();
}

void
cwd_bulk_copy(uint64_t to, uint64_t from, uint32_t size, uint32_t bytes, uint64_t barrier, uint32_t blocks)
{
    check(!((to | from | size) & 15));
    if (!(blocks & (CWT_ONE_BLOCK | 1)))
        return;
    bulk_copy(to, from, size, bytes);
    complete(barrier, size);
}

void
cwd_bulk_reduce(uint64_t to, uint64_t from, uint32_t size, uint32_t how, uint64_t barrier)
{
    check(!((to | from | size) & 15));
    bulk_reduce(to, from, size, how);
    complete(barrier, size);
}

void
cwd_bulk_fill(uint64_t to, uint64_t size)
{
    check(!((to | size) & 7));
    for (uint64_t i = 0; i < size; i += 8)
        *(uint64_t *)(to + i) = 0;
}

/* Kernel arguments lie at multiples of 16 bytes, not of 64, and so may a map among them. */
void
cwd_bulk_tensor(uint64_t map, uint64_t shared, uint32_t place, uint64_t barrier, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t c4, uint64_t offsets,
                uint32_t how, uint32_t blocks)
{
    const int32_t c[CWT_DIMS] = { (int32_t)c0, (int32_t)c1, (int32_t)c2, (int32_t)c3, (int32_t)c4 };
    check(!(map & 15) && !(shared & 15));
    if (!(blocks & (CWT_ONE_BLOCK | 1)))
        return;
    uint32_t bytes = bulk_tensor((const struct cwt_map *)map, shared, place, c, offsets, how);
    check(bytes);
    complete(barrier, bytes);
}

void
cwd_bulk_replace(uint64_t map, uint32_t field, uint32_t index, uint64_t value)
{
    check(!(map & 63) && bulk_replace((struct cwt_map *)map, field, index, value));
}

/* The hardware has launched all blocks, or will: nothing is cancelled, which a program must expect. */
void
cwd_bulk_cancel(uint64_t to, uint64_t barrier)
{
    check(!(to & 15));
    for (unsigned i = 0; i < 4; i++)
        ((uint32_t *)to)[i] = 0;
    complete(barrier, 16);
}
