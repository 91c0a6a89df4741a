/* SPDX-License-Identifier: Apache-2.0
 * Launches: <<<>>>, by name, with attributes, cooperative; what is refused; printf. Errors as "Execution Control" of the CUDA
 * Runtime API names them. */
#include "test.h"

__global__ void
scale(int *p, int n, int factor)
{
    int i = (int)GLOBAL_X;
    if (i < n)
        p[i] *= factor;
}

extern __shared__ int dynamic[];

__global__ void
reverse(int *p)
{
    unsigned i = TID_X, n = NTID_X;
    dynamic[i] = p[i];
    SYNC();
    p[i] = dynamic[n - 1 - i];
}

struct pair { double a; char c; };

__global__ void
arguments(double *out, pair p, char c, short s, const float *f)
{
    out[0] = p.a;
    out[1] = p.c;
    out[2] = c;
    out[3] = s;
    out[4] = f ? f[0] : -1;
}

__global__ void
hello(int n)
{
    if (TID_X == 0)
        printf("hello %d %s %.2f\n", n, "device", 1.5);
}

static void
not_a_kernel(void)
{
}

static void
by_brackets(void)
{
    int h[1000], *d;
    for (int i = 0; i < 1000; i++)
        h[i] = i;
    OK(cudaMalloc((void **)&d, sizeof h));
    OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    scale<<<4, 256>>>(d, 1000, 3);
    OK(cudaGetLastError());
    scale<<<dim3(1000), dim3(1)>>>(d, 1000, 2);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 1000; i++)
        EXPECT(h[i] == i * 6);
    reverse<<<1, 64, 64 * sizeof(int)>>>(d);
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(h[i] == (63 - i) * 6);
    OK(cudaFree(d));
}

static void
by_name(void)
{
    int h[64], *d, n = 64, factor = 5;
    void *args[] = { &d, &n, &factor };
    cudaStream_t s;
    for (int i = 0; i < 64; i++)
        h[i] = i;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&d, sizeof h));
    OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel((const void *)scale, dim3(2), dim3(32), args, 0, s));
    OK(cudaLaunchCooperativeKernel((const void *)scale, dim3(2), dim3(32), args, 0, s));
    cudaLaunchAttribute a[2];
    memset(a, 0, sizeof a);
    a[0].id = cudaLaunchAttributeCooperative;
    a[0].val.cooperative = 1;
    a[1].id = cudaLaunchAttributePriority;
    a[1].val.priority = 0;
    cudaLaunchConfig_t c;
    memset(&c, 0, sizeof c);
    c.gridDim = dim3(2);
    c.blockDim = dim3(32);
    c.stream = s;
    c.attrs = a;
    c.numAttrs = 2;
    OK(cudaLaunchKernelExC(&c, (const void *)scale, args));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(h[i] == i * 125);
    OK(cudaFree(d));
    OK(cudaStreamDestroy(s));
}

static void
argument_layout(void)
{
    double h[5], *d;
    float *f, one = 0.25f;
    pair p = { 2.5, 'x' };
    OK(cudaMalloc((void **)&d, sizeof h));
    OK(cudaMalloc((void **)&f, sizeof one));
    OK(cudaMemcpy(f, &one, sizeof one, cudaMemcpyHostToDevice));
    arguments<<<1, 1>>>(d, p, 'y', -7, f);
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 2.5 && h[1] == 'x' && h[2] == 'y' && h[3] == -7 && h[4] == 0.25);
    OK(cudaFree(d));
    OK(cudaFree(f));
}

static void
refused(void)
{
    int *d, n = 1, factor = 1;
    void *args[] = { &d, &n, &factor };
    OK(cudaMalloc((void **)&d, 4));
    scale<<<1, 2048>>>(d, 1, 1);
    EXPECT_RESULT(cudaPeekAtLastError(), BAD_CONFIGURATION);
    EXPECT_RESULT(cudaGetLastError(), BAD_CONFIGURATION);
    EXPECT_RESULT(cudaGetLastError(), cudaSuccess);
    scale<<<0, 1>>>(d, 1, 1);
    EXPECT_RESULT(cudaGetLastError(), BAD_CONFIGURATION);
    scale<<<dim3(1, 70000), 1>>>(d, 1, 1);
    EXPECT_RESULT(cudaGetLastError(), BAD_CONFIGURATION);
    scale<<<1, dim3(1, 1, 65)>>>(d, 1, 1);
    EXPECT_RESULT(cudaGetLastError(), BAD_CONFIGURATION);
    scale<<<1, 1, 16 << 20>>>(d, 1, 1);
    EXPECT_RESULT(cudaGetLastError(), cudaErrorInvalidValue);
    REFUSED(cudaLaunchKernel((const void *)not_a_kernel, dim3(1), dim3(1), args, 0, 0), NOT_A_KERNEL);
    REFUSED(cudaLaunchKernel(NULL, dim3(1), dim3(1), args, 0, 0), cudaErrorInvalidDeviceFunction);
    if (!on_nvidia()) {
        cudaStream_t gone;
        REFUSED(cudaLaunchKernelExC(NULL, (const void *)scale, args), cudaErrorInvalidValue);
        OK(cudaStreamCreate(&gone));
        OK(cudaStreamDestroy(gone));
        REFUSED(cudaLaunchKernel((const void *)scale, dim3(1), dim3(1), args, 0, gone), cudaErrorInvalidResourceHandle);
    }
    OK(cudaFree(d));
}

#ifndef __NVCC__
extern "C" cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);

/* Configurations are a stack: a launch within the arguments of a launch, twelve deep. */
static void
configurations(void)
{
    dim3 g, b;
    size_t shared;
    cudaStream_t s;
    for (unsigned i = 1; i <= 12; i++)
        EXPECT(__cudaPushCallConfiguration(dim3(i, 2, 3), dim3(4, i, 6), i * 10, (cudaStream_t)(size_t)i) == 0);
    for (unsigned i = 12; i >= 1; i--) {
        OK(__cudaPopCallConfiguration(&g, &b, &shared, &s));
        EXPECT(g.x == i && g.y == 2 && g.z == 3 && b.x == 4 && b.y == i && b.z == 6 && shared == i * 10 && s == (cudaStream_t)(size_t)i);
    }
    REFUSED(__cudaPopCallConfiguration(&g, &b, &shared, &s), cudaErrorMissingConfiguration);
}
#endif

int
main(void)
{
    by_brackets();
    by_name();
    argument_layout();
    refused();
#ifndef __NVCC__
    configurations();
#endif
    hello<<<2, 4>>>(7);
    OK(cudaDeviceSynchronize());
    return test_result();
}
