/* SPDX-License-Identifier: Apache-2.0
 * Matrix products as functions of fragments, one for each form in a module, most of them precompiled (precompiled.h). A kernel has dozens
 * of products: inline, the values that each gathers from other lanes would take more registers than there are, and most of the compile
 * time.
 *
 * This file has the body for floats, made of the device library's forms (jit/builtins/pairs.h); exact.c and mma.c have the others. A lane
 * converts its own elements to values and weights, gathers those of the rows of A and columns of B that its elements of D need, and
 * computes these in a loop over the short operand (matrix.h), which comes by permutations: that keeps code and registers few. */
#include "jit/emit/target/amdgcn/matrix.h"
#include "jit/builtins/forms.h"

#include <stdio.h>
#include <string.h>

/* ---- operands ------------------------------------------------------------------------------------------------------------ */

enum { LAYERS = 4 };

/* Data exchanged between lanes: for each register, values and weights (for 8-bit floats, those of the lower two bytes and those of the
 * upper two), in the order in which the element's function takes them. */
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
        so_far = so_far ? emit_intrinsic_of(e, "llvm.smax", &pair, 1, args, 2) : args[1];
    }
    return so_far;
}

/* Does an infinity or a NaN have one of these weights? */
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

/* ---- the body for floats -------------------------------------------------------------------------------------------------- */

enum { BLOCK = 8 };             /* words, at most */

struct float_body {
    const struct gcn_product *p;
    struct ptx_matrix stored;   /* of A */
    struct gcn_operand of_long, of_short;
    struct layers l_long, l_short;
    unsigned words, blocks;     /* words of a block; blocks of an element */
    char block[40];             /* name of the device library's function */
    V special;                  /* i1 */
    V value[2], weight[2];      /* A's and B's of a block, in scratch; the optimiser moves them back to registers */
    V choice[GCN_MOST][BLOCK];  /* mma.sp: by row of A and by word */
};

static void
put(struct emit *e, V array, unsigned at, V v)
{
    V i = i32(e, at);
    LLVMBuildStore(e->b, v, LLVMBuildGEP2(e->b, e->i32, array, &i, 1, ""));
}

/* Word w of layer l of row (column) `at` of the short operand; for mma.sp, the bytes for word w of row i of A. */
static V
short_of(struct emit *e, const struct float_body *x, const struct gcn_short *at, unsigned l, unsigned i, unsigned w)
{
    const V *regs = x->l_short.reg[l];
    if (!x->p->m->chunk)
        return gcn_short_word(e, &x->of_short, regs, at, w);
    V lower = gcn_short_word(e, &x->of_short, regs, at, 2 * w), upper = gcn_short_word(e, &x->of_short, regs, at, 2 * w + 1);
    return gcn_chosen(e, x->choice[i][w], lower, upper);
}

static V
block(struct emit *e, const struct float_body *x, V greatest, V run, V special)
{
    V args[7] = { x->value[0], x->value[1], x->weight[0], x->weight[1], greatest, run, LLVMBuildZExt(e->b, special, e->i32, "") };
    return emit_devlib(e, x->block, e->i32, args, 7);
}

/* Add block n of one row (column) of the short operand to the sums in `run`. The maxima of all weights come first: weights that serve
 * nothing else then need no registers. */
static void
blocks_of(struct emit *e, const struct float_body *x, const struct gcn_short *at, unsigned n, unsigned count, V *run)
{
    const uint8_t type = x->p->m->a;
    const bool b_long = x->of_long.b, sparse = x->p->m->chunk, single = type == PTX_TF32, wide = type == PTX_BF16;
    const unsigned values = single ? 0 : 2 * n, weights = single ? 0 : 2 * n + 1, first = single ? n * x->words : 0;
    V greatest[GCN_MOST] = { NULL }, weight[BLOCK];
    for (unsigned w = 0; w < x->words; w++) {
        for (unsigned i = 0; i < count; i++) {
            if (!i || sparse)
                weight[w] = short_of(e, x, at, weights, i, first + w);
            greatest[i] = most(e, greatest[i], gcn_long_word(e, &x->of_long, x->l_long.reg[weights], i, first + w), weight[w]);
        }
        if (w % 4 == 3)
            gcn_settle(e, greatest, count);
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned w = 0; w < x->words; w++) {
            bool gathered = !sparse && single;          /* gathered with the weights */
            put(e, x->value[b_long], w, gcn_long_word(e, &x->of_long, x->l_long.reg[values], i, first + w));
            if (!i || sparse)
                put(e, x->value[!b_long], w, gathered ? weight[w] : short_of(e, x, at, values, i, first + w));
            if (wide)
                put(e, x->weight[b_long], w, gcn_long_word(e, &x->of_long, x->l_long.reg[weights], i, first + w));
            if (wide && (!i || sparse))
                put(e, x->weight[!b_long], w, sparse ? short_of(e, x, at, weights, i, first + w) : weight[w]);
        }
        run[i] = block(e, x, greatest[i], run[i], x->special);
    }
}

/* mma.sp of bytes: the bytes of B for a row are selected before conversion. */
static void
sparse_bytes(struct emit *e, const struct float_body *x, const struct gcn_short *at, unsigned n, unsigned count, V *run)
{
    for (unsigned i = 0; i < count; i++) {
        V greatest = NULL, special = NULL;
        for (unsigned w = 0; w < x->words; w++) {
            V layer[LAYERS], two[LAYERS];
            decode(e, x->of_short.type, short_of(e, x, at, 0, i, w), layer);
            two[0] = two[2] = layer[2 * n];
            two[1] = two[3] = layer[2 * n + 1];
            special = most_of(e, x->of_short.type, special, two);
            greatest = most(e, greatest, gcn_long_word(e, &x->of_long, x->l_long.reg[2 * n + 1], i, w), layer[2 * n + 1]);
            put(e, x->value[0], w, gcn_long_word(e, &x->of_long, x->l_long.reg[2 * n], i, w));
            put(e, x->value[1], w, layer[2 * n]);
            if (w % 4 == 3)
                gcn_settle(e, &greatest, 1);
        }
        special = LLVMBuildOr(e->b, x->special, is_special(e, x->of_short.type, special), "");
        run[i] = block(e, x, greatest, run[i], special);
    }
}

/* The elements of D for row (column) j of the short operand; state: those of C, replaced. */
static void
elements_of(struct emit *e, const struct float_body *x, V j, unsigned count, V *state)
{
    const struct ptx_matrix *m = x->p->m;
    const bool bytes = is_byte(m->a), widens = !bytes && m->c == PTX_F16 && m->d == PTX_F32, rounds = !bytes && m->c == PTX_F32 && m->d == PTX_F16;
    const struct gcn_short at = gcn_short(e, j);
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

/* elem: elements of C, replaced by those of D. Each round takes the elements of one row (column) of the short operand from the front, and
 * appends the results. */
static void
loop(struct emit *e, V fn, const struct float_body *x, V *elem)
{
    const struct ptx_matrix *m = x->p->m;
    bool b_long = m->n == 32;
    unsigned count = b_long ? m->n / 8u : m->m / 8u, rounds = b_long ? m->m / 4u : m->n / 4u, n = count * rounds;
    V phi[8], next[8], one = i32(e, 1), end = gcn_unknown(e, rounds);
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

/* Make the layers of both operands; test whether any number in the wave is infinite or NaN. */
static void
prepare(struct emit *e, struct float_body *x, const V (*regs)[8])
{
    const struct ptx_matrix *m = x->p->m;
    x->special = LLVMConstInt(e->i1, 0, false);
    for (unsigned operand = 0; operand < 2; operand++) {
        const struct gcn_operand *o = x->of_long.b == operand ? &x->of_long : &x->of_short;
        struct layers *l = x->of_long.b == operand ? &x->l_long : &x->l_short;
        bool late = operand && m->chunk && is_byte(m->b);
        V greatest = NULL;
        l->count = late ? 1 : layers_of(o->type);
        for (unsigned r = 0; r < gcn_matrix_registers(o->m, operand, o->type); r++) {
            V layer[LAYERS] = { regs[operand][r] };
            if (!late) {
                decode(e, o->type, regs[operand][r], layer);
                greatest = most_of(e, o->type, greatest, layer);
            }
            for (unsigned k = 0; k < l->count; k++)
                l->reg[k][r] = layer[k];
        }
        if (greatest)
            x->special = LLVMBuildOr(e->b, x->special, is_special(e, o->type, greatest), "");
    }
    x->special = gcn_any(e, x->special);
}

/* regs: fragments of A, B and C. */
static void
products_float(struct emit *e, V fn, const struct gcn_product *p, const V (*regs)[8], const V *meta, V *out)
{
    const struct ptx_matrix *m = p->m;
    struct float_body x = { .p = p, .stored = *m };
    const bool single = m->a == PTX_TF32, b_long = m->n == 32;
    struct gcn_operand a = { &x.stored, false, m->a }, b = { m, true, m->b };
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
    for (unsigned operand = 0; operand < 2; operand++) {
        x.value[operand] = LLVMBuildAlloca(e->b, LLVMArrayType2(e->i32, BLOCK), "");
        x.weight[operand] = single ? x.value[operand] : LLVMBuildAlloca(e->b, LLVMArrayType2(e->i32, BLOCK), "");
    }
    for (unsigned i = 0; i < m->nd * (m->d == PTX_F16 ? 2u : 1u); i++)
        out[i] = gcn_element_of(e, regs[2], m->c, i);
    loop(e, fn, &x, out);
}

/* ---- functions ----------------------------------------------------------------------------------------------------------- */

/* wmma and mma of f64 with the same shape share a function; tf32 of wmma has two blocks. */
static void
name_of(const struct gcn_product *p, char *name, size_t size)
{
    static const char *const round[] = { [PTX_RZ] = ".rz", [PTX_RM] = ".rm", [PTX_RP] = ".rp" };
    const struct ptx_matrix *m = p->m;
    const bool f64 = m->a == PTX_F64;
    const char *kind = m->chunk ? "mma.sp" : p->in->op == PTX_OP_WMMA_MMA && !f64 ? "wmma" : "mma", *more = "";
    if (p->quad)
        more = m->a_col ? m->b_col ? ".col.col" : ".col.row" : m->b_col ? ".row.col" : ".row.row";
    else if (f64 && !gcn_to_nearest(p->in))
        more = round[p->in->round];
    snprintf(name, size, "%s.m%un%uk%u.%s.%s.%s.%s%s", kind, m->m, m->n, m->k, ptx_type_name((ptx_type)m->d), ptx_type_name((ptx_type)m->a),
             ptx_type_name((ptx_type)m->b), ptx_type_name((ptx_type)m->c), more);
}

/* Numbers of parameters: C, A, B, metadata. */
struct parameters {
    unsigned c, a, b, meta;
};
enum { PARAMETERS = 32 };

static void
body(struct emit *e, V fn, const struct gcn_product *p, const struct parameters *n)
{
    LLVMBasicBlockRef back = LLVMGetInsertBlock(e->b);
    V v[PARAMETERS], regs[3][8], out[8], *meta = v + n->c + n->a + n->b;
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    LLVMGetParams(fn, v);
    memcpy(regs[2], v, n->c * sizeof *v);
    memcpy(regs[0], v + n->c, n->a * sizeof *v);
    memcpy(regs[1], v + n->c + n->a, n->b * sizeof *v);
    if (p->quad)
        gcn_quad(e, p, regs, out);
    else if (p->m->a == PTX_F64)
        gcn_chains_f64(e, fn, p, regs, out);
    else if (p->m->d == PTX_S32)
        gcn_sparse_dots(e, p, regs, meta, out);
    else
        products_float(e, fn, p, (const V (*)[8])regs, meta, out);
    gcn_pack(e, p->m, out);
    LLVMBuildAggregateRet(e->b, out, p->m->nd);
    LLVMPositionBuilderAtEnd(e->b, back);
}

static V
function(struct emit *e, const struct gcn_product *p, const struct parameters *n, LLVMTypeRef type)
{
    char name[128];
    name_of(p, name, sizeof name);
    V fn = LLVMGetNamedFunction(e->module, name);
    if (fn)
        return fn;
    fn = LLVMAddFunction(e->module, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    emit_set_attribute(fn, "noinline");
    emit_set_attribute(fn, "norecurse");          /* saves no registers: callers see which ones it overwrites */
    emit_set_attribute(fn, "convergent");         /* lanes read each other's registers */
    if (!gcn_precompiled_body(e, fn))
        body(e, fn, p, n);
    return fn;
}

/* m16n8k16 of f64, whose arguments do not all fit into registers: m16n8k8 twice, the second continuing the chains. */
static void
two_halves(struct emit *e, const struct gcn_product *p, V regs[3][8], V *out)
{
    struct ptx_matrix half = *p->m;
    struct gcn_product one = *p;
    V rest[3][8];
    half.k = 8;
    half.na = p->m->na / 2;
    half.nb = p->m->nb / 2;
    one.m = &half;
    one.k = half.k;
    gcn_product(e, &one, regs, NULL, rest[2]);
    memcpy(rest[0], regs[0] + half.na, half.na * sizeof *rest[0]);
    memcpy(rest[1], regs[1] + half.nb, half.nb * sizeof *rest[1]);
    gcn_product(e, &one, rest, NULL, out);
}

void
gcn_product(struct emit *e, const struct gcn_product *p, V regs[3][8], const V *meta, V *out)
{
    if (p->m->a == PTX_F64 && p->m->k == 16) {
        two_halves(e, p, regs, out);
        return;
    }
    const struct ptx_matrix *m = p->m;
    struct ptx_matrix stored = *m;
    stored.k = p->k;
    /* Without the repeated registers of wmma fragments. */
    const struct parameters n = { m->nc, p->quad ? m->na : gcn_matrix_registers(&stored, false, m->a),
                                  p->quad ? m->nb : gcn_matrix_registers(m, true, m->b), m->chunk ? p->meta.count : 0 };
    const unsigned count = n.c + n.a + n.b + n.meta;
    const bool saturates = p->in->flags & PTX_F_SATFINITE && m->d == PTX_S32;       /* the whole sum saturates, once */
    LLVMTypeRef types[PARAMETERS];
    V args[PARAMETERS];
    for (unsigned i = 0; i < PARAMETERS; i++)
        types[i] = m->a == PTX_F64 ? e->i64 : e->i32;
    LLVMTypeRef type = LLVMFunctionType(LLVMStructTypeInContext(e->llvm, types, m->nd, false), types, count, false);
    V fn = function(e, p, &n, type);
    for (unsigned i = 0; i < n.c; i++)
        args[i] = saturates ? i32(e, 0) : regs[2][i];
    memcpy(args + n.c, regs[0], n.a * sizeof *args);
    memcpy(args + n.c + n.a, regs[1], n.b * sizeof *args);
    if (n.meta)
        memcpy(args + n.c + n.a + n.b, meta, n.meta * sizeof *args);
    V r = LLVMBuildCall2(e->b, type, fn, args, count, "");
    LLVMSetTailCallKind(r, LLVMTailCallKindNoTail);     /* LLVM saves registers in functions with tail calls, whatever callers see */
    for (unsigned i = 0; i < m->nd; i++) {
        V sum[2] = { LLVMBuildExtractValue(e->b, r, i, ""), regs[2][i] };
        out[i] = saturates ? emit_intrinsic(e, "llvm.sadd.sat", sum, 2, -1) : sum[0];
    }
}
