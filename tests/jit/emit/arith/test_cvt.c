/* SPDX-License-Identifier: Apache-2.0
 * cvt against C: integers by range checks in wide arithmetic, floats by this machine's rounding modes, small formats by
 * searching the nearest code. */
#include "harness.h"
#include "ref_fp.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define REF(name) static void name(const union val *a, union val *d)
#define X a[0]
#define Y a[1]
typedef __int128 i128;

static float nan32(float x) { return x != x ? as_f32(0x7fffffff) : x; }
static float ftz(float x) { return (as_u32(x) & 0x7f800000) == 0 ? as_f32(as_u32(x) & 0x80000000) : x; }
static i128 cl(i128 v, i128 lo, i128 hi) { return v < lo ? lo : v > hi ? hi : v; }
static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
#define IN_MODE(m, type, expr) ({ fesetround(modes[m]); volatile type r_ = (expr); fesetround(FE_TONEAREST); (type)r_; })

/* integers */
#define I(name, dm, sm) REF(name) { d[0].dm = (__typeof__(d[0].dm))X.sm; }
REF(u8_s32) { d[0].u32 = (uint8_t)X.s32; }
REF(s8_s32) { d[0].s32 = (int8_t)X.s32; }
REF(s16_u8) { d[0].s32 = (int16_t)(uint8_t)X.u32; }
I(s64_s32, s64, s32) I(u64_u32, u64, u32) I(s32_s64, s32, s64) I(s64_u32, s64, u32) I(u64_s32, u64, s32) I(s32_s16, s32, s16) I(u16_u32, u16, u32)
#define SAT(name, dm, sm, lo, hi) REF(name) { d[0].dm = (__typeof__(d[0].dm))cl(X.sm, lo, hi); }
SAT(sat_u8_s32, u32, s32, 0, 255) SAT(sat_s8_s32, s32, s32, -128, 127) SAT(sat_s8_u32, s32, u32, 0, 127) SAT(sat_u32_s32, u32, s32, 0, UINT32_MAX)
SAT(sat_s32_u32, s32, u32, 0, INT32_MAX) SAT(sat_u32_s64, u32, s64, 0, UINT32_MAX) SAT(sat_s32_s64, s32, s64, INT32_MIN, INT32_MAX)
SAT(sat_s64_u64, s64, u64, 0, INT64_MAX) SAT(sat_u64_s64, u64, s64, 0, UINT64_MAX) SAT(sat_u16_s16, u16, s16, 0, 65535) SAT(sat_s16_u64, s16, u64, 0, 32767)

/* float to integer: rounded, clamped; NaN per the manual */
static double integral(double x, char m) { return m == 'n' ? nearbyint(x) : m == 'z' ? trunc(x) : m == 'm' ? floor(x) : ceil(x); }
static uint64_t to_int(double x, char m, int bits, int is_signed, int src64)
{
    uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    if (x != x)
        return src64 || bits == 64 ? 1ull << (bits - 1) : 0;
    i128 lo = is_signed ? -((i128)1 << (bits - 1)) : 0, hi = is_signed ? ((i128)1 << (bits - 1)) - 1 : ((i128)1 << bits) - 1;
    double r = integral(x, m);
    i128 v = r >= 0x1p65 ? hi : r <= -0x1p65 ? lo : (i128)r;
    return (uint64_t)cl(v, lo, hi) & mask;
}
#define FI(name, out, src, m, bits, s, s64_) REF(name) { d[0].out = (__typeof__(d[0].out))to_int(X.src, m, bits, s, s64_); }
FI(s32_f32_n, u32, f32, 'n', 32, 1, 0) FI(s32_f32_z, u32, f32, 'z', 32, 1, 0) FI(u32_f32_m, u32, f32, 'm', 32, 0, 0) FI(u32_f32_p, u32, f32, 'p', 32, 0, 0)
FI(s64_f32_z, u64, f32, 'z', 64, 1, 0) FI(u64_f32_z, u64, f32, 'z', 64, 0, 0) FI(s64_f64_n, u64, f64, 'n', 64, 1, 1) FI(u64_f64_z, u64, f64, 'z', 64, 0, 1)
FI(s32_f64_p, u32, f64, 'p', 32, 1, 1) FI(u32_f64_z, u32, f64, 'z', 32, 0, 1) FI(u16_f32_z, u16, f32, 'z', 16, 0, 0) FI(s16_f64_m, u16, f64, 'm', 16, 1, 1)
REF(u8_f32_z) { d[0].u32 = (uint32_t)to_int(X.f32, 'z', 8, 0, 0); }
REF(s8_f32_n) { d[0].s32 = (int8_t)to_int(X.f32, 'n', 8, 1, 0); }
REF(s32_f32_p_ftz) { d[0].u32 = (uint32_t)to_int(ftz(X.f32), 'p', 32, 1, 0); }
REF(s32_f16_n) { d[0].u32 = (uint32_t)to_int(f16_value(X.u16), 'n', 32, 1, 0); }
REF(u64_f16_z) { d[0].u64 = to_int(f16_value(X.u16), 'z', 64, 0, 0); }

/* integer to float */
#define IF(name, out, type, src, m) REF(name) { volatile __typeof__(X.src) v = X.src; d[0].out = IN_MODE(m, type, (type)v); }
#define IFS(m, n) IF(f32_s32_##n, f32, float, s32, m) IF(f32_u32_##n, f32, float, u32, m) IF(f32_s64_##n, f32, float, s64, m) \
    IF(f64_s64_##n, f64, double, s64, m) IF(f64_s32_##n, f64, double, s32, m)
IFS(0, rn) IFS(1, rz) IFS(2, rm) IFS(3, rp)
/* u64: by exact parts, since C compilers convert it in two roundings in directed modes */
static double u64_round(uint64_t v, int digits, int m)
{
    int n = v ? 64 - __builtin_clzll(v) : 0, drop = n > digits ? n - digits : 0;
    uint64_t kept = drop ? v >> drop : v, low = drop ? v & ((1ull << drop) - 1) : 0, half = drop ? 1ull << (drop - 1) : 0;
    if (m == 0 ? low > half || (low == half && low && kept & 1) : m == 3 && low)
        kept++;
    return ldexp((double)kept, drop);
}
#define IU(m, n) REF(f32_u64_##n) { d[0].f32 = (float)u64_round(X.u64, 24, m); } REF(f64_u64_##n) { d[0].f64 = u64_round(X.u64, 53, m); }
IU(0, rn) IU(1, rz) IU(2, rm) IU(3, rp)
static exact exact_u64(uint64_t v, int neg)
{
    double t = u64_round(v, 53, 1);
    return (exact){ neg ? -t : t, (uint64_t)t != v };
}
#define IH(n, m) \
    REF(f16_s32_##n) { d[0].u16 = (uint16_t)round_format(exact_of(X.s32), &fmt_f16, m); } \
    REF(f16_u64_##n) { d[0].u16 = (uint16_t)round_format(exact_u64(X.u64, 0), &fmt_f16, m); } \
    REF(bf16_s64_##n) { d[0].u16 = (uint16_t)round_format(exact_u64(X.s64 < 0 ? 0 - X.u64 : X.u64, X.s64 < 0), &fmt_bf16, m); }
IH(rn, RND_N)
#define IHD(n, m) REF(f16_s32_##n) { d[0].u16 = (uint16_t)round_format(exact_of(X.s32), &fmt_f16, m); }
IHD(rz, RND_Z) IHD(rm, RND_M) IHD(rp, RND_P)

/* float to float */
#define FF(m, n) REF(f32_f64_##n) { volatile double v = X.f64; d[0].f32 = IN_MODE(m, float, (float)v); }
FF(0, rn) FF(1, rz) FF(2, rm) FF(3, rp)
REF(f64_f32) { d[0].f64 = X.f32; }
REF(f32_f64_ftz) { d[0].f32 = ftz((float)X.f64); }
REF(f32_f64_sat) { float v = (float)X.f64; d[0].f32 = v > 0 ? v < 1 ? v : 1 : 0; }
REF(f32_f32) { d[0] = X; }
REF(f32_f32_ftz) { d[0].f32 = nan32(ftz(X.f32)); }
REF(f32_f32_sat) { float v = X.f32; d[0].f32 = v > 0 ? v < 1 ? v : 1 : 0; }
REF(rni32) { d[0].f32 = nan32(nearbyintf(X.f32)); }
REF(rzi32) { d[0].f32 = nan32(truncf(X.f32)); }
REF(rmi64) { d[0].f64 = floor(X.f64); }
REF(rpi64) { d[0].f64 = ceil(X.f64); }
REF(f32_f16) { d[0].f32 = f16_value(X.u16); }
REF(f64_f16) { d[0].f64 = f16_value(X.u16); }
REF(f32_bf16) { d[0].u32 = (uint32_t)X.u16 << 16; }
/* f64 NaN keeps its sign and upper payload in the half formats, quieted (recorded on an H200). */
static uint16_t f64_to_half(double x, uint64_t u, const struct fmt *f, enum rnd m, unsigned mbits)
{
    if (x == x) return (uint16_t)round_format(exact_of(x), f, m);
    uint16_t top = (uint16_t)(u >> 63 << 15), exp = (uint16_t)(0x7fff >> mbits << mbits);
    return (uint16_t)(top | exp | 1u << (mbits - 1) | (u << 12 >> (64 - mbits)));
}
#define FH(n, m) \
    REF(f16_f32_##n) { d[0].u16 = (uint16_t)round_format(exact_of(X.f32), &fmt_f16, m); } \
    REF(f16_f64_##n) { d[0].u16 = f64_to_half(X.f64, X.u64, &fmt_f16, m, 10); } \
    REF(bf16_f32_##n) { d[0].u16 = (uint16_t)round_format(exact_of(X.f32), &fmt_bf16, m); }
FH(rn, RND_N) FH(rz, RND_Z) FH(rm, RND_M) FH(rp, RND_P)
REF(bf16_f64) { d[0].u16 = f64_to_half(X.f64, X.u64, &fmt_bf16, RND_N, 7); }
static uint32_t h16(float x, const struct fmt *f, enum rnd m) { return round_format(exact_of(x), f, m); }
REF(f16x2) { d[0].u32 = h16(X.f32, &fmt_f16, RND_N) << 16 | h16(Y.f32, &fmt_f16, RND_N); }
REF(f16x2_relu) { d[0].u32 = h16(X.f32 <= 0 ? 0 : X.f32, &fmt_f16, RND_Z) << 16 | h16(Y.f32 <= 0 ? 0 : Y.f32, &fmt_f16, RND_Z); }
REF(bf16x2) { d[0].u32 = h16(X.f32, &fmt_bf16, RND_N) << 16 | h16(Y.f32, &fmt_bf16, RND_N); }
static uint32_t tf32(float x, enum rnd m)
{
    if (x != x) return 0x7fffe000;
    return round_format(exact_of(x), &fmt_tf32, m) << 13;
}
/* NaN is rounded as if it were a number, but does not run over (recorded on an H200). */
REF(tf32_rna) { d[0].u32 = X.f32 != X.f32 ? X.u32 & 0xffffe000 : tf32(X.f32, RND_A); }
REF(tf32_rn_relu) { d[0].u32 = tf32(X.f32 <= 0 ? 0 : X.f32, RND_N); }
static uint32_t fp8(double x, const struct fmt *f, uint32_t max)
{
    uint32_t s = signbit(x) ? 0x80 : 0, r;
    if (x != x) return 0x7f;
    r = isinf(x) ? max : round_format(exact_of(fabs(x)), f, RND_N);
    return s | (r > max ? max : r);
}
REF(e4m3x2) { d[0].u16 = (uint16_t)(fp8(X.f32, &fmt_e4m3, 0x7e) << 8 | fp8(Y.f32, &fmt_e4m3, 0x7e)); }
REF(e5m2x2) { d[0].u16 = (uint16_t)(fp8(X.f32, &fmt_e5m2, 0x7b) << 8 | fp8(Y.f32, &fmt_e5m2, 0x7b)); }
REF(e4m3x2_h) { d[0].u16 = (uint16_t)(fp8(f16_value(X.u32 >> 16), &fmt_e4m3, 0x7e) << 8 | fp8(f16_value(X.u32), &fmt_e4m3, 0x7e)); }
static uint32_t from8(uint8_t c, const struct fmt *f, int e5)
{
    uint32_t m = c & 0x7f, s = (uint32_t)(c & 0x80) << 8;
    if (e5 ? m > 0x7c : m == 0x7f) return 0x7fff;
    if (e5 && m == 0x7c) return s | 0x7c00;
    return s | round_format(exact_of(fmt_value(f, m)), &fmt_f16, RND_N);
}
REF(f16x2_e4m3) { d[0].u32 = from8(X.u16 >> 8, &fmt_e4m3, 0) << 16 | from8((uint8_t)X.u16, &fmt_e4m3, 0); }
REF(f16x2_e5m2) { d[0].u32 = from8(X.u16 >> 8, &fmt_e5m2, 1) << 16 | from8((uint8_t)X.u16, &fmt_e5m2, 1); }
REF(pack_s16) { d[0].u32 = (uint32_t)(uint16_t)cl(X.s32, -32768, 32767) << 16 | (uint16_t)cl(Y.s32, -32768, 32767); }
REF(pack_u8) { d[0].u32 = a[2].u32 << 16 | (uint32_t)(uint8_t)cl(X.s32, 0, 255) << 8 | (uint8_t)cl(Y.s32, 0, 255); }

#define C(body, types, fn) { body, types, fn, 0, 0 }
static const struct arith_case cases[] = {
    C("cvt.u8.s32 %d0, %a0;", "s32 > u32", u8_s32), C("cvt.s8.s32 %d0, %a0;", "s32 > s32", s8_s32), C("cvt.s16.u8 %d0, %a0;", "u32 > s32", s16_u8),
    C("cvt.s64.s32 %d0, %a0;", "s32 > s64", s64_s32), C("cvt.u64.u32 %d0, %a0;", "u32 > u64", u64_u32), C("cvt.s32.s64 %d0, %a0;", "s64 > s32", s32_s64),
    C("cvt.s64.u32 %d0, %a0;", "u32 > s64", s64_u32), C("cvt.u64.s32 %d0, %a0;", "s32 > u64", u64_s32), C("cvt.s32.s16 %d0, %a0;", "s16 > s32", s32_s16),
    C("cvt.u16.u32 %d0, %a0;", "u32 > u16", u16_u32),
    C("cvt.sat.u8.s32 %d0, %a0;", "s32 > u32", sat_u8_s32), C("cvt.sat.s8.s32 %d0, %a0;", "s32 > s32", sat_s8_s32), C("cvt.sat.s8.u32 %d0, %a0;", "u32 > s32", sat_s8_u32),
    C("cvt.sat.u32.s32 %d0, %a0;", "s32 > u32", sat_u32_s32), C("cvt.sat.s32.u32 %d0, %a0;", "u32 > s32", sat_s32_u32), C("cvt.sat.u32.s64 %d0, %a0;", "s64 > u32", sat_u32_s64),
    C("cvt.sat.s32.s64 %d0, %a0;", "s64 > s32", sat_s32_s64), C("cvt.sat.s64.u64 %d0, %a0;", "u64 > s64", sat_s64_u64), C("cvt.sat.u64.s64 %d0, %a0;", "s64 > u64", sat_u64_s64),
    C("cvt.sat.u16.s16 %d0, %a0;", "s16 > u16", sat_u16_s16), C("cvt.sat.s16.u64 %d0, %a0;", "u64 > s16", sat_s16_u64),
    C("cvt.rni.s32.f32 %d0, %a0;", "f32 > s32", s32_f32_n), C("cvt.rzi.s32.f32 %d0, %a0;", "f32 > s32", s32_f32_z), C("cvt.rmi.u32.f32 %d0, %a0;", "f32 > u32", u32_f32_m),
    C("cvt.rpi.u32.f32 %d0, %a0;", "f32 > u32", u32_f32_p), C("cvt.rzi.s64.f32 %d0, %a0;", "f32 > s64", s64_f32_z), C("cvt.rzi.u64.f32 %d0, %a0;", "f32 > u64", u64_f32_z),
    C("cvt.rni.s64.f64 %d0, %a0;", "f64 > s64", s64_f64_n), C("cvt.rzi.u64.f64 %d0, %a0;", "f64 > u64", u64_f64_z), C("cvt.rpi.s32.f64 %d0, %a0;", "f64 > s32", s32_f64_p),
    C("cvt.rzi.u32.f64 %d0, %a0;", "f64 > u32", u32_f64_z), C("cvt.rzi.u16.f32 %d0, %a0;", "f32 > u16", u16_f32_z), C("cvt.rmi.s16.f64 %d0, %a0;", "f64 > s16", s16_f64_m),
    C("cvt.rzi.u8.f32 %d0, %a0;", "f32 > u32", u8_f32_z), C("cvt.rni.s8.f32 %d0, %a0;", "f32 > s32", s8_f32_n), C("cvt.rpi.ftz.s32.f32 %d0, %a0;", "f32 > s32", s32_f32_p_ftz),
    C("cvt.rni.s32.f16 %d0, %a0;", "f16 > s32", s32_f16_n), C("cvt.rzi.u64.f16 %d0, %a0;", "f16 > u64", u64_f16_z),
#define M(n) C("cvt." #n ".f32.s32 %d0, %a0;", "s32 > f32", f32_s32_##n), C("cvt." #n ".f32.u32 %d0, %a0;", "u32 > f32", f32_u32_##n), \
    C("cvt." #n ".f32.s64 %d0, %a0;", "s64 > f32", f32_s64_##n), C("cvt." #n ".f32.u64 %d0, %a0;", "u64 > f32", f32_u64_##n), \
    C("cvt." #n ".f64.s64 %d0, %a0;", "s64 > f64", f64_s64_##n), C("cvt." #n ".f64.u64 %d0, %a0;", "u64 > f64", f64_u64_##n), \
    C("cvt." #n ".f64.s32 %d0, %a0;", "s32 > f64", f64_s32_##n), C("cvt." #n ".f16.s32 %d0, %a0;", "s32 > f16", f16_s32_##n), \
    C("cvt." #n ".f32.f64 %d0, %a0;", "f64 > f32", f32_f64_##n), C("cvt." #n ".f16.f32 %d0, %a0;", "f32 > f16", f16_f32_##n), \
    C("cvt." #n ".f16.f64 %d0, %a0;", "f64 > f16", f16_f64_##n),
    M(rn) M(rz) M(rm) M(rp)
    C("cvt.rn.bf16.f32 %d0, %a0;", "f32 > bf16", bf16_f32_rn), C("cvt.rz.bf16.f32 %d0, %a0;", "f32 > bf16", bf16_f32_rz), C("cvt.rm.bf16.f32 %d0, %a0;", "f32 > bf16", bf16_f32_rm), C("cvt.rp.bf16.f32 %d0, %a0;", "f32 > bf16", bf16_f32_rp),
    C("cvt.rn.f16.u64 %d0, %a0;", "u64 > f16", f16_u64_rn), C("cvt.rn.bf16.s64 %d0, %a0;", "s64 > bf16", bf16_s64_rn), C("cvt.rn.bf16.f64 %d0, %a0;", "f64 > bf16", bf16_f64),
    C("cvt.f64.f32 %d0, %a0;", "f32 > f64", f64_f32), C("cvt.rn.ftz.f32.f64 %d0, %a0;", "f64 > f32", f32_f64_ftz), C("cvt.rn.sat.f32.f64 %d0, %a0;", "f64 > f32", f32_f64_sat),
    C("cvt.f32.f32 %d0, %a0;", "f32 > f32", f32_f32), C("cvt.ftz.f32.f32 %d0, %a0;", "f32 > f32", f32_f32_ftz), C("cvt.sat.f32.f32 %d0, %a0;", "f32 > f32", f32_f32_sat),
    C("cvt.rni.f32.f32 %d0, %a0;", "f32 > f32", rni32), C("cvt.rzi.f32.f32 %d0, %a0;", "f32 > f32", rzi32),
    C("cvt.rmi.f64.f64 %d0, %a0;", "f64 > f64", rmi64), C("cvt.rpi.f64.f64 %d0, %a0;", "f64 > f64", rpi64),
    C("cvt.f32.f16 %d0, %a0;", "f16 > f32", f32_f16), C("cvt.f64.f16 %d0, %a0;", "f16 > f64", f64_f16), C("cvt.f32.bf16 %d0, %a0;", "bf16 > f32", f32_bf16),
    C("cvt.rn.f16x2.f32 %d0, %a0, %a1;", "f32 f32 > f16x2", f16x2), C("cvt.rz.relu.f16x2.f32 %d0, %a0, %a1;", "f32 f32 > f16x2", f16x2_relu),
    C("cvt.rn.bf16x2.f32 %d0, %a0, %a1;", "f32 f32 > bf16x2", bf16x2),
    C("cvt.rna.tf32.f32 %d0, %a0;", "f32 > b32", tf32_rna), C("cvt.rn.relu.tf32.f32 %d0, %a0;", "f32 > b32", tf32_rn_relu),
    C("cvt.rn.satfinite.e4m3x2.f32 %d0, %a0, %a1;", "f32 f32 > b16", e4m3x2), C("cvt.rn.satfinite.e5m2x2.f32 %d0, %a0, %a1;", "f32 f32 > b16", e5m2x2),
    C("cvt.rn.satfinite.e4m3x2.f16x2 %d0, %a0;", "f16x2 > b16", e4m3x2_h),
    C("cvt.rn.f16x2.e4m3x2 %d0, %a0;", "b16 > f16x2", f16x2_e4m3), C("cvt.rn.f16x2.e5m2x2 %d0, %a0;", "b16 > f16x2", f16x2_e5m2),
    C("cvt.pack.sat.s16.s32 %d0, %a0, %a1;", "s32 s32 > b32", pack_s16), C("cvt.pack.sat.u8.s32.b32 %d0, %a0, %a1, %a2;", "s32 s32 b32 > b32", pack_u8),
};

int
main(void)
{
    return arith_run("convert", cases, sizeof cases / sizeof *cases) ? 1 : 0;
}
