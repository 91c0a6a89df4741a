/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface objects ("Texture Object Management", "Surface Object Management", CUDA Runtime API): descriptions in
 * the driver's terms and back. */
#include "impl/runtime/runtime.h"

/* ---- resources ----------------------------------------------------------------------------------------------------------------- */

static cudaError_t
resource(const cudaResourceDesc *in, CUDA_RESOURCE_DESC *out)
{
    if (!in)
        return cudaErrorInvalidValue;
    memset(out, 0, sizeof *out);
    switch (in->resType) {
    case cudaResourceTypeArray:
        out->resType = CU_RESOURCE_TYPE_ARRAY;
        out->res.array.hArray = rt_array(in->res.array.array);
        return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        out->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        out->res.mipmap.hMipmappedArray = rt_mipmap(in->res.mipmap.mipmap);
        return cudaSuccess;
    case cudaResourceTypeLinear:
        out->resType = CU_RESOURCE_TYPE_LINEAR;
        out->res.linear.devPtr = rt_dptr(in->res.linear.devPtr);
        out->res.linear.sizeInBytes = in->res.linear.sizeInBytes;
        return rt_format(&in->res.linear.desc, &out->res.linear.format, &out->res.linear.numChannels) ? cudaSuccess
                                                                                                        : cudaErrorInvalidChannelDescriptor;
    case cudaResourceTypePitch2D:
        out->resType = CU_RESOURCE_TYPE_PITCH2D;
        out->res.pitch2D.devPtr = rt_dptr(in->res.pitch2D.devPtr);
        out->res.pitch2D.width = in->res.pitch2D.width;
        out->res.pitch2D.height = in->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = in->res.pitch2D.pitchInBytes;
        return rt_format(&in->res.pitch2D.desc, &out->res.pitch2D.format, &out->res.pitch2D.numChannels) ? cudaSuccess
                                                                                                           : cudaErrorInvalidChannelDescriptor;
    default:
        return cudaErrorInvalidValue;
    }
}

/* Only what every version of the structure has is written: before CUDA 13 it had no flags. */
static cudaError_t
resource_back(const CUDA_RESOURCE_DESC *in, cudaResourceDesc *out)
{
    bool known = true;

    switch (in->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        out->resType = cudaResourceTypeArray;
        out->res.array.array = (cudaArray_t)in->res.array.hArray;
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        out->resType = cudaResourceTypeMipmappedArray;
        out->res.mipmap.mipmap = (cudaMipmappedArray_t)in->res.mipmap.hMipmappedArray;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        out->resType = cudaResourceTypeLinear;
        out->res.linear.devPtr = rt_pointer(in->res.linear.devPtr);
        out->res.linear.sizeInBytes = in->res.linear.sizeInBytes;
        known = rt_channel_desc(in->res.linear.format, in->res.linear.numChannels, &out->res.linear.desc);
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        out->resType = cudaResourceTypePitch2D;
        out->res.pitch2D.devPtr = rt_pointer(in->res.pitch2D.devPtr);
        out->res.pitch2D.width = in->res.pitch2D.width;
        out->res.pitch2D.height = in->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = in->res.pitch2D.pitchInBytes;
        known = rt_channel_desc(in->res.pitch2D.format, in->res.pitch2D.numChannels, &out->res.pitch2D.desc);
        break;
    default:
        known = false;
    }
    return known ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

/* ---- textures -------------------------------------------------------------------------------------------------------------------- */

static cudaError_t
texture(const cudaTextureDesc *in, CUDA_TEXTURE_DESC *out)
{
    if (!in)
        return cudaErrorInvalidValue;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++)
        out->addressMode[i] = (CUaddress_mode)in->addressMode[i];
    out->filterMode = (CUfilter_mode)in->filterMode;
    out->flags = (in->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
                 (in->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) | (in->sRGB ? CU_TRSF_SRGB : 0) |
                 (in->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0) |
                 (in->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0);
    out->maxAnisotropy = in->maxAnisotropy;
    out->mipmapFilterMode = (CUfilter_mode)in->mipmapFilterMode;
    out->mipmapLevelBias = in->mipmapLevelBias;
    out->minMipmapLevelClamp = in->minMipmapLevelClamp;
    out->maxMipmapLevelClamp = in->maxMipmapLevelClamp;
    memcpy(out->borderColor, in->borderColor, sizeof out->borderColor);
    return cudaSuccess;
}

static void
texture_back(const CUDA_TEXTURE_DESC *in, cudaTextureDesc *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++)
        out->addressMode[i] = (cudaTextureAddressMode)in->addressMode[i];
    out->filterMode = (cudaTextureFilterMode)in->filterMode;
    out->readMode = in->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    out->sRGB = (in->flags & CU_TRSF_SRGB) != 0;
    out->normalizedCoords = (in->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    out->disableTrilinearOptimization = (in->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
    out->seamlessCubemap = (in->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
    out->maxAnisotropy = in->maxAnisotropy;
    out->mipmapFilterMode = (cudaTextureFilterMode)in->mipmapFilterMode;
    out->mipmapLevelBias = in->mipmapLevelBias;
    out->minMipmapLevelClamp = in->minMipmapLevelClamp;
    out->maxMipmapLevelClamp = in->maxMipmapLevelClamp;
    memcpy(out->borderColor, in->borderColor, sizeof out->borderColor);
}

static void
view(const cudaResourceViewDesc *in, CUDA_RESOURCE_VIEW_DESC *out)
{
    memset(out, 0, sizeof *out);
    out->format = (CUresourceViewFormat)in->format;
    out->width = in->width;
    out->height = in->height;
    out->depth = in->depth;
    out->firstMipmapLevel = in->firstMipmapLevel;
    out->lastMipmapLevel = in->lastMipmapLevel;
    out->firstLayer = in->firstLayer;
    out->lastLayer = in->lastLayer;
}

/* What is read as it is, is not a float that filtering needs; a 32-bit integer has no normalized float ("cudaCreateTextureObject"). */
static cudaError_t
check(const CUDA_RESOURCE_DESC *r, const cudaTextureDesc *t)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUarray a = NULL;
    CUarray_format f = 0;

    switch (r->resType) {
    case CU_RESOURCE_TYPE_LINEAR:  f = r->res.linear.format; break;
    case CU_RESOURCE_TYPE_PITCH2D: f = r->res.pitch2D.format; break;
    case CU_RESOURCE_TYPE_ARRAY:   a = r->res.array.hArray; break;
    default:
        if (CU(cuMipmappedArrayGetLevel)(&a, r->res.mipmap.hMipmappedArray, 0) != CUDA_SUCCESS)
            return cudaErrorInvalidResourceHandle;
    }
    if (r->resType == CU_RESOURCE_TYPE_ARRAY || r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        if (CU(cuArray3DGetDescriptor_v2)(&d, a) != CUDA_SUCCESS)
            return cudaErrorInvalidResourceHandle;
        f = d.Format;
    }
    bool integer = f == CU_AD_FORMAT_SIGNED_INT8 || f == CU_AD_FORMAT_SIGNED_INT16 || f == CU_AD_FORMAT_SIGNED_INT32 ||
                   f == CU_AD_FORMAT_UNSIGNED_INT8 || f == CU_AD_FORMAT_UNSIGNED_INT16 || f == CU_AD_FORMAT_UNSIGNED_INT32;
    bool wide = f == CU_AD_FORMAT_SIGNED_INT32 || f == CU_AD_FORMAT_UNSIGNED_INT32;
    if (t->readMode == cudaReadModeNormalizedFloat && wide)
        return cudaErrorInvalidNormSetting;
    if (t->filterMode == cudaFilterModeLinear && integer && t->readMode == cudaReadModeElementType && r->resType != CU_RESOURCE_TYPE_LINEAR)
        return cudaErrorInvalidFilterSetting;
    return cudaSuccess;
}

cudaError_t
rt_cudaCreateTextureObject(cudaTextureObject_t *pTexObject, const cudaResourceDesc *pResDesc, const cudaTextureDesc *pTexDesc,
                           const cudaResourceViewDesc *pResViewDesc)
{
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t;
    CUDA_RESOURCE_VIEW_DESC v;
    CUtexObject o = 0;

    ENTER();
    cudaError_t e = resource(pResDesc, &r);
    if (e == cudaSuccess)
        e = texture(pTexDesc, &t);
    if (e == cudaSuccess)
        e = check(&r, pTexDesc);
    if (e == cudaSuccess && !pTexObject)
        e = cudaErrorInvalidValue;
    if (e != cudaSuccess)
        return e;
    if (pResViewDesc)
        view(pResViewDesc, &v);
    e = rt_result(CU(cuTexObjectCreate)(&o, &r, &t, pResViewDesc ? &v : NULL));
    if (e == cudaSuccess)
        *pTexObject = o;
    return e;
}

/* The description without the last field, that of seamless cubemaps. */
cudaError_t
rt_cudaCreateTextureObject_v11(cudaTextureObject_t *pTexObject, const cudaResourceDesc *pResDesc, const cudaTextureDesc_v1 *pTexDesc,
                               const cudaResourceViewDesc *pResViewDesc)
{
    cudaTextureDesc t = { 0 };

    if (!pTexDesc)
        return cudaErrorInvalidValue;
    memcpy(&t, pTexDesc, sizeof *pTexDesc);
    t.seamlessCubemap = 0;
    return rt_cudaCreateTextureObject(pTexObject, pResDesc, &t, pResViewDesc);
}

cudaError_t
rt_cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
    ENTER();
    return texObject ? rt_result(CU(cuTexObjectDestroy)(texObject)) : cudaSuccess;
}

cudaError_t
rt_cudaGetTextureObjectResourceDesc(cudaResourceDesc *pResDesc, cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_DESC r;

    if (!pResDesc)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuTexObjectGetResourceDesc)(&r, texObject));
    return e == cudaSuccess ? resource_back(&r, pResDesc) : e;
}

cudaError_t
rt_cudaGetTextureObjectTextureDesc(cudaTextureDesc *pTexDesc, cudaTextureObject_t texObject)
{
    CUDA_TEXTURE_DESC t;

    if (!pTexDesc)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuTexObjectGetTextureDesc)(&t, texObject));
    if (e == cudaSuccess)
        texture_back(&t, pTexDesc);
    return e;
}

cudaError_t
rt_cudaGetTextureObjectTextureDesc_v11(cudaTextureDesc_v1 *pTexDesc, cudaTextureObject_t texObject)
{
    cudaTextureDesc t;

    if (!pTexDesc)
        return cudaErrorInvalidValue;
    cudaError_t e = rt_cudaGetTextureObjectTextureDesc(&t, texObject);
    if (e == cudaSuccess)
        memcpy(pTexDesc, &t, sizeof *pTexDesc);
    return e;
}

cudaError_t
rt_cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc *out, cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_VIEW_DESC v;

    if (!out)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuTexObjectGetResourceViewDesc)(&v, texObject));
    if (e != cudaSuccess)
        return e;
    out->format = (cudaResourceViewFormat)v.format;
    out->width = v.width;
    out->height = v.height;
    out->depth = v.depth;
    out->firstMipmapLevel = v.firstMipmapLevel;
    out->lastMipmapLevel = v.lastMipmapLevel;
    out->firstLayer = v.firstLayer;
    out->lastLayer = v.lastLayer;
    return cudaSuccess;
}

/* The most texels of one dimension in linear memory; the driver counts bytes for the format. */
cudaError_t
rt_cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, const cudaChannelFormatDesc *fmtDesc, int device)
{
    CUarray_format f = 0;
    unsigned channels;

    if (!maxWidthInElements || !fmtDesc)
        return cudaErrorInvalidValue;
    if (!rt_format(fmtDesc, &f, &channels))
        return cudaErrorInvalidChannelDescriptor;
    INIT();
    return rt_result(CU(cuDeviceGetTexture1DLinearMaxWidth)(maxWidthInElements, f, channels, device));
}

/* ---- surfaces -------------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject, const cudaResourceDesc *pResDesc)
{
    CUDA_RESOURCE_DESC r;
    CUsurfObject o = 0;

    if (!pSurfObject)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = resource(pResDesc, &r);
    if (e == cudaSuccess && r.resType != CU_RESOURCE_TYPE_ARRAY)
        e = cudaErrorInvalidValue;
    if (e == cudaSuccess)
        e = rt_result(CU(cuSurfObjectCreate)(&o, &r));
    if (e == cudaSuccess)
        *pSurfObject = o;
    return e;
}

cudaError_t
rt_cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    ENTER();
    return surfObject ? rt_result(CU(cuSurfObjectDestroy)(surfObject)) : cudaSuccess;
}

cudaError_t
rt_cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *pResDesc, cudaSurfaceObject_t surfObject)
{
    CUDA_RESOURCE_DESC r;

    if (!pResDesc)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuSurfObjectGetResourceDesc)(&r, surfObject));
    return e == cudaSuccess ? resource_back(&r, pResDesc) : e;
}
