/* SPDX-License-Identifier: Apache-2.0
 * Casts between address spaces that AMD's code generator does not have: from global or constant memory to local or shared memory, say.
 * cvta.to.local and cvta.to.shared become such casts where LLVM learns what their operand is; the PTX ISA gives the result no meaning,
 * but the program may compute it. It is the lower half of the address, as where nothing is known. */
#include "jit/emit/emit.h"

enum { AS_GENERIC = 0, AS_SHARED = 3, AS_LOCAL = 5 };

static bool
is_foreign(LLVMValueRef cast)
{
    unsigned from = LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(cast, 0))), to = LLVMGetPointerAddressSpace(LLVMTypeOf(cast));
    return from != AS_GENERIC && from != to && (to == AS_LOCAL || to == AS_SHARED);
}

void
emit_cut_casts(LLVMModuleRef m)
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
