/* SPDX-License-Identifier: Apache-2.0
 * Source and destination operands: register slots, immediates, special registers, addresses of symbols, and the
 * conversions that PTX allows between an operand's type and the instruction's (9.4). */
#include "jit/emit/emit_private.h"

#include <string.h>

static bool
is_fp(LLVMTypeRef t)
{
    LLVMTypeKind k = LLVMGetTypeKind(t);
    return k == LLVMHalfTypeKind || k == LLVMFloatTypeKind || k == LLVMDoubleTypeKind;
}

static unsigned
type_bits(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind:
        return 16;
    case LLVMFloatTypeKind:
        return 32;
    case LLVMDoubleTypeKind:
        return 64;
    default:
        return LLVMGetIntTypeWidth(t);
    }
}

/* A value of representation type of register type `from`, read or written as type `to`. */
static LLVMValueRef
reinterpret(struct emit *e, LLVMValueRef v, LLVMTypeRef to, bool extend_signed)
{
    LLVMTypeRef from = emit_scalar_type(v);
    if (from == to)
        return v;
    unsigned fb = type_bits(from), tb = type_bits(to);
    if (fb == tb)
        return emit_bitcast(e, v, to);
    if (is_fp(from))
        v = emit_bitcast(e, v, LLVMIntTypeInContext(e->llvm, fb));
    LLVMTypeRef ti = is_fp(to) ? LLVMIntTypeInContext(e->llvm, tb) : to;
    v = emit_resize(e, v, ti, extend_signed);
    return ti == to ? v : emit_bitcast(e, v, to);
}

static LLVMValueRef
read_register(struct emit *e, uint32_t r)
{
    struct emit_fn *f = e->f;
    if (f->flow.shape[r].kind == FLOW_AFFINE32 || f->flow.shape[r].kind == FLOW_AFFINE64)
        return emit_affine_read(e, r);
    if (e->width > 1 && e->fn->regs[r].type == PTX_PRED && !f->flow.uniform[r])
        return emit_mask_load(e, f->slot[r]);
    return LLVMBuildLoad2(e->b, f->slot_type[r], f->slot[r], "");
}

static LLVMValueRef
immediate(struct emit *e, const struct ptx_operand *o, ptx_type t)
{
    LLVMTypeRef lt = emit_type(e, t);
    uint64_t bits = (uint64_t)o->imm;
    if (o->is_float) {
        double d;
        float f32;
        if (o->imm_f32) {
            uint32_t w = (uint32_t)bits;
            memcpy(&f32, &w, 4);
            d = f32;
        } else {
            memcpy(&d, &bits, 8);
            f32 = (float)d;
        }
        if (lt == e->f64) {
            if (o->imm_f32)             /* extend the bits as hardware does: keeps NaN payloads */
                memcpy(&bits, &d, 8);
            return LLVMConstBitCast(LLVMConstInt(e->i64, bits, false), e->f64);
        }
        if (lt == e->f32 || (t == PTX_B32 && !o->imm_f32)) {
            uint32_t w;
            memcpy(&w, &f32, 4);
            if (o->imm_f32)
                w = (uint32_t)bits;
            LLVMValueRef c = LLVMConstInt(e->i32, w, false);
            return lt == e->f32 ? LLVMConstBitCast(c, e->f32) : c;
        }
        if (lt == e->f16)
            return LLVMConstReal(e->f16, d);
    }
    if (is_fp(lt)) {
        LLVMTypeRef it = LLVMIntTypeInContext(e->llvm, type_bits(lt));
        return LLVMConstBitCast(LLVMConstInt(it, bits, false), lt);
    }
    return LLVMConstInt(lt, bits, false);
}

const struct cwj_link_var *
emit_link_var(struct emit *e, const struct ptx_symbol *sym)
{
    const struct cwj_link_var *v = cwj_program_link_var(e->program, sym->link_id);
    if (v && (!v->undefined || v->dynamic))
        return v;
    e->result = CW_ERR_UNRESOLVED;
    cwj_diag_add(e->diags, PTX_ERROR, 4001, sym->line, sym->column, "undefined symbol %s", sym->name);
    return NULL;
}

uint32_t
emit_shared_offset(struct emit *e, const struct ptx_symbol *sym)
{
    uint32_t offset = 0;
    if (!cwj_shared_offset(&emit_session(e)->closure->shared, sym->link_id, &offset)) {
        e->result = CW_ERR_INTERNAL;
        cwj_diag_add(e->diags, PTX_ERROR, 5002, sym->line, sym->column, "shared variable %s has no place in the layout", sym->name);
    }
    return offset;
}

LLVMValueRef
emit_in_constant(struct emit *e, LLVMValueRef address, LLVMValueRef (*place)(struct emit *, uint32_t, const struct cwj_link_var *))
{
    LLVMValueRef in = LLVMConstNull(e->i1);
    for (uint32_t i = 0; i < e->program->nlink_vars; i++) {
        const struct cwj_link_var *v = &e->program->link_vars[i];
        if (v->space != PTX_SPACE_CONST || v->undefined || !v->def)
            continue;
        LLVMValueRef past = emit_bin(e, LLVMSub, address, place(e, i, v));
        in = emit_bin(e, LLVMOr, in, emit_icmp(e, LLVMIntULT, past, LLVMConstInt(e->i64, v->def->size, false)));
    }
    return in;
}

LLVMValueRef
emit_symbol_place(struct emit *e, const struct ptx_operand *o)
{
    const struct ptx_symbol *s = o->sym;
    LLVMValueRef a;
    if (s->kind == PTX_SYM_FUNC || (s->kind == PTX_SYM_ALIAS && s->alias && s->alias->kind == PTX_SYM_FUNC)) {
        a = emit_int(e, e->i64, s->link_id == CWJ_NO_ID ? 0 : CWH_FUNC_TOKEN(s->link_id));
    } else if (s->kind == PTX_SYM_VAR && (s->space == PTX_SPACE_LOCAL || s->space == PTX_SPACE_PARAM)) {
        a = emit_lane_address(e, e->f->local[s->index], emit_lane_stride(s));
    } else if (s->kind == PTX_SYM_PARAM && !e->f->is_kernel) {
        LLVMValueRef p = emit_param_storage(e, s);
        a = emit_lane_address(e, p, emit_lane_stride(s));
    } else {
        a = e->target->symbol(e, s);
    }
    if (o->imm)
        a = emit_bin(e, LLVMAdd, a, emit_int(e, e->i64, (uint64_t)o->imm));
    return a;
}

static LLVMValueRef
symbol_address(struct emit *e, const struct ptx_operand *o, ptx_type t)
{
    LLVMValueRef a = emit_symbol_place(e, o);
    if (e->addr32)
        a = emit_addr32_symbol(e, o->sym, a);
    return reinterpret(e, a, emit_type(e, t), false);
}

/* Only the kernel's directives ask for clusters. */
bool
emit_in_explicit_cluster(struct emit *e)
{
    const struct emit_session *s = emit_session(e);
    const struct ptx_function *k = e->f->is_kernel ? e->fn : s->closure ? e->program->kernels[s->kernel].fn : NULL;
    return k && (k->cluster[0] || k->explicit_cluster);
}

LLVMValueRef
emit_operand(struct emit *e, const struct ptx_operand *o, ptx_type t)
{
    LLVMTypeRef lt = emit_type(e, t);
    LLVMValueRef v;
    switch (o->kind) {
    case PTX_OPND_REG:
        v = read_register(e, o->index);
        v = reinterpret(e, v, lt, ptx_type_class(t) == PTX_CLASS_SINT);
        break;
    case PTX_OPND_IMM:
        v = immediate(e, o, t);
        break;
    case PTX_OPND_SREG:
        v = reinterpret(e, emit_sreg(e, (ptx_sreg)o->index), lt, false);
        break;
    case PTX_OPND_SYM:
        v = symbol_address(e, o, t);
        break;
    case PTX_OPND_SINK:
        v = LLVMConstNull(lt);
        break;
    default:
        e->result = CW_ERR_INTERNAL;
        cwj_diag_add(e->diags, PTX_ERROR, 5002, 0, 0, "operand kind %u cannot be a value", o->kind);
        v = LLVMConstNull(lt);
        break;
    }
    if (o->negate_pred)
        v = LLVMBuildNot(e->b, v, "");
    if (o->negate)
        v = is_fp(emit_scalar_type(v)) ? LLVMBuildFNeg(e->b, v, "") : LLVMBuildNeg(e->b, v, "");
    return v;
}

LLVMValueRef
emit_src(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t)
{
    if (i >= in->noperands) {
        e->result = CW_ERR_INTERNAL;
        cwj_diag_add(e->diags, PTX_ERROR, 5002, in->line, in->column, "%s lacks operand %u", ptx_op_info(in->op)->mnemonic, i);
        return LLVMConstNull(emit_type(e, t));
    }
    return emit_operand(e, &in->operand[i], t);
}

void
emit_dst_operand(struct emit *e, const struct ptx_operand *o, ptx_type t, LLVMValueRef v)
{
    struct emit_fn *f = e->f;
    if (o->kind == PTX_OPND_SINK || o->kind == PTX_OPND_NONE)
        return;
    if (o->kind == PTX_OPND_PRED_PAIR) {
        emit_dst_operand(e, &o->elem[0], t, v);
        return;
    }
    if (o->kind != PTX_OPND_REG) {
        e->result = CW_ERR_INTERNAL;
        cwj_diag_add(e->diags, PTX_ERROR, 5002, 0, 0, "operand kind %u cannot be written", o->kind);
        return;
    }
    uint32_t r = o->index;
    bool pred = e->fn->regs[r].type == PTX_PRED;
    v = reinterpret(e, v, emit_type(e, e->fn->regs[r].type), ptx_type_class(t) == PTX_CLASS_SINT);
    if (f->flow.shape[r].kind == FLOW_AFFINE32 || f->flow.shape[r].kind == FLOW_AFFINE64) {
        e->result = CW_ERR_INTERNAL;
        cwj_diag_add(e->diags, PTX_ERROR, 5003, 0, 0, "general value for the affine register %s", e->fn->regs[r].name);
        return;
    }
    bool vector = e->width > 1 && !f->flow.uniform[r];
    if (vector)
        v = emit_splat(e, v);
    else if (emit_is_vector(v)) {
        e->result = CW_ERR_INTERNAL;
        cwj_diag_add(e->diags, PTX_ERROR, 5003, 0, 0, "lane-varying value for the uniform register %s", e->fn->regs[r].name);
        return;
    }
    bool masked = f->flow.masked_write[r] && f->flow.masked[f->block] && e->mask;
    if (masked || f->guard) {
        /* e->mask includes a vector guard, but not a scalar one. */
        LLVMValueRef c = masked ? e->mask : f->guard;
        if (masked && f->guard && !emit_is_vector(f->guard))
            c = emit_bin(e, LLVMAnd, c, f->guard);
        v = emit_select(e, c, v, read_register(e, r));
        if (vector)
            v = emit_splat(e, v);
    }
    if (vector && pred)
        emit_mask_store(e, f->slot[r], v);
    else
        LLVMBuildStore(e->b, v, f->slot[r]);
}

void
emit_dst(struct emit *e, const struct ptx_inst *in, unsigned i, ptx_type t, LLVMValueRef v)
{
    if (i < in->noperands)
        emit_dst_operand(e, &in->operand[i], t, v);
}

void
emit_dst_pair(struct emit *e, const struct ptx_operand *o, ptx_type t, LLVMValueRef v, LLVMValueRef second)
{
    emit_dst_operand(e, o->kind == PTX_OPND_PRED_PAIR ? &o->elem[0] : o, t, v);
    if (o->kind == PTX_OPND_PRED_PAIR)
        emit_dst_operand(e, &o->elem[1], PTX_PRED, second);
}

LLVMValueRef
emit_merged(struct emit *e, LLVMValueRef v, LLVMTypeRef type, LLVMValueRef slot)
{
    LLVMValueRef c = e->f->flow.masked[e->f->block] ? e->mask : e->f->guard;
    return c ? emit_select(e, c, v, LLVMBuildLoad2(e->b, type, slot, "")) : v;
}

LLVMValueRef
emit_carry_in(struct emit *e)
{
    return e->width > 1 ? emit_mask_load(e, e->f->carry) : LLVMBuildLoad2(e->b, e->i1, e->f->carry, "");
}

void
emit_carry_out(struct emit *e, LLVMValueRef carry)
{
    /* Carry chains do not span blocks in practice, but inactive lanes must keep their flag. */
    LLVMValueRef c = e->f->flow.masked[e->f->block] ? e->mask : e->f->guard;
    if (c)
        carry = emit_select(e, c, carry, emit_carry_in(e));
    if (e->width > 1)
        emit_mask_store(e, e->f->carry, emit_splat(e, carry));
    else
        LLVMBuildStore(e->b, carry, e->f->carry);
}

void
emit_unsupported(struct emit *e, const struct ptx_inst *in, const char *why)
{
    struct cw_buf text;
    cw_buf_init(&text);
    ptx_inst_print(e->fn, in, &text);
    if (e->result == CW_OK)
        e->result = CW_ERR_UNSUPPORTED;
    cwj_diag_add(e->diags, PTX_ERROR, 5001, in->line, in->column, "not supported on %s: %s%s%s", e->target->name,
                 text.data ? text.data : ptx_op_info(in->op)->mnemonic, why ? ": " : "", why ? why : "");
    cw_buf_finish(&text);
}
