/* SPDX-License-Identifier: Apache-2.0
 * Memory of the hip device, and virtual memory management by the functions that ROCm 6 has for it. */
#include "impl/hip/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* Device memory that a stream has freed (cuMemFreeAsync). It ends in a host function, where HIP must not be called; it is kept
 * for the next allocation of its size, and freed when the context has been waited for. context.kept_lock. */
struct hip_kept {
    struct hip_kept *next;
    uint64_t address;
    size_t size;
};

static bool
take_kept(struct cwb_context *c, size_t size, uint64_t *address)
{
    struct hip_kept *found = NULL;
    pthread_mutex_lock(&c->kept_lock);
    for (struct hip_kept **k = &c->kept; *k; k = &(*k)->next)
        if ((*k)->size == size) {
            found = *k;
            *k = found->next;
            break;
        }
    pthread_mutex_unlock(&c->kept_lock);
    if (found)
        *address = found->address;
    free(found);
    return found != NULL;
}

static cwb_result
keep(struct cwb_context *c, uint64_t address, size_t size)
{
    struct hip_kept *k = malloc(sizeof *k);
    if (!k)
        return CWB_NOMEM;
    pthread_mutex_lock(&c->kept_lock);
    *k = (struct hip_kept){ c->kept, address, size };
    c->kept = k;
    pthread_mutex_unlock(&c->kept_lock);
    return CWB_OK;
}

void
hip_memory_trim(struct cwb_context *c)
{
    if (cwb_in_host_function)
        return;
    pthread_mutex_lock(&c->kept_lock);
    struct hip_kept *k = c->kept;
    c->kept = NULL;
    pthread_mutex_unlock(&c->kept_lock);
    for (struct hip_kept *next; k; k = next) {
        next = k->next;
        (void)hip.hipFree((void *)(uintptr_t)k->address);
        free(k);
    }
}

cwb_result
hip_mem_alloc(struct cwb_context *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address)
{
    void *p = NULL;
    hipError_t e;
    hip_use(c);
    if (kind == CWB_MEM_DEVICE && take_kept(c, size, address))
        return CWB_OK;
    if (kind == CWB_MEM_DEVICE) {
        e = hip.hipMalloc(&p, size);
        if (e == hipErrorOutOfMemory) {
            hip_memory_trim(c);
            e = hip.hipMalloc(&p, size);
        }
    }
    else if (kind == CWB_MEM_PINNED)
        e = hip.hipHostMalloc(&p, size, hipHostMallocPortable | hipHostMallocMapped);
    else
        e = hip.hipMallocManaged(&p, size, hipMemAttachGlobal);
    if (e != hipSuccess)
        return hip_result(e);
    *address = (uintptr_t)p;
    (void)align;                        /* HIP's allocations are aligned to pages or 256 bytes at least */
    return CWB_OK;
}

cwb_result
hip_mem_free(struct cwb_context *c, enum cwb_mem_kind kind, uint64_t address, size_t size)
{
    void *p = (void *)(uintptr_t)address;
    if (cwb_in_host_function)
        return kind == CWB_MEM_DEVICE ? keep(c, address, size) : CWB_INTERNAL;
    hip_use(c);
    return hip_result(kind == CWB_MEM_PINNED ? hip.hipHostFree(p) : hip.hipFree(p));
}

cwb_result
hip_mem_register(struct cwb_context *c, void *ptr, size_t size, bool read_only, uint64_t *device_address)
{
    void *d = NULL;
    (void)read_only;
    hip_use(c);
    hipError_t e = hip.hipHostRegister(ptr, size, hipHostRegisterPortable | hipHostRegisterMapped);
    if (e != hipSuccess)
        return hip_result(e);
    e = hip.hipHostGetDevicePointer(&d, ptr, 0);
    if (e != hipSuccess) {
        (void)hip.hipHostUnregister(ptr);
        return hip_result(e);
    }
    *device_address = (uintptr_t)d;
    return CWB_OK;
}

cwb_result
hip_mem_unregister(struct cwb_context *c, void *ptr, size_t size)
{
    (void)size;
    hip_use(c);
    return hip_result(hip.hipHostUnregister(ptr));
}

/* ---- virtual memory management ---- */

struct cwb_phys {
    hipMemGenericAllocationHandle_t handle;
    int device;
};

/* ROCm 5 has drafts of these functions with another structure. */
bool
hip_has_vmm(void)
{
    return hip_version() >= 60000000 && hip.hipMemAddressReserve && hip.hipMemAddressFree && hip.hipMemCreate && hip.hipMemRelease &&
           hip.hipMemMap && hip.hipMemUnmap && hip.hipMemSetAccess;
}

cwb_result
hip_va_reserve(size_t size, size_t align, uint64_t hint, uint64_t *address)
{
    void *p = NULL;
    if (!hip_has_vmm())
        return CWB_UNSUPPORTED;
    hipError_t e = hip.hipMemAddressReserve(&p, size, align, (void *)(uintptr_t)hint, 0);
    if (e != hipSuccess)
        return hint ? CWB_ADDRESS_IN_USE : hip_result(e);
    if (hint && (uintptr_t)p != hint) {
        (void)hip.hipMemAddressFree(p, size);
        return CWB_ADDRESS_IN_USE;
    }
    *address = (uintptr_t)p;
    return CWB_OK;
}

cwb_result
hip_va_release(uint64_t address, size_t size)
{
    return hip_has_vmm() ? hip_result(hip.hipMemAddressFree((void *)(uintptr_t)address, size)) : CWB_UNSUPPORTED;
}

cwb_result
hip_phys_create(uint32_t device, size_t size, bool shared, struct cwb_phys **out)
{
    struct hip_allocation_prop prop = { .type = hipMemAllocationTypePinned, .location = { hipMemLocationTypeDevice, (int)device } };
    if (!hip_has_vmm())
        return CWB_UNSUPPORTED;
    struct cwb_phys *p = calloc(1, sizeof *p);
    if (!p)
        return CWB_NOMEM;
    p->device = (int)device;
    hipError_t e = hip.hipMemCreate(&p->handle, size, &prop, 0);
    if (e != hipSuccess) {
        free(p);
        return hip_result(e);
    }
    *out = p;
    return CWB_OK;
}

void
hip_phys_destroy(struct cwb_phys *p)
{
    (void)hip.hipMemRelease(p->handle);
    free(p);
}

cwb_result
hip_va_map(uint64_t address, size_t size, struct cwb_phys *p, size_t offset)
{
    return hip_result(hip.hipMemMap((void *)(uintptr_t)address, size, offset, p->handle, 0));
}

cwb_result
hip_va_unmap(uint64_t address, size_t size)
{
    return hip_has_vmm() ? hip_result(hip.hipMemUnmap((void *)(uintptr_t)address, size)) : CWB_UNSUPPORTED;
}

/* The driver gives one access right for all devices. A device that cannot reach the memory is an error only if none can. */
cwb_result
hip_va_protect(uint64_t address, size_t size, bool readable, bool writable)
{
    cwb_result result = CWB_INVALID;
    int flags = writable ? hipMemAccessFlagsProtReadWrite : readable ? hipMemAccessFlagsProtRead : hipMemAccessFlagsProtNone;
    if (!hip_has_vmm())
        return CWB_UNSUPPORTED;
    for (int i = 0; i < hip_device_count(); i++) {
        struct hip_access_desc d = { { hipMemLocationTypeDevice, i }, flags };
        cwb_result r = hip_result(hip.hipMemSetAccess((void *)(uintptr_t)address, size, &d, 1));
        if (r == CWB_OK || i == 0)
            result = result == CWB_OK ? CWB_OK : r;
    }
    return result;
}
