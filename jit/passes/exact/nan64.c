/* SPDX-License-Identifier: Apache-2.0
 * NaN of f64 on AMD processors, whose own rule for payloads is undocumented. Annotations of consecutive operations (group.c) become one
 * pseudo-instruction: a wave tests there whether a result is NaN, and only then computes which NaN an H200 gives. */
#include "jit/passes/exact/exact_private.h"
#include "jit/emit/target/amdgcn/pseudo.h"

#include <math.h>

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

enum { DEPTH = 4 };             /* search depth of blind and is_number */

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

/* + * # (fused product), s (sign change), or something else. */
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

/* An upper bound of the value's exponent, or UNBOUNDED if it may be infinite or NaN. Conversions from integers are numbers, and so are some
 * results computed from them. */
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

/* Is v certainly not NaN? */
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

/* ---- origins of a NaN -------------------------------------------------------------------------------------------------------------- */

enum { OUTSIDE = -1 };

/* A NaN result is the first NaN among its origins: a value of the group (i), or another one (OUTSIDE). `none`: no operand of this value is
 * NaN, so a NaN of it is FP_NAN_F64. */
struct origin {
    V v;
    int i;
    bool none;
};

enum { ORIGINS = GROUP_INPUTS + GROUP_VALUES, MANY = 3 };         /* MANY: an operand with more origins that several values use gets a
                                                                   * register */

struct origins {
    unsigned n;
    struct origin o[ORIGINS];
};

/* A uniform number in SGPRs: a kernel parameter, or a load from a fixed place in constant memory. */
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

/* Add the origins of a NaN in the group's i-th value: its operands in the order b, c, a, or for a quotient a, b, as measured on an H200.
 * (The processor's own quotient would do if its NaN operands were already exact.) An operand that is not `tied` is replaced by its own
 * origins; if it can be NaN while its operands are not, later operands do not count. */
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

/* Drop trailing origins that only say `none`. */
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

/* Values used behind the group get registers, and so do operands of several values with many origins. */
static void
compute(struct group *g, V at, const bool *out, V *exact)
{
    struct gcn_pseudo p;
    bool tied[GROUP_VALUES] = { false };
    unsigned needed[GROUP_VALUES] = { 0 }, reg[GROUP_VALUES];           /* needed: number of values of the group that use it */

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
        if (out[i] && !needed[i]) {             /* a NaN of the others originates in one of these */
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
