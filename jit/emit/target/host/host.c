/* SPDX-License-Identifier: Apache-2.0
 * The host device as a target of the emitter: the gang's context, special registers, addresses, run-time calls, and the entry point that
 * emits one kernel with its call closure. The contract is jit/abi/host.h. */
#include "jit/emit/target/host/host_private.h"
#include "impl/base/log.h"
#include "jit/analysis/clusters.h"
#include "jit/analysis/lockstep.h"
#include "jit/analysis/progress.h"

#include <llvm-c/Analysis.h>
#include <stddef.h>
#include <string.h>

/* ---- context ------------------------------------------------------------------------------------------------------- */

static LLVMValueRef
context_load(struct emit *e, LLVMBuilderRef b, LLVMValueRef base, size_t offset, LLVMTypeRef t, const char *name)
{
    LLVMValueRef idx = LLVMConstInt(e->i64, offset, false);
    LLVMValueRef v = LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, e->i8, base, &idx, 1, ""), name);
    emit_invariant(e, v);
    return v;
}

/* Where bounded code keeps the end of the free part of its local memory. */
static LLVMValueRef
local_top(struct emit *e, LLVMBuilderRef b)
{
    LLVMValueRef at = LLVMConstInt(e->i64, offsetof(struct cwh_gang, local_top), false);
    return LLVMBuildGEP2(b, e->i8, e->f->gang, &at, 1, "");
}

static void
host_leave(struct emit *e)
{
    if (e->bounded)
        LLVMBuildStore(e->b, e->f->local_top, local_top(e, e->b));
}

static void
host_enter(struct emit *e)
{
    struct emit_fn *f = e->f;
    f->gang = LLVMGetParam(f->fn, 0);
    f->block_ctx = context_load(e, f->entry_b, f->gang, offsetof(struct cwh_gang, block), e->ptr, "block");
    f->launch = context_load(e, f->entry_b, f->block_ctx, offsetof(struct cwh_block, launch), e->ptr, "launch");
    f->params = context_load(e, f->entry_b, f->launch, offsetof(struct cwh_launch, params), e->ptr, "params");
    f->image = context_load(e, f->entry_b, f->launch, offsetof(struct cwh_launch, image), e->ptr, "image");
    f->shared = context_load(e, f->entry_b, f->block_ctx, offsetof(struct cwh_block, shared), e->ptr, "shared");
    if (emit_session(e)->clusters) {
        LLVMValueRef rank = context_load(e, f->entry_b, f->block_ctx, offsetof(struct cwh_block, cluster_rank), e->i32, "");
        LLVMValueRef stride = context_load(e, f->entry_b, f->launch, offsetof(struct cwh_launch, cluster_stride), e->i64, "");
        f->cluster_place = LLVMBuildMul(f->entry_b, LLVMBuildZExt(f->entry_b, rank, e->i64, ""), stride, "place");
        LLVMValueRef back = LLVMBuildNeg(f->entry_b, f->cluster_place, "");
        f->shared = LLVMBuildGEP2(f->entry_b, e->i8, f->shared, &back, 1, "shared.first");
    }
    f->dummy = LLVMBuildAlloca(f->entry_b, LLVMArrayType(e->i8, 64), "dummy");
    LLVMSetAlignment(f->dummy, 64);
    if (e->bounded)
        f->local_top = LLVMBuildLoad2(f->entry_b, e->i64, local_top(e, f->entry_b), "top");
    if (e->addr32)
        emit_addr32_enter(e);
    if (e->width == 1)
        return;
    if (!f->is_kernel) {
        f->entry_mask = LLVMGetParam(f->fn, 1);
    } else if (!f->linear_x) {
        LLVMValueRef lanes = context_load(e, f->entry_b, f->gang, offsetof(struct cwh_gang, lanes), e->i32, "lanes");
        LLVMPositionBuilderAtEnd(e->b, f->entry);
        f->entry_mask = emit_icmp(e, LLVMIntULT, emit_iota(e, e->i32), lanes);
    }
}

/* ---- special registers -------------------------------------------------------------------------------------------------- */

static LLVMValueRef
launch_u32(struct emit *e, size_t offset)
{
    return context_load(e, e->b, e->f->launch, offset, e->i32, "");
}

/* Thread numbers are below 1024, where a float division, rounded down, is exact: the nearest quotient below an integer k is k - 1/n, and
 * 1/n is more than half a unit in the last place of k < 1024. It vectorises; udiv does not. */
static void
divide(struct emit *e, LLVMValueRef a, LLVMValueRef n, LLVMValueRef *quotient, LLVMValueRef *remainder)
{
    if (!emit_is_vector(a)) {
        *quotient = LLVMBuildUDiv(e->b, a, n, "");
        *remainder = LLVMBuildURem(e->b, a, n, "");
        return;
    }
    LLVMTypeRef ft = LLVMVectorType(e->f32, e->width);
    LLVMValueRef fa = LLVMBuildSIToFP(e->b, a, ft, ""), fn = LLVMBuildSIToFP(e->b, emit_splat(e, n), ft, "");
    *quotient = LLVMBuildFPToSI(e->b, LLVMBuildFDiv(e->b, fa, fn, ""), LLVMTypeOf(a), "");
    *remainder = emit_bin(e, LLVMSub, a, emit_bin(e, LLVMMul, *quotient, n));
}

static LLVMValueRef
thread_index(struct emit *e, unsigned axis)
{
    struct emit_fn *f = e->f;
    if (f->tid[0])
        return f->tid[axis];
    /* Computed once in the entry block. */
    LLVMBuilderRef b = e->b;
    e->b = f->entry_b;
    LLVMValueRef first = context_load(e, e->b, f->gang, offsetof(struct cwh_gang, first), e->i32, "first");
    LLVMValueRef nx = launch_u32(e, offsetof(struct cwh_launch, block)), ny = launch_u32(e, offsetof(struct cwh_launch, block) + 4);
    LLVMValueRef linear = first, rest;
    if (e->width > 1 && !f->linear_x)
        linear = emit_bin(e, LLVMAdd, first, emit_iota(e, e->i32));
    divide(e, linear, nx, &rest, &f->tid[0]);
    divide(e, rest, ny, &f->tid[2], &f->tid[1]);
    if (e->width > 1 && f->linear_x)
        f->tid[0] = emit_bin(e, LLVMAdd, f->tid[0], emit_iota(e, e->i32));
    e->b = b;
    return f->tid[axis];
}

static LLVMValueRef
lane_index(struct emit *e)
{
    if (e->width == 32)
        return emit_iota(e, e->i32);
    LLVMValueRef first = context_load(e, e->b, e->f->gang, offsetof(struct cwh_gang, first), e->i32, "");
    LLVMValueRef lane = LLVMBuildAnd(e->b, first, i32(e, 31), "");
    return e->width == 1 ? lane : emit_bin(e, LLVMAdd, lane, emit_iota(e, e->i32));
}

static LLVMValueRef
runtime_u64(struct emit *e, const char *name)
{
    return emit_runtime(e, name, e->i64, NULL, 0, NULL);
}

/* The readers that jit/ptx/sregs.def names. Components stand in the order x, y, z. */

LLVMValueRef
emit_host_tid(struct emit *e, ptx_sreg r)
{
    return thread_index(e, r - PTX_SREG_TID_X);
}

LLVMValueRef
emit_host_ntid(struct emit *e, ptx_sreg r)
{
    return launch_u32(e, offsetof(struct cwh_launch, block) + 4 * (r - PTX_SREG_NTID_X));
}

LLVMValueRef
emit_host_nctaid(struct emit *e, ptx_sreg r)
{
    return launch_u32(e, offsetof(struct cwh_launch, grid) + 4 * (r - PTX_SREG_NCTAID_X));
}

LLVMValueRef
emit_host_ctaid(struct emit *e, ptx_sreg r)
{
    return context_load(e, e->b, e->f->block_ctx, offsetof(struct cwh_block, ctaid) + 4 * (r - PTX_SREG_CTAID_X), e->i32, "");
}

/* ---- clusters ---- */

static LLVMValueRef
cluster_size(struct emit *e, unsigned axis)
{
    return launch_u32(e, offsetof(struct cwh_launch, cluster) + 4 * axis);
}

LLVMValueRef
emit_host_clusterid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_CLUSTERID_X;
    return LLVMBuildUDiv(e->b, emit_host_ctaid(e, (ptx_sreg)(PTX_SREG_CTAID_X + axis)), cluster_size(e, axis), "");
}

LLVMValueRef
emit_host_nclusterid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_NCLUSTERID_X;
    return LLVMBuildUDiv(e->b, emit_host_nctaid(e, (ptx_sreg)(PTX_SREG_NCTAID_X + axis)), cluster_size(e, axis), "");
}

LLVMValueRef
emit_host_cluster_ctaid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_CLUSTER_CTAID_X;
    return LLVMBuildURem(e->b, emit_host_ctaid(e, (ptx_sreg)(PTX_SREG_CTAID_X + axis)), cluster_size(e, axis), "");
}

LLVMValueRef
emit_host_cluster_nctaid(struct emit *e, ptx_sreg r)
{
    return cluster_size(e, r - PTX_SREG_CLUSTER_NCTAID_X);
}

LLVMValueRef
emit_host_cluster_ctarank(struct emit *e, ptx_sreg r)
{
    (void)r;
    return context_load(e, e->b, e->f->block_ctx, offsetof(struct cwh_block, cluster_rank), e->i32, "");
}

LLVMValueRef
emit_host_cluster_nctarank(struct emit *e, ptx_sreg r)
{
    (void)r;
    return LLVMBuildMul(e->b, LLVMBuildMul(e->b, cluster_size(e, 0), cluster_size(e, 1), ""), cluster_size(e, 2), "");
}

LLVMValueRef
emit_host_explicit_cluster(struct emit *e, ptx_sreg r)
{
    (void)r;
    return LLVMBuildICmp(e->b, LLVMIntNE, launch_u32(e, offsetof(struct cwh_launch, explicit_cluster)), i32(e, 0), "");
}

static LLVMValueRef
cluster_stride(struct emit *e)
{
    return context_load(e, e->b, e->f->launch, offsetof(struct cwh_launch, cluster_stride), e->i64, "");
}

/* Where the block's own shared memory lies behind that of the cluster's first block: i64. */
static LLVMValueRef
cluster_place(struct emit *e)
{
    return LLVMBuildMul(e->b, emit_resize(e, emit_host_cluster_ctarank(e, PTX_SREG_CLUSTER_CTARANK), e->i64, false), cluster_stride(e), "");
}

/* The same place in another block's memory. Where addresses count from the block's own memory, a is one of these. */
void
emit_host_mapa(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    LLVMValueRef a = emit_src(e, in, 1, t), rank = emit_resize(e, emit_src(e, in, 2, PTX_U32), e->i64, false);
    LLVMValueRef from = cluster_place(e);
    if (e->f->cluster_place) {
        LLVMValueRef at = emit_resize(e, a, e->i64, false);
        if (in->space == PTX_SPACE_GENERIC)
            at = emit_bin(e, LLVMSub, at, LLVMBuildPtrToInt(e->b, e->f->shared, e->i64, ""));
        from = emit_bin(e, LLVMSub, at, emit_bin(e, LLVMURem, at, cluster_stride(e)));
    }
    LLVMValueRef by = emit_bin(e, LLVMSub, emit_bin(e, LLVMMul, rank, cluster_stride(e)), from);
    emit_dst(e, in, 0, t, emit_bin(e, LLVMAdd, a, emit_resize(e, by, t == PTX_U32 ? e->i32 : e->i64, false)));
}

/* Which step of the stride the address lies in. Its lower half alone counts: where addresses count from the block's own memory, shared memory lies
 * 4 GiB above once more. */
void
emit_host_getctarank(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef a = emit_resize(e, emit_src(e, in, 1, (ptx_type)in->type[0]), e->i64, false);
    if (in->space == PTX_SPACE_GENERIC)
        a = emit_bin(e, LLVMSub, a, LLVMBuildPtrToInt(e->b, e->f->shared, e->i64, ""));
    LLVMValueRef offset = emit_resize(e, emit_resize(e, a, e->i32, false), e->i64, true);
    if (!e->f->cluster_place)
        offset = emit_bin(e, LLVMAdd, offset, cluster_place(e));
    LLVMValueRef rank = emit_bin(e, LLVMUDiv, offset, cluster_stride(e));
    emit_dst(e, in, 0, PTX_U32, emit_resize(e, rank, e->i32, false));
}

void
emit_host_barrier_cluster(struct emit *e, const struct ptx_inst *in)
{
    emit_session(e)->uses_fibers = true;
    LLVMTypeRef types[1] = { e->ptr };
    emit_runtime(e, in->mode == PTX_MODE_WAIT ? "cwh_rt_cluster_wait" : "cwh_rt_cluster_arrive", e->void_, types, 1, &e->f->gang);
}

LLVMValueRef
emit_host_laneid(struct emit *e, ptx_sreg r)
{
    (void)r;
    return lane_index(e);
}

LLVMValueRef
emit_host_warpid(struct emit *e, ptx_sreg r)
{
    (void)r;
    return LLVMBuildLShr(e->b, context_load(e, e->b, e->f->gang, offsetof(struct cwh_gang, first), e->i32, ""), i32(e, 5), "");
}

LLVMValueRef
emit_host_smid(struct emit *e, ptx_sreg r)
{
    (void)r;
    return context_load(e, e->b, e->f->block_ctx, offsetof(struct cwh_block, worker), e->i32, "");
}

LLVMValueRef
emit_host_nsmid(struct emit *e, ptx_sreg r)
{
    (void)r;
    return i32(e, 1024);
}

LLVMValueRef
emit_host_gridid(struct emit *e, ptx_sreg r)
{
    (void)r;
    return context_load(e, e->b, e->f->launch, offsetof(struct cwh_launch, grid_id), e->i64, "");
}

LLVMValueRef
emit_host_lanemask(struct emit *e, ptx_sreg r)
{
    LLVMValueRef lane = lane_index(e), one = emit_bin(e, LLVMShl, emit_int_like(e, lane, 1), lane);
    if (r == PTX_SREG_LANEMASK_EQ)
        return one;
    LLVMValueRef lt = emit_bin(e, LLVMSub, one, emit_int_like(e, one, 1));
    if (r == PTX_SREG_LANEMASK_LT)
        return lt;
    if (r == PTX_SREG_LANEMASK_GE)
        return LLVMBuildNot(e->b, lt, "");
    LLVMValueRef le = emit_bin(e, LLVMOr, lt, one);
    return r == PTX_SREG_LANEMASK_LE ? le : LLVMBuildNot(e->b, le, "");
}

LLVMValueRef
emit_host_clock(struct emit *e, ptx_sreg r)
{
    LLVMValueRef v = runtime_u64(e, "cwh_rt_clock");
    return r == PTX_SREG_CLOCK ? emit_low_half(e, v) : r == PTX_SREG_CLOCK_HI ? emit_high_half(e, v) : v;
}

LLVMValueRef
emit_host_globaltimer(struct emit *e, ptx_sreg r)
{
    LLVMValueRef v = runtime_u64(e, "cwh_rt_globaltimer");
    return r == PTX_SREG_GLOBALTIMER_LO ? emit_low_half(e, v) : r == PTX_SREG_GLOBALTIMER_HI ? emit_high_half(e, v) : v;
}

LLVMValueRef
emit_host_smem_size(struct emit *e, ptx_sreg r)
{
    if (r == PTX_SREG_DYNAMIC_SMEM_SIZE)
        return launch_u32(e, offsetof(struct cwh_launch, dynamic_shared_size));
    LLVMValueRef size = emit_low_half(e, context_load(e, e->b, e->f->launch, offsetof(struct cwh_launch, shared_size), e->i64, ""));
    /* Includes what the system reserves of each block's shared memory: 1 KiB since compute capability 8. */
    return r == PTX_SREG_AGGR_SMEM_SIZE ? LLVMBuildAdd(e->b, size, i32(e, 1024), "") : size;
}

/* %envreg1 and 2, whose use is up to the driver. Cooperative groups (CUDA's headers, driver_abi.h) find the grid's workspace there, upper
 * half first: two zeroed words of global memory, in the second of which grid.sync() counts; zero for other launches. */
LLVMValueRef
emit_host_workspace(struct emit *e, ptx_sreg r)
{
    LLVMValueRef at = context_load(e, e->b, e->f->launch, offsetof(struct cwh_launch, grid_workspace), e->i64, "");
    return r == PTX_SREG_ENVREG2 ? emit_low_half(e, at) : emit_high_half(e, at);
}

/* ---- addresses ------------------------------------------------------------------------------------------------------------ */

static LLVMValueRef
host_symbol(struct emit *e, const struct ptx_symbol *sym)
{
    struct emit_fn *f = e->f;
    LLVMValueRef off;
    if (sym->kind == PTX_SYM_PARAM) {
        off = LLVMConstInt(e->i64, sym->offset, false);
        return LLVMBuildPtrToInt(e->b, LLVMBuildGEP2(e->b, e->i8, f->params, &off, 1, ""), e->i64, "");
    }
    const struct cwj_link_var *v = cwj_program_link_var(e->program, sym->link_id);
    if (!v || (v->undefined && !v->dynamic)) {
        e->result = CW_ERR_UNRESOLVED;
        cwj_diag_add(e->diags, PTX_ERROR, 4001, sym->line, sym->column, "undefined symbol %s", sym->name);
        return LLVMConstNull(e->i64);
    }
    if (v->space == PTX_SPACE_SHARED) {
        uint32_t offset;
        if (!cwj_shared_offset(&emit_session(e)->closure->shared, sym->link_id, &offset)) {
            e->result = CW_ERR_INTERNAL;
            cwj_diag_add(e->diags, PTX_ERROR, 5002, sym->line, sym->column, "shared variable %s has no place in the layout", sym->name);
            return LLVMConstNull(e->i64);
        }
        off = LLVMConstInt(e->i64, offset, false);
        return f->cluster_place ? LLVMBuildAdd(e->b, f->cluster_place, off, "") : off;
    }
    off = LLVMConstInt(e->i64, v->offset, false);
    return LLVMBuildPtrToInt(e->b, LLVMBuildGEP2(e->b, e->i8, f->image, &off, 1, ""), e->i64, "");
}

static LLVMValueRef
host_pointer(struct emit *e, LLVMValueRef address, ptx_space space)
{
    if (space == PTX_SPACE_SHARED)
        return LLVMBuildGEP2(e->b, e->i8, e->f->shared, &address, 1, "");
    return LLVMBuildIntToPtr(e->b, address, e->ptr, "");
}

static LLVMValueRef
host_to_generic(struct emit *e, LLVMValueRef address, ptx_space space)
{
    if (space != PTX_SPACE_SHARED && space != PTX_SPACE_SHARED_CLUSTER)
        return address;
    return emit_bin(e, LLVMAdd, address, LLVMBuildPtrToInt(e->b, e->f->shared, e->i64, ""));
}

static LLVMValueRef
host_from_generic(struct emit *e, LLVMValueRef address, ptx_space space)
{
    if (space != PTX_SPACE_SHARED && space != PTX_SPACE_SHARED_CLUSTER)
        return address;
    return emit_bin(e, LLVMSub, address, LLVMBuildPtrToInt(e->b, e->f->shared, e->i64, ""));
}

/* ---- bounded code ---- */

static LLVMValueRef
local_area(struct emit *e)
{
    return context_load(e, e->b, e->f->gang, offsetof(struct cwh_gang, local), e->i64, "local");
}

static LLVMValueRef
launch_u64(struct emit *e, size_t offset)
{
    return context_load(e, e->b, e->f->launch, offset, e->i64, "");
}

/* The usual case here, which is one comparison; all others in cwh_rt_bound. */
static void
host_bound(struct emit *e, LLVMValueRef address, ptx_space space, unsigned size)
{
    LLVMValueRef base, bytes, generic = address;
    switch (space) {
    case PTX_SPACE_SHARED:
        base = e->f->cluster_place ? e->f->cluster_place : LLVMConstNull(e->i64);
        bytes = launch_u64(e, offsetof(struct cwh_launch, shared_size));
        generic = host_to_generic(e, address, space);
        break;
    case PTX_SPACE_LOCAL:
        base = local_area(e);
        bytes = LLVMConstInt(e->i64, CWH_LOCAL_SIZE, false);
        break;
    case PTX_SPACE_PARAM:
        base = LLVMBuildPtrToInt(e->b, e->f->params, e->i64, "");
        bytes = launch_u64(e, offsetof(struct cwh_launch, param_size));
        break;
    default:
        base = launch_u64(e, offsetof(struct cwh_launch, region));
        bytes = launch_u64(e, offsetof(struct cwh_launch, region_size));
        break;
    }
    unsigned id = LLVMLookupIntrinsicID("llvm.usub.sat", 13);
    LLVMValueRef args[2] = { bytes, LLVMConstInt(e->i64, size - 1, false) };
    LLVMValueRef starts = LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->llvm, id, &e->i64, 1), LLVMGetIntrinsicDeclaration(e->module, id, &e->i64, 1), args, 2, "");
    LLVMBasicBlockRef ask = emit_new_block(e, "bound"), good = emit_new_block(e, "good");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, address, base, ""), starts, ""), good, ask);
    LLVMPositionBuilderAtEnd(e->b, ask);
    LLVMTypeRef types[3] = { e->ptr, e->i64, e->i32 };
    LLVMValueRef call[3] = { e->f->gang, generic, i32(e, size) };
    emit_runtime(e, "cwh_rt_bound", e->void_, types, 3, call);
    emit_goto(e, good);
}

/* An integer address. */
static LLVMValueRef
bounded_local(struct emit *e, LLVMValueRef size, uint32_t align)
{
    LLVMTypeRef types[3] = { e->ptr, e->i64, e->i32 };
    LLVMValueRef args[3] = { e->f->gang, size, i32(e, align) };
    return emit_runtime(e, "cwh_rt_local", e->i64, types, 3, args);
}

static LLVMValueRef
host_isspacep(struct emit *e, LLVMValueRef address, ptx_space space)
{
    /* Windows: shared is the block's buffer; local is on this gang's stack, near this frame; global is everything else. */
    LLVMValueRef rel = emit_bin(e, LLVMSub, address, LLVMBuildPtrToInt(e->b, e->f->shared, e->i64, ""));
    LLVMValueRef size = context_load(e, e->b, e->f->launch, offsetof(struct cwh_launch, shared_size), e->i64, "");
    LLVMValueRef first = e->f->cluster_place ? e->f->cluster_place : LLVMConstNull(e->i64);
    LLVMValueRef shared = emit_icmp(e, LLVMIntULT, emit_bin(e, LLVMSub, rel, first), size);
    if (space == PTX_SPACE_SHARED)
        return shared;
    if (space == PTX_SPACE_SHARED_CLUSTER) {
        LLVMValueRef all = emit_resize(e, emit_host_cluster_nctarank(e, PTX_SREG_CLUSTER_NCTARANK), e->i64, false);
        if (!e->f->cluster_place)
            rel = emit_bin(e, LLVMAdd, rel, cluster_place(e));
        return emit_icmp(e, LLVMIntULT, rel, LLVMBuildMul(e->b, all, cluster_stride(e), ""));
    }
    LLVMValueRef local;
    if (e->bounded) {
        local = emit_icmp(e, LLVMIntULT, emit_bin(e, LLVMSub, address, local_area(e)), LLVMConstInt(e->i64, CWH_LOCAL_SIZE, false));
    } else {
        LLVMValueRef frame = LLVMBuildPtrToInt(e->b, e->f->dummy, e->i64, "");
        LLVMValueRef near = emit_bin(e, LLVMAdd, emit_bin(e, LLVMSub, address, frame), LLVMConstInt(e->i64, 1 << 18, false));
        local = emit_icmp(e, LLVMIntULT, near, LLVMConstInt(e->i64, 1 << 19, false));
    }
    if (space == PTX_SPACE_LOCAL)
        return local;
    LLVMValueRef param = emit_icmp(e, LLVMIntULT, emit_bin(e, LLVMSub, address, LLVMBuildPtrToInt(e->b, e->f->params, e->i64, "")),
                                   LLVMConstInt(e->i64, 32768, false));
    if (space == PTX_SPACE_PARAM)
        return param;
    LLVMValueRef image = emit_bin(e, LLVMSub, address, LLVMBuildPtrToInt(e->b, e->f->image, e->i64, ""));
    LLVMValueRef in_const = LLVMConstNull(e->i1);
    for (uint32_t i = 0; i < e->program->nlink_vars; i++) {
        const struct cwj_link_var *v = &e->program->link_vars[i];
        if (v->space != PTX_SPACE_CONST || v->undefined || !v->def)
            continue;
        LLVMValueRef in_this = emit_icmp(e, LLVMIntULT, emit_bin(e, LLVMSub, image, LLVMConstInt(e->i64, v->offset, false)),
                                         LLVMConstInt(e->i64, v->def->size, false));
        in_const = emit_bin(e, LLVMOr, in_const, in_this);
    }
    if (space == PTX_SPACE_CONST)
        return in_const;
    LLVMValueRef other = emit_bin(e, LLVMOr, emit_bin(e, LLVMOr, shared, local), in_const);
    return LLVMBuildNot(e->b, other, "");
}

static LLVMValueRef
host_local_storage(struct emit *e, uint64_t size, uint32_t align)
{
    if (e->bounded) {
        LLVMBuilderRef b = e->b;
        e->b = e->f->entry_b;
        LLVMValueRef p = LLVMBuildIntToPtr(e->b, bounded_local(e, LLVMConstInt(e->i64, size, false), align < 16 ? 16 : align), e->ptr, "local");
        e->b = b;
        return p;
    }
    LLVMTypeRef t = LLVMArrayType2(e->i8, size * e->width);
    LLVMValueRef a = LLVMBuildAlloca(e->f->entry_b, t, "local");
    LLVMSetAlignment(a, align < 16 ? 16 : align);
    return a;
}

/* ---- run-time functions ------------------------------------------------------------------------------------------------------ */

LLVMValueRef
emit_runtime(struct emit *e, const char *name, LLVMTypeRef ret, LLVMTypeRef *params, unsigned n, LLVMValueRef *args)
{
    bool ends = !strcmp(name, "cwh_rt_trap") || !strcmp(name, "cwh_rt_assertfail"), first = ends && !LLVMGetNamedFunction(e->module, name);
    LLVMValueRef call = emit_external(e, name, ret, params, n, args);
    if (first)
        emit_set_attribute(LLVMGetNamedFunction(e->module, name), "cold");
    return call;
}

static LLVMValueRef
active_bits(struct emit *e)
{
    LLVMValueRef bits = e->width == 1 ? i32(e, 1) : emit_mask_bits(e, e->mask);
    return LLVMBuildZExt(e->b, bits, e->i64, "");
}

static LLVMValueRef
spill(struct emit *e, LLVMValueRef v, const char *name)
{
    v = emit_splat(e, v);
    LLVMValueRef slot = emit_alloca(e, LLVMTypeOf(v), 64, name);
    LLVMBuildStore(e->b, v, slot);
    return slot;
}

static bool
host_runtime_call(struct emit *e, const struct ptx_inst *in, const char *name, LLVMValueRef *v, unsigned n, LLVMValueRef *result)
{
    LLVMTypeRef shape64 = e->width > 1 ? LLVMVectorType(e->i64, e->width) : e->i64;
    LLVMTypeRef shape32 = e->width > 1 ? LLVMVectorType(e->i32, e->width) : e->i32;
    LLVMTypeRef types[6] = { e->ptr, e->i64, e->ptr, e->ptr, e->ptr, e->ptr };
    LLVMValueRef a[6] = { e->f->gang, active_bits(e) };
    for (unsigned i = 0; i < n; i++) {
        if (!strcmp(name, "__assertfail") && i == 2)
            continue;
        if (e->addr32 && strcmp(name, "malloc"))
            v[i] = emit_widen_or_null(e, v[i]);
        else
            v[i] = emit_resize(e, emit_bitcast(e, v[i], LLVMIntTypeInContext(e->llvm, emit_scalar_type(v[i]) == e->i32 ? 32 : 64)),
                               e->i64, false);
    }
    if (!strcmp(name, "vprintf") && n == 2) {
        a[2] = spill(e, v[0], "formats");
        a[3] = spill(e, v[1], "arguments");
        a[4] = emit_alloca(e, shape32, 64, "printed");
        emit_runtime(e, "cwh_rt_vprintf", e->void_, types, 5, a);
        *result = LLVMBuildLoad2(e->b, shape32, a[4], "");
    } else if (!strcmp(name, "malloc") && n == 1) {
        a[2] = spill(e, v[0], "sizes");
        a[3] = emit_alloca(e, shape64, 64, "pointers");
        emit_runtime(e, "cwh_rt_malloc", e->void_, types, 4, a);
        *result = LLVMBuildLoad2(e->b, shape64, a[3], "");
        if (e->addr32)
            *result = emit_resize(e, *result, e->i32, false);
    } else if (!strcmp(name, "free") && n == 1) {
        a[2] = spill(e, v[0], "pointers");
        emit_runtime(e, "cwh_rt_free", e->void_, types, 3, a);
    } else if (!strcmp(name, "__assertfail") && n >= 4) {
        a[2] = spill(e, v[0], "message");
        a[3] = spill(e, v[1], "file");
        a[4] = spill(e, emit_bitcast(e, v[2], e->i32), "line");
        a[5] = spill(e, v[3], "function");
        emit_runtime(e, "cwh_rt_assertfail", e->void_, types, 6, a);
    } else {
        return false;
    }
    (void)in;
    return true;
}

static LLVMValueRef
stack_intrinsic(struct emit *e, const char *name, LLVMValueRef arg)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, &e->ptr, 1);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->llvm, id, &e->ptr, 1), fn, &arg, arg ? 1 : 0, "");
}

/* Allocate for the lane with the largest request, once per lane (9.7.17.3). */
void
emit_host_alloca(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    LLVMValueRef size = emit_resize(e, emit_src(e, in, 1, t), e->i64, false);
    uint64_t align = in->noperands > 2 ? (uint64_t)in->operand[2].imm : 8;
    if (!align || (align & (align - 1)) || align > 1 << 23) {
        emit_unsupported(e, in, "an alignment that is no power of two");
        return;
    }
    align = align < 16 ? 16 : align;
    if (emit_is_vector(size)) {
        LLVMTypeRef vt = LLVMTypeOf(size);
        if (e->mask)
            size = emit_select(e, e->mask, size, LLVMConstNull(vt));
        const char *name = "llvm.vector.reduce.umax";
        unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
        LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, &vt, 1);
        size = LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->llvm, id, &vt, 1), fn, &size, 1, "");
    }
    size = LLVMBuildAnd(e->b, LLVMBuildAdd(e->b, size, LLVMConstInt(e->i64, align - 1, false), ""), LLVMConstInt(e->i64, ~(align - 1), false), "");
    if (e->bounded) {
        LLVMValueRef at = bounded_local(e, size, (uint32_t)align);
        emit_dst(e, in, 0, t, emit_resize(e, e->addr32 ? emit_addr32(e, at, PTX_SPACE_LOCAL) : at, emit_type(e, t), false));
        return;
    }
    LLVMValueRef all = e->width > 1 ? LLVMBuildMul(e->b, size, LLVMConstInt(e->i64, e->width, false), "") : size;
    LLVMValueRef area = LLVMBuildArrayAlloca(e->b, e->i8, all, "");
    LLVMSetAlignment(area, (unsigned)align);
    LLVMValueRef address = LLVMBuildPtrToInt(e->b, area, e->i64, "");
    if (e->width > 1)
        address = emit_bin(e, LLVMAdd, address, emit_bin(e, LLVMMul, emit_iota(e, e->i64), size));
    if (e->addr32)
        address = emit_addr32(e, address, PTX_SPACE_LOCAL);
    emit_dst(e, in, 0, t, emit_resize(e, address, emit_type(e, t), false));
}

void
emit_host_stacksave(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef v = e->bounded ? LLVMBuildLoad2(e->b, e->i64, local_top(e, e->b), "")
                                : LLVMBuildPtrToInt(e->b, stack_intrinsic(e, "llvm.stacksave", NULL), e->i64, "");
    if (e->addr32)
        v = emit_addr32(e, v, PTX_SPACE_LOCAL);
    emit_dst(e, in, 0, (ptx_type)in->type[0], emit_resize(e, v, emit_type(e, (ptx_type)in->type[0]), false));
}

void
emit_host_stackrestore(struct emit *e, const struct ptx_inst *in)
{
    /* If some lanes are elsewhere, these may still use what they allocated since; it is freed when the function returns. */
    LLVMValueRef v = emit_src(e, in, 0, (ptx_type)in->type[0]);
    if (e->width > 1 && (e->mask || e->f->flow.masked[e->f->block]))
        return;
    if (emit_is_vector(v))
        v = LLVMBuildExtractElement(e->b, v, i32(e, 0), "");
    if (e->addr32)
        v = emit_widen(e, v, PTX_SPACE_LOCAL);
    else if (ptx_type_bits((ptx_type)in->type[0]) == 32)
        v = emit_near(e, v, PTX_SPACE_LOCAL);
    if (e->bounded) {
        LLVMTypeRef types[2] = { e->ptr, e->i64 };
        LLVMValueRef args[2] = { e->f->gang, v };
        emit_runtime(e, "cwh_rt_local_free", e->void_, types, 2, args);
        return;
    }
    stack_intrinsic(e, "llvm.stackrestore", LLVMBuildIntToPtr(e->b, v, e->ptr, ""));
}

/* ---- traps and time ---------------------------------------------------------------------------------------------------------- */

/* kind: as for cwh_rt_trap in jit/abi/host.h */
static void
trap(struct emit *e, LLVMValueRef lanes, uint32_t kind)
{
    LLVMTypeRef types[3] = { e->ptr, e->i64, e->i32 };
    LLVMValueRef args[3] = { e->f->gang, lanes, i32(e, kind) };
    emit_runtime(e, "cwh_rt_trap", e->void_, types, 3, args);
}

/* trap, brkpt */
void
emit_host_trap(struct emit *e, const struct ptx_inst *in)
{
    trap(e, active_bits(e), in->op == PTX_OP_BRKPT);
}

static void
host_bad_call(struct emit *e)
{
    trap(e, LLVMConstInt(e->i64, ~0ull, false), 2);
}

static void
host_misaligned(struct emit *e)
{
    trap(e, LLVMConstInt(e->i64, ~0ull, false), 4);
}

void
emit_host_nanosleep(struct emit *e, const struct ptx_inst *in)
{
    LLVMTypeRef types[2] = { e->ptr, e->i32 };
    LLVMValueRef ns = emit_src(e, in, 0, PTX_U32);
    if (emit_is_vector(ns))
        ns = LLVMBuildExtractElement(e->b, ns, i32(e, 0), "");
    LLVMValueRef args[2] = { e->f->gang, ns };
    emit_runtime(e, "cwh_rt_nanosleep", e->void_, types, 2, args);
}

static void
host_yield(struct emit *e)
{
    emit_session(e)->uses_fibers = true;
    LLVMTypeRef types[1] = { e->ptr };
    emit_runtime(e, "cwh_rt_yield", e->void_, types, 1, &e->f->gang);
}

/* Programs rely on lockstep execution of a warp between warp operations, as on every GPU before Volta and mostly still today: lanes load
 * what another lane stores in program order. */
static LLVMValueRef
exchange(struct emit *e, LLVMValueRef value)
{
    struct emit_session *s = emit_session(e);
    s->uses_fibers = true;
    if (!e->f->exchanged)
        e->f->exchanged = emit_alloca(e, LLVMArrayType(e->i64, 32), 8, "exchanged");
    LLVMTypeRef types[5] = { e->ptr, e->i32, e->i32, e->i64, e->ptr };
    LLVMValueRef args[5] = { e->f->gang, i32(e, s->sites++), i32(e, 0), value, e->f->exchanged };
    return emit_runtime(e, "cwh_rt_warp_exchange", e->i32, types, 5, args);
}

static void
host_step(struct emit *e)
{
    exchange(e, LLVMConstNull(e->i64));
}

/* bool last_writer(values, lanes, address, lane): does no lane of `lanes` above this one have the same address? */
static LLVMValueRef
last_writer(struct emit *e, LLVMTypeRef *type)
{
    struct emit_session *s = emit_session(e);
    LLVMTypeRef params[4] = { e->ptr, e->i32, e->i64, e->i32 };
    *type = LLVMFunctionType(e->i1, params, 4, false);
    if (s->last_writer)
        return s->last_writer;
    LLVMValueRef fn = s->last_writer = LLVMAddFunction(e->module, "last_writer", *type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->llvm);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->llvm, fn, "entry"), head = LLVMAppendBasicBlockInContext(e->llvm, fn, "head");
    LLVMBasicBlockRef look = LLVMAppendBasicBlockInContext(e->llvm, fn, "look"), next = LLVMAppendBasicBlockInContext(e->llvm, fn, "next");
    LLVMBasicBlockRef no = LLVMAppendBasicBlockInContext(e->llvm, fn, "no"), yes = LLVMAppendBasicBlockInContext(e->llvm, fn, "yes");
    LLVMValueRef values = LLVMGetParam(fn, 0), lanes = LLVMGetParam(fn, 1), address = LLVMGetParam(fn, 2), lane = LLVMGetParam(fn, 3);
    LLVMPositionBuilderAtEnd(b, entry);
    LLVMValueRef first = LLVMBuildAdd(b, lane, i32(e, 1), "");
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef j = LLVMBuildPhi(b, e->i32, "j");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, j, i32(e, 32), ""), look, yes);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef there = LLVMBuildTrunc(b, LLVMBuildLShr(b, lanes, j, ""), e->i1, "");
    LLVMValueRef v = LLVMBuildLoad2(b, e->i64, LLVMBuildGEP2(b, e->i64, values, &j, 1, ""), "");
    LLVMValueRef same = LLVMBuildAnd(b, there, LLVMBuildICmp(b, LLVMIntEQ, v, address, ""), "");
    LLVMBuildCondBr(b, same, no, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef up = LLVMBuildAdd(b, j, i32(e, 1), "");
    LLVMBuildBr(b, head);
    LLVMValueRef incoming[2] = { first, up };
    LLVMBasicBlockRef from[2] = { entry, next };
    LLVMAddIncoming(j, incoming, from, 2);
    LLVMPositionBuilderAtEnd(b, no);
    LLVMBuildRet(b, LLVMConstInt(e->i1, 0, false));
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMBuildRet(b, LLVMConstInt(e->i1, 1, false));
    LLVMDisposeBuilder(b);
    return fn;
}

/* A warp's store to one address is one store: programs let all lanes write the same value, for example to release a lock, and a late second
 * write would release it again. */
static LLVMValueRef
host_step_store(struct emit *e, LLVMValueRef address)
{
    LLVMValueRef lanes = exchange(e, address);
    LLVMTypeRef type;
    LLVMValueRef fn = last_writer(e, &type);
    LLVMValueRef args[4] = { e->f->exchanged, lanes, address, lane_index(e) };
    return LLVMBuildCall2(e->b, type, fn, args, 4, "");
}

static const struct emit_target target_host = {
    .name = "the host device", .ops = emit_ops_host, .sregs = emit_sregs_host,
    .passes_gang = true, .near_addresses = true, .default_nan = true,
    .claims = emit_affine, .enter = host_enter, .leave = host_leave, .bound = host_bound, .bad_call = host_bad_call, .misaligned = host_misaligned,
    .runtime_call = host_runtime_call, .symbol = host_symbol, .pointer = host_pointer, .to_generic = host_to_generic,
    .from_generic = host_from_generic, .isspacep = host_isspacep, .local_storage = host_local_storage,
    .mbarrier_object = host_mbarrier_object, .mbarrier = host_mbarrier, .bulk = host_bulk, .yield = host_yield, .step = host_step, .step_store = host_step_store,
};

/* ---- one kernel --------------------------------------------------------------------------------------------------------------- */

struct needs {
    bool warp;
    bool volatile_load, volatile_store;     /* of global memory */
};

static void
scan_operand(const struct ptx_operand *o, void *user)
{
    struct needs *n = user;
    if (o->kind == PTX_OPND_SREG && ptx_sreg_info((ptx_sreg)o->index)->traits & PTX_T_WARP)
        n->warp = true;
    for (unsigned i = 0; i < o->count && o->elem; i++)
        scan_operand(&o->elem[i], user);
}

static bool
needs_warp(struct cwj_program *p, uint32_t index)
{
    const struct cwj_closure *closure = &p->closure[index];
    struct needs n = { 0 };
    for (uint32_t i = 0; i < closure->nfuncs && !n.warp; i++) {
        const struct ptx_function *fn = cwj_program_function(p, closure->funcs[i])->fn;
        for (uint32_t k = 0; fn && fn->has_body && k < fn->ninsts && !n.warp; k++) {
            const struct ptx_inst *in = &fn->insts[k];
            n.warp = ptx_op_info((ptx_op)in->op)->traits & PTX_T_WARP;
            /* Code written before shuffles exchanges values between lanes through volatile shared memory, or reduces in global memory.
             * Who only polls global memory, or only writes to it, does not, nor what a lock protects: its lanes come one after another. */
            bool is_volatile = (in->op == PTX_OP_LD || in->op == PTX_OP_ST) && in->sem == PTX_SEM_VOLATILE;
            n.warp |= is_volatile && (in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_GENERIC);
            n.volatile_load |= is_volatile && in->space == PTX_SPACE_GLOBAL && in->op == PTX_OP_LD;
            n.volatile_store |= is_volatile && in->space == PTX_SPACE_GLOBAL && in->op == PTX_OP_ST;
            for (unsigned o = 0; o < in->noperands; o++)
                scan_operand(&in->operand[o], &n);
        }
    }
    return n.warp || (n.volatile_load && n.volatile_store && cwj_independent_progress_locked(p, index) == CWJ_PROGRESS_COMMON);
}

static unsigned
cpu_features(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    return (__builtin_cpu_supports("f16c") ? EMIT_FEATURE_F16 : 0) |
           (__builtin_cpu_supports("avx512f") ? EMIT_FEATURE_PERMUTE : 0);
#else
    return EMIT_FEATURE_F16;
#endif
}

/* The width of a kernel whose instructions cannot tell. With 256-bit registers, two registers of 32-bit lanes: twice the work between
 * switches at barriers, and two chains of dependent operations; but one if most values are 64 bits wide. */
static unsigned
gang_width(const struct cwj_program *p, const struct cwj_closure *closure)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return 16;
    if (!__builtin_cpu_supports("avx2"))
        return 4;
    uint64_t f64 = 0, f32 = 0;
    for (uint32_t i = 0; i < closure->nfuncs; i++) {
        const struct ptx_function *fn = cwj_program_function(p, closure->funcs[i])->fn;
        for (uint32_t k = 0; fn && fn->has_body && k < fn->ninsts; k++) {
            f64 += fn->insts[k].type[0] == PTX_F64;
            f32 += fn->insts[k].type[0] == PTX_F32;
        }
    }
    return f64 > f32 ? 8 : 16;
}

/* A function with a body that the kernel calls. */
static bool
is_device_function(struct cwj_program *p, uint32_t id, uint32_t kernel)
{
    const struct cwj_function *f = cwj_program_function(p, id);
    return f->fn && f->fn->has_body && id != kernel && !f->fn->is_entry && !f->runtime;
}

/* `threads`: one lane at a time. *again: the kernel must be emitted with `threads`. */
static cw_result
emit_kernel(struct cwj_program *p, uint32_t index, const struct cwh_variant *variant, bool threads, LLVMContextRef llvm,
            LLVMModuleRef *module, struct cwh_code_info *info, struct cwj_diags *diags, bool *again)
{
    *module = NULL;
    struct emit_session *s = emit_open(p, llvm, diags);
    if (!s || s->e.result)
        return s ? emit_close(s, module) : CW_ERR_NOMEM;
    struct emit *e = &s->e;
    e->target = &target_host;
    s->variant = variant;
    s->kernel = index;
    s->closure = &p->closure[index];
    e->features = cpu_features();
    e->fast_code = !variant->o0;
    e->addr32 = cwj_program_is_addr32(p);
    s->clusters = !e->addr32 && cwj_notices_clusters(p, index);
    s->in_step = cwj_needs_lockstep(p, index);
    bool warp = s->in_step || needs_warp(p, index);
    e->bounded = variant->bounded;
    e->width = variant->o0 || variant->bounded || threads ? 1 : warp ? 32 : gang_width(p, s->closure);
    if (variant->max_width8 && e->width > 8 && e->width < 32)
        e->width = 8;
    s->exits = emit_has_exits(p, s->closure);
    s->lockstep = warp && e->width == 1;

    LLVMValueRef fn = LLVMAddFunction(e->module, "cwh_kernel", LLVMFunctionType(e->void_, &e->ptr, 1, false));
    emit_null_faults(e, fn);
    uint32_t id = p->kernel_func[index];
    for (uint32_t i = 0; i < s->closure->nfuncs; i++)
        s->needed[s->closure->funcs[i]] = true;
    if (s->closure->indirect)
        emit_function_table(e, "functions");
    /* With width 1, lanes inside a call go first, since their join sites have lower numbers. */
    uint32_t *order = emit_callees_first(p, s->closure->funcs, s->closure->nfuncs, &e->arena);
    if (!order) {
        e->result = CW_ERR_NOMEM;
        return emit_close(s, module);
    }
    /* In the module callers stand before callees: LLVM inlines in that order, and copies each body once this way (target/amdgcn/module.c). */
    for (uint32_t i = s->closure->nfuncs; i-- > 0;)
        if (is_device_function(p, order[i], id))
            (void)emit_declare(e, order[i]);
    for (uint32_t i = 0; i < s->closure->nfuncs; i++)
        if (is_device_function(p, order[i], id))
            emit_function(e, cwj_program_function(p, order[i])->fn, emit_declare(e, order[i]), false);
    emit_function(e, cwj_program_function(p, id)->fn, fn, true);
    *info = (struct cwh_code_info){
        .width = e->width,
        .uses_fibers = s->uses_fibers,
        .static_shared = s->closure->shared.size,
        .shared_align = s->closure->shared.align,
        .stack_hint = 0,        /* known after optimisation (jit/llvm/frames.c) */
        .bounded = variant->bounded,
    };
    LLVMValueRef fields[6] = { i32(e, info->width), i32(e, info->uses_fibers), i32(e, info->static_shared),
                               i32(e, info->shared_align), i32(e, info->stack_hint), i32(e, info->bounded) };
    LLVMValueRef constant = LLVMConstStructInContext(llvm, fields, 6, false);
    LLVMValueRef global = LLVMAddGlobal(e->module, LLVMTypeOf(constant), "cwh_info");
    LLVMSetInitializer(global, constant);
    LLVMSetGlobalConstant(global, true);
    *again = s->split_barriers > 1 || s->lanes_wait;
    if (s->lanes_wait)
        cw_info("kernel %s: lanes of a warp may wait for each other across functions or beside a partial warp operation; it runs one lane at a time", p->kernels[index].name);
    return emit_close(s, module);
}

cw_result
emit_host_kernel(struct cwj_program *p, uint32_t index, const struct cwh_variant *variant, LLVMContextRef llvm,
                 LLVMModuleRef *module, struct cwh_code_info *info, struct cwj_diags *diags)
{
    bool again = false;
    cw_result r = emit_kernel(p, index, variant, false, llvm, module, info, diags, &again);
    if (r != CW_OK || !again)
        return r;
    /* Lanes of a warp may wait at barriers in different branches (9.7.13.1, sm_70), or for memory that another lane writes (park.c): each must
     * be able to wait alone. */
    LLVMDisposeModule(*module);
    return emit_kernel(p, index, variant, true, llvm, module, info, diags, &again);
}
