/* SPDX-License-Identifier: Apache-2.0
 * Identical code folding: finds kernels with the same code. Of ffmpeg's 320 scalers, which are instances of templates, 126 differ. Compares
 * everything that a target reads; ignores names of kernels, parameters, registers and labels, and source positions. */
#include "jit/link/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- symbols ------------------------------------------------------------------------------------------------------------- */

static bool
same_shape(const struct ptx_symbol *a, const struct ptx_symbol *b)
{
    return a->kind == b->kind && a->space == b->space && a->type == b->type && a->is_array == b->is_array && a->unsized == b->unsized &&
           a->is_param_reg == b->is_param_reg && a->reg == b->reg && a->ptr_space == b->ptr_space && a->ptr_align == b->ptr_align &&
           a->align == b->align && a->size == b->size && a->offset == b->offset && !a->init && !b->init;
}

/* Is it element `index` of the list? */
static bool
is_of(const struct ptx_symbol *s, struct ptx_symbol *const *list, uint32_t n)
{
    return s->index < n && list[s->index] == s;
}

struct pair {
    const struct ptx_function *a, *b;
};

/* Parameters and symbols declared in the body are equal by position; all others by their program-wide id. */
static bool
same_symbol(const struct pair *p, const struct ptx_symbol *a, const struct ptx_symbol *b)
{
    if (a == b || !a || !b)
        return a == b;
    if (a->kind != b->kind)
        return false;
    if (a->link_id != CWJ_NO_ID || b->link_id != CWJ_NO_ID)
        return a->link_id == b->link_id;
    return a->index == b->index && ((is_of(a, p->a->params, p->a->nparams) && is_of(b, p->b->params, p->b->nparams)) ||
                                    (is_of(a, p->a->locals, p->a->nlocals) && is_of(b, p->b->locals, p->b->nlocals)));
}

static bool
same_symbols(struct ptx_symbol *const *a, struct ptx_symbol *const *b, uint32_t n, bool local)
{
    for (uint32_t i = 0; i < n; i++) {
        /* Variables of other spaces are program-wide and compared by id. */
        if (local && a[i]->space != PTX_SPACE_LOCAL && a[i]->space != PTX_SPACE_PARAM)
            return false;
        if (!same_shape(a[i], b[i]))
            return false;
    }
    return true;
}

/* ---- instructions -------------------------------------------------------------------------------------------------------- */

static bool
same_table(const struct pair *p, const struct ptx_table *a, const struct ptx_table *b)
{
    if (a == b || !a || !b)
        return a == b;
    if (a->count != b->count || a->proto || b->proto || !a->labels != !b->labels || !a->funcs != !b->funcs)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if ((a->labels && a->labels[i] != b->labels[i]) || (a->funcs && !same_symbol(p, a->funcs[i], b->funcs[i])))
            return false;
    return true;
}

static bool
same_operand(const struct pair *p, const struct ptx_operand *a, const struct ptx_operand *b)
{
    if (a->kind != b->kind || a->count != b->count || a->negate_pred != b->negate_pred || a->negate != b->negate || a->is_float != b->is_float ||
        a->imm_f32 != b->imm_f32 || a->has_reg != b->has_reg || a->video_sel != b->video_sel || a->index != b->index ||
        a->simd_sel != b->simd_sel || a->imm != b->imm)
        return false;
    switch (a->kind) {
    case PTX_OPND_SYM:
        return same_symbol(p, a->sym, b->sym);
    case PTX_OPND_ADDR:
        return a->has_reg || same_symbol(p, a->sym, b->sym);
    case PTX_OPND_VEC:
    case PTX_OPND_PRED_PAIR:
    case PTX_OPND_LIST:
        for (uint32_t i = 0; i < a->count; i++)
            if (!same_operand(p, &a->elem[i], &b->elem[i]))
                return false;
        return true;
    case PTX_OPND_TABLE:
        return same_table(p, a->table, b->table);
    case PTX_OPND_TEXT:
        return !strcmp(a->text, b->text);
    default:
        return true;
    }
}

static bool
same_inst(const struct pair *p, const struct ptx_inst *a, const struct ptx_inst *b)
{
    if (a->op != b->op || memcmp(a->type, b->type, sizeof a->type) != 0 || a->round != b->round || a->cmp != b->cmp || a->boolop != b->boolop ||
        a->mode != b->mode || a->space != b->space || a->sem != b->sem || a->scope != b->scope || a->atomop != b->atomop || a->vec != b->vec ||
        a->geom != b->geom || a->noperands != b->noperands || a->has_guard != b->has_guard || a->guard_negated != b->guard_negated ||
        a->nounroll != b->nounroll || a->guard != b->guard || a->flags != b->flags || a->aux != b->aux)
        return false;
    for (unsigned i = 0; i < a->noperands; i++)
        if (!same_operand(p, &a->operand[i], &b->operand[i]))
            return false;
    return true;
}

static bool
same_bounds(const struct ptx_function *a, const struct ptx_function *b)
{
    return !memcmp(a->maxntid, b->maxntid, sizeof a->maxntid) && !memcmp(a->reqntid, b->reqntid, sizeof a->reqntid) &&
           !memcmp(a->cluster, b->cluster, sizeof a->cluster) && a->explicit_cluster == b->explicit_cluster &&
           a->minnctapersm == b->minnctapersm && a->maxnreg == b->maxnreg;
}

static bool
same_kernel(const struct ptx_function *a, const struct ptx_function *b)
{
    struct pair p = { a, b };
    if (a->module != b->module || a->noreturn != b->noreturn || a->nparams != b->nparams || a->param_size != b->param_size ||
        a->nregs != b->nregs || a->nlocals != b->nlocals || a->ninsts != b->ninsts || !same_bounds(a, b))
        return false;
    if (!same_symbols(a->params, b->params, a->nparams, false) || !same_symbols(a->locals, b->locals, a->nlocals, true))
        return false;
    for (uint32_t i = 0; i < a->nregs; i++)
        if (a->regs[i].type != b->regs[i].type)
            return false;
    for (uint32_t i = 0; i < a->ninsts; i++)
        if (!same_inst(&p, &a->insts[i], &b->insts[i]))
            return false;
    return true;
}

/* ---- all of them --------------------------------------------------------------------------------------------------------- */

/* FNV-1a over the fields that are cheap to read. */
static uint64_t
hash(const struct ptx_function *f)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ f->nregs;
    for (uint32_t i = 0; i < f->ninsts; i++) {
        const struct ptx_inst *in = &f->insts[i];
        h = (h ^ in->op ^ (uint64_t)in->type[0] << 16 ^ (uint64_t)in->flags << 24) * UINT64_C(0x100000001b3);
        for (unsigned k = 0; k < in->noperands; k++)
            h = (h ^ in->operand[k].index ^ (uint64_t)in->operand[k].imm) * UINT64_C(0x100000001b3);
    }
    return h ^ h >> 32;
}

cw_result
cwj_link_icf(const struct cwj_program *p, const bool *take, uint32_t *same)
{
    uint32_t size = 4;
    while (size < 2 * (uint64_t)p->nkernels && size < UINT32_C(1) << 31)
        size *= 2;
    struct slot {
        uint64_t hash;
        uint32_t kernel;            /* + 1; 0: free */
    } *table = calloc(size, sizeof *table);
    if (!table)
        return CW_ERR_NOMEM;
    for (uint32_t k = 0; k < p->nkernels; k++) {
        const struct ptx_function *f = p->kernels[k].fn;
        same[k] = k;
        if (!take[k])
            continue;
        uint64_t h = hash(f);
        uint32_t at = (uint32_t)h & (size - 1);
        while (table[at].kernel && !(table[at].hash == h && same_kernel(p->kernels[table[at].kernel - 1].fn, f)))
            at = (at + 1) & (size - 1);
        if (table[at].kernel)
            same[k] = table[at].kernel - 1;
        else
            table[at] = (struct slot){ h, k + 1 };
    }
    free(table);
    return CW_OK;
}
