/* SPDX-License-Identifier: Apache-2.0
 * Conditional nodes (CUDA Programming Guide, "Conditional Graph Nodes"): handles, the nodes' descriptions, and their place in a launch.
 *
 * A handle is the address of a 32-bit value in pinned memory, which cudaGraphSetConditional (jit/link/device_runtime.ptx) stores to. A
 * launch that comes to a conditional node waits for what the node depends on, reads the value, and submits the body that it chooses; so
 * cuGraphLaunch returns when the last condition is decided. The bodies' nodes follow each other in the conditional node's lane. */
#include "impl/driver/graph_plan.h"

#include <stdlib.h>

static pthread_mutex_t conditions_lock = PTHREAD_MUTEX_INITIALIZER;     /* a leaf */
static struct graph_condition *conditions;                              /* conditions_lock */

/* ---- handles ---------------------------------------------------------------------------------------------------------------------- */

enum { VALUE_SIZE = 4096 };             /* of the pinned memory: a page */

static struct graph_condition *
condition_find(CUgraphConditionalHandle h)
{
    pthread_mutex_lock(&conditions_lock);
    struct graph_condition *c = conditions;
    while (c && c->address != h)
        c = c->next;
    if (c)
        atomic_fetch_add(&c->refs, 1);
    pthread_mutex_unlock(&conditions_lock);
    return c;
}

static void
condition_free(struct later *l)
{
    struct graph_condition *c = (struct graph_condition *)l;
    (void)c->ctx->b->context_sync(c->ctx->be);      /* kernels that set it may still run */
    (void)c->ctx->b->mem_free(c->ctx->be, CWB_MEM_PINNED, c->address, VALUE_SIZE);
    ctx_unref(c->ctx);
    free(c);
}

void
condition_put(struct graph_condition *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&conditions_lock);
    bool last = atomic_fetch_sub(&c->refs, 1) == 1;
    for (struct graph_condition **l = &conditions; last && *l; l = &(*l)->next)
        if (*l == c) {
            *l = c->next;
            break;
        }
    pthread_mutex_unlock(&conditions_lock);
    if (last && memory_settled(c->ctx))
        condition_free(&c->later);
    else if (last)
        later_run(&c->later, condition_free);
}

CUresult
drv_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph, CUcontext ctx, unsigned int defaultLaunchValue,
                                   unsigned int flags)
{
    READY();
    struct graph *g AUTO_PUT = handle_get(hGraph, KIND_GRAPH);
    if (!g || !pHandle_out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    struct graph_condition *c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = ctx ? ctx_from_handle(ctx, &c->ctx) : CUDA_ERROR_INVALID_CONTEXT;
    if (e != CUDA_SUCCESS) {
        free(c);
        return e;
    }
    e = result_of(c->ctx->b->mem_alloc(c->ctx->be, CWB_MEM_PINNED, VALUE_SIZE, VALUE_SIZE, &c->address));
    if (e != CUDA_SUCCESS) {
        ctx_unref(c->ctx);
        free(c);
        return e;
    }
    *(volatile uint32_t *)(uintptr_t)c->address = defaultLaunchValue;
    atomic_init(&c->refs, 1);           /* the graph's */
    c->graph = g->obj.handle;
    c->initial = defaultLaunchValue;
    c->assign = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
    pthread_mutex_lock(&conditions_lock);
    c->next = conditions;
    conditions = c;
    pthread_mutex_unlock(&conditions_lock);
    pthread_mutex_lock(&graph_lock);
    c->next_of_graph = g->conditions;
    g->conditions = c;
    pthread_mutex_unlock(&graph_lock);
    *pHandle_out = c->address;
    return CUDA_SUCCESS;
}

/* ---- nodes -------------------------------------------------------------------------------------------------------------------------- */

CUresult
work_conditional(struct work *w, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    unsigned most = p->type == CU_GRAPH_COND_TYPE_IF ? 2 : p->type == CU_GRAPH_COND_TYPE_WHILE ? 1 : UINT16_MAX;
    struct ctx *ctx;
    if ((unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH || !p->size || p->size > most)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = ctx_from_handle(p->ctx, &ctx);
    if (e != CUDA_SUCCESS)
        return e;
    struct graph_condition *c = condition_find(p->handle);
    bool same = c && c->ctx == ctx;
    ctx_unref(ctx);
    if (!same) {
        condition_put(c);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .cond = { .c = c, .type = p->type, .size = p->size } };
    w->cond.bodies = calloc(p->size, sizeof *w->cond.bodies);
    w->cond.handles = calloc(p->size, sizeof *w->cond.handles);
    if (!w->cond.bodies || !w->cond.handles)
        e = CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < p->size && e == CUDA_SUCCESS; i++)
        if ((e = graph_make(&w->cond.bodies[i])) == CUDA_SUCCESS)
            w->cond.handles[i] = HANDLE(CUgraph, w->cond.bodies[i]);
    if (e != CUDA_SUCCESS)
        work_finish(w);
    else
        p->phGraph_out = w->cond.handles;
    return e;
}

/* graph_lock held. */
bool
condition_claim(const struct work *w, const struct graph *g)
{
    while (g && g->obj.handle != w->cond.c->graph)
        g = g->owner ? g->owner->graph : NULL;
    return g && !atomic_exchange(&w->cond.c->used, true);
}

/* What a body may hold ("CUDA_CONDITIONAL_NODE_PARAMS"). */
bool
condition_allows(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_EMPTY || type == CU_GRAPH_NODE_TYPE_GRAPH ||
           type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* ---- launches ----------------------------------------------------------------------------------------------------------------------- */

CUresult
conditions_assign(const struct ctx *c, struct cwb_stream *s, const struct body *b)
{
    CUresult e = CUDA_SUCCESS;
    for (uint32_t i = 0; i < b->n && e == CUDA_SUCCESS; i++) {
        const struct entry *x = &b->e[i];
        const struct graph_condition *v = x->nbodies ? x->w.cond.c : NULL;
        if (v && v->assign)
            e = result_of(c->b->stream_fill(s, &(struct cwb_fill){
                .dst = { .loc = CWB_LOC_HOST, .address = v->address, .pitch = 4, .slice = 4 }, .value = v->initial, .size = 4,
                .width = 1, .height = 1, .depth = 1 }));
        if (e == CUDA_SUCCESS && x->child)
            e = conditions_assign(c, s, x->child);
        for (uint32_t k = 0; k < x->nbodies && e == CUDA_SUCCESS; k++)
            e = conditions_assign(c, s, x->bodies[k]);
    }
    return e;
}

/* The value when all earlier work of the lane has ended. Other threads may submit meanwhile. */
static CUresult
read_value(struct graph_launch *l, struct cwb_stream *lane, const struct graph_condition *c, uint32_t *value)
{
    stream_end(l->s);
    CUresult e = result_of(l->s->obj.ctx->b->stream_sync(lane));
    *value = *(const volatile uint32_t *)(uintptr_t)c->address;
    CUresult ended = stream_order(l->s);
    l->ended = ended != CUDA_SUCCESS;
    return l->ended ? ended : e;
}

static CUresult run_body(struct graph_launch *l, struct cwb_stream *lane, const struct body *b);

CUresult
condition_run(struct graph_launch *l, struct cwb_stream *lane, const struct entry *x)
{
    uint32_t value;
    CUresult e;
    do {
        e = read_value(l, lane, x->w.cond.c, &value);
        uint32_t body = x->w.cond.type == CU_GRAPH_COND_TYPE_SWITCH ? value : value ? 0 : 1;
        if (e == CUDA_SUCCESS && body < x->nbodies)
            e = run_body(l, lane, x->bodies[body]);
    } while (e == CUDA_SUCCESS && x->w.cond.type == CU_GRAPH_COND_TYPE_WHILE && value);
    return e;
}

static CUresult
run_body(struct graph_launch *l, struct cwb_stream *lane, const struct body *b)
{
    CUresult e = CUDA_SUCCESS;
    for (uint32_t i = 0; i < b->n && e == CUDA_SUCCESS; i++) {
        struct entry *x = &b->e[b->order[i]];
        if (x->child)
            e = run_body(l, lane, x->child);
        else if (x->nbodies)
            e = condition_run(l, lane, x);
        else
            e = entry_issue(l->s->obj.ctx, lane, x);
    }
    return e;
}
