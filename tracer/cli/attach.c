/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace list, stop, snapshot: what a running recording is asked from another terminal. */
#include "tracer/cli/cli.h"
#include "tracer/cli/control.h"

#include <getopt.h>
#include <stdio.h>

static double
mebibytes(unsigned long long bytes)
{
    return (double)bytes / 1048576;
}

static bool
print(void *ctx, const char *path, const struct control_status *s)
{
    unsigned *n = ctx;
    if (!(*n)++)
        printf("%8s  %-10s %10s %12s  %s\n", "PID", "STATE", "SECONDS", "MIB", "FOLDER, COMMAND");
    printf("%8d  %-10s %10.1f %12.1f  %s: %s\n", s->pid, s->over ? "stopped" : s->flight ? "flight" : "recording", s->seconds, mebibytes(s->bytes), s->dir,
           s->command);
    return true;
}

/* No options; at most one operand. False: leave with *status. */
static bool
operand(const struct cw_program *p, int argc, char **argv, int most, const char **out, int *status)
{
    struct cw_command_line line = { p, argc, argv };
    if (cw_next_option(&line) != CW_OPTIONS_END) {
        *status = line.status;
        return false;
    }
    if (argc - optind > most) {
        *status = cw_usage_error(p, most ? "one recording at a time" : "no operands are taken");
        return false;
    }
    *out = optind < argc ? argv[optind] : NULL;
    return true;
}

static int
list(int argc, char **argv)
{
    const char *none;
    unsigned n = 0;
    int status;
    if (!operand(&list_command, argc, argv, 0, &none, &status))
        return status;
    control_each(print, &n);
    if (!n)
        say("no recording is running");
    return 0;
}

static int
ask(const struct cw_program *p, const char *request, int argc, char **argv)
{
    const char *which;
    char path[PATH_MAX], answer[CONTROL_TEXT];
    struct control_status s;
    int status;
    if (!operand(p, argc, argv, 1, &which, &status))
        return status;
    if (!control_find(which, path, sizeof path, &s))
        return EXIT_USAGE;
    if (!control_ask(path, request, answer, sizeof answer)) {
        say("%s: %s", s.dir, answer);
        return EXIT_USAGE;
    }
    if (control_status(path, &s))
        printf("%s: %.1f MiB after %.1f s\n", s.dir, mebibytes(s.bytes), s.seconds);
    return 0;
}

static int
stop(int argc, char **argv)
{
    return ask(&stop_command, "stop", argc, argv);
}

static int
snapshot(int argc, char **argv)
{
    return ask(&snapshot_command, "snapshot", argc, argv);
}

const struct cw_program list_command = {
    .name = "list",
    .parent = &trace_program,
    .summary = "the recordings that are running, with their size",
    .run = list,
    .usage_status = EXIT_USAGE,
};

const struct cw_program stop_command = {
    .name = "stop",
    .parent = &trace_program,
    .summary = "end a running recording; the program goes on",
    .operands = "[PID|DIR]",
    .description = "Ends the recording of a process (the program, one of its children, or `cudaway-trace record`) or into a folder; without either, the only one that runs. "
                   "Returns when the trace is complete.",
    .complete = "DIR",
    .run = stop,
    .usage_status = EXIT_USAGE,
};

const struct cw_program snapshot_command = {
    .name = "snapshot",
    .parent = &trace_program,
    .summary = "have a flight recorder write what it holds",
    .operands = "[PID|DIR]",
    .description = "Has `cudaway-trace record --flight-recorder` of a process or into a folder write the last calls; without either, the only one that runs. "
                   "Returns when they are written.",
    .complete = "DIR",
    .run = snapshot,
    .usage_status = EXIT_USAGE,
};
