/* SPDX-License-Identifier: Apache-2.0
 * The differences among generations of NVIDIA's matrix units, and the description of a float product (docs/matrix.md). */
#ifndef CWJ_BUILTINS_CORE_MATRIX_MODEL_H
#define CWJ_BUILTINS_CORE_MATRIX_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* One hardware generation. */
struct cwh_matrix_model {
    const char *name;
    uint8_t sm;                 /* from this compute capability on */
    uint8_t block16, block32;   /* products added at once: f16 and bf16, tf32 */
    uint8_t fraction;           /* bits below the largest exponent */
    uint8_t block8, fraction8;  /* e4m3, e5m2; block8 0: converted to f16, see docs/matrix.md */
};

/* The computation of one float form: elements in order of addition, in this format. */
struct cwh_dot {
    uint8_t type;               /* PTX_F16, PTX_BF16, PTX_TF32, PTX_E4M3, PTX_E5M2 (B may be the other of the last two) */
    uint8_t type_b;
    uint8_t c, d;               /* PTX_F16 or PTX_F32 */
    uint8_t block, fraction;
    uint16_t k, step;           /* elements; elements after which an f16 result is rounded to f16 */
    bool add_c;                 /* C is added at the end, with a rounding of its own */
};

#endif
