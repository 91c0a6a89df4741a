/* SPDX-License-Identifier: Apache-2.0
 * See queue.h. A queue's lock guards its list, an event's lock which record is its last, a record's lock whether it is complete; an
 * event's is taken before a queue's, a queue's before a record's. No lock is held while work runs, except at the end of a
 * record. */
#define _GNU_SOURCE
#include "tools/gfxemu/queue.h"

#include "impl/base/fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    struct work *next;
    gfx_work *fn;
    bool at_once;                       /* under the queue's lock, so that "done" and "queue busy" change together for other threads */
    _Alignas(16) unsigned char data[];
};

struct gfx_queue {
    struct gfx_queue *next, *prev;      /* all.lock */
    unsigned waiters;                   /* all.lock: threads in gfx_queue_wait_all */
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    struct work *head, **tail;
    uint64_t submitted, completed;
    bool closing;
    pthread_t thread;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t left;                /* a queue has no more waiters */
    struct gfx_queue *first;
} all = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL };

/* Until the queue is closed and empty. */
static void *
run(void *arg)
{
    struct gfx_queue *q = arg;
    cw_faults_claim();          /* the program's handler may report a fault of ours */
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->head && !q->closing)
            pthread_cond_wait(&q->wake, &q->lock);
        struct work *w = q->head;
        if (!w)
            break;
        q->head = w->next;
        if (!q->head)
            q->tail = &q->head;
        const bool at_once = w->at_once;
        if (!at_once)
            pthread_mutex_unlock(&q->lock);
        w->fn(w->data);
        free(w);
        if (!at_once)
            pthread_mutex_lock(&q->lock);
        q->completed++;
        pthread_cond_broadcast(&q->idle);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

struct gfx_queue *
gfx_queue_create(void)
{
    struct gfx_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->wake, NULL);
    pthread_cond_init(&q->idle, NULL);
    q->tail = &q->head;
    if (cw_thread_create(&q->thread, NULL, run, q)) {
        free(q);
        return NULL;
    }
    pthread_mutex_lock(&all.lock);
    q->next = all.first;
    if (q->next)
        q->next->prev = q;
    all.first = q;
    pthread_mutex_unlock(&all.lock);
    return q;
}

void
gfx_queue_destroy(struct gfx_queue *q)
{
    pthread_mutex_lock(&all.lock);
    while (q->waiters)
        pthread_cond_wait(&all.left, &all.lock);
    *(q->prev ? &q->prev->next : &all.first) = q->next;
    if (q->next)
        q->next->prev = q->prev;
    pthread_mutex_unlock(&all.lock);
    pthread_mutex_lock(&q->lock);
    q->closing = true;
    pthread_cond_signal(&q->wake);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->wake);
    pthread_cond_destroy(&q->idle);
    free(q);
}

static bool
submit(struct gfx_queue *q, gfx_work *fn, bool at_once, const void *data, unsigned size)
{
    struct work *w = malloc(sizeof *w + size);
    if (!w)
        return false;
    w->next = NULL;
    w->fn = fn;
    w->at_once = at_once;
    if (size)
        memcpy(w->data, data, size);
    pthread_mutex_lock(&q->lock);
    *q->tail = w;
    q->tail = &w->next;
    q->submitted++;
    pthread_cond_signal(&q->wake);
    pthread_mutex_unlock(&q->lock);
    return true;
}

bool
gfx_queue_submit(struct gfx_queue *q, gfx_work *fn, const void *data, unsigned size)
{
    return submit(q, fn, false, data, size);
}

bool
gfx_queue_idle(struct gfx_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool idle = q->completed == q->submitted;
    pthread_mutex_unlock(&q->lock);
    return idle;
}

void
gfx_queue_wait(struct gfx_queue *q)
{
    pthread_mutex_lock(&q->lock);
    uint64_t until = q->submitted;
    while (q->completed < until)
        pthread_cond_wait(&q->idle, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

/* The list may change while one queue is waited for: work is marked by a fence event on each, taken under the lock. */
/* Must work without memory: what follows frees what queued work uses. A queue that is waited for stays; new ones come before it. */
void
gfx_queue_wait_all(void)
{
    pthread_mutex_lock(&all.lock);
    struct gfx_queue *q = all.first;
    while (q) {
        q->waiters++;
        pthread_mutex_unlock(&all.lock);
        gfx_queue_wait(q);
        pthread_mutex_lock(&all.lock);
        struct gfx_queue *next = q->next;
        if (!--q->waiters)
            pthread_cond_broadcast(&all.left);
        q = next;
    }
    pthread_mutex_unlock(&all.lock);
}

/* ---- events ---- */

/* One recording of an event. Waiters wait for this recording, even if the event is recorded again: records in several queues
 * may complete in another order than they were made. */
struct record {
    _Atomic int refs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool completed;                     /* lock, and so on */
    uint64_t ns;
};

struct gfx_event {
    pthread_mutex_t lock;
    struct record *last;                /* lock: owned reference, or NULL */
    bool timing;
};

static void
unref(struct record *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    free(r);
}

/* The last record with a reference, or NULL. */
static struct record *
latest(struct gfx_event *e)
{
    pthread_mutex_lock(&e->lock);
    struct record *r = e->last;
    if (r)
        atomic_fetch_add(&r->refs, 1);
    pthread_mutex_unlock(&e->lock);
    return r;
}

struct gfx_event *
gfx_event_create(bool timing)
{
    struct gfx_event *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->timing = timing;
    pthread_mutex_init(&e->lock, NULL);
    return e;
}

void
gfx_event_destroy(struct gfx_event *e)
{
    unref(e->last);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static void
complete(void *data)
{
    struct record *r = *(struct record **)data;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    pthread_mutex_lock(&r->lock);
    r->completed = true;
    r->ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    unref(r);
}

bool
gfx_event_record(struct gfx_event *e, struct gfx_queue *q)
{
    struct record *r = calloc(1, sizeof *r), *old;
    if (!r)
        return false;
    r->refs = 2;                        /* the event's and the queue's */
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    pthread_mutex_lock(&e->lock);
    bool ok = submit(q, complete, true, &r, sizeof r);
    old = ok ? e->last : r;
    if (ok)
        e->last = r;
    else
        r->refs = 1;
    pthread_mutex_unlock(&e->lock);
    unref(old);
    return ok;
}

static void
wait_for(struct record *r)
{
    pthread_mutex_lock(&r->lock);
    while (!r->completed)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    unref(r);
}

bool
gfx_event_done(struct gfx_event *e)
{
    struct record *r = latest(e);
    if (!r)
        return true;
    pthread_mutex_lock(&r->lock);
    bool done = r->completed;
    pthread_mutex_unlock(&r->lock);
    unref(r);
    return done;
}

void
gfx_event_wait(struct gfx_event *e)
{
    struct record *r = latest(e);
    if (r)
        wait_for(r);
}

static void
wait_work(void *data)
{
    wait_for(*(struct record **)data);
}

bool
gfx_queue_wait_event(struct gfx_queue *q, struct gfx_event *e)
{
    struct record *r = latest(e);
    if (!r || gfx_queue_submit(q, wait_work, &r, sizeof r))
        return true;
    unref(r);
    return false;
}

bool
gfx_event_time(struct gfx_event *e, uint64_t *ns, bool *pending)
{
    struct record *r = latest(e);
    *pending = false;
    if (!r)
        return false;
    pthread_mutex_lock(&r->lock);
    *pending = !r->completed;
    *ns = r->ns;
    pthread_mutex_unlock(&r->lock);
    unref(r);
    return e->timing && !*pending;
}
