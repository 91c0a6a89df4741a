/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay: run the launch of a kernel dump again, alone. Exit status: 0 it ran (and the results are the recorded ones), 1
 * the results differ, 2 it could not be done, 3 nothing explains a difference (--explain); nothing else. */
#define _GNU_SOURCE
#include "impl/base/children.h"
#include "impl/base/confine.h"
#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/program.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "impl/base/version.h"
#include "replay/bounds.h"
#include "replay/check.h"
#include "replay/compare.h"
#include "replay/explain.h"
#include "replay/locate.h"
#include "replay/many.h"
#include "replay/picture.h"
#include "replay/reduce.h"
#include "replay/relay.h"
#include "replay/replay.h"
#include "replay/reproducer.h"
#include "replay/runner.h"
#include "replay/session.h"
#include "replay/step_reader.h"
#include "replay/tar.h"
#include "replay/tolerance.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 };
#define ATTEMPTS 4u
#define EXPLAIN_RUNS 400u
#define REDUCE_SECONDS 600u
#define RECORD_MIB 64u
#define MOST_TASKS 4096u

struct options {
    const char *on, *output, *file, *where, *reproducer, *against, *against_module, *tolerance, *html, *source;
    bool check, info, serve, locate, explain, reduce, step, json, trust, results, picture, bounds, one;
    struct cwd_tolerances *tolerances;      /* owned by main */
    const char *confined;                   /* the folder for temporary files of a confined process */
    uint32_t repeat, ulp, attempt, seconds, record_size, owner;
    unsigned checks;                        /* enum cwc_what */
    const char *first[CWD_FIRST];
    char **given;                           /* the options as they were understood, up to NULL, for processes that this one executes (remember) */
};

enum { ON = 256, CHECK, INFO, REPEAT, ULP, SERVE, ATTEMPT, LOCATE, AGAINST, MODULE, WHERE, EXPLAIN, REPRODUCER, JSON, MEMCHECK, RACECHECK, INITCHECK, SYNCCHECK, REDUCE, SECONDS, TRUST, CONFINED, TOLERANCE, RESULTS, HTML, PICTURE, STEP, RECORD_SIZE, SOURCE, BOUNDS, FIRST, ONE, OWNER, RUNNER };
static const struct cw_program program = {
    .name = "cudaway-replay",
    .summary = "run the kernel launch of a dump again",
    .operands = "FILE...",
    .description = "Runs the kernel launch that FILE, a kernel dump, holds.",
    .options = (const struct cw_option[]){
        { ON, "on", "DEVICE", "where: a value of CUDAWAY_DEVICE (host, host:O0, hip, ...), or cuda-native for the module untranslated on the real CUDA driver, "
          "cuda-native:O0 without its compiler's optimiser, which fuses mul and add", "host host:O0 host:checked hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { CHECK, "check", NULL, "compare with the recorded results" },
        { ULP, "ulp", "N", "with --check: floats may differ by N units in the last place (default 0: every bit counts)" },
        { TOLERANCE, "tolerance", "FILE", "with --check: what may differ, by kernel and buffer, a line each: KERNEL BUFFER and absolute=X, relative=X or ulp=N", "FILE" },
        { BOUNDS, "bounds", NULL, "with --check: floats may be as far apart as the roundings and approximate functions that they went through allow for" },
        { REPEAT, "repeat", "N", "run N times more and print the times from launch to completion" },
        { INFO, "info", NULL, "print what the dump holds, and run nothing" },
        { LOCATE, "locate", NULL, "run on two devices, and name the first element that differs, the thread that wrote it, and its first instruction whose result differs" },
        { REDUCE, "reduce", NULL, "leave out blocks, threads, instructions, declarations, ends of buffers and contents of memory as long as the results on two devices still differ, and write what is "
          "left as a test in PTX to --output, as a C program to --reproducer, or both" },
        { SECONDS, "seconds", "N", "with --reduce and --explain: stop after N seconds (default of --reduce 600)" },
        { AGAINST, "against", "DEVICE", "with --locate and --reduce: what --on is compared with, another device; without it and --against-module, with the recorded results, and "
          "only the thread is named", "host host:O0 host:checked hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { MODULE, "against-module", "FILE", "with --locate and --reduce: other PTX than the recorded module", "FILE" },
        { EXPLAIN, "explain", NULL, "say why the results differ from the recorded ones, by running variants: other products and sums fused, other rules for floats, "
          "another order of threads, memory that nobody wrote" },
        { MEMCHECK, "memcheck", NULL, "look for accesses to memory out of bounds and misaligned" },
        { RACECHECK, "racecheck", NULL, "look for races in shared and in global memory" },
        { INITCHECK, "initcheck", NULL, "look for reads of shared and local memory and registers that nothing wrote" },
        { SYNCCHECK, "synccheck", NULL, "look for divergent barriers and wrong member masks" },
        { STEP, "step", NULL, "look at what each thread does, forwards and backwards: reads commands like a debugger's from standard input (`help` lists them)" },
        { RECORD_SIZE, "record-size", "MIB", "with --step: memory on the device for the record of a block, a warp or a thread (default 64)" },
        { SOURCE, "source", "DIR", "with --step: the folder of the source files that .loc names, which may be read then", "DIR" },
        { REPRODUCER, "reproducer", "FILE.c", "write the launch as a C program over the driver API, which ends with 0 where the results are the recorded ones", "FILE" },
        { JSON, "json", NULL, "of several dumps or a folder, and of --step: JSON instead of text" },
        { HTML, "html", "FILE", "with --check: write a page that shows where the results differ: heat maps, histograms, the worst elements with their threads", "FILE" },
        { 'o', "output", "FILE", "write a dump with the results of this run", "FILE" },
        { TRUST, "trust", NULL, "run it with all your rights; without this it cannot read your files, write any but --output, or reach the network or other processes" },
        { SERVE, "serve" },                 /* internal: cudaway-diff, CUDAWAY_CHECK */
        { OWNER, "owner", "FD" },           /* internal: of --serve, see subject.c */
        { ATTEMPT, "attempt", "N" },        /* internal: see try_again */
        { WHERE, "where", "FILE" },         /* internal: --locate */
        { RESULTS, "results" },             /* internal: of many dumps; differences as JSON, a line each */
        { PICTURE, "picture" },             /* internal: of --html */
        { FIRST, "first", "VARIANT" },      /* internal: cudaway-diff; of --explain */
        { CONFINED, "confined", "DIR" },    /* internal: see try_again */
        { RUNNER, "runner", "FD" },         /* internal: the same */
        { ONE, "one" },                     /* internal: of many dumps, one, which is no folder */
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "0", "the launch ran (--check: with the recorded results)" }, { "1", "results differ, or a check found something" }, { "2", "trouble" },
                                       { "3", "(--explain) results differ and nothing explains it: a translation fault" }, { 0 } },
    .complete = "FILE",
    .see_also = "cudaway(1), cudaway-trace(1), cudaway-diff(1), cudaway.conf(5)",
    .usage_status = TROUBLE,
};

static int __attribute__((format(printf, 1, 2)))
trouble(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("cudaway-replay: ", stderr);
    cw_text_vline(stderr, fmt, ap);
    va_end(ap);
    return TROUBLE;
}

/* Not as they were typed, which may be abbreviated or behind the dump. --json and --html are the business of the process that they were given to, --attempt,
 * --confined and --runner are given anew. */
static bool
remember(struct options *o, int id, const char *value)
{
    const struct cw_option *x = program.options;
    size_t n = 0;
    if (id == JSON || id == HTML || id == ATTEMPT || id == CONFINED || id == RUNNER)
        return true;
    while (x->id && x->id != id)
        x++;
    while (o->given[n])
        n++;
    return !x->id || asprintf(&o->given[n], "--%s%s%s", x->name, x->value ? "=" : "", x->value ? value : "") > 0;
}

/* Start over with another layout of the address space: first the fixed one, then random ones. */
static void
try_again(const struct options *o, char **argv)
{
    int persona = personality(0xffffffff);
    if (persona < 0)
        return;
    bool fix = o->attempt == 0;
    personality(fix ? (unsigned long)persona | ADDR_NO_RANDOMIZE : (unsigned long)persona & ~(unsigned long)ADDR_NO_RANDOMIZE);
    int fd = cwl_runner_descriptor();
    char *option, *runner = NULL, *confined = NULL;
    if (asprintf(&option, "--attempt=%u", o->attempt + 1) < 0 || (fd >= 0 && asprintf(&runner, "--runner=%d", fd) < 0) ||
        (o->confined && asprintf(&confined, "--confined=%s", o->confined) < 0))
        return;
    const char *const first[] = { option, runner ? runner : confined, runner ? confined : NULL, NULL };
    char **args = cwd_arguments(argv[0], first, o->given, o->file);
    fflush(NULL);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, 0);
    if (args)
        execv("/proc/self/exe", args);
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void
print_times(const struct cwd_outcome *o)
{
    uint32_t n = o->nms;
    qsort(o->ms, n, sizeof *o->ms, by_value);
    double median = n % 2 ? o->ms[n / 2] : (o->ms[n / 2 - 1] + o->ms[n / 2]) / 2;
    cw_text_print(stdout, "%u runs: min %.3f ms, median %.3f ms, max %.3f ms\n", n, o->ms[0], median, o->ms[n - 1]);
}

struct report {
    const struct options *o;
    struct cwd_picture picture;
    bool allowed;                           /* something differs and is tolerated, or within bounds */
};

static void
print_difference(void *user, const struct cwd_difference *x)
{
    struct report *r = user;
    struct cw_buf b;
    cw_buf_init(&b);
    r->allowed |= x->tolerated || x->bounded;
    if (r->o->picture)
        cwd_picture_add(&r->picture, x);
    if (r->o->results) {
        cwd_difference_json(x, &b);
        cw_buf_puts(&b, "\n");
    } else {
        cwd_difference_print(x, "recorded", "replayed", &b);
    }
    cw_text_print(stdout, "%s", b.data ? b.data : "out of memory\n");
    cw_buf_finish(&b);
}

/* The dump with this run's results instead of the recorded ones. */
static cw_result
write_outcome(const struct cwd_session *s, struct cwd_dump *d, struct cwd_outcome *o, const char *path, unsigned flags, struct cwd_error *e)
{
    struct cwd_dump copy = *d;
    struct cwd_buffer *buffers = calloc(d->nbuffers + (size_t)1, sizeof *buffers);
    struct cwd_array *arrays = calloc(d->narrays + (size_t)1, sizeof *arrays);
    cw_result r = buffers && arrays ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < d->nbuffers && r == CW_OK; i++) {
        buffers[i] = d->buffers[i];
        buffers[i].after = o->buffers[i];
    }
    for (uint32_t i = 0; i < d->narrays && r == CW_OK; i++) {
        arrays[i] = d->arrays[i];
        arrays[i].after = o->arrays[i];
    }
    copy.buffers = buffers;
    copy.arrays = arrays;
    copy.device = s->device;
    copy.driver = s->driver;
    copy.compute_capability = s->compute_capability;
    copy.version = cw_version();
    if (r == CW_OK)
        r = cwd_write(&copy, path, flags, e);
    free(buffers);
    free(arrays);
    return r;
}

/* Addresses of objects, for --locate; a line each: kind, number, address or handle. */
static bool
write_where(const struct cwd_session *s, const struct cwd_dump *d, const struct cwd_outcome *o, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f, "capability %u 0\nsequential %u 0\n", s->compute_capability, s->sequential);
    for (uint32_t i = 0; i < d->nbuffers; i++)
        fprintf(f, "buffer %u %llx\n", i, (unsigned long long)o->address[i]);
    for (uint32_t i = 0; i < d->ntextures; i++)
        fprintf(f, "texture %u %llx\n", i, (unsigned long long)o->handle[i]);
    return !fclose(f);
}

static void
say_nothing(void *user, const struct cwd_difference *x)
{
}

/* Where there are none, a note says why. */
static void
find_bounds(const struct options *o, unsigned compute_capability, struct cw_progress *progress, struct cwd_bounds *b)
{
    char folder[PATH_MAX];
    struct cwl_side s = { .on = o->on, .folder = folder, .progress = progress };
    progress->done = 1;
    struct cwd_error e = { "" };
    snprintf(s.label, sizeof s.label, "%s", o->on ? o->on : "the default device");
    if (!cwl_folder(folder, sizeof folder, &e) || cwl_open(&s, o->file, &e) != CW_OK || cwl_parse(&s, compute_capability, &e) != CW_OK || cwd_bounds_run(&s, b, &e) != CW_OK)
        cw_text_line(stderr, "cudaway-replay: note: %s", e.text);
    cwl_close(&s);
    cw_temp_remove(folder);
}

/* What a kernel prints is not the report that another program reads: its lines could be the report's. */
static cw_result
run_launch(const struct options *o, struct cwd_session *s, const struct cwd_dump *d, unsigned flags, struct cwd_outcome *out, struct cwd_error *e)
{
    const bool apart = o->one || o->results;
    const int report = apart ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1, null = report < 0 ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(stdout);
    if (apart && (null < 0 || dup2(null, STDOUT_FILENO) < 0))
        return cwd_fail(e, CW_ERR_IO, "cannot put the kernel's output away: %s", strerror(errno));
    cw_result r = cwd_session_run(s, d, flags, o->repeat, out, e);
    if (apart) {
        fflush(stdout);
        if (dup2(report, STDOUT_FILENO) < 0)
            r = r == CW_OK ? CW_ERR_IO : r;
        close(report);
        close(null);
    }
    return r;
}

static int
replay(const struct options *o, char **argv)
{
    struct cwd_dump d;
    struct cwd_session s;
    struct cwd_outcome out;
    struct cwd_error e = { "" };
    struct cw_progress progress = { .what = "runs", .all = 3, .at_most = true };       /* this one, and two of --bounds */
    cw_progress_step(&progress, 0, CW_NO_COUNT);
    if (cwd_read(o->file, 0, 0, &d, &e) != CW_OK)
        return trouble("%s", e.text);
    if (o->check && !cwd_has_results(&d)) {
        cwd_finish(&d);
        return trouble("%s holds no results to compare with (the kernel failed when it was recorded)", o->file);
    }
    cw_result r = cwd_session_open(&s, o->on, &e);
    if (r == CW_OK) {
        if (o->where)
            cwd_session_enlarge_stack(&s);
        r = run_launch(o, &s, &d, o->attempt < ATTEMPTS ? 0 : CWD_RUN_MAY_MOVE, &out, &e);
        if (r == CW_ERR_NOT_FOUND && o->attempt < ATTEMPTS) {
            try_again(o, argv);
            r = run_launch(o, &s, &d, CWD_RUN_MAY_MOVE, &out, &e);
        }
    }
    if (r != CW_OK) {
        cwd_session_close(&s);
        cwd_finish(&d);
        return trouble("%s: %s", o->file, e.text);
    }
    for (char *line = out.notes.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end)
            break;
        cw_text_line(stderr, "cudaway-replay: note: %.*s", (int)(end - line), line);
    }
    int status = SAME;
    if (out.nms)
        print_times(&out);
    if (o->check) {
        if (o->results)
            cwd_print_launch(&d);
        struct report report = { o, { o->file, o->on, s.compute_capability, &d, &out } };
        struct cwd_bounds bounds = { 0 };
        if (o->bounds && cwd_compare_by(&d, &out, o->tolerances, NULL, say_nothing, NULL))
            find_bounds(o, s.compute_capability, &progress, &bounds);
        uint32_t n = cwd_compare_by(&d, &out, o->tolerances, &bounds, print_difference, &report);
        cwd_bounds_finish(&bounds);
        if (report.picture.out.size)
            cwd_picture_print(&report.picture);
        status = n ? DIFFERENT : SAME;
        cw_text_print(stdout, "%s on %s: %s\n", d.kernel, s.device, n ? "the results differ from the recorded ones" :
                      report.allowed ? "the results differ from the recorded ones no more than is allowed" : "the results are the recorded ones");
    } else if (!o->repeat) {
        cw_text_print(stdout, "%s ran on %s\n", d.kernel, s.device);
    }
    if (o->output && write_outcome(&s, &d, &out, o->output, o->where ? CWD_STORED : 0, &e) != CW_OK)
        status = trouble("%s", e.text);
    if (o->where && !write_where(&s, &d, &out, o->where))
        status = trouble("cannot write %s: %s", o->where, strerror(errno));
    cwd_outcome_finish(&out);
    cwd_session_close(&s);
    cwd_finish(&d);
    return status;
}

/* ---- confinement (confine.h) ------------------------------------------------------------------------------------------------ */

/* Files that the child writes in place of those that were asked for. */
#define OUTPUT "output"
#define PROGRAM "reproducer.c"

static bool
copy(int from, int to)
{
    char data[1 << 16];
    ssize_t n;
    while ((n = read(from, data, sizeof data)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && !cw_write_all(to, data, (size_t)n))
            return false;
    return n == 0;
}

/* What the child wrote as `name` becomes the file that was asked for. What the child left there is not trusted: a link is not followed. */
static bool
move_output(const char *folder, const char *name, const char *to, unsigned mode)
{
    char path[PATH_MAX + 16];
    struct cw_new_file out;
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int from = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0 && errno == ENOENT)
        return true;
    bool ok = from >= 0 && !fstat(from, &st) && S_ISREG(st.st_mode) && cw_new_file_begin(&out, to, mode) == CW_OK;
    if (ok) {
        ok = copy(from, out.fd);
        ok = cw_new_file_finish(&out, ok) == CW_OK && ok;
    }
    int saved = errno;
    if (from >= 0)
        close(from);
    errno = saved;
    return ok;
}

/* Does this process itself open a device? */
static bool
runs_here(const struct options *o)
{
    return !o->locate && !o->reduce && !o->checks && !o->step && !o->explain && !o->info;
}

/* Do processes that the runner starts? */
static bool
runs_elsewhere(const struct options *o)
{
    return o->locate || o->reduce || o->checks || o->step || o->explain || o->bounds || o->picture;
}

/* In the child: confine it and go on. */
static int
confine(struct options *o, const char *folder)
{
    const char *const read[] = { o->file, o->against_module ? o->against_module : "/dev/null", o->tolerance ? o->tolerance : "/dev/null", o->source ? o->source : "/dev/null", NULL };
    struct cw_confinement c = { .read = read, .temp = folder };
    struct cw_confine_error e = { "" };
    char cache[PATH_MAX + 8];
    snprintf(cache, sizeof cache, "%s/cache", folder);
    /* A kernel's code could plant an entry in the usual cache, which other processes execute. Kernels need no further process to be confined in, and there can be none. */
    if (setenv("TMPDIR", folder, 1) || setenv("CUDAWAY_CACHE_DIR", cache, 1) || setenv("CUDAWAY_ISOLATE", "0", 1))
        return trouble("out of memory");
    if (runs_elsewhere(o)) {
        struct cw_confinement runs = c, other = c;
        cwl_confine_for(o->on, &runs);
        cwl_confine_for(o->against ? o->against : o->on, &other);
        runs.nvidia = runs.nvidia || other.nvidia;
        runs.amd = runs.amd || other.amd;
        if (!cwl_runner_start(&runs))
            return trouble("%s: %s", o->file, strerror(errno));
    }
    if (runs_here(o))
        cwl_confine_for(o->on, &c);
    if (cw_confine(&c, &e) != CW_OK)
        return trouble("%s: %s; --trust runs it with all your rights", o->file, e.text);
    o->confined = folder;
    return -1;
}

/* The reader of the output went away, as in "cudaway-replay ... | head". This process ends as it would have without a child: of the signal, with no message.
 * The temporary folder is gone by then. */
static void
end_of_pipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

/* A child's exit status as ours. */
static int
status_of(const char *what, int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WTERMSIG(status) == SIGPIPE)
        end_of_pipe();
    return trouble("%s: ended by signal %d (%s)", what, WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* Signals that end or stop this process, and SIGCHLD; not those that it was started to ignore. */
static void
block_ends(bool step, sigset_t *set, sigset_t *was)
{
    static const int ends[] = { SIGTERM, SIGHUP, SIGINT, SIGTSTP };
    struct sigaction a;
    signal(SIGCHLD, SIG_DFL);           /* an ignored one, inherited, would lose the exit status */
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (unsigned i = 0; i < (step ? 2 : sizeof ends / sizeof *ends); i++)
        if (!sigaction(ends[i], NULL, &a) && a.sa_handler != SIG_IGN)
            sigaddset(set, ends[i]);
    sigprocmask(SIG_BLOCK, set, was);
}

/* One of them has come. 0: go on. A terminal stops this process alone: the child has a group of its own. */
static int
take_signal(pid_t child, int signals)
{
    struct signalfd_siginfo s;
    sigset_t stop;
    if (read(signals, &s, sizeof s) != (ssize_t)sizeof s || s.ssi_signo == SIGCHLD)
        return 0;
    if (s.ssi_signo != SIGTSTP)
        return (int)s.ssi_signo;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    kill(-child, SIGSTOP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);      /* here it stops; not in an orphaned process group, which nobody could continue */
    sigprocmask(SIG_BLOCK, &stop, NULL);
    kill(-child, SIGCONT);
    return 0;
}

/* How many processes and threads a confined replay has at most: no limit of the kernel is for those of one tree of processes, and none is for root's. */
struct crowd {
    unsigned most, system;              /* of the whole system, at its least */
};

static struct crowd
crowd_begin(void)
{
    struct rlimit user;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct crowd c = { MOST_TASKS + 4 * (processors > 0 ? (unsigned)processors : 1), cw_system_tasks() };
    if (!getrlimit(RLIMIT_NPROC, &user) && user.rlim_cur < c.most)
        c.most = (unsigned)user.rlim_cur;
    return c;
}

/* They are counted where the system has many more than before. */
static bool
crowded(struct crowd *c)
{
    const unsigned system = cw_system_tasks();
    c->system = system < c->system ? system : c->system;
    return system - c->system > c->most / 2 && cw_children_tasks() > c->most;
}

enum { CROWDED = -1 };
/* 0: the child ended, and is not reaped. Else the signal that is to end this process, or CROWDED. */
static int
wait_for(pid_t child, int signals, struct cwd_relay *relay, struct crowd *crowd)
{
    siginfo_t info = { .si_pid = 0 };
    int sig = 0;
    while (!sig && !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid) {
        if (!cwd_relay_wait(relay, signals))
            (void)poll(&(struct pollfd){ .fd = signals, .events = POLLIN }, 1, CWD_RELAY_MS);
        sig = take_signal(child, signals);
        if (!sig && crowded(crowd))
            sig = CROWDED;
    }
    return sig;
}

/* In the child. */
static int
enter_confinement(struct options *o, pid_t parent, struct cwd_relay *relay, const sigset_t *was, const char *folder)
{
    cw_child_dies_with(parent);
    if (!o->step && ((setpgid(0, 0) && errno != EACCES) || !cwd_relay_in_child(relay)))
        return trouble("%s: cannot take its descriptors and its group away: %s", o->file, strerror(errno));
    sigprocmask(SIG_SETMASK, was, NULL);
    return confine(o, folder);
}

/* -1: this is the child. Else its exit status, in the parent, which removes the folder when no process is left that could write there. --step talks with
 * whoever sits at the terminal, and has its descriptors and its group. */
static int
in_confined_child(struct options *o, char *folder, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    int status = 0, signals;
    sigset_t set, was;
    struct cwd_relay relay = { .count = 0 };
    struct crowd crowd = crowd_begin();
    tmp = tmp && *tmp ? tmp : "/tmp";
    if (!cw_temp_make(tmp, "replay", folder, size))
        return trouble("cannot make a temporary folder in %s: %s", tmp, strerror(errno));
    fflush(NULL);
    block_ends(o->step, &set, &was);
    if ((signals = cw_fd_keep(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK))) < 0 || !cw_children_adopt() || (!o->step && !cwd_relay_open(&relay))) {
        const char *why = strerror(errno);
        cw_temp_remove(folder);
        return trouble("cannot watch another process: %s", why);
    }
    pid_t parent = getpid(), child = fork();
    if (!child)
        return enter_confinement(o, parent, &relay, &was, folder);
    cwd_relay_in_parent(&relay);
    if (o->step)
        signal(SIGINT, SIG_IGN);        /* the child's own matter */
    else if (child > 0)
        (void)setpgid(child, child);
    int ended = child > 0 ? wait_for(child, signals, &relay, &crowd) : 0;
    int result = child < 0 ? trouble("fork: %s", strerror(errno)) : ended == CROWDED ? TROUBLE : -1;
    /* All at once: processes that fork endlessly are not found one by one. */
    if (child > 0 && (!o->step || ended == CROWDED))
        kill(o->step ? child : -child, SIGKILL);
    if (ended == CROWDED) {
        trouble("%s: it had more than %u processes and threads, and was ended", o->file, crowd.most);
        ended = 0;
    }
    while (child > 0 && !ended && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!cw_children_end())
        return trouble("%s: processes that it started do not end; what it wrote is in %s", o->file, folder);
    while (!ended && cwd_relay_wait(&relay, signals))
        ended = take_signal(child, signals);
    cwd_relay_close(&relay);
    if (child > 0 && !ended && o->output && !move_output(folder, OUTPUT, o->output, o->reduce ? 0644 : 0600))
        result = trouble("cannot write %s: %s", o->output, strerror(errno));
    if (child > 0 && !ended && o->reproducer && !move_output(folder, PROGRAM, o->reproducer, 0644))
        result = trouble("cannot write %s: %s", o->reproducer, strerror(errno));
    cw_temp_remove(folder);
    sigprocmask(SIG_SETMASK, &was, NULL);
    if (ended)
        raise(ended);
    if (relay.error == EPIPE && signal(SIGPIPE, SIG_DFL) != SIG_IGN)
        end_of_pipe();
    if (relay.error)
        return trouble("cannot write the output");
    return result < 0 ? status_of(o->file, status) : result;
}

static bool
number(const char *s, uint32_t max, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (errno || *end || end == s || *s == '-' || v > max)
        return false;
    *out = (uint32_t)v;
    return true;
}

/* The dump "-": again with a file in its place. */
static int
from_input(const struct options *o, const char *self)
{
    char folder[PATH_MAX], path[PATH_MAX];
    const char *why;
    int status = 0;
    if (!cwd_take_input(folder, sizeof folder, path, sizeof path, &why)) {
        cw_temp_remove(folder);
        return trouble("standard input: %s", why);
    }
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        char **args = cwd_arguments(self, (const char *const[]){ NULL }, o->given, path);
        if (args)
            execv("/proc/self/exe", args);
        _exit(TROUBLE);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    cw_temp_remove(folder);
    return pid > 0 ? status_of("standard input", status) : trouble("fork: %s", strerror(errno));
}

static int
run(struct options o, int argc, char **argv)
{
    struct cw_command_line line = { &program, argc, argv };
    uint32_t fd;
    for (int c; (c = cw_next_option(&line)) != CW_OPTIONS_END;) {
        if (!remember(&o, c, optarg))
            return trouble("out of memory");
        switch (c) {
        case ON:     o.on = optarg; break;
        case CHECK:  o.check = true; break;
        case INFO:   o.info = true; break;
        case SERVE:  o.serve = true; break;         /* internal: cudaway-diff */
        case LOCATE: o.locate = true; break;
        case MEMCHECK: o.checks |= CWC_MEMORY; break;
        case RACECHECK: o.checks |= CWC_RACES; break;
        case INITCHECK: o.checks |= CWC_UNINITIALISED; break;
        case SYNCCHECK: o.checks |= CWC_SYNC; break;
        case REDUCE: o.reduce = true; break;
        case SECONDS:
            if (!number(optarg, 1000000, &o.seconds) || !o.seconds)
                return trouble("--seconds %s is not a number from 1 to 1000000", optarg);
            break;
        case STEP:   o.step = true; break;
        case SOURCE: o.source = optarg; break;
        case RECORD_SIZE:
            if (!number(optarg, 4096, &o.record_size) || !o.record_size)
                return trouble("--record-size %s is not a number from 1 to 4096", optarg);
            break;
        case EXPLAIN: o.explain = true; break;
        case FIRST:                                 /* internal: of --explain */
            for (unsigned i = 0; i < CWD_FIRST; i++)
                if (!o.first[i]) {
                    o.first[i] = optarg;
                    break;
                }
            break;
        case JSON:   o.json = true; break;
        case TOLERANCE: o.tolerance = optarg; break;
        case HTML:   o.html = optarg; break;
        case PICTURE: o.picture = true; break;      /* internal: of --html */
        case BOUNDS: o.bounds = true; break;
        case RESULTS: o.results = true; break;      /* internal: of many dumps */
        case REPRODUCER: o.reproducer = optarg; break;
        case ONE:    o.one = true; break;           /* internal: of many dumps */
        case TRUST:  o.trust = true; break;
        case CONFINED: o.confined = optarg; break;  /* internal: see try_again */
        case AGAINST: o.against = optarg; break;
        case MODULE: o.against_module = optarg; break;
        case WHERE:  o.where = optarg; break;       /* internal: --locate */
        case OWNER:                                 /* internal: of --serve */
            if (!number(optarg, INT_MAX, &o.owner))
                return trouble("--owner %s is not a number", optarg);
            break;
        case RUNNER:                                /* internal: see try_again */
            if (!number(optarg, INT_MAX, &fd))
                return trouble("--runner %s is not a number", optarg);
            cwl_runner_inherited((int)fd);
            break;
        case 'o':    o.output = optarg; break;
        case REPEAT:
            if (!number(optarg, 1000000, &o.repeat) || !o.repeat)
                return trouble("--repeat %s is not a number from 1 to 1000000", optarg);
            break;
        case ULP:
            if (!number(optarg, INT32_MAX, &o.ulp))
                return trouble("--ulp %s is not a number", optarg);
            break;
        case ATTEMPT:                               /* internal: see try_again */
            if (!number(optarg, 100, &o.attempt))
                return trouble("--attempt %s is not a number", optarg);
            break;
        default:
            return line.status;
        }
    }
    struct cwd_error e = { "" };
    o.tolerances->otherwise.ulp = o.ulp;
    if (o.tolerance && cwd_tolerances_read(o.tolerance, o.tolerances, &e) != CW_OK)
        return trouble("%s", e.text);
    if (o.serve && optind == argc)
        return cwd_serve(o.on, o.tolerances, o.bounds, o.checks, o.owner ? (int)o.owner : -1);
    if (optind == argc)
        return cw_usage_error(&program, "no dump given");
    if (o.step && (optind + 1 != argc || cwd_is_folder(argv[optind]) || !strcmp(argv[optind], "-")))
        return cw_usage_error(&program, "--step takes one dump, a file");
    if (!o.step && (o.source || o.record_size))
        return cw_usage_error(&program, "--source and --record-size belong to --step");
    if ((o.tolerance || o.bounds) && !o.check)
        return cw_usage_error(&program, "--tolerance and --bounds belong to --check");
    if (o.html && !o.check)
        return cw_usage_error(&program, "--html belongs to --check");
    if (!o.one && ((o.json && !o.step) || o.html || optind + 1 != argc || cwd_is_folder(argv[optind]))) {
        const struct cwd_many m = { argv[0], o.given, argv + optind, o.json, o.check || o.explain, o.html };
        return o.output || o.reproducer ? cw_usage_error(&program, "--output and --reproducer take one dump") : cwd_many(&m);
    }
    if (!strcmp(argv[optind], "-"))
        return from_input(&o, argv[0]);
    o.file = argv[optind];
    if (!o.locate && !o.reduce && (o.against || o.against_module))
        return cw_usage_error(&program, "--against and --against-module belong to --locate and --reduce");
    if (o.seconds && !o.reduce && !o.explain)
        return cw_usage_error(&program, "--seconds belongs to --reduce and --explain");
    if (o.reduce && ((!o.output && !o.reproducer) || (!o.against && !o.against_module)))
        return cw_usage_error(&program, "--reduce needs --output FILE or --reproducer FILE.c, and --against DEVICE or --against-module FILE");
    char folder[PATH_MAX], output[PATH_MAX + 8], reproducer[PATH_MAX + 16];
    if (!o.trust && !o.confined && (!o.reproducer || o.reduce)) {       /* --reproducer alone runs nothing */
        int status = in_confined_child(&o, folder, sizeof folder);
        if (status >= 0)
            return status;
    }
    if (o.trust && runs_elsewhere(&o) && cwl_runner_descriptor() < 0 && !cwl_runner_start(NULL))
        return trouble("%s: %s", o.file, strerror(errno));
    const char *output_name = o.output, *reproducer_name = o.reproducer;
    if (o.confined && o.output) {
        snprintf(output, sizeof output, "%s/" OUTPUT, o.confined);
        o.output = output;
    }
    if (o.confined && o.reproducer) {
        snprintf(reproducer, sizeof reproducer, "%s/" PROGRAM, o.confined);
        o.reproducer = reproducer;
    }
    if (o.reduce) {
        const struct cwd_reduce x = { o.file, o.on, o.against ? o.against : o.on, o.against_module, o.output, output_name, o.reproducer, reproducer_name, o.ulp,
                                      o.seconds ? o.seconds : REDUCE_SECONDS };
        return cwd_reduce(&x);
    }
    if (o.locate) {
        const struct cwd_locate l = { o.file, o.on, o.against ? o.against : o.on, o.against_module, !o.against && !o.against_module, o.ulp };
        return cwd_locate(&l);
    }
    if (o.reproducer)
        return cwd_reproducer(o.file, o.reproducer);
    if (o.checks)
        return cwc_check(o.file, o.on, o.checks);
    if (o.step) {
        const struct cwd_step x = { o.file, o.on, o.source, (uint64_t)(o.record_size ? o.record_size : RECORD_MIB) << 20, o.json };
        return cwd_step(&x);
    }
    if (o.explain) {
        struct cwd_explain x = { .file = o.file, .on = o.on, .runs = EXPLAIN_RUNS, .seconds = o.seconds, .results = o.results };
        memcpy(x.first, o.first, sizeof x.first);
        return cwd_explain(&x);
    }
    return o.info ? cwd_info(o.file) : replay(&o, argv);
}

int
main(int argc, char **argv)
{
    struct cwd_tolerances tolerances = { 0 };
    struct options o = { .given = calloc((size_t)argc + 1, sizeof *o.given), .tolerances = &tolerances };       /* an option is at least one argument */
    int status = o.given ? run(o, argc, argv) : trouble("out of memory");
    for (size_t i = 0; o.given && o.given[i]; i++)
        free(o.given[i]);
    free(o.given);
    cwd_tolerances_finish(&tolerances);
    return status;
}
