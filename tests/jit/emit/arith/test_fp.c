/* SPDX-License-Identifier: Apache-2.0
 * Floating-point instructions against C. Directed rounding comes from this machine's rounding modes, which the emitter
 * does not use; half formats from exact arithmetic and one rounding written with loops; approximations from double
 * precision with the error bound of the PTX ISA. */
#include "harness.h"
#include "ref_fp.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REF(name) static void name(const union val *a, union val *d)

static float nan32(float x) { return x != x ? as_f32(0x7fffffff) : x; }
static float ftz(float x) { return (as_u32(x) & 0x7f800000) == 0 ? as_f32(as_u32(x) & 0x80000000) : x; }
/* A result that is 2^-126 because it was rounded among subnormals: what counts is the result without an end to exponents, here
 * `scaled`, 2^64 times as large (an H200 gives 0 for 0x00800000 * 0x3f7fffff, also when rounding up). */
static float ftz_of(float r, float scaled) { return fabsf(r) == 0x1p-126f && fabsf(scaled) < 0x1p-62f ? copysignf(0, r) : ftz(r); }
static float sat(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };

/* In rounding mode m, on values the compiler cannot see through. */
#define IN_MODE(m, type, expr) ({ fesetround(modes[m]); volatile type r_ = (expr); fesetround(FE_TONEAREST); (type)r_; })
static float  add32(float x, float y, int m) { volatile float a = x, b = y; return IN_MODE(m, float, a + b); }
static float  mul32(float x, float y, int m) { volatile float a = x, b = y; return IN_MODE(m, float, a * b); }
static float  div32(float x, float y, int m) { volatile float a = x, b = y; return IN_MODE(m, float, a / b); }
static float  fma32(float x, float y, float z, int m) { volatile float a = x, b = y, c = z; return IN_MODE(m, float, fmaf(a, b, c)); }
static float  sqrt32(float x, int m) { volatile float a = x; return IN_MODE(m, float, sqrtf(a)); }
static double add64(double x, double y, int m) { volatile double a = x, b = y; return IN_MODE(m, double, a + b); }
static double mul64(double x, double y, int m) { volatile double a = x, b = y; return IN_MODE(m, double, a * b); }
static double div64(double x, double y, int m) { volatile double a = x, b = y; return IN_MODE(m, double, a / b); }
static double fma64(double x, double y, double z, int m) { volatile double a = x, b = y, c = z; return IN_MODE(m, double, fma(a, b, c)); }
static double sqrt64(double x, int m) { volatile double a = x; return IN_MODE(m, double, sqrt(a)); }

#define X a[0]
#define Y a[1]
#define Z a[2]
#define MODES(OP) OP(rn, 0) OP(rz, 1) OP(rm, 2) OP(rp, 3)
#define DEF32(r, m) \
    REF(add_##r) { d[0].f32 = nan32(add32(X.f32, Y.f32, m)); } \
    REF(sub_##r) { d[0].f32 = nan32(add32(X.f32, -Y.f32, m)); } \
    REF(mul_##r) { d[0].f32 = nan32(mul32(X.f32, Y.f32, m)); } \
    REF(div_##r) { d[0].f32 = nan32(div32(X.f32, Y.f32, m)); } \
    REF(fma_##r) { d[0].f32 = nan32(fma32(X.f32, Y.f32, Z.f32, m)); } \
    REF(rcp_##r) { d[0].f32 = nan32(div32(1, X.f32, m)); } \
    REF(sqrt_##r) { d[0].f32 = nan32(sqrt32(X.f32, m)); } \
    REF(add_ftz_##r) { d[0].f32 = ftz(nan32(add32(ftz(X.f32), ftz(Y.f32), m))); } \
    REF(mul_ftz_sat_##r) { d[0].f32 = sat(ftz_of(mul32(ftz(X.f32), ftz(Y.f32), m), mul32(ftz(X.f32) * 0x1p64f, ftz(Y.f32), m))); } \
    REF(fma_ftz_##r) { d[0].f32 = ftz_of(nan32(fma32(ftz(X.f32), ftz(Y.f32), ftz(Z.f32), m)), fma32(ftz(X.f32) * 0x1p64f, ftz(Y.f32), ftz(Z.f32) * 0x1p64f, m)); } \
    REF(fma_sat_##r) { d[0].f32 = sat(fma32(X.f32, Y.f32, Z.f32, m)); } \
    REF(div_ftz_##r) { d[0].f32 = ftz_of(nan32(div32(ftz(X.f32), ftz(Y.f32), m)), div32(ftz(X.f32) * 0x1p64f, ftz(Y.f32), m)); } \
    REF(dadd_##r) { d[0].f64 = add64(X.f64, Y.f64, m); } \
    REF(dsub_##r) { d[0].f64 = add64(X.f64, -Y.f64, m); } \
    REF(dmul_##r) { d[0].f64 = mul64(X.f64, Y.f64, m); } \
    REF(ddiv_##r) { d[0].f64 = div64(X.f64, Y.f64, m); } \
    REF(dfma_##r) { d[0].f64 = fma64(X.f64, Y.f64, Z.f64, m); } \
    REF(drcp_##r) { d[0].f64 = div64(1, X.f64, m); } \
    REF(dsqrt_##r) { d[0].f64 = sqrt64(X.f64, m); }
MODES(DEF32)

REF(abs32) { d[0].f32 = nan32(fabsf(X.f32)); }
REF(neg32) { d[0].f32 = nan32(as_f32(as_u32(X.f32) ^ 0x80000000)); }
REF(neg_ftz) { d[0].f32 = nan32(ftz(as_f32(as_u32(X.f32) ^ 0x80000000))); }
static uint64_t quiet(uint64_t v) { return v | 1ull << 51; }
REF(abs64) { d[0].u64 = X.f64 != X.f64 ? quiet(X.u64) : X.u64 & ~(1ull << 63); }
REF(neg64) { d[0].u64 = X.f64 != X.f64 ? quiet(X.u64) : X.u64 ^ 1ull << 63; }
REF(copysign32) { d[0].u32 = (X.u32 & 0x80000000) | (Y.u32 & 0x7fffffff); }
REF(copysign64) { d[0].u64 = (X.u64 & 1ull << 63) | (Y.u64 & ~(1ull << 63)); }

/* min and max by an order on the bits, in which -0 < +0 */
static int64_t order32(float x) { int32_t i = (int32_t)as_u32(x); return i < 0 ? -(int64_t)(i & 0x7fffffff) - 1 : i; }
static float mm32(float x, float y, int max, int nan)
{
    if (x != x || y != y)
        return nan || (x != x && y != y) ? as_f32(0x7fffffff) : x != x ? y : x;
    return (order32(x) < order32(y)) != max ? x : y;
}
REF(min32) { d[0].f32 = mm32(X.f32, Y.f32, 0, 0); }
REF(max32) { d[0].f32 = mm32(X.f32, Y.f32, 1, 0); }
REF(min32_nan) { d[0].f32 = mm32(X.f32, Y.f32, 0, 1); }
REF(max32_ftz) { d[0].f32 = mm32(ftz(X.f32), ftz(Y.f32), 1, 0); }
REF(max32_xor) { float r = mm32(fabsf(X.f32), fabsf(Y.f32), 1, 0); d[0].f32 = r != r ? r : copysignf(r, as_f32(X.u32 ^ Y.u32)); }
static double mm64(double x, double y, int max)
{
    if (x != x) return y;
    if (y != y) return x;
    if (x == y) return signbit(x) != max ? x : y;
    return (x < y) != max ? x : y;
}
REF(min64) { d[0].f64 = mm64(X.f64, Y.f64, 0); }
REF(max64) { d[0].f64 = mm64(X.f64, Y.f64, 1); }
#define TESTP(n, e) REF(tp_##n) { d[0].u8 = e; } 
TESTP(fin, !!isfinite(X.f32)) TESTP(inf, !!isinf(X.f32)) TESTP(num, X.f32 == X.f32) TESTP(nan, X.f32 != X.f32)
TESTP(norm, fpclassify(X.f64) == FP_NORMAL || X.f64 == 0) TESTP(sub, fpclassify(X.f64) == FP_SUBNORMAL)
#define SETP(n, e) REF(sp_##n) { float x = X.f32, y = Y.f32; int u = x != x || y != y; (void)u; d[0].u8 = e; }
SETP(eq, x == y) SETP(ne, !u && x != y) SETP(lt, x < y) SETP(ge, x >= y) SETP(equ, u || x == y) SETP(neu, u || x != y)
SETP(ltu, u || x < y) SETP(geu, u || x >= y) SETP(num, !u) SETP(nan, u) SETP(gtz, ftz(x) > ftz(y))
REF(setp64) { d[0].u8 = X.f64 <= Y.f64; d[1].u8 = !(X.f64 <= Y.f64); }
REF(set_u32) { d[0].u32 = X.f32 > Y.f32 ? 0xffffffff : 0; }
REF(set_f32) { d[0].f32 = X.f64 != X.f64 || Y.f64 != Y.f64 || X.f64 < Y.f64; }

/* Sequences: in optimised code NaN is made canonical only where its bits come out. */
REF(seq_chain) { d[0].f32 = nan32(fmaf(X.f32 * Y.f32, Z.f32, X.f32 - Y.f32)); }
REF(seq_mid) { float t = nan32(X.f32 * Y.f32); d[0].f32 = nan32(t + Z.f32); d[1].u32 = as_u32(t) ^ 1; }
REF(seq_sel) { float t = nan32(X.f32 + Y.f32); d[0].f32 = t < Z.f32 ? nan32(t * 2) : t; d[1].f32 = Z.f32; }
REF(seq_neg) { d[0].f32 = nan32(-(X.f32 + Y.f32)); d[1].f64 = nan32(X.f32 * Z.f32); }

/* ---- half formats ---- */

static uint16_t to16(exact v, int bf) { return (uint16_t)round_format(v, bf ? &fmt_bf16 : &fmt_f16, RND_N); }
static float from16(uint16_t h, int bf) { return bf ? as_f32((uint32_t)h << 16) : f16_value(h); }
static uint16_t hop(int op, uint16_t x, uint16_t y, uint16_t z, int bf)
{
    double a = from16(x, bf), b = from16(y, bf), c = from16(z, bf);
    switch (op) {
    case '+': return to16(exact_fma(a, 1, b), bf);
    case '-': return to16(exact_fma(a, 1, -b), bf);
    case '*': return to16(exact_fma(a, b, copysign(0, copysign(1, a) * copysign(1, b))), bf);
    default:  return to16(exact_fma(a, b, c), bf);
    }
}
static uint16_t hftz(uint16_t h) { return h & 0x7c00 ? h : h & 0x8000; }
#define HALF(n, bf) \
    REF(hadd_##n) { d[0].u16 = hop('+', X.u16, Y.u16, 0, bf); } \
    REF(hsub_##n) { d[0].u16 = hop('-', X.u16, Y.u16, 0, bf); } \
    REF(hmul_##n) { d[0].u16 = hop('*', X.u16, Y.u16, 0, bf); } \
    REF(hfma_##n) { d[0].u16 = hop('f', X.u16, Y.u16, Z.u16, bf); } \
    REF(hfma2_##n) { d[0].u32 = hop('f', (uint16_t)X.u32, (uint16_t)Y.u32, (uint16_t)Z.u32, bf) | (uint32_t)hop('f', X.u32 >> 16, Y.u32 >> 16, Z.u32 >> 16, bf) << 16; } \
    REF(hmul2_##n) { d[0].u32 = hop('*', (uint16_t)X.u32, (uint16_t)Y.u32, 0, bf) | (uint32_t)hop('*', X.u32 >> 16, Y.u32 >> 16, 0, bf) << 16; }
HALF(f16, 0) HALF(bf16, 1)
REF(hadd_ftz) { d[0].u16 = hftz(hop('+', hftz(X.u16), hftz(Y.u16), 0, 0)); }
REF(hadd_sat) { uint16_t r = hop('+', X.u16, Y.u16, 0, 0); d[0].u16 = f16_value(r) > 0 ? f16_value(r) < 1 ? r : 0x3c00 : 0; }
REF(hfma_relu) { uint16_t r = hop('f', X.u16, Y.u16, Z.u16, 0); d[0].u16 = f16_value(r) <= 0 ? 0 : r; }
REF(hmin) { float r = mm32(f16_value(X.u16), f16_value(Y.u16), 0, 0); d[0].u16 = to16(exact_of(r), 0); }
REF(hmax_nan) { float r = mm32(from16(X.u16, 1), from16(Y.u16, 1), 1, 1); d[0].u16 = to16(exact_of(r), 1); }
REF(hneg) { d[0].u16 = f16_value(X.u16) != f16_value(X.u16) ? 0x7fff : X.u16 ^ 0x8000; }
REF(hsetp) { d[0].u8 = f16_value(X.u16) < f16_value(Y.u16); }
REF(hsetp2) { d[0].u8 = f16_value(X.u32) < f16_value(Y.u32); d[1].u8 = f16_value(X.u32 >> 16) < f16_value(Y.u32 >> 16); }
REF(hset2) { d[0].u32 = (f16_value(X.u32) == f16_value(Y.u32) ? 0x3c00 : 0) | (f16_value(X.u32 >> 16) == f16_value(Y.u32 >> 16) ? 0x3c000000 : 0); }

/* ---- approximations: the references give the value rounded to f32, the acceptors the bound ---- */

static double want_d(union val w) { return w.f64; }
static bool special(union val got, double want)
{
    if (want != want) return got.u32 == 0x7fffffff;
    return got.f32 == (float)want && !signbit(got.f32) == !signbit(want);
}
static double ulps(float got, double want)
{
    double m = fabs(want);
    int ex;
    frexp(m, &ex);
    double ulp = ldexp(1, (ex < -125 ? -125 : ex) - 24);
    return fabs(got - want) / ulp;
}
/* Overflow and total underflow have to come out as infinity and zero. */
static bool within(union val got, double want, double bound_ulp)
{
    if (want != want || want == 0 || isinf(want) || fabs(want) > 0x1.fffffep127)
        return special(got, fabs(want) > 0x1.fffffep127 && isfinite(want) ? copysign(INFINITY, want) : want);
    return isfinite(got.f32) ? ulps(got.f32, want) <= bound_ulp : fabs(want) > 0x1.fffff8p127;
}
#define APPROX(name, expr) REF(name) { double x = X.f32, y = Y.f32; (void)x, (void)y; d[0].f64 = expr; }
APPROX(a_rcp, 1 / x) APPROX(a_sqrt, sqrt(x)) APPROX(a_rsqrt, 1 / sqrt(x)) APPROX(a_div, x / y)
APPROX(a_sin, sin(x)) APPROX(a_cos, cos(x)) APPROX(a_lg2, log2(x)) APPROX(a_ex2, exp2(x)) APPROX(a_tanh, tanh(x))
APPROX(a_rsqrt_ftz, 1 / sqrt(ftz(X.f32))) APPROX(a_ex2_ftz, exp2(ftz(X.f32))) APPROX(a_lg2_ftz, log2(ftz(X.f32)))
static bool ok_1ulp(const union val *a, union val g, union val w) { return within(g, want_d(w), 1); }
static bool ok_rel(union val g, double want, double rel)
{
    if (want != want || want == 0 || isinf(want)) return special(g, want);
    return fabs(g.f32 - want) <= rel * fabs(want);
}
static bool ok_rsqrt(const union val *a, union val g, union val w) { return ok_rel(g, want_d(w), 0x1p-22 * 0.5359 /* 2^-22.9 */); }
static bool ok_sqrt(const union val *a, union val g, union val w) { return within(g, want_d(w), 1); }
static bool ok_trig(const union val *a, union val g, union val w)
{
    double want = want_d(w), x = fabs(X.f32);
    if (want != want) return g.u32 == 0x7fffffff;
    if (x > 100 * M_PI) return fabs(g.f32) <= 1;
    if (want == 0) return g.u32 == X.u32;
    double turns = x <= 2 * M_PI ? 1 : x / M_PI;    /* the operand's product with 1 / (2 pi) is cut to 24 bits */
    return fabs(g.f32 - want) <= 0x1p-21 * 1.414 /* 2^-20.5 */ * turns;
}
static bool ok_lg2(const union val *a, union val g, union val w)
{
    double want = want_d(w);
    if (X.f32 > 0.5 && X.f32 < 2) return fabs(g.f32 - want) <= 0x1p-22;
    return ok_rel(g, want, 0x1p-22);
}
static bool ok_ex2(const union val *a, union val g, union val w)
{
    double want = want_d(w);
    if (want == want && want < 0x1p-126) return fabs(g.f32 - want) <= 0x1p-148 + 0x1p-21 * want;    /* the square of 2^(x/2) */
    return within(g, want, 2) && (isinf(want) || isinf(g.f32) || ok_rel(g, want, 0x1p-22));
}
static bool ok_ex2_ftz(const union val *a, union val g, union val w)
{
    double want = want_d(w);
    if (want == want && want < 0x1p-126) return g.u32 == 0 || g.u32 == 0x00800000;
    return ok_ex2(a, g, w);
}
static bool ok_tanh(const union val *a, union val g, union val w) { return ok_rel(g, want_d(w), 0x1p-11); }
static bool ok_div(const union val *a, union val g, union val w)
{
    double b = fabs((double)Y.f32);
    if (b > 0x1p126 && isfinite(b))
        return X.f32 != X.f32 || isinf(X.f32) ? g.u32 == 0x7fffffff : (g.u32 & 0x7fffffff) == 0;
    return within(g, want_d(w), 2) || (fabs(want_d(w)) < 0x1p-149 && (g.u32 & 0x7fffffff) <= 1);
}
static bool ok_full(const union val *a, union val g, union val w)
{
    return within(g, want_d(w), 2) || (fabs(want_d(w)) < 0x1p-149 && (g.u32 & 0x7fffffff) <= 1);
}
REF(a_ex2_h) { d[0].f64 = exp2(f16_value(X.u16)); }
static bool ok_ex2_h(const union val *a, union val g, union val w)
{
    double want = want_d(w), got = f16_value(g.u16);
    if (want != want) return g.u16 == 0x7fff;
    if (want > 65519) return isinf(got);
    return fabs(got - want) <= 0x1p-9 * want || fabs(got - want) <= 0x1p-24;
}
REF(a_drcp) { d[0].f64 = 1 / X.f64; }
REF(a_drsqrt) { d[0].f64 = 1 / sqrt(X.f64); }
static bool ok_d20(const union val *a, union val g, union val w)
{
    if (fabs(X.f64) < 0x1p-1022 || fabs(w.f64) < 0x1p-1021 || isinf(w.f64)) return true;    /* subnormals are taken as zero */
    if (w.f64 != w.f64) return g.f64 != g.f64;
    return !(g.u64 & 0xffffffff) && fabs(g.f64 - w.f64) <= 0x1p-19 * fabs(w.f64);
}

#define C(body, types, fn) { body, types, fn, 0, 0 }
#define A(body, types, fn, ok) { body, types, fn, ok, 0 }
#define SWEEP(body, fn, ok) { body, "f32 > f32", fn, ok, 4099 }
static const struct arith_case cases[] = {
#define ALL(r, m) \
    C("add." #r ".f32 %d0, %a0, %a1;", "f32 f32 > f32", add_##r), C("sub." #r ".f32 %d0, %a0, %a1;", "f32 f32 > f32", sub_##r), \
    C("mul." #r ".f32 %d0, %a0, %a1;", "f32 f32 > f32", mul_##r), C("div." #r ".f32 %d0, %a0, %a1;", "f32 f32 > f32", div_##r), \
    C("fma." #r ".f32 %d0, %a0, %a1, %a2;", "f32 f32 f32 > f32", fma_##r), C("rcp." #r ".f32 %d0, %a0;", "f32 > f32", rcp_##r), \
    C("sqrt." #r ".f32 %d0, %a0;", "f32 > f32", sqrt_##r), \
    C("add." #r ".ftz.f32 %d0, %a0, %a1;", "f32 f32 > f32", add_ftz_##r), C("mul." #r ".ftz.sat.f32 %d0, %a0, %a1;", "f32 f32 > f32", mul_ftz_sat_##r), \
    C("fma." #r ".ftz.f32 %d0, %a0, %a1, %a2;", "f32 f32 f32 > f32", fma_ftz_##r), C("fma." #r ".sat.f32 %d0, %a0, %a1, %a2;", "f32 f32 f32 > f32", fma_sat_##r), \
    C("div." #r ".ftz.f32 %d0, %a0, %a1;", "f32 f32 > f32", div_ftz_##r), \
    C("add." #r ".f64 %d0, %a0, %a1;", "f64 f64 > f64", dadd_##r), C("sub." #r ".f64 %d0, %a0, %a1;", "f64 f64 > f64", dsub_##r), \
    C("mul." #r ".f64 %d0, %a0, %a1;", "f64 f64 > f64", dmul_##r), C("div." #r ".f64 %d0, %a0, %a1;", "f64 f64 > f64", ddiv_##r), \
    C("fma." #r ".f64 %d0, %a0, %a1, %a2;", "f64 f64 f64 > f64", dfma_##r), C("rcp." #r ".f64 %d0, %a0;", "f64 > f64", drcp_##r), \
    C("sqrt." #r ".f64 %d0, %a0;", "f64 > f64", dsqrt_##r),
    MODES(ALL)
    C("abs.f32 %d0, %a0;", "f32 > f32", abs32), C("neg.f32 %d0, %a0;", "f32 > f32", neg32), C("neg.ftz.f32 %d0, %a0;", "f32 > f32", neg_ftz),
    C("abs.f64 %d0, %a0;", "f64 > f64", abs64), C("neg.f64 %d0, %a0;", "f64 > f64", neg64),
    C("copysign.f32 %d0, %a0, %a1;", "f32 f32 > f32", copysign32), C("copysign.f64 %d0, %a0, %a1;", "f64 f64 > f64", copysign64),
    C("min.f32 %d0, %a0, %a1;", "f32 f32 > f32", min32), C("max.f32 %d0, %a0, %a1;", "f32 f32 > f32", max32),
    C("min.NaN.f32 %d0, %a0, %a1;", "f32 f32 > f32", min32_nan), C("max.ftz.f32 %d0, %a0, %a1;", "f32 f32 > f32", max32_ftz),
    C("max.xorsign.abs.f32 %d0, %a0, %a1;", "f32 f32 > f32", max32_xor),
    C("min.f64 %d0, %a0, %a1;", "f64 f64 > f64", min64), C("max.f64 %d0, %a0, %a1;", "f64 f64 > f64", max64),
    C("testp.finite.f32 %d0, %a0;", "f32 > pred", tp_fin), C("testp.infinite.f32 %d0, %a0;", "f32 > pred", tp_inf),
    C("testp.number.f32 %d0, %a0;", "f32 > pred", tp_num), C("testp.notanumber.f32 %d0, %a0;", "f32 > pred", tp_nan),
    C("testp.normal.f64 %d0, %a0;", "f64 > pred", tp_norm), C("testp.subnormal.f64 %d0, %a0;", "f64 > pred", tp_sub),
#define S(op, n) C("setp." #op ".f32 %d0, %a0, %a1;", "f32 f32 > pred", sp_##n),
    S(eq, eq) S(ne, ne) S(lt, lt) S(ge, ge) S(equ, equ) S(neu, neu) S(ltu, ltu) S(geu, geu) S(num, num) S(nan, nan) S(gt.ftz, gtz)
    C("setp.le.f64 %d0|%d1, %a0, %a1;", "f64 f64 > pred pred", setp64),
    C("set.gt.u32.f32 %d0, %a0, %a1;", "f32 f32 > u32", set_u32), C("set.ltu.f32.f64 %d0, %a0, %a1;", "f64 f64 > f32", set_f32),
    C("mul.f32 %d0, %a0, %a1; sub.f32 %a1, %a0, %a1; fma.rn.f32 %d0, %d0, %a2, %a1;", "f32 f32 f32 > f32", seq_chain),
    C("mul.f32 %a0, %a0, %a1; add.f32 %d0, %a0, %a2; xor.b32 %d1, %a0, 1;", "f32 f32 f32 > f32 b32", seq_mid),
    C("add.f32 %a0, %a0, %a1; mul.f32 %a1, %a0, 0f40000000; setp.lt.f32 %a3, %a0, %a2; selp.f32 %d0, %a1, %a0, %a3; selp.f32 %d1, %a2, %a2, %a3;",
      "f32 f32 f32 pred > f32 f32", seq_sel),
    C("add.f32 %a1, %a0, %a1; neg.f32 %d0, %a1; mul.f32 %a0, %a0, %a2; cvt.f64.f32 %d1, %a0;", "f32 f32 f32 > f32 f64", seq_neg),
#define H(n) \
    C("add." #n " %d0, %a0, %a1;", #n " " #n " > " #n, hadd_##n), C("sub." #n " %d0, %a0, %a1;", #n " " #n " > " #n, hsub_##n), \
    C("mul." #n " %d0, %a0, %a1;", #n " " #n " > " #n, hmul_##n), C("fma.rn." #n " %d0, %a0, %a1, %a2;", #n " " #n " " #n " > " #n, hfma_##n), \
    C("fma.rn." #n "x2 %d0, %a0, %a1, %a2;", #n "x2 " #n "x2 " #n "x2 > " #n "x2", hfma2_##n), \
    C("mul." #n "x2 %d0, %a0, %a1;", #n "x2 " #n "x2 > " #n "x2", hmul2_##n),
    H(f16) H(bf16)
    C("add.ftz.f16 %d0, %a0, %a1;", "f16 f16 > f16", hadd_ftz), C("add.sat.f16 %d0, %a0, %a1;", "f16 f16 > f16", hadd_sat),
    C("fma.rn.relu.f16 %d0, %a0, %a1, %a2;", "f16 f16 f16 > f16", hfma_relu), C("min.f16 %d0, %a0, %a1;", "f16 f16 > f16", hmin),
    C("max.NaN.bf16 %d0, %a0, %a1;", "bf16 bf16 > bf16", hmax_nan), C("neg.f16 %d0, %a0;", "f16 > f16", hneg),
    C("setp.lt.f16 %d0, %a0, %a1;", "f16 f16 > pred", hsetp), C("setp.lt.f16x2 %d0|%d1, %a0, %a1;", "f16x2 f16x2 > pred pred", hsetp2),
    C("set.eq.f16x2.f16x2 %d0, %a0, %a1;", "f16x2 f16x2 > f16x2", hset2),
    A("rcp.approx.f32 %d0, %a0;", "f32 > f32", a_rcp, ok_1ulp), A("div.approx.f32 %d0, %a0, %a1;", "f32 f32 > f32", a_div, ok_div),
    A("div.full.f32 %d0, %a0, %a1;", "f32 f32 > f32", a_div, ok_full), A("sqrt.approx.f32 %d0, %a0;", "f32 > f32", a_sqrt, ok_sqrt),
    A("rsqrt.approx.f32 %d0, %a0;", "f32 > f32", a_rsqrt, ok_rsqrt), A("sin.approx.f32 %d0, %a0;", "f32 > f32", a_sin, ok_trig),
    A("cos.approx.f32 %d0, %a0;", "f32 > f32", a_cos, ok_trig), A("lg2.approx.f32 %d0, %a0;", "f32 > f32", a_lg2, ok_lg2),
    A("ex2.approx.f32 %d0, %a0;", "f32 > f32", a_ex2, ok_ex2), A("tanh.approx.f32 %d0, %a0;", "f32 > f32", a_tanh, ok_tanh),
    A("ex2.approx.f16 %d0, %a0;", "f16 > f16", a_ex2_h, ok_ex2_h),
    A("rcp.approx.ftz.f64 %d0, %a0;", "f64 > f64", a_drcp, ok_d20), A("rsqrt.approx.ftz.f64 %d0, %a0;", "f64 > f64", a_drsqrt, ok_d20),
    SWEEP("rcp.approx.f32 %d0, %a0;", a_rcp, ok_1ulp), SWEEP("sqrt.approx.f32 %d0, %a0;", a_sqrt, ok_sqrt),
    SWEEP("rsqrt.approx.f32 %d0, %a0;", a_rsqrt, ok_rsqrt), SWEEP("rsqrt.approx.ftz.f32 %d0, %a0;", a_rsqrt_ftz, ok_rsqrt),
    SWEEP("sin.approx.f32 %d0, %a0;", a_sin, ok_trig), SWEEP("cos.approx.f32 %d0, %a0;", a_cos, ok_trig),
    SWEEP("lg2.approx.f32 %d0, %a0;", a_lg2, ok_lg2), SWEEP("lg2.approx.ftz.f32 %d0, %a0;", a_lg2_ftz, ok_lg2),
    SWEEP("ex2.approx.f32 %d0, %a0;", a_ex2, ok_ex2), SWEEP("ex2.approx.ftz.f32 %d0, %a0;", a_ex2_ftz, ok_ex2_ftz),
    SWEEP("tanh.approx.f32 %d0, %a0;", a_tanh, ok_tanh),
};

int
main(void)
{
    return arith_run("float", cases, sizeof cases / sizeof *cases) ? 1 : 0;
}
