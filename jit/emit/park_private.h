/* SPDX-License-Identifier: Apache-2.0
 * A function whose control flow is being changed for lanes that wait for each other: between park.c and park_rounds.c. */
#ifndef CWJ_EMIT_PARK_PRIVATE_H
#define CWJ_EMIT_PARK_PRIVATE_H

#include "jit/emit/emit_private.h"
#include "jit/emit/rewrite.h"
#include "jit/analysis/flow_private.h"

struct park_graph {
    struct emit *e;
    struct waits *w;
    struct cw_arena *a;
    struct rewrite to;              /* the copy */
    struct ptx_function *fn;        /* the same */
    struct emit_park *park;
    uint32_t nsplit;                /* blocks before edges are redirected */
    uint32_t leave;                 /* the block with `ret`, or FLOW_NONE */
    struct flow flow;
    bool *meets, *releases;         /* per block */
    bool *partly;                   /* per block: what meets there is part of a warp */
    bool *waiting, *parked;         /* per loop */
    uint32_t *entry;                /* per block: where edges to it lead now */
    struct flow_walk walk;          /* of the region looked at last */
    uint32_t *member, nmember, *ahead, *behind;
    uint64_t budget;                /* block visits left; at 0 regions are given up */
};

static inline bool
park_in_region(const struct park_graph *g, uint32_t block)
{
    return g->walk.seen[block] == g->walk.stamp;
}

/* park = number; then to `to`. */
uint32_t park_setting_block(struct park_graph *g, uint32_t number, uint32_t to);
/* if (park cmp number) to `yes`, else to `no`. */
uint32_t park_testing_block(struct park_graph *g, uint8_t cmp, uint32_t number, uint32_t yes, uint32_t no);

/* park_rounds.c: change the whole function so that each lane runs by itself. g is prepared, and no edge of it is changed yet. */
void park_rounds(struct park_graph *g);

#endif
