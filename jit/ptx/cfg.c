/* SPDX-License-Identifier: Apache-2.0
 * The control-flow graph. Blocks are in text order, without unreachable ones; every edge of `succ` has its mirror in `pred`. If the first
 * instruction is a branch target, block 0 is empty and falls through to it. */
#include "jit/ptx/ptx_private.h"

#include <stdlib.h>

/* A raw block is one before the unreachable ones are dropped; there are no more of them than instructions, and one. */
struct slot {
    uint8_t  leader;            /* of the instruction: it begins a block; 2: as a branch target */
    uint32_t block_of;          /* the raw block that the instruction leads */
    uint32_t first, count;      /* of the raw block */
    uint32_t number;            /* its final number + 1; 0: not reached */
    uint32_t listed;            /* the list of targets, by its number, that it is in */
    uint32_t stack;
};

struct cfg {
    struct ptx_function *fn;
    struct slot *at;            /* per instruction and per raw block */
    uint32_t n;                 /* raw blocks */
    uint32_t *targets;          /* scratch for one block's successors */
    uint32_t targets_cap, lists;
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
    uint32_t n = 0, end = c->at[b].first + c->at[b].count;
    const struct ptx_inst *last = c->at[b].count ? &c->fn->insts[end - 1] : NULL;
    bool falls = true;
    if (last && (ptx_op_info(last->op)->traits & PTX_T_TERMINATOR)) {
        const struct ptx_table *t = table_of(last);
        falls = last->has_guard;
        if (last->noperands && last->operand[0].kind == PTX_OPND_LABEL) {
            c->targets[n++] = c->at[last->operand[0].index].block_of;
        } else if (t && t->labels) {
            c->lists++;
            for (uint32_t i = 0; i < t->count; i++) {
                uint32_t to = c->at[t->labels[i]].block_of;
                if (c->at[to].listed != c->lists)
                    c->targets[n++] = to;
                c->at[to].listed = c->lists;
            }
        }
    }
    if (falls && (c->at[b].count ? end < c->fn->ninsts : c->n > 1))
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
            c->at[i + 1].leader = 1;
        if (in->noperands && in->operand[0].kind == PTX_OPND_LABEL) {
            if (in->operand[0].index >= fn->ninsts)
                return false;
            c->at[in->operand[0].index].leader = 2;
        } else if (t && t->labels) {
            for (uint32_t k = 0; k < t->count; k++) {
                if (t->labels[k] >= fn->ninsts)
                    return false;
                c->at[t->labels[k]].leader = 2;
            }
            most = t->count + 1 > most ? t->count + 1 : most;
        }
    }
    c->targets_cap = most;
    if (c->at[0].leader == 2)
        c->n = 1;               /* the empty entry block: first = count = 0 */
    c->at[0].leader = 1;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        if (c->at[i].leader) {
            c->at[i].block_of = c->n;
            c->at[c->n++].first = i;
        }
        c->at[c->n - 1].count++;
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
    cw_result r = CW_ERR_NOMEM;
    uint32_t reached = 0, top = 0;
    c.at = calloc((size_t)fn->ninsts + 1, sizeof *c.at);
    if (!c.at)
        goto done;
    if (!split(&c)) {
        r = CW_ERR_INVALID;
        goto done;
    }
    c.targets = calloc(c.targets_cap, 4);
    if (!c.targets)
        goto done;
    c.at[0].number = 1;
    c.at[top++].stack = 0;
    while (top) {
        uint32_t k = successors(&c, c.at[--top].stack);
        for (uint32_t i = 0; i < k; i++) {
            if (!c.at[c.targets[i]].number) {
                c.at[c.targets[i]].number = 1;
                c.at[top++].stack = c.targets[i];
            }
        }
    }
    for (uint32_t b = 0; b < c.n; b++)
        if (c.at[b].number)
            c.at[b].number = ++reached;
    struct ptx_block *blocks = cw_arena_array(a, struct ptx_block, reached);
    if (!blocks)
        goto done;
    for (uint32_t b = 0; b < c.n; b++) {
        if (!c.at[b].number)
            continue;
        struct ptx_block *bl = &blocks[c.at[b].number - 1];
        bl->first = c.at[b].first;
        bl->count = c.at[b].count;
        bl->nsucc = successors(&c, b);
        bl->succ = cw_arena_array(a, uint32_t, bl->nsucc);
        if (!bl->succ)
            goto done;
        for (uint32_t i = 0; i < bl->nsucc; i++) {
            bl->succ[i] = c.at[c.targets[i]].number - 1;
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
    free(c.at);
    free(c.targets);
    return r;
}
