/* SPDX-License-Identifier: Apache-2.0
 * Conversions from float to 32-bit integers on AMD. PTX's are LLVM's saturating ones, and V_CVT_I32_F32 and its like compute exactly that.
 * But LLVM expands them into clamps and a test for NaN around the instruction. So the conversions that remain after the optimiser, which
 * folds constants correctly, become plain ones. A plain conversion is undefined out of range: freeze turns poison into a number, and code
 * generation then selects the instruction. */
#include "jit/passes/passes.h"

#include <stddef.h>

static LLVMTypeRef
element(V v)            /* gfx90a's pairs of floats are vectors */
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

/* Does the plain conversion give the result of the saturating one? */
static bool
is_in_range(V constant, bool is_signed)
{
    LLVMBool lossy;
    if (!LLVMIsAConstantFP(constant) || LLVMGetTypeKind(LLVMTypeOf(constant)) == LLVMVectorTypeKind)
        return false;
    double d = LLVMConstRealGetDouble(constant, &lossy);
    return is_signed ? d >= -0x1p31 && d < 0x1p31 : d > -1 && d < 0x1p32;
}

/* Could the code generator learn more about x than the optimiser did? It folds a plain conversion of a converted integer away; and a
 * conversion of a constant out of range becomes any value, if a branch reveals the condition from which the float's bits are made
 * (fuzz/known_floats.ptx). */
static bool
may_be_known(V x, bool is_signed, unsigned depth)
{
    if (LLVMIsAConstant(x))
        return !is_in_range(x, is_signed);
    if (LLVMIsASIToFPInst(x) || LLVMIsAUIToFPInst(x))
        return true;
    if (!depth)
        return false;
    if (LLVMIsABitCastInst(x)) {
        V bits = LLVMGetOperand(x, 0);
        return LLVMIsABinaryOperator(bits) || LLVMIsASExtInst(bits) || LLVMIsAZExtInst(bits) || LLVMIsASelectInst(bits) || may_be_known(bits, is_signed, depth - 1);
    }
    if (LLVMIsASelectInst(x))
        return may_be_known(LLVMGetOperand(x, 1), is_signed, 0) || may_be_known(LLVMGetOperand(x, 2), is_signed, 0);
    if (LLVMIsAFPExtInst(x) || LLVMIsAFPTruncInst(x) || LLVMIsAIntrinsicInst(x) || LLVMIsAUnaryOperator(x))
        return may_be_known(LLVMGetOperand(x, 0), is_signed, depth - 1);
    return false;
}

static bool
saves_clamps(V call, bool is_signed)
{
    V x = LLVMGetOperand(call, 0);
    LLVMTypeKind from = LLVMGetTypeKind(element(x));
    return LLVMGetIntTypeWidth(element(call)) == 32 && (from == LLVMFloatTypeKind || from == LLVMDoubleTypeKind) && !may_be_known(x, is_signed, 8);
}

void
pass_amd_convert(LLVMModuleRef m)
{
    unsigned to_signed = LLVMLookupIntrinsicID("llvm.fptosi.sat", 15), to_unsigned = LLVMLookupIntrinsicID("llvm.fptoui.sat", 15);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (V f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (V s = LLVMGetFirstInstruction(block), next; s; s = next) {
                next = LLVMGetNextInstruction(s);
                V called = LLVMIsACallInst(s) ? LLVMGetCalledValue(s) : NULL;
                unsigned id = called && LLVMIsAFunction(called) ? LLVMGetIntrinsicID(called) : 0;
                if (!id || (id != to_signed && id != to_unsigned) || !saves_clamps(s, id == to_signed))
                    continue;
                LLVMPositionBuilderBefore(b, s);
                V x = LLVMGetOperand(s, 0), plain = (id == to_signed ? LLVMBuildFPToSI : LLVMBuildFPToUI)(b, x, LLVMTypeOf(s), "");
                LLVMReplaceAllUsesWith(s, LLVMBuildFreeze(b, plain, ""));
                LLVMInstructionEraseFromParent(s);
            }
    LLVMDisposeBuilder(b);
}
