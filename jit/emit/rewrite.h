/* SPDX-License-Identifier: Apache-2.0
 * A function of PTX that is being made from another: instructions, blocks, registers and symbols are appended. Used by park.c, park_rounds.c and
 * flatten.c. The arena, which is guarded, owns everything. */
#ifndef CWJ_EMIT_REWRITE_H
#define CWJ_EMIT_REWRITE_H

#include "jit/ptx/ir.h"

struct rewrite {
    struct cw_arena *a;
    struct ptx_function *fn;
    uint32_t inst_cap, block_cap, reg_cap, local_cap;
};

/* Each returns the number of the (first) new element. */
uint32_t rewrite_inst(struct rewrite *w, const struct ptx_inst *in);
uint32_t rewrite_inst_with(struct rewrite *w, struct ptx_inst in, const struct ptx_operand *operands, unsigned n);     /* copies the operands */
uint32_t rewrite_regs(struct rewrite *w, uint32_t n);
uint32_t rewrite_reg(struct rewrite *w, const char *name, ptx_type type);
/* A block with instructions first .. first + count - 1 and up to two successors, which may be set later. */
uint32_t rewrite_block(struct rewrite *w, uint32_t first, uint32_t count, unsigned nsucc, uint32_t yes, uint32_t no);

/* Operands. */
static inline struct ptx_operand
rewrite_register(uint32_t r)
{
    return (struct ptx_operand){ .kind = PTX_OPND_REG, .video_sel = -1, .index = r };
}

static inline struct ptx_operand
rewrite_number(int64_t n)
{
    return (struct ptx_operand){ .kind = PTX_OPND_IMM, .video_sel = -1, .imm = n };
}

#endif
