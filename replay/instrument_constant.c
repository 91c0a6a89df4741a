/* SPDX-License-Identifier: Apache-2.0
 * Loads from constant memory, and from the kernel's parameters through a register, for CWI_CHECK and CWI_SCREEN. Their addresses are in spaces of their own, where an
 * allocation is a variable of the module or a parameter: the load has to be inside of one. Those that name one and are inside of it need no code. */
#include "replay/instrument_private.h"

enum { MOST = 64 };                     /* variables that are compared with */

static const struct ptx_symbol *const *
all_of(const struct ptx_function *fn, uint8_t space, uint32_t *n)
{
    *n = space == PTX_SPACE_PARAM ? fn->nparams : fn->module->nvars;
    return (const struct ptx_symbol *const *)(space == PTX_SPACE_PARAM ? fn->params : fn->module->vars);
}

/* The n-th place in the space that the function can name; NULL: there are fewer. */
static const struct ptx_symbol *
place(const struct ptx_function *fn, uint8_t space, uint32_t n)
{
    uint32_t count;
    const struct ptx_symbol *const *all = all_of(fn, space, &count);
    for (uint32_t i = 0; i < count; i++)
        if (all[i]->space == space && all[i]->line <= fn->insts[0].line && !n--)
            return all[i];
    return NULL;
}

/* Are all places of the space known, with their sizes? */
static bool
known(const struct ptx_function *fn, uint8_t space)
{
    uint32_t count;
    const struct ptx_symbol *const *all = all_of(fn, space, &count);
    for (uint32_t i = 0; i < count; i++)
        if (all[i]->space == space && (all[i]->unsized || !all[i]->size))
            return false;
    for (uint32_t i = 0; i < fn->nlocals; i++)
        if (fn->locals[i]->space == PTX_SPACE_CONST)
            return false;
    return !place(fn, space, MOST);
}

static bool
is_constant(const struct ptx_function *fn, const struct ptx_inst *in, struct access *a)
{
    if (in->op != PTX_OP_LD || in->noperands < 2 || in->operand[1].kind != PTX_OPND_ADDR)
        return false;
    *a = (struct access){ .what = CWI_READ, .address = &in->operand[1], .space = cwi_space(in, &in->operand[1]) };
    a->bytes = ptx_type_bits((ptx_type)in->type[0]) / 8 * (in->vec ? in->vec : 1);
    return a->bytes && (a->space == PTX_SPACE_CONST || (a->space == PTX_SPACE_PARAM && fn->is_entry && a->address->has_reg));
}

static bool
surely_inside(const struct access *a)
{
    const struct ptx_symbol *s = a->address->has_reg ? NULL : a->address->sym;
    uint64_t at = (uint64_t)a->address->imm;
    return s && at < s->size && a->bytes <= s->size - at && at % a->bytes == 0 && s->align >= a->bytes;
}

bool
cwi_constant_of(const struct ptx_function *fn, const struct ptx_inst *in, struct access *a)
{
    return is_constant(fn, in, a) && known(fn, a->space) && !surely_inside(a);
}

bool
cwi_constant_unknown(const struct ptx_function *fn, const struct ptx_inst *in)
{
    struct access a;
    return is_constant(fn, in, &a) && !known(fn, a.space) && !surely_inside(&a);
}

/* v = the nearest place's number << 48 | the address's distance from its begin; q: all of the access is inside. */
void
cwi_constant_place(struct rewrite *w, const struct access *a)
{
    const struct ptx_symbol *s;
    /* A register of 32 bits has the lower half of an address, as mov of a name leaves it there. */
    const bool half = a->address->has_reg && ptx_type_bits((ptx_type)w->fn->regs[a->address->index].type) == 32;
    cwi_put(w, " mov.u64 $lo, -1; mov.u64 $hi, 0; mov.u64 $v, 0;");
    for (uint32_t i = 0; (s = place(w->fn, a->space, i)); i++) {
        cwi_put(w, " mov.u64 $i, %s;", s->name);
        if (half)
            cwi_put(w, " and.b64 $i, $i, 0xffffffff;");
        cwi_put(w, " sub.u64 $i, $a, $i; sub.u64 $n, $i, %llu; neg.s64 $k, $i; setp.lt.s64 $q, $i, 0; selp.b64 $n, $k, $n, $q;"
                   " setp.lt.u64 $q, $i, %llu; selp.b64 $n, 0, $n, $q; mov.u64 $k, %llu; sub.u64 $k, $k, $i; setp.lt.u64 $q, $n, $lo; selp.b64 $lo, $n, $lo, $q;"
                   " selp.b64 $hi, $k, $hi, $q; and.b64 $i, $i, 0xffffffffffff; or.b64 $i, $i, %llu; selp.b64 $v, $i, $v, $q;",
                (unsigned long long)s->size - 1, (unsigned long long)s->size, (unsigned long long)s->size, (unsigned long long)i << 48);
    }
    cwi_put(w, " setp.eq.u64 $q, $lo, 0; setp.ge.and.u64 $q, $hi, %u, $q;", a->bytes);
}

const struct ptx_symbol *
cwi_constant_nearest(const struct cwi_program *p, uint32_t id, uint64_t value, int64_t *offset)
{
    const struct cwi_inst *i = &p->insts[id];
    struct access a;
    *offset = (int64_t)(value << 16) >> 16;
    return is_constant(i->fn, i->in, &a) ? place(i->fn, a.space, (uint32_t)(value >> 48)) : NULL;
}
