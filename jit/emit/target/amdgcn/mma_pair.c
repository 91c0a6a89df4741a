/* SPDX-License-Identifier: Apache-2.0
 * Products of f64 are m8n8, and kernels have dozens of consecutive ones. Two with the same B make one m16n8, which gathers B's columns
 * once, in one call. The first instruction of a pair computes both; the second, which may come later, is skipped. */
#include "jit/emit/target/amdgcn/matrix.h"

#include <string.h>

enum { WINDOW = 64, SET = 2048 };       /* instructions searched; bits of a set */

/* Registers by the low bits of their numbers. A false positive only loses a pair. */
struct set {
    uint64_t bits[SET / 64];
};

struct between {
    struct set written, touched;        /* by the first and those after it; by those after it */
    bool first, reads_written, writes_touched;
};

static bool
has(const struct set *s, uint32_t reg)
{
    return s->bits[reg % SET / 64] >> reg % 64 & 1;
}

static void
add(struct set *s, uint32_t reg)
{
    s->bits[reg % SET / 64] |= 1ull << reg % 64;
}

static void
record(void *user, uint32_t reg, bool write)
{
    struct between *x = user;
    if (write)
        add(&x->written, reg);
    if (!x->first)
        add(&x->touched, reg);
}

static void
look(void *user, uint32_t reg, bool write)
{
    struct between *x = user;
    if (write)
        x->writes_touched |= has(&x->touched, reg);
    else
        x->reads_written |= has(&x->written, reg);
}

static bool
same_form(const struct ptx_inst *a, const struct ptx_inst *b)
{
    return a->op == b->op && !memcmp(a->type, b->type, sizeof a->type) && a->round == b->round && a->flags == b->flags && a->aux == b->aux && !b->has_guard;
}

static bool
same_register(const struct ptx_operand *a, const struct ptx_operand *b)
{
    return a->elem[0].kind == PTX_OPND_REG && b->elem[0].kind == PTX_OPND_REG && a->elem[0].index == b->elem[0].index;
}

bool
gcn_is_paired(struct emit *e, const struct ptx_inst *in)
{
    const struct emit_fn *f = e->f;
    return f->paired_from && in >= f->paired_from && in < f->paired_from + WINDOW && f->paired >> (in - f->paired_from) & 1;
}

const struct ptx_inst *
gcn_partner(struct emit *e, const struct ptx_inst *in)
{
    struct emit_fn *f = e->f;
    const struct ptx_block *block = &e->fn->blocks[f->block];
    const struct ptx_inst *begin = &e->fn->insts[block->first], *end = begin + block->count, *other = in + 1;
    struct between x = { .first = true };
    if (in->has_guard || in < begin || in >= end)
        return NULL;
    flow_visit_regs(in, record, &x);
    for (x.first = false; other < end && other < in + WINDOW && same_form(in, other); other++) {
        if (gcn_is_paired(e, other))
            continue;                   /* already recorded */
        x.reads_written = x.writes_touched = false;
        flow_visit_regs(other, look, &x);
        if (same_register(&in->operand[2], &other->operand[2]) && !x.reads_written && !x.writes_touched)
            break;
        flow_visit_regs(other, record, &x);
    }
    if (other == end || other == in + WINDOW || !same_form(in, other))
        return NULL;
    size_t past = f->paired_from ? (size_t)(in - f->paired_from) : WINDOW;          /* if it was in an earlier block: beyond the window */
    f->paired = (past < WINDOW ? f->paired >> past : 0) | 1ull << (other - in);
    f->paired_from = in;
    return other;
}
