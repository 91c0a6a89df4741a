/* SPDX-License-Identifier: Apache-2.0
 * See flow.h. A forward flow analysis over sets of registers. A write under a guard may be none. */
#include "replay/flow.h"

#include <stdlib.h>
#include <string.h>

static void
visit_operand(const struct ptx_operand *o, void (*visit)(void *user, uint32_t reg), void *user)
{
    if (o->kind == PTX_OPND_REG || (o->kind == PTX_OPND_ADDR && o->has_reg))
        visit(user, o->index);
    if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_PRED_PAIR || o->kind == PTX_OPND_LIST)
        for (unsigned i = 0; i < o->count; i++)
            visit_operand(&o->elem[i], visit, user);
}

void
cwi_reads(const struct ptx_inst *in, void (*visit)(void *user, uint32_t reg), void *user)
{
    const struct ptx_operand *result = cwi_result(in);
    if (in->has_guard)
        visit(user, in->guard);
    for (unsigned i = 0; i < in->noperands; i++)
        if (&in->operand[i] != result)
            visit_operand(&in->operand[i], visit, user);
}

struct flow {
    const struct ptx_function *fn;
    size_t words;
    uint64_t *in, *now;                 /* written where a block begins; and here */
    bool sure, *inst, *reg;
    uint32_t at;
};

static bool
has(const uint64_t *set, uint32_t r)
{
    return set[r / 64] >> r % 64 & 1;
}

static void
read_register(void *user, uint32_t r)
{
    struct flow *f = user;
    if (has(f->now, r))
        return;
    if (f->inst)
        f->inst[f->at] = true;
    if (f->reg)
        f->reg[r] = true;
}

static void
write_registers(struct flow *f, const struct ptx_inst *in)
{
    bool upper;
    uint32_t r;
    if (in->has_guard && !f->sure)
        return;
    for (unsigned part = 0; (r = cwi_result_register(f->fn, in, part, &upper)) != UINT32_MAX; part++)
        f->now[r / 64] |= 1ull << r % 64;
}

/* The set behind a block joins those of its successors. */
static bool
pass_on(struct flow *f, const struct ptx_block *b)
{
    bool more = false;
    for (uint32_t s = 0; s < b->nsucc; s++) {
        uint64_t *to = f->in + b->succ[s] * f->words;
        for (size_t k = 0; k < f->words; k++) {
            uint64_t old = to[k];
            to[k] = f->sure ? old | f->now[k] : old & f->now[k];
            more = more || to[k] != old;
        }
    }
    return more;
}

static bool
analysable(const struct ptx_function *fn)
{
    for (uint32_t i = 0; i < fn->ninsts; i++)
        if (fn->insts[i].noperands && fn->insts[i].operand[0].kind == PTX_OPND_TEXT)
            return false;
    return fn->ninsts;
}

bool
cwi_unwritten(struct ptx_function *fn, bool sure, bool *inst, bool *reg)
{
    struct flow f = { .fn = fn, .sure = sure, .inst = inst, .reg = reg, .words = fn->nregs / 64 + (size_t)1 };
    if (!analysable(fn))
        return true;
    if (!fn->blocks && ptx_function_build_cfg(fn) != CW_OK)
        return false;
    f.in = calloc(fn->nblocks * f.words + 1, sizeof *f.in);
    f.now = calloc(f.words, sizeof *f.now);
    bool ok = f.in && f.now;
    if (ok && !sure)                    /* all but the first block begin with everything */
        memset(f.in + f.words, 0xff, (fn->nblocks - (size_t)1) * f.words * sizeof *f.in);
    for (uint32_t i = 0; ok && i < fn->nparams; i++)
        if (fn->params[i]->is_param_reg)
            f.in[fn->params[i]->reg / 64] |= 1ull << fn->params[i]->reg % 64;
    for (bool more = ok; more;) {
        more = false;
        for (uint32_t b = 0; b < fn->nblocks; b++) {
            memcpy(f.now, f.in + b * f.words, f.words * sizeof *f.now);
            for (uint32_t i = 0; i < fn->blocks[b].count; i++)
                write_registers(&f, &fn->insts[fn->blocks[b].first + i]);
            more = pass_on(&f, &fn->blocks[b]) || more;
        }
    }
    for (uint32_t b = 0; ok && b < fn->nblocks; b++) {
        memcpy(f.now, f.in + b * f.words, f.words * sizeof *f.now);
        for (uint32_t i = 0; i < fn->blocks[b].count; i++) {
            f.at = fn->blocks[b].first + i;
            cwi_reads(&fn->insts[f.at], read_register, &f);
            write_registers(&f, &fn->insts[f.at]);
        }
    }
    free(f.in);
    free(f.now);
    return ok;
}
