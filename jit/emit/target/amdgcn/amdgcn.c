/* SPDX-License-Identifier: Apache-2.0
 * amdgcn as a target of the emitter (LLVM's "User Guide for AMDGPU Backend", code object v5).
 *
 * A lane is a work-item and every value a scalar: the hardware vectorises. Spaces: generic 0, global 1, shared (LDS) 3, const 4, local
 * (scratch) 5. A kernel has one parameter, the PTX parameter block unchanged, so offsets in the kernarg segment are those of PTX. Variables
 * are LLVM globals under their PTX names. Warps are 32 lanes: in wave64 every warp operation stays in its half of the wave. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"

#include <stdlib.h>
#include <string.h>

enum { AS_GENERIC = 0, AS_GLOBAL = 1, AS_LDS = 3, AS_CONST = 4, AS_PRIVATE = 5 };

static LLVMTypeRef
pointer_type(struct emit *e, unsigned as)
{
    return LLVMPointerTypeInContext(e->llvm, as);
}

/* ---- context ----------------------------------------------------------------------------------------------------------- */

static void
gcn_enter(struct emit *e)
{
    e->f->dummy = LLVMBuildAlloca(e->f->entry_b, LLVMArrayType(e->i8, 64), "dummy");
    LLVMPositionBuilderAtEnd(e->b, e->f->entry);
    gcn_cluster_enter(e);
    if (e->f->is_kernel)
        e->f->params = emit_intrinsic_of(e, "llvm.amdgcn.kernarg.segment.ptr", NULL, 0, NULL, 0);
}

static void
gcn_leave(struct emit *e)
{
    if (e->f->is_kernel)
        emit_session(e)->pressure = flow_pressure(&e->f->flow, &e->arena);
}

/* The compute unit's number: se, sa and wgp of HW_ID1 since gfx10, se, sh and cu of HW_ID before; below SM_NUMBERS. */
enum { SM_NUMBERS = 2048, HWREG_HW_ID = 4, HWREG_HW_ID1 = 23 };

LLVMValueRef
emit_gcn_smid(struct emit *e, ptx_sreg r)
{
    unsigned id = e->wave64 ? HWREG_HW_ID : HWREG_HW_ID1, at = e->wave64 ? 8 : 10, bits = e->wave64 ? 8 : 11;
    return emit_intrinsic_of(e, "llvm.amdgcn.s.getreg", NULL, 0, VALUES(i32(e, id | at << 6 | (bits - 1) << 11)));
}

LLVMValueRef
emit_gcn_nsmid(struct emit *e, ptx_sreg r)
{
    return i32(e, SM_NUMBERS);
}

/* Bytes of shared memory of the block, or those that the launch added: from the dispatch packet (HSA Platform System Architecture, "kernel
 * dispatch packet": group_segment_size at 28). */
static LLVMValueRef
lds_bytes(struct emit *e, bool dynamic)
{
    if (emit_session(e)->clusters)
        return gcn_cluster_shared_size(e, dynamic);
    LLVMValueRef off = LLVMConstInt(e->i64, 28, false);
    LLVMValueRef packet = emit_intrinsic_of(e, "llvm.amdgcn.dispatch.ptr", NULL, 0, NULL, 0);
    LLVMValueRef v = LLVMBuildLoad2(e->b, e->i32, LLVMBuildGEP2(e->b, e->i8, packet, &off, 1, ""), "");
    LLVMSetAlignment(v, 4);
    emit_invariant(e, v);
    return dynamic ? LLVMBuildSub(e->b, v, emit_intrinsic_of(e, "llvm.amdgcn.groupstaticsize", NULL, 0, NULL, 0), "") : v;
}

/* i64: the counter of constant frequency. */
static LLVMValueRef
ticks(struct emit *e)
{
    return emit_intrinsic_of(e, "llvm.readsteadycounter", NULL, 0, NULL, 0);
}

/* gfx11 counts cycles in only 20 bits: a program that waits for more would never end. There the 100 MHz counter times 16
 * stands for cycles, with about one cycle each. */
LLVMValueRef
emit_gcn_clock64(struct emit *e, ptx_sreg r)
{
    if (!strncmp(e->cpu, "gfx11", 5))
        return LLVMBuildShl(e->b, ticks(e), LLVMConstInt(e->i64, 4, false), "");
    return emit_intrinsic_of(e, "llvm.readcyclecounter", NULL, 0, NULL, 0);
}

/* Ticks times the nanoseconds per tick, which the loader provides in units of 2^-32 (without a loader,
 * CWJ_AMD_TICK). */
LLVMValueRef
emit_gcn_globaltimer(struct emit *e, ptx_sreg r)
{
    LLVMTypeRef wide = LLVMIntTypeInContext(e->llvm, 128);
    LLVMValueRef tick = emit_session(e)->module_image ? gcn_loader_number(e, "cudaway_tick") : LLVMConstInt(e->i64, CWJ_AMD_TICK, false);
    LLVMValueRef p = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, ticks(e), wide, ""), LLVMBuildZExt(e->b, tick, wide, ""), "");
    return LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, p, LLVMConstInt(wide, 32, false), ""), e->i64, "");
}

/* The readers that jit/ptx/sregs.def names; thread.c and cluster.c have others. Components stand in the order x, y, z. */

LLVMValueRef
emit_gcn_ctaid(struct emit *e, ptx_sreg r)
{
    static const char *const name[3] = { "llvm.amdgcn.workgroup.id.x", "llvm.amdgcn.workgroup.id.y", "llvm.amdgcn.workgroup.id.z" };
    unsigned axis = r - PTX_SREG_CTAID_X;
    return emit_session(e)->clusters ? gcn_cluster_block(e, axis) : emit_intrinsic_of(e, name[axis], NULL, 0, NULL, 0);
}

LLVMValueRef
emit_gcn_laneid(struct emit *e, ptx_sreg r)
{
    return gcn_lane(e);
}

LLVMValueRef
emit_gcn_warpid(struct emit *e, ptx_sreg r)
{
    return LLVMBuildLShr(e->b, gcn_linear_thread(e), i32(e, 5), "");
}

LLVMValueRef
emit_gcn_smem_size(struct emit *e, ptx_sreg r)
{
    if (r == PTX_SREG_TOTAL_SMEM_SIZE)
        return lds_bytes(e, false);
    if (!e->f->is_kernel && !emit_session(e)->clusters) {                 /* only in kernels does LLVM know the size of the rest */
        e->result = CW_ERR_UNSUPPORTED;
        cwj_diag_add(e->diags, PTX_ERROR, 5001, 0, 0, "not supported on amdgcn: %%dynamic_smem_size in a device function");
    }
    return lds_bytes(e, true);
}

LLVMValueRef
emit_gcn_gridid(struct emit *e, ptx_sreg r)
{
    return emit_session(e)->launch_numbers ? gcn_launch_number(e, false) : LLVMConstNull(e->i64);
}

/* %envreg1 and 2: a cooperative grid's workspace, see emit_host_workspace; the launch provides it. */
LLVMValueRef
emit_gcn_workspace(struct emit *e, ptx_sreg r)
{
    LLVMValueRef at = emit_session(e)->launch_numbers ? gcn_launch_number(e, true) : gcn_loader_number(e, "cudaway_grid");
    return r == PTX_SREG_ENVREG2 ? emit_low_half(e, at) : emit_high_half(e, at);
}

/* ---- variables and addresses ---------------------------------------------------------------------------------------------- */

static const uint8_t spaces[PTX_SPACE_COUNT] = {       /* others are generic */
    [PTX_SPACE_GLOBAL] = AS_GLOBAL, [PTX_SPACE_SHARED] = AS_LDS, [PTX_SPACE_SHARED_CLUSTER] = AS_LDS, [PTX_SPACE_CONST] = AS_CONST,
    [PTX_SPACE_PARAM] = AS_CONST, [PTX_SPACE_LOCAL] = AS_PRIVATE,
};

/* The sum of a variable's address and a number as a pointer, from which LLVM sees which accesses are adjacent. NULL: another kind of
 * address. */
static LLVMValueRef
pointer_into_variable(struct emit *e, LLVMValueRef address, unsigned as)
{
    LLVMValueRef offset = NULL, p;

    if (LLVMIsAConstantExpr(address) && LLVMGetConstOpcode(address) == LLVMAdd && LLVMIsAConstantInt(LLVMGetOperand(address, 1))) {
        offset = LLVMGetOperand(address, 1);
        address = LLVMGetOperand(address, 0);
    }
    if (!LLVMIsAConstantExpr(address) || LLVMGetConstOpcode(address) != LLVMPtrToInt || LLVMGetIntTypeWidth(LLVMTypeOf(address)) != 64)
        return NULL;
    p = LLVMGetOperand(address, 0);
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(p)) != as)
        return NULL;
    return offset ? LLVMConstGEP2(e->i8, p, &offset, 1) : p;
}

static LLVMValueRef
pointer_of(struct emit *e, LLVMValueRef address, unsigned as)
{
    LLVMValueRef p = pointer_into_variable(e, address, as);
    if (p)
        return p;
    if (as == AS_LDS || as == AS_PRIVATE)
        address = LLVMBuildTrunc(e->b, address, e->i32, "");
    return LLVMBuildIntToPtr(e->b, address, pointer_type(e, as), "");
}

static LLVMValueRef
number_of(struct emit *e, LLVMValueRef p)
{
    return LLVMBuildPtrToInt(e->b, p, e->i64, "");  /* 32-bit spaces: zero-extended */
}

static LLVMValueRef
address_word(struct emit *e, uint32_t id, const struct ptx_reloc *r)
{
    LLVMValueRef g = gcn_variable(e, id, cwj_program_link_var(e->program, id));
    return LLVMConstAdd(LLVMConstPtrToInt(g, e->i64), LLVMConstInt(e->i64, (uint64_t)r->addend, true));
}

LLVMValueRef
gcn_variable(struct emit *e, uint32_t id, const struct cwj_link_var *v)
{
    struct emit_session *s = emit_session(e);
    if (s->variables[id])
        return s->variables[id];
    bool lds = v->space == PTX_SPACE_SHARED;
    unsigned as = lds ? AS_LDS : v->space == PTX_SPACE_CONST ? AS_CONST : AS_GLOBAL;
    LLVMTypeRef t = emit_variable_type(e, v);
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(e->module, t, v->name, as);
    LLVMSetAlignment(g, v->def->align ? v->def->align : 1);
    s->variables[id] = g;
    if (v->dynamic)
        return g;                   /* external [0 x i8]: the dynamic LDS */
    if (lds) {
        if (v->def->size >= 16 && v->def->align < 16)
            LLVMSetAlignment(g, 16);    /* so that LLVM can merge accesses; PTX leaves the placement open */
        LLVMSetLinkage(g, LLVMInternalLinkage);
        LLVMSetInitializer(g, LLVMGetPoison(t));
        return g;
    }
    LLVMSetVisibility(g, LLVMProtectedVisibility);
    if (s->declare_only)
        return g;
    LLVMSetExternallyInitialized(g, true);
    emit_initialise(e, v, g);
    return g;
}

/* Is it shared memory that lies in global memory? */
static bool
in_arena(struct emit *e, ptx_space space)
{
    return emit_session(e)->clusters && spaces[space] == AS_LDS;
}

static LLVMValueRef
address_of_variable(struct emit *e, uint32_t id, const struct cwj_link_var *v)
{
    if (emit_session(e)->module_image && v->space != PTX_SPACE_SHARED)
        return LLVMBuildAdd(e->b, gcn_loader_number(e, "cudaway_image"), LLVMConstInt(e->i64, v->offset, false), "");
    return number_of(e, gcn_variable(e, id, v));
}

static LLVMValueRef
gcn_symbol(struct emit *e, const struct ptx_symbol *sym)
{
    if (sym->kind == PTX_SYM_PARAM) {
        LLVMValueRef off = LLVMConstInt(e->i64, sym->offset, false);
        return number_of(e, LLVMBuildGEP2(e->b, e->i8, e->f->params, &off, 1, ""));
    }
    const struct cwj_link_var *v = emit_link_var(e, sym);
    if (!v)
        return LLVMConstNull(e->i64);
    if (in_arena(e, v->space))
        return gcn_cluster_symbol(e, sym);
    return address_of_variable(e, sym->link_id, v);
}

static LLVMValueRef
gcn_pointer(struct emit *e, LLVMValueRef address, ptx_space space)
{
    if (in_arena(e, space))
        return pointer_of(e, gcn_cluster_to_generic(e, address), AS_GLOBAL);
    return pointer_of(e, address, spaces[space]);
}

static LLVMValueRef
gcn_to_generic(struct emit *e, LLVMValueRef address, ptx_space space)
{
    unsigned as = spaces[space];
    if (in_arena(e, space))
        return gcn_cluster_to_generic(e, address);
    if (as != AS_LDS && as != AS_PRIVATE)
        return address;
    return number_of(e, LLVMBuildAddrSpaceCast(e->b, pointer_of(e, address, as), e->ptr, ""));
}

static LLVMValueRef
gcn_from_generic(struct emit *e, LLVMValueRef address, ptx_space space)
{
    unsigned as = spaces[space];
    if (in_arena(e, space))
        return gcn_cluster_from_generic(e, address);
    if (as != AS_LDS && as != AS_PRIVATE)
        return address;
    return number_of(e, LLVMBuildAddrSpaceCast(e->b, pointer_of(e, address, AS_GENERIC), pointer_type(e, as), ""));
}

/* The size of the largest parameter block of the program; in a kernel, of its own. */
static uint64_t
kernel_param_size(struct emit *e)
{
    uint64_t most = 0;
    for (uint32_t k = 0; k < e->program->nkernels; k++) {
        uint64_t size = (e->program->kernels[k].param_size + 7) & ~UINT64_C(7);
        if (e->f->is_kernel && emit_session(e)->functions[e->program->kernel_func[k]] == e->f->fn)
            return size;
        most = size > most ? size : most;
    }
    return most;
}

static LLVMValueRef
gcn_isspacep(struct emit *e, LLVMValueRef address, ptx_space space)
{
    LLVMValueRef at, p = pointer_of(e, address, AS_GENERIC);
    LLVMValueRef shared = emit_session(e)->clusters ? gcn_in_cluster(e, address, space == PTX_SPACE_SHARED)
                                                    : emit_intrinsic_of(e, "llvm.amdgcn.is.shared", NULL, 0, &p, 1);
    LLVMValueRef local = emit_intrinsic_of(e, "llvm.amdgcn.is.private", NULL, 0, &p, 1);
    switch (spaces[space]) {
    case AS_LDS:
        return shared;
    case AS_PRIVATE:
        return local;
    case AS_GLOBAL:
        /* Constant variables are in global memory, like others. */
        return LLVMBuildNot(e->b, LLVMBuildOr(e->b, emit_in_constant(e, address, address_of_variable), LLVMBuildOr(e->b, shared, local, ""), ""), "");
    case AS_CONST:
        if (space == PTX_SPACE_CONST)
            return emit_in_constant(e, address, address_of_variable);
        /* The hidden arguments follow the parameters, rounded up to 8 bytes, and the extra arguments (thread.c); functions know where the
         * hidden ones are. */
        p = emit_intrinsic_of(e, "llvm.amdgcn.implicitarg.ptr", NULL, 0, NULL, 0);
        at = LLVMBuildSub(e->b, number_of(e, p), address, "");
        at = LLVMBuildSub(e->b, at, LLVMConstInt(e->i64, gcn_extra_arguments(e), false), "");
        return LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, at, LLVMConstInt(e->i64, 1, false), ""),
                             LLVMConstInt(e->i64, kernel_param_size(e), false), "");
    default:
        return LLVMConstNull(e->i1);
    }
}

static LLVMValueRef
gcn_local_storage(struct emit *e, uint64_t size, uint32_t align)
{
    LLVMValueRef a = LLVMBuildAlloca(e->f->entry_b, LLVMArrayType2(e->i8, size), "local");
    LLVMSetAlignment(a, align ? align : 1);
    return a;
}

static void
scoped_fence(struct emit *e, LLVMAtomicOrdering order, const char *scope)
{
    emit_set_scope(LLVMBuildFence(e->b, order, false, ""), scope);
}

/* The work-group's barrier, with the memory ordering that bar.sync gives among its threads. */
void
gcn_hardware_barrier(struct emit *e)
{
    scoped_fence(e, LLVMAtomicOrderingRelease, "workgroup");
    emit_intrinsic_of(e, "llvm.amdgcn.s.barrier", NULL, 0, NULL, 0);
    scoped_fence(e, LLVMAtomicOrderingAcquire, "workgroup");
}

/* ---- warp operations ---------------------------------------------------------------------------------------------------------- */

/* Value of another lane of the same warp. */
LLVMValueRef
gcn_from_lane(struct emit *e, LLVMValueRef v, LLVMValueRef lane)
{
    if (e->wave64 && !e->one_warp_per_wave)
        lane = LLVMBuildOr(e->b, lane, LLVMBuildAnd(e->b, gcn_wave_lane(e), i32(e, 32), ""), "");
    return emit_intrinsic_of(e, "llvm.amdgcn.ds.bpermute", NULL, 0, VALUES(LLVMBuildShl(e->b, lane, i32(e, 2), ""), v));
}

LLVMValueRef
gcn_hidden(struct emit *e, const char *constraint, LLVMValueRef v, bool ordered)
{
    LLVMTypeRef of = LLVMTypeOf(v), type = LLVMFunctionType(of, &of, 1, false);
    LLVMValueRef f = LLVMGetInlineAsm(type, "", 0, constraint, strlen(constraint), ordered, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(e->b, type, f, &v, 1, "");
}

LLVMValueRef
gcn_wave_ballot(struct emit *e, LLVMValueRef p)
{
    LLVMTypeRef t = e->wave64 ? e->i64 : e->i32;
    return emit_intrinsic_of(e, "llvm.amdgcn.ballot", &t, 1, &p, 1);
}

/* i32: one bit per lane of the warp. */
static LLVMValueRef
ballot(struct emit *e, LLVMValueRef p)
{
    LLVMValueRef w = gcn_wave_ballot(e, p);
    if (!e->wave64)
        return w;
    if (e->one_warp_per_wave)
        return LLVMBuildTrunc(e->b, w, e->i32, "");
    LLVMValueRef half = LLVMBuildAnd(e->b, gcn_wave_lane(e), i32(e, 32), "");
    return LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, w, LLVMBuildZExt(e->b, half, e->i64, ""), ""), e->i32, "");
}

static LLVMValueRef
active_lanes(struct emit *e, const struct ptx_inst *in, unsigned member_operand)
{
    LLVMValueRef a = ballot(e, LLVMConstInt(e->i1, 1, false));
    return in->flags & PTX_F_SYNC ? LLVMBuildAnd(e->b, a, emit_src(e, in, member_operand, PTX_U32), "") : a;
}

static LLVMValueRef
bit(struct emit *e, LLVMValueRef word, unsigned i)
{
    return LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, word, i32(e, i), ""), e->i1, "");
}

/* The value in the first active lane. */
static LLVMValueRef
first_lane(struct emit *e, LLVMValueRef v)
{
    return emit_intrinsic_of(e, "llvm.amdgcn.readfirstlane", &e->i32, 1, &v, 1);
}

/* A loop: the lanes with the first one's value find each other and leave, until none is left. */
void
emit_gcn_match(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    LLVMValueRef a = emit_src(e, in, 1, t), active = active_lanes(e, in, 2), fn = e->f->fn, part[2] = { a }, same = NULL;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b), loop = LLVMAppendBasicBlockInContext(e->llvm, fn, "match");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->llvm, fn, "matched");
    const bool wide = ptx_type_bits(t) == 64;

    if (wide) {
        part[0] = emit_low_half(e, a);
        part[1] = emit_high_half(e, a);
    }
    LLVMBuildBr(e->b, loop);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef before = LLVMBuildPhi(e->b, e->i32, "");
    for (unsigned i = 0; i < 1u + wide; i++) {
        LLVMValueRef c = LLVMBuildICmp(e->b, LLVMIntEQ, part[i], first_lane(e, part[i]), "");
        same = same ? LLVMBuildAnd(e->b, same, c, "") : c;
    }
    LLVMValueRef bits = LLVMBuildSelect(e->b, same, ballot(e, same), before, "");
    LLVMAddIncoming(before, (LLVMValueRef[]){ i32(e, 0), bits }, (LLVMBasicBlockRef[]){ from, LLVMGetInsertBlock(e->b) }, 2);
    LLVMBuildCondBr(e->b, same, done, loop);
    LLVMPositionBuilderAtEnd(e->b, done);
    emit_match(e, in, LLVMBuildAnd(e->b, bits, active, ""), active);
}

void
emit_gcn_redux(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    if (ptx_type_class(t) == PTX_CLASS_FLOAT) {
        emit_unsupported(e, in, "redux on floats needs sm_100");
        return;
    }
    LLVMValueRef a = emit_src(e, in, 1, t), active = active_lanes(e, in, 2);
    LLVMValueRef r = emit_redux_identity(e, in);
    for (unsigned i = 0; i < 32; i++)
        r = LLVMBuildSelect(e->b, bit(e, active, i), emit_redux_step(e, in, r, gcn_from_lane(e, a, i32(e, i))), r, "");
    emit_dst(e, in, 0, t, r);
}

void
emit_gcn_shfl(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef a = emit_src(e, in, 1, PTX_B32), valid;
    LLVMValueRef from = emit_shuffle_source(e, in, gcn_lane(e), emit_src(e, in, 2, PTX_U32), emit_src(e, in, 3, PTX_U32), &valid);
    emit_dst_pair(e, &in->operand[0], PTX_B32, gcn_from_lane(e, a, from), valid);
}

void
emit_gcn_vote(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef active = active_lanes(e, in, 2), set = LLVMBuildAnd(e->b, ballot(e, emit_src(e, in, 1, PTX_PRED)), active, "");
    emit_vote(e, in, set, active);
}

void
emit_gcn_activemask(struct emit *e, const struct ptx_inst *in)
{
    emit_dst(e, in, 0, PTX_B32, ballot(e, LLVMConstInt(e->i1, 1, false)));
}

/* bar.warp.sync */
void
emit_gcn_warp_sync(struct emit *e, const struct ptx_inst *in)
{
    scoped_fence(e, LLVMAtomicOrderingRelease, "wavefront");
    emit_intrinsic_of(e, "llvm.amdgcn.wave.barrier", NULL, 0, NULL, 0);
    scoped_fence(e, LLVMAtomicOrderingAcquire, "wavefront");
}

/* ---- barriers: the hardware has one for the whole work-group; the numbered ones are words in LDS -------------------------------- */

enum { BARRIERS = 16, BAR_ARRIVED = 0, BAR_PHASE = BARRIERS, BAR_SUM = 2 * BARRIERS, BAR_LEFT = 3 * BARRIERS, BAR_WORDS = BAR_LEFT + 4 };

LLVMValueRef
gcn_lds(struct emit *e, const char *name, LLVMTypeRef type, unsigned align)
{
    LLVMValueRef g = LLVMGetNamedGlobal(e->module, name);
    if (!g) {
        g = LLVMAddGlobalInAddressSpace(e->module, type, name, AS_LDS);
        LLVMSetLinkage(g, LLVMInternalLinkage);
        LLVMSetInitializer(g, LLVMGetPoison(type));
        LLVMSetAlignment(g, align);
    }
    return g;
}

static LLVMValueRef
barrier_words(struct emit *e)
{
    return gcn_lds(e, "cudaway_barriers", LLVMArrayType2(e->i32, BAR_WORDS), 16);
}

static LLVMValueRef
barrier_word(struct emit *e, unsigned first, LLVMValueRef id)
{
    LLVMValueRef at = LLVMBuildAdd(e->b, LLVMBuildAnd(e->b, id, i32(e, BARRIERS - 1), ""), i32(e, first), "");
    return LLVMBuildGEP2(e->b, e->i32, barrier_words(e), &at, 1, "");
}

static LLVMValueRef
ordered(LLVMValueRef v, LLVMAtomicOrdering o)
{
    LLVMSetOrdering(v, o);
    LLVMSetAlignment(v, 4);
    emit_set_scope(v, "workgroup");
    return v;
}

void
gcn_at_start(struct emit *e, LLVMValueRef kernel)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(kernel);
    LLVMValueRef first = LLVMGetFirstInstruction(entry);
    while (first && LLVMIsAAllocaInst(first))
        first = LLVMGetNextInstruction(first);
    LLVMPositionBuilder(e->b, entry, first);
}

/* All threads zero the words when the kernel begins. */
void
gcn_clear_barriers(struct emit *e, LLVMValueRef kernel)
{
    gcn_at_start(e, kernel);
    LLVMSetAlignment(LLVMBuildStore(e->b, LLVMConstNull(LLVMArrayType2(e->i32, BAR_WORDS)), barrier_words(e)), 16);
    gcn_hardware_barrier(e);
}

/* The active lanes of the warp as bits, and whether this lane is the first of them. */
static LLVMValueRef
warp_leader(struct emit *e, LLVMValueRef *active)
{
    *active = ballot(e, LLVMConstInt(e->i1, 1, false));
    return LLVMBuildICmp(e->b, LLVMIntEQ, gcn_lane(e), emit_intrinsic_of(e, "llvm.cttz", &e->i32, 1, VALUES(*active, LLVMConstInt(e->i1, 1, false))), "");
}

/* Count threads that exit the kernel in one more word: barriers without a thread count do not wait for them. */
static void
gcn_leaving(struct emit *e, LLVMValueRef guard)
{
    if (emit_session(e)->cluster_barriers)
        gcn_cluster_leave(e, guard);
    if (!emit_session(e)->counts_exited)
        return;
    LLVMValueRef active, bits = ballot(e, guard ? guard : LLVMConstInt(e->i1, 1, false));
    LLVMBasicBlockRef done = emit_if(e, warp_leader(e, &active), "leaving", "counted");
    LLVMValueRef n = emit_intrinsic_of(e, "llvm.ctpop", &e->i32, 1, &bits, 1), word = LLVMBuildGEP2(e->b, e->i32, barrier_words(e), (LLVMValueRef[]){ i32(e, BAR_LEFT) }, 1, "");
    emit_set_scope(LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, word, n, LLVMAtomicOrderingRelease, false), "workgroup");
    emit_goto(e, done);
}

static LLVMValueRef
barrier_load(struct emit *e, LLVMValueRef word)
{
    return ordered(LLVMBuildLoad2(e->b, e->i32, word, ""), LLVMAtomicOrderingAcquire);
}

/* i1: this lane ends the phase in which `arrived` threads have arrived. */
static LLVMValueRef
end_phase(struct emit *e, LLVMValueRef id, LLVMValueRef arrived)
{
    LLVMValueRef swapped = LLVMBuildAtomicCmpXchg(e->b, barrier_word(e, BAR_ARRIVED, id), arrived, i32(e, 0), LLVMAtomicOrderingAcquireRelease,
                                                  LLVMAtomicOrderingAcquire, false);
    emit_set_scope(swapped, "workgroup");
    return LLVMBuildExtractValue(e->b, swapped, 1, "");
}

static void
next_phase(struct emit *e, LLVMValueRef id, LLVMValueRef phase, bool clear)
{
    if (clear)
        ordered(LLVMBuildStore(e->b, i32(e, 0), barrier_word(e, BAR_SUM, id)), LLVMAtomicOrderingRelease);
    ordered(LLVMBuildStore(e->b, LLVMBuildAdd(e->b, phase, i32(e, 1), ""), barrier_word(e, BAR_PHASE, id)), LLVMAtomicOrderingRelease);
}

/* Wait for all threads except exited ones. Exiting threads notify nobody: a waiting thread finds the count complete, and one of the waiting
 * threads ends the phase. A thread that sees words of the next phase cannot find it complete, since it has not arrived there itself. All of
 * this is in the body of the wait loop, which has a single back edge: in a wave with two warps, neither may wait behind the loop for the
 * other. */
static void
look_for_exited(struct emit *e, LLVMValueRef id, LLVMValueRef expected, LLVMValueRef phase, bool clear)
{
    LLVMBasicBlockRef complete = emit_new_block(e, "complete"), end = emit_new_block(e, "end"), again = emit_new_block(e, "again");
    LLVMValueRef at = i32(e, BAR_LEFT), arrived = barrier_load(e, barrier_word(e, BAR_ARRIVED, id));
    LLVMValueRef left = barrier_load(e, LLVMBuildGEP2(e->b, e->i32, barrier_words(e), &at, 1, ""));
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, LLVMBuildAdd(e->b, arrived, left, ""), expected, ""), complete, again);
    LLVMPositionBuilderAtEnd(e->b, complete);
    LLVMBuildCondBr(e->b, end_phase(e, id, arrived), end, again);
    LLVMPositionBuilderAtEnd(e->b, end);
    next_phase(e, id, phase, clear);
    emit_goto(e, again);
}

/* The warp arrives as `n` of `expected` threads; the one that completes the count starts the next phase, for which the others wait if
 * `sync`. `clear`: zero the sum of bar.red in between, when all have read it. `all`: exited threads count as arrived. One lane per warp
 * acts, so that the two halves of a wave64 wait together if they arrive together. */
static void
soft_barrier(struct emit *e, LLVMValueRef id, LLVMValueRef n, LLVMValueRef expected, bool sync, bool clear, bool all)
{
    LLVMBasicBlockRef arrive = emit_new_block(e, "arrive"), complete = emit_new_block(e, "complete"), last = emit_new_block(e, "last"),
                      both = emit_new_block(e, "both"), wait = emit_new_block(e, "wait"), done = emit_new_block(e, "done");
    LLVMValueRef active, one = i32(e, 1);
    scoped_fence(e, LLVMAtomicOrderingRelease, "workgroup");
    LLVMBuildCondBr(e->b, warp_leader(e, &active), arrive, done);

    LLVMPositionBuilderAtEnd(e->b, arrive);
    LLVMValueRef phase = barrier_load(e, barrier_word(e, BAR_PHASE, id));
    LLVMValueRef old = LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, barrier_word(e, BAR_ARRIVED, id), n,
                                          LLVMAtomicOrderingAcquireRelease, false);
    emit_set_scope(old, "workgroup");
    LLVMValueRef sum = LLVMBuildAdd(e->b, old, n, "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, sum, expected, ""), complete, both);

    LLVMPositionBuilderAtEnd(e->b, complete);
    if (emit_session(e)->counts_exited) {          /* others may end it, too */
        LLVMBuildCondBr(e->b, end_phase(e, id, sum), last, both);
    } else {
        ordered(LLVMBuildStore(e->b, i32(e, 0), barrier_word(e, BAR_ARRIVED, id)), LLVMAtomicOrderingRelease);
        LLVMBuildBr(e->b, last);
    }
    LLVMPositionBuilderAtEnd(e->b, last);
    next_phase(e, id, phase, clear);
    LLVMBuildBr(e->b, both);

    /* The last one enters the loop as well, and leaves it at once: in a wave with two warps it must get there before the other begins to
     * wait. */
    LLVMPositionBuilderAtEnd(e->b, both);
    LLVMBuildBr(e->b, sync ? wait : done);
    LLVMPositionBuilderAtEnd(e->b, wait);
    if (all)
        look_for_exited(e, id, expected, phase, clear);
    LLVMValueRef now = barrier_load(e, barrier_word(e, BAR_PHASE, id));
    emit_intrinsic_of(e, "llvm.amdgcn.s.sleep", NULL, 0, &one, 1);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, now, phase, ""), wait, done);

    LLVMPositionBuilderAtEnd(e->b, done);
    scoped_fence(e, LLVMAtomicOrderingAcquire, "workgroup");
}

/* bar.red of the whole block: all clear the word, the waves add to it (popc) or write to it (and, or), all read it. The last barrier keeps
 * the next reduction's clearing behind these reads. */
static void
hardware_red(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef word = gcn_lds(e, "cudaway_red", e->i32, 4), p = emit_src(e, in, in->noperands - 1, PTX_PRED);
    LLVMBasicBlockRef add = emit_new_block(e, "add"), added = emit_new_block(e, "added");
    LLVMSetAlignment(LLVMBuildStore(e->b, i32(e, 0), word), 4);
    gcn_hardware_barrier(e);
    if (in->boolop == PTX_BOOL_POPC) {
        LLVMTypeRef t = e->wave64 ? e->i64 : e->i32;
        LLVMValueRef bits = gcn_wave_ballot(e, p), all = LLVMConstInt(e->i1, 1, false);
        LLVMValueRef n = emit_intrinsic_of(e, "llvm.ctpop", &t, 1, &bits, 1), here = gcn_wave_ballot(e, all);
        LLVMValueRef first[2] = { here, all };
        first[0] = LLVMBuildTrunc(e->b, emit_intrinsic_of(e, "llvm.cttz", &t, 1, first, 2), e->i32, "");
        LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, gcn_wave_lane(e), first[0], ""), add, added);
        LLVMPositionBuilderAtEnd(e->b, add);
        emit_set_scope(LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, word, LLVMBuildTrunc(e->b, n, e->i32, ""),
                                          LLVMAtomicOrderingMonotonic, false), "workgroup");
    } else {
        LLVMBuildCondBr(e->b, in->boolop == PTX_BOOL_AND ? LLVMBuildNot(e->b, p, "") : p, add, added);
        LLVMPositionBuilderAtEnd(e->b, add);
        LLVMSetAlignment(LLVMBuildStore(e->b, i32(e, 1), word), 4);
    }
    emit_goto(e, added);
    gcn_hardware_barrier(e);
    LLVMValueRef sum = LLVMBuildLoad2(e->b, e->i32, word, "");
    LLVMSetAlignment(sum, 4);
    gcn_hardware_barrier(e);
    if (in->boolop == PTX_BOOL_POPC)
        emit_dst(e, in, 0, PTX_U32, sum);
    else
        emit_dst(e, in, 0, PTX_PRED, LLVMBuildICmp(e->b, in->boolop == PTX_BOOL_AND ? LLVMIntEQ : LLVMIntNE, sum, i32(e, 0), ""));
}

/* Can a hardware barrier implement it? */
static bool
is_hardware_barrier(const struct ptx_inst *in)
{
    unsigned at = in->mode == PTX_MODE_RED ? 1 : 0;
    return in->mode != PTX_MODE_ARRIVE && in->noperands == at + (at ? 2 : 1) && in->operand[at].kind == PTX_OPND_IMM && in->operand[at].imm == 0;
}

static bool
names_number(const struct ptx_inst *in)
{
    bool red = in->mode == PTX_MODE_RED;
    unsigned next = red ? 2 : 1;
    return next < in->noperands && in->operand[next].kind != PTX_OPND_NONE && !(red && next + 1 == in->noperands);
}

bool
gcn_waits_for_all(const struct ptx_inst *in)
{
    return (in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER) && !is_hardware_barrier(in) && !names_number(in);
}

void
emit_gcn_barrier(struct emit *e, const struct ptx_inst *in)
{
    bool red = in->mode == PTX_MODE_RED;
    unsigned at = red ? 1 : 0, next = at + 1;
    if (is_hardware_barrier(in)) {
        red ? hardware_red(e, in) : gcn_hardware_barrier(e);
        return;
    }
    emit_session(e)->soft_barriers = true;
    LLVMValueRef id = at < in->noperands ? emit_src(e, in, at, PTX_U32) : i32(e, 0), active, n, expected;
    bool all = !names_number(in);
    if (!all) {
        expected = emit_src(e, in, next, PTX_U32);      /* a multiple of the warp size: a warp arrives as a whole */
        n = i32(e, 32);
    } else {
        expected = gcn_block_threads(e);
        active = ballot(e, LLVMConstInt(e->i1, 1, false));
        n = emit_intrinsic_of(e, "llvm.ctpop", &e->i32, 1, &active, 1);
    }
    if (!red) {
        soft_barrier(e, id, n, expected, in->mode != PTX_MODE_ARRIVE, false, all);
        return;
    }
    /* Add the number of lanes for which the predicate holds; for "and", of those for which it does not. */
    LLVMValueRef p = emit_src(e, in, in->noperands - 1, PTX_PRED);
    LLVMValueRef bits = ballot(e, in->boolop == PTX_BOOL_AND ? LLVMBuildNot(e->b, p, "") : p);
    LLVMBasicBlockRef added = emit_if(e, warp_leader(e, &active), "add", "added");
    LLVMValueRef sum = LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, barrier_word(e, BAR_SUM, id),
                                          emit_intrinsic_of(e, "llvm.ctpop", &e->i32, 1, &bits, 1), LLVMAtomicOrderingAcquireRelease, false);
    emit_set_scope(sum, "workgroup");
    emit_goto(e, added);
    soft_barrier(e, id, n, expected, true, false, all);
    sum = ordered(LLVMBuildLoad2(e->b, e->i32, barrier_word(e, BAR_SUM, id), ""), LLVMAtomicOrderingAcquire);
    soft_barrier(e, id, n, expected, true, true, all);
    if (in->boolop == PTX_BOOL_POPC)
        emit_dst(e, in, 0, PTX_U32, sum);
    else
        emit_dst(e, in, 0, PTX_PRED, LLVMBuildICmp(e->b, in->boolop == PTX_BOOL_AND ? LLVMIntEQ : LLVMIntNE, sum, i32(e, 0), ""));
}

/* ---- traps, and the target --------------------------------------------------------------------------------------------------- */

void
gcn_end_kernel(struct emit *e)
{
    emit_intrinsic_of(e, "llvm.trap", NULL, 0, NULL, 0);
}

/* A trap tells nothing: the host finds the error in its variable. */
static void
end_kernel_with(struct emit *e, uint32_t error)
{
    LLVMValueRef place = gcn_loader_number(e, "cudaway_fault");
    LLVMBasicBlockRef end = emit_if(e, LLVMBuildIsNotNull(e->b, place, ""), "tell", "end");
    LLVMSetAlignment(LLVMBuildStore(e->b, i32(e, error), pointer_of(e, place, AS_GLOBAL)), 4);
    emit_set_scope(LLVMBuildFence(e->b, LLVMAtomicOrderingRelease, false, ""), "");
    emit_goto(e, end);
    gcn_end_kernel(e);
}

static void
bad_call(struct emit *e)
{
    end_kernel_with(e, CWJ_AMD_FAULT_PC);
}

static void
misaligned(struct emit *e)
{
    end_kernel_with(e, CWJ_AMD_FAULT_MISALIGNED);
}

static void
local_fault(struct emit *e)
{
    end_kernel_with(e, CWJ_AMD_FAULT_ADDRESS);
}

/* trap, brkpt: both end the kernel, since no debugger can continue it. */
void
emit_gcn_trap(struct emit *e, const struct ptx_inst *in)
{
    in->aux == PTX_AUX_BAD_CALL ? bad_call(e) : gcn_end_kernel(e);
}

void
emit_gcn_nanosleep(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef a = i32(e, 1);
    emit_intrinsic_of(e, "llvm.amdgcn.s.sleep", NULL, 0, &a, 1);
}

/* Convergent: jump threading and its like leave the block alone. */
static LLVMValueRef
gcn_fixed(struct emit *e, LLVMValueRef value)
{
    LLVMValueRef call = gcn_hidden(e, "=v,0", value, true);
    emit_set_call_attribute(call, "convergent");
    return call;
}

/* A cluster of several blocks has the scope of the device (emit_scoped). */
static const char *const scopes[] = {
    [PTX_SCOPE_NONE] = "agent", [PTX_SCOPE_CTA] = "workgroup", [PTX_SCOPE_CLUSTER] = "workgroup", [PTX_SCOPE_GPU] = "agent",
    [PTX_SCOPE_SYS] = "",
};

/* plain_atomics: "volatile" would make each access wait for completion, which neither .volatile nor .relaxed requires. ordered_zeros:
 * "V_MAX_F32" of the ISA documents. */
const struct emit_target emit_target_amdgcn = {
    .name = "amdgcn", .ops = emit_ops_amdgcn, .sregs = emit_sregs_amdgcn,
    .array_words = true, .convergent_calls = true, .switched_calls = true, .undefined_slots = true,
    .storage_space = AS_PRIVATE, .constant_space = AS_CONST,
    .plain_atomics = true, .counting_atomics = true, .scopes = scopes,
    .overflow_results = true, .unsigned_quotients = true, .ordered_zeros = true, .halves = true, .annotates_floats = true,
    .enter = gcn_enter, .start = gcn_start, .leave = gcn_leave, .leaving = gcn_leaving, .bad_call = bad_call, .misaligned = misaligned,
    .local_fault = local_fault,
    .runtime_call = gcn_runtime_call, .symbol = gcn_symbol, .address_word = address_word, .pointer = gcn_pointer, .to_generic = gcn_to_generic,
    .from_generic = gcn_from_generic, .isspacep = gcn_isspacep, .local_storage = gcn_local_storage, .swap128 = gcn_swap128,
    .mbarrier_object = gcn_mbarrier_object, .mbarrier = gcn_mbarrier, .bulk = gcn_bulk, .fixed = gcn_fixed,
    .divide64 = gcn_divide, .approx = gcn_approx, .mufu = &gcn_mufu,
};
