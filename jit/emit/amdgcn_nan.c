/* SPDX-License-Identifier: Apache-2.0
 * NaN on AMD processors, whose own rule for payloads is written nowhere. The emitter puts a mark on the result of each f64
 * operation; emit_place_nan64 turns the marks into code: a wave looks once, for several operations that follow each other, whether a
 * result is NaN, and only then works out which one an H200 gives. emit_shorten_nan makes one instruction of a canonical f32. */
#include "jit/emit/amdgcn_private.h"
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

V
gcn_in_vector(LLVMBuilderRef b, V v)
{
    LLVMTypeRef type = LLVMTypeOf(v), i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    bool wide = LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
    LLVMTypeRef word = wide ? LLVMInt64TypeInContext(LLVMGetTypeContext(type)) : i32;
    V zero = LLVMConstInt(i32, 0, false);

    zero = gcn_assembly(b, "v_mov_b32 $0, $1", "=v,i", &zero, 1);
    if (wide)
        zero = LLVMBuildZExt(b, zero, word, "");
    return LLVMBuildBitCast(b, LLVMBuildOr(b, LLVMBuildBitCast(b, v, word, ""), zero, ""), type, "");
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

/* Operations that share a test: their operands stay in registers until it. */
enum { GROUP = 12 };

/* ---- f64: where the tests go ---------------------------------------------------------------------------------------------- */

/* value: marks in the order of the program, and quotients of what they mark. */
struct nan64 {
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    V mark[2];
    bool wave64;
    unsigned n;
    V value[GROUP];
};

static bool
is_mark(const struct nan64 *p, V v)
{
    if (!LLVMIsACallInst(v))
        return false;
    V f = LLVMGetCalledValue(v);
    return f == p->mark[0] || f == p->mark[1];
}

/* Operands of an operation: a, b and perhaps c. *at: the number of a. */
static unsigned
operands(const struct nan64 *p, V v, unsigned *at)
{
    *at = is_mark(p, v);
    return is_mark(p, v) ? LLVMGetNumArgOperands(v) - 1 : 2;
}

static V
number(const struct nan64 *p, V v)
{
    return is_mark(p, v) ? LLVMGetOperand(v, 0) : v;
}

/* Is the use blind to which NaN it gets? */
static bool
blind(V user, unsigned depth)
{
    static const char *const ends[] = { "llvm.fptosi.sat.", "llvm.fptoui.sat." };
    static const char *const through[] = { "llvm.arithmetic.fence.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.roundeven.", "llvm.fabs." };
    size_t len;

    if (LLVMIsAFCmpInst(user) || LLVMIsAFPToSIInst(user) || LLVMIsAFPToUIInst(user))
        return true;
    V f = LLVMIsACallInst(user) ? LLVMGetCalledValue(user) : NULL;
    if (!f || !LLVMIsAFunction(f))
        return false;
    const char *name = LLVMGetValueName2(f, &len);
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strncmp(name, ends[i], strlen(ends[i])))
            return true;
    bool goes_through = false;
    for (unsigned i = 0; i < sizeof through / sizeof *through; i++)
        goes_through |= !strncmp(name, through[i], strlen(through[i]));
    if (!goes_through || !depth)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(user); u; u = LLVMGetNextUse(u))
        if (!blind(LLVMGetUser(u), depth - 1))
            return false;
    return true;
}

/* Is v an operation whose result goes to its mark alone? */
static bool
only_for_mark(const struct nan64 *p, V v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (!is_mark(p, LLVMGetUser(u)) || LLVMGetOperand(LLVMGetUser(u), 0) != v)
            return false;
    return LLVMGetFirstUse(v) != NULL;
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

/* Does the use come at or after `at`, where it matters which NaN it is? */
static bool
looks_later(V user, V at)
{
    if (blind(user, 3))
        return false;
    return LLVMIsAPHINode(user) || LLVMGetInstructionParent(user) != LLVMGetInstructionParent(at) || !emit_comes_before(user, at);
}

static bool
leaves(V v, V at)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (looks_later(LLVMGetUser(u), at))
            return true;
    return false;
}

static V
is_nan(struct nan64 *p, V a, V b)
{
    return LLVMBuildFCmp(p->b, LLVMRealUNO, a, b, "");
}

static V
quieted(struct nan64 *p, V v)
{
    LLVMTypeRef f64 = LLVMTypeOf(v), i64 = LLVMInt64TypeInContext(p->llvm);
    V bits = LLVMBuildOr(p->b, LLVMBuildBitCast(p->b, v, i64, ""), LLVMConstInt(i64, UINT64_C(1) << 51, false), "");
    return LLVMBuildBitCast(p->b, bits, f64, "");
}

/* What the operation gives an H200: of several NaN the one of b, else c, else a, quieted. */
static V
exactly(struct nan64 *p, V v, V *exact)
{
    V o[3] = { NULL };
    unsigned at, n = operands(p, v, &at);

    for (unsigned k = 0; k < n; k++) {
        o[k] = LLVMGetOperand(v, at + k);
        int i = gcn_find(p->value, p->n, o[k]);
        if (i >= 0)
            o[k] = exact[i];
    }
    if (!is_mark(p, v))
        return LLVMBuildFDiv(p->b, o[0], o[1], "");
    V r = number(p, v), none = LLVMConstBitCast(LLVMConstInt(LLVMInt64TypeInContext(p->llvm), FP_NAN_F64, false), LLVMTypeOf(r));
    r = LLVMBuildSelect(p->b, is_nan(p, r, r), none, r, "");
    r = LLVMBuildSelect(p->b, is_nan(p, o[0], o[0]), quieted(p, o[0]), r, "");
    if (o[2])
        r = LLVMBuildSelect(p->b, is_nan(p, o[2], o[2]), quieted(p, o[2]), r, "");
    return LLVMBuildSelect(p->b, is_nan(p, o[1], o[1]), quieted(p, o[1]), r, "");
}

/* Branch to a new block where one of the first n values is NaN in a lane of the wave; the builder goes there. Returns the block that `at`
 * begins from now on. */
static LLVMBasicBlockRef
branch(struct nan64 *p, V *test, unsigned n, V at)
{
    LLVMBasicBlockRef from = LLVMGetInstructionParent(at), done = emit_split_block(at);
    V any = NULL;

    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(from));
    LLVMPositionBuilderAtEnd(p->b, from);
    for (unsigned i = 0; i < n; i += 2) {
        V two = is_nan(p, test[i], test[i + 1 < n ? i + 1 : i]);
        any = any ? LLVMBuildOr(p->b, any, two, "") : two;
    }
    gcn_branch_rare(p->b, p->module, p->wave64, any, done, "nan");
    return done;
}

/* v is r in the block `from`, where the group is, and where nobody looks which NaN it is; else it is `exact`, if that is not NULL. */
static void
replace(V v, V r, V exact, LLVMBasicBlockRef from)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v), next; u; u = next) {
        V user = LLVMGetUser(u);
        bool early = LLVMGetInstructionParent(user) == from && !LLVMIsAPHINode(user);
        V with = exact && !early && !blind(user, 3) ? exact : r;
        next = LLVMGetNextUse(u);
        if (user == exact)
            continue;
        /* All operands of this user change at once: go on with a use by another one. */
        while (next && LLVMGetUser(next) == user)
            next = LLVMGetNextUse(next);
        for (int k = 0; with != v && k < LLVMGetNumOperands(user); k++)
            if (LLVMGetOperand(user, (unsigned)k) == v)
                LLVMSetOperand(user, (unsigned)k, with);
    }
}

/* Ends the group before the instruction `at`. */
static void
end_group(struct nan64 *p, V at)
{
    V exact[GROUP], phi[GROUP] = { NULL }, test[GROUP];
    bool out[GROUP], covered[GROUP] = { false };
    unsigned n = 0, later = 0;
    LLVMBasicBlockRef from = LLVMGetInstructionParent(at);

    for (unsigned i = p->n; i-- > 0;) {
        unsigned first, m = operands(p, p->value[i], &first);
        out[i] = leaves(p->value[i], at);
        later += out[i];
        for (unsigned k = 0; (out[i] || covered[i]) && k < m; k++) {
            int j = gcn_find(p->value, p->n, LLVMGetOperand(p->value[i], first + k));
            if (j >= 0)
                covered[j] = true;      /* a NaN there is one here */
        }
        if (out[i] && !covered[i])
            test[n++] = number(p, p->value[i]);
    }
    if (later) {
        LLVMBasicBlockRef done = branch(p, test, n, at), some = LLVMGetInsertBlock(p->b);
        for (unsigned i = 0; i < p->n; i++)
            exact[i] = out[i] || covered[i] ? exactly(p, p->value[i], exact) : number(p, p->value[i]);
        for (unsigned i = 0; i < p->n; i++)
            if (out[i])
                exact[i] = gcn_in_vector(p->b, exact[i]);
        LLVMBuildBr(p->b, done);
        LLVMPositionBuilderBefore(p->b, at);
        for (unsigned i = 0; i < p->n; i++) {
            if (!out[i])
                continue;
            phi[i] = LLVMBuildPhi(p->b, LLVMTypeOf(exact[i]), "");
            LLVMAddIncoming(phi[i], (V[]){ number(p, p->value[i]), exact[i] }, (LLVMBasicBlockRef[]){ from, some }, 2);
        }
    }
    for (unsigned i = 0; i < p->n; i++)
        replace(p->value[i], number(p, p->value[i]), phi[i], from);
    for (unsigned i = p->n; i-- > 0;)
        if (is_mark(p, p->value[i]))
            LLVMInstructionEraseFromParent(p->value[i]);
    p->n = 0;
}

static void
place(struct nan64 *p, LLVMBasicBlockRef bb)
{
    for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        bool mark = is_mark(p, i), uses = gcn_reads_any(i, p->value, p->n);
        bool quotient = uses && LLVMIsABinaryOperator(i) && LLVMGetInstructionOpcode(i) == LLVMFDiv;
        if (mark || quotient) {
            if (p->n == GROUP) {
                end_group(p, i);
                quotient = false;
            }
            if (mark || quotient)
                p->value[p->n++] = i;
        } else if (uses && !blind(i, 3) && !only_for_mark(p, i)) {
            end_group(p, i);
        } else if (p->n && LLVMIsATerminatorInst(i)) {
            end_group(p, i);
        }
    }
}

void
emit_place_nan64(LLVMModuleRef m, bool wave64)
{
    struct nan64 p = { .llvm = LLVMGetModuleContext(m), .module = m, .wave64 = wave64,
                       .mark = { LLVMGetNamedFunction(m, FP_MARK_2), LLVMGetNamedFunction(m, FP_MARK_3) } };

    if (!p.mark[0] && !p.mark[1])
        return;
    p.b = LLVMCreateBuilderInContext(p.llvm);
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            place(&p, bb);
    LLVMDisposeBuilder(p.b);
    for (unsigned i = 0; i < 2; i++)
        if (p.mark[i])
            LLVMDeleteFunction(p.mark[i]);
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
    return gcn_assembly(b, gfx < 12 ? "v_max3_f32 $0, $2, $1, $2" : "v_max3_num_f32 $0, $2, $1, $2", gfx == 9 ? "=v,v,s" : "=v,v,i", o, 2);
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
