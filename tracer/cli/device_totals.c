/* SPDX-License-Identifier: Apache-2.0
 * The part of the totals that comes from the devices' own clocks: how long operations took, and when a device had nothing to do. */
#include "tracer/cli/totals_private.h"

#include <stdlib.h>
#include <string.h>

bool
totals_is_sync_copy(const char *function)
{
    return !strncmp(function, "cuMemcpy", 8) && !strstr(function, "Async");
}

static void
add_time(struct tot_times *x, int64_t ns)
{
    if (!x->count || ns < x->shortest)
        x->shortest = ns;
    if (ns > x->longest)
        x->longest = ns;
    x->count++;
    x->total += ns;
}

static void
count_compilation(struct totals *t, const struct tr_op *o)
{
    struct tot_kernel *k = totals_kernel(t, o->name);
    if (!k)
        return;
    k->compiled++;
    k->cached += o->cached;
    k->compile_total += o->end - o->start;
}

void
totals_op(void *ctx, const struct tr_op *o)
{
    struct totals *t = ctx;
    int64_t ns = o->end - o->start;
    if (o->kind == TR_COMPILE) {
        count_compilation(t, o);
        return;
    }
    bool graph = o->kind == TR_LAUNCH && !strcmp(o->name, "[graph]");
    struct tot_kernel *k = o->kind == TR_LAUNCH && !graph ? totals_kernel(t, o->name) : NULL;
    if (k && o->in_graph) {
        t->launches++;
        k->launches++;
    }
    if (!o->start || ns < 0) {
        t->unknown_ops++;
        return;
    }
    if (k) {
        add_time(&k->device, ns);
        k->occupancy += o->occupancy;
    } else if (graph) {
        add_time(&t->graph_times, ns);
    } else if (o->kind == TR_COPY) {
        add_time(&t->copy_times[o->way], ns);
        t->copy_bytes[o->way] += o->bytes;
        if (totals_is_sync_copy(o->call))
            t->sync_device += ns;
    } else {
        add_time(&t->fill_times, ns);
        t->fill_bytes += o->bytes;
    }
    t->device_total += ns;
    struct tot_span *s = TOTALS_GROW(t, spans, span_count);
    if (s)
        *s = (struct tot_span){ o->start, o->end, (uint64_t)o->pid << 32 | o->device };
}

/* ---- idle times ---- */

static int
by_start(const void *a, const void *b)
{
    const struct tot_span *x = a, *y = b;
    if (x->who != y->who)
        return x->who < y->who ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void
keep_gap(struct totals *t, const struct tot_gap *g)
{
    unsigned at = t->gap_count;
    while (at && t->gaps[at - 1].end - t->gaps[at - 1].start < g->end - g->start)
        at--;
    if (at == MAX_GAPS)
        return;
    if (t->gap_count < MAX_GAPS)
        t->gap_count++;
    memmove(&t->gaps[at + 1], &t->gaps[at], (t->gap_count - at - 1) * sizeof *g);
    t->gaps[at] = *g;
}

/* The call that took most of the gap; none when most of it passed outside of calls. */
static void
blame(const struct totals *t, struct tot_gap *g)
{
    int64_t most = (g->end - g->start) / 2;
    for (unsigned i = 0; i < t->made_count; i++) {
        const struct tot_span *c = &t->made[i];
        int64_t from = c->start > g->start ? c->start : g->start, to = c->end < g->end ? c->end : g->end;
        if (to - from > most) {
            most = to - from;
            g->call = t->functions[c->who].name;
        }
    }
}

void
totals_find_gaps(struct totals *t)
{
    if (t->span_count)
        qsort(t->spans, t->span_count, sizeof *t->spans, by_start);
    for (unsigned i = 0; i < t->span_count; i++) {
        const struct tot_span *s = &t->spans[i];
        struct tot_device *d = t->device_count ? &t->devices[t->device_count - 1] : NULL;
        if (!d || ((uint64_t)d->pid << 32 | d->device) != s->who) {
            d = TOTALS_GROW(t, devices, device_count);
            if (!d)
                return;
            *d = (struct tot_device){ .pid = (uint32_t)(s->who >> 32), .device = (uint32_t)s->who, .first = s->start, .last = s->start };
        } else if (s->start > d->last) {
            keep_gap(t, &(struct tot_gap){ d->pid, d->device, d->last, s->start, NULL });
        }
        d->operations++;
        if (s->end > d->last) {
            d->busy += s->end - (s->start > d->last ? s->start : d->last);
            d->last = s->end;
        }
    }
    for (unsigned i = 0; i < t->gap_count; i++)
        blame(t, &t->gaps[i]);
}
