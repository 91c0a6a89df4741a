/* SPDX-License-Identifier: Apache-2.0
 * Streams and events. A stream is a list of operations and one thread that executes them in order; the thread starts with the
 * first operation. After a fault in a context its kernels, copies and fills are skipped and everything else runs, so that
 * events complete and host functions get the error. */
#define _GNU_SOURCE
#include "impl/host/device.h"

#include "impl/base/fault.h"
#include "impl/base/log.h"
#include "impl/va.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOBODY UINT64_MAX

struct cwb_stream {
    struct cwb_context *context;
    struct cwb_stream *next;        /* context.streams, the newest first; context.lock */
    uint64_t number;                /* grows along the lives of a context's streams */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct cwh_op *first, **last;
    uint64_t submitted, completed;
    _Atomic uint64_t waiting;           /* submitted - completed, to be read without the lock */
    uint64_t awaited;               /* the least count of completed operations that a thread waits for; NOBODY: none does */
    unsigned refs;                  /* context.lock: the list's and those of cwh_context_wait */
    bool gone;                      /* context.lock: off the list */
    bool started, closing;
};

static _Atomic uint64_t made;       /* streams */
static _Thread_local const struct cwb_context *ended_of;    /* the thread was one of a stream of this context */

uint64_t
cwh_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
nap(uint64_t ns)
{
    struct timespec t = { 0, (long)ns };
    nanosleep(&t, NULL);
}

/* ---- records ---- */

static struct cwh_record *
record_create(void)
{
    struct cwh_record *r = calloc(1, sizeof *r);
    if (r) {
        atomic_init(&r->refs, 1);
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->cond, NULL);
    }
    return r;
}

static struct cwh_record *
record_ref(struct cwh_record *r)
{
    if (r)
        atomic_fetch_add(&r->refs, 1);
    return r;
}

static void
record_unref(struct cwh_record *r)
{
    if (r && atomic_fetch_sub(&r->refs, 1) == 1) {
        pthread_mutex_destroy(&r->lock);
        pthread_cond_destroy(&r->cond);
        free(r);
    }
}

static void
record_complete(struct cwh_record *r)
{
    pthread_mutex_lock(&r->lock);
    r->done = true;
    r->time = cwh_now();
    pthread_cond_broadcast(&r->cond);
    pthread_mutex_unlock(&r->lock);
}

static void
record_wait(struct cwh_record *r)
{
    pthread_mutex_lock(&r->lock);
    while (!r->done)
        pthread_cond_wait(&r->cond, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

static bool
record_done(struct cwh_record *r, uint64_t *time)
{
    pthread_mutex_lock(&r->lock);
    bool done = r->done;
    if (time)
        *time = r->time;
    pthread_mutex_unlock(&r->lock);
    return done;
}

/* ---- execution ---- */

void
cwh_context_fault(struct cwb_context *c, cwb_result r, const char *message)
{
    int none = CWB_OK;
    if (atomic_compare_exchange_strong(&c->error, &none, (int)r))
        cw_error("%s", message);
}

static uint64_t
load_value(uint64_t address, unsigned bits)
{
    if (bits == 64)
        return __atomic_load_n((const uint64_t *)(uintptr_t)address, __ATOMIC_ACQUIRE);
    return __atomic_load_n((const uint32_t *)(uintptr_t)address, __ATOMIC_ACQUIRE);
}

static bool
value_reached(const struct cwh_op *op)
{
    uint64_t m = load_value(op->u.value.address, op->u.value.bits), v = op->u.value.value;
    bool wide = op->u.value.bits == 64;
    if (!wide)
        v &= 0xffffffffu;
    switch (op->u.value.compare) {
    case CWB_COMPARE_GEQ:
        return wide ? (int64_t)(m - v) >= 0 : (int32_t)(uint32_t)(m - v) >= 0;
    case CWB_COMPARE_EQ:
        return m == v;
    case CWB_COMPARE_AND:
        return (m & v) != 0;
    case CWB_COMPARE_NOR:
        return (~(m | v) & (wide ? ~0ull : 0xffffffffull)) != 0;
    }
    return true;
}

/* What the stream's thread itself does with memory. */
static void
touch(void *p)
{
    struct cwh_op *op = p;
    switch (op->kind) {
    case CWH_OP_COPY: cw_cpu_copy(&op->u.copy); break;
    case CWH_OP_FILL: cw_cpu_fill(&op->u.fill); break;
    case CWH_OP_WAIT_VALUE: op->u.value.reached = value_reached(op); break;
    case CWH_OP_WRITE_VALUE:
        if (op->u.value.bits == 64)
            __atomic_store_n((uint64_t *)(uintptr_t)op->u.value.address, op->u.value.value, __ATOMIC_RELEASE);
        else
            __atomic_store_n((uint32_t *)(uintptr_t)op->u.value.address, (uint32_t)op->u.value.value, __ATOMIC_RELEASE);
        break;
    default: break;
    }
}

/* Memory that is gone when its turn comes is the context's sticky error, as a kernel's bad address is. */
static bool
touched(struct cwb_context *c, struct cwh_op *op)
{
    static const char *const names[] = { [CWH_OP_COPY] = "copy", [CWH_OP_FILL] = "fill", [CWH_OP_WAIT_VALUE] = "wait for a value",
                                         [CWH_OP_WRITE_VALUE] = "write of a value" };
    uintptr_t address;
    char text[128];
    if (cw_guarded(touch, op, &address))
        return true;
    snprintf(text, sizeof text, "a queued %s touched memory that is not there: address 0x%llx", names[op->kind], (unsigned long long)address);
    cwh_context_fault(c, CWB_ILLEGAL_ADDRESS, text);
    return false;
}

static void
execute(struct cwb_context *c, struct cwh_op *op)
{
    bool stop = atomic_load(&cwh_device.shut_down), skip = stop || atomic_load(&c->error) != CWB_OK;
    switch (op->kind) {
    case CWH_OP_LAUNCH:
        if (!skip)
            (void)cwh_kernel_run(c, op->u.launch.kernel, &op->u.launch.launch, op->u.launch.params);
        break;
    case CWH_OP_COPY:
    case CWH_OP_FILL:
    case CWH_OP_WRITE_VALUE:
        if (!skip)
            (void)touched(c, op);
        break;
    case CWH_OP_HOST_FN:
        op->u.host.fn(op->u.host.user, stop ? CWB_SHUT_DOWN : (cwb_result)atomic_load(&c->error));
        break;
    case CWH_OP_TIME:
        op->u.time.fn(op->u.time.user, cwh_now());
        break;
    case CWH_OP_RECORD:
        record_complete(op->u.record);
        break;
    case CWH_OP_WAIT_EVENT:
        record_wait(op->u.record);      /* ends at shutdown too: every stream then runs through its records */
        break;
    case CWH_OP_WAIT_VALUE:
        for (uint64_t ns = 20000; !skip && touched(c, op) && !op->u.value.reached; ns = ns < 1000000 ? ns * 2 : ns) {
            nap(ns < 1000000 ? ns : 1000000);
            skip = atomic_load(&cwh_device.shut_down) || atomic_load(&c->error) != CWB_OK;
        }
        break;
    }
}

static void
op_free(struct cwh_op *op)
{
    if (op->kind == CWH_OP_RECORD || op->kind == CWH_OP_WAIT_EVENT)
        record_unref(op->u.record);
    if (op->kind == CWH_OP_LAUNCH)
        free(op->u.launch.params);
    free(op);
}

/* Drop one reference. context.lock held. */
static void
stream_unref(struct cwb_stream *s)
{
    if (--s->refs)
        return;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->done);
    free(s);
}

/* Take a drained, closed stream out of its context. Its thread, if it has one, is the caller and ends here: it joins the thread
 * that ended before it, so joining the last one joins all. */
static void
stream_gone(struct cwb_stream *s)
{
    struct cwb_context *c = s->context;
    bool before = false;
    pthread_t ended = pthread_self();
    pthread_mutex_lock(&c->lock);
    if (s->started) {
        ended_of = c;
        before = c->has_ended;
        ended = c->ended;
        c->ended = pthread_self();
        c->has_ended = true;
    }
    struct cwb_stream **p = &c->streams;
    while (*p != s)
        p = &(*p)->next;
    *p = s->next;
    s->gone = true;
    stream_unref(s);
    pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
    if (before)
        pthread_join(ended, NULL);
}

void
cwh_context_join(struct cwb_context *c)
{
    pthread_mutex_lock(&c->lock);
    bool has = c->has_ended;
    pthread_t t = c->ended;
    c->has_ended = false;
    pthread_mutex_unlock(&c->lock);
    if (has && ended_of == c)
        pthread_detach(t);          /* a host function made the context current in this thread, for which the last one waits */
    else if (has)
        pthread_join(t, NULL);
}

/* s->lock is held behind it. */
static void
op_done(struct cwb_stream *s, struct cwh_op *op)
{
    struct cwb_context *c = s->context;
    if (op->epoch) {
        pthread_mutex_lock(&c->lock);
        cwh_epoch_done(c, op->epoch);
        pthread_mutex_unlock(&c->lock);
    }
    op_free(op);

    /* Wake those who wait for this one, and nobody for each of those before it. */
    pthread_mutex_lock(&s->lock);
    atomic_store_explicit(&s->waiting, s->submitted - s->completed - 1, memory_order_relaxed);
    if (++s->completed >= s->awaited) {
        s->awaited = NOBODY;
        pthread_cond_broadcast(&s->done);
    }
}

/* Until the stream is closed and drained; it is gone then. */
static void *
stream_main(void *arg)
{
    struct cwb_stream *s = arg;
    cw_faults_claim();          /* the program's handler may report a fault of ours */
    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct cwh_op *op = s->first;
        if (!op) {
            if (s->closing)
                break;
            pthread_cond_wait(&s->work, &s->lock);
            continue;
        }
        s->first = op->next;
        if (!s->first)
            s->last = &s->first;
        pthread_mutex_unlock(&s->lock);
        execute(s->context, op);
        op_done(s, op);
    }
    pthread_mutex_unlock(&s->lock);
    stream_gone(s);
    return NULL;
}

/* Append; starts the thread. On failure the op is freed. */
static cwb_result
submit(struct cwb_stream *s, struct cwh_op *op)
{
    struct cwb_context *c = s->context;
    cwb_result r = CWB_OK;
    if (atomic_load(&cwh_device.shut_down)) {
        op_free(op);
        return CWB_SHUT_DOWN;
    }
    if (op->kind <= CWH_OP_FILL) {
        pthread_mutex_lock(&c->lock);
        op->epoch = c->newest;
        op->epoch->pending++;
        pthread_mutex_unlock(&c->lock);
    }
    op->next = NULL;
    pthread_mutex_lock(&s->lock);
    if (!s->started) {
        pthread_t t;
        if (cw_thread_create(&t, NULL, stream_main, s))
            r = CWB_NOMEM;
        else
            s->started = true;
    }
    if (r == CWB_OK) {
        *s->last = op;
        s->last = &op->next;
        s->submitted++;
        atomic_store_explicit(&s->waiting, s->submitted - s->completed, memory_order_relaxed);
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    if (r != CWB_OK) {
        if (op->epoch) {
            pthread_mutex_lock(&c->lock);
            cwh_epoch_done(c, op->epoch);
            pthread_mutex_unlock(&c->lock);
        }
        op_free(op);
    }
    return r;
}

static struct cwh_op *
op_create(enum cwh_op_kind kind)
{
    struct cwh_op *op = calloc(1, sizeof *op);
    if (op)
        op->kind = kind;
    return op;
}

/* ---- streams ---- */

cwb_result
cwh_stream_create(struct cwb_context *c, int priority, struct cwb_stream **out)
{
    struct cwb_stream *s = calloc(1, sizeof *s);
    if (!s)
        return CWB_NOMEM;
    s->context = c;
    s->last = &s->first;
    s->awaited = NOBODY;
    s->refs = 1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->done, NULL);
    pthread_mutex_lock(&c->lock);
    s->next = c->streams;
    s->number = atomic_fetch_add(&made, 1);
    c->streams = s;
    pthread_mutex_unlock(&c->lock);
    *out = s;
    return CWB_OK;
}

void
cwh_stream_destroy(struct cwb_stream *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    bool started = s->started;
    s->closing = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    if (!started)
        stream_gone(s);
}

static cwb_result
context_result(struct cwb_context *c)
{
    return (cwb_result)atomic_load(&c->error);
}

cwb_result
cwh_stream_query(struct cwb_stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool done = s->completed == s->submitted;
    pthread_mutex_unlock(&s->lock);
    cwb_result r = context_result(s->context);
    return r != CWB_OK ? r : done ? CWB_OK : CWB_NOT_READY;
}

/* s->lock held. */
static void
wait_completed(struct cwb_stream *s, uint64_t target)
{
    while (s->completed < target) {
        if (target < s->awaited)
            s->awaited = target;
        pthread_cond_wait(&s->done, &s->lock);
    }
}

cwb_result
cwh_stream_sync(struct cwb_stream *s)
{
    pthread_mutex_lock(&s->lock);
    wait_completed(s, s->submitted);
    pthread_mutex_unlock(&s->lock);
    cwh_output_flush(s->context->output);
    return context_result(s->context);
}

bool
cwh_stream_is_full(struct cwb_stream *s)
{
    return atomic_load_explicit(&s->waiting, memory_order_relaxed) > CWH_MOST_QUEUED;
}

void
cwh_stream_make_room(struct cwb_stream *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->submitted > CWH_MOST_QUEUED / 2)
        wait_completed(s, s->submitted - CWH_MOST_QUEUED / 2);
    pthread_mutex_unlock(&s->lock);
}

void
cwh_context_wait(struct cwb_context *c, bool gone)
{
    pthread_mutex_lock(&c->lock);
    if (gone) {
        while (c->streams)
            pthread_cond_wait(&c->idle, &c->lock);
        pthread_mutex_unlock(&c->lock);
        return;
    }
    /* A stream that is waited for may leave the list meanwhile; the next is then the first that is older. */
    for (struct cwb_stream *s = c->streams, *next; s; s = next) {
        s->refs++;
        pthread_mutex_unlock(&c->lock);
        pthread_mutex_lock(&s->lock);
        wait_completed(s, s->submitted);
        pthread_mutex_unlock(&s->lock);
        pthread_mutex_lock(&c->lock);
        next = s->gone ? c->streams : s->next;
        while (next && next->number >= s->number)
            next = next->next;
        stream_unref(s);
    }
    pthread_mutex_unlock(&c->lock);
}

void
cwh_streams_interrupt(struct cwb_context *c)
{
    pthread_mutex_lock(&c->lock);
    for (struct cwb_stream *s = c->streams; s; s = s->next) {
        pthread_mutex_lock(&s->lock);
        pthread_cond_broadcast(&s->work);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&c->lock);
}

bool
cwh_streams_busy(struct cwb_context *c)
{
    bool busy = false;
    pthread_mutex_lock(&c->lock);
    for (struct cwb_stream *s = c->streams; s && !busy; s = s->next) {
        pthread_mutex_lock(&s->lock);
        busy = s->completed != s->submitted || s->closing;      /* a closing one is about to leave the list */
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return busy;
}

/* ---- events ---- */

cwb_result
cwh_event_create(struct cwb_context *c, uint32_t flags, struct cwb_event **out)
{
    struct cwb_event *e = calloc(1, sizeof *e);
    if (!e)
        return CWB_NOMEM;
    e->context = c;
    e->flags = flags;
    pthread_mutex_init(&e->lock, NULL);
    *out = e;
    return CWB_OK;
}

void
cwh_event_destroy(struct cwb_event *e)
{
    if (!e)
        return;
    record_unref(e->latest);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static struct cwh_record *
latest(struct cwb_event *e)
{
    pthread_mutex_lock(&e->lock);
    struct cwh_record *r = record_ref(e->latest);
    pthread_mutex_unlock(&e->lock);
    return r;
}

cwb_result
cwh_event_record(struct cwb_event *e, struct cwb_stream *s)
{
    struct cwh_record *r = record_create();
    struct cwh_op *op = op_create(CWH_OP_RECORD);
    if (!r || !op) {
        record_unref(r);
        free(op);
        return CWB_NOMEM;
    }
    op->u.record = record_ref(r);
    cwb_result result = submit(s, op);
    if (result != CWB_OK) {
        record_unref(r);
        return result;
    }
    pthread_mutex_lock(&e->lock);
    struct cwh_record *old = e->latest;
    e->latest = r;
    pthread_mutex_unlock(&e->lock);
    record_unref(old);
    return CWB_OK;
}

cwb_result
cwh_event_query(struct cwb_event *e)
{
    struct cwh_record *r = latest(e);
    bool done = !r || record_done(r, NULL);
    record_unref(r);
    cwb_result error = context_result(e->context);
    return error != CWB_OK ? error : done ? CWB_OK : CWB_NOT_READY;
}

cwb_result
cwh_event_sync(struct cwb_event *e)
{
    struct cwh_record *r = latest(e);
    if (r)
        record_wait(r);
    record_unref(r);
    cwh_output_flush(e->context->output);
    return context_result(e->context);
}

cwb_result
cwh_event_elapsed(struct cwb_event *start, struct cwb_event *end, float *ms)
{
    struct cwh_record *a = latest(start), *b = latest(end);
    uint64_t ta = 0, tb = 0;
    cwb_result result = CWB_OK;
    if (!a || !b || !(start->flags & CWB_EVENT_TIMING) || !(end->flags & CWB_EVENT_TIMING))
        result = CWB_INVALID;
    else if (!record_done(a, &ta) || !record_done(b, &tb))
        result = CWB_NOT_READY;
    else
        *ms = (float)((double)(int64_t)(tb - ta) / 1e6);
    record_unref(a);
    record_unref(b);
    return result;
}

cwb_result
cwh_stream_wait_event(struct cwb_stream *s, struct cwb_event *e)
{
    struct cwh_record *r = latest(e);
    if (!r)
        return CWB_OK;
    if (record_done(r, NULL)) {
        record_unref(r);
        return CWB_OK;
    }
    struct cwh_op *op = op_create(CWH_OP_WAIT_EVENT);
    if (!op) {
        record_unref(r);
        return CWB_NOMEM;
    }
    op->u.record = r;
    return submit(s, op);
}

/* ---- the other submit operations ---- */

cwb_result
cwh_stream_host_fn(struct cwb_stream *s, cwb_host_fn *fn, void *user)
{
    struct cwh_op *op = op_create(CWH_OP_HOST_FN);
    if (!op)
        return CWB_NOMEM;
    op->u.host.fn = fn;
    op->u.host.user = user;
    return submit(s, op);
}

cwb_result
cwh_stream_time(struct cwb_stream *s, cwb_time_fn *fn, void *user)
{
    struct cwh_op *op = op_create(CWH_OP_TIME);
    if (!op)
        return CWB_NOMEM;
    op->u.time.fn = fn;
    op->u.time.user = user;
    return submit(s, op);
}

cwb_result
cwh_stream_copy(struct cwb_stream *s, const struct cwb_copy *copy)
{
    struct cwh_op *op = op_create(CWH_OP_COPY);
    if (!op)
        return CWB_NOMEM;
    op->u.copy = *copy;
    cwb_result r = cw_array_side(&op->u.copy.dst, CWB_LOC_HOST);
    if (r == CWB_OK)
        r = cw_array_side(&op->u.copy.src, CWB_LOC_HOST);
    if (r != CWB_OK) {
        free(op);
        return r;
    }
    return submit(s, op);
}

cwb_result
cwh_stream_fill(struct cwb_stream *s, const struct cwb_fill *fill)
{
    if (fill->size != 1 && fill->size != 2 && fill->size != 4)
        return CWB_INVALID;
    struct cwh_op *op = op_create(CWH_OP_FILL);
    if (!op)
        return CWB_NOMEM;
    op->u.fill = *fill;
    cwb_result r = cw_array_side(&op->u.fill.dst, CWB_LOC_HOST);
    if (r != CWB_OK) {
        free(op);
        return r;
    }
    return submit(s, op);
}

static cwb_result
submit_value(struct cwb_stream *s, enum cwh_op_kind kind, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare)
{
    if ((bits != 32 && bits != 64) || !address || address % (bits / 8))
        return CWB_INVALID;
    struct cwh_op *op = op_create(kind);
    if (!op)
        return CWB_NOMEM;
    op->u.value.address = address;
    op->u.value.value = value;
    op->u.value.bits = bits;
    op->u.value.compare = compare;
    return submit(s, op);
}

cwb_result
cwh_stream_wait_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits, enum cwb_compare compare)
{
    return submit_value(s, CWH_OP_WAIT_VALUE, address, value, bits, compare);
}

cwb_result
cwh_stream_write_value(struct cwb_stream *s, uint64_t address, uint64_t value, unsigned bits)
{
    return submit_value(s, CWH_OP_WRITE_VALUE, address, value, bits, CWB_COMPARE_EQ);
}

cwb_result
cwh_stream_launch(struct cwb_stream *s, struct cwb_kernel *k, const struct cwb_launch *l)
{
    struct cwh_op *op = op_create(CWH_OP_LAUNCH);
    if (!op)
        return CWB_NOMEM;
    op->u.launch.kernel = k;
    op->u.launch.launch = *l;
    op->u.launch.launch.params = NULL;
    size_t size = (k->info->param_size + 63 + 64) & ~(size_t)63;
    op->u.launch.params = aligned_alloc(64, size);
    if (!op->u.launch.params) {
        free(op);
        return CWB_NOMEM;
    }
    memset(op->u.launch.params, 0, size);
    if (l->param_size && l->params)
        memcpy(op->u.launch.params, l->params, l->param_size < k->info->param_size ? l->param_size : k->info->param_size);
    return submit(s, op);
}
