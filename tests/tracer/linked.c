/* SPDX-License-Identifier: Apache-2.0
 * A program that needs libcuda.so.1 by its link, not by dlopen. */
#include "impl/api/cuda.h"

int
main(void)
{
    CUdeviceptr p;
    return cuInit(0) == CUDA_SUCCESS && cuMemAlloc_v2(&p, 321) == CUDA_SUCCESS ? 0 : 1;
}
