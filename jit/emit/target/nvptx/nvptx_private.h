/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit for nvptx. */
#ifndef CWJ_EMIT_TARGET_NVPTX_NVPTX_PRIVATE_H
#define CWJ_EMIT_TARGET_NVPTX_NVPTX_PRIVATE_H

#include "jit/emit/emit_private.h"

/* inst_asm.c */
/* An instruction that writes or reads the carry, or stands between such: true when it is emitted, with the rest of its chain. */
bool emit_carry_chain(struct emit *e, const struct ptx_inst *first);
LLVMValueRef emit_ptx_text(struct emit *e, const char *text, const char *constraints, LLVMTypeRef ret, LLVMValueRef *args,
                           unsigned n, bool effects);

/* nvptx.c: what LLVM calls a kernel's parameter, as the text of inline assembly */
const char *emit_ptx_param(struct emit *e, const struct ptx_symbol *param);

#endif
