/* SPDX-License-Identifier: Apache-2.0
 * Annotations: calls that the emitter puts on float results of amdgcn code, for jit/passes/exact to replace. The first operand is the result as the
 * processor computes it; the operands of the operation follow. The value of the call is what an NVIDIA GPU gives. */
#ifndef CWJ_EMIT_ANNOTATION_H
#define CWJ_EMIT_ANNOTATION_H

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stdint.h>

/* The NaN that an f64 operation gives where no operand is NaN. */
#define FP_NAN_F64 UINT64_C(0xfff8000000000000)

struct emit;

enum emit_annotation {
    /* f64: a NaN result is the NaN that an H200 makes of one to three operands. */
    EMIT_NAN64_1, EMIT_NAN64_2, EMIT_NAN64_3,
    /* f32: a subnormal result is a zero of its sign. FLUSH: of any origin. FLUSHED: known not to be subnormal. The others: of an operation rounded to
     * nearest, whose operands are not subnormal; the result is zero where it is subnormal when rounded as if exponents had no end. */
    EMIT_FLUSH, EMIT_FLUSHED, EMIT_FLUSH_ADD, EMIT_FLUSH_MUL, EMIT_FLUSH_FMA,
    EMIT_ANNOTATIONS
};

/* Annotates r; operands that the kind does not have are NULL. */
LLVMValueRef emit_annotate(struct emit *e, enum emit_annotation kind, LLVMValueRef r, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* Which annotation v is; EMIT_ANNOTATIONS: none. */
enum emit_annotation emit_annotation_of(LLVMValueRef v);

bool emit_is_flush(LLVMValueRef v);             /* one of EMIT_FLUSH to EMIT_FLUSH_FMA */

/* The function that annotations of a kind call in this module, or NULL. */
LLVMValueRef emit_annotation_function(LLVMModuleRef m, enum emit_annotation kind);

/* What the names of functions end with that compute roots of operands known not to be small. */
#define EMIT_LARGE ".large"

#endif
