/* SPDX-License-Identifier: Apache-2.0
 * Executable graphs: a copy of each node's description, in an order that respects the edges. A launch submits them in that order, as one
 * step of the context's order of submission, to the launch's stream and a few behind it (graph_plan.c, docs/graphs.md).
 * Launches of one executable graph follow each other, in any streams. */
#include "impl/driver/graph_exec.h"

#include <stdlib.h>

/* ---- bodies ---------------------------------------------------------------------------------------------------------------------- */

void
body_finish(struct body *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->n; i++) {
        struct entry *e = &b->e[i];
        if (e->w.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            atomic_fetch_sub(&e->w.alloc.m->execs, 1);
        if (e->w.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            atomic_fetch_sub(&e->w.cond.c->execs, 1);
        for (uint32_t k = 0; k < e->nbodies; k++)
            body_finish(e->bodies[k]);
        free(e->bodies);
        if (e->child)
            body_finish(e->child);
        else
            work_finish(&e->w);
        free(e->deps);
    }
    free(b->e);
    free(b->order);
    struct user_ref *users = b->users;
    const uint32_t nusers = b->nusers;
    free(b);
    users_release(users, nusers);       /* may throw */
}

struct launch_end *
launch_end_ref(struct launch_end *l)
{
    if (l)
        atomic_fetch_add(&l->refs, 1);
    return l;
}

static void
launch_end_unref(struct launch_end *l)
{
    if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
        return;
    if (l->be)
        l->ctx->b->event_destroy(l->be);
    ctx_unref(l->ctx);
    free(l);
}

static CUresult
launch_end_make(struct ctx *c, struct launch_end **out)
{
    struct launch_end *l = calloc(1, sizeof *l);
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&l->refs, 1);
    ctx_ref(l->ctx = c);
    CUresult e = result_of(c->b->event_create(c->be, 0, &l->be));
    if (e == CUDA_SUCCESS)
        *out = l;
    else
        launch_end_unref(l);
    return e;
}

static bool
has_users(const struct body *b)
{
    bool yes = b->nusers;
    for (uint32_t i = 0; i < b->n && !yes; i++) {
        yes = b->e[i].child && has_users(b->e[i].child);
        for (uint32_t k = 0; k < b->e[i].nbodies && !yes; k++)
            yes = has_users(b->e[i].bodies[k]);
    }
    return yes;
}

static void
body_end(struct later *l)
{
    struct body *b = (struct body *)l;
    (void)b->end->ctx->b->event_sync(b->end->be);
    launch_end_unref(b->end);
    body_finish(b);
}

/* User objects alone have to wait: works are copied when they are submitted. */
void
body_retire(struct body *b, struct launch_end *last)
{
    if (b && last && has_users(b) && last->ctx->b->event_query(last->be) == CWB_NOT_READY) {
        b->end = last;
        later_run(&b->later, body_end);
        return;
    }
    launch_end_unref(last);
    body_finish(b);
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

/* What makes one executable graph at a time the only one: memory that it allocates, the value of a condition. */
static _Atomic uint32_t *
exclusive(const struct work *w)
{
    return w->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC     ? &w->alloc.m->execs
           : w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? &w->cond.c->execs
                                                       : NULL;
}

/* A conditional node's bodies hold what a body may. graph_lock held. */
static CUresult
bodies_make(struct entry *e, const struct node *n, struct ctx **ctx, struct failure *f)
{
    CUresult r = CUDA_SUCCESS;
    e->bodies = calloc(n->w.cond.size, sizeof *e->bodies);
    if (!e->bodies)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < n->w.cond.size && r == CUDA_SUCCESS; i++) {
        struct graph *g = n->w.cond.bodies[i];
        for (const struct node *in = g->first; in; in = in->next)
            if (!condition_allows(in->w.type)) {
                f->why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
                f->node = node_handle(in);
                return CUDA_ERROR_INVALID_VALUE;
            }
        if ((r = body_make(g, ctx, &e->bodies[i], f)) == CUDA_SUCCESS)
            e->nbodies++;
    }
    return r;
}

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
    _Atomic uint32_t *execs = exclusive(&n->w);
    if (execs && atomic_fetch_add(execs, 1)) {
        atomic_fetch_sub(execs, 1);
        f->node = node_handle(n);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUresult r = work_copy(&e->w, &n->w);
    if (r == CUDA_SUCCESS && n->w.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && (r = bodies_make(e, n, ctx, f)) != CUDA_SUCCESS) {
        for (uint32_t k = 0; k < e->nbodies; k++)
            body_finish(e->bodies[k]);
        free(e->bodies);
        work_finish(&e->w);
    }
    if (r != CUDA_SUCCESS && execs)
        atomic_fetch_sub(execs, 1);
    return r;
}

/* A handle that no node has is an error ("cuGraphConditionalHandleCreate"). graph_lock held. */
static bool
conditions_used(const struct graph *g)
{
    for (const struct graph_condition *c = g->conditions; c; c = c->next_of_graph)
        if (!atomic_load(&c->used))
            return false;
    return true;
}

/* graph_lock held. */
static CUresult
body_make(struct graph *g, struct ctx **ctx, struct body **out, struct failure *f)
{
    if (!conditions_used(g)) {
        f->why = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct body *b = calloc(1, sizeof *b);
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    b->e = calloc(g->count + 1, sizeof *b->e);
    CUresult e = b->e ? users_copy(g->users, g->nusers, &b->users) : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS)
        b->nusers = g->nusers;
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

struct entry *
body_find(struct body *b, CUgraphNode node)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->e[i].node == (uintptr_t)node)
            return &b->e[i];
        struct entry *in = b->e[i].child ? body_find(b->e[i].child, node) : NULL;
        for (uint32_t k = 0; k < b->e[i].nbodies && !in; k++)
            in = body_find(b->e[i].bodies[k], node);
        if (in)
            return in;
    }
    return NULL;
}

/* ---- making and ending -------------------------------------------------------------------------------------------------------------- */

void
exec_forget_plan(struct exec *x)
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
    launch_end_unref(x->done);
    x->done = NULL;
    ctx_unref(x->last_ctx);
    x->last_ctx = NULL;
}

static void
exec_finish(struct obj *o)
{
    struct exec *x = (struct exec *)o;
    struct body *body = x->body;
    struct launch_end *last = launch_end_ref(x->done);
    exec_forget_plan(x);
    destroy_events(x);
    if (x->ctx)
        ctx_unref(x->ctx);
    pthread_mutex_destroy(&x->lock);
    free(x);
    body_retire(body, last);            /* may throw */
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
    CUresult e = g->owner ? CUDA_ERROR_NOT_SUPPORTED : body_make(g, &ctx, &x->body, f);     /* a node's child or body: so an H200 */
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
        for (uint32_t k = 0; k < e->nbodies; k++)
            release_jobs(e->bodies[k], e->bodies[k]->n);
        if (e->child)
            release_jobs(e->child, e->child->n);
        else if (e->w.type == CU_GRAPH_NODE_TYPE_MEMCPY && e->enabled)
            copy_job_finish(&e->copy);
    }
}

static CUresult prepare(struct exec *x, struct body *b, struct stream *s);

static CUresult
prepare_bodies(struct exec *x, struct entry *e, struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    for (uint32_t k = 0; k < e->nbodies; k++)
        if ((r = prepare(x, e->bodies[k], s)) != CUDA_SUCCESS) {
            while (k-- > 0)
                release_jobs(e->bodies[k], e->bodies[k]->n);
            break;
        }
    return r;
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
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            r = cwb_in_host_function ? CUDA_ERROR_NOT_PERMITTED : prepare_bodies(x, e, s);      /* it would wait */
            break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            if (atomic_load(&e->w.alloc.m->live) && !(x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
                r = CUDA_ERROR_INVALID_VALUE;
            break;
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
            pthread_mutex_lock(&s->obj.ctx->order);
            r = batch_check(s->obj.ctx, e->w.batch.count, e->w.batch.list);
            pthread_mutex_unlock(&s->obj.ctx->order);
            break;
        }
        if (r != CUDA_SUCCESS) {
            release_jobs(b, i);
            return r;
        }
    }
    return CUDA_SUCCESS;
}

CUresult
entry_issue(const struct ctx *c, struct cwb_stream *s, struct entry *e)
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
            event_recorded(w->event);
        w->event->behind.n = 0;
        return r;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:    graph_memory_live(w->alloc.m, true); return r;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:     graph_memory_live(w->free.m, false); return r;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return batch_issue(c, s, w->batch.count, w->batch.list);
    }
    return r;
}

/* ctx.order of l->s is held. After an error no more work, but the lanes meet all the same. */
static CUresult
issue(struct exec *x, struct graph_launch *l)
{
    struct stream *s = l->s;
    const struct cwb_backend *be = s->obj.ctx->b;
    CUresult e = conditions_assign(s->obj.ctx, s->be, x->body), r;
    for (uint32_t i = 0; i < x->plan->n; i++) {
        const struct step *t = &x->plan->steps[i];
        struct cwb_stream *lane = t->lane ? s->lanes[t->lane] : s->be;
        for (uint32_t k = 0; k < t->nwaits; k++) {
            r = result_of(be->stream_wait_event(lane, x->events[x->plan->waits[t->first_wait + k]]));
            e = e == CUDA_SUCCESS ? r : e;
        }
        if (e == CUDA_SUCCESS && t->e)
            e = t->e->nbodies ? condition_run(l, lane, t->e) : entry_issue(s->obj.ctx, lane, t->e);
        if (l->ended)
            return e;
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
        (void)x->last_ctx->b->event_sync(x->done->be);
        x->last_stream = 0;
    }
    if (x->last_ctx != c) {
        destroy_events(x);
        ctx_ref(x->last_ctx = c);
    }
    if (!x->done)
        e = launch_end_make(c, &x->done);
    if (e == CUDA_SUCCESS && x->nevents < x->plan->nevents) {
        struct cwb_event **more = realloc(x->events, x->plan->nevents * sizeof *more);
        if (!more)
            return CUDA_ERROR_OUT_OF_MEMORY;
        x->events = more;
        while (e == CUDA_SUCCESS && x->nevents < x->plan->nevents)
            if ((e = result_of(c->b->event_create(c->be, 0, &x->events[x->nevents]))) == CUDA_SUCCESS)
                x->nevents++;
    }
    for (uint32_t i = 1; i < x->plan->nlanes && e == CUDA_SUCCESS; i++)
        e = stream_lane(s, i);
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
    struct graph_launch l = { .s = s };
    e = stream_order(s);
    if (e == CUDA_SUCCESS) {
        if (x->last_stream && x->last_stream != s->id)
            e = result_of(c->b->stream_wait_event(s->be, x->done->be));
        if (e == CUDA_SUCCESS)
            e = issue(x, &l);
        if (!l.ended) {
            CUresult r = result_of(c->b->event_record(x->done->be, s->be));
            e = e == CUDA_SUCCESS ? r : e;
            x->last_stream = s->id;
            stream_end(s);
        }
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
    e = stream_admit(s);
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&x->lock);
    if (x->ctx && x->ctx != s->obj.ctx)
        e = unsupported("cuGraphLaunch", "a stream of another context than the graph's nodes");
    else
        e = submit(x, s);
    const unsigned lanes = e == CUDA_SUCCESS ? x->plan->nlanes : 0;
    pthread_mutex_unlock(&x->lock);
    stream_make_room(s, lanes);
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
