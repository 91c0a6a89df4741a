/* SPDX-License-Identifier: Apache-2.0
 * Processor faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL) of what the project runs for a program: queued copies whose memory may be gone, kernels
 * of the host device, the interpreter of AMD code. The application's own faults go to the application's handler, also to one that it
 * installs after ours: cw_faults_claim finds that on top and puts ours above it. */
#ifndef CW_FAULT_H
#define CW_FAULT_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Make our handlers the process's. Any thread, at any time; a system call for each signal. Before anything is run that may fault. */
void cw_faults_claim(void);

/* Runs fn(p), which touches memory that a program named; nothing in it may own what a long jump out of it would lose. False: it
 * faulted at *address and was left in the middle. Claims, nests. */
bool cw_guarded(void (*fn)(void *), void *p, uintptr_t *address);

/* Another owner of faults (the host engine): called in the signal handler; it does not return where the fault is its own. Set once. */
typedef void cw_fault_fn(int sig, const siginfo_t *info, void *context);
void cw_faults_owner(cw_fault_fn *fn);

/* Asked first, in the handler of a SIGSEGV; true repeats the access. For pages that cannot be written for a moment. Set once. */
typedef bool cw_fault_again_fn(uintptr_t address);
void cw_faults_again(cw_fault_again_fn *fn);

/* pthread_create for threads of ours in a program of others: its signals go to its own threads, faults excepted, which are the thread's. */
int cw_thread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

/* The calling thread runs again after a fault: the signals that were blocked for the handler are let through. */
void cw_faults_unblock(void);

#endif
