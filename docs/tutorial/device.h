/* SPDX-License-Identifier: Apache-2.0
 * What nvcc declares by itself, for clang without a CUDA toolkit: as much as the tutorial's kernel needs. */
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
struct cuda_index { unsigned x; };
#define threadIdx (cuda_index{ (unsigned)__nvvm_read_ptx_sreg_tid_x() })
#define blockIdx (cuda_index{ (unsigned)__nvvm_read_ptx_sreg_ctaid_x() })
