/* SPDX-License-Identifier: Apache-2.0
 * Our texture sampling beside a real GPU's: the same 2D textures and coordinates through NVIDIA's driver (looked up at run
 * time) and through cwh_rt_tex. Skipped (77) where there is no driver. All results must be equal to the bit, filtered ones,
 * too: tex_filter.c says what the hardware does. With -v every combination is printed, with -s some coordinates are NaN, infinite, huge or tiny.
 * With LD_LIBRARY_PATH at our own libcuda.so.1 it is another of our devices that is compared with the host. */
#define _GNU_SOURCE
#include "impl/host/exec.h"
#include "impl/host/texture.h"
#include "jit/ptx/ir.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The few declarations of the driver API that this needs. */
struct array_desc { size_t width, height; int format; unsigned channels; };
struct resource_desc { int type, pad; union { void *array; int reserved[32]; } u; unsigned flags, pad2; };
struct texture_desc { int address[3], filter; unsigned flags, anisotropy; int mip_filter; float bias, min, max, border[4]; int reserved[12]; };
struct copy_2d {
    size_t src_x, src_y; int src_type; const void *src_host; unsigned long long src_device; void *src_array; size_t src_pitch;
    size_t dst_x, dst_y; int dst_type; void *dst_host; unsigned long long dst_device; void *dst_array; size_t dst_pitch;
    size_t width, height;
};

#define CU_MAP(X)                                                                                                           \
    X(cuInit, (unsigned)) X(cuDevicePrimaryCtxRetain, (void **, int)) X(cuCtxSetCurrent, (void *))                          \
    X(cuModuleLoadData, (void **, const void *)) X(cuModuleGetFunction, (void **, void *, const char *))                    \
    X(cuMemAlloc_v2, (unsigned long long *, size_t)) X(cuMemcpyHtoD_v2, (unsigned long long, const void *, size_t))         \
    X(cuMemcpyDtoH_v2, (void *, unsigned long long, size_t)) X(cuArrayCreate_v2, (void **, const struct array_desc *))      \
    X(cuArrayDestroy, (void *)) X(cuMemcpy2D_v2, (const struct copy_2d *)) X(cuTexObjectDestroy, (unsigned long long))      \
    X(cuTexObjectCreate, (unsigned long long *, const struct resource_desc *, const struct texture_desc *, const void *))   \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    X(cuCtxSynchronize, (void))
#define X(name, params) static int (*name) params;
CU_MAP(X)
#undef X

static const char ptx[] =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 t, .param .u64 c, .param .u64 o)\n{\n"
    ".reg .b64 %d<6>; .reg .b32 %r<6>; .reg .f32 %f<3>;\n"
    "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [c]; ld.param.u64 %d3, [o];\n"
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "mul.wide.u32 %d4, %r0, 8; add.u64 %d4, %d4, %d2; ld.global.v2.f32 {%f1, %f2}, [%d4];\n"
    "tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d1, {%f1, %f2}];\n"
    "mul.wide.u32 %d5, %r0, 16; add.u64 %d5, %d5, %d3; st.global.v4.u32 [%d5], {%r1, %r2, %r3, %r4};\nret;\n}\n";

enum { W = 13, H = 7, N = 4096 };
static int n = N;               /* coordinates of each combination; a multiple of 128 */
static bool special;            /* every eighth is one of these: */
static const float specials[] = { 0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-126f, -0x1p-126f, -0x1p-30f, 1.0f, -1.0f, 2.0f, 0.5f, 0x1.fffffep-1f,
    1e6f, -1e6f, 12345.678f, -12345.678f, 0x1p22f, -0x1p23f, 1e20f, -1e20f, 0x1.fffffep127f, -0x1.fffffep127f, INFINITY, -INFINITY, NAN };
static float coords[2 * N];
static uint32_t theirs[4 * N], ours[4 * N];
static uint8_t texels[W * H * 16];
static const float border[4] = { 0.25f, 0.5f, 0.75f, 1.0f };

struct combination {
    int format, channels, filter, normalized, address, integer;
};

static uint64_t handle;

static void
fetch(struct cwh_gang *g)
{
    uint32_t base = g->block->ctaid[0] * 32, coord[64], result[128];
    uint64_t handles[32];
    for (uint32_t i = 0; i < 32; i++) {
        handles[i] = handle;
        memcpy(&coord[i], &coords[2 * (base + i)], 4);
        memcpy(&coord[32 + i], &coords[2 * (base + i) + 1], 4);
    }
    struct cwh_tex t = { .width = 32, .op = PTX_OP_TEX, .geom = PTX_GEOM_2D, .coord_type = PTX_F32, .result_type = PTX_U32, .vec = 4,
                         .mask = 0xffffffff, .texture = handles, .coord = coord, .result = result };
    cwh_rt_tex(g, &t);
    for (uint32_t i = 0; i < 32; i++)
        for (uint32_t c = 0; c < 4; c++)
            ours[4 * (base + i) + c] = result[c * 32 + i];
}

static bool
run_ours(const struct combination *x, size_t texel)
{
    struct cwb_array_desc ad = { .width = W, .height = H, .format = (enum cwb_format)x->format, .channels = (uint32_t)x->channels, .levels = 1 };
    struct cw_array *a;
    struct cw_texture *t;
    if (cwh_array_create(&ad, &a) != CWB_OK)
        return false;
    for (size_t y = 0; y < H; y++)
        memcpy(a->level[0].base + y * a->level[0].pitch, texels + y * W * texel, W * texel);
    struct cwb_texture_desc d = { .kind = CWB_TEX_ARRAY, .array = (struct cwb_array *)(void *)a, .format = ad.format, .channels = ad.channels,
                                  .linear = x->filter, .normalized = x->normalized, .read_as_integer = x->integer };
    memcpy(d.border, border, sizeof border);
    for (int i = 0; i < 3; i++)
        d.address_mode[i] = (enum cwb_address)x->address;
    if (cwh_texture_create(&d, &t) != CWB_OK)
        return false;
    handle = t->handle;
    struct cwh_exec_launch l;
    memset(&l, 0, sizeof l);
    l.abi.grid[0] = (uint32_t)n / 32;
    l.abi.block[0] = 32;
    l.abi.grid[1] = l.abi.grid[2] = l.abi.block[1] = l.abi.block[2] = 1;
    l.run = fetch;
    l.info.width = 32;
    l.kernel = "fetch";
    cwh_exec_run(&l);
    cwh_texobj_free(t);
    cwh_array_destroy(a);
    return l.result == CWB_OK;
}

static bool
run_theirs(const struct combination *x, size_t texel, void *fn)
{
    static const int formats[] = { 1, 2, 3, 8, 9, 10, 0x10, 0x20 };
    static unsigned long long dc, dout;
    unsigned long long tex = 0;
    if (!dc && (cuMemAlloc_v2(&dc, sizeof coords) || cuMemAlloc_v2(&dout, sizeof theirs)))
        return false;
    struct array_desc ad = { W, H, formats[x->format], (unsigned)x->channels };
    void *array;
    if (cuMemcpyHtoD_v2(dc, coords, sizeof coords) || cuArrayCreate_v2(&array, &ad))
        return false;
    struct copy_2d copy = { .src_type = 1, .src_host = texels, .src_pitch = W * texel, .dst_type = 3, .dst_array = array, .width = W * texel, .height = H };
    struct resource_desc rd = { .u.array = array };
    struct texture_desc td = { .filter = x->filter, .flags = (unsigned)((x->integer ? 1 : 0) | (x->normalized ? 2 : 0)) };
    for (int i = 0; i < 3; i++)
        td.address[i] = x->address;
    memcpy(td.border, border, sizeof border);
    void *args[] = { &tex, &dc, &dout };
    bool ok = !cuMemcpy2D_v2(&copy) && !cuTexObjectCreate(&tex, &rd, &td, NULL) &&
              !cuLaunchKernel(fn, (unsigned)n / 128, 1, 1, 128, 1, 1, 0, NULL, args, NULL) && !cuCtxSynchronize() &&
              !cuMemcpyDtoH_v2(theirs, dout, sizeof theirs);
    if (tex)
        cuTexObjectDestroy(tex);
    cuArrayDestroy(array);
    return ok;
}

static void
fill(const struct combination *x, size_t bytes)
{
    for (size_t i = 0; i < (size_t)(W * H * x->channels); i++) {
        if (x->format == CWB_FORMAT_F32) {
            float v = (float)rand() / (float)RAND_MAX * 100 - 50;
            memcpy(texels + 4 * i, &v, 4);
        } else if (x->format == CWB_FORMAT_F16) {
            uint16_t v = (uint16_t)((rand() & 0x3ff) | (10 + rand() % 10) << 10 | (rand() & 1) << 15);
            memcpy(texels + 2 * i, &v, 2);
        } else {
            for (size_t b = 0; b < bytes; b++)
                texels[bytes * i + b] = (uint8_t)(rand() >> 7);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < 2; d++) {
            int size = d ? H : W;
            float v = i < n / 8   ? (float)(rand() % (2 * size + 20) - 10) / 2
                      : i < n / 4 ? (float)(rand() % (512 * size)) / 512.0f
                                  : (float)rand() / (float)RAND_MAX * (float)(size + 10) - 5;
            coords[2 * i + d] = special && i % 8 == 7 ? specials[(unsigned)rand() % (sizeof specials / sizeof *specials)]
                                : x->normalized ? v / (float)size : v;
        }
    }
}

int
main(int argc, char **argv)
{
    static const char *const formats[] = { "u8", "u16", "u32", "s8", "s16", "s32", "f16", "f32" };
    static const uint8_t bytes[] = { 1, 2, 4, 1, 2, 4, 2, 4 };
    static const char *const modes[] = { "wrap", "clamp", "mirror", "border" };
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v"))
            verbose = true;
        else if (!strcmp(argv[i], "-s"))
            special = true;
        else if (!strcmp(argv[i], "-n") && i + 1 < argc && atoi(argv[i + 1]) > 0 && atoi(argv[i + 1]) <= N && atoi(argv[i + 1]) % 128 == 0)
            n = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: host_tex_hardware [-v] [-s] [-n COORDINATES]   a multiple of 128, at most 4096\n");
            return 2;
        }
    }
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *fn;
    if (!lib) {
        printf("skipped: %s\n", dlerror());
        return 77;
    }
#define X(name, params)                                      \
    *(void **)&name = dlsym(lib, #name);                     \
    if (!name) {                                             \
        printf("skipped: no " #name "\n");                   \
        return 77;                                           \
    }
    CU_MAP(X)
#undef X
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, ptx) ||
        cuModuleGetFunction(&fn, module, "fetch")) {
        printf("skipped: no usable CUDA device\n");
        return 77;
    }
    int failures = 0, count = 0;
    for (int i = 0; i < 8 * 3 * 2 * 2 * 4 * 2; i++) {
        struct combination x = { i / 96, 1 << i / 32 % 3, i / 16 % 2, i / 8 % 2, i / 2 % 4, i % 2 };
        bool real = x.format >= CWB_FORMAT_F16;
        if (real && x.integer)
            continue;
        size_t texel = (size_t)bytes[x.format] * (size_t)x.channels;
        char name[80];
        snprintf(name, sizeof name, "%s x%d %s %s %s %s", formats[x.format], x.channels, x.filter ? "linear" : "point",
                 x.normalized ? "normalized" : "texels", modes[x.address], x.integer ? "integer" : "float");
        fill(&x, bytes[x.format]);
        if (!run_theirs(&x, texel, fn)) {
            printf("%s: the driver refuses\n", name);
            continue;
        }
        if (!run_ours(&x, texel)) {
            printf("%s: ours fails\n", name);
            failures++;
            continue;
        }
        bool ints = x.integer || bytes[x.format] == 4;
        ints &= !real;
        int differ = 0;
        double worst = 0;
        char example[160] = "";
        for (int k = 0; k < 4 * n; k++) {
            if (theirs[k] == ours[k])
                continue;
            float a, b;
            memcpy(&a, &theirs[k], 4);
            memcpy(&b, &ours[k], 4);
            double d = ints ? fabs((double)(int32_t)theirs[k] - (double)(int32_t)ours[k]) : fabs((double)a - (double)b);
            differ++;
            if (!(d <= worst)) {
                worst = d;
                snprintf(example, sizeof example, "at (%.7g, %.7g).%d: %.9g there, %.9g here", (double)coords[k / 4 * 2],
                         (double)coords[k / 4 * 2 + 1], k % 4, ints ? (double)(int32_t)theirs[k] : (double)a,
                         ints ? (double)(int32_t)ours[k] : (double)b);
            }
        }
        count++;
        bool bad = differ != 0;
        failures += bad;
        if (bad || verbose)
            printf("%s: %s, %d of %d differ, by %g %s\n", name, bad ? "DIFFERENT" : "same", differ, 4 * n, worst, example);
    }
    printf("%d combinations compared, %d different\n", count, failures);
    return failures != 0;
}
