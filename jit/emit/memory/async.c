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

void
emit_mbarrier(struct emit *e, const struct ptx_inst *in)
{
    const struct emit_target *t = e->target;
    bool arrive = in->op == PTX_OP_MBARRIER_ARRIVE || in->op == PTX_OP_MBARRIER_ARRIVE_DROP;
    bool wait = in->op == PTX_OP_MBARRIER_TEST_WAIT || in->op == PTX_OP_MBARRIER_TRY_WAIT;
    bool parity = in->aux >> PTX_AUX_PARITY & 1;
    const struct ptx_operand *o = &in->operand[arrive || wait];
    LLVMValueRef object = t->mbarrier_object(e, o, emit_effective_space(in, o)), r;
    unsigned at = (arrive || wait) + 1u;
    LLVMValueRef value = at < in->noperands ? emit_src(e, in, at, wait && !parity ? PTX_B64 : PTX_B32) : i32(e, 1);
    if (wait) {
        r = t->mbarrier(e, parity ? CWH_MBARRIER_TEST_PARITY : CWH_MBARRIER_TEST, object, value);
        emit_dst(e, in, 0, PTX_PRED, emit_icmp(e, LLVMIntNE, r, emit_int_like(e, r, 0)));
    } else if (arrive) {
        if (in->aux >> PTX_AUX_EXPECT_TX & 1) {
            t->mbarrier(e, CWH_MBARRIER_EXPECT, object, value);
            value = i32(e, 1);
        }
        r = t->mbarrier(e, in->op == PTX_OP_MBARRIER_ARRIVE ? CWH_MBARRIER_ARRIVE : CWH_MBARRIER_DROP, object, value);
        emit_dst(e, in, 0, PTX_B64, r);
    } else {
        t->mbarrier(e, in->op == PTX_OP_MBARRIER_INIT        ? CWH_MBARRIER_INIT
                       : in->op == PTX_OP_MBARRIER_INVAL     ? CWH_MBARRIER_INVAL
                       : in->op == PTX_OP_MBARRIER_EXPECT_TX ? CWH_MBARRIER_EXPECT
                                                             : CWH_MBARRIER_COMPLETE, object, value);
    }
}

/* Copies complete when issued. Without .noinc the pending count would go up by one and down again. */
void
emit_cp_async_arrive(struct emit *e, const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->operand[0];
    if (in->aux >> PTX_AUX_NOINC & 1)
        e->target->mbarrier(e, CWH_MBARRIER_ARRIVE, e->target->mbarrier_object(e, o, emit_effective_space(in, o)), i32(e, 1));
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
