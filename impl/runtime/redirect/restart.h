/* SPDX-License-Identifier: Apache-2.0
 * The call in progress. Where a copy is found at its first call into the driver, a function of the copy, cudaMalloc say, is on the
 * stack. It ends with an error, because the driver gives it one, and returns to cw_restart's code instead of its caller; that
 * redirects the copy and calls our function of the same name with the same arguments. Where the arguments are is learnt from a
 * second call of the function with marked arguments, in a process that shares this one's memory and runs it one instruction at a
 * time up to where the first call is (docs/static-runtime.md). */
#ifndef CW_REDIRECT_RESTART_H
#define CW_REDIRECT_RESTART_H

#include "impl/runtime/redirect/copy.h"

enum { CW_RESTART_REGISTERS = 6, CW_RESTART_FRAME = 4096 /* bytes of a frame that are looked at */, CW_RESTART_RUNNING = 64, CW_RESTART_PENDING = 512 };

/* A frame of a copy's function: registers that a call preserves, and its stack from the stack pointer up to its return address. */
struct cw_restart_frame {
    const struct cw_copy *copy;
    const struct cw_copy_function *function;
    uintptr_t  return_into;         /* where in the function its callee returns to */
    uintptr_t  saved[6];            /* rbx, rbp, r12, r13, r14, r15 */
    uintptr_t  sp, cfa;             /* cfa - 8 holds the return address */
    uint8_t    stack[CW_RESTART_FRAME];     /* [sp, cfa - 8), as it was */
    bool       interrupted;         /* a signal came in the function itself: there is no callee, and the frame may be half made */
};

/* The outermost function of one of the copies on this thread's stack. False: there is none. `running` gets the entries of the
 * functions on the stack, up to CW_RESTART_RUNNING. */
bool cw_restart_find(struct cw_copy *const *copies, size_t count, struct cw_restart_frame *out, uintptr_t *running, size_t *nrunning);
/* Where that frame's function keeps its arguments while it makes that call; before it is patched. NULL: that cannot be told. */
struct cw_restart_probe *cw_restart_probe(const struct cw_restart_frame *f);
void cw_restart_probe_destroy(struct cw_restart_probe *p);
/* The arguments of a call of the function. False: the probe is of another call site, or what it found does not fit. */
bool cw_restart_arguments(const struct cw_restart_probe *p, const struct cw_restart_frame *f, uint64_t arguments[CW_RESTART_REGISTERS]);

/* Let the frame's function, which is on this thread's stack, return into `done` instead of its caller. Safe in a signal handler. `done` returns the function to call with
 * `arguments` and the caller's stack, or NULL: the caller gets the function's own result. False: this processor keeps a shadow stack,
 * or more than CW_RESTART_PENDING calls are to be taken over. */
typedef void *cw_restart_done(void *user, uint64_t arguments[CW_RESTART_REGISTERS]);
bool cw_restart_at_return(const struct cw_restart_frame *f, cw_restart_done *done, void *user);

#endif
