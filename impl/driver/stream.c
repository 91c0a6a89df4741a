/* SPDX-License-Identifier: Apache-2.0
 * Streams and the rules of the default streams (CUDA driver API, "Stream synchronization behavior"):
 *  - work in the legacy stream starts after all work submitted so far to the context's blocking streams, and their later
 *    work starts after it; non-blocking streams are apart;
 *  - the per-thread default stream is a blocking stream, one for each thread and context;
 *  - a destroyed stream counts for these rules, and for events of a whole context, until its work is done.
 * Submission is bracketed by stream_begin and stream_end, which hold ctx.order, so that the rule and the work are one step. */
#include "impl/driver/graph.h"

#include <stdlib.h>

struct thread_stream {
    struct ctx *ctx;                    /* for comparison; the stream's reference keeps it */
    struct stream *s;                   /* owned reference */
};

static __thread struct {
    struct thread_stream *list;
    uint32_t count, capacity;
    bool registered;
} tls;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t next_id = 1;

void
thread_streams_release(void)
{
    bool ready = driver_state() == CUDA_SUCCESS;    /* else locks may stay locked for ever: those of a forked child */
    while (tls.count && ready) {
        struct stream *s = tls.list[--tls.count].s;
        handle_kill(&s->obj);
        handle_put(&s->obj);
    }
    struct thread_stream *list = tls.list;
    tls.list = NULL;
    tls.count = tls.capacity = 0;
    tls.registered = false;             /* a later destructor of the thread may use another one, which then ends in the next round */
    free(list);
}

static void
thread_exit(void *unused)
{
    thread_streams_release();
}

static void
make_key(void)
{
    pthread_key_create(&key, thread_exit);
}

/* Onto the list of its context and off it; ctx.order is held. */
static void
link_stream(struct ctx *c, struct stream *s)
{
    s->next = c->streams;
    s->link = &c->streams;
    if (s->next)
        s->next->link = &s->next;
    c->streams = s;
}

static void
unlink_stream(struct stream *s)
{
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
}

/* Takes the departed streams whose work is done off the list, all of them once the context has ended: it takes no more work. ctx.order is held. */
static struct stream *
take_departed(struct ctx *c)
{
    struct stream *done = NULL;
    bool all = atomic_load_explicit(&c->dead, memory_order_relaxed);
    for (struct stream *s = c->departed ? c->streams : NULL, *next; s; s = next) {
        next = s->next;
        if (!s->departed || (!all && c->b->stream_query(s->be) == CWB_NOT_READY))
            continue;
        unlink_stream(s);
        c->departed--;
        s->next = done;
        done = s;
    }
    return done;
}

static void
stream_free(struct ctx *c, struct stream *s)
{
    if (s->be)
        c->b->stream_destroy(s->be);
    for (unsigned i = 1; i < LANES; i++)
        if (s->lanes[i])
            c->b->stream_destroy(s->lanes[i]);
    if (s->join)
        c->b->event_destroy(s->join);
    free(s);
}

static void
streams_free(struct ctx *c, struct stream *list)
{
    for (struct stream *next; list; list = next) {
        next = list->next;
        stream_free(c, list);
    }
}

void
streams_sweep_slow(struct ctx *c)
{
    pthread_mutex_lock(&c->order);
    struct stream *done = take_departed(c);
    pthread_mutex_unlock(&c->order);
    streams_free(c, done);
}

static void
stream_finish(struct obj *o)
{
    struct stream *s = (struct stream *)o;
    struct ctx *c = o->ctx;
    if (stream_captures(s))
        capture_stream_gone(s);
    pthread_mutex_lock(&c->order);
    if (c->legacy == s)
        c->legacy = NULL;
    bool done = atomic_load_explicit(&c->dead, memory_order_relaxed) || c->b->stream_query(s->be) != CWB_NOT_READY;
    if (done)
        unlink_stream(s);
    else
        c->departed++;
    s->departed = !done;
    pthread_mutex_unlock(&c->order);
    if (done)
        stream_free(c, s);
    streams_sweep(c);
}

static pthread_mutex_t *
stream_borrow(struct obj *o)
{
    return &o->ctx->order;
}

static const struct obj_class stream_class = { .kind = KIND_STREAM, .finish = stream_finish, .borrow = stream_borrow };

CUresult
stream_make(struct ctx *c, unsigned flags, int priority, uint64_t green, bool legacy, struct stream **out)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->flags = flags;
    s->hints = hints_unset;
    s->hints.priority = priority_possible(priority);
    s->id = atomic_fetch_add(&next_id, 1);
    s->green = green;
    s->is_legacy = legacy;
    s->blocking = !legacy && !(flags & CU_STREAM_NON_BLOCKING);
    CUresult e = result_of(c->b->stream_create(c->be, s->hints.priority, &s->be));
    if (e == CUDA_SUCCESS && s->blocking)
        e = result_of(c->b->event_create(c->be, 0, &s->join));
    if (e == CUDA_SUCCESS) {
        pthread_mutex_lock(&c->order);
        link_stream(c, s);
        pthread_mutex_unlock(&c->order);
        streams_sweep(c);
        e = handle_new(&s->obj, &stream_class, c);
        if (e != CUDA_SUCCESS) {
            pthread_mutex_lock(&c->order);
            unlink_stream(s);
            pthread_mutex_unlock(&c->order);
        }
    }
    if (e != CUDA_SUCCESS) {
        stream_free(c, s);
        return e;
    }
    if (legacy) {                       /* while the context is made, by the thread that makes it */
        c->legacy = s;
        c->legacy_handle = HANDLE(CUstream, s);
    }
    *out = s;
    return CUDA_SUCCESS;
}

static CUresult
thread_stream(struct ctx *c, struct stream **out)
{
    for (uint32_t i = 0; i < tls.count; i++) {
        if (tls.list[i].ctx != c)
            continue;
        handle_ref(&tls.list[i].s->obj);
        *out = tls.list[i].s;
        return CUDA_SUCCESS;
    }
    /* Forget the streams of contexts that are gone. */
    for (uint32_t i = 0; i < tls.count;) {
        if (atomic_load(&tls.list[i].ctx->dead)) {
            struct stream *gone = tls.list[i].s;
            tls.list[i] = tls.list[--tls.count];
            handle_put(&gone->obj);
        } else {
            i++;
        }
    }
    if (!tls.registered) {
        pthread_once(&key_once, make_key);
        pthread_setspecific(key, &tls);
        tls.registered = true;
    }
    struct stream *s;
    CUresult e = stream_make(c, 0, 0, 0, false, &s);
    if (e != CUDA_SUCCESS)
        return e;
    if (!thread_list_room((void **)&tls.list, &tls.count, &tls.capacity, sizeof *tls.list)) {
        handle_kill(&s->obj);
        handle_put(&s->obj);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    tls.list[tls.count++] = (struct thread_stream){ c, s };
    handle_ref(&s->obj);
    *out = s;
    return CUDA_SUCCESS;
}

CUresult
stream_get(struct ctx *c, CUstream h, struct stream **out)
{
    *out = NULL;
    if (h == CU_STREAM_PER_THREAD || (!h && drv_ptds))
        return thread_stream(c, out);
    if (!h || h == CU_STREAM_LEGACY) {
        *out = handle_get(c->legacy_handle, KIND_STREAM);
        return *out ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *out = handle_get(h, KIND_STREAM);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult
stream_context(CUstream h, struct ctx **c, struct stream **hold)
{
    CUresult e = ctx_current(c);
    *hold = NULL;
    const bool none = e == CUDA_ERROR_INVALID_CONTEXT || e == CUDA_ERROR_CONTEXT_IS_DESTROYED || e == CUDA_ERROR_NOT_PERMITTED;
    if (none && h && h != CU_STREAM_LEGACY && h != CU_STREAM_PER_THREAD) {
        *hold = handle_get(h, KIND_STREAM);
        if (!*hold)
            return CUDA_ERROR_INVALID_HANDLE;
        *c = (*hold)->obj.ctx;
        e = CUDA_SUCCESS;
    }
    return e;
}

static void
frees_add_one(struct frees *f, uint64_t stream, uint64_t number)
{
    uint32_t i = 0;
    while (i < f->n && f->of[i].stream != stream)
        i++;
    if (i == FREES_STREAMS)
        memmove(f->of, f->of + 1, sizeof f->of[0] * --i);       /* forget the one that is known longest */
    if (i >= f->n || f->of[i].stream != stream) {
        f->of[i].stream = stream;
        f->of[i].number = 0;
        f->n = i + 1;
    }
    if (f->of[i].number < number)
        f->of[i].number = number;
}

void
frees_add(struct frees *f, const struct frees *more)
{
    for (uint32_t i = 0; i < more->n; i++)
        frees_add_one(f, more->of[i].stream, more->of[i].number);
}

void
frees_add_stream(struct frees *f, const struct stream *s)
{
    frees_add(f, &s->behind);
    if (s->frees)
        frees_add_one(f, s->id, s->frees);
}

bool
frees_have(const struct frees *f, uint64_t stream, uint64_t number)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->of[i].stream == stream)
            return f->of[i].number >= number;
    return false;
}

cwb_result
stream_follow(struct stream *s, struct stream *earlier, struct cwb_event *e)
{
    const struct cwb_backend *b = s->obj.ctx->b;
    cwb_result r = b->event_record(e, earlier->be);
    if (r == CWB_OK)
        r = b->stream_wait_event(s->be, e);
    if (r == CWB_OK)
        frees_add_stream(&s->behind, earlier);
    return r;
}

static cwb_result
join_blocking(struct ctx *c)
{
    for (struct stream *b = c->streams; b; b = b->next) {
        if (!b->dirty)                  /* as those that are not blocking never are */
            continue;
        cwb_result r = stream_follow(c->legacy, b, b->join);
        if (r != CWB_OK)
            return r;
        b->dirty = false;
    }
    return CWB_OK;
}

static cwb_result
join_legacy(struct ctx *c, struct stream *s)
{
    if (!c->legacy || s->seen_legacy == c->legacy_seq)
        return CWB_OK;
    cwb_result r = stream_follow(s, c->legacy, c->legacy_event);
    if (r == CWB_OK)
        s->seen_legacy = c->legacy_seq;
    return r;
}

CUresult
stream_admit(struct stream *s)
{
    if (!CAPTURES())
        return CUDA_SUCCESS;
    return s->is_legacy ? capture_legacy_slow(s->obj.ctx) : capture_refuse(s);
}

CUresult
stream_begin(struct stream *s)
{
    CUresult e = stream_admit(s);       /* what can be captured went to the graph and did not come here */
    return e == CUDA_SUCCESS ? stream_order(s) : e;
}

/* The default streams' rules for the next operation of s; c->order is held. A context that has ended takes no more work. */
static CUresult
order_rules(struct ctx *c, struct stream *s)
{
    if (atomic_load_explicit(&c->dead, memory_order_relaxed))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (s->is_legacy) {
        c->legacy_seq++;
        return result_of(join_blocking(c));
    }
    if (!s->blocking)
        return CUDA_SUCCESS;
    s->dirty = true;
    return result_of(join_legacy(c, s));
}

CUresult
stream_order(struct stream *s)
{
    struct ctx *c = s->obj.ctx;
    pthread_mutex_lock(&c->order);
    CUresult e = order_rules(c, s);
    if (e != CUDA_SUCCESS)
        pthread_mutex_unlock(&c->order);
    return e;
}

void
stream_end(struct stream *s)
{
    pthread_mutex_unlock(&s->obj.ctx->order);
}

void
stream_make_room(struct stream *s, unsigned lanes)
{
    struct ctx *c = s->obj.ctx;
    if (!c->b->stream_is_full)
        return;
    for (unsigned i = 0; i < lanes; i++) {
        struct cwb_stream *lane = i ? s->lanes[i] : s->be;
        pthread_mutex_lock(&c->order);
        const bool full = c->b->stream_is_full(lane);
        pthread_mutex_unlock(&c->order);
        if (full)
            c->b->stream_make_room(lane);
    }
}

void
stream_end_work(struct stream *s)
{
    struct ctx *c = s->obj.ctx;
    const bool full = __builtin_expect(c->b->stream_is_full && c->b->stream_is_full(s->be), 0);
    if (full)
        handle_ref(&s->obj);
    pthread_mutex_unlock(&c->order);
    if (full) {
        c->b->stream_make_room(s->be);
        handle_put(&s->obj);
    }
}

bool
stream_enter(struct ctx *c, CUstream h, struct stream **out, CUresult *e)
{
    struct stream *s = NULL;
    if (CAPTURES())
        return false;
    pthread_mutex_lock(&c->order);
    if (h == CU_STREAM_PER_THREAD || (!h && drv_ptds)) {
        for (uint32_t i = 0; i < tls.count && !s; i++)
            if (tls.list[i].ctx == c)
                s = tls.list[i].s;      /* the thread's reference keeps it */
    } else if (!h || h == CU_STREAM_LEGACY) {
        s = c->legacy;
    } else {
        s = handle_peek(h, KIND_STREAM, c);
    }
    if (s)
        *e = order_rules(c, s);
    if (!s || *e != CUDA_SUCCESS)
        pthread_mutex_unlock(&c->order);
    *out = s;
    return s != NULL;
}

bool
streams_settled(struct ctx *c)
{
    bool all = true;
    pthread_mutex_lock(&c->lock);
    pthread_mutex_lock(&c->order);      /* who found what may go has submitted */
    for (const struct stream *s = c->streams; s && all; s = s->next) {
        all = c->b->stream_query(s->be) == CWB_OK;
        for (unsigned i = 1; i < LANES && all; i++)
            all = !s->lanes[i] || c->b->stream_query(s->lanes[i]) == CWB_OK;
    }
    pthread_mutex_unlock(&c->order);
    pthread_mutex_unlock(&c->lock);
    return all;
}

CUresult
stream_wait_idle(struct stream *s)
{
    struct ctx *c = s->obj.ctx;
    CUresult e = capture_wait_check(s);
    if (e != CUDA_SUCCESS)
        return e;
    struct frees done = { 0 };
    bool strict = atomic_load(&pools_strict) != 0;
    if (s->is_legacy || strict) {       /* what the legacy stream waits for counts as its own work */
        pthread_mutex_lock(&c->order);
        cwb_result r = s->is_legacy ? join_blocking(c) : CWB_OK;
        frees_add_stream(&done, s);
        pthread_mutex_unlock(&c->order);
        if (r != CWB_OK)
            return result_of(r);
    }
    e = result_of(c->b->stream_sync(s->be));
    streams_sweep(c);
    if (strict && e == CUDA_SUCCESS)
        pools_waited(c, &done);
    return e;
}

/* ---- API ------------------------------------------------------------------------------------------------------------------ */

CUresult
drv_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    USABLE(c);
    if (!phStream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *s;
    const void *now = ctx_current_handle();
    CUresult e = stream_make(c, flags, priority, handle_kind(now) == KIND_GREEN ? (uintptr_t)now : 0, false, &s);
    if (e == CUDA_SUCCESS) {
        *phStream = HANDLE(CUstream, s);
        handle_put(&s->obj);
    }
    return e;
}

CUresult
drv_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return drv_cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult
drv_cuStreamDestroy_v2(CUstream hStream)
{
    STARTED();
    struct stream *s AUTO_PUT = handle_get(hStream, KIND_STREAM);
    if (!s || s->is_legacy)
        return CUDA_ERROR_INVALID_HANDLE;
    return handle_kill(&s->obj) ? ctx_error(s->obj.ctx) : CUDA_ERROR_INVALID_HANDLE;     /* gone all the same */
}

CUresult
drv_cuStreamDestroy(CUstream hStream)
{
    return drv_cuStreamDestroy_v2(hStream);
}

struct hints
stream_hints(struct stream *s)
{
    pthread_mutex_lock(&s->obj.ctx->lock);
    struct hints h = s->hints;
    pthread_mutex_unlock(&s->obj.ctx->lock);
    return h;
}

CUresult
stream_lane(struct stream *s, unsigned i)
{
    const struct ctx *c = s->obj.ctx;
    struct cwb_stream *lane;
    pthread_mutex_lock(&s->obj.ctx->lock);
    const bool there = s->lanes[i];
    pthread_mutex_unlock(&s->obj.ctx->lock);
    if (there)
        return CUDA_SUCCESS;
    CUresult e = result_of(c->b->stream_create(c->be, stream_hints(s).priority, &lane));
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&s->obj.ctx->lock);
    const bool first = !s->lanes[i];
    if (first)
        s->lanes[i] = lane;
    pthread_mutex_unlock(&s->obj.ctx->lock);
    if (!first)
        c->b->stream_destroy(lane);
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetPriority(CUstream hStream, int *priority)
{
    STREAM(s, hStream);
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = stream_hints(s).priority;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    STREAM(s, hStream);
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = s->flags;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    STREAM(s, hStream);
    if (!streamId)
        return CUDA_ERROR_INVALID_VALUE;
    *streamId = s->id;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    STREAM(s, hStream);
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = s->obj.ctx->device;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    STREAM(s, hStream);
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = s->green ? (CUcontext)(uintptr_t)s->green : s->obj.ctx->handle;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    STREAM(s, hStream);
    if (!pCtx)
        return CUDA_ERROR_INVALID_VALUE;
    *pCtx = s->green ? (CUcontext)(uintptr_t)s->green : s->obj.ctx->handle;
    if (pGreenCtx)                      /* need not be asked for (driver 580) */
        *pGreenCtx = (CUgreenCtx)(uintptr_t)s->green;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    STREAM(s, hStream);
    if (!phCtx)
        return CUDA_ERROR_INVALID_VALUE;
    *phCtx = (CUgreenCtx)(uintptr_t)s->green;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamQuery(CUstream hStream)
{
    STREAM(s, hStream);
    struct ctx *sc = s->obj.ctx;
    CUresult e = capture_wait_check(s);
    if (e != CUDA_SUCCESS)
        return e;
    if (s->is_legacy) {
        pthread_mutex_lock(&sc->order);
        cwb_result r = join_blocking(sc);
        pthread_mutex_unlock(&sc->order);
        if (r != CWB_OK)
            return result_of(r);
    }
    return poll_result(sc->b->stream_query(s->be));
}

CUresult
drv_cuStreamSynchronize(CUstream hStream)
{
    STREAM(s, hStream);
    MAY_WAIT(drv_cuStreamQuery(hStream));
    CUresult e = stream_wait_idle(s);
    pools_trim();
    return e;
}

CUresult
drv_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    STREAM(s, hStream);
    if (Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    struct event *ev AUTO_PUT = handle_get(hEvent, KIND_EVENT);
    if (!ev)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream_captures(s) && Flags & CU_EVENT_WAIT_EXTERNAL) {
        struct work w;
        return capture_work(s, work_event(&w, CU_GRAPH_NODE_TYPE_WAIT_EVENT, hEvent), &w);
    }
    if (Flags & CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_ILLEGAL_STATE;        /* means something in a capture only */
    CUresult e;
    if ((stream_captures(s) || atomic_load(&ev->captured)) && capture_wait(s, ev, &e))
        return e;
    if (!atomic_load(&ev->recorded))
        return CUDA_SUCCESS;
    e = stream_begin(s);
    if (e != CUDA_SUCCESS)
        return e;
    e = ev->ipc ? ipc_event_stream_wait(ev->ipc, s->obj.ctx, s->be) : result_of(s->obj.ctx->b->stream_wait_event(s->be, ev->be));
    if (e == CUDA_SUCCESS && ev->obj.ctx == s->obj.ctx)
        frees_add(&s->behind, &ev->behind);
    stream_end(s);
    return e;
}

/* ---- attributes -------------------------------------------------------------------------------------------------------------- */

CUresult
drv_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
    STREAM(s, hStream);
    struct range r;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!range_find(dptr, &r) || !RANGE_IS_MANAGED(r.kind) || r.base != dptr || (length && length != r.size))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;                /* managed memory is always accessible from everywhere */
}

CUresult
drv_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
    STREAM(s, hStream);
    if (!value || !hint_for(HINT_STREAM, attr))
        return CUDA_ERROR_INVALID_VALUE;
    struct hints h = stream_hints(s);
    memset(value, 0, sizeof *value);
    hint_get(&h, attr, value);
    return CUDA_SUCCESS;
}

/* The backend's stream keeps the priority that it was made with. */
CUresult
drv_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
    STREAM(s, hStream);
    if (!value || !hint_for(HINT_STREAM, attr))
        return CUDA_ERROR_INVALID_VALUE;
    const CUstreamAttrValue v = *value;         /* read without the lock */
    pthread_mutex_lock(&s->obj.ctx->lock);
    CUresult e = hint_set(&s->hints, attr, &v);
    pthread_mutex_unlock(&s->obj.ctx->lock);
    return e;
}

CUresult
drv_cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream)
{
    STREAM(d, dstStream);
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, srcStream, &s);
    if (e != CUDA_SUCCESS)
        return e;
    if (s->obj.ctx != d->obj.ctx)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&d->obj.ctx->lock);
    d->hints = s->hints;
    pthread_mutex_unlock(&d->obj.ctx->lock);
    return CUDA_SUCCESS;
}
