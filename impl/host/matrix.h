/* SPDX-License-Identifier: Apache-2.0
 * The arithmetic of NVIDIA's matrix instructions on the host device; docs/matrix.md says what is known about it and from where.
 * A sum of products is made in blocks: the products of a block are exact, they and the running sum are aligned to the largest
 * exponent among them, truncated `fraction` bits below it, and added as integers. */
#ifndef CWH_MATRIX_H
#define CWH_MATRIX_H

#include "jit/abi/host.h"
#include "jit/builtins/core/matrix_model.h"

#include <stdbool.h>

const struct cwh_matrix_model *cwh_matrix_model(void);     /* of the device that is emulated */
bool cwh_matrix_native(void);                               /* an AMD GPU's own arithmetic; has no effect on the host */
const struct cwh_matrix_model *cwh_matrix_model_named(const char *name);   /* NULL: no such */

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
