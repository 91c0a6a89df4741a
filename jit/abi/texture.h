/* SPDX-License-Identifier: Apache-2.0
 * Textures and surfaces as memory and a description, for devices that compute their instructions. impl makes them; the host's engine
 * (impl/host) and kernels on AMD GPUs (jit/builtins) read them. Device code includes this header, too. */
#ifndef CWJ_ABI_TEXTURE_H
#define CWJ_ABI_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cwb_format {                       /* of one channel */
    CWB_FORMAT_U8, CWB_FORMAT_U16, CWB_FORMAT_U32, CWB_FORMAT_S8, CWB_FORMAT_S16, CWB_FORMAT_S32, CWB_FORMAT_F16, CWB_FORMAT_F32,
};

enum cwb_address { CWB_ADDRESS_WRAP, CWB_ADDRESS_CLAMP, CWB_ADDRESS_MIRROR, CWB_ADDRESS_BORDER };

enum { CW_MAX_LEVELS = 16 };

/* Memory accessed by the device. */
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

/* AMD's instructions that can read the texture (impl/hip/native.c): none; images of one or two dimensions; of three; arrays of images;
 * typed buffers. SCALED, or'ed to these: values in [0, 1], for filtering of unsigned integers up to `scale`. */
enum cw_native { CW_NATIVE_NONE, CW_NATIVE_IMAGE, CW_NATIVE_VOLUME, CW_NATIVE_LAYERS, CW_NATIVE_BUFFER, CW_NATIVE_SCALED = 16 };

/* A texture or surface object, for the instructions. */
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
    uint8_t  dims;                      /* 1, 2 or 3, not counting array layers and faces */
    float    mip_bias, min_level, max_level;
    float    border[4];
    uint32_t nlevels, first_layer, last_layer;
    uint32_t resource[8], sampler[4];   /* for AMD's instructions; valid as `native` says */
    float    scale;
    struct cw_level level[CW_MAX_LEVELS];
};

#endif
