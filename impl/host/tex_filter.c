/* SPDX-License-Identifier: Apache-2.0
 * Texels, positions, weights and sums, as NVIDIA's texture units have them. The documentation gives the formulas and 8 bits
 * of fraction; what is said here of rounding was found by probing an H200 (driver 580.159.04), whose results these equal:
 * normalized coordinates are cut to 21 fraction bits, positions and levels have 8, weights are 8 bits that add up to 256, and
 * sums are exact in fixed point, with floats aligned to the largest of them.
 *
 * Reading texels may fault when the program freed the memory; no lock is held here. */
#include "impl/host/tex_private.h"

#include <limits.h>

float
cwh_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, bits;
    float f;
    if (e == 31) {
        bits = sign | 0x7f800000 | m << 13;
    } else if (e) {
        bits = sign | (e + 112) << 23 | m << 13;
    } else {
        f = (float)m * 0x1p-24f;
        memcpy(&bits, &f, 4);
        bits |= sign;
    }
    memcpy(&f, &bits, 4);
    return f;
}

uint16_t
cwh_float_to_half(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
    b &= 0x7fffffff;
    if (b > 0x7f800000)
        return 0x7fff;
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

uint16_t
cwh_float_to_half_rz(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
    b &= 0x7fffffff;
    if (b > 0x7f800000)
        return sign | 0x7fff;
    if (b == 0x7f800000)
        return sign | 0x7c00;
    if (b >= 0x47800000)
        return sign | 0x7bff;
    if (b < 0x38800000) {
        float a;
        memcpy(&a, &b, 4);
        return (uint16_t)(sign | (uint16_t)(a * 0x1p24f));
    }
    return (uint16_t)(sign | (b - 0x38000000) >> 13);
}

/* sRGB to linear, as halves: recorded on an H200. */
static const uint16_t srgb[256] = {
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
        0x3bd0, 0x3be0, 0x3bf0, 0x3c00,
};

/* ---- texels ---- */

/* Unpack the texel at p: u always (sign-extended for signed formats), f where the texture gives floats. Channels that the
 * texture lacks read as 0. */
static void
unpack(const struct cw_texture *t, const cw_texel_byte *p, struct texel *out)
{
    TEX_ROLLED
    for (unsigned c = 0; c < 4; c++) {
        uint32_t u = 0;
        float f = 0;
        if (c < t->channels) {
            switch (t->format) {
            case CWB_FORMAT_U8:
                u = tex_load(p + c, 1);
                f = t->srgb && c < 3 ? cwh_half_to_float(srgb[u]) : tex_ratio((float)u, 255.0f);
                break;
            case CWB_FORMAT_S8:
                u = (uint32_t)(int8_t)tex_load(p + c, 1);
                f = fmaxf(tex_ratio((float)(int32_t)u, 127.0f), -1.0f);
                break;
            case CWB_FORMAT_U16:
                u = tex_load(p + 2 * c, 2);
                f = tex_ratio((float)u, 65535.0f);
                break;
            case CWB_FORMAT_S16:
                u = (uint32_t)(int16_t)tex_load(p + 2 * c, 2);
                f = fmaxf(tex_ratio((float)(int32_t)u, 32767.0f), -1.0f);
                break;
            case CWB_FORMAT_F16:
                f = cwh_half_to_float((uint16_t)tex_load(p + 2 * c, 2));
                memcpy(&u, &f, 4);
                break;
            case CWB_FORMAT_F32:
                u = tex_load(p + 4 * c, 4);
                f = tex_float(u);
                break;
            default:
                u = tex_load(p + 4 * c, 4);
                break;
            }
        }
        out->u[c] = u;
        out->f[c] = f;
    }
}

/* The border colour: cut to a half for 8 bits and halves, rounded to the format's steps, halves of them to zero; integer reads see the low bits of the word. */
static void
border(const struct cw_texture *t, struct texel *out)
{
    static const float top[] = { 255, 65535, 0, 127, 32767, 0, 0, 0 };
    static const uint8_t bits[] = { 8, 16, 32, 8, 16, 32, 32, 32 };
    memset(out, 0, sizeof *out);
    TEX_ROLLED
    for (unsigned c = 0; c < t->channels; c++) {
        float v = t->border[c], m = top[t->format];
        uint32_t u;
        memcpy(&u, &v, 4);
        if (t->bytes == 1 || t->format == CWB_FORMAT_F16)
            v = cwh_half_to_float(cwh_float_to_half_rz(v));
        unsigned unused = 32 - bits[t->format];
        out->u[c] = t->format == CWB_FORMAT_S8 || t->format == CWB_FORMAT_S16 ? (uint32_t)((int32_t)(u << unused) >> unused) : u << unused >> unused;
        if (m) {
            v = fminf(fmaxf(v, t->format == CWB_FORMAT_S8 || t->format == CWB_FORMAT_S16 ? -1.0f : 0.0f), 1.0f);
            float code = copysignf(ceilf(fabsf(v) * m - 0.5f), v);
            v = code / m;
            if (t->as_float)
                out->u[c] = (uint32_t)(int32_t)code;
        }
        out->f[c] = v;
    }
}

/* Both within 32 bits: addresses wrap around where coordinates are normalized, and these were brought near to the texture. */
static int64_t
floor_mod(int64_t i, int64_t n)
{
    if ((uint64_t)i < (uint64_t)n)
        return i;
    int32_t r = (int32_t)i % (int32_t)n;
    return r < 0 ? r + n : r;
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

TEX_OUTLINED void
cwh_texel_at(const struct cw_texture *t, const struct cw_level *l, const int64_t i[3], bool z_is_layer, struct texel *out)
{
    if (t->linear_memory && (i[0] < 0 || i[0] >= l->width)) {
        memset(out, 0, sizeof *out);
        return;
    }
    int64_t x = address(t->address[0], i[0], l->width), y = address(t->address[1], i[1], l->height);
    int64_t z = z_is_layer ? i[2] : address(t->address[2], i[2], l->depth);
    if (x < 0 || y < 0 || z < 0) {
        border(t, out);
        return;
    }
    unpack(t, l->base + (size_t)z * l->slice + (size_t)y * l->pitch + (size_t)x * t->element, out);
}

/* ---- positions ---- */

/* Where texel units of 1/256 begin to make no difference any more, and fit every computation. */
#define FAR_AWAY 1e9

/* A position in texels of one dimension, exact. Normalized coordinates keep 21 bits of fraction. */
static double
position(const struct cw_texture *t, float p, unsigned d, uint32_t size, bool cube)
{
    if (p != p || fabsf(p) < 0x1p-126f)
        return 0;
    if (!t->normalized && !cube)
        return fmin(fmax((double)p, -FAR_AWAY), FAR_AWAY);
    enum cwb_address mode = cube ? CWB_ADDRESS_CLAMP : (enum cwb_address)t->address[d];
    double x = floor((double)p * 0x1p21) * 0x1p-21;
    if (mode == CWB_ADDRESS_WRAP || mode == CWB_ADDRESS_MIRROR) {
        double period = mode == CWB_ADDRESS_WRAP ? 1 : 2;
        x = isinf(x) ? 0 : x - floor(x / period) * period;
    }
    return fmin(fmax(x, -FAR_AWAY), FAR_AWAY) * size;
}

/* Texel and 8-bit fraction of the next, for linear filtering. */
struct axis {
    int64_t  i;
    uint32_t w;
};

static struct axis
axis_linear(double p, int32_t offset, uint32_t size, bool clamped)
{
    int64_t q = (int64_t)floor(p * 256 - 127.5) + (int64_t)offset * 256;
    if (clamped) {              /* to the middle of the outermost texels */
        int64_t last = ((int64_t)size - 1) * 256;
        q = q < 0 ? 0 : q > last ? last : q;
    }
    return (struct axis){ q >> 8, (uint32_t)q & 255 };
}

/* ---- cube maps ---- */

/* The point of a cube with half edges of 1 that has these face coordinates, `major` along the face's axis. */
static void
cube_point(unsigned face, float s, float t, float major, float v[3])
{
    static const struct { int8_t axis[3], sign[3]; } map[6] = {     /* of x, y, z: 0 major, 1 s, 2 t */
        { { 0, 2, 1 }, { 1, -1, -1 } }, { { 0, 2, 1 }, { -1, -1, 1 } }, { { 1, 0, 2 }, { 1, 1, 1 } },
        { { 1, 0, 2 }, { 1, -1, -1 } }, { { 1, 2, 0 }, { 1, -1, 1 } }, { { 1, 2, 0 }, { -1, -1, -1 } },
    };
    const float c[3] = { major, s, t };
    for (unsigned i = 0; i < 3; i++)
        v[i] = c[map[face].axis[i]] * (float)map[face].sign[i];
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

/* A texel of a face; beyond its edges that of the neighbour. False in the corners, where there is none. */
static bool
cube_texel(const struct cw_texture *t, const struct cw_level *l, int64_t layer, unsigned face, int64_t x, int64_t y, struct texel *out)
{
    int64_t n = l->width;
    bool ox = x < 0 || x >= n, oy = y < 0 || y >= n;
    if (ox && oy)
        return false;
    if (ox || oy) {
        float step = 1.0f / (float)n, s = (float)(2 * x + 1) * step - 1, u = (float)(2 * y + 1) * step - 1, v[3], st[2];
        if (ox)
            s = x < 0 ? -1.0f : 1.0f;
        else
            u = y < 0 ? -1.0f : 1.0f;
        cube_point(face, s, u, 1 - step, v);
        face = cwh_cube_face(v, st);
        x = (int64_t)(st[0] * (float)n);
        y = (int64_t)(st[1] * (float)n);
        x = x >= n ? n - 1 : x;
        y = y >= n ? n - 1 : y;
    }
    const int64_t i[3] = { x, y, layer + face };
    cwh_texel_at(t, l, i, true, out);
    return true;
}

/* ---- weights ---- */

enum { MAX_QUADS = 4 };         /* two slices of two levels */

/* Four texels of a slice and their weights in 1/256. */
struct quad {
    struct texel t[4];
    uint32_t w[4];
};

static uint32_t
share(uint32_t part, uint32_t whole)
{
    return (part * whole + 128) >> 8;
}

/* Deal out `total` among x and y. What is rounded up on one side is rounded down on the other. */
static void
deal(uint32_t total, uint32_t wx, uint32_t wy, uint32_t w[4])
{
    uint32_t e = share(wx, total);
    w[3] = share(e, wy);
    w[2] = ((total - e) * wy + 127) >> 8;
    w[1] = e - w[3];
    w[0] = total - e - w[2];
}

/* The quads of one level, whose weights add up to `total`. Returns how many. */
static unsigned
level_quads(const struct cw_texture *t, const struct cw_level *l, const struct tex_place *at, uint32_t total, struct quad *q)
{
    const uint32_t size[3] = { l->width, l->height, l->depth };
    struct axis a[3] = { { 0, 0 } };
    unsigned dims = at->dims;
    bool seamless = at->cube && t->seamless;
    TEX_ROLLED
    for (unsigned d = 0; d < dims; d++) {
        double p = position(t, at->p[d], d, size[d], at->cube);
        if (t->linear)
            a[d] = axis_linear(p, at->offset[d], size[d], at->cube ? !seamless : t->address[d] == CWB_ADDRESS_CLAMP);
        else
            a[d] = (struct axis){ (int64_t)floor(p) + at->offset[d], 0 };
        if (!t->linear && at->cube)
            a[d].i = address(CWB_ADDRESS_CLAMP, a[d].i, size[d]);
    }
    /* A 1D texture is a 2D one that is read at the upper edge of its only row. */
    if (dims == 1 && t->linear && t->address[1] == CWB_ADDRESS_BORDER)
        a[1] = (struct axis){ -1, 128 };
    unsigned n = dims == 3 && a[2].w ? 2 : 1;
    TEX_ROLLED
    for (unsigned k = 0; k < n; k++) {
        uint32_t z = dims == 3 ? share(a[2].w, total) : 0;
        deal(k ? z : total - z, a[0].w, a[1].w, q[k].w);
        unsigned missing = 4;
        TEX_ROLLED
        for (unsigned c = 0; c < 4; c++) {
            const int64_t i[3] = { a[0].i + (c & 1), a[1].i + (c >> 1), dims == 3 ? a[2].i + k : at->layer + at->face };
            if (!q[k].w[c] && t->linear)
                memset(&q[k].t[c], 0, sizeof q[k].t[c]);
            else if (!seamless)
                cwh_texel_at(t, l, i, dims < 3, &q[k].t[c]);
            else if (!cube_texel(t, l, at->layer, at->face, i[0], i[1], &q[k].t[c]))
                missing = c;
            if (!t->linear)
                break;          /* the others weigh nothing */
        }
        if (missing < 4) {      /* three faces meet: the three texels share its weight */
            uint32_t third = (q[k].w[missing] + 1) / 3, rest = q[k].w[missing] - 2 * third;
            memset(&q[k].t[missing], 0, sizeof q[k].t[missing]);
            q[k].w[missing] = 0;
            TEX_ROLLED
            for (unsigned c = 0; c < 4; c++)
                if (c != missing)
                    q[k].w[c] += c == 3 - missing ? rest : third;
            /* texels that had no weight before were not read */
            TEX_ROLLED
            for (unsigned c = 0; c < 4; c++)
                if (c != missing)
                    (void)cube_texel(t, l, at->layer, at->face, a[0].i + (c & 1), a[1].i + (c >> 1), &q[k].t[c]);
        }
    }
    return n;
}

/* ---- sums ---- */

/* Of a normal number. */
static int
exponent(double v)
{
    return (int)(tex_double_bits(v) >> 52 & 2047) - 1023;
}

/* Round to `bits` fraction bits, halves away from zero; results below the normal floats are zero. */
static float
rounded(double v, int bits)
{
    double a = fabs(v);
    if (a == 0 || a < 0x1p-126)
        return 0;
    double unit = tex_power(exponent(a) - bits);
    return (float)copysign(floor(a / unit + 0.5) * unit, v);
}

/* Floats: the texels of a slice are aligned to the largest of them, four bits below the format's last being kept. */
static float
blend_float(const struct quad *q, unsigned nquads, unsigned c, int fraction)
{
    double sum = 0;
    bool negative = true;
    TEX_ROLLED
    for (unsigned k = 0; k < nquads; k++) {
        int top = INT_MIN;
        float special = 0;
        TEX_ROLLED
        for (unsigned i = 0; i < 4; i++) {
            float v = q[k].t[i].f[c];
            if (!q[k].w[i])
                continue;
            negative &= signbit(v) != 0;
            if (!isfinite(v))
                special += v;
            else if (fabsf(v) >= 0x1p-126f)
                top = exponent(v) > top ? exponent(v) : top;
        }
        if (special != 0 || special != special) {
            sum += (double)special;
            continue;
        }
        if (top == INT_MIN)
            continue;
        double scale = tex_power(fraction + 4 - top), s = 0;
        TEX_ROLLED
        for (unsigned i = 0; i < 4; i++)
            if (q[k].w[i] && fabsf(q[k].t[i].f[c]) >= 0x1p-126f)
                s += trunc((double)q[k].t[i].f[c] * scale) * q[k].w[i];
        sum += s / scale / 256;
    }
    if (sum != sum) {
        static const uint32_t nan16 = 0x7fffe000, nan32 = 0x7fffffff;
        float f;
        memcpy(&f, fraction == 10 ? &nan16 : &nan32, 4);
        return f;
    }
    if (sum == 0)
        return negative ? -0.0f : 0.0f;
    return isinf(sum) ? (float)sum : rounded(sum, fraction);
}

static void
blend(const struct cw_texture *t, const struct quad *q, unsigned nquads, struct texel *out)
{
    memset(out, 0, sizeof *out);
    TEX_ROLLED
    for (unsigned c = 0; c < t->channels; c++) {
        bool is_signed = t->format == CWB_FORMAT_S8 || t->format == CWB_FORMAT_S16 || t->format == CWB_FORMAT_S32;
        if (t->format == CWB_FORMAT_F32 || t->format == CWB_FORMAT_F16 || (t->srgb && c < 3)) {
            out->f[c] = blend_float(q, nquads, c, t->format == CWB_FORMAT_F32 ? 23 : 10);
            continue;
        }
        int64_t sum = 0;
        TEX_ROLLED
        for (unsigned k = 0; k < nquads; k++) {
            TEX_ROLLED
            for (unsigned i = 0; i < 4; i++) {
                if (!q[k].w[i])
                    continue;
                int64_t v = is_signed ? (int64_t)(int32_t)q[k].t[i].u[c] : (int64_t)q[k].t[i].u[c];
                sum += v * q[k].w[i];
            }
        }
        if (!t->as_float) {     /* 32-bit integers are cut, the others rounded */
            out->u[c] = (uint32_t)((t->format == CWB_FORMAT_U32 || t->format == CWB_FORMAT_S32 ? sum : sum + 128) >> 8);
            continue;
        }
        /* Scaled integers are filtered with 16 bits. */
        switch (t->format) {
        case CWB_FORMAT_U8:
            out->f[c] = tex_ratio((float)((sum * 257 + 128) >> 8), 65535.0f);
            break;
        case CWB_FORMAT_U16:
            out->f[c] = tex_ratio((float)((sum + 128) >> 8), 65535.0f);
            break;
        case CWB_FORMAT_S16:
            out->f[c] = fmaxf(tex_ratio((float)((sum + 128) >> 8), 32767.0f), -1.0f);
            break;
        default:                /* times 32767 / 127, nearly */
            sum += (sum + 64 + (sum >> 12) * 16) >> 7;
            out->f[c] = fmaxf(tex_ratio((float)sum, 32767.0f), -1.0f);
            break;
        }
    }
}

/* ---- samples ---- */

static int32_t
fixed_lod(float v)
{
    return v != v ? 0 : (int32_t)(fminf(fmaxf(v, -1e5f), 1e5f) * 256.0f);
}

void
cwh_tex_sample(const struct cw_texture *t, const struct tex_place *at, int32_t lod, bool biased, struct texel *out)
{
    int32_t last = ((int32_t)t->nlevels - 1) * 256, low = fixed_lod(t->min_level), high = fixed_lod(t->max_level);
    uint32_t level = 0, w = 0;
    if (last) {
        lod += biased ? fixed_lod(t->mip_bias) : 0;
        lod = lod < low ? low : lod;
        lod = lod > high ? high : lod;
        lod = lod < 0 ? 0 : lod > last ? last : lod;
        level = (uint32_t)(t->mip_linear ? lod >> 8 : (lod + 128) >> 8);
        w = t->mip_linear ? (uint32_t)lod & 255 : 0;
    }
    struct quad q[MAX_QUADS];
    unsigned n = level_quads(t, &t->level[level], at, 256 - w, q);
    if (w)
        n += level_quads(t, &t->level[level + 1], at, w, q + n);
    if (n == 1 && !t->linear)
        *out = q[0].t[0];
    else
        blend(t, q, n, out);
}

void
cwh_tex_footprint(const struct cw_texture *t, const struct tex_place *at, struct texel out[4])
{
    const struct cw_level *l = &t->level[0];
    int64_t b[2];
    for (unsigned d = 0; d < 2; d++)
        b[d] = (int64_t)floor(position(t, at->p[d], d, d ? l->height : l->width, at->cube) * 256 - 127.5) >> 8;
    TEX_ROLLED
    for (unsigned c = 0; c < 4; c++) {
        int64_t i[3] = { b[0] + (c & 1) + at->offset[0], b[1] + (c >> 1) + at->offset[1], at->layer + at->face };
        if (at->cube && t->seamless && cube_texel(t, l, at->layer, at->face, i[0], i[1], &out[c]))
            continue;
        for (unsigned d = 0; d < 2 && at->cube; d++)
            i[d] = address(CWB_ADDRESS_CLAMP, i[d], l->width);
        cwh_texel_at(t, l, i, true, &out[c]);
    }
}
