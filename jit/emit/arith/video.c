/* SPDX-License-Identifier: Apache-2.0
 * Scalar video instructions (PTX ISA 9.7.18): select and extend bytes or halves of the operands, operate with enough bits that nothing
 * wraps, saturate, then accumulate with or merge into c. Intermediates have 64 bits (128 where a 33-bit value is shifted or a product
 * accumulated). */
#include "jit/emit/arith/arith_private.h"

/* Operand i, with a negation left out: the selected byte or half, extended to `wide`. */
static V
video_src(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, LLVMTypeRef wide)
{
    struct ptx_operand o = in->operand[i];
    bool s = type_is_signed(t);
    int sel = o.video_sel;

    o.negate = false;
    o.video_sel = -1;
    V v = emit_operand(e, &o, t);
    if (sel >= 0) {
        unsigned bits = sel < 4 ? 8 : 16, at = sel < 4 ? (unsigned)sel * 8 : (unsigned)(sel - 4) * 16;
        v = v_shl(e, v, k_int(e, v, 32 - bits - at));
        v = emit_bin(e, s ? LLVMAShr : LLVMLShr, v, k_int(e, v, 32 - bits));
    }
    return emit_resize(e, v, wide, s);
}

/* Clamp a signed wide value to `bits` bits of the given signedness. */
static V
clamp(struct emit *e, V v, unsigned bits, bool is_signed)
{
    V high = k_int(e, v, (UINT64_C(1) << (bits - is_signed)) - 1);
    V low = is_signed ? v_not(e, high) : k_int(e, v, 0);

    return v_call2(e, "llvm.smax", v_call2(e, "llvm.smin", v, high), low);
}

/* Saturate, then apply the second operation with c, or merge into c. */
static void
finish(struct emit *e, const struct ptx_inst *in, V r, ptx_type dt, unsigned c_index)
{
    bool s = type_is_signed(dt);
    int sel = in->operand[0].video_sel;
    unsigned bits = sel < 0 ? 32 : sel < 4 ? 8 : 16, at = sel < 0 ? 0 : sel < 4 ? (unsigned)sel * 8 : (unsigned)(sel - 4) * 16;

    if (in->flags & PTX_F_SAT)
        r = clamp(e, r, bits, s);
    r = emit_resize(e, r, e->i32, false);
    if (in->noperands > c_index) {
        V c = emit_src(e, in, c_index, dt);
        switch (in->atomop) {
        case PTX_ATOM_ADD:
            r = v_add(e, r, c);
            break;
        case PTX_ATOM_MIN:
            r = v_call2(e, s ? "llvm.smin" : "llvm.umin", r, c);
            break;
        case PTX_ATOM_MAX:
            r = v_call2(e, s ? "llvm.smax" : "llvm.umax", r, c);
            break;
        default: {
            uint64_t part = ((UINT64_C(1) << bits) - 1) << at;
            V put = v_and(e, v_shl(e, r, k_int(e, r, at)), k_int(e, r, part));
            r = v_or(e, put, v_and(e, c, k_int(e, c, ~part)));
            break;
        }
        }
    }
    struct ptx_operand d = in->operand[0];
    d.video_sel = -1;
    emit_dst_operand(e, &d, dt, r);
}

static V
abs_difference(struct emit *e, V a, V b)
{
    return v_sub(e, v_call2(e, "llvm.smax", a, b), v_call2(e, "llvm.smin", a, b));
}

static V
video_shift(struct emit *e, const struct ptx_inst *in, V a, V b)
{
    V n = in->flags & PTX_F_WRAP ? v_and(e, b, k_int(e, b, 31)) : v_call2(e, "llvm.umin", b, k_int(e, b, 32));

    return in->op == PTX_OP_VSHL ? v_shl(e, a, n) : v_ashr(e, a, n);
}

/* vmad: a*b + c, with the product or c negated, or one added (.po); shifted right by 7 or 15. */
void
emit_vmad(struct emit *e, const struct ptx_inst *in)
{
    ptx_type at = in->type[1], bt = in->type[2], dt = in->type[0];
    bool product_negative = in->operand[1].negate != in->operand[2].negate, c_negative = in->operand[3].negate;
    /* c and the result are signed if a factor is, or if something is negated; .dtype does not matter */
    bool s = type_is_signed(at) || type_is_signed(bt) || product_negative || c_negative;
    unsigned shift = PTX_AUX(in, VMAD_SHR);
    struct ptx_operand o = in->operand[3];

    note_video(e);
    o.negate = false;
    /* On an H200 a factor that is a whole register is signed whatever its type, and then so is c. */
    bool whole_a = in->operand[1].video_sel < 0, whole_b = in->operand[2].video_sel < 0;
    V r = v_mul(e, video_src(e, in, 1, whole_a ? PTX_S32 : at, e->i128), video_src(e, in, 2, whole_b ? PTX_S32 : bt, e->i128));
    V c = emit_resize(e, emit_operand(e, &o, dt), e->i128, s || whole_a || whole_b);
    if (product_negative)
        r = v_sub(e, k_int(e, r, 0), r);
    r = c_negative ? v_sub(e, r, c) : v_add(e, r, c);
    if (in->aux >> PTX_AUX_VMAD_PO & 1)
        r = v_add(e, r, k_int(e, r, 1));
    if (shift)
        r = v_ashr(e, r, k_int(e, r, shift == 1 ? 7 : 15));
    if (in->flags & PTX_F_SAT)
        r = clamp(e, r, 32, s);
    emit_dst(e, in, 0, dt, emit_resize(e, r, e->i32, false));
}

void
emit_vset(struct emit *e, const struct ptx_inst *in)
{
    note_video(e);
    if (in->cmp < PTX_EQ || in->cmp > PTX_GE) {
        emit_unsupported(e, in, "this comparison");
        return;
    }
    V c = emit_icmp(e, arith_predicate(in->cmp, true), video_src(e, in, 1, in->type[0], e->i64), video_src(e, in, 2, in->type[1], e->i64));
    finish(e, in, emit_resize(e, c, e->i64, false), PTX_U32, 3);
}

/* vadd .. vshr */
void
emit_video(struct emit *e, const struct ptx_inst *in)
{
    V a, b, r;

    note_video(e);
    LLVMTypeRef wide = in->op == PTX_OP_VSHL ? e->i128 : e->i64;
    a = video_src(e, in, 1, in->type[1], wide);
    b = video_src(e, in, 2, in->type[2], wide);
    switch (in->op) {
    case PTX_OP_VADD:     r = v_add(e, a, b); break;
    case PTX_OP_VSUB:     r = v_sub(e, a, b); break;
    case PTX_OP_VABSDIFF: r = abs_difference(e, a, b); break;
    case PTX_OP_VMIN:     r = v_call2(e, "llvm.smin", a, b); break;
    case PTX_OP_VMAX:     r = v_call2(e, "llvm.smax", a, b); break;
    default:              r = video_shift(e, in, a, b); break;
    }
    /* An H200 does not saturate a result of operands of different signedness that is too large for u32. */
    if ((in->op == PTX_OP_VADD || in->op == PTX_OP_VSUB || in->op == PTX_OP_VABSDIFF) && in->flags & PTX_F_SAT &&
        in->type[0] == PTX_U32 && in->operand[0].video_sel < 0 && type_is_signed(in->type[1]) != type_is_signed(in->type[2])) {
        r = v_call2(e, "llvm.smax", r, k_int(e, r, 0));
        r = v_and(e, r, k_int(e, r, UINT64_C(0xffffffff)));
    }
    finish(e, in, r, in->type[0], 3);
}
