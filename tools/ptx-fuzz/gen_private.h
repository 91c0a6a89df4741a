/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the generator share: gen.c (control flow, whole programs), gen_node.c (random numbers, nodes, operands, input),
 * gen_leaf.c (what one thread does alone), gen_wide.c (what threads do together, and copies and textures). */
#ifndef PTX_FUZZ_GEN_PRIVATE_H
#define PTX_FUZZ_GEN_PRIVATE_H

#include "tools/ptx-fuzz/fuzz.h"

/* What a program may use. */
struct swarm {
    uint8_t weight[NCATEGORIES];
    bool own_global, own_shared, local, input, constant, param, generic, vectors, atoms, reds;
    bool matrix, async, textures;
    bool ifs, loops, switches, wild, calls, exits, breaks, warp, barriers, guards, carry, packs, sregs;
};

struct ctx {
    struct program *p;
    struct rng *r;
    const struct options *o;
    const struct forms *f;
    struct swarm w;
    struct func *func;          /* NULL: the kernel */
    bool uniform;
    uint32_t depth, budget, mult;
    uint64_t cost;
    uint32_t loop[4], nloops;   /* node numbers of the counters in scope */
    bool in_loop, in_wild, loop_top, loop_had_continue;
};

enum { MAX_COST = 6000 };

#define FMT(c, ...) cw_arena_printf(&(c)->p->arena, __VA_ARGS__)

/* A node of `s`; out of memory a spare one, with p->failed set. */
struct node *new_node(struct ctx *c, enum node_kind kind, struct seq *s);
uint64_t edge_value(struct rng *r, unsigned type);
bool is_int(unsigned type);
/* The registers that an operand of this type may use. */
enum reg_class class_for(const struct ctx *c, unsigned type, bool dst, bool relaxed);
struct operand *add_reg(struct ctx *c, struct node *n, unsigned type, bool dst, bool relaxed);
/* `count` registers of one class, different ones where they are written. */
void add_regs(struct ctx *c, struct node *n, unsigned type, bool dst, unsigned count);
struct operand *add_source(struct ctx *c, struct node *n, unsigned type, bool relaxed);
void maybe_guard(struct ctx *c, struct node *n);

void leaf_form(struct ctx *c, struct seq *s);
void leaf_memory(struct ctx *c, struct seq *s);
void leaf_atom(struct ctx *c, struct seq *s);
void leaf_red(struct ctx *c, struct seq *s);
void leaf_carry(struct ctx *c, struct seq *s);
void leaf_pack(struct ctx *c, struct seq *s);
void leaf_sreg(struct ctx *c, struct seq *s);
void leaf_warp(struct ctx *c, struct seq *s);
void leaf_barrier(struct ctx *c, struct seq *s);
void leaf_matrix(struct ctx *c, struct seq *s);
void leaf_async(struct ctx *c, struct seq *s);
void leaf_texture(struct ctx *c, struct seq *s);

#endif
