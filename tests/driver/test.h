/* SPDX-License-Identifier: Apache-2.0
 * Checks for the driver's tests: a failed one prints where and what, and the program goes on; main returns test_failures(). */
#ifndef DRIVER_TEST_H
#define DRIVER_TEST_H

#include "impl/api/cuda.h"

#include <dirent.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int failures __attribute__((unused));

#define EXPECT(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                                         \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

#define EXPECT_RESULT(call, want)                                                                                      \
    do {                                                                                                               \
        CUresult got_ = (call);                                                                                        \
        if (got_ != (want)) {                                                                                          \
            const char *n_ = "?";                                                                                      \
            cuGetErrorName(got_, &n_);                                                                                 \
            fprintf(stderr, "%s:%d: %s gave %s (%d), not %s\n", __FILE__, __LINE__, #call, n_, (int)got_, #want);      \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)
#define OK(call) EXPECT_RESULT(call, CUDA_SUCCESS)

#ifdef __SANITIZE_THREAD__
enum { THREAD_SANITIZER = 1 };          /* this program has it */
#else
enum { THREAD_SANITIZER = 0 };
#endif

/* How many there are in a folder of /proc, "." and ".." included. */
static inline int
entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Ours over another driver, which answers some things otherwise. Before cuInit: the driver of tests/nvptx/inner.c changes the variable. */
static inline bool
is_over_cuda(void)
{
    const char *device = getenv("CUDAWAY_DEVICE");
    return device && !strncmp(device, "cuda", 4);
}

static inline CUcontext
make_context(void)
{
    CUcontext c = NULL;
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&c, 0, 0));
    if (!c)         /* without it all else fails or crashes */
        exit(1);
    return c;
}

#endif
