/* SPDX-License-Identifier: Apache-2.0
 * Tests of the libraries in someone else's process. Each case is a process of its own. Where CUDA says what a case must give, that is asserted; otherwise
 * must_work() must succeed in it.
 *   PROGRAM [CASE...]           a case in a child
 *   PROGRAM --here CASE         without one, or a part of a case that is a program of its own */
#ifndef DRIVER_PROCESS_H
#define DRIVER_PROCESS_H

#include "tests/driver/leaks.h"
#include "tests/driver/test.h"
#include "tests/driver/work.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct test { const char *name; void (*run)(void); bool alarms; };     /* alarms: it has its own */

static void
must_work(void)
{
    work();
    if (failed_call)
        fprintf(stderr, "the %s gave %d: %s\n", failed_kind, failed_code, failed_call);
    if (wrong)
        fprintf(stderr, "wrong results: %s\n", wrong);
    EXPECT(!failed_call && !wrong);
}

static int
status_of(pid_t child)
{
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    return status;
}

static void
in_child(const struct test *t)
{
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        leaks_looked_for = getpid();
        failures = 0;
        if (!t->alarms)
            alarm(300);
        t->run();
        exit(failures != 0);
    }
    int status = status_of(child);
    if (status) {
        fprintf(stderr, "%s: %s %d\n", t->name, WIFSIGNALED(status) ? WTERMSIG(status) == SIGALRM ? "hangs, signal" : "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        failures++;
    }
}

/* main. Both lists end without a name. */
static int
run_tests(int argc, char **argv, const struct test *tests, const struct test *parts)
{
    bool here = argc > 1 && !strcmp(argv[1], "--here");
    unsigned run = 0;
    leaks_looked_for = getpid();
    for (const struct test *t = parts; here && argc == 3 && t->name; t++)
        if (!strcmp(argv[2], t->name)) {
            t->run();
            return failures != 0;
        }
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);              /* what kernels print */
    for (const struct test *t = tests; t->name; t++) {
        bool wanted = argc == 1;
        for (int k = 1 + here; k < argc; k++)
            wanted |= !strcmp(argv[k], t->name);
        if (wanted && here)
            t->run();
        else if (wanted)
            in_child(t);
        run += wanted;
    }
    if (!run)
        fprintf(stderr, "no such case\n");
    return failures || !run;
}

#endif
