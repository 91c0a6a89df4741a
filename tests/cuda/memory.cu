/* SPDX-License-Identifier: Apache-2.0
 * Memory other than plain global buffers: local arrays, constants, module variables with initialisers, static shared. */
#include "device.h"

/* A permutation sorted in a local array that is indexed by data. */
KERNEL(local_array)(const u32 *in, u32 *out, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    u32 v[24], seed = in[i];
    for (u32 k = 0; k < 24; k++) {
        seed = seed * 1664525u + 1013904223u;
        v[k] = seed >> 8;
    }
    for (u32 a = 1; a < 24; a++) {
        u32 x = v[a], b = a;
        for (; b > 0 && v[b - 1] > x; b--)
            v[b] = v[b - 1];
        v[b] = x;
    }
    out[2 * i] = v[seed % 24];
    out[2 * i + 1] = v[0] ^ v[23];
}

__constant__ float coefficients[8] = { 1, -2, 3, -4, 5, -6, 7, -8 };
__constant__ u32 selector = 3;

KERNEL(constant_memory)(const float *in, float *out, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    float x = in[i], y = 0;
    for (u32 k = 0; k < 8; k++)
        y = __builtin_fmaf(y, x, coefficients[k]);
    out[i] = y + coefficients[(i + selector) & 7];
}

__device__ u32 counter = 40;
__device__ u8 bytes[6] = { 1, 2, 4, 8, 16, 32 };
__device__ double weights[2][3] = { { 0.5, 1.5, 2.5 }, { -1, -2, -3 } };
__device__ u8 *inside = &bytes[2];
__device__ struct {
    i16 a;
    double *w;
    u32 *c;
    const char *text;
} linked = { -7, &weights[1][1], &counter, "constant text" };

KERNEL(module_variables)(double *out, u32 text_at)
{
    if (tidx == 0) {
        out[0] = counter;
        out[1] = inside[0] + inside[3];
        out[2] = *linked.w + linked.w[-3];
        out[3] = linked.a;
        out[4] = linked.text[text_at];
        counter += 2;
        *linked.c *= 3;
        inside[1] = 99;
    }
    barrier();
    out[5 + tidx] = bytes[tidx % 6];
}

struct cell {
    i16 x;
    u8 y;
    double z;
};

KERNEL(shared_struct)(const i32 *in, double *out)
{
    __shared__ struct cell cells[130];
    __shared__ u32 used;
    if (tidx == 0)
        used = 0;
    barrier();
    struct cell *mine = &cells[(tidx * 7) % bdimx];
    i32 v = in[global_x];
    if (bdimx % 7) {
        mine->x = (i16)v;
        mine->y = (u8)(v >> 3);
        mine->z = v * 0.25;
    }
    barrier();
    __nvvm_atom_add_gen_i((i32 *)&used, 1);
    barrier();
    struct cell c = cells[tidx];
    out[global_x] = bdimx % 7 ? c.x + c.y * 2.0 + c.z + used : used;
}
