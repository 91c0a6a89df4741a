/* SPDX-License-Identifier: Apache-2.0
 * See codegen.h. */
#include "jit/host/codegen.h"
#include "jit/host/lld.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/CodeGen/LiveIntervals.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

extern "C" void
cwj_codegen_narrow_layout(LLVMModuleRef m)
{
    std::string layout = llvm::unwrap(m)->getDataLayoutStr(), narrow;
    for (size_t at = 0, end; at < layout.size(); at = end + 1) {
        end = std::min(layout.find('-', at), layout.size());
        llvm::StringRef part(layout.data() + at, end - at);
        if (!part.starts_with("p7:") && !part.starts_with("p8:") && !part.starts_with("p9:"))
            narrow += (narrow.empty() ? "" : "-") + part.str();
    }
    llvm::unwrap(m)->setDataLayout(narrow);
}

namespace {

/* LLVM takes a PHI of one uniform value and of undef for uniform, even where lanes come together that took different ways, and
 * keeps it in a scalar register. What the other lanes run in between must then leave that register alone. Its pass "Rewrite
 * Undef for PHI" sees to that: it puts the value in place of undef. But it looks once, at the PHIs that are uniform when it
 * begins; what it replaces can make others so (a value that varied because lanes left a loop at different times becomes a
 * constant), and in those the value is lost (LLVM 19 to 22). Structured loops of several entries and exits are full of them. So,
 * before that pass: a PHI that can only be one constant becomes that constant; and those that vary are made to vary for good, by
 * another value for undef. That is freeze(poison), which costs no instruction, or `false` for i1, where the lowering to lane masks loses
 * the lanes of the defined value if it sees an undefined register. */
class SettleUndef : public llvm::FunctionPass {
public:
    static char ID;
    SettleUndef() : llvm::FunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Settle undefined values of PHIs"; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        au.addRequired<llvm::UniformityInfoWrapperPass>();
        au.setPreservesAll();       /* of the uniformity, too: what is new is uniform */
    }

    bool
    runOnFunction(llvm::Function &f) override
    {
        const llvm::UniformityInfo &uniformity = getAnalysis<llvm::UniformityInfoWrapperPass>().getUniformityInfo();
        std::vector<llvm::PHINode *> constants;
        bool changed = false;

        resolve(f);
        for (llvm::BasicBlock &b : f)
            for (llvm::PHINode &phi : b.phis())
                if (llvm::isa_and_nonnull<llvm::Constant>(only[&phi]))
                    constants.push_back(&phi);
                else if (uniformity.isDivergent(&phi))
                    changed |= settle(phi);
        for (llvm::PHINode *phi : constants) {
            phi->replaceAllUsesWith(only[phi]);
            phi->eraseFromParent();
        }
        changed |= !constants.empty();
        only.clear();
        return changed;
    }

private:
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

char SettleUndef::ID;

/* LLVM makes one entry of a loop's several: a new block, through which the branches to the loop's header go and those from outside to other
 * entries. Where a branch in the loop can go to the header and to another entry, it redirects the first of the two ways
 * (since 20, where the ways became separate) and takes the values of both along, so that the second brings undef. So, before
 * that pass, the second way gets a block of its own. */
class SplitEntries : public llvm::FunctionPass {
public:
    static char ID;
    SplitEntries() : llvm::FunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Split edges to several entries of a loop"; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        au.addRequired<llvm::DominatorTreeWrapperPass>();
        au.addRequired<llvm::CycleInfoWrapperPass>();
        au.addPreserved<llvm::DominatorTreeWrapperPass>();
        au.addPreserved<llvm::CycleInfoWrapperPass>();
        au.addPreserved<llvm::LoopInfoWrapperPass>();
    }

    bool
    runOnFunction(llvm::Function &) override
    {
        bool changed = false;
        for (llvm::Cycle *c : getAnalysis<llvm::CycleInfoWrapperPass>().getResult().toplevel_cycles())
            changed |= split(c);
        return changed;
    }

private:
    bool
    split(llvm::Cycle *c)
    {
        llvm::CycleInfo &cycles = getAnalysis<llvm::CycleInfoWrapperPass>().getResult();
        auto &dominators = getAnalysis<llvm::DominatorTreeWrapperPass>().getDomTree();
        auto *loops = getAnalysisIfAvailable<llvm::LoopInfoWrapperPass>();
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
            changed |= split(child);
        return changed;
    }
};

char SplitEntries::ID;

/* u = t + carry, where t is a sum x + y: AMD's instruction for x + y + carry makes u in one, and LLVM takes it even where the carry out of
 * u is wanted (19 to 22), which then is that of both additions; subtractions alike. So that carry is computed without the
 * adder's: u can only have wrapped to 0. Loads and what comes from other blocks are no sums. */
class SplitCarries : public llvm::FunctionPass {
public:
    static char ID;
    SplitCarries() : llvm::FunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Split carries of sums"; }
    void getAnalysisUsage(llvm::AnalysisUsage &au) const override { au.setPreservesCFG(); }

    bool
    runOnFunction(llvm::Function &f) override
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
            split(w, t, c, add);
            changed = true;
        }
        return changed;
    }

private:
    static bool
    carry(llvm::Value *v)
    {
        auto *z = llvm::dyn_cast<llvm::ZExtInst>(v);
        return z && z->getOperand(0)->getType()->isIntegerTy(1);
    }

    static void
    split(llvm::WithOverflowInst *w, llvm::Value *t, llvm::Value *c, bool add)
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
};

char SplitCarries::ID;

/* How many registers a kernel uses LLVM finds, where it makes no calls, by asking of one after the other whether it or one that overlaps
 * it is used, from the highest; which ones overlap it works out for 256 of them, and that takes half the time of compiling an empty
 * kernel. Where there are calls it looks through the instructions. (Not for gfx12: there it takes the scalar registers with the work-group's
 * number, TTMP, for vector registers; LLVM 20 does all that in another way.) */
class LookThroughInstructions : public llvm::MachineFunctionPass {
public:
    static char ID;
    LookThroughInstructions() : llvm::MachineFunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Count registers where they are used"; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        au.setPreservesAll();
        llvm::MachineFunctionPass::getAnalysisUsage(au);
    }

    bool
    runOnMachineFunction(llvm::MachineFunction &f) override
    {
        if (LLVM_VERSION_MAJOR < 20 && !f.getSubtarget().getCPU().starts_with("gfx12"))
            f.getFrameInfo().setHasCalls(true);
        return false;
    }
};

char LookThroughInstructions::ID;

/* LLVM keeps scalar registers that it has no place for in lanes of a vector register. Where it has no place for that one either it moves it
 * with all lanes of the wave on, and so writes, in registers that it takes for free, into lanes that wait at other places of the program: their
 * values may lie there still, since what they belong to was moved within the branch only, or because the other side of it does not
 * read them (LLVM 19; 20 gives such registers out first, apart from others). With the 64 vector registers that blocks of 1024 threads leave
 * on gfx9 it happens around calls. So such registers begin where the function does ... */
class PinSpillLanes : public llvm::MachineFunctionPass {
public:
    static char ID;
    PinSpillLanes() : llvm::MachineFunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Pin registers with scalar ones in their lanes"; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        au.addRequired<llvm::LiveIntervalsWrapperPass>();
        au.setPreservesAll();
        llvm::MachineFunctionPass::getAnalysisUsage(au);
    }

    bool
    runOnMachineFunction(llvm::MachineFunction &f) override
    {
        const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
        llvm::SmallSetVector<llvm::Register, 8> registers;
        for (llvm::MachineBasicBlock &b : f)
            for (llvm::MachineInstr &i : b)
                if (info.getName(i.getOpcode()) == "SI_SPILL_S32_TO_VGPR" && i.getOperand(0).getReg().isVirtual())
                    registers.insert(i.getOperand(0).getReg());
        for (llvm::Register r : registers)
            pin(f, r);
        return !registers.empty();
    }

private:
    void
    pin(llvm::MachineFunction &f, llvm::Register r)
    {
        llvm::LiveIntervals &live = getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
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
};

char PinSpillLanes::ID;

/* ... and where one of them is moved, what is compiled is compiled again, with scalar registers in memory. */
class FindMovedLanes : public llvm::MachineFunctionPass {
public:
    static char ID;
    explicit FindMovedLanes(bool *found) : llvm::MachineFunctionPass(ID), found(found) {}

    llvm::StringRef getPassName() const override { return "Find moved registers with scalar ones in their lanes"; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        au.setPreservesAll();
        llvm::MachineFunctionPass::getAnalysisUsage(au);
    }

    bool
    runOnMachineFunction(llvm::MachineFunction &f) override
    {
        const llvm::TargetInstrInfo &info = *f.getSubtarget().getInstrInfo();
        for (llvm::MachineBasicBlock &b : f)
            for (llvm::MachineInstr &i : b) {
                llvm::StringRef name = info.getName(i.getOpcode());
                *found |= name == "WWM_COPY" || name.starts_with("SI_SPILL_WWM_");
            }
        return false;
    }

private:
    bool *found;
};

char FindMovedLanes::ID;

/* Sums of products of bytes become V_DOT4. AMD's instruction selection follows a sum from product to product, and takes whatever the other
 * operand is for the next sum if that has a product as an operand, too: a difference, an exclusive or, a minimum (19 and 22). So such
 * an operand is made a value of unknown origin. */
class SplitByteSums : public llvm::FunctionPass {
public:
    static char ID;
    SplitByteSums() : llvm::FunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Split sums of byte products"; }
    void getAnalysisUsage(llvm::AnalysisUsage &au) const override { au.setPreservesCFG(); }

    bool
    runOnFunction(llvm::Function &f) override
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

private:
    static bool
    byte(const llvm::Value *v, const llvm::DataLayout &layout)
    {
        return llvm::computeKnownBits(v, layout).countMinLeadingZeros() >= 24 || llvm::ComputeNumSignBits(v, layout) > 24;
    }

    /* Of two bytes; what is not sure to be more counts. */
    static bool
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
    static bool
    negative(const llvm::Value *v)
    {
        auto *i = llvm::dyn_cast<llvm::BinaryOperator>(v);
        return i && i->getOpcode() == llvm::Instruction::Sub && llvm::isa<llvm::Constant>(i->getOperand(0));
    }

    static bool
    holds(const llvm::Value *v)
    {
        auto *i = llvm::dyn_cast<llvm::Instruction>(v);
        if (!i || llvm::isa<llvm::PHINode>(i) || product(i))
            return false;
        if (i->getOpcode() == llvm::Instruction::Add && !negative(i->getOperand(0)) && !negative(i->getOperand(1)))
            return false;
        return std::any_of(i->op_begin(), i->op_end(), [](const llvm::Use &u) { return product(u.get()); });
    }
};

char SplitByteSums::ID;

/* A code generator's passes, some left out. For AMD it begins with what finds common parts of addresses in code that nobody has
 * optimised. PTX comes from a compiler that did that, and after it this project's own pipeline (llvm.c): these find nothing, in 6
 * to 12 % of the compile time. The one EarlyCSE that stays is the last, which cleans up after the strength reduction of
 * loops. Invariant code is moved once more where there are divisions, which have become many instructions by then. Copies of registers are
 * followed twice in what the register allocator leaves, where there is nothing to find, either.
 * Names that an LLVM does not know leave nothing out. */
class Passes : public llvm::legacy::PassManager {
public:
    Passes(bool amdgcn, bool divisions, bool together, bool *moved) : amdgcn(amdgcn), divisions(divisions), together(together), moved(moved) {}

    void
    add(llvm::Pass *pass) override
    {
        if (together && begins_stage(pass->getPassName()))
            llvm::legacy::PassManager::add(llvm::createBarrierNoopPass());
        if (amdgcn && pass->getPassName() == "AMDGPU Rewrite Undef for PHI")
            llvm::legacy::PassManager::add(new SettleUndef());
        if (amdgcn && pass->getPassName() == "Convert irreducible control-flow into natural loops") {
            llvm::legacy::PassManager::add(new SplitCarries());
            llvm::legacy::PassManager::add(new SplitByteSums());
#if LLVM_VERSION_MAJOR >= 20
            llvm::legacy::PassManager::add(new SplitEntries());
#endif
        }
        if (amdgcn && pass->getPassName() == "AMDGPU Assembly Printer")
            llvm::legacy::PassManager::add(new LookThroughInstructions());
        if (moved && pass->getPassName() == "SI Lower WWM Copies")
            llvm::legacy::PassManager::add(new FindMovedLanes(moved));
        bool lanes = moved && pass->getPassName() == "SI lower SGPR spill instructions";
        if (amdgcn && unneeded(pass->getPassName()))
            delete pass;            /* as the manager does with one that it has already */
        else
            llvm::legacy::PassManager::add(pass);
        if (lanes)
            llvm::legacy::PassManager::add(new PinSpillLanes());
    }

private:
    bool
    unneeded(llvm::StringRef name)
    {
        if (name == "Early CSE")
            return ++cse <= 2;
        if (name == "Loop Invariant Code Motion")
            return !divisions;
        /* Where a value is needed on the one side of a branch and, behind a loop there, on the other, it loses the one (LLVM 19;
         * fuzz/live_range.ptx). What it saves in registers is nothing that tools/bench amd sees. */
        if (name == "SI Optimize VGPR LiveRange")
            return true;
        return name == "Straight line strength reduction" || name == "Nary reassociation" || name == "Machine Copy Propagation Pass";
    }

    /* Where all functions wait for each other, see kernels_only. */
    static bool
    begins_stage(llvm::StringRef name)
    {
        return name == "Prepare callbr" || name == "SI Fix SGPR copies" || name == "Peephole Optimizations" || name == "Live Variable Analysis" ||
               name == "Prologue/Epilogue Insertion & Frame Finalization" || name == "PostRA Machine Instruction Scheduler" ||
               name == "SI insert wait instructions";
    }

    bool amdgcn, divisions, together, *moved;
    unsigned cse = 0;
};

/* AMD's code generator before LLVM 22 divides in fewer bits where the operands are sign-extended, unsigned ones too, of which negative
 * numbers are large. So such an operand is made a value of unknown origin. */
[[maybe_unused]] void
hide_extended_operands(llvm::Module &m)
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

bool
divides(const llvm::Module &m)
{
    for (const llvm::Function &f : m)
        for (const llvm::Instruction &i : llvm::instructions(f))
            if (i.isIntDivRem() && !llvm::isa<llvm::Constant>(i.getOperand(1)))
                return true;
    return false;
}

/* LLVM takes each function through all of the code generator before the next: 150 passes, whose machine code does not fit in a CPU's
 * second-level cache. Several functions go through it in stages, all through one before the next: the same code comes of it in a
 * tenth less time. Not where one calls another: what registers a function leaves alone is known to its callers by then. */
bool
kernels_only(const llvm::Module &m)
{
    unsigned kernels = 0;
    for (const llvm::Function &f : m) {
        if (f.isDeclaration())
            continue;
        if (f.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL)
            return false;
        kernels++;
    }
    return kernels > 1;
}

} // namespace

extern "C" void
cwj_codegen_scalars_in_lanes(LLVMModuleRef m, LLVMTargetMachineRef tm, bool yes)
{
    /* The option is the process's, and read when the target makes its description of the processor. */
    static std::mutex lock;
    static const char option[] = "amdgpu-spill-sgpr-to-vgpr";
    std::lock_guard<std::mutex> hold(lock);
    cwj_llvm_set_option(option, yes);
    for (const llvm::Function &f : *llvm::unwrap(m))
        reinterpret_cast<llvm::TargetMachine *>(tm)->getSubtargetImpl(f);
    cwj_llvm_set_option(option, true);
}

extern "C" bool
cwj_codegen(LLVMModuleRef m, LLVMTargetMachineRef tm, bool assembly, bool *moved, LLVMMemoryBufferRef *out)
{
    llvm::SmallString<0> code;
    llvm::raw_svector_ostream stream(code);
    llvm::Module &module = *llvm::unwrap(m);
    bool amdgcn = llvm::Triple(module.getTargetTriple()).isAMDGCN();      /* a string before LLVM 21 */
    bool optimises = reinterpret_cast<llvm::TargetMachine *>(tm)->getOptLevel() != llvm::CodeGenOptLevel::None;
#if LLVM_VERSION_MAJOR < 22
    if (amdgcn)
        hide_extended_operands(module);
#endif
    Passes passes(amdgcn, amdgcn && divides(module), amdgcn && optimises && kernels_only(module), amdgcn && optimises && LLVM_VERSION_MAJOR < 20 ? moved : nullptr);
    auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    if (reinterpret_cast<llvm::TargetMachine *>(tm)->addPassesToEmitFile(passes, stream, nullptr, type))
        return false;
    passes.run(module);
    *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "");
    return *out != nullptr;
}
