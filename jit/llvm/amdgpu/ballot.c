/* SPDX-License-Identifier: Apache-2.0
 * Work-around ballot (tests/ptx/isa/fuzz/ballot_nan.ptx). LLVM's AMD back end selects V_CMP_NEQ, which is true for NaN, for a ballot of
 * "ordered and not equal" (PTX's setp.ne of floats), but V_CMP_LG for a branch on the same condition: lanes with NaN are counted where they
 * do not go. The pass writes such a ballot as the active lanes without the ballot of the opposite, which LLVM gets right. */
#include "jit/llvm/llvm.h"

#include <string.h>

typedef LLVMValueRef V;

/* The negated comparison, built at `b`; NULL if v is not a comparison of that kind. */
static V
opposite(LLVMBuilderRef b, V v)
{
    if (LLVMIsAFCmpInst(v) && LLVMGetFCmpPredicate(v) == LLVMRealONE)
        return LLVMBuildFCmp(b, LLVMRealUEQ, LLVMGetOperand(v, 0), LLVMGetOperand(v, 1), "");
    return NULL;
}

void
cwj_amd_workaround_ballot(LLVMModuleRef m)
{
    static const char name[] = "llvm.amdgcn.ballot";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    V yes = LLVMConstInt(LLVMInt1TypeInContext(c), 1, false);

    for (V f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (V s = LLVMGetFirstInstruction(block), next; s; s = next) {
                next = LLVMGetNextInstruction(s);
                V called = LLVMIsACallInst(s) ? LLVMGetCalledValue(s) : NULL;
                if (!called || !LLVMIsAFunction(called) || LLVMGetIntrinsicID(called) != id)
                    continue;
                LLVMPositionBuilderBefore(b, s);
                V against = opposite(b, LLVMGetOperand(s, 0));
                if (!against)
                    continue;
                LLVMTypeRef type = LLVMGetCalledFunctionType(s);
                V here = LLVMBuildCall2(b, type, called, &yes, 1, ""), out = LLVMBuildCall2(b, type, called, &against, 1, "");
                LLVMReplaceAllUsesWith(s, LLVMBuildAnd(b, here, LLVMBuildNot(b, out, ""), ""));
                LLVMInstructionEraseFromParent(s);
            }
    LLVMDisposeBuilder(b);
}
