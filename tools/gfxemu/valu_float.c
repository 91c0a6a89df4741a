/* SPDX-License-Identifier: Apache-2.0
 * Vector ALU: arithmetic of f32, f64 and f16 without division (valu_div.c), minima (minmax.c) and conversions (valu_cvt.c). NaN results are
 * AMD's: the first source that is a NaN, quiet, else 0x7fc00000. Approximate instructions (rcp, rsq, exp, log, sin, ...) give the correctly
 * rounded value: within AMD's bound of 1 ulp. */
#include "tools/gfxemu/valu.h"

/* ---- float ---- */

F2(add_f32, nan2(a, b, a + b))
F2(sub_f32, nan2(a, b, a - b))
F2(subrev_f32, nan2(a, b, b - a))
F2(mul_f32, nan2(a, b, a * b))
F2(mul_legacy, a == 0 || b == 0 ? 0 : nan2(a, b, a * b))
F3(fma_f32, nan3(a, b, c, fmaf(a, b, c)))
F3(mad_f32, nan3(a, b, c, nan2(a, b, a * b) + c))
F2A(fmac_f32, nan3(a, b, c, fmaf(a, b, c)))
F2A(mac_f32, nan3(a, b, c, a * b + c))

/* Zero times anything is zero, as in DirectX 9. */
#define DX9(zero, sum) (a == 0 || b == 0 ? (zero) : (sum))
F3(fma_dx9, DX9(c, nan3(a, b, c, fmaf(a, b, c))))
F2A(fmac_dx9, DX9(c, nan3(a, b, c, fmaf(a, b, c))))
F3(mad_dx9, nan3(DX9(0, a), DX9(0, b), c, DX9(0, a * b) + c))
F2A(mac_dx9, nan3(DX9(0, a), DX9(0, b), c, DX9(0, a * b) + c))

/* Fused with a literal: d = a * K + b and d = a * b + K have their operands in text order. */
F3(fmaak, nan3(a, b, c, fmaf(a, b, c)))

#define ONE(name, f, expr) F1(name, isnan(a) ? quiet(a) : (float)(expr))
F1(floor_f32, isnan(a) ? quiet(a) : floorf(a))
F1(ceil_f32, isnan(a) ? quiet(a) : ceilf(a))
F1(trunc_f32, isnan(a) ? quiet(a) : truncf(a))
F1(rndne_f32, isnan(a) ? quiet(a) : roundevenf(a))
static float
fract_f(float a)
{
    if (isnan(a))
        return quiet(a);
    if (isinf(a))
        return f32_of(0x7fc00000u);
    return fminf(a - floorf(a), 0x1.fffffep-1f);
}
F1(fract_f32, fract_f(a))
F1(rcp_f32, isnan(a) ? quiet(a) : (float)(1.0 / (double)a))
F1(rsq_f32, isnan(a) ? quiet(a) : a < 0 ? f32_of(0x7fc00000u) : (float)(1.0 / sqrt((double)a)))
F1(sqrt_f32, isnan(a) ? quiet(a) : a < 0 ? f32_of(0x7fc00000u) : sqrtf(a))
F1(exp_f32, isnan(a) ? quiet(a) : flush32((float)exp2((double)a)))
F1(log_f32, isnan(a) ? quiet(a) : a < 0 ? f32_of(0x7fc00000u) : (float)log2((double)flush32(a)))
/* The argument counts turns; out of +-256 the result is 0 (sin) or 1 (cos). */
F1(sin_f32, isnan(a) ? quiet(a) : isinf(a) ? f32_of(0x7fc00000u) : fabsf(a) > 256 ? 0 : (float)sin(fmod((double)a, 1.0) * 2 * M_PI))
F1(cos_f32, isnan(a) ? quiet(a) : isinf(a) ? f32_of(0x7fc00000u) : fabsf(a) > 256 ? 1 : (float)cos(fmod((double)a, 1.0) * 2 * M_PI))

static void
ldexp_f32(W, I)
{
    float x[LANES], d[LANES];
    uint32_t y[LANES];
    gfx_srcf(w, i, 1, 0, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    ROUND_BEGIN(0);
    FOR d[l] = isnan(x[l]) ? quiet(x[l]) : ldexpf(x[l], SI(y[l]));
    ROUND_END();
    gfx_putf(w, i, d);
}

static void
frexp_exp_f32(W, I)
{
    float x[LANES];
    uint32_t d[LANES];
    gfx_srcf(w, i, 1, 0, x);
    FOR {
        int e = 0;
        if (isfinite(x[l]))
            frexpf(x[l], &e);
        d[l] = (uint32_t)e;
    }
    gfx_put32(w, i, d);
}

static float
mantissa_f(float a)
{
    int e;
    return isnan(a) ? quiet(a) : isinf(a) ? a : frexpf(a, &e);
}
F1(frexp_mant_f32, mantissa_f(a))

/* ---- double ---- */

D2(add_f64, nan2d(a, b, a + b))
D2(mul_f64, nan2d(a, b, a * b))
D3(fma_f64, nan3d(a, b, c, fma(a, b, c)))
static void
fmac_f64(W, I)
{
    double x[LANES], y[LANES], z[LANES], d[LANES];
    gfx_srcd(w, i, 1, x);
    gfx_srcd(w, i, 2, y);
    gfx_srcd(w, i, 0, z);
    ROUND_BEGIN(2);
    FOR d[l] = nan3d(x[l], y[l], z[l], fma(x[l], y[l], z[l]));
    ROUND_END();
    gfx_putd(w, i, d);
}
D1(floor_f64, isnan(a) ? quietd(a) : floor(a))
D1(ceil_f64, isnan(a) ? quietd(a) : ceil(a))
D1(trunc_f64, isnan(a) ? quietd(a) : trunc(a))
D1(rndne_f64, isnan(a) ? quietd(a) : roundeven(a))
D1(fract_f64, isnan(a) ? quietd(a) : isinf(a) ? f64_of(0x7ff8ull << 48) : fmin(a - floor(a), 0x1.fffffffffffffp-1))
D1(rcp_f64, isnan(a) ? quietd(a) : 1 / a)
D1(rsq_f64, isnan(a) ? quietd(a) : a < 0 ? f64_of(0x7ff8ull << 48) : 1 / sqrt(a))
D1(sqrt_f64, isnan(a) ? quietd(a) : a < 0 ? f64_of(0x7ff8ull << 48) : sqrt(a))
static double
mantissa_d(double a)
{
    int e;
    return isnan(a) ? quietd(a) : isinf(a) ? a : frexp(a, &e);
}
D1(frexp_mant_f64, mantissa_d(a))

static void
frexp_exp_f64(W, I)
{
    double x[LANES];
    uint32_t d[LANES];
    gfx_srcd(w, i, 1, x);
    FOR {
        int e = 0;
        if (isfinite(x[l]))
            frexp(x[l], &e);
        d[l] = (uint32_t)e;
    }
    gfx_put32(w, i, d);
}

static void
ldexp_f64(W, I)
{
    double x[LANES], d[LANES];
    uint32_t y[LANES];
    gfx_srcd(w, i, 1, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    ROUND_BEGIN(2);
    FOR d[l] = isnan(x[l]) ? quietd(x[l]) : ldexp(x[l], SI(y[l]));
    ROUND_END();
    gfx_putd(w, i, d);
}

/* ---- half ---- */

static float
fma_h(float a, float b, float c)
{
    __float128 r = (__float128)a * b + c;     /* exact: 22 bits and 11 bits, at most 80 places apart */
    return nan3(a, b, c, (float)(_Float16)r);
}
H2(add_f16, nan2(a, b, a + b))
H2(sub_f16, nan2(a, b, a - b))
H2(subrev_f16, nan2(a, b, b - a))
H2(mul_f16, nan2(a, b, a * b))
H3(fma_f16, fma_h(a, b, c))
H2A(fmac_f16, fma_h(a, b, c))
H3(mad_f16, nan3(a, b, c, f16_of(f16_bits(a * b)) + c))
H2A(mac_f16, nan3(a, b, c, f16_of(f16_bits(a * b)) + c))     /* rounded twice, as mac_f32 */
H1(floor_f16, floorf(a))
H1(ceil_f16, ceilf(a))
H1(trunc_f16, truncf(a))
H1(rndne_f16, roundevenf(a))
H1(fract_f16, fract_f(a))
H1(rcp_f16, (float)(1.0 / (double)a))
H1(rsq_f16, a < 0 ? NAN : (float)(1.0 / sqrt((double)a)))
H1(sqrt_f16, sqrtf(a))
H1(exp_f16, (float)exp2((double)a))
H1(log_f16, (float)log2((double)a))
H1(sin_f16, (float)sin(fmod((double)a, 1.0) * 2 * M_PI))
H1(cos_f16, (float)cos(fmod((double)a, 1.0) * 2 * M_PI))
H1(frexp_mant_f16, mantissa_f(a))

static void
ldexp_f16(W, I)
{
    float x[LANES], d[LANES];
    uint32_t y[LANES];
    gfx_srch(w, i, 1, 0, x);
    gfx_src32(w, i, 2, 1, T_B16, y);
    FOR d[l] = ldexpf(x[l], SH(y[l]));
    gfx_puth(w, i, d);
}

static void
frexp_exp_f16(W, I)
{
    float x[LANES];
    uint32_t d[LANES];
    gfx_srch(w, i, 1, 0, x);
    FOR {
        int e = 0;
        if (isfinite(x[l]))
            frexpf(x[l], &e);
        d[l] = (uint32_t)e & 0xffff;
    }
    gfx_put16(w, i, d);
}

const struct gfx_row gfx_valu_float[] = {
    V("add_f32", add_f32), V("sub_f32", sub_f32), V("subrev_f32", subrev_f32), V("mul_f32", mul_f32), V("mul_legacy_f32", mul_legacy),
    V("mul_dx9_zero_f32", mul_legacy), V("fma_f32", fma_f32), V("mad_f32", mad_f32), V("fmac_f32", fmac_f32),
    V("mac_f32", mac_f32), V("fmaak_f32", fmaak), V("fmamk_f32", fmaak), V("madak_f32", mad_f32), V("madmk_f32", mad_f32),
    V("fma_dx9_zero_f32", fma_dx9), V("fma_legacy_f32", fma_dx9), V("fmac_dx9_zero_f32", fmac_dx9), V("fmac_legacy_f32", fmac_dx9),
    V("mad_legacy_f32", mad_dx9), V("mac_legacy_f32", mac_dx9), VT("exp_legacy_f32", exp_f32), VT("log_legacy_f32", log_f32),
    V("mad_f16", mad_f16), V("mad_legacy_f16", mad_f16), V("madak_f16", mad_f16), V("madmk_f16", mad_f16), V("fma_legacy_f16", fma_f16),
    V("floor_f32", floor_f32),
    V("ceil_f32", ceil_f32), V("trunc_f32", trunc_f32), V("rndne_f32", rndne_f32), V("fract_f32", fract_f32), VT("rcp_f32", rcp_f32),
    VT("rcp_iflag_f32", rcp_f32), VT("rsq_f32", rsq_f32), VT("sqrt_f32", sqrt_f32), VT("exp_f32", exp_f32), VT("log_f32", log_f32),
    VT("sin_f32", sin_f32), VT("cos_f32", cos_f32), V("ldexp_f32", ldexp_f32), V("frexp_exp_i32_f32", frexp_exp_f32),
    V("frexp_mant_f32", frexp_mant_f32), V("add_f64", add_f64), V("mul_f64", mul_f64), V("fma_f64", fma_f64), V("fmac_f64", fmac_f64), V("floor_f64", floor_f64),
    V("ceil_f64", ceil_f64), V("trunc_f64", trunc_f64), V("rndne_f64", rndne_f64), V("fract_f64", fract_f64), VT("rcp_f64", rcp_f64),
    VT("rsq_f64", rsq_f64), VT("sqrt_f64", sqrt_f64), V("frexp_mant_f64", frexp_mant_f64), V("frexp_exp_i32_f64", frexp_exp_f64),
    V("ldexp_f64", ldexp_f64), V("add_f16", add_f16), V("sub_f16", sub_f16), V("subrev_f16", subrev_f16), V("mul_f16", mul_f16),
    V("fma_f16", fma_f16), V("fmac_f16", fmac_f16), V("mac_f16", mac_f16), V("fmaak_f16", fma_f16), V("fmamk_f16", fma_f16), V("floor_f16", floor_f16), V("ceil_f16", ceil_f16), V("trunc_f16", trunc_f16), V("rndne_f16", rndne_f16),
    V("fract_f16", fract_f16), VT("rcp_f16", rcp_f16), VT("rsq_f16", rsq_f16), VT("sqrt_f16", sqrt_f16), VT("exp_f16", exp_f16),
    VT("log_f16", log_f16), VT("sin_f16", sin_f16), VT("cos_f16", cos_f16), V("frexp_mant_f16", frexp_mant_f16),
    V("frexp_exp_i16_f16", frexp_exp_f16), V("ldexp_f16", ldexp_f16),
    /* of gfx12, from a scalar register to one */
    VT("s_rcp_f32", rcp_f32), VT("s_rsq_f32", rsq_f32), VT("s_sqrt_f32", sqrt_f32), VT("s_exp_f32", exp_f32), VT("s_log_f32", log_f32),
    VT("s_rcp_f16", rcp_f16), VT("s_rsq_f16", rsq_f16), VT("s_sqrt_f16", sqrt_f16), VT("s_exp_f16", exp_f16), VT("s_log_f16", log_f16),
    { NULL, NULL, 0, 0 },
};
