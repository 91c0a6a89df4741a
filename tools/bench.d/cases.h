/* SPDX-License-Identifier: Apache-2.0
 * The kernels of nvptx.cu: sizes, inputs and parameters, for the programs that run them (nvptx.c, amd.c). */
#ifndef CW_BENCH_CASES_H
#define CW_BENCH_CASES_H

#include "tools/bench.d/bench.h"
#include "tools/bench.d/driver.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MAX_BUFFERS = 3, CASES = 11 };

struct bench {
    const char *name;
    unsigned grid[2], block[2];
    size_t size[MAX_BUFFERS];   /* bytes; 0: no buffer */
    bool ints;                  /* the input is random bits, not floats in [0, 1) */
    unsigned result;            /* which buffer the kernel writes; cleared before it runs */
    bool keeps;                 /* it adds to what is there: not cleared but filled */
    int order;                  /* how scalars follow the buffers: 0 none, 1 n, 2 a and n */
    uint32_t n;
};

static inline void
fill(CUdeviceptr p, size_t size, bool ints)
{
    uint32_t x = 12345, *v = malloc(size);
    if (!v)
        exit(1);
    for (size_t i = 0; i < size / 4; i++) {
        x = x * 1664525u + 1013904223u;
        float f = (float)(x >> 8) / 16777216.0f;
        memcpy(&v[i], ints ? (void *)&x : (void *)&f, 4);
    }
    cuMust(cuMemcpyHtoD_v2(p, v, size));
    free(v);
}

static inline void
roots(CUdeviceptr p)
{
    float w[1024][2];
    for (int i = 0; i < 1024; i++) {
        w[i][0] = (float)cos(2 * M_PI * i / 1024);
        w[i][1] = (float)-sin(2 * M_PI * i / 1024);
    }
    cuMust(cuMemcpyHtoD_v2(p, w, sizeof w));
}

/* All of them, with the work divided by `s`. */
static inline void
cases(struct bench out[CASES], unsigned s)
{
    unsigned m = s > 1 ? 128 : 4096, bodies = s > 1 ? 512 : 65536, cube = s > 1 ? 32 : 512, side = s > 1 ? 128 : 8192;
    uint32_t n = (64u << 20) / s;
    size_t z = (size_t)m * m * 4;
    const struct bench all[CASES] = {
        { "copy", { 132 * 16 / s + 1, 1 }, { 256, 1 }, { (size_t)n * 4, (size_t)n * 4 }, .result = 1, .order = 1, .n = n / 4 },
        { "saxpy", { n / 256, 1 }, { 256, 1 }, { (size_t)n * 4, (size_t)n * 4 }, .result = 1, .keeps = true, .order = 2, .n = n },
        { "matmul_tiled", { m / 32, m / 32 }, { 32, 32 }, { z, z, z }, .result = 2, .order = 1, .n = m },
        { "matmul_register", { m / 128, m / 128 }, { 256, 1 }, { z, z, z }, .result = 2, .order = 1, .n = m },
        { "reduction", { 1056 / s + 1, 1 }, { 256, 1 }, { (size_t)n * 4, (1056 / s + 1) * 4 }, .result = 1, .order = 1, .n = n },
        { "histogram", { 1056 / s + 1, 1 }, { 256, 1 }, { (size_t)n * 4, 1024 }, .ints = true, .result = 1, .order = 1, .n = n },
        { "nbody", { bodies / 256, 1 }, { 256, 1 }, { bodies * 16, bodies * 16 }, .result = 1, .order = 1, .n = bodies },
        { "stencil", { cube / 32, cube / 8 }, { 32, 8 }, { (size_t)cube * cube * cube * 4, (size_t)cube * cube * cube * 4 }, .result = 1,
          .order = 1, .n = cube },
        { "transposition", { side / 32, side / 32 }, { 32, 8 }, { (size_t)side * side * 4, (size_t)side * side * 4 }, .result = 1,
          .order = 1, .n = side },
        { "softmax", { side / 2, 1 }, { 256, 1 }, { (size_t)side * side * 2, (size_t)side * side * 2 }, .result = 1, .order = 1, .n = side },
        { "fft", { 16384 / s + 1, 1 }, { 256, 1 }, { (size_t)(16384 / s + 1) * 8192, (size_t)(16384 / s + 1) * 8192, 8192 }, .result = 1 },
    };
    memcpy(out, all, sizeof all);
}

#endif
