/* SPDX-License-Identifier: Apache-2.0
 * Finds roots whose operand is not small: a sum of squares and a constant, as in the softened distances of N-body programs. Whatever the
 * rounding, such a sum is at least the constant, or NaN. */
#include "jit/passes/exact/exact_private.h"

#include <string.h>

enum { DEPTH = 8 };

static bool
is_constant(V v, double least)
{
    LLVMBool inexact;
    return LLVMIsAConstantFP(v) && LLVMConstRealGetDouble(v, &inexact) >= least;
}

/* Flushes of the same value are equal. */
static bool
same(V a, V b)
{
    if (emit_annotation_of(a) == EMIT_FLUSH && emit_annotation_of(b) == EMIT_FLUSH)
        return LLVMGetOperand(a, 0) == LLVMGetOperand(b, 0);
    return a == b;
}

/* Is v at least `least`, or NaN? least: 0, or the smallest normal number. */
static bool
at_least(V v, double least, unsigned depth)
{
    static const char *const fma[] = { "llvm.fma.", NULL };

    if (is_constant(v, least))
        return true;
    if (depth == DEPTH)
        return false;
    depth++;
    if (emit_is_flush(v))          /* not flushed if that large */
        return at_least(LLVMGetOperand(v, 0), least, depth);
    if (LLVMIsASelectInst(v)) {         /* canonical NaN as the emitter makes it */
        V nan = LLVMGetOperand(v, 1), c = LLVMGetOperand(v, 0);
        return LLVMIsAFCmpInst(c) && LLVMGetFCmpPredicate(c) == LLVMRealUNO && LLVMIsConstant(nan) && at_least(LLVMGetOperand(v, 2), least, depth);
    }
    if (exact_calls(v, fma))
        return same(LLVMGetOperand(v, 0), LLVMGetOperand(v, 1)) && at_least(LLVMGetOperand(v, 2), least, depth);
    if (!LLVMIsABinaryOperator(v))
        return false;
    V a = LLVMGetOperand(v, 0), b = LLVMGetOperand(v, 1);
    if (LLVMGetInstructionOpcode(v) == LLVMFMul)
        return least == 0 && same(a, b);
    return LLVMGetInstructionOpcode(v) == LLVMFAdd &&
           ((at_least(a, least, depth) && at_least(b, 0, depth)) || (at_least(a, 0, depth) && at_least(b, least, depth)));
}

static bool
redirect(V general, V large)
{
    bool changed = false;

    for (LLVMUseRef u = LLVMGetFirstUse(general), next; u; u = next) {
        V call = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != general)
            continue;
        V bits = LLVMGetOperand(call, 0);
        if (LLVMIsABitCastInst(bits) && LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(bits, 0))) == LLVMFloatTypeKind &&
            at_least(LLVMGetOperand(bits, 0), 0x1p-126, 0)) {
            LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, large);
            changed = true;
        }
    }
    return changed;
}

bool
pass_large_roots(LLVMModuleRef m, const struct cwj_exact_options *o)
{
    static const char suffix[] = EMIT_LARGE;
    bool changed = false;

    for (V f = LLVMGetFirstFunction(m), next; f; f = next) {
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        char general[48];
        next = LLVMGetNextFunction(f);
        if (strncmp(name, "mufu.", 5) || length < sizeof suffix || length >= sizeof general ||
            memcmp(name + length - (sizeof suffix - 1), suffix, sizeof suffix - 1))
            continue;
        memcpy(general, name, length);
        general[length - (sizeof suffix - 1)] = 0;
        V from = LLVMGetNamedFunction(m, general);
        changed |= from && redirect(from, f);
        if (!LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
        if (from && !LLVMGetFirstUse(from))
            LLVMDeleteFunction(from);
    }
    return changed;
}
