/* SPDX-License-Identifier: Apache-2.0
 * LLVM's code generator with our passes between its own. Private to jit/llvm. */
#ifndef CWJ_LLVM_CODEGEN_H
#define CWJ_LLVM_CODEGEN_H

#ifdef __cplusplus
extern "C" {
#endif

#include "jit/llvm/pipeline.h"

/* Object code or assembly of p->m; with p->stopped set, machine IR as text in p->passes->printed. verify: the machine IR behind
 * each pass of ours and at the end. The caller disposes of *out. CW_ERR_LLVM with a diagnostic where the target cannot make it or a
 * pass that is required has no place in this LLVM's code generator. */
cw_result cwj_codegen(struct cwj_pipeline *p, bool assembly, bool verify, LLVMMemoryBufferRef *out) CW_MUST_CHECK;

/* Append the code generator's passes, LLVM's by their arguments and ours by their names, in order. */
cw_result cwj_codegen_print(enum cwj_target target, const char *cpu, unsigned opt_level, struct cw_buf *out, struct cwj_diags *diags) CW_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
