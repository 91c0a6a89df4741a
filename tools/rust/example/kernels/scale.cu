/* SPDX-License-Identifier: Apache-2.0
 * clang compiles this without a CUDA toolkit, nvcc with one. */
#include "factor.h"

#ifdef __clang__
#define KERNEL extern "C" __attribute__((global)) void
#define INDEX (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#else
#define KERNEL extern "C" __global__ void
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#endif

KERNEL
scale(float *x, unsigned n)
{
    unsigned i = INDEX;
    if (i < n)
        x[i] *= FACTOR;
}
