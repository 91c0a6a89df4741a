/* SPDX-License-Identifier: Apache-2.0
 * ld, st, cvta, isspacep, addresses for mov, and alloca (9.7.9, 9.7.13).
 *
 * A load or store at a uniform address is one scalar access. At lane-varying addresses the emitted code tests whether the lanes' addresses
 * are consecutive (they nearly always are); if so it makes one wide access, else one access per lane. Inactive lanes use the address of a
 * dummy, so that neither path needs a branch per lane. */
#include "jit/emit/emit_private.h"

#include <string.h>

static unsigned
store_size(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind:
        return 2;
    case LLVMFloatTypeKind:
        return 4;
    case LLVMDoubleTypeKind:
        return 8;
    case LLVMIntegerTypeKind:
        return (LLVMGetIntTypeWidth(t) + 7) / 8;
    default:
        return 0;
    }
}

uint64_t
emit_lane_stride(const struct ptx_symbol *s)
{
    uint64_t align = s->align ? s->align : 1;
    return (s->size + align - 1) / align * align;
}

LLVMValueRef
emit_lane_address(struct emit *e, LLVMValueRef storage, uint64_t size)
{
    LLVMValueRef base = LLVMBuildPtrToInt(e->b, storage, e->i64, "");
    if (e->width == 1)
        return base;
    LLVMValueRef off = emit_bin(e, LLVMMul, emit_iota(e, e->i64), emit_int(e, e->i64, size));
    return emit_bin(e, LLVMAdd, base, off);
}

LLVMValueRef
emit_address(struct emit *e, const struct ptx_operand *o, ptx_space space)
{
    LLVMValueRef a;
    if (o->has_reg) {
        /* 32-bit address registers are zero-extended; so are offsets relative to the shared window. */
        unsigned bits = ptx_type_bits(e->fn->regs[o->index].type);
        struct ptx_operand r = { .kind = PTX_OPND_REG, .index = o->index };
        a = emit_operand(e, &r, bits == 32 ? PTX_U32 : PTX_U64);
        if (e->addr32)
            return emit_widen(e, o->imm ? emit_bin(e, LLVMAdd, a, emit_int(e, emit_scalar_type(a), (uint64_t)o->imm)) : a, space);
        if (o->imm)
            a = emit_bin(e, LLVMAdd, a, emit_int(e, emit_scalar_type(a), (uint64_t)o->imm));
        return bits == 32 ? emit_near(e, a, space) : a;
    }
    if (o->sym) {
        struct ptx_operand s = { .kind = PTX_OPND_SYM, .sym = o->sym, .imm = o->imm };
        return emit_symbol_place(e, &s);
    }
    return e->addr32 ? emit_widen(e, emit_int(e, e->i32, (uint64_t)o->imm), space) : emit_int(e, e->i64, (uint64_t)o->imm);
}

/* ---- one value -------------------------------------------------------------------------------------------------------- */

static LLVMValueRef
pointers(struct emit *e, LLVMValueRef address)
{
    return LLVMBuildIntToPtr(e->b, address, LLVMVectorType(e->ptr, e->width), "");
}

/* Lane-varying addresses as host addresses (generic); inactive lanes point at the dummy. */
static LLVMValueRef
safe_address(struct emit *e, LLVMValueRef address)
{
    if (!e->mask)
        return address;
    LLVMValueRef dummy = LLVMBuildPtrToInt(e->b, e->f->dummy, e->i64, "");
    return emit_select(e, e->mask, address, dummy);
}

/* ---- alignment: an access lies at a multiple of its size (PTX ISA 6.4.1), or the kernel ends ----
 *
 * Parameters are left out, and local memory where lanes have it at addresses of the compiler's. */

static bool
checks_alignment(const struct emit *e, ptx_space space, unsigned align)
{
    if (e->unchecked || !e->target->misaligned || align <= 1)
        return false;
    return space == PTX_SPACE_GLOBAL || space == PTX_SPACE_SHARED || space == PTX_SPACE_GENERIC || (space == PTX_SPACE_LOCAL && e->target->local_fault);
}

/* i1, or a lane's bit each. */
static LLVMValueRef
is_misaligned(struct emit *e, LLVMValueRef address, unsigned align)
{
    LLVMTypeRef t = emit_scalar_type(address);
    LLVMValueRef bits = emit_int(e, t, align - 1), zero = emit_int(e, t, 0);
    if (emit_is_vector(address)) {
        bits = emit_splat(e, bits);
        zero = emit_splat(e, zero);
    }
    return emit_icmp(e, LLVMIntNE, emit_bin(e, LLVMAnd, address, bits), zero);
}

/* The most local memory of a thread ("Compute Capabilities" of the CUDA C++ Programming Guide). */
enum { LOCAL_LIMIT = 512 << 10 };

static void
check_local(struct emit *e, LLVMValueRef address, ptx_space space)
{
    if (e->unchecked || space != PTX_SPACE_LOCAL || !e->target->local_fault)
        return;
    LLVMBasicBlockRef good = emit_if(e, emit_icmp(e, LLVMIntUGE, address, emit_int(e, emit_scalar_type(address), LOCAL_LIMIT)), "local.fault", "good");
    e->target->local_fault(e);
    emit_goto(e, good);
}

void
emit_check_alignment(struct emit *e, LLVMValueRef address, ptx_space space, unsigned align)
{
    check_local(e, address, space);
    if (!checks_alignment(e, space, align))
        return;
    LLVMValueRef bad = is_misaligned(e, address, align);
    if (emit_is_vector(address))
        bad = emit_any(e, emit_mask_and(e, bad, e->mask));
    LLVMBasicBlockRef good = emit_if(e, bad, "misaligned", "good");
    e->target->misaligned(e);
    emit_goto(e, good);
}

/* Where one wide access serves all lanes, what `ok` says; with the alignment of the first lane's, which is everyone's: the lanes' addresses differ by
 * multiples of it. The way for other lanes checks each. */
static LLVMValueRef
and_aligned(struct emit *e, LLVMValueRef ok, LLVMValueRef first, ptx_space space, unsigned align)
{
    if (!checks_alignment(e, space, align))
        return ok;
    return LLVMBuildAnd(e->b, ok, LLVMBuildNot(e->b, is_misaligned(e, first, align), ""), "");
}

/* Nothing writes that memory while the kernel runs. */
void
emit_invariant(struct emit *e, LLVMValueRef load)
{
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(e->llvm, "invariant.load", 14),
                    LLVMMetadataAsValue(e->llvm, LLVMMDNodeInContext2(e->llvm, NULL, 0)));
}

void
emit_set_scope(LLVMValueRef instruction, const char *scope)
{
    LLVMSetAtomicSyncScopeID(instruction, LLVMGetSyncScopeID(LLVMGetValueContext(instruction), scope, strlen(scope)));
}

LLVMValueRef
emit_scoped(struct emit *e, LLVMValueRef instruction, ptx_scope scope)
{
    if (scope == PTX_SCOPE_CLUSTER && emit_session(e)->clusters)
        scope = PTX_SCOPE_GPU;
    if (e->target->scopes)
        emit_set_scope(instruction, e->target->scopes[scope]);
    return instruction;
}

static LLVMValueRef
scalar_load(struct emit *e, LLVMValueRef address, LLVMTypeRef t, ptx_space space, unsigned align)
{
    if (e->bounded)
        e->target->bound(e, address, space, store_size(t));
    LLVMValueRef p = e->target->pointer(e, address, space);
    LLVMValueRef v = LLVMBuildLoad2(e->b, t, p, "");
    LLVMSetAlignment(v, align);
    if (space == PTX_SPACE_PARAM || space == PTX_SPACE_CONST)
        emit_invariant(e, v);
    return v;
}

static void
scalar_store(struct emit *e, LLVMValueRef address, LLVMValueRef v, ptx_space space, unsigned align)
{
    if (e->bounded)
        e->target->bound(e, address, space, store_size(LLVMTypeOf(v)));
    LLVMSetAlignment(LLVMBuildStore(e->b, v, e->target->pointer(e, address, space)), align);
}

struct lane_access {
    LLVMValueRef address, value, slot;
    LLVMTypeRef type;
    unsigned align;
};

static void
put_lane(struct emit *e, LLVMValueRef slot, LLVMTypeRef t, LLVMValueRef lane, LLVMValueRef v)
{
    LLVMValueRef old = LLVMBuildLoad2(e->b, LLVMVectorType(t, e->width), slot, "");
    LLVMBuildStore(e->b, LLVMBuildInsertElement(e->b, old, v, lane, ""), slot);
}

static void
load_lane(struct emit *e, LLVMValueRef lane, void *user)
{
    struct lane_access *x = user;
    LLVMValueRef a = LLVMBuildExtractElement(e->b, x->address, lane, "");
    LLVMValueRef v = scalar_load(e, a, x->type, PTX_SPACE_GENERIC, x->align);
    put_lane(e, x->slot, x->type, lane, v);
}

static void
store_lane(struct emit *e, LLVMValueRef lane, void *user)
{
    struct lane_access *x = user;
    LLVMValueRef a = LLVMBuildExtractElement(e->b, x->address, lane, "");
    scalar_store(e, a, LLVMBuildExtractElement(e->b, x->value, lane, ""), PTX_SPACE_GENERIC, x->align);
}

/* Lane-varying addresses in a space, as generic (host) addresses. */
static LLVMValueRef
host_address(struct emit *e, LLVMValueRef address, ptx_space space)
{
    return space == PTX_SPACE_SHARED ? e->target->to_generic(e, address, space) : address;
}

/* One access per lane, at host addresses. `cold`: hardly ever executed. A warp-wide gang or a cold path gets a loop over the active lanes:
 * unrolled, each instruction would need 32 extracts, accesses and inserts, which cost more to compile than they save. */
static LLVMValueRef
gather_lanes(struct emit *e, LLVMValueRef address, LLVMTypeRef t, unsigned align, bool cold)
{
    LLVMTypeRef vt = LLVMVectorType(t, e->width);
    if (cold || e->width > 16) {
        struct lane_access x = { .address = address, .slot = emit_alloca(e, vt, 0, "lanes"), .type = t, .align = align };
        emit_for_lanes(e, e->mask, load_lane, &x);
        return LLVMBuildLoad2(e->b, vt, x.slot, "");
    }
    return emit_gather(e, pointers(e, safe_address(e, address)), t, align);
}

static void
scatter_lanes(struct emit *e, LLVMValueRef address, LLVMValueRef value, unsigned align, bool cold)
{
    if (cold || e->width > 16) {
        struct lane_access x = { .address = address, .value = value, .type = emit_scalar_type(value), .align = align };
        emit_for_lanes(e, e->mask, store_lane, &x);
        return;
    }
    emit_scatter(e, value, pointers(e, safe_address(e, address)), align);
}

LLVMValueRef
emit_element_address(struct emit *e, LLVMValueRef address, unsigned i, unsigned size)
{
    return i ? emit_bin(e, LLVMAdd, address, emit_int(e, e->i64, (uint64_t)i * size)) : address;
}

/* Element i of each lane from a row of n * width elements, and back. */
static LLVMValueRef
take_component(struct emit *e, LLVMValueRef row, unsigned n, unsigned i)
{
    if (n == 1)
        return row;
    LLVMValueRef idx[EMIT_MAX_WIDTH];
    for (unsigned k = 0; k < e->width; k++)
        idx[k] = LLVMConstInt(e->i32, k * n + i, false);
    return LLVMBuildShuffleVector(e->b, row, LLVMGetPoison(LLVMTypeOf(row)), LLVMConstVector(idx, e->width), "");
}

static LLVMValueRef
interleave(struct emit *e, LLVMValueRef *v, unsigned n)
{
    if (n == 1)
        return v[0];
    /* concatenate (n is 2 or 4), then permute */
    LLVMValueRef idx[4 * EMIT_MAX_WIDTH], part[4];
    unsigned w = e->width;
    for (unsigned i = 0; i < n; i++)
        part[i] = v[i];
    for (unsigned m = n; m > 1; m /= 2, w *= 2) {
        for (unsigned i = 0; i < 2 * w; i++)
            idx[i] = LLVMConstInt(e->i32, i, false);
        for (unsigned i = 0; i < m / 2; i++)
            part[i] = LLVMBuildShuffleVector(e->b, part[2 * i], part[2 * i + 1], LLVMConstVector(idx, 2 * w), "");
    }
    for (unsigned k = 0; k < e->width; k++)
        for (unsigned i = 0; i < n; i++)
            idx[k * n + i] = LLVMConstInt(e->i32, i * e->width + k, false);
    return LLVMBuildShuffleVector(e->b, part[0], LLVMGetPoison(LLVMTypeOf(part[0])), LLVMConstVector(idx, n * e->width), "");
}

/* n consecutive elements per lane, of the lanes one behind the other where `ok` holds: one wide access at `first`, of lane 0, then, and one access per
 * lane and element otherwise. */
struct row {
    LLVMValueRef ok, first;
    LLVMValueRef address;           /* of the lanes; NULL: `operand` has it, an affine one, which is hardly ever needed */
    const struct ptx_operand *operand;
    ptx_space space, of_first;
    unsigned n, size, align, whole; /* elements, their size and alignment; that of the address */
};

/* Lanes whose addresses are a vector: do they all take part, and is lane i's that of lane 0 plus i * size, and aligned? */
static struct row
row_of_lanes(struct emit *e, LLVMValueRef address, unsigned size, ptx_space space, unsigned align)
{
    LLVMValueRef first = LLVMBuildExtractElement(e->b, address, LLVMConstInt(e->i32, 0, false), "");
    LLVMValueRef step = LLVMBuildMul(e->b, emit_iota(e, e->i64), emit_splat(e, emit_int(e, e->i64, size)), "");
    LLVMValueRef want = emit_bin(e, LLVMAdd, first, step);
    LLVMValueRef same = emit_all(e, emit_mask_and(e, emit_icmp(e, LLVMIntEQ, address, want), e->mask));
    return (struct row){ .ok = and_aligned(e, same, first, space, size), .first = first, .address = address,
                         .space = space, .of_first = PTX_SPACE_GENERIC, .n = 1, .size = size, .align = align, .whole = align };
}

/* Affine addresses: false if o is none, or such rows are not made. 32-bit addresses only in spaces where consecutive addresses are consecutive in memory. */
static bool
affine_row(struct emit *e, const struct ptx_operand *o, ptx_space space, unsigned n, unsigned size, struct row *r)
{
    LLVMValueRef first, ok;
    bool whole = space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST || space == PTX_SPACE_SHARED;
    if ((n != 1 && n != 2 && n != 4) || (e->addr32 && (!whole || !o->has_reg || e->f->flow.shape[o->index].kind != FLOW_AFFINE32)) ||
        !emit_affine_address(e, o, (uint64_t)n * size, &first, &ok))
        return false;
    if (e->addr32)
        first = emit_widen(e, first, space);
    *r = (struct row){ .ok = and_aligned(e, ok, first, space, n * size), .first = first, .operand = o, .space = space, .of_first = space,
                       .n = n, .size = size, .align = size, .whole = n * size };
    return true;
}

/* The addresses for the accesses per lane, checked. */
static LLVMValueRef
each_address(struct emit *e, const struct row *r)
{
    LLVMValueRef address = r->address ? r->address : host_address(e, emit_address(e, r->operand, r->space), r->space);
    emit_check_alignment(e, address, r->space, r->whole);
    return address;
}

static void
load_row(struct emit *e, const struct row *r, LLVMTypeRef t, LLVMValueRef *v)
{
    LLVMBasicBlockRef wide = emit_new_block(e, "wide"), lanes = emit_new_block(e, "lanes"), done = emit_new_block(e, "loaded");
    LLVMValueRef fast[4], slow[4];
    LLVMBuildCondBr(e->b, r->ok, wide, lanes);
    LLVMPositionBuilderAtEnd(e->b, wide);
    LLVMValueRef row = LLVMBuildLoad2(e->b, LLVMVectorType(t, r->n * e->width), e->target->pointer(e, r->first, r->of_first), "");
    LLVMSetAlignment(row, r->align);
    for (unsigned i = 0; i < r->n; i++)
        fast[i] = take_component(e, row, r->n, i);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, lanes);
    LLVMValueRef address = each_address(e, r);
    for (unsigned i = 0; i < r->n; i++)
        slow[i] = gather_lanes(e, emit_element_address(e, address, i, r->size), t, r->align, !r->address);
    lanes = LLVMGetInsertBlock(e->b);
    emit_goto(e, done);
    for (unsigned i = 0; i < r->n; i++)
        v[i] = emit_phi(e, fast[i], wide, slow[i], lanes);
}

static void
store_row(struct emit *e, const struct row *r, LLVMValueRef *v)
{
    LLVMBasicBlockRef wide = emit_new_block(e, "wide"), lanes = emit_new_block(e, "lanes"), done = emit_new_block(e, "stored");
    for (unsigned i = 0; i < r->n; i++)
        v[i] = emit_splat(e, v[i]);
    LLVMBuildCondBr(e->b, r->ok, wide, lanes);
    LLVMPositionBuilderAtEnd(e->b, wide);
    LLVMValueRef all = interleave(e, v, r->n);
    LLVMSetAlignment(LLVMBuildStore(e->b, all, e->target->pointer(e, r->first, r->of_first)), r->align);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, lanes);
    LLVMValueRef address = each_address(e, r);
    for (unsigned i = 0; i < r->n; i++)
        scatter_lanes(e, emit_element_address(e, address, i, r->size), v[i], r->align, !r->address);
    emit_goto(e, done);
}

LLVMValueRef
emit_load(struct emit *e, LLVMValueRef address, LLVMTypeRef t, ptx_space space, unsigned align)
{
    if (!emit_is_vector(address)) {
        emit_check_alignment(e, address, space, align);
        return scalar_load(e, address, t, space, align);
    }
    LLVMValueRef v;
    address = host_address(e, address, space);
    const struct row r = row_of_lanes(e, address, store_size(t), space, align);
    load_row(e, &r, t, &v);
    return v;
}

void
emit_store(struct emit *e, LLVMValueRef address, LLVMValueRef value, ptx_space space, unsigned align)
{
    if (!emit_is_vector(address) && !emit_is_vector(value)) {
        emit_check_alignment(e, address, space, align);
        scalar_store(e, address, value, space, align);
        return;
    }
    address = emit_splat(e, host_address(e, address, space));
    value = emit_splat(e, value);
    const struct row r = row_of_lanes(e, address, store_size(emit_scalar_type(value)), space, align);
    store_row(e, &r, &value);
}

/* ---- strong accesses: ordered against those of other threads (volatile, relaxed, acquire, release, mmio) ----
 *
 * PTX orders the elements of a vector in no way (8.2.1), but GPUs access up to 16 bytes at once, and programs rely on that: CUB keeps a state and
 * its value in a .v2. So elements are accessed together, as far as a target can. */

enum { TOGETHER = 16 };         /* bytes */

struct strong {
    LLVMTypeRef t;                  /* of an element */
    unsigned n, size;               /* elements, and the bytes of one */
    LLVMTypeRef whole;              /* what one access moves: an integer, or with 16 bytes a vector, of which LLVM has no atomic accesses */
    LLVMValueRef address, *v;       /* of the lanes; elements: loaded, or to be stored */
    LLVMValueRef slot[TOGETHER];
};

static LLVMTypeRef
strong_type(struct emit *e, unsigned bytes)
{
    return bytes < TOGETHER ? LLVMIntTypeInContext(e->llvm, 8 * bytes) : LLVMVectorType(e->i64, 2);
}

static void
make_strong(struct emit *e, LLVMValueRef access, const struct strong *x)
{
    bool atomic = x->n * x->size < TOGETHER;
    LLVMSetAlignment(access, x->n * x->size);
    if (atomic)
        LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetVolatile(access, !atomic || !e->target->plain_atomics);
}

/* Loads at a scalar address; element i to v[i]. */
static void
load_strong(struct emit *e, const struct strong *x, LLVMValueRef address, ptx_space space, LLVMValueRef *v)
{
    if (e->bounded)
        e->target->bound(e, address, space, x->n * x->size);
    LLVMValueRef all = LLVMBuildLoad2(e->b, x->whole, e->target->pointer(e, address, space), "");
    make_strong(e, all, x);
    if (x->n > 1)
        all = LLVMBuildBitCast(e->b, all, LLVMVectorType(x->t, x->n), "");
    for (unsigned i = 0; i < x->n; i++)
        v[i] = x->n > 1 ? LLVMBuildExtractElement(e->b, all, LLVMConstInt(e->i32, i, false), "") : LLVMBuildBitCast(e->b, all, x->t, "");
}

static void
store_strong(struct emit *e, const struct strong *x, LLVMValueRef address, ptx_space space, LLVMValueRef *v)
{
    LLVMValueRef all = v[0];
    if (e->bounded)
        e->target->bound(e, address, space, x->n * x->size);
    if (x->n > 1)
        all = LLVMGetPoison(LLVMVectorType(x->t, x->n));
    for (unsigned i = 0; x->n > 1 && i < x->n; i++)
        all = LLVMBuildInsertElement(e->b, all, v[i], LLVMConstInt(e->i32, i, false), "");
    all = LLVMBuildBitCast(e->b, all, x->whole, "");
    make_strong(e, LLVMBuildStore(e->b, all, e->target->pointer(e, address, space)), x);
}

static void
load_strong_lane(struct emit *e, LLVMValueRef lane, void *user)
{
    struct strong *x = user;
    LLVMValueRef v[TOGETHER];
    load_strong(e, x, LLVMBuildExtractElement(e->b, x->address, lane, ""), PTX_SPACE_GENERIC, v);
    for (unsigned i = 0; i < x->n; i++)
        put_lane(e, x->slot[i], x->t, lane, v[i]);
}

static void
store_strong_lane(struct emit *e, LLVMValueRef lane, void *user)
{
    struct strong *x = user;
    LLVMValueRef v[TOGETHER];
    for (unsigned i = 0; i < x->n; i++)
        v[i] = LLVMBuildExtractElement(e->b, x->v[i], lane, "");
    store_strong(e, x, LLVMBuildExtractElement(e->b, x->address, lane, ""), PTX_SPACE_GENERIC, v);
}

/* n elements that one access can move. */
static void
strong_access(struct emit *e, bool load, LLVMValueRef address, ptx_space space, LLVMTypeRef t, LLVMValueRef *v, unsigned n)
{
    struct strong x = { .t = t, .n = n, .size = store_size(t), .v = v };
    x.whole = strong_type(e, x.n * x.size);
    bool vary = emit_is_vector(address);
    for (unsigned i = 0; i < n && !load; i++)
        vary |= emit_is_vector(v[i]);
    if (vary)
        address = host_address(e, address, space);
    emit_check_alignment(e, address, space, n * x.size);
    if (!vary) {
        load ? load_strong(e, &x, address, space, v) : store_strong(e, &x, address, space, v);
        return;
    }
    x.address = emit_splat(e, address);
    LLVMTypeRef vt = LLVMVectorType(t, e->width);
    for (unsigned i = 0; i < n; i++)
        if (load)
            x.slot[i] = emit_alloca(e, vt, 0, "lanes");
        else
            v[i] = emit_splat(e, v[i]);
    emit_for_lanes(e, e->mask, load ? load_strong_lane : store_strong_lane, &x);
    for (unsigned i = 0; i < n && load; i++)
        v[i] = LLVMBuildLoad2(e->b, vt, x.slot[i], "");
}

/* n elements at an address, of which at most 16 bytes at a time. */
static void
strong_accesses(struct emit *e, bool load, LLVMValueRef address, ptx_space space, LLVMTypeRef t, LLVMValueRef *v, unsigned n)
{
    unsigned size = store_size(t), most = TOGETHER / size;
    for (unsigned i = 0; i < n; i += most)
        strong_access(e, load, emit_element_address(e, address, i, size), space, t, v + i, n - i < most ? n - i : most);
}

/* ---- .param variables kept as values ------------------------------------------------------------------------------------- */

static const struct ptx_symbol *
scalar_param(struct emit *e, const struct ptx_operand *o)
{
    const struct ptx_symbol *s = o->kind == PTX_OPND_ADDR && !o->has_reg ? o->sym : NULL;
    if (!s || o->imm || !emit_param_is_scalar(s))
        return NULL;
    if (s->kind == PTX_SYM_PARAM)
        return e->f->is_kernel ? NULL : s;
    return s->kind == PTX_SYM_VAR && s->space == PTX_SPACE_PARAM ? s : NULL;
}

/* ---- ld and st ------------------------------------------------------------------------------------------------------------- */

static bool
is_strong(const struct ptx_inst *in)
{
    return in->sem == PTX_SEM_VOLATILE || in->sem == PTX_SEM_RELAXED || in->sem == PTX_SEM_ACQUIRE || in->sem == PTX_SEM_RELEASE ||
           in->sem == PTX_SEM_SC || in->sem == PTX_SEM_MMIO;
}

static void
fence(struct emit *e, LLVMAtomicOrdering order, ptx_scope scope)
{
    emit_scoped(e, LLVMBuildFence(e->b, order, false, ""), scope);
}

ptx_space
emit_effective_space(const struct ptx_inst *in, const struct ptx_operand *o)
{
    if (in->space != PTX_SPACE_GENERIC)
        return in->space == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : (ptx_space)in->space;
    /* A symbol implies its own space if the instruction names none. */
    if (!o->has_reg && o->sym && o->sym->kind == PTX_SYM_VAR && o->sym->space == PTX_SPACE_SHARED)
        return PTX_SPACE_SHARED;
    return PTX_SPACE_GENERIC;
}

/* Alignment of element i of a vector of n elements; the vector is aligned to its size (9.7.9.8). */
static unsigned
element_align(unsigned n, unsigned i, unsigned size)
{
    unsigned at = (i ? i : n) * size;
    return at & (~at + 1);
}

/* Memory holds no predicates; every other type has the representation of emit_type. */
void
emit_ld(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    const struct ptx_operand *dst = &in->operand[0], *src = &in->operand[1];
    LLVMTypeRef lt = emit_type(e, t);
    const struct ptx_symbol *p = scalar_param(e, src);
    if (p) {
        LLVMValueRef v = LLVMBuildLoad2(e->b, emit_param_type(e, p), emit_param_storage(e, p), "");
        if (dst->kind != PTX_OPND_VEC) {
            unsigned bits = ptx_type_bits((ptx_type)p->type);
            LLVMTypeRef it = LLVMIntTypeInContext(e->llvm, bits);
            v = emit_resize(e, emit_bitcast(e, v, it), LLVMIntTypeInContext(e->llvm, ptx_type_bits(t)), false);
            emit_dst(e, in, 0, t, emit_bitcast(e, v, lt));
            return;
        }
    }
    ptx_space space = emit_effective_space(in, src);
    unsigned size = store_size(lt), n = dst->kind == PTX_OPND_VEC ? dst->count : 1;
    bool strong = is_strong(in);
    LLVMValueRef v[16];
    struct row row;
    if (!strong && in->space != PTX_SPACE_PARAM && affine_row(e, src, space, n, size, &row)) {
        load_row(e, &row, lt, v);
        for (unsigned i = 0; i < n; i++)
            emit_dst_operand(e, dst->kind == PTX_OPND_VEC ? &dst->elem[i] : dst, t, v[i]);
        return;
    }
    LLVMValueRef address = emit_address(e, src, space);
    if (in->space == PTX_SPACE_PARAM && e->f->is_kernel)
        space = src->sym && src->sym->kind == PTX_SYM_VAR ? PTX_SPACE_LOCAL : PTX_SPACE_PARAM;
    else if (in->space == PTX_SPACE_PARAM)
        space = PTX_SPACE_LOCAL;
    if (strong)
        strong_accesses(e, true, address, space, lt, v, n);
    for (unsigned i = 0; i < n && i < 16 && !strong; i++)
        v[i] = emit_load(e, emit_element_address(e, address, i, size), lt, space, in->space == PTX_SPACE_PARAM ? 1 : element_align(n, i, size));
    if (in->sem == PTX_SEM_ACQUIRE)
        fence(e, LLVMAtomicOrderingAcquire, (ptx_scope)in->scope);
    if (dst->kind != PTX_OPND_VEC)
        emit_dst(e, in, 0, t, v[0]);
    else
        for (unsigned i = 0; i < n && i < 16; i++)
            emit_dst_operand(e, &dst->elem[i], t, v[i]);
}

void
emit_st(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    const struct ptx_operand *dst = &in->operand[0], *src = &in->operand[1];
    LLVMTypeRef lt = emit_type(e, t);
    const struct ptx_symbol *p = scalar_param(e, dst);
    if (p && src->kind != PTX_OPND_VEC) {
        LLVMTypeRef it = LLVMIntTypeInContext(e->llvm, ptx_type_bits(t));
        LLVMTypeRef pt = emit_type(e, (ptx_type)p->type);
        LLVMTypeRef pit = LLVMIntTypeInContext(e->llvm, ptx_type_bits((ptx_type)p->type));
        LLVMValueRef v = emit_bitcast(e, emit_resize(e, emit_bitcast(e, emit_operand(e, src, t), it), pit, false), pt);
        LLVMValueRef slot = emit_param_storage(e, p);
        /* Lanes that return at different places write their results separately. */
        LLVMBuildStore(e->b, emit_merged(e, emit_splat(e, v), emit_param_type(e, p), slot), slot);
        return;
    }
    ptx_space space = emit_effective_space(in, dst);
    if (in->space == PTX_SPACE_PARAM)
        space = PTX_SPACE_LOCAL;
    unsigned size = store_size(lt), n = src->kind == PTX_OPND_VEC ? src->count : 1;
    LLVMValueRef v[16];
    for (unsigned i = 0; i < n && i < 16; i++)
        v[i] = emit_operand(e, src->kind == PTX_OPND_VEC ? &src->elem[i] : src, t);
    struct row row;
    bool strong = is_strong(in);
    if (!strong && in->space != PTX_SPACE_PARAM && affine_row(e, dst, space, n, size, &row)) {
        store_row(e, &row, v);
        return;
    }
    LLVMValueRef address = emit_address(e, dst, space);
    LLVMBasicBlockRef stored = NULL;
    if (emit_session(e)->lockstep && space != PTX_SPACE_LOCAL)
        stored = emit_if(e, e->target->step_store(e, host_address(e, address, space)), "mine", "stored");
    if (in->sem == PTX_SEM_RELEASE)
        fence(e, LLVMAtomicOrderingRelease, (ptx_scope)in->scope);
    if (strong)
        strong_accesses(e, false, address, space, lt, v, n);
    for (unsigned i = 0; i < n && i < 16 && !strong; i++)
        emit_store(e, emit_element_address(e, address, i, size), v[i], space, in->space == PTX_SPACE_PARAM ? 1 : element_align(n, i, size));
    if (stored)
        emit_goto(e, stored);
}

/* ---- addresses ---------------------------------------------------------------------------------------------------------- */

void
emit_cvta(struct emit *e, const struct ptx_inst *in)
{
    const struct emit_target *t = e->target;
    ptx_space space = (ptx_space)in->space;
    if (e->addr32) {
        emit_addr32_cvta(e, in);
        return;
    }
    LLVMValueRef v = emit_resize(e, emit_src(e, in, 1, (ptx_type)in->type[0]), e->i64, false);
    if (!(in->flags & PTX_F_TO) && emit_is_near(e))
        v = emit_near(e, emit_resize(e, v, e->i32, false), space);
    /* For a variable's name: its address in its own space. */
    v = in->flags & PTX_F_TO ? t->from_generic(e, v, space) : t->to_generic(e, v, space);
    emit_dst(e, in, 0, (ptx_type)in->type[0], emit_resize(e, v, emit_type(e, (ptx_type)in->type[0]), false));
}

void
emit_isspacep(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef a = emit_src(e, in, 1, PTX_U64);
    emit_dst(e, in, 0, PTX_PRED, e->target->isspacep(e, e->addr32 ? emit_widen(e, a, PTX_SPACE_GENERIC) : a, (ptx_space)in->space));
}
