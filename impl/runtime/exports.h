/* SPDX-License-Identifier: Apache-2.0
 * What the generated exports (cudart_exports_N.c) need of the Runtime beside the rt_ functions, and what each of them says of
 * its library. */
#ifndef CW_RUNTIME_EXPORTS_H
#define CW_RUNTIME_EXPORTS_H

#include "impl/api/cuda_runtime.h"

#include <stdbool.h>

extern const int      rt_version;           /* of the library: 11080, 12090, 13000 */
extern const unsigned rt_function_count;    /* of the model */

/* Non-zero during a call through a per-thread variant (_ptsz, _ptds): a copy without a stream is then in the thread's own. */
extern _Thread_local int rt_ptds __attribute__((tls_model("initial-exec")));

/* Somebody looks at the calls: the log (CUDAWAY_LOG=trace) or a recording. Then each goes between rt_before and rt_after
 * (observe.c); args as cw_cuda_print_call takes them. */
extern bool rt_observed;
void rt_before(unsigned function, void *const *args) __attribute__((cold));
struct rt_call { unsigned function; void *const *args; cudaError_t result; };
void rt_after(const struct rt_call *call) __attribute__((cold));

/* Keeps the thread's last error. */
void rt_failed(cudaError_t e) __attribute__((cold));
/* Says once for each function that a program wanted it. cudaErrorNotSupported, kept as the last error. */
cudaError_t rt_unsupported(unsigned function, const char *name, const char *reason) __attribute__((cold));

#endif
