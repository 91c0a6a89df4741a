/* SPDX-License-Identifier: Apache-2.0
 * From a seed to a program's tree. Each program leaves some categories and constructs out altogether, so that the others
 * meet more often. What makes a program valid is decided here: barriers and uniform loops only where all threads of a block
 * pass, costs bounded, no two threads at one address but for operations whose order cannot be told. */
#include "tools/ptx-fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct class_info class_info[NCLASSES] = {
    [C_H] = { "%h", "b16", 2, 5 }, [C_R] = { "%r", "b32", 4, 8 }, [C_F] = { "%f", "f32", 4, 5 }, [C_S] = { "%s", "s32", 4, 3 },
    [C_D] = { "%d", "b64", 8, 5 }, [C_G] = { "%g", "f64", 8, 3 }, [C_P] = { "%p", "pred", 1, 5 },
};

uint64_t
rng_next(struct rng *r)
{
    uint64_t z = r->s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t
rng_below(struct rng *r, uint32_t n)
{
    return n ? (uint32_t)((rng_next(r) >> 32) * n >> 32) : 0;
}

uint64_t
rng_hash(uint64_t a, uint64_t b)
{
    struct rng r = { a ^ (b + 0x632be59bd9b4e019u) * 0xff51afd7ed558ccdu };
    return rng_next(&r);
}

/* What a program may use. */
struct swarm {
    uint8_t weight[NCATEGORIES];
    bool own_global, own_shared, local, input, constant, param, generic, vectors, atoms, reds;
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

static struct node *
new_node(struct ctx *c, enum node_kind kind, struct seq *s)
{
    struct program *p = c->p;
    static struct node spare;
    struct node *n = cw_arena_new(&p->arena, struct node);
    if (s->count == s->capacity) {
        uint32_t k = s->capacity ? s->capacity * 2 : 8;
        struct node **l = cw_arena_array(&p->arena, struct node *, k);
        if (l && s->count)
            memcpy(l, s->list, s->count * sizeof *l);
        s->list = l;
        s->capacity = l ? k : 0;
    }
    if (p->nnodes == p->cnodes) {
        uint32_t k = p->cnodes ? p->cnodes * 2 : 128;
        struct node **l = cw_arena_array(&p->arena, struct node *, k);
        if (l && p->nnodes)
            memcpy(l, p->node, p->nnodes * sizeof *l);
        p->node = l;
        p->cnodes = l ? k : 0;
    }
    if (!n || !s->list || !p->node) {
        p->failed = true;
        spare = (struct node){ .guard = -1 };
        return &spare;
    }
    n->kind = (uint8_t)kind;
    n->guard = -1;
    n->id = p->nnodes;
    p->node[p->nnodes++] = n;
    s->list[s->count++] = n;
    return n;
}

/* ---- operands ---- */

static uint64_t
edge_value(struct rng *r, unsigned type)
{
    static const uint32_t f32[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffffffff, 1,
                                    0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f000000, 0x4f000000, 0xcf000000, 0x5f000000,
                                    0x4b000001, 0x3f7fffff, 0x33800000, 0x477fe000, 0x38800000, 0x40490fdb };
    static const uint64_t f64[] = { 0, 1ull << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000,
                                    0x7ff8000000000000, 0x7ff0000000000001, 1, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
                                    0x43e0000000000000, 0xc3e0000000000000, 0x41dfffffffc00000, 0x36a0000000000000, 0x3ff0000000000001,
                                    0x47efffffe0000000, 0x3810000000000000, 0x400921fb54442d18 };
    static const uint64_t ints[] = { 0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000,
                                     0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
                                     0xffffffffffffffff, 0xfffffffe, 0xff, 0x80, 0x00ff00ff, 0x80008000, 0x3c003c00, 0x7c00fc00 };
    unsigned bits = ptx_type_bits((ptx_type)type);
    uint64_t v;
    if (type == PTX_F32)
        v = rng_percent(r, 60) ? f32[rng_below(r, sizeof f32 / sizeof *f32)] : rng_percent(r, 50) ? rng_next(r) : 0x3f000000u + rng_below(r, 0x3000000);
    else if (type == PTX_F64)
        v = rng_percent(r, 60) ? f64[rng_below(r, sizeof f64 / sizeof *f64)] : rng_percent(r, 50) ? rng_next(r)
                                                                                    : 0x3f00000000000000u + rng_next(r) % 0x200000000000000u;
    else
        v = rng_percent(r, 50) ? ints[rng_below(r, sizeof ints / sizeof *ints)] : rng_percent(r, 30) ? (uint64_t)-(int64_t)rng_below(r, 40)
            : rng_next(r) >> rng_below(r, 64);
    return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static bool
is_int(unsigned type)
{
    enum ptx_type_class k = ptx_type_class((ptx_type)type);
    return k == PTX_CLASS_UINT || k == PTX_CLASS_SINT;
}

/* Where an operand of this type may be. With ptxas on a side (docs/ptx-fuzz.md), what an f32 or f64 instruction writes goes into a
 * register of that type, and bytes are not taken from registers that hold halves: it would convert the numbers. Narrow results
 * are kept from packed halves, which would not find zero in the upper half. */
static enum reg_class
class_for(const struct ctx *c, unsigned type, bool dst, bool relaxed)
{
    struct rng *r = c->r;
    unsigned bits = ptx_type_bits((ptx_type)type), k = rng_below(r, 10);
    if (type == PTX_PRED)
        return C_P;
    if (c->o->native && dst && (type == PTX_F32 || type == PTX_F64))
        return type == PTX_F32 ? C_F : C_G;
    if (c->o->native && relaxed && dst && bits <= 16)
        return bits == 16 && k < 4 ? C_H : C_S;
    if (c->o->native && relaxed && bits == 8)
        return k == 0 ? C_D : C_R;
    if (relaxed && bits < 32 && k < 5)
        return bits == 8 && k == 0 ? C_D : k < 4 ? C_R : C_H;
    if (relaxed && bits == 32 && k < 2)
        return C_D;
    if (bits <= 16)
        return C_H;
    if (bits == 32)
        return type == PTX_F32 ? k < 6 ? C_F : C_R : type == PTX_U32 || type == PTX_S32 ? k < 7 ? C_R : C_S : type == PTX_B32 ? k < 7 ? C_R : k < 9 ? C_F : C_S : C_R;
    return type == PTX_F64 ? k < 7 ? C_G : C_D : type == PTX_B64 ? k < 8 ? C_D : C_G : C_D;
}

static struct operand *
add_reg(struct ctx *c, struct node *n, unsigned type, bool dst, bool relaxed)
{
    struct operand *o = &n->op[n->nops++];
    enum reg_class k = class_for(c, type, dst, relaxed);
    *o = (struct operand){ .kind = O_REG, .cls = (uint8_t)k, .index = (uint8_t)rng_below(c->r, class_info[k].count), .type = (uint8_t)type, .dst = dst };
    o->fixed = dst || relaxed || type == PTX_PRED;
    return o;
}

static struct operand *
add_source(struct ctx *c, struct node *n, unsigned type, bool relaxed)
{
    bool can = !relaxed && type != PTX_PRED && (is_int(type) || type == PTX_F32 || type == PTX_F64 || type == PTX_B16 || type == PTX_B32 || type == PTX_B64);
    uint32_t k = rng_below(c->r, 100);
    if (can && k < 14) {
        struct operand *o = &n->op[n->nops++];
        *o = (struct operand){ .kind = O_IMM, .type = (uint8_t)type, .imm = edge_value(c->r, type) };
        /* What ptxas computes itself of a NaN is not what the hardware would. */
        if (c->o->native && type == PTX_F32 && (o->imm & 0x7fffffff) > 0x7f800000)
            o->imm = 0x40490fdb;
        if (c->o->native && type == PTX_F64 && (o->imm & 0x7fffffffffffffff) > 0x7ff0000000000000)
            o->imm = 0x400921fb54442d18;
        return o;
    }
    if ((type == PTX_U32 || type == PTX_S32 || type == PTX_B32) && !relaxed && c->nloops && k < 24) {
        struct operand *o = &n->op[n->nops++];
        *o = (struct operand){ .kind = O_TEXT, .type = (uint8_t)type, .text = cw_arena_printf(&c->p->arena, "%%i%u", c->loop[rng_below(c->r, c->nloops)]) };
        return o;
    }
    struct operand *o = add_reg(c, n, type, false, relaxed);
    /* Operands that PTX gives no constants for. */
    if (!can)
        o->fixed = true;
    return o;
}

static void
maybe_guard(struct ctx *c, struct node *n)
{
    if (c->w.guards && rng_percent(c->r, 15)) {
        n->guard = (int8_t)rng_below(c->r, class_info[C_P].count);
        n->guard_negated = rng_percent(c->r, 50);
    }
}

#define FMT(c, ...) cw_arena_printf(&(c)->p->arena, __VA_ARGS__)

/* ---- leaves ---- */

static bool
allowed(const struct options *o, const struct form *x)
{
    return !(x->flags & FORM_APPROX && !o->approx) && !(x->flags & FORM_CONTRACT && !o->contract) && !(x->flags & FORM_LOOSE && o->native);
}

/* ptxas makes several instructions of some forms, and guards not all of them. */
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

static void
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

/* Where a load or store goes: the space, an address expression, the lines that make it. */
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

/* Lines that leave an address in brackets at `out`. */
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

static void
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
    /* ptxas converts the parts of such a vector to floats as signed numbers, whatever is asked for. */
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
static void
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

/* Operations on memory of all threads that commute; each has words of its own, which nothing reads. */
static void
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

static void
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

static void
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
    n->text = ops[k].text;
    n->form = "mov with braces";
    maybe_guard(c, n);
}

static void
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

static void
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
        /* Reading from a lane that does not take part gives anything: then keep the own value. */
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

/* Values through shared memory, or a vote of the block. Only where every thread of the block comes by. */
static void
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

/* ---- control flow ---- */

static void gen_seq(struct ctx *c, struct seq *s);

static void
condition(struct ctx *c, struct node *n)
{
    static const char *const ops[] = { "eq", "ne", "lt", "le", "gt", "ge" };
    if (c->uniform && rng_percent(c->r, 50)) {
        static const char *const sources[] = { "%un0", "%un1", "%un2", "%un3" };
        n->uniform = true;
        n->text = FMT(c, "and.b32 %%t0, %s, %u;\nsetp.%s.u32 $c, %%t0, 0;", sources[rng_below(c->r, 4)], 1u << rng_below(c->r, 5), rng_percent(c->r, 50) ? "eq" : "ne");
        return;
    }
    uint32_t k = rng_below(c->r, 4);
    if (k == 0) {
        add_reg(c, n, PTX_PRED, false, false);
        n->text = rng_percent(c->r, 50) ? "mov.pred $c, $0;" : "not.pred $c, $0;";
    } else if (k == 1) {
        add_reg(c, n, PTX_U32, false, false);
        n->text = FMT(c, "and.b32 %%t0, $0, %u;\nsetp.ne.u32 $c, %%t0, 0;", 1u << rng_below(c->r, 32));
    } else {
        unsigned t = k == 2 ? rng_percent(c->r, 50) ? PTX_S32 : PTX_U32 : rng_percent(c->r, 50) ? PTX_F32 : PTX_S64;
        add_reg(c, n, t, false, false);
        add_source(c, n, t, false);
        n->text = FMT(c, "setp.%s.%s $c, $0, $1;", ops[rng_below(c->r, 6)], ptx_type_name((ptx_type)t));
    }
}

static void
body(struct ctx *c, struct seq *s, uint32_t share, bool uniform, uint32_t mult)
{
    struct ctx k = *c;
    k.uniform = uniform;
    k.depth++;
    k.mult = c->mult * mult;
    k.budget = c->budget / share;
    k.cost = 0;
    gen_seq(&k, s);
    c->cost += k.cost;
}

static void
gen_loop(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_LOOP, s);
    uint32_t trips = 1 + rng_below(c->r, 6);
    bool varying = rng_percent(c->r, 50);
    n->late = rng_percent(c->r, 40);
    if (varying) {
        add_reg(c, n, PTX_U32, false, false);
        trips = rng_percent(c->r, 50) ? 3 : 7;
        n->text = FMT(c, "and.b32 $n, $0, %u;", trips);
    } else if (c->uniform && rng_percent(c->r, 50)) {
        n->uniform = true;
        trips = 3;
        n->text = "and.b32 $n, %un1, 3;";
    } else {
        n->uniform = c->uniform;
        n->text = FMT(c, "mov.u32 $n, %u;", trips);
    }
    bool breaks = c->w.breaks && rng_percent(c->r, 40);
    if (breaks)
        n->uniform = false;
    struct ctx k = *c;
    k.in_loop = breaks;
    k.in_wild = false;
    k.loop_top = true;
    k.loop_had_continue = false;
    if (k.nloops < 4)
        k.loop[k.nloops++] = n->id;
    k.cost = 0;
    body(&k, &n->seq[0], 2, n->uniform, trips + 1);
    n->nseqs = 1;
    c->cost += k.cost;
}

static void
gen_call(struct ctx *c, struct seq *s)
{
    struct program *p = c->p;
    uint32_t limit = c->func ? c->func->number : p->nfuncs;
    if (!limit) {
        leaf_form(c, s);
        return;
    }
    struct func *f = &p->func[rng_below(c->r, limit)];
    uint64_t cost = c->mult * f->cost * (f->recursive ? 4 : 1);
    if (cost > MAX_COST / 2) {
        leaf_form(c, s);
        return;
    }
    c->cost += cost;
    struct node *n = new_node(c, N_CALL, s);
    n->func = f;
    add_reg(c, n, f->ret, true, false);
    n->op[0].cls = f->ret == PTX_F32 ? C_F : f->ret == PTX_B64 ? C_D : C_R;
    n->op[0].index %= class_info[n->op[0].cls].count;
    for (unsigned i = 0; i < f->nparams; i++)
        add_reg(c, n, f->param[i], false, false)->fixed = true;
    add_reg(c, n, PTX_U32, false, false)->fixed = true;        /* depth, selector */
    n->indirect = !f->reg_params && rng_percent(c->r, 30);
    n->form = n->indirect ? "indirect call" : "call";
    n->warp = true;                                             /* passes the mask on */
}

static void
gen_recursion(struct ctx *c, struct seq *s)
{
    struct node *n = new_node(c, N_CALL, s);
    struct func *f = c->func;
    n->func = f;
    n->recursive = true;
    n->form = "recursive call";
    n->warp = true;
    add_reg(c, n, f->ret, true, false);
    n->op[0].cls = f->ret == PTX_F32 ? C_F : f->ret == PTX_B64 ? C_D : C_R;
    n->op[0].index %= class_info[n->op[0].cls].count;
    for (unsigned i = 0; i < f->nparams; i++)
        add_reg(c, n, f->param[i], false, false)->fixed = true;
}

static bool
gen_control(struct ctx *c, struct seq *s)
{
    uint32_t k = rng_below(c->r, 100);
    if (c->in_loop && c->loop_top && c->w.breaks && k < 20) {
        bool cont = rng_percent(c->r, 50);
        /* After a `continue` the mask of the whole loop is no longer known to those that go on. */
        if (!cont && c->loop_had_continue && c->p->use_warp)
            return false;
        struct node *n = new_node(c, cont ? N_CONTINUE : N_BREAK, s);
        condition(c, n);
        n->uniform = false;
        c->loop_had_continue |= cont;
        return true;
    }
    if (c->w.exits && k < 25 && (c->depth == 0 || (!c->p->use_warp && !c->p->use_barrier)) && !c->func && !c->in_wild) {
        struct node *n = new_node(c, N_EXIT, s);
        condition(c, n);
        n->uniform = false;
        return true;
    }
    if (c->w.calls && k < 40) {
        gen_call(c, s);
        return true;
    }
    if (c->depth >= 4 || c->budget < 4)
        return false;
    if (c->w.ifs && k < 65) {
        struct node *n = new_node(c, N_IF, s);
        bool outer = c->uniform;
        condition(c, n);
        struct ctx t = *c;
        t.loop_top = false;
        t.in_loop = c->in_loop && !c->p->use_warp;
        if (t.in_loop)
            t.loop_top = true;
        t.cost = 0;
        body(&t, &n->seq[0], 2, outer && n->uniform, 1);
        n->nseqs = 1;
        if (rng_percent(c->r, 60)) {
            body(&t, &n->seq[1], 3, outer && n->uniform, 1);
            n->nseqs = 2;
        }
        c->cost += t.cost;
        return true;
    }
    if (c->w.loops && k < 85 && c->mult * 8 < MAX_COST / 4) {
        gen_loop(c, s);
        return true;
    }
    if (c->w.switches && k < 93) {
        struct node *n = new_node(c, N_SWITCH, s);
        unsigned ways = 2 + rng_below(c->r, 5);
        add_reg(c, n, PTX_U32, false, false);
        n->text = FMT(c, "rem.u32 $n, $0, %u;", ways);
        struct ctx t = *c;
        t.in_loop = false;
        t.cost = 0;
        for (unsigned i = 0; i < ways; i++)
            body(&t, &n->seq[i], ways, false, 1);
        n->nseqs = (uint8_t)ways;
        c->cost += t.cost;
        return true;
    }
    if (c->w.wild && c->mult * 8 < MAX_COST / 4) {
        struct node *n = new_node(c, N_WILD, s);
        condition(c, n);
        n->uniform = false;
        while (n->nops < 2)
            add_reg(c, n, PTX_PRED, false, false);
        add_reg(c, n, PTX_PRED, false, false);
        add_reg(c, n, PTX_PRED, false, false);
        n->op[4] = (struct operand){ .kind = O_IMM, .type = PTX_U32, .imm = 1 + rng_below(c->r, 6), .fixed = true };
        struct ctx t = *c;
        bool warp = t.w.warp;
        t.in_loop = false;
        t.in_wild = true;
        t.w.warp = false;
        t.w.calls = t.w.calls && !c->p->use_warp;
        t.cost = 0;
        body(&t, &n->seq[0], 3, false, 6);
        body(&t, &n->seq[1], 3, false, 6);
        t.w.warp = warp;
        n->nseqs = 2;
        c->cost += t.cost;
        return true;
    }
    return false;
}

static void
gen_leaf(struct ctx *c, struct seq *s)
{
    uint32_t k = rng_below(c->r, 100);
    const struct swarm *w = &c->w;
    if (k < 14)
        leaf_memory(c, s);
    else if (k < 17 && w->atoms)
        leaf_atom(c, s);
    else if (k < 20 && w->reds)
        leaf_red(c, s);
    else if (k < 22 && w->carry)
        leaf_carry(c, s);
    else if (k < 24 && w->packs)
        leaf_pack(c, s);
    else if (k < 25 && w->sregs)
        leaf_sreg(c, s);
    else if (k < 36 && w->warp)
        leaf_warp(c, s);
    else if (k < 40 && w->barriers && c->uniform)
        leaf_barrier(c, s);
    else
        leaf_form(c, s);
}

static void
gen_seq(struct ctx *c, struct seq *s)
{
    uint32_t n = 1 + rng_below(c->r, c->budget + 1);
    for (uint32_t i = 0; i < n && !c->p->failed; i++) {
        c->cost += c->mult;
        if (rng_percent(c->r, 18) && gen_control(c, s))
            continue;
        gen_leaf(c, s);
    }
}

/* ---- programs ---- */

static void
gen_shape(struct ctx *c)
{
    static const uint16_t blocks[][3] = { { 32, 1, 1 }, { 64, 1, 1 }, { 32, 2, 1 }, { 8, 4, 1 }, { 16, 2, 2 }, { 33, 1, 1 }, { 1, 1, 1 }, { 7, 3, 1 },
                                          { 96, 1, 1 }, { 4, 4, 3 }, { 17, 1, 1 }, { 128, 1, 1 }, { 16, 3, 1 }, { 2, 1, 1 }, { 50, 1, 1 }, { 5, 1, 9 } };
    unsigned k = rng_below(c->r, rng_percent(c->r, 60) ? 5 : 16);
    for (unsigned i = 0; i < 3; i++)
        c->p->block[i] = blocks[k][i];
    c->p->grid[0] = 1 + rng_below(c->r, 3);
    c->p->grid[1] = c->p->grid[0] == 1 && rng_percent(c->r, 20) ? 2 : 1;
    c->p->grid[2] = 1;
}

static bool
profile_has(const char *profile, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = profile; (s = strstr(s, word)); s += n)
        if ((s == profile || s[-1] == ',') && (!s[n] || s[n] == ','))
            return true;
    return false;
}

static void
gen_swarm(struct ctx *c)
{
    struct swarm *w = &c->w;
    struct rng *r = c->r;
    static const uint8_t weights[NCATEGORIES] = { 20, 16, 18, 8, 10, 10, 6, 18, 3, 6, 8 };
    const char *profile = c->o->profile;
    bool all = !profile || !*profile || profile_has(profile, "all"), any = false;
    for (unsigned i = 0; i < NCATEGORIES; i++) {
        bool wanted = all || profile_has(profile, category_name[i]);
        w->weight[i] = wanted && rng_percent(r, all ? 60 : 90) ? (uint8_t)(weights[i] * (1 + rng_below(r, 3))) : 0;
        any |= w->weight[i] && c->f->n[i];
    }
    if (!any)
        w->weight[CAT_INT] = 10;
#define CHOOSE(field, word, percent) w->field = (all || profile_has(profile, word)) && rng_percent(r, percent)
    CHOOSE(own_global, "memory", 60); CHOOSE(own_shared, "memory", 40); CHOOSE(local, "memory", 40); CHOOSE(input, "memory", 60);
    CHOOSE(constant, "memory", 50); CHOOSE(param, "memory", 40); CHOOSE(generic, "memory", 30); CHOOSE(vectors, "memory", 60);
    CHOOSE(atoms, "atomics", 40); CHOOSE(reds, "atomics", 40);
    CHOOSE(ifs, "flow", 80); CHOOSE(loops, "flow", 60); CHOOSE(switches, "flow", 40); CHOOSE(wild, "flow", 30); CHOOSE(exits, "flow", 20);
    CHOOSE(breaks, "flow", 50); CHOOSE(calls, "calls", 35); CHOOSE(warp, "warp", 35); CHOOSE(barriers, "barriers", 30);
    CHOOSE(guards, "flow", 60); CHOOSE(carry, "int", 50); CHOOSE(packs, "mov", 50); CHOOSE(sregs, "mov", 50);
#undef CHOOSE
    /* ptxas does not bring lanes together again behind loops with two entries, and counts iterations of loops around them wrong. */
    if (c->o->native)
        w->wild = false;
    c->p->use_warp = w->warp;
    c->p->use_barrier = w->barriers;
    c->p->dynamic_shared = rng_percent(r, 30);
}

static void
gen_functions(struct ctx *c)
{
    static const uint8_t types[] = { PTX_B32, PTX_F32, PTX_B64, PTX_F64, PTX_B32 }, rets[] = { PTX_B32, PTX_F32, PTX_B64 };
    struct program *p = c->p;
    uint32_t n = c->w.calls ? 1 + rng_below(c->r, MAX_FUNCS) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct func *f = &p->func[i];
        f->number = i;
        if (i && rng_percent(c->r, 60)) {
            f->nparams = p->func[0].nparams;
            memcpy(f->param, p->func[0].param, sizeof f->param);
            f->ret = p->func[0].ret;
            f->reg_params = p->func[0].reg_params;
        } else {
            f->nparams = (uint8_t)rng_below(c->r, MAX_PARAMS);
            for (unsigned k = 0; k < f->nparams; k++)
                f->param[k] = types[rng_below(c->r, 5)];
            f->ret = rets[rng_below(c->r, 3)];
            f->reg_params = rng_percent(c->r, 25);
        }
        f->recursive = !f->reg_params && rng_percent(c->r, 25) && !(c->o->native && (c->w.warp || c->w.barriers));
        struct ctx k = *c;
        k.func = f;
        k.uniform = false;
        k.budget = 2 + c->o->size / 5;
        k.depth = 1;
        k.mult = 1;
        k.cost = 0;
        k.w.exits = false;
        gen_seq(&k, &f->body);
        if (f->recursive)
            gen_recursion(&k, &f->body);
        gen_leaf(&k, &f->body);
        f->cost = k.cost + 5;
        p->nfuncs = i + 1;
    }
}

void
program_generate(struct program *p, uint64_t seed, const struct options *o, struct forms *f)
{
    struct rng r = { rng_hash(seed, 0x70747866757a7aull) };
    struct ctx c = { .p = p, .r = &r, .o = o, .f = f, .uniform = true, .mult = 1, .budget = o->size };
    *p = (struct program){ .seed = seed };
    cw_arena_init(&p->arena);
    gen_swarm(&c);
    gen_shape(&c);
    p->constants = rng_next(&r);
    gen_functions(&c);
    gen_seq(&c, &p->body);
    while (p->body.count < o->size / 2 && c.cost < MAX_COST && !p->failed)
        gen_seq(&c, &p->body);
    program_drop_refused(p, f);
}

void
program_drop_refused(struct program *p, const struct forms *f)
{
    for (uint32_t i = 0; i < p->nnodes; i++)
        for (uint32_t k = 0; k < f->nrefused && p->node[i]->kind == N_LEAF; k++) {
            const char *text = p->node[i]->text, *r = f->refused[k], *s = text;
            for (size_t n = strlen(r); (s = strstr(s, r)); s++)
                if ((s == text || s[-1] == '\n' || s[-1] == '?') && s[n] == ' ')
                    p->node[i]->off = true;
        }
}

void
program_finish(struct program *p)
{
    cw_arena_finish(&p->arena);
}

uint32_t
program_threads(const struct program *p)
{
    return p->grid[0] * p->grid[1] * p->grid[2] * p->block[0] * p->block[1] * p->block[2];
}

/* Random bits, small numbers and edge values, in words of each size. */
void
make_input(uint64_t seed, uint8_t *in)
{
    struct rng r = { rng_hash(seed, 0x696e707574ull) };
    for (uint32_t i = 0; i + 8 <= IN_BYTES; i += 8) {
        uint32_t at = i < IN_COMMON ? i % 160 : (i - IN_COMMON) % IN_STRIDE;
        uint64_t v;
        if (at >= 64 && at < 128) {
            v = edge_value(&r, at >= 104 || rng_percent(&r, 30) ? PTX_F64 : PTX_U64);
        } else if (at < 64) {
            unsigned t = at >= 32 && at < 52 ? PTX_F32 : rng_percent(&r, 30) ? PTX_F32 : PTX_U32;
            v = edge_value(&r, t);
            v |= edge_value(&r, t) << 32;
        } else {
            v = rng_next(&r);
            static const uint16_t half[] = { 0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 1, 0x3ff, 0x400, 0x7bff, 0xffff, 0x3f80, 0x7f80, 0x7fc0 };
            for (unsigned k = 0; k < 4; k++)
                if (rng_percent(&r, 50))
                    v = (v & ~(0xffffull << 16 * k)) | (uint64_t)half[rng_below(&r, 14)] << 16 * k;
        }
        memcpy(in + i, &v, 8);
    }
}

void
make_scalars(uint64_t seed, struct scalars *s)
{
    struct rng r = { rng_hash(seed, 0x7363616cull) };
    s->x = rng_percent(&r, 50) ? rng_below(&r, 16) : (uint32_t)rng_next(&r);
    s->y = edge_value(&r, PTX_U64);
    s->z = (uint32_t)edge_value(&r, PTX_F32);
    s->w = edge_value(&r, PTX_F64);
    s->h = (uint16_t)rng_next(&r);
    for (unsigned i = 0; i < sizeof s->arr; i++)
        s->arr[i] = (uint8_t)rng_next(&r);
}
