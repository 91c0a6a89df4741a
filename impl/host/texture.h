/* SPDX-License-Identifier: Apache-2.0
 * Arrays, textures and surfaces of the host device. A handle is an index into a process-wide table with a generation;
 * looking one up takes no lock. An object that a queued kernel may still use is kept until that kernel has finished
 * (device.c decides when to call cwh_texobj_free). */
#ifndef CWH_TEXTURE_H
#define CWH_TEXTURE_H

#include "impl/backend.h"

enum { CWH_MAX_LEVELS = 16 };

/* One mip level, or the whole of a linear or pitched resource. */
struct cwh_level {
    uint8_t *base;
    uint32_t width, height, depth;      /* texels; at least 1. Layered and cube: depth = layers (cube: x 6) */
    size_t   pitch, slice;              /* bytes */
};

struct cwh_array {
    struct cwb_array_desc desc;
    uint32_t element;                   /* bytes of a texel */
    uint64_t memory;                    /* device memory, or 0 */
    size_t   size;
    struct cwh_level level[CWH_MAX_LEVELS];
};

struct cwh_texobj {
    uint64_t handle;
    bool     surface;
    bool     linear_memory;             /* kind LINEAR: fetches outside give 0 */
    enum cwb_format format;
    uint8_t  channels, element, bytes;  /* bytes of a texel; of one channel */
    uint8_t  address[3];                /* enum cwb_address; wrap and mirror need normalized coordinates */
    bool     linear, mip_linear, normalized, srgb;
    bool     as_float;                  /* texels become floats: float formats, or 8/16-bit integers scaled to [0,1] or [-1,1] */
    bool     fast;                      /* tex_fast.c takes 2D fetches of it */
    bool     cube, layered, seamless;
    uint8_t  dims;                      /* 1, 2 or 3, array layers and faces apart */
    float    mip_bias, min_level, max_level;
    float    border[4];
    uint32_t nlevels, first_layer, last_layer;
    struct cwh_level level[CWH_MAX_LEVELS];
};

uint32_t cwh_format_bytes(enum cwb_format f);

cwb_result cwh_array_create(const struct cwb_array_desc *d, struct cwh_array **out);
void       cwh_array_destroy(struct cwh_array *a);
/* Rewrite an ARRAY end of a copy to the memory behind it. */
cwb_result cwh_array_side(struct cwb_side *s);

cwb_result cwh_texture_create(const struct cwb_texture_desc *d, struct cwh_texobj **out);
cwb_result cwh_surface_create(const struct cwh_array *a, uint32_t level, struct cwh_texobj **out);
/* NULL when the handle is not one. */
struct cwh_texobj *cwh_texobj_get(uint64_t handle);
void cwh_texobj_free(struct cwh_texobj *t);

/* tex_fast.c: a fetch of level 0 from a `fast` object, for all lanes. geom is 1D or 2D. coord: [component][lane].
 * False: nothing was done, as some lane needs more care. */
struct cwh_tex;
bool cwh_tex_fast(const struct cwh_texobj *t, const struct cwh_tex *x);
bool cwh_tex_fast_avx2(const struct cwh_texobj *t, const struct cwh_tex *x);   /* x86-64 CPUs that have it */

#endif
