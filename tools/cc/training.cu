/* SPDX-License-Identifier: Apache-2.0
 * Kernels like those of CUDA programs, to train cudaway-cc-release (training.sh): loops with strides, long live ranges, calls, and ordinary
 * code for the optimiser, which the ISA tests, with one instruction at a time, lack. None is run, and tools/bench compiles none. Needs
 * clang but no CUDA toolkit. */
#include "tests/cuda/device.h"

#define FULL 0xffffffffu
#define INLINE static __device__ inline

template <class T> INLINE T least(T a, T b) { return a < b ? a : b; }
template <class T> INLINE T greatest(T a, T b) { return a > b ? a : b; }

/* ---- every element type: maps, folds, scans ---- */

template <class T> INLINE T
shuffled(T v, u32 lanes)
{
    union { T v; u32 w[(sizeof(T) + 3) / 4]; } x = {};
    x.v = v;
    for (u32 i = 0; i < sizeof x.w / 4; i++)
        x.w[i] = (u32)shfl_down(FULL, (i32)x.w[i], lanes);
    return x.v;
}

template <class T, class F> INLINE T
block_fold(T v, T *tile, F f)
{
    for (u32 d = 16; d; d /= 2)
        v = f(v, shuffled(v, d));
    if (lane_id() == 0)
        tile[tidx / 32] = v;
    barrier();
    if (tidx < 32) {
        v = tidx < bdimx / 32 ? tile[tidx] : T();
        for (u32 d = 16; d; d /= 2)
            v = f(v, shuffled(v, d));
    }
    return v;
}

template <class T> INLINE void
fold(const T *in, T *out, u64 n, u32 stride)
{
    __shared__ T tile[32];
    T sum = 0, low = in[0], high = in[0];
    for (u64 i = global_x; i < n; i += bdimx * gdimx) {
        T x = in[i * stride];
        sum += x * x;
        low = least(low, x);
        high = greatest(high, x);
    }
    sum = block_fold(sum, tile, [](T a, T b) { return (T)(a + b); });
    barrier();
    low = block_fold(low, tile, [](T a, T b) { return least(a, b); });
    if (tidx == 0) {
        out[bidx * 3] = sum / (T)(n | 1);
        out[bidx * 3 + 1] = low;
        out[bidx * 3 + 2] = high - low;
    }
}

template <class T> INLINE void
scan(const T *in, T *out, T *sums, u32 n)
{
    __shared__ T tile[2][256];
    u32 at = 0, i = bidx * 1024 + tidx * 4;
    T x[4], sum = 0;
    for (u32 k = 0; k < 4; k++) {
        x[k] = i + k < n ? in[i + k] : (T)0;
        sum += x[k];
        x[k] = sum;
    }
    tile[0][tidx] = sum;
    for (u32 d = 1; d < 256; d *= 2, at ^= 1) {
        barrier();
        tile[at ^ 1][tidx] = tidx >= d ? (T)(tile[at][tidx] + tile[at][tidx - d]) : tile[at][tidx];
    }
    barrier();
    T before = tidx ? tile[at][tidx - 1] : (T)0;
    for (u32 k = 0; k < 4; k++)
        if (i + k < n)
            out[i + k] = before + x[k];
    if (tidx == 255 && sums)
        sums[bidx] = before + sum;
}

template <class T, class U> INLINE void
convert(const T *in, U *out, u32 n, u32 pitch)
{
    for (u32 y = bidy; y < n; y += gdimy)
        for (u32 x = tidx; x < pitch; x += bdimx) {
            T v = in[y * pitch + x];
            out[x * n + y] = v < (T)3 ? (U)0 : (U)(v / (T)3 + v % 16);
        }
}

#define OF_TYPE(name, T)                                                                                  \
    KERNEL(fold_##name)(const T *in, T *out, u64 n, u32 stride) { fold(in, out, n, stride); }               \
    KERNEL(scan_##name)(const T *in, T *out, T *sums, u32 n) { scan(in, out, sums, n); }
OF_TYPE(i8, i8) OF_TYPE(u16, u16) OF_TYPE(i32, i32) OF_TYPE(u64, u64) OF_TYPE(f32, float) OF_TYPE(f64, double)
KERNEL(convert_i8)(const i8 *in, i32 *out, u32 n, u32 pitch) { convert(in, out, n, pitch); }
KERNEL(convert_i64)(const i64 *in, u16 *out, u32 n, u32 pitch) { convert(in, out, n, pitch); }
KERNEL(convert_u32)(const u32 *in, u64 *out, u32 n, u32 pitch) { convert(in, out, n, pitch); }

/* ---- matrices ---- */

template <u32 ROWS, u32 COLUMNS, class T> INLINE void
product(const T *a, const T *b, T *c, u32 m, u32 n, u32 k, T alpha, T beta)
{
    __shared__ T ta[16][ROWS * 16 + 1], tb[16][COLUMNS * 16];
    T sum[ROWS][COLUMNS] = {};
    u32 row = bidy * ROWS * 16, column = bidx * COLUMNS * 16;
    for (u32 at = 0; at < k; at += 16) {
        for (u32 r = 0; r < ROWS; r++)
            ta[tidx][r * 16 + tidy] = row + r * 16 + tidy < m && at + tidx < k ? a[(row + r * 16 + tidy) * k + at + tidx] : (T)0;
        for (u32 r = 0; r < COLUMNS; r++)
            tb[tidy][r * 16 + tidx] = column + r * 16 + tidx < n && at + tidy < k ? b[(at + tidy) * n + column + r * 16 + tidx] : (T)0;
        barrier();
#pragma unroll
        for (u32 i = 0; i < 16; i++)
#pragma unroll
            for (u32 r = 0; r < ROWS; r++)
#pragma unroll
                for (u32 s = 0; s < COLUMNS; s++)
                    sum[r][s] += ta[i][r * 16 + tidy] * tb[i][s * 16 + tidx];
        barrier();
    }
    for (u32 r = 0; r < ROWS; r++)
        for (u32 s = 0; s < COLUMNS; s++) {
            u32 y = row + r * 16 + tidy, x = column + s * 16 + tidx;
            if (y < m && x < n)
                c[y * n + x] = alpha * sum[r][s] + (beta != 0 ? beta * c[y * n + x] : (T)0);
        }
}

KERNEL(product_f32)(const float *a, const float *b, float *c, u32 m, u32 n, u32 k, float x, float y) { product<4, 8>(a, b, c, m, n, k, x, y); }
KERNEL(product_f64)(const double *a, const double *b, double *c, u32 m, u32 n, u32 k, double x, double y) { product<2, 2>(a, b, c, m, n, k, x, y); }
KERNEL(product_i32)(const i32 *a, const i32 *b, i32 *c, u32 m, u32 n, u32 k, i32 x, i32 y) { product<1, 2>(a, b, c, m, n, k, x, y); }

KERNEL(product_half)(const u32 *a, const u32 *b, float *c, u32 k)
{
    __shared__ u32 ta[64 * 8], tb[64 * 8];
    float d[4][4] = {};
    for (u32 at = 0; at < k; at += 16) {
        *(uint4v *)(ta + tidx * 4) = ((const uint4v *)a)[at * 16 + tidx];
        *(uint4v *)(tb + tidx * 4) = ((const uint4v *)b)[at * 16 + tidx];
        barrier();
        u32 x[4], y[2], from = (u32)(u64)(__attribute__((address_space(3))) u32 *)(ta + lane_id() * 4);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from));
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            y[0] = tb[j * 64 + lane_id()];
            y[1] = tb[j * 64 + 32 + lane_id()];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
        barrier();
    }
    for (u32 j = 0; j < 4; j++)
        *(float4v *)(c + (j * 32 + lane_id()) * 4) = (float4v){ d[j][0], d[j][1], d[j][2], d[j][3] };
}

KERNEL(transpose)(const float4v *in, float4v *out, u32 w, u32 h)
{
    __shared__ float4v tile[16][17];
    for (u32 y = tidy; y < 16; y += bdimy)
        if (bidy * 16 + y < h)
            tile[y][tidx] = in[(bidy * 16 + y) * w + bidx * 16 + tidx];
    barrier();
    for (u32 y = tidy; y < 16; y += bdimy)
        out[(bidx * 16 + y) * h + bidy * 16 + tidx] = tile[tidx][y];
}

/* ---- grids of numbers ---- */

KERNEL(convolve)(const float *in, const float *weights, float *out, i32 w, i32 h, i32 channels, i32 size, i32 stride, i32 dilation)
{
    i32 x = (i32)global_x, y = (i32)bidy, to = (i32)bidz;
    if (x >= w || y >= h)
        return;
    float sum = 0;
    for (i32 c = 0; c < channels; c++)
        for (i32 j = 0; j < size; j++)
            for (i32 i = 0; i < size; i++) {
                i32 sx = x * stride + (i - size / 2) * dilation, sy = y * stride + (j - size / 2) * dilation;
                if (sx >= 0 && sx < w && sy >= 0 && sy < h)
                    sum += in[(c * h + sy) * w + sx] * weights[((to * channels + c) * size + j) * size + i];
            }
    out[(to * h + y) * w + x] = sum > 0 ? sum : sum * 0.01f;
}

KERNEL(stencil_3d)(const double *in, double *out, u32 nx, u32 ny, u32 nz, double c0, double c1)
{
    u32 x = global_x + 1, y = bidy * bdimy + tidy + 1;
    if (x + 1 >= nx || y + 1 >= ny)
        return;
    u64 plane = (u64)nx * ny, at = (u64)y * nx + x;
    double below = in[at], here = in[at + plane];
    for (u32 z = 1; z + 1 < nz; z++) {
        double above = in[at + (z + 1) * plane];
        const double *p = in + at + z * plane;
        out[at + z * plane] = c0 * here + c1 * (below + above + p[-1] + p[1] + p[-(i64)nx] + p[nx]);
        below = here;
        here = above;
    }
}

KERNEL(bilinear)(u64 texture, u8x4 *out, u32 w, u32 h, float sx, float sy)
{
    u32 x = global_x, y = bidy * bdimy + tidy;
    float r, g, b, a;
    if (x >= w || y >= h)
        return;
    asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(texture), "f"(x * sx), "f"(y * sy));
    out[y * w + x] = (u8x4){ (u8)(r * 255.0f + 0.5f), (u8)(g * 255.0f), (u8)(b * 255.0f), (u8)(a < 0 ? 0.0f : a) };
}

/* ---- functions of numbers ---- */

INLINE float exp2_fast(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
INLINE float log2_fast(float x) { float r; asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
INLINE float rsqrt_fast(float x) { float r; asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
INLINE float sin_fast(float x) { float r; asm("sin.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
INLINE float div_fast(float x, float y) { float r; asm("div.approx.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }
INLINE double sqrt_f64(double x) { double r; asm("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(x)); return r; }
INLINE float sqrt_f32(float x) { float r; asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }

/* By Horner, with the argument reduced, as libraries do. */
static __device__ __noinline__ double
exponential(double x)
{
    if (!(x == x) || x > 709.0)
        return x + x;
    i32 n = (i32)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    double r = x - n * 0.6931471803691238 - n * 1.9082149292705877e-10, p = 1.0;
#pragma unroll
    for (i32 i = 12; i; i--)
        p = p * r * (1.0 / i) + 1.0;
    union { u64 u; double d; } scale = { (u64)(n + 1023) << 52 };
    return p * scale.d;
}

INLINE float
tangent(float x)
{
    float t = __builtin_fabsf(x), s;
    if (t >= 0.55f) {
        t = exp2_fast(t * 2.8853900817779268f);
        s = 1.0f - div_fast(2.0f, t + 1.0f);
        return __builtin_copysignf(s, x);
    }
    s = x * x;
    return x + x * s * (-0.3333f + s * (0.1333f + s * -0.0539f));
}

template <u32 WHAT> INLINE void
activate(const float *in, float *out, u32 n, float a, float b)
{
    for (u32 i = global_x; i < n; i += gdimx * bdimx) {
        float x = in[i], y;
        switch (WHAT) {
        case 0: y = x / (1.0f + exp2_fast(-1.442695f * x)); break;
        case 1: y = 0.5f * x * (1.0f + tangent(0.7978845608f * (x + 0.044715f * x * x * x))); break;
        case 2: y = least(greatest(x, a), b); break;
        case 3: y = x < 20.0f ? log2_fast(1.0f + exp2_fast(x)) * 0.6931472f : x; break;
        default: y = sin_fast(x * a) * rsqrt_fast(x * x + b) + sqrt_f32(__builtin_fabsf(x)) / (a - x); break;
        }
        out[i] = y;
    }
}

KERNEL(silu)(const float *in, float *out, u32 n, float a, float b) { activate<0>(in, out, n, a, b); }
KERNEL(gelu)(const float *in, float *out, u32 n, float a, float b) { activate<1>(in, out, n, a, b); }
KERNEL(clamp)(const float *in, float *out, u32 n, float a, float b) { activate<2>(in, out, n, a, b); }
KERNEL(softplus)(const float *in, float *out, u32 n, float a, float b) { activate<3>(in, out, n, a, b); }
KERNEL(waves)(const float *in, float *out, u32 n, float a, float b) { activate<4>(in, out, n, a, b); }

KERNEL(normalise)(const float *in, const float *gain, float *out, u32 columns, float epsilon)
{
    __shared__ float tile[32], mean, scale;
    float sum = 0, squares = 0;
    const float *row = in + (u64)bidx * columns;
    for (u32 i = tidx; i < columns; i += bdimx) {
        sum += row[i];
        squares = __builtin_fmaf(row[i], row[i], squares);
    }
    sum = block_fold(sum, tile, [](float a, float b) { return a + b; });
    barrier();
    squares = block_fold(squares, tile, [](float a, float b) { return a + b; });
    if (tidx == 0) {
        mean = sum / columns;
        scale = 1.0f / sqrt_f32(squares / columns - mean * mean + epsilon);
    }
    barrier();
    for (u32 i = tidx; i < columns; i += bdimx)
        out[(u64)bidx * columns + i] = (row[i] - mean) * scale * gain[i % 64];
}

KERNEL(orbits)(double *x, double *v, const double *mass, u32 n, double dt, u32 steps)
{
    u32 i = global_x;
    for (u32 s = 0; s < steps && i < n; s++) {
        double f[3] = {};
        for (u32 j = 0; j < n; j++) {
            double d[3], r2 = 1e-9;
            for (u32 k = 0; k < 3; k++) {
                d[k] = x[j * 3 + k] - x[i * 3 + k];
                r2 += d[k] * d[k];
            }
            double r = 1.0 / sqrt_f64(r2);
            for (u32 k = 0; k < 3; k++)
                f[k] += d[k] * mass[j] * r * r * r;
        }
        for (u32 k = 0; k < 3; k++) {
            v[i * 3 + k] += f[k] * dt;
            x[i * 3 + k] += v[i * 3 + k] * dt + exponential(-f[k]);
        }
    }
}

KERNEL(halves)(const u32 *in, u32 *out, const __fp16 *scale, u32 n)
{
    for (u32 i = global_x; i < n; i += gdimx * bdimx) {
        u32 x = in[i], y, z;
        asm("{ .reg .b32 t; fma.rn.f16x2 t, %2, %2, %2; max.f16x2 %0, t, %2; cvt.rn.bf16x2.f32 %1, %3, %4; }"
            : "=r"(y), "=r"(z) : "r"(x), "f"((float)scale[i]), "f"((float)scale[i + 1] * 0.5f));
        out[i] = (y & 0xffff0000u) | (z >> 16) | (u16)(i8)(x >> 8) * 3u;
    }
}

/* ---- integers ---- */

INLINE u32 turned(u32 x, u32 n) { return x >> n | x << (32 - n); }

template <u32 ROUNDS, u32 UNROLL> INLINE void
digest(const u32 *in, u32 *out, const u32 *key, u32 nonce)
{
    u32 w[16], s[8];
    for (u32 i = 0; i < 16; i++)
        w[i] = __builtin_bswap32(in[global_x * 16 + i]);
    w[3] ^= nonce + global_x;
    for (u32 i = 0; i < 8; i++)
        s[i] = key[i];
#pragma unroll UNROLL
    for (u32 r = 0; r < ROUNDS; r++) {
        u32 a = turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25), c = (s[4] & s[5]) ^ (~s[4] & s[6]);
        u32 t = s[7] + a + c + w[r % 16] + key[8 + r % 64];
        u32 u = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (u32 i = 7; i; i--)
            s[i] = s[i - 1];
        s[4] += t;
        s[0] = t + u;
        w[r % 16] += w[(r + 9) % 16] + (turned(w[(r + 1) % 16], 7) ^ w[(r + 1) % 16] >> 3);
    }
    if (s[7] < key[7])
        for (u32 i = 0; i < 8; i++)
            out[i] = s[i] + key[i];
}

KERNEL(digest_unrolled)(const u32 *in, u32 *out, const u32 *key, u32 nonce) { digest<64, 64>(in, out, key, nonce); }
KERNEL(digest_rolled)(const u32 *in, u32 *out, const u32 *key, u32 nonce) { digest<64, 1>(in, out, key, nonce); }

INLINE u64 turned64(u64 x, u32 n) { return x << n | x >> (64 - n); }

KERNEL(mix_u64)(const u64 *in, u64 *out, u32 n, u64 p)
{
    u64 a = in[global_x], b = ~a, c = a * 0x9e3779b97f4a7c15u, d = p;
    for (u32 i = 0; i < n; i++) {
        a += b; d = turned64(d ^ a, 32);
        c += d; b = turned64(b ^ c, 24);
        a += b + (u32)i; d = turned64(d ^ a, 16);
        c = (u64)((unsigned __int128)c * d >> 64) + c * 3; b = turned64(b ^ c, 63 - i % 8);
        if (a % p == 7 || (i64)a / 1000 < (i64)d % 77)
            b ^= a / (c | 1);
    }
    out[global_x] = a ^ b ^ c ^ d;
}

/* 256-bit numbers: a product modulo p, as Montgomery has it. */
KERNEL(modular)(const u32 *x, const u32 *y, u32 *out, const u32 *p, u32 inverse)
{
    u32 t[17] = {};
    const u32 *a = x + global_x * 8, *b = y + global_x * 8;
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        u64 carry = 0;
#pragma unroll
        for (u32 j = 0; j < 8; j++) {
            carry += (u64)a[i] * b[j] + t[i + j];
            t[i + j] = (u32)carry;
            carry >>= 32;
        }
        t[i + 8] = (u32)carry;
    }
    for (u32 i = 0; i < 8; i++) {
        u32 m = t[i] * inverse, high, low = t[i];
        for (u32 j = 0; j < 8; j++) {
            asm("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, 0;" : "+r"(low), "=r"(high) : "r"(m), "r"(p[j]));
            t[i + j] = low;
            asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %1, 0;" : "=r"(low), "+r"(high) : "r"(t[i + j + 1]), "r"(high));
        }
        t[i + 8] = low + high;
    }
    for (u32 i = 0; i < 8; i++)
        out[global_x * 8 + i] = t[i + 8];
}

KERNEL(dot_bytes)(const i32 *a, const i32 *b, i32 *out, u32 n)
{
    i32 sum = 0;
    for (u32 i = tidx; i < n; i += 32) {
        i32 d;
        asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a[i]), "r"(b[i]), "r"(sum));
        sum = d + (i32)__builtin_popcount((u32)a[i]) - __builtin_clz((u32)b[i] | 1);
    }
    for (u32 d = 16; d; d /= 2)
        sum += shfl_xor(FULL, sum, d);
    out[global_x / 32] = sum;
}

struct block { __fp16 d, m; u8 scales[12], q[128]; };

/* Weights in four bits, unpacked and multiplied. */
KERNEL(unpack)(const block *blocks, const float *x, float *out, u32 n)
{
    float sum = 0;
    for (u32 i = tidx; i < n; i += bdimx) {
        const block *b = blocks + bidx * n + i;
        float d = (float)b->d, m = (float)b->m;
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            u8 s = j < 2 ? b->scales[j] & 63 : (b->scales[j + 4] & 15) | (b->scales[j - 2] >> 6 << 4);
            for (u32 k = 0; k < 32; k++) {
                u8 q = b->q[j * 32 + k];
                sum += (d * s * (q & 15) - m) * x[i * 256 + j * 64 + k] + (d * s * (q >> 4) - m) * x[i * 256 + j * 64 + k + 32];
            }
        }
    }
    __shared__ float tile[32];
    sum = block_fold(sum, tile, [](float a, float b) { return a + b; });
    if (tidx == 0)
        out[bidx] = sum;
}

/* ---- tables, trees, queues ---- */

struct slot { u64 key; u32 value, next; };

KERNEL(insert)(slot *table, u32 mask, const u64 *keys, u32 n, u32 *count)
{
    for (u32 i = global_x; i < n; i += bdimx * gdimx) {
        u64 key = keys[i];
        for (u32 at = (u32)(key * 0x9e3779b97f4a7c15u >> 40) & mask;; at = (at + 1) & mask) {
            u64 old = (u64)__nvvm_atom_cas_gen_ll((long long *)&table[at].key, 0, (long long)key);
            if (!old || old == key) {
                __nvvm_atom_add_gen_i((int *)&table[at].value, 1);
                if (!old)
                    table[at].next = (u32)__nvvm_atom_xchg_gen_i((int *)count, (int)at);
                break;
            }
        }
    }
}

KERNEL(search)(const float *sorted, const float *wanted, u32 *out, u32 n, u32 m)
{
    for (u32 i = global_x; i < m; i += bdimx * gdimx) {
        u32 low = 0, high = n;
        while (low < high) {
            u32 middle = low + (high - low) / 2;
            if (sorted[middle] < wanted[i])
                low = middle + 1;
            else
                high = middle;
        }
        out[i] = low < n && sorted[low] == wanted[i] ? low : FULL;
    }
}

KERNEL(partition)(const u32 *keys, u32 *out, u32 *counts, u32 n, u32 shift)
{
    __shared__ u32 bins[8][16];
    u32 warp = tidx / 32;
    if (tidx < 128)
        bins[tidx / 16][tidx % 16] = 0;
    barrier();
    for (u32 i = global_x; i < n; i += bdimx * gdimx) {
        u32 digit = keys[i] >> shift & 15, peers = FULL;
        for (u32 bit = 0; bit < 4; bit++) {
            u32 votes = (u32)ballot(FULL, (i32)(digit >> bit & 1));
            peers &= digit >> bit & 1 ? votes : ~votes;
        }
        u32 rank = (u32)__builtin_popcount(peers & ((1u << lane_id()) - 1)), base = 0;
        if (rank == 0)
            base = (u32)__nvvm_atom_add_gen_i((int *)&bins[warp][digit], __builtin_popcount(peers));
        base = (u32)shfl_idx(FULL, (i32)base, (u32)__builtin_ctz(peers));
        out[(digit << 20) + base + rank] = keys[i];
    }
    barrier();
    if (tidx < 16) {
        u32 sum = 0;
        for (u32 w = 0; w < 8; w++)
            sum += bins[w][tidx];
        __nvvm_atom_add_gen_i((int *)counts + tidx, (int)sum);
    }
}

/* The k nearest, in an array of the thread's own. */
KERNEL(nearest)(const float *points, const float *queries, u32 *out, float *distances, u32 n, u32 dimensions)
{
    float best[8];
    u32 index[8], q = global_x;
    for (u32 i = 0; i < 8; i++)
        best[i] = 3.4e38f, index[i] = FULL;
    for (u32 p = 0; p < n; p++) {
        float d = 0;
        for (u32 k = 0; k < dimensions; k++) {
            float x = points[p * dimensions + k] - queries[q * dimensions + k];
            d += x * x;
        }
        if (d >= best[7])
            continue;
        u32 i = 7;
        for (; i && best[i - 1] > d; i--)
            best[i] = best[i - 1], index[i] = index[i - 1];
        best[i] = d;
        index[i] = p;
    }
    for (u32 i = 0; i < 8; i++) {
        out[q * 8 + i] = index[i];
        distances[q * 8 + i] = sqrt_f32(best[i]);
    }
}

struct node { float low[3], high[3]; i32 left, right; };

KERNEL(trace)(const node *nodes, const float *rays, float *out, u32 n)
{
    i32 stack[32], depth = 0, at = 0;
    u32 i = global_x;
    if (i >= n)
        return;
    float o[3], inverse[3], nearest = 1e30f;
    for (u32 k = 0; k < 3; k++) {
        o[k] = rays[i * 6 + k];
        inverse[k] = 1.0f / rays[i * 6 + 3 + k];
    }
    do {
        const node *p = nodes + at;
        float from = 0, to = nearest;
        for (u32 k = 0; k < 3; k++) {
            float a = (p->low[k] - o[k]) * inverse[k], b = (p->high[k] - o[k]) * inverse[k];
            from = __builtin_fmaxf(from, __builtin_fminf(a, b));
            to = __builtin_fminf(to, __builtin_fmaxf(a, b));
        }
        if (from <= to && p->left >= 0) {
            if (depth < 32)
                stack[depth++] = p->right;
            at = p->left;
            continue;
        }
        if (from <= to)
            nearest = from;
        at = depth ? stack[--depth] : -1;
    } while (at >= 0);
    out[i] = nearest;
}

/* ---- programs that are not one function ---- */

struct number { double re, im; i32 kind; };

static __device__ __noinline__ number
times(number a, number b)
{
    number r = { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, a.kind | b.kind };
    if (r.kind > 3)
        r.re = r.im / b.re;
    return r;
}

static __device__ __noinline__ i32
run(const u8 *code, i32 *stack, i32 depth, const float *constants)
{
    i32 top = 0;
    for (;; code++)
        switch (*code & 15) {
        case 0: return top;
        case 1: stack[depth++ & 63] = top; break;
        case 2: top += stack[--depth & 63]; break;
        case 3: top *= stack[--depth & 63]; break;
        case 4: top = stack[--depth & 63] / (top | 1); break;
        case 5: top = (i32)constants[top & 255]; break;
        case 6: code += top < 0 ? code[1] : 0; break;
        case 7: top = depth < 60 ? run(code + 1, stack, depth + 1, constants) : 0; break;
        case 8: top = top > 0 ? top : -top; break;
        case 9: top = __nvvm_atom_max_gen_i(stack + 64, top); break;
        default: top ^= *code << (depth & 31); break;
        }
}

KERNEL(interpret)(const u8 *code, i32 *out, const float *constants, u32 n)
{
    i32 stack[65];
    for (u32 i = 0; i < 65; i++)
        stack[i] = (i32)i * out[i];
    if (global_x < n)
        out[global_x] = run(code + tidx * 64, stack, 0, constants);
}

KERNEL(powers)(const double *x, double *out, u32 n, i32 power)
{
    number a = { x[global_x], x[global_x + n], 0 }, r = { 1, 0, power };
    for (; power; power >>= 1) {
        if (power & 1)
            r = times(r, a);
        a = times(a, a);
    }
    out[global_x] = r.re;
    out[global_x + n] = exponential(r.im);
}

static __device__ __noinline__ float lesser(float a, float b) { return __builtin_fminf(a, b); }
static __device__ __noinline__ float sum(float a, float b) { return a + b; }
static __device__ __noinline__ float ratio(float a, float b) { return b == 0 ? a : a / b; }
typedef float operation(float, float);
__constant__ operation *operations[] = { lesser, sum, ratio };

KERNEL(apply)(const float *in, float *out, const u32 *which, u32 n)
{
    float x = in[global_x];
    for (u32 i = 0; i < n; i++)
        x = operations[which[i] % 3](x, in[i]);
    if (x != x)
        printf("%d: no number %f\n", global_x, (double)x);
    out[global_x] = x;
}

extern __shared__ float dynamic[];

static __device__ __noinline__ float
of_neighbours(const float *row, u32 n, operation *f)
{
    u32 i = bidx * bdimx + tidx, step = gdimx * bdimx;
    dynamic[tidx] = row[i];
    barrier();
    float x = dynamic[(tidx + 1) % bdimx];
    for (; i < n; i += step)
        x = f(x, row[i]);
    return x;
}

__device__ operation *current[2] = { lesser, ratio };

/* More than are worth comparing with, so that the call stays one through a register. */
template <u32 N> __device__ __noinline__ float nth(float a, float b) { return N % 3 ? a * N - b : a / (b + N); }
#define FOUR(n) nth<n>, nth<n + 1>, nth<n + 2>, nth<n + 3>
__device__ operation *many[] = { FOUR(1), FOUR(5), FOUR(9), FOUR(13), FOUR(17), FOUR(21), FOUR(25), FOUR(29), FOUR(33), FOUR(37), FOUR(41), FOUR(45) };

KERNEL(choose)(const float *in, float *out, const u32 *which)
{
    float x = in[global_x];
    for (u32 i = 0; i < 4; i++)
        x = many[which[i]](x, in[i]);
    if (x > 0)
        x = many[which[global_x] % 48](x, 1.0f);
    out[global_x] = x;
}

KERNEL(neighbours)(const float *in, float *out, u32 n, u32 which)
{
    operation *f = which & 1 ? sum : lesser;
    out[global_x] = of_neighbours(in, n, f) + of_neighbours(in + n, n, current[which >> 1 & 1]);
}

static __device__ __noinline__ u32
depth_of(const node *nodes, i32 at, u32 *deepest)
{
    if (at < 0)
        return 0;
    u32 left = depth_of(nodes, nodes[at].left, deepest), right = depth_of(nodes, nodes[at].right, deepest), d = 1 + greatest(left, right);
    if (d > *deepest)
        *deepest = d;
    return d;
}

KERNEL(depths)(const node *nodes, u32 *out, u32 n)
{
    u32 deepest = 0;
    out[global_x] = global_x < n ? depth_of(nodes, (i32)tidx, &deepest) : 0;
    out[global_x + n] = deepest;
}

KERNEL(wait)(volatile u32 *flag, u32 *data, u32 n)
{
    if (tidx == 0) {
        while (*flag != bidx)
            __nvvm_membar_gl();
    }
    barrier();
    for (u32 i = tidx; i < n; i += bdimx)
        data[i] += data[(i + n - 1) % n] >> (i & 3);
    __nvvm_membar_gl();
    barrier();
    if (tidx == 0)
        *flag = bidx + 1;
}
