/* SPDX-License-Identifier: Apache-2.0
 * amdgcn: asynchronous copies, mbarrier objects, and stack allocation. A copy is made where it is issued, as on the host device.
 *
 * A function with `alloca` reserves STACK_BYTES of scratch and allocates from there, upwards; an overflow ends the kernel. An LLVM alloca
 * of unknown size would leave the size of scratch to the loader, and nothing would check for overflow. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"

#include <stdio.h>
#include <string.h>

enum { STACK_BYTES = 4096, STACK_ALIGN = 16 };

/* Byte by byte; bytes from `count` on are zero. 0 < count. */
static void
copy_bytes(struct emit *e, LLVMValueRef to, LLVMValueRef from, uint32_t size, LLVMValueRef count, LLVMBasicBlockRef done)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), body = LLVMAppendBasicBlockInContext(e->llvm, LLVMGetBasicBlockParent(before), "byte");
    LLVMValueRef zero = i32(e, 0), last = LLVMBuildSub(e->b, count, i32(e, 1), "");

    LLVMBuildBr(e->b, body);
    LLVMPositionBuilderAtEnd(e->b, body);
    LLVMValueRef i = LLVMBuildPhi(e->b, e->i32, ""), inside = LLVMBuildICmp(e->b, LLVMIntULT, i, count, "");
    LLVMValueRef at = LLVMBuildSelect(e->b, inside, i, last, "");
    LLVMValueRef byte = LLVMBuildLoad2(e->b, e->i8, LLVMBuildGEP2(e->b, e->i8, from, &at, 1, ""), "");
    LLVMBuildStore(e->b, LLVMBuildSelect(e->b, inside, byte, LLVMConstNull(e->i8), ""), LLVMBuildGEP2(e->b, e->i8, to, &i, 1, ""));
    LLVMValueRef next = LLVMBuildAdd(e->b, i, i32(e, 1), "");
    LLVMValueRef latch = LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, next, i32(e, size), ""), body, done);
    emit_note_loop(e->llvm, latch, "llvm.loop.unroll.disable");
    LLVMAddIncoming(i, (LLVMValueRef[]){ zero, next }, (LLVMBasicBlockRef[]){ before, body }, 2);
}

/* Most programs copy all or nothing, depending on a predicate; LLVM sees that, and drops the byte loop. Both addresses are multiples of the
 * size. */
static void
copy_part(struct emit *e, LLVMValueRef to, LLVMValueRef from, uint32_t size, LLVMTypeRef type, LLVMValueRef count)
{
    static const char *const names[] = { "whole", "less", "part", "copy", "done" };
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->b));
    LLVMBasicBlockRef block[5];

    for (unsigned i = 0; i < 5; i++)
        block[i] = LLVMAppendBasicBlockInContext(e->llvm, fn, names[i]);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, count, i32(e, size), ""), block[0], block[1]);
    LLVMPositionBuilderAtEnd(e->b, block[0]);
    LLVMValueRef v = LLVMBuildLoad2(e->b, type, from, "");
    LLVMSetAlignment(v, size);
    LLVMBuildBr(e->b, block[3]);
    LLVMPositionBuilderAtEnd(e->b, block[1]);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, count, i32(e, 0), ""), block[3], block[2]);
    LLVMPositionBuilderAtEnd(e->b, block[2]);
    copy_bytes(e, to, from, size, count, block[4]);
    LLVMPositionBuilderAtEnd(e->b, block[3]);
    LLVMValueRef all = LLVMBuildPhi(e->b, type, "");
    LLVMAddIncoming(all, (LLVMValueRef[]){ v, LLVMConstNull(type) }, block, 2);
    LLVMSetAlignment(LLVMBuildStore(e->b, all, to), size);
    LLVMBuildBr(e->b, block[4]);
    LLVMPositionBuilderAtEnd(e->b, block[4]);
}

void
emit_gcn_cp_async(struct emit *e, const struct ptx_inst *in)
{
    uint32_t size = (uint32_t)in->operand[2].imm;
    const struct emit_target *t = e->target;
    LLVMValueRef count = emit_async_size(e, in);
    LLVMValueRef to = t->pointer(e, emit_address(e, &in->operand[0], PTX_SPACE_SHARED), PTX_SPACE_SHARED);
    LLVMValueRef from = t->pointer(e, emit_address(e, &in->operand[1], PTX_SPACE_GLOBAL), PTX_SPACE_GLOBAL);
    LLVMTypeRef type = size == 4 ? e->i32 : LLVMVectorType(e->i32, size / 4);
    if (count) {
        copy_part(e, to, from, size, type, count);
        return;
    }
    LLVMValueRef v = LLVMBuildLoad2(e->b, type, from, "");
    LLVMSetAlignment(v, size);
    LLVMSetAlignment(LLVMBuildStore(e->b, v, to), size);
}

LLVMValueRef
gcn_mbarrier(struct emit *e, enum cwh_mbarrier_op op, LLVMValueRef object, LLVMValueRef value)
{
    LLVMValueRef args[3] = { i32(e, op), object, emit_resize(e, value, e->i64, false) };
    return emit_devlib(e, emit_session(e)->clusters ? "cwd_async_mbarrier_cluster" : "cwd_async_mbarrier", e->i64, args, 3);
}

void
gcn_bulk(struct emit *e, const char *name, LLVMValueRef *args, unsigned n)
{
    char whole[32];
    LLVMValueRef all[16];
    memcpy(all, args, n * sizeof *all);
    if (!strcmp(name, "bulk_copy") || !strcmp(name, "bulk_tensor")) {       /* may be for several blocks */
        bool clusters = emit_session(e)->clusters;
        all[n++] = clusters ? e->f->cluster_shared : LLVMConstNull(e->i64);
        all[n++] = clusters ? gcn_cluster_shift(e) : i32(e, 0);
    }
    snprintf(whole, sizeof whole, "cwd_%s", name);
    emit_devlib(e, whole, e->void_, all, n);
}

LLVMValueRef
gcn_mbarrier_object(struct emit *e, const struct ptx_operand *o, ptx_space space)
{
    return e->target->pointer(e, emit_address(e, o, space), space);
}

/* ---- stack allocation (9.7.17) ---- */

static LLVMValueRef
stack_top(struct emit *e)
{
    if (!e->f->stack) {
        e->f->stack = e->target->local_storage(e, STACK_BYTES, STACK_ALIGN);
        e->f->stack_top = emit_alloca(e, e->i32, 0, "top");
    }
    return LLVMBuildLoad2(e->b, e->i32, e->f->stack_top, "");
}

void
emit_gcn_alloca(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    LLVMValueRef top = stack_top(e), wanted = emit_resize(e, emit_src(e, in, 1, t), e->i64, false);
    uint64_t align = in->noperands > 2 ? (uint64_t)in->operand[2].imm : 8;
    if (!align || (align & (align - 1)) || align > STACK_ALIGN) {
        emit_unsupported(e, in, "an alignment that is no power of two up to 16");
        return;
    }
    LLVMValueRef up = LLVMConstInt(e->i64, STACK_ALIGN - 1, false), limit = LLVMConstInt(e->i64, STACK_BYTES, false);
    LLVMValueRef fits = LLVMBuildICmp(e->b, LLVMIntULE, wanted, limit, "");
    LLVMValueRef size = LLVMBuildAnd(e->b, LLVMBuildAdd(e->b, wanted, up, ""), LLVMBuildNot(e->b, up, ""), "");
    LLVMValueRef next = LLVMBuildAdd(e->b, LLVMBuildZExt(e->b, top, e->i64, ""), size, "");
    fits = LLVMBuildAnd(e->b, fits, LLVMBuildICmp(e->b, LLVMIntULE, next, limit, ""), "");
    emit_demand(e, fits, gcn_end_kernel, "stack.full", "stack");
    LLVMBuildStore(e->b, LLVMBuildTrunc(e->b, next, e->i32, ""), e->f->stack_top);
    LLVMValueRef area = LLVMBuildGEP2(e->b, e->i8, e->f->stack, &top, 1, "");
    emit_dst(e, in, 0, t, emit_resize(e, LLVMBuildPtrToInt(e->b, area, e->i64, ""), emit_type(e, t), false));
}

void
emit_gcn_stacksave(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    emit_dst(e, in, 0, t, emit_resize(e, stack_top(e), emit_type(e, t), false));
}

void
emit_gcn_stackrestore(struct emit *e, const struct ptx_inst *in)
{
    stack_top(e);
    LLVMBuildStore(e->b, emit_resize(e, emit_src(e, in, 0, (ptx_type)in->type[0]), e->i32, false), e->f->stack_top);
}
