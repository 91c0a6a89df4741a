/* SPDX-License-Identifier: Apache-2.0
 * The hash of a machine instruction by which LLVM finds common subexpressions: it mixes all parts of each operand with care, which takes 2 to 3 % of the
 * compile time. Who looks for the same instruction compares whatever has the same hash, so any will do. */
#include <llvm/CodeGen/MachineInstr.h>

/* llvm::MachineInstrExpressionTrait::getHashValue(const llvm::MachineInstr *const &), by the linker's --wrap */
extern "C" unsigned __wrap__ZN4llvm27MachineInstrExpressionTrait12getHashValueERKPKNS_12MachineInstrE(const llvm::MachineInstr *const &i);

namespace {

/* What the same operands have the same of, and most others not. */
uint64_t
part(const llvm::MachineOperand &o)
{
    if (o.isReg())
        return (uint64_t)o.getSubReg() << 32 | o.getReg().id();
    if (o.isImm())
        return (uint64_t)o.getImm() * 0x9e3779b9;
    return o.isMBB() ? (uint64_t)(uintptr_t)o.getMBB() : o.isGlobal() ? (uint64_t)(uintptr_t)o.getGlobal() + (uint64_t)o.getOffset() : (uint64_t)o.getType();
}

} // namespace

unsigned
__wrap__ZN4llvm27MachineInstrExpressionTrait12getHashValueERKPKNS_12MachineInstrE(const llvm::MachineInstr *const &i)
{
    uint64_t hash = i->getOpcode();
    for (const llvm::MachineOperand &o : i->operands()) {
        if (o.isReg() && o.isDef() && o.getReg().isVirtual())
            continue;           /* what comes out differs */
        hash = (hash ^ part(o)) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
    }
    return (unsigned)hash;
}
