/* SPDX-License-Identifier: Apache-2.0
 * mov in its forms: register, immediate, special register, address of a symbol, packing and unpacking (9.7.9.4). */
#include "jit/emit/emit_private.h"

static ptx_type
bits_type(unsigned bits)
{
    return bits == 8 ? PTX_B8 : bits == 16 ? PTX_B16 : bits == 32 ? PTX_B32 : PTX_B64;
}

void
emit_mov(struct emit *e, const struct ptx_inst *in)
{
    ptx_type t = (ptx_type)in->type[0];
    const struct ptx_operand *d = &in->operand[0], *s = &in->operand[1];
    unsigned bits = ptx_type_bits(t);
    if (s->kind == PTX_OPND_VEC && d->kind != PTX_OPND_VEC) {
        LLVMTypeRef whole = LLVMIntTypeInContext(e->llvm, bits), part = LLVMIntTypeInContext(e->llvm, bits / s->count);
        LLVMValueRef v = NULL;
        for (unsigned i = 0; i < s->count; i++) {
            LLVMValueRef x = emit_resize(e, emit_bitcast(e, emit_operand(e, &s->elem[i], bits_type(bits / s->count)), part), whole, false);
            x = i ? emit_bin(e, LLVMShl, x, emit_int_like(e, x, (uint64_t)i * (bits / s->count))) : x;
            v = v ? emit_bin(e, LLVMOr, v, x) : x;
        }
        emit_dst(e, in, 0, t, emit_bitcast(e, v, emit_type(e, t)));
    } else if (d->kind == PTX_OPND_VEC && s->kind != PTX_OPND_VEC) {
        unsigned n = d->count;
        LLVMTypeRef whole = LLVMIntTypeInContext(e->llvm, bits), part = LLVMIntTypeInContext(e->llvm, bits / n);
        LLVMValueRef v = emit_bitcast(e, emit_src(e, in, 1, t), whole);
        for (unsigned i = 0; i < n; i++) {
            LLVMValueRef x = i ? emit_bin(e, LLVMLShr, v, emit_int_like(e, v, (uint64_t)i * (bits / n))) : v;
            emit_dst_operand(e, &d->elem[i], bits_type(bits / n), emit_resize(e, x, part, false));
        }
    } else if (d->kind == PTX_OPND_VEC) {
        LLVMValueRef v[16];
        for (unsigned i = 0; i < d->count && i < s->count && i < 16; i++)
            v[i] = emit_operand(e, &s->elem[i], t);
        for (unsigned i = 0; i < d->count && i < s->count && i < 16; i++)
            emit_dst_operand(e, &d->elem[i], t, v[i]);
    } else if (s->kind == PTX_OPND_SYM && s->sym->kind == PTX_SYM_VAR && ptx_type_class((ptx_type)s->sym->type) == PTX_CLASS_OPAQUE && bits == 64) {
        /* A texture or surface reference yields its handle, which the variable holds; instructions expect the handle in a register. */
        LLVMValueRef v = emit_load(e, emit_symbol_place(e, s), e->i64, PTX_SPACE_GLOBAL, 8);
        emit_dst(e, in, 0, t, v);
    } else {
        emit_dst(e, in, 0, t, emit_src(e, in, 1, t));
    }
}
