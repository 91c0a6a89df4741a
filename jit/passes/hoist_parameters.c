/* SPDX-License-Identifier: Apache-2.0
 * Loads kernel parameters at the kernel's beginning, where LLVM merges neighbouring loads and waits once for all. PTX has `ld.param` where
 * the value is used. LLVM sinks those again that a single later block needs. */
#include "jit/passes/passes.h"

typedef LLVMValueRef V;

enum { LARGEST = 64 };          /* bytes of parameters: more would take too many SGPRs */

/* Is it an address in the kernarg segment: `base`, or a constant offset from it? */
static bool
is_parameter(V pointer, V base, uint64_t *at)
{
    *at = 0;
    if (pointer == base)
        return true;
    if (!LLVMIsAGetElementPtrInst(pointer) || LLVMGetNumOperands(pointer) != 2 || LLVMGetOperand(pointer, 0) != base ||
        !LLVMIsAConstantInt(LLVMGetOperand(pointer, 1)) || LLVMGetTypeKind(LLVMGetGEPSourceElementType(pointer)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMGetGEPSourceElementType(pointer)) != 8)
        return false;
    *at = LLVMConstIntGetZExtValue(LLVMGetOperand(pointer, 1));
    return true;
}

static void
move_before(LLVMBuilderRef b, V i, V place)
{
    LLVMPositionBuilderBefore(b, place);
    LLVMInstructionRemoveFromParent(i);
    LLVMInsertIntoBuilder(b, i);
}

static void
hoist(LLVMBuilderRef b, V function, V base)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
    V place = LLVMGetNextInstruction(base);

    for (LLVMBasicBlockRef bb = LLVMGetNextBasicBlock(entry); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
            uint64_t at;
            next = LLVMGetNextInstruction(i);
            if (!LLVMIsALoadInst(i) || LLVMGetVolatile(i) || !is_parameter(LLVMGetOperand(i, 0), base, &at) || at >= LARGEST)
                continue;
            V pointer = LLVMGetOperand(i, 0);
            if (pointer != base && LLVMGetInstructionParent(pointer) != entry) {
                if (next == pointer)
                    next = LLVMGetNextInstruction(pointer);
                move_before(b, pointer, place);
            }
            move_before(b, i, LLVMGetBasicBlockTerminator(entry));
        }
}

void
pass_hoist_parameters(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));

    for (V f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || LLVMGetFunctionCallConv(f) != LLVMAMDGPUKERNELCallConv)
            continue;
        static const char name[] = "llvm.amdgcn.kernarg.segment.ptr";
        V intrinsic = LLVMGetNamedFunction(m, name), base = NULL;
        for (V i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)); i && intrinsic && !base; i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i) && LLVMGetCalledValue(i) == intrinsic)
                base = i;
        if (base)
            hoist(b, f, base);
    }
    LLVMDisposeBuilder(b);
}
