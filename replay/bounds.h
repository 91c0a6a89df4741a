/* SPDX-License-Identifier: Apache-2.0
 * --bounds: how far each result of a launch may be from what exact arithmetic gives, by running the launch with the errors of its operations
 * (instrument_bound.c). docs/replay-and-diff.md says what that covers. */
#ifndef CWD_BOUNDS_H
#define CWD_BOUNDS_H

#include "replay/compare.h"
#include "replay/side.h"

/* Of the launch of `s`, which is opened and parsed. CW_ERR_UNSUPPORTED: the kernel does what is not followed. The caller calls cwd_bounds_finish in any case. */
cw_result cwd_bounds_run(struct cwl_side *s, struct cwd_bounds *b, struct cwd_error *e) CW_MUST_CHECK;
void cwd_bounds_finish(struct cwd_bounds *b);

#endif
