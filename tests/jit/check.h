/* SPDX-License-Identifier: Apache-2.0
 * What the tests of linking, images and the cache share: a check that counts, and a program made from texts. */
#ifndef TESTS_JIT_LINK_CHECK_H
#define TESTS_JIT_LINK_CHECK_H

#include "jit/link/program.h"

#include <stdio.h>
#include <string.h>

extern unsigned failures;

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#define CHECK_INT(got, want) check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))

static inline void
check_failed(const char *file, int line, const char *what)
{
    printf("%s:%d: failed: %s\n", file, line, what);
    failures++;
}

static inline void
check_int(const char *file, int line, const char *what, long long got, long long want)
{
    if (got == want)
        return;
    printf("%s:%d: %s is %lld, should be %lld\n", file, line, what, got, want);
    failures++;
}

#define HEAD ".version 7.1\n.target sm_70\n.address_size 64\n"

#endif
