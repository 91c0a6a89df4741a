/* SPDX-License-Identifier: Apache-2.0
 * See waits.h. */
#include "jit/analysis/waits.h"
#include "jit/analysis/flow_private.h"

#include <string.h>

static bool
has(const uint64_t *regs, uint32_t r)
{
    return regs[r / 64] >> (r % 64) & 1;
}

/* ---- instructions ---- */

bool
waits_is_barrier(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER || in->op == PTX_OP_BARRIER_CLUSTER;
}

static bool
is_load(const struct ptx_inst *in)
{
    return in->op == PTX_OP_LD && in->space != PTX_SPACE_PARAM && in->space != PTX_SPACE_CONST && in->space != PTX_SPACE_LOCAL;
}

static bool
is_fence(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MEMBAR || in->op == PTX_OP_FENCE;
}

/* Draws a ticket: the next draw gives another number. */
static bool
is_ticket(const struct ptx_inst *in)
{
    const struct ptx_operand *by = &in->operand[2];
    return in->atomop == PTX_ATOM_INC || in->atomop == PTX_ATOM_DEC ||
           (in->atomop == PTX_ATOM_ADD && !(by->kind == PTX_OPND_IMM && by->imm == 0));
}

static bool
peeks(const struct ptx_inst *in, bool fenced)
{
    if (in->op == PTX_OP_MBARRIER_TEST_WAIT || in->op == PTX_OP_MBARRIER_TRY_WAIT)
        return true;
    if (in->op == PTX_OP_ATOM)
        return !is_ticket(in);
    return is_load(in) && (fenced || (in->sem != PTX_SEM_NONE && in->sem != PTX_SEM_WEAK));
}

static bool
writes(const struct ptx_inst *in)
{
    if (!(ptx_op_info((ptx_op)in->op)->traits & PTX_T_WRITES_MEM) || is_fence(in))
        return false;
    return in->space != PTX_SPACE_LOCAL && in->space != PTX_SPACE_PARAM;
}

static bool
meets(const struct ptx_inst *in)
{
    return ptx_op_info((ptx_op)in->op)->traits & (PTX_T_BARRIER | PTX_T_WARP | PTX_T_CONVERGENT) && in->op != PTX_OP_ACTIVEMASK;
}

/* ---- facts of functions ---- */

struct wait_facts
waits_called(const struct waits *w, const struct ptx_inst *in)
{
    struct wait_facts h = { 0 };
    if (in->op != PTX_OP_CALL)
        return h;
    bool direct = false;
    for (unsigned i = 0; i < in->noperands; i++) {
        const struct ptx_operand *o = &in->operand[i];
        if ((o->kind != PTX_OPND_SYM && o->kind != PTX_OPND_ADDR) || !o->sym || (o->sym->kind != PTX_SYM_FUNC && o->sym->kind != PTX_SYM_ALIAS))
            continue;
        if (o->sym->link_id < w->p->nfuncs)
            h = w->facts[o->sym->link_id];
        direct = true;
    }
    return direct ? h : w->indirect;
}

static bool
adds_register(const struct ptx_inst *in)
{
    return in->op == PTX_OP_ATOM && in->atomop == PTX_ATOM_ADD && in->operand[2].kind == PTX_OPND_REG;
}

/* In a flattened function the register may have been an argument (adds_argument). */
static bool
peeks_here(const struct waits *w, const struct ptx_inst *in, bool fenced)
{
    return peeks(in, fenced) || (w->flattened && adds_register(in));
}

bool
waits_peeks(const struct waits *w, const struct ptx_inst *in)
{
    return peeks_here(w, in, true) || waits_called(w, in).peek;
}

bool
waits_is_meeting(const struct waits *w, const struct ptx_inst *in)
{
    return meets(in) || waits_called(w, in).meets;
}

static bool
is_all_lanes(const struct ptx_operand *o)
{
    return o->kind == PTX_OPND_IMM && (uint32_t)o->imm == UINT32_MAX;
}

struct mask_writes {
    uint32_t reg;
    bool yes;
};

static void
visit_mask(void *user, uint32_t r, bool write)
{
    struct mask_writes *m = user;
    m->yes |= write && r == m->reg;
}

bool
waits_is_partial(const struct ptx_function *fn, const struct ptx_inst *in)
{
    bool masked = in->op == PTX_OP_BAR_WARP_SYNC || in->op == PTX_OP_MATCH || in->op == PTX_OP_REDUX || in->op == PTX_OP_ELECT ||
                  ((in->op == PTX_OP_SHFL || in->op == PTX_OP_VOTE) && in->flags & PTX_F_SYNC);
    if (!masked || !in->noperands)
        return false;
    const struct ptx_operand *mask = &in->operand[in->noperands - 1];
    if (mask->kind != PTX_OPND_REG)
        return !is_all_lanes(mask);
    /* Compilers move the full mask to a register. */
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        struct mask_writes m = { mask->index, false };
        flow_visit_regs(&fn->insts[i], visit_mask, &m);
        if (m.yes && (fn->insts[i].op != PTX_OP_MOV || fn->insts[i].noperands != 2 || !is_all_lanes(&fn->insts[i].operand[1])))
            return true;
    }
    return false;
}

bool
waits_writes(const struct waits *w, const struct ptx_inst *in)
{
    return in->op == PTX_OP_CALL ? waits_called(w, in).writes : writes(in);
}

/* Unoptimised code draws tickets and looks at a word by the same function: what is added is an argument, and may be 0. */
static bool
adds_argument(const struct ptx_inst *in, const uint64_t *arguments)
{
    return adds_register(in) && has(arguments, in->operand[2].index);
}

static struct wait_facts
facts_of(const struct ptx_function *fn, struct cw_arena *a)
{
    struct wait_facts h = { 0 };
    uint64_t *arguments = cw_arena_array(a, uint64_t, fn->nregs / 64 + 1);
    bool fenced = false;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        fenced |= is_fence(in);
        if (in->op == PTX_OP_LD && in->space == PTX_SPACE_PARAM && in->operand[0].kind == PTX_OPND_REG)
            arguments[in->operand[0].index / 64] |= (uint64_t)1 << (in->operand[0].index % 64);
    }
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        h.barrier |= waits_is_barrier(in);
        h.peek |= peeks(in, fenced) || adds_argument(in, arguments);
        h.writes |= writes(in);
        h.meets |= meets(in);
    }
    return h;
}

/* Add b to a; true if that changed a. */
static bool
add(struct wait_facts *a, const struct wait_facts *b)
{
    struct wait_facts sum = { a->barrier || b->barrier, a->peek || b->peek, a->writes || b->writes, a->meets || b->meets };
    bool changed = sum.barrier != a->barrier || sum.peek != a->peek || sum.writes != a->writes || sum.meets != a->meets;
    *a = sum;
    return changed;
}

static bool
propagate(struct waits *w, uint32_t id)
{
    const struct cwj_function *f = cwj_program_function(w->p, id);
    bool changed = false;
    for (uint32_t i = 0; i < f->ncallees; i++)
        changed |= add(&w->facts[id], &w->facts[f->callees[i]]);
    if (f->calls_indirect)
        changed |= add(&w->facts[id], &w->indirect);
    if (f->address_taken)
        changed |= add(&w->indirect, &w->facts[id]);
    return changed;
}

void
waits_collect(struct waits *w, const struct cwj_program *p, const uint32_t *funcs, uint32_t n, struct cw_arena *a)
{
    *w = (struct waits){ .p = p, .facts = cw_arena_array(a, struct wait_facts, (size_t)p->nfuncs + 1) };
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_function *fn = cwj_program_function(p, funcs[k])->fn;
        if (fn && fn->has_body)
            w->facts[funcs[k]] = facts_of(fn, a);
    }
    /* Up and down in turn: chains of calls run along the numbers in either direction. */
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < n; k++)
            changed |= propagate(w, funcs[k]);
        for (uint32_t k = n; k-- > 0;)
            changed |= propagate(w, funcs[k]);
    }
}

/* ---- loops ---- */

static bool
reads_memory(const struct ptx_inst *in, void *user)
{
    return in->op == PTX_OP_ATOM || is_load(in);
}

struct reads {
    const uint64_t *regs;
    bool yes;
};

static void
visit_read(void *user, uint32_t r, bool write)
{
    struct reads *c = user;
    c->yes |= !write && has(c->regs, r);
}

static bool
reads_carried(const struct ptx_inst *in, void *user)
{
    struct reads c = { user, false };
    flow_visit_regs(in, visit_read, &c);
    return c.yes;
}

struct local {
    uint64_t *regs;
    bool source, changed;
};

static void
visit_local(void *user, uint32_t r, bool write)
{
    struct local *t = user;
    if (!write) {
        t->source |= has(t->regs, r);
    } else if (t->source && !has(t->regs, r)) {
        t->regs[r / 64] |= (uint64_t)1 << (r % 64);
        t->changed = true;
    }
}

static bool
is_local_address(const struct ptx_inst *in)
{
    if (in->op == PTX_OP_CVTA)
        return in->space == PTX_SPACE_LOCAL;
    const struct ptx_operand *o = &in->operand[1];
    return in->op == PTX_OP_MOV && (o->kind == PTX_OPND_SYM || o->kind == PTX_OPND_ADDR) && o->sym && o->sym->space == PTX_SPACE_LOCAL;
}

/* Unoptimised code reads its local variables by generic addresses. It computes them near the beginning: a few passes find them, and a hostile order of
 * instructions does not make this quadratic. */
static void
find_local(struct waits *w, const struct ptx_function *fn, uint32_t words)
{
    enum { PASSES = 8 };
    struct local t = { .regs = w->local, .changed = true };
    memset(w->local, 0, words * sizeof *w->local);
    for (unsigned pass = 0; pass < PASSES && t.changed; pass++) {
        t.changed = false;
        for (uint32_t i = 0; i < fn->ninsts; i++) {
            const struct ptx_inst *in = &fn->insts[i];
            if (in->op == PTX_OP_LD || in->op == PTX_OP_CALL || in->op == PTX_OP_ATOM)
                continue;
            t.source = is_local_address(in);
            flow_visit_regs(in, visit_local, &t);
        }
    }
    w->local_known = true;
}

/* Unoptimised code keeps values in local memory and passes them through calls, which this analysis does not track. */
static bool
is_source(const struct ptx_inst *in, void *user)
{
    const struct waits *w = user;
    if (in->op == PTX_OP_LD && (in->space == PTX_SPACE_LOCAL || (in->space == PTX_SPACE_GENERIC && in->operand[1].has_reg && has(w->local, in->operand[1].index))))
        return true;
    if ((w->calls && in->op == PTX_OP_CALL) || ((w->calls || w->flattened) && in->op == PTX_OP_LD && in->space == PTX_SPACE_PARAM))
        return true;
    if (!peeks_here(w, in, w->fenced))
        return false;
    if (w->same_place && in->noperands > 1 && in->operand[1].kind == PTX_OPND_ADDR && in->operand[1].has_reg && has(w->moving, in->operand[1].index))
        return false;
    if (in->op != PTX_OP_ATOM || in->atomop != PTX_ATOM_CAS || in->operand[2].kind != PTX_OPND_REG)
        return true;
    return !has(w->memory, in->operand[2].index);   /* false: it retries with the value found */
}

static void
visit_written(void *user, uint32_t r, bool write)
{
    if (write)
        ((uint64_t *)user)[r / 64] |= (uint64_t)1 << (r % 64);
}

/* Registers that hold another value in each iteration: they are written in the loop and live at its head, or come from such ones. */
static void
find_moving(struct waits *w, const struct flow *f, uint32_t l)
{
    const struct ptx_function *fn = f->fn;
    uint32_t h = f->loops[l].header;
    memset(w->carried, 0, f->words * sizeof *w->carried);
    for (uint32_t p = f->position[h]; p <= f->loops[l].last; p++) {
        const struct ptx_block *blk = &fn->blocks[f->order[p]];
        for (uint32_t i = 0; i < blk->count; i++)
            flow_visit_regs(&fn->insts[blk->first + i], visit_written, w->carried);
    }
    for (uint32_t k = 0; k < f->words; k++)
        w->carried[k] &= w->carried[k] ? flow_row_word(&f->live_in[h], k) : 0;
    flow_taint(f, l, w->moving, false, reads_carried, w->carried);
    for (uint32_t k = 0; k < f->words; k++)
        w->moving[k] |= w->carried[k];
}

void
waits_begin(struct waits *w, const struct flow *f, struct cw_arena *a)
{
    uint64_t *sets = cw_arena_array(a, uint64_t, (size_t)f->words * 5);
    w->memory = sets;
    w->moving = sets + f->words;
    w->carried = sets + 2 * (size_t)f->words;
    w->dependent = sets + 3 * (size_t)f->words;
    w->local = sets + 4 * (size_t)f->words;
    w->local_known = false;
}

bool
waits_in(struct waits *w, const struct flow *f, uint32_t l, bool same_place)
{
    const struct ptx_function *fn = f->fn;
    uint32_t first = f->position[f->loops[l].header], last = f->loops[l].last;
    bool any = false;
    w->fenced = w->calls = false;
    w->same_place = same_place;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t p = first; p <= last; p++) {
            const struct ptx_block *blk = &fn->blocks[f->order[p]];
            for (uint32_t i = 0; i < blk->count; i++) {
                const struct ptx_inst *in = &fn->insts[blk->first + i];
                w->fenced |= is_fence(in);
                w->calls |= waits_called(w, in).peek;
                any |= w->calls || (pass && peeks_here(w, in, w->fenced));
            }
        }
    if (!any)
        return false;
    if (!w->local_known)
        find_local(w, fn, f->words);
    if (same_place)
        find_moving(w, f, l);
    flow_taint(f, l, w->memory, false, reads_memory, NULL);
    flow_taint(f, l, w->dependent, true, is_source, w);
    return flow_leaves_by(f, l, w->dependent);
}
