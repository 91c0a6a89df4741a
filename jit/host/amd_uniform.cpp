/* SPDX-License-Identifier: Apache-2.0
 * Behind a branch that lanes take different ways of, a PHI where two of the ways come together differs between lanes, even if its values do not. LLVM finds
 * such places by following the ways, each with the name of the block where it began, or where others became it. Before 21 it gives up as soon as it
 * has been further than where the last way that it looked at went (issue 137277): with loops, or ends of the program, on the ways that is too early. One lane's value is taken for all
 * then, as the address of an atomic, say. (At an exit of a loop that the branch is in, other versions do it, too, by issue 216296.)
 *
 * LLVM keeps the places that it found for a branch. So they are found here, and put there before it asks. */
#include "jit/host/amd_uniform.h"
#include "jit/host/opened.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/SSAContext.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>

#include <llvm/ADT/GenericUniformityImpl.h>     /* needs the others */

#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace {

using implementation = llvm::GenericUniformityAnalysisImpl<llvm::SSAContext>;
using implementation_pointer = std::unique_ptr<implementation, llvm::GenericUniformityAnalysisImplDeleter<implementation>>;
using dependences = llvm::GenericSyncDependenceAnalysis<llvm::SSAContext>;
using block_order = llvm::ModifiedPostOrder<llvm::SSAContext>;
using meetings = dependences::DivergenceDescriptor;
using meetings_cache = llvm::DenseMap<const llvm::BasicBlock *, std::unique_ptr<meetings>>;

OPEN(llvm::UniformityInfo, DA, implementation_pointer llvm::UniformityInfo::*);
OPEN(implementation, SDA, dependences implementation::*);
OPEN(dependences, CyclePO, block_order dependences::*);
OPEN(dependences, CachedControlDivDescs, meetings_cache dependences::*);

/* The ways from one branch. Blocks are taken by LLVM's order: all of a loop before what is behind it, its header as the last. */
struct ways {
    const block_order &order;
    const llvm::CycleInfo &cycles;
    const llvm::BasicBlock &branch;
    meetings &found;
    std::set<unsigned> reached{};           /* blocks, by number, whose way is to be followed; the highest number is the first */

    /* Does a way come to a block where another one has been? They are one from there on. */
    bool
    come(const llvm::BasicBlock &to, const llvm::BasicBlock &way)
    {
        const llvm::BasicBlock *&here = found.BlockLabels[&to];
        if (here == &way)
            return false;
        if (here != &to)
            reached.insert(order.getIndex(&to));
        bool meet = here != nullptr;
        here = meet ? &to : &way;
        return meet;
    }

    void
    follow(const llvm::BasicBlock &from)
    {
        const llvm::BasicBlock &way = *found.BlockLabels.lookup(&from);
        if (!order.isReducibleCycleHeader(&from)) {
            for (const llvm::BasicBlock *to : llvm::successors(&from))
                if (come(*to, way))
                    found.JoinDivBlocks.insert(to);
            return;
        }
        /* From a header to the loop's exits: other ways into the loop there are none, and those from a branch in it have been followed. */
        const llvm::Cycle *loop = cycles.getCycle(&from);
        llvm::SmallVector<llvm::BasicBlock *, 4> exits;
        loop->getExitBlocks(exits);
        for (const llvm::BasicBlock *to : exits)
            if (come(*to, way)) {
                found.JoinDivBlocks.insert(to);
                if (loop->contains(&branch))
                    found.CycleDivBlocks.insert(to);
            }
    }

    /* Loops of several entries may have to be gone through again. */
    const llvm::Cycle *
    outermost_with_entries() const
    {
        const llvm::Cycle *outermost = nullptr;
        for (const llvm::Cycle *c = cycles.getCycle(&branch); c; c = c->getParentCycle())
            if (!c->isReducible())
                outermost = c;
        return outermost;
    }

    void
    find()
    {
        const llvm::Cycle *own = cycles.getCycle(&branch), *again = outermost_with_entries();
        for (const llvm::BasicBlock *to : llvm::successors(&branch)) {
            if (own && !own->contains(to))
                found.CycleDivBlocks.insert(to);
            come(*to, *to);
        }
        while (!reached.empty()) {
            const llvm::BasicBlock *from = order[*reached.rbegin()];
            if (reached.size() == 1 && !(again && again->contains(from)))
                break;                      /* all ways come through here */
            reached.erase(std::prev(reached.end()));
            if (from != &branch)
                follow(*from);
        }
        for (const llvm::Cycle *c = own; c; c = c->getParentCycle()) {
            if (c->isReducible())
                continue;
            llvm::SmallVector<llvm::BasicBlock *, 4> exits;
            c->getExitBlocks(exits);
            for (const llvm::BasicBlock *to : exits)
                if (found.BlockLabels.lookup(to) != found.BlockLabels.lookup(c->getHeader()))
                    found.CycleDivBlocks.insert(to);
        }
    }
};

class Uniformity : public llvm::UniformityInfoWrapperPass {
public:
    llvm::StringRef getPassName() const override { return "Uniformity analysis with all meetings"; }

    bool
    runOnFunction(llvm::Function &f) override
    {
        getUniformityInfo() = cwj_amd_uniformity(f, getAnalysis<llvm::DominatorTreeWrapperPass>().getDomTree(), getAnalysis<llvm::CycleInfoWrapperPass>().getResult(),
                                                 getAnalysis<llvm::TargetTransformInfoWrapperPass>().getTTI(f));
        return false;
    }
};

} // namespace

llvm::UniformityInfo
cwj_amd_uniformity(llvm::Function &f, const llvm::DominatorTree &dominators, const llvm::CycleInfo &cycles, const llvm::TargetTransformInfo &target)
{
    llvm::UniformityInfo info(dominators, cycles, &target);
    if (!target.hasBranchDivergence(&f))
        return info;                    /* a kernel of one lane */
    dependences &all = PART(*PART(info, DA), SDA);
    const block_order &order = PART(all, CyclePO);
    for (size_t i = 0; i < order.size(); i++) {
        if (llvm::succ_size(order[i]) < 2)
            continue;
        auto found = std::make_unique<meetings>();
        ways{ order, cycles, *order[i], *found }.find();
        PART(all, CachedControlDivDescs).try_emplace(order[i], std::move(found));
    }
    info.compute();
    return info;
}

/* Its code generator makes analyses itself, by the list of all passes: one named to it before a pass could be lost on the way there. */
void
cwj_amd_replace_uniformity(void)
{
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::PassRegistry &all = *llvm::PassRegistry::getPassRegistry();
        llvm::initializeUniformityInfoWrapperPassPass(all);
        auto *entry = const_cast<llvm::PassInfo *>(all.getPassInfo(&llvm::UniformityInfoWrapperPass::ID));
        entry->setNormalCtor([]() -> llvm::Pass * { return new Uniformity(); });
    });
}
