/* SPDX-License-Identifier: Apache-2.0
 * How far something is that takes long. "12 of 40 launches, 3 differ, 0:07 left", or, where `all` is the most there may be, "12 of at most 40 ..., at most 0:07 left", on one line of standard
 * error (or `to`), where that is a terminal, from the second second on. Lines that are printed meanwhile come after cw_progress_clear. */
#ifndef CW_PROGRESS_H
#define CW_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CW_NO_COUNT UINT64_MAX

struct cw_progress {
    const char *what;                       /* "launches compared" */
    uint64_t all, done, differ;             /* all: 0 where it is not known */
    FILE *to;                               /* NULL: stderr */
    bool at_most;                           /* `all` is the most there may be */
    int64_t limit;                          /* ns: it ends then at the latest; 0: not known */
    int64_t begin, last;                    /* ns */
    bool shown, off;                        /* off: nothing is said */
};
/* Nanoseconds of the monotonic clock, as `begin` and `last` are. */
int64_t cw_progress_now(void);
/* `differ`: CW_NO_COUNT where nothing is counted. */
void cw_progress_step(struct cw_progress *p, uint64_t done, uint64_t differ);
void cw_progress_clear(struct cw_progress *p);
/* " 0:07 left", or "" where that cannot be said. */
void cw_progress_left(uint64_t done, uint64_t all, int64_t elapsed, char *out, size_t size);

#endif
