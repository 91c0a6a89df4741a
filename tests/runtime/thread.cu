/* SPDX-License-Identifier: Apache-2.0
 * The per-thread default stream: the variants that `nvcc --default-stream per-thread` calls, by name. A thread whose stream is held
 * up by a host function does not hold up another's; the plain functions wait for both. */
#include "test.h"

#include <pthread.h>
#include <unistd.h>

extern "C" {
cudaError_t cudaLaunchKernel_ptsz(const void *, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t cudaMemcpy_ptds(void *, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaMemset_ptds(void *, int, size_t);
cudaError_t cudaMemsetAsync_ptsz(void *, int, size_t, cudaStream_t);
cudaError_t cudaMemcpyAsync_ptsz(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t, cudaHostFn_t, void *);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t);
cudaError_t cudaStreamQuery_ptsz(cudaStream_t);
cudaError_t cudaEventRecord_ptsz(cudaEvent_t, cudaStream_t);
}

__global__ void
fill(int *p, int v)
{
    p[TID_X] = v;
}

static int go, gave_up;
static pthread_barrier_t submitted;
static int *numbers;

/* Ends by itself in the end: a device that holds up the other thread fails the test, and does not hang it. */
static void
wait_for_go(void *)
{
    for (int i = 0; i < 60000 && !__atomic_load_n(&go, __ATOMIC_ACQUIRE); i++)
        usleep(1000);
    if (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        __atomic_store_n(&gave_up, 1, __ATOMIC_RELEASE);
}

static void *
held_up(void *)
{
    OK(cudaLaunchHostFunc_ptsz(0, wait_for_go, NULL));
    EXPECT_RESULT(cudaStreamQuery_ptsz(0), cudaErrorNotReady);
    /* CUDA C++ Programming Guide, "Error Checking": that is not considered an error, and not reported as the last one. */
    EXPECT_RESULT(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_RESULT(cudaGetLastError(), cudaSuccess);
    pthread_barrier_wait(&submitted);
    /* A thread that ends waits for the stream of its own, or takes it away: this one stays. */
    OK(cudaStreamSynchronize_ptsz(0));
    return NULL;
}

static void *
free_to_go(void *)
{
    int *d = numbers, v = 33, h[32], ones = 0;
    cudaEvent_t e;
    void *args[] = { &d, &v };
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaMemset_ptds(d, 0, sizeof h));
    OK(cudaLaunchKernel_ptsz((const void *)fill, dim3(1), dim3(16), args, 0, 0));
    OK(cudaEventRecord_ptsz(e, 0));
    OK(cudaStreamSynchronize_ptsz(0));
    OK(cudaEventQuery(e));
    OK(cudaMemcpy_ptds(h, d, sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 33 && h[15] == 33 && h[16] == 0);
    OK(cudaMemsetAsync_ptsz(d, 0xff, 4, 0));
    OK(cudaMemcpyAsync_ptsz(&ones, d, 4, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize_ptsz(0));
    EXPECT(ones == -1);
    EXPECT(!__atomic_load_n(&gave_up, __ATOMIC_ACQUIRE));
    return NULL;
}

int
main(void)
{
    pthread_t a, b;
    cudaFuncAttributes attributes;
    /* Memory is allocated and the kernel loaded before a stream is held up: both may wait for the whole device (CUDA C++ Programming Guide,
     * "Lazy Loading", "Concurrent Execution"). */
    OK(cudaMalloc((void **)&numbers, 32 * sizeof *numbers));
    OK(cudaFuncGetAttributes(&attributes, (const void *)fill));
    fill<<<1, 32>>>(numbers, 0);
    OK(cudaDeviceSynchronize());
    EXPECT(!pthread_barrier_init(&submitted, NULL, 2));
    EXPECT(!pthread_create(&a, NULL, held_up, NULL));
    pthread_barrier_wait(&submitted);
    EXPECT(!pthread_create(&b, NULL, free_to_go, NULL));
    pthread_join(b, NULL);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    OK(cudaDeviceSynchronize());
    pthread_join(a, NULL);
    OK(cudaFree(numbers));
    return test_result();
}
