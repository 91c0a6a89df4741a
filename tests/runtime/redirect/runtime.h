/* SPDX-License-Identifier: Apache-2.0
 * What the test's programs and its two runtimes share. Shapes are those of the CUDA Runtime's documentation. */
#ifndef TEST_REDIRECT_RUNTIME_H
#define TEST_REDIRECT_RUNTIME_H

#include <stddef.h>

struct dim3 { unsigned x, y, z; };
struct extent { size_t width, height, depth; };
struct pitched { void *p; size_t pitch, x, y; };

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *t, void *b, void *bd, void *gd, int *ws);
int cudaMalloc(void **p, size_t n);
int cudaFree(void *p);
int cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream);
int cudaMemcpy2DToArray(void *to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind);
int cudaMalloc3D(struct pitched *p, struct extent e);
int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream);
int cudaSetDevice(int device);
int cudaInitDevice(int device, unsigned flags, unsigned more);
int cudaOnlyStatic(int value);
int cudaGetExportTable(const void **table, const void *id);
const char *cudaGetErrorString(int error);

#endif
