/* SPDX-License-Identifier: Apache-2.0
 * Turns floats that are carried as integers into floats. LLVM since 20 (clang, Triton) writes PTX with floats in .b32 and .b64 registers:
 * every operation then has bit casts around it, and passes that follow floats from operation to operation (relax_nan.c, nan64.c) see none.
 * A PHI becomes a PHI of floats if some float goes in and some float comes out, or if only floats go in; so does a select of a float. No
 * bits change. Needs SSA form. */
#include "jit/emit/emit.h"
#include "jit/passes/exact/exact_private.h"

enum { MAX_PASSES = 8 };       /* each pass handles one level of a loop nest */

/* 32 or 64; 0 if v is not an integer of that size, which may hold a float. */
static unsigned
bits(V v)
{
    LLVMTypeRef t = emit_scalar_type(v);
    unsigned n = LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 0;
    return n == 32 || n == 64 ? n : 0;
}

/* The float type for v's bits, or NULL. */
static LLVMTypeRef
float_like(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v), f = bits(v) == 64 ? LLVMDoubleTypeInContext(LLVMGetTypeContext(t)) : LLVMFloatTypeInContext(LLVMGetTypeContext(t));
    if (!bits(v))
        return NULL;
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMVectorType(f, LLVMGetVectorSize(t)) : f;
}

/* The float of which v is the bits, element by element; NULL if v is not such a cast. */
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

/* v as a float, by an instruction at b if it needs one. */
static V
as_float(LLVMBuilderRef b, V v)
{
    V x = float_behind(v);
    return x ? x : LLVMBuildBitCast(b, v, float_like(v), "");
}

/* Replace `old` by `now`; users that cast to float take `now` directly. */
static void
replace(LLVMBuilderRef b, V old, V now, V at)
{
    LLVMTypeRef type = LLVMTypeOf(old);
    for (LLVMUseRef u = LLVMGetFirstUse(old), next; u; u = next) {
        V user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsABitCastInst(user) && LLVMTypeOf(user) == LLVMTypeOf(now))
            LLVMReplaceAllUsesWith(user, now);      /* the cast stays; the optimiser drops it */
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
        for (unsigned j = 0; j < k && !v; j++)      /* a switch with two edges to this block: one value */
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
        /* Remove pairs of casts between floats. */
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                V x = LLVMIsABitCastInst(i) ? float_behind(LLVMGetOperand(i, 0)) : NULL;
                if (x && LLVMTypeOf(x) == LLVMTypeOf(i)) {
                    LLVMReplaceAllUsesWith(i, x);
                    LLVMInstructionEraseFromParent(i);
                }
            }
        /* An unused cast would count as a use in pass_relax_nan. */
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
