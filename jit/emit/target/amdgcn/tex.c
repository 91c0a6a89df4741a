/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface instructions on amdgcn: calls of the device library (jit/builtins/tex.c; image.c for the processor's texture units),
 * one per lane. */
#include "jit/emit/target/amdgcn/amdgcn_private.h"
#include "jit/emit/memory/tex.h"

#include <string.h>

/* Up to four words as a vector. Missing ones are zero with `zeros`; else poison. */
static LLVMValueRef
four(struct emit *e, LLVMValueRef *word, unsigned n, bool zeros)
{
    LLVMTypeRef type = LLVMVectorType(e->i32, 4);
    LLVMValueRef v = zeros ? LLVMConstNull(type) : LLVMGetPoison(type);
    for (unsigned i = 0; i < n && i < 4; i++)
        if (word[i])
            v = LLVMBuildInsertElement(e->b, v, word[i], i32(e, i), "");
    return v;
}

/* Fetches for which the device library has short code, if the texture is plain, too (jit/abi/texture.h). */
static bool
is_plain(const struct ptx_inst *in, const struct tex_inst *t)
{
    return in->op == PTX_OP_TEX && !t->flags && t->coord_type == PTX_F32 && (in->geom == PTX_GEOM_1D || in->geom == PTX_GEOM_2D) &&
           (t->result_type == PTX_F32 || t->result_type == PTX_S32 || t->result_type == PTX_U32);
}

void
emit_gcn_texture(struct emit *e, const struct ptx_inst *in)
{
    struct tex_inst t;
    emit_tex_parse(e, in, &t);
    if (!t.in)
        return;
    const bool native = emit_session(e)->textures_native;
    bool fetch = in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4, query = in->op == PTX_OP_TXQ || in->op == PTX_OP_SUQ;
    if (is_plain(in, &t))
        t.flags |= CWH_TEX_PLAIN;
    LLVMTypeRef words = LLVMVectorType(e->i32, 4);
    LLVMValueRef args[7] = { t.texture, i32(e, (uint32_t)in->op | (uint32_t)in->geom << 16 | (uint32_t)t.coord_type << 24),
                             i32(e, (uint32_t)t.result_type | t.vec << 8 | t.mode << 16 | t.flags << 24) };
    LLVMValueRef word[TEX_MAX_WORDS] = { NULL }, r;
    if (query) {
        args[3] = t.extra[0] ? t.extra[0] : i32(e, 0);
        word[0] = emit_devlib(e, "cwd_tex_query", e->i32, args, 4);
        emit_tex_result(e, &t, word);
        return;
    }
    args[3] = four(e, t.coord, TEX_MAX_COORDS, native);
    if (fetch) {
        args[4] = four(e, t.extra, 4, native);
        args[5] = four(e, t.extra + 4, TEX_MAX_EXTRA - 4, native);
        args[6] = four(e, t.offset, TEX_MAX_COORDS, native);
        const char *fetch_ = !native ? "cwd_tex_fetch" : strcmp(e->cpu, "gfx90a") ? "cwd_image_fetch" : "cwd_image_basic";
        r = emit_devlib(e, fetch_, words, args, 7);
        if (native) {               /* which calls the exact code */
            LLVMTypeRef types[7];
            for (unsigned i = 0; i < 7; i++)
                types[i] = LLVMTypeOf(args[i]);
            gcn_devlib_declare(e, "cwd_tex_fetch", words, types, 7);
        }
    } else {
        args[4] = four(e, t.value, 4, false);
        r = emit_devlib(e, "cwd_tex_surface", words, args, 5);
    }
    if (t.store)
        return;
    for (unsigned i = 0; i < 4; i++)
        word[i] = LLVMBuildExtractElement(e->b, r, i32(e, i), "");
    emit_tex_result(e, &t, word);
}
