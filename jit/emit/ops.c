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
    (void)e, (void)in;
}

LLVMValueRef
emit_sreg_zero(struct emit *e, ptx_sreg r)
{
    return LLVMConstNull(emit_type(e, (ptx_type)ptx_sreg_info(r)->type));
}

/* The largest number of warps of a block that fits on a multiprocessor of any current NVIDIA GPU. */
LLVMValueRef
emit_sreg_nwarpid(struct emit *e, ptx_sreg r)
{
    (void)r;
    return LLVMConstInt(e->i32, 32, false);
}
