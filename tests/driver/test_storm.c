/* SPDX-License-Identifier: Apache-2.0
 * Many threads make, use and end objects of every kind in contexts that other threads destroy and primary contexts that they reset.
 * What is checked besides each call's result is that nothing crashes, and, under a sanitizer, that nothing is used after its end.
 * `test_driver_storm [seconds [threads]]`. */
#include "tests/driver/at_random.h"

#include <pthread.h>
#include <time.h>

static _Atomic bool over;

static void *
worker(void *seed)
{
    struct dice s = { .state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1 };
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++) {
        if (i % 4 == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS]));
        work_step(&s);
    }
    (void)cuCtxSetCurrent(NULL);
    return NULL;
}

static void *
destroyer(void *seed)
{
    struct dice s = { .state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1 };
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        context_step(&s);
        nanosleep(&(struct timespec){ .tv_nsec = 200000 + rnd(&s) % 2000000 }, NULL);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    int n = argc > 2 ? atoi(argv[2]) : 64;
    pthread_t *t = calloc((size_t)n, sizeof *t);
    if (!t || n < 2)
        return 2;
    setenv("CUDAWAY_LOG", "off", 0);    /* each call that lost a race would have its line */
    OK(cuInit(0));
    make_contexts();
    int ends = n / 16 ? n / 16 : 1;
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, i < ends ? destroyer : worker, (void *)(uintptr_t)(i + 1));
    nanosleep(&(struct timespec){ .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) }, NULL);
    atomic_store(&over, true);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    printf("%lu calls, %lu lost a race\n", atomic_load(&calls), atomic_load(&lost));
    for (int i = 0; i < 1000; i++)
        if (atomic_load(&seen[i]))
            printf("  %3d: %u\n", i, atomic_load(&seen[i]));
    EXPECT(atomic_load(&calls) > 1000);
    end_contexts();
    free(t);
    return failures != 0;
}
