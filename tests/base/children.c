/* SPDX-License-Identifier: Apache-2.0
 * Children that die with their parent, however it ends, and descendants that are ended before a process goes on. */
#define _GNU_SOURCE
#include "impl/base/children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(x) ((x) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x)))

/* The reading end is at its end when all processes that have the writing end are gone. `orphan`: the parent is gone before the child asks. */
static void
dies_with_parent(bool orphan)
{
    int life[2];
    char c;
    CHECK(!pipe(life));
    pid_t top = fork();
    if (!top) {
        pid_t parent = getpid();
        if (!fork()) {
            if (orphan)
                while (getppid() == parent)
                    usleep(1000);
            cw_child_dies_with(parent);
            execlp("sleep", "sleep", "300", (char *)NULL);
            _exit(1);
        }
        if (!orphan)
            pause();
        _exit(0);
    }
    close(life[1]);
    usleep(orphan ? 0 : 300000);        /* in sleep(1) by now, or soon */
    kill(top, orphan ? 0 : SIGKILL);
    waitpid(top, NULL, 0);
    CHECK(read(life[0], &c, 1) == 0);
    close(life[0]);
}

/* Of each generation one process stays, in a session of its own. */
static void
breed(unsigned generations)
{
    for (unsigned i = 0; i < generations; i++) {
        pid_t pid = fork();
        if (pid < 0)
            _exit(1);
        if (pid) {
            if (i)
                pause();
            _exit(0);
        }
        setsid();
        signal(SIGTERM, SIG_IGN);
    }
    pause();
    _exit(0);
}

static void
descendants_end(void)
{
    int life[2];
    char c;
    pid_t before = fork();              /* as of a shell that then executes the tool */
    if (!before)
        pause();
    CHECK(cw_children_adopt() && cw_children_end() && !pipe(life));     /* there are none */
    pid_t pid = fork();
    if (!pid)
        breed(6);
    close(life[1]);
    waitpid(pid, NULL, 0);
    usleep(100000);
    for (unsigned i = 0; i < 1000 && cw_children_tasks() != 6; i++)
        usleep(10000);
    CHECK(cw_children_tasks() == 6 && cw_system_tasks() >= 8);      /* five that stay, and the last */
    CHECK(cw_children_end() && read(life[0], &c, 1) == 0);
    CHECK(waitpid(-1, NULL, WNOHANG) == 0 && !kill(before, SIGKILL) && waitpid(before, NULL, 0) == before && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    close(life[0]);
}

int
main(void)
{
    alarm(60);
    dies_with_parent(false);
    dies_with_parent(true);
    descendants_end();
    return failures != 0;
}
