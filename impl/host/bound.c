/* SPDX-License-Identifier: Apache-2.0
 * Bounds of host:checked: which memory a kernel may touch. Compiled code tests the usual cases itself (host_bound in jit/emit/target/host/host.c)
 * and asks here for the others; cwh_rt_* that follow a kernel's pointers ask here too. Pages of the region that are not allocated need no test:
 * they fault. */
#include "impl/host/device.h"
#include "impl/host/exec_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the program's own memory that kernels may use: sorted, apart from each other ---- */

struct host_range {
    uint64_t address, size;
};

static struct {
    pthread_rwlock_t lock;
    struct host_range *ranges;
    size_t count, capacity;
} hosts = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* Lock held: index of the first range that ends behind the address. */
static size_t
find(uint64_t address)
{
    size_t lo = 0, hi = hosts.count;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (hosts.ranges[mid].address + hosts.ranges[mid].size > address)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

bool
cwh_bound_allow(uint64_t address, uint64_t size)
{
    bool ok = true;
    pthread_rwlock_wrlock(&hosts.lock);
    if (hosts.count == hosts.capacity) {
        size_t n = hosts.capacity ? 2 * hosts.capacity : 16;
        struct host_range *r = realloc(hosts.ranges, n * sizeof *r);
        if (r) {
            hosts.ranges = r;
            hosts.capacity = n;
        } else {
            ok = false;
        }
    }
    if (ok) {
        size_t i = find(address);
        memmove(hosts.ranges + i + 1, hosts.ranges + i, (hosts.count - i) * sizeof *hosts.ranges);
        hosts.ranges[i] = (struct host_range){ address, size };
        hosts.count++;
    }
    pthread_rwlock_unlock(&hosts.lock);
    return ok;
}

void
cwh_bound_forbid(uint64_t address)
{
    pthread_rwlock_wrlock(&hosts.lock);
    size_t i = find(address);
    if (i < hosts.count && hosts.ranges[i].address == address) {
        hosts.count--;
        memmove(hosts.ranges + i, hosts.ranges + i + 1, (hosts.count - i) * sizeof *hosts.ranges);
    }
    pthread_rwlock_unlock(&hosts.lock);
}

static uint64_t
host_extent(uint64_t address)
{
    pthread_rwlock_rdlock(&hosts.lock);
    size_t i = find(address);
    uint64_t n = i < hosts.count && address >= hosts.ranges[i].address ? hosts.ranges[i].size - (address - hosts.ranges[i].address) : 0;
    pthread_rwlock_unlock(&hosts.lock);
    return n;
}

/* ---- what a gang may touch ---- */

static uint64_t
left(uint64_t address, uint64_t base, uint64_t size)
{
    return address >= base && address - base < size ? size - (address - base) : 0;
}

/* Shared memory of the block and, in a cluster, of its other blocks: cluster_stride apart, and once more 4 GiB above (jit/abi/host.h). */
static uint64_t
shared_extent(const struct cwh_gang *g, uint64_t address)
{
    const struct cwh_launch *l = g->block->launch;
    uint64_t base = (uintptr_t)g->block->shared, n = (uint64_t)l->cluster[0] * l->cluster[1] * l->cluster[2];
    if (n <= 1 || !l->cluster_stride)
        return left(address, base, l->shared_size);
    uint64_t at = address - (base - g->block->cluster_rank * l->cluster_stride);
    if (at >= 1ull << 32)
        at -= 1ull << 32;
    return at < n * l->cluster_stride ? left(at % l->cluster_stride, 0, l->shared_size) : 0;
}

uint64_t
cwh_bound_extent(const struct cwh_gang *g, uint64_t address)
{
    const struct cwh_launch *l = g->block->launch;
    const struct cwh_exec_launch *x = cwh_fiber_of(g)->worker->launch;
    if (!x->info.bounded)
        return UINT64_MAX;
    uint64_t n = left(address, l->region, l->region_size);
    if (!n)
        n = left(address, g->local, CWH_LOCAL_SIZE);
    if (!n)
        n = shared_extent(g, address);
    if (!n)
        n = left(address, (uintptr_t)l->params, l->param_size);
    if (!n && l->grid_workspace)
        n = left(address, l->grid_workspace, CWH_GRID_WORKSPACE);
    return n ? n : host_extent(address);
}

void
cwh_bound_check(const struct cwh_gang *g, uint64_t address, uint64_t size)
{
    if (cwh_bound_extent(g, address) < size)
        cwh_abort(cwh_fiber_of(g), CWB_ILLEGAL_ADDRESS, "%llu bytes at 0x%llx are not the kernel's to touch", (unsigned long long)size,
                  (unsigned long long)address);
}

void
cwh_rt_bound(struct cwh_gang *gang, uint64_t address, uint32_t size)
{
    (void)cwh_enter(gang);
    cwh_bound_check(gang, address, size);
}

/* ---- local memory, which is no part of the stack then: a kernel could otherwise write where functions return to ---- */

bool
cwh_local_map(struct cwh_fiber *f)
{
    void *p = mmap(NULL, CWH_LOCAL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    f->gang.local = (uintptr_t)p;
    f->gang.local_base = f->gang.local + CWH_LOCAL_SIZE - (1ull << 32);
    f->gang.local_low = (uint32_t)-CWH_LOCAL_SIZE;
    return true;
}

void
cwh_local_unmap(struct cwh_fiber *f)
{
    if (f->gang.local)
        munmap((void *)(uintptr_t)f->gang.local, CWH_LOCAL_SIZE);
    f->gang.local = 0;
}

uint64_t
cwh_rt_local(struct cwh_gang *gang, uint64_t size, uint32_t align)
{
    struct cwh_fiber *f = cwh_enter(gang);
    uint64_t free = gang->local_top - gang->local;
    if (size > free || ((gang->local_top - size) & ~(uint64_t)(align - 1)) < gang->local)
        cwh_abort(f, CWB_STACK, "a thread's local memory has %u bytes with its calls, of which %llu are left for %llu", CWH_LOCAL_SIZE,
                  (unsigned long long)free, (unsigned long long)size);
    return gang->local_top = (gang->local_top - size) & ~(uint64_t)(align - 1);
}

void
cwh_rt_local_free(struct cwh_gang *gang, uint64_t top)
{
    struct cwh_fiber *f = cwh_enter(gang);
    if (top < gang->local_top || top > gang->local + CWH_LOCAL_SIZE)
        cwh_abort(f, CWB_ILLEGAL_ADDRESS, "stackrestore to 0x%llx, which stacksave did not give", (unsigned long long)top);
    gang->local_top = top;
}
