/* SPDX-License-Identifier: Apache-2.0
 * Fetches of level 0 of plain 1D and 2D textures with clamped addresses: 8 and 16-bit unsigned and float texels. The
 * coordinates of all lanes are worked out in loops that vectorise; lanes that are switched off read clamped places too.
 * The arithmetic is tex.c's: both round each weight to 8 fraction bits and sum integer texels exactly. */
#include "impl/host/texture.h"

#include "jit/host/abi.h"
#include "jit/ptx/ir.h"

#include <string.h>

enum { MAX_LANES = 32 };

#define INLINE static inline __attribute__((always_inline))

/* Coordinates and results are words that hold floats. They are read and written in place: a copy in pieces of another
 * size than its reader's makes the CPU wait for the stores. For the same reason texels go into vectors, not arrays. */
typedef float float_word __attribute__((may_alias));
typedef uint32_t lanes8 __attribute__((vector_size(32), aligned(4), may_alias));
#define LANES8(expr) { expr(0), expr(1), expr(2), expr(3), expr(4), expr(5), expr(6), expr(7) }

/* Where each lane reads in one dimension: texels a and b, weight w/256 of b. */
struct axis {
    int32_t a[MAX_LANES], b[MAX_LANES];
    uint32_t w[MAX_LANES];
};

static inline float
bounded(float v, float lo, float hi)
{
    v = v > lo ? v : lo;        /* NaN: lo */
    return v < hi ? v : hi;
}

INLINE void
axis_point(struct axis *x, const uint32_t *coord, bool is_float, float scale, uint32_t size, unsigned width)
{
    int32_t last = (int32_t)size - 1;
    if (!is_float) {
        for (unsigned i = 0; i < width; i++) {
            int32_t v = (int32_t)coord[i];
            v = v > 0 ? v : 0;
            x->a[i] = v < last ? v : last;
        }
        return;
    }
    const float_word *f = (const float_word *)coord;
    float top = (float)last;
    for (unsigned i = 0; i < width; i++)
        x->a[i] = (int32_t)bounded(f[i] * scale, 0.0f, top);
}

INLINE void
axis_linear(struct axis *x, const uint32_t *coord, float scale, uint32_t size, unsigned width)
{
    const float_word *f = (const float_word *)coord;
    float top = (float)size;
    int32_t last = (int32_t)size - 1;
    for (unsigned i = 0; i < width; i++) {
        float v = bounded(f[i] * scale - 0.5f, -1.0f, top);
        int32_t a = (int32_t)(v + 1.0f) - 1, b = a + 1;
        x->w[i] = (uint32_t)((v - (float)a) * 256.0f + 0.5f);
        a = a > 0 ? a : 0;
        x->a[i] = a < last ? a : last;
        b = b > 0 ? b : 0;
        x->b[i] = b < last ? b : last;
    }
}

INLINE uint32_t
load(const uint8_t *p, unsigned bytes)
{
    if (bytes == 1)
        return *p;
    if (bytes == 2) {
        uint16_t v;
        memcpy(&v, p, 2);
        return v;
    }
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

INLINE void
fetch_point(const struct cwh_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned bytes, unsigned channels,
            uint32_t out[4][MAX_LANES])
{
    unsigned i = 0;
    for (; i + 8 <= width; i += 8) {
        const uint8_t *p[8];
        for (unsigned k = 0; k < 8; k++)
            p[k] = l->base + (size_t)(uint32_t)y->a[i + k] * l->pitch + (size_t)(uint32_t)x->a[i + k] * bytes * channels;
        for (unsigned c = 0; c < channels; c++) {
#define TEXEL(k) load(p[k] + c * bytes, bytes)
            lanes8 v = LANES8(TEXEL);
#undef TEXEL
            *(lanes8 *)&out[c][i] = v;
        }
    }
    for (; i < width; i++) {
        const uint8_t *p = l->base + (size_t)(uint32_t)y->a[i] * l->pitch + (size_t)(uint32_t)x->a[i] * bytes * channels;
        for (unsigned c = 0; c < channels; c++)
            out[c][i] = load(p + c * bytes, bytes);
    }
}

/* Integer texels: the sum of weight products times texel, 16 fraction bits. */
INLINE void
fetch_linear(const struct cwh_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned bytes, unsigned channels,
             uint32_t out[4][MAX_LANES])
{
    unsigned i = 0;
    for (; i + 8 <= width; i += 8) {
        const uint8_t *top[8], *low[8];
        size_t xa[8], xb[8];
        for (unsigned k = 0; k < 8; k++) {
            top[k] = l->base + (size_t)(uint32_t)y->a[i + k] * l->pitch;
            low[k] = l->base + (size_t)(uint32_t)y->b[i + k] * l->pitch;
            xa[k] = (size_t)(uint32_t)x->a[i + k] * bytes * channels;
            xb[k] = (size_t)(uint32_t)x->b[i + k] * bytes * channels;
        }
        lanes8 u = *(const lanes8 *)&x->w[i], v = *(const lanes8 *)&y->w[i];
        for (unsigned c = 0; c < channels; c++) {
#define TEXEL_TA(k) load(top[k] + xa[k] + c * bytes, bytes)
#define TEXEL_TB(k) load(top[k] + xb[k] + c * bytes, bytes)
#define TEXEL_LA(k) load(low[k] + xa[k] + c * bytes, bytes)
#define TEXEL_LB(k) load(low[k] + xb[k] + c * bytes, bytes)
            lanes8 ta = LANES8(TEXEL_TA), tb = LANES8(TEXEL_TB), la = LANES8(TEXEL_LA), lb = LANES8(TEXEL_LB);
#undef TEXEL_TA
#undef TEXEL_TB
#undef TEXEL_LA
#undef TEXEL_LB
            *(lanes8 *)&out[c][i] = (ta * (256 - u) + tb * u) * (256 - v) + (la * (256 - u) + lb * u) * v;
        }
    }
    for (; i < width; i++) {
        const uint8_t *top = l->base + (size_t)(uint32_t)y->a[i] * l->pitch, *low = l->base + (size_t)(uint32_t)y->b[i] * l->pitch;
        size_t xa = (size_t)(uint32_t)x->a[i] * bytes * channels, xb = (size_t)(uint32_t)x->b[i] * bytes * channels;
        uint32_t u = x->w[i], v = y->w[i];
        for (unsigned c = 0; c < channels; c++) {
            uint32_t t = load(top + xa + c * bytes, bytes) * (256 - u) + load(top + xb + c * bytes, bytes) * u;
            uint32_t b = load(low + xa + c * bytes, bytes) * (256 - u) + load(low + xb + c * bytes, bytes) * u;
            out[c][i] = t * (256 - v) + b * v;
        }
    }
}

INLINE float
as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

INLINE uint32_t
as_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

INLINE void
fetch_linear_float(const struct cwh_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned channels,
                   uint32_t out[4][MAX_LANES])
{
    for (unsigned i = 0; i < width; i++) {
        const uint8_t *top = l->base + (size_t)(uint32_t)y->a[i] * l->pitch, *low = l->base + (size_t)(uint32_t)y->b[i] * l->pitch;
        size_t xa = (size_t)(uint32_t)x->a[i] * 4 * channels, xb = (size_t)(uint32_t)x->b[i] * 4 * channels;
        float u = (float)x->w[i] / 256.0f, v = (float)y->w[i] / 256.0f;
        for (unsigned c = 0; c < channels; c++) {
            float t = as_float(load(top + xa + 4 * c, 4)) * (1.0f - u) + as_float(load(top + xb + 4 * c, 4)) * u;
            float b = as_float(load(low + xa + 4 * c, 4)) * (1.0f - u) + as_float(load(low + xb + 4 * c, 4)) * u;
            out[c][i] = as_bits(t * (1.0f - v) + b * v);
        }
    }
}

#define SHAPES(X) X(1, 1) X(1, 2) X(1, 4) X(2, 1) X(2, 2) X(2, 4) X(4, 1) X(4, 2) X(4, 4)

INLINE void
fetch(const struct cwh_texobj *t, const struct cwh_tex *x, unsigned width)
{
    const struct cwh_level *l = &t->level[0];
    bool is_float = x->coord_type == PTX_F32, linear = t->linear && is_float;
    unsigned bytes = t->bytes;
    struct axis ax, ay;
    uint32_t texel[4][MAX_LANES];
    const uint32_t *cy = x->coord + width;
    float sx = t->normalized ? (float)l->width : 1.0f, sy = t->normalized ? (float)l->height : 1.0f;

    if (linear) {
        axis_linear(&ax, x->coord, sx, l->width, width);
        if (x->geom == PTX_GEOM_2D)
            axis_linear(&ay, cy, sy, l->height, width);
    } else {
        axis_point(&ax, x->coord, is_float, sx, l->width, width);
        if (x->geom == PTX_GEOM_2D)
            axis_point(&ay, cy, is_float, sy, l->height, width);
    }
    if (x->geom != PTX_GEOM_2D)
        memset(&ay, 0, sizeof ay);

    switch (bytes << 4 | t->channels) {
#define X(bytes, channels)                                                                      \
    case bytes << 4 | channels:                                                                 \
        if (!linear)                                                                            \
            fetch_point(l, &ax, &ay, width, bytes, channels, texel);                            \
        else if (bytes == 4)                                                                    \
            fetch_linear_float(l, &ax, &ay, width, channels, texel);                            \
        else                                                                                    \
            fetch_linear(l, &ax, &ay, width, bytes, channels, texel);                           \
        break;
    SHAPES(X)
#undef X
    default:
        return;
    }

    for (unsigned c = 0; c < x->vec; c++) {
        uint32_t *out = x->result + c * width;
        if (c >= t->channels) {
            memset(out, 0, width * sizeof *out);
        } else if (bytes == 4) {
            memcpy(out, texel[c], width * sizeof *out);
        } else if (t->as_float) {
            float div = bytes == 1 ? 255.0f : 65535.0f;
            float_word *f = (float_word *)out;
            if (linear)
                for (unsigned i = 0; i < width; i++)
                    f[i] = (float)(int32_t)(texel[c][i] >> 1) / (div * 32768.0f);
            else
                for (unsigned i = 0; i < width; i++)
                    f[i] = (float)(int32_t)texel[c][i] / div;
        } else if (linear) {
            for (unsigned i = 0; i < width; i++)
                out[i] = (texel[c][i] >> 16) + (texel[c][i] >> 15 & 1);
        } else {
            memcpy(out, texel[c], width * sizeof *out);
        }
    }
}

void
cwh_tex_fast(const struct cwh_texobj *t, const struct cwh_tex *x)
{
    switch (x->width) {         /* the usual gangs: loops of known length */
    case 8:
        fetch(t, x, 8);
        break;
    case 16:
        fetch(t, x, 16);
        break;
    default:
        fetch(t, x, x->width);
    }
}
