/* SPDX-License-Identifier: Apache-2.0
 * Events: validation and flags; the work is the backend's. */
#include "impl/driver/graph.h"

#include <fenv.h>
#include <stdlib.h>

static void
event_finish(struct obj *o)
{
    struct event *e = (struct event *)o;
    if (e->be)
        o->ctx->b->event_destroy(e->be);
    ipc_event_unref(e->ipc);
    free(e->nodes);
    free(e);
}

static pthread_mutex_t *
event_borrow(struct obj *o)
{
    return &o->ctx->order;
}

static const struct obj_class event_class = { .kind = KIND_EVENT, .finish = event_finish, .borrow = event_borrow };

CUresult
drv_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    USABLE(c);
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!phEvent || Flags & ~known || (Flags & CU_EVENT_INTERPROCESS && !(Flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    if (Flags & CU_EVENT_INTERPROCESS) {
        struct ipc_event *shared;
        CUresult made = ipc_event_make(&shared);
        return made == CUDA_SUCCESS ? event_from_ipc(c, shared, phEvent) : made;
    }
    struct event *ev = calloc(1, sizeof *ev);
    if (!ev)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ev->flags = Flags;
    uint32_t f = (Flags & CU_EVENT_DISABLE_TIMING ? 0 : CWB_EVENT_TIMING) | (Flags & CU_EVENT_BLOCKING_SYNC ? CWB_EVENT_BLOCKING_SYNC : 0);
    CUresult e = result_of(c->b->event_create(c->be, f, &ev->be));
    if (e == CUDA_SUCCESS) {
        e = handle_new(&ev->obj, &event_class, c);
        if (e != CUDA_SUCCESS)
            c->b->event_destroy(ev->be);
    }
    if (e != CUDA_SUCCESS) {
        free(ev);
        return e;
    }
    *phEvent = HANDLE(CUevent, ev);
    handle_put(&ev->obj);
    return CUDA_SUCCESS;
}

CUresult
event_from_ipc(struct ctx *c, struct ipc_event *shared, CUevent *out)
{
    struct event *ev = calloc(1, sizeof *ev);
    CUresult e = ev ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (ev) {
        ev->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
        ev->ipc = shared;
        atomic_init(&ev->recorded, true);       /* perhaps, by another process */
        e = handle_new(&ev->obj, &event_class, c);
    }
    if (e != CUDA_SUCCESS) {
        ipc_event_unref(shared);
        free(ev);
        return e;
    }
    *out = HANDLE(CUevent, ev);
    handle_put(&ev->obj);
    return CUDA_SUCCESS;
}

CUresult
drv_cuEventDestroy_v2(CUevent hEvent)
{
    if (!hEvent)
        return CUDA_ERROR_INVALID_HANDLE;       /* also before cuInit (driver 580) */
    STARTED();
    struct event *ev AUTO_PUT = handle_get(hEvent, KIND_EVENT);
    return ev && handle_kill(&ev->obj) ? ctx_error(ev->obj.ctx) : CUDA_ERROR_INVALID_HANDLE;     /* gone all the same */
}

CUresult
drv_cuEventDestroy(CUevent hEvent)
{
    return drv_cuEventDestroy_v2(hEvent);
}

static CUresult
record(struct event *ev, struct stream *s)
{
    CUresult e = result_of(s->obj.ctx->b->event_record(ev->be, s->be));
    if (e == CUDA_SUCCESS) {
        ev->behind.n = 0;
        frees_add_stream(&ev->behind, s);
    }
    return e;
}

void
event_recorded(struct event *ev)
{
    atomic_store_explicit(&ev->recorded, true, memory_order_release);
    atomic_store_explicit(&ev->captured, false, memory_order_release);
}

CUresult
drv_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    STREAM_CONTEXT(c, hStream);
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct event *ev AUTO_PUT = handle_get(hEvent, KIND_EVENT);
    if (!ev)
        return CUDA_ERROR_INVALID_HANDLE;
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e != CUDA_SUCCESS)
        return e;
    if (s->obj.ctx != ev->obj.ctx)
        return CUDA_ERROR_INVALID_HANDLE;       /* event and stream must be of one context */
    if (stream_captures(s) && !ev->ipc) {
        struct work w;
        if (!(flags & CU_EVENT_RECORD_EXTERNAL))
            return capture_record(s, ev);
        return capture_work(s, work_event(&w, CU_GRAPH_NODE_TYPE_EVENT_RECORD, hEvent), &w);
    }
    if (flags & CU_EVENT_RECORD_EXTERNAL && !stream_captures(s))
        return CUDA_ERROR_ILLEGAL_STATE;        /* means something in a capture only */
    e = stream_begin(s);
    if (e != CUDA_SUCCESS)
        return e;
    e = ev->ipc ? ipc_event_record(ev->ipc, s->obj.ctx, s->be) : record(ev, s);
    stream_end(s);
    if (e == CUDA_SUCCESS)
        event_recorded(ev);
    return e;
}

CUresult
drv_cuEventRecord(CUevent hEvent, CUstream hStream)
{
    STREAM_CONTEXT(c, hStream);
    struct stream *s;
    CUresult e;
    if (stream_enter(c, hStream, &s, &e)) {
        if (e != CUDA_SUCCESS)
            return e;
        struct event *ev = handle_peek(hEvent, KIND_EVENT, c);
        if (ev && ev->ipc)
            ev = NULL;
        if (ev && (e = record(ev, s)) == CUDA_SUCCESS)
            event_recorded(ev);
        stream_end(s);
        if (ev)
            return e;
    }
    return drv_cuEventRecordWithFlags(hEvent, hStream, 0);
}

CUresult
drv_cuEventQuery(CUevent hEvent)
{
    if (!hEvent)
        return CUDA_ERROR_INVALID_HANDLE;       /* also before cuInit (driver 580) */
    STARTED();
    struct event *ev AUTO_PUT = handle_get(hEvent, KIND_EVENT);
    if (!ev)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult e = capture_event(ev, true);
    if (e == CUDA_SUCCESS && ev->ipc)
        return poll_result(ipc_event_done(ev->ipc) ? CWB_OK : CWB_NOT_READY);
    return e == CUDA_SUCCESS ? poll_result(ev->obj.ctx->b->event_query(ev->be)) : e;
}

CUresult
drv_cuEventSynchronize(CUevent hEvent)
{
    if (!hEvent)
        return CUDA_ERROR_INVALID_HANDLE;       /* also before cuInit (driver 580) */
    STARTED();
    struct event *ev AUTO_PUT = handle_get(hEvent, KIND_EVENT);
    if (!ev)
        return CUDA_ERROR_INVALID_HANDLE;
    MAY_WAIT(drv_cuEventQuery(hEvent));
    CUresult e = capture_event(ev, true);
    if (e == CUDA_SUCCESS && ev->ipc) {
        ipc_event_wait(ev->ipc);
        e = ctx_error(ev->obj.ctx);
    } else if (e == CUDA_SUCCESS) {
        struct ctx *c = ev->obj.ctx;
        pthread_mutex_lock(&c->order);
        struct frees done = ev->behind;
        pthread_mutex_unlock(&c->order);
        e = result_of(c->b->event_sync(ev->be));
        if (e == CUDA_SUCCESS)
            pools_waited(c, &done);
    }
    pools_trim();
    return e;
}

CUresult
drv_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    STARTED();
    if (!pMilliseconds)
        return CUDA_ERROR_INVALID_VALUE;
    struct event *a AUTO_PUT = handle_get(hStart, KIND_EVENT);
    struct event *b AUTO_PUT = handle_get(hEnd, KIND_EVENT);
    if (!a || !b || a->obj.ctx != b->obj.ctx || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult e = ctx_error(a->obj.ctx);
    if (e == CUDA_SUCCESS)
        e = capture_event(a, false);
    if (e == CUDA_SUCCESS)
        e = capture_event(b, false);
    if (e != CUDA_SUCCESS)
        return e;
    if (!atomic_load(&a->recorded) || !atomic_load(&b->recorded))
        return CUDA_ERROR_INVALID_HANDLE;
    float elapsed = 0;
    fenv_t program;             /* may let inexact results trap */
    feholdexcept(&program);
    e = result_of(a->obj.ctx->b->event_elapsed(a->be, b->be, &elapsed));
    fesetenv(&program);
    if (e == CUDA_SUCCESS)
        *pMilliseconds = elapsed;
    return e;
}

CUresult
drv_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return drv_cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}

