/* SPDX-License-Identifier: Apache-2.0
 * A runtime to link statically, in the shape of the one that nvcc links: hidden functions in one section, which load the driver at the
 * first call under a lock and remember if that failed. It says "static NAME" where one of its functions does its work, so that a test
 * sees who did it. */
#define _GNU_SOURCE
#include "tests/runtime/redirect/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef SHARED                       /* a libcudart.so of somebody else's */
#define HIDDEN __attribute__((visibility("default"), noinline))
#else
#define HIDDEN __attribute__((visibility("hidden"), noinline))
#endif

/* The Runtime's errors by name, as a runtime has them. */
static const char *const errors[] = { "cudaSuccess", "cudaErrorInvalidValue", "cudaErrorMemoryAllocation" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int state = -1;
static unsigned registered;

__attribute__((noinline)) static int
open_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    int (*look_up)(const char *, void **, int, unsigned long long, int *) =
        lib ? (int (*)(const char *, void **, int, unsigned long long, int *))dlsym(lib, "cuGetProcAddress_v2") : NULL;
    int (*init)(unsigned) = NULL;
    if (!look_up || look_up("cuInit", (void **)&init, 12000, 0, NULL))
        return 35;                  /* cudaErrorInsufficientDriver */
    return init(0) ? 100 : 0;       /* cudaErrorNoDevice */
}

__attribute__((noinline)) static int
ready(void)
{
    pthread_mutex_lock(&lock);
    if (state < 0)
        state = open_driver();
    int e = state;
    pthread_mutex_unlock(&lock);
    return e;
}

#define READY(name) do { int e = ready(); if (e) return e; said(name); } while (0)

__attribute__((noinline)) static void
said(const char *name)
{
    printf("static %s\n", name);
}

HIDDEN void **
__cudaRegisterFatBinary(void *wrapper)
{
    registered++;
    return (void **)wrapper;
}

HIDDEN void
__cudaRegisterFatBinaryEnd(void **handle)
{
    registered++;
}

HIDDEN void
__cudaUnregisterFatBinary(void **handle)
{
    registered--;
}

HIDDEN void
__cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *t, void *b, void *bd, void *gd, int *ws)
{
    registered += handle != NULL;
}

HIDDEN int
cudaMalloc(void **p, size_t n)
{
    READY("cudaMalloc");
    *p = NULL;
    return n ? 2 : 0;
}

HIDDEN int
cudaFree(void *p)
{
    READY("cudaFree");
    return p ? 1 : 0;
}

HIDDEN int
cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream)
{
    READY("cudaMemcpyAsync");
    return to == from && n && kind && stream ? 1 : 0;
}

HIDDEN int
cudaMemcpy2DToArray(void *to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind)
{
    READY("cudaMemcpy2DToArray");
    return to && from && x + y + pitch + width + height && kind;
}

HIDDEN int
cudaMalloc3D(struct pitched *p, struct extent e)
{
    READY("cudaMalloc3D");
    p->pitch = e.width;
    return e.height + e.depth ? 2 : 0;
}

HIDDEN int
cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream)
{
    READY("cudaLaunchKernel");
    return f && grid.x + grid.y + grid.z + block.x + block.y + block.z && arguments && shared && stream;
}

HIDDEN int
cudaSetDevice(int device)
{
    READY("cudaSetDevice");
    return device != 0;
}

HIDDEN int
cudaInitDevice(int device, unsigned flags, unsigned more)
{
    READY("cudaInitDevice");
    return device || flags || more;
}

HIDDEN int
cudaOnlyStatic(int value)
{
    READY("cudaOnlyStatic");
    return value;
}

HIDDEN int
cudaGetExportTable(const void **table, const void *id)
{
    *table = id;
    return 801;
}

HIDDEN const char *
cudaGetErrorString(int error)
{
    return error >= 0 && error < 3 ? errors[error] : "?";
}
