/* SPDX-License-Identifier: Apache-2.0
 * The plan of an executable graph's launches: which of a few streams ("lanes") each node goes to, so that branches can overlap, and where
 * a lane waits for an event of another. Lane 0 is the stream of the launch; the first step, which all others follow, and the last, which
 * follows all others, are in it.
 * A node goes to a lane whose last node it depends on, else to one whose last node is in its past anyway, else to a new one; when there are
 * LANES, to the shortest. Whatever the choice, an edge between lanes is an event, unless another wait implies it: for each step a clock
 * says how far in each lane its past reaches. */
#include "impl/driver/graph_plan.h"

#include "impl/base/arena.h"

#include <stdlib.h>

struct draft {
    struct entry *e;
    const uint32_t *deps;               /* earlier drafts */
    uint32_t ndeps;
    uint32_t lane, place;               /* its number in the lane, from 1 */
    uint32_t clock[LANES];              /* places, by lane, that it and its past have */
    uint32_t *waits, nwaits;            /* drafts: the deps of other lanes that nothing else implies */
    uint32_t last_use;                  /* the last draft that waits for it, or 0 */
};

struct planner {
    struct cw_arena arena;
    struct draft *d;
    uint32_t n, capacity;
    uint32_t nlanes, length[LANES], tail[LANES];    /* steps of a lane; the last one */
    uint32_t nwaits;
};

/* ---- the steps ---- */

static uint32_t
count(const struct body *b)
{
    uint32_t n = b->n + 1;
    for (uint32_t i = 0; i < b->n; i++)
        n += b->e[i].child ? count(b->e[i].child) : 0;
    return n;
}

static uint32_t
add(struct planner *p, struct entry *e, const uint32_t *deps, uint32_t ndeps)
{
    p->d[p->n] = (struct draft){ .e = e, .deps = deps, .ndeps = ndeps };
    return p->n++;
}

/* All of b behind the step `begin`; *end follows all of it. */
static bool
flatten(struct planner *p, const struct body *b, uint32_t begin, uint32_t *end)
{
    uint32_t *done = cw_arena_array(&p->arena, uint32_t, b->n + 1), *sinks = cw_arena_array(&p->arena, uint32_t, b->n + 1), nsinks = 0;
    bool *followed = cw_arena_array(&p->arena, bool, b->n + 1);
    if (!done || !sinks || !followed)
        return false;
    for (uint32_t k = 0; k < b->n; k++) {
        struct entry *e = &b->e[b->order[k]];
        uint32_t n = e->ndeps ? e->ndeps : 1, *deps = cw_arena_array(&p->arena, uint32_t, n);
        if (!deps)
            return false;
        deps[0] = begin;
        for (uint32_t i = 0; i < e->ndeps; i++) {
            deps[i] = done[e->deps[i]];
            followed[e->deps[i]] = true;
        }
        uint32_t at = add(p, e->child ? NULL : e, deps, n);
        if (e->child && !flatten(p, e->child, at, &at))
            return false;
        done[b->order[k]] = at;
    }
    for (uint32_t k = 0; k < b->n; k++)
        if (!followed[b->order[k]])
            sinks[nsinks++] = done[b->order[k]];
    if (!nsinks)
        sinks[nsinks++] = begin;
    *end = add(p, NULL, sinks, nsinks);
    return true;
}

/* ---- lanes ---- */

static bool
in_past(const struct draft *of, const struct draft *d)
{
    return of->clock[d->lane] >= d->place;
}

static void
join_clock(struct draft *d, const struct draft *past)
{
    for (uint32_t l = 0; l < LANES; l++)
        if (d->clock[l] < past->clock[l])
            d->clock[l] = past->clock[l];
}

/* d->clock has the past already. */
static uint32_t
choose_lane(const struct planner *p, const struct draft *d)
{
    uint32_t shortest = 0;
    for (uint32_t i = 0; i < d->ndeps; i++)
        if (p->tail[p->d[d->deps[i]].lane] == d->deps[i])
            return p->d[d->deps[i]].lane;
    for (uint32_t l = 0; l < p->nlanes; l++)
        if (in_past(d, &p->d[p->tail[l]]))
            return l;
    if (p->nlanes < LANES)
        return p->nlanes;
    for (uint32_t l = 1; l < LANES; l++)
        if (p->length[l] < p->length[shortest])
            shortest = l;
    return shortest;
}

/* The deps that the lane must wait for: not in the past of its last step, nor of another dep. */
static bool
choose_waits(struct planner *p, uint32_t at)
{
    struct draft *d = &p->d[at];
    struct draft past = { .lane = 0 };
    if (d->lane < p->nlanes)
        join_clock(&past, &p->d[p->tail[d->lane]]);
    d->waits = cw_arena_array(&p->arena, uint32_t, d->ndeps + 1);
    if (!d->waits)
        return false;
    for (uint32_t i = d->ndeps; i-- > 0;) {     /* later ones imply earlier ones rather than the other way round */
        struct draft *dep = &p->d[d->deps[i]];
        if (in_past(&past, dep))
            continue;
        join_clock(&past, dep);
        dep->last_use = at;
        d->waits[d->nwaits++] = d->deps[i];
    }
    p->nwaits += d->nwaits;
    return true;
}

static bool
place(struct planner *p, uint32_t at)
{
    struct draft *d = &p->d[at];
    for (uint32_t i = 0; i < d->ndeps; i++)
        join_clock(d, &p->d[d->deps[i]]);
    d->lane = at == 0 || at == p->n - 1 ? 0 : choose_lane(p, d);
    if (!choose_waits(p, at))
        return false;
    if (d->lane == p->nlanes)
        p->length[p->nlanes++] = 0;
    else
        join_clock(d, &p->d[p->tail[d->lane]]);
    p->tail[d->lane] = at;
    d->clock[d->lane] = d->place = ++p->length[d->lane];
    return true;
}

/* ---- the plan ---- */

/* Events are used again once the last wait for them is submitted: later records do not concern it. */
static bool
number_events(struct planner *p, struct plan *out)
{
    uint32_t *event_of = cw_arena_array(&p->arena, uint32_t, p->n), *vacant = cw_arena_array(&p->arena, uint32_t, p->n), nvacant = 0, nwaits = 0;
    if (!event_of || !vacant)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct draft *d = &p->d[i];
        struct step *s = &out->steps[i];
        *s = (struct step){ .e = d->e, .lane = d->lane, .first_wait = nwaits, .nwaits = d->nwaits, .signal = PLAN_NONE };
        for (uint32_t k = 0; k < d->nwaits; k++) {
            out->waits[nwaits++] = event_of[d->waits[k]];
            if (p->d[d->waits[k]].last_use == i)
                vacant[nvacant++] = event_of[d->waits[k]];
        }
        if (d->last_use)
            s->signal = event_of[i] = nvacant ? vacant[--nvacant] : out->nevents++;
    }
    out->n = p->n;
    out->nlanes = p->nlanes;
    return true;
}

void
plan_destroy(struct plan *p)
{
    if (!p)
        return;
    free(p->steps);
    free(p->waits);
    free(p);
}

CUresult
plan_make(const struct body *b, struct plan **out)
{
    struct planner p = { .capacity = count(b) + 1 };
    struct plan *plan = calloc(1, sizeof *plan);
    uint32_t end;
    cw_arena_init(&p.arena);
    p.d = cw_arena_array(&p.arena, struct draft, p.capacity);
    bool ok = plan && p.d;
    if (ok) {
        add(&p, NULL, NULL, 0);
        ok = flatten(&p, b, 0, &end);
    }
    for (uint32_t i = 0; ok && i < p.n; i++)
        ok = place(&p, i);
    if (ok) {
        plan->steps = calloc(p.n, sizeof *plan->steps);
        plan->waits = calloc((size_t)p.nwaits + 1, sizeof *plan->waits);
        ok = plan->steps && plan->waits && number_events(&p, plan);
    }
    cw_arena_finish(&p.arena);
    if (!ok) {
        plan_destroy(plan);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = plan;
    return CUDA_SUCCESS;
}
