/* SPDX-License-Identifier: Apache-2.0
 * Parts of warp-level operations (9.7.9.5, 9.7.13) that several targets share. */
#include "jit/emit/emit_private.h"

/* The source lane of shfl and its validity (9.7.9.6). */
LLVMValueRef
emit_shuffle_source(struct emit *e, const struct ptx_inst *in, LLVMValueRef lane, LLVMValueRef b, LLVMValueRef c, LLVMValueRef *valid)
{
    LLVMValueRef bval = emit_bin(e, LLVMAnd, b, i32(e, 31)), cval = emit_bin(e, LLVMAnd, c, i32(e, 31));
    LLVMValueRef seg = emit_bin(e, LLVMAnd, emit_bin(e, LLVMLShr, c, i32(e, 8)), i32(e, 31));
    LLVMValueRef not_seg = emit_bin(e, LLVMXor, seg, i32(e, 31));
    LLVMValueRef min = emit_bin(e, LLVMAnd, lane, seg);
    LLVMValueRef max = emit_bin(e, LLVMOr, min, emit_bin(e, LLVMAnd, cval, not_seg));
    LLVMValueRef j;
    switch (in->mode) {
    case PTX_MODE_UP:
        j = emit_bin(e, LLVMSub, lane, bval);
        *valid = emit_icmp(e, LLVMIntSGE, j, max);
        break;
    case PTX_MODE_DOWN:
        j = emit_bin(e, LLVMAdd, lane, bval);
        *valid = emit_icmp(e, LLVMIntSLE, j, max);
        break;
    case PTX_MODE_BFLY:
        j = emit_bin(e, LLVMXor, lane, bval);
        *valid = emit_icmp(e, LLVMIntSLE, j, max);
        break;
    default:
        j = emit_bin(e, LLVMOr, min, emit_bin(e, LLVMAnd, bval, not_seg));
        *valid = emit_icmp(e, LLVMIntSLE, j, max);
        break;
    }
    return emit_select(e, *valid, j, lane);
}

void
emit_vote(struct emit *e, const struct ptx_inst *in, LLVMValueRef set, LLVMValueRef active)
{
    LLVMValueRef all = emit_icmp(e, LLVMIntEQ, set, active), any = emit_icmp(e, LLVMIntNE, set, i32(e, 0));
    if (in->mode == PTX_MODE_BALLOT)
        emit_dst(e, in, 0, PTX_B32, set);
    else
        emit_dst(e, in, 0, PTX_PRED, in->mode == PTX_MODE_ALL ? all : in->mode == PTX_MODE_ANY ? any
                                     : emit_bin(e, LLVMOr, all, LLVMBuildNot(e->b, any, "")));
}

void
emit_match(struct emit *e, const struct ptx_inst *in, LLVMValueRef same, LLVMValueRef active)
{
    LLVMValueRef all = NULL;
    if (in->mode == PTX_MODE_ALL) {         /* one answer holds for every lane */
        all = emit_icmp(e, LLVMIntEQ, same, active);
        same = emit_select(e, all, active, emit_int_like(e, active, 0));
    }
    emit_dst_pair(e, &in->operand[0], PTX_B32, same, all);
}

LLVMValueRef
emit_redux_step(struct emit *e, const struct ptx_inst *in, LLVMValueRef a, LLVMValueRef b)
{
    bool is_signed = ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_SINT;
    switch (in->atomop) {
    case PTX_ATOM_AND: return LLVMBuildAnd(e->b, a, b, "");
    case PTX_ATOM_OR:  return LLVMBuildOr(e->b, a, b, "");
    case PTX_ATOM_XOR: return LLVMBuildXor(e->b, a, b, "");
    case PTX_ATOM_ADD: return LLVMBuildAdd(e->b, a, b, "");
    case PTX_ATOM_MIN: return emit_select(e, emit_icmp(e, is_signed ? LLVMIntSLT : LLVMIntULT, a, b), a, b);
    default:           return emit_select(e, emit_icmp(e, is_signed ? LLVMIntSGT : LLVMIntUGT, a, b), a, b);
    }
}

LLVMValueRef
emit_redux_identity(struct emit *e, const struct ptx_inst *in)
{
    bool is_signed = ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_SINT;
    switch (in->atomop) {
    case PTX_ATOM_AND: return i32(e, ~0u);
    case PTX_ATOM_MIN: return i32(e, is_signed ? 0x7fffffffu : ~0u);
    case PTX_ATOM_MAX: return i32(e, is_signed ? 0x80000000u : 0);
    default: return i32(e, 0);
    }
}
