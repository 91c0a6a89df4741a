/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace record: start the daemon, run the application under the trace layer, leave a folder with the trace and
 * its manifest. The application's standard streams, exit status and signals are its own; this program prints only
 * warnings and, at the end, where the recording is. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/regex.h"
#include "impl/base/version.h"
#include "impl/api/meta.h"
#include "tracer/cli/api_status.h"
#include "tracer/cli/control.h"
#include "tracer/cli/manifest.h"
#include "tracer/cli/reader.h"
#include "tracer/cli/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define SUBBUFS 4u
#define FLIGHT_SUBBUFS 8u
#define MIN_SUBBUF 32768u     /* the longest events must fit */
enum { DUMPS = 100, FLIGHT_DUMPS = 8 };       /* at most, unless --dump-limit says otherwise */
#define BALLAST ((off_t)8 << 20)

int64_t
record_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t
record_disk_free(const char *dir)
{
    struct statvfs vfs;
    return statvfs(dir, &vfs) ? UINT64_MAX : (uint64_t)vfs.f_bavail * vfs.f_frsize;
}

/* Ring buffers: as large as shared memory allows for eight processes and the disk for two, from 32 KiB to 512 KiB a
 * sub-buffer. What they hold when the program ends must still fit on the disk. */
static void
choose_sizes(struct record *r)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (r->flight) {
        r->reserve = r->flight + (2u << 20);
        return;
    }
    uint64_t each = SUBBUFS * (uint64_t)(cpus > 0 ? cpus : 1);
    uint64_t memory = record_disk_free("/dev/shm") / 8 / each, disk = record_disk_free(r->dir) / 8 / each;
    r->subbufs = SUBBUFS;
    r->subbuf_size = MIN_SUBBUF;
    /* The size of a recording is limited to within what a process's buffers hold. */
    uint64_t limit = r->max_size ? r->max_size / 4 / each : UINT64_MAX;
    while (r->subbuf_size < 524288 && r->subbuf_size * 2 <= memory && r->subbuf_size * 2 <= disk && r->subbuf_size * 2 <= limit)
        r->subbuf_size *= 2;
    r->reserve = r->subbuf_size * each + (2u << 20);
}

/* A flight recorder's buffers take the size that was asked for, in equal shares of the CPUs. False after a message. */
static bool
choose_flight(struct record *r)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    uint64_t n = cpus > 0 ? (uint64_t)cpus : 1, least = 2 * n * MIN_SUBBUF, shared = record_disk_free("/dev/shm");
    if (r->flight < least || r->flight > shared) {
        say("--flight-recorder: its buffers can have %llu KiB (two of %u KiB for each of %llu CPUs) to %llu KiB (/dev/shm is not larger), not %llu KiB",
            (unsigned long long)least / 1024, MIN_SUBBUF / 1024, (unsigned long long)n, (unsigned long long)shared / 1024, (unsigned long long)r->flight / 1024);
        return false;
    }
    r->subbuf_size = MIN_SUBBUF;
    while (r->subbuf_size * 2 * FLIGHT_SUBBUFS * n <= r->flight)
        r->subbuf_size *= 2;
    r->subbufs = 2;
    while (r->subbufs < FLIGHT_SUBBUFS && r->subbuf_size * r->subbufs * 2 * n <= r->flight)
        r->subbufs *= 2;
    return true;
}

/* A file that goes when the disk is nearly full, so that the buffers, the trace's metadata and the manifest can be written even if another program
 * fills the disk. It has no name: nothing of it stays when this process is killed. */
void
record_ballast(struct record *r, bool keep)
{
    char path[PATH_MAX];
    if (r->ballast >= 0)
        close(r->ballast);
    r->ballast = keep ? open(r->dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (keep && r->ballast < 0) {       /* a file system that cannot: NFS */
        snprintf(path, sizeof path, "%s/.reserve", r->dir);
        r->ballast = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        unlink(path);
    }
    if (r->ballast >= 0 && posix_fallocate(r->ballast, 0, BALLAST))
        record_ballast(r, false);
}

static bool
folder_is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d)
        return false;
    struct dirent *e;
    bool empty = true;
    while (empty && (e = readdir(d)))
        empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    closedir(d);
    return empty;
}

/* Make the output folder. One message and false on failure. */
static bool
make_folder(struct record *r)
{
    char name[NAME_MAX + 1];
    struct stat st;
    r->made = !r->dir_option || stat(r->dir_option, &st);
    if (r->dir_option) {
        if (cw_mkdirs(r->dir_option, 0700) != CW_OK) {
            say("cannot make the folder %s: %s", r->dir_option, strerror(errno));
            return false;
        }
        if (!folder_is_empty(r->dir_option)) {
            say("%s is not empty; name a new folder with -o, or remove it", r->dir_option);
            return false;
        }
    } else {
        const char *slash = strrchr(r->command[0], '/'), *base = slash ? slash + 1 : r->command[0];
        time_t t = time(NULL);
        struct tm tm;
        char stamp[32];
        localtime_r(&t, &tm);
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
        for (unsigned i = 0;; i++) {
            int n = snprintf(name, sizeof name, "cudaway-trace-%.100s-%s", base, stamp);
            if (i)
                snprintf(name + n, sizeof name - (size_t)n, "-%u", i);
            if (!mkdir(name, 0700)) {
                (void)chmod(name, 0700);        /* whatever the umask */
                break;
            }
            if (errno != EEXIST || i == 1000) {
                say("cannot make the folder %s: %s; name another with -o", name, strerror(errno));
                return false;
            }
        }
        r->dir_option = name;
    }
    r->dir = realpath(r->dir_option, NULL);
    if (!r->dir || access(r->dir, W_OK)) {
        say("cannot write into %s: %s", r->dir_option, strerror(errno));
        r->dir_option = NULL;
        return false;
    }
    r->dir_option = NULL;
    choose_sizes(r);
    uint64_t left = record_disk_free(r->dir), need = 2 * r->reserve + BALLAST;
    if (left < need) {
        say("%s: the disk is full (%llu KiB are free, a recording needs at least %llu KiB)", r->dir,
            (unsigned long long)left / 1024, (unsigned long long)need / 1024);
        if (r->made)
            rmdir(r->dir);
        return false;
    }
    record_ballast(r, true);
    return true;
}

static void
json_pair(struct cw_buf *b, const char *name, const char *value)
{
    cw_buf_printf(b, "  \"%s\": ", name);
    if (value)
        cw_buf_json_string(b, value);
    else
        cw_buf_puts(b, "null");
    cw_buf_puts(b, ",\n");
}

static bool
kept_variable(const char *e)
{
    static const char *const prefixes[] = { "CUDAWAY_", "CUDA_", "LD_LIBRARY_PATH=", "LD_PRELOAD=", "OMP_" };
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(e, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* What was chosen to be recorded, and what a flight recorder kept. */
static void
put_choice(struct cw_buf *b, const struct record *r)
{
    char text[40];
    cw_buf_puts(b, "  \"only\": {");
    const char *const names[] = { "functions", "kernels" }, *const values[] = { r->functions, r->only_kernels };
    const char *sep = " ";
    for (unsigned i = 0; i < 2; i++) {
        if (!values[i])
            continue;
        cw_buf_printf(b, "%s\"%s\": ", sep, names[i]);
        cw_buf_json_string(b, values[i]);
        sep = ", ";
    }
    if (r->first) {
        cw_buf_printf(b, "%s\"launches\": \"%llu..", sep, (unsigned long long)r->first);
        if (r->last)
            cw_buf_printf(b, "%llu", (unsigned long long)r->last);
        cw_buf_puts(b, "\"");
    }
    cw_buf_puts(b, " },\n");
    if (!r->flight)
        return;
    cw_buf_printf(b, "  \"flight_recorder\": %llu,\n  \"snapshots\": [", (unsigned long long)r->flight);
    for (unsigned i = 0; i < r->snapshot_count; i++) {
        format_time(r->snapshots[i].time, text);
        cw_buf_printf(b, "%s\n    { \"time\": \"%s\", \"why\": ", i ? "," : "", text);
        cw_buf_json_string(b, r->snapshots[i].why);
        cw_buf_puts(b, " }");
    }
    cw_buf_puts(b, r->snapshot_count ? "\n  ],\n" : "],\n");
}

/* docs/tracing.md has the format; add a row to its version table when this changes. */
bool
record_write_manifest(struct record *r)
{
    struct cw_buf b;
    struct utsname u = { 0 };
    char time_text[40], path[PATH_MAX], *cwd = getcwd(NULL, 0);
    uname(&u);
    cw_buf_init(&b);
    cw_buf_puts(&b, "{\n  \"format\": \"cudaway-trace\",\n  \"version\": 1,\n");
    json_pair(&b, "cudaway", cw_version());
    json_pair(&b, "state", !r->done ? "recording" : r->truncated ? "truncated" : "complete");
    json_pair(&b, "note", *r->note ? r->note : NULL);
    cw_buf_puts(&b, "  \"command\": [");
    for (unsigned i = 0; r->command[i]; i++) {
        cw_buf_puts(&b, i ? ", " : "");
        cw_buf_json_string(&b, r->command[i]);
    }
    cw_buf_puts(&b, "],\n");
    json_pair(&b, "directory", cwd);
    free(cwd);
    cw_buf_puts(&b, "  \"environment\": {");
    const char *sep = "\n";
    for (char **e = environ; *e; e++) {
        const char *eq = strchr(*e, '=');
        if (!eq || !kept_variable(*e))
            continue;
        char *name = strndup(*e, (size_t)(eq - *e));
        cw_buf_printf(&b, "%s    ", sep);
        cw_buf_json_string(&b, name ? name : "");
        cw_buf_puts(&b, ": ");
        cw_buf_json_string(&b, eq + 1);
        free(name);
        sep = ",\n";
    }
    cw_buf_printf(&b, "%s},\n  \"host\": {\n  ", *sep == ',' ? "\n  " : "");
    json_pair(&b, "name", u.nodename);
    cw_buf_puts(&b, "  ");
    json_pair(&b, "system", u.sysname);
    cw_buf_puts(&b, "  ");
    json_pair(&b, "release", u.release);
    cw_buf_puts(&b, "  ");
    json_pair(&b, "machine", u.machine);
    cw_buf_printf(&b, "    \"cpus\": %ld\n  },\n", sysconf(_SC_NPROCESSORS_ONLN));
    json_pair(&b, "device", r->driver.device);
    json_pair(&b, "library", r->driver.library);
    format_time(r->started, time_text);
    json_pair(&b, "started", time_text);
    if (r->done)
        format_time(r->ended, time_text);
    json_pair(&b, "ended", r->done ? time_text : NULL);
    if (r->done)
        cw_buf_printf(&b, "  \"seconds\": %.6f,\n", (double)(r->ended - r->started) / 1e9);
    cw_buf_printf(&b, "  \"pid\": %d,\n", (int)r->app);
    if (r->done && WIFEXITED(r->status))
        cw_buf_printf(&b, "  \"exit\": { \"code\": %d },\n", WEXITSTATUS(r->status));
    else if (r->done)
        cw_buf_printf(&b, "  \"exit\": { \"signal\": %d },\n", WTERMSIG(r->status));
    else
        cw_buf_puts(&b, "  \"exit\": null,\n");
    put_choice(&b, r);
    json_pair(&b, "trace", r->url ? r->url : "trace");
    if (r->done && !r->url) {
        cw_buf_puts(&b, "  \"streams\": ");
        manifest_put_streams(&b, r->dir);
        cw_buf_puts(&b, ",\n");
    }
    cw_buf_printf(&b, "  \"dumps\": %s\n}\n", r->dump || r->flight ? "\"dumps\"" : "null");
    snprintf(path, sizeof path, "%s/manifest.json", r->dir);
    bool ok = !b.failed && cw_file_write_atomic(path, b.data, b.size, 0600) == CW_OK;
    if (!ok)
        say("cannot write %s: %s", path, b.failed ? "out of memory" : strerror(errno));
    cw_buf_finish(&b);
    return ok;
}

/* NAME=VALUE, or NAME=VALUE<sep>OLD where the variable is set. */
static bool
prepend(const char *name, const char *value, char sep)
{
    const char *old = getenv(name);
    char *all = NULL;
    if (!old || !*old)
        return !setenv(name, value, 1);
    if (asprintf(&all, "%s%c%s", value, sep, old) < 0)
        return false;
    bool ok = !setenv(name, all, 1);
    free(all);
    return ok;
}

/* A folder as a list of folders can have it, perhaps under the name NAME in the recording's own folder. */
static char *
listed(const struct record *r, const char *folder, const char *name)
{
    char link[PATH_MAX];
    snprintf(link, sizeof link, "%s/%s", r->lttng.home, name);
    return cw_folder_for_list(folder, link);
}

static bool
set_environment(struct record *r)
{
    char path[PATH_MAX], number[32];
    char *own = strndup(r->layer, (size_t)(strrchr(r->layer, '/') - r->layer)), *layer = NULL, *audit = NULL;
    bool foreign = r->driver.library;
    snprintf(path, sizeof path, "%s/..", own ? own : "");
    char *folder = own ? listed(r, own, "layer") : NULL, *libraries = own ? listed(r, path, "libraries") : NULL;
    /* Over our driver a program that is linked to the CUDA Runtime gets ours, which records its calls as well. */
    bool ok = folder && libraries && (foreign || prepend("LD_LIBRARY_PATH", libraries, ':')) && prepend("LD_LIBRARY_PATH", folder, ':') &&
              asprintf(&layer, "%s%s", folder, strrchr(r->layer, '/')) > 0 && prepend("LD_PRELOAD", layer, ':');
    /* The audit module gives the tracer to a program that opens libcuda.so.1 by its full path. A program with NVIDIA's CUDA Runtime
     * inside uses ours over our driver; over NVIDIA's it keeps its own (docs/static-runtime.md). */
    if (own && asprintf(&audit, "%s/../libcudaway-audit.so", own) > 0 && !access(audit, R_OK) && !strchr(audit, ':'))
        ok = ok && prepend("LD_AUDIT", audit, ':');
    if (foreign)
        ok = ok && !setenv("CUDAWAY_STATIC_RUNTIME", "off", 1);
    free(audit);
    free(own);
    free(folder);
    free(libraries);
    free(layer);
    snprintf(path, sizeof path, "%s/.lttng/lttng-ust-sock-8", r->lttng.home);
    ok = ok && !setenv("CUDAWAY_TRACE_SOCKET", path, 1) && !setenv("LTTNG_HOME", r->lttng.home, 1) &&
         !setenv("LTTNG_UST_ALLOW_BLOCKING", "1", 1) && !setenv("LTTNG_UST_REGISTER_TIMEOUT", "10000", 1);
    ok = ok && driver_set_environment(&r->driver);
    snprintf(path, sizeof path, "%s/modules", r->dir);
    ok = ok && !setenv("CUDAWAY_TRACE_MODULES", path, 1);
    if (r->device_time)
        ok = ok && !setenv("CUDAWAY_TRACE_DEVICE_TIME", "1", 1);
    snprintf(path, sizeof path, "%s/control", r->lttng.home);
    ok = ok && !setenv("CUDAWAY_TRACE_CONTROL", path, 1);
    if (r->flight)
        ok = ok && !setenv("CUDAWAY_TRACE_FLIGHT", "1", 1);
    if (r->only_kernels)
        ok = ok && !setenv("CUDAWAY_TRACE_KERNELS", r->only_kernels, 1);
    if (r->first) {
        snprintf(path, sizeof path, "%llu..%llu", (unsigned long long)r->first, (unsigned long long)(r->last ? r->last : UINT64_MAX));
        ok = ok && !setenv("CUDAWAY_TRACE_LAUNCHES", path, 1);
    }
    if (r->dump || r->flight) {
        snprintf(path, sizeof path, "%s/dumps", r->dir);
        snprintf(number, sizeof number, "%llu", (unsigned long long)(r->dump_limit ? r->dump_limit : r->flight ? FLIGHT_DUMPS : DUMPS));
        if (r->flight)
            ok = ok && !setenv("CUDAWAY_DUMP_WHEN", r->dump ? "failed" : "refused", 1);
        ok = ok && !setenv("CUDAWAY_DUMP_DIR", path, 1) && !setenv("CUDAWAY_DUMP_LIMIT", number, 1);
        if (r->kernels)
            ok = ok && !setenv("CUDAWAY_DUMP_KERNELS", r->kernels, 1);
    }
    return ok;
}

/* Start the application. Returns 0, or the exit status after a message. */
static int
spawn(struct record *r, const sigset_t *mask)
{
    int failed[2];
    if (pipe2(failed, O_CLOEXEC)) {
        say("cannot start %s: %s", r->command[0], strerror(errno));
        return EXIT_TOOL;
    }
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGPIPE, &r->pipe, NULL);
        sigprocmask(SIG_SETMASK, mask, NULL);
        umask(r->mask);
        int e = 0;
        if (set_environment(r)) {
            execvp(r->command[0], r->command);
            e = errno;
        } else {
            e = ENOMEM;
        }
        if (write(failed[1], &e, sizeof e) != sizeof e)
            _exit(EXIT_TOOL);
        _exit(EXIT_NOT_FOUND);
    }
    close(failed[1]);
    int e = 0;
    ssize_t got;
    if (pid < 0)
        e = errno, got = sizeof e;
    else
        while ((got = read(failed[0], &e, sizeof e)) < 0 && errno == EINTR)
            ;
    close(failed[0]);
    if (got != sizeof e) {
        r->app = pid;
        return 0;
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
    say("%s: %s", r->command[0], strerror(e));
    return pid < 0 || e == ENOMEM ? EXIT_TOOL : e == ENOENT || e == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Functions whose events are enabled: --function, and for --kernel those of the driver that launch. NULL: all, or none match (*count 0). */
static const char **
choose_functions(const struct record *r, unsigned *count)
{
    regex_t re;
    char why[128];
    *count = 0;
    if (!r->functions && !r->only_kernels)
        return NULL;
    const char **list = calloc(cw_meta_function_count + api_status_count, sizeof *list);
    if (!list || (r->functions && !cw_regex_compile(&re, r->functions, why, sizeof why))) {
        free(list);
        return NULL;
    }
    for (unsigned i = 0; i < cw_meta_function_count; i++) {
        const char *name = cw_meta_functions[i].name;
        if ((!r->functions || !regexec(&re, name, 0, NULL, 0)) && (!r->only_kernels || !strncmp(name, "cuLaunch", 8)))
            list[(*count)++] = name;
    }
    for (unsigned i = 0; i < api_status_count && !r->only_kernels; i++)
        if (tr_of_runtime(api_status[i].name) && !regexec(&re, api_status[i].name, 0, NULL, 0))
            list[(*count)++] = api_status[i].name;
    if (r->functions)
        regfree(&re);
    return list;
}

static bool
start_session(struct record *r)
{
    char path[PATH_MAX];
    struct lttng_order order = { .output = r->url ? r->url : path, .subbuf_size = r->subbuf_size, .subbufs = r->subbufs, .flight = r->flight,
                                 .driver = r->first };
    /* The daemon would let its group in. */
    snprintf(path, sizeof path, "%s/trace", r->dir);
    if (!r->url && mkdir(path, 0700)) {
        say("cannot make the folder %s: %s", path, strerror(errno));
        return false;
    }
    order.functions = choose_functions(r, &order.count);
    if ((r->functions || r->only_kernels) && !order.count) {
        say(order.functions ? "--function %s matches no function: names are like cuMemAlloc_v2 and cudaMalloc" : "out of memory", r->functions ? r->functions : "");
        free(order.functions);
        return false;
    }
    bool ok = lttng_start(&r->lttng) && lttng_session(&r->lttng, &order);
    free(order.functions);
    if (!ok)
        return false;
    snprintf(path, sizeof path, "%s/control", r->lttng.home);
    r->control = control_listen(path);
    if (r->control < 0)
        say("cudaway-trace list, stop and snapshot do not see this recording: %s", strerror(errno));
    return true;
}

/* The terminal sends these two to the application itself; one that came before it was started is pending here. 128 and the number, after a message; else 0. */
static int
interrupted(void)
{
    sigset_t waiting;
    sigpending(&waiting);
    int sig = sigismember(&waiting, SIGINT) ? SIGINT : sigismember(&waiting, SIGQUIT) ? SIGQUIT : 0;
    if (!sig)
        return 0;
    say("interrupted before the program was started");
    return 128 + sig;
}

static void
say_driver(const struct record *r)
{
    char text[PATH_MAX + 100];
    driver_text(&r->driver, text, sizeof text);
    say("recording %s with %s", r->command[0], text);
}

static int
run(struct record *r)
{
    int code = EXIT_TOOL;
    char path[PATH_MAX];
    sigset_t set, old;
    static const int passed[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (unsigned i = 0; i < sizeof passed / sizeof *passed; i++)
        sigaddset(&set, passed[i]);
    sigprocmask(SIG_BLOCK, &set, &old);
    signal(SIGCHLD, SIG_DFL);      /* an ignored SIGCHLD, inherited, would lose the exit status */
    sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, &r->pipe);
    r->mask = umask(077);
    if (!make_folder(r))
        goto finish;
    r->started = record_now();
    if (!start_session(r))
        goto fail;
    if (r->dump || r->flight) {
        snprintf(path, sizeof path, "%s/dumps", r->dir);
        if (cw_mkdirs(path, 0700) != CW_OK) {
            say("cannot make the folder %s: %s", path, strerror(errno));
            goto fail;
        }
    }
    snprintf(path, sizeof path, "%s/modules", r->dir);
    if (mkdir(path, 0700)) {
        say("cannot make the folder %s: %s", path, strerror(errno));
        goto fail;
    }
    if (!record_write_manifest(r))
        goto fail;
    code = interrupted();
    if (!code)
        code = spawn(r, &old);
    if (code)
        goto fail;
    if (!r->quiet)
        say_driver(r);
    record_write_manifest(r);
    supervise(r, &set);
    code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : 128 + WTERMSIG(r->status);
    record_ballast(r, false);
    if (r->flight && !r->over && code) {
        if (WIFSIGNALED(r->status))
            supervise_snapshot(r, "signal %d (%s) ended process %d", WTERMSIG(r->status), strsignal(WTERMSIG(r->status)), (int)r->app);
        else
            supervise_snapshot(r, "process %d ended with status %d", (int)r->app, code);
    }
    if (!lttng_stop(&r->lttng)) {
        r->truncated = true;
        supervise_note(r, "the trace could not be closed in order");
    }
    r->done = true;
    lttng_finish(&r->lttng);
    record_write_manifest(r);
    if (WIFSIGNALED(r->status))
        say("%s was ended by signal %d (%s)", r->command[0], WTERMSIG(r->status), strsignal(WTERMSIG(r->status)));
    if (r->url) {
        if (!r->quiet)
            say("the trace is at %s, modules and dumps are in %s", r->url, r->dir);
    } else if (r->flight && !r->snapshot_count) {
        if (!r->quiet)
            say("no call failed, so none were kept; %s has the modules", r->dir);
    } else if (!r->over && !holds_trace(r->dir))
        say("%s made no CUDA call that could be recorded (no use of libcuda.so.1, or it was loaded by its full path); `cudaway-trace check %s` tells what it has of CUDA",
            r->command[0], r->command[0]);
    else if (!r->quiet)
        say("the recording is in %s", r->dir);
    goto finish;
fail:
    lttng_finish(&r->lttng);
    if (r->dir) {          /* nothing was recorded: leave nothing */
        record_ballast(r, false);
        snprintf(path, sizeof path, "%s/trace", r->dir);
        cw_remove_tree(path);
        snprintf(path, sizeof path, "%s/dumps", r->dir);
        rmdir(path);
        snprintf(path, sizeof path, "%s/modules", r->dir);
        rmdir(path);
        snprintf(path, sizeof path, "%s/manifest.json", r->dir);
        unlink(path);
        if (r->made)
            rmdir(r->dir);
    }
finish:
    lttng_finish(&r->lttng);
    if (r->control >= 0)
        close(r->control);
    free(r->dir);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return code;
}

static bool
is_regex(const char *option, const char *text)
{
    regex_t re;
    char why[128];
    if (!cw_regex_compile(&re, text, why, sizeof why)) {
        say("--%s %.200s is no regular expression: %s", option, text, why);
        return false;
    }
    regfree(&re);
    return true;
}

/* "3..7", "3..", "3" */
static bool
parse_launches(const char *text, uint64_t *first, uint64_t *last)
{
    char *copy = strdup(text), *dots = copy ? strstr(copy, "..") : NULL;
    bool ok = copy != NULL;
    if (dots)
        *dots = 0;
    ok = ok && parse_number(copy, UINT32_MAX, first) && *first;
    *last = dots && !dots[2] ? 0 : *first;
    if (ok && dots && dots[2])
        ok = parse_number(dots + 2, UINT32_MAX, last) && *last >= *first;
    if (!ok)
        say("--launch %s is not a range of launches like 3..7, counted from 1", text);
    free(copy);
    return ok;
}

static bool
parse_bytes(const char *option, const char *text, uint64_t *out)
{
    if (cw_parse_size(text, out) && *out)
        return true;
    say("--%s %s is not a size like 64M", option, text);
    return false;
}

enum { OPT_DEVICE = 256, OPT_LIBRARY, OPT_DUMP, OPT_LIMIT, OPT_DEVICE_TIME, OPT_FLIGHT, OPT_MAX_SIZE, OPT_FUNCTION, OPT_KERNEL, OPT_AFTER, OPT_LAUNCH, OPT_URL };

static int
record(int argc, char **argv)
{
    struct record r = { .control = -1, .ballast = -1 };
    uint64_t after;
    int c;
    struct cw_command_line line = { &record_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        switch (c) {
        case 'o': r.dir_option = optarg; break;
        case OPT_DEVICE: r.driver.device = optarg; break;
        case OPT_LIBRARY: r.driver.library = optarg; break;
        case 'q': r.quiet = true; break;
        case OPT_DEVICE_TIME: r.device_time = true; break;
        case OPT_FLIGHT:
            if (!parse_bytes("flight-recorder", optarg, &r.flight))
                return EXIT_TOOL;
            break;
        case OPT_MAX_SIZE:
            if (!parse_bytes("max-size", optarg, &r.max_size))
                return EXIT_TOOL;
            break;
        case OPT_FUNCTION:
        case OPT_KERNEL:
            if (!is_regex(c == OPT_FUNCTION ? "function" : "kernel", optarg))
                return EXIT_TOOL;
            *(c == OPT_FUNCTION ? &r.functions : &r.only_kernels) = optarg;
            break;
        case OPT_AFTER:
            if (!parse_number(optarg, UINT32_MAX, &after)) {
                say("--after %s is not a number of launches", optarg);
                return EXIT_TOOL;
            }
            r.first = after + 1;
            r.last = 0;
            break;
        case OPT_LAUNCH:
            if (!parse_launches(optarg, &r.first, &r.last))
                return EXIT_TOOL;
            break;
        case OPT_URL:
            if (strncmp(optarg, "net://", 6) && strncmp(optarg, "net6://", 7) && strncmp(optarg, "tcp://", 6) && strncmp(optarg, "tcp6://", 7)) {
                say("--url %s is not of the form net://HOST[:PORT:PORT][/FOLDER]", optarg);
                return EXIT_TOOL;
            }
            r.url = optarg;
            break;
        case OPT_DUMP:
            r.dump = true;
            r.kernels = optarg;
            if (optarg && !is_regex("dump-kernels", optarg))
                return EXIT_TOOL;
            break;
        case OPT_LIMIT:
            if (!parse_number(optarg, 1000000000, &r.dump_limit) || !r.dump_limit) {
                say("--dump-limit %s is not a number from 1", optarg);
                return EXIT_TOOL;
            }
            break;
        default:
            return line.status;
        }
    }
    if (optind >= argc)
        return cw_usage_error(&record_command, "no program given");
    if (r.url && r.max_size)
        return cw_usage_error(&record_command, "--max-size goes with a trace on this machine, not with --url");
    if (r.flight && !choose_flight(&r))
        return EXIT_TOOL;
    r.command = argv + optind;
    char why[PATH_MAX + 100];
    if (!driver_choose(&r.driver, why, sizeof why)) {
        say("%s", why);
        return EXIT_TOOL;
    }
    r.layer = find_library("trace/libcuda.so.1");
    if (!r.layer) {
        say("the trace layer lib/cudaway/trace/libcuda.so.1 is missing beside this program; the installation is damaged");
        return EXIT_TOOL;
    }
    int code = run(&r);
    driver_finish(&r.driver);
    free(r.layer);
    return code;
}

const struct cw_program record_command = {
    .name = "record",
    .parent = &trace_program,
    .summary = "run a program and record its CUDA calls",
    .operands = "[--] PROGRAM [ARGUMENTS]",
    .options = (const struct cw_option[]){
        { 'o', "output", "DIR", "where the recording goes (default cudaway-trace-PROGRAM-TIME)", "DIR" },
        DRIVER_OPTION_DEVICE(OPT_DEVICE),
        DRIVER_OPTION_LIBRARY(OPT_LIBRARY, "below the tracer"),
        { OPT_DEVICE_TIME, "device-time", NULL, "when the device ran, also of NVIDIA's driver: by a timing event before and behind each operation (CUDAway's driver tells it in any case)" },
        { OPT_FUNCTION, "function", "REGEX", "only calls of functions whose name matches" },
        { OPT_KERNEL, "kernel", "REGEX", "only launches of kernels whose name matches" },
        { OPT_LAUNCH, "launch", "N[..[M]]", "of each process only the calls from its launch N, counted from 1, to its launch M" },
        { OPT_AFTER, "after", "N", "of each process only the calls from behind its launch N on" },
        { OPT_MAX_SIZE, "max-size", "SIZE", "end the recording when the folder has this size (64M, 2G); the program goes on" },
        { OPT_FLIGHT, "flight-recorder", "SIZE", "keep the last calls in SIZE of shared memory, and write them only when a call fails, the program fails, or `cudaway-trace snapshot` asks" },
        { OPT_URL, "url", "URL", "send the trace to an lttng-relayd: net://HOST" },
        { OPT_DUMP, "dump-kernels", "[=REGEX]", "also write a kernel dump of each launch (whose kernel's name matches); with --flight-recorder of those that fail" },
        { OPT_LIMIT, "dump-limit", "N", "at most N kernel dumps (default 100; with --flight-recorder 8)" },
        { 'q', "quiet", NULL, "do not say which driver is recorded and where the recording is" },
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "of the program", "it ran; 128+N if signal N ended it" }, { "125", "recording failed before it was started" },
                                       { "126", "the program cannot be executed" }, { "127", "it is not found" }, { 0 } },
    .complete = "PROGRAM",
    .run = record,
    .usage_status = EXIT_TOOL,
};
