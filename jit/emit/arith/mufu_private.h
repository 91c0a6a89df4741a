/* SPDX-License-Identifier: Apache-2.0
 * The interface between mufu.c and targets with paths of their own for the unit (struct emit_target.mufu). */
#ifndef CWJ_EMIT_ARITH_MUFU_PRIVATE_H
#define CWJ_EMIT_ARITH_MUFU_PRIVATE_H

#include "jit/emit/arith/mufu.h"

enum { MUFU_MAX_SEGMENTS = 128 };

struct mufu_table {
    const char *name;
    unsigned segments;
    const uint32_t (*coefficients)[2];      /* c0, c1 | c2 << 16 */
};

struct mufu_target {
    /* The function's result for the bits of an operand (i32); t is the function's table. */
    LLVMValueRef (*function)(struct emit *e, enum mufu_function f, const struct mufu_table *t, LLVMValueRef bits);
    /* mufu_div and mufu_quotient; t is rcp's. */
    LLVMValueRef (*div)(struct emit *e, const struct mufu_table *t, LLVMValueRef *a, LLVMValueRef b, const struct mufu_scale *scale);
    LLVMValueRef (*quotient)(struct emit *e, const struct mufu_table *t, LLVMValueRef a, LLVMValueRef b, const struct mufu_quotient *q);
};

#endif
