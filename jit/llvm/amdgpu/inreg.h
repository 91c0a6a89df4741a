/* SPDX-License-Identifier: Apache-2.0
 * Uniform arguments of functions for AMD GPUs. Private to jit/. */
#ifndef CWJ_LLVM_AMDGPU_INREG_H
#define CWJ_LLVM_AMDGPU_INREG_H

#ifdef __cplusplus
extern "C" {
#endif

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

/* Before code generation: where LLVM's callers and callees do not agree in which scalar registers inreg arguments are, calls that are left have
 * them in vector registers. Not in the program that makes precompiled code (jit/builtins/precompiled.h), which takes functions without their callers. */
void cwj_amd_pass_uniform(LLVMModuleRef m, LLVMTargetMachineRef tm);

#ifdef __cplusplus
}
#endif
#endif
