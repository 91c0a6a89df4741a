/* SPDX-License-Identifier: Apache-2.0
 * cudaway-diff: run a program on a reference device and each of its kernel launches on a subject device too, and compare what
 * they wrote. Exit status: 0 all the same, or as far apart as is allowed, 1 something differs, 2 it could not be done (or the program failed, or
 * launches could not be compared), 3 something differs that nothing explains.
 *
 * The program runs under the trace layer with the observer of diff/observer.c, which sends a dump of each launch here. */
#define _GNU_SOURCE
#include "diff/causes.h"
#include "diff/protocol.h"
#include "impl/base/children.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/program.h"
#include "impl/base/regex.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "replay/dump.h"
#include "replay/results.h"
#include "replay/subject.h"
#include "replay/tolerance.h"
#include "tracer/cli/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 };
enum { EXPLAIN_SECONDS = 120 };         /* --explain has it, too */
#define MAX_NOT_COMPARED 10u            /* lines about launches that were not compared */

struct diff {
    const char *reference, *output, *kernels, *json, *html;
    char **command;
    struct subject subject;
    struct driver_choice driver;        /* of the program: the reference */
    char *layer, *native;               /* paths: trace layer; the real driver, where a device is cuda-native */
    char *folder;                       /* of the dumps in progress and the socket */
    int listener;
    pid_t app;
    int app_status;
    unsigned launches, differ, skipped;
    unsigned long keep;                 /* launches of each kernel */
    unsigned long max, beyond;          /* --max, 0: none; launches that were not compared for it */
    unsigned long each, further;        /* --launches, 0: all; launches that were not compared for it */
    void *kernels_seen;                 /* --launches: tsearch's tree of struct seen */
    bool output_failed;
    bool locate, explain;
    unsigned explain_seconds;           /* 0: any */
    struct causes causes;
    struct cwd_results results;
    struct cw_progress progress;
    char *first;                        /* dump of the first launch with another result, if kept */
};

enum { REFERENCE = 256, SUBJECT, KERNELS, ULP, LOCATE, EXPLAIN, MAX, KEEP, JSON, TOLERANCE, HTML, BOUNDS, DEVICE, LIBRARY, NO_EXPLAIN, LAUNCHES };
static const struct cw_program program = {
    .name = "cudaway-diff",
    .summary = "run each kernel launch of a program on two devices and compare",
    .operands = "[--] PROGRAM [ARGUMENTS]",
    .description = "Runs PROGRAM on the reference device and each of its kernel launches on the subject device too, and compares the memory that they leave.",
    .options = (const struct cw_option[]){
        { REFERENCE, "reference", "DEVICE", "where the program runs: a value of CUDAWAY_DEVICE, or cuda-native for the real driver", "host hip cuda cuda-native gfxemu:gfx1100 gfxemu:gfx90a" },
        DRIVER_OPTION_DEVICE(DEVICE),
        DRIVER_OPTION_LIBRARY(LIBRARY, "that is cuda-native; without --reference the program runs on it"),
        { SUBJECT, "subject", "DEVICE", "what is compared with it; also cuda-native:O0, the real driver without its optimiser. Default: the reference is "
          "cuda-native where there is a real driver, else host; the subject is hip where there is an AMD GPU, else host, or host:O0 against host", "host host:O0 host:checked hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { 'o', "output", "DIR", "where dumps of launches that differ are kept (default cudaway-diff-PROGRAM)", "DIR" },
        { KERNELS, "kernels", "REGEX", "compare only kernels whose name matches" },
        { LAUNCHES, "launches", "N", "compare only the first N launches of each kernel" },
        { MAX, "max", "N", "compare until N launches differ; the program runs on" },
        { KEEP, "keep", "N", "keep up to N launches of each kernel that differs (default 3)" },
        { JSON, "json", "FILE", "write the results as JSON, too; - is standard output", "FILE" },
        { HTML, "html", "FILE", "write a page, too, that shows of the launches that are kept where they differ: heat maps, histograms, the worst elements with their threads", "FILE" },
        { TOLERANCE, "tolerance", "FILE", "what may differ, by kernel and buffer, a line each: KERNEL BUFFER and absolute=X, relative=X or ulp=N", "FILE" },
        { BOUNDS, "bounds", NULL, "floats may be as far apart as the roundings and approximate functions that they went through allow for" },
        { ULP, "ulp", "N", "floats may differ by N units in the last place (default 0: every bit counts)" },
        { LOCATE, "locate", NULL, "at the end, name the thread and the first instruction that made the first difference (cudaway-replay --locate on the dump that is kept)" },
        { EXPLAIN, "explain", "[=SECONDS]", "at the end, say for each kernel why its results differ (cudaway-replay --explain on each launch that differs), for SECONDS at most; without "
          "SECONDS, however long it takes. Default: --explain=120" },
        { NO_EXPLAIN, "no-explain", NULL, "do not" },
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "0", "all the same, or within what --ulp, --tolerance and --bounds allow" }, { "1", "something differs" }, { "2", "trouble (or the program failed)" },
                                       { "3", "something differs that nothing explains: a translation fault (not with --no-explain)" }, { 0 } },
    .complete = "PROGRAM",
    .see_also = "cudaway(1), cudaway-trace(1), cudaway-replay(1), cudaway.conf(5)",
    .usage_status = TROUBLE,
};

static void __attribute__((format(printf, 1, 2)))
say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    flockfile(stderr);
    fputs("cudaway-diff: ", stderr);
    cw_text_vline(stderr, fmt, ap);
    funlockfile(stderr);
    va_end(ap);
}

/* ---- the real driver -------------------------------------------------------------------------------------------------------- */

/* Whether it has a device. A process of its own asks, since the driver does not survive a fork. */
static bool
native_works(const char *path)
{
    int status = 0;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : NULL;
        int (*count)(int *) = lib ? (int (*)(int *))dlsym(lib, "cuDeviceGetCount") : NULL;
        int n = 0;
        _exit(init && count && !init(0) && !count(&n) && n > 0 ? 0 : 1);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* As the driver asks it for CUDAWAY_DEVICE=auto. */
static bool
has_amd_gpu(void)
{
    return !access("/dev/kfd", F_OK) || cw_env_get(CW_ENV_HIP_LIBRARY);
}

static bool
is_native(const char *device)
{
    return device && !strncmp(device, "cuda-native", strlen("cuda-native"));
}

/* The driver that is cuda-native, perhaps one that was asked for; false after a message if it has to work and does not. */
static bool
choose_native(struct diff *d, bool wanted)
{
    d->native = d->driver.library ? strdup(d->driver.library) : wanted ? driver_of_system() : NULL;
    if (d->native && native_works(d->native))
        return !setenv("CUDAWAY_CUDA_LIBRARY", d->native, 1);
    if (wanted && d->native)
        say("cuda-native: %s is no CUDA driver, or has no device", d->native);
    else if (wanted)
        say("cuda-native: there is no CUDA driver here but CUDAway's; name one by --library or CUDAWAY_CUDA_LIBRARY, or choose other devices");
    free(d->native);
    d->native = NULL;
    return !wanted;
}

/* --device and --library say which driver the program gets, and that is the reference; --reference says both. Where none does, it is the
 * driver that the program would find, if that has a device, else CUDAway's. */
static bool
choose_reference(struct diff *d)
{
    char why[PATH_MAX + 100];
    bool library = d->driver.library, native_subject = is_native(d->subject.device), wanted = library || native_subject || is_native(d->reference);
    if (d->reference && !strcmp(d->reference, "cuda-native:O0")) {
        say("cuda-native:O0 can only be the subject: the program loads its modules on the reference as it does; use --reference host");
        return false;
    }
    if (d->reference && d->driver.device) {
        say("--reference %s and --device %s both say where the program runs; give one", d->reference, d->driver.device);
        return false;
    }
    if ((!d->reference || wanted) && !driver_choose(&d->driver, why, sizeof why)) {
        say("%s", why);
        return false;
    }
    if (!choose_native(d, wanted))
        return false;
    const char *device = d->driver.device && strcmp(d->driver.device, "auto") ? d->driver.device : "host";
    if (!d->reference)
        d->reference = d->driver.library && d->native && (library || !native_subject) ? "cuda-native" : device;
    if (is_native(d->reference)) {
        d->driver.library = d->native;
    } else {
        d->driver.library = NULL;
        d->driver.device = d->reference;
    }
    return true;
}

static bool
choose_devices(struct diff *d)
{
    if (!choose_reference(d))
        return false;
    if (!d->subject.device)
        d->subject.device = has_amd_gpu() && strcmp(d->reference, "hip") ? "hip" : !strcmp(d->reference, "host") ? "host:O0" : "host";
    return true;
}

static void
say_devices(const struct diff *d)
{
    char reference[PATH_MAX + 100];
    driver_text(&d->driver, reference, sizeof reference);
    say("comparing %s: the reference is %s; the subject is %s%s%s", d->command[0], reference, d->subject.device, is_native(d->subject.device) ? ", " : "",
        is_native(d->subject.device) ? d->native : "");
}

/* ---- set-up ------------------------------------------------------------------------------------------------------------------ */

static bool
find_parts(struct diff *d)
{
    char *dir = cw_dir_of_object((const void *)(uintptr_t)&find_parts), *replay = NULL, *layer = NULL;
    bool ok = dir && asprintf(&replay, "%s/cudaway-replay", dir) > 0 && asprintf(&layer, "%s/../lib/cudaway/trace/libcuda.so.1", dir) > 0;
    if (ok) {
        d->subject.replay = replay;
        d->layer = realpath(layer, NULL);
        if (!d->layer || access(replay, X_OK)) {
            say("the installation is not complete: %s is missing", d->layer ? replay : layer);
            ok = false;
        }
    }
    free(layer);
    free(dir);
    return ok;
}

static bool
listen_there(struct diff *d)
{
    static const char *const places[] = { "/dev/shm", NULL, "/tmp" };   /* memory, if there is any */
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    for (unsigned i = 0; i < 3 && !d->folder; i++) {
        const char *base = i == 1 ? getenv("TMPDIR") : places[i];
        if (!base || strlen(base) > 60 || !(d->folder = malloc(128)))
            continue;
        if (!cw_temp_make(base, "diff", d->folder, 128)) {
            free(d->folder);
            d->folder = NULL;
        }
    }
    if (!d->folder) {
        say("no folder for temporary files: /dev/shm, TMPDIR and /tmp cannot be written");
        return false;
    }
    snprintf(a.sun_path, sizeof a.sun_path, "%s/" CWD_DIFF_SOCKET, d->folder);
    d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (d->listener < 0 || bind(d->listener, (struct sockaddr *)&a, sizeof a) || listen(d->listener, 64)) {
        say("cannot listen in %s: %s", d->folder, strerror(errno));
        return false;
    }
    return true;
}

static void
remove_folder(struct diff *d)
{
    cw_temp_remove(d->folder);
}

static bool
prepend(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *joined;
    if (!old || !*old)
        return !setenv(name, value, 1);
    if (asprintf(&joined, "%s:%s", value, old) < 0)
        return false;
    bool ok = !setenv(name, joined, 1);
    free(joined);
    return ok;
}

static bool
environment(const struct diff *d)
{
    char *own = strndup(d->layer, (size_t)(strrchr(d->layer, '/') - d->layer)), *layer = NULL, path[PATH_MAX];
    snprintf(path, sizeof path, "%s/layer", d->folder);
    char *folder = own ? cw_folder_for_list(own, path) : NULL;
    bool ok = folder && asprintf(&layer, "%s%s", folder, strrchr(d->layer, '/')) > 0 && prepend("LD_LIBRARY_PATH", folder) &&
              prepend("LD_PRELOAD", layer) && !setenv("CUDAWAY_DIFF_DIR", d->folder, 1);
    /* A program with NVIDIA's CUDA Runtime inside uses ours over our driver (docs/static-runtime.md). */
    char *audit = NULL;
    if (own && !is_native(d->reference) && asprintf(&audit, "%s/../libcudaway-audit.so", own) > 0 && !access(audit, R_OK) && !strchr(audit, ':'))
        ok = ok && prepend("LD_AUDIT", audit);
    free(audit);
    free(own);
    free(folder);
    free(layer);
    unsetenv("CUDAWAY_DUMP_DIR");
    ok = ok && driver_set_environment(&d->driver);
    if (d->kernels)
        ok = ok && !setenv("CUDAWAY_DUMP_KERNELS", d->kernels, 1);
    else
        unsetenv("CUDAWAY_DUMP_KERNELS");
    return ok;
}

/* ---- signals ----------------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t ended;     /* by a signal; what has been compared is reported */
static volatile pid_t program_pid, helper_pid;

/* The signal is passed on to the program and to the process that compares: neither goes on alone. */
static void
pass_on(int signal)
{
    ended = 1;
    if (program_pid > 0)
        kill(program_pid, signal);
    if (helper_pid > 0)
        kill(helper_pid, signal);
}

static void
catch_ends(void)
{
    static const int ends[] = { SIGTERM, SIGHUP };
    struct sigaction a, pass = { .sa_handler = pass_on };
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigaction(ends[i], NULL, &a) && a.sa_handler != SIG_IGN)
            sigaction(ends[i], &pass, NULL);
}

/* ---- the program ------------------------------------------------------------------------------------------------------------- */

/* False after a message. */
static bool
start_program(struct diff *d)
{
    int failed[2], error = 0;
    if (pipe2(failed, O_CLOEXEC)) {
        say("cannot start %s: %s", d->command[0], strerror(errno));
        return false;
    }
    d->app = fork();
    if (d->app == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        if (environment(d))
            execvp(d->command[0], d->command);
        error = errno;
        if (write(failed[1], &error, sizeof error) < 0)
            _exit(126);
        _exit(127);
    }
    program_pid = d->app;
    if (ended && d->app > 0)
        kill(d->app, SIGTERM);
    close(failed[1]);
    if (d->app < 0)
        error = errno;
    else if (read(failed[0], &error, sizeof error) != sizeof error)
        error = 0;
    close(failed[0]);
    if (error) {
        program_pid = 0;
        while (d->app > 0 && waitpid(d->app, NULL, 0) < 0 && errno == EINTR)
            ;
        say("cannot run %s: %s", d->command[0], strerror(error));
        return false;
    }
    return true;
}

/* ---- comparing -------------------------------------------------------------------------------------------------------------- */

struct kept {
    const struct diff *d;
    const char *kernel;
    unsigned launch, again;
    char path[PATH_MAX];
};

static void
next_path(void *user, char *path)
{
    struct kept *k = user;
    cwd_name(path, k->d->output, k->launch, k->kernel, k->again++);
    strcpy(k->path, path);
}

/* Keep the dump of a launch that differs, compressed. Those that other processes and other runs have kept in the folder stay. Its name, malloc'd, or NULL
 * after a message. */
static char *
keep(struct diff *d, const char *path, unsigned launch, const char *kernel)
{
    struct kept k = { .d = d, .kernel = kernel, .launch = launch };
    struct cwd_dump dump;
    struct cwd_error e = { "" };
    if (d->output_failed)
        return NULL;
    if (cw_mkdirs(d->output, 0700) != CW_OK) {
        say("cannot make the folder %s: %s; dumps are not kept", d->output, strerror(errno));
        d->output_failed = true;
        return NULL;
    }
    cw_result r = cwd_read(path, 0, 0, &dump, &e);
    if (r == CW_OK) {
        r = cwd_write_new(&dump, d->output, next_path, &k, &e);
        cwd_finish(&dump);
    }
    if (r != CW_OK) {
        say("%s", e.text);
        d->output_failed = true;
        return NULL;
    }
    return strdup(k.path);
}

/* The first of a kernel is told at once, the others in the table. */
static void
say_difference(unsigned launch, const char *kernel, int status, const char *lines)
{
    say("%s, launch %u: %s", kernel, launch, status == 1 ? "the results differ" : "the subject did not run it");
    for (const char *line = lines, *end; line && (end = strchr(line, '\n')); line = end + 1)
        if (*line != '{')
            say("  %.*s", (int)(end - line), line);
}

struct seen {
    unsigned long launches;
    char kernel[];
};

static int
by_kernel(const void *a, const void *b)
{
    return strcmp(((const struct seen *)a)->kernel, ((const struct seen *)b)->kernel);
}

/* How many launches of the kernel were asked about; NULL: memory is out. */
static unsigned long *
launches_of(struct diff *d, const char *kernel)
{
    struct seen *s = calloc(1, sizeof *s + strlen(kernel) + 1), **found = NULL;
    if (s) {
        strcpy(s->kernel, kernel);
        found = tsearch(s, &d->kernels_seen, by_kernel);
        if (!found || *found != s)
            free(s);
    }
    return found ? &(*found)->launches : NULL;
}

/* Is the launch to be compared? */
static bool
wanted(struct diff *d, const char *kernel)
{
    if (d->max && d->differ >= d->max) {
        d->beyond++;
        return false;
    }
    unsigned long *n = d->each ? launches_of(d, kernel) : NULL;
    if (n && ++*n > d->each) {
        d->further++;
        return false;
    }
    return true;
}

static void
compare(struct diff *d, unsigned launch, const char *path, const char *kernel)
{
    struct cw_buf lines;
    cw_buf_init(&lines);
    cw_progress_step(&d->progress, d->launches, d->differ);
    int status = 2;
    if (subject_start(&d->subject, &lines)) {
        helper_pid = d->subject.pid;
        status = subject_run(&d->subject, path, &lines);
        helper_pid = 0;
    }
    if (ended && status == 2) {
        cw_buf_finish(&lines);
        return;
    }
    struct cwd_launch *l = cwd_results_add(&d->results, kernel, launch, NULL, status, lines.failed ? NULL : lines.data);
    d->launches++;
    d->differ += status != 0;
    unsigned nth = status ? causes_count(&d->causes, kernel) : 0;
    if (nth == 1) {
        cw_progress_clear(&d->progress);
        say_difference(launch, kernel, status, lines.data);
    }
    if (status && nth <= d->keep) {
        char *name = keep(d, path, launch, kernel);
        if (name && nth == 1)
            say("  kept as %s", name);
        if (name && status == 1 && !d->first)
            d->first = strdup(name);
        if (l)
            l->dump = name;
        else
            free(name);
    }
    if (l && status == 1 && d->explain && !l->dump)
        causes_copy(&d->causes, (size_t)(l - d->results.launches), path);
    cw_buf_finish(&lines);
}

static void
serve(struct diff *d)
{
    char line[CWD_DIFF_LINE], answer = CWD_DIFF_YES;
    size_t n = 0;
    int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    while (n < sizeof line - 1) {
        ssize_t got = recv(fd, line + n, sizeof line - 1 - n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
        if (line[n - 1] == '\n')
            break;
    }
    if (n && line[n - 1] == '\n') {
        char name[NAME_MAX + 1], path[PATH_MAX];
        unsigned launch;
        int kernel = 0;
        line[n - 1] = 0;
        if (line[0] == 'D' && sscanf(line, "D %u %255s %n", &launch, name, &kernel) >= 2 && kernel && !strchr(name, '/') &&
            snprintf(path, sizeof path, "%s/%s", d->folder, name) < (int)sizeof path) {
            compare(d, launch, path, line + kernel);
        } else if (line[0] == 'A' && n > 3) {
            answer = wanted(d, line + 2) ? CWD_DIFF_YES : CWD_DIFF_NO;
        } else if (line[0] == 'N' && n > 3) {
            cw_progress_clear(&d->progress);
            if (d->skipped++ < MAX_NOT_COMPARED)
                say("not compared: %s", line + 2);
        }
    }
    if (send(fd, &answer, 1, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
        say("answering the program: %s", strerror(errno));
    close(fd);
}

static void
child_ended(int signal)
{
    (void)signal;       /* interrupts ppoll */
}

static void
run(struct diff *d)
{
    struct pollfd p = { .fd = d->listener, .events = POLLIN };
    sigset_t blocked, open;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &open);
    for (bool running = true;;) {
        pid_t gone = running ? waitpid(d->app, &d->app_status, WNOHANG) : 0;
        if (gone == d->app) {
            running = false;
            program_pid = 0;
        }
        const struct timespec now = { 0 };
        int n = ppoll(&p, 1, running ? NULL : &now, &open);
        if (n > 0)
            serve(d);
        else if (!running)
            break;
    }
    sigprocmask(SIG_SETMASK, &open, NULL);
    cw_progress_clear(&d->progress);
}

static int
summary(struct diff *d)
{
    bool failed = !WIFEXITED(d->app_status) || WEXITSTATUS(d->app_status);
    uint64_t tolerated = d->results.seen[CWD_S_TOLERATED];
    uint64_t bounded = d->results.seen[CWD_S_BOUNDED];
    char within[120] = "";
    cwd_results_table(&d->results, "cudaway-diff: ", stderr);
    if (WIFSIGNALED(d->app_status))
        say("the program was ended by signal %d (%s)", WTERMSIG(d->app_status), strsignal(WTERMSIG(d->app_status)));
    else if (failed)
        say("the program ended with status %d", WEXITSTATUS(d->app_status));
    if (d->skipped)
        say("%u launches were not compared", d->skipped);
    if (d->beyond)
        say("%lu launches behind the last that differs were not compared (--max %lu)", d->beyond, d->max);
    if (d->further)
        say("%lu launches were not compared, further ones of kernels of which %lu were (--launches)", d->further, d->each);
    if (!d->launches && !d->skipped)
        say("no kernel launches were seen%s", d->kernels ? " that --kernels matches" : ": is this a CUDA program? `cudaway-trace check` tells what a file has of CUDA");
    if (tolerated)
        snprintf(within, sizeof within, ", %llu within the tolerance", (unsigned long long)tolerated);
    if (bounded)
        snprintf(within + strlen(within), sizeof within - strlen(within), ", %llu within bounds of error", (unsigned long long)bounded);
    say("%s against %s: %u launches compared, %u differ%s", d->reference, d->subject.device, d->launches, d->differ, within);
    if (d->differ)
        return DIFFERENT;
    return failed || d->skipped || !d->launches ? TROUBLE : SAME;
}

static void
put_head(struct cw_buf *head, const struct diff *d, int status)
{
    cw_buf_puts(head, "\"program\":[");
    for (char **a = d->command; *a; a++) {
        cw_buf_puts(head, a == d->command ? "" : ",");
        cw_buf_json_string(head, *a);
    }
    cw_buf_puts(head, "],\"reference\":");
    cw_buf_json_string(head, d->reference);
    cw_buf_puts(head, ",\"subject\":");
    cw_buf_json_string(head, d->subject.device);
    cw_buf_printf(head, ",\"status\":%d,\"not_compared\":%u,\"beyond_max\":%lu,\"beyond_launches\":%lu,\"tolerance\":", status, d->skipped, d->beyond, d->further);
    if (d->subject.tolerance)
        cw_buf_json_string(head, d->subject.tolerance);
    else
        cw_buf_puts(head, "null");
    cw_buf_printf(head, ",\"ulp\":%u,", d->subject.ulp);
}

/* --json, --html. False after a message. */
static bool
write_results(const struct diff *d, int status)
{
    struct cw_buf head, all, title;
    cw_buf_init(&head);
    cw_buf_init(&all);
    cw_buf_init(&title);
    put_head(&head, d, status);
    for (char **a = d->command; *a; a++)
        cw_buf_printf(&title, "%s%s", a == d->command ? "" : " ", *a);
    if (d->json && !head.failed)
        cwd_results_json(&d->results, head.data, &all);
    bool memory = !head.failed && !all.failed && !title.failed, ok = memory;
    const char *failed = d->json;
    if (ok && d->json)
        ok = !strcmp(d->json, "-") ? cw_write_all(STDOUT_FILENO, all.data, all.size) : cw_file_write_atomic(d->json, all.data, all.size, 0644) == CW_OK;
    if (ok && d->html) {
        ok = cwd_results_html_file(&d->results, title.data, head.data, d->html);
        failed = d->html;
    }
    if (!memory)
        say("out of memory");
    else if (!ok)
        say("cannot write %s: %s", failed, strerror(errno));
    cw_buf_finish(&head);
    cw_buf_finish(&all);
    cw_buf_finish(&title);
    return ok;
}

/* Its report goes to this program's output. */
static void
locate(const struct diff *d)
{
    char ulp[16];
    int status = 0;
    snprintf(ulp, sizeof ulp, "%u", d->subject.ulp);
    say("looking for the cause in %s", d->first);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        signal(SIGINT, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl(d->subject.replay, d->subject.replay, "--trust", "--locate", "--on", d->subject.device, "--against", d->reference, "--ulp", ulp, "--", d->first, (char *)NULL);
        _exit(127);
    }
    helper_pid = pid;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    helper_pid = 0;
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 2)
        say("cudaway-replay --locate failed");
    else if (!WEXITSTATUS(status))
        say("that launch alone gives the same results on both");
}

/* What is done when the program has ended. */
static int
finish(struct diff *d)
{
    int cause = DIFFERENT;
    if (d->locate && d->first && !ended)
        locate(d);
    d->causes.replay = d->subject.replay;
    d->causes.device = d->subject.device;
    if (d->explain && !ended)
        cause = causes_explain(&d->causes, &d->results, d->explain_seconds);
    if (d->html && !ended)
        causes_pictures(&d->causes, &d->results, d->subject.tolerance, d->subject.bounds);
    int status = summary(d);
    if (status == DIFFERENT)
        status = cause;
    return (!d->json && !d->html) || write_results(d, status) ? status : TROUBLE;
}

static bool
number_from_1(const char *option, const char *value, unsigned long *to)
{
    char *end;
    errno = 0;
    *to = strtoul(value, &end, 10);
    if (*value && !*end && *value != '-' && *to && !errno)
        return true;
    say("%s %s is not a number from 1", option, value);
    return false;
}

int
main(int argc, char **argv)
{
    struct diff d = { .listener = -1, .keep = 3, .explain = true, .explain_seconds = EXPLAIN_SECONDS, .progress = { .what = "launches compared" } };
    struct cwd_tolerances tolerances = { 0 };
    struct cw_command_line line = { &program, argc, argv };
    for (int c; (c = cw_next_option(&line)) != CW_OPTIONS_END;) {
        char *end, why[128];
        regex_t r;
        switch (c) {
        case REFERENCE: d.reference = optarg; break;
        case DEVICE:    d.driver.device = optarg; break;
        case LIBRARY:   d.driver.library = optarg; break;
        case SUBJECT:   d.subject.device = optarg; break;
        case 'o':       d.output = optarg; break;
        case LOCATE:    d.locate = true; break;
        case NO_EXPLAIN: d.explain = false; break;
        case EXPLAIN:
            d.explain = true;
            d.explain_seconds = optarg ? (unsigned)strtoul(optarg, &end, 10) : 0;
            if (optarg && (*end || !d.explain_seconds || d.explain_seconds > 1000000 || *optarg == '-')) {
                say("--explain %s is not a number of seconds from 1 to 1000000", optarg);
                return TROUBLE;
            }
            break;
        case KERNELS:
            d.kernels = optarg;
            if (!cw_regex_compile(&r, optarg, why, sizeof why)) {
                say("--kernels %.200s is no regular expression: %s", optarg, why);
                return TROUBLE;
            }
            regfree(&r);
            break;
        case MAX:
            if (!number_from_1("--max", optarg, &d.max))
                return TROUBLE;
            break;
        case LAUNCHES:
            if (!number_from_1("--launches", optarg, &d.each))
                return TROUBLE;
            break;
        case ULP: {
            unsigned long v = strtoul(optarg, &end, 10);
            if (!*optarg || *end || *optarg == '-' || v > INT32_MAX) {
                say("--ulp %s is not a number", optarg);
                return TROUBLE;
            }
            d.subject.ulp = (uint32_t)v;
            break;
        }
        case KEEP:
            errno = 0;
            d.keep = strtoul(optarg, &end, 10);
            if (*optarg < '0' || *optarg > '9' || *end || errno) {
                say("--keep %s is not a number", optarg);
                return TROUBLE;
            }
            break;
        case JSON:      d.json = optarg; break;
        case BOUNDS:    d.subject.bounds = true; break;
        case HTML:      d.html = optarg; break;
        case TOLERANCE: d.subject.tolerance = optarg; break;
        default:
            return line.status;
        }
    }
    if (optind == argc)
        return cw_usage_error(&program, "no program given");
    struct cwd_error e = { "" };
    if (d.subject.tolerance && cwd_tolerances_read(d.subject.tolerance, &tolerances, &e) != CW_OK) {
        say("%s", e.text);
        return TROUBLE;
    }
    cwd_tolerances_finish(&tolerances);     /* the subject reads them again */
    d.command = argv + optind;
    const char *base = strrchr(d.command[0], '/');
    char *folder = NULL;
    if (!d.output && asprintf(&folder, "cudaway-diff-%s", base ? base + 1 : d.command[0]) > 0)
        d.output = folder;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);        /* the program's; this one reports when it has ended */
    signal(SIGQUIT, SIG_IGN);
    struct sigaction child = { .sa_handler = child_ended };
    sigaction(SIGCHLD, &child, NULL);
    catch_ends();
    int status = TROUBLE;
    bool ran = false;
    struct cw_buf why;
    cw_buf_init(&why);
    if (d.output && find_parts(&d) && choose_devices(&d) && listen_there(&d)) {
        if (!subject_start(&d.subject, &why)) {
            char *eol = why.data ? strchr(why.data, '\n') : NULL;
            say("the subject %s cannot be used: %.*s; name another with --subject (`cudaway info` lists the devices)", d.subject.device, eol ? (int)(eol - why.data) : 0, why.data ? why.data : "");
        } else {
            say_devices(&d);
            if (!ended && (ran = start_program(&d)))
                run(&d);
        }
    }
    subject_stop(&d.subject);
    if (ran)
        status = finish(&d);
    tdestroy(d.kernels_seen, free);
    causes_finish(&d.causes);
    cwd_results_finish(&d.results);
    remove_folder(&d);
    cw_buf_finish(&why);
    free((char *)d.subject.replay);
    free(d.layer);
    free(d.native);
    driver_finish(&d.driver);
    free(d.folder);
    free(d.first);
    free(folder);
    return status;
}
