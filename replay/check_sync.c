/* SPDX-License-Identifier: Apache-2.0
 * Barriers and member masks. What each thread did in a warp is counted: with barriers the n-th of one thread and the n-th of another
 * belong together, with member masks the n-th instruction with the same mask. A thread that ended before the others came there is missed by no one. */
#include "replay/check_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIVERGENT, NOT_A_MEMBER, MISSING, BLOCK };

/* The n-th of a kind in a warp. */
struct round {
    uint64_t warp, key, n;              /* number in the grid; UINT64_MAX: a barrier, else the mask */
    uint64_t order;                     /* of the first */
    uint32_t lanes, id, first;          /* which came; the first one's instruction and lane */
    bool aligned;
};

struct sync {
    struct round *rounds;
    uint64_t nrounds, room;
    uint64_t *gone;                     /* by thread of the grid: when it ended, 0 not */
    struct counter *counters;           /* how many of a key a thread executed */
    uint64_t ncounters, counter_room;
    uint64_t threads;                   /* of the grid */
};

struct counter {
    uint64_t thread, key, n;
    bool used;
};

static uint64_t
mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = a * 0x9e3779b97f4a7c15ull ^ b * 0xc2b2ae3d27d4eb4full ^ c * 0x165667b19e3779f9ull;
    return h ^ h >> 31;
}

static bool
grow_counters(struct sync *s)
{
    uint64_t room = s->counter_room ? s->counter_room * 2 : 1 << 10;
    struct counter *bigger = calloc(room, sizeof *bigger);
    if (!bigger)
        return false;
    for (uint64_t i = 0; i < s->counter_room; i++)
        if (s->counters[i].used) {
            uint64_t k = mix(s->counters[i].thread, s->counters[i].key, 0) & (room - 1);
            while (bigger[k].used)
                k = (k + 1) & (room - 1);
            bigger[k] = s->counters[i];
        }
    free(s->counters);
    s->counters = bigger;
    s->counter_room = room;
    return true;
}

/* How many of this key did the thread execute before? */
static bool
next(struct sync *s, uint64_t thread, uint64_t key, uint64_t *n)
{
    if (s->ncounters * 2 >= s->counter_room && !grow_counters(s))
        return false;
    uint64_t k = mix(thread, key, 0) & (s->counter_room - 1);
    while (s->counters[k].used && (s->counters[k].thread != thread || s->counters[k].key != key))
        k = (k + 1) & (s->counter_room - 1);
    if (!s->counters[k].used) {
        s->counters[k] = (struct counter){ thread, key, 0, true };
        s->ncounters++;
    }
    *n = s->counters[k].n++;
    return true;
}

static struct round *
round_at(struct sync *s, uint64_t warp, uint64_t key, uint64_t n)
{
    if (s->nrounds * 2 >= s->room) {
        uint64_t room = s->room ? s->room * 2 : 1 << 10;
        struct round *bigger = calloc(room, sizeof *bigger);
        if (!bigger)
            return NULL;
        for (uint64_t i = 0; i < s->room; i++)
            if (s->rounds[i].lanes) {
                uint64_t k = mix(s->rounds[i].warp, s->rounds[i].key, s->rounds[i].n) & (room - 1);
                while (bigger[k].lanes)
                    k = (k + 1) & (room - 1);
                bigger[k] = s->rounds[i];
            }
        free(s->rounds);
        s->rounds = bigger;
        s->room = room;
    }
    uint64_t k = mix(warp, key, n) & (s->room - 1);
    while (s->rounds[k].lanes && (s->rounds[k].warp != warp || s->rounds[k].key != key || s->rounds[k].n != n))
        k = (k + 1) & (s->room - 1);
    if (!s->rounds[k].lanes) {
        s->rounds[k] = (struct round){ .warp = warp, .key = key, .n = n };
        s->nrounds++;
    }
    return &s->rounds[k];
}

static uint64_t
warps_of(const struct check *c)
{
    return (c->threads + 31) / 32;
}

static void
came(struct check *c, const struct record *r, uint64_t key, bool aligned)
{
    struct sync *s = c->sync;
    uint64_t thread = r->who.block * c->threads + r->who.thread, n;
    uint32_t lane = r->who.thread % 32;
    struct round *x = next(s, thread, key, &n) ? round_at(s, r->who.block * warps_of(c) + r->who.thread / 32, key, n) : NULL;
    if (!x) {
        c->failed = true;
        return;
    }
    if (!x->lanes) {
        x->order = r->order;
        x->id = r->id;
        x->first = lane;
        x->aligned = aligned;
    } else if (x->id != r->id && aligned && x->aligned) {
        const struct who first = { r->who.block, r->who.thread / 32 * 32 + x->first };
        check_found(c, &(struct finding){ .kind = CWC_SYNC, .what = DIVERGENT, .act = { { first, x->id, r->what }, { r->who, r->id, r->what } } });
    }
    x->lanes |= 1u << lane;
}

void
sync_record(struct check *c, const struct record *r)
{
    struct sync *s = c->sync;
    uint64_t thread = r->who.block * c->threads + r->who.thread;
    if (!(c->what & CWC_SYNC))
        return;
    if (r->what == CWI_GONE) {
        if (!s->gone[thread])
            s->gone[thread] = r->order;
    } else if (r->what == CWI_ARRIVE && (!(r->value >> 32) || r->value >> 32 == c->threads)) {
        came(c, r, UINT64_MAX, r->address);
    } else if (r->what == CWI_MEMBER) {
        uint32_t mask = (uint32_t)r->value;
        if (!(mask >> r->who.thread % 32 & 1)) {
            check_found(c, &(struct finding){ .kind = CWC_SYNC, .what = NOT_A_MEMBER, .act = { { r->who, r->id, r->what } }, .record = *r });
            return;
        }
        came(c, r, mask, false);
    }
}

/* Those who should have come and had not ended. */
static uint32_t
absent(const struct check *c, const struct round *x)
{
    uint32_t lanes = 0, wanted = x->key == UINT64_MAX ? UINT32_MAX : (uint32_t)x->key;
    uint64_t block = x->warp / warps_of(c), first = x->warp % warps_of(c) * 32;
    for (uint32_t k = 0; k < 32 && first + k < c->threads; k++) {
        uint64_t gone = c->sync->gone[block * c->threads + first + k];
        if (wanted >> k & 1 && !(x->lanes >> k & 1) && (!gone || gone > x->order))
            lanes |= 1u << k;
    }
    return lanes;
}

void
sync_say(struct check *c, const struct finding *f)
{
    char who[2][128], place[2][700];
    uint32_t mask = (uint32_t)f->record.value;
    for (unsigned i = 0; i < 2; i++) {
        check_who(c, f->act[i].who, who[i], sizeof who[i]);
        check_place(c, f->act[i].id, place[i], sizeof place[i]);
    }
    switch (f->what) {
    case DIVERGENT:
        check_say(c, "divergent barrier: threads of one warp wait at different barriers\n  %s at %s\n  %s at %s", who[0], place[0], who[1], place[1]);
        return;
    case NOT_A_MEMBER:
        check_say(c, "wrong member mask: 0x%08x does not name the thread's own lane, %u\n  %s at %s", mask, f->act[0].who.thread % 32, who[0], place[0]);
        return;
    case BLOCK:
        check_say(c, "divergent barrier: %s waits at %s\n  and %s goes on without it", who[0], place[0], who[1]);
        return;
    case MISSING:
        check_say(c, "wrong member mask: 0x%08x at %s\n  of %s names lane %u, %s, which does not take part", mask, place[0], who[0], f->act[1].who.thread % 32, who[1]);
        return;
    }
}

static void
found_absent(struct check *c, const struct round *x, uint32_t lanes)
{
    uint64_t block = x->warp / warps_of(c);
    uint32_t first = (uint32_t)(x->warp % warps_of(c) * 32), missing = (uint32_t)__builtin_ctz(lanes);
    check_found(c, &(struct finding){ .kind = CWC_SYNC, .what = x->key == UINT64_MAX ? BLOCK : MISSING,
                                      .act = { { { block, first + x->first }, x->id }, { { block, first + missing }, x->id } }, .record.value = x->key });
}

void
sync_finish(struct check *c)
{
    struct sync *s = c->sync;
    if (!(c->what & CWC_SYNC) || c->truncated)
        return;
    for (uint64_t i = 0; i < s->room; i++) {
        const struct round *x = &s->rounds[i];
        uint32_t lanes = x->lanes ? absent(c, x) : 0;
        if (lanes && (x->key != UINT64_MAX || x->aligned))
            found_absent(c, x, lanes);
    }
}

bool
sync_open(struct check *c)
{
    const uint32_t *g = c->side->dump.grid;
    struct sync *s = c->sync = calloc(1, sizeof *s);
    if (!s)
        return false;
    s->threads = (uint64_t)g[0] * g[1] * g[2] * c->threads;
    s->gone = c->what & CWC_SYNC ? calloc(s->threads + 1, sizeof *s->gone) : NULL;
    return s->gone || !(c->what & CWC_SYNC);
}

void
sync_close(struct check *c)
{
    if (!c->sync)
        return;
    free(c->sync->rounds);
    free(c->sync->gone);
    free(c->sync->counters);
    free(c->sync);
}
