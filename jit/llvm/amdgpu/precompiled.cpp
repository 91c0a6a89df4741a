/* SPDX-License-Identifier: Apache-2.0
 * Functions of precompiled code (jit/builtins/precompiled.h). For LLVM such a function has inline assembly as its body, and the registers
 * that it overwrites as an attribute. */
#include "jit/llvm/amdgpu/machine_passes.h"
#include "jit/llvm/amdgpu/opcodes.h"
#include "jit/llvm/contain.h"
#include "jit/builtins/precompiled.h"

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineInstr.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/RegisterUsageInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include <vector>

namespace {

bool
is_precompiled(const llvm::MachineFunction &f)
{
    return f.getFunction().hasFnAttribute(EMIT_OVERWRITES);
}

std::vector<unsigned>
overwritten(const llvm::MachineFunction &f)
{
    llvm::SmallVector<llvm::StringRef, 64> names;
    std::vector<unsigned> numbers;
    f.getFunction().getFnAttribute(EMIT_OVERWRITES).getValueAsString().split(names, ' ');
    for (llvm::StringRef name : names)
        numbers.push_back(cwj_amd_register(f, name));
    return numbers;
}

} // namespace

/* Make the registers operands after register allocation, but before LLVM decides which ones to save, where callers may keep values, and how
 * many registers the kernel has. As operands from the beginning they would cost LLVM more time than everything else. The stack of the code
 * becomes an object of the frame. */
bool
cwj_amd_annotate_overwritten(llvm::MachineFunction &f, llvm::Pass &)
{
    if (!is_precompiled(f))
        return false;
    if (uint64_t stack = f.getFunction().getFnAttributeAsParsedInteger(EMIT_STACK))
        f.getFrameInfo().CreateStackObject(stack, llvm::Align(16), false);
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b)
            for (unsigned r : i.isInlineAsm() ? overwritten(f) : std::vector<unsigned>())
                i.addOperand(f, llvm::MachineOperand::CreateReg(r, true, true, false, true));
    return true;
}

namespace {

using register_usage = llvm::PhysicalRegisterUsageInfoWrapperLegacy;

llvm::PhysicalRegisterUsageInfo &
usage(llvm::Pass &pass)
{
    return pass.getAnalysis<register_usage>().getPRUI();
}

/* LLVM's mask: a bit for each register that the function preserves. */
std::vector<uint32_t>
kept(const llvm::MachineFunction &f)
{
    const llvm::TargetRegisterInfo &info = *f.getSubtarget().getRegisterInfo();
    std::vector<uint32_t> mask(llvm::MachineOperand::getRegMaskSize(info.getNumRegs()), ~0u);
    mask[0] &= ~1u;                     /* NoRegister */
    for (unsigned r : overwritten(f))
        for (llvm::MCRegAliasIterator a(r, &info, true); a.isValid(); ++a)
            mask[*a / 32] &= ~(1u << *a % 32);
    return mask;
}

} // namespace

/* Tell callers which registers such a function preserves before LLVM compiles it. It saves none itself. */
bool
cwj_amd_describe_precompiled(llvm::MachineFunction &f, llvm::Pass &pass)
{
    if (is_precompiled(f)) {
        usage(pass).storeUpdateRegUsageInfo(f.getFunction(), kept(f));
        f.getRegInfo().setCalleeSavedRegs({});
    } else if (f.getFunction().hasFnAttribute(EMIT_KEEPS_RETURN)) {
        /* Treat these as callee-saved, so that they are allocated last: saving them takes memory, or lanes of a VGPR. */
        f.getRegInfo().setCalleeSavedRegs({ llvm::MCPhysReg(cwj_amd_register(f, "SGPR30")), llvm::MCPhysReg(cwj_amd_register(f, "SGPR31")) });
    }
    return false;
}

void
cwj_amd_describe_precompiled_needs(llvm::AnalysisUsage &au)
{
    au.addRequired<register_usage>();
    au.setPreservesAll();
}

/* The code would be wrong without the register operands, or if LLVM added instructions that overwrite more registers. */
bool
cwj_amd_check_overwritten(llvm::MachineFunction &f, llvm::Pass &pass)
{
    cwj_amd_list_precompiled(f);
    if (!is_precompiled(f))
        return false;
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b) {
            const llvm::MachineOperand &last = i.getOperand(i.getNumOperands() - 1);
            if (i.isInlineAsm() && (!last.isReg() || !last.isImplicit() || !last.isDef()))
                cwj_contain_abandon(CW_ERR_INTERNAL, 5902, "internal error: the registers that precompiled code overwrites are not marked");
        }
    if (f.getTarget().getOptLevel() == llvm::CodeGenOptLevel::None)
        return false;
    std::vector<uint32_t> said = kept(f);
    llvm::ArrayRef<uint32_t> found = usage(pass).getRegUsageInfo(f.getFunction());
    for (size_t i = 0; i < said.size(); i++)
        if (i >= found.size() || (said[i] & ~found[i]))
            cwj_contain_abandon(CW_ERR_INTERNAL, 5902, "internal error: a function of precompiled code overwrites more registers than its code");
    return false;
}
