/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface references, which CUDA 12 took out: the program's structure says how to read, binding takes it over to
 * the driver's reference of the current context. */
#include "impl/runtime/runtime.h"

static cudaError_t
settings(CUtexref t, const textureReference *r, const cudaChannelFormatDesc *desc)
{
    CUarray_format format;
    unsigned channels, flags = 0;

    if (!rt_format(desc, &format, &channels))
        return cudaErrorInvalidChannelDescriptor;
    if (r->normalized)
        flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (r->sRGB)
        flags |= CU_TRSF_SRGB;
    /* How a reference is read is of its type, which the compiler wrote into the program's image; integers that the type reads
     * as they are have the bit set there. What the driver has of it is kept. */
    unsigned had = 0;
    if (CU(cuTexRefGetFlags)(&had, t) == CUDA_SUCCESS)
        flags |= had & CU_TRSF_READ_AS_INTEGER;
    cudaError_t e = rt_result(CU(cuTexRefSetFormat)(t, format, (int)channels));
    for (int i = 0; i < 3 && e == cudaSuccess; i++)
        e = rt_result(CU(cuTexRefSetAddressMode)(t, i, (CUaddress_mode)r->addressMode[i]));
    if (e == cudaSuccess)
        e = rt_result(CU(cuTexRefSetFilterMode)(t, (CUfilter_mode)r->filterMode));
    if (e == cudaSuccess)
        e = rt_result(CU(cuTexRefSetFlags)(t, flags));
    if (e == cudaSuccess && r->maxAnisotropy)
        e = rt_result(CU(cuTexRefSetMaxAnisotropy)(t, r->maxAnisotropy));
    if (e == cudaSuccess)
        e = rt_result(CU(cuTexRefSetMipmapFilterMode)(t, (CUfilter_mode)r->mipmapFilterMode));
    if (e == cudaSuccess)
        e = rt_result(CU(cuTexRefSetMipmapLevelBias)(t, r->mipmapLevelBias));
    if (e == cudaSuccess)
        e = rt_result(CU(cuTexRefSetMipmapLevelClamp)(t, r->minMipmapLevelClamp, r->maxMipmapLevelClamp));
    return e;
}

static cudaError_t
begin(const textureReference *r, const cudaChannelFormatDesc *desc, CUtexref *t)
{
    if (!r)
        return cudaErrorInvalidTexture;
    if (!desc)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_texture_reference(r, t);
    return e == cudaSuccess ? settings(*t, r, desc) : e;
}

cudaError_t
rt_cudaBindTexture(size_t *offset, const textureReference *texref, const void *devPtr, const cudaChannelFormatDesc *desc, size_t size)
{
    CUtexref t;
    CUdeviceptr base = 0;
    size_t off = 0, range = 0;
    cudaError_t e = begin(texref, desc, &t);

    if (e != cudaSuccess)
        return e;
    /* "size" is by default all that there can be: what is left of the allocation. */
    if (CU(cuMemGetAddressRange_v2)(&base, &range, rt_dptr(devPtr)) == CUDA_SUCCESS) {
        size_t left = range - (size_t)(rt_dptr(devPtr) - base);
        size = size < left ? size : left;
    }
    e = rt_result(CU(cuTexRefSetAddress_v2)(&off, t, rt_dptr(devPtr), size));
    if (e == cudaSuccess && offset)
        *offset = off;
    else if (e == cudaSuccess && off)
        e = cudaErrorInvalidValue;      /* an address that is not aligned, and nowhere to say so */
    return e;
}

cudaError_t
rt_cudaBindTexture2D(size_t *offset, const textureReference *texref, const void *devPtr, const cudaChannelFormatDesc *desc, size_t width,
                     size_t height, size_t pitch)
{
    CUDA_ARRAY_DESCRIPTOR d = { .Width = width, .Height = height };
    CUtexref t;
    cudaError_t e = begin(texref, desc, &t);

    if (e == cudaSuccess && !rt_format(desc, &d.Format, &d.NumChannels))
        e = cudaErrorInvalidChannelDescriptor;
    if (e == cudaSuccess)
        e = rt_result(CU(cuTexRefSetAddress2D_v3)(t, &d, rt_dptr(devPtr), pitch));
    if (e == cudaSuccess && offset)
        *offset = 0;
    return e;
}

cudaError_t
rt_cudaBindTextureToArray(const textureReference *texref, cudaArray_const_t array, const cudaChannelFormatDesc *desc)
{
    CUtexref t;
    cudaError_t e = begin(texref, desc, &t);

    return e == cudaSuccess ? rt_result(CU(cuTexRefSetArray)(t, rt_array(array), CU_TRSA_OVERRIDE_FORMAT)) : e;
}

cudaError_t
rt_cudaBindTextureToMipmappedArray(const textureReference *texref, cudaMipmappedArray_const_t mipmappedArray, const cudaChannelFormatDesc *desc)
{
    CUtexref t;
    cudaError_t e = begin(texref, desc, &t);

    return e == cudaSuccess ? rt_result(CU(cuTexRefSetMipmappedArray)(t, rt_mipmap(mipmappedArray), CU_TRSA_OVERRIDE_FORMAT)) : e;
}

cudaError_t
rt_cudaUnbindTexture(const textureReference *texref)
{
    CUtexref t;
    size_t off;

    ENTER();
    cudaError_t e = rt_texture_reference(texref, &t);
    return e == cudaSuccess ? rt_result(CU(cuTexRefSetAddress_v2)(&off, t, 0, 0)) : e;
}

cudaError_t
rt_cudaGetTextureAlignmentOffset(size_t *offset, const textureReference *texref)
{
    CUdeviceptr p = 0;
    CUtexref t;

    if (!offset)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_texture_reference(texref, &t);
    if (e != cudaSuccess)
        return e;
    if (CU(cuTexRefGetAddress_v2)(&p, t) != CUDA_SUCCESS)
        return cudaErrorInvalidTextureBinding;
    *offset = 0;
    return cudaSuccess;
}

cudaError_t
rt_cudaGetTextureReference(const textureReference **texref, const void *symbol)
{
    CUtexref t;

    if (!texref)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_texture_reference(symbol, &t);
    if (e == cudaSuccess)
        *texref = symbol;
    return e;
}

cudaError_t
rt_cudaBindSurfaceToArray(const surfaceReference *surfref, cudaArray_const_t array, const cudaChannelFormatDesc *desc)
{
    CUsurfref s;

    if (!desc)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_surface_reference(surfref, &s);
    return e == cudaSuccess ? rt_result(CU(cuSurfRefSetArray)(s, rt_array(array), 0)) : e;
}

cudaError_t
rt_cudaGetSurfaceReference(const surfaceReference **surfref, const void *symbol)
{
    CUsurfref s;

    if (!surfref)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_surface_reference(symbol, &s);
    if (e == cudaSuccess)
        *surfref = symbol;
    return e;
}
