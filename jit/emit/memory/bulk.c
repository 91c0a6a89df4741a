/* SPDX-License-Identifier: Apache-2.0
 * Bulk copies and what came with them (9.7.9.25.4 ff.): st.async and red.async are a store and a reduction whose bytes an mbarrier object counts;
 * the others are run-time calls, one for each active lane. multimem: with one device, the addresses are those of its memory. */
#include "jit/abi/bulk.h"
#include "jit/emit/emit_private.h"
#include "jit/emit/arith/arith_private.h"

#include <string.h>

enum { MAX_ARGS = 12 };

struct lane_call {
    const char *name;
    V arg[MAX_ARGS];
    unsigned n;
};

static void
call_lane(struct emit *e, V lane, void *user)
{
    const struct lane_call *c = user;
    V args[MAX_ARGS];
    for (unsigned i = 0; i < c->n; i++)
        args[i] = emit_is_vector(c->arg[i]) ? LLVMBuildExtractElement(e->b, c->arg[i], lane, "") : c->arg[i];
    e->target->bulk(e, c->name, args, c->n);
}

static void
call_lanes(struct emit *e, const struct lane_call *c)
{
    if (e->width == 1)
        e->target->bulk(e, c->name, (V *)c->arg, c->n);
    else
        emit_for_lanes(e, e->mask, call_lane, (void *)c);
}

/* The generic address of operand i. */
static V
place(struct emit *e, const struct ptx_inst *in, unsigned i, unsigned space)
{
    const struct ptx_operand *o = &in->operand[i];
    if (!space)
        space = !o->has_reg && o->sym ? o->sym->space : PTX_SPACE_GENERIC;
    return e->target->to_generic(e, emit_address(e, o, (ptx_space)space), (ptx_space)space);
}

static V
i64(struct emit *e, uint64_t v)
{
    return LLVMConstInt(e->i64, v, false);
}

/* The blocks of a multicast; `at` counts the operand. */
static V
destinations(struct emit *e, const struct ptx_inst *in, unsigned *at)
{
    if (!(in->aux >> PTX_AUX_MULTICAST & 1))
        return i32(e, CWT_ONE_BLOCK);
    return emit_resize(e, emit_src(e, in, (*at)++, PTX_B16), e->i32, false);
}

void
emit_bulk_copy(struct emit *e, const struct ptx_inst *in)
{
    bool group = PTX_AUX(in, DONE) == PTX_DONE_GROUP;
    unsigned at = group ? 3 : 4;
    struct lane_call c = { "bulk_copy", { 0 }, 6 };
    c.arg[0] = place(e, in, 0, in->space);
    c.arg[1] = place(e, in, 1, PTX_AUX(in, SOURCE));
    c.arg[2] = emit_src(e, in, 2, PTX_U32);
    c.arg[3] = in->aux >> PTX_AUX_CP_MASK & 1 ? emit_resize(e, emit_src(e, in, in->noperands - 1u, PTX_B16), e->i32, false) : i32(e, 0xffff);
    c.arg[4] = group ? i64(e, 0) : place(e, in, 3, in->space);
    c.arg[5] = destinations(e, in, &at);
    call_lanes(e, &c);
}

void
emit_bulk_reduce(struct emit *e, const struct ptx_inst *in)
{
    struct lane_call c = { "bulk_reduce", { 0 }, 5 };
    c.arg[0] = place(e, in, 0, in->space);
    c.arg[1] = place(e, in, 1, PTX_AUX(in, SOURCE));
    c.arg[2] = emit_src(e, in, 2, PTX_U32);
    c.arg[3] = i32(e, (uint32_t)in->atomop << CWT_HOW_OP_SHIFT | (uint32_t)in->type[0] << CWT_HOW_TYPE_SHIFT);
    c.arg[4] = PTX_AUX(in, DONE) == PTX_DONE_GROUP ? i64(e, 0) : place(e, in, 3, in->space);
    call_lanes(e, &c);
}

void
emit_st_bulk(struct emit *e, const struct ptx_inst *in)
{
    struct lane_call c = { "bulk_fill", { place(e, in, 0, in->space), emit_src(e, in, 1, PTX_U64) }, 2 };
    call_lanes(e, &c);
}

/* cp.async.bulk.tensor, cp.reduce.async.bulk.tensor */
void
emit_bulk_tensor(struct emit *e, const struct ptx_inst *in)
{
    bool load = PTX_AUX(in, DONE) == PTX_DONE_MBARRIER;
    unsigned map = PTX_MAP_OPERAND(in), box = load ? 0 : 2, at = 4, tiling = PTX_AUX(in, TILING);
    const struct ptx_operand *coordinates = &in->operand[map + 1];
    ptx_space space = (ptx_space)(load ? in->space : PTX_AUX(in, SOURCE));
    struct lane_call c = { "bulk_tensor", { 0 }, 12 };
    if (tiling == PTX_IM2COL_W || tiling == PTX_IM2COL_W_128 || PTX_AUX(in, CTA_GROUP) == 2) {
        emit_unsupported(e, in, "forms of sm_100a");
        return;
    }
    c.arg[0] = place(e, in, map, PTX_SPACE_GENERIC);
    c.arg[1] = place(e, in, box, space);
    c.arg[2] = emit_resize(e, emit_address(e, &in->operand[box], space), e->i32, false);
    c.arg[3] = load ? place(e, in, 3, in->space) : i64(e, 0);
    for (unsigned d = 0; d < CWT_DIMS; d++)
        c.arg[4 + d] = d < coordinates->count ? emit_operand(e, &coordinates->elem[d], PTX_B32) : i32(e, 0);
    c.arg[9] = i64(e, 0);
    if (tiling == PTX_IM2COL) {
        const struct ptx_operand *offsets = &in->operand[at++];
        for (unsigned d = 0; d < offsets->count; d++) {
            V o = emit_resize(e, emit_operand(e, &offsets->elem[d], PTX_U16), e->i64, false);
            c.arg[9] = emit_bin(e, LLVMOr, c.arg[9], emit_bin(e, LLVMShl, o, emit_int_like(e, o, 16 * d)));
        }
    }
    c.arg[10] = i32(e, (uint32_t)in->atomop << CWT_HOW_OP_SHIFT | (uint32_t)tiling << CWT_HOW_TILING_SHIFT |
                       (in->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR ? CWT_HOW_REDUCE : load ? 0 : CWT_HOW_STORE));
    c.arg[11] = destinations(e, in, &at);
    call_lanes(e, &c);
}

void
emit_tensormap_replace(struct emit *e, const struct ptx_inst *in)
{
    unsigned field = PTX_AUX(in, FIELD), indexed = field >= CWT_BOX_DIM && field <= CWT_ELEMENT_STRIDE;
    ptx_type t = in->type[0] == PTX_B64 ? PTX_B64 : PTX_B32;
    struct lane_call c = { "bulk_replace", { place(e, in, 0, in->space), i32(e, field), indexed ? emit_src(e, in, 1, PTX_U32) : i32(e, 0),
                                             emit_resize(e, emit_src(e, in, 1 + indexed, t), e->i64, false) }, 4 };
    call_lanes(e, &c);
}

/* The lanes of a warp copy the same map to the same place. */
void
emit_tensormap_copy(struct emit *e, const struct ptx_inst *in)
{
    struct lane_call c = { "bulk_copy", { place(e, in, 0, in->space), place(e, in, 1, PTX_AUX(in, SOURCE)), i32(e, CWT_BYTES), i32(e, 0xffff), i64(e, 0),
                                          i32(e, CWT_ONE_BLOCK) }, 6 };
    call_lanes(e, &c);
}

/* The same operands for another opcode. */
static struct ptx_inst
alike(const struct ptx_inst *in, ptx_op op, unsigned noperands)
{
    struct ptx_inst as = *in;
    as.op = (uint16_t)op;
    as.aux = 0;
    as.noperands = (uint8_t)noperands;
    return as;
}

static void
count_bytes(struct emit *e, const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->operand[2];
    V object = e->target->mbarrier_object(e, o, emit_effective_space(in, o));
    e->target->mbarrier(e, CWH_MBARRIER_COMPLETE, object, i32(e, in->vec * ptx_type_bits((ptx_type)in->type[0]) / 8));
}

void
emit_st_async(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_inst store = alike(in, PTX_OP_ST, 2);
    if (in->sem == PTX_SEM_RELAXED)
        store.sem = PTX_SEM_NONE;       /* the bytes are visible to whom the mbarrier object tells of them */
    emit_st(e, &store);
    if (PTX_AUX(in, DONE) == PTX_DONE_MBARRIER)
        count_bytes(e, in);
}

void
emit_red_async(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_inst red = alike(in, PTX_OP_RED, 2);
    emit_atomic(e, &red);
    if (PTX_AUX(in, DONE) == PTX_DONE_MBARRIER)
        count_bytes(e, in);
}

void
emit_multimem(struct emit *e, const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_MULTIMEM_LD_REDUCE: {
        struct ptx_inst load = alike(in, PTX_OP_LD, 2);
        load.atomop = PTX_ATOM_NONE;
        emit_ld(e, &load);
        break;
    }
    case PTX_OP_MULTIMEM_ST: {
        struct ptx_inst store = alike(in, PTX_OP_ST, 2);
        emit_st(e, &store);
        break;
    }
    default: {
        struct ptx_inst red = alike(in, PTX_OP_RED, 2);
        emit_atomic(e, &red);
        break;
    }
    }
}

/* ---- clusterlaunchcontrol (9.7.13.17). The answer is four words: whether a launch was cancelled, and its first block's x, y and z. ---- */

void
emit_try_cancel(struct emit *e, const struct ptx_inst *in)
{
    struct lane_call c = { "bulk_cancel", { place(e, in, 0, in->space), place(e, in, 1, in->space) }, 2 };
    if (in->aux >> PTX_AUX_CANCEL_ALL & 1) {
        emit_unsupported(e, in, "forms of sm_100a");
        return;
    }
    call_lanes(e, &c);
}

static V
answer_word(struct emit *e, V answer, unsigned i)
{
    return emit_resize(e, emit_bin(e, LLVMLShr, answer, emit_int_like(e, answer, 32 * i)), e->i32, false);
}

void
emit_query_cancel(struct emit *e, const struct ptx_inst *in)
{
    V answer = emit_src(e, in, 1, PTX_B128);
    unsigned what = PTX_AUX(in, ANSWER);
    const struct ptx_operand *d = &in->operand[0];
    if (what == PTX_IS_CANCELED) {
        V word = answer_word(e, answer, 0);
        emit_dst(e, in, 0, PTX_PRED, emit_icmp(e, LLVMIntNE, word, emit_int_like(e, word, 0)));
    } else if (what != PTX_FIRST_CTAID) {
        emit_dst(e, in, 0, PTX_B32, answer_word(e, answer, 1 + what - PTX_FIRST_CTAID_X));
    } else {
        for (unsigned i = 0; i < 4 && d->kind == PTX_OPND_VEC; i++)
            if (d->elem[i].kind == PTX_OPND_REG)
                emit_dst_operand(e, &d->elem[i], PTX_B32, answer_word(e, answer, i < 3 ? 1 + i : 0));
    }
}
