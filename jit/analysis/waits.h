/* SPDX-License-Identifier: Apache-2.0
 * Whether warps of a block may wait for each other at different places of the program. */
#ifndef CWJ_ANALYSIS_WAITS_H
#define CWJ_ANALYSIS_WAITS_H

#include "jit/jit.h"

/* See cwj_api.warps_wait. Takes the program's lock. Out of memory, or no such kernel: CWJ_WAITS_NOT. */
enum cwj_waits cwj_warps_wait(struct cwj_program *p, uint32_t index);

#endif
