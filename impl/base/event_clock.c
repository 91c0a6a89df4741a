/* SPDX-License-Identifier: Apache-2.0
 * See event_clock.h. */
#include "impl/base/event_clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Marks that are not done at which a poll gives up: there are rarely more busy streams. */
#define PATIENCE 8u
/* elapsed() gives a float: beyond this distance it loses the last tenth of a microsecond. */
#define FAR_MS 1000.0f

struct mark {
    struct mark *next;
    void *event;
    cw_event_time_fn *fn;
    void *user;
    uint64_t ns;
};

struct cw_event_clock {
    const struct cw_event_clock_ops *ops;
    void *device;
    pthread_mutex_t lock;               /* the rest */
    void *base;                         /* an event that is done, at base_ns */
    uint64_t base_ns;
    struct mark *first, **last, *spare; /* oldest first; marks with an event to use again */
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
    c->last = &c->first;
    return c;
}

/* The mark's event is done: read its time. c->lock held. */
static void
read_time(struct cw_event_clock *c, struct mark *m)
{
    float ms;
    if (!c->ops->elapsed(c->device, c->base, m->event, &ms))
        return;
    double ns = (double)ms * 1e6;
    m->ns = ns < 0 && (uint64_t)-ns >= c->base_ns ? 1 : c->base_ns + (uint64_t)(int64_t)ns;
    if (ms > FAR_MS) {
        void *old = c->base;
        c->base = m->event;
        c->base_ns = m->ns;
        m->event = old;
    }
}

/* Take the marks that are done out of the list, in their order. c->lock held. */
static struct mark *
take_done(struct cw_event_clock *c, bool all)
{
    struct mark *done = NULL, **end = &done;
    unsigned busy = 0;
    for (struct mark **l = &c->first; *l && (all || busy < PATIENCE);) {
        struct mark *m = *l;
        int state = c->ops->done(c->device, m->event);
        if (!state) {
            busy++;
            l = &m->next;
            continue;
        }
        if (state > 0)
            read_time(c, m);
        *l = m->next;
        if (!*l)
            c->last = l;
        m->next = NULL;
        *end = m;
        end = &m->next;
    }
    return done;
}

static void
deliver(struct cw_event_clock *c, struct mark *done)
{
    if (!done)
        return;
    struct mark *last = done;
    for (struct mark *m = done; m; m = m->next) {
        m->fn(m->user, m->ns);
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
    pthread_mutex_lock(&c->lock);
    struct mark *done = take_done(c, all);
    pthread_mutex_unlock(&c->lock);
    deliver(c, done);
}

bool
cw_event_clock_idle(struct cw_event_clock *c)
{
    pthread_mutex_lock(&c->lock);
    bool idle = !c->first;
    pthread_mutex_unlock(&c->lock);
    return idle;
}

bool
cw_event_clock_mark(struct cw_event_clock *c, void *stream, cw_event_time_fn *fn, void *user)
{
    pthread_mutex_lock(&c->lock);
    struct mark *done = take_done(c, false), *m = c->spare;
    bool ok = true;
    if (m) {
        c->spare = m->next;
    } else {
        m = calloc(1, sizeof *m);
        ok = m && (m->event = c->ops->create(c->device));
    }
    if (ok && !c->ops->record(c->device, m->event, stream)) {
        m->next = c->spare;
        c->spare = m;
        m = NULL;
        ok = false;
    }
    if (ok) {
        m->next = NULL;
        m->ns = 0;
        m->fn = fn;
        m->user = user;
        *c->last = m;
        c->last = &m->next;
    } else {
        free(m);
    }
    pthread_mutex_unlock(&c->lock);
    deliver(c, done);
    return ok;
}

void
cw_event_clock_destroy(struct cw_event_clock *c, bool use)
{
    if (!c)
        return;
    if (use)
        cw_event_clock_poll(c, true);
    for (struct mark *m = c->first, *next; m; m = next) {
        next = m->next;
        m->fn(m->user, 0);
        if (use)
            c->ops->destroy(c->device, m->event);
        free(m);
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
