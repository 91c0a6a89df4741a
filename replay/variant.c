/* SPDX-License-Identifier: Apache-2.0
 * See variant.h. Lines stay those of the text. Names put in begin with cwv_. */
#define _GNU_SOURCE
#include "replay/variant.h"

#include "replay/flow.h"
#include "replay/instrument_private.h"
#include "replay/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what may be fused ------------------------------------------------------------------------------------------------------- */

struct use {
    uint32_t reg, count;
};

static void
count_use(void *user, uint32_t reg)
{
    struct use *u = user;
    u->count += u->reg == reg;
}

static bool
writes(const struct ptx_function *fn, const struct ptx_inst *in, uint32_t reg)
{
    bool upper;
    uint32_t r;
    for (unsigned part = 0; (r = cwi_result_register(fn, in, part, &upper)) != UINT32_MAX; part++)
        if (r == reg)
            return true;
    return false;
}

static bool
fusible_type(unsigned t)
{
    return t == PTX_F32 || t == PTX_F64 || t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
}

static bool
is_sum(const struct ptx_inst *in)
{
    return (in->op == PTX_OP_ADD || in->op == PTX_OP_SUB) && fusible_type(in->type[0]) && in->round == PTX_RND_NONE && in->noperands == 3;
}

static bool
is_product(const struct ptx_inst *in, const struct ptx_inst *sum)
{
    return in->op == PTX_OP_MUL && in->type[0] == sum->type[0] && in->round == PTX_RND_NONE && !(in->flags & PTX_F_SAT) &&
           (in->flags & PTX_F_FTZ) == (sum->flags & PTX_F_FTZ) && in->noperands == 3;
}

static bool
same_guard(const struct ptx_inst *a, const struct ptx_inst *b)
{
    return a->has_guard == b->has_guard && (!a->has_guard || (a->guard == b->guard && a->guard_negated == b->guard_negated));
}

/* Does an operand of the product change between it and the sum? */
static bool
operands_change(const struct ptx_function *fn, uint32_t product, uint32_t sum)
{
    const struct ptx_inst *in = &fn->insts[product];
    for (uint32_t i = product; i < sum; i++)
        for (unsigned k = 1; k < 3; k++)
            if (in->operand[k].kind == PTX_OPND_REG && writes(fn, &fn->insts[i], in->operand[k].index))
                return true;
    return false;
}

static uint32_t
definitions(const struct ptx_function *fn, uint32_t reg, uint32_t *where)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fn->ninsts; i++)
        if (writes(fn, &fn->insts[i], reg)) {
            *where = i;
            n++;
        }
    return n;
}

/* In another block: only what is written once, from what is written once. */
static uint32_t
single_product(const struct ptx_function *fn, uint32_t sum, uint32_t reg)
{
    uint32_t at = 0, other;
    if (definitions(fn, reg, &at) != 1 || !is_product(&fn->insts[at], &fn->insts[sum]) || fn->insts[at].has_guard)
        return CWV_NONE;
    for (unsigned k = 1; k < 3; k++) {
        const struct ptx_operand *o = &fn->insts[at].operand[k];
        if (o->kind == PTX_OPND_REG && definitions(fn, o->index, &other) != 1)
            return CWV_NONE;
    }
    return at;
}

/* The instruction of the function whose product the register holds when `sum` reads it; CWV_NONE: none that can be fused. */
static uint32_t
product_of(const struct ptx_function *fn, const struct ptx_block *b, uint32_t sum, uint32_t reg)
{
    for (uint32_t i = sum; i-- > b->first;) {
        const struct ptx_inst *in = &fn->insts[i];
        if (!writes(fn, in, reg))
            continue;
        if (!is_product(in, &fn->insts[sum]) || (in->has_guard && !same_guard(in, &fn->insts[sum])))
            return CWV_NONE;
        for (uint32_t k = i; k < sum && in->has_guard; k++)
            if (writes(fn, &fn->insts[k], in->guard))
                return CWV_NONE;
        return i;
    }
    return single_product(fn, sum, reg);
}

static void
look_at_sum(const struct ptx_function *fn, const struct ptx_block *b, uint32_t i, uint32_t first, struct cwv_sum *s)
{
    const struct ptx_inst *in = &fn->insts[i];
    *s = (struct cwv_sum){ .id = first + i, .mul = { CWV_NONE, CWV_NONE } };
    for (unsigned k = 0; k < 2; k++) {
        const struct ptx_operand *o = &in->operand[k + 1];
        uint32_t at = o->kind == PTX_OPND_REG && !o->negate ? product_of(fn, b, i, o->index) : CWV_NONE;
        if (at == CWV_NONE)
            continue;
        struct use u = { .reg = o->index };
        for (uint32_t j = 0; j < fn->ninsts; j++)
            cwi_reads(&fn->insts[j], count_use, &u);
        s->mul[k] = first + at;
        s->once[k] = u.count == 1;
    }
}

/* Do kernels launch kernels (cudaLaunchDevice, __cudaCDP2LaunchDeviceV2, ...)? Else the others of the module do not run. */
static bool
launches(const struct cwi_program *p)
{
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        if (in->op == PTX_OP_CALL && in->noperands > 1 && in->operand[1].kind == PTX_OPND_SYM && strstr(in->operand[1].sym->name, "LaunchDevice"))
            return true;
    }
    return false;
}

static bool
may_run(const struct ptx_function *fn, const char *kernel, bool all)
{
    return all || !fn->is_entry || !strcmp(fn->sym->name, kernel);
}

bool
cwv_sums(const struct cwi_program *p, const char *kernel, struct cwv_sum **sums, uint32_t *count)
{
    const bool all = launches(p);
    *count = 0;
    *sums = calloc(p->ninsts + (size_t)1, sizeof **sums);
    if (!*sums)
        return false;
    for (uint32_t id = 0; id < p->ninsts;) {
        struct ptx_function *fn = (struct ptx_function *)(uintptr_t)p->insts[id].fn;
        if (!may_run(fn, kernel, all)) {
            id += fn->ninsts;
            continue;
        }
        if (!fn->blocks && ptx_function_build_cfg(fn) != CW_OK)
            return false;
        for (uint32_t b = 0; b < fn->nblocks; b++)
            for (uint32_t i = fn->blocks[b].first; i < fn->blocks[b].first + fn->blocks[b].count; i++) {
                struct cwv_sum *s = &(*sums)[*count];
                if (!is_sum(&fn->insts[i]))
                    continue;
                look_at_sum(fn, &fn->blocks[b], i, id, s);
                *count += s->mul[0] != CWV_NONE || s->mul[1] != CWV_NONE;
            }
        id += fn->ninsts;
    }
    return true;
}

/* ---- instructions ------------------------------------------------------------------------------------------------------------ */

enum { INSIDE = 32 };

/* A register that is declared in a block of the body. */
struct inside {
    size_t at;                  /* in the text, behind the declaration */
    uint32_t reg;
};

struct writer {
    const struct cwi_program *p;
    const struct cwv_variant *v;
    const struct cwd_dump *d;
    struct cw_buf *out;
    const struct ptx_function *fn;
    bool changed, warps, impossible;
    unsigned labels, ninside;
    struct inside inside[INSIDE];       /* that hold the pattern from there on */
    bool *copied;               /* by instruction: a product whose operands a fused sum reads from copies, %cwv_l and %cwv_r with its number */
};

static uint32_t
index_in(const struct writer *w, uint32_t id)
{
    return (uint32_t)(w->p->insts[id].in - w->p->insts[id].fn->insts);
}

static const char *
register_type(unsigned type)
{
    return ptx_type_bits((ptx_type)type) == 16 ? "b16" : type == PTX_F16X2 || type == PTX_BF16X2 ? "b32" : ptx_type_name((ptx_type)type);
}

/* The product that sum `id` is fused with, or CWV_NONE. */
static uint32_t
fused_product(const struct writer *w, uint32_t id)
{
    const struct ptx_function *fn = w->p->insts[id].fn;
    unsigned k = w->v->fuse ? w->v->fuse[id] : 0;
    uint32_t i = index_in(w, id), b = 0;
    struct cwv_sum s;
    if (!k)
        return CWV_NONE;
    while (b + 1 < fn->nblocks && fn->blocks[b + 1].first <= i)
        b++;
    look_at_sum(fn, &fn->blocks[b], i, id - i, &s);
    return s.mul[k - 1];
}

/* Declare copies of operands that change before the sum reads them. */
static void
copy_prologue(struct writer *w, uint32_t first)
{
    for (uint32_t id = first; id < w->p->ninsts && w->p->insts[id].fn == w->fn; id++) {
        uint32_t mul = fused_product(w, id);
        if (mul == CWV_NONE || w->copied[mul] || !operands_change(w->fn, index_in(w, mul), index_in(w, id)))
            continue;
        w->copied[mul] = true;
        cw_buf_printf(w->out, " .reg .%s %%cwv_l%u, %%cwv_r%u;", register_type(w->p->insts[mul].in->type[0]), mul, mul);
    }
}

/* The function's registers by number, and behind them %cwv_n and the copies of product `mul`, whose names `text` holds. malloc'd. */
enum { NEGATED, LEFT, RIGHT, NAMES };

static const char **
register_names(struct writer *w, uint32_t mul, char text[2][24])
{
    uint32_t n = w->fn->nregs;
    const char **names = malloc((n + (size_t)NAMES) * sizeof *names);
    if (!names) {
        w->impossible = true;
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        names[i] = w->fn->regs[i].name;
    for (unsigned k = 0; k < 2; k++) {
        snprintf(text[k], 24, "%%cwv_%c%u", "lr"[k], mul);
        names[n + LEFT + k] = text[k];
    }
    names[n + NEGATED] = "%cwv_n";
    return names;
}

static struct ptx_operand
register_operand(uint32_t index)
{
    return (struct ptx_operand){ .kind = PTX_OPND_REG, .index = index, .video_sel = -1 };
}

static void
copy_operands(struct writer *w, uint32_t id)
{
    const struct ptx_inst *product = w->p->insts[id].in;
    char text[2][24];
    unsigned type = product->type[0], bits = ptx_type_bits((ptx_type)type);
    const char **names = register_names(w, id, text);
    if (!names)
        return;
    if (bits == 16)                     /* mov has no types of halves */
        type = PTX_B16;
    else if (type == PTX_F16X2 || type == PTX_BF16X2)
        type = PTX_B32;
    for (unsigned k = 0; k < 2; k++) {
        struct ptx_operand o[2] = { register_operand(w->fn->nregs + LEFT + k), product->operand[k + 1] };
        struct ptx_inst mov = { .op = PTX_OP_MOV, .type = { (uint8_t)type }, .noperands = 2, .operand = o };
        ptx_inst_print_named(&mov, names, w->out);
        cw_buf_puts(w->out, " ");
    }
    free(names);
}

/* a * b + c of a product and a sum: one of the operands may have to be negated. */
static void
write_fused(struct writer *w, uint32_t id, unsigned k, uint32_t mul)
{
    const struct ptx_inst *sum = w->p->insts[id].in, *product = w->p->insts[mul].in;
    struct ptx_operand o[4] = { sum->operand[0], product->operand[1], product->operand[2], sum->operand[k ? 1 : 2] };
    struct ptx_inst in = *sum;
    char text[2][24];
    const char **names = register_names(w, mul, text);
    if (!names)
        return;
    for (unsigned i = 0; i < 2 && w->copied[mul]; i++)
        o[i + 1] = register_operand(w->fn->nregs + LEFT + i);
    in.op = PTX_OP_FMA;
    in.round = PTX_RN;
    in.operand = o;
    in.noperands = 4;
    struct cw_buf b;
    cw_buf_init(&b);
    if (sum->op == PTX_OP_SUB) {        /* x - a * b = -a * b + x; a * b - x = a * b + -x */
        struct ptx_operand source[2] = { register_operand(w->fn->nregs + NEGATED), k ? o[1] : o[3] };
        struct ptx_inst neg = { .op = PTX_OP_NEG, .type = { sum->type[0] }, .noperands = 2, .operand = source };
        o[k ? 1 : 3] = source[0];
        cw_buf_printf(&b, "{ .reg .%s %%cwv_n; ", register_type(sum->type[0]));
        ptx_inst_print_named(&neg, names, &b);
        cw_buf_puts(&b, " ");
        ptx_inst_print_named(&in, names, &b);
        cw_buf_puts(&b, " }");
    } else {
        ptx_inst_print_named(&in, names, &b);
    }
    free(names);
    cw_buf_append(w->out, b.data, b.size);
    cw_buf_finish(&b);
    w->changed = true;
}

static bool
may_flush(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_ADD: case PTX_OP_SUB: case PTX_OP_MUL: case PTX_OP_FMA: case PTX_OP_MAD: case PTX_OP_DIV: case PTX_OP_ABS: case PTX_OP_NEG:
    case PTX_OP_MIN: case PTX_OP_MAX: case PTX_OP_RCP: case PTX_OP_SQRT: case PTX_OP_RSQRT: case PTX_OP_SIN: case PTX_OP_COS: case PTX_OP_LG2:
    case PTX_OP_EX2: case PTX_OP_SETP:
        return in->type[0] == PTX_F32;
    case PTX_OP_SET:
        return in->type[1] == PTX_F32;
    case PTX_OP_CVT:
        return in->type[0] == PTX_F32 && in->type[1] == PTX_F32;
    default:
        return false;
    }
}

/* Division, reciprocal and square root with another precision; false: none of these. */
static bool
other_precision(const struct writer *w, struct ptx_inst *in)
{
    bool loose = in->flags & (PTX_F_APPROX | PTX_F_FULL);
    if ((in->op != PTX_OP_DIV && in->op != PTX_OP_RCP && in->op != PTX_OP_SQRT) || in->type[0] != PTX_F32)
        return false;
    if (w->v->precise && loose) {
        in->flags &= ~(uint32_t)(PTX_F_APPROX | PTX_F_FULL);
        in->round = PTX_RN;
        return true;
    }
    if (w->v->approximate && in->round == PTX_RN) {
        in->flags |= in->op == PTX_OP_DIV ? PTX_F_FULL : PTX_F_APPROX;
        in->round = PTX_RND_NONE;
        return true;
    }
    return false;
}

static const char *const coordinates[] = { "%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z" };

static int
coordinate(const struct ptx_operand *o)
{
    static const uint32_t sreg[] = { PTX_SREG_TID_X, PTX_SREG_TID_Y, PTX_SREG_TID_Z, PTX_SREG_CTAID_X, PTX_SREG_CTAID_Y, PTX_SREG_CTAID_Z };
    for (int i = 0; i < 6 && o->kind == PTX_OPND_SREG; i++)
        if (o->index == sreg[i])
            return i;
    return -1;
}

static bool
reads_coordinates(const struct ptx_inst *in, bool *whole)
{
    bool any = false;
    *whole = false;
    for (unsigned i = 0; i < in->noperands; i++) {
        const struct ptx_operand *o = &in->operand[i];
        any = any || coordinate(o) >= 0;
        for (unsigned k = 0; o->kind == PTX_OPND_VEC && k < o->count; k++)
            *whole = *whole || coordinate(&o->elem[k]) >= 0;
    }
    return any;
}

/* The text with %tid.x and so on replaced by registers. */
static void
write_permuted(struct writer *w, const char *s, const char *end)
{
    while (s < end) {
        unsigned k = 0;
        while (k < 6 && ((size_t)(end - s) < strlen(coordinates[k]) || memcmp(s, coordinates[k], strlen(coordinates[k]))))
            k++;
        if (k == 6) {
            cw_buf_append(w->out, s++, 1);
            continue;
        }
        cw_buf_printf(w->out, "%%cwv_%u", k);
        s += strlen(coordinates[k]);
    }
    w->changed = true;
}

/* Wait until all threads of the grid came here, or some time, which is waited for once. */
static void
write_delay(struct writer *w, uint32_t id)
{
    const uint32_t *b = w->d->block, *g = w->d->grid;
    uint64_t all = (uint64_t)b[0] * b[1] * b[2] * g[0] * g[1] * g[2];
    cw_buf_printf(w->out, "{ .reg .pred %%cwv_q, %%cwv_r; .reg .b64 %%cwv_n, %%cwv_u; .reg .b32 %%cwv_c; atom.global.add.u32 %%cwv_c, [cwv_came_%u], 1;"
                          " mov.u64 %%cwv_u, %%globaltimer; add.u64 %%cwv_u, %%cwv_u, 20000000; CWV_S%u: nanosleep.u32 1000;"
                          " ld.volatile.global.u32 %%cwv_c, [cwv_came_%u]; setp.ge.u32 %%cwv_q, %%cwv_c, %u; mov.u64 %%cwv_n, %%globaltimer;"
                          " setp.ge.u64 %%cwv_r, %%cwv_n, %%cwv_u; or.pred %%cwv_q, %%cwv_q, %%cwv_r; @!%%cwv_q bra CWV_S%u;"
                          " @%%cwv_r st.volatile.global.u32 [cwv_came_%u], %u; } ", id, id, id, (unsigned)(all < INT32_MAX ? all : INT32_MAX), id, id,
                  (unsigned)(all < INT32_MAX ? all : INT32_MAX));
    w->changed = true;
}

/* What the functions of text `i` wait by. */
static bool
write_arrivals(struct writer *w, uint32_t i, size_t *at)
{
    const struct cwj_input *t = &w->p->texts[i];
    const char *start = cwi_behind_directives(t->text, t->text + t->size);
    if (!start)
        return false;
    *at = (size_t)(start - t->text);
    cw_buf_append(w->out, t->text, *at);
    for (uint32_t id = 0; id < w->p->ninsts; id++)
        if (w->v->delay[id] && w->p->insts[id].text == i)
            cw_buf_printf(w->out, " .global .align 4 .u32 cwv_came_%u;", id);
    return true;
}

/* nanosleep needs PTX 6.3 and sm_70: change the header's digits where they say less. */
static void
allow_delays(char *text)
{
    char *version = strstr(text, ".version"), *target = strstr(text, ".target"), *sm = target ? strstr(target, "sm_") : NULL;
    if (version) {
        version += strcspn(version, "0123456789");
        if (version[0] == '6' && version[1] == '.' && version[2] >= '0' && version[2] < '3')
            version[2] = '3';
    }
    if (sm && sm[3] >= '1' && sm[3] < '7' && sm[4] >= '0' && sm[4] <= '9' && !(sm[5] >= '0' && sm[5] <= '9'))
        memcpy(sm + 3, "70", 2);
}

static void
write_instruction(struct writer *w, uint32_t id)
{
    const struct cwi_inst *i = &w->p->insts[id];
    const char *text = w->p->texts[i->text].text;
    struct ptx_inst in = *i->in;
    uint32_t mul = fused_product(w, id);
    if (w->copied[id])
        copy_operands(w, id);
    if (mul != CWV_NONE) {
        write_fused(w, id, w->v->fuse[id] - 1u, mul);
        return;
    }
    if (w->v->delay && w->v->delay[id]) {
        write_delay(w, id);
    }
    bool other = other_precision(w, &in), whole;
    if (w->v->flush && may_flush(&in) && !(in.flags & PTX_F_FTZ)) {
        in.flags |= PTX_F_FTZ;
        other = true;
    }
    if (other) {
        ptx_inst_print(w->fn, &in, w->out);
        w->changed = true;
        return;
    }
    bool permute = w->v->order && reads_coordinates(&in, &whole);
    w->impossible = w->impossible || (w->v->order && whole);
    if (permute)
        write_permuted(w, text + i->begin, text + i->end);
    else
        cw_buf_append(w->out, text + i->begin, i->end - i->begin);
}

/* ---- where a function begins ------------------------------------------------------------------------------------------------- */

static uint32_t
common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* 0 .. n - 1 times a number without a common divisor, and shifted: another one for each order. */
static void
mix(struct writer *w, unsigned k, uint32_t n)
{
    uint32_t h = w->v->order * 2654435761u, factor = (h >> 8) % n;
    while (common_divisor(factor, n) != 1)
        factor = (factor + 1) % n;
    if (n > 1)
        cw_buf_printf(w->out, " mad.lo.u32 %%cwv_%u, %%cwv_%u, %u, %u; rem.u32 %%cwv_%u, %%cwv_%u, %u;", k, k, factor, (h >> 16) % n, k, k, n);
}

/* Permutation of 0 .. n - 1, `how`: reversed, or shifted by half. */
static void
permute(struct writer *w, unsigned k, uint32_t n, bool reversed)
{
    if (w->v->order > CWV_ORDERS)
        mix(w, k, n);
    else if (n > 1 && reversed)
        cw_buf_printf(w->out, " sub.u32 %%cwv_%u, %u, %%cwv_%u;", k, n - 1, k);
    else if (n > 1)
        cw_buf_printf(w->out, " add.u32 %%cwv_%u, %%cwv_%u, %u; rem.u32 %%cwv_%u, %%cwv_%u, %u;", k, k, n / 2, k, k, n);
}

static void
order_prologue(struct writer *w)
{
    /* 1: all reversed; 2: threads; 3: blocks; 4: all shifted; others: threads mixed. */
    bool threads = w->v->order != 3, blocks = w->v->order != 2 && w->v->order <= CWV_ORDERS, reversed = w->v->order != 4;
    const uint32_t *b = w->d->block, *g = w->d->grid;
    bool rows = !w->warps || b[0] % 32 == 0, slices = rows || (b[0] * b[1]) % 32 == 0;
    cw_buf_puts(w->out, " .reg .u32 %cwv_<7>;");
    for (unsigned k = 0; k < 6; k++)
        cw_buf_printf(w->out, " mov.u32 %%cwv_%u, %s;", k, coordinates[k]);
    if (threads && !w->warps) {
        permute(w, 0, b[0], reversed);
    } else if (threads && rows) {       /* whole warps */
        cw_buf_puts(w->out, " and.b32 %cwv_6, %cwv_0, 31; shr.u32 %cwv_0, %cwv_0, 5;");
        permute(w, 0, b[0] / 32, reversed);
        cw_buf_puts(w->out, " shl.b32 %cwv_0, %cwv_0, 5; or.b32 %cwv_0, %cwv_0, %cwv_6;");
    }
    if (threads && rows)
        permute(w, 1, b[1], reversed);
    if (threads && slices)
        permute(w, 2, b[2], reversed);
    for (unsigned k = 0; k < 3 && blocks; k++)
        permute(w, 3 + k, g[k], reversed);
}

/* Each word of [name, name + size) = the pattern; `step` threads share the work. */
static void
fill_memory(struct writer *w, const char *space, const char *name, uint64_t size, uint32_t step)
{
    unsigned n = w->labels++;
    if (!size)
        return;
    cw_buf_printf(w->out, " mov.u64 %%cwv_a, %s; add.u64 %%cwv_e, %%cwv_a, %llu;", name, (unsigned long long)size);
    if (step > 1)
        cw_buf_puts(w->out, " add.u64 %cwv_a, %cwv_a, %cwv_t;");
    cw_buf_printf(w->out, " CWV_F%u: setp.ge.u64 %%cwv_p, %%cwv_a, %%cwv_e; @%%cwv_p bra CWV_D%u;"
                          " cvt.u32.u64 %%cwv_x, %%cwv_a; and.b32 %%cwv_x, %%cwv_x, 3; shl.b32 %%cwv_x, %%cwv_x, 3; mov.b32 %%cwv_y, 0x%x; shr.b32 %%cwv_y, %%cwv_y, %%cwv_x;"
                          " st.%s.u8 [%%cwv_a], %%cwv_y; add.u64 %%cwv_a, %%cwv_a, %u; bra CWV_F%u; CWV_D%u:", n, n, w->v->pattern, space, step, n, n);
    w->changed = true;
}

static bool
visible_in(const struct ptx_function *fn, const struct ptx_symbol *s)
{
    for (uint32_t i = 0; i < fn->nlocals; i++)
        if (fn->locals[i] == s)
            return true;
    for (uint32_t i = 0; i < fn->module->nvars; i++)
        if (fn->module->vars[i] == s)
            return true;
    return false;
}

struct filled {
    const struct ptx_symbol *at[64];
    unsigned count;
};

static void
find_shared(const struct ptx_operand *o, struct filled *f)
{
    const struct ptx_symbol *s = (o->kind == PTX_OPND_ADDR && !o->has_reg) || o->kind == PTX_OPND_SYM ? o->sym : NULL;
    if (!s || s->kind != PTX_SYM_VAR || s->space != PTX_SPACE_SHARED || f->count == 64)
        return;
    for (unsigned i = 0; i < f->count; i++)
        if (f->at[i] == s)
            return;
    f->at[f->count++] = s;
}

/* Behind the declaration of a register in a block of the body, as inline assembly has them; 0: it is none of these. */
static size_t
declared_inside(const struct writer *w, uint32_t first, const char *name)
{
    const struct cwi_program *p = w->p;
    const char *text = p->texts[p->insts[first].text].text, *open = cwi_body(text, p->insts[first].begin, p->insts[first].begin);
    uint32_t last = first;
    while (last + 1 < p->ninsts && p->insts[last + 1].fn == w->fn)
        last++;
    const char *end = text + p->insts[last].end, *from = open;
    unsigned depth = 0;
    size_t n = strlen(name);
    for (const char *s = open; s && (s = cwi_find(s, end, "{};")); from = ++s) {
        const char *reg = *s == ';' && depth > 1 ? memmem(from, (size_t)(s - from), ".reg", 4) : NULL;
        depth += *s == '{';
        depth -= *s == '}' && depth;
        for (const char *at = reg; at && (at = memmem(at, (size_t)(s - at), name, n)); at += n)
            if (strchr(" \t\r\n,", at[-1]) && strchr(" \t\r\n,;", at[n]))
                return (size_t)(s + 1 - text);
    }
    return 0;
}

static void
fill_register(struct writer *w, uint32_t i)
{
    unsigned bits = ptx_type_bits((ptx_type)w->fn->regs[i].type);
    if (bits == 1)
        cw_buf_printf(w->out, " setp.ne.u32 %s, %u, 0;", w->fn->regs[i].name, w->v->pattern & 1);
    else
        cw_buf_printf(w->out, " mov.b%u %s, 0x%llx;", bits, w->fn->regs[i].name,
                      (unsigned long long)(bits == 16 ? w->v->pattern & 0xffff : bits == 32 ? w->v->pattern : (uint64_t)w->v->pattern << 32 | w->v->pattern));
    w->changed = true;
}

static void
fill_prologue(struct writer *w, uint32_t first)
{
    const uint32_t *b = w->d->block;
    struct filled f = { .count = 0 };
    uint32_t threads = b[0] * b[1] * b[2];
    bool *unwritten = calloc(w->fn->nregs + (size_t)1, sizeof *unwritten), any = false;
    if (!unwritten || !cwi_unwritten((struct ptx_function *)(uintptr_t)w->fn, false, NULL, unwritten)) {
        w->impossible = true;
        free(unwritten);
        return;
    }
    cw_buf_puts(w->out, " .reg .pred %cwv_p; .reg .b64 %cwv_a, %cwv_e, %cwv_t; .reg .b32 %cwv_x, %cwv_y;"
                        " mov.u32 %cwv_x, %tid.z; mov.u32 %cwv_y, %ntid.y; mul.lo.u32 %cwv_x, %cwv_x, %cwv_y; mov.u32 %cwv_y, %tid.y;"
                        " add.u32 %cwv_x, %cwv_x, %cwv_y; mov.u32 %cwv_y, %ntid.x; mul.lo.u32 %cwv_x, %cwv_x, %cwv_y; mov.u32 %cwv_y, %tid.x;"
                        " add.u32 %cwv_x, %cwv_x, %cwv_y; cvt.u64.u32 %cwv_t, %cwv_x;");
    for (uint32_t i = 0; i < w->fn->nregs; i++) {
        unsigned bits = ptx_type_bits((ptx_type)w->fn->regs[i].type);
        size_t at = unwritten[i] ? declared_inside(w, first, w->fn->regs[i].name) : 0;
        if (!unwritten[i] || bits == 8 || bits > 64)
            continue;
        if (!at)
            fill_register(w, i);
        else if (w->ninside < INSIDE)
            w->inside[w->ninside++] = (struct inside){ at, i };
    }
    for (uint32_t i = 0; i < w->fn->nlocals; i++)
        if (w->fn->locals[i]->space == PTX_SPACE_LOCAL)
            fill_memory(w, "local", w->fn->locals[i]->name, w->fn->locals[i]->size, 1);
    for (uint32_t i = 0; i < w->p->ninsts; i++)
        for (unsigned k = 0; k < w->p->insts[i].in->noperands; k++)
            find_shared(&w->p->insts[i].in->operand[k], &f);
    for (unsigned i = 0; i < f.count; i++) {
        if (!visible_in(w->fn, f.at[i]))
            continue;
        fill_memory(w, "shared", f.at[i]->name, f.at[i]->unsized ? w->d->shared : f.at[i]->size, threads);
        any = true;
    }
    if (any)
        cw_buf_puts(w->out, " bar.sync 0;");
    free(unwritten);
}

/* ---- the text ---------------------------------------------------------------------------------------------------------------- */

static size_t
write_function(struct writer *w, uint32_t first, size_t at)
{
    const struct cwi_program *p = w->p;
    const struct cwj_input *t = &p->texts[p->insts[first].text];
    w->fn = p->insts[first].fn;
    const char *open = cwi_body(t->text + at, t->size - at, p->insts[first].begin - at);
    size_t body = open ? (size_t)(open - t->text) : p->insts[first].begin - 1;
    cw_buf_append(w->out, t->text + at, body + 1 - at);
    if (w->v->order)
        order_prologue(w);
    copy_prologue(w, first);
    at = body + 1;
    if ((w->v->fill || w->v->delay) && w->fn->is_entry && !strcmp(w->fn->sym->name, w->d->kernel)) {
        size_t begin = cwi_behind_declarations(t->text, body, p->insts[first].begin);
        cw_buf_append(w->out, t->text + at, begin - at);
        if (w->v->fill)
            fill_prologue(w, first);
        if (w->v->delay)                /* the host device lets warps overtake each other only in kernels that have barriers */
            cw_buf_puts(w->out, " bar.sync 0;");
        at = begin;
    }
    for (uint32_t id = first; id < p->ninsts && p->insts[id].fn == w->fn; id++) {
        const struct cwi_inst *i = &p->insts[id];
        for (unsigned k = 0; k < w->ninside; k++) {     /* in the order of the text */
            unsigned next = 0;
            while (next < w->ninside && (w->inside[next].at <= at || w->inside[next].at > i->begin))
                next++;
            for (unsigned j = next; j < w->ninside; j++)
                if (w->inside[j].at > at && w->inside[j].at < w->inside[next].at)
                    next = j;
            if (next == w->ninside)
                break;
            cw_buf_append(w->out, t->text + at, w->inside[next].at - at);
            at = w->inside[next].at;
            for (unsigned j = 0; j < w->ninside; j++)
                if (w->inside[j].at == at)
                    fill_register(w, w->inside[j].reg);
        }
        cw_buf_append(w->out, t->text + at, i->begin - at);
        write_instruction(w, id);
        at = i->end;
    }
    return at;
}

bool
cwv_uses_warps(const struct cwi_program *p)
{
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        unsigned traits = ptx_op_info((ptx_op)in->op)->traits;
        if (traits & PTX_T_WARP || (traits & PTX_T_CONVERGENT && !(traits & PTX_T_BARRIER)) || (in->op == PTX_OP_BAR && in->mode == PTX_MODE_WARP_SYNC))
            return true;
        for (unsigned k = 0; k < in->noperands; k++)
            if (in->operand[k].kind == PTX_OPND_TEXT ||
                (in->operand[k].kind == PTX_OPND_SREG && ptx_sreg_info((ptx_sreg)in->operand[k].index)->traits & PTX_T_WARP))
                return true;
    }
    return false;
}

cw_result
cwv_write(const struct cwi_program *p, uint32_t i, const struct cwv_variant *v, const struct cwd_dump *d, struct cw_buf *out, bool *changed,
          struct cwd_error *e)
{
    struct writer w = { .p = p, .v = v, .d = d, .out = out, .warps = cwv_uses_warps(p), .copied = calloc(p->ninsts + (size_t)1, sizeof(bool)) };
    const bool all = launches(p);
    size_t at = 0;
    if (!w.copied)
        return cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    w.impossible = v->delay && !write_arrivals(&w, i, &at);
    for (uint32_t id = 0; id < p->ninsts;) {
        const struct cwi_inst *x = &p->insts[id];
        if (x->text == i && may_run(x->fn, d->kernel, all))
            at = write_function(&w, id, at);
        while (id < p->ninsts && p->insts[id].fn == x->fn)
            id++;
    }
    free(w.copied);
    cw_buf_append(out, p->texts[i].text + at, p->texts[i].size - at);
    *changed = *changed || w.changed;
    if (w.impossible)
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "the kernel's text cannot be changed so");
    return out->failed ? cwd_fail(e, CW_ERR_NOMEM, "out of memory") : CW_OK;
}

static cw_result
write_all(struct cwl_side *to, const struct cwl_side *from, const struct cwv_variant *v, struct cwj_input *texts, struct cwd_error *e)
{
    bool changed = false;
    uint32_t n = from->program.ntexts;
    struct cwd_input *inputs = calloc(n + (size_t)1, sizeof *inputs);
    cw_result r = inputs ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    to->owned = inputs;
    to->dump.inputs = inputs;
    to->dump.ninputs = n;
    to->dump.linked = to->dump.linked || n > 1;
    for (uint32_t i = 0; i < n && r == CW_OK; i++) {
        struct cw_buf b;
        cw_buf_init(&b);
        r = cwv_write(&from->program, i, v, &from->dump, &b, &changed, e);
        cw_buf_append(&b, "", 1);       /* a module's text ends with NUL */
        if (v->delay && b.data)
            allow_delays(b.data);
        if (r != CW_OK || b.failed) {
            cw_buf_finish(&b);
            return r != CW_OK ? r : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
        }
        texts[i] = (struct cwj_input){ .name = strdup(from->program.texts[i].name), .text = b.data, .size = b.size - 1 };
        inputs[i] = (struct cwd_input){ .kind = CWD_PTX, .name = from->program.texts[i].name, .data = (uint8_t *)b.data, .size = b.size - 1 };
    }
    bool asked = v->fuse || v->flush || v->precise || v->approximate || v->fill || v->delay || v->order;
    return r == CW_OK && asked && !changed && !v->env ? cwd_fail(e, CW_ERR_NOT_FOUND, "there is nothing to change") : r;
}

cw_result
cwv_open(struct cwl_side *to, const struct cwl_side *from, const struct cwv_variant *v, struct cwd_error *e)
{
    uint32_t n = from->program.ntexts;
    *to = (struct cwl_side){ .on = from->on, .env = v->env, .folder = from->folder, .number = from->number + 1, .dump = from->dump };
    memcpy(to->label, from->label, sizeof to->label);
    struct cwj_input *texts = calloc(n + (size_t)1, sizeof *texts);
    cw_result r = texts ? write_all(to, from, v, texts, e) : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    if (r == CW_OK)
        return cwi_open(&to->program, texts, n, e);
    for (uint32_t i = 0; texts && i < n; i++) {
        free((char *)texts[i].name);
        free((char *)texts[i].text);
    }
    free(texts);
    return r;
}
