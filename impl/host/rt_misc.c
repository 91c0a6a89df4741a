/* SPDX-License-Identifier: Apache-2.0
 * Runtime functions that need no scheduler: assert, trap, clocks; and the table of all of them for the compiler. */
#define _GNU_SOURCE
#include "impl/host/exec_private.h"

#include "impl/base/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A string from the kernel, cut where the buffer or what the kernel may read ends. Reading it may fault, which ends the launch like any bad address. */
static void
take_string(const struct cwh_gang *gang, uint64_t address, char *buf, size_t size)
{
    const char *s = (const char *)(uintptr_t)address;
    uint64_t extent = cwh_bound_extent(gang, address);
    size_t n = 0;
    while (s && n + 1 < size && n < extent && s[n]) {
        buf[n] = s[n];
        n++;
    }
    buf[n] = 0;
}

void
cwh_rt_assertfail(struct cwh_gang *gang, uint64_t mask, const uint64_t *message, const uint64_t *file, const uint32_t *line,
                  const uint64_t *function)
{
    struct cwh_fiber *f = cwh_enter(gang);
    const struct cwh_worker *w = f->worker;
    const uint32_t *c = w->block.ctaid, *b = w->launch->abi.block;
    char msg[512] = "", where[512] = "", fn[512] = "";
    for (uint64_t m = mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(m);
        uint32_t t = gang->first + lane;
        take_string(gang, message[lane], msg, sizeof msg);
        take_string(gang, file[lane], where, sizeof where);
        take_string(gang, function[lane], fn, sizeof fn);
        char text[2048];
        int n = snprintf(text, sizeof text, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", where,
                         line[lane], fn, c[0], c[1], c[2], t % b[0], t / b[0] % b[1], t / b[0] / b[1], msg);
        if (n > (int)sizeof text - 1)
            n = (int)sizeof text - 1;
        if (w->launch->complaints)
            cwh_output_append(w->launch->complaints, text, (size_t)n);
        else if (!cw_stderr_write(text, (size_t)n))
            break;
    }
    cwh_abort(f, CWB_ASSERT, "assertion `%.120s` failed at %.80s", msg, where);
}

void
cwh_rt_trap(struct cwh_gang *gang, uint64_t mask, uint32_t kind)
{
    struct cwh_fiber *f = cwh_enter(gang);
    switch (kind) {
    case 0:
    case 1:
        cwh_abort(f, CWB_TRAP, kind ? "brkpt executed" : "trap executed");
    case 2:
        cwh_abort(f, CWB_INVALID_PC, "an indirect call goes to something that is no function of this program");
    case 3:
        cwh_abort(f, CWB_ILLEGAL_INSTRUCTION, "control reached a place that the program declares unreachable");
    case 4:
        cwh_abort(f, CWB_MISALIGNED, "an access is not aligned to its size");
    default:
        cwh_abort(f, CWB_TRAP, "trap executed (kind %u)", kind);
    }
}

/* %clock, %clock64: monotonic, in nanoseconds, which is the clock rate of 1 GHz that the device reports. */
uint64_t
cwh_rt_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* %globaltimer: nanoseconds of wall-clock time. */
uint64_t
cwh_rt_globaltimer(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const struct cwj_host_runtime *
cwh_exec_runtime(void)
{
    static const void *const address[] = {
#define X(ret, name, params) (const void *)name,
        CWH_RT_MAP(X)
#undef X
    };
    static const struct cwj_host_runtime runtime = { sizeof address / sizeof address[0], address };
    return &runtime;
}
