/* SPDX-License-Identifier: Apache-2.0
 * What came of comparing many launches: by launch, and by kernel and cause. cudaway-diff fills it while a program runs, cudaway-replay from many
 * dumps; table, JSON and page are the same for both. */
#ifndef CWD_RESULTS_H
#define CWD_RESULTS_H

#include "impl/base/buf.h"
#include "impl/base/progress.h"

#include <stdint.h>
#include <stdio.h>

/* By severity. X(enumerator, text) */
#define CWD_SEVERITY_MAP(X)                                                                              \
    X(CWD_S_SAME, "same")                                                                                \
    X(CWD_S_TOLERATED, "tolerated")         /* all that differs is within --tolerance or --ulp */        \
    X(CWD_S_BOUNDED, "within bounds")       /* or within the bounds of error of --bounds */              \
    X(CWD_S_DIFFERENT, "different")                                                                      \
    X(CWD_S_NOT_RUN, "not run")             /* the device refused or failed, or the dump cannot be read */ \
    X(CWD_S_FAULT, "translation fault")     /* nothing explains it (--explain) */

enum cwd_severity {
#define X(e, t) e,
    CWD_SEVERITY_MAP(X)
#undef X
    CWD_SEVERITIES
};

struct cwd_sum {
    uint64_t differ, elements, tolerated, bounded, unbounded;
    double   absolute, relative;            /* absolute: infinity where it is beyond numbers */
    uint64_t ulp;
    bool     floats;
};

/* A launch that is not the same. */
struct cwd_launch {
    char *kernel, *dump, *says, *cause;     /* dump, cause: NULL where there is none */
    unsigned number;                        /* in its program; 0: not known */
    enum cwd_severity severity;
    struct cwd_sum sum;
    char *buffers;                          /* JSON: array of what cwd_difference_json writes */
    char *may_be;                           /* "contraction, order of atomics": causes that its instructions allow for; or NULL */
    char *picture;                          /* JSON, or NULL */
};

struct cwd_group {
    const char *kernel, *cause, *dump;      /* of the first launch */
    enum cwd_severity severity;
    unsigned launches;
    struct cwd_sum sum;
};

struct cwd_results {
    struct cwd_launch *launches;
    size_t count, capacity;
    uint64_t seen[CWD_SEVERITIES];          /* launches of each severity */
    bool failed;                            /* memory is out */
};

/* What was said of a launch: lines, of which those that begin with "{" are structured: an object of cwd_difference_json, or members kernel, launch,
 * may_be, picture. `status`: 0 same, 1 different, 2 it could not be run, 3 a translation fault. `kernel`, `number`, `dump`: where known. Returns the launch, which moves
 * with the next; NULL: it is the same, or memory is out. */
struct cwd_launch *cwd_results_add(struct cwd_results *r, const char *kernel, unsigned number, const char *dump, int status, const char *lines);
/* Of a launch that is kept as `dump`. */
struct cwd_launch *cwd_results_find(const struct cwd_results *r, const char *dump);
void cwd_results_cause(struct cwd_results *r, struct cwd_launch *l, const char *cause, enum cwd_severity severity);
void cwd_results_finish(struct cwd_results *r);

const char *cwd_severity_name(enum cwd_severity s);
/* By kernel and cause, the most severe first. malloc'd; NULL: memory is out. */
struct cwd_group *cwd_results_groups(const struct cwd_results *r, size_t *count);
/* A line for each group, with a heading; `before` is put in front of each. Nothing where all launches are the same. */
void cwd_results_table(const struct cwd_results *r, const char *before, FILE *out);
/* One object; `head`: its first members, with a comma behind each, or "". */
void cwd_results_json(const struct cwd_results *r, const char *head, struct cw_buf *out);

/* A page with all of it and the pictures (page.c). `head`: as of cwd_results_json. False: memory is out; whether the file took it all is the caller's question. */
bool cwd_results_html(const struct cwd_results *r, const char *title, const char *head, FILE *out);
/* The same as a file, whole or not at all. False with errno set. */
bool cwd_results_html_file(const struct cwd_results *r, const char *title, const char *head, const char *path);

#endif
