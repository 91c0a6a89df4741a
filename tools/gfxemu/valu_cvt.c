/* SPDX-License-Identifier: Apache-2.0
 * Vector ALU: conversions. */
#include "tools/gfxemu/valu.h"

static inline uint32_t
to_i32(double a)
{
    return isnan(a) ? 0 : a >= 2147483647.0 ? 0x7fffffffu : a <= -2147483648.0 ? 0x80000000u : (uint32_t)(int32_t)a;
}

static inline uint32_t
to_u32(double a)
{
    return isnan(a) || a <= 0 ? 0 : a >= 4294967295.0 ? ~0u : (uint32_t)a;
}

static uint32_t
bf16_bits(float f)
{
    uint32_t b = f32_bits(f);
    return isnan(f) ? b >> 16 | 0x40 : (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

#define CVT_F(name, type, fetch, put, expr) static void name(W, I) { float x[LANES]; type d[LANES]; fetch(w, i, 1, 0, x); ROUND_BEGIN(0); \
    FOR { float a = x[l]; d[l] = expr; } ROUND_END(); put(w, i, d); }
#define CVT_U(name, type, put, shift, expr) static void name(W, I) { uint32_t x[LANES]; type d[LANES]; gfx_src32(w, i, 1, 0, T_B32, x); \
    ROUND_BEGIN(shift); FOR { uint32_t a = x[l]; d[l] = expr; } ROUND_END(); put(w, i, d); }
#define CVT_S(name, type, put, shift, expr) static void name(W, I) { uint32_t x[LANES]; type d[LANES]; gfx_src32(w, i, 1, 0, T_B16, x); \
    ROUND_BEGIN(shift); FOR { uint32_t a = x[l]; d[l] = expr; } ROUND_END(); put(w, i, d); }
CVT_F(cvt_i32_f32, uint32_t, gfx_srcf, gfx_put32, to_i32(a))
CVT_F(cvt_u32_f32, uint32_t, gfx_srcf, gfx_put32, to_u32(a))
CVT_F(cvt_nearest_i32_f32, uint32_t, gfx_srcf, gfx_put32, to_i32(floor((double)a + 0.5)))
CVT_F(cvt_floor_i32_f32, uint32_t, gfx_srcf, gfx_put32, to_i32(floorf(a)))
CVT_U(cvt_f32_i32, float, gfx_putf, 0, (float)SI(a))
CVT_U(cvt_f32_u32, float, gfx_putf, 0, (float)a)
CVT_U(cvt_f64_i32, double, gfx_putd, 2, (double)SI(a))
CVT_U(cvt_f64_u32, double, gfx_putd, 2, (double)a)
CVT_F(cvt_f64_f32, double, gfx_srcf, gfx_putd, isnan(a) ? quietd((double)a) : (double)a)
CVT_S(cvt_f16_u16, float, gfx_puth, 2, f16_of(f16_bits((float)a)))
CVT_S(cvt_f16_i16, float, gfx_puth, 2, f16_of(f16_bits((float)SH(a))))
CVT_F(cvt_u16_f16, uint32_t, gfx_srch, gfx_put16, isnan(a) || a <= 0 ? 0 : a >= 65535 ? 65535 : (uint32_t)a)
CVT_F(cvt_i16_f16, uint32_t, gfx_srch, gfx_put16, (isnan(a) ? 0 : (uint32_t)sat16((int)fminf(fmaxf(a, -40000), 40000))) & 0xffff)
CVT_S(cvt_i32_i16, uint32_t, gfx_put32, 0, (uint32_t)SH(a))
CVT_S(cvt_u32_u16, uint32_t, gfx_put32, 0, a)
CVT_F(cvt_f32_f16, float, gfx_srch, gfx_putf, a)

static void
cvt_f16_f32(W, I)       /* arg 1: toward zero */
{
    float x[LANES], d[LANES];
    gfx_srcf(w, i, 1, 0, x);
    unsigned rm = w->mode >> 2 & 3;
    if (rm)
        fesetround((int)rounding(rm));
    FOR d[l] = f16_of(f16_bits(x[l]));
    if (rm)
        fesetround(FE_TONEAREST);
    gfx_puth(w, i, d);
}

static void
cvt_pkrtz(W, I)
{
    float x[LANES], y[LANES];
    uint32_t d[LANES];
    gfx_srcf(w, i, 1, 0, x);
    gfx_srcf(w, i, 2, 1, y);
    fesetround(FE_TOWARDZERO);
    FOR {
        volatile float a = x[l], b = y[l];
        d[l] = f16_bits(a) | (uint32_t)f16_bits(b) << 16;
    }
    fesetround(FE_TONEAREST);
    gfx_put32(w, i, d);
}

#define CVT_D(name, type, put, expr) static void name(W, I) { double x[LANES]; type d[LANES]; gfx_srcd(w, i, 1, x); ROUND_BEGIN(0); \
    FOR { double a = x[l]; d[l] = expr; } ROUND_END(); put(w, i, d); }
CVT_D(cvt_f32_f64, float, gfx_putf, isnan(a) ? quiet((float)a) : (float)a)
CVT_D(cvt_i32_f64, uint32_t, gfx_put32, to_i32(trunc(a)))
CVT_D(cvt_u32_f64, uint32_t, gfx_put32, to_u32(trunc(a)))

static void
cvt_ubyte(W, I)
{
    uint32_t x[LANES];
    float d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    FOR d[l] = (float)(x[l] >> 8 * i->arg & 0xff);
    gfx_putf(w, i, d);
}

/* Pairs with saturation; arg bit 0: signed sources. */
static void
cvt_pk_u16(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR {
        uint32_t a = i->arg ? (uint32_t)(SI(x[l]) > 32767 ? 32767 : SI(x[l]) < -32768 ? -32768 : SI(x[l])) & 0xffff : x[l] > 65535 ? 65535 : x[l];
        uint32_t b = i->arg ? (uint32_t)(SI(y[l]) > 32767 ? 32767 : SI(y[l]) < -32768 ? -32768 : SI(y[l])) & 0xffff : y[l] > 65535 ? 65535 : y[l];
        d[l] = a | b << 16;
    }
    gfx_put32(w, i, d);
}

static void
cvt_pk_u8(W, I)
{
    float x[LANES];
    uint32_t y[LANES], z[LANES], d[LANES];
    gfx_srcf(w, i, 1, 0, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    gfx_src32(w, i, 3, 2, T_B32, z);
    FOR {
        uint32_t b = to_u32(x[l]), s = 8 * (y[l] & 3);
        d[l] = (z[l] & ~(0xffu << s)) | (b > 255 ? 255 : b) << s;
    }
    gfx_put32(w, i, d);
}

/* Of gfx950: two floats to two halves or (arg 1) bf16, to the nearest whatever the mode; and bf16 to a float. */
static void
cvt_pk_nearest(W, I)
{
    float x[LANES], y[LANES];
    uint32_t d[LANES];
    gfx_srcf(w, i, 1, 0, x);
    gfx_srcf(w, i, 2, 1, y);
    FOR d[l] = i->arg ? bf16_bits(x[l]) | bf16_bits(y[l]) << 16 : f16_bits(x[l]) | (uint32_t)f16_bits(y[l]) << 16;
    gfx_put32(w, i, d);
}

static void
cvt_f32_bf16(W, I)
{
    uint32_t x[LANES];
    float d[LANES];
    gfx_src32(w, i, 1, 0, T_BF16, x);
    FOR d[l] = f32_of(x[l] << 16);
    gfx_putf(w, i, d);
}

const struct gfx_row gfx_valu_cvt[] = {
    V("cvt_i32_f32", cvt_i32_f32), V("cvt_u32_f32", cvt_u32_f32), V("cvt_rpi_i32_f32", cvt_nearest_i32_f32),
    V("cvt_nearest_i32_f32", cvt_nearest_i32_f32), V("cvt_flr_i32_f32", cvt_floor_i32_f32), V("cvt_floor_i32_f32", cvt_floor_i32_f32),
    V("cvt_f32_i32", cvt_f32_i32), V("cvt_f32_u32", cvt_f32_u32), V("cvt_f64_i32", cvt_f64_i32), V("cvt_f64_u32", cvt_f64_u32),
    V("cvt_f64_f32", cvt_f64_f32), V("cvt_f16_u16", cvt_f16_u16), V("cvt_f16_i16", cvt_f16_i16), V("cvt_u16_f16", cvt_u16_f16),
    V("cvt_i16_f16", cvt_i16_f16), V("cvt_i32_i16", cvt_i32_i16), V("cvt_u32_u16", cvt_u32_u16), V("cvt_f32_f16", cvt_f32_f16),
    V("cvt_f16_f32", cvt_f16_f32), V("cvt_pkrtz_f16_f32", cvt_pkrtz), V("cvt_pk_rtz_f16_f32", cvt_pkrtz), V("cvt_f32_f64", cvt_f32_f64),
    V("cvt_i32_f64", cvt_i32_f64), V("cvt_u32_f64", cvt_u32_f64), VA("cvt_f32_ubyte0", cvt_ubyte, 0), VA("cvt_f32_ubyte1", cvt_ubyte, 1),
    VA("cvt_f32_ubyte2", cvt_ubyte, 2), VA("cvt_f32_ubyte3", cvt_ubyte, 3), VA("cvt_pk_u16_u32", cvt_pk_u16, 0),
    VA("cvt_pk_i16_i32", cvt_pk_u16, 1), V("cvt_pk_u8_f32", cvt_pk_u8), VA("cvt_pk_f16_f32", cvt_pk_nearest, 0), VA("cvt_pk_bf16_f32", cvt_pk_nearest, 1),
    V("cvt_f32_bf16", cvt_f32_bf16),
    { NULL, NULL, 0, 0 },
};
