/* SPDX-License-Identifier: Apache-2.0
 * The control-flow graph. Blocks are in text order, without unreachable ones; every edge of `succ` has its mirror in `pred`. If the first
 * instruction is a branch target, block 0 is empty and falls through to it. */
#include "jit/ptx/ptx_private.h"

#include <stdlib.h>

struct cfg {
    struct ptx_function *fn;
    uint8_t  *leader;           /* per instruction */
    uint32_t *block_of;         /* for each instruction that leads a block: raw block number */
    uint32_t *first, *count;    /* per raw block */
    uint32_t n;
    uint32_t *number;           /* raw block -> final number + 1; 0: not reached */
    uint32_t *stack;
    uint32_t *targets;          /* scratch for one block's successors */
    uint32_t targets_cap;
    uint32_t *listed, lists;    /* per raw block: the list of targets, by its number, that it is in */
};

static const struct ptx_table *
table_of(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BRX_IDX && in->noperands > 1 && in->operand[1].kind == PTX_OPND_TABLE ? in->operand[1].table : NULL;
}

/* Write the successors of a raw block to c->targets, as raw block numbers. */
static uint32_t
successors(struct cfg *c, uint32_t b)
{
    uint32_t n = 0, end = c->first[b] + c->count[b];
    const struct ptx_inst *last = c->count[b] ? &c->fn->insts[end - 1] : NULL;
    bool falls = true;
    if (last && (ptx_op_info(last->op)->traits & PTX_T_TERMINATOR)) {
        const struct ptx_table *t = table_of(last);
        falls = last->has_guard;
        if (last->noperands && last->operand[0].kind == PTX_OPND_LABEL) {
            c->targets[n++] = c->block_of[last->operand[0].index];
        } else if (t && t->labels) {
            c->lists++;
            for (uint32_t i = 0; i < t->count; i++) {
                uint32_t to = c->block_of[t->labels[i]];
                if (c->listed[to] != c->lists)
                    c->targets[n++] = to;
                c->listed[to] = c->lists;
            }
        }
    }
    if (falls && (c->count[b] ? end < c->fn->ninsts : c->n > 1))
        c->targets[n++] = b + 1;
    return n;
}

static bool
split(struct cfg *c)
{
    struct ptx_function *fn = c->fn;
    uint32_t most = 2;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        if (!(ptx_op_info(in->op)->traits & PTX_T_TERMINATOR))
            continue;
        const struct ptx_table *t = table_of(in);
        if (i + 1 < fn->ninsts)
            c->leader[i + 1] = 1;
        if (in->noperands && in->operand[0].kind == PTX_OPND_LABEL) {
            if (in->operand[0].index >= fn->ninsts)
                return false;
            c->leader[in->operand[0].index] = 2;
        } else if (t && t->labels) {
            for (uint32_t k = 0; k < t->count; k++) {
                if (t->labels[k] >= fn->ninsts)
                    return false;
                c->leader[t->labels[k]] = 2;
            }
            most = t->count + 1 > most ? t->count + 1 : most;
        }
    }
    c->targets_cap = most;
    if (c->leader[0] == 2)
        c->n = 1;               /* the empty entry block: first = count = 0 */
    c->leader[0] = 1;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        if (c->leader[i]) {
            c->block_of[i] = c->n;
            c->first[c->n++] = i;
        }
        c->count[c->n - 1]++;
    }
    return true;
}

cw_result
ptx_function_build_cfg(struct ptx_function *fn)
{
    if (fn->blocks || !fn->has_body)
        return CW_OK;
    if (!fn->ninsts)
        return CW_ERR_INVALID;
    struct cw_arena *a = &fn->module->arena;
    struct cfg c = { .fn = fn };
    size_t n = (size_t)fn->ninsts + 1;
    cw_result r = CW_ERR_NOMEM;
    uint32_t reached = 0, top = 0;
    c.leader = calloc(n, 1);
    c.block_of = calloc(n, 4);
    c.first = calloc(n, 4);
    c.count = calloc(n, 4);
    c.number = calloc(n, 4);
    c.stack = calloc(n, 4);
    c.listed = calloc(n, 4);
    if (!c.leader || !c.block_of || !c.first || !c.count || !c.number || !c.stack || !c.listed)
        goto done;
    if (!split(&c)) {
        r = CW_ERR_INVALID;
        goto done;
    }
    c.targets = calloc(c.targets_cap, 4);
    if (!c.targets)
        goto done;
    c.number[0] = 1;
    c.stack[top++] = 0;
    while (top) {
        uint32_t k = successors(&c, c.stack[--top]);
        for (uint32_t i = 0; i < k; i++) {
            if (!c.number[c.targets[i]]) {
                c.number[c.targets[i]] = 1;
                c.stack[top++] = c.targets[i];
            }
        }
    }
    for (uint32_t b = 0; b < c.n; b++)
        if (c.number[b])
            c.number[b] = ++reached;
    struct ptx_block *blocks = cw_arena_array(a, struct ptx_block, reached);
    if (!blocks)
        goto done;
    for (uint32_t b = 0; b < c.n; b++) {
        if (!c.number[b])
            continue;
        struct ptx_block *bl = &blocks[c.number[b] - 1];
        bl->first = c.first[b];
        bl->count = c.count[b];
        bl->nsucc = successors(&c, b);
        bl->succ = cw_arena_array(a, uint32_t, bl->nsucc);
        if (!bl->succ)
            goto done;
        for (uint32_t i = 0; i < bl->nsucc; i++) {
            bl->succ[i] = c.number[c.targets[i]] - 1;
            blocks[bl->succ[i]].npred++;
        }
    }
    for (uint32_t b = 0; b < reached; b++) {
        blocks[b].pred = cw_arena_array(a, uint32_t, blocks[b].npred);
        if (!blocks[b].pred)
            goto done;
        blocks[b].npred = 0;
    }
    for (uint32_t b = 0; b < reached; b++)
        for (uint32_t i = 0; i < blocks[b].nsucc; i++) {
            struct ptx_block *to = &blocks[blocks[b].succ[i]];
            to->pred[to->npred++] = b;
        }
    fn->blocks = blocks;
    fn->nblocks = reached;
    r = CW_OK;
done:
    free(c.leader);
    free(c.block_of);
    free(c.first);
    free(c.count);
    free(c.number);
    free(c.stack);
    free(c.listed);
    free(c.targets);
    return r;
}
