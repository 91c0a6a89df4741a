/* SPDX-License-Identifier: Apache-2.0
 * CUDAWAY_TEXTURES=native: descriptors of AMD's image and typed-buffer instructions for textures that these can read. HIP makes
 * them, as texture objects over memory in texture.c's layout; they are copied into the description, whose other half serves the
 * exact code. Both read linear memory, so copies, surfaces and arrays are the same in both modes. */
#include "impl/hip/device.h"

#include "impl/base/env.h"
#include "impl/base/log.h"
#include "impl/texture.h"
#include "jit/jit.h"

#include <string.h>

/* Fields of descriptors that all processors have in the same place (ISA documents, "Image Resource Definition", "Sampler Resource"). */
enum { SELECT_BITS = 3, CLAMP_BITS = 3, TRUNC_COORD = 1 << 27, TYPE_SHIFT = 28, TYPE_3D = 10, TYPE_2D_ARRAY = 13 };
/* DEPTH, in the low bits of word 4. gfx9 has the pitch above it; later processors have no pitch for images with a depth: it is
 * the width's, rounded up. */
enum { DEPTH_BITS = 13 };

bool
hip_images_wanted(int device)
{
    const char *v = cw_env_get(CW_ENV_TEXTURES), *name = cw_env_name(CW_ENV_TEXTURES);
    static atomic_bool said;
    int images = 1;
    if (v && strcmp(v, "exact") && strcmp(v, "native") && !atomic_exchange(&said, true))
        cw_warn("%s=%s is neither exact nor native; exact is taken", name, v);
    if (!v || strcmp(v, "native"))
        return false;
    if (hip.hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, device) != hipSuccess) {
        (void)hip.hipGetLastError();
        images = 1;
    }
    const char *lacks = !cwj_amd_images(hip_arch(device)) || !images ? "image instructions" :
                        !hip.hipTexObjectCreate || !hip.hipTexObjectDestroy ? "texture objects in its HIP runtime" : NULL;
    if (lacks && !atomic_exchange(&said, true))
        cw_warn("%s=native: %s has no %s; exact is taken", name, hip_arch(device), lacks);
    return !lacks;
}

static int
hip_format(enum cwb_format f)
{
    static const uint8_t of[] = { HIP_AD_FORMAT_UNSIGNED_INT8, HIP_AD_FORMAT_UNSIGNED_INT16, HIP_AD_FORMAT_UNSIGNED_INT32, HIP_AD_FORMAT_SIGNED_INT8,
        HIP_AD_FORMAT_SIGNED_INT16, HIP_AD_FORMAT_SIGNED_INT32, HIP_AD_FORMAT_HALF, HIP_AD_FORMAT_FLOAT };
    return of[f];
}

static bool
has_depth(const struct cw_texture *t)
{
    return t->layered || t->dims == 3;
}

static uint64_t
base_of(const struct cw_texture *t)
{
    return (uintptr_t)t->level[0].base + (uint64_t)t->first_layer * t->level[0].slice;
}

/* Of rows without a gap. */
static size_t
row_pitch(const struct cw_texture *t)
{
    return ((size_t)t->level[0].width * t->element + HIP_IMAGE_PITCH - 1) & ~(size_t)(HIP_IMAGE_PITCH - 1);
}

/* Why the instructions cannot do what this texture asks for, or NULL. */
static const char *
unfit(const struct cw_texture *t)
{
    static const float none[4];
    const struct cw_level *l = &t->level[0];
    if (t->linear_memory)
        return (uintptr_t)l->base % HIP_IMAGE_PITCH ? "it begins at no multiple of 256 bytes" : NULL;
    if (t->nlevels > 1 || t->cube)
        return "it has levels or faces";
    if (l->depth > 1 << DEPTH_BITS)
        return "it has more than 8192 slices or layers";
    if (t->srgb)
        return "it is sRGB";
    if (t->linear && !t->as_float && t->format != CWB_FORMAT_U8 && t->format != CWB_FORMAT_U16)
        return "its filter is one of integers with sign or of 32 bits";
    for (unsigned k = 0; k < t->dims; k++)
        if (t->address[k] == CWB_ADDRESS_BORDER && memcmp(t->border, none, sizeof none))
            return "its border has a colour";
    if ((uintptr_t)l->base % HIP_IMAGE_PITCH || (l->height > 1 && l->pitch % HIP_IMAGE_PITCH) || (has_depth(t) && l->pitch != row_pitch(t)))
        return "its rows begin at no multiples of 256 bytes";
    return NULL;
}

static void
resource_desc(const struct cwb_texture_desc *d, const struct cw_texture *t, struct hip_resource_desc *r)
{
    const struct cw_level *l = &t->level[0];
    memset(r, 0, sizeof *r);
    r->resType = t->linear_memory ? HIP_RESOURCE_TYPE_LINEAR : HIP_RESOURCE_TYPE_PITCH2D;
    if (t->linear_memory) {
        r->res.linear.devPtr = (hipDeviceptr_t)(uintptr_t)l->base;
        r->res.linear.format = hip_format(d->format);
        r->res.linear.numChannels = d->channels;
        r->res.linear.sizeInBytes = (size_t)l->width * t->element;
        return;
    }
    r->res.pitch2D.devPtr = (hipDeviceptr_t)(uintptr_t)base_of(t);
    r->res.pitch2D.format = hip_format(d->format);
    r->res.pitch2D.numChannels = d->channels;
    r->res.pitch2D.width = l->width;
    r->res.pitch2D.height = l->height;
    r->res.pitch2D.pitchInBytes = l->height > 1 ? l->pitch : row_pitch(t);
}

/* Fields that HIP's interface cannot express: address modes by the dimension, zero for missing channels, truncated point
 * coordinates; slices and layers over linear memory. */
static void
amend(const struct cw_texture *t, bool gfx9, struct cw_texture *out)
{
    static const uint8_t clamp[] = { [CWB_ADDRESS_WRAP] = 0, [CWB_ADDRESS_CLAMP] = 2, [CWB_ADDRESS_MIRROR] = 1, [CWB_ADDRESS_BORDER] = 6 };
    for (unsigned c = t->channels; c < 4; c++)
        out->resource[3] &= ~(7u << SELECT_BITS * c);
    if (t->linear_memory)
        return;
    if (has_depth(t)) {
        uint32_t type = t->layered ? TYPE_2D_ARRAY : TYPE_3D, deepest = t->layered ? t->last_layer - t->first_layer : t->level[0].depth - 1;
        out->resource[3] = (out->resource[3] & ((1u << TYPE_SHIFT) - 1)) | type << TYPE_SHIFT;
        out->resource[4] = (gfx9 ? out->resource[4] & ~((1u << DEPTH_BITS) - 1) : 0) | deepest;
    }
    out->sampler[0] &= ~0x1ffu;
    for (unsigned k = 0; k < 3; k++)
        out->sampler[0] |= (uint32_t)clamp[t->address[k]] << CLAMP_BITS * k;
    if (!t->linear)
        out->sampler[0] |= TRUNC_COORD;
}

/* If HIP copied the memory, later writes to the array would not show in the image. */
static bool
is_ours(const struct cw_texture *t, const uint32_t *w)
{
    uint64_t low = w[0], base = t->linear_memory ? low | (uint64_t)(w[1] & 0xffff) << 32 : (low | (uint64_t)(w[1] & 0xff) << 32) << 8;
    return base == base_of(t);
}

static void
say(struct cwb_context *c, const char *why)
{
    if (!atomic_exchange(&c->fell_back, true))
        cw_warn("%s=native: a texture is read by exact code, since %s (others may be, too; CUDAWAY_LOG=debug names each)",
                cw_env_name(CW_ENV_TEXTURES), why);
    else
        cw_debug("a texture is read by exact code, since %s", why);
}

hipTextureObject_t
hip_native_texture(struct cwb_context *c, const struct cwb_texture_desc *d, struct cw_texture *t)
{
    struct hip_resource_desc resource;
    struct hip_texture_desc how = { .filterMode = t->linear ? HIP_TR_FILTER_MODE_LINEAR : HIP_TR_FILTER_MODE_POINT };
    uint32_t w[HIP_OBJECT_SIZE_DWORD];
    hipTextureObject_t object = NULL;
    const char *why = unfit(t);
    if (why) {
        say(c, why);
        return NULL;
    }
    for (unsigned k = 0; k < 3; k++)
        how.addressMode[k] = HIP_TR_ADDRESS_MODE_CLAMP;     /* amend() sets the right ones, some of which HIP may refuse */
    bool scaled = t->linear && !t->as_float;
    how.flags = (t->as_float || scaled ? 0 : HIP_TRSF_READ_AS_INTEGER) | (t->normalized && !t->linear_memory ? HIP_TRSF_NORMALIZED_COORDINATES : 0);
    resource_desc(d, t, &resource);
    hip_use(c);
    if (hip.hipTexObjectCreate(&object, &resource, &how, NULL) != hipSuccess) {
        (void)hip.hipGetLastError();
        say(c, "HIP has no texture object of its size or format");
        return NULL;
    }
    if (hip.hipMemcpy(w, object, sizeof w, hipMemcpyDefault) != hipSuccess || !is_ours(t, w)) {
        (void)hip.hipGetLastError();
        (void)hip.hipTexObjectDestroy(object);
        say(c, "HIP made a copy of it");
        return NULL;
    }
    memcpy(t->resource, w, sizeof t->resource);
    memcpy(t->sampler, w + HIP_SAMPLER_OBJECT_OFFSET_DWORD, sizeof t->sampler);
    amend(t, cwj_amd_wave64(hip_arch(c->device)), t);
    enum cw_native kind = t->linear_memory ? CW_NATIVE_BUFFER : t->layered ? CW_NATIVE_LAYERS : t->dims == 3 ? CW_NATIVE_VOLUME : CW_NATIVE_IMAGE;
    t->native = (uint8_t)(kind | (scaled ? CW_NATIVE_SCALED : 0));
    t->scale = t->format == CWB_FORMAT_U8 ? 255.0f : 65535.0f;
    return object;
}
