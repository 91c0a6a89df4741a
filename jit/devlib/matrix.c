/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "matrix": the exact arithmetic of NVIDIA's matrix instructions for one element. */
#include "impl/host/matrix_core.h"

/* One element of D (all forms but f64 and f16's m8n8k4). row, col: the 32-bit words of A's row and of B's column, k elements in
 * their order; model: index into matrix_models. Everything but the operands is best a constant of the caller. */
uint32_t
cwd_matrix_element(const struct cwh_matrix *x, uint32_t model, const uint32_t *row, const uint32_t *col, uint32_t c)
{
    return matrix_element(&matrix_models[model], x, row, col, c);
}

/* One element of f16's m8n8k4; a, b: four halves, each in a word. ct, dt: PTX_F16 or PTX_F32. */
uint32_t
cwd_matrix_quad(uint32_t ct, uint32_t dt, const uint32_t *a, const uint32_t *b, uint32_t c)
{
    return dot_quad((uint8_t)ct, (uint8_t)dt, a, b, c);
}
