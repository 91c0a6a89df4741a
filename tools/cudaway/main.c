/* SPDX-License-Identifier: Apache-2.0
 * cudaway, the front of the programs: its own commands, and cudaway-NAME beside it for every other NAME. */
#define _GNU_SOURCE
#include "impl/base/version.h"
#include "tools/cudaway/cudaway.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int, char **);       /* NULL: another program */
    const char *help;
} commands[] = {
    { "run",        cmd_run,        "run a CUDA program on this machine's devices" },
    { "info",       cmd_info,       "devices, versions, and what is found of HIP, ROCm and CUDA" },
    { "signatures", cmd_signatures, "make patterns of a toolkit's libcudart_static.a, for stripped programs" },
    { "trace",      NULL,           "record a program's CUDA calls, and look at recordings" },
    { "replay",     NULL,           "run one dumped kernel launch again, and compare" },
    { "diff",       NULL,           "run a program's launches on two devices, and compare" },
    { "cc",         NULL,           "compile PTX ahead of time" },
    { "check",      NULL,           "say what a program needs and whether it is here" },
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

static void
usage(FILE *out)
{
    fputs("usage: cudaway COMMAND [OPTIONS]\n\n", out);
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-12s%s\n", commands[i].name, commands[i].help);
    fputs("\n`cudaway COMMAND --help` lists a command's options.\n", out);
}

/* Become cudaway-NAME. */
static int
other_program(const char *name, char **argv)
{
    char *folder = program_folder(), *path = folder ? text("%s/cudaway-%s", folder, name) : NULL;
    int e = ENOENT;
    if (path && !access(path, X_OK)) {
        argv[0] = path;
        execv(path, argv);
        e = errno;
    }
    if (e == ENOENT)
        say("cudaway-%s is not part of this installation", name);
    else
        say("%s: %s", path, strerror(e));
    free(path);
    free(folder);
    return e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || (!strcmp(name, "help") && argc == 2)) {
        usage(stdout);
        return 0;
    }
    if (!strcmp(name, "--version")) {
        printf("cudaway %s\n", cw_version());
        return 0;
    }
    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name))
            return commands[i].run ? commands[i].run(argc - 1, argv + 1) : other_program(name, argv + 1);
    say("unknown command %s; `cudaway --help` lists the commands", name);
    return EXIT_USAGE;
}
