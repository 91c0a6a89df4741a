/* SPDX-License-Identifier: Apache-2.0
 * pthread_once for the release form of cudaway-cc (docs/performance.md). glibc's wakes those that may wait for the one that runs the
 * routine, and that is a system call, whether somebody waits or not. LLVM registers its passes with one each: 330 before the first
 * function is compiled. Here somebody who waits leaves word.
 *
 * The program's own only (and the libraries' that are linked in): glibc has other flags. Invariant: no routine throws or is cancelled
 * (LLVM is built without exceptions), so that one that began also ends. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NEW = PTHREAD_ONCE_INIT, RUNNING, WAITED_FOR, DONE };

_Static_assert(sizeof(pthread_once_t) == sizeof(atomic_int), "the flag is a number that a futex can be");

int
pthread_once(pthread_once_t *flag, void (*routine)(void))
{
    atomic_int *state = (atomic_int *)flag;
    int was = atomic_load_explicit(state, memory_order_acquire);
    if (was == DONE)
        return 0;
    was = NEW;
    if (atomic_compare_exchange_strong(state, &was, RUNNING)) {
        routine();
        if (atomic_exchange(state, DONE) == WAITED_FOR)
            syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
        return 0;
    }
    while (was != DONE)
        if (was == WAITED_FOR || atomic_compare_exchange_strong(state, &was, WAITED_FOR)) {
            syscall(SYS_futex, state, FUTEX_WAIT_PRIVATE, WAITED_FOR, NULL, NULL, 0);   /* or it is no longer so */
            was = atomic_load(state);
        }
    return 0;
}
