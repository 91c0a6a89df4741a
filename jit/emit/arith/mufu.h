/* SPDX-License-Identifier: Apache-2.0
 * The special function unit of NVIDIA's hardware (MUFU), to the bit. Each function maps the bits of an operand (i32, or one a
 * lane) to the bits of the result. Subnormal operands are zeros to the unit and its results are never subnormal (but tanh
 * passes small operands on). The _full functions are the PTX instructions without .ftz: the machine code scales operands and
 * results around the unit where they are subnormal. docs/approximations.md says how all this was found and checked. */
#ifndef CWJ_EMIT_ARITH_MUFU_H
#define CWJ_EMIT_ARITH_MUFU_H

#include "jit/emit/arith/arith_private.h"

LLVMValueRef mufu_rcp(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_rsq(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_sqrt(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_lg2(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_ex2(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_sin(struct emit *e, LLVMValueRef bits);         /* in radians: with the multiplication that precedes it */
LLVMValueRef mufu_cos(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_tanh(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_rcp64h(struct emit *e, LLVMValueRef bits);      /* of the upper halves of f64 */
LLVMValueRef mufu_rsq64h(struct emit *e, LLVMValueRef bits);

LLVMValueRef mufu_rcp_full(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_rsq_full(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_sqrt_full(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_lg2_full(struct emit *e, LLVMValueRef bits);
LLVMValueRef mufu_ex2_full(struct emit *e, LLVMValueRef bits);

/* How a dividend and a divisor (f32) are scaled where the divisor is subnormal or above 2^126; both stay as they are elsewhere. */
struct mufu_scale {
    void (*both)(struct emit *e, LLVMValueRef *a, LLVMValueRef *b, bool full, bool ftz);
    bool full, ftz;
};
/* Where the target has paths of its own (emit_target.mufu): rcp of the scaled b, as an f32; *a becomes the scaled one. Nothing is scaled where no lane of the wave needs it. */
LLVMValueRef mufu_div(struct emit *e, LLVMValueRef *a, LLVMValueRef b, const struct mufu_scale *scale);

/* There, too: body's f32 of two f32, which calls mufu_div, outside of loops as a function of this name, which begins with "mufu.". It depends on nothing
 * but its name. */
struct mufu_quotient {
    const char *name;
    LLVMValueRef (*body)(struct emit *e, LLVMValueRef a, LLVMValueRef b, const void *what);
    const void *what;
};
LLVMValueRef mufu_quotient(struct emit *e, LLVMValueRef a, LLVMValueRef b, const struct mufu_quotient *q);

#endif
