/* SPDX-License-Identifier: Apache-2.0
 * Every f32 operation makes its NaN canonical, which only matters where somebody looks at the bits. Between operations the
 * payload is irrelevant: each of them makes its own result canonical again. This pass removes the canonicalisation of
 * values that only reach f32 arithmetic and comparisons, through phis, selects and shuffles too. It wants SSA form: run it
 * after promotion of allocas, before the optimiser rewrites the pattern select(fcmp uno x, x), 0x7fffffff, x). */
#include "jit/emit/emit.h"

#include <stdlib.h>
#include <string.h>

typedef LLVMValueRef V;

/* A set of values. */
struct set {
    V *slot;
    size_t size, count;         /* size is a power of two or zero */
};

static size_t
slot_of(const struct set *s, V v)
{
    size_t i = (size_t)((uintptr_t)v >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (s->size - 1);

    while (s->slot[i] && s->slot[i] != v)
        i = (i + 1) & (s->size - 1);
    return i;
}

static bool
set_has(const struct set *s, V v)
{
    return s->size && s->slot[slot_of(s, v)] == v;
}

/* True when v is new. *failed is set when there is no memory. */
static bool
set_add(struct set *s, V v, bool *failed)
{
    if (s->count * 2 >= s->size) {
        struct set grown = { .size = s->size ? s->size * 2 : 256, .count = s->count };
        grown.slot = calloc(grown.size, sizeof *grown.slot);
        if (!grown.slot) {
            *failed = true;
            return false;
        }
        for (size_t i = 0; i < s->size; i++) {
            if (s->slot[i])
                grown.slot[slot_of(&grown, s->slot[i])] = s->slot[i];
        }
        free(s->slot);
        *s = grown;
    }
    size_t i = slot_of(s, v);
    if (s->slot[i])
        return false;
    s->slot[i] = v;
    s->count++;
    return true;
}

/* A stack of values whose bits are observed, to look through. */
struct pass {
    struct set observed;
    V *stack;
    size_t depth, capacity;
    bool failed;
};

static LLVMTypeRef
scalar_of(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

static bool
is_f32(V v)
{
    return LLVMGetTypeKind(scalar_of(v)) == LLVMFloatTypeKind;
}

/* select(fcmp uno x, x), 0x7fffffff, x): returns x, else NULL */
static V
canonicalised(V v)
{
    if (!LLVMIsASelectInst(v) || !is_f32(v))
        return NULL;
    V c = LLVMGetOperand(v, 0), nan = LLVMGetOperand(v, 1), x = LLVMGetOperand(v, 2);
    if (!LLVMIsAFCmpInst(c) || LLVMGetFCmpPredicate(c) != LLVMRealUNO || LLVMGetOperand(c, 0) != x || LLVMGetOperand(c, 1) != x)
        return NULL;
    if (!LLVMIsConstant(nan))
        return NULL;
    if (LLVMGetTypeKind(LLVMTypeOf(nan)) == LLVMVectorTypeKind)
        nan = LLVMGetAggregateElement(nan, 0);
    LLVMBool lossy;
    double d;
    if (!nan || !LLVMIsAConstantFP(nan))
        return NULL;
    d = LLVMConstRealGetDouble(nan, &lossy);
    return d != d ? x : NULL;
}

/* Does `user` pass operand bits of f32 values on to its result unchanged? */
static bool
passes_on(V user)
{
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMPHI: case LLVMSelect: case LLVMExtractElement: case LLVMInsertElement: case LLVMShuffleVector: case LLVMFreeze:
    case LLVMFNeg:
        return is_f32(user);
    default:
        return false;
    }
}

/* Are the bits of a value only operands of the special function unit (mufu.c)? To it any NaN is as good as another. */
static bool
only_for_mufu(V bits)
{
    size_t len;

    for (LLVMUseRef u = LLVMGetFirstUse(bits); u; u = LLVMGetNextUse(u)) {
        V callee = LLVMIsACallInst(LLVMGetUser(u)) ? LLVMGetCalledValue(LLVMGetUser(u)) : NULL;
        const char *name = callee && LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &len) : NULL;
        if (!name || strncmp(name, "mufu.", 5))
            return false;
    }
    return true;
}

/* Is this use blind to which NaN it gets? Results of f32 arithmetic are made canonical again by their own emitter. */
static bool
blind(V user)
{
    static const char *const intrinsics[] = { "llvm.fma.", "llvm.sqrt.", "llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.floor.",
                                              "llvm.ceil.", "llvm.trunc.", "llvm.roundeven.", "llvm.maxnum.", "llvm.minnum." };
    size_t len;

    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFRem:
        return is_f32(user);
    case LLVMFCmp:
        return true;
    case LLVMBitCast:
        return only_for_mufu(user);
    case LLVMCall: {
        V callee = LLVMGetCalledValue(user);
        const char *name = callee && LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &len) : NULL;
        for (unsigned i = 0; name && i < sizeof intrinsics / sizeof *intrinsics; i++) {
            if (!strncmp(name, intrinsics[i], strlen(intrinsics[i])))
                return true;
        }
        return false;
    }
    default:
        return false;
    }
}

static void
observe(struct pass *p, V v)
{
    if (!LLVMIsAInstruction(v) || !is_f32(v) || !set_add(&p->observed, v, &p->failed))
        return;
    if (p->depth == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 256;
        V *stack = realloc(p->stack, capacity * sizeof *stack);
        if (!stack) {
            p->failed = true;
            return;
        }
        p->stack = stack;
        p->capacity = capacity;
    }
    p->stack[p->depth++] = v;
}

static bool
hard_use(V user)
{
    return !LLVMIsAInstruction(user) || (!blind(user) && !passes_on(user));
}

/* Is v, looked at through phis and selects, always a canonical value or a constant that is no NaN? *nan gets the canonical
 * constant in v's type. Gives up, false, on large webs. */
static bool
always_canonical(V v, V *nan)
{
    enum { LIMIT = 64 };
    V seen[LIMIT];
    unsigned count = 1;

    *nan = NULL;
    seen[0] = v;
    for (unsigned at = 0; at < count; at++) {
        bool phi = LLVMIsAPHINode(seen[at]) != NULL;
        if (!phi && !LLVMIsASelectInst(seen[at]))
            return false;
        for (int k = phi ? 0 : 1; k < LLVMGetNumOperands(seen[at]); k++) {
            V o = phi ? LLVMGetIncomingValue(seen[at], (unsigned)k) : LLVMGetOperand(seen[at], (unsigned)k), first = o;
            if (canonicalised(o)) {
                *nan = LLVMGetOperand(o, 1);
                continue;
            }
            if (LLVMIsConstant(o)) {
                LLVMBool lossy;
                if (LLVMIsNull(o))
                    continue;
                if (LLVMGetTypeKind(LLVMTypeOf(o)) == LLVMVectorTypeKind)
                    first = LLVMGetAggregateElement(o, 0);      /* constants are splats */
                if (!first || !LLVMIsAConstantFP(first))
                    return false;
                double d = LLVMConstRealGetDouble(first, &lossy);
                if (d != d)
                    return false;
                continue;
            }
            bool known = false;
            for (unsigned i = 0; i < count; i++)
                known |= seen[i] == o;
            if (known)
                continue;
            if (count == LIMIT)
                return false;
            seen[count++] = o;
        }
    }
    return *nan != NULL && LLVMTypeOf(*nan) == LLVMTypeOf(v);
}

/* An accumulator that a loop carries (a phi, or the canonical value that goes into one) is looked at once, after the loop:
 * make it canonical there. */
static void
sink_to_uses(LLVMBuilderRef b, V phi)
{
    V users[2], nan;
    unsigned n = 0;
    bool carried = LLVMIsAPHINode(phi) != NULL;

    for (LLVMUseRef u = LLVMGetFirstUse(phi); u; u = LLVMGetNextUse(u)) {
        if (!hard_use(LLVMGetUser(u))) {
            carried |= LLVMIsAPHINode(LLVMGetUser(u)) != NULL;
            continue;
        }
        if (n == 2)
            return;
        users[n++] = LLVMGetUser(u);
    }
    if (!n || !carried)
        return;
    if (canonicalised(phi))
        nan = LLVMGetOperand(phi, 1);
    else if (!always_canonical(phi, &nan))
        return;
    for (unsigned i = 0; i < n; i++) {
        if (!LLVMIsAInstruction(users[i]) || LLVMGetInstructionParent(users[i]) == LLVMGetInstructionParent(phi))
            return;
    }
    for (unsigned i = 0; i < n; i++) {
        LLVMPositionBuilderBefore(b, users[i]);
        V c = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, phi, phi, ""), nan, phi, "");
        for (int k = 0; k < LLVMGetNumOperands(users[i]); k++) {
            if (LLVMGetOperand(users[i], (unsigned)k) == phi)
                LLVMSetOperand(users[i], (unsigned)k, c);
        }
    }
}

static void
find_observed(struct pass *p, V fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
            if (!is_f32(i))
                continue;
            for (LLVMUseRef u = LLVMGetFirstUse(i); u; u = LLVMGetNextUse(u)) {
                if (hard_use(LLVMGetUser(u))) {
                    observe(p, i);
                    break;
                }
            }
        }
    }
    while (p->depth && !p->failed) {
        V v = p->stack[--p->depth];
        if (canonicalised(v) || !passes_on(v))
            continue;               /* what goes in there does not come out as it was */
        for (int k = 0; k < LLVMGetNumOperands(v); k++)
            observe(p, LLVMGetOperand(v, (unsigned)k));
    }
}

unsigned
emit_relax_nan(LLVMModuleRef m)
{
    unsigned removed = 0;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));

    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) {
        struct pass p = { 0 };
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
            for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
                if (is_f32(i) && (LLVMIsAPHINode(i) || canonicalised(i)))
                    sink_to_uses(b, i);
            }
        }
        find_observed(&p, fn);
        for (LLVMBasicBlockRef bb = p.failed ? NULL : LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
            V next;
            for (V i = LLVMGetFirstInstruction(bb); i; i = next) {
                next = LLVMGetNextInstruction(i);
                V x = canonicalised(i);
                if (!x || set_has(&p.observed, i))
                    continue;
                LLVMReplaceAllUsesWith(i, x);
                LLVMInstructionEraseFromParent(i);
                removed++;
            }
        }
        free(p.observed.slot);
        free(p.stack);
    }
    LLVMDisposeBuilder(b);
    return removed;
}
