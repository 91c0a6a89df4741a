/* SPDX-License-Identifier: Apache-2.0
 * Pseudo-instructions of amdgcn code: inline assembly whose text is not assembly but a name and words. LLVM treats each as one instruction,
 * whatever its length, until jit/llvm/amdgpu/pseudo.cpp expands it at the end of code generation.
 *
 * Registers are numbered: first the outputs, then the inputs that are not tied to an output. A word is an operation, a character, followed
 * by operands separated by commas: numbers, each prefixed by characters of GCN_OPERAND_FLAGS. */
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
    /* f32. Outputs: the minimum of 2 * bits - 1 over all inputs, and two scratch registers. */
    GCN_PSEUDO_SMALL,
    /* f32. One word per result: 'f' (the input tied to it), '+', '*', '#' (fused product) with its operands. Outputs: the results in this
     * order, subnormals flushed, then four scratch registers and a mask. */
    GCN_PSEUDO_FLUSH,
    /* f64. '?' words: a register to test for NaN. If one is NaN in some lane, '=' words: an output and, if that is NaN, its new value: the
     * first of the other operands that is NaN, quieted, else FP_NAN_F64. Outputs: those, an i32 scratch register, and a mask. Inputs may be
     * in SGPRs. */
    GCN_PSEUDO_NAN64,
    /* i32. Dot products of the words of a row with those of columns. One word 'd' with: an enum gcn_dot; 1 if the row's elements are signed
     * (for instructions that can choose); the same for the columns'; the number of words; 1 if sums saturate once. Outputs: a sum per
     * column, tied to its addend, and as many scratch registers if sums saturate. Inputs: the row's words, then each column's. */
    GCN_PSEUDO_DOTS,
    /* f32: the input, with 0x7fffffff in place of NaN. On gfx9 that constant is an input, too, in an SGPR. */
    GCN_PSEUDO_MAX3,
    GCN_PSEUDOS
};

enum gcn_dot { GCN_DOT4_I32_IU8, GCN_DOT8_I32_IU4, GCN_DOT4_I32_I8, GCN_DOT4_U32_U8, GCN_DOT8_I32_I4, GCN_DOT8_U32_U4, GCN_DOTS };

/* NEGATED; FLUSHED: flush subnormals before the negation; INVALID: if it is NaN, the result is FP_NAN_F64. */
enum { GCN_NEGATED = 1, GCN_FLUSHED = 2, GCN_INVALID = 4 };
#define GCN_OPERAND_FLAGS "-~!"

/* ---- writing ------------------------------------------------------------------------------------------------------------------- */

enum { GCN_PSEUDO_MOST = 128, GCN_PSEUDO_TEXT = 8192 };     /* outputs, inputs, operands of a word; characters */

struct gcn_pseudo {
    size_t length;
    unsigned nout, nin;
    bool convergent;            /* set by the caller: keep it in its block */
    LLVMTypeRef out[GCN_PSEUDO_MOST];
    LLVMValueRef tied[GCN_PSEUDO_MOST], in[GCN_PSEUDO_MOST];
    bool scalar_out[GCN_PSEUDO_MOST], scalar_in[GCN_PSEUDO_MOST];
    char text[GCN_PSEUDO_TEXT];
};

/* Add all outputs, then the inputs; words at any time. Functions for registers return the number. The sizes suffice for all callers. */
void gcn_pseudo_begin(struct gcn_pseudo *p, enum gcn_pseudo_kind kind);
unsigned gcn_pseudo_out(struct gcn_pseudo *p, LLVMTypeRef type, LLVMValueRef tied);     /* tied: its input, or NULL */
void gcn_pseudo_mask(struct gcn_pseudo *p, LLVMContextRef c, bool wave64);              /* a lane mask, in SGPRs */
unsigned gcn_pseudo_in(struct gcn_pseudo *p, LLVMValueRef v, bool scalar);
unsigned gcn_pseudo_in_once(struct gcn_pseudo *p, LLVMValueRef v, bool scalar);         /* reuses an input that holds v */
void gcn_pseudo_operation(struct gcn_pseudo *p, char operation);                        /* begin a new word */
void gcn_pseudo_operand(struct gcn_pseudo *p, unsigned flags, unsigned number);
LLVMValueRef gcn_pseudo_build(const struct gcn_pseudo *p, LLVMBuilderRef b);            /* a struct of all outputs */
LLVMValueRef gcn_pseudo_max3(LLVMBuilderRef b, LLVMValueRef v, unsigned gfx);

/* End the builder's block: branch to `rare` where the i1 `any` is set in some lane of the wave, once in `odds` times, else to `usual`. */
void gcn_branch_rare(LLVMBuilderRef b, LLVMValueRef any, bool wave64, LLVMBasicBlockRef rare, LLVMBasicBlockRef usual, unsigned odds);

/* Inline assembly with one or two arguments; the first has the result's type. */
LLVMValueRef gcn_assembly(LLVMBuilderRef b, const char *text, const char *constraints, LLVMValueRef *args, unsigned n);

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

struct gcn_pseudo_word {
    char operation;
    unsigned n;
    struct {
        unsigned flags, number;
    } operand[GCN_PSEUDO_MOST];
};

/* Move *text behind the name, or behind the next word. False: not a pseudo-instruction; no further word, and *text is at its end unless it
 * is malformed. */
bool gcn_pseudo_name(const char **text, enum gcn_pseudo_kind *kind);
bool gcn_pseudo_next(const char **text, struct gcn_pseudo_word *w);

#ifdef __cplusplus
}
#endif
#endif
