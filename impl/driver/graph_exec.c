/* SPDX-License-Identifier: Apache-2.0
 * Executable graphs: a copy of each node's description, in an order that respects the edges. A launch submits them in that order, as one
 * step of the context's order of submission, to the launch's stream and a few behind it (graph_plan.c, docs/graphs.md).
 * Launches of one executable graph follow each other, in any streams. */
#include "impl/driver/graph_plan.h"

#include <stdlib.h>

struct exec {
    struct obj obj;                     /* KIND_EXEC */
    pthread_mutex_t lock;
    struct body *body;                  /* lock, and so on */
    struct plan *plan;                  /* of the body as it is, or NULL */
    cuuint64_t flags;
    struct ctx *ctx;                    /* owned reference: where its operations run, or NULL when that does not matter */
    struct ctx *last_ctx;               /* owned reference */
    struct cwb_event *done;             /* of the last launch; last_ctx's, like these: */
    struct cwb_event **events;          /* the plan's */
    uint32_t nevents;
    uint64_t last_stream;
    struct user_ref *users;
    uint32_t nusers;
};

#define EXEC(x, h)                                                                                                     \
    READY();                                                                                                           \
    struct exec *x AUTO_PUT = handle_get(h, KIND_EXEC);                                                                \
    if (!x)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE

/* ---- bodies ---------------------------------------------------------------------------------------------------------------------- */

static void
body_finish(struct body *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->n; i++) {
        struct entry *e = &b->e[i];
        if (e->w.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            atomic_fetch_sub(&e->w.alloc.m->execs, 1);
        if (e->child)
            body_finish(e->child);
        else
            work_finish(&e->w);
        free(e->deps);
    }
    free(b->e);
    free(b->order);
    free(b);
}

/* Kahn's algorithm over the entries, taking the earliest created of those that are ready first in line. */
static CUresult
body_order(struct body *b, uint32_t *cyclic)
{
    uint32_t *left = calloc(b->n + 1, sizeof *left), *first = calloc(b->n + 1, sizeof *first), *out = NULL;
    size_t edges = 0;
    for (uint32_t i = 0; i < b->n; i++)
        edges += b->e[i].ndeps;
    out = calloc(edges + 1, sizeof *out);
    b->order = calloc(b->n + 1, sizeof *b->order);
    CUresult e = left && first && out && b->order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS) {
        for (uint32_t i = 0; i < b->n; i++)
            for (uint32_t d = 0; d < b->e[i].ndeps; d++)
                first[b->e[i].deps[d] + 1]++;
        for (uint32_t i = 0; i < b->n; i++)
            first[i + 1] += first[i];
        uint32_t head = 0, tail = 0;
        for (uint32_t i = 0; i < b->n; i++) {
            for (uint32_t d = 0; d < b->e[i].ndeps; d++)
                out[first[b->e[i].deps[d]]++] = i;      /* first[k] moves to where k + 1 began */
            left[i] = b->e[i].ndeps;
            if (!left[i])
                b->order[tail++] = i;
        }
        while (head < tail) {
            uint32_t i = b->order[head++];
            for (uint32_t k = i ? first[i - 1] : 0; k < first[i]; k++)
                if (!--left[out[k]])
                    b->order[tail++] = out[k];
        }
        if (tail < b->n) {
            e = CUDA_ERROR_INVALID_VALUE;
            for (uint32_t i = 0; i < b->n && *cyclic == UINT32_MAX; i++)
                if (left[i])
                    *cyclic = i;
        }
    }
    free(left);
    free(first);
    free(out);
    return e;
}

struct failure {
    CUgraphInstantiateResult why;
    CUgraphNode node;
};

static CUresult body_make(struct graph *g, struct ctx **ctx, struct body **out, struct failure *f);

static CUresult
entry_make(struct entry *e, struct node *n, struct ctx **ctx, struct failure *f)
{
    e->node = n->obj.handle;
    e->enabled = true;
    if (n->w.type == CU_GRAPH_NODE_TYPE_GRAPH) {
        CUresult r = body_make(n->w.child, ctx, &e->child, f);
        if (r == CUDA_SUCCESS)
            e->w.type = CU_GRAPH_NODE_TYPE_GRAPH;
        return r;
    }
    struct ctx *c = work_context(&n->w);
    if (c && *ctx && *ctx != c) {
        f->why = CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED;
        f->node = node_handle(n);
        return unsupported("cuGraphInstantiate", "a graph with nodes of several contexts");
    }
    if (c)
        *ctx = c;
    if (n->w.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && atomic_fetch_add(&n->w.alloc.m->execs, 1)) {
        atomic_fetch_sub(&n->w.alloc.m->execs, 1);
        f->node = node_handle(n);
        return CUDA_ERROR_NOT_SUPPORTED;        /* memory is allocated by one executable graph at a time */
    }
    CUresult r = work_copy(&e->w, &n->w);
    if (r != CUDA_SUCCESS && n->w.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        atomic_fetch_sub(&n->w.alloc.m->execs, 1);
    return r;
}

/* graph_lock held. */
static CUresult
body_make(struct graph *g, struct ctx **ctx, struct body **out, struct failure *f)
{
    struct body *b = calloc(1, sizeof *b);
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    b->e = calloc(g->count + 1, sizeof *b->e);
    CUresult e = b->e ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    graph_number(g);
    for (struct node *n = g->first; n && e == CUDA_SUCCESS; n = n->next) {
        struct entry *x = &b->e[b->n];
        x->deps = calloc(n->deps.n + 1, sizeof *x->deps);
        e = x->deps ? entry_make(x, n, ctx, f) : CUDA_ERROR_OUT_OF_MEMORY;
        if (e != CUDA_SUCCESS) {
            free(x->deps);
            break;
        }
        b->n++;
        for (uint32_t i = 0; i < n->deps.n; i++)
            x->deps[x->ndeps++] = n->deps.v[i]->mark;
    }
    uint32_t cyclic = UINT32_MAX;
    if (e == CUDA_SUCCESS && (e = body_order(b, &cyclic)) != CUDA_SUCCESS && cyclic != UINT32_MAX) {
        f->why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        f->node = (CUgraphNode)(uintptr_t)b->e[cyclic].node;
    }
    if (e != CUDA_SUCCESS)
        body_finish(b);
    else
        *out = b;
    return e;
}

static struct entry *
find(struct body *b, CUgraphNode node)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->e[i].node == (uintptr_t)node)
            return &b->e[i];
        struct entry *in = b->e[i].child ? find(b->e[i].child, node) : NULL;
        if (in)
            return in;
    }
    return NULL;
}

/* ---- making and ending -------------------------------------------------------------------------------------------------------------- */

static void
forget_plan(struct exec *x)
{
    plan_destroy(x->plan);
    x->plan = NULL;
}

static void
destroy_events(struct exec *x)
{
    if (!x->last_ctx)
        return;
    for (uint32_t i = 0; i < x->nevents; i++)
        x->last_ctx->b->event_destroy(x->events[i]);
    free(x->events);
    x->events = NULL;
    x->nevents = 0;
    if (x->done)
        x->last_ctx->b->event_destroy(x->done);
    x->done = NULL;
    ctx_unref(x->last_ctx);
    x->last_ctx = NULL;
}

static void
exec_finish(struct obj *o)
{
    struct exec *x = (struct exec *)o;
    if (x->done && x->nusers)           /* what a launch uses must not end before it */
        (void)x->last_ctx->b->event_sync(x->done);
    destroy_events(x);
    forget_plan(x);
    body_finish(x->body);
    users_release(x->users, x->nusers);
    if (x->ctx)
        ctx_unref(x->ctx);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

static const struct obj_class exec_class = { .kind = KIND_EXEC, .finish = exec_finish };

static CUresult
instantiate(CUgraphExec *out, CUgraph hGraph, cuuint64_t flags, struct failure *f)
{
    const cuuint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                             CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    *f = (struct failure){ CUDA_GRAPH_INSTANTIATE_ERROR, NULL };
    USABLE(cur);
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    if (!g || !out || flags & ~known)
        return CUDA_ERROR_INVALID_VALUE;
    CAPTURE_SAFE();
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
        f->why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
        return unsupported("cuGraphInstantiate", "launching from the device");
    }
    struct exec *x = calloc(1, sizeof *x);
    if (!x)
        return CUDA_ERROR_OUT_OF_MEMORY;
    x->flags = flags & ~(cuuint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    struct ctx *ctx = NULL;
    pthread_mutex_lock(&graph_lock);
    CUresult e = body_make(g, &ctx, &x->body, f);
    if (e == CUDA_SUCCESS && (e = users_copy(g->users, g->nusers, &x->users)) == CUDA_SUCCESS)
        x->nusers = g->nusers;
    pthread_mutex_unlock(&graph_lock);
    pthread_mutex_init(&x->lock, NULL);
    if (e == CUDA_SUCCESS) {
        if (ctx)
            ctx_ref(x->ctx = ctx);
        e = handle_new(&x->obj, &exec_class, NULL);
    }
    if (e != CUDA_SUCCESS) {
        exec_finish(&x->obj);
        return e;
    }
    *f = (struct failure){ CUDA_GRAPH_INSTANTIATE_SUCCESS, NULL };
    *out = HANDLE(CUgraphExec, x);
    handle_put(&x->obj);
    return CUDA_SUCCESS;
}

CUresult
drv_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
    struct failure f;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        return CUDA_ERROR_INVALID_VALUE;        /* needs the stream that only the parameters can name */
    return instantiate(phGraphExec, hGraph, flags, &f);
}

CUresult
drv_cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    struct failure f;
    if (!instantiateParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = instantiate(phGraphExec, hGraph, instantiateParams->flags, &f);
    instantiateParams->result_out = f.why;
    instantiateParams->hErrNode_out = f.node;
    return e;
}

static CUresult
instantiate_log(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    struct failure f;
    CUresult e = instantiate(phGraphExec, hGraph, 0, &f);
    if (phErrorNode)
        *phErrorNode = f.node;
    if (logBuffer && bufferSize)
        *logBuffer = 0;
    return e;
}

CUresult
drv_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    return instantiate_log(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult
drv_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    return instantiate_log(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult
drv_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    EXEC(x, hGraphExec);
    CAPTURE_SAFE();
    return handle_kill(&x->obj) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    EXEC(x, hGraphExec);
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = x->flags;
    return CUDA_SUCCESS;
}

/* ---- launch --------------------------------------------------------------------------------------------------------------------------- */

static void
release_jobs(struct body *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct entry *e = &b->e[b->order[i]];
        if (e->child)
            release_jobs(e->child, e->child->n);
        else if (e->w.type == CU_GRAPH_NODE_TYPE_MEMCPY && e->enabled)
            copy_job_finish(&e->copy);
    }
}

/* Everything that can fail because of what the program did since, before anything is submitted. */
static CUresult
prepare(struct exec *x, struct body *b, struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    for (uint32_t i = 0; i < b->n; i++) {
        struct entry *e = &b->e[b->order[i]];
        if (!e->enabled)
            continue;
        switch ((int)e->w.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            if (handle_kind(HANDLE(void *, e->w.kernel.f)) != KIND_FUNCTION)
                r = CUDA_ERROR_INVALID_HANDLE;  /* its module was unloaded */
            else
                r = texrefs_update(e->w.kernel.f->module, s);
            break;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            r = copy_resolve(&e->w.copy.p, &e->copy);
            break;
        case CU_GRAPH_NODE_TYPE_MEMSET:
            r = fill_resolve(&e->w.fill.p, &e->fill);
            break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            r = prepare(x, e->child, s);
            break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            if (atomic_load(&e->w.alloc.m->live) && !(x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
                r = CUDA_ERROR_INVALID_VALUE;
            break;
        }
        if (r != CUDA_SUCCESS) {
            release_jobs(b, i);
            return r;
        }
    }
    return CUDA_SUCCESS;
}

/* One node; ctx.order is held. */
static CUresult
issue_entry(const struct ctx *c, struct cwb_stream *s, struct entry *e)
{
    const struct cwb_backend *be = c->b;
    const struct work *w = &e->w;
    CUresult r = CUDA_SUCCESS;
    if (!e->enabled)
        return r;
    switch ((int)w->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return result_of(device_launch(c, s, w->kernel.f, &w->kernel.l));
    case CU_GRAPH_NODE_TYPE_MEMCPY: return copy_submit(c, s, &e->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: return fill_submit(c, s, &e->fill);
    case CU_GRAPH_NODE_TYPE_HOST:   return host_issue(c, s, w->host.fn, w->host.userData);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        if (atomic_load(&w->event->recorded))
            r = result_of(be->stream_wait_event(s, w->event->be));
        return r;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        r = result_of(be->event_record(w->event->be, s));
        if (r == CUDA_SUCCESS)
            atomic_store(&w->event->recorded, true);
        return r;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:    atomic_store(&w->alloc.m->live, true); return r;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:     atomic_store(&w->free.m->live, false); return r;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return batch_issue(c, s, w->batch.count, w->batch.list);
    }
    return r;
}

/* ctx.order of s is held. After an error no more work, but the lanes meet all the same. */
static CUresult
issue(struct exec *x, struct stream *s)
{
    const struct cwb_backend *be = s->obj.ctx->b;
    CUresult e = CUDA_SUCCESS, r;
    for (uint32_t i = 0; i < x->plan->n; i++) {
        const struct step *t = &x->plan->steps[i];
        struct cwb_stream *lane = t->lane ? s->lanes[t->lane] : s->be;
        for (uint32_t k = 0; k < t->nwaits; k++) {
            r = result_of(be->stream_wait_event(lane, x->events[x->plan->waits[t->first_wait + k]]));
            e = e == CUDA_SUCCESS ? r : e;
        }
        if (e == CUDA_SUCCESS && t->e)
            e = issue_entry(s->obj.ctx, lane, t->e);
        if (t->signal != PLAN_NONE) {
            r = result_of(be->event_record(x->events[t->signal], lane));
            e = e == CUDA_SUCCESS ? r : e;
        }
    }
    return e;
}

/* The plan, its events, the event that ends a launch, so that the next one, in whatever stream, can wait for it; and the lanes of s. */
static CUresult
make_ready(struct exec *x, struct stream *s)
{
    struct ctx *c = s->obj.ctx;
    CUresult e = x->plan ? CUDA_SUCCESS : plan_make(x->body, &x->plan);
    if (e != CUDA_SUCCESS)
        return e;
    if (x->done && x->last_ctx != c) {
        (void)x->last_ctx->b->event_sync(x->done);
        x->last_stream = 0;
    }
    if (x->last_ctx != c) {
        destroy_events(x);
        ctx_ref(x->last_ctx = c);
    }
    if (!x->done)
        e = result_of(c->b->event_create(c->be, 0, &x->done));
    if (e == CUDA_SUCCESS && x->nevents < x->plan->nevents) {
        struct cwb_event **more = realloc(x->events, x->plan->nevents * sizeof *more);
        if (!more)
            return CUDA_ERROR_OUT_OF_MEMORY;
        x->events = more;
        while (e == CUDA_SUCCESS && x->nevents < x->plan->nevents)
            if ((e = result_of(c->b->event_create(c->be, 0, &x->events[x->nevents]))) == CUDA_SUCCESS)
                x->nevents++;
    }
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 1; i < x->plan->nlanes && e == CUDA_SUCCESS; i++)
        if (!s->lanes[i])
            e = result_of(c->b->stream_create(c->be, s->priority, &s->lanes[i]));
    pthread_mutex_unlock(&c->lock);
    return e;
}

static CUresult
submit(struct exec *x, struct stream *s)
{
    struct ctx *c = s->obj.ctx;
    CUresult e = make_ready(x, s);
    if (e == CUDA_SUCCESS)
        e = prepare(x, x->body, s);
    if (e != CUDA_SUCCESS)
        return e;
    e = stream_order(s);
    if (e == CUDA_SUCCESS) {
        if (x->last_stream && x->last_stream != s->id)
            e = result_of(c->b->stream_wait_event(s->be, x->done));
        if (e == CUDA_SUCCESS)
            e = issue(x, s);
        CUresult r = result_of(c->b->event_record(x->done, s->be));
        e = e == CUDA_SUCCESS ? r : e;
        x->last_stream = s->id;
        stream_end(s);
    }
    release_jobs(x->body, x->body->n);
    return e;
}

CUresult
drv_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    STREAM_CONTEXT(c, hStream);
    struct exec *x AUTO_PUT = handle_get(hGraph, KIND_EXEC);
    if (!x)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e != CUDA_SUCCESS)
        return e;
    e = stream_admit(s);                /* takes the graphs' lock, so before that of x */
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&x->lock);
    if (x->ctx && x->ctx != s->obj.ctx)
        e = unsupported("cuGraphLaunch", "a stream of another context than the graph's nodes");
    else
        e = submit(x, s);
    pthread_mutex_unlock(&x->lock);
    return e;
}

CUresult
drv_cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
    STREAM_CONTEXT(c, hStream);
    struct exec *x AUTO_PUT = handle_get(hGraph, KIND_EXEC);
    if (!x)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *s AUTO_PUT = NULL;
    CUresult e = stream_get(c, hStream, &s);
    if (e == CUDA_SUCCESS && stream_captures(s))
        return capture_refuse(s);
    return e;                           /* code was made when the nodes were: there is nothing to upload */
}

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
    return true;
}

/* Put w, if it was made, in the place of the entry of that type. */
static CUresult
exchange(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeType type, CUresult made, struct work *w)
{
    if (made != CUDA_SUCCESS)
        return made;
    struct exec *x AUTO_PUT = handle_get(hGraphExec, KIND_EXEC);
    CUresult e = CUDA_ERROR_INVALID_VALUE;
    struct work old;
    if (x) {
        struct ctx *c = work_context(w);
        pthread_mutex_lock(&x->lock);
        struct entry *k = find(x->body, hNode);
        if (k && k->w.type == type && (!c || !x->ctx || c == x->ctx) && may_replace(&k->w, w, false)) {
            old = k->w;
            if (type == CU_GRAPH_NODE_TYPE_KERNEL) {    /* attributes stay */
                w->kernel.priority = old.kernel.priority;
                w->kernel.l.flags |= old.kernel.l.flags;
            }
            k->w = *w;
            e = CUDA_SUCCESS;
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
drv_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    struct ctx *c;
    struct work w;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = ctx_from_handle(p->ctx, &c);
    if (e != CUDA_SUCCESS)
        return e;
    e = work_batch(&w, c, p->count, p->paramArray, p->flags);
    ctx_unref(c);
    return exchange(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, e, &w);
}

CUresult
drv_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    READY();
    struct work w;
    if (!nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return drv_cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, nodeParams->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
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
    struct entry *e = find(x->body, hNode);
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
    struct entry *e = find(x->body, hNode);
    bool ok = may_be_disabled(e);
    if (ok)
        *isEnabled = e->enabled;
    pthread_mutex_unlock(&x->lock);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- changing all of it ------------------------------------------------------------------------------------------------------------------- */

struct difference {
    CUgraphExecUpdateResult result;
    CUgraphNode node, from;
};

/* Pairs a sink with entry k, and so on with what they depend on. */
static CUgraphExecUpdateResult
pair_past(const struct body *b, struct node *sink, uint32_t k, uint32_t *mate, struct node **todo, CUgraphNode *at)
{
    uint32_t n = 0;
    mate[sink->mark] = k;
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
            if (mate[p->mark] == UINT32_MAX) {
                mate[p->mark] = e->deps[d];
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
pair(const struct body *b, struct graph *g, uint32_t *mate, struct node **todo, uint8_t *has_dependents, CUgraphNode *at)
{
    uint32_t k = 0;
    memset(mate, 0xff, b->n * sizeof *mate);
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t d = 0; d < b->e[i].ndeps; d++)
            has_dependents[b->e[i].deps[d]] = 1;
    for (struct node *s = g->first; s; s = s->next) {
        if (s->dependents.n)
            continue;
        while (k < b->n && has_dependents[k])
            k++;
        *at = node_handle(s);
        if (k == b->n)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        CUgraphExecUpdateResult r = pair_past(b, s, k++, mate, todo, at);
        if (r != CU_GRAPH_EXEC_UPDATE_SUCCESS)
            return r;
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult match(struct exec *x, const struct body *b, struct graph *g, struct body *new, struct difference *d);

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
    uint8_t *has = calloc(b->n + 1, 1);
    new->e = calloc(b->n + 1, sizeof *new->e);
    new->order = calloc(b->n + 1, sizeof *new->order);
    CUresult r = mate && todo && has && new->e && new->order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) {
        new->n = b->n;
        for (uint32_t i = 0; i < b->n; i++)
            new->e[i].w.type = CU_GRAPH_NODE_TYPE_EMPTY;
        graph_number(g);
        d->result = pair(b, g, mate, todo, has, &d->node);
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
    free(has);
    return r;
}

static CUresult
update(CUgraphExec hGraphExec, CUgraph hGraph, struct difference *d)
{
    *d = (struct difference){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
    EXEC(x, hGraphExec);
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    struct body *new = calloc(1, sizeof *new);
    if (!g || !new) {
        free(new);
        return g ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    }
    d->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    pthread_mutex_lock(&graph_lock);
    pthread_mutex_lock(&x->lock);
    CUresult r = match(x, x->body, g, new, d);
    if (r == CUDA_SUCCESS) {
        struct body *old = x->body;
        forget_plan(x);
        x->body = new;
        new = old;
        d->node = NULL;
    } else if (d->result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        d->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    }
    pthread_mutex_unlock(&x->lock);
    pthread_mutex_unlock(&graph_lock);
    body_finish(new);
    return r;
}

CUresult
drv_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
    struct difference d;
    CUresult e = update(hGraphExec, hGraph, &d);
    if (resultInfo)
        *resultInfo = (CUgraphExecUpdateResultInfo){ .result = d.result, .errorNode = d.node, .errorFromNode = d.from };
    return e;
}

CUresult
drv_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out, CUgraphExecUpdateResult *updateResult_out)
{
    struct difference d;
    CUresult e = update(hGraphExec, hGraph, &d);
    if (hErrorNode_out)
        *hErrorNode_out = d.node;
    if (updateResult_out)
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
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&graph_lock);
    pthread_mutex_lock(&x->lock);
    struct entry *e = find(x->body, hNode);
    if (g && new && e && e->child) {
        r = match(x, e->child, g, new, &d);
        if (r == CUDA_SUCCESS) {
            struct body *old = e->child;
            forget_plan(x);
            e->child = new;
            new = old;
        }
    }
    pthread_mutex_unlock(&x->lock);
    pthread_mutex_unlock(&graph_lock);
    body_finish(new);
    return r;
}
