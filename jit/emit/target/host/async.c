/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous copies and mbarrier objects on the host device (9.7.9.25, 9.7.13.15). A copy is made where it is issued, as the memory model
 * allows, so committing and waiting do nothing; barrier objects are run-time calls. */
#include "jit/emit/target/host/host_private.h"

static LLVMValueRef
mask_argument(struct emit *e)
{
    LLVMValueRef bits = e->width == 1 ? i32(e, 1) : emit_mask_bits(e, e->mask);
    return LLVMBuildZExt(e->b, bits, e->i64, "");
}

/* Store one element per lane to memory. */
static LLVMValueRef
spill(struct emit *e, LLVMValueRef v)
{
    v = emit_splat(e, v);
    LLVMValueRef slot = emit_alloca(e, LLVMTypeOf(v), 64, "");
    LLVMBuildStore(e->b, v, slot);
    return slot;
}

static LLVMValueRef
generic_address(struct emit *e, const struct ptx_operand *o, ptx_space space)
{
    /* A symbol implies its own space if the instruction names none. */
    if (space == PTX_SPACE_GENERIC && !o->has_reg && o->sym && o->sym->space == PTX_SPACE_SHARED)
        space = PTX_SPACE_SHARED;
    return e->target->to_generic(e, emit_address(e, o, space), space);
}

void
emit_host_cp_async(struct emit *e, const struct ptx_inst *in)
{
    uint32_t size = (uint32_t)in->operand[2].imm;
    LLVMValueRef count = emit_async_size(e, in);
    if (!count)
        count = i32(e, size);
    LLVMValueRef to = generic_address(e, &in->operand[0], PTX_SPACE_SHARED), from = generic_address(e, &in->operand[1], PTX_SPACE_GLOBAL);
    LLVMTypeRef types[6] = { e->ptr, e->i64, e->i32, e->ptr, e->ptr, e->ptr };
    LLVMValueRef args[6] = { e->f->gang, mask_argument(e), i32(e, size), spill(e, to), spill(e, from), spill(e, count) };
    emit_runtime(e, "cwh_rt_cp_async", e->void_, types, 6, args);
}

static LLVMValueRef
mbarrier_call(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef addresses, LLVMValueRef value)
{
    LLVMTypeRef shape = e->width > 1 ? LLVMVectorType(e->i64, e->width) : e->i64;
    LLVMValueRef results = emit_alloca(e, shape, 64, "");
    LLVMTypeRef types[6] = { e->ptr, e->i64, e->i32, e->ptr, e->ptr, e->ptr };
    LLVMValueRef args[6] = { e->f->gang, mask_argument(e), i32(e, op), addresses, spill(e, emit_resize(e, value, e->i64, false)), results };
    emit_runtime(e, "cwh_rt_mbarrier", e->void_, types, 6, args);
    return LLVMBuildLoad2(e->b, shape, results, "");
}

void
emit_host_mbarrier(struct emit *e, const struct ptx_inst *in)
{
    bool arrive = in->op == PTX_OP_MBARRIER_ARRIVE || in->op == PTX_OP_MBARRIER_ARRIVE_DROP;
    bool wait = in->op == PTX_OP_MBARRIER_TEST_WAIT || in->op == PTX_OP_MBARRIER_TRY_WAIT;
    bool expect = in->aux >> PTX_AUX_EXPECT_TX & 1, parity = in->aux >> PTX_AUX_PARITY & 1;
    unsigned at = arrive || wait ? 1 : 0;
    LLVMValueRef address = spill(e, generic_address(e, &in->operand[at], (ptx_space)in->space));
    LLVMValueRef value = at + 1 < in->noperands ? emit_src(e, in, at + 1, wait && !parity ? PTX_B64 : PTX_B32) : i32(e, 1);
    if (wait) {
        emit_session(e)->uses_fibers = true;
        LLVMValueRef r = mbarrier_call(e, parity ? CWH_MBARRIER_TEST_PARITY : CWH_MBARRIER_TEST, address, value);
        emit_dst(e, in, 0, PTX_PRED, emit_icmp(e, LLVMIntNE, r, emit_int_like(e, r, 0)));
        return;
    }
    if (arrive) {
        if (expect) {
            mbarrier_call(e, CWH_MBARRIER_EXPECT, address, value);
            value = i32(e, 1);
        }
        LLVMValueRef r = mbarrier_call(e, in->op == PTX_OP_MBARRIER_ARRIVE ? CWH_MBARRIER_ARRIVE : CWH_MBARRIER_DROP, address, value);
        emit_dst(e, in, 0, PTX_B64, r);
        return;
    }
    enum cwh_mbarrier_op op = in->op == PTX_OP_MBARRIER_INIT        ? CWH_MBARRIER_INIT
                              : in->op == PTX_OP_MBARRIER_INVAL     ? CWH_MBARRIER_INVAL
                              : in->op == PTX_OP_MBARRIER_EXPECT_TX ? CWH_MBARRIER_EXPECT
                                                                    : CWH_MBARRIER_COMPLETE;
    mbarrier_call(e, op, address, value);
}

/* Copies complete when issued. Without .noinc the pending count would go up by one and down again. */
void
emit_host_cp_async_arrive(struct emit *e, const struct ptx_inst *in)
{
    if (in->aux >> PTX_AUX_NOINC & 1)
        mbarrier_call(e, CWH_MBARRIER_ARRIVE, spill(e, generic_address(e, &in->operand[0], (ptx_space)in->space)), i32(e, 1));
}
