/* SPDX-License-Identifier: Apache-2.0
 * Tables of emitters made from the columns of jit/ptx/ops.def and jit/ptx/sregs.def, and the look-up. */
#include "jit/emit/emit_private.h"

#define NO(why) { NULL, why }
#define BY(f) { f, NULL }
#define OP(symbol, mnemonic, ndst, ptx, sm, traits, types, mods, sig, emitters) [PTX_OP_##symbol] = emitters,
#define SREG(symbol, name, type, traits, readers) [PTX_SREG_##symbol] = readers,

#define ON(host, amdgcn, nvptx) host
const struct emit_op emit_ops_host[PTX_OP_COUNT] = {
#include "jit/ptx/ops.def"
};
const struct emit_sreg emit_sregs_host[PTX_SREG_COUNT] = {
#include "jit/ptx/sregs.def"
};
#undef ON

#define ON(host, amdgcn, nvptx) amdgcn
const struct emit_op emit_ops_amdgcn[PTX_OP_COUNT] = {
#include "jit/ptx/ops.def"
};
const struct emit_sreg emit_sregs_amdgcn[PTX_SREG_COUNT] = {
#include "jit/ptx/sregs.def"
};
#undef ON

#define ON(host, amdgcn, nvptx) nvptx
const struct emit_op emit_ops_nvptx[PTX_OP_COUNT] = {
#include "jit/ptx/ops.def"
};
const struct emit_sreg emit_sregs_nvptx[PTX_SREG_COUNT] = {
#include "jit/ptx/sregs.def"
};
#undef ON

static bool
is_text(const struct ptx_inst *in)
{
    return in->noperands == 1 && in->operand[0].kind == PTX_OPND_TEXT;
}

void
emit_one(struct emit *e, const struct ptx_inst *in)
{
    const struct emit_op *op = &e->target->ops[in->op];
    if (e->target->claims && e->target->claims(e, in))
        return;
    if (!op->emit)
        emit_unsupported(e, in, op->refused);
    else if (is_text(in) && !e->target->takes_text)
        emit_unsupported(e, in, "a form that came after sm_90");
    else
        op->emit(e, in);
}

LLVMValueRef
emit_sreg(struct emit *e, ptx_sreg r)
{
    const struct emit_sreg *s = &e->target->sregs[r];
    const struct ptx_sreg_info *info = ptx_sreg_info(r);
    if (s->read)
        return s->read(e, r);
    if (e->result == CW_OK)
        e->result = CW_ERR_UNSUPPORTED;
    cwj_diag_add(e->diags, PTX_ERROR, 5001, 0, 0, "not supported on %s: %s: %s", e->target->name, info->name, s->refused);
    return LLVMConstNull(emit_type(e, (ptx_type)info->type));
}

/* ---- trivial emitters -------------------------------------------------------------------------------------------------- */

/* For hints, and for instructions that another one makes redundant: cp.async copies synchronously, so waiting for it does nothing; the
 * kernels of a stream run one after the other. */
void
emit_nothing(struct emit *e, const struct ptx_inst *in)
{
}

LLVMValueRef
emit_sreg_zero(struct emit *e, ptx_sreg r)
{
    return LLVMConstNull(emit_type(e, (ptx_type)ptx_sreg_info(r)->type));
}

static LLVMValueRef
whole(struct emit *e, ptx_sreg r)
{
    return emit_sreg(e, r == PTX_SREG_CLOCK || r == PTX_SREG_CLOCK_HI ? PTX_SREG_CLOCK64 : PTX_SREG_GLOBALTIMER);
}

LLVMValueRef
emit_sreg_low(struct emit *e, ptx_sreg r)
{
    return emit_low_half(e, whole(e, r));
}

LLVMValueRef
emit_sreg_high(struct emit *e, ptx_sreg r)
{
    return emit_high_half(e, whole(e, r));
}

LLVMValueRef
emit_sreg_lanemask(struct emit *e, ptx_sreg r)
{
    LLVMValueRef lane = emit_sreg(e, PTX_SREG_LANEID), one = emit_bin(e, LLVMShl, emit_int_like(e, lane, 1), lane);
    if (r == PTX_SREG_LANEMASK_EQ)
        return one;
    LLVMValueRef lt = emit_bin(e, LLVMSub, one, emit_int_like(e, one, 1));
    if (r == PTX_SREG_LANEMASK_LT)
        return lt;
    if (r == PTX_SREG_LANEMASK_GE)
        return LLVMBuildNot(e->b, lt, "");
    LLVMValueRef le = emit_bin(e, LLVMOr, lt, one);
    return r == PTX_SREG_LANEMASK_LE ? le : LLVMBuildNot(e->b, le, "");
}

/* Includes what the system reserves of each block's shared memory: 1 KiB since compute capability 8. */
LLVMValueRef
emit_sreg_aggr_smem_size(struct emit *e, ptx_sreg r)
{
    return LLVMBuildAdd(e->b, emit_sreg(e, PTX_SREG_TOTAL_SMEM_SIZE), i32(e, 1024), "");
}

/* The largest number of warps of a block that fits on a multiprocessor of any current NVIDIA GPU. */
LLVMValueRef
emit_sreg_nwarpid(struct emit *e, ptx_sreg r)
{
    return LLVMConstInt(e->i32, 32, false);
}
