/* SPDX-License-Identifier: Apache-2.0
 * amdgcn: a work-item's thread indices. Usually a work-group is the block, and a work-item the thread of the same number.
 *
 * With one_warp_per_wave (wave64, emit.h) a work-group has one dimension and 64 work-items per warp: lanes 32 to 63 of each wave have no
 * thread and end at once, as do those behind the last thread. HIP then does not know the block's shape: it is in the last 8 bytes of the
 * kernel's arguments, three u16 (jit.h, CWJ_AMD_SHAPE), just before the hidden ones, whose place functions know. Before that come what a
 * kernel in clusters of several blocks needs (CWJ_AMD_CLUSTER, cluster.c), and before that the values that a kernel with %gridid or a
 * grid's workspace needs about its launch (CWJ_AMD_LAUNCH). */
#include "jit/emit/target/amdgcn/amdgcn_private.h"
#include "jit/analysis/find.h"

#include <string.h>

static LLVMValueRef
hidden_arguments(struct emit *e)
{
    return emit_intrinsic_of(e, "llvm.amdgcn.implicitarg.ptr", NULL, 0, NULL, 0);
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
emit_gcn_nctaid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_NCTAID_X;
    return emit_session(e)->clusters ? gcn_cluster_grid(e, axis) : gcn_argument(e, 4 * axis, e->i32);
}

LLVMValueRef
emit_gcn_ntid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_NTID_X;
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

static bool
is_of_launch(ptx_sreg r)
{
    return r == PTX_SREG_GRIDID || r == PTX_SREG_ENVREG1 || r == PTX_SREG_ENVREG2;
}

bool
gcn_names_launch(const struct ptx_inst *in)
{
    return cwj_reads_sreg(in, is_of_launch);
}

LLVMValueRef
gcn_launch_number(struct emit *e, bool workspace)
{
    return gcn_argument(e, (workspace ? 8 : 0) - (int64_t)gcn_extra_arguments(e), e->i64);
}

LLVMValueRef
gcn_block_threads(struct emit *e)
{
    return LLVMBuildMul(e->b, LLVMBuildMul(e->b, emit_gcn_ntid(e, PTX_SREG_NTID_X), emit_gcn_ntid(e, PTX_SREG_NTID_Y), ""), emit_gcn_ntid(e, PTX_SREG_NTID_Z), "");
}

static LLVMValueRef
workitem(struct emit *e, unsigned axis)
{
    static const char *const name[3] = { "llvm.amdgcn.workitem.id.x", "llvm.amdgcn.workitem.id.y", "llvm.amdgcn.workitem.id.z" };
    return emit_intrinsic_of(e, name[axis], NULL, 0, NULL, 0);
}

LLVMValueRef
gcn_linear_thread(struct emit *e)
{
    LLVMValueRef x = workitem(e, 0);
    if (e->one_warp_per_wave) {
        LLVMValueRef warps = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, x, i32(e, 1), ""), i32(e, ~31u), "");
        return LLVMBuildOr(e->b, warps, LLVMBuildAnd(e->b, x, i32(e, 31), ""), "");
    }
    LLVMValueRef yz = LLVMBuildAdd(e->b, workitem(e, 1), LLVMBuildMul(e->b, workitem(e, 2), emit_gcn_ntid(e, PTX_SREG_NTID_Y), ""), "");
    return LLVMBuildAdd(e->b, x, LLVMBuildMul(e->b, yz, emit_gcn_ntid(e, PTX_SREG_NTID_X), ""), "");
}

LLVMValueRef
emit_gcn_tid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_TID_X;
    if (!e->one_warp_per_wave)
        return workitem(e, axis);
    LLVMValueRef t = gcn_linear_thread(e), nx = emit_gcn_ntid(e, PTX_SREG_NTID_X);
    if (axis == 0)
        return LLVMBuildURem(e->b, t, nx, "");
    LLVMValueRef ny = emit_gcn_ntid(e, PTX_SREG_NTID_Y), row = LLVMBuildUDiv(e->b, t, nx, "");
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
    LLVMValueRef lane = emit_intrinsic_of(e, "llvm.amdgcn.mbcnt.lo", NULL, 0, VALUES(i32(e, ~0u), i32(e, 0)));
    if (!e->wave64)
        return lane;
    LLVMValueRef b[2] = { i32(e, ~0u), lane };
    return emit_intrinsic_of(e, "llvm.amdgcn.mbcnt.hi", NULL, 0, b, 2);
}

LLVMValueRef
gcn_lane(struct emit *e)
{
    /* In wave32 the code generator drops the mask; until then it tells the range. */
    return LLVMBuildAnd(e->b, gcn_wave_lane(e), i32(e, 31), "");
}
