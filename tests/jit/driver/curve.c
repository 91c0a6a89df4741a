/* SPDX-License-Identifier: Apache-2.0
 * How compile time grows with the text.
 *   curve --list                                the shapes
 *   curve --text SHAPE N                        write the PTX text
 *   curve --table CC TARGET SECONDS N... [-- SHAPE...]   a table in Markdown: CPU seconds and peak MiB by shape and size
 *   curve --check CC TARGET SHAPE N TIMES       compile N and 4 N: the larger one may need at most TIMES the smaller one's instructions
 *   curve --ends CC TARGET SHAPE N SECONDS MIB  a compilation ends within so much CPU time and memory
 * Executed instructions (in user mode, by the CPU's counter) are compared where the system counts them, else CPU time. */
#define _GNU_SOURCE
#include "shapes.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct cost {
    bool ok, limit;             /* limit: ended by the limit on CPU time */
    double seconds;             /* CPU time */
    uint64_t instructions;      /* 0: unknown */
    double mib;                 /* peak */
};

/* Counts from exec on, in all threads. */
static int
open_counter(pid_t child)
{
    struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE, .size = sizeof a, .config = PERF_COUNT_HW_INSTRUCTIONS, .disabled = 1, .enable_on_exec = 1,
                                 .inherit = 1, .exclude_kernel = 1, .exclude_hv = 1 };
    return (int)syscall(SYS_perf_event_open, &a, child, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct cost
compile(const char *cc, const char *target, const char *file, unsigned limit)
{
    struct cost c = { 0 };
    struct rusage use;
    int status, go[2];
    char byte = 0;
    if (pipe(go))
        return c;
    pid_t child = fork();
    if (child < 0)
        return c;
    if (!child) {
        struct rlimit cpu = { limit, limit };
        close(go[1]);
        setrlimit(RLIMIT_CPU, &cpu);
        setenv("CUDAWAY_CACHE_SIZE", "0", 1);
        if (read(go[0], &byte, 1) == 1)
            execl(cc, cc, "--target", target, file, "-o", "/dev/null", (char *)NULL);
        _exit(127);
    }
    close(go[0]);
    int counter = open_counter(child);
    if (write(go[1], &byte, 1) != 1)
        kill(child, SIGKILL);
    close(go[1]);
    if (wait4(child, &status, 0, &use) != child)
        return c;
    c.ok = WIFEXITED(status) && !WEXITSTATUS(status);
    c.limit = WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU);
    c.seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    c.mib = (double)use.ru_maxrss / 1024;
    if (counter >= 0) {
        if (read(counter, &c.instructions, sizeof c.instructions) != sizeof c.instructions)
            c.instructions = 0;
        close(counter);
    }
    return c;
}

static struct cost
measure(const char *cc, const char *target, const struct shape *s, unsigned n, unsigned limit)
{
    struct cost none = { 0 };
    char name[] = "/tmp/cudaway-curve-XXXXXX.ptx";
    int fd = mkstemps(name, 4);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        perror(name);
        return none;
    }
    shape_write(out, s, n);
    struct cost c = fclose(out) ? none : compile(cc, target, name, limit);
    unlink(name);
    return c;
}

static int
table(int argc, char **argv)
{
    int sizes = 0;
    unsigned limit = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    if (argc < 6)
        return 2;
    while (5 + sizes < argc && strcmp(argv[5 + sizes], "--"))
        sizes++;
    printf("| %s |", argv[3]);
    for (int i = 0; i < sizes; i++)
        printf(" %s |", argv[5 + i]);
    printf("\n|---|");
    for (int i = 0; i < sizes; i++)
        printf("---|");
    printf("\n");
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const struct shape *s = &shapes[k];
        bool wanted = 5 + sizes == argc, over = false;
        for (int i = 6 + sizes; i < argc; i++)
            wanted |= !strcmp(argv[i], s->name);
        if (!wanted)
            continue;
        printf("| %s |", s->what);
        for (int i = 0; i < sizes; i++) {
            struct cost c = { .limit = true };
            if (!over)
                c = measure(argv[2], argv[3], s, (unsigned)atoi(argv[5 + i]), limit);
            over = c.limit;
            if (c.ok)
                printf(" %.2f s, %.0f MiB |", c.seconds, c.mib);
            else
                printf(c.limit ? " over %u s |" : " error |", limit);
            fflush(stdout);
        }
        printf("\n");
    }
    return 0;
}

/* CPU time of the smallest texts is mostly LLVM's start: what takes no time may do so. */
static int
check(const char *cc, const char *target, const struct shape *s, unsigned n, double times)
{
    double one = 0, four = 0;
    bool counted = true;
    /* With a counter one run says it. Time is the least of three. */
    for (int i = 0; i < (counted ? 1 : 3); i++) {
        struct cost a = measure(cc, target, s, n, 60), b = measure(cc, target, s, 4 * n, 60);
        if (!a.ok || !b.ok) {
            printf("%s for %s: %u does not compile%s\n", s->name, target, a.ok ? 4 * n : n, b.limit ? " within 60 s" : "");
            return 1;
        }
        counted = a.instructions && b.instructions;
        double x = counted ? (double)a.instructions * 1e-9 : a.seconds, y = counted ? (double)b.instructions * 1e-9 : b.seconds;
        one = !i || x < one ? x : one;
        four = !i || y < four ? y : four;
    }
    printf("%s for %s: %u takes %.2f, %u takes %.2f %s: %.1f times as much, may be %.1f\n", s->name, target, n, one, 4 * n, four,
           counted ? "10^9 instructions" : "s of CPU time", four / one, times);
    return four > times * one;
}

static int
ends(const char *cc, const char *target, const struct shape *s, unsigned n, unsigned seconds, double mib)
{
    struct cost c = measure(cc, target, s, n, seconds);
    printf("%s for %s: %u takes %.2f s of CPU time (may be %u) and %.0f MiB (may be %.0f)%s\n", s->name, target, n, c.seconds, seconds, c.mib, mib,
           c.ok ? "" : ": it does not compile");
    return !c.ok || c.mib > mib;
}

int
main(int argc, char **argv)
{
    const struct shape *s;
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            printf("%-14s %s\n", shapes[i].name, shapes[i].what);
        return 0;
    }
    if (argc == 4 && !strcmp(argv[1], "--text") && (s = shape_find(argv[2]))) {
        shape_write(stdout, s, (unsigned)atoi(argv[3]));
        return fflush(stdout) != 0;
    }
    if (argc > 1 && !strcmp(argv[1], "--table"))
        return table(argc, argv);
    if (argc == 7 && !strcmp(argv[1], "--check") && (s = shape_find(argv[4])))
        return check(argv[2], argv[3], s, (unsigned)atoi(argv[5]), atof(argv[6]));
    if (argc == 8 && !strcmp(argv[1], "--ends") && (s = shape_find(argv[4])))
        return ends(argv[2], argv[3], s, (unsigned)atoi(argv[5]), (unsigned)atoi(argv[6]), atof(argv[7]));
    fprintf(stderr, "curve: unknown arguments or shape; curve --list names the shapes\n");
    return 2;
}
