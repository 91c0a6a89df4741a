/* SPDX-License-Identifier: Apache-2.0
 * cudaway, the front of the programs: its own commands, and cudaway-NAME beside it for every other NAME. */
#define _GNU_SOURCE
#include "tools/cudaway/cudaway.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run_check(int argc, char **argv);

static const struct cw_program check_command = {
    .name = "check",
    .parent = &cudaway_program,
    .summary = "say what a program needs and whether it is here",
    .operands = "BINARY|DIR|RECORDING...",
    .description = "The same as `cudaway-trace check`.",
    .complete = "FILE",
    .run = run_check,
    .usage_status = EXIT_USAGE,
};

static const struct cw_program *const commands[] = {
    &run_command, &info_command, &signatures_command,
    &(const struct cw_program){ .name = "trace", .summary = "record a program's CUDA calls, and look at recordings", .external = "cudaway-trace" },
    &(const struct cw_program){ .name = "replay", .summary = "run one dumped kernel launch again, and compare", .external = "cudaway-replay" },
    &(const struct cw_program){ .name = "diff", .summary = "run a program's launches on two devices, and compare", .external = "cudaway-diff" },
    &(const struct cw_program){ .name = "cc", .summary = "compile PTX ahead of time", .external = "cudaway-cc" },
    &(const struct cw_program){ .name = "precompile", .summary = "compile the kernels of a program before it runs", .external = "cudaway-precompile" },
    &check_command,
    NULL,
};
const struct cw_program cudaway_program = {
    .name = "cudaway",
    .summary = "run CUDA programs on AMD GPUs or the CPU",
    .description = "Run CUDA programs without an NVIDIA GPU: on an AMD GPU through HIP, or on the CPU; and look into what they do.",
    .commands = commands,
    .exits = (const struct cw_exit[]){ { "0", "done" }, { "2", "the command line is wrong" }, { "125, 126, 127", "as of run" }, { 0 } },
    .see_also = "cudaway-trace(1), cudaway-replay(1), cudaway-diff(1), cudaway-cc(1), cudaway-precompile(1), cudaway.conf(5)",
    .usage_status = EXIT_USAGE,
};

void
say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("cudaway: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

char *
text(const char *fmt, ...)
{
    char *p;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&p, fmt, ap);
    va_end(ap);
    if (n < 0) {
        say("out of memory");
        exit(EXIT_TOOL);
    }
    return p;
}

char *
program_folder(void)
{
    char *path = realpath("/proc/self/exe", NULL);
    if (path)
        *strrchr(path, '/') = 0;
    return path;
}

char *
library_folder(void)
{
    char *own = program_folder(), *path = own ? text("%s/../lib/cudaway", own) : NULL;
    char *real = path ? realpath(path, NULL) : NULL;
    free(own);
    free(path);
    return real;
}

/* Become the program NAME beside this one. */
static int
other_program(const char *name, char **argv)
{
    char *folder = program_folder(), *path = folder ? text("%s/%s", folder, name) : NULL;
    int e = ENOENT;
    if (path && !access(path, X_OK)) {
        argv[0] = path;
        execv(path, argv);
        e = errno;
    }
    if (e == ENOENT)
        say("%s is not part of this installation", name);
    else
        say("%s: %s", path, strerror(e));
    free(path);
    free(folder);
    return e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* A command of cudaway-trace: the program's own name stands before `check`, and makes room for the other's. */
static int
run_check(int argc, char **argv)
{
    return other_program("cudaway-trace", argv - 1);
}

int
main(int argc, char **argv)
{
    return cw_run_command(&cudaway_program, argc, argv, other_program);
}
