/* SPDX-License-Identifier: Apache-2.0
 * See rewrite.h. */
#include "jit/emit/rewrite.h"

#include <string.h>

uint32_t
rewrite_inst(struct rewrite *w, const struct ptx_inst *in)
{
    w->fn->insts = cw_arena_grow(w->a, w->fn->insts, w->fn->ninsts, 1, &w->inst_cap, sizeof *in);
    w->fn->insts[w->fn->ninsts] = *in;
    return w->fn->ninsts++;
}

uint32_t
rewrite_inst_with(struct rewrite *w, struct ptx_inst in, const struct ptx_operand *operands, unsigned n)
{
    in.operand = cw_arena_array(w->a, struct ptx_operand, n + 1);
    memcpy(in.operand, operands, n * sizeof *operands);
    in.noperands = (uint8_t)n;
    in.vec = 1;
    return rewrite_inst(w, &in);
}

uint32_t
rewrite_regs(struct rewrite *w, uint32_t n)
{
    w->fn->regs = cw_arena_grow(w->a, w->fn->regs, w->fn->nregs, n, &w->reg_cap, sizeof *w->fn->regs);
    w->fn->nregs += n;
    return w->fn->nregs - n;
}

uint32_t
rewrite_reg(struct rewrite *w, const char *name, ptx_type type)
{
    uint32_t r = rewrite_regs(w, 1);
    w->fn->regs[r] = (struct ptx_reg){ name, (uint8_t)type };
    return r;
}

uint32_t
rewrite_block(struct rewrite *w, uint32_t first, uint32_t count, unsigned nsucc, uint32_t yes, uint32_t no)
{
    struct ptx_function *fn = w->fn;
    uint32_t *succ = cw_arena_array(w->a, uint32_t, 3);
    succ[0] = yes;
    succ[1] = no;
    fn->blocks = cw_arena_grow(w->a, fn->blocks, fn->nblocks, 1, &w->block_cap, sizeof *fn->blocks);
    fn->blocks[fn->nblocks] = (struct ptx_block){ .first = first, .count = count, .nsucc = nsucc, .succ = succ };
    return fn->nblocks++;
}
