/* SPDX-License-Identifier: Apache-2.0
 * Fragments of matrix instructions on amdgcn: which lane holds which element. Shared by matrix.c and the mma files. */
#ifndef CWJ_EMIT_TARGET_AMDGCN_MATRIX_H
#define CWJ_EMIT_TARGET_AMDGCN_MATRIX_H

#include "jit/emit/target/amdgcn/amdgcn_private.h"
#include "jit/ptx/matrix.h"

/* Words (of f64: elements) of a row of A or a column of B. */
unsigned gcn_matrix_words(unsigned k, uint8_t type);

/* In lane 4g + t, register `reg` of A (B: `b`) holds word 4 * quarter + t of row (column) row + g. */
struct gcn_place { unsigned row, quarter; };
struct gcn_place gcn_matrix_place(const struct ptx_matrix *m, bool b, uint8_t type, unsigned reg);
unsigned gcn_matrix_registers(const struct ptx_matrix *m, bool b, uint8_t type);        /* repeated registers not counted */

LLVMValueRef gcn_of_quad(struct emit *e, LLVMValueRef v, unsigned n);   /* the value in lane n of this lane's group of four */

/* The rows of A and columns of B from which this lane's elements of D are computed. In the long operand, A (of m8n32: B), these are the
 * rows g, g + 8, ..., held by the same four lanes. In the short one they are numbers 2t, 2t + 1, 2t + 8, 2t + 9, held by other lanes (from
 * `lane` on), the `second` two in other registers. */
struct gcn_operand {
    const struct ptx_matrix *m;
    bool b;
    uint8_t type;
};
struct gcn_short { LLVMValueRef lane, second; };
struct gcn_short gcn_short(struct emit *e, LLVMValueRef j);             /* j: an i32 */
LLVMValueRef gcn_long_word(struct emit *e, const struct gcn_operand *o, const LLVMValueRef *regs, unsigned i, unsigned w);
LLVMValueRef gcn_short_word(struct emit *e, const struct gcn_operand *o, const LLVMValueRef *regs, const struct gcn_short *at, unsigned w);

/* All the rows or columns of an operand that this lane needs. */
enum { GCN_MOST = 4, GCN_WORDS = 16 };          /* 32-bit words */
struct gcn_gathered {
    unsigned count, words;
    LLVMValueRef word[GCN_MOST][GCN_WORDS];
};
/* The index of the element of D in row i and column j of those. */
unsigned gcn_matrix_index(const struct ptx_matrix *m, unsigned i, unsigned j);

/* mma_native.c: a form by AMD's matrix instructions. c and out: elements as the bits of f32. CDNA needs a whole wave. */
bool gcn_native_has(const struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m);
void gcn_native_cdna(struct emit *e, const struct ptx_matrix *m, const struct gcn_gathered *a, const struct gcn_gathered *b, const LLVMValueRef *c,
                     LLVMValueRef *out);
void gcn_native_rdna(struct emit *e, const struct ptx_matrix *m, LLVMValueRef regs[3][8], const LLVMValueRef *c, LLVMValueRef *out);

/* mma.sp (9.7.14.6): a lane needs `count` words of metadata, from the lanes `first` on of its four. */
struct gcn_meta {
    unsigned words;             /* of a row of A as stored */
    bool halves;                /* four bits for four halves; otherwise eight bits for two times four bytes */
    unsigned count, first;
};
/* Selector for V_PERM: the bytes of two words of a column of B that belong to word w of row i as stored; meta: the metadata. */
LLVMValueRef gcn_choice(struct emit *e, const struct gcn_meta *s, const LLVMValueRef *meta, unsigned i, unsigned w);

LLVMValueRef gcn_chosen(struct emit *e, LLVMValueRef choice, LLVMValueRef lower, LLVMValueRef upper);      /* the selected bytes */

/* mma_function.c: a call of the function for a whole product: floats with Hopper's sums, m8n8k4 of f16, f64, or mma.sp of integers. out:
 * D's registers. */
struct gcn_product {
    const struct ptx_inst *in;
    const struct ptx_matrix *m;
    unsigned k;                 /* as stored in A */
    bool quad;                  /* m8n8k4 of f16 */
    struct gcn_meta meta;
};
void gcn_product(struct emit *e, const struct gcn_product *p, LLVMValueRef regs[3][8], const LLVMValueRef *meta, LLVMValueRef *out);

/* Bodies of such functions in other files; out: elements of D, f64 as i64. */
void gcn_quad(struct emit *e, const struct gcn_product *p, LLVMValueRef regs[3][8], LLVMValueRef *out);
void gcn_chains_f64(struct emit *e, LLVMValueRef fn, const struct gcn_product *p, LLVMValueRef regs[3][8], LLVMValueRef *out);
void gcn_sparse_dots(struct emit *e, const struct gcn_product *p, LLVMValueRef regs[3][8], const LLVMValueRef *meta, LLVMValueRef *out);

/* Shared by these (mma.c). */
void gcn_settle(struct emit *e, LLVMValueRef *v, unsigned n);           /* values of one type: computed before anything that follows */
LLVMValueRef gcn_unknown(struct emit *e, uint32_t v);                   /* a number hidden from the optimiser */
LLVMValueRef gcn_any(struct emit *e, LLVMValueRef p);                   /* true in some lane of the wave? */
bool gcn_to_nearest(const struct ptx_inst *in);
LLVMValueRef gcn_element_of(struct emit *e, const LLVMValueRef *regs, uint8_t type, unsigned i);
void gcn_pack(struct emit *e, const struct ptx_matrix *m, LLVMValueRef *v);             /* elements of D to its registers */
/* c + the products of the integer elements of a word of A and one of B. */
LLVMValueRef gcn_dot(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* mma_pair.c: find an instruction behind `in` with the same B, to compute both together, and record it; or NULL. Is `in` recorded? */
const struct ptx_inst *gcn_partner(struct emit *e, const struct ptx_inst *in);
bool gcn_is_paired(struct emit *e, const struct ptx_inst *in);


#endif
