/* SPDX-License-Identifier: Apache-2.0
 * Floating-point instructions (PTX ISA 9.7.3 - 9.7.5). Operands, rounding, approximations and half formats have files of their own. No
 * fast-math flag is ever set: nothing contracts or reassociates. */
#include "jit/emit/arith/fp_private.h"
#include "jit/emit/arith/mufu.h"

static bool
is_half(ptx_type t)
{
    return t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
}

/* min or max of two: minus zero is less than plus zero; a single NaN loses unless .NaN. */
V
fp_min_max(struct emit *e, V a, V b, bool max, bool propagate)
{
    bool ordered = e->target->ordered_zeros;
    const char *name = ordered ? (max ? "llvm.maxnum" : "llvm.minnum") : max ? "llvm.maximum" : "llvm.minimum";
    V v[2] = { a, b }, r;

    emit_unify(e, v, 2);
    r = v_call2(e, name, v[0], v[1]);
    if (ordered && !propagate && (e->native_floats & CWJ_NATIVE_NAN || emit_scalar_type(r) == e->f32))
        return r;                   /* any NaN will do: it is made canonical */
    V nan[2] = { fp_is_nan(e, v[0]), fp_is_nan(e, v[1]) };
    r = v_sel(e, nan[1], propagate ? v[1] : v[0], r);
    return fp_quiet(e, v_sel(e, nan[0], propagate ? v[0] : v[1], r));
}

static V
min_max(struct emit *e, const struct ptx_inst *in, V a, V b)
{
    bool max = in->op == PTX_OP_MAX, nan = in->flags & PTX_F_NAN;

    if (!(in->flags & PTX_F_XORSIGN_ABS))
        return fp_min_max(e, a, b, max, nan);
    /* .xorsign.abs: of the magnitudes, with the product's sign. */
    V r = fp_min_max(e, fp_abs(e, a), fp_abs(e, b), max, nan);
    if (in->noperands > 3)      /* min.abs and max.abs of three values: the magnitude */
        return r;
    V bits = v_xor(e, fp_as_int(e, a), fp_as_int(e, b));
    V sign = v_and(e, bits, k_int(e, bits, UINT64_C(1) << (int_bits(bits) - 1)));
    return v_sel(e, fp_is_nan(e, r), r, fp_as_float(e, v_or(e, fp_as_int(e, r), sign)));
}

/* Chooses among several f64 NaN operands, quieted: b, else c, else a (measured on an H200). f32 NaN is canonical anyway. On x86 `r` has a's
 * payload already if a alone is NaN. AMD's rule is undocumented: jit/passes/exact/nan64.c. */
static V
prefer_nan(struct emit *e, V r, V a, V b, V c)
{
    if (e->native_floats & CWJ_NATIVE_NAN || emit_scalar_type(r) != e->f64)
        return r;
    if (e->target->annotates_floats)
        return emit_annotate(e, c ? EMIT_NAN64_3 : b ? EMIT_NAN64_2 : EMIT_NAN64_1, r, a, b, c);
    V quiet = k_int(e, fp_as_int(e, r), UINT64_C(1) << 51);
    if (c)
        r = v_sel(e, fp_is_nan(e, c), fp_as_float(e, v_or(e, fp_as_int(e, c), quiet)), r);
    return v_sel(e, fp_is_nan(e, b), fp_as_float(e, v_or(e, fp_as_int(e, b), quiet)), r);
}

/* .ftz flushes a result that is subnormal when rounded with an unbounded exponent. Rounding to a subnormal can turn a value just below
 * 2^-126 into 2^-126: if that is the result, compute it again, scaled by 2^64. A branch skips this rare case. */
static V
flush_before_rounding(struct emit *e, ptx_op op, unsigned round, V r, V a, V b, V c)
{
    V least = emit_fp_like(e, r, 0x1p-126), scale = emit_fp_like(e, r, 0x1p64), again;
    V rare = emit_fcmp(e, LLVMRealOEQ, fp_abs(e, r), least);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b), more, done;
    V fn = LLVMGetBasicBlockParent(from), any = rare;
    more = LLVMAppendBasicBlockInContext(e->llvm, fn, "least");
    done = LLVMAppendBasicBlockInContext(e->llvm, fn, "least.done");
    if (emit_is_vector(rare)) {
        LLVMTypeRef word = LLVMIntTypeInContext(e->llvm, e->width);
        any = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildBitCast(e->b, rare, word, ""), LLVMConstNull(word), "");
    }
    LLVMBuildCondBr(e->b, any, more, done);
    LLVMPositionBuilderAtEnd(e->b, more);
    switch (op) {
    case PTX_OP_MUL: again = fp_mul(e, v_fmul(e, a, scale), b, round); break;
    case PTX_OP_DIV: again = fp_div(e, v_fmul(e, a, scale), b, round); break;
    case PTX_OP_RCP: again = fp_div(e, scale, a, round); break;
    default:         again = fp_fma(e, v_fmul(e, a, scale), b, v_fmul(e, c, scale), round); break;
    }
    V less = v_and(e, rare, emit_fcmp(e, LLVMRealOLT, fp_abs(e, again), emit_fp_like(e, r, 0x1p-62)));
    V bits = fp_as_int(e, r);
    V out = v_sel(e, less, fp_as_float(e, v_and(e, bits, k_int(e, bits, UINT64_C(1) << 31))), r);
    more = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    return emit_phi(e, r, from, out, more);
}

/* Emit it by the target's instructions for halves, if there are some: true if emitted. */
static bool
native_half(struct emit *e, const struct ptx_inst *in, ptx_type t)
{
    bool two = t == PTX_F16X2, fused = in->op == PTX_OP_FMA;
    if (!e->target->halves || (t != PTX_F16 && !two) || in->flags & (PTX_F_FTZ | PTX_F_SAT | PTX_F_RELU) || (fused && in->aux >> PTX_AUX_OOB & 1) ||
        (in->op != PTX_OP_ADD && in->op != PTX_OP_SUB && in->op != PTX_OP_MUL && !fused))
        return false;
    LLVMTypeRef type = two ? LLVMVectorType(e->f16, 2) : e->f16;
    V o[3], r;
    for (unsigned i = 0; i < 2u + fused; i++) {
        V v = emit_src(e, in, i + 1, t);
        o[i] = LLVMTypeOf(v) == type ? v : LLVMBuildBitCast(e->b, v, type, "");
    }
    r = fused ? emit_intrinsic(e, "llvm.fma", o, 3, -1) : in->op == PTX_OP_MUL ? LLVMBuildFMul(e->b, o[0], o[1], "")
        : in->op == PTX_OP_ADD ? LLVMBuildFAdd(e->b, o[0], o[1], "") : LLVMBuildFSub(e->b, o[0], o[1], "");
    if (!(e->native_floats & CWJ_NATIVE_NAN)) {
        V nan = LLVMConstBitCast(emit_int(e, e->i16, 0x7fff), e->f16);
        nan = two ? LLVMConstVector((V[]){ nan, nan }, 2) : nan;
        r = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, r, r, ""), nan, r, "");
    }
    emit_dst(e, in, 0, t, two ? LLVMBuildBitCast(e->b, r, e->i32, "") : r);
    return true;
}

/* The same by an annotation, if the operation has one; true if so. */
static bool
annotate_flush(struct emit *e, const struct ptx_inst *in, ptx_type t, V *r, V a, V b, V c)
{
    if ((t != PTX_F32 && t != PTX_F32X2) || !fp_annotates_flush(e, *r) || (in->round != PTX_RND_NONE && in->round != PTX_RN))
        return false;
    switch (in->op) {
    case PTX_OP_ADD: *r = emit_annotate(e, EMIT_FLUSH_ADD, *r, a, b, NULL); return true;
    case PTX_OP_SUB: *r = emit_annotate(e, EMIT_FLUSH_ADD, *r, a, LLVMBuildFNeg(e->b, b, ""), NULL); return true;
    case PTX_OP_MUL: *r = emit_annotate(e, EMIT_FLUSH_MUL, *r, a, b, NULL); return true;
    case PTX_OP_FMA: case PTX_OP_MAD: *r = emit_annotate(e, EMIT_FLUSH_FMA, *r, a, b, c); return true;
    default: return false;
    }
}

static V
div_approx_body(struct emit *e, V a, V b, const void *what)
{
    const struct ptx_inst *in = what;
    bool ftz = in->flags & PTX_F_FTZ;
    V factor[2], r = fp_div_approx(e, a, b, in->flags & PTX_F_FULL, ftz, factor);
    return !ftz ? r : fp_annotates_flush(e, r) ? emit_annotate(e, EMIT_FLUSH_MUL, r, factor[0], factor[1], NULL)
                                           : flush_before_rounding(e, PTX_OP_MUL, PTX_RN, r, factor[0], factor[1], NULL);
}

static V
div_approx(struct emit *e, const struct ptx_inst *in, V a, V b)
{
    static const char *const names[2][2] = { { "mufu.div", "mufu.div_ftz" }, { "mufu.div_full", "mufu.div_full_ftz" } };      /* [full][ftz] */
    bool ftz = in->flags & PTX_F_FTZ;
    if (!e->target->mufu || e->native_floats & CWJ_NATIVE_APPROX)
        return div_approx_body(e, a, b, in);
    V r = mufu_quotient(e, a, b, &(struct mufu_quotient){ names[!!(in->flags & PTX_F_FULL)][ftz], div_approx_body, in });
    return ftz ? emit_annotate(e, EMIT_FLUSHED, r, NULL, NULL, NULL) : r;
}

static V
one_op(struct emit *e, const struct ptx_inst *in, ptx_type t, V a, V b, V c)
{
    switch (in->op) {
    case PTX_OP_ADD:
        return prefer_nan(e, fp_add(e, a, b, in->round), a, b, NULL);
    case PTX_OP_SUB:
        if (in->round == PTX_RN || in->round == PTX_RND_NONE)
            return prefer_nan(e, v_fsub(e, a, b), a, b, NULL);
        return prefer_nan(e, fp_add(e, a, LLVMBuildFNeg(e->b, b, ""), in->round), a, b, NULL);
    case PTX_OP_MUL:
        if (t == PTX_BF16 || t == PTX_BF16X2)       /* bf16 has the exponents of f32: subnormal products would round twice */
            return fp_narrow_odd(e, v_fmul(e, fp_widen(e, a), fp_widen(e, b)));
        return prefer_nan(e, fp_mul(e, a, b, in->round), a, b, NULL);
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        /* Half operands are widened to f32. Products are exact or rounded to odd there, so that the single rounding in fp_dst is correct. Sums of
         * f16 and bf16 may round in f32 (24 >= 2 * 11 + 2 bits, and no subnormal sum is inexact). */
        return is_half(t) ? fp_fma_odd(e, a, b, c) : prefer_nan(e, fp_fma(e, a, b, c, in->round), a, b, c);
    case PTX_OP_MIN:
    case PTX_OP_MAX: {
        V r = min_max(e, in, a, b);
        return c ? min_max(e, in, r, c) : r;
    }
    /* f64 NaN keeps its sign (measured on an H200; the manual leaves it open); f32 NaN is canonical anyway. */
    case PTX_OP_ABS:
    case PTX_OP_NEG: {
        V r = in->op == PTX_OP_ABS ? fp_abs(e, a) : LLVMBuildFNeg(e->b, a, "");
        if (t == PTX_F64 && e->target->annotates_floats && !(e->native_floats & CWJ_NATIVE_NAN))
            return emit_annotate(e, EMIT_NAN64_1, r, a, NULL, NULL);
        return t == PTX_F64 ? v_sel(e, fp_is_nan(e, a), fp_quiet(e, a), r) : r;
    }
    case PTX_OP_DIV:
        if (in->flags & (PTX_F_APPROX | PTX_F_FULL))
            return div_approx(e, in, a, b);
        return fp_div(e, a, b, in->round);
    case PTX_OP_RCP:
    case PTX_OP_SQRT:
    case PTX_OP_RSQRT:
        if (t == PTX_F64 && (in->op == PTX_OP_RSQRT || in->flags & PTX_F_APPROX))
            return fp_approx_f64(e, in, a);
        if (in->op == PTX_OP_RSQRT || in->flags & PTX_F_APPROX)
            return fp_approx(e, in, a);
        if (in->op == PTX_OP_SQRT)
            return prefer_nan(e, fp_sqrt(e, a, in->round), a, a, NULL);
        return fp_div(e, emit_fp_like(e, a, 1.0), a, in->round);
    default:
        return fp_approx(e, in, a);
    }
}

void
emit_testp(struct emit *e, const struct ptx_inst *in)
{
    V a = emit_src(e, in, 1, in->type[0]), m = fp_abs(e, a), r;
    bool wide = in->type[0] == PTX_F64;
    V inf = emit_fp_like(e, m, __builtin_inf()), least = emit_fp_like(e, m, wide ? 0x1p-1022 : 0x1p-126);
    V zero = emit_fp_like(e, m, 0.0);

    switch (in->mode) {
    case PTX_MODE_FINITE:     r = emit_fcmp(e, LLVMRealOLT, m, inf); break;
    case PTX_MODE_INFINITE:   r = emit_fcmp(e, LLVMRealOEQ, m, inf); break;
    case PTX_MODE_NUMBER:     r = emit_fcmp(e, LLVMRealORD, m, m); break;
    case PTX_MODE_NOTANUMBER: r = fp_is_nan(e, m); break;
    case PTX_MODE_NORMAL:           /* zeros count as normal */
        r = v_and(e, emit_fcmp(e, LLVMRealOGE, m, least), emit_fcmp(e, LLVMRealOLT, m, inf));
        r = v_or(e, r, emit_fcmp(e, LLVMRealOEQ, m, zero));
        break;
    case PTX_MODE_SUBNORMAL:
        r = v_and(e, emit_fcmp(e, LLVMRealOLT, m, least), emit_fcmp(e, LLVMRealOGT, m, zero));
        break;
    default:
        emit_unsupported(e, in, "this property");
        return;
    }
    emit_dst(e, in, 0, PTX_PRED, r);
}

/* copysign d, a, b: b with the sign of a (9.7.3.2). Operates on bits, NaN included. */
void
emit_copysign(struct emit *e, const struct ptx_inst *in)
{
    V a = fp_as_int(e, emit_src(e, in, 1, in->type[0])), b = fp_as_int(e, emit_src(e, in, 2, in->type[0]));
    uint64_t sign = UINT64_C(1) << (int_bits(a) - 1);

    V r = v_or(e, v_and(e, a, k_int(e, a, sign)), v_and(e, b, k_int(e, b, ~sign)));
    emit_dst(e, in, 0, in->type[0], fp_as_float(e, r));
}

static unsigned
sources(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_ADD: case PTX_OP_SUB: case PTX_OP_MUL: case PTX_OP_DIV:
        return 2;
    case PTX_OP_MIN: case PTX_OP_MAX:
        return in->noperands >= 4 ? 3 : 2;
    case PTX_OP_FMA: case PTX_OP_MAD:
        return 3;
    default:
        return 1;
    }
}

/* fma.oob: an element gives plus zero if a or b is the NaN with which tensor copies fill elements out of bounds (9.7.4.4). */
static void
fma_out_of_bounds(struct emit *e, const struct ptx_inst *in, struct fp_pack *r)
{
    enum { OOB_NAN = 0x7ff7 };      /* with either sign */
    V half[2][2];

    for (unsigned i = 0; i < 2; i++) {
        V bits = emit_src(e, in, i + 1, in->type[0]);
        if (r->n == 2)
            v_unpack(e, bits, half[i]);
        else
            half[i][0] = emit_bitcast(e, bits, e->i16);
        for (unsigned k = 0; k < r->n; k++)
            half[i][k] = v_and(e, half[i][k], k_int(e, half[i][k], 0x7fff));
    }
    for (unsigned k = 0; k < r->n; k++) {
        V out = v_or(e, v_eq(e, half[0][k], k_int(e, half[0][k], OOB_NAN)), v_eq(e, half[1][k], k_int(e, half[1][k], OOB_NAN)));
        r->v[k] = v_sel(e, out, emit_fp_like(e, r->v[k], 0.0), r->v[k]);
    }
}

/* Floating-point arithmetic: add .. fma, rcp .. tanh. */
void
emit_float(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    struct fp_pack s[3], r;

    if (in->type[1] != PTX_NONE && in->type[1] != t) {
        emit_unsupported(e, in, "operands of mixed precision");
        return;
    }
    if (native_half(e, in, t))
        return;
    unsigned n = sources(in);
    for (unsigned i = 0; i < n; i++)
        fp_src(e, in, i + 1, t, &s[i]);
    r.n = s[0].n;
    bool inexact = in->op == PTX_OP_MUL || in->op == PTX_OP_FMA || in->op == PTX_OP_MAD || in->op == PTX_OP_DIV || in->op == PTX_OP_RCP;
    for (unsigned k = 0; k < r.n; k++) {
        V a = s[0].v[k], b = n > 1 ? s[1].v[k] : NULL, c = n > 2 ? s[2].v[k] : NULL;
        r.v[k] = one_op(e, in, t, a, b, c);
        if (in->flags & PTX_F_FTZ && annotate_flush(e, in, t, &r.v[k], a, b, c))
            continue;
        if (inexact && in->flags & PTX_F_FTZ && !(in->flags & (PTX_F_APPROX | PTX_F_FULL)) && (t == PTX_F32 || t == PTX_F32X2))
            r.v[k] = flush_before_rounding(e, in->op, in->round, r.v[k], a, b, c);
    }
    if (in->op == PTX_OP_FMA && in->aux >> PTX_AUX_OOB & 1)
        fma_out_of_bounds(e, in, &r);
    fp_dst(e, in, 0, t, &r);
}
