/* SPDX-License-Identifier: Apache-2.0
 * Fetches of level 0 of plain 1D and 2D textures with clamped addresses: 8 and 16-bit unsigned and float texels. The
 * coordinates of all lanes are computed in loops that vectorise; inactive lanes read clamped places too. tex_fast.h has the
 * arithmetic. */
#include "impl/host/texture.h"

#include "jit/builtins/core/tex_fast.h"
#include "jit/abi/host.h"
#include "jit/ptx/ir.h"

enum { MAX_LANES = 32 };

#define INLINE TEX_INLINE

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

INLINE void
axis_point(struct axis *x, const uint32_t *coord, bool normalized, uint32_t size, unsigned width)
{
    const float_word *f = (const float_word *)coord;
    if (normalized)
        for (unsigned i = 0; i < width; i++)
            x->a[i] = fast_point(f[i], true, size);
    else
        for (unsigned i = 0; i < width; i++)
            x->a[i] = fast_point(f[i], false, size);
}

INLINE void
axis_linear(struct axis *x, const uint32_t *coord, bool normalized, uint32_t size, unsigned width)
{
    const float_word *f = (const float_word *)coord;
    for (unsigned i = 0; i < width; i++) {
        struct fast_place p = fast_linear(f[i], normalized, size);
        x->a[i] = p.a;
        x->b[i] = p.b;
        x->w[i] = p.w;
    }
}

INLINE void
fetch_point(const struct cw_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned bytes, unsigned channels,
            uint32_t out[4][MAX_LANES])
{
    unsigned i = 0;
    for (; i + 8 <= width; i += 8) {
        const cw_texel_byte *p[8];
        for (unsigned k = 0; k < 8; k++)
            p[k] = l->base + (size_t)(uint32_t)y->a[i + k] * l->pitch + (size_t)(uint32_t)x->a[i + k] * bytes * channels;
        for (unsigned c = 0; c < channels; c++) {
#define TEXEL(k) tex_load(p[k] + c * bytes, bytes)
            lanes8 v = LANES8(TEXEL);
#undef TEXEL
            *(lanes8 *)&out[c][i] = v;
        }
    }
    for (; i < width; i++) {
        const cw_texel_byte *p = l->base + (size_t)(uint32_t)y->a[i] * l->pitch + (size_t)(uint32_t)x->a[i] * bytes * channels;
        for (unsigned c = 0; c < channels; c++)
            out[c][i] = tex_load(p + c * bytes, bytes);
    }
}

/* Integer texels: the sum of weights in 1/256 times texel. */
INLINE void
fetch_linear(const struct cw_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned bytes, unsigned channels,
             uint32_t out[4][MAX_LANES])
{
    unsigned i = 0;
    for (; i + 8 <= width; i += 8) {
        const cw_texel_byte *top[8], *low[8];
        size_t xa[8], xb[8];
        for (unsigned k = 0; k < 8; k++) {
            top[k] = l->base + (size_t)(uint32_t)y->a[i + k] * l->pitch;
            low[k] = l->base + (size_t)(uint32_t)y->b[i + k] * l->pitch;
            xa[k] = (size_t)(uint32_t)x->a[i + k] * bytes * channels;
            xb[k] = (size_t)(uint32_t)x->b[i + k] * bytes * channels;
        }
        lanes8 u = *(const lanes8 *)&x->w[i], v = *(const lanes8 *)&y->w[i];
        for (unsigned c = 0; c < channels; c++) {
#define TEXEL_TA(k) tex_load(top[k] + xa[k] + c * bytes, bytes)
#define TEXEL_TB(k) tex_load(top[k] + xb[k] + c * bytes, bytes)
#define TEXEL_LA(k) tex_load(low[k] + xa[k] + c * bytes, bytes)
#define TEXEL_LB(k) tex_load(low[k] + xb[k] + c * bytes, bytes)
            lanes8 ta = LANES8(TEXEL_TA), tb = LANES8(TEXEL_TB), la = LANES8(TEXEL_LA), lb = LANES8(TEXEL_LB);
#undef TEXEL_TA
#undef TEXEL_TB
#undef TEXEL_LA
#undef TEXEL_LB
            lanes8 w = (u * v + 128) >> 8;
            *(lanes8 *)&out[c][i] = ta * (256 - u - v + w) + tb * (u - w) + la * (v - w) + lb * w;
        }
    }
    for (; i < width; i++) {
        const cw_texel_byte *top = l->base + (size_t)(uint32_t)y->a[i] * l->pitch, *low = l->base + (size_t)(uint32_t)y->b[i] * l->pitch;
        size_t xa = (size_t)(uint32_t)x->a[i] * bytes * channels, xb = (size_t)(uint32_t)x->b[i] * bytes * channels;
        uint32_t u = x->w[i], v = y->w[i];
        for (unsigned c = 0; c < channels; c++) {
            uint32_t w = (u * v + 128) >> 8;
            out[c][i] = tex_load(top + xa + c * bytes, bytes) * (256 - u - v + w) + tex_load(top + xb + c * bytes, bytes) * (u - w) +
                        tex_load(low + xa + c * bytes, bytes) * (v - w) + tex_load(low + xb + c * bytes, bytes) * w;
        }
    }
}

INLINE bool
fetch_linear_float(const struct cw_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned channels,
                   uint32_t out[4][MAX_LANES])
{
    bool ok = true;
    for (unsigned i = 0; i < width; i++) {
        const cw_texel_byte *top = l->base + (size_t)(uint32_t)y->a[i] * l->pitch, *low = l->base + (size_t)(uint32_t)y->b[i] * l->pitch;
        size_t xa = (size_t)(uint32_t)x->a[i] * 4 * channels, xb = (size_t)(uint32_t)x->b[i] * 4 * channels;
        uint32_t u = x->w[i], v = y->w[i], both = (u * v + 128) >> 8;
        const uint32_t w[4] = { 256 - u - v + both, u - both, v - both, both };
        for (unsigned c = 0; c < channels; c++) {
            const uint32_t t[4] = { tex_load(top + xa + 4 * c, 4), tex_load(top + xb + 4 * c, 4), tex_load(low + xa + 4 * c, 4), tex_load(low + xb + 4 * c, 4) };
            ok &= fast_blend(t, w, 23, &out[c][i]);
        }
    }
    return ok;
}

#define SHAPES(X) X(1, 1) X(1, 2) X(1, 4) X(2, 1) X(2, 2) X(2, 4) X(4, 1) X(4, 2) X(4, 4)

INLINE bool
fetch(const struct cw_texture *t, const struct cwh_tex *x, unsigned width)
{
    const struct cw_level *l = &t->level[0];
    bool linear = t->linear;
    unsigned bytes = t->bytes;
    struct axis ax, ay;
    uint32_t texel[4][MAX_LANES];
    const uint32_t *cy = x->coord + width;

    if (linear) {
        axis_linear(&ax, x->coord, t->normalized, l->width, width);
        if (x->geom == PTX_GEOM_2D)
            axis_linear(&ay, cy, t->normalized, l->height, width);
    } else {
        axis_point(&ax, x->coord, t->normalized, l->width, width);
        if (x->geom == PTX_GEOM_2D)
            axis_point(&ay, cy, t->normalized, l->height, width);
    }
    if (x->geom != PTX_GEOM_2D)
        memset(&ay, 0, sizeof ay);

    switch (bytes << 4 | t->channels) {
#define X(bytes, channels)                                                                      \
    case bytes << 4 | channels:                                                                 \
        if (!linear)                                                                            \
            fetch_point(l, &ax, &ay, width, bytes, channels, texel);                            \
        else if (bytes == 4) {                                                                  \
            if (!fetch_linear_float(l, &ax, &ay, width, channels, texel))                       \
                return false;                                                                   \
        }                                                                                       \
        else                                                                                    \
            fetch_linear(l, &ax, &ay, width, bytes, channels, texel);                           \
        break;
    SHAPES(X)
#undef X
    default:
        return false;
    }

    for (unsigned c = 0; c < x->vec; c++) {
        uint32_t *out = x->result + c * width;
        if (c >= t->channels) {
            memset(out, 0, width * sizeof *out);
        } else if (bytes == 4) {
            memcpy(out, texel[c], width * sizeof *out);
        } else if (t->as_float) {
            float_word *f = (float_word *)out;
            if (linear)
                for (unsigned i = 0; i < width; i++)
                    f[i] = fast_scaled(texel[c][i], bytes, true);
            else
                for (unsigned i = 0; i < width; i++)
                    f[i] = fast_scaled(texel[c][i], bytes, false);
        } else if (linear) {
            for (unsigned i = 0; i < width; i++)
                out[i] = (texel[c][i] + 128) >> 8;
        } else {
            memcpy(out, texel[c], width * sizeof *out);
        }
    }
    return true;
}

bool
cwh_tex_fast(const struct cw_texture *t, const struct cwh_tex *x)
{
    switch (x->width) {         /* the usual gangs: loops of known length */
    case 8:
        return fetch(t, x, 8);
    case 16:
        return fetch(t, x, 16);
    default:
        return fetch(t, x, x->width);
    }
}
