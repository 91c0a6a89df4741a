/* SPDX-License-Identifier: Apache-2.0
 * The loops of tests/cuda's matmul_tiled, nbody and mandelbrot kernels as one writes them in C with OpenMP. */
#include "tools/bench.d/loops.h"

#include <math.h>
#include <string.h>

void
c_matmul(const float *restrict a, const float *restrict b, float *restrict c, unsigned n)
{
    #pragma omp parallel for
    for (unsigned i = 0; i < n; i++) {
        memset(c + (size_t)i * n, 0, n * sizeof *c);
        for (unsigned k = 0; k < n; k++) {
            float x = a[(size_t)i * n + k];
            for (unsigned j = 0; j < n; j++)
                c[(size_t)i * n + j] += x * b[(size_t)k * n + j];
        }
    }
}

#define TILE 16

/* The kernel's own tiling. n is a multiple of the tile. */
void
c_matmul_tiled(const float *restrict a, const float *restrict b, float *restrict c, unsigned n)
{
    #pragma omp parallel for
    for (unsigned i0 = 0; i0 < n; i0 += TILE)
        for (unsigned j0 = 0; j0 < n; j0 += TILE) {
            float sum[TILE][TILE] = { 0 };
            for (unsigned k0 = 0; k0 < n; k0 += TILE)
                for (unsigned i = 0; i < TILE; i++)
                    for (unsigned k = 0; k < TILE; k++) {
                        float x = a[(size_t)(i0 + i) * n + k0 + k];
                        for (unsigned j = 0; j < TILE; j++)
                            sum[i][j] += x * b[(size_t)(k0 + k) * n + j0 + j];
                    }
            for (unsigned i = 0; i < TILE; i++)
                memcpy(c + (size_t)(i0 + i) * n + j0, sum[i], sizeof sum[i]);
        }
}

/* x, y, z and mass in, four floats a body. */
void
c_nbody(const float *restrict in, float *restrict out, unsigned n, float softening)
{
    #pragma omp parallel for
    for (unsigned i = 0; i < n; i++) {
        float x = in[4 * i], y = in[4 * i + 1], z = in[4 * i + 2], ax = 0, ay = 0, az = 0;
        #pragma omp simd reduction(+ : ax, ay, az)
        for (unsigned k = 0; k < n; k++) {
            float dx = in[4 * k] - x, dy = in[4 * k + 1] - y, dz = in[4 * k + 2] - z;
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float s = in[4 * k + 3] * r * r * r;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        out[4 * i] = ax;
        out[4 * i + 1] = ay;
        out[4 * i + 2] = az;
        out[4 * i + 3] = 0;
    }
}

void
c_mandelbrot(unsigned *out, unsigned width, unsigned height, float x0, float y0, float step, unsigned limit)
{
    #pragma omp parallel for schedule(dynamic)
    for (unsigned py = 0; py < height; py++)
        for (unsigned px = 0; px < width; px++) {
            float cx = x0 + (float)px * step, cy = y0 + (float)py * step, x = 0, y = 0;
            unsigned n = 0;
            while (n < limit && x * x + y * y <= 4.0f) {
                float t = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = t;
                n++;
            }
            out[py * width + px] = n;
        }
}
