/* SPDX-License-Identifier: Apache-2.0
 * Matrix instructions on the host device (9.7.14): fragments go through memory to the engine's arithmetic (impl/host/matrix.c). A warp-wide
 * gang passes whole registers. With width 1, lanes publish where their fragments are, and each computes its part; they join again before
 * one may reuse the scratch memory. */
#include "jit/emit/target/host/host_private.h"
#include "jit/ptx/matrix.h"

enum { SCRATCH_A, SCRATCH_B, SCRATCH_C, SCRATCH_D, SCRATCH_VALUES };

/* Scratch for 8 registers of 64 bits per lane, shared by all matrix instructions of the function. */
static LLVMValueRef
scratch(struct emit *e, unsigned which)
{
    LLVMValueRef *r = &e->f->matrix[which];
    unsigned n = which == SCRATCH_VALUES ? 32 : e->width == 1 ? 32 : 8 * 32;
    if (!*r)
        *r = emit_alloca(e, LLVMArrayType(e->i64, n), 64, "matrix");
    return *r;
}

/* The instruction as constant data of the module. */
static LLVMValueRef
describe(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, unsigned fragment)
{
    struct cwh_matrix x = ptx_matrix_form(in, m);
    x.round = in->round;
    x.fragment = (uint8_t)fragment;
    x.trans = in->aux >> PTX_AUX_MTRANS & 1;
    x.width = (uint8_t)e->width;
    return emit_constant(e, "matrix", &x, sizeof x, 8, LLVMPrivateLinkage);
}

/* The type with which a fragment's register is read and written: small elements are packed into 32 bits. */
static ptx_type
register_type(uint8_t t)
{
    return t == PTX_F32 ? PTX_F32 : t == PTX_F64 ? PTX_F64 : PTX_B32;
}

static LLVMTypeRef
word_type(struct emit *e, uint8_t t)
{
    return t == PTX_F64 ? e->i64 : e->i32;
}

static LLVMValueRef
slot(struct emit *e, LLVMValueRef array, unsigned i, LLVMTypeRef word, unsigned step)
{
    LLVMValueRef idx = LLVMConstInt(e->i64, (uint64_t)i * step, false);
    return LLVMBuildGEP2(e->b, word, array, &idx, 1, "");
}

/* Store the registers of a fragment of type t, or a single one, to an array from slot `at` on. Width 1: 64 bits each, if `wide`. */
static void
put(struct emit *e, LLVMValueRef array, unsigned at, const struct ptx_operand *o, uint8_t t, bool wide)
{
    LLVMTypeRef word = word_type(e, t);
    const struct ptx_operand *elem = o->kind == PTX_OPND_VEC ? o->elem : o;
    for (unsigned i = 0; i < (o->kind == PTX_OPND_VEC ? o->count : 1u); i++) {
        LLVMValueRef v = emit_bitcast(e, emit_operand(e, &elem[i], register_type(t)), word), st;
        if (wide)
            st = LLVMBuildStore(e->b, emit_resize(e, v, e->i64, false), slot(e, array, at + i, e->i64, 1));
        else
            st = LLVMBuildStore(e->b, emit_splat(e, v), slot(e, array, at + i, word, e->width));
        LLVMSetAlignment(st, wide ? 8 : t == PTX_F64 ? 8 : 4);
    }
}

static void
take(struct emit *e, LLVMValueRef array, const struct ptx_operand *o, uint8_t t)
{
    LLVMTypeRef word = word_type(e, t), vt = e->width == 1 ? word : LLVMVectorType(word, e->width);
    ptx_type rt = register_type(t);
    for (unsigned i = 0; i < o->count; i++) {
        LLVMValueRef v = LLVMBuildLoad2(e->b, vt, slot(e, array, i, word, e->width), "");
        LLVMSetAlignment(v, t == PTX_F64 ? 8 : 4);
        emit_dst_operand(e, &o->elem[i], rt, emit_bitcast(e, v, emit_type(e, rt)));
    }
}

/* Width 1: join the other lanes of the warp. */
static LLVMValueRef
exchange(struct emit *e, LLVMValueRef value)
{
    LLVMValueRef values = scratch(e, SCRATCH_VALUES);
    host_exchange_all(e, value, values);
    return values;
}

void
emit_host_mma(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_matrix m;
    const char *why = ptx_matrix_mma(in, &m);
    if (why) {
        emit_unsupported(e, in, why);
        return;
    }
    bool sparse = m.chunk;          /* the metadata are behind the last fragment (width 1), or behind A */
    LLVMValueRef what = describe(e, in, &m, sparse ? (unsigned)in->operand[5].imm : 0), d = scratch(e, SCRATCH_D);
    if (e->width == 1) {
        LLVMValueRef mine = scratch(e, SCRATCH_A);
        put(e, mine, 0, &in->operand[1], m.a, true);
        put(e, mine, m.na, &in->operand[2], m.b, true);
        put(e, mine, m.na + m.nb, &in->operand[3], m.c, true);
        if (sparse)
            put(e, mine, m.na + m.nb + m.nc, &in->operand[4], PTX_B32, true);
        LLVMValueRef all = exchange(e, LLVMBuildPtrToInt(e->b, mine, e->i64, ""));
        emit_runtime(e, "cwh_rt_mma_lane", e->void_, VALUES(e->f->gang, what, all, emit_sreg(e, PTX_SREG_LANEID), d));
        exchange(e, LLVMConstNull(e->i64));
    } else {
        LLVMValueRef a = scratch(e, SCRATCH_A), b = scratch(e, SCRATCH_B), c = scratch(e, SCRATCH_C);
        put(e, a, 0, &in->operand[1], m.a, false);
        put(e, b, 0, &in->operand[2], m.b, false);
        put(e, c, 0, &in->operand[3], m.c, false);
        if (sparse)
            put(e, a, m.na, &in->operand[4], PTX_B32, false);
        emit_runtime(e, "cwh_rt_mma", e->void_, VALUES(e->f->gang, what, a, b, c, d));
    }
    take(e, d, &in->operand[0], m.d);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

static LLVMValueRef
host_address(struct emit *e, const struct ptx_inst *in, const struct ptx_operand *o)
{
    ptx_space space = (ptx_space)in->space;
    if (space == PTX_SPACE_GENERIC && !o->has_reg && o->sym && o->sym->kind == PTX_SYM_VAR && o->sym->space == PTX_SPACE_SHARED)
        space = PTX_SPACE_SHARED;
    LLVMValueRef a = emit_address(e, o, space);
    return space == PTX_SPACE_SHARED ? e->target->to_generic(e, a, space) : a;
}

/* The uniform value, from the first active lane. */
static LLVMValueRef
one_of(struct emit *e, LLVMValueRef v)
{
    if (!emit_is_vector(v))
        return v;
    LLVMValueRef bits = emit_mask_bits(e, e->mask), lane = emit_intrinsic(e, "llvm.cttz", &bits, 1, 0);
    return LLVMBuildExtractElement(e->b, v, LLVMBuildAnd(e->b, lane, i32(e, 31), ""), "");
}

static LLVMValueRef
active(struct emit *e)
{
    LLVMValueRef bits = e->width == 1 ? LLVMBuildShl(e->b, i32(e, 1), emit_sreg(e, PTX_SREG_LANEID), "") : emit_mask_bits(e, e->mask);
    return LLVMBuildZExt(e->b, bits, e->i64, "");
}

static void
move(struct emit *e, LLVMValueRef what, LLVMValueRef addresses, LLVMValueRef stride, LLVMValueRef registers)
{
    emit_runtime(e, "cwh_rt_matrix_move", e->void_, VALUES(e->f->gang, what, active(e), addresses, stride, registers));
}

void
emit_host_fragment(struct emit *e, const struct ptx_inst *in)
{
    bool load = in->op == PTX_OP_WMMA_LOAD;
    struct ptx_matrix m;
    unsigned fragment;
    const char *why = ptx_matrix_fragment(in, &m, &fragment);
    if (why) {
        emit_unsupported(e, in, why);
        return;
    }
    m.a = m.b = m.c = m.d;
    unsigned rows = fragment == 1 ? m.k : m.m, cols = fragment == 0 ? m.k : m.n;
    LLVMValueRef address = one_of(e, host_address(e, in, &in->operand[load ? 1 : 0]));
    LLVMValueRef stride = in->noperands > 2 ? one_of(e, emit_src(e, in, 2, PTX_U32)) : i32(e, m.a_col ? rows : cols);
    LLVMValueRef registers = scratch(e, SCRATCH_D), addresses = scratch(e, SCRATCH_VALUES);
    if (e->width == 1)
        exchange(e, LLVMConstNull(e->i64));     /* in lockstep with the others' accesses */
    LLVMBuildStore(e->b, address, addresses);
    if (!load)
        put(e, registers, 0, &in->operand[1], m.d, false);
    move(e, describe(e, in, &m, fragment), addresses, stride, registers);
    if (load)
        take(e, registers, &in->operand[0], m.d);
}

void
emit_host_matrix_rows(struct emit *e, const struct ptx_inst *in)
{
    bool load = in->op == PTX_OP_LDMATRIX;
    struct ptx_matrix m = { .m = 8, .n = 8, .d = PTX_B32, .nd = (uint8_t)ptx_matrix_count(in) };
    LLVMValueRef address = host_address(e, in, &in->operand[load ? 1 : 0]), registers = scratch(e, SCRATCH_D), addresses;
    if (e->width == 1) {
        addresses = exchange(e, address);
    } else {
        addresses = scratch(e, SCRATCH_VALUES);
        LLVMSetAlignment(LLVMBuildStore(e->b, emit_splat(e, address), addresses), 8);
    }
    if (!load)
        put(e, registers, 0, &in->operand[1], PTX_B32, false);
    move(e, describe(e, in, &m, 0), addresses, i32(e, 0), registers);
    if (load)
        take(e, registers, &in->operand[0], PTX_B32);
}

/* Element (row, column) of the 8 x 8 matrix is half `column % 2` of lane 4 * row + column / 2. */
void
emit_host_movmatrix(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef v = emit_src(e, in, 1, PTX_B32);
    if (e->width == 1) {
        LLVMValueRef all = exchange(e, emit_resize(e, v, e->i64, false)), lane = emit_sreg(e, PTX_SREG_LANEID), r = NULL;
        LLVMValueRef row = LLVMBuildLShr(e->b, lane, i32(e, 2), ""), col = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, lane, i32(e, 3), ""), i32(e, 1), "");
        for (unsigned h = 0; h < 2; h++) {
            LLVMValueRef from = LLVMBuildAdd(e->b, LLVMBuildShl(e->b, LLVMBuildOr(e->b, col, i32(e, h), ""), i32(e, 2), ""),
                                             LLVMBuildLShr(e->b, row, i32(e, 1), ""), "");
            LLVMValueRef word = LLVMBuildTrunc(e->b, LLVMBuildLoad2(e->b, e->i64, LLVMBuildGEP2(e->b, e->i64, all, &from, 1, ""), ""), e->i32, "");
            LLVMValueRef shift = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, row, i32(e, 1), ""), i32(e, 4), "");
            word = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, word, shift, ""), i32(e, 0xffff), "");
            r = h ? LLVMBuildOr(e->b, r, LLVMBuildShl(e->b, word, i32(e, 16), ""), "") : word;
        }
        emit_dst(e, in, 0, PTX_B32, r);
        return;
    }
    LLVMTypeRef halves = LLVMVectorType(e->i16, 64);
    LLVMValueRef order[64];
    for (unsigned i = 0; i < 64; i++) {
        unsigned row = i / 8, col = i % 8;
        order[i] = i32(e, col * 8 + row);
    }
    v = LLVMBuildBitCast(e->b, emit_splat(e, v), halves, "");
    v = LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(halves), LLVMConstVector(order, 64), "");
    emit_dst(e, in, 0, PTX_B32, LLVMBuildBitCast(e->b, v, LLVMVectorType(e->i32, 32), ""));
}
