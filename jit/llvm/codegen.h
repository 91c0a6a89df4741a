/* SPDX-License-Identifier: Apache-2.0
 * LLVM's code generator with our passes between its own. Private to jit/llvm. */
#ifndef CWJ_LLVM_CODEGEN_H
#define CWJ_LLVM_CODEGEN_H

#ifdef __cplusplus
extern "C" {
#endif

#include "jit/llvm/pipeline.h"

/* Object code or assembly of p->m; with p->stopped set, machine IR as text in p->passes->printed. verify: check the machine IR after each
 * pass of ours and at the end. The caller disposes of *out. CW_ERR_LLVM, with a diagnostic, if the target cannot compile it or this LLVM's
 * code generator lacks the place for a required pass. */
cw_result cwj_codegen(struct cwj_pipeline *p, bool assembly, bool verify, LLVMMemoryBufferRef *out) CW_MUST_CHECK;

/* Append the code generator's passes in order: LLVM's by their arguments, ours by their names. */
cw_result cwj_codegen_print(enum cwj_target target, const char *cpu, unsigned opt_level, struct cw_buf *out, struct cwj_diags *diags) CW_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
