/* SPDX-License-Identifier: Apache-2.0
 * Times of a GPU's timing events (hipEvent, CUevent) in the host's CLOCK_MONOTONIC. A mark is an event recorded in a stream; its time is
 * read when the event is done, whenever the owner marks the end of an operation or polls. No thread of its own. A stream's marks are done in order, so that the
 * oldest that is not done ends a look: those behind a kernel that runs for long cost nothing. */
#ifndef CW_EVENT_CLOCK_H
#define CW_EVENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct cw_event_clock_ops {
    void *(*create)(void *device);              /* an event with timing, or NULL */
    void (*destroy)(void *device, void *event);
    bool (*record)(void *device, void *event, void *stream);
    bool (*wait)(void *device, void *event);
    /* Between two events, of which `from` is done: 1 both are, 0 `to` not yet, -1 never (the context failed). */
    int  (*elapsed)(void *device, void *from, void *to, float *ms);
};

typedef void cw_event_time_fn(void *user, uint64_t ns);     /* 0: not known */

struct cw_event_clock;

/* `idle` is a stream without queued work: the clocks are compared there, which takes some microseconds. NULL on failure. */
struct cw_event_clock *cw_event_clock_create(const struct cw_event_clock_ops *ops, void *device, void *idle);
/* Calls fn for every mark that is left, with 0 for those whose events are not done. `use`: the device may still be called. Takes NULL. */
void cw_event_clock_destroy(struct cw_event_clock *c, bool use);
enum cw_event_place {
    CW_EVENT_BEHIND,    /* an operation: looks at a few old marks of the stream, too */
    CW_EVENT_BEFORE,    /* an operation, which the device perhaps waits for */
    CW_EVENT_BETWEEN    /* two: nothing came into any stream behind the mark before. If that is of the same stream, which has not got there, they are one event */
};
/* Put a mark into the stream. False: fn will not be called. Any thread. */
bool cw_event_clock_mark(struct cw_event_clock *c, void *stream, enum cw_event_place place, cw_event_time_fn *fn, void *user);
/* No mark waits for its time. */
bool cw_event_clock_idle(struct cw_event_clock *c);
/* Call fn of the marks that are done; unless `all`, of the oldest few of each stream. */
void cw_event_clock_poll(struct cw_event_clock *c, bool all);

#endif
