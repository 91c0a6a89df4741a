/* SPDX-License-Identifier: Apache-2.0
 * cudaway run: the environment that makes a program, and the programs that it starts, use the driver here, and then that program. */
#define _GNU_SOURCE
#include "impl/runtime/redirect/elf.h"
#include "tools/cudaway/cudaway.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The program as execvp would find it; malloc'd, NULL with errno set. */
static char *
find_program(const char *name)
{
    if (strchr(name, '/'))
        return access(name, F_OK) ? NULL : strdup(name);
    const char *search = getenv("PATH");
    int e = ENOENT;
    for (const char *p = search ? search : "/usr/bin:/bin";; p++) {
        size_t n = strcspn(p, ":");
        char *path = text("%.*s%s%s", (int)n, p, n ? "/" : "", name);
        struct stat st;
        if (!stat(path, &st) && S_ISREG(st.st_mode)) {
            if (!access(path, X_OK))
                return path;
            e = EACCES;
        }
        free(path);
        p += n;
        if (!*p)
            break;
    }
    errno = e;
    return NULL;
}

/* Why the dynamic linker would ignore what we set: the kernel starts such a program in secure-execution mode (ld.so(8)). NULL: it
 * would not. */
static const char *
secure_execution(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return NULL;
    if (st.st_mode & S_ISUID && st.st_uid != getuid())
        return "is setuid";
    if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
        return "is setgid";
    if (getuid() && getxattr(path, "security.capability", NULL, 0) > 0)
        return "has file capabilities";
    return NULL;
}

/* A program that has device code and no dynamic linker: nothing can be loaded into it. */
static bool
is_static_cuda(const char *path)
{
    struct cw_elf e;
    if (cw_elf_open(&e, path))
        return false;
    bool dynamic = false;
    for (unsigned i = 0; i < e.header.e_phnum; i++)
        dynamic |= e.segments[i].p_type == PT_INTERP;
    bool found = !dynamic && cw_elf_section_named(&e, ".nv_fatbin");
    cw_elf_close(&e);
    return found;
}

static bool print_only;

/* NAME=VALUE, in front of what it has and `separator` where one is given. */
static bool
set(const char *name, const char *value, char separator)
{
    const char *old = separator ? getenv(name) : NULL;
    char *v = old && *old ? text("%s%c%s", value, separator, old) : text("%s", value);
    bool ok = !setenv(name, v, 1);
    if (print_only) {
        printf("%s='", name);
        for (const char *p = v; *p; p++)
            if (*p == '\'')
                fputs("'\\''", stdout);
            else
                putchar(*p);
        puts("'");
    }
    free(v);
    return ok;
}

static bool
set_environment(const char *device, const char *log, bool redirect)
{
    char *folder = library_folder();
    if (!folder) {
        say("the libraries (lib/cudaway) are missing beside this program; the installation is damaged");
        return false;
    }
    if (strpbrk(folder, ":;")) {
        say("the folder %s has a ':' or ';' in its name, which LD_LIBRARY_PATH cannot express; move the installation", folder);
        free(folder);
        return false;
    }
    char *audit = text("%s/libcudaway-audit.so", folder);
    if (access(audit, R_OK)) {
        say("%s is missing; the installation is damaged", audit);
        return false;
    }
    bool ok = set("LD_LIBRARY_PATH", folder, ':') && set("LD_AUDIT", audit, ':') && (!device || set("CUDAWAY_DEVICE", device, 0)) &&
              (!log || set("CUDAWAY_LOG", log, 0)) && (redirect || set("CUDAWAY_STATIC_RUNTIME", "off", 0));
    if (!ok)
        say("%s", strerror(errno));
    free(folder);
    free(audit);
    return ok;
}

enum { OPT_DEVICE = 256, OPT_LOG, OPT_NO_REDIRECT, OPT_PRINT };

static int
run(int argc, char **argv)
{
    const char *device = NULL, *log = NULL;
    bool redirect = true;
    int c;
    struct cw_command_line line = { &run_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        switch (c) {
        case OPT_DEVICE:      device = optarg; break;
        case OPT_LOG:         log = optarg; break;
        case OPT_NO_REDIRECT: redirect = false; break;
        case OPT_PRINT:       print_only = true; break;
        default:              return line.status;
        }
    }
    if (print_only)
        return set_environment(device, log, redirect) ? 0 : EXIT_TOOL;
    if (optind >= argc)
        return cw_usage_error(&run_command, "no program given");
    char **command = argv + optind;
    char *path = find_program(command[0]);
    if (!path) {
        say("%s: %s", command[0], strerror(errno));
        return errno == ENOENT || errno == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    }
    const char *secure = secure_execution(path);
    if (secure) {
        say("%s %s: the dynamic linker ignores LD_LIBRARY_PATH and LD_AUDIT for it, so it would not use this driver; run a copy without that mode",
            path, secure);
        return EXIT_NOT_EXECUTABLE;
    }
    if (is_static_cuda(path)) {
        say("%s is linked without a dynamic linker (-static): no driver can be loaded into it; link it without -static", path);
        return EXIT_NOT_EXECUTABLE;
    }
    if (!set_environment(device, log, redirect))
        return EXIT_TOOL;
    execv(path, command);
    if (errno == ENOEXEC)               /* a script without a first line that says whose it is */
        execvp(command[0], command);
    int e = errno;
    say("%s: %s", path, strerror(e));
    return e == ENOENT || e == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

const struct cw_program run_command = {
    .name = "run",
    .parent = &cudaway_program,
    .summary = "run a CUDA program on this machine's devices",
    .operands = "[--] PROGRAM [ARGUMENTS]",
    .options = (const struct cw_option[]){
        { OPT_DEVICE, "device", "DEVICE", "what executes: sets CUDAWAY_DEVICE (auto, host, hip, cuda, gfxemu:ARCH)", "auto host host:O0 host:checked hip cuda gfxemu:gfx1100 gfxemu:gfx90a" },
        { OPT_LOG, "log", "LEVEL", "sets CUDAWAY_LOG", "off error warn info debug" },
        { OPT_NO_REDIRECT, "no-redirect", NULL, "leave NVIDIA's CUDA Runtime inside of the program as it is" },
        { OPT_PRINT, "print", NULL, "print the environment that is set, as shell assignments, and run nothing" },
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "of the program", "it ran" }, { "125", "a failure of this command" }, { "126", "the program cannot be executed" },
                                       { "127", "it is not found" }, { 0 } },
    .complete = "PROGRAM",
    .run = run,
    .usage_status = EXIT_TOOL,
};
