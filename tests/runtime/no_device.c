/* SPDX-License-Identifier: Apache-2.0
 * Without a device: versions and texts are there, everything else says cudaErrorNoDevice. */
#include "impl/api/cuda_runtime.h"

#include <stdio.h>
#include <string.h>

static int failures;
#define EXPECT(what)                                                                                                        \
    do {                                                                                                                    \
        if (!(what)) {                                                                                                      \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                                              \
            failures++;                                                                                                     \
        }                                                                                                                   \
    } while (0)

int
main(void)
{
    int version = 0, count = 5;
    void *p = NULL;

    EXPECT(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
    EXPECT(cudaRuntimeGetVersion(&version) == cudaSuccess && version == 13000);
    EXPECT(cudaDriverGetVersion(&version) == cudaSuccess && version >= 13000);
    EXPECT(cudaGetLastError() == cudaSuccess);
    EXPECT(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0);
    EXPECT(cudaMalloc(&p, 16) == cudaErrorNoDevice && !p);
    EXPECT(cudaSetDevice(0) == cudaErrorNoDevice);
    EXPECT(cudaGetLastError() == cudaErrorNoDevice && cudaGetLastError() == cudaSuccess);
    return failures != 0;
}
