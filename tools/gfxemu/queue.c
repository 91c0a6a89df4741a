/* SPDX-License-Identifier: Apache-2.0
 * See queue.h. A queue's lock guards its list; an event's lock its counters. No lock is held while work runs. */
#define _GNU_SOURCE
#include "tools/gfxemu/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    struct work *next;
    gfx_work *fn;
    _Alignas(16) unsigned char data[];
};

struct gfx_queue {
    struct gfx_queue *next, *prev;      /* all.lock */
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    struct work *head, **tail;
    uint64_t submitted, completed;
    bool closing;
    pthread_t thread;
};

static struct { pthread_mutex_t lock; struct gfx_queue *first; } all = { PTHREAD_MUTEX_INITIALIZER, NULL };

static void *
run(void *arg)
{
    struct gfx_queue *q = arg;
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
        pthread_mutex_unlock(&q->lock);
        w->fn(w->data);
        free(w);
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
    if (pthread_create(&q->thread, NULL, run, q)) {
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

bool
gfx_queue_submit(struct gfx_queue *q, gfx_work *fn, const void *data, unsigned size)
{
    struct work *w = malloc(sizeof *w + size);
    if (!w)
        return false;
    w->next = NULL;
    w->fn = fn;
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
void
gfx_queue_wait_all(void)
{
    struct gfx_event *fence[256];
    unsigned n = 0;
    pthread_mutex_lock(&all.lock);
    for (struct gfx_queue *q = all.first; q && n < 256; q = q->next)
        if (!gfx_queue_idle(q) && (fence[n] = gfx_event_create(false)))
            n += gfx_event_record(fence[n], q);
    pthread_mutex_unlock(&all.lock);
    while (n--) {
        gfx_event_wait(fence[n]);
        gfx_event_destroy(fence[n]);
    }
}

/* ---- events ---- */

struct gfx_event {
    _Atomic int refs;
    pthread_mutex_t lock;
    pthread_cond_t done;
    uint64_t recorded, completed;       /* numbers of records */
    uint64_t ns;
    bool timing;
};

static void
unref(struct gfx_event *e)
{
    if (atomic_fetch_sub(&e->refs, 1) == 1) {
        pthread_mutex_destroy(&e->lock);
        pthread_cond_destroy(&e->done);
        free(e);
    }
}

struct gfx_event *
gfx_event_create(bool timing)
{
    struct gfx_event *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->refs = 1;
    e->timing = timing;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->done, NULL);
    return e;
}

void
gfx_event_destroy(struct gfx_event *e)
{
    unref(e);
}

struct mark { struct gfx_event *e; uint64_t number; };

static void
complete(void *data)
{
    struct mark *m = data;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    pthread_mutex_lock(&m->e->lock);
    if (m->number > m->e->completed) {
        m->e->completed = m->number;
        m->e->ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    pthread_cond_broadcast(&m->e->done);
    pthread_mutex_unlock(&m->e->lock);
    unref(m->e);
}

bool
gfx_event_record(struct gfx_event *e, struct gfx_queue *q)
{
    struct mark m = { e, 0 };
    pthread_mutex_lock(&e->lock);
    m.number = ++e->recorded;
    pthread_mutex_unlock(&e->lock);
    atomic_fetch_add(&e->refs, 1);
    if (gfx_queue_submit(q, complete, &m, sizeof m))
        return true;
    complete(&m);
    return false;
}

bool
gfx_event_done(struct gfx_event *e)
{
    pthread_mutex_lock(&e->lock);
    bool done = e->completed == e->recorded;
    pthread_mutex_unlock(&e->lock);
    return done;
}

static void
wait_for(struct gfx_event *e, uint64_t number)
{
    pthread_mutex_lock(&e->lock);
    while (e->completed < number)
        pthread_cond_wait(&e->done, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

void
gfx_event_wait(struct gfx_event *e)
{
    pthread_mutex_lock(&e->lock);
    uint64_t n = e->recorded;
    pthread_mutex_unlock(&e->lock);
    wait_for(e, n);
}

static void
wait_work(void *data)
{
    struct mark *m = data;
    wait_for(m->e, m->number);
    unref(m->e);
}

bool
gfx_queue_wait_event(struct gfx_queue *q, struct gfx_event *e)
{
    struct mark m = { e, 0 };
    pthread_mutex_lock(&e->lock);
    m.number = e->recorded;
    pthread_mutex_unlock(&e->lock);
    if (!m.number)
        return true;
    atomic_fetch_add(&e->refs, 1);
    if (gfx_queue_submit(q, wait_work, &m, sizeof m))
        return true;
    unref(e);
    return false;
}

bool
gfx_event_time(struct gfx_event *e, uint64_t *ns, bool *pending)
{
    pthread_mutex_lock(&e->lock);
    bool ok = e->timing && e->recorded;
    *pending = e->recorded != e->completed;
    *ns = e->ns;
    pthread_mutex_unlock(&e->lock);
    return ok && !*pending;
}
