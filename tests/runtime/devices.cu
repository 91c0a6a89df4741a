/* SPDX-License-Identifier: Apache-2.0
 * Two devices: each has its context, its variables and its functions; a thread goes from one to the other; a reset of one
 * leaves the other as it is. Needs two devices (CUDAWAY_HOST_DEVICES=2, CUDAWAY_GFXEMU_DEVICES=2). */
#include "test.h"

#include <pthread.h>

__device__ int variable = 7;

__global__ void
add(int *p, int v)
{
    p[TID_X] = variable + v;
    if (TID_X == 0)
        variable++;
}

static void *
thread(void *)
{
    int device = -1;
    OK(cudaGetDevice(&device));
    EXPECT(device == 0);                             /* each thread begins with the first */
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    EXPECT(device == 1);
    return NULL;
}

int
main(void)
{
    int count = 0, *d[2], h[4], device = -1, value = 0;
    cudaPointerAttributes a;
    cudaStream_t s[2];
    pthread_t t;

    OK(cudaGetDeviceCount(&count));
    EXPECT(count == 2);
    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaGetDevice(&device));
        EXPECT(device == i);
        OK(cudaMalloc((void **)&d[i], sizeof h));
        OK(cudaStreamCreate(&s[i]));
        OK(cudaPointerGetAttributes(&a, d[i]));
        EXPECT(a.device == i && a.type == cudaMemoryTypeDevice);
    }
    /* Three launches on the first device, one on the second: each has a variable of its own. */
    for (int round = 0; round < 4; round++) {
        int i = round == 2;
        OK(cudaSetDevice(i));
        add<<<1, 4, 0, s[i]>>>(d[i], 100 * round);
        OK(cudaGetLastError());
        OK(cudaStreamSynchronize(s[i]));
    }
    OK(cudaMemcpy(h, d[0], sizeof h, cudaMemcpyDefault));
    EXPECT(h[0] == 7 + 2 + 300);
    OK(cudaMemcpy(h, d[1], sizeof h, cudaMemcpyDefault));
    EXPECT(h[0] == 7 + 200);
    OK(cudaSetDevice(1));
    OK(cudaMemcpyFromSymbol(&value, (const void *)&variable, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(value == 8);
    OK(cudaSetDevice(0));
    OK(cudaMemcpyFromSymbol(&value, (const void *)&variable, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(value == 10);
    OK(cudaMemcpyPeer(d[1], 1, d[0], 0, sizeof h));
    OK(cudaMemcpy(h, d[1], sizeof h, cudaMemcpyDefault));
    EXPECT(h[0] == 7 + 2 + 300);
    int can = 0;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (can) {
        OK(cudaDeviceEnablePeerAccess(1, 0));
        REFUSED(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
        OK(cudaDeviceDisablePeerAccess(1));
        REFUSED(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    }
    EXPECT(!pthread_create(&t, NULL, thread, NULL));
    pthread_join(t, NULL);
    OK(cudaGetDevice(&device));
    EXPECT(device == 0);
    /* A reset of the second leaves the first's memory and variables. */
    OK(cudaSetDevice(1));
    OK(cudaDeviceReset());
    OK(cudaMemcpyFromSymbol(&value, (const void *)&variable, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(value == 7);
    OK(cudaSetDevice(0));
    OK(cudaMemcpy(h, d[0], sizeof h, cudaMemcpyDeviceToHost));
    EXPECT(h[0] == 7 + 2 + 300);
    OK(cudaMemcpyFromSymbol(&value, (const void *)&variable, 4, 0, cudaMemcpyDeviceToHost));
    EXPECT(value == 10);
    int order[1] = { 1 };
    OK(cudaSetValidDevices(order, 1));
    REFUSED(cudaSetDevice(2), cudaErrorInvalidDevice);
    return test_result();
}
