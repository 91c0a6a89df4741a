/* SPDX-License-Identifier: Apache-2.0
 * Shared by tex_inst.c (what the instructions ask for) and tex_filter.c (texels, positions, weights, sums). */
#ifndef CWH_TEX_PRIVATE_H
#define CWH_TEX_PRIVATE_H

#include "impl/host/tex_math.h"

/* One texel or sample. `u`: integers with 8 or 16 bits extended, or the bits of a float. */
struct texel {
    float    f[4];
    uint32_t u[4];
};

/* Where to sample: coordinates as given, in 1 to 3 dimensions. A cube map's are on its face. */
struct tex_place {
    unsigned dims;
    float    p[3];
    int32_t  offset[3];                 /* texels to add */
    int64_t  layer;                     /* array layer; of a cube map the first of its six faces */
    unsigned face;
    bool     cube;
};

/* Cube maps: the face that the direction points at, and the coordinates on it in [0, 1]. */
unsigned cwh_cube_face(const float d[3], float st[2]);

float    cwh_half_to_float(uint16_t h);
uint16_t cwh_float_to_half(float f);            /* round to nearest even; NaN is 0x7fff */
uint16_t cwh_float_to_half_rz(float f);

/* The texel at integer coordinates of a level; z is a slice (3D), addressed, or a layer, taken as it is. */
void cwh_texel_at(const struct cw_texture *t, const struct cw_level *l, const int64_t i[3], bool z_is_layer, struct texel *out);
/* `lod` in 1/256, before the clamps; `biased`: and before the bias, which plain fetches do not get. */
void cwh_tex_sample(const struct cw_texture *t, const struct tex_place *at, int32_t lod, bool biased, struct texel *out);
/* The four texels that 2D linear filtering weighs: (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1). */
void cwh_tex_footprint(const struct cw_texture *t, const struct tex_place *at, struct texel out[4]);

#endif
