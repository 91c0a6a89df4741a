/* SPDX-License-Identifier: Apache-2.0
 * Requests full unrolling of two kinds of short loops. First, loops whose counter starts at a constant and is shifted or multiplied until
 * it reaches a constant: LLVM cannot strength-reduce their addresses, which become constants once unrolled (fft of tools/bench.d/nvptx.cu).
 * Second, loops whose counters index a thread-private array: unrolled, the array may go into registers. It cannot if some index is data;
 * unrolling would then only multiply code (an insertion sort of 24 elements became 276 copies of its inner loop). Other loops stay as the
 * compiler of the PTX left them. */
#include "jit/emit/emit.h"
#include "jit/passes/passes.h"

#include <string.h>

typedef LLVMValueRef V;

enum { ROUNDS = 12, BLOCKS = 16, INSTRUCTIONS = 1000 };        /* limits of a loop; INSTRUCTIONS: rounds times length */

static bool
constant(V v, uint64_t *value)
{
    if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *value = LLVMConstIntGetZExtValue(v);
    return true;
}

/* Advance the counter by one round; `next` is the value assigned to it. */
static bool
step(V phi, V next, uint64_t *value, uint64_t ones)
{
    uint64_t by;

    if (!LLVMIsABinaryOperator(next) || LLVMGetOperand(next, 0) != phi || !constant(LLVMGetOperand(next, 1), &by))
        return false;
    switch (LLVMGetInstructionOpcode(next)) {
    case LLVMShl:
        *value = by < 64 ? *value << by & ones : 0;
        return true;
    case LLVMLShr:
        *value = by < 64 ? *value >> by : 0;
        return true;
    case LLVMMul:
        *value = *value * by & ones;
        return true;
    case LLVMUDiv:
        *value = by ? *value / by : 0;
        return by != 0;
    default:
        return false;
    }
}

static bool
holds(LLVMIntPredicate p, uint64_t a, uint64_t b, unsigned bits)
{
    int64_t sa = (int64_t)(a << (64 - bits)), sb = (int64_t)(b << (64 - bits));

    switch (p) {
    case LLVMIntEQ: return a == b;
    case LLVMIntNE: return a != b;
    case LLVMIntUGT: return a > b;
    case LLVMIntUGE: return a >= b;
    case LLVMIntULT: return a < b;
    case LLVMIntULE: return a <= b;
    case LLVMIntSGT: return sa > sb;
    case LLVMIntSGE: return sa >= sb;
    case LLVMIntSLT: return sa < sb;
    default: return sa <= sb;
    }
}

/* Number of rounds of the loop with this counter and latch; 0: unknown, or more than ROUNDS. `next`: the counter's next value. */
static unsigned
rounds(V phi, V next, uint64_t value, LLVMBasicBlockRef latch)
{
    LLVMBasicBlockRef head = LLVMGetInstructionParent(phi);
    V branch = LLVMGetBasicBlockTerminator(latch);
    uint64_t limit;
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(phi));

    /* The emitter puts an empty block on a taken branch. */
    if (branch && LLVMIsABranchInst(branch) && !LLVMIsConditional(branch) && LLVMGetFirstInstruction(latch) == branch && pass_only_predecessor(latch)) {
        head = latch;
        branch = LLVMGetBasicBlockTerminator(pass_only_predecessor(latch));
    }
    if (!branch || !LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) || !LLVMIsAICmpInst(LLVMGetCondition(branch)))
        return 0;
    V c = LLVMGetCondition(branch), tested = LLVMGetOperand(c, 0);
    if ((tested != phi && tested != next) || !constant(LLVMGetOperand(c, 1), &limit))
        return 0;
    bool again = LLVMGetSuccessor(branch, 0) == head;
    for (unsigned n = 1; n <= ROUNDS; n++) {
        uint64_t before = value;
        if (!step(phi, next, &value, ~UINT64_C(0) >> (64 - bits)))
            return 0;
        if (holds(LLVMGetICmpPredicate(c), tested == phi ? before : value, limit, bits) != again)
            return n;
    }
    return 0;
}

/* Number of instructions of the loop, or more than INSTRUCTIONS. */
static unsigned
length(LLVMBasicBlockRef head, LLVMBasicBlockRef latch)
{
    LLVMBasicBlockRef in[BLOCKS] = { head };
    unsigned count = 1, n = 0;

    if (latch != head)
        in[count++] = latch;
    for (unsigned at = 0; at < count; at++) {
        for (V i = LLVMGetFirstInstruction(in[at]); i; i = LLVMGetNextInstruction(i))
            n += !LLVMIsABitCastInst(i);        /* floats in .b32 registers */
        for (LLVMUseRef u = at ? LLVMGetFirstUse(LLVMBasicBlockAsValue(in[at])) : NULL; u; u = LLVMGetNextUse(u)) {
            if (!LLVMIsAInstruction(LLVMGetUser(u)))
                continue;
            LLVMBasicBlockRef from = LLVMGetInstructionParent(LLVMGetUser(u));
            bool known = false;
            for (unsigned k = 0; k < count; k++)
                known |= in[k] == from;
            if (known)
                continue;
            if (count == BLOCKS)
                return INSTRUCTIONS + 1;
            in[count++] = from;
        }
    }
    return n;
}

/* Is phi the counter of a loop to unroll? Annotates the loop. */
static bool
consider(V phi)
{
    uint64_t first;

    if (LLVMGetTypeKind(LLVMTypeOf(phi)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(phi)) > 64 || LLVMCountIncoming(phi) != 2)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        LLVMBasicBlockRef latch = LLVMGetIncomingBlock(phi, 1 - i);
        if (!constant(LLVMGetIncomingValue(phi, i), &first))
            continue;
        unsigned n = rounds(phi, LLVMGetIncomingValue(phi, 1 - i), first, latch);
        if (!n || n * length(LLVMGetInstructionParent(phi), latch) > INSTRUCTIONS)
            continue;
        emit_note_loop(LLVMGetTypeContext(LLVMTypeOf(phi)), LLVMGetBasicBlockTerminator(latch), "llvm.loop.unroll.full");
        return true;
    }
    return false;
}

bool
pass_annotate_loops(LLVMModuleRef m)
{
    bool any = false;

    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V phi = LLVMGetFirstInstruction(bb); phi && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
                if (consider(phi)) {
                    any = true;
                    break;
                }
    return any;
}

enum { DEPTH = 8 };     /* of an index expression */

static bool
is_binary_with_constant(V v)
{
    return (LLVMIsABinaryOperator(v) || LLVMIsAGetElementPtrInst(v)) && LLVMIsConstant(LLVMGetOperand(v, 1));
}

static bool
is_cast(V v)
{
    return LLVMIsAZExtInst(v) || LLVMIsASExtInst(v) || LLVMIsATruncInst(v);
}

/* Is v the next value of the counter phi? */
static bool
steps_from(V v, V phi)
{
    for (unsigned i = 0; i < DEPTH && v != phi && (is_binary_with_constant(v) || is_cast(v)); i++)
        v = LLVMGetOperand(v, 0);
    return v == phi;
}

/* Is v a constant once all loops are unrolled: made of constants and counters? */
static bool
counted(V v, unsigned depth)
{
    if (LLVMIsConstant(v))
        return true;
    if (depth == DEPTH)
        return false;
    if (LLVMIsABinaryOperator(v))
        return counted(LLVMGetOperand(v, 0), depth + 1) && counted(LLVMGetOperand(v, 1), depth + 1);
    if (is_cast(v))
        return counted(LLVMGetOperand(v, 0), depth + 1);
    if (!LLVMIsAPHINode(v) || LLVMCountIncoming(v) != 2)
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (steps_from(LLVMGetIncomingValue(v, i), v))
            return counted(LLVMGetIncomingValue(v, 1 - i), depth + 1);
    return false;
}

/* The alloca that a pointer points into, or NULL. */
static V
own_array(V pointer)
{
    for (unsigned i = 0; i < DEPTH && !LLVMIsAAllocaInst(pointer); i++) {
        if (LLVMIsAGetElementPtrInst(pointer))
            pointer = LLVMGetOperand(pointer, 0);
        else if (LLVMIsAPHINode(pointer))
            pointer = LLVMGetIncomingValue(pointer, LLVMCountIncoming(pointer) > 1 && steps_from(LLVMGetIncomingValue(pointer, 0), pointer));
        else
            return NULL;
    }
    return LLVMIsAAllocaInst(pointer) ? pointer : NULL;
}

static bool
is_own_pointer(V i)
{
    LLVMTypeRef t = LLVMTypeOf(i);
    return LLVMGetTypeKind(t) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(t) == 5;
}

static bool
has_other_index(V function, V array)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (V i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsAGetElementPtrInst(i) && is_own_pointer(i) && own_array(i) == array)
                for (unsigned k = 1; k < (unsigned)LLVMGetNumOperands(i); k++)
                    if (!counted(LLVMGetOperand(i, k), 0))
                        return true;
    return false;
}

bool
pass_counts_through_array(LLVMValueRef function)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (V i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            V array;
            if (!is_own_pointer(i) || !(LLVMIsAPHINode(i) || (LLVMIsAGetElementPtrInst(i) && !LLVMIsConstant(LLVMGetOperand(i, 1)))))
                continue;
            array = own_array(i);
            if (array && !has_other_index(function, array))
                return true;
        }
    return false;
}
