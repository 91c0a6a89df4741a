/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous copies and mbarrier objects on the host device (9.7.9.25, 9.7.13.15). A copy is made where it is issued, as the memory model
 * allows, so committing and waiting do nothing; barrier objects are run-time calls. */
#include "jit/emit/target/host/host_private.h"

#include <stdio.h>
#include <string.h>

void
emit_host_cp_async(struct emit *e, const struct ptx_inst *in)
{
    uint32_t size = (uint32_t)in->operand[2].imm;
    LLVMValueRef count = emit_async_size(e, in);
    if (!count)
        count = i32(e, size);
    LLVMValueRef to = e->target->to_generic(e, emit_address(e, &in->operand[0], PTX_SPACE_SHARED), PTX_SPACE_SHARED);
    LLVMValueRef from = e->target->to_generic(e, emit_address(e, &in->operand[1], PTX_SPACE_GLOBAL), PTX_SPACE_GLOBAL);
    LLVMValueRef lanes = host_active(e), spilled[3] = { host_spill(e, to, ""), host_spill(e, from, ""), host_spill(e, count, "") };
    emit_runtime(e, "cwh_rt_cp_async", e->void_, VALUES(e->f->gang, lanes, i32(e, size), spilled[0], spilled[1], spilled[2]));
}

LLVMValueRef
host_mbarrier_object(struct emit *e, const struct ptx_operand *o, ptx_space space)
{
    return host_spill(e, e->target->to_generic(e, emit_address(e, o, space), space), "");
}

LLVMValueRef
host_mbarrier(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef addresses, LLVMValueRef value)
{
    emit_session(e)->uses_fibers |= op == CWH_MBARRIER_TEST || op == CWH_MBARRIER_TEST_PARITY;
    LLVMValueRef results = host_space(e, e->i64, ""), lanes = host_active(e), values = host_spill(e, emit_resize(e, value, e->i64, false), "");
    emit_runtime(e, "cwh_rt_mbarrier", e->void_, VALUES(e->f->gang, lanes, i32(e, op), addresses, values, results));
    return host_take(e, e->i64, results);
}

void
host_bulk(struct emit *e, const char *name, LLVMValueRef *args, unsigned n)
{
    LLVMValueRef all[16] = { e->f->gang };
    char whole[32];
    snprintf(whole, sizeof whole, "cwh_rt_%s", name);
    memcpy(all + 1, args, n * sizeof *args);
    emit_runtime(e, whole, e->void_, all, 1 + n);
}
