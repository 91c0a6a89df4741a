/* SPDX-License-Identifier: Apache-2.0
 * A bound on LLVM's strength reduction of loops. It tries sums of all parts of an address for each that follows a loop's counter, in time that grows with
 * the cube of their number: a quarter of the time of compiling kernels with unrolled loops. On AMD's processors such loops have their
 * addresses in one register and constant offsets without it: no kernel of tools/bench amd executes more instructions for this bound, some fewer. */
#include "jit/host/amd_loops.h"

#include <llvm/Analysis/IVUsers.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Transforms/Utils.h>

#include <iterator>

namespace {

enum { MOST_USERS = 8 };        /* at 4, loops of matmul, nbody and reduce execute up to 9 % more */

/* LLVM's analysis of what follows counters, which finds nothing in a loop with more of it. */
class Users : public llvm::IVUsersWrapperPass {
public:
    void
    getAnalysisUsage(llvm::AnalysisUsage &au) const override
    {
        /* Twice, as LLVM's strength reduction has it: the analyses between lose it, and what is made anew before that pass is
         * LLVM's own analysis. */
        au.addRequiredID(llvm::LoopSimplifyID);
        llvm::IVUsersWrapperPass::getAnalysisUsage(au);
        au.addRequiredID(llvm::LoopSimplifyID);
    }

    bool
    runOnLoop(llvm::Loop *loop, llvm::LPPassManager &passes) override
    {
        bool changed = llvm::IVUsersWrapperPass::runOnLoop(loop, passes);
        if (std::distance(getIU().begin(), getIU().end()) > MOST_USERS)
            getIU().releaseMemory();
        return changed;
    }
};

} // namespace

llvm::Pass *
cwj_amd_loop_users(void)
{
    return new Users();
}
