/* SPDX-License-Identifier: Apache-2.0
 * The special function unit of NVIDIA's hardware (MUFU), bit by bit. Each function maps the bits of an operand (i32, or one per lane) to
 * the bits of the result. The unit treats subnormal operands as zero and returns no subnormals (except that tanh returns small operands).
 * The FULL functions are the PTX instructions without .ftz: their machine code scales operands and results around the unit where they are
 * subnormal. docs/approximations.md says how this was found and checked. */
#ifndef CWJ_EMIT_ARITH_MUFU_H
#define CWJ_EMIT_ARITH_MUFU_H

#include "jit/emit/arith/arith_private.h"

enum mufu_function {    /* up to LG2_FULL, odd numbers are functions without .ftz; those from TANH on have no path of a target's own */
    MUFU_RCP, MUFU_RCP_FULL, MUFU_RSQ, MUFU_RSQ_FULL, MUFU_SQRT, MUFU_SQRT_FULL, MUFU_EX2, MUFU_EX2_FULL, MUFU_LG2, MUFU_LG2_FULL,
    MUFU_SIN, MUFU_COS,             /* in radians: includes the multiplication that precedes it */
    MUFU_TANH,
    MUFU_RCP64H, MUFU_RSQ64H,       /* of the upper half of an f64 */
};
LLVMValueRef mufu(struct emit *e, enum mufu_function function, LLVMValueRef bits);

/* Scaling of a dividend and a divisor (f32) if the divisor is subnormal or above 2^126; otherwise both stay unchanged. */
struct mufu_scale {
    void (*both)(struct emit *e, LLVMValueRef *a, LLVMValueRef *b, bool full, bool ftz);
    bool full, ftz;
};
/* For targets with paths of their own (emit_target.mufu): rcp of the scaled b, as an f32; *a becomes the scaled dividend. No scaling code
 * runs unless some lane of the wave needs it. */
LLVMValueRef mufu_div(struct emit *e, LLVMValueRef *a, LLVMValueRef b, const struct mufu_scale *scale);

/* Likewise: emits `body`, a function of two f32 that calls mufu_div. Outside of loops it becomes a function of this name, which begins with
 * "mufu." and alone determines the body. */
struct mufu_quotient {
    const char *name;
    LLVMValueRef (*body)(struct emit *e, LLVMValueRef a, LLVMValueRef b, const void *what);
    const void *what;
};
LLVMValueRef mufu_quotient(struct emit *e, LLVMValueRef a, LLVMValueRef b, const struct mufu_quotient *q);

#endif
