/* SPDX-License-Identifier: Apache-2.0
 * See opcodes.h. */
#include "jit/llvm/amdgpu/opcodes.h"
#include "jit/llvm/contain.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

namespace {

const char *const names[CWJ_AMD_OPCODE_COUNT] = {
#define X(name) #name,
    CWJ_AMD_OPCODES(X)
#undef X
};

/* The number of the instruction of this name among [first, end), which are sorted by name; 0: there is none. */
unsigned
find(const llvm::TargetInstrInfo &info, unsigned first, unsigned end, llvm::StringRef name)
{
    auto numbers = llvm::seq(first, end);
    auto at = llvm::partition_point(numbers, [&](unsigned i) { return info.getName(i) < name; });
    return at != numbers.end() && info.getName(*at) == name ? *at : 0;
}

/* LLVM numbers a target's pseudo-instructions by name, then the others by name. To look at all 47,000 names once would be a sixth of the time that
 * an empty kernel takes. 0: LLVM has no such instruction. */
struct opcodes {
    unsigned number[CWJ_AMD_OPCODE_COUNT] = {};

    explicit
    opcodes(const llvm::TargetInstrInfo &info)
    {
        unsigned first = llvm::TargetOpcode::GENERIC_OP_END + 1, end = info.getNumOpcodes();
        unsigned machine = *llvm::partition_point(llvm::seq(first, end), [&](unsigned i) { return info.get(i).isPseudo(); });
        for (unsigned k = 0; k < CWJ_AMD_OPCODE_COUNT; k++) {
            number[k] = find(info, first, machine, names[k]);
            if (!number[k])
                number[k] = find(info, machine, end, names[k]);
        }
    }
};

const opcodes &
all_opcodes(const llvm::MachineFunction &f)
{
    static const opcodes all(*f.getSubtarget().getInstrInfo());
    return all;
}

struct registers {
    llvm::StringMap<unsigned> number;
    unsigned half[2] = {};

    explicit
    registers(const llvm::TargetRegisterInfo &info)
    {
        for (unsigned r = 1; r < info.getNumRegs(); r++) {
            llvm::StringRef name = info.getName(r);
            if (((name[0] == 'V' || name[0] == 'S' || name[0] == 'A') && name.substr(1).starts_with("GPR") && !name.contains('_')) || name == "VCC" ||
                name == "SCC")
                number[name] = r;
        }
        for (unsigned i = 1; i < info.getNumSubRegIndices(); i++)
            for (unsigned k = 0; k < 2; k++)
                if (llvm::StringRef(info.getSubRegIndexName(i)) == (k ? "sub1" : "sub0"))
                    half[k] = i;
    }
};

const registers &
all_registers(const llvm::MachineFunction &f)
{
    static const registers all(*f.getSubtarget().getRegisterInfo());
    return all;
}

} // namespace

const llvm::MCInstrDesc &
cwj_amd_instruction(const llvm::MachineFunction &f, cwj_amd_opcode o)
{
    unsigned number = all_opcodes(f).number[o];
    if (!number)
        cwj_contain_abandon(CW_ERR_INTERNAL, 5902, "internal error: LLVM has no instruction %s", names[o]);
    return f.getSubtarget().getInstrInfo()->get(number);
}

llvm::MCRegister
cwj_amd_register(const llvm::MachineFunction &f, llvm::StringRef name)
{
    unsigned r = all_registers(f).number.lookup(name);
    if (!r)
        cwj_contain_abandon(CW_ERR_INTERNAL, 5902, "internal error: LLVM has no register %s", name.str().c_str());
    return r;
}

llvm::MCRegister
cwj_amd_half(const llvm::MachineFunction &f, llvm::MCRegister r, bool upper)
{
    return f.getSubtarget().getRegisterInfo()->getSubReg(r, all_registers(f).half[upper]);
}
