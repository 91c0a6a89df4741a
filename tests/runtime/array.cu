/* SPDX-License-Identifier: Apache-2.0
 * Arrays, texture and surface objects. Kernels read and write by the PTX instructions, so that no header of textures is needed. */
#include "test.h"

typedef unsigned long long u64;

__global__ void
fetch(float *out, u64 texture, float dx)
{
    unsigned i = TID_X;
    float x = (float)i + dx, y = 0.5f, r, g, b, a;
    asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(texture), "f"(x), "f"(y));
    out[i] = r;
}

__global__ void
fetch_linear(int *out, u64 texture)
{
    int i = (int)TID_X, r, g, b, a;
    asm volatile("tex.1d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5}];" : "=r"(r), "=r"(g), "=r"(b), "=r"(a) : "l"(texture), "r"(i));
    out[i] = r;
}

__global__ void
store(u64 surface, int n)
{
    int i = (int)TID_X;
    unsigned v = (unsigned)i * 3;
    if (i < n)
        asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], {%3};" : : "l"(surface), "r"(i * 4), "r"(1), "r"(v) : "memory");
}

static void
arrays(void)
{
    cudaChannelFormatDesc f = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat), got;
    cudaChannelFormatDesc odd = cudaCreateChannelDesc(7, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t a, b;
    cudaExtent e;
    unsigned flags = 99;
    float h[6 * 4], back[6 * 4], *d;

    for (int i = 0; i < 24; i++)
        h[i] = (float)i;
    OK(cudaMallocArray(&a, &f, 6, 4, cudaArrayDefault));
    OK(cudaMallocArray(&b, &f, 6, 4, cudaArrayDefault));
    OK(cudaArrayGetInfo(&got, &e, &flags, a));
    EXPECT(got.x == 32 && got.y == 0 && got.f == cudaChannelFormatKindFloat && e.width == 6 && e.height == 4 && e.depth == 0 && flags == 0);
    OK(cudaGetChannelDesc(&got, a));
    EXPECT(got.x == 32 && got.f == cudaChannelFormatKindFloat);
    OK(cudaMemcpy2DToArray(a, 0, 0, h, 24, 24, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, 24, 4, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2DFromArray(back, 24, b, 0, 0, 24, 4, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(h, back, sizeof h));
    OK(cudaMemcpy2DFromArray(back, 8, b, 4, 2, 8, 2, cudaMemcpyDeviceToHost));   /* offsets in bytes and rows */
    EXPECT(back[0] == 13 && back[1] == 14 && back[2] == 19 && back[3] == 20);
    REFUSED(cudaMemcpy2DToArray(a, 8, 0, h, 24, 24, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    REFUSED(cudaMemcpy2DToArray(a, 0, 0, h, 24, 24, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    /* A run of bytes goes on in the next row. */
    OK(cudaMalloc((void **)&d, sizeof h));
    float minus[9];
    for (int i = 0; i < 9; i++)
        minus[i] = (float)-i - 1;
    OK(cudaMemcpyToArray(b, 16, 1, minus, sizeof minus, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(back, b, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 24; i++)
        EXPECT(back[i] == (i >= 10 && i < 19 ? (float)-(i - 10) - 1 : (float)i));
    /* The extent of a box with an array is in elements. */
    cudaMemcpy3DParms p;
    memset(&p, 0, sizeof p);
    p.srcArray = a;
    p.srcPos.x = 1;
    p.srcPos.y = 1;
    p.dstPtr.ptr = back;
    p.dstPtr.pitch = 8;
    p.dstPtr.xsize = 8;
    p.dstPtr.ysize = 2;
    p.extent.width = p.extent.height = 2;
    p.extent.depth = 1;
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&p));
    EXPECT(back[0] == 7 && back[1] == 8 && back[2] == 13 && back[3] == 14);
    REFUSED(cudaMallocArray(&b, &odd, 6, 4, cudaArrayDefault), cudaErrorInvalidChannelDescriptor);
    REFUSED(cudaMallocArray(NULL, &f, 6, 4, cudaArrayDefault), cudaErrorInvalidValue);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
    OK(cudaFree(d));
}

static void
textures(void)
{
    cudaChannelFormatDesc f = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaChannelFormatDesc i32 = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    cudaArray_t a;
    cudaResourceDesc r, r2;
    cudaTextureDesc t, t2;
    cudaTextureObject_t object;
    float h[4] = { 10, 20, 30, 40 }, *d, back[4];
    int *di, hi[4] = { 1, -2, 3, -4 }, backi[4];

    OK(cudaMalloc((void **)&d, sizeof back));
    OK(cudaMallocArray(&a, &f, 4, 1, cudaArrayDefault));
    OK(cudaMemcpy2DToArray(a, 0, 0, h, 16, 16, 1, cudaMemcpyHostToDevice));
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    memset(&t, 0, sizeof t);
    t.addressMode[0] = t.addressMode[1] = cudaAddressModeClamp;
    t.filterMode = cudaFilterModeLinear;
    t.readMode = cudaReadModeElementType;
    OK(cudaCreateTextureObject(&object, &r, &t, NULL));
    fetch<<<1, 4>>>(d, object, 1.0f);                /* half way to the next texel, whose centre is at x + 0.5 */
    OK(cudaMemcpy(back, d, sizeof back, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == 15 && back[1] == 25 && back[2] == 35 && back[3] == 40);
    OK(cudaGetTextureObjectResourceDesc(&r2, object));
    EXPECT(r2.resType == cudaResourceTypeArray && r2.res.array.array == a);
    OK(cudaGetTextureObjectTextureDesc(&t2, object));
    EXPECT(t2.filterMode == cudaFilterModeLinear && t2.addressMode[0] == cudaAddressModeClamp && t2.normalizedCoords == 0);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(a));

    OK(cudaMalloc((void **)&di, 32));
    OK(cudaMemcpy(di, hi, 16, cudaMemcpyHostToDevice));
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = di;
    r.res.linear.desc = i32;
    r.res.linear.sizeInBytes = 16;
    t.filterMode = cudaFilterModePoint;
    OK(cudaCreateTextureObject(&object, &r, &t, NULL));
    fetch_linear<<<1, 4>>>(di + 4, object);
    OK(cudaMemcpy(backi, di + 4, 16, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(backi, hi, 16));
    OK(cudaGetTextureObjectResourceDesc(&r2, object));
    EXPECT(r2.res.linear.devPtr == di && r2.res.linear.sizeInBytes == 16 && r2.res.linear.desc.f == cudaChannelFormatKindSigned);
    OK(cudaDestroyTextureObject(object));
    t.readMode = cudaReadModeNormalizedFloat;
    REFUSED(cudaCreateTextureObject(&object, &r, &t, NULL), cudaErrorInvalidNormSetting);
    REFUSED(cudaCreateTextureObject(NULL, &r, &t, NULL), cudaErrorInvalidNormSetting);
    r.resType = (cudaResourceType)9;
    REFUSED(cudaCreateTextureObject(&object, &r, &t, NULL), cudaErrorInvalidValue);
    OK(cudaFree(di));
    OK(cudaFree(d));
}

static void
surfaces(void)
{
    cudaChannelFormatDesc u = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t a;
    cudaResourceDesc r, r2;
    cudaSurfaceObject_t object;
    unsigned h[8 * 2] = { 0 };

    OK(cudaMallocArray(&a, &u, 8, 2, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(a, 0, 0, h, 32, 32, 2, cudaMemcpyHostToDevice));
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    OK(cudaCreateSurfaceObject(&object, &r));
    store<<<1, 32>>>(object, 8);
    OK(cudaMemcpy2DFromArray(h, 32, a, 0, 0, 32, 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        EXPECT(h[i] == 0 && h[8 + i] == (unsigned)i * 3);
    OK(cudaGetSurfaceObjectResourceDesc(&r2, object));
    EXPECT(r2.res.array.array == a);
    OK(cudaDestroySurfaceObject(object));
    OK(cudaFreeArray(a));
    REFUSED(cudaCreateSurfaceObject(NULL, &r), cudaErrorInvalidValue);
}

int
main(void)
{
    cudaMipmappedArray_t m;
    cudaArray_t level;
    cudaChannelFormatDesc f = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
    cudaExtent e = { 16, 16, 0 }, x;

    arrays();
    textures();
    surfaces();
    OK(cudaMallocMipmappedArray(&m, &f, e, 3, cudaArrayDefault));
    OK(cudaGetMipmappedArrayLevel(&level, m, 2));
    OK(cudaArrayGetInfo(NULL, &x, NULL, level));
    EXPECT(x.width == 4 && x.height == 4);
    REFUSED(cudaGetMipmappedArrayLevel(&level, m, 7), cudaErrorInvalidValue);
    OK(cudaFreeMipmappedArray(m));
    return test_result();
}
