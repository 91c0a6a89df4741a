/* SPDX-License-Identifier: Apache-2.0
 * Expands the pseudo-instructions of jit/emit/target/amdgcn/pseudo.h after register allocation: most before LLVM inserts waits between
 * instructions; NaN of f64 later, when no other pass needs to see the blocks that it adds at the end of the function. A malformed
 * pseudo-instruction fails the compile. */
#include "jit/llvm/amdgpu/machine_passes.h"
#include "jit/emit/target/amdgcn/pseudo.h"
#include "jit/llvm/amdgpu/opcodes.h"
#include "jit/llvm/contain.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/CodeGen/LivePhysRegs.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace {

/* A pseudo-instruction, and where its expansion goes. */
struct pseudo {
    gcn_pseudo_kind kind = GCN_PSEUDOS;
    const char *text = nullptr;                     /* its words */
    llvm::MachineInstr &instruction;
    llvm::MachineFunction &function;
    llvm::SmallVector<llvm::Register, 64> reg;      /* by operand number */
    unsigned outs = 0;
    llvm::MachineBasicBlock *block;
    llvm::MachineBasicBlock::iterator at;

    explicit
    pseudo(llvm::MachineInstr &i)
        : instruction(i), function(*i.getMF()), block(i.getParent()), at(i.getIterator())
    {
        text = i.isInlineAsm() ? i.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName() : "";
        if (!gcn_pseudo_name(&text, &kind))
            return;
        for (unsigned k = llvm::InlineAsm::MIOp_FirstOperand, n; k < i.getNumOperands() && i.getOperand(k).isImm(); k += 1 + n) {
            llvm::InlineAsm::Flag flag(unsigned(i.getOperand(k).getImm()));
            llvm::Register r = i.getOperand(k + 1).getReg();
            unsigned tied;
            n = flag.getNumOperandRegisters();
            if (!flag.isUseOperandTiedToDef(tied))
                reg.push_back(r);
            else if (r != reg[tied])
                cwj_contain_abandon(CW_ERR_INTERNAL, 5902, "internal error: a tied operand is in two registers");
            outs += flag.isRegDefKind() || flag.isRegDefEarlyClobberKind();
        }
    }

    llvm::MachineInstrBuilder
    build(cwj_amd_opcode o)
    {
        return llvm::BuildMI(*block, at, instruction.getDebugLoc(), cwj_amd_instruction(function, o));
    }

    llvm::MachineInstrBuilder
    build(cwj_amd_opcode o, llvm::Register to)
    {
        return llvm::BuildMI(*block, at, instruction.getDebugLoc(), cwj_amd_instruction(function, o), to);
    }

    /* The next word, if its operation is one of these and its operands from `first` on are registers. False: the end, or malformed. */
    bool
    next(gcn_pseudo_word &w, const char *operations, unsigned first = 0)
    {
        if (!gcn_pseudo_next(&text, &w) || !llvm::StringRef(operations).contains(w.operation))
            return false;
        for (unsigned k = first; k < w.n; k++)
            if (w.operand[k].number >= reg.size())
                return false;
        return true;
    }
};

/* ---- subnormals ------------------------------------------------------------------------------------------------------------------ */

/* An operand: a register, perhaps negated, or an inline constant. */
struct source {
    llvm::Register reg;
    int64_t number = 0;
    bool negated = false;
};

void
add(llvm::MachineInstrBuilder &b, const source &s)
{
    if (s.reg)
        b.addReg(s.reg);
    else
        b.addImm(s.number);
}

void
integer(pseudo &p, cwj_amd_opcode o, llvm::Register to, std::initializer_list<source> from)
{
    llvm::MachineInstrBuilder b = p.build(o, to);
    for (const source &s : from)
        add(b, s);
}

/* A floating-point instruction with operand signs, without clamping or output modifier. */
void
floating(pseudo &p, cwj_amd_opcode o, llvm::Register to, llvm::ArrayRef<source> from)
{
    llvm::MachineInstrBuilder b = p.build(o, to);
    for (const source &s : from) {
        b.addImm(s.negated);
        add(b, s);
    }
    b.addImm(0).addImm(0);
}

bool
expand_small(pseudo &p)
{
    auto twice = [&](unsigned to, unsigned from) {
        integer(p, CWJ_AMD_V_LSHL_ADD_U32_e64, p.reg[to], { { p.reg[from] }, { {}, 1 }, { {}, -1 } });
    };
    unsigned in = p.outs, n = unsigned(p.reg.size());
    twice(0, in++);
    for (; in + 1 < n; in += 2) {
        twice(1, in);
        twice(2, in + 1);
        integer(p, CWJ_AMD_V_MIN3_U32_e64, p.reg[0], { { p.reg[0] }, { p.reg[1] }, { p.reg[2] } });
    }
    if (in < n) {
        twice(1, in);
        integer(p, CWJ_AMD_V_MIN_U32_e64, p.reg[0], { { p.reg[0] }, { p.reg[1] } });
    }
    return true;
}

/* `to` is v, or a zero of its sign if the exponent of `test` is at most `most`. */
void
flush(pseudo &p, llvm::Register to, llvm::Register v, llvm::Register test, int64_t most)
{
    llvm::Register t = p.reg[p.outs - 2], mask = p.reg[p.outs - 1];
    integer(p, CWJ_AMD_V_BFE_U32_e64, t, { { test }, { {}, 23 }, { {}, 8 } });
    integer(p, CWJ_AMD_V_CMP_GE_U32_e64, mask, { { {}, most }, { t } });
    integer(p, CWJ_AMD_V_AND_B32_e32, t, { { {}, INT32_MIN }, { v } });
    p.build(CWJ_AMD_V_CNDMASK_B32_e64, to).addImm(0).addReg(v).addImm(0).addReg(t).addReg(mask);
}

/* As exactly() of jit/passes/exact/flush.c, but by exponents: a scaled result that is not zero has one of 65 or more. */
bool
expand_flush(pseudo &p)
{
    enum { OVERWRITTEN = 5 };
    gcn_pseudo_word w;
    for (unsigned i = 0; i + OVERWRITTEN < p.outs; i++) {
        if (!p.next(w, "f+*#") || w.n != (w.operation == 'f' ? 0 : w.operation == '#' ? 3 : 2))
            return false;
        const llvm::Register to = p.reg[i], t = p.reg[p.outs - 2], scratch[3] = { to, p.reg[p.outs - 3], p.reg[p.outs - 4] }, t1 = p.reg[p.outs - 5];
        const cwj_amd_opcode o = w.operation == '+' ? CWJ_AMD_V_ADD_F32_e64 : w.operation == '*' ? CWJ_AMD_V_MUL_F32_e64 : CWJ_AMD_V_FMA_F32_e64;
        llvm::SmallVector<source, 3> from;
        for (unsigned k = 0; k < w.n; k++) {
            from.push_back({ p.reg[w.operand[k].number], 0, bool(w.operand[k].flags & GCN_NEGATED) });
            if (w.operand[k].flags & GCN_FLUSHED) {
                flush(p, scratch[k], from[k].reg, from[k].reg, 0);
                from[k].reg = scratch[k];
            }
        }
        llvm::Register test = to;
        if (w.operation == '*' || w.operation == '#') {
            llvm::SmallVector<source, 3> scaled = from;
            test = t;
            scaled[0] = { t };
            floating(p, CWJ_AMD_V_LDEXP_F32_e64, t, { from[0], { {}, 64 } });
            if (w.operation == '#') {
                scaled[2] = { t1 };
                floating(p, CWJ_AMD_V_LDEXP_F32_e64, t1, { from[2], { {}, 64 } });
            }
            floating(p, o, t, scaled);
        }
        if (w.operation != 'f')
            floating(p, o, to, from);
        flush(p, to, to, test, test == to ? 0 : 64);
    }
    return !*p.text;
}

bool
expand_max3(pseudo &p)
{
    source nan = p.reg.size() > 2 ? source{ p.reg[2] } : source{ {}, 0x7fffffff };
    llvm::MachineInstrBuilder b = p.build(CWJ_AMD_V_MAX3_F32_e64, p.reg[0]);
    for (const source &s : { nan, source{ p.reg[1] }, nan }) {
        b.addImm(0);
        add(b, s);
    }
    b.addImm(0).addImm(0);
    return true;
}

/* ---- dot products ---------------------------------------------------------------------------------------------------------------- */

struct dots {
    pseudo p;
    cwj_amd_opcode opcode = CWJ_AMD_OPCODE_COUNT;
    unsigned row_sign = 0, column_sign = 0, words = 0, sums = 0;
    bool saturates = false, good = false;

    explicit
    dots(llvm::MachineInstr &i) : p(i)
    {
        static const cwj_amd_opcode opcodes[GCN_DOTS] = {
            CWJ_AMD_V_DOT4_I32_IU8, CWJ_AMD_V_DOT8_I32_IU4, CWJ_AMD_V_DOT4_I32_I8, CWJ_AMD_V_DOT4_U32_U8, CWJ_AMD_V_DOT8_I32_I4, CWJ_AMD_V_DOT8_U32_U4,
        };
        gcn_pseudo_word w;
        if (p.kind != GCN_PSEUDO_DOTS || !p.next(w, "d", 5) || w.n != 5 || w.operand[0].number >= GCN_DOTS)
            return;
        opcode = opcodes[w.operand[0].number];
        row_sign = w.operand[1].number;
        column_sign = w.operand[2].number;
        words = w.operand[3].number;
        saturates = w.operand[4].number;
        sums = saturates ? p.outs / 2 : p.outs;
        good = p.reg.size() == p.outs + words * (sums + 1);
    }

    /* Number of steps: the products of all sums in turn, and then the addends. */
    unsigned length() const { return sums * (words + saturates); }

    void
    step(unsigned n)
    {
        const unsigned i = n % sums, w = n / sums;
        const llvm::Register sum = p.reg[saturates ? sums + i : i];
        if (w < words)
            dot(sum, p.reg[p.outs + w], p.reg[p.outs + words * (i + 1) + w], saturates && !w);
        else
            p.build(CWJ_AMD_V_ADD_I32_e64, p.reg[i]).addReg(sum).addReg(p.reg[i]).addImm(1);
    }

    /* Operands as for any packed instruction: UPPER selects the upper half of a word for the upper half of the result; the bits that negate
     * other operands say that these are signed. */
    void
    dot(llvm::Register sum, llvm::Register a, llvm::Register b, bool zero)
    {
        enum { UPPER = 8 };
        llvm::MachineInstrBuilder i = p.build(opcode, sum);
        i.addImm(UPPER | row_sign).addReg(a).addImm(UPPER | column_sign).addReg(b).addImm(UPPER);
        add(i, zero ? source{} : source{ sum });
        for (unsigned n = 7; n < i->getDesc().getNumOperands(); n++)
            i.addImm(0);
    }

    /* Can the two be interleaved? No output of one is a register of the other. */
    bool
    is_apart(const dots &other) const
    {
        auto outs_in = [](const pseudo &a, const pseudo &b) {
            return std::any_of(a.reg.begin(), a.reg.begin() + a.outs, [&](llvm::Register r) { return llvm::is_contained(b.reg, r); });
        };
        return !outs_in(p, other.p) && !outs_in(other.p, p);
    }
};

/* Interleave consecutive dot products: each instruction waits for its own sum, and others can use that time. */
bool
expand_dots(llvm::MachineInstr &first)
{
    enum { TOGETHER = 4 };
    llvm::SmallVector<dots, TOGETHER> group;
    unsigned longest = 0;
    for (auto i = first.getIterator(), end = first.getParent()->instr_end(); i != end && group.size() < TOGETHER; ++i) {
        dots d(*i);
        if (!d.good || !llvm::all_of(group, [&](const dots &other) { return d.is_apart(other); }))
            break;
        longest = std::max(longest, d.length());
        group.push_back(d);
    }
    for (unsigned n = 0; n < longest; n++)
        for (dots &d : group)
            if (n < d.length()) {
                d.p.at = first.getIterator();
                d.step(n);
            }
    for (const dots &d : llvm::drop_begin(group))
        d.p.instruction.eraseFromParent();
    return !group.empty();
}

/* ---- NaN of f64 ------------------------------------------------------------------------------------------------------------------ */

struct nan64 {
    pseudo p;
    bool wide = false, live_vcc = false, live_scc = false;      /* wide: wave64 */
    llvm::Register vcc, scc, mask, scratch;
    llvm::SmallVector<llvm::MachineBasicBlock *, 8> made;       /* behind, rare, then the last of the others first */
    const llvm::TargetRegisterInfo &registers;

    explicit
    nan64(llvm::MachineInstr &i)
        : p(i), registers(*p.function.getSubtarget().getRegisterInfo())
    {
    }

    /* Expand it; the code behind it becomes a block of its own. False: malformed. */
    bool
    expand()
    {
        llvm::SmallVector<llvm::Register, 32> tested;
        gcn_pseudo_word w;
        bool more;
        while ((more = p.next(w, "?=")) && w.operation == '?' && w.n == 1)
            tested.push_back(p.reg[w.operand[0].number]);
        if (p.outs < 3 || tested.empty())
            return false;
        wide = llvm::StringRef(name(p.reg[p.outs - 1])).contains('_');         /* SGPR2_SGPR3 */
        vcc = cwj_amd_register(p.function, "VCC");
        scc = cwj_amd_register(p.function, "SCC");
        live_vcc = is_live(half(vcc, 0)) || (wide && is_live(half(vcc, 1)));
        vcc = wide ? vcc : half(vcc, 0);
        live_scc = is_live(scc);
        mask = live_vcc ? vcc : p.reg[p.outs - 1];
        scratch = p.reg[p.outs - 2];

        llvm::MachineBasicBlock *behind = new_block(), *rare = new_block();
        p.function.insert(std::next(p.block->getIterator()), behind);
        p.function.push_back(rare);
        behind->splice(behind->end(), p.block, std::next(p.at), p.block->end());
        behind->transferSuccessors(p.block);
        rare->addSuccessor(behind);
        if (live_vcc)
            move(p.reg[p.outs - 1], vcc);
        test(tested, behind, rare);

        p.block = rare;
        p.at = rare->end();
        for (; more; more = p.next(w, "="))
            if (!value(w))
                return false;
        p.build(CWJ_AMD_S_BRANCH).addMBB(behind);
        p.block = behind;
        p.at = behind->begin();
        if (live_vcc)
            move(vcc, p.reg[p.outs - 1]);
        llvm::LivePhysRegs live;
        for (llvm::MachineBasicBlock *b : made)
            llvm::computeAndAddLiveIns(live, *b);
        return !*p.text;
    }

    const char *name(llvm::Register r) const { return p.function.getSubtarget().getRegisterInfo()->getName(r); }
    llvm::Register half(llvm::Register r, unsigned k) const { return cwj_amd_half(p.function, r, k); }

    void
    move(llvm::Register to, llvm::Register from)
    {
        p.build(wide ? CWJ_AMD_S_MOV_B64 : CWJ_AMD_S_MOV_B32, to).addReg(from);
    }

    llvm::MachineBasicBlock *
    new_block()
    {
        llvm::MachineBasicBlock *b = p.function.CreateMachineBasicBlock(p.block->getBasicBlock());
        if (live_scc)
            b->addLiveIn(scc);
        made.insert(made.begin() + std::min(made.size(), size_t(2)), b);
        return b;
    }

    /* Is the register read behind the pseudo-instruction? */
    bool
    is_live(llvm::Register r)
    {
        for (auto i = std::next(p.instruction.getIterator()); i != p.block->end(); i++) {
            if (i->readsRegister(r, &registers))
                return true;
            if (i->modifiesRegister(r, &registers))
                return false;
        }
        for (const llvm::MachineBasicBlock *b : p.block->successors())
            for (llvm::MCRegAliasIterator alias(r, &registers, true); alias.isValid(); ++alias)
                if (b->isLiveIn(*alias))
                    return true;
        return false;
    }

    /* Is one of these NaN in some lane? Each comparison tests two. */
    void
    test(llvm::ArrayRef<llvm::Register> of, llvm::MachineBasicBlock *behind, llvm::MachineBasicBlock *rare)
    {
        for (unsigned i = 0; i < of.size(); i += 2) {
            if (i) {
                llvm::MachineBasicBlock *next = new_block();
                p.function.insert(behind->getIterator(), next);
                p.block->addSuccessor(next);
                p.block = next;
                p.at = next->end();
            }
            p.build(CWJ_AMD_V_CMP_U_F64_e32).addReg(of[i]).addReg(of[i + 1 < of.size() ? i + 1 : i]);
            p.build(CWJ_AMD_S_CBRANCH_VCCNZ).addMBB(rare);
            p.block->addSuccessor(rare);
        }
        p.block->addSuccessor(behind);
    }

    void
    compare(llvm::Register v)
    {
        p.build(CWJ_AMD_V_CMP_U_F64_e64, mask).addImm(0).addReg(v).addImm(0).addReg(v).addImm(0);
    }

    /* `from` (zero if it is no register) in the lanes of the mask. */
    void
    select(llvm::Register to, llvm::Register from)
    {
        llvm::MachineInstrBuilder b = p.build(CWJ_AMD_V_CNDMASK_B32_e64, to).addImm(0).addReg(to).addImm(0);
        add(b, { from });
        b.addReg(mask);
    }

    /* Set `to` to FP_NAN_F64 where v is NaN. */
    void
    invalid(llvm::Register to, llvm::Register v)
    {
        compare(v);
        p.build(CWJ_AMD_V_MOV_B32_e32, scratch).addImm(int32_t(FP_NAN_F64 >> 32));
        select(half(to, 0), {});
        select(half(to, 1), scratch);
    }

    /* Set `to` to v, quieted, where v is NaN. */
    void
    quieted(llvm::Register to, llvm::Register v)
    {
        compare(v);
        if (llvm::StringRef(name(v)).starts_with("VGPR")) {
            select(half(to, 0), half(v, 0));
            p.build(CWJ_AMD_V_OR_B32_e32, scratch).addImm(1 << 19).addReg(half(v, 1));
        } else {
            p.build(CWJ_AMD_V_MOV_B32_e32, scratch).addReg(half(v, 0));
            select(half(to, 0), scratch);
            p.build(CWJ_AMD_V_MOV_B32_e32, scratch).addReg(half(v, 1));
            p.build(CWJ_AMD_V_OR_B32_e32, scratch).addImm(1 << 19).addReg(scratch);
        }
        select(half(to, 1), scratch);
    }

    /* Compute a value's NaN: write the last of the list first, so that the first one wins. */
    bool
    value(const gcn_pseudo_word &w)
    {
        if (!w.n || w.operand[0].number >= p.outs)
            return false;
        const llvm::Register to = p.reg[w.operand[0].number];
        invalid(to, to);
        for (unsigned k = w.n; k-- > 1;)
            if (w.operand[k].flags & GCN_INVALID)
                invalid(to, p.reg[w.operand[k].number]);
            else
                quieted(to, p.reg[w.operand[k].number]);
        return true;
    }
};

bool
finish(pseudo &p, bool good)
{
    if (!good)
        cwj_contain_abandon(CW_ERR_INTERNAL, 5902, "internal error: a malformed pseudo-instruction:%s", p.text);
    p.instruction.eraseFromParent();
    return true;
}

} // namespace

bool
cwj_amd_expand_pseudo(llvm::MachineFunction &f, llvm::Pass &)
{
    bool changed = false;
    for (llvm::MachineBasicBlock &b : f)
        for (auto i = b.begin(); i != b.end();) {
            if (!i->isInlineAsm()) {
                ++i;
                continue;
            }
            pseudo p(*i);
            bool good = false;
            switch (p.kind) {
            case GCN_PSEUDO_SMALL: good = expand_small(p); break;
            case GCN_PSEUDO_FLUSH: good = expand_flush(p); break;
            case GCN_PSEUDO_MAX3:  good = expand_max3(p); break;
            case GCN_PSEUDO_DOTS:  good = expand_dots(p.instruction); break;
            default: ++i; continue;
            }
            ++i;
            changed |= finish(p, good);
        }
    return changed;
}

bool
cwj_amd_expand_nan64(llvm::MachineFunction &f, llvm::Pass &)
{
    llvm::SmallVector<llvm::MachineInstr *, 32> found;
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : b)
            if (i.isInlineAsm() && pseudo(i).kind == GCN_PSEUDO_NAN64)
                found.push_back(&i);
    /* The last of a block first: the code behind it is not visited again. */
    for (llvm::MachineInstr *i : llvm::reverse(found)) {
        nan64 n(*i);
        finish(n.p, n.expand());
    }
    return !found.empty();
}
