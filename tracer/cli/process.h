/* SPDX-License-Identifier: Apache-2.0
 * Who the processes of a recording are: host, process number and MPI rank. Two hosts may have processes of one number, so events have a
 * number that tells them apart (`pid` of reader.h): on the first host that is met the process's own. */
#ifndef CW_TRACE_PROCESS_H
#define CW_TRACE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

struct tr_process {
    uint32_t    pid;              /* on its host */
    const char *host;             /* "" where the trace does not say */
    int64_t     rank;             /* -1: none */
};

/* The number of the host's process in events. */
uint32_t tr_process_number(const char *host, uint32_t pid);
void tr_process_set_rank(uint32_t number, uint64_t rank);
struct tr_process tr_process(uint32_t number);
/* How many hosts there are in what was read. */
unsigned tr_host_count(void);
/* " (rank 3)", " (rank 3 on alpha)", " (on alpha)", or "": the host where there are several. */
const char *tr_process_suffix(uint32_t number, char *out, size_t size);

#endif
