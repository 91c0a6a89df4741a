/* SPDX-License-Identifier: Apache-2.0
 * Rolls up loops with calls that the compiler of the PTX unrolled: `main` does a power of two of rounds at a time, `rest` does the
 * remaining rounds one by one. clang unrolls so for NVPTX, where a call is cheap. On amdgcn a function saves every register that it keeps
 * across calls, and two loops keep twice as many. Afterwards `rest` runs all rounds and `main` none.
 *
 *     P: if (n < unroll) goto J;  main: do { ... } while (fours -= unroll);      fours = n & -unroll
 *     J: if (!left) goto X;       rest: do { ... } while (left -= 1);            left = n & (unroll - 1)
 *     X:
 *
 * The pass proves that a round of `main` equals `unroll` rounds of `rest`. It evaluates both symbolically, as sums of products of constants
 * and opaque values; they must make the same calls in the same order and end with the same values. */
#include "jit/passes/passes.h"

#include <string.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef B;

enum { TERMS = 6, OPERANDS = 6, OPAQUES = 64, VALUES = 64, PHIS = 8, LARGEST = 16 /* rounds */, BOUND = 64 /* of P's test */ };

/* constant + the sum of times * opaque, of `bits` bits. Terms are sorted by number. */
struct form {
    unsigned bits, count;
    uint64_t constant;
    struct { unsigned opaque; uint64_t times; } term[TERMS];
};

/* A value from before the loop (or at its beginning), a call (by its index), or an operation on such values. */
struct opaque {
    V leaf;
    unsigned op, call, count;
    struct form operand[OPERANDS];
};

struct evaluation {
    struct opaque opaque[OPAQUES];
    unsigned opaques, calls, functions;
    unsigned call[OPAQUES];             /* the number of each call of `main` */
    bool again, failed;                 /* again: evaluating `rest`, which must make the same calls */
    struct { V v; struct form form; } known[VALUES];
    unsigned values;
};

struct loop {
    B block, before, exit;              /* the block before the loop, and the block behind it */
    V counter, next, test;
    V phi[PHIS], first[PHIS], after[PHIS];     /* except the counter */
    unsigned phis;
    uint64_t step;
};

/* ---- evaluation -------------------------------------------------------------------------------------------------------- */

static uint64_t
ones(unsigned bits)
{
    return ~UINT64_C(0) >> (64 - bits);
}

static bool
same_form(const struct form *a, const struct form *b)
{
    if (a->bits != b->bits || a->count != b->count || a->constant != b->constant)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (a->term[i].opaque != b->term[i].opaque || a->term[i].times != b->term[i].times)
            return false;
    return true;
}

static unsigned
width(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    unsigned bits = LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 64;
    return bits <= 64 ? bits : 64;
}

static struct form
opaque(struct evaluation *e, const struct opaque *o, unsigned bits)
{
    unsigned at = 0;

    for (; at < e->opaques; at++) {
        const struct opaque *is = &e->opaque[at];
        bool same = is->leaf == o->leaf && is->op == o->op && is->call == o->call && is->count == o->count;
        for (unsigned i = 0; same && i < o->count; i++)
            same = same_form(&is->operand[i], &o->operand[i]);
        if (same)
            break;
    }
    if (at == OPAQUES) {
        e->failed = true;
        at = 0;
    } else if (at == e->opaques) {
        e->opaque[e->opaques++] = *o;
    }
    return (struct form){ .bits = bits, .count = 1, .term = { { at, 1 } } };
}

static struct form
value(struct evaluation *e, V v)
{
    if (LLVMIsAConstantInt(v) && LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 64)
        return (struct form){ .bits = width(v), .constant = LLVMConstIntGetZExtValue(v) };
    for (unsigned i = e->values; i-- > 0;)
        if (e->known[i].v == v)
            return e->known[i].form;
    return opaque(e, &(struct opaque){ .leaf = v }, width(v));
}

static void
know(struct evaluation *e, V v, struct form form)
{
    if (e->values == VALUES) {
        e->failed = true;
        return;
    }
    e->known[e->values].v = v;
    e->known[e->values++].form = form;
}

/* a + times * b */
static struct form
sum(struct evaluation *e, const struct form *a, const struct form *b, uint64_t times)
{
    uint64_t mask = ones(a->bits);
    struct form r = { .bits = a->bits, .constant = (a->constant + times * b->constant) & mask };
    unsigned i = 0, k = 0;

    while (i < a->count || k < b->count) {
        unsigned of_a = i < a->count ? a->term[i].opaque : OPAQUES, of_b = k < b->count ? b->term[k].opaque : OPAQUES;
        unsigned at = of_a < of_b ? of_a : of_b;
        uint64_t t = (of_a == at ? a->term[i++].times : 0) + (of_b == at ? times * b->term[k++].times : 0);
        if (!(t & mask))
            continue;
        if (r.count == TERMS) {
            e->failed = true;
            break;
        }
        r.term[r.count].opaque = at;
        r.term[r.count++].times = t & mask;
    }
    return r;
}

/* The operations whose flags LLVM's C interface can clear. */
static bool
is_operation(V i)
{
    if (LLVMIsABinaryOperator(i))
        return LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMIntegerTypeKind;
    return LLVMIsASelectInst(i) || LLVMIsAZExtInst(i) || LLVMIsASExtInst(i);
}

static struct form
operation(struct evaluation *e, V i)
{
    struct opaque o = { .op = LLVMGetInstructionOpcode(i) | width(i) << 16,
                        .count = (unsigned)LLVMGetNumOperands(i) };

    if (o.count > OPERANDS || (LLVMIsACallInst(i) && LLVMGetNumOperandBundles(i)))
        e->failed = true;
    else
        for (unsigned k = 0; k < o.count; k++)
            o.operand[k] = value(e, LLVMGetOperand(i, k));
    if (LLVMIsACallInst(i))
        o.call = ++e->calls;
    return opaque(e, &o, width(i));
}

static void
call(struct evaluation *e, V i)
{
    struct form f = operation(e, i);
    unsigned at = e->calls - 1;

    if (e->failed || at >= OPAQUES) {
        e->failed = true;
        return;
    }
    e->functions += !LLVMIsAIntrinsicInst(i);
    if (!e->again)
        e->call[at] = f.term[0].opaque;
    else if (e->call[at] != f.term[0].opaque)
        e->failed = true;
    know(e, i, f);
}

/* Evaluate one round, except the counter. */
static void
evaluate(struct evaluation *e, const struct loop *l)
{
    for (V i = LLVMGetFirstInstruction(l->block); i != LLVMGetBasicBlockTerminator(l->block) && !e->failed; i = LLVMGetNextInstruction(i)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        if (LLVMIsAPHINode(i) || i == l->next || i == l->test)
            continue;
        if (op == LLVMAdd || op == LLVMSub) {
            struct form a = value(e, LLVMGetOperand(i, 0)), b = value(e, LLVMGetOperand(i, 1));
            know(e, i, sum(e, &a, &b, op == LLVMAdd ? 1 : ~UINT64_C(0)));
        } else if (LLVMIsACallInst(i)) {
            call(e, i);
        } else if (is_operation(i)) {
            know(e, i, operation(e, i));
        } else {
            e->failed = true;
        }
    }
}

/* Does a round of `main` equal as many rounds of `rest` as the counters say? partner: the PHI of `main` for each of rest's. */
static bool
same_rounds(const struct loop *main, const struct loop *rest, const unsigned *partner)
{
    struct evaluation e;        /* 50 KB */
    struct form end[PHIS], state[PHIS];

    memset(&e, 0, sizeof e);
    evaluate(&e, main);
    for (unsigned i = 0; i < rest->phis; i++)
        end[i] = value(&e, main->after[partner[i]]);
    for (unsigned i = 0; i < rest->phis; i++)
        state[i] = opaque(&e, &(struct opaque){ .leaf = main->phi[partner[i]] }, width(rest->phi[i]));
    unsigned calls = e.calls;
    bool functions = e.functions != 0;
    e.again = true;
    e.calls = 0;
    for (uint64_t round = 0; round < main->step && !e.failed; round++) {
        e.values = 0;
        for (unsigned i = 0; i < rest->phis; i++)
            know(&e, rest->phi[i], state[i]);
        evaluate(&e, rest);
        for (unsigned i = 0; i < rest->phis; i++)
            state[i] = value(&e, rest->after[i]);
    }
    bool same = !e.failed && functions && e.calls == calls;
    for (unsigned i = 0; same && i < rest->phis; i++)
        same = same_form(&state[i], &end[i]);
    return same;
}

/* ---- the shape of the two loops ------------------------------------------------------------------------------------------ */

/* The block reached from `to` through empty blocks; *last: its predecessor on that path. */
static B
follow(B from, B to, B *last)
{
    *last = from;
    for (unsigned i = 0; i < PHIS; i++) {       /* the blocks may form a cycle */
        V first = LLVMGetFirstInstruction(to);
        if (!LLVMIsABranchInst(first) || LLVMIsConditional(first))
            break;
        *last = to;
        to = LLVMGetSuccessor(first, 0);
    }
    return to;
}

static bool
is_number(V v, uint64_t n)
{
    return LLVMIsAConstantInt(v) && LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 64 && LLVMConstIntGetZExtValue(v) == n;
}

/* Is it a loop of one block that counts down to zero? */
static bool
counts_down(B block, struct loop *l)
{
    V branch = LLVMGetBasicBlockTerminator(block);

    *l = (struct loop){ .block = block };
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch))
        return false;
    unsigned again = LLVMGetSuccessor(branch, 0) != block;
    l->test = LLVMGetCondition(branch);
    l->exit = LLVMGetSuccessor(branch, !again);
    if (LLVMGetSuccessor(branch, again) != block || l->exit == block || !LLVMIsAICmpInst(l->test) || LLVMGetInstructionParent(l->test) != block ||
        LLVMGetICmpPredicate(l->test) != (again ? LLVMIntEQ : LLVMIntNE) || !is_number(LLVMGetOperand(l->test, 1), 0))
        return false;
    l->next = LLVMGetOperand(l->test, 0);
    if (!LLVMIsAInstruction(l->next) || LLVMGetInstructionOpcode(l->next) != LLVMAdd || !LLVMIsAConstantInt(LLVMGetOperand(l->next, 1)))
        return false;
    l->counter = LLVMGetOperand(l->next, 0);
    l->step = -LLVMConstIntGetZExtValue(LLVMGetOperand(l->next, 1)) & ones(width(l->next));
    bool found = false;
    for (V phi = LLVMGetFirstInstruction(block); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        if (LLVMCountIncoming(phi) != 2)
            return false;
        unsigned first = LLVMGetIncomingBlock(phi, 0) == block;
        l->before = LLVMGetIncomingBlock(phi, first);
        if (phi == l->counter) {
            found = LLVMGetIncomingValue(phi, !first) == l->next;
            continue;
        }
        if (l->phis == PHIS)
            return false;
        l->phi[l->phis] = phi;
        l->first[l->phis] = LLVMGetIncomingValue(phi, first);
        l->after[l->phis++] = LLVMGetIncomingValue(phi, !first);
    }
    return found;
}

static V
incoming(V phi, B from)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == from)
            return LLVMGetIncomingValue(phi, i);
    return NULL;
}

static V
first_of(const struct loop *l)
{
    return incoming(l->counter, l->before);
}

/* Is v = n & mask? LLVM drops the sign bit of the mask where n cannot be negative. */
static bool
is_masked(V v, V *n, uint64_t mask)
{
    if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMAnd)
        return false;
    *n = LLVMGetOperand(v, 0);
    uint64_t all = ones(width(v)), sign = all ^ all >> 1;
    if (is_number(LLVMGetOperand(v, 1), mask & all))
        return true;
    return is_number(LLVMGetOperand(v, 1), mask & all & ~sign) && LLVMIsABinaryOperator(*n) && LLVMGetInstructionOpcode(*n) == LLVMAdd &&
           LLVMGetNSW(*n) && LLVMGetNUW(*n) && LLVMIsABinaryOperator(LLVMGetOperand(*n, 0)) &&
           LLVMGetInstructionOpcode(LLVMGetOperand(*n, 0)) == LLVMLShr && LLVMIsAConstantInt(LLVMGetOperand(LLVMGetOperand(*n, 0), 1)) &&
           !is_number(LLVMGetOperand(LLVMGetOperand(*n, 0), 1), 0) && LLVMIsAConstantInt(LLVMGetOperand(*n, 1)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(*n, 1)) < sign;
}

/* The value of n where x is `at`; n must be made from x by right shifts and additions without wrap, and so is monotonic in x. */
static bool
grown(V n, V x, uint64_t at, uint64_t *result)
{
    uint64_t before;

    if (n == x) {
        *result = at;
        return true;
    }
    if (!LLVMIsABinaryOperator(n) || !LLVMIsAConstantInt(LLVMGetOperand(n, 1)) || !grown(LLVMGetOperand(n, 0), x, at, &before))
        return false;
    uint64_t by = LLVMConstIntGetZExtValue(LLVMGetOperand(n, 1));
    if (LLVMGetInstructionOpcode(n) == LLVMLShr && by < 64) {
        *result = before >> by;
        return true;
    }
    *result = before + by;
    return LLVMGetInstructionOpcode(n) == LLVMAdd && LLVMGetNUW(n);
}

/* Does `branch` go to its successor `edge` exactly when n < unroll? */
static bool
is_bypass(V branch, unsigned edge, V n, uint64_t unroll)
{
    V test = LLVMGetCondition(branch);
    uint64_t below, from;

    if (!LLVMIsAICmpInst(test) || LLVMGetICmpPredicate(test) != LLVMIntULT || edge || !LLVMIsAConstantInt(LLVMGetOperand(test, 1)))
        return false;
    uint64_t bound = LLVMConstIntGetZExtValue(LLVMGetOperand(test, 1));
    return bound && bound <= BOUND && grown(n, LLVMGetOperand(test, 0), bound - 1, &below) && below < unroll &&
           grown(n, LLVMGetOperand(test, 0), bound, &from) && from >= unroll;
}

struct pair {
    struct loop main, rest;
    B join;             /* J */
    V bypass, left, n;  /* P's branch, and `left` as J tests it */
    B from_main, from_bypass;
    unsigned bypass_edge;
};

static bool
find_rest(struct pair *p)
{
    B last, out, from_join, from_rest;

    p->join = follow(p->main.block, p->main.exit, &p->from_main);
    V branch = LLVMGetBasicBlockTerminator(p->join);
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch))
        return false;
    V test = LLVMGetCondition(branch);
    if (!LLVMIsAICmpInst(test) || !is_number(LLVMGetOperand(test, 1), 0) ||
        (LLVMGetICmpPredicate(test) != LLVMIntEQ && LLVMGetICmpPredicate(test) != LLVMIntNE))
        return false;
    unsigned enters = LLVMGetICmpPredicate(test) == LLVMIntEQ;
    if (!counts_down(follow(p->join, LLVMGetSuccessor(branch, enters), &last), &p->rest) || p->rest.before != last || p->rest.step != 1)
        return false;
    p->left = LLVMGetOperand(test, 0);
    out = follow(p->join, LLVMGetSuccessor(branch, !enters), &from_join);
    if (first_of(&p->rest) != p->left || follow(p->rest.block, p->rest.exit, &from_rest) != out)
        return false;
    /* Whichever loop runs the last round, the values behind it must be the same. */
    for (V phi = LLVMGetFirstInstruction(out); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        V of_join = incoming(phi, from_join), of_rest = incoming(phi, from_rest);
        bool same = of_join && of_join == of_rest;
        for (unsigned i = 0; i < p->rest.phis && !same; i++)
            same = of_join == p->rest.first[i] && of_rest == p->rest.after[i];
        if (!same)
            return false;
    }
    return true;
}

static bool
find_bypass(struct pair *p)
{
    uint64_t unroll = p->main.step;
    B test = pass_only_predecessor(p->main.before);
    V fours;

    if (unroll < 2 || unroll > LARGEST || unroll & (unroll - 1) || !test)
        return false;
    p->bypass = LLVMGetBasicBlockTerminator(test);
    if (!LLVMIsABranchInst(p->bypass) || !LLVMIsConditional(p->bypass))
        return false;
    p->bypass_edge = LLVMGetSuccessor(p->bypass, 0) == p->main.before;
    if (follow(test, LLVMGetSuccessor(p->bypass, p->bypass_edge), &p->from_bypass) != p->join)
        return false;
    return is_masked(first_of(&p->main), &fours, ~(unroll - 1)) && is_masked(p->left, &p->n, unroll - 1) && p->n == fours &&
           is_bypass(p->bypass, p->bypass_edge, p->n, unroll);
}

/* Each PHI of J merges the last and the first value of a PHI of `main`. Those with which `rest` begins are its partners. */
static bool
find_partners(const struct pair *p, unsigned *partner)
{
    for (unsigned i = 0; i < p->rest.phis; i++)
        partner[i] = PHIS;
    for (V phi = LLVMGetFirstInstruction(p->join); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        V begin = incoming(phi, p->from_bypass), end = incoming(phi, p->from_main);
        unsigned at = 0;
        while (at < p->main.phis && !(p->main.first[at] == begin && p->main.after[at] == end))
            at++;
        if (at == p->main.phis || LLVMCountIncoming(phi) != 2)
            return false;
        for (unsigned i = 0; i < p->rest.phis; i++)
            if (p->rest.first[i] == phi)
                partner[i] = at;
    }
    for (unsigned i = 0; i < p->rest.phis; i++)
        if (partner[i] == PHIS)
            return false;
    return p->rest.phis > 0;
}

static void
merge(const struct pair *p)
{
    V test = LLVMGetCondition(LLVMGetBasicBlockTerminator(p->join));

    for (V phi = LLVMGetFirstInstruction(p->join); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        LLVMReplaceAllUsesWith(phi, incoming(phi, p->from_bypass));
    LLVMSetOperand(test, 0, p->n);
    LLVMSetOperand(p->rest.counter, LLVMGetIncomingBlock(p->rest.counter, 0) == p->rest.block, p->n);
    LLVMSetCondition(p->bypass, LLVMConstInt(LLVMTypeOf(LLVMGetCondition(p->bypass)), !p->bypass_edge, false));
    /* Flags that hold for a few rounds may not hold for many. */
    for (V i = LLVMGetFirstInstruction(p->rest.block); i; i = LLVMGetNextInstruction(i)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        if (op == LLVMAdd || op == LLVMSub || op == LLVMMul || op == LLVMShl) {
            LLVMSetNUW(i, false);
            LLVMSetNSW(i, false);
        } else if (op == LLVMLShr || op == LLVMAShr || op == LLVMUDiv || op == LLVMSDiv) {
            LLVMSetExact(i, false);
        } else if (op == LLVMZExt) {
            LLVMSetNNeg(i, false);
        } else if (op == LLVMOr) {
            LLVMSetIsDisjoint(i, false);
        }
    }
}

static bool
reroll(B block)
{
    struct pair p;
    unsigned partner[PHIS];

    if (!counts_down(block, &p.main) || !find_rest(&p) || !find_bypass(&p) || !find_partners(&p, partner) ||
        !same_rounds(&p.main, &p.rest, partner))
        return false;
    merge(&p);
    return true;
}

bool
pass_reroll(LLVMModuleRef m)
{
    bool any = false;

    for (V f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (B b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            any |= reroll(b);
    return any;
}
