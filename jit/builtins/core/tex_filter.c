/* SPDX-License-Identifier: Apache-2.0
 * Texels, positions, weights and sums, as in NVIDIA's texture units. The documentation gives the formulas and 8 bits of fraction; the
 * roundings were found by probing an H200 (driver 580.159.04), whose results these equal: normalized coordinates are truncated to 21
 * fraction bits, positions and levels have 8, weights are 8-bit numbers that add up to 256, and sums are exact in fixed point, with floats
 * aligned to the largest of them.
 *
 * Reading texels may fault if the program freed the memory; no lock is held here. */
#include "jit/builtins/core/tex_core.h"

#include <limits.h>

/* sRGB to linear, as halves: recorded on an H200. */
TEX_TABLE(srgb, uint16_t, ".short",
        0x0000, 0x0d00, 0x1100, 0x1380, 0x1500, 0x1640, 0x1780, 0x1860, 0x1900, 0x19a0, 0x1a40, 0x1ae0,
        0x1b80, 0x1c20, 0x1c80, 0x1ce0, 0x1d50, 0x1dc0, 0x1e30, 0x1eb0, 0x1f30, 0x1fb0, 0x2018, 0x2060,
        0x20b0, 0x20f8, 0x2148, 0x21a0, 0x21f0, 0x2248, 0x22a8, 0x2300, 0x2360, 0x23d0, 0x2418, 0x2450,
        0x2488, 0x24c0, 0x24f8, 0x2530, 0x2570, 0x25b0, 0x25f0, 0x2630, 0x2670, 0x26b8, 0x2700, 0x2748,
        0x2790, 0x27e0, 0x2818, 0x2840, 0x2868, 0x2890, 0x28b8, 0x28e0, 0x2910, 0x2940, 0x2968, 0x2998,
        0x29c8, 0x29f8, 0x2a28, 0x2a60, 0x2a90, 0x2ac0, 0x2b00, 0x2b30, 0x2b60, 0x2ba0, 0x2bd0, 0x2c08,
        0x2c28, 0x2c40, 0x2c60, 0x2c80, 0x2ca0, 0x2cc0, 0x2ce0, 0x2d00, 0x2d20, 0x2d48, 0x2d68, 0x2d88,
        0x2db0, 0x2dd0, 0x2df8, 0x2e18, 0x2e40, 0x2e68, 0x2e88, 0x2eb0, 0x2ed8, 0x2f00, 0x2f28, 0x2f50,
        0x2f80, 0x2fa0, 0x2fd0, 0x3000, 0x3010, 0x3028, 0x3040, 0x3058, 0x3070, 0x3088, 0x30a0, 0x30b8,
        0x30d0, 0x30e8, 0x3100, 0x3118, 0x3130, 0x3148, 0x3160, 0x3180, 0x3198, 0x31b0, 0x31d0, 0x31e8,
        0x3200, 0x3220, 0x3238, 0x3258, 0x3270, 0x3290, 0x32b0, 0x32c8, 0x32e8, 0x3308, 0x3328, 0x3340,
        0x3360, 0x3380, 0x33a0, 0x33c0, 0x33e0, 0x3400, 0x3410, 0x3420, 0x3430, 0x3440, 0x3450, 0x3468,
        0x3478, 0x3488, 0x3498, 0x34a8, 0x34c0, 0x34d0, 0x34e0, 0x34f0, 0x3508, 0x3518, 0x3528, 0x3540,
        0x3550, 0x3568, 0x3578, 0x3590, 0x35a0, 0x35b0, 0x35c8, 0x35e0, 0x35f0, 0x3608, 0x3618, 0x3630,
        0x3640, 0x3658, 0x3670, 0x3688, 0x3698, 0x36b0, 0x36c8, 0x36d8, 0x36f0, 0x3708, 0x3720, 0x3738,
        0x3750, 0x3768, 0x3780, 0x3790, 0x37b0, 0x37c0, 0x37e0, 0x37f0, 0x3808, 0x3810, 0x3820, 0x3828,
        0x3838, 0x3848, 0x3850, 0x3860, 0x3868, 0x3878, 0x3888, 0x3890, 0x38a0, 0x38b0, 0x38b8, 0x38c8,
        0x38d8, 0x38e0, 0x38f0, 0x3900, 0x3908, 0x3918, 0x3928, 0x3938, 0x3948, 0x3950, 0x3960, 0x3970,
        0x3980, 0x3990, 0x3998, 0x39a8, 0x39b8, 0x39c8, 0x39d8, 0x39e8, 0x39f8, 0x3a08, 0x3a18, 0x3a28,
        0x3a38, 0x3a48, 0x3a58, 0x3a68, 0x3a78, 0x3a88, 0x3a98, 0x3aa8, 0x3ab8, 0x3ac8, 0x3ad8, 0x3ae8,
        0x3af8, 0x3b08, 0x3b18, 0x3b28, 0x3b40, 0x3b50, 0x3b60, 0x3b70, 0x3b80, 0x3b90, 0x3ba0, 0x3bb0,
        0x3bd0, 0x3be0, 0x3bf0, 0x3c00)

/* ---- texels ---- */

/* Channels filtered as floats: float formats, colours in sRGB. */
static bool
has_floats(const struct cw_texture *t, unsigned c)
{
    return t->format == CWB_FORMAT_F16 || t->format == CWB_FORMAT_F32 || (t->srgb && c < 3);
}

static bool
is_signed(const struct cw_texture *t)
{
    return t->format == CWB_FORMAT_S8 || t->format == CWB_FORMAT_S16 || t->format == CWB_FORMAT_S32;
}

/* Channel c of the texel at p, as struct texel stores it. */
static uint32_t
unpack(const struct cw_texture *t, const cw_texel_byte *p, unsigned c)
{
    unsigned bytes = t->bytes, unused = 32 - 8 * bytes;
    uint32_t u = bytes == 1 ? tex_load(p + c, 1) : bytes == 2 ? tex_load(p + 2 * c, 2) : tex_load(p + 4 * c, 4);
    if (has_floats(t, c) && bytes < 4)
        return f32_bits(cwh_half_to_float((uint16_t)(bytes == 1 ? srgb(u) : u)));
    return is_signed(t) ? (uint32_t)((int32_t)(u << unused) >> unused) : u;
}

/* Convert an integer of a scaled texture. Formats that are not scaled give 0. */
static float
scaled(const struct cw_texture *t, uint32_t u)
{
    float f = is_signed(t) ? (float)(int32_t)u : (float)u;
    switch (t->format) {
    case CWB_FORMAT_U8:
        return tex_ratio(f, 255.0f);
    case CWB_FORMAT_S8:
        return fmaxf(tex_ratio(f, 127.0f), -1.0f);
    case CWB_FORMAT_U16:
        return tex_ratio(f, 65535.0f);
    case CWB_FORMAT_S16:
        return fmaxf(tex_ratio(f, 32767.0f), -1.0f);
    default:
        return 0;
    }
}

/* The border colour: truncated to a half for 8-bit formats and halves, rounded to the format's steps with ties toward zero; integer reads
 * see the low bits of the word. */
static uint32_t
border(const struct cw_texture *t, unsigned c)
{
    unsigned unused = t->format == CWB_FORMAT_F16 ? 0 : 32 - 8u * t->bytes;
    float v = TEX_OBJECT(t)->border[c];
    uint32_t u = f32_bits(v);
    if (!t->as_float)
        return is_signed(t) ? (uint32_t)((int32_t)(u << unused) >> unused) : u << unused >> unused;
    if (t->bytes == 1 || t->format == CWB_FORMAT_F16)
        v = cwh_half_to_float(cwh_float_to_half_rz(v));
    if (!unused)
        return f32_bits(v);
    float m = (float)((1u << (8u * t->bytes - is_signed(t))) - 1);
    v = fminf(fmaxf(v, is_signed(t) ? -1.0f : 0.0f), 1.0f);
    float code = copysignf(ceilf(fabsf(v) * m - 0.5f), v);
    return t->srgb && c < 3 ? f32_bits(tex_ratio(code, m)) : (uint32_t)(int32_t)code;
}

/* Both operands fit into 32 bits: addresses wrap around only with normalized coordinates, which were brought near to the texture. */
static int64_t
floor_mod(int64_t i, int64_t n)
{
    if ((uint64_t)i < (uint64_t)n)
        return i;
    int32_t r = (int32_t)i % (int32_t)n;
    return r < 0 ? r + n : r;
}

/* The texel's number according to the address mode; -1: border. */
static int64_t
address(enum cwb_address mode, int64_t i, int64_t n)
{
    switch (mode) {
    case CWB_ADDRESS_WRAP:
    case CWB_ADDRESS_MIRROR:
        i = floor_mod(i, mode == CWB_ADDRESS_WRAP ? n : 2 * n);
        return i < n ? i : 2 * n - 1 - i;
    case CWB_ADDRESS_BORDER:
        return i < 0 || i >= n ? -1 : i;
    default:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
}

/* The texel at integer coordinates of a level; z is a slice (3D), subject to the address mode, or a layer, which is clamped. */
static struct texel
texel_at(const struct cw_texture *t, const struct cw_level *l, const int64_t i[3], bool z_is_layer)
{
    struct texel out = { { 0 } };
    if (t->linear_memory && (i[0] < 0 || i[0] >= l->width))
        return out;
    int64_t x = address(t->address[0], i[0], l->width), y = address(t->address[1], i[1], l->height);
    /* No cube map, which is read as one, has no more layers for the faces. */
    int64_t z = address(z_is_layer ? CWB_ADDRESS_CLAMP : t->address[2], i[2], l->depth);
    bool outside = x < 0 || y < 0 || z < 0;
    const cw_texel_byte *p = l->base + (size_t)z * l->slice + (size_t)y * l->pitch + (size_t)x * t->element;
    TEX_ROLLED
    for (unsigned c = 0; c < 4; c++) {
        uint32_t w = c >= t->channels ? 0 : outside ? border(t, c) : unpack(t, p, c);
        tex_turn(out.w, 4);
        out.w[3] = w;
    }
    return out;
}

/* ---- positions ---- */

/* Beyond this position 1/256 of a texel makes no difference; up to it every computation fits. */
#define FAR_AWAY 1e9

/* A position in texels in one dimension, exact. Normalized coordinates keep 21 fraction bits. */
static double
position(const struct cw_texture *t, float p, enum cwb_address mode, uint32_t size, bool cube)
{
    if (p != p || fabsf(p) < 0x1p-126f)
        return 0;
    if (!t->normalized && !cube)
        return fmin(fmax((double)p, -FAR_AWAY), FAR_AWAY);
    double x = floor((double)p * 0x1p21) * 0x1p-21;
    if (!cube && (mode == CWB_ADDRESS_WRAP || mode == CWB_ADDRESS_MIRROR)) {
        double period = mode == CWB_ADDRESS_WRAP ? 1 : 2;
        x = isinf(x) ? 0 : x - floor(x / period) * period;
    }
    return fmin(fmax(x, -FAR_AWAY), FAR_AWAY) * size;
}

/* Texel, and the next one's weight in 8 bits, for linear filtering. */
struct axis {
    int64_t  i;
    uint32_t w;
};

static struct axis
axis_linear(double p, int32_t offset, uint32_t size, bool clamped)
{
    int64_t q = (int64_t)floor(p * 256 - 127.5) + (int64_t)offset * 256;
    if (clamped) {              /* to the centres of the outermost texels */
        int64_t last = ((int64_t)size - 1) * 256;
        q = q < 0 ? 0 : q > last ? last : q;
    }
    return (struct axis){ q >> 8, (uint32_t)q & 255 };
}

/* ---- cube maps ---- */

/* The point of a cube of half edge 1 with these face coordinates, `major` along the face's axis. */
static void
cube_point(unsigned face, float s, float t, float major, float v[3])
{
    bool negative = face & 1;
    v[0] = face < 2 ? (negative ? -major : major) : face < 5 ? s : -s;
    v[1] = face / 2 == 1 ? (negative ? -major : major) : -t;
    v[2] = face < 2 ? (negative ? s : -s) : face < 4 ? (negative ? -t : t) : negative ? -major : major;
}

unsigned
cwh_cube_face(const float d[3], float st[2])
{
    float ax = fabsf(d[0]), ay = fabsf(d[1]), az = fabsf(d[2]), m, s, u;
    unsigned face;
    if (ax > ay && ax > az) {
        m = ax;
        face = d[0] < 0;
        s = d[0] < 0 ? d[2] : -d[2];
        u = -d[1];
    } else if (ay > az) {
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
    st[0] = m > 0 ? (float)(((double)s / (double)m + 1) / 2) : 0.5f;
    st[1] = m > 0 ? (float)(((double)u / (double)m + 1) / 2) : 0.5f;
    return face;
}

static bool
is_corner(const struct cw_level *l, int64_t x, int64_t y)
{
    return (x < 0 || x >= l->width) && (y < 0 || y >= l->width);
}

/* Texels beyond a face's edge, but not in a corner, are the neighbour's. */
static void
cube_neighbour(const struct cw_level *l, unsigned *face, int64_t *x, int64_t *y)
{
    int64_t n = l->width;
    bool ox = *x < 0 || *x >= n;
    if (!ox && *y >= 0 && *y < n)
        return;
    float step = 1.0f / (float)n, s = (float)(2 * *x + 1) * step - 1, u = (float)(2 * *y + 1) * step - 1, v[3], st[2];
    if (ox)
        s = *x < 0 ? -1.0f : 1.0f;
    else
        u = *y < 0 ? -1.0f : 1.0f;
    cube_point(*face, s, u, 1 - step, v);
    *face = cwh_cube_face(v, st);
    *x = (int64_t)(st[0] * (float)n);
    *y = (int64_t)(st[1] * (float)n);
    *x = *x >= n ? n - 1 : *x;
    *y = *y >= n ? n - 1 : *y;
}

/* ---- weights ---- */

static uint32_t
share(uint32_t part, uint32_t whole)
{
    return (part * whole + 128) >> 8;
}

/* Divide `total` between x and y: if one is rounded up, the other is rounded down. */
static void
deal(uint32_t total, uint32_t wx, uint32_t wy, uint32_t w[4])
{
    uint32_t e = share(wx, total);
    w[3] = share(e, wy);
    w[2] = ((total - e) * wy + 127) >> 8;
    w[1] = e - w[3];
    w[0] = total - e - w[2];
}

/* At a corner of three faces there is no fourth texel: the three share its weight. */
static void
share_corner(const struct cw_level *l, const struct axis a[2], uint32_t w[4])
{
    TEX_ROLLED
    for (unsigned missing = 0; missing < 4; missing++) {        /* w[0] is its weight */
        if (w[0] && is_corner(l, a[0].i + (missing & 1), a[1].i + (missing >> 1))) {
            uint32_t third = (w[0] + 1) / 3, rest = w[0] - 2 * third;       /* for the opposite one */
            w[0] = 0;
            w[1] += missing & 1 ? rest : third;
            w[2] += third;
            w[3] += missing & 1 ? third : rest;
        }
        tex_turn(w, 4);
    }
}

/* ---- sums ---- */

/* The exponent of a normal number. */
static int
exponent(double v)
{
    return (int)(f64_bits(v) >> 52 & 2047) - 1023;
}

/* Round to `bits` fraction bits, ties away from zero; results below the normal floats become zero. */
static float
rounded(double v, int bits)
{
    double a = fabs(v);
    if (a == 0 || a < 0x1p-126)
        return 0;
    double unit = tex_power(exponent(a) - bits);
    return (float)copysign(floor(a / unit + 0.5) * unit, v);
}

/* Sums of the texels read so far, by channel: integers, or the bits of doubles; and one bit for each channel whose floats were all
 * negative. */
struct sums {
    uint64_t of[4];
    unsigned negative;
};

/* Floats: align the texels of a slice to the largest of them, keeping four bits below the format's last. */
static double
add_floats(double sum, const struct texel t[4], const uint32_t w[4], int fraction, bool *negative)
{
    int top = INT_MIN;
    float special = 0;
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        float v = f32_of(t[i].w[0]);
        if (!w[i])
            continue;
        *negative &= signbit(v) != 0;
        if (!isfinite(v))
            special += v;
        else if (fabsf(v) >= 0x1p-126f)
            top = exponent(v) > top ? exponent(v) : top;
    }
    if (special != 0 || special != special)
        return sum + (double)special;
    if (top == INT_MIN)
        return sum;
    double scale = tex_power(fraction + 4 - top), s = 0;
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        if (w[i] && fabsf(f32_of(t[i].w[0])) >= 0x1p-126f)
            s += trunc((double)f32_of(t[i].w[0]) * scale) * w[i];
    return sum + s / scale / 256;
}

/* Four texels of a slice with weights in 1/256. */
static void
add_quad(const struct cw_texture *t, struct texel q[4], const uint32_t w[4], struct sums *sums)
{
    TEX_ROLLED
    for (unsigned c = 0; c < 4; c++) {
        uint64_t sum = sums->of[0];
        if (c < t->channels && has_floats(t, c)) {
            bool negative = true;
            sum = f64_bits(add_floats(f64_of(sum), q, w, t->format == CWB_FORMAT_F32 ? 23 : 10, &negative));
            sums->negative &= ~(!negative ? 1u << c : 0);
        } else if (c < t->channels) {
#pragma GCC unroll 4
            for (unsigned i = 0; i < 4; i++)
                sum += (uint64_t)(is_signed(t) ? (int64_t)(int32_t)q[i].w[0] : (int64_t)q[i].w[0]) * w[i];
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++)
            tex_turn(q[i].w, 4);
        tex_turn(sums->of, 4);
        sums->of[3] = sum;
    }
}

static float
float_of(double sum, bool negative, int fraction)
{
    if (sum != sum)
        return f32_of(fraction == 10 ? 0x7fffe000 : 0x7fffffff);
    if (sum == 0)
        return negative ? -0.0f : 0.0f;
    return isinf(sum) ? (float)sum : rounded(sum, fraction);
}

/* Scaled integers are filtered with 16 bits. */
static float
scaled_sum(const struct cw_texture *t, int64_t sum)
{
    switch (t->format) {
    case CWB_FORMAT_U8:
        return tex_ratio((float)((sum * 257 + 128) >> 8), 65535.0f);
    case CWB_FORMAT_U16:
        return tex_ratio((float)((sum + 128) >> 8), 65535.0f);
    case CWB_FORMAT_S16:
        return fmaxf(tex_ratio((float)((sum + 128) >> 8), 32767.0f), -1.0f);
    default:                /* approximately times 32767 / 127 */
        sum += (sum + 64 + (sum >> 12) * 16) >> 7;
        return fmaxf(tex_ratio((float)sum, 32767.0f), -1.0f);
    }
}

/* Convert the sums to the result: floats if `floats`. */
static void
blend(const struct cw_texture *t, struct sums *sums, bool floats, struct texel *out)
{
    TEX_ROLLED
    for (unsigned c = 0; c < 4; c++) {
        uint64_t sum = sums->of[0];
        uint32_t w = 0;
        if (c >= t->channels)
            w = 0;
        else if (has_floats(t, c))
            w = f32_bits(float_of(f64_of(sum), sums->negative >> c & 1, t->format == CWB_FORMAT_F32 ? 23 : 10));
        else if (t->as_float)
            w = f32_bits(scaled_sum(t, (int64_t)sum));
        else if (!floats)       /* 32-bit integers are truncated, the others rounded */
            w = (uint32_t)((int64_t)(sum + (t->bytes == 4 ? 0 : 128)) >> 8);
        tex_turn(sums->of, 4);
        tex_turn(out->w, 4);
        out->w[3] = w;
    }
}

/* ---- samples ---- */

/* The level, and the weight of the next one in 1/256. */
static uint32_t
choose_level(const struct cw_texture *t, int32_t lod, bool biased, uint32_t *part)
{
    int32_t last = ((int32_t)TEX_OBJECT(t)->nlevels - 1) * 256, low = tex_fixed_lod(TEX_OBJECT(t)->min_level), high = tex_fixed_lod(TEX_OBJECT(t)->max_level);
    *part = 0;
    if (!last)
        return 0;
    lod += biased ? tex_fixed_lod(TEX_OBJECT(t)->mip_bias) : 0;
    lod = lod < low ? low : lod;
    lod = lod > high ? high : lod;
    lod = lod < 0 ? 0 : lod > last ? last : lod;
    if (!t->mip_linear)
        return (uint32_t)(lod + 128) >> 8;
    *part = (uint32_t)lod & 255;
    return (uint32_t)lod >> 8;
}

/* The lowest texel to read in each dimension, and the weight of the next. */
static void
find_axes(const struct cw_texture *t, const struct cw_level *l, const struct tex_place *at, enum tex_read read, struct axis a[3])
{
    uint32_t size[3] = { l->width, l->height, l->depth }, word[3] = { at->word[0], at->word[1], at->word[2] };
    uint32_t mode[3] = { t->address[0], t->address[1], t->address[2] };
    int32_t offset[3] = { at->offset[0], at->offset[1], at->offset[2] };
    bool linear = t->linear || read == TEX_GATHER, seamless = at->cube && t->seamless;
    TEX_ROLLED
    for (unsigned d = 0; d < 3; d++) {
        struct axis r = { 0, 0 };
        if (read == TEX_TEXEL && d < at->dims) {
            r.i = (int64_t)(int32_t)word[0] + offset[0];
        } else if (d < at->dims) {
            double p = position(t, f32_of(word[0]), (enum cwb_address)mode[0], size[0], at->cube);
            bool clamped = read == TEX_GATHER ? false : at->cube ? !seamless : mode[0] == CWB_ADDRESS_CLAMP;
            r = linear ? axis_linear(p, offset[0], size[0], clamped) : (struct axis){ (int64_t)floor(p) + offset[0], 0 };
        }
        tex_turn(size, 3);
        tex_turn(mode, 3);
        tex_turn(word, 3);
        tex_turn(offset, 3);
        a[0] = a[1];
        a[1] = a[2];
        a[2] = r;
    }
    /* A 1D texture is a 2D texture, read at the upper edge of its only row. */
    if (at->dims == 1 && t->linear && t->address[1] == CWB_ADDRESS_BORDER && read == TEX_FILTER)
        a[1] = (struct axis){ -1, 128 };
}

/* Integer coordinates ignore address modes: everything outside is zero. tex.1d with integers reads linear memory; for an array it returns
 * zeros (as on an H200). */
static bool
is_inside(const struct cw_texture *t, const struct cw_level *l, const struct tex_place *at, const struct axis a[3])
{
    return (!at->array_1d || t->linear_memory) && a[0].i >= 0 && a[0].i < l->width && a[1].i >= 0 && a[1].i < l->height &&
           (at->dims < 3 || (a[2].i >= 0 && a[2].i < l->depth));
}

void
cwh_tex_read(const struct cw_texture *t, const struct tex_place *at, enum tex_read read, int32_t lod, bool biased, bool floats, struct texel *out)
{
    struct sums sums = { { 0 }, 15 };
    uint32_t part = 0, level = read == TEX_FILTER ? choose_level(t, lod, biased, &part) : (uint32_t)lod;
    struct texel q[4] = { { { 0 } } };
    TEX_ROLLED
    for (unsigned again = 0; again < (part ? 2u : 1u); again++) {
        const struct cw_level *l = &TEX_OBJECT(t)->level[level + again];
        uint32_t total = again ? part : 256 - part;
        struct axis a[3];
        find_axes(t, l, at, read, a);
        TEX_ROLLED
        for (unsigned slice = 0; slice < (at->dims == 3 && a[2].w ? 2u : 1u); slice++) {
            uint32_t z = at->dims == 3 ? share(a[2].w, total) : 0, w[4] = { 256, 256, 256, 256 };
            if (read == TEX_FILTER)
                deal(slice ? z : total - z, a[0].w, a[1].w, w);
            if (read == TEX_FILTER && at->cube && t->seamless)
                share_corner(l, a, w);
            if (read == TEX_TEXEL) {
                w[0] = is_inside(t, l, at, a) ? 256 : 0;
                w[1] = w[2] = w[3] = 0;
            }
            TEX_ROLLED
            for (unsigned c = 0; c < 4; c++) {
                int64_t i[3] = { a[0].i + (c & 1), a[1].i + (c >> 1), a[2].i + slice };
                unsigned face = at->face;
                struct texel r = { { 0 } };
                if (at->cube && t->seamless && !is_corner(l, i[0], i[1]))
                    cube_neighbour(l, &face, &i[0], &i[1]);
                if (at->cube) {
                    i[0] = address(CWB_ADDRESS_CLAMP, i[0], l->width);
                    i[1] = address(CWB_ADDRESS_CLAMP, i[1], l->height);
                }
                if (at->dims < 3)
                    i[2] = at->layer + face;
                if (w[0])
                    r = texel_at(t, l, i, at->dims < 3);
                q[0] = q[1];
                q[1] = q[2];
                q[2] = q[3];
                q[3] = r;
                tex_turn(w, 4);
            }
            if (read == TEX_FILTER && (t->linear || part))
                add_quad(t, q, w, &sums);
        }
    }
    if (read == TEX_FILTER && (t->linear || part)) {
        blend(t, &sums, floats, out);
        return;
    }
    unsigned c = at->channel;
    if (read == TEX_GATHER)     /* counter-clockwise from the lower left */
        q[0] = (struct texel){ { tex_pick(q[2].w, c), tex_pick(q[3].w, c), tex_pick(q[1].w, c), tex_pick(q[0].w, c) } };
    TEX_ROLLED
    for (unsigned k = 0; k < 4; k++) {
        uint32_t w = q[0].w[0];
        if (floats && !has_floats(t, read == TEX_GATHER ? c : k))
            w = f32_bits(scaled(t, w));
        tex_turn(q[0].w, 4);
        q[0].w[3] = w;
    }
    *out = q[0];
}
