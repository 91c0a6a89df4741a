/* SPDX-License-Identifier: Apache-2.0
 * Textures and surfaces of tests: CUDA arrays or memory made of a buffer's values, with an object or bound to a reference. */
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

/* The array, with the levels that `bytes` has one after the other. */
static CUresult
array_create(const struct cw_cuda_table *cu, const struct pt_texture *x, const struct pt_type *type, const uint8_t *bytes, struct pt_object *out)
{
    bool layers = x->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    CUDA_ARRAY3D_DESCRIPTOR a = { .Width = x->size[0], .Format = format_of(type), .NumChannels = x->channels, .Flags = x->flags };
    a.Height = x->dims > 1 ? x->size[1] : 0;
    a.Depth = x->dims > 2 || layers ? x->size[2] : 0;
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
    return c;
}

/* Linear memory, or rows as far apart as the driver has them. */
static CUresult
memory_create(const struct cw_cuda_table *cu, const struct pt_texture *x, const struct pt_type *type, const uint8_t *bytes,
              struct pt_object *out, size_t *pitch)
{
    size_t width = (size_t)x->size[0] * x->channels * pt_type_size(type);
    *pitch = width;
    if (!cu->cuMemAllocPitch_v2 || !cu->cuMemcpy2D_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult c = x->memory == CU_RESOURCE_TYPE_LINEAR ? cu->cuMemAlloc_v2(&out->memory, width) :
                 cu->cuMemAllocPitch_v2(&out->memory, pitch, width, x->size[1], 4);
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = bytes, .srcPitch = width, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = out->memory, .dstPitch = *pitch, .WidthInBytes = width, .Height = x->size[1] };
    return c == CUDA_SUCCESS ? cu->cuMemcpy2D_v2(&copy) : c;
}

/* Binds the module's texture or surface reference. */
static CUresult
reference_bind(const struct cw_cuda_table *cu, CUmodule module, const struct pt_decl *d, const struct pt_type *type, const struct pt_object *o,
               size_t pitch)
{
    const struct pt_texture *x = d->texture;
    if (!cu->cuModuleGetTexRef || !cu->cuModuleGetSurfRef || !cu->cuSurfRefSetArray || !cu->cuTexRefSetArray || !cu->cuTexRefSetMipmappedArray ||
        !cu->cuTexRefSetAddress_v2 || !cu->cuTexRefSetAddress2D_v3 || !cu->cuTexRefSetFormat || !cu->cuTexRefSetFlags ||
        !cu->cuTexRefSetAddressMode || !cu->cuTexRefSetFilterMode || !cu->cuTexRefSetMipmapFilterMode || !cu->cuTexRefSetMipmapLevelClamp)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (o->surface) {
        CUsurfref s;
        CUresult c = cu->cuModuleGetSurfRef(&s, module, d->name);
        return c == CUDA_SUCCESS ? cu->cuSurfRefSetArray(s, o->array, 0) : c;
    }
    CUtexref t;
    size_t offset = 0;
    CUDA_ARRAY_DESCRIPTOR rows = { .Width = x->size[0], .Height = x->size[1], .Format = format_of(type), .NumChannels = x->channels };
    CUresult c = cu->cuModuleGetTexRef(&t, module, d->name);
    for (int k = 0; k < 3 && c == CUDA_SUCCESS; k++)
        c = cu->cuTexRefSetAddressMode(t, k, x->desc.addressMode[k]);
    if (c == CUDA_SUCCESS)
        c = cu->cuTexRefSetFilterMode(t, x->desc.filterMode);
    if (c == CUDA_SUCCESS && o->mipmap)
        c = cu->cuTexRefSetMipmapFilterMode(t, x->desc.mipmapFilterMode);
    if (c == CUDA_SUCCESS)
        c = cu->cuTexRefSetFlags(t, x->desc.flags);
    if (c == CUDA_SUCCESS)
        c = cu->cuTexRefSetFormat(t, format_of(type), (int)x->channels);
    if (c != CUDA_SUCCESS)
        return c;
    if (o->mipmap) {        /* a reference begins with the clamps at 0 */
        c = cu->cuTexRefSetMipmappedArray(t, o->mipmap, CU_TRSA_OVERRIDE_FORMAT);
        return c == CUDA_SUCCESS ? cu->cuTexRefSetMipmapLevelClamp(t, x->desc.minMipmapLevelClamp, x->desc.maxMipmapLevelClamp) : c;
    }
    if (o->array)
        return cu->cuTexRefSetArray(t, o->array, CU_TRSA_OVERRIDE_FORMAT);
    if (x->memory == CU_RESOURCE_TYPE_PITCH2D)
        return cu->cuTexRefSetAddress2D_v3(t, &rows, o->memory, pitch);
    c = cu->cuTexRefSetAddress_v2(&offset, t, o->memory, pitch);
    return c == CUDA_SUCCESS && offset ? CUDA_ERROR_MISALIGNED_ADDRESS : c;
}

CUresult
pt_object_create(struct pt_runner *r, CUmodule module, const struct pt_decl *d, const struct pt_type *type, const uint8_t *bytes, struct pt_object *out)
{
    const struct cw_cuda_table *cu = &r->driver.cu;
    const struct pt_texture *x = d->texture;
    size_t pitch = 0;
    *out = (struct pt_object){ .surface = d->kind == PT_SURFACE };
    CUresult c = x->memory == CU_RESOURCE_TYPE_ARRAY ? array_create(cu, x, type, bytes, out) : memory_create(cu, x, type, bytes, out, &pitch);
    if (c != CUDA_SUCCESS || x->reference)
        return c == CUDA_SUCCESS ? reference_bind(cu, module, d, type, out, pitch) : c;
    CUDA_RESOURCE_DESC res;
    memset(&res, 0, sizeof res);
    if (out->mipmap) {
        res.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        res.res.mipmap.hMipmappedArray = out->mipmap;
    } else if (out->array) {
        res.resType = CU_RESOURCE_TYPE_ARRAY;
        res.res.array.hArray = out->array;
    } else if (x->memory == CU_RESOURCE_TYPE_LINEAR) {
        res.resType = CU_RESOURCE_TYPE_LINEAR;
        res.res.linear.devPtr = out->memory;
        res.res.linear.format = format_of(type);
        res.res.linear.numChannels = x->channels;
        res.res.linear.sizeInBytes = pitch;
    } else {
        res.resType = CU_RESOURCE_TYPE_PITCH2D;
        res.res.pitch2D.devPtr = out->memory;
        res.res.pitch2D.format = format_of(type);
        res.res.pitch2D.numChannels = x->channels;
        res.res.pitch2D.width = x->size[0];
        res.res.pitch2D.height = x->size[1];
        res.res.pitch2D.pitchInBytes = pitch;
    }
    unsigned long long handle = 0;
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
    if (x->memory)
        (void)cu->cuMemFree_v2(x->memory);
    *x = (struct pt_object){ 0 };
}

CUresult
pt_tensor_encode(struct pt_runner *r, const struct pt_tensor *x, CUdeviceptr memory, CUtensorMap *out)
{
    const struct cw_cuda_table *cu = &r->driver.cu;
    CUtensorMapFloatOOBfill fill = x->nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    void *at = (void *)(uintptr_t)memory;
    if (!cu->cuTensorMapEncodeTiled || !cu->cuTensorMapEncodeIm2col)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (x->im2col)
        return cu->cuTensorMapEncodeIm2col(out, x->type, x->rank, at, x->dim, x->stride, x->lower, x->upper, x->box[0], x->box[1], x->step,
                                           CU_TENSOR_MAP_INTERLEAVE_NONE, x->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
    return cu->cuTensorMapEncodeTiled(out, x->type, x->rank, at, x->dim, x->stride, x->box, x->step, CU_TENSOR_MAP_INTERLEAVE_NONE, x->swizzle,
                                      CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
}
