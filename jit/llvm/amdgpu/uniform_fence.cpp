/* SPDX-License-Identifier: Apache-2.0
 * Work-around uniform-fence. LLVM cannot select llvm.arithmetic.fence of a uniform value, a copy from a VGPR to an SGPR. The fence
 * (fp_sqrt) is meant for the optimiser, which has finished. */
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
