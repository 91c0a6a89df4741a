/* SPDX-License-Identifier: Apache-2.0
 * From a seed to a program's tree. Each program omits some categories and constructs, so that the others occur together more
 * often. The validity of a program is decided here: barriers and uniform loops only where all threads of a block pass, bounded
 * cost, no two threads at one address except for operations that commute. */
#include "tools/ptx-fuzz/gen_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- control flow ---- */

static void gen_seq(struct ctx *c, struct seq *s);

static void
condition(struct ctx *c, struct node *n)
{
    static const char *const ops[] = { "eq", "ne", "lt", "le", "gt", "ge" };
    if (c->uniform && rng_percent(c->r, 50)) {
        static const char *const sources[] = { "%un0", "%un1", "%un2", "%un3" };
        n->uniform = true;
        n->text = FMT(c, "and.b32 %%t0, %s, %u;\nsetp.%s.u32 $c, %%t0, 0;", sources[rng_below(c->r, 4)], 1u << rng_below(c->r, 5), rng_percent(c->r, 50) ? "eq" : "ne");
        return;
    }
    uint32_t k = rng_below(c->r, 4);
    if (k == 0) {
        add_reg(c, n, PTX_PRED, false, false);
        n->text = rng_percent(c->r, 50) ? "mov.pred $c, $0;" : "not.pred $c, $0;";
    } else if (k == 1) {
        add_reg(c, n, PTX_U32, false, false);
        n->text = FMT(c, "and.b32 %%t0, $0, %u;\nsetp.ne.u32 $c, %%t0, 0;", 1u << rng_below(c->r, 32));
    } else {
        unsigned t = k == 2 ? rng_percent(c->r, 50) ? PTX_S32 : PTX_U32 : rng_percent(c->r, 50) ? PTX_F32 : PTX_S64;
        add_reg(c, n, t, false, false);
        add_source(c, n, t, false);
        n->text = FMT(c, "setp.%s.%s $c, $0, $1;", ops[rng_below(c->r, 6)], ptx_type_name((ptx_type)t));
    }
}

static void
body(struct ctx *c, struct seq *s, uint32_t share, bool uniform, uint32_t mult)
{
    struct ctx k = *c;
    k.uniform = uniform;
    k.depth++;
    k.mult = c->mult * mult;
    k.budget = c->budget / share;
    k.cost = 0;
    gen_seq(&k, s);
    c->cost += k.cost;
}

static void
gen_loop(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_LOOP, s);
    uint32_t trips = 1 + rng_below(c->r, 6);
    bool varying = rng_percent(c->r, 50);
    n->late = rng_percent(c->r, 40);
    if (varying) {
        add_reg(c, n, PTX_U32, false, false);
        trips = rng_percent(c->r, 50) ? 3 : 7;
        n->text = FMT(c, "and.b32 $n, $0, %u;", trips);
    } else if (c->uniform && rng_percent(c->r, 50)) {
        n->uniform = true;
        trips = 3;
        n->text = "and.b32 $n, %un1, 3;";
    } else {
        n->uniform = c->uniform;
        n->text = FMT(c, "mov.u32 $n, %u;", trips);
    }
    bool breaks = c->w.breaks && rng_percent(c->r, 40);
    if (breaks)
        n->uniform = false;
    struct ctx k = *c;
    k.in_loop = breaks;
    k.in_wild = false;
    k.loop_top = true;
    k.loop_had_continue = false;
    if (k.nloops < 4)
        k.loop[k.nloops++] = n->id;
    k.cost = 0;
    body(&k, &n->seq[0], 2, n->uniform, trips + 1);
    n->nseqs = 1;
    c->cost += k.cost;
}

static void
gen_call(struct ctx *c, struct seq *s)
{
    struct program *p = c->p;
    uint32_t limit = c->func ? c->func->number : p->nfuncs;
    if (!limit) {
        leaf_form(c, s);
        return;
    }
    struct func *f = &p->func[rng_below(c->r, limit)];
    uint64_t cost = c->mult * f->cost * (f->recursive ? 4 : 1);
    if (cost > MAX_COST / 2) {
        leaf_form(c, s);
        return;
    }
    c->cost += cost;
    struct node *n = new_node(c, N_CALL, s);
    n->func = f;
    add_reg(c, n, f->ret, true, false);
    n->op[0].cls = f->ret == PTX_F32 ? C_F : f->ret == PTX_B64 ? C_D : C_R;
    n->op[0].index %= class_info[n->op[0].cls].count;
    for (unsigned i = 0; i < f->nparams; i++)
        add_reg(c, n, f->param[i], false, false)->fixed = true;
    add_reg(c, n, PTX_U32, false, false)->fixed = true;        /* depth, selector */
    n->indirect = !f->reg_params && rng_percent(c->r, 30);
    n->form = n->indirect ? "indirect call" : "call";
    n->warp = true;                                             /* passes the mask on */
}

static void
gen_recursion(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_CALL, s);
    struct func *f = c->func;
    n->func = f;
    n->recursive = true;
    n->form = "recursive call";
    n->warp = true;
    add_reg(c, n, f->ret, true, false);
    n->op[0].cls = f->ret == PTX_F32 ? C_F : f->ret == PTX_B64 ? C_D : C_R;
    n->op[0].index %= class_info[n->op[0].cls].count;
    for (unsigned i = 0; i < f->nparams; i++)
        add_reg(c, n, f->param[i], false, false)->fixed = true;
}

static bool
gen_control(struct ctx *c, struct seq *s)
{
    uint32_t k = rng_below(c->r, 100);
    if (c->in_loop && c->loop_top && c->w.breaks && k < 20) {
        bool cont = rng_percent(c->r, 50);
        /* After a `continue` the mask of the whole loop is no longer known to those that go on. */
        if (!cont && c->loop_had_continue && c->p->use_warp)
            return false;
        struct node *n = new_node(c, cont ? N_CONTINUE : N_BREAK, s);
        condition(c, n);
        n->uniform = false;
        c->loop_had_continue |= cont;
        return true;
    }
    if (c->w.exits && k < 25 && (c->depth == 0 || (!c->p->use_warp && !c->p->use_barrier)) && !c->func && !c->in_wild) {
        struct node *n = new_node(c, N_EXIT, s);
        condition(c, n);
        n->uniform = false;
        return true;
    }
    if (c->w.calls && k < 40) {
        gen_call(c, s);
        return true;
    }
    if (c->depth >= 4 || c->budget < 4)
        return false;
    if (c->w.ifs && k < 65) {
        struct node *n = new_node(c, N_IF, s);
        bool outer = c->uniform;
        condition(c, n);
        struct ctx t = *c;
        t.loop_top = false;
        t.in_loop = c->in_loop && !c->p->use_warp;
        if (t.in_loop)
            t.loop_top = true;
        t.cost = 0;
        body(&t, &n->seq[0], 2, outer && n->uniform, 1);
        n->nseqs = 1;
        if (rng_percent(c->r, 60)) {
            body(&t, &n->seq[1], 3, outer && n->uniform, 1);
            n->nseqs = 2;
        }
        c->cost += t.cost;
        return true;
    }
    if (c->w.loops && k < 85 && c->mult * 8 < MAX_COST / 4) {
        gen_loop(c, s);
        return true;
    }
    if (c->w.switches && k < 93) {
        struct node *n = new_node(c, N_SWITCH, s);
        unsigned ways = 2 + rng_below(c->r, 5);
        add_reg(c, n, PTX_U32, false, false);
        n->text = FMT(c, "rem.u32 $n, $0, %u;", ways);
        struct ctx t = *c;
        t.in_loop = false;
        t.cost = 0;
        for (unsigned i = 0; i < ways; i++)
            body(&t, &n->seq[i], ways, false, 1);
        n->nseqs = (uint8_t)ways;
        c->cost += t.cost;
        return true;
    }
    if (c->w.wild && c->mult * 8 < MAX_COST / 4) {
        struct node *n = new_node(c, N_WILD, s);
        condition(c, n);
        n->uniform = false;
        while (n->nops < 2)
            add_reg(c, n, PTX_PRED, false, false);
        add_reg(c, n, PTX_PRED, false, false);
        add_reg(c, n, PTX_PRED, false, false);
        n->op[4] = (struct operand){ .kind = O_IMM, .type = PTX_U32, .imm = 1 + rng_below(c->r, 6), .fixed = true };
        struct ctx t = *c;
        bool warp = t.w.warp;
        t.in_loop = false;
        t.in_wild = true;
        t.w.warp = false;
        t.w.calls = t.w.calls && !c->p->use_warp;
        t.cost = 0;
        body(&t, &n->seq[0], 3, false, 6);
        body(&t, &n->seq[1], 3, false, 6);
        t.w.warp = warp;
        n->nseqs = 2;
        c->cost += t.cost;
        return true;
    }
    return false;
}

static bool
full_warps(const struct program *p)
{
    return p->block[0] * p->block[1] * p->block[2] % 32 == 0;
}

static void
gen_leaf(struct ctx *c, struct seq *s)
{
    uint32_t k = rng_below(c->r, 100);
    const struct swarm *w = &c->w;
    if (k < 14)
        leaf_memory(c, s);
    else if (k < 17 && w->atoms)
        leaf_atom(c, s);
    else if (k < 20 && w->reds)
        leaf_red(c, s);
    else if (k < 22 && w->carry)
        leaf_carry(c, s);
    else if (k < 24 && w->packs)
        leaf_pack(c, s);
    else if (k < 25 && w->sregs)
        leaf_sreg(c, s);
    else if (k < 36 && w->warp)
        leaf_warp(c, s);
    else if (k < 40 && w->barriers && c->uniform)
        leaf_barrier(c, s);
    else if (k < 47 && w->matrix && c->uniform && !c->func && full_warps(c->p))
        leaf_matrix(c, s);
    else if (k < 50 && w->async)
        leaf_async(c, s);
    else if (k < 54 && w->textures && !c->func)
        leaf_texture(c, s);
    else
        leaf_form(c, s);
}

static void
gen_seq(struct ctx *c, struct seq *s)
{
    uint32_t n = 1 + rng_below(c->r, c->budget + 1);
    for (uint32_t i = 0; i < n && !c->p->failed; i++) {
        c->cost += c->mult;
        if (rng_percent(c->r, 18) && gen_control(c, s))
            continue;
        gen_leaf(c, s);
    }
}

/* ---- programs ---- */

static void
gen_shape(struct ctx *c)
{
    static const uint16_t blocks[][3] = { { 32, 1, 1 }, { 64, 1, 1 }, { 32, 2, 1 }, { 8, 4, 1 }, { 16, 2, 2 }, { 33, 1, 1 }, { 1, 1, 1 }, { 7, 3, 1 },
                                          { 96, 1, 1 }, { 4, 4, 3 }, { 17, 1, 1 }, { 128, 1, 1 }, { 16, 3, 1 }, { 2, 1, 1 }, { 50, 1, 1 }, { 5, 1, 9 } };
    unsigned k = rng_below(c->r, rng_percent(c->r, 60) ? 5 : 16);
    for (unsigned i = 0; i < 3; i++)
        c->p->block[i] = blocks[k][i];
    c->p->grid[0] = 1 + rng_below(c->r, 3);
    c->p->grid[1] = c->p->grid[0] == 1 && rng_percent(c->r, 20) ? 2 : 1;
    c->p->grid[2] = 1;
    if (c->o->threads && program_threads(c->p) > c->o->threads) {
        uint32_t threads = c->p->block[0] * c->p->block[1] * c->p->block[2];
        c->p->grid[0] = c->p->grid[1] = c->p->block[1] = c->p->block[2] = 1;
        c->p->block[0] = threads < c->o->threads ? threads : c->o->threads;
    }
}

static bool
profile_has(const char *profile, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = profile; (s = strstr(s, word)); s += n)
        if ((s == profile || s[-1] == ',') && (!s[n] || s[n] == ','))
            return true;
    return false;
}

static const char *const other_words[] = { "all", "memory", "atomics", "flow", "calls", "warp", "barriers", "matrix", "async", "texture" };

enum { NWORDS = NCATEGORIES + sizeof other_words / sizeof *other_words };

static const char *
profile_word(unsigned i)
{
    return i < NCATEGORIES ? category_name[i] : other_words[i - NCATEGORIES];
}

bool
profile_known(const char *word, size_t n)
{
    for (unsigned i = 0; i < NWORDS; i++)
        if (strlen(profile_word(i)) == n && !memcmp(profile_word(i), word, n))
            return true;
    return false;
}

void
profile_words(struct cw_buf *out)
{
    for (unsigned i = 0; i < NWORDS; i++)
        cw_buf_printf(out, "%s%s", i ? " " : "", profile_word(i));
}

static void
gen_swarm(struct ctx *c)
{
    struct swarm *w = &c->w;
    struct rng *r = c->r;
    static const uint8_t weights[NCATEGORIES] = { 20, 16, 18, 8, 10, 10, 6, 18, 3, 6, 8 };
    const char *profile = c->o->profile;
    bool all = !profile || !*profile || profile_has(profile, "all"), any = false;
    for (unsigned i = 0; i < NCATEGORIES; i++) {
        bool wanted = all || profile_has(profile, category_name[i]);
        w->weight[i] = wanted && rng_percent(r, all ? 60 : 90) ? (uint8_t)(weights[i] * (1 + rng_below(r, 3))) : 0;
        any |= w->weight[i] && c->f->n[i];
    }
    if (!any)
        w->weight[CAT_INT] = 10;
#define CHOOSE(field, word, percent) w->field = (all || profile_has(profile, word)) && rng_percent(r, percent)
    CHOOSE(own_global, "memory", 60); CHOOSE(own_shared, "memory", 40); CHOOSE(local, "memory", 40); CHOOSE(input, "memory", 60);
    CHOOSE(constant, "memory", 50); CHOOSE(param, "memory", 40); CHOOSE(generic, "memory", 30); CHOOSE(vectors, "memory", 60);
    CHOOSE(atoms, "atomics", 40); CHOOSE(reds, "atomics", 40);
    CHOOSE(ifs, "flow", 80); CHOOSE(loops, "flow", 60); CHOOSE(switches, "flow", 40); CHOOSE(wild, "flow", 30); CHOOSE(exits, "flow", 20);
    CHOOSE(breaks, "flow", 50); CHOOSE(calls, "calls", 35); CHOOSE(warp, "warp", 35); CHOOSE(barriers, "barriers", 30);
    CHOOSE(guards, "flow", 60); CHOOSE(carry, "int", 50); CHOOSE(packs, "mov", 50); CHOOSE(sregs, "mov", 50);
    CHOOSE(matrix, "matrix", 25); CHOOSE(async, "async", 25); CHOOSE(textures, "texture", 25);
    w->matrix = w->matrix && !w->exits;
#undef CHOOSE
    /* ptxas does not bring lanes together again behind loops with two entries, and counts iterations of loops around them wrong. */
    if (c->o->native)
        w->wild = false;
    c->p->use_warp = w->warp;
    c->p->use_barrier = w->barriers;
    c->p->dynamic_shared = rng_percent(r, 30);
}

static void
gen_functions(struct ctx *c)
{
    static const uint8_t types[] = { PTX_B32, PTX_F32, PTX_B64, PTX_F64, PTX_B32 }, rets[] = { PTX_B32, PTX_F32, PTX_B64 };
    struct program *p = c->p;
    uint32_t n = c->w.calls ? 1 + rng_below(c->r, MAX_FUNCS) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct func *f = &p->func[i];
        f->number = i;
        if (i && rng_percent(c->r, 60)) {
            f->nparams = p->func[0].nparams;
            memcpy(f->param, p->func[0].param, sizeof f->param);
            f->ret = p->func[0].ret;
            f->reg_params = p->func[0].reg_params;
        } else {
            f->nparams = (uint8_t)rng_below(c->r, MAX_PARAMS);
            for (unsigned k = 0; k < f->nparams; k++)
                f->param[k] = types[rng_below(c->r, 5)];
            f->ret = rets[rng_below(c->r, 3)];
            f->reg_params = rng_percent(c->r, 25);
        }
        f->recursive = !f->reg_params && rng_percent(c->r, 25) && !(c->o->native && (c->w.warp || c->w.barriers || c->w.matrix));
        struct ctx k = *c;
        k.func = f;
        k.uniform = false;
        k.budget = 2 + c->o->size / 5;
        k.depth = 1;
        k.mult = 1;
        k.cost = 0;
        k.w.exits = false;
        gen_seq(&k, &f->body);
        if (f->recursive)
            gen_recursion(&k, &f->body);
        gen_leaf(&k, &f->body);
        f->cost = k.cost + 5;
        p->nfuncs = i + 1;
    }
}

void
program_generate(struct program *p, uint64_t seed, const struct options *o, struct forms *f)
{
    struct rng r = { rng_hash(seed, 0x70747866757a7aull) };
    struct ctx c = { .p = p, .r = &r, .o = o, .f = f, .uniform = true, .mult = 1, .budget = o->size };
    *p = (struct program){ .seed = seed, .uniform = o->uniform };
    cw_arena_init(&p->arena);
    gen_swarm(&c);
    gen_shape(&c);
    p->constants = rng_next(&r);
    gen_functions(&c);
    gen_seq(&c, &p->body);
    while (p->body.count < o->size / 2 && c.cost < MAX_COST && !p->failed)
        gen_seq(&c, &p->body);
    program_drop_refused(p, f);
}

void
program_drop_refused(struct program *p, const struct forms *f)
{
    for (uint32_t i = 0; i < p->nnodes; i++)
        for (uint32_t k = 0; k < f->nrefused && p->node[i]->kind == N_LEAF; k++) {
            const char *text = p->node[i]->text, *r = f->refused[k], *s = text;
            for (size_t n = strlen(r); (s = strstr(s, r)); s++)
                if ((s == text || s[-1] == '\n' || s[-1] == '?') && s[n] == ' ')
                    p->node[i]->off = true;
        }
}

void
program_finish(struct program *p)
{
    cw_arena_finish(&p->arena);
}

uint32_t
program_threads(const struct program *p)
{
    return p->grid[0] * p->grid[1] * p->grid[2] * p->block[0] * p->block[1] * p->block[2];
}
