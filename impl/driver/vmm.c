/* SPDX-License-Identifier: Apache-2.0
 * Virtual memory management: reservations of address space, physical allocations (handles), mappings and access rights.
 * A mapping is a range of kind MAPPED, known to copies once it is there; reservations are a list under a leaf lock. */
#include "impl/driver/driver.h"

#include "impl/base/tree.h"

#include <stdlib.h>
#include <sys/stat.h>

#define GRANULE (2ull << 20)

struct bound {                          /* physical memory that a multicast object stands for */
    struct bound *next;
    uint64_t at, size, offset;          /* in the object; in the memory */
    struct phys *phys;                  /* owned reference */
};

struct phys {
    struct obj obj;
    struct cwb_phys *be;                /* NULL: a multicast object, */
    bool multicast;
    uint32_t devices;                   /* lock: a bit for each that was added */
    struct bound *bound;                /* lock */
    const struct cwb_backend *b;
    uint64_t size;
    CUmemAllocationProp prop;
    uint32_t retained;                  /* lock: by cuMemRetainAllocationHandle */
    struct phys *of;                    /* owned reference: whose memory it is, when that has no handle any more; or NULL */
};

struct reservation {
    struct reservation *next;
    uint64_t address, size;
};

struct mapping {
    struct cw_tree_node node;           /* first; its key is the address */
    struct mapping *next;               /* of those that are being unmapped */
    uint64_t address, size;
    uint64_t offset;                    /* in the object; not 0 for multicast objects alone */
    struct phys *phys;                  /* owned reference */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation *reservations;    /* lock */
static struct cw_tree mappings;             /* lock */

static struct mapping *
mapping_beyond(uint64_t address)
{
    return (struct mapping *)(void *)cw_tree_beyond(&mappings, address);
}

/* The first mapping that ends beyond this address, or NULL. */
static struct mapping *
mapping_from(uint64_t address)
{
    struct mapping *m = (struct mapping *)(void *)cw_tree_up_to(&mappings, address);
    return m && address - m->address < m->size ? m : mapping_beyond(address);
}

/* All that have some of [from, to), by address; m may be taken out meanwhile. */
#define EACH_MAPPING(m, from, to) \
    for (struct mapping *m = mapping_from(from), *next_ = NULL; m && m->address < (to) && (next_ = mapping_beyond(m->address), true); m = next_)

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
    for (struct bound *b = p->bound, *n; b; b = n) {
        n = b->next;
        handle_put(&b->phys->obj);
        free(b);
    }
    if (p->of)
        handle_put(&p->of->obj);
    else if (p->be)
        p->b->phys_destroy(p->be);
    free(p);
}

static const struct obj_class phys_class = { .kind = KIND_PHYS, .finish = phys_finish };

CUresult
drv_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
    VMM();
    if (!ptr || !size || size % GRANULE || alignment & (alignment - 1) || addr % 65536 || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (size > MOST_ADDRESSES || alignment > MOST_ADDRESSES)
        return CUDA_ERROR_OUT_OF_MEMORY;
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
    if (p->location.type == CU_MEM_LOCATION_TYPE_DEVICE && (p->location.id < 0 || (uint32_t)p->location.id >= g.ndevices))
        return CUDA_ERROR_INVALID_DEVICE;
    const unsigned handles = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (p->type != CU_MEM_ALLOCATION_TYPE_PINNED || p->win32HandleMetaData || p->location.type < CU_MEM_LOCATION_TYPE_DEVICE ||
        p->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA || p->allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC ||
        (p->requestedHandleTypes && p->requestedHandleTypes != handles && p->requestedHandleTypes != CU_MEM_HANDLE_TYPE_FABRIC))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < COUNT(p->allocFlags.reserved); i++)
        if (p->allocFlags.reserved[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (p->requestedHandleTypes == CU_MEM_HANDLE_TYPE_FABRIC)
        return CUDA_ERROR_NOT_PERMITTED;                /* no access to a channel of IMEX (driver 580, where none is set up) */
    if (p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || (p->requestedHandleTypes && !g.backend->phys_export))
        return unsupported(function, "sharing memory with another process by this type of handle");
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return unsupported(function, "physical memory of the host");
    return CUDA_SUCCESS;
}

/* Takes be over. */
static CUresult
publish(struct device *d, struct cwb_phys *be, uint64_t size, const CUmemAllocationProp *prop, CUmemGenericAllocationHandle *handle)
{
    struct phys *p = calloc(1, sizeof *p);
    CUresult e = CUDA_ERROR_OUT_OF_MEMORY;
    if (p) {
        p->b = d->b;
        p->be = be;
        p->size = size;
        p->prop = *prop;
        e = handle_new(&p->obj, &phys_class, NULL);
    }
    if (e != CUDA_SUCCESS) {
        d->b->phys_destroy(be);
        free(p);
        return e;
    }
    *handle = p->obj.handle;
    handle_put(&p->obj);
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
    VMM();
    if (!handle || !size || size % GRANULE || flags || !prop)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = check_prop(prop, "cuMemCreate");
    if (e != CUDA_SUCCESS)
        return e;
    struct device *d = &g.devices[prop->location.id];
    if (size > d->props.total_memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct cwb_phys *be;
    e = result_of(d->b->phys_create(d->index, size, prop->requestedHandleTypes != 0, &be));
    return e == CUDA_SUCCESS ? publish(d, be, size, prop, handle) : e;
}

/* ---- between processes: a file descriptor ---------------------------------------------------------------------------------------- */

CUresult
drv_cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType handleType,
                                 unsigned long long flags)
{
    VMM();
    struct phys *p AUTO_PUT = handle_get((const void *)(uintptr_t)handle, KIND_PHYS);
    if (!p || p->multicast || !shareableHandle || flags || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(p->prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_INVALID_VALUE;
    int fd;
    CUresult e = result_of(p->b->phys_export(p->be, &fd));
    if (e == CUDA_SUCCESS)
        *(int *)shareableHandle = fd;
    return e;
}

CUresult
drv_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle, CUmemAllocationHandleType shHandleType)
{
    VMM();
    struct stat st;
    int fd = (int)(intptr_t)osHandle;
    if (!handle || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    struct device *d = &g.devices[0];
    if (!d->b->phys_import)
        return unsupported("cuMemImportFromShareableHandle", "sharing memory with another process on this device");
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size || st.st_size % (off_t)GRANULE)
        return CUDA_ERROR_UNKNOWN;              /* not what cuMemExportToShareableHandle gave (so driver 580) */
    struct cwb_phys *be;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUresult e = result_of(d->b->phys_import(d->index, fd, (size_t)st.st_size, &be));
    return e == CUDA_SUCCESS ? publish(d, be, (uint64_t)st.st_size, &prop, handle) : e;
}

CUresult
drv_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    VMM();
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    struct phys *p = NULL;
    pthread_mutex_lock(&lock);
    const struct mapping *m = mapping_from((uintptr_t)addr);
    if (m && m->address <= (uintptr_t)addr)
        p = m->phys;
    bool has_handle = p && handle_kind((void *)(uintptr_t)p->obj.handle) == KIND_PHYS;
    if (p)
        handle_ref(&p->obj);
    if (has_handle)
        p->retained++;
    pthread_mutex_unlock(&lock);
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (has_handle) {
        *handle = p->obj.handle;
        handle_put(&p->obj);
        return CUDA_SUCCESS;
    }
    struct phys *again = calloc(1, sizeof *again);      /* mapped, but released: another handle for it */
    CUresult e = CUDA_ERROR_OUT_OF_MEMORY;
    if (again) {
        *again = (struct phys){ .be = p->be, .multicast = p->multicast, .b = p->b, .size = p->size, .prop = p->prop, .of = p };
        e = handle_new(&again->obj, &phys_class, NULL);
    }
    if (e != CUDA_SUCCESS) {
        handle_put(&p->obj);
        free(again);
        return e;
    }
    *handle = again->obj.handle;
    handle_put(&again->obj);
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
    pthread_mutex_lock(&lock);
    bool kept = p->retained > 0;        /* each retained handle is released for itself */
    p->retained -= kept;
    bool released = kept || handle_kill(&p->obj);       /* under the lock, so that nobody retains a handle that ends; the memory goes later */
    pthread_mutex_unlock(&lock);
    return released ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;      /* mappings keep the memory */
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

/* fn for each part of m within [address, address + size) that memory is behind. Lock held. */
static cwb_result
each_part(const struct mapping *m, uint64_t address, uint64_t size, cwb_result (*fn)(uint64_t address, uint64_t size, void *user), void *user)
{
    uint64_t lo = address > m->address ? address : m->address;
    uint64_t hi = address + size < m->address + m->size ? address + size : m->address + m->size;
    if (lo >= hi)
        return CWB_OK;
    if (!m->phys->multicast)
        return fn(lo, hi - lo, user);
    cwb_result r = CWB_OK;
    for (const struct bound *b = m->phys->bound; b && r == CWB_OK; b = b->next) {
        if (b->at + b->size <= m->offset)
            continue;
        uint64_t from = m->address + (b->at > m->offset ? b->at - m->offset : 0), to = m->address + (b->at + b->size - m->offset);
        from = from > lo ? from : lo;
        to = to < hi ? to : hi;
        if (from < to)
            r = fn(from, to - from, user);
    }
    return r;
}

static cwb_result
unmap_part(uint64_t address, uint64_t size, void *unused)
{
    return g.backend->va_unmap(address, size);
}

static cwb_result
protect_part(uint64_t address, uint64_t size, void *flags)
{
    unsigned f = *(const unsigned *)flags;
    return g.backend->va_protect(address, size, f != 0, f == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

/* Map the part of b that m covers, with the access that the mapping has. Lock held. */
static CUresult
map_bound(const struct mapping *m, const struct bound *b)
{
    uint64_t from = b->at > m->offset ? b->at : m->offset;
    uint64_t to = b->at + b->size < m->offset + m->size ? b->at + b->size : m->offset + m->size;
    struct range r;
    if (from >= to)
        return CUDA_SUCCESS;
    uint64_t a = m->address + (from - m->offset);
    CUresult e = result_of(b->phys->b->va_map(a, to - from, b->phys->be, b->offset + (from - b->at)));
    if (e == CUDA_SUCCESS && range_find(a, &r) && r.kind == RANGE_MAPPED && r.access_flags)
        e = result_of(b->phys->b->va_protect(a, to - from, true, r.access_flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    return e;
}

/* Lock held. */
static CUresult
map_object(struct phys *p, uint64_t address, uint64_t size, uint64_t offset)
{
    if (!p->multicast)
        return result_of(p->b->va_map(address, size, p->be, offset));
    const struct mapping m = { .address = address, .size = size, .offset = offset };
    CUresult e = CUDA_SUCCESS;
    for (const struct bound *b = p->bound; b && e == CUDA_SUCCESS; b = b->next)
        e = map_bound(&m, b);
    return e;
}

CUresult
drv_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    VMM();
    PHYS(p, handle);
    if (!size || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!p->multicast && (offset || size != p->size))           /* "offset must be zero" of memory, which is mapped as a whole */
        return CUDA_ERROR_NOT_SUPPORTED;
    if (ptr % GRANULE || size % GRANULE || size > p->size || offset % GRANULE || offset > p->size - size)
        return CUDA_ERROR_INVALID_VALUE;
    struct mapping *m = malloc(sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    bool room = reserved(ptr, size) && !range_overlaps(ptr, size);
    CUresult e = room ? map_object(p, ptr, size, offset) : CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS) {
        struct range r = { .base = ptr, .size = size, .kind = RANGE_MAPPED, .device = p->prop.location.id, .flags = p->prop.requestedHandleTypes, .device_address = ptr,
                           .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
        e = range_add(&r);
        if (e == CUDA_SUCCESS) {
            handle_ref(&p->obj);
            *m = (struct mapping){ .node.key = ptr, .address = ptr, .size = size, .offset = offset, .phys = p };
            cw_tree_insert(&mappings, &m->node);
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
    /* Only whole mappings; within a reservation they need not fill the range (driver 580). */
    uint64_t sum = 0;
    bool cut = false;
    EACH_MAPPING(m, ptr, ptr + size) {
        if (m->address >= ptr && m->address + m->size <= ptr + size)
            sum += m->size;
        else
            cut = true;
    }
    if (!cut && (sum == size || reserved(ptr, size))) {
        e = CUDA_SUCCESS;
        EACH_MAPPING(m, ptr, ptr + size) {
            struct range r;
            cw_tree_remove(&mappings, &m->node);
            m->next = gone;
            gone = m;
            (void)range_remove(m->address, 1u << RANGE_MAPPED, &r);
        }
        for (const struct mapping *m = gone; m; m = m->next) {
            CUresult f = CUDA_SUCCESS;
            if (m->phys->multicast)     /* its parts are mapped one by one */
                each_part(m, m->address, m->size, unmap_part, NULL);
            else
                f = result_of(g.backend->va_unmap(m->address, m->size));
            if (f != CUDA_SUCCESS)
                handle_ref(&m->phys->obj);      /* for good: the memory may still be there */
            e = e == CUDA_SUCCESS ? f : e;
        }
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
        if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
        if (desc[i].location.type == CU_MEM_LOCATION_TYPE_HOST || desc[i].location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
            return unsupported("cuMemSetAccess", "access rights of the host");
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || desc[i].location.id < 0 || (uint32_t)desc[i].location.id >= g.ndevices)
            return CUDA_ERROR_INVALID_VALUE;
        if ((unsigned)desc[i].flags > most)
            most = desc[i].flags;
    }
    /* All devices of a backend see one mapping: the widest right counts. */
    bool holes = false;
    cwb_result r = CWB_OK;
    pthread_mutex_lock(&lock);
    EACH_MAPPING(m, ptr, ptr + size)
        holes |= m->phys->multicast;
    if (!holes)
        r = g.backend->va_protect(ptr, size, most != 0, most == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (holes)
        EACH_MAPPING(m, ptr, ptr + size)
            r = r == CWB_OK ? each_part(m, ptr, size, protect_part, &most) : r;
    pthread_mutex_unlock(&lock);
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
    *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (!range_find(ptr, &r) || r.kind != RANGE_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = r.access_flags;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)
{
    VMM();
    if (!granularity || !prop || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULE;             /* also for properties that cuMemCreate refuses (driver 580) */
    return CUDA_SUCCESS;
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

/* ---- multicast objects of one device: another name for the memory that is bound to them ---------------------------------------------------------- */

CUresult
drv_cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop, CUmulticastGranularity_flags option)
{
    VMM();
    if (!granularity || !prop || !prop->numDevices || (unsigned)option > CU_MULTICAST_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULE;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle, const CUmulticastObjectProp *prop)
{
    VMM();
    if (!mcHandle || !prop || !prop->numDevices || !prop->size || prop->size % GRANULE || prop->flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!(g.backend->caps & CWB_CAP_MULTICAST))
        return unsupported("cuMulticastCreate", "multicast on this device");
    if (prop->numDevices > 1 || prop->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return unsupported("cuMulticastCreate", "a multicast object of several devices or processes");
    struct phys *p = calloc(1, sizeof *p);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *p = (struct phys){ .multicast = true, .b = g.backend, .size = prop->size };
    CUresult e = handle_new(&p->obj, &phys_class, NULL);
    if (e != CUDA_SUCCESS) {
        free(p);
        return e;
    }
    *mcHandle = p->obj.handle;
    handle_put(&p->obj);
    return CUDA_SUCCESS;
}

#define MULTICAST(p, h)                                                                                                \
    VMM();                                                                                                             \
    PHYS(p, h);                                                                                                        \
    if (!p->multicast)                                                                                                 \
        return CUDA_ERROR_INVALID_VALUE

CUresult
drv_cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev)
{
    struct device *d;
    MULTICAST(p, mcHandle);
    CUresult e = device_get(dev, &d);
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&lock);
    if (p->devices)
        e = CUDA_ERROR_INVALID_VALUE;   /* as many as it was made for are there */
    else
        p->devices = 1u << dev;
    pthread_mutex_unlock(&lock);
    return e;
}

/* Lock held. */
static CUresult
bind(struct phys *mc, uint64_t at, struct phys *memory, uint64_t offset, uint64_t size)
{
    if (!size || at % GRANULE || offset % GRANULE || size % GRANULE || size > mc->size || at > mc->size - size || memory->multicast ||
        size > memory->size || offset > memory->size - size || mc->devices != 1u << memory->prop.location.id)
        return CUDA_ERROR_INVALID_VALUE;
    for (const struct bound *b = mc->bound; b; b = b->next)
        if (at < b->at + b->size && b->at < at + size)
            return CUDA_ERROR_INVALID_VALUE;
    struct bound *b = malloc(sizeof *b);
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    handle_ref(&memory->obj);
    *b = (struct bound){ mc->bound, at, size, offset, memory };
    mc->bound = b;
    CUresult e = CUDA_SUCCESS;
    EACH_MAPPING(m, 0, UINT64_MAX)
        if (m->phys == mc && e == CUDA_SUCCESS)
            e = map_bound(m, b);
    return e;
}

CUresult
drv_cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUmemGenericAllocationHandle memHandle, size_t memOffset,
                       size_t size, unsigned long long flags)
{
    MULTICAST(p, mcHandle);
    PHYS(memory, memHandle);
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    CUresult e = bind(p, mcOffset, memory, memOffset, size);
    pthread_mutex_unlock(&lock);
    return e;
}

CUresult
drv_cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    MULTICAST(p, mcHandle);
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = CUDA_ERROR_INVALID_VALUE;      /* memory of cuMemCreate that is mapped there */
    pthread_mutex_lock(&lock);
    const struct mapping *m = mapping_from(memptr);
    if (m && m->address <= memptr && size <= m->size - (memptr - m->address))
        e = bind(p, mcOffset, m->phys, memptr - m->address, size);
    pthread_mutex_unlock(&lock);
    return e;
}

CUresult
drv_cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, size_t size)
{
    struct device *d;
    MULTICAST(p, mcHandle);
    CUresult e = device_get(dev, &d);
    if (e != CUDA_SUCCESS)
        return e;
    struct bound *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct bound **l = &p->bound; *l && !found; l = found ? l : &(*l)->next) {
        if ((*l)->at == mcOffset && (*l)->size == size) {
            found = *l;
            *l = found->next;
        }
    }
    EACH_MAPPING(m, 0, UINT64_MAX) {
        if (!found)
            break;
        uint64_t from = found->at > m->offset ? found->at : m->offset;
        uint64_t to = found->at + size < m->offset + m->size ? found->at + size : m->offset + m->size;
        if (m->phys == p && from < to)
            (void)p->b->va_unmap(m->address + (from - m->offset), to - from);
    }
    pthread_mutex_unlock(&lock);
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    handle_put(&found->phys->obj);
    free(found);
    return CUDA_SUCCESS;
}
