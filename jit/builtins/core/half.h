/* SPDX-License-Identifier: Apache-2.0
 * f16 and f32, by bits: the payload of a NaN stays in the wider format. For textures and bulk reductions. */
#ifndef CWJ_BUILTINS_CORE_HALF_H
#define CWJ_BUILTINS_CORE_HALF_H

#include "jit/builtins/core/tex_math.h"

TEX_INLINE float
cwh_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, bits;
    float f;
    if (e == 31) {
        bits = sign | 0x7f800000 | m << 13;
    } else if (e) {
        bits = sign | (e + 112) << 23 | m << 13;
    } else {
        f = (float)m * 0x1p-24f;
        memcpy(&bits, &f, 4);
        bits |= sign;
    }
    memcpy(&f, &bits, 4);
    return f;
}

/* To nearest even; NaN is 0x7fff. */
TEX_INLINE uint16_t
cwh_float_to_half(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
    b &= 0x7fffffff;
    if (b > 0x7f800000)
        return 0x7fff;
    if (b >= 0x477ff000)
        return sign | 0x7c00;
    if (b < 0x38800000) {
        float a;
        memcpy(&a, &b, 4);
        return (uint16_t)(sign | (uint16_t)lrintf(a * 0x1p24f));
    }
    uint32_t odd = b >> 13 & 1;
    return (uint16_t)(sign | ((b + 0xfff + odd - 0x38000000) >> 13));
}

TEX_INLINE uint16_t
cwh_float_to_half_rz(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
    b &= 0x7fffffff;
    if (b > 0x7f800000)
        return sign | 0x7fff;
    if (b == 0x7f800000)
        return sign | 0x7c00;
    if (b >= 0x47800000)
        return sign | 0x7bff;
    if (b < 0x38800000) {
        float a;
        memcpy(&a, &b, 4);
        return (uint16_t)(sign | (uint16_t)(a * 0x1p24f));
    }
    return (uint16_t)(sign | (b - 0x38000000) >> 13);
}

#endif
