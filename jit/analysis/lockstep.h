/* SPDX-License-Identifier: Apache-2.0
 * Whether a kernel relies on the lanes of a warp running in step. */
#ifndef CWJ_ANALYSIS_LOCKSTEP_H
#define CWJ_ANALYSIS_LOCKSTEP_H

#include "jit/link/program.h"

/* CUDAWAY_LOCKSTEP; part of what makes code different, so of the cache's keys. */
enum cwj_lockstep { CWJ_LOCKSTEP_FIND, CWJ_LOCKSTEP_ON, CWJ_LOCKSTEP_OFF };
enum cwj_lockstep cwj_lockstep_setting(void);

/* Whether accesses to shared memory of kernel number `index` and of what it calls must stay in their order, lane against lane: the
 * setting says so, or the code does (then with a line on the log). Builds CFGs: under the program's lock. Out of memory: false. */
bool cwj_needs_lockstep(struct cwj_program *p, uint32_t index);

#endif
