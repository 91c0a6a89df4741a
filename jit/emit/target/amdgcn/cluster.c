/* SPDX-License-Identifier: Apache-2.0
 * amdgcn: clusters (docs/amd-abi.md, "Clusters"). Usually a block is a cluster of its own: mapa's rank is 0, and the cluster's barrier is the
 * block's.
 *
 * With emit_session.clusters the launch has clusters of several blocks, and passes struct cwj_amd_cluster. Work-groups do not see each other's
 * LDS, so shared memory is in global memory. A .shared and a .shared::cluster address alike is rank << shift plus the offset in the block's
 * memory: it survives truncation to 32 bits, and means the same in all blocks of the cluster. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"

#include <stddef.h>

enum { MOST_THREADS = 1024 };

static bool
several(struct emit *e)
{
    return emit_session(e)->clusters;
}

static LLVMValueRef
argument(struct emit *e, size_t offset, LLVMTypeRef t)
{
    return gcn_argument(e, (int64_t)offset - CWJ_AMD_CLUSTER - (e->one_warp_per_wave ? CWJ_AMD_SHAPE : 0), t);
}

static LLVMValueRef
number(struct emit *e, size_t offset)
{
    return argument(e, offset, e->i32);
}

static LLVMValueRef
size_of(struct emit *e, unsigned axis)
{
    return number(e, offsetof(struct cwj_amd_cluster, size) + 4 * axis);
}

static LLVMValueRef
blocks(struct emit *e)
{
    return LLVMBuildMul(e->b, LLVMBuildMul(e->b, size_of(e, 0), size_of(e, 1), ""), size_of(e, 2), "");
}

/* The work-group's number in the launch. */
static LLVMValueRef
group(struct emit *e)
{
    return emit_intrinsic_of(e, "llvm.amdgcn.workgroup.id.x", NULL, 0, NULL, 0);
}

static LLVMValueRef
wide(struct emit *e, LLVMValueRef v)
{
    return emit_resize(e, v, e->i64, false);
}

LLVMValueRef
gcn_cluster_shift(struct emit *e)
{
    return number(e, offsetof(struct cwj_amd_cluster, shift));
}

void
gcn_cluster_enter(struct emit *e)
{
    if (!several(e))
        return;
    LLVMValueRef shared = argument(e, offsetof(struct cwj_amd_cluster, shared), e->i64);
    e->f->cluster_rank = LLVMBuildURem(e->b, group(e), blocks(e), "rank");
    LLVMValueRef before = LLVMBuildSub(e->b, group(e), e->f->cluster_rank, "");
    e->f->cluster_shared = LLVMBuildAdd(e->b, shared, LLVMBuildShl(e->b, wide(e, before), wide(e, gcn_cluster_shift(e)), ""), "shared");
}

/* ---- numbers ---- */

LLVMValueRef
gcn_cluster_grid(struct emit *e, unsigned axis)
{
    return number(e, offsetof(struct cwj_amd_cluster, grid) + 4 * axis);
}

static LLVMValueRef
count(struct emit *e, unsigned axis)
{
    return LLVMBuildUDiv(e->b, gcn_cluster_grid(e, axis), size_of(e, axis), "");
}

/* Of the cluster in its grid. */
static LLVMValueRef
cluster_place(struct emit *e, unsigned axis)
{
    LLVMValueRef in_launch = LLVMBuildUDiv(e->b, group(e), blocks(e), "");
    LLVMValueRef n = LLVMBuildAdd(e->b, number(e, offsetof(struct cwj_amd_cluster, first)), in_launch, "");
    for (unsigned i = 0; i < axis; i++)
        n = LLVMBuildUDiv(e->b, n, count(e, i), "");
    return axis == 2 ? n : LLVMBuildURem(e->b, n, count(e, axis), "");
}

static LLVMValueRef
place_in_cluster(struct emit *e, unsigned axis)
{
    LLVMValueRef n = e->f->cluster_rank;
    for (unsigned i = 0; i < axis; i++)
        n = LLVMBuildUDiv(e->b, n, size_of(e, i), "");
    return axis == 2 ? n : LLVMBuildURem(e->b, n, size_of(e, axis), "");
}

LLVMValueRef
gcn_cluster_block(struct emit *e, unsigned axis)
{
    return LLVMBuildAdd(e->b, LLVMBuildMul(e->b, cluster_place(e, axis), size_of(e, axis), ""), place_in_cluster(e, axis), "");
}

LLVMValueRef
emit_gcn_clusterid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_CLUSTERID_X;
    return several(e) ? cluster_place(e, axis) : emit_gcn_ctaid(e, PTX_SREG_CTAID_X + axis);
}

LLVMValueRef
emit_gcn_nclusterid(struct emit *e, ptx_sreg r)
{
    unsigned axis = r - PTX_SREG_NCLUSTERID_X;
    return several(e) ? count(e, axis) : emit_gcn_nctaid(e, PTX_SREG_NCTAID_X + axis);
}

LLVMValueRef
emit_gcn_cluster_ctaid(struct emit *e, ptx_sreg r)
{
    return several(e) ? place_in_cluster(e, r - PTX_SREG_CLUSTER_CTAID_X) : i32(e, 0);
}

LLVMValueRef
emit_gcn_cluster_nctaid(struct emit *e, ptx_sreg r)
{
    return several(e) ? size_of(e, r - PTX_SREG_CLUSTER_NCTAID_X) : i32(e, 1);
}

LLVMValueRef
emit_gcn_cluster_ctarank(struct emit *e, ptx_sreg r)
{
    return several(e) ? e->f->cluster_rank : i32(e, 0);
}

LLVMValueRef
emit_gcn_cluster_nctarank(struct emit *e, ptx_sreg r)
{
    return several(e) ? blocks(e) : i32(e, 1);
}

/* Of one block: only the kernel's directives ask for clusters, since the launch does not tell. */
LLVMValueRef
emit_gcn_explicit_cluster(struct emit *e, ptx_sreg r)
{
    return LLVMConstInt(e->i1, several(e) || emit_in_explicit_cluster(e), false);
}

LLVMValueRef
gcn_cluster_shared_size(struct emit *e, bool dynamic)
{
    return number(e, dynamic ? offsetof(struct cwj_amd_cluster, dynamic_size) : offsetof(struct cwj_amd_cluster, shared_size));
}

/* ---- addresses ---- */

static LLVMValueRef
of_rank(struct emit *e, LLVMValueRef rank)
{
    return LLVMBuildShl(e->b, rank, gcn_cluster_shift(e), "");
}

LLVMValueRef
gcn_cluster_symbol(struct emit *e, const struct ptx_symbol *sym)
{
    return wide(e, LLVMBuildAdd(e->b, of_rank(e, e->f->cluster_rank), i32(e, emit_shared_offset(e, sym)), ""));
}

LLVMValueRef
gcn_cluster_to_generic(struct emit *e, LLVMValueRef address)
{
    return LLVMBuildAdd(e->b, e->f->cluster_shared, wide(e, emit_resize(e, address, e->i32, false)), "");
}

LLVMValueRef
gcn_cluster_from_generic(struct emit *e, LLVMValueRef address)
{
    return wide(e, emit_resize(e, LLVMBuildSub(e->b, address, e->f->cluster_shared, ""), e->i32, false));
}

LLVMValueRef
gcn_in_cluster(struct emit *e, LLVMValueRef address, bool own)
{
    LLVMValueRef at = LLVMBuildSub(e->b, address, e->f->cluster_shared, ""), size = of_rank(e, blocks(e));
    if (own) {
        at = LLVMBuildSub(e->b, at, wide(e, of_rank(e, e->f->cluster_rank)), "");
        size = gcn_cluster_shared_size(e, false);
    }
    return LLVMBuildICmp(e->b, LLVMIntULT, at, wide(e, size), "");
}

void
emit_gcn_mapa(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    LLVMValueRef a = emit_src(e, in, 1, t);
    if (several(e)) {
        bool generic = in->space == PTX_SPACE_GENERIC;
        LLVMValueRef at = emit_resize(e, generic ? gcn_cluster_from_generic(e, a) : a, e->i32, false);
        LLVMValueRef inside = LLVMBuildSub(e->b, of_rank(e, i32(e, 1)), i32(e, 1), "");
        at = LLVMBuildOr(e->b, LLVMBuildAnd(e->b, at, inside, ""), of_rank(e, emit_src(e, in, 2, PTX_U32)), "");
        a = generic ? gcn_cluster_to_generic(e, at) : emit_resize(e, at, LLVMTypeOf(a), false);
    }
    emit_dst(e, in, 0, t, a);
}

void
emit_gcn_getctarank(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef rank = i32(e, 0);
    if (several(e)) {
        LLVMValueRef a = emit_src(e, in, 1, (ptx_type)in->type[0]);
        a = emit_resize(e, in->space == PTX_SPACE_GENERIC ? gcn_cluster_from_generic(e, a) : a, e->i32, false);
        rank = LLVMBuildLShr(e->b, a, gcn_cluster_shift(e), "");
    }
    emit_dst(e, in, 0, PTX_U32, rank);
}

/* ---- barrier.cluster ---- */

static LLVMValueRef
barrier(struct emit *e)
{
    LLVMValueRef at = LLVMBuildMul(e->b, LLVMBuildUDiv(e->b, group(e), blocks(e), ""), i32(e, CWJ_AMD_BARRIER), "");
    at = LLVMBuildAdd(e->b, argument(e, offsetof(struct cwj_amd_cluster, barriers), e->i64), wide(e, at), "");
    return LLVMBuildIntToPtr(e->b, at, e->ptr, "");
}

static LLVMValueRef
threads(struct emit *e)
{
    return LLVMBuildMul(e->b, gcn_block_threads(e), blocks(e), "");
}

/* In LDS, a word for each thread of the block: the mark of its last arrival. Functions of the kernel share it. */
static LLVMValueRef
mark(struct emit *e)
{
    LLVMValueRef at = gcn_linear_thread(e), g = gcn_lds(e, "cudaway_cluster_marks", LLVMArrayType2(e->i32, MOST_THREADS), 4);
    return LLVMBuildGEP2(e->b, e->i32, g, &at, 1, "");
}

static LLVMValueRef
last_mark(struct emit *e)
{
    LLVMValueRef v = LLVMBuildLoad2(e->b, e->i32, mark(e), "");
    LLVMSetAlignment(v, 4);
    return v;
}

static void
set_mark(struct emit *e, LLVMValueRef v)
{
    LLVMSetAlignment(LLVMBuildStore(e->b, v, mark(e)), 4);
}

/* No thread has arrived when the kernel begins. */
void
gcn_clear_marks(struct emit *e, LLVMValueRef kernel)
{
    gcn_at_start(e, kernel);
    set_mark(e, i32(e, 0));
}

void
gcn_cluster_leave(struct emit *e, LLVMValueRef guard)
{
    LLVMBasicBlockRef done = emit_if(e, guard ? guard : LLVMConstInt(e->i1, 1, false), "leave.cluster", "left.cluster");
    emit_devlib(e, "cwd_cluster_leave", e->void_, VALUES(barrier(e), threads(e), last_mark(e)));
    emit_goto(e, done);
    /* The lanes meet here: the others may wait for these ones' exit, so they must not go on first. */
    (void)e->target->fixed(e, i32(e, 0));
}

/* Of one block: the arrival is left to the wait, which each thread that arrives executes. */
void
emit_gcn_barrier_cluster(struct emit *e, const struct ptx_inst *in)
{
    bool wait = in->mode == PTX_MODE_WAIT;
    if (!several(e)) {
        if (wait)
            gcn_hardware_barrier(e);
        return;
    }
    LLVMValueRef args[2] = { barrier(e), wait ? last_mark(e) : threads(e) };
    if (wait) {
        emit_devlib(e, "cwd_cluster_wait", e->void_, args, 2);
        emit_scoped(e, LLVMBuildFence(e->b, LLVMAtomicOrderingAcquire, false, ""), PTX_SCOPE_CLUSTER);
    } else {
        if (in->sem != PTX_SEM_RELAXED)
            emit_scoped(e, LLVMBuildFence(e->b, LLVMAtomicOrderingRelease, false, ""), PTX_SCOPE_CLUSTER);
        set_mark(e, emit_devlib(e, "cwd_cluster_arrive", e->i32, args, 2));
    }
}
