/* SPDX-License-Identifier: Apache-2.0
 * Device library, part "tex": texture and surface instructions for one lane. It shares the host device's sources, so results are those of
 * NVIDIA's texture units on every AMD GPU, even on those without texture units. A handle is the address of a struct cw_texture in device
 * memory, which does not change while kernels may use it.
 *
 * head: ptx_op, geometry << 16, type of the coordinates << 24. form: type of the result, components << 8, mode << 16, CWH_TEX_* << 24
 * (struct cwh_tex). Both are constants of the caller. */
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#include "jit/builtins/core/tex_inst.c"
#include "jit/builtins/core/tex_filter.c"
#pragma clang attribute pop

#include "jit/builtins/core/tex_fast.h"

#include <stddef.h>

typedef uint32_t words __attribute__((ext_vector_type(4)));

#define CONSTANT __attribute__((address_space(4)))

/* End the launch as an access outside of memory does. */
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

/* Hide v from the optimiser: computations with it stay here and are not hoisted out of a loop. */
#define HERE(v) __asm__ volatile("" : "+v"(v))

/* A uniform value, hidden from the optimiser: the code serves all instructions. */
static inline uint32_t
unknown(uint32_t v)
{
    uint32_t u;
    __asm__ volatile("" : "=s"(u) : "0"(__builtin_amdgcn_readfirstlane((int)v)));
    return u;
}

static inline struct cwh_tex
constants(uint32_t head, uint32_t form)
{
    return (struct cwh_tex){ .width = 1, .op = (uint16_t)head, .geom = (uint8_t)(head >> 16), .coord_type = (uint8_t)(head >> 24),
                             .result_type = (uint8_t)form, .vec = (uint8_t)(form >> 8), .mode = (uint8_t)(form >> 16),
                             .flags = (uint8_t)(form >> 24) };
}

static inline struct cwh_tex
instruction(uint32_t head, uint32_t form)
{
    return constants(unknown(head), unknown(form));
}

/* The fields that plain fetches need; small ones are loaded as words, the smallest unit of scalar loads. */
struct plain {
    words head;
    struct cw_level level;
};
#define HEAD offsetof(struct cw_texture, surface)
#define SMALL ((offsetof(struct cw_texture, mip_bias) - HEAD) / 4)
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

/* A texel as stored, of 1 to 16 bytes. */
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

/* Channel c, extended; zero if the texture lacks it. */
static inline uint32_t
channel(const struct raw *r, unsigned bytes, unsigned c)
{
    uint32_t of_bytes = r->w[0], of_halves = r->w[c / 2], whole = r->w[c];
    return bytes == 1 ? of_bytes >> 8 * c & 255 : bytes == 2 ? of_halves >> 16 * (c & 1) & 0xffff : whole;
}

BITS_FUNCTION(f16_of, uint16_t, _Float16)

/* A half as a float's bits; a NaN loses its payload. */
static inline uint32_t
finite_half(uint32_t v)
{
    return f32_bits((float)f16_of((uint16_t)v));
}

/* Linear filtering of a plain texture. False if a float sum is a special case. */
static inline bool
fetch_linear(const struct plain *t, bool two, unsigned vec, words coord, uint32_t out[4])
{
    const struct cw_level *l = &t->level;
    unsigned bytes = FACT(t, bytes), element = FACT(t, element), channels = FACT(t, channels);
    struct fast_place x = fast_linear_at(f32_of(coord.x), FACT(t, normalized), FACT(t, address[0]), l->width), y = { 0, 0, 0 };
    if (two)
        y = fast_linear_at(f32_of(coord.y), FACT(t, normalized), FACT(t, address[1]), l->height);
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
        out[c] = FACT(t, as_float) ? f32_bits(fast_scaled(sum, bytes, true)) : (sum + 128) >> 8;
    }
    return ok;
}

/* Copy the small fields, loaded as words as above, and the pointers to the others. */
static inline void
copy_small(const struct cw_texture *object, struct cw_texture *t)
{
    const uint32_t *small = (const uint32_t *)((const char *)object + HEAD);
    uint32_t w[SMALL];
    t->handle = (uint64_t)object;
#pragma unroll
    for (unsigned i = 0; i < SMALL; i++) {
        w[i] = small[i];
        __asm__("" : "+s"(w[i]));
    }
    memcpy(&t->surface, w, sizeof w);
}

/* Any texture. */
static inline words
fetch_any(const struct cw_texture *object, const struct cwh_tex *x, const struct operands *o)
{
    struct texel s;
    struct cw_texture t;
    struct operands p = *o;
    copy_small(object, &t);
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        HERE(p.extra[i]);
        if (i < 4)
            HERE(p.coord[i]);
        if (i < 3 && !(x->flags & CWH_TEX_OFFSET))
            p.offset[i] = 0;
        if (i < 3)
            HERE(p.offset[i]);
    }
    fetch(&t, x, &p, &s);
    pack_result(x, &s);
    return (words){ s.w[0], s.w[1], s.w[2], s.w[3] };
}

/* Point sampling of a plain texture. */
static inline words
fetch_point(const struct plain *t, bool two, words coord)
{
    const struct cw_level *l = &t->level;
    unsigned bytes = FACT(t, bytes), element = FACT(t, element), as_float = FACT(t, as_float);
    uint32_t x = (uint32_t)fast_point_at(f32_of(coord.x), FACT(t, normalized), FACT(t, address[0]), l->width), y = 0, v[4];
    if (two)
        y = (uint32_t)fast_point_at(f32_of(coord.y), FACT(t, normalized), FACT(t, address[1]), l->height);
    const cw_texel_byte *p = l->base + (size_t)y * l->pitch + (size_t)x * element;
    struct raw r;
    load_raw(&p, element, &r, 1);
#pragma unroll
    for (unsigned c = 0; c < 4; c++)
        v[c] = channel(&r, bytes, c);
    if (as_float && bytes == 1)
#pragma unroll
        for (unsigned c = 0; c < 4; c++)
            v[c] = f32_bits(fast_scaled(v[c], 1, false));
    else if (FACT(t, format) == CWB_FORMAT_F16)
#pragma unroll
        for (unsigned c = 0; c < 4; c++)
            v[c] = f32_bits(cwh_half_to_float((uint16_t)v[c]));
    else if (as_float && bytes == 2)
#pragma unroll
        for (unsigned c = 0; c < 4; c++)
            v[c] = f32_bits(fast_scaled(v[c], 2, false));
    return (words){ v[0], v[1], v[2], v[3] };
}

static inline words
fetch_one(const struct cw_texture *t, uint32_t head, uint32_t form, const struct operands *o)
{
    const struct cwh_tex y = instruction(head, form), *x = &y;
    if (x->flags == CWH_TEX_PLAIN) {
        words coord = { o->coord[0], o->coord[1], 0, 0 };
        HERE(coord.x);
        HERE(coord.y);
        struct plain p = plain_of(t);
        bool two = x->geom == PTX_GEOM_2D;
        uint32_t out[4] = { 0 };
        if (FACT(&p, plain) && !FACT(&p, linear))
            return fetch_point(&p, two, coord);
        if (FACT(&p, plain) && fetch_linear(&p, two, x->vec, coord, out))
            return (words){ out[0], out[1], out[2], out[3] };
    }
    return fetch_any(t, x, o);
}

/* Lanes may have different objects: they take turns, all lanes with the same object together, so that its fields are scalar. The optimiser
 * must believe that a finished lane stays in the loop (values behind a loop are not scalar), and that the two handles are unrelated. */
#define TURNS(handle, first, work)                                                                  \
    do {                                                                                            \
        uint32_t waits = 1;                                                                         \
        do {                                                                                        \
            uint32_t low = (uint32_t)__builtin_amdgcn_readfirstlane((int)(handle));                 \
            uint32_t high = (uint32_t)__builtin_amdgcn_readfirstlane((int)((handle) >> 32));        \
            uint64_t first = low | (uint64_t)high << 32;                                            \
            uint32_t same = first == (handle);                                                      \
            __asm__("" : "+v"(same));                                                               \
            if (same) {                                                                             \
                work;                                                                               \
                waits = 0;                                                                          \
            }                                                                                       \
            __asm__ volatile("" : "+v"(waits));                                                     \
        } while (waits);                                                                            \
    } while (0)

/* coord: array index first. extra0: the level, or the gradient in x; extra1: the gradient in y. offset: texels. */
__attribute__((noinline)) words
cwd_tex_fetch(uint64_t handle, uint32_t head, uint32_t form, words coord, words extra0, words extra1, words offset)
{
    struct operands o = { { coord.x, coord.y, coord.z, coord.w }, { extra0.x, extra0.y, extra0.z, extra0.w, extra1.x, extra1.y, extra1.z, extra1.w },
                          { (int32_t)offset.x, (int32_t)offset.y, (int32_t)offset.z } };
    words r = { 0, 0, 0, 0 };
    TURNS(handle, t, r = fetch_one(object(t, false), head, form, &o));
    return r;
}

/* ---- surfaces, queries ------------------------------------------------------------------------------------------------------- */

/* n words in memory of `unit` bytes each (1, 2 or 4). */
static inline void
transfer(cw_texel_byte *p, unsigned unit, unsigned n, bool store, uint32_t v[4])
{
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        if (k >= n)
            break;
        if (store)
            tex_store(p + unit * k, v[k], unit);
        else
            v[k] = tex_load(p + unit * k, unit);
    }
}

/* suld, sust, sured. value: the value to store, and the result; 64-bit components take two words. head and form are constants of the
 * caller, so little code remains. */
words
cwd_tex_surface(uint64_t handle, uint32_t head, uint32_t form, words coord, words value)
{
    const struct cw_texture *object_ = object(handle, true);
    struct cwh_tex x = constants(head, form);
    struct cw_texture t;
    struct tex_fault bad;
    cw_texel_byte *p;
    unsigned bytes = surface_bytes(x.result_type);
    uint32_t c[3] = { coord.x, coord.y, coord.z }, v[4] = { value.x, value.y, value.z, value.w };
    t.handle = handle;
    t.format = object_->format;
    t.channels = object_->channels;
    t.element = object_->element;
    t.bytes = object_->bytes;
    x.result = v;
    enum tex_access r = surface_place(&t, &x, c, &bad, &p);
    if (r == TEX_ACCESS_OUTSIDE)
        illegal_address();
    if (r != TEX_ACCESS_DONE)
        __builtin_trap();
    if (surface_special(&t, &x, 0, p))
        return (words){ 0, 0, 0, 0 };
    bool load = x.op == PTX_OP_SULD;
    if (load)
        v[0] = v[1] = v[2] = v[3] = 0;
    if (p && bytes < 4)
        transfer(p, bytes, x.vec, !load, v);
    else if (p)
        transfer(p, 4, bytes / 4 * x.vec, !load, v);
    return (words){ v[0], v[1], v[2], v[3] };
}

/* txq, suq. */
uint32_t
cwd_tex_query(uint64_t handle, uint32_t head, uint32_t form, uint32_t level)
{
    struct cwh_tex x = constants(head, form);
    x.extra = &level;
    return query(object(handle, x.op == PTX_OP_SUQ), &x, 0);
}
