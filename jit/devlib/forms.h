/* SPDX-License-Identifier: Apache-2.0
 * The forms of floating-point matrix products that the device library has as functions of their own, for the model below: clang has them done
 * when CUDAway is built. */
#ifndef CWD_FORMS_H
#define CWD_FORMS_H

enum { CWD_FORMS_MODEL = 4 };       /* matrix_models: sm_90, what programs get unless they ask for another */

/* F(name, op, k, d, a, b, c, words): words of a row of A, and of a column of B. Only with tf32 does op count. */
#define CWD_FORMS_FLOAT8(F, a, b)                                                                                   \
    F(a##_##b##_k16_f32, MMA, 16, F32, a, b, F32, 4)   F(a##_##b##_k16_f16, MMA, 16, F16, a, b, F16, 4)               \
    F(a##_##b##_k32_f32, MMA, 32, F32, a, b, F32, 8)   F(a##_##b##_k32_f16, MMA, 32, F16, a, b, F16, 8)
#define CWD_FORMS(F)                                                                                                \
    F(f16_k8_f32, MMA, 8, F32, F16, F16, F32, 4)       F(f16_k8_f16, MMA, 8, F16, F16, F16, F16, 4)                   \
    F(f16_k8_f16_f32, MMA, 8, F16, F16, F16, F32, 4)   F(f16_k8_f32_f16, MMA, 8, F32, F16, F16, F16, 4)               \
    F(f16_k16_f32, MMA, 16, F32, F16, F16, F32, 8)     F(f16_k16_f16, MMA, 16, F16, F16, F16, F16, 8)                 \
    F(f16_k16_f16_f32, MMA, 16, F16, F16, F16, F32, 8) F(f16_k16_f32_f16, MMA, 16, F32, F16, F16, F16, 8)             \
    F(bf16_k8, MMA, 8, F32, BF16, BF16, F32, 4)        F(bf16_k16, MMA, 16, F32, BF16, BF16, F32, 8)                  \
    F(tf32_k4, MMA, 4, F32, TF32, TF32, F32, 4)        F(tf32_k8, MMA, 8, F32, TF32, TF32, F32, 8)                    \
    F(tf32_k8_wmma, WMMA_MMA, 8, F32, TF32, TF32, F32, 8)                                                             \
    CWD_FORMS_FLOAT8(F, E4M3, E4M3) CWD_FORMS_FLOAT8(F, E4M3, E5M2)                                                   \
    CWD_FORMS_FLOAT8(F, E5M2, E4M3) CWD_FORMS_FLOAT8(F, E5M2, E5M2)

#endif
