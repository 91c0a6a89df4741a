/* SPDX-License-Identifier: Apache-2.0
 * Packed instructions (two 16-bit or two 32-bit values a lane), mixed-precision fma, dot products. For each source op_sel picks the
 * half that the low result uses, op_sel_hi the one of the high result; neg_lo and neg_hi negate them. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

#define FOR for (unsigned l = 0; l < w->lanes; l++)
#define SH(x) ((int32_t)(int16_t)(x))

enum pk { ADD_U, SUB_U, ADD_I, SUB_I, MUL_LO, MIN_U, MAX_U, MIN_I, MAX_I, SHL, SHR, SAR, MAD_U, MAD_I, ADD_F, MUL_F, FMA_F };

/* a * b + c of halves, rounded once. */
static uint32_t
f16_fma(uint32_t a, uint32_t b, uint32_t c)
{
    float x = f16_of(a), y = f16_of(b), z = f16_of(c);
    __float128 exact = (__float128)x * y + z;         /* 22 bits and 11 bits, at most 80 places apart */
    float r = f16_of(f16_raw((_Float16)exact));
    return f16_bits(nan3(x, y, z, r));
}

/* The same of bf16. The sum is rounded to odd twice on the way, so that the last rounding sees what was cut. */
static uint32_t
bf16_fma(uint32_t a, uint32_t b, uint32_t c)
{
    float x = f32_of(a << 16), y = f32_of(b << 16), z = f32_of(c << 16);
    double p = (double)x * y, s = p + z, over = s - p, rest = (p - (s - over)) + (z - over);
    if (!isfinite(s))
        return f32_bits(nan3(x, y, z, (float)s)) >> 16;
    uint64_t wide;
    memcpy(&wide, &s, 8);
    if (rest != 0 && !(wide & 1))
        wide += (rest > 0) == (s > 0) ? 1 : (uint64_t)-1;
    memcpy(&s, &wide, 8);
    float f = (float)s;
    uint32_t bits = f32_bits(f);
    if (fabs((double)f) > fabs(s))
        bits--;                                     /* cut */
    bits |= (double)f != s;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static uint32_t
one(I, uint32_t a, uint32_t b, uint32_t c)
{
    int r;
    float f;
    switch ((enum pk)i->arg) {
    case ADD_U: return i->clamp && a + b > 0xffff ? 0xffff : a + b;
    case SUB_U: return i->clamp && b > a ? 0 : a - b;
    case ADD_I: case SUB_I:
        r = i->arg == ADD_I ? SH(a) + SH(b) : SH(a) - SH(b);
        return (uint32_t)(!i->clamp ? r : r > 32767 ? 32767 : r < -32768 ? -32768 : r);
    case MUL_LO: return a * b;
    case MIN_U: return a < b ? a : b;
    case MAX_U: return a > b ? a : b;
    case MIN_I: return SH(a) < SH(b) ? a : b;
    case MAX_I: return SH(a) > SH(b) ? a : b;
    case SHL: return b << (a & 15);
    case SHR: return b >> (a & 15);
    case SAR: return (uint32_t)(SH(b) >> (a & 15));
    case MAD_U: return i->clamp && a * b + c > 0xffff ? 0xffff : a * b + c;
    case MAD_I:
        r = SH(a) * SH(b) + SH(c);
        return (uint32_t)(!i->clamp ? r : r > 32767 ? 32767 : r < -32768 ? -32768 : r);
    case ADD_F: f = nan2(f16_of(a), f16_of(b), f16_of(a) + f16_of(b)); break;
    case MUL_F: f = nan2(f16_of(a), f16_of(b), f16_of(a) * f16_of(b)); break;
    default: f = f16_of(f16_fma(a, b, c)); break;
    }
    if (i->clamp)
        f = isnan(f) || f <= 0 ? 0 : f > 1 ? 1 : f;
    return f16_bits(f);
}

static void
packed(W, I)
{
    uint32_t al[LANES], ah[LANES], bl[LANES], bh[LANES], cl[LANES] = { 0 }, ch[LANES] = { 0 }, d[LANES];
    enum gfx_type t = i->arg >= ADD_F ? T_F16 : T_B16;
    gfx_halves(w, i, 1, t, al, ah);
    gfx_halves(w, i, 2, t, bl, bh);
    if (i->noperands > 3)
        gfx_halves(w, i, 3, t, cl, ch);
    ROUND_BEGIN(2);
    FOR d[l] = (one(i, al[l], bl[l], cl[l]) & 0xffff) | one(i, ah[l], bh[l], ch[l]) << 16;
    ROUND_END();
    put_reg(w, i->op[0].reg, d);
}

/* v_pk_fmac_f16: the destination is the addend, and there is no op_sel. */
static void
packed_fmac(W, I)
{
    struct gfx_insn fma = *i;
    fma.op[3] = i->op[0];
    fma.noperands = 4;
    fma.arg = FMA_F;
    packed(w, &fma);
}

/* Two f32 a lane in register pairs (gfx90a on). arg: 0 add, 1 mul, 2 fma, 3 move. */
static void
packed32(W, I)
{
    uint32_t r[2][LANES];
    ROUND_BEGIN(0);
    for (unsigned h = 0; h < 2; h++)
        FOR {
            uint32_t v[3] = { 0 };
            for (unsigned n = 1; n < i->noperands && n <= 3; n++) {
                const struct gfx_operand *o = &i->op[n];
                unsigned sel = (h ? i->op_sel_hi : i->op_sel) >> (n - 1) & 1;
                if (i->arg == 3)            /* v_pk_mov_b32: low from the first source, high from the second */
                    sel = i->op_sel >> (n - 1) & 1;
                v[n - 1] = o->kind == GFX_VGPR ? w->v[o->reg + sel][l] : o->kind == GFX_SGPR ? w->s[o->reg + sel]
                                                                          : (uint32_t)gfx_constant(w, o, T_F32);
                if ((h ? i->neg_hi : i->neg_lo) >> (n - 1) & 1)
                    v[n - 1] ^= 0x80000000u;
            }
            float a = f32_of(v[0]), b = f32_of(v[1]), c = f32_of(v[2]);
            r[h][l] = i->arg == 0 ? f32_bits(a + b) : i->arg == 1 ? f32_bits(a * b) : i->arg == 2 ? f32_bits(fmaf(a, b, c)) : h ? v[1] : v[0];
        }
    ROUND_END();
    put_reg(w, i->op[0].reg, r[0]);
    put_reg(w, i->op[0].reg + 1u, r[1]);
}

/* Sources are f32, or with op_sel_hi a half that op_sel picks. arg: 0 result f32, 1 low half, 2 high half. */
static void
mix(W, I)
{
    float v[3][LANES];
    uint32_t d[LANES];
    for (unsigned n = 1; n <= 3; n++) {
        const struct gfx_operand *o = &i->op[n];
        bool half = i->has_op_sel_hi ? i->op_sel_hi >> (n - 1) & 1 : false;
        FOR {
            uint32_t x = o->kind == GFX_VGPR ? w->v[o->reg][l] : o->kind == GFX_SGPR ? w->s[o->reg]
                                               : (uint32_t)gfx_constant(w, o, half ? T_F16 : T_F32);
            float f = half ? f16_of(i->op_sel >> (n - 1) & 1 ? x >> 16 : x & 0xffff) : f32_of(x);
            if (o->abs || (i->neg_hi >> (n - 1) & 1))
                f = fabsf(f);
            v[n - 1][l] = o->neg || (i->neg_lo >> (n - 1) & 1) ? -f : f;
        }
    }
    ROUND_BEGIN(0);
    FOR {
        float r = fmaf(v[0][l], v[1][l], v[2][l]);
        if (i->clamp)
            r = isnan(r) || r <= 0 ? 0 : r > 1 ? 1 : r;
        uint32_t old = w->v[i->op[0].reg][l];
        d[l] = i->arg == 0 ? f32_bits(r) : i->arg == 1 ? (old & 0xffff0000u) | f16_bits(r) : (old & 0xffff) | (uint32_t)f16_bits(r) << 16;
    }
    ROUND_END();
    put_reg(w, i->op[0].reg, d);
}

/* Integer dot products. arg: bits 0-1 element bits (0: 4, 1: 8, 2: 16), bit 2 first source signed, bit 3 second signed, bit 4: signs by
 * neg_lo (v_dot4_i32_iu8), bit 5: the addend is the destination. */
static void
dot(W, I)
{
    unsigned bits = 4u << (i->arg & 3), n = 32 / bits;
    bool sa = i->arg & 4, sb = i->arg & 8;
    uint32_t a[LANES], b[LANES], c[LANES], d[LANES];
    if (i->arg & 16) {
        sa = i->neg_lo & 1;
        sb = i->neg_lo & 2;
    }
    struct gfx_insn plain = *i;
    plain.op_sel = 0;
    gfx_src32(w, &plain, 1, 9, T_B32, a);
    gfx_src32(w, &plain, 2, 9, T_B32, b);
    gfx_src32(w, &plain, i->arg & 32 ? 0 : 3, 9, T_B32, c);
    FOR {
        bool sign = sa || sb || i->arg & 16;        /* of the sum: v_dot4_i32_iu8 has a signed one, whatever its sources */
        int64_t sum = sign ? (int64_t)(int32_t)c[l] : (int64_t)c[l];
        for (unsigned k = 0; k < n; k++) {
            int64_t x = a[l] >> k * bits & ((1u << bits) - 1), y = b[l] >> k * bits & ((1u << bits) - 1);
            if (sa && x >> (bits - 1))
                x -= 1ll << bits;
            if (sb && y >> (bits - 1))
                y -= 1ll << bits;
            sum += x * y;
        }
        if (i->clamp)
            sum = sign ? (sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum) : sum > UINT32_MAX ? UINT32_MAX : sum;
        d[l] = (uint32_t)sum;
    }
    put_reg(w, i->op[0].reg, d);
}

/* v_dot2_f32_f16 and v_dot2c: exact products, one rounding a step. */
static void
dot2_f16(W, I)
{
    uint32_t al[LANES], ah[LANES], bl[LANES], bh[LANES], c[LANES], d[LANES];
    gfx_halves(w, i, 1, T_F16, al, ah);
    gfx_halves(w, i, 2, T_F16, bl, bh);
    struct gfx_insn plain = *i;
    plain.op_sel = 0;
    gfx_src32(w, &plain, i->arg ? 0 : 3, 9, T_F32, c);
    FOR d[l] = f32_bits(fmaf(f16_of(ah[l]), f16_of(bh[l]), fmaf(f16_of(al[l]), f16_of(bl[l]), f32_of(c[l]))));
    put_reg(w, i->op[0].reg, d);
}

/* The same of bf16, which are the upper halves of f32. arg 1: the destination is the addend. */
static void
dot2_bf16(W, I)
{
    uint32_t al[LANES], ah[LANES], bl[LANES], bh[LANES], c[LANES], d[LANES];
    gfx_halves(w, i, 1, T_BF16, al, ah);
    gfx_halves(w, i, 2, T_BF16, bl, bh);
    struct gfx_insn plain = *i;
    plain.op_sel = 0;
    gfx_src32(w, &plain, i->arg ? 0 : 3, 9, T_F32, c);
    FOR {
        float sum = f32_of(c[l] ^ (i->neg_lo & 4 && !i->arg ? 0x80000000u : 0));
        sum = fmaf(f32_of(al[l] << 16), f32_of(bl[l] << 16), sum);
        d[l] = f32_bits(fmaf(f32_of(ah[l] << 16), f32_of(bh[l] << 16), sum));
    }
    put_reg(w, i->op[0].reg, d);
}

/* v_dot2_f16_f16, v_dot2_bf16_bf16 (arg 1): a sum of the narrow type, rounded after each product. Of the third source and the result
 * op_sel picks the half. */
static void
dot2_narrow(W, I)
{
    uint32_t x[LANES], y[LANES], z[LANES], d[LANES];
    struct gfx_insn plain = *i;
    plain.op_sel &= 12;
    gfx_src32(w, &plain, 1, 0, T_B32, x);
    gfx_src32(w, &plain, 2, 1, T_B32, y);
    gfx_src32(w, &plain, 3, 2, i->arg ? T_B16 : T_F16, z);
    ROUND_BEGIN(2);
    FOR {
        uint32_t sum = z[l];
        for (unsigned k = 0; k < 32; k += 16)
            sum = i->arg ? bf16_fma(x[l] >> k, y[l] >> k, sum) : f16_fma(x[l] >> k & 0xffff, y[l] >> k & 0xffff, sum);
        d[l] = sum;
    }
    ROUND_END();
    gfx_put16(w, &plain, d);
}

#define P(name, op) { "v_pk_" name, packed, GFX_C_VALU, op }
#define R(name, fn, arg) { "v_" name, fn, GFX_C_VALU, arg }
const struct gfx_row gfx_vop3p[] = {
    P("add_u16", ADD_U), P("sub_u16", SUB_U), P("add_i16", ADD_I), P("sub_i16", SUB_I), P("mul_lo_u16", MUL_LO), P("min_u16", MIN_U),
    P("max_u16", MAX_U), P("min_i16", MIN_I), P("max_i16", MAX_I), P("lshlrev_b16", SHL), P("lshrrev_b16", SHR), P("ashrrev_i16", SAR),
    P("mad_u16", MAD_U), P("mad_i16", MAD_I), P("add_f16", ADD_F), P("mul_f16", MUL_F), P("fma_f16", FMA_F),
    R("pk_add_f32", packed32, 0), R("pk_mul_f32", packed32, 1), R("pk_fma_f32", packed32, 2), R("pk_mov_b32", packed32, 3),
    R("fma_mix_f32", mix, 0), R("fma_mixlo_f16", mix, 1), R("fma_mixhi_f16", mix, 2), R("mad_mix_f32", mix, 0), R("mad_mixlo_f16", mix, 1),
    R("mad_mixhi_f16", mix, 2), R("dot4_i32_i8", dot, 1 | 12), R("dot4_u32_u8", dot, 1), R("dot8_i32_i4", dot, 0 | 12), R("dot8_u32_u4", dot, 0),
    R("dot2_i32_i16", dot, 2 | 12), R("dot2_u32_u16", dot, 2), R("dot4_i32_iu8", dot, 1 | 16), R("dot8_i32_iu4", dot, 0 | 16),
    R("dot4c_i32_i8", dot, 1 | 12 | 32), R("dot8c_i32_i4", dot, 0 | 12 | 32), R("dot2c_i32_i16", dot, 2 | 12 | 32),
    R("dot2_f32_f16", dot2_f16, 0), R("dot2c_f32_f16", dot2_f16, 1), R("dot2acc_f32_f16", dot2_f16, 1),
    R("pk_fmac_f16", packed_fmac, 0), R("dot2_f32_bf16", dot2_bf16, 0), R("dot2c_f32_bf16", dot2_bf16, 1), R("dot2_f16_f16", dot2_narrow, 0),
    R("dot2_bf16_bf16", dot2_narrow, 1),
    { NULL, NULL, 0, 0 },
};
