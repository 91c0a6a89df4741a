/* SPDX-License-Identifier: Apache-2.0
 * Does a kernel rely on lockstep execution of a warp? */
#ifndef CWJ_ANALYSIS_LOCKSTEP_H
#define CWJ_ANALYSIS_LOCKSTEP_H

#include "jit/link/program.h"

/* CUDAWAY_LOCKSTEP. It changes code, and so is part of the cache's keys. */
enum cwj_lockstep { CWJ_LOCKSTEP_FIND, CWJ_LOCKSTEP_ON, CWJ_LOCKSTEP_OFF };
enum cwj_lockstep cwj_lockstep_setting(void);

/* Must accesses to shared memory by kernel number `index` and its callees keep their order among lanes? True if the setting says so, or if
 * the code matches the pattern, which is then logged. Builds CFGs: call with the program's lock held. Out of memory: false. */
bool cwj_needs_lockstep(struct cwj_program *p, uint32_t index);

#endif
