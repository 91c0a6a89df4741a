/* SPDX-License-Identifier: Apache-2.0
 * The numbers of one recording, gathered in one reading; report.c prints them. */
#ifndef CW_TRACE_TOTALS_H
#define CW_TRACE_TOTALS_H

#include "tracer/cli/index.h"
#include "tracer/cli/reader.h"

#define MAX_GRIDS 8u

struct tot_function {
    const char *name;
    uint64_t calls, errors, unfinished;
    int64_t  total, longest;      /* ns */
};

/* Times of operations on the device. */
struct tot_times {
    uint64_t count;               /* those whose times are known */
    int64_t  total, shortest, longest;      /* ns */
};

struct tot_grid {
    uint64_t grid[3], block[3], launches;
};

struct tot_kernel {
    const char *name;
    uint64_t launches, errors, other_grids;   /* launches with grids beyond the first MAX_GRIDS */
    int64_t  total;               /* ns inside the launching call */
    struct tot_times device;
    uint64_t occupancy;           /* sum, of 1000, over device.count launches */
    uint64_t compiled, cached;    /* compilations, and how many of them the disk cache answered */
    int64_t  compile_total;       /* ns */
    struct tot_grid grids[MAX_GRIDS];
    unsigned grid_count;
};

struct tot_error {
    char    *function, *result;
    uint64_t count;
};

struct tot_process {
    uint32_t pid;                 /* as in events (process.h) */
    uint64_t calls, launches, failed;
};

struct tot_block {
    uint64_t address, size;
    uint32_t pid;
    bool     host, live;
};

/* When something ran: an operation of a device, or a call. */
struct tot_span {
    int64_t  start, end;
    uint64_t who;                 /* pid << 32 | device; of a call: index of the function */
};

/* One device of one process. */
struct tot_device {
    uint32_t pid, device;
    int64_t  first, last, busy;   /* ns: when it began and ended, how long at least one operation ran */
    uint64_t operations;
};

/* A time in which a device had nothing to do. */
struct tot_gap {
    uint32_t pid, device;
    int64_t  start, end;
    const char *call;             /* the function that took most of it; NULL: none, the program did something else */
};

#define MAX_GAPS 5u

struct tot_module {
    char    *kind, *file, *hash;
    uint64_t size, loads, refused;
};

struct totals {
    struct tot_function *functions;  unsigned function_count;
    struct tot_kernel   *kernels;    unsigned kernel_count;
    struct tot_error    *errors;     unsigned error_count;
    struct tot_error    *missing;    unsigned missing_count;     /* cuGetProcAddress queries without an answer */
    struct tot_module   *modules;    unsigned module_count;
    struct tot_block    *blocks;     unsigned block_count;       /* allocations, live and freed */
    struct tr_index function_index, kernel_index, thread_index, process_index;  /* while reading: of the arrays; threads: pid << 32 | tid */
    struct tot_process *process_list; unsigned process_count;    /* by rank */
    uint64_t  calls, runtime_calls, failed, lost, launches;      /* calls: of both APIs */
    uint64_t  allocations[2], allocated[2], frees[2], freed[2], live[2], peak[2];   /* [0] device, [1] host */
    uint64_t  copies[4], copied[4];                /* host to device, device to host, on the device, other */
    struct tot_times copy_times[4], fill_times;   /* by enum tr_way */
    struct tot_times graph_times;                 /* graph launches, where each is one operation (--device-time) */
    uint64_t  copy_bytes[4], fill_bytes;          /* of those */
    uint64_t  unknown_ops;                        /* operations whose times are not known */
    uint64_t  sync_copies;                        /* calls that wait for their copy */
    int64_t   sync_time, sync_device;             /* ns in these calls, and of their copies on the device */
    int64_t   device_total;                       /* ns: all operations, one after the other */
    struct tot_span   *spans;            unsigned span_count;
    struct tot_span   *made;             unsigned made_count;    /* calls */
    struct tot_device *devices;          unsigned device_count;
    struct tot_gap     gaps[MAX_GAPS];   unsigned gap_count;     /* the longest ones, longest first */
    int64_t   first, last;
    bool      nomem;
};

enum tr_status totals_read(const char *dir, struct totals *t);
void totals_finish(struct totals *t);

#endif
