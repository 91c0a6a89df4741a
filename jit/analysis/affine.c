/* SPDX-License-Identifier: Apache-2.0
 * Affine registers: thread numbers, and indexes and addresses computed from them (flow.h has the forms). Extending a 32-bit index to 64
 * bits keeps the 32-bit part separate, so that an index that wraps around inside a gang still gives the addresses that PTX defines.
 * emit/affine.c keeps such registers as scalars. */
#include "jit/analysis/flow_private.h"

#include <string.h>

static const struct flow_shape varying = { .kind = FLOW_VARYING };

struct flow_shape
flow_operand_shape(const struct flow *f, const struct ptx_operand *o, bool linear_x, unsigned width)
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

bool
flow_is_affine(struct flow_shape s)
{
    return s.kind == FLOW_AFFINE32 || s.kind == FLOW_AFFINE64;
}

/* Keep steps and factors small enough for exact products. */
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

/* A multiplier of mul.wide as a 64-bit integer. */
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
        s[i - 1] = flow_operand_shape(f, &in->operand[i], linear_x, width);
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
        if (in->operand[2].kind == PTX_OPND_IMM && in->operand[2].imm >= 0 && in->operand[2].imm < 20 && flow_is_affine(s[0])) {
            struct ptx_operand by = { .kind = PTX_OPND_IMM, .imm = (int64_t)1 << in->operand[2].imm };
            r = scale(s[0], &by);
        }
        break;
    case PTX_OP_MUL:
        if (in->mode == PTX_MODE_WIDE) {
            if (bits == 32 && wide_factor(&in->operand[2], is_signed, &factor))
                r = extend(s[0], is_signed, factor);
            bits = 64;
        } else if (in->mode == PTX_MODE_LO && flow_is_affine(s[0])) {
            r = scale(s[0], &in->operand[2]);
        }
        break;
    case PTX_OP_MAD:
        if (in->mode == PTX_MODE_WIDE) {
            if (bits == 32 && flow_is_affine(s[0]) && s[2].kind == FLOW_UNIFORM && wide_factor(&in->operand[2], is_signed, &factor))
                r = extend(s[0], is_signed, factor);
            else if (s[0].kind == FLOW_UNIFORM && s[1].kind == FLOW_UNIFORM)
                r = s[2];
            bits = 64;
        } else if (in->mode == PTX_MODE_LO) {
            if (s[0].kind == FLOW_UNIFORM && s[1].kind == FLOW_UNIFORM)
                r = s[2];
            else if (flow_is_affine(s[0]))
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
    if (!flow_is_affine(r) || (r.kind == FLOW_AFFINE32 && bits != 32) || (r.kind == FLOW_AFFINE64 && bits != 64) ||
        ptx_type_bits(reg) != bits)
        return varying;
    return r;
}
