/* SPDX-License-Identifier: Apache-2.0
 * Fragments of matrix instructions on amdgcn: which lane holds what. Shared by amdgcn_matrix.c and amdgcn_mma.c. */
#ifndef CWJ_EMIT_TARGET_AMDGCN_MATRIX_H
#define CWJ_EMIT_TARGET_AMDGCN_MATRIX_H

#include "jit/emit/target/amdgcn/amdgcn_private.h"
#include "jit/ptx/matrix.h"

/* Words (elements, of f64) of a row of A or a column of B. */
unsigned gcn_matrix_words(unsigned k, uint8_t type);

/* Register `reg` of A (B: `b`) holds in lane 4g + t word 4 * quarter + t of row (column) row + g. */
struct gcn_place { unsigned row, quarter; };
struct gcn_place gcn_matrix_place(const struct ptx_matrix *m, bool b, uint8_t type, unsigned reg);
unsigned gcn_matrix_registers(const struct ptx_matrix *m, bool b, uint8_t type);        /* without copies */

/* Row and column of element i of this lane's C or D fragment. */
struct gcn_at { LLVMValueRef row, col; };
struct gcn_at gcn_matrix_element(struct emit *e, const struct ptx_matrix *m, unsigned i);

LLVMValueRef gcn_of_quad(struct emit *e, LLVMValueRef v, unsigned n);   /* the value of lane n of this lane's four */

/* The rows of A and columns of B that this lane's elements of D are of. On the long side, A (of m8n32: B), these are number i of g, g + 8, ..., whose words
 * lanes of the same four have. On the short one they are number j of 2t, 2t + 1, 2t + 8, 2t + 9, in other lanes (from `lane` on), the `second` two in other registers. */
struct gcn_operand {
    const struct ptx_matrix *m;
    bool b;
    uint8_t type;
};
struct gcn_short { LLVMValueRef lane, second; };
struct gcn_short gcn_short(struct emit *e, LLVMValueRef j);             /* j: an i32 */
LLVMValueRef gcn_long_word(struct emit *e, const struct gcn_operand *o, const LLVMValueRef *regs, unsigned i, unsigned w);
LLVMValueRef gcn_short_word(struct emit *e, const struct gcn_operand *o, const LLVMValueRef *regs, const struct gcn_short *at, unsigned w);

/* All of them. */
enum { GCN_MOST = 4, GCN_WORDS = 16 };          /* words of 32 bits */
struct gcn_side {
    unsigned count, words;
    LLVMValueRef word[GCN_MOST][GCN_WORDS];
};
/* The element of D that is of row i and column j of those. */
unsigned gcn_matrix_index(const struct ptx_matrix *m, unsigned i, unsigned j);

/* amdgcn_native.c: a form by matrix instructions. c and out: elements as the bits of f32. CDNA's needs a whole wave. */
bool gcn_native_has(const struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m);
void gcn_native_cdna(struct emit *e, const struct ptx_matrix *m, const struct gcn_side *a, const struct gcn_side *b, const LLVMValueRef *c,
                     LLVMValueRef *out);
void gcn_native_rdna(struct emit *e, const struct ptx_matrix *m, LLVMValueRef regs[3][8], const LLVMValueRef *c, LLVMValueRef *out);

/* mma.sp (9.7.14.6): `count` words of metadata that a lane needs, those of the lanes `first` on of its four. */
struct gcn_meta {
    unsigned words;             /* of a row of A as it is stored */
    bool halves;                /* four bits for four halves; otherwise eight for twice four bytes */
    unsigned count, first;
};
/* Which bytes of two words of a column of B word w of row i, which is stored, goes with, for V_PERM; meta: the words. */
LLVMValueRef gcn_choice(struct emit *e, const struct gcn_meta *s, const LLVMValueRef *meta, unsigned i, unsigned w);

LLVMValueRef gcn_chosen(struct emit *e, LLVMValueRef choice, LLVMValueRef lower, LLVMValueRef upper);      /* those bytes */

/* amdgcn_product.c: a call of the function for a whole product: of floats with Hopper's sums, m8n8k4 of f16, f64, or mma.sp of integers. out: D's registers. */
struct gcn_product {
    const struct ptx_inst *in;
    const struct ptx_matrix *m;
    unsigned k;                 /* stored of A */
    bool quad;                  /* f16's m8n8k4 */
    struct gcn_meta meta;
};
void gcn_product(struct emit *e, const struct gcn_product *p, LLVMValueRef regs[3][8], const LLVMValueRef *meta, LLVMValueRef *out);

/* Bodies of such functions in other files; out: elements of D, of f64 as i64. */
void gcn_quad(struct emit *e, const struct gcn_product *p, LLVMValueRef regs[3][8], LLVMValueRef *out);
void gcn_chains_f64(struct emit *e, LLVMValueRef fn, const struct gcn_product *p, LLVMValueRef regs[3][8], LLVMValueRef *out);
void gcn_sparse_dots(struct emit *e, const struct gcn_product *p, LLVMValueRef regs[3][8], const LLVMValueRef *meta, LLVMValueRef *out);

/* What these share (amdgcn_mma.c). */
void gcn_settle(struct emit *e, LLVMValueRef *v, unsigned n);           /* of one type: to be there before what follows begins */
LLVMValueRef gcn_unknown(struct emit *e, uint32_t v);                   /* a number that the optimiser does not know */
LLVMValueRef gcn_any(struct emit *e, LLVMValueRef p);                   /* in any lane of the wave? */
bool gcn_to_nearest(const struct ptx_inst *in);
LLVMValueRef gcn_element_of(struct emit *e, const LLVMValueRef *regs, uint8_t type, unsigned i);
void gcn_pack(struct emit *e, const struct ptx_matrix *m, LLVMValueRef *v);             /* elements of D into its registers */
void gcn_set_attribute(struct emit *e, LLVMValueRef fn, const char *name);
/* c + the products of the elements of a word of A and one of B, which are integers. */
LLVMValueRef gcn_dot(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* amdgcn_pair.c: an instruction behind `in` with the same B that is computed with it, or NULL; it is noted. Is `in` noted? */
const struct ptx_inst *gcn_partner(struct emit *e, const struct ptx_inst *in);
bool gcn_is_paired(struct emit *e, const struct ptx_inst *in);


#endif
