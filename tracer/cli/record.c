/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace record: start the daemon, run the application under the trace layer, leave a folder with the trace and
 * its manifest. The application's standard streams, exit status and signals are its own; this program prints only
 * warnings and, at the end, where the recording is. */
#define _GNU_SOURCE
#include "impl/base/buf.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/version.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <regex.h>
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
#define BALLAST ((off_t)8 << 20)
#define POLL_NS 20000000      /* interval between checks of the disk */

struct record {
    const char *dir_option, *kernels, *device, *library;
    bool        dump, quiet, device_time;
    uint64_t    dump_limit;
    char      **command;
    char       *dir, *layer;      /* absolute */
    char       *found;            /* the system's driver, which `library` names then; NULL: asked for otherwise, or there is none */
    uint64_t    subbuf_size, reserve;   /* reserve: bytes kept free on the disk for the contents of the buffers */
    int64_t     started, ended;
    pid_t       app;
    int         status;           /* as waitpid gives it */
    bool        done, truncated;
    const char *note;
    struct lttng lttng;
};

static int64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t
disk_free(const char *dir)
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
    uint64_t each = SUBBUFS * (uint64_t)(cpus > 0 ? cpus : 1);
    uint64_t memory = disk_free("/dev/shm") / 8 / each, disk = disk_free(r->dir) / 8 / each;
    r->subbuf_size = 32768;
    while (r->subbuf_size < 524288 && r->subbuf_size * 2 <= memory && r->subbuf_size * 2 <= disk)
        r->subbuf_size *= 2;
    r->reserve = r->subbuf_size * each + (2u << 20);
}

/* A file that is deleted when the disk is nearly full, so that the buffers, the trace's metadata and the manifest can be
 * written even if another program fills the disk. */
static void
ballast(const struct record *r, bool keep)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.reserve", r->dir);
    if (!keep) {
        unlink(path);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (posix_fallocate(fd, 0, BALLAST))
        unlink(path);
    close(fd);
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
    uint64_t left = disk_free(r->dir), need = 2 * r->reserve + BALLAST;
    if (left < need) {
        say("%s: the disk is full (%llu KiB are free, a recording needs at least %llu KiB)", r->dir,
            (unsigned long long)left / 1024, (unsigned long long)need / 1024);
        rmdir(r->dir);
        return false;
    }
    ballast(r, true);
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

/* docs/tracing.md has the format; add a row to its version table when this changes. */
static bool
write_manifest(struct record *r)
{
    struct cw_buf b;
    struct utsname u = { 0 };
    char time_text[40], path[PATH_MAX], *cwd = getcwd(NULL, 0);
    uname(&u);
    cw_buf_init(&b);
    cw_buf_puts(&b, "{\n  \"format\": \"cudaway-trace\",\n  \"version\": 1,\n");
    json_pair(&b, "cudaway", cw_version());
    json_pair(&b, "state", !r->done ? "recording" : r->truncated ? "truncated" : "complete");
    json_pair(&b, "note", r->note);
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
    json_pair(&b, "device", r->device ? r->device : cw_env_get(CW_ENV_DEVICE));
    json_pair(&b, "library", r->library ? r->library : cw_env_get(CW_ENV_CUDA_LIBRARY));
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
    cw_buf_printf(&b, "  \"trace\": \"trace\",\n  \"dumps\": %s\n}\n", r->dump ? "\"dumps\"" : "null");
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

static bool
set_environment(struct record *r)
{
    char path[PATH_MAX], number[32];
    char *own = strndup(r->layer, (size_t)(strrchr(r->layer, '/') - r->layer)), *layer = NULL;
    snprintf(path, sizeof path, "%s/layer", r->lttng.home);
    char *folder = own ? cw_folder_for_list(own, path) : NULL;
    bool ok = folder && asprintf(&layer, "%s%s", folder, strrchr(r->layer, '/')) > 0 && prepend("LD_LIBRARY_PATH", folder, ':') &&
              prepend("LD_PRELOAD", layer, ':');
    /* The audit module gives the tracer to a program that opens libcuda.so.1 by its full path. A program with NVIDIA's CUDA Runtime
     * inside uses ours over our driver; over NVIDIA's it keeps its own (docs/static-runtime.md). */
    char *audit = NULL;
    if (own && asprintf(&audit, "%s/../libcudaway-audit.so", own) > 0 && !access(audit, R_OK) && !strchr(audit, ':'))
        ok = ok && prepend("LD_AUDIT", audit, ':');
    if (r->library || cw_env_get(CW_ENV_CUDA_LIBRARY))
        ok = ok && !setenv("CUDAWAY_STATIC_RUNTIME", "off", 1);
    free(audit);
    free(own);
    free(folder);
    free(layer);
    snprintf(path, sizeof path, "%s/.lttng/lttng-ust-sock-8", r->lttng.home);
    ok = ok && !setenv("CUDAWAY_TRACE_SOCKET", path, 1) && !setenv("LTTNG_HOME", r->lttng.home, 1) &&
         !setenv("LTTNG_UST_ALLOW_BLOCKING", "1", 1) && !setenv("LTTNG_UST_REGISTER_TIMEOUT", "10000", 1);
    if (r->device)
        ok = ok && !setenv("CUDAWAY_DEVICE", r->device, 1);
    if (r->library)
        ok = ok && !setenv("CUDAWAY_CUDA_LIBRARY", r->library, 1);
    snprintf(path, sizeof path, "%s/modules", r->dir);
    ok = ok && !setenv("CUDAWAY_TRACE_MODULES", path, 1);
    if (r->device_time)
        ok = ok && !setenv("CUDAWAY_TRACE_DEVICE_TIME", "1", 1);
    if (r->dump) {
        snprintf(path, sizeof path, "%s/dumps", r->dir);
        snprintf(number, sizeof number, "%llu", (unsigned long long)r->dump_limit);
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
        sigprocmask(SIG_SETMASK, mask, NULL);
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

static void
stop_early(struct record *r, const char *note)
{
    say("%s; recording stops here, the program goes on", note);
    r->truncated = true;
    r->note = note;
}

/* Wait for the application, pass signals on, and watch the disk and the daemon. */
static void
supervise(struct record *r, const sigset_t *set)
{
    bool recording = true;
    for (;;) {
        siginfo_t info;
        int sig = sigtimedwait(set, &info, &(struct timespec){ .tv_nsec = POLL_NS });
        if (sig < 0 && errno == EAGAIN && recording && disk_free(r->dir) < r->reserve) {
            recording = false;
            ballast(r, false);
            stop_early(r, "the disk is nearly full");
            if (!lttng_stop(&r->lttng))
                say("the trace may end early");
        }
        if (sig < 0)
            continue;
        if (sig == SIGCHLD) {
            int status;
            if (r->lttng.pid && waitpid(r->lttng.pid, &status, WNOHANG) == r->lttng.pid) {
                r->lttng.pid = 0;
                recording = false;
                stop_early(r, "lttng-sessiond ended unexpectedly");
            }
            if (waitpid(r->app, &status, WNOHANG) == r->app) {
                r->status = status;
                r->ended = now();
                return;
            }
            continue;
        }
        /* Signals of the terminal reach the application directly: it is in the same process group. */
        if (info.si_code == SI_KERNEL && (sig == SIGINT || sig == SIGQUIT))
            continue;
        kill(r->app, sig);
    }
}

/* Whether any process left a trace. */
static bool
has_trace(const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/trace/ust/pid", dir);
    return access(path, R_OK) == 0 && !folder_is_empty(path);
}

static void
say_driver(const struct record *r)
{
    const char *device = r->device ? r->device : cw_env_get(CW_ENV_DEVICE), *library = r->library ? r->library : cw_env_get(CW_ENV_CUDA_LIBRARY);
    if (library)
        say("recording %s with the driver %s%s", r->command[0], library,
            r->found ? ", which it would find without us; --device takes CUDAway's" : "");
    else
        say("recording %s with CUDAway's driver, device %s", r->command[0], device ? device : "auto");
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
    if (!make_folder(r))
        goto finish;
    snprintf(path, sizeof path, "%s/trace", r->dir);
    r->started = now();
    if (!lttng_start(&r->lttng) || !lttng_session(&r->lttng, path, r->subbuf_size, SUBBUFS))
        goto fail;
    if (r->dump) {
        snprintf(path, sizeof path, "%s/dumps", r->dir);
        if (cw_mkdirs(path, 0700) != CW_OK) {
            say("cannot make the folder %s: %s", path, strerror(errno));
            goto fail;
        }
    }
    snprintf(path, sizeof path, "%s/modules", r->dir);
    if (mkdir(path, 0777)) {
        say("cannot make the folder %s: %s", path, strerror(errno));
        goto fail;
    }
    if (!write_manifest(r))
        goto fail;
    code = spawn(r, &old);
    if (code)
        goto fail;
    if (!r->quiet)
        say_driver(r);
    write_manifest(r);
    supervise(r, &set);
    code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : 128 + WTERMSIG(r->status);
    ballast(r, false);
    if (!lttng_stop(&r->lttng))
        r->truncated = true, r->note = "the trace could not be closed in order";
    r->done = true;
    lttng_finish(&r->lttng);
    write_manifest(r);
    if (WIFSIGNALED(r->status))
        say("%s was ended by signal %d (%s)", r->command[0], WTERMSIG(r->status), strsignal(WTERMSIG(r->status)));
    if (!has_trace(r->dir))
        say("%s made no CUDA call that could be recorded (no use of libcuda.so.1, or it was loaded by its full path)",
            r->command[0]);
    else if (!r->quiet)
        say("the recording is in %s", r->dir);
    goto finish;
fail:
    lttng_finish(&r->lttng);
    if (r->dir) {          /* nothing was recorded: leave nothing */
        ballast(r, false);
        snprintf(path, sizeof path, "%s/trace", r->dir);
        remove_tree(path);
        snprintf(path, sizeof path, "%s/dumps", r->dir);
        rmdir(path);
        snprintf(path, sizeof path, "%s/modules", r->dir);
        rmdir(path);
        snprintf(path, sizeof path, "%s/manifest.json", r->dir);
        unlink(path);
        rmdir(r->dir);
    }
finish:
    lttng_finish(&r->lttng);
    free(r->dir);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return code;
}

enum { OPT_DEVICE = 256, OPT_LIBRARY, OPT_DUMP, OPT_LIMIT, OPT_DEVICE_TIME };

static int
record(int argc, char **argv)
{
    struct record r = { .dump_limit = 100 };
    regex_t re;
    int c;
    struct cw_command_line line = { &record_command, argc, argv };
    while ((c = cw_next_option(&line)) != CW_OPTIONS_END) {
        switch (c) {
        case 'o': r.dir_option = optarg; break;
        case OPT_DEVICE: r.device = optarg; break;
        case OPT_LIBRARY: r.library = optarg; break;
        case 'q': r.quiet = true; break;
        case OPT_DEVICE_TIME: r.device_time = true; break;
        case OPT_DUMP:
            r.dump = true;
            r.kernels = optarg;
            if (optarg && regcomp(&re, optarg, REG_EXTENDED | REG_NOSUB)) {
                say("--dump-kernels=%s is not a regular expression", optarg);
                return EXIT_TOOL;
            }
            if (optarg)
                regfree(&re);
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
    r.command = argv + optind;
    if (r.library && access(r.library, R_OK)) {
        say("--library %s: %s", r.library, strerror(errno));
        return EXIT_TOOL;
    }
    r.layer = find_library("trace/libcuda.so.1");
    if (!r.layer) {
        say("the trace layer lib/cudaway/trace/libcuda.so.1 is missing beside this program; the installation is damaged");
        return EXIT_TOOL;
    }
    /* The driver that the program would have found, unless the user says otherwise. */
    if (!r.device && !r.library && !cw_env_get(CW_ENV_DEVICE) && !cw_env_get(CW_ENV_CUDA_LIBRARY))
        r.library = r.found = driver_of_system();
    int code = run(&r);
    free(r.found);
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
        { OPT_DEVICE, "device", "DEVICE", "CUDAway's driver with this device: sets CUDAWAY_DEVICE", "auto host host:O0 hip cuda gfxemu:gfx1100 gfxemu:gfx90a" },
        { OPT_LIBRARY, "library", "PATH", "the CUDA driver below the tracer: sets CUDAWAY_CUDA_LIBRARY; without both, the one that the program would find, else CUDAway's", "FILE" },
        { OPT_DEVICE_TIME, "device-time", NULL, "when the device ran, also of NVIDIA's driver: by a timing event before and behind each operation (CUDAway's driver tells it in any case)" },
        { OPT_DUMP, "dump-kernels", "[=REGEX]", "also write a kernel dump of each launch (whose kernel's name matches)" },
        { OPT_LIMIT, "dump-limit", "N", "at most N kernel dumps (default 100)" },
        { 'q', "quiet", NULL, "do not say which driver is recorded and where the recording is" },
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "of the program", "it ran; 128+N if signal N ended it" }, { "125", "recording failed before it was started" },
                                       { "126", "the program cannot be executed" }, { "127", "it is not found" }, { 0 } },
    .complete = "PROGRAM",
    .run = record,
    .usage_status = EXIT_TOOL,
};
