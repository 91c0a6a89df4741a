/* SPDX-License-Identifier: Apache-2.0
 * Bulk copies (PTX 9.7.9.25.4 ff.), tensor maps, st.bulk, and clusterlaunchcontrol. A copy is made where it is issued; so groups need no record,
 * and an mbarrier object learns of the bytes at once. Blocks of a cluster take turns, so a copy into another one's shared memory is no race. */
#include "impl/host/exec_private.h"

#include <string.h>

#define BULK_ATOMIC_LOAD(p)            __atomic_load_n(p, __ATOMIC_RELAXED)
#define BULK_ATOMIC_SWAP(p, old, new)  __atomic_compare_exchange_n(p, old, new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define BULK_TOUCHES(gang, address, size) cwh_must_own(gang, address, size)
#include "jit/builtins/core/bulk_core.h"

#define MIRROR (4ull << 30)         /* cluster.c */

static void
check_alignment(struct cwh_gang *gang, const char *what, uint64_t to, uint64_t from, uint64_t size, unsigned align)
{
    if ((to | from | size) & (align - 1))
        cwh_abort(cwh_fiber_of(gang), CWB_MISALIGNED, "%s of %llu bytes from 0x%llx to 0x%llx", what, (unsigned long long)size, (unsigned long long)from,
                  (unsigned long long)to);
}

/* The address in the shared memory of block `rank` of the cluster at which `address` lies in its own block's. */
static uint64_t
in_block(const struct cwh_gang *gang, uint64_t address, uint32_t rank)
{
    const struct cwh_block *b = gang->block;
    uint64_t stride = b->launch->cluster_stride, base = (uintptr_t)b->shared - b->cluster_rank * stride, at = address - base;
    if (!stride)
        return address;
    return base + rank * stride + (at >= MIRROR ? at - MIRROR : at) % stride;
}

static uint32_t
cluster_blocks(const struct cwh_gang *gang)
{
    const uint32_t *size = gang->block->launch->cluster;
    return size[0] * size[1] * size[2];
}

void
cwh_rt_bulk_copy(struct cwh_gang *gang, uint64_t to, uint64_t from, uint32_t size, uint32_t bytes, uint64_t barrier, uint32_t blocks)
{
    struct cwh_fiber *f = cwh_enter(gang);
    check_alignment(gang, "cp.async.bulk", to, from, size, 16);
    cwh_must_own(gang, from, size);
    if (blocks == CWT_ONE_BLOCK) {
        cwh_must_own(gang, to, size);
        if (bytes == 0xffff)
            memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);        /* a program's may overlap */
        else
            bulk_copy(to, from, size, bytes);
        if (barrier)
            cwh_mbarrier_complete(f, barrier, size);
        return;
    }
    for (uint32_t rank = 0; rank < cluster_blocks(gang); rank++) {
        if (!(blocks >> rank & 1))
            continue;
        cwh_must_own(gang, in_block(gang, to, rank), size);
        memmove((void *)(uintptr_t)in_block(gang, to, rank), (const void *)(uintptr_t)from, size);
        cwh_mbarrier_complete(f, in_block(gang, barrier, rank), size);
    }
}

void
cwh_rt_bulk_reduce(struct cwh_gang *gang, uint64_t to, uint64_t from, uint32_t size, uint32_t how, uint64_t barrier)
{
    struct cwh_fiber *f = cwh_enter(gang);
    check_alignment(gang, "cp.reduce.async.bulk", to, from, size, 16);
    cwh_must_own(gang, to, size);
    cwh_must_own(gang, from, size);
    bulk_reduce(to, from, size, how);
    if (barrier)
        cwh_mbarrier_complete(f, barrier, size);
}

void
cwh_rt_bulk_fill(struct cwh_gang *gang, uint64_t to, uint64_t size)
{
    (void)cwh_enter(gang);
    check_alignment(gang, "st.bulk", to, 0, size, 8);
    cwh_must_own(gang, to, size);
    memset((void *)(uintptr_t)to, 0, size);
}

static uint32_t
copy_tensor(struct cwh_gang *gang, uint64_t map, uint64_t shared, uint32_t place, const int32_t *c, uint64_t offsets, uint32_t how)
{
    struct cwt_map m;
    cwh_must_own(gang, map, CWT_BYTES);
    memcpy(&m, (const void *)(uintptr_t)map, sizeof m);         /* other threads may write it meanwhile: what is checked is what is used */
    uint32_t bytes = bulk_tensor(gang, &m, shared, place, c, offsets, how);
    if (!bytes)
        cwh_abort(cwh_fiber_of(gang), CWB_ILLEGAL_INSTRUCTION, "a copy of a tensor: no tensor map for it at 0x%llx, or the box begins at element %d, at no multiple of 16 bytes, or is stored at a negative one",
                  (unsigned long long)map, c[0]);
    return bytes;
}

void
cwh_rt_bulk_tensor(struct cwh_gang *gang, uint64_t map, uint64_t shared, uint32_t place, uint64_t barrier, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                   uint32_t c4, uint64_t offsets, uint32_t how, uint32_t blocks)
{
    struct cwh_fiber *f = cwh_enter(gang);
    const int32_t c[CWT_DIMS] = { (int32_t)c0, (int32_t)c1, (int32_t)c2, (int32_t)c3, (int32_t)c4 };
    if (map & 63)
        cwh_abort(f, CWB_MISALIGNED, "a tensor map at 0x%llx", (unsigned long long)map);
    check_alignment(gang, "a copy of a tensor", shared, 0, 0, 16);
    if (blocks == CWT_ONE_BLOCK) {
        uint32_t bytes = copy_tensor(gang, map, shared, place, c, offsets, how);
        if (barrier)
            cwh_mbarrier_complete(f, barrier, bytes);
        return;
    }
    for (uint32_t rank = 0; rank < cluster_blocks(gang); rank++)
        if (blocks >> rank & 1)
            cwh_mbarrier_complete(f, in_block(gang, barrier, rank), copy_tensor(gang, map, in_block(gang, shared, rank), place, c, offsets, how));
}

void
cwh_rt_bulk_replace(struct cwh_gang *gang, uint64_t map, uint32_t field, uint32_t index, uint64_t value)
{
    struct cwh_fiber *f = cwh_enter(gang);
    if (map & 63)
        cwh_abort(f, CWB_MISALIGNED, "a tensor map at 0x%llx", (unsigned long long)map);
    cwh_must_own(gang, map, CWT_BYTES);
    if (!bulk_replace((struct cwt_map *)(uintptr_t)map, field, index, value))
        cwh_abort(f, CWB_ILLEGAL_INSTRUCTION, "tensormap.replace: field %u does not take the value %llu", field, (unsigned long long)value);
}

/* The answer (CWH_CANCELED; then the first block's x, y and z). The blocks that nobody has begun wait in cwh_exec_launch.next: to take one from there
 * is to cancel its launch. Clusters of several blocks are not cancelled, which a program must expect. */
void
cwh_rt_bulk_cancel(struct cwh_gang *gang, uint64_t to, uint64_t barrier)
{
    struct cwh_fiber *f = cwh_enter(gang);
    struct cwh_exec_launch *l = f->worker->launch;
    uint32_t answer[4] = { 0 };
    check_alignment(gang, "clusterlaunchcontrol.try_cancel", to, 0, 0, 16);
    cwh_must_own(gang, to, sizeof answer);
    uint64_t block = cluster_blocks(gang) == 1 && !l->cooperative && !atomic_load(&l->failed) ? atomic_fetch_add(&l->next, 1) : l->nblocks;
    if (block < l->nblocks) {
        const uint32_t *grid = gang->block->launch->grid;
        answer[0] = 1;
        answer[1] = (uint32_t)(block % grid[0]);
        answer[2] = (uint32_t)(block / grid[0] % grid[1]);
        answer[3] = (uint32_t)(block / grid[0] / grid[1]);
    }
    memcpy((void *)(uintptr_t)to, answer, sizeof answer);
    cwh_mbarrier_complete(f, barrier, sizeof answer);
}
