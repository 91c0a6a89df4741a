/* SPDX-License-Identifier: Apache-2.0
 * Arrays, textures and surfaces as memory and a description of it, for devices where texture instructions are computed: the
 * host (impl/host/texture.c) and AMD GPUs (impl/hip/texture.c, jit/devlib/tex.c). Device code includes this header, too. */
#ifndef CW_TEXTURE_H
#define CW_TEXTURE_H

#include "impl/backend.h"

enum { CW_MAX_LEVELS = 16 };

/* Memory that the device reads and writes. */
#ifdef __AMDGCN__
#define CW_DEVICE_MEMORY __attribute__((address_space(1)))
#else
#define CW_DEVICE_MEMORY
#endif
typedef CW_DEVICE_MEMORY uint8_t cw_texel_byte;

/* One mip level, or the whole of a linear or pitched resource. */
struct cw_level {
    cw_texel_byte *base;
    uint32_t width, height, depth;      /* texels; at least 1. Layered and cube: depth = layers (cube: x 6) */
    size_t   pitch, slice;              /* bytes */
};

/* What of AMD's instructions reads the texture (impl/hip/native.c): none, those of images of two dimensions (also where it has one), of three, of
 * arrays of images, those of buffers with a format. Ored to it, SCALED: from 0 to 1, as the filter is one of integers without sign up to `scale`. */
enum cw_native { CW_NATIVE_NONE, CW_NATIVE_IMAGE, CW_NATIVE_VOLUME, CW_NATIVE_LAYERS, CW_NATIVE_BUFFER, CW_NATIVE_SCALED = 16 };

/* A texture or surface object, as the instructions read it. */
struct cw_texture {
    uint64_t handle;
    bool     surface;
    uint8_t  native;                    /* enum cw_native */
    bool     linear_memory;             /* kind LINEAR: fetches outside give 0 */
    uint8_t  format;                    /* enum cwb_format */
    uint8_t  channels, element, bytes;  /* bytes of a texel; of one channel */
    uint8_t  address[3];                /* enum cwb_address; wrap and mirror need normalized coordinates */
    bool     linear, mip_linear, normalized, srgb;
    bool     as_float;                  /* texels become floats: float formats, or 8/16-bit integers scaled to [0,1] or [-1,1] */
    bool     plain;                     /* one level of 1 or 2 dimensions; no border; floats, halves, or 8 or 16 bits without sign */
    bool     fast;                      /* tex_fast.c takes 1D and 2D fetches of it: plain, clamped, not of halves */
    bool     cube, layered, seamless;
    uint8_t  dims;                      /* 1, 2 or 3, array layers and faces apart */
    float    mip_bias, min_level, max_level;
    float    border[4];
    uint32_t nlevels, first_layer, last_layer;
    uint32_t resource[8], sampler[4];   /* of AMD's instructions; where native says so */
    float    scale;
    struct cw_level level[CW_MAX_LEVELS];
};

/* An array: its levels are one block of memory. */
struct cw_array {
    struct cwb_array_desc desc;
    uint32_t element;                   /* bytes of a texel */
    uint64_t memory;                    /* address, or 0 */
    size_t   size;
    struct cw_level level[CW_MAX_LEVELS];
};

uint32_t cw_format_bytes(enum cwb_format f);

/* Everything but the memory: size and levels, relative to address 0. Rows begin at multiples of `align` bytes, a power of two.
 * CWB_INVALID, CWB_NOMEM. */
cwb_result cw_array_layout(const struct cwb_array_desc *d, uint32_t align, struct cw_array *a);
/* Put it at this address. */
void       cw_array_place(struct cw_array *a, uint64_t memory);
/* Rewrite an ARRAY end of a copy to the memory behind it, of kind `loc`. */
cwb_result cw_array_side(struct cwb_side *s, enum cwb_loc loc);

/* All but the handle. d->array is a struct cw_array. */
cwb_result cw_texture_describe(const struct cwb_texture_desc *d, struct cw_texture *t);
cwb_result cw_surface_describe(const struct cw_array *a, uint32_t level, struct cw_texture *t);

#endif
