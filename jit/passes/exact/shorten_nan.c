/* SPDX-License-Identifier: Apache-2.0
 * Canonical NaN of f32 on AMD processors: the comparison and select that remain after the optimiser become one pseudo-instruction. */
#include "jit/passes/exact/exact_private.h"
#include "jit/emit/target/amdgcn/pseudo.h"

/* Does a hardware instruction compute v, so that its NaN is quiet? */
static bool
is_quiet(V v, unsigned depth)
{
    static const char *const quiet[] = { "llvm.fma.", "llvm.fmuladd.", "llvm.sqrt.", "llvm.maxnum.", "llvm.minnum.", "llvm.floor.", "llvm.ceil.",
                                         "llvm.trunc.", "llvm.roundeven.", "llvm.amdgcn.rcp.", "llvm.amdgcn.rsq.", "llvm.amdgcn.sqrt.",
                                         "llvm.amdgcn.exp2.", "llvm.amdgcn.log.", NULL };

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
    case LLVMCall:
        return exact_calls(v, quiet);
    default:
        return false;
    }
}

/* max3(NaN, x, NaN) is x if x is a number. If x is NaN, some processors return the first of two NaN and others the second: of these three
 * it is the canonical one in either case. A signalling x would come out quiet, but otherwise unchanged. */
static V
shortened(LLVMBuilderRef b, V x, unsigned gfx)
{
    LLVMTypeRef type = LLVMTypeOf(x), i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return gcn_pseudo_max3(b, x, gfx);
    V r = LLVMGetUndef(type);
    for (unsigned k = 0; k < LLVMGetVectorSize(type); k++) {
        V at = LLVMConstInt(i32, k, false);
        r = LLVMBuildInsertElement(b, r, gcn_pseudo_max3(b, LLVMBuildExtractElement(b, x, at, ""), gfx), at, "");
    }
    return r;
}

bool
pass_shorten_nan(LLVMModuleRef m, const struct cwj_exact_options *o)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    bool changed = false;

    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next, nan; i; i = next) {
                V x = exact_canonical(i, LLVMFloatTypeKind, &nan);
                next = LLVMGetNextInstruction(i);
                if (!x || !is_quiet(x, 6))
                    continue;
                LLVMPositionBuilderBefore(b, i);
                exact_replace_canonical(i, shortened(b, x, o->gfx));
                changed = true;
            }
    LLVMDisposeBuilder(b);
    return changed;
}
