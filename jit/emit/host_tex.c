/* SPDX-License-Identifier: Apache-2.0
 * Texture and surface instructions on the host device: coordinates into arrays, one call of cwh_rt_tex for the gang,
 * results out of arrays (9.7.10, 9.7.11). */
#include "jit/emit/emit_private.h"

#include <stddef.h>

static void
set_field(struct emit *e, LLVMValueRef tex, size_t offset, LLVMValueRef v)
{
    LLVMValueRef idx = LLVMConstInt(e->i64, offset, false);
    LLVMValueRef st = LLVMBuildStore(e->b, v, LLVMBuildGEP2(e->b, e->i8, tex, &idx, 1, ""));
    LLVMSetAlignment(st, 1);
}

/* Room for `n` components of every lane; component i starts at i * width words of `bits`. */
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

static void
put(struct emit *e, LLVMValueRef array, unsigned i, LLVMTypeRef t, LLVMValueRef v)
{
    LLVMValueRef st = LLVMBuildStore(e->b, emit_splat(e, emit_bitcast(e, v, t)), component(e, array, i, t));
    LLVMSetAlignment(st, 4);
}

static unsigned
put_list(struct emit *e, LLVMValueRef array, unsigned at, const struct ptx_operand *o, ptx_type t, unsigned room)
{
    unsigned n = o->kind == PTX_OPND_VEC ? o->count : 1;
    for (unsigned i = 0; i < n && at < room; i++, at++)
        put(e, array, at, e->i32, emit_operand(e, o->kind == PTX_OPND_VEC ? &o->elem[i] : o, t));
    return at;
}

/* A texture handle: a 64-bit register, or a reference variable whose storage in the image holds the handle. */
static LLVMValueRef
handle(struct emit *e, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_ADDR && o->has_reg) {
        struct ptx_operand r = { .kind = PTX_OPND_REG, .index = o->index };
        return emit_splat(e, emit_operand(e, &r, PTX_U64));
    }
    if (o->sym) {
        struct ptx_operand s = { .kind = PTX_OPND_SYM, .sym = o->sym };
        LLVMValueRef a = emit_operand(e, &s, PTX_U64);
        return emit_splat(e, emit_load(e, a, e->i64, PTX_SPACE_GLOBAL, 8, false));
    }
    return emit_splat(e, emit_operand(e, o, PTX_U64));
}

/* Texel offsets are integers, alone or in braces; a depth to compare with is a float. */
static bool
is_offset(struct emit *e, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_VEC)
        return true;
    if (o->kind == PTX_OPND_REG)
        return ptx_type_class((ptx_type)e->fn->regs[o->index].type) != PTX_CLASS_FLOAT;
    return o->kind == PTX_OPND_IMM && !o->is_float;
}

bool
emit_host_texture(struct emit *e, const struct ptx_inst *in)
{
    bool load = in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4;
    bool store = in->op == PTX_OP_SUST || in->op == PTX_OP_SURED, surface = store || in->op == PTX_OP_SULD;
    bool query = in->op == PTX_OP_TXQ || in->op == PTX_OP_SUQ;
    if (in->op == PTX_OP_ISTYPEP) {
        /* Objects are of neither type, on hardware as well; references are variables, and their names tell. */
        if (in->operand[1].kind == PTX_OPND_SYM)
            emit_unsupported(e, in, "the type of a reference");
        else
            emit_dst(e, in, 0, PTX_PRED, LLVMConstNull(e->i1));
        return true;
    }
    if (!load && !surface && !query)
        return false;
    if (in->geom == PTX_GEOM_2DMS || in->geom == PTX_GEOM_A2DMS) {
        emit_unsupported(e, in, "multi-sample textures, which CUDA cannot make");
        return true;
    }
    unsigned which = query ? PTX_AUX(in, QUERY) : 0;
    if (which == PTX_QUERY_CHANNEL_DATA_TYPE || which == PTX_QUERY_CHANNEL_ORDER || which == PTX_QUERY_MEMORY_LAYOUT) {
        emit_unsupported(e, in, "CUDA has no numbers for this query, and its driver refuses it, too");
        return true;
    }
    unsigned at = store ? 0 : 1;
    LLVMValueRef tex = emit_alloca(e, LLVMArrayType(e->i8, sizeof(struct cwh_tex)), 8, "tex");
    LLVMValueRef textures = lane_array(e, 1, e->i64, "textures"), coords = lane_array(e, 4, e->i32, "coords");
    LLVMValueRef extra = lane_array(e, 12, e->i32, "extra"), results = lane_array(e, 8, e->i32, "texels");
    LLVMValueRef offsets = LLVMConstNull(e->ptr);
    const struct ptx_operand *d = store ? NULL : &in->operand[0];
    ptx_type rt = (ptx_type)in->type[0], ct = load && in->type[1] ? (ptx_type)in->type[1] : PTX_S32;
    unsigned vec = query ? 1 : in->vec ? in->vec : 1, flags = 0, mode = 0;

    LLVMBuildStore(e->b, handle(e, &in->operand[at++]), component(e, textures, 0, e->i64));
    LLVMValueRef samplers = LLVMConstNull(e->ptr);
    if (load) {
        if (at < in->noperands && in->operand[at].kind != PTX_OPND_NONE) {
            samplers = lane_array(e, 1, e->i64, "samplers");
            LLVMBuildStore(e->b, handle(e, &in->operand[at]), component(e, samplers, 0, e->i64));
        }
        at++;
    }
    if (!query) {
        put_list(e, coords, 0, &in->operand[at++], ct, 4);
        unsigned used = 0;
        unsigned lod = in->op == PTX_OP_TEX ? PTX_AUX(in, LOD) : 0;
        if (store) {
            const struct ptx_operand *s = &in->operand[at++];
            unsigned words = ptx_type_bits(rt) == 64 ? 2 : 1, n = s->kind == PTX_OPND_VEC ? s->count : 1;
            for (unsigned i = 0; i < n && i < 4; i++) {
                LLVMValueRef v = emit_operand(e, s->kind == PTX_OPND_VEC ? &s->elem[i] : s, rt);
                v = emit_bitcast(e, v, LLVMIntTypeInContext(e->llvm, ptx_type_bits(rt)));
                for (unsigned w = 0; w < words; w++) {
                    LLVMValueRef x = w ? emit_bin(e, LLVMLShr, v, emit_int_like(e, v, 32)) : v;
                    put(e, results, i * words + w, e->i32, emit_resize(e, x, e->i32, false));
                }
            }
        } else {
            if (lod == 2)
                flags |= CWH_TEX_LEVEL;
            if (lod == 3)
                flags |= CWH_TEX_GRADIENTS;
            for (unsigned n = lod == 3 ? 2 : lod == 2; n; n--)
                used = put_list(e, extra, used, &in->operand[at++], ct == PTX_S32 && lod == 2 ? PTX_S32 : PTX_F32, 12);
            for (; at < in->noperands; at++) {
                const struct ptx_operand *o = &in->operand[at];
                if (!is_offset(e, o)) {
                    emit_unsupported(e, in, "depth comparison: CUDA has no depth textures");
                    return true;
                }
                flags |= CWH_TEX_OFFSET;
                offsets = lane_array(e, 4, e->i32, "offsets");
                put_list(e, offsets, 0, o, PTX_S32, 4);
            }
        }
        if (surface) {
            mode = PTX_AUX(in, SURF) ? PTX_AUX(in, SURF) - 1 : 0;
            if (in->op == PTX_OP_SURED)
                mode |= (unsigned)in->atomop << 2;
            if (PTX_AUX(in, SURF_FORM) == 2)
                flags |= CWH_TEX_FORMATTED;
            if (PTX_AUX(in, SURF_FORM) == 2 && in->op == PTX_OP_SULD) {
                emit_unsupported(e, in, "formatted loads, which NVIDIA's assembler does not have either");
                return true;
            }
        } else if (in->op == PTX_OP_TLD4) {
            mode = PTX_AUX(in, TLD4) - 1;
        }
    } else {
        mode = PTX_AUX(in, QUERY);
        if (at < in->noperands && in->operand[at].kind != PTX_OPND_NONE) {
            flags |= CWH_TEX_LEVEL;
            put_list(e, extra, 0, &in->operand[at], PTX_U32, 1);
        }
    }
    LLVMValueRef head = LLVMConstInt(e->i64, (uint64_t)e->width | (uint64_t)in->op << 32 | (uint64_t)in->geom << 48 | (uint64_t)ct << 56, false);
    set_field(e, tex, 0, head);
    set_field(e, tex, 8, LLVMConstInt(e->i32, (uint32_t)rt | vec << 8 | mode << 16 | flags << 24, false));
    LLVMValueRef bits = e->width == 1 ? LLVMConstInt(e->i32, 1, false) : emit_mask_bits(e, e->mask);
    set_field(e, tex, offsetof(struct cwh_tex, mask), LLVMBuildZExt(e->b, bits, e->i64, ""));
    set_field(e, tex, offsetof(struct cwh_tex, texture), textures);
    set_field(e, tex, offsetof(struct cwh_tex, sampler), samplers);
    set_field(e, tex, offsetof(struct cwh_tex, coord), coords);
    set_field(e, tex, offsetof(struct cwh_tex, extra), extra);
    set_field(e, tex, offsetof(struct cwh_tex, offset), offsets);
    set_field(e, tex, offsetof(struct cwh_tex, result), results);
    LLVMTypeRef types[2] = { e->ptr, e->ptr };
    LLVMValueRef args[2] = { e->f->gang, tex };
    emit_runtime(e, "cwh_rt_tex", e->void_, types, 2, args);
    if (store)
        return true;
    if (d->kind == PTX_OPND_PRED_PAIR) {        /* all of an array is there, as there are no sparse ones */
        emit_dst_operand(e, &d->elem[1], PTX_PRED, LLVMConstInt(e->i1, 1, false));
        d = &d->elem[0];
    }
    unsigned words = surface && ptx_type_bits(rt) == 64 ? 2 : 1, n = d->kind == PTX_OPND_VEC ? d->count : 1;
    LLVMTypeRef wt = e->width > 1 ? LLVMVectorType(e->i32, e->width) : e->i32;
    for (unsigned i = 0; i < n && i < 4; i++) {
        LLVMValueRef v = NULL;
        for (unsigned w = 0; w < words; w++) {
            LLVMValueRef x = LLVMBuildLoad2(e->b, wt, component(e, results, i * words + w, e->i32), "");
            LLVMSetAlignment(x, 4);
            x = words == 2 ? emit_resize(e, x, e->i64, false) : x;
            v = w ? emit_bin(e, LLVMOr, v, emit_bin(e, LLVMShl, x, emit_int_like(e, x, 32))) : x;
        }
        LLVMTypeRef it = LLVMIntTypeInContext(e->llvm, ptx_type_bits(rt));
        v = emit_bitcast(e, emit_resize(e, v, it, false), emit_type(e, rt));
        emit_dst_operand(e, d->kind == PTX_OPND_VEC ? &d->elem[i] : d, rt, v);
    }
    return true;
}
