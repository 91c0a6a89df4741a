/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface instructions of every kind, for one lane; tex_filter.c reads and filters texels. Included by tex.c for
 * the host and by jit/builtins/tex.c for AMD GPUs. */
#include "jit/builtins/core/tex_core.h"
#include "jit/abi/host.h"
#include "jit/ptx/ir.h"

/* Place of a refused surface access: bytes, rows, slices; and its size. */
struct tex_fault {
    int64_t  x, y, z;
    unsigned size;
};

static int64_t
clamp_layer(const struct cw_texture *t, int64_t layer, int64_t per)
{
    uint32_t from = TEX_OBJECT(t)->first_layer;
    int64_t n = (TEX_OBJECT(t)->last_layer - from + 1) / (uint32_t)per;
    layer = layer < 0 ? 0 : layer >= n ? n - 1 : layer;
    return from + (layer < 0 ? 0 : layer) * per;
}

static bool
is_cube(const struct cwh_tex *x)
{
    return x->geom == PTX_GEOM_CUBE || x->geom == PTX_GEOM_ACUBE;
}

static bool
is_layered(const struct cwh_tex *x)
{
    return x->geom == PTX_GEOM_A1D || x->geom == PTX_GEOM_A2D || x->geom == PTX_GEOM_ACUBE;
}

static unsigned
coordinates(const struct cwh_tex *x)
{
    switch (x->geom) {
    case PTX_GEOM_1D: case PTX_GEOM_A1D:
        return 1;
    case PTX_GEOM_3D: case PTX_GEOM_CUBE: case PTX_GEOM_ACUBE:
        return 3;
    default:
        return 2;
    }
}

/* A lane's operands; those that the instruction lacks are zero. */
struct operands {
    uint32_t coord[4], extra[8];
    int32_t  offset[3];
};

/* Compute where a lane samples. `words` are the coordinates as given, without the array index. */
static void
read_place(const struct cw_texture *t, const struct cwh_tex *x, const struct operands *o, struct tex_place *at, uint32_t words[3])
{
    const uint32_t first = is_layered(x), c0 = o->coord[0], c1 = o->coord[1], c2 = o->coord[2], c3 = o->coord[3];
    memset(at, 0, sizeof *at);
    at->dims = coordinates(x);
    at->cube = is_cube(x);
    at->layer = clamp_layer(t, first ? (int64_t)c0 : 0, at->cube ? 6 : 1);
    at->array_1d = x->geom == PTX_GEOM_1D;
    at->channel = x->mode & 3;
    memcpy(at->offset, o->offset, sizeof at->offset);
    words[0] = first ? c1 : c0;
    words[1] = at->dims < 2 ? 0 : first ? c2 : c1;
    words[2] = at->dims < 3 ? 0 : first ? c3 : c2;
    memcpy(at->word, words, sizeof at->word);
    if (at->cube) {
        const float v[3] = { f32_of(words[0]), f32_of(words[1]), f32_of(words[2]) };
        float st[2];
        at->face = cwh_cube_face(v, st);
        at->word[0] = f32_bits(st[0]);
        at->word[1] = f32_bits(st[1]);
        at->dims = 2;
    }
}

/* An approximate length of a vector, as the hardware computes it: the largest component and parts of the others. */
static double
length(const double v[3])
{
    double a = fabs(v[0]), b = fabs(v[1]), c = fabs(v[2]), hi = fmax(a, fmax(b, c)), lo = fmin(a, fmin(b, c));
    return hi + (a + b + c - hi - lo) * (11.0 / 32) + lo / 4;
}

/* 256 * log2(1 + i/256), recorded on an H200. */
TEX_TABLE(log2_steps, uint8_t, ".byte",
    0, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 32,
    34, 35, 36, 38, 39, 40, 42, 43, 44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63,
    64, 65, 66, 68, 69, 70, 71, 72, 74, 75, 76, 77, 78, 79, 81, 82, 83, 84, 85, 86, 88, 89, 90, 91,
    92, 93, 94, 95, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117,
    118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 135, 136, 137, 137, 138, 139, 140, 141,
    142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163, 164,
    165, 166, 167, 168, 169, 170, 171, 172, 173, 173, 174, 175, 176, 177, 178, 179, 180, 181, 181, 182, 183, 184, 185, 186,
    187, 188, 188, 189, 190, 191, 192, 193, 194, 195, 195, 196, 197, 198, 199, 200, 200, 201, 202, 203, 204, 205, 205, 206,
    207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218, 218, 219, 220, 221, 222, 222, 223, 224, 225, 226,
    226, 227, 228, 229, 229, 230, 231, 232, 233, 233, 234, 235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244,
    245, 245, 246, 247, 248, 248, 249, 250, 251, 251, 252, 253, 253, 254, 255, 255)

/* Level of detail in 1/256 from the derivatives of the coordinates. Observed on an H200: the longest of both vectors and of 11/16 of their
 * sum and difference. With one component the result equals the hardware's; with more it may be up to 2/256 above. */
static int32_t
gradient_lod(const struct cw_texture *t, const struct cwh_tex *x, const struct operands *o, const uint32_t words[3])
{
    const struct cw_level *l = &TEX_OBJECT(t)->level[0];
    const uint32_t size[3] = { l->width, l->height, l->depth };
    unsigned n = coordinates(x);
    double g[2][3] = { { 0 } }, sum[3], difference[3];
#pragma GCC unroll 3
    for (unsigned d = 0; d < 3; d++) {
        const uint32_t e0 = o->extra[d], e1 = o->extra[1 + d], e2 = o->extra[2 + d], e4 = o->extra[4 + d];      /* of three, the fourth is not used */
        if (d >= n)
            continue;
        g[0][d] = (double)f32_of(e0);
        g[1][d] = (double)f32_of(n == 3 ? e4 : n == 2 ? e2 : e1);
    }
    if (is_cube(x)) {           /* derivatives of the coordinates on the face: s = (major + sc) / (2 major) */
        const float px = f32_of(words[0]), py = f32_of(words[1]), pz = f32_of(words[2]), v[3] = { px, py, pz };
        float st[2];
        unsigned face = cwh_cube_face(v, st), m = face / 2;
        float along = m == 0 ? px : m == 1 ? py : pz, a = m == 0 ? pz : px, b = m == 1 ? pz : py;
        double major = fabs((double)along), scale = major > 0 ? l->width / (2 * major * major) : 0;
#pragma GCC unroll 2
        for (unsigned axis = 0; axis < 2; axis++) {
            double dx = g[axis][0], dy = g[axis][1], dz = g[axis][2], dm = m == 0 ? dx : m == 1 ? dy : dz;
            dm = along < 0 ? -dm : dm;
            g[axis][0] = ((m == 0 ? dz : dx) * major - (double)a * dm) * scale;
            g[axis][1] = ((m == 1 ? dz : dy) * major - (double)b * dm) * scale;
            g[axis][2] = 0;
        }
    } else {
#pragma GCC unroll 3
        for (unsigned d = 0; d < 3; d++) {
            g[0][d] *= size[d];
            g[1][d] *= size[d];
        }
    }
#pragma GCC unroll 3
    for (unsigned d = 0; d < 3; d++) {
        sum[d] = g[0][d] + g[1][d];
        difference[d] = g[0][d] - g[1][d];
    }
    double longest = fmax(fmax(length(g[0]), length(g[1])), fmax(length(sum), length(difference)) * (11.0 / 16));
    if (!(longest > 1))
        return -256;            /* magnified */
    uint64_t bits = f64_bits(fmin(longest, 0x1p100));
    return (int32_t)((bits >> 52) - 1023) * 256 + log2_steps(bits >> 44 & 255);
}

/* tex, tld4. */
static void
fetch(const struct cw_texture *t, const struct cwh_tex *x, const struct operands *o, struct texel *out)
{
    struct tex_place at;
    uint32_t words[3];
    bool gather = x->op == PTX_OP_TLD4, biased = false, floats = t->as_float || x->result_type == PTX_F16 || x->result_type == PTX_F16X2;
    int32_t lod = 0;
    enum tex_read read = gather ? TEX_GATHER : x->coord_type != PTX_F32 ? TEX_TEXEL : TEX_FILTER;
    read_place(t, x, o, &at, words);
    if (read == TEX_TEXEL && x->flags & CWH_TEX_LEVEL) {
        uint32_t level = o->extra[0], n = TEX_OBJECT(t)->nlevels;
        lod = (int32_t)(level < n ? level : n - 1);
    } else if (read == TEX_FILTER && x->flags & CWH_TEX_LEVEL) {
        lod = tex_fixed_lod(f32_of(o->extra[0]));
        biased = true;
    } else if (read == TEX_FILTER && x->flags & CWH_TEX_GRADIENTS) {
        lod = gradient_lod(t, x, o, words);
        biased = true;
    }
    cwh_tex_read(t, &at, read, lod, biased, floats, out);
}

/* The result words of a sample; packed halves have two components per word. */
static void
pack_result(const struct cwh_tex *x, struct texel *s)
{
    if (x->result_type != PTX_F16 && x->result_type != PTX_F16X2)
        return;
#pragma GCC unroll 4
    for (unsigned c = 0; c < 4; c++)
        s->w[c] = cwh_float_to_half(f32_of(s->w[c]));
    if (x->result_type == PTX_F16X2) {
        s->w[0] |= s->w[1] << 16;
        s->w[1] = s->w[2] | s->w[3] << 16;
    }
}

/* "Channel Data Type and Channel Order Fields" (PTX ISA, tables 12 and 13): OpenCL's numbers, which count in the order of 8, 16 and 32 bits. An 8 or
 * 16-bit integer that a texture reads as a float is normalized. */
static uint32_t
channel_type(const struct cw_texture *t, bool surface)
{
    enum { SNORM_INT8 = 0x10D0, UNORM_INT8 = 0x10D2, SIGNED_INT8 = 0x10D7, UNSIGNED_INT8 = 0x10DA, HALF_FLOAT = 0x10DD };
    bool normalized = t->as_float && !surface;
    if (t->format >= CWB_FORMAT_F16)
        return HALF_FLOAT + (t->format - CWB_FORMAT_F16);
    if (t->format >= CWB_FORMAT_S8)
        return (normalized ? SNORM_INT8 : SIGNED_INT8) + (t->format - CWB_FORMAT_S8);
    return (normalized ? UNORM_INT8 : UNSIGNED_INT8) + (t->format - CWB_FORMAT_U8);
}

/* Results of txq and suq, as observed on an H200: zero for a level that does not exist, and so on. */
static uint32_t
query(const struct cw_texture *t, const struct cwh_tex *x, unsigned lane)
{
    uint32_t level = x->flags & CWH_TEX_LEVEL ? x->extra[lane] : 0, layers = t->last_layer - t->first_layer + 1;
    bool surface = x->op == PTX_OP_SUQ;
    if (level >= t->nlevels && (x->mode == PTX_QUERY_WIDTH || x->mode == PTX_QUERY_HEIGHT || x->mode == PTX_QUERY_DEPTH))
        return 0;
    const struct cw_level *l = &t->level[level < t->nlevels ? level : 0];
    switch (x->mode) {
    case PTX_QUERY_WIDTH:
        return l->width;
    case PTX_QUERY_HEIGHT:      /* layers of 1D textures count as rows */
        if (t->dims == 1 && t->layered)
            return layers;
        return surface && t->dims == 1 ? 0 : l->height;
    case PTX_QUERY_DEPTH:
        if (t->dims == 1)
            return 0;
        if (t->cube)
            return surface ? l->depth : t->layered ? layers / 6 : 0;
        return t->layered ? (surface ? l->depth : layers) : t->dims == 3 ? l->depth : 0;
    case PTX_QUERY_ARRAY_SIZE:
        return layers / (t->cube ? 6 : 1);
    case PTX_QUERY_NUM_MIPMAP_LEVELS:
        return t->nlevels;
    case PTX_QUERY_NORMALIZED_COORDS:
        return t->normalized;
    case PTX_QUERY_CHANNEL_DATA_TYPE:
        return channel_type(t, surface);
    case PTX_QUERY_CHANNEL_ORDER:       /* R, RG, RGBA */
        return t->channels == 1 ? 0x10B0 : t->channels == 2 ? 0x10B2 : 0x10B5;
    default:                    /* refused by the compiler */
        return 0;
    }
}

/* Bytes of one component, for types of suld and sust. */
static unsigned
surface_bytes(unsigned type)
{
    switch (type) {
    case PTX_B8:
        return 1;
    case PTX_B16:
        return 2;
    case PTX_B64: case PTX_U64: case PTX_S64:
        return 8;
    default:
        return 4;
    }
}

/* sust.p: integers are clamped to the format's range, floats truncated to halves. */
static void
store_formatted(const struct cw_texture *t, const struct cwh_tex *x, unsigned lane, cw_texel_byte *p)
{
    unsigned bytes = t->bytes;
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        if (k >= t->channels || k >= x->vec)
            break;
        uint32_t v = x->result[k * x->width + lane];
        int32_t i = (int32_t)v;
        switch (t->format) {
        case CWB_FORMAT_U8:
            v = v > 255 ? 255 : v;
            break;
        case CWB_FORMAT_U16:
            v = v > 65535 ? 65535 : v;
            break;
        case CWB_FORMAT_S8:
            v = (uint32_t)(i > 127 ? 127 : i < -128 ? -128 : i);
            break;
        case CWB_FORMAT_S16:
            v = (uint32_t)(i > 32767 ? 32767 : i < -32768 ? -32768 : i);
            break;
        case CWB_FORMAT_F16:
            v = cwh_float_to_half_rz(f32_of(v));
            break;
        default:
            break;
        }
        tex_store(p + bytes * k, v, bytes);
    }
}

/* Blocks run on several threads. `mode` has the operation, and the treatment of coordinates outside. sured.p takes its signedness from the
 * surface's format (9.7.11.4). */
static void
reduce(const struct cw_texture *t, const struct cwh_tex *x, unsigned lane, cw_texel_byte *p)
{
    unsigned op = x->mode >> 2;
    bool is_signed = x->flags & CWH_TEX_FORMATTED ? t->format == CWB_FORMAT_S32 : x->result_type == PTX_S32 || x->result_type == PTX_S64;
    uint64_t v = x->result[lane];
    if (surface_bytes(x->result_type) == 8) {
        CW_DEVICE_MEMORY uint64_t *at = (CW_DEVICE_MEMORY uint64_t *)(CW_DEVICE_MEMORY void *)p;
        uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED), fresh;
        v |= (uint64_t)x->result[x->width + lane] << 32;
        do {
            bool less = is_signed ? (int64_t)v < (int64_t)old : v < old;
            fresh = op == PTX_ATOM_ADD ? old + v : op == PTX_ATOM_AND ? old & v : op == PTX_ATOM_OR ? old | v :
                    less == (op == PTX_ATOM_MIN) ? v : old;
        } while (!__atomic_compare_exchange_n(at, &old, fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return;
    }
    CW_DEVICE_MEMORY uint32_t *at = (CW_DEVICE_MEMORY uint32_t *)(CW_DEVICE_MEMORY void *)p;
    uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED), fresh, n = (uint32_t)v;
    do {
        bool less = is_signed ? (int32_t)n < (int32_t)old : n < old;
        fresh = op == PTX_ATOM_ADD ? old + n : op == PTX_ATOM_AND ? old & n : op == PTX_ATOM_OR ? old | n :
                less == (op == PTX_ATOM_MIN) ? n : old;
    } while (!__atomic_compare_exchange_n(at, &old, fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* suld, sust, sured: the texels' address; NULL: outside, where stores do nothing and loads return zeros. x is in bytes in the unformatted
 * forms. *bad describes a refused access. */
static enum tex_access
surface_place(const struct cw_texture *t, const struct cwh_tex *x, const uint32_t coord[3], struct tex_fault *bad, cw_texel_byte **place)
{
    const struct cw_level *l = &TEX_OBJECT(t)->level[0];
    const uint32_t c0 = coord[0], c1 = coord[1], c2 = coord[2];
    bool formatted = x->flags & CWH_TEX_FORMATTED, store = x->op == PTX_OP_SUST, layered = is_layered(x), one = x->geom == PTX_GEOM_1D || x->geom == PTX_GEOM_A1D;
    unsigned mode = x->mode & 3, size = formatted && store ? t->element : surface_bytes(x->result_type) * x->vec;
    int64_t z = layered ? (int64_t)c0 : x->geom == PTX_GEOM_3D ? (int64_t)(int32_t)c2 : 0, xx = (int32_t)(layered ? c1 : c0);
    int64_t y = one ? 0 : (int32_t)(layered ? c2 : c1);
    int64_t unit = formatted ? t->element : 1, limit = (int64_t)l->width * t->element - size;
    xx *= unit;
    bool inside = xx >= 0 && xx <= limit && y >= 0 && y < l->height && z >= 0 && z < l->depth;
    *bad = (struct tex_fault){ xx, y, z, size };
    if (!inside && mode == 0)
        return TEX_ACCESS_OUTSIDE;
    if (!inside && mode == 1) {
        xx = xx < 0 ? 0 : xx > limit ? limit / size * size : xx;
        y = y < 0 ? 0 : y >= l->height ? l->height - 1 : y;
        z = z < 0 ? 0 : z >= l->depth ? l->depth - 1 : z;
        inside = limit >= 0;
    }
    if (xx & (surface_bytes(x->result_type) - 1) && inside && !(formatted && store))
        return TEX_ACCESS_MISALIGNED;
    *place = inside ? l->base + (size_t)z * l->slice + (size_t)y * l->pitch + (size_t)xx : NULL;
    return TEX_ACCESS_DONE;
}

/* Handle sured and sust.p; true if the instruction is one of these. */
static bool
surface_special(const struct cw_texture *t, const struct cwh_tex *x, unsigned lane, cw_texel_byte *p)
{
    bool reduces = x->op == PTX_OP_SURED, formatted = x->flags & CWH_TEX_FORMATTED;
    if (p && reduces)
        reduce(t, x, lane, p);
    else if (p && formatted)
        store_formatted(t, x, lane, p);
    return reduces || formatted;
}
