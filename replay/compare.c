/* SPDX-License-Identifier: Apache-2.0
 * See compare.h. */
#include "replay/compare.h"

#include "impl/api/cuda.h"
#include "replay/analyze.h"

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
cwd_value_same(uint64_t a, uint64_t b, unsigned type, uint32_t ulp)
{
    int64_t x, y;
    if (a == b)
        return true;
    if (!ulp || !is_float(type))
        return false;
    bool nx = ordered(a, type, &x), ny = ordered(b, type, &y);
    if (!nx || !ny)
        return nx == ny;
    return (x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x) <= ulp;
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

static bool
differ(const uint8_t *a, const uint8_t *b, uint64_t size, unsigned known, uint32_t ulp, struct cwd_difference *x)
{
    if (!memcmp(a, b, size))
        return false;
    unsigned type = element_type(known, size), n = cwd_type_bytes(type);
    x->elements = size / n;
    x->count = 0;
    x->type = cwd_type_name(type);
    x->width = n;
    for (uint64_t i = 0; i < x->elements; i++) {
        uint64_t va = 0, vb = 0;
        if (!memcmp(a + i * n, b + i * n, n))
            continue;
        memcpy(&va, a + i * n, n);      /* little endian, as is every device */
        memcpy(&vb, b + i * n, n);
        if (cwd_value_same(va, vb, type, ulp))
            continue;
        if (!x->count++) {
            x->index = i;
            x->offset = i * n;
            cwd_value_print(va, type, x->expected, sizeof x->expected);
            cwd_value_print(vb, type, x->actual, sizeof x->actual);
        }
    }
    return x->count;
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
cwd_compare(const struct cwd_dump *d, const struct cwd_outcome *o, uint32_t ulp,
            void (*found)(void *user, const struct cwd_difference *x), void *user)
{
    struct cwd_difference x;
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        const struct cwd_buffer *b = &d->buffers[i];
        memset(&x, 0, sizeof x);
        if (!b->after || !o->buffers[i] || !differ(b->after, o->buffers[i], b->size, cwd_type_of(b->element), ulp, &x))
            continue;
        char where[100];
        cwd_where(d, i, where, sizeof where);
        snprintf(x.where, sizeof x.where, "buffer %u, %s", i, where);
        x.buffer = (int32_t)i;
        found(user, &x);
        n++;
    }
    for (uint32_t i = 0; i < d->narrays; i++) {
        const struct cwd_array *a = &d->arrays[i];
        memset(&x, 0, sizeof x);
        if (!a->after || !o->arrays[i] || !differ(a->after, o->arrays[i], a->size, texel_type(a->format), ulp, &x))
            continue;
        where_array(d, i, x.where, sizeof x.where);
        x.buffer = -1;
        found(user, &x);
        n++;
    }
    return n;
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
    cw_buf_printf(out, "%s: %llu of %llu %s differ; first at byte %llu, index %llu: %s %s, %s %s\n", x->where,
                  (unsigned long long)x->count, (unsigned long long)x->elements, x->type, (unsigned long long)x->offset,
                  (unsigned long long)x->index, expected, x->expected, actual, x->actual);
}
