/* SPDX-License-Identifier: Apache-2.0
 * "your-cuda-program" of the README: one kernel, called kernel. */
#include "tests/runtime/test.h"

extern "C" __global__ void
kernel(float *x, int n)
{
    int i = GLOBAL_X;
    if (i < n)
        x[i] = 2 * x[i] + 1;
}

int
main(void)
{
    float h[1000], *d;
    for (int i = 0; i < 1000; i++)
        h[i] = (float)i;
    OK(cudaMalloc((void **)&d, sizeof h));
    OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    kernel<<<8, 128>>>(d, 1000);
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 1000; i++)
        EXPECT(h[i] == (float)(2 * i + 1));
    OK(cudaFree(d));
    if (!test_result())
        puts("all values are right");
    return test_result();
}
