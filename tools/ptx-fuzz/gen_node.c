/* SPDX-License-Identifier: Apache-2.0
 * Random numbers, nodes and operands of a program, and the initial values of its registers and scalar parameters. */
#include "tools/ptx-fuzz/gen_private.h"

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

struct node *
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

uint64_t
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

bool
is_int(unsigned type)
{
    enum ptx_type_class k = ptx_type_class((ptx_type)type);
    return k == PTX_CLASS_UINT || k == PTX_CLASS_SINT;
}

/* The registers that an operand of this type may use. If ptxas compiles (docs/ptx-fuzz.md), results of f32 and f64 instructions
 * go into registers of that type, and bytes are not taken from registers that hold halves, since ptxas would convert the
 * numbers. Packed halves do not read narrow results, whose upper half is not zero. */
enum reg_class
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

struct operand *
add_reg(struct ctx *c, struct node *n, unsigned type, bool dst, bool relaxed)
{
    struct operand *o = &n->op[n->nops++];
    enum reg_class k = class_for(c, type, dst, relaxed);
    *o = (struct operand){ .kind = O_REG, .cls = (uint8_t)k, .index = (uint8_t)rng_below(c->r, class_info[k].count), .type = (uint8_t)type, .dst = dst };
    o->fixed = dst || relaxed || type == PTX_PRED;
    return o;
}

struct operand *
add_source(struct ctx *c, struct node *n, unsigned type, bool relaxed)
{
    bool can = !relaxed && type != PTX_PRED && (is_int(type) || type == PTX_F32 || type == PTX_F64 || type == PTX_B16 || type == PTX_B32 || type == PTX_B64);
    uint32_t k = rng_below(c->r, 100);
    if (can && k < 14) {
        struct operand *o = &n->op[n->nops++];
        *o = (struct operand){ .kind = O_IMM, .type = (uint8_t)type, .imm = edge_value(c->r, type) };
        /* ptxas folds operations on constant NaN otherwise than the hardware computes them. */
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
    /* Operands that cannot be constants in PTX. */
    if (!can)
        o->fixed = true;
    return o;
}

void
maybe_guard(struct ctx *c, struct node *n)
{
    if (c->w.guards && rng_percent(c->r, 15)) {
        n->guard = (int8_t)rng_below(c->r, class_info[C_P].count);
        n->guard_negated = rng_percent(c->r, 50);
    }
}

void
add_regs(struct ctx *c, struct node *n, unsigned type, bool dst, unsigned count)
{
    unsigned first = n->nops;
    for (unsigned i = 0; i < count; i++) {
        struct operand *o = add_reg(c, n, type, dst, false);
        o->fixed = true;
        o->cls = n->op[first].cls;
        unsigned all = class_info[o->cls].count;
        o->index = (uint8_t)(dst ? (n->op[first].index + i) % all : o->index % all);
    }
}

/* ---- input ---- */

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

void
make_texture(unsigned i, uint8_t *out)
{
    for (uint32_t k = 0; k < TEX_BYTES; k++)
        out[k] = (uint8_t)rng_hash(i + 77, k);
}
