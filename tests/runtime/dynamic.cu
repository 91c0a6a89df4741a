/* SPDX-License-Identifier: Apache-2.0
 * Dynamic parallelism as nvcc compiles it (-rdc=true, libcudadevrt): children, streams and events of the device, tail launches, copies. */
#include "test.h"

__global__ void
fill(int *p, int base, float f)
{
    int i = (int)GLOBAL_X;
    p[base + i] = base + i + (int)f;
}

__global__ void
last(int *p)
{
    p[0] = -p[0];
}

__global__ void
parent(int *p, int *q)
{
    if (TID_X < 4)
        fill<<<2, 8>>>(p, (int)TID_X * 16, 2.5f);
    if (TID_X == 0)
        last<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
    if (TID_X == 1) {
        cudaStream_t s;
        cudaEvent_t e;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
        fill<<<1, 4, 16, s>>>(p, 100, 0.0f);
        cudaEventRecord(e, s);
        cudaStreamWaitEvent(s, e, 0);
        cudaMemcpyAsync(q, p + 100, 16, cudaMemcpyDeviceToDevice, s);
        cudaMemsetAsync(q + 4, 1, 4, s);
        cudaEventDestroy(e);
        cudaStreamDestroy(s);
        q[5] = (int)cudaGetLastError();
    }
}

/* Sums of a range by halving: each level launches the next. */
__global__ void
sum(int *p, int n)
{
    if (n == 1)
        return;
    if (TID_X < (unsigned)n / 2)
        p[TID_X] += p[TID_X + n / 2];
    SYNC();
    if (TID_X == 0)
        sum<<<1, 64>>>(p, n / 2);
}

int
main(void)
{
    int *p, *q, h[128];
    OK(cudaMalloc((void **)&p, sizeof h));
    OK(cudaMalloc((void **)&q, sizeof h));
    OK(cudaMemset(p, 0, sizeof h));
    parent<<<1, 32>>>(p, q);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == -2);
    for (int i = 1; i < 64; i++)
        EXPECT(h[i] == i + 2);
    for (int i = 64; i < 128; i++)
        EXPECT(h[i] == (i >= 100 && i < 104 ? i : 0));
    OK(cudaMemcpy(h, q, 24, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 100 && h[3] == 103 && h[4] == 0x01010101 && h[5] == 0);

    int total = 0;
    for (int i = 0; i < 128; i++)
        total += h[i] = i * 3 + 1;
    OK(cudaMemcpy(p, h, sizeof h, cudaMemcpyHostToDevice));
    sum<<<1, 64>>>(p, 128);
    OK(cudaMemcpy(h, p, 4, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == total);
    OK(cudaFree(p));
    OK(cudaFree(q));
    return test_result();
}
