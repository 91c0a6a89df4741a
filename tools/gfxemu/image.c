/* SPDX-License-Identifier: Apache-2.0
 * Image instructions (MIMG; VIMAGE and VSAMPLE of gfx12) and typed-buffer loads and stores: addresses, texels, filters.
 * descriptor.c decodes a resource's bits; one that is wrong or not interpreted ends the launch.
 *
 * Where the documents are silent: a coordinate in texels is rounded to the nearest 1/256, or truncated where the sampler has
 * TRUNC_COORD and point filtering; weights are these 8 bits of fraction, sums are exact and rounded once to f32. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"
#include "tools/gfxemu/descriptor.h"

/* Components as bits: floats, or integers where the format has such. */
struct texel {
    uint32_t c[4];
};

static bool
is_integer(const struct gfx_format *f)
{
    return f->number == NUM_UINT || f->number == NUM_SINT;
}

/* ---- from and to memory ---- */

static float
from_srgb(float v)
{
    return v <= 0.04045f ? v / 12.92f : powf((v + 0.055f) / 1.055f, 2.4f);
}

static uint32_t
read_channel(const struct gfx_format *f, const uint8_t *p, unsigned c)
{
    uint32_t u = 0;
    mem_read(&u, p + c * f->bits / 8u, f->bits / 8u);
    int32_t s = f->bits == 8 ? (int8_t)u : f->bits == 16 ? (int16_t)u : (int32_t)u;
    float top = f->bits == 8 ? 255.0f : 65535.0f, stop = f->bits == 8 ? 127.0f : 32767.0f;
    switch ((enum gfx_number)f->number) {
    case NUM_UNORM: return f32_bits((float)u / top);
    case NUM_SNORM: return f32_bits(fmaxf((float)s / stop, -1.0f));
    case NUM_USCALED: return f32_bits((float)u);
    case NUM_SSCALED: return f32_bits((float)s);
    case NUM_SINT: return (uint32_t)s;
    case NUM_FLOAT: return f->bits == 16 ? f32_bits(f16_of(u)) : u;
    case NUM_SRGB: return f32_bits(c < 3 ? from_srgb((float)u / top) : (float)u / top);
    default: return u;
    }
}

static float
rounded(float v, float lo, float hi)
{
    return rintf(fminf(fmaxf(v, lo), hi));     /* NaN: lo */
}

/* A component's 32 bits in the stored format. */
static uint32_t
written_channel(const struct gfx_format *f, uint32_t v)
{
    float x = f32_of(v), top = f->bits == 8 ? 255.0f : 65535.0f, stop = f->bits == 8 ? 127.0f : 32767.0f;
    int32_t lo = f->bits == 8 ? -128 : -32768, hi = -lo - 1, s = (int32_t)v;
    switch ((enum gfx_number)f->number) {
    case NUM_UNORM: case NUM_SRGB: return (uint32_t)rounded(x * top, 0, top);
    case NUM_SNORM: return (uint32_t)(int32_t)rounded(x * stop, -stop, stop);
    case NUM_USCALED: return (uint32_t)rounded(x, 0, top);
    case NUM_SSCALED: return (uint32_t)(int32_t)rounded(x, -stop - 1, stop);
    case NUM_UINT: return f->bits == 32 ? v : v > (uint32_t)top ? (uint32_t)top : v;
    case NUM_SINT: return f->bits == 32 ? v : (uint32_t)(s < lo ? lo : s > hi ? hi : s);
    default: return f->bits == 16 ? f16_bits(x) : v;
    }
}

static struct texel
read_texel(const struct gfx_format *f, const uint8_t *p)
{
    struct texel t = { { 0 } };
    for (unsigned c = 0; c < f->channels; c++)
        t.c[c] = read_channel(f, p, c);
    return t;
}

static void
write_texel(const struct gfx_format *f, uint8_t *p, const struct texel *t)
{
    for (unsigned c = 0; c < f->channels; c++) {
        uint32_t v = written_channel(f, t->c[c]);
        mem_write(p + c * f->bits / 8u, &v, f->bits / 8u);
    }
}

/* DST_SEL: a channel, or a constant. */
static struct texel
selected(const struct gfx_format *f, const uint8_t select[4], const struct texel *t)
{
    struct texel out;
    uint32_t one = is_integer(f) ? 1 : f32_bits(1.0f);
    for (unsigned k = 0; k < 4; k++)
        out.c[k] = select[k] >= SELECT_R ? t->c[select[k] - SELECT_R] : select[k] == SELECT_1 ? one : 0;
    return out;
}

/* ---- operands ---- */

static bool
refuse(W, I, const char *why)
{
    gfx_fault(w, FAULT_INSTRUCTION, "%s: %s", why, i->text);
    return false;
}

/* The registers of the address in either notation. On gfx9 the text has only the first: the resource determines how many there are. */
static unsigned
address_registers(W, I, unsigned at, uint16_t to[14])
{
    if (i->naddr) {
        memcpy(to, i->addr, sizeof i->addr);
        return i->naddr;
    }
    const struct gfx_operand *o = &i->op[at];
    unsigned n = o->kind != GFX_VGPR ? 0 : w->group->target->family < GFX10 || o->dwords > 14 ? 14 : o->dwords;
    if (n && o->reg + n > V_COUNT)
        n = (unsigned)(V_COUNT - o->reg);
    for (unsigned k = 0; k < n; k++)
        to[k] = (uint16_t)(o->reg + k);
    return n;
}

static bool
resource(W, I, unsigned at, unsigned dwords, const uint32_t **to)
{
    const struct gfx_operand *o = &i->op[at];
    if (i->tfe)
        return refuse(w, i, "residency and short resources are not interpreted");
    if (at >= i->noperands || o->kind != GFX_SGPR || o->dwords != dwords || o->reg + dwords > S_COUNT)
        return refuse(w, i, "its resource is not in scalar registers");
    *to = &w->s[o->reg];
    return true;
}

/* The image, of the kind that the instruction names. */
static bool
image_of(W, I, struct gfx_image *m)
{
    const uint32_t *r;
    const char *why = NULL;
    if (!resource(w, i, 2, 8, &r))
        return false;
    why = gfx_image_decode(w->group->target, r, m);
    if (!why && m->type == IMG_CUBE)
        why = "cubes are not interpreted";
    if (!why && w->group->target->family >= GFX10 && i->dim != m->type)
        why = "the resource is of another kind";
    if (!why && w->group->target->family < GFX10 && i->array != (m->type >= IMG_CUBE))
        why = "the resource is an array and the instruction's are not, or the reverse";
    if (!why)
        return true;
    gfx_fault(w, FAULT_INSTRUCTION, "image resource %08x %08x %08x %08x %08x %08x %08x %08x: %s: %s", r[0], r[1], r[2], r[3], r[4], r[5], r[6],
              r[7], why, i->text);
    return false;
}

static unsigned
dimensions(const struct gfx_image *m)
{
    return m->type == IMG_1D || m->type == IMG_1D_ARRAY ? 1 : m->type == IMG_3D ? 3 : 2;
}

static unsigned
coordinates(const struct gfx_image *m)
{
    return dimensions(m) + (m->type == IMG_1D_ARRAY || m->type == IMG_2D_ARRAY);
}

/* Component n of the address: 32 bits, or 16 of them. */
static uint32_t
address_word(W, I, const uint16_t *reg, unsigned n, unsigned l)
{
    return i->a16 ? w->v[reg[n / 2]][l] >> 16 * (n & 1) & 0xffff : w->v[reg[n]][l];
}

static float
address_float(W, I, const uint16_t *reg, unsigned n, unsigned l)
{
    uint32_t v = address_word(w, i, reg, n, l);
    return i->a16 ? f16_of(v) : f32_of(v);
}

static uint8_t *
texel_bytes(W, I, const struct gfx_image *m, const uint32_t at[3], unsigned l)
{
    unsigned bytes = gfx_format_bytes(&m->format);
    uint64_t address = m->base + (((uint64_t)at[2] * m->height + at[1]) * m->pitch + at[0]) * bytes;
    if (gfx_range_has(address, bytes))
        return (uint8_t *)(uintptr_t)address;
    gfx_fault(w, FAULT_MEMORY, "texel (%u, %u, %u) of an image of %u x %u x %u at 0x%llx (lane %u) is outside of every allocation: %s", at[0], at[1],
              at[2], m->width, m->height, m->depth, (unsigned long long)address, l, i->text);
    return NULL;
}

/* ---- results ---- */

/* The components that dmask selects, in consecutive registers; d16: two in each. */
static void
put_texels(W, I, const struct gfx_format *f, const struct texel t[LANES], unsigned mask)
{
    uint64_t exec = gfx_exec_mask(w) & all_lanes(w);
    unsigned n = 0, reg = i->op[0].reg;
    for (unsigned c = 0; c < 4; c++) {
        unsigned to = reg + (i->d16 ? n / 2 : n);
        if (!(mask >> c & 1) || to >= V_COUNT)
            continue;
        for (unsigned l = 0; l < w->lanes; l++) {
            if (!(exec >> l & 1))
                continue;
            uint32_t v = t[l].c[c], *d = &w->v[to][l];
            if (!i->d16) {
                *d = v;
                continue;
            }
            v = is_integer(f) ? v & 0xffff : f16_bits(f32_of(v));
            *d = n & 1 ? (*d & 0xffff) | v << 16 : (*d & 0xffff0000u) | v;
        }
        w->written[to] |= exec;
        n++;
    }
}

static struct texel
stored_texel(W, I, const struct gfx_format *f, unsigned mask, unsigned l)
{
    struct texel t = { { 0 } };
    unsigned n = 0, reg = i->op[0].reg;
    for (unsigned c = 0; c < 4; c++)
        if (mask >> c & 1) {
            uint32_t v = w->v[reg + (i->d16 ? n / 2 : n)][l];
            if (i->d16) {
                v = v >> 16 * (n & 1) & 0xffff;
                v = is_integer(f) ? f->number == NUM_SINT ? (uint32_t)(int16_t)v : v : f32_bits(f16_of(v));
            }
            t.c[c] = v;
            n++;
        }
    return t;
}

/* ---- loads and stores: coordinates are integers; outside, loads give zeros, and stores do nothing ---- */

/* arg: 1 store, 2 a level follows the coordinates. */
static void
image_access(W, I)
{
    struct gfx_image m;
    struct texel t[LANES];
    uint16_t reg[14];
    if (!image_of(w, i, &m))
        return;
    unsigned n = coordinates(&m), dims = dimensions(&m), words = n + (i->arg >> 1 & 1);
    if (i->op[0].kind != GFX_VGPR || !i->dmask || address_registers(w, i, 1, reg) < (i->a16 ? (words + 1) / 2 : words)) {
        (void)refuse(w, i, "its registers are too few");
        return;
    }
    FOR_ACTIVE {
        uint32_t at[3] = { 0, 0, 0 };
        for (unsigned k = 0; k < n; k++)
            at[k < dims ? k : 2] = address_word(w, i, reg, k, l);
        if (m.type >= IMG_CUBE)
            at[2] += m.first;
        bool inside = at[0] < m.width && at[1] < m.height && at[2] < m.depth;
        if (i->arg & 2 && address_word(w, i, reg, n, l))
            inside = false;
        uint8_t *p = inside ? texel_bytes(w, i, &m, at, l) : NULL;
        if (inside && !p)
            return;
        memset(&t[l], 0, sizeof t[l]);
        if (p && i->arg & 1) {
            struct texel s = stored_texel(w, i, &m.format, i->dmask, l);
            write_texel(&m.format, p, &s);
        } else if (p) {
            struct texel s = read_texel(&m.format, p);
            t[l] = selected(&m.format, m.select, &s);
        }
    }
    if (!(i->arg & 1))
        put_texels(w, i, &m.format, t, i->dmask);
}

/* The sizes of a level: of the only one, else zeros; and how many there are. */
static void
image_size(W, I)
{
    struct gfx_image m;
    struct texel t[LANES];
    uint16_t reg[14];
    if (!image_of(w, i, &m) || !address_registers(w, i, 1, reg))
        return;
    FOR_ACTIVE {
        uint32_t there = !address_word(w, i, reg, 0, l);
        unsigned layers = m.depth - m.first;
        t[l] = (struct texel){ { there * m.width, there * (m.type == IMG_1D_ARRAY ? layers : m.height),
                                 there * (m.type == IMG_3D ? m.depth : m.type == IMG_2D_ARRAY ? layers : 1), 1 } };
    }
    static const struct gfx_format words = { 4, 32, NUM_UINT };
    put_texels(w, i, &words, t, i->dmask);
}

/* ---- samples ---- */

enum { LOD = 1, GRADIENTS = 2, BIAS = 4, OFFSETS = 8, GATHER = 16 };

/* Texel number by the sampler's mode; -1: the border. */
static int64_t
clamped(enum gfx_clamp mode, int64_t i, int64_t n)
{
    int64_t r;
    switch (mode) {
    case CLAMP_WRAP:
        r = i % n;
        return r < 0 ? r + n : r;
    case CLAMP_MIRROR:
        r = i % (2 * n);
        r = r < 0 ? r + 2 * n : r;
        return r < n ? r : 2 * n - 1 - r;
    case CLAMP_MIRROR_ONCE:
        i = i < 0 ? -1 - i : i;
        return i < n ? i : n - 1;
    case CLAMP_BORDER:
        return i < 0 || i >= n ? -1 : i;
    default:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
}

/* A coordinate's texel, and the fraction in 1/256 from that texel's middle to the next one's. */
struct spot {
    int64_t i;
    uint32_t weight;
};

static struct spot
spot_of(float v, uint32_t size, const struct gfx_sampler *s, enum gfx_clamp mode, bool linear, int offset)
{
    if (mode == CLAMP_WRAP && !s->unnormalized)         /* infinities have no fraction: NaN */
        v -= floorf(v);
    if (mode == CLAMP_MIRROR && !s->unnormalized)
        v -= 2 * floorf(v * 0.5f);
    double x = s->unnormalized ? v : v * (float)size;   /* the product is a float */
    x = isnan(x) ? 0 : fmin(fmax(x, -0x1p30), 0x1p30);
    if (!linear)
        return (struct spot){ (int64_t)floor(s->truncate ? x : rint(x * 256) / 256) + offset, 0 };
    int64_t q = (int64_t)rint((x - 0.5) * 256);
    return (struct spot){ (q >> 8) + offset, (uint32_t)(q & 255) };
}

/* A texel of the image, or the border. False: a fault. */
static bool
fetch(W, I, const struct gfx_image *m, const struct gfx_sampler *s, const int64_t at[3], unsigned l, struct texel *t)
{
    const uint32_t size[3] = { m->width, m->height, m->depth };
    uint32_t place[3];
    bool border = false;
    for (unsigned k = 0; k < 3; k++) {
        int64_t n = k < dimensions(m) ? clamped((enum gfx_clamp)s->clamp[k], at[k], size[k]) : at[k];
        border |= n < 0;
        place[k] = (uint32_t)n;
    }
    if (border) {
        uint32_t one = is_integer(&m->format) ? 1 : f32_bits(1.0f), colour = s->border == 2 ? one : 0;
        *t = (struct texel){ { colour, colour, colour, s->border ? one : 0 } };
        return true;
    }
    const uint8_t *p = texel_bytes(w, i, m, place, l);
    if (p)
        *t = read_texel(&m->format, p);
    return p;
}

/* The eight texels around, weighed. */
static bool
blend(W, I, const struct gfx_image *m, const struct gfx_sampler *s, const struct spot at[3], unsigned l, struct texel *out)
{
    double sum[4] = { 0 };
    struct texel t;
    for (unsigned k = 0; k < 8; k++) {
        int64_t place[3];
        double weight = 1;
        for (unsigned d = 0; d < 3; d++) {
            unsigned next = k >> d & 1;
            place[d] = at[d].i + next;
            weight *= (next ? at[d].weight : 256 - at[d].weight) / 256.0;
        }
        if (weight == 0)
            continue;
        if (!fetch(w, i, m, s, place, l, &t))
            return false;
        if (weight == 1) {              /* also of integers and NaN */
            *out = t;
            return true;
        }
        for (unsigned c = 0; c < 4; c++)
            sum[c] += weight * (double)f32_of(t.c[c]);
    }
    for (unsigned c = 0; c < 4; c++)
        out->c[c] = f32_bits((float)sum[c]);
    return true;
}

/* One component of the four texels that bilinear filtering reads, counter-clockwise from the lower left. */
static bool
gather(W, I, const struct gfx_image *m, const struct gfx_sampler *s, const struct spot at[3], unsigned l, struct texel *out)
{
    static const uint8_t dx[4] = { 0, 1, 1, 0 }, dy[4] = { 1, 1, 0, 0 };
    struct texel t;
    for (unsigned k = 0; k < 4; k++) {
        int64_t place[3] = { at[0].i + dx[k], at[1].i + dy[k], at[2].i };
        if (!fetch(w, i, m, s, place, l, &t))
            return false;
        t = selected(&m->format, m->select, &t);
        out->c[k] = t.c[__builtin_ctz(i->dmask)];
    }
    return true;
}

static bool
sampler_of(W, I, const struct gfx_image *m, struct gfx_sampler *s)
{
    const uint32_t *r;
    if (!resource(w, i, 3, 4, &r))
        return false;
    const char *why = gfx_sampler_decode(w->group->target, r, s);
    s->unnormalized |= i->unorm;
    if (!why && s->unnormalized && (s->clamp[0] < CLAMP_LAST_TEXEL || s->clamp[1] < CLAMP_LAST_TEXEL))
        why = "texel coordinates do not wrap around";
    if (!why && s->linear && is_integer(&m->format) && !(i->arg & GATHER))
        why = "integers have no linear filter";
    if (why)
        gfx_fault(w, FAULT_INSTRUCTION, "sampler %08x %08x %08x %08x: %s: %s", r[0], r[1], r[2], r[3], why, i->text);
    return !why;
}

/* Every image has one level, so level operands have no effect. arg: the operands before and behind the coordinates. */
static void
image_sample(W, I)
{
    struct gfx_image m;
    struct gfx_sampler s;
    struct texel t[LANES];
    uint16_t reg[14];
    if (!image_of(w, i, &m) || !sampler_of(w, i, &m, &s))
        return;
    unsigned dims = dimensions(&m), n = coordinates(&m), gathers = i->arg & GATHER;
    unsigned first = !!(i->arg & OFFSETS) + !!(i->arg & BIAS) + (i->arg & GRADIENTS ? 2 * dims : 0), words = first + n + (i->arg & LOD);
    if (i->a16 && first) {
        (void)refuse(w, i, "of these only the coordinates may have 16 bits");
        return;
    }
    if (i->op[0].kind != GFX_VGPR || !i->dmask || (gathers && (i->dmask & (i->dmask - 1) || dims != 2)) ||
        address_registers(w, i, 1, reg) < (i->a16 ? (words + 1) / 2 : words)) {
        (void)refuse(w, i, "its registers are too few, or dmask is none that it can have");
        return;
    }
    FOR_ACTIVE {
        const uint32_t size[3] = { m.width, m.height, m.depth };
        struct spot at[3] = { { 0, 0 } };
        uint32_t offsets = i->arg & OFFSETS ? w->v[reg[0]][l] : 0;
        for (unsigned k = 0; k < dims; k++) {
            int offset = (int)(offsets >> 8 * k & 63);
            bool linear = gathers || (k < 2 ? s.linear : s.linear_z);
            at[k] = spot_of(address_float(w, i, reg, first + k, l), size[k], &s, (enum gfx_clamp)s.clamp[k], linear, offset > 31 ? offset - 64 : offset);
        }
        if (n > dims) {                 /* the nearest slice */
            float v = rintf(address_float(w, i, reg, first + dims, l));
            at[2].i = (int64_t)fminf(fmaxf(v, 0), (float)(m.depth - m.first - 1)) + m.first;
        }
        if (!(gathers ? gather : blend)(w, i, &m, &s, at, l, &t[l]))
            return;
        if (!gathers)
            t[l] = selected(&m.format, m.select, &t[l]);
    }
    put_texels(w, i, &m.format, t, gathers ? 15 : i->dmask);
}

/* ---- buffers with a format ---- */

/* The element's bytes, or NULL: outside, or after a fault. */
static uint8_t *
element_bytes(W, I, const struct gfx_elements *e, unsigned l)
{
    const struct gfx_operand *a = &i->op[1];
    uint32_t index = i->idxen ? w->v[a->reg][l] : 0, offset = (uint32_t)i->offset, scalar = s32(w, &i->op[3]);
    unsigned size = gfx_format_bytes(&e->format);
    if (i->offen)
        offset += w->v[a->reg + i->idxen][l];
    uint64_t at = (uint64_t)index * e->stride + offset;
    bool outside = e->check == 0 ? index >= e->records || offset + size > e->stride : e->check == 1 ? index >= e->records :
                   e->check == 2 ? !e->records : at + size > e->records;
    if (outside)
        return NULL;
    if (gfx_range_has(e->base + at + scalar, size))
        return (uint8_t *)(uintptr_t)(e->base + at + scalar);
    gfx_fault(w, FAULT_MEMORY, "element %u of a buffer at 0x%llx (lane %u) is outside of every allocation: %s", index, (unsigned long long)e->base, l,
              i->text);
    return NULL;
}

/* arg: components, 8 store. */
static void
buffer_format(W, I)
{
    struct gfx_elements e;
    struct texel t[LANES];
    const uint32_t *r;
    unsigned mask = (1u << (i->arg & 7)) - 1;
    if (!resource(w, i, 2, 4, &r))
        return;
    const char *why = gfx_elements_decode(w->group->target, r, &e);
    if (why || i->op[0].kind != GFX_VGPR || ((i->idxen || i->offen) && i->op[1].kind != GFX_VGPR)) {
        gfx_fault(w, FAULT_INSTRUCTION, "buffer resource %08x %08x %08x %08x: %s: %s", r[0], r[1], r[2], r[3], why ? why : "wrong operands", i->text);
        return;
    }
    FOR_ACTIVE {
        uint8_t *p = element_bytes(w, i, &e, l);
        if (w->state == WAVE_FAULT)
            return;
        memset(&t[l], 0, sizeof t[l]);
        if (p && i->arg & 8) {
            struct texel s = stored_texel(w, i, &e.format, mask, l);
            write_texel(&e.format, p, &s);
        } else if (p) {
            struct texel s = read_texel(&e.format, p);
            t[l] = selected(&e.format, e.select, &s);
        }
    }
    if (!(i->arg & 8))
        put_texels(w, i, &e.format, t, mask);
}

#define IMAGE(name, fn, arg) { "image_" name, fn, GFX_C_VMEM, arg }
#define SAMPLE(name, arg) IMAGE("sample" name, image_sample, arg), IMAGE("sample" name "_o", image_sample, (arg) | OFFSETS)
#define GATHER4(name, arg) IMAGE("gather4" name, image_sample, (arg) | GATHER), IMAGE("gather4" name "_o", image_sample, (arg) | GATHER | OFFSETS)
#define FORMAT(name, n) { "buffer_load_format_" name, buffer_format, GFX_C_VMEM, n }, { "buffer_store_format_" name, buffer_format, GFX_C_VMEM, (n) | 8 }
const struct gfx_row gfx_image[] = {
    IMAGE("load", image_access, 0), IMAGE("store", image_access, 1), IMAGE("load_mip", image_access, 2), IMAGE("store_mip", image_access, 3),
    IMAGE("get_resinfo", image_size, 0), SAMPLE("", 0), SAMPLE("_l", LOD), SAMPLE("_lz", 0), SAMPLE("_d", GRADIENTS), SAMPLE("_b", BIAS),
    GATHER4("", 0), GATHER4("_lz", 0), GATHER4("_l", LOD), FORMAT("x", 1), FORMAT("xy", 2), FORMAT("xyz", 3), FORMAT("xyzw", 4),
    { NULL, NULL, 0, 0 },
};
