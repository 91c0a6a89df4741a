/* SPDX-License-Identifier: Apache-2.0
 * Work-around loop-entries. FixIrreducible gives a loop with several entries a single one: a new block that takes over the branches to the
 * header and those from outside to other entries. If a branch inside the loop leads to the header and to another entry, it redirects the
 * first edge with the PHI values of both, so that the second edge brings undef. So, before that pass, the second edge gets a block of its
 * own. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

namespace {

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

} // namespace

bool
cwj_amd_loop_entries(llvm::Function &, llvm::Pass &pass)
{
    bool changed = false;
    for (llvm::Cycle *c : pass.getAnalysis<llvm::CycleInfoWrapperPass>().getResult().toplevel_cycles())
        changed |= split_entries(c, pass);
    return changed;
}

void
cwj_amd_loop_entries_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::DominatorTreeWrapperPass>();
    au.addRequired<llvm::CycleInfoWrapperPass>();
    au.addPreserved<llvm::DominatorTreeWrapperPass>();
    au.addPreserved<llvm::CycleInfoWrapperPass>();
    au.addPreserved<llvm::LoopInfoWrapperPass>();
}
