/* SPDX-License-Identifier: Apache-2.0
 * Pseudo-instructions of amdgcn code: inline assembly that computes, and whose text is no assembly but a name and words. To LLVM each is one instruction,
 * whatever its length, until jit/llvm/amdgpu/pseudo.cpp expands it at the end of code generation.
 *
 * Registers have numbers: first those that come out, then those that go in, without those tied to one that comes out. A word is an operation, a character,
 * with operands between commas: numbers, each behind characters of GCN_OPERAND_FLAGS. */
#ifndef CWJ_EMIT_TARGET_AMDGCN_PSEUDO_H
#define CWJ_EMIT_TARGET_AMDGCN_PSEUDO_H

#include "jit/emit/annotation.h"

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gcn_pseudo_kind {
    /* f32. Out: the least of 2 * bits - 1 of all that go in, and two that are overwritten. */
    GCN_PSEUDO_SMALL,
    /* f32. A word for each result: 'f' (what is tied to it), '+', '*', '#' (a fused product) with its operands. Out: the results in this order with
     * zeros in place of subnormals, four that are overwritten, and a mask. */
    GCN_PSEUDO_FLUSH,
    /* f64. '?' words: one of the registers whose NaN are looked for. If a lane has one, '=' words: a register that comes out, and where it is NaN what it is
     * then: the first of the other operands that is NaN, quieted, else FP_NAN_F64. Out: those, an i32 that is overwritten, and a mask. What goes in
     * may be in scalar registers. */
    GCN_PSEUDO_NAN64,
    /* i32. Dot products of words of a row and of columns. One word 'd' with an enum gcn_dot, 1 where the row's elements have a sign (for instructions that can
     * choose), the same for the columns', how many words, and 1 for sums that saturate, once. Out: a sum for each column, tied to what it is added to,
     * and as many that are overwritten where sums saturate. In: the row's words, each column's. */
    GCN_PSEUDO_DOTS,
    /* f32: what goes in, with 0x7fffffff in place of NaN. On gfx9 that goes in, too, in a scalar register. */
    GCN_PSEUDO_MAX3,
    GCN_PSEUDOS
};

enum gcn_dot { GCN_DOT4_I32_IU8, GCN_DOT8_I32_IU4, GCN_DOT4_I32_I8, GCN_DOT4_U32_U8, GCN_DOT8_I32_I4, GCN_DOT8_U32_U4, GCN_DOTS };

/* NEGATED; FLUSHED: its subnormals count as zeros, before it is negated; INVALID: where it is NaN the result is FP_NAN_F64. */
enum { GCN_NEGATED = 1, GCN_FLUSHED = 2, GCN_INVALID = 4 };
#define GCN_OPERAND_FLAGS "-~!"

/* ---- writing ------------------------------------------------------------------------------------------------------------------- */

enum { GCN_PSEUDO_MOST = 128, GCN_PSEUDO_TEXT = 8192 };     /* registers that come out, that go in, operands of a word; characters */

struct gcn_pseudo {
    size_t length;
    unsigned nout, nin;
    bool convergent;            /* set by the caller: it stays in its block */
    LLVMTypeRef out[GCN_PSEUDO_MOST];
    LLVMValueRef tied[GCN_PSEUDO_MOST], in[GCN_PSEUDO_MOST];
    bool scalar_out[GCN_PSEUDO_MOST], scalar_in[GCN_PSEUDO_MOST];
    char text[GCN_PSEUDO_TEXT];
};

/* All that comes out, then what goes in; words at any time. Registers: the number is returned. Nothing here overflows for the callers' sizes. */
void gcn_pseudo_begin(struct gcn_pseudo *p, enum gcn_pseudo_kind kind);
unsigned gcn_pseudo_out(struct gcn_pseudo *p, LLVMTypeRef type, LLVMValueRef tied);     /* tied: what goes in there, or NULL */
void gcn_pseudo_mask(struct gcn_pseudo *p, LLVMContextRef c, bool wave64);              /* of lanes, in scalar registers */
unsigned gcn_pseudo_in(struct gcn_pseudo *p, LLVMValueRef v, bool scalar);
unsigned gcn_pseudo_in_once(struct gcn_pseudo *p, LLVMValueRef v, bool scalar);         /* the one that v is in, if there is one */
void gcn_pseudo_operation(struct gcn_pseudo *p, char operation);                        /* a new word */
void gcn_pseudo_operand(struct gcn_pseudo *p, unsigned flags, unsigned number);
LLVMValueRef gcn_pseudo_build(const struct gcn_pseudo *p, LLVMBuilderRef b);            /* a struct of all that comes out */
LLVMValueRef gcn_pseudo_max3(LLVMBuilderRef b, LLVMValueRef v, unsigned gfx);

/* Inline assembly of one or two arguments, the first of the result's type. */
LLVMValueRef gcn_assembly(LLVMBuilderRef b, const char *text, const char *constraints, LLVMValueRef *args, unsigned n);

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

struct gcn_pseudo_word {
    char operation;
    unsigned n;
    struct {
        unsigned flags, number;
    } operand[GCN_PSEUDO_MOST];
};

/* Moves *text behind the name, or the next word. False: it is no pseudo-instruction; there is no word, and *text is at its end unless it is malformed. */
bool gcn_pseudo_name(const char **text, enum gcn_pseudo_kind *kind);
bool gcn_pseudo_next(const char **text, struct gcn_pseudo_word *w);

#ifdef __cplusplus
}
#endif
#endif
