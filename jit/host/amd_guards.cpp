/* SPDX-License-Identifier: Apache-2.0
 * Passes of our own in AMD's code generator, each against a fault of LLVM's, or a cost. A guard is a function; the frame that makes a pass of it and the
 * table of where each belongs are at the end. */
#include "jit/host/amd_guards.h"
#include "jit/emit/prepared.h"
#include "jit/host/amd_costs.h"
#include "jit/host/amd_flush.h"
#include "jit/host/amd_nan.h"
#include "jit/host/opened.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/CodeGen/LiveIntervals.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/RegisterUsageInfo.h>
#include <llvm/CodeGen/SlotIndexes.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

/* LLVM takes a PHI of one uniform value and of undef for uniform, even where lanes come together that took different ways, and
 * keeps it in a scalar register. What the other lanes run in between must then leave that register alone. Its pass "Rewrite
 * Undef for PHI" sees to that: it puts the value in place of undef. But it looks once, at the PHIs that are uniform when it
 * begins; what it replaces can make others so (a value that varied because lanes left a loop at different times becomes a
 * constant), and in those the value is lost (LLVM 19 to 22). Structured loops of several entries and exits are full of them. So,
 * before that pass: a PHI that can only be one constant becomes that constant; and those that vary are made to vary for good, by
 * another value for undef. That is freeze(poison), which costs no instruction, or `false` for i1, where the lowering to lane masks loses
 * the lanes of the defined value if it sees an undefined register. */
struct settler {
    /* What each PHI can only be, but for undef: a value from elsewhere, or itself where there are several; NULL: nothing but undef. */
    llvm::DenseMap<const llvm::PHINode *, llvm::Value *> only;

    void
    resolve(llvm::Function &f)
    {
        for (bool changed = true; changed;) {
            changed = false;
            for (llvm::BasicBlock &b : f)
                for (llvm::PHINode &phi : b.phis()) {
                    llvm::Value *&known = only[&phi], *value = known == &phi ? known : meet(phi);
                    changed |= value != known;
                    only[&phi] = value;
                }
        }
    }

    llvm::Value *
    meet(llvm::PHINode &phi)
    {
        llvm::Value *one = nullptr;
        for (llvm::Value *v : phi.incoming_values()) {
            if (auto *p = llvm::dyn_cast<llvm::PHINode>(v))
                v = only.lookup(p);
            if (!v || llvm::isa<llvm::UndefValue>(v))
                continue;
            if (one && one != v)
                return &phi;
            one = v;
        }
        return one;
    }

    bool
    settle(llvm::PHINode &phi)
    {
        llvm::Type *type = phi.getType();
        bool changed = false;
        if (type->isIntegerTy(1) && only[&phi] == &phi)
            return false;           /* several values: it stays a lane mask, and undef costs less there */
        for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
            if (!llvm::isa<llvm::UndefValue>(phi.getIncomingValue(i)))
                continue;
            llvm::BasicBlock *from = phi.getIncomingBlock(i);
            llvm::Value *some = type->isIntegerTy(1) ? (llvm::Value *)llvm::ConstantInt::getFalse(type)
                                                     : new llvm::FreezeInst(llvm::PoisonValue::get(type), "", from->getTerminator()->getIterator());
            phi.setIncomingValueForBlock(from, some);
            changed = true;
        }
        return changed;
    }
};

bool
settle_undef(llvm::Function &f, llvm::Pass &pass)
{
    const llvm::UniformityInfo &uniformity = pass.getAnalysis<llvm::UniformityInfoWrapperPass>().getUniformityInfo();
    settler settler;
    std::vector<llvm::PHINode *> constants;
    bool changed = false;

    settler.resolve(f);
    for (llvm::BasicBlock &b : f)
        for (llvm::PHINode &phi : b.phis())
            if (llvm::isa_and_nonnull<llvm::Constant>(settler.only[&phi]))
                constants.push_back(&phi);
            else if (uniformity.isDivergent(&phi))
                changed |= settler.settle(phi);
    for (llvm::PHINode *phi : constants) {
        phi->replaceAllUsesWith(settler.only[phi]);
        phi->eraseFromParent();
    }
    changed |= !constants.empty();
    return changed;
}

void
settle_undef_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::UniformityInfoWrapperPass>();
    au.setPreservesAll();       /* of the uniformity, too: what is new is uniform */
}

#if LLVM_VERSION_MAJOR >= 20
/* LLVM makes one entry of a loop's several: a new block, through which the branches to the loop's header go and those from outside to other
 * entries. Where a branch in the loop can go to the header and to another entry, it redirects the first of the two ways
 * (since 20, where the ways became separate) and takes the values of both along, so that the second brings undef. So, before
 * that pass, the second way gets a block of its own. */
bool
split_entries(llvm::Cycle *c, llvm::Pass &pass)
{
    llvm::CycleInfo &cycles = pass.getAnalysis<llvm::CycleInfoWrapperPass>().getResult();
    auto &dominators = pass.getAnalysis<llvm::DominatorTreeWrapperPass>().getDomTree();
    auto *loops = pass.getAnalysisIfAvailable<llvm::LoopInfoWrapperPass>();
    std::vector<llvm::BasicBlock *> both;
    bool changed = false;
    if (!c->isReducible())
        for (llvm::BasicBlock *b : c->blocks()) {
            const llvm::Instruction *t = b->getTerminator();
            if (t->getNumSuccessors() == 2 && t->getSuccessor(0) != t->getSuccessor(1) && c->isEntry(t->getSuccessor(0)) &&
                c->isEntry(t->getSuccessor(1)))
                both.push_back(b);
        }
    for (llvm::BasicBlock *b : both) {
        llvm::BasicBlock *to = b->getTerminator()->getSuccessor(1);
        cycles.splitCriticalEdge(b, to, llvm::SplitEdge(b, to, &dominators, loops ? &loops->getLoopInfo() : nullptr));
        changed = true;
    }
    for (llvm::Cycle *child : c->children())
        changed |= split_entries(child, pass);
    return changed;
}

bool
split_entries(llvm::Function &, llvm::Pass &pass)
{
    bool changed = false;
    for (llvm::Cycle *c : pass.getAnalysis<llvm::CycleInfoWrapperPass>().getResult().toplevel_cycles())
        changed |= split_entries(c, pass);
    return changed;
}

void
split_entries_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::DominatorTreeWrapperPass>();
    au.addRequired<llvm::CycleInfoWrapperPass>();
    au.addPreserved<llvm::DominatorTreeWrapperPass>();
    au.addPreserved<llvm::CycleInfoWrapperPass>();
    au.addPreserved<llvm::LoopInfoWrapperPass>();
}

/* A fence (fp_sqrt) around a value that is the same in all lanes is a copy from a vector to a scalar register, for which LLVM has no instruction (22). It is
 * there for the optimiser, which is done. */
bool
drop_fences(llvm::Function &f, llvm::Pass &)
{
    bool changed = false;
    for (llvm::Instruction &i : llvm::make_early_inc_range(llvm::instructions(f))) {
        auto *fence = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        if (!fence || fence->getIntrinsicID() != llvm::Intrinsic::arithmetic_fence)
            continue;
        fence->replaceAllUsesWith(fence->getArgOperand(0));
        fence->eraseFromParent();
        changed = true;
    }
    return changed;
}
#endif

/* u = t + carry, where t is a sum x + y: AMD's instruction for x + y + carry makes u in one, and LLVM takes it even where the carry out of
 * u is wanted (19 to 22), which then is that of both additions; subtractions alike. So that carry is computed without the
 * adder's: u can only have wrapped to 0. Loads and what comes from other blocks are no sums. */
bool
carry(llvm::Value *v)
{
    auto *z = llvm::dyn_cast<llvm::ZExtInst>(v);
    return z && z->getOperand(0)->getType()->isIntegerTy(1);
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

bool
split_carries(llvm::Function &f, llvm::Pass &)
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
        if (!carry(c) || !made || made->getParent() != w->getParent() || llvm::isa<llvm::PHINode, llvm::LoadInst>(made))
            continue;
        split_carry(w, t, c, add);
        changed = true;
    }
    return changed;
}

/* Sums of products of bytes become V_DOT4. AMD's instruction selection follows a sum from product to product, and takes whatever the other
 * operand is for the next sum if that has a product as an operand, too: a difference, an exclusive or, a minimum (19 and 22). So such
 * an operand is made a value of unknown origin. */
bool
byte(const llvm::Value *v, const llvm::DataLayout &layout)
{
    return llvm::computeKnownBits(v, layout).countMinLeadingZeros() >= 24 || llvm::ComputeNumSignBits(v, layout) > 24;
}

/* Of two bytes; what is not sure to be more counts. */
bool
product(const llvm::Value *v)
{
    auto *i = llvm::dyn_cast<llvm::Instruction>(v);
    if (!i || !i->getType()->isIntegerTy(32))
        return false;
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(i);
    bool is = call ? call->getCalledFunction()->getName().starts_with("llvm.amdgcn.mul.") : i->getOpcode() == llvm::Instruction::Mul;
    const llvm::DataLayout &layout = i->getModule()->getDataLayout();
    return is && byte(i->getOperand(0), layout) && byte(i->getOperand(1), layout);
}

/* A sum with it becomes a difference. */
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
    if (!i || llvm::isa<llvm::PHINode>(i) || product(i))
        return false;
    if (i->getOpcode() == llvm::Instruction::Add && !negative(i->getOperand(0)) && !negative(i->getOperand(1)))
        return false;
    return std::any_of(i->op_begin(), i->op_end(), [](const llvm::Use &u) { return product(u.get()); });
}

bool
split_byte_sums(llvm::Function &f, llvm::Pass &)
{
    std::vector<llvm::Use *> found;
    for (llvm::Instruction &i : llvm::instructions(f))
        for (unsigned k = 0; i.getOpcode() == llvm::Instruction::Add && i.getType()->isIntegerTy(32) && k < 2; k++)
            if (product(i.getOperand(1 - k)) && holds(i.getOperand(k)))
                found.push_back(&i.getOperandUse(k));
    for (llvm::Use *u : found) {
        llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(u->getUser()));
        auto *type = llvm::FunctionType::get(b.getInt32Ty(), { b.getInt32Ty() }, false);
        u->set(b.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), { u->get() }));
    }
    return !found.empty();
}

void
keeps_branches(llvm::AnalysisUsage &au)
{
    au.setPreservesCFG();
}

/* How many registers a kernel uses LLVM finds, where it makes no calls, by asking of one after the other whether it or one that overlaps
 * it is used, from the highest; which ones overlap it works out for 256 of them, and that takes half the time of compiling an empty
 * kernel. Where there are calls it looks through the instructions. (Not for gfx12: there it takes the scalar registers with the work-group's
 * number, TTMP, for vector registers; LLVM 20 does all that in another way.) */
bool
look_through_instructions(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    if (LLVM_VERSION_MAJOR < 20 && !f.getSubtarget().getCPU().starts_with("gfx12"))
        f.getFrameInfo().setHasCalls(true);
    return false;
}

#if LLVM_VERSION_MAJOR < 20
/* LLVM keeps scalar registers that it has no place for in lanes of a vector register. Where it has no place for that one either it moves it
 * with all lanes of the wave on, and so writes, in registers that it takes for free, into lanes that wait at other places of the program: their
 * values may lie there still, since what they belong to was moved within the branch only, or because the other side of it does not
 * read them (LLVM 19; 20 gives such registers out first, apart from others). With the 64 vector registers that blocks of 1024 threads leave
 * on gfx9 it happens around calls. So such registers begin where the function does ... */
void
pin(llvm::MachineFunction &f, llvm::Register r, llvm::Pass &pass)
{
    llvm::LiveIntervals &live = pass.getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
    llvm::MachineBasicBlock &entry = f.front();
    for (llvm::MachineInstr &i : f.getRegInfo().def_instructions(r)) {
        if (!i.isImplicitDef())
            continue;
        live.RemoveMachineInstrFromMaps(i);
        i.removeFromParent();
        live.InsertMachineInstrInMaps(*entry.insert(entry.getFirstNonPHI(), &i));
        live.removeInterval(r);
        live.createAndComputeVirtRegInterval(r);
        return;
    }
}

bool
pin_spill_lanes(llvm::MachineFunction &f, llvm::Pass &pass, cwj_amd_notes &)
{
    const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
    llvm::SmallSetVector<llvm::Register, 8> registers;
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b)
            if (info.getName(i.getOpcode()) == "SI_SPILL_S32_TO_VGPR" && i.getOperand(0).getReg().isVirtual())
                registers.insert(i.getOperand(0).getReg());
    for (llvm::Register r : registers)
        pin(f, r, pass);
    return !registers.empty();
}

void
pin_spill_lanes_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::LiveIntervalsWrapperPass>();
    au.setPreservesAll();
}

/* ... and where one of them is moved, what is compiled is compiled again, with scalar registers in memory. */
bool
find_moved_lanes(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &notes)
{
    const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b) {
            llvm::StringRef name = info.getName(i.getOpcode());
            *notes.moved |= name == "WWM_COPY" || name.starts_with("SI_SPILL_WWM_");
        }
    return false;
}

/* There LLVM gives a scalar register's place in memory, which is that of one lane (the wave's first), to a vector register too, where by the order of
 * the blocks only one of them lives. But lanes that wait at another place of the program have that vector register's values there (LLVM 19). Places of
 * different stacks are never shared: so scalar registers' are of the one that LLVM has for them, until it lays out the frame and finds them left. */
bool
keep_scalars_apart(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
    llvm::MachineFrameInfo &frame = f.getFrameInfo();
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b)
            if (info.getName(i.getOpcode()).starts_with("SI_SPILL_S"))
                for (const llvm::MachineOperand &o : i.operands())
                    if (o.isFI())
                        frame.setStackID(o.getIndex(), llvm::TargetStackID::SGPRSpill);
    return false;
}

/* Where lanes come together, or their other half goes an else's way, the first thing is to turn lanes on. What the register allocator adds at the beginning
 * of such a block belongs behind that, but LLVM 19 takes a copy that it added there before, of a scalar register, for the end of the beginning: then a
 * vector register is copied, stored or loaded for some lanes only. This comes before an else's turning on and the turning off behind it become one. */
bool
restores_lanes(const llvm::MachineInstr &i, const llvm::TargetInstrInfo &info, const llvm::TargetRegisterInfo &registers)
{
    llvm::StringRef name = info.getName(i.getOpcode());
    if (name == "S_OR_SAVEEXEC_B64" || name == "S_OR_SAVEEXEC_B32")
        return i.getOperand(1).isReg();         /* with -1 it is about the whole wave */
    return (name == "S_OR_B64" || name == "S_OR_B32") && llvm::StringRef(registers.getName(i.getOperand(0).getReg())).starts_with("EXEC");
}

/* What the register allocator adds: copies, what goes to memory or lanes and comes back, constants that cost no more than a copy. */
bool
may_be_added(const llvm::MachineInstr &i, const llvm::TargetInstrInfo &info)
{
    llvm::StringRef name = info.getName(i.getOpcode());
    return i.isCopy() || name.starts_with("SI_SPILL_") || name.starts_with("SI_RESTORE_") ||
           (i.getDesc().isRematerializable() && i.getDesc().isAsCheapAsAMove());
}

/* Does what it does depend on which lanes are on? */
bool
is_for_lanes(const llvm::MachineInstr &i, const llvm::TargetInstrInfo &info, const llvm::TargetRegisterInfo &registers)
{
    llvm::StringRef name = info.getName(i.getOpcode());
    if (name.starts_with("SI_"))
        return name.starts_with("SI_SPILL_V") || name.starts_with("SI_SPILL_A");
    llvm::StringRef to = registers.getName(i.getOperand(0).getReg());
    return to.starts_with("VGPR") || to.starts_with("AGPR");
}

/* May `i` change places with `other`? */
bool
independent(const llvm::MachineInstr &i, const llvm::MachineInstr &other, const llvm::TargetRegisterInfo &registers)
{
    auto free_of = [&](const llvm::MachineInstr &x, const llvm::MachineInstr &y) {
        return llvm::all_of(x.operands(), [&](const llvm::MachineOperand &o) {
            bool named = o.isReg() && o.getReg() && !llvm::StringRef(registers.getName(o.getReg())).starts_with("EXEC");
            return !named || (!y.modifiesRegister(o.getReg(), &registers) && (o.isUse() || !y.readsRegister(o.getReg(), &registers)));
        });
    };
    return free_of(i, other) && free_of(other, i);
}

bool
restore_lanes_first(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
    const llvm::TargetRegisterInfo &registers = *f.getSubtarget().getRegisterInfo();
    bool changed = false;
    for (llvm::MachineBasicBlock &b : f) {
        auto on = b.begin();
        while (on != b.end() && may_be_added(*on, info))
            ++on;
        if (on == b.begin() || on == b.end() || !restores_lanes(*on, info, registers))
            continue;
        /* The last first, each right behind: they stay in their order. */
        for (auto i = on; i != b.begin();) {
            llvm::MachineInstr &added = *--i;
            if (!is_for_lanes(added, info, registers))
                continue;
            auto next = std::next(i);
            if (!std::all_of(next, std::next(on), [&](const llvm::MachineInstr &other) { return independent(added, other, registers); }))
                continue;
            b.splice(std::next(on), &b, added.getIterator());
            i = next;
            changed = true;
        }
    }
    return changed;
}
#endif

/* Where memory instructions come in clauses, which may be done again as a whole (XNACK: gfx9, gfx1010), LLVM works out anew where the registers in them live.
 * Part of a register that is read in a block and left undefined further down, by a definition of another part alone, may then not live where it is read:
 * LLVM takes what it found out about a block's end, when it was asked for a block behind it, for the beginning (19). What is read there becomes
 * undefined, and the copy or the store is dropped. So what is read lives from where it is defined: asked for alone the answer is right. */
bool
leaves_undefined(const llvm::MachineOperand &d, llvm::LaneBitmask part, llvm::SlotIndex from, llvm::LiveIntervals &live, const llvm::TargetRegisterInfo &info)
{
    const llvm::MachineInstr &i = *d.getParent();
    return d.isUndef() && d.getSubReg() && (info.getSubRegIndexLaneMask(d.getSubReg()) & part).none() && live.getInstructionIndex(i) >= from &&
           live.getInstructionIndex(i) < live.getMBBEndIdx(i.getParent());
}

bool
lost(const llvm::MachineOperand &use, const llvm::LiveInterval::SubRange &part, llvm::LiveIntervals &live, const llvm::MachineRegisterInfo &registers,
     const llvm::TargetRegisterInfo &info)
{
    const llvm::MachineInstr &i = *use.getParent();
    llvm::LaneBitmask read = use.getSubReg() ? info.getSubRegIndexLaneMask(use.getSubReg()) : registers.getMaxLaneMaskForVReg(use.getReg());
    llvm::SlotIndex at = live.getInstructionIndex(i);
    if ((part.LaneMask & read).none() || part.liveAt(at))
        return false;
    return llvm::any_of(registers.def_operands(use.getReg()),
                        [&](const llvm::MachineOperand &d) {
                            return d.getParent()->getParent() == i.getParent() && leaves_undefined(d, part.LaneMask, at, live, info);
                        }) &&
           llvm::any_of(i.getParent()->predecessors(), [&](const llvm::MachineBasicBlock *from) { return live.isLiveOutOfMBB(part, from); });
}

bool
find_lost_parts(llvm::MachineFunction &f, llvm::Pass &pass, cwj_amd_notes &)
{
    llvm::LiveIntervals &live = pass.getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
    const llvm::MachineRegisterInfo &registers = f.getRegInfo();
    const llvm::TargetRegisterInfo &info = *f.getSubtarget().getRegisterInfo();
    for (unsigned n = 0; n < registers.getNumVirtRegs(); n++) {
        llvm::Register r = llvm::Register::index2VirtReg(n);
        if (!live.hasInterval(r) || !live.getInterval(r).hasSubRanges() ||
            llvm::none_of(registers.def_operands(r), [](const llvm::MachineOperand &d) { return d.isUndef(); }))
            continue;
        for (llvm::LiveInterval::SubRange &part : live.getInterval(r).subranges())
            for (const llvm::MachineOperand &use : registers.use_nodbg_operands(r))
                if (use.readsReg() && lost(use, part, live, registers, info)) {
                    llvm::SmallVector<llvm::SlotIndex, 4> undefined;
                    live.getInterval(r).computeSubRangeUndefs(undefined, part.LaneMask, registers, *live.getSlotIndexes());
                    live.extendToIndices(part, { live.getInstructionIndex(*use.getParent()).getRegSlot() }, undefined);
                }
    }
    return false;
}

void
find_lost_parts_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::LiveIntervalsWrapperPass>();
    au.setPreservesAll();
}

bool
is_prepared(const llvm::MachineFunction &f)
{
    return f.getFunction().hasFnAttribute(EMIT_OVERWRITES);
}

/* What a prepared function overwrites may be named: VGPR0 on, AGPR0 on, SGPR0 on, VCC, SCC. LLVM's numbers of them are the same for all processors. */
struct registers {
    llvm::StringMap<unsigned> number;

    explicit
    registers(const llvm::TargetRegisterInfo &info)
    {
        for (unsigned r = 1; r < info.getNumRegs(); r++) {
            const char *name = info.getName(r);
            bool one = (name[0] == 'V' || name[0] == 'S' || name[0] == 'A') && !std::strncmp(name + 1, "GPR", 3) && !std::strchr(name, '_');
            if (one || !std::strcmp(name, "VCC") || !std::strcmp(name, "SCC"))
                number[name] = r;
        }
    }
};

std::vector<unsigned>
overwritten(const llvm::MachineFunction &f)
{
    static const registers all(*f.getSubtarget().getRegisterInfo());
    llvm::SmallVector<llvm::StringRef, 64> names;
    std::vector<unsigned> numbers;
    f.getFunction().getFnAttribute(EMIT_OVERWRITES).getValueAsString().split(names, ' ');
    for (llvm::StringRef name : names) {
        numbers.push_back(all.number.lookup(name));
        if (!numbers.back())
            llvm::report_fatal_error("prepared code overwrites a register that there is not");
    }
    return numbers;
}

/* Functions whose body is a piece of inline assembly (jit/emit/amdgcn_prepared.c) carry the registers that it overwrites as an attribute: as operands from
 * the beginning they take LLVM more time than all the rest. So they come in when registers are given out, before what looks at them: which ones to save,
 * where callers may keep values, how many the kernel has. And so does the stack of the code, which is all that is on the function's. */
bool
mark_overwritten(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    if (!is_prepared(f))
        return false;
    if (uint64_t stack = f.getFunction().getFnAttributeAsParsedInteger(EMIT_STACK))
        f.getFrameInfo().CreateStackObject(stack, llvm::Align(16), false);
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b)
            for (unsigned r : i.isInlineAsm() ? overwritten(f) : std::vector<unsigned>())
                i.addOperand(f, llvm::MachineOperand::CreateReg(r, true, true, false, true));
    return true;
}

#if LLVM_VERSION_MAJOR < 20
using register_usage = llvm::PhysicalRegisterUsageInfo;
#else
using register_usage = llvm::PhysicalRegisterUsageInfoWrapperLegacy;
#endif

llvm::PhysicalRegisterUsageInfo &
usage(llvm::Pass &pass)
{
#if LLVM_VERSION_MAJOR < 20
    return pass.getAnalysis<register_usage>();
#else
    return pass.getAnalysis<register_usage>().getPRUI();
#endif
}

/* As LLVM writes it: a bit for each register that stays as it is. */
std::vector<uint32_t>
kept(const llvm::MachineFunction &f)
{
    const llvm::TargetRegisterInfo &info = *f.getSubtarget().getRegisterInfo();
    std::vector<uint32_t> mask(llvm::MachineOperand::getRegMaskSize(info.getNumRegs()), ~0u);
    mask[0] &= ~1u;                     /* no register */
    for (unsigned r : overwritten(f))
        for (llvm::MCRegAliasIterator a(r, &info, true); a.isValid(); ++a)
            mask[*a / 32] &= ~(1u << *a % 32);
    return mask;
}

/* What they leave alone is known from the beginning, so that their callers need not wait until LLVM has been through them (codegen.cpp). And they save
 * none: without the list of those that functions save LLVM need not find out which others each of its 300 overlaps, where there are no other functions. */
bool
describe_prepared(llvm::MachineFunction &f, llvm::Pass &pass, cwj_amd_notes &)
{
    if (is_prepared(f)) {
        usage(pass).storeUpdateRegUsageInfo(f.getFunction(), kept(f));
        f.getRegInfo().setCalleeSavedRegs({});
    } else if (f.getFunction().hasFnAttribute(EMIT_KEEPS_RETURN)) {
        /* As if these were saved for the caller: they are given out after all others. To put them away takes memory, or lanes of a vector register. */
        const registers all(*f.getSubtarget().getRegisterInfo());
        f.getRegInfo().setCalleeSavedRegs({ (llvm::MCPhysReg)all.number.lookup("SGPR30"), (llvm::MCPhysReg)all.number.lookup("SGPR31") });
    }
    return false;
}

void
describe_prepared_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<register_usage>();
    au.setPreservesAll();
}

/* Without that the code would be wrong: an LLVM that names its passes otherwise, or adds instructions that overwrite more, is not to go on. */
bool
check_overwritten(llvm::MachineFunction &f, llvm::Pass &pass, cwj_amd_notes &)
{
    if (!is_prepared(f))
        return false;
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b) {
            const llvm::MachineOperand &last = i.getOperand(i.getNumOperands() - 1);
            if (i.isInlineAsm() && (!last.isReg() || !last.isImplicit() || !last.isDef()))
                llvm::report_fatal_error("nobody marked the registers that prepared code overwrites");
        }
    if (f.getTarget().getOptLevel() == llvm::CodeGenOptLevel::None)
        return false;
    std::vector<uint32_t> said = kept(f);
    llvm::ArrayRef<uint32_t> found = usage(pass).getRegUsageInfo(f.getFunction());
    for (size_t i = 0; i < said.size(); i++)
        if (i >= found.size() || (said[i] & ~found[i]))
            llvm::report_fatal_error("a function of prepared code overwrites registers that the code does not");
    return false;
}

/* What the scheduler takes grows with the square of a region, which is a block or what lies between two calls, and large cryptographic or matrix
 * kernels have blocks of many thousand instructions. Such blocks are cut into regions by an instruction that is none of the processor's ... */
enum { LONGEST_REGION = 512, LONG_BLOCK = 2 * LONGEST_REGION };

/* Counting walks over all instructions, so it is done once, and not where there are too few registers for a block of that length. */
bool
has_long_block(const llvm::MachineFunction &f)
{
    return f.getRegInfo().getNumVirtRegs() >= LONG_BLOCK / 4 &&
           std::any_of(f.begin(), f.end(), [](const llvm::MachineBasicBlock &b) { return b.size() >= LONG_BLOCK; });
}

unsigned
find_barrier(const llvm::TargetInstrInfo &info)
{
    for (unsigned op = 0; op < info.getNumOpcodes(); op++)
        if (info.getName(op) == "SCHED_BARRIER")
            return op;
    llvm::report_fatal_error("LLVM has no SCHED_BARRIER");
}

/* Words of vector registers that live in front of each instruction, but for those that no instruction of the block names. */
class Living {
public:
    explicit
    Living(const llvm::MachineBasicBlock &b)
        : registers(b.getParent()->getRegInfo()), info(*b.getParent()->getSubtarget().getRegisterInfo()), at(b.size())
    {
        std::vector<bool> live(registers.getNumVirtRegs());
        unsigned now = 0;
        auto set = [&](llvm::Register r, bool value) {
            unsigned n = r.virtRegIndex();
            if (live[n] != value)
                now += value ? words(r) : -words(r);
            live[n] = value;
        };
        auto elsewhere = [&](const llvm::MachineInstr &use) { return use.getParent() != &b || use.isPHI(); };
        for (const llvm::MachineInstr &i : b)
            for (const llvm::MachineOperand &o : i.all_defs())
                if (o.getReg().isVirtual() && llvm::any_of(registers.use_nodbg_instructions(o.getReg()), elsewhere))
                    set(o.getReg(), true);
        size_t n = at.size();
        for (const llvm::MachineInstr &i : llvm::reverse(b)) {
            for (const llvm::MachineOperand &o : i.all_defs())
                if (o.getReg().isVirtual())
                    set(o.getReg(), false);
            for (const llvm::MachineOperand &o : i.all_uses())
                if (o.getReg().isVirtual() && !i.isPHI())
                    set(o.getReg(), true);
            at[--n] = now;
        }
    }

    unsigned operator[](size_t n) const { return at[n]; }

private:
    unsigned
    words(llvm::Register r) const
    {
        const llvm::TargetRegisterClass *c = registers.getRegClass(r);
        return info.getRegClassName(c)[0] == 'S' ? 0 : unsigned(info.getRegSizeInBits(*c) / 32);
    }

    const llvm::MachineRegisterInfo &registers;
    const llvm::TargetRegisterInfo &info;
    std::vector<unsigned> at;
};

/* Where to cut next: after 512 instructions, or, if three quarters of the registers or fewer live there, where the fewest do between 256 and 768. What is
 * read from memory before the cut and used behind it cannot come closer to its use. */
size_t
next_cut(const Living &live, size_t from, size_t end)
{
    size_t middle = from + LONGEST_REGION, least = middle;
    for (size_t n = from + LONGEST_REGION / 2; n < std::min(end, middle + LONGEST_REGION / 2); n++)
        if (live[n] < live[least])
            least = n;
    return live[least] * 4 <= live[middle] * 3 ? least : middle;
}

bool
cut_regions(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &notes)
{
    if (!has_long_block(f))
        return false;
    notes.long_blocks.insert(&f.getFunction());
    const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
    const llvm::MCInstrDesc &barrier = info.get(find_barrier(info));
    for (llvm::MachineBasicBlock &b : f) {
        if (b.size() < LONG_BLOCK)
            continue;
        const Living live(b);
        auto first = b.getFirstNonPHI(), end = b.getFirstTerminator();
        size_t n = size_t(std::distance(b.begin(), first)), last = size_t(std::distance(b.begin(), end)), cut = n;
        for (auto i = first; (cut = n + LONGEST_REGION < last ? next_cut(live, n, last) : last) < last; n = cut) {
            std::advance(i, cut - n);
            llvm::BuildMI(b, i, llvm::DebugLoc(), barrier).addImm(0);
        }
    }
    return true;
}

/* ... and numbered with more between one instruction and the next than LLVM leaves. Each instruction that the scheduler moves to the others that have their
 * place gets a number between its neighbours'; where none is left all behind it move up by a little, as far as numbers are dense, and that was
 * half of all the time for blocks of 8,000. The register allocator, which takes numbers for distances, gets LLVM's own again. */
using index_list = llvm::simple_ilist<llvm::IndexListEntry>;
OPEN(llvm::SlotIndexes, indexList, index_list llvm::SlotIndexes::*);

bool
spread_indexes(llvm::MachineFunction &f, llvm::Pass &pass, cwj_amd_notes &notes)
{
    if (!notes.long_blocks.contains(&f.getFunction()))
        return false;
    index_list &list = PART(pass.getAnalysis<llvm::SlotIndexesWrapperPass>().getSI(), indexList);
    const size_t most = size_t(1) << 31, distance = std::clamp(most / (list.size() + 1) & ~size_t(3), size_t(llvm::SlotIndex::InstrDist), size_t(4096));
    unsigned index = 0;
    for (llvm::IndexListEntry &e : list) {
        e.setIndex(index);
        index += unsigned(distance);
    }
    return false;
}

bool
pack_indexes(llvm::MachineFunction &f, llvm::Pass &pass, cwj_amd_notes &notes)
{
    if (notes.long_blocks.contains(&f.getFunction()))
        pass.getAnalysis<llvm::SlotIndexesWrapperPass>().getSI().packIndexes();
    return false;
}

void
indexes_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::SlotIndexesWrapperPass>();
    au.setPreservesAll();
}

void
keeps_all(llvm::AnalysisUsage &au)
{
    au.setPreservesAll();
}

void
keeps_nothing(llvm::AnalysisUsage &)
{
}

bool
write_flushes(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    return cwj_amd_write_flushes(f);
}

/* "SI Fix SGPR copies" asks of each PHI whether all that it is copied to are accumulation registers, and follows copies to registers of the processor, which are calls'
 * arguments, to all other uses of these registers, the results of calls, and all they are copied to: for each PHI through all copies of a kernel that calls, a
 * tenth of the time for convolutions of CUTLASS. So these copies are moves while it runs: where it would have gone on it has its answer, no. */
unsigned
find_move(const llvm::TargetInstrInfo &info)
{
    for (unsigned op = 0; op < info.getNumOpcodes(); op++)      /* of 20,000, few of which have names worth reading */
        if (info.get(op).isMoveImmediate() && info.get(op).getNumOperands() == 2 && info.getName(op) == "V_MOV_B32_e32")
            return op;
    llvm::report_fatal_error("LLVM has no V_MOV_B32_e32");
}

/* An argument that is in a vector register, and was not just copied from a scalar one: of that the pass would make something else. */
bool
is_argument(const llvm::MachineInstr &i, const llvm::MachineRegisterInfo &regs, const llvm::TargetRegisterInfo &info)
{
    if (!i.isCopy() || i.getNumOperands() != 2 || !i.getOperand(0).getReg().isPhysical() || !i.getOperand(1).getReg().isVirtual())
        return false;
    llvm::Register from = i.getOperand(1).getReg();
    llvm::StringRef type = info.getRegClassName(regs.getRegClass(from));
    const llvm::MachineInstr *source = regs.getUniqueVRegDef(from);
    return llvm::StringRef(info.getName(i.getOperand(0).getReg())).starts_with("VGPR") && (type == "VGPR_32" || type.starts_with("VReg_")) && source &&
           !source->isCopy();
}

bool
hide_arguments(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
    if (!f.getFrameInfo().hasCalls())
        return false;
    static const unsigned move = find_move(info);
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b)
            if (is_argument(i, f.getRegInfo(), *f.getSubtarget().getRegisterInfo()))
                i.setDesc(info.get(move));
    return false;
}

/* Real moves have an operand more, the mask of lanes. */
bool
show_arguments(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
    if (!f.getFrameInfo().hasCalls())
        return false;
    static const unsigned move = find_move(info);
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b)
            if (i.getOpcode() == move && i.getNumOperands() == 2)
                i.setDesc(info.get(llvm::TargetOpcode::COPY));
    return false;
}

#if LLVM_VERSION_MAJOR < 22
/* A lane mask that leaves its block goes there in a register of a class of its own, of one bit. Where nobody reads it (the PHI it was for is dead), "SI Fix SGPR
 * copies" may want a scalar register instead, and asks for the class of scalar registers of that size; there is none, and LLVM 19 goes through the null pointer
 * (https://github.com/llvm/llvm-project/pull/149181 mends it). So such copies go before. */
bool
drop_unread_masks(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    const llvm::TargetRegisterInfo &info = *f.getSubtarget().getRegisterInfo();
    const llvm::MachineRegisterInfo &regs = f.getRegInfo();
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : llvm::make_early_inc_range(b)) {
            llvm::Register to = i.isCopy() ? i.getOperand(0).getReg() : llvm::Register();
            if (to.isVirtual() && regs.use_empty(to) && llvm::StringRef(info.getRegClassName(regs.getRegClass(to))) == "VReg_1")
                i.eraseFromParent();
        }
    return false;
}
#endif

bool
write_nans(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    return cwj_amd_write_nans(f);
}

bool
write_singles(llvm::MachineFunction &f, llvm::Pass &, cwj_amd_notes &)
{
    return cwj_amd_write_singles(f);
}

/* Where a guard belongs: everywhere; where scalar registers go into lanes, and somebody is to be told of moved ones; where they go to memory. */
enum when { ALWAYS, LANES, MEMORY };

struct guard {
    const char *name;           /* as LLVM's messages have it */
    bool after;                 /* behind the pass `at`, not before it */
    const char *at;             /* one of LLVM's passes */
    void (*needs)(llvm::AnalysisUsage &au);
    bool (*function)(llvm::Function &f, llvm::Pass &pass);      /* one of these two: what it does, and whether that changed something */
    bool (*machine)(llvm::MachineFunction &f, llvm::Pass &pass, cwj_amd_notes &notes);
    enum when when;
};

class Guard : public llvm::FunctionPass {
public:
    explicit Guard(const guard &g) : llvm::FunctionPass(ID), g(g) {}
    llvm::StringRef getPassName() const override { return g.name; }
    void getAnalysisUsage(llvm::AnalysisUsage &au) const override { g.needs(au); }
    bool runOnFunction(llvm::Function &f) override { return g.function(f, *this); }

private:
    static char ID;
    const guard &g;
};

char Guard::ID;

class MachineGuard : public llvm::MachineFunctionPass {
public:
    MachineGuard(const guard &g, cwj_amd_notes &notes) : llvm::MachineFunctionPass(ID), g(g), notes(notes) {}
    llvm::StringRef getPassName() const override { return g.name; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        g.needs(au);
        llvm::MachineFunctionPass::getAnalysisUsage(au);
    }

    bool runOnMachineFunction(llvm::MachineFunction &f) override { return g.machine(f, *this, notes); }

private:
    static char ID;
    const guard &g;
    cwj_amd_notes &notes;
};

char MachineGuard::ID;

const char scheduler[] = "Machine Instruction Scheduler";
const char reduction[] = "Loop Strength Reduction";
const char vectorizer[] = "GPU Load and Store Vectorizer";
const char prepare[] = "CodeGen Prepare";
const char irreducible[] = "Convert irreducible control-flow into natural loops";

const guard guards[] = {
    { "Settle undefined values of PHIs", false, "AMDGPU Rewrite Undef for PHI", settle_undef_needs, settle_undef, nullptr, ALWAYS },
    { "Split carries of sums", false, irreducible, keeps_branches, split_carries, nullptr, ALWAYS },
    { "Split funnel shifts of 64 bits", false, irreducible, keeps_branches, cwj_amd_split_funnels, nullptr, ALWAYS },
    { "Hide long sums", false, reduction, cwj_amd_hide_sums_needs, cwj_amd_hide_sums, nullptr, ALWAYS },
    { "Show long sums", true, reduction, keeps_branches, cwj_amd_show_frozen, nullptr, ALWAYS },
    { "Hide lookups", false, vectorizer, keeps_all, cwj_amd_hide_lookups, nullptr, ALWAYS },
    { "Show lookups", true, vectorizer, keeps_all, cwj_amd_show_frozen, nullptr, ALWAYS },
    { "Hide signs", false, prepare, keeps_branches, cwj_amd_hide_signs, nullptr, ALWAYS },
    { "Show signs", true, prepare, keeps_branches, cwj_amd_show_signs, nullptr, ALWAYS },
    { "Split sums of byte products", false, irreducible, keeps_branches, split_byte_sums, nullptr, ALWAYS },
#if LLVM_VERSION_MAJOR >= 20
    { "Drop fences", false, irreducible, keeps_branches, drop_fences, nullptr, ALWAYS },
    { "Split edges to several entries of a loop", false, irreducible, split_entries_needs, split_entries, nullptr, ALWAYS },
#endif
    { "Hide arguments", false, "SI Fix SGPR copies", keeps_all, nullptr, hide_arguments, ALWAYS },
    { "Show arguments", true, "SI Fix SGPR copies", keeps_all, nullptr, show_arguments, ALWAYS },
    { "Cut long regions for the scheduler", false, "Live Variable Analysis", keeps_all, nullptr, cut_regions, ALWAYS },
    { "Spread the numbers of instructions", false, scheduler, indexes_needs, nullptr, spread_indexes, ALWAYS },
    { "Pack the numbers of instructions", true, scheduler, indexes_needs, nullptr, pack_indexes, ALWAYS },
    { "Find lost parts of registers", true, "SI Form memory clauses", find_lost_parts_needs, nullptr, find_lost_parts, ALWAYS },
    { "Describe prepared code", false, "Finalize ISel and expand pseudo-instructions", describe_prepared_needs, nullptr, describe_prepared, ALWAYS },
    { "Mark registers that prepared code overwrites", false, "Prologue/Epilogue Insertion & Frame Finalization", keeps_all, nullptr, mark_overwritten, ALWAYS },
    { "Write out what makes zeros of subnormals", false, "SI insert wait instructions", keeps_branches, nullptr, write_flushes, ALWAYS },
    { "Write out which NaN it is", false, "Post RA hazard recognizer", keeps_nothing, nullptr, write_nans, ALWAYS },
    { "Write out single instructions", false, "AMDGPU Assembly Printer", keeps_all, nullptr, write_singles, ALWAYS },
    { "Check registers that prepared code overwrites", false, "AMDGPU Assembly Printer", describe_prepared_needs, nullptr, check_overwritten, ALWAYS },
    { "Count registers where they are used", false, "AMDGPU Assembly Printer", keeps_all, nullptr, look_through_instructions, ALWAYS },
#if LLVM_VERSION_MAJOR < 22
    { "Drop lane masks that nobody reads", false, "SI Fix SGPR copies", keeps_all, nullptr, drop_unread_masks, ALWAYS },
#endif
#if LLVM_VERSION_MAJOR < 20
    { "Pin registers with scalar ones in their lanes", true, "SI lower SGPR spill instructions", pin_spill_lanes_needs, nullptr, pin_spill_lanes, LANES },
    { "Find moved registers with scalar ones in their lanes", false, "SI Lower WWM Copies", keeps_all, nullptr, find_moved_lanes, LANES },
    { "Turn lanes on before registers are copied", false, "SI Fix VGPR copies", keeps_all, nullptr, restore_lanes_first, ALWAYS },
    { "Keep places of scalar registers apart", false, "Stack Slot Coloring", keeps_all, nullptr, keep_scalars_apart, MEMORY },
#endif
};

} // namespace

void
cwj_amd_guards(llvm::legacy::PassManagerBase &passes, llvm::StringRef name, bool after, cwj_amd_notes &notes)
{
    for (const guard &g : guards) {
        if (g.after != after || name != g.at || (g.when != ALWAYS && g.when != (notes.moved ? LANES : MEMORY)))
            continue;
        if (g.function)
            passes.add(new Guard(g));
        else
            passes.add(new MachineGuard(g, notes));
    }
}

/* AMD's code generator before LLVM 22 divides in fewer bits where the operands are sign-extended, unsigned ones too, of which negative
 * numbers are large. So such an operand is made a value of unknown origin. */
void
cwj_amd_hide_extended_operands(llvm::Module &m)
{
    std::vector<llvm::BinaryOperator *> found;
    const llvm::DataLayout &layout = m.getDataLayout();
    auto zeros = [&](const llvm::Value *v) { return llvm::computeKnownBits(v, layout).countMinLeadingZeros(); };
    auto signs = [&](const llvm::Value *v) { return llvm::ComputeNumSignBits(v, layout); };
    for (llvm::Function &f : m)
        for (llvm::Instruction &i : llvm::instructions(f))
            if ((i.getOpcode() == llvm::Instruction::UDiv || i.getOpcode() == llvm::Instruction::URem) &&
                (i.getType()->isIntegerTy(32) || i.getType()->isIntegerTy(64)) &&
                std::min(signs(i.getOperand(0)), signs(i.getOperand(1))) > std::max(1u, std::min(zeros(i.getOperand(0)), zeros(i.getOperand(1)))))
                found.push_back(llvm::cast<llvm::BinaryOperator>(&i));
    for (llvm::BinaryOperator *i : found) {
        unsigned n = zeros(i->getOperand(0)) < zeros(i->getOperand(1)) ? 0 : 1;
        llvm::IRBuilder<> b(i);
        auto *type = llvm::FunctionType::get(i->getType(), { i->getType() }, false);
        i->setOperand(n, b.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), { i->getOperand(n) }));
    }
}
