/* SPDX-License-Identifier: Apache-2.0
 * Runs work that uses LLVM so that it cannot harm the application: on a thread of its own with a stack of known size, the default
 * floating-point environment, the C locale and blocked signals, and with a recovery point. A fatal error of LLVM, a failed allocation or an
 * exception ends the work with a diagnostic, not the process (docs/contain.md). Private to jit/. */
#ifndef CWJ_LLVM_CONTAIN_H
#define CWJ_LLVM_CONTAIN_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/result.h"

#include <pthread.h>
#include <stdbool.h>

struct cwj_diags;

/* Kinds of work. The first work of each kind in a process makes LLVM build global tables, which later work reuses. */
enum cwj_contain_kind { CWJ_CONTAIN_HOST, CWJ_CONTAIN_NVPTX, CWJ_CONTAIN_AMDGCN, CWJ_CONTAIN_LINK, CWJ_CONTAIN_LOAD, CWJ_CONTAIN_KINDS };

/* Run work(user) contained and wait for it; on a contained thread, just call it. Returns its result, or the reason why it was abandoned:
 *   CW_ERR_NOMEM     an allocation failed (P5911), or no thread could be created (P5913)
 *   CW_ERR_LLVM      a fatal error or an exception of LLVM (P5910)
 * and CW_ERR_LLVM without running it if an earlier failure left LLVM unusable (P5912).
 * Abandoned work leaks its allocations, above all its LLVM context: an object in the middle of an operation can neither be used nor
 * destroyed. `diags` belongs to the work meanwhile. The work holds none of our locks except through cwj_contain_lock. Callable on any
 * thread, which cannot be cancelled while it waits. */
cw_result cwj_contain(enum cwj_contain_kind kind, cw_result (*work)(void *user), void *user, struct cwj_diags *diags) CW_MUST_CHECK;

/* The same for work that a child process does (limit.h): what this process knows of LLVM's state does not change. */
cw_result cwj_contain_elsewhere(enum cwj_contain_kind kind, cw_result (*work)(void *user), void *user, struct cwj_diags *diags) CW_MUST_CHECK;

/* Run what calls LLVM, if at all, through cwj_contain: on the caller's stack if there is plenty of it, else on a thread as above, in both cases with the
 * default floating-point environment and the C locale. Reading a text recurses with it, and the caller may have 16 KiB. Nothing is abandoned.
 * CW_ERR_NOMEM (P5913) if no thread could be created. */
cw_result cwj_with_stack(cw_result (*work)(void *user), void *user, struct cwj_diags *diags) CW_MUST_CHECK;

/* In the child: call end(user, result) when the work has ended, or was abandoned. It does not return. */
void cwj_contain_at_end(void (*end)(void *user, cw_result r), void *user);

/* A lock that is released if the work is abandoned; at most eight at a time. On uncontained threads an ordinary lock. */
void cwj_contain_lock(pthread_mutex_t *lock);
void cwj_contain_unlock(pthread_mutex_t *lock);     /* the one taken last */

/* Between these two, LLVM's global tables change: work abandoned here leaves LLVM unusable, whatever the reason. */
void cwj_contain_enter_setup(void);
void cwj_contain_leave_setup(void);

/* Abandon the work, with a diagnostic of this code: for our passes inside LLVM's pipeline, and where an LLVM library would end the process.
 * Uncontained, it logs and ends the process. */
__attribute__((noreturn, format(printf, 3, 4))) void cwj_contain_abandon(cw_result r, unsigned code, const char *fmt, ...);

/* Abandon the work because the process ends (P5914). */
__attribute__((noreturn)) void cwj_contain_ending(void);

/* Returns memory that LLVM's C interface allocated, usually a text. If it is NULL, abandons the work for lack of memory (P5911). */
void *cwj_contain_need(void *allocated);

/* ---- in contain_llvm.cpp, which needs C++ ---------------------------------------------------------------------------------- */

/* Install handlers, once: for LLVM's fatal errors, its failed allocations, and operator new. Only the last may return. */
void cwj_contain_install(void (*fatal)(const char *reason), void (*no_memory)(const char *reason), void (*no_new)(void));

/* Call work(user). False: a C++ exception escaped. *no_memory: it was std::bad_alloc; text: its message. */
bool cwj_contain_call(void (*work)(void *user), void *user, bool *no_memory, char *text, unsigned size);

#ifdef __cplusplus
}
#endif
#endif
