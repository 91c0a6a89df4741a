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

struct graph_case {
    const char *name;
    void (*run)(void);
};

static inline void
run_cases(const struct graph_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int before = failures;
        cases[i].run();
        if (failures != before)
            fprintf(stderr, "in %s\n", cases[i].name);
    }
}
