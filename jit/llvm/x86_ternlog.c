/* SPDX-License-Identifier: Apache-2.0
 * Work-around for a miscompilation of LLVM before 23 on CPUs with AVX-512 (llvm-project issue 157929). LLVM merges two or more bitwise
 * operations into one VPTERNLOG, and a select whose other arm is one of their operands into its write mask. Where it rotates the operands
 * for that, it rotates the truth table the wrong way. To keep a select's arm from becoming a masked VPTERNLOG, the pass puts the arm behind
 * llvm.arithmetic.fence, which costs only a separate blend instruction. It cannot predict the rotation, so it protects all three positions
 * of the other arm. */
#include "jit/llvm/llvm.h"

#include <string.h>

typedef LLVMValueRef V;

enum { MAX_DEPTH = 6 };     /* VPTERNLOG has three operands; the rest allows for casts and negations */

static V
without_casts(V v)
{
    while (LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    return v;
}

static bool
is_intrinsic(V call, const char *name)
{
    V f = LLVMGetCalledValue(call);
    return LLVMIsAFunction(f) && LLVMGetIntrinsicID(f) && LLVMGetIntrinsicID(f) == LLVMLookupIntrinsicID(name, strlen(name));
}

/* Number of operands if code generation makes v a bitwise operation, operations on signs of floats included; else 0. */
static unsigned
bitwise_operands(V v)
{
    if (!LLVMIsAInstruction(v))
        return 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
        return 2;
    case LLVMFNeg:
        return 1;
    case LLVMCall:
        return is_intrinsic(v, "llvm.fabs") ? 1 : is_intrinsic(v, "llvm.copysign") ? 2 : 0;
    default:
        return 0;
    }
}

/* Is `leaf` an operand of the tree of bitwise operations at v? Adds their number to *operations. */
static bool
has_leaf(V v, V leaf, unsigned *operations, int depth)
{
    unsigned n = depth < MAX_DEPTH ? bitwise_operands(v) : 0;
    bool found = false;

    *operations += n && LLVMIsACallInst(v) ? 2 : n != 0;       /* copysign becomes several */
    for (unsigned i = 0; i < n; i++) {
        V a = without_casts(LLVMGetOperand(v, i));
        found |= a == leaf;
        found |= has_leaf(a, leaf, operations, depth + 1);
    }
    return found;
}

/* v behind a fence, which takes floating-point values of any width. */
static V
fenced(LLVMBuilderRef b, V v)
{
    LLVMTypeRef type = LLVMTypeOf(v), element = LLVMGetElementType(type), as = type;
    LLVMContextRef c = LLVMGetTypeContext(type);
    static const char name[] = "llvm.arithmetic.fence";

    if (LLVMGetTypeKind(element) == LLVMIntegerTypeKind) {
        unsigned bits = LLVMGetIntTypeWidth(element) * LLVMGetVectorSize(type);
        if (bits % 32)
            return v;       /* masks and partial registers: no VPTERNLOG */
        as = LLVMVectorType(LLVMFloatTypeInContext(c), bits / 32);
    }
    V f = LLVMGetIntrinsicDeclaration(LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b))),
                                      LLVMLookupIntrinsicID(name, sizeof name - 1), &as, 1);
    V x = LLVMBuildBitCast(b, v, as, "");
    x = LLVMBuildCall2(b, LLVMIntrinsicGetType(c, LLVMLookupIntrinsicID(name, sizeof name - 1), &as, 1), f, &x, 1, "");
    return LLVMBuildBitCast(b, x, type, "");
}

void
cwj_x86_workaround_ternlog(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));

    for (V f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block)) {
            for (V s = LLVMGetFirstInstruction(block); s; s = LLVMGetNextInstruction(s)) {
                if (!LLVMIsASelectInst(s) || LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(s, 0))) != LLVMVectorTypeKind)
                    continue;
                for (unsigned arm = 1; arm <= 2; arm++) {
                    V v = LLVMGetOperand(s, arm);
                    unsigned operations = 0;
                    if (!has_leaf(without_casts(v), without_casts(LLVMGetOperand(s, 3 - arm)), &operations, 0) || operations < 2)
                        continue;
                    LLVMPositionBuilderBefore(b, s);
                    LLVMSetOperand(s, arm, fenced(b, v));
                }
            }
        }
    }
    LLVMDisposeBuilder(b);
}
