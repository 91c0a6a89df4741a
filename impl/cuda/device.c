/* SPDX-License-Identifier: Apache-2.0
 * The cuda backend's table (impl/backend.h): devices, contexts and memory of NVIDIA's driver. Device attributes are the real
 * device's. */
#include "impl/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local bool cwc_in_host_fn;
static uint32_t ndevices;

cwb_result
cwc_result(struct cwb_context *c, CUresult r)
{
    cwb_result out;
    switch ((int)r) {
    case CUDA_SUCCESS: return CWB_OK;
    case CUDA_ERROR_NOT_READY: return CWB_NOT_READY;
    case CUDA_ERROR_OUT_OF_MEMORY: return CWB_NOMEM;
    case CUDA_ERROR_INVALID_VALUE: case CUDA_ERROR_INVALID_HANDLE: case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED: return CWB_INVALID;
    case CUDA_ERROR_NOT_SUPPORTED: return CWB_UNSUPPORTED;
    case CUDA_ERROR_NO_DEVICE: case CUDA_ERROR_INVALID_DEVICE: return CWB_NO_DEVICE;
    case CUDA_ERROR_DEINITIALIZED: return CWB_SHUT_DOWN;
    case CUDA_ERROR_NOT_PERMITTED: return CWB_NOT_PERMITTED;
    case CUDA_ERROR_INVALID_PTX: case CUDA_ERROR_NO_BINARY_FOR_GPU: case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: case CUDA_ERROR_JIT_COMPILER_NOT_FOUND: return CWB_COMPILE;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: case CUDA_ERROR_INVALID_CLUSTER_SIZE: return CWB_RESOURCES;
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: case CUDA_ERROR_ALREADY_MAPPED: return CWB_ALREADY;
    case CUDA_ERROR_ILLEGAL_ADDRESS: case CUDA_ERROR_INVALID_ADDRESS_SPACE: out = CWB_ILLEGAL_ADDRESS; break;
    case CUDA_ERROR_MISALIGNED_ADDRESS: out = CWB_MISALIGNED; break;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: out = CWB_ILLEGAL_INSTRUCTION; break;
    case CUDA_ERROR_ASSERT: out = CWB_ASSERT; break;
    case CUDA_ERROR_HARDWARE_STACK_ERROR: out = CWB_STACK; break;
    case CUDA_ERROR_INVALID_PC: out = CWB_INVALID_PC; break;
    case CUDA_ERROR_LAUNCH_TIMEOUT: out = CWB_TIMEOUT; break;
    case CUDA_ERROR_LAUNCH_FAILED: out = CWB_LAUNCH_FAILED; break;
    default: {
        const char *name = NULL;
        if (cwc.cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
            name = "an unknown error";
        cw_warn("the NVIDIA driver gave %s", name);
        return CWB_INTERNAL;
    }
    }
    int none = CWB_OK;
    if (c)
        atomic_compare_exchange_strong(&c->error, &none, (int)out);
    return out;
}

static cwb_result
cuda_load(const char *option)
{
    return cwc_load() ? CWB_OK : CWB_NO_DEVICE;
}

static cwb_result
cuda_open(const char *option, uint32_t *count)
{
    int n = 0;
    cwc_unoptimised = option != NULL;      /* "O0" is the only suffix that the driver passes */
    CUresult r = cwc.cuInit(0);
    if (r == CUDA_SUCCESS)
        r = cwc.cuDeviceGetCount(&n);
    if (r != CUDA_SUCCESS || n <= 0) {
        const char *name = NULL;
        if (r == CUDA_SUCCESS || cwc.cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
            name = "it has no device";
        cw_error("the cuda device: the NVIDIA driver does not start: %s", name);
        return CWB_NO_DEVICE;
    }
    *count = ndevices = (uint32_t)n;
    return CWB_OK;
}

static void
cuda_shutdown(void)
{
    /* The real driver shuts itself down; it may drop or call pending host functions. */
}

static int
attribute(CUdevice d, CUdevice_attribute a)
{
    int v = 0;
    return cwc.cuDeviceGetAttribute(&v, a, d) == CUDA_SUCCESS && v > 0 ? v : 0;
}

static cwb_result
cuda_device_props(uint32_t device, struct cwb_device_props *out)
{
    CUdevice d;
    memset(out, 0, sizeof *out);
    CUresult r = cwc.cuDeviceGet(&d, (int)device);
    if (r == CUDA_SUCCESS)
        r = cwc.cuDeviceGetName(out->name, sizeof out->name, d);
    size_t total = 0;
    if (r == CUDA_SUCCESS)
        r = cwc.cuDeviceTotalMem_v2(&total, d);
    if (r != CUDA_SUCCESS)
        return cwc_result(NULL, r);
    out->name[sizeof out->name - 1] = 0;
    CUuuid uuid;
    if ((cwc.cuDeviceGetUuid_v2 && cwc.cuDeviceGetUuid_v2(&uuid, d) == CUDA_SUCCESS) ||
        (cwc.cuDeviceGetUuid && cwc.cuDeviceGetUuid(&uuid, d) == CUDA_SUCCESS))
        memcpy(out->uuid, uuid.bytes, sizeof out->uuid);
    out->total_memory = total;
#define A(field, name) out->field = (uint32_t)attribute(d, CU_DEVICE_ATTRIBUTE_##name)
    A(cc_major, COMPUTE_CAPABILITY_MAJOR);
    A(cc_minor, COMPUTE_CAPABILITY_MINOR);
    A(multiprocessors, MULTIPROCESSOR_COUNT);
    A(clock_khz, CLOCK_RATE);
    A(memory_clock_khz, MEMORY_CLOCK_RATE);
    A(memory_bus_bits, GLOBAL_MEMORY_BUS_WIDTH);
    A(l2_bytes, L2_CACHE_SIZE);
    A(max_threads_per_block, MAX_THREADS_PER_BLOCK);
    A(max_threads_per_mp, MAX_THREADS_PER_MULTIPROCESSOR);
    A(max_blocks_per_mp, MAX_BLOCKS_PER_MULTIPROCESSOR);
    A(shared_per_block, MAX_SHARED_MEMORY_PER_BLOCK);
    A(shared_per_block_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    A(shared_per_mp, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    A(registers_per_block, MAX_REGISTERS_PER_BLOCK);
    A(registers_per_mp, MAX_REGISTERS_PER_MULTIPROCESSOR);
    A(pci_domain, PCI_DOMAIN_ID);
    A(pci_bus, PCI_BUS_ID);
    A(pci_device, PCI_DEVICE_ID);
#undef A
    out->integrated = attribute(d, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
    return CWB_OK;
}

/* Facts of the hardware. impl/driver answers for the software stack (pools, graphs, clusters, sharing between processes). */
static bool
cuda_device_attribute(uint32_t device, int a, int *value)
{
    static const struct { short first, last; } hardware[] = {
        { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE },
        { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR },
        { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS },
        { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR },
        { CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR },
        { CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK },
    };
    CUdevice d;
    if (a == CU_DEVICE_ATTRIBUTE_GPU_OVERLAP || cwc.cuDeviceGet(&d, (int)device) != CUDA_SUCCESS)
        return false;
    for (unsigned i = 0; i < sizeof hardware / sizeof *hardware; i++)
        if (a >= hardware[i].first && a <= hardware[i].last)
            return cwc.cuDeviceGetAttribute(value, (CUdevice_attribute)a, d) == CUDA_SUCCESS;
    return false;
}

/* Asks the primary context, which the device keeps for this purpose. */
static cwb_result
cuda_memory_info(uint32_t device, size_t *free_bytes, size_t *total_bytes)
{
    CUdevice d;
    CUcontext primary, before = NULL;
    (void)cwc.cuCtxGetCurrent(&before);
    CUresult r = cwc.cuDeviceGet(&d, (int)device);
    if (r == CUDA_SUCCESS)
        r = cwc.cuDevicePrimaryCtxRetain(&primary, d);
    if (r != CUDA_SUCCESS)
        return cwc_result(NULL, r);
    r = cwc.cuCtxSetCurrent(primary);
    if (r == CUDA_SUCCESS)
        r = cwc.cuMemGetInfo_v2(free_bytes, total_bytes);
    (void)cwc.cuCtxSetCurrent(before);
    (void)(cwc.cuDevicePrimaryCtxRelease_v2 ? cwc.cuDevicePrimaryCtxRelease_v2(d) : CUDA_SUCCESS);
    return cwc_result(NULL, r);
}

/* ---- contexts ---- */

static cwb_result
cuda_context_create(uint32_t device, struct cwb_context **out)
{
    struct cwb_context *c = calloc(1, sizeof *c);
    if (!c)
        return CWB_NOMEM;
    CUcontext popped;
    CUresult r = cwc.cuDeviceGet(&c->device, (int)device);
    if (r == CUDA_SUCCESS)
        r = cwc.cuCtxCreate_v2(&c->real, CU_CTX_MAP_HOST, c->device);
    if (r == CUDA_SUCCESS) {
        r = cwc.cuStreamCreateWithPriority(&c->query, CU_STREAM_NON_BLOCKING, 0);
        (void)cwc.cuCtxPopCurrent_v2(&popped);
        if (r != CUDA_SUCCESS)
            (void)cwc.cuCtxDestroy_v2(c->real);
    }
    if (r != CUDA_SUCCESS) {
        free(c);
        return cwc_result(NULL, r);
    }
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return CWB_OK;
}

/* Memory that host functions gave back. */
static void
free_late(struct cwb_context *c)
{
    if (cwc_in_host_fn)
        return;
    pthread_mutex_lock(&c->lock);
    struct cwc_freed *f = c->freed;
    c->freed = NULL;
    pthread_mutex_unlock(&c->lock);
    while (f) {
        struct cwc_freed *next = f->next;
        (void)cwc_result(c, cwc.cuMemFree_v2(f->address));
        free(f);
        f = next;
    }
}

static void
cuda_context_destroy(struct cwb_context *c)
{
    if (!c)
        return;
    if (cwc.cuCtxSetCurrent(c->real) == CUDA_SUCCESS) {
        (void)cwc.cuCtxSynchronize();
        free_late(c);
        (void)cwc.cuStreamDestroy_v2(c->query);
    }
    CUresult r = cwc.cuCtxDestroy_v2(c->real);
    if (r != CUDA_SUCCESS)
        (void)cwc_result(c, r);
    (void)cwc.cuCtxSetCurrent(NULL);
    while (c->freed) {
        struct cwc_freed *next = c->freed->next;
        free(c->freed);
        c->freed = next;
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static cwb_result
cuda_context_error(struct cwb_context *c)
{
    int known = atomic_load(&c->error);
    if (known || cwc_in_host_fn)
        return (cwb_result)known;
    ENTER(c);
    cwb_result r = cwc_result(c, cwc.cuStreamQuery(c->query));
    return CWB_IS_FAULT(r) ? r : CWB_OK;
}

static cwb_result
cuda_context_sync(struct cwb_context *c)
{
    ENTER(c);
    cwb_result r = cwc_result(c, cwc.cuCtxSynchronize());
    if (r == CWB_OK)
        free_late(c);
    int known = atomic_load(&c->error);
    return known ? (cwb_result)known : r;
}

static cwb_result
cuda_context_limit(struct cwb_context *c, enum cwb_limit limit, size_t value)
{
    static const CUlimit map[] = { [CWB_LIMIT_STACK] = CU_LIMIT_STACK_SIZE, [CWB_LIMIT_PRINTF_FIFO] = CU_LIMIT_PRINTF_FIFO_SIZE,
                                   [CWB_LIMIT_MALLOC_HEAP] = CU_LIMIT_MALLOC_HEAP_SIZE };
    ENTER(c);
    return cwc_result(c, cwc.cuCtxSetLimit(map[limit], value));
}

/* ---- memory ---- */

static cwb_result
cuda_mem_alloc(struct cwb_context *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address)
{
    CUdeviceptr p = 0;
    void *host = NULL;
    ENTER(c);
    free_late(c);
    if (kind == CWB_MEM_PINNED) {
        CUresult r = cwc.cuMemHostAlloc(&host, size, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
        *address = (uintptr_t)host;
        return cwc_result(c, r);
    }
    CUresult r = kind == CWB_MEM_MANAGED ? cwc.cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL) : cwc.cuMemAlloc_v2(&p, size);
    if (r == CUDA_SUCCESS && align && p % align) {
        (void)cwc.cuMemFree_v2(p);
        cw_warn("the NVIDIA driver gave memory that is not aligned to %zu bytes", align);
        return CWB_NOMEM;
    }
    *address = p;
    return cwc_result(c, r);
}

static cwb_result
cuda_mem_free(struct cwb_context *c, enum cwb_mem_kind kind, uint64_t address, size_t size)
{
    (void)size;
    if (cwc_in_host_fn && kind != CWB_MEM_PINNED) {
        struct cwc_freed *f = malloc(sizeof *f);
        if (!f)
            return CWB_NOMEM;
        f->address = address;
        pthread_mutex_lock(&c->lock);
        f->next = c->freed;
        c->freed = f;
        pthread_mutex_unlock(&c->lock);
        return CWB_OK;
    }
    ENTER(c);
    return cwc_result(c, kind == CWB_MEM_PINNED ? cwc.cuMemFreeHost((void *)(uintptr_t)address) : cwc.cuMemFree_v2(address));
}

static cwb_result
cuda_mem_register(struct cwb_context *c, void *ptr, size_t size, bool read_only, uint64_t *device_address)
{
    CUdeviceptr p = 0;
    ENTER(c);
    CUresult r = cwc.cuMemHostRegister_v2(ptr, size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                                         (read_only ? CU_MEMHOSTREGISTER_READ_ONLY : 0));
    if (r != CUDA_SUCCESS)
        return cwc_result(c, r);
    r = cwc.cuMemHostGetDevicePointer_v2(&p, ptr, 0);
    *device_address = p;
    if (r != CUDA_SUCCESS)
        (void)cwc.cuMemHostUnregister(ptr);
    return cwc_result(c, r);
}

static cwb_result
cuda_mem_unregister(struct cwb_context *c, void *ptr, size_t size)
{
    (void)size;
    ENTER(c);
    return cwc_result(c, cwc.cuMemHostUnregister(ptr));
}

/* ---- virtual memory management ---- */

struct cwb_phys {
    CUmemGenericAllocationHandle real;
    uint32_t device;
};

static cwb_result
cuda_va_reserve(size_t size, size_t align, uint64_t hint, uint64_t *address)
{
    CUdeviceptr p = 0;
    CUresult r = cwc.cuMemAddressReserve(&p, size, align, hint, 0);
    if (r == CUDA_SUCCESS && hint && p != hint) {
        (void)cwc.cuMemAddressFree(p, size);
        return CWB_ADDRESS_IN_USE;
    }
    *address = p;
    return cwc_result(NULL, r);
}

static cwb_result
cuda_va_release(uint64_t address, size_t size)
{
    return cwc_result(NULL, cwc.cuMemAddressFree(address, size));
}

static cwb_result
cuda_phys_create(uint32_t device, size_t size, bool shared, struct cwb_phys **out)
{
    struct cwb_phys *p = calloc(1, sizeof *p);
    if (!p)
        return CWB_NOMEM;
    p->device = device;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE } };
    prop.location.id = (int)device;
    CUresult r = cwc.cuMemCreate(&p->real, size, &prop, 0);
    if (r != CUDA_SUCCESS) {
        free(p);
        return cwc_result(NULL, r);
    }
    *out = p;
    return CWB_OK;
}

static void
cuda_phys_destroy(struct cwb_phys *p)
{
    if (!p)
        return;
    (void)cwc_result(NULL, cwc.cuMemRelease(p->real));
    free(p);
}

static cwb_result
cuda_va_map(uint64_t address, size_t size, struct cwb_phys *p, size_t offset)
{
    return cwc_result(NULL, cwc.cuMemMap(address, size, offset, p->real, 0));
}

static cwb_result
cuda_va_unmap(uint64_t address, size_t size)
{
    return cwc_result(NULL, cwc.cuMemUnmap(address, size));
}

/* The first device must get access; others get it where they can reach the memory. */
static cwb_result
cuda_va_protect(uint64_t address, size_t size, bool readable, bool writable)
{
    cwb_result r = CWB_INVALID;
    for (uint32_t i = 0; i < ndevices; i++) {
        CUmemAccessDesc d = { .location = { CU_MEM_LOCATION_TYPE_DEVICE },
                              .flags = writable   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                       : readable ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                  : CU_MEM_ACCESS_FLAGS_PROT_NONE };
        d.location.id = (int)i;
        CUresult e = cwc.cuMemSetAccess(address, size, &d, 1);
        if (e == CUDA_SUCCESS)
            r = CWB_OK;
        else if (i == 0)
            r = cwc_result(NULL, e);
    }
    return r;
}

const struct cwb_backend cwb_cuda = {
    .abi_version = CWB_ABI_VERSION,
    .name = "cuda",
    .caps = CWB_CAP_MANAGED | CWB_CAP_VMM | CWB_CAP_REGISTER | CWB_CAP_TEXTURES | CWB_CAP_STREAM_VALUE | CWB_CAP_COOPERATIVE |
            CWB_CAP_CLUSTER | CWB_CAP_HOST_THREAD,
    .load = cuda_load,
    .open = cuda_open,
    .shutdown = cuda_shutdown,
    .device_props = cuda_device_props,
    .device_attribute = cuda_device_attribute,
    .memory_info = cuda_memory_info,
    .context_create = cuda_context_create,
    .context_destroy = cuda_context_destroy,
    .context_sync = cuda_context_sync,
    .context_error = cuda_context_error,
    .context_limit = cuda_context_limit,
    .mem_alloc = cuda_mem_alloc,
    .mem_free = cuda_mem_free,
    .mem_register = cuda_mem_register,
    .mem_unregister = cuda_mem_unregister,
    .va_reserve = cuda_va_reserve,
    .va_release = cuda_va_release,
    .phys_create = cuda_phys_create,
    .phys_destroy = cuda_phys_destroy,
    .va_map = cuda_va_map,
    .va_unmap = cuda_va_unmap,
    .va_protect = cuda_va_protect,
    .array_create = cwc_array_create,
    .array_destroy = cwc_array_destroy,
    .texture_create = cwc_texture_create,
    .texture_destroy = cwc_texture_destroy,
    .surface_create = cwc_surface_create,
    .surface_destroy = cwc_surface_destroy,
    .tensor_map = cwc_tensor_map,
    .tensor_map_address = cwc_tensor_map_address,
    .stream_create = cwc_stream_create,
    .stream_destroy = cwc_stream_destroy,
    .stream_query = cwc_stream_query,
    .stream_sync = cwc_stream_sync,
    .stream_is_full = cwc_stream_is_full,
    .stream_make_room = cwc_stream_make_room,
    .event_create = cwc_event_create,
    .event_destroy = cwc_event_destroy,
    .event_record = cwc_event_record,
    .event_query = cwc_event_query,
    .event_sync = cwc_event_sync,
    .event_elapsed = cwc_event_elapsed,
    .stream_wait_event = cwc_stream_wait_event,
    .stream_host_fn = cwc_stream_host_fn,
    .stream_copy = cwc_stream_copy,
    .stream_fill = cwc_stream_fill,
    .stream_wait_value = cwc_stream_wait_value,
    .stream_write_value = cwc_stream_write_value,
    .module_load = cwc_module_load,
    .module_variable = cwc_module_variable,
    .module_unload = cwc_module_unload,
    .kernel_prepare = cwc_kernel_prepare,
    .kernel_facts = cwc_kernel_facts,
    .launch = cwc_launch,
};
