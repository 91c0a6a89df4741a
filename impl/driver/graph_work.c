/* SPDX-License-Identifier: Apache-2.0
 * Descriptions of single operations for graphs: made from a call's arguments with the checks that the call itself makes, copied,
 * and ended. Nothing here knows of nodes, edges or streams. */
#include "impl/driver/graph.h"

#include <stdlib.h>

struct ctx *
work_context(const struct work *w)
{
    switch ((int)w->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:       return w->kernel.f->obj.ctx;
    case CU_GRAPH_NODE_TYPE_MEMCPY:       return w->copy.ctx;
    case CU_GRAPH_NODE_TYPE_MEMSET:       return w->fill.ctx;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return w->event->obj.ctx;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:    return w->alloc.m->ctx;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return w->batch.ctx;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:  return w->cond.c->ctx;
    default:                              return NULL;
    }
}

static void
conditional_finish(struct work *w)
{
    for (unsigned i = 0; w->cond.bodies && i < w->cond.size; i++)
        if (w->cond.bodies[i])
            graph_end(w->cond.bodies[i]);
    free(w->cond.bodies);
    free(w->cond.handles);
    condition_put(w->cond.c);
}

void
work_finish(struct work *w)
{
    switch ((int)w->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        free((void *)(uintptr_t)w->kernel.l.params);
        free(w->kernel.args);
        handle_put(&w->kernel.f->obj);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        ctx_unref(w->copy.ctx);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        ctx_unref(w->fill.ctx);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        if (w->child)
            graph_end(w->child);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        handle_put(&w->event->obj);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        graph_memory_put(w->alloc.m);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        graph_memory_put(w->free.m);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        free(w->batch.list);
        ctx_unref(w->batch.ctx);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        conditional_finish(w);
        break;
    }
}

CUresult
work_copy(struct work *to, const struct work *from)
{
    CUresult e = CUDA_SUCCESS;
    *to = *from;
    switch ((int)from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        e = work_kernel(to, from->kernel.f, &from->kernel.l);
        if (e == CUDA_SUCCESS)
            to->kernel.hints = from->kernel.hints;
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        ctx_ref(to->copy.ctx);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        ctx_ref(to->fill.ctx);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        e = graph_copy(from->child, &to->child);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        handle_ref(&to->event->obj);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        atomic_fetch_add(&to->alloc.m->refs, 1);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        atomic_fetch_add(&to->free.m->refs, 1);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        e = work_batch(to, from->batch.ctx, from->batch.count, from->batch.list, from->batch.flags);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:        /* for an executable graph, which has the bodies in another form */
        to->cond.bodies = NULL;
        to->cond.handles = NULL;
        atomic_fetch_add(&to->cond.c->refs, 1);
        break;
    }
    return e;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------------------- */

CUresult
work_kernel(struct work *w, struct func *f, const struct cwb_launch *l)
{
    const struct cwj_kernel *k = f->k;
    if (k->launches)
        return unsupported(k->name, "a kernel that launches kernels, in a graph");
    uint8_t *block = calloc(1, k->param_size ? k->param_size : 1);
    void **args = calloc(k->nparams ? k->nparams : 1, sizeof *args);
    if (!block || !args) {
        free(block);
        free(args);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (k->param_size)
        memcpy(block, l->params, k->param_size);
    for (uint32_t i = 0; i < k->nparams; i++)
        args[i] = block + k->params[i].offset;
    handle_ref(&f->obj);
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = { .f = f, .l = *l, .args = args, .hints = hints_unset } };
    w->kernel.l.params = block;
    w->kernel.l.param_size = k->param_size;
    return CUDA_SUCCESS;
}

CUresult
work_kernel_params(struct work *w, const CUDA_KERNEL_NODE_PARAMS *p)
{
    struct ctx *c;
    struct func *f AUTO_PUT = NULL;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (!p->func && !p->kern)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult e = ctx_from_handle(p->ctx, &c);
    if (e != CUDA_SUCCESS)
        return e;
    if (p->func)                        /* not a CUkernel, as elsewhere (driver 580) */
        e = (f = handle_get(p->func, KIND_FUNCTION)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    else
        e = func_get(c, (CUfunction)p->kern, &f);
    ctx_unref(c);
    if (e != CUDA_SUCCESS)
        return e;
    uint8_t *block = calloc(1, f->k->param_size ? f->k->param_size : 1);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct cwb_launch l = { .grid = { p->gridDimX, p->gridDimY, p->gridDimZ }, .block = { p->blockDimX, p->blockDimY, p->blockDimZ },
                            .dynamic_shared = p->sharedMemBytes, .params = block, .param_size = f->k->param_size };
    e = params_pack(f, p->kernelParams, p->extra, block);
    if (e == CUDA_SUCCESS)
        e = launch_check(f, &l);
    if (e == CUDA_SUCCESS)
        e = work_kernel(w, f, &l);
    free(block);
    return e;
}

CUresult
work_keep(struct work *w, const struct work *old)
{
    if (w->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_SUCCESS;
    w->kernel.hints = old->kernel.hints;
    w->kernel.l.flags |= old->kernel.l.flags;
    memcpy(w->kernel.l.cluster, old->kernel.l.cluster, sizeof w->kernel.l.cluster);
    return launch_check(w->kernel.f, &w->kernel.l);     /* its code is made */
}

/* ---- copies and fills --------------------------------------------------------------------------------------------------------- */

CUresult
work_memcpy(struct work *w, const CUDA_MEMCPY3D *p, CUcontext ctx)
{
    struct copy_job j;
    if (!p || !p->WidthInBytes || !p->Height || !p->Depth)
        return CUDA_ERROR_INVALID_VALUE;        /* unlike the call, a node copies something */
    CUresult e = copy_resolve(p, &j);
    if (e != CUDA_SUCCESS)
        return e;
    copy_job_finish(&j);
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = { .p = *p } };
    return ctx_from_handle(ctx, &w->copy.ctx);
}

CUresult
work_memset(struct work *w, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
    struct fill_job j;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = fill_resolve(p, &j);
    if (e != CUDA_SUCCESS)
        return e;
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_MEMSET, .fill = { .p = *p } };
    return ctx_from_handle(ctx, &w->fill.ctx);
}

/* ---- events, host functions, values --------------------------------------------------------------------------------------------- */

CUresult
work_event(struct work *w, CUgraphNodeType type, CUevent e)
{
    struct event *ev = handle_get(e, KIND_EVENT);
    if (!e)
        return CUDA_ERROR_INVALID_VALUE;
    if (!ev)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ev->ipc) {
        handle_put(&ev->obj);
        return unsupported("cuGraphAddEventRecordNode", "an event of several processes");
    }
    *w = (struct work){ .type = type, .event = ev };
    return CUDA_SUCCESS;
}

CUresult
work_host(struct work *w, const CUDA_HOST_NODE_PARAMS *p)
{
    if (!p || !p->fn)
        return CUDA_ERROR_INVALID_VALUE;
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = *p };
    return CUDA_SUCCESS;
}

CUresult
work_batch(struct work *w, struct ctx *c, unsigned count, const CUstreamBatchMemOpParams *list, unsigned flags)
{
    if (!(c->b->caps & CWB_CAP_STREAM_VALUE))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (count > 256 || !list || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = batch_form(c, count, list);
    if (e != CUDA_SUCCESS)
        return e;
    CUstreamBatchMemOpParams *copy = malloc((count ? count : 1) * sizeof *copy);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, list, count * sizeof *copy);
    ctx_ref(c);
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .batch = { .ctx = c, .list = copy, .count = count, .flags = flags } };
    return CUDA_SUCCESS;
}

CUresult
work_batch_params(struct work *w, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    struct ctx *c;
    if (!p || !p->ctx)                  /* unlike elsewhere, the current context must be named (driver 580) */
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = ctx_from_handle(p->ctx, &c);
    if (e != CUDA_SUCCESS)
        return e;
    e = work_batch(w, c, p->count, p->paramArray, p->flags);
    ctx_unref(c);
    return e;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;     /* a leaf */
static struct graph_memory **memories;  /* memory_lock */
static uint32_t nmemories, memories_capacity;

static CUresult
memory_make(struct ctx *c, size_t size, struct graph_memory **out)
{
    struct graph_memory *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = size > c->dev->props.total_memory ? CUDA_ERROR_OUT_OF_MEMORY
                                                   : memory_get(c, CWB_MEM_DEVICE, size, 512, &m->address);
    if (e != CUDA_SUCCESS) {
        free(m);
        return e;
    }
    atomic_init(&m->refs, 1);
    m->size = size;
    m->ctx = c;
    struct range r = { .base = m->address, .size = size, .kind = RANGE_GRAPH, .ctx = c, .device = c->device, .device_address = m->address,
                       .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
    e = range_add(&r);
    pthread_mutex_lock(&memory_lock);
    if (e == CUDA_SUCCESS && nmemories == memories_capacity) {
        uint32_t n = memories_capacity ? memories_capacity * 2 : 16;
        struct graph_memory **l = realloc(memories, n * sizeof *l);
        if (l) {
            memories = l;
            memories_capacity = n;
        } else {
            e = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    if (e == CUDA_SUCCESS)
        memories[nmemories++] = m;
    pthread_mutex_unlock(&memory_lock);
    if (e != CUDA_SUCCESS) {
        if (range_remove(m->address, 1u << RANGE_GRAPH, &r))
            range_forget(&r);
        (void)c->b->mem_free(c->be, CWB_MEM_DEVICE, m->address, size);
        free(m);
        return e;
    }
    ctx_ref(c);
    *out = m;
    return CUDA_SUCCESS;
}

struct graph_memory *
graph_memory_find(uint64_t address)
{
    struct graph_memory *m = NULL;
    pthread_mutex_lock(&memory_lock);
    for (uint32_t i = 0; i < nmemories && !m; i++)
        if (memories[i]->address == address)
            m = memories[i];
    if (m)
        atomic_fetch_add(&m->refs, 1);
    pthread_mutex_unlock(&memory_lock);
    return m;
}

static void
memory_free(struct later *l)
{
    struct graph_memory *m = (struct graph_memory *)l;
    struct ctx *c = m->ctx;
    (void)memory_settle(c);             /* launches that use it may still run */
    (void)c->b->mem_free(c->be, CWB_MEM_DEVICE, m->address, m->size);
    ctx_unref(c);
    free(m);
}

void
graph_memory_put(struct graph_memory *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&memory_lock);
    bool last = atomic_fetch_sub(&m->refs, 1) == 1;
    for (uint32_t i = 0; last && i < nmemories; i++)
        if (memories[i] == m) {
            memories[i] = memories[--nmemories];
            break;
        }
    pthread_mutex_unlock(&memory_lock);
    if (!last)
        return;
    struct range r;
    if (range_remove(m->address, 1u << RANGE_GRAPH, &r))
        range_forget(&r);
    if (memory_settled(m->ctx))
        memory_free(&m->later);
    else
        later_run(&m->later, memory_free);
}

void
graph_memory_live(struct graph_memory *m, bool live)
{
    if (live)                           /* the program's reference, taken before another thread's free can give it back */
        atomic_fetch_add(&m->refs, 1);
    if (atomic_exchange(&m->live, live))
        graph_memory_put(m);            /* freed: the program's; allocated again: the second one */
}

void
graph_memory_ended(uint64_t address)
{
    struct graph_memory *m = graph_memory_find(address);
    if (m)
        graph_memory_live(m, false);
    graph_memory_put(m);
}

bool
graph_memory_free(uint64_t address, CUresult *e)
{
    struct range r;
    if (!range_find(address, &r) || r.kind != RANGE_GRAPH || r.base != address)
        return false;
    struct graph_memory *m = graph_memory_find(address);
    bool was = m && atomic_exchange(&m->live, false);
    *e = was ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (was)
        graph_memory_put(m);            /* the program's */
    graph_memory_put(m);
    return true;
}

uint64_t
graph_memory_used(CUdevice device)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&memory_lock);
    for (uint32_t i = 0; i < nmemories; i++)
        if (memories[i]->ctx->device == device)
            sum += memories[i]->size;
    pthread_mutex_unlock(&memory_lock);
    return sum;
}

CUresult
work_alloc(struct work *w, struct ctx *c, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    struct device *d;
    if (!p || !p->bytesize || (p->accessDescCount && !p->accessDescs))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned type = p->poolProps.location.type, handles = p->poolProps.handleTypes;
    if (type == CU_MEM_LOCATION_TYPE_DEVICE && device_get(p->poolProps.location.id, &d) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->poolProps.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED)
        return unsupported("cuGraphAddMemAllocNode", "managed memory");
    if (p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (handles == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || handles == CU_MEM_HANDLE_TYPE_FABRIC || type == CU_MEM_LOCATION_TYPE_HOST ||
        type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return CUDA_ERROR_NOT_SUPPORTED;        /* also by driver 580 */
    if (handles || type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = c ? CUDA_SUCCESS : ctx_current(&c);
    if (e != CUDA_SUCCESS)
        return e;
    if (c->dev != d)
        return unsupported("cuGraphAddMemAllocNode", "memory of another device than the current context's");
    struct graph_memory *m;
    e = memory_make(c, p->bytesize, &m);
    if (e != CUDA_SUCCESS)
        return e;
    p->dptr = m->address;
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = { .p = *p, .m = m } };
    w->alloc.p.accessDescs = NULL;
    w->alloc.p.accessDescCount = 0;
    return CUDA_SUCCESS;
}

CUresult
work_free(struct work *w, CUdeviceptr address)
{
    struct graph_memory *m = graph_memory_find(address);
    if (!m)
        return CUDA_ERROR_INVALID_VALUE;
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = { .address = address, .m = m } };
    return CUDA_SUCCESS;
}

/* ---- any ------------------------------------------------------------------------------------------------------------------------ */

static CUresult
general_child(struct work *w, const CUDA_CHILD_GRAPH_NODE_PARAMS *p)
{
    struct graph *g AUTO_PUT = handle_get(p->graph, KIND_GRAPH);
    if (!g)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
        return unsupported("cuGraphAddNode", "a child graph that moves into its parent");
    *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_GRAPH };
    return graph_child(g, &w->child);
}

bool
general_form(const CUgraphNodeParams *p)
{
    static const uint8_t size[] = {
#define SIZE(type, field) [CU_GRAPH_NODE_TYPE_##type] = sizeof p->field
        SIZE(KERNEL, kernel), SIZE(MEMCPY, memcpy), SIZE(MEMSET, memset), SIZE(HOST, host), SIZE(GRAPH, graph), SIZE(WAIT_EVENT, eventWait),
        SIZE(EVENT_RECORD, eventRecord), SIZE(EXT_SEMAS_SIGNAL, extSemSignal), SIZE(EXT_SEMAS_WAIT, extSemWait), SIZE(MEM_ALLOC, alloc),
        SIZE(MEM_FREE, free), SIZE(BATCH_MEM_OP, memOp), SIZE(CONDITIONAL, conditional),
#undef SIZE
    };
    if (!p)
        return false;
    bool used = p->reserved0[0] | p->reserved0[1] | p->reserved0[2] || p->reserved2;
    if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        used |= p->memcpy.flags || p->memcpy.reserved;      /* "Must be zero" (CUDA_MEMCPY_NODE_PARAMS) */
    for (size_t i = (unsigned)p->type < COUNT(size) ? size[p->type] / sizeof *p->reserved1 : 0; i < COUNT(p->reserved1); i++)
        used |= p->reserved1[i] != 0;
    return !used;
}

CUresult
work_general(struct work *w, CUgraphNodeParams *p)
{
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3 *k = &p->kernel;
        CUDA_KERNEL_NODE_PARAMS v2 = { k->func, k->gridDimX, k->gridDimY, k->gridDimZ, k->blockDimX, k->blockDimY, k->blockDimZ,
                                       k->sharedMemBytes, k->kernelParams, k->extra, k->kern, k->ctx };
        return work_kernel_params(w, &v2);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return work_memcpy(w, &p->memcpy.copyParams, p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS_v2 *s = &p->memset;
        CUDA_MEMSET_NODE_PARAMS v1 = { s->dst, s->pitch, s->value, s->elementSize, s->width, s->height };
        return work_memset(w, &v1, s->ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
        return work_host(w, &(CUDA_HOST_NODE_PARAMS){ p->host.fn, p->host.userData });
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return general_child(w, &p->graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *w = (struct work){ .type = CU_GRAPH_NODE_TYPE_EMPTY };
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return work_event(w, p->type, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return work_event(w, p->type, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        CUDA_MEM_ALLOC_NODE_PARAMS a = { p->alloc.poolProps, p->alloc.accessDescs, p->alloc.accessDescCount, p->alloc.bytesize, 0 };
        CUresult e = work_alloc(w, NULL, &a);
        p->alloc.dptr = a.dptr;
        return e;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return work_free(w, p->free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return work_batch_params(w, &(CUDA_BATCH_MEM_OP_NODE_PARAMS){ p->memOp.ctx, p->memOp.count, p->memOp.paramArray, p->memOp.flags });
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return unsupported("cuGraphAddNode", "an external semaphore");
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return work_conditional(w, &p->conditional);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}
