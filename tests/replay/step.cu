// SPDX-License-Identifier: Apache-2.0
// The source that the .loc lines of step.ptx stand for.
__device__ float grow(float x)
{
    return x * x + 1;
}

__global__ void walk(const float *in, float *out)
{
    __shared__ float part[64];
    int i = threadIdx.x;
    float x = in[blockIdx.x * 64 + i];
    for (int k = 0; k < 3; k++)
        x = grow(x);
    part[i] = x;
    __syncthreads();
    out[blockIdx.x * 64 + i] = part[i ^ 4];
}
