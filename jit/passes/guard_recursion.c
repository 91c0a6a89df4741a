/* SPDX-License-Identifier: Apache-2.0
 * Tests before each call of a recursive function whether it would return at once, as recursive functions mostly do: for n < 2, for an empty
 * tree. On amdgcn a function first saves its registers, 30 to 60 instructions, and a wave makes a call even if all lanes return at once.
 * The pass copies the test with which the function begins, and the value it returns then, into a wrapper that is inlined into all callers;
 * the function's own test goes. */
#include "jit/passes/passes.h"

#include "jit/emit/attribute.h"

typedef LLVMBasicBlockRef B;

enum { SHORT = 8 };     /* instructions of the test, and of the path to the return */

/* Instructions copied to the wrapper, with the wrapper's parameters in place of the function's. */
struct copy {
    LLVMBuilderRef b;
    V function, wrapper;
    V from[2 * SHORT], to[2 * SHORT];
    unsigned count;
};

static bool
is_pure(V i)
{
    return LLVMIsABinaryOperator(i) || LLVMIsACmpInst(i) || LLVMIsASelectInst(i) || LLVMIsACastInst(i) || LLVMIsAFreezeInst(i);
}

/* Number of instructions of a block before its terminator, PHIs not counted; SHORT + 1: too many, or one with effects, or a division. */
static unsigned
length(B bb)
{
    unsigned n = 0;

    for (V i = LLVMGetFirstInstruction(bb); i && i != LLVMGetBasicBlockTerminator(bb); i = LLVMGetNextInstruction(i)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        if (LLVMIsAPHINode(i))
            continue;
        if (!is_pure(i) || op == LLVMUDiv || op == LLVMSDiv || op == LLVMURem || op == LLVMSRem || op == LLVMFDiv || op == LLVMFRem || ++n > SHORT)
            return SHORT + 1;
    }
    return n;
}

static V
direct_call(V user, V function)
{
    return LLVMIsACallInst(user) && LLVMGetCalledValue(user) == function ? user : NULL;
}

/* A recursive call of the function, provided that all its uses are calls. */
static V
recursion(V function)
{
    V inner = NULL;

    for (LLVMUseRef u = LLVMGetFirstUse(function); u; u = LLVMGetNextUse(u)) {
        V call = direct_call(LLVMGetUser(u), function);
        if (!call)
            return NULL;
        for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
            if (LLVMGetOperand(call, i) == function)
                return NULL;
        if (LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) == function)
            inner = call;
    }
    return inner;
}

/* The successor that only returns; 2: none. */
static unsigned
returning(V branch)
{
    for (unsigned i = 0; i < 2; i++) {
        B to = LLVMGetSuccessor(branch, i);
        if (LLVMIsAReturnInst(LLVMGetBasicBlockTerminator(to)) && length(to) <= SHORT)
            return i;
    }
    return 2;
}

static V
copied(struct copy *c, V v)
{
    for (unsigned i = 0; i < LLVMCountParams(c->function); i++)
        if (LLVMGetParam(c->function, i) == v)
            return LLVMGetParam(c->wrapper, i);
    for (unsigned i = c->count; i-- > 0;)
        if (c->from[i] == v)
            return c->to[i];
    return v;
}

static void
copy_block(struct copy *c, B bb, B entry)
{
    for (V i = LLVMGetFirstInstruction(bb); i != LLVMGetBasicBlockTerminator(bb); i = LLVMGetNextInstruction(i)) {
        V to = NULL;
        if (LLVMIsAPHINode(i)) {
            for (unsigned k = 0; k < LLVMCountIncoming(i); k++)
                if (LLVMGetIncomingBlock(i, k) == entry)
                    to = copied(c, LLVMGetIncomingValue(i, k));
        } else {
            to = LLVMInstructionClone(i);
            for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++)
                LLVMSetOperand(to, k, copied(c, LLVMGetOperand(i, k)));
            LLVMInsertIntoBuilder(c->b, to);
        }
        c->from[c->count] = i;
        c->to[c->count++] = to;
    }
}

/* if (test) return the value of `function`; else return function(...); */
static void
make(struct copy *c, V branch, unsigned returns, V inner)
{
    LLVMModuleRef m = LLVMGetGlobalParent(c->function);
    LLVMContextRef context = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMGlobalGetValueType(c->function);
    B entry = LLVMGetEntryBasicBlock(c->function), to = LLVMGetSuccessor(branch, returns);
    V result = LLVMGetBasicBlockTerminator(to);

    c->wrapper = LLVMAddFunction(m, "guard", type);
    LLVMSetLinkage(c->wrapper, LLVMInternalLinkage);
    emit_set_attribute(c->wrapper, "alwaysinline");
    emit_set_attribute(c->wrapper, "convergent");
    B test = LLVMAppendBasicBlockInContext(context, c->wrapper, "test"), at_once = LLVMAppendBasicBlockInContext(context, c->wrapper, "at.once");
    B call = LLVMAppendBasicBlockInContext(context, c->wrapper, "call");
    LLVMPositionBuilderAtEnd(c->b, test);
    copy_block(c, entry, NULL);
    V condition = copied(c, LLVMGetCondition(branch));
    LLVMBuildCondBr(c->b, condition, returns ? call : at_once, returns ? at_once : call);
    LLVMPositionBuilderAtEnd(c->b, at_once);
    copy_block(c, to, entry);
    bool value = LLVMGetNumOperands(result) > 0;
    value ? LLVMBuildRet(c->b, copied(c, LLVMGetOperand(result, 0))) : LLVMBuildRetVoid(c->b);
    LLVMPositionBuilderAtEnd(c->b, call);
    V r = LLVMInstructionClone(inner);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(r); i++)
        LLVMSetOperand(r, i, LLVMGetParam(c->wrapper, i));
    LLVMInsertIntoBuilder(c->b, r);
    value ? LLVMBuildRet(c->b, r) : LLVMBuildRetVoid(c->b);
    /* Redirect all other calls to the wrapper. In the function itself the test is now false. */
    LLVMReplaceAllUsesWith(c->function, c->wrapper);
    LLVMSetOperand(r, (unsigned)LLVMGetNumOperands(r) - 1, c->function);
    LLVMSetCondition(branch, LLVMConstInt(LLVMInt1TypeInContext(context), returns, false));
}

static unsigned
phis(B bb)
{
    unsigned n = 0;
    for (V i = LLVMGetFirstInstruction(bb); i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
        n++;
    return n;
}

static bool
guard(LLVMBuilderRef b, V function)
{
    V inner = recursion(function);

    if (!inner || LLVMGetLinkage(function) != LLVMInternalLinkage || LLVMGetNumOperandBundles(inner))
        return false;
    B entry = LLVMGetEntryBasicBlock(function);
    V branch = LLVMGetBasicBlockTerminator(entry);
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) || length(entry) > SHORT)
        return false;
    unsigned returns = returning(branch);
    if (returns == 2 || LLVMGetSuccessor(branch, 0) == LLVMGetSuccessor(branch, 1) ||
        length(entry) + length(LLVMGetSuccessor(branch, returns)) + phis(LLVMGetSuccessor(branch, returns)) > 2 * SHORT)
        return false;
    struct copy c = { .b = b, .function = function };
    make(&c, branch, returns, inner);
    return true;
}

bool
pass_guard_recursion(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    bool any = false;

    for (V f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            any |= guard(b, f);
    LLVMDisposeBuilder(b);
    return any;
}
