/* SPDX-License-Identifier: Apache-2.0
 * Leaves that concern several threads, or units beside the processor: warp operations, barriers, matrices, asynchronous copies,
 * textures. */
#include "tools/ptx-fuzz/gen_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
leaf_warp(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_LEAF, s);
    uint32_t k = rng_below(c->r, 10), v = rng_below(c->r, 32);
    n->warp = true;
    if (k < 4) {
        static const char *const modes[] = { "up", "down", "bfly", "idx" };
        static const char *const from[] = { "sub.u32 %t1, %lane, %t1;", "add.u32 %t1, %lane, %t1;", "xor.b32 %t1, %lane, %t1;", "and.b32 %t1, %t1, 31;" };
        unsigned m = rng_below(c->r, 4);
        add_reg(c, n, PTX_B32, true, false);
        add_reg(c, n, PTX_B32, false, false);
        bool varying = m == 3 || rng_percent(c->r, 30);
        add_reg(c, n, PTX_U32, false, false);
        const char *b = varying ? "$2" : FMT(c, "%u", v);
        /* Reading from a lane that does not take part gives an undefined value: then keep the lane's own. */
        n->text2 = FMT(c, "mov.b32 %%t1, %s;\nand.b32 %%t1, %%t1, 31;\nmov.b32 %%t3, $1;\nshfl.sync.%s.b32 %%t0|%%tp0, %%t3, %%t1, %u, $m;\n%s\nand.b32 %%t1, %%t1, 31;\n"
                       "shr.u32 %%t2, $m, %%t1;\nand.b32 %%t2, %%t2, 1;\nsetp.ne.and.u32 %%tp0, %%t2, 0, %%tp0;\nselp.b32 $0, %%t0, %%t3, %%tp0;",
                       b, modes[m], m == 0 ? 0 : 31, from[m]);
        add_reg(c, n, PTX_PRED, true, false);
        uint32_t seg = rng_below(c->r, 6), cv = ((32u - (1u << seg)) << 8) | (m == 0 ? 0 : 31);
        n->text = FMT(c, "shfl.sync.%s.b32 $0|$3, $1, %s, %u, $m;", modes[m], b, rng_percent(c->r, 50) ? cv : m == 0 ? 0 : 31);
        n->form = FMT(c, "shfl.sync.%s", modes[m]);
    } else if (k < 6) {
        static const char *const modes[] = { "all", "any", "uni" };
        bool ballot = rng_percent(c->r, 40);
        unsigned m = rng_below(c->r, 3);
        add_reg(c, n, ballot ? PTX_B32 : PTX_PRED, true, false);
        add_reg(c, n, PTX_PRED, false, false);
        const char *not = rng_percent(c->r, 30) ? "!" : "";
        n->text = ballot ? FMT(c, "vote.sync.ballot.b32 $0, %s$1, $m;", not) : FMT(c, "vote.sync.%s.pred $0, %s$1, $m;", modes[m], not);
        n->form = ballot ? "vote.sync.ballot" : FMT(c, "vote.sync.%s", modes[m]);
    } else if (k < 8) {
        static const char *const ops[] = { "add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32" };
        unsigned m = rng_below(c->r, 9);
        add_reg(c, n, PTX_U32, true, false);
        add_reg(c, n, PTX_U32, false, false);
        n->text = FMT(c, "redux.sync.%s $0, $1, $m;", ops[m]);
        n->form = FMT(c, "redux.sync.%s", ops[m]);
    } else if (k < 9) {
        bool wide = rng_percent(c->r, 30), all = rng_percent(c->r, 50);
        add_reg(c, n, PTX_U32, true, false);
        add_reg(c, n, wide ? PTX_U64 : PTX_U32, false, false);
        add_reg(c, n, PTX_PRED, true, false);
        n->text = all ? FMT(c, "match.all.sync.b%u $0|$2, $1, $m;", wide ? 64 : 32) : FMT(c, "match.any.sync.b%u $0, $1, $m;", wide ? 64 : 32);
        n->form = all ? "match.all.sync" : "match.any.sync";
    } else {
        add_reg(c, n, PTX_U32, true, false);
        n->text = "bar.warp.sync $m;\nactivemask.b32 %t0;\nmov.u32 %t1, %lanemask_eq;\nand.b32 $0, %t0, %t1;";
        n->form = "activemask";
    }
}

/* Values through shared memory, or a vote of the block. Only where every thread of the block passes. */
void
leaf_barrier(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_LEAF, s);
    uint32_t k = rng_below(c->r, 10);
    uint32_t threads = c->p->block[0] * c->p->block[1] * c->p->block[2], id = rng_below(c->r, 16);
    const char *bar = FMT(c, c->o->native || rng_percent(c->r, 30) ? "barrier.sync %u" : "bar.sync %u", id);
    if (threads % 32 == 0 && !c->w.exits && rng_percent(c->r, 30))
        bar = FMT(c, "%s, %u", bar, threads);
    n->barrier = true;
    if (k < 6) {
        bool wide = rng_percent(c->r, 30);
        unsigned t = wide ? PTX_B64 : PTX_B32;
        add_reg(c, n, t, true, false);
        add_reg(c, n, t, false, false);
        add_reg(c, n, PTX_U32, false, false);
        n->text = FMT(c, "%s;\nst.shared.b%u [%%xch], $1;\n%s;\nrem.u32 %%t0, $2, %%nthr;\nmul.wide.u32 %%u0, %%t0, 8;\nadd.s64 %%u0, %%u0, %%xch0;\nld.shared.b%u $0, [%%u0];",
                      bar, wide ? 64 : 32, bar, wide ? 64 : 32);
        n->form = "exchange through shared memory";
    } else if (k < 8) {
        add_reg(c, n, PTX_PRED, true, false);
        add_reg(c, n, PTX_PRED, false, false);
        n->text = FMT(c, "%s.red.%s.pred $0, %u, %s$1;", c->o->native ? "barrier" : "bar", rng_percent(c->r, 50) ? "and" : "or", id, rng_percent(c->r, 30) ? "!" : "");
        n->form = "bar.red";
    } else {
        add_reg(c, n, PTX_U32, true, false);
        add_reg(c, n, PTX_PRED, false, false);
        n->text = FMT(c, "%s.red.popc.u32 $0, %u, $1;", c->o->native ? "barrier" : "bar", id);
        n->form = "bar.red.popc";
    }
}

/* ---- matrices ---- */

/* d {, c the same registers}, a, b: as many registers of each, ten at most. mma.sp: how many sparsity selectors there are. */
static const struct { const char *text; uint8_t type, nd, na, nb, selectors; } products[] = {
    { "m16n8k8.row.col.f32.f16.f16.f32", PTX_F32, 4, 2, 1 }, { "m16n8k16.row.col.f32.f16.f16.f32", PTX_F32, 4, 4, 2 },
    { "m16n8k8.row.col.f16.f16.f16.f16", PTX_B32, 2, 2, 1 }, { "m16n8k16.row.col.f16.f16.f16.f16", PTX_B32, 2, 4, 2 },
    { "m16n8k8.row.col.f32.bf16.bf16.f32", PTX_F32, 4, 2, 1 }, { "m16n8k16.row.col.f32.bf16.bf16.f32", PTX_F32, 4, 4, 2 },
    { "m16n8k4.row.col.f32.tf32.tf32.f32", PTX_F32, 4, 2, 1 }, { "m16n8k8.row.col.f32.tf32.tf32.f32", PTX_F32, 4, 4, 2 },
    { "m8n8k16.row.col.s32.s8.s8.s32", PTX_S32, 2, 1, 1 }, { "m16n8k16.row.col.s32.u8.s8.s32", PTX_S32, 4, 2, 1 },
    { "m16n8k32.row.col.satfinite.s32.s8.u8.s32", PTX_S32, 4, 4, 2 }, { "m16n8k32.row.col.s32.s4.u4.s32", PTX_S32, 4, 2, 1 },
    { "m16n8k128.row.col.s32.b1.b1.s32.xor.popc", PTX_S32, 4, 2, 1 }, { "m16n8k128.row.col.s32.b1.b1.s32.and.popc", PTX_S32, 4, 2, 1 },
    { "m8n8k4.row.col.f64.f64.f64.f64", PTX_F64, 2, 1, 1 },
    { "m16n8k16.row.col.f32.f16.f16.f32", PTX_F32, 4, 2, 2, 4 }, { "m16n8k32.row.col.f16.f16.f16.f16", PTX_B32, 2, 4, 4, 2 },
    { "m16n8k8.row.col.f32.tf32.tf32.f32", PTX_F32, 4, 2, 2, 4 }, { "m16n8k32.row.col.s32.s8.u8.s32", PTX_S32, 4, 2, 2, 2 },
    { "m16n8k64.row.col.satfinite.s32.u4.s4.s32", PTX_S32, 4, 2, 2, 2 },
};

/* Metadata in %t1, from register `from`: two different places of four, the lower first; of tf32 the lower or the upper half. */
static const char *
metadata(struct ctx *c, unsigned from, bool tf32)
{
    if (tf32)
        return FMT(c, "and.b32 %%t0, $%u, 0x11111111;\nmad.lo.u32 %%t1, %%t0, 10, 0x44444444;\n", from);
    return FMT(c, "and.b32 %%t0, $%u, 0x33333333;\nshr.u32 %%t1, %%t0, 1;\nand.b32 %%t1, %%t1, 0x11111111;\nnot.b32 %%t1, %%t1;\nand.b32 %%t0, %%t0, %%t1;\n"
               "and.b32 %%t1, %%t0, 0x0f0f0f0f;\nor.b32 %%t1, %%t1, 0x0c0c0c0c;\nand.b32 %%t0, %%t0, 0xf0f0f0f0;\nshl.b32 %%t0, %%t0, 2;\n"
               "xor.b32 %%t0, %%t0, 0xc0c0c0c0;\nor.b32 %%t1, %%t1, %%t0;\n", from);
}

static const char *
list_of(struct ctx *c, unsigned first, unsigned n)
{
    static const char *const formats[] = { "", "{$%u}", "{$%u, $%u}", "", "{$%u, $%u, $%u, $%u}" };
    return FMT(c, formats[n], first, first + 1, first + 2, first + 3);
}

/* Only where all lanes of full warps pass together. */
void
leaf_matrix(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_LEAF, s);
    uint32_t k = rng_below(c->r, 10);
    c->p->use_matrix = true;
    if (k < 7 || !c->w.own_shared) {
        unsigned i = rng_below(c->r, sizeof products / sizeof *products), type = products[i].type, nd = products[i].nd, na = products[i].na;
        unsigned factor = type == PTX_F64 ? PTX_F64 : PTX_U32;
        /* Integer sums in the unsigned registers: there are enough of them. */
        add_regs(c, n, type == PTX_F32 || type == PTX_F64 ? type : PTX_B32, true, 1);
        if (type != PTX_F64)
            n->op[0].cls = type == PTX_F32 ? C_F : C_R;
        else
            n->op[0].cls = C_G;
        unsigned cls = n->op[0].cls, count = class_info[cls].count;
        n->op[0].index = (uint8_t)(n->op[0].index % count);
        for (unsigned d = 1; d < nd; d++) {
            n->op[d] = n->op[0];
            n->op[d].index = (uint8_t)((n->op[0].index + d) % count);
        }
        n->nops = (uint8_t)nd;
        unsigned selectors = products[i].selectors;
        for (unsigned d = 0; d < na + products[i].nb; d++) {
            add_reg(c, n, factor, false, false)->fixed = true;
            n->op[n->nops - 1].cls = factor == PTX_F64 ? C_G : C_R;
            n->op[n->nops - 1].index = (uint8_t)(n->op[n->nops - 1].index % class_info[n->op[n->nops - 1].cls].count);
        }
        const char *dst = list_of(c, 0, nd);
        /* Behind a divergent loop the hardware's lanes are still apart, and `.aligned` requires them together. */
        const char *before = selectors ? metadata(c, nd, strstr(products[i].text, "tf32") != NULL) : "";
        const char *behind = selectors ? FMT(c, ", %%t1, %u", rng_below(c->r, selectors)) : "";
        const char *name = !selectors ? "mma" : rng_percent(c->r, 50) ? "mma.sp" : "mma.sp::ordered_metadata";
        n->text = FMT(c, "%sbar.warp.sync -1;\n%s.sync.aligned.%s %s, %s, %s, %s%s;", before, name, products[i].text, dst, list_of(c, nd, na),
                      list_of(c, nd + na, products[i].nb), dst, behind);
        for (unsigned d = 0; d < nd && type == PTX_F64 && !c->o->nan64; d++)
            n->text = FMT(c, "%s\nsetp.nan.f64 %%tp0, $%u, $%u;\nselp.b64 $%u, 0x7ff8000000000000, $%u, %%tp0;", n->text, d, d, d, d);
        n->form = FMT(c, "%s.%s", selectors ? "mma.sp" : "mma", products[i].text);
    } else if (k < 9) {
        static const uint8_t counts[] = { 1, 2, 4 };
        unsigned m = rng_below(c->r, 3), at = rng_below(c->r, OWN_BYTES / 16) * 16;
        const char *trans = rng_percent(c->r, 50) ? ".trans" : "";
        for (unsigned i = 0; i < counts[m]; i++) {
            n->op[n->nops++] = (struct operand){ .kind = O_REG, .cls = C_R, .index = 0, .type = PTX_B32, .dst = true, .fixed = true };
            n->op[i].index = (uint8_t)((i ? n->op[0].index + i : rng_below(c->r, class_info[C_R].count)) % class_info[C_R].count);
        }
        /* Rows are other lanes' memory. */
        n->text = FMT(c, "bar.warp.sync -1;\nldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%osh+%u];\nbar.warp.sync -1;", counts[m], trans,
                      list_of(c, 0, counts[m]), at);
        n->form = FMT(c, "ldmatrix.x%u%s", counts[m], trans);
    } else {
        add_regs(c, n, PTX_U32, true, 1);
        add_regs(c, n, PTX_U32, false, 1);
        n->text = "bar.warp.sync -1;\nmovmatrix.sync.aligned.m8n8.trans.b16 $0, $1;";
        n->form = "movmatrix";
    }
}

/* ---- copies and textures ---- */

/* Into the thread's own part of shared memory, followed by a wait. */
void
leaf_async(struct ctx *c, struct seq *s)
{
    static const char *const waits[] = { "cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;" };
    unsigned bytes = 4u << rng_below(c->r, 3), to = rng_below(c->r, OWN_BYTES / bytes) * bytes, from = rng_below(c->r, IN_COMMON / bytes) * bytes;
    if (c->func || !c->w.own_shared) {
        leaf_form(c, s);
        return;
    }
    struct node *n = new_node(c, N_LEAF, s);
    const char *rest = rng_percent(c->r, 30) ? FMT(c, ", %u", rng_below(c->r, bytes + 1)) : "";
    n->text = FMT(c, "?cp.async.%s.shared.global [%%osh+%u], [%%inb+%u], %u%s;\n%s", bytes == 16 && rng_percent(c->r, 50) ? "cg" : "ca", to, from, bytes, rest,
                  waits[rng_below(c->r, 2)]);
    n->form = "cp.async";
    maybe_guard(c, n);
}

/* One texel, inside or a little outside. */
void
leaf_texture(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_LEAF, s);
    bool floats = rng_percent(c->r, 50), by_float = rng_percent(c->r, 40);
    for (unsigned i = 0; i < 4; i++) {
        enum reg_class k = floats ? C_F : C_R;
        n->op[n->nops++] = (struct operand){ .kind = O_REG, .cls = (uint8_t)k, .type = floats ? PTX_F32 : PTX_U32, .dst = true, .fixed = true };
        n->op[i].index = (uint8_t)((i ? n->op[0].index + i : rng_below(c->r, class_info[k].count)) % class_info[k].count);
    }
    add_reg(c, n, PTX_U32, false, false);
    add_reg(c, n, PTX_U32, false, false);
    const char *place = "and.b32 %t0, $4, 31;\nsub.s32 %t0, %t0, 8;\nand.b32 %t1, $5, 15;\nsub.s32 %t1, %t1, 4;";
    if (by_float)
        place = FMT(c, "%s\ncvt.rn.f32.s32 %%tf0, %%t0;\nadd.rn.f32 %%tf0, %%tf0, 0f3E800000;\ncvt.rn.f32.s32 %%tf1, %%t1;\nadd.rn.f32 %%tf1, %%tf1, 0f3F400000;", place);
    n->text = FMT(c, "%s\ntex.2d.v4.%s.%s {$0, $1, $2, $3}, [%%tx%u, {%s}];", place, floats ? "f32" : "u32", by_float ? "f32" : "s32", floats,
                  by_float ? "%tf0, %tf1" : "%t0, %t1");
    n->form = FMT(c, "tex.2d.v4.%s.%s", floats ? "f32" : "u32", by_float ? "f32" : "s32");
}
