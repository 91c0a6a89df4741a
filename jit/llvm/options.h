/* SPDX-License-Identifier: Apache-2.0
 * LLVM's command-line options that differ from its defaults: one table, in options.cpp, applied to the process's LLVM before anything else is
 * done with it. So none depends on what was compiled before; what belongs to one processor or one kernel is said in other ways (function
 * attributes, features, cwj_machine_passes_disable). Private to jit/. */
#ifndef CWJ_LLVM_OPTIONS_H
#define CWJ_LLVM_OPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/buf.h"
#include "jit/jit.h"

struct cw_sha256;

/* Set them, once, before code is generated on any thread. */
void cwj_options_set(void);

/* After that: the first option that code for `target` is wrong without and that this LLVM refused; NULL: there is none. */
const char *cwj_options_missing(enum cwj_target target);

/* Which are set, to what: for the key of a cache. Does not use LLVM. Any thread. */
void cwj_options_hash(struct cw_sha256 *s);

/* Append them as text, a line each: name, value, what for, whether this LLVM has it. */
void cwj_options_print(struct cw_buf *out);

#ifdef __cplusplus
}
#endif
#endif
