/* SPDX-License-Identifier: Apache-2.0
 * See codegen.h. */
#include "jit/host/codegen.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
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

/* A code generator's passes, some left out. For AMD it begins with what finds common parts of addresses in code that nobody has
 * optimised. PTX comes from a compiler that did that, and after it this project's own pipeline (llvm.c): these find nothing, in 6
 * to 12 % of the compile time. The one EarlyCSE that stays is the last, which cleans up after the strength reduction of
 * loops. Invariant code is moved once more where there are divisions, which have become many instructions by then.
 * Names that an LLVM does not know leave nothing out. */
class Passes : public llvm::legacy::PassManager {
public:
    Passes(bool amdgcn, bool divisions) : amdgcn(amdgcn), divisions(divisions) {}

    void
    add(llvm::Pass *pass) override
    {
        if (amdgcn && pass->getPassName() == "AMDGPU Rewrite Undef for PHI")
            llvm::legacy::PassManager::add(new SettleUndef());
        if (amdgcn && unneeded(pass->getPassName()))
            delete pass;            /* as the manager does with one that it has already */
        else
            llvm::legacy::PassManager::add(pass);
    }

private:
    bool
    unneeded(llvm::StringRef name)
    {
        if (name == "Early CSE")
            return ++cse <= 2;
        if (name == "Loop Invariant Code Motion")
            return !divisions;
        return name == "Straight line strength reduction" || name == "Nary reassociation";
    }

    bool amdgcn, divisions;
    unsigned cse = 0;
};

bool
divides(const llvm::Module &m)
{
    for (const llvm::Function &f : m)
        for (const llvm::Instruction &i : llvm::instructions(f))
            if (i.isIntDivRem() && !llvm::isa<llvm::Constant>(i.getOperand(1)))
                return true;
    return false;
}

} // namespace

extern "C" bool
cwj_codegen(LLVMModuleRef m, LLVMTargetMachineRef tm, bool assembly, LLVMMemoryBufferRef *out)
{
    llvm::SmallString<0> code;
    llvm::raw_svector_ostream stream(code);
    llvm::Module &module = *llvm::unwrap(m);
    bool amdgcn = llvm::Triple(module.getTargetTriple()).isAMDGCN();      /* a string before LLVM 21 */
    Passes passes(amdgcn, amdgcn && divides(module));
    auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    if (reinterpret_cast<llvm::TargetMachine *>(tm)->addPassesToEmitFile(passes, stream, nullptr, type))
        return false;
    passes.run(module);
    *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data(), code.size(), "");
    return *out != nullptr;
}
