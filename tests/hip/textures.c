/* SPDX-License-Identifier: Apache-2.0
 * The life of textures that image instructions read (CUDAWAY_TEXTURES=native): arrays that copies and surfaces write, all of it and parts;
 * objects over the same memory that are read by such instructions and by the exact code; objects made and destroyed by the thousand; memory
 * given back in the end. The same results are asked of exact textures. */
#include "impl/api/cuda.h"
#include "tests/driver/test.h"

#include <stdbool.h>

enum { W = 37, H = 11, D = 5, TEXELS = W * H };

/* fetch: out[y * W + x] = texel (x, y) of t, or of layer z; store: texel (x, y) of s = x + 100 * y. */
static const char text[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 out, .param .u64 t)\n{\n"
    " .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<8>;\n"
    " ld.param.u64 %d1, [out]; ld.param.u64 %d2, [t]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    " cvt.rn.f32.u32 %f1, %r1; cvt.rn.f32.u32 %f2, %r2; add.f32 %f1, %f1, 0f3E800000; add.f32 %f2, %f2, 0f3F400000;\n"
    " tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d2, {%f1, %f2}];\n"
    " mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %d3, %r4, 4; add.u64 %d1, %d1, %d3; st.global.f32 [%d1], %f3; ret;\n}\n"
    ".visible .entry layer(.param .u64 out, .param .u64 t, .param .u32 z)\n{\n"
    " .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<8>;\n"
    " ld.param.u64 %d1, [out]; ld.param.u64 %d2, [t]; ld.param.u32 %r5, [z]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    " cvt.rn.f32.u32 %f1, %r1; cvt.rn.f32.u32 %f2, %r2;\n"
    " tex.a2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d2, {%r5, %f1, %f2, %f2}];\n"
    " mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %d3, %r4, 4; add.u64 %d1, %d1, %d3; st.global.f32 [%d1], %f3; ret;\n}\n"
    ".visible .entry store(.param .u64 s)\n{\n"
    " .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<4>;\n"
    " ld.param.u64 %d1, [s]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 100, %r1; cvt.rn.f32.u32 %f1, %r3;\n"
    " shl.b32 %r4, %r1, 2; mov.b32 %r5, %f1; sust.b.2d.b32.trap [%d1, {%r4, %r2}], %r5; ret;\n}\n";

static CUfunction fetch, layer, store;
static CUdeviceptr out;
static float got[TEXELS];

static void
run(CUfunction f, void **args)
{
    OK(cuLaunchKernel(f, H, 1, 1, W, 1, 1, 0, NULL, args, NULL));
}

/* got = what the kernel reads. */
static void
read_all(CUtexObject t)
{
    void *args[] = { &out, &t };
    run(fetch, args);
    OK(cuMemcpyDtoH_v2(got, out, sizeof got));
}

static bool
all(float (*want)(int x, int y))
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            if (got[y * W + x] != want(x, y)) {
                fprintf(stderr, "at (%d, %d): %g, expected %g\n", x, y, (double)got[y * W + x], (double)want(x, y));
                return false;
            }
    return true;
}

static float copied(int x, int y) { return (float)(1000 + x - 7 * y); }
static float stored(int x, int y) { return (float)(x + 100 * y); }
static float patched(int x, int y) { return x >= 5 && x < 15 && y >= 2 && y < 6 ? copied(x, y) : stored(x, y); }
static float third(int x, int y) { return copied(x, y) + 3; }

static CUtexObject
texture(const CUDA_RESOURCE_DESC *r, bool coloured)
{
    CUDA_TEXTURE_DESC d = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP } };
    CUtexObject t = 0;
    if (coloured) {                     /* a border with a colour, which image instructions do not have */
        d.addressMode[0] = d.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER;
        d.borderColor[0] = 5;
    }
    OK(cuTexObjectCreate(&t, r, &d, NULL));
    return t;
}

static void
patch(CUarray a, const float *from)
{
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = from, .srcPitch = W * 4, .srcXInBytes = 5 * 4, .srcY = 2,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a, .dstXInBytes = 5 * 4, .dstY = 2, .WidthInBytes = 10 * 4, .Height = 4 };
    OK(cuMemcpy2D_v2(&c));
}

static void
arrays(const float *texels)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { W, H, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST };
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = W * 4, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .WidthInBytes = W * 4, .Height = H };
    CUarray a, b;
    CUsurfObject s;
    OK(cuArray3DCreate_v2(&a, &d));
    OK(cuArray3DCreate_v2(&b, &d));
    c.dstArray = a;
    OK(cuMemcpy2D_v2(&c));
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a }, other = r;
    CUtexObject t = texture(&r, false), exact = texture(&r, true);
    read_all(t);
    EXPECT(all(copied));
    OK(cuSurfObjectCreate(&s, &r));
    void *args[] = { &s };
    run(store, args);
    read_all(t);
    EXPECT(all(stored));
    patch(a, texels);
    read_all(t);
    EXPECT(all(patched));
    read_all(exact);
    EXPECT(all(patched));
    /* From array to array, and out. */
    CUDA_MEMCPY2D on = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = b, .WidthInBytes = W * 4,
                         .Height = H };
    OK(cuMemcpy2D_v2(&on));
    other.res.array.hArray = b;
    CUtexObject u = texture(&other, false);
    read_all(u);
    EXPECT(all(patched));
    memset(got, 0, sizeof got);
    OK(cuMemcpyAtoH_v2(got, b, 0, W * 4));
    for (int x = 0; x < W; x++)
        EXPECT(got[x] == patched(x, 0));
    /* Places of objects are used again, those of image instructions and the others mixed. */
    for (unsigned i = 0; i < 2500; i++) {
        CUtexObject v = texture(i & 1 ? &r : &other, i % 7 == 0);
        if (i % 500 == 0) {
            read_all(v);
            EXPECT(all(patched));
        }
        OK(cuTexObjectDestroy(v));
    }
    OK(cuTexObjectDestroy(t));
    OK(cuTexObjectDestroy(u));
    OK(cuTexObjectDestroy(exact));
    OK(cuSurfObjectDestroy(s));
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(b));
}

static void
layers(const float *texels)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { W, H, D, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED };
    CUarray a;
    OK(cuArray3DCreate_v2(&a, &d));
    float plus[TEXELS];
    for (unsigned z = 0; z < D; z++) {
        for (unsigned i = 0; i < TEXELS; i++)
            plus[i] = texels[i] + (float)z;
        CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = plus, .srcPitch = W * 4, .srcHeight = H, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                            .dstArray = a, .dstZ = z, .WidthInBytes = W * 4, .Height = H, .Depth = 1 };
        OK(cuMemcpy3D_v2(&c));
    }
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
    CUDA_TEXTURE_DESC how = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP } };
    /* A view of layers 2 to 3: its layer 1 is the array's 3, as is any beyond. */
    CUDA_RESOURCE_VIEW_DESC view = { .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = W, .height = H, .depth = 2, .firstLayer = 2, .lastLayer = 3 };
    CUtexObject whole = texture(&r, false), part = 0;
    OK(cuTexObjectCreate(&part, &r, &how, &view));
    const struct { CUtexObject t; unsigned z; } reads[] = { { whole, 3 }, { part, 1 }, { part, 9 } };
    for (unsigned i = 0; i < 3; i++) {
        CUtexObject t = reads[i].t;
        unsigned z = reads[i].z;
        void *args[] = { &out, &t, &z };
        run(layer, args);
        OK(cuMemcpyDtoH_v2(got, out, sizeof got));
        EXPECT(all(third));
    }
    OK(cuTexObjectDestroy(whole));
    OK(cuTexObjectDestroy(part));
    OK(cuArrayDestroy(a));
}

/* Rows at 256 bytes, and at 160, which no image has. */
static void
pitched(const float *texels)
{
    const size_t pitches[2] = { 256, 160 };
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr p;
        OK(cuMemAlloc_v2(&p, pitches[i] * H));
        CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = W * 4, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p,
                            .dstPitch = pitches[i], .WidthInBytes = W * 4, .Height = H };
        OK(cuMemcpy2D_v2(&c));
        CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_PITCH2D, .res.pitch2D = { p, CU_AD_FORMAT_FLOAT, 1, W, H, pitches[i] } };
        CUtexObject t = texture(&r, false);
        read_all(t);
        EXPECT(all(copied));
        OK(cuTexObjectDestroy(t));
        OK(cuMemFree_v2(p));
    }
}

int
main(void)
{
    float texels[TEXELS];
    CUcontext c;
    CUmodule m;
    size_t before, after, total;
    for (int i = 0; i < TEXELS; i++)
        texels[i] = copied(i % W, i / W);
    OK(cuInit(0));
    for (unsigned round = 0; round < 2; round++) {
        OK(cuCtxCreate_v2(&c, 0, 0));
        OK(cuMemGetInfo_v2(&before, &total));
        OK(cuModuleLoadData(&m, text));
        OK(cuModuleGetFunction(&fetch, m, "fetch"));
        OK(cuModuleGetFunction(&layer, m, "layer"));
        OK(cuModuleGetFunction(&store, m, "store"));
        OK(cuMemAlloc_v2(&out, sizeof got));
        arrays(texels);
        layers(texels);
        pitched(texels);
        OK(cuCtxDestroy_v2(c));
    }
    OK(cuCtxCreate_v2(&c, 0, 0));
    OK(cuMemGetInfo_v2(&after, &total));
    EXPECT(after == before);
    OK(cuCtxDestroy_v2(c));
    return failures != 0;
}
