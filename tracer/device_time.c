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

/* Where a call says how much it copies or fills, and which way. */
enum shape {
    PLAIN,          /* a number of bytes, or of elements of `unit` bytes */
    UNIFIED,        /* the same; the way follows from what the addresses are, parameters 0 (to) and 1 (from) */
    ROWS,           /* elements of a row, then rows */
    STRUCT_2D, STRUCT_3D, STRUCT_PEER,      /* what parameter 0 points to */
    BATCH,          /* parameters 0 to 3: to, from, sizes, how many */
    BATCH_3D,       /* parameters 0, 1: how many, of these */
};

/* Calls that submit an operation, those that wait, and common ones that put nothing into a stream. A parameter by its number; NONE: it has none. */
static const struct known_call {
    unsigned index;
    uint8_t  kind, way, shape, unit, bytes, stream;
    bool     waits, per_thread;
} known[] = {
#define ASYNC(name, kind, way, shape, unit, bytes, stream)                                                             \
    { CW_FN_##name, kind, way, shape, unit, bytes, stream, false, false }, { CW_FN_##name##_ptsz, kind, way, shape, unit, bytes, stream, false, true }
#define SYNC(name, kind, way, shape, unit, bytes)                                                                      \
    { CW_FN_##name, kind, way, shape, unit, bytes, NONE, true, false }, { CW_FN_##name##_ptds, kind, way, shape, unit, bytes, NONE, true, true }
#define COPY_ASYNC(name, way, bytes, stream)    ASYNC(name, CW_DEVICE_COPY, way, PLAIN, 1, bytes, stream)
#define COPY(name, way, bytes)                  SYNC(name, CW_DEVICE_COPY, way, PLAIN, 1, bytes)
#define OTHER_ASYNC(name, shape, bytes, stream) ASYNC(name, CW_DEVICE_COPY, CW_WAY_DTOD, shape, 1, bytes, stream)
#define OTHER(name, shape, bytes)               SYNC(name, CW_DEVICE_COPY, CW_WAY_DTOD, shape, 1, bytes)
#define FILL_ASYNC(name, shape, unit, bytes, stream) ASYNC(name, CW_DEVICE_FILL, 0, shape, unit, bytes, stream)
#define FILL(name, shape, unit, bytes)          SYNC(name, CW_DEVICE_FILL, 0, shape, unit, bytes)
    COPY_ASYNC(cuMemcpyHtoDAsync_v2, CW_WAY_HTOD, 2, 3),
    COPY_ASYNC(cuMemcpyDtoHAsync_v2, CW_WAY_DTOH, 2, 3),
    COPY_ASYNC(cuMemcpyDtoDAsync_v2, CW_WAY_DTOD, 2, 3),
    COPY_ASYNC(cuMemcpyHtoAAsync_v2, CW_WAY_HTOD, 3, 4),
    COPY_ASYNC(cuMemcpyAtoHAsync_v2, CW_WAY_DTOH, 3, 4),
    COPY_ASYNC(cuMemcpyPeerAsync, CW_WAY_DTOD, 4, 5),
    OTHER_ASYNC(cuMemcpyAsync, UNIFIED, 2, 3),
    OTHER_ASYNC(cuMemcpy2DAsync_v2, STRUCT_2D, NONE, 1),
    OTHER_ASYNC(cuMemcpy3DAsync_v2, STRUCT_3D, NONE, 1),
    OTHER_ASYNC(cuMemcpy3DPeerAsync, STRUCT_PEER, NONE, 1),
    OTHER_ASYNC(cuMemcpyBatchAsync, BATCH, NONE, 8),
    OTHER_ASYNC(cuMemcpyBatchAsync_v2, BATCH, NONE, 7),
    OTHER_ASYNC(cuMemcpy3DBatchAsync, BATCH_3D, NONE, 4),
    OTHER_ASYNC(cuMemcpy3DBatchAsync_v2, BATCH_3D, NONE, 3),
    FILL_ASYNC(cuMemsetD8Async, PLAIN, 1, 2, 3),
    FILL_ASYNC(cuMemsetD16Async, PLAIN, 2, 2, 3),
    FILL_ASYNC(cuMemsetD32Async, PLAIN, 4, 2, 3),
    FILL_ASYNC(cuMemsetD2D8Async, ROWS, 1, 3, 5),
    FILL_ASYNC(cuMemsetD2D16Async, ROWS, 2, 3, 5),
    FILL_ASYNC(cuMemsetD2D32Async, ROWS, 4, 3, 5),
    ASYNC(cuGraphLaunch, CW_DEVICE_LAUNCH, 0, PLAIN, 1, NONE, 1),
    COPY(cuMemcpyHtoD_v2, CW_WAY_HTOD, 2),
    COPY(cuMemcpyDtoH_v2, CW_WAY_DTOH, 2),
    COPY(cuMemcpyDtoD_v2, CW_WAY_DTOD, 2),
    COPY(cuMemcpyHtoA_v2, CW_WAY_HTOD, 3),
    COPY(cuMemcpyAtoH_v2, CW_WAY_DTOH, 3),
    COPY(cuMemcpyDtoA_v2, CW_WAY_DTOD, 3),
    COPY(cuMemcpyAtoD_v2, CW_WAY_DTOD, 3),
    COPY(cuMemcpyAtoA_v2, CW_WAY_DTOD, 4),
    COPY(cuMemcpyPeer, CW_WAY_DTOD, 4),
    OTHER(cuMemcpy, UNIFIED, 2),
    OTHER(cuMemcpy2D_v2, STRUCT_2D, NONE),
    OTHER(cuMemcpy2DUnaligned_v2, STRUCT_2D, NONE),
    OTHER(cuMemcpy3D_v2, STRUCT_3D, NONE),
    OTHER(cuMemcpy3DPeer, STRUCT_PEER, NONE),
    FILL(cuMemsetD8_v2, PLAIN, 1, 2),
    FILL(cuMemsetD16_v2, PLAIN, 2, 2),
    FILL(cuMemsetD32_v2, PLAIN, 4, 2),
    FILL(cuMemsetD2D8_v2, ROWS, 1, 3),
    FILL(cuMemsetD2D16_v2, ROWS, 2, 3),
    FILL(cuMemsetD2D32_v2, ROWS, 4, 3),
#define WAIT(name)  { CW_FN_##name, NONE, 0, PLAIN, 1, NONE, NONE, true, false }
#define QUIET(name) { CW_FN_##name, NONE, 0, PLAIN, 1, NONE, NONE, false, false }
    WAIT(cuCtxSynchronize), WAIT(cuStreamSynchronize), WAIT(cuStreamSynchronize_ptsz), WAIT(cuEventSynchronize),
    QUIET(cuCtxGetCurrent), QUIET(cuCtxSetCurrent), QUIET(cuCtxPushCurrent_v2), QUIET(cuCtxPopCurrent_v2), QUIET(cuCtxGetDevice), QUIET(cuEventQuery),
    QUIET(cuStreamQuery), QUIET(cuStreamQuery_ptsz), QUIET(cuStreamIsCapturing), QUIET(cuStreamIsCapturing_ptsz), QUIET(cuPointerGetAttribute),
    QUIET(cuPointerGetAttributes), QUIET(cuFuncGetAttribute), QUIET(cuGetErrorName), QUIET(cuGetErrorString),
};
_Static_assert(sizeof known / sizeof *known < 255, "which[] has a byte for each");

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

/* ---- how much, and which way ---- */

static bool
on_device(CUdeviceptr p)
{
    unsigned type = 0;
    return below->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) == CUDA_SUCCESS && type != CU_MEMORYTYPE_HOST;
}

/* A structure's memory type; CU_MEMORYTYPE_UNIFIED leaves it to the address. */
static bool
of_device(CUmemorytype type, CUdeviceptr p)
{
    return type == CU_MEMORYTYPE_UNIFIED ? on_device(p) : type != CU_MEMORYTYPE_HOST;
}

static enum cw_device_way
way_of(bool from, bool to)
{
    return from ? to ? CW_WAY_DTOD : CW_WAY_DTOH : to ? CW_WAY_HTOD : CW_WAY_HTOH;
}

#define FROM_STRUCT(s, op, size)                                                                                       \
    do {                                                                                                               \
        if (s) {                                                                                                       \
            (op)->way = way_of(of_device((s)->srcMemoryType, (s)->srcDevice), of_device((s)->dstMemoryType, (s)->dstDevice)); \
            (op)->bytes = (size);                                                                                      \
        }                                                                                                              \
    } while (0)

/* Copies of several ways are one operation: that of which most bytes are. */
static void
most_bytes(struct cw_device_op *op, const uint64_t bytes[4])
{
    for (unsigned way = 0; way < 4; way++) {
        op->bytes += bytes[way];
        if (bytes[way] > bytes[op->way])
            op->way = (enum cw_device_way)way;
    }
}

static void
measure_batch(const CUdeviceptr *to, const CUdeviceptr *from, const size_t *sizes, size_t count, struct cw_device_op *op)
{
    uint64_t bytes[4] = { 0 };
    for (size_t i = 0; to && from && sizes && i < count; i++)
        bytes[way_of(on_device(from[i]), on_device(to[i]))] += sizes[i];
    most_bytes(op, bytes);
}

/* Bytes of an element of a copy with an array; without one the extent is in bytes. */
static uint64_t
element_of(const CUmemcpy3DOperand *o)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY || below->cuArray3DGetDescriptor_v2(&d, o->op.array.array) != CUDA_SUCCESS)
        return 1;
    unsigned channel = d.Format == CU_AD_FORMAT_UNSIGNED_INT8 || d.Format == CU_AD_FORMAT_SIGNED_INT8 ? 1 : d.Format == CU_AD_FORMAT_UNSIGNED_INT32 ||
                       d.Format == CU_AD_FORMAT_SIGNED_INT32 || d.Format == CU_AD_FORMAT_FLOAT ? 4 : 2;
    return (uint64_t)channel * d.NumChannels;
}

static bool
operand_on_device(const CUmemcpy3DOperand *o)
{
    return o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY || on_device(o->op.ptr.ptr);
}

static void
measure_batch_3d(const CUDA_MEMCPY3D_BATCH_OP *list, size_t count, struct cw_device_op *op)
{
    uint64_t bytes[4] = { 0 };
    for (size_t i = 0; list && i < count; i++) {
        const CUextent3D *e = &list[i].extent;
        uint64_t from = element_of(&list[i].src), to = element_of(&list[i].dst);
        bytes[way_of(operand_on_device(&list[i].src), operand_on_device(&list[i].dst))] += e->width * e->height * e->depth * (from > to ? from : to);
    }
    most_bytes(op, bytes);
}

static void
measure(const struct cw_call *c, const struct known_call *k, struct cw_device_op *op)
{
    switch ((enum shape)k->shape) {
    case PLAIN:
    case UNIFIED:
        if (k->bytes != NONE)
            op->bytes = CW_ARG(c, k->bytes, size_t) * k->unit;
        if (k->shape == UNIFIED)
            op->way = way_of(on_device(CW_ARG(c, 1, CUdeviceptr)), on_device(CW_ARG(c, 0, CUdeviceptr)));
        return;
    case ROWS:
        op->bytes = CW_ARG(c, k->bytes, size_t) * CW_ARG(c, k->bytes + 1u, size_t) * k->unit;
        return;
    case STRUCT_2D: {
        const CUDA_MEMCPY2D *s = CW_ARG(c, 0, const CUDA_MEMCPY2D *);
        FROM_STRUCT(s, op, s->WidthInBytes * s->Height);
        return;
    }
    case STRUCT_3D: {
        const CUDA_MEMCPY3D *s = CW_ARG(c, 0, const CUDA_MEMCPY3D *);
        FROM_STRUCT(s, op, s->WidthInBytes * s->Height * s->Depth);
        return;
    }
    case STRUCT_PEER: {
        const CUDA_MEMCPY3D_PEER *s = CW_ARG(c, 0, const CUDA_MEMCPY3D_PEER *);
        FROM_STRUCT(s, op, s->WidthInBytes * s->Height * s->Depth);
        return;
    }
    case BATCH:
        measure_batch(CW_ARG(c, 0, const CUdeviceptr *), CW_ARG(c, 1, const CUdeviceptr *), CW_ARG(c, 2, const size_t *), CW_ARG(c, 3, size_t), op);
        return;
    case BATCH_3D:
        measure_batch_3d(CW_ARG(c, 1, const CUDA_MEMCPY3D_BATCH_OP *), CW_ARG(c, 0, size_t), op);
        return;
    }
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

/* ---- occupancy ---- */

/* What the driver said of one kernel with one size of blocks. Entries are never freed. */
struct occupancy {
    struct occupancy *next;
    const void *kernel;                 /* what the layer knows of it, which a reused handle does not share; else the handle */
    CUdevice device;
    uint32_t threads, shared, permille;
};

static struct occupancy *_Atomic occupancies[256];

static uint32_t
ask_occupancy(const struct cw_launch *l, CUdevice device, uint32_t threads)
{
    int blocks = 0, most = 0;
    if (below->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, l->function, (int)threads, l->shared) != CUDA_SUCCESS ||
        below->cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device) != CUDA_SUCCESS || blocks < 0 || most <= 0)
        return 0;
    return (uint32_t)((uint64_t)blocks * ((threads + 31) / 32 * 32) * 1000 / (uint64_t)most);       /* whole warps */
}

/* Of 1000; 0: not known. The driver is asked once, before the event in front of the launch. */
static uint32_t
occupancy_of(const struct cw_launch *l)
{
    CUdevice device = 0;
    const struct cw_known *known = cw_layer_known((uint64_t)(uintptr_t)l->function);
    const void *kernel = known ? (const void *)known : (const void *)l->function;
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    if (below->cuCtxGetDevice(&device) != CUDA_SUCCESS || !threads || threads > 1024)
        return 0;
    struct occupancy *_Atomic *bucket = &occupancies[((uintptr_t)kernel >> 4 ^ threads ^ l->shared >> 3 ^ (unsigned)device) % 256];
    for (struct occupancy *o = atomic_load_explicit(bucket, memory_order_acquire); o; o = o->next)
        if (o->kernel == kernel && o->device == device && o->threads == threads && o->shared == l->shared)
            return o->permille;
    CUstreamCaptureMode mode = relax(CU_STREAM_CAPTURE_MODE_RELAXED);
    struct occupancy *o = malloc(sizeof *o);
    uint32_t permille = ask_occupancy(l, device, threads);
    (void)relax(mode);
    if (o) {
        *o = (struct occupancy){ atomic_load(bucket), kernel, device, threads, l->shared, permille };
        while (!atomic_compare_exchange_weak(bucket, &o->next, o))
            ;
    }
    return permille;
}

void
cw_device_time_launch(const struct cw_launch *l)
{
    struct cw_device_op op = { .kind = CW_DEVICE_LAUNCH, .name = l->name };
    if (!observer)
        return;
    memcpy(op.grid, l->grid, sizeof op.grid);
    memcpy(op.block, l->block, sizeof op.block);
    op.occupancy = occupancy_of(l);
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
    measure(c, k, &op);
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
