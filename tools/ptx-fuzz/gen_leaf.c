/* SPDX-License-Identifier: Apache-2.0
 * Leaves that concern one thread: instruction forms, memory of its own, atomic operations, carry chains, packing. */
#include "tools/ptx-fuzz/gen_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- leaves ---- */

static bool
allowed(const struct options *o, const struct form *x)
{
    return !(x->flags & FORM_APPROX && !o->approx) && !(x->flags & FORM_CONTRACT && !o->contract) && !(x->flags & FORM_LOOSE && o->native);
}

/* ptxas makes several instructions of some forms, and does not guard all of them. */
static bool
guard_is_kept(const struct form *x)
{
    return x->category == CAT_INT || x->category == CAT_BIT || x->category == CAT_MOV || !strncmp(x->text, "setp", 4) || !strncmp(x->text, "selp", 4);
}

/* ptxas computes instructions of constants itself, and not always as the hardware does: one source remains a register. */
static void
keep_variable(struct ctx *c, struct node *n)
{
    struct operand *constant = NULL;
    for (unsigned i = 0; i < n->nops && c->o->native; i++) {
        struct operand *o = &n->op[i];
        if (!o->dst && o->kind != O_IMM && o->type != PTX_PRED)
            return;
        if (o->kind == O_IMM && !o->fixed && !constant)
            constant = o;
    }
    if (!constant)
        return;
    enum reg_class k = class_for(c, constant->type, false, false);
    *constant = (struct operand){ .kind = O_REG, .cls = (uint8_t)k, .index = (uint8_t)rng_below(c->r, class_info[k].count), .type = constant->type, .fixed = true };
}

void
leaf_form(struct ctx *c, struct seq *s)
{
    unsigned total = 0, k = 0;
    for (unsigned i = 0; i < NCATEGORIES; i++)
        total += c->f->n[i] ? c->w.weight[i] : 0;
    uint32_t pick = rng_below(c->r, total);
    for (k = 0; k < NCATEGORIES - 1; k++) {
        unsigned w = c->f->n[k] ? c->w.weight[k] : 0;
        if (pick < w)
            break;
        pick -= w;
    }
    if (!c->f->n[k])
        k = CAT_INT;
    uint32_t index = rng_below(c->r, c->f->n[k]);
    const struct form *x = &c->f->list[c->f->of[k][index]];
    for (unsigned again = 0; again < 8 && !allowed(c->o, x); again++)
        x = &c->f->list[c->f->of[k][rng_below(c->r, c->f->n[k])]];
    struct node *n = new_node(c, N_LEAF, s);
    n->off = !allowed(c->o, x);
    struct cw_buf b;
    cw_buf_init(&b);
    const char *pre = "";
    cw_buf_printf(&b, "?%s ", x->text);
    for (unsigned i = 0; i < x->nroles; i++) {
        const struct role *r = &x->role[i];
        unsigned at = n->nops;
        cw_buf_puts(&b, i ? ", " : "");
        if (r->kind == ROLE_IMM) {
            n->op[n->nops++] = (struct operand){ .kind = O_IMM, .type = PTX_U32, .imm = rng_below(c->r, r->limit), .fixed = true };
            cw_buf_printf(&b, "$%u", at);
        } else if (r->kind == ROLE_PRED_SRC) {
            add_reg(c, n, PTX_PRED, false, false);
            cw_buf_printf(&b, "%s$%u", rng_percent(c->r, 30) && strncmp(x->text, "selp", 4) && strcmp(strchr(x->text, '.'), ".pred") ? "!" : "", at);
        } else if (r->dst) {
            add_reg(c, n, r->type, true, r->relaxed);
            cw_buf_printf(&b, "$%u", at);
            if (r->pair) {
                struct operand *q = add_reg(c, n, PTX_PRED, true, false);
                if (n->op[at].cls == C_P && q->index == n->op[at].index)
                    q->index = (uint8_t)((q->index + 1) % class_info[C_P].count);
                cw_buf_printf(&b, "|$%u", at + 1);
            }
        } else if (r->nonzero) {
            unsigned bits = ptx_type_bits((ptx_type)r->type);
            add_reg(c, n, r->type, false, false);
            pre = FMT(c, "or.b%u %%tz%u, $%u, 1;\n", bits, bits, at);
            cw_buf_printf(&b, "%%tz%u", bits);
        } else {
            if (r->variable)
                add_reg(c, n, r->type, false, false)->fixed = true;
            else
                add_source(c, n, r->type, r->relaxed);
            if (r->small && n->op[at].kind == O_IMM)
                n->op[at].imm &= 0xff;
            n->op[at].fixed |= r->small;
            cw_buf_printf(&b, "$%u", at);
        }
    }
    cw_buf_puts(&b, ";");
    keep_variable(c, n);
    n->text = FMT(c, "%s%s%s", pre, b.data ? b.data : "",
                  x->flags & FORM_NAN64 && !c->o->nan64 ? "\nsetp.nan.f64 %tp0, $0, $0;\nselp.b64 $0, 0x7ff8000000000000, $0, %tp0;" : "");
    n->form = x->text;
    cw_buf_finish(&b);
    /* min(x, x) and the like are folded, NaN or not. */
    struct operand *y = &n->op[1], *z = &n->op[2];
    if (n->nops > 2 && x->category >= CAT_F32 && x->category <= CAT_HALF && y->kind == O_REG && z->kind == O_REG && y->cls == z->cls && y->index == z->index)
        z->index = (uint8_t)((z->index + 1) % class_info[z->cls].count);
    maybe_guard(c, n);
    if (c->o->native && !guard_is_kept(x))
        n->guard = -1;
}

static unsigned
memory_type(struct rng *r)
{
    static const uint8_t types[] = { PTX_B8, PTX_U8, PTX_S8, PTX_B16, PTX_U16, PTX_S16, PTX_B32, PTX_U32, PTX_S32, PTX_B64, PTX_U64, PTX_S64,
                                     PTX_F32, PTX_F64, PTX_B32, PTX_F32, PTX_B64 };
    return types[rng_below(r, sizeof types)];
}

/* The place of a load or store: space, address expression, and the lines that compute it. */
struct place { const char *space, *base; uint32_t size; bool writable, symbol; };

static bool
pick_place(struct ctx *c, bool store, struct place *out)
{
    struct place all[8];
    unsigned n = 0;
    if (c->w.own_global && !c->func)
        all[n++] = (struct place){ "global", "%own", OWN_BYTES, true, false };
    if (c->w.own_shared && !c->func)
        all[n++] = (struct place){ "shared", "%osh", OWN_BYTES, true, false };
    if (c->w.local)
        all[n++] = (struct place){ "local", "loc", OWN_BYTES, true, true };
    if (c->w.input && !c->func && !store)
        all[n++] = (struct place){ "global", "%inb", IN_COMMON, false, false };
    if (c->w.constant && !store) {
        all[n++] = (struct place){ "const", "ctab$#", TABLE_BYTES, false, true };
        all[n++] = (struct place){ "global", "gtab$#", TABLE_BYTES, false, true };
    }
    if (c->w.param && !c->func && !store)
        all[n++] = (struct place){ "param", "k$#_arr", 24, false, true };
    if (!n)
        return false;
    *out = all[rng_below(c->r, n)];
    return true;
}

/* Lines that compute an address; its operand in brackets goes to `out`. */
static const char *
address(struct ctx *c, struct node *n, const struct place *w, unsigned bytes, const char **space, char *out, size_t size)
{
    uint32_t at = rng_below(c->r, w->size / bytes) * bytes;
    bool param = !strcmp(w->space, "param"), dynamic = !param && rng_percent(c->r, 40), generic = !param && c->w.generic && rng_percent(c->r, 25);
    *space = w->space;
    if (!dynamic && !generic) {
        snprintf(out, size, "[%s+%u]", w->base, at);
        return "";
    }
    const char *pre = FMT(c, "mov.b64 %%u0, %s;\n", w->base);
    if (dynamic) {
        struct operand *o = add_reg(c, n, PTX_U32, false, false);
        (void)o;
        /* The tables' sizes are powers of two, and so is an access's. */
        pre = FMT(c, "%sand.b32 %%t0, $%u, %u;\ncvt.u64.u32 %%u1, %%t0;\nadd.s64 %%u0, %%u0, %%u1;\n", pre, n->nops - 1u, (w->size - 1) & ~(bytes - 1));
        at = 0;
    }
    if (generic) {
        pre = FMT(c, "%scvta.%s.u64 %%u0, %%u0;\n", pre, w->space);
        *space = "";
    }
    snprintf(out, size, at ? "[%%u0+%u]" : "[%%u0]", at);
    return pre;
}

static const char *
qualifiers(struct ctx *c, const char *space, bool store, bool read_only, bool vec)
{
    static const char *const loads[] = { ".ca", ".cg", ".cs", ".cv", ".volatile", ".relaxed.cta", ".relaxed.gpu", ".acquire.gpu", ".weak", ".nc" };
    static const char *const stores[] = { ".wb", ".cg", ".cs", ".wt", ".volatile", ".relaxed.cta", ".relaxed.sys", ".release.gpu", ".weak" };
    bool global = !strcmp(space, "global");
    if (!strcmp(space, "param") || !strcmp(space, "const") || !rng_percent(c->r, 25))
        return "";
    if (!global)
        return !strcmp(space, "local") ? rng_percent(c->r, 50) ? ".weak" : "" : rng_percent(c->r, 50) ? ".volatile" : ".relaxed.cta";
    if (store)
        return stores[rng_below(c->r, sizeof stores / sizeof *stores)];
    return loads[rng_below(c->r, sizeof loads / sizeof *loads - (read_only ? 0 : 1))];
}

void
leaf_memory(struct ctx *c, struct seq *s)
{
    bool store = rng_percent(c->r, 45);
    struct place w;
    char where[64];
    const char *space;
    if (!pick_place(c, store, &w)) {
        leaf_form(c, s);
        return;
    }
    struct node *n = new_node(c, N_LEAF, s);
    unsigned type = memory_type(c->r), bytes = ptx_type_bits((ptx_type)type) / 8, lanes = 1;
    if (c->w.vectors && rng_percent(c->r, 30))
        lanes = bytes <= 4 && rng_percent(c->r, 50) ? 4 : 2;
    /* ptxas converts the parts of such a vector to floats as signed numbers, whatever the type. */
    if (c->o->native && lanes > 1 && (type == PTX_S8 || type == PTX_S16))
        type = type == PTX_S8 ? PTX_U8 : PTX_U16;
    if (!strcmp(w.space, "param") && bytes * lanes > 8)
        lanes = 1;
    struct cw_buf list;
    cw_buf_init(&list);
    unsigned start = n->nops;
    for (unsigned i = 0; i < lanes; i++) {
        struct operand *o = add_reg(c, n, type, !store, is_int(type) || ptx_type_class((ptx_type)type) == PTX_CLASS_BITS);
        o->fixed = true;
        if (i) {
            o->cls = n->op[start].cls;
            unsigned count = class_info[o->cls].count;
            o->index = (uint8_t)(count >= lanes ? (n->op[start].index + i) % count : o->index % count);
            if (count < lanes)
                lanes = i;              /* not enough different ones */
            if (i >= lanes)
                n->nops--;
        }
    }
    if (lanes == 3) {
        lanes = 2;
        n->nops--;
    }
    for (unsigned i = 0; i < lanes; i++)
        cw_buf_printf(&list, "%s$%u", i ? ", " : "", start + i);
    const char *pre = address(c, n, &w, bytes * lanes, &space, where, sizeof where), *q = qualifiers(c, *space ? space : "generic", store, !w.writable, lanes > 1);
    if (!*space && *q && strcmp(q, ".volatile"))
        q = "";
    const char *vec = lanes == 4 ? ".v4" : lanes == 2 ? ".v2" : "", *regs = lanes > 1 ? FMT(c, "{%s}", list.data) : FMT(c, "%s", list.data);
    const char *dot = *space ? "." : "";
    /* .volatile and .relaxed stand before the space, cache operators behind it. */
    bool before = !strncmp(q, ".vol", 4) || !strncmp(q, ".rel", 4) || !strncmp(q, ".acq", 4) || !strcmp(q, ".weak");
    const char *first = before ? q : "", *second = before ? "" : q;
    if (store)
        n->text = FMT(c, "%s?st%s%s%s%s%s.%s %s, %s;", pre, first, dot, space, second, vec, ptx_type_name((ptx_type)type), where, regs);
    else
        n->text = FMT(c, "%s?ld%s%s%s%s%s.%s %s, %s;", pre, first, dot, space, second, vec, ptx_type_name((ptx_type)type), regs, where);
    n->form = store ? FMT(c, "st.%s%s", space, vec) : FMT(c, "ld.%s%s", space, vec);
    cw_buf_finish(&list);
    maybe_guard(c, n);
}

/* An atomic operation on memory of the thread's own: its result is known. */
void
leaf_atom(struct ctx *c, struct seq *s)
{
    static const struct { const char *op; uint8_t type; } ops[] = {
        { "add.u32", PTX_U32 }, { "add.s32", PTX_S32 }, { "add.u64", PTX_U64 }, { "add.f32", PTX_F32 }, { "add.f64", PTX_F64 },
        { "add.noftz.f16x2", PTX_F16X2 }, { "min.u32", PTX_U32 }, { "min.s32", PTX_S32 }, { "max.u32", PTX_U32 }, { "max.s32", PTX_S32 },
        { "min.u64", PTX_U64 }, { "max.s64", PTX_S64 }, { "and.b32", PTX_B32 }, { "or.b32", PTX_B32 }, { "xor.b64", PTX_B64 },
        { "exch.b32", PTX_B32 }, { "exch.b64", PTX_B64 }, { "cas.b32", PTX_B32 }, { "cas.b64", PTX_B64 }, { "cas.b16", PTX_B16 },
        { "inc.u32", PTX_U32 }, { "dec.u32", PTX_U32 }, { "add.noftz.f16", PTX_F16 },
    };
    static const char *const quals[] = { "", "", "", ".relaxed.gpu", ".acq_rel.cta", ".acquire.sys", ".release.gpu" };
    unsigned k = rng_below(c->r, sizeof ops / sizeof *ops), type = ops[k].type, bytes = ptx_type_bits((ptx_type)type) / 8;
    if (c->func || (!c->w.own_global && !c->w.own_shared)) {
        leaf_form(c, s);
        return;
    }
    /* ptxas does not bring lanes together again behind the loop that it makes of these in shared memory. */
    bool looped = c->o->native && c->p->use_barrier && (type == PTX_F16X2 || type == PTX_F16);
    if (looped && !c->w.own_global) {
        leaf_form(c, s);
        return;
    }
    bool shared = !c->w.own_global || (c->w.own_shared && !looped && rng_percent(c->r, 50)), cas = !strncmp(ops[k].op, "cas", 3);
    struct node *n = new_node(c, N_LEAF, s);
    const char *qual = quals[rng_below(c->r, 7)];
    add_reg(c, n, type, true, false);
    add_source(c, n, type, false);
    if (cas)
        add_source(c, n, type, false);
    n->text = FMT(c, "?atom%s.%s.%s $0, [%s+%u], $1%s;", qual, shared ? "shared" : "global", ops[k].op, shared ? "%osh" : "%own",
                  rng_below(c->r, OWN_BYTES / bytes) * bytes, cas ? ", $2" : "");
    if (type == PTX_F64 && !c->o->nan64)
        n->text = FMT(c, "?mov.b64 $1, 0x4010000000000000;\n%s", n->text), n->op[1].fixed = n->op[1].dst = true, n->op[1].kind = O_REG, n->op[1].cls = C_G, n->op[1].index = 0;
    n->form = FMT(c, "atom.%s.%s", shared ? "shared" : "global", ops[k].op);
    maybe_guard(c, n);
}

/* Commuting operations on memory of all threads; each operation has words of its own, which nothing reads. */
void
leaf_red(struct ctx *c, struct seq *s)
{
    static const struct { const char *op; uint8_t type; } ops[] = {
        { "add.u32", PTX_U32 }, { "add.s32", PTX_S32 }, { "add.u64", PTX_U64 }, { "min.u32", PTX_U32 }, { "min.s32", PTX_S32 },
        { "max.u32", PTX_U32 }, { "max.s32", PTX_S32 }, { "min.u64", PTX_U64 }, { "max.u64", PTX_U64 }, { "min.s64", PTX_S64 },
        { "max.s64", PTX_S64 }, { "and.b32", PTX_B32 }, { "or.b32", PTX_B32 }, { "xor.b32", PTX_B32 }, { "and.b64", PTX_B64 },
        { "or.b64", PTX_B64 }, { "xor.b64", PTX_B64 },
    };
    unsigned k = rng_below(c->r, sizeof ops / sizeof *ops);
    if (c->func) {
        leaf_form(c, s);
        return;
    }
    struct node *n = new_node(c, N_LEAF, s);
    add_source(c, n, ops[k].type, false);
    bool same = rng_percent(c->r, 40), atom = rng_percent(c->r, 30);
    const char *pre = "", *where = FMT(c, "[%%atom+%u]", k * 64 + rng_below(c->r, 8) * 8);
    if (!same) {
        add_reg(c, n, PTX_U32, false, false);
        pre = "and.b32 %t0, $1, 7;\nshl.b32 %t0, %t0, 3;\ncvt.u64.u32 %u1, %t0;\nadd.s64 %u0, %atom, %u1;\n";
        where = FMT(c, "[%%u0+%u]", k * 64);
    }
    /* An atom whose result nobody reads is the same. */
    if (atom)
        n->text = FMT(c, "%s?atom.global.%s %%tx%u, %s, $0;", pre, ops[k].op, ptx_type_bits((ptx_type)ops[k].type), where);
    else
        n->text = FMT(c, "%s?red.global.%s %s, $0;", pre, ops[k].op, where);
    n->form = FMT(c, "red.%s", ops[k].op);
    maybe_guard(c, n);
}

void
leaf_carry(struct ctx *c, struct seq *s)
{
    static const char *const texts[] = {
        "add.cc.u32 $0, $2, $3;\naddc.cc.u32 $1, $4, $5;\naddc.u32 %t0, 0, 0;\nxor.b32 $0, $0, %t0;",
        "sub.cc.u32 $0, $2, $3;\nsubc.cc.u32 $1, $4, $5;\nsubc.u32 %t0, 0, 0;\nxor.b32 $0, $0, %t0;",
        "add.cc.s32 $0, $2, $3;\naddc.s32 $1, $4, $5;",
        "mad.lo.cc.u32 $0, $2, $3, $4;\nmadc.hi.u32 $1, $2, $3, $5;",
        "sub.cc.s32 $0, $2, $3;\nsubc.s32 $1, $4, $5;",
        /* last: left out for ptxas */
        "mad.hi.cc.s32 $0, $2, $3, $4;\nmadc.lo.cc.s32 $1, $2, $5, $3;\naddc.u32 %t0, 0, 0;\nxor.b32 $1, $1, %t0;",
    };
    static const char *const wide[] = {
        "add.cc.u64 $0, $2, $3;\naddc.cc.u64 $1, $4, $5;\naddc.u64 %u0, 0, 0;\nxor.b64 $0, $0, %u0;",
        "sub.cc.s64 $0, $2, $3;\nsubc.u64 $1, $4, $5;",
        "mad.lo.cc.u64 $0, $2, $3, $4;\nmadc.hi.u64 $1, $2, $3, $5;",
    };
    bool w = rng_percent(c->r, 30);
    struct node *n = new_node(c, N_LEAF, s);
    for (unsigned i = 0; i < 2; i++)
        add_reg(c, n, w ? PTX_U64 : PTX_U32, true, false);
    for (unsigned i = 0; i < 4; i++)
        add_source(c, n, w ? PTX_U64 : PTX_U32, false);
    n->text = w ? wide[rng_below(c->r, 3)] : texts[rng_below(c->r, c->o->native ? 5 : 6)];
    n->form = "carry chain";
}

void
leaf_pack(struct ctx *c, struct seq *s)
{
    static const struct { const char *text; uint8_t whole, part, n; bool pack; } ops[] = {
        { "?mov.b32 $0, {$1, $2};", PTX_B32, PTX_B16, 2, true }, { "?mov.b64 $0, {$1, $2};", PTX_B64, PTX_B32, 2, true },
        { "?mov.b64 $0, {$1, $2, $3, $4};", PTX_B64, PTX_B16, 4, true }, { "?mov.b32 {$1, $2}, $0;", PTX_B32, PTX_B16, 2, false },
        { "?mov.b64 {$1, $2}, $0;", PTX_B64, PTX_B32, 2, false }, { "?mov.b64 {$1, $2, $3, $4}, $0;", PTX_B64, PTX_B16, 4, false },
    };
    unsigned k = rng_below(c->r, 6);
    struct node *n = new_node(c, N_LEAF, s);
    add_reg(c, n, ops[k].whole, ops[k].pack, false)->fixed = true;
    for (unsigned i = 0; i < ops[k].n; i++) {
        struct operand *o = add_reg(c, n, ops[k].part, !ops[k].pack, false);
        o->fixed = true;
        if (i) {
            o->cls = n->op[1].cls;
            o->index = (uint8_t)(ops[k].pack ? o->index % class_info[o->cls].count : (n->op[1].index + i) % class_info[o->cls].count);
        }
    }
    if (c->o->native && n->op[0].cls == C_S)           /* registers of narrow results, whose upper halves are not zero */
        n->op[0].cls = C_R;
    n->text = ops[k].text;
    n->form = "mov with braces";
    maybe_guard(c, n);
}

void
leaf_sreg(struct ctx *c, struct seq *s)
{
    static const char *const names[] = { "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%nctaid.x",
                                         "%laneid", "%lanemask_lt", "%lanemask_eq", "%lanemask_ge" };
    struct node *n = new_node(c, N_LEAF, s);
    const char *name = names[rng_below(c->r, c->p->use_warp ? 13 : 9)];
    add_reg(c, n, PTX_U32, true, false);
    n->text = FMT(c, "?mov.u32 $0, %s;", name);
    n->form = n->text + 1;
    maybe_guard(c, n);
}
