/* SPDX-License-Identifier: Apache-2.0
 * SIMD video instructions (PTX ISA 9.7.18.9 ff.): two halves or four bytes, each lane of an operand selected from both source registers;
 * operate with enough bits that nothing wraps, saturate, then either sum into c, or write the masked lanes with c in the others. */
#include "jit/emit/arith/arith_private.h"

/* Lane `lane` of operand a (i = 1) or b (i = 2), extended to 32 bits. Selectors from 0 on name a's lanes, those from `lanes` on b's. */
static V
lane_source(struct emit *e, const struct ptx_inst *in, unsigned i, unsigned lane, unsigned lanes, const V reg[2], bool is_signed)
{
    unsigned sel = in->operand[i].simd_sel, bits = 32 / lanes;
    unsigned part = sel ? PTX_SIMD_PART(sel, lane) : lane + (i == 2 ? lanes : 0);
    V v = reg[part / lanes];

    v = v_shl(e, v, k_int(e, v, (lanes - 1 - part % lanes) * bits));
    return emit_bin(e, is_signed ? LLVMAShr : LLVMLShr, v, k_int(e, v, 32 - bits));
}

static V
lane_op(struct emit *e, const struct ptx_inst *in, V a, V b)
{
    switch (in->op) {
    case PTX_OP_VADD2: case PTX_OP_VADD4:
        return v_add(e, a, b);
    case PTX_OP_VSUB2: case PTX_OP_VSUB4:
        return v_sub(e, a, b);
    case PTX_OP_VAVRG2: case PTX_OP_VAVRG4: {       /* averages round away from zero */
        V s = v_add(e, a, b);
        V up = emit_icmp(e, LLVMIntSGE, s, k_int(e, s, 0));
        return v_ashr(e, v_add(e, s, emit_resize(e, up, e->i32, false)), k_int(e, s, 1));
    }
    case PTX_OP_VABSDIFF2: case PTX_OP_VABSDIFF4:
        return v_sub(e, v_call2(e, "llvm.smax", a, b), v_call2(e, "llvm.smin", a, b));
    case PTX_OP_VMIN2: case PTX_OP_VMIN4:
        return v_call2(e, "llvm.smin", a, b);
    case PTX_OP_VMAX2: case PTX_OP_VMAX4:
        return v_call2(e, "llvm.smax", a, b);
    default:
        return emit_resize(e, emit_icmp(e, arith_predicate(in->cmp, true), a, b), e->i32, false);
    }
}

/* One bit per lane that the destination's mask names; all if there is no mask. */
static unsigned
lane_mask(const struct ptx_operand *d, unsigned lanes)
{
    unsigned mask = 0;

    if (d->video_sel >= 0)
        return 1u << (d->video_sel & 3);
    if (!d->simd_sel)
        return (1u << lanes) - 1;
    for (unsigned i = 0; i < PTX_SIMD_COUNT(d->simd_sel); i++)
        mask |= 1u << PTX_SIMD_PART(d->simd_sel, i);
    return mask;
}

void
emit_video_simd(struct emit *e, const struct ptx_inst *in)
{
    unsigned lanes = in->op >= PTX_OP_VADD2 && in->op <= PTX_OP_VSET2 ? 2 : 4;
    bool set = in->op == PTX_OP_VSET2 || in->op == PTX_OP_VSET4;

    note_video(e);
    if (set && (in->cmp < PTX_EQ || in->cmp > PTX_GE)) {
        emit_unsupported(e, in, "this comparison");
        return;
    }
    ptx_type dt = set ? PTX_U32 : in->type[0], at = in->type[set ? 0 : 1], bt = in->type[set ? 1 : 2];
    struct ptx_operand o[3] = { in->operand[1], in->operand[2], in->operand[0] };
    for (unsigned i = 0; i < 3; i++) {
        o[i].video_sel = -1;
        o[i].simd_sel = 0;
    }
    const V reg[2] = { emit_operand(e, &o[0], PTX_B32), emit_operand(e, &o[1], PTX_B32) };
    V r = emit_src(e, in, 3, PTX_B32);
    unsigned mask = lane_mask(&in->operand[0], lanes), bits = 32 / lanes;
    uint64_t field = (UINT64_C(1) << bits) - 1;

    for (unsigned i = 0; i < lanes; i++) {
        if (!(mask >> i & 1))
            continue;
        V t = lane_op(e, in, lane_source(e, in, 1, i, lanes, reg, type_is_signed(at)), lane_source(e, in, 2, i, lanes, reg, type_is_signed(bt)));
        if (in->flags & PTX_F_SAT) {
            uint64_t high = type_is_signed(dt) ? field >> 1 : field;
            t = v_call2(e, "llvm.smin", t, k_int(e, t, high));
            t = v_call2(e, "llvm.smax", t, k_int(e, t, type_is_signed(dt) ? ~high : 0));
        }
        if (in->atomop == PTX_ATOM_ADD) {
            r = v_add(e, r, t);
        } else {
            t = v_shl(e, v_and(e, t, k_int(e, t, field)), k_int(e, t, i * bits));
            r = v_or(e, t, v_and(e, r, k_int(e, r, ~(field << i * bits))));
        }
    }
    emit_dst_operand(e, &o[2], dt, r);
}
