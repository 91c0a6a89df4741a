/* SPDX-License-Identifier: Apache-2.0
 * Float operands in and out: packing, flushing of subnormals, saturation, canonical NaN. */
#include "jit/emit/arith/fp_private.h"

V
fp_as_int(struct emit *e, V v)
{
    LLVMTypeRef t = emit_scalar_type(v);
    return emit_bitcast(e, v, t == e->f64 ? e->i64 : t == e->f32 ? e->i32 : e->i16);
}

V
fp_as_float(struct emit *e, V v)
{
    return emit_bitcast(e, v, int_bits(v) == 64 ? e->f64 : e->f32);
}

V
fp_widen(struct emit *e, V v)
{
    return LLVMBuildFPExt(e->b, v, emit_like(e, v, e->f64), "");
}

V
fp_abs(struct emit *e, V v)
{
    return v_call1(e, "llvm.fabs", v);
}

V
fp_is_nan(struct emit *e, V v)
{
    return emit_fcmp(e, LLVMRealUNO, v, v);
}

static V
fp_flush_below(struct emit *e, V v, double least)
{
    V small = emit_fcmp(e, LLVMRealOLT, fp_abs(e, v), emit_fp_like(e, v, least));
    V bits = fp_as_int(e, v);
    V sign = v_and(e, bits, k_int(e, bits, UINT64_C(1) << (int_bits(bits) - 1)));

    return v_sel(e, small, fp_as_float(e, sign), v);
}

V
fp_flush(struct emit *e, V v, ptx_type t)
{
    bool wide = emit_scalar_type(v) == e->f64;
    if (t != PTX_F16 && t != PTX_F16X2 && fp_annotates_flush(e, v))
        return emit_annotate(e, EMIT_FLUSH, v, NULL, NULL, NULL);
    return fp_flush_below(e, v, t == PTX_F16 || t == PTX_F16X2 ? 0x1p-14 : wide ? 0x1p-1022 : 0x1p-126);
}

V
fp_canonical(struct emit *e, V v)
{
    if (emit_scalar_type(v) != e->f32 || e->native_floats & CWJ_NATIVE_NAN)
        return v;
    V nan = LLVMConstBitCast(emit_int(e, e->i32, 0x7fffffff), e->f32);
    return v_sel(e, fp_is_nan(e, v), nan, v);
}

V
fp_quiet(struct emit *e, V v)
{
    if (emit_scalar_type(v) != e->f64 || e->native_floats & CWJ_NATIVE_NAN)
        return v;
    V bits = fp_as_int(e, v);
    return v_sel(e, fp_is_nan(e, v), fp_as_float(e, v_or(e, bits, k_int(e, bits, UINT64_C(1) << 51))), v);
}

bool
fp_annotates_flush(struct emit *e, V v)
{
    return e->target->annotates_floats && LLVMTypeOf(v) == e->f32;
}

V
fp_saturate(struct emit *e, V v)
{
    V zero = emit_fp_like(e, v, 0.0), one = emit_fp_like(e, v, 1.0);
    V low = v_sel(e, emit_fcmp(e, LLVMRealOGT, v, zero), v, zero);

    return v_sel(e, emit_fcmp(e, LLVMRealOLT, low, one), low, one);
}

V
fp_relu(struct emit *e, V v)
{
    V zero = emit_fp_like(e, v, 0.0);
    return v_sel(e, emit_fcmp(e, LLVMRealOLE, v, zero), zero, v);
}

void
fp_unpack(struct emit *e, V v, ptx_type t, struct fp_pack *p)
{
    enum fp_small small = t == PTX_F16 || t == PTX_F16X2 ? FP_F16 : FP_BF16;
    V half[2] = { v };

    p->n = t == PTX_F16X2 || t == PTX_BF16X2 || t == PTX_F32X2 ? 2 : 1;
    if (p->n == 2)
        v_unpack(e, v, half);
    else if (t == PTX_F16)
        half[0] = emit_bitcast(e, v, e->i16);
    for (unsigned i = 0; i < p->n; i++)
        p->v[i] = t == PTX_F32X2 ? fp_as_float(e, half[i]) : p->n == 2 || t == PTX_F16 || t == PTX_BF16 ? fp_from_small(e, half[i], small) : v;
}

/* The special function unit treats subnormals as zero and returns none (mufu.h): nothing is left to flush. */
static bool
unit_flushes(struct emit *e, const struct ptx_inst *in, ptx_type t)
{
    if (t != PTX_F32 || !(in->flags & PTX_F_APPROX) || e->native_floats & CWJ_NATIVE_APPROX)
        return false;
    switch (in->op) {
    case PTX_OP_RCP: case PTX_OP_SQRT: case PTX_OP_RSQRT: case PTX_OP_SIN: case PTX_OP_COS: case PTX_OP_LG2: case PTX_OP_EX2:
        return true;
    default:
        return false;
    }
}

void
fp_src(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, struct fp_pack *p)
{
    fp_unpack(e, emit_src(e, in, i, t), t, p);
    if (in->flags & PTX_F_FTZ && t != PTX_F64 && !unit_flushes(e, in, t)) {
        for (unsigned k = 0; k < p->n; k++)
            p->v[k] = fp_flush(e, p->v[k], t);
    }
}

void
fp_dst(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, struct fp_pack *p)
{
    V r[2], out;
    bool small = t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
    bool f16 = t == PTX_F16 || t == PTX_F16X2;

    for (unsigned k = 0; k < p->n; k++) {
        V v = p->v[k];
        if (in->flags & PTX_F_SAT)
            v = fp_saturate(e, v);
        else
            v = fp_canonical(e, v);
        if (in->flags & PTX_F_RELU)
            v = fp_relu(e, v);
        if (small) {
            if (in->flags & PTX_F_FTZ)      /* flushes results that round to less than 2^-14 with an unbounded exponent (measured on an
                                             * H200) */
                v = fp_flush_below(e, v, f16 ? 0x1p-14 * (1 - 0x1p-12) : 0x1p-126);
            r[k] = fp_to_small(e, v, f16 ? FP_F16 : FP_BF16, PTX_RN, false);
        } else {
            bool ftz = in->flags & PTX_F_FTZ && t != PTX_F64, flushed = ftz && unit_flushes(e, in, t);
            r[k] = ftz && !flushed ? fp_flush(e, v, t) : v;
            if (flushed && fp_annotates_flush(e, v))
                r[k] = emit_annotate(e, EMIT_FLUSHED, v, NULL, NULL, NULL);
        }
    }
    if (p->n == 1)
        out = t == PTX_F16 ? emit_bitcast(e, r[0], e->f16) : r[0];
    else
        out = small ? v_pack(e, r[0], r[1]) : v_pack(e, fp_as_int(e, r[0]), fp_as_int(e, r[1]));
    emit_dst(e, in, i, t, out);
}
