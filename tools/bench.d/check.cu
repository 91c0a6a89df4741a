/* SPDX-License-Identifier: Apache-2.0
 * Kernels for measuring what the checkers cost (check.c): the usual ways in which kernels use memory, each without a fault. */
#include "tests/cuda/device.h"

#define TILE 16

/* c = a * b, n a multiple of 16: one element a thread. */
KERNEL(product)(const float *a, const float *b, float *c, u32 n)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    u32 row = bidy * TILE + tidy, col = bidx * TILE + tidx;
    float sum = 0;
    for (u32 k = 0; k < n; k += TILE) {
        ta[tidy][tidx] = a[row * n + k + tidx];
        tb[tidy][tidx] = b[(k + tidy) * n + col];
        barrier();
        for (u32 i = 0; i < TILE; i++)
            sum = __builtin_fmaf(ta[tidy][i], tb[i][tidx], sum);
        barrier();
    }
    c[row * n + col] = sum;
}

/* Sums of blocks of 256 threads: a tree in shared memory. */
KERNEL(reduction)(const float *x, float *out, u32 n)
{
    __shared__ float part[256];
    float sum = 0;
    for (u32 i = global_x; i < n; i += bdimx * gdimx)
        sum += x[i];
    part[tidx] = sum;
    barrier();
    for (u32 d = 128; d; d /= 2) {
        if (tidx < d)
            part[tidx] += part[tidx + d];
        barrier();
    }
    if (tidx == 0)
        out[bidx] = part[0];
}

/* 256 bins, blocks of 256 threads. */
KERNEL(histogram)(const u32 *x, u32 *bins, u32 n)
{
    __shared__ u32 local[256];
    local[tidx] = 0;
    barrier();
    for (u32 i = global_x; i < n; i += bdimx * gdimx)
        __nvvm_atom_add_gen_i((int *)&local[x[i] & 255], 1);
    barrier();
    __nvvm_atom_add_gen_i((int *)&bins[tidx], (int)local[tidx]);
}

/* Five points of a square of n * n. */
KERNEL(stencil)(const float *in, float *out, u32 n)
{
    u32 x = global_x, y = bidy * bdimy + tidy;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1)
        return;
    const float *p = in + y * n + x;
    out[y * n + x] = __builtin_fmaf(0.1f, p[-1] + p[1] + p[-(i64)n] + p[n], 0.6f * p[0]);
}

KERNEL(add)(const float *x, const float *y, float *z, u32 n)
{
    u32 i = global_x;
    if (i < n)
        z[i] = x[i] + y[i];
}

/* Sums up to each element, in blocks of 256 threads: Hillis and Steele's, in two buffers. */
KERNEL(scan)(const u32 *x, u32 *out)
{
    __shared__ u32 s[2][256];
    u32 from = 0;
    s[0][tidx] = x[global_x];
    barrier();
    for (u32 d = 1; d < 256; d *= 2) {
        s[from ^ 1][tidx] = s[from][tidx] + (tidx >= d ? s[from][tidx - d] : 0);
        from ^= 1;
        barrier();
    }
    out[global_x] = s[from][tidx];
}

/* Sorts 512 elements a block of 256 threads: bitonic, in shared memory. */
KERNEL(sort)(const u32 *x, u32 *out)
{
    __shared__ u32 s[512];
    u32 base = bidx * 512;
    s[tidx] = x[base + tidx];
    s[tidx + 256] = x[base + tidx + 256];
    barrier();
    for (u32 k = 2; k <= 512; k *= 2)
        for (u32 j = k / 2; j; j /= 2) {
            u32 i = 2 * tidx - (tidx & (j - 1)), a = s[i], b = s[i + j];
            if ((a > b) == ((i & k) == 0)) {
                s[i] = b;
                s[i + j] = a;
            }
            barrier();
        }
    out[base + tidx] = s[tidx];
    out[base + tidx + 256] = s[tidx + 256];
}

/* The whole grid adds to what it reads by a table: addresses that no analysis foresees. */
KERNEL(gather)(const float *x, const u32 *at, float *out, u32 n)
{
    u32 i = global_x;
    float sum = 0;
    for (u32 k = 0; k < 8; k++)
        sum += x[at[(i + k * 1024) % n]];
    out[i] = sum;
}
