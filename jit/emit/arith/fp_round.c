/* SPDX-License-Identifier: Apache-2.0
 * Correctly rounded sums, products, fused products, quotients and roots in PTX's four modes (9.7.3). The targets round to nearest; a
 * directed result is the nearest one, moved by one unit if the sign of the exact error requires it. f32: f64 holds the exact result, or one
 * rounded to odd. f64: error-free sums and products of operands scaled to moderate exponents, so that no intermediate overflows or
 * underflows, give the error's sign. */
#include "jit/emit/arith/fp_private.h"

/* Is the exact result above / below the rounded one? Both false for exact results and NaN. */
struct error_sign {
    V above, below;
};

static bool
to_nearest(unsigned round)
{
    return round == PTX_RN || round == PTX_RND_NONE;
}

static V
is_negative(struct emit *e, V v)
{
    V bits = fp_as_int(e, v);
    return emit_icmp(e, LLVMIntSLT, bits, k_int(e, bits, 0));
}

/* Move r to its neighbour in the direction of the mode if the error requires it. Bit patterns order by magnitude, so infinity steps to the
 * largest number and zero to the smallest. */
static V
directed(struct emit *e, V r, struct error_sign err, unsigned round)
{
    V bits = fp_as_int(e, r), neg = is_negative(e, r), zero = k_int(e, bits, 0), grow, shrink;

    switch (round) {
    case PTX_RP:
        grow = v_and(e, err.above, v_not(e, neg));
        shrink = v_and(e, err.above, neg);
        break;
    case PTX_RM:
        grow = v_and(e, err.below, neg);
        shrink = v_and(e, err.below, v_not(e, neg));
        break;
    default:
        grow = NULL;
        shrink = v_sel(e, neg, err.above, err.below);
        break;
    }
    V delta = v_sel(e, shrink, k_int(e, zero, ~UINT64_C(0)), zero);
    if (grow)
        delta = v_sel(e, grow, k_int(e, zero, 1), delta);
    return fp_as_float(e, v_add(e, bits, delta));
}

V
fp_narrow(struct emit *e, V v, unsigned round)
{
    V r = LLVMBuildFPTrunc(e->b, v, emit_like(e, v, e->f32), "");

    if (to_nearest(round))
        return r;
    V back = fp_widen(e, r);
    struct error_sign err = { emit_fcmp(e, LLVMRealOGT, v, back), emit_fcmp(e, LLVMRealOLT, v, back) };
    return directed(e, r, err, round);
}

V
fp_narrow_flushed(struct emit *e, V v, unsigned round, bool ftz)
{
    V r = fp_narrow(e, v, round);

    if (!ftz)
        return r;
    V scaled = fp_narrow(e, v_fmul(e, v, emit_fp_like(e, v, 0x1p64)), round);
    V small = emit_fcmp(e, LLVMRealOLT, fp_abs(e, scaled), emit_fp_like(e, scaled, 0x1p-62));
    return v_sel(e, small, v_call2(e, "llvm.copysign", emit_fp_like(e, r, 0.0), r), r);
}

V
fp_narrow_odd(struct emit *e, V v)
{
    V r = LLVMBuildFPTrunc(e->b, v, emit_like(e, v, e->f32), "");
    V back = fp_widen(e, r);
    struct error_sign err = { emit_fcmp(e, LLVMRealOGT, v, back), emit_fcmp(e, LLVMRealOLT, v, back) };
    V inexact = v_or(e, err.above, err.below);
    V bits = fp_as_int(e, directed(e, r, err, PTX_RZ));

    return fp_as_float(e, v_or(e, bits, emit_resize(e, inexact, e->i32, false)));
}

/* s + *t = a + b exactly (Knuth), barring overflow. */
static V
two_sum(struct emit *e, V a, V b, V *t)
{
    V s = v_fadd(e, a, b);
    V bb = v_fsub(e, s, a);

    *t = v_fadd(e, v_fsub(e, a, v_fsub(e, s, bb)), v_fsub(e, b, bb));
    return s;
}

/* a*b + c for f32 operands, in f64 rounded to odd. The product is exact there, and f64's exponent range precludes overflow and underflow.
 * Cancellation to zero gives minus zero in mode RM (IEEE 754, 6.3). */
static V
fma_f64_odd(struct emit *e, V a, V b, V c, unsigned round)
{
    V t, p = v_fmul(e, fp_widen(e, a), fp_widen(e, b)), wc = fp_widen(e, c);
    V s = two_sum(e, p, wc, &t);
    V bits = fp_as_int(e, s), zero = emit_fp_like(e, t, 0.0);
    V inexact = emit_fcmp(e, LLVMRealONE, t, zero);
    V even = v_eq(e, v_and(e, bits, k_int(e, bits, 1)), k_int(e, bits, 0));
    V apart = v_xor(e, is_negative(e, t), is_negative(e, s));
    V step = v_sel(e, apart, k_int(e, bits, ~UINT64_C(0)), k_int(e, bits, 1));
    bits = v_add(e, bits, v_sel(e, v_and(e, inexact, even), step, k_int(e, bits, 0)));
    if (round == PTX_RM) {
        V cancelled = v_and(e, emit_fcmp(e, LLVMRealOEQ, s, zero), v_xor(e, is_negative(e, p), is_negative(e, wc)));
        bits = v_sel(e, cancelled, k_int(e, bits, UINT64_C(1) << 63), bits);
    }
    return fp_as_float(e, bits);
}

V
fp_fma_odd(struct emit *e, V a, V b, V c)
{
    return fp_narrow_odd(e, fma_f64_odd(e, a, b, c, PTX_RN));
}

/* x = *m * 2^*ex, |*m| in [1, 2); zero stays zero. */
static void
split(struct emit *e, V x, V *m, V *ex)
{
    V tiny = emit_fcmp(e, LLVMRealOLT, fp_abs(e, x), emit_fp_like(e, x, 0x1p-1022));
    V bits = fp_as_int(e, v_sel(e, tiny, v_fmul(e, x, emit_fp_like(e, x, 0x1p54)), x));
    V field = v_and(e, v_lshr(e, bits, k_int(e, bits, 52)), k_int(e, bits, 0x7ff));
    V one = v_or(e, v_and(e, bits, k_int(e, bits, UINT64_C(0x800fffffffffffff))), k_int(e, bits, UINT64_C(1023) << 52));

    *m = v_sel(e, emit_fcmp(e, LLVMRealOEQ, x, emit_fp_like(e, x, 0.0)), x, fp_as_float(e, one));
    *ex = v_sub(e, field, v_sel(e, tiny, k_int(e, field, 1023 + 54), k_int(e, field, 1023)));
}

/* m * 2^ex for a moderate ex, clamped to +-limit. */
static V
scale(struct emit *e, V m, V ex, uint64_t limit)
{
    ex = v_call2(e, "llvm.smin", v_call2(e, "llvm.smax", ex, k_int(e, ex, (uint64_t)0 - limit)), k_int(e, ex, limit));
    V two = v_shl(e, v_add(e, ex, k_int(e, ex, 1023)), k_int(e, ex, 52));
    return v_fmul(e, m, fp_as_float(e, two));
}

static struct error_sign
sign_of(struct emit *e, V v)
{
    V zero = emit_fp_like(e, v, 0.0);
    return (struct error_sign){ emit_fcmp(e, LLVMRealOGT, v, zero), emit_fcmp(e, LLVMRealOLT, v, zero) };
}

/* The sign of a*b + c - r for finite f64 values, where r is the nearest f64 to a*b + c, or zero (residual: r is NULL).
 *
 * Everything is scaled by the product's exponent. If c is more than 2^120 times the product, the nearest result is c itself, and the
 * product's sign decides. If it is less than 2^-120 times the product, c decides only if a*b - r is exactly zero, so its size does not
 * matter and the clamp in scale() is harmless. In between everything is within 2^+-300 and the sums are exact. */
static struct error_sign
exact_sign(struct emit *e, V a, V b, V c, V r)
{
    V ma, mb, mc, mr, ea, eb, ec, er, e0, e1, e2, h1, h2, k1, k2, k3;

    split(e, a, &ma, &ea);
    split(e, b, &mb, &eb);
    split(e, c, &mc, &ec);
    V base = v_add(e, ea, eb), dc = v_sub(e, ec, base);
    V p = v_fmul(e, ma, mb), zero = emit_fp_like(e, p, 0.0);
    V ep = v_call3(e, "llvm.fma", ma, mb, LLVMBuildFNeg(e->b, p, ""));
    V sc = scale(e, mc, dc, 121);
    V no_product = emit_fcmp(e, LLVMRealOEQ, p, zero);

    e0 = two_sum(e, ep, sc, &h1);
    e1 = two_sum(e, p, e0, &h2);        /* h1 + h2 + e1 */
    V lead;
    if (r) {
        split(e, r, &mr, &er);
        V sr = LLVMBuildFNeg(e->b, scale(e, mr, v_sub(e, er, base), 300), "");
        e0 = two_sum(e, h1, sr, &k1);
        e2 = two_sum(e, h2, e0, &k2);
        V top = two_sum(e, e1, e2, &k3);
        lead = v_sel(e, emit_fcmp(e, LLVMRealONE, top, zero), top,
               v_sel(e, emit_fcmp(e, LLVMRealONE, k3, zero), k3, v_sel(e, emit_fcmp(e, LLVMRealONE, k2, zero), k2, k1)));
        V far = v_and(e, emit_icmp(e, LLVMIntSGT, dc, k_int(e, dc, 120)), emit_fcmp(e, LLVMRealONE, mc, zero));
        lead = v_sel(e, far, p, lead);
        lead = v_sel(e, no_product, zero, lead);        /* r = c, exactly */
    } else {
        lead = v_sel(e, emit_fcmp(e, LLVMRealONE, e1, zero), e1, v_sel(e, emit_fcmp(e, LLVMRealONE, h2, zero), h2, h1));
        lead = v_sel(e, no_product, mc, lead);
    }
    return sign_of(e, lead);
}

static V
is_finite(struct emit *e, V v)
{
    return emit_fcmp(e, LLVMRealONE, fp_abs(e, v), emit_fp_like(e, v, __builtin_inf()));
}

/* Finite operands that give infinity: the exact result is nearer to zero. With an infinite or NaN operand nothing moves. */
static struct error_sign
guard_overflow(struct emit *e, struct error_sign err, V r, V operands_finite)
{
    V over = v_and(e, operands_finite, v_eq(e, fp_as_int(e, fp_abs(e, r)), k_int(e, fp_as_int(e, r), UINT64_C(0x7ff) << 52)));
    V neg = is_negative(e, r);

    err.above = v_and(e, operands_finite, v_sel(e, over, neg, err.above));
    err.below = v_and(e, operands_finite, v_sel(e, over, v_not(e, neg), err.below));
    return err;
}

/* r = nearest(a*b + c) in f64, to the other modes. */
static V
direct_f64(struct emit *e, V a, V b, V c, V r, unsigned round)
{
    V finite = v_and(e, is_finite(e, a), v_and(e, is_finite(e, b), is_finite(e, c)));
    struct error_sign err = guard_overflow(e, exact_sign(e, a, b, c, r), r, finite);
    V out = directed(e, r, err, round);

    if (round == PTX_RM) {          /* exact cancellation */
        V apart = v_xor(e, v_xor(e, is_negative(e, a), is_negative(e, b)), is_negative(e, c));
        V zero = emit_fcmp(e, LLVMRealOEQ, r, emit_fp_like(e, r, 0.0));
        V exact = v_not(e, v_or(e, err.above, err.below));
        out = v_sel(e, v_and(e, zero, v_and(e, exact, apart)), emit_fp_like(e, r, -0.0), out);
    }
    return out;
}

V
fp_add(struct emit *e, V a, V b, unsigned round)
{
    V v[2] = { a, b };

    emit_unify(e, v, 2);
    if (to_nearest(round))
        return v_fadd(e, v[0], v[1]);
    V one = emit_fp_like(e, v[0], 1.0);
    if (emit_scalar_type(v[0]) == e->f32)
        return fp_narrow(e, fma_f64_odd(e, v[0], one, v[1], round), round);
    return direct_f64(e, v[0], one, v[1], v_fadd(e, v[0], v[1]), round);
}

V
fp_mul(struct emit *e, V a, V b, unsigned round)
{
    V v[2] = { a, b }, r;

    emit_unify(e, v, 2);
    if (to_nearest(round))
        return v_fmul(e, v[0], v[1]);
    if (emit_scalar_type(v[0]) == e->f32)
        return fp_narrow(e, v_fmul(e, fp_widen(e, v[0]), fp_widen(e, v[1])), round);
    /* Add a zero with the product's sign, so that no mode sees a cancellation. */
    r = v_fmul(e, v[0], v[1]);
    return direct_f64(e, v[0], v[1], v_call2(e, "llvm.copysign", emit_fp_like(e, r, 0.0), r), r, round);
}

V
fp_fma(struct emit *e, V a, V b, V c, unsigned round)
{
    V v[3] = { a, b, c }, r;

    emit_unify(e, v, 3);
    if (emit_scalar_type(v[0]) == e->f32 && !to_nearest(round))
        return fp_narrow(e, fma_f64_odd(e, v[0], v[1], v[2], round), round);
    r = v_call3(e, "llvm.fma", v[0], v[1], v[2]);
    return to_nearest(round) ? r : direct_f64(e, v[0], v[1], v[2], r, round);
}

/* A quotient of two f32 values that is not itself an f32 value (or halfway between two) is a relative 2^-48 or more away from each of
 * those, so the f64 quotient lies on the same side; likewise for roots. */
V
fp_div(struct emit *e, V a, V b, unsigned round)
{
    V v[2] = { a, b }, r;

    emit_unify(e, v, 2);
    if (to_nearest(round))
        return v_fdiv(e, v[0], v[1]);
    if (emit_scalar_type(v[0]) == e->f32)
        return fp_narrow(e, v_fdiv(e, fp_widen(e, v[0]), fp_widen(e, v[1])), round);

    r = v_fdiv(e, v[0], v[1]);
    V zero = emit_fp_like(e, r, 0.0);
    V finite = v_and(e, is_finite(e, v[0]), v_and(e, is_finite(e, v[1]), emit_fcmp(e, LLVMRealONE, v[1], zero)));
    struct error_sign rest = exact_sign(e, LLVMBuildFNeg(e->b, r, ""), v[1], v[0], NULL), err;
    V neg = is_negative(e, v[1]);
    err.above = v_sel(e, neg, rest.below, rest.above);
    err.below = v_sel(e, neg, rest.above, rest.below);
    return directed(e, r, guard_overflow(e, err, r, finite), round);
}

V
fp_sqrt(struct emit *e, V a, unsigned round)
{
    V r;

    if (to_nearest(round)) {
        r = v_call1(e, "llvm.sqrt", a);
        /* LLVM folds "NaN if the root is NaN, else the root" into the root, whose NaN may have any payload. The fence hides the root from
         * that fold. */
        return v_call1(e, "llvm.arithmetic.fence", r);
    }
    if (emit_scalar_type(a) == e->f32)
        return fp_narrow(e, v_call1(e, "llvm.sqrt", fp_widen(e, a)), round);
    r = v_call1(e, "llvm.sqrt", a);
    V usable = v_and(e, is_finite(e, a), emit_fcmp(e, LLVMRealOGT, a, emit_fp_like(e, a, 0.0)));
    struct error_sign err = exact_sign(e, LLVMBuildFNeg(e->b, r, ""), r, a, NULL);
    return directed(e, r, guard_overflow(e, err, r, usable), round);
}
