/* SPDX-License-Identifier: Apache-2.0
 * Conversions of the formats shorter than f32 (f16, bf16, tf32, e4m3, e5m2) to and from f32. One integer algorithm rounds to any of them in
 * any mode; nearest f16 uses the hardware's conversion if there is one. */
#include "jit/emit/arith/fp_private.h"

static const struct small_format {
    uint8_t ebits, mbits, bits;
    uint16_t max, inf, nan;         /* codes without the sign; inf 0: the format has none */
} formats[] = {
    [FP_F16]  = { 5, 10, 16, 0x7bff, 0x7c00, 0x7fff },
    [FP_BF16] = { 8,  7, 16, 0x7f7f, 0x7f80, 0x7fff },
    [FP_TF32] = { 8, 10, 19, 0, 0, 0 },
    [FP_E4M3] = { 4,  3,  8, 0x7e, 0, 0x7f },
    [FP_E5M2] = { 5,  2,  8, 0x7b, 0x7c, 0x7f },
};

/* Round the magnitude (f32 bits without sign) to the format: a code without sign, not yet checked for overflow. `away` says per lane
 * whether directed rounding goes away from zero. */
static V
round_magnitude(struct emit *e, V mag, const struct small_format *f, unsigned round, V away)
{
    unsigned drop = 23 - f->mbits;
    int emin = 2 - (1 << (f->ebits - 1));           /* exponent of the smallest normal number */
    V exp = v_lshr(e, mag, k_int(e, mag, 23));
    V normal = v_ne(e, exp, k_int(e, exp, 0));
    V sig = v_or(e, v_and(e, mag, k_int(e, mag, 0x7fffff)), v_sel(e, normal, k_int(e, mag, 0x800000), k_int(e, mag, 0)));
    /* Exponent above the format's smallest; negative for its subnormals, whose significand is shifted further. */
    V above = v_sub(e, v_call2(e, "llvm.umax", exp, k_int(e, exp, 1)), k_int(e, exp, (uint64_t)(127 + emin)));
    V base = v_call2(e, "llvm.smax", above, k_int(e, above, 0));
    V extra = v_call2(e, "llvm.smin", v_sub(e, base, above), k_int(e, above, 25 - drop));
    V shift = v_add(e, extra, k_int(e, extra, drop));
    V q = v_lshr(e, sig, shift);
    V rem = v_sub(e, sig, v_shl(e, q, shift));
    V up;

    if (round == PTX_RZ) {
        up = NULL;
    } else if (round == PTX_RP || round == PTX_RM) {
        up = v_and(e, away, v_ne(e, rem, k_int(e, rem, 0)));
    } else {
        V half = v_shl(e, k_int(e, shift, 1), v_sub(e, shift, k_int(e, shift, 1)));
        V more = emit_icmp(e, round == PTX_RNA ? LLVMIntUGE : LLVMIntUGT, rem, half);
        V odd = v_ne(e, v_and(e, q, k_int(e, q, 1)), k_int(e, q, 0));
        up = round == PTX_RNA ? more : v_or(e, more, v_and(e, v_eq(e, rem, half), odd));
    }
    if (up)
        q = v_add(e, q, emit_resize(e, up, e->i32, false));
    /* A normal significand carries its leading one into the exponent field. */
    return v_add(e, q, v_shl(e, base, k_int(e, base, f->mbits)));
}

/* cvt.rna.tf32 rounds the bits of a number and truncates those of a NaN; .satfinite then subtracts one unit from a result with the exponent
 * of infinity (measured on an H200). */
static V
tf32_nearest_away(struct emit *e, V mag, bool satfinite)
{
    V number = emit_icmp(e, LLVMIntULT, mag, k_int(e, mag, 0x7f800000));
    V r = v_sel(e, number, v_add(e, mag, k_int(e, mag, 0x1000)), mag);

    r = v_and(e, r, k_int(e, r, 0xffffe000));
    if (satfinite)
        r = v_sel(e, emit_icmp(e, LLVMIntUGE, r, k_int(e, r, 0x7f800000)), v_sub(e, r, k_int(e, r, 0x2000)), r);
    return r;
}

V
fp_to_small(struct emit *e, V v, enum fp_small which, unsigned round, bool satfinite)
{
    const struct small_format *f = &formats[which];
    V bits = fp_as_int(e, v);

    if (which == FP_F16 && (round == PTX_RN || round == PTX_RND_NONE) && !satfinite && e->features & EMIT_FEATURE_F16) {
        V h = LLVMBuildFPTrunc(e->b, fp_canonical(e, v), emit_like(e, v, e->f16), "");
        return emit_bitcast(e, h, e->i16);
    }
    V nan = fp_is_nan(e, v);
    if (which == FP_BF16 && (round == PTX_RN || round == PTX_RND_NONE) && !satfinite) {
        V odd = v_and(e, v_lshr(e, bits, k_int(e, bits, 16)), k_int(e, bits, 1));
        V r = v_lshr(e, v_add(e, bits, v_add(e, odd, k_int(e, bits, 0x7fff))), k_int(e, bits, 16));
        return emit_resize(e, v_sel(e, nan, k_int(e, r, f->nan), r), e->i16, false);
    }

    V sign = v_and(e, bits, k_int(e, bits, 0x80000000));
    V mag = v_and(e, bits, k_int(e, bits, 0x7fffffff));
    V negative = v_ne(e, sign, k_int(e, sign, 0));
    V away = round == PTX_RM ? negative : v_not(e, negative);
    V infinite = v_eq(e, mag, k_int(e, mag, 0x7f800000));
    V code = round_magnitude(e, mag, f, round, away);

    if (which == FP_TF32) {         /* the exponent range is f32's: overflow gives infinity by itself */
        if (round == PTX_RNA)
            return v_or(e, tf32_nearest_away(e, mag, satfinite), sign);
        code = v_shl(e, code, k_int(e, code, 13));
        if (satfinite)
            code = v_call2(e, "llvm.umin", code, k_int(e, code, 0x7f7fe000));
        else
            code = v_sel(e, infinite, mag, code);
        return v_sel(e, nan, k_int(e, code, 0x7fffe000), v_or(e, code, sign));
    }
    /* Overflow: infinity, or the largest number if the mode rounds towards zero; formats without infinity: NaN. */
    V over = emit_icmp(e, LLVMIntUGT, code, k_int(e, code, f->max)), beyond;
    if (satfinite) {
        over = v_or(e, over, infinite);
        beyond = k_int(e, code, f->max);
    } else {
        uint16_t inf = f->inf ? f->inf : f->nan;
        beyond = k_int(e, code, inf);
        if (round == PTX_RZ)
            beyond = v_sel(e, infinite, beyond, k_int(e, code, f->max));
        else if (round == PTX_RP || round == PTX_RM)
            beyond = v_sel(e, v_or(e, infinite, away), beyond, k_int(e, code, f->max));
        over = v_or(e, over, infinite);
    }
    code = v_sel(e, over, beyond, code);
    code = v_or(e, code, v_lshr(e, sign, k_int(e, sign, 32 - f->bits)));
    code = v_sel(e, nan, k_int(e, code, f->nan), code);
    return emit_resize(e, code, f->bits == 8 ? e->i8 : e->i16, false);
}

V
fp_from_small(struct emit *e, V v, enum fp_small which)
{
    const struct small_format *f = &formats[which];

    if (which == FP_F16 && e->features & EMIT_FEATURE_F16)
        return LLVMBuildFPExt(e->b, emit_bitcast(e, v, e->f16), emit_like(e, v, e->f32), "");
    if (which == FP_TF32)
        return emit_bitcast(e, v, e->f32);
    V x = emit_resize(e, v, e->i32, false);
    if (which == FP_BF16)
        return fp_as_float(e, v_shl(e, x, k_int(e, x, 16)));

    /* Exponent and significand moved into place read as the value times 2^(bias - 127), for subnormals too. */
    V sign = v_shl(e, v_and(e, x, k_int(e, x, UINT64_C(1) << (f->bits - 1))), k_int(e, x, 32 - f->bits));
    V mag = v_and(e, x, k_int(e, x, (UINT64_C(1) << (f->bits - 1)) - 1));
    V scaled = fp_as_float(e, v_shl(e, mag, k_int(e, mag, 23 - f->mbits)));
    double up = 1.0;
    for (int i = 127 - ((1 << (f->ebits - 1)) - 1); i > 0; i--)
        up *= 2;
    V r = fp_as_int(e, v_fmul(e, scaled, emit_fp_like(e, scaled, up)));
    V nan = which == FP_E4M3 ? v_eq(e, mag, k_int(e, mag, f->nan)) : emit_icmp(e, LLVMIntUGT, mag, k_int(e, mag, f->inf));
    if (f->inf)
        r = v_sel(e, v_eq(e, mag, k_int(e, mag, f->inf)), k_int(e, r, 0x7f800000), r);
    r = v_or(e, r, sign);
    /* NaN keeps sign and payload in f16 (as in the hardware's conversion); NaN of fp8 is canonical. */
    V n = which == FP_F16 ? v_or(e, v_or(e, sign, k_int(e, mag, 0x7fc00000)), v_shl(e, mag, k_int(e, mag, 13)))
                          : k_int(e, r, 0x7fffffff);
    return fp_as_float(e, v_sel(e, nan, n, r));
}
