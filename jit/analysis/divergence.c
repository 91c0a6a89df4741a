/* SPDX-License-Identifier: Apache-2.0
 * Computes which registers hold one value for all lanes, which blocks run with some lanes only, and which register writes are masked
 * writes.
 *
 * All lanes share a register slot, also those waiting at other blocks. Lanes that leave a divergent branch by different edges join at its
 * immediate post-dominator, or behind a loop if a path goes round it first; in between, code of one path runs while the lanes of the other
 * paths wait. So a write on one path must keep the other lanes' value if they may still read it:
 * - the register is live at the target of another edge of the branch (this covers values that leave a loop that lanes leave at different
 *   iterations: the loop is then one path of its own exit branch), or
 * - it has several definitions, on both paths.
 * Writes of such a register are masked, and the register is lane-varying. The analysis assumes at first that everything is uniform, and
 * lowers that until nothing changes. */
#include "jit/analysis/flow.h"
#include "jit/analysis/flow_private.h"

#include <string.h>

struct div_ctx {
    struct flow *f;
    bool linear_x, is_entry;
    unsigned width;
    bool source_varying;            /* of the current instruction */
    bool result_varying;
    struct flow_shape affine;       /* its result if its sources are affine */
    bool changed;
};

/* Generalise a register's shape to cover `s` as well. */
static void
lower(struct div_ctx *c, uint32_t r, struct flow_shape s)
{
    struct flow_shape *old = &c->f->shape[r];
    if (s.kind == FLOW_UNKNOWN || old->kind == FLOW_VARYING)
        return;
    if (c->f->masked_write[r] && s.kind != FLOW_VARYING)
        s = (struct flow_shape){ .kind = FLOW_VARYING };
    if (old->kind == s.kind && old->extend == s.extend && old->step == s.step && old->factor == s.factor)
        return;
    *old = old->kind == FLOW_UNKNOWN ? s : (struct flow_shape){ .kind = FLOW_VARYING };
    c->f->uniform[r] = old->kind <= FLOW_UNIFORM;
    c->changed = true;
}

static void
visit_shape(void *user, uint32_t r, bool write)
{
    struct div_ctx *c = user;
    if (!write)
        c->source_varying |= !c->f->uniform[r];
    else if (c->affine.kind != FLOW_VARYING)
        lower(c, r, c->affine);
    else
        lower(c, r, (struct flow_shape){ .kind = c->source_varying || c->result_varying ? FLOW_VARYING : FLOW_UNIFORM });
}

static bool
sreg_varies(uint32_t sreg, const struct div_ctx *c)
{
    switch (sreg) {
    case PTX_SREG_WARPID: case PTX_SREG_CLOCK: case PTX_SREG_CLOCK_HI: case PTX_SREG_CLOCK64:
    case PTX_SREG_GLOBALTIMER: case PTX_SREG_GLOBALTIMER_LO: case PTX_SREG_GLOBALTIMER_HI:
        return c->width == FLOW_BLOCK;
    case PTX_SREG_TID_X: case PTX_SREG_LANEID:
    case PTX_SREG_LANEMASK_EQ: case PTX_SREG_LANEMASK_LE: case PTX_SREG_LANEMASK_LT:
    case PTX_SREG_LANEMASK_GE: case PTX_SREG_LANEMASK_GT:
        return true;
    case PTX_SREG_TID_Y: case PTX_SREG_TID_Z:
        return !c->linear_x;
    default:
        return false;
    }
}

/* Does the operand vary by itself: the address of per-lane memory, or a special register? */
static bool
operand_varies(const struct ptx_operand *o, const struct div_ctx *c)
{
    switch (o->kind) {
    case PTX_OPND_SREG:
        return sreg_varies(o->index, c);
    case PTX_OPND_SYM:
    case PTX_OPND_ADDR:
        if (!o->sym)
            return false;
        if (o->sym->kind == PTX_SYM_PARAM)
            return !c->is_entry;
        return o->sym->kind == PTX_SYM_VAR && (o->sym->space == PTX_SPACE_LOCAL || o->sym->space == PTX_SPACE_PARAM);
    case PTX_OPND_VEC:
    case PTX_OPND_LIST:
        for (unsigned i = 0; i < o->count; i++)
            if (operand_varies(&o->elem[i], c))
                return true;
        return false;
    default:
        return false;
    }
}

/* Does each lane have a result of its own, whatever the operands are? Includes undefined results. */
static bool
always_varies(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_ATOM: case PTX_OP_SHFL: case PTX_OP_MATCH: case PTX_OP_CALL: case PTX_OP_TEX: case PTX_OP_TLD4:
    case PTX_OP_SULD: case PTX_OP_ALLOCA: case PTX_OP_MMA: case PTX_OP_MMA_SP: case PTX_OP_MMA_SP_ORDERED: case PTX_OP_WMMA_LOAD: case PTX_OP_WMMA_MMA: case PTX_OP_LDMATRIX: case PTX_OP_MOVMATRIX:
    case PTX_OP_ADDC: case PTX_OP_SUBC: case PTX_OP_MADC: /* read the carry flag, which is kept per lane */
    case PTX_OP_MBARRIER_ARRIVE: case PTX_OP_MBARRIER_ARRIVE_DROP: case PTX_OP_MBARRIER_TEST_WAIT: case PTX_OP_MBARRIER_TRY_WAIT:
    case PTX_OP_ELECT: case PTX_OP_TXQ: case PTX_OP_SUQ: case PTX_OP_STACKSAVE:
        return true;
    default:
        return false;
    }
}

static bool
result_varies(const struct ptx_inst *in, const struct div_ctx *c)
{
    switch (in->op) {
    case PTX_OP_VOTE: case PTX_OP_REDUX: case PTX_OP_ACTIVEMASK: case PTX_OP_BAR: case PTX_OP_BARRIER:
        if (c->width == FLOW_BLOCK && in->op != PTX_OP_BAR && in->op != PTX_OP_BARRIER)
            return true;
        /* One result for all lanes that execute it together, if they name the same members (a source register). */
        for (unsigned i = 1; i < in->noperands; i++)
            if (in->operand[i].kind == PTX_OPND_REG && !c->f->uniform[in->operand[i].index] && i + 1 == in->noperands &&
                (in->flags & PTX_F_SYNC))
                return true;
        return false;
    default:
        break;
    }
    if (always_varies(in))
        return true;
    for (unsigned i = flow_destinations(in); i < in->noperands; i++)
        if (operand_varies(&in->operand[i], c))
            return true;
    return false;
}

static bool
sources_matter(const struct ptx_inst *in)
{
    return in->op != PTX_OP_VOTE && in->op != PTX_OP_REDUX && in->op != PTX_OP_ACTIVEMASK && in->op != PTX_OP_BAR &&
           in->op != PTX_OP_BARRIER;
}

/* ---- divergent regions ------------------------------------------------------------------------------------------------ */

static void
visit_def(void *user, uint32_t r, bool write)
{
    if (write)
        flow_set_add(user, r / 64, (uint64_t)1 << (r % 64));
}

struct regions {
    struct flow_row *block_defs;    /* per block: registers written in it */
    struct flow_set path;           /* registers written on the path scanned last */
    struct flow_set some, several;  /* registers written on one path of the branch and more, on two and more */
    struct flow_set live, live_twice; /* registers live at one target of the branch and more, at two and more */
    uint32_t *scanned;              /* per block: 1 + the branch whose paths visited it last */
    uint32_t *join;                 /* per block: where lanes that leave it by different edges are together again */
    struct flow_walk walk;
    uint32_t low, high;             /* positions visited by scans */
    uint64_t budget;                /* steps left; at 0 everything is assumed divergent */
};

/* Collect the registers written in blocks reachable from `start`, a successor of `origin`, before the join, into g->path, and mask those blocks. */
static void
scan_path(struct flow *f, struct regions *g, uint32_t origin, uint32_t start, uint32_t join, bool *changed)
{
    flow_set_clear(&g->path);
    if (start == join || start == f->n)
        return;
    flow_walk_from(&g->walk, start);
    while (g->walk.top) {
        uint32_t b = g->walk.stack[--g->walk.top], at = f->position[b];
        if (!g->budget)
            return;
        g->budget--;
        g->scanned[b] = origin + 1;
        g->low = at < g->low ? at : g->low;
        g->high = at > g->high ? at : g->high;
        if (!f->masked[b]) {
            f->masked[b] = true;
            *changed = true;
        }
        flow_set_add_row(&g->path, &g->block_defs[b]);
        for (uint32_t k = 0; k < f->fn->blocks[b].nsucc; k++)
            if (f->fn->blocks[b].succ[k] != join)
                flow_walk_to(&g->walk, f->fn->blocks[b].succ[k]);
    }
}

static void
blend_bits(struct flow *f, uint32_t w, uint64_t bits, bool several_only, bool *changed)
{
    while (bits) {
        uint32_t r = w * 64 + (uint32_t)__builtin_ctzll(bits);
        bits &= bits - 1;
        if ((several_only && f->ndefs[r] < 2) || f->masked_write[r])
            continue;
        f->masked_write[r] = true;
        f->uniform[r] = false;
        f->shape[r] = (struct flow_shape){ .kind = FLOW_VARYING };
        *changed = true;
    }
}

/* A lane that takes a back edge comes to the branch again, and a join behind it in the same loop would be passed in different iterations: the
 * lanes join behind the loop. Uses the marks of the last scan; true: the join has moved. */
static bool
goes_round(const struct flow *f, struct regions *g, uint32_t b)
{
    uint32_t join = g->join[b];
    for (uint32_t l = f->loop_of[b]; l != FLOW_NONE && join < f->n; l = f->loops[l].parent) {
        uint32_t h = f->loops[l].header;
        if (h == join || !flow_in_loop(f, join, l) || g->scanned[h] != b + 1)
            continue;
        while (join < f->n && flow_in_loop(f, join, l))
            join = f->ipdom[join];
    }
    bool moved = join != g->join[b];
    g->join[b] = join;
    return moved;
}

/* The number of different targets of a branch: where control comes to without it, the last one, may be one of the others. */
static uint32_t
count_targets(const struct ptx_block *blk)
{
    for (uint32_t k = 0; k + 1 < blk->nsucc; k++)
        if (blk->succ[k] == blk->succ[blk->nsucc - 1])
            return blk->nsucc - 1;
    return blk->nsucc;
}

/* Path k of a branch, which g->path describes: blend what it writes and other targets need, and note what it writes. */
static void
take_path(struct flow *f, struct regions *g, const struct flow_row *target, bool *changed)
{
    for (uint32_t i = 0; i < g->path.n; i++) {
        uint32_t w = g->path.listed[i];
        uint64_t bits = g->path.bits[w];
        uint64_t others = bits & (g->live_twice.bits[w] | (g->live.bits[w] & ~flow_row_word(target, w)));
        blend_bits(f, w, others, false, changed);
        if (g->some.bits[w] & bits)
            flow_set_add(&g->several, w, g->some.bits[w] & bits);
        flow_set_add(&g->some, w, bits);
    }
}

static void
split_at(struct flow *f, struct regions *g, uint32_t b, bool *changed)
{
    const struct ptx_block *blk = &f->fn->blocks[b];
    uint32_t n = count_targets(blk);
    flow_set_clear(&g->live);
    flow_set_clear(&g->live_twice);
    for (uint32_t k = 0; k < n; k++) {
        const struct flow_row *row = &f->live_in[blk->succ[k]];
        for (uint32_t i = 0; i < row->n; i++) {
            uint32_t w = row->word[i].index;
            if (g->live.bits[w] & row->word[i].bits)
                flow_set_add(&g->live_twice, w, g->live.bits[w] & row->word[i].bits);
            flow_set_add(&g->live, w, row->word[i].bits);
        }
    }
    /* Where the join moves, the paths become longer: what the shorter ones blend, the longer ones do. */
    do {
        flow_set_clear(&g->some);
        flow_set_clear(&g->several);
        for (uint32_t k = 0; k < n; k++) {
            scan_path(f, g, b, blk->succ[k], g->join[b], changed);
            if (!g->budget)
                return;
            take_path(f, g, &f->live_in[blk->succ[k]], changed);
        }
        for (uint32_t i = 0; i < g->several.n; i++)
            blend_bits(f, g->several.listed[i], g->several.bits[g->several.listed[i]], true, changed);
    } while (goes_round(f, g, b));
}

/* Masked blocks are emitted in layout order up to the end of a run, so the blocks of a divergent region must form one run: blocks that the
 * layout puts among them are masked as well. */
static void
close_runs(struct flow *f, struct regions *g, uint32_t *cover)
{
    bool changed = false;
    for (uint32_t b = 0; b < f->n; b++) {
        if (!f->divergent[b])
            continue;
        g->low = f->n, g->high = 0;
        for (uint32_t k = 0; k < f->fn->blocks[b].nsucc; k++)
            scan_path(f, g, b, f->fn->blocks[b].succ[k], g->join[b], &changed);
        if (g->low > g->high)
            continue;
        cover[g->low]++;
        cover[g->high + 1]--;
    }
    for (uint32_t p = 0, depth = 0; p < f->n; p++) {
        depth += cover[p];
        if (depth)
            f->masked[f->order[p]] = true;
    }
}

/* No register is uniform and every block is masked, which is correct for any program. */
static void
assume_the_worst(struct flow *f)
{
    for (uint32_t r = 0; r < f->fn->nregs; r++) {
        f->uniform[r] = false;
        f->masked_write[r] = true;
        f->shape[r] = (struct flow_shape){ .kind = FLOW_VARYING };
    }
    for (uint32_t b = 0; b < f->n; b++)
        f->masked[b] = b != 0;
}

static bool
terminator_varies(const struct flow *f, uint32_t b)
{
    const struct ptx_block *blk = &f->fn->blocks[b];
    if (!blk->count)
        return false;
    const struct ptx_inst *last = &f->fn->insts[blk->first + blk->count - 1];
    if (!(ptx_op_info(last->op)->traits & PTX_T_TERMINATOR))
        return false;
    if (last->has_guard && !f->uniform[last->guard])
        return true;
    if (last->op == PTX_OP_BRX_IDX && last->noperands && last->operand[0].kind == PTX_OPND_REG)
        return !f->uniform[last->operand[0].index];
    return false;
}

/* A register to which no instruction gave a shape is undefined: x in `x = x + %tid.x`, which nothing else writes. Make those uniform; true
 * if there were any. */
static bool
settle_unwritten(struct flow *f)
{
    bool any = false;
    for (uint32_t r = 0; r < f->fn->nregs; r++) {
        if (f->shape[r].kind == FLOW_UNKNOWN) {
            f->shape[r].kind = FLOW_UNIFORM;
            any = true;
        }
    }
    return any;
}

/* The average number of steps per block and instruction after which the analysis gives up precision, since adversarial input would take
 * quadratic time. Real kernels need less than a tenth. */
enum { STEPS = 200 };

void
flow_divergence(struct flow *f, unsigned width, bool linear_x, struct cw_arena *a)
{
    const struct ptx_function *fn = f->fn;
    struct regions g = {
        .block_defs = cw_arena_array(a, struct flow_row, f->n + 1),
        .scanned = cw_arena_array(a, uint32_t, f->n + 1),
        .join = cw_arena_array(a, uint32_t, f->n + 1),
        .walk = flow_walk_new(f->n, a),
        .budget = STEPS * ((uint64_t)f->n + fn->ninsts) + STEPS,
    };
    uint32_t *cover = cw_arena_array(a, uint32_t, f->n + 2);
    struct flow_set *const sets[] = { &g.path, &g.some, &g.several, &g.live, &g.live_twice };
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++)
        flow_set_init(sets[i], f->words, a);
    memcpy(g.join, f->ipdom, f->n * sizeof *g.join);
    for (uint32_t b = 0; b < f->n; b++) {
        flow_set_clear(&g.path);
        for (uint32_t i = 0; i < fn->blocks[b].count; i++)
            flow_visit_regs(&fn->insts[fn->blocks[b].first + i], visit_def, &g.path);
        flow_set_row(&g.path, &g.block_defs[b], a);
    }
    struct div_ctx c = { .f = f, .width = width, .linear_x = linear_x, .is_entry = fn->is_entry };
    for (uint32_t r = 0; r < fn->nregs; r++) {
        f->uniform[r] = true;
        if (!f->ndefs[r])
            f->shape[r].kind = FLOW_UNIFORM;    /* undefined: the other operand decides about the sum */
    }
    for (uint32_t i = 0; i < fn->nparams; i++)
        if (fn->params[i]->is_param_reg)
            lower(&c, fn->params[i]->reg, (struct flow_shape){ .kind = FLOW_VARYING });
    if (f->irreducible) {
        /* Loops whose header is not a join: assume divergence everywhere. */
        assume_the_worst(f);
    }
    do {
        c.changed = false;
        for (uint32_t p = 0; p < f->n; p++) {
            const struct ptx_block *blk = &fn->blocks[f->order[p]];
            g.budget -= g.budget < blk->count ? g.budget : blk->count;
            for (uint32_t i = 0; i < blk->count && g.budget; i++) {
                const struct ptx_inst *in = &fn->insts[blk->first + i];
                c.source_varying = false;
                c.result_varying = result_varies(in, &c);
                c.affine = width == FLOW_BLOCK ? (struct flow_shape){ .kind = FLOW_VARYING } : flow_affine(f, in, linear_x, width);
                if (always_varies(in))
                    c.affine.kind = FLOW_VARYING;
                if (sources_matter(in)) {
                    flow_visit_regs(in, visit_shape, &c);
                } else {
                    /* Only the guard and the member mask matter, and result_varies has checked the mask. */
                    unsigned ndst = flow_destinations(in);
                    bool varying = c.result_varying || (in->has_guard && !f->uniform[in->guard]);
                    c.source_varying = varying;
                    c.affine.kind = FLOW_VARYING;
                    for (unsigned k = 0; k < ndst && k < in->noperands; k++) {
                        const struct ptx_operand *o = &in->operand[k];
                        if (o->kind == PTX_OPND_REG)
                            visit_shape(&c, o->index, true);
                        for (unsigned x = 0; o->kind == PTX_OPND_PRED_PAIR && x < o->count; x++)
                            if (o->elem[x].kind == PTX_OPND_REG)
                                visit_shape(&c, o->elem[x].index, true);
                    }
                }
            }
        }
        for (uint32_t b = 0; b < f->n; b++) {
            if (terminator_varies(f, b)) {
                f->divergent[b] = true;
                split_at(f, &g, b, &c.changed); /* a guarded exit has one successor: the remaining blocks run masked */
            }
        }
    } while ((c.changed || settle_unwritten(f)) && g.budget);
    if (g.budget && width != FLOW_BLOCK)
        close_runs(f, &g, cover);
    if (!g.budget) {
        assume_the_worst(f);
        for (uint32_t b = 0; b < f->n; b++)
            f->divergent[b] = terminator_varies(f, b);
    }
}
