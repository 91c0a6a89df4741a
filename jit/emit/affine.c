/* SPDX-License-Identifier: Apache-2.0
 * Affine registers: thread numbers, and indexes and addresses made from them. They are kept as scalars (flow.h says the
 * forms) and become vectors only where something needs one value a lane; memory accesses at affine addresses are wide
 * loads and stores. Extension of a 32-bit index to 64 bits keeps the 32-bit part apart, so that an index that wraps around
 * inside a gang still gives the addresses that PTX defines: the wide access is taken only if it does not. */
#include "jit/emit/emit_private.h"
#include "jit/emit/flow_private.h"

#include <string.h>

static const struct flow_shape varying = { .kind = FLOW_VARYING };

static struct flow_shape
operand_shape(const struct flow *f, const struct ptx_operand *o, bool linear_x, unsigned width)
{
    struct flow_shape s = varying;
    switch (o->kind) {
    case PTX_OPND_REG:
        if (!o->negate)
            s = f->shape[o->index];
        break;
    case PTX_OPND_IMM:
        if (!o->is_float)
            s.kind = FLOW_UNIFORM;
        break;
    case PTX_OPND_SREG:
        if ((o->index == PTX_SREG_TID_X && linear_x) || (o->index == PTX_SREG_LANEID && width == 32))
            s = (struct flow_shape){ .kind = FLOW_AFFINE32, .step = 1 };
        else if (o->index == PTX_SREG_CTAID_X || o->index == PTX_SREG_NTID_X || o->index == PTX_SREG_CTAID_Y ||
                 o->index == PTX_SREG_NTID_Y || o->index == PTX_SREG_NCTAID_X)
            s.kind = FLOW_UNIFORM;
        break;
    case PTX_OPND_SYM:
        if (o->sym->kind == PTX_SYM_VAR && o->sym->space != PTX_SPACE_LOCAL && o->sym->space != PTX_SPACE_PARAM)
            s.kind = FLOW_UNIFORM;
        break;
    default:
        break;
    }
    return s;
}

static bool
affine(struct flow_shape s)
{
    return s.kind == FLOW_AFFINE32 || s.kind == FLOW_AFFINE64;
}

/* Steps and factors stay small enough for products of them to be exact. */
static struct flow_shape
bounded(struct flow_shape s)
{
    if (s.step > (1 << 24) || s.step < -(1 << 24) || s.factor > (1 << 24) || s.factor < -(1 << 24))
        return varying;
    return s;
}

static struct flow_shape
scale(struct flow_shape s, const struct ptx_operand *by)
{
    if (by->kind != PTX_OPND_IMM || by->imm > (1 << 20) || by->imm < -(1 << 20))
        return varying;
    if (s.kind == FLOW_AFFINE32) {
        int64_t step = (int64_t)s.step * by->imm;
        if (step > (1 << 24) || step < -(1 << 24))
            return varying;
        s.step = (int32_t)step;
    } else {
        s.factor *= by->imm;
    }
    return bounded(s);
}

static struct flow_shape
add(struct flow_shape a, struct flow_shape b)
{
    if (a.kind == FLOW_UNIFORM)
        return b;
    if (b.kind == FLOW_UNIFORM)
        return a;
    if (a.kind == FLOW_AFFINE32 && b.kind == FLOW_AFFINE32) {
        a.step += b.step;
        return bounded(a);
    }
    return varying;
}

static struct flow_shape
extend(struct flow_shape s, bool is_signed, int64_t factor)
{
    if (s.kind != FLOW_AFFINE32)
        return varying;
    return bounded((struct flow_shape){ .kind = FLOW_AFFINE64, .step = s.step, .factor = factor,
                                        .extend = is_signed ? FLOW_EXTEND_SIGN : FLOW_EXTEND_ZERO });
}

/* A multiplier of mul.wide as the 64-bit number it stands for. */
static bool
wide_factor(const struct ptx_operand *o, bool is_signed, int64_t *factor)
{
    if (o->kind != PTX_OPND_IMM || o->is_float)
        return false;
    *factor = is_signed ? (int64_t)(int32_t)o->imm : (int64_t)(uint32_t)o->imm;
    return *factor <= (1 << 20) && *factor >= -(1 << 20);
}

struct flow_shape
flow_affine(const struct flow *f, const struct ptx_inst *in, bool linear_x, unsigned width)
{
    if (in->has_guard || in->noperands < 2 || in->operand[0].kind != PTX_OPND_REG || in->flags & (PTX_F_CC | PTX_F_SAT))
        return varying;
    unsigned bits = ptx_type_bits((ptx_type)in->type[0]);
    enum ptx_type_class cls = ptx_type_class((ptx_type)in->type[0]);
    if ((bits != 32 && bits != 64) || (cls != PTX_CLASS_BITS && cls != PTX_CLASS_UINT && cls != PTX_CLASS_SINT) ||
        in->type[0] == PTX_U16X2 || in->type[0] == PTX_S16X2)
        return varying;
    ptx_type reg = (ptx_type)f->fn->regs[in->operand[0].index].type;
    if (ptx_type_class(reg) == PTX_CLASS_FLOAT || reg == PTX_PRED)
        return varying;
    bool is_signed = cls == PTX_CLASS_SINT;
    struct flow_shape s[3] = { varying, varying, varying }, r = varying;
    for (unsigned i = 1; i < in->noperands && i <= 3; i++) {
        s[i - 1] = operand_shape(f, &in->operand[i], linear_x, width);
        if (s[i - 1].kind == FLOW_UNKNOWN)
            return s[i - 1];
    }
    int64_t factor;
    switch (in->op) {
    case PTX_OP_MOV:
        r = s[0];
        break;
    case PTX_OP_ADD:
        r = add(s[0], s[1]);
        break;
    case PTX_OP_SUB:
        if (s[1].kind == FLOW_UNIFORM)
            r = s[0];
        break;
    case PTX_OP_SHL:
        if (in->operand[2].kind == PTX_OPND_IMM && in->operand[2].imm >= 0 && in->operand[2].imm < 20 && affine(s[0])) {
            struct ptx_operand by = { .kind = PTX_OPND_IMM, .imm = (int64_t)1 << in->operand[2].imm };
            r = scale(s[0], &by);
        }
        break;
    case PTX_OP_MUL:
        if (in->mode == PTX_MODE_WIDE) {
            if (bits == 32 && wide_factor(&in->operand[2], is_signed, &factor))
                r = extend(s[0], is_signed, factor);
            bits = 64;
        } else if (in->mode == PTX_MODE_LO && affine(s[0])) {
            r = scale(s[0], &in->operand[2]);
        }
        break;
    case PTX_OP_MAD:
        if (in->mode == PTX_MODE_WIDE) {
            if (bits == 32 && affine(s[0]) && s[2].kind == FLOW_UNIFORM && wide_factor(&in->operand[2], is_signed, &factor))
                r = extend(s[0], is_signed, factor);
            else if (s[0].kind == FLOW_UNIFORM && s[1].kind == FLOW_UNIFORM)
                r = s[2];
            bits = 64;
        } else if (in->mode == PTX_MODE_LO) {
            if (s[0].kind == FLOW_UNIFORM && s[1].kind == FLOW_UNIFORM)
                r = s[2];
            else if (affine(s[0]))
                r = add(scale(s[0], &in->operand[2]), s[2]);
        }
        break;
    case PTX_OP_CVT:
        if (in->type[0] == PTX_U64 || in->type[0] == PTX_S64 || in->type[0] == PTX_B64) {
            if (in->type[1] == PTX_U32 || in->type[1] == PTX_S32)
                r = extend(s[0], in->type[1] == PTX_S32, 1);
        } else if (bits == 32 && ptx_type_bits((ptx_type)in->type[1]) == 64 &&
                   ptx_type_class((ptx_type)in->type[1]) != PTX_CLASS_FLOAT && s[0].kind == FLOW_AFFINE64) {
            r = bounded((struct flow_shape){ .kind = FLOW_AFFINE32, .step = (int32_t)(s[0].factor * s[0].step) });
            if (s[0].factor * s[0].step > (1 << 24) || s[0].factor * s[0].step < -(1 << 24))
                r = varying;
        }
        break;
    case PTX_OP_CVTA:
        if (bits == 64 && f->fn->module->address_size == 64)
            r = s[0];
        break;
    default:
        break;
    }
    if (!affine(r) || (r.kind == FLOW_AFFINE32 && bits != 32) || (r.kind == FLOW_AFFINE64 && bits != 64) ||
        ptx_type_bits(reg) != bits)
        return varying;
    return r;
}

/* ---- emission -------------------------------------------------------------------------------------------------------- */

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
        LLVMValueRef v = emit_session(e)->target->sreg(e, (ptx_sreg)o->index);
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
        return false;               /* reported by emit_dst */
    struct flow_shape s[3] = { 0 };
    for (unsigned i = 1; i < in->noperands && i <= 3; i++)
        s[i - 1] = operand_shape(&f->flow, &in->operand[i], f->linear_x, e->width);
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
        p.offset = in->flags & PTX_F_TO ? emit_session(e)->target->from_generic(e, p.offset, (ptx_space)in->space)
                                        : emit_session(e)->target->to_generic(e, p.offset, (ptx_space)in->space);
        break;
    case PTX_OP_ADD:
        if (affine(s[0]))
            p = plus(e, operand_parts(e, &o[1]), want, &o[2], !affine(s[1]), false);
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
        if (affine(s[0]) && in->mode == PTX_MODE_WIDE) {
            p = operand_parts(e, &o[1]);
            p.offset = emit_operand(e, &o[3], PTX_U64);
        } else if (affine(s[0])) {
            p = plus(e, times(e, operand_parts(e, &o[1]), want, o[2].imm), want, &o[3], !affine(s[2]), false);
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
    if (!affine(s))
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
