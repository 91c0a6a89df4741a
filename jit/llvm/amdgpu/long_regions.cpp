/* SPDX-License-Identifier: Apache-2.0
 * LLVM's scheduler takes time quadratic in the length of a region (a block, or the code between two calls), and large cryptographic or
 * matrix kernels have blocks of many thousand instructions. This pass cuts such blocks into regions by SCHED_BARRIER, a pseudo-instruction
 * that nothing is scheduled across. */
#include "jit/llvm/amdgpu/machine_passes.h"
#include "jit/llvm/amdgpu/opcodes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace {

enum { LONGEST_REGION = 512, LONG_BLOCK = 2 * LONGEST_REGION };

/* Check the number of registers first, as counting visits all instructions: a function with few registers has no long block. */
bool
has_long_block(const llvm::MachineFunction &f)
{
    return f.getRegInfo().getNumVirtRegs() >= LONG_BLOCK / 4 &&
           std::any_of(f.begin(), f.end(), [](const llvm::MachineBasicBlock &b) { return b.size() >= LONG_BLOCK; });
}

/* Number of 32-bit VGPRs live before each instruction. Registers that no instruction of the block names do not count. */
class Living {
public:
    explicit
    Living(const llvm::MachineBasicBlock &b)
        : registers(b.getParent()->getRegInfo()), info(*b.getParent()->getSubtarget().getRegisterInfo()), at(b.size())
    {
        std::vector<bool> live(registers.getNumVirtRegs());
        unsigned now = 0;
        auto set = [&](llvm::Register r, bool value) {
            unsigned n = r.virtRegIndex();
            if (live[n] != value)
                now += value ? words(r) : -words(r);
            live[n] = value;
        };
        auto elsewhere = [&](const llvm::MachineInstr &use) { return use.getParent() != &b || use.isPHI(); };
        for (const llvm::MachineInstr &i : b)
            for (const llvm::MachineOperand &o : i.all_defs())
                if (o.getReg().isVirtual() && llvm::any_of(registers.use_nodbg_instructions(o.getReg()), elsewhere))
                    set(o.getReg(), true);
        size_t n = at.size();
        for (const llvm::MachineInstr &i : llvm::reverse(b)) {
            for (const llvm::MachineOperand &o : i.all_defs())
                if (o.getReg().isVirtual())
                    set(o.getReg(), false);
            for (const llvm::MachineOperand &o : i.all_uses())
                if (o.getReg().isVirtual() && !i.isPHI())
                    set(o.getReg(), true);
            at[--n] = now;
        }
    }

    unsigned operator[](size_t n) const { return at[n]; }

private:
    unsigned
    words(llvm::Register r) const
    {
        const llvm::TargetRegisterClass *c = registers.getRegClass(r);
        return info.getRegClassName(c)[0] == 'S' ? 0 : unsigned(info.getRegSizeInBits(*c) / 32);
    }

    const llvm::MachineRegisterInfo &registers;
    const llvm::TargetRegisterInfo &info;
    std::vector<unsigned> at;
};

/* The next cut: between 256 and 768 instructions ahead, where the fewest registers are live, if these are at most three quarters of those
 * live after 512; else after 512. A load before the cut cannot move closer to its use behind it. */
size_t
next_cut(const Living &live, size_t from, size_t end)
{
    size_t middle = from + LONGEST_REGION, least = middle;
    for (size_t n = from + LONGEST_REGION / 2; n < std::min(end, middle + LONGEST_REGION / 2); n++)
        if (live[n] < live[least])
            least = n;
    return live[least] * 4 <= live[middle] * 3 ? least : middle;
}

} // namespace

bool
cwj_amd_cut_regions(llvm::MachineFunction &f, llvm::Pass &)
{
    if (!has_long_block(f))
        return false;
    const llvm::MCInstrDesc &barrier = cwj_amd_instruction(f, CWJ_AMD_SCHED_BARRIER);
    for (llvm::MachineBasicBlock &b : f) {
        if (b.size() < LONG_BLOCK)
            continue;
        const Living live(b);
        auto first = b.getFirstNonPHI(), end = b.getFirstTerminator();
        size_t n = size_t(std::distance(b.begin(), first)), last = size_t(std::distance(b.begin(), end)), cut = n;
        for (auto i = first; (cut = n + LONGEST_REGION < last ? next_cut(live, n, last) : last) < last; n = cut) {
            std::advance(i, cut - n);
            llvm::BuildMI(b, i, llvm::DebugLoc(), barrier).addImm(0);
        }
    }
    return true;
}
