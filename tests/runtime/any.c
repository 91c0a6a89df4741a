/* SPDX-License-Identifier: Apache-2.0
 * Any function of the Runtime, with any arguments, from several threads at a time (any_call.h). Nothing crashes. `any [seconds [threads [seed]]]`.
 * Compiled with SCARCE, a library to load first: while memory is short. */
#ifdef SCARCE
#define _GNU_SOURCE
#include "tests/scarce.h"
#endif

#include "tests/runtime/any_call.h"
#include "tests/storm.h"

static unsigned long long seed;
static bool memory_goes;

static void *
worker(void *number)
{
    struct dice s = { .state = ((uintptr_t)number + seed * 1000) * 0x9e3779b97f4a7c15ull + 1 };
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++) {
        if (i % 8 == 0)
            (void)cudaSetDevice((int)(rnd(&s) % 2));
        if (i % 64 == 0)
            make_objects(&s);
        if (i % 4096 == 4095)
            (void)cudaDeviceReset();
        any_step(&s, memory_goes);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    int n = argc > 2 ? atoi(argv[2]) : 8;
    if (n < 1)
        return 2;
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    no_log();
    memory_goes = memory_can_go();
    register_program();
#ifdef SCARCE
    if (!dlopen(SCARCE, RTLD_NOW))
        return 2;
    atomic_store(&scarce, true);
#endif
    run_threads(seconds, n, 0, NULL, worker);
#ifdef SCARCE
    atomic_store(&scarce, false);
#endif
    printf("%lu calls, %lu refused\n", atomic_load(&calls), atomic_load(&lost));
    end_objects();
    /* The device works as before. */
    unsigned *p = NULL, got = 0;
    void *args[] = { &p };
    if (cudaMalloc((void **)&p, 4) != cudaSuccess || cudaLaunchKernel(&writer_stub, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, args, 0, NULL) != cudaSuccess ||
        cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost) != cudaSuccess) {
        fprintf(stderr, "the device does not work any more: %s\n", cudaGetErrorName(cudaGetLastError()));
        return 1;
    }
    return atomic_load(&calls) < 1000 || atomic_load(&failures);
}
