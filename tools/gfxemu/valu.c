/* SPDX-License-Identifier: Apache-2.0
 * Vector ALU: VOP1, VOP2, VOP3 and their DPP, SDWA and dual forms (comparisons are in compare.c, packed and matrix
 * instructions in vop3p.c). NaN results are AMD's: the first source that is a NaN, quiet, else 0x7fc00000.
 * Approximate instructions (rcp, rsq, exp, log, sin, ...) give the correctly rounded value: within AMD's bound of 1 ulp. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

#include <stdlib.h>

/* ---- NaNs of f64 (of f32: exec.h) ---- */

static inline double
quietd(double f)
{
    return f64_of(f64_bits(f) | 1ull << 51);
}

static inline double
nan2d(double a, double b, double r)
{
    return !isnan(r) ? r : isnan(a) ? quietd(a) : isnan(b) ? quietd(b) : f64_of(0x7ffull << 52 | 1ull << 51);
}

static inline double
nan3d(double a, double b, double c, double r)
{
    return !isnan(r) ? r : isnan(a) ? quietd(a) : isnan(b) ? quietd(b) : isnan(c) ? quietd(c) : f64_of(0x7ffull << 52 | 1ull << 51);
}

/* As min_f and max_f. */
static inline double
min_d(double a, double b)
{
    return isnan(a) ? (isnan(b) ? quietd(a) : b) : isnan(b) ? a : a < b || (a == b && signbit(a)) ? a : b;
}

static inline double
max_d(double a, double b)
{
    return isnan(a) ? (isnan(b) ? quietd(a) : b) : isnan(b) ? a : a > b || (a == b && !signbit(a)) ? a : b;
}

/* With the IEEE mode (not since gfx12) a signalling NaN comes out of them, quiet. */
#define IEEE_MODE (w->mode & 0x200 && w->group->target->family < GFX12)

static inline bool
signals(float f)
{
    return isnan(f) && !(f32_bits(f) & 0x00400000u);
}

static inline bool
signals_d(double f)
{
    return isnan(f) && !(f64_bits(f) & 1ull << 51);
}

static inline float
min_ieee(bool ieee, float a, float b)
{
    return ieee && signals(a) ? quiet(a) : ieee && signals(b) ? quiet(b) : min_f(a, b);
}

static inline float
max_ieee(bool ieee, float a, float b)
{
    return ieee && signals(a) ? quiet(a) : ieee && signals(b) ? quiet(b) : max_f(a, b);
}

static inline double
min_ieee_d(bool ieee, double a, double b)
{
    return ieee && signals_d(a) ? quietd(a) : ieee && signals_d(b) ? quietd(b) : min_d(a, b);
}

static inline double
max_ieee_d(bool ieee, double a, double b)
{
    return ieee && signals_d(a) ? quietd(a) : ieee && signals_d(b) ? quietd(b) : max_d(a, b);
}

/* ---- shapes of operations: F1(name, expression of a), ... ---- */

#define FOR for (unsigned l = 0; l < w->lanes; l++)

#define F1(name, expr) static void name(W, I) { float x[LANES], d[LANES]; gfx_srcf(w, i, 1, 0, x); ROUND_BEGIN(0); \
    FOR { float a = x[l]; d[l] = expr; } ROUND_END(); gfx_putf(w, i, d); }
#define F2(name, expr) static void name(W, I) { float x[LANES], y[LANES], d[LANES]; gfx_srcf(w, i, 1, 0, x); gfx_srcf(w, i, 2, 1, y); \
    ROUND_BEGIN(0); FOR { float a = x[l], b = y[l]; d[l] = expr; } ROUND_END(); gfx_putf(w, i, d); }
#define F3(name, expr) static void name(W, I) { float x[LANES], y[LANES], z[LANES], d[LANES]; gfx_srcf(w, i, 1, 0, x); \
    gfx_srcf(w, i, 2, 1, y); gfx_srcf(w, i, 3, 2, z); ROUND_BEGIN(0); FOR { float a = x[l], b = y[l], c = z[l]; d[l] = expr; } ROUND_END(); \
    gfx_putf(w, i, d); }
/* The destination is the addend. */
#define F2A(name, expr) static void name(W, I) { float x[LANES], y[LANES], z[LANES], d[LANES]; gfx_srcf(w, i, 1, 0, x); \
    gfx_srcf(w, i, 2, 1, y); gfx_srcf(w, i, 0, 3, z); ROUND_BEGIN(0); FOR { float a = x[l], b = y[l], c = z[l]; d[l] = expr; } ROUND_END(); \
    gfx_putf(w, i, d); }
#define H1(name, expr) static void name(W, I) { float x[LANES], d[LANES]; gfx_srch(w, i, 1, 0, x); ROUND_BEGIN(2); \
    FOR { float a = x[l]; d[l] = f16_of(f16_bits(expr)); } ROUND_END(); gfx_puth(w, i, d); }
#define H2(name, expr) static void name(W, I) { float x[LANES], y[LANES], d[LANES]; gfx_srch(w, i, 1, 0, x); gfx_srch(w, i, 2, 1, y); \
    ROUND_BEGIN(2); FOR { float a = x[l], b = y[l]; d[l] = f16_of(f16_bits(expr)); } ROUND_END(); gfx_puth(w, i, d); }
#define H3(name, expr) static void name(W, I) { float x[LANES], y[LANES], z[LANES], d[LANES]; gfx_srch(w, i, 1, 0, x); \
    gfx_srch(w, i, 2, 1, y); gfx_srch(w, i, 3, 2, z); ROUND_BEGIN(2); FOR { float a = x[l], b = y[l], c = z[l]; d[l] = expr; } ROUND_END(); \
    gfx_puth(w, i, d); }
#define H2A(name, expr) static void name(W, I) { float x[LANES], y[LANES], z[LANES], d[LANES]; gfx_srch(w, i, 1, 0, x); \
    gfx_srch(w, i, 2, 1, y); gfx_srch(w, i, 0, 2, z); ROUND_BEGIN(2); FOR { float a = x[l], b = y[l], c = z[l]; d[l] = expr; } ROUND_END(); \
    gfx_puth(w, i, d); }
#define D1(name, expr) static void name(W, I) { double x[LANES], d[LANES]; gfx_srcd(w, i, 1, x); ROUND_BEGIN(2); \
    FOR { double a = x[l]; d[l] = expr; } ROUND_END(); gfx_putd(w, i, d); }
#define D2(name, expr) static void name(W, I) { double x[LANES], y[LANES], d[LANES]; gfx_srcd(w, i, 1, x); gfx_srcd(w, i, 2, y); \
    ROUND_BEGIN(2); FOR { double a = x[l], b = y[l]; d[l] = expr; } ROUND_END(); gfx_putd(w, i, d); }
#define D3(name, expr) static void name(W, I) { double x[LANES], y[LANES], z[LANES], d[LANES]; gfx_srcd(w, i, 1, x); \
    gfx_srcd(w, i, 2, y); gfx_srcd(w, i, 3, z); ROUND_BEGIN(2); FOR { double a = x[l], b = y[l], c = z[l]; d[l] = expr; } ROUND_END(); \
    gfx_putd(w, i, d); }
#define U1(name, expr) static void name(W, I) { uint32_t x[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B32, x); \
    FOR { uint32_t a = x[l]; d[l] = (uint32_t)(expr); } gfx_put32(w, i, d); }
#define U2(name, expr) static void name(W, I) { uint32_t x[LANES], y[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B32, x); \
    gfx_src32(w, i, 2, 1, T_B32, y); FOR { uint32_t a = x[l], b = y[l]; d[l] = (uint32_t)(expr); } gfx_put32(w, i, d); }
#define U3(name, expr) static void name(W, I) { uint32_t x[LANES], y[LANES], z[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B32, x); \
    gfx_src32(w, i, 2, 1, T_B32, y); gfx_src32(w, i, 3, 2, T_B32, z); \
    FOR { uint32_t a = x[l], b = y[l], c = z[l]; d[l] = (uint32_t)(expr); } gfx_put32(w, i, d); }
#define S1(name, expr) static void name(W, I) { uint32_t x[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B16, x); \
    FOR { uint32_t a = x[l]; d[l] = (uint32_t)(expr); } gfx_put16(w, i, d); }
#define S2(name, expr) static void name(W, I) { uint32_t x[LANES], y[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B16, x); \
    gfx_src32(w, i, 2, 1, T_B16, y); FOR { uint32_t a = x[l], b = y[l]; d[l] = (uint32_t)(expr); } gfx_put16(w, i, d); }
#define S3(name, expr) static void name(W, I) { uint32_t x[LANES], y[LANES], z[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B16, x); \
    gfx_src32(w, i, 2, 1, T_B16, y); gfx_src32(w, i, 3, 2, T_B16, z); \
    FOR { uint32_t a = x[l], b = y[l], c = z[l]; d[l] = (uint32_t)(expr); } gfx_put16(w, i, d); }
/* 32-bit shift amount, 64-bit value. */
#define Q2(name, expr) static void name(W, I) { uint32_t x[LANES]; uint64_t y[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B32, x); \
    gfx_src64(w, i, 2, T_B64, y); FOR { uint32_t a = x[l]; uint64_t b = y[l]; d[l] = (uint64_t)(expr); } gfx_put64(w, i, d); }
/* Both 64-bit. */
#define QQ(name, expr) static void name(W, I) { uint64_t x[LANES], y[LANES], d[LANES]; gfx_src64(w, i, 1, T_B64, x); \
    gfx_src64(w, i, 2, T_B64, y); FOR { uint64_t a = x[l], b = y[l]; d[l] = (uint64_t)(expr); } gfx_put64(w, i, d); }

#define SI(x) ((int32_t)(x))
#define SH(x) ((int32_t)(int16_t)(x))
#define S24(x) ((int32_t)((x) << 8) >> 8)

static uint32_t
med3u(uint32_t a, uint32_t b, uint32_t c)
{
    return a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b);
}

static int32_t
med3i(int32_t a, int32_t b, int32_t c)
{
    return a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b);
}

/* ---- moves and integers ---- */

U1(mov, a)
U1(not, ~a)
U2(and, a & b)
U2(or, a | b)
U2(xor, a ^ b)
U2(xnor, ~(a ^ b))
static void
add_u32(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR {
        d[l] = x[l] + y[l];
        if (i->clamp && d[l] < x[l])
            d[l] = ~0u;
    }
    gfx_put32(w, i, d);
}

static void
sub_u32(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, i->arg ? 2 : 1, i->arg, T_B32, x);
    gfx_src32(w, i, i->arg ? 1 : 2, !i->arg, T_B32, y);
    FOR d[l] = i->clamp && y[l] > x[l] ? 0 : x[l] - y[l];
    gfx_put32(w, i, d);
}

static void
add_i32(W, I)       /* arg 1: subtract; with clamp they saturate */
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR {
        int64_t r = i->arg ? (int64_t)SI(x[l]) - SI(y[l]) : (int64_t)SI(x[l]) + SI(y[l]);
        d[l] = i->clamp && r > INT32_MAX ? 0x7fffffffu : i->clamp && r < INT32_MIN ? 0x80000000u : (uint32_t)r;
    }
    gfx_put32(w, i, d);
}

/* d, carry out, a, b [, carry in]; arg bit 0: subtract, 1: reversed, 2: with carry in. */
static void
carry(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    bool sub = i->arg & 1, rev = i->arg & 2;
    gfx_src32(w, i, rev ? 3 : 2, rev, T_B32, x);
    gfx_src32(w, i, rev ? 2 : 3, !rev, T_B32, y);
    uint64_t in = i->arg & 4 ? (i->noperands > 4 ? smask(w, &i->op[4]) : vcc_mask(w)) : 0, out = 0, exec = gfx_exec_mask(w);
    FOR {
        uint64_t c = in >> l & 1, r = sub ? (uint64_t)x[l] - y[l] - c : (uint64_t)x[l] + y[l] + c;
        d[l] = (uint32_t)r;
        bool carried = r >> 32 != 0;
        if (carried && (exec >> l & 1))
            out |= 1ull << l;
        if (i->clamp && carried)
            d[l] = sub ? 0 : ~0u;
    }
    gfx_put32(w, i, d);
    set_smask(w, &i->op[1], out);
}

U2(lshlrev, b << (a & 31))
U2(lshrrev, b >> (a & 31))
U2(ashrrev, SI(b) >> (a & 31))
Q2(lshlrev64, b << (a & 63))
Q2(lshrrev64, b >> (a & 63))
Q2(ashrrev64, (int64_t)b >> (a & 63))
QQ(add_u64, a + b)
QQ(sub_u64, a - b)
QQ(mul_u64, a * b)
U2(min_u32, a < b ? a : b)
U2(max_u32, a > b ? a : b)
U2(min_i32, SI(a) < SI(b) ? a : b)
U2(max_i32, SI(a) > SI(b) ? a : b)
U2(mul_lo, a * b)
U2(mul_hi_u, (uint64_t)a * b >> 32)
U2(mul_hi_i, (uint64_t)((int64_t)SI(a) * SI(b)) >> 32)
U2(mul_u24, (a & 0xffffff) * (b & 0xffffff))
U2(mul_i24, (uint32_t)((int64_t)S24(a) * S24(b)))
U2(mul_hi_u24, (uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 32)
U2(mul_hi_i24, (uint64_t)((int64_t)S24(a) * S24(b)) >> 32)
U3(mad_u24, (a & 0xffffff) * (b & 0xffffff) + c)
U3(mad_i24, (uint32_t)((int64_t)S24(a) * S24(b)) + c)
U3(add3, a + b + c)
U3(lshl_add, (a << (b & 31)) + c)
U3(add_lshl, (a + b) << (c & 31))
U3(lshl_or, (a << (b & 31)) | c)
U3(and_or, (a & b) | c)
U3(or3, a | b | c)
U3(xor3, a ^ b ^ c)
U3(xad, (a ^ b) + c)
U3(bfi, (a & b) | (~a & c))
U3(bfe_u, (c & 31) ? a >> (b & 31) & ((1u << (c & 31)) - 1) : 0)
U3(bfe_i, (c & 31) ? (uint32_t)((int32_t)((a >> (b & 31)) << (32 - (c & 31))) >> (32 - (c & 31))) : 0)
U2(bfm, ((1u << (a & 31)) - 1) << (b & 31))
U3(alignbit, (uint64_t)((uint64_t)a << 32 | b) >> (c & 31))
U3(alignbyte, (uint64_t)((uint64_t)a << 32 | b) >> 8 * (c & 3))
U3(min3_u, a < b ? (a < c ? a : c) : b < c ? b : c)
U3(max3_u, a > b ? (a > c ? a : c) : b > c ? b : c)
U3(min3_i, SI(a) < SI(b) ? (SI(a) < SI(c) ? a : c) : SI(b) < SI(c) ? b : c)
U3(max3_i, SI(a) > SI(b) ? (SI(a) > SI(c) ? a : c) : SI(b) > SI(c) ? b : c)
U3(med3_u, med3u(a, b, c))
U3(med3_i, med3i(SI(a), SI(b), SI(c)))
U3(maxmin_u, (a > b ? a : b) < c ? (a > b ? a : b) : c)
U3(minmax_u, (a < b ? a : b) > c ? (a < b ? a : b) : c)
U3(maxmin_i, (SI(a) > SI(b) ? SI(a) : SI(b)) < SI(c) ? (SI(a) > SI(b) ? a : b) : c)
U3(minmax_i, (SI(a) < SI(b) ? SI(a) : SI(b)) > SI(c) ? (SI(a) < SI(b) ? a : b) : c)
U3(sad_u32, (a > b ? a - b : b - a) + c)
U2(bcnt, (uint32_t)__builtin_popcount(a) + b)
U1(ffbh_u, a ? (uint32_t)__builtin_clz(a) : ~0u)
U1(ffbl, a ? (uint32_t)__builtin_ctz(a) : ~0u)
U1(ffbh_i, a == 0 || a == ~0u ? ~0u : (uint32_t)__builtin_clz(SI(a) < 0 ? ~a : a))

static uint32_t
reversed(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}
U1(bfrev, reversed(a))

static uint32_t
permuted(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t s = (uint64_t)a << 32 | b;
    uint32_t r = 0;
    for (unsigned k = 0; k < 4; k++) {
        unsigned x = c >> 8 * k & 0xff;
        uint32_t v = x >= 13 ? 0xff : x == 12 ? 0 : x >= 8 ? ((s >> (16 * (x - 8) + 15) & 1) ? 0xff : 0) : s >> 8 * x & 0xff;
        r |= v << 8 * k;
    }
    return r;
}
U3(perm, permuted(a, b, c))

static uint32_t
sad_bytes(uint32_t a, uint32_t b, uint32_t c)
{
    for (unsigned k = 0; k < 32; k += 8) {
        int d = (int)(a >> k & 0xff) - (int)(b >> k & 0xff);
        c += (uint32_t)(d < 0 ? -d : d);
    }
    return c;
}
U3(sad_u8, sad_bytes(a, b, c))
U3(sad_u16, c + (uint32_t)abs((int)(a & 0xffff) - (int)(b & 0xffff)) + (uint32_t)abs((int)(a >> 16) - (int)(b >> 16)))

static void
mbcnt(W, I)         /* arg 1: the upper half of the mask */
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR {
        uint64_t below = (1ull << l) - 1;
        d[l] = (uint32_t)__builtin_popcount(x[l] & (uint32_t)(i->arg ? below >> 32 : below)) + y[l];
    }
    gfx_put32(w, i, d);
}

static void
cndmask(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_F32, x);
    gfx_src32(w, i, 2, 1, T_F32, y);
    for (unsigned n = 1; n <= 2; n++)
        if (i->op[n].neg || i->op[n].abs)
            FOR {
                uint32_t *v = n == 1 ? &x[l] : &y[l];
                *v = (i->op[n].abs ? *v & 0x7fffffffu : *v) ^ (i->op[n].neg ? 0x80000000u : 0);
            }
    uint64_t m = i->noperands > 3 ? smask(w, &i->op[3]) : vcc_mask(w);
    FOR d[l] = m >> l & 1 ? y[l] : x[l];
    gfx_put32(w, i, d);
}

static void
cndmask16(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B16, x);
    gfx_src32(w, i, 2, 1, T_B16, y);
    uint64_t m = i->noperands > 3 ? smask(w, &i->op[3]) : vcc_mask(w);
    FOR d[l] = m >> l & 1 ? y[l] : x[l];
    gfx_put16(w, i, d);
}

/* d (64 bits), carry out, a, b, c (64 bits); arg 1: signed. */
static void
mad64(W, I)
{
    uint32_t x[LANES], y[LANES];
    uint64_t z[LANES], d[LANES], out = 0, exec = gfx_exec_mask(w);
    gfx_src32(w, i, 2, 0, T_B32, x);
    gfx_src32(w, i, 3, 1, T_B32, y);
    gfx_src64(w, i, 4, T_B64, z);
    FOR {
        uint64_t p = i->arg ? (uint64_t)((int64_t)SI(x[l]) * SI(y[l])) : (uint64_t)x[l] * y[l];
        d[l] = p + z[l];
        bool carried = i->arg ? __builtin_add_overflow((int64_t)p, (int64_t)z[l], &(int64_t){ 0 }) : d[l] < p;
        if (carried && (exec >> l & 1))
            out |= 1ull << l;
    }
    gfx_put64(w, i, d);
    set_smask(w, &i->op[1], out);
}

static void
lshl_add64(W, I)
{
    uint64_t x[LANES], z[LANES], d[LANES];
    uint32_t y[LANES];
    gfx_src64(w, i, 1, T_B64, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    gfx_src64(w, i, 3, T_B64, z);
    FOR d[l] = (x[l] << (y[l] & 7)) + z[l];
    gfx_put64(w, i, d);
}

static void
mov64(W, I)
{
    uint64_t x[LANES];
    gfx_src64(w, i, 1, T_B64, x);
    gfx_put64(w, i, x);
}

static void
readfirstlane(W, I)
{
    uint64_t m = gfx_exec_mask(w) & all_lanes(w);
    unsigned l = m ? (unsigned)__builtin_ctzll(m) : 0;
    set_s32(w, &i->op[0], i->op[1].kind == GFX_VGPR ? w->v[i->op[1].reg][l] : s32(w, &i->op[1]));
}

static void
readlane(W, I)
{
    unsigned l = s32(w, &i->op[2]) & (w->lanes - 1);
    set_s32(w, &i->op[0], i->op[1].kind == GFX_VGPR ? w->v[i->op[1].reg][l] : s32(w, &i->op[1]));
}

static void
writelane(W, I)
{
    if (i->op[0].kind == GFX_VGPR) {
        unsigned l = s32(w, &i->op[2]) & (w->lanes - 1);
        w->v[i->op[0].reg][l] = s32(w, &i->op[1]);
        w->written[i->op[0].reg] |= 1ull << l;
    }
}

/* Any lane of the row (arg 1: of the other row of the pair); the selectors are 16 nibbles. op_sel bit 0: read idle lanes too. */
static void
permlane16(W, I)
{
    uint32_t x[LANES], d[LANES];
    uint64_t exec = gfx_exec_mask(w), sel = s32(w, &i->op[2]) | (uint64_t)s32(w, &i->op[3]) << 32;
    gfx_src32(w, i, 1, 9, T_B32, x);
    FOR {
        unsigned from = (l & ~15u) ^ (i->arg ? 16 : 0);
        from += sel >> 4 * (l & 15) & 15;
        bool valid = (exec >> from & 1) || (i->op_sel & 1);
        d[l] = valid ? x[from] : i->op_sel & 2 ? 0 : w->v[i->op[0].reg][l];
    }
    put_reg(w, i->op[0].reg, d);
}

static void
permlane64(W, I)
{
    uint32_t x[LANES], d[LANES];
    if (w->lanes != 64)         /* no operation */
        return;
    gfx_src32(w, i, 1, 9, T_B32, x);
    FOR d[l] = x[l ^ 32];
    put_reg(w, i->op[0].reg, d);
}

static void
swap(W, I)
{
    uint32_t a[LANES], b[LANES];
    if (i->op[0].kind != GFX_VGPR || i->op[1].kind != GFX_VGPR)
        return;
    memcpy(a, w->v[i->op[0].reg], sizeof a);
    memcpy(b, w->v[i->op[1].reg], sizeof b);
    put_reg(w, i->op[0].reg, b);
    put_reg(w, i->op[1].reg, a);
}

/* ---- 16-bit integers ---- */

S2(add_u16, i->clamp && a + b > 0xffff ? 0xffff : a + b)
S2(sub_u16, i->clamp && a < b ? 0 : a - b)
S2(subrev_u16, b - a)
S2(mul_lo_u16, a * b)
S2(min_u16, a < b ? a : b)
S2(max_u16, a > b ? a : b)
S2(min_i16, SH(a) < SH(b) ? a : b)
S2(max_i16, SH(a) > SH(b) ? a : b)
S2(lshlrev16, b << (a & 15))
S2(lshrrev16, b >> (a & 15))
S2(ashrrev16, SH(b) >> (a & 15))
S2(and16, a & b)
S2(or16, a | b)
S2(xor16, a ^ b)
S1(not16, ~a)
S1(mov16, a)
S3(mad_u16, a * b + c)
static int
sat16(int x)
{
    return x > 32767 ? 32767 : x < -32768 ? -32768 : x;
}
S2(add_i16, i->clamp ? sat16(SH(a) + SH(b)) : SH(a) + SH(b))
S2(sub_i16, i->clamp ? sat16(SH(a) - SH(b)) : SH(a) - SH(b))
S3(min3_u16, med3u(a, b, c) < a ? (b < c ? b : c) : (a < b ? (a < c ? a : c) : (b < c ? b : c)))
S3(max3_u16, a > b ? (a > c ? a : c) : b > c ? b : c)
S3(med3_u16, med3u(a, b, c))
S3(min3_i16, SH(a) < SH(b) ? (SH(a) < SH(c) ? a : c) : SH(b) < SH(c) ? b : c)
S3(max3_i16, SH(a) > SH(b) ? (SH(a) > SH(c) ? a : c) : SH(b) > SH(c) ? b : c)
S3(med3_i16, med3i(SH(a), SH(b), SH(c)))

/* v_mad_u32_u16, v_mad_i32_i16: 16-bit factors, 32-bit addend. */
static void
mad32_16(W, I)
{
    uint32_t x[LANES], y[LANES], z[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B16, x);
    gfx_src32(w, i, 2, 1, T_B16, y);
    gfx_src32(w, i, 3, 9, T_B32, z);
    FOR d[l] = (i->arg ? (uint32_t)(SH(x[l]) * SH(y[l])) : x[l] * y[l]) + z[l];
    gfx_put32(w, i, d);
}

/* v_pack_b32_f16 and its kind: two halves to one register. */
static void
pack_f16(W, I)
{
    float x[LANES], y[LANES];
    uint32_t d[LANES], a[LANES], b[LANES];
    gfx_srch(w, i, 1, 0, x);
    gfx_srch(w, i, 2, 1, y);
    gfx_src32(w, i, 1, 0, T_F16, a);
    gfx_src32(w, i, 2, 1, T_F16, b);
    FOR {
        uint32_t lo = i->op[1].neg || i->op[1].abs ? f16_bits(x[l]) : a[l], hi = i->op[2].neg || i->op[2].abs ? f16_bits(y[l]) : b[l];
        d[l] = lo | hi << 16;
    }
    gfx_put32(w, i, d);
}

/* ---- float ---- */

F2(add_f32, nan2(a, b, a + b))
F2(sub_f32, nan2(a, b, a - b))
F2(subrev_f32, nan2(a, b, b - a))
F2(mul_f32, nan2(a, b, a * b))
F2(mul_legacy, a == 0 || b == 0 ? 0 : nan2(a, b, a * b))
F2(min_f32, min_ieee(IEEE_MODE, a, b))
F2(max_f32, max_ieee(IEEE_MODE, a, b))
F2(minimum_f32, minimum_f(a, b))
F2(maximum_f32, maximum_f(a, b))
F3(fma_f32, nan3(a, b, c, fmaf(a, b, c)))
F3(mad_f32, nan3(a, b, c, nan2(a, b, a * b) + c))
F2A(fmac_f32, nan3(a, b, c, fmaf(a, b, c)))
F2A(mac_f32, nan3(a, b, c, a * b + c))
F3(min3_f32, min_ieee(IEEE_MODE, min_ieee(IEEE_MODE, a, b), c))
F3(max3_f32, max_ieee(IEEE_MODE, max_ieee(IEEE_MODE, a, b), c))
F3(maxmin_f32, min_f(max_f(a, b), c))
F3(minmax_f32, max_f(min_f(a, b), c))
F3(minimum3_f32, minimum_f(minimum_f(a, b), c))
F3(maximum3_f32, maximum_f(maximum_f(a, b), c))
static float
med3f(float a, float b, float c)
{
    if (isnan(a) || isnan(b) || isnan(c))
        return min_f(min_f(a, b), c);
    float m = max_f(max_f(a, b), c);
    return m == a ? max_f(b, c) : m == b ? max_f(a, c) : max_f(a, b);
}
F3(med3_f32, med3f(a, b, c))
H3(med3_f16, med3f(a, b, c))

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

/* ---- division: scale, fmas, fixup ("V_DIV_SCALE_F32" and its kind in the ISA documents) ----
 *
 * In two places the documents' text cannot be what the hardware does, since the quotients of LLVM's expansion (and of every OpenCL
 * library) are correctly rounded there:
 * - Where the denominator's reciprocal and the quotient are both subnormal, the text scales the denominator up, from at least
 *   2^126 to infinity. It is scaled down, as the next case has it: only that agrees with what fmas undoes.
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
static _Float128
fma_scaled(double x, double y, double z, int e)
{
    _Float128 p = (_Float128)x * y, c = z, s = p + c, b = s - p, t = (p - (s - b)) + (c - b);
    unsigned __int128 bits;
    memcpy(&bits, &s, sizeof s);
    if (t != 0 && isfinite((double)t) && !(bits & 1))
        bits += (t > 0) == (s > 0) ? (unsigned __int128)1 : -(unsigned __int128)1;
    memcpy(&s, &bits, sizeof s);
    return s * (_Float128)ldexp(1, e);
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

/* ---- double ---- */

D2(add_f64, nan2d(a, b, a + b))
D2(mul_f64, nan2d(a, b, a * b))
D2(min_f64, min_ieee_d(IEEE_MODE, a, b))
D2(max_f64, max_ieee_d(IEEE_MODE, a, b))
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
    _Float128 r = (_Float128)a * b + c;     /* exact: 22 bits and 11 bits, at most 80 places apart */
    return nan3(a, b, c, (float)(_Float16)r);
}
H2(add_f16, nan2(a, b, a + b))
H2(sub_f16, nan2(a, b, a - b))
H2(subrev_f16, nan2(a, b, b - a))
H2(mul_f16, nan2(a, b, a * b))

/* arg 1: the larger. A half that signals is quiet once it is a float: its bits tell. */
static void
minmax_f16(W, I)
{
    float x[LANES], y[LANES], d[LANES];
    uint32_t p[LANES], q[LANES];
    gfx_srch(w, i, 1, 0, x);
    gfx_srch(w, i, 2, 1, y);
    gfx_src32(w, i, 1, 0, T_F16, p);
    gfx_src32(w, i, 2, 1, T_F16, q);
    FOR {
        bool sx = isnan(x[l]) && !(p[l] & 0x200), sy = isnan(y[l]) && !(q[l] & 0x200);
        d[l] = IEEE_MODE && sx ? x[l] : IEEE_MODE && sy ? y[l] : i->arg ? max_f(x[l], y[l]) : min_f(x[l], y[l]);
    }
    gfx_puth(w, i, d);
}
H3(fma_f16, fma_h(a, b, c))
H2A(fmac_f16, fma_h(a, b, c))
H3(min3_f16, min_f(min_f(a, b), c))
H3(max3_f16, max_f(max_f(a, b), c))
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

/* ---- conversions ---- */

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

static void
nop(W, I)
{
    (void)w;
    (void)i;
}

#define V(name, fn) { "v_" name, fn, GFX_C_VALU, 0 }
#define VA(name, fn, arg) { "v_" name, fn, GFX_C_VALU, arg }
#define VT(name, fn) { "v_" name, fn, GFX_C_TRANS, 0 }
const struct gfx_row gfx_valu[] = {
    V("nop", nop), V("mov_b32", mov), V("mov_b64", mov64), V("not_b32", not), V("and_b32", and), V("or_b32", or), V("xor_b32", xor),
    V("xnor_b32", xnor), V("add_u32", add_u32), V("add_nc_u32", add_u32), V("sub_u32", sub_u32), V("sub_nc_u32", sub_u32),
    VA("subrev_u32", sub_u32, 1), VA("subrev_nc_u32", sub_u32, 1), V("add_i32", add_i32), V("add_nc_i32", add_i32),
    VA("sub_i32", add_i32, 1), VA("sub_nc_i32", add_i32, 1),
    VA("add_co_u32", carry, 0), VA("sub_co_u32", carry, 1), VA("subrev_co_u32", carry, 3),
    VA("addc_co_u32", carry, 4), VA("subb_co_u32", carry, 5), VA("subbrev_co_u32", carry, 7),
    VA("add_co_ci_u32", carry, 4), VA("sub_co_ci_u32", carry, 5), VA("subrev_co_ci_u32", carry, 7),
    V("lshlrev_b32", lshlrev), V("lshrrev_b32", lshrrev), V("ashrrev_i32", ashrrev), V("lshlrev_b64", lshlrev64),
    V("lshrrev_b64", lshrrev64), V("ashrrev_i64", ashrrev64), V("add_u64", add_u64), V("sub_u64", sub_u64), V("mul_u64", mul_u64),
    V("add_nc_u64", add_u64), V("min_u32", min_u32), V("max_u32", max_u32), V("min_i32", min_i32), V("max_i32", max_i32),
    V("mul_lo_u32", mul_lo), V("mul_lo_i32", mul_lo), V("mul_hi_u32", mul_hi_u), V("mul_hi_i32", mul_hi_i), V("mul_u32_u24", mul_u24),
    V("mul_i32_i24", mul_i24), V("mul_hi_u32_u24", mul_hi_u24), V("mul_hi_i32_i24", mul_hi_i24), V("mad_u32_u24", mad_u24),
    V("mad_i32_i24", mad_i24), V("add3_u32", add3), V("lshl_add_u32", lshl_add), V("add_lshl_u32", add_lshl), V("lshl_or_b32", lshl_or),
    V("and_or_b32", and_or), V("or3_b32", or3), V("xor3_b32", xor3), V("xad_u32", xad), V("bfi_b32", bfi), V("bfe_u32", bfe_u),
    V("bfe_i32", bfe_i), V("bfm_b32", bfm), V("alignbit_b32", alignbit), V("alignbyte_b32", alignbyte), V("perm_b32", perm),
    V("min3_u32", min3_u), V("max3_u32", max3_u), V("min3_i32", min3_i), V("max3_i32", max3_i), V("med3_u32", med3_u),
    V("med3_i32", med3_i), V("maxmin_u32", maxmin_u), V("minmax_u32", minmax_u), V("maxmin_i32", maxmin_i), V("minmax_i32", minmax_i),
    V("sad_u32", sad_u32), V("sad_u8", sad_u8), V("sad_u16", sad_u16), V("bcnt_u32_b32", bcnt), V("ffbh_u32", ffbh_u),
    V("clz_i32_u32", ffbh_u), V("ffbl_b32", ffbl), V("ctz_i32_b32", ffbl), V("ffbh_i32", ffbh_i), V("cls_i32", ffbh_i),
    V("bfrev_b32", bfrev), VA("mbcnt_lo_u32_b32", mbcnt, 0), VA("mbcnt_hi_u32_b32", mbcnt, 1), V("cndmask_b32", cndmask),
    V("cndmask_b16", cndmask16), VA("mad_u64_u32", mad64, 0), VA("mad_i64_i32", mad64, 1), VA("mad_co_u64_u32", mad64, 0),
    VA("mad_co_i64_i32", mad64, 1), V("lshl_add_u64", lshl_add64), V("readfirstlane_b32", readfirstlane), V("readlane_b32", readlane),
    V("writelane_b32", writelane), VA("permlane16_b32", permlane16, 0), VA("permlanex16_b32", permlane16, 1), V("permlane64_b32", permlane64),
    V("swap_b32", swap), V("accvgpr_read_b32", mov), V("accvgpr_write_b32", mov), V("accvgpr_mov_b32", mov),
    V("add_u16", add_u16), V("add_nc_u16", add_u16), V("sub_u16", sub_u16), V("sub_nc_u16", sub_u16), V("subrev_u16", subrev_u16),
    V("add_i16", add_i16), V("add_nc_i16", add_i16), V("sub_i16", sub_i16), V("sub_nc_i16", sub_i16),
    V("mul_lo_u16", mul_lo_u16), V("min_u16", min_u16), V("max_u16", max_u16), V("min_i16", min_i16), V("max_i16", max_i16),
    V("lshlrev_b16", lshlrev16), V("lshrrev_b16", lshrrev16), V("ashrrev_i16", ashrrev16), V("and_b16", and16), V("or_b16", or16),
    V("xor_b16", xor16), V("not_b16", not16), V("mov_b16", mov16), V("mad_u16", mad_u16), V("mad_i16", mad_u16), V("min3_u16", min3_u16),
    V("max3_u16", max3_u16), V("med3_u16", med3_u16), V("min3_i16", min3_i16), V("max3_i16", max3_i16), V("med3_i16", med3_i16),
    VA("mad_u32_u16", mad32_16, 0), VA("mad_i32_i16", mad32_16, 1), V("pack_b32_f16", pack_f16), V("mad_legacy_u16", mad_u16),
    V("add_f32", add_f32), V("sub_f32", sub_f32), V("subrev_f32", subrev_f32), V("mul_f32", mul_f32), V("mul_legacy_f32", mul_legacy),
    V("mul_dx9_zero_f32", mul_legacy), V("min_f32", min_f32), V("max_f32", max_f32), V("min_num_f32", min_f32), V("max_num_f32", max_f32),
    V("minimum_f32", minimum_f32), V("maximum_f32", maximum_f32), V("fma_f32", fma_f32), V("mad_f32", mad_f32), V("fmac_f32", fmac_f32),
    V("mac_f32", mac_f32), V("fmaak_f32", fmaak), V("fmamk_f32", fmaak), V("madak_f32", mad_f32), V("madmk_f32", mad_f32),
    V("min3_f32", min3_f32), V("max3_f32", max3_f32), V("min3_num_f32", min3_f32), V("max3_num_f32", max3_f32), V("med3_f32", med3_f32),
    V("med3_num_f32", med3_f32), V("maxmin_f32", maxmin_f32), V("minmax_f32", minmax_f32), V("maxmin_num_f32", maxmin_f32),
    V("minmax_num_f32", minmax_f32), V("minimum3_f32", minimum3_f32), V("maximum3_f32", maximum3_f32),
    V("floor_f32", floor_f32), V("ceil_f32", ceil_f32), V("trunc_f32", trunc_f32), V("rndne_f32", rndne_f32), V("fract_f32", fract_f32),
    VT("rcp_f32", rcp_f32), VT("rcp_iflag_f32", rcp_f32), VT("rsq_f32", rsq_f32), VT("sqrt_f32", sqrt_f32), VT("exp_f32", exp_f32),
    VT("log_f32", log_f32), VT("sin_f32", sin_f32), VT("cos_f32", cos_f32), V("ldexp_f32", ldexp_f32), V("frexp_exp_i32_f32", frexp_exp_f32),
    V("frexp_mant_f32", frexp_mant_f32), V("div_scale_f32", div_scale_f32), V("div_scale_f64", div_scale_f64),
    V("div_fmas_f32", div_fmas_f32), V("div_fmas_f64", div_fmas_f64), V("div_fixup_f32", div_fixup_f32), V("div_fixup_f64", div_fixup_f64),
    V("div_fixup_f16", div_fixup_f16), V("add_f64", add_f64), V("mul_f64", mul_f64), V("min_f64", min_f64), V("max_f64", max_f64),
    V("min_num_f64", min_f64), V("max_num_f64", max_f64), V("fma_f64", fma_f64), V("fmac_f64", fmac_f64), V("floor_f64", floor_f64),
    V("ceil_f64", ceil_f64), V("trunc_f64", trunc_f64), V("rndne_f64", rndne_f64), V("fract_f64", fract_f64), VT("rcp_f64", rcp_f64),
    VT("rsq_f64", rsq_f64), VT("sqrt_f64", sqrt_f64), V("frexp_mant_f64", frexp_mant_f64), V("frexp_exp_i32_f64", frexp_exp_f64),
    V("ldexp_f64", ldexp_f64), V("add_f16", add_f16), V("sub_f16", sub_f16), V("subrev_f16", subrev_f16), V("mul_f16", mul_f16),
    V("min_f16", minmax_f16), VA("max_f16", minmax_f16, 1), V("min_num_f16", minmax_f16), VA("max_num_f16", minmax_f16, 1), V("fma_f16", fma_f16),
    V("fmac_f16", fmac_f16), V("mac_f16", fmac_f16), V("fmaak_f16", fma_f16), V("fmamk_f16", fma_f16), V("min3_f16", min3_f16),
    V("max3_f16", max3_f16), V("min3_num_f16", min3_f16), V("max3_num_f16", max3_f16), V("med3_f16", med3_f16), V("med3_num_f16", med3_f16),
    V("floor_f16", floor_f16), V("ceil_f16", ceil_f16), V("trunc_f16", trunc_f16), V("rndne_f16", rndne_f16), V("fract_f16", fract_f16),
    VT("rcp_f16", rcp_f16), VT("rsq_f16", rsq_f16), VT("sqrt_f16", sqrt_f16), VT("exp_f16", exp_f16), VT("log_f16", log_f16),
    VT("sin_f16", sin_f16), VT("cos_f16", cos_f16), V("frexp_mant_f16", frexp_mant_f16), V("frexp_exp_i16_f16", frexp_exp_f16),
    V("ldexp_f16", ldexp_f16), V("cvt_i32_f32", cvt_i32_f32), V("cvt_u32_f32", cvt_u32_f32), V("cvt_rpi_i32_f32", cvt_nearest_i32_f32),
    V("cvt_nearest_i32_f32", cvt_nearest_i32_f32), V("cvt_flr_i32_f32", cvt_floor_i32_f32), V("cvt_floor_i32_f32", cvt_floor_i32_f32),
    V("cvt_f32_i32", cvt_f32_i32), V("cvt_f32_u32", cvt_f32_u32), V("cvt_f64_i32", cvt_f64_i32), V("cvt_f64_u32", cvt_f64_u32),
    V("cvt_f64_f32", cvt_f64_f32), V("cvt_f16_u16", cvt_f16_u16), V("cvt_f16_i16", cvt_f16_i16), V("cvt_u16_f16", cvt_u16_f16),
    V("cvt_i16_f16", cvt_i16_f16), V("cvt_i32_i16", cvt_i32_i16), V("cvt_u32_u16", cvt_u32_u16), V("cvt_f32_f16", cvt_f32_f16),
    V("cvt_f16_f32", cvt_f16_f32), V("cvt_pkrtz_f16_f32", cvt_pkrtz), V("cvt_pk_rtz_f16_f32", cvt_pkrtz), V("cvt_f32_f64", cvt_f32_f64),
    V("cvt_i32_f64", cvt_i32_f64), V("cvt_u32_f64", cvt_u32_f64), VA("cvt_f32_ubyte0", cvt_ubyte, 0), VA("cvt_f32_ubyte1", cvt_ubyte, 1),
    VA("cvt_f32_ubyte2", cvt_ubyte, 2), VA("cvt_f32_ubyte3", cvt_ubyte, 3), VA("cvt_pk_u16_u32", cvt_pk_u16, 0),
    VA("cvt_pk_i16_i32", cvt_pk_u16, 1), V("cvt_pk_u8_f32", cvt_pk_u8),
    { NULL, NULL, 0, 0 },
};
