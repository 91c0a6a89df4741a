/* SPDX-License-Identifier: Apache-2.0
 * Functions that the texture code needs from the C library: on the host the library's, on AMD GPUs compiler builtins only; and access to
 * device memory. */
#ifndef CWJ_BUILTINS_CORE_TEX_MATH_H
#define CWJ_BUILTINS_CORE_TEX_MATH_H

#include "jit/abi/texture.h"
#include "jit/builtins/core/bits.h"

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

/* Rotate an array down by one. A loop that is not unrolled then always uses element 0, and an array with constant indices stays in
 * registers. */
#define tex_turn(v, n)                          \
    do {                                        \
        __typeof__((v)[0]) first_ = (v)[0];     \
        _Pragma("GCC unroll 4")                 \
        for (unsigned k_ = 0; k_ + 1 < n; k_++) \
            (v)[k_] = (v)[k_ + 1];              \
        (v)[(n) - 1] = first_;                  \
    } while (0)

/* Before a loop: do not unroll. Keeps rare code small on the GPU, where every kernel contains it. */
#ifdef __AMDGCN__
#define TEX_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TEX_ROLLED
#endif

/* A constant table, accessed as NAME(i). On the GPU it is part of the code, which can then be placed anywhere (jit/builtins/precompile);
 * whole words. */
#ifdef __AMDGCN__
#define TEX_TABLE(name, type, directive, ...)                                                                                               \
    static inline type name(uint64_t i)                                                                                                     \
    {                                                                                                                                       \
        const __attribute__((address_space(1))) char *code;                                                                                 \
        __asm__("s_getpc_b64 %0\n\ts_branch .L" #name "%=\n\t" directive " " #__VA_ARGS__ "\n.L" #name "%=:" : "=s"(code));                    \
        return ((const __attribute__((address_space(1))) type *)(code + 4))[i];                                                             \
    }
#else
#define TEX_TABLE(name, type, directive, ...)                                                                                               \
    static const type name##_[] = { __VA_ARGS__ };                                                                                          \
    TEX_INLINE type name(uint64_t i)                                                                                                        \
    {                                                                                                                                       \
        return name##_[i];                                                                                                                  \
    }
#endif

#define TEX_INLINE static inline __attribute__((always_inline))

/* The whole object. On the GPU, functions get a copy of its small fields in registers; its handle is the object's address. */
#ifdef __AMDGCN__
#define TEX_OBJECT(t) ((const struct cw_texture *)(const __attribute__((address_space(4))) struct cw_texture *)(t)->handle)
#else
#define TEX_OBJECT(t) (t)
#endif

/* 1, 2 or 4 bytes of device memory. On the GPU texels are aligned to their components; the CPU needs no alignment. */
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

/* v[i] of four. */
TEX_INLINE uint32_t
tex_pick(const uint32_t v[4], unsigned i)
{
    uint32_t a = v[0], b = v[1], c = v[2], d = v[3];
    return i == 0 ? a : i == 1 ? b : i == 2 ? c : d;
}

/* A level of detail in 1/256. */
TEX_INLINE int32_t
tex_fixed_lod(float v)
{
    return v != v ? 0 : (int32_t)(fminf(fmaxf(v, -1e5f), 1e5f) * 256.0f);
}

/* 2^e as a double; e within its normal range. */
TEX_INLINE double
tex_power(int e)
{
    return f64_of((uint64_t)(e + 1023) << 52);
}

/* v / d for integers up to 65536; d is 127, 255, 32767 or 65535. Correctly rounded (test host.tex tries all), and a quarter as long as the
 * GPU's general division. */
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
