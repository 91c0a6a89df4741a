/* SPDX-License-Identifier: Apache-2.0
 * What the files of cudaway-trace share: messages, exit codes, the manifest, and the session daemon's control.
 * Every sub-command returns the program's exit status. */
#ifndef CW_TRACE_CLI_H
#define CW_TRACE_CLI_H

#include "impl/base/buf.h"
#include "impl/base/program.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit codes of `record`, as of env(1) and timeout(1); otherwise the application's own, 128+N for signal N. */
enum { EXIT_TOOL = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };
/* Exit codes of show, report and export. */
enum { EXIT_DAMAGED = 1, EXIT_USAGE = 2 };

extern const struct cw_program trace_program, record_command, show_command, report_command, export_command, check_command, list_command, stop_command,
                               snapshot_command;

/* One line on standard error, "cudaway-trace: ...", that is safe for a terminal. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* From now on there; NULL: to standard error again. */
void say_to(FILE *file);

/* ---- files (util.c) ---- */
/* Folder of this executable (malloc'd), NULL when it cannot be found. */
char *own_dir(void);
/* A program of the given name: beside this one (a bundle), in ../libexec/cudaway, or in PATH. malloc'd or NULL. */
char *find_tool(const char *name);
/* A library below lib/cudaway, e.g. "trace/libcuda.so.1": ../lib/cudaway from this program. malloc'd or NULL. */
char *find_library(const char *name);
/* "2026-01-31T12:00:00Z" */
void format_time(int64_t ns, char out[40]);
/* Whether a process left a trace in the folder or below. */
bool holds_trace(const char *dir);
/* The recording to read: `dir` itself (also what an lttng-relayd wrote), or for NULL the newest cudaway-trace-* folder here. malloc'd, NULL after a message. */
char *find_recording(const char *dir);
/* strtoul with checks: a decimal number up to max. */
bool parse_number(const char *s, uint64_t max, uint64_t *out);


/* ---- the private session daemon (lttng.c) ---- */
struct lttng {
    char  home[64];          /* private folder: LTTNG_HOME of daemon, commands and application */
    pid_t guard;             /* the process that ends the daemon should this one be killed */
    int   guarded;           /* the end of its pipe that is open for as long as this process lives */
    char  log[96];           /* what the daemon printed */
    char *sessiond, *consumerd;
    pid_t pid;               /* the daemon, 0 when none */
    bool  own_mounts;        /* root: the daemon has its own /run/lttng in a private mount namespace */
    bool  session;           /* the session exists */
};
struct lttng_order {
    const char  *output;     /* folder, or URL of an lttng-relayd: net://HOST */
    uint64_t     subbuf_size;
    unsigned     subbufs;
    bool         flight;     /* buffers are overwritten, and written on demand only (lttng_snapshot) */
    const char **functions;  /* whose calls are recorded; NULL: all */
    unsigned     count;      /* of functions */
    bool         driver;     /* of all functions only the driver's, not the Runtime's */
};
/* Start the daemon. False after one message. */
bool lttng_start(struct lttng *l);
/* Create the session, its channels and events, and start it. */
bool lttng_session(struct lttng *l, const struct lttng_order *order);
/* Write what the buffers of a flight recorder hold into a folder of its own below the session's output. */
bool lttng_snapshot(struct lttng *l);
/* Close the trace's present chunk. What was recorded since the chunk before is in the folder `chunk` then; "" when that is nothing. */
bool lttng_rotate(struct lttng *l, char *chunk, size_t size);
/* Stop recording and wait until all is written. */
bool lttng_stop(struct lttng *l);
/* End the daemon and remove its folder. Takes a struct in any state. */
void lttng_finish(struct lttng *l);

#endif
