/* SPDX-License-Identifier: Apache-2.0
 * Between export.c, which makes tracks and slices of a recording, and the writers of file formats. */
#ifndef CW_TRACE_EXPORT_H
#define CW_TRACE_EXPORT_H

#include "tracer/cli/reader.h"

#include <stdio.h>

enum ex_kind { EX_PROCESS, EX_THREAD, EX_DEVICE, EX_QUEUE, EX_COUNTER };

struct ex_track {
    enum ex_kind kind;
    uint64_t     id;              /* from 1 */
    uint64_t     parent;          /* an id; 0 of a process */
    uint32_t     pid, tid;        /* tid: of a thread; of the others a number that no thread has */
    uint64_t     key;             /* device, or queue's address */
    bool         bytes;           /* EX_COUNTER: counts bytes */
    unsigned     queues;          /* EX_DEVICE: how many it has */
    char         name[64];
};

struct ex_slice {
    const struct ex_track *track;
    const char *category, *name;
    int64_t     start, end;       /* ns since the epoch */
    uint64_t    flow;             /* slices of one flow are joined by arrows, in the order of time; 0: none */
    bool        flow_begins;
    const struct tr_field *args;
    unsigned    count;
};

struct ex_writer {
    FILE         *out;
    struct cw_buf b;              /* what is not written yet */
    int64_t       origin;         /* of the first slice */
    bool          started, failed;
};

struct ex_format {
    const char *name;
    void (*begin)(struct ex_writer *w);
    void (*track)(struct ex_writer *w, const struct ex_track *t);        /* before its first slice */
    void (*slice)(struct ex_writer *w, const struct ex_slice *s);
    void (*counter)(struct ex_writer *w, const struct ex_track *t, int64_t time, uint64_t value);
    void (*end)(struct ex_writer *w);
};

/* https://perfetto.dev/docs/reference/trace-packet-proto: the wire format of protobuf, times in ns. */
extern const struct ex_format ex_perfetto;
/* The Trace Event Format, JSON, times in us with three decimals. */
extern const struct ex_format ex_chrome;

#endif
