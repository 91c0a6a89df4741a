/* SPDX-License-Identifier: Apache-2.0
 * Matrix products with tiles in shared memory: a static tile, and one whose side is the block's. */
#include "device.h"

#define TILE 16

KERNEL(matmul_tiled)(const float *a, const float *b, float *c, u32 n)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE + 1];
    u32 row = bidy * TILE + tidy, col = bidx * TILE + tidx;
    float sum = 0;
    for (u32 k = 0; k < n; k += TILE) {
        ta[tidy][tidx] = row < n && k + tidx < n ? a[row * n + k + tidx] : 0;
        tb[tidy][tidx] = col < n && k + tidy < n ? b[(k + tidy) * n + col] : 0;
        barrier();
        for (u32 i = 0; i < TILE; i++)
            sum = __builtin_fmaf(ta[tidy][i], tb[i][tidx], sum);
        barrier();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

extern __shared__ float dynamic_tile[];

KERNEL(matmul_dynamic)(const float *a, const float *b, float *c, u32 n)
{
    u32 side = bdimx;
    float *ta = dynamic_tile, *tb = dynamic_tile + side * side;
    u32 row = bidy * side + tidy, col = bidx * side + tidx;
    float sum = 0;
    for (u32 k = 0; k < n; k += side) {
        ta[tidy * side + tidx] = row < n && k + tidx < n ? a[row * n + k + tidx] : 0;
        tb[tidy * side + tidx] = col < n && k + tidy < n ? b[(k + tidy) * n + col] : 0;
        barrier();
        for (u32 i = 0; i < side; i++)
            sum = __builtin_fmaf(ta[tidy * side + i], tb[i * side + tidx], sum);
        barrier();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

KERNEL(matmul_double)(const double *a, const double *b, double *c, u32 n)
{
    u32 row = bidy * bdimy + tidy, col = bidx * bdimx + tidx;
    if (row >= n || col >= n)
        return;
    double sum = 0;
    for (u32 k = 0; k < n; k++)
        sum = __builtin_fma(a[row * n + k], b[k * n + col], sum);
    c[row * n + col] = sum;
}
