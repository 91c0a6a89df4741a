/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "forms": the building blocks of matrix products with Hopper's sums (pairs.h). Without them LLVM would
 * specialise cwd_mma_float for every program, which costs three times the rest of the compilation. */
#include "jit/builtins/forms.h"
#include "jit/builtins/pairs.h"

#define INLINED __attribute__((always_inline)) uint32_t

INLINED cwd_forms_weights_narrow(uint32_t values) { return pair_weights(values, PAIR_NARROW); }
INLINED cwd_forms_weights_wide(uint32_t elements) { return pair_weights(elements, PAIR_WIDE); }
INLINED cwd_forms_values_bf16(uint32_t elements) { return bf16_values(elements); }
INLINED cwd_forms_values_e4m3(uint32_t elements, uint32_t upper) { return e4m3_values(elements, upper); }
INLINED cwd_forms_values_e5m2(uint32_t elements, uint32_t upper) { return e5m2_values(elements, upper); }
INLINED cwd_forms_pair_tf32(uint32_t element) { return tf32_pair(element); }
INLINED cwd_forms_most(uint32_t most, uint32_t row, uint32_t col) { return pair_most(most, row, col); }
INLINED cwd_forms_widen(uint32_t sum) { return f16_to_f32(sum); }
INLINED cwd_forms_round(uint32_t sum) { return f32_to_f16(sum); }
INLINED cwd_forms_add_f32(uint32_t sum, uint32_t c) { return number_add_f32(sum, c); }
INLINED cwd_forms_add_f16(uint32_t sum, uint32_t c) { return number_add_f16(sum, c); }

#define QUAD(name, f, of_c)                                                                                           \
    INLINED cwd_forms_##name(uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1, uint32_t b2, uint32_t b3, uint32_t c) \
    {                                                                                                                 \
        return f((const uint32_t[]){ a0, a1, a2, a3 }, (const uint32_t[]){ b0, b1, b2, b3 }, of_c(c));                 \
    }
QUAD(quad_f32_f32, quad_f32, f32_of)
QUAD(quad_f32_f16, quad_f32, f16_value)
QUAD(quad_f16_f16, quad_f16, f16_value)

#define F(name, kind, words, type)                                                                                    \
    INLINED cwd_forms_##name(const uint32_t *row, const uint32_t *col, const uint32_t *row_weights, const uint32_t *col_weights, \
                             uint32_t greatest, uint32_t run, uint32_t special)                                       \
    {                                                                                                                 \
        return pair_block(PAIR_OF_##kind, words, PTX_##type, row, col, row_weights, col_weights, greatest, run, special); \
    }
CWD_FORMS(F)
#undef F
