/* SPDX-License-Identifier: Apache-2.0
 * NaN of f64 on AMD processors, whose own rule for payloads is written nowhere. The emitter puts a mark on the result of each operation; emit_place_nan64 turns
 * the marks of several operations that follow each other into one piece of code (nan_code.h): a wave looks there whether a result is NaN, and only then works out
 * which one an H200 gives. */
#include "jit/emit/amdgcn_private.h"
#include "jit/emit/fp_private.h"
#include "jit/emit/nan_code.h"
#include "jit/emit/scope.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef LLVMValueRef V;

/* Operations that share a test, and values that are in registers there (half as many of each where a kernel may have 64): results, and operands that are
 * not computed again. What uses results may stand behind the test with up to LATER others. */
enum { GROUP = 24, REGISTERS = 32, LATER = 32, MARKS = 3 };

/* value: marks in the order of the program, and quotients of them; input: their operands that are not among them; later: what uses them, to come behind the test. */
struct nan64 {
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    V mark[MARKS];              /* by the number of operands, less one */
    bool wave64;
    unsigned group, registers, n, ninput, nlater;
    V value[GROUP], input[REGISTERS], later[LATER];
};

static bool
is_mark(const struct nan64 *p, V v)
{
    V f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return f && gcn_find(p->mark, MARKS, f) >= 0;
}

/* Of a mark, its operation's; or a quotient's. */
static unsigned
operands(const struct nan64 *p, V v)
{
    return is_mark(p, v) ? LLVMGetNumArgOperands(v) - 1 : 2;
}

static V
number(const struct nan64 *p, V v)
{
    return is_mark(p, v) ? LLVMGetOperand(v, 0) : v;
}

static V
operand(const struct nan64 *p, V v, unsigned k)
{
    return LLVMGetOperand(v, k + is_mark(p, v));
}

static bool
is_quotient(V v)
{
    return LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFDiv && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMDoubleTypeKind;
}

static bool
calls(V v, const char *const *names, unsigned n)
{
    size_t len;
    V f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    const char *name = f && LLVMIsAFunction(f) ? LLVMGetValueName2(f, &len) : "";
    for (unsigned i = 0; i < n; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

/* Is the use blind to which NaN it gets? */
static bool
blind(const struct nan64 *p, V user, unsigned depth)
{
    static const char *const ends[] = { "llvm.fptosi.sat.", "llvm.fptoui.sat." };
    static const char *const through[] = { "llvm.arithmetic.fence.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.roundeven.", "llvm.fabs.", "llvm.fma." };

    if (LLVMIsAFCmpInst(user) || LLVMIsAFPToSIInst(user) || LLVMIsAFPToUIInst(user) || calls(user, ends, 2))
        return true;
    bool computes = is_mark(p, user) || LLVMIsABinaryOperator(user) || LLVMIsAUnaryOperator(user);
    if (!depth || !(computes || calls(user, through, 7)) || LLVMGetTypeKind(LLVMTypeOf(user)) != LLVMDoubleTypeKind)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(user); u; u = LLVMGetNextUse(u))
        if (!blind(p, LLVMGetUser(u), depth - 1))
            return false;
    return true;
}

enum { DEPTH = 4 };             /* how far that looks */

/* Is v an operation whose result goes to its mark alone? */
static bool
only_for_mark(const struct nan64 *p, V v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (!is_mark(p, LLVMGetUser(u)) || number(p, LLVMGetUser(u)) != v)
            return false;
    return LLVMGetFirstUse(v) != NULL;
}

/* + * # (a fused product), s (its sign changes), or something else. */
static char
operation(V v)
{
    static const char *const fma[] = { "llvm.fma." }, *const fabs[] = { "llvm.fabs." };

    if (calls(v, fma, 1))
        return '#';
    if (calls(v, fabs, 1) || (LLVMIsAUnaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMFNeg))
        return 's';
    if (!LLVMIsABinaryOperator(v))
        return 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMFAdd: case LLVMFSub: return '+';
    case LLVMFMul: return '*';
    default: return 0;
    }
}

static bool
is_nan(V constant)
{
    LLVMBool lossy;
    double d = LLVMConstRealGetDouble(constant, &lossy);
    return d != d;
}

enum { UNBOUNDED = 1024 };

/* An exponent above the value's, or UNBOUNDED: it may be infinite or NaN. Conversions from integers are no NaN, nor is what is computed of some. */
static unsigned
bound(const struct nan64 *p, V v, unsigned depth)
{
    unsigned b[3], n = 0, most = 0;

    if (LLVMIsAConstantFP(v)) {
        LLVMBool lossy;
        double d = LLVMConstRealGetDouble(v, &lossy);
        return d != d || isinf(d) ? UNBOUNDED : d == 0 || fabs(d) < 1 ? 0 : (unsigned)ilogb(d) + 1;
    }
    if (LLVMIsAUIToFPInst(v) || LLVMIsASIToFPInst(v))
        return LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(v, 0)));
    if (!is_mark(p, v) || !depth)
        return UNBOUNDED;
    if (!operation(number(p, v)))
        return UNBOUNDED;
    for (V o = number(p, v); n < operands(p, v); n++) {
        b[n] = bound(p, operand(p, v, n), depth - 1);
        if (b[n] == UNBOUNDED || operand(p, v, n) != LLVMGetOperand(o, n))
            return UNBOUNDED;
        most = b[n] > most ? b[n] : most;
    }
    switch (operation(number(p, v))) {
    case '*': most = b[0] + b[1]; break;
    case '#': most = b[0] + b[1] > b[2] ? b[0] + b[1] + 1 : b[2] + 1; break;
    case '+': most++; break;
    default: break;
    }
    return most < UNBOUNDED ? most : UNBOUNDED;
}

/* Is it surely no NaN? */
static bool
is_number(const struct nan64 *p, V v)
{
    return bound(p, v, DEPTH) != UNBOUNDED || (LLVMIsAConstantFP(v) && !is_nan(v));
}

/* Takes the mark into the group. False: it has no place for it. */
static bool
take(struct nan64 *p, V mark)
{
    unsigned n = p->ninput;

    for (unsigned k = 0; k < operands(p, mark); k++) {
        V o = operand(p, mark, k);
        if (is_number(p, o) || gcn_find(p->value, p->n, o) >= 0 || gcn_find(p->input, n, o) >= 0)
            continue;
        if (n == REGISTERS)
            return false;
        p->input[n++] = o;
    }
    if (p->n == p->group || p->n + n >= p->registers)
        return false;
    p->ninput = n;
    p->value[p->n++] = mark;
    return true;
}

/* Does the use come at or after `at`, where it matters which NaN it is? */
static bool
looks_later(const struct nan64 *p, V user, V at)
{
    if (blind(p, user, DEPTH))
        return false;
    return LLVMIsAPHINode(user) || LLVMGetInstructionParent(user) != LLVMGetInstructionParent(at) || !emit_comes_before(user, at);
}

static bool
leaves(const struct nan64 *p, V v, V at)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (looks_later(p, LLVMGetUser(u), at))
            return true;
    return false;
}

/* ---- a piece ------------------------------------------------------------------------------------------------------------------------ */

enum { OUTSIDE = -1 };

/* What a NaN may be: the one of the first of these that is one. Which is a value of the group or (OUTSIDE) another; `none`: of this value's operands none is
 * NaN, so that if it is it is FP_NAN_F64. */
struct origin {
    V v;
    int i;
    bool none;
};

enum { ORIGINS = REGISTERS + GROUP, MANY = 3 };         /* MANY: an operand of several with more has a register */

struct origins {
    unsigned n;
    struct origin o[ORIGINS];
};

enum { OVERWRITTEN = 2 };

/* Its text, and its registers. tied: what goes in and comes out, mostly otherwise; then one to overwrite and the mask (OVERWRITTEN); then what else goes in. */
struct piece {
    char text[sizeof EMIT_NAN64 + GROUP * (8 + 5 * ORIGINS)];
    size_t length;
    unsigned ntied, ninput;
    int reg[GROUP];             /* of tied values of the group */
    V tied[GROUP], input[REGISTERS + GROUP];
};

static void
write(struct piece *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    c->length += (size_t)vsnprintf(c->text + c->length, sizeof c->text - c->length, format, args);
    va_end(args);
}

/* A number that is in scalar registers: a kernel's parameter or from constant memory, always the same place. */
static bool
is_scalar(V v)
{
    static const char *const params[] = { "llvm.amdgcn.kernarg.segment.ptr" };
    enum { CONSTANT = 4 };      /* LLVM's address space */
    if (LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    if (!LLVMIsALoadInst(v) || LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(v, 0))) != CONSTANT)
        return false;
    V p = LLVMGetOperand(v, 0);
    while (LLVMIsAPtrToIntInst(p) || LLVMIsAIntToPtrInst(p) || (LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && LLVMIsAConstantInt(LLVMGetOperand(p, 1))))
        p = LLVMGetOperand(p, 0);
    return LLVMIsAConstant(p) || calls(p, params, 1);
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
find_origins(const struct nan64 *p, const bool *tied, unsigned i, struct origins *l)
{
    static const unsigned orders[2][3] = { { 0, 1, 2 }, { 1, 2, 0 } };
    const unsigned *order = orders[is_mark(p, p->value[i])];
    for (unsigned k = 0; k < 3; k++) {
        if (order[k] >= operands(p, p->value[i]))
            continue;
        V o = operand(p, p->value[i], order[k]);
        int j = gcn_find(p->value, i, o);
        if (is_number(p, o) || has(l, o) || l->n == ORIGINS)
            continue;
        if (j < 0 || tied[j]) {
            l->o[l->n++] = (struct origin){ o, j < 0 ? OUTSIDE : j, false };
            continue;
        }
        find_origins(p, tied, (unsigned)j, l);
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

static unsigned
goes_in(struct piece *c, V v)
{
    int i = gcn_find(c->input, c->ninput, v);
    if (i < 0) {
        i = (int)c->ninput;
        c->input[c->ninput++] = v;
    }
    return c->ntied + OVERWRITTEN + (unsigned)i;
}

static void
write_value(struct nan64 *p, struct piece *c, const bool *tied, unsigned i)
{
    struct origins l = { 0 };
    find_origins(p, tied, i, &l);
    drop_last(&l);
    write(c, " %d", c->reg[i]);
    for (unsigned k = 0; k < l.n; k++)
        write(c, l.o[k].none ? ",!%u" : ",%u", l.o[k].i >= 0 && tied[l.o[k].i] ? (unsigned)c->reg[l.o[k].i] :
              goes_in(c, l.o[k].none ? number(p, l.o[k].v) : l.o[k].v));
}

/* The call, whose results are the tied values as an H200 has them. */
static V
build(struct nan64 *p, struct piece *c)
{
    LLVMTypeRef type[2 * GROUP + REGISTERS], result[GROUP + OVERWRITTEN], f64 = LLVMDoubleTypeInContext(p->llvm), i32 = LLVMInt32TypeInContext(p->llvm);
    V args[2 * GROUP + REGISTERS];
    char constraints[8 * (3 * GROUP + REGISTERS)] = "", *at = constraints;
    unsigned nargs = 0;

    for (unsigned i = 0; i < c->ntied; i++) {
        at += sprintf(at, "=&v,");
        result[i] = f64;
    }
    at += sprintf(at, "=&v,=&s");
    result[c->ntied] = i32;
    result[c->ntied + 1] = p->wave64 ? LLVMInt64TypeInContext(p->llvm) : i32;
    for (unsigned i = 0; i < c->ntied; i++) {
        at += sprintf(at, ",%u", i);
        args[nargs++] = c->tied[i];
    }
    for (unsigned i = 0; i < c->ninput; i++) {
        at += sprintf(at, is_scalar(c->input[i]) ? ",s" : ",v");
        args[nargs++] = c->input[i];
    }
    for (unsigned i = 0; i < nargs; i++)
        type[i] = f64;
    LLVMTypeRef fn = LLVMFunctionType(LLVMStructTypeInContext(p->llvm, result, c->ntied + OVERWRITTEN, false), type, nargs, false);
    V code = LLVMGetInlineAsm(fn, c->text, c->length, constraints, (size_t)(at - constraints), false, false, LLVMInlineAsmDialectATT, false);
    V call = LLVMBuildCall2(p->b, fn, code, args, nargs, "");
    gcn_computes(call);
    /* As amdgcn_flush.c says: for parts of an assembly's own result LLVM takes long. */
    return LLVMBuildFreeze(p->b, call, "");
}

/* ---- the group ------------------------------------------------------------------------------------------------------------------------ */

/* v is r before `at`, and where nobody looks which NaN it is; else it is `exact`, if that is not NULL. */
static void
replace(struct nan64 *p, V v, V r, V exact, V at)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v), next; u; u = next) {
        V user = LLVMGetUser(u), with = exact && looks_later(p, user, at) ? exact : r;
        next = LLVMGetNextUse(u);
        /* All operands of this user change at once: go on with a use by another one. */
        while (next && LLVMGetUser(next) == user)
            next = LLVMGetNextUse(next);
        for (int k = 0; k < LLVMGetNumOperands(user); k++)
            if (LLVMGetOperand(user, (unsigned)k) == v)
                LLVMSetOperand(user, (unsigned)k, with);
    }
}

/* Ends the group before the instruction `at`; in front of that comes what uses it. */
static void
end_group(struct nan64 *p, V at)
{
    struct piece c = { .text = EMIT_NAN64, .length = sizeof EMIT_NAN64 - 1 };
    V exact[GROUP] = { NULL }, behind = at;
    bool out[GROUP], tied[GROUP] = { false };
    unsigned needed[GROUP] = { 0 };
    bool any = false;

    for (unsigned i = 0; i < p->nlater; i++) {
        LLVMInstructionRemoveFromParent(p->later[i]);
        LLVMPositionBuilderBefore(p->b, behind);
        LLVMInsertIntoBuilder(p->b, p->later[i]);
        at = p->later[0];
    }
    p->nlater = 0;
    for (unsigned i = p->n; i-- > 0;) {         /* needed: by how many values of the group */
        any |= out[i] = leaves(p, p->value[i], at);
        for (unsigned k = 0; (out[i] || needed[i]) && k < operands(p, p->value[i]); k++) {
            int j = gcn_find(p->value, p->n, operand(p, p->value[i], k));
            if (j >= 0)
                needed[j]++;
        }
    }
    if (any) {
        for (unsigned i = 0; i < p->n; i++) {
            struct origins l = { 0 };
            if (needed[i] > 1 && !out[i])
                find_origins(p, tied, i, &l);
            tied[i] = out[i] || l.n > MANY;
            if (tied[i]) {
                c.tied[c.ntied] = number(p, p->value[i]);
                c.reg[i] = (int)c.ntied++;
            }
        }
        for (unsigned i = 0; i < p->n; i++)
            if (out[i] && !needed[i])           /* a NaN of the others is one of these */
                write(&c, " ?%d", c.reg[i]);
        for (unsigned i = 0; i < p->n; i++)
            if (tied[i])
                write_value(p, &c, tied, i);
        LLVMPositionBuilderBefore(p->b, at);
        V all = build(p, &c);
        for (unsigned i = 0; i < p->n; i++)
            if (out[i])
                exact[i] = LLVMBuildExtractValue(p->b, all, (unsigned)c.reg[i], "");
    }
    for (unsigned i = 0; i < p->n; i++)
        replace(p, p->value[i], number(p, p->value[i]), exact[i], at);
    for (unsigned i = p->n; i-- > 0;)
        if (is_mark(p, p->value[i]))
            LLVMInstructionEraseFromParent(p->value[i]);
    p->n = p->ninput = 0;
}

static bool
uses_later(const struct nan64 *p, V user)
{
    return gcn_reads_any(user, p->later, p->nlater);
}

/* May it stand further behind? It neither reads nor writes memory nor needs certain lanes. */
static bool
can_wait(const struct nan64 *p, V i)
{
    static const char *const names[] = { "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.roundeven.", "llvm.fabs.", "llvm.fptosi.sat.", "llvm.fptoui.sat." };

    if (p->nlater == LATER)
        return false;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMFCmp: case LLVMICmp: case LLVMSelect: case LLVMBitCast: case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMAdd: case LLVMSub: case LLVMShl:
    case LLVMLShr: case LLVMAShr: case LLVMTrunc: case LLVMZExt: case LLVMSExt: case LLVMFNeg: case LLVMFPTrunc: case LLVMFPExt: case LLVMFreeze:
    case LLVMExtractElement: case LLVMInsertElement:
        return true;
    case LLVMCall:
        return calls(i, names, 7);
    default:
        return false;
    }
}

static void
place(struct nan64 *p, LLVMBasicBlockRef bb)
{
    for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        bool waits = uses_later(p, i), uses = gcn_reads_any(i, p->value, p->n) && !blind(p, i, DEPTH);
        if (is_mark(p, i)) {
            if (is_number(p, i) || is_number(p, number(p, i))) {
                LLVMReplaceAllUsesWith(i, number(p, i));
                LLVMInstructionEraseFromParent(i);
                continue;
            }
            if (!waits && take(p, i))
                continue;
            /* The group ends before it finds no place in it: before its operation, if that comes right before it. */
            end_group(p, number(p, i) == LLVMGetPreviousInstruction(i) ? number(p, i) : i);
            (void)take(p, i);           /* an empty group has a place for it */
        } else if (p->n && LLVMIsATerminatorInst(i)) {
            end_group(p, i);
        } else if (waits || (uses && !only_for_mark(p, i))) {
            if (!waits && is_quotient(i) && take(p, i))
                continue;
            if (can_wait(p, i) && !only_for_mark(p, i))
                p->later[p->nlater++] = i;
            else
                end_group(p, i);
        }
    }
}

void
emit_place_nan64(LLVMModuleRef m, bool wave64)
{
    struct nan64 p = { .llvm = LLVMGetModuleContext(m), .module = m, .wave64 = wave64, .group = wave64 ? GROUP / 2 : GROUP,
                       .registers = wave64 ? REGISTERS / 2 : REGISTERS,
                       .mark = { LLVMGetNamedFunction(m, FP_MARK_1), LLVMGetNamedFunction(m, FP_MARK_2), LLVMGetNamedFunction(m, FP_MARK_3) } };

    if (!p.mark[0] && !p.mark[1] && !p.mark[2])
        return;
    p.b = LLVMCreateBuilderInContext(p.llvm);
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            place(&p, bb);
    LLVMDisposeBuilder(p.b);
    for (unsigned i = 0; i < MARKS; i++)
        if (p.mark[i])
            LLVMDeleteFunction(p.mark[i]);
}
