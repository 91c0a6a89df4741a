/* SPDX-License-Identifier: Apache-2.0
 * Work that uses LLVM, where it cannot harm the application: on a thread of its own with a stack of known size, the default
 * floating-point environment, the C locale and blocked signals, and with a recovery point. A fatal error of LLVM, a failed allocation
 * or an exception ends the work with a diagnostic, not the process (docs/contain.md). Private to jit/. */
#ifndef CWJ_LLVM_CONTAIN_H
#define CWJ_LLVM_CONTAIN_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/result.h"

#include <pthread.h>
#include <stdbool.h>

struct cwj_diags;

/* What the work does: until one of a kind has come to its end in this process, LLVM makes tables for it that are never made again. */
enum cwj_contain_kind { CWJ_CONTAIN_HOST, CWJ_CONTAIN_NVPTX, CWJ_CONTAIN_AMDGCN, CWJ_CONTAIN_LINK, CWJ_CONTAIN_LOAD, CWJ_CONTAIN_KINDS };

/* Run work(user) contained and wait for it; on a contained thread, just run it. Returns its result, or why it was abandoned:
 *   CW_ERR_NOMEM     an allocation failed (P5911), or there is no thread to be had (P5913)
 *   CW_ERR_LLVM      a fatal error or an exception of LLVM (P5910)
 * and CW_ERR_LLVM without running it where an earlier failure left LLVM unusable (P5912).
 * Abandoned work leaks what it had allocated, its LLVM context above all: an object in the middle of an operation can neither be used nor
 * destroyed. `diags` belongs to the work meanwhile. No lock of ours is held by the work except through cwj_contain_lock. Any thread, which
 * cannot be cancelled while it waits. */
cw_result cwj_contain(enum cwj_contain_kind kind, cw_result (*work)(void *user), void *user, struct cwj_diags *diags) CW_MUST_CHECK;

/* A lock that is released if the work is abandoned, for at most eight at a time. Elsewhere an ordinary lock. */
void cwj_contain_lock(pthread_mutex_t *lock);
void cwj_contain_unlock(pthread_mutex_t *lock);     /* the one taken last */

/* Between these two LLVM's global tables change: it is unusable if the work is abandoned there, whatever for. */
void cwj_contain_enter_setup(void);
void cwj_contain_leave_setup(void);

/* Abandon the work, with a diagnostic of this code. For our own passes in the middle of LLVM's, and where an LLVM library would
 * end the process. Ends the process, with a log, where nothing is contained. */
__attribute__((noreturn, format(printf, 3, 4))) void cwj_contain_abandon(cw_result r, unsigned code, const char *fmt, ...);

/* What LLVM's C interface allocated, usually a text: itself, or the work is abandoned for want of memory (P5911). */
void *cwj_contain_need(void *allocated);

/* ---- in contain_llvm.cpp: what needs C++ ---------------------------------------------------------------------------------- */

/* Install handlers, once: of LLVM's fatal errors; of its failed allocations; and of operator new, where the last may return. */
void cwj_contain_install(void (*fatal)(const char *reason), void (*no_memory)(const char *reason), void (*no_new)(void));

/* Call work(user). False: a C++ exception came out of it. *no_memory: std::bad_alloc; text: what it says. */
bool cwj_contain_call(void (*work)(void *user), void *user, bool *no_memory, char *text, unsigned size);

#ifdef __cplusplus
}
#endif
#endif
