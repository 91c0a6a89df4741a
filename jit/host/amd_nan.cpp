/* SPDX-License-Identifier: Apache-2.0
 * See amd_nan.h. */
#include "jit/host/amd_nan.h"
#include "jit/emit/nan_code.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/ErrorHandling.h>

#include <algorithm>

namespace {

enum op { UNORDERED, UNORDERED_VCC, CNDMASK, OR, MOV, SCALAR_MOV, SCALAR_MOV64, SCALAR_AND, BRANCH_VCC, BRANCH, OPS };

/* LLVM's numbers of what all processors have: of these instructions, and of the halves of a register. */
struct numbers {
    unsigned opcode[OPS] = {}, half[2] = {};

    numbers(const llvm::TargetInstrInfo &info, const llvm::TargetRegisterInfo &registers)
    {
        static const char *const names[OPS] = { "V_CMP_U_F64_e64", "V_CMP_U_F64_e32", "V_CNDMASK_B32_e64", "V_OR_B32_e32", "V_MOV_B32_e32",
                                                "S_MOV_B32", "S_MOV_B64", "S_AND_B32", "S_CBRANCH_VCCNZ", "S_BRANCH" };
        unsigned found = 0;
        for (unsigned i = 0; i < info.getNumOpcodes() && found < OPS; i++) {     /* of 20,000, few of which have names worth reading */
            const llvm::MCInstrDesc &d = info.get(i);
            const unsigned n = d.getNumOperands();
            if (!(d.isBranch() ? n == 1 : n == 2 || n == 3 || n == 6) || d.mayLoad() || d.mayStore() || d.hasUnmodeledSideEffects())
                continue;
            llvm::StringRef name = info.getName(i);
            for (unsigned k = 0; k < OPS && (name[0] == 'V' || name[0] == 'S'); k++)
                if (name == names[k] && !opcode[k]) {
                    opcode[k] = i;
                    found++;
                }
        }
        for (unsigned k = 0; k < OPS; k++)
            if (!opcode[k])
                llvm::report_fatal_error(llvm::Twine("LLVM has no ") + names[k]);
        for (unsigned i = 1; i < registers.getNumSubRegIndices(); i++)
            for (unsigned k = 0; k < 2; k++)
                if (llvm::StringRef(registers.getSubRegIndexName(i)) == (k ? "sub1" : "sub0"))
                    half[k] = i;
    }
};

/* Writes one piece. */
class Writer {
public:
    Writer(llvm::MachineInstr &piece, bool keeps_live)
        : keeps_live(keeps_live), piece(piece), function(*piece.getMF()), info(*function.getSubtarget().getInstrInfo()), registers(*function.getSubtarget().getRegisterInfo())
    {
        for (unsigned i = llvm::InlineAsm::MIOp_FirstOperand, n; i < piece.getNumOperands() && piece.getOperand(i).isImm(); i += 1 + n) {
            llvm::InlineAsm::Flag flag(unsigned(piece.getOperand(i).getImm()));
            llvm::Register r = piece.getOperand(i + 1).getReg();
            unsigned tied;
            n = flag.getNumOperandRegisters();
            if (!flag.isUseOperandTiedToDef(tied))
                reg.push_back(r);
            else if (r != reg[tied])
                llvm::report_fatal_error("what is tied is in two registers");
            outs += flag.isRegDefKind() || flag.isRegDefEarlyClobberKind();
        }
    }

    /* What is behind the piece becomes a block of its own. False: the text is none of a piece. */
    bool
    write(llvm::StringRef text)
    {
        llvm::SmallVector<llvm::StringRef, 32> words;
        llvm::SmallVector<llvm::Register, 32> tested;
        unsigned r;
        text.split(words, ' ', -1, false);
        for (llvm::StringRef word : words)
            if (word.consume_front("?") && !word.getAsInteger(10, r) && r < outs)
                tested.push_back(reg[r]);
        if (outs < 3 || tested.empty())
            return false;
        const bool wide = llvm::StringRef(registers.getName(reg[outs - 1])).contains('_');      /* SGPR2_SGPR3 */
        vcc = info.get(number().opcode[UNORDERED_VCC]).implicit_defs()[0];
        scc = info.get(number().opcode[SCALAR_AND]).implicit_defs()[0];
        vcc = wide ? vcc : half(vcc, 0);
        block = piece.getParent();
        at = piece.getIterator();
        live_vcc = wide ? is_live(half(vcc, 0)) || is_live(half(vcc, 1)) : is_live(vcc);
        live_scc = is_live(scc);
        mask = live_vcc ? vcc : reg[outs - 1];
        room = reg[outs - 2];

        llvm::MachineBasicBlock *behind = new_block(), *rare = new_block();
        function.insert(std::next(block->getIterator()), behind);
        function.push_back(rare);
        behind->splice(behind->end(), block, std::next(at), block->end());
        behind->transferSuccessors(block);
        rare->addSuccessor(behind);
        if (live_vcc)
            build(wide ? SCALAR_MOV64 : SCALAR_MOV, reg[outs - 1]).addReg(vcc);
        test(tested, behind, rare);

        block = rare;
        at = rare->end();
        for (llvm::StringRef word : llvm::ArrayRef(words).drop_front(tested.size()))
            if (!value(word))
                return false;
        build(BRANCH).addMBB(behind);
        block = behind;
        at = behind->begin();
        if (live_vcc)
            build(wide ? SCALAR_MOV64 : SCALAR_MOV, vcc).addReg(reg[outs - 1]);
        piece.eraseFromParent();
        llvm::LivePhysRegs live;
        for (llvm::MachineBasicBlock *b : made)
            if (keeps_live)
                llvm::computeAndAddLiveIns(live, *b);
        return true;
    }

private:
    const numbers &
    number()
    {
        static const numbers all(info, registers);
        return all;
    }

    llvm::MachineInstrBuilder
    build(op o)
    {
        return llvm::BuildMI(*block, at, piece.getDebugLoc(), info.get(number().opcode[o]));
    }

    llvm::MachineInstrBuilder
    build(op o, llvm::Register to)
    {
        return llvm::BuildMI(*block, at, piece.getDebugLoc(), info.get(number().opcode[o]), to);
    }

    llvm::Register
    half(llvm::Register r, unsigned k)
    {
        return registers.getSubReg(r, number().half[k]);
    }

    bool
    is_vector(llvm::Register r)
    {
        return llvm::StringRef(registers.getName(r)).starts_with("VGPR");
    }

    llvm::MachineBasicBlock *
    new_block()
    {
        llvm::MachineBasicBlock *b = function.CreateMachineBasicBlock(block->getBasicBlock());
        if (live_scc)
            b->addLiveIn(scc);
        made.insert(made.begin() + std::min(made.size(), size_t(2)), b);
        return b;
    }

    /* Does somebody read the register behind the piece? */
    bool
    is_live(llvm::Register r)
    {
        for (auto i = std::next(piece.getIterator()); i != block->end(); i++) {
            if (i->readsRegister(r, &registers))
                return true;
            if (i->modifiesRegister(r, &registers))
                return false;
        }
        for (const llvm::MachineBasicBlock *b : block->successors())
            for (llvm::MCRegAliasIterator alias(r, &registers, true); alias.isValid(); ++alias)
                if (b->isLiveIn(*alias))
                    return true;
        return false;
    }

    /* Is one of these NaN in a lane? Two are compared at a time. */
    void
    test(llvm::ArrayRef<llvm::Register> of, llvm::MachineBasicBlock *behind, llvm::MachineBasicBlock *rare)
    {
        for (unsigned i = 0; i < of.size(); i += 2) {
            if (i) {
                llvm::MachineBasicBlock *next = new_block();
                function.insert(behind->getIterator(), next);
                block->addSuccessor(next);
                block = next;
                at = next->end();
            }
            build(UNORDERED_VCC).addReg(of[i]).addReg(of[i + 1 < of.size() ? i + 1 : i]);
            build(BRANCH_VCC).addMBB(rare);
            block->addSuccessor(rare);
        }
        block->addSuccessor(behind);
    }

    void
    compare(llvm::Register v)
    {
        build(UNORDERED, mask).addImm(0).addReg(v).addImm(0).addReg(v).addImm(0);
    }

    /* By the mask; zero, if that is no register. */
    void
    select(llvm::Register to, llvm::Register from)
    {
        llvm::MachineInstrBuilder b = build(CNDMASK, to).addImm(0).addReg(to).addImm(0);
        if (from)
            b.addReg(from);
        else
            b.addImm(0);
        b.addReg(mask);
    }

    /* Where v is NaN, `to` is FP_NAN_F64. */
    void
    none(llvm::Register to, llvm::Register v)
    {
        compare(v);
        build(MOV, room).addImm(int32_t(FP_NAN_F64 >> 32));
        select(half(to, 0), {});
        select(half(to, 1), room);
    }

    /* Where v is NaN, `to` is v, quieted. */
    void
    one(llvm::Register to, llvm::Register v)
    {
        compare(v);
        if (is_vector(v)) {
            select(half(to, 0), half(v, 0));
            build(OR, room).addImm(1 << 19).addReg(half(v, 1));
        } else {
            build(MOV, room).addReg(half(v, 0));
            select(half(to, 0), room);
            build(MOV, room).addReg(half(v, 1));
            build(OR, room).addImm(1 << 19).addReg(room);
        }
        select(half(to, 1), room);
    }

    /* Which NaN a value is: the last of the list first. */
    bool
    value(llvm::StringRef text)
    {
        llvm::SmallVector<llvm::StringRef, 16> list;
        unsigned r;
        text.split(list, ',');
        if (list[0].getAsInteger(10, r) || r >= outs)
            return false;
        const llvm::Register to = reg[r];
        none(to, to);
        for (llvm::StringRef word : llvm::reverse(llvm::ArrayRef(list).drop_front())) {
            const bool is_none = word.consume_front("!");
            if (word.getAsInteger(10, r) || r >= reg.size())
                return false;
            if (is_none)
                none(to, reg[r]);
            else
                one(to, reg[r]);
        }
        return true;
    }

    const bool keeps_live;
    bool live_vcc = false, live_scc = false;
    llvm::Register vcc, scc, mask, room;        /* room: one to overwrite */
    llvm::MachineInstr &piece;
    llvm::MachineFunction &function;
    const llvm::TargetInstrInfo &info;
    const llvm::TargetRegisterInfo &registers;
    llvm::SmallVector<llvm::Register, 64> reg;      /* by its number */
    unsigned outs = 0;
    llvm::SmallVector<llvm::MachineBasicBlock *, 8> made;       /* behind, rare, and the last of others first */
    llvm::MachineBasicBlock *block = nullptr;       /* where instructions are written, and before which */
    llvm::MachineBasicBlock::iterator at;
};

} // namespace

bool
cwj_amd_write_nans(llvm::MachineFunction &f)
{
    llvm::SmallVector<std::pair<llvm::MachineInstr *, llvm::StringRef>, 32> pieces;
    size_t size = 0;
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b) {
            size += 12;
            if (!i.isInlineAsm())
                continue;
            llvm::StringRef text = i.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName();
            if (!text.consume_front(EMIT_NAN64 " "))
                continue;
            pieces.push_back({ &i, text });
            size += 16 * text.size();
        }
    /* The last of a block first: what is behind it is left alone. Where a branch may be too far for its instruction, LLVM looks for registers that are free. */
    for (auto &[piece, text] : llvm::reverse(pieces))
        if (!Writer(*piece, size > 100000).write(text))
            llvm::report_fatal_error("a piece of code for NaN that is none");
    return !pieces.empty();
}
