/* SPDX-License-Identifier: Apache-2.0
 * Kernels for the GPU-less AMD device, compiled by clang straight to each processor: no code of this project takes part.
 * test_clang.c has each of them a second time in C, and compares. Every kernel gets out, in, n. */
#define ID (__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x())
#define LID __builtin_amdgcn_workitem_id_x()
#define BARRIER() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
typedef unsigned int u32;
typedef unsigned long u64;
#define KERNEL __attribute__((reqd_work_group_size(256, 1, 1))) __kernel void

KERNEL saxpy(__global float *d, __global const float *a, u32 n)
{
    u32 i = ID;
    if (i < n)
        d[i] = 2.5f * a[i] + a[n - 1 - i];
}

KERNEL integers(__global u32 *d, __global const u32 *a, u32 n)
{
    u32 i = ID;
    if (i >= n)
        return;
    u32 x = a[i], y = a[(i + 1) % n] | 1;
    int sx = (int)x, sy = (int)y;
    u32 r = x / y + (x % y) * 3;
    r ^= (u32)(sx / (sy | 2)) + (u32)(sx % (sy | 2));
    r += (u32)(((u64)x * y) >> 32) ^ (u32)(((long)sx * sy) >> 32);
    r = (r << (x & 31)) | (r >> (y & 31));
    r += __builtin_popcount(x) * 5 + (x ? __builtin_clz(x) : 32) * 7 + (x ? __builtin_ctz(x) : 32) * 11;
    r ^= __builtin_bitreverse32(x) + (u32)(sx >> 3) + (x & 0xffff) * (y >> 16);
    r += sx < sy ? (u32)sx : (u32)sy;
    r ^= x > y ? x : y;
    d[i] = r;
}

KERNEL longs(__global u64 *d, __global const u64 *a, u32 n)
{
    u32 i = ID;
    if (i >= n)
        return;
    u64 x = a[i], y = a[(i + 3) % n] | 1;
    long sx = (long)x, sy = (long)y;
    u64 r = x * y + (x / y) - (x % y);
    r ^= (u64)(sx / (sy | 2)) + (u64)(sx >> (y & 63)) + (x << (y & 63)) + (x >> (y & 63));
    r += sx < sy ? 17 : 23;
    r ^= x > y ? x - y : y - x;
    r += __builtin_popcountl(x) + (x ? __builtin_clzl(x) : 64) + (x ? __builtin_ctzl(x) : 64);
    d[i] = r;
}

KERNEL floats(__global float *d, __global const float *a, u32 n)
{
    u32 i = ID;
    if (i >= n)
        return;
    float x = a[i], y = a[(i + 1) % n];
    float r = x / y + __builtin_sqrtf(__builtin_fabsf(x)) - __builtin_floorf(y) + __builtin_ceilf(x) * 0.5f;
    r += __builtin_truncf(x * 3) + __builtin_rintf(y * 3) + __builtin_fmaf(x, y, r);
    r += __builtin_fminf(x, y) * __builtin_fmaxf(x, 1.0f) + (float)(int)(x * 100) + (float)(u32)(__builtin_fabsf(y) * 100);
    r += __builtin_copysignf(x, y) + __builtin_ldexpf(y, (int)(i % 7) - 3);
    d[i] = x < y ? r : -r;
}

KERNEL doubles(__global double *d, __global const double *a, u32 n)
{
    u32 i = ID;
    if (i >= n)
        return;
    double x = a[i], y = a[(i + 1) % n];
    double r = x / y + __builtin_sqrt(__builtin_fabs(x)) - __builtin_floor(y) + __builtin_ceil(x) * 0.5;
    r += __builtin_trunc(x * 3) + __builtin_rint(y * 3) + __builtin_fma(x, y, r);
    r += __builtin_fmin(x, y) + __builtin_fmax(x, 1.0) + (double)(int)(x * 100) + (double)(long)(y * 1e6) + (float)x;
    d[i] = x < y ? r : -r;
}

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
KERNEL halves(__global half *d, __global const half *a, u32 n)
{
    u32 i = ID;
    if (i >= n)
        return;
    half x = a[i], y = a[(i + 1) % n];
    half2 p = { x, y }, q = { y, x };
    half2 r = p * q + p;
    d[i] = x * y + (x - y) + r.x - r.y + (half)(float)(x > y ? x : y);
}

KERNEL reduce(__global u32 *d, __global const u32 *a, u32 n)
{
    __local u32 s[256];
    u32 i = ID, l = LID;
    s[l] = i < n ? a[i] : 0;
    BARRIER();
    for (u32 k = 128; k; k >>= 1) {
        if (l < k)
            s[l] += s[l + k];
        BARRIER();
    }
    if (l == 0)
        d[__builtin_amdgcn_workgroup_id_x()] = s[0];
}

KERNEL diverge(__global u32 *d, __global const u32 *a, u32 n)
{
    u32 i = ID;
    if (i >= n)
        return;
    u32 x = a[i] & 0xffff, steps = 0;
    while (x > 1) {
        if (x & 1) {
            x = 3 * x + 1;
            if (steps % 7 == 3)
                x ^= 2;
        } else {
            x >>= 1;
        }
        if (++steps == 200)
            break;
        switch (x & 7) {
        case 3: steps += 2; break;
        case 5: steps ^= 1; break;
        default: break;
        }
    }
    d[i] = steps * 1000 + (x & 0xff);
}

KERNEL atomics(__global u32 *d, __global const u32 *a, u32 n)
{
    __local u32 h[16];
    u32 i = ID, l = LID;
    if (l < 16)
        h[l] = 0;
    BARRIER();
    if (i < n) {
        __opencl_atomic_fetch_add((__local atomic_uint *)&h[a[i] & 15], 1u, memory_order_relaxed, memory_scope_work_group);
        __opencl_atomic_fetch_max((__global atomic_uint *)&d[16], a[i], memory_order_relaxed, memory_scope_device);
        __opencl_atomic_fetch_xor((__global atomic_uint *)&d[17], a[i], memory_order_relaxed, memory_scope_device);
        __opencl_atomic_fetch_add((__global atomic_ulong *)&d[18], (u64)a[i] << 8, memory_order_relaxed, memory_scope_device);
    }
    BARRIER();
    if (l < 16)
        __opencl_atomic_fetch_add((__global atomic_uint *)&d[l], h[l], memory_order_relaxed, memory_scope_device);
}

KERNEL scratch(__global u32 *d, __global const u32 *a, u32 n)
{
    u32 i = ID, t[32];
    if (i >= n)
        return;
    for (u32 k = 0; k < 32; k++)
        t[k] = a[(i + k) % n] + k;
    u32 x = i;
    for (u32 k = 0; k < 50; k++) {
        x = t[x & 31] * 5 + k;
        t[(x >> 5) & 31] ^= x;
    }
    d[i] = x + t[i & 31];
}

__attribute__((noinline)) u32
fib(u32 n)
{
    u32 a = 0, b = 1;       /* OpenCL has no recursion */
    while (n--) {
        u32 t = a + b;
        a = b;
        b = t;
    }
    return a;
}

__attribute__((noinline)) u32
mixed(u32 a, u64 b, float c, u32 *p)
{
    *p += a;
    return a * 3 + (u32)(b >> 7) + (u32)c;
}

KERNEL calls(__global u32 *d, __global const u32 *a, u32 n)
{
    u32 i = ID, acc = i;
    if (i >= n)
        return;
    u32 r = fib(a[i] % 9);
    r += mixed(a[i], (u64)a[i] * 77, (float)(a[i] & 1023), &acc);
    d[i] = r ^ acc;
}

KERNEL bytes(__global uchar *d, __global const uchar *a, u32 n)
{
    u32 i = ID;
    if (i >= n)
        return;
    __global const short *s = (__global const short *)a;
    __global const char *c = (__global const char *)a;
    int v = a[i] + c[(i + 1) % n] * 3 + s[i / 2] + ((__global const ushort *)a)[i / 2];
    d[i] = (uchar)(v ^ (v >> 8));
}
