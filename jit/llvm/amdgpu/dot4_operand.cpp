/* SPDX-License-Identifier: Apache-2.0
 * Work-around dot4-operand. LLVM selects V_DOT4 for sums of products of bytes. It follows a sum from product to product, and takes any
 * other operand that has a product as an operand for the next sum: a difference, an exclusive or, a minimum. So such an operand passes
 * through empty inline assembly, which hides it. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>

#include <algorithm>
#include <vector>

namespace {

bool
byte(const llvm::Value *v, const llvm::DataLayout &layout)
{
    return llvm::computeKnownBits(v, layout).countMinLeadingZeros() >= 24 || llvm::ComputeNumSignBits(v, layout) > 24;
}

/* May v be a product of two bytes? */
bool
byte_product(const llvm::Value *v)
{
    auto *i = llvm::dyn_cast<llvm::Instruction>(v);
    if (!i || !i->getType()->isIntegerTy(32))
        return false;
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(i);
    bool is = call ? call->getCalledFunction()->getName().starts_with("llvm.amdgcn.mul.") : i->getOpcode() == llvm::Instruction::Mul;
    const llvm::DataLayout &layout = i->getModule()->getDataLayout();
    return is && byte(i->getOperand(0), layout) && byte(i->getOperand(1), layout);
}

/* LLVM turns a sum with it into a difference. */
bool
negative(const llvm::Value *v)
{
    auto *i = llvm::dyn_cast<llvm::BinaryOperator>(v);
    return i && i->getOpcode() == llvm::Instruction::Sub && llvm::isa<llvm::Constant>(i->getOperand(0));
}

bool
holds(const llvm::Value *v)
{
    auto *i = llvm::dyn_cast<llvm::Instruction>(v);
    if (!i || llvm::isa<llvm::PHINode>(i) || byte_product(i))
        return false;
    if (i->getOpcode() == llvm::Instruction::Add && !negative(i->getOperand(0)) && !negative(i->getOperand(1)))
        return false;
    return std::any_of(i->op_begin(), i->op_end(), [](const llvm::Use &u) { return byte_product(u.get()); });
}

} // namespace

bool
cwj_amd_dot4_operand(llvm::Function &f, llvm::Pass &)
{
    std::vector<llvm::Use *> found;
    for (llvm::Instruction &i : llvm::instructions(f))
        for (unsigned k = 0; i.getOpcode() == llvm::Instruction::Add && i.getType()->isIntegerTy(32) && k < 2; k++)
            if (byte_product(i.getOperand(1 - k)) && holds(i.getOperand(k)))
                found.push_back(&i.getOperandUse(k));
    for (llvm::Use *u : found) {
        llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(u->getUser()));
        auto *type = llvm::FunctionType::get(b.getInt32Ty(), { b.getInt32Ty() }, false);
        u->set(b.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), { u->get() }));
    }
    return !found.empty();
}
