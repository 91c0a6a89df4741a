/* SPDX-License-Identifier: Apache-2.0
 * References for formats that C does not have: an exact-enough value (a double and whether something nonzero beyond it was
 * cut off), and rounding to any small format by searching, not by bit tricks. */
#ifndef ARITH_REF_FP_H
#define ARITH_REF_FP_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t as_u32(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
static inline float as_f32(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }

/* v towards zero; more: the exact value has a larger magnitude. */
typedef struct { double v; bool more; } exact;

static inline exact
exact_of(double v)
{
    return (exact){ v, false };
}

static inline exact
exact_fma(double x, double y, double z)
{
    volatile double a = x, b = y, c = z, near = fma(a, b, c);
    exact r = { near, false };

    if (near != near || isinf(near) || near == 0)   /* a zero of halves is exact here */
        return r;
    feclearexcept(FE_INEXACT);
    fesetround(FE_TOWARDZERO);
    volatile double t = fma(a, b, c);
    r.v = t;
    r.more = fetestexcept(FE_INEXACT) != 0;
    fesetround(FE_TONEAREST);
    feclearexcept(FE_INEXACT);
    return r;
}

enum rnd { RND_N, RND_Z, RND_M, RND_P, RND_A };

struct fmt {
    int ebits, mbits;
    bool has_inf;
    uint32_t nan;
};
static const struct fmt fmt_f16 = { 5, 10, true, 0x7fff }, fmt_bf16 = { 8, 7, true, 0x7fff };
static const struct fmt fmt_tf32 = { 8, 10, true, 0x3ffff }, fmt_e4m3 = { 4, 3, false, 0x7f }, fmt_e5m2 = { 5, 2, true, 0x7f };

/* The value of a positive code, finite formats' top codes counted on as numbers. */
static inline double
fmt_value(const struct fmt *f, uint32_t code)
{
    int bias = (1 << (f->ebits - 1)) - 1;
    int e = (int)(code >> f->mbits);
    uint32_t m = code & ((1u << f->mbits) - 1);

    return e ? ldexp(1.0 + ldexp(m, -f->mbits), e - bias) : ldexp(m, 1 - bias - f->mbits);
}

/* The sign bit sits above the exponent. Overflow goes to the code after the largest number (the infinity, if any). */
static inline uint32_t
round_format(exact x, const struct fmt *f, enum rnd mode)
{
    uint32_t sign = 1u << (f->ebits + f->mbits), top = (f->has_inf ? ((1u << f->ebits) - 1) << f->mbits : sign - 1);
    bool neg = signbit(x.v);
    double m = fabs(x.v);

    if (x.v != x.v)
        return f->nan;
    if (isinf(m))
        return (neg ? sign : 0) | top;
    uint32_t lo = 0, hi = top;      /* the largest code whose value is <= m */
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (fmt_value(f, mid) <= m)
            lo = mid;
        else
            hi = mid;
    }
    double below = fmt_value(f, lo), above = fmt_value(f, lo + 1), half = below + (above - below) / 2;
    bool inexact = m > below || x.more, up = false;
    bool beyond = m > half || (m == half && x.more), tie = m == half && !x.more;
    switch (mode) {
    case RND_N: up = beyond || (tie && lo & 1); break;
    case RND_A: up = beyond || tie; break;
    case RND_P: up = inexact && !neg; break;
    case RND_M: up = inexact && neg; break;
    case RND_Z: break;
    }
    return (neg ? sign : 0) | (lo + up);
}

static inline float
f16_value(uint32_t h)
{
    double v;

    h &= 0xffff;
    if ((h & 0x7fff) > 0x7c00)
        return as_f32(0x7fffffff);
    v = (h & 0x7fff) == 0x7c00 ? INFINITY : fmt_value(&fmt_f16, h & 0x7fff);
    return (float)(h & 0x8000 ? -v : v);
}

#endif
