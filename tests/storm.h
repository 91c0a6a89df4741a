/* SPDX-License-Identifier: Apache-2.0
 * What tests share that run many threads for a time. */
#ifndef STORM_H
#define STORM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Atomic bool over __attribute__((unused));      /* the threads are to return */

/* Whether calls may use memory that another thread frees. On a GPU a fault is the process's, and nothing would succeed after it; to the thread
 * sanitizer such a use is the race that it is. */
static bool
memory_can_go(void)
{
#ifdef __SANITIZE_THREAD__
    return false;
#else
    const char *device = getenv("CUDAWAY_DEVICE");
    return !device || (strncmp(device, "gfxemu", 6) && strncmp(device, "hip", 3) && strncmp(device, "cuda", 4));
#endif
}

/* Before the driver begins: each call that is refused would have its line. */
static void __attribute__((unused))
no_log(void)
{
    setenv("CUDAWAY_LOG", "off", 0);
}

/* n threads for so many seconds, the first `few` of them in `some`, the rest in `others`; each gets its number, from 1. */
static void __attribute__((unused))
run_threads(double seconds, int n, int few, void *(*some)(void *), void *(*others)(void *))
{
    pthread_t *t = calloc((size_t)n, sizeof *t);
    if (!t)
        exit(2);
    for (int i = 0; i < n; i++)
        if (pthread_create(&t[i], NULL, i < few ? some : others, (void *)(uintptr_t)(i + 1)))
            exit(2);
    nanosleep(&(struct timespec){ .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) }, NULL);
    atomic_store(&over, true);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    free(t);
}

#endif
