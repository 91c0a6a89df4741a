/* SPDX-License-Identifier: Apache-2.0
 * Are the recorded results those of the launch with threads at each other's places? A kernel that takes its place from an atomic's old value stores what another run
 * stored elsewhere. What one thread stores belongs together: were only the elements compared, one by one, a fault that gives a thread's second
 * value to another thread would look like such an order. So a row is what one thread stored in one run, and the recorded values at the places of all rows
 * have to be the rows of that run in another order. */
#include "replay/explain_private.h"

#include <stdlib.h>
#include <string.h>

enum { LOG = 64 << 20, MAX_BYTES = 8 };         /* LOG: at most */

struct stored {
    uint64_t block, element;
    uint32_t thread;
};

struct row {
    const uint8_t *at;
    size_t size;
};

static int
by_thread(const void *a, const void *b)
{
    const struct stored *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->element > y->element) - (x->element < y->element);
}

static int
by_content(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->size != y->size ? (x->size > y->size) - (x->size < y->size) : memcmp(x->at, y->at, x->size);
}

/* The element of an address of the run, or UINT64_MAX. */
static uint64_t
element_at(const struct explain *x, const struct cwl_side *s, uint64_t address)
{
    for (uint32_t b = 0; b < x->base.dump.nbuffers; b++) {
        uint64_t offset = address - s->address[b];
        unsigned width = explain_width(x, b);
        if (offset < x->base.dump.buffers[b].size)
            return width <= MAX_BYTES && offset % width == 0 ? x->start[b] + offset / width : UINT64_MAX;
    }
    return UINT64_MAX;
}

/* What threads stored into `places` when the launch ran once more, by thread. NULL: it cannot be said. */
static struct stored *
run(struct explain *x, struct cwl_side *s, const struct set *places, uint64_t *count)
{
    const struct cwd_dump *d = &x->base.dump;
    uint64_t first = UINT64_MAX, end = 0, made, n = 0;
    for (uint32_t b = 0; b < d->nbuffers; b++) {
        bool any = false;
        for (uint64_t i = x->start[b]; i < x->start[b + 1] && !any; i++)
            any = places->in[i];
        if (!any)
            continue;
        first = d->buffers[b].address < first ? d->buffers[b].address : first;
        end = d->buffers[b].address + d->buffers[b].size > end ? d->buffers[b].address + d->buffers[b].size : end;
    }
    uint64_t control[16] = { [CWI_BLOCK] = UINT64_MAX, [CWI_ADDRESS] = first, [CWI_RAW] = UINT64_MAX, [CWI_SIZE] = end - first };
    if (end <= first || !explain_runs(x) || cwl_run_recorded(s, CWI_WATCH, control, LOG, &made, &x->e) != CW_OK)
        return NULL;
    struct stored *at = made <= control[CWI_ROOM] ? calloc(made + 1, sizeof *at) : NULL;
    for (uint64_t i = 0; at && i < made; i++) {
        uint64_t w[4];
        memcpy(w, s->log + CWI_HEADER + i * 32, sizeof w);
        uint64_t e = CWI_KIND(w[0]) == CWI_STORE ? element_at(x, s, ~w[2]) : UINT64_MAX;
        if (e != UINT64_MAX && places->in[e])
            at[n++] = (struct stored){ w[1], e, CWI_THREAD(w[0]) };
    }
    *count = n;
    return at;
}

static const uint8_t *
value_at(const struct explain *x, const struct cwd_dump *d, uint64_t element, unsigned *width)
{
    uint64_t index;
    uint32_t c = explain_content(x, element, &index);
    *width = explain_width(x, c);
    return explain_values(d, c) + index * *width;
}

/* The rows of `d`, whose bytes go into `pool`. */
static size_t
fill(const struct explain *x, const struct cwd_dump *d, const struct stored *at, uint64_t n, struct row *rows, uint8_t *pool)
{
    size_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        unsigned width;
        if (i && !by_thread(&at[i], &at[i - 1]))
            continue;                   /* stored twice: the memory has what was last */
        if (!i || at[i].block != at[i - 1].block || at[i].thread != at[i - 1].thread)
            rows[count++] = (struct row){ pool, 0 };
        const uint8_t *v = value_at(x, d, at[i].element, &width);
        memcpy(pool, v, width);
        pool += width;
        rows[count - 1].size += width;
    }
    qsort(rows, count, sizeof *rows, by_content);
    return count;
}

bool
explain_rows(struct explain *x, struct cwl_side *side, const struct set *places)
{
    uint64_t n = 0;
    struct set differs, stored;
    struct stored *at = set_init(x, &differs) ? run(x, side, places, &n) : NULL;
    struct row *a = at ? calloc(n + 1, sizeof *a) : NULL, *b = at ? calloc(n + 1, sizeof *b) : NULL;
    uint8_t *pool = at ? malloc((n + 1) * 2 * MAX_BYTES) : NULL;
    bool same = set_init(x, &stored) && a && b && pool && n;
    if (same) {
        qsort(at, n, sizeof *at, by_thread);
        for (uint64_t i = 0; i < n; i++)
            stored.in[at[i].element] = 1;
        explain_compare(x, &x->base.dump, &side->result, &differs);
        for (uint64_t i = 0; i < x->elements && same; i++)
            same = !differs.in[i] || stored.in[i];
        size_t rows = fill(x, &x->base.dump, at, n, a, pool);
        (void)fill(x, &side->result, at, n, b, pool + (n + 1) * MAX_BYTES);
        for (size_t i = 0; i < rows && same; i++)
            same = !by_content(&a[i], &b[i]);
    }
    free(pool);
    free(a);
    free(b);
    free(at);
    free(differs.in);
    free(stored.in);
    return same;
}
