/* SPDX-License-Identifier: Apache-2.0
 * Float matrix products, eight columns at a time: the same bits as cwh_dot_one. Matrices with infinities or NaNs go there.
 * Compiled a second time for AVX2 (matrix_dot_avx2.c). */
#include "impl/host/matrix.h"
#include "jit/builtins/core/matrix_core.h"

#include <string.h>

typedef int32_t v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t u8x __attribute__((vector_size(32), aligned(4), may_alias));

enum { MAX_ELEMENTS = 512 };    /* of A or B: m16n8k32, m32n8k16 */

/* Sum one block of products k0 .. k1 and the running sums of eight columns; gives magnitude, sign and exponent of the last bit. */
static inline __attribute__((always_inline)) void
block(const int32_t *as, const int32_t *ae, const int32_t *bs, const int32_t *be, unsigned n, unsigned k0, unsigned k1, int left,
      const v8 *cs, const v8 *ce, int cleft, v8 *sum_lo, u8x *pos, u8x *neg)
{
    v8 top = *ce;
    for (unsigned k = k0; k < k1; k++) {
        v8 e = ae[k] + *(const v8 *)(be + k * n);
        v8 more = e > top;
        top = (e & more) | (top & ~more);
    }
    const v8 most = (v8){ 0 } + 31;
    u8x p = { 0 }, q = { 0 };
    for (unsigned k = k0; k < k1; k++) {
        v8 e = ae[k] + *(const v8 *)(be + k * n), product = as[k] * *(const v8 *)(bs + k * n);
        v8 drop = top - e, far = drop > most, sign = product >> 31;
        drop = (drop & ~far) | (most & far);
        u8x size = (u8x)((product ^ sign) - sign) << left >> (u8x)drop;
        p += size & ~(u8x)sign;
        q += size & (u8x)sign;
    }
    v8 drop = top - *ce, far = drop > most, sign = *cs >> 31;
    drop = (drop & ~far) | (most & far);
    u8x size = (u8x)((*cs ^ sign) - sign);
    size = (cleft >= 0 ? size << cleft : size >> -cleft) >> (u8x)drop;
    *pos = p + (size & ~(u8x)sign);
    *neg = q + (size & (u8x)sign);
    *sum_lo = top;
}

/* Significands and exponents of n elements. True where one is not finite. */
static inline __attribute__((always_inline)) bool
decode_as(uint8_t type, const uint32_t *restrict x, unsigned n, int32_t *restrict sig, int32_t *restrict exp)
{
    uint32_t special = 0;
    for (unsigned i = 0; i < n; i++)
        special |= number_decode(type, x[i], &sig[i], &exp[i]);
    return special;
}

static bool
decode(uint8_t type, const uint32_t *x, unsigned n, int32_t *sig, int32_t *exp)
{
    switch (type) {         /* a loop for each type, in which it is a constant */
    case PTX_F16: return decode_as(PTX_F16, x, n, sig, exp);
    case PTX_BF16: return decode_as(PTX_BF16, x, n, sig, exp);
    case PTX_TF32: return decode_as(PTX_TF32, x, n, sig, exp);
    case PTX_E4M3: return decode_as(PTX_E4M3, x, n, sig, exp);
    default: return decode_as(PTX_E5M2, x, n, sig, exp);
    }
}

/* Columns of k become rows of n. */
static void
turn(const uint32_t *restrict x, unsigned n, unsigned k, uint32_t *restrict out)
{
    for (unsigned j = 0; j < n; j++)
        for (unsigned i = 0; i < k; i++)
            out[i * n + j] = x[j * k + i];
}

static inline __attribute__((always_inline)) bool
decode_sums(uint8_t type, const uint32_t *x, int32_t *sig, int32_t *exp)
{
    uint32_t special = 0;
    for (unsigned j = 0; j < 8; j++)
        special |= number_decode_sum(type, x[j], &sig[j], &exp[j]);
    return special;
}

/* One row of D, eight columns; false where an intermediate result is infinite. */
static inline __attribute__((always_inline)) bool
row(const struct cwh_dot *x, const int32_t *as, const int32_t *ae, const int32_t *bs, const int32_t *be, unsigned n, int mantissa,
    const uint32_t *c, uint32_t *d)
{
    uint32_t run[8];
    uint8_t type = x->c;
    if (x->add_c) {
        memset(run, 0, sizeof run);
        type = x->d;
    } else {
        memcpy(run, c, sizeof run);
    }
    for (unsigned k0 = 0; k0 < x->k; k0 += x->block) {
        unsigned k1 = k0 + x->block < x->k ? k0 + x->block : x->k;
        bool half = x->d == PTX_F16 && k1 % x->step == 0;
        int32_t cs[8], ce[8], top[8];
        uint32_t pos[8], neg[8];
        if (type == PTX_F16 ? decode_sums(PTX_F16, run, cs, ce) : decode_sums(PTX_F32, run, cs, ce))
            return false;
        block(as, ae, bs, be, n, k0, k1, x->fraction - mantissa, (const v8 *)cs, (const v8 *)ce, x->fraction - number_mantissa(type),
              (v8 *)top, (u8x *)pos, (u8x *)neg);
        type = half ? PTX_F16 : PTX_F32;
        for (unsigned j = 0; j < 8; j++) {
            bool minus = neg[j] > pos[j];
            uint32_t size = minus ? neg[j] - pos[j] : pos[j] - neg[j];
            run[j] = half ? number_pack_f16(minus, size, top[j] - x->fraction) : number_pack_f32(minus, size, top[j] - x->fraction);
        }
    }
    if (x->add_c)
        for (unsigned j = 0; j < 8; j++)
            run[j] = x->d == PTX_F16 ? number_add_f16(run[j], c[j]) : number_add_f32(run[j], c[j]);
    memcpy(d, run, sizeof run);
    return true;
}

void
cwh_dot_all(const struct cwh_dot *x, unsigned m, unsigned n, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d)
{
    int32_t as[MAX_ELEMENTS], ae[MAX_ELEMENTS], bs[MAX_ELEMENTS], be[MAX_ELEMENTS];
    uint32_t rows[MAX_ELEMENTS];
    unsigned k = x->k;
    bool special = decode(x->type, a, m * k, as, ae);
    turn(b, n, k, rows);
    special |= decode(x->type_b, rows, n * k, bs, be);
    int mantissa = number_mantissa(x->type) + number_mantissa(x->type_b);
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j += 8) {
            if (!special && row(x, as + i * k, ae + i * k, bs + j, be + j, n, mantissa, c + i * n + j, d + i * n + j))
                continue;
            for (unsigned l = j; l < j + 8; l++)
                d[i * n + l] = cwh_dot_one(x, a + i * k, b + l * k, c[i * n + l]);
        }
}
