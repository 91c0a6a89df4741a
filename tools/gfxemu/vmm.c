/* SPDX-License-Identifier: Apache-2.0
 * HIP's virtual memory management on the GPU-less device: reservations are address space of this process without access,
 * physical memory is a file in memory, and a mapping becomes memory of the device when it is given access. The interpreter does
 * not implement read-only memory: it can be written. */
#define _GNU_SOURCE
#include "impl/base/file.h"
#include "impl/hip/hip.h"
#include "tools/gfxemu/gfx.h"
#include "tools/gfxemu/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define R
#define O
#define X(need, since, name, params) __attribute__((visibility("default"))) hipError_t name params;
HIP_FUNCTIONS(X)
#undef X
#undef R
#undef O

struct ihipMemGenericAllocationHandle {
    int fd;
    size_t size;
    struct cw_fd_file file;
};

/* Reservations and mappings, both under `lock`. */
struct area {
    struct area *next;
    uintptr_t address;
    size_t size;
    bool accessible;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct area *reservations, *mappings;

static hipError_t
add(struct area **list, uintptr_t address, size_t size)
{
    struct area *a = malloc(sizeof *a);
    if (!a)
        return hipErrorOutOfMemory;
    pthread_mutex_lock(&lock);
    *a = (struct area){ *list, address, size, false };
    *list = a;
    pthread_mutex_unlock(&lock);
    return hipSuccess;
}

hipError_t
hipMemAddressReserve(void **ptr, size_t size, size_t alignment, void *address, unsigned long long flags)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!ptr || !size || size % page || alignment & (alignment - 1) || flags)
        return hipErrorInvalidValue;
    if (alignment < page)
        alignment = page;
    uint8_t *p = MAP_FAILED;
    if (address)        /* only a hint: under a sanitizer that uses the place, another is returned */
        p = mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED && p != address) {
        munmap(p, size);
        p = MAP_FAILED;
    }
    if (p == MAP_FAILED) {
        uint8_t *all = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED)
            return hipErrorOutOfMemory;
        p = (uint8_t *)(((uintptr_t)all + alignment - 1) & ~(uintptr_t)(alignment - 1));
        if (p > all)
            munmap(all, (size_t)(p - all));
        munmap(p + size, alignment - (size_t)(p - all));
    }
    hipError_t e = add(&reservations, (uintptr_t)p, size);
    if (e == hipSuccess)
        *ptr = p;
    else
        munmap(p, size);
    return e;
}

hipError_t
hipMemAddressFree(void *ptr, size_t size)
{
    hipError_t e = hipErrorInvalidValue;
    pthread_mutex_lock(&lock);
    for (struct area **l = &reservations; *l; l = &(*l)->next) {
        struct area *a = *l;
        if (a->address != (uintptr_t)ptr || a->size != size)
            continue;
        *l = a->next;
        free(a);
        munmap(ptr, size);
        e = hipSuccess;
        break;
    }
    pthread_mutex_unlock(&lock);
    return e;
}

hipError_t
hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size, const struct hip_allocation_prop *prop, unsigned long long flags)
{
    if (!handle || !size || flags || !prop || prop->type != hipMemAllocationTypePinned || prop->location.type != hipMemLocationTypeDevice ||
        prop->location.id < 0)
        return hipErrorInvalidValue;
    struct ihipMemGenericAllocationHandle *h = malloc(sizeof *h);
    if (!h)
        return hipErrorOutOfMemory;
    h->size = size;
    h->fd = cw_memory_file("gfxemu", size);
    if (h->fd < 0 || !cw_fd_file(h->fd, &h->file)) {
        free(h);
        return hipErrorOutOfMemory;
    }
    *handle = h;
    return hipSuccess;
}

/* What is mapped stays. */
hipError_t
hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    if (!handle)
        return hipErrorInvalidValue;
    cw_fd_close(handle->fd, &handle->file);
    free(handle);
    return hipSuccess;
}

static bool
inside(const struct area *list, uintptr_t address, size_t size)
{
    for (const struct area *a = list; a; a = a->next)
        if (address >= a->address && size <= a->size && address - a->address <= a->size - size)
            return true;
    return false;
}

hipError_t
hipMemMap(void *ptr, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags)
{
    if (!ptr || !size || !handle || flags || offset > handle->size || size > handle->size - offset)
        return hipErrorInvalidValue;
    pthread_mutex_lock(&lock);
    bool ok = inside(reservations, (uintptr_t)ptr, size);
    for (struct area *a = mappings; a; a = a->next)
        ok &= (uintptr_t)ptr >= a->address + a->size || a->address >= (uintptr_t)ptr + size;
    pthread_mutex_unlock(&lock);
    if (!ok || !cw_fd_is(handle->fd, &handle->file) || mmap(ptr, size, PROT_NONE, MAP_SHARED | MAP_FIXED, handle->fd, (off_t)offset) == MAP_FAILED)
        return hipErrorInvalidValue;
    return add(&mappings, (uintptr_t)ptr, size);
}

/* False: out of memory. */
static bool
set_access(struct area *a, bool accessible)
{
    if (a->accessible == accessible)
        return true;
    if (accessible && !gfx_range_add(a->address, a->size))
        return false;
    if (!accessible)
        gfx_range_remove(a->address);
    a->accessible = accessible;
    mprotect((void *)a->address, a->size, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
    return true;
}

hipError_t
hipMemUnmap(void *ptr, size_t size)
{
    uintptr_t start = (uintptr_t)ptr;
    size_t sum = 0;
    gfx_queue_wait_all();
    pthread_mutex_lock(&lock);
    for (struct area *a = mappings; a; a = a->next)
        if (a->address >= start && a->address + a->size <= start + size)
            sum += a->size;
    for (struct area **l = &mappings; sum == size && *l; ) {
        struct area *a = *l;
        if (a->address < start || a->address + a->size > start + size) {
            l = &a->next;
            continue;
        }
        (void)set_access(a, false);
        mmap((void *)a->address, a->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        *l = a->next;
        free(a);
    }
    pthread_mutex_unlock(&lock);
    return sum == size && size ? hipSuccess : hipErrorInvalidValue;
}

hipError_t
hipMemSetAccess(void *ptr, size_t size, const struct hip_access_desc *desc, size_t count)
{
    uintptr_t start = (uintptr_t)ptr;
    size_t sum = 0;
    if (!desc || count != 1 || desc->location.type != hipMemLocationTypeDevice || desc->location.id < 0)
        return hipErrorInvalidValue;
    if (desc->flags == hipMemAccessFlagsProtNone)
        gfx_queue_wait_all();
    pthread_mutex_lock(&lock);
    for (struct area *a = mappings; a; a = a->next)
        if (a->address >= start && a->address + a->size <= start + size)
            sum += a->size;
    bool ok = true;
    for (struct area *a = mappings; sum == size && a; a = a->next)
        if (a->address >= start && a->address + a->size <= start + size)
            ok &= set_access(a, desc->flags != hipMemAccessFlagsProtNone);
    pthread_mutex_unlock(&lock);
    return sum != size || !size ? hipErrorInvalidValue : ok ? hipSuccess : hipErrorOutOfMemory;
}
