/* SPDX-License-Identifier: Apache-2.0
 * The number formats of matrix instructions as integers: decode to significand and exponent, pack rounded results. The hardware's adders
 * never return a negative zero. */
#ifndef CWJ_BUILTINS_CORE_MATRIX_NUMBER_H
#define CWJ_BUILTINS_CORE_MATRIX_NUMBER_H

#include "jit/ptx/ir.h"

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_INLINE static inline __attribute__((always_inline))

enum { NUMBER_ZERO_EXPONENT = -20000 };     /* below every other exponent, also when added to another */

/* Bits of an element. (ptx_type_bits belongs to the compiler, which the engine loads at run time.) */
NUMBER_INLINE unsigned
number_bits(uint8_t type)
{
    switch (type) {
    case PTX_F64: return 64;
    case PTX_F32: case PTX_TF32: case PTX_S32: return 32;
    case PTX_F16: case PTX_BF16: return 16;
    case PTX_S4: case PTX_U4: return 4;
    case PTX_B1: return 1;
    default: return 8;
    }
}

NUMBER_INLINE int
number_mantissa(uint8_t type)
{
    switch (type) {
    case PTX_F16: case PTX_TF32: return 10;
    case PTX_BF16: return 7;
    case PTX_E4M3: return 3;
    case PTX_E5M2: return 2;
    default: return 23;
    }
}

NUMBER_INLINE int
number_exponent_bits(uint8_t type)
{
    switch (type) {
    case PTX_F16: case PTX_E5M2: return 5;
    case PTX_E4M3: return 4;
    default: return 8;
    }
}

/* value = *sig * 2^(*exp - mantissa bits). True if infinite or NaN. */
NUMBER_INLINE bool
number_decode(uint8_t type, uint32_t x, int32_t *sig, int32_t *exp)
{
    int m = number_mantissa(type), e = number_exponent_bits(type), bias = (1 << (e - 1)) - 1;
    if (type == PTX_TF32)
        x >>= 13;
    uint32_t man = x & ((1u << m) - 1), ex = x >> m & ((1u << e) - 1);
    uint32_t size = ex ? man | 1u << m : man;
    *sig = x >> (m + e) & 1 ? -(int32_t)size : (int32_t)size;
    *exp = size ? (ex ? (int32_t)ex : 1) - bias : NUMBER_ZERO_EXPONENT;
    return type == PTX_E4M3 ? ex == 15 && man == 7 : ex == (1u << e) - 1;
}

/* Decode the running sum. A zero sum still takes part in the search for the largest exponent, 7 below that of the smallest normal number
 * (measured: -133 for f32, -21 for f16); zero products do not. */
NUMBER_INLINE bool
number_decode_sum(uint8_t type, uint32_t x, int32_t *sig, int32_t *exp)
{
    bool special = number_decode(type, x, sig, exp);
    if (!*sig)
        *exp = 2 - (1 << (number_exponent_bits(type) - 1)) - 7;
    return special;
}

/* size * 2^low, truncated; infinity if too large. */
NUMBER_INLINE uint32_t
number_pack_f32(bool minus, uint32_t size, int low)
{
    if (!size)
        return 0;
    int lead = __builtin_clz(size), exp = low + 31 - lead;
    uint32_t sign = minus ? 0x80000000u : 0, man = size << lead >> 8;   /* 24 bits */
    if (exp > 127)
        return sign | 0x7f800000u;
    if (exp >= -126)
        return sign | (((uint32_t)(exp + 126) << 23) + man);
    man = -126 - exp < 32 ? man >> (-126 - exp) : 0;
    return man ? sign | man : 0;
}

/* The same, rounded to nearest even. */
NUMBER_INLINE uint32_t
number_pack_f16(bool minus, uint32_t size, int low)
{
    if (!size)
        return 0;
    int lead = __builtin_clz(size), exp = low + 31 - lead, drop = 21;   /* from 32 bits with a leading one */
    uint32_t sign = minus ? 0x8000u : 0;
    uint64_t wide = (uint64_t)(size << lead) << 16;                     /* 48 bits, to shift denormal results */
    drop += 16;
    if (exp > 15)
        return sign | 0x7c00;
    uint32_t base = exp >= -14 ? (uint32_t)(exp + 14) << 10 : 0;
    if (exp < -14)
        drop += -14 - exp;
    if (drop > 60)
        return 0;
    uint64_t man = wide >> drop, rest = wide & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    man += rest > half || (rest == half && (man & 1));
    uint32_t r = base + (uint32_t)man;      /* a carry increments the exponent, up to infinity */
    return r ? sign | r : 0;
}

#endif
