/* SPDX-License-Identifier: Apache-2.0
 * Threads of ours in a program of others. Has no thread-local variables: the compiler's library has none that come with the thread, for which there is
 * little room when a library is loaded late. */
#ifndef CW_THREAD_H
#define CW_THREAD_H

#include <pthread.h>

/* pthread_create. The thread has the default floating-point environment and all signals blocked, and calls `begin` first if that is not NULL. SIGSYS stays open if
 * the calling thread has it open and the program handles it: a filter of system calls may raise it, which ends the process where it is blocked. attr: gets the
 * signal mask; NULL: a stack of the process's default size, but 2 MiB at least. EAGAIN: no memory. The name, which the thread may extend, tells such threads from
 * the program's. */
#define CW_THREAD_NAME "cudaway"
int cw_thread_create_as(pthread_t *t, pthread_attr_t *attr, void *(*fn)(void *), void *arg, void (*begin)(void));

/* pthread_create of a detached thread that calls functions of the program: it has the signal mask, the floating-point environment and the name of the calling
 * thread, and a stack as above. */
int cw_thread_create_for_program(void *(*fn)(void *), void *arg);

/* Lets those of SIGSEGV, SIGBUS, SIGFPE and SIGILL through on the calling thread that anybody handles; the others end the process though they are
 * blocked. */
void cw_thread_open_faults(void);

#endif
