/* SPDX-License-Identifier: Apache-2.0
 * Work-around undef-phi. LLVM treats a PHI of one uniform value and undef as uniform, even where lanes from different paths join, and keeps
 * it in an SGPR, which the other lanes' code must then not change. Its pass "Rewrite Undef for PHI" ensures that by replacing undef by the
 * value, but it visits only the PHIs that are uniform when it begins. A replacement can make further PHIs uniform (a value that diverged
 * because lanes left a loop at different times becomes a constant), and those lose their value. Structured loops with several entries and
 * exits have many such PHIs.
 *
 * So, before that pass: a PHI that can only be one constant becomes the constant, and divergent PHIs get another value in place of undef,
 * so that they stay divergent. That value is freeze(poison), which costs no instruction, or `false` for i1, where the lowering to lane
 * masks loses the lanes of the defined value if it sees an undefined register. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace {

struct settler {
    /* The one value that a PHI can have besides undef: one from elsewhere, or the PHI itself if there are several. NULL: only undef. */
    llvm::DenseMap<const llvm::PHINode *, llvm::Value *> only;

    void
    resolve(llvm::Function &f)
    {
        for (bool changed = true; changed;) {
            changed = false;
            for (llvm::BasicBlock &b : f)
                for (llvm::PHINode &phi : b.phis()) {
                    llvm::Value *&known = only[&phi], *value = known == &phi ? known : merge(phi);
                    changed |= value != known;
                    only[&phi] = value;
                }
        }
    }

    llvm::Value *
    merge(llvm::PHINode &phi)
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
            return false;           /* several values: it stays a lane mask, where undef costs less */
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

} // namespace

bool
cwj_amd_undef_phi(llvm::Function &f, llvm::Pass &pass)
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
cwj_amd_undef_phi_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::UniformityInfoWrapperPass>();
    au.setPreservesAll();       /* uniformity too: new values are uniform */
}
