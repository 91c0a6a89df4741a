/* SPDX-License-Identifier: Apache-2.0
 * CUDA arrays and mipmapped arrays: descriptors are checked here, storage is the backend's. A level of a mipmapped array is an
 * array object that keeps the whole alive. */
#include "impl/driver/driver.h"

#include <stdlib.h>

CUresult
format_of(CUarray_format f, enum cwb_format *out, uint32_t *bytes)
{
    switch ((int)f) {
    case CU_AD_FORMAT_UNSIGNED_INT8:  *out = CWB_FORMAT_U8; *bytes = 1; return CUDA_SUCCESS;
    case CU_AD_FORMAT_UNSIGNED_INT16: *out = CWB_FORMAT_U16; *bytes = 2; return CUDA_SUCCESS;
    case CU_AD_FORMAT_UNSIGNED_INT32: *out = CWB_FORMAT_U32; *bytes = 4; return CUDA_SUCCESS;
    case CU_AD_FORMAT_SIGNED_INT8:    *out = CWB_FORMAT_S8; *bytes = 1; return CUDA_SUCCESS;
    case CU_AD_FORMAT_SIGNED_INT16:   *out = CWB_FORMAT_S16; *bytes = 2; return CUDA_SUCCESS;
    case CU_AD_FORMAT_SIGNED_INT32:   *out = CWB_FORMAT_S32; *bytes = 4; return CUDA_SUCCESS;
    case CU_AD_FORMAT_HALF:           *out = CWB_FORMAT_F16; *bytes = 2; return CUDA_SUCCESS;
    case CU_AD_FORMAT_FLOAT:          *out = CWB_FORMAT_F32; *bytes = 4; return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* How many channels an array of one of the other formats must have. 0: no array has the format. */
static unsigned
channels_of(CUarray_format f)
{
    if (f >= CU_AD_FORMAT_UNORM_INT8X1 && f <= CU_AD_FORMAT_SNORM_INT16X4)
        return 1u << (f - CU_AD_FORMAT_UNORM_INT8X1) % 3;
    if (f == CU_AD_FORMAT_UNORM_INT_101010_2 || (f >= CU_AD_FORMAT_BC1_UNORM && f <= CU_AD_FORMAT_BC3_UNORM_SRGB) || f == CU_AD_FORMAT_BC7_UNORM ||
        f == CU_AD_FORMAT_BC7_UNORM_SRGB)
        return 4;
    return f == CU_AD_FORMAT_BC4_UNORM || f == CU_AD_FORMAT_BC4_SNORM ? 1 : f == CU_AD_FORMAT_BC5_UNORM || f == CU_AD_FORMAT_BC5_SNORM ? 2 : 0;
}

static void
array_finish(struct obj *o)
{
    struct array *a = (struct array *)o;
    if (a->parent)
        handle_put(&a->parent->obj);
    else
        o->ctx->b->array_destroy(a->be);
    free(a);
}

/* A level's storage is that of its mipmapped array, whose reference goes at once. */
static const struct obj_class array_class = { .kind = KIND_ARRAY, .finish = array_finish, .quiesce = true };
static const struct obj_class level_class = { .kind = KIND_ARRAY, .finish = array_finish };

static CUresult
check_desc(struct ctx *c, const CUDA_ARRAY3D_DESCRIPTOR *d, struct cwb_array_desc *out)
{
    enum cwb_format f;
    uint32_t bytes;
    /* A depth texture and a colour attachment are of arrays in external memory. */
    const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_SPARSE |
                           CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
    if (!(c->b->caps & CWB_CAP_TEXTURES))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (d->Flags & ~known || !d->Width || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    bool plain = format_of(d->Format, &f, &bytes) == CUDA_SUCCESS;
    if (!plain && channels_of(d->Format) != d->NumChannels) {
        cw_warn("array format 0x%x is not known, or not with %u channels", (unsigned)d->Format, d->NumChannels);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (d->Flags & CUDA_ARRAY3D_SPARSE && d->Flags & CUDA_ARRAY3D_SURFACE_LDST)
        return CUDA_ERROR_INVALID_VALUE;
    bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    if (!d->Height && d->Depth && !layered)
        return CUDA_ERROR_INVALID_VALUE;
    if (layered && !d->Depth)
        return CUDA_ERROR_INVALID_VALUE;
    if (cube && (d->Width != d->Height || (layered ? d->Depth % 6 : d->Depth != 6)))
        return CUDA_ERROR_INVALID_VALUE;
    if (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && (!d->Height || d->Depth))
        return CUDA_ERROR_INVALID_VALUE;
    /* The limits that device.c reports. */
    size_t w = 131072, h = 65536, z = 16384;
    if (cube)
        w = h = 32768, z = 2046;
    else if (layered)
        w = h = 32768, z = 2048;
    else if (d->Depth)
        w = h = 16384, z = 32768;
    if (d->Depth && !layered && !cube && d->Flags & CUDA_ARRAY3D_SURFACE_LDST)
        z = 16384;
    if (d->Width > w || d->Height > h || d->Depth > z)
        return CUDA_ERROR_INVALID_VALUE;
    if (!plain) {
        cw_warn("array format 0x%x is not supported", (unsigned)d->Format);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
        return unsupported("cuArray3DCreate", "a sparse or deferred array");
    *out = (struct cwb_array_desc){
        .width = d->Width, .height = d->Height, .depth = d->Depth, .format = f, .channels = d->NumChannels, .levels = 1,
        .flags = (layered ? CWB_ARRAY_LAYERED : 0) | (cube ? CWB_ARRAY_CUBEMAP : 0) |
                 (d->Flags & CUDA_ARRAY3D_SURFACE_LDST ? CWB_ARRAY_SURFACE : 0) |
                 (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER ? CWB_ARRAY_GATHER : 0),
    };
    return CUDA_SUCCESS;
}

CUresult
drv_cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    USABLE(c);
    CAPTURE_SAFE();
    struct cwb_array_desc d;
    if (!pHandle || !pAllocateArray)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = check_desc(c, pAllocateArray, &d);
    if (e != CUDA_SUCCESS)
        return e;
    objects_try(c);
    struct array *a = calloc(1, sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t bytes = 0;
    a->desc = *pAllocateArray;
    (void)format_of(a->desc.Format, &a->format, &bytes);
    a->element = bytes * a->desc.NumChannels;
    e = result_of(c->b->array_create(c->be, &d, &a->be));
    if (e == CUDA_SUCCESS) {
        e = handle_new(&a->obj, &array_class, c);
        if (e != CUDA_SUCCESS)
            c->b->array_destroy(a->be);
    }
    if (e != CUDA_SUCCESS) {
        free(a);
        return e;
    }
    *pHandle = HANDLE(CUarray, a);
    handle_put(&a->obj);
    return CUDA_SUCCESS;
}

CUresult
drv_cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    if (!pAllocateArray)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR d = { .Width = pAllocateArray->Width, .Height = pAllocateArray->Height, .Format = pAllocateArray->Format,
                                  .NumChannels = pAllocateArray->NumChannels };
    return drv_cuArray3DCreate_v2(pHandle, &d);
}

CUresult
drv_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CURRENT(c);
    struct array *a AUTO_PUT = handle_get(hArray, KIND_ARRAY);
    if (!a)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!pArrayDescriptor)
        return CUDA_ERROR_INVALID_VALUE;
    *pArrayDescriptor = a->desc;
    return CUDA_SUCCESS;
}

CUresult
drv_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult e = drv_cuArray3DGetDescriptor_v2(&d, hArray);
    if (e != CUDA_SUCCESS)
        return e;
    if (!pArrayDescriptor)
        return CUDA_ERROR_INVALID_VALUE;
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){ .Width = d.Width, .Height = d.Height, .Format = d.Format, .NumChannels = d.NumChannels };
    return CUDA_SUCCESS;
}

CUresult
drv_cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
    CURRENT(c);
    struct array *a AUTO_PUT = handle_get(hArray, KIND_ARRAY);
    return a ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;    /* no multi-planar format can be created */
}

/* No sparse array and none with deferred mapping can be created; of others neither is a question. Driver 580 needs no
 * current context for the answer. */

static CUresult
no_such_array(CUarray h, const void *out)
{
    READY();
    struct array *a AUTO_PUT = handle_get(h, KIND_ARRAY);
    return out && !a ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
}

static CUresult
no_such_mipmap(CUmipmappedArray h, const void *out)
{
    READY();
    struct mipmap *m AUTO_PUT = handle_get(h, KIND_MIPMAP);
    return out && !m ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array)
{
    return no_such_array(array, sparseProperties);
}

CUresult
drv_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUmipmappedArray mipmap)
{
    return no_such_mipmap(mipmap, sparseProperties);
}

CUresult
drv_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUarray array, CUdevice device)
{
    struct device *d;
    CUresult e = device_get(device, &d);
    return e == CUDA_SUCCESS ? no_such_array(array, memoryRequirements) : e;
}

CUresult
drv_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUmipmappedArray mipmap, CUdevice device)
{
    struct device *d;
    CUresult e = device_get(device, &d);
    return e == CUDA_SUCCESS ? no_such_mipmap(mipmap, memoryRequirements) : e;
}

CUresult
drv_cuArrayDestroy(CUarray hArray)
{
    CURRENT(c);
    CAPTURE_SAFE();
    struct array *a = handle_get(hArray, KIND_ARRAY);
    if (!a)
        return CUDA_ERROR_INVALID_HANDLE;
    if (a->parent) {                    /* a level is the mipmapped array's */
        handle_put(&a->obj);
        return CUDA_SUCCESS;
    }
    return object_destroy(&a->obj, true, NULL);
}

/* ---- mipmapped arrays ---------------------------------------------------------------------------------------------------- */

static void
mipmap_finish(struct obj *o)
{
    struct mipmap *m = (struct mipmap *)o;
    o->ctx->b->array_destroy(m->be);
    free(m);
}

static bool
mipmap_end(struct obj *o)
{
    struct mipmap *m = (struct mipmap *)o;
    struct ctx *c = o->ctx;
    struct array *level[COUNT(m->level)];
    if (!handle_kill(o))
        return false;
    pthread_mutex_lock(&c->lock);
    m->ended = true;
    memcpy(level, m->level, sizeof level);
    memset(m->level, 0, sizeof m->level);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < COUNT(level); i++) {
        if (level[i]) {
            handle_kill(&level[i]->obj);
            handle_put(&level[i]->obj);
        }
    }
    return true;
}

static const struct obj_class mipmap_class = { .kind = KIND_MIPMAP, .finish = mipmap_finish, .end = mipmap_end, .quiesce = true };

CUresult
drv_cuMipmappedArrayCreate(CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc, unsigned int numMipmapLevels)
{
    USABLE(c);
    CAPTURE_SAFE();
    struct cwb_array_desc d;
    if (!pHandle || !pMipmappedArrayDesc)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = check_desc(c, pMipmappedArrayDesc, &d);
    if (e != CUDA_SUCCESS)
        return e;
    size_t most = d.width > d.height ? d.width : d.height;
    if (!(d.flags & (CWB_ARRAY_LAYERED | CWB_ARRAY_CUBEMAP)) && d.depth > most)
        most = d.depth;
    unsigned levels = 0;
    while (most >> levels)
        levels++;                       /* floor(log2(most)) + 1 */
    objects_try(c);
    struct mipmap *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (levels > COUNT(m->level))
        levels = COUNT(m->level);
    d.levels = m->levels = numMipmapLevels < 1 ? 1 : numMipmapLevels > levels ? levels : numMipmapLevels;
    m->desc = *pMipmappedArrayDesc;
    e = result_of(c->b->array_create(c->be, &d, &m->be));
    if (e == CUDA_SUCCESS) {
        e = handle_new(&m->obj, &mipmap_class, c);
        if (e != CUDA_SUCCESS)
            c->b->array_destroy(m->be);
    }
    if (e != CUDA_SUCCESS) {
        free(m);
        return e;
    }
    *pHandle = HANDLE(CUmipmappedArray, m);
    handle_put(&m->obj);
    return CUDA_SUCCESS;
}

static size_t
halve(size_t v, unsigned times)
{
    v >>= times;
    return v ? v : 1;
}

CUresult
drv_cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level)
{
    USABLE(c);
    struct mipmap *m AUTO_PUT = handle_get(hMipmappedArray, KIND_MIPMAP);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!pLevelArray || level >= m->levels)
        return CUDA_ERROR_INVALID_VALUE;
    struct ctx *mc = m->obj.ctx;
    CUarray have = NULL;
    pthread_mutex_lock(&mc->lock);
    if (m->level[level])
        have = HANDLE(CUarray, m->level[level]);
    pthread_mutex_unlock(&mc->lock);
    if (!have) {
        uint32_t bytes = 0;
        struct array *a = calloc(1, sizeof *a);
        if (!a)
            return CUDA_ERROR_OUT_OF_MEMORY;
        a->desc = m->desc;
        a->desc.Width = halve(m->desc.Width, level);
        a->desc.Height = m->desc.Height ? halve(m->desc.Height, level) : 0;
        if (!(m->desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
            a->desc.Depth = m->desc.Depth ? halve(m->desc.Depth, level) : 0;
        (void)format_of(a->desc.Format, &a->format, &bytes);
        a->element = bytes * a->desc.NumChannels;
        a->be = m->be;
        a->level = level;
        a->parent = m;
        handle_ref(&m->obj);
        CUresult e = handle_new(&a->obj, &level_class, mc);
        if (e != CUDA_SUCCESS) {
            handle_put(&m->obj);
            free(a);
            return e;
        }
        bool kept = false;
        pthread_mutex_lock(&mc->lock);
        if (!m->ended && !m->level[level]) {
            m->level[level] = a;        /* with the reference from above */
            kept = true;
        }
        if (m->level[level])
            have = HANDLE(CUarray, m->level[level]);
        pthread_mutex_unlock(&mc->lock);
        if (!kept) {                    /* another thread was faster */
            handle_kill(&a->obj);
            handle_put(&a->obj);
        }
    }
    if (!have)
        return CUDA_ERROR_INVALID_HANDLE;
    *pLevelArray = have;
    return CUDA_SUCCESS;
}

CUresult
drv_cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    CURRENT(c);
    struct mipmap *m = handle_get(hMipmappedArray, KIND_MIPMAP);
    if (!m)
        return CUDA_ERROR_INVALID_HANDLE;
    return object_destroy(&m->obj, true, NULL);
}
