/* SPDX-License-Identifier: Apache-2.0
 * Host functions and callbacks of streams and graphs. A context has one thread that calls them, as with NVIDIA's driver (580.159.04, an H200). It starts with the
 * first function, has the name, the signal mask and the floating-point environment of the thread that launched that one, runs nothing else, and ends with the
 * context. Programs rely on it: a garbage collector registers the thread in the first function, and may stop it by a signal at any time after that, also while
 * no function runs. The streams' threads, which run kernels, block signals. */
#include "impl/driver/graph.h"
#include "impl/base/thread.h"

#include <stdlib.h>

struct host_thread {
    _Atomic uint32_t refs;              /* the context, each call */
    pthread_mutex_t lock;
    pthread_cond_t wake, returned;
    struct host_call *first, **last;    /* lock: whose turn it is, in order */
    bool there, ending;                 /* lock: the thread was begun; has to end, when there are no calls */
};

struct host_call {
    struct host_thread *thread;         /* owned reference; NULL: CWB_CAP_HOST_THREAD */
    struct host_call *next;
    CUstreamCallback callback;
    CUhostFn fn;
    CUstream stream;
    void *user;
    cwb_result status;
    bool returned;
    bool done;                          /* thread->lock; the stream's thread frees it then */
};

_Thread_local bool cwb_in_host_function;

struct host_thread *
host_thread_create(void)
{
    struct host_thread *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    atomic_init(&t->refs, 1);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    pthread_cond_init(&t->returned, NULL);
    t->last = &t->first;
    return t;
}

static void
destroy(struct host_thread *t)
{
    pthread_cond_destroy(&t->returned);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void
host_thread_unref(struct host_thread *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_lock(&t->lock);
    const bool there = t->there;
    t->ending = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    if (!there)
        destroy(t);                     /* else the thread does */
}

/* ---- on the thread -------------------------------------------------------------------------------------------------------------- */

static void serve(struct host_thread *t);

/* A function may end its thread (pthread_exit). The thread serves the context to its end then, and unwinds behind that. An exception never comes here: nobody
 * catches it, and the C++ library ends the process. */
static void
call_end(struct host_call *const *p)
{
    struct host_call *h = *p;
    struct host_thread *t = h->thread;
    const bool returned = h->returned;
    cwb_in_host_function = false;
    if (t) {
        pthread_mutex_lock(&t->lock);
        h->done = true;
        pthread_mutex_unlock(&t->lock);
        pthread_cond_broadcast(&t->returned);   /* this thread alone destroys t */
    } else {
        free(h);
    }
    if (returned)
        return;
    cw_error("a host function or callback has ended its thread (pthread_exit), which is the device's");
    if (t)
        serve(t);
}

static void
call(struct host_call *what)
{
    struct host_call *h __attribute__((cleanup(call_end))) = what;
    int cancel;
    cwb_in_host_function = true;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
    if (h->callback)
        h->callback(h->stream, result_of(h->status), h->user);
    else if (h->status == CWB_OK)
        h->fn(h->user);                 /* not called after an error, as documented */
    pthread_setcancelstate(cancel, NULL);
    h->returned = true;
}

static void
serve(struct host_thread *t)
{
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!t->first && !t->ending)
            pthread_cond_wait(&t->wake, &t->lock);
        struct host_call *h = t->first;
        if (!h)
            break;
        t->first = h->next;
        if (!t->first)
            t->last = &t->first;
        pthread_mutex_unlock(&t->lock);
        call(h);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    destroy(t);
}

static void *
thread(void *t)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    serve(t);
    return NULL;
}

/* ---- on a stream's ---------------------------------------------------------------------------------------------------------------- */

static void
run_host_call(void *p, cwb_result status)
{
    struct host_call *h = p;
    struct host_thread *t = h->thread;
    h->status = status;
    if (!t) {
        call(h);
        return;
    }
    pthread_mutex_lock(&t->lock);
    *t->last = h;
    t->last = &h->next;
    pthread_mutex_unlock(&t->lock);
    pthread_cond_signal(&t->wake);      /* without the lock, which the thread wants first */
    pthread_mutex_lock(&t->lock);
    while (!h->done)
        pthread_cond_wait(&t->returned, &t->lock);
    pthread_mutex_unlock(&t->lock);
    host_thread_unref(t);
    free(h);
}

/* ---- on the program's ------------------------------------------------------------------------------------------------------------- */

static bool
begin(struct host_thread *t)
{
    pthread_mutex_lock(&t->lock);
    if (!t->there)
        t->there = !cw_thread_create_for_program(thread, t);
    const bool there = t->there;
    pthread_mutex_unlock(&t->lock);
    return there;
}

static CUresult
issue(const struct ctx *c, struct cwb_stream *s, struct host_call what)
{
    struct host_thread *t = c->b->caps & CWB_CAP_HOST_THREAD ? NULL : c->host;
    struct host_call *h = !t || begin(t) ? malloc(sizeof *h) : NULL;
    if (!h)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *h = what;
    h->thread = t;
    if (t)
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    CUresult e = result_of(c->b->stream_host_fn(s, run_host_call, h));
    if (e != CUDA_SUCCESS) {
        host_thread_unref(t);
        free(h);
    }
    return e;
}

static CUresult
submit(CUstream hStream, CUstreamCallback callback, CUhostFn fn, void *user)
{
    STREAM(s, hStream);
    if (stream_captures(s) && fn) {     /* a callback cannot be captured: stream_begin says so */
        struct work w;
        return capture_work(s, work_host(&w, &(CUDA_HOST_NODE_PARAMS){ fn, user }), &w);
    }
    CUresult e = stream_begin(s);
    if (e != CUDA_SUCCESS)
        return e;
    e = issue(s->obj.ctx, s->be, (struct host_call){ .callback = callback, .fn = fn, .stream = hStream, .user = user });
    stream_end(s);                      /* NVIDIA's driver 580 takes any number of these */
    return e;
}

CUresult
host_issue(const struct ctx *c, struct cwb_stream *s, CUhostFn fn, void *user)
{
    return issue(c, s, (struct host_call){ .fn = fn, .user = user });
}

CUresult
drv_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
    if (!callback || flags)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(hStream, callback, NULL, userData);
}

CUresult
drv_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    if (!fn)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(hStream, NULL, fn, userData);
}
