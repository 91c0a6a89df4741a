/* SPDX-License-Identifier: Apache-2.0
 * atom and red (PTX ISA 9.7.13): integers by the target's instructions, everything else by a compare-and-swap loop on the bits. Vector
 * forms are one atomic operation per element. Lanes execute one after the other.
 *
 * Floats, as measured on an H200: f32, f16 and bf16 sums give the canonical NaN; f32 sums treat subnormals as zero in global memory but not
 * in shared memory; f64 sums give, in global memory, the NaN of b, else that of the memory, unchanged; in shared memory that of the memory,
 * else of b, quieted. */
#include "jit/emit/emit_private.h"
#include "jit/emit/arith/fp_private.h"

enum { MAX_ELEMENTS = 8 };

struct atomic {
    const struct ptx_inst *in;
    ptx_type t;
    unsigned n;                     /* elements */
    V address, b[MAX_ELEMENTS], c, slot[MAX_ELEMENTS];
    LLVMTypeRef type;               /* of a value of type t */
    LLVMTypeRef bits;               /* the integer of its size */
    ptx_space space;
    LLVMAtomicOrdering order;
};

static LLVMAtomicOrdering
failure_order(LLVMAtomicOrdering order)
{
    return order == LLVMAtomicOrderingAcquireRelease || order == LLVMAtomicOrderingAcquire ? LLVMAtomicOrderingAcquire
                                                                                           : LLVMAtomicOrderingMonotonic;
}

static V
scoped(struct emit *e, const struct atomic *x, V instruction)
{
    return emit_scoped(e, instruction, (ptx_scope)x->in->scope);
}

/* i1: the address is in shared memory. */
static V
in_shared(struct emit *e, const struct atomic *x, V address)
{
    if (x->space == PTX_SPACE_GENERIC)
        return e->target->isspacep(e, address, PTX_SPACE_SHARED);
    return LLVMConstInt(e->i1, x->space == PTX_SPACE_SHARED, false);
}

static V
flush_global(struct emit *e, V shared, V v)
{
    return e->native_floats & CWJ_NATIVE_FTZ ? v : v_sel(e, shared, v, fp_flush(e, v, PTX_F32));
}

static V
add_f32(struct emit *e, const struct atomic *x, V address, V old, V b)
{
    V shared = in_shared(e, x, address);
    V sum = v_fadd(e, flush_global(e, shared, old), flush_global(e, shared, b));

    return fp_canonical(e, flush_global(e, shared, sum));
}

static V
add_f64(struct emit *e, const struct atomic *x, V address, V old, V b)
{
    V sum = v_fadd(e, old, b), nan_old = fp_is_nan(e, old), nan_b = fp_is_nan(e, b);

    if (!e->target->default_nan)            /* infinities of opposite signs */
        sum = v_sel(e, fp_is_nan(e, sum), fp_as_float(e, k_int(e, fp_as_int(e, sum), FP_NAN_F64)), sum);
    V global = v_sel(e, nan_b, b, v_sel(e, nan_old, old, sum));
    V shared = v_sel(e, nan_old, fp_quiet(e, old), v_sel(e, nan_b, fp_quiet(e, b), sum));

    return v_sel(e, in_shared(e, x, address), shared, global);
}

/* Halves, one or two: computed in f32, in which their sums are precise enough to round once more. */
static V
half_op(struct emit *e, const struct atomic *x, V old, V b)
{
    enum fp_small f = x->t == PTX_F16 || x->t == PTX_F16X2 ? FP_F16 : FP_BF16;
    struct fp_pack p, q;
    V r[2];

    fp_unpack(e, old, x->t, &p);
    fp_unpack(e, b, x->t, &q);
    for (unsigned i = 0; i < p.n; i++) {
        V v = x->in->atomop == PTX_ATOM_ADD ? v_fadd(e, p.v[i], q.v[i]) : fp_min_max(e, p.v[i], q.v[i], x->in->atomop == PTX_ATOM_MAX, false);
        r[i] = fp_to_small(e, fp_canonical(e, v), f, PTX_RN, false);
    }
    return p.n == 2 ? v_pack(e, r[0], r[1]) : r[0];
}

/* The new value for `old`; both as bits. */
static V
combine(struct emit *e, const struct atomic *x, V address, V old, V b)
{
    V one = k_int(e, old, 1), zero = k_int(e, old, 0), wraps;

    switch (x->in->atomop) {
    case PTX_ATOM_INC:
        wraps = emit_icmp(e, LLVMIntUGE, old, b);
        return v_sel(e, wraps, zero, v_add(e, old, one));
    case PTX_ATOM_DEC:
        wraps = v_or(e, v_eq(e, old, zero), emit_icmp(e, LLVMIntUGT, old, b));
        return v_sel(e, wraps, b, v_sub(e, old, one));
    default:
        break;
    }
    if (x->t == PTX_F32 || x->t == PTX_F64) {
        V o = emit_bitcast(e, old, x->type), f = emit_bitcast(e, b, x->type);
        return emit_bitcast(e, x->t == PTX_F32 ? add_f32(e, x, address, o, f) : add_f64(e, x, address, o, f), x->bits);
    }
    return half_op(e, x, old, b);
}

static V
swap_loop(struct emit *e, const struct atomic *x, V address, V p, V b)
{
    LLVMBasicBlockRef pre = LLVMGetInsertBlock(e->b), loop = emit_new_block(e, "cas"), done = emit_new_block(e, "cas.done");
    V first = LLVMBuildLoad2(e->b, x->bits, p, "");

    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(first, LLVMGetIntTypeWidth(x->bits) / 8);
    LLVMBuildBr(e->b, loop);
    LLVMPositionBuilderAtEnd(e->b, loop);
    V old = LLVMBuildPhi(e->b, x->bits, "old");
    V fresh = combine(e, x, address, old, b);
    V r = scoped(e, x, LLVMBuildAtomicCmpXchg(e->b, p, old, fresh, x->order, failure_order(x->order), false));
    V seen = LLVMBuildExtractValue(e->b, r, 0, "");
    V values[2] = { first, seen };
    LLVMBasicBlockRef blocks[2] = { pre, LLVMGetInsertBlock(e->b) };
    LLVMBuildCondBr(e->b, LLVMBuildExtractValue(e->b, r, 1, ""), done, loop);
    LLVMAddIncoming(old, values, blocks, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
    return seen;
}

/* One element of one lane; the old value. */
static V
one_atomic(struct emit *e, const struct atomic *x, V address, V b, V c)
{
    const struct ptx_inst *in = x->in;
    if (e->bounded)
        e->target->bound(e, address, x->space, LLVMGetIntTypeWidth(x->bits) / 8);
    V p = e->target->pointer(e, address, x->space), old;
    const unsigned rules = x->t == PTX_F64 ? CWJ_NATIVE_NAN : CWJ_NATIVE_NAN | CWJ_NATIVE_FTZ;
    bool s = type_is_signed(x->t), native_float = (x->t == PTX_F32 || x->t == PTX_F64) && (e->native_floats & rules) == rules;
    static const LLVMAtomicRMWBinOp ops[] = {
        [PTX_ATOM_AND] = LLVMAtomicRMWBinOpAnd, [PTX_ATOM_OR] = LLVMAtomicRMWBinOpOr, [PTX_ATOM_XOR] = LLVMAtomicRMWBinOpXor,
        [PTX_ATOM_EXCH] = LLVMAtomicRMWBinOpXchg, [PTX_ATOM_ADD] = LLVMAtomicRMWBinOpAdd, [PTX_ATOM_MIN] = LLVMAtomicRMWBinOpUMin,
        [PTX_ATOM_MAX] = LLVMAtomicRMWBinOpUMax, [PTX_ATOM_INC] = LLVMAtomicRMWBinOpUIncWrap, [PTX_ATOM_DEC] = LLVMAtomicRMWBinOpUDecWrap,
    };
    bool counts = in->atomop == PTX_ATOM_INC || in->atomop == PTX_ATOM_DEC;

    if (native_float && in->atomop == PTX_ATOM_ADD)
        return scoped(e, x, LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpFAdd, p, b, x->order, false));
    b = emit_bitcast(e, b, x->bits);
    if (x->t == PTX_B128 && e->target->swap128)     /* exch or cas */
        return emit_bitcast(e, e->target->swap128(e, p, in->atomop == PTX_ATOM_CAS ? emit_bitcast(e, b, x->bits) : NULL,
                                                  in->atomop == PTX_ATOM_CAS ? emit_bitcast(e, c, x->bits) : b), x->type);
    if (in->atomop == PTX_ATOM_CAS) {
        c = emit_bitcast(e, c, x->bits);
        old = scoped(e, x, LLVMBuildAtomicCmpXchg(e->b, p, b, c, x->order, failure_order(x->order), false));
        return emit_bitcast(e, LLVMBuildExtractValue(e->b, old, 0, ""), x->type);
    }
    if ((type_is_float(x->t) && in->atomop >= PTX_ATOM_ADD) || (counts && !e->target->counting_atomics)) {
        old = swap_loop(e, x, address, p, b);
    } else {
        LLVMAtomicRMWBinOp op = s && in->atomop == PTX_ATOM_MIN ? LLVMAtomicRMWBinOpMin : s && in->atomop == PTX_ATOM_MAX ? LLVMAtomicRMWBinOpMax
                                : ops[in->atomop];
        old = scoped(e, x, LLVMBuildAtomicRMW(e->b, op, p, b, x->order, false));
    }
    return emit_bitcast(e, old, x->type);
}

static void
all_elements(struct emit *e, const struct atomic *x, V address, const V *b, V c, V *old)
{
    unsigned size = LLVMGetIntTypeWidth(x->bits) / 8;

    for (unsigned i = 0; i < x->n; i++)
        old[i] = one_atomic(e, x, emit_element_address(e, address, i, size), b[i], c);
}

static void
atomic_lane(struct emit *e, V lane, void *user)
{
    const struct atomic *x = user;
    LLVMTypeRef vt = LLVMVectorType(x->type, e->width);
    V b[MAX_ELEMENTS], old[MAX_ELEMENTS], c = x->c ? LLVMBuildExtractElement(e->b, x->c, lane, "") : NULL;

    for (unsigned i = 0; i < x->n; i++)
        b[i] = LLVMBuildExtractElement(e->b, x->b[i], lane, "");
    all_elements(e, x, LLVMBuildExtractElement(e->b, x->address, lane, ""), b, c, old);
    for (unsigned i = 0; i < x->n; i++) {
        if (!x->slot[i])
            continue;
        V all = LLVMBuildLoad2(e->b, vt, x->slot[i], "");
        LLVMBuildStore(e->b, LLVMBuildInsertElement(e->b, all, old[i], lane, ""), x->slot[i]);
    }
}

/* atom, red */
void
emit_atomic(struct emit *e, const struct ptx_inst *in)
{
    unsigned at = in->op == PTX_OP_RED ? 0 : 1;
    const struct ptx_operand *dst = at ? &in->operand[0] : NULL, *src = &in->operand[at + 1];
    if (dst && dst->kind == PTX_OPND_SINK)
        dst = NULL;
    struct atomic x = { .in = in, .t = in->type[0], .n = src->kind == PTX_OPND_VEC ? src->count : 1 };
    x.space = emit_effective_space(in, &in->operand[at]);
    x.type = emit_type(e, x.t);
    x.bits = LLVMIntTypeInContext(e->llvm, ptx_type_bits(x.t));
    if (x.n > MAX_ELEMENTS) {
        emit_unsupported(e, in, "so many elements");
        return;
    }
    x.order = in->sem == PTX_SEM_ACQUIRE   ? LLVMAtomicOrderingAcquire
              : in->sem == PTX_SEM_RELEASE ? LLVMAtomicOrderingRelease
              : in->sem == PTX_SEM_ACQ_REL ? LLVMAtomicOrderingAcquireRelease
                                           : LLVMAtomicOrderingMonotonic;
    x.address = emit_splat(e, emit_address(e, &in->operand[at], x.space));
    for (unsigned i = 0; i < x.n; i++)
        x.b[i] = emit_splat(e, emit_operand(e, src->kind == PTX_OPND_VEC ? &src->elem[i] : src, x.t));
    if (in->atomop == PTX_ATOM_CAS)
        x.c = emit_splat(e, emit_operand(e, &in->operand[at + 2], x.t));

    emit_check_alignment(e, x.address, x.space, x.n * ptx_type_bits(x.t) / 8);
    V old[MAX_ELEMENTS];
    if (e->width == 1) {
        all_elements(e, &x, x.address, x.b, x.c, old);
    } else {
        LLVMTypeRef vt = LLVMVectorType(x.type, e->width);
        for (unsigned i = 0; dst && i < x.n; i++)
            x.slot[i] = emit_alloca(e, vt, 0, "atom");
        emit_for_lanes(e, e->mask, atomic_lane, &x);
        for (unsigned i = 0; dst && i < x.n; i++)
            old[i] = LLVMBuildLoad2(e->b, vt, x.slot[i], "");
    }
    for (unsigned i = 0; dst && i < x.n; i++)
        emit_dst_operand(e, dst->kind == PTX_OPND_VEC ? &dst->elem[i] : dst, x.t, old[i]);
}
