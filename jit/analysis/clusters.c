/* SPDX-License-Identifier: Apache-2.0
 * See clusters.h. A kernel uses clusters if one of its functions names another block's shared memory, the cluster's barrier, a special
 * register of clusters, or the scope of a cluster (blocks that wait for each other in global memory have to be resident together). */
#include "jit/analysis/clusters.h"
#include "jit/analysis/find.h"
#include "jit/link/program.h"

static bool
is_of_cluster(ptx_sreg r)
{
    return r >= PTX_SREG_IS_EXPLICIT_CLUSTER && r <= PTX_SREG_CLUSTER_NCTARANK;
}

static bool
uses_clusters(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MAPA || in->op == PTX_OP_GETCTARANK || in->op == PTX_OP_BARRIER_CLUSTER || in->space == PTX_SPACE_SHARED_CLUSTER ||
           in->scope == PTX_SCOPE_CLUSTER || cwj_reads_sreg(in, is_of_cluster);
}

bool
cwj_notices_clusters(struct cwj_program *p, uint32_t index)
{
    return cwj_closure_has_inst(p, &p->closure[index], uses_clusters);
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
