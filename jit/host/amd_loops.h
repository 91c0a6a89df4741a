/* SPDX-License-Identifier: Apache-2.0
 * LLVM's "Induction Variable Users" for AMD. Private to jit/host. */
#ifndef CWJ_HOST_AMD_LOOPS_H
#define CWJ_HOST_AMD_LOOPS_H

#include <llvm/Pass.h>

/* To be added right before "Loop Strength Reduction", which then leaves loops alone that have many addresses. The pass manager owns it. */
llvm::Pass *cwj_amd_loop_users(void);

#endif
