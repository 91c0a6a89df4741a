/* SPDX-License-Identifier: Apache-2.0
 * The .approx and .full operations (PTX ISA 9.7.3) with the hardware's bits: an operation of the special function unit (mufu.c), with
 * scaling before and after it where the unit's range is smaller than the operation's. The scalings were read off the machine code of small
 * PTX programs for sm_90; docs/approximations.md says how equality was checked. */
#include "jit/emit/arith/fp_private.h"
#include "jit/emit/arith/mufu.h"

static V
k_fp(struct emit *e, V like, double value)
{
    return emit_fp_like(e, like, value);
}

static V
less(struct emit *e, V a, double b)
{
    return emit_fcmp(e, LLVMRealOLT, a, k_fp(e, a, b));
}

static V
unit(struct emit *e, enum mufu_function f, V a)
{
    return fp_as_float(e, mufu(e, f, fp_as_int(e, a)));
}

/* Half forms: truncate the unit's f32 result to the format, so that fp_dst need not round. f16 overflows from 65536. */
static V
half_approx(struct emit *e, const struct ptx_inst *in, V a)
{
    V r = unit(e, in->op == PTX_OP_EX2 ? MUFU_EX2 : MUFU_TANH, a), bits = fp_as_int(e, r);
    bool f16 = in->type[0] == PTX_F16 || in->type[0] == PTX_F16X2;

    if (!f16)
        return fp_as_float(e, v_and(e, bits, k_int(e, bits, 0xffff0000)));
    V small = v_fmul(e, v_call1(e, "llvm.trunc", v_fmul(e, r, k_fp(e, r, 0x1p24))), k_fp(e, r, 0x1p-24));
    return v_sel(e, less(e, fp_abs(e, r), 0x1p-14), small, fp_as_float(e, v_and(e, bits, k_int(e, bits, 0xffffe000))));
}

V
fp_approx(struct emit *e, const struct ptx_inst *in, V a)
{
    const unsigned full = !(in->flags & PTX_F_FTZ);
    V r;

    if (in->type[0] != PTX_F32)
        return half_approx(e, in, a);
    if (e->target->approx && (r = e->target->approx(e, (ptx_op)in->op, a)))
        return r;
    switch (in->op) {
    case PTX_OP_RCP:   return unit(e, MUFU_RCP + full, a);
    case PTX_OP_SQRT:  return unit(e, MUFU_SQRT + full, a);
    case PTX_OP_RSQRT: return unit(e, MUFU_RSQ + full, a);
    case PTX_OP_SIN:   return unit(e, MUFU_SIN, a);
    case PTX_OP_COS:   return unit(e, MUFU_COS, a);
    case PTX_OP_LG2:   return unit(e, MUFU_LG2 + full, a);
    case PTX_OP_EX2:   return unit(e, MUFU_EX2 + full, a);
    default:           return unit(e, MUFU_TANH, a);
    }
}

static void
div_scale(struct emit *e, V *a, V *b, bool full, bool ftz)
{
    V mag = fp_abs(e, *b), s = NULL;

    if (full)
        s = v_sel(e, emit_fcmp(e, LLVMRealOGT, mag, k_fp(e, mag, 0x1p126)), k_fp(e, mag, 0.25), k_fp(e, mag, 1.0));
    if (!ftz)
        s = v_sel(e, less(e, mag, 0x1p-126), k_fp(e, mag, 0x1p24), s ? s : k_fp(e, mag, 1.0));
    if (s) {        /* by 1 if nothing is scaled: exact */
        *a = v_fmul(e, *a, s);
        *b = v_fmul(e, *b, s);
        if (ftz)
            *a = fp_flush(e, *a, PTX_F32);
    }
}

/* a * (1 / b), with both scaled if b is out of the unit's range. .full scales in both directions, so that the quotient is right for every
 * b; otherwise only subnormal b is scaled, and above 2^126 the reciprocal is zero (9.7.3.8). */
V
fp_div_approx(struct emit *e, V a, V b, bool full, bool ftz, V factor[2])
{
    struct mufu_scale scale = { div_scale, full, ftz };

    factor[0] = a;
    if (e->target->mufu && !(e->native_floats & CWJ_NATIVE_APPROX)) {
        factor[1] = mufu_div(e, &factor[0], b, &scale);
    } else {
        div_scale(e, &factor[0], &b, full, ftz);
        factor[1] = e->target->approx ? e->target->approx(e, PTX_OP_RCP, b) : NULL;
        if (!factor[1])
            factor[1] = unit(e, MUFU_RCP, b);
    }
    return v_fmul(e, factor[1], factor[0]);
}

/* rcp.approx.ftz.f64 and rsqrt.approx{.ftz}.f64: the unit computes the upper half from the operand's upper half. Without .ftz one step of
 * third order follows; subnormal operands are scaled by 2^54. NaN operands are quieted; negative ones give 0xfff8000000000000. */
V
fp_approx_f64(struct emit *e, const struct ptx_inst *in, V a)
{
    bool ftz = in->flags & PTX_F_FTZ, recip = in->op == PTX_OP_RCP;
    V x = a, tiny = NULL;

    if (!ftz) {
        tiny = less(e, a, 0x1p-1022);
        x = v_sel(e, tiny, v_fmul(e, a, k_fp(e, a, 0x1p54)), a);
    }
    V bits = fp_as_int(e, x);
    V hi = emit_resize(e, v_lshr(e, bits, k_int(e, bits, 32)), e->i32, false);
    hi = emit_resize(e, mufu(e, recip ? MUFU_RCP64H : MUFU_RSQ64H, hi), e->i64, false);
    V y = fp_as_float(e, v_shl(e, hi, k_int(e, hi, 32)));
    if (ftz)
        return y;
    V t = v_call3(e, "llvm.fma", x, LLVMBuildFNeg(e->b, v_fmul(e, y, y), ""), k_fp(e, x, 1.0));
    V c = v_call3(e, "llvm.fma", t, k_fp(e, t, 0.375), k_fp(e, t, 0.5));
    V r = v_call3(e, "llvm.fma", c, v_fmul(e, y, t), y);
    r = v_sel(e, tiny, v_fmul(e, r, k_fp(e, r, 0x1p27)), r);

    V zero = k_fp(e, a, 0.0), inf = k_fp(e, a, __builtin_inf());
    r = v_sel(e, emit_fcmp(e, LLVMRealOEQ, a, inf), zero, r);
    r = v_sel(e, emit_fcmp(e, LLVMRealOEQ, a, zero), v_call2(e, "llvm.copysign", inf, a), r);
    V indefinite = fp_as_float(e, k_int(e, bits, UINT64_C(0xfff8000000000000)));
    r = v_sel(e, emit_fcmp(e, LLVMRealOLT, a, zero), indefinite, r);
    return v_sel(e, fp_is_nan(e, a), fp_quiet(e, a), r);
}
