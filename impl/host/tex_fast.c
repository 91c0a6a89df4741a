/* SPDX-License-Identifier: Apache-2.0
 * Fetches of level 0 of plain 1D and 2D textures with clamped addresses: 8 and 16-bit unsigned and float texels. The
 * coordinates of all lanes are worked out in loops that vectorise; lanes that are switched off read clamped places too.
 * The arithmetic is tex_filter.c's, which see for what is rounded where. */
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

/* Positions in 1/256 of a texel, or in texels for point sampling. Products of normalized coordinates, cut to 21 bits of
 * fraction, are exact in double precision. */
INLINE void
axis_point(struct axis *x, const uint32_t *coord, bool normalized, uint32_t size, unsigned width)
{
    int32_t last = (int32_t)size - 1;
    const float_word *f = (const float_word *)coord;
    float top = (float)last;
    if (normalized) {
        double scale = (double)size * 0x1p-21;
        for (unsigned i = 0; i < width; i++) {
            int32_t a = (int32_t)((double)(int32_t)(bounded(f[i], 0.0f, 1.0f) * 0x1p21f) * scale);
            x->a[i] = a < last ? a : last;
        }
    } else {
        for (unsigned i = 0; i < width; i++)
            x->a[i] = (int32_t)bounded(f[i], 0.0f, top);
    }
}

INLINE void
axis_linear(struct axis *x, const uint32_t *coord, bool normalized, uint32_t size, unsigned width)
{
    const float_word *f = (const float_word *)coord;
    float top = (float)size;
    int32_t last = (int32_t)size - 1;
    double scale = (double)size * 0x1p-13;
    for (unsigned i = 0; i < width; i++) {
        /* Below zero all is the first texel, so that cutting is rounding down. */
        double p = normalized ? (double)(int32_t)(bounded(f[i], 0.0f, 1.0f) * 0x1p21f) * scale : (double)bounded(f[i], 0.0f, top) * 256;
        int32_t q = (int32_t)(p - 127.5), a;
        q = q > 0 ? q : 0;
        q = q < last * 256 ? q : last * 256;
        a = q >> 8;
        x->w[i] = (uint32_t)q & 255;
        x->a[i] = a;
        x->b[i] = a + 1 < last ? a + 1 : last;
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
fetch_point(const struct cw_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned bytes, unsigned channels,
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

/* Integer texels: the sum of weights in 1/256 times texel. */
INLINE void
fetch_linear(const struct cw_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned bytes, unsigned channels,
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
            lanes8 w = (u * v + 128) >> 8;
            *(lanes8 *)&out[c][i] = ta * (256 - u - v + w) + tb * (u - w) + la * (v - w) + lb * w;
        }
    }
    for (; i < width; i++) {
        const uint8_t *top = l->base + (size_t)(uint32_t)y->a[i] * l->pitch, *low = l->base + (size_t)(uint32_t)y->b[i] * l->pitch;
        size_t xa = (size_t)(uint32_t)x->a[i] * bytes * channels, xb = (size_t)(uint32_t)x->b[i] * bytes * channels;
        uint32_t u = x->w[i], v = y->w[i];
        for (unsigned c = 0; c < channels; c++) {
            uint32_t w = (u * v + 128) >> 8;
            out[c][i] = load(top + xa + c * bytes, bytes) * (256 - u - v + w) + load(top + xb + c * bytes, bytes) * (u - w) +
                        load(low + xa + c * bytes, bytes) * (v - w) + load(low + xb + c * bytes, bytes) * w;
        }
    }
}

/* A float cut to 27 bits below the exponent `top`, in units of that place. */
INLINE int64_t
aligned(uint32_t bits, int top)
{
    int e = (int)(bits >> 23 & 255), shift = top - e;
    int64_t m = e && shift < 32 ? (int64_t)((bits & 0x7fffff) | 0x800000) << 4 >> shift : 0;
    return bits >> 31 ? -m : m;
}

/* The sum of four floats with weights in 1/256, as in tex_filter.c; false where a special case needs its care. */
INLINE bool
blend_float(const uint32_t t[4], const uint32_t w[4], uint32_t *out)
{
    int top = 0;
    for (unsigned i = 0; i < 4; i++) {
        int e = (int)(t[i] >> 23 & 255);
        e = w[i] ? e : 0;
        top = e > top ? e : top;
    }
    if (top == 255)
        return false;
    int64_t sum = 0;
    uint32_t all = 0x80000000, any = 0;
    for (unsigned i = 0; i < 4; i++) {
        sum += w[i] ? aligned(t[i], top) * (int64_t)w[i] : 0;
        all &= w[i] ? t[i] : 0x80000000;
        any |= w[i] ? t[i] & 0x7fffffff : 0;
    }
    if (!sum && (!any || top)) {
        *out = all;
        return true;
    }
    if (top < 40)
        return false;
    /* sum * 2^(top - 127 - 27 - 8); halves away from zero */
    uint64_t m = (uint64_t)(sum < 0 ? -sum : sum);
    int high = 63 - __builtin_clzll(m), drop = high - 23;
    if (drop > 0)
        m = (m + ((uint64_t)1 << (drop - 1))) >> drop;
    else
        m <<= -drop;
    int e = top - 35 + high + (m >> 24 ? 1 : 0);
    if (e < 1 || e > 254)
        return false;
    *out = (sum < 0 ? 0x80000000u : 0) | (uint32_t)e << 23 | (m >> 24 ? 0 : (uint32_t)m & 0x7fffff);
    return true;
}

INLINE bool
fetch_linear_float(const struct cw_level *l, const struct axis *x, const struct axis *y, unsigned width, unsigned channels,
                   uint32_t out[4][MAX_LANES])
{
    bool ok = true;
    for (unsigned i = 0; i < width; i++) {
        const uint8_t *top = l->base + (size_t)(uint32_t)y->a[i] * l->pitch, *low = l->base + (size_t)(uint32_t)y->b[i] * l->pitch;
        size_t xa = (size_t)(uint32_t)x->a[i] * 4 * channels, xb = (size_t)(uint32_t)x->b[i] * 4 * channels;
        uint32_t u = x->w[i], v = y->w[i], both = (u * v + 128) >> 8;
        const uint32_t w[4] = { 256 - u - v + both, u - both, v - both, both };
        for (unsigned c = 0; c < channels; c++) {
            const uint32_t t[4] = { load(top + xa + 4 * c, 4), load(top + xb + 4 * c, 4), load(low + xa + 4 * c, 4), load(low + xb + 4 * c, 4) };
            ok &= blend_float(t, w, &out[c][i]);
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
            float div = bytes == 1 && !linear ? 255.0f : 65535.0f;
            uint32_t scale = bytes == 1 ? 257 : 1;      /* filtered with 16 bits */
            float_word *f = (float_word *)out;
            if (linear)
                for (unsigned i = 0; i < width; i++)
                    f[i] = (float)(int32_t)((texel[c][i] * scale + 128) >> 8) / div;
            else
                for (unsigned i = 0; i < width; i++)
                    f[i] = (float)(int32_t)texel[c][i] / div;
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
