/* SPDX-License-Identifier: Apache-2.0
 * Comparison and selection: set, setp, selp, slct of every type (PTX ISA 9.7.6, 9.7.7). */
#include "jit/emit/arith/fp_private.h"

/* 0: not a comparison of integers. */
LLVMIntPredicate
arith_predicate(unsigned cmp, bool is_signed)
{
    static const LLVMIntPredicate predicates[][2] = {
        [PTX_EQ] = { LLVMIntEQ, LLVMIntEQ }, [PTX_NE] = { LLVMIntNE, LLVMIntNE }, [PTX_LT] = { LLVMIntULT, LLVMIntSLT },
        [PTX_LE] = { LLVMIntULE, LLVMIntSLE }, [PTX_GT] = { LLVMIntUGT, LLVMIntSGT }, [PTX_GE] = { LLVMIntUGE, LLVMIntSGE },
        [PTX_LO] = { LLVMIntULT, LLVMIntULT }, [PTX_LS] = { LLVMIntULE, LLVMIntULE }, [PTX_HI_] = { LLVMIntUGT, LLVMIntUGT },
        [PTX_HS] = { LLVMIntUGE, LLVMIntUGE },
    };
    return cmp < sizeof predicates / sizeof *predicates ? predicates[cmp][is_signed] : 0;
}

/* LLVMRealPredicateFalse: not a comparison of floats. */
static LLVMRealPredicate
real_predicate(unsigned cmp)
{
    static const LLVMRealPredicate predicates[] = {
        [PTX_EQ] = LLVMRealOEQ, [PTX_NE] = LLVMRealONE, [PTX_LT] = LLVMRealOLT, [PTX_LE] = LLVMRealOLE, [PTX_GT] = LLVMRealOGT,
        [PTX_GE] = LLVMRealOGE, [PTX_EQU] = LLVMRealUEQ, [PTX_NEU] = LLVMRealUNE, [PTX_LTU] = LLVMRealULT, [PTX_LEU] = LLVMRealULE,
        [PTX_GTU] = LLVMRealUGT, [PTX_GEU] = LLVMRealUGE, [PTX_NUM] = LLVMRealORD, [PTX_NAN] = LLVMRealUNO,
    };
    return cmp < sizeof predicates / sizeof *predicates ? predicates[cmp] : LLVMRealPredicateFalse;
}

/* The comparison of operands 1 and 2 as type t; two results for packed types. Returns how many, 0 when refused. */
static unsigned
compare(struct emit *e, const struct ptx_inst *in, ptx_type t, V result[2])
{
    if (!type_is_float(t)) {
        LLVMIntPredicate p = arith_predicate(in->cmp, type_is_signed(t));
        if (!p) {
            emit_unsupported(e, in, "this comparison of integers");
            return 0;
        }
        result[0] = emit_icmp(e, p, emit_src(e, in, 1, t), emit_src(e, in, 2, t));
        return 1;
    }
    LLVMRealPredicate p = real_predicate(in->cmp);
    struct fp_pack a, b;
    if (p == LLVMRealPredicateFalse) {
        emit_unsupported(e, in, "this comparison of floats");
        return 0;
    }
    fp_src(e, in, 1, t, &a);
    fp_src(e, in, 2, t, &b);
    for (unsigned i = 0; i < a.n; i++)
        result[i] = emit_fcmp(e, p, a.v[i], b.v[i]);
    return a.n;
}

void
emit_setp(struct emit *e, const struct ptx_inst *in)
{
    V r[2], second;
    unsigned n = compare(e, in, in->type[0], r);

    if (!n)
        return;
    /* p|q: q is the negation of p; for packed types, p is the result of the low element and q that of the high one. */
    second = n == 2 ? r[1] : v_not(e, r[0]);
    if (in->boolop != PTX_BOOL_NONE && in->noperands > 3) {
        V c = emit_src(e, in, 3, PTX_PRED);
        r[0] = v_bool(e, in->boolop, r[0], c);
        second = v_bool(e, in->boolop, second, c);
    }
    emit_dst_pair(e, &in->operand[0], PTX_PRED, r[0], second);
}

/* True is all ones for an integer result and 1.0 for a float one. */
static V
truth(struct emit *e, V c, ptx_type dt)
{
    LLVMTypeRef t = emit_type(e, dt);

    if (!type_is_float(dt))
        return emit_resize(e, c, t, true);
    V one = dt == PTX_BF16 ? emit_int(e, t, 0x3f80) : LLVMConstReal(t, 1.0);
    return v_sel(e, c, one, LLVMConstNull(t));
}

void
emit_set(struct emit *e, const struct ptx_inst *in)
{
    ptx_type dt = in->type[0], st = in->type[1];
    V r[2];
    unsigned n = compare(e, in, st, r);

    if (!n)
        return;
    if (in->boolop != PTX_BOOL_NONE && in->noperands > 3) {
        V c = emit_src(e, in, 3, PTX_PRED);
        for (unsigned i = 0; i < n; i++)
            r[i] = v_bool(e, in->boolop, r[i], c);
    }
    if (n == 1) {
        emit_dst(e, in, 0, dt, truth(e, r[0], dt));
        return;
    }
    /* f16x2 and bf16x2: two results in one register, as floats or as 16-bit masks. */
    V half[2];
    for (unsigned i = 0; i < 2; i++) {
        half[i] = dt == PTX_F16X2 ? truth(e, r[i], PTX_F16) : dt == PTX_BF16X2 ? truth(e, r[i], PTX_BF16) : truth(e, r[i], PTX_U16);
        half[i] = emit_bitcast(e, half[i], e->i16);
    }
    emit_dst(e, in, 0, dt, v_pack(e, half[0], half[1]));
}

void
emit_slct(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    V a = emit_src(e, in, 1, t), b = emit_src(e, in, 2, t), c = emit_src(e, in, 3, in->type[1]), cond;

    /* Minus zero counts as non-negative; NaN selects b (9.7.7.4). */
    if (in->type[1] == PTX_F32) {
        if (in->flags & PTX_F_FTZ)
            c = fp_flush(e, c, PTX_F32);
        cond = emit_fcmp(e, LLVMRealOGE, c, emit_fp_like(e, c, 0.0));
    } else {
        cond = emit_icmp(e, LLVMIntSGE, c, k_int(e, c, 0));
    }
    emit_dst(e, in, 0, t, v_sel(e, cond, a, b));
}

void
emit_selp(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    V a = emit_src(e, in, 1, t), b = emit_src(e, in, 2, t);
    emit_dst(e, in, 0, t, v_sel(e, emit_src(e, in, 3, PTX_PRED), a, b));
}
