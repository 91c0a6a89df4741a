/* SPDX-License-Identifier: Apache-2.0
 * 64-bit divisions on AMD, after the optimiser. */
#ifndef CWJ_PASSES_AMD_DIVIDE_H
#define CWJ_PASSES_AMD_DIVIDE_H

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Expand the calls that stand for divisions, and define the functions that the remaining ones call. */
void cwj_amd_divide(LLVMModuleRef m, LLVMTargetMachineRef tm);

#ifdef __cplusplus
}
#endif
#endif
