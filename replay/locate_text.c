/* SPDX-License-Identifier: Apache-2.0
 * The text of --locate's report. */
#include "replay/locate_private.h"

#include "impl/base/text.h"

#include <stdio.h>
#include <string.h>

static const struct cwi_inst *
inst(const struct locate *l, unsigned side, uint32_t id)
{
    return &l->side[side].program.insts[id];
}

void
say_element(const struct locate *l)
{
    const struct cwd_difference *x = &l->element;
    cw_text_print(stdout, "%s, %s index %llu: %s on %s, %s on %s; %llu of %llu differ\n", x->where, x->type, (unsigned long long)x->index, x->expected,
                  l->side[0].label, x->actual, l->side[1].label, (unsigned long long)x->count, (unsigned long long)x->elements);
}

void
thread_text(const struct locate *l, struct thread t, char *out, size_t size)
{
    const uint32_t *b = l->side[0].dump.block, *g = l->side[0].dump.grid;
    snprintf(out, size, "thread (%u,%u,%u) of block (%llu,%llu,%llu)", t.thread % b[0], t.thread / b[0] % b[1], t.thread / b[0] / b[1],
             (unsigned long long)(t.block % g[0]), (unsigned long long)(t.block / g[0] % g[1]), (unsigned long long)(t.block / g[0] / g[1]));
}

static const char *
ordinal(uint32_t n)
{
    return n % 10 == 1 && n % 100 != 11 ? "st" : n % 10 == 2 && n % 100 != 12 ? "nd" : n % 10 == 3 && n % 100 != 13 ? "rd" : "th";
}

void
place_text(const struct locate *l, unsigned side, uint32_t id, uint32_t nth, char *out, size_t size)
{
    char times[40] = "";
    if (nth > 1)
        snprintf(times, sizeof times, ", the %u%s time", nth, ordinal(nth));
    cwi_place_text(&l->side[side].program, id, times, out, size);
}

void
range_text(const struct locate *l, const struct range *r, char *out, size_t size)
{
    char where[160];
    if (r->shared) {
        snprintf(out, size, "byte %llu of the block's shared memory", (unsigned long long)r->at[0]);
    } else if (r->buffer >= 0) {
        const struct cwd_buffer *b = &l->side[0].dump.buffers[r->buffer];
        cwd_where(&l->side[0].dump, (uint32_t)r->buffer, where, sizeof where);
        snprintf(out, size, "buffer %d, %s, byte %llu", r->buffer, where, (unsigned long long)(r->at[0] - b->address));
    } else {
        snprintf(out, size, "memory at 0x%llx", (unsigned long long)r->at[0]);
    }
}

static void
value_text(const struct cwi_inst *i, uint32_t reg, bool result, uint64_t bits, char *out, size_t size)
{
    unsigned t = cwt_type(i, reg, result);
    if (t == PTX_PRED)
        snprintf(out, size, "%s", bits ? "true" : "false");
    else if (t == PTX_F16X2 || t == PTX_BF16X2 || t == PTX_F32X2)
        snprintf(out, size, "0x%0*llx", (int)ptx_type_bits((ptx_type)t) / 4, (unsigned long long)bits);
    else
        cwd_value_print(bits, t, out, size);
}

/* The operands of an instruction in one device run: "%f1 = 2 (0x40000000), ..."; `same`: only those that are known and the same
 * in both runs. */
static bool
list_operands(const struct locate *l, const struct cwt_difference *d, unsigned side, bool same, const char *before)
{
    const struct cwi_inst *i = inst(l, side, d->id[side]);
    char text[64];
    bool any = false;
    for (uint32_t k = 0; k < d->noperands; k++) {
        const struct cwt_operand *o = &d->operand[k];
        bool seen = o->reg[side] == CWT_NO_ID || !o->known[side] || (same && (o->differs || !o->known[!side]));
        for (uint32_t j = 0; j < k; j++)
            seen = seen || d->operand[j].reg[side] == o->reg[side];
        if (seen)
            continue;
        value_text(i, o->reg[side], false, o->value[side], text, sizeof text);
        cw_text_print(stdout, "%s%s = %s", any ? ", " : before, i->fn->regs[o->reg[side]].name, text);
        any = true;
    }
    if (any)
        putchar('\n');
    return any;
}

/* Two different instructions: each with its operands. */
static void
say_own_operands(const struct locate *l, const struct cwt_difference *d)
{
    char before[300];
    for (unsigned k = 0; k < 2; k++) {
        snprintf(before, sizeof before, "  operands on %s: ", l->side[k].label);
        list_operands(l, d, k, false, before);
    }
}

static void
say_operands(const struct locate *l, const struct cwt_difference *d)
{
    const struct cwi_inst *i = inst(l, 0, d->id[0]);
    char a[64], b[64];
    list_operands(l, d, 0, true, "  with the same operands: ");
    for (uint32_t k = 0; k < d->noperands; k++) {
        const struct cwt_operand *o = &d->operand[k];
        const char *name = o->reg[0] != CWT_NO_ID ? i->fn->regs[o->reg[0]].name : "";
        if (!o->known[0] || !o->known[1]) {
            cw_text_print(stdout, "  operand %s is not known: nothing that leaves a record wrote it\n", name);
        } else if (o->differs) {
            value_text(i, o->reg[0], false, o->value[0], a, sizeof a);
            value_text(i, o->reg[0], false, o->value[1], b, sizeof b);
            cw_text_print(stdout, "  operand %s is %s on %s and %s on %s%s\n", name, a, l->side[0].label, b, l->side[1].label,
                          o->address ? ", as addresses differ between devices" : "");
        }
    }
}

void
say_difference(const struct locate *l, const struct cwt_difference *d, const char *whose)
{
    char place[700], other[700], a[256], b[256];
    if (d->found == CWT_FLOW) {
        cw_text_print(stdout, "%s goes on differently:", whose);
        for (unsigned k = 0; k < 2; k++) {
            if (d->id[k] != CWT_NO_ID)
                place_text(l, k, d->id[k], 0, place, sizeof place);
            else
                snprintf(place, sizeof place, "its end");
            cw_text_print(stdout, " on %s with %s%s", l->side[k].label, place, k ? "\n" : ";");
        }
        if (d->branch != CWT_NO_ID) {
            place_text(l, 0, d->branch, 0, place, sizeof place);
            cw_text_print(stdout, "  the last branch before that: %s\n", place);
        }
        return;
    }
    place_text(l, 0, d->id[0], d->nth, place, sizeof place);
    place_text(l, 1, d->id[1], d->nth, other, sizeof other);
    if (d->found == CWT_BRANCH) {
        cw_text_print(stdout, "%s takes another branch: %s: %s on %s, %s on %s\n", whose, place, d->value[0] ? "taken" : "not taken", l->side[0].label,
                      d->value[1] ? "taken" : "not taken", l->side[1].label);
        say_operands(l, d);
        return;
    }
    cw_text_print(stdout, "first result of %s that differs: %s\n", whose, place);
    cwi_written(&l->side[0].program, d->id[0], a, sizeof a);
    cwi_written(&l->side[1].program, d->id[1], b, sizeof b);
    bool alike = !strcmp(a, b);
    if (!alike)
        cw_text_print(stdout, "  which is, on %s, %s\n", l->side[1].label, other);
    bool upper;
    const struct cwi_inst *i = inst(l, 0, d->id[0]), *j = inst(l, 1, d->id[1]);
    uint32_t reg = cwi_result_register(i->fn, i->in, d->part, &upper), reg2 = cwi_result_register(j->fn, j->in, d->part, &upper);
    if (reg != UINT32_MAX && reg2 != UINT32_MAX) {
        value_text(i, reg, true, d->value[0], a, sizeof a);
        value_text(j, reg2, true, d->value[1], b, sizeof b);
        cw_text_print(stdout, "  %s = %s on %s, %s on %s\n", i->fn->regs[reg].name, a, l->side[0].label, b, l->side[1].label);
    }
    if (alike)
        say_operands(l, d);
    else
        say_own_operands(l, d);
}

static bool
both_nan(const struct locate *l, const struct cwt_difference *d)
{
    bool upper;
    const struct cwi_inst *i = inst(l, 0, d->id[0]);
    uint32_t reg = cwi_result_register(i->fn, i->in, d->part, &upper);
    unsigned t = reg == UINT32_MAX ? PTX_NONE : cwt_type(i, reg, true);
    uint64_t infinity = t == PTX_F32 ? 0x7f800000 : t == PTX_F64 ? 0x7ff0000000000000 : t == PTX_F16 ? 0x7c00 : t == PTX_BF16 ? 0x7f80 : 0;
    uint64_t magnitude = t == PTX_F64 ? INT64_MAX : t == PTX_F32 ? INT32_MAX : INT16_MAX;
    return infinity && (d->value[0] & magnitude) > infinity && (d->value[1] & magnitude) > infinity;
}

void
say_reason(const struct locate *l, const struct cwt_difference *d)
{
    const struct ptx_inst *in = inst(l, 0, d->id[0])->in;
    if (d->found != CWT_VALUE)
        return;
    if (in->flags & (PTX_F_APPROX | PTX_F_FULL))
        puts("  PTX leaves the last bits of this instruction open: it is an approximate one");
    else if (in->op == PTX_OP_MMA || in->op == PTX_OP_WMMA_MMA)
        puts("  PTX leaves open in which order and how exactly a matrix product is summed");
    else if (in->op == PTX_OP_ACTIVEMASK)
        puts("  which threads run together here is up to the device");
    else if (both_nan(l, d))
        puts("  both are NaN: --ulp N with N from 1 on takes every NaN for the same");
    else if ((in->op == PTX_OP_MUL || in->op == PTX_OP_ADD || in->op == PTX_OP_SUB) && in->round == PTX_RND_NONE &&
             ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_FLOAT)
        puts("  without a rounding modifier NVIDIA's compiler may fuse a multiplication and an addition; cuda-native:O0 does not");
}

static bool
is_fusible(const struct ptx_inst *in, bool product)
{
    bool op = product ? in->op == PTX_OP_MUL : in->op == PTX_OP_ADD || in->op == PTX_OP_SUB;
    return op && in->round == PTX_RND_NONE && ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_FLOAT && in->noperands == 3;
}

/* The multiplication whose result this addition takes: the last one before it that writes the register. */
static uint32_t
fused_with(const struct cwi_program *p, uint32_t sum)
{
    const struct ptx_inst *in = p->insts[sum].in;
    for (unsigned k = 1; k < 3; k++) {
        bool upper;
        if (in->operand[k].kind != PTX_OPND_REG)
            continue;
        for (uint32_t i = sum; i-- > 0 && p->insts[i].fn == p->insts[sum].fn;)
            if (cwi_result_register(p->insts[i].fn, p->insts[i].in, 0, &upper) == in->operand[k].index) {
                if (is_fusible(p->insts[i].in, true) && p->insts[i].in->type[0] == in->type[0])
                    return i;
                break;
            }
    }
    return CWT_NO_ID;
}

void
say_vanished(const struct locate *l)
{
    const struct cwi_program *p = &l->side[0].program;
    uint32_t n = 0;
    char place[700], other[700];
    puts("  and with what records them put in, the kernel's result does not differ any more: it depends on how a compiler puts instructions\n"
         "  together, most often on whether it fuses a multiplication and an addition; cuda-native:O0 does not");
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_function *fn = p->insts[i].fn;
        uint32_t product;
        if ((fn->is_entry && strcmp(fn->sym->name, l->side[0].dump.kernel)) || !is_fusible(p->insts[i].in, false) ||
            (product = fused_with(p, i)) == CWT_NO_ID)
            continue;
        if (n++ >= 5)
            continue;
        place_text(l, 0, product, 0, place, sizeof place);
        place_text(l, 0, i, 0, other, sizeof other);
        cw_text_print(stdout, "  these may be fused: %s, and %s\n", place, other);
    }
    if (n > 5)
        cw_text_print(stdout, "  and %u more\n", n - 5);
}

void
say_hidden(const struct locate *l)
{
    const struct cwi_program *p = &l->side[0].program;
    uint32_t n = 0;
    char place[700];
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_function *fn = p->insts[i].fn;
        if (!cwi_hidden(p->insts[i].in) || (fn->is_entry && strcmp(fn->sym->name, l->side[0].dump.kernel)))
            continue;
        place_text(l, 0, i, 0, place, sizeof place);
        if (n++ < 5)
            cw_text_print(stdout, "  this instruction leaves no record: %s\n", place);
    }
    if (n > 5)
        cw_text_print(stdout, "  and %u more\n", n - 5);
}
