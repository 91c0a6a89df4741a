/* SPDX-License-Identifier: Apache-2.0
 * libcudaway-gfxemu.so: the HIP functions of impl/hip/hip.h over the interpreter. One device, whose processor is named by
 * CUDAWAY_DEVICE=gfxemu:ARCH or CUDAWAY_GFXEMU_ARCH. A kernel's fault ends the context, as on a device: it is reported in the log
 * once, and by every later call that waits. With CUDAWAY_GFXEMU_STATS=FILE each launch appends a line of counts to FILE. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/fault.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/base/memory_limit.h"
#include "impl/hip/hip.h"
#include "tools/gfxemu/gfx.h"
#include "tools/gfxemu/queue.h"
#include "tools/gfxemu/texture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define R
#define O
#define X(need, since, name, params) __attribute__((visibility("default"))) hipError_t name params;
HIP_FUNCTIONS(X)
#undef X
#undef R
#undef O

enum { VERSION = 60000000 };            /* what hipRuntimeGetVersion says: 6.0 */

static struct {
    pthread_once_t once;
    const struct gfx_target *target;
    struct gfx_queue *_Atomic null_stream;
    _Atomic int error;                  /* sticky */
    int stats;                          /* -1: none are asked for */
    pthread_mutex_t lock;               /* stats, blocks */
} g = { .stats = -1, .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

struct ihipModule_t {
    struct gfx_object *object;
    struct ihipModuleSymbol_t *functions;
};

struct ihipModuleSymbol_t {
    struct ihipModule_t *module;
    const struct gfx_kernel *kernel;
};

static _Thread_local int last_error;

static hipError_t
done(int e)
{
    if (e != hipSuccess && e != hipErrorNotReady)
        last_error = e;
    return e;
}

static void
setup(void)
{
    const char *device = cw_env_get(CW_ENV_DEVICE), *arch = cw_env_get(CW_ENV_GFXEMU_ARCH), *stats = cw_env_get(CW_ENV_GFXEMU_STATS);
    if (device && !strncmp(device, "gfxemu:", 7))
        arch = device + 7;
    if (!arch)
        arch = "gfx1100";
    g.target = gfx_target_find(arch);
    if (!g.target) {
        char known[1000];
        size_t n = 0;
        for (size_t i = 0; gfx_target_at(i) && n < sizeof known; i++)
            n += (size_t)snprintf(known + n, sizeof known - n, " %s", gfx_target_at(i)->name);
        cw_error("gfxemu: no processor '%s'; there are%s", arch, known);
        return;
    }
    if (stats && (g.stats = cw_fd_keep(open(stats, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666))) < 0)     /* a pipe without a reader: ENXIO */
        cw_error("gfxemu: cannot write %s", stats);
}

static hipError_t
ready(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_once(&g.once, setup);
    if (!g.target)
        return hipErrorNoDevice;
    if (atomic_load(&g.null_stream))
        return hipSuccess;
    pthread_mutex_lock(&lock);          /* again where memory was short before */
    if (!atomic_load(&g.null_stream))
        atomic_store(&g.null_stream, gfx_queue_create());
    pthread_mutex_unlock(&lock);
    return atomic_load(&g.null_stream) ? hipSuccess : hipErrorOutOfMemory;
}

const struct gfx_target *
gfx_hip_target(void)
{
    return ready() == hipSuccess ? g.target : NULL;
}

static struct gfx_queue *
queue_of(hipStream_t s)
{
    return s ? (struct gfx_queue *)s : g.null_stream;
}

hipError_t
hipInit(unsigned int flags)
{
    return done(flags ? hipErrorInvalidValue : ready());
}

hipError_t
hipRuntimeGetVersion(int *version)
{
    *version = VERSION;
    return hipSuccess;
}

static int
device_count(void)
{
    static atomic_bool said;
    const char *s = cw_env_get(CW_ENV_GFXEMU_DEVICES);
    if (!s || !*s)
        return 1;
    if (*s >= '1' && *s <= '8' && !s[1])
        return *s - '0';
    if (!atomic_exchange(&said, true))
        cw_warn("%s=%s is not a number from 1 to 8; there is one device", cw_env_name(CW_ENV_GFXEMU_DEVICES), s);
    return 1;
}

hipError_t
hipGetDeviceCount(int *count)
{
    *count = ready() == hipSuccess ? device_count() : 0;
    return done(*count ? hipSuccess : hipErrorNoDevice);
}

hipError_t
hipDeviceGetAttribute(int *value, int attribute, int device)
{
    const struct gfx_target *t = gfx_hip_target();
    if (device < 0 || device >= device_count() || !t)
        return done(hipErrorInvalidValue);
    if (attribute == hipDeviceAttributeWallClockRate)
        *value = 100000;    /* gfx_wall_clock() */
    else if (attribute == hipDeviceAttributeImageSupport)
        *value = t->family != GFX940 && t->family != GFX950;
    else
        return done(hipErrorInvalidValue);
    return done(hipSuccess);
}

hipError_t
hipSetDevice(int device)
{
    return done(device >= 0 && device < device_count() ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t
hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    int n = device_count();
    if (device < 0 || peer < 0 || device >= n || peer >= n)
        return done(hipErrorInvalidDevice);
    *can = device != peer;
    return hipSuccess;
}

/* Memory is everybody's. */
hipError_t
hipDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    static _Atomic unsigned enabled;
    if (flags)
        return done(hipErrorInvalidValue);
    if (peer < 0 || peer >= device_count())
        return done(hipErrorInvalidDevice);
    return done(atomic_fetch_or(&enabled, 1u << peer) >> peer & 1 ? hipErrorPeerAccessAlreadyEnabled : hipSuccess);
}

static size_t
memory_size(void)
{
    return cw_memory_limit() / 2;
}

hipError_t
hipGetDevicePropertiesR0600(struct hip_props_r0600 *p, int device)
{
    if (device < 0 || device >= device_count() || ready() != hipSuccess)
        return done(hipErrorInvalidDevice);
    memset(p, 0, offsetof(struct hip_props_r0600, rest));
    snprintf(p->name, sizeof p->name, "AMD %s (emulated)", g.target->name);
    snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", g.target->name);
    snprintf(p->uuid.bytes, sizeof p->uuid.bytes, "emu-%.11s", g.target->name);
    p->uuid.bytes[15] = (char)device;
    p->pciBusID = device;
    p->totalGlobalMem = memory_size();
    p->sharedMemPerBlock = g.target->lds;
    p->regsPerBlock = 65536;
    p->warpSize = g.target->family < GFX10 ? 64 : 32;
    p->maxThreadsPerBlock = 1024;
    p->multiProcessorCount = (int)sysconf(_SC_NPROCESSORS_ONLN);
    p->clockRate = p->memoryClockRate = 1000000;
    p->memoryBusWidth = 64;
    p->l2CacheSize = 4 << 20;
    p->maxThreadsPerMultiProcessor = 2048;
    p->cooperativeLaunch = 1;
    return hipSuccess;
}

hipError_t
hipGetDeviceProperties(struct hip_props_r0000 *p, int device)
{
    struct hip_props_r0600 n;
    hipError_t e = hipGetDevicePropertiesR0600(&n, device);
    if (e != hipSuccess)
        return e;
    memset(p, 0, offsetof(struct hip_props_r0000, rest));
    memcpy(p->name, n.name, sizeof p->name);
    memcpy(p->gcnArchName, n.gcnArchName, sizeof p->gcnArchName);
    p->totalGlobalMem = n.totalGlobalMem;
    p->sharedMemPerBlock = n.sharedMemPerBlock;
    p->warpSize = n.warpSize;
    p->maxThreadsPerBlock = n.maxThreadsPerBlock;
    p->multiProcessorCount = n.multiProcessorCount;
    p->clockRate = n.clockRate;
    p->memoryClockRate = n.memoryClockRate;
    p->memoryBusWidth = n.memoryBusWidth;
    p->l2CacheSize = n.l2CacheSize;
    p->maxThreadsPerMultiProcessor = n.maxThreadsPerMultiProcessor;
    p->cooperativeLaunch = 1;
    return hipSuccess;
}

hipError_t
hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device)
{
    struct hip_props_r0600 n;
    hipError_t e = hipGetDevicePropertiesR0600(&n, device);
    if (e == hipSuccess)
        *uuid = n.uuid;
    return e;
}

hipError_t
hipDeviceSynchronize(void)
{
    gfx_queue_wait_all();
    return done(atomic_load(&g.error));
}

hipError_t
hipGetLastError(void)
{
    int e = last_error;
    last_error = hipSuccess;
    return e;
}

hipError_t
hipDeviceSetLimit(int limit, size_t value)
{
    enum { LEAST = 16 << 10, MOST = 512 << 10 };        /* frames are larger than NVIDIA's: not less than by default */
    if (limit == hipLimitStackSize)
        gfx_stack_size = value > MOST ? MOST : value < LEAST ? LEAST : ((uint32_t)value + 15) & ~15u;
    return done(limit == hipLimitStackSize || limit == hipLimitMallocHeapSize ? hipSuccess : hipErrorInvalidValue);
}

/* ---- memory: that of this process; gfx_range_* records what kernels may access ---- */

static _Atomic size_t allocated;

hipError_t
hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    size_t used = atomic_load(&allocated);
    *total_bytes = memory_size();
    *free_bytes = used < *total_bytes ? *total_bytes - used : 0;
    return hipSuccess;
}

static void
give(size_t bytes)
{
    atomic_fetch_sub(&allocated, bytes);
}

static bool
take(size_t bytes)
{
    size_t used = atomic_load(&allocated);
    do {
        if (bytes > memory_size() || used > memory_size() - bytes)
            return false;
    } while (!atomic_compare_exchange_weak(&allocated, &used, used + bytes));
    return true;
}

static hipError_t
get_memory(void **ptr, size_t size)
{
    size_t room = (size + 4095) & ~(size_t)4095;
    if (!size || room < size)
        return done(hipErrorInvalidValue);
    if (!take(room))
        return done(hipErrorOutOfMemory);
    void *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        give(room);
        return done(hipErrorOutOfMemory);
    }
    /* The range has the requested size: the rest of the last page is out of bounds. */
    if (!gfx_range_add((uintptr_t)p, size)) {
        munmap(p, room);
        give(room);
        return done(hipErrorOutOfMemory);
    }
    *ptr = p;
    return hipSuccess;
}

static hipError_t
drop_memory(void *ptr)
{
    uint64_t start, size;
    if (!ptr)
        return hipSuccess;
    if (!gfx_range_of((uintptr_t)ptr, &start, &size) || start != (uintptr_t)ptr)
        return done(hipErrorInvalidValue);
    gfx_queue_wait_all();
    size_t room = (size + 4095) & ~(size_t)4095;
    gfx_range_remove(start);
    munmap(ptr, room);
    give(room);
    return hipSuccess;
}

hipError_t hipMalloc(void **ptr, size_t size) { return get_memory(ptr, size); }
hipError_t hipFree(void *ptr) { return drop_memory(ptr); }
hipError_t hipHostMalloc(void **ptr, size_t size, unsigned int flags) { (void)flags; return get_memory(ptr, size); }
hipError_t hipHostFree(void *ptr) { return drop_memory(ptr); }
hipError_t hipMallocManaged(void **ptr, size_t size, unsigned int flags) { (void)flags; return get_memory(ptr, size); }

hipError_t
hipHostRegister(void *ptr, size_t size, unsigned int flags)
{
    uint64_t start, n;
    (void)flags;
    if (!ptr || !size)
        return done(hipErrorInvalidValue);
    if (gfx_range_of((uintptr_t)ptr, &start, &n))
        return done(hipErrorHostMemoryAlreadyRegistered);
    return done(gfx_range_add((uintptr_t)ptr, size) ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t
hipHostUnregister(void *ptr)
{
    uint64_t start, n;
    if (!gfx_range_of((uintptr_t)ptr, &start, &n) || start != (uintptr_t)ptr)
        return done(hipErrorHostMemoryNotRegistered);
    gfx_queue_wait_all();
    gfx_range_remove(start);
    return hipSuccess;
}

hipError_t
hipHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    uint64_t start, n;
    (void)flags;
    if (!gfx_range_of((uintptr_t)host, &start, &n))
        return done(hipErrorInvalidValue);
    *device = host;
    return hipSuccess;
}

hipError_t
hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t ptr)
{
    uint64_t start, n;
    if (!gfx_range_of((uintptr_t)ptr, &start, &n))
        return done(hipErrorNotFound);
    *base = (hipDeviceptr_t)(uintptr_t)start;
    *size = n;
    return hipSuccess;
}

/* ---- copies ---- */

/* Memory that is not there when its turn comes is the device's sticky error, as a kernel's bad address is. */
static bool
touched(gfx_work *fn, void *data, const char *what)
{
    uintptr_t address;
    int none = hipSuccess;
    if (cw_guarded(fn, data, &address))
        return true;
    if (atomic_compare_exchange_strong(&g.error, &none, hipErrorIllegalAddress))
        cw_error("gfxemu: a queued %s touched memory that is not there: address 0x%llx", what, (unsigned long long)address);
    return false;
}

struct copy { uint8_t *d; const uint8_t *s; size_t dpitch, spitch, width, height; };

static void
copy_rows(void *data)
{
    const struct copy *c = data;
    for (size_t y = 0; y < c->height; y++)
        cw_copy_row(c->d + y * c->dpitch, c->s + y * c->spitch, c->width);
}

static void
copy_work(void *data)
{
    (void)touched(copy_rows, data, "copy");
}

static hipError_t
submit(hipStream_t s, gfx_work *fn, const void *data, unsigned size)
{
    return done(gfx_queue_submit(queue_of(s), fn, data, size) ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t
hipMemcpy(void *dst, const void *src, size_t size, int kind)
{
    struct copy c = { dst, src, size, size, size, 1 };
    uintptr_t address;
    (void)kind;
    gfx_queue_wait(g.null_stream);
    return done(cw_guarded(copy_rows, &c, &address) ? hipSuccess : hipErrorInvalidValue);
}

hipError_t
hipMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind, hipStream_t stream)
{
    struct copy c = { dst, src, dpitch, spitch, width, height };
    (void)kind;
    if (!dst || !src || (height > 1 && (dpitch < width || spitch < width)))
        return done(hipErrorInvalidValue);
    return submit(stream, copy_work, &c, sizeof c);
}

hipError_t
hipMemcpyAsync(void *dst, const void *src, size_t size, int kind, hipStream_t stream)
{
    return hipMemcpy2DAsync(dst, size, src, size, size, 1, kind, stream);
}

struct fill { uint8_t *d; uint32_t value; unsigned unit; size_t pitch, count, height; };

static void
fill_rows(void *data)
{
    const struct fill *f = data;
    for (size_t y = 0; y < f->height; y++)
        for (size_t x = 0; x < f->count; x++)
            memcpy(f->d + y * f->pitch + x * f->unit, &f->value, f->unit);
}

static void
fill_work(void *data)
{
    (void)touched(fill_rows, data, "fill");
}

static hipError_t
fill(void *dst, uint32_t value, unsigned unit, size_t pitch, size_t count, size_t height, hipStream_t stream)
{
    struct fill f = { dst, value, unit, pitch, count, height };
    return dst ? submit(stream, fill_work, &f, sizeof f) : done(hipErrorInvalidValue);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t d, unsigned char v, size_t n, hipStream_t s) { return fill(d, v, 1, 0, n, 1, s); }
hipError_t hipMemsetD16Async(hipDeviceptr_t d, unsigned short v, size_t n, hipStream_t s) { return fill(d, v, 2, 0, n, 1, s); }
hipError_t hipMemsetD32Async(hipDeviceptr_t d, int v, size_t n, hipStream_t s) { return fill(d, (uint32_t)v, 4, 0, n, 1, s); }

hipError_t
hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, hipStream_t stream)
{
    return fill(dst, (uint32_t)value, 1, pitch, width, height, stream);
}

/* ---- streams and events ---- */

hipError_t
hipStreamCreateWithPriority(hipStream_t *stream, unsigned int flags, int priority)
{
    (void)flags;
    (void)priority;
    if (ready() != hipSuccess)
        return done(hipErrorNoDevice);
    *stream = (hipStream_t)gfx_queue_create();
    return done(*stream ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t
hipStreamDestroy(hipStream_t stream)
{
    if (!stream)
        return done(hipErrorInvalidHandle);
    gfx_queue_destroy((struct gfx_queue *)stream);
    return hipSuccess;
}

hipError_t
hipStreamQuery(hipStream_t stream)
{
    if (!gfx_queue_idle(queue_of(stream)))
        return hipErrorNotReady;
    return done(atomic_load(&g.error));
}

hipError_t
hipStreamSynchronize(hipStream_t stream)
{
    gfx_queue_wait(queue_of(stream));
    return done(atomic_load(&g.error));
}

hipError_t
hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
    (void)flags;
    if (!event)
        return done(hipErrorInvalidHandle);
    return done(gfx_queue_wait_event(queue_of(stream), (struct gfx_event *)event) ? hipSuccess : hipErrorOutOfMemory);
}

struct host_call { hip_host_fn *fn; void *user; };

static void
host_work(void *data)
{
    const struct host_call *h = data;
    h->fn(h->user);
}

hipError_t
hipLaunchHostFunc(hipStream_t stream, hip_host_fn *fn, void *user)
{
    struct host_call h = { fn, user };
    return fn ? submit(stream, host_work, &h, sizeof h) : done(hipErrorInvalidValue);
}

struct stream_call { hip_stream_fn *fn; hipStream_t stream; void *user; };

static void
stream_work(void *data)
{
    const struct stream_call *h = data;
    h->fn(h->stream, atomic_load(&g.error), h->user);
}

hipError_t
hipStreamAddCallback(hipStream_t stream, hip_stream_fn *fn, void *user, unsigned int flags)
{
    struct stream_call h = { fn, stream, user };
    return fn && !flags ? submit(stream, stream_work, &h, sizeof h) : done(hipErrorInvalidValue);
}

struct value_op { void *p; uint64_t value, mask; unsigned flags, bits; bool write, met; };

/* One look at the value, or its write. */
static void
value_touch(void *data)
{
    struct value_op *v = data;
    v->met = true;
    if (v->write) {
        if (v->bits == 32)
            __atomic_store_n((uint32_t *)v->p, (uint32_t)v->value, __ATOMIC_SEQ_CST);
        else
            __atomic_store_n((uint64_t *)v->p, v->value, __ATOMIC_SEQ_CST);
        return;
    }
    uint64_t x = v->bits == 32 ? __atomic_load_n((uint32_t *)v->p, __ATOMIC_SEQ_CST) : __atomic_load_n((uint64_t *)v->p, __ATOMIC_SEQ_CST);
    x &= v->mask;
    switch (v->flags) {
    case hipStreamWaitValueGte: v->met = v->bits == 32 ? (int32_t)((uint32_t)x - (uint32_t)v->value) >= 0 : (int64_t)(x - v->value) >= 0; break;
    case hipStreamWaitValueEq: v->met = x == v->value; break;
    case hipStreamWaitValueAnd: v->met = (x & v->value) != 0; break;
    default: v->met = v->bits == 32 ? (uint32_t)~(x | v->value) != 0 : ~(x | v->value) != 0; break;
    }
}

static void
value_work(void *data)
{
    const struct value_op *v = data;
    while (touched(value_touch, data, v->write ? "write of a value" : "wait for a value") && !v->met)
        usleep(50);
}

static hipError_t
value_op(hipStream_t s, void *p, uint64_t value, uint64_t mask, unsigned flags, unsigned bits, bool write)
{
    struct value_op v = { p, value, mask, flags, bits, write };
    return p && flags <= hipStreamWaitValueNor ? submit(s, value_work, &v, sizeof v) : done(hipErrorInvalidValue);
}

hipError_t
hipStreamWaitValue32(hipStream_t s, void *p, uint32_t value, unsigned int flags, uint32_t mask)
{
    return value_op(s, p, value, mask, flags, 32, false);
}

hipError_t
hipStreamWaitValue64(hipStream_t s, void *p, uint64_t value, unsigned int flags, uint64_t mask)
{
    return value_op(s, p, value, mask, flags, 64, false);
}

hipError_t
hipStreamWriteValue32(hipStream_t s, void *p, uint32_t value, unsigned int flags)
{
    return value_op(s, p, value, 0, flags, 32, true);
}

hipError_t
hipStreamWriteValue64(hipStream_t s, void *p, uint64_t value, unsigned int flags)
{
    return value_op(s, p, value, 0, flags, 64, true);
}

hipError_t
hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    *event = (hipEvent_t)gfx_event_create(!(flags & hipEventDisableTiming));
    return done(*event ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t
hipEventDestroy(hipEvent_t event)
{
    if (!event)
        return done(hipErrorInvalidHandle);
    gfx_event_destroy((struct gfx_event *)event);
    return hipSuccess;
}

hipError_t
hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    if (!event)
        return done(hipErrorInvalidHandle);
    return done(gfx_event_record((struct gfx_event *)event, queue_of(stream)) ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t
hipEventQuery(hipEvent_t event)
{
    if (!event)
        return done(hipErrorInvalidHandle);
    return gfx_event_done((struct gfx_event *)event) ? done(atomic_load(&g.error)) : hipErrorNotReady;
}

hipError_t
hipEventSynchronize(hipEvent_t event)
{
    if (!event)
        return done(hipErrorInvalidHandle);
    gfx_event_wait((struct gfx_event *)event);
    return done(atomic_load(&g.error));
}

hipError_t
hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    uint64_t a, b;
    bool pending_a = false, pending_b = false;
    if (!start || !stop)
        return done(hipErrorInvalidHandle);
    bool ok = gfx_event_time((struct gfx_event *)start, &a, &pending_a);
    ok &= gfx_event_time((struct gfx_event *)stop, &b, &pending_b);
    if (!ok)
        return pending_a || pending_b ? hipErrorNotReady : done(hipErrorInvalidHandle);
    *ms = (float)((double)(int64_t)(b - a) * 1e-6);
    return hipSuccess;
}

/* ---- modules ---- */

/* The size of what a program names by its address alone, from its own headers: a code object ends with its section headers, clang's offload bundle with
 * its last entry. 0: it is neither. */
static size_t
image_size(const uint8_t *p)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    enum { MAX_ENTRIES = 1024, MAX_NAME = 4096 };
    if (!memcmp(p, "\177ELF", 4)) {
        uint64_t shoff;
        uint16_t shentsize, shnum;
        memcpy(&shoff, p + 40, 8);
        memcpy(&shentsize, p + 58, 2);
        memcpy(&shnum, p + 60, 2);
        return shoff + (size_t)shentsize * shnum;
    }
    if (memcmp(p, magic, sizeof magic - 1))
        return 0;
    uint64_t n, entry[3];
    const uint8_t *at = p + sizeof magic - 1 + 8;
    memcpy(&n, at - 8, 8);
    size_t end = 0;
    for (uint64_t i = 0; i < n && i < MAX_ENTRIES; i++) {
        memcpy(entry, at, 24);
        if (entry[2] > MAX_NAME)
            return 0;
        at += 24 + entry[2];
        end = entry[0] + entry[1] > end ? entry[0] + entry[1] : end;
    }
    return end > (size_t)(at - p) ? end : (size_t)(at - p);
}

hipError_t
hipModuleLoadData(hipModule_t *module, const void *image)
{
    char error[256];
    if (ready() != hipSuccess)
        return done(hipErrorNoDevice);
    size_t size = image_size(image);
    if (!size) {
        cw_error("gfxemu: hipModuleLoadData: this is neither a code object nor an offload bundle");
        return done(hipErrorInvalidImage);
    }
    struct ihipModule_t *m = calloc(1, sizeof *m);
    if (!m)
        return done(hipErrorOutOfMemory);
    if (!gfx_object_load(g.target, image, size, &m->object, error)) {
        hipError_t e = errno == ENOMEM ? hipErrorOutOfMemory : hipErrorNoBinaryForGpu;
        cw_error("gfxemu: hipModuleLoadData: %s", error);
        free(m);
        return done(e);
    }
    m->functions = calloc(m->object->nkernels + 1, sizeof *m->functions);
    if (!m->functions) {
        gfx_object_unload(m->object);
        free(m);
        return done(hipErrorOutOfMemory);
    }
    for (uint32_t i = 0; i < m->object->nkernels; i++)
        m->functions[i] = (struct ihipModuleSymbol_t){ m, &m->object->kernels[i] };
    *module = m;
    return hipSuccess;
}

hipError_t
hipModuleUnload(hipModule_t module)
{
    if (!module)
        return done(hipErrorInvalidHandle);
    gfx_queue_wait_all();
    gfx_object_unload(module->object);
    free(module->functions);
    free(module);
    return hipSuccess;
}

hipError_t
hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    if (!module || !name)
        return done(hipErrorInvalidValue);
    for (uint32_t i = 0; i < module->object->nkernels; i++)
        if (!strcmp(module->object->kernels[i].name, name)) {
            *function = &module->functions[i];
            return hipSuccess;
        }
    return done(hipErrorNotFound);
}

hipError_t
hipModuleGetGlobal(hipDeviceptr_t *ptr, size_t *size, hipModule_t module, const char *name)
{
    if (!module || !name)
        return done(hipErrorInvalidValue);
    for (uint32_t i = 0; i < module->object->nvariables; i++)
        if (!strcmp(module->object->variables[i].name, name)) {
            *ptr = (hipDeviceptr_t)(uintptr_t)module->object->variables[i].address;
            *size = module->object->variables[i].size;
            return hipSuccess;
        }
    return done(hipErrorNotFound);
}

hipError_t
hipFuncGetAttribute(int *value, int attribute, hipFunction_t function)
{
    if (!function)
        return done(hipErrorInvalidDeviceFunction);
    const struct gfx_kernel *k = function->kernel;
    switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = k->max_group ? (int)k->max_group : 1024; return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)k->lds_size; return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)k->scratch_size; return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)k->vgprs; return hipSuccess;
    default: return done(hipErrorInvalidValue);
    }
}

/* ---- launches ---- */

/* On the heap: too large for the stack of a caller. */
struct launch { struct gfx_launch l; _Alignas(16) uint8_t params[]; };

static void
write_counts(const struct gfx_launch *l)
{
    static const char *const class[] = { "salu", "smem", "valu", "trans", "matrix", "vmem", "flat", "lds", "scratch", "branch", "other" };
    const struct gfx_counts *c = &l->counts;
    uint64_t total = 0;
    struct cw_buf b;
    cw_buf_init(&b);
    for (int k = 0; k < GFX_C_COUNT; k++)
        total += c->insns[k];
    cw_buf_printf(&b, "{\"kernel\":\"%s\",\"arch\":\"%s\",\"waves\":%llu,\"instructions\":%llu", l->kernel->name, g.target->name,
            (unsigned long long)c->waves, (unsigned long long)total);
    for (int k = 0; k < GFX_C_COUNT; k++)
        cw_buf_printf(&b, ",\"%s\":%llu", class[k], (unsigned long long)c->insns[k]);
    cw_buf_printf(&b, ",\"active_lanes\":%llu,\"valu_lanes\":%llu,\"bank_conflicts\":%llu,\"lds_unwritten\":%llu,"
            "\"unwritten_registers\":%llu,\"misaligned\":%llu,\"vgprs\":%u,\"sgprs\":%u,"
            "\"scratch_bytes\":%u,\"lds_bytes\":%u}\n", (unsigned long long)c->active_lanes, (unsigned long long)c->valu_lanes,
            (unsigned long long)c->bank_conflicts, (unsigned long long)c->lds_unwritten,
            (unsigned long long)c->unwritten_registers, (unsigned long long)c->misaligned, l->kernel->vgprs, l->kernel->sgprs,
            l->kernel->scratch_size, l->kernel->lds_size);
    pthread_mutex_lock(&g.lock);
    if (!b.failed)
        (void)cw_write_all(g.stats, b.data, b.size);
    pthread_mutex_unlock(&g.lock);
    cw_buf_finish(&b);
}

/* The thread that runs kernels, and those that it starts, are the GPU: their name says so meanwhile. */
static bool
run_as_gpu(struct gfx_launch *l)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name, 0, 0, 0);
    prctl(PR_SET_NAME, "cudaway-gpu", 0, 0, 0);
    bool ok = gfx_dispatch_run(l);
    prctl(PR_SET_NAME, name, 0, 0, 0);
    return ok;
}

static void
launch_work(void *data)
{
    struct launch *w = *(struct launch **)data;
    if (atomic_load(&g.error) == hipSuccess && !run_as_gpu(&w->l)) {
        int e = w->l.fault == FAULT_MEMORY ? hipErrorIllegalAddress : w->l.fault == FAULT_MISALIGNED ? hipErrorMisalignedAddress
            : w->l.fault == FAULT_TRAP ? hipErrorAssert : hipErrorLaunchFailure, none = hipSuccess;
        if (atomic_compare_exchange_strong(&g.error, &none, e))
            cw_error("gfxemu: %s: %s", w->l.kernel->name, w->l.message);
    }
    if (*w->l.noted[NOTE_UNWRITTEN])
        cw_debug("gfxemu: the first of %llu instructions that read a register which nothing wrote: %s",
                 (unsigned long long)w->l.counts.unwritten_registers, w->l.noted[NOTE_UNWRITTEN]);
    if (*w->l.noted[NOTE_MISALIGNED])
        cw_debug("gfxemu: the first of %llu misaligned loads and stores: %s", (unsigned long long)w->l.counts.misaligned,
                 w->l.noted[NOTE_MISALIGNED]);
    if (g.stats >= 0)
        write_counts(&w->l);
    free(w);
}

enum { MAX_PARAMS = 4096 };

/* The kernel's parameters from pointers to each, in the order of the code object's metadata. */
static bool
pack(const struct gfx_kernel *k, void *const *params, uint8_t *to, size_t size)
{
    for (uint32_t i = 0; i < k->nhidden; i++) {
        const struct gfx_hidden *h = &k->hidden[i];
        if (h->kind != HID_PARAMETER)
            continue;
        if (h->offset > size || h->size > size - h->offset)
            return false;
        memcpy(to + h->offset, *params++, h->size);
    }
    return true;
}

/* The parameters: a pointer to each, or all in `data`. */
static hipError_t
launch(hipFunction_t f, const unsigned grid[3], const unsigned block[3], unsigned shared, hipStream_t stream, void *const *params, const void *data,
       size_t size, bool cooperative)
{
    if (!f)
        return done(hipErrorInvalidDeviceFunction);
    if (params)
        size = f->kernel->explicit_size;
    if (size > MAX_PARAMS || (size && !params && !data))
        return done(hipErrorInvalidValue);
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (!threads || !grid[0] || !grid[1] || !grid[2])
        return done(hipErrorInvalidConfiguration);
    if (threads > 1024 || (f->kernel->max_group && threads > f->kernel->max_group)) {
        cw_error("gfxemu: %s: a block of %llu threads, but the code allows %u", f->kernel->name, (unsigned long long)threads,
                f->kernel->max_group);
        return done(hipErrorLaunchFailure);
    }
    if ((uint64_t)f->kernel->lds_size + shared > g.target->lds)
        return done(hipErrorLaunchOutOfResources);
    struct launch *w = calloc(1, sizeof *w + size);
    if (!w)
        return done(hipErrorOutOfMemory);
    if (params && !pack(f->kernel, params, w->params, size)) {
        free(w);
        return done(hipErrorInvalidValue);
    }
    if (!params && size)
        memcpy(w->params, data, size);
    w->l.object = f->module->object;
    w->l.kernel = f->kernel;
    memcpy(w->l.grid, grid, sizeof w->l.grid);
    memcpy(w->l.block, block, sizeof w->l.block);
    w->l.dynamic_lds = shared;
    w->l.params = w->params;
    w->l.param_size = (uint32_t)size;
    w->l.cooperative = cooperative;
    hipError_t e = submit(stream, launch_work, &w, sizeof w);
    if (e != hipSuccess)
        free(w);
    return e;
}

hipError_t
hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                      hipStream_t stream, void **params, void **extra)
{
    unsigned grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
    void *data = NULL;
    size_t size = 0;
    if (params) {
        if (!f || extra)
            return done(f ? hipErrorInvalidValue : hipErrorInvalidDeviceFunction);
        return launch(f, grid, block, shared, stream, params, NULL, 0, false);
    }
    for (; extra && *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            data = extra[1];
        else if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(size_t *)extra[1];
        else
            return done(hipErrorInvalidValue);
    }
    return launch(f, grid, block, shared, stream, NULL, data, size, false);
}

hipError_t
hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                 unsigned shared, hipStream_t stream, void **params)
{
    unsigned grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
    if (!f)
        return done(hipErrorInvalidDeviceFunction);
    return launch(f, grid, block, shared, stream, params, NULL, 0, true);
}

/* As many as have room for their threads and LDS; nothing else limits them here. */
hipError_t
hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t f, int block, size_t shared)
{
    enum { THREADS = 2048 };
    if (!f)
        return done(hipErrorInvalidDeviceFunction);
    if (!blocks || block <= 0)
        return done(hipErrorInvalidValue);
    size_t lds = f->kernel->lds_size + shared;
    *blocks = THREADS / block;
    if (lds > g.target->lds)
        *blocks = 0;
    else if (lds && g.target->lds / lds < (size_t)*blocks)
        *blocks = (int)(g.target->lds / lds);
    return done(hipSuccess);
}

__attribute__((visibility("default"))) void
cudaway_use_stderr(const struct cw_fd_file *file)
{
    cw_log_use_stderr(file);
}
