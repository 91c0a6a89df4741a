/* SPDX-License-Identifier: Apache-2.0
 * Affine registers (analysis/affine.c) are kept as scalars, and expanded to vectors only where an instruction needs one value per lane. A
 * memory access at an affine address becomes a wide load or store, taken only if the 32-bit index does not wrap around. */
#include "jit/emit/emit_private.h"

/* The scalars of an affine value: base (i32) and, for AFFINE64, offset (i64). */
struct parts {
    LLVMValueRef base, offset;
};

static LLVMValueRef
int_of(struct emit *e, LLVMTypeRef t, int64_t v)
{
    return LLVMConstInt(t, (uint64_t)v, true);
}

static struct parts
operand_parts(struct emit *e, const struct ptx_operand *o)
{
    struct emit_fn *f = e->f;
    struct parts p = { 0 };
    if (o->kind == PTX_OPND_SREG) {
        LLVMValueRef v = emit_sreg(e, (ptx_sreg)o->index);
        p.base = LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i32, 0, false), "");
    } else if (f->flow.shape[o->index].kind == FLOW_AFFINE32) {
        p.base = LLVMBuildLoad2(e->b, e->i32, f->slot[o->index], "");
    } else {
        p.offset = LLVMBuildLoad2(e->b, e->i64, f->slot[o->index], "");
        p.base = LLVMBuildLoad2(e->b, e->i32, f->slot_base[o->index], "");
    }
    return p;
}

/* Add (or subtract) a uniform operand, or add another AFFINE32. */
static struct parts
plus(struct emit *e, struct parts a, struct flow_shape shape, const struct ptx_operand *o, bool uniform, bool subtract)
{
    LLVMOpcode op = subtract ? LLVMSub : LLVMAdd;
    if (shape.kind == FLOW_AFFINE64)
        a.offset = emit_bin(e, op, a.offset, emit_operand(e, o, PTX_U64));
    else
        a.base = emit_bin(e, op, a.base, uniform ? emit_operand(e, o, PTX_U32) : operand_parts(e, o).base);
    return a;
}

static struct parts
times(struct emit *e, struct parts a, struct flow_shape shape, int64_t by)
{
    if (shape.kind == FLOW_AFFINE64)
        a.offset = emit_bin(e, LLVMMul, a.offset, int_of(e, e->i64, by));
    else
        a.base = emit_bin(e, LLVMMul, a.base, int_of(e, e->i32, by));
    return a;
}

bool
emit_affine(struct emit *e, const struct ptx_inst *in)
{
    struct emit_fn *f = e->f;
    if (e->width == 1 || !in->noperands || in->operand[0].kind != PTX_OPND_REG)
        return false;
    uint32_t r = in->operand[0].index;
    struct flow_shape want = f->flow.shape[r];
    if (want.kind != FLOW_AFFINE32 && want.kind != FLOW_AFFINE64)
        return false;
    if (flow_affine(&f->flow, in, f->linear_x, e->width).kind != want.kind)
        return false;               /* emit_dst reports it */
    struct flow_shape s[3] = { 0 };
    for (unsigned i = 1; i < in->noperands && i <= 3; i++)
        s[i - 1] = flow_operand_shape(&f->flow, &in->operand[i], f->linear_x, e->width);
    const struct ptx_operand *o = in->operand;
    struct parts p = { 0 };
    int64_t factor = 1;
    bool is_signed = ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_SINT;
    switch (in->op) {
    case PTX_OP_MOV:
        p = operand_parts(e, &o[1]);
        break;
    case PTX_OP_CVTA:
        p = operand_parts(e, &o[1]);
        p.offset = in->flags & PTX_F_TO ? e->target->from_generic(e, p.offset, (ptx_space)in->space)
                                        : e->target->to_generic(e, p.offset, (ptx_space)in->space);
        break;
    case PTX_OP_ADD:
        if (flow_is_affine(s[0]))
            p = plus(e, operand_parts(e, &o[1]), want, &o[2], !flow_is_affine(s[1]), false);
        else
            p = plus(e, operand_parts(e, &o[2]), want, &o[1], true, false);
        break;
    case PTX_OP_SUB:
        p = plus(e, operand_parts(e, &o[1]), want, &o[2], true, true);
        break;
    case PTX_OP_SHL:
        p = times(e, operand_parts(e, &o[1]), want, (int64_t)1 << o[2].imm);
        break;
    case PTX_OP_MUL:
        p = operand_parts(e, &o[1]);
        if (in->mode == PTX_MODE_WIDE)
            p.offset = LLVMConstNull(e->i64);
        else
            p = times(e, p, want, o[2].imm);
        break;
    case PTX_OP_MAD:
        if (flow_is_affine(s[0]) && in->mode == PTX_MODE_WIDE) {
            p = operand_parts(e, &o[1]);
            p.offset = emit_operand(e, &o[3], PTX_U64);
        } else if (flow_is_affine(s[0])) {
            p = plus(e, times(e, operand_parts(e, &o[1]), want, o[2].imm), want, &o[3], !flow_is_affine(s[2]), false);
        } else {
            LLVMValueRef a, b;
            if (in->mode == PTX_MODE_WIDE) {
                a = emit_resize(e, emit_operand(e, &o[1], is_signed ? PTX_S32 : PTX_U32), e->i64, is_signed);
                b = emit_resize(e, emit_operand(e, &o[2], is_signed ? PTX_S32 : PTX_U32), e->i64, is_signed);
            } else {
                a = emit_operand(e, &o[1], (ptx_type)in->type[0]);
                b = emit_operand(e, &o[2], (ptx_type)in->type[0]);
            }
            LLVMValueRef product = emit_bin(e, LLVMMul, a, b);
            p = operand_parts(e, &o[3]);
            if (want.kind == FLOW_AFFINE64)
                p.offset = emit_bin(e, LLVMAdd, p.offset, product);
            else
                p.base = emit_bin(e, LLVMAdd, p.base, product);
        }
        break;
    case PTX_OP_CVT:
        p = operand_parts(e, &o[1]);
        if (want.kind == FLOW_AFFINE64) {
            p.offset = LLVMConstNull(e->i64);
        } else {
            factor = s[0].factor;
            p.base = emit_bin(e, LLVMAdd, LLVMBuildTrunc(e->b, p.offset, e->i32, ""),
                              emit_bin(e, LLVMMul, p.base, int_of(e, e->i32, factor)));
        }
        break;
    default:
        return false;
    }
    if (want.kind == FLOW_AFFINE32) {
        LLVMBuildStore(e->b, p.base, f->slot[r]);
    } else {
        LLVMBuildStore(e->b, p.offset, f->slot[r]);
        LLVMBuildStore(e->b, p.base, f->slot_base[r]);
    }
    return true;
}

static LLVMValueRef
lanes_of(struct emit *e, LLVMValueRef base, int32_t step)
{
    LLVMValueRef steps[EMIT_MAX_WIDTH];
    for (unsigned i = 0; i < e->width; i++)
        steps[i] = int_of(e, e->i32, (int64_t)step * i);
    return emit_bin(e, LLVMAdd, base, LLVMConstVector(steps, e->width));
}

LLVMValueRef
emit_affine_read(struct emit *e, uint32_t reg)
{
    struct flow_shape s = e->f->flow.shape[reg];
    struct ptx_operand o = { .kind = PTX_OPND_REG, .index = reg };
    struct parts p = operand_parts(e, &o);
    LLVMValueRef v = lanes_of(e, p.base, s.step);
    if (s.kind == FLOW_AFFINE32)
        return v;
    v = emit_resize(e, v, e->i64, s.extend == FLOW_EXTEND_SIGN);
    if (s.factor != 1)
        v = emit_bin(e, LLVMMul, v, emit_splat(e, int_of(e, e->i64, s.factor)));
    return emit_bin(e, LLVMAdd, v, p.offset);
}

bool
emit_affine_address(struct emit *e, const struct ptx_operand *o, uint64_t stride, LLVMValueRef *first, LLVMValueRef *ok)
{
    if (e->width == 1 || o->kind != PTX_OPND_ADDR || !o->has_reg)
        return false;
    struct flow_shape s = e->f->flow.shape[o->index];
    if (!flow_is_affine(s))
        return false;
    int64_t factor = s.kind == FLOW_AFFINE64 ? s.factor : 1, move = factor * s.step, span = (int64_t)s.step * (e->width - 1);
    if (move != (int64_t)stride)
        return false;
    struct ptx_operand r = { .kind = PTX_OPND_REG, .index = o->index };
    struct parts p = operand_parts(e, &r);
    bool is_signed = s.kind == FLOW_AFFINE64 && s.extend == FLOW_EXTEND_SIGN;
    LLVMValueRef imm = int_of(e, s.kind == FLOW_AFFINE64 ? e->i64 : e->i32, o->imm);
    if (s.kind == FLOW_AFFINE64) {
        *first = emit_resize(e, p.base, e->i64, is_signed);
        if (factor != 1)
            *first = emit_bin(e, LLVMMul, *first, int_of(e, e->i64, factor));
        *first = emit_bin(e, LLVMAdd, *first, emit_bin(e, LLVMAdd, p.offset, imm));
    } else {
        p.base = emit_bin(e, LLVMAdd, p.base, imm);     /* wraps as the register's 32 bits do */
        *first = emit_resize(e, p.base, e->i64, false);
    }
    /* base + step * lane stays inside its 32 bits for every lane */
    LLVMValueRef fits;
    if (is_signed)
        fits = span >= 0 ? LLVMBuildICmp(e->b, LLVMIntSLE, p.base, int_of(e, e->i32, INT32_MAX - span), "")
                         : LLVMBuildICmp(e->b, LLVMIntSGE, p.base, int_of(e, e->i32, INT32_MIN - span), "");
    else
        fits = span >= 0 ? LLVMBuildICmp(e->b, LLVMIntULE, p.base, int_of(e, e->i32, (int64_t)UINT32_MAX - span), "")
                         : LLVMBuildICmp(e->b, LLVMIntUGE, p.base, int_of(e, e->i32, -span), "");
    *ok = e->mask ? LLVMBuildAnd(e->b, fits, emit_all(e, e->mask), "") : fits;
    return true;
}
