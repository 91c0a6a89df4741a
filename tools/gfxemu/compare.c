/* SPDX-License-Identifier: Apache-2.0
 * v_cmp_*, v_cmpx_* of every type and relation, and the class tests. The row's argument: bits 0-3 say for which relations
 * (less, equal, greater, unordered) the result is true, bits 4-6 the type, bit 7 that the result is the execution mask. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

enum { LT = 1, EQ = 2, GT = 4, UN = 8 };
enum { I32 = 0, U32 = 1, I64 = 2, U64 = 3, I16 = 4, U16 = 5, F32 = 6, OTHER = 7 };

/* The destination, and the index of the first source: v_cmpx writes only the mask since gfx10. */
static unsigned
first_source(I)
{
    return i->noperands >= 3 ? 1 : 0;
}

static void
result(W, I, uint64_t m, bool to_exec)
{
    m &= gfx_exec_mask(w) & all_lanes(w);
    if (first_source(i))
        set_smask(w, &i->op[0], m);
    if (to_exec) {
        w->s[S_EXEC] = (uint32_t)m;
        if (w->lanes == 64)
            w->s[S_EXEC + 1] = (uint32_t)(m >> 32);
    }
}

#define FOR for (unsigned l = 0; l < w->lanes; l++)
#define RELATION(a, b) ((a) < (b) ? LT : (a) == (b) ? EQ : (a) > (b) ? GT : UN)

static void
cmp(W, I)
{
    unsigned n = first_source(i), want = i->arg & 15;
    uint64_t m = 0;
    uint32_t x[LANES], y[LANES];
    uint64_t p[LANES], q[LANES];
    switch (i->arg >> 4 & 7) {
    case I32:
        gfx_src32(w, i, n, 0, T_B32, x);
        gfx_src32(w, i, n + 1, 1, T_B32, y);
        FOR m |= (uint64_t)((RELATION((int32_t)x[l], (int32_t)y[l]) & want) != 0) << l;
        break;
    case U32:
        gfx_src32(w, i, n, 0, T_B32, x);
        gfx_src32(w, i, n + 1, 1, T_B32, y);
        FOR m |= (uint64_t)((RELATION(x[l], y[l]) & want) != 0) << l;
        break;
    case I16:
        gfx_src32(w, i, n, 0, T_B16, x);
        gfx_src32(w, i, n + 1, 1, T_B16, y);
        FOR m |= (uint64_t)((RELATION((int16_t)x[l], (int16_t)y[l]) & want) != 0) << l;
        break;
    case U16:
        gfx_src32(w, i, n, 0, T_B16, x);
        gfx_src32(w, i, n + 1, 1, T_B16, y);
        FOR m |= (uint64_t)((RELATION((uint16_t)x[l], (uint16_t)y[l]) & want) != 0) << l;
        break;
    case I64:
        gfx_src64(w, i, n, T_B64, p);
        gfx_src64(w, i, n + 1, T_B64, q);
        FOR m |= (uint64_t)((RELATION((int64_t)p[l], (int64_t)q[l]) & want) != 0) << l;
        break;
    case U64:
        gfx_src64(w, i, n, T_B64, p);
        gfx_src64(w, i, n + 1, T_B64, q);
        FOR m |= (uint64_t)((RELATION(p[l], q[l]) & want) != 0) << l;
        break;
    default:
        break;
    }
    result(w, i, m, i->arg >> 7);
}

static void
cmp_f32(W, I)
{
    float x[LANES], y[LANES];
    unsigned n = first_source(i), want = i->arg & 15;
    uint64_t m = 0;
    gfx_srcf(w, i, n, 0, x);
    gfx_srcf(w, i, n + 1, 1, y);
    FOR m |= (uint64_t)((RELATION(x[l], y[l]) & want) != 0) << l;
    result(w, i, m, i->arg >> 7);
}

static void
cmp_f16(W, I)
{
    float x[LANES], y[LANES];
    unsigned n = first_source(i), want = i->arg & 15;
    uint64_t m = 0;
    gfx_srch(w, i, n, 0, x);
    gfx_srch(w, i, n + 1, 1, y);
    FOR m |= (uint64_t)((RELATION(x[l], y[l]) & want) != 0) << l;
    result(w, i, m, i->arg >> 7);
}

static void
cmp_f64(W, I)
{
    double x[LANES], y[LANES];
    unsigned n = first_source(i), want = i->arg & 15;
    uint64_t m = 0;
    gfx_srcd(w, i, n, x);
    gfx_srcd(w, i, n + 1, y);
    FOR m |= (uint64_t)((RELATION(x[l], y[l]) & want) != 0) << l;
    result(w, i, m, i->arg >> 7);
}

/* Classes: 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -subnormal, 5 -0, 6 +0, 7 +subnormal, 8 +normal, 9 +inf. */
static unsigned
class_of(uint64_t bits, unsigned exp_bits, unsigned man_bits)
{
    uint64_t man = bits & ((1ull << man_bits) - 1), exp = bits >> man_bits & ((1ull << exp_bits) - 1);
    bool neg = bits >> (man_bits + exp_bits) & 1;
    if (exp == (1ull << exp_bits) - 1)
        return man ? (man >> (man_bits - 1) ? 1 : 0) : neg ? 2 : 9;
    if (exp)
        return neg ? 3 : 8;
    return man ? (neg ? 4 : 7) : neg ? 5 : 6;
}

static void
cmp_class(W, I)         /* arg bits 0-1: 0 f32, 1 f64, 2 f16 */
{
    unsigned n = first_source(i);
    uint64_t m = 0;
    uint32_t sel[LANES];
    gfx_src32(w, i, n + 1, 1, (i->arg & 3) == 2 ? T_B16 : T_B32, sel);
    if ((i->arg & 3) == 1) {
        double x[LANES];
        gfx_srcd(w, i, n, x);
        FOR m |= (uint64_t)(sel[l] >> class_of(f64_bits(x[l]), 11, 52) & 1) << l;
    } else {
        uint32_t x[LANES];
        bool half = (i->arg & 3) == 2;
        gfx_src32(w, i, n, 0, half ? T_F16 : T_F32, x);
        FOR {
            uint32_t top = half ? 0x8000u : 0x80000000u;
            uint32_t v = (i->op[n].abs ? x[l] & ~top : x[l]) ^ (i->op[n].neg ? top : 0);
            m |= (uint64_t)(sel[l] >> (half ? class_of(v, 5, 10) : class_of(v, 8, 23)) & 1) << l;
        }
    }
    result(w, i, m, i->arg >> 7);
}

#define ROW(name, fn, arg) { "v_cmp_" name, fn, GFX_C_VALU, (uint8_t)(arg) }, { "v_cmpx_" name, fn, GFX_C_VALU, (uint8_t)((arg) | 128) }
#define INTS(suffix, code) ROW("f_" suffix, cmp, (code) << 4), ROW("lt_" suffix, cmp, (code) << 4 | LT), ROW("eq_" suffix, cmp, (code) << 4 | EQ), \
    ROW("le_" suffix, cmp, (code) << 4 | LT | EQ), ROW("gt_" suffix, cmp, (code) << 4 | GT), ROW("ne_" suffix, cmp, (code) << 4 | LT | GT), \
    ROW("ge_" suffix, cmp, (code) << 4 | GT | EQ), ROW("t_" suffix, cmp, (code) << 4 | 15)
#define FLOATS(suffix, fn) ROW("f_" suffix, fn, 0), ROW("lt_" suffix, fn, LT), ROW("eq_" suffix, fn, EQ), ROW("le_" suffix, fn, LT | EQ), \
    ROW("gt_" suffix, fn, GT), ROW("lg_" suffix, fn, LT | GT), ROW("ge_" suffix, fn, GT | EQ), ROW("o_" suffix, fn, LT | EQ | GT), \
    ROW("u_" suffix, fn, UN), ROW("nge_" suffix, fn, LT | UN), ROW("nlg_" suffix, fn, EQ | UN), ROW("ngt_" suffix, fn, LT | EQ | UN), \
    ROW("nle_" suffix, fn, GT | UN), ROW("neq_" suffix, fn, LT | GT | UN), ROW("nlt_" suffix, fn, GT | EQ | UN), ROW("tru_" suffix, fn, 15), \
    ROW("t_" suffix, fn, 15)
const struct gfx_row gfx_compare[] = {
    INTS("i32", I32), INTS("u32", U32), INTS("i64", I64), INTS("u64", U64), INTS("i16", I16), INTS("u16", U16),
    FLOATS("f32", cmp_f32), FLOATS("f16", cmp_f16), FLOATS("f64", cmp_f64),
    ROW("class_f32", cmp_class, 0), ROW("class_f64", cmp_class, 1), ROW("class_f16", cmp_class, 2),
    { NULL, NULL, 0, 0 },
};
