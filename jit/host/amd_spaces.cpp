/* SPDX-License-Identifier: Apache-2.0
 * That a pointer to shared memory and one to global memory differ LLVM knows at once from their address spaces, but before version 20 it asks the target
 * last, after what takes both addresses apart (some 7,000 instructions for two sums of products). The answers are the same in any order. */
#include "jit/host/amd_spaces.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>

namespace {

/* The list is private, and so is the type of its elements: an explicit instantiation may name both. */
void last_first(llvm::AAResults &r);

template <typename List>
void
turn(List &list)
{
    if (list.size() > 1)
        std::rotate(list.begin(), list.end() - 1, list.end());
}

template <auto List> struct opened_list {
    friend void last_first(llvm::AAResults &r) { turn(r.*List); }
};

template struct opened_list<&llvm::AAResults::AAs>;

class SpacesFirst : public llvm::AAResultsWrapperPass {
public:
    bool
    runOnFunction(llvm::Function &f) override
    {
        bool changed = llvm::AAResultsWrapperPass::runOnFunction(f);
        if (llvm::Triple(f.getParent()->getTargetTriple()).isAMDGCN())
            last_first(getAAResults());         /* the target's is the last */
        return changed;
    }
};

} // namespace

void
cwj_amd_spaces_first(void)
{
    llvm::PassRegistry &registry = *llvm::PassRegistry::getPassRegistry();
    llvm::initializeAAResultsWrapperPassPass(registry);
    const llvm::PassInfo *info = registry.getPassInfo(&llvm::AAResultsWrapperPass::ID);
    if (info)
        const_cast<llvm::PassInfo *>(info)->setNormalCtor([]() -> llvm::Pass * { return new SpacesFirst(); });
}
