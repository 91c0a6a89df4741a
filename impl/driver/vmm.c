/* SPDX-License-Identifier: Apache-2.0
 * Virtual memory management: reservations of address space, physical allocations (handles), mappings and access rights.
 * A mapping is a range of kind MAPPED, known to copies once it is there; reservations are a list under a leaf lock. */
#include "impl/driver/driver.h"

#include <stdlib.h>

#define GRANULE (2ull << 20)

struct phys {
    struct obj obj;
    struct cwb_phys *be;
    const struct cwb_backend *b;
    uint64_t size;
    CUmemAllocationProp prop;
};

struct reservation {
    struct reservation *next;
    uint64_t address, size;
};

struct mapping {
    struct mapping *next;
    uint64_t address, size;
    struct phys *phys;                  /* owned reference */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation *reservations;    /* lock */
static struct mapping *mappings;            /* lock */

#define VMM()                                                                                                          \
    do {                                                                                                               \
        READY();                                                                                                       \
        if (!(g.backend->caps & CWB_CAP_VMM))                                                                          \
            return CUDA_ERROR_NOT_SUPPORTED;                                                                           \
    } while (0)

static void
phys_finish(struct obj *o)
{
    struct phys *p = (struct phys *)o;
    p->b->phys_destroy(p->be);
    free(p);
}

CUresult
drv_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
    VMM();
    if (!ptr || !size || size % GRANULE || alignment & (alignment - 1) || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct reservation *r = malloc(sizeof *r);
    if (!r)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (alignment < GRANULE)
        alignment = GRANULE;
    uint64_t a = 0;
    /* The address is a hint: taken if free and aligned, else anywhere. */
    cwb_result e = addr && !(addr % alignment) ? g.backend->va_reserve(size, alignment, addr, &a) : CWB_ADDRESS_IN_USE;
    if (e == CWB_ADDRESS_IN_USE)
        e = g.backend->va_reserve(size, alignment, 0, &a);
    if (e != CWB_OK) {
        free(r);
        return result_of(e);
    }
    pthread_mutex_lock(&lock);
    *r = (struct reservation){ reservations, a, size };
    reservations = r;
    pthread_mutex_unlock(&lock);
    *ptr = a;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    VMM();
    struct reservation *found = NULL;
    CUresult e = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (struct reservation **l = &reservations; *l; l = &(*l)->next) {
        if ((*l)->address != ptr || (*l)->size != size)
            continue;
        if (!range_overlaps(ptr, size)) {       /* something is still mapped otherwise */
            found = *l;
            *l = found->next;
        }
        break;
    }
    pthread_mutex_unlock(&lock);
    if (found)
        e = result_of(g.backend->va_release(ptr, size));
    free(found);
    return e;
}

static CUresult
check_prop(const CUmemAllocationProp *p, const char *function)
{
    if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return unsupported(function, "sharing memory with another process");
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return unsupported(function, "physical memory of the host");
    if (p->location.id < 0 || (uint32_t)p->location.id >= g.ndevices)
        return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
    VMM();
    if (!handle || !size || size % GRANULE || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = check_prop(prop, "cuMemCreate");
    if (e != CUDA_SUCCESS)
        return e;
    struct device *d = &g.devices[prop->location.id];
    if (size > d->props.total_memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct phys *p = calloc(1, sizeof *p);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    p->b = d->b;
    p->size = size;
    p->prop = *prop;
    e = result_of(d->b->phys_create(d->index, size, &p->be));
    if (e == CUDA_SUCCESS) {
        e = handle_new(&p->obj, KIND_PHYS, NULL, phys_finish);
        if (e != CUDA_SUCCESS)
            d->b->phys_destroy(p->be);
    }
    if (e != CUDA_SUCCESS) {
        free(p);
        return e;
    }
    *handle = p->obj.handle;
    return CUDA_SUCCESS;
}

#define PHYS(p, h)                                                                                                     \
    struct phys *p AUTO_PUT = handle_get((const void *)(uintptr_t)(h), KIND_PHYS);                                     \
    if (!p)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE

CUresult
drv_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    VMM();
    PHYS(p, handle);
    return handle_kill(&p->obj) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;      /* mappings keep the memory */
}

/* Reserved as a whole, by one reservation. Lock held. */
static bool
reserved(uint64_t a, uint64_t size)
{
    for (struct reservation *r = reservations; r; r = r->next)
        if (a >= r->address && size <= r->size && a - r->address <= r->size - size)
            return true;
    return false;
}

CUresult
drv_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    VMM();
    PHYS(p, handle);
    if (!size || ptr % GRANULE || size % GRANULE || offset || flags || size > p->size)
        return CUDA_ERROR_INVALID_VALUE;
    struct mapping *m = malloc(sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    bool room = reserved(ptr, size) && !range_overlaps(ptr, size);
    CUresult e = room ? result_of(p->b->va_map(ptr, size, p->be, offset)) : CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS) {
        struct range r = { .base = ptr, .size = size, .kind = RANGE_MAPPED, .device = p->prop.location.id, .device_address = ptr,
                           .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
        e = range_add(&r);
        if (e == CUDA_SUCCESS) {
            handle_ref(&p->obj);
            *m = (struct mapping){ mappings, ptr, size, p };
            mappings = m;
            m = NULL;
        } else {
            (void)p->b->va_unmap(ptr, size);
        }
    }
    pthread_mutex_unlock(&lock);
    free(m);
    return e;
}

CUresult
drv_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    VMM();
    struct mapping *gone = NULL;
    CUresult e = CUDA_ERROR_INVALID_VALUE;
    if (!size || ptr % GRANULE || size % GRANULE || ptr + size < ptr)
        return e;
    pthread_mutex_lock(&lock);
    /* Only whole mappings, and they must fill the range. */
    uint64_t sum = 0;
    bool cut = false;
    for (struct mapping *m = mappings; m; m = m->next) {
        if (m->address >= ptr && m->address + m->size <= ptr + size)
            sum += m->size;
        else if (m->address < ptr + size && ptr < m->address + m->size)
            cut = true;
    }
    if (!cut && sum == size) {
        for (struct mapping **l = &mappings; *l;) {
            struct mapping *m = *l;
            if (m->address >= ptr && m->address + m->size <= ptr + size) {
                struct range r;
                *l = m->next;
                m->next = gone;
                gone = m;
                (void)range_remove(m->address, 1u << RANGE_MAPPED, &r);
            } else {
                l = &m->next;
            }
        }
        e = result_of(g.backend->va_unmap(ptr, size));
    }
    pthread_mutex_unlock(&lock);
    for (struct mapping *n; gone; gone = n) {
        n = gone->next;
        handle_put(&gone->phys->obj);
        free(gone);
    }
    return e;
}

static void
set_access(struct range *r, void *user)
{
    r->access_flags = *(const unsigned *)user;
}

CUresult
drv_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    VMM();
    unsigned kinds;
    if (!desc || !count || !size || ptr % GRANULE || size % GRANULE || !range_covers(ptr, size, &kinds) || kinds != 1u << RANGE_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned most = 0;
    for (size_t i = 0; i < count; i++) {
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return unsupported("cuMemSetAccess", "access rights of the host");
        if (desc[i].location.id < 0 || (uint32_t)desc[i].location.id >= g.ndevices)
            return CUDA_ERROR_INVALID_DEVICE;
        if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
        if ((unsigned)desc[i].flags > most)
            most = desc[i].flags;
    }
    /* All devices of a backend see one mapping: the widest right counts. */
    cwb_result r = g.backend->va_protect(ptr, size, most != 0, most == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (r != CWB_OK)
        return result_of(r);
    for (uint64_t a = ptr; a < ptr + size;) {
        struct range x;
        if (!range_find(a, &x))
            break;
        (void)range_update(a, set_access, &most);
        a = x.base + x.size;
    }
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    VMM();
    struct range r;
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id < 0 || (uint32_t)location->id >= g.ndevices)
        return CUDA_ERROR_INVALID_VALUE;
    if (!range_find(ptr, &r) || r.kind != RANGE_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = r.access_flags;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)
{
    VMM();
    if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = check_prop(prop, "cuMemGetAllocationGranularity");
    if (e == CUDA_SUCCESS)
        *granularity = GRANULE;
    return e;
}

CUresult
drv_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    VMM();
    PHYS(p, handle);
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    *prop = p->prop;
    return CUDA_SUCCESS;
}
