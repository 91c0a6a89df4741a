/* SPDX-License-Identifier: Apache-2.0
 * Matrix products as functions of fragments, one for each form in a module. A kernel has dozens of products: what each gathers from other lanes would
 * take more registers than there are if it were computed in line, and most of the compiler's time. Products of floats go with the device
 * library's forms (jit/devlib/pairs.h): a lane makes values and weights of its own elements, gathers those of the rows of A and columns of B that its elements of D
 * need, and computes these in a loop over the side that comes by permutations, which keeps code and registers few. */
#include "jit/emit/amdgcn_matrix.h"
#include "jit/devlib/forms.h"

#include <stdio.h>
#include <string.h>

typedef LLVMValueRef V;

static V
i32(struct emit *e, uint32_t v)
{
    return LLVMConstInt(e->i32, v, false);
}

/* ---- operands ------------------------------------------------------------------------------------------------------------ */

enum { LAYERS = 4 };

/* What goes from lane to lane: for each register values and weights, for 8-bit floats those of the lower two bytes and those of the upper
 * ones, in the order in which the element's function takes them. */
struct layers {
    unsigned count;
    V reg[LAYERS][8];
};

static V
library(struct emit *e, const char *name, V x, V upper)
{
    V args[2] = { x, upper };
    return emit_devlib(e, name, e->i32, args, upper ? 2 : 1);
}

static bool
is_byte(uint8_t type)
{
    return type == PTX_E4M3 || type == PTX_E5M2;
}

static unsigned
layers_of(uint8_t type)
{
    return type == PTX_TF32 ? 1 : is_byte(type) ? 4 : 2;
}

/* Values and weights of one word. */
static void
decode(struct emit *e, uint8_t type, V x, V *layer)
{
    const char *bytes = type == PTX_E4M3 ? "cwd_forms_values_e4m3" : "cwd_forms_values_e5m2";
    switch (type) {
    case PTX_TF32:
        layer[0] = library(e, "cwd_forms_pair_tf32", x, NULL);
        break;
    case PTX_BF16:
        layer[0] = library(e, "cwd_forms_values_bf16", x, NULL);
        layer[1] = library(e, "cwd_forms_weights_wide", x, NULL);
        break;
    case PTX_F16:
        layer[0] = x;
        layer[1] = library(e, "cwd_forms_weights_narrow", x, NULL);
        break;
    default:
        for (unsigned upper = 0; upper < 2; upper++) {
            layer[2 * upper] = library(e, bytes, x, i32(e, upper));
            layer[2 * upper + 1] = library(e, "cwd_forms_weights_narrow", layer[2 * upper], NULL);
        }
    }
}

static V
most(struct emit *e, V so_far, V a, V b)
{
    V args[3] = { so_far ? so_far : i32(e, 0x80008000), a, b };
    return emit_devlib(e, "cwd_forms_most", e->i32, args, 3);
}

/* The greatest weights of one operand so far. */
static V
most_of(struct emit *e, uint8_t type, V so_far, const V *layer)
{
    LLVMTypeRef pair = LLVMVectorType(e->i16, 2);
    for (unsigned i = type == PTX_TF32 ? 0 : 1; i < layers_of(type); i += 2) {
        V args[2] = { so_far, LLVMBuildBitCast(e->b, layer[i], pair, "") };
        so_far = so_far ? gcn_intrinsic(e, "llvm.smax", &pair, 1, args, 2) : args[1];
    }
    return so_far;
}

/* Is there the weight of an infinity or a NaN among them? */
static V
is_special(struct emit *e, uint8_t type, V greatest)
{
    bool wide = type == PTX_BF16 || type == PTX_TF32;
    V v = LLVMBuildBitCast(e->b, greatest, e->i32, ""), limit = i32(e, wide ? 127u << 22 : 15u << 25);
    V upper = LLVMBuildICmp(e->b, LLVMIntSGE, v, limit, "");
    if (type == PTX_TF32)
        return upper;
    return LLVMBuildOr(e->b, upper, LLVMBuildICmp(e->b, LLVMIntSGE, LLVMBuildShl(e->b, v, i32(e, 16), ""), limit, ""), "");
}

/* ---- gathering ----------------------------------------------------------------------------------------------------------- */

/* An operand, as one layer: registers of rows of A or columns of B. */
struct operand {
    const struct ptx_matrix *m;
    bool b;
    uint8_t type;
};

/* On the long side (as gather has them in amdgcn_mma.c) rows are g, g + 8, ..., of lanes of the same four: word w of number i. */
static V
long_word(struct emit *e, const struct operand *o, const V *regs, unsigned i, unsigned w)
{
    for (unsigned r = 0; r < gcn_matrix_registers(o->m, o->b, o->type); r++) {
        struct gcn_place p = gcn_matrix_place(o->m, o->b, o->type, r);
        if (p.row == 8 * i && p.quarter == w / 4)
            return gcn_of_quad(e, regs[r], w % 4);
    }
    return NULL;
}

/* On the short one they are 2t, 2t + 1, 2t + 8, 2t + 9: word w of the one whose first word is in `lane`; the second two are in other registers. */
static V
short_word(struct emit *e, const struct operand *o, const V *regs, V lane, V second, unsigned w)
{
    V of[2] = { NULL };
    for (unsigned r = 0; r < gcn_matrix_registers(o->m, o->b, o->type); r++) {
        struct gcn_place p = gcn_matrix_place(o->m, o->b, o->type, r);
        if (p.quarter == w / 4)
            of[p.row / 8] = regs[r];
    }
    V v = of[1] ? LLVMBuildSelect(e->b, second, of[1], of[0], "") : of[0];
    return gcn_from_lane(e, v, LLVMBuildAdd(e->b, lane, i32(e, w % 4), ""));
}

/* j: an i32 */
static V
short_lane(struct emit *e, V j)
{
    V t = LLVMBuildAnd(e->b, gcn_lane(e), i32(e, 3), ""), odd = LLVMBuildAnd(e->b, j, i32(e, 1), "");
    return LLVMBuildAdd(e->b, LLVMBuildShl(e->b, t, i32(e, 3), ""), LLVMBuildShl(e->b, odd, i32(e, 2), ""), "");
}

/* The word of B that goes with word w of row i. */
static V
chosen(struct emit *e, V choice, V lower, V upper)
{
    V args[3] = { upper, lower, choice };
    return gcn_intrinsic(e, "llvm.amdgcn.perm", NULL, 0, args, 3);
}

/* ---- the function of floats ---------------------------------------------------------------------------------------------- */

enum { BLOCK = 8 };             /* words, at most */

struct body {
    const struct gcn_product *p;
    struct ptx_matrix stored;   /* of A */
    struct operand of_long, of_short;
    struct layers l_long, l_short;
    unsigned words, blocks;     /* of a block; for an element */
    char block[40];             /* the device library's function */
    V special;                  /* i1 */
    V array[4];                 /* of a block in scratch (the optimiser puts them back into registers): A's and B's values; their weights */
    V choice[GCN_MOST][BLOCK];
};

static void
put(struct emit *e, V array, unsigned at, V v)
{
    V i = i32(e, at);
    LLVMBuildStore(e->b, v, LLVMBuildGEP2(e->b, e->i32, array, &i, 1, ""));
}

/* Left to itself LLVM does all gathering first, and takes the registers for that; or puts off what uses it. So these values are to be there before
 * what follows begins. */
static void
settle(struct emit *e, V *v, unsigned n)
{
    V none = i32(e, 0);
    LLVMTypeRef type = LLVMFunctionType(e->i32, &e->i32, 1, false);
    V f = LLVMGetInlineAsm(type, "", 0, "=v,0", 4, true, false, LLVMInlineAsmDialectATT, false);
    for (unsigned i = 0; i < n; i++)
        v[i] = LLVMBuildCall2(e->b, type, f, &v[i], 1, "");
    gcn_intrinsic(e, "llvm.amdgcn.sched.barrier", NULL, 0, &none, 1);
}

/* Where one number of the short side is. */
struct at { V lane, second; };

/* Word w of a block, of layer l, that goes with row i. */
static V
short_of(struct emit *e, const struct body *x, const struct at *at, unsigned l, unsigned i, unsigned w)
{
    if (!x->p->m->chunk)
        return short_word(e, &x->of_short, x->l_short.reg[l], at->lane, at->second, w);
    V lower = short_word(e, &x->of_short, x->l_short.reg[l], at->lane, at->second, 2 * w);
    V upper = short_word(e, &x->of_short, x->l_short.reg[l], at->lane, at->second, 2 * w + 1);
    return chosen(e, x->choice[i][w], lower, upper);
}

static V
block(struct emit *e, const struct body *x, V greatest, V run, V special)
{
    V args[7] = { x->array[0], x->array[1], x->array[2], x->array[3], greatest, run, LLVMBuildZExt(e->b, special, e->i32, "") };
    return emit_devlib(e, x->block, e->i32, args, 7);
}

/* Block n of the elements of one number of the short side; run: their sums, which it replaces. The greatest weights of all come first: where weights
 * are for nothing else they need no registers then. */
static void
blocks_of(struct emit *e, const struct body *x, const struct at *at, unsigned n, unsigned count, V *run)
{
    const bool b_long = x->of_long.b, single = x->p->m->a == PTX_TF32, wide = single || x->p->m->a == PTX_BF16;
    const unsigned values = single ? 0 : 2 * n, weights = single ? 0 : 2 * n + 1, first = single ? n * x->words : 0;
    V greatest[GCN_MOST] = { NULL }, weight[BLOCK];
    for (unsigned w = 0; w < x->words; w++) {
        V v = NULL;
        for (unsigned i = 0; i < count; i++) {
            v = v && !x->p->m->chunk ? v : short_of(e, x, at, weights, i, first + w);
            greatest[i] = most(e, greatest[i], long_word(e, &x->of_long, x->l_long.reg[weights], i, first + w), v);
        }
        weight[w] = v;
        if (w % 4 == 3)
            settle(e, greatest, count);
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned w = 0; w < x->words; w++) {
            bool again = x->p->m->chunk && (i || !single);
            put(e, x->array[b_long], w, long_word(e, &x->of_long, x->l_long.reg[values], i, first + w));
            if (!i || x->p->m->chunk)
                put(e, x->array[!b_long], w, single && !x->p->m->chunk ? weight[w] : short_of(e, x, at, values, i, first + w));
            if (wide)
                put(e, x->array[2 + b_long], w, long_word(e, &x->of_long, x->l_long.reg[weights], i, first + w));
            if (wide && (!i || again))
                put(e, x->array[2 + !b_long], w, again || x->p->m->chunk ? short_of(e, x, at, weights, i, first + w) : weight[w]);
        }
        run[i] = block(e, x, greatest[i], run[i], x->special);
    }
}

/* mma.sp of bytes: which of B go with a row is known before they are converted. */
static void
sparse_bytes(struct emit *e, const struct body *x, const struct at *at, unsigned n, unsigned count, V *run)
{
    for (unsigned i = 0; i < count; i++) {
        V greatest = NULL, special = NULL;
        for (unsigned w = 0; w < x->words; w++) {
            V layer[LAYERS], two[LAYERS];
            decode(e, x->of_short.type, short_of(e, x, at, 0, i, w), layer);
            two[0] = two[2] = layer[2 * n];
            two[1] = two[3] = layer[2 * n + 1];
            special = most_of(e, x->of_short.type, special, two);
            greatest = most(e, greatest, long_word(e, &x->of_long, x->l_long.reg[2 * n + 1], i, w), layer[2 * n + 1]);
            put(e, x->array[0], w, long_word(e, &x->of_long, x->l_long.reg[2 * n], i, w));
            put(e, x->array[1], w, layer[2 * n]);
            if (w % 4 == 3)
                settle(e, &greatest, 1);
        }
        special = LLVMBuildOr(e->b, x->special, is_special(e, x->of_short.type, special), "");
        run[i] = block(e, x, greatest, run[i], special);
    }
}

/* The elements of D of number j of the short side; state: those of C, which they replace. */
static void
elements_of(struct emit *e, const struct body *x, V j, unsigned count, V *state)
{
    const struct ptx_matrix *m = x->p->m;
    const bool bytes = is_byte(m->a), widens = !bytes && m->c == PTX_F16 && m->d == PTX_F32, rounds = !bytes && m->c == PTX_F32 && m->d == PTX_F16;
    struct at at = { short_lane(e, j), LLVMBuildICmp(e->b, LLVMIntUGE, j, i32(e, 2), "") };
    V run[GCN_MOST];
    for (unsigned i = 0; i < count; i++)
        run[i] = bytes ? i32(e, 0) : widens ? library(e, "cwd_forms_widen", state[i], NULL) : state[i];
    for (unsigned n = 0; n < x->blocks; n++)
        if (bytes && m->chunk)
            sparse_bytes(e, x, &at, n, count, run);
        else
            blocks_of(e, x, &at, n, count, run);
    for (unsigned i = 0; i < count; i++)
        if (bytes)
            state[i] = library(e, m->d == PTX_F16 ? "cwd_forms_add_f16" : "cwd_forms_add_f32", run[i], state[i]);
        else
            state[i] = rounds ? library(e, "cwd_forms_round", run[i], NULL) : run[i];
}

/* A number that the optimiser does not know: a loop of so many rounds stays one. */
static V
unknown(struct emit *e, uint32_t v)
{
    LLVMTypeRef type = LLVMFunctionType(e->i32, &e->i32, 1, false);
    V f = LLVMGetInlineAsm(type, "", 0, "=s,0", 4, false, false, LLVMInlineAsmDialectATT, false), arg = i32(e, v);
    return LLVMBuildCall2(e->b, type, f, &arg, 1, "");
}

/* elem: elements of C, then of D. In each round those of one number of the short side are at the front, and move to the end. */
static void
loop(struct emit *e, V fn, const struct body *x, V *elem)
{
    const struct ptx_matrix *m = x->p->m;
    bool b_long = m->n == 32;
    unsigned count = b_long ? m->n / 8u : m->m / 8u, rounds = b_long ? m->m / 4u : m->n / 4u, n = count * rounds;
    V phi[8], next[8], one = i32(e, 1), end = unknown(e, rounds);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), body = LLVMAppendBasicBlockInContext(e->llvm, fn, "");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->llvm, fn, "");
    LLVMBuildBr(e->b, body);
    LLVMPositionBuilderAtEnd(e->b, body);
    V j = LLVMBuildPhi(e->b, e->i32, ""), zero = i32(e, 0);
    for (unsigned s = 0; s < n; s++) {
        unsigned i = s % count, k = s / count;
        phi[s] = LLVMBuildPhi(e->b, e->i32, "");
        LLVMAddIncoming(phi[s], &elem[gcn_matrix_index(m, b_long ? k : i, b_long ? i : k)], &before, 1);
    }
    memcpy(next, phi, sizeof next);
    elements_of(e, x, j, count, next);
    V j1 = LLVMBuildAdd(e->b, j, one, "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(e->b);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, j1, end, ""), body, after);
    LLVMAddIncoming(j, &zero, &before, 1);
    LLVMAddIncoming(j, &j1, &last, 1);
    for (unsigned s = 0; s < n; s++)
        LLVMAddIncoming(phi[s], &next[(s + count) % n], &last, 1);
    LLVMPositionBuilderAtEnd(e->b, after);
    for (unsigned s = 0; s < n; s++) {
        unsigned i = s % count, k = s / count;
        elem[gcn_matrix_index(m, b_long ? k : i, b_long ? i : k)] = next[(s + count) % n];
    }
}

/* Layers of both operands; whether any number in the wave is infinite or NaN. */
static void
prepare(struct emit *e, struct body *x, const V (*regs)[8])
{
    const struct ptx_matrix *m = x->p->m;
    LLVMTypeRef wave = e->wave64 ? e->i64 : e->i32;
    x->special = LLVMConstInt(e->i1, 0, false);
    for (unsigned side = 0; side < 2; side++) {
        const struct operand *o = x->of_long.b == side ? &x->of_long : &x->of_short;
        struct layers *l = x->of_long.b == side ? &x->l_long : &x->l_short;
        bool late = side && m->chunk && is_byte(m->b);
        V greatest = NULL;
        l->count = late ? 1 : layers_of(o->type);
        for (unsigned r = 0; r < gcn_matrix_registers(o->m, side, o->type); r++) {
            V layer[LAYERS] = { regs[side][r] };
            if (!late) {
                decode(e, o->type, regs[side][r], layer);
                greatest = most_of(e, o->type, greatest, layer);
            }
            for (unsigned k = 0; k < l->count; k++)
                l->reg[k][r] = layer[k];
        }
        if (greatest)
            x->special = LLVMBuildOr(e->b, x->special, is_special(e, o->type, greatest), "");
    }
    x->special = LLVMBuildICmp(e->b, LLVMIntNE, gcn_intrinsic(e, "llvm.amdgcn.ballot", &wave, 1, &x->special, 1), LLVMConstNull(wave), "");
}

/* regs: fragments of A, B and C. */
static void
products_float(struct emit *e, V fn, const struct gcn_product *p, const V (*regs)[8], const V *meta, V *out)
{
    const struct ptx_matrix *m = p->m;
    struct body x = { .p = p, .stored = *m };
    const bool single = m->a == PTX_TF32, b_long = m->n == 32;
    struct operand a = { &x.stored, false, m->a }, b = { m, true, m->b };
    x.stored.k = p->k;
    x.of_long = b_long ? b : a;
    x.of_short = b_long ? a : b;
    x.blocks = is_byte(m->a) || (single && p->in->op == PTX_OP_WMMA_MMA) ? 2 : 1;
    x.words = gcn_matrix_words(p->k, m->a) / (single ? x.blocks : 1);
    snprintf(x.block, sizeof x.block, "cwd_forms_%s_%u_%s", single ? "single" : m->a == PTX_BF16 ? "wide" : "narrow", x.words,
             m->c == PTX_F32 || m->d == PTX_F32 ? "f32" : "f16");
    prepare(e, &x, regs);
    for (unsigned i = 0; m->chunk && i < m->m / 8u; i++)
        for (unsigned w = 0; w < x.words; w++)
            x.choice[i][w] = gcn_choice(e, &p->meta, meta, i, w);
    for (unsigned i = 0; i < 4; i++)
        x.array[i] = LLVMBuildAlloca(e->b, LLVMArrayType2(e->i32, BLOCK), "");
    for (unsigned i = 0; i < m->nd * (m->d == PTX_F16 ? 2u : 1u); i++)
        out[i] = gcn_element_of(e, regs[2], m->c, i);
    loop(e, fn, &x, out);
}

/* ---- mma.sp of integers --------------------------------------------------------------------------------------------------- */

static void
products_integer(struct emit *e, const struct gcn_product *p, const V (*regs)[8], const V *meta, V *out)
{
    const struct ptx_matrix *m = p->m;
    const bool saturate = p->in->flags & PTX_F_SATFINITE;
    struct ptx_matrix stored = *m;
    const struct operand a = { &stored, false, m->a }, b = { m, true, m->b };
    stored.k = p->k;
    for (unsigned d = 0; d < m->nd; d++)
        out[d] = saturate ? i32(e, 0) : regs[2][d];
    for (unsigned w = 0; w < p->meta.words; w++) {
        V choice[2], row[2];
        for (unsigned i = 0; i < 2; i++) {
            choice[i] = gcn_choice(e, &p->meta, meta, i, w);
            row[i] = long_word(e, &a, regs[0], i, w);
        }
        for (unsigned j = 0; j < 2; j++) {
            V lane = short_lane(e, i32(e, j)), lower = short_word(e, &b, regs[1], lane, NULL, 2 * w), upper = short_word(e, &b, regs[1], lane, NULL, 2 * w + 1);
            for (unsigned i = 0; i < 2; i++) {
                unsigned d = gcn_matrix_index(m, i, j);
                out[d] = gcn_dot(e, m, row[i], chosen(e, choice[i], lower, upper), out[d]);
            }
        }
        if (w % 2)
            settle(e, out, m->nd);
    }
    for (unsigned d = 0; saturate && d < m->nd; d++) {
        V args[2] = { out[d], regs[2][d] };
        out[d] = emit_intrinsic(e, "llvm.sadd.sat", args, 2, -1);
    }
}

/* ---- functions ----------------------------------------------------------------------------------------------------------- */

static void
name_of(const struct gcn_product *p, char *name, size_t size)
{
    const struct ptx_matrix *m = p->m;
    const char *kind = p->in->op == PTX_OP_WMMA_MMA ? "wmma" : m->chunk ? "mma.sp" : "mma";
    snprintf(name, size, "%s.m%un%uk%u.%s.%s.%s.%s%s", kind, m->m, m->n, m->k, ptx_type_name((ptx_type)m->d), ptx_type_name((ptx_type)m->a),
             ptx_type_name((ptx_type)m->b), ptx_type_name((ptx_type)m->c), p->in->flags & PTX_F_SATFINITE ? ".sat" : "");
    if (p->quad)
        strcat(name, m->a_col ? m->b_col ? ".col.col" : ".col.row" : m->b_col ? ".row.col" : ".row.row");
}

/* Parameters: C, A, B, metadata. */
static void
body(struct emit *e, V fn, const struct gcn_product *p, const unsigned n[3])
{
    LLVMBasicBlockRef back = LLVMGetInsertBlock(e->b);
    V v[32], regs[3][8], out[8];
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    LLVMGetParams(fn, v);
    memcpy(regs[2], v, n[2] * sizeof *v);
    memcpy(regs[0], v + n[2], n[0] * sizeof *v);
    memcpy(regs[1], v + n[2] + n[0], n[1] * sizeof *v);
    if (p->quad)
        gcn_quad(e, p, regs, out);
    else if (p->m->d != PTX_S32)
        products_float(e, fn, p, (const V (*)[8])regs, v + n[2] + n[0] + n[1], out);
    else
        products_integer(e, p, (const V (*)[8])regs, v + n[2] + n[0] + n[1], out);
    gcn_pack(e, p->m, out);
    LLVMBuildAggregateRet(e->b, out, p->m->nd);
    LLVMPositionBuilderAtEnd(e->b, back);
}

void
gcn_product(struct emit *e, const struct gcn_product *p, V regs[3][8], const V *meta, V *out)
{
    const struct ptx_matrix *m = p->m;
    struct ptx_matrix stored = *m;
    stored.k = p->k;
    const unsigned n[3] = { p->quad ? m->na : gcn_matrix_registers(&stored, false, m->a), p->quad ? m->nb : gcn_matrix_registers(m, true, m->b), m->nc };
    unsigned count = n[0] + n[1] + n[2] + (m->chunk ? p->meta.count : 0);
    LLVMTypeRef types[32], results[8];
    V args[32];
    char name[128];
    for (unsigned i = 0; i < count; i++)
        types[i] = e->i32;
    for (unsigned i = 0; i < m->nd; i++)
        results[i] = e->i32;
    LLVMTypeRef type = LLVMFunctionType(LLVMStructTypeInContext(e->llvm, results, m->nd, false), types, count, false);
    name_of(p, name, sizeof name - 16);
    V fn = LLVMGetNamedFunction(e->module, name);
    if (!fn) {
        fn = LLVMAddFunction(e->module, name, type);
        LLVMSetLinkage(fn, LLVMInternalLinkage);
        gcn_set_attribute(e, fn, "noinline");
        gcn_set_attribute(e, fn, "norecurse");          /* callers look which registers it overwrites; none are saved */
        gcn_set_attribute(e, fn, "convergent");         /* lanes read each other's registers */
        if (!gcn_prepared_body(e, fn))
            body(e, fn, p, n);
    }
    memcpy(args, regs[2], n[2] * sizeof *args);
    memcpy(args + n[2], regs[0], n[0] * sizeof *args);
    memcpy(args + n[2] + n[0], regs[1], n[1] * sizeof *args);
    if (m->chunk)
        memcpy(args + n[2] + n[0] + n[1], meta, p->meta.count * sizeof *args);
    V r = LLVMBuildCall2(e->b, type, fn, args, count, "");
    LLVMSetTailCallKind(r, LLVMTailCallKindNoTail);     /* LLVM has functions with tail calls save registers, whoever looks */
    for (unsigned i = 0; i < m->nd; i++)
        out[i] = LLVMBuildExtractValue(e->b, r, i, "");
}
