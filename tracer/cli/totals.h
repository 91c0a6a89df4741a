/* SPDX-License-Identifier: Apache-2.0
 * The numbers of one recording, gathered in one reading; report.c prints them. */
#ifndef CW_TRACE_TOTALS_H
#define CW_TRACE_TOTALS_H

#include "tracer/cli/reader.h"

#define MAX_GRIDS 8u

struct tot_function {
    char    *name;
    uint64_t calls, errors, unfinished;
    int64_t  total, longest;      /* ns */
};

struct tot_grid {
    uint64_t grid[3], block[3], launches;
};

struct tot_kernel {
    char    *name;
    uint64_t launches, errors, other_grids;   /* launches with grids beyond the first MAX_GRIDS */
    int64_t  total;               /* ns inside the launching call */
    struct tot_grid grids[MAX_GRIDS];
    unsigned grid_count;
};

struct tot_error {
    char    *function, *result;
    uint64_t count;
};

struct tot_block {
    uint64_t address, size;
    uint32_t pid;
    bool     host, live;
};

struct tot_module {
    char    *kind, *file, *hash;
    uint64_t size, loads;
};

struct totals {
    struct tot_function *functions;  unsigned function_count;
    struct tot_kernel   *kernels;    unsigned kernel_count;
    struct tot_error    *errors;     unsigned error_count;
    struct tot_error    *missing;    unsigned missing_count;     /* cuGetProcAddress queries without an answer */
    struct tot_module   *modules;    unsigned module_count;
    struct tot_block    *blocks;     unsigned block_count;       /* allocations, live and freed */
    uint64_t *threads;               unsigned thread_count;      /* pid << 32 | tid */
    unsigned  processes;
    uint64_t  calls, failed, lost, launches;
    uint64_t  allocations[2], allocated[2], frees[2], freed[2], live[2], peak[2];   /* [0] device, [1] host */
    uint64_t  copies[4], copied[4];                /* host to device, device to host, on the device, other */
    int64_t   first, last;
    bool      nomem;
};

enum tr_status totals_read(const char *dir, struct totals *t);
void totals_finish(struct totals *t);

#endif
