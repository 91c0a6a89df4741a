/* SPDX-License-Identifier: Apache-2.0
 * Inlines functions with one call before anything else. Otherwise LLVM optimises each twice, alone and inlined, and its arguments hide
 * which memory they point to. */
#include "jit/emit/attribute.h"
#include "jit/emit/emit.h"
#include "jit/passes/passes.h"

static bool
is_called_once(LLVMValueRef f, unsigned noinline_)
{
    const LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    LLVMUseRef use = LLVMGetFirstUse(f);
    LLVMValueRef call = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    return call && LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f && LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) != f &&
           !LLVMGetEnumAttributeAtIndex(f, index, noinline_) && !LLVMGetCallSiteEnumAttribute(call, index, noinline_);
}

bool
pass_annotate_single_calls(LLVMModuleRef m)
{
    unsigned noinline_ = LLVMGetEnumAttributeKindForName("noinline", 8);
    bool any = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || LLVMGetFunctionCallConv(f) == LLVMAMDGPUKERNELCallConv || emit_is_precompiled(f) ||
            LLVMGetLinkage(f) != LLVMInternalLinkage || !is_called_once(f, noinline_))
            continue;
        emit_set_attribute(f, "alwaysinline");
        any = true;
    }
    return any;
}
