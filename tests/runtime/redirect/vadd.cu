/* SPDX-License-Identifier: Apache-2.0
 * A vector addition with a variable in device memory; with -rdc=true and -DOTHER_FILE its product comes from another file. Prints
 * "right", or what is wrong. */
#include <cstdio>

#ifdef OTHER_FILE
extern __device__ float times(float a, float b);
#else
__device__ float
times(float a, float b)
{
    return a * b;
}
#endif

__device__ float scale = 2;

__global__ void
add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = times(a[i] + b[i], scale);
}

int
main(int argc, char **)
{
    const int n = 1000;
    float a[n], b[n], c[n], s = 3, *d[3];
    dim3 block(argc > 1 ? 1 : 256), grid((n + block.x - 1) / block.x);
    for (int i = 0; i < n; i++)
        a[i] = i, b[i] = 2 * i;
    for (float *&p : d)
        if (cudaError_t e = cudaMalloc(&p, sizeof a)) {
            printf("cudaMalloc: %s\n", cudaGetErrorString(e));
            return 1;
        }
    cudaMemcpy(d[0], a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(d[1], b, sizeof b, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(scale, &s, sizeof s);
    add<<<grid, block>>>(d[0], d[1], d[2], n);
    if (cudaError_t e = cudaMemcpy(c, d[2], sizeof c, cudaMemcpyDeviceToHost)) {
        printf("cudaMemcpy: %s\n", cudaGetErrorString(e));
        return 1;
    }
    for (int i = 0; i < n; i++)
        if (c[i] != 9.0f * i) {
            printf("c[%d] is %g\n", i, c[i]);
            return 1;
        }
    for (float *p : d)
        cudaFree(p);
    puts("right");
    return 0;
}
