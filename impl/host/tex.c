/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface instructions for a gang, every kind, one lane at a time; the common plain fetches go to tex_fast.c.
 * Sampling follows the CUDA C++ Programming Guide, appendix "Texture Fetching": texel i covers [i, i + 1), point takes the
 * floor, linear weighs the neighbours of x - 0.5 with fractions rounded to 8 bits.
 *
 * Reading texels may fault when the program freed the memory; no lock is held here. */
#include "impl/host/exec_private.h"
#include "impl/host/texture.h"

#include "jit/ptx/ir.h"

#include <math.h>
#include <string.h>

/* One texel or sample: floats, or integers with 8 or 16 bits extended, or sums on their way to either. */
struct texel {
    float    f[4];
    uint32_t u[4];
};

static float
half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, bits;
    if (e == 31)
        bits = sign | 0x7f800000 | m << 13;
    else if (e)
        bits = sign | (e + 112) << 23 | m << 13;
    else {
        float f = (float)m * 0x1p-24f;
        memcpy(&bits, &f, 4);
        bits |= sign;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint16_t
float_to_half(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
    b &= 0x7fffffff;
    if (b > 0x7f800000)
        return sign | 0x7fff;
    if (b >= 0x477ff000)
        return sign | 0x7c00;
    if (b < 0x38800000) {
        float a;
        memcpy(&a, &b, 4);
        return (uint16_t)(sign | (uint16_t)lrintf(a * 0x1p24f));
    }
    uint32_t odd = b >> 13 & 1;
    return (uint16_t)(sign | ((b + 0xfff + odd - 0x38000000) >> 13));
}

static float
srgb_to_linear(float c)
{
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

/* Unpack the texel at p: u always (sign-extended for signed formats), f where the texture gives floats. */
static void
unpack(const struct cwh_texobj *t, const uint8_t *p, struct texel *out)
{
    for (unsigned c = 0; c < 4; c++) {
        uint32_t u = 0;             /* channels that the texture lacks read as 0, as on hardware */
        float f = 0;
        if (c < t->channels) {
            uint8_t v8;
            uint16_t v16;
            switch (t->format) {
            case CWB_FORMAT_U8:
                u = p[c];
                f = (float)u / 255.0f;
                if (t->srgb && c < 3)
                    f = srgb_to_linear(f);
                break;
            case CWB_FORMAT_S8:
                v8 = p[c];
                u = (uint32_t)(int8_t)v8;
                f = fmaxf((float)(int8_t)v8 / 127.0f, -1.0f);
                break;
            case CWB_FORMAT_U16:
                memcpy(&v16, p + 2 * c, 2);
                u = v16;
                f = (float)v16 / 65535.0f;
                break;
            case CWB_FORMAT_S16:
                memcpy(&v16, p + 2 * c, 2);
                u = (uint32_t)(int16_t)v16;
                f = fmaxf((float)(int16_t)v16 / 32767.0f, -1.0f);
                break;
            case CWB_FORMAT_F16:
                memcpy(&v16, p + 2 * c, 2);
                f = half_to_float(v16);
                memcpy(&u, &f, 4);
                break;
            case CWB_FORMAT_F32:
                memcpy(&u, p + 4 * c, 4);
                memcpy(&f, &u, 4);
                break;
            case CWB_FORMAT_U32:
            case CWB_FORMAT_S32:
                memcpy(&u, p + 4 * c, 4);
                break;
            }
        }
        out->u[c] = u;
        out->f[c] = f;
    }
}

/* The border colour as hardware has it: rounded to the format's steps; integer reads see the bits that were given. */
static void
border(const struct cwh_texobj *t, struct texel *out)
{
    static const float top[] = { 255, 65535, 0, 127, 32767, 0, 0, 0 };
    static const uint8_t bits[] = { 8, 16, 32, 8, 16, 32, 32, 32 };
    for (unsigned c = 0; c < 4; c++) {
        out->f[c] = 0;
        out->u[c] = 0;
        if (c >= t->channels)
            continue;
        float v = t->border[c], m = top[t->format];
        uint32_t u;
        memcpy(&u, &v, 4);
        if (m) {
            v = fminf(fmaxf(v, t->format == CWB_FORMAT_S8 || t->format == CWB_FORMAT_S16 ? -1.0f : 0.0f), 1.0f);
            v = copysignf(ceilf(fabsf(v) * m - 0.5f), v) / m;    /* halves go to zero */
        }
        out->f[c] = v;
        unsigned unused = 32 - bits[t->format];
        out->u[c] = t->format == CWB_FORMAT_S8 || t->format == CWB_FORMAT_S16 ? (uint32_t)((int32_t)(u << unused) >> unused) : u << unused >> unused;
    }
}

static int64_t
floor_mod(int64_t i, int64_t n)
{
    i %= n;
    return i < 0 ? i + n : i;
}

/* Texel number by the address mode; -1: border. */
static int64_t
address(enum cwb_address mode, int64_t i, int64_t n)
{
    switch (mode) {
    case CWB_ADDRESS_WRAP:
        return floor_mod(i, n);
    case CWB_ADDRESS_MIRROR:
        i = floor_mod(i, 2 * n);
        return i < n ? i : 2 * n - 1 - i;
    case CWB_ADDRESS_BORDER:
        return i < 0 || i >= n ? -1 : i;
    default:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
}

/* The texel at integer coordinates; z is a slice (3D), addressed, or a layer, taken as it is. */
static void
texel_at(const struct cwh_texobj *t, const struct cwh_level *l, const int64_t i[3], bool z_is_layer, struct texel *out)
{
    int64_t x = address(t->address[0], i[0], l->width), y = address(t->address[1], i[1], l->height);
    int64_t z = z_is_layer ? i[2] : address(t->address[2], i[2], l->depth);
    if (t->linear_memory && (i[0] < 0 || i[0] >= l->width))
        x = -2;
    if (x == -2) {
        memset(out, 0, sizeof *out);
        return;
    }
    if (x < 0 || y < 0 || z < 0) {
        border(t, out);
        return;
    }
    unpack(t, l->base + (size_t)z * l->slice + (size_t)y * l->pitch + (size_t)x * t->element, out);
}

static int64_t
to_int(float f)
{
    return f > 1e9f ? 1000000000 : f < -1e9f ? -1000000000 : f != f ? 0 : (int64_t)floorf(f);
}

/* Sample one level at p (texel units already, `dims` of them; p beyond is a layer in `layer`). */
static void
sample_level(const struct cwh_texobj *t, const struct cwh_level *l, const float *p, unsigned dims, int64_t layer, struct texel *out)
{
    int64_t i[3] = { 0, 0, layer };
    if (!t->linear) {
        for (unsigned d = 0; d < dims; d++)
            i[d] = to_int(p[d]);
        texel_at(t, l, i, dims < 3, out);
        return;
    }
    int64_t base[3];
    uint32_t w[3];
    for (unsigned d = 0; d < dims; d++) {
        float q = p[d] - 0.5f;
        base[d] = to_int(q);
        float frac = base[d] == 1000000000 || base[d] == -1000000000 || q != q ? 0 : q - (float)base[d];
        w[d] = (uint32_t)(frac * 256.0f + 0.5f);
    }
    bool exact = t->as_float && !t->srgb && (t->format == CWB_FORMAT_U8 || t->format == CWB_FORMAT_U16);
    bool integer = !t->as_float;
    float f[8][4];
    int64_t u[8][4];
    for (unsigned corner = 0; corner < 1u << dims; corner++) {
        struct texel s;
        for (unsigned d = 0; d < dims; d++)
            i[d] = base[d] + (corner >> d & 1);
        texel_at(t, l, i, dims < 3, &s);
        for (unsigned c = 0; c < 4; c++) {
            f[corner][c] = s.f[c];
            u[corner][c] = (int32_t)s.u[c];
        }
        /* A border colour has no exact integer form. */
        if (exact && (t->address[0] == CWB_ADDRESS_BORDER || t->address[1] == CWB_ADDRESS_BORDER || t->address[2] == CWB_ADDRESS_BORDER))
            exact = false;
    }
    for (unsigned c = 0; c < 4; c++) {
        for (unsigned d = 0; d < dims; d++) {
            float wf = (float)w[d] / 256.0f;
            for (unsigned k = 0; k < 1u << (dims - d - 1); k++) {
                f[k][c] = f[2 * k][c] * (1.0f - wf) + f[2 * k + 1][c] * wf;
                u[k][c] = u[2 * k][c] * (256 - w[d]) + u[2 * k + 1][c] * w[d];
            }
        }
        unsigned shift = 8 * dims;
        if (exact && c < t->channels) {
            /* As in tex_fast.c: 16 fraction bits. */
            int64_t s = shift < 16 ? u[0][c] << (16 - shift) : u[0][c] >> (shift - 16);
            out->f[c] = (float)(s >> 1) / ((t->format == CWB_FORMAT_U8 ? 255.0f : 65535.0f) * 32768.0f);
        } else {
            out->f[c] = c < t->channels ? f[0][c] : 0;
        }
        out->u[c] = integer ? c < t->channels ? (uint32_t)((u[0][c] + (1ll << (shift - 1))) >> shift) : 0 : 0;
    }
}

/* ---- what the instructions ask for ---- */

struct request {
    unsigned dims;              /* coordinates to sample in: 1..3 */
    int64_t layer;
    float p[3];                 /* as given */
    int32_t ip[3];              /* the same when the coordinates are integers */
    bool integer;
};

/* Cube maps: the face that the direction points at, and the coordinates on it in [0, 1]. */
static unsigned
cube_face(const float d[3], float st[2])
{
    float ax = fabsf(d[0]), ay = fabsf(d[1]), az = fabsf(d[2]), m;
    unsigned face;
    float s, u;
    if (ax >= ay && ax >= az) {
        m = ax;
        face = d[0] < 0;
        s = d[0] < 0 ? d[2] : -d[2];
        u = -d[1];
    } else if (ay >= az) {
        m = ay;
        face = 2 + (d[1] < 0);
        s = d[0];
        u = d[1] < 0 ? -d[2] : d[2];
    } else {
        m = az;
        face = 4 + (d[2] < 0);
        s = d[2] < 0 ? -d[0] : d[0];
        u = -d[1];
    }
    st[0] = m > 0 ? (s / m + 1) / 2 : 0.5f;
    st[1] = m > 0 ? (u / m + 1) / 2 : 0.5f;
    return face;
}

static float
word_float(uint32_t w)
{
    float f;
    memcpy(&f, &w, 4);
    return f;
}

static int64_t
clamp_layer(const struct cwh_texobj *t, int64_t layer, int64_t per)
{
    int64_t n = (t->last_layer - t->first_layer + 1) / per;
    layer = layer < 0 ? 0 : layer >= n ? n - 1 : layer;
    return t->first_layer + (layer < 0 ? 0 : layer) * per;
}

static void
read_request(const struct cwh_texobj *t, const struct cwh_tex *x, unsigned lane, struct request *r)
{
    const uint32_t *c = x->coord + lane;
    unsigned w = x->width, at = 0;
    memset(r, 0, sizeof *r);
    r->integer = x->coord_type != PTX_F32;
    uint32_t layer = 0;
    bool layered = x->geom == PTX_GEOM_A1D || x->geom == PTX_GEOM_A2D || x->geom == PTX_GEOM_ACUBE;
    if (layered)
        layer = c[w * at++];
    switch (x->geom) {
    case PTX_GEOM_1D: case PTX_GEOM_A1D:
        r->dims = 1;
        break;
    case PTX_GEOM_3D: case PTX_GEOM_CUBE: case PTX_GEOM_ACUBE:
        r->dims = 3;
        break;
    default:
        r->dims = 2;
    }
    for (unsigned d = 0; d < r->dims; d++) {
        r->ip[d] = (int32_t)c[w * (at + d)];
        r->p[d] = r->integer ? (float)r->ip[d] : word_float(c[w * (at + d)]);
    }
    bool cube = x->geom == PTX_GEOM_CUBE || x->geom == PTX_GEOM_ACUBE;
    r->layer = clamp_layer(t, layered ? (int64_t)layer : 0, cube ? 6 : 1);
    if (cube) {
        float st[2];
        r->layer += cube_face(r->p, st);
        if (r->layer > t->last_layer)
            r->layer = t->last_layer;
        r->p[0] = st[0];
        r->p[1] = st[1];
        r->dims = 2;
    }
}

/* Scale coordinates to texels of this level. Wrapping happens on whole texels, in address(). */
static void
scaled(const struct cwh_texobj *t, const struct cwh_level *l, const struct request *r, bool cube, float p[3])
{
    const uint32_t size[3] = { l->width, l->height, l->depth };
    for (unsigned d = 0; d < r->dims; d++)
        p[d] = t->normalized || cube ? r->p[d] * (float)size[d] : r->p[d];
}

static void
sample(const struct cwh_texobj *t, const struct cwh_tex *x, unsigned lane, struct texel *out)
{
    struct request r;
    read_request(t, x, lane, &r);
    bool cube = x->geom == PTX_GEOM_CUBE || x->geom == PTX_GEOM_ACUBE;
    if (r.integer) {
        uint32_t level = x->flags & 1 && x->extra ? x->extra[lane] : 0;
        int64_t i[3] = { r.ip[0], r.ip[1], r.dims < 3 ? r.layer : r.ip[2] };
        texel_at(t, &t->level[level < t->nlevels ? level : t->nlevels - 1], i, r.dims < 3, out);
        return;
    }
    float lod = 0;
    if (x->flags & 1 && x->extra) {
        lod = word_float(x->extra[lane]);
    } else if (x->flags & 2 && x->extra) {
        const uint32_t size[3] = { t->level[0].width, t->level[0].height, t->level[0].depth };
        float longest = 0;
        for (unsigned axis = 0; axis < 2; axis++) {
            float sum = 0;
            unsigned stride = r.dims == 3 ? 4 : r.dims;    /* the vector of a 3D gradient has a fourth, unused element */
            for (unsigned d = 0; d < r.dims; d++) {
                float g = word_float(x->extra[(axis * stride + d) * x->width + lane]) * (t->normalized ? (float)size[d] : 1.0f);
                sum += g * g;
            }
            longest = fmaxf(longest, sqrtf(sum));
        }
        lod = longest > 0 ? log2f(longest) : 0;
    }
    float p[3], last = (float)(t->nlevels - 1);
    lod = fminf(fmaxf(lod + t->mip_bias, t->min_level), t->max_level > 0 ? t->max_level : last);
    lod = lod > 0 ? fminf(lod, last) : 0;
    unsigned level = (unsigned)(t->mip_linear ? floorf(lod) : floorf(lod + 0.5f));
    scaled(t, &t->level[level], &r, cube, p);
    sample_level(t, &t->level[level], p, r.dims, r.layer, out);
    uint32_t w = t->mip_linear ? (uint32_t)((lod - (float)level) * 256.0f + 0.5f) : 0;
    if (w && level + 1 < t->nlevels) {
        struct texel other;
        scaled(t, &t->level[level + 1], &r, cube, p);
        sample_level(t, &t->level[level + 1], p, r.dims, r.layer, &other);
        float wf = (float)w / 256.0f;
        for (unsigned c = 0; c < 4; c++)
            out->f[c] = out->f[c] * (1.0f - wf) + other.f[c] * wf;
    }
}

/* tld4: one component of the four texels that linear filtering would weigh, counter-clockwise from the lower left. */
static void
gather(const struct cwh_texobj *t, const struct cwh_tex *x, unsigned lane, struct texel *out)
{
    static const uint8_t dx[4] = { 0, 1, 1, 0 }, dy[4] = { 1, 1, 0, 0 };
    struct request r;
    read_request(t, x, lane, &r);
    float p[3];
    scaled(t, &t->level[0], &r, x->geom == PTX_GEOM_CUBE || x->geom == PTX_GEOM_ACUBE, p);
    int64_t bx = to_int(p[0] - 0.5f), by = to_int(p[1] - 0.5f);
    for (unsigned k = 0; k < 4; k++) {
        int64_t i[3] = { bx + dx[k], by + dy[k], r.layer };
        struct texel s;
        texel_at(t, &t->level[0], i, true, &s);
        out->f[k] = s.f[x->mode & 3];
        out->u[k] = s.u[x->mode & 3];
    }
}

static void
store_result(const struct cwh_texobj *t, const struct cwh_tex *x, unsigned lane, const struct texel *s)
{
    /* f16 and f16x2 results of .v2.f16x2 and .f16x2: two components a word. */
    if (x->result_type == PTX_F16X2) {
        for (unsigned c = 0; c < x->vec; c++)
            x->result[c * x->width + lane] = (uint32_t)float_to_half(s->f[2 * c & 3]) | (uint32_t)float_to_half(s->f[(2 * c + 1) & 3]) << 16;
        return;
    }
    for (unsigned c = 0; c < x->vec && c < 4; c++) {
        uint32_t bits = s->u[c];
        if (x->result_type == PTX_F16)
            bits = float_to_half(s->f[c]);
        else if (t->as_float)
            memcpy(&bits, &s->f[c], 4);
        x->result[c * x->width + lane] = bits;
    }
}

static uint32_t
query(const struct cwh_texobj *t, const struct cwh_tex *x, unsigned lane)
{
    uint32_t lv = x->flags & 1 && x->extra ? x->extra[lane] : 0;
    const struct cwh_level *l = &t->level[lv < t->nlevels ? lv : t->nlevels - 1];
    switch (x->mode) {
    case PTX_QUERY_WIDTH:
        return l->width;
    case PTX_QUERY_HEIGHT:
        return l->height;
    case PTX_QUERY_DEPTH:
        return t->layered || t->cube ? 1 : l->depth;
    case PTX_QUERY_ARRAY_SIZE:
        return (t->last_layer - t->first_layer + 1) / (t->cube ? 6 : 1);
    case PTX_QUERY_NUM_MIPMAP_LEVELS:
        return t->nlevels;
    case PTX_QUERY_NUM_SAMPLES:
        return 1;
    case PTX_QUERY_NORMALIZED_COORDS:
        return t->normalized;
    case PTX_QUERY_FORCE_UNNORMALIZED_COORDS:
        return !t->normalized;
    case PTX_QUERY_FILTER_MODE:
        return t->linear;
    case PTX_QUERY_ADDR_MODE_0:
    case PTX_QUERY_ADDR_MODE_1:
    case PTX_QUERY_ADDR_MODE_2:
        return t->address[x->mode - PTX_QUERY_ADDR_MODE_0];
    default:                    /* the encodings of channel type and order are OpenCL's, which no header of ours has yet */
        return 0;
    }
}

/* Bytes of one component; the types that suld and sust take. */
static unsigned
surface_bytes(unsigned type)
{
    switch (type) {
    case PTX_B8:
        return 1;
    case PTX_B16:
        return 2;
    case PTX_B64:
        return 8;
    default:
        return 4;
    }
}

/* suld, sust: x in bytes for the unformatted forms. */
static void
surface(struct cwh_fiber *f, const struct cwh_texobj *t, const struct cwh_tex *x, unsigned lane)
{
    const struct cwh_level *l = &t->level[0];
    const uint32_t *c = x->coord + lane;
    unsigned w = x->width, at = 0;
    bool formatted = x->flags & 4, store = x->op == PTX_OP_SUST;
    int64_t z = 0, y = 0, xx;
    unsigned size = formatted ? t->element : surface_bytes(x->result_type) * x->vec;
    if (x->geom == PTX_GEOM_A1D || x->geom == PTX_GEOM_A2D)
        z = (int64_t)c[w * at++];
    xx = (int32_t)c[w * at++];
    if (x->geom == PTX_GEOM_2D || x->geom == PTX_GEOM_A2D || x->geom == PTX_GEOM_3D)
        y = (int32_t)c[w * at++];
    if (x->geom == PTX_GEOM_3D)
        z = (int32_t)c[w * at++];
    int64_t unit = formatted ? t->element : 1, limit = (int64_t)l->width * t->element - size;
    xx *= unit;
    bool inside = xx >= 0 && xx <= limit && y >= 0 && y < l->height && z >= 0 && z < l->depth;
    if (!inside && x->mode == 0)
        cwh_abort(f, CWB_ILLEGAL_ADDRESS, "surface access outside: x = %lld bytes, y = %lld, z = %lld of %u x %u x %u texels of %u bytes",
                  (long long)xx, (long long)y, (long long)z, l->width, l->height, l->depth, t->element);
    if (!inside && x->mode == 1) {
        xx = xx < 0 ? 0 : xx > limit ? limit / size * size : xx;
        y = y < 0 ? 0 : y >= l->height ? l->height - 1 : y;
        z = z < 0 ? 0 : z >= l->depth ? l->depth - 1 : z;
        inside = limit >= 0;
    }
    uint8_t *p = inside ? l->base + (size_t)z * l->slice + (size_t)y * l->pitch + (size_t)xx : NULL;
    if (formatted) {
        if (!p)
            return;
        unsigned bytes = t->element / t->channels;
        for (unsigned k = 0; k < t->channels && k < x->vec; k++) {
            uint32_t v = x->result[k * w + lane];
            if (t->format == CWB_FORMAT_F16) {
                uint16_t h = float_to_half(word_float(v));
                memcpy(p + 2 * k, &h, 2);
            } else {
                memcpy(p + bytes * k, &v, bytes);
            }
        }
        return;
    }
    unsigned bytes = size / x->vec;
    for (unsigned k = 0; k < x->vec; k++) {
        if (bytes == 8) {       /* two words a component, low one first */
            uint32_t *lo = &x->result[2 * k * w + lane], *hi = lo + w;
            if (store && p) {
                memcpy(p + 8 * k, lo, 4);
                memcpy(p + 8 * k + 4, hi, 4);
            } else if (!store) {
                *lo = *hi = 0;
                if (p) {
                    memcpy(lo, p + 8 * k, 4);
                    memcpy(hi, p + 8 * k + 4, 4);
                }
            }
            continue;
        }
        uint32_t *v = &x->result[k * w + lane];
        if (store && p) {
            memcpy(p + bytes * k, v, bytes);
        } else if (!store) {
            *v = 0;
            if (p)
                memcpy(v, p + bytes * k, bytes);
        }
    }
}

static void
fast_fetch(const struct cwh_texobj *t, const struct cwh_tex *x)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        cwh_tex_fast_avx2(t, x);
        return;
    }
#endif
    cwh_tex_fast(t, x);
}

void
cwh_rt_tex(struct cwh_gang *gang, const struct cwh_tex *x)
{
    struct cwh_fiber *f = cwh_fiber_of(gang);
    const struct cwh_texobj *t = NULL;
    uint64_t handle = 0;
    bool is_surface = x->op == PTX_OP_SULD || x->op == PTX_OP_SUST || x->op == PTX_OP_SUQ;
    bool may_be_fast = x->op == PTX_OP_TEX && x->flags == 0 && (x->geom == PTX_GEOM_2D || x->geom == PTX_GEOM_1D) &&
                       (x->result_type == PTX_F32 || x->result_type == PTX_S32 || x->result_type == PTX_U32);
    for (uint64_t m = x->mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        if (!t || x->texture[lane] != handle) {
            handle = x->texture[lane];
            t = cwh_texobj_get(handle);
            if (!t || t->surface != is_surface)
                cwh_abort(f, CWB_ILLEGAL_ADDRESS, "0x%llx is not a %s object", (unsigned long long)handle, is_surface ? "surface" : "texture");
            if (may_be_fast && t->fast && m == x->mask) {
                uint64_t other = 0;
                unsigned i = 0;
                for (; i + 4 <= x->width; i += 4)
                    other |= (x->texture[i] ^ handle) | (x->texture[i + 1] ^ handle) | (x->texture[i + 2] ^ handle) | (x->texture[i + 3] ^ handle);
                for (; i < x->width; i++)
                    other |= x->texture[i] ^ handle;
                if (other) {        /* of lanes that are switched off, perhaps */
                    other = 0;
                    for (uint64_t n = m & (m - 1); n; n &= n - 1)
                        other |= x->texture[__builtin_ctzll(n)] ^ handle;
                }
                if (!other) {
                    fast_fetch(t, x);
                    return;
                }
            }
        }
        struct texel s;
        switch (x->op) {
        case PTX_OP_TEX:
            sample(t, x, lane, &s);
            store_result(t, x, lane, &s);
            break;
        case PTX_OP_TLD4:
            gather(t, x, lane, &s);
            store_result(t, x, lane, &s);
            break;
        case PTX_OP_TXQ:
        case PTX_OP_SUQ:
            x->result[lane] = query(t, x, lane);
            break;
        case PTX_OP_SULD:
        case PTX_OP_SUST:
            surface(f, t, x, lane);
            break;
        default:
            cwh_abort(f, CWB_INTERNAL, "texture operation %u is not known", x->op);
        }
    }
}
