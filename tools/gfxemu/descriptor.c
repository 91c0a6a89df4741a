/* SPDX-License-Identifier: Apache-2.0
 * See descriptor.h. */
#include "tools/gfxemu/descriptor.h"

#include <string.h>

/* A field of a descriptor: the number of its first bit, and its bits. */
struct field {
    uint8_t at, bits;
};

static uint64_t
get(const uint32_t *w, struct field f)
{
    unsigned at = f.at % 32;
    uint64_t v = w[f.at / 32];
    if (at + f.bits > 32)
        v |= (uint64_t)w[f.at / 32 + 1] << 32;
    return v >> at & ((1ull << f.bits) - 1);
}

static void
put(uint32_t *w, struct field f, uint64_t v)
{
    for (unsigned k = 0; k < f.bits; k++)
        w[(f.at + k) / 32] |= (uint32_t)(v >> k & 1) << (f.at + k) % 32;
}

/* ---- formats ---- */

/* gfx9: a number for the channels and one for their type. */
static const struct { uint8_t data, channels, bits; } data_formats[] = {
    { 1, 1, 8 }, { 2, 1, 16 }, { 3, 2, 8 }, { 4, 1, 32 }, { 5, 2, 16 }, { 10, 4, 8 }, { 11, 2, 32 }, { 12, 4, 16 }, { 13, 3, 32 }, { 14, 4, 32 },
};
static const uint8_t num_formats[16] = { NUM_UNORM, NUM_SNORM, NUM_USCALED, NUM_SSCALED, NUM_UINT, NUM_SINT, 255, NUM_FLOAT, 255, NUM_SRGB,
    255, 255, 255, 255, 255, 255 };

/* gfx10 and later: one number, in runs. The first of a run on gfx10 and on gfx11 and later. 32 bits start with NUM_UINT. */
static const struct { uint8_t gfx10, gfx11, channels, bits, numbers; } runs[] = {
    { 1, 1, 1, 8, 6 }, { 7, 7, 1, 16, 7 }, { 14, 14, 2, 8, 6 }, { 20, 20, 1, 32, 3 }, { 23, 23, 2, 16, 7 }, { 56, 42, 4, 8, 6 }, { 62, 48, 2, 32, 3 },
    { 65, 51, 4, 16, 7 }, { 72, 58, 3, 32, 3 }, { 75, 61, 4, 32, 3 },
};
/* SRGB: 128 on gfx10 and 64 on gfx11 are of one channel, then two, then four. */
static const uint8_t srgb_channels[3] = { 1, 2, 4 };

static bool
format_of(const struct gfx_target *t, uint32_t code, struct gfx_format *f)
{
    if (t->family < GFX10) {
        unsigned number = num_formats[code >> 6 & 15];
        for (unsigned k = 0; number != 255 && k < sizeof data_formats / sizeof *data_formats; k++)
            if (data_formats[k].data == (code & 63)) {
                *f = (struct gfx_format){ data_formats[k].channels, data_formats[k].bits, (uint8_t)number };
                return !(f->bits == 32 && number < NUM_UINT) && !(f->bits == 8 && number == NUM_FLOAT) && !(number == NUM_SRGB && f->bits != 8);
            }
        return false;
    }
    uint32_t srgb = code - (t->family == GFX10 ? 128 : 64);
    if (srgb < 3) {
        *f = (struct gfx_format){ srgb_channels[srgb], 8, NUM_SRGB };
        return true;
    }
    for (unsigned k = 0; k < sizeof runs / sizeof *runs; k++) {
        uint32_t n = code - (t->family == GFX10 ? runs[k].gfx10 : runs[k].gfx11);
        if (n < runs[k].numbers) {
            *f = (struct gfx_format){ runs[k].channels, runs[k].bits, (uint8_t)(runs[k].bits == 32 ? NUM_UINT + n : n) };
            return true;
        }
    }
    return false;
}

/* 0: none. */
static uint32_t
code_of(const struct gfx_target *t, const struct gfx_format *f)
{
    struct gfx_format g;
    for (uint32_t code = 1; code < 1024; code++)
        if (format_of(t, code, &g) && g.channels == f->channels && g.bits == f->bits && g.number == f->number)
            return code;
    return 0;
}

unsigned
gfx_format_bytes(const struct gfx_format *f)
{
    return f->channels * f->bits / 8u;
}

/* ---- images ---- */

struct layout {
    struct field format, width, height, base_level, last_level, max_mip, depth, first, pitch;
};

static const struct layout *
layout_of(const struct gfx_target *t)
{
    static const struct layout gfx9 = { { 52, 10 }, { 64, 14 }, { 78, 14 }, { 108, 4 }, { 112, 4 }, { 188, 4 }, { 128, 13 }, { 160, 13 }, { 141, 16 } };
    static const struct layout gfx10 = { { 52, 9 }, { 62, 14 }, { 78, 14 }, { 108, 4 }, { 112, 4 }, { 164, 4 }, { 128, 13 }, { 144, 13 }, { 128, 14 } };
    static const struct layout gfx11 = { { 52, 8 }, { 62, 14 }, { 78, 14 }, { 108, 4 }, { 112, 4 }, { 48, 4 }, { 128, 13 }, { 144, 13 }, { 128, 14 } };
    static const struct layout gfx12 = { { 49, 8 }, { 62, 16 }, { 78, 16 }, { 57, 5 }, { 111, 5 }, { 44, 5 }, { 128, 14 }, { 144, 14 }, { 128, 16 } };
    return t->family < GFX10 ? &gfx9 : t->family == GFX10 ? &gfx10 : t->family == GFX11 ? &gfx11 : &gfx12;
}

static const struct field BASE = { 0, 40 }, SELECT[4] = { { 96, 3 }, { 99, 3 }, { 102, 3 }, { 105, 3 } }, SWIZZLE = { 116, 5 }, TYPE = { 124, 4 },
    COMPRESSED = { 213, 1 };

/* gfx9 has a field for the pitch; later processors use the bits of the depth of arrays and volumes, gfx1010 has none. */
static bool
has_pitch(const struct gfx_target *t, unsigned type)
{
    return t->family < GFX10 || (strcmp(t->name, "gfx1010") && (type == IMG_1D || type == IMG_2D));
}

/* Rows of a linear image begin at multiples of 256 bytes. */
static uint32_t
natural_pitch(uint32_t width, unsigned bytes)
{
    uint32_t step = bytes < 256 ? 256 / bytes : 1;      /* of 12 bytes: the least common multiple is 64 texels */
    if (bytes == 12)
        step = 64;
    return (width + step - 1) / step * step;
}

static const char *
select_of(const uint32_t *w, const struct field f[4], uint8_t out[4])
{
    for (unsigned k = 0; k < 4; k++) {
        out[k] = (uint8_t)get(w, f[k]);
        if (out[k] == 2 || out[k] == 3)
            return "DST_SEL has no such value";
    }
    return NULL;
}

const char *
gfx_image_decode(const struct gfx_target *t, const uint32_t w[8], struct gfx_image *out)
{
    const struct layout *l = layout_of(t);
    memset(out, 0, sizeof *out);
    out->type = (uint8_t)get(w, TYPE);
    if (out->type < IMG_1D)
        return "TYPE is that of a buffer";
    if (out->type > IMG_2D_ARRAY)
        return "multi-sample images are not interpreted";
    if (!format_of(t, (uint32_t)get(w, l->format), &out->format) || out->format.channels == 3)
        return "FORMAT is none that is interpreted";
    if (get(w, SWIZZLE))
        return "SW_MODE is not linear";
    if (get(w, COMPRESSED))
        return "compressed images are not interpreted";
    if (get(w, l->base_level) || get(w, l->last_level) || get(w, l->max_mip))
        return "images with several levels are not interpreted";
    out->base = get(w, BASE) << 8;
    out->width = (uint32_t)get(w, l->width) + 1;
    out->height = out->type == IMG_1D || out->type == IMG_1D_ARRAY ? 1 : (uint32_t)get(w, l->height) + 1;
    out->depth = out->type == IMG_1D || out->type == IMG_2D ? 1 : (uint32_t)get(w, l->depth) + 1;
    out->first = out->type >= IMG_CUBE ? (uint32_t)get(w, l->first) : 0;
    if (out->first >= out->depth)
        return "BASE_ARRAY is behind DEPTH";
    unsigned bytes = gfx_format_bytes(&out->format);
    out->pitch = has_pitch(t, out->type) ? (uint32_t)get(w, l->pitch) + 1 : natural_pitch(out->width, bytes);
    if (out->pitch < out->width || out->pitch * bytes % 256)
        return "PITCH is less than WIDTH, or no multiple of 256 bytes";
    return select_of(w, SELECT, out->select);
}

bool
gfx_image_encode(const struct gfx_target *t, const struct gfx_image *i, uint32_t w[8])
{
    const struct layout *l = layout_of(t);
    unsigned bytes = gfx_format_bytes(&i->format);
    uint32_t code = code_of(t, &i->format);
    bool pitched = has_pitch(t, i->type);
    if (!code || i->base & 255 || i->width > 1u << l->width.bits || i->height > 1u << l->height.bits || i->depth > 1u << l->depth.bits ||
        i->pitch < i->width || i->pitch * bytes % 256 || (pitched ? i->pitch > 1u << l->pitch.bits : i->pitch != natural_pitch(i->width, bytes)))
        return false;
    memset(w, 0, 32);
    put(w, BASE, i->base >> 8);
    put(w, l->format, code);
    put(w, l->width, i->width - 1);
    put(w, l->height, i->height - 1);
    for (unsigned k = 0; k < 4; k++)
        put(w, SELECT[k], i->select[k]);
    put(w, TYPE, i->type);
    if (pitched)
        put(w, l->pitch, i->pitch - 1);
    if (i->type >= IMG_3D) {
        put(w, l->depth, i->depth - 1);
        put(w, l->first, i->first);
    }
    return true;
}

/* ---- buffers ---- */

static const struct field B_BASE = { 0, 48 }, B_STRIDE = { 48, 14 }, B_SWIZZLE = { 62, 2 }, B_RECORDS = { 64, 32 },
    B_SELECT[4] = { { 96, 3 }, { 99, 3 }, { 102, 3 }, { 105, 3 } }, B_NUMBER = { 108, 3 }, B_DATA = { 111, 4 }, B_CHECK = { 124, 2 }, B_TYPE = { 126, 2 };

static struct field
buffer_format(const struct gfx_target *t)
{
    return t->family == GFX10 ? (struct field){ 108, 7 } : (struct field){ 108, 6 };
}

const char *
gfx_elements_decode(const struct gfx_target *t, const uint32_t w[4], struct gfx_elements *out)
{
    uint32_t code = t->family < GFX10 ? (uint32_t)(get(w, B_DATA) | get(w, B_NUMBER) << 6) : (uint32_t)get(w, buffer_format(t));
    memset(out, 0, sizeof *out);
    if (get(w, B_TYPE))
        return "TYPE is none of a buffer";
    if (get(w, B_SWIZZLE))
        return "swizzled buffers have no formats here";
    if (!format_of(t, code, &out->format))
        return "FORMAT is none that is interpreted";
    out->base = get(w, B_BASE);
    out->stride = (uint32_t)get(w, B_STRIDE);
    out->records = (uint32_t)get(w, B_RECORDS);
    out->check = (uint8_t)(t->family < GFX10 ? 3 : get(w, B_CHECK));
    return select_of(w, B_SELECT, out->select);
}

bool
gfx_elements_encode(const struct gfx_target *t, const struct gfx_elements *e, uint32_t w[4])
{
    uint32_t code = code_of(t, &e->format);
    if (!code || e->format.number == NUM_SRGB)
        return false;
    memset(w, 0, 16);
    put(w, B_BASE, e->base);
    put(w, B_STRIDE, e->stride);
    put(w, B_RECORDS, e->records);
    for (unsigned k = 0; k < 4; k++)
        put(w, B_SELECT[k], e->select[k]);
    if (t->family < GFX10) {
        put(w, B_DATA, code & 63);
        put(w, B_NUMBER, code >> 6);
    } else {
        put(w, buffer_format(t), code);
        put(w, B_CHECK, e->check);
    }
    return true;
}

/* ---- samplers: the fields that are read have the same places on all processors ---- */

static const struct field S_CLAMP[3] = { { 0, 3 }, { 3, 3 }, { 6, 3 } }, S_ANISOTROPY = { 9, 3 }, S_UNNORMALIZED = { 15, 1 }, S_TRUNCATE = { 27, 1 },
    S_MAGNIFY = { 84, 2 }, S_MINIFY = { 86, 2 }, S_Z = { 88, 2 }, S_BORDER = { 126, 2 };

const char *
gfx_sampler_decode(const struct gfx_target *t, const uint32_t w[4], struct gfx_sampler *out)
{
    (void)t;
    memset(out, 0, sizeof *out);
    out->unnormalized = get(w, S_UNNORMALIZED);
    for (unsigned k = 0; k < 3; k++) {
        out->clamp[k] = (uint8_t)get(w, S_CLAMP[k]);
        if (out->clamp[k] > CLAMP_MIRROR_ONCE && out->clamp[k] != CLAMP_BORDER)
            return "CLAMP is none that is interpreted";
    }
    if (get(w, S_ANISOTROPY))
        return "anisotropic filters are not interpreted";
    if (get(w, S_MAGNIFY) > 1 || get(w, S_MAGNIFY) != get(w, S_MINIFY))
        return "XY_MAG_FILTER is neither point nor bilinear, or not XY_MIN_FILTER";
    out->truncate = get(w, S_TRUNCATE);
    out->linear = get(w, S_MAGNIFY);
    out->linear_z = get(w, S_Z) ? get(w, S_Z) == 2 : out->linear;       /* none: as in x and y */
    out->border = (uint8_t)get(w, S_BORDER);
    return out->border == 3 ? "border colours from memory are not interpreted" : NULL;
}

void
gfx_sampler_encode(const struct gfx_sampler *s, uint32_t w[4])
{
    static const struct field max_lod = { 44, 12 };
    memset(w, 0, 16);
    for (unsigned k = 0; k < 3; k++)
        put(w, S_CLAMP[k], s->clamp[k]);
    put(w, S_UNNORMALIZED, s->unnormalized);
    put(w, S_TRUNCATE, s->truncate);
    put(w, max_lod, 4095);
    put(w, S_MAGNIFY, s->linear);
    put(w, S_MINIFY, s->linear);
    put(w, S_BORDER, s->border);
}
