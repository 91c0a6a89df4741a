/* SPDX-License-Identifier: Apache-2.0
 * See event_clock.h. */
#include "impl/base/event_clock.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Marks of a stream that are read at a time: more than an operation makes, so that none stay behind, and few, because a program waits meanwhile
 * and its device has perhaps nothing to do. */
#define FEW 4u
/* elapsed() gives a float: beyond this distance it loses the last tenth of a microsecond. */
#define FAR_MS 1000.0f

struct mark {
    struct mark *next;
    void *event;
    struct taker {
        cw_event_time_fn *fn;           /* NULL: none */
        void *user;
    } takers[2];
    uint64_t ns;
};

/* The marks of one stream, oldest first. It stays: a stream that comes later may have the same handle, and its marks follow. */
struct queue {
    struct queue *next;
    void *stream;
    struct mark *first, **last;
};

struct cw_event_clock {
    const struct cw_event_clock_ops *ops;
    void *device;
    pthread_mutex_t lock;               /* the rest */
    void *base;                         /* an event that is done, at base_ns */
    uint64_t base_ns;
    struct queue *queues;
    struct mark *newest;                /* in its queue, else NULL */
    struct mark *spare;                 /* marks with an event to use again */
};

static uint64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct cw_event_clock *
cw_event_clock_create(const struct cw_event_clock_ops *ops, void *device, void *idle)
{
    struct cw_event_clock *c = calloc(1, sizeof *c);
    void *base = c ? ops->create(device) : NULL;
    /* The event lies between the two readings: a second try when they are far apart, as the first use of a stream is. */
    for (uint64_t i = 0, apart = UINT64_MAX; base && i < 5 && apart > 20000; i++) {
        uint64_t before = now();
        if (!ops->record(device, base, idle) || !ops->wait(device, base)) {
            ops->destroy(device, base);
            base = NULL;
            break;
        }
        apart = now() - before;
        c->base_ns = before + apart / 2;
    }
    if (!base) {
        free(c);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->ops = ops;
    c->device = device;
    c->base = base;
    return c;
}

/* Read the time of the mark's event, 0 if it will have none. False: it is not done yet. c->lock held. */
static bool
read_time(struct cw_event_clock *c, struct mark *m)
{
    float ms;
    int state = c->ops->elapsed(c->device, c->base, m->event, &ms);
    if (state <= 0)
        return state < 0;
    double ns = (double)ms * 1e6;
    m->ns = ns < 0 && (uint64_t)-ns >= c->base_ns ? 1 : c->base_ns + (uint64_t)(int64_t)ns;
    if (ms > FAR_MS) {
        void *old = c->base;
        c->base = m->event;
        c->base_ns = m->ns;
        m->event = old;
    }
    return true;
}

/* Move at most `most` marks that are done from the queue to *end, in their order. Gives the new end. c->lock held. */
static struct mark **
take_done(struct cw_event_clock *c, struct queue *q, unsigned most, struct mark **end)
{
    for (struct mark *m; most && (m = q->first) && read_time(c, m); most--) {
        q->first = m->next;
        if (!q->first)
            q->last = &q->first;
        if (c->newest == m)
            c->newest = NULL;
        m->next = NULL;
        *end = m;
        end = &m->next;
    }
    return end;
}

static void
tell(const struct mark *m, uint64_t ns)
{
    for (unsigned i = 0; i < 2 && m->takers[i].fn; i++)
        m->takers[i].fn(m->takers[i].user, ns);
}

static void
deliver(struct cw_event_clock *c, struct mark *done)
{
    if (!done)
        return;
    struct mark *last = done;
    for (struct mark *m = done; m; m = m->next) {
        tell(m, m->ns);
        last = m;
    }
    pthread_mutex_lock(&c->lock);
    last->next = c->spare;
    c->spare = done;
    pthread_mutex_unlock(&c->lock);
}

void
cw_event_clock_poll(struct cw_event_clock *c, bool all)
{
    struct mark *done = NULL, **end = &done;
    pthread_mutex_lock(&c->lock);
    for (struct queue *q = c->queues; q; q = q->next)
        end = take_done(c, q, all ? UINT_MAX : FEW, end);
    pthread_mutex_unlock(&c->lock);
    deliver(c, done);
}

bool
cw_event_clock_idle(struct cw_event_clock *c)
{
    bool idle = true;
    pthread_mutex_lock(&c->lock);
    for (const struct queue *q = c->queues; q; q = q->next)
        idle &= !q->first;
    pthread_mutex_unlock(&c->lock);
    return idle;
}

/* The stream's queue, made when it is new, or NULL. c->lock held. */
static struct queue *
queue_of(struct cw_event_clock *c, void *stream)
{
    struct queue **l = &c->queues;
    while (*l && (*l)->stream != stream)
        l = &(*l)->next;
    struct queue *q = *l;
    if (q) {
        *l = q->next;
    } else {
        if (!(q = calloc(1, sizeof *q)))
            return NULL;
        q->stream = stream;
        q->last = &q->first;
    }
    /* To the front: the next mark is likely this stream's. */
    q->next = c->queues;
    c->queues = q;
    return q;
}

/* A mark whose event is in the stream, or NULL. c->lock held. */
static struct mark *
record(struct cw_event_clock *c, void *stream)
{
    struct mark *m = c->spare;
    if (m)
        c->spare = m->next;
    else if (!(m = calloc(1, sizeof *m)))
        return NULL;
    if (!m->event && !(m->event = c->ops->create(c->device))) {
        free(m);
        return NULL;
    }
    if (c->ops->record(c->device, m->event, stream))
        return m;
    m->next = c->spare;
    c->spare = m;
    return NULL;
}

bool
cw_event_clock_mark(struct cw_event_clock *c, void *stream, enum cw_event_place place, cw_event_time_fn *fn, void *user)
{
    struct mark *done = NULL, *m = NULL;
    pthread_mutex_lock(&c->lock);
    struct queue *q = queue_of(c, stream);
    if (q) {
        m = c->newest;
        if (place == CW_EVENT_BETWEEN && m && q->last == &m->next && !m->takers[1].fn && !read_time(c, m)) {
            m->takers[1] = (struct taker){ fn, user };
        } else if ((m = record(c, stream))) {
            m->next = NULL;
            m->ns = 0;
            m->takers[0] = (struct taker){ fn, user };
            m->takers[1].fn = NULL;
            *q->last = c->newest = m;
            q->last = &m->next;
        }
        if (place == CW_EVENT_BEHIND)
            take_done(c, q, FEW, &done);
    }
    pthread_mutex_unlock(&c->lock);
    deliver(c, done);
    return m;
}

void
cw_event_clock_destroy(struct cw_event_clock *c, bool use)
{
    if (!c)
        return;
    if (use)
        cw_event_clock_poll(c, true);
    for (struct queue *q = c->queues, *after; q; q = after) {
        after = q->next;
        for (struct mark *m = q->first, *next; m; m = next) {
            next = m->next;
            tell(m, 0);
            if (use)
                c->ops->destroy(c->device, m->event);
            free(m);
        }
        free(q);
    }
    for (struct mark *m = c->spare, *next; m; m = next) {
        next = m->next;
        if (use)
            c->ops->destroy(c->device, m->event);
        free(m);
    }
    if (use)
        c->ops->destroy(c->device, c->base);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
