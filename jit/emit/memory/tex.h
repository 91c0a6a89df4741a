/* SPDX-License-Identifier: Apache-2.0
 * A texture or surface instruction in parts (tex.c), for targets that compute it. Values have either shape. */
#ifndef CWJ_EMIT_MEMORY_TEX_H
#define CWJ_EMIT_MEMORY_TEX_H

#include "jit/emit/emit_private.h"

enum { TEX_MAX_COORDS = 4, TEX_MAX_EXTRA = 8, TEX_MAX_WORDS = 8 };

struct tex_inst {
    const struct ptx_inst *in;
    bool store;                     /* sust, sured: no result */
    ptx_type result_type, coord_type;
    unsigned vec, mode, flags;      /* as in struct cwh_tex */
    unsigned words;                 /* 32-bit words of a component of the value or result */
    LLVMValueRef texture, sampler;  /* i64; sampler NULL in unified mode */
    /* i32 each; the rest NULL. value: what sust and sured store. */
    LLVMValueRef coord[TEX_MAX_COORDS], extra[TEX_MAX_EXTRA], offset[TEX_MAX_COORDS], value[TEX_MAX_WORDS];
};

/* t->in is NULL if this form of the instruction is refused, with a diagnostic. */
void emit_tex_parse(struct emit *e, const struct ptx_inst *in, struct tex_inst *t);
/* Results, as words of i32. */
void emit_tex_result(struct emit *e, const struct tex_inst *t, LLVMValueRef *word);

#endif
