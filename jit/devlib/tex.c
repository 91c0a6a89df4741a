/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "tex": texture and surface instructions for one lane. The sources are the host device's, so that the
 * results are those of NVIDIA's texture units on every AMD GPU, also on those without any. A handle is the address of a struct
 * cw_texture in device memory, which nothing changes while kernels may use it.
 *
 * head: ptx_op, geometry << 16, type of the coordinates << 24. form: type of the result, components << 8, mode << 16, CWH_TEX_* << 24
 * (struct cwh_tex). Both are constants of the caller. */
#include "impl/host/tex_inst.c"
#include "impl/host/tex_filter.c"

#include "impl/host/tex_fast.h"

#include <stddef.h>

typedef uint32_t words __attribute__((ext_vector_type(4)));

#define CONSTANT __attribute__((address_space(4)))

/* End the launch as an access to no memory does. */
static void
illegal_address(void)
{
    (void)*(const volatile CW_DEVICE_MEMORY uint32_t *)0;
    __builtin_trap();
}

static inline const struct cw_texture *
object(uint64_t handle, bool surface)
{
    const struct cw_texture *t = (const struct cw_texture *)(const CONSTANT struct cw_texture *)handle;
    if (!handle || handle & 15 || t->handle != handle || (*(const uint32_t *)&t->surface & 255) != surface)
        illegal_address();
    return t;
}

static inline struct cwh_tex
instruction(uint32_t head, uint32_t form)
{
    return (struct cwh_tex){ .width = 1, .op = (uint16_t)head, .geom = (uint8_t)(head >> 16), .coord_type = (uint8_t)(head >> 24),
                             .result_type = (uint8_t)form, .vec = (uint8_t)(form >> 8), .mode = (uint8_t)(form >> 16),
                             .flags = (uint8_t)(form >> 24) };
}

/* What plain fetches need of an object: its small fields come as words, since scalar loads have no smaller unit. */
struct plain {
    words head;
    struct cw_level level;
};
#define HEAD offsetof(struct cw_texture, surface)
#define FACT(p, field) byte_of((p)->head, offsetof(struct cw_texture, field))
_Static_assert(HEAD % 4 == 0 && offsetof(struct cw_texture, plain) - HEAD < 16, "the small fields that plain fetches need are four words");

static inline uint32_t
byte_of(words w, size_t offset)
{
    uint32_t word = (offset - HEAD) / 4 == 0 ? w.x : (offset - HEAD) / 4 == 1 ? w.y : (offset - HEAD) / 4 == 2 ? w.z : w.w;
    return word >> 8 * (offset % 4) & 255;
}

static inline struct plain
plain_of(const struct cw_texture *t)
{
    const uint32_t *w = (const uint32_t *)((const char *)t + HEAD);
    return (struct plain){ { w[0], w[1], w[2], w[3] }, t->level[0] };
}

/* ---- tex, tld4 ------------------------------------------------------------------------------------------------------------ */

/* A texel as it is in memory, of 1 to 16 bytes. */
struct raw {
    uint32_t w[4];
};

static inline void
load_raw(const cw_texel_byte *const *p, unsigned element, struct raw *r, unsigned n)
{
#pragma unroll
    for (unsigned i = 0; i < n; i++)
        r[i] = (struct raw){ { 0 } };
    switch (element) {
    case 1:
#pragma unroll
        for (unsigned i = 0; i < n; i++)
            r[i].w[0] = tex_load(p[i], 1);
        break;
    case 2:
#pragma unroll
        for (unsigned i = 0; i < n; i++)
            r[i].w[0] = tex_load(p[i], 2);
        break;
    case 4:
#pragma unroll
        for (unsigned i = 0; i < n; i++)
            r[i].w[0] = tex_load(p[i], 4);
        break;
    case 8:
#pragma unroll
        for (unsigned i = 0; i < n; i++)
            for (unsigned k = 0; k < 2; k++)
                r[i].w[k] = tex_load(p[i] + 4 * k, 4);
        break;
    default:
#pragma unroll
        for (unsigned i = 0; i < n; i++)
            for (unsigned k = 0; k < 4; k++)
                r[i].w[k] = tex_load(p[i] + 4 * k, 4);
    }
}

/* Channel c, extended; zero where the texture lacks it. */
static inline uint32_t
channel(const struct raw *r, unsigned bytes, unsigned c)
{
    return bytes == 1 ? r->w[0] >> 8 * c & 255 : bytes == 2 ? r->w[c / 2] >> 16 * (c & 1) & 0xffff : r->w[c];
}

static inline uint32_t
bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* A half as a float's bits; of a NaN just that it is one. */
static inline uint32_t
finite_half(uint32_t v)
{
    uint16_t bits = (uint16_t)v;
    _Float16 h;
    memcpy(&h, &bits, 2);
    return bits_of((float)h);
}

/* Linear filtering of a plain texture. False where a float sum needs more care. */
static inline bool
fetch_linear(const struct plain *t, bool two, unsigned vec, words coord, uint32_t out[4])
{
    const struct cw_level *l = &t->level;
    unsigned bytes = FACT(t, bytes), element = FACT(t, element), channels = FACT(t, channels);
    struct fast_place x = fast_linear_at(tex_float(coord.x), FACT(t, normalized), FACT(t, address[0]), l->width), y = { 0, 0, 0 };
    if (two)
        y = fast_linear_at(tex_float(coord.y), FACT(t, normalized), FACT(t, address[1]), l->height);
    const cw_texel_byte *top = l->base + (size_t)(uint32_t)y.a * l->pitch, *low = l->base + (size_t)(uint32_t)y.b * l->pitch;
    size_t xa = (size_t)(uint32_t)x.a * element, xb = (size_t)(uint32_t)x.b * element;
    uint32_t both = (x.w * y.w + 128) >> 8;
    const uint32_t w[4] = { 256 - x.w - y.w + both, x.w - both, y.w - both, both };
    const cw_texel_byte *const p[4] = { top + xa, top + xb, low + xa, low + xb };
    struct raw r[4];
    load_raw(p, element, r, 4);
    bool ok = true, is_float = FACT(t, format) == CWB_FORMAT_F16 || FACT(t, format) == CWB_FORMAT_F32;
#pragma unroll
    for (unsigned c = 0; c < 4; c++) {
        if (c >= vec || c >= channels)
            continue;
        uint32_t v[4] = { channel(&r[0], bytes, c), channel(&r[1], bytes, c), channel(&r[2], bytes, c), channel(&r[3], bytes, c) };
        if (is_float) {
            if (bytes == 2)
                for (unsigned i = 0; i < 4; i++)
                    v[i] = finite_half(v[i]);
            ok &= fast_blend(v, w, bytes == 2 ? 10 : 23, &out[c]);
            continue;
        }
        uint32_t sum = v[0] * w[0] + v[1] * w[1] + v[2] * w[2] + v[3] * w[3];
        out[c] = FACT(t, as_float) ? bits_of(fast_scaled(sum, bytes, true)) : (sum + 128) >> 8;
    }
    return ok;
}

/* Every kind. It needs many registers: where it is inlined, they would be those of all fetches. */
static __attribute__((noinline)) words
fetch_any(const struct cw_texture *t, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    struct cwh_tex x = instruction(head, form);
    uint32_t c[4], extra[8], o[4], out[4] = { 0 };
    struct texel s;
    memcpy(c, &coord, 16);
    memcpy(extra, &extra0, 16);
    memcpy(extra + 4, &extra1, 16);
    memcpy(o, &offset, 16);
    x.coord = c;
    x.extra = extra;
    x.offset = o;
    x.result = out;
    if (x.op == PTX_OP_TEX)
        sample(t, &x, 0, &s);
    else
        gather(t, &x, 0, &s);
    store_result(t, &x, 0, &s);
    return (words){ out[0], out[1], out[2], out[3] };
}

/* Fetches that fetch_point and fetch_linear know. */
static inline bool
is_plain(const struct cwh_tex *x)
{
    return x->op == PTX_OP_TEX && !x->flags && x->coord_type == PTX_F32 && (x->geom == PTX_GEOM_1D || x->geom == PTX_GEOM_2D) &&
           (x->result_type == PTX_F32 || x->result_type == PTX_S32 || x->result_type == PTX_U32);
}

/* Everything that is not plain and point sampled. Lanes may have different objects: they take turns, those of an object together, so
 * that what the object says is scalar. */
static __attribute__((noinline)) words
fetch_other(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    struct cwh_tex x = instruction(head, form);
    const struct cw_texture *t;
    for (;;) {
        uint32_t low = (uint32_t)__builtin_amdgcn_readfirstlane((int)handle), high = (uint32_t)__builtin_amdgcn_readfirstlane((int)(handle >> 32));
        uint64_t first = low | (uint64_t)high << 32;
        if (first != handle)
            continue;
        t = (const struct cw_texture *)(const CONSTANT struct cw_texture *)first;
        if (is_plain(&x)) {
            struct plain p = plain_of(t);
            uint32_t out[4] = { 0 };
            if (FACT(&p, plain) && FACT(&p, linear) && fetch_linear(&p, x.geom == PTX_GEOM_2D, x.vec, coord, out))
                return (words){ out[0], out[1], out[2], out[3] };
        }
        break;
    }
    return fetch_any(t, head, form, coord, extra0, extra1, offset);
}

/* Point sampling of a plain texture. */
static inline words
fetch_point(const struct plain *t, bool two, words coord)
{
    const struct cw_level *l = &t->level;
    unsigned bytes = FACT(t, bytes), element = FACT(t, element), as_float = FACT(t, as_float);
    uint32_t x = (uint32_t)fast_point_at(tex_float(coord.x), FACT(t, normalized), FACT(t, address[0]), l->width), y = 0, v[4];
    if (two)
        y = (uint32_t)fast_point_at(tex_float(coord.y), FACT(t, normalized), FACT(t, address[1]), l->height);
    const cw_texel_byte *p = l->base + (size_t)y * l->pitch + (size_t)x * element;
    struct raw r;
    load_raw(&p, element, &r, 1);
    for (unsigned c = 0; c < 4; c++)
        v[c] = channel(&r, bytes, c);
    if (as_float && bytes == 1)
        for (unsigned c = 0; c < 4; c++)
            v[c] = bits_of(fast_scaled(v[c], 1, false));
    else if (FACT(t, format) == CWB_FORMAT_F16)
        for (unsigned c = 0; c < 4; c++)
            v[c] = bits_of(cwh_half_to_float((uint16_t)v[c]));
    else if (as_float && bytes == 2)
        for (unsigned c = 0; c < 4; c++)
            v[c] = bits_of(fast_scaled(v[c], 2, false));
    return (words){ v[0], v[1], v[2], v[3] };
}

/* coord: with the array index first. extra0: the level, or the gradient in x; extra1: that in y. offset: texels. */
words
cwd_tex_fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    struct cwh_tex x = instruction(head, form);
    struct plain p = plain_of(object(handle, false));
    if (is_plain(&x) && FACT(&p, plain) && !FACT(&p, linear))
        return fetch_point(&p, x.geom == PTX_GEOM_2D, coord);
    return fetch_other(handle, head, form, coord, extra0, extra1, offset);
}

/* ---- surfaces, queries ------------------------------------------------------------------------------------------------------- */

/* suld, sust, sured. value: what is stored, and the result; components of 64 bits are two words. */
words
cwd_tex_surface(uint64_t handle, uint32_t head, uint32_t form, words coord, words value)
{
    const struct cw_texture *t = object(handle, true);
    struct cwh_tex x = instruction(head, form);
    struct tex_fault bad;
    uint32_t c[4] = { coord.x, coord.y, coord.z, coord.w }, v[4] = { value.x, value.y, value.z, value.w };
    x.coord = c;
    x.result = v;
    cwb_result r = surface(t, &x, 0, &bad);
    if (r == CWB_ILLEGAL_ADDRESS)
        illegal_address();
    if (r != CWB_OK)
        __builtin_trap();
    return (words){ v[0], v[1], v[2], v[3] };
}

/* txq, suq. */
uint32_t
cwd_tex_query(uint64_t handle, uint32_t head, uint32_t form, uint32_t level)
{
    struct cwh_tex x = instruction(head, form);
    x.extra = &level;
    return query(object(handle, x.op == PTX_OP_SUQ), &x, 0);
}
