/* SPDX-License-Identifier: Apache-2.0
 * In-order queues, one thread each, and events, for hip.c. */
#ifndef GFX_QUEUE_H
#define GFX_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct gfx_queue;
struct gfx_event;

/* Work: called once on the queue's thread, then freed; `size` bytes of it are copied from `data` (aligned for any type). */
typedef void gfx_work(void *data);
struct gfx_queue *gfx_queue_create(void);
void gfx_queue_destroy(struct gfx_queue *q);        /* drains first */
bool gfx_queue_submit(struct gfx_queue *q, gfx_work *fn, const void *data, unsigned size);
bool gfx_queue_idle(struct gfx_queue *q);
void gfx_queue_wait(struct gfx_queue *q);
void gfx_queue_wait_all(void);                      /* every queue of the process */

struct gfx_event *gfx_event_create(bool timing);
void gfx_event_destroy(struct gfx_event *e);        /* may still be in use by queued work */
bool gfx_event_record(struct gfx_event *e, struct gfx_queue *q);
bool gfx_event_done(struct gfx_event *e);
void gfx_event_wait(struct gfx_event *e);
bool gfx_queue_wait_event(struct gfx_queue *q, struct gfx_event *e);
/* Nanoseconds of the last record; false when there was none or it is pending (*pending tells). */
bool gfx_event_time(struct gfx_event *e, uint64_t *ns, bool *pending);

#endif
