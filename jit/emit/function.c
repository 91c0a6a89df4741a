/* SPDX-License-Identifier: Apache-2.0
 * Emission of one function: its blocks in layout order, and the instructions in them.
 *
 * Unmasked blocks, which all lanes of the function execute together, are joined by plain branches. A masked block has a mask slot: the
 * lanes that wait for it. Masked blocks stand in layout order. Each runs if some lane waits for it, moves its lanes to the masks of its
 * successors, and falls through to the next position. At the last position of a loop with a masked header, control returns to the header
 * while any lane waits there. At the end of a run of masked blocks the lanes have either joined at an unmasked block, which a `pending`
 * flag names, or all left. With width 1 nothing is masked. */
#include "jit/emit/emit_private.h"
#include "jit/emit/function_private.h"
#include "jit/analysis/lockstep.h"
#include "jit/analysis/waits.h"

LLVMBasicBlockRef
emit_new_block(struct emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->llvm, e->f->fn, name);
}

void
emit_goto(struct emit *e, LLVMBasicBlockRef bb)
{
    LLVMBuildBr(e->b, bb);
    LLVMPositionBuilderAtEnd(e->b, bb);
}

LLVMBasicBlockRef
emit_if(struct emit *e, LLVMValueRef c, const char *then, const char *behind)
{
    LLVMBasicBlockRef yes = emit_new_block(e, then), no = emit_new_block(e, behind);
    LLVMBuildCondBr(e->b, c, yes, no);
    LLVMPositionBuilderAtEnd(e->b, yes);
    return no;
}

void
emit_demand(struct emit *e, LLVMValueRef ok, void (*end)(struct emit *), const char *bad, const char *good)
{
    LLVMBasicBlockRef no = emit_new_block(e, bad), yes = emit_new_block(e, good);
    LLVMBuildCondBr(e->b, ok, yes, no);
    LLVMPositionBuilderAtEnd(e->b, no);
    end(e);
    LLVMBuildUnreachable(e->b);
    LLVMPositionBuilderAtEnd(e->b, yes);
}

LLVMValueRef
emit_iota(struct emit *e, LLVMTypeRef scalar)
{
    if (e->width == 1)
        return LLVMConstNull(scalar);
    LLVMValueRef v[EMIT_MAX_WIDTH];
    for (unsigned i = 0; i < e->width; i++)
        v[i] = LLVMConstInt(scalar, i, false);
    return LLVMConstVector(v, e->width);
}

LLVMValueRef
emit_alloca(struct emit *e, LLVMTypeRef type, unsigned align, const char *name)
{
    LLVMValueRef a = LLVMBuildAlloca(e->f->entry_b, type, name);
    if (align)
        LLVMSetAlignment(a, align);
    LLVMTypeKind k = LLVMGetTypeKind(type);
    if (k != LLVMArrayTypeKind)
        LLVMBuildStore(e->f->entry_b, LLVMConstNull(type), a);
    return a;
}

static bool
has_effects(const struct ptx_inst *in)
{
    return ptx_op_info(in->op)->traits & (PTX_T_READS_MEM | PTX_T_WRITES_MEM | PTX_T_CALL | PTX_T_CONVERGENT | PTX_T_BARRIER |
                                          PTX_T_WARP) ||
           in->op == PTX_OP_TRAP || in->op == PTX_OP_BRKPT || in->op == PTX_OP_NANOSLEEP || in->op == PTX_OP_ALLOCA;
}

static bool
touches_common_memory(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_LD: case PTX_OP_ATOM: case PTX_OP_RED: case PTX_OP_LDU:  /* for st: emit_st */
        return in->space != PTX_SPACE_PARAM && in->space != PTX_SPACE_CONST && in->space != PTX_SPACE_LOCAL;
    default:
        return false;
    }
}

/* emit_leave_masked and emit_leave_unmasked emit terminators; one inside of a block is an internal error. */
void
emit_terminator(struct emit *e, const struct ptx_inst *in)
{
    e->result = CW_ERR_INTERNAL;
    cwj_diag_add(e->diags, PTX_ERROR, 5002, in->line, in->column, "%s inside of a block", ptx_op_info(in->op)->mnemonic);
}

/* Does .ftz have no effect? (rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 are different operations from those without.) */
static bool
drops_ftz(const struct emit *e, const struct ptx_inst *in)
{
    return e->native_floats & CWJ_NATIVE_FTZ && in->flags & PTX_F_FTZ &&
           !(in->type[0] == PTX_F64 && (in->op == PTX_OP_RCP || in->op == PTX_OP_RSQRT));
}

/* Do lanes in lockstep exchange values by this access? LLVM must not move it, nor forward a value from the lane's own earlier store. (With
 * vectors of lanes, each store is made for all lanes at once.) */
static bool
is_exchange(struct emit *e, const struct ptx_inst *in)
{
    bool shared = in->space == PTX_SPACE_SHARED || (in->space == PTX_SPACE_GENERIC && cwj_lockstep_setting() == CWJ_LOCKSTEP_ON);
    return emit_session(e)->in_step && e->width == 1 && shared && (in->op == PTX_OP_LD || in->op == PTX_OP_ST) &&
           (in->sem == PTX_SEM_NONE || in->sem == PTX_SEM_WEAK);
}

static void
emit_stepped(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_inst other = *in;
    if (drops_ftz(e, in))
        other.flags &= ~PTX_F_FTZ;
    if (is_exchange(e, in))
        other.sem = PTX_SEM_VOLATILE;
    if (emit_session(e)->lockstep && touches_common_memory(in))
        e->target->step(e);
    emit_one(e, other.flags != in->flags || other.sem != in->sem ? &other : in);
}

static void
emit_inst(struct emit *e, const struct ptx_inst *in)
{
    if (!in->has_guard) {
        emit_stepped(e, in);
        return;
    }
    LLVMValueRef guard = emit_guard(e, in), mask = e->mask;
    LLVMBasicBlockRef done = NULL;
    bool lanes = emit_is_vector(guard);
    if (lanes)
        e->mask = emit_mask_and(e, mask, guard);
    if (has_effects(in))                /* branch around it where no lane executes it */
        done = emit_if(e, lanes ? emit_any(e, e->mask) : guard, "guarded", "guarded.done");
    e->f->guard = lanes || !done ? guard : NULL;
    emit_stepped(e, in);
    if (done)
        emit_goto(e, done);
    e->f->guard = NULL;
    e->mask = in->op == PTX_OP_CALL ? emit_current_mask(e) : mask;
}

static void
emit_block(struct emit *e, uint32_t p)
{
    struct emit_fn *f = e->f;
    uint32_t b = f->flow.order[p];
    const struct ptx_block *blk = &e->fn->blocks[b];
    f->block = b;
    LLVMPositionBuilderAtEnd(e->b, f->bb[b]);
    bool masked = f->flow.masked[b];
    LLVMBasicBlockRef next = NULL;
    e->mask = emit_together_mask(e);
    f->bail = f->exit;
    if (!masked)
        emit_initialise_registers(e, b);
    if (masked) {
        LLVMBasicBlockRef body = emit_new_block(e, "run");
        next = emit_new_block(e, "next");
        emit_clear_slots(e, b);
        e->mask = emit_mask_load(e, f->mask_slot[b]);
        LLVMBuildCondBr(e->b, emit_any(e, e->mask), body, next);
        LLVMPositionBuilderAtEnd(e->b, body);
        LLVMBuildStore(e->b, LLVMConstNull(emit_mask_storage(e)), f->mask_slot[b]);
        f->bail = next;
    }
    f->block_mask = e->mask;
    if (f->flow.spin[b] && e->target->yield)
        e->target->yield(e);
    if (f->latch && f->latch[b] && e->target->fixed) {
        LLVMValueRef slot = f->slot[f->park.reg], v = LLVMBuildLoad2(e->b, e->i32, slot, "");
        LLVMBuildStore(e->b, e->target->fixed(e, v), slot);
    }
    const struct ptx_inst *last = NULL;
    for (uint32_t i = 0; i < blk->count; i++) {
        const struct ptx_inst *in = &e->fn->insts[blk->first + i];
        emit_initialise_locals(e, blk->first + i);
        if (i + 1 == blk->count && (ptx_op_info(in->op)->traits & PTX_T_TERMINATOR || in->op == PTX_OP_TRAP)) {
            last = in;
            if (in->op == PTX_OP_TRAP)
                emit_inst(e, in);
            break;
        }
        emit_inst(e, in);
    }
    if (!masked) {
        emit_clear_slots(e, b);
        emit_leave_unmasked(e, b, last);
        return;
    }
    emit_leave_masked(e, b, last);
    emit_goto(e, next);
    if (f->flow.irreducible) {
        /* A retreating edge that is not a loop's back edge: take it as soon as a lane waits there. */
        for (uint32_t k = 0; k < blk->nsucc; k++) {
            uint32_t s = blk->succ[k];
            if (f->flow.position[s] > p || flow_dominates(&f->flow, s, b) || !f->flow.masked[s])
                continue;
            LLVMBasicBlockRef on = emit_new_block(e, "retreat.not");
            LLVMBuildCondBr(e->b, emit_any(e, emit_mask_load(e, f->mask_slot[s])), f->bb[s], on);
            LLVMPositionBuilderAtEnd(e->b, on);
        }
    }
    emit_next_position(e, p);
}

/* The blocks that park.c names: parked lanes return from latches to heads, where other warps may run. */
static void
find_latches(struct emit *e, struct emit_fn *f)
{
    if (!f->park.nlatches)
        return;
    f->latch = cw_arena_array(&e->arena, bool, f->flow.n + 1);
    for (uint32_t i = 0; i < f->park.nlatches; i++) {
        f->latch[f->park.latches[i]] = true;
        f->flow.spin[f->park.heads[i]] = true;
    }
}

/* What spin.c does not find: loops that wait by what a called function reads, or by a value that unoptimised code keeps in local memory. */
static void
find_spins(struct emit *e, struct emit_fn *f)
{
    struct flow *flow = &f->flow;
    struct waits *w = NULL;
    for (uint32_t l = 0; l < flow->nloops; l++) {
        if (flow->spin[flow->loops[l].header])
            continue;
        if (!w)
            waits_begin(w = emit_wait_facts(e), flow, &e->arena);
        flow->spin[flow->loops[l].header] = waits_in(w, flow, l, false);
    }
}

/* Control flow, divergence, and lanes that wait for others of their warp. e->fn may be replaced. */
static void
analyse(struct emit *e, struct emit_fn *f)
{
    if (ptx_function_build_cfg((struct ptx_function *)e->fn) != CW_OK)
        cw_arena_exhausted(&e->arena);
    e->fn = emit_park(e, e->fn, &f->park);
    flow_analyse(&f->flow, e->fn, e->width, f->linear_x, &e->arena);
    if (e->target->yield)
        find_spins(e, f);
    find_latches(e, f);
}

static void
make_exited(struct emit *e, struct emit_fn *f)
{
    if (e->width > 1) {
        f->alive = emit_alloca(e, emit_mask_storage(e), 0, "alive");
        emit_mask_store(e, f->alive, emit_full_mask(e, f->entry_mask));
    }
    f->exited = f->is_kernel ? emit_alloca(e, e->width > 1 ? emit_mask_storage(e) : e->i1, 0, "exited") : LLVMGetLastParam(f->fn);
}

static void
fill_function(struct emit *e, struct emit_fn *f)
{
    f->entry = emit_new_block(e, "entry");
    f->exit = emit_new_block(e, "exit");
    LLVMPositionBuilderAtEnd(f->entry_b, f->entry);
    LLVMPositionBuilderAtEnd(e->b, f->entry);
    if (e->target->enter)
        e->target->enter(e);
    emit_make_slots(e, f);
    LLVMPositionBuilderAtEnd(e->b, f->entry);
    if (emit_session(e)->exits)
        make_exited(e, f);
    if (!f->is_kernel)
        emit_bind_params(e);
    for (uint32_t p = 0; p < f->flow.n; p++)
        emit_block(e, p);
    LLVMPositionBuilderAtEnd(f->entry_b, f->entry);
    LLVMPositionBuilderAtEnd(e->b, f->entry);
    if (e->target->start)
        e->target->start(e);
    emit_enter_together(e, 0);
    LLVMPositionBuilderAtEnd(e->b, f->exit);
    e->mask = f->entry_mask;
    if (e->target->leave)
        e->target->leave(e);
    if (f->is_kernel)
        LLVMBuildRetVoid(e->b);
    else
        emit_return(e);
}

void
emit_function(struct emit *e, const struct ptx_function *fn, LLVMValueRef llvm_fn, bool is_kernel)
{
    const struct cwh_variant *variant = emit_session(e)->variant;
    struct emit_fn *f = cw_arena_new(&e->arena, struct emit_fn);
    f->fn = llvm_fn;
    f->is_kernel = is_kernel;
    f->linear_x = variant && variant->linear_x;
    e->f = f;
    e->fn = fn;
    analyse(e, f);
    f->entry_b = LLVMCreateBuilderInContext(e->llvm);
    fill_function(e, f);
    LLVMDisposeBuilder(f->entry_b);
    e->f = NULL;
    e->fn = NULL;
}
