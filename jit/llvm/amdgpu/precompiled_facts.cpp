/* SPDX-License-Identifier: Apache-2.0
 * For the program that makes precompiled code (jit/builtins/precompile): what the callers of a function have to know of its machine code.
 * A function is accepted if it computes only in the registers that its callers leave to it, and accesses memory only at addresses that it
 * was given; functions for textures may have a stack. */
#include "jit/llvm/amdgpu/machine_passes.h"
#include "jit/builtins/precompiled.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

namespace {

bool
starts(llvm::StringRef name, std::initializer_list<llvm::StringRef> with)
{
    return llvm::any_of(with, [&](llvm::StringRef w) { return name.starts_with(w); });
}

class Facts {
public:
    explicit
    Facts(const llvm::MachineFunction &f)
        : function(f), info(*f.getSubtarget().getInstrInfo()), registers(*f.getSubtarget().getRegisterInfo()), stack(f.getName().starts_with("cwd_tex_"))
    {
        for (const llvm::MachineBasicBlock &b : f)
            for (const llvm::MachineInstr &i : b.instrs())
                if (!i.isMetaInstruction() && !i.isBundle())
                    instruction(i);
        /* Approximations take the address of their table in two SGPRs; no other function reads one that it has not written. A block that ends
         * earlier in the text than the one that writes the register runs after it. */
        const bool approximates = f.getName().starts_with("mufu.");
        if (!approximates)
            given.reset(used[SGPR]);
        table = given.find_first();
        if (table >= 0 && (!approximates || table % 2 || given.count() != 2 || !given.test(unsigned(table) + 1)))
            refuse("scalar registers that it has not written");
        memory &= table < 0;
    }

    /* As precompile/make.c reads it: a name and why it is refused, or what struct gcn_precompiled has. */
    void
    print(llvm::raw_ostream &out) const
    {
        out << function.getName();
        if (!why_not.empty()) {
            out << " not: " << why_not << "\n";
            return;
        }
        out << " " << waits << " " << returns << " " << (uses_stack ? function.getFrameInfo().getStackSize() : 0) << " " << memory << " " << table << " VCC SCC";
        for (unsigned k = 0; k < KINDS; k++)
            for (unsigned n : used[k].set_bits())
                out << " " << prefixes[k] << n;
        out << "\n";
    }

private:
    enum { VGPR, AGPR, SGPR, KINDS };
    static constexpr llvm::StringLiteral prefixes[KINDS] = { "VGPR", "AGPR", "SGPR" };

    void
    refuse(llvm::StringRef why)
    {
        if (why_not.empty())
            why_not = why;
    }

    void
    instruction(const llvm::MachineInstr &i)
    {
        llvm::StringRef name = info.getName(i.getOpcode());
        if (name == "S_SETPC_B64_return") {
            returns++;
            return;
        }
        began |= !name.starts_with("S_WAIT");
        waits += !began;
        if (starts(name, { "S_BUFFER", "S_SWAPPC", "S_CALL", "V_MFMA", "S_SETREG", "S_ENDPGM" }))
            refuse(name);
        if (starts(name, { "SCRATCH_", "BUFFER_LOAD", "BUFFER_STORE", "BUFFER_ATOMIC", "V_WRITELANE", "V_READLANE" })) {
            uses_stack = true;
            if (!stack)
                refuse(name);
        }
        /* Addresses of constants. */
        if (!stack && (starts(name, { "S_LOAD", "S_GETPC" }) || (i.isInlineAsm() && *i.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName())))
            refuse(name);
        memory |= starts(name, { "FLAT_", "GLOBAL_", "BUFFER_", "S_LOAD" });
        interrupts |= name.starts_with("S_SENDMSG_RTN");            /* a trap on gfx1100 preserves m0 */
        bool ends_interrupt = false;
        for (unsigned pass = 0; pass < 2; pass++)           /* first what it reads */
            for (const llvm::MachineOperand &o : i.operands()) {
                if (o.isGlobal() || o.isSymbol())
                    if (!i.isInlineAsm())
                        refuse("another symbol");
                if (o.isReg() && !o.isImplicit() && o.getReg() && o.isDef() == (pass == 1))
                    use(name, o, &ends_interrupt);
            }
        interrupts &= !ends_interrupt;
    }

    /* s30 to s33 are the return address, the stack and the frame pointer. With a stack, LLVM may save and restore the first, and reads the
     * second (on some processors together with s0 to s3, the scratch descriptor, which nobody writes). m0 must not be used, and
     * accumulation registers only to save others. */
    void
    use(llvm::StringRef instruction, const llvm::MachineOperand &o, bool *ends_interrupt)
    {
        llvm::StringRef name = registers.getName(o.getReg());
        const bool one = !name.contains('_');
        if (name == "M0") {
            if (!interrupts)
                refuse(instruction);
            *ends_interrupt |= o.isDef() && instruction == "S_MOV_B32" && registers.getName(o.getParent()->getOperand(1).getReg()) == llvm::StringRef("TTMP2");
            return;
        }
        for (llvm::MCRegAliasIterator alias(o.getReg(), &registers, true); alias.isValid(); ++alias)
            for (unsigned k = 0; k < KINDS; k++) {
                llvm::StringRef number = registers.getName(*alias);
                unsigned n;
                if (!number.consume_front(prefixes[k]) || number.getAsInteger(10, n))
                    continue;
                if (k == SGPR && stack && (n == 30 || n == 31 || (n == 32 && one && o.isUse()) || (name == "SGPR0_SGPR1_SGPR2_SGPR3" && instruction.starts_with("BUFFER_"))))
                    continue;
                if ((k == AGPR && !stack) || (k == SGPR && n >= 30 && n < 34))
                    refuse(instruction);
                if (k == SGPR && o.isUse() && !stack && !used[k].test(n))
                    given.set(n);
                used[k].set(n);
            }
    }

    const llvm::MachineFunction &function;
    const llvm::TargetInstrInfo &info;
    const llvm::TargetRegisterInfo &registers;
    const bool stack;                                       /* it may have one */
    llvm::BitVector used[KINDS] = { llvm::BitVector(256), llvm::BitVector(256), llvm::BitVector(256) };
    llvm::BitVector given = llvm::BitVector(256);           /* SGPRs that it reads before writing */
    unsigned waits = 0, returns = 0;                        /* leading waits */
    bool began = false, memory = false, uses_stack = false, interrupts = false;
    int table = -1;
    std::string why_not;
};

} // namespace

void
cwj_amd_list_precompiled(const llvm::MachineFunction &f)
{
    if (!&gcn_precompiled_facts || !starts(f.getName(), { "cwd_", "mma.", "wmma.", "div.", "mufu." }))
        return;
    std::string text;
    llvm::raw_string_ostream out(text);
    Facts(f).print(out);
    cw_buf_append(&gcn_precompiled_facts, text.data(), text.size());
}
