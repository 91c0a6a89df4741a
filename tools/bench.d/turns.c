/* SPDX-License-Identifier: Apache-2.0
 * turns ROUNDS ERRORS COMMAND... -- COMMAND... -- ...: run the commands one after the other, ROUNDS times, and more often (up to TIMES as often) while
 * all together took less than LONG_ENOUGH. Prints for each a line with the median of its CPU time, user and system, in milliseconds, or "fails" where it
 * did once. ERRORS.1, ERRORS.2 and so on have what they wrote to standard error last.
 *
 * Turn about, because what a machine does beside changes from second to second, and then changes it for all of them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMANDS = 8, ROUNDS = 1000, TIMES = 5 };
#define LONG_ENOUGH 3000.0      /* ms of CPU time */

struct command {
    char **argv;
    double ms[ROUNDS];
    bool fails;
};

static double
ms_of(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

/* CPU time; negative: it fails. */
static double
run(char **argv, const char *errors)
{
    struct rusage u;
    int state = 0;
    pid_t child = fork();
    if (!child) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC), err = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (null < 0 || err < 0 || dup2(null, 1) < 0 || dup2(err, 2) < 0)
            _exit(127);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &state, 0, &u) != child) {
        perror("turns");
        exit(2);
    }
    return WIFEXITED(state) && !WEXITSTATUS(state) ? ms_of(u.ru_utime) + ms_of(u.ru_stime) : -1;
}

static int
less(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
    static struct command c[COMMANDS];
    int rounds = argc > 3 ? atoi(argv[1]) : 0, n = 0, r;
    double all = 0;

    for (int i = 3, first = 3; i <= argc && rounds > 0 && n < COMMANDS; i++)
        if (i == argc || !strcmp(argv[i], "--")) {
            argv[i] = NULL;
            c[n++].argv = argv + first;
            first = i + 1;
        }
    if (!n || rounds > ROUNDS / TIMES) {
        fprintf(stderr, "usage: turns ROUNDS ERRORS COMMAND... [-- COMMAND...]... (at most %d rounds, %d commands)\n", ROUNDS / TIMES, COMMANDS);
        return 2;
    }
    for (r = 0; r < rounds || (r < TIMES * rounds && all < LONG_ENOUGH); r++)
        for (int k = 0; k < n; k++) {
            char errors[PATH_MAX];
            snprintf(errors, sizeof errors, "%s.%d", argv[2], k + 1);
            double ms = c[k].fails ? 0 : run(c[k].argv, errors);
            c[k].fails = c[k].fails || ms < 0;
            c[k].ms[r] = ms;
            all += ms;
        }
    for (int k = 0; k < n; k++) {
        qsort(c[k].ms, (size_t)r, sizeof c[k].ms[0], less);
        if (c[k].fails)
            printf("fails\n");
        else
            printf("%.3f\n", (c[k].ms[(r - 1) / 2] + c[k].ms[r / 2]) / 2);
    }
    return 0;
}
