/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit for nvptx. */
#ifndef CWJ_EMIT_TARGET_NVPTX_NVPTX_PRIVATE_H
#define CWJ_EMIT_TARGET_NVPTX_NVPTX_PRIVATE_H

#include "jit/emit/emit_private.h"

/* inst_asm.c */
/* Emit the chain of an instruction that writes or reads the carry, or stands in between: true if emitted, with the rest of its chain. */
bool emit_carry_chain(struct emit *e, const struct ptx_inst *first);
LLVMValueRef emit_ptx_text(struct emit *e, const char *text, const char *constraints, LLVMTypeRef ret, LLVMValueRef *args,
                           unsigned n, bool effects);

/* nvptx.c: LLVM's name for a kernel parameter, as inline assembly text */
const char *emit_ptx_param(struct emit *e, const struct ptx_symbol *param);

/* A texture, surface or sampler reference. */
static inline bool
is_reference(const struct ptx_symbol *s)
{
    return ptx_type_class((ptx_type)s->type) == PTX_CLASS_OPAQUE || s->space == PTX_SPACE_TEX;
}

#endif
