/* SPDX-License-Identifier: Apache-2.0
 * Parts of asynchronous copies and mbarrier objects (9.7.9.25, 9.7.13.15) that several targets share. */
#include "jit/emit/emit_private.h"

void
emit_mbarrier_pending_count(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef s = emit_src(e, in, 1, PTX_B64), mask = emit_int_like(e, s, (1u << CWH_MBARRIER_COUNT_BITS) - 1);
    s = emit_bin(e, LLVMAnd, emit_bin(e, LLVMLShr, s, emit_int_like(e, s, CWH_MBARRIER_PENDING_SHIFT)), mask);
    s = emit_bin(e, LLVMSub, emit_int_like(e, s, 1u << CWH_MBARRIER_COUNT_BITS), s);
    emit_dst(e, in, 0, PTX_U32, emit_resize(e, s, e->i32, false));
}

LLVMValueRef
emit_async_size(struct emit *e, const struct ptx_inst *in)
{
    unsigned policy = in->aux & PTX_AUX_CACHE_HINT ? 1 : 0;
    if (in->noperands <= 3 + policy)
        return NULL;
    const struct ptx_operand *o = &in->operand[3];
    if (o->negate_pred || (o->kind == PTX_OPND_REG && e->fn->regs[o->index].type == PTX_PRED))
        return emit_select(e, emit_src(e, in, 3, PTX_PRED), emit_int(e, e->i32, 0), emit_int(e, e->i32, (uint32_t)in->operand[2].imm));
    return emit_src(e, in, 3, PTX_U32);
}
