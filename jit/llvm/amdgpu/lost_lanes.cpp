/* SPDX-License-Identifier: Apache-2.0
 * Work-around lost-lanes. Where memory instructions form clauses that may be replayed as a whole (XNACK: gfx9, gfx1010), LLVM recomputes
 * the live ranges of their registers. A sub-register may then not be live where a block reads it, if a definition of another sub-register
 * further down leaves it undefined: LLVM confuses the cached answer for the end of a block, from a query about a later block, with that for
 * its beginning (docs/llvm-faults/lost-lanes.mir). The read becomes undefined, and LLVM drops the copy or the store. So the pass extends the live range to each such read; a
 * separate query gives the right answer. */
#include "jit/llvm/amdgpu/machine_passes.h"

#include <llvm/CodeGen/LiveIntervals.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/SlotIndexes.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

namespace {

bool
leaves_undefined(const llvm::MachineOperand &d, llvm::LaneBitmask part, llvm::SlotIndex from, llvm::LiveIntervals &live, const llvm::TargetRegisterInfo &info)
{
    const llvm::MachineInstr &i = *d.getParent();
    return d.isUndef() && d.getSubReg() && (info.getSubRegIndexLaneMask(d.getSubReg()) & part).none() && live.getInstructionIndex(i) >= from &&
           live.getInstructionIndex(i) < live.getMBBEndIdx(i.getParent());
}

bool
lost(const llvm::MachineOperand &use, const llvm::LiveInterval::SubRange &part, llvm::LiveIntervals &live, const llvm::MachineRegisterInfo &registers,
     const llvm::TargetRegisterInfo &info)
{
    const llvm::MachineInstr &i = *use.getParent();
    llvm::LaneBitmask read = use.getSubReg() ? info.getSubRegIndexLaneMask(use.getSubReg()) : registers.getMaxLaneMaskForVReg(use.getReg());
    llvm::SlotIndex at = live.getInstructionIndex(i);
    if ((part.LaneMask & read).none() || part.liveAt(at))
        return false;
    return llvm::any_of(registers.def_operands(use.getReg()),
                        [&](const llvm::MachineOperand &d) {
                            return d.getParent()->getParent() == i.getParent() && leaves_undefined(d, part.LaneMask, at, live, info);
                        }) &&
           llvm::any_of(i.getParent()->predecessors(), [&](const llvm::MachineBasicBlock *from) { return live.isLiveOutOfMBB(part, from); });
}

} // namespace

bool
cwj_amd_lost_lanes(llvm::MachineFunction &f, llvm::Pass &pass)
{
    llvm::LiveIntervals &live = pass.getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
    const llvm::MachineRegisterInfo &registers = f.getRegInfo();
    const llvm::TargetRegisterInfo &info = *f.getSubtarget().getRegisterInfo();
    for (unsigned n = 0; n < registers.getNumVirtRegs(); n++) {
        llvm::Register r = llvm::Register::index2VirtReg(n);
        if (!live.hasInterval(r) || !live.getInterval(r).hasSubRanges() ||
            llvm::none_of(registers.def_operands(r), [](const llvm::MachineOperand &d) { return d.isUndef(); }))
            continue;
        for (llvm::LiveInterval::SubRange &part : live.getInterval(r).subranges())
            for (const llvm::MachineOperand &use : registers.use_nodbg_operands(r))
                if (use.readsReg() && lost(use, part, live, registers, info)) {
                    llvm::SmallVector<llvm::SlotIndex, 4> undefined;
                    live.getInterval(r).computeSubRangeUndefs(undefined, part.LaneMask, registers, *live.getSlotIndexes());
                    live.extendToIndices(part, { live.getInstructionIndex(*use.getParent()).getRegSlot() }, undefined);
                }
    }
    return false;
}

void
cwj_amd_lost_lanes_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<llvm::LiveIntervalsWrapperPass>();
    au.setPreservesAll();
}
