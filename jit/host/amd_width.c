/* SPDX-License-Identifier: Apache-2.0
 * Around a miscompilation of LLVM before 20 for AMD GPUs (llvm-project pull requests 114279, 116115). `x & (-1 >> (32 - w))` and `(x << (32 - w)) >> (32 - w)` become a bit
 * field extract of w bits; V_BFE takes its width modulo 32 and gives 0 for w = 32, where these give x. So a shift by 32 - w
 * becomes one by (0 - w) & 31, which is the same wherever the shift is defined, costs as much, and is no longer recognised. */
#include "jit/host/llvm.h"

static bool
is_shift_by(LLVMValueRef user, LLVMValueRef amount)
{
    if (!LLVMIsAInstruction(user))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(user);
    return (op == LLVMShl || op == LLVMLShr || op == LLVMAShr) && LLVMGetOperand(user, 1) == amount;
}

static void
guard(LLVMBuilderRef b, LLVMValueRef sub)
{
    LLVMTypeRef t = LLVMTypeOf(sub);
    LLVMValueRef amount = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(sub), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!is_shift_by(user, sub))
            continue;
        if (!amount) {
            LLVMPositionBuilderBefore(b, sub);
            amount = LLVMBuildAnd(b, LLVMBuildNeg(b, LLVMGetOperand(sub, 1), ""), LLVMConstInt(t, 31, false), "");
        }
        LLVMSetOperand(user, 1, amount);
    }
}

void
cwj_amd_guard_width(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
                if (LLVMGetInstructionOpcode(i) != LLVMSub)
                    continue;
                LLVMValueRef from = LLVMGetOperand(i, 0);
                if (LLVMIsAConstantInt(from) && LLVMGetIntTypeWidth(LLVMTypeOf(from)) == 32 && LLVMConstIntGetZExtValue(from) == 32)
                    guard(b, i);
            }
    LLVMDisposeBuilder(b);
}
