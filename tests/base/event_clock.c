/* SPDX-License-Identifier: Apache-2.0
 * The clock of timing events over a device of this file's own, whose streams do nothing until a test says so: what is asked of the device,
 * and which times come in which order. */
#include "impl/base/event_clock.h"

#include <stdio.h>
#include <stdlib.h>

static int failures;

#define CHECK(what)                                                                                                     \
    do {                                                                                                                \
        if (!(what)) {                                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                          \
            failures++;                                                                                                 \
        }                                                                                                               \
    } while (0)

/* ---- the device ---- */

enum state { RECORDED, DONE, LOST };

struct event {
    enum state state;
    void *stream;
    float ms;
    struct event *next;
};

static struct event *all;           /* newest first */
static unsigned created, destroyed, recorded, asked;

static void *
create(void *device)
{
    struct event *e = calloc(1, sizeof *e);
    created++;
    e->next = all;
    return all = e;
}

static void
destroy(void *device, void *event)
{
    destroyed++;
    for (struct event **l = &all; *l; l = &(*l)->next)
        if (*l == event) {
            *l = (*l)->next;
            break;
        }
    free(event);
}

static bool
record(void *device, void *event, void *stream)
{
    struct event *e = event;
    recorded++;
    e->state = RECORDED;
    e->stream = stream;
    return true;
}

static bool
wait(void *device, void *event)
{
    ((struct event *)event)->state = DONE;
    return true;
}

static int
elapsed(void *device, void *from, void *to, float *ms)
{
    const struct event *e = to;
    asked++;
    if (e->state == DONE)
        *ms = e->ms - ((const struct event *)from)->ms;
    return e->state == DONE ? 1 : e->state == LOST ? -1 : 0;
}

static const struct cw_event_clock_ops ops = { .create = create, .destroy = destroy, .record = record, .wait = wait, .elapsed = elapsed };

/* What is recorded in the stream comes to `state`, at `ms`. */
static void
come(void *stream, enum state state, float ms)
{
    for (struct event *e = all; e; e = e->next)
        if (e->stream == stream && e->state == RECORDED) {
            e->state = state;
            e->ms = ms;
        }
}

/* ---- marks ---- */

static uint64_t base, times[100];
static unsigned order[100], given;

static void
take(void *user, uint64_t ns)
{
    unsigned i = (unsigned)((uint64_t *)user - times);
    times[i] = ns;
    order[given++] = i;
}

static char a, b;

static void
mark(struct cw_event_clock *c, void *stream, unsigned i)
{
    CHECK(cw_event_clock_mark(c, stream, CW_EVENT_BEHIND, take, &times[i]));
}

static void
mark_between(struct cw_event_clock *c, void *stream, unsigned i)
{
    CHECK(cw_event_clock_mark(c, stream, CW_EVENT_BETWEEN, take, &times[i]));
}

int
main(void)
{
    struct cw_event_clock *c = cw_event_clock_create(&ops, NULL, NULL);
    CHECK(c && cw_event_clock_idle(c));

    /* The first stream is stuck: it is asked about once a mark, and the second stream's times come all the same, in their order. */
    for (unsigned i = 0; i < 10; i++)
        mark(c, &a, i);
    CHECK(asked == 10 && given == 0);
    mark(c, &b, 10);
    mark(c, &b, 11);
    come(&b, DONE, 2);
    asked = 0;
    mark(c, &b, 12);
    CHECK(asked == 3 && given == 2 && order[0] == 10 && order[1] == 11);
    CHECK(times[10] && times[10] == times[11]);

    /* A mark reads four of many, and so does a poll; `all` the rest. */
    base = times[10] - 2000000;             /* 2 ms behind the clock's start */
    come(&a, DONE, 0.5);
    given = 0;
    mark(c, &a, 13);
    CHECK(given == 4 && order[0] == 0 && order[3] == 3 && times[0] == base + 500000);
    for (unsigned i = 20; i < 50; i++)
        mark(c, &a, i);                     /* the other six come here, and then none: the stream is behind */
    CHECK(given == 10);
    come(&a, DONE, 3);
    cw_event_clock_poll(c, false);
    CHECK(given == 14 && !cw_event_clock_idle(c));
    cw_event_clock_poll(c, true);
    CHECK(given == 41 && !cw_event_clock_idle(c));      /* b's last one is not done */

    /* What never gets a time comes with 0, and so does what is left at the end. Events are used again. */
    come(&b, LOST, 0);
    cw_event_clock_poll(c, false);
    CHECK(given == 42 && order[41] == 12 && times[12] == 0 && cw_event_clock_idle(c));
    unsigned before = created;
    mark(c, &b, 60);
    CHECK(created == before);
    recorded = 0;
    mark_between(c, &b, 61);            /* the same event as 60's */
    mark_between(c, &b, 62);            /* which has two already */
    mark_between(c, &a, 63);            /* 62's is another stream's */
    mark_between(c, &b, 64);
    CHECK(recorded == 3);
    come(&b, DONE, 4);
    mark_between(c, &b, 65);            /* the stream has nothing to do; nothing is read before an operation */
    CHECK(given == 42);
    cw_event_clock_poll(c, false);
    CHECK(recorded == 4 && given == 46 && times[60] == base + 4000000 && times[61] == times[60] && times[62] == times[60]);
    CHECK(order[42] == 60 && order[43] == 61 && order[44] == 62 && order[45] == 64);
    mark(c, &b, 66);
    mark_between(c, &b, 67);
    CHECK(recorded == 5);
    times[63] = times[65] = times[66] = times[67] = 1;
    cw_event_clock_destroy(c, true);
    CHECK(given == 50 && !times[63] && !times[65] && !times[66] && !times[67]);
    CHECK(created == destroyed && !all);
    return failures != 0;
}
