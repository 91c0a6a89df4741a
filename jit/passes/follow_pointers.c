/* SPDX-License-Identifier: Apache-2.0
 * Replaces integer arithmetic on addresses of variables by pointer arithmetic. PTX addresses are integers, but LLVM needs pointers to keep
 * a local array in registers, to see that two accesses do not overlap, and to infer the space of a generic address. The pass follows sums,
 * differences, conversions between 32 and 64 bits, PHIs and selects from each inttoptr back to a ptrtoint of the same space, or for global
 * memory back to a kernel parameter.
 *
 * PTX leaves the placement of variables open, so an address computed from one variable cannot validly reach another. Runs after promotion
 * of allocas. */
#include "jit/passes/passes.h"
#include "jit/passes/value_map.h"

#include <string.h>

enum { MAX_DEPTH = 200, BUDGET = 20000 };
enum state { UNKNOWN, PENDING, BASED, NOT_BASED };

struct pass {
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef i8, pointer;    /* of the space being processed */
    unsigned as;
    bool narrow;                /* pointers have 32 bits: only the low halves of 64-bit integers matter */
    struct value_map map;       /* state: enum state */
    struct value_list log;      /* values in the order of their first visit */
    struct cw_arena arena;
    unsigned budget;
    bool global, any;
};

static struct value_entry *
entry_of(struct pass *p, V v)
{
    return value_map_entry(&p->arena, &p->map, v);
}

static LLVMOpcode
opcode(V v)
{
    return LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) : LLVMRet;
}

/* Does the emitter load it from constant memory: a kernel parameter, or a pointer into the data segment? */
static bool
is_parameter(V v)
{
    return opcode(v) == LLVMLoad && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(LLVMTypeOf(v)) == 64 &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(v, 0))) == 4;
}

static bool
is_base(const struct pass *p, V v)
{
    if ((p->as == 1 || (p->as == 0 && p->global)) && is_parameter(v))
        return true;
    return opcode(v) == LLVMPtrToInt && LLVMTypeOf(LLVMGetOperand(v, 0)) == p->pointer &&
           LLVMGetIntTypeWidth(LLVMTypeOf(v)) >= (p->narrow ? 32 : 64);
}

/* Is v an index that contains no address? */
static bool
is_index(V v, unsigned depth)
{
    if (LLVMIsAConstantInt(v))
        return true;
    switch (opcode(v)) {
    case LLVMZExt: case LLVMSExt:
        return true;
    case LLVMMul: case LLVMShl:
        return LLVMIsAConstantInt(LLVMGetOperand(v, 1)) && is_index(LLVMGetOperand(v, 0), depth);
    case LLVMAdd: case LLVMSub:
        return depth && is_index(LLVMGetOperand(v, 0), depth - 1) && is_index(LLVMGetOperand(v, 1), depth - 1);
    default:
        return false;
    }
}

/* Is one operand of the sum an address? A kernel parameter is one only if the other operand is an index: added to an unknown number, it may
 * be an offset itself. */
static bool based(struct pass *p, V v, unsigned depth);

static bool
sum(struct pass *p, V v, unsigned depth)
{
    V a = LLVMGetOperand(v, 0), b = LLVMGetOperand(v, 1);
    if (p->as == 0)
        return (is_index(b, 4) && based(p, a, depth)) || (is_index(a, 4) && based(p, b, depth));
    return based(p, a, depth) || based(p, b, depth);
}

/* Is v the address of a variable plus an offset? A PHI counts as one while its operands are examined; if it turns out not to be one,
 * everything concluded from that is forgotten. */
static bool
based(struct pass *p, V v, unsigned depth)
{
    unsigned s = entry_of(p, v)->state;
    if (s != UNKNOWN)
        return s != NOT_BASED;
    if (depth == MAX_DEPTH || !p->budget)
        return false;
    p->budget--;
    uint32_t from = p->log.n;
    value_list_add(&p->arena, &p->log, v);
    entry_of(p, v)->state = PENDING;
    bool yes = false;
    switch (opcode(v)) {
    case LLVMPtrToInt: case LLVMLoad:
        yes = is_base(p, v);
        break;
    case LLVMAdd:
        yes = sum(p, v, depth + 1);
        break;
    case LLVMSub:
        yes = based(p, LLVMGetOperand(v, 0), depth + 1);
        break;
    case LLVMTrunc: case LLVMZExt: case LLVMSExt:
        yes = p->narrow && LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(v, 0))) >= 32 && LLVMGetIntTypeWidth(LLVMTypeOf(v)) >= 32 &&
              based(p, LLVMGetOperand(v, 0), depth + 1);
        break;
    case LLVMSelect:
        yes = based(p, LLVMGetOperand(v, 1), depth + 1) && based(p, LLVMGetOperand(v, 2), depth + 1);
        break;
    case LLVMPHI:
        yes = true;
        for (unsigned i = 0; yes && i < LLVMCountIncoming(v); i++)
            yes = based(p, LLVMGetIncomingValue(v, i), depth + 1);
        break;
    default:
        break;
    }
    if (!yes)
        while (p->log.n > from)
            entry_of(p, p->log.at[--p->log.n])->state = UNKNOWN;
    entry_of(p, v)->state = yes ? BASED : NOT_BASED;
    return yes;
}

/* Express an index times the element size as a typed GEP, the form that LLVM analyses best. */
static V
gep(struct pass *p, V before, V base, V offset)
{
    LLVMTypeRef element = p->i8;
    LLVMOpcode op = opcode(offset);
    V k = op == LLVMMul || op == LLVMShl ? LLVMGetOperand(offset, 1) : NULL;
    if (k && LLVMIsAConstantInt(k) && LLVMGetIntTypeWidth(LLVMTypeOf(k)) <= 64) {
        unsigned long long n = LLVMConstIntGetZExtValue(k);
        if (op == LLVMShl)
            n = n < 5 ? 1ull << n : 0;
        if (n > 1 && n <= 4096) {
            element = n <= 8 && !(n & (n - 1)) ? LLVMIntTypeInContext(LLVMGetTypeContext(p->i8), (unsigned)n * 8)
                                               : LLVMArrayType2(p->i8, n);
            offset = LLVMGetOperand(offset, 0);
        }
    }
    LLVMPositionBuilderBefore(p->b, before);
    return LLVMBuildGEP2(p->b, element, base, &offset, 1, "");
}

/* The pointer for a based integer. */
static V
build(struct pass *p, V v)
{
    V r = entry_of(p, v)->pointer, a, c;
    if (r)
        return r;
    switch (opcode(v)) {
    case LLVMPtrToInt: case LLVMTrunc: case LLVMZExt: case LLVMSExt:
        r = LLVMGetOperand(v, 0);
        if (opcode(v) != LLVMPtrToInt)
            r = build(p, r);
        break;
    case LLVMLoad:
        LLVMPositionBuilderBefore(p->b, LLVMGetNextInstruction(v));
        r = LLVMBuildIntToPtr(p->b, v, LLVMPointerTypeInContext(LLVMGetTypeContext(p->i8), 1), "");
        if (p->as != 1)
            r = LLVMBuildAddrSpaceCast(p->b, r, p->pointer, "");
        break;
    case LLVMAdd: {
        V base = LLVMGetOperand(v, 0), offset = LLVMGetOperand(v, 1);
        if (entry_of(p, base)->state != BASED) {
            base = offset;
            offset = LLVMGetOperand(v, 0);
        }
        r = build(p, base);
        r = LLVMIsAInstruction(v) ? gep(p, v, r, offset) : LLVMConstGEP2(p->i8, r, &offset, 1);
        break;
    }
    case LLVMSub:
        r = build(p, LLVMGetOperand(v, 0));
        if (!LLVMIsAInstruction(v)) {
            c = LLVMConstNeg(LLVMGetOperand(v, 1));
            r = LLVMConstGEP2(p->i8, r, &c, 1);
            break;
        }
        LLVMPositionBuilderBefore(p->b, v);
        r = gep(p, v, r, LLVMBuildNeg(p->b, LLVMGetOperand(v, 1), ""));
        break;
    case LLVMSelect:
        a = build(p, LLVMGetOperand(v, 1));
        c = build(p, LLVMGetOperand(v, 2));
        LLVMPositionBuilderBefore(p->b, v);
        r = LLVMBuildSelect(p->b, LLVMGetOperand(v, 0), a, c, "");
        break;
    case LLVMPHI:
        LLVMPositionBuilderBefore(p->b, v);
        r = LLVMBuildPhi(p->b, p->pointer, "");
        entry_of(p, v)->pointer = r;
        for (unsigned i = 0; i < LLVMCountIncoming(v); i++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(v, i);
            a = build(p, LLVMGetIncomingValue(v, i));
            LLVMAddIncoming(r, &a, &from, 1);
        }
        return r;
    default:
        break;
    }
    entry_of(p, v)->pointer = r;
    return r;
}

static void
function(struct pass *p, V fn)
{
    LLVMContextRef llvm = LLVMGetTypeContext(p->i8);
    static const unsigned spaces[] = { 3, 5, 4, 0, 1 };    /* shared, local, constant, generic, global */
    for (unsigned k = 0; k < (p->global ? 5 : 4); k++) {
        p->as = spaces[k];
        p->narrow = p->as == 3 || p->as == 5;
        p->pointer = LLVMPointerTypeInContext(llvm, p->as);
        p->budget = BUDGET;
        p->map.count = p->log.n = 0;
        if (p->map.slot)
            memset(p->map.slot, 0, p->map.size * sizeof *p->map.slot);
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
            V next;
            for (V i = LLVMGetFirstInstruction(bb); i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMGetInstructionOpcode(i) != LLVMIntToPtr || LLVMTypeOf(i) != p->pointer ||
                    (p->as == 1 && LLVMIsALoadInst(LLVMGetOperand(i, 0))))
                    continue;
                V r = based(p, LLVMGetOperand(i, 0), 0) ? build(p, LLVMGetOperand(i, 0)) : NULL;
                if (r) {
                    LLVMReplaceAllUsesWith(i, r);
                    LLVMInstructionEraseFromParent(i);
                    p->any = true;
                }
            }
        }
    }
}

/* Remove dead address arithmetic: SROA treats even an unused ptrtoint as an escape. */
static void
sweep(V fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetLastBasicBlock(fn); bb; bb = LLVMGetPreviousBasicBlock(bb)) {
        V before;
        for (V i = LLVMGetLastInstruction(bb); i; i = before) {
            before = LLVMGetPreviousInstruction(i);
            if (LLVMGetFirstUse(i))
                continue;
            switch (LLVMGetInstructionOpcode(i)) {
            case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMTrunc: case LLVMZExt: case LLVMSExt: case LLVMPtrToInt:
            case LLVMIntToPtr: case LLVMAddrSpaceCast: case LLVMSelect:
                LLVMInstructionEraseFromParent(i);
                break;
            default:
                break;
            }
        }
    }
}

static void
run(void *user)
{
    struct pass *p = user;
    for (V f = LLVMGetFirstFunction(p->m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) {
            function(p, f);
            sweep(f);
        }
}

bool
pass_follow_pointers(LLVMModuleRef m, bool global, bool *any)
{
    LLVMContextRef llvm = LLVMGetModuleContext(m);
    struct pass p = { .m = m, .global = global, .b = LLVMCreateBuilderInContext(llvm), .i8 = LLVMInt8TypeInContext(llvm) };
    cw_arena_init(&p.arena);
    bool done = cw_arena_guard(&p.arena, run, &p);
    *any = p.any;
    cw_arena_finish(&p.arena);
    LLVMDisposeBuilder(p.b);
    return done;
}
