/* SPDX-License-Identifier: Apache-2.0
 * Texture sampling against a plain reference: double arithmetic straight from the formulas of the CUDA C++ Programming
 * Guide ("Texture Fetching"), one lane at a time, for every format, channel count, filter, address mode and coordinate
 * kind; surfaces, queries, gathers, layers and mip levels against closed forms. */
#define _GNU_SOURCE
#include "impl/host/exec.h"
#include "jit/builtins/core/tex_math.h"
#include "impl/host/texture.h"
#include "jit/ptx/ir.h"
#include "tests/host/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Run one instruction for a gang of 32 through the engine. */
static struct cwh_tex insn;

static void
run_insn(struct cwh_gang *g)
{
    cwh_rt_tex(g, &insn);
}

static uint64_t handles[32];
static uint32_t coord[4 * 32], extra[12 * 32], result[8 * 32];

static struct cwh_exec_launch
execute(uint16_t op, uint8_t geom, ptx_type ct, ptx_type rt, uint8_t vec, uint64_t handle)
{
    for (int i = 0; i < 32; i++)
        handles[i] = handle;
    insn.width = 32;
    insn.op = op;
    insn.geom = geom;
    insn.coord_type = (uint8_t)ct;
    insn.result_type = (uint8_t)rt;
    insn.vec = vec;
    if (!insn.mask)
        insn.mask = 0xffffffff;
    insn.texture = handles;
    insn.coord = coord;
    insn.extra = extra;
    insn.result = result;
    struct cwh_exec_launch l;
    memset(&l, 0, sizeof l);
    for (int i = 0; i < 3; i++)
        l.abi.grid[i] = l.abi.block[i] = 1;
    l.abi.block[0] = 32;
    l.run = run_insn;
    l.info.width = 32;
    l.kernel = "tex";
    cwh_exec_run(&l);
    insn.mask = 0;
    return l;
}

static float
bits_float(uint32_t b)
{
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static uint32_t
float_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

/* ---- the reference ---- */

enum { W = 13, H = 7 };

struct image {
    enum cwb_format format;
    unsigned channels;
    double value[H][W][4];      /* as stored: integers, or floats */
};

static double
scale_of(enum cwb_format f)
{
    switch (f) {
    case CWB_FORMAT_U8: return 255;
    case CWB_FORMAT_S8: return 127;
    case CWB_FORMAT_U16: return 65535;
    case CWB_FORMAT_S16: return 32767;
    default: return 1;
    }
}

static long
wrap_index(enum cwb_address mode, bool normalized, long i, long n)
{
    if (mode == CWB_ADDRESS_BORDER)
        return i >= 0 && i < n ? i : -1;
    if (mode == CWB_ADDRESS_CLAMP || !normalized)
        return i < 0 ? 0 : i > n - 1 ? n - 1 : i;
    if (mode == CWB_ADDRESS_WRAP)
        return ((i % n) + n) % n;
    while (i < 0 || i >= n)
        i = i < 0 ? -i - 1 : 2 * n - 1 - i;
    return i;
}

struct expected {
    double v[4];
};

/* A positive number with 11 significant bits, the others cut off. */
static double
cut(double v)
{
    int e;
    double m = frexp(v, &e);
    return ldexp(floor(m * 2048), e - 11);
}

static double
stored(const struct image *im, const struct cwb_texture_desc *d, long x, long y, unsigned c, bool as_float, bool filter)
{
    x = wrap_index(d->address_mode[0], d->normalized, x, W);
    y = wrap_index(d->address_mode[1], d->normalized, y, H);
    if (x < 0 || y < 0) {
        /* Observed on hardware: with 8 bits and halves the border is cut to a half, scaled formats round it to their steps,
         * halves down; integers get the word's low bits. */
        uint32_t word = float_bits(d->border[c]);
        bool halves = im->format == CWB_FORMAT_F16 || im->format == CWB_FORMAT_U8 || im->format == CWB_FORMAT_S8;
        double b = halves ? cut(d->border[c]) : (double)d->border[c];
        if (im->format >= CWB_FORMAT_F16)
            return b;
        if (as_float)
            return ceil((b > 1 ? 1 : b) * scale_of(im->format) - 0.5) / scale_of(im->format);
        switch (im->format) {
        case CWB_FORMAT_U8: return (uint8_t)word;
        case CWB_FORMAT_S8: return (int8_t)word;
        case CWB_FORMAT_U16: return (uint16_t)word;
        case CWB_FORMAT_S16: return (int16_t)word;
        case CWB_FORMAT_U32: return word;
        default: return (int32_t)word;
        }
    }
    double v = im->value[y][x][c];
    if (!as_float || im->format >= CWB_FORMAT_F16)
        return v;
    v /= scale_of(im->format);
    return v < -1 && !filter ? -1 : v;      /* filtered first, then cut off */
}

static struct expected
reference(const struct image *im, const struct cwb_texture_desc *d, float fx, float fy, bool as_float, bool filter)
{
    struct expected e = { { 0, 0, 0, 0 } };
    /* Observed on hardware: normalized coordinates are cut to 21 fraction bits, the rest is exact. */
    double x = d->normalized ? floor((double)fx * 0x1p21) * 0x1p-21 * W : (double)fx;
    double y = d->normalized ? floor((double)fy * 0x1p21) * 0x1p-21 * H : (double)fy;
    for (unsigned c = 0; c < im->channels; c++) {
        if (!filter) {
            e.v[c] = stored(im, d, (long)floor(x), (long)floor(y), c, as_float, false);
            continue;
        }
        /* Fractions and weights have 8 bits, halves rounded up; the weights add up to 1. */
        double xb = floor((x - 0.5) * 256 + 0.5) / 256, yb = floor((y - 0.5) * 256 + 0.5) / 256;
        long i = (long)floor(xb), j = (long)floor(yb);
        double a = xb - (double)i, b = yb - (double)j, ab = floor(a * b * 256 + 0.5) / 256;
        e.v[c] = (1 - a - b + ab) * stored(im, d, i, j, c, as_float, true) + (a - ab) * stored(im, d, i + 1, j, c, as_float, true) +
                 (b - ab) * stored(im, d, i, j + 1, c, as_float, true) + ab * stored(im, d, i + 1, j + 1, c, as_float, true);
        if (as_float && im->format < CWB_FORMAT_F16 && e.v[c] < -1)
            e.v[c] = -1;
        if (!as_float)          /* 32-bit integers are cut */
            e.v[c] = floor(im->format == CWB_FORMAT_U32 || im->format == CWB_FORMAT_S32 ? e.v[c] : e.v[c] + 0.5);
    }
    return e;
}

static uint32_t
rnd(void)
{
    static uint64_t s = 88172645463325252ull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 16);
}

static struct cw_array *
fill_array(struct image *im, unsigned bytes)
{
    struct cwb_array_desc ad = { .width = W, .height = H, .format = im->format, .channels = im->channels, .levels = 1 };
    struct cw_array *a = NULL;
    CHECK(cwh_array_create(&ad, &a) == CWB_OK);
    for (unsigned y = 0; y < H; y++) {
        for (unsigned x = 0; x < W; x++) {
            for (unsigned c = 0; c < im->channels; c++) {
                uint8_t *p = a->level[0].base + y * a->level[0].pitch + (x * im->channels + c) * bytes;
                uint32_t r = rnd();
                switch (im->format) {
                case CWB_FORMAT_U8: *p = (uint8_t)r; im->value[y][x][c] = *p; break;
                case CWB_FORMAT_S8: *p = (uint8_t)r; im->value[y][x][c] = (int8_t)*p; break;
                case CWB_FORMAT_U16: *(uint16_t *)(void *)p = (uint16_t)r; im->value[y][x][c] = (uint16_t)r; break;
                case CWB_FORMAT_S16: *(int16_t *)(void *)p = (int16_t)r; im->value[y][x][c] = (int16_t)r; break;
                case CWB_FORMAT_U32: *(uint32_t *)(void *)p = r; im->value[y][x][c] = r; break;
                case CWB_FORMAT_S32: *(int32_t *)(void *)p = (int32_t)r; im->value[y][x][c] = (int32_t)r; break;
                case CWB_FORMAT_F32: {
                    float f = (float)(int32_t)r / 1e7f;
                    memcpy(p, &f, 4);
                    im->value[y][x][c] = f;
                    break;
                }
                case CWB_FORMAT_F16: {      /* 10 bits of fraction, exponent of 1..2: 1 + m / 1024 */
                    *(uint16_t *)(void *)p = (uint16_t)(0x3c00 | (r & 0x3ff));
                    im->value[y][x][c] = 1 + (r & 0x3ff) / 1024.0;
                    break;
                }
                }
            }
        }
    }
    return a;
}

static const char *const formats[] = { "u8", "u16", "u32", "s8", "s16", "s32", "f16", "f32" };
static const uint8_t format_bytes[] = { 1, 2, 4, 1, 2, 4, 2, 4 };

static void
compare(const struct image *im, const struct cwb_texture_desc *d, uint64_t handle, bool pitched)
{
    bool wide = format_bytes[im->format] == 4, real = im->format >= CWB_FORMAT_F16;
    bool as_float = real || (!d->read_as_integer && !wide), filter = d->linear;
    for (int round = 0; round < 4; round++) {
        bool ints = round == 3 && !d->normalized;
        for (int i = 0; i < 32; i++) {
            for (int k = 0; k < 2; k++) {
                int n = k ? H : W;
                /* Random places, texel edges and centres, and places far out. */
                float v = round == 0 ? (float)(rnd() % 10000) / 10000.0f * (float)(n + 8) - 4 : (float)((int)(rnd() % (4 * (unsigned)n)) - n) / 2;
                if (round == 2 && i < 4)
                    v = (i & 1 ? -1.0f : 1.0f) * (i & 2 ? 1e6f : 300.0f);
                if (d->normalized)
                    v /= (float)n;
                coord[k * 32 + i] = ints ? (uint32_t)((int)(rnd() % (3 * (unsigned)n)) - n) : float_bits(v);
            }
        }
        struct cwh_exec_launch l = execute(PTX_OP_TEX, PTX_GEOM_2D, ints ? PTX_S32 : PTX_F32, as_float ? PTX_F32 : PTX_U32, 4, handle);
        CHECK(l.result == CWB_OK, "%s", l.message);
        for (int i = 0; i < 32; i++) {
            float x = ints ? (float)(int)coord[i] : bits_float(coord[i]), y = ints ? (float)(int)coord[32 + i] : bits_float(coord[32 + i]);
            struct expected e = reference(im, d, x, y, as_float, filter && !ints);
            if (ints && (x < 0 || x >= W || y < 0 || y >= H))   /* no address modes: zero, as observed */
                memset(&e, 0, sizeof e);
            for (int c = 0; c < 4; c++) {
                uint32_t r = result[c * 32 + i];
                double got = as_float ? (double)bits_float(r) : im->format == CWB_FORMAT_U32 ? (double)r : (double)(int32_t)r;
                /* Half a step of what filtered results are rounded to: 16 bits, halves, floats. */
                static const double steps[] = { 7.8e-6, 7.8e-6, 0, 2e-5, 1.6e-5, 0, 9.8e-4, 2e-4 };
                double tolerance = as_float ? (filter || im->format == CWB_FORMAT_F32 ? steps[im->format] : 1e-6) : 0;
                if (fabs(got - e.v[c]) > tolerance) {
                    CHECK(0, "%s x%u %s %s %s mode %d at (%g, %g) channel %d: %.9g, not %.9g%s", formats[im->format], im->channels,
                          d->linear ? "linear" : "point", d->normalized ? "normalized" : "", d->read_as_integer ? "integer" : "",
                          d->address_mode[0], (double)x, (double)y, c, got, e.v[c], pitched ? " (pitched)" : "");
                    return;
                }
            }
        }
    }
}

static void
test_formats(void)
{
    for (int f = 0; f < 8; f++) {
        for (unsigned channels = 1; channels <= 4; channels *= 2) {
            struct image im = { .format = (enum cwb_format)f, .channels = channels };
            struct cw_array *a = fill_array(&im, format_bytes[f]);
            for (int bits = 0; bits < 64; bits++) {
                struct cwb_texture_desc d = { .kind = CWB_TEX_ARRAY, .array = (struct cwb_array *)(void *)a, .format = im.format, .channels = channels,
                                              .linear = bits & 1, .normalized = bits & 2, .read_as_integer = bits & 4,
                                              .border = { 0.5f, 3, 0.30001f, 0.7001f } };
                bool pitched = bits & 32;
                for (int k = 0; k < 3; k++)
                    d.address_mode[k] = (enum cwb_address)(bits >> 3 & 3);
                if (pitched) {
                    d.kind = CWB_TEX_PITCH2D;
                    d.address = (uintptr_t)a->level[0].base;
                    d.width = W;
                    d.height = H;
                    d.pitch = a->level[0].pitch;
                }
                struct cw_texture *t = NULL;
                CHECK(cwh_texture_create(&d, &t) == CWB_OK);
                compare(&im, &d, t->handle, pitched);
                cwh_texobj_free(t);
            }
            cwh_array_destroy(a);
        }
    }
}

/* ---- the other kinds ---- */

static void
test_linear_memory(void)
{
    uint16_t data[100];
    for (int i = 0; i < 100; i++)
        data[i] = (uint16_t)(i * 7);
    struct cwb_texture_desc d = { .kind = CWB_TEX_LINEAR, .address = (uintptr_t)data, .size = sizeof data, .format = CWB_FORMAT_U16, .channels = 2,
                                  .read_as_integer = true };
    struct cw_texture *t;
    CHECK(cwh_texture_create(&d, &t) == CWB_OK);
    for (int i = 0; i < 32; i++)
        coord[i] = (uint32_t)(i * 2 - 4);
    insn.mask = 0xfffffffe;
    result[0] = 99;
    struct cwh_exec_launch l = execute(PTX_OP_TEX, PTX_GEOM_1D, PTX_S32, PTX_U32, 4, t->handle);
    CHECK(l.result == CWB_OK && result[0] == 99, "%s", l.message);
    for (int i = 1; i < 32; i++) {
        int at = i * 2 - 4;
        bool in = at >= 0 && at < 50;
        CHECK(result[i] == (in ? (uint32_t)at * 14 : 0) && result[32 + i] == (in ? (uint32_t)at * 14 + 7 : 0), "at %d: %u %u", at, result[i], result[32 + i]);
    }
    cwh_texobj_free(t);
    l = execute(PTX_OP_TEX, PTX_GEOM_1D, PTX_S32, PTX_U32, 4, 0x123456789);
    CHECK(l.result == CWB_ILLEGAL_ADDRESS && strstr(l.message, "not a texture object"), "%s", l.message);
}

/* Texel value = 100 * level + 10 * layer + x: layers, levels, mip interpolation, queries and gathers. */
static void
test_layers_and_levels(void)
{
    struct cwb_array_desc ad = { .width = 8, .height = 4, .depth = 3, .format = CWB_FORMAT_F32, .channels = 1, .levels = 3, .flags = CWB_ARRAY_LAYERED };
    struct cw_array *a;
    CHECK(cwh_array_create(&ad, &a) == CWB_OK);
    for (unsigned v = 0; v < 3; v++)
        for (unsigned z = 0; z < 3; z++)
            for (unsigned y = 0; y < 4u >> v; y++)
                for (unsigned x = 0; x < 8u >> v; x++) {
                    float f = (float)(100 * v + 10 * z + x);
                    memcpy(a->level[v].base + z * a->level[v].slice + y * a->level[v].pitch + 4 * x, &f, 4);
                }
    struct cwb_texture_desc d = { .kind = CWB_TEX_ARRAY, .array = (struct cwb_array *)(void *)a, .format = CWB_FORMAT_F32, .channels = 1,
                                  .normalized = true, .mip_linear = true, .max_level = 10, .address_mode = { CWB_ADDRESS_CLAMP, CWB_ADDRESS_CLAMP } };
    struct cw_texture *t;
    CHECK(cwh_texture_create(&d, &t) == CWB_OK);
    for (int i = 0; i < 32; i++) {
        coord[i] = (uint32_t)(i % 5);               /* layer; 3 and 4 are clamped to 2 */
        coord[32 + i] = float_bits(0.3f);           /* texel 2, 1, 0 of levels 0, 1, 2 */
        coord[64 + i] = float_bits(0.6f);
        extra[i] = float_bits((float)i / 8);
    }
    insn.flags = 1;
    struct cwh_exec_launch l = execute(PTX_OP_TEX, PTX_GEOM_A2D, PTX_F32, PTX_F32, 4, t->handle);
    CHECK(l.result == CWB_OK, "%s", l.message);
    for (int i = 0; i < 32; i++) {
        double level = i / 8.0 < 2 ? i / 8.0 : 2, lo = floor(level);
        double layer = i % 5 < 3 ? i % 5 : 2;
        double v0 = 100 * lo + (2 - lo), v1 = 100 * (lo + 1) + (2 - lo - 1), v = 10 * layer + v0 + (level - lo) * (v1 - v0);
        CHECK(fabs((double)bits_float(result[i]) - v) < 1e-4, "lane %d: %g, not %g", i, (double)bits_float(result[i]), v);
    }
    insn.flags = 0;
    static const struct { uint8_t query; uint32_t value; } queries[] = {
        { PTX_QUERY_WIDTH, 8 }, { PTX_QUERY_HEIGHT, 4 }, { PTX_QUERY_ARRAY_SIZE, 3 }, { PTX_QUERY_NUM_MIPMAP_LEVELS, 3 },
        { PTX_QUERY_NORMALIZED_COORDS, 1 },
    };
    for (int i = 0; i < 5; i++) {
        insn.mode = queries[i].query;
        l = execute(PTX_OP_TXQ, PTX_GEOM_NONE, PTX_S32, PTX_B32, 1, t->handle);
        CHECK(l.result == CWB_OK && result[7] == queries[i].value, "query %u: %u", queries[i].query, result[7]);
    }
    insn.mode = 0;
    cwh_texobj_free(t);
    cwh_array_destroy(a);
}

static void
test_gather_and_3d(void)
{
    struct cwb_array_desc ad = { .width = 4, .height = 4, .depth = 4, .format = CWB_FORMAT_F32, .channels = 1, .levels = 1 };
    struct cw_array *a;
    CHECK(cwh_array_create(&ad, &a) == CWB_OK);
    for (unsigned z = 0; z < 4; z++)
        for (unsigned y = 0; y < 4; y++)
            for (unsigned x = 0; x < 4; x++) {
                float f = (float)(x + 10 * y + 100 * z);
                memcpy(a->level[0].base + z * a->level[0].slice + y * a->level[0].pitch + 4 * x, &f, 4);
            }
    struct cwb_texture_desc d = { .kind = CWB_TEX_ARRAY, .array = (struct cwb_array *)(void *)a, .format = CWB_FORMAT_F32, .channels = 1, .linear = true,
                                  .address_mode = { CWB_ADDRESS_CLAMP, CWB_ADDRESS_CLAMP, CWB_ADDRESS_CLAMP } };
    struct cw_texture *t;
    CHECK(cwh_texture_create(&d, &t) == CWB_OK);
    for (int i = 0; i < 32; i++) {
        coord[i] = float_bits(1.5f + (float)i / 64);
        coord[32 + i] = float_bits(1.75f);
        coord[64 + i] = float_bits(2.25f);
    }
    struct cwh_exec_launch l = execute(PTX_OP_TEX, PTX_GEOM_3D, PTX_F32, PTX_F32, 1, t->handle);
    CHECK(l.result == CWB_OK, "%s", l.message);
    for (int i = 0; i < 32; i++)        /* the field is linear: value = (x - 0.5) + 10 (y - 0.5) + 100 (z - 0.5) */
        CHECK(fabs((double)bits_float(result[i]) - (1 + i / 64.0 + 12.5 + 175)) < 1e-4, "lane %d: %g", i, (double)bits_float(result[i]));
    coord[0] = float_bits(2.0f);
    coord[32] = float_bits(3.0f);
    l = execute(PTX_OP_TLD4, PTX_GEOM_2D, PTX_F32, PTX_F32, 4, t->handle);
    CHECK(l.result == CWB_OK && bits_float(result[0]) == 31 && bits_float(result[32]) == 32 && bits_float(result[64]) == 22 &&
          bits_float(result[96]) == 21, "%g %g %g %g", (double)bits_float(result[0]), (double)bits_float(result[32]),
          (double)bits_float(result[64]), (double)bits_float(result[96]));
    cwh_texobj_free(t);
    cwh_array_destroy(a);
}

static void
test_surfaces(void)
{
    struct cwb_array_desc ad = { .width = 6, .height = 5, .format = CWB_FORMAT_U16, .channels = 4, .levels = 1, .flags = CWB_ARRAY_SURFACE };
    struct cw_array *a;
    struct cw_texture *s;
    CHECK(cwh_array_create(&ad, &a) == CWB_OK && cwh_surface_create(a, 0, &s) == CWB_OK);
    /* One 64-bit store a texel: 30 texels, lanes 30 and 31 are outside and dropped. */
    for (uint32_t i = 0; i < 32; i++) {
        coord[i] = i % 6 * 8;
        coord[32 + i] = i / 6;
        result[i] = i + 1;
        result[32 + i] = 1000 + i;
    }
    insn.mode = 2;
    struct cwh_exec_launch l = execute(PTX_OP_SUST, PTX_GEOM_2D, PTX_S32, PTX_B64, 1, s->handle);
    CHECK(l.result == CWB_OK, "%s", l.message);
    for (uint32_t i = 0; i < 30; i++) {
        uint16_t v[4];
        memcpy(v, a->level[0].base + i / 6 * a->level[0].pitch + i % 6 * 8, 8);
        CHECK(v[0] == i + 1 && v[1] == 0 && v[2] == 1000 + i && v[3] == 0, "texel %u", i);
    }
    memset(result, 0xff, sizeof result);
    l = execute(PTX_OP_SULD, PTX_GEOM_2D, PTX_S32, PTX_B16, 4, s->handle);
    CHECK(l.result == CWB_OK && result[29] == 30 && result[64 + 29] == 1029 && result[30] == 0 && result[64 + 31] == 0);
    insn.mode = 1;
    l = execute(PTX_OP_SULD, PTX_GEOM_2D, PTX_S32, PTX_B16, 4, s->handle);
    CHECK(l.result == CWB_OK && result[30] == 25 && result[31] == 26, "%u %u", result[30], result[31]);
    insn.mode = 0;
    l = execute(PTX_OP_SULD, PTX_GEOM_2D, PTX_S32, PTX_B16, 4, s->handle);
    CHECK(l.result == CWB_ILLEGAL_ADDRESS && strstr(l.message, "surface access outside"), "%s", l.message);
    cwh_texobj_free(s);
    cwh_array_destroy(a);
}

/* The division that AMD GPUs do, tried for all that they divide. */
static void
test_ratio(void)
{
    static const float by[] = { 127, 255, 32767, 65535 };
    unsigned wrong = 0;
    for (unsigned i = 0; i < 4; i++)
        for (int v = -65536; v <= 65536; v++) {
            float a = tex_ratio_short((float)v, by[i]), b = (float)v / by[i];
            wrong += memcmp(&a, &b, 4) != 0;
        }
    CHECK(wrong == 0);
}

int
main(void)
{
    test_ratio();
    test_formats();
    test_linear_memory();
    test_layers_and_levels();
    test_gather_and_3d();
    test_surfaces();
    return check_result();
}
