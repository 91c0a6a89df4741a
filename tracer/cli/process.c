/* SPDX-License-Identifier: Apache-2.0
 * See process.h. A program reads one recording, so the tables are the process's own and stay. */
#include "tracer/cli/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Linux has no process numbers from 2^22 on (PID_MAX_LIMIT). */
enum { PID_BITS = 22, MAX_HOSTS = 1 << (32 - PID_BITS) };

static char *hosts[MAX_HOSTS];
static unsigned host_count;
static struct {
    uint32_t number;
    uint64_t rank;
} *ranks;
static size_t rank_count;

uint32_t
tr_process_number(const char *host, uint32_t pid)
{
    static unsigned last;
    if (last >= host_count || strcmp(hosts[last], host)) {
        for (last = 0; last < host_count && strcmp(hosts[last], host); last++)
            ;
        /* Beyond a thousand hosts, or out of memory, they are taken for the last one. */
        if (last == host_count && (host_count == MAX_HOSTS || !(hosts[host_count] = strdup(host))))
            last = host_count ? host_count - 1 : 0;
        else
            host_count += last == host_count;
    }
    return (pid & ((1u << PID_BITS) - 1)) | (uint32_t)last << PID_BITS;
}

void
tr_process_set_rank(uint32_t number, uint64_t rank)
{
    if (tr_process(number).rank >= 0)
        return;
    void *more = realloc(ranks, (rank_count + 1) * sizeof *ranks);
    if (!more)
        return;
    ranks = more;
    ranks[rank_count].number = number;
    ranks[rank_count++].rank = rank;
}

struct tr_process
tr_process(uint32_t number)
{
    unsigned host = number >> PID_BITS;
    struct tr_process p = { .pid = number & ((1u << PID_BITS) - 1), .host = host < host_count ? hosts[host] : "", .rank = -1 };
    for (size_t i = 0; i < rank_count; i++)
        if (ranks[i].number == number)
            p.rank = (int64_t)ranks[i].rank;
    return p;
}

unsigned
tr_host_count(void)
{
    return host_count;
}

const char *
tr_process_suffix(uint32_t number, char *out, size_t size)
{
    struct tr_process p = tr_process(number);
    char rank[32] = "";
    if (p.rank >= 0)
        snprintf(rank, sizeof rank, "rank %lld", (long long)p.rank);
    if (host_count > 1)
        snprintf(out, size, " (%s%son %s)", rank, *rank ? " " : "", p.host);
    else
        snprintf(out, size, *rank ? " (%s)" : "", rank);
    return out;
}
