/* SPDX-License-Identifier: Apache-2.0
 * Vector ALU: the steps of division. */
#include "tools/gfxemu/valu.h"

/* ---- division: scale, fmas, fixup ("V_DIV_SCALE_F32" and its kind in the ISA documents) ----
 *
 * In two places the hardware must differ from the documents' text, since the quotients of LLVM's expansion (and of every OpenCL
 * library) are correctly rounded there:
 * - Where the denominator's reciprocal and the quotient are both subnormal, the text scales the denominator up, from at least
 *   2^126 to infinity. Here it is scaled down, as in the next case: only that agrees with the scaling that fmas undoes.
 * - Where the quotient overflows on the way, infinities of both signs meet, and the fixup gets a NaN that neither operand
 *   explains. The quotient overflows: infinity of its sign. */

static float
div_scale_one(float s0, float s1, float s2, bool *vcc)
{
    *vcc = false;
    float d = s0;
    int e1 = (int)(f32_bits(s1) >> 23 & 0xff), e2 = (int)(f32_bits(s2) >> 23 & 0xff);
    bool same1 = f32_bits(s0) == f32_bits(s1);
    if (s2 == 0 || s1 == 0)
        return f32_of(0x7fc00000u);
    if (e2 - e1 >= 96) {
        *vcc = true;
        if (same1)
            d = ldexpf(s0, 64);
    } else if (fpclassify(s1) == FP_SUBNORMAL) {
        d = ldexpf(s0, 64);
    } else if (fabs(1.0 / (double)s1) < 0x1p-126 && fabs((double)s2 / (double)s1) < 0x1p-126) {
        *vcc = true;
        if (same1)
            d = ldexpf(s0, -64);
    } else if (fabs(1.0 / (double)s1) < 0x1p-126) {
        d = ldexpf(s0, -64);
    } else if (fabs((double)s2 / (double)s1) < 0x1p-126) {
        *vcc = true;
        if (f32_bits(s0) == f32_bits(s2))
            d = ldexpf(s0, 64);
    } else if (e2 <= 23) {
        d = ldexpf(s0, 64);
    }
    return d;
}

static void
div_scale_f32(W, I)
{
    float x[LANES], y[LANES], z[LANES], d[LANES];
    uint64_t out = 0, exec = gfx_exec_mask(w);
    gfx_srcf(w, i, 2, 0, x);
    gfx_srcf(w, i, 3, 1, y);
    gfx_srcf(w, i, 4, 2, z);
    FOR {
        bool v;
        d[l] = div_scale_one(x[l], y[l], z[l], &v);
        if (v && (exec >> l & 1))
            out |= 1ull << l;
    }
    gfx_putf(w, i, d);
    set_smask(w, &i->op[1], out);
}

static double
div_scale_one64(double s0, double s1, double s2, bool *vcc)
{
    *vcc = false;
    double d = s0;
    int e1 = (int)(f64_bits(s1) >> 52 & 0x7ff), e2 = (int)(f64_bits(s2) >> 52 & 0x7ff);
    bool same1 = f64_bits(s0) == f64_bits(s1);
    if (s2 == 0 || s1 == 0)
        return f64_of(0x7ff8ull << 48);
    double inv = 1.0 / s1;
    bool small_inv = fabs(inv) < 0x1p-1022, small_q = fabs(s2 / s1) < 0x1p-1022;
    if (e2 - e1 >= 768) {
        *vcc = true;
        if (same1)
            d = ldexp(s0, 128);
    } else if (fpclassify(s1) == FP_SUBNORMAL) {
        d = ldexp(s0, 128);
    } else if (small_inv && small_q) {
        *vcc = true;
        if (same1)
            d = ldexp(s0, -128);
    } else if (small_inv) {
        d = ldexp(s0, -128);
    } else if (small_q) {
        *vcc = true;
        if (f64_bits(s0) == f64_bits(s2))
            d = ldexp(s0, 128);
    } else if (e2 <= 53) {
        d = ldexp(s0, 128);
    }
    return d;
}

static void
div_scale_f64(W, I)
{
    double x[LANES], y[LANES], z[LANES], d[LANES];
    uint64_t out = 0, exec = gfx_exec_mask(w);
    gfx_srcd(w, i, 2, x);
    gfx_srcd(w, i, 3, y);
    gfx_srcd(w, i, 4, z);
    FOR {
        bool v;
        d[l] = div_scale_one64(x[l], y[l], z[l], &v);
        if (v && (exec >> l & 1))
            out |= 1ull << l;
    }
    gfx_putd(w, i, d);
    set_smask(w, &i->op[1], out);
}

/* (x * y + z) * 2^e, rounded once: where the quotient is subnormal, rounding before the scaling and again after it would sometimes be
 * wrong, and the hardware's quotients are correctly rounded. The sum is rounded to odd in a format with room for that. */
static __float128
fma_scaled(double x, double y, double z, int e)
{
    __float128 p = (__float128)x * y, c = z, s = p + c, b = s - p, t = (p - (s - b)) + (c - b);
    unsigned __int128 bits;
    memcpy(&bits, &s, sizeof s);
    if (t != 0 && isfinite((double)t) && !(bits & 1))
        bits += (t > 0) == (s > 0) ? (unsigned __int128)1 : -(unsigned __int128)1;
    memcpy(&s, &bits, sizeof s);
    return s * (__float128)ldexp(1, e);
}

static void
div_fmas_f32(W, I)
{
    float x[LANES], y[LANES], z[LANES], d[LANES];
    uint64_t v = vcc_mask(w);
    gfx_srcf(w, i, 1, 0, x);
    gfx_srcf(w, i, 2, 1, y);
    gfx_srcf(w, i, 3, 2, z);
    ROUND_BEGIN(0);
    FOR {
        float r = nan3(x[l], y[l], z[l], fmaf(x[l], y[l], z[l]));
        d[l] = v >> l & 1 && isfinite(r) ? (float)fma_scaled(x[l], y[l], z[l], (f32_bits(z[l]) >> 23 & 0xff) > 127 ? 64 : -64) : r;
    }
    ROUND_END();
    gfx_putf(w, i, d);
}

static void
div_fmas_f64(W, I)
{
    double x[LANES], y[LANES], z[LANES], d[LANES];
    uint64_t v = vcc_mask(w);
    gfx_srcd(w, i, 1, x);
    gfx_srcd(w, i, 2, y);
    gfx_srcd(w, i, 3, z);
    ROUND_BEGIN(2);
    FOR {
        double r = nan3d(x[l], y[l], z[l], fma(x[l], y[l], z[l]));
        d[l] = v >> l & 1 && isfinite(r) ? (double)fma_scaled(x[l], y[l], z[l], (f64_bits(z[l]) >> 52 & 0x7ff) > 1023 ? 128 : -128) : r;
    }
    ROUND_END();
    gfx_putd(w, i, d);
}

static float
div_fixup_one(float s0, float s1, float s2)
{
    bool sign = signbit(s1) != signbit(s2);
    float inf = sign ? -INFINITY : INFINITY, zero = sign ? -0.0f : 0.0f;
    int e1 = (int)(f32_bits(s1) >> 23 & 0xff), e2 = (int)(f32_bits(s2) >> 23 & 0xff);
    if (isnan(s2))
        return quiet(s2);
    if (isnan(s1))
        return quiet(s1);
    if ((s1 == 0 && s2 == 0) || (isinf(s1) && isinf(s2)))
        return f32_of(0xffc00000u);
    if (s1 == 0 || isinf(s2))
        return inf;
    if (isinf(s1) || s2 == 0)
        return zero;
    if (e2 - e1 < -150)
        return zero;
    if (e1 == 255 || isnan(s0))
        return inf;
    return sign ? -fabsf(s0) : fabsf(s0);
}
F3(div_fixup_f32, div_fixup_one(a, b, c))
H3(div_fixup_f16, isnan(c) ? c : isnan(b) ? b : (b == 0 && c == 0) || (isinf(b) && isinf(c)) ? f32_of(0xffc00000u)
   : b == 0 || isinf(c) ? copysignf(INFINITY, signbit(b) != signbit(c) ? -1.f : 1.f)
   : isinf(b) || c == 0 ? copysignf(0, signbit(b) != signbit(c) ? -1.f : 1.f) : copysignf(a, signbit(b) != signbit(c) ? -1.f : 1.f))

static double
div_fixup_one64(double s0, double s1, double s2)
{
    bool sign = signbit(s1) != signbit(s2);
    double inf = sign ? -INFINITY : INFINITY, zero = sign ? -0.0 : 0.0;
    int e1 = (int)(f64_bits(s1) >> 52 & 0x7ff), e2 = (int)(f64_bits(s2) >> 52 & 0x7ff);
    if (isnan(s2))
        return quietd(s2);
    if (isnan(s1))
        return quietd(s1);
    if ((s1 == 0 && s2 == 0) || (isinf(s1) && isinf(s2)))
        return f64_of(0xfff8ull << 48);
    if (s1 == 0 || isinf(s2))
        return inf;
    if (isinf(s1) || s2 == 0)
        return zero;
    if (e2 - e1 < -1075)
        return zero;
    if (e1 == 2047 || isnan(s0))
        return inf;
    return sign ? -fabs(s0) : fabs(s0);
}
D3(div_fixup_f64, div_fixup_one64(a, b, c))

const struct gfx_row gfx_valu_div[] = {
    V("div_scale_f32", div_scale_f32), V("div_scale_f64", div_scale_f64), V("div_fmas_f32", div_fmas_f32), V("div_fmas_f64", div_fmas_f64),
    V("div_fixup_f32", div_fixup_f32), V("div_fixup_f64", div_fixup_f64), V("div_fixup_f16", div_fixup_f16),
    V("div_fixup_legacy_f16", div_fixup_f16),
    { NULL, NULL, 0, 0 },
};
