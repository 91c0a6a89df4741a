/* SPDX-License-Identifier: Apache-2.0
 * .ftz on AMD processors. Their own mode for it holds for all instructions of a kernel and rounds what is nearly 2^-126 in a way that is written
 * nowhere, so subnormals are made zero by code; but hardly any value is one. The emitter leaves marks: on operands, on results of sums, products and
 * fused ones. Marks on what cannot be subnormal go. The others become code: a wave looks once, for several operations that follow each other,
 * whether one of them may give a subnormal, and only then computes all of them again with zeros. */
#include "jit/emit/amdgcn_private.h"
#include "jit/emit/flush_code.h"
#include "jit/emit/fp_private.h"
#include "jit/emit/scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef LLVMValueRef V;

/* Operations that share a test: their operands stay in registers until it, REGISTERS at the most. Where making zeros takes no more instructions than AT_ONCE
 * there is no test, which takes as many, but no blocks. What uses results may stand behind the test with up to LATER others. */
enum { GROUP = 32, REGISTERS = 48, AT_ONCE = 9, LATER = 32 };

enum { KINDS = FP_FLUSH_FMA + 1 };

/* value: marks in the order of the program; input: their operands that are not among them; later: what uses them, to come behind the test. */
struct flush {
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    V mark[KINDS];
    bool wave64;
    unsigned group, registers, n, ninput, nlater;
    V value[GROUP], input[REGISTERS], later[LATER];
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
    return gcn_find(p->value, p->n, v);
}

/* An operand of an operation in the group: which of its values it is, or -1. */
static int
member(const struct flush *p, V v, bool *negated)
{
    int i = in_group(p, v);
    *negated = i < 0 && LLVMIsAUnaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFNeg && in_group(p, LLVMGetOperand(v, 0)) >= 0;
    return *negated ? in_group(p, LLVMGetOperand(v, 0)) : i;
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
    bool negated;
    int i = member(p, v, &negated);
    return i < 0 ? v : negated ? LLVMBuildFNeg(p->b, exact[i], "") : exact[i];
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

/* ---- for the end of the code generator (flush_code.h) ------------------------------------------------------------------------------ */

/* Takes the mark into the group. False: it has no place for it. */
static bool
take(struct flush *p, V mark)
{
    unsigned n = p->ninput;
    bool negated;

    for (unsigned i = 0; i < fp_flush_marks[kind(p, mark)].operands; i++) {
        V o = LLVMGetOperand(mark, 1 + i);
        bool known = member(p, o, &negated) >= 0;
        for (unsigned k = 0; k < n; k++)
            known |= p->input[k] == o;
        if (!known && n == REGISTERS)
            return false;
        if (!known)
            p->input[n++] = o;
    }
    if (p->n == p->group || p->n + n >= p->registers)
        return false;
    p->ninput = n;
    p->value[p->n++] = mark;
    return true;
}

/* A piece of assembly. What comes out is tied to a value that goes in, or (NULL) to none; and perhaps a mask of lanes. Returns all that comes out. */
static V
piece(struct flush *p, const char *text, V *tied, unsigned out, bool mask, V *in, unsigned n)
{
    LLVMTypeRef type[GROUP + REGISTERS], result[GROUP + 5];
    V args[GROUP + REGISTERS];
    char constraints[5 * (GROUP + REGISTERS)] = "";
    unsigned nargs = 0;

    for (unsigned i = 0; i < GROUP + REGISTERS; i++)
        type[i] = LLVMFloatTypeInContext(p->llvm);
    memcpy(result, type, sizeof result);
    for (unsigned i = 0; i < out; i++)
        strcat(constraints, i ? ",=&v" : "=&v");
    if (mask) {
        strcat(constraints, ",=&s");
        result[out] = p->wave64 ? LLVMInt64TypeInContext(p->llvm) : LLVMInt32TypeInContext(p->llvm);
    }
    for (unsigned i = 0; i < out; i++)
        if (tied[i]) {
            sprintf(constraints + strlen(constraints), ",%u", i);
            args[nargs++] = tied[i];
        }
    for (unsigned i = 0; i < n; i++) {
        strcat(constraints, ",v");
        args[nargs++] = in[i];
    }
    LLVMTypeRef fn = LLVMFunctionType(LLVMStructTypeInContext(p->llvm, result, out + mask, false), type, nargs, false);
    V code = LLVMGetInlineAsm(fn, text, strlen(text), constraints, strlen(constraints), false, false, LLVMInlineAsmDialectATT, false);
    V call = LLVMBuildCall2(p->b, fn, code, args, nargs, "");
    gcn_computes(call);
    /* Where parts of an assembly's result are taken, LLVM reads all constraints for each of them, in each of six passes, to see whether they are uniform. */
    return LLVMBuildFreeze(p->b, call, "");
}

/* The text of a piece that computes the group again, and its registers. */
struct again {
    char text[sizeof EMIT_FLUSH_AGAIN + GROUP * 24];
    size_t length;
    int reg[GROUP];             /* where each value of the group comes out, or -1: where it is needed it is made of what goes in */
    unsigned out, n;
    V tied[GROUP + 4], in[GROUP + REGISTERS];
};

static void
write(struct again *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    a->length += (size_t)vsnprintf(a->text + a->length, sizeof a->text - a->length, format, args);
    va_end(args);
}

static unsigned
goes_in(struct again *a, V v)
{
    unsigned i = 0;
    while (i < a->n && a->in[i] != v)
        i++;
    if (i == a->n)
        a->in[a->n++] = v;
    return a->out + 1 + i;
}

static void
write_operand(struct flush *p, struct again *a, V o)
{
    bool negated;
    int i = member(p, o, &negated);

    if (i >= 0 && a->reg[i] >= 0)
        write(a, "%s%d", negated ? "-" : "", a->reg[i]);
    else if (i >= 0)
        write(a, "%s~%u", negated ? "-" : "", goes_in(a, LLVMGetOperand(p->value[i], 0)));
    else
        write(a, "%u", goes_in(a, o));
}

/* Computes the group again: exact[i], of what is used behind it. */
static void
again(struct flush *p, const bool *used, V *exact)
{
    static const char letters[KINDS] = { [FP_FLUSH] = 'f', [FP_FLUSH_ADD] = '+', [FP_FLUSH_MUL] = '*', [FP_FLUSH_FMA] = '#' };
    struct again a = { .text = EMIT_FLUSH_AGAIN, .length = sizeof EMIT_FLUSH_AGAIN - 1 };

    for (unsigned i = 0; i < p->n; i++) {
        unsigned k = kind(p, p->value[i]);
        a.reg[i] = used[i] || fp_flush_marks[k].operands ? (int)a.out : -1;
        if (a.reg[i] >= 0)
            a.tied[a.out++] = fp_flush_marks[k].operands ? NULL : LLVMGetOperand(p->value[i], 0);
    }
    a.out += 4;
    for (unsigned i = 0; i < p->n; i++) {
        unsigned k = kind(p, p->value[i]);
        if (a.reg[i] < 0)
            continue;
        write(&a, " %c", letters[k]);
        for (unsigned j = 0; j < fp_flush_marks[k].operands; j++) {
            write(&a, j ? "," : "");
            write_operand(p, &a, LLVMGetOperand(p->value[i], 1 + j));
        }
    }
    V all = piece(p, a.text, a.tied, a.out, true, a.in, a.n);
    for (unsigned i = 0; i < p->n; i++)
        if (used[i])
            exact[i] = LLVMBuildExtractValue(p->b, all, (unsigned)a.reg[i], "");
}

/* i1: one of the group may be subnormal, or 2^-126 by rounding; without zeros' code, which are frequent. What comes from elsewhere may be the same each time
 * here and is left to LLVM, as are few. */
static V
may_be_small(struct flush *p)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(p->llvm);
    V least = NULL, here[GROUP];
    unsigned n = 0, nhere = 0;

    for (unsigned i = 0; i < p->n; i++) {
        V v = LLVMGetOperand(p->value[i], 0);
        nhere += LLVMIsAInstruction(v) && LLVMGetInstructionParent(v) == LLVMGetInstructionParent(p->value[i]);
    }
    for (unsigned i = 0; i < p->n; i++) {
        V v = LLVMGetOperand(p->value[i], 0);
        if (nhere > 2 && LLVMIsAInstruction(v) && LLVMGetInstructionParent(v) == LLVMGetInstructionParent(p->value[i])) {
            here[n++] = v;
            continue;
        }
        V bits = LLVMBuildBitCast(p->b, v, i32, "");
        bits = LLVMBuildAdd(p->b, LLVMBuildShl(p->b, bits, LLVMConstInt(i32, 1, false), ""), LLVMConstAllOnes(i32), "");
        least = least ? intrinsic(p, "llvm.umin", i32, (V[]){ least, bits }, 2) : bits;
    }
    if (n) {
        V bits = LLVMBuildBitCast(p->b, LLVMBuildExtractValue(p->b, piece(p, EMIT_FLUSH_TEST, (V[3]){ NULL }, 3, false, here, n), 0, ""), i32, "");
        least = least ? intrinsic(p, "llvm.umin", i32, (V[]){ least, bits }, 2) : bits;
    }
    return LLVMBuildICmp(p->b, LLVMIntULT, least, LLVMConstInt(i32, 0x01000000, false), "");
}

/* ---- the group ------------------------------------------------------------------------------------------------------------------ */

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

/* Ends the group before the instruction `at`; in front of that comes what uses it. */
static void
end_group(struct flush *p, V at)
{
    V behind = at;
    for (unsigned i = 0; i < p->nlater; i++) {
        LLVMInstructionRemoveFromParent(p->later[i]);
        LLVMPositionBuilderBefore(p->b, behind);
        LLVMInsertIntoBuilder(p->b, p->later[i]);
        at = p->later[0];
    }
    p->nlater = 0;

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
        again(p, out, exact);
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
    p->n = p->ninput = 0;
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

static bool
uses_later(const struct flush *p, V user)
{
    for (int k = 0; p->nlater && k < LLVMGetNumOperands(user); k++)
        for (unsigned i = 0; i < p->nlater; i++)
            if (p->later[i] == LLVMGetOperand(user, (unsigned)k))
                return true;
    return false;
}

/* May it stand further behind? It neither reads nor writes memory nor needs certain lanes. */
static bool
can_wait(const struct flush *p, V i)
{
    if (p->nlater == LATER)
        return false;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFNeg: case LLVMFCmp: case LLVMICmp: case LLVMSelect: case LLVMBitCast: case LLVMAnd:
    case LLVMOr: case LLVMXor: case LLVMFPTrunc: case LLVMFPExt:
        return true;
    default:
        return false;
    }
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
        bool waits = uses_later(p, i);
        if (mark) {
            if (!waits && take(p, i))
                continue;
            end_before_mark(p, i);
            (void)take(p, i);       /* an empty group has a place for it */
        } else if (p->n && LLVMIsATerminatorInst(i)) {
            end_group(p, i);
        } else if (waits || (gcn_reads_any(i, p->value, p->n) && (p->n == p->group || !only_for_mark(p, i)))) {
            if (can_wait(p, i) && !only_for_mark(p, i))
                p->later[p->nlater++] = i;
            else
                end_group(p, i);
        }
    }
}

void
emit_place_flushes(LLVMModuleRef m, bool wave64)
{
    struct flush p = { .llvm = LLVMGetModuleContext(m), .module = m, .wave64 = wave64, .group = wave64 ? GROUP / 2 : GROUP,
                       .registers = wave64 ? REGISTERS * 3 / 4 : REGISTERS };
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
