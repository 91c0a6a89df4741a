/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --explain: why a device's results differ from those in the dump, by experiment. */
#ifndef CWD_EXPLAIN_H
#define CWD_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* Exit status of --explain, beside 0 same, 1 different for a reason that is named, 2 trouble. */
enum { CWD_FAULT = 3 };                 /* nothing tried explains it: a translation fault */

/* A variant as a word, which the report ends with under `results`: {"variant":"0:17=1,20=2","runs":9}, a row of the table of settings and what is fused besides, or
 * {"variant":"chance",...}, for what is otherwise from run to run. */
enum { CWD_FIRST = 4 };

struct cwd_explain {
    const char *file;                   /* the dump, with the results of another device */
    const char *on;                     /* device; NULL: the default one */
    uint32_t runs;                      /* most runs that the search for fused pairs makes */
    uint32_t seconds;                   /* the search ends then, without a verdict if it has none; 0: it goes on */
    bool results;                       /* print the differences and the variant as JSON, too, and no progress */
    const char *first[CWD_FIRST];       /* variants that explained other launches of the kernel, to be tried first; NULL behind the last */
};

/* Prints the report, whose line "cause: NAME: ..." names the cause; "cause: not known: ..." where the time was up. */
int cwd_explain(const struct cwd_explain *o);

#endif
