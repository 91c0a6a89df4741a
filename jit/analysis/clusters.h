/* SPDX-License-Identifier: Apache-2.0
 * Whether a kernel notices that its blocks are in clusters. */
#ifndef CWJ_ANALYSIS_CLUSTERS_H
#define CWJ_ANALYSIS_CLUSTERS_H

#include "jit/jit.h"

/* See cwj_api.uses_clusters. Takes the program's lock. */
bool cwj_uses_clusters(struct cwj_program *p, uint32_t index);
/* The same, of a kernel that is there; p->lock is held. */
bool cwj_notices_clusters(struct cwj_program *p, uint32_t index);

#endif
