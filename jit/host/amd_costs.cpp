/* SPDX-License-Identifier: Apache-2.0
 * See amd_costs.h. */
#include "jit/host/amd_costs.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

namespace {

const char hidden[] = "cwj.hidden";

void
hide(llvm::Instruction *i)
{
    i->setMetadata(hidden, llvm::MDNode::get(i->getContext(), {}));
}

} // namespace

/* LLVM makes two 64-bit shifts and an or of each, in front of instruction selection, which follows the bits of every operand to see what these have in
 * common (a fifth of the time of compiling BLAKE2b), and takes all three apart again: four instructions and more in place of two V_ALIGNBIT_B32. */
bool
cwj_amd_split_funnels(llvm::Function &f, llvm::Pass &)
{
    bool changed = false;
    for (llvm::Instruction &i : llvm::make_early_inc_range(llvm::instructions(f))) {
        auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        if (!call || !call->getType()->isIntegerTy(64) ||
            (call->getIntrinsicID() != llvm::Intrinsic::fshl && call->getIntrinsicID() != llvm::Intrinsic::fshr))
            continue;
        auto *by = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(2));
        unsigned left = by ? unsigned(by->getValue().urem(64)) : 0;
        if (!left)
            continue;
        if (call->getIntrinsicID() == llvm::Intrinsic::fshr)
            left = 64 - left;
        llvm::IRBuilder<> b(call);
        llvm::Type *pair = llvm::FixedVectorType::get(b.getInt32Ty(), 2);
        llvm::Value *low = b.CreateBitCast(call->getArgOperand(1), pair);
        llvm::Value *high = call->getArgOperand(0) == call->getArgOperand(1) ? low : b.CreateBitCast(call->getArgOperand(0), pair);
        llvm::Value *words[4] = { b.CreateExtractElement(low, uint64_t(0)), b.CreateExtractElement(low, 1), b.CreateExtractElement(high, uint64_t(0)),
                                  b.CreateExtractElement(high, 1) };
        llvm::Value *result = llvm::PoisonValue::get(pair);
        for (unsigned k = 0; k < 2; k++) {
            llvm::Value *above = words[2 + k - left / 32], *below = words[1 + k - left / 32];
            if (left % 32)
                above = b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::fshr, { above, below, b.getInt32(32 - left % 32) });
            result = b.CreateInsertElement(result, above, k);
        }
        call->replaceAllUsesWith(b.CreateBitCast(result, call->getType()));
        call->eraseFromParent();
        changed = true;
    }
    return changed;
}

namespace {

/* An address that is another and a multiple of a number: that number, if it is none of those that may be a constant away from others. Else NULL. */
const llvm::Value *
looked_up(const llvm::Value *address)
{
    auto *gep = llvm::dyn_cast<llvm::GetElementPtrInst>(address);
    while (gep && gep->hasAllConstantIndices())
        gep = llvm::dyn_cast<llvm::GetElementPtrInst>(gep->getPointerOperand());
    if (!gep || gep->getNumIndices() != 1)
        return nullptr;
    auto *base = llvm::dyn_cast<llvm::GetElementPtrInst>(gep->getPointerOperand());
    if (base && !base->hasAllConstantIndices())
        return nullptr;
    const llvm::Value *v = *gep->idx_begin();
    for (;;) {
        auto *i = llvm::dyn_cast<llvm::Instruction>(v);
        switch (i ? i->getOpcode() : unsigned(llvm::Instruction::Ret)) {
        case llvm::Instruction::Load: case llvm::Instruction::Xor: case llvm::Instruction::And: case llvm::Instruction::LShr:
        case llvm::Instruction::Call: case llvm::Instruction::ExtractValue:
            return i;
        case llvm::Instruction::Shl: case llvm::Instruction::Mul: case llvm::Instruction::Add:
            if (!llvm::isa<llvm::Constant>(i->getOperand(1)))
                return nullptr;
            v = i->getOperand(0);
            break;
        case llvm::Instruction::ZExt: case llvm::Instruction::SExt: case llvm::Instruction::Trunc:
            v = i->getOperand(0);
            break;
        default:
            return nullptr;
        }
    }
}

enum { FEW_LOOKUPS = 8 };

} // namespace

/* The pass that joins loads asks of each what it is away from 64 others, in sums and products that it makes for that: for the hundreds of lookups in tables
 * of a hash an eighth of the compile time. Where a number that nobody knows is the index, and of no other lookup in the block, the answer is known. A frozen
 * address is of an object of its own, to which that pass compares nothing. */
bool
cwj_amd_hide_lookups(llvm::Function &f, llvm::Pass &)
{
    bool changed = false;
    for (llvm::BasicBlock &b : f) {
        llvm::MapVector<const llvm::Value *, llvm::SmallVector<llvm::LoadInst *, 1>> found;
        for (llvm::Instruction &i : b)
            if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&i))
                if (const llvm::Value *index = load->isSimple() ? looked_up(load->getPointerOperand()) : nullptr)
                    found[index].push_back(load);
        if (found.size() <= FEW_LOOKUPS)
            continue;
        for (auto &[index, loads] : found)
            if (loads.size() == 1) {
                auto *frozen = new llvm::FreezeInst(loads[0]->getPointerOperand(), "", loads[0]->getIterator());
                hide(frozen);
                loads[0]->setOperand(llvm::LoadInst::getPointerOperandIndex(), frozen);
                changed = true;
            }
    }
    return changed;
}

bool
cwj_amd_show_frozen(llvm::Function &f, llvm::Pass &)
{
    bool changed = false;
    for (llvm::Instruction &i : llvm::make_early_inc_range(llvm::instructions(f)))
        if (llvm::isa<llvm::FreezeInst>(i) && i.getMetadata(hidden)) {
            i.replaceAllUsesWith(i.getOperand(0));
            i.eraseFromParent();
            changed = true;
        }
    return changed;
}

namespace {

enum { LONG_SUM = 8 };

/* How many operations make v, up to `most`. */
unsigned
length(const llvm::Value *v, unsigned most)
{
    auto *i = llvm::dyn_cast<llvm::Instruction>(v);
    unsigned n = 1;
    if (!i || !most)
        return 0;
    switch (i->getOpcode()) {
    case llvm::Instruction::Add: case llvm::Instruction::Sub: case llvm::Instruction::Mul: case llvm::Instruction::Shl:
    case llvm::Instruction::GetElementPtr: case llvm::Instruction::ZExt: case llvm::Instruction::SExt: case llvm::Instruction::Trunc:
        for (const llvm::Use &u : i->operands())
            if (n < most)
                n += length(u.get(), most - n);
        return n;
    default:
        return 0;
    }
}

} // namespace

void
cwj_amd_hide_sums_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::LoopInfoWrapperPass>();
    au.setPreservesCFG();
}

/* The strength reduction of loops looks for registers among all parts of an address, also of what the loop does not change: for rows and columns of tensors
 * of four dimensions that is up to two fifths of the compile time, and leaves parts of one sum in many registers. */
bool
cwj_amd_hide_sums(llvm::Function &, llvm::Pass &pass)
{
    bool changed = false;
    for (llvm::Loop *loop : pass.getAnalysis<llvm::LoopInfoWrapperPass>().getLoopInfo().getLoopsInPreorder()) {
        llvm::BasicBlock *before = loop->isInnermost() ? loop->getLoopPreheader() : nullptr;
        llvm::DenseMap<llvm::Value *, llvm::Instruction *> frozen;
        if (!before)
            continue;
        for (llvm::BasicBlock *b : loop->blocks())
            for (llvm::Instruction &i : *b) {
                if (i.getOpcode() != llvm::Instruction::Add && i.getOpcode() != llvm::Instruction::GetElementPtr)
                    continue;
                for (llvm::Use &u : i.operands()) {
                    auto *sum = llvm::dyn_cast<llvm::Instruction>(u.get());
                    if (!sum || loop->contains(sum) || length(sum, LONG_SUM) < LONG_SUM)
                        continue;
                    llvm::Instruction *&f = frozen[sum];
                    if (!f) {
                        f = new llvm::FreezeInst(sum, "", before->getTerminator()->getIterator());
                        hide(f);
                    }
                    u.set(f);
                    changed = true;
                }
            }
    }
    return changed;
}

namespace {

enum { LONG_BLOCK = 200 };

/* Comparisons of magnitudes with constants CodeGenPrepare makes tests for a class of. */
bool
stays_here(const llvm::Instruction &i)
{
    return llvm::all_of(i.users(), [&](const llvm::User *u) {
        auto *user = llvm::cast<llvm::Instruction>(u);
        return user->getParent() == i.getParent() && !llvm::isa<llvm::PHINode>(user) &&
               !(llvm::isa<llvm::CmpInst>(user) && llvm::any_of(user->operands(), [](const llvm::Use &o) { return llvm::isa<llvm::Constant>(o.get()); }));
    });
}

} // namespace

/* CodeGenPrepare would have signs beside what uses them, and numbers the block's instructions anew for each use, also where they are in the same block, as
 * nearly all are: a twentieth of the compile time of ggml's conversions to few bits. */
bool
cwj_amd_hide_signs(llvm::Function &f, llvm::Pass &)
{
    using namespace llvm::PatternMatch;
    bool changed = false;
    for (llvm::BasicBlock &block : f) {
        if (block.size() < LONG_BLOCK)
            continue;
        for (llvm::Instruction &i : llvm::make_early_inc_range(block)) {
            llvm::Value *x;
            bool absolute = match(&i, m_FAbs(m_Value(x)));
            if (!i.getType()->isFloatTy() || (!absolute && !match(&i, m_FNeg(m_Value(x)))) || !stays_here(i))
                continue;
            llvm::IRBuilder<> b(&i);
            llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty());
            bits = absolute ? b.CreateAnd(bits, 0x7fffffff) : b.CreateXor(bits, 0x80000000);
            auto *back = llvm::CastInst::Create(llvm::Instruction::BitCast, bits, i.getType(), "", i.getIterator());
            hide(back);
            i.replaceAllUsesWith(back);
            i.eraseFromParent();
            changed = true;
        }
    }
    return changed;
}

bool
cwj_amd_show_signs(llvm::Function &f, llvm::Pass &)
{
    using namespace llvm::PatternMatch;
    std::vector<llvm::Instruction *> found;
    for (llvm::Instruction &i : llvm::instructions(f))
        if (llvm::isa<llvm::BitCastInst>(i) && i.getMetadata(hidden))
            found.push_back(&i);
    for (llvm::Instruction *i : found) {
        llvm::Value *x;
        llvm::IRBuilder<> b(i);
        auto *bits = llvm::dyn_cast<llvm::Instruction>(i->getOperand(0));
        llvm::Value *as_float = nullptr;
        if (match(bits, m_And(m_BitCast(m_Value(x)), m_SpecificInt(0x7fffffff))))
            as_float = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
        else if (match(bits, m_Xor(m_BitCast(m_Value(x)), m_SpecificInt(0x80000000))))
            as_float = b.CreateFNeg(x);
        if (!as_float) {
            i->setMetadata(hidden, nullptr);
            continue;
        }
        i->replaceAllUsesWith(as_float);
        i->eraseFromParent();
        if (bits->use_empty()) {
            auto *cast = llvm::dyn_cast<llvm::Instruction>(bits->getOperand(0));
            bits->eraseFromParent();
            if (cast && cast->use_empty())
                cast->eraseFromParent();
        }
    }
    return !found.empty();
}
