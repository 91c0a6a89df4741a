/* SPDX-License-Identifier: Apache-2.0
 * LLVM's command-line options that differ from its defaults: one table, in options.cpp, applied before LLVM is used in this process, so
 * that none depends on earlier compilations. Settings of one processor or one kernel take other ways (function attributes, features,
 * cwj_machine_passes_disable). Private to jit/. */
#ifndef CWJ_LLVM_OPTIONS_H
#define CWJ_LLVM_OPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "impl/base/buf.h"
#include "jit/jit.h"

struct cw_sha256;

/* Set them, once, before any thread generates code. */
void cwj_options_set(void);

/* After that: the first option that correct code for `target` needs and that this LLVM refused; NULL: none. */
const char *cwj_options_missing(enum cwj_target target);

/* Hash the options and values that are set, for a cache key. Does not use LLVM. Any thread. */
void cwj_options_hash(struct cw_sha256 *s);

/* Append them as text, one per line: name, value, purpose, whether this LLVM has it. */
void cwj_options_print(struct cw_buf *out);

#ifdef __cplusplus
}
#endif
#endif
