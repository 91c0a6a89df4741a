/* SPDX-License-Identifier: Apache-2.0
 * NaN of f64 on AMD processors, whose own rule for payloads is documented nowhere. Annotations of several operations that follow each other (group.c) become one
 * pseudo-instruction: a wave looks there whether a result is NaN, and only then works out which one an H200 gives. */
#include "jit/passes/exact/exact_private.h"
#include "jit/emit/target/amdgcn/pseudo.h"

#include <math.h>

typedef LLVMValueRef V;

static bool
is_quotient(V v)
{
    return LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFDiv && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMDoubleTypeKind;
}

static bool
is_annotated(V v)
{
    return emit_annotation_of(v) <= EMIT_NAN64_3;
}

enum { DEPTH = 4 };             /* how far blind and is_number look */

static bool
is_blind(V user, unsigned depth)
{
    static const char *const ends[] = { "llvm.fptosi.sat.", "llvm.fptoui.sat.", NULL };
    static const char *const through[] = { "llvm.arithmetic.fence.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.roundeven.", "llvm.fabs.",
                                           "llvm.fma.", NULL };

    if (LLVMIsAFCmpInst(user) || LLVMIsAFPToSIInst(user) || LLVMIsAFPToUIInst(user) || exact_calls(user, ends))
        return true;
    bool computes = is_annotated(user) || LLVMIsABinaryOperator(user) || LLVMIsAUnaryOperator(user);
    if (!depth || !(computes || exact_calls(user, through)) || LLVMGetTypeKind(LLVMTypeOf(user)) != LLVMDoubleTypeKind)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(user); u; u = LLVMGetNextUse(u))
        if (!is_blind(LLVMGetUser(u), depth - 1))
            return false;
    return true;
}

static bool
blind(const struct group *g, V user)
{
    return is_blind(user, DEPTH);
}

/* + * # (a fused product), s (its sign changes), or something else. */
static char
operation(V v)
{
    static const char *const fma[] = { "llvm.fma.", NULL }, *const fabs[] = { "llvm.fabs.", NULL };

    if (exact_calls(v, fma))
        return '#';
    if (exact_calls(v, fabs) || (LLVMIsAUnaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFNeg))
        return 's';
    if (!LLVMIsABinaryOperator(v))
        return 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMFAdd: case LLVMFSub: return '+';
    case LLVMFMul: return '*';
    default: return 0;
    }
}

enum { UNBOUNDED = 1024 };

/* An exponent above the value's, or UNBOUNDED: it may be infinite or NaN. Conversions from integers are no NaN, nor is what is computed of some. */
static unsigned
bound(V v, unsigned depth)
{
    unsigned b[3], n = 0, most = 0;

    if (LLVMIsAConstantFP(v)) {
        LLVMBool lossy;
        double d = LLVMConstRealGetDouble(v, &lossy);
        return d != d || isinf(d) ? UNBOUNDED : d == 0 || fabs(d) < 1 ? 0 : (unsigned)ilogb(d) + 1;
    }
    if (LLVMIsAUIToFPInst(v) || LLVMIsASIToFPInst(v))
        return LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(v, 0)));
    if (!is_annotated(v) || !depth)
        return UNBOUNDED;
    V o = LLVMGetOperand(v, 0);
    if (!operation(o))
        return UNBOUNDED;
    for (; n < LLVMGetNumArgOperands(v) - 1; n++) {
        b[n] = bound(LLVMGetOperand(v, 1 + n), depth - 1);
        if (b[n] == UNBOUNDED || LLVMGetOperand(v, 1 + n) != LLVMGetOperand(o, n))
            return UNBOUNDED;
        most = b[n] > most ? b[n] : most;
    }
    switch (operation(o)) {
    case '*': most = b[0] + b[1]; break;
    case '#': most = b[0] + b[1] > b[2] ? b[0] + b[1] + 1 : b[2] + 1; break;
    case '+': most++; break;
    default: break;
    }
    return most < UNBOUNDED ? most : UNBOUNDED;
}

/* Is it surely no NaN? */
static bool
is_number(const struct group *g, V v)
{
    LLVMBool lossy;
    return bound(v, DEPTH) != UNBOUNDED || (LLVMIsAConstantFP(v) && isinf(LLVMConstRealGetDouble(v, &lossy)));
}

static bool
drop_number(struct group *g, V v)
{
    V r = LLVMGetOperand(v, 0);

    if (!is_number(g, v) && !is_number(g, r))
        return false;
    LLVMReplaceAllUsesWith(v, r);
    LLVMInstructionEraseFromParent(v);
    return true;
}

static V
restart(struct group *g, V v)
{
    return LLVMGetOperand(v, 0) == LLVMGetPreviousInstruction(v) ? LLVMGetOperand(v, 0) : v;
}

/* ---- where a NaN comes from -------------------------------------------------------------------------------------------------------- */

enum { OUTSIDE = -1 };

/* What a NaN may be: the one of the first of these that is one. Which is a value of the group or (OUTSIDE) another; `none`: of this value's operands none is
 * NaN, so that if it is it is FP_NAN_F64. */
struct origin {
    V v;
    int i;
    bool none;
};

enum { ORIGINS = GROUP_INPUTS + GROUP_VALUES, MANY = 3 };         /* MANY: an operand of several with more has a register */

struct origins {
    unsigned n;
    struct origin o[ORIGINS];
};

/* A number that is in scalar registers: a kernel's parameter or from constant memory, always the same place. */
static bool
is_scalar(V v)
{
    static const char *const params[] = { "llvm.amdgcn.kernarg.segment.ptr", NULL };
    enum { CONSTANT = 4 };      /* LLVM's address space */
    if (LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    if (!LLVMIsALoadInst(v) || LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(v, 0))) != CONSTANT)
        return false;
    V p = LLVMGetOperand(v, 0);
    while (LLVMIsAPtrToIntInst(p) || LLVMIsAIntToPtrInst(p) || (LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && LLVMIsAConstantInt(LLVMGetOperand(p, 1))))
        p = LLVMGetOperand(p, 0);
    return LLVMIsAConstant(p) || exact_calls(p, params);
}

static bool
has(const struct origins *l, V v)
{
    for (unsigned k = 0; k < l->n; k++)
        if (l->o[k].v == v)
            return true;
    return false;
}

/* Adds where a NaN of the i-th value of the group comes from: its operands b, c and a, in this order, or a quotient's a and b, as was measured on an H200 (the
 * processor's own quotient would do, but for NaN that are not yet the right ones). An operand that is not `tied`
 * stands for what its own NaN comes from; where no operand of it is NaN and it is, others behind it do not count. */
static void
find_origins(const struct group *g, const bool *tied, unsigned i, struct origins *l)
{
    static const unsigned orders[2][3] = { { 0, 1, 2 }, { 1, 2, 0 } };
    const unsigned *order = orders[is_annotated(g->value[i])];
    for (unsigned k = 0; k < 3; k++) {
        if (order[k] >= group_operands(g, g->value[i]))
            continue;
        V o = group_operand(g, g->value[i], order[k]);
        int j = group_find(g->value, i, o);
        if (is_number(g, o) || has(l, o) || l->n == ORIGINS)
            continue;
        if (j < 0 || tied[j]) {
            l->o[l->n++] = (struct origin){ o, j < 0 ? OUTSIDE : j, false };
            continue;
        }
        find_origins(g, tied, (unsigned)j, l);
        if (l->n < ORIGINS)
            l->o[l->n++] = (struct origin){ o, j, true };
    }
}

/* Nothing else is behind it. */
static void
drop_last(struct origins *l)
{
    while (l->n && l->o[l->n - 1].none)
        l->n--;
}

static void
write_value(const struct group *g, struct gcn_pseudo *p, const bool *tied, const unsigned *reg, unsigned i)
{
    struct origins l = { 0 };
    find_origins(g, tied, i, &l);
    drop_last(&l);
    gcn_pseudo_operation(p, '=');
    gcn_pseudo_operand(p, 0, reg[i]);
    for (unsigned k = 0; k < l.n; k++) {
        const struct origin *o = &l.o[k];
        V v = o->none ? group_result(g, o->v) : o->v;
        gcn_pseudo_operand(p, o->none ? GCN_INVALID : 0, o->i >= 0 && tied[o->i] ? reg[o->i] : gcn_pseudo_in_once(p, v, is_scalar(v)));
    }
}

/* Those that come out, and operands of several values with many origins, have registers. */
static void
compute(struct group *g, V at, const bool *out, V *exact)
{
    struct gcn_pseudo p;
    bool tied[GROUP_VALUES] = { false };
    unsigned needed[GROUP_VALUES] = { 0 }, reg[GROUP_VALUES];           /* needed: by how many values of the group */

    for (unsigned i = g->n; i-- > 0;)
        for (unsigned k = 0; (out[i] || needed[i]) && k < group_operands(g, g->value[i]); k++) {
            int j = group_find(g->value, g->n, group_operand(g, g->value[i], k));
            if (j >= 0)
                needed[j]++;
        }
    gcn_pseudo_begin(&p, GCN_PSEUDO_NAN64);
    for (unsigned i = 0; i < g->n; i++) {
        struct origins l = { 0 };
        if (needed[i] > 1 && !out[i])
            find_origins(g, tied, i, &l);
        tied[i] = out[i] || l.n > MANY;
        if (tied[i])
            reg[i] = gcn_pseudo_out(&p, LLVMDoubleTypeInContext(g->llvm), group_result(g, g->value[i]));
    }
    gcn_pseudo_out(&p, LLVMInt32TypeInContext(g->llvm), NULL);
    gcn_pseudo_mask(&p, g->llvm, g->wave64);
    for (unsigned i = 0; i < g->n; i++)
        if (out[i] && !needed[i]) {             /* a NaN of the others is one of these */
            gcn_pseudo_operation(&p, '?');
            gcn_pseudo_operand(&p, 0, reg[i]);
        }
    for (unsigned i = 0; i < g->n; i++)
        if (tied[i])
            write_value(g, &p, tied, reg, i);
    LLVMPositionBuilderBefore(g->b, at);
    V all = gcn_pseudo_build(&p, g->b);
    for (unsigned i = 0; i < g->n; i++)
        if (out[i])
            exact[i] = LLVMBuildExtractValue(g->b, all, reg[i], "");
}

bool
pass_nan64(LLVMModuleRef m, const struct cwj_exact_options *o)
{
    static const struct group_rules rules = {
        .first = EMIT_NAN64_1, .last = EMIT_NAN64_3, .values = { 24, 12 }, .registers = { 32, 16 }, .eager = true,
        .drop = drop_number, .joins = is_quotient, .free = is_number, .blind = blind, .restart = restart, .compute = compute,
    };
    return group_run(m, o->gfx == 9, &rules);
}
