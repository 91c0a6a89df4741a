/* SPDX-License-Identifier: Apache-2.0
 * Functions of precompiled code become internal, so that those that nobody calls can go. While the optimiser runs they are not:
 * it would move constant arguments into a function whose code expects them in registers. */
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
