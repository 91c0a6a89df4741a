/* SPDX-License-Identifier: Apache-2.0
 * Operations on bit patterns: logic, lop3, shifts and funnel shifts, bit fields, byte permutation (PTX ISA 9.7.1.19 ff., 9.7.8, 9.7.9.7).
 * LLVM's shifts by the width or more are poison, PTX's are not: every shift by a variable amount here goes through shift_left and its
 * kin, or has a bounded amount. */
#include "jit/emit/arith/arith_private.h"

/* min(amount, limit) in a's type */
static V
bounded(struct emit *e, V amount, uint64_t limit, V a)
{
    V m = v_call2(e, "llvm.umin", amount, k_int(e, amount, limit));
    return emit_resize(e, m, emit_scalar_type(a), false);
}

/* Shifts with PTX's rule (9.7.8.7): an amount of the width or more gives zero, or copies of the sign. `amount` is i32. */
static V
logical_shift(struct emit *e, LLVMOpcode op, V a, V amount)
{
    unsigned bits = int_bits(a);
    uint64_t k;

    if (const_int(amount, &k))
        return k < bits ? emit_bin(e, op, a, k_int(e, a, k)) : k_int(e, emit_bin(e, LLVMAnd, a, k_int(e, a, 0)), 0);
    V n = emit_resize(e, v_and(e, amount, k_int(e, amount, bits - 1)), emit_scalar_type(a), false);
    V r = emit_bin(e, op, a, n);
    return v_sel(e, emit_icmp(e, LLVMIntULT, amount, k_int(e, amount, bits)), r, k_int(e, r, 0));
}

static V
shift_left(struct emit *e, V a, V amount)
{
    return logical_shift(e, LLVMShl, a, amount);
}

static V
shift_right(struct emit *e, V a, V amount, bool is_signed)
{
    return is_signed ? v_ashr(e, a, bounded(e, amount, int_bits(a) - 1, a)) : logical_shift(e, LLVMLShr, a, amount);
}

/* (1 << len) - 1, all ones from the width on */
static V
low_mask(struct emit *e, V like, V len)
{
    return v_not(e, shift_left(e, k_int(e, like, ~UINT64_C(0)), len));
}

static V
byte_of(struct emit *e, V v)
{
    return v_and(e, v, k_int(e, v, 0xff));
}

/* A position or length of bfe or bfi: its low byte counts. In the 64-bit forms, for which the hardware has no instruction, all of it counts
 * (recorded on an H200; the PTX ISA uses the low byte there, too). */
static V
field_number(struct emit *e, V a, V v)
{
    return int_bits(a) == 64 ? v : byte_of(e, v);
}

/* bfe (9.7.1.20). Bits above the register's top read as zero, or as copies of the sign. */
static V
field_extract(struct emit *e, V a, V pos, V len, bool is_signed)
{
    unsigned bits = int_bits(a);

    pos = field_number(e, a, pos);
    len = field_number(e, a, len);
    if (!is_signed)
        return v_and(e, shift_right(e, a, pos, false), low_mask(e, a, len));
    V x = shift_right(e, a, pos, true);
    V n = v_sub(e, k_int(e, len, bits), v_call2(e, "llvm.umin", len, k_int(e, len, bits)));     /* bits - len, 0..bits */
    V top = bounded(e, n, bits - 1, a);
    V r = v_ashr(e, v_shl(e, x, top), top);
    return v_sel(e, v_eq(e, len, k_int(e, len, 0)), k_int(e, r, 0), r);
}

static V
field_insert(struct emit *e, V a, V b, V pos, V len)
{
    pos = field_number(e, a, pos);
    V mask = shift_left(e, low_mask(e, a, field_number(e, a, len)), pos);
    return v_or(e, v_and(e, b, v_not(e, mask)), v_and(e, shift_left(e, a, pos), mask));
}

/* Function number t (bit 2b + c) of two variables. NULL with *zero or *ones for the constants. */
static V
lut2(struct emit *e, V b, V c, unsigned t, bool *zero, bool *ones)
{
    *zero = t == 0;
    *ones = t == 15;
    switch (t) {
    case 0:  return k_int(e, v_and(e, b, c), 0);
    case 15: return k_int(e, v_and(e, b, c), ~UINT64_C(0));
    case 1:  return v_not(e, v_or(e, b, c));
    case 2:  return v_and(e, v_not(e, b), c);
    case 3:  return v_not(e, b);
    case 4:  return v_and(e, b, v_not(e, c));
    case 5:  return v_not(e, c);
    case 6:  return v_xor(e, b, c);
    case 7:  return v_not(e, v_and(e, b, c));
    case 8:  return v_and(e, b, c);
    case 9:  return v_not(e, v_xor(e, b, c));
    case 10: return c;
    case 11: return v_or(e, v_not(e, b), c);
    case 12: return b;
    case 13: return v_or(e, b, v_not(e, c));
    default: return v_or(e, b, c);
    }
}

/* lop3 (9.7.8.6): bit 4a + 2b + c of the table is the result for these inputs. Split on a. */
static V
lop3(struct emit *e, V a, V b, V c, unsigned lut)
{
    bool zero0, ones0, zero1, ones1;
    unsigned t0 = lut & 15, t1 = lut >> 4 & 15;
    V f0 = lut2(e, b, c, t0, &zero0, &ones0), f1 = lut2(e, b, c, t1, &zero1, &ones1);

    if (t0 == t1)
        return f0;
    if (t0 == (t1 ^ 15))
        return v_xor(e, a, f0);
    if (zero0)
        return v_and(e, a, f1);
    if (zero1)
        return v_and(e, v_not(e, a), f0);
    if (ones0)
        return v_or(e, v_not(e, a), f1);
    if (ones1)
        return v_or(e, a, f0);
    return v_or(e, v_and(e, a, f1), v_and(e, v_not(e, a), f0));
}

void
emit_lop3(struct emit *e, const struct ptx_inst *in)
{
    const struct ptx_operand *lut = &in->operand[4];

    if (lut->kind != PTX_OPND_IMM) {
        emit_unsupported(e, in, "a table that is not a constant");
        return;
    }
    V r = lop3(e, emit_src(e, in, 1, PTX_B32), emit_src(e, in, 2, PTX_B32), emit_src(e, in, 3, PTX_B32),
               (unsigned)lut->imm & 0xff);
    V p = v_ne(e, r, k_int(e, r, 0));
    if (in->boolop != PTX_BOOL_NONE && in->noperands > 5)
        p = v_bool(e, in->boolop, p, emit_src(e, in, 5, PTX_PRED));
    emit_dst_pair(e, &in->operand[0], PTX_B32, r, p);
}

/* shf (9.7.8.7): c is the amount, clamped to 32 or modulo 32; b:a is the 64-bit value. */
static V
funnel(struct emit *e, const struct ptx_inst *in)
{
    V a = emit_src(e, in, 1, PTX_B32), b = emit_src(e, in, 2, PTX_B32), c = emit_src(e, in, 3, PTX_U32);
    bool left = in->mode == PTX_MODE_L;
    V r = v_call3(e, left ? "llvm.fshl" : "llvm.fshr", b, a, c);        /* amount modulo 32 */

    if (in->flags & PTX_F_WRAP)
        return r;
    return v_sel(e, emit_icmp(e, LLVMIntUGE, c, k_int(e, c, 32)), left ? a : b, r);
}

/* The selectors for prmt's special modes, by the low two bits of c (9.7.9.7). */
static const uint16_t prmt_modes[][4] = {
    [PTX_MODE_F4E - PTX_MODE_F4E]  = { 0x3210, 0x4321, 0x5432, 0x6543 },
    [PTX_MODE_B4E - PTX_MODE_F4E]  = { 0x5670, 0x6701, 0x7012, 0x0123 },
    [PTX_MODE_RC8 - PTX_MODE_F4E]  = { 0x0000, 0x1111, 0x2222, 0x3333 },
    [PTX_MODE_ECL - PTX_MODE_F4E]  = { 0x3210, 0x3211, 0x3222, 0x3333 },
    [PTX_MODE_ECR - PTX_MODE_F4E]  = { 0x0000, 0x1110, 0x2210, 0x3210 },
    [PTX_MODE_RC16 - PTX_MODE_F4E] = { 0x1010, 0x3232, 0x1010, 0x3232 },
};

/* One result byte for a constant selector nibble, in place; the sources stay 32-bit. */
static V
prmt_const_byte(struct emit *e, V a, V b, unsigned nibble, unsigned to)
{
    V v = nibble & 4 ? b : a;
    unsigned from = nibble & 3;

    if (nibble & 8) {       /* eight copies of the byte's sign */
        v = v_ashr(e, v_shl(e, v, k_int(e, v, 24 - 8 * from)), k_int(e, v, 31));
    } else if (to > from) {
        v = v_shl(e, v, k_int(e, v, 8 * (to - from)));
    } else if (to < from) {
        v = v_lshr(e, v, k_int(e, v, 8 * (from - to)));
    }
    return v_and(e, v, k_int(e, v, UINT64_C(0xff) << (8 * to)));
}

static V
prmt(struct emit *e, V a, V b, V sel, unsigned mode)
{
    uint64_t k;
    V r = NULL;

    if (mode >= PTX_MODE_F4E && mode <= PTX_MODE_RC16) {
        const uint16_t *row = prmt_modes[mode - PTX_MODE_F4E];
        if (const_int(sel, &k)) {
            sel = k_int(e, sel, row[k & 3]);
        } else {
            V n = v_and(e, sel, k_int(e, sel, 3)), s = k_int(e, sel, row[3]);
            for (unsigned i = 3; i-- > 0;)
                s = v_sel(e, v_eq(e, n, k_int(e, n, i)), k_int(e, sel, row[i]), s);
            sel = s;
        }
    }
    if (const_int(sel, &k)) {
        for (unsigned i = 0; i < 4; i++) {
            V byte = prmt_const_byte(e, a, b, k >> (4 * i) & 15, i);
            r = r ? v_or(e, r, byte) : byte;
        }
        return r;
    }
    for (unsigned i = 0; i < 4; i++) {
        V nibble = v_and(e, v_lshr(e, sel, k_int(e, sel, 4 * i)), k_int(e, sel, 15));
        V high = v_ne(e, v_and(e, nibble, k_int(e, nibble, 4)), k_int(e, nibble, 0));
        V shift = v_shl(e, v_and(e, nibble, k_int(e, nibble, 3)), k_int(e, nibble, 3));
        V byte = byte_of(e, v_lshr(e, v_sel(e, high, b, a), shift));
        V sign = v_lshr(e, v_sub(e, k_int(e, byte, 0), v_lshr(e, byte, k_int(e, byte, 7))), k_int(e, byte, 24));
        V copy = v_ne(e, v_and(e, nibble, k_int(e, nibble, 8)), k_int(e, nibble, 0));
        byte = v_shl(e, v_sel(e, copy, sign, byte), k_int(e, byte, 8 * i));
        r = r ? v_or(e, r, byte) : byte;
    }
    return r;
}

/* szext (9.7.1.22): extend from bit b - 1. */
static V
sign_zero_extend(struct emit *e, V a, V b, bool is_signed, bool wrap)
{
    V n = wrap ? v_and(e, b, k_int(e, b, 31)) : v_call2(e, "llvm.umin", b, k_int(e, b, 32));

    if (!is_signed)
        return v_and(e, a, low_mask(e, a, n));
    V up = v_and(e, v_sub(e, k_int(e, n, 32), n), k_int(e, n, 31));
    V r = v_ashr(e, v_shl(e, a, up), up);
    return v_sel(e, v_eq(e, n, k_int(e, n, 0)), k_int(e, r, 0), r);
}

/* bmsk (9.7.1.23): b ones from bit a on; both clamped to 32, or modulo 32. */
static V
bit_mask(struct emit *e, V a, V b, bool wrap)
{
    if (wrap) {
        a = v_and(e, a, k_int(e, a, 31));
        b = v_and(e, b, k_int(e, b, 31));
    }
    return shift_left(e, low_mask(e, a, b), a);
}

/* and, or, xor, not, cnot */
void
emit_logic(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    V b = in->noperands > 2 ? emit_src(e, in, 2, t) : NULL, a = emit_src(e, in, 1, t), r;

    switch (in->op) {
    case PTX_OP_AND: r = v_and(e, a, b); break;
    case PTX_OP_OR:  r = v_or(e, a, b); break;
    case PTX_OP_XOR: r = v_xor(e, a, b); break;
    case PTX_OP_NOT: r = v_not(e, a); break;
    default:         r = emit_resize(e, v_eq(e, a, k_int(e, a, 0)), emit_type(e, t), false); break;
    }
    emit_dst(e, in, 0, t, r);
}

void
emit_shf(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, in->type[0], funnel(e, in));
}

void
emit_shl(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    emit_dst(e, in, 0, t, shift_left(e, emit_src(e, in, 1, t), emit_src(e, in, 2, PTX_U32)));
}

void
emit_shr(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    V a = emit_src(e, in, 1, t), n = emit_src(e, in, 2, PTX_U32);
    emit_dst(e, in, 0, t, shift_right(e, a, n, type_is_signed(t)));
}

void
emit_brev(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, in->type[0], v_call1(e, "llvm.bitreverse", emit_src(e, in, 1, in->type[0])));
}

void
emit_bfe(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    emit_dst(e, in, 0, t, field_extract(e, emit_src(e, in, 1, t), emit_src(e, in, 2, PTX_U32), emit_src(e, in, 3, PTX_U32),
                                        type_is_signed(t)));
}

void
emit_bfi(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    emit_dst(e, in, 0, t, field_insert(e, emit_src(e, in, 1, t), emit_src(e, in, 2, t), emit_src(e, in, 3, PTX_U32),
                                       emit_src(e, in, 4, PTX_U32)));
}

void
emit_szext(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    emit_dst(e, in, 0, t, sign_zero_extend(e, emit_src(e, in, 1, t), emit_src(e, in, 2, PTX_U32), type_is_signed(t),
                                           in->flags & PTX_F_WRAP));
}

void
emit_bmsk(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, in->type[0],
             bit_mask(e, emit_src(e, in, 1, PTX_U32), emit_src(e, in, 2, PTX_U32), in->flags & PTX_F_WRAP));
}

void
emit_prmt(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, in->type[0],
             prmt(e, emit_src(e, in, 1, PTX_B32), emit_src(e, in, 2, PTX_B32), emit_src(e, in, 3, PTX_U32), in->mode));
}
