/* SPDX-License-Identifier: Apache-2.0
 * LLVM's analysis of live variables, without what it does for each register of the processor in each block. AMD's processors have some 10,000
 * (each tuple is one), of which a block names a handful: LLVM clears two arrays of that length for each block and looks through
 * them, which takes as long as 5 to 8 % of all the compiler's instructions for kernels of small blocks, and leaves nothing in the first-level cache.
 *
 * What is done with an instruction, and with a register at the end of a block, is LLVM's own; only the walk over the function is here. The
 * results are the same: so are the object files, to the byte. */
#include "jit/host/amd_live.h"
#include "jit/host/opened.h"

#include <llvm/ADT/DepthFirstIterator.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/CodeGen/LiveVariables.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <vector>

namespace {

#if LLVM_VERSION_MAJOR < 22
using registers = llvm::SmallVector<unsigned, 4>;
#else
using registers = llvm::SmallVector<llvm::Register, 4>;
#endif
using found = llvm::SmallVectorImpl<registers::value_type>;

OPEN(llvm::LiveVariables, MF, llvm::MachineFunction *llvm::LiveVariables::*);
OPEN(llvm::LiveVariables, MRI, llvm::MachineRegisterInfo *llvm::LiveVariables::*);
OPEN(llvm::LiveVariables, TRI, const llvm::TargetRegisterInfo *llvm::LiveVariables::*);
OPEN(llvm::LiveVariables, PhysRegDef, std::vector<llvm::MachineInstr *> llvm::LiveVariables::*);
OPEN(llvm::LiveVariables, PhysRegUse, std::vector<llvm::MachineInstr *> llvm::LiveVariables::*);
OPEN(llvm::LiveVariables, DistanceMap, llvm::DenseMap<llvm::MachineInstr *, unsigned> llvm::LiveVariables::*);
OPEN(llvm::LiveVariables, runOnInstr, void (llvm::LiveVariables::*)(llvm::MachineInstr &, found &, unsigned));
OPEN(llvm::LiveVariables, HandlePhysRegUse, void (llvm::LiveVariables::*)(llvm::Register, llvm::MachineInstr &));
OPEN(llvm::LiveVariables, HandlePhysRegDef, void (llvm::LiveVariables::*)(llvm::Register, llvm::MachineInstr *, found &));
OPEN(llvm::LiveVariables, UpdatePhysRegDefs, void (llvm::LiveVariables::*)(llvm::MachineInstr &, found &));

/* Invariant: between blocks PhysRegDef and PhysRegUse are as long as there are registers, and empty. */
class Live : public llvm::LiveVariablesWrapperPass {
public:
    bool
    runOnMachineFunction(llvm::MachineFunction &f) override
    {
        llvm::LiveVariables &v = getLV();
        llvm::MachineRegisterInfo &info = f.getRegInfo();
        const llvm::TargetRegisterInfo *target = f.getSubtarget().getRegisterInfo();
        unsigned n = target->getNumSupportedRegs(f);
        if (!info.isSSA())
            return llvm::LiveVariablesWrapperPass::runOnMachineFunction(f);     /* has a message for that */
        PART(v, MF) = &f;
        PART(v, MRI) = &info;
        PART(v, TRI) = target;
        PART(v, PhysRegDef).resize(n);
        PART(v, PhysRegUse).resize(n);

        std::vector<llvm::SmallVector<llvm::Register, 4>> phis = read_by_phis(f);
        llvm::df_iterator_default_set<llvm::MachineBasicBlock *, 16> seen;
        for (llvm::MachineBasicBlock *b : llvm::depth_first_ext(&f.front(), seen)) {
            block(v, *b);
            for (llvm::Register r : phis[(unsigned)b->getNumber()])
                v.MarkVirtRegAliveInBlock(v.getVarInfo(r), info.getVRegDef(r)->getParent(), b);
            end_block(v, *b);
        }
        for (unsigned i = 0; i < info.getNumVirtRegs(); i++)
            mark_last_uses(v, llvm::Register::index2VirtReg(i), info, target);
        return false;
    }

private:
    llvm::SmallVector<llvm::MCPhysReg, 64> named;       /* in this block, with their parts */

    /* For each block, the registers that PHIs of blocks behind it read coming from there. */
    static std::vector<llvm::SmallVector<llvm::Register, 4>>
    read_by_phis(llvm::MachineFunction &f)
    {
        std::vector<llvm::SmallVector<llvm::Register, 4>> read(f.getNumBlockIDs());
        for (llvm::MachineBasicBlock &b : f)
            for (llvm::MachineInstr &phi : b.phis())
                for (unsigned i = 1; i < phi.getNumOperands(); i += 2)
                    if (phi.getOperand(i).readsReg())
                        read[(unsigned)phi.getOperand(i + 1).getMBB()->getNumber()].push_back(phi.getOperand(i).getReg());
        return read;
    }

    void
    block(llvm::LiveVariables &v, llvm::MachineBasicBlock &b)
    {
        auto &distance = PART(v, DistanceMap);
        unsigned n = (unsigned)PART(v, PhysRegDef).size(), at = 0;
        registers defined;

        named.clear();
        distance.clear();
        for (llvm::MachineInstr &i : b) {
            if (i.isDebugOrPseudoInstr())
                continue;
            distance.insert({ &i, at++ });
            for (const llvm::MachineOperand &o : i.operands())
                if (o.isReg() && o.getReg().isPhysical() && !PART(v, MRI)->isReserved(o.getReg()))
                    for (llvm::MCPhysReg r : PART(v, TRI)->subregs_inclusive(o.getReg()))
                        named.push_back(r);
            if (i.isCall() && std::any_of(i.operands_begin(), i.operands_end(), [](const llvm::MachineOperand &o) { return o.isRegMask(); }))
                call(v, i, defined);
            else
                (PART(v, runOnInstr))(i, defined, n);
        }
    }

    /* Reads, then overwrites what its mask says, then writes. LLVM asks for each of the processor's registers whether the mask has it. */
    void
    call(llvm::LiveVariables &v, llvm::MachineInstr &i, registers &defined)
    {
        llvm::MachineRegisterInfo &info = *PART(v, MRI);
        for (llvm::MachineOperand &o : i.operands()) {
            if (!o.isReg() || !o.getReg() || (o.getReg().isPhysical() && info.isReserved(o.getReg())))
                continue;
            if (o.isUse())
                o.setIsKill(false);
            else
                o.setIsDead(false);
            if (o.isUse() && o.readsReg() && o.getReg().isVirtual())
                v.HandleVirtRegUse(o.getReg(), i.getParent(), i);
            else if (o.isUse() && o.readsReg())
                (PART(v, HandlePhysRegUse))(o.getReg(), i);
        }
        for (const llvm::MachineOperand &o : i.operands())
            if (o.isRegMask())
                overwrite(v, o);
        for (const llvm::MachineOperand &o : i.operands()) {
            if (!o.isReg() || !o.isDef() || !o.getReg())
                continue;
            if (o.getReg().isVirtual())
                v.HandleVirtRegDef(o.getReg(), i);
            else if (!info.isReserved(o.getReg()))
                (PART(v, HandlePhysRegDef))(o.getReg(), &i, defined);
        }
        (PART(v, UpdatePhysRegDefs))(i, defined);
    }

    /* What the mask has ends where it was last read, or is not read. Where that instruction names it by a part or a tuple nothing is noted, which is as good:
     * LLVM looks for these, through the hundreds of tuples of each register, in twice the time of all the rest. */
    void
    overwrite(llvm::LiveVariables &v, const llvm::MachineOperand &mask)
    {
        std::sort(named.begin(), named.end());
        named.erase(std::unique(named.begin(), named.end()), named.end());
        for (llvm::MCPhysReg r : named) {
            llvm::MachineInstr *&read = PART(v, PhysRegUse)[r], *&written = PART(v, PhysRegDef)[r];
            if (!mask.clobbersPhysReg(r))
                continue;
            if (read || written)
                note_end(read ? *read : *written, r, read);
            read = written = nullptr;
        }
    }

    static void
    note_end(llvm::MachineInstr &last, llvm::MCPhysReg r, bool read)
    {
        for (llvm::MachineOperand &o : last.operands())
            if (o.isReg() && o.getReg() == r && o.isUse() == read) {
                if (read)
                    o.setIsKill(!o.isUndef());
                else
                    o.setIsDead();
                return;
            }
    }

    /* What lives on to here ends here, but for registers that are never allocated and that a block behind this one reads. */
    void
    end_block(llvm::LiveVariables &v, const llvm::MachineBasicBlock &b)
    {
        llvm::SmallSet<unsigned, 4> lives_on;
        registers defined;

        for (const llvm::MachineBasicBlock *next : b.successors())
            for (const auto &in : next->liveins())
                if (!next->isEHPad() && !PART(v, TRI)->isInAllocatableClass(in.PhysReg))
                    lives_on.insert(in.PhysReg);
        std::sort(named.begin(), named.end());
        named.erase(std::unique(named.begin(), named.end()), named.end());
        for (llvm::MCPhysReg r : named)
            if ((PART(v, PhysRegDef)[r] || PART(v, PhysRegUse)[r]) && !lives_on.count(r))
                (PART(v, HandlePhysRegDef))(r, nullptr, defined);
        for (llvm::MCPhysReg r : named)
            PART(v, PhysRegDef)[r] = PART(v, PhysRegUse)[r] = nullptr;
    }

    static void
    mark_last_uses(llvm::LiveVariables &v, llvm::Register r, const llvm::MachineRegisterInfo &info, const llvm::TargetRegisterInfo *target)
    {
        for (llvm::MachineInstr *i : v.getVarInfo(r).Kills)
            if (i == info.getVRegDef(r))
                i->addRegisterDead(r, target);
            else
                i->addRegisterKilled(r, target);
    }
};

} // namespace

llvm::Pass *
cwj_amd_live_variables(void)
{
    return new Live();
}
