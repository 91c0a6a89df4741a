/* SPDX-License-Identifier: Apache-2.0
 * Vector registers whose number is the instruction's plus M0: a mode of gfx9 that holds for vector instructions until it is
 * switched off ("VGPR Indexing" of the Vega and CDNA documents), and moves of gfx10 and later. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

enum { DST = 8, MODE_SHIFT = 12, OFFSET_MASK = 0xff };

/* M0 holds the offset in bits 0 to 7, and in bits 12 to 15 which operands it is for: three sources, the destination. arg: 0 on, 1 off, 2 mode, 3 offset. */
static void
set_index(W, I)
{
    uint32_t m0 = w->s[S_M0];
    switch (i->arg) {
    case 0:
        m0 = (m0 & ~0xf0ffu) | (s32(w, &i->op[0]) & OFFSET_MASK) | (i->raw[0] >> 8 & 15) << MODE_SHIFT;
        w->indexed = true;
        break;
    case 1:
        w->indexed = false;
        break;
    case 2:
        m0 = (m0 & ~0xf000u) | (i->raw[0] & 15) << MODE_SHIFT;
        break;
    default:
        m0 = (m0 & ~(uint32_t)OFFSET_MASK) | (s32(w, &i->op[0]) & OFFSET_MASK);
    }
    w->s[S_M0] = m0;
}

static bool
shift(W, I, struct gfx_operand *o, uint32_t by)
{
    if (o->kind != GFX_VGPR)
        return true;
    if ((uint64_t)o->reg + by + (o->dwords ? o->dwords : 1) > V_AGPR) {
        gfx_fault(w, FAULT_INSTRUCTION, "%s: with an index of %u there is no such register", i->text, by);
        return false;
    }
    o->reg = (uint16_t)(o->reg + by);
    return true;
}

void
gfx_step_indexed(struct gfx_wave *w, const struct gfx_insn *i)
{
    struct gfx_insn moved = *i;
    uint32_t by = w->s[S_M0] & OFFSET_MASK, which = w->s[S_M0] >> MODE_SHIFT;
    bool ok = !(which & DST) || shift(w, i, &moved.op[0], by);
    for (unsigned n = 1; n <= 3 && n < i->noperands; n++)
        ok = ok && (!(which >> (n - 1) & 1) || shift(w, i, &moved.op[n], by));
    if (ok)
        i->exec(w, &moved);
}

/* arg: bit 0 the source is relative, bit 1 the destination, bit 2 each has an offset of its own: 10 bits, from bits 0 and 16. */
static void
movrel(W, I)
{
    struct gfx_insn moved = *i;
    uint32_t m0 = w->s[S_M0], source = i->arg & 4 ? m0 & 0x3ff : m0, destination = i->arg & 4 ? m0 >> 16 & 0x3ff : m0;
    uint32_t x[LANES];
    if ((i->arg & 1 && !shift(w, i, &moved.op[1], source)) || (i->arg & 2 && !shift(w, i, &moved.op[0], destination)))
        return;
    gfx_src32(w, &moved, 1, 0, T_B32, x);
    gfx_put32(w, &moved, x);
}

/* v_swaprel_b32: two registers, each with an offset of its own. */
static void
swaprel(W, I)
{
    struct gfx_insn moved = *i;
    uint32_t m0 = w->s[S_M0], x[LANES], y[LANES];
    if (!shift(w, i, &moved.op[1], m0 & 0x3ff) || !shift(w, i, &moved.op[0], m0 >> 16 & 0x3ff))
        return;
    memcpy(x, w->v[moved.op[0].reg], sizeof x);
    memcpy(y, w->v[moved.op[1].reg], sizeof y);
    put_reg(w, moved.op[0].reg, y);
    put_reg(w, moved.op[1].reg, x);
}

#define INDEX(name, arg) { "s_set_gpr_idx_" name, set_index, GFX_C_OTHER, arg }
#define MOVE(name, arg) { "v_movrel" name "_b32", movrel, GFX_C_VALU, arg }
const struct gfx_row gfx_indexed[] = {
    INDEX("on", 0), INDEX("off", 1), INDEX("mode", 2), INDEX("idx", 3), MOVE("s", 1), MOVE("d", 2), MOVE("sd", 3), MOVE("sd_2", 7),
    { "v_swaprel_b32", swaprel, GFX_C_VALU, 0 },
    { NULL, NULL, 0, 0 },
};
