/* SPDX-License-Identifier: Apache-2.0
 * See units.h. */
#define _GNU_SOURCE
#include "jit/driver/units.h"

#include "impl/base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 256, MAX_UNITS = 64, WHOLE = 3 };

/* Contents of one unit, or of all; each function counts once. */
struct content {
    bool *has;                      /* per function of the program */
    uint64_t weight;
};

/* The weight that a kernel adds to a unit; *shared: the weight of its code that the unit has already. */
static uint64_t
added(const struct cwj_program *p, uint32_t kernel, const struct content *c, uint64_t *shared)
{
    const struct cwj_closure *r = &p->closure[kernel];
    uint64_t n = 0;
    *shared = 0;
    for (uint32_t i = 0; i < r->nfuncs; i++) {
        const struct cwj_function *f = cwj_program_function(p, r->funcs[i]);
        if (f && f->fn && f->fn->has_body)
            *(c->has[r->funcs[i]] ? shared : &n) += f->fn->ninsts;
    }
    return n;
}

static struct cwj_unit *
add_unit(struct cwj_units *ps, uint32_t kernels)
{
    struct cwj_unit *at = realloc(ps->at, (ps->n + 1) * sizeof *at);
    if (!at)
        return NULL;
    ps->at = at;
    struct cwj_unit *unit = &at[ps->n];
    *unit = (struct cwj_unit){ .first = ps->n == 0 };
    unit->kernels = calloc(kernels ? kernels : 1, sizeof *unit->kernels);
    if (!unit->kernels)
        return NULL;
    cw_buf_init(&unit->out);
    ps->n++;
    return unit;
}

static void
put(const struct cwj_program *p, uint32_t kernel, struct content *c)
{
    const struct cwj_closure *r = &p->closure[kernel];
    uint64_t shared;
    c->weight += added(p, kernel, c, &shared);
    for (uint32_t i = 0; i < r->nfuncs; i++)
        if (r->funcs[i] < p->nfuncs)
            c->has[r->funcs[i]] = true;
}

static void
empty(const struct cwj_program *p, struct content *c)
{
    memset(c->has, 0, p->nfuncs * sizeof *c->has);
    c->weight = 0;
}

/* Calls through registers may reach every function whose address is taken, so kernels that make them share one unit. The others follow in
 * order. */
static cw_result
divide(const struct cwj_program *p, const bool *take, uint32_t limit, struct content *c, struct cwj_units *out)
{
    uint32_t indirect = UINT32_MAX, open = 0;
    for (uint32_t k = 0; k < p->nkernels; k++)
        if (take[k])
            put(p, k, c);
    if (c->weight <= WHOLE * (uint64_t)limit)
        limit = UINT32_MAX;
    else if (c->weight / MAX_UNITS > limit)
        limit = c->weight / MAX_UNITS < UINT32_MAX ? (uint32_t)(c->weight / MAX_UNITS) : UINT32_MAX;
    empty(p, c);
    for (uint32_t k = 0; k < p->nkernels; k++) {
        if (!take[k])
            continue;
        bool calls = p->closure[k].indirect && limit != UINT32_MAX;
        if (calls && indirect == UINT32_MAX) {
            indirect = out->n;
            if (!add_unit(out, p->nkernels))
                return CW_ERR_NOMEM;
        }
        if (calls) {
            out->at[indirect].kernels[k] = true;
            continue;
        }
        uint64_t shared, own = added(p, k, c, &shared);
        if (c->weight && c->weight + own > limit && c->weight + own > 2 * shared) {
            open = out->n;
            empty(p, c);
            if (!add_unit(out, p->nkernels))
                return CW_ERR_NOMEM;
        }
        put(p, k, c);
        out->at[open].kernels[k] = true;
    }
    return CW_OK;
}

cw_result
cwj_units_make(const struct cwj_program *p, const bool *take, uint32_t limit, struct cwj_units *out)
{
    *out = (struct cwj_units){ 0 };
    struct content c = { .has = calloc(p->nfuncs + 1, sizeof *c.has) };
    cw_result r = c.has && add_unit(out, p->nkernels) ? CW_OK : CW_ERR_NOMEM;
    if (!r && limit)
        r = divide(p, take, limit, &c, out);
    else if (!r)
        memcpy(out->at[0].kernels, take, p->nkernels * sizeof *take);
    free(c.has);
    if (r)
        cwj_units_finish(out);
    return r;
}

void
cwj_units_finish(struct cwj_units *ps)
{
    for (uint32_t i = 0; i < ps->n; i++) {
        free(ps->at[i].kernels);
        cw_buf_finish(&ps->at[i].out);
        cwj_diags_finish(&ps->at[i].diags);
    }
    free(ps->at);
    *ps = (struct cwj_units){ 0 };
}

struct run {
    struct cwj_units *ps;
    atomic_uint next;
    void (*compile)(struct cwj_unit *unit, void *user);
    void *user;
};

static void *
worker(void *arg)
{
    struct run *r = arg;
    for (unsigned i; (i = atomic_fetch_add(&r->next, 1)) < r->ps->n;)
        r->compile(&r->ps->at[i], r->user);
    return NULL;
}

cw_result
cwj_units_run(struct cwj_units *ps, unsigned threads, void (*compile)(struct cwj_unit *unit, void *user), void *user,
              struct cwj_diags *diags)
{
    struct run run = { .ps = ps, .compile = compile, .user = user };
    pthread_t thread[MAX_THREADS];
    unsigned n = 0;
    if (threads > ps->n)
        threads = ps->n;
    for (uint32_t i = 0; i < ps->n; i++)        /* only now: diagnostics contain a pointer to themselves, and units moved while they were
                                                 * made */
        cwj_diags_init(&ps->at[i].diags);
    /* If threads cannot be created, this one does their work. */
    while (n + 1 < threads && n < MAX_THREADS && !cw_thread_create_as(&thread[n], NULL, worker, &run, NULL))
        n++;
    worker(&run);
    while (n)
        pthread_join(thread[--n], NULL);
    cw_result r = CW_OK;
    for (uint32_t i = 0; i < ps->n; i++) {
        struct cwj_unit *unit = &ps->at[i];
        for (const struct cwj_diag *d = unit->diags.first; d; d = d->next)
            cwj_diag_add(diags, (enum ptx_severity)d->severity, d->code, d->line, d->column, "%s", d->text);
        if (!unit->result && unit->out.failed)
            unit->result = CW_ERR_NOMEM;
        if (!r)
            r = unit->result;
    }
    return r;
}
