/* SPDX-License-Identifier: Apache-2.0
 * cudaway-precompile: fill the kernel cache with what programs and libraries will ask for. A process of its own works for each device, since the driver has one
 * a process. */
#define _GNU_SOURCE
#include "impl/base/children.h"
#include "impl/base/env.h"
#include "jit/jit.h"
#include "tools/precompile/precompile.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_JOBS = 256, OPT_TARGET = 256 };

const struct cw_program precompile_program = {
    .name = "cudaway-precompile",
    .summary = "compile the kernels of a program before it runs",
    .operands = "PROGRAM|LIBRARY|DIR...",
    .description = "Compiles the kernels of programs, of the libraries that the dynamic linker loads with them, and of every ELF file of folders, and keeps them in the kernel "
                   "cache, where a program finds them when it runs with the same settings and the same version of CUDAWay. Name libraries that a program opens later "
                   "(dlopen, Python's modules) or their folder as well.\n\n"
                   "`cudaway-cc --precompile` is the same.",
    .options = (const struct cw_option[]){
        { OPT_TARGET, "target", "T,...", "the processors that the kernels are for: host (this CPU), gfx1030, gfx1100, gfx90a, ... (default: the device that a program would get here)",
          "host gfx1030 gfx1100 gfx1101 gfx1201 gfx906 gfx90a gfx942" },
        { 'j', NULL, "N", "threads (default 0: one for each processor of this machine)" },
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "0", "done" }, { "1", "there are no kernels, or some do not compile" }, { "2", "any other error" }, { 0 } },
    .complete = "FILE",
    .see_also = "cudaway(1), cudaway-cc(1), cudaway.conf(5)",
    .usage_status = EXIT_TOOL,
};

void
say(const char *fmt, ...)
{
    char line[8192];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n >= 0)
        fprintf(stderr, "%scudaway-precompile: %s\n", isatty(2) ? "\r\033[K" : "", line);       /* over the progress */
}

char *
library_folder(void)
{
    char *self = realpath("/proc/self/exe", NULL), *path = NULL, *real = NULL;
    if (self && asprintf(&path, "%.*s/../lib/cudaway", (int)(strrchr(self, '/') - self), self) > 0)
        real = realpath(path, NULL);
    if (!real)
        say("the libraries (lib/cudaway) are missing beside this program; the installation is damaged");
    free(self);
    free(path);
    return real;
}

/* "gfx1100" is the GPU-less device of that processor: the compiler is asked for the same as by a GPU. */
static bool
set_device(const char *target)
{
    char device[80];
    snprintf(device, sizeof device, "%s%s", strcmp(target, "host") ? "gfxemu:" : "", target);
    return !setenv(cw_env_name(CW_ENV_DEVICE), device, 1) && !setenv(cw_env_name(CW_ENV_TIERS), "off", 1);
}

static bool
is_target(const char *t)
{
    return !strcmp(t, "host") || (!strncmp(t, "gfx", 3) && strlen(t) > 5 && strlen(t) < 16 && !t[3 + strspn(t + 3, "0123456789abcdef")]);
}

static int
in_process(const struct images *m, const char *target, const char *folder, unsigned jobs)
{
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        cw_child_dies_with(parent);
        if (target ? !set_device(target) : setenv(cw_env_name(CW_ENV_TIERS), "off", 1))
            _exit(EXIT_TOOL);
        exit(fill(m, target, folder, jobs));
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        say("%s", strerror(errno));
    else if (WIFSIGNALED(status))
        say("%s%sended by signal %d (%s)", target ? target : "", target ? ": " : "", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_TOOL;
}

static unsigned
processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > MAX_JOBS ? MAX_JOBS : (unsigned)n;
}

int
main(int argc, char **argv)
{
    struct images m = { 0 };
    char *targets = NULL, *end;
    unsigned jobs = 0;
    int c, status = 0;
    struct cw_command_line line = { &precompile_program, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        switch (c) {
        case OPT_TARGET:
            targets = optarg;
            break;
        case 'j':
            errno = 0;
            jobs = (unsigned)strtoul(optarg, &end, 10);
            if (*optarg < '0' || *optarg > '9' || *end || errno || jobs > MAX_JOBS)
                return cw_usage_error(&precompile_program, "-j takes 0 to 256, not '%s'", optarg);
            break;
        default:
            return line.status;
        }
    }
    if (optind == argc)
        return cw_usage_error(&precompile_program, "no program given");
    char *rest = NULL, *list = strdup(targets ? targets : "");
    if (!list)
        return EXIT_TOOL;
    if (targets && (!*targets || strstr(targets, ",,") || *targets == ',' || targets[strlen(targets) - 1] == ','))
        return cw_usage_error(&precompile_program, "unknown target '%s': host, gfxNNN, or several with commas between them", targets);
    for (char *t = strtok_r(list, ",", &rest); t; t = strtok_r(NULL, ",", &rest))
        if (!is_target(t))
            return cw_usage_error(&precompile_program, "unknown target '%s': host, gfxNNN, or several with commas between them", t);
    cw_env_warn_unknown();
    if (!cudaway_jit_api(CWJ_API_VERSION)) {
        say("libcudaway-jit.so is of another version");
        return EXIT_TOOL;
    }
    char *folder = library_folder();
    if (!folder)
        return EXIT_TOOL;
    for (int i = optind; i < argc; i++)
        if (!images_of(&m, argv[i], folder)) {
            say("out of memory");
            return EXIT_TOOL;
        }
    if (m.without_ptx)
        say("%zu modules have machine code of NVIDIA's alone, without PTX: they cannot run here", m.without_ptx);
    if (!m.n && !m.trouble) {
        say("no kernels in %zu files: a program may compile its own when it runs, or open the libraries that have them; name those, too", m.files);
        status = EXIT_INPUT;
    }
    strcpy(list, targets ? targets : "");
    if (m.n && !targets)
        status = in_process(&m, NULL, folder, jobs ? jobs : processors());
    for (char *t = strtok_r(list, ",", &rest); t && m.n; t = strtok_r(NULL, ",", &rest)) {
        int s = in_process(&m, t, folder, jobs ? jobs : processors());
        status = s > status ? s : status;
    }
    free(list);
    free(folder);
    return m.trouble ? EXIT_TOOL : status;
}
