/* SPDX-License-Identifier: Apache-2.0
 * The error log (logs.c), for what ends a call and what begins a child of fork. */
#ifndef CWD_LOGS_H
#define CWD_LOGS_H

#include "impl/api/cuda.h"

#include <stdatomic.h>
#include <stdbool.h>

/* This thread, or one of the library's own, has said what callbacks have not heard. */
extern _Thread_local bool logs_said __attribute__((tls_model("initial-exec")));
extern _Atomic bool logs_said_elsewhere;

void logs_at_end(CUresult result, const char *function);

/* At the end of each call, when it holds no lock: writes an error into the log, and calls callbacks. */
static inline CUresult
logs_call_ends(CUresult result, const char *function)
{
    const bool fails = result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
    if (__builtin_expect(fails || logs_said || atomic_load_explicit(&logs_said_elsewhere, memory_order_relaxed), 0))
        logs_at_end(result, function);
    return result;
}

/* In the child. */
void logs_forked(void);

#endif
