/* SPDX-License-Identifier: Apache-2.0
 * The host device as a target of the emitter: the gang's context, special registers, addresses, run-time calls, and the entry point that
 * emits one kernel with its call closure. The contract is jit/abi/host.h. */
#include "jit/emit/target/host/host_private.h"
#include "impl/base/log.h"
#include "jit/analysis/clusters.h"
#include "jit/analysis/find.h"
#include "jit/analysis/lockstep.h"
#include "jit/analysis/progress.h"

#include <llvm-c/Analysis.h>
#include <stddef.h>
#include <string.h>

/* ---- context ------------------------------------------------------------------------------------------------------- */

/* A field of the gang, its block or its launch, which nothing changes while the kernel runs. */
static LLVMValueRef
host_field(struct emit *e, LLVMBuilderRef b, LLVMValueRef of, size_t offset, LLVMTypeRef t, const char *name)
{
    LLVMValueRef at = LLVMConstInt(e->i64, offset, false), v = LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, e->i8, of, &at, 1, ""), name);
    emit_invariant(e, v);
    return v;
}

static LLVMValueRef
gang_field(struct emit *e, size_t offset, LLVMTypeRef t)
{
    return host_field(e, e->b, e->f->gang, offset, t, "");
}

static LLVMValueRef
launch_field(struct emit *e, size_t offset, LLVMTypeRef t)
{
    return host_field(e, e->b, e->f->launch, offset, t, "");
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
    f->block_ctx = host_field(e, f->entry_b, f->gang, offsetof(struct cwh_gang, block), e->ptr, "block");
    f->launch = host_field(e, f->entry_b, f->block_ctx, offsetof(struct cwh_block, launch), e->ptr, "launch");
    f->params = host_field(e, f->entry_b, f->launch, offsetof(struct cwh_launch, params), e->ptr, "params");
    f->image = host_field(e, f->entry_b, f->launch, offsetof(struct cwh_launch, image), e->ptr, "image");
    f->shared = host_field(e, f->entry_b, f->block_ctx, offsetof(struct cwh_block, shared), e->ptr, "shared");
    if (emit_session(e)->clusters) {
        LLVMValueRef rank = host_field(e, f->entry_b, f->block_ctx, offsetof(struct cwh_block, cluster_rank), e->i32, "");
        LLVMValueRef stride = host_field(e, f->entry_b, f->launch, offsetof(struct cwh_launch, cluster_stride), e->i64, "");
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
        LLVMValueRef lanes = host_field(e, f->entry_b, f->gang, offsetof(struct cwh_gang, lanes), e->i32, "lanes");
        LLVMPositionBuilderAtEnd(e->b, f->entry);
        f->entry_mask = emit_icmp(e, LLVMIntULT, emit_iota(e, e->i32), lanes);
    }
}

/* ---- special registers -------------------------------------------------------------------------------------------------- */

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
    LLVMValueRef first = host_field(e, e->b, f->gang, offsetof(struct cwh_gang, first), e->i32, "first");
    LLVMValueRef nx = launch_field(e, offsetof(struct cwh_launch, block[0]), e->i32), ny = launch_field(e, offsetof(struct cwh_launch, block[1]), e->i32);
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
    LLVMValueRef first = gang_field(e, offsetof(struct cwh_gang, first), e->i32);
    LLVMValueRef lane = LLVMBuildAnd(e->b, first, i32(e, 31), "");
    return e->width == 1 ? lane : emit_bin(e, LLVMAdd, lane, emit_iota(e, e->i32));
}

/* The readers that jit/ptx/sregs.def names. Components stand in the order x, y, z. */

LLVMValueRef
emit_host_tid(struct emit *e, ptx_sreg r)
{
    return thread_index(e, r - PTX_SREG_TID_X);
}

/* Registers that are fields of the block or of the launch. */
LLVMValueRef
emit_host_field(struct emit *e, ptx_sreg r)
{
#define BLOCK(member)  { true, offsetof(struct cwh_block, member) }
#define LAUNCH(member) { false, offsetof(struct cwh_launch, member) }
    static const struct { bool of_block; size_t offset; } fields[PTX_SREG_COUNT] = {
        [PTX_SREG_NTID_X] = LAUNCH(block[0]), [PTX_SREG_NTID_Y] = LAUNCH(block[1]), [PTX_SREG_NTID_Z] = LAUNCH(block[2]),
        [PTX_SREG_NCTAID_X] = LAUNCH(grid[0]), [PTX_SREG_NCTAID_Y] = LAUNCH(grid[1]), [PTX_SREG_NCTAID_Z] = LAUNCH(grid[2]),
        [PTX_SREG_CTAID_X] = BLOCK(ctaid[0]), [PTX_SREG_CTAID_Y] = BLOCK(ctaid[1]), [PTX_SREG_CTAID_Z] = BLOCK(ctaid[2]),
        [PTX_SREG_CLUSTER_NCTAID_X] = LAUNCH(cluster[0]), [PTX_SREG_CLUSTER_NCTAID_Y] = LAUNCH(cluster[1]),
        [PTX_SREG_CLUSTER_NCTAID_Z] = LAUNCH(cluster[2]), [PTX_SREG_CLUSTER_CTARANK] = BLOCK(cluster_rank), [PTX_SREG_SMID] = BLOCK(worker),
        [PTX_SREG_GRIDID] = LAUNCH(grid_id), [PTX_SREG_DYNAMIC_SMEM_SIZE] = LAUNCH(dynamic_shared_size),
    };
#undef BLOCK
#undef LAUNCH
    LLVMValueRef of = fields[r].of_block ? e->f->block_ctx : e->f->launch;
    return host_field(e, e->b, of, fields[r].offset, emit_type(e, (ptx_type)ptx_sreg_info(r)->type), "");
}

static LLVMValueRef
field_of_axis(struct emit *e, ptx_sreg x, unsigned axis)
{
    return emit_host_field(e, (ptx_sreg)(x + axis));
}

/* ---- clusters ---- */

LLVMValueRef
emit_host_clusterid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_CLUSTERID_X;
    LLVMValueRef size = field_of_axis(e, PTX_SREG_CLUSTER_NCTAID_X, axis);
    return LLVMBuildUDiv(e->b, field_of_axis(e, PTX_SREG_CTAID_X, axis), size, "");
}

LLVMValueRef
emit_host_nclusterid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_NCLUSTERID_X;
    LLVMValueRef size = field_of_axis(e, PTX_SREG_CLUSTER_NCTAID_X, axis);
    return LLVMBuildUDiv(e->b, field_of_axis(e, PTX_SREG_NCTAID_X, axis), size, "");
}

LLVMValueRef
emit_host_cluster_ctaid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_CLUSTER_CTAID_X;
    LLVMValueRef size = field_of_axis(e, PTX_SREG_CLUSTER_NCTAID_X, axis);
    return LLVMBuildURem(e->b, field_of_axis(e, PTX_SREG_CTAID_X, axis), size, "");
}

LLVMValueRef
emit_host_cluster_nctarank(struct emit *e, ptx_sreg r)
{
    LLVMValueRef n[3];
    for (unsigned i = 3; i-- > 0;)
        n[i] = field_of_axis(e, PTX_SREG_CLUSTER_NCTAID_X, i);
    return LLVMBuildMul(e->b, LLVMBuildMul(e->b, n[0], n[1], ""), n[2], "");
}

LLVMValueRef
emit_host_explicit_cluster(struct emit *e, ptx_sreg r)
{
    return LLVMBuildICmp(e->b, LLVMIntNE, launch_field(e, offsetof(struct cwh_launch, explicit_cluster), e->i32), i32(e, 0), "");
}

static LLVMValueRef
cluster_stride(struct emit *e)
{
    return launch_field(e, offsetof(struct cwh_launch, cluster_stride), e->i64);
}

/* Where the block's own shared memory lies behind that of the cluster's first block: i64. */
static LLVMValueRef
cluster_place(struct emit *e)
{
    return LLVMBuildMul(e->b, emit_resize(e, emit_host_field(e, PTX_SREG_CLUSTER_CTARANK), e->i64, false), cluster_stride(e), "");
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
    emit_runtime(e, in->mode == PTX_MODE_WAIT ? "cwh_rt_cluster_wait" : "cwh_rt_cluster_arrive", e->void_, &e->f->gang, 1);
}

LLVMValueRef
emit_host_laneid(struct emit *e, ptx_sreg r)
{
    return lane_index(e);
}

LLVMValueRef
emit_host_warpid(struct emit *e, ptx_sreg r)
{
    return LLVMBuildLShr(e->b, gang_field(e, offsetof(struct cwh_gang, first), e->i32), i32(e, 5), "");
}

LLVMValueRef
emit_host_nsmid(struct emit *e, ptx_sreg r)
{
    return i32(e, 1024);
}

LLVMValueRef
emit_host_clock64(struct emit *e, ptx_sreg r)
{
    return emit_runtime(e, "cwh_rt_clock", e->i64, NULL, 0);
}

LLVMValueRef
emit_host_globaltimer(struct emit *e, ptx_sreg r)
{
    return emit_runtime(e, "cwh_rt_globaltimer", e->i64, NULL, 0);
}

LLVMValueRef
emit_host_smem_size(struct emit *e, ptx_sreg r)
{
    return emit_low_half(e, launch_field(e, offsetof(struct cwh_launch, shared_size), e->i64));
}

/* %envreg1 and 2, whose use is up to the driver. Cooperative groups (CUDA's headers, driver_abi.h) find the grid's workspace there, upper
 * half first: two zeroed words of global memory, in the second of which grid.sync() counts; zero for other launches. */
LLVMValueRef
emit_host_workspace(struct emit *e, ptx_sreg r)
{
    LLVMValueRef at = launch_field(e, offsetof(struct cwh_launch, grid_workspace), e->i64);
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
    const struct cwj_link_var *v = emit_link_var(e, sym);
    if (!v)
        return LLVMConstNull(e->i64);
    if (v->space == PTX_SPACE_SHARED) {
        off = LLVMConstInt(e->i64, emit_shared_offset(e, sym), false);
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
    return host_field(e, e->b, e->f->gang, offsetof(struct cwh_gang, local), e->i64, "local");
}

/* The usual case here, which is one comparison; all others in cwh_rt_bound. */
static void
host_bound(struct emit *e, LLVMValueRef address, ptx_space space, unsigned size)
{
    LLVMValueRef base, bytes, generic = address;
    switch (space) {
    case PTX_SPACE_SHARED:
        base = e->f->cluster_place ? e->f->cluster_place : LLVMConstNull(e->i64);
        bytes = launch_field(e, offsetof(struct cwh_launch, shared_size), e->i64);
        generic = host_to_generic(e, address, space);
        break;
    case PTX_SPACE_LOCAL:
        base = local_area(e);
        bytes = LLVMConstInt(e->i64, CWH_LOCAL_SIZE, false);
        break;
    case PTX_SPACE_PARAM:
        base = LLVMBuildPtrToInt(e->b, e->f->params, e->i64, "");
        bytes = launch_field(e, offsetof(struct cwh_launch, param_size), e->i64);
        break;
    default:
        base = launch_field(e, offsetof(struct cwh_launch, region), e->i64);
        bytes = launch_field(e, offsetof(struct cwh_launch, region_size), e->i64);
        break;
    }
    LLVMValueRef args[2] = { bytes, LLVMConstInt(e->i64, size - 1, false) }, starts = emit_intrinsic(e, "llvm.usub.sat", args, 2, -1);
    LLVMBasicBlockRef ask = emit_new_block(e, "bound"), good = emit_new_block(e, "good");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, address, base, ""), starts, ""), good, ask);
    LLVMPositionBuilderAtEnd(e->b, ask);
    emit_runtime(e, "cwh_rt_bound", e->void_, VALUES(e->f->gang, generic, i32(e, size)));
    emit_goto(e, good);
}

/* An integer address. */
static LLVMValueRef
bounded_local(struct emit *e, LLVMValueRef size, uint32_t align)
{
    return emit_runtime(e, "cwh_rt_local", e->i64, VALUES(e->f->gang, size, i32(e, align)));
}

static LLVMValueRef
offset_in_image(struct emit *e, uint32_t id, const struct cwj_link_var *v)
{
    return LLVMConstInt(e->i64, v->offset, false);
}

static LLVMValueRef
host_isspacep(struct emit *e, LLVMValueRef address, ptx_space space)
{
    /* Windows: shared is the block's buffer; local is on this gang's stack, near this frame; global is everything else. */
    LLVMValueRef rel = emit_bin(e, LLVMSub, address, LLVMBuildPtrToInt(e->b, e->f->shared, e->i64, ""));
    LLVMValueRef size = launch_field(e, offsetof(struct cwh_launch, shared_size), e->i64);
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
    LLVMValueRef in_const = emit_in_constant(e, image, offset_in_image);
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
emit_runtime(struct emit *e, const char *name, LLVMTypeRef ret, LLVMValueRef *args, unsigned n)
{
    bool ends = !strcmp(name, "cwh_rt_trap") || !strcmp(name, "cwh_rt_assertfail"), first = ends && !LLVMGetNamedFunction(e->module, name);
    LLVMValueRef call = emit_external(e, name, ret, args, n);
    if (first)
        emit_set_attribute(LLVMGetNamedFunction(e->module, name), "cold");
    return call;
}

LLVMValueRef
host_active(struct emit *e)
{
    return LLVMBuildZExt(e->b, e->width == 1 ? i32(e, 1) : emit_mask_bits(e, e->mask), e->i64, "");
}

static LLVMTypeRef
per_lane(struct emit *e, LLVMTypeRef scalar)
{
    return e->width > 1 ? LLVMVectorType(scalar, e->width) : scalar;
}

LLVMValueRef
host_space(struct emit *e, LLVMTypeRef scalar, const char *name)
{
    return emit_alloca(e, per_lane(e, scalar), 64, name);
}

LLVMValueRef
host_take(struct emit *e, LLVMTypeRef scalar, LLVMValueRef space)
{
    return LLVMBuildLoad2(e->b, per_lane(e, scalar), space, "");
}

LLVMValueRef
host_spill(struct emit *e, LLVMValueRef v, const char *name)
{
    LLVMValueRef space = host_space(e, emit_scalar_type(v), name);
    LLVMBuildStore(e->b, emit_splat(e, v), space);
    return space;
}

static bool
host_runtime_call(struct emit *e, const struct ptx_inst *in, const char *name, LLVMValueRef *v, unsigned n, LLVMValueRef *result)
{
    LLVMValueRef gang = e->f->gang, lanes = host_active(e), space;
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
        LLVMValueRef formats = host_spill(e, v[0], "formats"), arguments = host_spill(e, v[1], "arguments");
        space = host_space(e, e->i32, "printed");
        emit_runtime(e, "cwh_rt_vprintf", e->void_, VALUES(gang, lanes, formats, arguments, space));
        *result = host_take(e, e->i32, space);
    } else if (!strcmp(name, "malloc") && n == 1) {
        LLVMValueRef sizes = host_spill(e, v[0], "sizes");
        space = host_space(e, e->i64, "pointers");
        emit_runtime(e, "cwh_rt_malloc", e->void_, VALUES(gang, lanes, sizes, space));
        *result = emit_resize(e, host_take(e, e->i64, space), e->addr32 ? e->i32 : e->i64, false);
    } else if (!strcmp(name, "free") && n == 1) {
        emit_runtime(e, "cwh_rt_free", e->void_, VALUES(gang, lanes, host_spill(e, v[0], "pointers")));
    } else if (!strcmp(name, "__assertfail") && n >= 4) {
        LLVMValueRef message = host_spill(e, v[0], "message"), file = host_spill(e, v[1], "file");
        LLVMValueRef line = host_spill(e, emit_bitcast(e, v[2], e->i32), "line"), function = host_spill(e, v[3], "function");
        emit_runtime(e, "cwh_rt_assertfail", e->void_, VALUES(gang, lanes, message, file, line, function));
    } else {
        return false;
    }
    return true;
}

static LLVMValueRef
stack_intrinsic(struct emit *e, const char *name, LLVMValueRef arg)
{
    return emit_intrinsic_of(e, name, &e->ptr, 1, &arg, arg ? 1 : 0);
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
        size = emit_intrinsic(e, "llvm.vector.reduce.umax", &size, 1, -1);
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
        emit_runtime(e, "cwh_rt_local_free", e->void_, VALUES(e->f->gang, v));
        return;
    }
    stack_intrinsic(e, "llvm.stackrestore", LLVMBuildIntToPtr(e->b, v, e->ptr, ""));
}

/* ---- traps and time ---------------------------------------------------------------------------------------------------------- */

/* kind: as for cwh_rt_trap in jit/abi/host.h */
static void
trap(struct emit *e, LLVMValueRef lanes, uint32_t kind)
{
    emit_runtime(e, "cwh_rt_trap", e->void_, VALUES(e->f->gang, lanes, i32(e, kind)));
}

/* trap, brkpt */
void
emit_host_trap(struct emit *e, const struct ptx_inst *in)
{
    trap(e, host_active(e), in->op == PTX_OP_BRKPT);
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
    LLVMValueRef ns = emit_src(e, in, 0, PTX_U32);
    if (emit_is_vector(ns))
        ns = LLVMBuildExtractElement(e->b, ns, i32(e, 0), "");
    emit_runtime(e, "cwh_rt_nanosleep", e->void_, VALUES(e->f->gang, ns));
}

static void
host_yield(struct emit *e)
{
    emit_session(e)->uses_fibers = emit_session(e)->yields = true;
    emit_runtime(e, "cwh_rt_yield", e->void_, &e->f->gang, 1);
}

LLVMValueRef
host_exchange(struct emit *e, uint32_t site, LLVMValueRef members, LLVMValueRef value, LLVMValueRef values)
{
    emit_session(e)->uses_fibers = true;
    return emit_runtime(e, "cwh_rt_warp_exchange", e->i32, VALUES(e->f->gang, i32(e, site), members, value, values));
}

LLVMValueRef
host_exchange_all(struct emit *e, LLVMValueRef value, LLVMValueRef values)
{
    return host_exchange(e, emit_session(e)->sites++, i32(e, 0), value, values);
}

/* Programs rely on lockstep execution of a warp between warp operations, as on every GPU before Volta and mostly still today: lanes load
 * what another lane stores in program order. */
static void
host_step(struct emit *e)
{
    if (!e->f->exchanged)
        e->f->exchanged = emit_alloca(e, LLVMArrayType(e->i64, 32), 8, "exchanged");
    host_exchange_all(e, LLVMConstNull(e->i64), e->f->exchanged);
}

/* A warp's store to one address is one store: programs let all lanes write the same value, for example to release a lock, and a late second
 * write would release it again. */
static LLVMValueRef
host_step_store(struct emit *e, LLVMValueRef address)
{
    emit_session(e)->uses_fibers = true;
    LLVMValueRef stores = emit_runtime(e, "cwh_rt_step_store", e->i32, VALUES(e->f->gang, i32(e, emit_session(e)->sites++), address));
    return LLVMBuildICmp(e->b, LLVMIntNE, stores, i32(e, 0), "");
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

static bool
is_of_warp(ptx_sreg r)
{
    return ptx_sreg_info(r)->traits & PTX_T_WARP;
}

static bool
needs_warp(struct cwj_program *p, uint32_t index)
{
    const struct cwj_closure *closure = &p->closure[index];
    bool warp = false, load = false, store = false;         /* volatile ones of global memory */
    for (uint32_t i = 0; i < closure->nfuncs && !warp; i++) {
        const struct ptx_function *fn = cwj_program_function(p, closure->funcs[i])->fn;
        for (uint32_t k = 0; fn && fn->has_body && k < fn->ninsts && !warp; k++) {
            const struct ptx_inst *in = &fn->insts[k];
            warp = ptx_op_info((ptx_op)in->op)->traits & PTX_T_WARP || cwj_reads_sreg(in, is_of_warp);
            /* Code written before shuffles exchanges values between lanes through volatile shared memory, or reduces in global memory.
             * Who only polls global memory, or only writes to it, does not, nor what a lock protects: its lanes come one after another. */
            bool is_volatile = (in->op == PTX_OP_LD || in->op == PTX_OP_ST) && in->sem == PTX_SEM_VOLATILE;
            warp |= is_volatile && (in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_GENERIC);
            load |= is_volatile && in->space == PTX_SPACE_GLOBAL && in->op == PTX_OP_LD;
            store |= is_volatile && in->space == PTX_SPACE_GLOBAL && in->op == PTX_OP_ST;
        }
    }
    return warp || (load && store && cwj_independent_progress_locked(p, index) == CWJ_PROGRESS_COMMON);
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

struct host_kernel {
    uint32_t index;
    const struct cwh_variant *variant;
    bool threads;                   /* one lane at a time */
    struct cwh_code_info *info;
    bool again;                     /* the kernel must be emitted with `threads` */
};

static void
emit_kernel(struct emit *e, void *user)
{
    struct host_kernel *k = user;
    const struct cwh_variant *variant = k->variant;
    struct emit_session *s = emit_session(e);
    struct cwj_program *p = e->program;
    struct cwh_code_info *info = k->info;
    uint32_t index = k->index;
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
    e->width = variant->o0 || variant->bounded || k->threads ? 1 : warp ? 32 : gang_width(p, s->closure);
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
        .waits = s->yields,
    };
    LLVMValueRef fields[] = { i32(e, info->width), i32(e, info->uses_fibers), i32(e, info->static_shared), i32(e, info->shared_align),
                              i32(e, info->stack_hint), i32(e, info->bounded), i32(e, info->waits) };
    LLVMValueRef constant = LLVMConstStructInContext(e->llvm, fields, sizeof fields / sizeof *fields, false);
    LLVMValueRef global = LLVMAddGlobal(e->module, LLVMTypeOf(constant), "cwh_info");
    LLVMSetInitializer(global, constant);
    LLVMSetGlobalConstant(global, true);
    k->again = s->split_barriers > 1 || s->lanes_wait;
    if (s->lanes_wait)
        cw_info("kernel %s: lanes of a warp may wait for each other across functions or beside a partial warp operation; it runs one lane at a time", p->kernels[index].name);
}

cw_result
emit_host_kernel(struct cwj_program *p, uint32_t index, const struct cwh_variant *variant, LLVMContextRef llvm,
                 LLVMModuleRef *module, struct cwh_code_info *info, struct cwj_diags *diags)
{
    struct host_kernel k = { .index = index, .variant = variant, .info = info };
    cw_result r = emit_module(p, llvm, emit_kernel, &k, module, diags);
    if (r != CW_OK || !k.again)
        return r;
    /* Lanes of a warp may wait at barriers in different branches (9.7.13.1, sm_70), or for memory that another lane writes (park.c): each must
     * be able to wait alone. */
    LLVMDisposeModule(*module);
    k.threads = true;
    return emit_module(p, llvm, emit_kernel, &k, module, diags);
}
