/* SPDX-License-Identifier: Apache-2.0
 * Queries of values that the passes of this folder share. */
#include "jit/emit/emit.h"
#include "jit/passes/exact/exact_private.h"

#include <string.h>

bool
exact_calls(V v, const char *const *prefixes)
{
    size_t length;
    V f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    const char *name = f && LLVMIsAFunction(f) ? LLVMGetValueName2(f, &length) : "";

    while (*prefixes && strncmp(name, *prefixes, strlen(*prefixes)) != 0)
        prefixes++;
    return *prefixes;
}

static bool
is_canonical_nan(V v)
{
    if (!LLVMIsAConstant(v))
        return false;
    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind) {
        for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++)
            if (!is_canonical_nan(LLVMGetAggregateElement(v, i)))
                return false;
        return true;
    }
    if (!LLVMIsAConstantFP(v))
        return false;
    bool half = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMHalfTypeKind;
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(v));
    V bits = LLVMConstBitCast(v, half ? LLVMInt16TypeInContext(c) : LLVMInt32TypeInContext(c));
    return LLVMIsAConstantInt(bits) && LLVMConstIntGetZExtValue(bits) == (half ? 0x7fff : 0x7fffffff);
}

V
exact_canonical(V v, LLVMTypeKind kind, V *nan)
{
    V c = LLVMIsASelectInst(v) ? LLVMGetOperand(v, 0) : NULL;
    if (!c || !LLVMIsAFCmpInst(c) || LLVMGetTypeKind(emit_scalar_type(v)) != kind)
        return NULL;
    bool unordered = LLVMGetFCmpPredicate(c) == LLVMRealUNO;
    if (!unordered && LLVMGetFCmpPredicate(c) != LLVMRealORD)
        return NULL;
    V x = LLVMGetOperand(v, unordered ? 2 : 1), other = LLVMGetOperand(c, 1);
    *nan = LLVMGetOperand(v, unordered ? 1 : 2);
    return LLVMGetOperand(c, 0) == x && (other == x || LLVMIsNull(other)) && is_canonical_nan(*nan) ? x : NULL;
}

void
exact_replace_canonical(V v, V r)
{
    V test = LLVMGetOperand(v, 0);
    LLVMReplaceAllUsesWith(v, r);
    LLVMInstructionEraseFromParent(v);
    if (!LLVMGetFirstUse(test))
        LLVMInstructionEraseFromParent(test);
}
