/* SPDX-License-Identifier: Apache-2.0
 * Between mufu.c and mufu_amdgcn.c. */
#ifndef CWJ_MUFU_PRIVATE_H
#define CWJ_MUFU_PRIVATE_H

#include "jit/emit/mufu.h"

enum { MUFU_MAX_SEGMENTS = 128 };

struct mufu_table {
    const char *name;
    unsigned segments;
    const uint32_t (*coefficients)[2];      /* c0, c1 | c2 << 16 */
};

enum mufu_gcn {         /* up to LG2_FULL the odd ones are without .ftz */
    MUFU_GCN_RCP, MUFU_GCN_RCP_FULL, MUFU_GCN_RSQ, MUFU_GCN_RSQ_FULL, MUFU_GCN_SQRT, MUFU_GCN_SQRT_FULL, MUFU_GCN_EX2, MUFU_GCN_EX2_FULL,
    MUFU_GCN_LG2, MUFU_GCN_LG2_FULL, MUFU_GCN_SIN, MUFU_GCN_COS,
};

/* The function's result for the bits of an operand (i32), emitted for amdgcn; t is the function's table. */
LLVMValueRef mufu_gcn(struct emit *e, enum mufu_gcn function, const struct mufu_table *t, LLVMValueRef bits);

/* mufu_div; t is rcp's. */
LLVMValueRef mufu_gcn_div(struct emit *e, const struct mufu_table *t, LLVMValueRef *a, LLVMValueRef b, const struct mufu_scale *scale);

/* mufu_quotient; t is rcp's. */
LLVMValueRef mufu_gcn_quotient(struct emit *e, const struct mufu_table *t, LLVMValueRef a, LLVMValueRef b, const struct mufu_quotient *q);

#endif
