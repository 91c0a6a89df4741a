/* SPDX-License-Identifier: Apache-2.0
 * What candle's kernels take of CUDA's headers, as far as clang's HIP compile needs it instead of ROCm's: for candle_times.sh, which compares times and sizes and runs nothing of this.
 * The kernels are those of nvcc's compile for sm_80. Functions that the processor has no instruction for are those of ROCm's maths library, ocml. */
#pragma once
#define __CUDA_ARCH__ 800
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
struct cw_gdim { __declspec(property(get = gx)) unsigned x; __declspec(property(get = gy)) unsigned y; __declspec(property(get = gz)) unsigned z;
    __device__ unsigned gx() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
    __device__ unsigned gy() const { return __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(); }
    __device__ unsigned gz() const { return __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z(); } };
extern const __device__ cw_tid threadIdx;
extern const __device__ cw_bid blockIdx;
extern const __device__ cw_bdim blockDim;
extern const __device__ cw_gdim gridDim;

__device__ inline void __syncthreads() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); __builtin_amdgcn_s_barrier(); }
typedef _Float16 __half, half;
typedef __bf16 __nv_bfloat16;
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
__device__ inline bool __hisnan(__nv_bfloat16 x) { return x != x; }
__device__ inline half __hmax_nan(half a, half b) { return __builtin_elementwise_maximum(a, b); }
__device__ inline half __hmin_nan(half a, half b) { return __builtin_elementwise_minimum(a, b); }
__device__ inline __nv_bfloat16 __hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) { return (__nv_bfloat16)__builtin_elementwise_maximum((float)a, (float)b); }
__device__ inline __nv_bfloat16 __hmin_nan(__nv_bfloat16 a, __nv_bfloat16 b) { return (__nv_bfloat16)__builtin_elementwise_minimum((float)a, (float)b); }
__device__ inline float __half2float(half x) { return x; }
__device__ inline half __float2half(float x) { return (half)x; }
__device__ inline float __bfloat162float(__nv_bfloat16 x) { return x; }
__device__ inline __nv_bfloat16 __float2bfloat16(float x) { return (__nv_bfloat16)x; }
template <class T> __device__ inline bool signbit(T x) { return __builtin_signbit(x); }
template <class T> __device__ inline bool isnan(T x) { return x != x; }
template <class T> __device__ inline bool isinf(T x) { return __builtin_isinf(x); }
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
struct float4 { float x, y, z, w; };
struct int2 { int x, y; };
__device__ inline float2 make_float2(float x, float y) { return { x, y }; }
__device__ inline int2 make_int2(int x, int y) { return { x, y }; }
__device__ inline void memcpy(void *to, const void *from, size_t n) { __builtin_memcpy(to, from, n); }

struct alignas(4) half2 { half x, y; };
__device__ inline half __low2half(half2 x) { return x.x; }
__device__ inline half __high2half(half2 x) { return x.y; }
__device__ inline float __low2float(half2 x) { return x.x; }
__device__ inline float __high2float(half2 x) { return x.y; }
__device__ inline float2 __half22float2(half2 x) { return { x.x, x.y }; }
__device__ inline half2 __hmul2(half2 a, half2 b) { return { (half)(a.x * b.x), (half)(a.y * b.y) }; }
__device__ inline half2 make_half2(half a, half b) { return { a, b }; }

typedef signed char cw_char4 __attribute__((ext_vector_type(4)));
__device__ inline int __vsubss4(int a, int b) { return __builtin_bit_cast(int, __builtin_elementwise_sub_sat(__builtin_bit_cast(cw_char4, a), __builtin_bit_cast(cw_char4, b))); }
#ifdef __GFX11__
__device__ inline int __dp4a(int a, int b, int c) { return __builtin_amdgcn_sudot4(true, a, true, b, c, false); }
#else
__device__ inline int __dp4a(int a, int b, int c) { return __builtin_amdgcn_sdot4(a, b, c, false); }
#endif

/* fp8: one sign, four bits of exponent of bias 7, three of mantissa; all of these set is NaN, there is no infinity, and a number too large becomes the largest, 448. */
struct __nv_fp8_e4m3 {
    uint8_t __x;
    __nv_fp8_e4m3() = default;
    template <class T> __device__ explicit __nv_fp8_e4m3(T value)
    {
        float f = (float)value, a = __builtin_fabsf(f);
        uint8_t sign = __builtin_bit_cast(unsigned, f) >> 24 & 0x80;
        if (f != f)
            __x = 0x7f;
        else if (a >= 448)
            __x = sign | 0x7e;
        else if (a < 0.015625f)
            __x = sign | (uint8_t)__builtin_rintf(a * 512);
        else {
            unsigned bits = __builtin_bit_cast(unsigned, a);
            __x = sign | (uint8_t)(((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3));
        }
    }
    __device__ operator float() const
    {
        unsigned e = __x >> 3 & 15, m = __x & 7;
        float a = (__x & 0x7f) == 0x7f ? __builtin_nanf("") : e ? __builtin_bit_cast(float, (e + 120) << 23 | m << 20) : m / 512.0f;
        return __x & 0x80 ? -a : a;
    }
};
enum __nv_fp8_interpretation_t { __NV_E4M3 };
__device__ inline half __nv_cvt_fp8_to_halfraw(uint8_t x, __nv_fp8_interpretation_t)
{
    __nv_fp8_e4m3 f;
    f.__x = x;
    return (half)(float)f;
}
#define ATOMIC(name, builtin) template <class T, class U> __device__ inline T name(T *p, U x) { return __hip_atomic_fetch_##builtin(p, (T)x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
ATOMIC(atomicMax, max)
ATOMIC(atomicMin, min)
ATOMIC(atomicAdd, add)
#define MATH(name) __device__ inline float name##f(float x) { return __builtin_##name##f(x); } __device__ inline double name(double x) { return __builtin_##name(x); }
MATH(floor) MATH(ceil) MATH(round) MATH(rint) MATH(trunc)
#define OCML(name) extern "C" __device__ float __ocml_##name##_f32(float); extern "C" __device__ double __ocml_##name##_f64(double); \
    __device__ inline float name##f(float x) { return __ocml_##name##_f32(x); } __device__ inline double name(double x) { return __ocml_##name##_f64(x); }
OCML(sin) OCML(cos) OCML(exp) OCML(log) OCML(tanh) OCML(erf) OCML(ncdf)
extern "C" __device__ float __ocml_pow_f32(float, float);
extern "C" __device__ double __ocml_pow_f64(double, double);
__device__ inline double sqrt(double x) { return __builtin_sqrt(x); }
__device__ inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
__device__ inline float powf(float x, float y) { return __ocml_pow_f32(x, y); }
__device__ inline double pow(double x, double y) { return __ocml_pow_f64(x, y); }
__device__ inline float normcdff(float x) { return ncdff(x); }
__device__ inline double normcdf(double x) { return ncdf(x); }
#define assert(x) ((void)(x))
#define HALF(name, f) __device__ inline half name(half x) { return (half)f((float)x); } __device__ inline __nv_bfloat16 name(__nv_bfloat16 x) { return (__nv_bfloat16)f((float)x); }
HALF(hsin, sinf) HALF(hcos, cosf) HALF(hlog, logf) HALF(hexp, expf) HALF(hsqrt, __builtin_sqrtf) HALF(__habs, __builtin_fabsf)
__device__ inline float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
__device__ inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
