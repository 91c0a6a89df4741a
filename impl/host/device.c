/* SPDX-License-Identifier: Apache-2.0
 * The host backend's table (impl/backend.h): this CPU, as one device or as several that share its memory and threads.
 * Device memory is this process's memory, so host and device pointers are interchangeable. Streams are in stream.c, kernels in
 * module.c, arrays and textures in texture.c. */
#define _GNU_SOURCE
#include "impl/host/device.h"
#include "impl/host/isolate.h"
#include "impl/host/tier.h"

#include "impl/base/env.h"
#include "impl/base/hash.h"
#include "impl/base/log.h"
#include "impl/base/memory_limit.h"
#include "impl/va.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_FIFO = 1 << 20, DEFAULT_HEAP = 8 << 20, DEFAULT_STACK = 1024 };

struct cwh_device cwh_device = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the device ---- */

static cwb_result
host_open(const char *option, uint32_t *count)
{
    if (option && *option && strcmp(option, "O0") && strcmp(option, "checked")) {
        cw_error("device host:%s does not exist; there are host, host:O0 and host:checked", option);
        return CWB_NO_DEVICE;
    }
    /* In a forked child the parent's threads and locks are gone. */
    static pid_t owner;
    if (owner && owner != getpid()) {
        pthread_mutex_init(&cwh_device.lock, NULL);
        cwh_device.contexts = NULL;
        atomic_store(&cwh_device.memory_used, 0);
        atomic_store(&cwh_device.shut_down, false);
        cwh_exec_after_fork();
        cwh_tier_after_fork();
    }
    owner = getpid();
    cwh_device.o0 = option && !strcmp(option, "O0");
    cwh_device.checked = option && !strcmp(option, "checked");
    cwh_device.memory_limit = cw_env_u64(CW_ENV_HOST_MEMORY, cw_memory_limit() / 2, 1 << 20, CW_VA_SIZE / 2);
    *count = cwh_device.count = (uint32_t)cw_env_u64(CW_ENV_HOST_DEVICES, 1, 1, 8);
    return CWB_OK;
}

static cwb_result
isolated_open(const char *option, uint32_t *count)
{
    cwb_result r = host_open(option, count);
    return r == CWB_OK ? cwh_isolate_open() : r;
}

static bool
all_idle(void)
{
    bool busy = false;
    pthread_mutex_lock(&cwh_device.lock);
    for (struct cwb_context *c = cwh_device.contexts; c && !busy; c = c->next)
        busy = cwh_streams_busy(c);
    pthread_mutex_unlock(&cwh_device.lock);
    return !busy;
}

static void
host_shutdown(void)
{
    atomic_store(&cwh_device.shut_down, true);
    cwh_exec_stop();
    if (cwh_isolated())
        cwh_isolate_stop();
    cwh_tier_stop();
    pthread_mutex_lock(&cwh_device.lock);
    for (struct cwb_context *c = cwh_device.contexts; c; c = c->next)
        cwh_streams_interrupt(c);
    pthread_mutex_unlock(&cwh_device.lock);
    for (int i = 0; i < 200 && !all_idle(); i++) {
        struct timespec t = { 0, 5000000 };
        nanosleep(&t, NULL);
    }
    pthread_mutex_lock(&cwh_device.lock);
    for (struct cwb_context *c = cwh_device.contexts; c; c = c->next) {
        cwh_context_join(c);
        cwh_output_flush(c->output);
    }
    pthread_mutex_unlock(&cwh_device.lock);
    if (cwh_isolated())
        cwh_isolate_kill();
}

/* "model name" of the first CPU; empty when the system does not say. */
static void
cpu_name(char *buf, size_t size)
{
    buf[0] = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[512];
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (colon && !strncmp(line, "model name", 10)) {
            char *s = colon + 1 + strspn(colon + 1, " \t");
            s[strcspn(s, "\n")] = 0;
            snprintf(buf, size, "%s", s);
            break;
        }
    }
    if (f)
        fclose(f);
}

static const char *
variant_name(void)
{
    return cwh_device.o0 ? ":O0" : cwh_device.checked ? ":checked" : "";
}

static void
machine_uuid(uint32_t device, uint8_t uuid[16])
{
    char id[128] = "";
    FILE *f = fopen("/etc/machine-id", "re");
    if (!f || !fgets(id, sizeof id, f))
        if (gethostname(id, sizeof id - 1))
            snprintf(id, sizeof id, "unknown");
    if (f)
        fclose(f);
    struct cw_sha256 s;
    uint8_t digest[32];
    cw_sha256_init(&s);
    cw_sha256_update(&s, "cudaway host", 12);
    cw_sha256_update(&s, variant_name(), strlen(variant_name()));
    cw_sha256_update(&s, id, strlen(id));
    if (device)
        cw_sha256_update(&s, &device, sizeof device);
    cw_sha256_finish(&s, digest);
    memcpy(uuid, digest, 16);
}

static cwb_result
host_device_props(uint32_t device, struct cwb_device_props *out)
{
    if (device >= cwh_device.count)
        return CWB_NO_DEVICE;
    char cpu[160];
    cpu_name(cpu, sizeof cpu);
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "CUDAway host%s%s%s%s", variant_name(), cpu[0] ? " (" : "", cpu, cpu[0] ? ")" : "");
    machine_uuid(device, out->uuid);
    out->pci_device = device;
    out->total_memory = cwh_device.memory_limit;
    out->multiprocessors = (uint32_t)cw_env_u64(CW_ENV_HOST_MULTIPROCESSORS, cwh_exec_threads(), 1, 65535);
    out->clock_khz = 1000000;       /* %clock counts nanoseconds */
    out->memory_clock_khz = 1600000;
    out->memory_bus_bits = 128;
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    out->l2_bytes = l2 > 0 ? (uint32_t)l2 : 1 << 20;
    out->integrated = true;         /* the limits of blocks and multiprocessors are the driver's, by compute capability */
    return CWB_OK;
}

static cwb_result
host_memory_info(uint32_t device, size_t *free_bytes, size_t *total_bytes)
{
    if (device >= cwh_device.count)
        return CWB_NO_DEVICE;
    uint64_t used = atomic_load(&cwh_device.memory_used);
    *total_bytes = cwh_device.memory_limit;
    *free_bytes = used < cwh_device.memory_limit ? cwh_device.memory_limit - used : 0;
    return CWB_OK;
}

/* Charge bytes against the device's memory limit. */
static bool
charge(uint64_t bytes)
{
    uint64_t used = atomic_load(&cwh_device.memory_used);
    do {
        if (used > cwh_device.memory_limit || bytes > cwh_device.memory_limit - used)
            return false;
    } while (!atomic_compare_exchange_weak(&cwh_device.memory_used, &used, used + bytes));
    return true;
}

static void
discharge(uint64_t bytes)
{
    atomic_fetch_sub(&cwh_device.memory_used, bytes);
}

/* ---- contexts ---- */

static void
texture_free(struct cw_texture *t)
{
    if (cwh_isolated())
        cwh_isolate_texture_gone(t->handle);
    cwh_texobj_free(t);
}

static void
context_free(struct cwb_context *c)
{
    while (c->oldest) {
        struct cwh_epoch *e = c->oldest;
        c->oldest = e->newer;
        for (size_t i = 0; i < e->nretired; i++)
            texture_free(e->retired[i]);
        free(e->retired);
        free(e);
    }
    cwh_output_destroy(c->output);
    cwh_heap_destroy(c->heap);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->idle);
    free(c);
}

static cwb_result
host_context_create(uint32_t device, struct cwb_context **out)
{
    if (device >= cwh_device.count)
        return CWB_NO_DEVICE;
    struct cwb_context *c = calloc(1, sizeof *c);
    if (!c)
        return CWB_NOMEM;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->idle, NULL);
    atomic_init(&c->error, CWB_OK);
    atomic_init(&c->failed_launch, 0);
    atomic_init(&c->stack_limit, DEFAULT_STACK);
    c->output = cwh_output_create(DEFAULT_FIFO);
    c->heap = cwh_heap_create(DEFAULT_HEAP);
    c->oldest = c->newest = calloc(1, sizeof *c->newest);
    cwb_result r = c->output && c->heap && c->newest ? CWB_OK : CWB_NOMEM;
    if (r == CWB_OK && cwh_isolated())
        r = cwh_isolate_start(&c->process);
    if (r != CWB_OK) {
        context_free(c);
        return r;
    }
    pthread_mutex_lock(&cwh_device.lock);
    c->next = cwh_device.contexts;
    cwh_device.contexts = c;
    pthread_mutex_unlock(&cwh_device.lock);
    *out = c;
    return CWB_OK;
}

static void
host_context_destroy(struct cwb_context *c)
{
    if (!c)
        return;
    cwh_context_wait(c, true);
    cwh_context_join(c);
    cwh_output_flush(c->output);
    pthread_mutex_lock(&cwh_device.lock);
    struct cwb_context **p = &cwh_device.contexts;
    while (*p && *p != c)
        p = &(*p)->next;
    if (*p)
        *p = c->next;
    pthread_mutex_unlock(&cwh_device.lock);
    if (cwh_isolated())
        cwh_isolate_forget(c->process, c);
    context_free(c);
}

static cwb_result
host_context_error(struct cwb_context *c)
{
    return (cwb_result)atomic_load(&c->error);
}

static uint64_t
host_failed_launch(struct cwb_context *c)
{
    return atomic_load(&c->failed_launch);
}

static cwb_result
host_context_sync(struct cwb_context *c)
{
    cwh_context_wait(c, false);
    cwh_output_flush(c->output);
    return host_context_error(c);
}

static cwb_result
host_context_limit(struct cwb_context *c, enum cwb_limit limit, size_t value)
{
    switch (limit) {
    case CWB_LIMIT_STACK:
        if (value > 512 * 1024)
            return CWB_INVALID;
        atomic_store(&c->stack_limit, value);
        return CWB_OK;
    case CWB_LIMIT_PRINTF_FIFO:
        cwh_output_limit(c->output, value);
        return CWB_OK;
    case CWB_LIMIT_MALLOC_HEAP:
        cwh_heap_limit(c->heap, value);
        return CWB_OK;
    }
    return CWB_INVALID;
}

void
cwh_epoch_done(struct cwb_context *c, struct cwh_epoch *e)
{
    e->pending--;
    while (!c->oldest->pending) {
        struct cwh_epoch *old = c->oldest;
        for (size_t i = 0; i < old->nretired; i++)
            texture_free(old->retired[i]);
        old->nretired = 0;
        if (old == c->newest)
            break;
        c->oldest = old->newer;
        free(old->retired);
        free(old);
    }
}

/* Free the object once the work submitted so far is done. */
static void
retire(struct cwb_context *c, uint64_t handle)
{
    struct cw_texture *t = cwh_texobj_get(handle);
    if (!t)
        return;
    pthread_mutex_lock(&c->lock);
    struct cwh_epoch *e = c->newest;
    if (!c->oldest->pending && c->oldest == e) {
        texture_free(t);
    } else {
        if (e->nretired == e->capacity) {
            size_t n = e->capacity ? e->capacity * 2 : 4;
            struct cw_texture **r = realloc(e->retired, n * sizeof *r);
            if (r) {
                e->retired = r;
                e->capacity = n;
            }
        }
        if (e->nretired < e->capacity)
            e->retired[e->nretired++] = t;
        else
            cw_warn("out of memory: a texture object is never freed");
        /* Work that is submitted later does not keep it alive. */
        struct cwh_epoch *fresh = e->pending ? calloc(1, sizeof *fresh) : NULL;
        if (fresh) {
            e->newer = fresh;
            c->newest = fresh;
        }
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---- memory ---- */

static cwb_result
host_mem_alloc(struct cwb_context *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address)
{
    if (!size)
        return CWB_INVALID;
    if (kind == CWB_MEM_PINNED) {
        void *p = NULL;
        if (cw_va_window_is_open() || cwh_isolated())
            return cw_va_alloc_pages(size, align, address);
        if (align <= 4096)
            p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!p || p == MAP_FAILED)
            return align <= 4096 ? CWB_NOMEM : CWB_INVALID;
        if (cwh_device.checked && !cwh_bound_allow((uintptr_t)p, size)) {
            munmap(p, size);
            return CWB_NOMEM;
        }
        *address = (uintptr_t)p;
        atomic_fetch_add(&cwh_device.host_blocks, 1);
        return CWB_OK;
    }
    if (!charge(size))
        return CWB_NOMEM;
    cwb_result r = kind == CWB_MEM_MANAGED ? cw_va_alloc_pages(size, align, address) : cw_va_alloc(size, align > 512 ? align : 512, address);
    if (r != CWB_OK)
        discharge(size);
    return r;
}

static cwb_result
host_mem_free(struct cwb_context *c, enum cwb_mem_kind kind, uint64_t address, size_t size)
{
    if (kind == CWB_MEM_PINNED && cw_va_contains(address, size))
        return cw_va_free(address, size);
    if (kind == CWB_MEM_PINNED) {
        atomic_fetch_sub(&cwh_device.host_blocks, 1);
        cwh_bound_forbid(address);
        cw_give_back((void *)(uintptr_t)address, size);
        return CWB_OK;
    }
    cwb_result r = cw_va_free(address, size);
    if (r == CWB_OK)
        discharge(size);
    return r;
}

static cwb_result
host_mem_extend(struct cwb_context *c, uint64_t address, size_t more)
{
    if (!charge(more))
        return CWB_NOMEM;
    cwb_result r = cw_va_extend(address, more);
    if (r != CWB_OK)
        discharge(more);
    return r;
}

static cwb_result
host_mem_cut(struct cwb_context *c, uint64_t address, uint64_t from, size_t size)
{
    cwb_result r = cw_va_cut(address, from, size);
    if (r == CWB_OK)
        discharge(size);
    return r;
}

static cwb_result
host_mem_register(struct cwb_context *c, void *ptr, size_t size, bool read_only, uint64_t *device_address)
{
    if (!ptr || !size || !cw_va_is_of_program((uintptr_t)ptr, size))
        return CWB_INVALID;
    if (cw_va_window_is_open()) {
        cw_error("host memory at %p cannot be registered: a loaded module has 32-bit addresses, which cannot name it; cuMemHostAlloc gives "
                 "memory that they can", ptr);
        return CWB_UNSUPPORTED;
    }
    if (cwh_device.checked && !cwh_bound_allow((uintptr_t)ptr, size))
        return CWB_NOMEM;
    *device_address = (uintptr_t)ptr;
    atomic_fetch_add(&cwh_device.host_blocks, 1);
    return CWB_OK;
}

static cwb_result
host_mem_unregister(struct cwb_context *c, void *ptr, size_t size)
{
    atomic_fetch_sub(&cwh_device.host_blocks, 1);
    cwh_bound_forbid((uintptr_t)ptr);
    return CWB_OK;
}

/* ---- virtual memory management ---- */

/* A va_map keeps the memory file's pages alive by the mapping itself. */
struct cwb_phys {
    struct cw_va_phys *memory;
    size_t size;                        /* that counts: 0 for memory of another process */
};

static cwb_result
host_phys_create(uint32_t device, size_t size, bool shared, struct cwb_phys **out)
{
    if (device >= cwh_device.count)
        return CWB_NO_DEVICE;
    struct cwb_phys *p = calloc(1, sizeof *p);
    if (!p)
        return CWB_NOMEM;
    p->size = size;
    cwb_result r = CWB_NOMEM;
    if (charge(size)) {
        r = cw_va_phys_create(size, shared, &p->memory);
        if (r != CWB_OK)
            discharge(size);
    }
    if (r != CWB_OK) {
        free(p);
        return r;
    }
    *out = p;
    return CWB_OK;
}

static void
host_phys_destroy(struct cwb_phys *p)
{
    if (!p)
        return;
    cw_va_phys_destroy(p->memory);
    discharge(p->size);
    free(p);
}

static cwb_result
host_phys_export(struct cwb_phys *p, int *fd)
{
    return cw_va_phys_export(p->memory, fd);
}

/* Counts as nothing: the memory is that of the process that exported it. */
static cwb_result
host_phys_import(uint32_t device, int fd, size_t size, struct cwb_phys **out)
{
    if (device >= cwh_device.count)
        return CWB_NO_DEVICE;
    struct cwb_phys *p = calloc(1, sizeof *p);
    if (!p)
        return CWB_NOMEM;
    p->size = 0;
    cwb_result r = cw_va_phys_import(fd, size, &p->memory);
    if (r != CWB_OK) {
        free(p);
        return r;
    }
    *out = p;
    return CWB_OK;
}

static cwb_result
host_va_map(uint64_t address, size_t size, struct cwb_phys *p, size_t offset)
{
    return cw_va_map(address, size, p->memory, offset);
}

/* ---- arrays, textures, surfaces ---- */

static cwb_result
host_array_create(struct cwb_context *c, const struct cwb_array_desc *d, struct cwb_array **out)
{
    struct cw_array *a;
    cwb_result r = cwh_array_create(d, &a);
    if (r != CWB_OK)
        return r;
    if (!charge(a->size)) {
        cwh_array_destroy(a);
        return CWB_NOMEM;
    }
    *out = (struct cwb_array *)(void *)a;
    return CWB_OK;
}

static void
host_array_destroy(struct cwb_array *array)
{
    struct cw_array *a = (struct cw_array *)(void *)array;
    if (!a)
        return;
    discharge(a->size);
    cwh_array_destroy(a);
}

static cwb_result
announced(cwb_result r, struct cw_texture *t, uint64_t *handle)
{
    if (r == CWB_OK && cwh_isolated() && (r = cwh_isolate_texture(t)) != CWB_OK)
        cwh_texobj_free(t);
    if (r == CWB_OK)
        *handle = t->handle;
    return r;
}

static cwb_result
host_texture_create(struct cwb_context *c, const struct cwb_texture_desc *d, uint64_t *handle)
{
    struct cw_texture *t;
    cwb_result r = cwh_texture_create(d, &t);
    return announced(r, t, handle);
}

static cwb_result
host_surface_create(struct cwb_context *c, struct cwb_array *a, uint32_t level, uint64_t *handle)
{
    struct cw_texture *t;
    cwb_result r = cwh_surface_create((const struct cw_array *)(void *)a, level, &t);
    return announced(r, t, handle);
}

/* What both tables have. */
#define HOST_OPS \
    .shutdown = host_shutdown, \
    .device_props = host_device_props, \
    .memory_info = host_memory_info, \
    .context_create = host_context_create, \
    .context_destroy = host_context_destroy, \
    .context_sync = host_context_sync, \
    .context_error = host_context_error, .failed_launch = host_failed_launch, \
    .context_limit = host_context_limit, \
    .mem_alloc = host_mem_alloc, \
    .mem_free = host_mem_free, .mem_use = cw_va_use, .mem_extend = host_mem_extend, .mem_cut = host_mem_cut, \
    .va_reserve = cw_va_reserve, \
    .va_release = cw_va_release, \
    .phys_create = host_phys_create, \
    .phys_destroy = host_phys_destroy, \
    .va_map = host_va_map, \
    .va_contains = cw_va_contains, .mem_share = cw_va_share, \
    .phys_export = host_phys_export, \
    .phys_import = host_phys_import, \
    .va_unmap = cw_va_unmap, \
    .va_protect = cw_va_protect, \
    .array_create = host_array_create, \
    .array_destroy = host_array_destroy, \
    .texture_create = host_texture_create, \
    .texture_destroy = retire, \
    .surface_create = host_surface_create, \
    .surface_destroy = retire, \
    .stream_create = cwh_stream_create, \
    .stream_destroy = cwh_stream_destroy, \
    .stream_query = cwh_stream_query, \
    .stream_sync = cwh_stream_sync, \
    .stream_is_full = cwh_stream_is_full, \
    .stream_make_room = cwh_stream_make_room, \
    .event_create = cwh_event_create, \
    .event_destroy = cwh_event_destroy, \
    .event_record = cwh_event_record, \
    .event_query = cwh_event_query, \
    .event_sync = cwh_event_sync, \
    .event_elapsed = cwh_event_elapsed, \
    .stream_wait_event = cwh_stream_wait_event, \
    .stream_host_fn = cwh_stream_host_fn, \
    .stream_time = cwh_stream_time, \
    .stream_copy = cwh_stream_copy, \
    .stream_fill = cwh_stream_fill, \
    .stream_wait_value = cwh_stream_wait_value, \
    .stream_write_value = cwh_stream_write_value, \
    .module_load = cwh_module_load, \
    .module_unload = cwh_module_unload, \
    .kernel_prepare = cwh_kernel_prepare, \
    .kernel_facts = cwh_kernel_facts, \
    .launch = cwh_stream_launch

enum {
    HOST_CAPS = CWB_CAP_MULTICAST | CWB_CAP_MANAGED | CWB_CAP_VMM | CWB_CAP_TEXTURES | CWB_CAP_STREAM_VALUE | CWB_CAP_STREAM_TIME | CWB_CAP_UNIFIED | CWB_CAP_COOPERATIVE |
                CWB_CAP_ADDR32 | CWB_CAP_CLUSTER,
};

const struct cwb_backend cwb_host = {
    .abi_version = CWB_ABI_VERSION, .name = "host", .caps = HOST_CAPS | CWB_CAP_REGISTER | CWB_CAP_PAGEABLE,
    .open = host_open, .mem_register = host_mem_register, .mem_unregister = host_mem_unregister, HOST_OPS
};

/* host:checked: only memory that the program gave to kernels. */
const struct cwb_backend cwb_host_checked = {
    .abi_version = CWB_ABI_VERSION, .name = "host", .caps = HOST_CAPS | CWB_CAP_REGISTER,
    .open = host_open, .mem_register = host_mem_register, .mem_unregister = host_mem_unregister, HOST_OPS
};

/* CUDAWAY_ISOLATE: no memory of the program's own. */
const struct cwb_backend cwb_host_isolated = {
    .abi_version = CWB_ABI_VERSION, .name = "host", .caps = HOST_CAPS, .open = isolated_open, HOST_OPS
};
