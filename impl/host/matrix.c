/* SPDX-License-Identifier: Apache-2.0
 * mma and wmma.mma on the host device: whole instructions between fragments. matrix_core.h computes one element. */
#include "impl/host/matrix.h"

#include "jit/builtins/core/matrix_core.h"

#include <fenv.h>
#include <string.h>

uint32_t
cwh_dot_one(const struct cwh_dot *x, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    return matrix_dot_one(x, a, b, c);
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

/* Does this operand hold blocks of 16 rows (columns), as A of m16n8k16 does? B of m8n32k16 does too, and its A is like the B of
 * others. */
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

/* ---- mma.sp (9.7.14.6): half of a row of A is stored ------------------------------------------------------------------- */

static bool
is_sparse(const struct cwh_matrix *x)
{
    return x->op == PTX_OP_MMA_SP || x->op == PTX_OP_MMA_SP_ORDERED;
}

/* The dense instruction that multiplies the stored elements. */
static struct cwh_matrix
stored(const struct cwh_matrix *x)
{
    struct cwh_matrix s = *x;
    s.op = PTX_OP_MMA;
    s.k /= 2;
    return s;
}

/* Which elements of a column of B the stored elements of a row are multiplied with. Four bits of metadata select two of four
 * halves (the two halves of one tf32) or of four bytes. For halves a lane holds the metadata of two rows, eight apart, and up
 * to 16 columns; for bytes that of one row: the second lane's row is the one below. */
static void
choose(const struct cwh_matrix *x, const uint32_t *meta, unsigned row, const uint32_t *col, uint32_t *out)
{
    unsigned bits = number_bits(x->a), unit = bits > 8 ? 2 : 1, fours = x->k * bits / (32 * unit);
    for (unsigned c = 0; c < fours; c++) {
        unsigned lane = 2 * x->fragment + row / 8 + 2 * (c / 8), at = c % 8;
        if (unit == 2) {
            lane = fours == 4 ? x->fragment : 2 * x->fragment + c / 4;
            at = 4 * (row / 8) + c % 4;
        }
        unsigned which = meta[row % 8 * 4 + lane] >> 4 * at;
        for (unsigned i = 0; i < 2; i++)
            memcpy((uint8_t *)out + (2 * c + i) * unit, (const uint8_t *)col + (4 * c + (which >> 2 * i & 3)) * unit, unit);
    }
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
mma_sparse(const struct cwh_matrix_model *mo, const struct cwh_matrix *x, const struct packed *a, const struct packed *b, const uint32_t *meta,
           uint32_t *c)
{
    struct cwh_matrix one = stored(x);
    struct packed row, columns = { .stride = a->stride };
    one.m = 1;
    for (unsigned i = 0; i < x->m; i++) {
        memcpy(row.words, a->words + i * a->stride, 4 * a->stride);
        for (unsigned j = 0; j < x->n; j++)
            choose(x, meta, i, b->words + j * b->stride, columns.words + j * columns.stride);
        if (is_float_form(x->a))
            mma_float(mo, &one, &row, &columns, c + i * x->n);
        else
            mma_integer(&one, &row, &columns, c + i * x->n);
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
    const struct cwh_matrix dense = is_sparse(x) ? stored(x) : *x;
    gather(&dense, false, av, &a);
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
    if (is_sparse(x))
        mma_sparse(mo, x, &a, &b, (const uint32_t *)av + x->na * 32, c);
    else if (is_float_form(x->a))
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
    uint32_t regs[3][32 * 8 * 2], out[32 * 8 * 2], meta[32], chosen[MAX_WORDS];
    const struct cwh_matrix dense = is_sparse(x) ? stored(x) : *x;
    unsigned wa = register_words(x->a), wc = register_words(x->c), row, col;
    if (x->na > 8 || x->nb > 8 || x->nc > 8 || x->nd > 8)
        return;
    collect(operands, 0, x->na, wa, regs[0]);
    collect(operands, x->na, x->nb, wa, regs[1]);
    collect(operands, x->na + x->nb, x->nc, wc, regs[2]);
    if (is_sparse(x))
        collect(operands, x->na + x->nb + x->nc, 1, 1, meta);
    struct packed a, b;
    if (is_quad(x)) {
        mma_quads(x, regs[0], regs[1], regs[2], out, lane, lane + 1);
    } else {
        gather(&dense, false, regs[0], &a);
        gather(x, true, regs[1], &b);
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
        } else {
            if (is_sparse(x)) {
                choose(x, meta, row, cb, chosen);
                cb = chosen;
            }
            v = matrix_element(mo, &dense, ra, cb, (uint32_t)c);
        }
        write_d(x, out, lane, i, v);
    }
    unsigned w = register_words(x->d);
    for (unsigned r = 0; r < x->nd; r++)
        memcpy((uint32_t *)dv + r * w, out + (r * 32 + lane) * w, 4 * w);
}
