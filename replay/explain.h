/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --explain: why a device's results differ from those in the dump, by experiment. */
#ifndef CWD_EXPLAIN_H
#define CWD_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* Exit status of --explain, beside 0 same, 1 different for a reason that is named, 2 trouble. */
enum { CWD_FAULT = 3 };                 /* nothing tried explains it: a translation fault */

struct cwd_explain {
    const char *file;                   /* the dump, with the results of another device */
    const char *on;                     /* device; NULL: the default one */
    uint32_t runs;                      /* most runs that the search for fused pairs makes */
    bool results;                       /* print the differences as JSON, too */
};

/* Prints the report, whose line "cause: NAME: ..." names the cause. */
int cwd_explain(const struct cwd_explain *o);

#endif
