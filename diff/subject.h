/* SPDX-License-Identifier: Apache-2.0
 * The other device of a comparison: a cudaway-replay --serve, started when needed and again after it failed. */
#ifndef CWD_SUBJECT_H
#define CWD_SUBJECT_H

#include "impl/base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct subject {
    const char *replay, *device;        /* path of cudaway-replay; for --on */
    uint32_t ulp;
    pid_t pid;                          /* 0: not running */
    FILE *to, *from;
};

/* Start it if it is not running. False: *why says what happened. */
bool subject_start(struct subject *s, struct cw_buf *why);
/* Run a dump. Returns 0 same, 1 different (lines: what), 2 it failed or ended (lines: why). */
int subject_run(struct subject *s, const char *path, struct cw_buf *lines);
void subject_stop(struct subject *s);

#endif
