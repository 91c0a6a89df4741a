/* SPDX-License-Identifier: Apache-2.0
 * See find.h. */
#include "jit/analysis/find.h"

bool
cwj_has_inst(const struct ptx_function *fn, bool (*test)(const struct ptx_inst *))
{
    for (uint32_t i = 0; fn && fn->has_body && i < fn->ninsts; i++)
        if (test(&fn->insts[i]))
            return true;
    return false;
}

bool
cwj_closure_has_inst(const struct cwj_program *p, const struct cwj_closure *c, bool (*test)(const struct ptx_inst *))
{
    for (uint32_t i = 0; i < c->nfuncs; i++)
        if (cwj_has_inst(cwj_program_function(p, c->funcs[i])->fn, test))
            return true;
    return false;
}

static bool
is_sreg(const struct ptx_operand *o, bool (*test)(ptx_sreg))
{
    bool yes = o->kind == PTX_OPND_SREG && test((ptx_sreg)o->index);
    for (unsigned i = 0; i < o->count && o->elem && !yes; i++)
        yes = is_sreg(&o->elem[i], test);
    return yes;
}

bool
cwj_reads_sreg(const struct ptx_inst *in, bool (*test)(ptx_sreg))
{
    for (unsigned i = 0; i < in->noperands; i++)
        if (is_sreg(&in->operand[i], test))
            return true;
    return false;
}
