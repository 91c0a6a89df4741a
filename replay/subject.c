/* SPDX-License-Identifier: Apache-2.0
 * See subject.h. The answers have the form that replay/replay.h gives. */
#define _GNU_SOURCE
#include "replay/subject.h"

#include "impl/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

/* Without what makes programs load the layer. malloc'd. */
static char **
own_environment(void)
{
    static const char *const left_out[] = { "LD_PRELOAD=", "LD_AUDIT=", "LD_LIBRARY_PATH=", "CUDAWAY_CHECK=", "CUDAWAY_DEVICE=" };
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **e = calloc(n + 1, sizeof *e);
    for (size_t i = 0; e && i < n; i++) {
        bool keep = true;
        for (unsigned k = 0; k < sizeof left_out / sizeof *left_out; k++)
            keep = keep && strncmp(environ[i], left_out[k], strlen(left_out[k]));
        if (keep)
            e[kept++] = environ[i];
    }
    return e;
}

static void
child(const struct subject *s, int in, int out, char **environment)
{
    char ulp[16];
    snprintf(ulp, sizeof ulp, "%u", s->ulp);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    if (s->inside)
        setsid();               /* signals to the program's group, and from its terminal, are the program's */
    /* Libraries at fixed addresses, away from the memory of recorded programs. */
    int persona = personality(0xffffffff);
    if (persona >= 0)
        personality((unsigned long)persona | ADDR_NO_RANDOMIZE);
    const char *args[20] = { s->replay, "--serve", "--on", s->device, "--ulp", ulp };
    unsigned n = 6;
    for (unsigned i = 0; s->checks && s->checks[i] && i < 8; i++)
        args[n++] = s->checks[i];
    if (s->tolerance || s->bounds)
        args[n++] = "--check";
    if (s->bounds)
        args[n++] = "--bounds";
    if (s->tolerance) {
        args[n++] = "--tolerance";
        args[n++] = s->tolerance;
    }
    execve(s->replay, (char **)(uintptr_t)args, environment);
    dprintf(STDOUT_FILENO, "= 2 cannot start %s: %s\n", s->replay, strerror(errno));
    _exit(2);
}

/* A line without its end. A signal of the program, which getline would take for the end, may interrupt it. */
static bool
read_line(struct subject *s, struct cw_buf *line)
{
    line->size = 0;
    for (;;) {
        int c = getc(s->from);
        if (c == EOF && ferror(s->from) && errno == EINTR) {
            clearerr(s->from);
        } else if (c == EOF) {
            return false;
        } else if (c == '\n') {
            cw_buf_append(line, "", 1);
            return !line->failed;
        } else {
            cw_buf_append(line, &(char){ (char)c }, 1);
        }
    }
}

/* Read up to the line that starts with "=", which is the status. -1: it ended. */
static int
answer(struct subject *s, struct cw_buf *lines)
{
    struct cw_buf b;
    int status = -1;
    cw_buf_init(&b);
    while (status < 0 && read_line(s, &b)) {
        const char *line = b.data;
        if (line[0] == ' ') {
            cw_buf_printf(lines, "%s\n", line + 1);
        } else if (line[0] == '{') {
            cw_buf_printf(lines, "%s\n", line);
        } else if (line[0] == '=' && line[1] == ' ' && line[2] >= '0' && line[2] <= '2') {
            status = line[2] - '0';
            if (status == 2)
                cw_buf_printf(lines, "%s\n", line[3] ? line + 4 : "it failed");
        }
    }
    cw_buf_finish(&b);
    return status;
}

static void
describe_end(struct subject *s, struct cw_buf *why)
{
    int status = 0;
    close(s->to);
    fclose(s->from);
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
    if (WIFSIGNALED(status))
        cw_buf_printf(why, "it was ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        cw_buf_printf(why, "it ended with status %d\n", WEXITSTATUS(status));
}

bool
subject_start(struct subject *s, struct cw_buf *why)
{
    int in[2], out[2];
    if (s->pid)
        return true;
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
        cw_buf_printf(why, "pipe: %s\n", strerror(errno));
        return false;
    }
    char **environment = s->inside ? own_environment() : environ;
    s->pid = environment ? fork() : -1;
    if (s->pid == 0)
        child(s, in[0], out[1], environment);
    if (s->inside)
        free(environment);
    close(in[0]);
    close(out[1]);
    if (s->pid < 0) {
        s->pid = 0;
        close(in[1]);
        close(out[0]);
        cw_buf_printf(why, "fork: %s\n", strerror(errno));
        return false;
    }
    s->to = in[1];
    s->from = fdopen(out[0], "r");
    int status = s->from ? answer(s, why) : 2;
    if (status == 0)
        return true;
    if (status < 0)
        describe_end(s, why);
    else
        subject_stop(s);
    return false;
}

int
subject_run(struct subject *s, const char *path, struct cw_buf *lines)
{
    if (!subject_start(s, lines))
        return 2;
    int status = -1;
    if (cw_write_all(s->to, path, strlen(path) + 1))
        status = answer(s, lines);
    if (status < 0) {
        describe_end(s, lines);
        return 2;
    }
    /* After a fault its context is unusable. */
    if (status == 2)
        subject_stop(s);
    return status;
}

void
subject_stop(struct subject *s)
{
    if (!s->pid)
        return;
    close(s->to);
    if (s->from)
        fclose(s->from);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}
