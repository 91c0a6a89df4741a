/* SPDX-License-Identifier: Apache-2.0
 * cvt and cvt.pack (PTX ISA 9.7.9.21 ff.): between all integer and floating-point types, in every rounding mode, with saturation. Each
 * conversion rounds once: steps through a wider type are exact or rounded to odd. */
#include "jit/emit/arith/fp_private.h"

static bool
is_small(ptx_type t, enum fp_small *f)
{
    switch (t) {
    case PTX_F16:  case PTX_F16X2:  *f = FP_F16;  return true;
    case PTX_BF16: case PTX_BF16X2: *f = FP_BF16; return true;
    case PTX_E4M3: case PTX_E4M3X2: *f = FP_E4M3; return true;
    case PTX_E5M2: case PTX_E5M2X2: *f = FP_E5M2; return true;
    case PTX_TF32:                  *f = FP_TF32; return true;
    default: return false;
    }
}

static bool
is_float_type(ptx_type t)
{
    enum fp_small f;
    return t == PTX_F32 || t == PTX_F64 || is_small(t, &f);
}

static bool
is_packed(ptx_type t)
{
    return t == PTX_F16X2 || t == PTX_BF16X2 || t == PTX_E4M3X2 || t == PTX_E5M2X2;
}

/* float to integer, saturating, NaN to zero; llvm.fpto?i.sat is overloaded on both types */
static V
fp_to_int_sat(struct emit *e, V v, LLVMTypeRef scalar, bool is_signed)
{
    const char *name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    LLVMTypeRef types[2] = { emit_like(e, v, scalar), LLVMTypeOf(v) };

    return emit_intrinsic_of(e, name, types, 2, &v, 1);
}

/* Round to an integral value for .rni .rzi .rmi .rpi; other modes leave v unchanged. */
static V
round_integral(struct emit *e, V v, unsigned round)
{
    switch (round) {
    case PTX_RNI: return v_call1(e, "llvm.roundeven", v);
    case PTX_RZI: return v_call1(e, "llvm.trunc", v);
    case PTX_RMI: return v_call1(e, "llvm.floor", v);
    case PTX_RPI: return v_call1(e, "llvm.ceil", v);
    default:      return v;
    }
}

/* .sat between integers: clamp to the destination's range, in the source's type (9.7.9.21). */
static V
clamp_int(struct emit *e, V v, unsigned dbits, bool ds, bool ss)
{
    unsigned sbits = int_bits(v);
    unsigned dmag = dbits - ds, smag = sbits - ss;      /* bits of the largest values */

    if (ss && !ds)
        v = v_call2(e, "llvm.smax", v, k_int(e, v, 0));
    if (dmag < smag)
        v = v_call2(e, ss ? "llvm.smin" : "llvm.umin", v, k_int(e, v, (UINT64_C(1) << dmag) - 1));
    if (ss && ds && dbits < sbits)
        v = v_call2(e, "llvm.smax", v, k_int(e, v, ~UINT64_C(0) << (dbits - 1)));
    return v;
}

static V
int_to_int(struct emit *e, const struct ptx_inst *in, V v, ptx_type dt, ptx_type st)
{
    LLVMTypeRef t = emit_type(e, dt);

    if (in->flags & PTX_F_SAT)
        v = clamp_int(e, v, LLVMGetIntTypeWidth(t), type_is_signed(dt), type_is_signed(st));
    return emit_resize(e, v, t, type_is_signed(st));
}

/* A 64-bit integer to f32 or f64, towards zero, away from it, or to odd: cut the bits below the significand off, which makes the conversion
 * exact, and apply the mode to the float's bits. */
static V
int64_to_float(struct emit *e, V v, bool is_signed, LLVMTypeRef ft, unsigned round, bool to_odd)
{
    unsigned digits = ft == e->f64 ? 53 : 24;
    V zero = k_int(e, v, 0);
    V neg = is_signed ? emit_icmp(e, LLVMIntSLT, v, zero) : emit_icmp(e, LLVMIntNE, zero, zero);
    V mag = is_signed ? v_sel(e, neg, v_sub(e, zero, v), v) : v;
    V lz = emit_intrinsic(e, "llvm.ctlz", &mag, 1, 0);
    V top = k_int(e, lz, 64 - digits);
    V drop = v_sub(e, top, v_call2(e, "llvm.umin", lz, top));
    V mask = v_shl(e, k_int(e, mag, ~UINT64_C(0)), drop), kept = v_and(e, mag, mask);
    V inexact = v_ne(e, kept, mag);
    V bits = fp_as_int(e, LLVMBuildUIToFP(e->b, kept, emit_like(e, kept, ft), ""));
    V step = emit_resize(e, inexact, emit_scalar_type(bits), false);

    if (to_odd)
        bits = v_or(e, bits, step);
    else if (round == PTX_RP)
        bits = v_add(e, bits, v_sel(e, neg, k_int(e, step, 0), step));
    else if (round == PTX_RM)
        bits = v_add(e, bits, v_sel(e, neg, step, k_int(e, step, 0)));
    V sign = v_shl(e, emit_resize(e, neg, emit_scalar_type(bits), false), k_int(e, bits, int_bits(bits) - 1));
    return fp_as_float(e, v_or(e, bits, sign));
}

static V
int_to_real(struct emit *e, V v, bool is_signed, LLVMTypeRef ft)
{
    return LLVMBuildCast(e->b, is_signed ? LLVMSIToFP : LLVMUIToFP, v, emit_like(e, v, ft), "");
}

/* To a float of type dt; for the small types, to an f32 that rounds to dt correctly. */
static V
int_to_float(struct emit *e, V v, ptx_type st, ptx_type dt, unsigned round)
{
    bool s = type_is_signed(st), wide = int_bits(v) > 32, nearest = round == PTX_RN || round == PTX_RND_NONE;

    if (dt == PTX_F64)
        return nearest || !wide ? int_to_real(e, v, s, e->f64) : int64_to_float(e, v, s, e->f64, round, false);
    if (dt == PTX_F32) {
        if (nearest)
            return int_to_real(e, v, s, e->f32);
        return wide ? int64_to_float(e, v, s, e->f32, round, false) : fp_narrow(e, int_to_real(e, v, s, e->f64), round);
    }
    return wide ? int64_to_float(e, v, s, e->f32, PTX_RZ, true) : fp_narrow_odd(e, int_to_real(e, v, s, e->f64));
}

/* NaN becomes zero, except that with an f64 source or a 64-bit destination it becomes the top bit (9.7.9.21). */
static V
float_to_int(struct emit *e, const struct ptx_inst *in, V v, ptx_type dt, ptx_type st)
{
    LLVMTypeRef t = emit_type(e, dt);
    unsigned bits = LLVMGetIntTypeWidth(t);
    V r = fp_to_int_sat(e, round_integral(e, v, in->round == PTX_RZI ? PTX_RND_NONE : in->round), t, type_is_signed(dt));

    if (st == PTX_F64 || bits == 64)
        r = v_sel(e, fp_is_nan(e, v), k_int(e, r, UINT64_C(1) << (bits - 1)), r);
    return r;
}

/* f64 NaN to f16 or bf16: keeps sign and upper payload, quieted (measured on an H200). v is the f32 made of it. */
static V
small_nan(struct emit *e, V v, enum fp_small f, V r)
{
    V bits = fp_as_int(e, v);
    unsigned drop = f == FP_F16 ? 13 : 16;
    V code = v_or(e, v_lshr(e, v_and(e, bits, k_int(e, bits, 0x7fffff)), k_int(e, bits, drop)),
                  k_int(e, bits, f == FP_F16 ? 0x7e00 : 0x7fc0));

    code = v_or(e, code, v_lshr(e, v_and(e, bits, k_int(e, bits, 0x80000000)), k_int(e, bits, 16)));
    return v_sel(e, fp_is_nan(e, v), emit_resize(e, code, e->i16, false), r);
}

/* The destination's value in its representation; v is f32 or f64. */
static V
to_float_type(struct emit *e, const struct ptx_inst *in, V v, ptx_type dt)
{
    enum fp_small f;
    /* Hardware keeps the sign and upper payload of an f64 NaN, and without .ftz the exact bits of a bf16 NaN (measured on an H200). */
    bool wide = emit_scalar_type(v) == e->f64, canonical = !wide && (in->type[1] != PTX_BF16 || in->flags & PTX_F_FTZ);

    if (in->flags & PTX_F_SAT)
        v = fp_saturate(e, v);
    if (in->flags & PTX_F_RELU)
        v = fp_relu(e, v);
    if (is_small(dt, &f)) {
        if (wide)
            v = fp_narrow_odd(e, v);
        V r = fp_to_small(e, v, f, in->round, in->flags & PTX_F_SATFINITE);
        if (wide && in->type[1] == PTX_F64 && (f == FP_F16 || f == FP_BF16))
            r = small_nan(e, v, f, r);
        return dt == PTX_F16 ? emit_bitcast(e, r, e->f16) : dt == PTX_TF32 ? fp_as_float(e, r) : r;
    }
    if (dt == PTX_F64)
        return wide ? v : fp_widen(e, in->flags & PTX_F_FTZ ? fp_canonical(e, v) : v);
    if (wide)
        v = fp_narrow_flushed(e, v, in->round, in->flags & PTX_F_FTZ);
    if (in->flags & PTX_F_FTZ)
        v = fp_flush(e, v, PTX_F32);
    return canonical ? fp_canonical(e, v) : v;
}

/* The two elements of a packed source, low first, as f32. */
static void
packed_elements(struct emit *e, V v, ptx_type t, V out[2])
{
    enum fp_small f = FP_F16;
    V half[2];

    is_small(t, &f);
    v_unpack(e, v, half);
    for (unsigned i = 0; i < 2; i++)
        out[i] = fp_from_small(e, half[i], f);
}

/* cvt to f16x2, bf16x2, e4m3x2, e5m2x2, from two f32 (the first gives the upper half) or from another packed type. */
static void
convert_packed(struct emit *e, const struct ptx_inst *in)
{
    ptx_type dt = in->type[0], st = in->type[1];
    V x[2];

    if (is_packed(st)) {
        packed_elements(e, emit_src(e, in, 1, st), st, x);
    } else if (st == PTX_F32 && in->noperands >= 3) {
        x[1] = emit_src(e, in, 1, st);
        x[0] = emit_src(e, in, 2, st);
    } else {
        emit_unsupported(e, in, "this pair of types");
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (in->flags & PTX_F_FTZ && st == PTX_F32)
            x[i] = fp_flush(e, x[i], st);
        x[i] = to_float_type(e, in, x[i], dt);
    }
    emit_dst(e, in, 0, dt, v_pack(e, x[0], x[1]));
}

/* cvt.pack.sat: a and b saturated to n bits, a above b; the forms of 8 bits or less shift c in above both (9.7.9.22). */
void
emit_cvt_pack(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = in->type[0];
    unsigned bits = LLVMGetIntTypeWidth(emit_type(e, t));
    bool s = type_is_signed(t);
    V r = NULL, a = emit_src(e, in, 1, PTX_S32), b = emit_src(e, in, 2, PTX_S32);
    V low = k_int(e, a, (UINT64_C(1) << bits) - 1);

    a = v_and(e, clamp_int(e, a, bits, s, true), low);
    b = v_and(e, clamp_int(e, b, bits, s, true), low);
    r = v_or(e, v_shl(e, a, k_int(e, a, bits)), b);
    if (in->noperands >= 4 && bits <= 8) {
        V c = emit_src(e, in, 3, PTX_B32);
        r = v_or(e, r, v_shl(e, c, k_int(e, c, 2 * bits)));
    }
    emit_dst(e, in, 0, PTX_B32, r);
}

void
emit_cvt(struct emit *e, const struct ptx_inst *in)
{
    ptx_type dt = in->type[0], st = in->type[1];
    V v;

    if (in->round == PTX_RS) {
        emit_unsupported(e, in, "stochastic rounding");
        return;
    }
    if (is_packed(dt)) {
        convert_packed(e, in);
        return;
    }
    if (is_packed(st) || st == PTX_NONE || (in->noperands > 2 && dt != PTX_NONE)) {
        emit_unsupported(e, in, "this pair of types");
        return;
    }

    v = emit_src(e, in, 1, st);
    if (st == dt && (st == PTX_F32 || st == PTX_F64) && in->round == PTX_RND_NONE && !(in->flags & (PTX_F_FTZ | PTX_F_SAT | PTX_F_RELU))) {
        emit_dst(e, in, 0, dt, v);      /* a move: NaN stays unchanged */
        return;
    }
    if (!is_float_type(st)) {
        if (!is_float_type(dt))
            v = int_to_int(e, in, v, dt, st);
        else
            v = to_float_type(e, in, int_to_float(e, v, st, dt, in->round), dt);
    } else {
        enum fp_small f;
        if (is_small(st, &f))
            v = fp_from_small(e, st == PTX_F16 ? emit_bitcast(e, v, e->i16) : v, f);
        else if (in->flags & PTX_F_FTZ && st == PTX_F32 && dt != PTX_F16)   /* for f16 it has no effect (measured on an H200) */
            v = fp_flush(e, v, st);
        if (!is_float_type(dt))
            v = float_to_int(e, in, v, dt, st);
        else
            v = to_float_type(e, in, round_integral(e, v, in->round), dt);
    }
    emit_dst(e, in, 0, dt, v);
}
