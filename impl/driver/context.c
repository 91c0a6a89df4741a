/* SPDX-License-Identifier: Apache-2.0
 * Contexts and their per-thread stacks. A thread's stack holds references, so a context that another thread destroys stays
 * in memory, marked dead, until nobody has it current. Primary contexts are in primary.c. */
#include "impl/driver/driver.h"

#include <stdlib.h>

struct entry {
    CUcontext handle;
    struct ctx *c;                      /* owned reference; NULL: a primary context that was inactive when it was made current */
};

static __thread struct {
    struct entry *stack;
    uint32_t count, capacity;
    bool registered;
} tls;

static pthread_key_t thread_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t next_id = 1;

static void
drop_top(void)
{
    struct ctx *c = tls.stack[--tls.count].c;
    if (c)
        ctx_unref(c);
}

static void
thread_exit(void *unused)
{
    thread_streams_release();
    while (tls.count && driver_state() == CUDA_SUCCESS)     /* see thread_streams_release */
        drop_top();
    struct entry *stack = tls.stack;
    tls.count = tls.capacity = 0;
    tls.stack = NULL;
    tls.registered = false;             /* a later destructor of the thread, or the program's free, may make one current again */
    free(stack);
}

static void
make_key(void)
{
    pthread_key_create(&thread_key, thread_exit);
}

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ctx *live;                /* contexts_lock */

static void
contexts_add(struct ctx *c)
{
    pthread_mutex_lock(&contexts_lock);
    c->next_live = live;
    live = c;
    pthread_mutex_unlock(&contexts_lock);
}

static void
contexts_remove(const struct ctx *c)
{
    pthread_mutex_lock(&contexts_lock);
    for (struct ctx **l = &live; *l; l = &(*l)->next_live) {
        if (*l == c) {
            *l = c->next_live;
            break;
        }
    }
    pthread_mutex_unlock(&contexts_lock);
}

/* The live context with the lowest number above `id`, with a reference, or NULL. */
static struct ctx *
context_after(uint64_t id)
{
    struct ctx *found = NULL;
    pthread_mutex_lock(&contexts_lock);
    for (struct ctx *c = live; c; c = c->next_live)
        if (c->id > id && (!found || c->id < found->id))
            found = c;
    if (found)
        ctx_ref(found);                 /* until it has ended, who ends it has one */
    pthread_mutex_unlock(&contexts_lock);
    return found;
}

bool
context_lives(uint64_t id)
{
    pthread_mutex_lock(&contexts_lock);
    const struct ctx *c = live;
    while (c && c->id != id)
        c = c->next_live;
    pthread_mutex_unlock(&contexts_lock);
    return c != NULL;
}

void
contexts_settle(const struct ctx *c)
{
    uint64_t id = 0;
    for (struct ctx *x; (x = context_after(id)); ctx_unref(x)) {
        id = x->id;
        if (x == c)
            continue;
        pthread_mutex_lock(&x->order);  /* who found the memory before has submitted */
        pthread_mutex_unlock(&x->order);
        (void)x->b->context_sync(x->be);
    }
}

bool
contexts_settled(const struct ctx *c)
{
    uint64_t id = 0;
    bool all = true;
    for (struct ctx *x; all && (x = context_after(id)); ctx_unref(x)) {
        id = x->id;
        all = x == c || streams_settled(x);
    }
    return all;
}

void
ctx_ref(struct ctx *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void
ctx_unref(struct ctx *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (c->be)
        objects_collect(c);
    if (c->legacy_event)
        c->b->event_destroy(c->legacy_event);
    if (c->be)
        c->b->context_destroy(c->be);
    host_thread_unref(c->host);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->order);
    free(c);
}

/* The handle's slot of a created context owns one reference to it. */
static void
ctx_finish(struct obj *o)
{
    ctx_unref((struct ctx *)((char *)o - offsetof(struct ctx, obj)));
}

static const struct obj_class context_class = { .kind = KIND_CONTEXT, .finish = ctx_finish };

CUresult
ctx_create(CUdevice device, unsigned flags, unsigned version, bool primary, struct ctx **out)
{
    struct device *d;
    CUresult e = device_get(device, &d);
    if (e != CUDA_SUCCESS)
        return e;
    struct ctx *c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_init(&c->refs, 1);
    c->device = device;
    c->dev = d;
    c->b = d->b;
    c->version = version;
    c->flags = flags & CU_CTX_USER_COREDUMP_ENABLE ? (flags & ~(unsigned)CU_CTX_USER_COREDUMP_ENABLE) | CU_CTX_COREDUMP_ENABLE : flags;  /* driver 580 */
    c->primary = primary;
    c->id = atomic_fetch_add(&next_id, 1);
    c->attached = 1;
    c->limits[CU_LIMIT_STACK_SIZE] = 1024;
    c->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    c->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    c->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    c->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    c->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->order, NULL);
    c->host = host_thread_create();
    e = c->host ? result_of(c->b->context_create(d->index, &c->be)) : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS)
        e = result_of(c->b->event_create(c->be, 0, &c->legacy_event));
    struct stream *s = NULL;
    if (e == CUDA_SUCCESS)
        e = stream_make(c, 0, 0, 0, true, &s);
    if (e == CUDA_SUCCESS)
        handle_put(&s->obj);
    if (e == CUDA_SUCCESS && !primary) {
        ctx_ref(c);                     /* the table's */
        e = handle_new(&c->obj, &context_class, NULL);
        if (e == CUDA_SUCCESS) {
            c->handle = HANDLE(CUcontext, c);
            handle_put(&c->obj);
        } else {
            ctx_unref(c);
            ctx_kill(c);
        }
    }
    if (e != CUDA_SUCCESS) {
        ctx_unref(c);
        return e;
    }
    contexts_add(c);
    *out = c;
    return CUDA_SUCCESS;
}

/* Closed first, so that nothing comes in behind what follows: then its work, its objects, its memory. */
void
ctx_kill(struct ctx *c)
{
    if (!objects_close(c))
        return;
    ranges_fence();
    (void)memory_settle(c);
    objects_end(c);
    texobjects_release(c);
    locals_release(c);
    struct range r;
    uint64_t base = UINT64_MAX;
    while (range_remove_of(c, &base, &r))
        (void)memory_release(&r);
    pools_context_end(c);
    objects_collect(c);
    contexts_remove(c);
}

/* ---- current context ---------------------------------------------------------------------------------------------------- */

CUresult
ctx_current(struct ctx **out)
{
    READY();
    if (!tls.count)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct entry *top = &tls.stack[tls.count - 1];
    if (!top->c || atomic_load_explicit(&top->c->dead, memory_order_acquire)) {
        struct ctx *now;
        if (!primary_find(top->handle, &now) || !now)
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (top->c)
            ctx_unref(top->c);
        top->c = now;
    }
    *out = top->c;
    return CUDA_SUCCESS;
}

CUcontext
ctx_current_handle(void)
{
    return tls.count ? tls.stack[tls.count - 1].handle : NULL;
}

CUresult
ctx_usable(struct ctx **out)
{
    CUresult e = ctx_current(out);
    return e == CUDA_SUCCESS ? ctx_error(*out) : e;
}

CUresult
ctx_from_handle(CUcontext h, struct ctx **out)
{
    READY();
    if (!h) {
        CUresult e = ctx_current(out);
        if (e == CUDA_SUCCESS)
            ctx_ref(*out);
        return e;
    }
    if (primary_find(h, out))
        return *out ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = green_context(h);
    if (*out)
        return CUDA_SUCCESS;
    struct obj *o = handle_get(h, KIND_CONTEXT);
    if (!o)
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = (struct ctx *)((char *)o - offsetof(struct ctx, obj));
    ctx_ref(*out);
    handle_put(o);
    return CUDA_SUCCESS;
}

bool
thread_list_room(void **list, const uint32_t *count, uint32_t *capacity, size_t size)
{
    while (*count == *capacity) {
        const uint32_t n = *capacity ? *capacity * 2 : 8;
        void *larger = malloc(n * size), *old = larger;
        if (!larger)
            return false;
        if (n > *capacity) {            /* else malloc has grown it, by a call of the program's */
            old = *list;
            if (*count)
                memcpy(larger, old, *count * size);
            *list = larger;
            *capacity = n;
        }
        free(old);
    }
    return true;
}

/* The next push succeeds. */
static CUresult
make_room(void)
{
    return thread_list_room((void **)&tls.stack, &tls.count, &tls.capacity, sizeof *tls.stack) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Takes over the caller's reference, if there is one. */
static CUresult
push(CUcontext handle, struct ctx *c)
{
    CUresult e = make_room();
    if (e != CUDA_SUCCESS) {
        if (c)
            ctx_unref(c);
        return e;
    }
    if (!tls.registered) {
        pthread_once(&key_once, make_key);
        pthread_setspecific(thread_key, &tls);
        tls.registered = true;
    }
    tls.stack[tls.count++] = (struct entry){ handle, c };
    return CUDA_SUCCESS;
}

bool
ctx_flags_valid(unsigned flags)
{
    unsigned sched = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) &&
           (sched == CU_CTX_SCHED_AUTO || sched == CU_CTX_SCHED_SPIN || sched == CU_CTX_SCHED_YIELD || sched == CU_CTX_SCHED_BLOCKING_SYNC);
}

static CUresult
create(CUcontext *pctx, unsigned flags, CUdevice dev, unsigned version)
{
    struct device *d;
    CUresult e = device_get(dev, &d);
    if (e != CUDA_SUCCESS)
        return e;
    if (!pctx || !ctx_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    struct ctx *c;
    e = make_room();                    /* first: a context that cannot be pushed would have to end again */
    if (e == CUDA_SUCCESS)
        e = ctx_create(dev, flags, version, false, &c);
    if (e != CUDA_SUCCESS)
        return e;
    CUcontext h = c->handle;
    e = push(h, c);
    if (e == CUDA_SUCCESS)
        *pctx = h;
    return e;
}

CUresult
drv_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(pctx, flags, dev, 3010);
}

CUresult
drv_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(pctx, flags, dev, 3020);
}

CUresult
drv_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags, CUdevice dev)
{
    if (numParams < 0 || (numParams && !paramsArray))
        return CUDA_ERROR_INVALID_VALUE;
    if (numParams)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create(pctx, flags, dev, 3020);
}

CUresult
drv_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
    if (ctxCreateParams) {
        if (ctxCreateParams->numExecAffinityParams)
            return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
        if (ctxCreateParams->cigParams)
            return unsupported("cuCtxCreate_v4", "sharing with a graphics API");
    }
    return create(pctx, flags, dev, 3020);
}

CUresult
drv_cuCtxDestroy_v2(CUcontext ctx)
{
    READY();
    struct ctx *c;
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (handle_kind(ctx) != KIND_CONTEXT)
        return handle_ended(ctx, KIND_CONTEXT) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    CUresult e = ctx_from_handle(ctx, &c);
    if (e != CUDA_SUCCESS)
        return e;
    if (handle_kill(&c->obj)) {         /* of several threads one ends it */
        if (tls.count && tls.stack[tls.count - 1].c == c)
            drop_top();
        ctx_kill(c);
    } else {
        e = CUDA_ERROR_INVALID_CONTEXT;
    }
    ctx_unref(c);
    return e;
}

CUresult
drv_cuCtxDestroy(CUcontext ctx)
{
    return drv_cuCtxDestroy_v2(ctx);
}

/* A primary context may be made current while it is inactive, and any context after its end (*out is NULL then; so driver 580): calls that
 * need it fail with CUDA_ERROR_CONTEXT_IS_DESTROYED, those of a primary context until it is retained. */
static CUresult
context_for_stack(CUcontext h, struct ctx **out)
{
    *out = NULL;
    CUresult e = ctx_from_handle(h, out);
    if (e == CUDA_ERROR_INVALID_CONTEXT && handle_ended(h, KIND_CONTEXT))
        e = CUDA_SUCCESS;
    return e == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_SUCCESS : e;
}

CUresult
drv_cuCtxPushCurrent_v2(CUcontext ctx)
{
    READY();
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    struct ctx *c;
    CUresult e = context_for_stack(ctx, &c);
    return e == CUDA_SUCCESS ? push(ctx, c) : e;
}

CUresult
drv_cuCtxPushCurrent(CUcontext ctx)
{
    return drv_cuCtxPushCurrent_v2(ctx);
}

CUresult
drv_cuCtxPopCurrent_v2(CUcontext *pctx)
{
    READY();
    if (!tls.count)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (pctx)
        *pctx = tls.stack[tls.count - 1].handle;
    drop_top();
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxPopCurrent(CUcontext *pctx)
{
    return drv_cuCtxPopCurrent_v2(pctx);
}

CUresult
drv_cuCtxSetCurrent(CUcontext ctx)
{
    READY();
    struct ctx *c = NULL;
    if (ctx) {
        CUresult e = context_for_stack(ctx, &c);
        if (e != CUDA_SUCCESS)
            return e;
    }
    if (tls.count)
        drop_top();
    return ctx ? push(ctx, c) : CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetCurrent(CUcontext *pctx)
{
    READY();
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = tls.count ? tls.stack[tls.count - 1].handle : NULL;
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    CURRENT(c);
    if (!pctx || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&c->lock);
    c->attached++;
    pthread_mutex_unlock(&c->lock);
    *pctx = c->handle;
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxDetach(CUcontext ctx)
{
    CURRENT(c);
    if (c->handle != ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&c->lock);
    bool last = --c->attached == 0;
    pthread_mutex_unlock(&c->lock);
    return last ? drv_cuCtxDestroy_v2(ctx) : CUDA_SUCCESS;
}

/* The context that h names (NULL: the current one), with a reference until the function returns. */
#define CONTEXT(c, h)                                                                                                  \
    struct ctx *c __attribute__((cleanup(unref_cleanup))) = NULL;                                                      \
    do { CUresult r_ = ctx_from_handle(h, &c); if (r_ != CUDA_SUCCESS) return r_; } while (0)

static inline void
unref_cleanup(struct ctx **c)
{
    if (*c)
        ctx_unref(*c);
}

/* ---- properties ----------------------------------------------------------------------------------------------------------- */

/* The current context's device, and its flags, are known even when it has ended (driver 580). */
static CUresult
known(CUdevice *device, unsigned *flags)
{
    struct ctx *c;
    CUresult e = ctx_current(&c);
    struct entry *top = e == CUDA_ERROR_CONTEXT_IS_DESTROYED ? &tls.stack[tls.count - 1] : NULL;
    if (e != CUDA_SUCCESS && !top)
        return e;
    if (top && primary_facts(top->handle, device, flags))
        return CUDA_SUCCESS;
    c = top ? top->c : c;
    if (!c)
        return e;
    *device = c->device;
    pthread_mutex_lock(&c->lock);
    *flags = c->flags;
    pthread_mutex_unlock(&c->lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetDevice(CUdevice *device)
{
    CUdevice d = 0;
    unsigned flags;
    CUresult e = known(&d, &flags);
    if (e == CUDA_SUCCESS && !device)
        e = CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        *device = d;
    return e;
}

CUresult
drv_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    CONTEXT(c, ctx);
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = c->device;
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetFlags(unsigned int *flags)
{
    CUdevice device;
    unsigned f = 0;
    CUresult e = known(&device, &f);
    if (e == CUDA_SUCCESS && !flags)
        e = CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        *flags = f;
    return e;
}

/* cuCtxSetFlags takes these and leaves them as they were (driver 580). */
#define FLAGS_OF_CREATION (unsigned)(CU_CTX_MAP_HOST | CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE)

CUresult
drv_cuCtxSetFlags(unsigned int flags)
{
    CURRENT(c);
    if (!ctx_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&c->lock);
    c->flags = (flags & ~FLAGS_OF_CREATION) | (c->flags & FLAGS_OF_CREATION);
    pthread_mutex_unlock(&c->lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    if (!ctxId)
        return CUDA_ERROR_INVALID_VALUE;
    CONTEXT(c, ctx);
    *ctxId = c->id;
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    CONTEXT(c, ctx);
    *version = c->version;
    return CUDA_SUCCESS;
}

static CUresult
synchronize(struct ctx *c)
{
    CUresult e = capture_context(c);
    if (e == CUDA_SUCCESS)
        e = result_of(c->b->context_sync(c->be));
    streams_sweep(c);
    if (e == CUDA_SUCCESS)
        pools_waited(c, NULL);
    pools_trim();
    return e;
}

CUresult
drv_cuCtxSynchronize(void)
{
    CURRENT(c);
    return synchronize(c);
}

CUresult
drv_cuCtxSynchronize_v2(CUcontext ctx)
{
    CONTEXT(c, ctx);
    return synchronize(c);
}

CUresult
drv_cuCtxSetLimit(CUlimit limit, size_t value)
{
    USABLE(c);
    static const int8_t map[] = { CWB_LIMIT_STACK, CWB_LIMIT_PRINTF_FIFO, CWB_LIMIT_MALLOC_HEAP };
    CAPTURE_SAFE();
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED)
        return CUDA_ERROR_NOT_PERMITTED;        /* only asked for (driver 580) */
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || (unsigned)limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return value ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_SUCCESS;
    if ((unsigned)limit < COUNT(map)) {
        if (limit == CU_LIMIT_STACK_SIZE && value > MAX_LOCAL)
            return CUDA_ERROR_INVALID_VALUE;
        if (limit == CU_LIMIT_STACK_SIZE)
            value = value ? (value + 15) & ~(size_t)15 : 16;
        CUresult e = result_of(c->b->context_limit(c->be, (enum cwb_limit)map[limit], value));
        if (e != CUDA_SUCCESS)
            return e;
    }
    pthread_mutex_lock(&c->lock);
    c->limits[limit] = value;
    pthread_mutex_unlock(&c->lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    USABLE(c);
    if (!pvalue || (unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED) {
        *pvalue = 0;
        return CUDA_SUCCESS;
    }
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || (unsigned)limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    pthread_mutex_lock(&c->lock);
    const size_t value = c->limits[limit];
    pthread_mutex_unlock(&c->lock);
    *pvalue = value;
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    USABLE(c);
    if (!pconfig)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&c->lock);
    const CUfunc_cache cache = c->cache;
    pthread_mutex_unlock(&c->lock);
    *pconfig = cache;
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxSetCacheConfig(CUfunc_cache config)
{
    USABLE(c);
    CAPTURE_SAFE();
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&c->lock);
    c->cache = config;
    pthread_mutex_unlock(&c->lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    CURRENT(c);
    if (!pConfig)
        return CUDA_ERROR_INVALID_VALUE;
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;    /* fixed since compute capability 5.0 */
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    CURRENT(c);
    return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult
drv_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    USABLE(c);
    if (leastPriority)
        *leastPriority = 0;
    if (greatestPriority)
        *greatestPriority = -5;
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxResetPersistingL2Cache(void)
{
    CURRENT(c);
    return CUDA_SUCCESS;                /* there is no persisting cache: nothing to reset */
}

CUresult
drv_cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
    CURRENT(c);
    if (!pExecAffinity || (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *pExecAffinity = (CUexecAffinityParam){ .type = type, .param.smCount.val = c->dev->props.multiprocessors };
    return CUDA_SUCCESS;
}

CUresult
drv_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    CURRENT(c);
    if (Flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct ctx *p;
    if (!peerContext || ctx_from_handle(peerContext, &p) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult e = CUDA_SUCCESS;
    uint32_t bit = 1u << p->device;
    if (!device_reaches(c->dev, p->dev))
        e = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    else if (atomic_fetch_or(&c->peers, bit) & bit)
        e = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    else if (c->b->peer_enable && (e = result_of(c->b->peer_enable(c->dev->index, p->dev->index))) != CUDA_SUCCESS)
        atomic_fetch_and(&c->peers, ~bit);
    ctx_unref(p);
    return e;
}

CUresult
drv_cuCtxDisablePeerAccess(CUcontext peerContext)
{
    CURRENT(c);
    struct ctx *p;
    if (!peerContext || ctx_from_handle(peerContext, &p) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    uint32_t bit = 1u << p->device;
    CUresult e = atomic_fetch_and(&c->peers, ~bit) & bit ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    ctx_unref(p);
    return e;
}
