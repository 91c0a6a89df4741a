/* SPDX-License-Identifier: Apache-2.0
 * The primary context of each device ("Primary Context Management"). It keeps one handle for the life of the process; the instance behind it is made
 * when somebody retains it, and ends with the last release or a reset. */
#include "impl/driver/driver.h"

#include <stdlib.h>

struct primary {
    struct obj obj;                     /* KIND_PRIMARY, never freed */
    CUdevice device;
    struct device *dev;
    pthread_mutex_t making;             /* held while the instance is made */
    pthread_mutex_t lock;
    uint32_t retained;                  /* lock */
    uint32_t pins;                      /* lock: of this instance */
    unsigned flags;                     /* lock */
    struct ctx *ctx;                    /* lock: owned reference; NULL while inactive */
};

static const struct obj_class primary_class = { .kind = KIND_PRIMARY };       /* keeps its handle */

CUresult
primary_setup(struct device *d, CUdevice number)
{
    if (d->primary)             /* of an earlier attempt, which failed later */
        return CUDA_SUCCESS;
    struct primary *p = calloc(1, sizeof *p);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    p->device = number;
    p->dev = d;
    pthread_mutex_init(&p->making, NULL);
    pthread_mutex_init(&p->lock, NULL);
    CUresult e = handle_new(&p->obj, &primary_class, NULL);     /* both references are kept for ever */
    if (e == CUDA_SUCCESS)
        d->primary = p;
    else
        free(p);
    return e;
}

/* A reference to the live instance, or NULL. */
static struct ctx *
primary_ctx(struct primary *p)
{
    pthread_mutex_lock(&p->lock);
    struct ctx *c = p->ctx;
    if (c)
        ctx_ref(c);
    pthread_mutex_unlock(&p->lock);
    return c;
}

static struct primary *
primary_of(CUcontext h)
{
    struct primary *p = handle_get(h, KIND_PRIMARY);
    if (p)
        handle_put(&p->obj);            /* lives for ever */
    return p;
}

bool
primary_find(CUcontext h, struct ctx **out)
{
    struct primary *p = primary_of(h);
    if (p)
        *out = primary_ctx(p);
    return p;
}

bool
primary_facts(CUcontext h, CUdevice *device, unsigned *flags)
{
    struct primary *p = primary_of(h);
    if (!p)
        return false;
    *device = p->device;
    pthread_mutex_lock(&p->lock);
    *flags = p->flags;
    pthread_mutex_unlock(&p->lock);
    return true;
}

CUcontext
primary_handle(const struct device *d)
{
    return HANDLE(CUcontext, d->primary);
}

/* The instance, made if there is none, with one more in *uses. *out, unless NULL, gets a reference to it. */
static CUresult
primary_use(struct primary *p, uint32_t *uses, struct ctx **out)
{
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&p->making);
    pthread_mutex_lock(&p->lock);
    if (!p->ctx) {
        const unsigned flags = p->flags;
        struct ctx *c;
        pthread_mutex_unlock(&p->lock);
        e = ctx_create(p->device, flags, 3020, true, &c);
        pthread_mutex_lock(&p->lock);
        if (e == CUDA_SUCCESS) {
            c->handle = HANDLE(CUcontext, p);
            if (p->flags != flags)      /* set meanwhile */
                c->flags = p->flags;
            p->ctx = c;
        }
    }
    if (e == CUDA_SUCCESS) {
        ++*uses;
        if (out)
            ctx_ref(*out = p->ctx);
    }
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_unlock(&p->making);
    return e;
}

CUresult
primary_pin(struct device *d, struct ctx **out)
{
    return primary_use(d->primary, &d->primary->pins, out);
}

/* That of device `dev`. */
#define PRIMARY(p, dev)                                                                                                \
    struct primary *p;                                                                                                 \
    do {                                                                                                               \
        struct device *d_;                                                                                             \
        CUresult r_ = device_get(dev, &d_);                                                                            \
        if (r_ != CUDA_SUCCESS)                                                                                        \
            return r_;                                                                                                 \
        p = d_->primary;                                                                                               \
    } while (0)

CUresult
drv_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    PRIMARY(p, dev);
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = primary_use(p, &p->retained, NULL);
    if (e == CUDA_SUCCESS)
        *pctx = HANDLE(CUcontext, p);
    return e;
}

/* c: the instance, or NULL. p->lock is not held. */
static void
primary_end(struct ctx *c)
{
    if (c) {
        ctx_kill(c);
        ctx_unref(c);
    }
}

void
primary_unpin(struct ctx *c)
{
    struct primary *p = c->dev->primary;
    struct ctx *end = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->ctx == c && --p->pins == 0 && !p->retained) {
        end = c;
        p->ctx = NULL;
    }
    pthread_mutex_unlock(&p->lock);
    primary_end(end);
    ctx_unref(c);
}

CUresult
drv_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    PRIMARY(p, dev);
    CUresult e = CUDA_SUCCESS;
    struct ctx *end = NULL;
    pthread_mutex_lock(&p->lock);
    if (!p->retained) {
        e = CUDA_ERROR_INVALID_CONTEXT;
    } else if (--p->retained == 0 && !p->pins) {
        end = p->ctx;
        p->ctx = NULL;
    }
    pthread_mutex_unlock(&p->lock);
    primary_end(end);
    return e;
}

CUresult
drv_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return drv_cuDevicePrimaryCtxRelease_v2(dev);
}

/* What has been retained stays so, and is released one by one as before (driver 580). */
CUresult
drv_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    PRIMARY(p, dev);
    pthread_mutex_lock(&p->lock);
    struct ctx *end = p->ctx;
    p->ctx = NULL;
    p->pins = 0;
    p->flags = 0;
    pthread_mutex_unlock(&p->lock);
    primary_end(end);
    return CUDA_SUCCESS;
}

CUresult
drv_cuDevicePrimaryCtxReset(CUdevice dev)
{
    return drv_cuDevicePrimaryCtxReset_v2(dev);
}

CUresult
drv_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    PRIMARY(p, dev);
    if (!ctx_flags_valid(flags) || (flags & CU_CTX_MAP_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&p->lock);
    p->flags = flags;
    if (p->ctx) {
        pthread_mutex_lock(&p->ctx->lock);
        p->ctx->flags = flags;
        pthread_mutex_unlock(&p->ctx->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return drv_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult
drv_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    PRIMARY(p, dev);
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&p->lock);
    const unsigned f = p->flags;
    const bool is_active = p->ctx;
    pthread_mutex_unlock(&p->lock);
    *flags = f;
    *active = is_active;
    return CUDA_SUCCESS;
}
