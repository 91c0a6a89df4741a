/* SPDX-License-Identifier: Apache-2.0
 * Places in blocks, for which LLVM has no C interface. */
#include "jit/passes/exact/exact_private.h"

#include <llvm/IR/Instructions.h>

extern "C" bool
exact_comes_before(LLVMValueRef a, LLVMValueRef b)
{
    return llvm::unwrap<llvm::Instruction>(a)->comesBefore(llvm::unwrap<llvm::Instruction>(b));
}

extern "C" LLVMBasicBlockRef
exact_split_block(LLVMValueRef instruction)
{
    auto *i = llvm::unwrap<llvm::Instruction>(instruction);
    return llvm::wrap(i->getParent()->splitBasicBlock(i));
}
