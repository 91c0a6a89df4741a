/* SPDX-License-Identifier: Apache-2.0
 * Shared by the vector ALU's files (valu_*.c): VOP1, VOP2, VOP3 and their DPP, SDWA and dual forms. Comparisons are in compare.c, packed and
 * matrix instructions in vop3p.c and matrix.c. */
#ifndef GFX_VALU_H
#define GFX_VALU_H

#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

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

/* In it, min and max of a signalling NaN give it back, quiet (minmax.c), and output modifiers do nothing (lanes.c). gfx12 has none. */
#define IEEE_MODE (w->mode & 0x200 && w->group->target->family < GFX12)

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
/* Sources of 32 bits, a result of 16. */
#define S3W(name, expr) static void name(W, I) { struct gfx_insn plain = *i; plain.op_sel &= 8; uint32_t x[LANES], y[LANES], z[LANES], d[LANES]; \
    gfx_src32(w, &plain, 1, 0, T_B32, x); gfx_src32(w, &plain, 2, 1, T_B32, y); gfx_src32(w, &plain, 3, 2, T_B32, z); \
    FOR { uint32_t a = x[l], b = y[l], c = z[l]; d[l] = (uint32_t)(expr); } gfx_put16(w, &plain, d); }
/* 32-bit shift amount, 64-bit value. */
#define Q2(name, expr) static void name(W, I) { uint32_t x[LANES]; uint64_t y[LANES], d[LANES]; gfx_src32(w, i, 1, 0, T_B32, x); \
    gfx_src64(w, i, 2, T_B64, y); FOR { uint32_t a = x[l]; uint64_t b = y[l]; d[l] = (uint64_t)(expr); } gfx_put64(w, i, d); }
/* Both 64-bit. */
#define QQ(name, expr) static void name(W, I) { uint64_t x[LANES], y[LANES], d[LANES]; gfx_src64(w, i, 1, T_B64, x); \
    gfx_src64(w, i, 2, T_B64, y); FOR { uint64_t a = x[l], b = y[l]; d[l] = (uint64_t)(expr); } gfx_put64(w, i, d); }

#define SI(x) ((int32_t)(x))
#define SH(x) ((int32_t)(int16_t)(x))
#define S24(x) ((int32_t)((x) << 8) >> 8)

static inline int
sat16(int x)
{
    return x > 32767 ? 32767 : x < -32768 ? -32768 : x;
}

/* ---- rows of the tables ---- */

#define V(name, fn) { "v_" name, fn, GFX_C_VALU, 0 }
#define VA(name, fn, arg) { "v_" name, fn, GFX_C_VALU, arg }
#define VT(name, fn) { "v_" name, fn, GFX_C_TRANS, 0 }

#endif
