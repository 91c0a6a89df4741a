/* SPDX-License-Identifier: Apache-2.0
 * The last launches of the program, kept with their parameters, so that one that fails on the device can still be dumped when a later call tells of
 * it: over CUDAway's own driver, which lets the memory of a lost context be read (impl/post_mortem.h). A launch costs a copy of its parameters.
 *
 * Threads: any; one lock inside. */
#ifndef CWD_REMAINS_H
#define CWD_REMAINS_H

#include "replay/dump.h"
#include "tracer/layer.h"

/* Nothing is kept over another driver. */
void cwd_remains_start(const struct cw_cuda_table *next);
/* After a launch that the driver took; `launch`: its number in the program. */
void cwd_remains_add(const struct cw_launch *l, unsigned launch);
/* After each call that succeeded: launches that are over need not be kept. */
void cwd_remains_settle(const struct cw_call *call);
/* After the first call that told of a fault, `error`: `keep` gets the dump of the launch that failed, or, where the device does not tell which that
 * was, of each that may have been, the oldest first. Its memory is as the fault left it. */
void cwd_remains_dump(const struct cw_cuda_table *next, CUresult error, void (*keep)(struct cwd_dump *d, const char *kernel));

#endif
