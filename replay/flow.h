/* SPDX-License-Identifier: Apache-2.0
 * Which registers an instruction reads and writes, and which reads nothing was written before. */
#ifndef CWI_FLOW_H
#define CWI_FLOW_H

#include "replay/instrument.h"

/* Call visit for each register that the instruction reads, its guard and addresses included. */
void cwi_reads(const struct ptx_inst *in, void (*visit)(void *user, uint32_t reg), void *user);

/* By instruction of the function, whether it reads a register that is not written on any path (sure), or on some path, from the
 * function's begin. `reg`: by register, whether such a read of it exists. Functions with instructions kept as text have none. False: out of
 * memory. */
bool cwi_unwritten(struct ptx_function *fn, bool sure, bool *inst, bool *reg) CW_MUST_CHECK;

#endif
