/* SPDX-License-Identifier: Apache-2.0
 * Processor faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL) of what the project runs for a program: queued copies whose memory may be gone, kernels
 * of the host device, the interpreter of AMD code. The application's own faults go to the application's handler, also to one that it
 * installs after ours: cw_faults_claim finds that on top and puts ours above it. */
#ifndef CW_FAULT_H
#define CW_FAULT_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Make our handlers the process's. Any thread, at any time; a system call for each signal. Before anything is run that may fault. */
void cw_faults_claim(void);

/* Runs fn(p), which touches memory that a program named; nothing in it may own what a long jump out of it would lose. False: it
 * faulted at *address and was left in the middle. Claims, nests. */
bool cw_guarded(void (*fn)(void *), void *p, uintptr_t *address);

/* In such work, before memmove, memcpy and memset of any length: those of the address sanitizer end the process where a row lies in the sanitizer's own
 * memory. A plain access faults there, as at any address that a program does not have. */
static inline void
cw_fault_now(const void *row, size_t size)
{
#ifdef __SANITIZE_ADDRESS__
    const volatile uint8_t *p = row;
    if (size)
        (void)p[0], (void)p[size - 1];
#else
    (void)row, (void)size;
#endif
}

/* A row of a copy, in such work. */
static inline void
cw_copy_row(void *to, const void *from, size_t size)
{
    cw_fault_now(to, size);
    cw_fault_now(from, size);
    memmove(to, from, size);
}

/* Another owner of faults (the host engine): called in the signal handler. Where the fault is its own it does not return: it calls cw_faults_leave,
 * which gives the thread back the signal mask that the fault interrupted, and jumps. Set once. */
typedef void cw_fault_fn(int sig, const siginfo_t *info, void *context);
void cw_faults_owner(cw_fault_fn *fn);
void cw_faults_leave(const void *context);

/* Asked first, in the handler of a SIGSEGV; true repeats the access. For pages that cannot be written for a moment. Set once. */
typedef bool cw_fault_again_fn(uintptr_t address);
void cw_faults_again(cw_fault_again_fn *fn);

/* cw_thread_create_as (thread.h) for threads on which cw_faults_open and cw_faults_claim let faults through. */
int cw_thread_create(pthread_t *t, pthread_attr_t *attr, void *(*fn)(void *), void *arg);

/* Lets faults through on a thread of ours that anybody handles. Our handler blocks one again when it comes as a signal that was sent to the process, and
 * sends that again, for another thread. Before anything is run that may fault; cw_faults_claim does it, too. */
void cw_faults_open(void);

#endif
