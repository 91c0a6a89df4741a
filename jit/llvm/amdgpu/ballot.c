/* SPDX-License-Identifier: Apache-2.0
 * Around a wrong instruction of LLVM's AMD back end (19 and 22; tests/ptx/isa/fuzz/ballot_nan.ptx): a ballot of "ordered and not
 * equal" (PTX's setp.ne of floats) becomes V_CMP_NEQ, which is true for NaN, while a branch by the same condition becomes V_CMP_LG:
 * lanes with NaN are counted where they do not go. Such a ballot is written as those lanes that are here less the ballot of the
 * opposite, which is right. */
#include "jit/llvm/llvm.h"

#include <string.h>

typedef LLVMValueRef V;

/* The opposite of the comparison, built at `b`; NULL when v is no such comparison. */
static V
opposite(LLVMBuilderRef b, V v)
{
    if (LLVMIsAFCmpInst(v) && LLVMGetFCmpPredicate(v) == LLVMRealONE)
        return LLVMBuildFCmp(b, LLVMRealUEQ, LLVMGetOperand(v, 0), LLVMGetOperand(v, 1), "");
    return NULL;
}

void
cwj_amd_guard_ballot(LLVMModuleRef m)
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
