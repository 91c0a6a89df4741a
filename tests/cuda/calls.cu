/* SPDX-License-Identifier: Apache-2.0
 * Device functions: recursive, called through pointers, with aggregates by value, and divergent in all of these. */
#include "device.h"

static __device__ __noinline__ u32
fibonacci(u32 n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

KERNEL(recursive)(const u32 *in, u32 *out, u32 n)
{
    u32 i = global_x;
    if (i < n)
        out[i] = fibonacci(in[i]);
}

static __device__ __noinline__ bool is_odd(u32 n);

static __device__ __noinline__ bool
is_even(u32 n)
{
    return n == 0 || is_odd(n - 1);
}

static __device__ __noinline__ bool
is_odd(u32 n)
{
    return n != 0 && is_even(n - 1);
}

KERNEL(mutual)(const u32 *in, u32 *out, u32 n)
{
    u32 i = global_x;
    if (i < n)
        out[i] = is_even(in[i]);
}

static __device__ __noinline__ i32 op_add(i32 a, i32 b) { return a + b; }
static __device__ __noinline__ i32 op_sub(i32 a, i32 b) { return a - b; }
static __device__ __noinline__ i32 op_mul(i32 a, i32 b) { return a * b; }
static __device__ __noinline__ i32 op_gcd(i32 a, i32 b) { return b == 0 ? a : op_gcd(b, a % b); }

typedef i32 operation(i32, i32);
__device__ operation *table[4] = { op_add, op_sub, op_mul, op_gcd };

/* Neighbouring lanes call different functions. */
KERNEL(indirect)(const i32 *a, const i32 *b, i32 *out, u32 n)
{
    u32 i = global_x;
    if (i < n)
        out[i] = table[(a[i] ^ b[i]) & 3](a[i], b[i]);
}

/* All lanes of a warp call the same one. */
KERNEL(indirect_uniform)(const i32 *a, const i32 *b, i32 *out, u32 n, u32 which)
{
    u32 i = global_x;
    if (i < n)
        out[i] = table[which & 3](a[i], b[i]);
}

struct rational {
    i64 num, den;
    char tag[3];
};

static __device__ __noinline__ struct rational
mediant(struct rational a, struct rational b)
{
    struct rational r = { a.num + b.num, a.den + b.den, { a.tag[0], b.tag[1], '!' } };
    return r;
}

KERNEL(aggregates)(const i32 *in, i64 *out, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    struct rational a = { in[i], 3, { 'a', 'b', 'c' } }, b = { 5, in[i] + 1, { 'x', 'y', 'z' } };
    struct rational r = mediant(a, b);
    for (i32 k = 0; k < (in[i] & 3); k++)
        r = mediant(b, r);
    out[2 * i] = r.num * 256 + r.tag[0];
    out[2 * i + 1] = r.den * 256 + r.tag[1];
}

/* A barrier in a called function. */
extern __shared__ i32 row[];
static __device__ __noinline__ i32
exchange(i32 v)
{
    row[tidx] = v;
    barrier();
    i32 r = row[bdimx - 1 - tidx];
    barrier();
    return r;
}

KERNEL(barrier_in_call)(const i32 *in, i32 *out)
{
    i32 v = in[global_x];
    for (i32 k = 0; k < 3; k++)
        v = exchange(v) * 2 + k;
    out[global_x] = v;
}
