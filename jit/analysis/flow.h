/* SPDX-License-Identifier: Apache-2.0
 * Control-flow and divergence facts of one PTX function, computed before its emission. The caller's arena owns all arrays; the caller guards
 * it (cw_arena_guard), here and in the other analyses. Invariants:
 * `order` holds every block once, `position` is its inverse; the blocks of a natural loop are contiguous in `order`; block 0 is first. */
#ifndef CWJ_ANALYSIS_FLOW_H
#define CWJ_ANALYSIS_FLOW_H

#include "jit/ptx/ir.h"

struct flow_loop {
    uint32_t header;
    uint32_t parent;                /* loop number, or FLOW_NONE */
    uint32_t last;                  /* last position in `order` */
    uint32_t depth;                 /* 1 = outermost */
    uint32_t nblocks;
    uint32_t first_number, last_number; /* preorder numbers of this loop and of the last one within it */
};

#define FLOW_NONE UINT32_MAX

/* How a register's value depends on the lane. AFFINE32: base + step * lane modulo 2^32 (one scalar, `base`). AFFINE64:
 * offset + factor * extend(base + step * lane), base 32 bits, offset 64 bits (two scalars); with `extend` FLOW_EXTEND_NONE
 * it is offset + step * lane modulo 2^64 (one scalar, offset). All are exact, wrap-around included. */
enum flow_kind { FLOW_UNKNOWN, FLOW_UNIFORM, FLOW_AFFINE32, FLOW_AFFINE64, FLOW_VARYING };
enum flow_extend { FLOW_EXTEND_NONE, FLOW_EXTEND_ZERO, FLOW_EXTEND_SIGN };
struct flow_shape {
    uint8_t kind, extend;
    int32_t step;
    int64_t factor;
};

/* A set of registers, as the words of a bit set that are not 0, ascending by index. Most blocks use few of a function's registers. */
struct flow_word {
    uint64_t bits;
    uint32_t index;                 /* bit r % 64 of word r / 64 is register r */
};
struct flow_row {
    struct flow_word *word;
    uint32_t n;
};

struct flow {
    const struct ptx_function *fn;
    uint32_t  n;                    /* blocks */
    uint32_t *order, *position;     /* layout: order[position[b]] == b */
    uint32_t *post, npost;          /* blocks in post-order */
    uint32_t *idom;                 /* immediate dominator; idom[0] == 0 */
    uint32_t *dom_first, *dom_last; /* preorder numbers of the dominator tree: flow_dominates */
    uint32_t *ipdom;                /* immediate post-dominator; n = the virtual exit */
    struct flow_loop *loops;
    uint32_t  nloops;
    uint32_t *loop_of;              /* innermost loop of a block, or FLOW_NONE */
    bool      irreducible;          /* a retreating edge whose target does not dominate its source */

    /* registers */
    struct flow_row *live_in;       /* per block: registers live on entry to it */
    uint32_t  words;                /* of a bit set of all registers, at least 1 */
    uint32_t *ndefs;                /* definitions per register, counting each guarded one */
    uint32_t *def_block;            /* block of the only definition, or FLOW_NONE */

    /* results of the divergence analysis */
    struct flow_shape *shape;       /* per register; FLOW_UNIFORM where `uniform` */
    bool     *uniform;              /* all lanes that read the register see one value */
    bool     *masked_write;         /* a write must keep the value of lanes that do not execute it */
    bool     *masked;               /* some lanes may be inactive: the block is between a divergent branch and its join */
    bool     *divergent;            /* block ends in a lane-varying branch */
    bool     *spin;                 /* the block is the header of a loop whose exit waits for memory that other threads write */
};

/* Call `visit` for every register read (write false) or written (write true) by an instruction, the guard included. */
void flow_visit_regs(const struct ptx_inst *in, void (*visit)(void *user, uint32_t reg, bool write), void *user);

/* The number of operands written; they come first. */
unsigned flow_destinations(const struct ptx_inst *in);

/* A width that stands for the whole block, for facts only: no value is affine, and `masked` has no runs. */
enum { FLOW_BLOCK = 1024 };

/* fn->blocks must be built. With width 1 every register is uniform and no block masked. linear_x: see struct
 * cwh_variant. */
void flow_analyse(struct flow *f, const struct ptx_function *fn, unsigned width, bool linear_x, struct cw_arena *arena);

/* The shape of a source operand, and whether a shape is one of the affine ones. */
struct flow_shape flow_operand_shape(const struct flow *f, const struct ptx_operand *o, bool linear_x, unsigned width);
bool flow_is_affine(struct flow_shape s);

/* The result of an affine instruction from the shapes of its sources: FLOW_UNKNOWN if one of those is, FLOW_VARYING if it is not affine.
 * Looks at destination operand 0 only. */
struct flow_shape flow_affine(const struct flow *f, const struct ptx_inst *in, bool linear_x, unsigned width);

/* The maximum number of 32-bit registers live at once, except predicates, constants and parameters. */
uint32_t flow_pressure(const struct flow *f, struct cw_arena *arena);

bool flow_dominates(const struct flow *f, uint32_t a, uint32_t b);
uint64_t flow_row_word(const struct flow_row *row, uint32_t index);
static inline bool
flow_live_in(const struct flow *f, uint32_t block, uint32_t reg)
{
    return flow_row_word(&f->live_in[block], reg / 64) >> (reg % 64) & 1;
}

#endif
