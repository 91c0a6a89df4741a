/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface objects. Their 64-bit values are the backend's; a hash table remembers which exist, with the
 * descriptors that they were made from and a reference to the array. The table's lock is a leaf. One that is destroyed while work is
 * queued, which may use it, is retired (docs/handles.md). */
#include "impl/driver/driver.h"

#include <stdlib.h>

struct texobj {
    struct obj obj;                     /* for its retirement: it has no handle of the table */
    struct texobj *next;
    uint64_t handle;
    bool surface;
    struct ctx *ctx;                    /* owned reference */
    struct obj *resource;               /* owned reference to the array or mipmap, or NULL */
    CUDA_RESOURCE_DESC res;
    CUDA_TEXTURE_DESC tex;
    CUDA_RESOURCE_VIEW_DESC view;
};

#define BUCKETS 256
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct texobj *table[BUCKETS];   /* lock */

static unsigned
bucket(uint64_t h)
{
    return (unsigned)((h * 0x9e3779b97f4a7c15ull) >> 56);
}

/* Into the table, unless its context has ended. */
static bool
insert(struct texobj *t)
{
    if (!ctx_admit(t->ctx))
        return false;
    pthread_mutex_lock(&lock);
    t->next = table[bucket(t->handle)];
    table[bucket(t->handle)] = t;
    pthread_mutex_unlock(&lock);
    ctx_admitted(t->ctx);
    return true;
}

static bool
find(uint64_t h, bool surface, struct texobj *out)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (struct texobj *t = table[bucket(h)]; t && !found; t = t->next) {
        if (t->handle == h && t->surface == surface) {
            *out = *t;
            found = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Gives back all but the reference to its context. */
static void
texobj_finish(struct obj *o)
{
    struct texobj *t = (struct texobj *)o;
    if (t->surface)
        t->ctx->b->surface_destroy(t->ctx->be, t->handle);
    else
        t->ctx->b->texture_destroy(t->ctx->be, t->handle);
    if (t->resource)
        handle_put(t->resource);
    free(t);
}

static const struct obj_class texobj_class = { .finish = texobj_finish, .quiesce = true };

static void
release(struct texobj *t)
{
    struct ctx *c = t->ctx;
    texobj_finish(&t->obj);
    ctx_unref(c);
}

/* Take out the object h, or any of context c when c is given. */
static struct texobj *
take(uint64_t h, bool surface, const struct ctx *c)
{
    pthread_mutex_lock(&lock);
    struct texobj *t = NULL;
    for (unsigned b = c ? 0 : bucket(h); b < BUCKETS && !t; b++) {
        for (struct texobj **l = &table[b]; *l; l = &(*l)->next) {
            if (c ? (*l)->ctx == c : (*l)->handle == h && (*l)->surface == surface) {
                t = *l;
                *l = t->next;
                break;
            }
        }
        if (!c)
            break;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

void
texobjects_release(struct ctx *c)
{
    for (struct texobj *t; (t = take(0, false, c));)
        release(t);
}

static CUresult
publish(struct texobj *t, unsigned long long *out)
{
    uint64_t h = t->handle;
    if (!insert(t)) {
        release(t);
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *out = h;
    return CUDA_SUCCESS;
}

/* Check descriptors and translate them. *resource gets a reference to the array or mipmap. */
static CUresult
translate(struct ctx *c, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *tex, const CUDA_RESOURCE_VIEW_DESC *view,
          struct cwb_texture_desc *d, struct obj **resource)
{
    uint32_t bytes;
    *d = (struct cwb_texture_desc){ 0 };
    *resource = NULL;
    if (!(c->b->caps & CWB_CAP_TEXTURES))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (res->flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (tex->flags & ~(TEXREF_FLAGS | CU_TRSF_SEAMLESS_CUBEMAP) || (unsigned)tex->filterMode > CU_TR_FILTER_MODE_LINEAR ||
        (unsigned)tex->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < COUNT(tex->reserved); i++)
        if (tex->reserved[i])
            return CUDA_ERROR_INVALID_VALUE;
    d->normalized = tex->flags & CU_TRSF_NORMALIZED_COORDINATES;
    d->read_as_integer = tex->flags & CU_TRSF_READ_AS_INTEGER;
    d->srgb = tex->flags & CU_TRSF_SRGB;
    d->seamless_cube = tex->flags & CU_TRSF_SEAMLESS_CUBEMAP;
    d->linear = tex->filterMode == CU_TR_FILTER_MODE_LINEAR;
    d->mip_linear = tex->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    d->max_anisotropy = tex->maxAnisotropy;
    d->mip_bias = tex->mipmapLevelBias;
    d->min_level = tex->minMipmapLevelClamp;
    d->max_level = tex->maxMipmapLevelClamp;
    memcpy(d->border, tex->borderColor, sizeof d->border);
    for (int i = 0; i < 3; i++) {
        static const enum cwb_address map[] = { CWB_ADDRESS_WRAP, CWB_ADDRESS_CLAMP, CWB_ADDRESS_MIRROR, CWB_ADDRESS_BORDER };
        /* Checked below, for the dimensions that the resource has. */
        d->address_mode[i] = (unsigned)tex->addressMode[i] < COUNT(map) ? map[tex->addressMode[i]] : CWB_ADDRESS_CLAMP;
        /* Wrap and mirror need normalized coordinates; without them they mean clamp. */
        if (!d->normalized && (d->address_mode[i] == CWB_ADDRESS_WRAP || d->address_mode[i] == CWB_ADDRESS_MIRROR))
            d->address_mode[i] = CWB_ADDRESS_CLAMP;
    }
    CUresult e = CUDA_SUCCESS;
    const CUDA_ARRAY3D_DESCRIPTOR *desc = NULL;         /* of the array or mipmap */
    unsigned dimensions = 1;
    switch ((int)res->resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
        struct array *a = handle_get(res->res.array.hArray, KIND_ARRAY);
        if (!a)
            return res->res.array.hArray ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
        *resource = &a->obj;
        desc = &a->desc;
        d->kind = CWB_TEX_ARRAY;
        d->array = a->be;
        d->format = a->format;
        d->channels = a->desc.NumChannels;
        d->first_level = d->last_level = a->level;
        d->last_layer = a->desc.Depth ? (uint32_t)a->desc.Depth - 1 : 0;
        break;
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
        struct mipmap *m = handle_get(res->res.mipmap.hMipmappedArray, KIND_MIPMAP);
        if (!m)
            return res->res.mipmap.hMipmappedArray ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
        *resource = &m->obj;
        desc = &m->desc;
        d->kind = CWB_TEX_ARRAY;
        d->array = m->be;
        (void)format_of(m->desc.Format, &d->format, &bytes);
        d->channels = m->desc.NumChannels;
        d->last_level = m->levels - 1;
        d->last_layer = m->desc.Depth ? (uint32_t)m->desc.Depth - 1 : 0;
        break;
    }
    case CU_RESOURCE_TYPE_LINEAR:
        d->kind = CWB_TEX_LINEAR;
        d->address = res->res.linear.devPtr;
        d->size = res->res.linear.sizeInBytes;
        d->channels = res->res.linear.numChannels;
        if (format_of(res->res.linear.format, &d->format, &bytes) || (d->channels != 1 && d->channels != 2 && d->channels != 4))
            return CUDA_ERROR_INVALID_VALUE;
        if (!d->address || !d->size || d->address % 512 || d->size / (bytes * d->channels) > 1u << 28 ||
            !range_covers(d->address, d->size, NULL))
            return CUDA_ERROR_INVALID_VALUE;
        break;
    case CU_RESOURCE_TYPE_PITCH2D: {
        dimensions = 2;
        d->kind = CWB_TEX_PITCH2D;
        d->address = res->res.pitch2D.devPtr;
        d->width = res->res.pitch2D.width;
        d->height = res->res.pitch2D.height;
        d->pitch = res->res.pitch2D.pitchInBytes;
        d->channels = res->res.pitch2D.numChannels;
        if (format_of(res->res.pitch2D.format, &d->format, &bytes) || (d->channels != 1 && d->channels != 2 && d->channels != 4))
            return CUDA_ERROR_INVALID_VALUE;
        size_t row = d->width * bytes * d->channels;
        /* The documented alignment is 512 bytes; 32 is what hardware needs, and ffmpeg's planes have less than 512. */
        if (!d->address || d->address % 32 || !d->width || !d->height || d->width > 131072 || d->height > 65000 || d->pitch < row ||
            d->pitch % 32 || d->pitch > 2097120 || !range_covers(d->address, (d->height - 1) * d->pitch + row, NULL))
            return CUDA_ERROR_INVALID_VALUE;
        break;
    }
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (desc)
        dimensions = desc->Depth && !(desc->Flags & CUDA_ARRAY3D_LAYERED) ? 3 : desc->Height ? 2 : 1;
    for (unsigned i = 0; i < dimensions; i++)
        if ((unsigned)tex->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
            e = CUDA_ERROR_INVALID_VALUE;
    if (tex->flags & CU_TRSF_SEAMLESS_CUBEMAP && !(desc && desc->Flags & CUDA_ARRAY3D_CUBEMAP))
        e = CUDA_ERROR_INVALID_VALUE;
    if (view && desc) {                                 /* one of linear memory is ignored */
        /* X(format, channel format, channels) for the uncompressed views. */
        static const struct { uint8_t view; uint8_t f; } formats[] = {
            { CU_RES_VIEW_FORMAT_UINT_1X8, CWB_FORMAT_U8 }, { CU_RES_VIEW_FORMAT_SINT_1X8, CWB_FORMAT_S8 },
            { CU_RES_VIEW_FORMAT_UINT_1X16, CWB_FORMAT_U16 }, { CU_RES_VIEW_FORMAT_SINT_1X16, CWB_FORMAT_S16 },
            { CU_RES_VIEW_FORMAT_UINT_1X32, CWB_FORMAT_U32 }, { CU_RES_VIEW_FORMAT_SINT_1X32, CWB_FORMAT_S32 },
            { CU_RES_VIEW_FORMAT_FLOAT_1X16, CWB_FORMAT_F16 }, { CU_RES_VIEW_FORMAT_FLOAT_1X32, CWB_FORMAT_F32 },
        };
        static const uint8_t sizes[] = { 1, 2, 4, 1, 2, 4, 2, 4 };
        uint32_t old = sizes[d->format] * d->channels;
        bool known_view = false;
        for (unsigned i = 0; i < COUNT(formats) && !known_view; i++) {
            if (view->format >= formats[i].view && view->format < formats[i].view + 3u) {
                d->format = (enum cwb_format)formats[i].f;
                d->channels = 1u << (view->format - formats[i].view);
                known_view = true;
            }
        }
        /* A compressed view's texels are those of blocks of 4 by 4, of 64 bits or 128. */
        bool small = view->format == CU_RES_VIEW_FORMAT_UNSIGNED_BC1 || view->format == CU_RES_VIEW_FORMAT_UNSIGNED_BC4 ||
                     view->format == CU_RES_VIEW_FORMAT_SIGNED_BC4;
        bool compressed = view->format > CU_RES_VIEW_FORMAT_FLOAT_4X32 && view->format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7;
        uint32_t scale = compressed ? 4 : 1;
        for (unsigned i = 0; i < COUNT(view->reserved); i++)
            if (view->reserved[i])
                e = CUDA_ERROR_INVALID_VALUE;
        /* A layered array's view may have fewer layers. */
        if (view->width != desc->Width * scale || view->height != desc->Height * scale ||
            (view->depth != desc->Depth && !(desc->Flags & CUDA_ARRAY3D_LAYERED && view->depth)))
            e = CUDA_ERROR_INVALID_VALUE;
        if (e != CUDA_SUCCESS) {
            /* said already */
        } else if (!known_view && compressed && old == (small ? 8 : 16)) {
            e = unsupported("cuTexObjectCreate", "a block-compressed view");
        } else if (!known_view || sizes[d->format] * d->channels != old) {
            e = CUDA_ERROR_INVALID_VALUE;
        } else {
            if (view->firstMipmapLevel > view->lastMipmapLevel || view->lastMipmapLevel > d->last_level ||
                view->firstLayer > view->lastLayer || view->lastLayer > d->last_layer)
                e = CUDA_ERROR_INVALID_VALUE;
            d->first_level = view->firstMipmapLevel;
            d->last_level = view->lastMipmapLevel;
            d->first_layer = view->firstLayer;
            d->last_layer = view->lastLayer;
        }
    }
    /* Integers are filtered also when they are read as integers: the documentation rules it out, but hardware does it, and
     * ffmpeg's thumbnail_cuda depends on it. */
    if (e != CUDA_SUCCESS && *resource) {
        handle_put(*resource);
        *resource = NULL;
    }
    return e;
}

CUresult
texture_make(struct ctx *c, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *tex, const CUDA_RESOURCE_VIEW_DESC *view,
             uint64_t *handle, struct obj **resource)
{
    struct cwb_texture_desc d;
    CUresult e = translate(c, res, tex, view, &d, resource);
    if (e != CUDA_SUCCESS)
        return e;
    e = result_of(c->b->texture_create(c->be, &d, handle));
    if (e != CUDA_SUCCESS && *resource) {
        handle_put(*resource);
        *resource = NULL;
    }
    return e;
}

CUresult
drv_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc, const CUDA_TEXTURE_DESC *pTexDesc,
                      const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    USABLE(c);
    if (!pTexObject || !pResDesc || !pTexDesc)
        return CUDA_ERROR_INVALID_VALUE;
    struct texobj *t = calloc(1, sizeof *t);
    if (!t)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = texture_make(c, pResDesc, pTexDesc, pResViewDesc, &t->handle, &t->resource);
    if (e != CUDA_SUCCESS) {
        free(t);
        return e;
    }
    ctx_ref(t->ctx = c);
    t->res = *pResDesc;
    t->tex = *pTexDesc;
    if (pResViewDesc)
        t->view = *pResViewDesc;
    return publish(t, pTexObject);
}

static CUresult
destroy(uint64_t h, bool surface)
{
    CURRENT(c);
    struct texobj *t = take(h, surface, NULL);
    if (!t)
        return CUDA_ERROR_INVALID_VALUE;
    struct ctx *owner = t->ctx;
    if (!ctx_admit(owner)) {            /* its end is under way, and waits for its work as well */
        (void)memory_settle(owner);
        release(t);
        return CUDA_SUCCESS;
    }
    t->obj = (struct obj){ .class = &texobj_class, .ctx = owner };
    object_retire(&t->obj);
    ctx_admitted(owner);
    objects_try(owner);
    ctx_unref(owner);
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexObjectDestroy(CUtexObject texObject)
{
    return destroy(texObject, false);
}

CUresult
drv_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    CURRENT(c);
    struct texobj t;
    if (!pResDesc || !find(texObject, false, &t))
        return CUDA_ERROR_INVALID_VALUE;
    *pResDesc = t.res;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    CURRENT(c);
    struct texobj t;
    if (!pTexDesc || !find(texObject, false, &t))
        return CUDA_ERROR_INVALID_VALUE;
    *pTexDesc = t.tex;
    return CUDA_SUCCESS;
}

CUresult
drv_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc, CUtexObject texObject)
{
    CURRENT(c);
    struct texobj t;
    if (!pResViewDesc || !find(texObject, false, &t))
        return CUDA_ERROR_INVALID_VALUE;
    *pResViewDesc = t.view;
    return CUDA_SUCCESS;
}

CUresult
drv_cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    USABLE(c);
    if (!pSurfObject || !pResDesc || pResDesc->flags || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    if (!(c->b->caps & CWB_CAP_TEXTURES))
        return CUDA_ERROR_NOT_SUPPORTED;
    struct array *a = handle_get(pResDesc->res.array.hArray, KIND_ARRAY);
    if (!a)
        return pResDesc->res.array.hArray ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    struct texobj *t = calloc(1, sizeof *t);
    CUresult e = t ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;           /* driver 580 asks for no CUDA_ARRAY3D_SURFACE_LDST */
    if (e == CUDA_SUCCESS)
        e = result_of(c->b->surface_create(c->be, a->be, a->level, &t->handle));
    if (e != CUDA_SUCCESS) {
        handle_put(&a->obj);
        free(t);
        return e;
    }
    t->surface = true;
    ctx_ref(t->ctx = c);
    t->resource = &a->obj;
    t->res = *pResDesc;
    return publish(t, pSurfObject);
}

CUresult
drv_cuSurfObjectDestroy(CUsurfObject surfObject)
{
    return destroy(surfObject, true);
}

CUresult
drv_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    CURRENT(c);
    struct texobj t;
    if (!pResDesc || !find(surfObject, true, &t))
        return CUDA_ERROR_INVALID_VALUE;
    *pResDesc = t.res;
    return CUDA_SUCCESS;
}
