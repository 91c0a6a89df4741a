/* SPDX-License-Identifier: Apache-2.0
 * Registered code: many threads that use it first at the same time, and the same program once more as a library that is
 * loaded, used and taken out, whose kernels are then unknown. */
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>

__device__ int base = 100;

__global__ void
work(int *p, int v)
{
    p[TID_X] = base + v + (int)TID_X;
}

extern "C" __attribute__((visibility("default"))) int
entry(int v)
{
    int *d, h[32], bad = 0;
    if (cudaMalloc((void **)&d, sizeof h) != cudaSuccess)
        return 1;
    for (int round = 0; round < 20; round++) {
        work<<<1, 32>>>(d, v + round);
        if (cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess)
            return 1;
        for (int i = 0; i < 32; i++)
            bad += h[i] != 100 + v + round + i;
    }
    return bad || cudaFree(d) != cudaSuccess;
}

static void *
thread(void *v)
{
    EXPECT(entry((int)(size_t)v) == 0);
    return NULL;
}

int
main(int argc, char **argv)
{
    pthread_t t[8];
    for (size_t i = 0; i < 8; i++)
        EXPECT(!pthread_create(&t[i], NULL, thread, (void *)(i * 1000)));
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    for (int round = 0; argc > 1 && round < 3; round++) {
        void *l = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!l)
            fprintf(stderr, "%s\n", dlerror());
        EXPECT(l);
        int (*f)(int) = l ? (int (*)(int))dlsym(l, "entry") : NULL;
        EXPECT(f && f(5) == 0);
        EXPECT(l && dlclose(l) == 0);
    }
    return test_result();
}
