/* SPDX-License-Identifier: Apache-2.0
 * Matrix instructions: MFMA (CDNA) and WMMA (RDNA3, RDNA4). A form gives shape, blocks and element types; the lane and the bits
 * that hold an element follow from the family (AMD's ISA documents and the formulas of AMD's matrix instruction calculator).
 * All lanes take part, whatever the execution mask.
 *
 * Integers are exact. AMD does not document the order of floating-point sums; docs/gfxemu.md says what is done here and from
 * which source. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

enum type { F64, F32, XF32, F16, BF16, FP8, BF8, I8, I4, I32 };

static const uint8_t type_bits[] = { [F64] = 64, [F32] = 32, [XF32] = 32, [F16] = 16, [BF16] = 16, [FP8] = 8, [BF8] = 8, [I8] = 8, [I4] = 4,
    [I32] = 32 };

struct form {
    uint8_t m, n, k, blocks, a, b, d;
    uint8_t group;              /* MFMA: products that are added before the running sum is */
};

/* Name, name on gfx940 and later (or the same), m n k, blocks, types of A B D, group. */
#define MFMA_FORMS(F) \
    F(f32_32x32x1f32, f32_32x32x1_2b_f32, 32, 32, 1, 2, F32, F32, F32, 1) \
    F(f32_16x16x1f32, f32_16x16x1_4b_f32, 16, 16, 1, 4, F32, F32, F32, 1) \
    F(f32_4x4x1f32, f32_4x4x1_16b_f32, 4, 4, 1, 16, F32, F32, F32, 1) \
    F(f32_32x32x2f32, f32_32x32x2_f32, 32, 32, 2, 1, F32, F32, F32, 1) \
    F(f32_16x16x4f32, f32_16x16x4_f32, 16, 16, 4, 1, F32, F32, F32, 1) \
    F(f32_32x32x4f16, f32_32x32x4_2b_f16, 32, 32, 4, 2, F16, F16, F32, 4) \
    F(f32_16x16x4f16, f32_16x16x4_4b_f16, 16, 16, 4, 4, F16, F16, F32, 4) \
    F(f32_4x4x4f16, f32_4x4x4_16b_f16, 4, 4, 4, 16, F16, F16, F32, 4) \
    F(f32_32x32x8f16, f32_32x32x8_f16, 32, 32, 8, 1, F16, F16, F32, 4) \
    F(f32_16x16x16f16, f32_16x16x16_f16, 16, 16, 16, 1, F16, F16, F32, 4) \
    F(f32_32x32x2bf16, f32_32x32x2bf16, 32, 32, 2, 2, BF16, BF16, F32, 2) \
    F(f32_16x16x2bf16, f32_16x16x2bf16, 16, 16, 2, 4, BF16, BF16, F32, 2) \
    F(f32_4x4x2bf16, f32_4x4x2bf16, 4, 4, 2, 16, BF16, BF16, F32, 2) \
    F(f32_32x32x4bf16, f32_32x32x4bf16, 32, 32, 4, 1, BF16, BF16, F32, 2) \
    F(f32_16x16x8bf16, f32_16x16x8bf16, 16, 16, 8, 1, BF16, BF16, F32, 2) \
    F(f32_32x32x4bf16_1k, f32_32x32x4_2b_bf16, 32, 32, 4, 2, BF16, BF16, F32, 4) \
    F(f32_16x16x4bf16_1k, f32_16x16x4_4b_bf16, 16, 16, 4, 4, BF16, BF16, F32, 4) \
    F(f32_4x4x4bf16_1k, f32_4x4x4_16b_bf16, 4, 4, 4, 16, BF16, BF16, F32, 4) \
    F(f32_32x32x8bf16_1k, f32_32x32x8_bf16, 32, 32, 8, 1, BF16, BF16, F32, 4) \
    F(f32_16x16x16bf16_1k, f32_16x16x16_bf16, 16, 16, 16, 1, BF16, BF16, F32, 4) \
    F(i32_32x32x4i8, i32_32x32x4_2b_i8, 32, 32, 4, 2, I8, I8, I32, 0) \
    F(i32_16x16x4i8, i32_16x16x4_4b_i8, 16, 16, 4, 4, I8, I8, I32, 0) \
    F(i32_4x4x4i8, i32_4x4x4_16b_i8, 4, 4, 4, 16, I8, I8, I32, 0) \
    F(i32_32x32x8i8, i32_32x32x8i8, 32, 32, 8, 1, I8, I8, I32, 0) \
    F(i32_16x16x16i8, i32_16x16x16i8, 16, 16, 16, 1, I8, I8, I32, 0) \
    F(i32_32x32x16_i8, i32_32x32x16i8, 32, 32, 16, 1, I8, I8, I32, 0) \
    F(i32_16x16x32_i8, i32_16x16x32i8, 16, 16, 32, 1, I8, I8, I32, 0) \
    F(f32_16x16x32_f16, f32_16x16x32_f16, 16, 16, 32, 1, F16, F16, F32, 4) \
    F(f32_32x32x16_f16, f32_32x32x16_f16, 32, 32, 16, 1, F16, F16, F32, 4) \
    F(f32_16x16x32_bf16, f32_16x16x32_bf16, 16, 16, 32, 1, BF16, BF16, F32, 4) \
    F(f32_32x32x16_bf16, f32_32x32x16_bf16, 32, 32, 16, 1, BF16, BF16, F32, 4) \
    F(i32_16x16x64_i8, i32_16x16x64_i8, 16, 16, 64, 1, I8, I8, I32, 0) \
    F(i32_32x32x32_i8, i32_32x32x32_i8, 32, 32, 32, 1, I8, I8, I32, 0) \
    F(f64_16x16x4f64, f64_16x16x4_f64, 16, 16, 4, 1, F64, F64, F64, 1) \
    F(f64_4x4x4f64, f64_4x4x4_4b_f64, 4, 4, 4, 4, F64, F64, F64, 1) \
    F(f32_16x16x8_xf32, f32_16x16x8xf32, 16, 16, 8, 1, XF32, XF32, F32, 4) \
    F(f32_32x32x4_xf32, f32_32x32x4xf32, 32, 32, 4, 1, XF32, XF32, F32, 4) \
    F(f32_16x16x32_fp8_fp8, f32_16x16x32_fp8_fp8, 16, 16, 32, 1, FP8, FP8, F32, 16) \
    F(f32_16x16x32_fp8_bf8, f32_16x16x32_fp8_bf8, 16, 16, 32, 1, FP8, BF8, F32, 16) \
    F(f32_16x16x32_bf8_fp8, f32_16x16x32_bf8_fp8, 16, 16, 32, 1, BF8, FP8, F32, 16) \
    F(f32_16x16x32_bf8_bf8, f32_16x16x32_bf8_bf8, 16, 16, 32, 1, BF8, BF8, F32, 16) \
    F(f32_32x32x16_fp8_fp8, f32_32x32x16_fp8_fp8, 32, 32, 16, 1, FP8, FP8, F32, 16) \
    F(f32_32x32x16_fp8_bf8, f32_32x32x16_fp8_bf8, 32, 32, 16, 1, FP8, BF8, F32, 16) \
    F(f32_32x32x16_bf8_fp8, f32_32x32x16_bf8_fp8, 32, 32, 16, 1, BF8, FP8, F32, 16) \
    F(f32_32x32x16_bf8_bf8, f32_32x32x16_bf8_bf8, 32, 32, 16, 1, BF8, BF8, F32, 16)

#define WMMA_FORMS(F) \
    F(f32_16x16x16_f16, 16, F16, F16, F32) F(f32_16x16x16_bf16, 16, BF16, BF16, F32) F(f16_16x16x16_f16, 16, F16, F16, F16) \
    F(bf16_16x16x16_bf16, 16, BF16, BF16, BF16) F(i32_16x16x16_iu8, 16, I8, I8, I32) F(i32_16x16x16_iu4, 16, I4, I4, I32) \
    F(i32_16x16x32_iu4, 32, I4, I4, I32) F(f32_16x16x16_fp8_fp8, 16, FP8, FP8, F32) F(f32_16x16x16_fp8_bf8, 16, FP8, BF8, F32) \
    F(f32_16x16x16_bf8_fp8, 16, BF8, FP8, F32) F(f32_16x16x16_bf8_bf8, 16, BF8, BF8, F32)

static const struct form mfma_forms[] = {
#define F(name, other, m, n, k, blocks, a, b, d, group) { m, n, k, blocks, a, b, d, group },
    MFMA_FORMS(F)
#undef F
};
static const struct form wmma_forms[] = {
#define F(name, k, a, b, d) { 16, 16, k, 1, a, b, d, 0 },
    WMMA_FORMS(F)
#undef F
};

enum { MAX_SIDE = 32 * 32 * 2, MAX_D = 32 * 32 * 2 };   /* elements of all blocks */

union number {
    double  d;                  /* f64 */
    float   f;                  /* every narrower float: exact */
    int32_t i;
};

/* ---- where elements are --------------------------------------------------------------------------------------------- */

struct place {
    unsigned lane, bit;         /* bit: from the operand's first register on */
};

/* Row i of A (column i of B), element k. */
static struct place
place_in(W, const struct form *f, unsigned bits, unsigned block, unsigned i, unsigned k)
{
    enum gfx_family family = w->group->target->family;
    unsigned each, h;
    if (family < GFX10) {       /* each lane has k of one row that follow each other */
        each = f->m * f->k * f->blocks / 64;
        return (struct place){ f->m * block + f->m * f->blocks * (k / each) + i, k % each * bits };
    }
    if (family == GFX11)        /* whole rows, in every 16 lanes again */
        return (struct place){ i, k * bits };
    if (w->lanes == 64 && !(bits == 4 && f->k == 16)) {
        each = f->k / 4;
        h = k / each;           /* quarter: 16 bits 0 1 2 3 -> 0 16 32 48; narrower ones 0 32 16 48 */
        return (struct place){ (bits == 16 ? 16 * h : 32 * (h & 1) + 16 * (h >> 1)) + i, k % each * bits };
    }
    if (bits == 16)             /* fours of k alternate between the halves of the wave */
        return (struct place){ 16 * (k / 4 % 2) + i, (4 * (k / 8) + k % 4) * bits };
    each = f->k / 2;
    return (struct place){ 16 * (k / each) + i, k % each * bits };
}

static struct place
place_out(W, I, const struct form *f, unsigned block, unsigned r, unsigned c)
{
    enum gfx_family family = w->group->target->family;
    unsigned rows = w->lanes / 16;
    if (f->d == F64)
        return (struct place){ 16 * (r % 4) + (f->m == 4 ? 4 * block : 0) + c, f->m == 4 ? 0 : r / 4 * 64 };
    if (family < GFX10) {
        if (f->m == 4)
            return (struct place){ 4 * block + c, r * 32 };
        if (f->m == 16)
            return (struct place){ 16 * (r / 4) + c, (4 * block + r % 4) * 32 };
        return (struct place){ 32 * (r / 4 % 2) + c, (16 * block + 4 * (r / 8) + r % 4) * 32 };
    }
    if (family == GFX11)        /* 16-bit results: one half of the registers, the third op_sel says which */
        return (struct place){ 16 * (r % rows) + c, r / rows * 32 + (f->d != F32 && f->d != I32 ? (i->op_sel >> 2 & 1) * 16 : 0) };
    unsigned bits = type_bits[f->d];
    if (w->lanes == 64)
        return (struct place){ 32 * (r / 4 % 2) + 16 * (r / 8) + c, r % 4 * bits };
    return (struct place){ 16 * (r / 8) + c, r % 8 * bits };
}

/* ---- numbers --------------------------------------------------------------------------------------------------------- */

/* gfx942's 8-bit floats have biases 8 and 16, one zero and one NaN (0x80); gfx950's and gfx12's are the Open Compute Project's. */
static float
f8_of(W, uint32_t x, bool bf8)
{
    bool fnuz = w->group->target->family == GFX940;
    unsigned m = bf8 ? 2 : 3, e = x >> m & ((1u << (7 - m)) - 1), man = x & ((1u << m) - 1), top = (1u << (7 - m)) - 1;
    int bias = (bf8 ? 15 : 7) + fnuz;
    if (fnuz ? x == 0x80 : bf8 ? e == top && man : e == top && man == 7)
        return f32_of(0x7fc00000u);
    if (!fnuz && bf8 && e == top)
        return x & 0x80 ? -INFINITY : INFINITY;
    float v = e ? ldexpf((float)(man | 1u << m), (int)e - bias - (int)m) : ldexpf((float)man, 1 - bias - (int)m);
    return x & 0x80 ? -v : v;
}

static union number
number_of(W, enum type t, uint64_t bits, bool is_signed)
{
    union number v = { .d = 0 };
    switch (t) {
    case F64: v.d = f64_of(bits); break;
    case F32: v.f = f32_of((uint32_t)bits); break;
    case XF32: v.f = f32_of((uint32_t)bits & ~0x1fffu); break;
    case F16: v.f = f16_of((uint32_t)bits); break;
    case BF16: v.f = f32_of((uint32_t)bits << 16); break;
    case FP8: case BF8: v.f = f8_of(w, (uint32_t)bits, t == BF8); break;
    case I8: v.i = is_signed ? (int8_t)bits : (int32_t)bits; break;
    case I4: v.i = is_signed && bits & 8 ? (int32_t)bits - 16 : (int32_t)bits; break;
    case I32: v.i = (int32_t)bits; break;
    }
    return v;
}

static uint64_t
bits_at(W, unsigned reg, struct place p, unsigned bits)
{
    uint64_t x = w->v[reg + p.bit / 32][p.lane];
    if (bits == 64)
        return x | (uint64_t)w->v[reg + p.bit / 32 + 1][p.lane] << 32;
    return x >> p.bit % 32 & ((1ull << bits) - 1);
}

static uint16_t
bf16_bits(float f)      /* to nearest even */
{
    uint32_t x = f32_bits(f);
    return isnan(f) ? (uint16_t)(x >> 16 | 0x40) : (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

static float
one_nan(float f)
{
    return isnan(f) ? f32_of(0x7fc00000u) : f;
}

/* ---- sums of products -------------------------------------------------------------------------------------------------- */

static float
chain(const union number *a, const union number *b, unsigned k, float c)
{
    for (unsigned i = 0; i < k; i++)
        c = fmaf(a[i].f, b[i].f, c);
    return one_nan(c);
}

/* gfx908, gfx90a: the products of a group are added in pairs, then to the sum, each step rounded; gfx90a flushes denormals. */
static float
pairs(const union number *a, const union number *b, unsigned n, bool flush)
{
    float s = n == 1 ? a->f * b->f : pairs(a, b, n / 2, flush) + pairs(a + n / 2, b + n / 2, n - n / 2, flush);
    return flush ? flush32(s) : s;
}

static int
exponent_of(float f, int least)     /* of the significand in [1, 2); denormals have the smallest normal one's, zero -126 */
{
    int e;
    if (f == 0)
        return -126;
    frexpf(f, &e);
    return e - 1 < least ? least : e - 1;
}

static int
least_exponent(enum type t)
{
    return t == F16 ? -14 : t == FP8 ? -7 : t == BF8 ? -15 : -126;
}

struct cut {
    double sum;                 /* in units of 2^(exponent - 24) */
    int exponent;
};

/* gfx942: every `step`-th product, truncated 24 bits below the largest exponent. */
static struct cut
cut_sum(const struct form *f, const union number *a, const union number *b, unsigned first, unsigned n, unsigned step)
{
    struct cut c = { 0, -100000 };
    int e[32];
    for (unsigned i = first; i < n; i += step) {
        e[i] = exponent_of(a[i].f, least_exponent(f->a)) + exponent_of(b[i].f, least_exponent(f->b));
        if (e[i] > c.exponent)
            c.exponent = e[i];
    }
    for (unsigned i = first; i < n; i += step)
        c.sum += trunc(ldexp((double)a[i].f * (double)b[i].f, 24 - c.exponent));
    return c;
}

static float
fused(const struct form *f, const union number *a, const union number *b, unsigned n, float c)
{
    double plain = (double)c;
    bool plus = false, minus = false;
    for (unsigned i = 0; i < n; i++) {
        double p = (double)a[i].f * (double)b[i].f;
        plain += p;
        plus |= p >= 0x1p128;
        minus |= p <= -0x1p128;
    }
    if (!isfinite(plain))
        return one_nan((float)plain);
    if (plus || minus)
        return plus && minus ? one_nan(NAN) : plus ? INFINITY : -INFINITY;
    bool bytes = f->a == FP8 || f->a == BF8;
    struct cut s = cut_sum(f, a, b, 0, n, bytes ? 2 : 1);
    if (bytes) {                /* even and odd ones apart */
        struct cut t = cut_sum(f, a, b, 1, n, 2);
        int top = s.exponent > t.exponent ? s.exponent : t.exponent;
        s.sum = floor(ldexp(s.sum, s.exponent - top)) + floor(ldexp(t.sum, t.exponent - top));
        s.exponent = top;
    }
    int ec = exponent_of(c, -126), top = s.exponent > ec ? s.exponent : ec;
    double products = floor(ldexp(s.sum, 7 + s.exponent - top));       /* 31 bits below the top */
    double old = bytes && ec < top - 25 ? 0 : floor(ldexp((double)c, 24 - top));
    return (float)ldexp(products + ldexp(old, 7), top - 31);
}

static float
dot_mfma(W, const struct form *f, const union number *a, const union number *b, float c)
{
    enum gfx_family family = w->group->target->family;
    if (f->a == F32)
        return chain(a, b, f->k, c);
    bool flush = family == GFX90A;
    unsigned group = family >= GFX940 && f->group == 4 && f->a != XF32 ? f->k < 8 ? f->k : 8 : f->group;
    if (flush)
        c = flush32(c);
    for (unsigned k = 0; k < f->k; k += group) {
        if (family >= GFX940) {
            c = fused(f, a + k, b + k, group, c);
            continue;
        }
        c = c + pairs(a + k, b + k, group, flush);
        if (flush)
            c = flush32(c);
    }
    return one_nan(c);
}

static double
dot_f64(const union number *a, const union number *b, unsigned k, double c)
{
    for (unsigned i = 0; i < k; i++)
        c = fma(a[i].d, b[i].d, c);
    return isnan(c) ? f64_of(0x7ff8ull << 48) : c;
}

static uint32_t
dot_int(I, const union number *a, const union number *b, unsigned k, int32_t c)
{
    int64_t s = c;
    for (unsigned n = 0; n < k; n++)
        s += (int64_t)a[n].i * b[n].i;
    if (i->clamp)
        s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
    return (uint32_t)s;
}

/* ---- instructions ---------------------------------------------------------------------------------------------------------- */

/* The lane that B comes from under BLGP: broadcasts of halves or quarters of the wave, or a rotation. */
static unsigned
b_lane(unsigned lane, unsigned blgp)
{
    switch (blgp) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4: case 5: case 6: case 7: return lane % 16 + 16 * (blgp - 4);
    default: return lane;
    }
}

/* NEG of float WMMA: neg_lo for even k, neg_hi for odd ones. Of C: neg_lo negates, neg_hi takes the size. Of f64 MFMA: neg. */
static void
negate(I, const struct form *f, unsigned source, unsigned k, union number *v)
{
    if (f->d == F64) {
        if (i->neg_lo >> source & 1)
            v->d = -v->d;
    } else if (source == 2) {
        if (i->neg_hi & 4)
            v->f = fabsf(v->f);
        if (i->neg_lo & 4)
            v->f = -v->f;
    } else if ((k & 1 ? i->neg_hi : i->neg_lo) >> source & 1) {
        v->f = -v->f;
    }
}

static void
fetch_side(W, I, const struct form *f, bool is_b, bool wmma, union number *out)
{
    const struct gfx_operand *o = &i->op[is_b ? 2 : 1];
    enum type t = is_b ? f->b : f->a;
    unsigned bits = type_bits[t], rows = is_b ? f->n : f->m;
    bool integer = t == I8 || t == I4, is_signed = wmma ? i->neg_lo >> is_b & 1 : true;
    bool flush = !wmma && t != F32 && w->group->target->family == GFX90A;
    for (unsigned block = 0; block < f->blocks; block++)
        for (unsigned r = 0; r < rows; r++)
            for (unsigned k = 0; k < f->k; k++) {
                /* A block beyond the last one is reserved: the number wraps around. */
                unsigned from = !is_b && i->cbsz && f->blocks > 1 ? ((block & ~((1u << i->cbsz) - 1)) + i->abid) % f->blocks : block;
                struct place p = place_in(w, f, bits, from, r, k);
                if (is_b && !wmma && f->d != F64)
                    p.lane = b_lane(p.lane, i->blgp);
                union number v = number_of(w, t, bits_at(w, o->reg, p, bits), is_signed);
                if (!integer)
                    negate(i, f, is_b, k, &v);
                if (flush && t == F16)
                    v.f = fabsf(v.f) < 0x1p-14f ? 0 : v.f;
                else if (flush && t == BF16)
                    v.f = flush32(v.f);
                out[(block * rows + r) * f->k + k] = v;
            }
}

static union number
fetch_c(W, I, const struct form *f, struct place p)
{
    const struct gfx_operand *o = &i->op[3];
    unsigned bits = type_bits[f->d];
    uint64_t x;
    if (o->kind == GFX_VGPR)
        x = bits_at(w, o->reg, p, bits);
    else if (f->d == BF16)
        x = gfx_constant(w, o, T_F32) >> 16;
    else
        x = gfx_constant(w, o, f->d == F64 ? T_F64 : f->d == F16 ? T_F16 : f->d == I32 ? T_B32 : T_F32);
    union number v = number_of(w, (enum type)f->d, x, true);
    if (f->d != I32)
        negate(i, f, 2, 0, &v);
    return v;
}

static void
store(W, I, const struct form *f, struct place p, union number v)
{
    unsigned reg = i->op[0].reg + p.bit / 32;
    uint32_t *d = &w->v[reg][p.lane];
    w->written[reg] |= 1ull << p.lane;
    if (f->d == F64) {
        *d = (uint32_t)f64_bits(v.d);
        w->v[reg + 1][p.lane] = (uint32_t)(f64_bits(v.d) >> 32);
        w->written[reg + 1] |= 1ull << p.lane;
    } else if (f->d == F16 || f->d == BF16) {
        uint32_t h = f->d == F16 ? f16_bits(v.f) : bf16_bits(v.f);
        *d = (*d & ~(0xffffu << p.bit % 32)) | h << p.bit % 32;
    } else {
        *d = f->d == I32 ? (uint32_t)v.i : f32_bits(v.f);
    }
}

static void
matrix(W, I, const struct form *f, bool wmma)
{
    union number a[MAX_SIDE], b[MAX_SIDE], d[MAX_D];
    if (i->op[1].kind != GFX_VGPR || i->op[2].kind != GFX_VGPR || i->op[0].kind != GFX_VGPR || i->noperands < 4) {
        gfx_fault(w, FAULT_INSTRUCTION, "%s: operands that are not known", i->text);
        return;
    }
    fetch_side(w, i, f, false, wmma, a);
    fetch_side(w, i, f, true, wmma, b);
    for (unsigned block = 0, at = 0; block < f->blocks; block++)
        for (unsigned r = 0; r < f->m; r++)
            for (unsigned c = 0; c < f->n; c++, at++) {
                const union number *x = a + (block * f->m + r) * f->k, *y = b + (block * f->n + c) * f->k;
                union number s = fetch_c(w, i, f, place_out(w, i, f, block, r, c));
                if (f->d == F64)
                    s.d = dot_f64(x, y, f->k, s.d);
                else if (f->d == I32)
                    s.i = (int32_t)dot_int(i, x, y, f->k, s.i);
                else
                    s.f = wmma ? chain(x, y, f->k, s.f) : dot_mfma(w, f, x, y, s.f);
                d[at] = s;
            }
    for (unsigned block = 0, at = 0; block < f->blocks; block++)
        for (unsigned r = 0; r < f->m; r++)
            for (unsigned c = 0; c < f->n; c++, at++)
                store(w, i, f, place_out(w, i, f, block, r, c), d[at]);
}

static void
mfma(W, I)
{
    matrix(w, i, &mfma_forms[i->arg], false);
}

static void
wmma(W, I)
{
    matrix(w, i, &wmma_forms[i->arg], true);
}

enum {
#define F(name, other, m, n, k, blocks, a, b, d, group) MFMA_##name,
    MFMA_FORMS(F)
#undef F
};
enum {
#define F(name, k, a, b, d) WMMA_##name,
    WMMA_FORMS(F)
#undef F
};

const struct gfx_row gfx_matrix[] = {
#define F(name, other, m, n, k, blocks, a, b, d, group) \
    { "v_mfma_" #name, mfma, GFX_C_MATRIX, MFMA_##name }, { "v_mfma_" #other, mfma, GFX_C_MATRIX, MFMA_##name },
    MFMA_FORMS(F)
#undef F
#define F(name, k, a, b, d) { "v_wmma_" #name, wmma, GFX_C_MATRIX, WMMA_##name },
    WMMA_FORMS(F)
#undef F
    { NULL, NULL, 0, 0 },
};
