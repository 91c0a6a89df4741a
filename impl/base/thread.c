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

/* The default, but for the stack. */
static int
init(pthread_attr_t *attr)
{
    enum { STACK = 2 << 20 };           /* at least: a process may have made its default as small as a page or two */
    size_t size;
    int e = pthread_attr_init(attr);
    if (!e && !pthread_attr_getstacksize(attr, &size) && size < STACK && (e = pthread_attr_setstacksize(attr, STACK)))
        pthread_attr_destroy(attr);
    return e;
}

/* By number: in the compiler's library, sigaction is that of jit/process.c. */
static bool
is_handled(int signal)
{
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); uint64_t mask; } now;      /* the kernel's */
    return !syscall(SYS_rt_sigaction, signal, NULL, &now, sizeof now.mask) && now.handler != SIG_DFL && now.handler != SIG_IGN;
}

/* The calling thread, the program's, keeps its signals open: pthread_create takes locks of the C library, whose holder a garbage collector may have stopped. It
 * waits for this thread to take its signal, too. */
static int
block(pthread_attr_t *attr)
{
    sigset_t now, mask;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    sigfillset(&mask);
    if (!sigismember(&now, SIGSYS) && is_handled(SIGSYS))
        sigdelset(&mask, SIGSYS);
    return pthread_attr_setsigmask_np(attr, &mask);
}

int
cw_thread_create_as(pthread_t *t, pthread_attr_t *attr, void *(*fn)(void *), void *arg, void (*begin)(void))
{
    struct start *s = malloc(sizeof *s);
    pthread_attr_t standard, *a = attr ? attr : &standard;
    if (!s)
        return EAGAIN;
    *s = (struct start){ fn, arg, begin };
    int e = attr ? 0 : init(a);
    if (!e) {
        e = block(a);
        if (!e)
            e = pthread_create(t, a, thread_main, s);
        if (!attr)
            pthread_attr_destroy(a);
    }
    if (e)
        free(s);
    return e;
}

int
cw_thread_create_for_program(void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t t;
    int e = init(&attr);
    if (e)
        return e;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    e = pthread_create(&t, &attr, fn, arg);
    pthread_attr_destroy(&attr);
    return e;
}

void
cw_thread_open_faults(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    sigset_t set;
    sigemptyset(&set);
    for (size_t n = 0; n < sizeof faults / sizeof *faults; n++)
        if (is_handled(faults[n]))
            sigaddset(&set, faults[n]);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
