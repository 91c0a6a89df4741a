/* SPDX-License-Identifier: Apache-2.0
 * Bodies of functions for matrix products that need no model of a GPU generation's sums (docs/matrix.md): f64, a chain of fma over
 * ascending k; mma.sp of integers, dot products of words. */
#include "jit/emit/target/amdgcn/matrix.h"
#include "jit/emit/arith/fp_private.h"

#include <string.h>

/* ---- f64 ----------------------------------------------------------------------------------------------------------------------- */

enum { HALVES = 2, QUARTER = 4 };       /* words of an element; elements that four lanes hold in a register each */

/* Registers of A and B by halves: lanes exchange words. */
struct fragments {
    struct gcn_short column[2];
    V reg[2][HALVES][8];
};

/* Number of registers that hold k elements of a row of A and a column of B. */
static unsigned
quarters(const struct ptx_matrix *m)
{
    return m->k / QUARTER;
}

static V
join(struct emit *e, const V word[HALVES])
{
    V v = LLVMGetUndef(LLVMVectorType(e->i32, HALVES));
    for (unsigned h = 0; h < HALVES; h++)
        v = LLVMBuildInsertElement(e->b, v, word[h], i32(e, h), "");
    return LLVMBuildBitCast(e->b, v, e->f64, "");
}

static void
split(struct emit *e, V v, V word[HALVES])
{
    v = LLVMBuildBitCast(e->b, v, LLVMVectorType(e->i32, HALVES), "");
    for (unsigned h = 0; h < HALVES; h++)
        word[h] = LLVMBuildExtractElement(e->b, v, i32(e, h), "");
}

/* Element k of row (column) i. */
static V
element(struct emit *e, const struct ptx_matrix *m, bool b, const struct fragments *f, unsigned i, unsigned k)
{
    const struct gcn_operand o = { m, b, PTX_F64 };
    V word[HALVES];
    for (unsigned h = 0; h < HALVES; h++)
        word[h] = b ? gcn_short_word(e, &o, f->reg[b][h], &f->column[i], k) : gcn_long_word(e, &o, f->reg[b][h], i, k);
    return join(e, word);
}

/* The result r of fma(a, b, c) with NVIDIA's NaN: that of b, else of c, else of a. The end of the chain quiets it. */
static V
with_nan(struct emit *e, V a, V b, V c, V r)
{
    V nan = fp_as_float(e, LLVMConstInt(e->i64, FP_NAN_F64, false)), operand[3] = { a, c, b };
    for (unsigned i = 0; i < 3; i++)
        nan = LLVMBuildSelect(e->b, fp_is_nan(e, operand[i]), operand[i], nan, "");
    return LLVMBuildSelect(e->b, fp_is_nan(e, r), nan, r, "");
}

/* Elements k to k + 3 of the chains d. `nan`: choose the NaN as NVIDIA does. */
static void
links(struct emit *e, const struct gcn_product *p, const struct fragments *f, unsigned k, bool nan, V *d)
{
    const struct ptx_matrix *m = p->m;
    for (const unsigned end = k + QUARTER; k < end; k++) {
        V col[2], row;
        for (unsigned j = 0; j < 2; j++)
            col[j] = element(e, m, true, f, j, k);
        for (unsigned i = 0; i < m->m / 8u; i++) {
            row = element(e, m, false, f, i, k);
            for (unsigned j = 0; j < 2; j++) {
                V *c = &d[gcn_matrix_index(m, i, j)], r = fp_fma(e, row, col[j], *c, p->in->round);
                *c = nan ? with_nan(e, row, col[j], *c, r) : r;
            }
        }
    }
}

/* The register that holds what `reg` does four elements further on, wrapping around. */
static unsigned
next_register(const struct ptx_matrix *m, bool b, unsigned reg)
{
    struct gcn_place p = gcn_matrix_place(m, b, PTX_F64, reg), q;
    unsigned r = 0;
    do
        q = gcn_matrix_place(m, b, PTX_F64, r);
    while ((q.row != p.row || q.quarter != (p.quarter + 1) % quarters(m)) && ++r);
    return r;
}

/* The chains with exact NaN, as a loop, since they are long and rare. Each round takes its elements from the first registers. */
static void
careful_chains(struct emit *e, V fn, const struct gcn_product *p, const struct fragments *f, V *d)
{
    const struct ptx_matrix *m = p->m;
    struct fragments phi = { .column = { gcn_short(e, i32(e, 0)) } };
    V sum[8], next[8], one = i32(e, 1), end = gcn_unknown(e, quarters(m)), zero = i32(e, 0);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), round = LLVMAppendBasicBlockInContext(e->llvm, fn, "");
    LLVMBuildBr(e->b, round);
    LLVMPositionBuilderAtEnd(e->b, round);
    V n = LLVMBuildPhi(e->b, e->i32, "");
    for (unsigned i = 0; i < m->nd; i++) {
        next[i] = sum[i] = LLVMBuildPhi(e->b, e->f64, "");
        LLVMAddIncoming(sum[i], &d[i], &before, 1);
    }
    for (unsigned b = 0; b < 2; b++)
        for (unsigned r = 0; r < (b ? m->nb : m->na); r++)
            for (unsigned h = 0; h < HALVES; h++) {
                V first = f->reg[b][h][r];
                phi.reg[b][h][r] = LLVMBuildPhi(e->b, e->i32, "");
                LLVMAddIncoming(phi.reg[b][h][r], &first, &before, 1);
            }
    gcn_settle(e, &phi.column[0].lane, 1);          /* keep the lanes' addresses in the loop: outside they would occupy registers */
    phi.column[1] = (struct gcn_short){ LLVMBuildAdd(e->b, phi.column[0].lane, i32(e, 4), ""), phi.column[0].second };
    links(e, p, &phi, 0, true, next);
    V n1 = LLVMBuildAdd(e->b, n, one, "");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->llvm, fn, "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, n1, end, ""), round, after);
    LLVMAddIncoming(n, &zero, &before, 1);
    LLVMAddIncoming(n, &n1, &round, 1);
    for (unsigned i = 0; i < m->nd; i++)
        LLVMAddIncoming(sum[i], &next[i], &round, 1);
    for (unsigned b = 0; b < 2; b++)
        for (unsigned r = 0; r < (b ? m->nb : m->na); r++)
            for (unsigned h = 0; h < HALVES; h++)
                LLVMAddIncoming(phi.reg[b][h][r], &phi.reg[b][h][next_register(m, b, r)], &round, 1);
    LLVMPositionBuilderAtEnd(e->b, after);
    for (unsigned i = 0; i < m->nd; i++) {
        V bits = LLVMBuildOr(e->b, fp_as_int(e, next[i]), LLVMConstInt(e->i64, 1ull << 51, false), "");
        d[i] = LLVMBuildSelect(e->b, fp_is_nan(e, next[i]), fp_as_float(e, bits), next[i], "");
    }
}

/* Compute plain chains, rounded to nearest; if any element in the wave is NaN, the whole wave computes again, since lanes need each other's
 * rows. In directed rounding modes an fma is long, and the chains are computed once. */
void
gcn_chains_f64(struct emit *e, V fn, const struct gcn_product *p, V regs[3][8], V *out)
{
    const struct ptx_matrix *m = p->m;
    struct fragments f = { .column = { gcn_short(e, i32(e, 0)), gcn_short(e, i32(e, 1)) } };
    V c[8], d[8], any = NULL;
    LLVMBasicBlockRef plain = NULL, careful = LLVMAppendBasicBlockInContext(e->llvm, fn, ""), done = NULL;
    for (unsigned b = 0; b < 2; b++)
        for (unsigned r = 0; r < (b ? m->nb : m->na); r++) {
            V word[HALVES];
            split(e, regs[b][r], word);
            for (unsigned h = 0; h < HALVES; h++)
                f.reg[b][h][r] = word[h];
        }
    for (unsigned i = 0; i < m->nd; i++)
        c[i] = d[i] = LLVMBuildBitCast(e->b, regs[2][i], e->f64, "");
    if (!gcn_to_nearest(p->in)) {
        LLVMBuildBr(e->b, careful);
    } else {
        for (unsigned k = 0; k < m->k; k += QUARTER) {
            links(e, p, &f, k, false, d);
            gcn_settle(e, d, m->nd);
        }
        for (unsigned i = 0; i < m->nd; i++)
            any = any ? LLVMBuildOr(e->b, any, fp_is_nan(e, d[i]), "") : fp_is_nan(e, d[i]);
        plain = LLVMGetInsertBlock(e->b);
        done = LLVMAppendBasicBlockInContext(e->llvm, fn, "");
        LLVMBuildCondBr(e->b, gcn_any(e, any), careful, done);
    }
    LLVMPositionBuilderAtEnd(e->b, careful);
    careful_chains(e, fn, p, &f, c);
    if (done) {
        LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
        LLVMBuildBr(e->b, done);
        LLVMPositionBuilderAtEnd(e->b, done);
        for (unsigned i = 0; i < m->nd; i++)
            c[i] = emit_phi(e, d[i], plain, c[i], from);
    }
    for (unsigned i = 0; i < m->nd; i++)
        out[i] = LLVMBuildBitCast(e->b, c[i], e->i64, "");
}

/* ---- mma.sp of integers ----------------------------------------------------------------------------------------------------------- */

/* Without .satfinite: the caller saturates where it adds C. */
void
gcn_sparse_dots(struct emit *e, const struct gcn_product *p, V regs[3][8], const V *meta, V *out)
{
    const struct ptx_matrix *m = p->m;
    struct ptx_matrix stored = *m;
    const struct gcn_operand a = { &stored, false, m->a }, b = { m, true, m->b };
    stored.k = p->k;
    memcpy(out, regs[2], m->nd * sizeof *out);
    for (unsigned w = 0; w < p->meta.words; w++) {
        V choice[2], row[2];
        for (unsigned i = 0; i < 2; i++) {
            choice[i] = gcn_choice(e, &p->meta, meta, i, w);
            row[i] = gcn_long_word(e, &a, regs[0], i, w);
        }
        for (unsigned j = 0; j < 2; j++) {
            const struct gcn_short at = gcn_short(e, i32(e, j));
            V lower = gcn_short_word(e, &b, regs[1], &at, 2 * w), upper = gcn_short_word(e, &b, regs[1], &at, 2 * w + 1);
            for (unsigned i = 0; i < 2; i++) {
                V *d = &out[gcn_matrix_index(m, i, j)];
                *d = gcn_dot(e, p->in, m, row[i], gcn_chosen(e, choice[i], lower, upper), *d);
            }
        }
        if (w % 2)
            gcn_settle(e, out, m->nd);
    }
}
