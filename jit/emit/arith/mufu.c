/* SPDX-License-Identifier: Apache-2.0
 * The special function unit: tables and quadratic interpolation, as in Oberman & Siu, "A High-Performance Area-Efficient Multifunction
 * Interpolator" (ARITH 2005). The operand's upper bits choose a segment with three coefficients; the lower bits x give (c0 << a) + c1 x +
 * (c2 sq(x) << c) + constant, where sq drops the low columns of the square; the sum is truncated. Each function becomes one internal
 * function of the module, which the optimiser may inline. All arithmetic is exact integer arithmetic (or on integers in f64), so that every
 * target computes the same bits. */
#include "jit/emit/arith/mufu_private.h"
#include "jit/emit/emit_private.h"
#include "jit/emit/arith/mufu_tables.h"

#include <stdio.h>

static V
shl_k(struct emit *e, V a, unsigned n)
{
    return v_shl(e, a, k_int(e, a, n));
}

static V
lshr_k(struct emit *e, V a, unsigned n)
{
    return v_lshr(e, a, k_int(e, a, n));
}

static V
ashr_k(struct emit *e, V a, unsigned n)
{
    return v_ashr(e, a, k_int(e, a, n));
}

static V
and_k(struct emit *e, V a, uint64_t mask)
{
    return v_and(e, a, k_int(e, a, mask));
}

static V
add_k(struct emit *e, V a, int64_t k)
{
    return v_add(e, a, k_int(e, a, (uint64_t)k));
}

static V
rsub_k(struct emit *e, int64_t k, V a)
{
    return v_sub(e, k_int(e, a, (uint64_t)k), a);
}

static V
cmp_k(struct emit *e, LLVMIntPredicate p, V a, uint64_t k)
{
    return emit_icmp(e, p, a, k_int(e, a, k));
}

/* ---- tables ------------------------------------------------------------------------------------------------------------ */

static V
words(struct emit *e, const char *name, const uint32_t *value, unsigned n)
{
    V g = LLVMGetNamedGlobal(e->module, name);
    return g ? g : emit_constant(e, name, value, n * (unsigned)sizeof *value, 64, LLVMInternalLinkage);
}

/* The word at index (i32, either shape, in range), or the pair of words as an i64. */
static V
table_load(struct emit *e, V table, V index, LLVMTypeRef t)
{
    V at = LLVMBuildGEP2(e->b, t, table, &index, 1, "");

    if (!emit_is_vector(index))
        return LLVMBuildLoad2(e->b, t, at, "");
    return emit_gather(e, at, t, 4);
}

static V
shuffle(struct emit *e, V a, V b, const uint8_t *from, unsigned n)
{
    V index[EMIT_MAX_WIDTH];

    for (unsigned i = 0; i < n; i++)
        index[i] = LLVMConstInt(e->i32, from[i], false);
    return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(index, n), "");
}

/* Pairs of words for eight lanes at a time, loaded one by one: on x86 faster than gather instructions, and than LLVM's expansion of a
 * gather. */
static void
load_pairs(struct emit *e, V table, V index, V *w0, V *w1)
{
    static const uint8_t even[] = { 0, 2, 8, 10, 4, 6, 12, 14 }, odd[] = { 1, 3, 9, 11, 5, 7, 13, 15 };
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(index));
    LLVMTypeRef d8 = LLVMVectorType(e->i32, 8), f4 = LLVMVectorType(e->f64, 4);
    V out[2][EMIT_MAX_WIDTH / 8], two = LLVMBuildBitCast(e->b, index, LLVMVectorType(e->i64, n / 2), "");

    for (unsigned i = 0; i < n / 8; i++) {
        V half[2] = { LLVMGetPoison(f4), LLVMGetPoison(f4) };       /* lanes 0 1 4 5, 2 3 6 7: the order for vshufps */
        for (unsigned k = 0; k < 8; k++) {
            V both = LLVMBuildExtractElement(e->b, two, LLVMConstInt(e->i32, 4 * i + k / 2, false), "");
            V at = k & 1 ? lshr_k(e, both, 32) : and_k(e, both, UINT32_MAX);
            V pair = LLVMBuildLoad2(e->b, e->f64, LLVMBuildGEP2(e->b, e->f64, table, &at, 1, ""), "");
            V *h = &half[k >> 1 & 1];
            *h = LLVMBuildInsertElement(e->b, *h, pair, LLVMConstInt(e->i32, k / 4 * 2 + (k & 1), false), "");
        }
        for (unsigned h = 0; h < 2; h++)
            half[h] = LLVMBuildBitCast(e->b, half[h], d8, "");
        out[0][i] = shuffle(e, half[0], half[1], even, 8);
        out[1][i] = shuffle(e, half[0], half[1], odd, 8);
    }
    for (unsigned w = 0; w < 2; w++) {
        for (unsigned m = n / 8, size = 8; m > 1; m /= 2, size *= 2) {      /* join neighbours */
            uint8_t lanes[EMIT_MAX_WIDTH];
            for (unsigned k = 0; k < 2 * size; k++)
                lanes[k] = (uint8_t)k;
            for (unsigned i = 0; i < m / 2; i++)
                out[w][i] = shuffle(e, out[w][2 * i], out[w][2 * i + 1], lanes, 2 * size);
        }
    }
    *w0 = out[0][0];
    *w1 = out[1][0];
}

/* AVX-512 keeps the table in registers or as memory operands: one instruction looks up 16 lanes in 32 words. */
static bool
has_permutations(struct emit *e, unsigned n)
{
    return e->features & EMIT_FEATURE_PERMUTE && n >= 16 && n <= EMIT_MAX_WIDTH && !(n & (n - 1));
}

/* Word `which` of the segments that 16 lanes of `index` select. */
static V
permuted(struct emit *e, const struct mufu_table *t, unsigned which, V index)
{
    V found[MUFU_MAX_SEGMENTS / 32];
    unsigned n = t->segments <= 64 ? 2 : 4;

    for (unsigned i = 0; i < n; i++) {
        V half[2];
        for (unsigned h = 0; h < 2; h++) {
            V word[16];
            for (unsigned k = 0, at = 32 * i + 16 * h; k < 16; k++, at++)
                word[k] = LLVMConstInt(e->i32, at < t->segments ? t->coefficients[at][which] : 0, false);
            half[h] = LLVMConstVector(word, 16);
        }
        found[i] = emit_intrinsic_of(e, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, VALUES(half[0], index, half[1]));
    }
    for (unsigned bit = 32; n > 1; n /= 2, bit *= 2) {
        V upper = cmp_k(e, LLVMIntNE, and_k(e, index, bit), 0);
        for (unsigned i = 0; i < n / 2; i++)
            found[i] = v_sel(e, upper, found[2 * i + 1], found[2 * i]);
    }
    return found[0];
}

static void
permute_pairs(struct emit *e, const struct mufu_table *t, V index, V *w0, V *w1)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(index));
    uint8_t lanes[EMIT_MAX_WIDTH];

    for (unsigned i = 0; i < EMIT_MAX_WIDTH; i++)
        lanes[i] = (uint8_t)i;
    if (n == 16) {
        *w0 = permuted(e, t, 0, index), *w1 = permuted(e, t, 1, index);
        return;
    }
    V half[2] = { shuffle(e, index, index, lanes, 16), shuffle(e, index, index, lanes + 16, 16) };
    *w0 = shuffle(e, permuted(e, t, 0, half[0]), permuted(e, t, 0, half[1]), lanes, 32);
    *w1 = shuffle(e, permuted(e, t, 1, half[0]), permuted(e, t, 1, half[1]), lanes, 32);
}

struct segment {
    V c0, c1, c2;       /* i32, magnitudes */
};

static struct segment
segment_load(struct emit *e, const struct mufu_table *t, V index)
{
    unsigned n = emit_is_vector(index) ? LLVMGetVectorSize(LLVMTypeOf(index)) : 1;
    V w0, w1, table;

    if (has_permutations(e, n)) {
        permute_pairs(e, t, index, &w0, &w1);
        return (struct segment){ w0, and_k(e, w1, 0xffff), lshr_k(e, w1, 16) };
    }
    table = words(e, t->name, t->coefficients[0], 2 * t->segments);
    if (n >= 8 && n <= EMIT_MAX_WIDTH && !(n & (n - 1))) {
        load_pairs(e, table, index, &w0, &w1);
    } else {
        V pair = table_load(e, table, index, e->i64);       /* little-endian, as all targets are */
        w0 = emit_resize(e, pair, e->i32, false);
        w1 = emit_resize(e, lshr_k(e, pair, 32), e->i32, false);
    }
    return (struct segment){ w0, and_k(e, w1, 0xffff), lshr_k(e, w1, 16) };
}

/* The upper halves of 16-bit products, in each half of 32-bit lanes. */
static V
upper(struct emit *e, V a, V b)
{
    unsigned n = 2 * LLVMGetVectorSize(LLVMTypeOf(a));
    LLVMTypeRef half = LLVMVectorType(e->i16, n), wide = LLVMVectorType(e->i32, n), back = LLVMTypeOf(a);
    V x = LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, a, half, ""), wide, "");
    V y = LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, b, half, ""), wide, "");
    return LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, lshr_k(e, v_mul(e, x, y), 16), half, ""), back, "");
}

/* The unit's squarer for 17 bits sums the partial products in columns 18 and up and halves the sum: x^2 / 2^19, or up to 8 less. v is x / 2
 * (16 bits): the lowest bit reaches no such column. With v = 256 h + l: h^2 is complete, l^2 is dropped, and each bit p of h adds the mixed
 * product 2^p l without its low eight bits. */
static V
square_half(struct emit *e, V v)
{
    if (!emit_is_vector(v)) {
        V h = lshr_k(e, v, 8), l = and_k(e, v, 255), s = lshr_k(e, v_mul(e, h, h), 1);
        for (unsigned p = 1; p <= 7; p++)
            s = v_add(e, s, lshr_k(e, v_mul(e, and_k(e, h, 1u << p), l), 8));
        return s;
    }
    /* Four products cover the mixed ones (target/amdgcn/mufu.c says why they are exact): two at a time, one in each half of the lane. */
    V d = v_or(e, v, shl_k(e, v, 16)), h = lshr_k(e, v, 8);
    V sum = v_add(e, upper(e, and_k(e, d, 0x0c000200), and_k(e, d, 0x00e00080)), upper(e, and_k(e, d, 0xc0003000), and_k(e, d, 0x00fe00f8)));
    return v_add(e, lshr_k(e, v_mul(e, h, h), 1), v_add(e, and_k(e, sum, 0xffff), lshr_k(e, sum, 16)));
}

static V
square(struct emit *e, V x)
{
    return square_half(e, lshr_k(e, x, 1));
}

/* ---- functions --------------------------------------------------------------------------------------------------------- */

/* A function of the unit. For operands whose bits (without the sign if `magnitude`) are in first .. first + count - 1, `core` suffices. If
 * a lane has another one, `prepare` (if any) makes the core's operand p from the bits b, and `finish` makes the result from the core's r. */
struct function {
    const char *name;
    const struct mufu_table *table;
    V (*core)(struct emit *, V p);
    V (*finish)(struct emit *, V b, V p, V r);      /* NULL: core handles every operand */
    V (*prepare)(struct emit *, V b);
    uint32_t first, count;
    bool magnitude;
};

/* f(x) as an internal function of the module, shared by all uses in this shape. */
static V
shared(struct emit *e, const struct function *f, V x)
{
    char name[64];
    LLVMTypeRef type = LLVMTypeOf(x), ft = LLVMFunctionType(type, &type, 1, false);

    snprintf(name, sizeof name, "mufu.%s.%u", f->name, emit_is_vector(x) ? LLVMGetVectorSize(type) : 1);
    V fn = LLVMGetNamedFunction(e->module, name);
    if (fn)
        return LLVMBuildCall2(e->b, ft, fn, &x, 1, "");
    fn = LLVMAddFunction(e->module, name, ft);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), entry = LLVMAppendBasicBlockInContext(e->llvm, fn, "");
    LLVMPositionBuilderAtEnd(e->b, entry);
    V b = LLVMGetParam(fn, 0), p = b;
    if (!f->finish) {
        LLVMBuildRet(e->b, f->core(e, p));
    } else {
        V at = f->magnitude ? and_k(e, b, 0x7fffffff) : b;
        V out = cmp_k(e, LLVMIntUGE, v_sub(e, at, k_int(e, at, f->first)), f->count);
        if (emit_is_vector(out))
            out = v_call1(e, "llvm.vector.reduce.or", out);
        if (f->prepare) {
            LLVMBasicBlockRef from[2] = { entry, LLVMAppendBasicBlockInContext(e->llvm, fn, "prepare") };
            LLVMBasicBlockRef core = LLVMAppendBasicBlockInContext(e->llvm, fn, "core");
            LLVMBuildCondBr(e->b, out, from[1], core);
            LLVMPositionBuilderAtEnd(e->b, from[1]);
            V in[2] = { b, f->prepare(e, b) };
            LLVMBuildBr(e->b, core);
            LLVMPositionBuilderAtEnd(e->b, core);
            p = LLVMBuildPhi(e->b, type, "");
            LLVMAddIncoming(p, in, from, 2);
        }
        V r = f->core(e, p);
        LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->llvm, fn, "done"), rest = LLVMAppendBasicBlockInContext(e->llvm, fn, "finish");
        LLVMBuildCondBr(e->b, out, rest, done);
        LLVMPositionBuilderAtEnd(e->b, done);
        LLVMBuildRet(e->b, r);
        LLVMPositionBuilderAtEnd(e->b, rest);
        LLVMBuildRet(e->b, f->finish(e, b, p, r));
    }
    LLVMPositionBuilderAtEnd(e->b, here);
    return LLVMBuildCall2(e->b, ft, fn, &x, 1, "");
}

/* ---- interpolation ----------------------------------------------------------------------------------------------------- */

/* ((c0 << a) + s1 c1 x + (s2 c2 sx << c) + k) >> s with s1, s2 = -1 or 1: the upper 24 bits. In 32 bits: with x = 512 h + l, the sum's bits
 * below 2^9 matter only through their carry, and floor(floor(n / 2^9) / 2^(s - 9)) is floor(n / 2^s). */
static V
interpolate(struct emit *e, struct segment g, V x, V sx, unsigned a, int s1, int s2, unsigned c, V k, unsigned s)
{
    V h = v_mul(e, g.c1, lshr_k(e, x, 9)), l = v_mul(e, g.c1, and_k(e, x, 511)), q = shl_k(e, v_mul(e, g.c2, sx), c);
    V high = shl_k(e, g.c0, a - 9), low = s1 < 0 ? v_sub(e, k, l) : v_add(e, k, l);

    low = ashr_k(e, s2 < 0 ? v_sub(e, low, q) : v_add(e, low, q), 9);
    high = s1 < 0 ? v_sub(e, high, h) : v_add(e, high, h);
    return lshr_k(e, v_add(e, high, low), s - 9);
}

static V
to_f64(struct emit *e, V a)
{
    return LLVMBuildSIToFP(e->b, a, emit_like(e, a, e->f64), "");
}

static V
k_f64(struct emit *e, V like, double value)
{
    return emit_fp_like(e, like, value);
}

/* (c0 << a) + c1 x - (c2 sx << c), all its bits (up to 43), as an f64. */
static V
interpolate_f64(struct emit *e, V c0, V c1, V c2, V x, V sx, unsigned a, unsigned c)
{
    V q = to_f64(e, shl_k(e, v_mul(e, c2, sx), c)), p = v_fmul(e, to_f64(e, c1), to_f64(e, x)), d = to_f64(e, c0);

    return v_fadd(e, v_fmul(e, d, k_f64(e, d, 1u << a)), v_fsub(e, p, q));
}

/* The bits of the f32 d * 2^-k, truncated to 24 bits, for d > 0 with a result in the normal range; zero for 0. */
static V
cut(struct emit *e, V d, unsigned k)
{
    V bits = emit_bitcast(e, d, e->i64);
    V r = add_k(e, emit_resize(e, lshr_k(e, bits, 29), e->i32, false), -(int64_t)((1023 - 127 + k) << 23));

    return v_sel(e, emit_fcmp(e, LLVMRealOEQ, d, k_f64(e, d, 0.0)), k_int(e, r, 0), r);
}

/* Truncate to a 32-bit integer. Operands out of range (NaN) give some number, not poison: it may become an index. */
static V
truncate(struct emit *e, V f)
{
    return LLVMBuildFreeze(e->b, LLVMBuildFPToSI(e->b, f, emit_like(e, f, e->i32), ""), "");
}

#define SIGN UINT32_C(0x80000000)
enum { ONE = 0x3f800000, INFINITE = 0x7f800000, CANONICAL_NAN = 0x7fffffff, IMPLIED = 1 << 23 };

/* 2^24 / m for m = 2^23 + f, in [2^23, 2^24]. */
static V
rcp_core(struct emit *e, V f)
{
    struct segment g = segment_load(e, &rcp_table, lshr_k(e, f, 16));
    V x = and_k(e, f, 0xffff);
    return interpolate(e, g, x, square_half(e, x), 13, -1, 1, 0, k_int(e, x, 0x47e7), 15);
}

/* For roots: the fraction and the exponent's last bit. As biases are odd, that bit is set for even exponents: segments 0 to 63 are those of
 * [2, 4), and EVEN alone is a power of four. */
enum { EVEN = IMPLIED };

/* The significand of 1 / sqrt: 2^24 / sqrt(1 to 4). Powers of four are exact: one more than their segment gives. */
static V
rsq_core(struct emit *e, V g)
{
    V x = and_k(e, g, 0x1ffff);
    V y = interpolate(e, segment_load(e, &rsq_table, lshr_k(e, g, 17)), x, square(e, x), 14, -1, 1, 2, k_int(e, x, 0x7fff), 16);
    return v_add(e, y, emit_resize(e, cmp_k(e, LLVMIntEQ, g, EVEN), e->i32, false));
}

/* ---- the functions ----------------------------------------------------------------------------------------------------- */

static V
rcp_fast(struct emit *e, V b)
{
    V y = rcp_core(e, and_k(e, b, IMPLIED - 1));
    V r = v_sub(e, v_add(e, y, k_int(e, y, 252u << 23)), and_k(e, b, INFINITE));
    return v_or(e, r, and_k(e, b, SIGN));
}

static V
rcp_finish(struct emit *e, V b, V p, V r)
{
    V sign = and_k(e, p, SIGN), mag = v_xor(e, p, sign);

    r = v_sel(e, cmp_k(e, LLVMIntUGT, mag, 253u << 23), sign, r);       /* above 2^126 the result is subnormal */
    r = v_sel(e, cmp_k(e, LLVMIntULT, mag, IMPLIED), v_or(e, sign, k_int(e, sign, INFINITE)), r);
    return v_sel(e, cmp_k(e, LLVMIntUGT, mag, INFINITE), k_int(e, r, CANONICAL_NAN), r);
}

/* The exponent halved, rounded down, in its place. */
static V
half_exponent(struct emit *e, V b)
{
    return and_k(e, ashr_k(e, add_k(e, b, -(127 << 23)), 1), ~(uint64_t)(IMPLIED - 1));
}

/* b in [2^-126, infinity) */
static V
rsq_fast(struct emit *e, V b)
{
    V y = rsq_core(e, and_k(e, b, EVEN | (IMPLIED - 1)));
    return v_sub(e, add_k(e, y, 125 << 23), half_exponent(e, b));
}

static V
rsq_finish(struct emit *e, V b, V p, V r)
{
    r = v_sel(e, cmp_k(e, LLVMIntEQ, p, INFINITE), k_int(e, r, 0), r);
    r = v_sel(e, cmp_k(e, LLVMIntUGT, p, INFINITE), k_int(e, r, CANONICAL_NAN), r); /* NaN and negative */
    V zero = cmp_k(e, LLVMIntEQ, and_k(e, p, INFINITE), 0);
    return v_sel(e, zero, v_or(e, and_k(e, p, SIGN), k_int(e, p, INFINITE)), r);
}

static V
sqrt_fast(struct emit *e, V b)
{
    V g = and_k(e, b, EVEN | (IMPLIED - 1));
    V x = and_k(e, g, 0x1ffff), octave = v_xor(e, lshr_k(e, g, 23), k_int(e, g, 1));
    struct segment s = segment_load(e, &sqrt_table, lshr_k(e, g, 17));

    s.c1 = v_shl(e, s.c1, octave);      /* the upper octave is one place shorter */
    V y = interpolate(e, s, x, square(e, x), 15, 1, -1, 1, v_shl(e, k_int(e, x, 0x7fff), octave), 17);
    return v_add(e, add_k(e, y, 126 << 23), half_exponent(e, b));
}

static V
sqrt_finish(struct emit *e, V b, V p, V r)
{
    r = v_sel(e, cmp_k(e, LLVMIntEQ, p, INFINITE), p, r);
    r = v_sel(e, cmp_k(e, LLVMIntUGT, p, INFINITE), k_int(e, r, CANONICAL_NAN), r);
    return v_sel(e, cmp_k(e, LLVMIntEQ, and_k(e, p, INFINITE), 0), and_k(e, p, SIGN), r);
}

/* Exponent plus a fraction of 36 bits; a negative sum loses one unit to its complement. */
static V
lg2_fast(struct emit *e, V b)
{
    V f = and_k(e, b, IMPLIED - 1), x = and_k(e, b, 0x1ffff);
    struct segment s = segment_load(e, &lg2_table, lshr_k(e, f, 17));
    V v = interpolate_f64(e, s.c0, s.c1, s.c2, x, square(e, x), 12, 1);

    v = v_call1(e, "llvm.floor", v_fmul(e, v_fadd(e, v, k_f64(e, v, 0x3345)), k_f64(e, v, 0.25)));
    v = v_sel(e, cmp_k(e, LLVMIntEQ, b, ONE), k_f64(e, v, 0.0), v);
    V ex = to_f64(e, add_k(e, and_k(e, lshr_k(e, b, 23), 255), -127));
    v = v_fadd(e, v, v_fmul(e, ex, k_f64(e, v, 0x1p36)));
    V negative = emit_fcmp(e, LLVMRealOLT, v, k_f64(e, v, 0.0));
    v = v_sel(e, negative, v_fsub(e, k_f64(e, v, -1.0), v), v);
    V r = cut(e, v, 36);
    return v_or(e, r, v_sel(e, negative, k_int(e, r, SIGN), k_int(e, r, 0)));
}

static V
lg2_finish(struct emit *e, V b, V p, V r)
{
    r = v_sel(e, cmp_k(e, LLVMIntEQ, p, INFINITE), p, r);
    r = v_sel(e, cmp_k(e, LLVMIntUGT, p, INFINITE), k_int(e, r, CANONICAL_NAN), r);
    return v_sel(e, cmp_k(e, LLVMIntEQ, and_k(e, p, INFINITE), 0), k_int(e, r, INFINITE | SIGN), r);
}

/* Truncates the operand to 23 fraction bits; of a negative one it takes the fraction's complement, one unit short. */
static V
ex2_fast(struct emit *e, V b)       /* |b| < 128 */
{
    V a = emit_bitcast(e, and_k(e, b, ~SIGN), e->f32);
    V n = truncate(e, v_fmul(e, a, emit_fp_like(e, a, 0x1p23)));
    V whole = cmp_k(e, LLVMIntEQ, and_k(e, n, IMPLIED - 1), 0);

    n = v_sel(e, cmp_k(e, LLVMIntSLT, b, 0), v_sel(e, whole, rsub_k(e, 0, n), v_not(e, n)), n);
    V x = and_k(e, n, 0x1ffff), index = and_k(e, lshr_k(e, n, 17), 63);
    V y = interpolate(e, segment_load(e, &ex2_table, index), x, square(e, x), 13, 1, 1, 0, k_int(e, x, 0x77e2), 15);
    return v_add(e, y, add_k(e, and_k(e, n, ~(uint64_t)(IMPLIED - 1)), 126 << 23));
}

static V
ex2_finish(struct emit *e, V b, V p, V r)
{
    V mag = and_k(e, p, ~SIGN), big = cmp_k(e, LLVMIntUGE, mag, 0x43000000);        /* 128 */

    r = v_sel(e, cmp_k(e, LLVMIntSLT, r, IMPLIED), k_int(e, r, 0), r);
    r = v_sel(e, big, v_sel(e, cmp_k(e, LLVMIntSLT, p, 0), k_int(e, r, 0), k_int(e, r, INFINITE)), r);
    return v_sel(e, cmp_k(e, LLVMIntUGT, mag, INFINITE), k_int(e, r, CANONICAL_NAN), r);
}

/* The operand times 1 / (2 pi), rounded toward zero to 24 bits, truncated to quarter turns with 23 fraction bits. */
static V
sin_cos(struct emit *e, V b, bool cosine)
{
    V f = emit_bitcast(e, b, e->f32), d = LLVMBuildFPExt(e->b, f, emit_like(e, f, e->f64), "");
    V turns = emit_bitcast(e, v_fmul(e, d, k_f64(e, d, 0x1.45f306p-3)), e->i64);
    turns = emit_bitcast(e, and_k(e, turns, ~((UINT64_C(1) << 29) - 1)), e->f64);
    V part = v_call1(e, "llvm.fabs", v_fsub(e, turns, v_call1(e, "llvm.trunc", turns)));
    V n = truncate(e, v_fmul(e, part, k_f64(e, part, 0x1p25)));
    V quarter = lshr_k(e, n, 23), sign = and_k(e, b, SIGN);

    if (cosine) {
        quarter = add_k(e, quarter, 1);
        sign = k_int(e, sign, 0);
    }
    sign = v_xor(e, sign, shl_k(e, and_k(e, quarter, 2), 30));
    n = v_xor(e, n, rsub_k(e, 0, and_k(e, quarter, 1)));            /* odd quarters run backwards */
    V x = and_k(e, n, 0x1ffff);
    struct segment s = segment_load(e, &sin_table, and_k(e, lshr_k(e, n, 17), 63));
    V r = v_or(e, sign, cut(e, interpolate_f64(e, s.c0, s.c1, s.c2, x, square(e, x), 11, 0), 37));
    V finite = cmp_k(e, LLVMIntNE, and_k(e, b, INFINITE), INFINITE);
    return v_sel(e, finite, r, k_int(e, r, CANONICAL_NAN));
}

static V
sin_core(struct emit *e, V b)
{
    return sin_cos(e, b, false);
}

static V
cos_core(struct emit *e, V b)
{
    return sin_cos(e, b, true);
}

/* Below 2^-8 the operand itself, subnormals included; from 8 on one. In between, toward zero, segments get narrower and keep more operand
 * bits. */
static V
tanh_core(struct emit *e, V b)
{
    enum { LEAST = (127 - 8) << 23, BINADES = sizeof tanh_binades / sizeof *tanh_binades };
    V sign = and_k(e, b, SIGN), mag = v_xor(e, b, sign), f = and_k(e, b, IMPLIED - 1), at = lshr_k(e, add_k(e, mag, -LEAST), 23);
    V outside = cmp_k(e, LLVMIntUGE, at, BINADES);
    V w = table_load(e, words(e, "mufu.tanh.binades", tanh_binades, BINADES), v_sel(e, outside, k_int(e, at, 0), at), e->i32);
    V drop = and_k(e, w, 255);
    V x = v_lshr(e, f, drop);
    struct segment s = segment_load(e, &tanh_table, v_add(e, lshr_k(e, w, 8), lshr_k(e, x, 17)));

    x = and_k(e, x, 0x1ffff);
    V r = cut(e, interpolate_f64(e, and_k(e, s.c0, 0x3ffffff), s.c1, s.c2, x, square(e, x), 15, 0), 39);
    r = v_add(e, r, shl_k(e, lshr_k(e, s.c0, 26), 23));
    r = v_sel(e, cmp_k(e, LLVMIntUGE, mag, LEAST), r, mag);
    r = v_sel(e, cmp_k(e, LLVMIntUGE, mag, LEAST + (BINADES << 23)), k_int(e, r, ONE), r);
    r = v_or(e, r, sign);
    return v_sel(e, cmp_k(e, LLVMIntUGT, mag, INFINITE), k_int(e, r, CANONICAL_NAN), r);
}

enum { INFINITE64 = 0x7ff00000, IMPLIED64 = 1 << 20 };

/* The upper half of an f64 has 20 fraction bits; the interpolation is the same, and its last three bits are dropped. */
static V
rcp64h_core(struct emit *e, V b)
{
    V sign = and_k(e, b, SIGN), mag = v_xor(e, b, sign);
    V y = lshr_k(e, rcp_core(e, shl_k(e, and_k(e, b, IMPLIED64 - 1), 3)), 3);
    V r = v_sub(e, add_k(e, y, INT64_C(2044) << 20), and_k(e, mag, INFINITE64));

    r = v_sel(e, cmp_k(e, LLVMIntSLT, r, IMPLIED64), k_int(e, r, 0), r);
    r = v_sel(e, cmp_k(e, LLVMIntULT, mag, IMPLIED64), k_int(e, r, INFINITE64), r);
    r = v_or(e, r, sign);
    return v_sel(e, cmp_k(e, LLVMIntUGT, mag, INFINITE64), k_int(e, r, CANONICAL_NAN), r);
}

static V
rsq64h_core(struct emit *e, V b)
{
    V half = ashr_k(e, add_k(e, lshr_k(e, b, 20), -1023), 1);
    V y = lshr_k(e, rsq_core(e, and_k(e, shl_k(e, b, 3), EVEN | (IMPLIED - 1))), 3);
    V r = v_add(e, y, shl_k(e, rsub_k(e, 1021, half), 20));
    r = v_sel(e, cmp_k(e, LLVMIntEQ, b, INFINITE64), k_int(e, r, 0), r);
    r = v_sel(e, cmp_k(e, LLVMIntUGT, b, INFINITE64), k_int(e, r, CANONICAL_NAN), r);
    V zero = cmp_k(e, LLVMIntEQ, and_k(e, b, INFINITE64), 0);
    return v_sel(e, zero, v_or(e, and_k(e, b, SIGN), k_int(e, b, INFINITE64)), r);
}

/* ---- without .ftz ------------------------------------------------------------------------------------------------------ */

static V
as_f32(struct emit *e, V bits)
{
    return emit_bitcast(e, bits, e->f32);
}

static V
as_bits(struct emit *e, V f)
{
    return emit_bitcast(e, f, e->i32);
}

static V
subnormal(struct emit *e, V b)
{
    return cmp_k(e, LLVMIntULT, and_k(e, b, ~SIGN), IMPLIED);
}

/* Scale subnormal operands into the unit's range: x * 2^24. */
static V
scale_up(struct emit *e, V b)
{
    V x = as_f32(e, b);
    return v_sel(e, subnormal(e, b), as_bits(e, v_fmul(e, x, emit_fp_like(e, x, 0x1p24))), b);
}

static V
scale_result(struct emit *e, V b, V r, double by)
{
    V y = as_f32(e, r);
    return v_sel(e, subnormal(e, b), as_bits(e, v_fmul(e, y, emit_fp_like(e, y, by))), r);
}

static V
rsq_full_finish(struct emit *e, V b, V p, V r)
{
    return scale_result(e, b, rsq_finish(e, b, p, r), 0x1p12);
}

static V
sqrt_full_finish(struct emit *e, V b, V p, V r)
{
    return scale_result(e, b, sqrt_finish(e, b, p, r), 0x1p-12);
}

static V
lg2_full_finish(struct emit *e, V b, V p, V r)
{
    r = lg2_finish(e, b, p, r);
    V y = as_f32(e, r);
    return v_sel(e, subnormal(e, b), as_bits(e, v_fadd(e, y, emit_fp_like(e, y, -24.0))), r);
}

/* Scale large operands, too: their reciprocals are subnormal. */
static V
rcp_scale(struct emit *e, V b)
{
    V f = as_f32(e, b), large = cmp_k(e, LLVMIntUGT, and_k(e, b, ~SIGN), 253u << 23);
    return v_sel(e, large, emit_fp_like(e, f, 0.25), v_sel(e, subnormal(e, b), emit_fp_like(e, f, 0x1p24), emit_fp_like(e, f, 1.0)));
}

static V
rcp_full_prepare(struct emit *e, V b)
{
    return as_bits(e, v_fmul(e, as_f32(e, b), rcp_scale(e, b)));
}

static V
rcp_full_finish(struct emit *e, V b, V p, V r)
{
    return as_bits(e, v_fmul(e, as_f32(e, rcp_finish(e, b, p, r)), rcp_scale(e, b)));
}

/* Below -126, where the result may be subnormal: the square of 2^(x/2). */
static V
ex2_low(struct emit *e, V b)
{
    V x = as_f32(e, b);
    return emit_fcmp(e, LLVMRealOLT, x, emit_fp_like(e, x, -126.0));
}

static V
ex2_full_prepare(struct emit *e, V b)
{
    V x = as_f32(e, b);
    return v_sel(e, ex2_low(e, b), as_bits(e, v_fmul(e, x, emit_fp_like(e, x, 0.5))), b);
}

static V
ex2_full_finish(struct emit *e, V b, V p, V r)
{
    r = ex2_finish(e, b, p, r);
    V y = as_f32(e, r);
    return v_sel(e, ex2_low(e, b), as_bits(e, v_fmul(e, y, y)), r);
}

/* ---- the interface ----------------------------------------------------------------------------------------------------- */

V
mufu_div(struct emit *e, V *a, V b, const struct mufu_scale *scale)
{
    return e->target->mufu->div(e, &rcp_table, a, b, scale);
}

V
mufu_quotient(struct emit *e, V a, V b, const struct mufu_quotient *q)
{
    return e->target->mufu->quotient(e, &rcp_table, a, b, q);
}

#define NORMAL IMPLIED, 254u << 23, false       /* positive, finite */
#define BELOW_126 0, 0x42fc0000, true

static const struct function functions[] = {
    [MUFU_RCP] = { "rcp", &rcp_table, rcp_fast, rcp_finish, NULL, IMPLIED, 252u << 23, true },
    [MUFU_RCP_FULL] = { "rcp_full", &rcp_table, rcp_fast, rcp_full_finish, rcp_full_prepare, IMPLIED, 252u << 23, true },
    [MUFU_RSQ] = { "rsq", &rsq_table, rsq_fast, rsq_finish, NULL, NORMAL },
    [MUFU_RSQ_FULL] = { "rsq_full", &rsq_table, rsq_fast, rsq_full_finish, scale_up, NORMAL },
    [MUFU_SQRT] = { "sqrt", &sqrt_table, sqrt_fast, sqrt_finish, NULL, NORMAL },
    [MUFU_SQRT_FULL] = { "sqrt_full", &sqrt_table, sqrt_fast, sqrt_full_finish, scale_up, NORMAL },
    [MUFU_EX2] = { "ex2", &ex2_table, ex2_fast, ex2_finish, NULL, BELOW_126 },
    [MUFU_EX2_FULL] = { "ex2_full", &ex2_table, ex2_fast, ex2_full_finish, ex2_full_prepare, BELOW_126 },
    [MUFU_LG2] = { "lg2", &lg2_table, lg2_fast, lg2_finish, NULL, NORMAL },
    [MUFU_LG2_FULL] = { "lg2_full", &lg2_table, lg2_fast, lg2_full_finish, scale_up, NORMAL },
    [MUFU_SIN] = { "sin", &sin_table, sin_core }, [MUFU_COS] = { "cos", &sin_table, cos_core }, [MUFU_TANH] = { "tanh", &tanh_table, tanh_core },
    [MUFU_RCP64H] = { "rcp64h", &rcp_table, rcp64h_core }, [MUFU_RSQ64H] = { "rsq64h", &rsq_table, rsq64h_core },
};

V
mufu(struct emit *e, enum mufu_function function, V bits)
{
    const struct function *f = &functions[function];
    return e->target->mufu && function < MUFU_TANH ? e->target->mufu->function(e, function, f->table, bits) : shared(e, f, bits);
}
