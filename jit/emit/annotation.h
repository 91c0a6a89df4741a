/* SPDX-License-Identifier: Apache-2.0
 * Annotations: calls that the emitter puts around float results of amdgcn code, for jit/passes/exact to replace. The first operand is the
 * result as the processor computes it; the operands of the operation follow. The value of the call is the result of an NVIDIA GPU. */
#ifndef CWJ_EMIT_ANNOTATION_H
#define CWJ_EMIT_ANNOTATION_H

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stdint.h>

/* The NaN of an f64 operation without a NaN operand. */
#define FP_NAN_F64 UINT64_C(0xfff8000000000000)

struct emit;

enum emit_annotation {
    /* f64: a NaN result becomes the NaN that an H200 gives for one to three operands. */
    EMIT_NAN64_1, EMIT_NAN64_2, EMIT_NAN64_3,
    /* f32: a subnormal result becomes a zero of its sign. FLUSH: a result of any operation. FLUSHED: a result known not to be subnormal.
     * The others: an operation with round-to-nearest and operands that are not subnormal; its result becomes zero if it is subnormal when
     * rounded with an unbounded exponent. */
    EMIT_FLUSH, EMIT_FLUSHED, EMIT_FLUSH_ADD, EMIT_FLUSH_MUL, EMIT_FLUSH_FMA,
    EMIT_ANNOTATIONS
};

/* Annotate r; pass NULL for operands that the kind lacks. Returns the call, which the module owns. */
LLVMValueRef emit_annotate(struct emit *e, enum emit_annotation kind, LLVMValueRef r, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* The kind of annotation v; EMIT_ANNOTATIONS if it is none. */
enum emit_annotation emit_annotation_of(LLVMValueRef v);

bool emit_is_flush(LLVMValueRef v);             /* EMIT_FLUSH to EMIT_FLUSH_FMA */

/* The function that annotations of a kind call in this module; NULL if there are none. */
LLVMValueRef emit_annotation_function(LLVMModuleRef m, enum emit_annotation kind);

/* Suffix of the names of functions that compute roots of operands known not to be small. */
#define EMIT_LARGE ".large"

#endif
