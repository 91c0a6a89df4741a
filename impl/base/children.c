/* SPDX-License-Identifier: Apache-2.0
 * See children.h. */
#define _GNU_SOURCE
#include "impl/base/children.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void
cw_child_dies_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        (void)raise(SIGKILL);
}

pid_t
cw_parent_of(pid_t process)
{
    char path[64], text[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *end = strrchr(text, ')');       /* the name before may hold anything */
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static pid_t *inherited;        /* children from before, which are others' affair */
static size_t ninherited;

static bool
has_children(void)
{
    siginfo_t info;
    return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || errno != ECHILD;
}

static bool
is_inherited(pid_t pid)
{
    for (size_t i = 0; i < ninherited; i++)
        if (inherited[i] == pid)
            return true;
    return false;
}

/* Calls it for each child until it gives false. False then, and without /proc. */
static bool
each_child(bool (*take)(pid_t pid, void *user), void *user)
{
    DIR *d = opendir("/proc");
    bool ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && cw_parent_of(atoi(e->d_name)) == getpid())
            ok = take((pid_t)atoi(e->d_name), user);
    if (d)
        closedir(d);
    return ok;
}

static bool
inherit(pid_t pid, void *user)
{
    (void)user;
    pid_t *p = realloc(inherited, (ninherited + 1) * sizeof *p);
    if (!p)
        return false;
    inherited = p;
    inherited[ninherited++] = pid;
    return true;
}

bool
cw_children_adopt(void)
{
    return (!has_children() || each_child(inherit, NULL)) && !prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool
end_child(pid_t pid, void *any)
{
    if (!is_inherited(pid)) {
        *(bool *)any = true;
        kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, WNOHANG);
    }
    return true;
}

/* Whoever is killed leaves his children to this process, so each round gets one generation further. */
bool
cw_children_end(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        bool any = false;
        if (!has_children() || (each_child(end_child, &any) && !any))
            return true;
        (void)nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return false;
}
