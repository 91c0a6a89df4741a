/* SPDX-License-Identifier: Apache-2.0
 * What the files have in common that emit code for rare values on AMD processors, and NaN of f32: emit_shorten_nan makes one instruction of a canonical
 * one. */
#include "jit/emit/amdgcn_private.h"
#include "jit/emit/flush_code.h"
#include "jit/emit/fp_private.h"
#include "jit/emit/scope.h"

#include <string.h>

typedef LLVMValueRef V;

void
gcn_computes(V call)
{
    static const char *const attributes[] = { "memory", "nounwind", "willreturn" };
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(call));

    for (unsigned i = 0; i < 3; i++)
        LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i])), 0));
}

V
gcn_assembly(LLVMBuilderRef b, const char *text, const char *constraints, V *args, unsigned n)
{
    LLVMTypeRef t[2] = { LLVMTypeOf(args[0]), LLVMTypeOf(args[n - 1]) }, type = LLVMFunctionType(t[0], t, n, false);
    V code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false, false, LLVMInlineAsmDialectATT, false);
    V call = LLVMBuildCall2(b, type, code, args, n, "");

    gcn_computes(call);
    return call;
}

LLVMBasicBlockRef
gcn_branch_rare(LLVMBuilderRef b, LLVMModuleRef m, bool wave64, V any, LLVMBasicBlockRef done, const char *name)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c), word = wave64 ? LLVMInt64TypeInContext(c) : i32;
    LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(c, LLVMGetBasicBlockParent(done), name);
    unsigned id = LLVMLookupIntrinsicID("llvm.amdgcn.ballot", 18);

    V lanes = LLVMBuildCall2(b, LLVMIntrinsicGetType(c, id, &word, 1), LLVMGetIntrinsicDeclaration(m, id, &word, 1), &any, 1, "");
    V br = LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, LLVMConstNull(word), ""), some, done);
    LLVMMetadataRef weights[3] = { LLVMMDStringInContext2(c, "branch_weights", 14), LLVMValueAsMetadata(LLVMConstInt(i32, 1, false)),
                                   LLVMValueAsMetadata(LLVMConstInt(i32, 100000, false)) };
    LLVMSetMetadata(br, LLVMGetMDKindIDInContext(c, "prof", 4), LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, weights, 3)));
    LLVMPositionBuilderAtEnd(b, some);
    return some;
}

int
gcn_find(const V *value, unsigned n, V v)
{
    for (unsigned i = 0; i < n; i++)
        if (value[i] == v)
            return (int)i;
    return -1;
}

bool
gcn_reads_any(V user, const V *value, unsigned n)
{
    for (int k = 0; n && !LLVMIsAPHINode(user) && k < LLVMGetNumOperands(user); k++)
        if (gcn_find(value, n, LLVMGetOperand(user, (unsigned)k)) >= 0)
            return true;
    return false;
}

/* ---- f32: a canonical NaN in one instruction ------------------------------------------------------------------------------- */

/* Does an instruction of the hardware make v, which gives a quiet NaN only? */
static bool
is_quiet(V v, unsigned depth)
{
    static const char *const quiet[] = { "llvm.fma.", "llvm.fmuladd.", "llvm.sqrt.", "llvm.maxnum.", "llvm.minnum.", "llvm.floor.", "llvm.ceil.",
                                         "llvm.trunc.", "llvm.roundeven.", "llvm.amdgcn.rcp.", "llvm.amdgcn.rsq.", "llvm.amdgcn.sqrt.",
                                         "llvm.amdgcn.exp2.", "llvm.amdgcn.log." };
    size_t len;

    if (LLVMIsAConstantFP(v)) {
        LLVMBool lossy;
        double d = LLVMConstRealGetDouble(v, &lossy);
        return d == d;
    }
    if (!LLVMIsAInstruction(v) || !depth)
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFPTrunc:
        return true;
    case LLVMSelect:
        return is_quiet(LLVMGetOperand(v, 1), depth - 1) && is_quiet(LLVMGetOperand(v, 2), depth - 1);
    case LLVMPHI:
        for (unsigned i = 0; i < LLVMCountIncoming(v); i++)
            if (LLVMGetIncomingValue(v, i) != v && !is_quiet(LLVMGetIncomingValue(v, i), depth - 1))
                return false;
        return true;
    case LLVMExtractElement:
        return is_quiet(LLVMGetOperand(v, 0), depth - 1);
    case LLVMCall: {
        V f = LLVMGetCalledValue(v);
        const char *name = LLVMIsAFunction(f) ? LLVMGetValueName2(f, &len) : "";
        for (unsigned i = 0; i < sizeof quiet / sizeof *quiet; i++)
            if (!strncmp(name, quiet[i], strlen(quiet[i])))
                return true;
        return false;
    }
    default:
        return false;
    }
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
    if (!LLVMIsAConstantFP(v) || LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMFloatTypeKind)
        return false;
    V bits = LLVMConstBitCast(v, LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v))));
    return LLVMIsAConstantInt(bits) && LLVMConstIntGetZExtValue(bits) == 0x7fffffff;
}

/* x, where i is (x is NaN ? 0x7fffffff : x), else NULL. */
static V
made_canonical(V i)
{
    if (!LLVMIsASelectInst(i))
        return NULL;
    V c = LLVMGetOperand(i, 0);
    if (!LLVMIsAFCmpInst(c))
        return NULL;
    bool nan = LLVMGetFCmpPredicate(c) == LLVMRealUNO;
    if (!nan && LLVMGetFCmpPredicate(c) != LLVMRealORD)
        return NULL;
    V x = LLVMGetOperand(i, nan ? 2 : 1), other = LLVMGetOperand(c, 1);
    if (!is_canonical_nan(LLVMGetOperand(i, nan ? 1 : 2)) || LLVMGetOperand(c, 0) != x || (other != x && !LLVMIsNull(other)))
        return NULL;
    return x;
}

/* max3(NaN, x, NaN) is x, if that is a number. If it is a NaN, the first one of two wins on some processors and the second on others: of
 * these three it is the canonical one in either case. A signalling x would come out quiet, but otherwise unchanged. */
static V
max3(LLVMBuilderRef b, LLVMContextRef c, V x, unsigned gfx)
{
    V o[2] = { x, LLVMConstInt(LLVMInt32TypeInContext(c), 0x7fffffff, false) };

    /* gfx9 has no literals here, gfx12 another name. */
    return gcn_assembly(b, gfx < 12 ? EMIT_MAX3 : EMIT_MAX3_GFX12, gfx == 9 ? "=v,v,s" : "=v,v,i", o, 2);
}

void
emit_shorten_nan(LLVMModuleRef m, unsigned gfx)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);

    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                V x = made_canonical(i), r = NULL;
                next = LLVMGetNextInstruction(i);
                if (!x || !is_quiet(x, 6))
                    continue;
                LLVMPositionBuilderBefore(b, i);
                if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVectorTypeKind) {
                    r = LLVMGetUndef(LLVMTypeOf(i));
                    for (unsigned k = 0; k < LLVMGetVectorSize(LLVMTypeOf(i)); k++)
                        r = LLVMBuildInsertElement(b, r, max3(b, c, LLVMBuildExtractElement(b, x, LLVMConstInt(i32, k, false), ""), gfx),
                                                   LLVMConstInt(i32, k, false), "");
                } else {
                    r = max3(b, c, x, gfx);
                }
                V test = LLVMGetOperand(i, 0);
                LLVMReplaceAllUsesWith(i, r);
                LLVMInstructionEraseFromParent(i);
                if (!LLVMGetFirstUse(test))
                    LLVMInstructionEraseFromParent(test);
            }
    LLVMDisposeBuilder(b);
}
