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

struct process {
    pid_t pid, parent;
    unsigned threads;
    bool ours;
};

/* False: there is no such process. proc_pid_stat(5): the parent is field 4, the number of threads field 20. */
static bool
look_up(pid_t pid, struct process *p)
{
    char path[64], text[512];
    int parent;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *end = strrchr(text, ')');       /* the name before may hold anything */
    *p = (struct process){ .pid = pid };
    if (!end || sscanf(end + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u", &parent, &p->threads) != 2)
        return false;
    p->parent = parent;
    return true;
}

pid_t
cw_parent_of(pid_t process)
{
    struct process p;
    return look_up(process, &p) ? p.parent : 0;
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

/* Calls it for each process until it gives false. False then, and without /proc. */
static bool
each_process(bool (*take)(const struct process *p, void *user), void *user)
{
    struct process p;
    DIR *d = opendir("/proc");
    bool ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && look_up((pid_t)atoi(e->d_name), &p))
            ok = take(&p, user);
    if (d)
        closedir(d);
    return ok;
}

static bool
inherit(const struct process *x, void *user)
{
    (void)user;
    if (x->parent != getpid())
        return true;
    pid_t *p = realloc(inherited, (ninherited + 1) * sizeof *p);
    if (!p)
        return false;
    inherited = p;
    inherited[ninherited++] = x->pid;
    return true;
}

bool
cw_children_adopt(void)
{
    return (!has_children() || each_process(inherit, NULL)) && !prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool
end_child(const struct process *p, void *any)
{
    if (p->parent == getpid() && !is_inherited(p->pid)) {
        *(bool *)any = true;
        kill(p->pid, SIGKILL);
        (void)waitpid(p->pid, NULL, WNOHANG);
    }
    return true;
}

/* Whoever is killed leaves his children to this process, so each round gets one generation further. */
bool
cw_children_end(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        bool any = false;
        if (!has_children() || (each_process(end_child, &any) && !any))
            return true;
        (void)nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return false;
}

/* ---- how many ---------------------------------------------------------------------------------------------------------------- */

struct processes {
    struct process *at;
    size_t count, capacity;
};

static bool
add(const struct process *p, void *user)
{
    struct processes *all = user;
    if (all->count == all->capacity) {
        const size_t capacity = all->capacity ? 2 * all->capacity : 256;
        struct process *more = realloc(all->at, capacity * sizeof *more);
        if (!more)
            return false;
        all->at = more;
        all->capacity = capacity;
    }
    all->at[all->count++] = *p;
    return true;
}

static int
by_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Whether another one was found. */
static bool
find_ours(struct processes *all)
{
    bool found = false;
    for (size_t i = 0; i < all->count; i++) {
        struct process *p = &all->at[i];
        const struct process key = { .pid = p->parent }, *parent = p->ours ? NULL : bsearch(&key, all->at, all->count, sizeof key, by_pid);
        p->ours = p->ours || (p->parent == getpid() ? !is_inherited(p->pid) : parent && parent->ours);
        found = found || (p->ours && parent);
    }
    return found;
}

unsigned
cw_children_tasks(void)
{
    struct processes all = { .count = 0 };
    unsigned n = 0;
    (void)each_process(add, &all);              /* without memory, those that were found */
    if (all.count)
        qsort(all.at, all.count, sizeof *all.at, by_pid);
    while (find_ours(&all))
        ;
    for (size_t i = 0; i < all.count; i++)
        n += all.at[i].ours ? all.at[i].threads : 0;
    free(all.at);
    return n;
}

unsigned
cw_system_tasks(void)
{
    unsigned n = 0;
    FILE *f = fopen("/proc/loadavg", "re");
    if (f && fscanf(f, "%*s %*s %*s %*u/%u", &n) != 1)
        n = 0;
    if (f)
        fclose(f);
    return n;
}
