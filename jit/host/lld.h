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

/* Link relocatable objects and append the result to `out`: for `amdgcn` a code object (a shared object), else a relocatable object
 * again. Thread-safe. */
cw_result cwj_lld_link(bool amdgcn, struct cw_buf *const *objects, size_t n, struct cw_buf *out, struct cwj_diags *diags) CW_MUST_CHECK;

/* In amd_link.c: what cwj_lld_link(true, ...) appends, for one object with nothing but text, constants and metadata. False, and nothing
 * appended, where it is not such an object, damaged or there is no memory: LLD links it, or says what is wrong. A failure to append is
 * noted in `out` as usual. */
bool cwj_amd_link(const struct cw_buf *object, struct cw_buf *out) CW_MUST_CHECK;

/* In lld.cpp: LLD's name and version as it writes them; lives for ever. */
const char *cwj_lld_version(void);

/* In lld.cpp: set a boolean option of LLVM's: LLD, which resets all options when it runs, resets it to this. No effect where LLVM has no
 * such option. No other thread may read it meanwhile. */
void cwj_llvm_set_option(const char *option, bool value);
void cwj_llvm_set_choice(const char *option, bool value);       /* of those that have a third value, unset */
void cwj_llvm_set_number(const char *option, unsigned value);
void cwj_llvm_set_long(const char *option, unsigned long value);
/* In lld.cpp: the same, as if a command line had it, for those of which LLVM asks whether one did. Lasts until LLD runs. */
void cwj_llvm_give_option(const char *option, bool value);

/* In lld.cpp: run ld.lld with these arguments (argv[0] included). True when it worked; its messages are appended. */
bool cwj_lld_run(const char *const *argv, size_t argc, struct cw_buf *messages);

#ifdef __cplusplus
}
#endif
#endif
