/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --reduce: the smallest launch found whose results still differ between two devices, as a test in PTX
 * (docs/ptx-tests.md). */
#ifndef CWD_REDUCE_H
#define CWD_REDUCE_H

#include <stdint.h>

struct cwd_reduce {
    const char *file;                   /* the dump */
    const char *on, *against;           /* devices; NULL: the default one */
    const char *against_module;         /* PTX file for the second run instead of the dump's module, or NULL */
    const char *output, *output_name;   /* the test, with the results of `against`, or NULL; what the report calls it */
    const char *reproducer, *reproducer_name;   /* the same as a C program (reproducer.h): what ran on `on`, with the results of `against` */
    uint32_t ulp, seconds;              /* how long to go on at most */
};

/* Exit status: 0 nothing differs, 1 reduced and written, 2 trouble. */
int cwd_reduce(const struct cwd_reduce *o);

#endif
