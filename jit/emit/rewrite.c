/* SPDX-License-Identifier: Apache-2.0
 * See rewrite.h. */
#include "jit/emit/rewrite.h"

#include <string.h>

void *
rewrite_grow(struct rewrite *w, void *old, uint32_t n, uint32_t more, uint32_t *cap, size_t size)
{
    if (n + more <= *cap)
        return old;
    uint32_t larger = (n + more) * 2 + 64;
    char *fresh = w->ok ? cw_arena_alloc(w->a, larger * size) : NULL;
    if (!fresh) {
        w->ok = false;
        return NULL;
    }
    if (n)
        memcpy(fresh, old, n * size);
    memset(fresh + n * size, 0, (larger - n) * size);
    *cap = larger;
    return fresh;
}

uint32_t
rewrite_inst(struct rewrite *w, const struct ptx_inst *in)
{
    struct ptx_inst *insts = rewrite_grow(w, w->fn->insts, w->fn->ninsts, 1, &w->inst_cap, sizeof *insts);
    if (!insts)
        return 0;
    w->fn->insts = insts;
    insts[w->fn->ninsts] = *in;
    return w->fn->ninsts++;
}

uint32_t
rewrite_inst_with(struct rewrite *w, struct ptx_inst in, const struct ptx_operand *operands, unsigned n)
{
    in.operand = cw_arena_array(w->a, struct ptx_operand, n + 1);
    if (!in.operand) {
        w->ok = false;
        return 0;
    }
    memcpy(in.operand, operands, n * sizeof *operands);
    in.noperands = (uint8_t)n;
    in.vec = 1;
    return rewrite_inst(w, &in);
}

uint32_t
rewrite_regs(struct rewrite *w, uint32_t n)
{
    struct ptx_reg *regs = rewrite_grow(w, w->fn->regs, w->fn->nregs, n, &w->reg_cap, sizeof *regs);
    if (!regs)
        return 0;
    w->fn->regs = regs;
    w->fn->nregs += n;
    return w->fn->nregs - n;
}

uint32_t
rewrite_reg(struct rewrite *w, const char *name, ptx_type type)
{
    uint32_t r = rewrite_regs(w, 1);
    if (w->ok)
        w->fn->regs[r] = (struct ptx_reg){ name, (uint8_t)type };
    return r;
}

uint32_t
rewrite_block(struct rewrite *w, uint32_t first, uint32_t count, unsigned nsucc, uint32_t yes, uint32_t no)
{
    struct ptx_function *fn = w->fn;
    struct ptx_block *blocks = rewrite_grow(w, fn->blocks, fn->nblocks, 1, &w->block_cap, sizeof *blocks);
    uint32_t *succ = cw_arena_array(w->a, uint32_t, 3);
    if (!blocks || !succ) {
        w->ok = false;
        return 0;
    }
    succ[0] = yes;
    succ[1] = no;
    fn->blocks = blocks;
    blocks[fn->nblocks] = (struct ptx_block){ .first = first, .count = count, .nsucc = nsucc, .succ = succ };
    return fn->nblocks++;
}
