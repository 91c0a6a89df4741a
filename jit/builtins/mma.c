/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "mma": floating-point matrix products of any form and model (forms.c has the usual ones). */
#include "jit/builtins/mma.h"

__attribute__((always_inline)) uint32_t
cwd_mma_float(const struct cwh_matrix *x, uint32_t model, const uint32_t *row, const uint32_t *col, uint32_t c)
{
    return mma_float(x, model, row, col, c);
}
