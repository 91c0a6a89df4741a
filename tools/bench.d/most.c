/* SPDX-License-Identifier: Apache-2.0
 * most BYTES COMMAND...: run it, and print how many times BYTES it had of memory at most at a time, pages of its file included; or nothing, and 1,
 * where it fails. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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
    int status;
    struct rusage u;
    if (child < 0 || wait4(child, &status, 0, &u) != child) {
        perror("most");
        return 2;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return 1;
    printf("%.0f\n", (double)u.ru_maxrss * 1024 / bytes);
    return 0;
}
