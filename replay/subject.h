/* SPDX-License-Identifier: Apache-2.0
 * A cudaway-replay --serve, started when needed and again after it failed: the other device of a comparison, or what checks launches. */
#ifndef CWD_SUBJECT_H
#define CWD_SUBJECT_H

#include "impl/base/buf.h"
#include "impl/base/file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct subject {
    const char *replay, *device;        /* path of cudaway-replay; for --on */
    uint32_t ulp;
    const char *tolerance;              /* file of --tolerance, or NULL */
    bool bounds;                        /* --bounds */
    const char *const *checks;          /* options of the checks, up to NULL; NULL: launches are compared */
    bool inside;                        /* this is the program itself: the variables that put the layer into it are not passed on */
    bool running;
    pid_t pid;                          /* 0: it is no child (inside) */
    int to;
    FILE *from;
    struct cw_fd_file to_file, from_file;       /* the program may close them, and get their numbers for files of its own */
};

/* Start it if it is not running. False: *why says what happened. */
bool subject_start(struct subject *s, struct cw_buf *why);
/* Run a dump. Returns 0 same or nothing found, 1 different or something found (lines: what, for people and in JSON, see replay.h), 2 it failed or ended (lines: why). */
int subject_run(struct subject *s, const char *path, struct cw_buf *lines);
void subject_stop(struct subject *s);

#endif
