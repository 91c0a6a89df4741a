/* SPDX-License-Identifier: Apache-2.0
 * Launches that differ, by kernel, and why: cudaway-replay --explain on those that are kept, and on copies of further ones. What explained one launch
 * of a kernel is tried first on its others, which takes a run or two instead of dozens. */
#ifndef CWD_CAUSES_H
#define CWD_CAUSES_H

#include "replay/results.h"

#include <stdbool.h>

enum { CAUSES_VARIANTS = 3 };

struct causes_kernel {
    char *name;
    unsigned launches;                  /* that differ */
    char *variants[CAUSES_VARIANTS];    /* that explained launches, the latest first; NULL behind the last */
};

/* A launch's dump, to be removed when it has been looked into. */
struct causes_copy {
    size_t launch;                      /* its place in the results */
    char *path;
};

struct causes {
    struct causes_kernel *kernels;
    uint32_t nkernels;
    struct causes_copy *copies;
    uint32_t ncopies;
    char *folder;                       /* of the copies; NULL: none was made */
    uint64_t bytes;                     /* of the copies */
    bool full;                          /* no more */
    const char *replay, *device;        /* path of cudaway-replay; for --on */
};

/* Count a launch of the kernel that differs; returns its number among them, from 1. */
unsigned causes_count(struct causes *c, const char *kernel);
/* Copy the dump of the launch at this place of the results. Where there is no room for it, it will not be looked into. */
void causes_copy(struct causes *c, size_t launch, const char *dump);
/* For each kernel, of the launches that are kept or copied, print a line for each cause, and the evidence for the first launch of it; the launches in `r` get
 * their causes. First comes one launch of each kernel, then the second of each, ...; it ends after `seconds`, or when the user interrupts it; 0: when all are done.
 * Returns 3 where a launch is not explained, else 1; 2: one could not be looked into. */
int causes_explain(struct causes *c, struct cwd_results *r, unsigned seconds);
/* Of the launches that are kept: where they differ, for the page. `tolerance`: of --tolerance, or NULL. */
void causes_pictures(const struct causes *c, struct cwd_results *r, const char *tolerance, bool bounds);
void causes_finish(struct causes *c);

#endif
