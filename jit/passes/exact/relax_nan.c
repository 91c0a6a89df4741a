/* SPDX-License-Identifier: Apache-2.0
 * Drops canonical NaN of f32, and on amdgcn of f16, that nobody can observe. The emitter makes each result canonical, select(x != x,
 * 0x7fffffff, x), which matters only where the bits are read: each operation makes its own result canonical again. A value that reaches
 * only float arithmetic and comparisons stays as it is, also through PHIs, selects and shuffles, and on amdgcn through lane exchanges. */
#include "jit/emit/emit.h"
#include "jit/passes/exact/exact_private.h"
#include "jit/passes/value_map.h"

static bool
set_has(const struct value_map *s, V v)
{
    return s->size && value_map_slot(s, v)->value == v;
}

struct pass {
    V fn;
    LLVMBuilderRef b;
    LLVMTypeKind kind;              /* of the floats: float or half */
    struct value_map observed, words;     /* words: integers that may hold an f32's bits */
    struct value_list stack;        /* of values whose bits are observed, to be worked on */
    struct cw_arena arena;
    bool changed;
};

/* True if v is new. */
static bool
set_add(struct pass *p, struct value_map *s, V v)
{
    return !value_map_entry(&p->arena, s, v)->state++;
}

static bool
is_float(const struct pass *p, V v)
{
    return LLVMGetTypeKind(emit_scalar_type(v)) == p->kind;
}

static V
canonicalised(const struct pass *p, V v)
{
    V nan;
    return exact_canonical(v, p->kind, &nan);
}

/* Does `user` copy operand bits of f32 values to its result? */
static bool
passes_on(const struct pass *p, V user)
{
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMPHI: case LLVMSelect: case LLVMExtractElement: case LLVMInsertElement: case LLVMShuffleVector: case LLVMFreeze:
    case LLVMFNeg:
        return is_float(p, user);
    case LLVMCall:
        return emit_is_flush(user);
    default:
        return false;
    }
}

/* The special function unit (mufu.c) treats all NaN alike. */
static bool
is_mufu(V user)
{
    static const char *const names[] = { "mufu.", NULL };
    return exact_calls(user, names);
}

/* Does this use treat all NaN alike? The emitter makes results of f32 arithmetic canonical again. */
static bool
blind(const struct pass *p, V user)
{
    static const char *const names[] = { "llvm.fma.", "llvm.sqrt.", "llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.",
                                         "llvm.roundeven.", "llvm.maxnum.", "llvm.minnum.", NULL };

    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFRem:
        return is_float(p, user);
    case LLVMFCmp:
        return true;
    default:
        return exact_calls(user, names);
    }
}

static bool
tracked(const struct pass *p, V v)
{
    return LLVMIsAInstruction(v) && (is_float(p, v) || set_has(&p->words, v));
}

static void
push(struct pass *p, V v)
{
    value_list_add(&p->arena, &p->stack, v);
}

static void
observe(struct pass *p, V v)
{
    if (tracked(p, v) && set_add(p, &p->observed, v))
        push(p, v);
}

/* Does `user` copy the bits of the word v to its result? Lane exchanges copy their last argument. */
static bool
word_passes_on(const struct pass *p, V v, V user)
{
    static const char *const reads[] = { "llvm.amdgcn.ds.bpermute", NULL };

    if (LLVMIsABitCastInst(user))
        return is_float(p, user);
    if (LLVMIsAPHINode(user) || LLVMIsASelectInst(user) || LLVMIsAFreezeInst(user))
        return true;
    return exact_calls(user, reads) && LLVMGetOperand(user, 0) != v && LLVMGetOperand(user, 1) == v;
}

/* Collect the words that f32 values are cast to, and the words copied from those. */
static void
find_words(struct pass *p)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(p->fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsABitCastInst(i) && is_float(p, LLVMGetOperand(i, 0)) && LLVMGetTypeKind(emit_scalar_type(i)) == LLVMIntegerTypeKind &&
                set_add(p, &p->words, i))
                push(p, i);
    while (p->stack.n) {
        V v = p->stack.at[--p->stack.n];
        for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
            V user = LLVMGetUser(u);
            if (word_passes_on(p, v, user) && !is_float(p, user) && set_add(p, &p->words, user))
                push(p, user);
        }
    }
}

static bool
hard_use(const struct pass *p, V v, V user)
{
    if (!LLVMIsAInstruction(user))
        return true;
    if (set_has(&p->words, v))
        return !word_passes_on(p, v, user) && (p->kind != LLVMFloatTypeKind || !is_mufu(user));
    return !blind(p, user) && !passes_on(p, user) && !set_has(&p->words, user);
}

/* Is v, traced through PHIs and selects, always a canonical value or a constant that is not NaN? *nan gets the canonical constant in v's
 * type. Gives up on large visited sets. */
static bool
always_canonical(const struct pass *p, V v, V *nan)
{
    enum { LIMIT = 64 };
    V seen[LIMIT], known_nan;
    unsigned count = 1;

    *nan = NULL;
    seen[0] = v;
    for (unsigned at = 0; at < count; at++) {
        bool phi = LLVMIsAPHINode(seen[at]) != NULL;
        if (!phi && !LLVMIsASelectInst(seen[at]))
            return false;
        for (int k = phi ? 0 : 1; k < LLVMGetNumOperands(seen[at]); k++) {
            V o = phi ? LLVMGetIncomingValue(seen[at], (unsigned)k) : LLVMGetOperand(seen[at], (unsigned)k), first = o;
            if (exact_canonical(o, p->kind, &known_nan)) {
                *nan = known_nan;
                continue;
            }
            if (LLVMIsConstant(o)) {
                LLVMBool lossy;
                if (LLVMIsNull(o))
                    continue;
                if (LLVMGetTypeKind(LLVMTypeOf(o)) == LLVMVectorTypeKind)
                    first = LLVMGetAggregateElement(o, 0);      /* the emitter's vector constants are splats */
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

/* Does v depend on itself? True if the search takes too many steps. */
static bool
in_cycle(V v)
{
    enum { LIMIT = 32 };
    V seen[LIMIT];
    unsigned count = 1;

    seen[0] = v;
    for (unsigned at = 0; at < count; at++)
        for (LLVMUseRef u = LLVMGetFirstUse(seen[at]); u; u = LLVMGetNextUse(u)) {
            V user = LLVMGetUser(u);
            bool known = false;
            if (user == v || count == LIMIT)
                return true;
            for (unsigned i = 0; i < count; i++)
                known |= seen[i] == user;
            if (!known && !LLVMIsAStoreInst(user))
                seen[count++] = user;
        }
    return false;
}

/* A use that reads the bits: this one, or the next one of the word that v is cast to. */
static bool
looks(const struct pass *p, V v, V user)
{
    if (hard_use(p, v, user))
        return true;
    if (!set_has(&p->words, user) || !LLVMIsABitCastInst(user))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(user); u; u = LLVMGetNextUse(u))
        if (hard_use(p, user, LLVMGetUser(u)))
            return true;
    return false;
}

/* An accumulator that a loop carries (a PHI, or the canonical value that goes into one) is read once, after the loop: make it canonical
 * there. */
static void
sink_to_uses(struct pass *p, V phi)
{
    LLVMBuilderRef b = p->b;
    V users[2], nan;
    unsigned n = 0;
    bool carried = LLVMIsAPHINode(phi) != NULL;

    for (LLVMUseRef u = LLVMGetFirstUse(phi); u; u = LLVMGetNextUse(u)) {
        if (!looks(p, phi, LLVMGetUser(u))) {
            carried |= LLVMIsAPHINode(LLVMGetUser(u)) != NULL;
            continue;
        }
        if (n == 2)
            return;
        users[n++] = LLVMGetUser(u);
    }
    if (!n || !carried)
        return;
    if (!exact_canonical(phi, p->kind, &nan) && !always_canonical(p, phi, &nan))
        return;
    for (unsigned i = 0; i < n; i++) {
        if (!LLVMIsAInstruction(users[i]))
            return;
        if (LLVMGetInstructionParent(users[i]) == LLVMGetInstructionParent(phi) && (n > 1 || !LLVMIsAPHINode(phi) || in_cycle(phi)))
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
find_observed(struct pass *p)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(p->fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
            if (!tracked(p, i))
                continue;
            for (LLVMUseRef u = LLVMGetFirstUse(i); u; u = LLVMGetNextUse(u)) {
                if (hard_use(p, i, LLVMGetUser(u))) {
                    observe(p, i);
                    break;
                }
            }
        }
    }
    while (p->stack.n) {
        V v = p->stack.at[--p->stack.n];
        if (canonicalised(p, v) || !(passes_on(p, v) || LLVMIsABitCastInst(v) || set_has(&p->words, v)))
            continue;               /* its bits do not come out unchanged */
        for (int k = 0; k < (emit_is_flush(v) ? 1 : LLVMGetNumOperands(v)); k++)
            observe(p, LLVMGetOperand(v, (unsigned)k));
    }
}

static void
relax(void *user)
{
    struct pass *p = user;
    find_words(p);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(p->fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            if (is_float(p, i) && (LLVMIsAPHINode(i) || canonicalised(p, i)))
                sink_to_uses(p, i);
    find_observed(p);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(p->fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            V x = canonicalised(p, i);
            if (!x || set_has(&p->observed, i))
                continue;
            exact_replace_canonical(i, x);
            p->changed = true;
        }
}

/* Floats of one kind. The pass does not follow bits of one kind into floats of the other. Out of memory: all NaN stay canonical. */
static bool
relax_kind(LLVMBuilderRef b, V fn, LLVMTypeKind kind)
{
    struct pass p = { .fn = fn, .b = b, .kind = kind };
    cw_arena_init(&p.arena);
    bool done = cw_arena_guard(&p.arena, relax, &p);
    cw_arena_finish(&p.arena);
    return done && p.changed;
}

static bool
has_halves(V fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsASelectInst(i) && LLVMGetTypeKind(emit_scalar_type(i)) == LLVMHalfTypeKind)
                return true;
    return false;
}

bool
pass_relax_nan(LLVMModuleRef m, const struct cwj_exact_options *o)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    bool changed = false;

    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) {
        changed |= relax_kind(b, fn, LLVMFloatTypeKind);
        changed |= has_halves(fn) && relax_kind(b, fn, LLVMHalfTypeKind);
    }
    LLVMDisposeBuilder(b);
    return changed;
}
