/* SPDX-License-Identifier: Apache-2.0
 * cudaway-ptxtest: runs tests on a device. The tests run in a worker process, which reports the start and the result of each
 * test; a crash, a hang or a lost context costs one test, and another worker continues behind it. Exit status: 0 nothing
 * failed, 1 something did, 2 trouble. */
#define _GNU_SOURCE
#include "tools/ptxtest/ptxtest.h"

#include "impl/base/file.h"
#include "impl/base/program.h"
#include "impl/base/progress.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FINE = 0, FAILURES = 1, TROUBLE = 2 };
enum { WORKER_DONE = 0, WORKER_LOST = 3, WORKER_TROUBLE = 4 };
enum { MAX_FILES = 100000, MAX_REASONS = 64, MAX_DEPTH = 16 };

struct options {
    const char *on, *over, *label;
    bool record, overwrite, parse_only, verbose;
    uint32_t limit, timeout, filter_steps;
};

struct names {
    char **at;
    uint32_t count, capacity;
};

/* From the worker, at most PIPE_BUF bytes, so that it is written at once. */
struct message {
    enum { MSG_BEGIN, MSG_END, MSG_RECORDED } kind;
    uint32_t file, launch;
    enum pt_outcome outcome;
    uint32_t added;
    char test[PT_MAX_NAME + 1], reason[160];
};

struct totals {
    uint32_t passed, failed, todo, skipped, added;
    struct { char text[160]; uint32_t count; } reasons[MAX_REASONS];
    uint32_t nreasons;
    struct cw_progress progress;
};

static int __attribute__((format(printf, 1, 2)))
trouble(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("cudaway-ptxtest: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return TROUBLE;
}

/* ---- the files -------------------------------------------------------------------------------------------------------------- */

static bool
add_name(struct names *n, const char *path)
{
    if (n->count == n->capacity) {
        uint32_t cap = n->capacity ? n->capacity * 2 : 64;
        char **p = cap <= MAX_FILES ? realloc(n->at, cap * sizeof *p) : NULL;
        if (!p)
            return false;
        n->at = p;
        n->capacity = cap;
    }
    n->at[n->count] = strdup(path);
    return n->at[n->count++] != NULL;
}

static void
free_names(struct names *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        free(n->at[i]);
    free(n->at);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every .ptx file under `path`, or the file itself. */
static bool
collect(struct names *n, const char *path, int depth)
{
    struct stat st;
    if (stat(path, &st))
        return trouble("%s: %s", path, strerror(errno)), false;
    if (!S_ISDIR(st.st_mode))
        return add_name(n, path);
    DIR *dir = depth < MAX_DEPTH ? opendir(path) : NULL;
    if (!dir)
        return trouble("%s: %s", path, depth < MAX_DEPTH ? strerror(errno) : "too many folders in each other"), false;
    bool ok = true;
    uint32_t before = n->count;
    for (struct dirent *e; ok && (e = readdir(dir));) {
        char *child;
        size_t length = strlen(e->d_name);
        if (e->d_name[0] == '.')
            continue;
        if (asprintf(&child, "%s/%s", path, e->d_name) < 0) {
            ok = false;
            break;
        }
        bool is_dir = e->d_type == DT_DIR || (e->d_type == DT_UNKNOWN && !stat(child, &st) && S_ISDIR(st.st_mode));
        if (is_dir || (length > 4 && !strcmp(e->d_name + length - 4, ".ptx")))
            ok = collect(n, child, depth + 1);
        free(child);
    }
    closedir(dir);
    if (ok && !depth && n->count == before)
        return trouble("%s: no .ptx file is in this folder", path), false;
    return ok;
}

struct loaded {
    struct pt_file f;
    char *text, *values;
};

/* Read a file and its side file. False with messages on standard output. */
static bool
load(struct loaded *x, const char *path)
{
    size_t size = 0, values_size = 0;
    char *side = strdup(path), *dot = side ? strrchr(side, '.') : NULL;
    *x = (struct loaded){ 0 };
    cw_result r = cw_file_read(path, PT_MAX_TEXT, &x->text, &size);
    if (r != CW_OK) {
        printf("%s: error: cannot be read: %s\n", path, r == CW_ERR_LIMIT ? "too large" : strerror(errno));
        free(side);
        return false;
    }
    if (dot && !strcmp(dot, ".ptx")) {
        char *name = NULL;
        *dot = 0;
        if (asprintf(&name, "%s.values", side) >= 0 && cw_file_read(name, PT_MAX_BYTES, &x->values, &values_size) != CW_OK)
            x->values = NULL;
        free(name);
    }
    free(side);
    bool ok = pt_read(&x->f, path, x->text, size, x->values, values_size);
    if (!ok)
        fputs(x->f.messages.data ? x->f.messages.data : "out of memory\n", stdout);
    return ok;
}

static void
unload(struct loaded *x)
{
    pt_file_finish(&x->f);
    free(x->text);
    free(x->values);
}

/* ---- the worker ------------------------------------------------------------------------------------------------------------- */

static void
tell(int fd, const struct message *m)
{
    fflush(stdout);
    while (write(fd, m, sizeof *m) < 0 && errno == EINTR)
        ;
}

/* "580.159.04" */
static bool
driver_version(char *out, size_t size)
{
    char *text;
    size_t length;
    bool found = false;
    if (cw_file_read("/proc/driver/nvidia/version", 4096, &text, &length) != CW_OK)
        return false;
    for (char *p = text; (p = strpbrk(p, "0123456789")) && !found;) {
        size_t n = strspn(p, "0123456789.");
        found = n >= 6 && memchr(p, '.', n) && n < size;
        if (found)
            snprintf(out, size, "%.*s", (int)n, p);
        p += n;
    }
    free(text);
    return found;
}

static char *
make_label(const struct pt_runner *r, const struct options *o)
{
    char *label = NULL, version[64], date[16];
    time_t now = time(NULL);
    if (o->label)
        return strdup(o->label);
    if (!driver_version(version, sizeof version))
        snprintf(version, sizeof version, "CUDA %u.%u", r->driver.version / 1000, r->driver.version % 1000 / 10);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    return asprintf(&label, "%s, %s, %s", r->driver.name, version, date) < 0 ? NULL : label;
}

static void
run_file(struct pt_runner *r, const struct options *o, const char *label, const char *path, uint32_t index, uint32_t from, int fd)
{
    struct loaded x;
    struct message msg = { .kind = MSG_BEGIN, .file = index, .launch = from };
    tell(fd, &msg);
    if (!load(&x, path)) {
        msg.kind = MSG_END;
        msg.outcome = PT_FAILED;
        msg.launch = UINT32_MAX - 1;        /* nothing more of this file */
        tell(fd, &msg);
        unload(&x);
        return;
    }
    struct pt_recorder *recorder = o->record ? pt_recorder_create(&x.f, label, o->overwrite) : NULL;
    struct pt_module *m = NULL;
    CUresult status = CUDA_SUCCESS;
    char *log = NULL;
    bool tried = false;
    for (uint32_t i = from; i < x.f.nlaunches && !r->lost; i++) {
        const struct pt_launch *l = &x.f.launches[i];
        struct pt_result result = { 0 };
        msg = (struct message){ .kind = MSG_BEGIN, .file = index, .launch = i };
        snprintf(msg.test, sizeof msg.test, "%s", l->test);
        tell(fd, &msg);
        if (pt_skip_reason(r, l, result.reason, sizeof result.reason)) {
            result.outcome = PT_SKIPPED;
        } else {
            if (!tried)
                m = pt_module_load(r, &x.f, &status, &log);
            tried = true;
            pt_run(r, &x.f, l, m, status, log, &result);
            if (recorder)
                pt_record(recorder, l, &result);
        }
        if (o->verbose)
            printf("%s:%u: %s: %s%s%s\n", path, l->line, l->test,
                   (const char *[]){ "passed", "failed", "todo", "skipped" }[result.outcome], *result.reason ? ": " : "", result.reason);
        msg.kind = MSG_END;
        msg.outcome = result.outcome;
        snprintf(msg.reason, sizeof msg.reason, "%s", result.reason);
        tell(fd, &msg);
        pt_result_finish(&result);
    }
    pt_module_unload(r, m);
    free(log);
    if (recorder) {
        msg.kind = MSG_RECORDED;
        msg.outcome = pt_recorder_finish(recorder, &msg.added) ? PT_PASSED : PT_FAILED;
        tell(fd, &msg);
    }
    unload(&x);
}

static int
worker(const struct options *o, const struct names *files, uint32_t file, uint32_t launch, int fd)
{
    struct pt_runner *r = calloc(1, sizeof *r);
    struct cwd_error e = { "" };
    if (!r)
        return WORKER_TROUBLE;
    r->on = o->on ? o->on : "auto";
    r->over = o->over;
    r->limit = o->limit;
    r->filter_steps = o->filter_steps;
    r->keep = o->record;
    if (cwd_driver_open(&r->driver, o->on, &e) != CW_OK) {
        trouble("%s", e.text);
        return WORKER_TROUBLE;
    }
    if (o->record && r->driver.ours && !o->label) {
        trouble("--record without --label is for NVIDIA's driver (--on cuda-native): %s is no NVIDIA device", r->driver.name);
        return WORKER_TROUBLE;
    }
    size_t total = 0;
    r->driver.cu.cuDeviceTotalMem_v2(&total, r->driver.device);
    r->total = total;
    char *label = make_label(r, o);
    for (; file < files->count && label; file++, launch = 0) {
        run_file(r, o, label, files->at[file], file, launch, fd);
        if (r->lost)
            _exit(WORKER_LOST);     /* the context must not be used any more */
    }
    free(label);
    free(r);
    return label ? WORKER_DONE : WORKER_TROUBLE;
}

/* ---- the parent ------------------------------------------------------------------------------------------------------------- */

static void
count(struct totals *t, const struct message *m)
{
    switch (m->outcome) {
    case PT_PASSED:  t->passed++; return;
    case PT_FAILED:  t->failed++; return;
    case PT_TODO:    t->todo++; break;
    case PT_SKIPPED: t->skipped++; break;
    }
    if (m->outcome != PT_SKIPPED)
        return;
    uint32_t i = 0;
    while (i < t->nreasons && strcmp(t->reasons[i].text, m->reason))
        i++;
    if (i == t->nreasons) {
        if (i == MAX_REASONS)
            return;
        t->nreasons++;
        snprintf(t->reasons[i].text, sizeof t->reasons[i].text, "%s", m->reason);
    }
    t->reasons[i].count++;
}

/* Is the test that a worker died in marked todo? */
static bool
is_todo(const struct options *o, const struct names *files, const struct message *m)
{
    struct loaded x;
    bool todo = load(&x, files->at[m->file]) && m->launch < x.f.nlaunches &&
                pt_find_note(x.f.launches[m->launch].todo, x.f.launches[m->launch].ntodo, o->on ? o->on : "auto");
    unload(&x);
    return todo;
}

/* Run one worker from *file, *launch on; afterwards they say where the next one begins. False: give up. */
static bool
run_worker(const struct options *o, const struct names *files, uint32_t *file, uint32_t *launch, struct totals *t)
{
    int fds[2], status = 0;
    struct message m, last = { .kind = MSG_END };
    if (pipe(fds))
        return trouble("pipe: %s", strerror(errno)), false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return trouble("fork: %s", strerror(errno)), false;
    if (!pid) {
        close(fds[0]);
        exit(worker(o, files, *file, *launch, fds[1]));
    }
    close(fds[1]);
    bool late = false;
    for (;;) {
        struct pollfd p = { .fd = fds[0], .events = POLLIN };
        int n = 0;
        for (uint32_t k = 0; !n && k < 4 * o->timeout; k++) {
            n = poll(&p, 1, 250);
            cw_progress_step(&t->progress, *file, CW_NO_COUNT);
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) {
            late = true;
            kill(pid, SIGKILL);
            break;
        }
        ssize_t got = read(fds[0], &m, sizeof m);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof m)
            break;
        if (m.kind == MSG_RECORDED) {
            t->added += m.added;
            t->failed += m.outcome == PT_FAILED;
            continue;
        }
        if (m.kind == MSG_END)
            count(t, &m);
        last = m;
        *file = m.file;
        *launch = m.launch + 1;
    }
    close(fds[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == WORKER_DONE) {
        *file = files->count;
        return true;
    }
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == WORKER_LOST)
        return true;
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == WORKER_TROUBLE)
        return false;
    if (last.kind == MSG_END) {     /* between tests: no test is the cause, and there is no way to continue */
        trouble("the worker process ended unexpectedly (%s %d)", WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return false;
    }
    if (is_todo(o, files, &last)) {
        t->todo++;
        return true;
    }
    t->failed++;
    if (late)
        printf("%s: %s: not finished after %u seconds\n", files->at[last.file], last.test, o->timeout);
    else
        printf("%s: %s: the process ended (%s %d)\n", files->at[last.file], last.test, WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return true;
}

static int
parse_all(const struct names *files)
{
    uint32_t bad = 0, launches = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        struct loaded x;
        bad += !load(&x, files->at[i]);
        launches += x.f.nlaunches;
        unload(&x);
    }
    printf("%u files with %u launches, %u files with errors\n", files->count, launches, bad);
    return bad ? FAILURES : FINE;
}

enum { ON = 256, OVER, RECORD, LABEL, OVERWRITE, PARSE, LIMIT, FILTER, DEADLINE };
static const struct cw_program program = {
    .name = "cudaway-ptxtest",
    .summary = "run PTX files that say what their kernels compute",
    .operands = "FILE|FOLDER...",
    .description = "Runs PTX files whose comments say how their kernels are launched and what comes out (docs/ptx-tests.md).",
    .options = (const struct cw_option[]){
        { ON, "on", "DEVICE", "where: a value of CUDAWAY_DEVICE (host, host:O0, hip, cuda, gfxemu:ARCH), or cuda-native for the modules untranslated on the real CUDA "
          "driver; cuda:O0, cuda-native:O0: without its optimiser", "host host:O0 hip cuda cuda-native cuda-native:O0 gfxemu:gfx1100 gfxemu:gfx90a" },
        { OVER, "over", "DEVICE", "the driver under the device cuda is ours, on DEVICE: what cannot run there is skipped, too", "host" },
        { RECORD, "record", NULL, "write what comes out into the files, where they have no values" },
        { LABEL, "label", "TEXT", "with --record: what the values are labelled with (default: the GPU, its driver, the date)" },
        { OVERWRITE, "overwrite", NULL, "with --record: replace recorded values that differ" },
        { PARSE, "parse", NULL, "only read the files" },
        { LIMIT, "limit", "N", "print at most N elements that differ of a buffer (default 8)" },
        { FILTER, "filter-steps", "N", "results of tests with a linear filter may differ by N/256 of the largest texel" },
        { DEADLINE, "timeout", "N", "seconds for one test (default 300)" },
        { 'v', "verbose", NULL, "print what becomes of each test" },
        { 0 },
    },
    .exits = (const struct cw_exit[]){ { "0", "nothing failed" }, { "1", "something failed" }, { "2", "trouble" }, { 0 } },
    .complete = "FILE",
    .usage_status = TROUBLE,
};

static bool
number(const char *s, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (errno || *end || end == s || *s == '-' || v > 1000000 || !v)
        return trouble("'%s' is not a number from 1 to 1000000", s), false;
    *out = (uint32_t)v;
    return true;
}

static int
run_all(const struct options *o, const struct names *files)
{
    /* Our own devices have no compute capability of their own: take the newest that the corpus is written for. */
    setenv("CUDAWAY_COMPUTE_CAPABILITY", "9.0", 0);
    struct totals t = { .progress = { .what = "files", .all = files->count } };
    for (uint32_t file = 0, launch = 0; file < files->count;)
        if (!run_worker(o, files, &file, &launch, &t))
            return TROUBLE;
    cw_progress_clear(&t.progress);
    printf("%u passed, %u failed, %u todo, %u skipped", t.passed, t.failed, t.todo, t.skipped);
    for (uint32_t i = 0; i < t.nreasons; i++)
        printf("%s%s: %u%s", i ? ", " : " (", t.reasons[i].text, t.reasons[i].count, i + 1 == t.nreasons ? ")" : "");
    if (o->record)
        printf("; %u lists recorded", t.added);
    putchar('\n');
    return t.failed ? FAILURES : FINE;
}

int
main(int argc, char **argv)
{
    struct options o = { .limit = 8, .timeout = 300 };
    struct cw_command_line line = { &program, argc, argv };
    for (int c; (c = cw_next_option(&line)) != CW_OPTIONS_END;) {
        switch (c) {
        case ON:        o.on = optarg; break;
        case OVER:      o.over = optarg; break;
        case RECORD:    o.record = true; break;
        case LABEL:     o.label = optarg; break;
        case OVERWRITE: o.overwrite = true; break;
        case PARSE:     o.parse_only = true; break;
        case 'v':       o.verbose = true; break;
        case LIMIT:
            if (!number(optarg, &o.limit))
                return TROUBLE;
            break;
        case FILTER:
            if (!number(optarg, &o.filter_steps))
                return TROUBLE;
            break;
        case DEADLINE:
            if (!number(optarg, &o.timeout))
                return TROUBLE;
            break;
        default:
            return line.status;
        }
    }
    if (o.label && strpbrk(o.label, "\"\n"))
        return trouble("a label has no quotes and line ends");
    if (optind == argc)
        return cw_usage_error(&program, "no file or folder given");
    struct names files = { 0 };
    bool ok = true;
    for (int i = optind; ok && i < argc; i++)
        ok = collect(&files, argv[i], 0);
    if (ok)
        qsort(files.at, files.count, sizeof *files.at, by_name);
    int status = !ok ? TROUBLE : o.parse_only ? parse_all(&files) : run_all(&o, &files);
    free_names(&files);
    return status;
}
