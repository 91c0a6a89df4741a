/* SPDX-License-Identifier: Apache-2.0
 * What LLVM 19 gives no C interface to: synchronisation scopes of atomic instructions and fences, places in blocks. */
#include "jit/emit/scope.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>

extern "C" void
emit_set_scope(LLVMValueRef instruction, const char *scope)
{
    llvm::Value *v = llvm::unwrap(instruction);
    llvm::SyncScope::ID id = v->getContext().getOrInsertSyncScopeID(scope);
    if (auto *f = llvm::dyn_cast<llvm::FenceInst>(v))
        f->setSyncScopeID(id);
    else if (auto *a = llvm::dyn_cast<llvm::AtomicRMWInst>(v))
        a->setSyncScopeID(id);
    else if (auto *x = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(v))
        x->setSyncScopeID(id);
    else if (auto *l = llvm::dyn_cast<llvm::LoadInst>(v))
        l->setAtomic(l->getOrdering(), id);
    else if (auto *s = llvm::dyn_cast<llvm::StoreInst>(v))
        s->setAtomic(s->getOrdering(), id);
}

extern "C" bool
emit_comes_before(LLVMValueRef a, LLVMValueRef b)
{
    return llvm::unwrap<llvm::Instruction>(a)->comesBefore(llvm::unwrap<llvm::Instruction>(b));
}

extern "C" LLVMBasicBlockRef
emit_split_block(LLVMValueRef instruction)
{
    auto *i = llvm::unwrap<llvm::Instruction>(instruction);
    return llvm::wrap(i->getParent()->splitBasicBlock(i));
}
