/* SPDX-License-Identifier: Apache-2.0
 * Fragments of matrix instructions on amdgcn: which lane holds what. Shared by amdgcn_matrix.c and amdgcn_mma.c. */
#ifndef CWJ_AMDGCN_MATRIX_H
#define CWJ_AMDGCN_MATRIX_H

#include "jit/emit/amdgcn_private.h"
#include "jit/ptx/matrix.h"

/* Words (elements, of f64) of a row of A or a column of B. */
unsigned gcn_matrix_words(unsigned k, uint8_t type);

/* Register `reg` of A (B: `b`) holds in lane 4g + t word 4 * quarter + t of row (column) row + g. */
struct gcn_place { unsigned row, quarter; };
struct gcn_place gcn_matrix_place(const struct ptx_matrix *m, bool b, uint8_t type, unsigned reg);
unsigned gcn_matrix_registers(const struct ptx_matrix *m, bool b, uint8_t type);        /* without copies */

/* Row and column of element i of this lane's C or D fragment. */
struct gcn_at { LLVMValueRef row, col; };
struct gcn_at gcn_matrix_element(struct emit *e, const struct ptx_matrix *m, unsigned i);

void gcn_mma(struct emit *e, const struct ptx_inst *in);        /* mma.sync, wmma.mma */

#endif
