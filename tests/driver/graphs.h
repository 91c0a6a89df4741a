/* SPDX-License-Identifier: Apache-2.0
 * What tests of graphs share. */
#include "tests/driver/test.h"

static inline CUstream
stream(void)
{
    CUstream s = NULL;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return s;
}

static inline CUgraphExec
instantiate(CUgraph g)
{
    CUgraphExec e = NULL;
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    return e;
}

/* A kernel node of one thread. */
static inline CUDA_KERNEL_NODE_PARAMS
one_thread(CUfunction f, void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
                                      .kernelParams = args };
}
