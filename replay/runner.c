/* SPDX-License-Identifier: Apache-2.0
 * See runner.h. */
#define _GNU_SOURCE
#include "replay/runner.h"

#include "impl/base/children.h"
#include "impl/base/env.h"
#include "impl/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
    int error, status;                  /* errno of what kept it from running, else 0 and what waitpid gave */
};

static int runner = -1;

static bool
is_device(const char *on, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(on, name, n) && (!on[n] || on[n] == ':' || on[n] == '-');
}

void
cwl_confine_for(const char *on, struct cw_confinement *c)
{
    const char *usual = cw_env_get(CW_ENV_DEVICE), *limit = cw_env_get(CW_ENV_COMPILE_LIMIT);
    on = on ? on : usual && *usual ? usual : "auto";
    c->nvidia = is_device(on, "cuda");
    c->copies = c->nvidia || (limit && *limit);
    c->amd = is_device(on, "hip") || (is_device(on, "auto") && (!access("/dev/kfd", F_OK) || cw_env_get(CW_ENV_HIP_LIBRARY)));
}

/* ---- the runner ---------------------------------------------------------------------------------------------------------------- */

/* In the process of the run, which becomes cudaway-replay: by its path, for it finds the implementation beside it. */
static _Noreturn void
execute(const struct cwl_job *j, const struct cw_confinement *confinement)
{
    const struct itimerval limit = { .it_value.tv_sec = j->cpu_seconds };
    struct cw_confine_error e = { "" };
    char self[PATH_MAX], in[PATH_MAX + 8], out[PATH_MAX + 8], where[PATH_MAX + 8], err[PATH_MAX + 8];
    snprintf(in, sizeof in, "%s-in", j->files);
    snprintf(out, sizeof out, "%s-out", j->files);
    snprintf(where, sizeof where, "%s-where", j->files);
    snprintf(err, sizeof err, "%s-err", j->files);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    if (confinement) {
        struct cw_confinement c = *confinement;
        cwl_confine_for(*j->on ? j->on : NULL, &c);
        c.nvidia = c.nvidia && confinement->nvidia;
        c.amd = c.amd && confinement->amd;
        if (cw_confine(&c, &e) != CW_OK)
            *self = 0;
    }
    int log = open(err, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    if (log < 0 || dup2(log, STDERR_FILENO) < 0)
        _exit(2);
    if (*e.text)
        dprintf(STDERR_FILENO, "%s\n", e.text);
    alarm(j->seconds);                  /* also of the program that is executed now */
    setitimer(ITIMER_PROF, &limit, NULL);
    if (*j->env && putenv((char *)(uintptr_t)j->env))
        _exit(2);
    if (*j->on)
        execl(self, self, "--trust", "--on", j->on, "--where", where, "--output", out, "--", in, (char *)NULL);
    else
        execl(self, self, "--trust", "--where", where, "--output", out, "--", in, (char *)NULL);
    _exit(2);
}

static struct answer
run(const struct cwl_job *j, const struct cw_confinement *c, void (*interrupt)(int))
{
    struct answer a = { 0 };
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        cw_child_dies_with(parent);
        signal(SIGINT, interrupt);
        execute(j, c);
    }
    if (pid < 0)
        a.error = errno;
    while (pid > 0 && waitpid(pid, &a.status, 0) < 0)
        if (errno != EINTR) {
            a.error = errno;
            break;
        }
    return a;
}

/* An interrupt from a terminal, which all processes get, ends a run. Whoever asked for it goes on. What a kernel prints is not the report. */
static _Noreturn void
serve(int fd, const struct cw_confinement *c)
{
    struct cwl_job j;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPROF, SIG_DFL);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (null < 0 || dup2(null, i) < 0)
            _exit(2);
    while (read(fd, &j, sizeof j) == (ssize_t)sizeof j) {
        j.on[sizeof j.on - 1] = j.env[sizeof j.env - 1] = j.files[sizeof j.files - 1] = 0;
        const struct answer a = run(&j, c, interrupt);
        if (!cw_write_all(fd, &a, sizeof a))
            break;
    }
    _exit(0);
}

bool
cwl_runner_start(const struct cw_confinement *c)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return false;
    const int own = cw_fd_keep(ends[0]), other = cw_fd_keep(ends[1]);
    fflush(NULL);
    pid_t parent = getpid(), pid = own >= 0 && other >= 0 ? fork() : -1;
    if (pid == 0) {
        cw_child_dies_with(parent);
        close(own);
        serve(other, c);
    }
    int saved = errno;
    if (other >= 0)
        close(other);
    if (pid < 0 && own >= 0)
        close(own);
    runner = pid < 0 ? -1 : own;
    errno = saved;
    return pid > 0;
}

/* ---- whoever asks -------------------------------------------------------------------------------------------------------------- */

void
cwl_runner_inherited(int fd)
{
    runner = fd;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int
cwl_runner_descriptor(void)
{
    return runner;
}

bool
cwl_runner_run(const struct cwl_job *job, struct cw_progress *p, int *status)
{
    struct answer a;
    ssize_t n;
    if (!cw_write_all(runner, job, sizeof *job))
        return false;
    for (struct pollfd f = { .fd = runner, .events = POLLIN }; p; ) {
        const int ready = poll(&f, 1, 200);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            break;
        cw_progress_step(p, p->done, CW_NO_COUNT);
    }
    while ((n = read(runner, &a, sizeof a)) < 0 && errno == EINTR)
        ;
    if (n >= 0)
        errno = n == (ssize_t)sizeof a ? a.error : ECHILD;
    if (n < 0 || errno)
        return false;
    *status = a.status;
    return true;
}
