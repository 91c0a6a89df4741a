/* SPDX-License-Identifier: Apache-2.0
 * device.h for a compilation straight to an AMD processor (clang -x hip --offload-arch=ARCH -nogpuinc -nogpulib; no ROCm): what
 * a programmer who ports the kernels to HIP would write or gets from HIP's headers. Warps have 32 lanes, as the kernels expect:
 * on a 64-lane wave every operation stays in its half. Lane masks are not looked at (all lanes named are there). */
#ifndef TESTS_CUDA_DEVICE_AMD_H
#define TESTS_CUDA_DEVICE_AMD_H

#define DEVICE static __device__ inline __attribute__((always_inline))

#define tidx  ((u32)__builtin_amdgcn_workitem_id_x())
#define tidy  ((u32)__builtin_amdgcn_workitem_id_y())
#define tidz  ((u32)__builtin_amdgcn_workitem_id_z())
#define bidx  ((u32)__builtin_amdgcn_workgroup_id_x())
#define bidy  ((u32)__builtin_amdgcn_workgroup_id_y())
#define bidz  ((u32)__builtin_amdgcn_workgroup_id_z())
#define bdimx ((u32)__builtin_amdgcn_workgroup_size_x())
#define bdimy ((u32)__builtin_amdgcn_workgroup_size_y())
#define bdimz ((u32)__builtin_amdgcn_workgroup_size_z())
/* The block counts are the first three words of the hidden arguments (code object version 5). */
#define amd_hidden(i) (((const __attribute__((address_space(4))) u32 *)__builtin_amdgcn_implicitarg_ptr())[i])
#define gdimx amd_hidden(0)
#define gdimy amd_hidden(1)
#define gdimz amd_hidden(2)

DEVICE u32
amd_wave_lane(void)
{
#ifdef __GFX9__
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0);
#endif
}

DEVICE u32
lane_id(void)
{
    return amd_wave_lane() & 31;
}

DEVICE void
barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define warp_barrier(mask) __builtin_amdgcn_wave_barrier()

DEVICE u32
amd_ballot(bool p)
{
#ifdef __GFX9__
    return (u32)(__builtin_amdgcn_ballot_w64(p) >> (amd_wave_lane() & 32));
#else
    return __builtin_amdgcn_ballot_w32(p);
#endif
}

#define ballot(mask, p)   ((void)(mask), amd_ballot(p))
#define vote_any(mask, p) ((void)(mask), amd_ballot(p) != 0)
#define vote_all(mask, p) ((void)(mask), amd_ballot(!(p)) == 0)

DEVICE i32
amd_from(u32 wave_lane, i32 v)
{
    return __builtin_amdgcn_ds_bpermute((i32)(wave_lane << 2), v);
}

DEVICE i32
amd_shfl_down(i32 v, u32 d)
{
    u32 self = amd_wave_lane();
    return amd_from((self & 31) + d > 31 ? self : self + d, v);
}

DEVICE i32
amd_shfl_up(i32 v, u32 d)
{
    u32 self = amd_wave_lane();
    return amd_from((self & 31) < d ? self : self - d, v);
}

#define shfl_down(mask, v, d) ((void)(mask), amd_shfl_down((v), (d)))
#define shfl_up(mask, v, d)   ((void)(mask), amd_shfl_up((v), (d)))
#define shfl_xor(mask, v, d)  ((void)(mask), amd_from(amd_wave_lane() ^ (d), (v)))
#define shfl_idx(mask, v, l)  ((void)(mask), amd_from((amd_wave_lane() & ~31u) | ((l) & 31), (v)))
#define shfl_idx_seg8(mask, v, l) ((void)(mask), amd_from((amd_wave_lane() & ~7u) | ((l) & 7), (v)))
#define shfl_down_f(mask, v, d) __builtin_bit_cast(float, amd_shfl_down(__builtin_bit_cast(i32, (v)), (d)))
#define __nvvm_shfl_sync_bfly_f32(mask, v, d, c) __builtin_bit_cast(float, amd_from(amd_wave_lane() ^ (d), __builtin_bit_cast(i32, (v))))

/* How many threads of the block have the predicate: a sum in LDS, to which each wave adds once. */
DEVICE i32
barrier_count(bool p)
{
    static __shared__ u32 sum;
    if ((tidx | tidy | tidz) == 0)
        sum = 0;
    barrier();
    u64 set = __builtin_amdgcn_ballot_w64(p);
    if (amd_wave_lane() == 0)
        __hip_atomic_fetch_add(&sum, (u32)__builtin_popcountl(set), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    barrier();
    i32 r = (i32)sum;
    barrier();
    return r;
}

#define barrier_and(p) (barrier_count(!(p)) == 0)
#define barrier_or(p)  (barrier_count(p) != 0)

#define AMD_ATOMIC(op, p, v) __hip_atomic_##op((p), (v), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define __nvvm_atom_add_gen_i(p, v)  AMD_ATOMIC(fetch_add, p, v)
#define __nvvm_atom_add_gen_l(p, v)  AMD_ATOMIC(fetch_add, p, v)
#define __nvvm_atom_add_gen_f(p, v)  AMD_ATOMIC(fetch_add, p, v)
#define __nvvm_atom_add_gen_d(p, v)  AMD_ATOMIC(fetch_add, p, v)
#define __nvvm_atom_min_gen_i(p, v)  AMD_ATOMIC(fetch_min, p, v)
#define __nvvm_atom_min_gen_ui(p, v) AMD_ATOMIC(fetch_min, p, v)
#define __nvvm_atom_max_gen_i(p, v)  AMD_ATOMIC(fetch_max, p, v)
#define __nvvm_atom_max_gen_ui(p, v) AMD_ATOMIC(fetch_max, p, v)
#define __nvvm_atom_max_gen_ul(p, v) AMD_ATOMIC(fetch_max, p, v)
#define __nvvm_atom_and_gen_i(p, v)  AMD_ATOMIC(fetch_and, p, v)
#define __nvvm_atom_or_gen_i(p, v)   AMD_ATOMIC(fetch_or, p, v)
#define __nvvm_atom_xor_gen_i(p, v)  AMD_ATOMIC(fetch_xor, p, v)
#define __nvvm_atom_xchg_gen_i(p, v) AMD_ATOMIC(exchange, p, v)
#define __nvvm_atom_inc_gen_ui(p, v) __builtin_amdgcn_atomic_inc32((p), (v), __ATOMIC_RELAXED, "agent")
#define __nvvm_atom_dec_gen_ui(p, v) __builtin_amdgcn_atomic_dec32((p), (v), __ATOMIC_RELAXED, "agent")

DEVICE i32
__nvvm_atom_cas_gen_i(i32 *p, i32 expected, i32 v)
{
    __hip_atomic_compare_exchange_strong(p, &expected, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return expected;
}

#define __nvvm_rsqrt_approx_f(x) __builtin_amdgcn_rsqf(x)
#define __nvvm_ex2_approx_f(x)   __builtin_amdgcn_exp2f(x)
#define __nvvm_sqrt_rn_d(x)      __builtin_sqrt(x)
#define __nvvm_f2i_rn(x)         ((i32)__builtin_rintf(x))
#define __nvvm_f2i_rm(x)         ((i32)__builtin_floorf(x))
#define __nvvm_f2i_rp(x)         ((i32)__builtin_ceilf(x))

#endif
