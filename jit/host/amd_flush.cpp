/* SPDX-License-Identifier: Apache-2.0
 * See amd_flush.h. A piece that is not understood stays and is an error of LLVM's assembler. */
#include "jit/host/amd_flush.h"
#include "jit/emit/flush_code.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/ErrorHandling.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace {

enum op { ADD, MUL, FMA, LDEXP, BFE, CMP_GE, AND, CNDMASK, LSHL_ADD, MIN, MIN3, MAX3, OPS };

/* LLVM's numbers of them, the same for all processors. */
struct opcodes {
    unsigned number[OPS];

    explicit
    opcodes(const llvm::TargetInstrInfo &info)
    {
        static const char *const names[OPS] = { "V_ADD_F32_e64", "V_MUL_F32_e64", "V_FMA_F32_e64", "V_LDEXP_F32_e64", "V_BFE_U32_e64", "V_CMP_GE_U32_e64",
                                                "V_AND_B32_e32", "V_CNDMASK_B32_e64", "V_LSHL_ADD_U32_e64", "V_MIN_U32_e64", "V_MIN3_U32_e64",
                                                "V_MAX3_F32_e64" };
        for (unsigned k = 0; k < OPS; k++)
            number[k] = find(info, names[k]);
    }

private:
    /* Of the target's, those that have no encoding of their own come first, in the order of their names. */
    static unsigned
    find(const llvm::TargetInstrInfo &info, llvm::StringRef name)
    {
        auto all = llvm::seq(unsigned(llvm::TargetOpcode::GENERIC_OP_END) + 1, info.getNumOpcodes());
        auto at = llvm::partition_point(all, [&](unsigned i) { return info.get(i).isPseudo() && info.getName(i) < name; });
        if (at == all.end() || info.getName(*at) != name)
            at = llvm::find_if(all, [&](unsigned i) { return info.getName(i) == name; });
        if (at == all.end())
            llvm::report_fatal_error(llvm::Twine("LLVM has no ") + name);
        return *at;
    }
};

/* A dot product, or the sum that saturates. */
unsigned
find_dot(const llvm::TargetInstrInfo &info, llvm::StringRef name)
{
    static const llvm::StringMap<unsigned> all = [&info] {
        llvm::StringMap<unsigned> found;
        for (unsigned i = 0; i < info.getNumOpcodes(); i++)
            if (info.getName(i).starts_with("V_DOT") || info.getName(i) == "V_ADD_I32_e64")
                found[info.getName(i)] = i;
        return found;
    }();
    return all.lookup(name);
}

unsigned
opcode(const llvm::TargetInstrInfo &info, op o)
{
    static const opcodes all(info);
    return all.number[o];
}

/* An operand: a register, perhaps negated, or a number that instructions have a code for. */
struct source {
    llvm::Register reg;
    int64_t number = 0;
    bool negated = false, flushed = false;
};

/* Writes one piece. */
class Writer {
public:
    explicit Writer(llvm::MachineInstr &piece)
        : piece(piece), info(*piece.getMF()->getSubtarget().getInstrInfo())
    {
        for (unsigned i = llvm::InlineAsm::MIOp_FirstOperand, n; i < piece.getNumOperands() && piece.getOperand(i).isImm(); i += 1 + n) {
            llvm::InlineAsm::Flag flag(unsigned(piece.getOperand(i).getImm()));
            unsigned tied;
            n = flag.getNumOperandRegisters();
            if (!flag.isUseOperandTiedToDef(tied))
                reg.push_back(piece.getOperand(i + 1).getReg());
            else if (piece.getOperand(i + 1).getReg() != reg[tied])
                llvm::report_fatal_error("what is tied is in two registers");
            outs += flag.isRegDefKind() || flag.isRegDefEarlyClobberKind();
        }
    }

    void
    test()
    {
        unsigned in = outs, n = unsigned(reg.size());
        twice(0, in++);
        for (; in + 1 < n; in += 2) {
            twice(1, in);
            twice(2, in + 1);
            integer(MIN3, reg[0], { { reg[0] }, { reg[1] }, { reg[2] } });
        }
        if (in < n) {
            twice(1, in);
            integer(MIN, reg[0], { { reg[0] }, { reg[1] } });
        }
    }

    /* False: the text is none of these. */
    bool
    again(llvm::StringRef text)
    {
        llvm::SmallVector<llvm::StringRef, 16> ops;
        text.split(ops, ' ', -1, false);
        if (ops.size() + OVERWRITTEN != outs)
            return false;
        for (unsigned i = 0; i < ops.size(); i++)
            if (!operation(i, ops[i]))
                return false;
        return true;
    }

    /* False: these are no dot products. */
    bool
    dots(llvm::StringRef text)
    {
        llvm::SmallVector<llvm::StringRef, 5> part;
        text.split(part, ' ');
        code = part.size() == 5 ? find_dot(info, part[0]) : 0;
        return code && !part[1].getAsInteger(10, row_sign) && !part[2].getAsInteger(10, column_sign) && !part[3].getAsInteger(10, words) &&
               !part[4].getAsInteger(10, saturates) && reg.size() == outs + words * (sums() + 1);
    }

    /* Those of so many sums, whose products are in turn, and then what each is added to. */
    unsigned
    length() const
    {
        return sums() * (words + (saturates ? 1 : 0));
    }

    void
    step(unsigned n, llvm::MachineInstr &at)
    {
        const unsigned i = n % sums(), w = n / sums();
        const llvm::Register sum = reg[saturates ? sums() + i : i];
        if (w < words)
            dot(at, sum, { row_sign, reg[outs + w] }, { column_sign, reg[outs + words * (i + 1) + w] }, saturates && !w);
        else
            llvm::BuildMI(*at.getParent(), at, at.getDebugLoc(), info.get(find_dot(info, "V_ADD_I32_e64")), reg[i]).addReg(sum).addReg(reg[i]).addImm(1);
    }

    /* Could one be written among the other? Nothing that comes out of one is anything of the other. */
    bool
    is_apart(const Writer &other) const
    {
        auto outs_in = [](const Writer &a, const Writer &b) {
            return std::any_of(a.reg.begin(), a.reg.begin() + a.outs, [&](llvm::Register r) { return llvm::is_contained(b.reg, r); });
        };
        return !outs_in(*this, other) && !outs_in(other, *this);
    }

private:
    unsigned
    sums() const
    {
        return saturates ? outs / 2 : outs;
    }

    struct factor {
        unsigned has_sign;
        llvm::Register reg;
    };

    /* Operands as for any packed instruction: 8 takes the upper half of a word for the upper half; a sign is where others negate. */
    void
    dot(llvm::MachineInstr &at, llvm::Register sum, factor a, factor b, bool zero)
    {
        enum { UPPER = 8 };
        const llvm::MCInstrDesc &desc = info.get(code);
        llvm::MachineInstrBuilder i = llvm::BuildMI(*at.getParent(), at, at.getDebugLoc(), desc, sum);
        i.addImm(UPPER | a.has_sign).addReg(a.reg).addImm(UPPER | b.has_sign).addReg(b.reg).addImm(UPPER);
        add(i, zero ? source{} : source{ sum });
        for (unsigned n = 7; n < desc.getNumOperands(); n++)
            i.addImm(0);
    }

    llvm::MachineInstrBuilder
    build(op o, llvm::Register to)
    {
        return llvm::BuildMI(*piece.getParent(), piece, piece.getDebugLoc(), info.get(opcode(info, o)), to);
    }

    static void
    add(llvm::MachineInstrBuilder &b, const source &s)
    {
        if (s.reg)
            b.addReg(s.reg);
        else
            b.addImm(s.number);
    }

    void
    integer(op o, llvm::Register to, std::initializer_list<source> from)
    {
        llvm::MachineInstrBuilder b = build(o, to);
        for (const source &s : from)
            add(b, s);
    }

    /* With signs in front of operands; no clamping, no factor. */
    void
    floating(op o, llvm::Register to, llvm::ArrayRef<source> from)
    {
        llvm::MachineInstrBuilder b = build(o, to);
        for (const source &s : from) {
            b.addImm(s.negated);
            add(b, s);
        }
        b.addImm(0).addImm(0);
    }

    void
    twice(unsigned to, unsigned from)
    {
        integer(LSHL_ADD, reg[to], { { reg[from] }, { {}, 1 }, { {}, -1 } });
    }

    /* `to` is v, or a zero of its sign where the exponent of `test` is `most` or less. */
    void
    flush(llvm::Register to, llvm::Register v, llvm::Register test, int64_t most)
    {
        llvm::Register t = reg[outs - 2], mask = reg[outs - 1];
        integer(BFE, t, { { test }, { {}, 23 }, { {}, 8 } });
        integer(CMP_GE, mask, { { {}, most }, { t } });
        integer(AND, t, { { {}, INT32_MIN }, { v } });
        build(CNDMASK, to).addImm(0).addReg(v).addImm(0).addReg(t).addReg(mask);
    }

    /* f has none. */
    bool
    operands(llvm::StringRef text, llvm::SmallVectorImpl<source> &from)
    {
        while (!text.empty()) {
            source s;
            unsigned r;
            s.negated = text.consume_front("-");
            s.flushed = text.consume_front("~");
            if (text.consumeInteger(10, r) || r >= reg.size())
                return false;
            s.reg = reg[r];
            from.push_back(s);
            text.consume_front(",");
        }
        return true;
    }

    /* As amdgcn_flush.c's exactly() has it, but for exponents: the scaled result's is 65 or more where it is no zero's. */
    bool
    operation(unsigned i, llvm::StringRef text)
    {
        llvm::Register to = reg[i], t = reg[outs - 2], room[3] = { to, reg[outs - 3], reg[outs - 4] }, t1 = reg[outs - 5];
        char letter = text.front();
        llvm::SmallVector<source, 3> from;
        op o = letter == '+' ? ADD : letter == '*' ? MUL : FMA;

        if (!llvm::StringRef("f+*#").contains(letter) || !operands(text.drop_front(), from) || from.size() != (letter == 'f' ? 0 : o == FMA ? 3 : 2))
            return false;
        if (letter == 'f') {
            flush(to, to, to, 0);
            return true;
        }
        for (unsigned k = 0; k < from.size(); k++)
            if (from[k].flushed) {
                flush(room[k], from[k].reg, from[k].reg, 0);
                from[k].reg = room[k];
            }
        if (o == ADD) {
            floating(ADD, to, from);
            flush(to, to, to, 0);
            return true;
        }
        llvm::SmallVector<source, 3> scaled = from;
        scaled[0] = { t };
        floating(LDEXP, t, { from[0], { {}, 64 } });
        if (o == FMA) {
            scaled[2] = { t1 };
            floating(LDEXP, t1, { from[2], { {}, 64 } });
        }
        floating(o, t, scaled);
        floating(o, to, from);
        flush(to, to, t, 64);
        return true;
    }

    enum { OVERWRITTEN = 5 };

    llvm::MachineInstr &piece;
    const llvm::TargetInstrInfo &info;
    llvm::SmallVector<llvm::Register, 64> reg;      /* by its number */
    unsigned outs = 0, code = 0, row_sign = 0, column_sign = 0, words = 0, saturates = 0;
};

llvm::StringRef
text_of(const llvm::MachineInstr &i)
{
    return i.isInlineAsm() ? i.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName() : "";
}

/* Dot products of pieces that follow each other go in turn: each sum waits for itself, which others may use. */
enum { TOGETHER = 4 };

bool
write_dots(llvm::MachineInstr &first)
{
    llvm::SmallVector<llvm::MachineInstr *, TOGETHER> pieces;
    llvm::SmallVector<Writer, TOGETHER> writers;
    unsigned longest = 0;
    for (auto i = first.getIterator(), end = first.getParent()->instr_end(); i != end && pieces.size() < TOGETHER; ++i) {
        llvm::StringRef text = text_of(*i);
        if (!text.consume_front(EMIT_DOTS " "))
            break;
        Writer w(*i);
        if (!w.dots(text) || !llvm::all_of(writers, [&](const Writer &other) { return w.is_apart(other); }))
            break;
        longest = std::max(longest, w.length());
        pieces.push_back(&*i);
        writers.push_back(w);
    }
    for (unsigned n = 0; n < longest; n++)
        for (Writer &w : writers)
            if (n < w.length())
                w.step(n, first);
    for (llvm::MachineInstr *i : pieces)
        i->eraseFromParent();
    return !pieces.empty();
}

bool
write(llvm::MachineInstr &piece)
{
    llvm::StringRef text = text_of(piece);
    if (text == EMIT_FLUSH_TEST)
        Writer(piece).test();
    else if (!text.consume_front(EMIT_FLUSH_AGAIN " ") || !Writer(piece).again(text))
        return false;
    piece.eraseFromParent();
    return true;
}

bool
write_single(llvm::MachineInstr &piece)
{
    enum { FIRST = llvm::InlineAsm::MIOp_FirstOperand + 1 };        /* each behind what it is */
    const llvm::TargetInstrInfo &info = *piece.getMF()->getSubtarget().getInstrInfo();
    llvm::StringRef text = piece.getOperand(llvm::InlineAsm::MIOp_AsmString).getSymbolName();
    auto from = [&](unsigned i) {
        const llvm::MachineOperand &o = piece.getOperand(i);
        return o.isReg() ? llvm::MachineOperand::CreateReg(o.getReg(), false) : llvm::MachineOperand::CreateImm(o.getImm());
    };

    if (text != EMIT_MAX3 && text != EMIT_MAX3_GFX12)
        return false;
    llvm::BuildMI(*piece.getParent(), piece, piece.getDebugLoc(), info.get(opcode(info, MAX3)), piece.getOperand(FIRST).getReg())
        .addImm(0).add(from(FIRST + 4)).addImm(0).add(from(FIRST + 2)).addImm(0).add(from(FIRST + 4)).addImm(0).addImm(0);
    piece.eraseFromParent();
    return true;
}

} // namespace

bool
cwj_amd_write_singles(llvm::MachineFunction &f)
{
    bool changed = false;
    for (llvm::MachineBasicBlock &b : f)
        for (llvm::MachineInstr &i : llvm::make_early_inc_range(b))
            if (i.isInlineAsm())
                changed |= write_single(i);
    return changed;
}

bool
cwj_amd_write_flushes(llvm::MachineFunction &f)
{
    bool changed = false;
    for (llvm::MachineBasicBlock &b : f) {
        for (llvm::MachineInstr &i : llvm::make_early_inc_range(b))
            if (i.isInlineAsm())
                changed |= write(i);
        for (auto i = b.begin(); i != b.end();) {
            llvm::MachineInstr &piece = *i;
            auto before = i == b.begin() ? b.end() : std::prev(i);
            if (text_of(piece).starts_with(EMIT_DOTS) && write_dots(piece)) {
                changed = true;
                i = before == b.end() ? b.begin() : std::next(before);
            } else {
                ++i;
            }
        }
    }
    return changed;
}
