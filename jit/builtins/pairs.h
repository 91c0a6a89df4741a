/* SPDX-License-Identifier: Apache-2.0
 * Float matrix products with Hopper's sums (docs/matrix.md), in the fewest instructions. The lane that holds an element of A or B prepares
 * it once, before other lanes gather it: a word of two elements becomes
 *   values   two f16. For bf16 and tf32 these are the significands, in [1, 2), less for denormals; f16, and formats converted to
 *            it, stay unchanged
 *   weights  their exponents as two 16-bit numbers, in steps of 1 << shift: (exponent field - middle) << shift; for zeros so low
 *            that the sum with any other weight is below that of two numbers (tf32: one value below, one weight above, in a word)
 * The product of two values is exact in f32, and one addition gives the exponents of two products. Infinities and NaN are f16 values, too,
 * with the weight of their exponent field. */
#ifndef CWJ_BUILTINS_PAIRS_H
#define CWJ_BUILTINS_PAIRS_H

#include "jit/builtins/mma.h"

enum {
    PAIR_ZERO = -0x6000,                        /* added to a zero's weight, to distinguish it from a denormal's */
    PAIR_NARROW = 9, PAIR_WIDE = 6,             /* shifts: f16; bf16, tf32 */
    PAIR_MIDDLE = 0x2000,                       /* of the exponent fields 16 and 128 */
    PAIR_LEAST = -0x4400,                       /* the weight of a nonzero product is at least -0x3f80, that of a zero at most -0x6000 */
    PAIR_BIASES = 2,                            /* from a weight to its product's exponent: 2 * 16 - 2 * 15, 2 * 128 - 2 * 127 */
};

typedef int16_t pair __attribute__((vector_size(4)));
typedef uint16_t upair __attribute__((vector_size(4)));
typedef _Float16 halves __attribute__((vector_size(4)));

BITS_FUNCTION(upair_of, uint32_t, upair)
BITS_FUNCTION(word_of, upair, uint32_t)
BITS_FUNCTION(halves_of, upair, halves)
BITS_FUNCTION(bits_of_halves, halves, upair)
BITS_FUNCTION(f16_bits, _Float16, uint16_t)

/* One instruction each on AMD. another: the same value, opaque to the optimiser. */
#ifdef __AMDGCN__
ALWAYS uint32_t
another(uint32_t x)
{
    __asm__("" : "+v"(x));
    return x;
}
#define max_u16 __builtin_elementwise_max
#define max_s16 __builtin_elementwise_max
#define minus_u16 __builtin_elementwise_sub_sat
#define plus_s16 __builtin_elementwise_add_sat
#else
#define another(x) (x)
ALWAYS upair
max_u16(upair a, upair b)
{
    return (upair){ a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1] };
}

ALWAYS pair
max_s16(pair a, pair b)
{
    return (pair){ a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1] };
}

ALWAYS upair
minus_u16(upair a, upair b)
{
    return (upair){ a[0] > b[0] ? (uint16_t)(a[0] - b[0]) : 0, a[1] > b[1] ? (uint16_t)(a[1] - b[1]) : 0 };
}

ALWAYS int16_t
sum_s16(int a, int b)
{
    return (int16_t)(a + b > INT16_MAX ? INT16_MAX : a + b < INT16_MIN ? INT16_MIN : a + b);
}

ALWAYS pair
plus_s16(pair a, pair b)
{
    return (pair){ sum_s16(a[0], b[0]), sum_s16(a[1], b[1]) };
}
#endif

ALWAYS upair
both(unsigned x)
{
    return (upair){ (uint16_t)x, (uint16_t)x };
}

/* Weights of two f16 (shift PAIR_NARROW) or bf16 (PAIR_WIDE). */
ALWAYS uint32_t
pair_weights(uint32_t x, unsigned shift)
{
    upair size = upair_of(x & 0x7fff7fff), zero = minus_u16(both(1), size), field = upair_of(word_of(size) >> 1);
    field = max_u16(field & both(0x4000u - (1u << shift)), both(1u << shift));
    return word_of(field - both(PAIR_MIDDLE) + zero * both(PAIR_ZERO & 0xffff));
}

ALWAYS uint32_t
bf16_values(uint32_t x)
{
    upair v = upair_of(x), field = v & both(0x7f80), small = minus_u16(both(1), field), large = minus_u16(field, both(0x7f00));
    upair m = (v & both(0x7f)) << 3 | both(0x3c00);     /* significands with their leading bit, which denormals lack */
    m = bits_of_halves(halves_of(m) - halves_of(small * both(0x3c00)));
    return word_of(m | large * both(0xf8)) | (x & 0x80008000);
}

/* Value and weight of one element. */
ALWAYS uint32_t
tf32_pair(uint32_t x)
{
    uint32_t size = x & 0x7fffe000, field = size >> 23;
    int weight = size ? (int)(field ? field : 1) * (1 << PAIR_WIDE) - PAIR_MIDDLE : (1 << PAIR_WIDE) - PAIR_MIDDLE + PAIR_ZERO;
    upair m = both((size >> 13 & 0x3ff) | 0x3c00), first = { field ? 0 : 0x3c00 };
    uint16_t value = bits_of_halves(halves_of(m) - halves_of(first))[0];
    return (uint32_t)weight << 16 | value | (field == 255 ? 0x7c00u : 0) | (x >> 16 & 0x8000);
}

/* Two bytes of a word, the lower or the upper ones, as f16. */
ALWAYS uint32_t
e5m2_values(uint32_t x, bool upper)
{
    x = upper ? x >> 16 : x;
    return (x & 0xff) << 8 | (x & 0xff00) << 16;
}

ALWAYS uint32_t
e4m3_values(uint32_t x, bool upper)
{
    x = e5m2_values(x, upper);
    upair size = upair_of((x & 0x7f007f00) >> 1), nan = minus_u16(upair_of(x & 0x7f007f00), both(0x7e00));  /* 0x100 for a NaN */
    size = bits_of_halves(halves_of(size) * (halves){ 256, 256 });
    return word_of(size | nan * both(0x7c)) | (x & 0x80008000);
}

/* Maxima of the products' weights so far, updated from two words of weights. */
ALWAYS uint32_t
pair_most(uint32_t most, uint32_t row, uint32_t col)
{
    pair w = plus_s16((pair)upair_of(row), (pair)upair_of(col));
    return word_of((upair)max_s16((pair)upair_of(most), w));
}

enum pair_kind { PAIR_OF_NARROW, PAIR_OF_WIDE, PAIR_OF_SINGLE };       /* f16; bf16; tf32, with values and weights in the same words */

ALWAYS float
product_and_sum(uint32_t a, uint32_t b, unsigned half, float c)         /* one instruction, unlike a separate product */
{
    return __builtin_fmaf(f16_value(a >> 16 * half), f16_value(b >> 16 * half), c);
}

/* An element of m8n8k4 of f16, as dot_quad computes it: four elements of A and of B, each in a word. */
ALWAYS uint32_t
quad_f32(const uint32_t *a, const uint32_t *b, float c)
{
    float s = 0;
#pragma clang loop unroll(full)
    for (unsigned k = 0; k < 4; k++)
        s = product_and_sum(a[k], b[k], 0, s);
    return bits_of(c + s);
}

ALWAYS uint32_t
quad_f16(const uint32_t *a, const uint32_t *b, float c)
{
    float even = product_and_sum(a[1], b[1], 0, f16_value(a[0]) * f16_value(b[0]));
    float odd = product_and_sum(a[3], b[3], 0, f16_value(a[2]) * f16_value(b[2]));
    float s = c + even + odd;
    uint16_t bits = f16_bits((_Float16)s);
    return s != s ? 0x7fff : bits;
}

/* The running sum as a number, and its exponent. */
ALWAYS float
sum_value(uint8_t type, uint32_t x, int *exponent)
{
    uint32_t size = x & (type == PTX_F16 ? 0x7fffu : 0x7fffffffu);
    int field = (int)(size >> (type == PTX_F16 ? 10 : 23));
    *exponent = size ? (field ? field : 1) - (type == PTX_F16 ? 15 : 127) : type == PTX_F16 ? -21 : -133;
    return type == PTX_F16 ? f16_value(x) : f32_of(x);
}

/* Add a block of `n` words to the running sum: values of a row and a column; their weights, unless the kind is narrow; the maxima of the
 * weights. `special`: some number here may be infinite or NaN; the running sum is tested separately. */
ALWAYS uint32_t
pair_block(enum pair_kind kind, unsigned n, uint8_t type, const uint32_t *row, const uint32_t *col, const uint32_t *row_weights,
           const uint32_t *col_weights, uint32_t greatest, uint32_t run, uint32_t special)
{
    enum { FRACTION = 25 };
    const bool single = kind == PAIR_OF_SINGLE, wide = kind != PAIR_OF_NARROW;
    const unsigned each = single ? 1 : 2;
    pair most = (pair)upair_of(greatest);
    int top_c, top = single || most[1] > most[0] ? most[1] : most[0];
    float c = sum_value(type, run, &top_c);
    if (special || !(__builtin_fabsf(c) < __builtin_inff())) {
        float s = c;
#pragma clang loop unroll(full)
        for (unsigned i = 0; i < each * n; i++)
            s = product_and_sum(another(row[i / each]), another(col[i / each]), i % each, s);      /* opaque, so that it shares no
                                                                                                    * conversions with later blocks */
        if (!(__builtin_fabsf(s) < __builtin_inff()))
            return s != s ? nan_of(type) : inf_of(type, s < 0);
    }
    top = top < PAIR_LEAST ? top_c : (top >> (wide ? PAIR_WIDE : PAIR_NARROW)) + PAIR_BIASES;
    top = top_c > top ? top_c : top;
    int shift = FRACTION - top, sum = 0, more = cut(c, shift);
#pragma clang loop unroll(full)
    for (unsigned i = 0; i < each * n; i++) {   /* each below 2^27: half of them fit into 32 bits */
        int own = shift;
        if (wide) {
            pair w = plus_s16((pair)upair_of(row_weights[i / each]), (pair)upair_of(col_weights[i / each]));
            own += (w[single ? 1 : i % each] >> PAIR_WIDE) + PAIR_BIASES;
        }
        int v = cut(product_and_sum(row[i / each], col[i / each], i % each, 0), own);
        if (i < 8)
            sum += v;
        else
            more += v;
    }
    int64_t all = (int64_t)sum + more;
    if (each * n <= 8)
        all = sum + more;
    uint32_t size = (uint32_t)(all < 0 ? -all : all);
    return type == PTX_F16 ? number_pack_f16(all < 0, size, top - FRACTION) : number_pack_f32(all < 0, size, top - FRACTION);
}

#endif
