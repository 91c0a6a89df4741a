/* SPDX-License-Identifier: Apache-2.0
 * Shared by tex_inst.c (instructions) and tex_filter.c (texels, positions, weights, sums). */
#ifndef CWJ_BUILTINS_CORE_TEX_CORE_H
#define CWJ_BUILTINS_CORE_TEX_CORE_H

#include "jit/builtins/core/half.h"

/* A texel: the bits of floats if these are filtered as floats (float formats, colours in sRGB), else extended integers. Or the result of a
 * sample. */
struct texel {
    uint32_t w[4];
};

/* What to read: a sample; the texel at integer coordinates; one channel of the four texels that linear filtering in two dimensions would
 * weigh. */
enum tex_read { TEX_FILTER, TEX_TEXEL, TEX_GATHER };

/* Where to read: the given coordinates, integers or the bits of floats, in 1 to 3 dimensions. For a cube map they are relative to its face. */
struct tex_place {
    unsigned dims;
    uint32_t word[3];
    int32_t  offset[3];                 /* texels to add */
    int64_t  layer;                     /* array layer; for a cube map, the first of its six faces */
    unsigned face;
    bool     cube;
    bool     array_1d;                  /* one dimension without layers */
    unsigned channel;                   /* the channel to gather */
};

/* The outcome of a surface access (tex_inst.c). */
enum tex_access { TEX_ACCESS_DONE, TEX_ACCESS_OUTSIDE, TEX_ACCESS_MISALIGNED };

/* Cube maps: the face in the direction of d, and the coordinates on it in [0, 1]. */
unsigned cwh_cube_face(const float d[3], float st[2]);

/* lod: for TEX_FILTER in 1/256, before the clamps and, if `biased`, before the bias, which plain fetches do not get; otherwise the level.
 * With `floats` the result is floats, even for integers that are not scaled. */
void cwh_tex_read(const struct cw_texture *t, const struct tex_place *at, enum tex_read read, int32_t lod, bool biased, bool floats, struct texel *out);

#endif
