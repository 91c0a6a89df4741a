/* SPDX-License-Identifier: Apache-2.0
 * Times of device operations where the driver below does not tell them: a timing event before and one behind each launch, copy, memset and
 * graph launch, in the operation's own stream, so that the streams' order and the default stream's rules stay as they are. The event behind one operation is
 * also that before the next where the program put nothing between them and the device is busy: on a GPU each event takes some 2 us. Events are read
 * when they are done: a few behind each later operation of the stream and behind calls that wait, while the device is busy rather than before it
 * gets new work; all of them behind calls that fail, and at exit. Nothing is recorded into a stream that is captured. */
#include "tracer/layer_private.h"

#include "impl/base/event_clock.h"
#include "impl/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NONE 255u

/* Calls that submit an operation, those that wait, and common ones that put nothing into a stream. A parameter by its number; NONE: it has none. */
static const struct known_call {
    unsigned index;
    uint8_t  kind, way, bytes, stream;
    bool     waits, per_thread;
} known[] = {
#define ASYNC(name, kind, way, bytes, stream)                                                                          \
    { CW_FN_##name, kind, way, bytes, stream, false, false }, { CW_FN_##name##_ptsz, kind, way, bytes, stream, false, true }
#define SYNC(name, kind, way, bytes)                                                                                   \
    { CW_FN_##name, kind, way, bytes, NONE, true, false }, { CW_FN_##name##_ptds, kind, way, bytes, NONE, true, true }
    ASYNC(cuMemcpyAsync, CW_DEVICE_COPY, CW_WAY_DTOD, 2, 3),
    ASYNC(cuMemcpyHtoDAsync_v2, CW_DEVICE_COPY, CW_WAY_HTOD, 2, 3),
    ASYNC(cuMemcpyDtoHAsync_v2, CW_DEVICE_COPY, CW_WAY_DTOH, 2, 3),
    ASYNC(cuMemcpyDtoDAsync_v2, CW_DEVICE_COPY, CW_WAY_DTOD, 2, 3),
    ASYNC(cuMemcpyHtoAAsync_v2, CW_DEVICE_COPY, CW_WAY_HTOD, 3, 4),
    ASYNC(cuMemcpyAtoHAsync_v2, CW_DEVICE_COPY, CW_WAY_DTOH, 3, 4),
    ASYNC(cuMemcpy2DAsync_v2, CW_DEVICE_COPY, CW_WAY_DTOD, NONE, 1),
    ASYNC(cuMemcpy3DAsync_v2, CW_DEVICE_COPY, CW_WAY_DTOD, NONE, 1),
    ASYNC(cuMemsetD8Async, CW_DEVICE_FILL, 0, 2, 3),
    ASYNC(cuMemsetD16Async, CW_DEVICE_FILL, 0, 2, 3),
    ASYNC(cuMemsetD32Async, CW_DEVICE_FILL, 0, 2, 3),
    ASYNC(cuGraphLaunch, CW_DEVICE_LAUNCH, 0, NONE, 1),
    SYNC(cuMemcpy, CW_DEVICE_COPY, CW_WAY_DTOD, 2),
    SYNC(cuMemcpyHtoD_v2, CW_DEVICE_COPY, CW_WAY_HTOD, 2),
    SYNC(cuMemcpyDtoH_v2, CW_DEVICE_COPY, CW_WAY_DTOH, 2),
    SYNC(cuMemcpyDtoD_v2, CW_DEVICE_COPY, CW_WAY_DTOD, 2),
    SYNC(cuMemcpy2D_v2, CW_DEVICE_COPY, CW_WAY_DTOD, NONE),
    SYNC(cuMemcpy3D_v2, CW_DEVICE_COPY, CW_WAY_DTOD, NONE),
    SYNC(cuMemsetD8_v2, CW_DEVICE_FILL, 0, 2),
    SYNC(cuMemsetD32_v2, CW_DEVICE_FILL, 0, 2),
#define WAIT(name)  { CW_FN_##name, NONE, 0, NONE, NONE, true, false }
#define QUIET(name) { CW_FN_##name, NONE, 0, NONE, NONE, false, false }
    WAIT(cuCtxSynchronize), WAIT(cuStreamSynchronize), WAIT(cuStreamSynchronize_ptsz), WAIT(cuEventSynchronize),
    QUIET(cuCtxGetCurrent), QUIET(cuCtxSetCurrent), QUIET(cuCtxPushCurrent_v2), QUIET(cuCtxPopCurrent_v2), QUIET(cuCtxGetDevice), QUIET(cuEventQuery),
    QUIET(cuStreamQuery), QUIET(cuStreamQuery_ptsz), QUIET(cuStreamIsCapturing), QUIET(cuStreamIsCapturing_ptsz), QUIET(cuPointerGetAttribute),
    QUIET(cuPointerGetAttributes), QUIET(cuFuncGetAttribute), QUIET(cuGetErrorName), QUIET(cuGetErrorString),
};

static const struct cw_cuda_table *below;
static const struct cw_device_observer *observer;
static uint8_t which[CW_CUDA_FUNCTION_COUNT];       /* index into known, + 1 */
static _Atomic uint64_t others;                     /* calls that may have put something into a stream without marks around it */

/* One context's clock. */
static struct clock {
    struct clock *next;
    CUcontext context;
    CUdevice device;
    struct cw_event_clock *events;
    _Atomic uint64_t others;            /* at the last mark behind an operation */
} *clocks;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;      /* clocks: to be used under it, so that none goes meanwhile */

/* ---- events ---- */

static void *
create(void *device)
{
    CUevent e = NULL;
    return below->cuEventCreate(&e, CU_EVENT_DEFAULT) == CUDA_SUCCESS ? e : NULL;
}

static void
destroy(void *device, void *event)
{
    (void)below->cuEventDestroy_v2(event);
}

static bool
record(void *device, void *event, void *stream)
{
    return below->cuEventRecord(event, stream) == CUDA_SUCCESS;
}

static bool
wait(void *device, void *event)
{
    return below->cuEventSynchronize(event) == CUDA_SUCCESS;
}

static int
elapsed(void *device, void *from, void *to, float *ms)
{
    CUresult r = below->cuEventElapsedTime(ms, from, to);
    return r == CUDA_SUCCESS ? 1 : r == CUDA_ERROR_NOT_READY ? 0 : -1;
}

static const struct cw_event_clock_ops ops = {
    .create = create, .destroy = destroy, .record = record, .wait = wait, .elapsed = elapsed,
};

/* The current context's clock. The lock is held for reading if it is not NULL. */
static struct clock *
enter(void)
{
    CUcontext context = NULL;
    CUstream idle;
    if (below->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return NULL;
    for (int tries = 0; tries < 2; tries++) {
        pthread_rwlock_rdlock(&lock);
        for (struct clock *c = clocks; c; c = c->next)
            if (c->context == context)
                return c;
        pthread_rwlock_unlock(&lock);
        pthread_rwlock_wrlock(&lock);
        bool there = false;
        for (const struct clock *o = clocks; o; o = o->next)
            there |= o->context == context;
        struct clock *c = there ? NULL : calloc(1, sizeof *c);
        if (c && below->cuStreamCreate(&idle, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS) {
            c->context = context;
            (void)below->cuCtxGetDevice(&c->device);
            c->events = cw_event_clock_create(&ops, NULL, idle);
            (void)below->cuStreamDestroy_v2(idle);
        }
        if (c && c->events) {
            c->next = clocks;
            clocks = c;
        } else {
            free(c);
        }
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

static void
poll(bool all)
{
    pthread_rwlock_rdlock(&lock);
    for (struct clock *c = clocks; c; c = c->next)
        cw_event_clock_poll(c->events, all);
    pthread_rwlock_unlock(&lock);
}

/* The context ends; NULL: any context may. */
static void
forget(CUcontext context)
{
    pthread_rwlock_wrlock(&lock);
    for (struct clock **l = &clocks; *l;) {
        struct clock *c = *l;
        if (context && c->context != context) {
            l = &c->next;
            continue;
        }
        *l = c->next;
        for (int i = 0; i < 200 && !cw_event_clock_idle(c->events); i++) {
            cw_event_clock_poll(c->events, true);
            nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
        }
        cw_event_clock_destroy(c->events, true);
        free(c);
    }
    pthread_rwlock_unlock(&lock);
}

static void
at_exit(void)
{
    forget(NULL);
}

/* ---- operations ---- */

/* The two marks own it together. */
struct timed {
    uint64_t number, start;
    _Atomic unsigned marks;
    atomic_bool failed;
};

static _Thread_local struct {
    struct timed *op;
    CUstream stream;
} current;

static void
mark_gone(struct timed *t, uint64_t end)
{
    if (atomic_fetch_sub(&t->marks, 1) != 1)
        return;
    bool good = !t->failed && t->start && end;
    observer->done(t->number, good ? t->start : 0, good ? end : 0);
    free(t);
}

static void
started(void *user, uint64_t ns)
{
    struct timed *t = user;
    t->start = ns;
    mark_gone(t, ns);
}

static void
ended(void *user, uint64_t ns)
{
    mark_gone(user, ns);
}

/* Our own calls are allowed in a thread that captures another stream. */
static CUstreamCaptureMode
relax(CUstreamCaptureMode mode)
{
    (void)below->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static void
begin(struct cw_device_op *op, CUstream stream, bool per_thread)
{
    CUstreamCaptureMode mode = relax(CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureStatus captured = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!stream)
        stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (below->cuStreamIsCapturing(stream, &captured) == CUDA_SUCCESS && captured == CU_STREAM_CAPTURE_STATUS_NONE) {
        struct clock *c = enter();
        struct timed *t = c ? malloc(sizeof *t) : NULL;
        if (t) {
            op->device = (uint32_t)c->device;
            op->queue = (uint64_t)(uintptr_t)stream;
            *t = (struct timed){ .number = observer->submit(op, 0, 0) };
            atomic_init(&t->marks, 2);
            /* One handle means each thread's own default stream. */
            bool between = stream != CU_STREAM_PER_THREAD && atomic_load(&c->others) == atomic_load(&others);
            if (!cw_event_clock_mark(c->events, stream, between ? CW_EVENT_BETWEEN : CW_EVENT_BEFORE, started, t))
                mark_gone(t, 0);
            current.op = t;
            current.stream = stream;
        }
        if (c)
            pthread_rwlock_unlock(&lock);
    }
    (void)relax(mode);
}

void
cw_device_time_launch(const struct cw_launch *l)
{
    struct cw_device_op op = { .kind = CW_DEVICE_LAUNCH, .name = l->name };
    if (!observer)
        return;
    memcpy(op.grid, l->grid, sizeof op.grid);
    memcpy(op.block, l->block, sizeof op.block);
    begin(&op, l->stream, l->per_thread);
}

void
cw_device_time_before(const struct cw_call *c)
{
    if (!observer)
        return;
    if (c->index == CW_FN_cuCtxDestroy_v2 || c->index == CW_FN_cuCtxDestroy)
        forget(CW_ARG(c, 0, CUcontext));
    else if (c->index == CW_FN_cuDevicePrimaryCtxRelease_v2 || c->index == CW_FN_cuDevicePrimaryCtxRelease ||
             c->index == CW_FN_cuDevicePrimaryCtxReset_v2 || c->index == CW_FN_cuDevicePrimaryCtxReset)
        forget(NULL);
    if (!which[c->index]) {
        if (!cw_layer_is_launch(c->index))
            atomic_fetch_add(&others, 1);
        return;
    }
    const struct known_call *k = &known[which[c->index] - 1];
    if (k->kind == NONE)
        return;
    struct cw_device_op op = { .kind = k->kind, .way = k->way, .name = k->kind == CW_DEVICE_LAUNCH ? "[graph]" : "" };
    if (k->bytes != NONE) {
        bool wide = c->index == CW_FN_cuMemsetD32Async || c->index == CW_FN_cuMemsetD32Async_ptsz || c->index == CW_FN_cuMemsetD32_v2 ||
                    c->index == CW_FN_cuMemsetD32_v2_ptds;
        bool half = c->index == CW_FN_cuMemsetD16Async || c->index == CW_FN_cuMemsetD16Async_ptsz;
        op.bytes = CW_ARG(c, k->bytes, size_t) * (wide ? 4 : half ? 2 : 1);
    }
    begin(&op, k->stream == NONE ? NULL : CW_ARG(c, k->stream, CUstream), k->per_thread);
}

void
cw_device_time_after(const struct cw_call *c)
{
    if (!observer)
        return;
    struct timed *t = current.op;
    bool operation = which[c->index] ? known[which[c->index] - 1].kind != NONE : cw_layer_is_launch(c->index);
    if (operation && !t) {
        atomic_fetch_add(&others, 1);
    } else if (operation) {
        CUstreamCaptureMode mode = relax(CU_STREAM_CAPTURE_MODE_RELAXED);
        current.op = NULL;
        if (c->result != CUDA_SUCCESS)
            t->failed = true;
        struct clock *k = enter();
        if (!k || !cw_event_clock_mark(k->events, current.stream, CW_EVENT_BEHIND, ended, t))
            mark_gone(t, 0);
        if (k) {
            atomic_store(&k->others, atomic_load(&others));
            pthread_rwlock_unlock(&lock);
        }
        (void)relax(mode);
    }
    /* A failed call may be the last that a flight recorder keeps. */
    bool failed = c->result != CUDA_SUCCESS && c->result != CUDA_ERROR_NOT_READY;
    if (failed || (which[c->index] && known[which[c->index] - 1].waits))
        poll(failed);
}

void
cw_device_time_start(const struct cw_cuda_table *next, const struct cw_device_observer *o)
{
    below = next;
    observer = o;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        which[known[i].index] = (uint8_t)(i + 1);
    atexit(at_exit);        /* before the driver's own, which was loaded earlier */
}
