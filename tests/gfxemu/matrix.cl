/* SPDX-License-Identifier: Apache-2.0
 * Every matrix instruction of the processor by clang's builtin: one wave, whose lanes load their registers of A, B and C and store those
 * of D. test_matrix.c knows which lane holds what, and has the products. Kernels are named after the form; a suffix says what is
 * special: negated operands, broadcasts, unsigned elements, saturation, the upper halves of registers. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define V(t, n) t __attribute__((ext_vector_type(n)))
typedef V(float, 2) f2;   typedef V(float, 4) f4;   typedef V(float, 8) f8;   typedef V(float, 16) f16v;   typedef V(float, 32) f32v;
typedef V(half, 4) h4;    typedef V(half, 8) h8;    typedef V(half, 16) h16;
typedef V(short, 2) s2;   typedef V(short, 4) s4;   typedef V(short, 8) s8;   typedef V(short, 16) s16;
typedef V(int, 2) i2;     typedef V(int, 4) i4;     typedef V(int, 8) i8;     typedef V(int, 16) i16v;     typedef V(int, 32) i32v;
typedef V(double, 4) d4;

#define KERNEL(name, ta, tb, td, expr) \
    __attribute__((reqd_work_group_size(LANES, 1, 1))) __kernel void name(__global td *d, __global const ta *pa, __global const tb *pb, \
                                                                          __global const td *pc) \
    { unsigned l = __builtin_amdgcn_workitem_id_x(); ta a = pa[l]; tb b = pb[l]; td c = pc[l]; d[l] = expr; }

#ifdef CDNA     /* 1, 2, 3, 4 */
#define LANES 64
#define M(form, t, td) KERNEL(form, t, t, td, __builtin_amdgcn_mfma_##form(a, b, c, 0, 0, 0))
M(f32_32x32x1f32, float, f32v) M(f32_16x16x1f32, float, f16v) M(f32_4x4x1f32, float, f4) M(f32_32x32x2f32, float, f16v)
M(f32_16x16x4f32, float, f4)
M(f32_32x32x4f16, h4, f32v) M(f32_16x16x4f16, h4, f16v) M(f32_4x4x4f16, h4, f4) M(f32_32x32x8f16, h4, f16v) M(f32_16x16x16f16, h4, f4)
M(i32_32x32x4i8, int, i32v) M(i32_16x16x4i8, int, i16v) M(i32_4x4x4i8, int, i4)
KERNEL(f32_4x4x1f32_cbsz2_abid3, float, float, f4, __builtin_amdgcn_mfma_f32_4x4x1f32(a, b, c, 2, 3, 0))
KERNEL(f32_32x32x2f32_blgp1, float, float, f16v, __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 1))
KERNEL(f32_32x32x2f32_blgp2, float, float, f16v, __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 2))
KERNEL(f32_16x16x4f32_blgp3, float, float, f4, __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 3))
KERNEL(f32_16x16x4f32_blgp6, float, float, f4, __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 6))
#if CDNA < 3
M(f32_32x32x2bf16, s2, f32v) M(f32_16x16x2bf16, s2, f16v) M(f32_4x4x2bf16, s2, f4) M(f32_32x32x4bf16, s2, f16v) M(f32_16x16x8bf16, s2, f4)
M(i32_32x32x8i8, int, i16v) M(i32_16x16x16i8, int, i4)
#endif
#if CDNA >= 2
M(f32_32x32x4bf16_1k, s4, f32v) M(f32_16x16x4bf16_1k, s4, f16v) M(f32_4x4x4bf16_1k, s4, f4) M(f32_32x32x8bf16_1k, s4, f16v)
M(f32_16x16x16bf16_1k, s4, f4) M(f64_16x16x4f64, double, d4) M(f64_4x4x4f64, double, double)
#endif
#if CDNA == 3
M(f32_16x16x8_xf32, f2, f4) M(f32_32x32x4_xf32, f2, f16v)
#endif
#if CDNA == 4
typedef __bf16 __attribute__((ext_vector_type(8))) bf8v;
M(f32_16x16x32_f16, h8, f4) M(f32_32x32x16_f16, h8, f16v) M(f32_16x16x32_bf16, bf8v, f4) M(f32_32x32x16_bf16, bf8v, f16v)
M(i32_16x16x64_i8, i4, i4) M(i32_32x32x32_i8, i4, i16v)
#endif
#if CDNA >= 3
M(i32_32x32x16_i8, long, i16v) M(i32_16x16x32_i8, long, i4)
M(f32_16x16x32_fp8_fp8, long, f4) M(f32_16x16x32_fp8_bf8, long, f4) M(f32_16x16x32_bf8_fp8, long, f4) M(f32_16x16x32_bf8_bf8, long, f4)
M(f32_32x32x16_fp8_fp8, long, f16v) M(f32_32x32x16_fp8_bf8, long, f16v) M(f32_32x32x16_bf8_fp8, long, f16v)
M(f32_32x32x16_bf8_bf8, long, f16v)
KERNEL(f64_16x16x4f64_neg5, double, double, d4, __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 5))
#endif
#endif

#ifdef RDNA     /* 3, 4; WAVE 32 or 64 */
#define LANES WAVE
#define CAT_(a, b, c) a##b##c
#define CAT(a, b, c) CAT_(a, b, c)
#if RDNA == 3
#define BUILTIN(form) CAT(__builtin_amdgcn_wmma_##form##_w, WAVE, )
#else
#define BUILTIN(form) CAT(__builtin_amdgcn_wmma_##form##_w, WAVE, _gfx12)
#endif
#if WAVE == 32
#define PICK(a, b) a
#else
#define PICK(a, b) b
#endif
#define M(form, t, td, ...) KERNEL(form, t, t, td, BUILTIN(form)(__VA_ARGS__))
#define N(form, suffix, t, td, ...) KERNEL(form##suffix, t, t, td, BUILTIN(form)(__VA_ARGS__))
typedef PICK(f8, f4) fd;
typedef PICK(i8, i4) id;
#if RDNA == 3
M(f32_16x16x16_f16, h16, fd, a, b, c) M(f32_16x16x16_bf16, s16, fd, a, b, c)
typedef PICK(h16, h8) hd;
typedef PICK(s16, s8) sd;
M(f16_16x16x16_f16, h16, hd, a, b, c, 0) N(f16_16x16x16_f16, _high, h16, hd, a, b, c, 1)
M(bf16_16x16x16_bf16, s16, sd, a, b, c, 0) N(bf16_16x16x16_bf16, _high, s16, sd, a, b, c, 1)
#define T8 i4
#define T4 i2
#else
typedef PICK(h8, h4) hd;
typedef PICK(s8, s4) sd;
M(f32_16x16x16_f16, hd, fd, a, b, c) M(f32_16x16x16_bf16, sd, fd, a, b, c) M(f16_16x16x16_f16, hd, hd, a, b, c)
M(bf16_16x16x16_bf16, sd, sd, a, b, c)
typedef PICK(i2, int) b8;
#define T8 b8
#define T4 int
M(i32_16x16x32_iu4, b8, id, 1, a, 1, b, c, 0)
M(f32_16x16x16_fp8_fp8, b8, fd, a, b, c) M(f32_16x16x16_fp8_bf8, b8, fd, a, b, c) M(f32_16x16x16_bf8_fp8, b8, fd, a, b, c)
M(f32_16x16x16_bf8_bf8, b8, fd, a, b, c)
#endif
M(i32_16x16x16_iu8, T8, id, 1, a, 1, b, c, 0) M(i32_16x16x16_iu4, T4, id, 1, a, 1, b, c, 0)
N(i32_16x16x16_iu8, _ua, T8, id, 0, a, 1, b, c, 0) N(i32_16x16x16_iu8, _ub, T8, id, 1, a, 0, b, c, 0)
N(i32_16x16x16_iu4, _ua_ub, T4, id, 0, a, 0, b, c, 0) N(i32_16x16x16_iu8, _ua_ub_clamp, T8, id, 0, a, 0, b, c, 1)
#endif
