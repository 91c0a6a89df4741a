/* SPDX-License-Identifier: Apache-2.0
 * See parts.h. */
#define _GNU_SOURCE
#include "jit/driver/parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What one fetch from a texture or surface brings in of the device library takes as long to compile as this many PTX instructions. */
enum { MAX_THREADS = 256, MAX_PARTS = 64, FETCH_WEIGHT = 3000, WHOLE = 3 };

/* What is in a part, or in all; each function counts once. */
struct content {
    bool *has;                      /* one a function of the program, and the last for fetches */
    uint64_t weight;
};

static bool
fetches(const struct ptx_function *f)
{
    for (uint32_t i = 0; i < f->ninsts; i++)
        switch (f->insts[i].op) {
        case PTX_OP_TEX:
        case PTX_OP_TLD4:
        case PTX_OP_SULD:
        case PTX_OP_SUST:
        case PTX_OP_SURED:
            return true;
        }
    return false;
}

/* What a kernel adds to a part; *shared: what of its code is there. */
static uint64_t
added(const struct cwj_program *p, uint32_t kernel, const bool *fetching, const struct content *c, uint64_t *shared)
{
    const struct cwj_reach *r = &p->reach[kernel];
    uint64_t n = 0;
    bool fetch = false;
    *shared = 0;
    for (uint32_t i = 0; i < r->nfuncs; i++) {
        const struct cwj_function *f = cwj_program_function(p, r->funcs[i]);
        if (!f || !f->fn || !f->fn->has_body)
            continue;
        *(c->has[r->funcs[i]] ? shared : &n) += f->fn->ninsts;
        fetch |= fetching[r->funcs[i]];
    }
    if (fetch)
        *(c->has[p->nfuncs] ? shared : &n) += FETCH_WEIGHT;
    return n;
}
static struct cwj_part *
add_part(struct cwj_parts *ps, uint32_t kernels)
{
    struct cwj_part *at = realloc(ps->at, (ps->n + 1) * sizeof *at);
    if (!at)
        return NULL;
    ps->at = at;
    struct cwj_part *part = &at[ps->n];
    *part = (struct cwj_part){ .first = ps->n == 0 };
    part->kernels = calloc(kernels ? kernels : 1, sizeof *part->kernels);
    if (!part->kernels)
        return NULL;
    cw_buf_init(&part->out);
    ps->n++;
    return part;
}

static void
put(const struct cwj_program *p, uint32_t kernel, const bool *fetching, struct content *c)
{
    const struct cwj_reach *r = &p->reach[kernel];
    uint64_t shared;
    c->weight += added(p, kernel, fetching, c, &shared);
    for (uint32_t i = 0; i < r->nfuncs; i++)
        if (r->funcs[i] < p->nfuncs) {
            c->has[r->funcs[i]] = true;
            c->has[p->nfuncs] |= fetching[r->funcs[i]];
        }
}

static void
empty(const struct cwj_program *p, struct content *c)
{
    memset(c->has, 0, (p->nfuncs + 1) * sizeof *c->has);
    c->weight = 0;
}

static bool
any_fetch(const struct cwj_program *p, uint32_t kernel, const bool *fetching)
{
    const struct cwj_reach *r = &p->reach[kernel];
    for (uint32_t i = 0; i < r->nfuncs; i++)
        if (r->funcs[i] < p->nfuncs && fetching[r->funcs[i]])
            return true;
    return false;
}

/* Calls through registers reach every function whose address is taken, so kernels that make them are in one part. The others are taken in their
 * order, those that fetch after the rest. */
static cw_result
divide(const struct cwj_program *p, const bool *take, uint32_t limit, const bool *fetching, struct content *c, struct cwj_parts *out)
{
    uint32_t indirect = UINT32_MAX, open = 0;
    for (uint32_t k = 0; k < p->nkernels; k++)
        if (take[k])
            put(p, k, fetching, c);
    if (c->weight <= WHOLE * (uint64_t)limit)
        limit = UINT32_MAX;
    else if (c->weight / MAX_PARTS > limit)
        limit = c->weight / MAX_PARTS < UINT32_MAX ? (uint32_t)(c->weight / MAX_PARTS) : UINT32_MAX;
    empty(p, c);
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t k = 0; k < p->nkernels; k++) {
            if (!take[k] || any_fetch(p, k, fetching) != turn)
                continue;
            bool calls = p->reach[k].indirect && limit != UINT32_MAX;
            if (calls && indirect == UINT32_MAX) {
                indirect = out->n;
                if (!add_part(out, p->nkernels))
                    return CW_ERR_NOMEM;
            }
            if (calls) {
                out->at[indirect].kernels[k] = true;
                continue;
            }
            uint64_t shared, own = added(p, k, fetching, c, &shared);
            if (c->weight && c->weight + own > limit && c->weight + own > 2 * shared) {
                open = out->n;
                empty(p, c);
                if (!add_part(out, p->nkernels))
                    return CW_ERR_NOMEM;
            }
            put(p, k, fetching, c);
            out->at[open].kernels[k] = true;
        }
    return CW_OK;
}

cw_result
cwj_parts_make(const struct cwj_program *p, const bool *take, uint32_t limit, struct cwj_parts *out)
{
    *out = (struct cwj_parts){ 0 };
    bool *fetching = calloc(p->nfuncs + 1, sizeof *fetching);
    struct content c = { .has = calloc(p->nfuncs + 1, sizeof *c.has) };
    cw_result r = fetching && c.has && add_part(out, p->nkernels) ? CW_OK : CW_ERR_NOMEM;
    if (!r && limit) {
        for (uint32_t f = 0; f < p->nfuncs; f++)
            fetching[f] = p->funcs[f].fn && p->funcs[f].fn->has_body && fetches(p->funcs[f].fn);
        r = divide(p, take, limit, fetching, &c, out);
    } else if (!r) {
        memcpy(out->at[0].kernels, take, p->nkernels * sizeof *take);
    }
    free(fetching);
    free(c.has);
    if (r)
        cwj_parts_finish(out);
    return r;
}

void
cwj_parts_finish(struct cwj_parts *ps)
{
    for (uint32_t i = 0; i < ps->n; i++) {
        free(ps->at[i].kernels);
        cw_buf_finish(&ps->at[i].out);
        cwj_diags_finish(&ps->at[i].diags);
    }
    free(ps->at);
    *ps = (struct cwj_parts){ 0 };
}

struct run {
    struct cwj_parts *ps;
    atomic_uint next;
    void (*compile)(struct cwj_part *part, void *user);
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
cwj_parts_run(struct cwj_parts *ps, unsigned threads, void (*compile)(struct cwj_part *part, void *user), void *user,
              struct cwj_diags *diags)
{
    struct run run = { .ps = ps, .compile = compile, .user = user };
    pthread_t thread[MAX_THREADS];
    unsigned n = 0;
    if (threads > ps->n)
        threads = ps->n;
    for (uint32_t i = 0; i < ps->n; i++)        /* not before: diagnostics hold their own address, and parts move while they are made */
        cwj_diags_init(&ps->at[i].diags);
    /* Threads that cannot be had are no failure: this one does their work. */
    while (n + 1 < threads && n < MAX_THREADS && !pthread_create(&thread[n], NULL, worker, &run))
        n++;
    worker(&run);
    while (n)
        pthread_join(thread[--n], NULL);
    cw_result r = CW_OK;
    for (uint32_t i = 0; i < ps->n; i++) {
        struct cwj_part *part = &ps->at[i];
        for (const struct cwj_diag *d = part->diags.first; d; d = d->next)
            cwj_diag_add(diags, (enum ptx_severity)d->severity, d->code, d->line, d->column, "%s", d->text);
        if (!part->result && part->out.failed)
            part->result = CW_ERR_NOMEM;
        if (!r)
            r = part->result;
    }
    return r;
}
