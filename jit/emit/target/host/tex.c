/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface instructions on the host device: coordinates go to arrays, one call of cwh_rt_tex serves the gang, and results come
 * from arrays. */
#include "jit/emit/target/host/host_private.h"
#include "jit/emit/memory/tex.h"

#include <stddef.h>

static void
set_field(struct emit *e, LLVMValueRef tex, size_t offset, LLVMValueRef v)
{
    LLVMValueRef idx = LLVMConstInt(e->i64, offset, false);
    LLVMValueRef st = LLVMBuildStore(e->b, v, LLVMBuildGEP2(e->b, e->i8, tex, &idx, 1, ""));
    LLVMSetAlignment(st, 1);
}

/* An array of `n` components per lane; component i starts at element i * width. */
static LLVMValueRef
lane_array(struct emit *e, unsigned n, LLVMTypeRef t, const char *name)
{
    return emit_alloca(e, LLVMArrayType(t, n * e->width), 64, name);
}

static LLVMValueRef
component(struct emit *e, LLVMValueRef array, unsigned i, LLVMTypeRef t)
{
    LLVMValueRef idx = LLVMConstInt(e->i64, (uint64_t)i * e->width, false);
    return LLVMBuildGEP2(e->b, t, array, &idx, 1, "");
}

/* Store values to the components of an array. */
static void
put(struct emit *e, LLVMValueRef array, LLVMTypeRef type, LLVMValueRef *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (v[i])
            LLVMSetAlignment(LLVMBuildStore(e->b, emit_splat(e, v[i]), component(e, array, i, type)), 4);
}

void
emit_host_texture(struct emit *e, const struct ptx_inst *in)
{
    struct tex_inst t;
    emit_tex_parse(e, in, &t);
    if (!t.in)
        return;
    LLVMValueRef tex = emit_alloca(e, LLVMArrayType(e->i8, sizeof(struct cwh_tex)), 8, "tex");
    LLVMValueRef textures = lane_array(e, 1, e->i64, "textures"), coords = lane_array(e, 4, e->i32, "coords");
    LLVMValueRef extra = lane_array(e, 12, e->i32, "extra"), results = lane_array(e, 8, e->i32, "texels");
    LLVMValueRef offsets = LLVMConstNull(e->ptr), samplers = LLVMConstNull(e->ptr);
    put(e, textures, e->i64, &t.texture, 1);
    if (t.sampler) {
        samplers = lane_array(e, 1, e->i64, "samplers");
        put(e, samplers, e->i64, &t.sampler, 1);
    }
    put(e, coords, e->i32, t.coord, TEX_MAX_COORDS);
    put(e, results, e->i32, t.value, TEX_MAX_WORDS);
    put(e, extra, e->i32, t.extra, TEX_MAX_EXTRA);
    if (t.flags & CWH_TEX_OFFSET) {
        offsets = lane_array(e, 4, e->i32, "offsets");
        put(e, offsets, e->i32, t.offset, TEX_MAX_COORDS);
    }
    LLVMValueRef head = LLVMConstInt(e->i64, (uint64_t)e->width | (uint64_t)in->op << 32 | (uint64_t)in->geom << 48 |
                                             (uint64_t)t.coord_type << 56, false);
    set_field(e, tex, 0, head);
    set_field(e, tex, 8, LLVMConstInt(e->i32, (uint32_t)t.result_type | t.vec << 8 | t.mode << 16 | t.flags << 24, false));
    set_field(e, tex, offsetof(struct cwh_tex, mask), host_active(e));
    set_field(e, tex, offsetof(struct cwh_tex, texture), textures);
    set_field(e, tex, offsetof(struct cwh_tex, sampler), samplers);
    set_field(e, tex, offsetof(struct cwh_tex, coord), coords);
    set_field(e, tex, offsetof(struct cwh_tex, extra), extra);
    set_field(e, tex, offsetof(struct cwh_tex, offset), offsets);
    set_field(e, tex, offsetof(struct cwh_tex, result), results);
    emit_runtime(e, "cwh_rt_tex", e->void_, VALUES(e->f->gang, tex));
    if (t.store)
        return;
    LLVMTypeRef wt = e->width > 1 ? LLVMVectorType(e->i32, e->width) : e->i32;
    LLVMValueRef word[TEX_MAX_WORDS];
    for (unsigned i = 0; i < TEX_MAX_WORDS; i++) {
        word[i] = i < 4 * t.words ? LLVMBuildLoad2(e->b, wt, component(e, results, i, e->i32), "") : NULL;
        if (word[i])
            LLVMSetAlignment(word[i], 4);
    }
    emit_tex_result(e, &t, word);
}
