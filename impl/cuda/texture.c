/* SPDX-License-Identifier: Apache-2.0
 * Arrays, texture and surface objects of the cuda backend. The handles are the real driver's: a kernel passes them to the hardware. */
#include "impl/cuda/cuda.h"

#include <stdlib.h>

static CUarray_format
format_of(enum cwb_format f)
{
    static const CUarray_format map[] = {
        [CWB_FORMAT_U8] = CU_AD_FORMAT_UNSIGNED_INT8, [CWB_FORMAT_U16] = CU_AD_FORMAT_UNSIGNED_INT16,
        [CWB_FORMAT_U32] = CU_AD_FORMAT_UNSIGNED_INT32, [CWB_FORMAT_S8] = CU_AD_FORMAT_SIGNED_INT8,
        [CWB_FORMAT_S16] = CU_AD_FORMAT_SIGNED_INT16, [CWB_FORMAT_S32] = CU_AD_FORMAT_SIGNED_INT32,
        [CWB_FORMAT_F16] = CU_AD_FORMAT_HALF, [CWB_FORMAT_F32] = CU_AD_FORMAT_FLOAT,
    };
    return map[f];
}

/* Resource view formats are numbered in the order of 1, 2 and 4 channels. */
static CUresourceViewFormat
view_of(enum cwb_format f, uint32_t channels)
{
    static const CUresourceViewFormat first[] = {
        [CWB_FORMAT_U8] = CU_RES_VIEW_FORMAT_UINT_1X8, [CWB_FORMAT_U16] = CU_RES_VIEW_FORMAT_UINT_1X16,
        [CWB_FORMAT_U32] = CU_RES_VIEW_FORMAT_UINT_1X32, [CWB_FORMAT_S8] = CU_RES_VIEW_FORMAT_SINT_1X8,
        [CWB_FORMAT_S16] = CU_RES_VIEW_FORMAT_SINT_1X16, [CWB_FORMAT_S32] = CU_RES_VIEW_FORMAT_SINT_1X32,
        [CWB_FORMAT_F16] = CU_RES_VIEW_FORMAT_FLOAT_1X16, [CWB_FORMAT_F32] = CU_RES_VIEW_FORMAT_FLOAT_1X32,
    };
    return (CUresourceViewFormat)((unsigned)first[f] + (channels == 4 ? 2 : channels == 2 ? 1 : 0));
}

cwb_result
cwc_array_create(struct cwb_context *c, const struct cwb_array_desc *d, struct cwb_array **out)
{
    ENTER(c);
    struct cwb_array *a = calloc(1, sizeof *a);
    if (!a)
        return CWB_NOMEM;
    a->c = c;
    a->desc = *d;
    CUDA_ARRAY3D_DESCRIPTOR x = { .Width = d->width, .Height = d->height, .Depth = d->depth, .Format = format_of(d->format),
                                  .NumChannels = d->channels };
    x.Flags = (d->flags & CWB_ARRAY_LAYERED ? CUDA_ARRAY3D_LAYERED : 0u) | (d->flags & CWB_ARRAY_CUBEMAP ? CUDA_ARRAY3D_CUBEMAP : 0u) |
              (d->flags & CWB_ARRAY_SURFACE ? CUDA_ARRAY3D_SURFACE_LDST : 0u) |
              (d->flags & CWB_ARRAY_GATHER ? CUDA_ARRAY3D_TEXTURE_GATHER : 0u);
    CUresult r = d->levels > 1 ? cwc.cuMipmappedArrayCreate(&a->mipmap, &x, d->levels) : cwc.cuArray3DCreate_v2(&a->one, &x);
    if (r != CUDA_SUCCESS) {
        free(a);
        return cwc_result(c, r);
    }
    *out = a;
    return CWB_OK;
}

void
cwc_array_destroy(struct cwb_array *a)
{
    if (!a)
        return;
    if (cwc.cuCtxSetCurrent(a->c->real) == CUDA_SUCCESS)
        (void)cwc_result(a->c, a->mipmap ? cwc.cuMipmappedArrayDestroy(a->mipmap) : cwc.cuArrayDestroy(a->one));
    free(a);
}

cwb_result
cwc_array_level(const struct cwb_array *a, uint32_t level, CUarray *out)
{
    if (a->mipmap)
        return cwc_result(a->c, cwc.cuMipmappedArrayGetLevel(out, a->mipmap, level));
    *out = a->one;
    return level ? CWB_INVALID : CWB_OK;
}

/* The part of the array that the texture reads. A level, a format of its own, or some of the layers need a view. */
static cwb_result
resource(const struct cwb_texture_desc *d, CUDA_RESOURCE_DESC *res, CUDA_RESOURCE_VIEW_DESC *view, bool *viewed)
{
    const struct cwb_array *a = d->array;
    const struct cwb_array_desc *x = &a->desc;
    uint32_t layers = x->flags & (CWB_ARRAY_LAYERED | CWB_ARRAY_CUBEMAP) ? (uint32_t)x->depth : 0;
    bool some_layers = layers && (d->first_layer != 0 || d->last_layer + 1 < layers);
    *viewed = d->format != x->format || d->channels != x->channels || some_layers;
    if (!a->mipmap || (d->first_level == d->last_level && !*viewed)) {
        res->resType = CU_RESOURCE_TYPE_ARRAY;
        cwb_result r = cwc_array_level(a, d->first_level, &res->res.array.hArray);
        if (r != CWB_OK)
            return r;
    } else {
        res->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        res->res.mipmap.hMipmappedArray = a->mipmap;
        *viewed = *viewed || d->first_level || d->last_level + 1 < x->levels;
    }
    if (*viewed)
        *view = (CUDA_RESOURCE_VIEW_DESC){ .format = view_of(d->format, d->channels), .width = x->width, .height = x->height,
            .depth = x->depth, .firstMipmapLevel = d->first_level, .lastMipmapLevel = d->last_level,
            .firstLayer = d->first_layer, .lastLayer = layers ? d->last_layer : 0 };
    return CWB_OK;
}

cwb_result
cwc_texture_create(struct cwb_context *c, const struct cwb_texture_desc *d, uint64_t *handle)
{
    static const CUaddress_mode modes[] = { [CWB_ADDRESS_WRAP] = CU_TR_ADDRESS_MODE_WRAP, [CWB_ADDRESS_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
        [CWB_ADDRESS_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR, [CWB_ADDRESS_BORDER] = CU_TR_ADDRESS_MODE_BORDER };
    ENTER(c);
    CUDA_RESOURCE_DESC res = { 0 };
    CUDA_RESOURCE_VIEW_DESC view;
    CUDA_TEXTURE_DESC tex = { 0 };
    bool viewed = false;
    cwb_result e = CWB_OK;
    switch (d->kind) {
    case CWB_TEX_ARRAY:
        e = resource(d, &res, &view, &viewed);
        break;
    case CWB_TEX_LINEAR:
        res.resType = CU_RESOURCE_TYPE_LINEAR;
        res.res.linear.devPtr = d->address;
        res.res.linear.format = format_of(d->format);
        res.res.linear.numChannels = d->channels;
        res.res.linear.sizeInBytes = d->size;
        break;
    case CWB_TEX_PITCH2D:
        res.resType = CU_RESOURCE_TYPE_PITCH2D;
        res.res.pitch2D.devPtr = d->address;
        res.res.pitch2D.format = format_of(d->format);
        res.res.pitch2D.numChannels = d->channels;
        res.res.pitch2D.width = d->width;
        res.res.pitch2D.height = d->height;
        res.res.pitch2D.pitchInBytes = d->pitch;
        break;
    }
    if (e != CWB_OK)
        return e;
    for (int i = 0; i < 3; i++)
        tex.addressMode[i] = modes[d->address_mode[i]];
    tex.filterMode = d->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    tex.mipmapFilterMode = d->mip_linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    tex.flags = (d->read_as_integer ? CU_TRSF_READ_AS_INTEGER : 0u) | (d->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
                (d->srgb ? CU_TRSF_SRGB : 0u) | (d->seamless_cube ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
    tex.maxAnisotropy = d->max_anisotropy;
    tex.mipmapLevelBias = d->mip_bias;
    tex.minMipmapLevelClamp = d->min_level;
    tex.maxMipmapLevelClamp = d->max_level;
    for (int i = 0; i < 4; i++)
        tex.borderColor[i] = d->border[i];
    CUtexObject t = 0;
    CUresult r = cwc.cuTexObjectCreate(&t, &res, &tex, viewed ? &view : NULL);
    *handle = t;
    return cwc_result(c, r);
}

void
cwc_texture_destroy(struct cwb_context *c, uint64_t handle)
{
    if (cwc.cuCtxSetCurrent(c->real) == CUDA_SUCCESS)
        (void)cwc_result(c, cwc.cuTexObjectDestroy(handle));
}

cwb_result
cwc_surface_create(struct cwb_context *c, struct cwb_array *a, uint32_t level, uint64_t *handle)
{
    ENTER(c);
    CUDA_RESOURCE_DESC res = { .resType = CU_RESOURCE_TYPE_ARRAY };
    cwb_result r = cwc_array_level(a, level, &res.res.array.hArray);
    if (r != CWB_OK)
        return r;
    CUsurfObject s = 0;
    r = cwc_result(c, cwc.cuSurfObjectCreate(&s, &res));
    *handle = s;
    return r;
}

void
cwc_surface_destroy(struct cwb_context *c, uint64_t handle)
{
    if (cwc.cuCtxSetCurrent(c->real) == CUDA_SUCCESS)
        (void)cwc_result(c, cwc.cuSurfObjectDestroy(handle));
}

cwb_result
cwc_tensor_map(struct cwb_context *c, const struct cwb_tensor *t, void *map)
{
    void *at = (void *)(uintptr_t)t->address;
    if (!cwc.cuTensorMapEncodeTiled || !cwc.cuTensorMapEncodeIm2col)
        return CWB_UNSUPPORTED;
    ENTER(c);
    if (t->im2col)
        return cwc_result(c, cwc.cuTensorMapEncodeIm2col(map, (CUtensorMapDataType)t->type, t->rank, at, t->dim, t->stride, t->lower, t->upper, t->box[0], t->box[1],
                                                        t->step, (CUtensorMapInterleave)t->interleave, (CUtensorMapSwizzle)t->swizzle,
                                                        (CUtensorMapL2promotion)t->promotion, (CUtensorMapFloatOOBfill)t->fill));
    return cwc_result(c, cwc.cuTensorMapEncodeTiled(map, (CUtensorMapDataType)t->type, t->rank, at, t->dim, t->stride, t->box, t->step,
                                                   (CUtensorMapInterleave)t->interleave, (CUtensorMapSwizzle)t->swizzle, (CUtensorMapL2promotion)t->promotion,
                                                   (CUtensorMapFloatOOBfill)t->fill));
}

cwb_result
cwc_tensor_map_address(struct cwb_context *c, void *map, uint64_t address)
{
    if (!cwc.cuTensorMapReplaceAddress)
        return CWB_UNSUPPORTED;
    ENTER(c);
    return cwc_result(c, cwc.cuTensorMapReplaceAddress(map, (void *)(uintptr_t)address));
}
