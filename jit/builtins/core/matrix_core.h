/* SPDX-License-Identifier: Apache-2.0
 * The arithmetic of matrix instructions for one element of D, without host dependencies: included by the host device's engine and by the
 * device library for AMD (jit/builtins). docs/matrix.md says what was measured and what comes from papers. */
#ifndef CWJ_BUILTINS_CORE_MATRIX_CORE_H
#define CWJ_BUILTINS_CORE_MATRIX_CORE_H

#include "jit/abi/host.h"
#include "jit/builtins/core/bits.h"
#include "jit/builtins/core/matrix_model.h"
#include "jit/builtins/core/matrix_number.h"

#define MATRIX_CORE static inline __attribute__((unused))

/* By compute capability. */
static const struct cwh_matrix_model matrix_models[] = {
    { "volta",  70, 4, 4, 23, 16, 13 },
    { "turing", 75, 4, 4, 24, 16, 13 },
    { "ampere", 80, 8, 4, 24, 16, 13 },
    { "ada",    89, 8, 4, 24, 16, 13 },
    { "hopper", 90, 16, 8, 25, 0, 0 },      /* measured */
};
enum { MATRIX_MODELS = sizeof matrix_models / sizeof *matrix_models };

/* ---- scalar arithmetic ------------------------------------------------------------------------------------------------ */

MATRIX_CORE uint32_t
bits_of(float f)
{
    uint32_t x = f32_bits(f);
    return f != f ? 0x7fffffffu : x;
}

MATRIX_CORE uint32_t
f16_to_f32(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16;
    if ((h & 0x7c00) == 0x7c00)
        return h & 0x3ff ? 0x7fffffffu : sign | 0x7f800000u;
    return sign | bits_of(f32_of((h & 0x7fffu) << 13) * 0x1p112f);     /* exact, denormals too */
}

/* To nearest even; keeps the sign of zero. */
MATRIX_CORE uint32_t
f32_to_f16(uint32_t x)
{
    int32_t sig, exp;
    uint32_t sign = x >> 16 & 0x8000u;
    if (number_decode(PTX_F32, x, &sig, &exp))
        return x & 0x7fffffu ? 0x7fffu : sign | 0x7c00;
    return sign | number_pack_f16(false, (uint32_t)(sig < 0 ? -sig : sig), exp - 23);
}

/* IEEE, to nearest; NaN 0x7fffffff, 0x7fff */
MATRIX_CORE uint32_t
number_add_f32(uint32_t a, uint32_t b)
{
    return bits_of(f32_of(a) + f32_of(b));
}

MATRIX_CORE uint32_t
number_add_f16(uint32_t a, uint32_t b)
{
    return f32_to_f16(number_add_f32(f16_to_f32(a), f16_to_f32(b)));    /* the f32 sum is exact */
}

/* e4m3 and e5m2 are subsets of f16. */
MATRIX_CORE uint32_t
f8_to_f16(uint8_t type, uint32_t x)
{
    if (type == PTX_E5M2)
        return x << 8;
    static const uint16_t denormal[8] = { 0, 0x1800, 0x1c00, 0x1e00, 0x2000, 0x2100, 0x2200, 0x2300 };
    uint32_t sign = (x & 0x80) << 8, size = x & 0x7f;
    return size == 0x7f ? 0x7fff : sign | (size < 8 ? denormal[size] : (size << 7) + (8u << 10));
}

MATRIX_CORE uint32_t
nan_of(uint8_t type)
{
    return type == PTX_F16 ? 0x7fff : 0x7fffffffu;
}

MATRIX_CORE uint32_t
inf_of(uint8_t type, bool minus)
{
    return type == PTX_F16 ? (minus ? 0xfc00 : 0x7c00) : (minus ? 0xff800000u : 0x7f800000u);
}

MATRIX_CORE bool
is_nan(uint8_t type, uint32_t x)
{
    int32_t sig, exp, m = number_mantissa(type);
    if (!number_decode(type, x, &sig, &exp))
        return false;
    return type == PTX_E4M3 || ((type == PTX_TF32 ? x >> 13 : x) & ((1u << m) - 1));
}

MATRIX_CORE uint32_t
matrix_dot_one(const struct cwh_dot *x, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    uint32_t run = x->add_c ? 0 : c;
    uint8_t type = x->add_c ? x->d : x->c;
    int mantissa = number_mantissa(x->type) + number_mantissa(x->type_b);
    for (unsigned k0 = 0; k0 < x->k; k0 += x->block) {
        unsigned k1 = k0 + x->block < x->k ? k0 + x->block : x->k;
        uint8_t out = x->d == PTX_F16 && k1 % x->step == 0 ? PTX_F16 : PTX_F32;
        int32_t cs, ce, as, ae, bs, be;
        bool nan = false, plus = false, minus = false;
        if (number_decode_sum(type, run, &cs, &ce)) {
            nan |= is_nan(type, run);
            *(cs < 0 ? &minus : &plus) = true;
        }
        int top = ce;
        for (unsigned k = k0; k < k1; k++) {
            bool sa = number_decode(x->type, a[k], &as, &ae), sb = number_decode(x->type_b, b[k], &bs, &be);
            if (sa || sb) {
                nan |= is_nan(x->type, a[k]) || is_nan(x->type_b, b[k]) || !as || !bs;
                *((as < 0) != (bs < 0) ? &minus : &plus) = true;
            }
            if (ae + be > top)
                top = ae + be;
        }
        if (nan || (plus && minus)) {
            run = nan_of(out);
        } else if (plus || minus) {
            run = inf_of(out, minus);
        } else {
            int64_t sum = 0;
            for (unsigned k = k0; k <= k1; k++) {
                int64_t product = cs;
                int low = ce - number_mantissa(type), m = number_mantissa(type);
                if (k < k1) {
                    number_decode(x->type, a[k], &as, &ae);
                    number_decode(x->type_b, b[k], &bs, &be);
                    product = (int64_t)as * bs;
                    low = ae + be;
                    m = mantissa;
                } else {
                    low = ce;
                }
                int right = top - low + m - x->fraction;
                int64_t size = product < 0 ? -product : product;
                size = right <= 0 ? size << -right : right < 63 ? size >> right : 0;
                sum += product < 0 ? -size : size;
            }
            uint32_t size = (uint32_t)(sum < 0 ? -sum : sum);
            run = out == PTX_F16 ? number_pack_f16(sum < 0, size, top - x->fraction) : number_pack_f32(sum < 0, size, top - x->fraction);
        }
        type = out;
    }
    if (x->add_c)
        run = x->d == PTX_F16 ? number_add_f16(run, c) : number_add_f32(run, c);
    return run;
}

/* Quiet and return a NaN operand: B's, else C's, else A's. */
MATRIX_CORE uint64_t
fma_f64(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t order[3] = { b, c, a };
    double r = __builtin_fma(f64_of(a), f64_of(b), f64_of(c));
    if (r == r)
        return f64_bits(r);
    for (unsigned i = 0; i < 3; i++)
        if ((order[i] & ~(1ull << 63)) > 0x7ffull << 52)
            return order[i] | 1ull << 51;
    return 0xfff8000000000000ull;
}

/* m8n8k4 of f16, which hardware since sm_80 lacks: chains of f32 fma, as in the driver's replacement code. */
MATRIX_CORE uint32_t
dot_quad(uint8_t ct, uint8_t dt, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    float p[4], q[4], z = f32_of(ct == PTX_F16 ? f16_to_f32(c) : c);
    for (unsigned k = 0; k < 4; k++) {
        p[k] = f32_of(f16_to_f32(a[k]));
        q[k] = f32_of(f16_to_f32(b[k]));
    }
    if (dt == PTX_F16) {
        float even = __builtin_fmaf(p[1], q[1], p[0] * q[0]), odd = __builtin_fmaf(p[3], q[3], p[2] * q[2]);
        return f32_to_f16(bits_of(z + even + odd));
    }
    float s = 0;
    for (unsigned k = 0; k < 4; k++)
        s = __builtin_fmaf(p[k], q[k], s);
    return bits_of(z + s);
}

MATRIX_CORE uint32_t
element(const uint32_t *row, unsigned bits, unsigned i)
{
    unsigned per = 32 / bits;
    return per == 1 ? row[i] : row[i / per] >> (i % per * bits) & ((1u << bits) - 1);
}

MATRIX_CORE int32_t
integer(const uint32_t *row, uint8_t type, unsigned i)
{
    unsigned bits = number_bits(type);
    uint32_t v = element(row, bits, i);
    bool is_signed = type == PTX_S8 || type == PTX_S4;
    return is_signed ? (int32_t)(v << (32 - bits)) >> (32 - bits) : (int32_t)v;
}

/* ---- one element of D -------------------------------------------------------------------------------------------------- */

MATRIX_CORE void
dot_form(const struct cwh_matrix_model *mo, const struct cwh_matrix *x, struct cwh_dot *f)
{
    *f = (struct cwh_dot){ .type = x->a, .type_b = x->b, .c = x->c, .d = x->d, .fraction = mo->fraction, .k = x->k, .step = x->k };
    switch (x->a) {
    case PTX_TF32:
        /* wmma's m16n16k8 consists of m16n8k4. */
        f->block = x->op == PTX_OP_WMMA_MMA && mo->block32 > 4 ? 4 : mo->block32;
        break;
    case PTX_E4M3: case PTX_E5M2:
        f->block = mo->block8;
        f->fraction = mo->fraction8;
        if (!mo->block8) {      /* as f16, in two instructions that start from zero */
            f->type = f->type_b = PTX_F16;
            f->block = mo->block16;
            f->fraction = mo->fraction;
            f->step = x->k / 2;
            f->add_c = true;
            if (f->block > f->step)
                f->block = (uint8_t)f->step;
        }
        break;
    default:
        f->block = mo->block16;
    }
    if (x->c == PTX_F16 && x->d == PTX_F32)
        f->c = PTX_F32;         /* converted before */
    if (x->c == PTX_F32 && x->d == PTX_F16)
        f->d = PTX_F32;         /* converted after */
}

/* The elements of a row of A or a column of B, in the order of addition. */
MATRIX_CORE void
dot_elements(const struct cwh_dot *f, uint8_t type, const uint32_t *row, uint32_t *out)
{
    unsigned bits = number_bits(type);
    if (bits == 32) {
        __builtin_memcpy(out, row, 4 * f->k);
        return;
    }
    if (bits == 16) {
        for (unsigned i = 0; i < f->k / 2u; i++) {
            out[2 * i] = row[i] & 0xffff;
            out[2 * i + 1] = row[i] >> 16;
        }
        return;
    }
    for (unsigned i = 0; i < f->k; i++) {
        unsigned at = i;
        if (f->add_c) {         /* the first halves of all 32-bit words, then the second halves */
            unsigned j = i % f->step;
            at = j / 2 * 4 + j % 2 + (i >= f->step ? 2 : 0);
        }
        uint32_t v = element(row, bits, at);
        out[i] = f->add_c ? f8_to_f16(type, v) : v;
    }
}

MATRIX_CORE uint32_t
integer_end(const struct cwh_matrix *x, int32_t sum, uint32_t c)
{
    int64_t v = (int64_t)sum + (int32_t)c;
    if (x->satfinite)
        v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
    return (uint32_t)v;
}

MATRIX_CORE uint32_t
dot_bits(const struct cwh_matrix *x, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < x->k / 32u; i++)
        sum += (unsigned)__builtin_popcount(x->boolop == PTX_BOOL_AND ? a[i] & b[i] : a[i] ^ b[i]);
    return c + sum;
}

MATRIX_CORE bool
is_float_form(uint8_t a)
{
    return a == PTX_F16 || a == PTX_BF16 || a == PTX_TF32 || a == PTX_E4M3 || a == PTX_E5M2;
}

/* One element of D, except for f64 and m8n8k4 of f16: `a` and `b` are the words of its row of A and its column of B. */
MATRIX_CORE uint32_t
matrix_element(const struct cwh_matrix_model *mo, const struct cwh_matrix *x, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    if (x->a == PTX_B1)
        return dot_bits(x, a, b, c);
    if (is_float_form(x->a)) {
        struct cwh_dot f;
        uint32_t ea[64], eb[64];
        dot_form(mo, x, &f);
        dot_elements(&f, x->a, a, ea);
        dot_elements(&f, x->b, b, eb);
        uint32_t r = matrix_dot_one(&f, ea, eb, f.c != x->c ? f16_to_f32(c) : c);
        return f.d != x->d ? f32_to_f16(r) : r;
    }
    int32_t sum = 0;
    for (unsigned k = 0; k < x->k; k++)
        sum += integer(a, x->a, k) * integer(b, x->b, k);
    return integer_end(x, sum, c);
}

#endif
