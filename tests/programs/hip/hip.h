/* SPDX-License-Identifier: Apache-2.0
 * What candle's kernels take of CUDA's headers, as far as clang's HIP compile needs it instead of ROCm's: for candle_times.sh, which compares times and sizes and runs nothing of this.
 * __CUDA_ARCH__ is 750, so kernels of bf16 and fp8 are left out. */
#pragma once
#define __CUDA_ARCH__ 750
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define warpSize 32
#include <stddef.h>
#include <stdint.h>

struct cw_tid { __declspec(property(get = gx)) unsigned x; __declspec(property(get = gy)) unsigned y; __declspec(property(get = gz)) unsigned z;
    __device__ unsigned gx() const { return __builtin_amdgcn_workitem_id_x(); } __device__ unsigned gy() const { return __builtin_amdgcn_workitem_id_y(); }
    __device__ unsigned gz() const { return __builtin_amdgcn_workitem_id_z(); } };
struct cw_bid { __declspec(property(get = gx)) unsigned x; __declspec(property(get = gy)) unsigned y; __declspec(property(get = gz)) unsigned z;
    __device__ unsigned gx() const { return __builtin_amdgcn_workgroup_id_x(); } __device__ unsigned gy() const { return __builtin_amdgcn_workgroup_id_y(); }
    __device__ unsigned gz() const { return __builtin_amdgcn_workgroup_id_z(); } };
struct cw_bdim { __declspec(property(get = gx)) unsigned x; __declspec(property(get = gy)) unsigned y; __declspec(property(get = gz)) unsigned z;
    __device__ unsigned gx() const { return __builtin_amdgcn_workgroup_size_x(); } __device__ unsigned gy() const { return __builtin_amdgcn_workgroup_size_y(); }
    __device__ unsigned gz() const { return __builtin_amdgcn_workgroup_size_z(); } };
struct cw_gdim { __declspec(property(get = gx)) unsigned x;
    __device__ unsigned gx() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); } };
extern const __device__ cw_tid threadIdx;
extern const __device__ cw_bid blockIdx;
extern const __device__ cw_bdim blockDim;
extern const __device__ cw_gdim gridDim;

__device__ inline void __syncthreads() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); __builtin_amdgcn_s_barrier(); }
typedef _Float16 __half, half;
template <class A, class B> __device__ inline auto min(A a, B b) { return a < b ? a : b; }
template <class A, class B> __device__ inline auto max(A a, B b) { return a > b ? a : b; }

#define BITS(name, to, from) __device__ inline to name(from x) { return __builtin_bit_cast(to, x); }
BITS(__ushort_as_half, half, unsigned short)
BITS(__half_as_ushort, unsigned short, half)
BITS(__float_as_uint, unsigned, float)
BITS(__uint_as_float, float, unsigned)
BITS(__float_as_int, int, float)
BITS(__int_as_float, float, int)
BITS(__double_as_longlong, long long, double)
BITS(__longlong_as_double, double, long long)
__device__ inline bool __hisnan(half x) { return x != x; }
__device__ inline half __hmin(half a, half b) { return __builtin_fminf16(a, b); }
__device__ inline half __hmax(half a, half b) { return __builtin_fmaxf16(a, b); }
__device__ inline float __half2float(half x) { return x; }
__device__ inline half __float2half(float x) { return (half)x; }
template <class T> __device__ inline bool signbit(T x) { return __builtin_signbit(x); }
template <class T> __device__ inline bool isnan(T x) { return x != x; }
template <class T> __device__ inline bool isinf(T x) { return __builtin_isinf(x); }
__device__ inline float expf(float x) { return __builtin_expf(x); }
__device__ inline double exp(double x) { return __builtin_exp(x); }
__device__ inline float sqrtf(float x) { return __builtin_sqrtf(x); }
__device__ inline float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
__device__ inline float fminf(float a, float b) { return __builtin_fminf(a, b); }
__device__ inline float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
__device__ inline double fmin(double a, double b) { return __builtin_fmin(a, b); }
__device__ inline double fmax(double a, double b) { return __builtin_fmax(a, b); }
__device__ inline float fabsf(float x) { return __builtin_fabsf(x); }
__device__ inline double fabs(double x) { return __builtin_fabs(x); }
template <class T> __device__ inline T atomicCAS(T *p, T old, T value) { __atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return old; }
__device__ inline float atomicAdd(float *p, float x) { return __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
__device__ inline double atomicAdd(double *p, double x) { return __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
__device__ inline unsigned atomicAdd(unsigned *p, unsigned x) { return __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
template <class T> __device__ inline T __shfl_xor_sync(unsigned, T x, int mask, int = 32)
{
    static_assert(sizeof(T) % 4 == 0 || sizeof(T) == 2, "");
    unsigned w[(sizeof(T) + 3) / 4] = { 0 };
    __builtin_memcpy(w, &x, sizeof x);
    int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)) ^ mask;
    for (auto &y : w)
        y = __builtin_amdgcn_ds_bpermute(lane * 4, y);
    __builtin_memcpy(&x, w, sizeof x);
    return x;
}
struct float2 { float x, y; };
__device__ inline float2 make_float2(float x, float y) { return { x, y }; }
#define ATOMIC(name, builtin) template <class T, class U> __device__ inline T name(T *p, U x) { return __hip_atomic_fetch_##builtin(p, (T)x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
ATOMIC(atomicMax, max)
ATOMIC(atomicMin, min)
ATOMIC(atomicAdd, add)
#define MATH(name) __device__ inline float name##f(float x) { return __builtin_##name##f(x); } __device__ inline double name(double x) { return __builtin_##name(x); }
MATH(sin) MATH(cos) MATH(tan) MATH(log) MATH(tanh) MATH(erf) MATH(floor) MATH(ceil) MATH(round) MATH(rint) MATH(trunc)
__device__ inline double sqrt(double x) { return __builtin_sqrt(x); }
__device__ inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
__device__ inline float powf(float x, float y) { return __builtin_powf(x, y); }
__device__ inline double pow(double x, double y) { return __builtin_pow(x, y); }
__device__ inline float normcdff(float x) { return 0.5f * (1 + __builtin_erff(x * 0.70710678f)); }
__device__ inline double normcdf(double x) { return 0.5 * (1 + __builtin_erf(x * 0.70710678118654752)); }
#define assert(x) ((void)(x))
__device__ inline half hsqrt(half x) { return (half)__builtin_sqrtf(x); }
#define HALF(name, f) __device__ inline half name(half x) { return (half)f((float)x); }
HALF(hsin, __builtin_sinf) HALF(hcos, __builtin_cosf) HALF(hlog, __builtin_logf) HALF(hexp, __builtin_expf) HALF(hfloor, __builtin_floorf) HALF(hceil, __builtin_ceilf)
HALF(hrint, __builtin_rintf) HALF(hrsqrt, 1 / __builtin_sqrtf) HALF(__habs, __builtin_fabsf)
__device__ inline float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
__device__ inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
