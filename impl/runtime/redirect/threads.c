/* SPDX-License-Identifier: Apache-2.0
 * See threads.h. A thread in another system call than futex is left alone, since a signal may end that call early, and none of those is
 * how a copy waits. */
#define _GNU_SOURCE
#include "impl/runtime/redirect/threads.h"
#include "impl/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 20,                    /* of interrupting a thread that has just entered the copy */
    PATIENCE_MS = 5000,             /* for a thread to take its signal */
};

/* What the handler works on; one capture at a time. */
static struct {
    struct cw_copy *const *copies;
    size_t ncopies;
    struct cw_thread_call *calls;
    size_t before;                  /* calls of earlier captures */
    _Atomic size_t count;
    cw_restart_done *done;
    void *user;
    _Atomic unsigned answered;
    _Atomic bool again;             /* a thread was where its arguments cannot be told yet */
} now;

static void
interrupted(int signal)
{
    int saved = errno, tid = (int)syscall(SYS_gettid);
    struct cw_restart_frame f;
    uintptr_t running[CW_RESTART_RUNNING];
    size_t nrunning;
    bool known = false;
    size_t n = atomic_load(&now.count);
    for (size_t i = 0; i < n && i < CW_THREADS_MAX; i++)
        known |= now.calls[i].tid == tid;
    if (!known && cw_restart_find(now.copies, now.ncopies, &f, running, &nrunning)) {
        if (f.interrupted) {
            atomic_store(&now.again, true);
        } else {
            size_t i = atomic_fetch_add(&now.count, 1);
            if (i < CW_THREADS_MAX) {
                now.calls[i] = (struct cw_thread_call){ .tid = tid, .frame = f, .user = now.user };
                cw_restart_at_return(&f, now.done, &now.calls[i]);
            }
        }
    }
    errno = saved;
    atomic_fetch_add(&now.answered, 1);
}

static bool
read_line(int tid, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, file);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    return n > 0;
}

/* Whether the thread runs or waits in futex, and takes the signal. */
static bool
is_candidate(int tid, int signal)
{
    char text[8192];
    if (!read_line(tid, "syscall", text, sizeof text) || (strncmp(text, "running", 7) && strtol(text, NULL, 10) != SYS_futex))
        return false;
    const char *blocked = read_line(tid, "status", text, sizeof text) ? strstr(text, "SigBlk:") : NULL;
    return blocked && !(strtoull(blocked + 7, NULL, 16) >> (signal - 1) & 1);
}

static unsigned
interrupt_all(int signal)
{
    unsigned sent = 0;
    int own = (int)syscall(SYS_gettid), pid = getpid();
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) {
        int tid = (int)strtol(e->d_name, NULL, 10);
        if (tid > 0 && tid != own && is_candidate(tid, signal))
            sent += !syscall(SYS_tgkill, pid, tid, signal);
    }
    if (d)
        closedir(d);
    return sent;
}

/* A real-time signal that nobody handles, or 0. */
static int
free_signal(struct sigaction *old)
{
    for (int s = SIGRTMAX; s >= SIGRTMIN; s--)
        if (!sigaction(s, NULL, old) && !(old->sa_flags & SA_SIGINFO) && old->sa_handler == SIG_DFL)
            return s;
    return 0;
}

static void
pause_ms(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static bool
is_alone(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));)
        n += *e->d_name != '.';
    if (d)
        closedir(d);
    return n <= 1;
}

size_t
cw_threads_capture(struct cw_copy *const *copies, size_t ncopies, struct cw_thread_call *calls, size_t count, cw_restart_done *done, void *user)
{
    struct sigaction old, mine = { .sa_handler = interrupted, .sa_flags = SA_RESTART | SA_ONSTACK };
    sigfillset(&mine.sa_mask);
    int signal = is_alone() ? 0 : free_signal(&old);
    now.copies = copies;
    now.ncopies = ncopies;
    now.calls = calls;
    now.done = done;
    now.user = user;
    atomic_store(&now.count, count);
    if (!signal || sigaction(signal, &mine, NULL))
        return count;
    bool all = true;
    for (unsigned round = 0; round < ROUNDS; round++) {
        atomic_store(&now.again, false);
        atomic_store(&now.answered, 0);
        unsigned sent = interrupt_all(signal);
        for (unsigned ms = 0; atomic_load(&now.answered) < sent && ms < PATIENCE_MS; ms++)
            pause_ms();
        all = atomic_load(&now.answered) >= sent;
        if (!all || !atomic_load(&now.again))
            break;
        pause_ms();
    }
    /* A signal that is still on its way would end the process if nobody handled it. */
    if (all)
        sigaction(signal, &old, NULL);
    else
        cw_warn("a thread did not take signal %d; its handler stays", signal);
    size_t n = atomic_load(&now.count);
    return n < CW_THREADS_MAX ? n : CW_THREADS_MAX;
}
