/* SPDX-License-Identifier: Apache-2.0
 * The building blocks of floating-point matrix products that are functions of the device library, for the model below (pairs.h), so that
 * clang optimises them when CUDAway is built. */
#ifndef CWJ_BUILTINS_FORMS_H
#define CWJ_BUILTINS_FORMS_H

enum { CWD_FORMS_MODEL = 4 };       /* matrix_models: sm_90, the default */

/* F(name, kind, words, type of the running sum) */
#define CWD_FORMS(F)                                                                    \
    F(narrow_4_f32, NARROW, 4, F32) F(narrow_8_f32, NARROW, 8, F32)                       \
    F(narrow_4_f16, NARROW, 4, F16) F(narrow_8_f16, NARROW, 8, F16)                       \
    F(wide_4_f32, WIDE, 4, F32) F(wide_8_f32, WIDE, 8, F32)                               \
    F(single_4_f32, SINGLE, 4, F32) F(single_8_f32, SINGLE, 8, F32)

#endif
