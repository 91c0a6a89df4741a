/* SPDX-License-Identifier: Apache-2.0
 * Which registers an instruction needs; run_wave compares them with those that the wave has written.
 *
 * An unwritten register may legitimately be moved, saved, selected from or stored: LLVM does so with undefined values. Checked
 * are the sources of vector and scalar arithmetic and the addresses of memory accesses, except what LLVM leaves undefined on
 * purpose: the upper half of 64-bit integers that were extended, scalar masks on which it does logic, lanes that DPP crosses,
 * packed pairs and matrices. */
#define _GNU_SOURCE
#include "tools/gfxemu/gfx.h"

#include <string.h>

static bool
starts(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strncmp(name, *list, strlen(*list)))
            return true;
    return false;
}

static void
scalars(uint64_t mask[2], const struct gfx_operand *o, unsigned n)
{
    for (unsigned k = 0; k < n && o->reg + k < S_VCC; k++)
        mask[(o->reg + k) >> 6] |= 1ull << ((o->reg + k) & 63);
}

static void
needs(struct gfx_insn *i, unsigned op, unsigned dwords)
{
    const struct gfx_operand *o = &i->op[op];
    if (op >= i->noperands)
        return;
    if (o->kind == GFX_SGPR)
        scalars(i->sreads, o, dwords < o->dwords ? dwords : o->dwords);
    for (unsigned k = 0; o->kind == GFX_VGPR && k < dwords && k < o->dwords && i->nreads < sizeof i->reads / sizeof *i->reads; k++)
        if (o->reg + k < V_COUNT)
            i->reads[i->nreads++] = (uint16_t)(o->reg + k);
}

static void
vector(struct gfx_insn *i)
{
    static const char *const moves[] = { "v_mov", "v_swap", "v_read", "v_writelane", "v_accvgpr", "v_permlane", "v_cndmask", NULL };
    static const char *const accumulate[] = { "v_fmac", "v_mac_", "v_dot2c", "v_dot4c", "v_dot8c", NULL };
    static const char *const two[] = { "v_div_scale", "v_mad_u64", "v_mad_i64", "v_mad_co", NULL };
    bool compare = !strncmp(i->name, "v_cmp", 5), carry = strstr(i->name, "_co_") || starts(i->name, two);
    bool wide = strstr(i->name, "f64") != NULL;
    if (i->op[0].kind == GFX_SGPR && (!compare || i->noperands >= 3))
        scalars(i->swrites, &i->op[0], i->op[0].dwords);
    if (carry && i->op[1].kind == GFX_SGPR)
        scalars(i->swrites, &i->op[1], i->op[1].dwords);
    if (starts(i->name, moves) || (!strncmp(i->name, "v_pk_", 5) && strstr(i->name, "f32")))
        return;
    unsigned first = compare ? i->noperands >= 3 : starts(i->name, accumulate) ? 0 : carry ? 2 : 1;
    for (unsigned op = first; op < i->noperands; op++)
        if (!i->dpp || op != (compare ? first : 1))
            needs(i, op, wide ? 2 : 1);
}

static void
scalar(struct gfx_insn *i)
{
    static const char *const arithmetic[] = { "s_add", "s_sub", "s_mul", "s_lshl", "s_lshr", "s_ashr", "s_min", "s_max", "s_bfe", "s_abs", "s_cmp_",
        "s_cmpk_", NULL };
    bool compare = !strncmp(i->name, "s_cmp", 5), in_place = strstr(i->name, "k_i32") != NULL;
    if (!compare && i->op[0].kind == GFX_SGPR)
        scalars(i->swrites, &i->op[0], i->op[0].dwords);
    if (!strncmp(i->name, "s_movrel", 8))       /* whichever it is */
        i->swrites[0] = i->swrites[1] = ~0ull;
    if (starts(i->name, arithmetic))
        for (unsigned op = compare || in_place ? 0 : 1; op < i->noperands; op++)
            needs(i, op, 1);
}

/* The address of a store comes first, of a load, or an atomic that returns, after the destination; of a buffer always second. */
static void
memory(struct gfx_insn *i)
{
    bool store = strstr(i->name, "store") || strstr(i->name, "write"), atomic = strstr(i->name, "atomic") != NULL;
    bool flat = !strncmp(i->name, "flat", 4), buffer = !strncmp(i->name, "buffer", 6);
    bool global = !strncmp(i->name, "global", 6);
    if (!global && !flat && !buffer && strncmp(i->name, "scratch", 7))
        return;
    bool returns = !atomic || i->noperands >= (flat ? 3 : 4);
    unsigned at = buffer ? 1 : store || !returns ? 0 : 1;
    needs(i, at, 2);
    if (global)
        needs(i, at + (store || atomic ? 2 : 1), 2);
}

static void
find(struct gfx_insn *i)
{
    switch ((enum gfx_class)i->cls) {
    case GFX_C_VALU: case GFX_C_TRANS:
        vector(i);
        break;
    case GFX_C_SALU:
        scalar(i);
        break;
    case GFX_C_VMEM: case GFX_C_FLAT: case GFX_C_SCRATCH:
        memory(i);
        break;
    case GFX_C_LDS:
        if (strstr(i->name, "read") || strstr(i->name, "load") || strstr(i->name, "_rtn_") || strstr(i->name, "permute"))
            needs(i, 1, 1);
        else if (!strstr(i->name, "swizzle"))
            needs(i, 0, 1);
        break;
    case GFX_C_SMEM:
        if (i->op[0].kind == GFX_SGPR)
            scalars(i->swrites, &i->op[0], i->op[0].dwords);
        needs(i, 1, 2);
        needs(i, 2, 1);
        break;
    default:                    /* s_getpc_b64, s_call_b64, s_memtime, ... */
        if (i->op[0].kind == GFX_SGPR)
            scalars(i->swrites, &i->op[0], i->op[0].dwords);
        break;
    }
}

void
gfx_find_reads(struct gfx_insn *i)
{
    if (!i->name)
        return;
    find(i);
    for (unsigned k = i->nreads; k < 3; k++)
        i->reads[k] = V_COUNT;
    i->scalars = i->sreads[0] | i->sreads[1] | i->swrites[0] | i->swrites[1];
}
