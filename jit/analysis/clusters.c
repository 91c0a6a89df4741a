/* SPDX-License-Identifier: Apache-2.0
 * See clusters.h. A kernel uses clusters if one of its functions names another block's shared memory, the cluster's barrier, a special
 * register of clusters, or the scope of a cluster (blocks that wait for each other in global memory have to be resident together). */
#include "jit/analysis/clusters.h"
#include "jit/link/program.h"

static bool
names_register(const struct ptx_operand *o)
{
    return o->kind == PTX_OPND_SREG && o->index >= PTX_SREG_IS_EXPLICIT_CLUSTER && o->index <= PTX_SREG_CLUSTER_NCTARANK;
}

static bool
uses(const struct ptx_inst *in)
{
    bool yes = in->op == PTX_OP_MAPA || in->op == PTX_OP_GETCTARANK || in->op == PTX_OP_BARRIER_CLUSTER || in->space == PTX_SPACE_SHARED_CLUSTER ||
               in->scope == PTX_SCOPE_CLUSTER;
    for (unsigned i = 0; i < in->noperands && !yes; i++) {
        const struct ptx_operand *o = &in->operand[i];
        yes = names_register(o);
        for (unsigned k = 0; o->kind == PTX_OPND_VEC && k < o->count && !yes; k++)
            yes = names_register(&o->elem[k]);
    }
    return yes;
}

bool
cwj_notices_clusters(struct cwj_program *p, uint32_t index)
{
    bool yes = false;
    const struct cwj_closure *c = &p->closure[index];
    for (uint32_t i = 0; i < c->nfuncs && !yes; i++) {
        const struct ptx_function *fn = cwj_program_function(p, c->funcs[i])->fn;
        for (uint32_t k = 0; fn && fn->has_body && k < fn->ninsts && !yes; k++)
            yes = uses(&fn->insts[k]);
    }
    return yes;
}

bool
cwj_uses_clusters(struct cwj_program *p, uint32_t index)
{
    if (index >= p->nkernels)
        return false;
    pthread_mutex_lock(&p->lock);
    bool yes = cwj_notices_clusters(p, index);
    pthread_mutex_unlock(&p->lock);
    return yes;
}
