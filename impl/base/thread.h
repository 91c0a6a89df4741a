/* SPDX-License-Identifier: Apache-2.0
 * Threads of ours in a program of others. Has no thread-local variables: the compiler's library has none that come with the thread, for which there is
 * little room when a library is loaded late. */
#ifndef CW_THREAD_H
#define CW_THREAD_H

#include <pthread.h>

/* pthread_create. The thread has the default floating-point environment and all signals blocked, and calls `begin` first if that is not NULL. attr NULL: a stack
 * of the process's default size, but 2 MiB at least. EAGAIN: no memory. The name, which the thread may extend, tells such threads from the program's. */
#define CW_THREAD_NAME "cudaway"
int cw_thread_create_as(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg, void (*begin)(void));

/* Lets those of SIGSEGV, SIGBUS, SIGFPE and SIGILL through on the calling thread that anybody handles; the others end the process though they are
 * blocked. */
void cw_thread_open_faults(void);

#endif
