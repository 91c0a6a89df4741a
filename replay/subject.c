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
#include <sys/syscall.h>
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

/* What is executed here does not get the program's signal handlers and mask. */
static void
reset_signals(void)
{
    struct sigaction a;
    sigset_t none;
    for (int sig = 1; sig < _NSIG; sig++)
        if (!sigaction(sig, NULL, &a) && a.sa_handler != SIG_IGN && a.sa_handler != SIG_DFL)
            signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* program: a descriptor of the process that it ends with, or -1. */
static void
child(const struct subject *s, int in, int out, int program, char **environment)
{
    enum { PROGRAM = 3 };
    char ulp[16];
    snprintf(ulp, sizeof ulp, "%u", s->ulp);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    if (s->inside) {
        setsid();               /* signals to the program's group, and from its terminal, are the program's */
        reset_signals();
    }
    /* Libraries at fixed addresses, away from the memory of recorded programs. */
    int persona = personality(0xffffffff);
    if (persona >= 0)
        personality((unsigned long)persona | ADDR_NO_RANDOMIZE);
    const char *args[24] = { s->replay, "--serve", "--on", s->device, "--ulp", ulp };
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
    if (program >= 0 && (program == PROGRAM ? !fcntl(program, F_SETFD, 0) : dup2(program, PROGRAM) == PROGRAM)) {
        args[n++] = "--owner";
        args[n++] = "3";
    }
    execve(s->replay, (char **)(uintptr_t)args, environment);
    dprintf(STDOUT_FILENO, "= 2 cannot start %s: %s\n", s->replay, strerror(errno));
    _exit(2);
}

/* Start it so that the program's wait() does not see it and no SIGCHLD comes: a child that sends no signal starts it, and ends. A program that is given orphans
 * (process 1, PR_SET_CHILD_SUBREAPER) has it as a child all the same. Handlers of fork do not run. False with errno. */
static bool
start_apart(const struct subject *s, int in, int out, char **environment)
{
    sigset_t all, old;
    int program = cw_fd_keep((int)syscall(SYS_pidfd_open, getpid(), 0)), status = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    long between = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (between == 0) {
        long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            child(s, in, out, program, environment);
        _exit(pid < 0 ? errno : 0);
    }
    int saved = errno;
    while (between > 0 && waitpid((pid_t)between, &status, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (program >= 0)
        close(program);
    errno = between < 0 ? saved : WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN;
    return between > 0 && !errno;
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

static bool
has_descriptors(const struct subject *s)
{
    return cw_fd_is(s->to, &s->to_file) && cw_fd_is(fileno(s->from), &s->from_file);
}

/* It ends when its input does. Returns the status if it is a child. */
static int
wait_for_end(struct subject *s)
{
    struct cw_buf b;
    int status = 0;
    cw_buf_init(&b);
    cw_fd_close(s->to, &s->to_file);
    if (s->from && cw_fd_is(fileno(s->from), &s->from_file)) {
        while (!s->pid && read_line(s, &b))
            ;
        fclose(s->from);
    }
    cw_buf_finish(&b);
    while (s->pid && waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    s->running = false;
    s->from = NULL;
    return status;
}

static void
describe_end(struct subject *s, struct cw_buf *why)
{
    const bool known = s->pid;
    const int status = wait_for_end(s);
    if (!known)
        cw_buf_printf(why, "it ended\n");
    else if (WIFSIGNALED(status))
        cw_buf_printf(why, "it was ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        cw_buf_printf(why, "it ended with status %d\n", WEXITSTATUS(status));
}

/* Neither end has the number of a standard stream. */
static bool
make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC))
        return false;
    ends[0] = cw_fd_keep(ends[0]);
    ends[1] = cw_fd_keep(ends[1]);
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    int saved = errno;
    for (unsigned i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    errno = saved;
    return false;
}

/* False with errno. */
static bool
start_process(struct subject *s, int in, int out)
{
    char **environment = s->inside ? own_environment() : environ;
    s->pid = 0;
    if (!environment)
        return false;
    if (s->inside) {
        bool ok = start_apart(s, in, out, environment);
        free(environment);
        return ok;
    }
    s->pid = fork();
    if (s->pid == 0)
        child(s, in, out, -1, environment);
    return s->pid > 0;
}

bool
subject_start(struct subject *s, struct cw_buf *why)
{
    int in[2], out[2];
    if (s->running)
        return true;
    if (!make_pipe(in)) {
        cw_buf_printf(why, "pipe: %s\n", strerror(errno));
        return false;
    }
    if (!make_pipe(out)) {
        cw_buf_printf(why, "pipe: %s\n", strerror(errno));
        close(in[0]);
        close(in[1]);
        return false;
    }
    const bool ok = start_process(s, in[0], out[1]);
    const int e = errno;
    close(in[0]);
    close(out[1]);
    s->from = ok ? fdopen(out[0], "r") : NULL;
    if (!s->from) {
        cw_buf_printf(why, "cannot start it: %s\n", strerror(ok ? errno : e));
        close(in[1]);
        close(out[0]);
        while (ok && s->pid && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return false;
    }
    s->to = in[1];
    s->running = cw_fd_file(s->to, &s->to_file) && cw_fd_file(out[0], &s->from_file);
    int status = answer(s, why);
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
    if (s->running && !has_descriptors(s))
        (void)wait_for_end(s);          /* and a new one is started */
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
    if (s->running)
        (void)wait_for_end(s);
}
