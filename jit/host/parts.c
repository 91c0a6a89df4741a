/* SPDX-License-Identifier: Apache-2.0
 * See parts.h. */
#define _GNU_SOURCE
#include "jit/host/parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 256, MAX_PARTS = 16 };

static uint32_t
weight(const struct cwj_program *p, uint32_t kernel)
{
    uint64_t n = 0;
    const struct cwj_reach *r = &p->reach[kernel];
    for (uint32_t i = 0; i < r->nfuncs; i++) {
        const struct cwj_function *f = cwj_program_function(p, r->funcs[i]);
        if (f && f->fn && f->fn->has_body)
            n += f->fn->ninsts;
    }
    return n < UINT32_MAX / 2 ? (uint32_t)n : UINT32_MAX / 2;
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
    cwj_diags_init(&part->diags);
    ps->n++;
    return part;
}

cw_result
cwj_parts_make(const struct cwj_program *p, const bool *take, uint32_t limit, struct cwj_parts *out)
{
    *out = (struct cwj_parts){ 0 };
    /* Calls through registers reach every function whose address is taken, so kernels that make them are in one part. */
    uint32_t indirect = UINT32_MAX, open = UINT32_MAX, used = 0;
    uint64_t total = 0;
    for (uint32_t k = 0; k < p->nkernels; k++)
        total += take[k] ? weight(p, k) : 0;
    if (total <= limit)
        limit = 0;
    if (limit && total / MAX_PARTS > limit)
        limit = (uint32_t)(total / MAX_PARTS);
    if (!add_part(out, p->nkernels))
        goto nomem;
    open = 0;
    for (uint32_t k = 0; k < p->nkernels; k++) {
        if (!take[k])
            continue;
        if (limit && p->reach[k].indirect) {
            if (indirect == UINT32_MAX) {
                indirect = out->n;
                if (!add_part(out, p->nkernels))
                    goto nomem;
            }
            out->at[indirect].kernels[k] = true;
            continue;
        }
        uint32_t w = weight(p, k);
        if (limit && used && used + w > limit) {
            open = out->n;
            used = 0;
            if (!add_part(out, p->nkernels))
                goto nomem;
        }
        out->at[open].kernels[k] = true;
        used += w;
    }
    return CW_OK;
nomem:
    cwj_parts_finish(out);
    return CW_ERR_NOMEM;
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
