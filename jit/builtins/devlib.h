/* SPDX-License-Identifier: Apache-2.0
 * The device library: C functions that code for AMD GPUs calls (docs/emitter.md). Each source file of this folder except devlib.c is a
 * part, embedded in the jit as bitcode; its functions are cwd_PART_*. Private to jit/. */
#ifndef CWJ_BUILTINS_DEVLIB_H
#define CWJ_BUILTINS_DEVLIB_H

#include "impl/base/result.h"
#include "jit/jit.h"

#include <llvm-c/Core.h>

/* Link into `m`, a module for amdgcn, the bodies of the cwd_* functions that it declares, and their callees, as internal functions. P5908
 * if the library has no such function, or one of another type. cpu: the processor, or NULL. */
cw_result cwj_devlib_link(LLVMModuleRef m, const char *cpu, struct cwj_diags *diags) CW_MUST_CHECK;

/* Does `m` have functions of the library that are not optimised yet? */
bool cwj_devlib_used(LLVMModuleRef m);

#endif
