/* SPDX-License-Identifier: Apache-2.0
 * See texture.h: creation and look-up; sampling is in tex.c and tex_fast.c. */
#include "impl/host/texture.h"

#include "impl/va.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 16 };

/* A handle is generation << 20 | slot + 1. Readers load one pointer; writers hold the lock. */
static _Atomic(struct cwh_texobj *) slots[SLOTS];
static struct {
    pthread_mutex_t lock;
    uint32_t hint;
    uint64_t generation;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint32_t
cwh_format_bytes(enum cwb_format f)
{
    switch (f) {
    case CWB_FORMAT_U8: case CWB_FORMAT_S8:
        return 1;
    case CWB_FORMAT_U16: case CWB_FORMAT_S16: case CWB_FORMAT_F16:
        return 2;
    default:
        return 4;
    }
}

static cwb_result
insert(struct cwh_texobj *t)
{
    cwb_result r = CWB_NOMEM;
    pthread_mutex_lock(&table.lock);
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint32_t s = (table.hint + i) % SLOTS;
        if (!atomic_load_explicit(&slots[s], memory_order_relaxed)) {
            t->handle = ++table.generation << 20 | (s + 1);
            atomic_store_explicit(&slots[s], t, memory_order_release);
            table.hint = s + 1;
            r = CWB_OK;
            break;
        }
    }
    pthread_mutex_unlock(&table.lock);
    return r;
}

struct cwh_texobj *
cwh_texobj_get(uint64_t handle)
{
    uint64_t s = (handle & 0xfffff) - 1;
    if (s >= SLOTS)
        return NULL;
    struct cwh_texobj *t = atomic_load_explicit(&slots[s], memory_order_acquire);
    return t && t->handle == handle ? t : NULL;
}

void
cwh_texobj_free(struct cwh_texobj *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&table.lock);
    atomic_store_explicit(&slots[(t->handle & 0xfffff) - 1], NULL, memory_order_release);
    pthread_mutex_unlock(&table.lock);
    free(t);
}

static bool
valid_format(enum cwb_format f, uint32_t channels)
{
    return (unsigned)f <= CWB_FORMAT_F32 && (channels == 1 || channels == 2 || channels == 4);
}

cwb_result
cwh_array_create(const struct cwb_array_desc *d, struct cwh_array **out)
{
    uint32_t levels = d->levels ? d->levels : 1;
    if (!d->width || !valid_format(d->format, d->channels) || levels > CWH_MAX_LEVELS || d->width > 1 << 20 || d->height > 1 << 20 ||
        d->depth > 1 << 20)
        return CWB_INVALID;
    struct cwh_array *a = calloc(1, sizeof *a);
    if (!a)
        return CWB_NOMEM;
    a->desc = *d;
    a->desc.levels = levels;
    a->element = cwh_format_bytes(d->format) * d->channels;
    bool layers = d->flags & (CWB_ARRAY_LAYERED | CWB_ARRAY_CUBEMAP);
    size_t w = d->width, h = d->height ? d->height : 1, z = d->depth ? d->depth : 1, offset[CWH_MAX_LEVELS];
    for (uint32_t i = 0; i < levels; i++) {
        struct cwh_level *l = &a->level[i];
        l->width = (uint32_t)w;
        l->height = (uint32_t)h;
        l->depth = (uint32_t)z;
        l->pitch = (w * a->element + 63) & ~(size_t)63;
        if (__builtin_mul_overflow(l->pitch, h, &l->slice) || __builtin_mul_overflow(l->slice, z, &offset[i]) ||
            __builtin_add_overflow(a->size, offset[i], &offset[i])) {
            free(a);
            return CWB_NOMEM;
        }
        size_t end = offset[i];
        offset[i] = a->size;
        a->size = end;
        w = w > 1 ? w / 2 : 1;
        h = h > 1 ? h / 2 : 1;
        if (!layers)
            z = z > 1 ? z / 2 : 1;
    }
    cwb_result r = cw_va_alloc(a->size, 512, &a->memory);
    if (r != CWB_OK) {
        free(a);
        return r;
    }
    for (uint32_t i = 0; i < levels; i++)
        a->level[i].base = (uint8_t *)(uintptr_t)(a->memory + offset[i]);
    *out = a;
    return CWB_OK;
}

void
cwh_array_destroy(struct cwh_array *a)
{
    if (!a)
        return;
    (void)cw_va_free(a->memory, a->size);
    free(a);
}

cwb_result
cwh_array_side(struct cwb_side *s)
{
    if (s->loc != CWB_LOC_ARRAY)
        return CWB_OK;
    const struct cwh_array *a = (const struct cwh_array *)(const void *)s->array;
    if (!a || s->level >= a->desc.levels)
        return CWB_INVALID;
    const struct cwh_level *l = &a->level[s->level];
    s->loc = CWB_LOC_HOST;
    s->address = (uintptr_t)l->base;
    s->pitch = l->pitch;
    s->slice = l->slice;
    return CWB_OK;
}

static bool
is_float(enum cwb_format f)
{
    return f == CWB_FORMAT_F16 || f == CWB_FORMAT_F32;
}

static void
set_shape(struct cwh_texobj *t, const struct cwb_array_desc *d)
{
    t->cube = d->flags & CWB_ARRAY_CUBEMAP;
    t->layered = d->flags & CWB_ARRAY_LAYERED;
    t->dims = !d->height ? 1 : t->cube || t->layered || !d->depth ? 2 : 3;
}

cwb_result
cwh_texture_create(const struct cwb_texture_desc *d, struct cwh_texobj **out)
{
    const struct cwh_array *a = (const struct cwh_array *)(const void *)d->array;
    if (!valid_format(d->format, d->channels) || (d->kind == CWB_TEX_ARRAY && !a))
        return CWB_INVALID;
    struct cwh_texobj *t = calloc(1, sizeof *t);
    if (!t)
        return CWB_NOMEM;
    t->format = d->format;
    t->channels = (uint8_t)d->channels;
    t->bytes = (uint8_t)cwh_format_bytes(d->format);
    t->element = (uint8_t)(t->bytes * d->channels);
    t->nlevels = 1;
    struct cwh_level *l = &t->level[0];
    switch (d->kind) {
    case CWB_TEX_LINEAR:
        t->linear_memory = true;
        if (d->size / t->element > UINT32_MAX)
            goto invalid;
        *l = (struct cwh_level){ (uint8_t *)(uintptr_t)d->address, (uint32_t)(d->size / t->element), 1, 1, d->size, d->size };
        t->dims = 1;
        break;
    case CWB_TEX_PITCH2D:
        if (!d->width || !d->height || d->width > UINT32_MAX || d->height > UINT32_MAX || d->width * t->element > d->pitch)
            goto invalid;
        *l = (struct cwh_level){ (uint8_t *)(uintptr_t)d->address, (uint32_t)d->width, (uint32_t)d->height, 1, d->pitch,
                                 d->pitch * d->height };
        t->dims = 2;
        break;
    case CWB_TEX_ARRAY:
        /* The view may read the texels as another format of the same size. */
        if (t->element != a->element)
            goto invalid;
        uint32_t first = d->first_level < a->desc.levels ? d->first_level : a->desc.levels - 1;
        uint32_t last = d->last_level && d->last_level < a->desc.levels ? d->last_level : a->desc.levels - 1;
        if (last < first)
            last = first;
        t->nlevels = last - first + 1;
        memcpy(t->level, a->level + first, t->nlevels * sizeof *l);
        set_shape(t, &a->desc);
        if (d->last_layer) {
            t->first_layer = d->first_layer;
            t->last_layer = d->last_layer;
        } else {
            t->last_layer = a->level[0].depth - 1;
        }
        if (t->first_layer > t->last_layer || t->last_layer >= a->level[0].depth)
            goto invalid;
        break;
    default:
        goto invalid;
    }
    t->normalized = d->normalized;
    for (int i = 0; i < 3; i++) {
        enum cwb_address m = d->address_mode[i];
        if ((unsigned)m > CWB_ADDRESS_BORDER)
            goto invalid;
        if (!d->normalized && (m == CWB_ADDRESS_WRAP || m == CWB_ADDRESS_MIRROR))
            m = CWB_ADDRESS_CLAMP;
        t->address[i] = (uint8_t)m;
    }
    bool wide = cwh_format_bytes(d->format) == 4;
    t->as_float = is_float(d->format) || (!d->read_as_integer && !wide);
    t->linear = d->linear && !t->linear_memory;
    t->mip_linear = d->mip_linear;
    t->srgb = d->srgb && d->format == CWB_FORMAT_U8 && t->as_float;
    t->mip_bias = d->mip_bias;
    t->min_level = d->min_level;
    t->max_level = d->max_level;
    memcpy(t->border, d->border, sizeof t->border);
    t->seamless = d->seamless_cube;
    t->fast = (d->format == CWB_FORMAT_U8 || d->format == CWB_FORMAT_U16 || d->format == CWB_FORMAT_F32) && !t->srgb &&
              t->nlevels == 1 && !t->linear_memory && !t->cube && !t->layered && l->depth == 1 && t->first_layer == 0 &&
              t->address[0] == CWB_ADDRESS_CLAMP && t->address[1] == CWB_ADDRESS_CLAMP && l->width <= 1 << 20 && l->height <= 1 << 20;
    cwb_result r = insert(t);
    if (r != CWB_OK) {
        free(t);
        return r;
    }
    *out = t;
    return CWB_OK;

invalid:
    free(t);
    return CWB_INVALID;
}

cwb_result
cwh_surface_create(const struct cwh_array *a, uint32_t level, struct cwh_texobj **out)
{
    if (!a || level >= a->desc.levels)
        return CWB_INVALID;
    struct cwh_texobj *t = calloc(1, sizeof *t);
    if (!t)
        return CWB_NOMEM;
    t->surface = true;
    t->format = a->desc.format;
    t->channels = (uint8_t)a->desc.channels;
    t->element = (uint8_t)a->element;
    t->bytes = (uint8_t)(a->element / a->desc.channels);
    t->nlevels = 1;
    t->level[0] = a->level[level];
    set_shape(t, &a->desc);
    t->last_layer = t->level[0].depth - 1;
    cwb_result r = insert(t);
    if (r != CWB_OK) {
        free(t);
        return r;
    }
    *out = t;
    return CWB_OK;
}
