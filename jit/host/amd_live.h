/* SPDX-License-Identifier: Apache-2.0
 * LLVM's "Live Variable Analysis" for AMD's many registers. Private to jit/host. */
#ifndef CWJ_HOST_AMD_LIVE_H
#define CWJ_HOST_AMD_LIVE_H

#include <llvm/Pass.h>

/* In place of LLVM's pass, with the same results. The pass manager owns it. */
llvm::Pass *cwj_amd_live_variables(void);

#endif
