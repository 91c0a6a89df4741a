/* SPDX-License-Identifier: Apache-2.0
 * The special function unit for AMD GPUs: the results of mufu.c in few instructions.
 *
 * - A segment is 16 bytes: c0 in 64 bits, c1 and c2 with their signs in 32 each, scaled so that the sum of two products of 32 x 32 + 64
 *   bits has the result in its upper word. c0 compensates for the operand's bits above x (the segment's number), and includes the constant
 *   and the exponent of the result's first binade.
 * - The squarer needs four mixed products: bit 1 of h by bit 7 of l, bits 2 3 by 5 to 7, bits 4 5 by 3 to 7, bits 6 7 by 1 to 7. In none of
 *   them do the dropped columns add up to a carry, so the product without its low eight bits is the sum of the partial products without
 *   theirs. A search over all coverings by such rectangles finds no other four, and no three. The halves of a register hold two.
 * - Operands that are not normal, or out of range, leave the path by a branch that a wave takes as a whole. A block replaces each by an
 *   operand p and a term t for which the path gives its result, or computes the result. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"
#include "jit/emit/annotation.h"
#include "jit/emit/arith/mufu_private.h"
#include "jit/builtins/precompiled.h"
#include "jit/emit/target/amdgcn/pseudo.h"

#include <stdio.h>

#define SIGN UINT32_C(0x80000000)
enum { CONSTANT = 4 /* address space */, ONE = 0x3f800000, INFINITE = 0x7f800000, CANONICAL_NAN = 0x7fffffff, IMPLIED = 1 << 23 };

static V
k32(struct emit *e, uint32_t value)
{
    return LLVMConstInt(e->i32, value, false);
}

static V
call(struct emit *e, const char *name, LLVMTypeRef overload, V a, V b, V c)
{
    V args[3] = { a, b, c };
    return emit_intrinsic_of(e, name, &overload, overload != NULL, args, c ? 3 : b ? 2 : 1);
}

static V
pick(struct emit *e, V c, uint32_t a, V b)
{
    return v_sel(e, c, k32(e, a), b);
}

/* ---- interpolation ----------------------------------------------------------------------------------------------------- */

/* ((c0 << a) + c1 x + (c2 sq(x) << c) + k) >> shift, with c1 and c2 negated where the row says so, + exponent << 23. The first product's
 * operand X is x << up, plus `offset` of the segment. */
struct row {
    int64_t c0, c1, c2, k, exponent, offset;
    unsigned a, c, shift, up;
};

static void
write_row(const struct row *r, uint32_t word[4])
{
    unsigned by = 32 - r->shift;
    int64_t c1 = r->c1 * (INT64_C(1) << (by - r->up)), c2 = r->c2 * (INT64_C(1) << (by + r->c));
    uint64_t c0 = (uint64_t)((r->c0 << r->a) + r->k) << by;

    c0 += ((uint64_t)r->exponent << 55) - (uint64_t)c1 * (uint64_t)r->offset;
    word[0] = (uint32_t)c0, word[1] = (uint32_t)(c0 >> 32), word[2] = (uint32_t)c1, word[3] = (uint32_t)c2;
}

/* A table's address takes three instructions, which LLVM mostly leaves in loops and repeats in their copies. Hidden behind empty assembly
 * it is hoisted out of loops. */
static V
address(struct emit *e, V table)
{
    return gcn_assembly(e->b, "", "=s,0", &table, 1);
}

static V
rows(struct emit *e, const struct mufu_table *t, const char *suffix, unsigned n, void (*row)(struct row *, unsigned i))
{
    char name[64];
    uint32_t word[MUFU_MAX_SEGMENTS][4];

    snprintf(name, sizeof name, "%s.%s", t->name, suffix);
    if (e->gcn_rows)
        return e->gcn_rows;
    V g = LLVMGetNamedGlobal(e->module, name);
    if (g)
        return address(e, g);
    for (unsigned i = 0; i < n; i++) {
        const uint32_t *c = t->coefficients[i % t->segments];
        struct row r = { .c0 = c[0], .c1 = c[1] & 0xffff, .c2 = c[1] >> 16 };
        row(&r, i);
        write_row(&r, word[i]);
    }
    return address(e, emit_constant(e, name, word, n * (unsigned)sizeof word[0], 64, LLVMInternalLinkage));
}

/* The products of a's halves with b's opposite halves. */
static V
cross(struct emit *e, V a, V b)
{
    LLVMTypeRef t = LLVMVectorType(e->i16, 2);
    V y = LLVMBuildBitCast(e->b, b, t, ""), swap[2] = { k32(e, 1), k32(e, 0) };

    y = LLVMBuildShuffleVector(e->b, y, y, LLVMConstVector(swap, 2), "");
    return LLVMBuildBitCast(e->b, LLVMBuildMul(e->b, LLVMBuildBitCast(e->b, a, t, ""), y, ""), e->i32, "");
}

/* square_half of mufu.c, of 256 h + l for z = h << 16 | l. */
static V
square_half(struct emit *e, V z)
{
    LLVMTypeRef t = LLVMVectorType(e->i16, 2);
    V a = cross(e, v_and(e, z, k32(e, 0x000c0080)), v_and(e, z, k32(e, 0x000200e0)));
    V b = cross(e, v_and(e, z, k32(e, 0x00c000f8)), v_and(e, z, k32(e, 0x003000fe)));
    V upper = call(e, "llvm.amdgcn.perm", NULL, a, b, k32(e, 0x07050301)), pair = LLVMBuildBitCast(e->b, z, t, "");
    V hh = LLVMBuildBitCast(e->b, LLVMBuildMul(e->b, pair, pair, ""), e->i32, "");

    return call(e, "llvm.amdgcn.sad.u8", NULL, upper, k32(e, 0), v_lshr(e, hh, k32(e, 17)));
}

/* The whole sum. at: 16 times the segment's number. */
static V
interpolate(struct emit *e, V table, V at, V x, V z)
{
    LLVMTypeRef pair = LLVMVectorType(e->i64, 2);
    V s = square_half(e, z), offset = LLVMBuildZExt(e->b, at, e->i64, "");
    V row = LLVMBuildLoad2(e->b, pair, LLVMBuildGEP2(e->b, e->i8, table, &offset, 1, ""), "");
    LLVMSetAlignment(row, 16);
    V sum = LLVMBuildExtractElement(e->b, row, k32(e, 0), ""), c = LLVMBuildExtractElement(e->b, row, k32(e, 1), "");
    V c1 = emit_resize(e, LLVMBuildTrunc(e->b, c, e->i32, ""), e->i64, true), c2 = v_ashr(e, c, LLVMConstInt(e->i64, 32, false));

    sum = v_add(e, v_mul(e, emit_resize(e, x, e->i64, true), c1), sum);
    return v_add(e, v_mul(e, emit_resize(e, s, e->i64, true), c2), sum);
}

/* Spread a 24-bit significand in the low bits of p into bytes: segment number (7 bits; with 64 segments its first bit lies above the
 * significand), h, l and one more bit. */
enum { UP = 7 };

static V
spread(struct emit *e, V p)
{
    return call(e, "llvm.amdgcn.mul.u24", e->i32, p, k32(e, 1 << UP), NULL);
}

/* The sum for a spread operand. */
static V
interpolate_spread(struct emit *e, V table, V x)
{
    V z = call(e, "llvm.amdgcn.perm", NULL, x, x, k32(e, 0x0c020c01));
    return interpolate(e, table, v_and(e, v_lshr(e, x, k32(e, 20)), k32(e, 0x7f0)), x, z);
}

/* ---- roots ------------------------------------------------------------------------------------------------------------- */

enum { POWER_OF_FOUR = 0x40000000 };    /* spread */

static void
rsq_row(struct row *r, unsigned i)
{
    r->c1 = -r->c1;
    r->k = 0x7fff;
    r->a = 14, r->c = 2, r->shift = 16, r->up = UP;
    r->offset = (int64_t)i << 24;
    r->exponent = 189 - (i >> 6);
}

static void
sqrt_row(struct row *r, unsigned i)
{
    unsigned octave = i >> 6 ^ 1;       /* the upper octave is one place shorter */

    r->c1 <<= octave;
    r->c2 = -r->c2;
    r->k = 0x7fff << octave;
    r->a = 15, r->c = 1, r->shift = 17, r->up = UP;
    r->offset = (int64_t)i << 24;
    r->exponent = 126 - 64 + (i >> 6);
}

/* t is half of the exponent without its last bit. */
static V
root_core(struct emit *e, const struct mufu_table *table, void (*row)(struct row *, unsigned), V p, V t, bool reciprocal)
{
    V x = spread(e, p), y = emit_high_half(e, interpolate_spread(e, rows(e, table, "rows", 128, row), x));

    if (!reciprocal)
        return v_add(e, y, v_shl(e, t, k32(e, 23)));
    y = pick(e, v_eq(e, x, k32(e, POWER_OF_FOUR)), 190u << 23, y);      /* powers of four are exact */
    return v_add(e, call(e, "llvm.amdgcn.mul.i24", e->i32, t, k32(e, (uint32_t)-IMPLIED), NULL), y);
}

static V
below(struct emit *e, V a, uint32_t b)
{
    return emit_icmp(e, LLVMIntULT, a, k32(e, b));
}

static V
scaled_up(struct emit *e, V b)
{
    V f = LLVMBuildBitCast(e->b, b, e->f32, "");
    return LLVMBuildBitCast(e->b, v_fmul(e, f, LLVMConstReal(e->f32, 0x1p24)), e->i32, "");
}

struct operand {
    V p, t;
};

/* Operands for which the path gives a zero, an infinity or a NaN (any NaN: readers of its bits make it canonical). */
struct root {
    struct mufu_operand_bits {
        uint32_t p;
        int32_t t;
    } zero, minus_zero, infinite, nan;
    int up;         /* difference of t between x 2^24 and x */
};

static const struct root rsq = { { ONE, -65 }, { ONE, -321 }, { ONE, 190 }, { ONE + 1, -66 }, -12 };
static const struct root square_root = { { ONE, -64 }, { ONE, 192 }, { ONE, 191 }, { 0x407fffff, 192 }, -12 };

static void
choose(struct emit *e, struct operand *o, V c, struct mufu_operand_bits k)
{
    o->p = pick(e, c, k.p, o->p);
    o->t = pick(e, c, (uint32_t)k.t, o->t);
}

static struct operand
root_rest(struct emit *e, V b, const struct root *r, bool full)
{
    struct operand o = { b, v_lshr(e, b, k32(e, 24)) };
    V mag = v_and(e, b, k32(e, ~SIGN)), negative = emit_icmp(e, LLVMIntSLT, b, k32(e, 0));

    choose(e, &o, emit_icmp(e, LLVMIntUGT, b, k32(e, INFINITE)), r->nan);
    choose(e, &o, v_eq(e, b, k32(e, INFINITE)), r->infinite);
    if (full) {
        V s = scaled_up(e, b), tiny = v_and(e, below(e, mag, IMPLIED), v_not(e, negative));
        o.p = v_sel(e, tiny, s, o.p);
        o.t = v_sel(e, tiny, v_add(e, v_lshr(e, s, k32(e, 24)), k32(e, (uint32_t)r->up)), o.t);
    }
    V zero = full ? v_eq(e, mag, k32(e, 0)) : below(e, mag, IMPLIED);
    choose(e, &o, zero, r->zero);
    choose(e, &o, v_and(e, zero, negative), r->minus_zero);
    return o;
}

/* ---- reciprocal -------------------------------------------------------------------------------------------------------- */

static void
rcp_row(struct row *r, unsigned i)
{
    r->c1 = -r->c1;
    r->k = 0x47e7;
    r->a = 13, r->c = 0, r->shift = 15, r->up = 15;
    r->offset = -(int64_t)(i & 1) * (INT64_C(1) << 31);     /* the number's last bit is the sign of X */
    r->exponent = 252;
}

static void
rcp_full_row(struct row *r, unsigned i)
{
    rcp_row(r, i);
    r->exponent = 126;
}

/* t is subtracted; with `full`, the result, in [1, 2], is multiplied by t. */
static V
rcp_core(struct emit *e, const struct mufu_table *table, V p, V t, bool full)
{
    V z = call(e, "llvm.amdgcn.perm", NULL, p, p, k32(e, 0x0c010c00));
    V row = full ? rows(e, table, "rows.full", 128, rcp_full_row) : rows(e, table, "rows", 128, rcp_row);
    V y = emit_high_half(e, interpolate(e, row, v_and(e, v_lshr(e, p, k32(e, 12)), k32(e, 0x7f0)), v_shl(e, p, k32(e, 15)), z));

    if (!full)
        return v_sub(e, y, t);
    y = v_fmul(e, LLVMBuildBitCast(e->b, y, e->f32, ""), LLVMBuildBitCast(e->b, t, e->f32, ""));
    return LLVMBuildBitCast(e->b, y, e->i32, "");
}

static V
rcp_term(struct emit *e, V p, bool full)
{
    V t = v_and(e, p, k32(e, SIGN | INFINITE));
    return full ? v_sub(e, k32(e, 253u << 23), t) : t;
}

static struct operand
rcp_rest(struct emit *e, V b, bool full)
{
    V sign = v_and(e, b, k32(e, SIGN)), mag = v_xor(e, b, sign), t = rcp_term(e, b, full), tiny = below(e, mag, IMPLIED), p;

    if (!full) {        /* 1.0 gives 254 << 23 */
        V gone = emit_icmp(e, LLVMIntUGT, mag, k32(e, 253u << 23)), to = pick(e, tiny, INFINITE, k32(e, 0));
        to = v_or(e, to, sign);
        to = pick(e, emit_icmp(e, LLVMIntUGT, mag, k32(e, INFINITE)), CANONICAL_NAN, to);
        t = v_sel(e, v_or(e, gone, tiny), v_sub(e, k32(e, 254u << 23), to), t);
        return (struct operand){ pick(e, v_or(e, gone, tiny), ONE, b), t };
    }
    V s = v_and(e, scaled_up(e, mag), k32(e, 0x7fffffff));
    p = v_sel(e, tiny, s, b);
    t = v_sel(e, tiny, v_sub(e, k32(e, 277u << 23), v_and(e, s, k32(e, INFINITE))), t);
    t = pick(e, below(e, mag, 1 << 21), INFINITE, t);
    t = pick(e, emit_icmp(e, LLVMIntUGE, mag, k32(e, 253u << 23)), 1 << 22, t);       /* subnormal */
    t = pick(e, emit_icmp(e, LLVMIntUGE, mag, k32(e, 254u << 23)), 1 << 21, t);
    t = pick(e, v_eq(e, mag, k32(e, INFINITE)), 0, t);
    t = pick(e, emit_icmp(e, LLVMIntUGT, mag, k32(e, INFINITE)), CANONICAL_NAN, t);
    return (struct operand){ p, v_or(e, v_and(e, t, k32(e, ~SIGN)), sign) };
}

/* ---- powers and logarithms --------------------------------------------------------------------------------------------- */

static void
ex2_row(struct row *r, unsigned i)
{
    r->k = 0x77e2;
    r->a = 13, r->c = 0, r->shift = 15, r->up = UP;
    r->offset = (int64_t)i << 24;
    r->exponent = 126 + (i >> 6);
}

/* |b| <= 128, or 0x4300ffff: a NaN. The fixed-point number n is cut to 23 fraction bits. A negative n that is not whole is one unit lower,
 * since the unit takes the complement of its fraction. */
static V
ex2_core(struct emit *e, V rows, V b)
{
    V f = v_fmul(e, LLVMBuildBitCast(e->b, b, e->f32, ""), LLVMConstReal(e->f32, 0x1p23));
    V n = LLVMBuildFreeze(e->b, LLVMBuildFPToSI(e->b, f, e->i32, ""), "");
    V lower = emit_icmp(e, LLVMIntUGT, v_and(e, n, k32(e, SIGN | (IMPLIED - 1))), k32(e, SIGN));

    n = v_sub(e, n, LLVMBuildZExt(e->b, lower, e->i32, ""));
    V y = emit_high_half(e, interpolate_spread(e, rows, spread(e, n)));
    return v_add(e, y, v_and(e, n, k32(e, 0xff000000)));
}

static V
as_float(struct emit *e, V bits)
{
    return LLVMBuildBitCast(e->b, bits, e->f32, "");
}

static V
ex2_rest(struct emit *e, V rows, V b, bool full)
{
    V half = v_fmul(e, as_float(e, b), LLVMConstReal(e->f32, 0.5)), k126 = LLVMConstReal(e->f32, -126.0);
    V low = emit_fcmp(e, LLVMRealOLT, as_float(e, b), k126), p = full ? v_sel(e, low, LLVMBuildBitCast(e->b, half, e->i32, ""), b) : b;

    p = pick(e, emit_fcmp(e, LLVMRealOLT, as_float(e, p), k126), 0xc2fe0000, p);                                  /* -127: 0 */
    p = pick(e, emit_fcmp(e, LLVMRealOGT, as_float(e, p), LLVMConstReal(e->f32, 128.0)), 0x43000000, p);          /* 128: infinity */
    p = pick(e, emit_fcmp(e, LLVMRealUNO, as_float(e, p), as_float(e, p)), 0x4300ffff, p);
    V r = ex2_core(e, rows, p), f = as_float(e, r);
    return full ? v_sel(e, low, LLVMBuildBitCast(e->b, v_fmul(e, f, f), e->i32, ""), r) : r;
}

/* In units of 2^-46: the unit's number has 36 fraction bits; the sum's last two are cut off. */
static void
lg2_row(struct row *r, unsigned i)
{
    r->c2 = -r->c2;
    r->k = 0x3345 + ((int64_t)(i >> 6) - 127) * (INT64_C(1) << 38);
    r->a = 12, r->c = 1, r->shift = 24, r->up = UP;
    r->offset = (int64_t)i << 24;
}

/* The f32 whose significand is the upper 24 bits of hi:lo from its leading one on; exponent: that of a one in the last place. hi:lo is not
 * zero. */
static V
normal(struct emit *e, V hi, V lo, unsigned exponent)
{
    V v = v_or(e, LLVMBuildZExt(e->b, lo, e->i64, ""), v_shl(e, LLVMBuildZExt(e->b, hi, e->i64, ""), LLVMConstInt(e->i64, 32, false)));
    V zeros = emit_intrinsic(e, "llvm.ctlz", &v, 1, 1), top = emit_high_half(e, v_shl(e, v, zeros));

    zeros = v_sub(e, k32(e, exponent + 63 - 1), LLVMBuildTrunc(e->b, zeros, e->i32, ""));
    return v_add(e, v_lshr(e, top, k32(e, 8)), v_shl(e, zeros, k32(e, 23)));
}

/* A negative sum loses a unit to its complement. */
static V
lg2_core(struct emit *e, V rows, V p)
{
    V sum = interpolate_spread(e, rows, spread(e, p)), lo = LLVMBuildTrunc(e->b, sum, e->i32, "");
    V hi = v_add(e, emit_high_half(e, sum), v_shl(e, v_lshr(e, p, k32(e, 24)), k32(e, 15))), sign = v_ashr(e, hi, k32(e, 31));

    lo = v_and(e, v_xor(e, lo, sign), k32(e, ~UINT32_C(0x3ff)));
    V r = v_or(e, normal(e, v_xor(e, hi, sign), lo, 127 - 46), v_and(e, sign, k32(e, SIGN)));
    return pick(e, v_eq(e, p, k32(e, ONE)), 0, r);
}

static V
lg2_rest(struct emit *e, V rows, V b, bool full)
{
    V mag = v_and(e, b, k32(e, ~SIGN)), tiny = below(e, mag, IMPLIED), nan = emit_icmp(e, LLVMIntUGT, b, k32(e, INFINITE)), p = b;

    if (full)
        p = v_sel(e, tiny, scaled_up(e, b), p);
    V zero = full ? v_eq(e, mag, k32(e, 0)) : tiny, inf = v_eq(e, b, k32(e, INFINITE));
    V r = lg2_core(e, rows, pick(e, v_or(e, v_or(e, nan, zero), inf), ONE, p));
    if (full)
        r = v_sel(e, tiny, LLVMBuildBitCast(e->b, v_fadd(e, as_float(e, r), LLVMConstReal(e->f32, -24.0)), e->i32, ""), r);
    r = pick(e, inf, INFINITE, r);
    r = pick(e, nan, CANONICAL_NAN, r);
    return pick(e, zero, SIGN | INFINITE, r);
}

/* ---- sine and cosine ---------------------------------------------------------------------------------------------------- */

/* In units of 2^-45. */
static void
sin_row(struct row *r, unsigned i)
{
    r->c2 = -r->c2;
    r->a = 11, r->c = 0, r->shift = 24, r->up = UP;
    r->offset = (int64_t)i << 24;
}

/* The operand times 1 / (2 pi), in f32 rounded toward zero (one less if the product was rounded up); then its fraction, in quarter turns
 * with 23 bits. In the spread n, the bit above the segment's number is zero for sines and one for cosines. */
static V
sin_cos(struct emit *e, const struct mufu_table *table, V b, bool cosine)
{
    V a = emit_intrinsic(e, "llvm.fabs", (V[]){ as_float(e, b) }, 1, -1), by = as_float(e, k32(e, 0x3e22f983)), p = v_fmul(e, a, by);
    V error = emit_intrinsic(e, "llvm.fma", (V[]){ a, by, LLVMBuildFNeg(e->b, p, "") }, 3, -1);
    V up = emit_fcmp(e, LLVMRealOLT, error, LLVMConstReal(e->f32, 0.0));
    V turns = as_float(e, v_sub(e, LLVMBuildBitCast(e->b, p, e->i32, ""), LLVMBuildZExt(e->b, up, e->i32, "")));
    V part = v_fmul(e, call(e, "llvm.amdgcn.fract", e->f32, turns, NULL, NULL), LLVMConstReal(e->f32, 0x1p25));
    V n = LLVMBuildFreeze(e->b, LLVMBuildFPToUI(e->b, part, e->i32, ""), "");
    V quarter = v_lshr(e, n, k32(e, 23)), sign = v_and(e, b, k32(e, SIGN));

    if (cosine) {
        quarter = v_add(e, quarter, k32(e, 1));
        sign = k32(e, 0);
    }
    sign = v_xor(e, sign, v_shl(e, v_and(e, quarter, k32(e, 2)), k32(e, 30)));
    n = v_xor(e, n, v_sub(e, k32(e, 0), v_and(e, quarter, k32(e, 1))));        /* odd quarters run backwards */
    V x = spread(e, n), sum = interpolate_spread(e, rows(e, table, "rows", 128, sin_row), x);
    V r = normal(e, emit_high_half(e, sum), LLVMBuildTrunc(e->b, sum, e->i32, ""), 127 - 45);

    r = v_or(e, pick(e, v_eq(e, x, k32(e, cosine ? 0x40000000 : 0)), 0, r), sign);
    V finite = emit_fcmp(e, LLVMRealOLT, a, as_float(e, k32(e, INFINITE)));
    return v_sel(e, finite, r, k32(e, CANONICAL_NAN));
}

/* ---- functions --------------------------------------------------------------------------------------------------------- */

/* Open the block for a wave that has a lane with `out`; `done` follows it. */
static LLVMBasicBlockRef
begin_rest(struct emit *e, V out, LLVMBasicBlockRef *done)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), rest;
    LLVMValueRef fn = LLVMGetBasicBlockParent(here);

    rest = LLVMAppendBasicBlockInContext(e->llvm, fn, "rest");
    *done = LLVMAppendBasicBlockInContext(e->llvm, fn, "core");
    gcn_branch_rare(e->b, out, e->wave64, rest, *done, 1000);
    LLVMPositionBuilderAtEnd(e->b, rest);
    return here;
}

/* LLVM would make four instructions of v_cmp_class here. */
static V
not_positive_normal(struct emit *e, V b)
{
    return emit_icmp(e, LLVMIntUGE, v_sub(e, b, k32(e, IMPLIED)), k32(e, 254u << 23));
}

static V
rcp_out(struct emit *e, V b)
{
    V twice = v_add(e, v_shl(e, b, k32(e, 1)), k32(e, (uint32_t)-(2 * IMPLIED)));
    return emit_icmp(e, LLVMIntUGE, twice, k32(e, 252u << 24));
}

static V
quotient_factor(struct emit *e, const struct mufu_table *t, V *a, V b, const struct mufu_scale *scale)
{
    V bits = LLVMBuildBitCast(e->b, b, e->i32, ""), term = rcp_term(e, bits, false), scaled[2] = { *a, b };
    LLVMBasicBlockRef done, from[2] = { begin_rest(e, rcp_out(e, bits), &done) };

    scale->both(e, &scaled[0], &scaled[1], scale->full, scale->ftz);
    struct operand rest = rcp_rest(e, LLVMBuildBitCast(e->b, scaled[1], e->i32, ""), false);
    from[1] = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    *a = emit_phi(e, *a, from[0], scaled[0], from[1]);
    bits = emit_phi(e, bits, from[0], rest.p, from[1]);
    return as_float(e, rcp_core(e, t, bits, emit_phi(e, term, from[0], rest.t, from[1]), false));
}

/* The other operands take the same path, replaced. */
static V
with_operand(struct emit *e, enum mufu_function function, const struct mufu_table *table, V b)
{
    bool full = function & 1, recip = function == MUFU_RCP || function == MUFU_RCP_FULL;
    bool is_rsq = function == MUFU_RSQ || function == MUFU_RSQ_FULL;
    struct operand usual = { b, recip ? rcp_term(e, b, full) : v_lshr(e, b, k32(e, 24)) }, rest, o;
    V out = recip ? rcp_out(e, b) : not_positive_normal(e, b);
    LLVMBasicBlockRef done, from[2] = { begin_rest(e, out, &done) };
    rest = recip ? rcp_rest(e, b, full) : root_rest(e, b, is_rsq ? &rsq : &square_root, full);
    from[1] = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    o.p = emit_phi(e, usual.p, from[0], rest.p, from[1]);
    o.t = emit_phi(e, usual.t, from[0], rest.t, from[1]);
    if (recip)
        return rcp_core(e, table, o.p, o.t, full);
    return root_core(e, table, is_rsq ? rsq_row : sqrt_row, o.p, o.t, is_rsq);
}

/* A block of their own computes the other operands' results. */
static V
with_result(struct emit *e, enum mufu_function function, const struct mufu_table *table, V b)
{
    bool full = function & 1, is_ex2 = function == MUFU_EX2 || function == MUFU_EX2_FULL;
    V out, mag = emit_intrinsic(e, "llvm.fabs", (V[]){ as_float(e, b) }, 1, -1);
    V row = rows(e, table, "rows", 128, is_ex2 ? ex2_row : lg2_row);       /* here, so that it can leave a loop */

    out = is_ex2 ? emit_fcmp(e, LLVMRealUGE, mag, LLVMConstReal(e->f32, 126.0)) : not_positive_normal(e, b);
    LLVMBasicBlockRef usual, from[2], done;
    begin_rest(e, out, &usual);
    V r[2] = { is_ex2 ? ex2_rest(e, row, b, full) : lg2_rest(e, row, b, full) };
    from[0] = LLVMGetInsertBlock(e->b);
    done = LLVMAppendBasicBlockInContext(e->llvm, LLVMGetBasicBlockParent(from[0]), "done");
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, usual);
    r[1] = is_ex2 ? ex2_core(e, row, b) : lg2_core(e, row, b);
    from[1] = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    return emit_phi(e, r[0], from[0], r[1], from[1]);
}

/* An operand known to be a normal number, an infinity or a NaN and not negative (large_roots.c) needs no branch: infinities and NaN behave
 * as in a division. Copies of an unrolled loop become one block. */
static V
large_root(struct emit *e, enum mufu_function function, const struct mufu_table *table, V b)
{
    bool is_rsq = function == MUFU_RSQ || function == MUFU_RSQ_FULL;
    V y = root_core(e, table, is_rsq ? rsq_row : sqrt_row, b, v_lshr(e, b, k32(e, 24)), is_rsq);
    V one = LLVMConstReal(e->f32, 1.0), f = as_float(e, b);

    y = call(e, "llvm.amdgcn.div.fixup", e->f32, as_float(e, y), is_rsq ? f : one, is_rsq ? one : f);
    return LLVMBuildBitCast(e->b, y, e->i32, "");
}

/* ---- calls ------------------------------------------------------------------------------------------------------------- */

static const char *const names[] = { "rcp", "rcp_full", "rsq", "rsq_full", "sqrt", "sqrt_full", "ex2", "ex2_full", "lg2", "lg2_full",
                                     "sin", "cos", "div", "div_ftz", "div_full", "div_full_ftz" };      /* the last four: quotient */
static const char once[] = "cudaway-once";

/* Note on a call that a thread executes it at most once. */
static void
note_once(struct emit *e, V call)
{
    const struct flow *f = &e->f->flow;
    if (f->irreducible || f->loop_of[e->f->block] != FLOW_NONE || LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->b)) != e->f->fn)
        return;
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateStringAttribute(e->llvm, once, sizeof once - 1, "", 0));
}

static bool
is_once(V call)
{
    return LLVMIsACallInst(call) &&
           LLVMGetCallSiteStringAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, once, sizeof once - 1);
}

static V
caller(LLVMUseRef use)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(LLVMGetUser(use)));
}

/* Functions of the unit take the bits of one or two operands and, in SGPRs, the address of the table, which a loop computes once. */
static V
function_named(struct emit *e, const char *name, unsigned operands, bool *is_new)
{
    V fn = LLVMGetNamedFunction(e->module, name);
    LLVMTypeRef types[3] = { e->i32, e->i32, e->i32 };

    *is_new = !fn;
    if (fn)
        return fn;
    types[operands] = LLVMPointerTypeInContext(e->llvm, CONSTANT);
    fn = LLVMAddFunction(e->module, name, LLVMFunctionType(e->i32, types, operands + 1, false));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMAddAttributeAtIndex(fn, operands + 1, emit_attribute(fn, "inreg", 0));
    return fn;
}

static void
begin_function(struct emit *e, V fn)
{
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    e->gcn_rows = LLVMGetParam(fn, LLVMCountParams(fn) - 1);
}

static void
end_function(struct emit *e, V result, LLVMBasicBlockRef back)
{
    LLVMBuildRet(e->b, result);
    LLVMPositionBuilderAtEnd(e->b, back);
    e->gcn_rows = NULL;
}

static V
build_call(struct emit *e, V fn, V *args)
{
    unsigned n = LLVMCountParams(fn);
    V call = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, args, n, "");

    LLVMAddCallSiteAttribute(call, n, emit_attribute(call, "inreg", 0));
    note_once(e, call);
    return call;
}

static V
quotient(struct emit *e, const struct mufu_table *t, V a, V b, const struct mufu_quotient *q)
{
    const struct flow *f = &e->f->flow;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    bool is_new;

    if (f->irreducible || f->loop_of[e->f->block] != FLOW_NONE)
        return q->body(e, a, b, q->what);
    V fn = function_named(e, q->name, 2, &is_new);
    if (is_new) {
        begin_function(e, fn);
        V r = q->body(e, as_float(e, LLVMGetParam(fn, 0)), as_float(e, LLVMGetParam(fn, 1)), q->what);
        end_function(e, LLVMBuildBitCast(e->b, r, e->i32, ""), here);
    }
    V args[3] = { LLVMBuildBitCast(e->b, a, e->i32, ""), LLVMBuildBitCast(e->b, b, e->i32, ""), rows(e, t, "rows", 128, rcp_row) };
    return as_float(e, build_call(e, fn, args));
}

static V
named(struct emit *e, unsigned i)
{
    char name[32];
    snprintf(name, sizeof name, "mufu.%s", names[i]);
    return LLVMGetNamedFunction(e->module, name);
}

/* Number of calls in the function that execute at most once. */
static unsigned
calls_once(struct emit *e, V from)
{
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        V fn = named(e, i);
        for (LLVMUseRef u = fn ? LLVMGetFirstUse(fn) : NULL; u; u = LLVMGetNextUse(u))
            n += caller(u) == from && is_once(LLVMGetUser(u));
    }
    return n;
}

/* The table whose address a call of fn passes: address() of a global. */
static V
table_of(V fn)
{
    V call = LLVMGetUser(LLVMGetFirstUse(fn));
    return LLVMGetOperand(LLVMGetOperand(call, LLVMCountParams(fn) - 1), 0);
}

/* The function's precompiled code, which knows its table; NULL if there is none. */
static V
precompiled(struct emit *e, V fn)
{
    char name[48];
    size_t length;
    LLVMTypeRef types[2] = { e->i32, e->i32 };

    snprintf(name, sizeof name, "%s" EMIT_CALLED, LLVMGetValueName2(fn, &length));
    V code = LLVMAddFunction(e->module, name, LLVMFunctionType(e->i32, types, LLVMCountParams(fn) - 1, false));
    if (gcn_precompiled_with(e, code, table_of(fn)))
        return code;
    LLVMDeleteFunction(code);
    return NULL;
}

static void
replace_call(struct emit *e, V call, V by)
{
    V args[2] = { LLVMGetOperand(call, 0), LLVMGetOperand(call, 1) };
    LLVMPositionBuilderBefore(e->b, call);
    LLVMReplaceAllUsesWith(call, LLVMBuildCall2(e->b, LLVMGlobalGetValueType(by), by, args, LLVMCountParams(by), ""));
    LLVMInstructionEraseFromParent(call);
}

/* Does `from` call fn in many places, in loops or not? Copies of an unrolled loop take a fifth to a quarter of the compile time of a
 * softmax or attention kernel; a call adds some ten instructions to the function's 45 or more. */
static bool
many_of(V fn, V from)
{
    enum { PLACES = 8 };
    unsigned n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(fn); u; u = LLVMGetNextUse(u))
        n += caller(u) == from;
    return n > PLACES;
}

/* LLVM would inline the functions at every call: 45 to 100 instructions, and ffmpeg's filters have 32 sines in a kernel, ggml's rotations
 * one of each. So a kernel with more than INLINED calls outside of loops calls those; with precompiled code it calls all of them, and many
 * of one function in loops, too. */
void
gcn_mufu_limit(struct emit *e)
{
    enum { INLINED = 2 };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        V fn = named(e, i), code = NULL;
        LLVMUseRef after;
        if (!fn || !LLVMGetFirstUse(fn))
            continue;
        code = precompiled(e, fn);
        if (!code && !LLVMGetNextUse(LLVMGetFirstUse(fn)))
            continue;
        /* The uses of one caller are adjacent. */
        for (LLVMUseRef first = LLVMGetFirstUse(fn); first; first = after) {
            V from = caller(first);
            bool many = code || calls_once(e, from) > INLINED;
            for (LLVMUseRef use = first; use && caller(use) == from; use = after) {
                V call = LLVMGetUser(use);
                after = LLVMGetNextUse(use);
                if (code && (is_once(call) || many_of(fn, from)))
                    replace_call(e, call, code);
                else if (many && is_once(call))
                    emit_set_call_attribute(call, "noinline");
            }
        }
        if (!LLVMGetFirstUse(fn))
            LLVMDeleteFunction(fn);
    }
}

static V
rows_of(struct emit *e, enum mufu_function function, const struct mufu_table *t)
{
    static void (*const row[])(struct row *, unsigned) = { rcp_row, rcp_full_row, rsq_row, rsq_row, sqrt_row, sqrt_row, ex2_row, ex2_row,
                                                           lg2_row, lg2_row, sin_row, sin_row };
    return rows(e, t, function == MUFU_RCP_FULL ? "rows.full" : "rows", 128, row[function]);
}

static V
unit_function(struct emit *e, enum mufu_function function, const struct mufu_table *t, V bits)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    char name[32], large_name[48];
    bool is_new;

    snprintf(name, sizeof name, "mufu.%s", names[function]);
    snprintf(large_name, sizeof large_name, "%s" EMIT_LARGE, name);
    V fn = function_named(e, name, 1, &is_new);
    if (is_new) {
        begin_function(e, fn);
        V b = LLVMGetParam(fn, 0);
        V r = function < MUFU_EX2 ? with_operand(e, function, t, b)
              : function < MUFU_SIN ? with_result(e, function, t, b) : sin_cos(e, t, b, function == MUFU_COS);
        end_function(e, r, here);
    }
    if (is_new && function >= MUFU_RSQ && function <= MUFU_SQRT_FULL) {
        V large = function_named(e, large_name, 1, &is_new);
        begin_function(e, large);
        end_function(e, large_root(e, function, t, LLVMGetParam(large, 0)), here);
    }
    V args[2] = { bits, rows_of(e, function, t) };
    return build_call(e, fn, args);
}

const struct mufu_target gcn_mufu = { .function = unit_function, .div = quotient_factor, .quotient = quotient };

/* CWJ_NATIVE_APPROX: AMD's own approximations, accurate to within an ulp of NVIDIA's; ex2 and lg2 flush subnormals. */
V
gcn_approx(struct emit *e, ptx_op op, V a)
{
    if (!(e->native_floats & CWJ_NATIVE_APPROX))
        return NULL;
    switch (op) {
    case PTX_OP_RCP:   return v_call1(e, "llvm.amdgcn.rcp", a);
    case PTX_OP_SQRT:  return v_call1(e, "llvm.amdgcn.sqrt", a);
    case PTX_OP_RSQRT: return v_call1(e, "llvm.amdgcn.rsq", a);
    case PTX_OP_SIN:   return v_call1(e, "llvm.amdgcn.sin", v_fmul(e, a, emit_fp_like(e, a, 0.15915494309189535)));
    case PTX_OP_COS:   return v_call1(e, "llvm.amdgcn.cos", v_fmul(e, a, emit_fp_like(e, a, 0.15915494309189535)));
    case PTX_OP_LG2:   return v_call1(e, "llvm.amdgcn.log", a);
    case PTX_OP_EX2:   return v_call1(e, "llvm.amdgcn.exp2", a);
    default:           return NULL;
    }
}
