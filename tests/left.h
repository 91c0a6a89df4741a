/* SPDX-License-Identifier: Apache-2.0
 * For programs that leave calls by a long jump out of their handler of SIGSEGV: the locks that a thread keeps then. The functions that lock are the
 * program's here, so it sees each lock. Included first, with _GNU_SOURCE. */
#ifndef TESTS_LEFT_H
#define TESTS_LEFT_H

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Given in place of memory (tests/any.h). */
static void *
untouchable(void)
{
    static void *p;
    if (!p)
        p = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p;
}
#define ABSENT untouchable()

/* ---- what this thread has locked ---- */

static _Thread_local struct { const void *lock, *from; } held[32];
static _Thread_local unsigned count;

static int
locked(int e, const void *lock, const void *from)
{
    if (!e && count < sizeof held / sizeof *held) {
        held[count].lock = lock;
        held[count++].from = from;
    }
    return e;
}

static void
unlocked(const void *lock)
{
    for (unsigned i = count; i-- > 0;)
        if (held[i].lock == lock) {
            held[i] = held[--count];
            return;
        }
}

#define PUBLIC __attribute__((visibility("default")))

/* The C library's, found once: dlsym waits for whoever loads a library, which may wait for a thread that locks. */
static struct {
    int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
    int (*rdlock)(pthread_rwlock_t *), (*wrlock)(pthread_rwlock_t *), (*rwunlock)(pthread_rwlock_t *);
} real;

static void __attribute__((constructor))
find_real(void)
{
#define FIND(member, name) real.member = (__typeof__(real.member))dlsym(RTLD_NEXT, #name)
    FIND(lock, pthread_mutex_lock);
    FIND(unlock, pthread_mutex_unlock);
    FIND(rdlock, pthread_rwlock_rdlock);
    FIND(wrlock, pthread_rwlock_wrlock);
    FIND(rwunlock, pthread_rwlock_unlock);
#undef FIND
}

/* Constructors of libraries lock before this program's own has run. */
#define REAL(member) ((real.member ? (void)0 : find_real()), real.member)

PUBLIC int pthread_mutex_lock(pthread_mutex_t *m) { return locked(REAL(lock)(m), m, __builtin_return_address(0)); }
PUBLIC int pthread_mutex_unlock(pthread_mutex_t *m) { unlocked(m); return REAL(unlock)(m); }
PUBLIC int pthread_rwlock_rdlock(pthread_rwlock_t *l) { return locked(REAL(rdlock)(l), l, __builtin_return_address(0)); }
PUBLIC int pthread_rwlock_wrlock(pthread_rwlock_t *l) { return locked(REAL(wrlock)(l), l, __builtin_return_address(0)); }
PUBLIC int pthread_rwlock_unlock(pthread_rwlock_t *l) { unlocked(l); return REAL(rwunlock)(l); }

/* ---- leaving ---- */

static sigjmp_buf leave;
static volatile sig_atomic_t in_call;
static unsigned left;                   /* calls */

/* What a thread of the library's touches in vain is not the program's to know. */
static void
on_fault(int sig)
{
    if (in_call && gettid() == getpid())
        siglongjmp(leave, 1);
    signal(sig, SIG_DFL);
}

static void
handle_faults(void)
{
    const struct sigaction a = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
    sigaction(SIGSEGV, &a, NULL);
}

/* The number of locks that this thread keeps, with a line for each. */
static unsigned
kept(void)
{
    for (unsigned n = 0; n < count; n++) {
        Dl_info library = { 0 };
        dladdr(held[n].from, &library);
        fprintf(stderr, "a lock is kept that was taken at %s+0x%lx\n", library.dli_fname, (unsigned long)((uintptr_t)held[n].from - (uintptr_t)library.dli_fbase));
    }
    return count;
}

/* Make a call that may fault. True: it was left. */
#define IS_LEFT(call)                                                                                                  \
    (sigsetjmp(leave, 1) ? (in_call = false, left++, true) : (in_call = true, (void)(call), in_call = false, false))

#endif
