/* SPDX-License-Identifier: Apache-2.0
 * .ftz on AMD processors. Their own mode for it holds for all instructions of a kernel and rounds what is nearly 2^-126 in a way that is written
 * nowhere, so subnormals are made zero by code; but hardly any value is one. The emitter leaves marks: on operands, on results of sums, products and
 * fused ones. Marks on what cannot be subnormal go. The others become code: a wave looks once, for several operations that follow each other,
 * whether one of them may give a subnormal, and only then computes all of them again with zeros. */
#include "jit/emit/amdgcn_private.h"
#include "jit/emit/fp_private.h"
#include "jit/emit/scope.h"

#include <string.h>

typedef LLVMValueRef V;

/* Operations that share a test: their operands stay in registers until it. Where making zeros takes no more instructions than AT_ONCE there is no
 * test, which takes as many, but no blocks. */
enum { GROUP = 16, AT_ONCE = 9 };

enum { KINDS = FP_FLUSH_FMA + 1 };

/* value: marks in the order of the program. */
struct flush {
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    V mark[KINDS];
    bool wave64;
    unsigned n;
    V value[GROUP];
};

/* KINDS: none. */
static unsigned
kind(const struct flush *p, V v)
{
    V f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    unsigned k = 0;
    while (k < KINDS && (!f || f != p->mark[k]))
        k++;
    return k;
}

/* ---- what cannot be subnormal --------------------------------------------------------------------------------------------------- */

enum { WEB = 64 };

/* phi: those that are taken for normal or zero while it is found out whether they are. */
struct web {
    unsigned n, steps;
    V phi[WEB];
};

static bool normal(const struct flush *p, V v, struct web *w);

static bool
calls(V v, const char *name)
{
    size_t length;
    V f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return f && LLVMIsAFunction(f) && !strcmp(LLVMGetValueName2(f, &length), name);
}

/* The i32, as the bits of an f32: what lanes read of each other is the last argument, or 0. */
static bool
normal_word(const struct flush *p, V v, struct web *w)
{
    if (calls(v, "llvm.amdgcn.ds.bpermute"))
        v = LLVMGetOperand(v, 1);
    return LLVMIsABitCastInst(v) && LLVMTypeOf(LLVMGetOperand(v, 0)) == LLVMFloatTypeInContext(p->llvm) && normal(p, LLVMGetOperand(v, 0), w);
}

static bool
normal_call(const struct flush *p, V v, struct web *w)
{
    static const char *const integers[] = { "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.rint.", "llvm.nearbyint.", "llvm.roundeven." };
    static const char *const first[] = { "llvm.fabs.", "llvm.copysign." };
    static const char *const both[] = { "llvm.minnum.", "llvm.maxnum.", "llvm.minimum.", "llvm.maximum." };
    size_t length;
    V f = LLVMGetCalledValue(v);
    const char *name = LLVMIsAFunction(f) ? LLVMGetValueName2(f, &length) : "";

    for (unsigned i = 0; i < sizeof integers / sizeof *integers; i++)
        if (!strncmp(name, integers[i], strlen(integers[i])))
            return true;
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++)
        if (!strncmp(name, first[i], strlen(first[i])))
            return normal(p, LLVMGetOperand(v, 0), w);
    for (unsigned i = 0; i < sizeof both / sizeof *both; i++)
        if (!strncmp(name, both[i], strlen(both[i])))
            return normal(p, LLVMGetOperand(v, 0), w) && normal(p, LLVMGetOperand(v, 1), w);
    return false;
}

static bool
normal_phi(const struct flush *p, V v, struct web *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->phi[i] == v)
            return true;
    w->phi[w->n++] = v;         /* at most one a step */
    for (unsigned i = 0; i < LLVMCountIncoming(v); i++)
        if (!normal(p, LLVMGetIncomingValue(v, i), w))
            return false;
    return true;
}

static bool
normal(const struct flush *p, V v, struct web *w)
{
    LLVMBool lossy;

    if (LLVMIsAConstantFP(v)) {
        double d = LLVMConstRealGetDouble(v, &lossy);
        return d == 0 || !(d > -0x1p-126 && d < 0x1p-126);
    }
    if (!LLVMIsAInstruction(v) || w->steps == WEB)
        return false;
    w->steps++;
    if (kind(p, v) != KINDS)
        return true;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSIToFP: case LLVMUIToFP:
        return true;
    case LLVMFPExt:
        return LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, 0))) == LLVMHalfTypeKind;
    case LLVMFNeg: case LLVMFreeze:
        return normal(p, LLVMGetOperand(v, 0), w);
    case LLVMSelect:
        return normal(p, LLVMGetOperand(v, 1), w) && normal(p, LLVMGetOperand(v, 2), w);
    case LLVMPHI:
        return normal_phi(p, v, w);
    case LLVMBitCast:
        return normal_word(p, LLVMGetOperand(v, 0), w);
    case LLVMCall:
        return normal_call(p, v, w);
    default:
        return false;
    }
}

static void
each_mark(struct flush *p, enum fp_flush_mark k, void (*f)(struct flush *p, V mark))
{
    V mark = p->mark[k];
    for (LLVMUseRef u = mark ? LLVMGetFirstUse(mark) : NULL, next; u; u = next) {
        next = LLVMGetNextUse(u);
        f(p, LLVMGetUser(u));
    }
}

static void
drop(struct flush *p, V mark)
{
    (void)p;
    LLVMReplaceAllUsesWith(mark, LLVMGetOperand(mark, 0));
    LLVMInstructionEraseFromParent(mark);
}

static void
drop_needless(struct flush *p, V mark)
{
    struct web w = { 0 };
    if (normal(p, LLVMGetOperand(mark, 0), &w))
        drop(p, mark);
}

/* ---- the others ------------------------------------------------------------------------------------------------------------------ */

static int
in_group(const struct flush *p, V v)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->value[i] == v)
            return (int)i;
    return -1;
}

static bool
uses_group(const struct flush *p, V user)
{
    for (int k = 0; p->n && !LLVMIsAPHINode(user) && k < LLVMGetNumOperands(user); k++)
        if (in_group(p, LLVMGetOperand(user, (unsigned)k)) >= 0)
            return true;
    return false;
}

/* Is v what the mark behind it in its block is on and nothing else, or the negated operand of the mark right behind? Both are computed again with the
 * mark. */
static bool
only_for_mark(const struct flush *p, V v)
{
    LLVMUseRef u = LLVMGetFirstUse(v);
    V mark = u && !LLVMGetNextUse(u) ? LLVMGetUser(u) : NULL;
    unsigned k = mark ? kind(p, mark) : KINDS;

    if (k == KINDS || !fp_flush_marks[k].operands || LLVMGetInstructionParent(mark) != LLVMGetInstructionParent(v))
        return false;
    return LLVMGetOperand(mark, 0) == v || (LLVMIsAUnaryOperator(v) && LLVMGetNextInstruction(v) == mark);
}

static V
f32(const struct flush *p, double d)
{
    return LLVMConstReal(LLVMFloatTypeInContext(p->llvm), d);
}

static V
intrinsic(struct flush *p, const char *name, LLVMTypeRef type, V *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    return LLVMBuildCall2(p->b, LLVMIntrinsicGetType(p->llvm, id, &type, 1), LLVMGetIntrinsicDeclaration(p->module, id, &type, 1), args, n, "");
}

/* An operand of a value of the group, with zeros in place of subnormals. */
static V
operand(struct flush *p, V v, const V *exact)
{
    int i = in_group(p, v);
    if (i >= 0)
        return exact[i];
    i = LLVMIsAUnaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFNeg ? in_group(p, LLVMGetOperand(v, 0)) : -1;
    return i >= 0 ? LLVMBuildFNeg(p->b, exact[i], "") : v;
}

/* The operation that a mark is on, of these operands. */
static V
operation(struct flush *p, unsigned k, V *o)
{
    return k == FP_FLUSH_ADD ? LLVMBuildFAdd(p->b, o[0], o[1], "") : k == FP_FLUSH_MUL ? LLVMBuildFMul(p->b, o[0], o[1], "")
                             : intrinsic(p, "llvm.fma", LLVMTypeOf(o[0]), o, 3);
}

/* What the operation gives an H200: zero where the result is subnormal when it is rounded as if exponents had no end, so that is looked at 2^64 times
 * as large. Sums that are subnormal are exact. */
static V
exactly(struct flush *p, V v, const V *exact)
{
    LLVMTypeRef type = LLVMTypeOf(v), i32 = LLVMInt32TypeInContext(p->llvm);
    unsigned k = kind(p, v), n = fp_flush_marks[k].operands;
    V o[3] = { NULL }, r;

    for (unsigned i = 0; i < n; i++)
        o[i] = operand(p, LLVMGetOperand(v, 1 + i), exact);
    V test = r = n ? operation(p, k, o) : operand(p, LLVMGetOperand(v, 0), exact);
    if (k == FP_FLUSH_MUL || k == FP_FLUSH_FMA) {
        for (unsigned i = 0; i < n; i += 2)
            o[i] = LLVMBuildFMul(p->b, o[i], f32(p, 0x1p64), "");
        test = operation(p, k, o);
    }
    V small = LLVMBuildFCmp(p->b, LLVMRealOLT, intrinsic(p, "llvm.fabs", type, &test, 1), f32(p, test == r ? 0x1p-126 : 0x1p-62), "");
    V sign = LLVMBuildAnd(p->b, LLVMBuildBitCast(p->b, r, i32, ""), LLVMConstInt(i32, UINT32_C(1) << 31, false), "");
    return LLVMBuildSelect(p->b, small, LLVMBuildBitCast(p->b, sign, type, ""), r, "");
}

/* i1: one of the group may be subnormal, or 2^-126 by rounding; without zeros' code, which are frequent. */
static V
may_be_small(struct flush *p)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(p->llvm);
    V least = NULL;

    for (unsigned i = 0; i < p->n; i++) {
        V bits = LLVMBuildBitCast(p->b, LLVMGetOperand(p->value[i], 0), i32, "");
        bits = LLVMBuildAdd(p->b, LLVMBuildShl(p->b, bits, LLVMConstInt(i32, 1, false), ""), LLVMConstAllOnes(i32), "");
        least = least ? intrinsic(p, "llvm.umin", i32, (V[]){ least, bits }, 2) : bits;
    }
    return LLVMBuildICmp(p->b, LLVMIntULT, least, LLVMConstInt(i32, 0x01000000, false), "");
}

/* Uses in the block `from`, where the group is, are of operations of the group; all others get `now`. */
static void
replace(V v, V now, LLVMBasicBlockRef from)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v), next; u; u = next) {
        V user = LLVMGetUser(u), with = now;
        next = LLVMGetNextUse(u);
        if (user == now)
            continue;
        if (LLVMGetInstructionParent(user) == from && !LLVMIsAPHINode(user))
            with = LLVMGetOperand(v, 0);
        /* All operands of this user change at once: go on with a use by another one. */
        while (next && LLVMGetUser(next) == user)
            next = LLVMGetNextUse(next);
        for (int k = 0; k < LLVMGetNumOperands(user); k++)
            if (LLVMGetOperand(user, (unsigned)k) == v)
                LLVMSetOperand(user, (unsigned)k, with);
    }
}

/* Does a value have uses other than by operations of the group? */
static bool
leaves(V v, V at)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        V user = LLVMGetUser(u);
        if (LLVMIsAPHINode(user) || LLVMGetInstructionParent(user) != LLVMGetInstructionParent(at) || !emit_comes_before(user, at))
            return true;
    }
    return false;
}

/* Ends the group before the instruction `at`. */
static void
end_group(struct flush *p, V at)
{
    V exact[GROUP] = { NULL }, phi[GROUP] = { NULL };
    bool out[GROUP], any = false;
    unsigned cost = 0;
    LLVMBasicBlockRef from = LLVMGetInstructionParent(at);

    for (unsigned i = 0; i < p->n; i++) {
        any |= out[i] = leaves(p->value[i], at);
        cost += 3 + 3 * (kind(p, p->value[i]) == FP_FLUSH_FMA) + 2 * (kind(p, p->value[i]) == FP_FLUSH_MUL);
    }
    if (cost <= AT_ONCE) {
        for (unsigned i = 0; i < p->n; i++) {
            LLVMPositionBuilderBefore(p->b, p->value[i]);
            LLVMReplaceAllUsesWith(p->value[i], exactly(p, p->value[i], exact));
        }
    } else if (any) {
        LLVMBasicBlockRef done = emit_split_block(at), some;
        LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(from));
        LLVMPositionBuilderAtEnd(p->b, from);
        some = gcn_branch_rare(p->b, p->module, p->wave64, may_be_small(p), done, "subnormal");
        for (unsigned i = 0; i < p->n; i++)
            exact[i] = exactly(p, p->value[i], exact);
        for (unsigned i = 0; i < p->n; i++)
            if (out[i])
                exact[i] = gcn_in_vector(p->b, exact[i]);
        LLVMBuildBr(p->b, done);
        LLVMPositionBuilderBefore(p->b, at);
        for (unsigned i = 0; i < p->n; i++) {
            if (!out[i])
                continue;
            phi[i] = LLVMBuildPhi(p->b, LLVMTypeOf(exact[i]), "");
            LLVMAddIncoming(phi[i], (V[]){ LLVMGetOperand(p->value[i], 0), exact[i] }, (LLVMBasicBlockRef[]){ from, some }, 2);
        }
    }
    /* The last first: a mark is an operand of those behind it. */
    for (unsigned i = p->n; i-- > 0;)
        replace(p->value[i], phi[i] ? phi[i] : LLVMGetOperand(p->value[i], 0), from);
    for (unsigned i = p->n; i-- > 0;)
        LLVMInstructionEraseFromParent(p->value[i]);
    p->n = 0;
}

/* A flush of what the group has already flushed. */
static bool
known(struct flush *p, V mark)
{
    for (unsigned i = 0; i < p->n; i++)
        if (kind(p, mark) == FP_FLUSH && kind(p, p->value[i]) == FP_FLUSH && LLVMGetOperand(mark, 0) == LLVMGetOperand(p->value[i], 0)) {
            LLVMReplaceAllUsesWith(mark, p->value[i]);
            LLVMInstructionEraseFromParent(mark);
            return true;
        }
    return false;
}

/* The group ends before a mark that finds no place in it: the operation that it is on follows with it. */
static void
end_before_mark(struct flush *p, V mark)
{
    unsigned k = kind(p, mark), n = fp_flush_marks[k].operands;
    V o[3] = { NULL }, r = mark;

    for (unsigned i = 0; i < n; i++)
        o[i] = LLVMGetOperand(mark, 1 + i);
    if (n) {
        LLVMPositionBuilderBefore(p->b, mark);
        r = operation(p, k, o);
        LLVMSetOperand(mark, 0, r);
    }
    end_group(p, LLVMIsAInstruction(r) ? r : mark);
}

static void
place(struct flush *p, LLVMBasicBlockRef bb)
{
    for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        bool mark = kind(p, i) != KINDS;
        if (mark && known(p, i))
            continue;
        if (LLVMIsAFCmpInst(i) && !LLVMGetFirstUse(i)) {        /* left by emit_relax_nan */
            LLVMInstructionEraseFromParent(i);
            continue;
        }
        if (mark && p->n == GROUP)
            end_before_mark(p, i);
        else if (p->n && (LLVMIsATerminatorInst(i) || (!mark && uses_group(p, i) && (p->n == GROUP || !only_for_mark(p, i)))))
            end_group(p, i);
        if (mark)
            p->value[p->n++] = i;
    }
}

void
emit_place_flushes(LLVMModuleRef m, bool wave64)
{
    struct flush p = { .llvm = LLVMGetModuleContext(m), .module = m, .wave64 = wave64 };
    bool any = false;

    for (unsigned k = 0; k < KINDS; k++)
        any |= (p.mark[k] = LLVMGetNamedFunction(m, fp_flush_marks[k].name)) != NULL;
    if (!any)
        return;
    p.b = LLVMCreateBuilderInContext(p.llvm);
    each_mark(&p, FP_FLUSH, drop_needless);
    each_mark(&p, FP_FLUSHED, drop);
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            place(&p, bb);
    LLVMDisposeBuilder(p.b);
    for (unsigned k = 0; k < KINDS; k++)
        if (p.mark[k])
            LLVMDeleteFunction(p.mark[k]);
}
