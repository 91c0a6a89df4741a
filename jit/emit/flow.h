/* SPDX-License-Identifier: Apache-2.0
 * Control-flow and divergence facts of one PTX function, computed before its emission. All arrays live in an arena.
 * Invariants: `order` holds every block once, `position` is its inverse; the blocks of a natural loop are contiguous in
 * `order`; block 0 is first. */
#ifndef CWJ_EMIT_FLOW_H
#define CWJ_EMIT_FLOW_H

#include "jit/ptx/ir.h"

struct flow_loop {
    uint32_t header;
    uint32_t parent;                /* loop number, or FLOW_NONE */
    uint32_t last;                  /* last position in `order` */
    uint32_t depth;                 /* 1 = outermost */
    uint32_t nblocks;
};

#define FLOW_NONE UINT32_MAX

struct flow {
    const struct ptx_function *fn;
    uint32_t  n;                    /* blocks */
    uint32_t *order, *position;     /* layout: order[position[b]] == b */
    uint32_t *idom;                 /* immediate dominator; idom[0] == 0 */
    uint32_t *ipdom;                /* immediate post-dominator; n = the virtual exit */
    struct flow_loop *loops;
    uint32_t  nloops;
    uint32_t *loop_of;              /* innermost loop of a block, or FLOW_NONE */
    bool      irreducible;          /* a retreating edge whose target does not dominate its source */

    /* registers */
    uint64_t *live_in;              /* n rows of `words` words: registers live on entry to a block */
    uint32_t  words;
    uint32_t *ndefs;                /* definitions per register, counting each guarded one */
    uint32_t *def_block;            /* block of the only definition, or FLOW_NONE */

    /* results of the divergence analysis */
    bool     *uniform;              /* register holds one value for all lanes that read it */
    bool     *blend;                /* a write must keep the value of the lanes that do not execute it */
    bool     *masked;               /* block may run with some lanes only: it lies between a divergent branch and its join */
    bool     *divergent;            /* block ends in a lane-varying branch */
};

/* Call `visit` for every register read (write false) or written (write true) by an instruction, the guard included. */
void flow_visit_regs(const struct ptx_inst *in, void (*visit)(void *user, uint32_t reg, bool write), void *user);

/* How many operands are written; they come first. */
unsigned flow_destinations(const struct ptx_inst *in);

/* fn->blocks must be built. With `varying` false (a SIMT target) only layout, dominators and loops are computed.
 * `entry_uniform`: registers that are parameters of a device function are lane-varying. */
cw_result flow_analyse(struct flow *f, const struct ptx_function *fn, bool lanes, bool linear_x, struct cw_arena *arena) CW_MUST_CHECK;

bool flow_dominates(const struct flow *f, uint32_t a, uint32_t b);
static inline bool
flow_live_in(const struct flow *f, uint32_t block, uint32_t reg)
{
    return f->live_in[(size_t)block * f->words + reg / 64] >> (reg % 64) & 1;
}

#endif
