/* SPDX-License-Identifier: Apache-2.0
 * Integer arithmetic (PTX ISA 9.7.1, 9.7.2): sums, products, quotients, carries, dot products. Operations run on inactive lanes too, so
 * none may trap: divisors are made harmless first. */
#include "jit/emit/arith/arith_private.h"

static V
src(struct emit *e, const struct ptx_inst *in, unsigned i)
{
    return emit_src(e, in, i, in->type[0]);
}

static V
int_min(struct emit *e, V a, V b, bool is_signed)
{
    return v_call2(e, is_signed ? "llvm.smin" : "llvm.umin", a, b);
}

static V
int_max(struct emit *e, V a, V b, bool is_signed)
{
    return v_call2(e, is_signed ? "llvm.smax" : "llvm.umax", a, b);
}

/* Low, high or the whole of the double-width product. */
static V
product(struct emit *e, V a, V b, unsigned mode, bool is_signed)
{
    unsigned bits = int_bits(a);

    if (mode == PTX_MODE_LO || mode == PTX_MODE_NONE)
        return v_mul(e, a, b);
    LLVMTypeRef narrow = emit_scalar_type(a), wide = LLVMIntTypeInContext(e->llvm, bits * 2);
    V p = v_mul(e, emit_resize(e, a, wide, is_signed), emit_resize(e, b, wide, is_signed));
    if (mode == PTX_MODE_WIDE)
        return p;
    return emit_resize(e, v_lshr(e, p, k_int(e, p, bits)), narrow, false);
}

/* The product of the low 24 bits; .hi is bits 47..16 of it (9.7.1.5). */
static V
product24(struct emit *e, V a, V b, unsigned mode, bool is_signed)
{
    LLVMOpcode shift = is_signed ? LLVMAShr : LLVMLShr;

    a = emit_bin(e, shift, v_shl(e, a, k_int(e, a, 8)), k_int(e, a, 8));
    b = emit_bin(e, shift, v_shl(e, b, k_int(e, b, 8)), k_int(e, b, 8));
    if (mode != PTX_MODE_HI)
        return v_mul(e, a, b);
    V p = v_mul(e, emit_resize(e, a, e->i64, is_signed), emit_resize(e, b, e->i64, is_signed));
    return emit_resize(e, v_lshr(e, p, k_int(e, p, 16)), e->i32, false);
}

/* a + b or a - b, and whether it overflows as an unsigned operation. If a target has both in one instruction, emit LLVM's intrinsic:
 * otherwise LLVM combines the two one at a time, scanning the whole block after each. */
static V
add_or_sub(struct emit *e, bool add, V a, V b, V *over)
{
    if (e->target->overflow_results) {
        V both = emit_intrinsic(e, add ? "llvm.uadd.with.overflow" : "llvm.usub.with.overflow", (V[]){ a, b }, 2, -1);
        *over = LLVMBuildExtractValue(e->b, both, 1, "");
        return LLVMBuildExtractValue(e->b, both, 0, "");
    }
    V r = add ? v_add(e, a, b) : v_sub(e, a, b);
    *over = add ? emit_icmp(e, LLVMIntULT, r, a) : emit_icmp(e, LLVMIntULT, a, b);
    return r;
}

/* a + b + carry in; *carry gets the carry out. cin may be NULL. */
static V
add_carry(struct emit *e, V a, V b, V cin, V *carry)
{
    V s = add_or_sub(e, true, a, b, carry), c;

    if (cin) {
        s = add_or_sub(e, true, s, emit_resize(e, cin, emit_scalar_type(s), false), &c);
        *carry = v_or(e, *carry, c);
    }
    return s;
}

/* a - b - borrow in. The hardware adds ~b and a carry, so CC.CF is the inverted borrow: visible where addc or madc follows sub.cc, or subc
 * follows add.cc (9.7.2; measured on an H200). */
static V
sub_borrow(struct emit *e, V a, V b, V cin, V *carry)
{
    V c, c2, d = add_or_sub(e, false, a, b, &c);

    if (cin) {
        d = add_or_sub(e, false, d, emit_resize(e, v_not(e, cin), emit_scalar_type(d), false), &c2);
        c = v_or(e, c, c2);
    }
    *carry = v_not(e, c);
    return d;
}

static V
magnitude(struct emit *e, V v)
{
    return emit_intrinsic(e, "llvm.abs", &v, 1, 0);
}

/* Quotient or remainder. PTX leaves division by zero unspecified. An H200 returns all ones, for quotient and remainder, signed and
 * unsigned; and INT_MIN / -1 = INT_MIN, INT_MIN % -1 = 0. x86 has no vector integer division; up to 32 bits it is done in a float type with
 * more than twice the bits: a true quotient a/b that is not an integer is at least a relative 1/a away from the next one, so rounding
 * cannot reach it, and truncation gives the exact result. */
static V
quotient(struct emit *e, V a, V b, bool is_signed, bool rem)
{
    unsigned bits = int_bits(a);
    uint64_t k, ones = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    LLVMOpcode op = rem ? is_signed ? LLVMSRem : LLVMURem : is_signed ? LLVMSDiv : LLVMUDiv;

    if (const_int(b, &k) && k != 0 && !(is_signed && k == ones))
        return emit_bin(e, op, a, b);

    if (bits == 64 && e->target->divide64)
        return e->target->divide64(e, a, b, is_signed, rem);

    V zero = v_eq(e, b, k_int(e, b, 0)), harmless = zero, q;
    if (is_signed && bits == 32 && e->target->unsigned_quotients) {
        /* As LLVM expands it, without special care for INT_MIN / -1. */
        V sign = rem ? a : v_xor(e, a, b), d = v_sel(e, zero, k_int(e, b, 1), magnitude(e, b));
        sign = emit_bin(e, LLVMAShr, sign, k_int(e, sign, 31));
        q = emit_bin(e, rem ? LLVMURem : LLVMUDiv, magnitude(e, a), d);
        return v_sel(e, zero, k_int(e, q, ones), v_sub(e, v_xor(e, q, sign), sign));
    }
    if (is_signed) {
        V overflow = v_and(e, v_eq(e, a, k_int(e, a, UINT64_C(1) << (bits - 1))), v_eq(e, b, k_int(e, b, ones)));
        harmless = v_or(e, zero, overflow);
    }
    V d = v_sel(e, harmless, k_int(e, b, 1), b);

    if (bits <= 32 && (emit_is_vector(a) || emit_is_vector(d))) {
        LLVMTypeRef ft = bits <= 16 ? e->f32 : e->f64;
        V v[2] = { a, d };
        emit_unify(e, v, 2);
        LLVMOpcode to = is_signed ? LLVMSIToFP : LLVMUIToFP, from = is_signed ? LLVMFPToSI : LLVMFPToUI;
        V fa = LLVMBuildCast(e->b, to, v[0], emit_like(e, v[0], ft), "");
        V fd = LLVMBuildCast(e->b, to, v[1], emit_like(e, v[1], ft), "");
        q = LLVMBuildCast(e->b, from, v_fdiv(e, fa, fd), LLVMTypeOf(v[0]), "");
        if (rem)
            q = v_sub(e, v[0], v_mul(e, q, v[1]));
    } else {
        q = emit_bin(e, op, a, d);
    }
    return v_sel(e, zero, k_int(e, q, ones), q);
}

/* Position of the k-th (from zero) set bit of m, or all ones: five halvings, each counting the bits of the lower half. */
static V
nth_set_bit(struct emit *e, V m, V k)
{
    V pos = k_int(e, m, 0);

    for (unsigned w = 16; w >= 1; w /= 2) {
        V low = v_call1(e, "llvm.ctpop", v_and(e, m, k_int(e, m, (UINT64_C(1) << w) - 1)));
        V up = emit_icmp(e, LLVMIntUGE, k, low);
        k = v_sel(e, up, v_sub(e, k, low), k);
        m = v_sel(e, up, v_lshr(e, m, k_int(e, m, w)), m);
        pos = v_sel(e, up, v_add(e, pos, k_int(e, pos, w)), pos);
    }
    V found = v_and(e, v_eq(e, k, k_int(e, k, 0)), v_ne(e, v_and(e, m, k_int(e, m, 1)), k_int(e, m, 0)));
    return v_sel(e, found, pos, k_int(e, pos, UINT32_MAX));
}

/* fns (9.7.1.18): the |offset|-th set bit from base upwards, or downwards if offset is negative; offset 0 tests the bit at base. */
static V
find_nth_set(struct emit *e, V mask, V base, V offset)
{
    V zero = k_int(e, base, 0), none = k_int(e, base, UINT32_MAX);
    V in_range = emit_icmp(e, LLVMIntULT, base, k_int(e, base, 32));
    V b = v_and(e, base, k_int(e, base, 31));
    V down = emit_icmp(e, LLVMIntSLT, offset, k_int(e, offset, 0));
    V self = v_eq(e, offset, k_int(e, offset, 0));

    /* Downwards is upwards in the reversed mask. */
    V m = v_sel(e, down, v_call1(e, "llvm.bitreverse", mask), mask);
    V from = v_sel(e, down, v_sub(e, k_int(e, b, 31), b), b);
    V steps = v_sel(e, down, v_sub(e, k_int(e, offset, 0), offset), offset);
    V k = v_sel(e, self, k_int(e, steps, 0), v_sub(e, steps, k_int(e, steps, 1)));
    V hit = nth_set_bit(e, v_lshr(e, m, from), k);
    V missed = v_eq(e, hit, none);
    V at = v_add(e, hit, from);
    at = v_sel(e, down, v_sub(e, k_int(e, at, 31), at), at);
    at = v_sel(e, missed, none, at);
    /* Offset 0: only the bit at base counts. */
    V bit = v_and(e, v_lshr(e, mask, b), k_int(e, mask, 1));
    at = v_sel(e, self, v_sel(e, v_ne(e, bit, zero), b, none), at);
    /* An offset of INT_MIN gives 0 (recorded on an H200). */
    at = v_sel(e, v_eq(e, offset, k_int(e, offset, UINT64_C(1) << 31)), zero, at);
    return v_sel(e, in_range, at, none);
}

/* The most significant non-sign bit, counted from the bottom, or from the top with .shiftamt (9.7.1.17). */
static V
bfind(struct emit *e, V a, bool is_signed, bool shiftamt)
{
    unsigned bits = int_bits(a);

    if (is_signed)
        a = v_xor(e, a, v_ashr(e, a, k_int(e, a, bits - 1)));
    V lz = emit_intrinsic(e, "llvm.ctlz", &a, 1, 0);
    V pos = shiftamt ? lz : v_sub(e, k_int(e, lz, bits - 1), lz);
    V none = v_eq(e, a, k_int(e, a, 0));
    return emit_resize(e, v_sel(e, none, k_int(e, pos, ~UINT64_C(0)), pos), e->i32, true);
}

/* Element of `bits` bits of v at bit `bit`, extended to 32 bits. */
static V
part(struct emit *e, V v, unsigned bit, unsigned bits, bool is_signed)
{
    V up = v_shl(e, v, k_int(e, v, 32 - bits - bit));
    return emit_bin(e, is_signed ? LLVMAShr : LLVMLShr, up, k_int(e, v, 32 - bits));
}

/* dp4a, dp2a */
void
emit_dot_product(struct emit *e, const struct ptx_inst *in)
{
    bool sa = type_is_signed(in->type[0]), sb = type_is_signed(in->type[1]);
    V a = emit_src(e, in, 1, PTX_B32), b = emit_src(e, in, 2, PTX_B32), sum = emit_src(e, in, 3, PTX_B32);

    if (in->op == PTX_OP_DP4A) {
        for (unsigned i = 0; i < 4; i++)
            sum = v_add(e, sum, v_mul(e, part(e, a, i * 8, 8, sa), part(e, b, i * 8, 8, sb)));
    } else {
        unsigned base = in->mode == PTX_MODE_HI ? 16 : 0;
        for (unsigned i = 0; i < 2; i++)
            sum = v_add(e, sum, v_mul(e, part(e, a, i * 16, 16, sa), part(e, b, base + i * 8, 8, sb)));
    }
    emit_dst(e, in, 0, sa || sb ? PTX_S32 : PTX_U32, sum);
}

static V
min_max(struct emit *e, const struct ptx_inst *in, V a, V b)
{
    bool is_signed = type_is_signed(in->type[0]);
    V r = in->op == PTX_OP_MIN ? int_min(e, a, b, is_signed) : int_max(e, a, b, is_signed);

    return in->flags & PTX_F_RELU ? int_max(e, r, k_int(e, r, 0), true) : r;
}

/* add, sub, min, max, neg of u16x2 and s16x2 */
static void
packed_op(struct emit *e, const struct ptx_inst *in)
{
    V a[2], b[2], r[2];

    v_unpack(e, src(e, in, 1), a);
    if (in->op != PTX_OP_NEG)
        v_unpack(e, src(e, in, 2), b);
    for (unsigned i = 0; i < 2; i++) {
        switch (in->op) {
        case PTX_OP_ADD: r[i] = v_add(e, a[i], b[i]); break;
        case PTX_OP_SUB: r[i] = v_sub(e, a[i], b[i]); break;
        case PTX_OP_NEG: r[i] = v_sub(e, k_int(e, a[i], 0), a[i]); break;
        case PTX_OP_MIN:
        case PTX_OP_MAX: r[i] = min_max(e, in, a[i], b[i]); break;
        default:
            emit_unsupported(e, in, "this operation on packed integers");
            return;
        }
    }
    emit_dst(e, in, 0, in->type[0], v_pack(e, r[0], r[1]));
}

/* Pass types other than integers on to their emitters; true if done. */
static bool
emitted_elsewhere(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];

    if (type_is_float(t))
        emit_float(e, in);
    else if (t == PTX_U16X2 || t == PTX_S16X2)
        packed_op(e, in);
    else
        return false;
    return true;
}

static ptx_type
wide_type(ptx_type t)
{
    switch (t) {
    case PTX_S16: return PTX_S32;
    case PTX_U16: return PTX_U32;
    case PTX_S32: return PTX_S64;
    case PTX_U32: return PTX_U64;
    default:      return t;
    }
}

/* mul, mad, mad.cc, madc */
void
emit_product(struct emit *e, const struct ptx_inst *in)
{
    if (emitted_elsewhere(e, in))
        return;
    ptx_type t = in->type[0], rt = in->mode == PTX_MODE_WIDE ? wide_type(t) : t;
    V r = product(e, src(e, in, 1), src(e, in, 2), in->mode, type_is_signed(t));

    if (in->op != PTX_OP_MUL) {
        V c = emit_src(e, in, 3, rt), carry;
        if (in->flags & PTX_F_SAT) {
            r = v_call2(e, "llvm.sadd.sat", r, c);
        } else if (in->op == PTX_OP_MADC || in->flags & PTX_F_CC) {
            r = add_carry(e, r, c, in->op == PTX_OP_MADC ? emit_carry_in(e) : NULL, &carry);
            if (in->flags & PTX_F_CC)
                emit_carry_out(e, carry);
        } else {
            r = v_add(e, r, c);
        }
    }
    emit_dst(e, in, 0, rt, r);
}

/* add, addc, sub, subc */
void
emit_sum(struct emit *e, const struct ptx_inst *in)
{
    if (emitted_elsewhere(e, in))
        return;
    V a = src(e, in, 1), b = src(e, in, 2), r, carry;
    bool add = in->op == PTX_OP_ADD || in->op == PTX_OP_ADDC, takes = in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC;

    if (in->flags & PTX_F_SAT) {
        r = v_call2(e, add ? "llvm.sadd.sat" : "llvm.ssub.sat", a, b);
    } else if (takes || in->flags & PTX_F_CC) {
        V cin = takes ? emit_carry_in(e) : NULL;
        r = add ? add_carry(e, a, b, cin, &carry) : sub_borrow(e, a, b, cin, &carry);
        if (in->flags & PTX_F_CC)
            emit_carry_out(e, carry);
    } else {
        r = add ? v_add(e, a, b) : v_sub(e, a, b);
    }
    emit_dst(e, in, 0, in->type[0], r);
}

/* mul24, mad24 */
void
emit_product24(struct emit *e, const struct ptx_inst *in)
{
    V r = product24(e, src(e, in, 1), src(e, in, 2), in->mode, type_is_signed(in->type[0]));

    if (in->op == PTX_OP_MAD24)
        r = in->flags & PTX_F_SAT ? v_call2(e, "llvm.sadd.sat", r, src(e, in, 3)) : v_add(e, r, src(e, in, 3));
    emit_dst(e, in, 0, in->type[0], r);
}

void
emit_sad(struct emit *e, const struct ptx_inst *in)
{
    bool s = type_is_signed(in->type[0]);
    V b = src(e, in, 2), a = src(e, in, 1);

    emit_dst(e, in, 0, in->type[0], v_add(e, v_sub(e, int_max(e, a, b, s), int_min(e, a, b, s)), src(e, in, 3)));
}

/* div, rem */
void
emit_quotient(struct emit *e, const struct ptx_inst *in)
{
    if (emitted_elsewhere(e, in))
        return;
    V r = quotient(e, src(e, in, 1), src(e, in, 2), type_is_signed(in->type[0]), in->op == PTX_OP_REM);
    emit_dst(e, in, 0, in->type[0], r);
}

void
emit_abs(struct emit *e, const struct ptx_inst *in)
{
    if (!emitted_elsewhere(e, in))
        emit_dst(e, in, 0, in->type[0], magnitude(e, src(e, in, 1)));
}

void
emit_neg(struct emit *e, const struct ptx_inst *in)
{
    if (emitted_elsewhere(e, in))
        return;
    V a = src(e, in, 1);
    emit_dst(e, in, 0, in->type[0], v_sub(e, k_int(e, a, 0), a));
}

void
emit_min_max(struct emit *e, const struct ptx_inst *in)
{
    if (!emitted_elsewhere(e, in))
        emit_dst(e, in, 0, in->type[0], min_max(e, in, src(e, in, 1), src(e, in, 2)));
}

void
emit_popc(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, PTX_U32, emit_resize(e, v_call1(e, "llvm.ctpop", src(e, in, 1)), e->i32, false));
}

void
emit_clz(struct emit *e, const struct ptx_inst *in)
{
    V a = src(e, in, 1);
    emit_dst(e, in, 0, PTX_U32, emit_resize(e, emit_intrinsic(e, "llvm.ctlz", &a, 1, 0), e->i32, false));
}

void
emit_bfind(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, PTX_U32, bfind(e, src(e, in, 1), type_is_signed(in->type[0]), in->flags & PTX_F_SHIFTAMT));
}

void
emit_fns(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, PTX_U32,
             find_nth_set(e, emit_src(e, in, 1, PTX_B32), emit_src(e, in, 2, PTX_B32), emit_src(e, in, 3, PTX_B32)));
}
