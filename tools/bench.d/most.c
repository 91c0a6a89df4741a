/* SPDX-License-Identifier: Apache-2.0
 * most BYTES COMMAND...: run it, and print how many times BYTES it had of memory at most at a time: all that was mapped and there, and of that its
 * own, which is not pages of files (the system shares those, and takes them back when it likes). Or nothing, and 1, where it fails.
 *
 * The system keeps the greatest of the first number, and not of the second, which is looked at every half millisecond. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* KiB; 0 when the process is gone. */
static long
own_memory(int status)
{
    char text[4096];
    ssize_t n = pread(status, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = 0;
    const char *at = strstr(text, "RssAnon:");
    return at ? atol(at + strlen("RssAnon:")) : 0;
}

int
main(int argc, char **argv)
{
    double bytes = argc > 2 ? atof(argv[1]) : 0;
    if (bytes <= 0) {
        fprintf(stderr, "usage: most BYTES COMMAND...\n");
        return 2;
    }
    pid_t child = vfork();
    if (!child) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    int state = 0, status = open(path, O_RDONLY | O_CLOEXEC);
    struct rusage u;
    long own = 0;
    pid_t done = 0;
    while (child > 0 && !done) {
        long now = own_memory(status);
        own = now > own ? now : own;
        done = wait4(child, &state, WNOHANG, &u);
        if (!done)
            nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    }
    if (done != child || status < 0) {
        perror("most");
        return 2;
    }
    close(status);
    if (!WIFEXITED(state) || WEXITSTATUS(state))
        return 1;
    printf("%.0f %.0f\n", (double)u.ru_maxrss * 1024 / bytes, (double)own * 1024 / bytes);
    return 0;
}
