/* SPDX-License-Identifier: Apache-2.0
 * Allocation in stream order and pools ("Stream Ordered Memory Allocator", CUDA Runtime API). */
#include "test.h"

__global__ void
fill(int *p, int v)
{
    p[TID_X] = v;
}

int
main(void)
{
    cudaStream_t s;
    cudaMemPool_t pool, own;
    cudaMemPoolProps props;
    unsigned long long threshold = 0, used = 0;
    int *p, h[32];

    OK(cudaStreamCreate(&s));
    OK(cudaMallocAsync((void **)&p, sizeof h, s));
    fill<<<1, 32, 0, s>>>(p, 12);
    OK(cudaMemcpyAsync(h, p, sizeof h, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(h[0] == 12 && h[31] == 12);
    OK(cudaFreeAsync(NULL, s));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 1 << 20;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 0;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    EXPECT(threshold == 1 << 20);
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&own, &props));
    OK(cudaMallocFromPoolAsync((void **)&p, 1000, own, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used >= 1000);
    OK(cudaDeviceSetMemPool(0, own));
    OK(cudaDeviceGetMemPool(&pool, 0));
    EXPECT(pool == own);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemPoolTrimTo(own, 0));
    OK(cudaMemPoolDestroy(own));
    REFUSED(cudaMallocAsync(NULL, 4, s), cudaErrorInvalidValue);
    REFUSED(cudaMallocFromPoolAsync((void **)&p, 4, own, s), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(s));
    return test_result();
}
