/* SPDX-License-Identifier: Apache-2.0
 * Warp-level operations and barriers on the host device (9.7.9.5, 9.7.13).
 *
 * In vector shape the gang is the warp: lanes communicate by shuffles and mask words. With width 1 every lane is a thread of execution of
 * its own, and they join in cwh_rt_warp_exchange. */
#include "jit/emit/target/host/host_private.h"

#include <string.h>

/* ---- width 1: join the other lanes --------------------------------------------------------------------------------- */

struct join {
    LLVMValueRef arrived;           /* i32: lanes that took part */
    LLVMValueRef values;            /* ptr to 32 u64 */
};

/* Lanes join those at the same site with the same members. */
static struct join
join_at(struct emit *e, uint32_t site, LLVMValueRef members, LLVMValueRef value)
{
    struct join m = { .values = emit_alloca(e, LLVMArrayType(e->i64, 32), 8, "values") };
    m.arrived = host_exchange(e, site, members, emit_resize(e, value, e->i64, false), m.values);
    return m;
}

static struct join
join(struct emit *e, LLVMValueRef members, LLVMValueRef value)
{
    return join_at(e, emit_session(e)->sites++, members, value);
}

static LLVMValueRef
value_of(struct emit *e, const struct join *m, LLVMValueRef lane)
{
    LLVMValueRef p = LLVMBuildGEP2(e->b, e->i64, m->values, &lane, 1, "");
    return LLVMBuildLoad2(e->b, e->i64, p, "");
}

/* Bits of the lanes whose published value satisfies the condition: a true predicate (like == NULL), or equality with `like`. */
static LLVMValueRef
collect(struct emit *e, const struct join *m, LLVMValueRef like)
{
    LLVMValueRef bits = i32(e, 0);
    for (unsigned i = 0; i < 32; i++) {
        LLVMValueRef v = value_of(e, m, i32(e, i));
        LLVMValueRef c = like ? LLVMBuildICmp(e->b, LLVMIntEQ, v, like, "")
                              : LLVMBuildICmp(e->b, LLVMIntNE, v, LLVMConstNull(e->i64), "");
        bits = LLVMBuildOr(e->b, bits, LLVMBuildShl(e->b, LLVMBuildZExt(e->b, c, e->i32, ""), i32(e, i), ""), "");
    }
    return LLVMBuildAnd(e->b, bits, m->arrived, "");
}

/* ---- helpers --------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef
permute(struct emit *e, LLVMValueRef v, LLVMValueRef from)
{
    from = emit_splat(e, from);
    LLVMTypeRef vt = LLVMTypeOf(v);
    if (LLVMIsConstant(from))
        return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(vt), from, "");
    LLVMValueRef slot = emit_alloca(e, vt, 0, "shuffle"), out = LLVMGetPoison(vt);
    LLVMBuildStore(e->b, v, slot);
    for (unsigned i = 0; i < e->width; i++) {
        LLVMValueRef j = LLVMBuildExtractElement(e->b, from, i32(e, i), "");
        LLVMValueRef x = LLVMBuildLoad2(e->b, e->i32, LLVMBuildGEP2(e->b, e->i32, slot, &j, 1, ""), "");
        out = LLVMBuildInsertElement(e->b, out, x, i32(e, i), "");
    }
    return out;
}

void
emit_host_shfl(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef a = emit_src(e, in, 1, PTX_B32), b = emit_src(e, in, 2, PTX_U32), c = emit_src(e, in, 3, PTX_U32);
    LLVMValueRef valid, r, from;
    if (e->width == 1) {
        LLVMValueRef members = in->flags & PTX_F_SYNC ? emit_src(e, in, 4, PTX_U32) : i32(e, 0);
        from = emit_shuffle_source(e, in, emit_sreg(e, PTX_SREG_LANEID), b, c, &valid);
        struct join m = join(e, members, a);
        r = LLVMBuildTrunc(e->b, value_of(e, &m, from), e->i32, "");
    } else {
        from = emit_shuffle_source(e, in, emit_iota(e, e->i32), b, c, &valid);
        r = permute(e, emit_splat(e, a), from);
    }
    emit_dst_pair(e, &in->operand[0], PTX_B32, r, valid);
}

static LLVMValueRef
member_mask(struct emit *e, const struct ptx_inst *in, unsigned i)
{
    return in->flags & PTX_F_SYNC ? emit_src(e, in, i, PTX_U32) : e->width == 1 ? i32(e, 0) : i32(e, ~0u);
}

void
emit_host_vote(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef p = emit_src(e, in, 1, PTX_PRED), members = member_mask(e, in, 2), set, active;
    if (e->width == 1) {
        struct join m = join(e, members, p);
        set = collect(e, &m, NULL);
        active = m.arrived;
    } else {
        active = emit_bin(e, LLVMAnd, emit_mask_bits(e, e->mask), members);
        set = emit_bin(e, LLVMAnd, emit_mask_bits(e, emit_splat(e, p)), active);
    }
    emit_vote(e, in, set, active);
}

struct match {
    LLVMValueRef a, active, slot;
};

static void
match_lane(struct emit *e, LLVMValueRef lane, void *user)
{
    struct match *x = user;
    LLVMTypeRef vt = LLVMVectorType(e->i32, e->width);
    LLVMValueRef one = LLVMBuildExtractElement(e->b, x->a, lane, "");
    LLVMValueRef bits = emit_mask_bits(e, emit_icmp(e, LLVMIntEQ, x->a, one));
    if (emit_is_vector(x->active))
        bits = LLVMBuildAnd(e->b, bits, LLVMBuildExtractElement(e->b, x->active, lane, ""), "");
    else
        bits = LLVMBuildAnd(e->b, bits, x->active, "");
    LLVMValueRef old = LLVMBuildLoad2(e->b, vt, x->slot, "");
    LLVMBuildStore(e->b, LLVMBuildInsertElement(e->b, old, bits, lane, ""), x->slot);
}

void
emit_host_match(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef a = emit_src(e, in, 1, (ptx_type)in->type[0]), members = member_mask(e, in, 2), same, active;
    if (e->width == 1) {
        struct join m = join(e, members, a);
        same = collect(e, &m, emit_resize(e, a, e->i64, false));
        active = m.arrived;
    } else {
        active = emit_bin(e, LLVMAnd, emit_mask_bits(e, e->mask), members);
        struct match x = { emit_splat(e, a), active, emit_alloca(e, LLVMVectorType(e->i32, e->width), 0, "match") };
        emit_for_lanes(e, e->mask, match_lane, &x);
        same = LLVMBuildLoad2(e->b, LLVMVectorType(e->i32, e->width), x.slot, "");
    }
    emit_match(e, in, same, active);
}

/* Combine all lanes of the vector `a` in order. */
static LLVMValueRef
fold(struct emit *e, const struct ptx_inst *in, LLVMValueRef a)
{
    LLVMValueRef r = emit_redux_identity(e, in);
    for (unsigned i = 0; i < e->width; i++)
        r = emit_redux_step(e, in, r, LLVMBuildExtractElement(e->b, a, i32(e, i), ""));
    return r;
}

struct redux {
    const struct ptx_inst *in;
    LLVMValueRef a, members, mask_bits, slot;
};

/* Groups of lanes with different member masks may execute the instruction together. */
static void
redux_lane(struct emit *e, LLVMValueRef lane, void *user)
{
    struct redux *x = user;
    LLVMTypeRef vt = LLVMVectorType(e->i32, e->width);
    LLVMValueRef bits = LLVMBuildAnd(e->b, LLVMBuildExtractElement(e->b, x->members, lane, ""), x->mask_bits, "");
    LLVMValueRef mine = emit_select(e, emit_mask_from_bits(e, bits), x->a, emit_splat(e, emit_redux_identity(e, x->in)));
    LLVMValueRef old = LLVMBuildLoad2(e->b, vt, x->slot, "");
    LLVMBuildStore(e->b, LLVMBuildInsertElement(e->b, old, fold(e, x->in, mine), lane, ""), x->slot);
}

void
emit_host_redux(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    if (ptx_type_class(t) == PTX_CLASS_FLOAT) {
        emit_unsupported(e, in, "redux on floats needs sm_100");
        return;
    }
    LLVMValueRef a = emit_src(e, in, 1, t), members = member_mask(e, in, 2);
    LLVMValueRef identity = emit_redux_identity(e, in);
    LLVMValueRef r = identity, active;
    struct join m = { 0 };
    if (e->width == 1) {
        m = join(e, members, a);
        active = m.arrived;
    } else {
        if (emit_is_vector(members)) {
            LLVMTypeRef vt = LLVMVectorType(e->i32, e->width);
            struct redux x = { in, emit_splat(e, a), members, emit_mask_bits(e, e->mask), emit_alloca(e, vt, 0, "redux") };
            emit_for_lanes(e, e->mask, redux_lane, &x);
            emit_dst(e, in, 0, t, LLVMBuildLoad2(e->b, vt, x.slot, ""));
            return;
        }
        active = emit_bin(e, LLVMAnd, emit_mask_bits(e, e->mask), members);
        a = emit_select(e, emit_mask_from_bits(e, active), emit_splat(e, a), identity);
    }
    for (unsigned i = 0; i < 32; i++) {
        LLVMValueRef v;
        if (e->width == 1) {
            LLVMValueRef in_it = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, active, i32(e, i), ""), e->i1, "");
            v = LLVMBuildSelect(e->b, in_it, LLVMBuildTrunc(e->b, value_of(e, &m, i32(e, i)), e->i32, ""), identity, "");
        } else {
            v = LLVMBuildExtractElement(e->b, a, i32(e, i), "");
        }
        r = emit_redux_step(e, in, r, v);
    }
    emit_dst(e, in, 0, t, r);
}

void
emit_host_activemask(struct emit *e, const struct ptx_inst *in)
{
    if (e->width == 1) {
        struct join m = join(e, i32(e, 0), i32(e, 0));
        emit_dst(e, in, 0, PTX_B32, m.arrived);
    } else {
        emit_dst(e, in, 0, PTX_B32, emit_mask_bits(e, e->mask));
    }
}

/* bar.warp.sync */
void
emit_host_warp_sync(struct emit *e, const struct ptx_inst *in)
{
    if (e->width == 1)
        join_at(e, UINT32_MAX, emit_src(e, in, 0, PTX_U32), i32(e, 0));     /* any pairs with any (9.7.13) */
    else
        LLVMBuildFence(e->b, LLVMAtomicOrderingAcquireRelease, true, "");
}

/* ---- barriers ------------------------------------------------------------------------------------------------------------- */

void
emit_host_barrier(struct emit *e, const struct ptx_inst *in)
{
    emit_session(e)->uses_fibers = true;
    if (in->op == PTX_OP_BARRIER && !(in->flags & PTX_F_ALIGNED) && e->width > 1 && e->f->flow.masked[e->f->block])
        emit_session(e)->split_barriers++;
    unsigned at = in->mode == PTX_MODE_RED ? 1 : 0;
    LLVMValueRef id = at < in->noperands ? emit_src(e, in, at, PTX_U32) : i32(e, 0), count = i32(e, 0);
    unsigned next = at + 1;
    bool red = in->mode == PTX_MODE_RED;
    if (next < in->noperands && in->operand[next].kind != PTX_OPND_NONE && !(red && next + 1 == in->noperands))
        count = emit_src(e, in, next++, PTX_U32);
    if (emit_is_vector(id) || emit_is_vector(count)) {
        /* In sensible programs all threads of a warp name the same barrier: take the first lane's. */
        LLVMValueRef bits = emit_mask_bits(e, e->mask), lane = emit_intrinsic(e, "llvm.cttz", &bits, 1, 1);
        if (emit_is_vector(id))
            id = LLVMBuildExtractElement(e->b, id, lane, "");
        if (emit_is_vector(count))
            count = LLVMBuildExtractElement(e->b, count, lane, "");
    }
    LLVMValueRef mask = host_active(e);
    if (red) {
        LLVMValueRef p = emit_src(e, in, in->noperands - 1, PTX_PRED);
        LLVMValueRef preds = LLVMBuildZExt(e->b, emit_mask_bits(e, emit_mask_and(e, e->width > 1 ? e->mask : NULL, emit_splat(e, p))), e->i64, "");
        LLVMValueRef r = emit_runtime(e, "cwh_rt_bar_red", e->i32, VALUES(e->f->gang, i32(e, in->boolop), id, count, mask, preds));
        if (in->boolop == PTX_BOOL_POPC)
            emit_dst(e, in, 0, PTX_U32, r);
        else
            emit_dst(e, in, 0, PTX_PRED, LLVMBuildICmp(e->b, LLVMIntNE, r, i32(e, 0), ""));
        return;
    }
    emit_runtime(e, in->mode == PTX_MODE_ARRIVE ? "cwh_rt_barrier_arrive" : "cwh_rt_barrier", e->void_, VALUES(e->f->gang, id, count, mask));
}
