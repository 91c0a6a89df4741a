/* SPDX-License-Identifier: Apache-2.0
 * Vector operands: fetched for all lanes with the instruction's modifiers (lane crossing by DPP, sub-dword selection by SDWA
 * and op_sel, abs, neg), and stored under the execution mask (omod, clamp, halves of a register). */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"

uint64_t
gfx_constant(const struct gfx_wave *w, const struct gfx_operand *o, enum gfx_type t)
{
    switch ((enum gfx_kind)o->kind) {
    case GFX_INT:
        return (uint64_t)o->imm;
    case GFX_LITERAL:
        return t == T_F64 ? (uint64_t)o->imm << 32 : (uint64_t)(uint32_t)o->imm;
    case GFX_FLOAT:
        if (t == T_BF16)
            return f32_bits((float)o->real) >> 16;
        return t == T_F64 || t == T_B64 ? f64_bits(o->real) : t == T_F16 || t == T_B16 ? f16_bits((float)o->real) : f32_bits((float)o->real);
    case GFX_SCC:
        return w->scc;
    case GFX_VCCZ:
        return !vcc_mask((struct gfx_wave *)w);
    case GFX_EXECZ:
        return !(gfx_exec_mask(w) & all_lanes((struct gfx_wave *)w));
    case GFX_SHARED_BASE:
        return (uint64_t)GFX_SHARED_APERTURE << 32;
    case GFX_SHARED_LIMIT:
        return (uint64_t)GFX_SHARED_APERTURE << 32 | 0xffffffffu;
    case GFX_PRIVATE_BASE:
        return (uint64_t)GFX_PRIVATE_APERTURE << 32;
    case GFX_PRIVATE_LIMIT:
        return (uint64_t)GFX_PRIVATE_APERTURE << 32 | 0xffffffffu;
    default:
        return 0;
    }
}

static uint32_t
selected(uint32_t x, uint8_t sel, bool sext)
{
    switch ((enum gfx_sel)sel) {
    case SEL_BYTE_0: case SEL_BYTE_1: case SEL_BYTE_2: case SEL_BYTE_3:
        x = x >> 8 * (sel - SEL_BYTE_0) & 0xff;
        return sext ? (uint32_t)(int32_t)(int8_t)x : x;
    case SEL_WORD_0: case SEL_WORD_1:
        x = x >> 16 * (sel - SEL_WORD_0) & 0xffff;
        return sext ? (uint32_t)(int32_t)(int16_t)x : x;
    default:
        return x;
    }
}

/* The lane that `l` reads under DPP, or -1 where there is none. */
static int
dpp_lane(W, I, unsigned l)
{
    unsigned a = i->dpp_arg, row = l & ~15u, in = l & 15;
    switch ((enum gfx_dpp)i->dpp_kind) {
    case DPP_QUAD: return (int)((l & ~3u) + (a >> 3 * (l & 3) & 3));
    case DPP_ROW_SHL: return in + a < 16 ? (int)(l + a) : -1;
    case DPP_ROW_SHR: return in >= a ? (int)(l - a) : -1;
    case DPP_ROW_ROR: return (int)(row + ((in + 16 - a) & 15));
    case DPP_WAVE_SHL: return l + 1 < w->lanes ? (int)l + 1 : -1;
    case DPP_WAVE_ROL: return (int)((l + 1) % w->lanes);
    case DPP_WAVE_SHR: return l ? (int)l - 1 : -1;
    case DPP_WAVE_ROR: return (int)((l + w->lanes - 1) % w->lanes);
    case DPP_MIRROR: return (int)(row + 15 - in);
    case DPP_HALF_MIRROR: return (int)((l & ~7u) + 7 - (l & 7));
    case DPP_BCAST15: return l >= 16 ? (int)(row - 1) : -1;
    case DPP_BCAST31: return l >= 32 ? 31 : -1;
    case DPP_ROW_SHARE: case DPP_NEWBCAST: return (int)(row + a);
    case DPP_ROW_XMASK: return (int)(row + (in ^ a));
    case DPP_8: return (int)((l & ~7u) + (a >> 3 * (l & 7) & 7));
    default: return (int)l;
    }
}

/* Lanes that a DPP instruction writes: those that its masks leave out, or whose source does not exist, keep their value. */
static uint64_t
dpp_enabled(W, I)
{
    uint64_t m = 0, exec = gfx_exec_mask(w);
    for (unsigned l = 0; l < w->lanes; l++) {
        int from = dpp_lane(w, i, l);
        bool on = (i->row_mask >> (l >> 4) & 1) && (i->bank_mask >> (l >> 2 & 3) & 1);
        if (on && (i->bound_ctrl || (from >= 0 && (exec >> from & 1)) || i->dpp_kind == DPP_8))
            m |= 1ull << l;
    }
    return m;
}

void
gfx_src32(W, I, unsigned n, unsigned source, enum gfx_type t, uint32_t x[LANES])
{
    const struct gfx_operand *o = &i->op[n];
    if (o->kind == GFX_VGPR) {
        const uint32_t *v = w->v[o->reg];
        if (i->dpp && source == 0) {
            uint64_t exec = gfx_exec_mask(w);
            for (unsigned l = 0; l < w->lanes; l++) {
                int from = dpp_lane(w, i, l);
                x[l] = from >= 0 && ((exec >> from & 1) || w->group->target->family >= GFX10) ? v[from] : 0;
            }
        } else {
            memcpy(x, v, 4 * w->lanes);
        }
    } else {
        uint32_t c = o->kind == GFX_SGPR ? w->s[o->reg] : (uint32_t)gfx_constant(w, o, t);
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = c;
    }
    if (i->sdwa && source < 2) {
        uint32_t bits = t == T_B16 || t == T_F16 ? 0xffff : ~0u;      /* the part of a register that a 16-bit operation uses */
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = selected(x[l], i->sel[source], o->sext) & bits;
    } else if (t == T_B16 || t == T_F16) {
        bool high = o->high || (i->op_sel >> source & 1);
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = high ? x[l] >> 16 : x[l] & 0xffff;
    }
}

void
gfx_src64(W, I, unsigned n, enum gfx_type t, uint64_t x[LANES])
{
    const struct gfx_operand *o = &i->op[n];
    if (o->kind == GFX_VGPR) {
        const uint32_t *lo = w->v[o->reg], *hi = w->v[o->reg + 1 < V_COUNT ? o->reg + 1 : o->reg];
        for (unsigned l = 0; l < w->lanes; l++) {
            unsigned from = l;
            if (i->dpp && n == 1) {
                int d = dpp_lane(w, i, l);
                if (d < 0) {
                    x[l] = 0;
                    continue;
                }
                from = (unsigned)d;
            }
            x[l] = lo[from] | (uint64_t)hi[from] << 32;
        }
    } else {
        uint64_t c = o->kind == GFX_SGPR ? w->s[o->reg] | (uint64_t)w->s[o->reg + 1] << 32 : gfx_constant(w, o, t);
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = c;
    }
}

void
gfx_srcf(W, I, unsigned n, unsigned source, float x[LANES])
{
    uint32_t b[LANES];
    const struct gfx_operand *o = &i->op[n];
    gfx_src32(w, i, n, source, T_F32, b);
    uint32_t keep = o->abs ? 0x7fffffffu : ~0u, flip = o->neg ? 0x80000000u : 0;
    for (unsigned l = 0; l < w->lanes; l++)
        x[l] = f32_of((b[l] & keep) ^ flip);
    if (!(w->mode >> 4 & 1))
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = flush32(x[l]);
}

void
gfx_srch(W, I, unsigned n, unsigned source, float x[LANES])
{
    uint32_t b[LANES];
    const struct gfx_operand *o = &i->op[n];
    gfx_src32(w, i, n, source, T_F16, b);
    uint32_t keep = o->abs ? 0x7fffu : 0xffffu, flip = o->neg ? 0x8000u : 0;
    for (unsigned l = 0; l < w->lanes; l++)
        x[l] = f16_of((b[l] & keep) ^ flip);
}

void
gfx_halves(W, I, unsigned n, enum gfx_type t, uint32_t lo[LANES], uint32_t hi[LANES])
{
    uint32_t x[LANES];
    const struct gfx_operand *o = &i->op[n];
    unsigned k = n - 1;
    if (o->kind == GFX_VGPR || o->kind == GFX_SGPR) {
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = o->kind == GFX_VGPR ? w->v[o->reg][l] : w->s[o->reg];
    } else {
        uint32_t c = (uint32_t)gfx_constant(w, o, t == T_B16 ? T_B32 : t);       /* of integers all 32 bits, even if the text
                                                                                  * shows a float */
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = c;
    }
    uint32_t flip_lo = t != T_B16 && (i->neg_lo >> k & 1) ? 0x8000u : 0, flip_hi = t != T_B16 && (i->neg_hi >> k & 1) ? 0x8000u : 0;
    for (unsigned l = 0; l < w->lanes; l++) {
        lo[l] = ((i->op_sel >> k & 1 ? x[l] >> 16 : x[l]) & 0xffff) ^ flip_lo;
        hi[l] = ((i->op_sel_hi >> k & 1 ? x[l] >> 16 : x[l]) & 0xffff) ^ flip_hi;
    }
}

void
gfx_srcd(W, I, unsigned n, double x[LANES])
{
    uint64_t b[LANES];
    const struct gfx_operand *o = &i->op[n];
    gfx_src64(w, i, n, T_F64, b);
    uint64_t keep = o->abs ? ~(1ull << 63) : ~0ull, flip = o->neg ? 1ull << 63 : 0;
    for (unsigned l = 0; l < w->lanes; l++)
        x[l] = f64_of((b[l] & keep) ^ flip);
}

void
gfx_put32(W, I, const uint32_t x[LANES])
{
    const struct gfx_operand *o = &i->op[0];
    if (o->kind != GFX_VGPR) {
        if (o->kind == GFX_SGPR)
            w->s[o->reg] = x[0];
        return;
    }
    if (!i->dpp && !i->sdwa) {
        put_reg(w, o->reg, x);
        return;
    }
    uint64_t m = gfx_exec_mask(w);
    if (i->dpp)
        m &= dpp_enabled(w, i);
    w->written[o->reg] |= m;
    for (unsigned l = 0; l < w->lanes; l++) {
        if (!(m >> l & 1))
            continue;
        uint32_t *d = &w->v[o->reg][l];
        if (i->sdwa && i->dst_sel != SEL_DWORD) {
            bool word = i->dst_sel >= SEL_WORD_0;
            unsigned shift = word ? 16u * (i->dst_sel - SEL_WORD_0) : 8u * (i->dst_sel - SEL_BYTE_0);
            uint32_t bits = (word ? 0xffffu : 0xffu) << shift, v = x[l] << shift & bits;
            if (i->dst_unused == 2)
                v |= *d & ~bits;
            else if (i->dst_unused == 1)
                v = (uint32_t)((word ? (int32_t)(int16_t)x[l] : (int32_t)(int8_t)x[l]) * (1 << shift));
            *d = v;
        } else {
            *d = x[l];
        }
    }
}

void
gfx_put64(W, I, const uint64_t x[LANES])
{
    const struct gfx_operand *o = &i->op[0];
    uint64_t m = gfx_exec_mask(w);
    if (o->kind != GFX_VGPR || o->reg + 1 >= V_COUNT)
        return;
    if (i->dpp)
        m &= dpp_enabled(w, i);
    w->written[o->reg] |= m;
    w->written[o->reg + 1] |= m;
    for (unsigned l = 0; l < w->lanes; l++)
        if (m >> l & 1) {
            w->v[o->reg][l] = (uint32_t)x[l];
            w->v[o->reg + 1][l] = (uint32_t)(x[l] >> 32);
        }
}

/* 16-bit results: before gfx10 they clear the upper half (but gfx9's VOP3 with op_sel keeps it), since then they keep it. */
void
gfx_put16(W, I, const uint32_t x[LANES])
{
    const struct gfx_operand *o = &i->op[0];
    uint32_t y[LANES];
    if (o->kind != GFX_VGPR || i->sdwa) {
        for (unsigned l = 0; l < w->lanes; l++)
            y[l] = x[l] & 0xffff;
        gfx_put32(w, i, y);
        return;
    }
    bool high = o->high || (i->op_sel >> 3 & 1), keep = w->group->target->family >= GFX10 || high;
    for (unsigned l = 0; l < w->lanes; l++) {
        uint32_t old = keep ? w->v[o->reg][l] : 0;
        y[l] = high ? (old & 0xffff) | x[l] << 16 : (old & 0xffff0000u) | (x[l] & 0xffff);
    }
    gfx_put32(w, i, y);
}

/* Output modifiers do nothing with the IEEE mode, nor where denormal results (this bit of the mode) are on. */
static bool
omod_applies(W, I, unsigned denormal_bit)
{
    return i->omod && !(w->mode & 0x200 && w->group->target->family < GFX12) && !(w->mode >> denormal_bit & 1);
}

/* NaN to zero: only with DX10_CLAMP, before gfx12. */
static bool
clamps_nan(W)
{
    return w->mode & 0x100 || w->group->target->family >= GFX12;
}

void
gfx_putf(W, I, float x[LANES])
{
    static const float by[4] = { 1, 2, 4, 0.5f };
    uint32_t b[LANES];
    if (omod_applies(w, i, 5))
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = x[l] == 0 ? 0 : x[l] * by[i->omod & 3];      /* -0 becomes +0 */
    if (i->clamp)
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = isnan(x[l]) ? (clamps_nan(w) ? 0 : x[l]) : x[l] <= 0 ? 0 : x[l] > 1 ? 1 : x[l];
    if (!(w->mode >> 5 & 1))
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = flush32(x[l]);
    for (unsigned l = 0; l < w->lanes; l++)
        b[l] = f32_bits(x[l]);
    gfx_put32(w, i, b);
}

uint32_t
gfx_clamp_half(W, uint32_t x)
{
    float f = f16_of(x);
    return isnan(f) ? (clamps_nan(w) ? 0 : x) : f <= 0 ? 0 : f > 1 ? 0x3c00 : x;
}

void
gfx_puth(W, I, float x[LANES])
{
    static const float by[4] = { 1, 2, 4, 0.5f };
    uint32_t b[LANES];
    if (omod_applies(w, i, 7))
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = x[l] == 0 ? 0 : x[l] * by[i->omod & 3];
    if (i->clamp)
        for (unsigned l = 0; l < w->lanes; l++)
            x[l] = isnan(x[l]) ? (clamps_nan(w) ? 0 : x[l]) : x[l] <= 0 ? 0 : x[l] > 1 ? 1 : x[l];
    for (unsigned l = 0; l < w->lanes; l++)
        b[l] = f16_bits(x[l]);
    gfx_put16(w, i, b);
}

void
gfx_putd(W, I, double x[LANES])
{
    static const double by[4] = { 1, 2, 4, 0.5 };
    uint64_t b[LANES];
    bool omod = omod_applies(w, i, 7);
    for (unsigned l = 0; l < w->lanes; l++) {
        double v = !omod ? x[l] : x[l] == 0 ? 0 : x[l] * by[i->omod & 3];
        if (i->clamp)
            v = isnan(v) ? (clamps_nan(w) ? 0 : v) : v <= 0 ? 0 : v > 1 ? 1 : v;
        b[l] = f64_bits(omod || i->clamp ? v : x[l]);
    }
    gfx_put64(w, i, b);
}
