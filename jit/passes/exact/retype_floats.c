/* SPDX-License-Identifier: Apache-2.0
 * Floats that are carried as integers become floats. LLVM since 20 writes PTX whose floats are in .b32 and .b64 registers (clang, Triton): every
 * operation then has bit casts around it, and what follows floats from operation to operation (relax_nan.c, nan64.c) sees none. A phi that some
 * float goes into and some float comes out of, or floats alone go into, and a selection of a float, become ones of floats; no bits change.
 * It wants SSA form. */
#include "jit/emit/emit.h"
#include "jit/passes/exact/exact_private.h"

typedef LLVMValueRef V;

enum { MAX_PASSES = 8 };       /* a nest of loops takes one a level */

/* 32 or 64, or 0: it is no integer of these, which may be a float. */
static unsigned
bits(V v)
{
    LLVMTypeRef t = emit_scalar_type(v);
    unsigned n = LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 0;
    return n == 32 || n == 64 ? n : 0;
}

/* The floats of v's bits; NULL: there are none. */
static LLVMTypeRef
float_like(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v), f = bits(v) == 64 ? LLVMDoubleTypeInContext(LLVMGetTypeContext(t)) : LLVMFloatTypeInContext(LLVMGetTypeContext(t));
    if (!bits(v))
        return NULL;
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMVectorType(f, LLVMGetVectorSize(t)) : f;
}

/* The floats whose bits v is, element by element; NULL: it is no such cast. */
static V
float_behind(V v)
{
    if (!LLVMIsABitCastInst(v))
        return NULL;
    V x = LLVMGetOperand(v, 0);
    return LLVMTypeOf(x) == float_like(v) ? x : NULL;
}

static bool
comes_out(V v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (LLVMIsABitCastInst(LLVMGetUser(u)) && LLVMTypeOf(LLVMGetUser(u)) == float_like(v))
            return true;
    return false;
}

static bool
goes_in(V phi)
{
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++)
        if (float_behind(LLVMGetIncomingValue(phi, k)))
            return true;
    return false;
}

static bool
only_floats_go_in(V phi)
{
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
        V v = LLVMGetIncomingValue(phi, k);
        if (!LLVMIsConstant(v) && !float_behind(v) && v != phi)
            return false;
    }
    return goes_in(phi);
}

/* v as floats, by an instruction at b where it needs one. */
static V
as_float(LLVMBuilderRef b, V v)
{
    V x = float_behind(v);
    return x ? x : LLVMBuildBitCast(b, v, float_like(v), "");
}

/* Its users get `now`, the users that want floats without a cast. */
static void
replace(LLVMBuilderRef b, V old, V now, V at)
{
    LLVMTypeRef type = LLVMTypeOf(old);
    for (LLVMUseRef u = LLVMGetFirstUse(old), next; u; u = next) {
        V user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsABitCastInst(user) && LLVMTypeOf(user) == LLVMTypeOf(now))
            LLVMReplaceAllUsesWith(user, now);      /* the cast stays, for the optimiser to drop */
    }
    LLVMPositionBuilderBefore(b, at);
    LLVMReplaceAllUsesWith(old, LLVMBuildBitCast(b, now, type, ""));
    LLVMInstructionEraseFromParent(old);
}

static V
after_phis(V phi)
{
    while (LLVMIsAPHINode(phi))
        phi = LLVMGetNextInstruction(phi);
    return phi;
}

static void
retype_phi(LLVMBuilderRef b, V phi)
{
    LLVMPositionBuilderBefore(b, phi);
    V now = LLVMBuildPhi(b, float_like(phi), "");
    for (unsigned k = 0, n = LLVMCountIncoming(phi); k < n; k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
        V v = NULL;
        for (unsigned j = 0; j < k && !v; j++)      /* of a switch that goes here twice: one value */
            if (LLVMGetIncomingBlock(now, j) == from)
                v = LLVMGetIncomingValue(now, j);
        if (!v) {
            LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(from));
            v = as_float(b, LLVMGetIncomingValue(phi, k));
        }
        LLVMAddIncoming(now, &v, &from, 1);
    }
    replace(b, phi, now, after_phis(phi));
}

static void
retype_select(LLVMBuilderRef b, V s)
{
    LLVMPositionBuilderBefore(b, s);
    V yes = as_float(b, LLVMGetOperand(s, 1)), no = as_float(b, LLVMGetOperand(s, 2));
    V now = LLVMBuildSelect(b, LLVMGetOperand(s, 0), yes, no, "");
    replace(b, s, now, s);
}

static bool
retype(LLVMBuilderRef b, V fn)
{
    bool changed = false;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (LLVMIsAPHINode(i) && bits(i) && ((goes_in(i) && comes_out(i)) || only_floats_go_in(i))) {
                retype_phi(b, i);
                changed = true;
            } else if (LLVMIsASelectInst(i) && bits(i) && (float_behind(LLVMGetOperand(i, 1)) || float_behind(LLVMGetOperand(i, 2)))) {
                retype_select(b, i);
                changed = true;
            }
        }
    return changed;
}

bool
pass_retype_floats(LLVMModuleRef m, const struct cwj_exact_options *o)
{
    bool changed = false;

    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) {
        for (unsigned n = 0; n < MAX_PASSES && retype(b, fn); n++)
            changed = true;
        /* Floats that were integers from one instruction to the next. */
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                V x = LLVMIsABitCastInst(i) ? float_behind(LLVMGetOperand(i, 0)) : NULL;
                if (x && LLVMTypeOf(x) == LLVMTypeOf(i)) {
                    LLVMReplaceAllUsesWith(i, x);
                    LLVMInstructionEraseFromParent(i);
                }
            }
        /* Casts that nothing uses would be uses of what pass_relax_nan looks at. */
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetLastInstruction(bb), before; i; i = before) {
                before = LLVMGetPreviousInstruction(i);
                if (LLVMIsABitCastInst(i) && !LLVMGetFirstUse(i))
                    LLVMInstructionEraseFromParent(i);
            }
    }
    LLVMDisposeBuilder(b);
    return changed;
}
