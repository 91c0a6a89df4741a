/* SPDX-License-Identifier: Apache-2.0
 * What the measuring programs share: a clock, a median, and calls that must succeed. The programs print lines
 * "NAME NUMBER UNIT" that tools/bench turns into ratios. */
#ifndef CW_BENCH_H
#define CW_BENCH_H

#include "impl/api/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MUST(call)                                                                                                      \
    do {                                                                                                                \
        CUresult r_ = (call);                                                                                           \
        if (r_ != CUDA_SUCCESS) {                                                                                       \
            fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, (int)r_);                                 \
            exit(1);                                                                                                    \
        }                                                                                                               \
    } while (0)

static inline double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* CPU time of the process, all its threads. */
static inline double
cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `v`. */
static inline double
median(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, compare_doubles);
    return n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static inline void
nap(long ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* A file with a zero byte after its end; ends the program when it cannot be read. */
static inline char *
read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, room = 0;
    if (!f) {
        perror(path);
        exit(1);
    }
    for (;;) {
        if (room - n < 2 && !(text = realloc(text, room = room ? 2 * room : 1 << 16)))
            exit(1);
        size_t k = fread(text + n, 1, room - n - 1, f);
        if (!k)
            break;
        n += k;
    }
    fclose(f);
    text[n] = 0;
    return text;
}

#endif
