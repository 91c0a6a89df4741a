/* SPDX-License-Identifier: Apache-2.0
 * A C interface for LLD, which has none. Private to jit/. */
#ifndef CWJ_LLVM_LLD_H
#define CWJ_LLVM_LLD_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/buf.h"
#include "impl/base/result.h"

struct cwj_diags;

/* Link relocatable objects and append the result to `out`: with `amdgcn` a code object (a shared object), else a relocatable object.
 * Thread-safe. */
cw_result cwj_lld_link(bool amdgcn, struct cw_buf *const *objects, size_t n, struct cw_buf *out, struct cwj_diags *diags) CW_MUST_CHECK;

/* In lld.cpp: run ld.lld with these arguments (argv[0] included), contained. Abandons the work if it fails (P5906). One call at a time. */
void cwj_lld_run(const char *const *argv, size_t argc);

#ifdef __cplusplus
}
#endif
#endif
