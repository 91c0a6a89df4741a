/* SPDX-License-Identifier: Apache-2.0
 * .ftz on AMD processors. Their own mode for it applies to a whole kernel and rounds values near 2^-126 in an undocumented way, so emitted
 * code flushes subnormals; but subnormals are rare. Annotations of values that cannot be subnormal go. The others are grouped (group.c): a
 * wave tests once whether any value of the group may be subnormal, and only then computes all of them again with flushing. */
#include "jit/passes/exact/exact_private.h"
#include "jit/emit/target/amdgcn/pseudo.h"

#include <string.h>

/* Up to this many instructions, flush without a test: the test takes as many, and adds blocks. */
enum { AT_ONCE = 9 };

/* ---- what cannot be subnormal --------------------------------------------------------------------------------------------------- */

enum { VISITED = 64 };

/* phi: assumed normal or zero until proven otherwise. */
struct visited {
    unsigned n, steps;
    V phi[VISITED];
};

static bool normal(V v, struct visited *w);

/* Is the i32 the bits of a normal f32 or 0? Lane exchanges pass on their last argument, or 0. */
static bool
normal_word(V v, struct visited *w)
{
    static const char *const read[] = { "llvm.amdgcn.ds.bpermute", NULL };

    if (exact_calls(v, read))
        v = LLVMGetOperand(v, 1);
    return LLVMIsABitCastInst(v) && LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, 0))) == LLVMFloatTypeKind && normal(LLVMGetOperand(v, 0), w);
}

static bool
normal_call(V v, struct visited *w)
{
    static const char *const integers[] = { "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.rint.", "llvm.nearbyint.", "llvm.roundeven.", NULL };
    static const char *const first[] = { "llvm.fabs.", "llvm.copysign.", NULL };
    static const char *const both[] = { "llvm.minnum.", "llvm.maxnum.", "llvm.minimum.", "llvm.maximum.", NULL };

    return exact_calls(v, integers) || (exact_calls(v, first) && normal(LLVMGetOperand(v, 0), w)) ||
           (exact_calls(v, both) && normal(LLVMGetOperand(v, 0), w) && normal(LLVMGetOperand(v, 1), w));
}

static bool
normal_phi(V v, struct visited *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->phi[i] == v)
            return true;
    w->phi[w->n++] = v;         /* at most one per step */
    for (unsigned i = 0; i < LLVMCountIncoming(v); i++)
        if (!normal(LLVMGetIncomingValue(v, i), w))
            return false;
    return true;
}

static bool
normal(V v, struct visited *w)
{
    LLVMBool lossy;

    if (LLVMIsAConstantFP(v)) {
        double d = LLVMConstRealGetDouble(v, &lossy);
        return d == 0 || !(d > -0x1p-126 && d < 0x1p-126);
    }
    if (!LLVMIsAInstruction(v) || w->steps == VISITED)
        return false;
    w->steps++;
    if (emit_is_flush(v))
        return true;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSIToFP: case LLVMUIToFP:
        return true;
    case LLVMFPExt:
        return LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, 0))) == LLVMHalfTypeKind;
    case LLVMFNeg: case LLVMFreeze:
        return normal(LLVMGetOperand(v, 0), w);
    case LLVMSelect:
        return normal(LLVMGetOperand(v, 1), w) && normal(LLVMGetOperand(v, 2), w);
    case LLVMPHI:
        return normal_phi(v, w);
    case LLVMBitCast:
        return normal_word(LLVMGetOperand(v, 0), w);
    case LLVMCall:
        return normal_call(v, w);
    default:
        return false;
    }
}

static void
drop_all(LLVMModuleRef m, enum emit_annotation kind)
{
    V f = emit_annotation_function(m, kind);
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL, next; u; u = next) {
        V v = LLVMGetUser(u);
        struct visited w = { 0 };
        next = LLVMGetNextUse(u);
        if (kind == EMIT_FLUSHED || normal(LLVMGetOperand(v, 0), &w)) {
            LLVMReplaceAllUsesWith(v, LLVMGetOperand(v, 0));
            LLVMInstructionEraseFromParent(v);
        }
    }
}

/* ---- flushing ---------------------------------------------------------------------------------------------------------------------- */

/* The index of an operand among the group's values, or -1. */
static int
member(const struct group *g, V v, bool *negated)
{
    int i = group_find(g->value, g->n, v);
    *negated = i < 0 && LLVMIsAUnaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFNeg;
    return *negated ? group_find(g->value, g->n, LLVMGetOperand(v, 0)) : i;
}

static bool
is_free(const struct group *g, V v)
{
    bool negated;
    return member(g, v, &negated) >= 0;
}

/* Drop a flush of a value that the group flushes already. */
static bool
drop_known(struct group *g, V v)
{
    for (unsigned i = 0; emit_annotation_of(v) == EMIT_FLUSH && i < g->n; i++)
        if (emit_annotation_of(g->value[i]) == EMIT_FLUSH && LLVMGetOperand(v, 0) == LLVMGetOperand(g->value[i], 0)) {
            LLVMReplaceAllUsesWith(v, g->value[i]);
            LLVMInstructionEraseFromParent(v);
            return true;
        }
    return false;
}

static V
f32(const struct group *g, double d)
{
    return LLVMConstReal(LLVMFloatTypeInContext(g->llvm), d);
}

static V
intrinsic(struct group *g, const char *name, LLVMTypeRef type, V *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    return LLVMBuildCall2(g->b, LLVMIntrinsicGetType(g->llvm, id, &type, 1), LLVMGetIntrinsicDeclaration(g->module, id, &type, 1), args, n, "");
}

/* The operation of an annotation of this kind, on these operands. */
static V
operation(struct group *g, enum emit_annotation kind, V *o)
{
    return kind == EMIT_FLUSH_ADD ? LLVMBuildFAdd(g->b, o[0], o[1], "") : kind == EMIT_FLUSH_MUL ? LLVMBuildFMul(g->b, o[0], o[1], "")
                                  : intrinsic(g, "llvm.fma", LLVMTypeOf(o[0]), o, 3);
}

/* End the group before the annotated operation, which is repeated with its annotation behind it. */
static V
restart(struct group *g, V v)
{
    V o[3] = { NULL }, r = v;

    for (unsigned i = 0; i < group_operands(g, v); i++)
        o[i] = group_operand(g, v, i);
    if (o[0]) {
        LLVMPositionBuilderBefore(g->b, v);
        r = operation(g, emit_annotation_of(v), o);
        LLVMSetOperand(v, 0, r);
    }
    return LLVMIsAInstruction(r) ? r : v;
}

/* An operand of one of the group's values, flushed. */
static V
operand(struct group *g, V v, const V *exact)
{
    bool negated;
    int i = member(g, v, &negated);
    return i < 0 ? v : negated ? LLVMBuildFNeg(g->b, exact[i], "") : exact[i];
}

/* The result on an H200: zero if it is subnormal when rounded with an unbounded exponent, which a computation scaled by 2^64 shows.
 * Subnormal sums are exact. */
static V
exactly(struct group *g, V v, const V *exact)
{
    LLVMTypeRef type = LLVMTypeOf(v), i32 = LLVMInt32TypeInContext(g->llvm);
    enum emit_annotation kind = emit_annotation_of(v);
    unsigned n = group_operands(g, v);
    V o[3] = { NULL }, r;

    for (unsigned i = 0; i < n; i++)
        o[i] = operand(g, group_operand(g, v, i), exact);
    V test = r = n ? operation(g, kind, o) : operand(g, group_result(g, v), exact);
    if (kind == EMIT_FLUSH_MUL || kind == EMIT_FLUSH_FMA) {
        for (unsigned i = 0; i < n; i += 2)
            o[i] = LLVMBuildFMul(g->b, o[i], f32(g, 0x1p64), "");
        test = operation(g, kind, o);
    }
    V small = LLVMBuildFCmp(g->b, LLVMRealOLT, intrinsic(g, "llvm.fabs", type, &test, 1), f32(g, test == r ? 0x1p-126 : 0x1p-62), "");
    V sign = LLVMBuildAnd(g->b, LLVMBuildBitCast(g->b, r, i32, ""), LLVMConstInt(i32, UINT32_C(1) << 31, false), "");
    return LLVMBuildSelect(g->b, small, LLVMBuildBitCast(g->b, sign, type, ""), r, "");
}

/* Compute the group again: exact[i] for the values used behind it. reg: the register of a value, or -1: computed from its inputs where
 * needed. */
static void
again(struct group *g, const bool *used, V *exact)
{
    static const char letters[EMIT_ANNOTATIONS] = { [EMIT_FLUSH] = 'f', [EMIT_FLUSH_ADD] = '+', [EMIT_FLUSH_MUL] = '*', [EMIT_FLUSH_FMA] = '#' };
    LLVMTypeRef type = LLVMFloatTypeInContext(g->llvm);
    struct gcn_pseudo p;
    int reg[GROUP_VALUES];

    gcn_pseudo_begin(&p, GCN_PSEUDO_FLUSH);
    for (unsigned i = 0; i < g->n; i++) {
        bool computed = group_operands(g, g->value[i]);
        reg[i] = used[i] || computed ? (int)gcn_pseudo_out(&p, type, computed ? NULL : group_result(g, g->value[i])) : -1;
    }
    for (unsigned i = 0; i < 4; i++)
        gcn_pseudo_out(&p, type, NULL);
    gcn_pseudo_mask(&p, g->llvm, g->wave64);
    for (unsigned i = 0; i < g->n; i++) {
        if (reg[i] < 0)
            continue;
        gcn_pseudo_operation(&p, letters[emit_annotation_of(g->value[i])]);
        for (unsigned k = 0; k < group_operands(g, g->value[i]); k++) {
            V o = group_operand(g, g->value[i], k);
            bool negated;
            int j = member(g, o, &negated);
            unsigned flags = (negated && j >= 0 ? GCN_NEGATED : 0) | (j >= 0 && reg[j] < 0 ? GCN_FLUSHED : 0);
            gcn_pseudo_operand(&p, flags, j >= 0 && reg[j] >= 0 ? (unsigned)reg[j] : gcn_pseudo_in_once(&p, j >= 0 ? group_result(g, g->value[j]) : o, false));
        }
    }
    V all = gcn_pseudo_build(&p, g->b);
    for (unsigned i = 0; i < g->n; i++)
        if (used[i])
            exact[i] = LLVMBuildExtractValue(g->b, all, (unsigned)reg[i], "");
}

/* i1: some value of the group may be subnormal, or 2^-126 by rounding. Zeros, which are frequent, do not count. If more than two values
 * were computed in this block, a pseudo-instruction tests them. LLVM code tests the others: their test may be loop-invariant. */
static V
may_be_small(struct group *g)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->llvm), type = LLVMFloatTypeInContext(g->llvm);
    V least = NULL, bits;
    bool here[GROUP_VALUES];
    unsigned n = 0;

    for (unsigned i = 0; i < g->n; i++) {
        V v = group_result(g, g->value[i]);
        n += here[i] = LLVMIsAInstruction(v) && LLVMGetInstructionParent(v) == LLVMGetInstructionParent(g->value[i]);
    }
    for (unsigned i = 0; i < g->n; i++) {
        if (n > 2 && here[i])
            continue;
        bits = LLVMBuildBitCast(g->b, group_result(g, g->value[i]), i32, "");
        bits = LLVMBuildAdd(g->b, LLVMBuildShl(g->b, bits, LLVMConstInt(i32, 1, false), ""), LLVMConstAllOnes(i32), "");
        least = least ? intrinsic(g, "llvm.umin", i32, (V[]){ least, bits }, 2) : bits;
    }
    if (n > 2) {
        struct gcn_pseudo p;
        gcn_pseudo_begin(&p, GCN_PSEUDO_SMALL);
        for (unsigned i = 0; i < 3; i++)
            gcn_pseudo_out(&p, type, NULL);
        for (unsigned i = 0; i < g->n; i++)
            if (here[i])
                gcn_pseudo_in(&p, group_result(g, g->value[i]), false);
        bits = LLVMBuildBitCast(g->b, LLVMBuildExtractValue(g->b, gcn_pseudo_build(&p, g->b), 0, ""), i32, "");
        least = least ? intrinsic(g, "llvm.umin", i32, (V[]){ least, bits }, 2) : bits;
    }
    return LLVMBuildICmp(g->b, LLVMIntULT, least, LLVMConstInt(i32, 0x01000000, false), "");
}

static void
compute(struct group *g, V at, const bool *out, V *exact)
{
    static const unsigned costs[EMIT_ANNOTATIONS] = { [EMIT_FLUSH] = 3, [EMIT_FLUSH_ADD] = 3, [EMIT_FLUSH_MUL] = 5, [EMIT_FLUSH_FMA] = 6 };
    LLVMBasicBlockRef from = LLVMGetInstructionParent(at), done, rare;
    unsigned cost = 0;

    for (unsigned i = 0; i < g->n; i++)
        cost += costs[emit_annotation_of(g->value[i])];
    if (cost <= AT_ONCE) {
        for (unsigned i = 0; i < g->n; i++) {
            LLVMPositionBuilderBefore(g->b, g->value[i]);
            exact[i] = exactly(g, g->value[i], exact);
        }
        return;
    }
    done = exact_split_block(at);
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(from));
    LLVMPositionBuilderAtEnd(g->b, from);
    rare = LLVMAppendBasicBlockInContext(g->llvm, LLVMGetBasicBlockParent(done), "subnormal");
    gcn_branch_rare(g->b, may_be_small(g), g->wave64, rare, done, 100000);
    LLVMPositionBuilderAtEnd(g->b, rare);
    again(g, out, exact);
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderBefore(g->b, at);
    for (unsigned i = 0; i < g->n; i++)
        if (out[i]) {
            V phi = LLVMBuildPhi(g->b, LLVMTypeOf(exact[i]), "");
            LLVMAddIncoming(phi, (V[]){ group_result(g, g->value[i]), exact[i] }, (LLVMBasicBlockRef[]){ from, rare }, 2);
            exact[i] = phi;
        }
}

bool
pass_flush(LLVMModuleRef m, const struct cwj_exact_options *o)
{
    static const struct group_rules rules = {
        .first = EMIT_FLUSH, .last = EMIT_FLUSH_FMA, .values = { 32, 16 }, .registers = { 48, 36 },
        .drop = drop_known, .free = is_free, .restart = restart, .compute = compute,
    };

    drop_all(m, EMIT_FLUSH);
    drop_all(m, EMIT_FLUSHED);
    return group_run(m, o->gfx == 9, &rules);
}
