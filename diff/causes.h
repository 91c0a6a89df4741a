/* SPDX-License-Identifier: Apache-2.0
 * Launches that differ, by kernel, and why: cudaway-replay --explain on those that are kept. */
#ifndef CWD_CAUSES_H
#define CWD_CAUSES_H

#include "replay/results.h"

struct causes_kernel {
    char *name;
    unsigned launches;                  /* that differ */
};

struct causes {
    struct causes_kernel *kernels;
    uint32_t nkernels;
    const char *replay, *device;        /* path of cudaway-replay; for --on */
};

/* A launch of the kernel differs: the how manieth it is, from 1. */
unsigned causes_count(struct causes *c, const char *kernel);
/* For each kernel of launches that are kept, print a line for each cause, and the evidence for the first launch of it; the launches in `r` get their causes.
 * Returns 3 where a launch is not explained, else 1; 2: one could not be looked into. */
int causes_explain(const struct causes *c, struct cwd_results *r);
/* Of the launches that are kept: where they differ, for the page. `tolerance`: of --tolerance, or NULL. */
void causes_pictures(const struct causes *c, struct cwd_results *r, const char *tolerance, bool bounds);
void causes_finish(struct causes *c);

#endif
