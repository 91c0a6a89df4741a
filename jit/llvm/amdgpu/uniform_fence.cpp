/* SPDX-License-Identifier: Apache-2.0
 * Work-around uniform-fence. llvm.arithmetic.fence of a value that is uniform is a copy from a vector to a scalar register, which
 * LLVM cannot select. The fence (fp_sqrt) is there for the optimiser, which is done. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

bool
cwj_amd_uniform_fence(llvm::Function &f, llvm::Pass &)
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
