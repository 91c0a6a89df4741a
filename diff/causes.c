/* SPDX-License-Identifier: Apache-2.0
 * See causes.h. */
#define _GNU_SOURCE
#include "diff/causes.h"

#include "impl/base/buf.h"
#include "impl/base/children.h"
#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "replay/dump.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COPIES (256ull << 20)       /* bytes */
#define SECOND 1000000000ll

static struct causes_kernel *
find(const struct causes *c, const char *kernel)
{
    for (uint32_t i = 0; i < c->nkernels; i++)
        if (!strcmp(c->kernels[i].name, kernel))
            return &c->kernels[i];
    return NULL;
}

unsigned
causes_count(struct causes *c, const char *kernel)
{
    struct causes_kernel *k = find(c, kernel);
    if (!k) {
        struct causes_kernel *more = realloc(c->kernels, (c->nkernels + (size_t)1) * sizeof *more);
        char *name = more ? strdup(kernel) : NULL;
        c->kernels = more ? more : c->kernels;
        if (!name)
            return 1;
        k = &more[c->nkernels++];
        *k = (struct causes_kernel){ .name = name };
    }
    return ++k->launches;
}

void
causes_copy(struct causes *c, size_t launch, const char *dump)
{
    const char *base = getenv("TMPDIR");
    struct causes_copy *more = c->full ? NULL : realloc(c->copies, (c->ncopies + (size_t)1) * sizeof *more);
    char path[PATH_MAX];
    struct cwd_dump d;
    struct cwd_error e;
    struct stat st;
    c->full = !more;
    if (!more)
        return;
    c->copies = more;
    if (!c->folder) {
        c->folder = calloc(1, PATH_MAX);
        if (!c->folder || !cw_temp_make(base && *base ? base : "/tmp", "causes", c->folder, PATH_MAX - 32)) {
            free(c->folder);
            c->folder = NULL;
            c->full = true;
            return;
        }
    }
    snprintf(path, sizeof path, "%s/%u" CWD_SUFFIX, c->folder, c->ncopies);
    if (cwd_read(dump, 0, 0, &d, &e) != CW_OK)
        return;
    bool ok = cwd_write(&d, path, 0, &e) == CW_OK && !stat(path, &st) && c->bytes + (uint64_t)st.st_size <= MAX_COPIES;
    cwd_finish(&d);
    char *name = ok ? strdup(path) : NULL;
    if (name) {
        c->copies[c->ncopies++] = (struct causes_copy){ launch, name };
        c->bytes += (uint64_t)st.st_size;
    } else {
        unlink(path);
        c->full = true;
    }
}

static volatile sig_atomic_t interrupted;
static volatile pid_t running;          /* cudaway-replay */

/* An interrupt of the terminal has reached it as well; other signals have not. */
static void
interrupt(int signal)
{
    interrupted = 1;
    if (running > 0)
        kill(running, signal);
}

/* Read what it writes until it ends, and say meanwhile how far all of it is. */
static void
take(int from, struct cw_buf *out, struct cw_progress *progress)
{
    struct pollfd p = { .fd = from, .events = POLLIN };
    char chunk[4096];
    ssize_t n = 1;
    while (n > 0 || (n < 0 && errno == EINTR)) {
        if (poll(&p, 1, 200) <= 0) {
            if (progress)
                cw_progress_step(progress, progress->done, CW_NO_COUNT);
            continue;
        }
        n = read(from, chunk, sizeof chunk);
        if (n > 0)
            cw_buf_append(out, chunk, (size_t)n);
    }
}

/* The report of cudaway-replay with these options, up to NULL; returns its status, negative: it could not be run. */
static int
run(const struct causes *c, const char *const *options, const char *dump, struct cw_progress *progress, struct cw_buf *out)
{
    int to[2], status = 0;
    fflush(NULL);
    if (pipe2(to, 0))
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        signal(SIGINT, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        dup2(to[1], STDOUT_FILENO);
        close(to[0]);
        close(to[1]);
        const char *args[24] = { c->replay, "--trust", "--on", c->device };
        unsigned count = 4;
        while (*options)
            args[count++] = *options++;
        args[count++] = "--";
        args[count] = dump;
        execv(c->replay, (char **)(uintptr_t)args);
        _exit(127);
    }
    running = pid;
    close(to[1]);
    if (pid > 0)
        take(to[0], out, progress);
    close(to[0]);
    running = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    cw_buf_append(out, "", 1);
    return pid > 0 && WIFEXITED(status) && !out->failed ? WEXITSTATUS(status) : -1;
}

/* "contraction" of "cause: contraction: ...". */
static void
cause_of(const char *report, int status, char *out, size_t size)
{
    const char *s = strstr(report, "cause: ");
    size_t n = s ? strcspn(s + 7, ":\n") : 0;
    if (status == 0)
        snprintf(out, size, "not again: the launch alone gives the reference's results");
    else if (s)
        snprintf(out, size, "%.*s", (int)n, s + 7);
    else
        snprintf(out, size, "not looked into: cudaway-replay --explain failed");
}

static void
print_report(const char *report)
{
    for (const char *end; (end = strchr(report, '\n')); report = end + 1)
        if (*report != '{')
            cw_text_line(stderr, "cudaway-diff:   %.*s", (int)(end - report), report);
}

/* Has another launch of the kernel the cause, too? */
static bool
known(const struct cwd_results *r, const struct cwd_launch *l)
{
    for (const struct cwd_launch *p = r->launches; p < r->launches + r->count; p++)
        if (p != l && p->cause && !strcmp(p->kernel, l->kernel) && !strcmp(p->cause, l->cause))
            return true;
    return false;
}

/* The variant that the report ends with is the first for the kernel's next launch. */
static void
take_variant(struct causes_kernel *k, const char *report)
{
    static const char before[] = "{\"variant\":\"";
    const char *at = strstr(report, before);
    char *v = at ? strndup(at + sizeof before - 1, strcspn(at + sizeof before - 1, "\"\n")) : NULL;
    unsigned i = 0;
    if (!v)
        return;
    while (i < CAUSES_VARIANTS - 1 && k->variants[i] && strcmp(k->variants[i], v))
        i++;
    free(k->variants[i]);
    memmove(&k->variants[1], &k->variants[0], i * sizeof *k->variants);
    k->variants[0] = v;
}

/* `seconds` 0: any. */
static unsigned
explain(const struct causes *c, struct causes_kernel *k, struct cwd_results *r, struct cwd_launch *l, const char *dump, unsigned seconds, struct cw_progress *progress)
{
    char cause[100], limit[16];
    const char *options[16] = { "--explain", "--results" };
    unsigned n = 2;
    struct cw_buf report;
    cw_buf_init(&report);
    snprintf(limit, sizeof limit, "%u", seconds);
    if (seconds) {
        options[n++] = "--seconds";
        options[n++] = limit;
    }
    for (unsigned i = 0; i < CAUSES_VARIANTS && k->variants[i]; i++) {
        options[n++] = "--first";
        options[n++] = k->variants[i];
    }
    int status = run(c, options, dump, progress, &report);
    const char *text = report.failed || !report.data ? "" : report.data;
    if (interrupted) {
        cw_buf_finish(&report);
        return 1;
    }
    cause_of(text, status, cause, sizeof cause);
    cwd_results_cause(r, l, cause, status == 3 ? CWD_S_FAULT : CWD_S_DIFFERENT);
    take_variant(k, text);
    if (l->cause && !known(r, l)) {
        cw_progress_clear(progress);
        cw_text_print(stderr, "cudaway-diff: %s: %u launches differ; %s (%s", k->name, k->launches, cause, l->dump ? l->dump : "launch ");
        cw_text_print(stderr, l->dump ? ")\n" : "%u)\n", l->number);
        print_report(text);
    }
    cw_buf_finish(&report);
    return status == 0 || status == 1 ? 1 : status == 3 ? 3 : 2;
}

struct task {
    struct causes_kernel *kernel;
    size_t launch;
    unsigned nth;                       /* of the kernel */
    const char *dump;
};

static int
by_turn(const void *a, const void *b)
{
    const struct task *x = a, *y = b;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

/* What is to be looked into, one launch of each kernel after the other. */
static struct task *
tasks(struct causes *c, const struct cwd_results *r, size_t *count)
{
    struct task *t = calloc(r->count + 1, sizeof *t);
    unsigned *seen = calloc(c->nkernels + (size_t)1, sizeof *seen);
    uint32_t copy = 0;
    *count = 0;
    for (size_t i = 0; t && seen && i < r->count; i++) {
        const struct cwd_launch *l = &r->launches[i];
        while (copy < c->ncopies && c->copies[copy].launch < i)
            copy++;
        const char *dump = l->dump ? l->dump : copy < c->ncopies && c->copies[copy].launch == i ? c->copies[copy].path : NULL;
        struct causes_kernel *k = dump && l->severity == CWD_S_DIFFERENT && !l->cause ? find(c, l->kernel) : NULL;
        if (k)
            t[(*count)++] = (struct task){ k, i, seen[k - c->kernels]++, dump };
    }
    free(seen);
    if (t)
        qsort(t, *count, sizeof *t, by_turn);
    return t;
}

static void
say_left(size_t left, unsigned seconds)
{
    if (interrupted)
        cw_text_line(stderr, "cudaway-diff: interrupted: %zu launches were not looked into", left);
    else if (left)
        cw_text_line(stderr, "cudaway-diff: the time for explanations was up (%u s): %zu launches were not looked into; --explain goes on until all are, --no-explain leaves it out", seconds, left);
}

int
causes_explain(struct causes *c, struct cwd_results *r, unsigned seconds)
{
    unsigned worst = 1;
    size_t count, done = 0;
    struct task *t = tasks(c, r, &count);
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction act = { .sa_handler = interrupt }, old[sizeof ends / sizeof *ends];
    int64_t end = seconds ? cw_progress_now() + seconds * SECOND : 0;
    struct cw_progress progress = { .what = "launches explained", .all = count, .limit = seconds * SECOND };
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &act, &old[i]);
    for (; t && done < count && !interrupted && (!end || cw_progress_now() < end); done++) {
        unsigned left = end ? (unsigned)((end - cw_progress_now()) / SECOND) + 1 : 0;
        cw_progress_step(&progress, done, CW_NO_COUNT);
        unsigned status = explain(c, t[done].kernel, r, &r->launches[t[done].launch], t[done].dump, left, &progress);
        worst = status == 3 || (status == 2 && worst != 3) ? status : worst;
    }
    cw_progress_clear(&progress);
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &old[i], NULL);
    say_left(count - done, seconds);
    free(t);
    return (int)worst;
}

void
causes_pictures(const struct causes *c, struct cwd_results *r, const char *tolerance, bool bounds)
{
    const char *const options[] = { "--check", "--results", "--picture", bounds ? "--bounds" : "--results", tolerance ? "--tolerance" : NULL, tolerance, NULL };
    uint64_t all = 0, done = 0;
    for (size_t i = 0; i < r->count; i++)
        all += r->launches[i].dump && r->launches[i].severity != CWD_S_NOT_RUN;
    struct cw_progress progress = { .what = "pictures", .all = all };
    for (size_t i = 0; i < r->count; i++) {
        struct cwd_launch *l = &r->launches[i];
        struct cw_buf report;
        if (!l->dump || l->severity == CWD_S_NOT_RUN)
            continue;
        cw_progress_step(&progress, done++, CW_NO_COUNT);
        cw_buf_init(&report);
        int status = run(c, options, l->dump, NULL, &report);
        char *at = status >= 0 && !report.failed && report.data ? strstr(report.data, "{\"picture\":") : NULL;
        if (at)
            l->picture = strndup(at, strcspn(at, "\n"));
        cw_buf_finish(&report);
    }
    cw_progress_clear(&progress);
}

void
causes_finish(struct causes *c)
{
    for (uint32_t i = 0; i < c->nkernels; i++) {
        free(c->kernels[i].name);
        for (unsigned k = 0; k < CAUSES_VARIANTS; k++)
            free(c->kernels[i].variants[k]);
    }
    for (uint32_t i = 0; i < c->ncopies; i++)
        free(c->copies[i].path);
    free(c->kernels);
    free(c->copies);
    cw_temp_remove(c->folder);
    free(c->folder);
    *c = (struct causes){ 0 };
}
