/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace: the command line's first word picks the sub-command. */
#include "tracer/cli/cli.h"

#include <stdio.h>
#include <string.h>

#ifndef CUDAWAY_VERSION
#define CUDAWAY_VERSION "unknown"
#endif

static const struct {
    const char *name;
    int (*run)(int, char **);
    const char *help;
} commands[] = {
    { "record", cmd_record, "run a program and record its CUDA calls" },
    { "show",   cmd_show,   "list the calls of a recording" },
    { "report", cmd_report, "totals: functions, kernels, memory, errors, what is missing" },
    { "export", cmd_export, "write a recording as Chrome/Perfetto JSON" },
};

static void
usage(FILE *out)
{
    fputs("usage: cudaway-trace COMMAND [OPTIONS]\n\n", out);
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-8s%s\n", commands[i].name, commands[i].help);
    fputs("\n`cudaway-trace COMMAND --help` lists a command's options.\n", out);
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        usage(stdout);
        return 0;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("cudaway-trace " CUDAWAY_VERSION);
        return 0;
    }
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    say("unknown command %s; the commands are record, show, report, export", argv[1]);
    return EXIT_USAGE;
}
