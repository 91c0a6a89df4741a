/* SPDX-License-Identifier: Apache-2.0
 * Many threads make, use and end objects of every kind in contexts that other threads destroy and primary contexts that they reset.
 * What is checked besides each call's result is that nothing crashes and memory does not grow, and, under a sanitizer, that nothing is used
 * after its end.
 * `test_driver_storm [seconds [threads]]`. */
#include "tests/driver/at_random.h"

#include <time.h>

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

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__      /* which keep memory of their own */
/* Of the process, in MiB. What is alive at one time needs some hundreds, the emulator most. */
static unsigned long
resident(void)
{
    unsigned long all, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    EXPECT(f && fscanf(f, "%lu %lu", &all, &pages) == 2);
    if (f)
        fclose(f);
    return pages / 256;
}
#endif

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    int n = argc > 2 ? atoi(argv[2]) : 64;
    if (n < 2)
        return 2;
    no_log();
    OK(cuInit(0));
    make_contexts();
    run_threads(seconds, n, n / 16 ? n / 16 : 1, destroyer, worker);
    printf("%lu calls, %lu lost a race\n", atomic_load(&calls), atomic_load(&lost));
    for (int i = 0; i < 1000; i++)
        if (atomic_load(&seen[i]))
            printf("  %3d: %u\n", i, atomic_load(&seen[i]));
    EXPECT(atomic_load(&calls) > 1000);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    const char *device = getenv("CUDAWAY_DEVICE");
    printf("%lu MiB\n", resident());
    EXPECT(resident() < 1500 || (device && !strncmp(device, "cuda", 4)));       /* NVIDIA's driver has 15 MB for each context, of which graphs keep up to 200 */
#endif
    end_contexts();
    return failures != 0;
}
