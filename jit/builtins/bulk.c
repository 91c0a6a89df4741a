/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "bulk": bulk copies, tensor maps, st.bulk and clusterlaunchcontrol (PTX 9.7.9.25.4 ff.), for one thread. A copy is made where
 * it is issued. `cluster`: where the shared memory of a cluster's blocks lies, 2^shift bytes each (docs/amd-abi.md, "Clusters"); 0: the block is a
 * cluster of its own, and of a multicast's destinations the first. */
#include "jit/abi/host.h"

#define BULK_ATOMIC_LOAD(p)            __scoped_atomic_load_n(p, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define BULK_ATOMIC_SWAP(p, old, new)  __scoped_atomic_compare_exchange_n(p, old, new, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define BULK_TOUCHES(who, address, size) ((void)0)
#include "jit/builtins/core/bulk_core.h"

uint64_t cwd_async_mbarrier_cluster(uint32_t op, uint64_t *object, uint64_t value);

static void
complete(uint64_t barrier, uint32_t bytes)
{
    if (barrier)
        cwd_async_mbarrier_cluster(CWH_MBARRIER_COMPLETE, (uint64_t *)barrier, bytes);
}

static void
check(bool good)
{
    if (!good)
        __builtin_trap();
}

/* The address in the shared memory of block `rank` at which `address` lies in its own block's. */
static uint64_t
in_block(uint64_t address, uint32_t rank, uint64_t cluster, uint32_t shift)
{
    return cluster + ((uint64_t)rank << shift) + ((address - cluster) & ((1ull << shift) - 1));
}

static bool
is_for_one(uint32_t blocks, uint64_t cluster)
{
    return blocks == CWT_ONE_BLOCK || !cluster;
}

void
cwd_bulk_copy(uint64_t to, uint64_t from, uint32_t size, uint32_t bytes, uint64_t barrier, uint32_t blocks, uint64_t cluster, uint32_t shift)
{
    check(!((to | from | size) & 15));
    if (is_for_one(blocks, cluster)) {
        if (blocks & (CWT_ONE_BLOCK | 1)) {
            bulk_copy(to, from, size, bytes);
            complete(barrier, size);
        }
        return;
    }
    for (uint32_t rank = 0; blocks >> rank; rank++)
        if (blocks >> rank & 1) {
            bulk_copy(in_block(to, rank, cluster, shift), from, size, bytes);
            complete(in_block(barrier, rank, cluster, shift), size);
        }
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
                uint32_t how, uint32_t blocks, uint64_t cluster, uint32_t shift)
{
    const int32_t c[CWT_DIMS] = { (int32_t)c0, (int32_t)c1, (int32_t)c2, (int32_t)c3, (int32_t)c4 };
    check(!(map & 15) && !(shared & 15));
    bool one = is_for_one(blocks, cluster);
    if (one)
        blocks = blocks & (CWT_ONE_BLOCK | 1) ? 1 : 0;
    for (uint32_t rank = 0; blocks >> rank; rank++)
        if (blocks >> rank & 1) {
            uint32_t bytes = bulk_tensor(0, (const struct cwt_map *)map, one ? shared : in_block(shared, rank, cluster, shift), place, c, offsets, how);
            check(bytes);
            complete(one ? barrier : in_block(barrier, rank, cluster, shift), bytes);
        }
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
