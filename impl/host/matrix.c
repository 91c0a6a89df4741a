/* SPDX-License-Identifier: Apache-2.0
 * mma and wmma.mma on the host device: the models by generation, the scalar arithmetic, and whole instructions between
 * fragments. docs/matrix.md says what was measured and what is taken from papers. */
#define _GNU_SOURCE
#include "impl/host/matrix.h"

#include "impl/base/env.h"
#include "impl/base/log.h"
#include "impl/host/matrix_number.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- models ---------------------------------------------------------------------------------------------------------- */

static const struct cwh_matrix_model models[] = {
    { "volta",  70, 4, 4, 23, 16, 13 },
    { "turing", 75, 4, 4, 24, 16, 13 },
    { "ampere", 80, 8, 4, 24, 16, 13 },
    { "ada",    89, 8, 4, 24, 16, 13 },
    { "hopper", 90, 16, 8, 25, 0, 0 },      /* measured */
};
enum { MODELS = sizeof models / sizeof *models };

const struct cwh_matrix_model *
cwh_matrix_model_named(const char *name)
{
    for (unsigned i = 0; i < MODELS; i++)
        if (!strcmp(models[i].name, name))
            return &models[i];
    return NULL;
}

static const struct cwh_matrix_model *model;    /* written once */
static pthread_once_t model_once = PTHREAD_ONCE_INIT;

static void
choose_model(void)
{
    const char *name = cw_env_get(CW_ENV_MATRIX_MODEL), *cc = cw_env_get(CW_ENV_COMPUTE_CAPABILITY);
    unsigned major = 8, minor = 6;
    if (name && (model = cwh_matrix_model_named(name)))
        return;
    if (name)
        cw_warn("%s=%s is not one of volta, turing, ampere, ada, hopper", cw_env_name(CW_ENV_MATRIX_MODEL), name);
    if (cc && (sscanf(cc, "%u.%u", &major, &minor) != 2 || major > 99 || minor > 9)) {
        major = 8;
        minor = 6;
    }
    model = &models[0];
    for (unsigned i = 1; i < MODELS; i++)
        if (major * 10 + minor >= models[i].sm)
            model = &models[i];
}

const struct cwh_matrix_model *
cwh_matrix_model(void)
{
    pthread_once(&model_once, choose_model);
    return model;
}

/* ---- scalar arithmetic ------------------------------------------------------------------------------------------------ */

static float
f32_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint32_t
bits_of(float f)
{
    uint32_t x;
    memcpy(&x, &f, 4);
    return f != f ? 0x7fffffffu : x;
}

static double
f64_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static uint32_t
f16_to_f32(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16;
    if ((h & 0x7c00) == 0x7c00)
        return h & 0x3ff ? 0x7fffffffu : sign | 0x7f800000u;
    return sign | bits_of(f32_of((h & 0x7fffu) << 13) * 0x1p112f);     /* exact, denormals too */
}

/* To nearest even; keeps the sign of zero. */
static uint32_t
f32_to_f16(uint32_t x)
{
    int32_t sig, exp;
    uint32_t sign = x >> 16 & 0x8000u;
    if (number_decode(PTX_F32, x, &sig, &exp))
        return x & 0x7fffffu ? 0x7fffu : sign | 0x7c00;
    return sign | number_pack_f16(false, (uint32_t)(sig < 0 ? -sig : sig), exp - 23);
}

uint32_t
number_add_f32(uint32_t a, uint32_t b)
{
    return bits_of(f32_of(a) + f32_of(b));
}

uint32_t
number_add_f16(uint32_t a, uint32_t b)
{
    return f32_to_f16(number_add_f32(f16_to_f32(a), f16_to_f32(b)));    /* the sum in f32 is exact */
}

/* e4m3 and e5m2 are subsets of f16. */
static uint32_t
f8_to_f16(uint8_t type, uint32_t x)
{
    if (type == PTX_E5M2)
        return x << 8;
    static const uint16_t denormal[8] = { 0, 0x1800, 0x1c00, 0x1e00, 0x2000, 0x2100, 0x2200, 0x2300 };
    uint32_t sign = (x & 0x80) << 8, size = x & 0x7f;
    return size == 0x7f ? 0x7fff : sign | (size < 8 ? denormal[size] : (size << 7) + (8u << 10));
}

static uint32_t
nan_of(uint8_t type)
{
    return type == PTX_F16 ? 0x7fff : 0x7fffffffu;
}

static uint32_t
inf_of(uint8_t type, bool minus)
{
    return type == PTX_F16 ? (minus ? 0xfc00 : 0x7c00) : (minus ? 0xff800000u : 0x7f800000u);
}

static bool
is_nan(uint8_t type, uint32_t x)
{
    int32_t sig, exp, m = number_mantissa(type);
    if (!number_decode(type, x, &sig, &exp))
        return false;
    return type == PTX_E4M3 || ((type == PTX_TF32 ? x >> 13 : x) & ((1u << m) - 1));
}

uint32_t
cwh_dot_one(const struct cwh_dot *x, const uint32_t *a, const uint32_t *b, uint32_t c)
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

/* A NaN among the operands is passed on, made quiet: B's first, then C's, then A's. */
static uint64_t
fma_f64(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t order[3] = { b, c, a };
    double r = fma(f64_of(a), f64_of(b), f64_of(c));
    uint64_t bits;
    memcpy(&bits, &r, 8);
    if (r == r)
        return bits;
    for (unsigned i = 0; i < 3; i++)
        if ((order[i] & ~(1ull << 63)) > 0x7ffull << 52)
            return order[i] | 1ull << 51;
    return 0xfff8000000000000ull;
}

/* m8n8k4 of f16, which no hardware from sm_80 on has: chains of f32 fma, as the driver's code for it does. */
static uint32_t
dot_quad(uint8_t ct, uint8_t dt, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    float p[4], q[4], z = f32_of(ct == PTX_F16 ? f16_to_f32(c) : c);
    for (unsigned k = 0; k < 4; k++) {
        p[k] = f32_of(f16_to_f32(a[k]));
        q[k] = f32_of(f16_to_f32(b[k]));
    }
    if (dt == PTX_F16) {
        float even = fmaf(p[1], q[1], p[0] * q[0]), odd = fmaf(p[3], q[3], p[2] * q[2]);
        return f32_to_f16(bits_of(z + even + odd));
    }
    float s = 0;
    for (unsigned k = 0; k < 4; k++)
        s = fmaf(p[k], q[k], s);
    return bits_of(z + s);
}

/* ---- elements of A's rows and B's columns ---------------------------------------------------------------------------- */

enum { MAX_WORDS = 512 };       /* of A or B: 16 x 256 bits, 8 x 16 doubles ... */

/* A matrix whose rows (of A) or columns (of B) are stretches of 32-bit words; doubles take two. */
struct packed {
    uint32_t words[MAX_WORDS];
    unsigned stride;            /* words a row */
};

static unsigned
register_words(uint8_t type)
{
    return type == PTX_F64 ? 2 : 1;
}

unsigned
cwh_matrix_distinct(const struct cwh_matrix *x, bool b)
{
    unsigned elements = (b ? x->n : x->m) * x->k, bits = number_bits(b ? x->b : x->a);
    return elements * bits / (bits == 64 ? 2048 : 1024);
}

/* Does this operand hold blocks of 16 rows (columns), as A of m16n8k16 does? B of m8n32k16 does too, and A of it is like
 * the B of others. */
static bool
is_tall(const struct cwh_matrix *x, bool b)
{
    return b ? x->n == 32 : x->m >= 16;
}

/* Four words of a row are four lanes of one register (figures of 9.7.14.5). */
void
cwh_matrix_place(const struct cwh_matrix *x, bool b, unsigned r, unsigned *row, unsigned *quarter)
{
    unsigned bits = number_bits(b ? x->b : x->a), words = x->k * bits / 32 / (bits == 64 ? 2 : 1), q = words / 4;
    if (is_tall(x, b)) {
        unsigned in = r % (2 * q);
        *row = 16 * (r / (2 * q)) + 8 * (in & 1);
        *quarter = in / 2;
    } else {
        *row = 8 * (r / q);
        *quarter = r % q;
    }
}

static void
gather(const struct cwh_matrix *x, bool b, const uint32_t *regs, struct packed *out)
{
    unsigned w = register_words(b ? x->b : x->a), n = cwh_matrix_distinct(x, b), row, quarter;
    out->stride = x->k * number_bits(b ? x->b : x->a) / 32;
    for (unsigned r = 0; r < n; r++) {
        cwh_matrix_place(x, b, r, &row, &quarter);
        for (unsigned g = 0; g < 8; g++)
            memcpy(out->words + (row + g) * out->stride + quarter * 4 * w, regs + (r * 32 + g * 4) * w, 16 * w);
    }
}

static uint32_t
element(const uint32_t *row, unsigned bits, unsigned i)
{
    unsigned per = 32 / bits;
    return per == 1 ? row[i] : row[i / per] >> (i % per * bits) & ((1u << bits) - 1);
}

static int32_t
integer(const uint32_t *row, uint8_t type, unsigned i)
{
    unsigned bits = number_bits(type);
    uint32_t v = element(row, bits, i);
    bool is_signed = type == PTX_S8 || type == PTX_S4;
    return is_signed ? (int32_t)(v << (32 - bits)) >> (32 - bits) : (int32_t)v;
}

void
cwh_matrix_place_c(const struct cwh_matrix *x, unsigned lane, unsigned i, unsigned *row, unsigned *col)
{
    unsigned g = lane >> 2, t = lane & 3, block = i >> 2;
    unsigned r = g + 8 * (i >> 1 & 1), c = 2 * t + (i & 1);
    if (x->n == 32) {           /* transposed: blocks of 16 columns */
        *row = c;
        *col = 16 * block + r;
    } else {
        *row = r + (x->m == 32 ? 16 * block : 0);
        *col = c + (x->n == 16 ? 8 * block : 0);
    }
}

static bool
is_quad(const struct cwh_matrix *x)
{
    return x->op == PTX_OP_MMA && x->a == PTX_F16 && x->m == 8;
}

/* ---- what one element of D is ------------------------------------------------------------------------------------------ */

static void
dot_form(const struct cwh_matrix_model *mo, const struct cwh_matrix *x, struct cwh_dot *f)
{
    *f = (struct cwh_dot){ .type = x->a, .type_b = x->b, .c = x->c, .d = x->d, .fraction = mo->fraction, .k = x->k, .step = x->k };
    switch (x->a) {
    case PTX_TF32:
        /* wmma's m16n16k8 is made of m16n8k4 */
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

/* The elements of a row of A or a column of B in the order in which they are added. */
static void
dot_elements(const struct cwh_dot *f, uint8_t type, const uint32_t *row, uint32_t *out)
{
    unsigned bits = number_bits(type);
    if (bits == 32) {
        memcpy(out, row, 4 * f->k);
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
        if (f->add_c) {         /* the first halves of all 32-bit words, then the second ones */
            unsigned j = i % f->step;
            at = j / 2 * 4 + j % 2 + (i >= f->step ? 2 : 0);
        }
        uint32_t v = element(row, bits, at);
        out[i] = f->add_c ? f8_to_f16(type, v) : v;
    }
}

static uint32_t
integer_end(const struct cwh_matrix *x, int32_t sum, uint32_t c)
{
    int64_t v = (int64_t)sum + (int32_t)c;
    if (x->satfinite)
        v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
    return (uint32_t)v;
}

static uint32_t
dot_bits(const struct cwh_matrix *x, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < x->k / 32u; i++)
        sum += (unsigned)__builtin_popcount(x->boolop == PTX_BOOL_AND ? a[i] & b[i] : a[i] ^ b[i]);
    return c + sum;
}

static uint64_t
dot_f64(const struct cwh_matrix *x, const uint32_t *a, const uint32_t *b, uint64_t c)
{
    for (unsigned k = 0; k < x->k; k++)
        c = fma_f64(a[2 * k] | (uint64_t)a[2 * k + 1] << 32, b[2 * k] | (uint64_t)b[2 * k + 1] << 32, c);
    return c;
}

static int
rounding(uint8_t round)
{
    return round == PTX_RZ ? FE_TOWARDZERO : round == PTX_RM ? FE_DOWNWARD : round == PTX_RP ? FE_UPWARD : FE_TONEAREST;
}

static bool
is_float_form(uint8_t a)
{
    return a == PTX_F16 || a == PTX_BF16 || a == PTX_TF32 || a == PTX_E4M3 || a == PTX_E5M2;
}

/* ---- whole instructions ---------------------------------------------------------------------------------------------------- */

/* Element i of a lane's C fragment. */
static uint64_t
read_c(const struct cwh_matrix *x, const uint32_t *c, unsigned lane, unsigned i)
{
    if (x->c == PTX_F64) {
        uint64_t v;
        memcpy(&v, c + (i * 32 + lane) * 2, 8);
        return v;
    }
    if (x->c == PTX_F16)
        return c[(i / 2) * 32 + lane] >> (i % 2 * 16) & 0xffff;
    return c[i * 32 + lane];
}

static void
write_d(const struct cwh_matrix *x, uint32_t *d, unsigned lane, unsigned i, uint64_t v)
{
    if (x->d == PTX_F64)
        memcpy(d + (i * 32 + lane) * 2, &v, 8);
    else if (x->d == PTX_F16 && i % 2)
        d[(i / 2) * 32 + lane] |= (uint32_t)v << 16;
    else if (x->d == PTX_F16)
        d[(i / 2) * 32 + lane] = (uint32_t)v;
    else
        d[i * 32 + lane] = (uint32_t)v;
}

static unsigned
elements_of_d(const struct cwh_matrix *x)
{
    return x->nd * (x->d == PTX_F16 ? 2u : 1u);
}

static void
mma_float(const struct cwh_matrix_model *mo, const struct cwh_matrix *x, const struct packed *a, const struct packed *b, uint32_t *c)
{
    struct cwh_dot f;
    uint32_t ea[MAX_WORDS], eb[MAX_WORDS];
    unsigned n = (unsigned)x->m * x->n;
    dot_form(mo, x, &f);
    for (unsigned i = 0; i < x->m; i++)
        dot_elements(&f, x->a, a->words + i * a->stride, ea + i * x->k);
    for (unsigned j = 0; j < x->n; j++)
        dot_elements(&f, x->b, b->words + j * b->stride, eb + j * x->k);
    if (f.c != x->c)
        for (unsigned i = 0; i < n; i++)
            c[i] = f16_to_f32(c[i]);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        cwh_dot_all_avx2(&f, x->m, x->n, ea, eb, c, c);
    else
#endif
        cwh_dot_all(&f, x->m, x->n, ea, eb, c, c);
    if (f.d != x->d)
        for (unsigned i = 0; i < n; i++)
            c[i] = f32_to_f16(c[i]);
}

static void
mma_integer(const struct cwh_matrix *x, const struct packed *a, const struct packed *b, uint32_t *c)
{
    int32_t ea[1024], eb[1024];
    for (unsigned i = 0; i < x->m; i++)
        for (unsigned k = 0; k < x->k; k++)
            ea[i * x->k + k] = integer(a->words + i * a->stride, x->a, k);
    for (unsigned j = 0; j < x->n; j++)
        for (unsigned k = 0; k < x->k; k++)
            eb[k * x->n + j] = integer(b->words + j * b->stride, x->b, k);
    for (unsigned i = 0; i < x->m; i++)
        for (unsigned j0 = 0; j0 < x->n; j0 += 8) {
            int32_t sum[8] = { 0 };
            for (unsigned k = 0; k < x->k; k++)
                for (unsigned j = 0; j < 8; j++)
                    sum[j] += ea[i * x->k + k] * eb[k * x->n + j0 + j];
            for (unsigned j = 0; j < 8; j++)
                c[i * x->n + j0 + j] = integer_end(x, sum[j], c[i * x->n + j0 + j]);
        }
}

static void
mma_quads(const struct cwh_matrix *x, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d, unsigned first, unsigned last)
{
    for (unsigned lane = first; lane < last; lane++) {
        unsigned quad = lane & 12;
        for (unsigned i = 0; i < 8; i++) {
            /* figures of 9.7.14.5.1: a quad pair is four lanes and those 16 above them */
            unsigned row = x->d == PTX_F16 ? (lane & 3) : (lane & 1) + (i & 2), col = x->d == PTX_F16 ? i : (i & 4) + (lane & 2) + (i & 1);
            unsigned row_c = row + (lane & 16 ? 4 : 0), half = lane & 16;
            uint32_t ea[4], eb[4];
            for (unsigned k = 0; k < 4; k++) {
                unsigned la = x->a_col ? quad + half + k : quad + half + row, ia = x->a_col ? row : k;
                unsigned lb = x->b_col ? quad + (col & 4 ? 16 : 0) + (col & 3) : quad + (col & 4 ? 16 : 0) + k, ib = x->b_col ? k : col & 3;
                ea[k] = a[(ia / 2) * 32 + la] >> (ia % 2 * 16) & 0xffff;
                eb[k] = b[(ib / 2) * 32 + lb] >> (ib % 2 * 16) & 0xffff;
            }
            /* C may be of the other type, whose fragment is laid out differently */
            unsigned lc, ic;
            if (x->c == PTX_F16) {
                lc = quad + half + (row_c & 3);
                ic = col;
            } else {
                lc = quad + half + (row & 1) + (col & 2);
                ic = (row & 2) + (col & 4) + (col & 1);
            }
            write_d(x, d, lane, i, dot_quad(x->c, x->d, ea, eb, (uint32_t)read_c(x, c, lc, ic)));
        }
    }
}

void
cwh_matrix_mma(const struct cwh_matrix_model *mo, const struct cwh_matrix *x, const void *av, const void *bv, const void *cv, void *dv)
{
    struct packed a, b;
    unsigned row, col, n = elements_of_d(x);
    if (is_quad(x)) {
        mma_quads(x, av, bv, cv, dv, 0, 32);
        return;
    }
    gather(x, false, av, &a);
    gather(x, true, bv, &b);
    if (x->a == PTX_F64) {
        int old = fegetround();
        if (x->round && x->round != PTX_RN)
            fesetround(rounding(x->round));
        for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned i = 0; i < n; i++) {
                cwh_matrix_place_c(x, lane, i, &row, &col);
                write_d(x, dv, lane, i, dot_f64(x, a.words + row * a.stride, b.words + col * b.stride, read_c(x, cv, lane, i)));
            }
        if (x->round && x->round != PTX_RN)
            fesetround(old);
        return;
    }
    uint32_t c[256];
    for (unsigned i = 0; i < n; i++)
        for (unsigned lane = 0; lane < 32; lane++) {
            cwh_matrix_place_c(x, lane, i, &row, &col);
            c[row * x->n + col] = (uint32_t)read_c(x, cv, lane, i);
        }
    if (is_float_form(x->a))
        mma_float(mo, x, &a, &b, c);
    else if (x->a == PTX_B1)
        for (unsigned i = 0; i < x->m; i++)
            for (unsigned j = 0; j < x->n; j++)
                c[i * x->n + j] = dot_bits(x, a.words + i * a.stride, b.words + j * b.stride, c[i * x->n + j]);
    else
        mma_integer(x, &a, &b, c);
    for (unsigned i = 0; i < n; i++)
        for (unsigned lane = 0; lane < 32; lane++) {
            cwh_matrix_place_c(x, lane, i, &row, &col);
            write_d(x, dv, lane, i, c[row * x->n + col]);
        }
}

/* ---- one lane, element by element ---------------------------------------------------------------------------------------- */

static void
collect(const uint64_t operands[32], unsigned first, unsigned n, unsigned words, uint32_t *out)
{
    for (unsigned lane = 0; lane < 32; lane++) {
        const uint64_t *regs = (const uint64_t *)(uintptr_t)operands[lane];
        for (unsigned r = 0; r < n; r++) {
            uint64_t v = regs ? regs[first + r] : 0;
            memcpy(out + (r * 32 + lane) * words, &v, 4 * words);
        }
    }
}

void
cwh_matrix_mma_lane(const struct cwh_matrix_model *mo, const struct cwh_matrix *x, const uint64_t operands[32], uint32_t lane, void *dv)
{
    uint32_t regs[3][32 * 8 * 2], out[32 * 8 * 2];
    unsigned wa = register_words(x->a), wc = register_words(x->c), row, col;
    if (x->na > 8 || x->nb > 8 || x->nc > 8 || x->nd > 8)
        return;
    collect(operands, 0, x->na, wa, regs[0]);
    collect(operands, x->na, x->nb, wa, regs[1]);
    collect(operands, x->na + x->nb, x->nc, wc, regs[2]);
    struct packed a, b;
    struct cwh_dot f;
    if (is_quad(x)) {
        mma_quads(x, regs[0], regs[1], regs[2], out, lane, lane + 1);
    } else {
        gather(x, false, regs[0], &a);
        gather(x, true, regs[1], &b);
        dot_form(mo, x, &f);
    }
    for (unsigned i = 0; i < elements_of_d(x) && !is_quad(x); i++) {
        cwh_matrix_place_c(x, lane, i, &row, &col);
        const uint32_t *ra = a.words + row * a.stride, *cb = b.words + col * b.stride;
        uint64_t c = read_c(x, regs[2], lane, i), v;
        if (x->a == PTX_F64) {
            int old = fegetround();
            fesetround(rounding(x->round));
            v = dot_f64(x, ra, cb, c);
            fesetround(old);
        } else if (x->a == PTX_B1) {
            v = dot_bits(x, ra, cb, (uint32_t)c);
        } else if (is_float_form(x->a)) {
            uint32_t ea[64], eb[64], r;
            dot_elements(&f, x->a, ra, ea);
            dot_elements(&f, x->b, cb, eb);
            r = cwh_dot_one(&f, ea, eb, f.c != x->c ? f16_to_f32((uint32_t)c) : (uint32_t)c);
            v = f.d != x->d ? f32_to_f16(r) : r;
        } else {
            int32_t sum = 0;
            for (unsigned k = 0; k < x->k; k++)
                sum += integer(ra, x->a, k) * integer(cb, x->b, k);
            v = integer_end(x, sum, (uint32_t)c);
        }
        write_d(x, out, lane, i, v);
    }
    unsigned w = register_words(x->d);
    for (unsigned r = 0; r < x->nd; r++)
        memcpy((uint32_t *)dv + r * w, out + (r * 32 + lane) * w, 4 * w);
}
