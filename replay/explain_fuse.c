/* SPDX-License-Identifier: Apache-2.0
 * Which products and sums did NVIDIA's compiler fuse? Its rule is not published: it fuses where a product is used once, mostly elsewhere too,
 * and of a sum of two products either. So four guesses come first; from the best a search goes on, one sum at a time, as long as fewer
 * elements differ. Of what makes all equal, the pairs that are not needed are left out. */
#include "replay/explain_private.h"

#include "impl/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct search {
    struct explain *x;
    struct cwv_variant with;
    uint8_t *fuse;                      /* the best so far, */
    struct set *best;                   /* and what differs with it */
    struct set now;
};

static uint64_t
differing(struct search *s, const uint8_t *fuse)
{
    s->with.fuse = fuse;
    memset(s->now.in, 0, s->x->elements);
    s->now.count = 0;
    return explain_try(s->x, &s->with, &s->now, NULL) == TRIED ? s->now.count : UINT64_MAX;
}

static void
keep(struct search *s)
{
    memcpy(s->best->in, s->now.in, s->x->elements);
    s->best->count = s->now.count;
}

/* once: only products with one use; k: which of two. */
static void
guess(const struct explain *x, bool once, unsigned k, uint8_t *fuse)
{
    memset(fuse, 0, x->base.program.ninsts);
    for (uint32_t i = 0; i < x->nsums; i++) {
        const struct cwv_sum *s = &x->sums[i];
        for (unsigned n = 0; n < 2 && !fuse[s->id]; n++, k = !k)
            if (s->mul[k] != CWV_NONE && (!once || s->once[k]))
                fuse[s->id] = (uint8_t)(k + 1);
    }
}

/* One sum: does another choice for it leave fewer differences? */
static bool
step(struct search *s, const struct cwv_sum *sum)
{
    uint8_t *at = &s->fuse[sum->id], best = *at, was = *at;
    for (uint8_t k = 0; k < 3; k++) {
        if (k == was || (k && sum->mul[k - 1] == CWV_NONE))
            continue;
        *at = k;
        if (differing(s, s->fuse) >= s->best->count)
            continue;
        best = k;
        keep(s);
    }
    *at = best;
    return best != was;
}

static void
climb(struct search *s)
{
    struct explain *x = s->x;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < x->nsums && s->best->count && x->runs < x->o->runs; i++)
            more = step(s, &x->sums[i]) || more;
    }
}

/* Leave out, in halves, quarters, ... what is not needed. */
static void
minimise(struct search *s)
{
    const struct explain *x = s->x;
    uint8_t *was = malloc(x->base.program.ninsts + (size_t)1);
    for (uint32_t size = x->nsums; was && size; size /= 2)
        for (uint32_t from = 0; from < x->nsums && x->runs < x->o->runs; from += size) {
            bool any = false;
            memcpy(was, s->fuse, x->base.program.ninsts);
            for (uint32_t i = from; i < from + size && i < x->nsums; i++) {
                any = any || s->fuse[x->sums[i].id];
                s->fuse[x->sums[i].id] = 0;
            }
            if (any && differing(s, s->fuse))
                memcpy(s->fuse, was, x->base.program.ninsts);
        }
    free(was);
}

bool
explain_fuse(struct explain *x, const struct cwv_variant *with, struct set *differs, uint8_t *fuse)
{
    struct search s = { .x = x, .with = *with, .fuse = fuse, .best = differs };
    size_t n = x->base.program.ninsts + (size_t)1;
    uint8_t *choice = calloc(n, 1);
    uint64_t plain = differs->count;
    bool ok = choice && set_init(x, &s.now);
    memset(fuse, 0, n);
    for (unsigned g = 0; ok && g < 4 && x->nsums && differs->count; g++) {
        guess(x, !(g & 2), g & 1, choice);
        if (differing(&s, choice) >= differs->count)
            continue;
        memcpy(fuse, choice, n);
        keep(&s);
    }
    if (ok && differs->count)
        climb(&s);
    if (ok && !differs->count)
        minimise(&s);
    free(choice);
    free(s.now.in);
    return differs->count < plain;
}

void
explain_say_fused(const struct explain *x, const uint8_t *fuse)
{
    enum { MANY = 8 };
    uint32_t n = 0;
    char a[700], b[700];
    for (uint32_t i = 0; i < x->nsums; i++) {
        const struct cwv_sum *s = &x->sums[i];
        unsigned k = fuse[s->id];
        if (!k || ++n > MANY)
            continue;
        explain_place(x, &x->base, s->mul[k - 1], a, sizeof a);
        explain_place(x, &x->base, s->id, b, sizeof b);
        cw_text_print(stdout, "  %s\n    with %s\n", a, b);
    }
    if (n > MANY)
        cw_text_print(stdout, "  and %u more\n", n - MANY);
}
