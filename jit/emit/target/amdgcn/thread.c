/* SPDX-License-Identifier: Apache-2.0
 * amdgcn: a work-item's thread indices. Usually a work-group is the block, and a work-item the thread of the same number.
 *
 * With one_warp_per_wave (wave64, emit.h) a work-group has one dimension and 64 work-items per warp: lanes 32 to 63 of each wave have no
 * thread and end at once, as do those behind the last thread. HIP then does not know the block's shape: it is in the last 8 bytes of the
 * kernel's arguments, three u16 (jit.h, CWJ_AMD_SHAPE), just before the hidden ones, whose place functions know. Before that come what a
 * kernel in clusters of several blocks needs (CWJ_AMD_CLUSTER, cluster.c), and before that the values that a kernel with %gridid or a
 * grid's workspace needs about its launch (CWJ_AMD_LAUNCH). */
#include "jit/emit/target/amdgcn/amdgcn_private.h"

#include <string.h>

static LLVMValueRef
hidden_arguments(struct emit *e)
{
    return gcn_intrinsic(e, "llvm.amdgcn.implicitarg.ptr", NULL, 0, NULL, 0);
}

LLVMValueRef
gcn_argument(struct emit *e, int64_t offset, LLVMTypeRef t)
{
    LLVMValueRef off = LLVMConstInt(e->i64, (uint64_t)offset, true);
    LLVMValueRef v = LLVMBuildLoad2(e->b, t, LLVMBuildGEP2(e->b, e->i8, hidden_arguments(e), &off, 1, ""), "");
    LLVMSetAlignment(v, t == e->i16 ? 2 : t == e->i64 ? 8 : 4);
    emit_invariant(e, v);
    if (t != e->i16)
        return v;
    /* A block's extent: 1 to 1024. */
    LLVMMetadataRef range[2] = { LLVMValueAsMetadata(LLVMConstInt(t, 1, false)), LLVMValueAsMetadata(LLVMConstInt(t, 1025, false)) };
    LLVMSetMetadata(v, LLVMGetMDKindIDInContext(e->llvm, "range", 5), LLVMMetadataAsValue(e->llvm, LLVMMDNodeInContext2(e->llvm, range, 2)));
    return LLVMBuildZExt(e->b, v, e->i32, "");
}

/* Hidden kernel arguments of code object v5: block counts are u32 at 0, 4, 8; group sizes u16 at 12, 14, 16. */
LLVMValueRef
gcn_grid_size(struct emit *e, unsigned axis)
{
    return emit_session(e)->clusters ? gcn_cluster_grid(e, axis) : gcn_argument(e, 4 * axis, e->i32);
}

LLVMValueRef
gcn_block_size(struct emit *e, unsigned axis)
{
    if (!e->one_warp_per_wave)
        return gcn_argument(e, 12 + 2 * axis, e->i16);
    return gcn_argument(e, 2 * (int64_t)axis - CWJ_AMD_SHAPE, e->i16);
}

uint32_t
gcn_extra_arguments(struct emit *e)
{
    const struct emit_session *s = emit_session(e);
    return (s->launch_numbers ? CWJ_AMD_LAUNCH : 0) + (s->clusters ? (uint32_t)CWJ_AMD_CLUSTER : 0) + (e->one_warp_per_wave ? CWJ_AMD_SHAPE : 0);
}

bool
gcn_names_launch(const struct cwj_program *p, const struct cwj_closure *closure)
{
    for (uint32_t i = 0; i < closure->nfuncs; i++) {
        const struct ptx_function *fn = cwj_program_function(p, closure->funcs[i])->fn;
        for (uint32_t k = 0; fn && fn->has_body && k < fn->ninsts; k++) {
            const struct ptx_inst *in = &fn->insts[k];
            for (unsigned o = 0; o < in->noperands; o++)
                if (in->operand[o].kind == PTX_OPND_SREG && (in->operand[o].index == PTX_SREG_GRIDID ||
                                                              in->operand[o].index == PTX_SREG_ENVREG1 || in->operand[o].index == PTX_SREG_ENVREG2))
                    return true;
        }
    }
    return false;
}

LLVMValueRef
gcn_launch_number(struct emit *e, bool workspace)
{
    return gcn_argument(e, (workspace ? 8 : 0) - (int64_t)gcn_extra_arguments(e), e->i64);
}

LLVMValueRef
gcn_block_threads(struct emit *e)
{
    return LLVMBuildMul(e->b, LLVMBuildMul(e->b, gcn_block_size(e, 0), gcn_block_size(e, 1), ""), gcn_block_size(e, 2), "");
}

static LLVMValueRef
workitem(struct emit *e, unsigned axis)
{
    static const char *const name[3] = { "llvm.amdgcn.workitem.id.x", "llvm.amdgcn.workitem.id.y", "llvm.amdgcn.workitem.id.z" };
    return gcn_intrinsic(e, name[axis], NULL, 0, NULL, 0);
}

LLVMValueRef
gcn_linear_thread(struct emit *e)
{
    LLVMValueRef x = workitem(e, 0);
    if (e->one_warp_per_wave) {
        LLVMValueRef warps = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, x, i32(e, 1), ""), i32(e, ~31u), "");
        return LLVMBuildOr(e->b, warps, LLVMBuildAnd(e->b, x, i32(e, 31), ""), "");
    }
    LLVMValueRef yz = LLVMBuildAdd(e->b, workitem(e, 1), LLVMBuildMul(e->b, workitem(e, 2), gcn_block_size(e, 1), ""), "");
    return LLVMBuildAdd(e->b, x, LLVMBuildMul(e->b, yz, gcn_block_size(e, 0), ""), "");
}

LLVMValueRef
gcn_thread(struct emit *e, unsigned axis)
{
    if (!e->one_warp_per_wave)
        return workitem(e, axis);
    LLVMValueRef t = gcn_linear_thread(e), nx = gcn_block_size(e, 0);
    if (axis == 0)
        return LLVMBuildURem(e->b, t, nx, "");
    LLVMValueRef ny = gcn_block_size(e, 1), row = LLVMBuildUDiv(e->b, t, nx, "");
    return axis == 1 ? LLVMBuildURem(e->b, row, ny, "") : LLVMBuildUDiv(e->b, row, ny, "");
}

/* Between a kernel's entry and its first block: work-items without a thread leave. A wave has at least one thread. */
void
gcn_start(struct emit *e)
{
    if (!e->one_warp_per_wave || !e->f->is_kernel)
        return;
    LLVMValueRef lane = LLVMBuildICmp(e->b, LLVMIntUGE, gcn_wave_lane(e), i32(e, 32), "");
    LLVMValueRef behind = LLVMBuildICmp(e->b, LLVMIntUGE, gcn_linear_thread(e), gcn_block_threads(e), "");
    LLVMBasicBlockRef on = emit_new_block(e, "thread");
    LLVMBuildCondBr(e->b, LLVMBuildOr(e->b, lane, behind, ""), e->f->exit, on);
    LLVMPositionBuilderAtEnd(e->b, on);
}

LLVMValueRef
gcn_wave_lane(struct emit *e)
{
    LLVMValueRef a[2] = { i32(e, ~0u), i32(e, 0) };
    LLVMValueRef lane = gcn_intrinsic(e, "llvm.amdgcn.mbcnt.lo", NULL, 0, a, 2);
    if (!e->wave64)
        return lane;
    LLVMValueRef b[2] = { i32(e, ~0u), lane };
    return gcn_intrinsic(e, "llvm.amdgcn.mbcnt.hi", NULL, 0, b, 2);
}

LLVMValueRef
gcn_lane(struct emit *e)
{
    /* In wave32 the code generator drops the mask; until then it tells the range. */
    return LLVMBuildAnd(e->b, gcn_wave_lane(e), i32(e, 31), "");
}
