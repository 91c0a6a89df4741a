/* SPDX-License-Identifier: Apache-2.0
 * See causes.h. */
#define _GNU_SOURCE
#include "diff/causes.h"

#include "impl/base/buf.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The report of cudaway-replay with these options, up to NULL; returns its status, negative: it could not be run. */
static int
run(const struct causes *c, const char *const *options, const char *dump, struct cw_buf *out)
{
    int to[2], status = 0;
    char chunk[4096];
    ssize_t n;
    fflush(NULL);
    if (pipe2(to, 0))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        dup2(to[1], STDOUT_FILENO);
        close(to[0]);
        close(to[1]);
        const char *args[16] = { c->replay, "--trust", "--on", c->device };
        unsigned count = 4;
        while (*options)
            args[count++] = *options++;
        args[count] = dump;
        execv(c->replay, (char **)(uintptr_t)args);
        _exit(127);
    }
    close(to[1]);
    while (pid > 0 && ((n = read(to[0], chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            cw_buf_append(out, chunk, (size_t)n);
    close(to[0]);
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
        fprintf(stderr, "cudaway-diff:   %.*s\n", (int)(end - report), report);
}

/* Has a launch of the kernel before this one the cause, too? */
static bool
known(const struct cwd_results *r, const struct cwd_launch *l)
{
    for (const struct cwd_launch *p = r->launches; p < l; p++)
        if (p->cause && !strcmp(p->kernel, l->kernel) && !strcmp(p->cause, l->cause))
            return true;
    return false;
}

static unsigned
explain(const struct causes *c, const struct causes_kernel *k, struct cwd_results *r, struct cwd_launch *l)
{
    char cause[100];
    struct cw_buf report;
    cw_buf_init(&report);
    static const char *const options[] = { "--explain", NULL };
    int status = run(c, options, l->dump, &report);
    const char *text = report.failed || !report.data ? "" : report.data;
    cause_of(text, status, cause, sizeof cause);
    cwd_results_cause(r, l, cause, status == 3 ? CWD_S_FAULT : CWD_S_DIFFERENT);
    if (l->cause && !known(r, l)) {
        fprintf(stderr, "cudaway-diff: %s: %u launches differ; %s (%s)\n", k->name, k->launches, cause, l->dump);
        print_report(text);
    }
    cw_buf_finish(&report);
    return status == 0 || status == 1 ? 1 : status == 3 ? 3 : 2;
}

int
causes_explain(const struct causes *c, struct cwd_results *r)
{
    unsigned worst = 1, all = 0, done = 0;
    for (size_t i = 0; i < r->count; i++)
        all += r->launches[i].dump && r->launches[i].severity == CWD_S_DIFFERENT;
    struct cwd_progress progress = { .what = "kept launches are looked into", .all = all };
    for (uint32_t i = 0; i < c->nkernels; i++)
        for (size_t n = 0; n < r->count; n++) {
            struct cwd_launch *l = &r->launches[n];
            if (!l->dump || l->severity != CWD_S_DIFFERENT || l->cause || strcmp(l->kernel, c->kernels[i].name))
                continue;
            cwd_progress_step(&progress, done++, CWD_NO_COUNT);
            cwd_progress_clear(&progress);
            unsigned status = explain(c, &c->kernels[i], r, l);
            worst = status == 3 || (status == 2 && worst != 3) ? status : worst;
        }
    cwd_progress_clear(&progress);
    return (int)worst;
}

void
causes_pictures(const struct causes *c, struct cwd_results *r, const char *tolerance, bool bounds)
{
    const char *const options[] = { "--check", "--results", "--picture", bounds ? "--bounds" : "--results", tolerance ? "--tolerance" : NULL, tolerance, NULL };
    uint64_t all = 0, done = 0;
    for (size_t i = 0; i < r->count; i++)
        all += r->launches[i].dump && r->launches[i].severity != CWD_S_NOT_RUN;
    struct cwd_progress progress = { .what = "pictures", .all = all };
    for (size_t i = 0; i < r->count; i++) {
        struct cwd_launch *l = &r->launches[i];
        struct cw_buf report;
        if (!l->dump || l->severity == CWD_S_NOT_RUN)
            continue;
        cwd_progress_step(&progress, done++, CWD_NO_COUNT);
        cw_buf_init(&report);
        int status = run(c, options, l->dump, &report);
        char *at = status >= 0 && !report.failed && report.data ? strstr(report.data, "{\"picture\":") : NULL;
        if (at)
            l->picture = strndup(at, strcspn(at, "\n"));
        cw_buf_finish(&report);
    }
    cwd_progress_clear(&progress);
}

void
causes_finish(struct causes *c)
{
    for (uint32_t i = 0; i < c->nkernels; i++)
        free(c->kernels[i].name);
    free(c->kernels);
    *c = (struct causes){ 0 };
}
