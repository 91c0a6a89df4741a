/* SPDX-License-Identifier: Apache-2.0
 * Shared by flow.c and divergence.c. */
#ifndef CWJ_EMIT_FLOW_PRIVATE_H
#define CWJ_EMIT_FLOW_PRIVATE_H

#include "jit/emit/flow.h"

bool flow_in_loop(const struct flow *f, uint32_t block, uint32_t loop);
bool flow_guarded_leave(const struct ptx_function *fn, uint32_t block);
void flow_find_spins(struct flow *f, struct cw_arena *a);
cw_result flow_divergence(struct flow *f, unsigned width, bool linear_x, struct cw_arena *a) CW_MUST_CHECK;

#endif
