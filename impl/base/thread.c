/* SPDX-License-Identifier: Apache-2.0
 * See thread.h. */
#define _GNU_SOURCE
#include "impl/base/thread.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct start {
    void *(*fn)(void *);
    void *arg;
    void (*begin)(void);
};

static void *
thread_main(void *user)
{
    const struct start s = *(struct start *)user;
    free(user);
    (void)prctl(PR_SET_NAME, CW_THREAD_NAME);
    fesetenv(FE_DFL_ENV);
    if (s.begin)
        s.begin();
    return s.fn(s.arg);
}

int
cw_thread_create_as(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg, void (*begin)(void))
{
    enum { STACK = 2 << 20 };           /* at least: a process may have made its default as small as a page or two */
    struct start *s = malloc(sizeof *s);
    sigset_t all, old;
    pthread_attr_t own;
    size_t size;
    if (!s)
        return EAGAIN;
    *s = (struct start){ fn, arg, begin };
    int e = attr ? 0 : pthread_attr_init(&own);
    bool made = !attr && !e;
    if (made && !pthread_attr_getstacksize(&own, &size) && size < STACK)
        e = pthread_attr_setstacksize(&own, STACK);
    if (!e) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        e = pthread_create(t, attr ? attr : &own, thread_main, s);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    if (made)
        pthread_attr_destroy(&own);
    if (e)
        free(s);
    return e;
}

void
cw_thread_open_faults(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); uint64_t mask; } now;      /* the kernel's */
    sigset_t set;
    sigemptyset(&set);
    for (size_t n = 0; n < sizeof faults / sizeof *faults; n++)
        /* By number: in the compiler's library, sigaction is that of jit/process.c. */
        if (!syscall(SYS_rt_sigaction, faults[n], NULL, &now, sizeof now.mask) && now.handler != SIG_DFL && now.handler != SIG_IGN)
            sigaddset(&set, faults[n]);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
