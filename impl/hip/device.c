/* SPDX-License-Identifier: Apache-2.0
 * The hip device: AMD GPUs through the HIP runtime, which is loaded before this device is opened (CUDAWAY_HIP_LIBRARY, for gfxemu the
 * library beside this one, else libamdhip64.so of any version from 5.2). One HIP library is loaded in a process. */
#define _GNU_SOURCE
#include "impl/hip/device.h"

#include "impl/api/cuda.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/texture.h"
#include "jit/jit.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hip_api hip;

enum { MAX_DEVICES = 16 };
static struct {
    _Atomic(void *) library;            /* loaded, and `hip` has its functions */
    char path[4096];
    int ndevices, version;
    char arch[MAX_DEVICES][64];
    uint32_t multiprocessors[MAX_DEVICES];
} g;

/* ---- errors ---- */

static const struct { hipError_t hip; cwb_result r; } errors[] = {
    { hipSuccess, CWB_OK }, { hipErrorNotReady, CWB_NOT_READY }, { hipErrorOutOfMemory, CWB_NOMEM }, { hipErrorInvalidValue, CWB_INVALID },
    { hipErrorInvalidDevicePointer, CWB_INVALID }, { hipErrorInvalidHandle, CWB_INVALID }, { hipErrorInvalidConfiguration, CWB_RESOURCES },
    { hipErrorNotSupported, CWB_UNSUPPORTED }, { hipErrorNoDevice, CWB_NO_DEVICE }, { hipErrorInvalidDevice, CWB_NO_DEVICE },
    { hipErrorNotInitialized, CWB_NO_DEVICE }, { hipErrorDeinitialized, CWB_SHUT_DOWN }, { hipErrorInvalidImage, CWB_COMPILE },
    { hipErrorNoBinaryForGpu, CWB_COMPILE }, { hipErrorInvalidDeviceFunction, CWB_COMPILE }, { hipErrorLaunchOutOfResources, CWB_RESOURCES },
    { hipErrorCooperativeLaunchTooLarge, CWB_RESOURCES }, { hipErrorAlreadyMapped, CWB_ALREADY },
    { hipErrorHostMemoryAlreadyRegistered, CWB_ALREADY }, { hipErrorHostMemoryNotRegistered, CWB_INVALID },
    { hipErrorIllegalAddress, CWB_ILLEGAL_ADDRESS }, { hipErrorMisalignedAddress, CWB_MISALIGNED }, { hipErrorLaunchTimeOut, CWB_TIMEOUT }, { hipErrorAssert, CWB_ASSERT },
    { hipErrorLaunchFailure, CWB_LAUNCH_FAILED }, { hipErrorIllegalState, CWB_LAUNCH_FAILED },
};

cwb_result
hip_result(hipError_t e)
{
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].hip == e)
            return errors[i].r;
    return CWB_INTERNAL;
}

cwb_result
hip_outcome(struct cwb_context *c, hipError_t e)
{
    cwb_result r = hip_result(e);
    int sticky = atomic_load(&c->error);
    if (sticky != CWB_OK)
        return (cwb_result)sticky;
    if (CWB_IS_FAULT(r)) {
        hip_fifo_flush(c, false);
        if (c->asserted)
            r = CWB_ASSERT;             /* it said so before its trap */
        else if (c->told)
            r = c->told == CWJ_AMD_FAULT_MISALIGNED ? CWB_MISALIGNED : c->told == CWJ_AMD_FAULT_PC ? CWB_INVALID_PC : CWB_ILLEGAL_ADDRESS;
        else if (r == CWB_ASSERT)
            r = CWB_TRAP;               /* HIP has one error for both */
        atomic_store(&c->error, r);
    }
    return r;
}

void
hip_use(const struct cwb_context *c)
{
    static _Thread_local int current = -1;
    if (current != c->device) {
        (void)hip.hipSetDevice(c->device);
        current = c->device;
    }
}

/* ---- the library ---- */

/* Of the HIP runtime and what it brings; more than they need. */
enum { FOR_CONSTRUCTORS = 1 << 20 };

/* `why` has 500 bytes. The program may let inexact results trap, which the constructors of these libraries have. */
static void *
open_library(const void *beside, const char *path, char why[500], bool *no_memory)
{
    fenv_t program;
    fegetenv(&program);
    fesetenv(FE_DFL_ENV);
    void *library = cw_open_library(beside, path, FOR_CONSTRUCTORS, why, 500, no_memory);
    fesetenv(&program);
    return library;
}

static void *
find_library(bool emulated, const char **path, cwb_result *r)
{
    static const char *const names[] = { "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5" };
    const void *beside = emulated ? (const void *)(uintptr_t)&find_library : NULL;
    char why[500];
    bool no_memory = false;
    void *l = NULL;
    *path = emulated ? "libcudaway-gfxemu.so" : cw_env_get(CW_ENV_HIP_LIBRARY);
    const bool named = *path && **path;
    if (named)
        l = open_library(beside, *path, why, &no_memory);
    for (unsigned i = 0; !named && !l && !no_memory && i < sizeof names / sizeof *names; i++)
        l = open_library(NULL, *path = names[i], why, &no_memory);
    if (!l && (named || no_memory))
        cw_error("the HIP library cannot be loaded: %s", why);
    else if (!l)
        cw_info("no HIP runtime: libamdhip64.so is not installed (package libamdhip64-5, or ROCm)");
    *r = l ? CWB_OK : no_memory ? CWB_NOMEM : CWB_NO_DEVICE;
    return l;
}

/* The library's functions; false: one is missing. */
static bool
find_functions(void *library, const char *path, struct hip_api *to)
{
    const char *missing = NULL;
#define R true
#define O false
#define X(need, since, name, params)                                                \
    *(void **)&to->name = dlsym(library, #name);                                    \
    if (!to->name && need)                                                          \
        missing = #name ", of ROCm " since;
    HIP_FUNCTIONS(X)
#undef X
#undef R
#undef O
    if (!missing && !to->hipGetDeviceProperties && !to->hipGetDevicePropertiesR0600)
        missing = "hipGetDeviceProperties";
    if (missing)
        cw_error("%s lacks %s; ROCm 5.2 or newer is needed", path, missing);
    return !missing;
}

static cwb_result
no_device(hipError_t e, const char *path)
{
    if (e == hipErrorOutOfMemory)
        return CWB_NOMEM;
    cw_info("the HIP runtime %s finds no AMD GPU", path);
    return CWB_NO_DEVICE;
}

static cwb_result
hip_load(const char *option)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* not held while the loader is called */
    const char *path;
    cwb_result r;
    struct hip_api functions;
    if (atomic_load_explicit(&g.library, memory_order_acquire))
        return CWB_OK;
    void *l = find_library(option != NULL, &path, &r);
    if (!l)
        return r;
    if (!find_functions(l, path, &functions))
        return CWB_NO_DEVICE;
    hipError_t e = functions.hipInit(0);        /* here, since it loads more libraries */
    if (e != hipSuccess)
        return no_device(e, path);
    pthread_mutex_lock(&lock);
    if (!g.library) {
        hip = functions;
        snprintf(g.path, sizeof g.path, "%s", path);
        atomic_store_explicit(&g.library, l, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return CWB_OK;
}

static cwb_result
hip_open(const char *option, uint32_t *device_count)
{
    *device_count = 0;
    int version = 0, n = 0;
    hipError_t e = hip.hipGetDeviceCount(&n);
    if (e != hipSuccess || n <= 0)
        return no_device(e, g.path);
    (void)hip.hipRuntimeGetVersion(&version);
    g.version = version;
    g.ndevices = n < MAX_DEVICES ? n : MAX_DEVICES;
    cw_debug("HIP runtime %s, version %d.%d: %d devices", g.path, version / 10000000, version / 100000 % 100, n);
    *device_count = (uint32_t)g.ndevices;
    return CWB_OK;
}

static void
hip_shutdown(void)
{
    /* HIP tears itself down in its own exit handlers, which may have run already. */
}

int
hip_device_count(void)
{
    return g.ndevices;
}

int
hip_version(void)
{
    return g.version;
}

const char *
hip_arch(int device)
{
    return g.arch[device];
}

uint32_t
hip_multiprocessors(int device)
{
    return g.multiprocessors[device];
}

/* "gfx90a:sramecc+:xnack-" */
static void
keep_arch(int device, const char *name)
{
    snprintf(g.arch[device], sizeof g.arch[device], "%.*s", (int)strcspn(name, ":"), name);
}

static cwb_result
hip_device_props(uint32_t device, struct cwb_device_props *out)
{
    memset(out, 0, sizeof *out);
    if (hip.hipGetDevicePropertiesR0600) {
        struct hip_props_r0600 p;
        memset(&p, 0, sizeof p);
        hipError_t e = hip.hipGetDevicePropertiesR0600(&p, (int)device);
        if (e != hipSuccess)
            return hip_result(e);
        snprintf(out->name, sizeof out->name, "%.255s", p.name);
        memcpy(out->uuid, p.uuid.bytes, 16);
        out->total_memory = p.totalGlobalMem;
        out->multiprocessors = (uint32_t)p.multiProcessorCount;
        out->clock_khz = (uint32_t)p.clockRate;
        out->memory_clock_khz = (uint32_t)p.memoryClockRate;
        out->memory_bus_bits = (uint32_t)p.memoryBusWidth;
        out->l2_bytes = (uint32_t)p.l2CacheSize;
        out->shared_per_block = (uint32_t)p.sharedMemPerBlock;
        out->pci_domain = (uint32_t)p.pciDomainID;
        out->pci_bus = (uint32_t)p.pciBusID;
        out->pci_device = (uint32_t)p.pciDeviceID;
        out->integrated = p.integrated;
        keep_arch((int)device, p.gcnArchName);
        g.multiprocessors[device] = out->multiprocessors;
    } else {
        struct hip_props_r0000 p;
        memset(&p, 0, sizeof p);
        hipError_t e = hip.hipGetDeviceProperties(&p, (int)device);
        if (e != hipSuccess)
            return hip_result(e);
        snprintf(out->name, sizeof out->name, "%.255s", p.name);
        if (hip.hipDeviceGetUuid)
            (void)hip.hipDeviceGetUuid((hipUUID *)out->uuid, (hipDevice_t)device);
        out->total_memory = p.totalGlobalMem;
        out->multiprocessors = (uint32_t)p.multiProcessorCount;
        out->clock_khz = (uint32_t)p.clockRate;
        out->memory_clock_khz = (uint32_t)p.memoryClockRate;
        out->memory_bus_bits = (uint32_t)p.memoryBusWidth;
        out->l2_bytes = (uint32_t)p.l2CacheSize;
        out->shared_per_block = (uint32_t)p.sharedMemPerBlock;
        out->pci_domain = (uint32_t)p.pciDomainID;
        out->pci_bus = (uint32_t)p.pciBusID;
        out->pci_device = (uint32_t)p.pciDeviceID;
        out->integrated = p.integrated;
        keep_arch((int)device, p.gcnArchName);
        g.multiprocessors[device] = out->multiprocessors;
    }
    if (strncmp(g.arch[device], "gfx", 3)) {
        cw_error("%s: device %u names no processor ('%.32s'): its properties have another layout", g.path, device, g.arch[device]);
        return CWB_INTERNAL;
    }
    /* LDS: 64 KiB for a work-group on every AMD part, no opt-in. */
    if (out->shared_per_block > 48u << 10)
        out->shared_per_block = 48u << 10;
    out->shared_per_block_optin = 64u << 10;
    out->shared_per_mp = 64u << 10;
    return CWB_OK;
}

static bool
hip_device_attribute(uint32_t device, int attribute, int *value)
{
    if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED && !hip_has_vmm()) {
        *value = 0;
        return true;
    }
    return false;
}

static bool
hip_peer_possible(uint32_t device, uint32_t peer)
{
    int can = 0;
    return hip.hipDeviceCanAccessPeer && hip.hipDeviceEnablePeerAccess &&
           hip.hipDeviceCanAccessPeer(&can, (int)device, (int)peer) == hipSuccess && can;
}

static cwb_result
hip_peer_enable(uint32_t device, uint32_t peer)
{
    struct cwb_context c = { .device = (int)device };
    hip_use(&c);
    hipError_t e = hip.hipDeviceEnablePeerAccess((int)peer, 0);
    if (e == hipErrorPeerAccessAlreadyEnabled) {    /* by another context */
        (void)hip.hipGetLastError();
        return CWB_OK;
    }
    return hip_result(e);
}

static cwb_result
hip_memory_info(uint32_t device, size_t *free_bytes, size_t *total_bytes)
{
    struct cwb_context c = { .device = (int)device };
    hip_use(&c);
    return hip_result(hip.hipMemGetInfo(free_bytes, total_bytes));
}

/* ---- contexts ---- */

static cwb_result
hip_context_create(uint32_t device, struct cwb_context **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return CWB_NOMEM;
    (*out)->device = (int)device;
    (*out)->images = hip_images_wanted((int)device);
    pthread_mutex_init(&(*out)->fifo_lock, NULL);
    pthread_mutex_init(&(*out)->texture_lock, NULL);
    pthread_mutex_init(&(*out)->kept_lock, NULL);
    hip_shared_init(*out);
    pthread_mutex_init(&(*out)->closed_lock, NULL);
    pthread_mutex_init(&(*out)->clock_lock, NULL);
    return CWB_OK;
}

static void reap_streams(struct cwb_context *c);
static void destroy_stream(struct cwb_stream *s);

static cwb_result
hip_context_sync(struct cwb_context *c)
{
    hip_use(c);
    struct hip_slot *gone = hip_textures_leave(c);
    hipError_t e = hip.hipDeviceSynchronize();
    hip_textures_left(c, gone);
    hip_memory_trim(c);
    reap_streams(c);
    hip_times_poll(c);
    hip_fifo_flush(c, true);
    return hip_outcome(c, e);
}

static void
hip_context_destroy(struct cwb_context *c)
{
    (void)hip_context_sync(c);
    for (struct cwb_stream *s = c->closed, *next; s; s = next) {     /* after a fault, or while HIP reports it as busy */
        next = s->next;
        destroy_stream(s);
    }
    hip_times_finish(c);
    if (c->fifo)
        (void)hip.hipHostFree(c->fifo);
    hip_textures_finish(c);
    pthread_mutex_destroy(&c->texture_lock);
    pthread_mutex_destroy(&c->kept_lock);
    hip_shared_finish(c);
    pthread_mutex_destroy(&c->closed_lock);
    pthread_mutex_destroy(&c->fifo_lock);
    free(c);
}

static cwb_result
hip_context_error(struct cwb_context *c)
{
    return (cwb_result)atomic_load(&c->error);
}

static cwb_result
hip_context_limit(struct cwb_context *c, enum cwb_limit limit, size_t value)
{
    hip_use(c);
    if (limit == CWB_LIMIT_MALLOC_HEAP)
        return hip_heap_limit(c, value);
    if (limit != CWB_LIMIT_STACK)
        return CWB_OK;                  /* the FIFO's size is fixed */
    c->stack = value;
    return hip.hipDeviceSetLimit ? hip_result(hip.hipDeviceSetLimit(hipLimitStackSize, value)) : CWB_OK;
}

/* ---- streams and events ---- */

static cwb_result
hip_stream_create(struct cwb_context *c, int priority, struct cwb_stream **out)
{
    struct cwb_stream *s = calloc(1, sizeof *s);
    if (!s)
        return CWB_NOMEM;
    s->c = c;
    reap_streams(c);
    hip_use(c);
    /* The driver owns the default-stream rules: HIP's own must not order anything on top. */
    hipError_t e = hip.hipStreamCreateWithPriority(&s->s, hipStreamNonBlocking, priority);
    if (e != hipSuccess) {
        free(s);
        return hip_result(e);
    }
    *out = s;
    return CWB_OK;
}

static void
destroy_stream(struct cwb_stream *s)
{
    (void)hip.hipStreamDestroy(s->s);
    if (s->grid)
        (void)hip.hipFree(s->grid);
    hip_arenas_finish(s);
    free(s);
}

/* Streams that were closed with work queued are destroyed when that is done: hipStreamDestroy may wait. */
static void
reap_streams(struct cwb_context *c)
{
    struct cwb_stream *idle = NULL;
    if (cwb_in_host_function)
        return;
    hip_use(c);
    pthread_mutex_lock(&c->closed_lock);
    for (struct cwb_stream **l = &c->closed; *l; ) {
        struct cwb_stream *s = *l;
        if (hip.hipStreamQuery(s->s) == hipErrorNotReady) {
            l = &s->next;
            continue;
        }
        *l = s->next;
        s->next = idle;
        idle = s;
    }
    pthread_mutex_unlock(&c->closed_lock);
    for (struct cwb_stream *next; idle; idle = next) {
        next = idle->next;
        destroy_stream(idle);
    }
}

static void
hip_stream_destroy(struct cwb_stream *s)
{
    struct cwb_context *c = s->c;
    pthread_mutex_lock(&c->closed_lock);
    s->next = c->closed;
    c->closed = s;
    pthread_mutex_unlock(&c->closed_lock);
    reap_streams(c);
}

static cwb_result
hip_stream_query(struct cwb_stream *s)
{
    hip_use(s->c);
    return hip_outcome(s->c, hip.hipStreamQuery(s->s));
}

static cwb_result
hip_stream_sync(struct cwb_stream *s)
{
    hip_use(s->c);
    hipError_t e = hip.hipStreamSynchronize(s->s);
    hip_times_poll(s->c);
    hip_fifo_flush(s->c, false);
    return hip_outcome(s->c, e);
}

static cwb_result
hip_event_create(struct cwb_context *c, uint32_t flags, struct cwb_event **out)
{
    struct cwb_event *e = calloc(1, sizeof *e);
    if (!e)
        return CWB_NOMEM;
    e->c = c;
    hip_use(c);
    hipError_t r = hip.hipEventCreateWithFlags(&e->e, (flags & CWB_EVENT_TIMING ? 0 : hipEventDisableTiming) |
                                                      (flags & CWB_EVENT_BLOCKING_SYNC ? hipEventBlockingSync : 0));
    if (r != hipSuccess) {
        free(e);
        return hip_result(r);
    }
    *out = e;
    return CWB_OK;
}

static void
hip_event_destroy(struct cwb_event *e)
{
    hip_use(e->c);
    (void)hip.hipEventDestroy(e->e);
    free(e);
}

static cwb_result
hip_event_record(struct cwb_event *e, struct cwb_stream *s)
{
    hip_use(s->c);
    return hip_result(hip.hipEventRecord(e->e, s->s));
}

static cwb_result
hip_event_query(struct cwb_event *e)
{
    hip_use(e->c);
    return hip_outcome(e->c, hip.hipEventQuery(e->e));
}

static cwb_result
hip_event_sync(struct cwb_event *e)
{
    hip_use(e->c);
    hipError_t r = hip.hipEventSynchronize(e->e);
    hip_times_poll(e->c);
    hip_fifo_flush(e->c, false);
    return hip_outcome(e->c, r);
}

static cwb_result
hip_event_elapsed(struct cwb_event *start, struct cwb_event *end, float *ms)
{
    hip_use(start->c);
    return hip_result(hip.hipEventElapsedTime(ms, start->e, end->e));
}

static cwb_result
hip_stream_wait_event(struct cwb_stream *s, struct cwb_event *e)
{
    hip_use(s->c);
    return hip_result(hip.hipStreamWaitEvent(s->s, e->e, 0));
}

struct callback {
    cwb_host_fn *fn;
    void *user;
    struct cwb_context *c;
};

static void
run_callback(void *user)
{
    struct callback k = *(struct callback *)user;
    free(user);
    cwb_in_host_function = true;
    k.fn(k.user, (cwb_result)atomic_load(&k.c->error));
    cwb_in_host_function = false;
}

static void
run_stream_callback(hipStream_t stream, hipError_t status, void *user)
{
    (void)stream;
    (void)status;
    run_callback(user);
}

static cwb_result
hip_stream_host_fn(struct cwb_stream *s, cwb_host_fn *fn, void *user)
{
    struct callback *k = malloc(sizeof *k);
    if (!k)
        return CWB_NOMEM;
    *k = (struct callback){ fn, user, s->c };
    hip_use(s->c);
    hipError_t e = hip.hipLaunchHostFunc ? hip.hipLaunchHostFunc(s->s, run_callback, k)
                                         : hip.hipStreamAddCallback(s->s, run_stream_callback, k, 0);
    if (e != hipSuccess)
        free(k);
    return hip_result(e);
}

/* ---- copies ---- */

static cwb_result
hip_stream_copy(struct cwb_stream *s, const struct cwb_copy *copy)
{
    struct cwb_copy k;
    const struct cwb_copy *c = copy;
    if (copy->dst.loc == CWB_LOC_ARRAY || copy->src.loc == CWB_LOC_ARRAY) {
        k = *copy;
        cwb_result r = cw_array_side(&k.dst, CWB_LOC_DEVICE);
        if (r == CWB_OK)
            r = cw_array_side(&k.src, CWB_LOC_DEVICE);
        if (r != CWB_OK)
            return r;
        c = &k;
    }
    uint64_t d = c->dst.address + c->dst.x + c->dst.y * c->dst.pitch + c->dst.z * c->dst.slice;
    uint64_t f = c->src.address + c->src.x + c->src.y * c->src.pitch + c->src.z * c->src.slice;
    hip_use(s->c);
    for (size_t z = 0; z < c->depth; z++) {
        void *to = (void *)(uintptr_t)(d + z * c->dst.slice);
        const void *from = (const void *)(uintptr_t)(f + z * c->src.slice);
        hipError_t e = c->height == 1 ? hip.hipMemcpyAsync(to, from, c->width, hipMemcpyDefault, s->s)
            : hip.hipMemcpy2DAsync(to, c->dst.pitch, from, c->src.pitch, c->width, c->height, hipMemcpyDefault, s->s);
        if (e != hipSuccess)
            return hip_result(e);
    }
    return CWB_OK;
}

static cwb_result
hip_stream_fill(struct cwb_stream *s, const struct cwb_fill *fill)
{
    struct cwb_fill k = *fill, *f = &k;
    cwb_result r = cw_array_side(&k.dst, CWB_LOC_DEVICE);
    if (r != CWB_OK)
        return r;
    uint64_t d = f->dst.address + f->dst.x + f->dst.y * f->dst.pitch + f->dst.z * f->dst.slice;
    hip_use(s->c);
    for (size_t z = 0; z < f->depth; z++) {
        uint64_t at = d + z * f->dst.slice;
        hipError_t e = hipSuccess;
        if (f->size == 1 && f->height > 1)
            e = hip.hipMemset2DAsync((void *)(uintptr_t)at, f->dst.pitch, (int)f->value, f->width, f->height, s->s);
        else
            for (size_t y = 0; y < f->height && e == hipSuccess; y++) {
                hipDeviceptr_t row = (hipDeviceptr_t)(uintptr_t)(at + y * f->dst.pitch);
                e = f->size == 1 ? hip.hipMemsetD8Async(row, (unsigned char)f->value, f->width, s->s)
                  : f->size == 2 ? hip.hipMemsetD16Async(row, (unsigned short)f->value, f->width, s->s)
                                 : hip.hipMemsetD32Async(row, (int)f->value, f->width, s->s);
            }
        if (e != hipSuccess)
            return hip_result(e);
    }
    return CWB_OK;
}

static cwb_result
hip_stream_wait_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare)
{
    static const unsigned flag[] = { hipStreamWaitValueGte, hipStreamWaitValueEq, hipStreamWaitValueAnd, hipStreamWaitValueNor };
    void *p = (void *)(uintptr_t)address;
    hip_use(s->c);
    return hip_result(bits == 32 ? hip.hipStreamWaitValue32(s->s, p, (uint32_t)value, flag[compare], ~0u)
                                 : hip.hipStreamWaitValue64(s->s, p, value, flag[compare], ~0ull));
}

static cwb_result
hip_stream_write_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits)
{
    void *p = (void *)(uintptr_t)address;
    hip_use(s->c);
    return hip_result(bits == 32 ? hip.hipStreamWriteValue32(s->s, p, (uint32_t)value, 0) : hip.hipStreamWriteValue64(s->s, p, value, 0));
}

const struct cwb_backend cwb_hip = {
    .abi_version = CWB_ABI_VERSION, .name = "hip",
    .caps = CWB_CAP_MANAGED | CWB_CAP_REGISTER | CWB_CAP_VMM | CWB_CAP_TEXTURES | CWB_CAP_STREAM_VALUE | CWB_CAP_COOPERATIVE |
            CWB_CAP_CLUSTER | CWB_CAP_STREAM_TIME | CWB_CAP_MULTICAST,
    .load = hip_load, .open = hip_open, .shutdown = hip_shutdown, .device_props = hip_device_props,
    .device_attribute = hip_device_attribute, .peer_possible = hip_peer_possible, .peer_enable = hip_peer_enable, .memory_info = hip_memory_info,
    .context_create = hip_context_create, .context_destroy = hip_context_destroy, .context_sync = hip_context_sync,
    .context_error = hip_context_error, .context_limit = hip_context_limit, .mem_alloc = hip_mem_alloc, .mem_free = hip_mem_free,
    .mem_register = hip_mem_register, .mem_unregister = hip_mem_unregister,
    .va_reserve = hip_va_reserve, .va_release = hip_va_release, .phys_create = hip_phys_create, .phys_destroy = hip_phys_destroy,
    .va_map = hip_va_map, .va_unmap = hip_va_unmap, .va_protect = hip_va_protect, .array_create = hip_array_create,
    .array_destroy = hip_array_destroy, .texture_create = hip_texture_create, .texture_destroy = hip_texture_destroy,
    .surface_create = hip_surface_create, .surface_destroy = hip_texture_destroy, .stream_create = hip_stream_create,
    .stream_destroy = hip_stream_destroy, .stream_query = hip_stream_query, .stream_sync = hip_stream_sync,
    .event_create = hip_event_create, .event_destroy = hip_event_destroy, .event_record = hip_event_record, .event_query = hip_event_query,
    .event_sync = hip_event_sync, .event_elapsed = hip_event_elapsed, .stream_wait_event = hip_stream_wait_event,
    .stream_host_fn = hip_stream_host_fn, .stream_time = hip_stream_time, .stream_copy = hip_stream_copy, .stream_fill = hip_stream_fill,
    .stream_wait_value = hip_stream_wait_value, .stream_write_value = hip_stream_write_value, .module_load = hip_module_load,
    .module_unload = hip_module_unload, .kernel_prepare = hip_kernel_prepare, .kernel_facts = hip_kernel_facts, .launch = hip_launch,
};
