/* SPDX-License-Identifier: Apache-2.0
 * A recording in progress: what record.c sets up and supervise.c watches. */
#ifndef CW_TRACE_RECORD_H
#define CW_TRACE_RECORD_H

#include "tracer/cli/cli.h"
#include "tracer/cli/driver.h"

#include <signal.h>

enum { MAX_SNAPSHOTS = 16 };

struct snapshot {
    int64_t time;                 /* ns since the epoch */
    char    why[192];
};

struct record {
    const char *dir_option, *kernels;
    struct driver_choice driver;
    bool        dump, quiet, device_time;
    uint64_t    dump_limit;       /* 0: not given */
    /* What of the program is recorded; NULL, 0: all. */
    const char *functions, *only_kernels, *url;
    uint64_t    first, last;      /* launches, `last` 0 for no end */
    uint64_t    max_size;
    uint64_t    flight;           /* bytes of the flight recorder's buffers; 0: it is none */
    char      **command;
    char       *dir, *layer;      /* absolute */
    uint64_t    subbuf_size, reserve;   /* reserve: bytes kept free on the disk for the contents of the buffers */
    unsigned    subbufs;
    int64_t     started, ended;
    pid_t       app;
    int         status;           /* as waitpid gives it */
    bool        done, truncated;
    char        note[512];        /* "" for none; several with "; " between them */
    int         control;          /* the socket (control.h) */
    bool        over;             /* nothing is recorded any more */
    int         ballast;          /* record_ballast's file, which has no name; -1: none */
    mode_t      mask;             /* the umask that the application gets; ours keeps everything to this user */
    struct sigaction pipe;        /* how the application has SIGPIPE; a reader of our messages that goes away ends no recording */
    bool        made;             /* the folder is ours: a failure removes it */
    struct snapshot snapshots[MAX_SNAPSHOTS];
    unsigned    snapshot_count;
    uint64_t    size;             /* bytes of the folder, when it was last asked */
    struct lttng lttng;
};

/* ---- record.c ---- */
/* ns since the epoch. */
int64_t record_now(void);
uint64_t record_disk_free(const char *dir);
/* The file that keeps some room on the disk. */
void record_ballast(struct record *r, bool keep);
bool record_write_manifest(struct record *r);

/* ---- supervise.c ---- */
/* Wait for the application, pass signals on, and watch the disk, the daemon, the limits and the socket. `set` has the blocked signals. */
void supervise(struct record *r, const sigset_t *set);
/* Write the flight recorder's buffers, with one line why. False after that line when they could not be. */
bool supervise_snapshot(struct record *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Add to what the manifest and the report say. */
void supervise_note(struct record *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
