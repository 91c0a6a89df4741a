/* SPDX-License-Identifier: Apache-2.0
 * Work-around trap-skips-blocks. On processors that may ignore S_TRAP 2 (gfx1100 to gfx1103), llvm.trap is a pseudo-instruction that LLVM
 * expands into code and a block at the end of the function. FinalizeISel continues from that block, and so leaves pseudo-instructions,
 * other traps among them, in the blocks before it. This pass makes LLVM expand all traps before FinalizeISel begins. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

bool
cwj_amd_trap_skips_blocks(llvm::MachineFunction &f, llvm::Pass &)
{
    const llvm::TargetInstrInfo *info = f.getSubtarget().getInstrInfo();
    const llvm::TargetLowering *lowering = f.getSubtarget().getTargetLowering();
    llvm::SmallVector<llvm::MachineInstr *> traps;
    for (llvm::MachineBasicBlock &block : f)
        for (llvm::MachineInstr &i : block)
            if (i.usesCustomInsertionHook() && info->getName(i.getOpcode()) == "SIMULATED_TRAP")
                traps.push_back(&i);
    for (llvm::MachineInstr *i : traps)
        lowering->EmitInstrWithCustomInserter(*i, i->getParent());
    return !traps.empty();
}
