/* SPDX-License-Identifier: Apache-2.0
 * test_images ARCH CODE-OBJECT: the kernels of images.cl on the interpreter against texels and filters computed here.
 *
 * Resources and samplers are written down word by word from AMD's ISA documents (Vega, RDNA1 to RDNA4), not by the interpreter's own code. What
 * the documents leave open is assumed as docs/amd.md says: positions of linear filters are rounded to 1/256 of a texel. */
#include "tools/gfxemu/gfx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 13, HEIGHT = 7, DEPTH = 3, LANES = 64, MEMORY = 1 << 16 };
enum number { UNORM, SNORM, UINT, SINT, FLOAT, SRGB };

/* Numbers of formats: gfx9's data and number, gfx10's, gfx11's and later ones'. */
static const struct format {
    const char *name;
    unsigned channels, bits;
    enum number number;
    uint32_t data, num, gfx10, gfx11;
} formats[] = {
    { "8_UNORM", 1, 8, UNORM, 1, 0, 1, 1 }, { "8_8_8_8_UNORM", 4, 8, UNORM, 10, 0, 56, 42 }, { "8_8_8_8_SNORM", 4, 8, SNORM, 10, 1, 57, 43 },
    { "8_8_8_8_UINT", 4, 8, UINT, 10, 4, 60, 46 }, { "8_8_8_8_SRGB", 4, 8, SRGB, 10, 9, 130, 66 }, { "8_8_SINT", 2, 8, SINT, 3, 5, 19, 19 },
    { "16_16_UNORM", 2, 16, UNORM, 5, 0, 23, 23 }, { "16_SINT", 1, 16, SINT, 2, 5, 12, 12 }, { "16_16_16_16_FLOAT", 4, 16, FLOAT, 12, 7, 71, 57 },
    { "32_FLOAT", 1, 32, FLOAT, 4, 7, 22, 22 }, { "32_32_32_32_FLOAT", 4, 32, FLOAT, 14, 7, 77, 63 }, { "32_32_UINT", 2, 32, UINT, 11, 4, 62, 48 },
};

/* CLAMP_X and its like. */
enum clamp { WRAP = 0, MIRROR = 1, LAST_TEXEL = 2, BORDER = 6 };

static const struct gfx_target *target;
static const struct format *f;
static struct {
    enum clamp clamp;
    bool linear, normalized, truncate;
} s;
static uint8_t *texels, before[MEMORY];
static unsigned pitch, dims, failures, checks;    /* pitch: bytes */
static bool array;
static float at[LANES][4], data[LANES][4];
static uint32_t out[LANES][4], resource[8], sampler[4];

static uint32_t
rnd(void)
{
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------------------- */

static void
make_resource(void)
{
    uint64_t base = (uintptr_t)texels >> 8;
    uint32_t pitch_texels = pitch * 8 / (f->channels * f->bits), w = WIDTH - 1, h = dims == 1 ? 0 : HEIGHT - 1, d = DEPTH - 1;
    uint32_t type = dims == 1 ? 8 : dims == 3 ? 10 : array ? 13 : 9, select = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    bool deep = dims == 3 || array;
    if (f->channels < 4)                /* (R, G, 0, 1) */
        select = 4 | (f->channels > 1 ? 5 : 0) << 3 | 0 << 6 | 1 << 9;
    memset(resource, 0, sizeof resource);
    resource[0] = (uint32_t)base;
    resource[1] = (uint32_t)(base >> 32) & 0xff;
    resource[3] = select | type << 28;
    if (target->family < GFX10) {
        resource[1] |= f->data << 20 | f->num << 26;
        resource[2] = w | h << 14;
        resource[4] = (deep ? d : 0) | (pitch_texels - 1) << 13;
    } else {
        resource[1] |= target->family == GFX10 ? f->gfx10 << 20 : target->family == GFX11 ? f->gfx11 << 20 : f->gfx11 << 17;
        resource[1] |= (w & 3) << 30;
        resource[2] = w >> 2 | h << 14;
        resource[4] = deep ? d : strcmp(target->name, "gfx1010") ? pitch_texels - 1 : 0;
    }
}

static void
make_sampler(void)
{
    uint32_t c = s.clamp, filter = s.linear;
    sampler[0] = c | c << 3 | c << 6 | (uint32_t)!s.normalized << 15 | (uint32_t)s.truncate << 27;
    sampler[1] = 0xfff << 12;
    sampler[2] = filter << 20 | filter << 22;
    sampler[3] = 0;
}

/* A buffer of WIDTH elements, where the sampler's words are taken from. */
static void
make_buffer(void)
{
    uint64_t base = (uintptr_t)texels;
    uint32_t bytes = f->channels * f->bits / 8, select = 4 | (f->channels > 1 ? 5 : 0) << 3 | (f->channels > 2 ? 6 : 0) << 6 | (f->channels > 3 ? 7 : 1) << 9;
    sampler[0] = (uint32_t)base;
    sampler[1] = (uint32_t)(base >> 32) | bytes << 16;
    sampler[2] = target->family < GFX10 ? WIDTH * bytes : WIDTH;        /* bytes; with OOB_SELECT 0 elements */
    sampler[3] = select | (target->family < GFX10 ? f->num << 12 | f->data << 15 : (target->family == GFX10 ? f->gfx10 : f->gfx11) << 12);
}

/* ---- what comes out ---------------------------------------------------------------------------------------------------------- */

static double
srgb(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* A channel as a number; integers, too, are exact. */
static double
channel(const uint8_t *p, unsigned c)
{
    uint32_t u = 0;
    int32_t i;
    float v;
    _Float16 h;
    memcpy(&u, p + c * f->bits / 8, f->bits / 8);
    i = f->bits == 8 ? (int8_t)u : f->bits == 16 ? (int16_t)u : (int32_t)u;
    double top = f->bits == 8 ? 255 : 65535;
    switch (f->number) {
    case UNORM: return (float)(u / top);
    case SNORM: return (float)fmax(i / (f->bits == 8 ? 127.0 : 32767.0), -1);
    case UINT: return u;
    case SINT: return i;
    case SRGB: return c < 3 ? srgb(u / top) : u / top;
    default:
        if (f->bits == 16) {
            uint16_t w = (uint16_t)u;
            memcpy(&h, &w, 2);
            return (double)h;
        }
        memcpy(&v, &u, 4);
        return v;
    }
}

/* Component c of a texel; outside (x < 0) of the border, which is zero in all. */
static double
component(const uint8_t *memory, int64_t x, int64_t y, int64_t z, unsigned c, bool border)
{
    if (c >= f->channels)
        return c == 3;
    if (border)
        return 0;
    return channel(memory + z * HEIGHT * pitch + y * pitch + x * (f->channels * f->bits / 8), c);
}

static bool
clamped(int64_t *i, int64_t n)
{
    switch (s.clamp) {
    case WRAP: *i = (*i % n + n) % n; return false;
    case MIRROR: *i = (*i % (2 * n) + 2 * n) % (2 * n); *i = *i < n ? *i : 2 * n - 1 - *i; return false;
    case LAST_TEXEL: *i = *i < 0 ? 0 : *i >= n ? n - 1 : *i; return false;
    default: return *i < 0 || *i >= n;
    }
}

static double
texel(int64_t x, int64_t y, int64_t z, unsigned c)
{
    bool border = clamped(&x, WIDTH);
    if (dims > 1)
        border |= clamped(&y, HEIGHT);
    if (dims > 2)
        border |= clamped(&z, DEPTH);
    return component(texels, x, y, z, c, border);
}

static int64_t
position(unsigned lane, unsigned d, bool linear, int offset, double *weight)
{
    static const unsigned size[3] = { WIDTH, HEIGHT, DEPTH };
    double x = s.normalized ? (double)(at[lane][d] * (float)size[d]) : at[lane][d];
    if (s.normalized && s.clamp == WRAP)
        x = (double)((at[lane][d] - floorf(at[lane][d])) * (float)size[d]);
    if (s.normalized && s.clamp == MIRROR)
        x = (double)((at[lane][d] - 2 * floorf(at[lane][d] * 0.5f)) * (float)size[d]);
    *weight = 0;
    if (!linear)
        return (int64_t)floor(s.truncate ? x : rint(x * 256) / 256) + offset;
    double q = rint((x - 0.5) * 256);
    *weight = q / 256 - floor(q / 256);
    return (int64_t)floor(q / 256) + offset;
}

static double
sampled(unsigned lane, unsigned c, const int offset[3])
{
    double w[3] = { 0 }, sum = 0;
    int64_t i[3] = { 0 };
    for (unsigned d = 0; d < dims; d++)
        i[d] = position(lane, d, s.linear, offset[d], &w[d]);
    if (array)
        i[2] = (int64_t)fmin(fmax(rint(at[lane][2]), 0), DEPTH - 1);
    for (unsigned k = 0; k < 8; k++) {
        double part = 1;
        for (unsigned d = 0; d < 3; d++)
            part *= k >> d & 1 ? w[d] : 1 - w[d];
        if (part > 0)
            sum += part * texel(i[0] + (k & 1), i[1] + (k >> 1 & 1), i[2] + (k >> 2), c);
    }
    return sum;
}

static double
gathered(unsigned lane, unsigned component_, unsigned k)
{
    static const uint8_t dx[4] = { 0, 1, 1, 0 }, dy[4] = { 1, 1, 0, 0 };
    double w;
    int64_t x = position(lane, 0, true, 0, &w), y = position(lane, 1, true, 0, &w);
    return texel(x + dx[k], y + dy[k], 0, component_);
}

static double
loaded(unsigned lane, unsigned c)
{
    int64_t x = (int)at[lane][0], y = dims > 1 ? (int)at[lane][1] : 0, z = dims > 2 || array ? (int)at[lane][2] : 0;
    if (x < 0 || x >= WIDTH || y < 0 || y >= HEIGHT || z < 0 || z >= DEPTH)
        return 0;
    return component(texels, x, y, z, c, false);
}

/* ---- running ------------------------------------------------------------------------------------------------------------------- */

static bool
starts(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

static void
fill(bool integers)
{
    for (unsigned i = 0; i < MEMORY; i++)
        texels[i] = (uint8_t)rnd();
    for (unsigned i = 0; f->number == FLOAT && i + 4 <= MEMORY; i += f->bits / 8) {    /* numbers from -8 to 8 */
        float v = (float)((int)(rnd() % 4096) - 2048) / 256;
        _Float16 h = (_Float16)v;
        memcpy(texels + i, f->bits == 16 ? (void *)&h : (void *)&v, f->bits / 8);
    }
    static const unsigned size[4] = { WIDTH, HEIGHT, DEPTH, 1 };
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned d = 0; d < 4; d++) {
            float v = (float)((int)(rnd() % (size[d] * 1024 + 4096)) - 2048) / 1024;       /* up to two texels outside */
            data[l][d] = (float)((int)(rnd() % 4096) - 2048) / 256;
            at[l][d] = integers ? floorf(v) : s.normalized && !(array && d == 2) ? v / (float)size[d] : v;
        }
}

static double
result(unsigned lane, unsigned c)
{
    float v;
    memcpy(&v, &out[lane][c], 4);
    return f->number == UINT ? out[lane][c] : f->number == SINT ? (int32_t)out[lane][c] : (double)v;
}

static void
check(const char *name, unsigned lane, unsigned c, double got, double want, double slack)
{
    checks++;
    if (fabs(got - want) <= slack * fmax(1, fabs(want)))
        return;
    if (failures++ < 20)
        printf("%s %s, clamp %u%s%s%s: lane %u component %u at (%g, %g, %g): got %.9g, expected %.9g\n", name, f->name, s.clamp,
               s.linear ? " linear" : "", s.normalized ? " normalized" : "", s.truncate ? " truncated" : "", lane, c, (double)at[lane][0],
               (double)at[lane][1], (double)at[lane][2], got, want);
}

/* What a stored component becomes. */
static double
converted(double v)
{
    double top = f->bits == 8 ? 255 : 65535;
    switch (f->number) {
    case UNORM: return (float)(rint(fmin(fmax(v, 0), 1) * top) / top);
    case SNORM: return (float)(rint(fmin(fmax(v, -1), 1) * 127) / 127);
    default: return v;
    }
}

static void
check_stores(const char *name, bool buffer)
{
    for (int y = 0; y < (buffer ? 1 : HEIGHT); y++)
        for (int x = 0; x < WIDTH; x++) {
            int by = -1;
            for (int l = 0; l < LANES; l++)
                if ((int)at[l][0] == x && (buffer || (int)at[l][1] == y))
                    by = l;                     /* of several the last: the interpreter stores lane by lane */
            for (unsigned c = 0; c < f->channels; c++) {
                double now = component(texels, x, y, 0, c, false);
                check(name, (unsigned)(by < 0 ? 0 : by), c, now, by < 0 ? component(before, x, y, 0, c, false) : converted((double)data[by][c]), 1e-6);
            }
        }
}

static bool
launch(const struct gfx_kernel *k, struct gfx_object *o, char *message)
{
    uint64_t params[5] = { (uintptr_t)out, (uintptr_t)resource, (uintptr_t)sampler, (uintptr_t)at, (uintptr_t)data };
    struct gfx_launch l = { .object = o, .kernel = k, .grid = { 1, 1, 1 }, .block = { LANES, 1, 1 }, .params = params, .param_size = sizeof params };
    bool ok = gfx_dispatch_run(&l);
    memcpy(message, l.message, sizeof l.message);
    return ok;
}

static void
run(struct gfx_object *o, const struct gfx_kernel *k)
{
    const char *name = k->name;
    char message[512];
    bool load = starts(name, "load"), store = starts(name, "store"), buffer = starts(name, "buffer"), gather = starts(name, "gather");
    bool integers = load || store || buffer, half = strstr(name, "d16"), integral = f->number == UINT || f->number == SINT;
    const int shift[3] = { strstr(name, "offset") ? 3 : 0, strstr(name, "offset") ? -2 : 0, 0 };
    fill(integers);
    memcpy(before, texels, MEMORY);
    for (unsigned l = 0; strstr(name, "a16") && l < LANES; l++)
        for (unsigned d = 0; d < 4; d++)
            at[l][d] = (float)(_Float16)at[l][d];
    make_resource();
    make_sampler();
    if (buffer)
        make_buffer();
    if (!launch(k, o, message)) {
        printf("%s %s: %s\n", name, f->name, message);
        failures++;
        return;
    }
    if (store || strstr(name, "buffer_store")) {
        check_stores(name, buffer);
        return;
    }
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned c = 0; c < 4; c++) {
            double want, slack = integers || !s.linear ? 0 : 1e-6;
            if (starts(name, "size")) {
                static const unsigned sizes[4] = { WIDTH, HEIGHT, 1, 1 };
                check(name, l, c, out[l][c], sizes[c], 0);
                continue;
            }
            if (buffer)
                want = at[l][0] < 0 || at[l][0] >= WIDTH ? 0 : component(texels, (int)at[l][0], 0, 0, c, false);
            else if (strstr(name, "_gb"))
                want = c < 2 ? loaded(l, c + 1) : 0;
            else if (strstr(name, "mip"))
                want = l & 1 ? 0 : loaded(l, c);
            else if (load)
                want = loaded(l, c);
            else if (gather)
                want = gathered(l, strstr(name, "_b") ? 2 : 0, c);
            else
                want = sampled(l, c, shift);
            double got = result(l, c);
            if (strstr(name, "_gb") && c > 1)
                got = out[l][c];
            if (half && !integral)
                want = (double)(_Float16)want, slack = 1e-3;
            check(name, l, c, got, want, f->number == SRGB && !half ? 1e-5 : slack);
        }
}

/* Descriptors that are none. */
static void
wrong(struct gfx_object *o, const struct gfx_kernel *k)
{
    static const struct { unsigned word; uint32_t bits; const char *text; } faults[] = {
        { 3, 0x80000000, "TYPE" }, { 3, 1u << 20, "SW_MODE" }, { 6, 1u << 21, "compressed" }, { 3, 1u << 30, "kind" },
    };
    char message[512];
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        f = &formats[1];
        fill(false);
        make_resource();
        make_sampler();
        resource[faults[i].word] ^= faults[i].bits;
        checks++;
        bool array_bit = target->family < GFX10 && i == 3;       /* gfx9 knows arrays from others only */
        if (launch(k, o, message) || (!array_bit && !strstr(message, faults[i].text)) || !strstr(message, "image_sample")) {
            printf("a wrong resource, %s: %s\n", faults[i].text, message);
            failures++;
        }
    }
    for (unsigned i = 0; i < 5000; i++) {       /* whatever they say: a result or a fault, and no memory but the device's */
        make_resource();
        make_sampler();
        for (unsigned n = rnd() % 8; n; n--)
            resource[1 + rnd() % 7] ^= 1u << (8 + rnd() % 24);
        sampler[rnd() % 4] ^= 1u << rnd() % 32;
        checks++;
        if (!launch(k, o, message) && !*message) {
            printf("a fault without a reason\n");
            failures++;
        }
    }
    make_resource();
    make_sampler();
    resource[0] += 1 << 20;
    checks++;
    if (launch(k, o, message) || !strstr(message, "outside of every allocation")) {
        printf("an image elsewhere: %s\n", message);
        failures++;
    }
}

/* Every format, with the samplers that it can have. */
static void
run_all(struct gfx_object *o, const struct gfx_kernel *k)
{
    static const enum clamp clamps[] = { WRAP, MIRROR, LAST_TEXEL, BORDER };
    const char *name = k->name;
    bool samples = starts(name, "sample") || starts(name, "gather");
    dims = strstr(name, "1d") ? 1 : strstr(name, "3d") ? 3 : 2;
    array = strstr(name, "array");
    for (unsigned n = 0; n < sizeof formats / sizeof *formats; n++)
        for (unsigned m = 0; m < (samples ? 32 : 1); m++) {
            f = &formats[n];
            bool integral = f->number == UINT || f->number == SINT, buffer = starts(name, "buffer"), store = strstr(name, "store");
            s.clamp = clamps[m & 3];
            s.linear = m & 4;
            s.normalized = m & 8;
            s.truncate = m & 16;
            pitch = (WIDTH * f->channels * f->bits / 8 + 255) & ~255u;
            if ((integral && (s.linear || store || strstr(name, "d16"))) || (f->number == SRGB && (buffer || store)) ||
                (!s.normalized && s.clamp < LAST_TEXEL && samples))
                continue;
            if (integral && !starts(name, "load") && f->bits == 32)      /* (R, G, 0, 1) of 32 bits do not fit the result's double as floats */
                continue;
            run(o, k);
        }
    if (!strcmp(name, "sample_2d")) {
        s.clamp = LAST_TEXEL;
        s.normalized = true;
        pitch = 256;
        wrong(o, k);
    }
}

int
main(int argc, char **argv)
{
    char error[256];
    static char code[1 << 20];
    struct gfx_object *o;
    target = argc == 3 ? gfx_target_find(argv[1]) : NULL;
    if (!target) {
        printf("usage: test_images ARCH CODE-OBJECT\n");
        return 2;
    }
    FILE *file = fopen(argv[2], "rb");
    size_t size = file ? fread(code, 1, sizeof code, file) : 0;
    if (file)
        fclose(file);
    texels = aligned_alloc(4096, MEMORY);
    if (!texels || !gfx_object_load(target, code, size, &o, error)) {
        printf("%s: %s\n", argv[2], texels ? error : "out of memory");
        return 1;
    }
    gfx_range_add((uintptr_t)texels, MEMORY);
    gfx_range_add((uintptr_t)at, sizeof at);
    gfx_range_add((uintptr_t)data, sizeof data);
    gfx_range_add((uintptr_t)out, sizeof out);
    gfx_range_add((uintptr_t)resource, sizeof resource);
    gfx_range_add((uintptr_t)sampler, sizeof sampler);
    for (uint32_t i = 0; i < o->nkernels; i++)
        run_all(o, &o->kernels[i]);
    printf("%s: %u kernels, %u checks, %u failures\n", argv[1], o->nkernels, checks, failures);
    gfx_object_unload(o);
    free(texels);
    return failures || !checks;
}
