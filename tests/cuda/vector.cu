/* SPDX-License-Identifier: Apache-2.0
 * One thread an element: arithmetic of each width, guards that leave warps partly idle, parameters of every shape. */
#include "device.h"

KERNEL(vec_add)(const float *a, const float *b, float *out, u32 n)
{
    u32 i = global_x;
    if (i < n)
        out[i] = a[i] + b[i];
}

/* Only every third thread works: every warp is partly idle. */
KERNEL(vec_add_sparse)(const float *a, const float *b, float *out, u32 n)
{
    u32 i = global_x;
    if (i >= n || i % 3 != 1)
        return;
    out[i] = __builtin_fmaf(a[i], b[i], 1.0f);
}

KERNEL(saxpy_strided)(float alpha, const float *x, float *y, u32 n)
{
    for (u32 i = global_x; i < n; i += gdimx * bdimx)
        y[i] = __builtin_fmaf(alpha, x[i], y[i]);
}

KERNEL(daxpy)(double alpha, const double *x, double *y, u32 n)
{
    u32 i = global_x;
    if (i < n)
        y[i] = alpha * x[i] / (1.0 + y[i] * y[i]) - __nvvm_sqrt_rn_d(x[i] * x[i] + 2.0);
}

KERNEL(int64)(const i64 *a, const i64 *b, i64 *out, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    i64 x = a[i], y = b[i];
    u64 ux = (u64)x, uy = (u64)y;
    i64 *o = out + 8ul * i;
    o[0] = (i64)(ux * uy);
    o[1] = y == 0 ? -1 : (i64)(ux / uy);
    o[2] = y == 0 || (y == -1 && ux == (u64)1 << 63) ? -1 : x % y;
#ifdef __SIZEOF_INT128__
    o[3] = (i64)(((unsigned __int128)ux * uy) >> 64);
#else
    o[3] = (i64)__nvvm_mulhi_ull(ux, uy);
#endif
    o[4] = x >> (uy & 63);
    o[5] = (i64)(ux << (uy & 63));
    o[6] = (i64)((u64)__builtin_popcountll(ux) * 65 + (x == 0 ? 64 : __builtin_clzll(ux)));
    o[7] = x < y ? x - y : y - x;
}

KERNEL(int32)(const i32 *a, const i32 *b, i32 *out, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    i32 x = a[i], y = b[i];
    u32 ux = (u32)x, uy = (u32)y;
    i32 *o = out + 8ul * i;
    o[0] = (i32)(ux * uy + 7u);
    o[1] = y == 0 || (y == -1 && ux == 0x80000000u) ? -1 : x / y;
    o[2] = (i32)(uy == 0 ? ux : ux % uy);
    o[3] = (i32)(((u64)ux * uy) >> 32);
    o[4] = (i32)__builtin_bitreverse32(ux);
    o[5] = (i32)((ux << (uy & 31)) | (ux >> (-uy & 31)));
    o[6] = (i8)x + (i16)y + (u8)y;
    o[7] = (x > y ? x : y) ^ (ux < uy ? x : y);
}

struct shape {
    u8 kind;
    i16 bias;
    float scale[3];
    double offset;
    struct {
        u32 first, count;
    } range;
    const float *table;
};

KERNEL(struct_param)(u8 before, struct shape s, float *out, u16 after)
{
    u32 i = global_x;
    if (i < s.range.first || i >= s.range.first + s.range.count)
        return;
    out[i] = s.table[i] * s.scale[i % 3] + (float)s.offset + (float)(s.bias + s.kind + before + after);
}

/* A block's and a grid's three dimensions, each index written where a linear reading of them says. */
KERNEL(index_3d)(u32 *out)
{
    u32 t = (tidz * bdimy + tidy) * bdimx + tidx;
    u32 b = (bidz * gdimy + bidy) * gdimx + bidx;
    u32 *o = out + 3ul * (b * (bdimx * bdimy * bdimz) + t);
    o[0] = tidx | tidy << 8 | tidz << 16;
    o[1] = bidx | bidy << 8 | bidz << 16;
    o[2] = lane_id() | gdimx << 8 | gdimy << 16 | gdimz << 24;
}

KERNEL(convert)(const float *in, i32 *out, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    float f = in[i];
    i32 *o = out + 8ul * i;
    o[0] = (i32)f;
    o[1] = (i32)__nvvm_f2i_rn(f);
    o[2] = (i32)__nvvm_f2i_rm(f);
    o[3] = (i32)__nvvm_f2i_rp(f);
    o[4] = (i32)(i8)(i32)f;
    double d = (double)f * 3.0;
    o[5] = (i32)d;
    float back = (float)(i32)d;
    o[6] = __builtin_bit_cast(i32, back);
    float r = 1.0f / (f + 1000.0f);
    o[7] = __builtin_bit_cast(i32, r);
}

/* Vector loads and stores, and narrow types. */
KERNEL(wide)(const float4v *in, float4v *out, const u8x4 *pixels, u8x4 *shuffled, const u16 *narrow, i16 *negated, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    float4v v = in[i];
    out[i] = v.wzyx * 2.0f + v;
    u8x4 p = pixels[i];
    shuffled[i] = p.yxwz + (u8x4)(1);
    negated[i] = (i16)-narrow[i];
}
