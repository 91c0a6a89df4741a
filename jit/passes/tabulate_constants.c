/* SPDX-License-Identifier: Apache-2.0
 * Vector constants of a function that has very many are read from a table. The code generator looks for each constant that has no immediate among those that
 * the function has so far (MachineConstantPool::getConstantPoolIndex), so that compiling takes time that is quadratic in their number. */
#include "jit/emit/emit.h"
#include "jit/passes/passes.h"
#include "jit/passes/value_map.h"

enum { MANY = 4096 };                   /* looking through fewer takes less than a tenth of the time for the rest */

/* Not masks: predicates' constants are immediates. */
static bool
is_pooled(V c)
{
    if (!c || !LLVMIsConstant(c) || (!LLVMIsAConstantDataVector(c) && !LLVMIsAConstantVector(c)))
        return false;
    LLVMTypeRef e = LLVMGetElementType(LLVMTypeOf(c));
    return LLVMGetTypeKind(e) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(e) >= 8;
}

/* The n-th operand that is one, of an instruction before which it can be loaded. */
static V
constant_operand(V in, unsigned n)
{
    V c = LLVMIsAPHINode(in) ? NULL : LLVMGetOperand(in, n);
    return is_pooled(c) ? c : NULL;
}

#define FOR_CONSTANTS(f, in, i, c)                                                                                     \
    for (LLVMBasicBlockRef bb_ = LLVMGetFirstBasicBlock(f); bb_; bb_ = LLVMGetNextBasicBlock(bb_))                    \
        for (V in = LLVMGetFirstInstruction(bb_); in; in = LLVMGetNextInstruction(in))                                \
            for (unsigned i = 0, n_ = (unsigned)LLVMGetNumOperands(in); i < n_; i++)                                  \
                for (V c = constant_operand(in, i); c; c = NULL)

struct collect {
    struct cw_arena arena;
    V f;
    struct value_map known;             /* state: its number, from 1 */
    struct value_list list;
};

static void
collect(void *user)
{
    struct collect *k = user;
    FOR_CONSTANTS(k->f, in, i, c) {
        struct value_entry *e = value_map_entry(&k->arena, &k->known, c);
        if (!e->state) {
            value_list_add(&k->arena, &k->list, c);
            e->state = k->list.n;
        }
    }
}

static void
tabulate(LLVMModuleRef m, const struct collect *k)
{
    LLVMContextRef context = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
    V all = LLVMConstStructInContext(context, k->list.at, k->list.n, false);
    LLVMTypeRef type = LLVMTypeOf(all);
    V table = LLVMAddGlobal(m, type, "constants");
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(table, true);
    LLVMSetUnnamedAddress(table, LLVMGlobalUnnamedAddr);
    LLVMSetInitializer(table, all);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
    FOR_CONSTANTS(k->f, in, i, c) {
        V index[] = { LLVMConstNull(i32), LLVMConstInt(i32, value_map_slot(&k->known, c)->state - 1, false) };
        LLVMPositionBuilderBefore(b, in);
        LLVMSetOperand(in, i, LLVMBuildLoad2(b, LLVMTypeOf(c), LLVMConstInBoundsGEP2(type, table, index, 2), ""));
    }
    LLVMDisposeBuilder(b);
}

/* Where memory is short the constants stay what they are. */
void
pass_tabulate_constants(LLVMModuleRef m)
{
    for (V f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        struct collect k = { .f = f };
        cw_arena_init(&k.arena);
        if (cw_arena_guard(&k.arena, collect, &k) && k.list.n > MANY)
            tabulate(m, &k);
        cw_arena_finish(&k.arena);
    }
}
