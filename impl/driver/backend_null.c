/* SPDX-License-Identifier: Apache-2.0
 * The null device, for tests of the driver: memory, copies, fills, streams and events are real (one thread a stream),
 * kernels are accepted and not executed. CUDAWAY_DEVICE=null:OP@N[=ERROR][,...] makes the Nth call of an operation fail, where
 * ERROR is nomem (default), invalid, unsupported, internal or fault (the context's sticky error becomes an illegal address);
 * N+ means from the Nth call on. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "impl/backend.h"
#include "impl/base/buf.h"
#include "impl/base/fault.h"
#include "impl/base/log.h"
#include "impl/va.h"
#include "jit/jit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NULL_MEMORY (4ull << 30)

enum op_kind { OP_COPY, OP_FILL, OP_HOST, OP_RECORD, OP_WAIT, OP_WAIT_VALUE, OP_WRITE_VALUE, OP_FAULT };

struct op {
    struct op *next;
    enum op_kind kind;
    bool reached;                       /* WAIT_VALUE: by touch */
    union {
        struct cwb_copy copy;
        struct cwb_fill fill;
        struct { cwb_host_fn *fn; void *user; } host;
        struct { struct cwb_event *e; struct record *r; } event;      /* references to both */
        struct { uint64_t address, value; unsigned bits; enum cwb_compare compare; } value;
    } u;
};

struct cwb_context {
    _Atomic int error;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct cwb_stream *streams;         /* lock */
};

struct cwb_stream {
    struct cwb_context *c;
    struct cwb_stream *next;            /* c->lock */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    struct op *head, **tail;            /* lock, and so on */
    uint64_t submitted, completed;
    bool closing;
};

/* One recording of an event; records in several streams may complete in another order than they were made. */
struct record {
    int refs;                           /* the event's lock, and so on */
    bool completed;
    struct timespec when;
};

struct cwb_event {
    _Atomic int refs;
    pthread_mutex_t lock;
    pthread_cond_t done;
    struct record *last;                /* lock: owned reference, or NULL */
    bool timing;
};

struct cwb_array {
    struct cwb_array_desc d;
    uint32_t element;
    size_t pitch[16], slice[16], offset[16], size;
    uint8_t *data;
};

struct cwb_module {
    const struct cwj_api *jit;
    struct cwj_program *program;
    uint64_t image;
    size_t size;
    struct cwb_kernel *kernels;
};

struct cwb_kernel {
    struct cwb_module *m;
    uint32_t index;
};

/* ---- fault injection --------------------------------------------------------------------------------------------------- */

static struct fault {
    char name[32];
    unsigned at;
    bool onwards;
    cwb_result result;
    _Atomic unsigned calls;
} faults[8];
static unsigned nfaults;

static cwb_result
injected(const char *name)
{
    for (unsigned i = 0; i < nfaults; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->name, name))
            continue;
        unsigned n = atomic_fetch_add(&f->calls, 1) + 1;
        if (n == f->at || (f->onwards && n > f->at))
            return f->result;
    }
    return CWB_OK;
}
#define INJECT(name) do { cwb_result i_ = injected(name); if (i_ != CWB_OK) return i_; } while (0)

static cwb_result
parse_faults(const char *s)
{
    static const struct { const char *name; cwb_result r; } results[] = {
        { "nomem", CWB_NOMEM }, { "invalid", CWB_INVALID }, { "unsupported", CWB_UNSUPPORTED }, { "internal", CWB_INTERNAL },
        { "fault", CWB_ILLEGAL_ADDRESS },
    };
    nfaults = 0;
    while (s && *s) {
        size_t n = strcspn(s, ",");
        char text[96], plus = 0, result[16] = "nomem";
        if (n >= sizeof text || nfaults == sizeof faults / sizeof *faults)
            return CWB_INVALID;
        memcpy(text, s, n);
        text[n] = 0;
        struct fault *f = &faults[nfaults];
        memset(f, 0, sizeof *f);
        char *eq = strchr(text, '=');
        if (eq) {
            snprintf(result, sizeof result, "%s", eq + 1);
            *eq = 0;
        }
        int fields = sscanf(text, "%31[a-z_]@%u%c", f->name, &f->at, &plus);
        if (fields < 2 || (plus && plus != '+'))
            return CWB_INVALID;
        f->onwards = plus == '+';
        f->result = CWB_OK;
        for (size_t i = 0; i < sizeof results / sizeof *results; i++)
            if (!strcmp(results[i].name, result))
                f->result = results[i].r;
        if (f->result == CWB_OK)
            return CWB_INVALID;
        nfaults++;
        s += n + (s[n] == ',');
    }
    return CWB_OK;
}

/* ---- device -------------------------------------------------------------------------------------------------------------- */

static _Atomic size_t in_use;

static cwb_result
null_open(const char *option, uint32_t *count)
{
    cwb_result r = parse_faults(option);
    if (r != CWB_OK)
        return r;
    INJECT("open");
    *count = 2;
    return CWB_OK;
}

static void
null_shutdown(void)
{
}

static cwb_result
null_device_props(uint32_t device, struct cwb_device_props *p)
{
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "CUDAway null device %u", device);
    memcpy(p->uuid, "cudaway-null-dev", 16);
    p->uuid[15] = (uint8_t)('0' + device);
    p->total_memory = NULL_MEMORY;
    p->multiprocessors = 4;
    p->pci_bus = device + 1;
    return CWB_OK;
}

static cwb_result
null_memory_info(uint32_t device, size_t *free_bytes, size_t *total)
{
    size_t used = atomic_load(&in_use);
    *total = NULL_MEMORY;
    *free_bytes = used < NULL_MEMORY ? NULL_MEMORY - used : 0;
    return CWB_OK;
}

static cwb_result
null_context_create(uint32_t device, struct cwb_context **out)
{
    INJECT("context_create");
    struct cwb_context *c = calloc(1, sizeof *c);
    if (!c)
        return CWB_NOMEM;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->idle, NULL);
    *out = c;
    return CWB_OK;
}

static cwb_result
null_context_error(struct cwb_context *c)
{
    return (cwb_result)atomic_load(&c->error);
}

/* Waits for what is queued now; the caller keeps the stream alive. */
static void
drain(struct cwb_stream *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t n = s->submitted;
    while (s->completed < n)
        pthread_cond_wait(&s->done, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static cwb_result
null_context_sync(struct cwb_context *c)
{
    pthread_mutex_lock(&c->lock);
    for (;;) {
        struct cwb_stream *busy = NULL;
        for (struct cwb_stream *s = c->streams; s && !busy; s = s->next) {
            pthread_mutex_lock(&s->lock);
            if (s->completed < s->submitted)
                busy = s;
            pthread_mutex_unlock(&s->lock);
        }
        if (!busy)
            break;
        pthread_cond_wait(&c->idle, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return null_context_error(c);
}

static void
null_context_destroy(struct cwb_context *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->streams)
        pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
    pthread_cond_destroy(&c->idle);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static cwb_result
null_context_limit(struct cwb_context *c, enum cwb_limit limit, size_t value)
{
    INJECT("context_limit");
    return CWB_OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

static cwb_result
null_mem_alloc(struct cwb_context *c, enum cwb_mem_kind kind, size_t size, size_t align, uint64_t *address)
{
    INJECT("mem_alloc");
    if (kind == CWB_MEM_PINNED) {
        void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return CWB_NOMEM;
        *address = (uintptr_t)p;
        return CWB_OK;
    }
    if (atomic_fetch_add(&in_use, size) + size > NULL_MEMORY) {
        atomic_fetch_sub(&in_use, size);
        return CWB_NOMEM;
    }
    cwb_result r = kind == CWB_MEM_MANAGED ? cw_va_alloc_pages(size, align, address) : cw_va_alloc(size, align, address);
    if (r != CWB_OK)
        atomic_fetch_sub(&in_use, size);
    return r;
}

static cwb_result
null_mem_free(struct cwb_context *c, enum cwb_mem_kind kind, uint64_t address, size_t size)
{
    INJECT("mem_free");
    if (kind == CWB_MEM_PINNED) {
        cw_give_back((void *)(uintptr_t)address, size);
        return CWB_OK;
    }
    atomic_fetch_sub(&in_use, size);
    return cw_va_free(address, size);
}

static cwb_result
null_mem_extend(struct cwb_context *c, uint64_t address, size_t more)
{
    INJECT("mem_extend");
    if (atomic_fetch_add(&in_use, more) + more > NULL_MEMORY) {
        atomic_fetch_sub(&in_use, more);
        return CWB_NOMEM;
    }
    cwb_result r = cw_va_extend(address, more);
    if (r != CWB_OK)
        atomic_fetch_sub(&in_use, more);
    return r;
}

static cwb_result
null_mem_cut(struct cwb_context *c, uint64_t address, uint64_t from, size_t size)
{
    INJECT("mem_cut");
    cwb_result r = cw_va_cut(address, from, size);
    if (r == CWB_OK)
        atomic_fetch_sub(&in_use, size);
    return r;
}

static cwb_result
null_mem_register(struct cwb_context *c, void *ptr, size_t size, bool read_only, uint64_t *device_address)
{
    INJECT("mem_register");
    if (!ptr || !size || !cw_va_is_of_program((uintptr_t)ptr, size))
        return CWB_INVALID;
    *device_address = (uintptr_t)ptr;
    return CWB_OK;
}

static cwb_result
null_mem_unregister(struct cwb_context *c, void *ptr, size_t size)
{
    return CWB_OK;
}

static cwb_result
null_phys_create(uint32_t device, size_t size, bool shared, struct cwb_phys **out)
{
    INJECT("phys_create");
    return cw_va_phys_create(size, shared, (struct cw_va_phys **)out);
}

static void
null_phys_destroy(struct cwb_phys *p)
{
    cw_va_phys_destroy((struct cw_va_phys *)p);
}

static cwb_result
null_phys_export(struct cwb_phys *p, int *fd)
{
    return cw_va_phys_export((struct cw_va_phys *)p, fd);
}

static cwb_result
null_phys_import(uint32_t device, int fd, size_t size, struct cwb_phys **out)
{
    return cw_va_phys_import(fd, size, (struct cw_va_phys **)out);
}

static cwb_result
null_va_map(uint64_t address, size_t size, struct cwb_phys *p, size_t offset)
{
    INJECT("va_map");
    return cw_va_map(address, size, (struct cw_va_phys *)p, offset);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------------------ */

static cwb_result
null_array_create(struct cwb_context *c, const struct cwb_array_desc *d, struct cwb_array **out)
{
    static const uint8_t bytes[] = { 1, 2, 4, 1, 2, 4, 2, 4 };
    INJECT("array_create");
    struct cwb_array *a = calloc(1, sizeof *a);
    if (!a || d->levels > 16) {
        free(a);
        return CWB_NOMEM;
    }
    a->d = *d;
    a->element = bytes[d->format] * d->channels;
    bool layers = d->flags & (CWB_ARRAY_LAYERED | CWB_ARRAY_CUBEMAP);
    size_t w = d->width, h = d->height ? d->height : 1, n = d->depth ? d->depth : 1;
    for (uint32_t i = 0; i < d->levels; i++) {
        a->offset[i] = a->size;
        a->pitch[i] = w * a->element;
        a->slice[i] = a->pitch[i] * h;
        a->size += a->slice[i] * n;
        w = w > 1 ? w / 2 : 1;
        h = h > 1 ? h / 2 : 1;
        n = !layers && n > 1 ? n / 2 : n;
    }
    a->data = calloc(1, a->size);
    if (!a->data) {
        free(a);
        return CWB_NOMEM;
    }
    *out = a;
    return CWB_OK;
}

static void
null_array_destroy(struct cwb_array *a)
{
    free(a->data);
    free(a);
}

static _Atomic uint64_t next_texture = 1;

static cwb_result
null_texture_create(struct cwb_context *c, const struct cwb_texture_desc *d, uint64_t *handle)
{
    INJECT("texture_create");
    *handle = atomic_fetch_add(&next_texture, 1);
    return CWB_OK;
}

static cwb_result
null_surface_create(struct cwb_context *c, struct cwb_array *a, uint32_t level, uint64_t *handle)
{
    INJECT("surface_create");
    *handle = atomic_fetch_add(&next_texture, 1);
    return CWB_OK;
}

static void
null_texture_destroy(struct cwb_context *c, uint64_t handle)
{
}

/* ---- streams ------------------------------------------------------------------------------------------------------------------ */

static void
event_put(struct cwb_event *e)
{
    if (atomic_fetch_sub(&e->refs, 1) != 1)
        return;
    pthread_cond_destroy(&e->done);
    pthread_mutex_destroy(&e->lock);
    free(e->last);
    free(e);
}

/* The event's lock is held. */
static void
record_put(struct record *r)
{
    if (r && --r->refs == 0)
        free(r);
}

/* The last record with a reference, or NULL. The event's lock is held. */
static struct record *
record_get(struct cwb_event *e)
{
    if (e->last)
        e->last->refs++;
    return e->last;
}

/* Waits for r and gives the reference back. The event's lock is held. */
static void
record_wait(struct cwb_event *e, struct record *r)
{
    while (r && !r->completed)
        pthread_cond_wait(&e->done, &e->lock);
    record_put(r);
}

static void
array_end(struct cwb_side *s)
{
    if (s->loc != CWB_LOC_ARRAY)
        return;
    struct cwb_array *a = s->array;
    s->loc = CWB_LOC_HOST;
    s->address = (uintptr_t)a->data + a->offset[s->level];
    s->pitch = a->pitch[s->level];
    s->slice = a->slice[s->level];
}

static bool
value_reached(const struct op *o)
{
    uint64_t m = o->u.value.bits == 64 ? __atomic_load_n((uint64_t *)(uintptr_t)o->u.value.address, __ATOMIC_ACQUIRE)
                                       : __atomic_load_n((uint32_t *)(uintptr_t)o->u.value.address, __ATOMIC_ACQUIRE);
    uint64_t v = o->u.value.value;
    switch (o->u.value.compare) {
    case CWB_COMPARE_GEQ: return o->u.value.bits == 64 ? (int64_t)(m - v) >= 0 : (int32_t)((uint32_t)m - (uint32_t)v) >= 0;
    case CWB_COMPARE_EQ:  return m == v;
    case CWB_COMPARE_AND: return (m & v) != 0;
    case CWB_COMPARE_NOR: return o->u.value.bits == 64 ? ~(m | v) != 0 : (uint32_t)~(m | v) != 0;
    }
    return true;
}

static void
touch(void *p)
{
    struct op *o = p;
    switch (o->kind) {
    case OP_COPY: cw_cpu_copy(&o->u.copy); break;
    case OP_FILL: cw_cpu_fill(&o->u.fill); break;
    case OP_WAIT_VALUE: o->reached = value_reached(o); break;
    case OP_WRITE_VALUE:
        if (o->u.value.bits == 64)
            __atomic_store_n((uint64_t *)(uintptr_t)o->u.value.address, o->u.value.value, __ATOMIC_RELEASE);
        else
            __atomic_store_n((uint32_t *)(uintptr_t)o->u.value.address, (uint32_t)o->u.value.value, __ATOMIC_RELEASE);
        break;
    default: break;
    }
}

/* Memory that is gone when its turn comes is the context's sticky error. */
static bool
touched(struct cwb_context *c, struct op *o)
{
    uintptr_t address;
    if (cw_guarded(touch, o, &address))
        return true;
    cw_error("queued work touched memory that is not there: address 0x%llx", (unsigned long long)address);
    atomic_store(&c->error, CWB_ILLEGAL_ADDRESS);
    return false;
}

static void
execute(struct cwb_stream *s, struct op *o)
{
    struct cwb_context *c = s->c;
    bool failed = null_context_error(c) != CWB_OK;
    switch (o->kind) {
    case OP_COPY:
        array_end(&o->u.copy.dst);
        array_end(&o->u.copy.src);
        if (!failed)
            (void)touched(c, o);
        break;
    case OP_FILL:
    case OP_WRITE_VALUE:
        if (!failed)
            (void)touched(c, o);
        break;
    case OP_HOST:
        o->u.host.fn(o->u.host.user, null_context_error(c));
        break;
    case OP_RECORD: {
        struct cwb_event *e = o->u.event.e;
        pthread_mutex_lock(&e->lock);
        o->u.event.r->completed = true;
        clock_gettime(CLOCK_MONOTONIC, &o->u.event.r->when);
        record_put(o->u.event.r);
        pthread_cond_broadcast(&e->done);
        pthread_mutex_unlock(&e->lock);
        event_put(e);
        break;
    }
    case OP_WAIT: {
        struct cwb_event *e = o->u.event.e;
        pthread_mutex_lock(&e->lock);
        record_wait(e, o->u.event.r);
        pthread_mutex_unlock(&e->lock);
        event_put(e);
        break;
    }
    case OP_WAIT_VALUE:
        while (!failed && touched(c, o) && !o->reached) {
            nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
            failed = null_context_error(c) != CWB_OK;
        }
        break;
    case OP_FAULT:
        atomic_store(&c->error, CWB_ILLEGAL_ADDRESS);
        break;
    }
}

static void *
stream_thread(void *p)
{
    struct cwb_stream *s = p;
    struct cwb_context *c = s->c;
    cw_faults_claim();          /* the program's handler may report a fault of ours */
    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct op *o = s->head;
        if (!o) {
            if (s->closing)
                break;
            pthread_cond_wait(&s->wake, &s->lock);
            continue;
        }
        s->head = o->next;
        if (!s->head)
            s->tail = &s->head;
        pthread_mutex_unlock(&s->lock);
        execute(s, o);
        free(o);
        pthread_mutex_lock(&s->lock);
        s->completed++;
        bool idle = s->completed == s->submitted;
        pthread_cond_broadcast(&s->done);
        if (idle) {
            pthread_mutex_unlock(&s->lock);
            pthread_mutex_lock(&c->lock);
            pthread_cond_broadcast(&c->idle);
            pthread_mutex_unlock(&c->lock);
            pthread_mutex_lock(&s->lock);
        }
    }
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_lock(&c->lock);
    for (struct cwb_stream **l = &c->streams; *l; l = &(*l)->next) {
        if (*l == s) {
            *l = s->next;
            break;
        }
    }
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->lock);
    free(s);
    pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static cwb_result
null_stream_create(struct cwb_context *c, int priority, struct cwb_stream **out)
{
    INJECT("stream_create");
    struct cwb_stream *s = calloc(1, sizeof *s);
    if (!s)
        return CWB_NOMEM;
    s->c = c;
    s->tail = &s->head;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    pthread_cond_init(&s->done, NULL);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_t t;
    pthread_mutex_lock(&c->lock);
    int err = cw_thread_create(&t, &attr, stream_thread, s);
    if (!err) {
        s->next = c->streams;
        c->streams = s;
    }
    pthread_mutex_unlock(&c->lock);
    pthread_attr_destroy(&attr);
    if (err) {
        free(s);
        return CWB_NOMEM;
    }
    *out = s;
    return CWB_OK;
}

static void
null_stream_destroy(struct cwb_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

static cwb_result
submit(struct cwb_stream *s, const struct op *template)
{
    struct op *o = malloc(sizeof *o);
    if (!o)
        return CWB_NOMEM;
    *o = *template;
    o->next = NULL;
    pthread_mutex_lock(&s->lock);
    *s->tail = o;
    s->tail = &o->next;
    s->submitted++;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return CWB_OK;
}

static cwb_result
null_stream_query(struct cwb_stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool busy = s->completed < s->submitted;
    pthread_mutex_unlock(&s->lock);
    cwb_result e = null_context_error(s->c);
    return e != CWB_OK ? e : busy ? CWB_NOT_READY : CWB_OK;
}

static cwb_result
null_stream_sync(struct cwb_stream *s)
{
    INJECT("stream_sync");
    drain(s);
    return null_context_error(s->c);
}

static cwb_result
null_event_create(struct cwb_context *c, uint32_t flags, struct cwb_event **out)
{
    INJECT("event_create");
    struct cwb_event *e = calloc(1, sizeof *e);
    if (!e)
        return CWB_NOMEM;
    atomic_init(&e->refs, 1);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->done, NULL);
    e->timing = flags & CWB_EVENT_TIMING;
    *out = e;
    return CWB_OK;
}

static cwb_result
null_event_record(struct cwb_event *e, struct cwb_stream *s)
{
    INJECT("event_record");
    struct record *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return CWB_NOMEM;
    fresh->refs = 2;                    /* the event's, the operation's */
    atomic_fetch_add(&e->refs, 1);
    pthread_mutex_lock(&e->lock);
    struct op o = { .kind = OP_RECORD, .u.event = { e, fresh } };
    cwb_result r = submit(s, &o);
    if (r == CWB_OK) {
        record_put(e->last);
        e->last = fresh;
    } else {
        free(fresh);
    }
    pthread_mutex_unlock(&e->lock);
    if (r != CWB_OK)
        event_put(e);
    return r;
}

static cwb_result
null_event_query(struct cwb_event *e)
{
    pthread_mutex_lock(&e->lock);
    bool done = !e->last || e->last->completed;
    pthread_mutex_unlock(&e->lock);
    return done ? CWB_OK : CWB_NOT_READY;
}

static cwb_result
null_event_sync(struct cwb_event *e)
{
    pthread_mutex_lock(&e->lock);
    record_wait(e, record_get(e));
    pthread_mutex_unlock(&e->lock);
    return CWB_OK;
}

static cwb_result
null_event_elapsed(struct cwb_event *start, struct cwb_event *end, float *ms)
{
    struct cwb_event *both[] = { start, end };
    struct timespec t[2];
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&both[i]->lock);
        bool never = !both[i]->last, pending = !never && !both[i]->last->completed;
        t[i] = never ? (struct timespec){ 0 } : both[i]->last->when;
        pthread_mutex_unlock(&both[i]->lock);
        if (never)
            return CWB_INVALID;
        if (pending)
            return CWB_NOT_READY;
    }
    *ms = (float)((double)(t[1].tv_sec - t[0].tv_sec) * 1e3 + (double)(t[1].tv_nsec - t[0].tv_nsec) * 1e-6);
    return CWB_OK;
}

static cwb_result
null_stream_wait_event(struct cwb_stream *s, struct cwb_event *e)
{
    INJECT("stream_wait_event");
    atomic_fetch_add(&e->refs, 1);
    pthread_mutex_lock(&e->lock);
    struct op o = { .kind = OP_WAIT, .u.event = { e, record_get(e) } };
    cwb_result r = submit(s, &o);
    if (r != CWB_OK)
        record_put(o.u.event.r);
    pthread_mutex_unlock(&e->lock);
    if (r != CWB_OK)
        event_put(e);
    return r;
}

static cwb_result
null_stream_host_fn(struct cwb_stream *s, cwb_host_fn *fn, void *user)
{
    INJECT("stream_host_fn");
    return submit(s, &(struct op){ .kind = OP_HOST, .u.host = { fn, user } });
}

static cwb_result
null_stream_copy(struct cwb_stream *s, const struct cwb_copy *c)
{
    INJECT("stream_copy");
    return submit(s, &(struct op){ .kind = OP_COPY, .u.copy = *c });
}

static cwb_result
null_stream_fill(struct cwb_stream *s, const struct cwb_fill *f)
{
    INJECT("stream_fill");
    return submit(s, &(struct op){ .kind = OP_FILL, .u.fill = *f });
}

static cwb_result
null_stream_wait_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare)
{
    return submit(s, &(struct op){ .kind = OP_WAIT_VALUE, .u.value = { address, value, bits, compare } });
}

static cwb_result
null_stream_write_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits)
{
    return submit(s, &(struct op){ .kind = OP_WRITE_VALUE, .u.value = { address, value, bits, CWB_COMPARE_EQ } });
}

/* ---- modules ------------------------------------------------------------------------------------------------------------------- */

static cwb_result
null_module_load(struct cwb_context *c, const struct cwj_api *jit, struct cwj_program *program, struct cwb_module **out,
                 uint64_t *image_address)
{
    INJECT("module_load");
    const struct cwj_image *im = jit->image(program);
    uint32_t n = jit->kernel_count(program);
    struct cwb_module *m = calloc(1, sizeof *m);
    if (!m)
        return CWB_NOMEM;
    m->jit = jit;
    m->program = program;
    m->size = im->size ? im->size : 16;
    m->kernels = calloc(n ? n : 1, sizeof *m->kernels);
    cwb_result r = m->kernels ? cw_va_alloc_pages(m->size, im->align, &m->image) : CWB_NOMEM;      /* it may have managed variables */
    if (r != CWB_OK) {
        free(m->kernels);
        free(m);
        return r;
    }
    if (im->size)
        memcpy((void *)(uintptr_t)m->image, im->init, im->size);
    for (uint32_t i = 0; i < n; i++)
        m->kernels[i] = (struct cwb_kernel){ m, i };
    *out = m;
    *image_address = m->image;
    return CWB_OK;
}

static void
null_module_unload(struct cwb_module *m)
{
    (void)cw_va_free(m->image, m->size);
    free(m->kernels);
    free(m);
}

static cwb_result
null_kernel_prepare(struct cwb_module *m, uint32_t index, bool compile, struct cwb_kernel **out, struct cw_buf *log)
{
    INJECT("kernel_prepare");
    *out = &m->kernels[index];
    return CWB_OK;
}

static cwb_result
null_kernel_facts(struct cwb_kernel *k, struct cwb_kernel_facts *f)
{
    const struct cwj_kernel *j = k->m->jit->kernel(k->m->program, k->index);
    *f = (struct cwb_kernel_facts){ .static_shared = j->static_shared, .local_bytes = j->local_bytes, .registers = j->nregs,
                                    .ptx_version = j->ptx_version, .binary_version = j->sm };
    return CWB_OK;
}

static cwb_result
null_launch(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l)
{
    cwb_result r = injected("launch");
    if (r == CWB_ILLEGAL_ADDRESS)
        return submit(s, &(struct op){ .kind = OP_FAULT });
    return r;
}

const struct cwb_backend cwb_null = {
    .abi_version = CWB_ABI_VERSION,
    .name = "null",
    .caps = CWB_CAP_MANAGED | CWB_CAP_VMM | CWB_CAP_REGISTER | CWB_CAP_TEXTURES | CWB_CAP_STREAM_VALUE | CWB_CAP_UNIFIED | CWB_CAP_PAGEABLE | CWB_CAP_MULTICAST |
            CWB_CAP_COOPERATIVE | CWB_CAP_NO_EXECUTE | CWB_CAP_ADDR32,
    .open = null_open,
    .shutdown = null_shutdown,
    .device_props = null_device_props,
    .memory_info = null_memory_info,
    .context_create = null_context_create,
    .context_destroy = null_context_destroy,
    .context_sync = null_context_sync,
    .context_error = null_context_error,
    .context_limit = null_context_limit,
    .mem_alloc = null_mem_alloc,
    .mem_free = null_mem_free, .mem_use = cw_va_use, .mem_extend = null_mem_extend, .mem_cut = null_mem_cut,
    .mem_register = null_mem_register,
    .mem_unregister = null_mem_unregister,
    .va_reserve = cw_va_reserve,
    .va_release = cw_va_release,
    .phys_create = null_phys_create,
    .phys_destroy = null_phys_destroy,
    .va_map = null_va_map,
    .va_contains = cw_va_contains, .mem_share = cw_va_share,
    .phys_export = null_phys_export,
    .phys_import = null_phys_import,
    .va_unmap = cw_va_unmap,
    .va_protect = cw_va_protect,
    .array_create = null_array_create,
    .array_destroy = null_array_destroy,
    .texture_create = null_texture_create,
    .texture_destroy = null_texture_destroy,
    .surface_create = null_surface_create,
    .surface_destroy = null_texture_destroy,
    .stream_create = null_stream_create,
    .stream_destroy = null_stream_destroy,
    .stream_query = null_stream_query,
    .stream_sync = null_stream_sync,
    .event_create = null_event_create,
    .event_destroy = event_put,
    .event_record = null_event_record,
    .event_query = null_event_query,
    .event_sync = null_event_sync,
    .event_elapsed = null_event_elapsed,
    .stream_wait_event = null_stream_wait_event,
    .stream_host_fn = null_stream_host_fn,
    .stream_copy = null_stream_copy,
    .stream_fill = null_stream_fill,
    .stream_wait_value = null_stream_wait_value,
    .stream_write_value = null_stream_write_value,
    .module_load = null_module_load,
    .module_unload = null_module_unload,
    .kernel_prepare = null_kernel_prepare,
    .kernel_facts = null_kernel_facts,
    .launch = null_launch,
};
