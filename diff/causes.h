/* SPDX-License-Identifier: Apache-2.0
 * Launches that differ, by kernel, and why: cudaway-replay --explain on some of each, grouped by cause. */
#ifndef CWD_CAUSES_H
#define CWD_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

enum { CAUSES_PER_KERNEL = 3 };         /* launches of a kernel that are explained */

struct causes_kernel {
    char *name;
    unsigned launches;                  /* that differ */
    unsigned kept;
    char *dump[CAUSES_PER_KERNEL];
};

struct causes {
    struct causes_kernel *kernels;
    uint32_t nkernels;
    const char *replay, *device;        /* path of cudaway-replay; for --on */
};

/* A launch of the kernel differs. True: it is one of those to be kept and explained. */
bool causes_count(struct causes *c, const char *kernel);
void causes_keep(struct causes *c, const char *kernel, const char *dump);
/* Print a line for each kernel and cause, and the evidence for the first launch of it. Returns 3 where a launch is not explained, else 1;
 * 2: one could not be looked into. */
int causes_explain(const struct causes *c);
void causes_finish(struct causes *c);

#endif
