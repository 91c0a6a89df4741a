/* SPDX-License-Identifier: Apache-2.0
 * See compare.h. */
#include "replay/compare.h"

#include "impl/api/cuda.h"
#include "replay/analyze.h"
#include "replay/tolerance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double
half(uint16_t h)
{
    int e = h >> 10 & 31;
    double m = h & 1023, v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static bool
is_float(unsigned type)
{
    return type == PTX_F32 || type == PTX_F64 || type == PTX_F16 || type == PTX_BF16;
}

/* Floats in an order in which neighbours differ by one; both zeros are 0. False for NaN. */
static bool
ordered(uint64_t bits, unsigned type, int64_t *out)
{
    unsigned width = cwd_type_bytes(type) * 8, mantissa = type == PTX_F64 ? 52 : type == PTX_F32 ? 23 : type == PTX_BF16 ? 7 : 10;
    uint64_t sign = 1ull << (width - 1), magnitude = bits & (sign - 1), infinity = (sign - 1) >> mantissa << mantissa;
    if (magnitude > infinity)
        return false;
    *out = bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool
cwd_value_ulps(uint64_t a, uint64_t b, unsigned type, uint64_t *ulps)
{
    int64_t x, y;
    if (!is_float(type) || !ordered(a, type, &x) || !ordered(b, type, &y))
        return false;
    *ulps = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    return true;
}

bool
cwd_value_same(uint64_t a, uint64_t b, unsigned type, uint32_t ulp)
{
    int64_t x, y;
    uint64_t ulps;
    if (a == b)
        return true;
    if (!ulp || !is_float(type))
        return false;
    return cwd_value_ulps(a, b, type, &ulps) ? ulps <= ulp : ordered(a, type, &x) == ordered(b, type, &y);
}

void
cwd_value_print(uint64_t bits, unsigned type, char *out, size_t size)
{
    unsigned n = cwd_type_bytes(type);
    float f;
    double d;
    uint32_t b32 = (uint32_t)bits;
    switch (type) {
    case PTX_F32:
        memcpy(&f, &b32, sizeof f);
        snprintf(out, size, "%.9g (0x%08x)", (double)f, b32);
        return;
    case PTX_BF16:
        b32 <<= 16;
        memcpy(&f, &b32, sizeof f);
        snprintf(out, size, "%.9g (0x%04x)", (double)f, (unsigned)bits);
        return;
    case PTX_F16:
        snprintf(out, size, "%.9g (0x%04x)", half((uint16_t)bits), (unsigned)bits);
        return;
    case PTX_F64:
        memcpy(&d, &bits, sizeof d);
        snprintf(out, size, "%.17g (0x%016llx)", d, (unsigned long long)bits);
        return;
    case PTX_S8: case PTX_S16: case PTX_S32: case PTX_S64:
        snprintf(out, size, "%lld (0x%0*llx)", (long long)(bits << (64 - n * 8)) >> (64 - n * 8), (int)n * 2, (unsigned long long)bits);
        return;
    default:
        snprintf(out, size, "%llu (0x%0*llx)", (unsigned long long)bits, (int)n * 2, (unsigned long long)bits);
    }
}

/* The type in which a content is compared: the known one, if its size divides the content's. */
static unsigned
element_type(unsigned t, uint64_t size)
{
    unsigned n = cwd_type_bytes(t);
    if (t == PTX_F16X2)
        t = PTX_F16;
    else if (t == PTX_BF16X2)
        t = PTX_BF16;
    else if (t == PTX_F32X2)
        t = PTX_F32;
    else if (n != 1 && n != 2 && n != 4 && n != 8)
        t = PTX_U32;
    return size % cwd_type_bytes(t) ? PTX_U8 : t;
}

unsigned
cwd_element_width(const struct cwd_buffer *b)
{
    return cwd_type_bytes(element_type(cwd_type_of(b->element), b->size));
}

double
cwd_value_number(uint64_t bits, unsigned type)
{
    unsigned n = cwd_type_bytes(type);
    uint32_t b32 = type == PTX_BF16 ? (uint32_t)bits << 16 : (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &b32, sizeof f);
    memcpy(&d, &bits, sizeof d);
    switch (type) {
    case PTX_F32: case PTX_BF16:                        return (double)f;
    case PTX_F16:                                       return half((uint16_t)bits);
    case PTX_F64:                                       return d;
    case PTX_S8: case PTX_S16: case PTX_S32: case PTX_S64: return (double)((int64_t)(bits << (64 - n * 8)) >> (64 - n * 8));
    default:                                            return (double)bits;
    }
}

static double
apart(uint64_t a, uint64_t b, unsigned type)
{
    return fabs(cwd_value_number(a, type) - cwd_value_number(b, type));
}

/* False: infinities and NaN. */
static bool
measure(uint64_t a, uint64_t b, unsigned type, struct cwd_distance *x)
{
    double u = cwd_value_number(a, type), v = cwd_value_number(b, type), larger = fmax(fabs(u), fabs(v));
    uint64_t ulps = 0;
    if (!isfinite(u) || !isfinite(v))
        return false;
    double distance = fabs(u - v), relative = isfinite(distance) ? distance / larger : fabs(u / larger - v / larger);
    x->absolute = fmax(x->absolute, distance);
    x->relative = larger > 0 ? fmax(x->relative, relative) : x->relative;
    if (cwd_value_ulps(a, b, type, &ulps) && ulps > x->ulps)
        x->ulps = ulps;
    return true;
}

static bool
allows(const struct cwd_allowance *w, uint64_t a, uint64_t b, unsigned type)
{
    if (cwd_value_same(a, b, type, w->ulp))
        return true;
    if (!(w->absolute > 0) && !(w->relative > 0))
        return false;
    double u = cwd_value_number(a, type), v = cwd_value_number(b, type);
    if (isnan(u) && isnan(v))
        return true;
    /* Infinities are at no distance of anything, integers of 64 bits that are rounded to the same number at a small one. */
    return isfinite(u) && isfinite(v) && (fabs(u - v) <= w->absolute || fabs(u - v) <= w->relative * fmax(fabs(u), fabs(v))) && (u != v || is_float(type) || w->absolute >= 1);
}

/* Each of the two values is at most `bound`, a number of their type, from the exact one. Not rounded down: both sides of the comparison are doubles, and the
 * difference of two floats of fewer bits is exact or rounded to nearest, monotonically. */
static bool
inside(uint64_t a, uint64_t b, uint64_t bound, unsigned type)
{
    double e = cwd_value_number(bound, type);
    return isfinite(e) && apart(a, b, type) <= 2 * e;
}

struct how {
    struct cwd_allowance allowance;
    const uint8_t *bound;
};

enum verdict { SAME, TOLERATED, BOUNDED, DIFFERENT };

static enum verdict
judge(const struct how *how, uint64_t a, uint64_t b, uint64_t bound, unsigned type)
{
    if (a == b)
        return SAME;
    if (allows(&how->allowance, a, b, type))
        return TOLERATED;
    return how->bound && is_float(type) && inside(a, b, bound, type) ? BOUNDED : DIFFERENT;
}

static bool
differ(const uint8_t *a, const uint8_t *b, uint64_t size, unsigned known, const struct how *how, struct cwd_difference *x)
{
    if (!memcmp(a, b, size))
        return false;
    unsigned type = element_type(known, size), n = cwd_type_bytes(type);
    x->elements = size / n;
    x->count = 0;
    x->type = cwd_type_name(type);
    x->kind = type;
    x->width = n;
    x->floats = is_float(type);
    for (uint64_t i = 0; i < x->elements; i++) {
        uint64_t va = 0, vb = 0, bound = 0;
        if (!memcmp(a + i * n, b + i * n, n))
            continue;
        memcpy(&va, a + i * n, n);      /* little endian, as is every device */
        memcpy(&vb, b + i * n, n);
        if (how->bound)
            memcpy(&bound, how->bound + i * n, n);
        enum verdict v = judge(how, va, vb, bound, type);
        if (v != DIFFERENT) {
            x->tolerated += v == TOLERATED;
            x->bounded += v == BOUNDED;
            measure(va, vb, type, &x->allowed);
            continue;
        }
        x->special += !measure(va, vb, type, &x->apart);
        x->unbounded += how->bound && !isfinite(cwd_value_number(bound, type));
        if (!x->count++) {
            x->index = i;
            x->offset = i * n;
            cwd_value_print(va, type, x->expected, sizeof x->expected);
            cwd_value_print(vb, type, x->actual, sizeof x->actual);
        }
    }
    return x->count || x->tolerated || x->bounded;
}

/* By which a tolerance's line finds it. */
static void
name_buffer(const struct cwd_dump *d, uint32_t buffer, char *name, size_t size, char *number, size_t number_size)
{
    const struct cwd_buffer *b = &d->buffers[buffer];
    *name = *number = 0;
    if (b->name) {
        snprintf(name, size, "%s", b->name);
        return;
    }
    for (uint32_t i = 0; i < d->nparams; i++) {
        const struct cwd_param *p = &d->params[i];
        for (uint32_t at = 0; at + 8 <= p->size; at += 8) {
            uint64_t word;
            memcpy(&word, d->param_block + p->offset + at, sizeof word);
            if (word - b->address >= b->size)
                continue;
            if (p->name)
                snprintf(name, size, p->size > 8 ? "%s+%u" : "%s", p->name, at);
            snprintf(number, number_size, p->size > 8 ? "%u+%u" : "%u", i, at);
            return;
        }
    }
}

void
cwd_where(const struct cwd_dump *d, uint32_t buffer, char *out, size_t size)
{
    const struct cwd_buffer *b = &d->buffers[buffer];
    if (b->name) {
        snprintf(out, size, "variable %s", b->name);
        return;
    }
    for (uint32_t i = 0; i < d->nparams; i++) {
        const struct cwd_param *p = &d->params[i];
        for (uint32_t at = 0; at + 8 <= p->size; at += 8) {
            uint64_t word;
            memcpy(&word, d->param_block + p->offset + at, sizeof word);
            if (word - b->address >= b->size)
                continue;
            int n = p->name ? snprintf(out, size, "parameter %s", p->name) : snprintf(out, size, "parameter %u", i);
            if (p->size > 8 && n > 0 && (size_t)n < size)
                n += snprintf(out + n, size - (size_t)n, "+%u", at);
            if (word != b->address && n > 0 && (size_t)n < size)
                snprintf(out + n, size - (size_t)n, " (which points to byte %llu)", (unsigned long long)(word - b->address));
            return;
        }
    }
    snprintf(out, size, "memory reached through pointers");
}

static void
where_array(const struct cwd_dump *d, uint32_t array, char *out, size_t size)
{
    snprintf(out, size, "array %u", array);
    for (uint32_t i = 0; i < d->ntextures; i++) {
        const struct cwd_texture *t = &d->textures[i];
        if (t->array != (int32_t)array || !t->nuses || t->uses[0].buffer >= 0)
            continue;
        for (uint32_t k = 0; k < d->nparams; k++)
            if (t->uses[0].offset - d->params[k].offset < d->params[k].size && d->params[k].name)
                snprintf(out, size, "array of the %s at parameter %s", t->surface ? "surface" : "texture", d->params[k].name);
    }
}

static unsigned
texel_type(uint32_t format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:  return PTX_U8;
    case CU_AD_FORMAT_UNSIGNED_INT16: return PTX_U16;
    case CU_AD_FORMAT_UNSIGNED_INT32: return PTX_U32;
    case CU_AD_FORMAT_SIGNED_INT8:    return PTX_S8;
    case CU_AD_FORMAT_SIGNED_INT16:   return PTX_S16;
    case CU_AD_FORMAT_SIGNED_INT32:   return PTX_S32;
    case CU_AD_FORMAT_HALF:           return PTX_F16;
    default:                          return PTX_F32;
    }
}

uint32_t
cwd_compare_by(const struct cwd_dump *d, const struct cwd_outcome *o, const struct cwd_tolerances *t, const struct cwd_bounds *bounds,
               void (*found)(void *user, const struct cwd_difference *x), void *user)
{
    struct cwd_difference x;
    char number[24];
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        const struct cwd_buffer *b = &d->buffers[i];
        if (!b->after || !o->buffers[i])
            continue;
        memset(&x, 0, sizeof x);
        name_buffer(d, i, x.name, sizeof x.name, number, sizeof number);
        struct how how = { *cwd_tolerances_find(t, d->kernel, *x.name ? x.name : NULL, *number ? number : NULL),
                           bounds && i < bounds->nbuffers ? bounds->buffers[i] : NULL };
        if (!differ(b->after, o->buffers[i], b->size, cwd_type_of(b->element), &how, &x))
            continue;
        char where[100];
        cwd_where(d, i, where, sizeof where);
        snprintf(x.where, sizeof x.where, "buffer %u, %s", i, where);
        x.buffer = (int32_t)i;
        x.array = -1;
        found(user, &x);
        n += x.count > 0;
    }
    for (uint32_t i = 0; i < d->narrays; i++) {
        const struct cwd_array *a = &d->arrays[i];
        if (!a->after || !o->arrays[i])
            continue;
        memset(&x, 0, sizeof x);
        struct how how = { *cwd_tolerances_find(t, d->kernel, NULL, NULL), NULL };
        if (!differ(a->after, o->arrays[i], a->size, texel_type(a->format), &how, &x))
            continue;
        where_array(d, i, x.where, sizeof x.where);
        x.buffer = -1;
        x.array = (int32_t)i;
        found(user, &x);
        n += x.count > 0;
    }
    return n;
}

struct caller {
    void (*found)(void *user, const struct cwd_difference *x);
    void *user;
};

static void
pass_on(void *user, const struct cwd_difference *x)
{
    const struct caller *c = user;
    if (x->count)
        c->found(c->user, x);
}

uint32_t
cwd_compare(const struct cwd_dump *d, const struct cwd_outcome *o, uint32_t ulp,
            void (*found)(void *user, const struct cwd_difference *x), void *user)
{
    struct caller c = { found, user };
    const struct cwd_tolerances t = { .otherwise = { .ulp = ulp } };
    return cwd_compare_by(d, o, &t, NULL, pass_on, &c);
}

bool
cwd_has_results(const struct cwd_dump *d)
{
    for (uint32_t i = 0; i < d->nbuffers; i++)
        if (!d->buffers[i].after)
            return false;
    for (uint32_t i = 0; i < d->narrays; i++)
        if (!d->arrays[i].after)
            return false;
    return true;
}

void
cwd_difference_print(const struct cwd_difference *x, const char *expected, const char *actual, struct cw_buf *out)
{
    if (x->count)
        cw_buf_printf(out, "%s: %llu of %llu %s differ; first at byte %llu, index %llu: %s %s, %s %s", x->where,
                      (unsigned long long)x->count, (unsigned long long)x->elements, x->type, (unsigned long long)x->offset,
                      (unsigned long long)x->index, expected, x->expected, actual, x->actual);
    else
        cw_buf_printf(out, "%s: none of %llu %s differs more than allowed", x->where, (unsigned long long)x->elements, x->type);
    if (x->floats && x->count)
        cw_buf_printf(out, "; at most %.3g apart, %.3g relative, %llu ULP", x->apart.absolute, x->apart.relative, (unsigned long long)x->apart.ulps);
    if (x->tolerated)
        cw_buf_printf(out, "; %llu tolerated", (unsigned long long)x->tolerated);
    if (x->bounded)
        cw_buf_printf(out, "; %llu within bounds", (unsigned long long)x->bounded);
    if (x->unbounded)
        cw_buf_printf(out, "; %llu without a bound", (unsigned long long)x->unbounded);
    if (!x->count)
        cw_buf_printf(out, "; at most %.3g apart, %.3g relative, %llu ULP", x->allowed.absolute, x->allowed.relative, (unsigned long long)x->allowed.ulps);
    cw_buf_puts(out, "\n");
}

static void
put_distance(struct cw_buf *out, const char *name, const struct cwd_distance *x)
{
    cw_buf_printf(out, ",\"%s\":{\"absolute\":", name);
    cw_buf_printf(out, isfinite(x->absolute) ? "%.17g" : "null", x->absolute);
    cw_buf_printf(out, ",\"relative\":%.17g,\"ulp\":%llu}", x->relative, (unsigned long long)x->ulps);
}

void
cwd_difference_json(const struct cwd_difference *x, struct cw_buf *out)
{
    cw_buf_puts(out, "{\"where\":");
    cw_buf_json_string(out, x->where);
    cw_buf_puts(out, ",\"name\":");
    cw_buf_json_string(out, x->name);
    cw_buf_printf(out, ",\"buffer\":%d,\"type\":\"%s\",\"elements\":%llu,\"differ\":%llu,\"tolerated\":%llu,\"bounded\":%llu,\"unbounded\":%llu,\"not_finite\":%llu", (int)x->buffer,
                  x->type, (unsigned long long)x->elements, (unsigned long long)x->count, (unsigned long long)x->tolerated, (unsigned long long)x->bounded,
                  (unsigned long long)x->unbounded, (unsigned long long)x->special);
    put_distance(out, "largest", &x->apart);
    put_distance(out, "allowed", &x->allowed);
    if (x->count) {
        cw_buf_printf(out, ",\"first\":{\"byte\":%llu,\"index\":%llu,\"reference\":", (unsigned long long)x->offset, (unsigned long long)x->index);
        cw_buf_json_string(out, x->expected);
        cw_buf_puts(out, ",\"subject\":");
        cw_buf_json_string(out, x->actual);
        cw_buf_puts(out, "}");
    }
    cw_buf_puts(out, "}");
}
