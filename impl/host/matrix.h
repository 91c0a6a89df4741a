/* SPDX-License-Identifier: Apache-2.0
 * The arithmetic of NVIDIA's matrix instructions on the host device; see docs/matrix.md for what is known of it and how.
 * A product-sum is made in blocks: the products of a block are exact, they and the running sum are aligned to the largest
 * exponent among them, cut towards zero `fraction` bits below it, and added as integers. */
#ifndef CWH_MATRIX_H
#define CWH_MATRIX_H

#include "jit/host/abi.h"

#include <stdbool.h>

/* One generation of the hardware. */
struct cwh_matrix_model {
    const char *name;
    uint8_t sm;                 /* from this compute capability on */
    uint8_t block16, block32;   /* products added at once: f16 and bf16, tf32 */
    uint8_t fraction;           /* bits below the largest exponent */
    uint8_t block8, fraction8;  /* e4m3, e5m2; block8 0: converted to f16, see docs/matrix.md */
};
const struct cwh_matrix_model *cwh_matrix_model(void);     /* of the device that is emulated */
bool cwh_matrix_native(void);                               /* an AMD GPU's own arithmetic is asked for; the host has none such */
const struct cwh_matrix_model *cwh_matrix_model_named(const char *name);   /* NULL: no such */

/* How one float form is computed: elements in this order, of this format. */
struct cwh_dot {
    uint8_t type;               /* PTX_F16, PTX_BF16, PTX_TF32, PTX_E4M3, PTX_E5M2 (B may be the other of the last two) */
    uint8_t type_b;
    uint8_t c, d;               /* PTX_F16 or PTX_F32 */
    uint8_t block, fraction;
    uint16_t k, step;           /* elements; elements after which an f16 result is rounded to f16 */
    bool add_c;                 /* C is added at the end, with a rounding of its own */
};

/* One element of D. a, b: k elements, each in 32 bits. */
uint32_t cwh_dot_one(const struct cwh_dot *x, const uint32_t *a, const uint32_t *b, uint32_t c);

/* D of m x n, n a multiple of 8; a is [m][k], b is [n][k], c and d are [m][n]. The same bits as cwh_dot_one for each element. */
void cwh_dot_all(const struct cwh_dot *x, unsigned m, unsigned n, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d);
void cwh_dot_all_avx2(const struct cwh_dot *x, unsigned m, unsigned n, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d);

/* A whole instruction on fragments of 32 lanes, as cwh_rt_mma, under a given model. */
void cwh_matrix_mma(const struct cwh_matrix_model *model, const struct cwh_matrix *x, const void *a, const void *b, const void *c, void *d);
/* The same computed lane by lane and element by element (cwh_rt_mma_lane). */
void cwh_matrix_mma_lane(const struct cwh_matrix_model *model, const struct cwh_matrix *x, const uint64_t operands[32], uint32_t lane,
                         void *d);

/* Fragments. Register r of A (B: `b`) holds in lane 4g + t the 32-bit word (element, for f64) 4 * quarter + t of row
 * (column) row + g. cwh_matrix_distinct: registers without the copies that wmma's f16 fragments hold. */
unsigned cwh_matrix_distinct(const struct cwh_matrix *x, bool b);
void cwh_matrix_place(const struct cwh_matrix *x, bool b, unsigned r, unsigned *row, unsigned *quarter);
/* Where element i of a lane's C or D fragment is. */
void cwh_matrix_place_c(const struct cwh_matrix *x, unsigned lane, unsigned i, unsigned *row, unsigned *col);

#endif
