/* SPDX-License-Identifier: Apache-2.0
 * The .approx and .full operations (PTX ISA 9.7.3): plain vector arithmetic within the manual's bounds, with its special
 * values. Coefficients were fitted at Chebyshev nodes. No operation here converts a float to an integer in a way that is
 * undefined for large operands or NaN. */
#include "jit/emit/fp_private.h"

typedef LLVMValueRef V;

static V
poly(struct emit *e, V x, const double *c, unsigned n)
{
    V r = emit_fp_like(e, x, c[n - 1]);

    for (unsigned i = n - 1; i-- > 0;)
        r = fp_fma_fast(e, r, x, emit_fp_like(e, x, c[i]));
    return r;
}

static V
k_fp(struct emit *e, V like, double value)
{
    return emit_fp_like(e, like, value);
}

/* Sine or cosine: absolute error below 2^-20.5 for |x| up to 2 pi as required, and 2^-22 up to 10^4; results stay in
 * [-1, 1] for any x, NaN for infinities.
 * x = k pi/2 + r with pi/2 in three parts; adding 1.5 * 2^23 rounds to an integer whose low bits are the quadrant. */
static V
sin_cos(struct emit *e, V x, bool cosine)
{
    static const double s[] = { -0.166666646, 0.008332736559, -0.0001958537321 };
    static const double c[] = { 0.0416666646, -0.00138882913, 2.454541889e-05 };
    V magic = k_fp(e, x, 0x1.8p23);
    V t = v_fadd(e, v_fmul(e, x, k_fp(e, x, 0x1.45f306p-1)), magic);    /* 2 / pi */
    V q = fp_as_int(e, t), k = v_fsub(e, t, magic);
    V r = fp_fma_fast(e, k, k_fp(e, x, -0x1.921000p+0), x);             /* pi/2 = 0x1.921fb54442d18p+0 in pieces */
    r = fp_fma_fast(e, k, k_fp(e, x, -0x1.f6a000p-13), r);
    r = fp_fma_fast(e, k, k_fp(e, x, -0x1.110b46p-26), r);
    /* Far outside the range where the reduction is meaningful r is no small number any more. */
    V lost = emit_fcmp(e, LLVMRealOGT, fp_abs(e, r), k_fp(e, r, 1.0));
    r = v_sel(e, lost, k_fp(e, r, 0.0), r);     /* sine 0, cosine 1, as on hardware for huge operands */
    q = v_sel(e, lost, k_int(e, q, 0), q);
    V rr = v_fmul(e, r, r);
    V sine = fp_fma_fast(e, v_fmul(e, poly(e, rr, s, 3), rr), r, r);
    V cosi = fp_fma_fast(e, v_fmul(e, poly(e, rr, c, 3), rr), rr, fp_fma_fast(e, rr, k_fp(e, rr, -0.5), k_fp(e, rr, 1.0)));

    if (cosine)
        q = v_add(e, q, k_int(e, q, 1));
    V odd = v_ne(e, v_and(e, q, k_int(e, q, 1)), k_int(e, q, 0));
    V bits = fp_as_int(e, v_sel(e, odd, cosi, sine));
    bits = v_xor(e, bits, v_shl(e, v_and(e, q, k_int(e, q, 2)), k_int(e, q, 30)));
    V y = fp_as_float(e, bits);
    if (!cosine)        /* sin(-0) = -0; subnormals give zero, also without .ftz (measured on an H200) */
        y = v_sel(e, emit_fcmp(e, LLVMRealOLT, fp_abs(e, x), k_fp(e, x, 0x1p-20)), fp_flush(e, x, PTX_F32), y);
    return y;
}

/* Base-2 logarithm: absolute error below 2^-22 in (0.5, 2), relative error below 2^-22 elsewhere. The significand is
 * taken from [sqrt(1/2), sqrt(2)), so that near 1 the exponent is zero and nothing cancels. */
static V
log2_approx(struct emit *e, V x)
{
    static const double c[] = { 1.44269504, -0.7213473545, 0.4808985203, -0.3606965418, 0.2885525614, -0.2396081219,
                                0.2048576478, -0.1913883766, 0.1847603336, -0.107497894 };
    V tiny = emit_fcmp(e, LLVMRealOLT, x, k_fp(e, x, 0x1p-126));
    V bits = fp_as_int(e, v_sel(e, tiny, v_fmul(e, x, k_fp(e, x, 0x1p23)), x));
    V off = v_sub(e, bits, k_int(e, bits, 0x3f3504f3));         /* sqrt(1/2) */
    V ex = v_ashr(e, off, k_int(e, off, 23));
    V f = v_fsub(e, fp_as_float(e, v_sub(e, bits, v_shl(e, ex, k_int(e, ex, 23)))), k_fp(e, x, 1.0));
    ex = v_sub(e, ex, v_sel(e, tiny, k_int(e, ex, 23), k_int(e, ex, 0)));
    V fe = LLVMBuildSIToFP(e->b, ex, LLVMTypeOf(f), "");
    V r = fp_fma_fast(e, f, poly(e, f, c, 10), fe);
    V inf = k_fp(e, x, __builtin_inf()), zero = k_fp(e, x, 0.0);

    r = v_sel(e, emit_fcmp(e, LLVMRealOEQ, x, inf), inf, r);
    r = v_sel(e, emit_fcmp(e, LLVMRealOEQ, x, zero), k_fp(e, x, -__builtin_inf()), r);
    V nan = v_not(e, emit_fcmp(e, LLVMRealOGE, x, zero));       /* negative or NaN */
    return v_sel(e, nan, k_fp(e, x, __builtin_nan("")), r);
}

/* 2^x: relative error below 2^-22 (2 ulp). The power of two is applied in two steps, so that subnormal results come out. */
static V
exp2_approx(struct emit *e, V x)
{
    static const double c[] = { 0.6931471806, 0.2402265092, 0.05550410884, 0.009618056679, 0.001333350239, 0.000154614447,
                                1.529732373e-05 };
    V y = v_sel(e, emit_fcmp(e, LLVMRealOLT, x, k_fp(e, x, 150.0)), x, k_fp(e, x, 150.0));
    y = v_sel(e, emit_fcmp(e, LLVMRealOGT, y, k_fp(e, x, -170.0)), y, k_fp(e, x, -170.0));
    V magic = k_fp(e, x, 0x1.8p23);
    V t = v_fadd(e, y, magic);
    V n = v_sub(e, fp_as_int(e, t), k_int(e, fp_as_int(e, t), 0x4b400000));
    V f = v_fsub(e, y, v_fsub(e, t, magic));
    V p = fp_fma_fast(e, f, poly(e, f, c, 7), k_fp(e, f, 1.0));
    V n1 = v_ashr(e, n, k_int(e, n, 1)), n2 = v_sub(e, n, n1);
    V s1 = fp_as_float(e, v_shl(e, v_add(e, n1, k_int(e, n1, 127)), k_int(e, n1, 23)));
    V s2 = fp_as_float(e, v_shl(e, v_add(e, n2, k_int(e, n2, 127)), k_int(e, n2, 23)));
    V r = v_fmul(e, v_fmul(e, p, s1), s2);

    return v_sel(e, fp_is_nan(e, x), x, r);
}

/* tanh: relative error below 2^-11 as required (2^-20 here). */
static V
tanh_approx(struct emit *e, V x)
{
    static const double c[] = { -0.3333333033, 0.1333291537, -0.05387394885, 0.02111095906, -0.006269119728 };
    V a = fp_abs(e, x), xx = v_fmul(e, x, x);
    V small = fp_fma_fast(e, v_fmul(e, poly(e, xx, c, 5), xx), x, x);
    V ex = exp2_approx(e, v_fmul(e, a, k_fp(e, a, 2.885390082)));       /* 2 log2(e) */
    V large = v_fsub(e, k_fp(e, a, 1.0), v_fdiv(e, k_fp(e, a, 2.0), v_fadd(e, ex, k_fp(e, a, 1.0))));
    return v_call2(e, "llvm.copysign", v_sel(e, emit_fcmp(e, LLVMRealOLT, a, k_fp(e, a, 0.6)), small, large), x);
}

static V
nvptx_approx(struct emit *e, const struct ptx_inst *in, V a)
{
    bool ftz = in->flags & PTX_F_FTZ;

    switch (in->op) {
    case PTX_OP_SQRT:  return v_call1(e, ftz ? "llvm.nvvm.sqrt.approx.ftz.f" : "llvm.nvvm.sqrt.approx.f", a);
    case PTX_OP_RSQRT: return v_call1(e, ftz ? "llvm.nvvm.rsqrt.approx.ftz.f" : "llvm.nvvm.rsqrt.approx.f", a);
    case PTX_OP_SIN:   return v_call1(e, ftz ? "llvm.nvvm.sin.approx.ftz.f" : "llvm.nvvm.sin.approx.f", a);
    case PTX_OP_COS:   return v_call1(e, ftz ? "llvm.nvvm.cos.approx.ftz.f" : "llvm.nvvm.cos.approx.f", a);
    case PTX_OP_LG2:   return v_call1(e, ftz ? "llvm.nvvm.lg2.approx.ftz.f" : "llvm.nvvm.lg2.approx.f", a);
    case PTX_OP_EX2:   return v_call1(e, ftz ? "llvm.nvvm.ex2.approx.ftz.f" : "llvm.nvvm.ex2.approx.f", a);
    default:           return NULL;
    }
}

V
fp_approx(struct emit *e, const struct ptx_inst *in, V a)
{
    V r;

    if (e->target == CWJ_TARGET_NVPTX && (r = nvptx_approx(e, in, a)))
        return r;
    switch (in->op) {
    case PTX_OP_RCP:   return v_fdiv(e, k_fp(e, a, 1.0), a);            /* 1 ulp allowed; exact */
    case PTX_OP_SQRT:  return v_call1(e, "llvm.sqrt", a);               /* 2^-23 allowed; exact */
    /* Relative error 2^-22.9 allowed; two roundings make at most 2^-23. */
    case PTX_OP_RSQRT: return v_fdiv(e, k_fp(e, a, 1.0), v_call1(e, "llvm.sqrt", a));
    case PTX_OP_SIN:   return sin_cos(e, a, false);
    case PTX_OP_COS:   return sin_cos(e, a, true);
    case PTX_OP_LG2:   return log2_approx(e, a);
    case PTX_OP_EX2:   return exp2_approx(e, a);
    default:           return tanh_approx(e, a);
    }
}

/* .full: 2 ulp over the whole range; exact. .approx is a * (1/b), 2 ulp for |b| up to 2^126; above, where the reciprocal
 * is subnormal, it is taken as zero: the result is zero, or NaN for infinite a (9.7.3.8). */
V
fp_div_approx(struct emit *e, V a, V b, bool full)
{
    V q = v_fdiv(e, a, b);

    if (full)
        return q;
    V mag = fp_abs(e, b);
    V big = v_and(e, emit_fcmp(e, LLVMRealOGT, mag, k_fp(e, mag, 0x1p126)),
                  emit_fcmp(e, LLVMRealOLT, mag, k_fp(e, mag, __builtin_inf())));
    V zero = v_fmul(e, a, v_call2(e, "llvm.copysign", k_fp(e, b, 0.0), b));
    return v_sel(e, big, zero, q);
}

/* rcp.approx.ftz.f64 and rsqrt.approx{.ftz}.f64. The .ftz forms read and write the upper 32 bits only: 20 bits of
 * significand, subnormals taken as zero. Without .ftz rsqrt is accurate to two roundings. */
V
fp_approx_f64(struct emit *e, const struct ptx_inst *in, V a)
{
    bool ftz = in->flags & PTX_F_FTZ;
    V one = k_fp(e, a, 1.0), bits;

    if (ftz) {
        bits = fp_as_int(e, a);
        a = fp_flush(e, fp_as_float(e, v_and(e, bits, k_int(e, bits, ~UINT64_C(0xffffffff)))), PTX_F64);
    }
    V r = v_fdiv(e, one, in->op == PTX_OP_RCP ? a : v_call1(e, "llvm.sqrt", a));
    if (!ftz)
        return r;
    bits = fp_as_int(e, fp_flush(e, r, PTX_F64));
    V finite = emit_fcmp(e, LLVMRealONE, fp_abs(e, r), k_fp(e, r, __builtin_inf()));
    bits = v_add(e, bits, v_sel(e, finite, k_int(e, bits, UINT64_C(0x80000000)), k_int(e, bits, 0)));
    bits = v_sel(e, fp_is_nan(e, r), k_int(e, bits, UINT64_C(0x7fffffff00000000)), v_and(e, bits, k_int(e, bits, ~UINT64_C(0xffffffff))));
    return fp_as_float(e, bits);
}
