/* SPDX-License-Identifier: Apache-2.0
 * See tex.h: the operands of texture and surface instructions (9.7.10, 9.7.11). */
#include "jit/emit/memory/tex.h"

/* A texture handle: from a 64-bit register, or from a reference variable, whose storage holds it. */
static LLVMValueRef
handle(struct emit *e, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_ADDR && o->has_reg) {
        struct ptx_operand r = { .kind = PTX_OPND_REG, .index = o->index };
        return emit_operand(e, &r, PTX_U64);
    }
    if (o->sym) {
        struct ptx_operand s = { .kind = PTX_OPND_SYM, .sym = o->sym };
        LLVMValueRef a = emit_symbol_place(e, &s);
        return emit_load(e, a, e->i64, PTX_SPACE_GLOBAL, 8);
    }
    return emit_operand(e, o, PTX_U64);
}

/* The handles of the module's references of that type; texture objects match no type (recorded on an H200). */
void
emit_istypep(struct emit *e, const struct ptx_inst *in)
{
    LLVMValueRef h = emit_src(e, in, 1, PTX_U64), r = NULL;
    const struct ptx_module *m = e->fn->module;
    for (uint32_t i = 0; i < m->nvars; i++) {
        if (m->vars[i]->type != in->type[0] || m->vars[i]->link_id == CWJ_NO_ID)
            continue;
        struct ptx_operand o = { .kind = PTX_OPND_ADDR, .sym = m->vars[i] };
        LLVMValueRef own = handle(e, &o), v = emit_is_vector(h) ? emit_splat(e, own) : own;
        v = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, h, v, ""),
                         LLVMBuildICmp(e->b, LLVMIntNE, h, LLVMConstNull(LLVMTypeOf(h)), ""), "");
        r = r ? LLVMBuildOr(e->b, r, v, "") : v;
    }
    emit_dst(e, in, 0, PTX_PRED, r ? r : LLVMConstNull(e->i1));
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

/* Append the elements of a list as words. Returns the new count. */
static unsigned
list(struct emit *e, LLVMValueRef *to, unsigned at, const struct ptx_operand *o, ptx_type type, unsigned limit)
{
    unsigned n = o->kind == PTX_OPND_VEC ? o->count : 1;
    for (unsigned i = 0; i < n && at < limit; i++, at++)
        to[at] = emit_bitcast(e, emit_operand(e, o->kind == PTX_OPND_VEC ? &o->elem[i] : o, type), e->i32);
    return at;
}

static void
stored_value(struct emit *e, struct tex_inst *t, const struct ptx_operand *s)
{
    unsigned n = s->kind == PTX_OPND_VEC ? s->count : 1, bits = ptx_type_bits(t->result_type);
    for (unsigned i = 0; i < n && i < 4; i++) {
        LLVMValueRef v = emit_operand(e, s->kind == PTX_OPND_VEC ? &s->elem[i] : s, t->result_type);
        v = emit_bitcast(e, v, LLVMIntTypeInContext(e->llvm, bits));
        for (unsigned w = 0; w < t->words; w++) {
            LLVMValueRef x = w ? emit_bin(e, LLVMLShr, v, emit_int_like(e, v, 32)) : v;
            t->value[i * t->words + w] = emit_resize(e, x, e->i32, false);
        }
    }
}

/* The operands behind the coordinates of a load. */
static bool
load_operands(struct emit *e, struct tex_inst *t, unsigned at)
{
    const struct ptx_inst *in = t->in;
    unsigned lod = in->op == PTX_OP_TEX ? PTX_AUX(in, LOD) : 0, used = 0;
    if (lod == 2)
        t->flags |= CWH_TEX_LEVEL;
    if (lod == 3)
        t->flags |= CWH_TEX_GRADIENTS;
    for (unsigned n = lod == 3 ? 2 : lod == 2; n; n--)
        used = list(e, t->extra, used, &in->operand[at++], t->coord_type == PTX_S32 && lod == 2 ? PTX_S32 : PTX_F32, TEX_MAX_EXTRA);
    for (; at < in->noperands; at++) {
        const struct ptx_operand *o = &in->operand[at];
        if (!is_offset(e, o)) {
            emit_unsupported(e, in, "depth comparison: CUDA has no depth textures");
            return false;
        }
        t->flags |= CWH_TEX_OFFSET;
        list(e, t->offset, 0, o, PTX_S32, TEX_MAX_COORDS);
    }
    return true;
}

/* Why this form is refused, or NULL. */
static const char *
refused(struct emit *e, const struct ptx_inst *in)
{
    if (e->fn->module->texmode_independent && (in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4))
        return "independent texture mode, whose modules NVIDIA's driver does not load";
    unsigned query = in->op == PTX_OP_TXQ || in->op == PTX_OP_SUQ ? PTX_AUX(in, QUERY) : PTX_QUERY_WIDTH;
    if (in->geom == PTX_GEOM_2DMS || in->geom == PTX_GEOM_A2DMS)
        return "multi-sample textures, which CUDA cannot make";
    if (query != PTX_QUERY_WIDTH && query != PTX_QUERY_HEIGHT && query != PTX_QUERY_DEPTH && query != PTX_QUERY_ARRAY_SIZE &&
        query != PTX_QUERY_NUM_MIPMAP_LEVELS && query != PTX_QUERY_NORMALIZED_COORDS && query != PTX_QUERY_CHANNEL_DATA_TYPE &&
        query != PTX_QUERY_CHANNEL_ORDER)
        return "the PTX ISA has no numbers for this query's answers, and NVIDIA's driver refuses it, too";
    if (in->op == PTX_OP_SULD && PTX_AUX(in, SURF_FORM) == 2)
        return "formatted loads, which NVIDIA's assembler does not have either";
    return NULL;
}

void
emit_tex_parse(struct emit *e, const struct ptx_inst *in, struct tex_inst *t)
{
    bool load = in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4, query = in->op == PTX_OP_TXQ || in->op == PTX_OP_SUQ;
    bool store = in->op == PTX_OP_SUST || in->op == PTX_OP_SURED, surface = store || in->op == PTX_OP_SULD;
    unsigned at = store ? 0 : 1;
    *t = (struct tex_inst){ .store = store };
    const char *why = refused(e, in);
    if (why) {
        emit_unsupported(e, in, why);
        return;
    }
    t->in = in;
    t->result_type = (ptx_type)in->type[0];
    t->coord_type = load && in->type[1] ? (ptx_type)in->type[1] : PTX_S32;
    t->vec = query ? 1 : in->vec ? in->vec : 1;
    t->words = surface && ptx_type_bits(t->result_type) == 64 ? 2 : 1;
    t->texture = handle(e, &in->operand[at++]);
    if (load) {
        if (at < in->noperands && in->operand[at].kind != PTX_OPND_NONE)
            t->sampler = handle(e, &in->operand[at]);
        at++;
    }
    if (query) {
        t->mode = PTX_AUX(in, QUERY);
        if (at < in->noperands && in->operand[at].kind != PTX_OPND_NONE) {
            t->flags |= CWH_TEX_LEVEL;
            list(e, t->extra, 0, &in->operand[at], PTX_U32, 1);
        }
        return;
    }
    list(e, t->coord, 0, &in->operand[at++], t->coord_type, TEX_MAX_COORDS);
    if (store)
        stored_value(e, t, &in->operand[at++]);
    else if (!load_operands(e, t, at))
        t->in = NULL;
    if (surface) {
        t->mode = PTX_AUX(in, SURF) ? PTX_AUX(in, SURF) - 1 : 0;
        if (in->op == PTX_OP_SURED)
            t->mode |= (unsigned)in->atomop << 2;
        if (PTX_AUX(in, SURF_FORM) == 2)
            t->flags |= CWH_TEX_FORMATTED;
    } else if (in->op == PTX_OP_TLD4) {
        t->mode = PTX_AUX(in, TLD4) - 1;
    }
}

void
emit_tex_result(struct emit *e, const struct tex_inst *t, LLVMValueRef *word)
{
    const struct ptx_operand *d = &t->in->operand[0];
    ptx_type rt = t->result_type;
    if (d->kind == PTX_OPND_PRED_PAIR) {        /* without sparse textures everything is resident */
        emit_dst_operand(e, &d->elem[1], PTX_PRED, LLVMConstInt(e->i1, 1, false));
        d = &d->elem[0];
    }
    unsigned n = d->kind == PTX_OPND_VEC ? d->count : 1;
    for (unsigned i = 0; i < n && i < 4; i++) {
        LLVMValueRef v = NULL;
        for (unsigned w = 0; w < t->words; w++) {
            LLVMValueRef x = word[i * t->words + w];
            x = t->words == 2 ? emit_resize(e, x, e->i64, false) : x;
            v = w ? emit_bin(e, LLVMOr, v, emit_bin(e, LLVMShl, x, emit_int_like(e, x, 32))) : x;
        }
        LLVMTypeRef it = LLVMIntTypeInContext(e->llvm, ptx_type_bits(rt));
        v = emit_bitcast(e, emit_resize(e, v, it, false), emit_type(e, rt));
        emit_dst_operand(e, d->kind == PTX_OPND_VEC ? &d->elem[i] : d, rt, v);
    }
}
