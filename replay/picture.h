/* SPDX-License-Identifier: Apache-2.0
 * Where a buffer differs, as JSON for the page: a heat map, a histogram, the worst elements with the threads that wrote them. */
#ifndef CWD_PICTURE_H
#define CWD_PICTURE_H

#include "replay/compare.h"

struct cwd_picture {
    const char *file, *on;              /* the dump; the device, as of cudaway-replay --on */
    unsigned compute_capability;        /* the device's */
    const struct cwd_dump *dump;
    const struct cwd_outcome *outcome;
    struct cw_buf out;                  /* objects with commas between them */
    struct cw_buf note;                 /* why the threads are not known, or empty */
};

/* Add one buffer or array. The launch is run again to see which threads write there. */
void cwd_picture_add(struct cwd_picture *p, const struct cwd_difference *x);
/* The line {"picture":...}. */
void cwd_picture_print(struct cwd_picture *p);

#endif
