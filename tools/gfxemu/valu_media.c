/* SPDX-License-Identifier: Apache-2.0
 * Vector ALU: what graphics and video use: sums of differences of bytes, cube maps, normalized numbers; the bits of 2/pi. */
#include "tools/gfxemu/valu.h"

/* ---- bytes ---- */

/* |a - b| of four bytes, added to c; `masked`: without those where b is 0. */
static uint64_t
differences(uint32_t a, uint32_t b, uint64_t c, bool masked)
{
    for (unsigned k = 0; k < 32; k += 8) {
        int x = (int)(a >> k & 0xff), y = (int)(b >> k & 0xff);
        if (!masked || y)
            c += (uint64_t)(x > y ? x - y : y - x);
    }
    return c;
}

static uint64_t
limit(I, uint64_t sum, uint64_t most)
{
    return i->clamp && sum > most ? most : sum;
}

/* arg: 0 sad, 1 msad (masked), 2 sad_hi (the sum to the upper half). */
static void
sad(W, I)
{
    uint32_t x[LANES], y[LANES], z[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    gfx_src32(w, i, 3, 2, T_B32, z);
    FOR d[l] = (uint32_t)limit(i, i->arg == 2 ? (differences(x[l], y[l], 0, false) << 16) + z[l] : differences(x[l], y[l], z[l], i->arg), ~0u);
    gfx_put32(w, i, d);
}

/* Four sums, of the bytes from 0, 1, 2 and 3 on. arg: bit 0 masked, bit 1 sums of 32 bits in four registers, else of 16 in two. */
static void
quad_sad(W, I)
{
    uint64_t x[LANES];
    uint32_t y[LANES], sums[4][LANES] = { { 0 } };
    unsigned wide = i->arg & 2, per = wide ? 1 : 2;
    gfx_src64(w, i, 1, T_B64, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    for (unsigned k = 0; k < 4; k++) {
        uint32_t z[LANES];
        struct gfx_insn part = *i;
        part.op[3].reg = (uint16_t)(part.op[3].reg + k / per);
        gfx_src32(w, &part, 3, 2, T_B32, z);
        FOR {
            uint32_t most = wide ? ~0u : 0xffff, addend = wide ? z[l] : z[l] >> 16 * (k & 1) & 0xffff;
            uint32_t sum = (uint32_t)limit(i, differences((uint32_t)(x[l] >> 8 * k), y[l], addend, i->arg & 1), most) & most;
            sums[k / per][l] |= wide ? sum : sum << 16 * (k & 1);
        }
    }
    for (unsigned k = 0; k < 4 / per; k++)
        put_reg(w, i->op[0].reg + k, sums[k]);
}

static uint32_t
mean_of_bytes(uint32_t a, uint32_t b, uint32_t round)
{
    uint32_t r = 0;
    for (unsigned k = 0; k < 32; k += 8)
        r |= ((a >> k & 0xff) + (b >> k & 0xff) + (round >> k & 1)) >> 1 << k;
    return r;
}
U3(lerp_u8, mean_of_bytes(a, b, c))

static uint32_t
sat8(uint32_t half)
{
    return SH(half) < 0 ? 0 : SH(half) > 255 ? 255 : half & 0xff;
}

static void
sat_pk(W, I)
{
    uint32_t x[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    FOR d[l] = sat8(x[l]) | sat8(x[l] >> 16) << 8;
    gfx_put16(w, i, d);
}

/* ---- cube maps ---- */

static bool
z_major(float a, float b, float c)
{
    return fabsf(c) >= fabsf(a) && fabsf(c) >= fabsf(b);
}

static bool
y_major(float a, float b)
{
    return fabsf(b) >= fabsf(a);
}
F3(cubeid, z_major(a, b, c) ? (c < 0 ? 5 : 4) : y_major(a, b) ? (b < 0 ? 3 : 2) : a < 0 ? 1 : 0)
F3(cubema, z_major(a, b, c) ? nan2(c, c, 2 * c) : y_major(a, b) ? nan2(b, b, 2 * b) : nan2(a, a, 2 * a))
F3(cubesc, z_major(a, b, c) ? (c < 0 ? -a : a) : y_major(a, b) ? a : a < 0 ? c : -c)
F3(cubetc, z_major(a, b, c) ? -b : y_major(a, b) ? (b < 0 ? -c : c) : -b)

/* OpenGL's lighting: the largest negative number where there is no light. */
F3(mullit, b == -0x1.fffffep127f || b == -INFINITY || isnan(b) || c <= 0 || isnan(c) ? -0x1.fffffep127f : nan2(a, b, a * b))

/* ---- normalized numbers ---- */

/* From -1..1 (unsigned: 0..1) to all integers of 16 bits, to the nearest; NaN to 0. */
static uint32_t
norm16(float a, bool sign)
{
    double most = sign ? 32767 : 65535, least = sign ? -32767 : 0, x = isnan(a) ? 0 : (double)a * most;
    return (uint32_t)(int32_t)roundeven(x > most ? most : x < least ? least : x) & 0xffff;
}

static void
cvt_norm(W, I)      /* arg 1: signed */
{
    float x[LANES];
    uint32_t d[LANES];
    gfx_srch(w, i, 1, 0, x);
    FOR d[l] = norm16(x[l], i->arg);
    gfx_put16(w, i, d);
}

/* Two floats to two integers of 16 bits. arg: bit 0 signed, bit 1 from halves, bit 2 not normalized: cut, and limited. */
static void
cvt_pk(W, I)
{
    float x[2][LANES];
    uint32_t d[LANES];
    for (unsigned k = 0; k < 2; k++)
        (i->arg & 2 ? gfx_srch : gfx_srcf)(w, i, k + 1, k, x[k]);
    FOR {
        d[l] = 0;
        for (unsigned k = 0; k < 2; k++) {
            float a = isnan(x[k][l]) ? 0 : x[k][l], least = i->arg & 1 ? -32768 : 0, most = i->arg & 1 ? 32767 : 65535;
            uint32_t v = i->arg & 4 ? (uint32_t)(int32_t)(a < least ? least : a > most ? most : a) & 0xffff : norm16(x[k][l], i->arg & 1);
            d[l] |= v << 16 * k;
        }
    }
    gfx_put32(w, i, d);
}

/* Signed four bits in sixteenths: offsets of samples within a pixel. */
U1(cvt_off, f32_bits((float)((int32_t)(a << 28) >> 28) / 16))

/* ---- 2/pi for the reduction of large angles ---- */

/* The first 1201 bits of its fraction, from the most significant one. */
static const uint64_t two_by_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};
enum { PI_BITS = 1201, PI_PART = 53 };

/* 53 of them: the part that the low five bits of `part` name, further right for large angles. */
static double
trig_preop(double angle, uint32_t part)
{
    enum { FIRST_LARGE = 1077, RESCALED = 1968 };
    int exponent = (int)(f64_bits(angle) >> 52 & 0x7ff), at = (int)(part & 31) * PI_PART + (exponent > FIRST_LARGE ? exponent - FIRST_LARGE : 0);
    uint64_t bits = 0;
    for (int k = at; k < at + PI_PART; k++)
        bits = bits << 1 | (k < PI_BITS ? two_by_pi[k / 64] >> (63 - k % 64) & 1 : 0);
    return ldexp((double)bits, -PI_PART - at + (exponent >= RESCALED ? 128 : 0));
}

static void
trig_preop_f64(W, I)
{
    double x[LANES], d[LANES];
    uint32_t y[LANES];
    gfx_srcd(w, i, 1, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR d[l] = trig_preop(x[l], y[l]);
    gfx_putd(w, i, d);
}

const struct gfx_row gfx_valu_media[] = {
    VA("sad_u8", sad, 0), VA("msad_u8", sad, 1), VA("sad_hi_u8", sad, 2), VA("qsad_pk_u16_u8", quad_sad, 0), VA("mqsad_pk_u16_u8", quad_sad, 1),
    VA("mqsad_u32_u8", quad_sad, 3), V("lerp_u8", lerp_u8), V("sat_pk_u8_i16", sat_pk), V("cubeid_f32", cubeid), V("cubema_f32", cubema),
    V("cubesc_f32", cubesc), V("cubetc_f32", cubetc), V("mullit_f32", mullit), VA("cvt_norm_u16_f16", cvt_norm, 0),
    VA("cvt_norm_i16_f16", cvt_norm, 1), VA("cvt_pk_norm_u16_f32", cvt_pk, 0), VA("cvt_pk_norm_i16_f32", cvt_pk, 1),
    VA("cvt_pk_norm_u16_f16", cvt_pk, 2), VA("cvt_pk_norm_i16_f16", cvt_pk, 3), VA("cvt_pknorm_u16_f32", cvt_pk, 0),
    VA("cvt_pknorm_i16_f32", cvt_pk, 1), VA("cvt_pknorm_u16_f16", cvt_pk, 2), VA("cvt_pknorm_i16_f16", cvt_pk, 3),
    VA("cvt_pk_u16_f32", cvt_pk, 4), VA("cvt_pk_i16_f32", cvt_pk, 5), V("cvt_off_f32_i4", cvt_off), V("trig_preop_f64", trig_preop_f64),
    { NULL, NULL, 0, 0 },
};
