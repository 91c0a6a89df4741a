/* SPDX-License-Identifier: Apache-2.0
 * Makes the functions of precompiled code internal, so that LLVM drops the uncalled ones. They must stay external while the optimiser runs:
 * it would propagate constant arguments into a function whose code expects them in registers. */
#include "jit/emit/emit.h"
#include "jit/passes/passes.h"

void
pass_close_precompiled(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (emit_is_precompiled(f)) {
            LLVMSetLinkage(f, LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
}
