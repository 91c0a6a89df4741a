/* SPDX-License-Identifier: Apache-2.0
 * A program, and with LIBRARY a library that the dynamic linker loads with it; each has kernels of its own. */
#include "tests/runtime/test.h"

int library_sum(const int *in, int n);

#ifdef LIBRARY
__global__ void
sum(const int *in, int n, int *out)
{
    int total = 0;
    for (int i = 0; i < n; i++)
        total += in[i];
    *out = total;
}

int
library_sum(const int *in, int n)
{
    int *d, result = -1;
    OK(cudaMalloc((void **)&d, sizeof result));
    sum<<<1, 32>>>(in, n, d);
    OK(cudaMemcpy(&result, d, sizeof result, cudaMemcpyDeviceToHost));
    OK(cudaFree(d));
    return result;
}
#else
__global__ void
square(int *x, int n)
{
    int i = GLOBAL_X;
    if (i < n)
        x[i] = i * i;
}

__global__ void
negate(int *x, int n)
{
    int i = GLOBAL_X;
    if (i < n)
        x[i] = -x[i];
}

int
main(void)
{
    int *d;
    OK(cudaMalloc((void **)&d, 100 * sizeof *d));
    square<<<2, 64>>>(d, 100);
    negate<<<2, 64>>>(d, 100);
    EXPECT(library_sum(d, 100) == -328350);     /* 99 * 100 * 199 / 6 */
    OK(cudaFree(d));
    return test_result();
}
#endif
