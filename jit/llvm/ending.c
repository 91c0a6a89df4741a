/* SPDX-License-Identifier: Apache-2.0
 * See ending.h. exit() first runs the destructors of its own thread's variables, then what atexit() registered, the latest first. LLVM makes
 * variables in the middle of a compilation, so what is registered before that comes too late; a thread's destructor is early enough,
 * and atexit() serves where a thread ends the process that never came here. */
#define _GNU_SOURCE
#include "jit/llvm/ending.h"

#ifdef CUDAWAY_LLVM_STATIC

void cwj_ending_watch(void) {}
bool cwj_ending(void) { return false; }
bool cwj_ending_enter(void) { return true; }
void cwj_ending_leave(void) {}

#else

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 60 };

int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);     /* of the C library, for C++'s thread_local */
extern void *__dso_handle;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    unsigned running;
    atomic_bool ending;                 /* written under the lock */
    pid_t process;                      /* which registered: a child of fork has no compilation running */
} g = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER };

/* Not NULL: this thread has registered, before a fork or since. A key, and not a thread-local variable: the first use of such a variable allocates, in a
 * library that was loaded later. */
static pthread_key_t watched;
static bool has_key;

static void
wait_for_compilations(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&g.lock);
    g.ending = true;
    while (g.process == getpid() && g.running && !pthread_cond_timedwait(&g.idle, &g.lock, &until))
        ;
    pthread_mutex_unlock(&g.lock);
}

static void
main_ends(void *unused)
{
    (void)unused;
    wait_for_compilations();
}

void
cwj_ending_watch(void)
{
    pthread_mutex_lock(&g.lock);
    if (g.process != getpid()) {
        g.process = getpid();
        g.running = 0;
    }
    pthread_mutex_unlock(&g.lock);
    /* The main thread alone: another one's destructors also run when just that thread ends. */
    if (!has_key || pthread_getspecific(watched) || syscall(SYS_gettid) != getpid() || pthread_setspecific(watched, &g))
        return;
    (void)__cxa_thread_atexit_impl(main_ends, NULL, &__dso_handle);
}

/* Without memory for a registration the C library ends the process, and so do LLVM's own constructors. Registering now, when the main thread loads the
 * library, adds no such place. */
__attribute__((constructor)) static void
watch_when_loaded(void)
{
    has_key = !pthread_key_create(&watched, NULL);
    cwj_ending_watch();
}

bool
cwj_ending(void)
{
    return atomic_load_explicit(&g.ending, memory_order_relaxed);
}

bool
cwj_ending_enter(void)
{
    static unsigned times;              /* lock: registered again after each of the first compilations, which make most of LLVM's variables */
    cwj_ending_watch();
    pthread_mutex_lock(&g.lock);
    bool may = !g.ending, again = may && times < 8;
    g.running += may;
    times += again;
    pthread_mutex_unlock(&g.lock);
    if (again)
        (void)atexit(wait_for_compilations);
    return may;
}

void
cwj_ending_leave(void)
{
    pthread_mutex_lock(&g.lock);
    if (g.running && --g.running == 0)
        pthread_cond_broadcast(&g.idle);
    pthread_mutex_unlock(&g.lock);
}

#endif
