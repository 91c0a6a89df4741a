/* SPDX-License-Identifier: Apache-2.0
 * .ftz on AMD processors. Their own mode for it holds for all instructions of a kernel and rounds what is nearly 2^-126 in a way that is written
 * nowhere, so subnormals are made zero by code; but hardly any value is one. The emitter leaves marks: on operands, on results of sums, products and
 * fused ones. Marks on what cannot be subnormal go. The others become code: a wave looks once, for several operations that follow each other,
 * whether one of them may give a subnormal, and only then computes all of them again with zeros, in assembly. */
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
    bool failed;                /* out of memory */
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

/* ---- the group again, as assembly ------------------------------------------------------------------------------------------------ */

/* LLVM takes ten times as long for instructions of its own as for assembly, and hardly any wave comes here. Nothing but vector registers is read or
 * written. value: the group's, two more that are free, what comes from outside. */
struct again {
    struct cw_buf text, constraints;
    unsigned n, inputs;
    V input[3 * GROUP];
};

enum { FREE = GROUP, MORE = GROUP + 1 };        /* names of the two */

/* The number of a register in the assembly. */
static unsigned
number(const struct again *a, unsigned of)
{
    return of < GROUP ? of : a->n + of - FREE;
}

/* Where the operand v of a value of the group is; *minus: it is the negated one of that. */
static unsigned
place_of(const struct flush *p, struct again *a, V v, bool *minus)
{
    int i = in_group(p, v);
    *minus = false;
    if (i < 0 && LLVMIsAUnaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFNeg && (i = in_group(p, LLVMGetOperand(v, 0))) >= 0)
        *minus = true;
    if (i >= 0)
        return (unsigned)i;
    unsigned k = 0;
    while (k < a->inputs && a->input[k] != v)
        k++;
    if (k == a->inputs)
        a->input[a->inputs++] = v;
    return a->n + 2 + k;
}

/* Value i, whose operands are zeros where they were subnormal: exactly() line by line. What is looked at is 2^63 times as large, so that
 * numbers have exponents from 64 on, and inline constants reach that far. */
static void
compute_again(const struct flush *p, struct again *a, unsigned i)
{
    V v = p->value[i];
    unsigned k = kind(p, v), n = fp_flush_marks[k].operands, at[3] = { 0 }, t = number(a, FREE), u = number(a, MORE);
    bool minus[3] = { false }, scaled = k == FP_FLUSH_MUL || k == FP_FLUSH_FMA;
    for (unsigned o = 0; o < n; o++)
        at[o] = place_of(p, a, LLVMGetOperand(v, 1 + o), &minus[o]);
#define MINUS(o) (minus[o] ? "-" : "")
    /* Without operands it is on a value from outside: drop_needless took those on the group's. */
    unsigned from = n ? i : place_of(p, a, LLVMGetOperand(v, 0), &minus[0]), test = scaled ? t : from;
    if (k == FP_FLUSH_FMA)
        cw_buf_printf(&a->text, "v_fma_f32 $%u, %s$%u, %s$%u, %s$%u\nv_mul_f32_e32 $%u, 0x5f000000, $%u\nv_mul_f32_e32 $%u, 0x5f000000, $%u\n"
                      "v_fma_f32 $%u, %s$%u, %s$%u, %s$%u\n", i, MINUS(0), at[0], MINUS(1), at[1], MINUS(2), at[2], t, at[0], u, at[2],
                      t, MINUS(0), t, MINUS(1), at[1], MINUS(2), u);
    else if (n)
        cw_buf_printf(&a->text, "v_%s_f32_e64 $%u, %s$%u, %s$%u\n", k == FP_FLUSH_ADD ? "add" : "mul", i, MINUS(0), at[0], MINUS(1), at[1]);
    if (k == FP_FLUSH_MUL)      /* its sign does not matter */
        cw_buf_printf(&a->text, "v_mul_f32_e32 $%u, 0x5f000000, $%u\nv_mul_f32_e32 $%u, $%u, $%u\n", t, at[0], t, t, at[1]);
#undef MINUS
    cw_buf_printf(&a->text, "v_bfe_u32 $%u, $%u, 23, 8\n", t, test);
    if (scaled)
        cw_buf_printf(&a->text, "v_med3_u32 $%u, $%u, 63, 64\nv_bfe_i32 $%u, $%u, 6, 1\n", t, t, t, t);
    else
        cw_buf_printf(&a->text, "v_min_u32_e32 $%u, 1, $%u\nv_bfe_i32 $%u, $%u, 0, 1\n", t, t, t, t);
    cw_buf_printf(&a->text, "v_or_b32_e32 $%u, 0x80000000, $%u\nv_and_b32_e32 $%u, $%u, $%u\n", t, t, i, from, t);
}

/* False: out of memory. */
static bool
again(struct flush *p, V *exact)
{
    static const char *const attributes[] = { "memory", "nounwind", "willreturn" };
    struct again a = { .n = p->n };
    LLVMTypeRef f32 = LLVMFloatTypeInContext(p->llvm), types[3 * GROUP];
    bool ok = false;
    cw_buf_init(&a.text);
    cw_buf_init(&a.constraints);
    if (p->wave64)              /* a matrix instruction may still read or write registers that are free now */
        cw_buf_puts(&a.text, "s_nop 15\n");
    for (unsigned i = 0; i < p->n; i++)
        compute_again(p, &a, i);
    for (unsigned i = 0; i < p->n + 2; i++)
        cw_buf_puts(&a.constraints, i ? ",=&v" : "=&v");
    for (unsigned i = 0; i < a.inputs; i++)
        cw_buf_puts(&a.constraints, ",v");
    if (a.text.failed || a.constraints.failed)
        goto done;
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        types[i] = f32;
    LLVMTypeRef type = LLVMFunctionType(LLVMStructTypeInContext(p->llvm, types, p->n + 2, false), types, a.inputs, false);
    V code = LLVMGetInlineAsm(type, a.text.data, a.text.size, a.constraints.data, a.constraints.size, false, false, LLVMInlineAsmDialectATT, false);
    V call = LLVMBuildCall2(p->b, type, code, a.input, a.inputs, "");
    for (unsigned i = 0; i < sizeof attributes / sizeof *attributes; i++)
        LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(p->llvm, LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i])), 0));
    for (unsigned i = 0; i < p->n; i++)
        exact[i] = LLVMBuildExtractValue(p->b, call, i, "");
    ok = true;
done:
    cw_buf_finish(&a.text);
    cw_buf_finish(&a.constraints);
    return ok;
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
        if (!again(p, exact)) {
            p->failed = true;
            for (unsigned i = 0; i < p->n; i++)
                exact[i] = LLVMGetUndef(LLVMFloatTypeInContext(p->llvm));
        }
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

bool
emit_place_flushes(LLVMModuleRef m, bool wave64)
{
    struct flush p = { .llvm = LLVMGetModuleContext(m), .module = m, .wave64 = wave64 };
    bool any = false;

    for (unsigned k = 0; k < KINDS; k++)
        any |= (p.mark[k] = LLVMGetNamedFunction(m, fp_flush_marks[k].name)) != NULL;
    if (!any)
        return true;
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
    return !p.failed;
}
