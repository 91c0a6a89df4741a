/* SPDX-License-Identifier: Apache-2.0
 * One element of a floating-point matrix product, with the bits of matrix_dot_one, but faster. Products of significands are exact in f32; a
 * conversion to integer truncates them. */
#ifndef CWJ_BUILTINS_MMA_H
#define CWJ_BUILTINS_MMA_H

#include "jit/builtins/core/matrix_core.h"

#define ALWAYS static inline __attribute__((always_inline))

enum { MOST = 32 };             /* elements of a row */

struct factor {
    float m;                    /* the value or, with wide exponents, the significand in [1, 2), less for denormals; or infinite or NaN */
    int e;                      /* exponent + 127; denormals have the smallest normal number's; 255 for infinities and NaN */
};

ALWAYS int
least_exponent(uint8_t type)
{
    return type == PTX_F16 || type == PTX_E5M2 ? -14 : type == PTX_E4M3 ? -6 : -126;
}

/* Products in these formats have exponents outside f32's range. */
ALWAYS bool
is_wide(uint8_t type)
{
    return type == PTX_BF16 || type == PTX_TF32;
}

ALWAYS float
e4m3_value(uint32_t x)
{
    float v = f32_of((x & 0x7f) << 20) * 0x1p120f;
    return f32_of((bits_of((x & 0x7f) == 0x7f ? __builtin_nanf("") : v) & 0x7fffffff) | (x & 0x80) << 24);
}

BITS_FUNCTION(f16_of, uint16_t, _Float16)

ALWAYS float
f16_value(uint32_t x)
{
    return (float)f16_of((uint16_t)x);
}

/* Element i in the order of addition. `as`: the format whose exponents count; Hopper's 8-bit floats count as f16. */
ALWAYS struct factor
factor(const struct cwh_dot *f, uint8_t type, uint8_t as, const uint32_t *row, unsigned i)
{
    struct factor r;
    float v;
    switch (type) {
    case PTX_TF32: v = f32_of(row[i] & 0xffffe000u); break;
    case PTX_BF16: v = f32_of(i % 2 ? row[i / 2] & 0xffff0000u : row[i / 2] << 16); break;
    case PTX_F16: v = f16_value(row[i / 2] >> 16 * (i % 2)); break;
    default: {
        unsigned at = i;
        if (f->add_c) {         /* the first halves of all words, then the second halves */
            unsigned j = i % f->step;
            at = j / 2 * 4 + j % 2 + (i >= f->step ? 2 : 0);
        }
        uint32_t x = row[at / 4] >> 8 * (at % 4) & 0xff;
        v = type == PTX_E4M3 ? e4m3_value(x) : f16_value(x << 8);
    }
    }
    int e = (int)(f32_bits(v) >> 23 & 255), least = least_exponent(as) + 127;
    r.e = e < least ? least : e;
    r.m = is_wide(as) ? __builtin_ldexpf(v, 127 - r.e) : v;
    return r;
}

ALWAYS int
cut(float v, int shift)         /* v * 2^shift towards zero; less than 2^31 */
{
    return (int)__builtin_ldexpf(v, shift);
}

/* Add products k0 .. k1 to the running sum. Exponents have 254 added. */
ALWAYS uint32_t
block(const struct cwh_dot *f, const struct factor *a, const struct factor *b, unsigned k0, unsigned k1, uint32_t run, uint8_t type, uint8_t out)
{
    int32_t cs, ce;
    bool special_c = number_decode_sum(type, run, &cs, &ce);
    float product[MOST];
    int exponent[MOST], most = NUMBER_ZERO_EXPONENT, most_a = 0, most_b = 0;
#pragma clang loop unroll(full)
    for (unsigned k = k0; k < k1; k++) {
        product[k] = a[k].m * b[k].m;
        exponent[k] = a[k].e + b[k].e;
        int counts = product[k] == 0 ? NUMBER_ZERO_EXPONENT : exponent[k];
        most = counts > most ? counts : most;
        if (is_wide(f->type)) {
            most_a = a[k].e > most_a ? a[k].e : most_a;
            most_b = b[k].e > most_b ? b[k].e : most_b;
        }
    }
    /* In a narrow format only products of infinities and NaN have such an exponent. */
    bool special = is_wide(f->type) ? most_a == 255 || most_b == 255 : most >= 254 + 64;
    if (special || special_c) {
        float s = !special_c ? 0 : type == PTX_F16 ? f16_value(run) : f32_of(run);
#pragma clang loop unroll(full)
        for (unsigned k = k0; k < k1; k++)
            s += product[k];
        return s != s ? nan_of(out) : inf_of(out, s < 0);
    }
    int top = most - 254 > ce ? most - 254 : ce, shift = f->fraction - top;
    int sum = 0, more = cut((float)cs, shift - number_mantissa(type) + ce);
#pragma clang loop unroll(full)
    for (unsigned k = k0; k < k1; k++) {    /* each below 2^(fraction + 2): half of them fit into 32 bits */
        int v = cut(product[k], shift + (is_wide(f->type) ? exponent[k] - 254 : 0));
        if (k - k0 < 8)
            sum += v;
        else
            more += v;
    }
    int64_t all = (int64_t)sum + more;
    uint32_t size = (uint32_t)(all < 0 ? -all : all);
    return out == PTX_F16 ? number_pack_f16(all < 0, size, top - f->fraction) : number_pack_f32(all < 0, size, top - f->fraction);
}

/* As matrix_element (jit/builtins/core/matrix_core.h), for forms of floats: row, col are the words of A's row and B's column; x and model
 * are constants. */
ALWAYS uint32_t
mma_float(const struct cwh_matrix *x, uint32_t model, const uint32_t *row, const uint32_t *col, uint32_t c)
{
    struct cwh_dot f;
    struct factor a[MOST], b[MOST];
    dot_form(&matrix_models[model], x, &f);
#pragma clang loop unroll(full)
    for (unsigned k = 0; k < f.k; k++) {
        a[k] = factor(&f, x->a, f.type, row, k);
        b[k] = factor(&f, x->b, f.type_b, col, k);
    }
    if (f.c != x->c)
        c = f16_to_f32(c);
    uint32_t run = f.add_c ? 0 : c;
    uint8_t type = f.add_c ? f.d : f.c;
#pragma clang loop unroll(full)
    for (unsigned k0 = 0; k0 < f.k; k0 += f.block) {
        unsigned k1 = k0 + f.block < f.k ? k0 + f.block : f.k;
        uint8_t out = f.d == PTX_F16 && k1 % f.step == 0 ? PTX_F16 : PTX_F32;
        run = block(&f, a, b, k0, k1, run, type, out);
        type = out;
    }
    if (f.add_c)
        run = f.d == PTX_F16 ? number_add_f16(run, c) : number_add_f32(run, c);
    return f.d != x->d ? f32_to_f16(run) : run;
}

#endif
