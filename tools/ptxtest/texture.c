/* SPDX-License-Identifier: Apache-2.0
 * Textures and surfaces of tests: CUDA arrays made of a buffer's values. */
#include "tools/ptxtest/ptxtest.h"

#include <string.h>

static CUarray_format
format_of(const struct pt_type *t)
{
    switch (t->kind) {
    case PT_FLOAT:
        return t->bits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
    case PT_SINT:
        return t->bits == 8 ? CU_AD_FORMAT_SIGNED_INT8 : t->bits == 16 ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_SIGNED_INT32;
    default:
        return t->bits == 8 ? CU_AD_FORMAT_UNSIGNED_INT8 : t->bits == 16 ? CU_AD_FORMAT_UNSIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT32;
    }
}

static size_t
halved(uint32_t v, unsigned level)
{
    return v >> level ? v >> level : 1;
}

/* The copy of one level; the other side starts at the pointer given. Returns the level's bytes. */
static size_t
level_copy(const struct pt_texture *x, const struct pt_type *type, unsigned level, CUDA_MEMCPY3D *c)
{
    bool layers = x->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    *c = (CUDA_MEMCPY3D){ 0 };
    c->WidthInBytes = halved(x->size[0], level) * x->channels * pt_type_size(type);
    c->Height = halved(x->size[1], level);
    c->Depth = layers ? x->size[2] : halved(x->size[2], level);
    return c->WidthInBytes * c->Height * c->Depth;
}

CUresult
pt_object_create(struct pt_runner *r, const struct pt_decl *d, const struct pt_type *type, const uint8_t *bytes, struct pt_object *out)
{
    const struct cw_cuda_table *cu = &r->driver.cu;
    const struct pt_texture *x = d->texture;
    bool layers = x->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    CUDA_ARRAY3D_DESCRIPTOR a = { .Width = x->size[0], .Format = format_of(type), .NumChannels = x->channels, .Flags = x->flags };
    a.Height = x->dims > 1 ? x->size[1] : 0;
    a.Depth = x->dims > 2 || layers ? x->size[2] : 0;
    *out = (struct pt_object){ .surface = d->kind == PT_SURFACE };
    if (!cu->cuArray3DCreate_v2 || !cu->cuMipmappedArrayCreate || !cu->cuMemcpy3D_v2 || !cu->cuTexObjectCreate || !cu->cuSurfObjectCreate)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult c = x->levels > 1 ? cu->cuMipmappedArrayCreate(&out->mipmap, &a, x->levels) : cu->cuArray3DCreate_v2(&out->array, &a);
    for (unsigned level = 0; level < x->levels && c == CUDA_SUCCESS; level++) {
        CUDA_MEMCPY3D copy;
        size_t size = level_copy(x, type, level, &copy);
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = bytes;
        copy.srcPitch = copy.WidthInBytes;
        copy.srcHeight = copy.Height;
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = out->array;
        if (out->mipmap)
            c = cu->cuMipmappedArrayGetLevel(&copy.dstArray, out->mipmap, level);
        if (c == CUDA_SUCCESS)
            c = cu->cuMemcpy3D_v2(&copy);
        bytes += size;
    }
    CUDA_RESOURCE_DESC res;
    memset(&res, 0, sizeof res);
    res.resType = out->mipmap ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY;
    if (out->mipmap)
        res.res.mipmap.hMipmappedArray = out->mipmap;
    else
        res.res.array.hArray = out->array;
    unsigned long long handle = 0;
    if (c == CUDA_SUCCESS)
        c = out->surface ? cu->cuSurfObjectCreate(&handle, &res) : cu->cuTexObjectCreate(&handle, &res, &x->desc, NULL);
    out->handle = handle;
    return c;
}

CUresult
pt_object_store(struct pt_runner *r, const struct pt_decl *d, const struct pt_type *type, const struct pt_object *x, CUdeviceptr to)
{
    CUDA_MEMCPY3D copy;
    (void)level_copy(d->texture, type, 0, &copy);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = x->array;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = to;
    copy.dstPitch = copy.WidthInBytes;
    copy.dstHeight = copy.Height;
    return r->driver.cu.cuMemcpy3D_v2(&copy);
}

void
pt_object_destroy(struct pt_runner *r, struct pt_object *x)
{
    const struct cw_cuda_table *cu = &r->driver.cu;
    if (r->lost)
        return;
    if (x->handle)
        (void)(x->surface ? cu->cuSurfObjectDestroy(x->handle) : cu->cuTexObjectDestroy(x->handle));
    if (x->mipmap)
        (void)cu->cuMipmappedArrayDestroy(x->mipmap);
    else if (x->array)
        (void)cu->cuArrayDestroy(x->array);
    *x = (struct pt_object){ 0 };
}
