/* SPDX-License-Identifier: Apache-2.0
 * Shared by flow.c, divergence.c, spin.c and progress.c. */
#ifndef CWJ_ANALYSIS_FLOW_PRIVATE_H
#define CWJ_ANALYSIS_FLOW_PRIVATE_H

#include "jit/analysis/flow.h"

/* A set of registers that is quick to change: all words of a bit set, and a list of those that may not be 0. */
struct flow_set {
    uint64_t *bits;
    uint32_t *listed, n;
    bool *has;                      /* per word: it is listed */
};
void flow_set_init(struct flow_set *s, uint32_t words, struct cw_arena *a);     /* empty */
void flow_set_clear(struct flow_set *s);
void flow_set_add_row(struct flow_set *s, const struct flow_row *row);
int flow_ascending(const void *a, const void *b);               /* for qsort: two uint32_t */
void flow_set_row(struct flow_set *s, struct flow_row *row, struct cw_arena *a);
static inline void
flow_set_add(struct flow_set *s, uint32_t word, uint64_t bits)
{
    if (!s->has[word]) {
        s->has[word] = true;
        s->listed[s->n++] = word;
    }
    s->bits[word] |= bits;
}

/* A walk over blocks that visits each once: those with seen[b] == stamp. The arrays have an element per block. */
struct flow_walk {
    uint32_t *stack, *seen, top, stamp;
};
static inline struct flow_walk
flow_walk_new(uint32_t nblocks, struct cw_arena *a)
{
    return (struct flow_walk){ cw_arena_array(a, uint32_t, nblocks + 1), cw_arena_array(a, uint32_t, nblocks + 1), 0, 0 };
}
static inline void
flow_walk_to(struct flow_walk *w, uint32_t block)
{
    if (w->seen[block] == w->stamp)
        return;
    w->seen[block] = w->stamp;
    w->stack[w->top++] = block;
}
static inline void
flow_walk_from(struct flow_walk *w, uint32_t block)             /* begin */
{
    w->stamp++;
    w->top = 0;
    flow_walk_to(w, block);
}

bool flow_in_loop(const struct flow *f, uint32_t block, uint32_t loop);
bool flow_guarded_leave(const struct ptx_function *fn, uint32_t block);
void flow_find_spins(struct flow *f, struct cw_arena *a);
/* spin.c: add to regs (a bit set) the registers that depend, within loop l, on an instruction of the loop for which source() holds; with
 * `control`, also registers with several definitions among which a dependent branch chooses. */
void flow_taint(const struct flow *f, uint32_t l, uint64_t *regs, bool control, bool (*source)(const struct ptx_inst *in, void *user), void *user);
/* Does an exit or a back edge of loop l depend on one of the registers? */
bool flow_leaves_by(const struct flow *f, uint32_t l, const uint64_t *regs);
void flow_divergence(struct flow *f, unsigned width, bool linear_x, struct cw_arena *a);

#endif
