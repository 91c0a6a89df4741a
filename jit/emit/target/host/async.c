/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous copies and mbarrier objects on the host device (9.7.9.25, 9.7.13.15). A copy is made where it is issued, which the
 * memory model allows, so that committing and waiting are nothing; barrier objects are run-time calls. */
#include "jit/emit/emit_private.h"

static LLVMValueRef
i32(struct emit *e, uint32_t v)
{
    return LLVMConstInt(e->i32, v, false);
}

static LLVMValueRef
mask_argument(struct emit *e)
{
    LLVMValueRef bits = e->width == 1 ? i32(e, 1) : emit_mask_bits(e, e->mask);
    return LLVMBuildZExt(e->b, bits, e->i64, "");
}

/* One element a lane, in memory. */
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
    /* A name without a space on the instruction stands for its own space's address. */
    if (space == PTX_SPACE_GENERIC && !o->has_reg && o->sym && o->sym->space == PTX_SPACE_SHARED)
        space = PTX_SPACE_SHARED;
    return emit_session(e)->target->to_generic(e, emit_address(e, o, space), space);
}

static void
cp_async(struct emit *e, const struct ptx_inst *in)
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

static void
mbarrier(struct emit *e, const struct ptx_inst *in)
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

bool
emit_async_common(struct emit *e, const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_ALL:
        return true;
    case PTX_OP_MBARRIER_PENDING_COUNT: {
        LLVMValueRef s = emit_src(e, in, 1, PTX_B64), mask = emit_int_like(e, s, (1u << CWH_MBARRIER_COUNT_BITS) - 1);
        s = emit_bin(e, LLVMAnd, emit_bin(e, LLVMLShr, s, emit_int_like(e, s, CWH_MBARRIER_PENDING_SHIFT)), mask);
        s = emit_bin(e, LLVMSub, emit_int_like(e, s, 1u << CWH_MBARRIER_COUNT_BITS), s);
        emit_dst(e, in, 0, PTX_U32, emit_resize(e, s, e->i32, false));
        return true;
    }
    case PTX_OP_GRIDDEPCONTROL_LAUNCH_DEPENDENTS:
    case PTX_OP_GRIDDEPCONTROL_WAIT:
        return true;                /* a stream's kernels run one after the other */
    default:
        return false;
    }
}

LLVMValueRef
emit_async_size(struct emit *e, const struct ptx_inst *in)
{
    unsigned policy = in->aux & PTX_AUX_CACHE_HINT ? 1 : 0;
    if (in->noperands <= 3 + policy)
        return NULL;
    const struct ptx_operand *o = &in->operand[3];
    if (o->negate_pred || (o->kind == PTX_OPND_REG && e->fn->regs[o->index].type == PTX_PRED))
        return emit_select(e, emit_src(e, in, 3, PTX_PRED), i32(e, 0), i32(e, (uint32_t)in->operand[2].imm));
    return emit_src(e, in, 3, PTX_U32);
}

bool
emit_host_async(struct emit *e, const struct ptx_inst *in)
{
    if (emit_async_common(e, in))
        return true;
    switch (in->op) {
    case PTX_OP_CP_ASYNC:
        cp_async(e, in);
        return true;
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
        /* The copies are complete. Without .noinc the pending count goes up by one and down again. */
        if (in->aux >> PTX_AUX_NOINC & 1)
            mbarrier_call(e, CWH_MBARRIER_ARRIVE, spill(e, generic_address(e, &in->operand[0], (ptx_space)in->space)), i32(e, 1));
        return true;
    case PTX_OP_MBARRIER_INIT: case PTX_OP_MBARRIER_INVAL: case PTX_OP_MBARRIER_EXPECT_TX: case PTX_OP_MBARRIER_COMPLETE_TX:
    case PTX_OP_MBARRIER_ARRIVE: case PTX_OP_MBARRIER_ARRIVE_DROP: case PTX_OP_MBARRIER_TEST_WAIT: case PTX_OP_MBARRIER_TRY_WAIT:
        mbarrier(e, in);
        return true;
    default:
        return false;
    }
}
