/* SPDX-License-Identifier: Apache-2.0
 * HIP's texture objects on the GPU-less device: memory with a resource and a sampler in the processor's own layout, which image
 * instructions read. Linear and pitched memory. */
#include "impl/hip/hip.h"
#include "tools/gfxemu/descriptor.h"
#include "tools/gfxemu/texture.h"

#include <string.h>

__attribute__((visibility("default"))) hipError_t hipTexObjectCreate(hipTextureObject_t *object, const struct hip_resource_desc *resource,
                                                                     const struct hip_texture_desc *texture, const struct hip_view_desc *view);
__attribute__((visibility("default"))) hipError_t hipTexObjectDestroy(hipTextureObject_t object);
hipError_t hipMalloc(void **ptr, size_t size);
hipError_t hipFree(void *ptr);

static bool
format_of(int format, unsigned channels, unsigned flags, struct gfx_format *f)
{
    bool as_integer = flags & HIP_TRSF_READ_AS_INTEGER;
    static const struct { int hip; uint8_t bits, integer, number; } formats[] = {
        { HIP_AD_FORMAT_UNSIGNED_INT8, 8, NUM_UINT, NUM_UNORM }, { HIP_AD_FORMAT_UNSIGNED_INT16, 16, NUM_UINT, NUM_UNORM },
        { HIP_AD_FORMAT_UNSIGNED_INT32, 32, NUM_UINT, NUM_UINT }, { HIP_AD_FORMAT_SIGNED_INT8, 8, NUM_SINT, NUM_SNORM },
        { HIP_AD_FORMAT_SIGNED_INT16, 16, NUM_SINT, NUM_SNORM }, { HIP_AD_FORMAT_SIGNED_INT32, 32, NUM_SINT, NUM_SINT },
        { HIP_AD_FORMAT_HALF, 16, NUM_FLOAT, NUM_FLOAT }, { HIP_AD_FORMAT_FLOAT, 32, NUM_FLOAT, NUM_FLOAT },
    };
    for (unsigned k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].hip == format && (channels == 1 || channels == 2 || channels == 4)) {
            *f = (struct gfx_format){ (uint8_t)channels, formats[k].bits, as_integer ? formats[k].integer : formats[k].number };
            return true;
        }
    return false;
}

/* HIP's rule: a missing alpha is one, other missing channels are zero. */
static void
select_channels(unsigned channels, uint8_t select[4])
{
    for (unsigned k = 0; k < 4; k++)
        select[k] = (uint8_t)(k < channels ? SELECT_R + k : k == 3 ? SELECT_1 : SELECT_0);
}

static bool
describe(const struct gfx_target *t, const struct hip_resource_desc *r, const struct hip_texture_desc *d, uint32_t w[8])
{
    if (r->resType == HIP_RESOURCE_TYPE_LINEAR) {
        struct gfx_elements e = { .base = (uintptr_t)r->res.linear.devPtr };
        if (!format_of(r->res.linear.format, r->res.linear.numChannels, d->flags, &e.format))
            return false;
        select_channels(e.format.channels, e.select);
        e.stride = gfx_format_bytes(&e.format);
        e.records = (uint32_t)(r->res.linear.sizeInBytes / e.stride * e.stride);    /* in bytes, as in ROCm's runtime */
        return gfx_elements_encode(t, &e, w);
    }
    if (r->resType != HIP_RESOURCE_TYPE_PITCH2D)
        return false;
    struct gfx_image i = { .base = (uintptr_t)r->res.pitch2D.devPtr, .type = IMG_2D, .width = (uint32_t)r->res.pitch2D.width,
                           .height = (uint32_t)r->res.pitch2D.height, .depth = 1 };
    if (!format_of(r->res.pitch2D.format, r->res.pitch2D.numChannels, d->flags, &i.format) || !i.width || !i.height ||
        r->res.pitch2D.pitchInBytes % gfx_format_bytes(&i.format))
        return false;
    select_channels(i.format.channels, i.select);
    i.pitch = (uint32_t)(r->res.pitch2D.pitchInBytes / gfx_format_bytes(&i.format));
    return gfx_image_encode(t, &i, w);
}

hipError_t
hipTexObjectCreate(hipTextureObject_t *object, const struct hip_resource_desc *resource, const struct hip_texture_desc *texture,
                   const struct hip_view_desc *view)
{
    static const uint8_t clamp[] = { CLAMP_WRAP, CLAMP_LAST_TEXEL, CLAMP_MIRROR, CLAMP_BORDER };
    const struct gfx_target *t = gfx_hip_target();
    uint32_t w[HIP_OBJECT_SIZE_DWORD] = { 0 };
    void *p = NULL;
    if (!t || t->family == GFX940 || t->family == GFX950)
        return hipErrorNotSupported;
    if (!object || !resource || !texture || view || resource->flags || (unsigned)texture->addressMode[0] > 3 || !describe(t, resource, texture, w))
        return hipErrorInvalidValue;
    /* One mode for all dimensions: the first one's. */
    uint8_t mode = clamp[texture->addressMode[0]];
    struct gfx_sampler s = { .clamp = { mode, mode, mode }, .unnormalized = !(texture->flags & HIP_TRSF_NORMALIZED_COORDINATES),
                             .linear = texture->filterMode == HIP_TR_FILTER_MODE_LINEAR };
    gfx_sampler_encode(&s, w + HIP_SAMPLER_OBJECT_OFFSET_DWORD);
    hipError_t e = hipMalloc(&p, sizeof w);
    if (e != hipSuccess)
        return e;
    memcpy(p, w, sizeof w);
    *object = p;
    return hipSuccess;
}

hipError_t
hipTexObjectDestroy(hipTextureObject_t object)
{
    return hipFree(object);
}
