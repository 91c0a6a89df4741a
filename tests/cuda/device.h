/* SPDX-License-Identifier: Apache-2.0
 * The little of CUDA's device language that the test kernels use, over clang's NVPTX builtins: clang compiles the .cu
 * files beside this with no CUDA toolkit (-nocudainc -nocudalib). Device code only; the host side is the .c files.
 * With -x hip it is the same language over the builtins of AMD's processors (device_amd.h), for `tools/bench amd`. */
#ifndef TESTS_CUDA_DEVICE_H
#define TESTS_CUDA_DEVICE_H

#define __global__   __attribute__((global))
#define __device__   __attribute__((device))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define KERNEL(name) extern "C" __global__ void name

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
#ifdef __LP64__
typedef unsigned long u64;
typedef long i64;
#define FORMAT_I64 "%ld"
#define atomic_add_i64 __nvvm_atom_add_gen_l
#define atomic_max_u64 __nvvm_atom_max_gen_ul
#else               /* 32-bit addresses */
typedef unsigned long long u64;
typedef long long i64;
#define FORMAT_I64 "%lld"
#define atomic_add_i64 __nvvm_atom_add_gen_ll
#define atomic_max_u64 __nvvm_atom_max_gen_ull
#endif
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float2v __attribute__((ext_vector_type(2)));
typedef u32 uint4v __attribute__((ext_vector_type(4)));
typedef u8 u8x4 __attribute__((ext_vector_type(4)));

#ifdef __HIP__
#include "device_amd.h"
#else

#define tidx  ((u32)__nvvm_read_ptx_sreg_tid_x())
#define tidy  ((u32)__nvvm_read_ptx_sreg_tid_y())
#define tidz  ((u32)__nvvm_read_ptx_sreg_tid_z())
#define bidx  ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define bidy  ((u32)__nvvm_read_ptx_sreg_ctaid_y())
#define bidz  ((u32)__nvvm_read_ptx_sreg_ctaid_z())
#define bdimx ((u32)__nvvm_read_ptx_sreg_ntid_x())
#define bdimy ((u32)__nvvm_read_ptx_sreg_ntid_y())
#define bdimz ((u32)__nvvm_read_ptx_sreg_ntid_z())
#define gdimx ((u32)__nvvm_read_ptx_sreg_nctaid_x())
#define gdimy ((u32)__nvvm_read_ptx_sreg_nctaid_y())
#define gdimz ((u32)__nvvm_read_ptx_sreg_nctaid_z())

#define barrier()            __syncthreads()
#define barrier_count(p)     __nvvm_bar0_popc(p)
#define barrier_and(p)       __nvvm_bar0_and(p)
#define barrier_or(p)        __nvvm_bar0_or(p)

/* Shuffles over the full warp width. c = (segment mask << 8) | clamp, as the PTX ISA has it under shfl.sync. */
#define shfl_down(mask, v, d) __nvvm_shfl_sync_down_i32((mask), (v), (d), 31)
#define shfl_up(mask, v, d)   __nvvm_shfl_sync_up_i32((mask), (v), (d), 0)
#define shfl_xor(mask, v, d)  __nvvm_shfl_sync_bfly_i32((mask), (v), (d), 31)
#define shfl_idx(mask, v, l)  __nvvm_shfl_sync_idx_i32((mask), (v), (l), 31)
#define shfl_idx_seg8(mask, v, l) __nvvm_shfl_sync_idx_i32((mask), (v), (l), (24 << 8) | 31)
#define shfl_down_f(mask, v, d) __nvvm_shfl_sync_down_f32((mask), (v), (d), 31)
#define ballot(mask, p)      __nvvm_vote_ballot_sync((mask), (p))
#define vote_any(mask, p)    __nvvm_vote_any_sync((mask), (p))
#define vote_all(mask, p)    __nvvm_vote_all_sync((mask), (p))
#define warp_barrier(mask)   __nvvm_bar_warp_sync(mask)

static __device__ inline u32
lane_id(void)
{
    return __nvvm_read_ptx_sreg_laneid();
}
#endif

#define global_x (bidx * bdimx + tidx)

/* Lanes of this thread's warp that exist, for a one-dimensional block. */
static __device__ inline u32
warp_members(void)
{
    u32 rest = bdimx - (tidx & ~31u);
    return rest >= 32 ? 0xffffffffu : (1u << rest) - 1;
}

extern "C" __device__ int vprintf(const char *format, const void *arguments);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char *message, const char *file, unsigned line,
                                                                const char *function, unsigned long char_size);
extern "C" __device__ int printf(const char *format, ...);

#define assert(c) ((c) ? (void)0 : __assertfail(#c, "kernels.cu", __LINE__, __func__, 1))

#endif
