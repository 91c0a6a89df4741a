/* SPDX-License-Identifier: Apache-2.0
 * Fragments on amdgcn (9.7.14): ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store. Each lane moves its own elements; values of other
 * lanes come by permutations inside the warp. mma.c has the products. */
#include "jit/emit/target/amdgcn/matrix.h"

/* ---- layout of fragments (docs/matrix.md; a lane is 4g + t) -------------------------------------------------------------- */

unsigned
gcn_matrix_words(unsigned k, uint8_t type)
{
    unsigned bits = ptx_type_bits((ptx_type)type);
    return k * bits / 32 / (bits == 64 ? 2 : 1);
}

/* An operand of 16 rows (columns) or more consists of blocks of 16, whose registers alternate between rows g and g + 8. A of m8n32k16 has
 * the layout of the other shapes' B, and B that of their A. */
struct gcn_place
gcn_matrix_place(const struct ptx_matrix *m, bool b, uint8_t type, unsigned reg)
{
    unsigned q = gcn_matrix_words(m->k, type) / 4;      /* in quarters of a row: registers per row */
    if (b ? m->n == 32 : m->m >= 16)
        return (struct gcn_place){ 16 * (reg / (2 * q)) + 8 * (reg % 2), reg % (2 * q) / 2 };
    return (struct gcn_place){ 8 * (reg / q), reg % q };
}

unsigned
gcn_matrix_registers(const struct ptx_matrix *m, bool b, uint8_t type)
{
    return (b ? m->n : m->m) / 8u * (gcn_matrix_words(m->k, type) / 4);
}

V
gcn_of_quad(struct emit *e, V v, unsigned n)
{
    return emit_intrinsic_of(e, "llvm.amdgcn.update.dpp", &e->i32, 1, VALUES(v, v, i32(e, n * 0x55), i32(e, 15), i32(e, 15), LLVMConstInt(e->i1, 1, false)));
}

V
gcn_long_word(struct emit *e, const struct gcn_operand *o, const V *regs, unsigned i, unsigned w)
{
    for (unsigned r = 0; r < gcn_matrix_registers(o->m, o->b, o->type); r++) {
        struct gcn_place p = gcn_matrix_place(o->m, o->b, o->type, r);
        if (p.row == 8 * i && p.quarter == w / 4)
            return gcn_of_quad(e, regs[r], w % 4);
    }
    return NULL;
}

struct gcn_short
gcn_short(struct emit *e, V j)
{
    V t = LLVMBuildAnd(e->b, gcn_lane(e), i32(e, 3), ""), odd = LLVMBuildAnd(e->b, j, i32(e, 1), "");
    V lane = LLVMBuildAdd(e->b, LLVMBuildShl(e->b, t, i32(e, 3), ""), LLVMBuildShl(e->b, odd, i32(e, 2), ""), "");
    return (struct gcn_short){ lane, LLVMBuildICmp(e->b, LLVMIntUGE, j, i32(e, 2), "") };
}

V
gcn_short_word(struct emit *e, const struct gcn_operand *o, const V *regs, const struct gcn_short *at, unsigned w)
{
    V of[2] = { NULL };
    for (unsigned r = 0; r < gcn_matrix_registers(o->m, o->b, o->type); r++) {
        struct gcn_place p = gcn_matrix_place(o->m, o->b, o->type, r);
        if (p.quarter == w / 4)
            of[p.row / 8] = regs[r];
    }
    V v = of[1] ? LLVMBuildSelect(e->b, at->second, of[1], of[0], "") : of[0];
    return gcn_from_lane(e, v, LLVMBuildAdd(e->b, at->lane, i32(e, w % 4), ""));
}

/* ---- ldmatrix, stmatrix, movmatrix ---------------------------------------------------------------------------------------- */

/* The address in lane `lane` of the warp. */
static V
address_of_lane(struct emit *e, V address, V lane, ptx_space space)
{
    V lo = gcn_from_lane(e, emit_low_half(e, address), lane);
    if (space == PTX_SPACE_SHARED)
        return LLVMBuildZExt(e->b, lo, e->i64, "");
    V hi = gcn_from_lane(e, emit_high_half(e, address), lane), c32 = LLVMConstInt(e->i64, 32, false);
    return LLVMBuildOr(e->b, LLVMBuildShl(e->b, LLVMBuildZExt(e->b, hi, e->i64, ""), c32, ""), LLVMBuildZExt(e->b, lo, e->i64, ""), "");
}

static V
plus(struct emit *e, V address, V offset)
{
    return LLVMBuildAdd(e->b, address, LLVMBuildZExt(e->b, offset, e->i64, ""), "");
}

static V
half_of(struct emit *e, V word, unsigned h)
{
    return LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, word, i32(e, 16 * h), ""), e->i16, "");
}

static V
join(struct emit *e, V lo, V hi)
{
    return LLVMBuildOr(e->b, LLVMBuildZExt(e->b, lo, e->i32, ""), LLVMBuildShl(e->b, LLVMBuildZExt(e->b, hi, e->i32, ""), i32(e, 16), ""), "");
}

/* Lane 8j + i has the address of row i of matrix j. This lane's word is at byte 4t of row g; transposed, its halves are at byte 2g of rows
 * 2t and 2t + 1. */
void
emit_gcn_matrix_rows(struct emit *e, const struct ptx_inst *in)
{
    bool load = in->op == PTX_OP_LDMATRIX, trans = in->aux >> PTX_AUX_MTRANS & 1;
    const struct ptx_operand *o = &in->operand[load ? 1 : 0], *regs = &in->operand[load ? 0 : 1];
    ptx_space space = emit_effective_space(in, o);
    V address = emit_address(e, o, space), lane = gcn_lane(e), value[4] = { NULL };
    V g = LLVMBuildLShr(e->b, lane, i32(e, 2), ""), t = LLVMBuildAnd(e->b, lane, i32(e, 3), "");
    unsigned count = ptx_matrix_count(in);
    for (unsigned j = 0; j < count; j++) {
        V word = load ? NULL : emit_operand(e, &regs->elem[j], PTX_B32);
        if (!trans) {
            V from = LLVMBuildAdd(e->b, g, i32(e, 8 * j), "");
            V at = plus(e, address_of_lane(e, address, from, space), LLVMBuildShl(e->b, t, i32(e, 2), ""));
            if (load)
                value[j] = emit_load(e, at, e->i32, space, 4);
            else
                emit_store(e, at, word, space, 4);
            continue;
        }
        V half[2];
        for (unsigned h = 0; h < 2; h++) {
            V from = LLVMBuildAdd(e->b, LLVMBuildShl(e->b, t, i32(e, 1), ""), i32(e, 8 * j + h), "");
            V at = plus(e, address_of_lane(e, address, from, space), LLVMBuildShl(e->b, g, i32(e, 1), ""));
            if (load)
                half[h] = emit_load(e, at, e->i16, space, 2);
            else
                emit_store(e, at, half_of(e, word, h), space, 2);
        }
        if (load)
            value[j] = join(e, half[0], half[1]);
    }
    for (unsigned j = 0; load && j < count; j++)
        emit_dst_operand(e, &regs->elem[j], PTX_B32, value[j]);
}

/* Element (row, column) of the 8 x 8 matrix is half column % 2 of lane 4 * row + column / 2. This lane gets row g of the transposed matrix:
 * half g % 2 of the lanes 4 * (2t) + g / 2 and 4 * (2t + 1) + g / 2. */
void
emit_gcn_movmatrix(struct emit *e, const struct ptx_inst *in)
{
    V v = emit_src(e, in, 1, PTX_B32), lane = gcn_lane(e), half[2];
    V g = LLVMBuildLShr(e->b, lane, i32(e, 2), ""), t = LLVMBuildAnd(e->b, lane, i32(e, 3), "");
    V shift = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, g, i32(e, 1), ""), i32(e, 4), "");
    for (unsigned h = 0; h < 2; h++) {
        V from = LLVMBuildAdd(e->b, LLVMBuildShl(e->b, t, i32(e, 3), ""), i32(e, 4 * h), "");
        V word = gcn_from_lane(e, v, LLVMBuildAdd(e->b, from, LLVMBuildLShr(e->b, g, i32(e, 1), ""), ""));
        half[h] = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, word, shift, ""), e->i16, "");
    }
    emit_dst(e, in, 0, PTX_B32, join(e, half[0], half[1]));
}

/* ---- wmma.load, wmma.store --------------------------------------------------------------------------------------------------- */

struct fragment {
    const struct ptx_inst *in;
    const struct ptx_operand *regs;
    ptx_space space;
    V base, stride;             /* i64 bytes; i64 elements */
    unsigned bits;
    bool load;
};

static V
element_address(struct emit *e, const struct fragment *f, V major, V minor)
{
    V i = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, major, e->i64, ""), f->stride, "");
    i = LLVMBuildAdd(e->b, i, LLVMBuildZExt(e->b, minor, e->i64, ""), "");
    V bytes = f->bits < 8 ? LLVMBuildLShr(e->b, i, LLVMConstInt(e->i64, f->bits == 4 ? 1 : 3, false), "")
                          : LLVMBuildMul(e->b, i, LLVMConstInt(e->i64, f->bits / 8, false), "");
    return LLVMBuildAdd(e->b, f->base, bytes, "");
}

/* One element, or one word of several, at bit `at` of register r. */
static V
move(struct emit *e, const struct fragment *f, unsigned r, V so_far, V address, unsigned bits, unsigned at)
{
    LLVMTypeRef part = LLVMIntTypeInContext(e->llvm, bits), word = f->bits == 64 ? e->i64 : e->i32;
    ptx_type t = f->bits == 64 ? PTX_B64 : PTX_B32;
    if (f->load) {
        V v = emit_load(e, address, part, f->space, bits / 8);
        if (bits < 32)
            v = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, v, e->i32, ""), i32(e, at), "");
        return so_far ? LLVMBuildOr(e->b, so_far, v, "") : v;
    }
    V v = emit_bitcast(e, emit_operand(e, &f->regs->elem[r], t), word);
    if (bits < 32)
        v = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, v, i32(e, at), ""), part, "");
    emit_store(e, address, v, f->space, bits / 8);
    return NULL;
}

/* Row and column of element i of the lane's C or D fragment. */
static void
place_of_element(struct emit *e, const struct ptx_matrix *m, unsigned i, V *row, V *col)
{
    V lane = gcn_lane(e), g = LLVMBuildLShr(e->b, lane, i32(e, 2), ""), t = LLVMBuildAnd(e->b, lane, i32(e, 3), "");
    unsigned block = i / 4, r = 8 * (i / 2 % 2), c = i % 2;
    *row = LLVMBuildAdd(e->b, g, i32(e, r + (m->m == 32 || m->n == 32 ? 16 * block : 0)), "");
    *col = LLVMBuildAdd(e->b, LLVMBuildShl(e->b, t, i32(e, 1), ""), i32(e, c + (m->n == 16 ? 8 * block : 0)), "");
    if (m->n == 32) {
        V in_long = *row;
        *row = *col;
        *col = in_long;
    }
}

void
emit_gcn_fragment(struct emit *e, const struct ptx_inst *in)
{
    struct fragment f = { .in = in, .load = in->op == PTX_OP_WMMA_LOAD };
    struct ptx_matrix m;
    unsigned which;
    const char *why = ptx_matrix_fragment(in, &m, &which);
    if (why) {
        emit_unsupported(e, in, why);
        return;
    }
    const struct ptx_operand *o = &in->operand[f.load ? 1 : 0];
    f.regs = &in->operand[f.load ? 0 : 1];
    f.space = emit_effective_space(in, o);
    f.base = emit_address(e, o, f.space);
    f.bits = ptx_type_bits((ptx_type)m.d);
    bool ab = which < 2, b = which == 1;
    unsigned rows = b ? m.k : m.m, cols = which == 0 ? m.k : m.n, per = f.bits >= 32 ? 1 : 32 / f.bits;
    f.stride = in->noperands > 2 ? emit_resize(e, emit_src(e, in, 2, PTX_U32), e->i64, false)
                                 : LLVMConstInt(e->i64, m.a_col ? rows : cols, false);
    V lane = gcn_lane(e), g = LLVMBuildLShr(e->b, lane, i32(e, 2), ""), t = LLVMBuildAnd(e->b, lane, i32(e, 3), ""), value[8] = { NULL };
    unsigned n = f.regs->count > 8 ? 8 : f.regs->count, distinct = ab ? gcn_matrix_registers(&m, b, m.d) : n;
    for (unsigned r = 0; r < n; r++) {
        if (ab && r >= distinct) {              /* f16 fragments repeat their registers */
            value[r] = value[r % distinct];
            continue;
        }
        if (!ab) {
            for (unsigned i = 0; i < per; i++) {
                V row, col;
                place_of_element(e, &m, r * per + i, &row, &col);
                value[r] = move(e, &f, r, value[r], m.a_col ? element_address(e, &f, col, row) : element_address(e, &f, row, col), f.bits, i * f.bits);
            }
            continue;
        }
        struct gcn_place p = gcn_matrix_place(&m, b, m.d, r);
        V row = LLVMBuildAdd(e->b, g, i32(e, p.row), "");       /* of A; for B, its column */
        V first = LLVMBuildMul(e->b, LLVMBuildAdd(e->b, t, i32(e, 4 * p.quarter), ""), i32(e, per), "");
        if (b == m.a_col) {                     /* the word's elements are adjacent in memory */
            value[r] = move(e, &f, r, NULL, element_address(e, &f, row, first), per * f.bits, 0);
            continue;
        }
        for (unsigned i = 0; i < per; i++)
            value[r] = move(e, &f, r, value[r], element_address(e, &f, LLVMBuildAdd(e->b, first, i32(e, i), ""), row), f.bits, i * f.bits);
    }
    for (unsigned r = 0; f.load && r < n; r++)
        emit_dst_operand(e, &f.regs->elem[r], f.bits == 64 ? PTX_B64 : PTX_B32, value[r]);
}
