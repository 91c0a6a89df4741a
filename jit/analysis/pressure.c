/* SPDX-License-Identifier: Apache-2.0
 * The maximum number of registers that a function's PTX needs at once. */
#include "jit/analysis/flow_private.h"

/* words: per register. */
struct pressure {
    uint8_t *words;
    struct flow_set set;            /* live now */
    uint32_t now, most;
};

/* Constants, parameters and special registers are rematerialised. */
static bool
is_cheap(const struct flow *f, const struct ptx_inst *in)
{
    if (!in->noperands || in->operand[0].kind != PTX_OPND_REG || f->ndefs[in->operand[0].index] != 1)
        return false;
    const struct ptx_operand *from = &in->operand[1];
    if (in->op == PTX_OP_MOV)
        return from->kind == PTX_OPND_IMM || from->kind == PTX_OPND_SREG || from->kind == PTX_OPND_SYM;
    return in->op == PTX_OP_LD && in->space == PTX_SPACE_PARAM && from->kind == PTX_OPND_ADDR && !from->has_reg;
}

static void
written(void *user, uint32_t r, bool write)
{
    struct pressure *p = user;
    uint64_t bit = (uint64_t)1 << (r % 64);
    if (!write || !(p->set.bits[r / 64] & bit))
        return;
    p->set.bits[r / 64] &= ~bit;
    p->now -= p->words[r];
}

static void
needed(void *user, uint32_t r, bool write)
{
    struct pressure *p = user;
    uint64_t bit = (uint64_t)1 << (r % 64);
    if (write || (p->set.bits[r / 64] & bit))
        return;
    flow_set_add(&p->set, r / 64, bit);
    p->now += p->words[r];
}

static void
visit_block(const struct flow *f, const struct ptx_block *b, struct pressure *p)
{
    flow_set_clear(&p->set);
    p->now = 0;
    for (uint32_t k = 0; k < b->nsucc; k++)
        flow_set_add_row(&p->set, &f->live_in[b->succ[k]]);
    for (uint32_t i = 0; i < p->set.n; i++)
        for (uint64_t left = p->set.bits[p->set.listed[i]]; left; left &= left - 1)
            p->now += p->words[p->set.listed[i] * 64 + (uint32_t)__builtin_ctzll(left)];
    for (uint32_t i = b->count;; i--) {
        if (p->now > p->most)
            p->most = p->now;
        if (!i)
            return;
        const struct ptx_inst *in = &f->fn->insts[b->first + i - 1];
        if (!in->has_guard)             /* guarded: some lanes keep the old value */
            flow_visit_regs(in, written, p);
        flow_visit_regs(in, needed, p);
    }
}

uint32_t
flow_pressure(const struct flow *f, struct cw_arena *a)
{
    const struct ptx_function *fn = f->fn;
    struct pressure p = { .words = cw_arena_array(a, uint8_t, (size_t)f->words * 64) };
    flow_set_init(&p.set, f->words, a);
    for (uint32_t r = 0; r < fn->nregs; r++)
        p.words[r] = fn->regs[r].type == PTX_PRED ? 0 : (uint8_t)((ptx_type_bits(fn->regs[r].type) + 31) / 32);
    for (uint32_t i = 0; i < fn->ninsts; i++)
        if (is_cheap(f, &fn->insts[i]))
            p.words[fn->insts[i].operand[0].index] = 0;
    for (uint32_t b = 0; b < f->n; b++)
        visit_block(f, &fn->blocks[b], &p);
    return p.most;
}
