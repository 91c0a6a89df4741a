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

bool
causes_count(struct causes *c, const char *kernel)
{
    struct causes_kernel *k = find(c, kernel);
    if (!k) {
        struct causes_kernel *more = realloc(c->kernels, (c->nkernels + (size_t)1) * sizeof *more);
        char *name = more ? strdup(kernel) : NULL;
        c->kernels = more ? more : c->kernels;
        if (!name)
            return true;
        k = &more[c->nkernels++];
        *k = (struct causes_kernel){ .name = name };
    }
    return ++k->launches <= CAUSES_PER_KERNEL;
}

void
causes_keep(struct causes *c, const char *kernel, const char *dump)
{
    struct causes_kernel *k = find(c, kernel);
    if (k && k->kept < CAUSES_PER_KERNEL && (k->dump[k->kept] = strdup(dump)))
        k->kept++;
}

/* The report of cudaway-replay --explain; returns its status, negative: it could not be run. */
static int
run(const struct causes *c, const char *dump, struct cw_buf *out)
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
        execl(c->replay, c->replay, "--explain", "--on", c->device, dump, (char *)NULL);
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

int
causes_explain(const struct causes *c)
{
    int worst = 1;
    for (uint32_t i = 0; i < c->nkernels; i++) {
        const struct causes_kernel *k = &c->kernels[i];
        char cause[CAUSES_PER_KERNEL][100];
        for (unsigned n = 0; n < k->kept; n++) {
            struct cw_buf report;
            cw_buf_init(&report);
            int status = run(c, k->dump[n], &report);
            const char *text = report.failed || !report.data ? "" : report.data;
            cause_of(text, status, cause[n], sizeof cause[n]);
            if (status == 3 || (status != 0 && status != 1 && worst != 3))
                worst = status == 3 ? 3 : 2;
            unsigned first = 0;
            while (strcmp(cause[first], cause[n]))
                first++;
            if (first == n) {
                fprintf(stderr, "cudaway-diff: %s: %u launches differ; %s (%s)\n", k->name, k->launches, cause[n], k->dump[n]);
                print_report(text);
            }
            cw_buf_finish(&report);
        }
    }
    return worst;
}

void
causes_finish(struct causes *c)
{
    for (uint32_t i = 0; i < c->nkernels; i++) {
        for (unsigned n = 0; n < c->kernels[i].kept; n++)
            free(c->kernels[i].dump[n]);
        free(c->kernels[i].name);
    }
    free(c->kernels);
    *c = (struct causes){ 0 };
}
