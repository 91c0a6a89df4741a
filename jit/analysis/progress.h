/* SPDX-License-Identifier: Apache-2.0
 * Whether warps of a block may wait for each other at different places of the program. */
#ifndef CWJ_ANALYSIS_PROGRESS_H
#define CWJ_ANALYSIS_PROGRESS_H

#include "jit/jit.h"

/* See cwj_api.independent_progress. Takes the program's lock. Out of memory, or no such kernel: CWJ_PROGRESS_COMMON. */
enum cwj_progress cwj_independent_progress(struct cwj_program *p, uint32_t index);
/* The same for who holds the lock, as a compilation does. */
enum cwj_progress cwj_independent_progress_locked(struct cwj_program *p, uint32_t index);

#endif
