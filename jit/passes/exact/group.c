/* SPDX-License-Identifier: Apache-2.0
 * Groups of annotated values: consecutive operations of a block share a test for rare results and the code that corrects them. To make
 * groups large, users of the values move behind that code where they may. */
#include "jit/passes/exact/exact_private.h"

int
group_find(const V *value, unsigned n, V v)
{
    for (unsigned i = 0; i < n; i++)
        if (value[i] == v)
            return (int)i;
    return -1;
}

static bool
reads_any(V user, const V *value, unsigned n)
{
    for (int k = 0; n && !LLVMIsAPHINode(user) && k < LLVMGetNumOperands(user); k++)
        if (group_find(value, n, LLVMGetOperand(user, (unsigned)k)) >= 0)
            return true;
    return false;
}

bool
group_is_annotated(const struct group *g, V v)
{
    enum emit_annotation kind = emit_annotation_of(v);
    return kind >= g->rules->first && kind <= g->rules->last;
}

V
group_result(const struct group *g, V v)
{
    return group_is_annotated(g, v) ? LLVMGetOperand(v, 0) : v;
}

unsigned
group_operands(const struct group *g, V v)
{
    return group_is_annotated(g, v) ? LLVMGetNumArgOperands(v) - 1 : 2;
}

V
group_operand(const struct group *g, V v, unsigned k)
{
    return LLVMGetOperand(v, k + group_is_annotated(g, v));
}

/* Add v to the group. False: the group is full. */
static bool
take(struct group *g, V v)
{
    unsigned n = g->ninput;

    for (unsigned k = 0; k < group_operands(g, v); k++) {
        V o = group_operand(g, v, k);
        if (group_find(g->value, g->n, o) >= 0 || group_find(g->input, n, o) >= 0 || (g->rules->free && g->rules->free(g, o)))
            continue;
        if (n == GROUP_INPUTS)
            return false;
        g->input[n++] = o;
    }
    if (g->n == g->rules->values[g->wave64] || g->n + n >= g->rules->registers[g->wave64])
        return false;
    g->ninput = n;
    g->value[g->n++] = v;
    return true;
}

/* Is v an operation used by its own annotations alone, or a negated operand of the annotation just behind it? The corrected result is
 * computed again from the operands of what is annotated. */
static bool
only_for_annotation(const struct group *g, V v)
{
    LLVMUseRef first = LLVMGetFirstUse(v);

    for (LLVMUseRef u = first; u; u = LLVMGetNextUse(u)) {
        V user = LLVMGetUser(u);
        if (!group_is_annotated(g, user) || !group_operands(g, user) || LLVMGetInstructionParent(user) != LLVMGetInstructionParent(v))
            return false;
        if (group_result(g, user) != v && !(LLVMIsAUnaryOperator(v) && LLVMGetNextInstruction(v) == user && !LLVMGetNextUse(first)))
            return false;
    }
    return first != NULL;
}

/* May it move down? It neither accesses memory nor depends on the active lanes. */
static bool
can_wait(const struct group *g, V i)
{
    static const char *const names[] = { "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.roundeven.", "llvm.fabs.", "llvm.fptosi.sat.",
                                         "llvm.fptoui.sat.", NULL };

    if (g->nlater == GROUP_LATER || only_for_annotation(g, i))
        return false;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFNeg: case LLVMFCmp: case LLVMICmp: case LLVMSelect: case LLVMBitCast: case LLVMAnd: case LLVMOr:
    case LLVMXor: case LLVMFPTrunc: case LLVMFPExt:
        return true;
    case LLVMAdd: case LLVMSub: case LLVMShl: case LLVMLShr: case LLVMAShr: case LLVMTrunc: case LLVMZExt: case LLVMSExt: case LLVMFreeze:
    case LLVMExtractElement: case LLVMInsertElement:
        return g->rules->eager;
    case LLVMCall:
        return g->rules->eager && exact_calls(i, names);
    default:
        return false;
    }
}

/* Does the user come at or behind `at`, and need the exact value? `from`: the group's block. */
static bool
is_outside(const struct group *g, V user, LLVMBasicBlockRef from, V at)
{
    if (g->rules->blind && g->rules->blind(g, user))
        return false;
    return LLVMIsAPHINode(user) || LLVMGetInstructionParent(user) != from ||
           (LLVMGetInstructionParent(at) == from && !exact_comes_before(user, at));
}

static bool
has_use_outside(const struct group *g, V v, LLVMBasicBlockRef from, V at)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (is_outside(g, LLVMGetUser(u), from, at))
            return true;
    return false;
}

/* Users outside the group get `exact` (unless NULL); all others get the processor's result. */
static void
replace(const struct group *g, V v, V exact, LLVMBasicBlockRef from, V at)
{
    V result = group_result(g, v);

    for (LLVMUseRef u = LLVMGetFirstUse(v), next; u; u = next) {
        V user = LLVMGetUser(u), with = exact && is_outside(g, user, from, at) ? exact : result;
        /* This user's operands change all at once: go on with the next user. */
        for (next = LLVMGetNextUse(u); next && LLVMGetUser(next) == user;)
            next = LLVMGetNextUse(next);
        for (int k = 0; user != exact && k < LLVMGetNumOperands(user); k++)
            if (LLVMGetOperand(user, (unsigned)k) == v)
                LLVMSetOperand(user, (unsigned)k, with);
    }
}

/* End the group before the instruction `at`; moved users go in front of that. */
static void
end(struct group *g, V at)
{
    LLVMBasicBlockRef from = LLVMGetInstructionParent(at);
    V exact[GROUP_VALUES] = { NULL }, behind = at;
    bool out[GROUP_VALUES], any = false;

    for (unsigned i = 0; i < g->nlater; i++) {
        LLVMInstructionRemoveFromParent(g->later[i]);
        LLVMPositionBuilderBefore(g->b, behind);
        LLVMInsertIntoBuilder(g->b, g->later[i]);
        at = g->later[0];
    }
    for (unsigned i = 0; i < g->n; i++)
        any |= out[i] = has_use_outside(g, g->value[i], from, at);
    if (any)
        g->rules->compute(g, at, out, exact);
    for (unsigned i = g->n; i-- > 0;)
        replace(g, g->value[i], exact[i], from, at);
    for (unsigned i = g->n; i-- > 0;)
        if (group_is_annotated(g, g->value[i]))
            LLVMInstructionEraseFromParent(g->value[i]);
    g->n = g->ninput = g->nlater = 0;
}

/* Must i come behind the group's code? In a full group, an operation waiting for its annotation must as well, since that cannot join. */
static bool
needs_group(const struct group *g, V i)
{
    return reads_any(i, g->value, g->n) && !(g->rules->blind && g->rules->blind(g, i)) &&
           (g->n == g->rules->values[g->wave64] || !only_for_annotation(g, i));
}

static void
gather(struct group *g, LLVMBasicBlockRef bb)
{
    for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        bool waits = reads_any(i, g->later, g->nlater);
        if (group_is_annotated(g, i)) {
            if (g->rules->drop(g, i) || (!waits && take(g, i)))
                continue;
            end(g, g->rules->restart(g, i));
            (void)take(g, i);           /* an empty group always has space */
        } else if (g->n && LLVMIsATerminatorInst(i)) {
            end(g, i);
        } else if (waits || needs_group(g, i)) {
            if (!waits && g->rules->joins && g->rules->joins(i) && take(g, i))
                continue;
            if (can_wait(g, i))
                g->later[g->nlater++] = i;
            else
                end(g, i);
        }
    }
}

bool
group_run(LLVMModuleRef m, bool wave64, const struct group_rules *rules)
{
    struct group g = { .rules = rules, .llvm = LLVMGetModuleContext(m), .module = m, .wave64 = wave64 };
    V f[EMIT_ANNOTATIONS];
    bool any = false;

    for (unsigned k = rules->first; k <= rules->last; k++)
        any |= (f[k] = emit_annotation_function(m, (enum emit_annotation)k)) != NULL;
    if (!any)
        return false;
    g.b = LLVMCreateBuilderInContext(g.llvm);
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            gather(&g, bb);
    LLVMDisposeBuilder(g.b);
    for (unsigned k = rules->first; k <= rules->last; k++)
        if (f[k])
            LLVMDeleteFunction(f[k]);
    return true;
}
