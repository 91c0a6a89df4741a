/* SPDX-License-Identifier: Apache-2.0
 * Fetches from level 0 of plain 1D and 2D textures (cw_texture.plain), for one lane: positions, weights, and sums of texels. The results
 * equal those of tex_filter.c, which documents the roundings; here 32 bits suffice for most steps, since sizes are at most 2^20. For loops
 * that vectorise (tex_fast.c) and for AMD GPUs (jit/builtins/tex.c). */
#ifndef CWJ_BUILTINS_CORE_TEX_FAST_H
#define CWJ_BUILTINS_CORE_TEX_FAST_H

#include "jit/builtins/core/tex_math.h"

/* Texels a and b, weight w/256 of b. */
struct fast_place {
    int32_t a, b;
    uint32_t w;
};

TEX_INLINE float
fast_bounded(float v, float lo, float hi)
{
    v = v > lo ? v : lo;        /* NaN: lo */
    return v < hi ? v : hi;
}

/* A normalized coordinate has 21 fraction bits: size * it / 2^drop, truncated; exact in double precision. */
TEX_INLINE int32_t
fast_normalized(float v, uint32_t size, unsigned drop, double less)
{
#ifdef __AMDGCN__
    int64_t n = (int64_t)((uint64_t)(uint32_t)(int32_t)(fast_bounded(v, 0.0f, 1.0f) * 0x1p21f) * size);
    return (int32_t)((n - (int64_t)(less * (double)(1 << drop))) >> drop);
#else
    return (int32_t)((double)(int32_t)(fast_bounded(v, 0.0f, 1.0f) * 0x1p21f) * ((double)size / (double)(1 << drop)) - less);
#endif
}

/* Point sampling. */
TEX_INLINE int32_t
fast_point(float v, bool normalized, uint32_t size)
{
    int32_t last = (int32_t)size - 1;
    if (!normalized)
        return (int32_t)fast_bounded(v, 0.0f, (float)last);
    int32_t a = fast_normalized(v, size, 21, 0);
    return a < last ? a : last;
}

/* Linear filtering: the position minus half a texel, in 1/256 of a texel. Everything below zero is the first texel, so truncation rounds
 * down. */
TEX_INLINE struct fast_place
fast_linear(float v, bool normalized, uint32_t size)
{
    int32_t last = (int32_t)size - 1, q;
    if (normalized)
        q = fast_normalized(v, size, 13, 127.5);
    else
        q = ((int32_t)(fast_bounded(v, 0.0f, (float)size) * 512.0f) - 255) >> 1;
    q = q > 0 ? q : 0;
    q = q < last * 256 ? q : last * 256;
    int32_t a = q >> 8;
    return (struct fast_place){ a, a + 1 < last ? a + 1 : last, (uint32_t)q & 255 };
}

/* ---- address modes that wrap around (normalized coordinates only) ---- */

/* A coordinate modulo 1 (mirrored: modulo 2), in units of 2^-21, truncated. All steps are exact: a float's whole multiples of 2^-21 are
 * floats. */
TEX_INLINE uint32_t
fast_periodic(float v, bool mirrored)
{
    float t = floorf(v * 0x1p21f), unit = mirrored ? 0x1p22f : 0x1p21f, u = t * (mirrored ? 0x1p-22f : 0x1p-21f), part = u - floorf(u);
    bool none = !(fabsf(v) >= 0x1p-126f) || !(part < 1.0f);      /* NaN, denormals, infinities, values too large to matter */
    return none ? 0 : (uint32_t)(int32_t)(part * unit);
}

/* i is in [-1, size], mirrored in [-1, 2 * size]. */
TEX_INLINE int32_t
fast_around(int32_t i, bool mirrored, int32_t size)
{
    if (!mirrored)
        return i < 0 ? i + size : i >= size ? i - size : i;
    i = i < 0 || i >= 2 * size ? 0 : i;
    return i < size ? i : 2 * size - 1 - i;
}

/* As fast_point and fast_linear, with any address mode but border. */
TEX_INLINE int32_t
fast_point_at(float v, bool normalized, unsigned mode, uint32_t size)
{
    if (!normalized || mode == CWB_ADDRESS_CLAMP)
        return fast_point(v, normalized, size);
    bool mirrored = mode == CWB_ADDRESS_MIRROR;
    return fast_around((int32_t)((uint64_t)fast_periodic(v, mirrored) * size >> 21), mirrored, (int32_t)size);
}

TEX_INLINE struct fast_place
fast_linear_at(float v, bool normalized, unsigned mode, uint32_t size)
{
    if (!normalized || mode == CWB_ADDRESS_CLAMP)
        return fast_linear(v, normalized, size);
    bool mirrored = mode == CWB_ADDRESS_MIRROR;
    int32_t q = (int32_t)(((int64_t)((uint64_t)fast_periodic(v, mirrored) * size) - 255 * 4096) >> 13), i = q >> 8;
    return (struct fast_place){ fast_around(i, mirrored, (int32_t)size), fast_around(i + 1, mirrored, (int32_t)size), (uint32_t)q & 255 };
}

/* The sum of 8 or 16-bit texels weighted in 1/256, as a float in [0, 1], filtered with 16 bits. If not `linear`, v is the texel. */
TEX_INLINE float
fast_scaled(uint32_t v, unsigned bytes, bool linear)
{
    if (!linear)
        return tex_ratio((float)(int32_t)v, bytes == 1 ? 255.0f : 65535.0f);
    return tex_ratio((float)(int32_t)((v * (bytes == 1 ? 257 : 1) + 128) >> 8), 65535.0f);
}

/* The sum of four floats times weights in 1/256, each truncated to `fraction` + 4 bits below the exponent `top`, in units of that bit. */
TEX_INLINE int64_t
fast_sum(const uint32_t t[4], const uint32_t w[4], int top, unsigned fraction)
{
    unsigned less = 23 - fraction;
#ifdef __AMDGCN__       /* 28 bits times 9, in halves of 14 bits: all but the last step in 32 bits */
    int32_t high = 0, low = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t e = t[i] >> 23 & 255, shift = (uint32_t)top - e + less;        /* without weight e may exceed it */
        uint32_t m = e && shift < 32 ? ((t[i] & 0x7fffff) | 0x800000) << 4 >> shift : 0;
        int32_t f = t[i] >> 31 ? -(int32_t)w[i] : (int32_t)w[i];
        high += (int32_t)(m >> 14) * f;
        low += (int32_t)(m & 0x3fff) * f;
    }
    return (int64_t)high * 0x4000 + low;
#else
    int64_t sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        int e = (int)(t[i] >> 23 & 255), shift = top - e + (int)less;
        int64_t m = w[i] && e && shift < 32 ? (int64_t)((t[i] & 0x7fffff) | 0x800000) << 4 >> shift : 0;
        sum += (t[i] >> 31 ? -m : m) * (int64_t)w[i];
    }
    return sum;
#endif
}

/* The weighted sum of four floats with 23 bits of fraction, or of halves as floats with 10, as in tex_filter.c; false in
 * special cases, which tex_filter.c handles. */
TEX_INLINE bool
fast_blend(const uint32_t t[4], const uint32_t w[4], unsigned fraction, uint32_t *out)
{
    int top = 0;
    for (unsigned i = 0; i < 4; i++) {
        int e = (int)(t[i] >> 23 & 255);
        e = w[i] ? e : 0;
        top = e > top ? e : top;
    }
    if (top == 255)
        return false;
    int64_t sum = fast_sum(t, w, top, fraction);
    uint32_t all = 0x80000000, any = 0;
    for (unsigned i = 0; i < 4; i++) {
        all &= w[i] ? t[i] : 0x80000000;
        any |= w[i] ? t[i] & 0x7fffffff : 0;
    }
    if (!sum && (!any || top)) {
        *out = all;
        return true;
    }
    if (top < 40)
        return false;
    /* sum * 2^(top - 127 - fraction - 4 - 8), ties away from zero. */
    uint64_t m = (uint64_t)(sum < 0 ? -sum : sum);
    int lead = __builtin_clzll(m);
    uint32_t first = (uint32_t)(m << lead >> 32), r = (first >> (31 - fraction)) + (first >> (30 - fraction) & 1);
    uint32_t carry = r >> (fraction + 1);
    int e = top - (int)fraction - 12 + 63 - lead + (int)carry;
    if (e < 1 || e > 254)
        return false;
    *out = (sum < 0 ? 0x80000000u : 0) | (uint32_t)e << 23 | (carry ? 0 : r << (23 - fraction) & 0x7fffff);
    return true;
}

#endif
