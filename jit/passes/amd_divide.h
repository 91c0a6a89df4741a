/* SPDX-License-Identifier: Apache-2.0
 * 64-bit divisions on AMD, when the optimiser is done. Private to jit/host. */
#ifndef CWJ_PASSES_AMD_DIVIDE_H
#define CWJ_PASSES_AMD_DIVIDE_H

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Make code of the calls that stand for divisions, and functions of those that remain. */
void cwj_amd_divide(LLVMModuleRef m, LLVMTargetMachineRef tm);

#ifdef __cplusplus
}
#endif
#endif
