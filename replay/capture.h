/* SPDX-License-Identifier: Apache-2.0
 * Filling a dump from inside the recorded program: it tracks what the program allocates and loads, and around a launch reads
 * back everything that the kernel can reach. Used by the observers of dumps and of cudaway-diff, which pass on every call; it
 * calls only functions of the library below, so it works over any CUDA driver.
 *
 * Threads: any; one lock inside. A capture holds it from begin to end, so launches that are captured happen one at a time. */
#ifndef CWD_CAPTURE_H
#define CWD_CAPTURE_H

#include "replay/dump.h"
#include "tracer/layer.h"

/* Call when an observer starts. Only one may use this: false for a second. */
bool cwd_capture_start(const struct cw_cuda_table *next);
void cwd_capture_before(struct cw_call *call);
void cwd_capture_after(struct cw_call *call);

/* The launch only adds a node to a graph, whose launch is observed later. */
bool cwd_capture_into_graph(const struct cw_launch *l);
/* Wait for the context's work and read what the launch can reach. False: no dump can be made, *e says why in one line; nothing
 * is held then. */
bool cwd_capture_begin(const struct cw_launch *l, struct cwd_dump *d, struct cwd_error *e);
/* The same of an earlier launch in a context that a fault has ended; the calls below must not be refused for that. The contents of arrays cannot be read then. */
bool cwd_capture_remains(const struct cw_launch *l, struct cwd_dump *d, struct cwd_error *e);
/* The launch's results are not wanted: instead of cwd_capture_end. */
void cwd_capture_drop(void);
/* Wait for the launch and read again. False when its outcome cannot be read (a fault): `after` stays unknown, *e says why.
 * In either case the caller still owns *d. */
bool cwd_capture_end(const struct cw_launch *l, struct cwd_dump *d, struct cwd_error *e);

/* The number of the next launch that is counted by an observer, from 1. */
unsigned cwd_capture_count(void);

#endif
