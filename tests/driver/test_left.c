/* SPDX-License-Identifier: Apache-2.0
 * Any function of the driver with addresses that cannot be touched (any_call.h), in a program whose handler of SIGSEGV leaves the call by a long jump: no lock is
 * kept, since calls touch the program's memory without one. The program has the functions that lock. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

static void *untouchable(void);
#define ABSENT untouchable()
#include "tests/driver/any_call.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>

static void *
untouchable(void)
{
    static void *p;
    if (!p)
        p = mmap(NULL, OUT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p;
}

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
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

PUBLIC int pthread_mutex_lock(pthread_mutex_t *m) { return locked(REAL(pthread_mutex_lock)(m), m, __builtin_return_address(0)); }
PUBLIC int pthread_mutex_unlock(pthread_mutex_t *m) { unlocked(m); return REAL(pthread_mutex_unlock)(m); }
PUBLIC int pthread_rwlock_rdlock(pthread_rwlock_t *l) { return locked(REAL(pthread_rwlock_rdlock)(l), l, __builtin_return_address(0)); }
PUBLIC int pthread_rwlock_wrlock(pthread_rwlock_t *l) { return locked(REAL(pthread_rwlock_wrlock)(l), l, __builtin_return_address(0)); }
PUBLIC int pthread_rwlock_unlock(pthread_rwlock_t *l) { unlocked(l); return REAL(pthread_rwlock_unlock)(l); }

/* ---- */

static sigjmp_buf leave;
static volatile sig_atomic_t in_call;

static void
on_fault(int sig)
{
    if (in_call)
        siglongjmp(leave, 1);
    signal(sig, SIG_DFL);
}

int
main(int argc, char **argv)
{
    static time_t end;
    static struct dice s;
    end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
    s = (struct dice){ .state = 0x9e3779b97f4a7c15ull };
    const struct sigaction a = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
    static unsigned left;
    sigaction(SIGSEGV, &a, NULL);
    lenient = true;
    no_log();
    OK(cuInit(0));
    make_contexts();
    static unsigned i;
    for (; time(NULL) < end && !failures; i++) {
        if (i % 8 == 0)
            (void)cuCtxSetCurrent(atomic_load(&contexts[rnd(&s) % CONTEXTS]));
        if (i % 4 == 0)
            work_step(&s);
        if (i % 1024 == 0)
            context_step(&s);
        if (!sigsetjmp(leave, 1)) {
            in_call = true;
            any_step(&s);
            in_call = false;
            continue;
        }
        in_call = false;
        left++;
        for (unsigned n = 0; n < count; n++) {
            Dl_info library = { 0 };
            dladdr(held[n].from, &library);
            fprintf(stderr, "a lock is kept that was taken at %s+0x%lx\n", library.dli_fname, (unsigned long)((uintptr_t)held[n].from - (uintptr_t)library.dli_fbase));
            failures++;
        }
    }
    printf("%u calls left\n", left);
    EXPECT(left > 100);
    fflush(NULL);
    _exit(failures != 0);       /* what the calls that were left had is lost */
}
