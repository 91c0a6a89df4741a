/* SPDX-License-Identifier: Apache-2.0
 * See fault.h. `first` is what was installed before us and never changes. `above` is what an application put over our handlers later; it
 * is replaced as a whole, and an old one is never freed, since a handler may be reading it. An application's handler may pass on to ours,
 * which it found when it was installed: a fault that comes back to us from `above` goes to `first`. */
#define _GNU_SOURCE
#include "impl/base/fault.h"

#include "impl/base/log.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
enum { COUNT = sizeof signals / sizeof *signals };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* installing */
static bool installed[COUNT];                               /* lock */
static struct sigaction first[COUNT];
static struct sigaction *_Atomic above[COUNT];
static _Atomic(cw_fault_fn *) owner;
static _Atomic(cw_fault_again_fn *) again;

/* What a thread is at. Keys and not thread-local variables: the handler may run on a thread that never had them, where reading a variable of a
 * library that was loaded later allocates; and the room for variables that do not is small, and this file is in several libraries. */
struct guard {
    sigjmp_buf out;
    volatile uintptr_t address;
};
static pthread_key_t guard_key;                             /* struct guard: what runs guarded, or NULL */
static pthread_key_t context_key, frame_key;                /* the fault that `above` has from us: the handler's context and frame */
static pthread_once_t keys_once = PTHREAD_ONCE_INIT;
static bool keys;

static void
hand_over(const struct sigaction *to, int sig, siginfo_t *info, void *context)
{
    if (to->sa_flags & SA_SIGINFO) {
        to->sa_sigaction(sig, info, context);
    } else if (to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN) {
        /* Ignoring a fault would raise it again for ever; a signal that was sent can be ignored. */
        if (to->sa_handler == SIG_IGN && info->si_code <= 0)
            return;
        signal(sig, SIG_DFL);
        if (info->si_code <= 0)
            raise(sig);
    } else {
        to->sa_handler(sig);
    }
}

static void
on_signal(int sig, siginfo_t *info, void *context)
{
    if (info->si_code > 0) {
        cw_fault_again_fn *may = atomic_load(&again);
        if (may && sig == SIGSEGV && may((uintptr_t)info->si_addr))
            return;
        struct guard *guard = pthread_getspecific(guard_key);
        if (guard && (sig == SIGSEGV || sig == SIGBUS)) {
            guard->address = (uintptr_t)info->si_addr;
            siglongjmp(guard->out, 1);
        }
        cw_fault_fn *fn = atomic_load(&owner);
        if (fn)
            fn(sig, info, context);
    }
    size_t n = 0;
    while (signals[n] != sig)
        n++;
    /* The same fault again, further down this stack: an application's handler passed it on. A handler that was left by a long jump
     * leaves its entry behind, which says nothing of a new fault: that is not further down, or has another context. */
    const void *frame = __builtin_frame_address(0);
    const struct sigaction *top = atomic_load(&above[n]);
    if (!top || (pthread_getspecific(context_key) == context && (uintptr_t)frame < (uintptr_t)pthread_getspecific(frame_key))) {
        hand_over(&first[n], sig, info, context);
        return;
    }
    (void)pthread_setspecific(context_key, context);
    (void)pthread_setspecific(frame_key, frame);
    hand_over(top, sig, info, context);
    (void)pthread_setspecific(context_key, NULL);
}

static bool
is_ours(const struct sigaction *a)
{
    return a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_signal;
}

static bool
same(const struct sigaction *a, const struct sigaction *b)
{
    return a && a->sa_flags == b->sa_flags && a->sa_sigaction == b->sa_sigaction;
}

static void
make_keys(void)
{
    keys = !pthread_key_create(&guard_key, NULL) && !pthread_key_create(&context_key, NULL) && !pthread_key_create(&frame_key, NULL);
    if (!keys)
        cw_error("no thread-specific data is left: faults are not handled, and end the program");
}

static void
install(size_t n)
{
    struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK }, found;
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&lock);
    if (!installed[n]) {
        /* What is there must be known before a fault can ask for it. */
        installed[n] = !sigaction(signals[n], NULL, &first[n]) && !sigaction(signals[n], &ours, NULL);
        if (!installed[n])
            cw_error("cannot handle signal %d: a fault in a kernel will end the program", signals[n]);
    } else if (!sigaction(signals[n], NULL, &found) && !is_ours(&found)) {
        struct sigaction *a = same(atomic_load(&above[n]), &found) ? NULL : malloc(sizeof *a);
        if (a) {
            *a = found;
            atomic_store(&above[n], a);
        }
        if (same(atomic_load(&above[n]), &found))
            (void)sigaction(signals[n], &ours, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void
cw_faults_claim(void)
{
    struct sigaction now;
    pthread_once(&keys_once, make_keys);
    if (!keys)
        return;
    for (size_t n = 0; n < COUNT; n++)
        if (sigaction(signals[n], NULL, &now) || !is_ours(&now))
            install(n);
}

void
cw_faults_owner(cw_fault_fn *fn)
{
    atomic_store(&owner, fn);
}

void
cw_faults_again(cw_fault_again_fn *fn)
{
    atomic_store(&again, fn);
}

void
cw_faults_unblock(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t n = 0; n < COUNT; n++)
        sigaddset(&set, signals[n]);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int
cw_thread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    for (size_t n = 0; n < COUNT; n++)
        sigdelset(&all, signals[n]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(t, attr, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return e;
}

bool
cw_guarded(void (*fn)(void *), void *p, uintptr_t *address)
{
    struct guard here;
    cw_faults_claim();
    struct guard *const outer = keys ? pthread_getspecific(guard_key) : NULL;
    if (sigsetjmp(here.out, 0)) {
        (void)pthread_setspecific(guard_key, outer);
        *address = here.address;
        cw_faults_unblock();
        return false;
    }
    if (keys)
        (void)pthread_setspecific(guard_key, &here);
    fn(p);
    if (keys)
        (void)pthread_setspecific(guard_key, outer);
    return true;
}
