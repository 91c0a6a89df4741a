/* SPDX-License-Identifier: Apache-2.0
 * Reading a recording: events in time order over all its processes, and calls (entry and exit joined).
 * What is handed to a callback is valid during the callback only. */
#ifndef CW_TRACE_READER_H
#define CW_TRACE_READER_H

#include "impl/base/arena.h"
#include "impl/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum tr_kind { TR_UINT, TR_INT, TR_REAL, TR_STRING, TR_ARRAY };

struct tr_field {
    const char   *name;
    enum tr_kind  kind;
    bool          hex;        /* of TR_UINT, TR_INT and the elements of TR_ARRAY */
    uint64_t      u;          /* TR_UINT, TR_INT (as int64_t) */
    double        d;
    const char   *text;       /* TR_STRING; enumerations: the value's name, or NULL when it has none */
    uint64_t     *items;      /* TR_ARRAY */
    uint64_t      count;
};

struct tr_event {
    const char      *name;        /* without the provider: "cuMemAlloc_v2_entry", "cudaMalloc_entry" */
    int64_t          time;        /* ns since the epoch, not negative */
    int64_t          clock;       /* ns from 0 of the recording's own clock to the epoch: added to a time that a field holds */
    uint32_t         pid, tid;    /* pid: another one for each process of each host (process.h) */
    const char      *procname;
    struct tr_field *fields;
    unsigned         count;
};

struct tr_sink {
    /* False ends the reading without an error. */
    bool (*event)(void *ctx, const struct tr_event *e);
    void (*lost)(void *ctx, uint64_t events);
    void  *ctx;
    bool   quiet;       /* without progress */
};

enum tr_status {
    TR_OK,
    TR_EMPTY,       /* no process left a trace */
    TR_DAMAGED,     /* the readable part was delivered; a message named the rest */
    TR_FAILED,      /* nothing could be read; a message gave the reason */
};

/* Read every trace below DIR (a recording's folder). Events that several snapshots of a flight recorder hold are delivered once. Says how far it is (impl/base/progress.h) unless `quiet`. */
enum tr_status tr_read(const char *dir, const struct tr_sink *sink);

/* Make `dir` readable where stream files are cut: returns a folder with repaired copies (malloc'd; the caller removes
 * it), or NULL when nothing had to be done. *damaged counts the files that lost something. (repair.c) */
char *tr_repair(const char *dir, unsigned *damaged);

/* ---- fields (fields.c) ---- */
/* The value as C-like text and as JSON. */
void tr_text(struct cw_buf *b, const struct tr_field *f);
void tr_json(struct cw_buf *b, const struct tr_field *f);
const struct tr_field *tr_find(const struct tr_field *fields, unsigned count, const char *name);

/* ---- calls (calls.c) ---- */
struct tr_kernel {
    bool        present;
    const char *name;
    uint64_t    grid[3], block[3], shared, stream;
    const struct tr_field *params;    /* TR_ARRAY of bytes, or NULL */
};

struct tr_call {
    const char            *function;
    int64_t                start, end;
    uint32_t               pid, tid;
    const char            *procname;
    const struct tr_field *args;      /* at entry; an out parameter that was written has its value instead */
    const bool            *written;   /* per arg: the value is what the call wrote */
    unsigned               count;
    const struct tr_field *result;    /* NULL: the call never returned */
    bool                   failed;
    unsigned               operations;  /* of devices, which it submitted */
    struct tr_kernel       kernel;
    unsigned               depth;     /* how many calls of the thread it was made in */
    const char            *within;    /* the innermost of them, or NULL */
    const char            *launched;  /* the kernel that a call made in it launched last, or NULL */
};

/* A function of the Runtime, else of the driver. */
bool tr_of_runtime(const char *function);

/* What a device did: a launch, copy or fill that was executed, or a compilation. */
enum tr_op_kind { TR_LAUNCH, TR_COPY, TR_FILL, TR_COMPILE };
enum tr_way { TR_HTOD, TR_DTOH, TR_DTOD, TR_HTOH };

struct tr_op {
    enum tr_op_kind kind;
    enum tr_way way;              /* of a copy */
    const char *name;             /* of the kernel, else "" */
    uint32_t    pid, tid;         /* who submitted it */
    uint32_t    device;
    uint64_t    queue;            /* of the device, by address; 0 for a compilation */
    uint64_t    stream;           /* the handle that the program gave, 0 for the default stream or inside a graph */
    bool        in_graph;
    uint64_t    bytes;
    uint64_t    grid[3], block[3];
    unsigned    occupancy;        /* of 1000; 0 when not known */
    bool        cached;
    int64_t     submitted;        /* ns since the epoch */
    int64_t     start, end;       /* the same; both 0 when the end was not recorded */
    int64_t     call_start;       /* of the call that submitted it, 0: not known; with pid and tid it identifies the call */
    char        call[64];         /* that call's function */
};

const char *tr_way_name(enum tr_way way);       /* "copy to the device" */
/* "saxpy", "compile saxpy", "copy to the device", "memset": into `out`, which it returns. */
const char *tr_op_name(const struct tr_op *o, char *out, size_t size);

struct tr_calls {
    void (*call)(void *ctx, const struct tr_call *c);
    void (*other)(void *ctx, const struct tr_event *e);    /* events that are neither entry nor exit; may be NULL */
    void (*op)(void *ctx, const struct tr_op *o);          /* may be NULL; in the order in which they ended */
    void  *ctx;
    bool   quiet;                                          /* no progress, since what is read is printed on the terminal at once */
    int64_t  first;                                        /* out, before the first call is told: when the first one began */
    uint64_t lost;                                         /* out: events that the recorder had to drop */
    uint64_t events;                                       /* out */
};

/* Calls in the order in which they returned; those that never returned come at the end. */
enum tr_status tr_read_calls(const char *dir, struct tr_calls *calls);

/* The same of a trace that comes in chunks: what is open at the end of one goes on in the next. NULL: out of memory. */
struct tr_join *tr_join_create(struct tr_calls *calls);
enum tr_status tr_join_read(struct tr_join *j, const char *dir);
/* Delivers what is still open. */
void tr_join_finish(struct tr_join *j);

#endif
