/* SPDX-License-Identifier: Apache-2.0
 * The bits of a value as a value of another type. */
#ifndef CWJ_BUILTINS_CORE_BITS_H
#define CWJ_BUILTINS_CORE_BITS_H

#include <stdint.h>

#define BITS_FUNCTION(name, from, to)                                   \
    static inline __attribute__((always_inline, unused)) to             \
    name(from value)                                                    \
    {                                                                   \
        to result;                                                      \
        _Static_assert(sizeof result == sizeof value, "as many bits");  \
        __builtin_memcpy(&result, &value, sizeof result);               \
        return result;                                                  \
    }

BITS_FUNCTION(f32_of, uint32_t, float)
BITS_FUNCTION(f32_bits, float, uint32_t)
BITS_FUNCTION(f64_of, uint64_t, double)
BITS_FUNCTION(f64_bits, double, uint64_t)

#endif
