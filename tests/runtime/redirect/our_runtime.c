/* SPDX-License-Identifier: Apache-2.0
 * A libcudart.so.13 to redirect to: it says "ours NAME ARGUMENTS" and succeeds. It has no cudaOnlyStatic. */
#include "tests/runtime/redirect/runtime.h"

#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void **
__cudaRegisterFatBinary(void *wrapper)
{
    printf("ours __cudaRegisterFatBinary %x\n", *(unsigned *)wrapper);
    return (void **)wrapper;
}

EXPORT void
__cudaRegisterFatBinaryEnd(void **handle)
{
    printf("ours __cudaRegisterFatBinaryEnd\n");
}

EXPORT void
__cudaUnregisterFatBinary(void **handle)
{
}

EXPORT void
__cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *t, void *b, void *bd, void *gd, int *ws)
{
    printf("ours __cudaRegisterFunction %s %d %d\n", name, limit, ws != NULL);
}

EXPORT int
cudaMalloc(void **p, size_t n)
{
    printf("ours cudaMalloc %zu\n", n);
    *p = (void *)0x1000;
    return 0;
}

EXPORT int
cudaFree(void *p)
{
    printf("ours cudaFree %p\n", p);
    return 0;
}

EXPORT int
cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream)
{
    printf("ours cudaMemcpyAsync %p %p %zu %d %p\n", to, from, n, kind, stream);
    return 0;
}

EXPORT int
cudaMemcpy2DToArray(void *to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind)
{
    printf("ours cudaMemcpy2DToArray %p %zu %zu %p %zu %zu %zu %d\n", to, x, y, from, pitch, width, height, kind);
    return 0;
}

EXPORT int
cudaMalloc3D(struct pitched *p, struct extent e)
{
    printf("ours cudaMalloc3D %zu %zu %zu\n", e.width, e.height, e.depth);
    p->p = (void *)0x2000;
    return 0;
}

EXPORT int
cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream)
{
    printf("ours cudaLaunchKernel %p %u,%u,%u %u,%u,%u %d %zu %p\n", f, grid.x, grid.y, grid.z, block.x, block.y, block.z, *(int *)arguments[0], shared, stream);
    return 0;
}

EXPORT int
cudaSetDevice(int device)
{
    printf("ours cudaSetDevice %d\n", device);
    return 0;
}

EXPORT int
cudaInitDevice(int device, unsigned flags, unsigned more)
{
    printf("ours cudaInitDevice %d %u %u\n", device, flags, more);
    return 0;
}

EXPORT int
cudaGetExportTable(const void **table, const void *id)
{
    return 801;
}

EXPORT const char *
cudaGetErrorString(int error)
{
    return "ours";
}
