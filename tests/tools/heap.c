/* SPDX-License-Identifier: Apache-2.0
 * cc_heap_for: for a small text, threads allocate from the program's heap, and all of it but its begin lies in huge pages, where the kernel has such.
 * For a large text they have heaps of their own, as malloc has it. */
#define _GNU_SOURCE
#include "tools/cc/cc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 600 << 10 };     /* more than malloc's own threshold for mmap */

static void *
allocate(void *user)
{
    (void)user;
    return calloc(1, BLOCK);
}

static uintptr_t
block_of_a_thread(void)
{
    pthread_t t;
    void *p = NULL;
    if (pthread_create(&t, NULL, allocate, NULL) || pthread_join(t, &p) || !p)
        abort();
    return (uintptr_t)p;
}

/* Does the mapping that holds `at` ask for huge pages? */
static bool
is_huge(uintptr_t at)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, huge = false;
    while (f && fgets(line, sizeof line, f)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            inside = at >= begin && at < end;
        else if (inside && !strncmp(line, "VmFlags:", 8))
            huge = strstr(line, " hg") != NULL;
    }
    if (f)
        fclose(f);
    return huge;
}

static int
check(size_t text, bool small)
{
    uintptr_t begin = (uintptr_t)sbrk(0);
    cc_heap_for(text);
    uintptr_t at = block_of_a_thread();
    bool in_heap = at >= begin && at < (uintptr_t)sbrk(0), kernel_has = !access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK);
    int failures = 0;
    if (in_heap != small)
        failures += printf("FAIL: text of %zu bytes: a thread's block is %s the program's heap\n", text, in_heap ? "in" : "not in") > 0;
    if (is_huge(at) != (small && kernel_has))
        failures += printf("FAIL: text of %zu bytes: huge pages: %d\n", text, is_huge(at)) > 0;
    fflush(stdout);
    return failures;
}

int
main(void)
{
    int status = 1;
    pid_t child = fork();               /* malloc's options stay */
    if (!child)
        _exit(check(10 << 20, false));
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return check(1000, true) || status;
}
