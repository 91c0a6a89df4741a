/* SPDX-License-Identifier: Apache-2.0
 * Resources and samplers of image and typed-buffer instructions, converted from and to the bits in scalar registers. Facts:
 * "Image Resource Definition", "Sampler Resource" and "Buffer Resource Descriptor" of AMD's ISA documents (Vega, RDNA1 to
 * RDNA4), where those are silent, the descriptors that AMD's open HSA runtime makes. Linear images of one level only. */
#ifndef GFX_DESCRIPTOR_H
#define GFX_DESCRIPTOR_H

#include "tools/gfxemu/gfx.h"

enum gfx_number { NUM_UNORM, NUM_SNORM, NUM_USCALED, NUM_SSCALED, NUM_UINT, NUM_SINT, NUM_FLOAT, NUM_SRGB };

struct gfx_format {
    uint8_t channels, bits;             /* of a channel: 8, 16, 32 */
    uint8_t number;                     /* enum gfx_number */
};

/* Values of TYPE; bit 2: an array, or a cube. */
enum gfx_image_type { IMG_1D = 8, IMG_2D, IMG_3D, IMG_CUBE, IMG_1D_ARRAY, IMG_2D_ARRAY };
enum gfx_select { SELECT_0 = 0, SELECT_1 = 1, SELECT_R = 4 };

struct gfx_image {
    uint64_t base;                      /* bytes; a multiple of 256 */
    struct gfx_format format;
    uint8_t  type, select[4];           /* the source of each component of the result */
    uint32_t width, height, depth;      /* texels; arrays: depth = slices from the base of the memory on */
    uint32_t first;                     /* the first slice that can be addressed */
    uint32_t pitch;                     /* texels from row to row */
};

/* A buffer of elements of one format. */
struct gfx_elements {
    uint64_t base;
    struct gfx_format format;
    uint8_t  select[4], check;          /* OOB_SELECT */
    uint32_t stride, records;
};

enum gfx_clamp { CLAMP_WRAP, CLAMP_MIRROR, CLAMP_LAST_TEXEL, CLAMP_MIRROR_ONCE, CLAMP_BORDER = 6 };

struct gfx_sampler {
    uint8_t clamp[3];                   /* enum gfx_clamp */
    bool    unnormalized, truncate, linear, linear_z;
    uint8_t border;                     /* 0: (0, 0, 0, 0), 1: (0, 0, 0, 1), 2: (1, 1, 1, 1) */
};

unsigned gfx_format_bytes(const struct gfx_format *f);

/* From registers. They return an error text, or NULL. */
const char *gfx_image_decode(const struct gfx_target *t, const uint32_t w[8], struct gfx_image *out);
const char *gfx_elements_decode(const struct gfx_target *t, const uint32_t w[4], struct gfx_elements *out);
const char *gfx_sampler_decode(const struct gfx_target *t, const uint32_t w[4], struct gfx_sampler *out);

/* To registers, for the HIP functions. False where the processor has no such format or cannot have that pitch. */
bool gfx_image_encode(const struct gfx_target *t, const struct gfx_image *i, uint32_t w[8]);
bool gfx_elements_encode(const struct gfx_target *t, const struct gfx_elements *e, uint32_t w[4]);
void gfx_sampler_encode(const struct gfx_sampler *s, uint32_t w[4]);

#endif
