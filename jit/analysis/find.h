/* SPDX-License-Identifier: Apache-2.0
 * Is there such an instruction? */
#ifndef CWJ_ANALYSIS_FIND_H
#define CWJ_ANALYSIS_FIND_H

#include "jit/link/program.h"

/* Is there one in a function, which may be NULL or have no body; in a kernel's call closure? */
bool cwj_has_inst(const struct ptx_function *fn, bool (*test)(const struct ptx_inst *in));
bool cwj_closure_has_inst(const struct cwj_program *p, const struct cwj_closure *c, bool (*test)(const struct ptx_inst *in));
/* Does the instruction read such a special register? */
bool cwj_reads_sreg(const struct ptx_inst *in, bool (*test)(ptx_sreg r));

#endif
