/* SPDX-License-Identifier: Apache-2.0
 * Scalar ALU: floating point without minima (minmax.c), which gfx11.5 and gfx12 have. Values, modes and NaNs are those of the vector instructions; a half is the
 * low 16 bits of a register, and a half result has zeros above it. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

/* An opaque copy: the compiler keeps arithmetic on it between the calls that change the rounding mode. */
static inline float
here(float f)
{
    __asm__ volatile("" : "+x"(f));
    return f;
}

static inline uint32_t
here32(uint32_t x)
{
    __asm__ volatile("" : "+r"(x));
    return x;
}

static float
src_f(W, const struct gfx_operand *o)
{
    float f = f32_of(o->kind == GFX_SGPR ? w->s[o->reg] : (uint32_t)gfx_constant(w, o, T_F32));
    return w->mode >> 4 & 1 ? f : flush32(f);
}

static float
src_h(W, const struct gfx_operand *o)
{
    return f16_of(o->kind == GFX_SGPR ? w->s[o->reg] : (uint32_t)gfx_constant(w, o, T_F16));
}

static void
put_f(W, I, float f)
{
    set_s32(w, &i->op[0], f32_bits(w->mode >> 5 & 1 ? f : flush32(f)));
}

#define F1(name, expr) static void name(W, I) { float a = src_f(w, &i->op[1]); ROUND_BEGIN(0); a = here(a); float r = here(expr); ROUND_END(); \
    put_f(w, i, r); }
#define F2(name, expr) static void name(W, I) { float a = src_f(w, &i->op[1]), b = src_f(w, &i->op[2]); ROUND_BEGIN(0); \
    a = here(a); float r = here(expr); ROUND_END(); put_f(w, i, r); }
#define F3(name, third, expr) static void name(W, I) { float a = src_f(w, &i->op[1]), b = src_f(w, &i->op[2]), c = src_f(w, &i->op[third]); \
    ROUND_BEGIN(0); a = here(a); float r = here(expr); ROUND_END(); put_f(w, i, r); }
/* Sums and products of halves in f32 are precise enough that a second rounding is correct. */
#define H1(name, expr) static void name(W, I) { float a = src_h(w, &i->op[1]); ROUND_BEGIN(2); a = here(a); \
    uint32_t r = here32(f16_bits(expr)); ROUND_END(); set_s32(w, &i->op[0], r); }
#define H2(name, expr) static void name(W, I) { float a = src_h(w, &i->op[1]), b = src_h(w, &i->op[2]); ROUND_BEGIN(2); \
    a = here(a); uint32_t r = here32(f16_bits(expr)); ROUND_END(); set_s32(w, &i->op[0], r); }

F2(add_f32, nan2(a, b, a + b))
F2(sub_f32, nan2(a, b, a - b))
F2(mul_f32, nan2(a, b, a * b))
F1(ceil_f32, isnan(a) ? quiet(a) : ceilf(a))
F1(floor_f32, isnan(a) ? quiet(a) : floorf(a))
F1(trunc_f32, isnan(a) ? quiet(a) : truncf(a))
F1(rndne_f32, isnan(a) ? quiet(a) : roundevenf(a))
F3(fmac_f32, 0, nan3(a, b, c, fmaf(a, b, c)))
F3(fma_k, 3, nan3(a, b, c, fmaf(a, b, c)))         /* with a literal: a * K + b and a * b + K have their operands in text order */

H2(add_f16, nan2(a, b, a + b))
H2(sub_f16, nan2(a, b, a - b))
H2(mul_f16, nan2(a, b, a * b))
H1(ceil_f16, isnan(a) ? quiet(a) : ceilf(a))
H1(floor_f16, isnan(a) ? quiet(a) : floorf(a))
H1(trunc_f16, isnan(a) ? quiet(a) : truncf(a))
H1(rndne_f16, isnan(a) ? quiet(a) : roundevenf(a))

static void
fmac_f16(W, I)
{
    float a = src_h(w, &i->op[1]), b = src_h(w, &i->op[2]), c = src_h(w, &i->op[0]);
    ROUND_BEGIN(2);
    a = here(a);
    __float128 r = (__float128)a * b + c;         /* exact: 22 bits and 11 bits, at most 80 places apart */
    bool nan = isnan(a) || isnan(b) || isnan(c) || isnan((float)r);
    uint32_t bits = here32(nan ? f16_bits(nan3(a, b, c, NAN)) : f16_raw((_Float16)r));
    ROUND_END();
    set_s32(w, &i->op[0], bits);
}

static void
cvt_f32_i32(W, I)
{
    uint32_t a = s32(w, &i->op[1]);
    ROUND_BEGIN(0);
    a = here32(a);
    float r = here(i->arg ? (float)a : (float)(int32_t)a);
    ROUND_END();
    put_f(w, i, r);
}

static void
cvt_i32_f32(W, I)
{
    float a = src_f(w, &i->op[1]);
    uint32_t r;
    if (i->arg)
        r = isnan(a) || a <= 0 ? 0 : a >= 0x1p32f ? ~0u : (uint32_t)a;
    else
        r = isnan(a) ? 0 : a >= 0x1p31f ? 0x7fffffffu : a <= -0x1p31f ? 0x80000000u : (uint32_t)(int32_t)a;
    set_s32(w, &i->op[0], r);
}

static void
cvt_f32_f16(W, I)       /* arg 1: of the upper half */
{
    const struct gfx_operand *o = &i->op[1];
    float a = i->arg ? f16_of(s32(w, o) >> 16) : src_h(w, o);
    put_f(w, i, isnan(a) ? quiet(a) : a);
}

static void
cvt_f16_f32(W, I)
{
    float a = src_f(w, &i->op[1]);
    ROUND_BEGIN(2);
    a = here(a);
    uint32_t r = here32(f16_bits(isnan(a) ? quiet(a) : a));
    ROUND_END();
    set_s32(w, &i->op[0], r);
}

static void
cvt_pk_rtz(W, I)
{
    float a = src_f(w, &i->op[1]), b = src_f(w, &i->op[2]);
    fesetround(FE_TOWARDZERO);
    a = here(a);
    b = here(b);
    uint32_t r = here32(f16_bits(a) | (uint32_t)f16_bits(b) << 16);
    fesetround(FE_TONEAREST);
    set_s32(w, &i->op[0], r);
}

static void
cmp(W, I)           /* arg: bits 0 less, 1 equal, 2 greater, 3 unordered: true where the relation is among them; bit 4: halves */
{
    bool half = i->arg & 16;
    float a = half ? src_h(w, &i->op[0]) : src_f(w, &i->op[0]), b = half ? src_h(w, &i->op[1]) : src_f(w, &i->op[1]);
    unsigned rel = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
    w->scc = (i->arg & rel) != 0;
}

#define S(name, fn) { "s_" name, fn, GFX_C_SALU, 0 }
#define SA(name, fn, arg) { "s_" name, fn, GFX_C_SALU, arg }
#define BOTH(name, fn) S(name "_f32", fn##_f32), S(name "_f16", fn##_f16)
#define CMP(name, relations) SA("cmp_" name "_f32", cmp, relations), SA("cmp_" name "_f16", cmp, 16 | (relations))
const struct gfx_row gfx_salu_float[] = {
    BOTH("add", add), BOTH("sub", sub), BOTH("mul", mul), BOTH("ceil", ceil), BOTH("floor", floor), BOTH("trunc", trunc),
    BOTH("rndne", rndne), BOTH("fmac", fmac), S("fmaak_f32", fma_k), S("fmamk_f32", fma_k), SA("cvt_f32_i32", cvt_f32_i32, 0),
    SA("cvt_f32_u32", cvt_f32_i32, 1), SA("cvt_i32_f32", cvt_i32_f32, 0), SA("cvt_u32_f32", cvt_i32_f32, 1),
    SA("cvt_f32_f16", cvt_f32_f16, 0), SA("cvt_hi_f32_f16", cvt_f32_f16, 1), S("cvt_f16_f32", cvt_f16_f32),
    S("cvt_pk_rtz_f16_f32", cvt_pk_rtz), CMP("lt", 1), CMP("eq", 2), CMP("le", 3), CMP("gt", 4), CMP("lg", 5), CMP("ge", 6), CMP("o", 7),
    CMP("u", 8), CMP("nge", 9), CMP("nlg", 10), CMP("ngt", 11), CMP("nle", 12), CMP("neq", 13), CMP("nlt", 14),
    { NULL, NULL, 0, 0 },
};
