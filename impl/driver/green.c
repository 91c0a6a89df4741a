/* SPDX-License-Identifier: Apache-2.0
 * Green contexts: named subsets of a device's multiprocessors, with streams of their own, over the device's primary context (CUDA driver API,
 * "Green Contexts"). The subsets are book-keeping: they divide as the manual says and are reported back, and work in their streams may use
 * the whole device. Also cuCtxRecordEvent and cuCtxWaitEvent, which are about all streams of a context. */
#include "impl/driver/graph.h"

#include <stdlib.h>

struct green {
    struct obj obj;                     /* KIND_GREEN; its handle is a CUcontext, too */
    struct ctx *c;                      /* owned: the pinned primary context */
    uint64_t id;
    CUdevResource resource;
};

/* What CUdevResource keeps for the driver: which multiprocessors it means. */
struct inside {
    uint32_t magic, device, first, count;
};
enum { MAGIC = 0x52445743 };

struct desc {
    struct obj obj;                     /* KIND_DESC: no call ends one */
    struct desc *next;                  /* descs_lock */
    CUdevResource resource;
};

static struct inside
inside(const CUdevResource *r)
{
    struct inside i;
    memcpy(&i, r->_internal_padding, sizeof i);
    return i;
}

/* "The minimum SM count is 2 for compute capability 7, 4 for 8, 8 from 9.0 on; partitions are multiples of 2, 2, 8". Devices that have fewer
 * than twice as many are divided one by one. */
static void
granularity(const struct device *d, unsigned *least, unsigned *step)
{
    unsigned major = d->props.cc_major;
    *least = major >= 9 ? 8 : major == 8 ? 4 : 2;
    *step = major >= 9 ? 8 : 2;
    if (d->props.multiprocessors < 2 * *least)
        *least = *step = 1;
}

static CUdevResource
sm_resource(const struct device *d, uint32_t first, uint32_t count)
{
    CUdevResource r = { .type = CU_DEV_RESOURCE_TYPE_SM };
    struct inside i = { MAGIC, (uint32_t)(d - g.devices), first, count };
    memcpy(r._internal_padding, &i, sizeof i);
    r.sm.smCount = count;
    granularity(d, &r.sm.minSmPartitionSize, &r.sm.smCoscheduledAlignment);
    return r;
}

static CUresult
resource_type(CUdevResourceType type)
{
    return type == CU_DEV_RESOURCE_TYPE_SM ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_TYPE;
}

CUresult
drv_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    struct device *d;
    CUresult e = device_get(device, &d);
    if (e == CUDA_SUCCESS && !resource)
        e = CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        e = resource_type(type);
    if (e == CUDA_SUCCESS)
        *resource = sm_resource(d, 0, d->props.multiprocessors);
    return e;
}

CUresult
drv_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups, const CUdevResource *input, CUdevResource *remaining,
                                unsigned int useFlags, unsigned int minCount)
{
    READY();
    if (!nbGroups || !input ||
        useFlags & ~(unsigned)(CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE))
        return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    struct inside i = inside(input);
    if (i.magic != MAGIC || i.device >= g.ndevices)
        return CUDA_ERROR_INVALID_VALUE;
    const struct device *d = &g.devices[i.device];
    unsigned least, step, each = minCount;
    granularity(d, &least, &step);
    if (useFlags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING)
        step = step > 1 ? 2 : 1;
    if (each < least)
        each = least;
    each = (each + step - 1) / step * step;
    unsigned most = each <= i.count && each >= minCount ? i.count / each : 0;
    if (!most)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    if (!result) {                      /* how many there would be */
        *nbGroups = most;
        return CUDA_SUCCESS;
    }
    if (!*nbGroups)
        return CUDA_ERROR_INVALID_VALUE;
    if (*nbGroups > most)
        *nbGroups = most;
    for (unsigned k = 0; k < *nbGroups; k++)
        result[k] = sm_resource(d, i.first + k * each, each);
    if (remaining)
        *remaining = sm_resource(d, i.first + *nbGroups * each, i.count - *nbGroups * each);
    return CUDA_SUCCESS;
}

/* A descriptor is never destroyed: there is one for each resource that was asked for. */
static const struct obj_class desc_class = { .kind = KIND_DESC };
static pthread_mutex_t descs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct desc *descs;              /* descs_lock */

static CUresult
desc_of(const CUdevResource *resource, struct desc **out)
{
    const struct inside want = inside(resource);
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&descs_lock);
    struct desc *d = descs;
    for (; d; d = d->next) {
        const struct inside i = inside(&d->resource);
        if (i.device == want.device && i.first == want.first && i.count == want.count)
            break;
    }
    if (!d) {
        d = calloc(1, sizeof *d);
        if (d)
            d->resource = *resource;
        e = d ? handle_new(&d->obj, &desc_class, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
        if (e == CUDA_SUCCESS) {
            d->next = descs;
            descs = d;
        } else {
            free(d);
            d = NULL;
        }
    }
    pthread_mutex_unlock(&descs_lock);
    *out = d;
    return e;
}

/* Several resources are one when they lie next to each other, as those of one division do. */
CUresult
drv_cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources, unsigned int nbResources)
{
    READY();
    if (!phDesc || !resources || !nbResources)
        return CUDA_ERROR_INVALID_VALUE;
    struct inside all = inside(&resources[0]);
    for (unsigned k = 0; k < nbResources; k++) {
        struct inside i = inside(&resources[k]);
        if (resources[k].type != CU_DEV_RESOURCE_TYPE_SM)
            return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        if (i.magic != MAGIC || i.device >= g.ndevices || !i.count)
            return CUDA_ERROR_INVALID_VALUE;
        if (k && (i.device != all.device || i.first != all.first + all.count))
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        all.count += k ? i.count : 0;
    }
    const CUdevResource resource = sm_resource(&g.devices[all.device], all.first, all.count);
    struct desc *d;
    CUresult e = desc_of(&resource, &d);
    if (e == CUDA_SUCCESS)
        *phDesc = HANDLE(CUdevResourceDesc, d);
    return e;
}

/* ---- contexts --------------------------------------------------------------------------------------------------------------------- */

static void
green_finish(struct obj *o)
{
    struct green *x = (struct green *)o;
    primary_unpin(x->c);
    free(x);
}

static const struct obj_class green_class = { .kind = KIND_GREEN, .finish = green_finish };

#define GREEN(x, h)                                                                                                    \
    READY();                                                                                                           \
    struct green *x AUTO_PUT = handle_get(h, KIND_GREEN);                                                              \
    if (!x)                                                                                                            \
        return CUDA_ERROR_INVALID_CONTEXT

CUresult
drv_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
    static _Atomic uint64_t next_id = 1ull << 32;       /* apart from those of contexts */
    struct device *d;
    CUresult e = device_get(dev, &d);
    if (e != CUDA_SUCCESS)
        return e;
    struct desc *r AUTO_PUT = handle_get(desc, KIND_DESC);
    if (!phCtx || !r || flags != CU_GREEN_CTX_DEFAULT_STREAM || inside(&r->resource).device != (uint32_t)dev)
        return CUDA_ERROR_INVALID_VALUE;
    struct green *x = calloc(1, sizeof *x);
    if (!x)
        return CUDA_ERROR_OUT_OF_MEMORY;
    x->resource = r->resource;
    x->id = atomic_fetch_add(&next_id, 1);
    e = primary_pin(d, &x->c);
    if (e == CUDA_SUCCESS && (e = handle_new(&x->obj, &green_class, NULL)) != CUDA_SUCCESS)
        primary_unpin(x->c);
    if (e != CUDA_SUCCESS) {
        free(x);
        return e;
    }
    *phCtx = HANDLE(CUgreenCtx, x);
    handle_put(&x->obj);
    return CUDA_SUCCESS;
}

CUresult
drv_cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    if (handle_ended(hCtx, KIND_GREEN))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    GREEN(x, hCtx);
    return handle_kill(&x->obj) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

struct ctx *
green_context(CUcontext h)
{
    struct green *x AUTO_PUT = handle_get(h, KIND_GREEN);
    if (!x)
        return NULL;
    ctx_ref(x->c);
    return x->c;
}

CUresult
drv_cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    GREEN(x, hCtx);
    if (!pContext)
        return CUDA_ERROR_INVALID_VALUE;
    *pContext = HANDLE(CUcontext, x);
    return CUDA_SUCCESS;
}

CUresult
drv_cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource, CUdevResourceType type)
{
    GREEN(x, hCtx);
    CUresult e = resource ? resource_type(type) : CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        *resource = x->resource;
    return e;
}

CUresult
drv_cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource, CUdevResourceType type)
{
    struct ctx *c;
    if (!hCtx)
        return CUDA_ERROR_INVALID_CONTEXT;      /* not the current one (driver 580) */
    CUresult e = ctx_from_handle(hCtx, &c);
    if (e != CUDA_SUCCESS)
        return e;
    struct green *x AUTO_PUT = handle_get(hCtx, KIND_GREEN);
    e = resource ? resource_type(type) : CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        *resource = x ? x->resource : sm_resource(c->dev, 0, c->dev->props.multiprocessors);
    ctx_unref(c);
    return e;
}

CUresult
drv_cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId)
{
    GREEN(x, greenCtx);
    if (!greenCtxId)
        return CUDA_ERROR_INVALID_VALUE;
    *greenCtxId = x->id;
    return CUDA_SUCCESS;
}

CUresult
drv_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority)
{
    GREEN(x, greenCtx);
    if (!phStream || flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    struct stream *s;
    CUresult e = stream_make(x->c, flags, priority, x->obj.handle, false, &s);
    if (e == CUDA_SUCCESS) {
        *phStream = HANDLE(CUstream, s);
        handle_put(&s->obj);
    }
    return e;
}

/* ---- events of all streams of a context, or of a green one ------------------------------------------------------------------------------- */

/* `wait`: each stream waits for the event; else the event is recorded behind all of them, in a stream of its own. */
static CUresult
all_streams(struct ctx *c, uint64_t green, CUevent h, bool wait)
{
    struct event *ev AUTO_PUT = handle_get(h, KIND_EVENT);
    if (!ev)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ev->ipc || (!wait && ev->obj.ctx != c))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult e = capture_context(c);
    if (e != CUDA_SUCCESS)
        return e;
    const struct cwb_backend *b = c->b;
    struct cwb_stream *meet = NULL;
    struct cwb_event *join = NULL;
    if (!wait) {
        e = result_of(b->stream_create(c->be, 0, &meet));
        if (e == CUDA_SUCCESS)
            e = result_of(b->event_create(c->be, 0, &join));
    }
    pthread_mutex_lock(&c->order);
    if (e == CUDA_SUCCESS && atomic_load(&c->dead))
        e = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    for (const struct stream *s = c->streams; s && e == CUDA_SUCCESS; s = s->next) {
        if (green && s->green != green)
            continue;
        if (wait) {
            e = atomic_load(&ev->recorded) ? result_of(b->stream_wait_event(s->be, ev->be)) : CUDA_SUCCESS;
            continue;
        }
        e = result_of(b->event_record(join, s->be));
        if (e == CUDA_SUCCESS)
            e = result_of(b->stream_wait_event(meet, join));    /* which keeps this record when the next replaces it */
    }
    if (e == CUDA_SUCCESS && !wait && (e = result_of(b->event_record(ev->be, meet))) == CUDA_SUCCESS) {
        event_recorded(ev);
        ev->behind.n = 0;
    }
    pthread_mutex_unlock(&c->order);
    if (join)
        b->event_destroy(join);
    if (meet)
        b->stream_destroy(meet);        /* its work still runs */
    return e;
}

static CUresult
of_context(CUcontext h, CUevent event, bool wait)
{
    struct ctx *c;
    CUresult e = h ? ctx_from_handle(h, &c) : CUDA_ERROR_INVALID_CONTEXT;       /* never the current one */
    if (e != CUDA_SUCCESS)
        return e;
    e = ctx_error(c);
    if (e == CUDA_SUCCESS)
        e = all_streams(c, handle_kind(h) == KIND_GREEN ? (uintptr_t)h : 0, event, wait);
    ctx_unref(c);
    return e;
}

CUresult
drv_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    return of_context(hCtx, hEvent, false);
}

CUresult
drv_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    return of_context(hCtx, hEvent, true);
}

CUresult
drv_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    GREEN(x, hCtx);
    return of_context(HANDLE(CUcontext, x), hEvent, false);
}

CUresult
drv_cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    GREEN(x, hCtx);
    return of_context(HANDLE(CUcontext, x), hEvent, true);
}
