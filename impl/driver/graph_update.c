/* SPDX-License-Identifier: Apache-2.0
 * Changes to executable graphs: one node's work, a node switched on and off, a child graph, and all of it from another graph. What
 * is not as it was gets a new body or work in one exchange under the graph's lock; a launch that was submitted keeps what it has. */
#include "impl/driver/graph_exec.h"

#include <stdlib.h>

/* ---- changing one node ------------------------------------------------------------------------------------------------------------------ */

static bool
flat_copy(const CUDA_MEMCPY3D *p)
{
    return p->Height == 1 && p->Depth == 1 && p->srcMemoryType != CU_MEMORYTYPE_ARRAY && p->dstMemoryType != CU_MEMORYTYPE_ARRAY;
}

/* Whether an executable graph may take w for old (CUDA driver API, "cuGraphExecMemcpyNodeSetParams" and "...MemsetNodeSetParams": one
 * dimension, the same kinds of memory). `whole`: in cuGraphExecUpdate, where larger shapes may stay as they are. */
static bool
may_replace(const struct work *old, const struct work *w, bool whole)
{
    if (w->type == CU_GRAPH_NODE_TYPE_MEMCPY) {
        const CUDA_MEMCPY3D *a = &old->copy.p, *b = &w->copy.p;
        if (a->srcMemoryType != b->srcMemoryType || a->dstMemoryType != b->dstMemoryType)
            return false;
        return (flat_copy(a) && flat_copy(b)) ||
               (whole && a->WidthInBytes == b->WidthInBytes && a->Height == b->Height && a->Depth == b->Depth);
    }
    if (w->type == CU_GRAPH_NODE_TYPE_MEMSET) {
        const CUDA_MEMSET_NODE_PARAMS *a = &old->fill.p, *b = &w->fill.p;
        return (a->height == 1 && b->height == 1) ||
               (whole && a->width == b->width && a->height == b->height && a->elementSize == b->elementSize && a->pitch == b->pitch);
    }
    if (w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return old->cond.type == w->cond.type && old->cond.size == w->cond.size;
    return true;
}

static bool
exec_has(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeType type)
{
    struct exec *x AUTO_PUT = handle_get(hGraphExec, KIND_EXEC);
    if (!x)
        return false;
    pthread_mutex_lock(&x->lock);
    const struct entry *k = body_find(x->body, hNode);
    const bool has = k && k->w.type == type;
    pthread_mutex_unlock(&x->lock);
    return has;
}

/* Put w, if it was made, in the place of the entry of that type. Where there is none, that is what the program is told. */
static CUresult
exchange(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeType type, CUresult made, struct work *w)
{
    if (made != CUDA_SUCCESS)
        return exec_has(hGraphExec, hNode, type) ? made : CUDA_ERROR_INVALID_VALUE;
    struct exec *x AUTO_PUT = handle_get(hGraphExec, KIND_EXEC);
    CUresult e = CUDA_ERROR_INVALID_VALUE;
    struct work old;
    if (x) {
        struct ctx *c = work_context(w);
        pthread_mutex_lock(&x->lock);
        struct entry *k = body_find(x->body, hNode);
        if (k && k->w.type == type && (!c || !x->ctx || c == x->ctx) && may_replace(&k->w, w, false)) {
            old = k->w;
            e = work_keep(w, &old);
            if (e == CUDA_SUCCESS)
                k->w = *w;
        }
        pthread_mutex_unlock(&x->lock);
    }
    work_finish(e == CUDA_SUCCESS ? &old : w);
    return e;
}

CUresult
drv_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    READY();
    struct work w;
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, work_kernel_params(&w, nodeParams), &w);
}

CUresult
drv_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    return drv_cuGraphExecKernelNodeSetParams_v2(
        hGraphExec, hNode, &(CUDA_KERNEL_NODE_PARAMS){ p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY,
                                                       p->blockDimZ, p->sharedMemBytes, p->kernelParams, p->extra, NULL, NULL });
}

CUresult
drv_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    READY();
    struct work w;
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, work_memcpy(&w, copyParams, ctx), &w);
}

CUresult
drv_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    READY();
    struct work w;
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, work_memset(&w, memsetParams, ctx), &w);
}

CUresult
drv_cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    READY();
    struct work w;
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, work_host(&w, nodeParams), &w);
}

CUresult
drv_cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    READY();
    struct work w;
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, work_event(&w, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event), &w);
}

CUresult
drv_cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    READY();
    struct work w;
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, work_event(&w, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event), &w);
}

CUresult
drv_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    READY();
    struct work w;
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, work_batch_params(&w, nodeParams), &w);
}

CUresult
drv_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    READY();
    struct work w;
    if (!general_form(nodeParams))
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return drv_cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, nodeParams->graph.graph);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return CUDA_ERROR_INVALID_VALUE;        /* these have nothing that may change */
    }
    return exchange(hGraphExec, hNode, nodeParams->type, work_general(&w, nodeParams), &w);
}

static bool
may_be_disabled(const struct entry *e)
{
    return e && (e->w.type == CU_GRAPH_NODE_TYPE_KERNEL || e->w.type == CU_GRAPH_NODE_TYPE_MEMSET || e->w.type == CU_GRAPH_NODE_TYPE_MEMCPY);
}

CUresult
drv_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
    EXEC(x, hGraphExec);
    pthread_mutex_lock(&x->lock);
    struct entry *e = body_find(x->body, hNode);
    bool ok = may_be_disabled(e);
    if (ok)
        e->enabled = isEnabled != 0;
    pthread_mutex_unlock(&x->lock);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
    EXEC(x, hGraphExec);
    if (!isEnabled)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&x->lock);
    struct entry *e = body_find(x->body, hNode);
    const bool ok = may_be_disabled(e), enabled = ok && e->enabled;
    pthread_mutex_unlock(&x->lock);
    if (ok)
        *isEnabled = enabled;
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- changing all of it ------------------------------------------------------------------------------------------------------------------- */

struct difference {
    bool looked;                        /* else there was nothing to compare, and the program's results stay as they are (driver 580) */
    CUgraphExecUpdateResult result;
    CUgraphNode node, from;
};

/* What is known of an entry while its node is looked for. */
enum { HAS_DEPENDENTS = 1, TAKEN = 2 };

/* Pairs a sink with entry k, and so on with what they depend on. An entry has one node. */
static CUgraphExecUpdateResult
pair_past(const struct body *b, struct node *sink, uint32_t k, uint32_t *mate, struct node **todo, uint8_t *known, CUgraphNode *at)
{
    uint32_t n = 0;
    mate[sink->mark] = k;
    known[k] |= TAKEN;
    todo[n++] = sink;
    while (n) {
        struct node *s = todo[--n];
        const struct entry *e = &b->e[mate[s->mark]];
        *at = node_handle(s);
        if (s->w.type != e->w.type)
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (s->deps.n != e->ndeps)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        for (uint32_t d = 0; d < e->ndeps; d++) {
            struct node *p = s->deps.v[d];
            if (mate[p->mark] == UINT32_MAX && !(known[e->deps[d]] & TAKEN)) {
                mate[p->mark] = e->deps[d];
                known[e->deps[d]] |= TAKEN;
                todo[n++] = p;
            } else if (mate[p->mark] != e->deps[d]) {
                return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
            }
        }
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* The entry for each node of g, from its places among the sinks and in its dependants' lists of dependencies: what the documented
 * rules keep the same. graph_lock held; fills mate[place of the node in g] with the index of the entry. */
static CUgraphExecUpdateResult
pair(const struct body *b, struct graph *g, uint32_t *mate, struct node **todo, uint8_t *known, CUgraphNode *at)
{
    uint32_t k = 0;
    memset(mate, 0xff, b->n * sizeof *mate);
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t d = 0; d < b->e[i].ndeps; d++)
            known[b->e[i].deps[d]] = HAS_DEPENDENTS;
    for (struct node *s = g->first; s; s = s->next) {
        if (s->dependents.n)
            continue;
        while (k < b->n && known[k] & HAS_DEPENDENTS)
            k++;
        *at = node_handle(s);
        if (k == b->n)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        CUgraphExecUpdateResult r = pair_past(b, s, k++, mate, todo, known, at);
        if (r != CU_GRAPH_EXEC_UPDATE_SUCCESS)
            return r;
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult match(struct exec *x, const struct body *b, struct graph *g, struct body *new, struct difference *d);

/* "Conditional handle flags and default values are updated": the new node's handle takes the old one's place. */
static CUresult
match_bodies(struct exec *x, const struct entry *e, struct node *n, struct entry *to, struct difference *d)
{
    CUresult r = CUDA_SUCCESS;
    atomic_fetch_add(&to->w.cond.c->execs, 1);
    to->bodies = calloc(e->nbodies, sizeof *to->bodies);
    if (!to->bodies)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < e->nbodies && r == CUDA_SUCCESS; k++) {
        to->bodies[k] = calloc(1, sizeof *to->bodies[k]);
        if (!to->bodies[k])
            return CUDA_ERROR_OUT_OF_MEMORY;
        to->nbodies++;
        r = match(x, e->bodies[k], n->w.cond.bodies[k], to->bodies[k], d);
    }
    return r;
}

/* What the update needs of one pair, into *to. */
static CUresult
match_node(struct exec *x, const struct entry *e, struct node *n, struct entry *to, struct difference *d)
{
    d->node = node_handle(n);
    to->node = e->node;
    to->enabled = e->enabled;
    if (e->child) {
        to->child = calloc(1, sizeof *to->child);
        if (!to->child)
            return CUDA_ERROR_OUT_OF_MEMORY;
        to->w.type = CU_GRAPH_NODE_TYPE_GRAPH;
        return match(x, e->child, n->w.child, to->child, d);
    }
    struct ctx *c = work_context(&n->w);
    if ((c && x->ctx && c != x->ctx) || !may_replace(&e->w, &n->w, true))
        d->result = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    else if (n->w.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || n->w.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        d->result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    if (d->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    CUresult r = work_copy(&to->w, &n->w);
    if (r != CUDA_SUCCESS)
        to->w.type = CU_GRAPH_NODE_TYPE_EMPTY;
    else if (e->nbodies)
        r = match_bodies(x, e, n, to, d);
    return r;
}

/* A body like b with the nodes of g; *new is to be finished in any case. graph_lock held. */
static CUresult
match(struct exec *x, const struct body *b, struct graph *g, struct body *new, struct difference *d)
{
    if (b->n != g->count) {
        d->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    uint32_t *mate = calloc(b->n + 1, sizeof *mate);
    struct node **todo = calloc(b->n + 1, sizeof *todo);
    uint8_t *known = calloc(b->n + 1, 1);
    new->e = calloc(b->n + 1, sizeof *new->e);
    new->order = calloc(b->n + 1, sizeof *new->order);
    CUresult r = mate && todo && known && new->e && new->order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS && (r = users_copy(g->users, g->nusers, &new->users)) == CUDA_SUCCESS)
        new->nusers = g->nusers;
    if (r == CUDA_SUCCESS) {
        new->n = b->n;
        for (uint32_t i = 0; i < b->n; i++)
            new->e[i].w.type = CU_GRAPH_NODE_TYPE_EMPTY;
        graph_number(g);
        d->result = pair(b, g, mate, todo, known, &d->node);
        if (d->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
            r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        else
            memcpy(new->order, b->order, b->n * sizeof *b->order);
    }
    uint32_t i = 0;
    for (struct node *n = g->first; n && r == CUDA_SUCCESS; n = n->next, i++) {
        if (mate[i] >= b->n) {          /* a node of a cycle has no way to a sink */
            d->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
            d->node = node_handle(n);
            r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
            break;
        }
        const struct entry *e = &b->e[mate[i]];
        struct entry *to = &new->e[mate[i]];
        to->deps = calloc(e->ndeps + 1, sizeof *to->deps);
        r = to->deps ? match_node(x, e, n, to, d) : CUDA_ERROR_OUT_OF_MEMORY;
        if (r == CUDA_SUCCESS && e->ndeps)
            memcpy(to->deps, e->deps, e->ndeps * sizeof *e->deps);
        to->ndeps = r == CUDA_SUCCESS ? e->ndeps : 0;
    }
    free(mate);
    free(todo);
    free(known);
    return r;
}

static CUresult
update(CUgraphExec hGraphExec, CUgraph hGraph, struct difference *d)
{
    EXEC(x, hGraphExec);
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    if (!g)
        return CUDA_ERROR_INVALID_VALUE;
    struct body *new = calloc(1, sizeof *new);
    *d = (struct difference){ .looked = true, .result = new ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR };
    if (!new)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct launch_end *last = NULL;
    pthread_mutex_lock(&x->lock);
    pthread_mutex_lock(&graph_lock);
    CUresult r = match(x, x->body, g, new, d);
    pthread_mutex_unlock(&graph_lock);
    if (r == CUDA_SUCCESS) {
        struct body *old = x->body;
        exec_forget_plan(x);
        x->body = new;
        new = old;
        last = launch_end_ref(x->done);
        d->node = NULL;
    } else if (d->result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        d->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    }
    pthread_mutex_unlock(&x->lock);
    body_retire(new, last);
    return r;
}

CUresult
drv_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
    struct difference d = { 0 };
    CUresult e = update(hGraphExec, hGraph, &d);
    if (resultInfo && d.looked)
        *resultInfo = (CUgraphExecUpdateResultInfo){ .result = d.result, .errorNode = d.node, .errorFromNode = d.from };
    return e;
}

CUresult
drv_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out, CUgraphExecUpdateResult *updateResult_out)
{
    struct difference d = { 0 };
    CUresult e = update(hGraphExec, hGraph, &d);
    if (hErrorNode_out && d.looked)
        *hErrorNode_out = d.node;
    if (updateResult_out && d.looked)
        *updateResult_out = d.result;
    return e;
}

/* A child graph's parameters are those of all its nodes. */
CUresult
drv_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
    EXEC(x, hGraphExec);
    struct graph *g AUTO_PUT = handle_get(childGraph, KIND_GRAPH);
    struct body *new = calloc(1, sizeof *new);
    struct difference d = { 0 };
    struct launch_end *last = NULL;
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&x->lock);
    struct entry *e = body_find(x->body, hNode);
    if (g && new && e && e->child) {
        pthread_mutex_lock(&graph_lock);
        r = match(x, e->child, g, new, &d);
        pthread_mutex_unlock(&graph_lock);
        if (r == CUDA_SUCCESS) {
            struct body *old = e->child;
            exec_forget_plan(x);
            e->child = new;
            new = old;
            last = launch_end_ref(x->done);
        }
    }
    pthread_mutex_unlock(&x->lock);
    body_retire(new, last);
    return r;
}
