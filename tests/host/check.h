/* SPDX-License-Identifier: Apache-2.0
 * The smallest test harness: CHECK counts and reports, main returns check_result(). */
#ifndef CHECK_H
#define CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static _Atomic int check_failures;

#define CHECK(cond, ...)                                                   \
    do {                                                                   \
        if (!(cond)) {                                                     \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond);     \
            fprintf(stderr, " " __VA_ARGS__);                               \
            fprintf(stderr, "\n");                                         \
            check_failures++;                                              \
        }                                                                  \
    } while (0)

static int
check_result(void)
{
    if (check_failures)
        fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures != 0;
}

#endif
