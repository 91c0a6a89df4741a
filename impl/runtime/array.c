/* SPDX-License-Identifier: Apache-2.0
 * CUDA arrays and channel descriptions ("Memory Management", "Texture Object Management", CUDA Runtime API). An array is the
 * driver's; a channel description says in bits what the driver says as format and number of channels. */
#include "impl/runtime/runtime.h"

/* ---- channels ---------------------------------------------------------------------------------------------------------------- */

/* A description of `count` equal channels for each kind of which the bits say the format; others name it whole. */
static const struct {
    cudaChannelFormatKind kind;
    uint8_t  bits, channels;            /* channels: 0: one, two or four */
    unsigned format;
} formats[] = {
    { cudaChannelFormatKindSigned, 8, 0, CU_AD_FORMAT_SIGNED_INT8 },
    { cudaChannelFormatKindSigned, 16, 0, CU_AD_FORMAT_SIGNED_INT16 },
    { cudaChannelFormatKindSigned, 32, 0, CU_AD_FORMAT_SIGNED_INT32 },
    { cudaChannelFormatKindUnsigned, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8 },
    { cudaChannelFormatKindUnsigned, 16, 0, CU_AD_FORMAT_UNSIGNED_INT16 },
    { cudaChannelFormatKindUnsigned, 32, 0, CU_AD_FORMAT_UNSIGNED_INT32 },
    { cudaChannelFormatKindFloat, 16, 0, CU_AD_FORMAT_HALF },
    { cudaChannelFormatKindFloat, 32, 0, CU_AD_FORMAT_FLOAT },
    { cudaChannelFormatKindNV12, 8, 3, CU_AD_FORMAT_NV12 },
    { cudaChannelFormatKindUnsignedNormalized8X1, 8, 1, CU_AD_FORMAT_UNORM_INT8X1 },
    { cudaChannelFormatKindUnsignedNormalized8X2, 8, 2, CU_AD_FORMAT_UNORM_INT8X2 },
    { cudaChannelFormatKindUnsignedNormalized8X4, 8, 4, CU_AD_FORMAT_UNORM_INT8X4 },
    { cudaChannelFormatKindUnsignedNormalized16X1, 16, 1, CU_AD_FORMAT_UNORM_INT16X1 },
    { cudaChannelFormatKindUnsignedNormalized16X2, 16, 2, CU_AD_FORMAT_UNORM_INT16X2 },
    { cudaChannelFormatKindUnsignedNormalized16X4, 16, 4, CU_AD_FORMAT_UNORM_INT16X4 },
    { cudaChannelFormatKindSignedNormalized8X1, 8, 1, CU_AD_FORMAT_SNORM_INT8X1 },
    { cudaChannelFormatKindSignedNormalized8X2, 8, 2, CU_AD_FORMAT_SNORM_INT8X2 },
    { cudaChannelFormatKindSignedNormalized8X4, 8, 4, CU_AD_FORMAT_SNORM_INT8X4 },
    { cudaChannelFormatKindSignedNormalized16X1, 16, 1, CU_AD_FORMAT_SNORM_INT16X1 },
    { cudaChannelFormatKindSignedNormalized16X2, 16, 2, CU_AD_FORMAT_SNORM_INT16X2 },
    { cudaChannelFormatKindSignedNormalized16X4, 16, 4, CU_AD_FORMAT_SNORM_INT16X4 },
    { cudaChannelFormatKindUnsignedBlockCompressed1, 8, 4, CU_AD_FORMAT_BC1_UNORM },
    { cudaChannelFormatKindUnsignedBlockCompressed1SRGB, 8, 4, CU_AD_FORMAT_BC1_UNORM_SRGB },
    { cudaChannelFormatKindUnsignedBlockCompressed2, 8, 4, CU_AD_FORMAT_BC2_UNORM },
    { cudaChannelFormatKindUnsignedBlockCompressed2SRGB, 8, 4, CU_AD_FORMAT_BC2_UNORM_SRGB },
    { cudaChannelFormatKindUnsignedBlockCompressed3, 8, 4, CU_AD_FORMAT_BC3_UNORM },
    { cudaChannelFormatKindUnsignedBlockCompressed3SRGB, 8, 4, CU_AD_FORMAT_BC3_UNORM_SRGB },
    { cudaChannelFormatKindUnsignedBlockCompressed4, 8, 1, CU_AD_FORMAT_BC4_UNORM },
    { cudaChannelFormatKindSignedBlockCompressed4, 8, 1, CU_AD_FORMAT_BC4_SNORM },
    { cudaChannelFormatKindUnsignedBlockCompressed5, 8, 2, CU_AD_FORMAT_BC5_UNORM },
    { cudaChannelFormatKindSignedBlockCompressed5, 8, 2, CU_AD_FORMAT_BC5_SNORM },
    { cudaChannelFormatKindUnsignedBlockCompressed6H, 16, 3, CU_AD_FORMAT_BC6H_UF16 },
    { cudaChannelFormatKindSignedBlockCompressed6H, 16, 3, CU_AD_FORMAT_BC6H_SF16 },
    { cudaChannelFormatKindUnsignedBlockCompressed7, 8, 4, CU_AD_FORMAT_BC7_UNORM },
    { cudaChannelFormatKindUnsignedBlockCompressed7SRGB, 8, 4, CU_AD_FORMAT_BC7_UNORM_SRGB },
    { cudaChannelFormatKindUnsignedNormalized1010102, 10, 4, CU_AD_FORMAT_UNORM_INT_101010_2 },
};

bool
rt_format(const cudaChannelFormatDesc *d, CUarray_format *format, unsigned *channels)
{
    unsigned n = !d->x ? 0 : !d->y ? 1 : !d->z ? 2 : !d->w ? 3 : 4;
    bool whole = d->f > cudaChannelFormatKindNone;

    if (!n || (!whole && ((n > 1 && d->y != d->x) || (n > 2 && d->z != d->x) || (n > 3 && d->w != d->x) || n == 3)))
        return false;
    for (size_t i = 0; i < COUNT(formats); i++) {
        if (formats[i].kind == d->f && (whole || formats[i].bits == d->x)) {
            *format = (CUarray_format)formats[i].format;
            *channels = formats[i].channels ? formats[i].channels : n;
            return true;
        }
    }
    return false;
}

bool
rt_channel_desc(CUarray_format format, unsigned channels, cudaChannelFormatDesc *d)
{
    for (size_t i = 0; i < COUNT(formats); i++) {
        if (formats[i].format == (unsigned)format) {
            int bits = formats[i].bits;
            unsigned n = formats[i].channels ? formats[i].channels : channels;
            *d = (cudaChannelFormatDesc){ bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits == 10 ? 2 : bits : 0, formats[i].kind };
            return true;
        }
    }
    return false;
}

unsigned
rt_format_bytes(CUarray_format format)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (formats[i].format == (unsigned)format && !formats[i].channels)
            return formats[i].bits / 8;
    return 0;
}

cudaChannelFormatDesc
rt_cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f)
{
    return (cudaChannelFormatDesc){ x, y, z, w, f };
}

cudaError_t
rt_cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;

    if (!desc)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuArray3DGetDescriptor_v2)(&d, rt_array(array)));
    if (e == cudaSuccess && !rt_channel_desc(d.Format, d.NumChannels, desc))
        e = cudaErrorInvalidChannelDescriptor;
    return e;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------------------- */

static cudaError_t
describe(CUDA_ARRAY3D_DESCRIPTOR *out, const cudaChannelFormatDesc *desc, cudaExtent extent, unsigned flags)
{
    const unsigned known = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather | cudaArrayColorAttachment |
                           cudaArraySparse | cudaArrayDeferredMapping;

    if (!desc || flags & ~known)
        return cudaErrorInvalidValue;
    *out = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags };
    return rt_format(desc, &out->Format, &out->NumChannels) ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaError_t
rt_cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, cudaExtent extent, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUarray a = NULL;

    if (!array)
        return cudaErrorInvalidValue;
    cudaError_t e = describe(&d, desc, extent, flags);
    if (e != cudaSuccess)
        return e;
    ENTER();
    e = rt_result(CU(cuArray3DCreate_v2)(&a, &d));
    if (e == cudaSuccess)
        *array = (cudaArray_t)a;
    return e;
}

cudaError_t
rt_cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width, size_t height, unsigned int flags)
{
    return rt_cudaMalloc3DArray(array, desc, (cudaExtent){ width, height, 0 }, flags);
}

cudaError_t
rt_cudaFreeArray(cudaArray_t array)
{
    ENTER();
    return array ? rt_result(CU(cuArrayDestroy)(rt_array(array))) : cudaSuccess;
}

cudaError_t
rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray, const cudaChannelFormatDesc *desc, cudaExtent extent,
                            unsigned int numLevels, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUmipmappedArray a = NULL;

    if (!mipmappedArray)
        return cudaErrorInvalidValue;
    cudaError_t e = describe(&d, desc, extent, flags);
    if (e != cudaSuccess)
        return e;
    ENTER();
    e = rt_result(CU(cuMipmappedArrayCreate)(&a, &d, numLevels));
    if (e == cudaSuccess)
        *mipmappedArray = (cudaMipmappedArray_t)a;
    return e;
}

cudaError_t
rt_cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    ENTER();
    return mipmappedArray ? rt_result(CU(cuMipmappedArrayDestroy)(rt_mipmap(mipmappedArray))) : cudaSuccess;
}

cudaError_t
rt_cudaGetMipmappedArrayLevel(cudaArray_t *levelArray, cudaMipmappedArray_const_t mipmappedArray, unsigned int level)
{
    CUarray a = NULL;

    if (!levelArray)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuMipmappedArrayGetLevel)(&a, rt_mipmap(mipmappedArray), level));
    if (e == cudaSuccess)
        *levelArray = (cudaArray_t)a;
    return e;
}

cudaError_t
rt_cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned int *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;

    ENTER();
    cudaError_t e = rt_result(CU(cuArray3DGetDescriptor_v2)(&d, rt_array(array)));
    if (e != cudaSuccess)
        return e;
    if (desc && !rt_channel_desc(d.Format, d.NumChannels, desc))
        return cudaErrorInvalidChannelDescriptor;
    if (extent)
        *extent = (cudaExtent){ d.Width, d.Height, d.Depth };
    if (flags)
        *flags = d.Flags;
    return cudaSuccess;
}

cudaError_t
rt_cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray, unsigned int planeIdx)
{
    CUarray a = NULL;

    if (!pPlaneArray)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_result(CU(cuArrayGetPlane)(&a, rt_array(hArray), planeIdx));
    if (e == cudaSuccess)
        *pPlaneArray = (cudaArray_t)a;
    return e;
}

_Static_assert(sizeof(cudaArrayMemoryRequirements) == sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS), "memory requirements are the driver's");

cudaError_t
rt_cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements *memoryRequirements, cudaArray_t array, int device)
{
    ENTER();
    return rt_result(CU(cuArrayGetMemoryRequirements)((CUDA_ARRAY_MEMORY_REQUIREMENTS *)(void *)memoryRequirements, rt_array(array), device));
}

cudaError_t
rt_cudaMipmappedArrayGetMemoryRequirements(cudaArrayMemoryRequirements *memoryRequirements, cudaMipmappedArray_t mipmap, int device)
{
    ENTER();
    return rt_result(CU(cuMipmappedArrayGetMemoryRequirements)((CUDA_ARRAY_MEMORY_REQUIREMENTS *)(void *)memoryRequirements, rt_mipmap(mipmap),
                                                               device));
}

static cudaError_t
sparse(cudaError_t e, const CUDA_ARRAY_SPARSE_PROPERTIES *p, cudaArraySparseProperties *out)
{
    if (e == cudaSuccess) {
        memset(out, 0, sizeof *out);
        out->tileExtent.width = p->tileExtent.width;
        out->tileExtent.height = p->tileExtent.height;
        out->tileExtent.depth = p->tileExtent.depth;
        out->miptailFirstLevel = p->miptailFirstLevel;
        out->miptailSize = p->miptailSize;
        out->flags = p->flags;
    }
    return e;
}

cudaError_t
rt_cudaArrayGetSparseProperties(cudaArraySparseProperties *sparseProperties, cudaArray_t array)
{
    CUDA_ARRAY_SPARSE_PROPERTIES p;

    if (!sparseProperties)
        return cudaErrorInvalidValue;
    ENTER();
    return sparse(rt_result(CU(cuArrayGetSparseProperties)(&p, rt_array(array))), &p, sparseProperties);
}

cudaError_t
rt_cudaMipmappedArrayGetSparseProperties(cudaArraySparseProperties *sparseProperties, cudaMipmappedArray_t mipmap)
{
    CUDA_ARRAY_SPARSE_PROPERTIES p;

    if (!sparseProperties)
        return cudaErrorInvalidValue;
    ENTER();
    return sparse(rt_result(CU(cuMipmappedArrayGetSparseProperties)(&p, rt_mipmap(mipmap))), &p, sparseProperties);
}
