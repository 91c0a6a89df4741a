/* SPDX-License-Identifier: Apache-2.0
 * Memory: allocation, copies, fills, pinned and managed memory, what pointers are ("Memory Management", CUDA Runtime API). */
#include "test.h"

__global__ void
increment(int *p, int n)
{
    int i = (int)GLOBAL_X;
    if (i < n)
        p[i]++;
}

static void
allocation(void)
{
    void *p = (void *)1, *q;
    size_t free0, total, pitch;
    OK(cudaMemGetInfo(&free0, &total));
    EXPECT(free0 <= total && total > 0);
    OK(cudaMalloc(&p, 0));
    EXPECT(p == NULL);
    OK(cudaFree(NULL));
    REFUSED(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
    REFUSED(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&p, 100));
    OK(cudaMalloc(&q, 100));
    EXPECT(p && q && p != q && (size_t)p % 256 == 0);
    OK(cudaFree(p));
    REFUSED(cudaFree(p), cudaErrorInvalidValue);
    REFUSED(cudaFree((char *)q + 4), cudaErrorInvalidValue);
    OK(cudaFree(q));
    OK(cudaMallocPitch(&p, &pitch, 100, 10));
    EXPECT(pitch >= 100 && pitch % 32 == 0);
    OK(cudaFree(p));
    cudaPitchedPtr b;
    cudaExtent e = { 100, 5, 3 };
    OK(cudaMalloc3D(&b, e));
    EXPECT(b.ptr && b.pitch >= 100 && b.xsize == 100 && b.ysize == 5);
    OK(cudaFree(b.ptr));
}

static void
copies(void)
{
    unsigned char h[256], back[256], *d, *e;
    for (int i = 0; i < 256; i++)
        h[i] = (unsigned char)(i * 7);
    OK(cudaMalloc((void **)&d, 256));
    OK(cudaMalloc((void **)&e, 256));
    OK(cudaMemcpy(d, h, 256, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(e, d, 256, cudaMemcpyDeviceToDevice));
    memset(back, 0, 256);
    OK(cudaMemcpy(back, e, 256, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(h, back, 256));
    memset(back, 0, 256);
    OK(cudaMemcpy(back, d, 256, cudaMemcpyDefault));
    EXPECT(!memcmp(h, back, 256));
    memset(back, 0, 256);
    OK(cudaMemcpy(back, h, 256, cudaMemcpyHostToHost));
    EXPECT(!memcmp(h, back, 256));
    REFUSED(cudaMemcpy(d, h, 16, (cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    REFUSED(cudaMemcpyAsync(d, h, 16, (cudaMemcpyKind)-1, 0), cudaErrorInvalidMemcpyDirection);
    OK(cudaMemcpy(d, h, 0, cudaMemcpyHostToDevice));
    REFUSED(cudaMemcpy(d, h, 1 << 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemset(d, 0x5a, 256));
    OK(cudaMemset(d + 16, 0x1a5, 8));                /* the value is a byte */
    OK(cudaMemcpy(back, d, 256, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        EXPECT(back[i] == (i >= 16 && i < 24 ? 0xa5 : 0x5a));
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaMemcpyAsync(d, h, 256, cudaMemcpyHostToDevice, s));
    OK(cudaMemsetAsync(d, 9, 1, s));
    OK(cudaMemcpyAsync(e, d, 256, cudaMemcpyDefault, s));
    OK(cudaMemcpyAsync(back, e, 256, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(back[0] == 9 && !memcmp(h + 1, back + 1, 255));
    OK(cudaMemcpyPeer(e, 0, d, 0, 16));
    REFUSED(cudaMemcpyPeer(e, 77, d, 0, 16), cudaErrorInvalidDevice);
    OK(cudaStreamDestroy(s));
    OK(cudaFree(d));
    OK(cudaFree(e));
}

static void
rectangles(void)
{
    unsigned char h[8 * 10], back[8 * 12], *d;
    size_t pitch;
    for (int i = 0; i < 80; i++)
        h[i] = (unsigned char)i;
    OK(cudaMallocPitch((void **)&d, &pitch, 10, 8));
    OK(cudaMemcpy2D(d, pitch, h, 10, 10, 8, cudaMemcpyHostToDevice));
    OK(cudaMemset2D(d + pitch + 2, pitch, 0xee, 3, 2));
    memset(back, 0, sizeof back);
    OK(cudaMemcpy2D(back, 12, d, pitch, 10, 8, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 12; x++)
            EXPECT(back[y * 12 + x] == (x >= 10 ? 0 : (y == 1 || y == 2) && x >= 2 && x < 5 ? 0xee : y * 10 + x));
    REFUSED(cudaMemcpy2D(d, 4, h, 10, 10, 8, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    OK(cudaFree(d));

    /* A box in a box: 4 x 3 x 2 bytes out of 6 x 5 x 4. */
    unsigned char v[6 * 5 * 4], w[4 * 3 * 2];
    cudaPitchedPtr b;
    cudaExtent all = { 6, 5, 4 }, part = { 4, 3, 2 };
    cudaMemcpy3DParms p;
    for (int i = 0; i < 120; i++)
        v[i] = (unsigned char)i;
    OK(cudaMalloc3D(&b, all));
    memset(&p, 0, sizeof p);
    p.srcPtr.ptr = v;
    p.srcPtr.pitch = p.srcPtr.xsize = 6;
    p.srcPtr.ysize = 5;
    p.dstPtr = b;
    p.extent = all;
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    memset(&p, 0, sizeof p);
    p.srcPtr = b;
    p.srcPos.x = 1;
    p.srcPos.y = 2;
    p.srcPos.z = 1;
    p.dstPtr.ptr = w;
    p.dstPtr.pitch = p.dstPtr.xsize = 4;
    p.dstPtr.ysize = 3;
    p.extent = part;
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&p));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 4; x++)
                EXPECT(w[(z * 3 + y) * 4 + x] == ((z + 1) * 5 + y + 2) * 6 + x + 1);
    OK(cudaMemset3D(b, 0x11, part));
    p.srcPos.x = p.srcPos.y = p.srcPos.z = 0;
    OK(cudaMemcpy3D(&p));
    for (int i = 0; i < 24; i++)
        EXPECT(w[i] == 0x11);
    p.kind = cudaMemcpyDeviceToHost;
    p.srcPtr.ptr = NULL;
    REFUSED(cudaMemcpy3D(&p), cudaErrorInvalidValue);
    OK(cudaFree(b.ptr));
}

static void
host_memory(void)
{
    int *p, *d, *mine = (int *)aligned_alloc(4096, 4096);
    unsigned flags = 0;
    OK(cudaHostAlloc((void **)&p, 64 * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
    for (int i = 0; i < 64; i++)
        p[i] = i;
    OK(cudaHostGetDevicePointer((void **)&d, p, 0));
    increment<<<1, 64>>>(d, 64);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        EXPECT(p[i] == i + 1);
    OK(cudaHostGetFlags(&flags, p));
    EXPECT(flags & cudaHostAllocMapped && flags & cudaHostAllocWriteCombined);
    OK(cudaFreeHost(p));
    REFUSED(cudaFreeHost(mine), cudaErrorInvalidValue);
    REFUSED(cudaHostAlloc((void **)&p, 64, 0x100), cudaErrorInvalidValue);
    OK(cudaMallocHost((void **)&p, 16));
    OK(cudaFreeHost(p));
    memset(mine, 0, 4096);
    OK(cudaHostRegister(mine, 4096, cudaHostRegisterMapped));
    REFUSED(cudaHostRegister(mine, 4096, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostGetDevicePointer((void **)&d, mine, 0));
    increment<<<1, 64>>>(d, 64);
    OK(cudaDeviceSynchronize());
    EXPECT(mine[0] == 1 && mine[63] == 1 && mine[64] == 0);
    OK(cudaHostUnregister(mine));
    REFUSED(cudaHostUnregister(mine), cudaErrorHostMemoryNotRegistered);
    free(mine);
}

static void
managed(void)
{
    int *p;
    OK(cudaMallocManaged((void **)&p, 64 * sizeof(int), cudaMemAttachGlobal));
    for (int i = 0; i < 64; i++)
        p[i] = 10 * i;
    increment<<<1, 64>>>(p, 64);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        EXPECT(p[i] == 10 * i + 1);
    OK(cudaFree(p));
    OK(cudaMallocManaged((void **)&p, 0, cudaMemAttachGlobal));
}

static void
pointers(void)
{
    cudaPointerAttributes a;
    int local = 0, *d, *h, *m;
    OK(cudaMalloc((void **)&d, 64));
    OK(cudaMallocHost((void **)&h, 64));
    OK(cudaMallocManaged((void **)&m, 64, cudaMemAttachGlobal));
    OK(cudaPointerGetAttributes(&a, d + 3));
    EXPECT(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == d + 3);
    OK(cudaPointerGetAttributes(&a, h));
    EXPECT(a.type == cudaMemoryTypeHost && a.hostPointer == h && a.devicePointer);
    OK(cudaPointerGetAttributes(&a, m));
    EXPECT(a.type == cudaMemoryTypeManaged && a.hostPointer == m && a.devicePointer == m);
    OK(cudaPointerGetAttributes(&a, &local));
    EXPECT(a.type == cudaMemoryTypeUnregistered && a.device == cudaInvalidDeviceId);
    REFUSED(cudaPointerGetAttributes(NULL, d), cudaErrorInvalidValue);
    OK(cudaFree(d));
    OK(cudaFreeHost(h));
    OK(cudaFree(m));
}

int
main(void)
{
    allocation();
    copies();
    rectangles();
    host_memory();
    managed();
    pointers();
    return test_result();
}
