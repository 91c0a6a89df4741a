/* SPDX-License-Identifier: Apache-2.0
 * mma.sync, mma.sp and wmma.mma on amdgcn, with NVIDIA's bits (docs/matrix.md). A lane gathers the rows of A and columns of B that its
 * elements of D need (those of its own group of four lanes by DPP, others by permutations inside the warp) and computes each element by
 * itself. Most forms are calls of functions for whole products (mma_function.c). This file has the others: dense integers, dot products of
 * words; and floats of generations before Hopper, whose element is a function compiled from the host device's source (jit/builtins). */
#include "jit/emit/target/amdgcn/matrix.h"
#include "jit/emit/arith/arith_private.h"
#include "jit/builtins/forms.h"
#include "jit/emit/target/amdgcn/pseudo.h"

#include <stdio.h>
#include <string.h>

static V
shifted(struct emit *e, V v, unsigned left, unsigned right)
{
    v = left ? LLVMBuildShl(e->b, v, i32(e, left), "") : v;
    return right ? LLVMBuildLShr(e->b, v, i32(e, right), "") : v;
}

/* ---- operands ------------------------------------------------------------------------------------------------------------ */

/* Registers of a fragment as 32-bit words; of f64, as 64-bit ones. */
static void
registers(struct emit *e, const struct ptx_operand *o, uint8_t type, V *v)
{
    ptx_type t = type == PTX_F32 || type == PTX_F64 ? (ptx_type)type : PTX_B32;
    for (unsigned i = 0; i < o->count && i < 8; i++)
        v[i] = emit_bitcast(e, emit_operand(e, &o->elem[i], t), type == PTX_F64 ? e->i64 : e->i32);
}

/* The rows of A, or columns of B, that this lane's elements need. */
static void
gather(struct emit *e, const struct ptx_matrix *m, bool b, const V *regs, struct gcn_gathered *s)
{
    const struct gcn_operand o = { m, b, b ? m->b : m->a };
    bool is_long = b == (m->n == 32);
    unsigned extent = b ? m->n : m->m;
    s->count = is_long ? extent / 8 : extent / 4;
    s->words = gcn_matrix_words(m->k, o.type);
    for (unsigned i = 0; i < s->count; i++) {
        const struct gcn_short at = gcn_short(e, i32(e, i));
        for (unsigned w = 0; w < s->words; w++)
            s->word[i][w] = is_long ? gcn_long_word(e, &o, regs, i, w) : gcn_short_word(e, &o, regs, &at, w);
    }
}

static unsigned
elements(const struct ptx_matrix *m)
{
    return m->nd * (m->d == PTX_F16 ? 2u : 1u);
}

/* The row and the column, among those, of element i of D. */
static void
row_and_column(const struct ptx_matrix *m, unsigned i, unsigned *row, unsigned *col)
{
    unsigned block = i / 4, r = i / 2 % 2, c = i % 2;
    *row = m->n == 32 ? c : m->m == 32 ? 2 * block + r : r;
    *col = m->n == 32 ? 2 * block + r : m->n == 16 ? 2 * block + c : c;
}

unsigned
gcn_matrix_index(const struct ptx_matrix *m, unsigned i, unsigned j)
{
    unsigned row, col, n = 0;
    do
        row_and_column(m, n, &row, &col);
    while ((row != i || col != j) && ++n < 8);
    return n;
}

V
gcn_element_of(struct emit *e, const V *regs, uint8_t type, unsigned i)
{
    if (type != PTX_F16)
        return regs[i];
    return LLVMBuildAnd(e->b, shifted(e, regs[i / 2], 0, 16 * (i % 2)), i32(e, 0xffff), "");
}

/* ---- shared by bodies of functions -------------------------------------------------------------------------------------------------- */

/* Without this, LLVM gathers everything first and runs out of registers, or sinks the uses. */
void
gcn_settle(struct emit *e, V *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        v[i] = gcn_hidden(e, "=v,0", v[i], true);
    emit_intrinsic_of(e, "llvm.amdgcn.sched.barrier", NULL, 0, VALUES(i32(e, 0)));
}

/* A trip count that LLVM does not know keeps a loop from being unrolled. */
V
gcn_unknown(struct emit *e, uint32_t v)
{
    return gcn_hidden(e, "=s,0", i32(e, v), false);
}

V
gcn_any(struct emit *e, V p)
{
    return LLVMBuildIsNotNull(e->b, gcn_wave_ballot(e, p), "");
}

bool
gcn_to_nearest(const struct ptx_inst *in)
{
    return !in->round || in->round == PTX_RN;
}

V
gcn_chosen(struct emit *e, V choice, V lower, V upper)
{
    return emit_intrinsic_of(e, "llvm.amdgcn.perm", NULL, 0, VALUES(upper, lower, choice));
}

/* ---- one element ---------------------------------------------------------------------------------------------------------- */

/* An array in scratch with these values; the optimiser moves it back to registers. */
static V
array(struct emit *e, V *v, unsigned n)
{
    V a = LLVMBuildAlloca(e->b, LLVMArrayType2(e->i32, n), "");
    for (unsigned i = 0; i < n; i++) {
        V at = i32(e, i);
        LLVMBuildStore(e->b, v[i], LLVMBuildGEP2(e->b, e->i32, a, &at, 1, ""));
    }
    return a;
}

/* f16's m8n8k4 (figures of 9.7.14.5.1) is four products, one per quad and the quad 16 lanes above. Its arithmetic differs, too. */
static bool
is_quad(const struct ptx_inst *in, const struct ptx_matrix *m)
{
    return in->op == PTX_OP_MMA && m->a == PTX_F16 && m->m == 8;
}

uint8_t
gcn_matrix_model(uint8_t sm)
{
    static const uint8_t from[] = { 70, 75, 80, 89, 90 };       /* as in matrix_models */
    uint8_t model = 0;
    for (uint8_t i = 0; i < sizeof from; i++)
        if (!sm || sm >= from[i])
            model = i;
    return model;
}

/* The function that computes one element of a form of floats from the words of a row and of a column and C's element. Too long to inline. */
static V
element_function(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, LLVMTypeRef *type)
{
    unsigned words = gcn_matrix_words(m->k, m->a), n = 2 * words + 1;
    LLVMTypeRef types[2 * GCN_WORDS + 1];
    char name[96];
    for (unsigned i = 0; i < n; i++)
        types[i] = e->i32;
    *type = LLVMFunctionType(e->i32, types, n, false);
    snprintf(name, sizeof name, "%s.k%u.%s.%s.%s.%s", in->op == PTX_OP_MMA ? "mma" : "wmma", m->k, ptx_type_name((ptx_type)m->d),
             ptx_type_name((ptx_type)m->a), ptx_type_name((ptx_type)m->b), ptx_type_name((ptx_type)m->c));
    V fn = LLVMGetNamedFunction(e->module, name);
    if (fn)
        return fn;
    fn = LLVMAddFunction(e->module, name, *type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    emit_set_attribute(fn, "noinline");
    LLVMBasicBlockRef back = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    V v[2 * GCN_WORDS + 1];
    LLVMGetParams(fn, v);
    const struct cwh_matrix form = ptx_matrix_form(in, m);
    V args[5] = { emit_constant(e, name, &form, sizeof form, 8, LLVMPrivateLinkage), i32(e, emit_session(e)->matrix_model), array(e, v, words),
                  array(e, v + words, words), v[2 * words] };
    LLVMBuildRet(e->b, emit_devlib(e, "cwd_mma_float", e->i32, args, 5));
    LLVMPositionBuilderAtEnd(e->b, back);
    return fn;
}

static bool
is_signed(uint8_t type)
{
    return type == PTX_S8 || type == PTX_S4;
}

/* Does the processor have dot products of bytes and nibbles? Of one signed and one unsigned factor? */
static bool
has_dot(const struct emit *e)
{
    static const char *const without[] = { "gfx900", "gfx90c", "gfx1010", "gfx1013" };
    for (unsigned i = 0; i < sizeof without / sizeof *without; i++)
        if (!strcmp(e->cpu, without[i]))
            return false;
    return true;
}

static bool
has_mixed_dot(const struct emit *e)
{
    return !strncmp(e->cpu, "gfx11", 5) || !strncmp(e->cpu, "gfx12", 5);
}

/* c + the products of the elements of two words. */
static V
dot(struct emit *e, unsigned bits, bool sa, V a, bool sb, V b, V c)
{
    V no = LLVMConstInt(e->i1, 0, false), yes = LLVMConstInt(e->i1, 1, false);
    if (!has_dot(e)) {
        for (unsigned i = 0; i < 32; i += bits) {
            V x = shifted(e, a, 32 - bits - i, 0), y = shifted(e, b, 32 - bits - i, 0), down = i32(e, 32 - bits);
            x = sa ? LLVMBuildAShr(e->b, x, down, "") : LLVMBuildLShr(e->b, x, down, "");
            y = sb ? LLVMBuildAShr(e->b, y, down, "") : LLVMBuildLShr(e->b, y, down, "");
            c = LLVMBuildAdd(e->b, c, LLVMBuildMul(e->b, x, y, ""), "");
        }
        return c;
    }
    if (has_mixed_dot(e) && (sa || sb)) {
        V args[6] = { sa ? yes : no, a, sb ? yes : no, b, c, no };
        return emit_intrinsic_of(e, bits == 8 ? "llvm.amdgcn.sudot4" : "llvm.amdgcn.sudot8", NULL, 0, args, 6);
    }
    if (sa != sb) {             /* u = s + 2^(bits-1), where s has its top bit inverted */
        V middle = i32(e, bits == 8 ? 0x80808080u : 0x88888888u), ones = i32(e, bits == 8 ? 0x01010101u : 0x11111111u);
        V with_sign = sa ? a : b, without = LLVMBuildXor(e->b, sa ? b : a, middle, "");
        V count = dot(e, bits, true, with_sign, true, ones, i32(e, 0));
        c = LLVMBuildAdd(e->b, c, shifted(e, count, bits - 1, 0), "");
        return dot(e, bits, true, with_sign, true, without, c);
    }
    return emit_intrinsic_of(e, bits == 8 ? sa ? "llvm.amdgcn.sdot4" : "llvm.amdgcn.udot4" : sa ? "llvm.amdgcn.sdot8" : "llvm.amdgcn.udot8",
                         NULL, 0, VALUES(a, b, c, no));
}

V
gcn_dot(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, V a, V b, V c)
{
    if (m->a != PTX_B1)
        return dot(e, ptx_type_bits((ptx_type)m->a), is_signed(m->a), a, is_signed(m->b), b, c);
    V both = in->boolop == PTX_BOOL_AND ? LLVMBuildAnd(e->b, a, b, "") : LLVMBuildXor(e->b, a, b, "");
    return LLVMBuildAdd(e->b, c, emit_intrinsic(e, "llvm.ctpop", &both, 1, -1), "");
}

/* One element of a form of integers. The sum of products fits into 32 bits; .satfinite saturates the addition of C. */
static V
integer_element(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, const V *a, const V *b, unsigned words, V c)
{
    bool saturate = in->flags & PTX_F_SATFINITE;
    V s = saturate ? i32(e, 0) : c;
    for (unsigned w = 0; w < words; w++)
        s = gcn_dot(e, in, m, a[w], b[w], s);
    return saturate ? emit_intrinsic(e, "llvm.sadd.sat", VALUES(s, c), -1) : s;
}

/* The instruction for these dot products, or GCN_DOTS if there is none; b1 has none. */
static enum gcn_dot
dot_instruction(struct emit *e, const struct ptx_matrix *m)
{
    const bool bytes = ptx_type_bits((ptx_type)m->a) == 8, sa = is_signed(m->a), sb = is_signed(m->b);
    if (m->d != PTX_S32 || m->a == PTX_B1 || !has_dot(e))
        return GCN_DOTS;
    if (has_mixed_dot(e) && (sa || sb))
        return bytes ? GCN_DOT4_I32_IU8 : GCN_DOT8_I32_IU4;
    if (sa != sb)
        return GCN_DOTS;
    return bytes ? sa ? GCN_DOT4_I32_I8 : GCN_DOT4_U32_U8 : sa ? GCN_DOT8_I32_I4 : GCN_DOT8_U32_U4;
}

/* The elements of a row as one pseudo-instruction, since kernels have thousands of dot products. */
static void
row_of_dots(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, enum gcn_dot dot, const struct gcn_gathered *a, const struct gcn_gathered *b,
            unsigned row, V regs[3][8], V *out)
{
    _Static_assert(GCN_WORDS * (GCN_MOST + 1) <= GCN_PSEUDO_MOST, "what goes in");
    const bool saturates = in->flags & PTX_F_SATFINITE, mixed = dot == GCN_DOT4_I32_IU8 || dot == GCN_DOT8_I32_IU4;
    const unsigned what[] = { dot, mixed && is_signed(m->a), mixed && is_signed(m->b), a->words, saturates };
    struct gcn_pseudo p;
    gcn_pseudo_begin(&p, GCN_PSEUDO_DOTS);
    gcn_pseudo_operation(&p, 'd');
    for (unsigned i = 0; i < sizeof what / sizeof *what; i++)
        gcn_pseudo_operand(&p, 0, what[i]);
    for (unsigned j = 0; j < (saturates ? 2 * b->count : b->count); j++)
        gcn_pseudo_out(&p, e->i32, j < b->count ? regs[2][gcn_matrix_index(m, row, j)] : NULL);
    for (unsigned vector = 0; vector <= b->count; vector++)
        for (unsigned w = 0; w < a->words; w++)
            gcn_pseudo_in(&p, vector ? b->word[vector - 1][w] : a->word[row][w], false);
    /* Gathering cannot move behind a branch; if sums moved to where they are used next, everything gathered would occupy registers
     * meanwhile. */
    p.convergent = true;
    V all = gcn_pseudo_build(&p, e->b);
    for (unsigned j = 0; j < b->count; j++)
        out[gcn_matrix_index(m, row, j)] = LLVMBuildExtractValue(e->b, all, j, "");
}

/* ---- f16's m8n8k4 ------------------------------------------------------------------------------------------------------------ */

struct quads {
    V lane, quad, low, half;    /* lane & 12, lane & 3, lane & 16 */
    const V (*regs)[8];
};

/* Half `part` (0 to 3, an i32) of a fragment of two registers in another lane. */
static V
quad_half(struct emit *e, const V *regs, V lane, V part)
{
    V lo = gcn_from_lane(e, regs[0], lane), hi = gcn_from_lane(e, regs[1], lane);
    V word = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, part, i32(e, 2), ""), hi, lo, "");
    V shift = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, part, i32(e, 1), ""), i32(e, 4), "");
    return LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, word, shift, ""), i32(e, 0xffff), "");
}

static V
bit_of(struct emit *e, V v, unsigned bits)
{
    return LLVMBuildAnd(e->b, v, i32(e, bits), "");
}

/* Element i of the lane's fragment of C. If D is f32, C may be f16, whose fragment has another layout. */
static V
quad_c(struct emit *e, const struct ptx_matrix *m, const struct quads *q, V row, unsigned i)
{
    if (m->c != PTX_F16 || m->d == PTX_F16)
        return gcn_element_of(e, q->regs[2], m->c, i);
    V from = v_add(e, v_add(e, q->quad, q->half), row);
    V even = gcn_from_lane(e, q->regs[2][(i & 4) / 2], from), odd = gcn_from_lane(e, q->regs[2][(i & 4) / 2 + 1], from);
    V word = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntNE, bit_of(e, q->lane, 2), i32(e, 0), ""), odd, even, "");
    return bit_of(e, shifted(e, word, 0, 16 * (i & 1)), 0xffff);
}

void
gcn_quad(struct emit *e, const struct gcn_product *p, V regs[3][8], V *out)
{
    const struct ptx_matrix *m = p->m;
    const char *form = m->d == PTX_F16 ? "cwd_forms_quad_f16_f16" : m->c == PTX_F16 ? "cwd_forms_quad_f32_f16" : "cwd_forms_quad_f32_f32";
    V lane = gcn_lane(e);
    struct quads quads = { lane, bit_of(e, lane, 12), bit_of(e, lane, 3), bit_of(e, lane, 16), (const V (*)[8])regs }, *q = &quads;
    for (unsigned i = 0; i < 8; i++) {
        bool f16 = m->d == PTX_F16;
        V row = f16 ? q->low : v_add(e, bit_of(e, q->lane, 1), i32(e, i & 2)), a[4], b[4];
        V col = f16 ? i32(e, i & 3) : v_add(e, bit_of(e, q->lane, 2), i32(e, i & 1));      /* of four; the upper four are 16 lanes on */
        unsigned above = i & 4 ? 16 : 0;
        for (unsigned k = 0; k < 4; k++) {
            V base = v_add(e, q->quad, q->half), part = i32(e, k);
            a[k] = quad_half(e, q->regs[0], v_add(e, base, m->a_col ? part : row), m->a_col ? row : part);
            base = v_add(e, q->quad, i32(e, above));
            b[k] = quad_half(e, q->regs[1], v_add(e, base, m->b_col ? col : part), m->b_col ? part : col);
        }
        out[i] = emit_devlib(e, form, e->i32, VALUES(a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], quad_c(e, m, q, row, i)));
    }
}

/* ---- instructions ---------------------------------------------------------------------------------------------------------------- */

/* One element, from the words of a row of A and a column of B; fn: of element_function, or NULL for integers. */
static V
element(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, LLVMTypeRef type, V fn, const V *row, const V *col, unsigned words, V c)
{
    V args[2 * GCN_WORDS + 1];
    if (!fn)
        return integer_element(e, in, m, row, col, words, c);
    memcpy(args, row, words * sizeof *args);
    memcpy(args + words, col, words * sizeof *args);
    args[2 * words] = c;
    return LLVMBuildCall2(e->b, type, fn, args, 2 * words + 1, "");
}

/* Decodes metadata as impl/host/matrix.c does. */
static void
describe_meta(const struct ptx_inst *in, const struct ptx_matrix *m, struct gcn_meta *s)
{
    unsigned selector = (unsigned)in->operand[5].imm;
    s->words = gcn_matrix_words(m->k / 2u, m->a);
    s->halves = ptx_type_bits((ptx_type)m->a) > 8;
    s->count = s->halves ? s->words / 4 : s->words / 2;
    s->first = s->halves && s->words == 4 ? selector : 2 * selector;
}

V
gcn_choice(struct emit *e, const struct gcn_meta *s, const V *meta, unsigned i, unsigned w)
{
    if (!s->halves) {           /* a byte has two bits for each byte of the selector; the upper two belong to the second word */
        V v = LLVMBuildAnd(e->b, shifted(e, meta[i + 2 * (w / 4)], 0, 8 * (w % 4)), i32(e, 0xff), "");
        v = LLVMBuildAnd(e->b, LLVMBuildOr(e->b, v, shifted(e, v, 12, 0), ""), i32(e, 0x000f000f), "");
        v = LLVMBuildAnd(e->b, LLVMBuildOr(e->b, v, shifted(e, v, 6, 0), ""), i32(e, 0x03030303), "");
        return LLVMBuildOr(e->b, v, i32(e, 0x04040000), "");
    }
    V which = shifted(e, meta[w / 4], 0, 4 * (4 * i + w % 4));
    V first = LLVMBuildAnd(e->b, which, i32(e, 3), ""), second = LLVMBuildAnd(e->b, shifted(e, which, 0, 2), i32(e, 3), "");
    first = LLVMBuildMul(e->b, first, i32(e, 0x0202), "");
    second = LLVMBuildMul(e->b, second, i32(e, 0x02020000), "");
    return LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, first, second, ""), i32(e, 0x01000100), "");
}

static void
products_sparse(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, V regs[3][8], const struct gcn_meta *s, const V *meta, V *out)
{
    struct ptx_inst dense = *in;
    struct ptx_matrix stored = *m;
    struct gcn_gathered a, b;
    LLVMTypeRef type = NULL;
    dense.op = PTX_OP_MMA;
    stored.k /= 2;
    V fn = element_function(e, &dense, &stored, &type);
    gather(e, &stored, false, regs[0], &a);
    gather(e, m, true, regs[1], &b);
    for (unsigned i = 0; i < elements(m); i++) {
        unsigned row, col;
        V chosen[GCN_WORDS];
        row_and_column(m, i, &row, &col);
        for (unsigned w = 0; w < a.words; w++)
            chosen[w] = gcn_chosen(e, gcn_choice(e, s, meta, row, w), b.word[col][2 * w], b.word[col][2 * w + 1]);
        out[i] = element(e, &dense, &stored, type, fn, a.word[row], chosen, a.words, gcn_element_of(e, regs[2], m->c, i));
    }
}

/* Emit a call of a function; out: registers. False: this form has none. Dense integers are emitted inline, where they share gathered words
 * and execute fewer instructions. */
static bool
by_function(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, V regs[3][8], const struct gcn_meta *s, const V *meta, V *out)
{
    struct gcn_product p = { .in = in, .m = m, .k = m->chunk ? m->k / 2u : m->k, .quad = is_quad(in, m), .meta = *s };
    bool floats = m->d != PTX_S32 && m->a != PTX_F64;
    if (!p.quad && (floats ? emit_session(e)->matrix_model != CWD_FORMS_MODEL : m->d == PTX_S32 && !m->chunk))
        return false;
    gcn_product(e, &p, regs, meta, out);
    return true;
}

static void
products_small(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, V regs[3][8], V *out)
{
    struct gcn_gathered a, b;
    LLVMTypeRef type = NULL;
    V fn = m->d == PTX_S32 ? NULL : element_function(e, in, m, &type);
    gather(e, m, false, regs[0], &a);
    gather(e, m, true, regs[1], &b);
    const enum gcn_dot dot = dot_instruction(e, m);
    for (unsigned row = 0; dot != GCN_DOTS && row < a.count; row++)
        row_of_dots(e, in, m, dot, &a, &b, row, regs, out);
    for (unsigned i = 0; dot == GCN_DOTS && i < elements(m); i++) {
        unsigned row, col;
        row_and_column(m, i, &row, &col);
        out[i] = element(e, in, m, type, fn, a.word[row], b.word[col], a.words, gcn_element_of(e, regs[2], m->c, i));
    }
}

/* Elements by the form's function if there is one, else inline. */
static void
products_exact(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, V regs[3][8], V *out)
{
    static const struct gcn_meta none;
    V d[8];
    if (!by_function(e, in, m, regs, &none, NULL, d)) {
        products_small(e, in, m, regs, out);
        return;
    }
    for (unsigned i = 0; i < elements(m); i++)
        out[i] = gcn_element_of(e, d, m->d, i);
}

static V
convert(struct emit *e, V bits, uint8_t from, uint8_t to)
{
    if (from == to)
        return bits;
    if (from == PTX_F16) {
        V h = LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, bits, e->i16, ""), e->f16, "");
        return LLVMBuildBitCast(e->b, LLVMBuildFPExt(e->b, h, e->f32, ""), e->i32, "");
    }
    V h = LLVMBuildFPTrunc(e->b, LLVMBuildBitCast(e->b, bits, e->f32, ""), e->f16, "");
    return LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, h, e->i16, ""), e->i32, "");
}

/* By AMD's matrix instructions. If only one warp of a wave64 is active, it computes as usual. */
static void
products_native(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, V regs[3][8], V *out)
{
    unsigned n = elements(m);
    V c[8], other[8] = { NULL };
    LLVMBasicBlockRef whole = NULL, part = NULL, done = NULL;
    if (e->wave64) {
        V all = gcn_wave_ballot(e, LLVMConstInt(e->i1, 1, false));
        whole = emit_new_block(e, "wave");
        part = emit_new_block(e, "warp");
        done = emit_new_block(e, "product");
        LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, all, LLVMConstAllOnes(e->i64), ""), whole, part);
        LLVMPositionBuilderAtEnd(e->b, part);
        products_exact(e, in, m, regs, other);
        part = LLVMGetInsertBlock(e->b);
        LLVMBuildBr(e->b, done);
        LLVMPositionBuilderAtEnd(e->b, whole);
    }
    for (unsigned i = 0; i < n; i++)
        c[i] = convert(e, gcn_element_of(e, regs[2], m->c, i), m->c, PTX_F32);
    if (e->wave64) {
        struct gcn_gathered a, b;
        gather(e, m, false, regs[0], &a);
        gather(e, m, true, regs[1], &b);
        gcn_native_cdna(e, m, &a, &b, c, out);
    } else {
        gcn_native_rdna(e, m, regs, c, out);
    }
    for (unsigned i = 0; i < n; i++)
        out[i] = convert(e, out[i], PTX_F32, m->d);
    if (!e->wave64)
        return;
    whole = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    for (unsigned i = 0; i < n; i++)
        out[i] = emit_phi(e, out[i], whole, other[i], part);
}

/* Elements of D into its registers. */
void
gcn_pack(struct emit *e, const struct ptx_matrix *m, V *v)
{
    for (unsigned r = 0; m->d == PTX_F16 && r < m->nd; r++)
        v[r] = LLVMBuildOr(e->b, v[2 * r], shifted(e, v[2 * r + 1], 16, 0), "");
}

static void
products(struct emit *e, const struct ptx_inst *in, const struct ptx_matrix *m, V regs[3][8], V *out)
{
    struct gcn_meta s = { 0 };
    V words[4] = { NULL };
    bool native = !m->chunk && emit_session(e)->matrix_native && !e->one_warp_per_wave && gcn_native_has(e, in, m);
    if (m->chunk) {
        V meta = emit_bitcast(e, emit_operand(e, &in->operand[4], PTX_B32), e->i32);
        describe_meta(in, m, &s);
        for (unsigned n = 0; n < s.count; n++)
            words[n] = gcn_of_quad(e, meta, s.first + n);
    }
    if (!native && by_function(e, in, m, regs, &s, words, out))
        return;
    if (m->chunk)
        products_sparse(e, in, m, regs, &s, words, out);
    else if (native)
        products_native(e, in, m, regs, out);
    else
        products_small(e, in, m, regs, out);
    gcn_pack(e, m, out);
}

void
emit_gcn_mma(struct emit *e, const struct ptx_inst *in)
{
    struct ptx_matrix one, m;
    const char *why = ptx_matrix_mma(in, &one);
    if (why) {
        emit_unsupported(e, in, why);
        return;
    }
    if (gcn_is_paired(e, in))
        return;
    /* Combine two m8n8 products with the same B into one m16n8. More would need more registers than that saves. */
    const struct ptx_inst *both[2] = { in, one.a == PTX_F64 && one.m == 8 ? gcn_partner(e, in) : NULL };
    const unsigned n = both[1] ? 2 : 1;
    V regs[3][8], out[8] = { NULL };
    registers(e, &in->operand[2], one.b, regs[1]);
    for (unsigned i = 0; i < n; i++) {
        registers(e, &both[i]->operand[1], one.a, regs[0] + i * one.na);
        registers(e, &both[i]->operand[3], one.c, regs[2] + i * one.nc);
    }
    m = one;
    m.m *= n;
    m.na *= n;
    m.nc *= n;
    m.nd *= n;
    products(e, in, &m, regs, out);
    ptx_type t = m.d == PTX_F32 || m.d == PTX_F64 ? (ptx_type)m.d : PTX_B32;
    for (unsigned r = 0; r < m.nd; r++)
        emit_dst_operand(e, &both[r / one.nd]->operand[0].elem[r % one.nd], t, emit_bitcast(e, out[r], emit_type(e, t)));
}

/* dp4a. Not a sum of products: LLVM's back end miscompiles some of those (docs/llvm-faults, dot4-operand). */
void
emit_gcn_dp4a(struct emit *e, const struct ptx_inst *in)
{
    bool sa = in->type[0] == PTX_S32, sb = in->type[1] == PTX_S32;
    V a = emit_src(e, in, 1, PTX_B32), b = emit_src(e, in, 2, PTX_B32);
    emit_dst(e, in, 0, sa || sb ? PTX_S32 : PTX_U32, dot(e, 8, sa, a, sb, b, emit_src(e, in, 3, PTX_B32)));
}
