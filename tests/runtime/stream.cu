/* SPDX-License-Identifier: Apache-2.0
 * Streams and events ("Stream Management", "Event Management", CUDA Runtime API). */
#include "test.h"

__global__ void
fill(int *p, int n, int value)
{
    int i = (int)GLOBAL_X;
    if (i < n)
        p[i] = value;
}

static int order[8], steps;

static void
host_function(void *user)
{
    order[steps++] = *(int *)user;
}

static void
callback(cudaStream_t, cudaError_t status, void *user)
{
    order[steps++] = status == cudaSuccess ? *(int *)user : -1;
}

static void
streams(void)
{
    cudaStream_t a, b, c;
    int least = 0, greatest = 0, priority = 5, one = 1, two = 2, *d, h[64], device = -1;
    unsigned flags = 9;
    unsigned long long id_a = 0, id_b = 0;

    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(least >= greatest);
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&c, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetFlags(a, &flags));
    EXPECT(flags == cudaStreamDefault);
    OK(cudaStreamGetFlags(b, &flags));
    EXPECT(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetPriority(c, &priority));
    EXPECT(priority == greatest);
    OK(cudaStreamGetPriority(a, &priority));
    EXPECT(priority == 0);
    OK(cudaStreamGetId(a, &id_a));
    OK(cudaStreamGetId(b, &id_b));
    EXPECT(id_a != id_b);
    OK(cudaStreamGetDevice(a, &device));
    EXPECT(device == 0);
    REFUSED(cudaStreamCreateWithFlags(&c, 6), cudaErrorInvalidValue);
    REFUSED(cudaStreamCreate(NULL), cudaErrorInvalidValue);

    OK(cudaMalloc((void **)&d, sizeof h));
    fill<<<1, 64, 0, a>>>(d, 64, 3);
    OK(cudaLaunchHostFunc(a, host_function, &one));
    OK(cudaStreamAddCallback(a, callback, &two, 0));
    OK(cudaStreamSynchronize(a));
    EXPECT(steps == 2 && order[0] == 1 && order[1] == 2);
    OK(cudaStreamQuery(a));
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 3 && h[63] == 3);
    REFUSED(cudaStreamAddCallback(a, callback, &two, 1), cudaErrorInvalidValue);
    fill<<<1, 64, 0, cudaStreamPerThread>>>(d, 64, 4);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    fill<<<1, 64, 0, cudaStreamLegacy>>>(d, 64, 5);
    OK(cudaStreamSynchronize(0));
    OK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[5] == 5);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaStreamDestroy(c));
    REFUSED(cudaStreamDestroy(0), cudaErrorInvalidResourceHandle);
    if (!on_nvidia()) {
        REFUSED(cudaStreamDestroy(a), cudaErrorInvalidResourceHandle);
        REFUSED(cudaStreamSynchronize(a), cudaErrorInvalidResourceHandle);
    }
    OK(cudaFree(d));
}

static void
events(void)
{
    cudaEvent_t a, b, untimed;
    cudaStream_t s, t;
    float ms = -1;
    int *d;

    OK(cudaMalloc((void **)&d, 256));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&t));
    OK(cudaEventCreate(&a));
    OK(cudaEventCreateWithFlags(&b, cudaEventBlockingSync));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    OK(cudaEventQuery(a));                           /* never recorded: complete */
    OK(cudaEventSynchronize(a));
    REFUSED(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(a, s));
    fill<<<1, 64, 0, s>>>(d, 64, 1);
    OK(cudaEventRecordWithFlags(b, s, cudaEventRecordDefault));
    OK(cudaStreamWaitEvent(t, b, 0));
    fill<<<1, 64, 0, t>>>(d, 64, 2);
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    EXPECT(ms >= 0);
    OK(cudaStreamSynchronize(t));
    int h;
    OK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
    EXPECT(h == 2);
    OK(cudaEventRecord(untimed, s));
    OK(cudaEventSynchronize(untimed));
    REFUSED(cudaEventElapsedTime(&ms, a, untimed), cudaErrorInvalidResourceHandle);
    REFUSED(cudaEventCreateWithFlags(&a, 0x100), cudaErrorInvalidValue);
    OK(cudaEventDestroy(a));
    if (!on_nvidia())
        REFUSED(cudaEventRecord(a, s), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(b));
    OK(cudaEventDestroy(untimed));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
    OK(cudaFree(d));
}

int
main(void)
{
    streams();
    events();
    return test_result();
}
