/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous copies and mbarrier objects on the host device (9.7.9.25, 9.7.13.15). A copy is made where it is issued, as the memory model
 * allows, so committing and waiting do nothing; barrier objects are run-time calls. */
#include "jit/emit/target/host/host_private.h"

#include <stdio.h>

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

void
emit_host_cp_async(struct emit *e, const struct ptx_inst *in)
{
    uint32_t size = (uint32_t)in->operand[2].imm;
    LLVMValueRef count = emit_async_size(e, in);
    if (!count)
        count = i32(e, size);
    LLVMValueRef to = e->target->to_generic(e, emit_address(e, &in->operand[0], PTX_SPACE_SHARED), PTX_SPACE_SHARED);
    LLVMValueRef from = e->target->to_generic(e, emit_address(e, &in->operand[1], PTX_SPACE_GLOBAL), PTX_SPACE_GLOBAL);
    LLVMTypeRef types[6] = { e->ptr, e->i64, e->i32, e->ptr, e->ptr, e->ptr };
    LLVMValueRef args[6] = { e->f->gang, mask_argument(e), i32(e, size), spill(e, to), spill(e, from), spill(e, count) };
    emit_runtime(e, "cwh_rt_cp_async", e->void_, types, 6, args);
}

LLVMValueRef
host_mbarrier_object(struct emit *e, const struct ptx_operand *o, ptx_space space)
{
    return spill(e, e->target->to_generic(e, emit_address(e, o, space), space));
}

LLVMValueRef
host_mbarrier(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef addresses, LLVMValueRef value)
{
    emit_session(e)->uses_fibers |= op == CWH_MBARRIER_TEST || op == CWH_MBARRIER_TEST_PARITY;
    LLVMTypeRef shape = e->width > 1 ? LLVMVectorType(e->i64, e->width) : e->i64;
    LLVMValueRef results = emit_alloca(e, shape, 64, "");
    LLVMTypeRef types[6] = { e->ptr, e->i64, e->i32, e->ptr, e->ptr, e->ptr };
    LLVMValueRef args[6] = { e->f->gang, mask_argument(e), i32(e, op), addresses, spill(e, emit_resize(e, value, e->i64, false)), results };
    emit_runtime(e, "cwh_rt_mbarrier", e->void_, types, 6, args);
    return LLVMBuildLoad2(e->b, shape, results, "");
}

void
host_bulk(struct emit *e, const char *name, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef types[16];
    LLVMValueRef all[16] = { e->f->gang };
    char whole[32];
    snprintf(whole, sizeof whole, "cwh_rt_%s", name);
    types[0] = e->ptr;
    for (unsigned i = 0; i < n && i < 15; i++) {
        all[1 + i] = args[i];
        types[1 + i] = LLVMTypeOf(args[i]);
    }
    emit_runtime(e, whole, e->void_, types, 1 + n, all);
}
