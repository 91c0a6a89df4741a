/* SPDX-License-Identifier: Apache-2.0
 * Stream capture (CUDA driver API, "Stream Management" and "Graph Management"). A capture is one graph under construction and the
 * streams that take part: the origin and those that joined through events. Each stream's part holds the nodes on which its next
 * operation depends. An event recorded in a capture remembers such a set and the capture's number. Everything here is under
 * graph_lock, except the counters that spare calls outside captures that lock. */
#include "impl/driver/graph.h"

#include <stdlib.h>

struct part {
    struct capture *c;
    struct stream *s;                   /* not owned: stream_finish leaves the capture */
    struct part *next;                  /* of the capture */
    CUgraphNode *deps;
    uint32_t n, capacity;
};

struct capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    uint64_t thread;                    /* who began it */
    bool invalid;
    bool to_graph;                      /* the application's graph: stays when the capture fails */
    struct graph *g;                    /* owned reference */
    struct part *parts;                 /* the first made is the origin's; those of destroyed streams have none */
    struct part dropped;                /* nodes that cuStreamUpdateCaptureDependencies took out: nobody need join them */
    struct stream *origin;              /* NULL once destroyed */
    struct capture *next;
};

static struct capture *captures;        /* graph_lock */
static uint64_t next_id = 1;            /* graph_lock */
static __thread CUstreamCaptureMode own_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

_Atomic uint32_t captures_active;

/* A number for the calling thread that no other ever has. */
static uint64_t
me(void)
{
    static _Atomic uint64_t next = 1;
    static __thread uint64_t id;
    if (!id)
        id = atomic_fetch_add(&next, 1);
    return id;
}

/* ---- sets of nodes --------------------------------------------------------------------------------------------------------------- */

static bool
set_reserve(struct part *p, uint32_t n)
{
    if (n <= p->capacity)
        return true;
    uint32_t c = p->capacity ? p->capacity : 4;
    while (c < n)
        c *= 2;
    CUgraphNode *v = realloc(p->deps, c * sizeof *v);
    if (!v)
        return false;
    p->deps = v;
    p->capacity = c;
    return true;
}

static CUresult
set_add(struct part *p, const CUgraphNode *list, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        bool has = false;
        for (uint32_t i = 0; i < p->n && !has; i++)
            has = p->deps[i] == list[k];
        if (has)
            continue;
        if (!set_reserve(p, p->n + 1))
            return CUDA_ERROR_OUT_OF_MEMORY;
        p->deps[p->n++] = list[k];
    }
    return CUDA_SUCCESS;
}

/* Leave out nodes that were destroyed meanwhile. */
static void
set_clean(struct part *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (handle_kind(p->deps[i]) == KIND_NODE)
            p->deps[n++] = p->deps[i];
    p->n = n;
}

/* ---- captures -------------------------------------------------------------------------------------------------------------------- */

static struct part *
part_of(struct stream *s)
{
    return atomic_load(&s->part);
}

static CUresult
part_make(struct capture *c, struct stream *s)
{
    struct part *p = calloc(1, sizeof *p);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    p->c = c;
    p->s = s;
    p->next = c->parts;
    c->parts = p;
    atomic_store(&s->part, p);
    return CUDA_SUCCESS;
}

static struct capture *
capture_by_id(uint64_t id)
{
    for (struct capture *c = captures; c; c = c->next)
        if (c->id == id)
            return c;
    return NULL;
}

static void
parts_end(struct capture *c)
{
    while (c->parts) {
        struct part *p = c->parts;
        c->parts = p->next;
        if (p->s)
            atomic_store(&p->s->part, NULL);
        free(p->deps);
        free(p);
    }
}

/* Take c out and give its streams back. The caller puts the graph after unlocking. */
static void
capture_end(struct capture *c)
{
    for (struct capture **l = &captures; *l; l = &(*l)->next)
        if (*l == c) {
            *l = c->next;
            break;
        }
    parts_end(c);
    free(c->dropped.deps);
    c->g->capture = NULL;
    atomic_fetch_sub(&captures_active, 1);
}

void
capture_stream_gone(struct stream *s)
{
    struct graph *g = NULL;
    bool kill = false;
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    if (p) {
        struct capture *c = p->c;
        p->s = NULL;
        atomic_store(&s->part, NULL);
        if (c->origin == s) {           /* nobody can end it any more; a fork's last nodes must still be joined */
            g = c->g;
            kill = !c->to_graph;
            capture_end(c);
            free(c);
        }
    }
    pthread_mutex_unlock(&graph_lock);
    if (g) {
        if (kill)
            handle_kill(&g->obj);
        handle_put(&g->obj);
    }
}

CUresult
capture_unsafe_slow(void)
{
    if (own_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&graph_lock);
    for (struct capture *c = captures; c; c = c->next) {
        bool own = c->thread == me();
        if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
            !(own || (own_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL)))
            continue;
        c->invalid = true;
        e = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    pthread_mutex_unlock(&graph_lock);
    return e;
}

CUresult
capture_refuse(struct stream *s)
{
    CUresult e = CUDA_SUCCESS;
    if (!stream_captures(s))
        return e;
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    if (p) {
        e = p->c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        p->c->invalid = true;
    }
    pthread_mutex_unlock(&graph_lock);
    return e;
}

/* Whether streams of x capture, all or the blocking ones; invalidates those captures if asked to. */
static bool
in_context(struct ctx *x, bool blocking, bool invalidate)
{
    bool found = false;
    pthread_mutex_lock(&graph_lock);
    for (struct capture *c = captures; c; c = c->next)
        for (struct part *p = c->parts; p; p = p->next)
            if (p->s && p->s->obj.ctx == x && (p->s->blocking || !blocking)) {
                found = true;
                c->invalid |= invalidate;
            }
    pthread_mutex_unlock(&graph_lock);
    return found;
}

CUresult
capture_legacy_slow(struct ctx *x)
{
    return in_context(x, true, true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult
capture_context_slow(struct ctx *x)
{
    return in_context(x, false, true) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult
capture_event_slow(struct event *e, bool waits)
{
    pthread_mutex_lock(&graph_lock);
    struct capture *c = capture_by_id(e->capture);
    bool over = c && c->invalid;
    if (c && waits)
        c->invalid = true;
    pthread_mutex_unlock(&graph_lock);
    return c && !over ? CUDA_ERROR_CAPTURED_EVENT : CUDA_ERROR_INVALID_VALUE;
}

CUresult
capture_wait_check(struct stream *s)
{
    if (!CAPTURES())
        return CUDA_SUCCESS;
    CUresult e = s->is_legacy ? capture_legacy_slow(s->obj.ctx) : CUDA_SUCCESS;
    if (stream_captures(s)) {
        (void)capture_refuse(s);
        e = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;      /* also when the capture was invalid before */
    }
    return e == CUDA_SUCCESS ? capture_unsafe_slow() : e;
}

/* ---- what the stream's operations call ---------------------------------------------------------------------------------------------- */

/* Under graph_lock. */
static CUresult
part_error(const struct part *p)
{
    return !p ? CUDA_ERROR_ILLEGAL_STATE : p->c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult
capture_error(struct stream *s)
{
    if (!stream_captures(s))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&graph_lock);
    CUresult e = part_error(part_of(s));
    pthread_mutex_unlock(&graph_lock);
    return e;
}

CUresult
capture_work(struct stream *s, CUresult result, struct work *w)
{
    if (result != CUDA_SUCCESS) {
        CUresult failed = capture_error(s);
        return failed == CUDA_SUCCESS ? result : failed;
    }
    CUgraphNode h;
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    CUresult e = part_error(p);
    if (e == CUDA_SUCCESS && !set_reserve(p, 1))
        e = CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS) {
        set_clean(p);
        e = node_add_locked(p->c->g, p->deps, p->n, w, &h);
    }
    if (e == CUDA_SUCCESS) {
        p->deps[0] = h;
        p->n = 1;
    }
    pthread_mutex_unlock(&graph_lock);
    if (e != CUDA_SUCCESS)
        work_finish(w);
    return e;
}

CUresult
capture_record(struct stream *s, struct event *ev)
{
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    CUresult e = part_error(p);
    CUgraphNode *copy = NULL;
    if (e == CUDA_SUCCESS && p->n && !(copy = malloc(p->n * sizeof *copy)))
        e = CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS) {
        if (copy)
            memcpy(copy, p->deps, p->n * sizeof *copy);
        free(ev->nodes);
        ev->nodes = copy;
        ev->nnodes = p->n;
        ev->capture = p->c->id;
        atomic_store(&ev->captured, true);
    }
    pthread_mutex_unlock(&graph_lock);
    return e;
}

bool
capture_wait(struct stream *s, struct event *ev, CUresult *result)
{
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    bool captured = atomic_load(&ev->captured);
    struct capture *from = captured ? capture_by_id(ev->capture) : NULL;
    if (!p && !captured) {
        pthread_mutex_unlock(&graph_lock);
        return false;
    }
    if (p && p->c->invalid) {
        e = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (captured && (!from || from->invalid)) {
        e = CUDA_ERROR_INVALID_VALUE;   /* recorded in a capture that is over */
        if (p)
            p->c->invalid = true;
    } else if (!from && !atomic_load(&ev->recorded)) {
        e = CUDA_SUCCESS;               /* never recorded: nothing to wait for */
    } else if (!from) {
        e = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        p->c->invalid = true;
    } else if (p && p->c != from) {
        e = CUDA_ERROR_STREAM_CAPTURE_MERGE;
        p->c->invalid = from->invalid = true;
    } else if (s->is_legacy) {
        e = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        from->invalid = true;
    } else if (!p) {
        e = part_make(from, s);
        p = part_of(s);
    }
    if (e == CUDA_SUCCESS && from)
        e = set_add(p, ev->nodes, ev->nnodes);
    pthread_mutex_unlock(&graph_lock);
    *result = e;
    return true;
}

/* ---- API ------------------------------------------------------------------------------------------------------------------------------ */

/* Also where the context has failed. */
#define ANY_STREAM(s, h)                                                                                               \
    STREAM_CURRENT(cur, h);                                                                                            \
    struct stream *s AUTO_PUT = NULL;                                                                                  \
    do { CUresult r_ = stream_get(cur, h, &s); if (r_ != CUDA_SUCCESS) return r_; } while (0)

/* Under graph_lock. */
static CUresult
nodes_of(const struct graph *g, const CUgraphNode *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct node *k = handle_peek(list[i], KIND_NODE, NULL);
        if (!k || k->graph != g)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* g: the application's graph, or NULL for a new one. */
static CUresult
begin(CUstream hStream, CUstreamCaptureMode mode, struct graph *g, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n)
{
    ANY_STREAM(s, hStream);
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = ctx_error(s->obj.ctx);
    if (e != CUDA_SUCCESS)
        return e;
    if (s->is_legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (n && !deps)
        return CUDA_ERROR_INVALID_VALUE;
    struct capture *c = calloc(1, sizeof *c);
    struct graph *own = NULL;
    e = c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS && !g)
        e = graph_make(&own);
    struct graph *into = g ? g : own;
    const CUresult checked = edges_check("cuStreamBeginCaptureToGraph", deps, edges, n);
    pthread_mutex_lock(&graph_lock);
    if (e == CUDA_SUCCESS && (part_of(s) || into->capture))
        e = CUDA_ERROR_ILLEGAL_STATE;
    if (e == CUDA_SUCCESS)
        e = checked;
    if (e == CUDA_SUCCESS)
        e = nodes_of(into, deps, n);
    if (e == CUDA_SUCCESS)
        e = part_make(c, s);
    if (e == CUDA_SUCCESS && (e = set_add(part_of(s), deps, n)) != CUDA_SUCCESS)
        parts_end(c);
    if (e == CUDA_SUCCESS) {
        c->id = next_id++;
        c->mode = mode;
        c->thread = me();
        c->to_graph = g != NULL;
        c->g = into;
        c->origin = s;
        c->dropped.c = c;
        if (g)
            handle_ref(&g->obj);
        into->capture = c;
        c->next = captures;
        captures = c;
        atomic_fetch_add(&captures_active, 1);
    }
    pthread_mutex_unlock(&graph_lock);
    if (e != CUDA_SUCCESS) {
        free(c);
        if (own)
            graph_end(own);
    }
    return e;
}

CUresult
drv_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    return begin(hStream, mode, NULL, NULL, NULL, 0);
}

CUresult
drv_cuStreamBeginCapture(CUstream hStream)
{
    return begin(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, NULL, 0);
}

CUresult
drv_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
                                const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode)
{
    READY();
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    return g ? begin(hStream, mode, g, dependencies, dependencyData, numDependencies) : CUDA_ERROR_INVALID_VALUE;
}

/* Marks what the nodes of p depend on, themselves included. */
static CUresult
mark_past(struct part *p, struct node_list *todo)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct node *n = handle_peek(p->deps[i], KIND_NODE, NULL);
        if (n && n->graph == p->c->g && !n->mark) {
            n->mark = 1;
            if (!node_list_add(todo, n))
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    while (todo->n) {
        struct node *n = todo->v[--todo->n];
        for (uint32_t i = 0; i < n->deps.n; i++)
            if (!n->deps.v[i]->mark) {
                n->deps.v[i]->mark = 1;
                if (!node_list_add(todo, n->deps.v[i]))
                    return CUDA_ERROR_OUT_OF_MEMORY;
            }
    }
    return CUDA_SUCCESS;
}

/* Whether all other streams' last nodes lie in the past of the origin. */
static CUresult
joined(struct capture *c)
{
    struct node_list todo = { 0 };
    for (struct node *n = c->g->first; n; n = n->next)
        n->mark = 0;
    CUresult e = mark_past(part_of(c->origin), &todo);
    if (e == CUDA_SUCCESS)
        e = mark_past(&c->dropped, &todo);
    for (struct part *p = c->parts; p && e == CUDA_SUCCESS; p = p->next)
        for (uint32_t i = 0; i < p->n && e == CUDA_SUCCESS; i++) {
            const struct node *n = handle_peek(p->deps[i], KIND_NODE, NULL);
            if (n && n->graph == c->g && !n->mark)
                e = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        }
    free(todo.v);
    return e;
}

CUresult
drv_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    ANY_STREAM(s, hStream);
    if (phGraph)
        *phGraph = NULL;
    CUresult e = s->is_legacy ? capture_legacy(s->obj.ctx) : CUDA_SUCCESS;
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    struct capture *c = p ? p->c : NULL;
    if (!c)
        e = CUDA_ERROR_ILLEGAL_STATE;
    else if (c->origin != s)
        e = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (e != CUDA_SUCCESS) {
        if (c)
            c->invalid = true;
        pthread_mutex_unlock(&graph_lock);
        return e;
    }
    struct graph *g = c->g;
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != me())
        e = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;     /* the capture is over all the same */
    else
        e = c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : joined(c);
    bool keep = (e == CUDA_SUCCESS && phGraph) || c->to_graph;
    capture_end(c);
    pthread_mutex_unlock(&graph_lock);
    free(c);
    if (e == CUDA_SUCCESS && phGraph)
        *phGraph = HANDLE(CUgraph, g);
    if (!keep)
        handle_kill(&g->obj);
    handle_put(&g->obj);
    return e;
}

CUresult
drv_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    return drv_cuStreamGetCaptureInfo_v3(hStream, captureStatus, NULL, NULL, NULL, NULL, NULL);
}

/* The results beside the status are written while a capture is active only, as documented. The list belongs to the stream and holds
 * until its next operation. */
CUresult
drv_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
                              const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
    ANY_STREAM(s, hStream);
    if (!captureStatus_out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = ctx_error(s->obj.ctx);
    if (e != CUDA_SUCCESS)
        return e;
    if (s->is_legacy && in_context(s->obj.ctx, true, false))    /* asking does no harm */
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    const CUstreamCaptureStatus status = !p ? CU_STREAM_CAPTURE_STATUS_NONE
                                            : p->c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    const bool active = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (active)
        set_clean(p);
    const cuuint64_t id = active ? p->c->id : 0;
    const CUgraph graph = active ? HANDLE(CUgraph, p->c->g) : NULL;
    const CUgraphNode *deps = active ? p->deps : NULL;
    const size_t n = active ? p->n : 0;
    pthread_mutex_unlock(&graph_lock);
    *captureStatus_out = status;
    if (!active)
        return CUDA_SUCCESS;
    if (edgeData_out && !dependencies_out)
        return CUDA_ERROR_INVALID_VALUE;
    if (id_out)
        *id_out = id;
    if (graph_out)
        *graph_out = graph;
    if (dependencies_out)
        *dependencies_out = deps;
    if (edgeData_out)
        *edgeData_out = NULL;           /* every edge is an ordinary one */
    if (numDependencies_out)
        *numDependencies_out = n;
    return CUDA_SUCCESS;
}

CUresult
drv_cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
                              const CUgraphNode **dependencies_out, size_t *numDependencies_out)
{
    return drv_cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out, NULL, numDependencies_out);
}

CUresult
drv_cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out)
{
    return drv_cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

CUresult
drv_cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                                         size_t numDependencies, unsigned int flags)
{
    ANY_STREAM(s, hStream);
    const bool possible = flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES && (!numDependencies || dependencies);
    const CUresult checked = !possible ? CUDA_ERROR_INVALID_VALUE
        : edges_check("cuStreamUpdateCaptureDependencies_v2", dependencies, dependencyData, numDependencies);
    pthread_mutex_lock(&graph_lock);
    struct part *p = part_of(s);
    CUresult e = part_error(p);
    if (e == CUDA_SUCCESS)
        e = checked;
    if (e == CUDA_SUCCESS)
        e = nodes_of(p->c->g, dependencies, numDependencies);
    if (e == CUDA_SUCCESS && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        e = set_add(&p->c->dropped, p->deps, p->n);
        p->n = 0;
    }
    if (e == CUDA_SUCCESS)
        e = set_add(p, dependencies, numDependencies);
    pthread_mutex_unlock(&graph_lock);
    return e;
}

CUresult
drv_cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags)
{
    return drv_cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies, flags);
}

CUresult
drv_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    READY();
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode old = own_mode;
    own_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
