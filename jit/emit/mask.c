/* SPDX-License-Identifier: Apache-2.0
 * Masks: which lanes of a gang execute. A mask is a <width x i1>, an i1 where a gang is one lane, or NULL for all lanes. Lanes that have
 * executed `exit` in a device function leave the masks of its callers. */
#include "jit/emit/emit_private.h"
#include "jit/emit/function_private.h"

/* Lane predicates that live across blocks are stored sign-extended to the width of the data they select: LLVM moves <n x i1> values between
 * blocks inefficiently. */
LLVMTypeRef
emit_mask_storage(struct emit *e)
{
    if (e->width == 1)
        return e->i1;
    return LLVMVectorType(e->width <= 8 ? e->i32 : e->i8, e->width);
}

LLVMValueRef
emit_mask_load(struct emit *e, LLVMValueRef slot)
{
    LLVMTypeRef t = emit_mask_storage(e);
    LLVMValueRef v = LLVMBuildLoad2(e->b, t, slot, "");
    return e->width == 1 ? v : LLVMBuildICmp(e->b, LLVMIntSLT, v, LLVMConstNull(t), "");
}

void
emit_mask_store(struct emit *e, LLVMValueRef slot, LLVMValueRef mask)
{
    if (e->width > 1)
        mask = LLVMBuildSExt(e->b, emit_splat(e, mask), emit_mask_storage(e), "");
    LLVMBuildStore(e->b, mask, slot);
}

LLVMValueRef
emit_full_mask(struct emit *e, LLVMValueRef mask)
{
    if (mask)
        return emit_splat(e, mask);
    return e->width == 1 ? LLVMConstInt(e->i1, 1, false) : LLVMConstAllOnes(LLVMVectorType(e->i1, e->width));
}

static LLVMValueRef
mask_word(struct emit *e, LLVMValueRef mask)
{
    return LLVMBuildBitCast(e->b, emit_full_mask(e, mask), LLVMIntTypeInContext(e->llvm, e->width), "");
}

LLVMValueRef
emit_any(struct emit *e, LLVMValueRef mask)
{
    if (!mask)
        return LLVMConstInt(e->i1, 1, false);
    if (!emit_is_vector(mask))
        return mask;
    LLVMValueRef w = mask_word(e, mask);
    return LLVMBuildICmp(e->b, LLVMIntNE, w, LLVMConstNull(LLVMTypeOf(w)), "any");
}

LLVMValueRef
emit_all(struct emit *e, LLVMValueRef mask)
{
    if (!mask)
        return LLVMConstInt(e->i1, 1, false);
    if (!emit_is_vector(mask))
        return mask;
    LLVMValueRef w = mask_word(e, mask);
    return LLVMBuildICmp(e->b, LLVMIntEQ, w, LLVMConstAllOnes(LLVMTypeOf(w)), "all");
}

LLVMValueRef
emit_mask_bits(struct emit *e, LLVMValueRef mask)
{
    LLVMValueRef w = mask_word(e, mask);
    return e->width == 32 ? w : LLVMBuildZExt(e->b, w, e->i32, "");
}

LLVMValueRef
emit_mask_from_bits(struct emit *e, LLVMValueRef bits)
{
    if (e->width == 1)
        return LLVMBuildTrunc(e->b, bits, e->i1, "");
    LLVMTypeRef w = LLVMIntTypeInContext(e->llvm, e->width);
    if (e->width < 32)
        bits = LLVMBuildTrunc(e->b, bits, w, "");
    return LLVMBuildBitCast(e->b, bits, LLVMVectorType(e->i1, e->width), "");
}

LLVMValueRef
emit_mask_and(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
    if (!a || !b)
        return a ? a : b;
    return emit_bin(e, LLVMAnd, a, b);
}

void
emit_for_lanes(struct emit *e, LLVMValueRef mask, void (*body)(struct emit *, LLVMValueRef, void *), void *user)
{
    LLVMValueRef bits = emit_mask_bits(e, mask);
    LLVMBasicBlockRef pre = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef head = emit_new_block(e, "lanes"), loop = emit_new_block(e, "lane"), done = emit_new_block(e, "lanes.done");
    emit_goto(e, head);
    LLVMValueRef phi = LLVMBuildPhi(e->b, e->i32, "bits");
    LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntNE, phi, LLVMConstNull(e->i32), "");
    LLVMBuildCondBr(e->b, more, loop, done);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef lane = emit_intrinsic(e, "llvm.cttz", &phi, 1, 1);
    body(e, lane, user);
    LLVMValueRef minus = LLVMBuildSub(e->b, phi, LLVMConstInt(e->i32, 1, false), "");
    LLVMValueRef rest = LLVMBuildAnd(e->b, phi, minus, "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, head);
    LLVMValueRef values[2] = { bits, rest };
    LLVMBasicBlockRef blocks[2] = { pre, end };
    LLVMAddIncoming(phi, values, blocks, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
}

/* ---- exit in device functions ----
 *
 * `exit` ends the thread in whatever function it stands. The functions of a gang share a slot with the lanes that have exited; after every
 * call the caller removes them from its masks. */

static LLVMValueRef
load_exited(struct emit *e)
{
    return e->width == 1 ? LLVMBuildLoad2(e->b, e->i1, e->f->exited, "exited") : emit_mask_load(e, e->f->exited);
}

void
emit_add_exited(struct emit *e, LLVMValueRef lanes)
{
    if (e->width == 1)
        LLVMBuildStore(e->b, lanes ? LLVMBuildOr(e->b, load_exited(e), lanes, "") : LLVMConstInt(e->i1, 1, false), e->f->exited);
    else
        emit_mask_store(e, e->f->exited, emit_bin(e, LLVMOr, load_exited(e), emit_full_mask(e, lanes)));
}

bool
emit_has_exits(const struct cwj_program *p, const struct cwj_closure *closure)
{
    for (uint32_t i = 0; i < closure->nfuncs; i++) {
        const struct ptx_function *fn = cwj_program_function(p, closure->funcs[i])->fn;
        for (uint32_t k = 0; fn && fn->has_body && !fn->is_entry && k < fn->ninsts; k++)
            if (fn->insts[k].op == PTX_OP_EXIT && !(k && fn->insts[k - 1].op == PTX_OP_TRAP))
                return true;
    }
    return false;
}

/* Lanes that run an unmasked block. */
LLVMValueRef
emit_together_mask(struct emit *e)
{
    return e->f->alive ? emit_mask_load(e, e->f->alive) : e->f->entry_mask;
}

/* The mask of the block being emitted, without lanes that have exited since it began. */
LLVMValueRef
emit_current_mask(struct emit *e)
{
    if (e->width == 1)
        return NULL;
    if (!emit_session(e)->exits)
        return e->f->block_mask;
    return emit_mask_and(e, e->f->block_mask, LLVMBuildNot(e->b, load_exited(e), ""));
}

void
emit_drop_exited(struct emit *e)
{
    LLVMBasicBlockRef on = emit_new_block(e, "remain");
    if (e->width == 1) {
        LLVMBuildCondBr(e->b, load_exited(e), e->f->bail, on);
        LLVMPositionBuilderAtEnd(e->b, on);
        return;
    }
    LLVMValueRef remain = LLVMBuildNot(e->b, load_exited(e), "");
    emit_mask_store(e, e->f->alive, emit_bin(e, LLVMAnd, emit_mask_load(e, e->f->alive), remain));
    e->mask = emit_mask_and(e, e->mask, remain);
    LLVMBuildCondBr(e->b, emit_any(e, emit_current_mask(e)), on, e->f->bail);
    LLVMPositionBuilderAtEnd(e->b, on);
}
