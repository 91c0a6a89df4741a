/* SPDX-License-Identifier: Apache-2.0
 * See texture.h: the layout of arrays, and the description of an object for its instructions. */
#include "impl/texture.h"

#include <string.h>

uint32_t
cw_format_bytes(enum cwb_format f)
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

static bool
valid_format(enum cwb_format f, uint32_t channels)
{
    return (unsigned)f <= CWB_FORMAT_F32 && (channels == 1 || channels == 2 || channels == 4);
}

cwb_result
cw_array_layout(const struct cwb_array_desc *d, uint32_t align, struct cw_array *a)
{
    uint32_t levels = d->levels ? d->levels : 1;
    if (!d->width || !valid_format(d->format, d->channels) || levels > CW_MAX_LEVELS || d->width > 1 << 20 || d->height > 1 << 20 ||
        d->depth > 1 << 20)
        return CWB_INVALID;
    memset(a, 0, sizeof *a);
    a->desc = *d;
    a->desc.levels = levels;
    a->element = cw_format_bytes(d->format) * d->channels;
    bool layers = d->flags & (CWB_ARRAY_LAYERED | CWB_ARRAY_CUBEMAP);
    size_t w = d->width, h = d->height ? d->height : 1, z = d->depth ? d->depth : 1, end;
    for (uint32_t i = 0; i < levels; i++) {
        struct cw_level *l = &a->level[i];
        l->base = (cw_texel_byte *)(uintptr_t)a->size;
        l->width = (uint32_t)w;
        l->height = (uint32_t)h;
        l->depth = (uint32_t)z;
        l->pitch = (w * a->element + align - 1) & ~(size_t)(align - 1);
        if (__builtin_mul_overflow(l->pitch, h, &l->slice) || __builtin_mul_overflow(l->slice, z, &end) ||
            __builtin_add_overflow(a->size, end, &a->size))
            return CWB_NOMEM;
        w = w > 1 ? w / 2 : 1;
        h = h > 1 ? h / 2 : 1;
        if (!layers)
            z = z > 1 ? z / 2 : 1;
    }
    return CWB_OK;
}

void
cw_array_place(struct cw_array *a, uint64_t memory)
{
    a->memory = memory;
    for (uint32_t i = 0; i < a->desc.levels; i++)
        a->level[i].base = (cw_texel_byte *)((uintptr_t)a->level[i].base + memory);
}

cwb_result
cw_array_side(struct cwb_side *s, enum cwb_loc loc)
{
    if (s->loc != CWB_LOC_ARRAY)
        return CWB_OK;
    const struct cw_array *a = (const struct cw_array *)(const void *)s->array;
    if (!a || s->level >= a->desc.levels)
        return CWB_INVALID;
    const struct cw_level *l = &a->level[s->level];
    s->loc = loc;
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
set_shape(struct cw_texture *t, const struct cwb_array_desc *d)
{
    t->cube = d->flags & CWB_ARRAY_CUBEMAP;
    t->layered = d->flags & CWB_ARRAY_LAYERED;
    t->dims = !d->height ? 1 : t->cube || t->layered || !d->depth ? 2 : 3;
}

cwb_result
cw_texture_describe(const struct cwb_texture_desc *d, struct cw_texture *t)
{
    const struct cw_array *a = (const struct cw_array *)(const void *)d->array;
    if (!valid_format(d->format, d->channels) || (d->kind == CWB_TEX_ARRAY && !a))
        return CWB_INVALID;
    memset(t, 0, sizeof *t);
    t->format = (uint8_t)d->format;
    t->channels = (uint8_t)d->channels;
    t->bytes = (uint8_t)cw_format_bytes(d->format);
    t->element = (uint8_t)(t->bytes * d->channels);
    t->nlevels = 1;
    struct cw_level *l = &t->level[0];
    switch (d->kind) {
    case CWB_TEX_LINEAR:
        t->linear_memory = true;
        if (d->size / t->element > UINT32_MAX)
            return CWB_INVALID;
        *l = (struct cw_level){ (cw_texel_byte *)(uintptr_t)d->address, (uint32_t)(d->size / t->element), 1, 1, d->size, d->size };
        t->dims = 1;
        break;
    case CWB_TEX_PITCH2D:
        if (!d->width || !d->height || d->width > UINT32_MAX || d->height > UINT32_MAX || d->width * t->element > d->pitch)
            return CWB_INVALID;
        *l = (struct cw_level){ (cw_texel_byte *)(uintptr_t)d->address, (uint32_t)d->width, (uint32_t)d->height, 1, d->pitch,
                                 d->pitch * d->height };
        t->dims = 2;
        break;
    case CWB_TEX_ARRAY:
        /* The view may read the texels as another format of the same size. */
        if (t->element != a->element)
            return CWB_INVALID;
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
            return CWB_INVALID;
        break;
    default:
        return CWB_INVALID;
    }
    t->normalized = d->normalized;
    for (int i = 0; i < 3; i++) {
        enum cwb_address m = d->address_mode[i];
        if ((unsigned)m > CWB_ADDRESS_BORDER)
            return CWB_INVALID;
        if (!d->normalized && (m == CWB_ADDRESS_WRAP || m == CWB_ADDRESS_MIRROR))
            m = CWB_ADDRESS_CLAMP;
        t->address[i] = (uint8_t)m;
    }
    bool wide = cw_format_bytes(d->format) == 4;
    t->as_float = is_float(d->format) || (!d->read_as_integer && !wide);
    t->linear = d->linear && !t->linear_memory;
    t->mip_linear = d->mip_linear;
    t->srgb = d->srgb && d->format == CWB_FORMAT_U8 && t->as_float;
    t->mip_bias = d->mip_bias;
    t->min_level = d->min_level;
    t->max_level = d->max_level;
    memcpy(t->border, d->border, sizeof t->border);
    t->seamless = d->seamless_cube;
    bool unsigned_or_float = d->format == CWB_FORMAT_U8 || d->format == CWB_FORMAT_U16 || is_float(d->format);
    t->plain = unsigned_or_float && !t->srgb && t->nlevels == 1 && !t->linear_memory && !t->cube && !t->layered && l->depth == 1 &&
               t->first_layer == 0 && t->address[0] != CWB_ADDRESS_BORDER && t->address[1] != CWB_ADDRESS_BORDER &&
               l->width <= 1 << 20 && l->height <= 1 << 20;
    t->fast = t->plain && d->format != CWB_FORMAT_F16 && t->address[0] == CWB_ADDRESS_CLAMP && t->address[1] == CWB_ADDRESS_CLAMP;
    return CWB_OK;
}

cwb_result
cw_surface_describe(const struct cw_array *a, uint32_t level, struct cw_texture *t)
{
    if (!a || level >= a->desc.levels)
        return CWB_INVALID;
    memset(t, 0, sizeof *t);
    t->surface = true;
    t->format = (uint8_t)a->desc.format;
    t->channels = (uint8_t)a->desc.channels;
    t->element = (uint8_t)a->element;
    t->bytes = (uint8_t)(a->element / a->desc.channels);
    t->nlevels = 1;
    t->level[0] = a->level[level];
    set_shape(t, &a->desc);
    t->last_layer = t->level[0].depth - 1;
    return CWB_OK;
}
