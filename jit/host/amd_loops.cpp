/* SPDX-License-Identifier: Apache-2.0
 * A bound on LLVM's strength reduction of loops. It tries sums of all parts of an address for each that follows a loop's counter, in time that grows with
 * the cube of their number: a quarter of the time of compiling kernels with unrolled loops. On AMD's processors such loops have their
 * addresses in one register and constant offsets without it: no kernel of tools/bench amd executes more instructions for this bound, some fewer. */
#include "jit/host/amd_loops.h"

#include <llvm/Analysis/IVUsers.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/InitializePasses.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/TargetParser/Triple.h>

namespace {

enum { MOST_USERS = 8 };        /* at 4, loops of matmul, nbody and reduce execute up to 9 % more */

/* Is it worth while? Not where nothing that follows the counter is an address, or where some of it is stored, or loses bits, for which there is one
 * more sum to keep. */
bool
pays(llvm::IVUsers &users)
{
    unsigned n = 0, addresses = 0;
    for (const llvm::IVStrideUse &u : users) {
        const llvm::Instruction *i = u.getUser();
        auto *store = llvm::dyn_cast<llvm::StoreInst>(i);
        if (llvm::isa<llvm::TruncInst>(i) || (store && store->getValueOperand() == u.getOperandValToReplace()))
            return false;
        n++;
        addresses += store || llvm::isa<llvm::LoadInst, llvm::IntToPtrInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(i);
    }
    return n <= MOST_USERS && addresses > 0;
}

/* LLVM's analysis of what follows counters, which on AMD's processors finds nothing where that pays nothing. */
class Users : public llvm::IVUsersWrapperPass {
public:
    bool
    runOnLoop(llvm::Loop *loop, llvm::LPPassManager &passes) override
    {
        bool changed = llvm::IVUsersWrapperPass::runOnLoop(loop, passes);
        if (llvm::Triple(loop->getHeader()->getModule()->getTargetTriple()).isAMDGCN() && !pays(getIU()))
            getIU().releaseMemory();
        return changed;
    }
};

} // namespace

void
cwj_amd_bound_loops(void)
{
    llvm::PassRegistry &registry = *llvm::PassRegistry::getPassRegistry();
    llvm::initializeIVUsersWrapperPassPass(registry);
    const llvm::PassInfo *info = registry.getPassInfo(&llvm::IVUsersWrapperPass::ID);
    if (info)
        const_cast<llvm::PassInfo *>(info)->setNormalCtor([]() -> llvm::Pass * { return new Users(); });
}
