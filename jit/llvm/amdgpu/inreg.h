/* SPDX-License-Identifier: Apache-2.0
 * Work-around uniform-arguments: inreg arguments of functions for AMD GPUs. Private to jit/. */
#ifndef CWJ_LLVM_AMDGPU_INREG_H
#define CWJ_LLVM_AMDGPU_INREG_H

#ifdef __cplusplus
extern "C" {
#endif

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

/* Before code generation: where LLVM's callers and callees disagree on the SGPRs of inreg arguments, remaining calls pass them in VGPRs.
 * Not for the program that makes precompiled code (jit/builtins/precompiled.h), which compiles functions without their callers. */
void cwj_amd_pass_uniform(LLVMModuleRef m, LLVMTargetMachineRef tm);

#ifdef __cplusplus
}
#endif
#endif
