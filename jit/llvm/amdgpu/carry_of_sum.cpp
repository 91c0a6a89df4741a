/* SPDX-License-Identifier: Apache-2.0
 * Work-arounds carry-of-sum and carry-of-product. u = t + carry, where t is a sum x + y: LLVM selects one instruction for x + y + carry
 * even if the carry out of u is used, and that carry is the one of both additions; differences alike. So a comparison computes the carry: u
 * can only have wrapped to 0 (a difference, to all ones). Loads and values of other blocks cannot be such sums.
 *
 * The upper word of a 64-bit product is such a sum, too, and its carry is that of the lower words. So a product whose sum or difference
 * carries passes through empty assembly. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <utility>
#include <vector>

namespace {

bool
carry(llvm::Value *v)
{
    auto *z = llvm::dyn_cast<llvm::ZExtInst>(v);
    return z && z->getOperand(0)->getType()->isIntegerTy(1);
}

/* Is v a 64-bit product, or the upper half of a 128-bit one? */
bool
wide_product(llvm::Value *v)
{
    while ((llvm::isa<llvm::TruncInst>(v) || llvm::isa<llvm::LShrOperator>(v)) && llvm::isa<llvm::Instruction>(v))
        v = llvm::cast<llvm::Instruction>(v)->getOperand(0);
    auto *i = llvm::dyn_cast<llvm::Instruction>(v);
    return i && i->getOpcode() == llvm::Instruction::Mul && i->getType()->getIntegerBitWidth() >= 64;
}

bool
hide_products(llvm::WithOverflowInst *w)
{
    bool changed = false;
    for (unsigned k = 0; k < 2; k++) {
        llvm::Value *v = w->getArgOperand(k);
        if (!v->getType()->isIntegerTy(64) || !wide_product(v))
            continue;
        llvm::IRBuilder<> b(w);
        auto *type = llvm::FunctionType::get(b.getInt64Ty(), { b.getInt64Ty() }, false);
        w->setArgOperand(k, b.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), { v }));
        changed = true;
    }
    return changed;
}

void
split_carry(llvm::WithOverflowInst *w, llvm::Value *t, llvm::Value *c, bool add)
{
    llvm::IRBuilder<> b(w);
    llvm::Value *u = add ? b.CreateAdd(t, c) : b.CreateSub(t, c);
    llvm::Value *wrapped = add ? llvm::Constant::getNullValue(t->getType()) : llvm::Constant::getAllOnesValue(t->getType());
    llvm::Value *over = b.CreateAnd(llvm::cast<llvm::ZExtInst>(c)->getOperand(0), b.CreateICmpEQ(u, wrapped));
    for (llvm::User *user : llvm::make_early_inc_range(w->users())) {
        auto *x = llvm::dyn_cast<llvm::ExtractValueInst>(user);
        if (!x)
            continue;
        x->replaceAllUsesWith(*x->idx_begin() ? over : u);
        x->eraseFromParent();
    }
    if (!w->use_empty())
        w->replaceAllUsesWith(b.CreateInsertValue(b.CreateInsertValue(llvm::PoisonValue::get(w->getType()), u, 0), over, 1));
    w->eraseFromParent();
}

} // namespace

bool
cwj_amd_carry_of_sum(llvm::Function &f, llvm::Pass &)
{
    std::vector<llvm::WithOverflowInst *> found;
    for (llvm::Instruction &i : llvm::instructions(f))
        if (auto *w = llvm::dyn_cast<llvm::WithOverflowInst>(&i))
            if (!w->isSigned() && (w->getBinaryOp() == llvm::Instruction::Add || w->getBinaryOp() == llvm::Instruction::Sub))
                found.push_back(w);
    bool changed = false;
    for (llvm::WithOverflowInst *w : found) {
        llvm::Value *t = w->getLHS(), *c = w->getRHS();
        bool add = w->getBinaryOp() == llvm::Instruction::Add;
        if (add && !carry(c))
            std::swap(t, c);
        auto *made = llvm::dyn_cast<llvm::Instruction>(t);
        if (!carry(c)) {
            changed |= hide_products(w);
            continue;
        }
        if (!made || made->getParent() != w->getParent() || llvm::isa<llvm::PHINode, llvm::LoadInst>(made))
            continue;
        split_carry(w, t, c, add);
        changed = true;
    }
    return changed;
}
