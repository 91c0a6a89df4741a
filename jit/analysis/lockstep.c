/* SPDX-License-Identifier: Apache-2.0
 * Finds kernels that rely on lockstep execution of a warp. Reductions from before Volta end without a barrier once one warp is left:
 *
 *     if (tid < 32) { s[tid] += s[tid + 16]; s[tid] += s[tid + 8]; ... }
 *
 * The pattern: under a branch that leaves the lanes tid < n, n from 2 to 32, a weak store to shared memory is followed by a weak load at
 * another distance from the same base, without a barrier or a warp function in between. The distance is less than a warp's row, or unknown
 * (a loop halves it). A lane that loads its own element this way is a false positive, which costs time. */
#include "jit/analysis/lockstep.h"

#include "impl/base/env.h"
#include "impl/base/log.h"
#include "jit/analysis/flow_private.h"

#include <string.h>

enum cwj_lockstep
cwj_lockstep_setting(void)
{
    const char *s = cw_env_get(CW_ENV_LOCKSTEP);
    static _Atomic bool said;
    if (!s || !*s)
        return CWJ_LOCKSTEP_FIND;
    if (!strcmp(s, "1") || !strcmp(s, "0"))
        return *s == '1' ? CWJ_LOCKSTEP_ON : CWJ_LOCKSTEP_OFF;
    if (!said)
        cw_warn("%s=%s is not 0 or 1; kernels that need lanes in step are looked for", cw_env_name(CW_ENV_LOCKSTEP), s);
    said = true;
    return CWJ_LOCKSTEP_FIND;
}

struct search {
    const struct flow *f;
    struct flow_walk region, walk;
    uint64_t budget;                /* instructions left to visit: bounds hostile code */
    uint32_t line;                  /* of the load found */
};

/* The only definition of a register, or NULL. */
static const struct ptx_inst *
definition(const struct flow *f, uint32_t reg)
{
    uint32_t b = f->def_block[reg];
    if (b == FLOW_NONE || f->ndefs[reg] != 1)
        return NULL;
    const struct ptx_block *blk = &f->fn->blocks[b];
    for (uint32_t i = blk->first; i < blk->first + blk->count; i++) {
        const struct ptx_inst *in = &f->fn->insts[i];
        if (flow_destinations(in) && in->operand[0].kind == PTX_OPND_REG && in->operand[0].index == reg)
            return in->has_guard ? NULL : in;
    }
    return NULL;
}

/* Is it %tid.x, or a sum or product with it: the number of a thread in its block of one, two or three dimensions? */
static bool
is_thread_number(const struct flow *f, const struct ptx_operand *o, unsigned depth)
{
    if (o->kind == PTX_OPND_SREG)
        return o->index == PTX_SREG_TID_X;
    const struct ptx_inst *d = o->kind == PTX_OPND_REG && depth < 4 ? definition(f, o->index) : NULL;
    if (!d || (d->op != PTX_OP_MOV && d->op != PTX_OP_CVT && d->op != PTX_OP_ADD && d->op != PTX_OP_MAD))
        return false;
    for (unsigned i = 1; i < d->noperands; i++)
        if (is_thread_number(f, &d->operand[i], depth + 1))
            return true;
    return false;
}

/* The number of lanes that a block's branch leaves, if that is 2 to 32, and their successor; else 0. */
static unsigned
lanes_left(const struct flow *f, uint32_t b, uint32_t *succ)
{
    const struct ptx_block *blk = &f->fn->blocks[b];
    const struct ptx_inst *end = blk->count ? &f->fn->insts[blk->first + blk->count - 1] : NULL;
    const struct ptx_inst *cmp = end && end->op == PTX_OP_BRA && end->has_guard && blk->nsucc == 2 ? definition(f, end->guard) : NULL;
    if (!cmp || cmp->op != PTX_OP_SETP || cmp->noperands != 3 || cmp->boolop || cmp->operand[2].kind != PTX_OPND_IMM ||
        cmp->operand[2].is_float || !is_thread_number(f, &cmp->operand[1], 0))
        return 0;
    bool above = cmp->cmp == PTX_GT || cmp->cmp == PTX_HI_ || cmp->cmp == PTX_GE || cmp->cmp == PTX_HS;
    bool below = cmp->cmp == PTX_LT || cmp->cmp == PTX_LO || cmp->cmp == PTX_LE || cmp->cmp == PTX_LS;
    int64_t n = cmp->operand[2].imm + (cmp->cmp == PTX_GT || cmp->cmp == PTX_HI_ || cmp->cmp == PTX_LE || cmp->cmp == PTX_LS);
    if ((!above && !below) || n < 2 || n > 32)
        return 0;
    *succ = blk->succ[below != end->guard_negated ? 0 : 1];     /* the first is the taken one */
    return (unsigned)n;
}

/* An address as a root (the register or variable that remains without constants) and a distance. */
struct place {
    const struct ptx_symbol *sym;
    uint32_t reg;                   /* sym == NULL */
    int64_t distance;
};

static struct place
place_of(const struct flow *f, const struct ptx_operand *o)
{
    struct place at = { o->has_reg ? NULL : o->sym, o->index, o->imm };
    for (unsigned k = 0; !at.sym && k < 8; k++) {
        const struct ptx_inst *d = definition(f, at.reg);
        bool add = d && d->op == PTX_OP_ADD && d->operand[1].kind == PTX_OPND_REG && d->operand[2].kind == PTX_OPND_IMM;
        bool mov = d && d->op == PTX_OP_MOV && d->operand[1].kind == PTX_OPND_REG;
        if (!add && !mov)
            break;
        at.reg = d->operand[1].index;
        at.distance += add ? d->operand[2].imm : 0;
    }
    return at;
}

/* Is the load's root the store's, plus a varying value? */
static bool
adds_to(const struct flow *f, const struct place *load, const struct place *store)
{
    const struct ptx_inst *d = load->sym || store->sym ? NULL : definition(f, load->reg);
    for (unsigned i = 1; d && d->op == PTX_OP_ADD && i < 3; i++) {
        struct ptx_operand o = { .kind = PTX_OPND_ADDR, .has_reg = true, .index = d->operand[i].index };
        if (d->operand[1].kind == PTX_OPND_REG && d->operand[2].kind == PTX_OPND_REG && place_of(f, &o).reg == store->reg)
            return true;
    }
    return false;
}

static bool
is_weak_shared(const struct ptx_inst *in, ptx_op op)
{
    return in->op == op && in->space == PTX_SPACE_SHARED && (in->sem == PTX_SEM_NONE || in->sem == PTX_SEM_WEAK);
}

static bool
reads_neighbour(const struct flow *f, const struct ptx_inst *store, const struct ptx_inst *load)
{
    struct place to = place_of(f, &store->operand[0]), from = place_of(f, &load->operand[1]);
    int64_t row = 32 * (int64_t)(ptx_type_bits((ptx_type)store->type[0]) / 8), d = from.distance - to.distance;
    if (to.sym || from.sym)             /* uniform */
        return false;
    return to.reg == from.reg ? d && d > -row && d < row : adds_to(f, &from, &to);
}

enum found { FOUND_NOTHING, FOUND_SYNC, FOUND_LOAD };

/* Scan block b from instruction `first` on. */
static enum found
scan_block(struct search *s, uint32_t b, uint32_t first, const struct ptx_inst *store)
{
    const struct ptx_block *blk = &s->f->fn->blocks[b];
    for (uint32_t i = first; i < blk->first + blk->count && s->budget; i++, s->budget--) {
        const struct ptx_inst *in = &s->f->fn->insts[i];
        if ((ptx_op_info((ptx_op)in->op)->traits & (PTX_T_BARRIER | PTX_T_WARP)) || in->op == PTX_OP_CALL)
            return FOUND_SYNC;
        if (is_weak_shared(in, PTX_OP_LD) && reads_neighbour(s->f, store, in)) {
            s->line = in->line;
            return FOUND_LOAD;
        }
    }
    return FOUND_NOTHING;
}

/* Search from the store at instruction `at` of block b, on all paths through the region. */
static bool
search_from(struct search *s, uint32_t b, uint32_t at)
{
    const struct ptx_inst *store = &s->f->fn->insts[at];
    s->walk.stamp++;
    s->walk.top = 0;
    for (uint32_t first = at + 1;; first = s->f->fn->blocks[b].first) {
        enum found found = scan_block(s, b, first, store);
        const struct ptx_block *blk = &s->f->fn->blocks[b];
        if (found == FOUND_LOAD)
            return true;
        for (uint32_t k = 0; found == FOUND_NOTHING && k < blk->nsucc; k++)
            if (s->region.seen[blk->succ[k]] == s->region.stamp)
                flow_walk_to(&s->walk, blk->succ[k]);
        if (!s->walk.top || !s->budget)
            return false;
        b = s->walk.stack[--s->walk.top];
    }
}

/* Mark the blocks from `start` up to `join`, which is excluded. */
static void
mark_region(struct search *s, uint32_t start, uint32_t join)
{
    s->region.stamp++;
    if (start != join)
        flow_walk_to(&s->region, start);
    while (s->region.top) {
        const struct ptx_block *blk = &s->f->fn->blocks[s->region.stack[--s->region.top]];
        for (uint32_t k = 0; k < blk->nsucc; k++)
            if (blk->succ[k] != join)
                flow_walk_to(&s->region, blk->succ[k]);
    }
}

static bool
branch_in_step(struct search *s, uint32_t branch)
{
    const struct ptx_function *fn = s->f->fn;
    uint32_t start;
    if (!lanes_left(s->f, branch, &start))
        return false;
    mark_region(s, start, s->f->ipdom[branch]);
    for (uint32_t b = 0; b < s->f->n; b++)
        for (uint32_t i = fn->blocks[b].first; s->region.seen[b] == s->region.stamp && i < fn->blocks[b].first + fn->blocks[b].count; i++)
            if (is_weak_shared(&fn->insts[i], PTX_OP_ST) && search_from(s, b, i))
                return true;
    return false;
}

/* Cheap test first: most functions lack such instructions, and need no analysis. */
static bool
may_be(const struct ptx_function *fn)
{
    bool load = false, store = false, setp = false;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        load |= is_weak_shared(&fn->insts[i], PTX_OP_LD);
        store |= is_weak_shared(&fn->insts[i], PTX_OP_ST);
        setp |= fn->insts[i].op == PTX_OP_SETP && fn->insts[i].noperands == 3 && fn->insts[i].operand[2].kind == PTX_OPND_IMM &&
                fn->insts[i].operand[2].imm >= 1 && fn->insts[i].operand[2].imm <= 32;
    }
    return load && store && setp;
}

struct question {
    const struct ptx_function *fn;
    struct cw_arena arena;
    uint32_t line;                  /* the answer */
};

static void
search_function(void *user)
{
    struct question *q = user;
    struct flow f;
    flow_analyse(&f, q->fn, 1, false, &q->arena);
    struct search s = { .f = &f, .budget = 200 * (uint64_t)q->fn->ninsts, .region = flow_walk_new(f.n, &q->arena), .walk = flow_walk_new(f.n, &q->arena) };
    for (uint32_t b = 0; b < f.n && !q->line; b++)
        if (branch_in_step(&s, b))
            q->line = s.line;
}

/* The line of a load that matches the pattern, or 0. */
static uint32_t
function_in_step(const struct ptx_function *fn)
{
    struct question q = { .fn = fn };
    if (!may_be(fn) || ptx_function_build_cfg((struct ptx_function *)fn) != CW_OK)
        return 0;
    cw_arena_init(&q.arena);
    bool answered = cw_arena_guard(&q.arena, search_function, &q);
    cw_arena_finish(&q.arena);
    return answered ? q.line : 0;
}

bool
cwj_needs_lockstep(struct cwj_program *p, uint32_t index)
{
    enum cwj_lockstep setting = cwj_lockstep_setting();
    const struct cwj_closure *c = &p->closure[index];
    if (setting != CWJ_LOCKSTEP_FIND)
        return setting == CWJ_LOCKSTEP_ON;
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        const struct cwj_function *f = cwj_program_function(p, c->funcs[i]);
        uint32_t line = f->fn && f->fn->has_body ? function_in_step(f->fn) : 0;
        if (!line)
            continue;
        cw_info("kernel %s: lanes of a warp exchange values through shared memory without a barrier (%s, line %u of the PTX); they are kept in step",
                p->kernels[index].name, f->fn->sym->name, line);
        return true;
    }
    return false;
}
