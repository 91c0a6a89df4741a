/* SPDX-License-Identifier: Apache-2.0
 * Orders the blocks of a function for LLVM's AMDGPU target: each block after its predecessors, loops contiguous. LLVM lowers divergent
 * branches in block order, and a branch whose join comes earlier costs two more scalar instructions; PTX has latches before headers. Each
 * loop level is sorted topologically by Tarjan's strongly connected components. */
#include "jit/passes/passes.h"

#include <stdlib.h>

enum { MAX_DEPTH = 64 };        /* of loops; deeper blocks stay in the order found */

struct graph {
    LLVMBasicBlockRef *bb;      /* sorted by address */
    uint32_t n, *first, *succ;  /* successors of b: succ[first[b]] to succ[first[b + 1] - 1] */
    uint32_t *level;            /* the loop depth at which a block is being ordered */
    uint32_t *number, *low, *stack, *path, *at, nstack;
    uint32_t *out, nout;
};

static int
compare_blocks(const void *a, const void *b)
{
    LLVMBasicBlockRef x = *(const LLVMBasicBlockRef *)a, y = *(const LLVMBasicBlockRef *)b;
    return (x > y) - (x < y);
}

static uint32_t
index_of(const struct graph *g, LLVMBasicBlockRef bb)
{
    LLVMBasicBlockRef *p = bsearch(&bb, g->bb, g->n, sizeof *g->bb, compare_blocks);
    return (uint32_t)(p - g->bb);
}

/* Append, in reverse, the blocks of one level that are reachable from `entry`. Recursion handles the loops among them: their blocks go one
 * level deeper, without the edges to their header. */
static void
order(struct graph *g, uint32_t entry, uint32_t level, bool header)
{
    uint32_t clock = 0, top = 0;
    uint32_t stack_base = g->nstack;
    uint32_t *path = malloc((size_t)g->n * sizeof *path);
    if (!path)
        return;
#define OPEN(b) (path[top++] = (b), g->number[b] = g->low[b] = ++clock, g->at[b] = g->first[b], g->stack[g->nstack++] = (b))
    OPEN(entry);
    while (top) {
        uint32_t b = path[top - 1];
        if (g->at[b] < g->first[b + 1]) {
            uint32_t s = g->succ[g->at[b]++];
            if (g->level[s] != level || (header && s == entry))
                continue;
            if (!g->number[s])
                OPEN(s);
            else if (g->number[s] < g->low[b])
                g->low[b] = g->number[s];
            continue;
        }
        top--;
        if (top && g->low[b] < g->low[path[top - 1]])
            g->low[path[top - 1]] = g->low[b];
        if (g->low[b] != g->number[b])
            continue;
        uint32_t from = g->nstack;
        do
            from--;
        while (g->stack[from] != b);
        uint32_t size = g->nstack - from;
        for (uint32_t i = from; i < g->nstack; i++)
            g->level[g->stack[i]] = size == 1 || level == MAX_DEPTH ? UINT32_MAX : level + 1;
        if (size == 1 || level == MAX_DEPTH) {
            while (g->nstack > from)
                g->out[g->nout++] = g->stack[--g->nstack];
            continue;
        }
        for (uint32_t i = from; i < g->nstack; i++)
            g->number[g->stack[i]] = 0;
        g->nstack = from;
        order(g, b, level + 1, true);
    }
#undef OPEN
    g->nstack = stack_base;
    free(path);
}

static void
order_function(LLVMValueRef fn)
{
    uint32_t n = LLVMCountBasicBlocks(fn), edges = 0;
    struct graph g = { .n = n };
    if (n < 3)
        return;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        edges += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(b));
    LLVMBasicBlockRef *bb = malloc(n * sizeof *bb);
    uint32_t *words = calloc((size_t)n * 6 + 1 + edges, sizeof *words);
    if (!bb || !words)
        goto done;              /* keep the order: it affects only performance */
    g.bb = bb;
    g.first = words;
    g.level = g.first + n + 1;
    g.number = g.level + n;
    g.low = g.number + n;
    g.stack = g.low + n;
    g.at = g.stack + n;
    g.succ = g.at + n;
    LLVMGetBasicBlocks(fn, bb);
    LLVMBasicBlockRef entry = bb[0];
    qsort(bb, n, sizeof *bb, compare_blocks);
    for (uint32_t i = 0, k = 0; i < n; i++) {
        LLVMValueRef t = LLVMGetBasicBlockTerminator(bb[i]);
        for (unsigned s = LLVMGetNumSuccessors(t); s-- > 0;)
            g.succ[k++] = index_of(&g, LLVMGetSuccessor(t, s));
        g.first[i + 1] = k;
    }
    g.out = malloc(n * sizeof *g.out);
    if (g.out)
        order(&g, index_of(&g, entry), 0, false);
    if (g.out && g.nout == n)
        for (uint32_t i = n - 1; i-- > 0;)
            LLVMMoveBasicBlockAfter(bb[g.out[i]], bb[g.out[i + 1]]);
    free(g.out);
done:
    free(words);
    free(bb);
}

void
pass_order_blocks(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            order_function(f);
}
