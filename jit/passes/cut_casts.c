/* SPDX-License-Identifier: Apache-2.0
 * Replaces casts between address spaces that AMD's code generator does not support, such as one from global to local or shared memory. LLVM
 * forms them from cvta.to.local and cvta.to.shared once it learns the space of their operand. The PTX ISA leaves the result undefined, but
 * a program may compute it: it is the lower half of the address, as for an address of unknown space. */
#include "jit/passes/passes.h"

enum { AS_GENERIC = 0, AS_SHARED = 3, AS_LOCAL = 5 };

static bool
is_foreign(LLVMValueRef cast)
{
    unsigned from = LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(cast, 0))), to = LLVMGetPointerAddressSpace(LLVMTypeOf(cast));
    return from != AS_GENERIC && from != to && (to == AS_LOCAL || to == AS_SHARED);
}

void
pass_cut_casts(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);

    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (!LLVMIsAAddrSpaceCastInst(i) || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMPointerTypeKind || !is_foreign(i))
                    continue;
                LLVMPositionBuilderBefore(b, i);
                LLVMValueRef number = LLVMBuildPtrToInt(b, LLVMGetOperand(i, 0), LLVMInt32TypeInContext(c), "");
                LLVMReplaceAllUsesWith(i, LLVMBuildIntToPtr(b, number, LLVMTypeOf(i), ""));
                LLVMInstructionEraseFromParent(i);
            }
    LLVMDisposeBuilder(b);
}
