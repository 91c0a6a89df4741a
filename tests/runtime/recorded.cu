/* SPDX-License-Identifier: Apache-2.0
 * A program whose recording recorded.sh knows: each call once, with numbers that no other call has. */
#include "test.h"

__global__ void
add(int *p, int v)
{
    p[GLOBAL_X] += v;
}

int
main()
{
    int h[64] = { 0 };
    int *d, v = 7;

    OK(cudaMalloc((void **)&d, 4096));
    OK(cudaMemset(d, 1, 256));
    add<<<dim3(2), dim3(32), 128>>>(d, v);
    OK(cudaMemcpyAsync(h, d, 256, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    EXPECT(h[63] == 0x01010101 + 7);
    REFUSED(cudaFree((void *)16), cudaErrorInvalidValue);
    REFUSED(cudaDestroyExternalMemory(0), cudaErrorNotSupported);
    OK(cudaFree(d));
    return test_result();
}
