/* SPDX-License-Identifier: Apache-2.0
 * Minima, maxima and medians of floats: scalar, vector and packed. All work on the numbers' bits, so that a signalling NaN is still one when it
 * gets here, and follow one pair of rules: min_or_max (a NaN loses) and minimum_or_maximum (a NaN wins). */
#include "tools/gfxemu/valu.h"

struct format { uint64_t sign, inf, quiet; };
static const struct format formats[] = {        /* f16, f32, f64 */
    { 0x8000u, 0x7c00u, 0x200u }, { 0x80000000u, 0x7f800000u, 0x400000u }, { 1ull << 63, 0x7ffull << 52, 1ull << 51 },
};

static bool
is_nan(const struct format *f, uint64_t a)
{
    return (a & ~f->sign) > f->inf;
}

static bool
is_signalling(const struct format *f, uint64_t a)
{
    return is_nan(f, a) && !(a & f->quiet);
}

/* Numbers in their order, -0 before +0. */
static int64_t
key(const struct format *f, uint64_t a)
{
    int64_t size = (int64_t)(a & ~f->sign);
    return a & f->sign ? -1 - size : size;
}

/* V_MIN_F32, V_MAX_F32 and their kind. With the IEEE mode, which gfx12 lacks, a signalling NaN comes out quiet; otherwise a NaN loses. Of two,
 * gfx11 gives the first, gfx12 the first made quiet, earlier ones the second. */
static uint64_t
min_or_max(W, const struct format *f, bool max, uint64_t a, uint64_t b)
{
    if (is_nan(f, a) || is_nan(f, b)) {
        enum gfx_family family = w->group->target->family;
        if (IEEE_MODE && (is_signalling(f, a) || is_signalling(f, b)))
            return (is_signalling(f, a) ? a : b) | f->quiet;
        if (family >= GFX12 && is_nan(f, a) && is_nan(f, b))
            return a | f->quiet;
        return family >= GFX11 ? (is_nan(f, b) ? a : b) : is_nan(f, a) ? b : a;
    }
    return (key(f, a) < key(f, b)) != max ? a : b;
}

/* V_MINIMUM_F32, V_MAXIMUM_F32: a signalling NaN before a quiet one, the first before the second. */
static uint64_t
minimum_or_maximum(const struct format *f, bool max, uint64_t a, uint64_t b)
{
    if (is_signalling(f, a) || is_signalling(f, b))
        return (is_signalling(f, a) ? a : b) | f->quiet;
    if (is_nan(f, a) || is_nan(f, b))
        return is_nan(f, a) ? a : b;
    return (key(f, a) < key(f, b)) != max ? a : b;
}

static bool
equal(const struct format *f, uint64_t a, uint64_t b)
{
    return !is_nan(f, a) && !is_nan(f, b) && (a == b || !((a | b) & ~f->sign));
}

static uint64_t
median(W, const struct format *f, uint64_t a, uint64_t b, uint64_t c)
{
    if (is_nan(f, a) || is_nan(f, b) || is_nan(f, c))
        return min_or_max(w, f, false, min_or_max(w, f, false, a, b), c);
    uint64_t m = min_or_max(w, f, true, min_or_max(w, f, true, a, b), c);
    return equal(f, m, a) ? min_or_max(w, f, true, b, c) : equal(f, m, b) ? min_or_max(w, f, true, a, c) : min_or_max(w, f, true, a, b);
}

/* What a row computes: its argument, with the format in bits 4 and 5. Those from MIN3 on have three sources. */
enum { MIN, MAX, MINIMUM, MAXIMUM, MIN3, MAX3, MINIMUM3, MAXIMUM3, MED3, MINMAX, MAXMIN, MINIMUMMAXIMUM, MAXIMUMMINIMUM };
enum { F16 = 0, F32 = 16, F64 = 32 };

static uint64_t
choose(W, I, uint64_t a, uint64_t b, uint64_t c)
{
    const struct format *f = &formats[i->arg >> 4];
    unsigned op = i->arg & 15;
    switch (op) {
    case MIN: case MAX: return min_or_max(w, f, op == MAX, a, b);
    case MINIMUM: case MAXIMUM: return minimum_or_maximum(f, op == MAXIMUM, a, b);
    case MIN3: case MAX3: return min_or_max(w, f, op == MAX3, min_or_max(w, f, op == MAX3, a, b), c);
    case MINIMUM3: case MAXIMUM3: return minimum_or_maximum(f, op == MAXIMUM3, minimum_or_maximum(f, op == MAXIMUM3, a, b), c);
    case MINMAX: case MAXMIN: return min_or_max(w, f, op == MINMAX, min_or_max(w, f, op == MAXMIN, a, b), c);
    case MINIMUMMAXIMUM: case MAXIMUMMINIMUM:
        return minimum_or_maximum(f, op == MINIMUMMAXIMUM, minimum_or_maximum(f, op == MAXIMUMMINIMUM, a, b), c);
    default: return median(w, f, a, b, c);
    }
}

static void
vector16(W, I)
{
    uint32_t x[3][LANES] = { { 0 } }, bits[LANES];
    float d[LANES];
    unsigned n = (i->arg & 15) >= MIN3 ? 3 : 2;
    for (unsigned k = 0; k < n; k++) {
        const struct gfx_operand *o = &i->op[k + 1];
        gfx_src32(w, i, k + 1, k, T_F16, x[k]);
        FOR x[k][l] = (x[k][l] & (o->abs ? 0x7fffu : 0xffffu)) ^ (o->neg ? 0x8000u : 0);
    }
    FOR {
        bits[l] = (uint32_t)choose(w, i, x[0][l], x[1][l], x[2][l]);
        d[l] = f16_of(bits[l]);
    }
    if (i->clamp || i->omod)
        gfx_puth(w, i, d);
    else
        gfx_put16(w, i, bits);
}

static void
vector32(W, I)
{
    float x[3][LANES] = { { 0 } }, d[LANES];
    unsigned n = (i->arg & 15) >= MIN3 ? 3 : 2;
    for (unsigned k = 0; k < n; k++)
        gfx_srcf(w, i, k + 1, k, x[k]);
    FOR d[l] = f32_of((uint32_t)choose(w, i, f32_bits(x[0][l]), f32_bits(x[1][l]), f32_bits(x[2][l])));
    gfx_putf(w, i, d);
}

static void
vector64(W, I)
{
    double x[LANES], y[LANES], d[LANES];
    gfx_srcd(w, i, 1, x);
    gfx_srcd(w, i, 2, y);
    FOR d[l] = f64_of(choose(w, i, f64_bits(x[l]), f64_bits(y[l]), 0));
    gfx_putd(w, i, d);
}

static void
scalar(W, I)
{
    uint32_t x[2];
    bool single = i->arg & F32;
    for (unsigned k = 0; k < 2; k++) {
        const struct gfx_operand *o = &i->op[k + 1];
        x[k] = o->kind == GFX_SGPR ? w->s[o->reg] : (uint32_t)gfx_constant(w, o, single ? T_F32 : T_F16);
        x[k] = !single ? x[k] & 0xffff : w->mode >> 4 & 1 ? x[k] : f32_bits(flush32(f32_of(x[k])));
    }
    uint32_t d = (uint32_t)choose(w, i, x[0], x[1], 0);
    set_s32(w, &i->op[0], !single || w->mode >> 5 & 1 ? d : f32_bits(flush32(f32_of(d))));
}

static void
packed(W, I)
{
    uint32_t lo[3][LANES] = { { 0 } }, hi[3][LANES] = { { 0 } }, d[LANES];
    for (unsigned n = 1; n < i->noperands && n <= 3; n++)
        gfx_halves(w, i, n, T_F16, lo[n - 1], hi[n - 1]);
    FOR {
        uint32_t a = (uint32_t)choose(w, i, lo[0][l], lo[1][l], lo[2][l]), b = (uint32_t)choose(w, i, hi[0][l], hi[1][l], hi[2][l]);
        d[l] = i->clamp ? gfx_clamp_half(w, a) | gfx_clamp_half(w, b) << 16 : a | b << 16;
    }
    put_reg(w, i->op[0].reg, d);
}

#define VH(name, op) VA(name "_f16", vector16, (op) | F16), VA(name "_f32", vector32, (op) | F32)
#define VHD(name, op) VH(name, op), VA(name "_f64", vector64, (op) | F64)
#define P(name, op) VA("pk_" name "_f16", packed, op)
#define S(name, op) { "s_" name "_f16", scalar, GFX_C_SALU, op }, { "s_" name "_f32", scalar, GFX_C_SALU, (op) | F32 }
const struct gfx_row gfx_minmax[] = {
    VHD("min", MIN), VHD("max", MAX), VHD("min_num", MIN), VHD("max_num", MAX), VHD("minimum", MINIMUM), VHD("maximum", MAXIMUM),
    VH("min3", MIN3), VH("max3", MAX3), VH("min3_num", MIN3), VH("max3_num", MAX3), VH("minimum3", MINIMUM3), VH("maximum3", MAXIMUM3),
    VH("med3", MED3), VH("med3_num", MED3), VH("minmax", MINMAX), VH("maxmin", MAXMIN), VH("minmax_num", MINMAX), VH("maxmin_num", MAXMIN),
    VH("minimummaximum", MINIMUMMAXIMUM), VH("maximumminimum", MAXIMUMMINIMUM), P("min", MIN), P("max", MAX), P("min_num", MIN),
    P("max_num", MAX), P("minimum", MINIMUM), P("maximum", MAXIMUM), P("minimum3", MINIMUM3), P("maximum3", MAXIMUM3), S("min", MIN),
    S("max", MAX), S("min_num", MIN), S("max_num", MAX), S("minimum", MINIMUM), S("maximum", MAXIMUM),
    { NULL, NULL, 0, 0 },
};
