/* SPDX-License-Identifier: Apache-2.0
 * A decoded matrix instruction (9.7.14): shape, element types, layouts and registers per lane. Only matrix.c knows which forms exist; the
 * checks, the emitter and the coverage page use it. */
#ifndef CWJ_PTX_MATRIX_H
#define CWJ_PTX_MATRIX_H

#include "jit/abi/host.h"
#include "jit/ptx/ir.h"

struct ptx_matrix {
    uint16_t m, n, k;
    uint8_t d, a, b, c;         /* ptx_type of the elements; for wmma.load and wmma.store all are the matrix's type */
    uint8_t nd, na, nb, nc;     /* registers per lane */
    bool a_col, b_col;          /* layouts; wmma.load, wmma.store: a_col */
    uint8_t min_sm;
    uint8_t chunk;              /* mma.sp: columns of A described by four bits of metadata, half of which are stored; else 0 */
};

/* Decode mma, mma.sp or wmma.mma. Returns NULL, or a message that says why the form does not exist. */
const char *ptx_matrix_mma(const struct ptx_inst *in, struct ptx_matrix *out);

/* Decode wmma.load and wmma.store: m, n, k, d (its type), nd (its registers), a_col. `fragment`: 0..3 for a, b, c, d. */
const char *ptx_matrix_fragment(const struct ptx_inst *in, struct ptx_matrix *out, unsigned *fragment);

/* Matrices of ldmatrix and stmatrix: 1, 2 or 4. */
unsigned ptx_matrix_count(const struct ptx_inst *in);

/* The instruction for the code that computes it, which may want more of it. */
static inline struct cwh_matrix
ptx_matrix_form(const struct ptx_inst *in, const struct ptx_matrix *m)
{
    return (struct cwh_matrix){
        .op = in->op, .m = m->m, .n = m->n, .k = m->k, .a = m->a, .b = m->b, .c = m->c, .d = m->d, .na = m->na, .nb = m->nb, .nc = m->nc,
        .nd = m->nd, .a_col = m->a_col, .b_col = m->b_col, .boolop = in->boolop, .satfinite = (in->flags & PTX_F_SATFINITE) != 0,
    };
}

/* mma.sp: the largest sparsity selector. Four, two or one lanes of every four may supply the metadata. */
unsigned ptx_matrix_selector(const struct ptx_matrix *x);

#endif
