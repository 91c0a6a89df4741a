/* SPDX-License-Identifier: Apache-2.0
 * Element types and their literals. Floats of any format go through double: its literal is rounded once to double and once to
 * the type, so a literal that needs more than 53 bits should be written as bits. The sets of edge values never change, since
 * lists of expected values rely on their order: add a new set instead. */
#include "tools/ptxtest/ptxtest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pt_type types[] = {
    { "u8", PT_UINT, 8, 1 },        { "u16", PT_UINT, 16, 1 },      { "u32", PT_UINT, 32, 1 },      { "u64", PT_UINT, 64, 1 },
    { "s8", PT_SINT, 8, 1 },        { "s16", PT_SINT, 16, 1 },      { "s32", PT_SINT, 32, 1 },      { "s64", PT_SINT, 64, 1 },
    { "b8", PT_BITS, 8, 1 },        { "b16", PT_BITS, 16, 1 },      { "b32", PT_BITS, 32, 1 },      { "b64", PT_BITS, 64, 1 },
    { "b128", PT_BITS, 128, 1 },
    { "u16x2", PT_UINT, 16, 2 },    { "s16x2", PT_SINT, 16, 2 },    { "u8x4", PT_UINT, 8, 4 },      { "s8x4", PT_SINT, 8, 4 },
    { "u32x2", PT_UINT, 32, 2 },    { "s32x2", PT_SINT, 32, 2 },
    { "f64", PT_FLOAT, 64, 1, 11, 52 },     { "f32", PT_FLOAT, 32, 1, 8, 23 },      { "f32x2", PT_FLOAT, 32, 2, 8, 23 },
    { "tf32", PT_FLOAT, 32, 1, 8, 23 },
    { "f16", PT_FLOAT, 16, 1, 5, 10 },      { "f16x2", PT_FLOAT, 16, 2, 5, 10 },    { "f16x4", PT_FLOAT, 16, 4, 5, 10 },
    { "bf16", PT_FLOAT, 16, 1, 8, 7 },      { "bf16x2", PT_FLOAT, 16, 2, 8, 7 },    { "bf16x4", PT_FLOAT, 16, 4, 8, 7 },
    { "e4m3", PT_FLOAT, 8, 1, 4, 3, true }, { "e4m3x2", PT_FLOAT, 8, 2, 4, 3, true },   { "e4m3x4", PT_FLOAT, 8, 4, 4, 3, true },
    { "e5m2", PT_FLOAT, 8, 1, 5, 2 },       { "e5m2x2", PT_FLOAT, 8, 2, 5, 2 },         { "e5m2x4", PT_FLOAT, 8, 4, 5, 2 },
};

const struct pt_type *
pt_type_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length))
            return &types[i];
    return NULL;
}

unsigned
pt_type_size(const struct pt_type *t)
{
    return t->bits * t->lanes / 8u;
}

struct pt_bits
pt_load(const struct pt_type *t, const uint8_t *data, size_t index)
{
    struct pt_bits v = { 0 };
    unsigned size = pt_type_size(t);
    memcpy(&v, data + index * size, size);
    return v;
}

void
pt_store(const struct pt_type *t, uint8_t *data, size_t index, struct pt_bits v)
{
    unsigned size = pt_type_size(t);
    memcpy(data + index * size, &v, size);
}

static uint64_t
ones(unsigned bits)
{
    return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

/* ---- floats ----------------------------------------------------------------------------------------------------------------- */

static uint64_t
top_exponent(const struct pt_type *t)
{
    return ones(t->exponent);
}

/* The least magnitude whose encoding is infinity or NaN. */
static uint64_t
infinity(const struct pt_type *t)
{
    return t->finite ? ones(t->bits - 1u) : top_exponent(t) << t->mantissa;
}

bool
pt_is_nan(const struct pt_type *t, uint64_t lane)
{
    uint64_t magnitude = lane & ones(t->bits - 1u);
    return t->kind == PT_FLOAT && (t->finite ? magnitude == infinity(t) : magnitude > infinity(t));
}

double
pt_to_double(const struct pt_type *t, uint64_t lane)
{
    bool negative = lane >> (t->bits - 1) & 1;
    uint64_t magnitude = lane & ones(t->bits - 1u), fraction = lane & ones(t->mantissa);
    int bias = (int)ones(t->exponent - 1u), exponent = (int)(magnitude >> t->mantissa);
    double v;
    if (pt_is_nan(t, lane))
        v = NAN;
    else if (!t->finite && magnitude == infinity(t))
        v = INFINITY;
    else if (exponent)
        v = ldexp((double)(fraction | 1ull << t->mantissa), exponent - bias - t->mantissa);
    else
        v = ldexp((double)fraction, 1 - bias - t->mantissa);
    return negative ? -v : v;
}

/* To nearest, ties to even, by counting in units of the last place at that magnitude: exact in double but for the rounding. */
static uint64_t
from_double(const struct pt_type *t, double v)
{
    uint64_t sign = signbit(v) ? 1ull << (t->bits - 1) : 0;
    if (t->bits == 64) {
        uint64_t bits;
        memcpy(&bits, &v, 8);
        return bits;
    }
    if (isinf(v))
        return sign | infinity(t);
    int bias = (int)ones(t->exponent - 1u), exponent;
    double m = fabs(v);
    frexp(m, &exponent);
    exponent -= 1;
    if (m == 0 || exponent < 1 - bias)
        exponent = 1 - bias;
    uint64_t units = (uint64_t)nearbyint(ldexp(m, t->mantissa - exponent));
    if (units >> (t->mantissa + 1)) {
        units >>= 1;
        exponent++;
    }
    uint64_t magnitude = units >> t->mantissa ? (uint64_t)(exponent + bias) << t->mantissa | (units & ones(t->mantissa)) : units;
    if (exponent + bias > (int)top_exponent(t) || magnitude > infinity(t))
        magnitude = infinity(t);
    return sign | magnitude;
}

/* ---- literals --------------------------------------------------------------------------------------------------------------- */

static bool
hex_bits(const char *s, unsigned bits, uint64_t *out)
{
    char *end;
    size_t digits = strspn(s + 2, "0123456789abcdefABCDEF");
    if (s[0] != '0' || (s[1] | 32) != 'x' || !digits || s[2 + digits])
        return false;
    errno = 0;
    *out = strtoull(s, &end, 16);
    return !errno && !(*out & ~ones(bits));
}

static bool
parse_float(const struct pt_type *t, const char *s, uint64_t *out, const char **why)
{
    bool negative = *s == '-';
    const char *body = s + (*s == '-' || *s == '+');
    uint64_t sign = negative ? 1ull << (t->bits - 1) : 0, quiet = t->finite ? ones(t->bits - 1u) : infinity(t) | 1ull << (t->mantissa - 1);
    if (!strncmp(body, "0x", 2) && !strpbrk(body, "pP.")) {
        *why = "not bits of this type";
        return s == body && hex_bits(s, t->bits, out);
    }
    if (!strcmp(body, "inf")) {
        *why = "this type has no infinity";
        *out = sign | infinity(t);
        return !t->finite;
    }
    if (!strcmp(body, "nan")) {
        *out = sign | quiet;
        return true;
    }
    if (!strncmp(body, "nan:", 4)) {
        *why = "nan: wants the bits of a NaN of this type";
        return s == body && hex_bits(body + 4, t->bits, out) && pt_is_nan(t, *out);
    }
    *why = "not a number of this type";
    if (strspn(body, "0123456789abcdefABCDEFxXpP.+-") != strlen(body) || !*body)
        return false;
    char *end;
    double v = strtod(s, &end);
    if (*end || end == s)
        return false;
    if (t->bits == 32 && t->exponent == 8) {
        float f = strtof(s, &end);
        uint32_t bits;
        memcpy(&bits, &f, 4);
        *out = bits;
        v = f;
    } else {
        *out = from_double(t, v);
    }
    *why = "beyond the range of this type";
    return isfinite(v) && !pt_is_nan(t, *out) && isfinite(pt_to_double(t, *out));
}

static bool
parse_int(const struct pt_type *t, const char *s, uint64_t *out, const char **why)
{
    char *end;
    bool negative = *s == '-';
    *why = "not an integer of this type";
    if (!strncmp(s, "0x", 2))
        return hex_bits(s, t->bits, out);
    const char *digits = s + negative;
    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    uint64_t v = strtoull(digits, &end, 10);
    if (errno)
        return false;
    if (negative) {
        if (t->kind == PT_UINT || v > 1ull << (t->bits - 1))
            return false;
        v = (0 - v) & ones(t->bits);
    } else if (v > ones(t->kind == PT_SINT ? t->bits - 1u : t->bits)) {
        return false;
    }
    *out = v;
    return true;
}

static bool
parse_lane(const struct pt_type *t, const char *s, size_t length, uint64_t *out, const char **why)
{
    char text[80];
    *why = "too long";
    if (length >= sizeof text)
        return false;
    memcpy(text, s, length);
    text[length] = 0;
    return t->kind == PT_FLOAT ? parse_float(t, text, out, why) : parse_int(t, text, out, why);
}

/* Hexadecimal digits, the lowest last, for elements that are not one number. */
static bool
parse_whole(const struct pt_type *t, const char *s, size_t length, struct pt_bits *out)
{
    *out = (struct pt_bits){ 0 };
    if (length < 3 || length > 2u + pt_type_size(t) * 2 || strncmp(s, "0x", 2))
        return false;
    for (size_t i = 2; i < length; i++) {
        const char *at = strchr("0123456789abcdef", s[i] | 32);
        if (!s[i] || !at || (s[i] < '0'))
            return false;
        out->hi = out->hi << 4 | out->lo >> 60;
        out->lo = out->lo << 4 | (uint64_t)(at - "0123456789abcdef");
    }
    return true;
}

bool
pt_parse(const struct pt_type *t, const char *s, size_t length, struct pt_bits *out, const char **why)
{
    *out = (struct pt_bits){ 0 };
    if (t->lanes == 1 && t->bits <= 64)
        return parse_lane(t, s, length, &out->lo, why);
    if (!length || s[0] != '(') {
        *why = t->bits > 64 ? "b128 is written as 0x and digits" : "a packed element is written (low,...,high) or as 0x and digits";
        return parse_whole(t, s, length, out);
    }
    const char *p = s + 1, *end = s + length - 1;
    if (length < 2 || *end != ')' || t->bits > 64) {
        *why = "there is no closing parenthesis";
        return false;
    }
    for (unsigned lane = 0; lane < t->lanes; lane++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        uint64_t v;
        if ((comma == NULL) != (lane + 1 == t->lanes)) {
            *why = "wrong number of parts in parentheses";
            return false;
        }
        if (!comma)
            comma = end;
        if (!parse_lane(t, p, (size_t)(comma - p), &v, why))
            return false;
        out->lo |= v << (lane * t->bits);
        p = comma + 1;
    }
    return true;
}

void
pt_print_bits(const struct pt_type *t, struct pt_bits v, struct cw_buf *out)
{
    unsigned digits = pt_type_size(t) * 2;
    if (digits > 16)
        cw_buf_printf(out, "0x%016llx%016llx", (unsigned long long)v.hi, (unsigned long long)v.lo);
    else
        cw_buf_printf(out, "0x%0*llx", (int)digits, (unsigned long long)v.lo);
}

static void
print_lane(const struct pt_type *t, uint64_t lane, struct cw_buf *out)
{
    int64_t sign = (int64_t)(lane << (64 - t->bits)) >> (64 - t->bits);
    if (t->kind == PT_SINT)
        cw_buf_printf(out, "%lld", (long long)sign);
    else if (t->kind == PT_UINT)
        cw_buf_printf(out, "%llu", (unsigned long long)lane);
    else if (pt_is_nan(t, lane))
        cw_buf_puts(out, sign < 0 ? "-nan" : "nan");
    else
        cw_buf_printf(out, t->bits == 64 ? "%.17g" : "%.9g", pt_to_double(t, lane));
}

void
pt_print(const struct pt_type *t, struct pt_bits v, struct cw_buf *out)
{
    if (t->kind != PT_BITS) {
        if (t->lanes > 1)
            cw_buf_puts(out, "(");
        for (unsigned lane = 0; lane < t->lanes; lane++) {
            if (lane)
                cw_buf_puts(out, ",");
            print_lane(t, v.lo >> (lane * t->bits) & ones(t->bits), out);
        }
        cw_buf_puts(out, t->lanes > 1 ? ") = " : " = ");
    }
    pt_print_bits(t, v, out);
}

/* ---- sets ------------------------------------------------------------------------------------------------------------------- */

static uint64_t
mix(uint64_t x)     /* splitmix64's output function */
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

enum { FLOAT_EDGES = 32, INT_EDGES = 20, FEW = 8, SHIFTS = 16 };

static uint64_t
float_edge(const struct pt_type *t, unsigned i)
{
    const uint64_t sign = 1ull << (t->bits - 1), inf = infinity(t), ulp1 = from_double(t, 1), normal = 1ull << t->mantissa;
    const uint64_t quiet = 1ull << (t->mantissa - 1), max = inf - 1;
    switch (i) {
    case 0:  return 0;
    case 1:  return sign;
    case 2:  return 1;                                  /* the smallest denormal */
    case 3:  return sign | 1;
    case 4:  return normal - 1;                         /* the largest denormal */
    case 5:  return sign | (normal - 1);
    case 6:  return normal;
    case 7:  return sign | normal;
    case 8:  return ulp1;
    case 9:  return sign | ulp1;
    case 10: return ulp1 + 1;
    case 11: return ulp1 - 1;
    case 12: return from_double(t, 0.5);
    case 13: return sign | from_double(t, 1.5);
    case 14: return from_double(t, 2);
    case 15: return sign | from_double(t, 2.5);
    case 16: return from_double(t, 3.140625);
    case 17: return max;
    case 18: return sign | max;
    case 19: return inf;                                /* NaN where the type has no infinity */
    case 20: return sign | inf;
    case 21: return t->finite ? max - 1 : inf | quiet;
    case 22: return t->finite ? sign | (max - 1) : sign | inf | quiet | (quiet >> 1);
    case 23: return t->finite ? normal + 1 : inf | 1;   /* signalling */
    case 24: return t->finite ? sign | (normal + 1) : sign | inf | (quiet - 1);
    case 25: return t->finite ? normal << 1 : sign - 1; /* all ones */
    case 26: return ((uint64_t)ones(t->exponent - 1u) + t->mantissa) << t->mantissa;        /* from here on all are integers */
    case 27: return sign | ((((uint64_t)ones(t->exponent - 1u) + t->mantissa - 1) << t->mantissa) + 1);   /* ends in .5 */
    case 28: return (normal << 1) + 3;
    case 29: return (uint64_t)(t->exponent > 5 ? ones(t->exponent - 1u) + 31 : top_exponent(t) - 1) << t->mantissa;    /* 2^31 */
    case 30: return sign | (((uint64_t)(t->exponent > 5 ? ones(t->exponent - 1u) + 31 : top_exponent(t) - 1) << t->mantissa) + 1);
    default: return (uint64_t)(t->exponent > 5 ? ones(t->exponent - 1u) + 63 : top_exponent(t) - 2) << t->mantissa;    /* 2^63 */
    }
}

static uint64_t
int_edge(unsigned n, unsigned i)
{
    const uint64_t top = 1ull << (n - 1), half = 1ull << (n / 2);
    switch (i) {
    case 0:  return 0;
    case 1:  return 1;
    case 2:  return 2;
    case 3:  return 3;
    case 4:  return n - 1;
    case 5:  return n;
    case 6:  return n + 1;
    case 7:  return half / 2;
    case 8:  return half - 1;
    case 9:  return half;
    case 10: return half + 1;
    case 11: return top - 1;
    case 12: return top;
    case 13: return top + 1;
    case 14: return ones(n) - 1;
    case 15: return ones(n);
    case 16: return 0x5555555555555555ull & ones(n);
    case 17: return 0xaaaaaaaaaaaaaaaaull & ones(n);
    case 18: return 0x0123456789abcdefull >> (64 - n);
    default: return 0xfedcba9876543210ull >> (64 - n);
    }
}

static uint64_t
few(const struct pt_type *t, unsigned i)
{
    static const uint8_t of_float[FEW] = { 0, 1, 8, 13, 2, 17, 20, 24 }, of_int[FEW] = { 0, 1, 5, 11, 12, 15, 18, 17 };
    return t->kind == PT_FLOAT ? float_edge(t, of_float[i]) : int_edge(t->bits, of_int[i]);
}

unsigned
pt_set_count(const struct pt_type *t, enum pt_set set)
{
    switch (set) {
    case PT_EDGE:  return t->kind == PT_FLOAT ? FLOAT_EDGES : INT_EDGES;
    case PT_FEW:   return FEW;
    case PT_SHIFT: return SHIFTS;
    default:       return 0;
    }
}

static uint64_t
set_lane(const struct pt_type *t, enum pt_set set, uint64_t random, unsigned i)
{
    static const uint32_t shifts[SHIFTS] = { 0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 0x80000000u };
    switch (set) {
    case PT_EDGE:  return t->kind == PT_FLOAT ? float_edge(t, i) : int_edge(t->bits, i);
    case PT_FEW:   return few(t, i);
    case PT_SHIFT: return shifts[i] & ones(t->bits);
    case PT_RANDOM: return random & ones(t->bits);
    case PT_NEAR_ONE:
        if (t->kind != PT_FLOAT)
            return random & 0xff & ones(t->bits);
        /* sign and mantissa at random, magnitude from 2^-3 to below 2^4 */
        return (random & 1ull << (t->bits - 1)) | (random & ones(t->mantissa)) |
               (ones(t->exponent - 1u) - 3 + (random >> 53) % 7) << t->mantissa;
    }
    return 0;
}

struct pt_bits
pt_set_value(const struct pt_type *t, enum pt_set set, uint64_t seed, unsigned index)
{
    struct pt_bits v = { 0 };
    unsigned n = pt_set_count(t, set);
    if (t->bits > 64) {
        struct pt_type half = { "", PT_UINT, 64, 1 };
        v.lo = set_lane(&half, set, mix(seed * 0x10001 + index * 2ull), n ? index % n : 0);
        v.hi = set_lane(&half, set, mix(seed * 0x10001 + index * 2ull + 1), n ? (index * 7 + 3) % n : 0);
        return v;
    }
    for (unsigned lane = 0; lane < t->lanes; lane++) {
        uint64_t random = mix(seed << 32 ^ ((uint64_t)index * t->lanes + lane));
        unsigned i = n ? (lane ? index * (2 * lane + 5) + 3 * lane : index) % n : 0;
        v.lo |= set_lane(t, set, random, i) << (lane * t->bits);
    }
    return v;
}
