/* SPDX-License-Identifier: Apache-2.0
 * LLVM's table of registers that overlap each other, for AMD's many. Private to jit/host. */
#ifndef CWJ_HOST_AMD_OVERLAPS_H
#define CWJ_HOST_AMD_OVERLAPS_H

#include <llvm/Pass.h>

/* To be added right before "PostRA Machine Instruction Scheduler", which asks for the row of every register that a function names. The pass manager
 * owns it. */
llvm::Pass *cwj_amd_overlaps(void);

#endif
