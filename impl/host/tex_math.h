/* SPDX-License-Identifier: Apache-2.0
 * What the texture code needs of the C library, for the host and, from the compiler alone, for AMD GPUs; and memory that
 * instructions read and write. */
#ifndef CWH_TEX_MATH_H
#define CWH_TEX_MATH_H

#include "impl/texture.h"

#ifdef __AMDGCN__
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define fabs __builtin_fabs
#define fabsf __builtin_fabsf
#define floor __builtin_floor
#define floorf __builtin_floorf
#define trunc __builtin_trunc
#define ceilf __builtin_ceilf
#define rintf __builtin_rintf
#define lrintf(f) ((long)__builtin_rintf(f))
#define fmin __builtin_fmin
#define fmax __builtin_fmax
#define fminf __builtin_fminf
#define fmaxf __builtin_fmaxf
#define copysign __builtin_copysign
#define copysignf __builtin_copysignf
#define isinf __builtin_isinf
#define isfinite __builtin_isfinite
#define signbit __builtin_signbit
#else
#include <math.h>
#include <string.h>
#endif

/* Code that is seldom run is kept small on the GPU, where it comes with every kernel. Before a loop: one copy of its body; before
 * a function: one copy of it. */
#ifdef __AMDGCN__
#define TEX_ROLLED _Pragma("clang loop unroll(disable)")
#define TEX_OUTLINED __attribute__((noinline))
#else
#define TEX_ROLLED
#define TEX_OUTLINED
#endif

#define TEX_INLINE static inline __attribute__((always_inline))

/* 1, 2 or 4 bytes of device memory. The GPU has texels aligned to their components; the CPU does not mind. */
TEX_INLINE uint32_t
tex_load(const cw_texel_byte *p, unsigned bytes)
{
#ifdef __AMDGCN__
    return bytes == 1 ? *p : bytes == 2 ? *(const CW_DEVICE_MEMORY uint16_t *)p : *(const CW_DEVICE_MEMORY uint32_t *)p;
#else
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
#endif
}

TEX_INLINE void
tex_store(cw_texel_byte *p, uint32_t v, unsigned bytes)
{
#ifdef __AMDGCN__
    if (bytes == 1)
        *p = (uint8_t)v;
    else if (bytes == 2)
        *(CW_DEVICE_MEMORY uint16_t *)p = (uint16_t)v;
    else
        *(CW_DEVICE_MEMORY uint32_t *)p = v;
#else
    memcpy(p, &v, bytes);       /* little endian */
#endif
}

TEX_INLINE float
tex_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

TEX_INLINE uint64_t
tex_double_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return bits;
}

/* 2^e as a double; e within its normal range. */
TEX_INLINE double
tex_power(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

/* v / d for whole numbers up to 65536 in size; d is 127, 255, 32767 or 65535. Correctly rounded (host.tex tries them all), and a
 * quarter as long as the GPU's own division, which minds operands that are none of these. */
TEX_INLINE float
tex_ratio_short(float v, float d)
{
    float r = 1.0f / d, q = v * r;
    return __builtin_fmaf(__builtin_fmaf(-d, q, v), r, q);
}

TEX_INLINE float
tex_ratio(float v, float d)
{
#ifdef __AMDGCN__
    return tex_ratio_short(v, d);
#else
    return v / d;
#endif
}

#endif
