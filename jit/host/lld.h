/* SPDX-License-Identifier: Apache-2.0
 * LLD has no C interface; this is ours. Private to jit/. */
#ifndef CWJ_HOST_LLD_H
#define CWJ_HOST_LLD_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/buf.h"
#include "impl/base/result.h"

struct cwj_diags;

/* Link one amdgcn relocatable object into a code object (a shared object) and append it to `out`. Thread-safe. */
cw_result cwj_lld_link(const void *object, size_t size, struct cw_buf *out, struct cwj_diags *diags) CW_MUST_CHECK;

/* In lld.cpp: run ld.lld with these arguments (argv[0] included). True when it worked; its messages are appended. */
bool cwj_lld_run(const char *const *argv, size_t argc, struct cw_buf *messages);

#ifdef __cplusplus
}
#endif
#endif
