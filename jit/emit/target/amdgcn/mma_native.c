/* SPDX-License-Identifier: Apache-2.0
 * Products of f16, bf16 and tf32 by AMD's matrix instructions (CUDAWAY_MATRIX_MODEL=native): the sums are AMD's, and their last bits differ
 * from NVIDIA's.
 *
 * CDNA: the 16 products of a V_MFMA_F32_4X4X4 are the groups of four lanes. Lane t of group g provides row g + 8t of A (for m16, two of
 * four are used) and column 2t or 2t + 1 of B, and gets the elements of D that it holds in PTX's layout. All of a wave64 must be active,
 * since MFMA ignores the execution mask. RDNA3, RDNA4: a V_WMMA_F32_16X16X16 of the transposed product; its rows are columns of B, of n8
 * the same eight twice. */
#include "jit/emit/target/amdgcn/matrix.h"

#include <string.h>

static bool
is_cpu(const struct emit *e, const char *prefix)
{
    return !strncmp(e->cpu, prefix, strlen(prefix));
}

static bool
is_rdna(const struct emit *e)
{
    return is_cpu(e, "gfx11") || is_cpu(e, "gfx12");
}

static bool
is_cdna(const struct emit *e)
{
    return is_cpu(e, "gfx908") || is_cpu(e, "gfx90a") || is_cpu(e, "gfx94") || is_cpu(e, "gfx950");
}

bool
gcn_native_has(const struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m)
{
    if (in->op == PTX_OP_MMA && m->m == 8)
        return false;
    if (is_cdna(e))
        return (m->a == PTX_F16 || m->a == PTX_BF16 || m->a == PTX_TF32) && m->m != 8;
    return is_rdna(e) && (m->a == PTX_F16 || m->a == PTX_BF16) && m->m == 16;
}

static V
vector(struct emit *e, V *v, unsigned n, LLVMTypeRef as)
{
    V r = LLVMGetUndef(LLVMVectorType(LLVMTypeOf(v[0]), n));
    for (unsigned i = 0; i < n; i++)
        r = LLVMBuildInsertElement(e->b, r, v[i], i32(e, i), "");
    return as ? LLVMBuildBitCast(e->b, r, as, "") : r;
}

/* ---- CDNA ------------------------------------------------------------------------------------------------------------------ */

/* A word of the row that this lane provides: row t of the group's. */
static V
own_row(struct emit *e, const struct gcn_gathered *a, unsigned w)
{
    V t = LLVMBuildAnd(e->b, gcn_lane(e), i32(e, 3), ""), v = a->word[0][w];
    for (unsigned r = 1; r < a->count; r++)
        v = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, t, i32(e, r), ""), a->word[r][w], v, "");
    return v;
}

void
gcn_native_cdna(struct emit *e, const struct ptx_matrix *m, const struct gcn_gathered *a, const struct gcn_gathered *b, const V *c, V *out)
{
    bool old_bf16 = m->a == PTX_BF16 && is_cpu(e, "gfx908");
    unsigned step = m->a == PTX_TF32 || old_bf16 ? 1 : 2;           /* words per instruction */
    LLVMTypeRef type = m->a == PTX_TF32 ? e->f32 : LLVMVectorType(m->a == PTX_F16 ? e->f16 : e->i16, 2 * step);
    const char *name = m->a == PTX_TF32 ? "llvm.amdgcn.mfma.f32.4x4x1f32" : m->a == PTX_F16 ? "llvm.amdgcn.mfma.f32.4x4x4f16"
                       : old_bf16 ? "llvm.amdgcn.mfma.f32.4x4x2bf16" : "llvm.amdgcn.mfma.f32.4x4x4bf16.1k";
    V rows[GCN_WORDS], zero = i32(e, 0);
    for (unsigned w = 0; w < a->words; w++) {
        rows[w] = own_row(e, a, w);
        if (m->a == PTX_TF32)
            rows[w] = LLVMBuildAnd(e->b, rows[w], i32(e, 0xffffe000u), "");
    }
    for (unsigned j = 0; j < b->count; j++) {
        V sums[4];
        for (unsigned i = 0; i < 4; i++)
            sums[i] = i < a->count ? LLVMBuildBitCast(e->b, c[gcn_matrix_index(m, i, j)], e->f32, "") : LLVMConstReal(e->f32, 0);
        V d = vector(e, sums, 4, NULL);
        for (unsigned w = 0; w < a->words; w += step) {
            V x[2] = { rows[w], step > 1 ? rows[w + 1] : zero }, y[2] = { b->word[j][w], step > 1 ? b->word[j][w + 1] : zero };
            if (m->a == PTX_TF32)
                y[0] = LLVMBuildAnd(e->b, y[0], i32(e, 0xffffe000u), "");
            V args[6] = { step > 1 ? vector(e, x, 2, type) : LLVMBuildBitCast(e->b, x[0], type, ""),
                          step > 1 ? vector(e, y, 2, type) : LLVMBuildBitCast(e->b, y[0], type, ""), d, zero, zero, zero };
            d = emit_intrinsic_of(e, name, NULL, 0, args, 6);
        }
        for (unsigned i = 0; i < a->count; i++)
            out[gcn_matrix_index(m, i, j)] = LLVMBuildBitCast(e->b, LLVMBuildExtractElement(e->b, d, i32(e, i), ""), e->i32, "");
    }
}

/* ---- RDNA3, RDNA4 --------------------------------------------------------------------------------------------------------------- */

/* The words of row (column) lane % 16 that this lane provides. RDNA3: all, in both halves of the wave. RDNA4: half of them, any half, as
 * long as A and B agree. */
static V
wmma_operand(struct emit *e, const struct ptx_matrix *m, bool b, const V *regs)
{
    bool rdna4 = is_cpu(e, "gfx12");
    unsigned words = gcn_matrix_words(m->k, b ? m->b : m->a), extent = b ? m->n : m->m, n = rdna4 ? 4 : 8;
    uint8_t type = b ? m->b : m->a;
    V lane = gcn_lane(e), v[8], group = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, lane, i32(e, 7), ""), i32(e, 2), "");
    V upper = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, lane, i32(e, 8), ""), i32(e, 0), "");
    V half = LLVMBuildLShr(e->b, lane, i32(e, 4), "");
    for (unsigned r = 0; r < n; r++) {
        V from = rdna4 ? LLVMBuildAdd(e->b, LLVMBuildShl(e->b, half, i32(e, 1), ""), i32(e, r % 2), "") : i32(e, r % 4), word[2] = { NULL };
        unsigned quarter = rdna4 ? r / 2 : r / 4;
        for (unsigned reg = 0; reg < gcn_matrix_registers(m, b, type); reg++) {
            struct gcn_place p = gcn_matrix_place(m, b, type, reg);
            if (p.quarter == quarter)
                word[p.row / 8] = gcn_from_lane(e, regs[reg], LLVMBuildAdd(e->b, group, from, ""));
        }
        if (4 * quarter >= words)
            v[r] = i32(e, 0);
        else
            v[r] = extent == 8 ? word[0] : LLVMBuildSelect(e->b, upper, word[1], word[0], "");
    }
    return vector(e, v, n, LLVMVectorType(m->a == PTX_F16 ? e->f16 : e->i16, 2 * n));
}

/* Row n, column m of the transposed product is in register n / 2, lane 16 * (n % 2) + m (RDNA3), or register n % 8, lane 16 * (n / 8) + m
 * (RDNA4). This lane needs n = 2t + q + 8j, m = g + 8i. C is added afterwards. */
void
gcn_native_rdna(struct emit *e, const struct ptx_matrix *m, V regs[3][8], const V *c, V *out)
{
    bool rdna4 = is_cpu(e, "gfx12");
    V a = wmma_operand(e, m, false, regs[0]), b = wmma_operand(e, m, true, regs[1]), zero = LLVMConstNull(LLVMVectorType(e->f32, 8));
    LLVMTypeRef overload[2] = { LLVMTypeOf(zero), LLVMTypeOf(a) };
    V d = emit_intrinsic_of(e, m->a == PTX_F16 ? "llvm.amdgcn.wmma.f32.16x16x16.f16" : "llvm.amdgcn.wmma.f32.16x16x16.bf16", overload, 2, VALUES(b, a, zero));
    V lane = gcn_lane(e), g = LLVMBuildLShr(e->b, lane, i32(e, 2), ""), t = LLVMBuildAnd(e->b, lane, i32(e, 3), "");
    for (unsigned i = 0; i < m->m / 8u; i++)
        for (unsigned j = 0; j < m->n / 4u; j++) {
            unsigned q = j % 2, block = j / 2;
            V from = LLVMBuildAdd(e->b, g, i32(e, 8 * i + 16 * (rdna4 ? block : q)), ""), v = NULL;
            for (unsigned k = 0; k < 4; k++) {
                V x = LLVMBuildExtractElement(e->b, d, i32(e, rdna4 ? 2 * k + q : k + 4 * block), "");
                x = gcn_from_lane(e, LLVMBuildBitCast(e->b, x, e->i32, ""), from);
                v = v ? LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, t, i32(e, k), ""), x, v, "") : x;
            }
            unsigned at = gcn_matrix_index(m, i, j);
            V sum = LLVMBuildFAdd(e->b, LLVMBuildBitCast(e->b, v, e->f32, ""), LLVMBuildBitCast(e->b, c[at], e->f32, ""), "");
            out[at] = LLVMBuildBitCast(e->b, sum, e->i32, "");
        }
}
