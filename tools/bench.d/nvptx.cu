/* SPDX-License-Identifier: Apache-2.0
 * Kernels for comparing a program's PTX with what CUDAway makes of it, on the same NVIDIA GPU (nvptx.c): compiled by clang to
 * PTX with no CUDA toolkit. Each is an ordinary, reasonably tuned form of its kind. */
#include "tests/cuda/device.h"

KERNEL(copy)(const float4v *from, float4v *to, u32 n)
{
    for (u32 i = global_x; i < n; i += bdimx * gdimx)
        to[i] = from[i];
}

KERNEL(saxpy)(const float *x, float *y, float a, u32 n)
{
    u32 i = global_x;
    if (i < n)
        y[i] = __builtin_fmaf(a, x[i], y[i]);
}

#define TILE 32

/* c = a * b, n a multiple of 32: 32 x 32 tiles, one element a thread. */
KERNEL(matmul_tiled)(const float *a, const float *b, float *c, u32 n)
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

/* 128 x 128 of c by 256 threads, 8 x 8 a thread in registers; n a multiple of 128. */
KERNEL(matmul_register)(const float *a, const float *b, float *c, u32 n)
{
    __shared__ float ta[8][128], tb[8][128];
    u32 t = tidx, tx = t % 16, ty = t / 16;
    float sum[8][8] = {};
    const float *pa = a + (bidy * 128 + t / 2) * n + (t % 2) * 4;
    const float *pb = b + (t / 32) * n + bidx * 128 + (t % 32) * 4;
    for (u32 k = 0; k < n; k += 8) {
        float4v va = *(const float4v *)pa, vb = *(const float4v *)pb;
        barrier();
        for (u32 i = 0; i < 4; i++)
            ta[(t % 2) * 4 + i][t / 2] = va[i];
        *(float4v *)&tb[t / 32][(t % 32) * 4] = vb;
        barrier();
        pa += 8;
        pb += 8 * n;
#pragma unroll
        for (u32 i = 0; i < 8; i++) {
            float4v x0 = *(float4v *)&ta[i][ty * 8], x1 = *(float4v *)&ta[i][ty * 8 + 4];
            float4v y0 = *(float4v *)&tb[i][tx * 4], y1 = *(float4v *)&tb[i][64 + tx * 4];
#pragma unroll
            for (u32 r = 0; r < 8; r++)
#pragma unroll
                for (u32 q = 0; q < 8; q++)
                    sum[r][q] = __builtin_fmaf(r < 4 ? x0[r & 3] : x1[r & 3], q < 4 ? y0[q & 3] : y1[q & 3], sum[r][q]);
        }
    }
#pragma unroll
    for (u32 r = 0; r < 8; r++) {
        float *p = c + (bidy * 128 + ty * 8 + r) * n + bidx * 128 + tx * 4;
        *(float4v *)p = (float4v){ sum[r][0], sum[r][1], sum[r][2], sum[r][3] };
        *(float4v *)(p + 64) = (float4v){ sum[r][4], sum[r][5], sum[r][6], sum[r][7] };
    }
}

/* Sums of blocks of 256 threads; out has one element a block. */
KERNEL(reduction)(const float *x, float *out, u32 n)
{
    __shared__ float part[8];
    float sum = 0;
    for (u32 i = global_x; i < n; i += bdimx * gdimx)
        sum += x[i];
    for (u32 d = 16; d; d /= 2)
        sum += shfl_down_f(0xffffffff, sum, d);
    if (lane_id() == 0)
        part[tidx / 32] = sum;
    barrier();
    if (tidx < 32) {
        sum = tidx < 8 ? part[tidx] : 0;
        for (u32 d = 4; d; d /= 2)
            sum += shfl_down_f(0xffffffff, sum, d);
        if (tidx == 0)
            out[bidx] = sum;
    }
}

KERNEL(histogram)(const u32 *x, u32 *bins, u32 n)
{
    __shared__ u32 local[256];
    local[tidx] = 0;
    barrier();
    for (u32 i = global_x; i < n; i += bdimx * gdimx) {
        u32 v = x[i];
        __nvvm_atom_add_gen_i((int *)&local[v & 255], 1);
        __nvvm_atom_add_gen_i((int *)&local[v >> 8 & 255], 1);
    }
    barrier();
    __nvvm_atom_add_gen_i((int *)&bins[tidx], (int)local[tidx]);
}

KERNEL(nbody)(const float4v *body, float4v *force, u32 n)
{
    __shared__ float4v tile[256];
    float4v me = body[global_x];
    float fx = 0, fy = 0, fz = 0;
    for (u32 k = 0; k < n; k += 256) {
        tile[tidx] = body[k + tidx];
        barrier();
#pragma unroll 8
        for (u32 i = 0; i < 256; i++) {
            float4v b = tile[i];
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            float r = __nvvm_rsqrt_approx_f(__builtin_fmaf(dx, dx, __builtin_fmaf(dy, dy, __builtin_fmaf(dz, dz, 1e-6f))));
            float s = b.w * r * r * r;
            fx = __builtin_fmaf(dx, s, fx);
            fy = __builtin_fmaf(dy, s, fy);
            fz = __builtin_fmaf(dz, s, fz);
        }
        barrier();
    }
    force[global_x] = (float4v){ fx, fy, fz, 0 };
}

/* Seven points of a cube of n * n * n, n a multiple of 32; each thread walks along z. */
KERNEL(stencil)(const float *in, float *out, u32 n)
{
    u32 x = global_x, y = bidy * bdimy + tidy;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1)
        return;
    const float *p = in + y * n + x;
    float below = p[0], here = p[n * n];
    for (u32 z = 1; z < n - 1; z++) {
        u32 at = z * n * n;
        float above = p[at + n * n];
        float around = p[at - 1] + p[at + 1] + p[at - n] + p[at + n];
        out[at + y * n + x] = __builtin_fmaf(0.1f, around + below + above, 0.4f * here);
        below = here;
        here = above;
    }
}

KERNEL(transposition)(const float *in, float *out, u32 n)
{
    __shared__ float tile[32][33];
    u32 x = bidx * 32 + tidx, y = bidy * 32 + tidy;
    for (u32 i = 0; i < 32; i += 8)
        tile[tidy + i][tidx] = in[(y + i) * n + x];
    barrier();
    x = bidy * 32 + tidx;
    y = bidx * 32 + tidy;
    for (u32 i = 0; i < 32; i += 8)
        out[(y + i) * n + x] = tile[tidx][tidy + i];
}

/* A row a block of 256 threads. */
KERNEL(softmax)(const float *in, float *out, u32 n)
{
    __shared__ float part[8];
    const float *row = in + (u64)bidx * n;
    float top = -__builtin_inff(), sum = 0;
    for (u32 i = tidx; i < n; i += 256)
        top = __builtin_fmaxf(top, row[i]);
    for (u32 d = 16; d; d /= 2)
        top = __builtin_fmaxf(top, __nvvm_shfl_sync_bfly_f32(0xffffffff, top, d, 31));
    if (lane_id() == 0)
        part[tidx / 32] = top;
    barrier();
    for (u32 i = 0; i < 8; i++)
        top = __builtin_fmaxf(top, part[i]);
    barrier();
    for (u32 i = tidx; i < n; i += 256)
        sum += __nvvm_ex2_approx_f((row[i] - top) * 1.44269504f);
    for (u32 d = 16; d; d /= 2)
        sum += __nvvm_shfl_sync_bfly_f32(0xffffffff, sum, d, 31);
    if (lane_id() == 0)
        part[tidx / 32] = sum;
    barrier();
    sum = 0;
    for (u32 i = 0; i < 8; i++)
        sum += part[i];
    for (u32 i = tidx; i < n; i += 256)
        out[(u64)bidx * n + i] = __nvvm_ex2_approx_f((row[i] - top) * 1.44269504f) / sum;
}

/* 1024-point complex FFTs, one a block of 256 threads, radix 4 in shared memory (Stockham). */
KERNEL(fft)(const float2v *in, float2v *out, const float2v *roots)
{
    __shared__ float2v s[2][1024];
    u32 t = tidx;
    for (u32 i = 0; i < 4; i++)
        s[0][t + 256 * i] = in[(u64)bidx * 1024 + t + 256 * i];
    barrier();
    u32 from = 0;
    for (u32 len = 1; len < 1024; len *= 4) {
        u32 k = t & (len - 1), step = 256 / len;
        float2v v[4];
        for (u32 i = 0; i < 4; i++) {
            float2v x = s[from][t + 256 * i], w = roots[(i * k * step) & 1023];
            v[i] = (float2v){ x.x * w.x - x.y * w.y, x.x * w.y + x.y * w.x };
        }
        float2v a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
        u32 j = (t - k) * 4 + k;
        s[from ^ 1][j] = a + c;
        s[from ^ 1][j + len] = (float2v){ b.x + d.y, b.y - d.x };
        s[from ^ 1][j + 2 * len] = a - c;
        s[from ^ 1][j + 3 * len] = (float2v){ b.x - d.y, b.y + d.x };
        from ^= 1;
        barrier();
    }
    for (u32 i = 0; i < 4; i++)
        out[(u64)bidx * 1024 + t + 256 * i] = s[from][t + 256 * i];
}
