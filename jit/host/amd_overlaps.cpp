/* SPDX-License-Identifier: Apache-2.0
 * Which registers overlap a register: LLVM makes that row when it is asked for the first time, and keeps it. An AMD vector register is a part of some
 * 125 tuples, which LLVM finds once for each half of it, and sorts: 2 to 3 % of the time in which a small kernel is compiled. Here the same row
 * is read off a set of bits. */
#include "jit/host/amd_overlaps.h"
#include "jit/host/opened.h"

#include <llvm/ADT/bit.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <vector>

namespace {

using row = std::vector<llvm::MCPhysReg>;

OPEN(llvm::MCRegisterInfo, RegAliasesCache, std::vector<row> llvm::MCRegisterInfo::*);

class Overlaps : public llvm::MachineFunctionPass {
public:
    static char ID;

    Overlaps() : llvm::MachineFunctionPass(ID) {}

    llvm::StringRef getPassName() const override { return "Find registers that overlap"; }

    void
    getAnalysisUsage(llvm::AnalysisUsage &u) const override
    {
        u.setPreservesAll();
        llvm::MachineFunctionPass::getAnalysisUsage(u);
    }

    bool
    runOnMachineFunction(llvm::MachineFunction &f) override
    {
        const llvm::MCRegisterInfo &info = *f.getSubtarget().getRegisterInfo();
        std::vector<row> &rows = PART(const_cast<llvm::MCRegisterInfo &>(info), RegAliasesCache);
        bits.resize(info.getNumRegs() / 64 + 1);
        for (llvm::MachineBasicBlock &b : f)
            for (llvm::MachineInstr &i : b)
                for (const llvm::MachineOperand &o : i.operands())
                    if (o.isReg() && o.getReg().isPhysical() && rows[o.getReg().id()].empty())
                        fill(rows[o.getReg().id()], info, o.getReg().asMCReg());
        return false;
    }

private:
    std::vector<uint64_t> bits;     /* by register; all 0 between calls */

    /* Ascending, but for the register itself, which is the last. */
    void
    fill(row &r, const llvm::MCRegisterInfo &info, llvm::MCRegister of)
    {
        size_t n = 1;

        for (llvm::MCRegUnit unit : info.regunits(of))
            for (llvm::MCRegUnitRootIterator root(unit, &info); root.isValid(); ++root)
                for (llvm::MCPhysReg whole : info.superregs_inclusive(*root))
                    bits[whole / 64] |= (uint64_t)1 << whole % 64;
        bits[of.id() / 64] &= ~((uint64_t)1 << of.id() % 64);
        for (uint64_t word : bits)
            n += (size_t)llvm::popcount(word);
        r.reserve(n);
        for (size_t i = 0; i < bits.size(); i++) {
            for (uint64_t word = bits[i]; word; word &= word - 1)
                r.push_back((llvm::MCPhysReg)(i * 64 + (size_t)llvm::countr_zero(word)));
            bits[i] = 0;
        }
        r.push_back((llvm::MCPhysReg)of.id());
    }
};

char Overlaps::ID;

} // namespace

llvm::Pass *
cwj_amd_overlaps(void)
{
    return new Overlaps();
}
