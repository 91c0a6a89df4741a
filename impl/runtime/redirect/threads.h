/* SPDX-License-Identifier: Apache-2.0
 * Other threads that are inside of a copy when it is redirected: they wait for the thread that opens the driver, and would get its
 * error. Each is interrupted by a signal, finds its own call, and takes it over when that returns, as restart.h has it. */
#ifndef CW_REDIRECT_THREADS_H
#define CW_REDIRECT_THREADS_H

#include "impl/runtime/redirect/restart.h"

enum { CW_THREADS_MAX = 256 };

struct cw_thread_call {
    int   tid;
    struct cw_restart_frame frame;
    bool  has_arguments;
    uint64_t arguments[CW_RESTART_REGISTERS];
    void *user;                     /* the caller's */
};

/* Interrupt this process's other threads that run or wait for a lock. Those inside of one of the copies that are not in `calls` yet are
 * added to it, and return into `done` with their element as its user. Returns the new count. Not reentrant. */
size_t cw_threads_capture(struct cw_copy *const *copies, size_t ncopies, struct cw_thread_call *calls, size_t count, cw_restart_done *done, void *user);

#endif
