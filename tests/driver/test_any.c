/* SPDX-License-Identifier: Apache-2.0
 * Any function of the driver, with any arguments, from several threads at a time (any_call.h). Nothing crashes. `test_driver_any [seconds [threads
 * [seed]]]`. Compiled with SCARCE, a library to load first: while memory is short. */
#ifdef SCARCE
#define _GNU_SOURCE
#include "tests/scarce.h"
#endif

#include "tests/driver/any_call.h"

static unsigned long long seed;

static void *
worker(void *number)
{
    struct dice s = { .state = ((uintptr_t)number + seed * 1000) * 0x9e3779b97f4a7c15ull + 1 };
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++) {
        if (i % 8 == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS]));
        if (i % 4 == 0)
            work_step(&s);
        if (i % 1024 == 0)
            context_step(&s);
        any_step(&s);
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
    lenient = true;
    no_log();
    OK(cuInit(0));
    make_contexts();
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
    EXPECT(atomic_load(&calls) > 1000);
    end_everything();
    return failures != 0;
}
