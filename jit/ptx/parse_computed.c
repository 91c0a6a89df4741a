/* SPDX-License-Identifier: Apache-2.0
 * Operands that need further instructions: an element of an array (tab[1], tab[%r1 + 8]) and a register plus a constant (%r1 + 1), which
 * NVIDIA's assembler accepts; and one conversion. The parser emits those instructions before the one with the operand, so later stages do
 * not see such operands. They have no effects and need no guard. */
#include "jit/ptx/ptx_private.h"

static struct ptx_operand
reg_operand(uint32_t r)
{
    return (struct ptx_operand){ .kind = PTX_OPND_REG, .video_sel = -1, .index = r };
}

static struct ptx_operand
imm_operand(uint64_t v)
{
    return (struct ptx_operand){ .kind = PTX_OPND_IMM, .video_sel = -1, .imm = (int64_t)v };
}

/* Insert the instruction `how` before the one being parsed. It writes a new register of `type`, which becomes `result`. */
static bool
compute(struct parser *p, struct ptx_inst how, ptx_type type, struct ptx_operand a, const struct ptx_operand *b, struct ptx_operand *result)
{
    uint32_t r;
    if (!ptx_add_register(p, "%cw$operand", type, &r))
        return false;
    how.vec = 1;
    how.line = p->tok.line;
    how.column = p->tok.column;
    how.loc_file = p->loc_file;
    how.loc_line = p->loc_line;
    how.noperands = b ? 3 : 2;
    how.operand = cw_arena_array(p->arena, struct ptx_operand, how.noperands);
    *result = how.operand[0] = reg_operand(r);
    how.operand[1] = a;
    if (b)
        how.operand[2] = *b;
    VEC_PUSH(p, p->insts, how);
    return true;
}

static bool
add(struct parser *p, ptx_type type, struct ptx_operand a, struct ptx_operand b, struct ptx_operand *result)
{
    return compute(p, (struct ptx_inst){ .op = PTX_OP_ADD, .type = { type } }, type, a, &b, result);
}

static bool
is_integer(ptx_type t)
{
    enum ptx_type_class c = ptx_type_class(t);
    return (c == PTX_CLASS_BITS || c == PTX_CLASS_UINT || c == PTX_CLASS_SINT) && ptx_type_bits(t) <= 64;
}

/* A register operand followed by `+ constant`; the current token is the `+`. */
bool
ptx_parse_sum(struct parser *p, struct ptx_operand *o)
{
    const struct ptx_reg *r = &p->regs.at[o->index];
    unsigned bits = ptx_type_bits(r->type);
    uint64_t v;
    if (!is_integer(r->type) || bits < 16 || o->negate || o->negate_pred || o->video_sel >= 0 || o->simd_sel)
        return ptx_error(p, 3091, "a constant cannot be added to register '%s' of type .%s", r->name, ptx_type_name(r->type));
    ptx_next(p);
    return ptx_parse_int(p, &v, "a constant added to a register") &&
           add(p, bits == 16 ? PTX_U16 : bits == 32 ? PTX_U32 : PTX_U64, *o, imm_operand(v), o);
}

/* The index as a 32-bit register: ptxas computes an element's offset modulo 2^32, unsigned. */
static bool
index_register(struct parser *p, struct ptx_operand *o)
{
    *o = reg_operand(p->tok.kind == T_REG ? p->tok.reg : p->tok.ident->bind.reg);
    const struct ptx_reg *r = &p->regs.at[o->index];
    ptx_type from = ptx_type_bits(r->type) == 64 ? PTX_U64 : PTX_U16;
    if (!is_integer(r->type) || ptx_type_bits(r->type) < 16)
        return ptx_error(p, 3091, "register '%s' of type .%s cannot be an index", r->name, ptx_type_name(r->type));
    ptx_next(p);
    return ptx_type_bits(r->type) == 32 ||
           compute(p, (struct ptx_inst){ .op = PTX_OP_CVT, .type = { PTX_U32, from } }, PTX_U32, *o, NULL, o);
}

/* sym[register + constant] as a register: the address in the variable's space, or a generic one if `in` accesses generic memory. */
static bool
computed_element(struct parser *p, const struct ptx_inst *in, struct ptx_operand sym, unsigned size, struct ptx_operand *o)
{
    ptx_type wide = p->m->address_size == 64 ? PTX_B64 : PTX_B32, u = wide == PTX_B64 ? PTX_U64 : PTX_U32;
    struct ptx_operand at, base, shift = imm_operand((uint64_t)__builtin_ctz(size));
    uint8_t space = sym.sym->space;
    uint64_t v = 0;
    if (!index_register(p, &at))
        return false;
    if (is_punct(p, '+') && (ptx_next(p), !ptx_parse_int(p, &v, "an index") || !add(p, PTX_U32, at, imm_operand(v), &at)))
        return false;
    if (!compute(p, (struct ptx_inst){ .op = PTX_OP_SHL, .type = { PTX_B32 } }, PTX_U32, at, &shift, &at) ||
        (wide == PTX_B64 && !compute(p, (struct ptx_inst){ .op = PTX_OP_CVT, .type = { PTX_U64, PTX_U32 } }, PTX_U64, at, NULL, &at)) ||
        !compute(p, (struct ptx_inst){ .op = PTX_OP_MOV, .type = { wide } }, wide, sym, NULL, &base) || !add(p, u, base, at, o))
        return false;
    if (in->op == PTX_OP_CVTA || in->op == PTX_OP_MOV || in->space != PTX_SPACE_GENERIC || space == PTX_SPACE_PARAM)
        return true;
    return compute(p, (struct ptx_inst){ .op = PTX_OP_CVTA, .type = { u }, .space = space }, wide, *o, NULL, o);
}

/* A 32-bit register can hold an address in shared memory: mov.u32 %r1, sh[%r2]. */
static bool
narrow_result(struct parser *p, const struct ptx_inst *in, struct ptx_operand *o)
{
    if (in->op != PTX_OP_MOV || ptx_type_bits(in->type[0]) != 32 || p->m->address_size == 32)
        return true;
    return compute(p, (struct ptx_inst){ .op = PTX_OP_CVT, .type = { PTX_U32, PTX_U64 } }, PTX_U32, *o, NULL, o);
}

/* An index behind operand `i`, the variable *o; the current token is the '['. As in ptxas, ld, ldu and st accept one as their address, mov
 * and cvta as their source. An index counts elements of the variable's type, never whole arrays or vectors. */
bool
ptx_parse_index(struct parser *p, const struct ptx_inst *in, unsigned i, struct ptx_operand *o)
{
    bool load = in->op == PTX_OP_LD || in->op == PTX_OP_LDU, address = load ? i == 1 : in->op == PTX_OP_ST && i == 0;
    const struct ptx_symbol *s = o->sym;
    unsigned size = s->kind == PTX_SYM_VAR || s->kind == PTX_SYM_PARAM ? ptx_type_bits(s->type) / 8 : 0;
    uint8_t space = in->space == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : in->space;
    if (!address && (i != 1 || (in->op != PTX_OP_MOV && in->op != PTX_OP_CVTA)))
        return ptx_error(p, 3091, "operand %u of '%s' cannot be an element of an array", i + 1, ptx_op_rows[in->op].info.mnemonic);
    if (!s->is_array || !size || o->imm)
        return ptx_error(p, 3091, "'%s' is no array here and has no elements", s->name);
    if (address && space != PTX_SPACE_GENERIC && s->space != space)
        return ptx_error(p, 3036, "'%s' is not in the space that '%s' accesses", s->name, ptx_op_rows[in->op].info.mnemonic);
    ptx_next(p);
    if (p->tok.kind == T_REG || (p->tok.kind == T_IDENT && p->tok.ident->bind.kind == BIND_REG)) {
        if (!computed_element(p, in, *o, size, o) || !narrow_result(p, in, o))
            return false;
    } else {
        uint64_t v;
        if (!ptx_parse_int(p, &v, "an index"))
            return false;
        o->imm = (uint32_t)(v * size);  /* unsigned, as an H200 has it: tab[-1] of .u64 is tab + 0xfffffff8 */
    }
    if (address) {
        o->has_reg = o->kind == PTX_OPND_REG;
        o->kind = PTX_OPND_ADDR;
    }
    return ptx_expect(p, ']', "after an index");
}

/* cvt between bf16 and bytes, which the PTX ISA has since 7.8 but ptxas 13.0 lacks: through f32, which holds both exactly. */
bool
ptx_split_convert(struct parser *p, struct ptx_inst *in)
{
    bool to = in->type[0] == PTX_BF16;
    uint8_t byte = in->type[to];
    struct ptx_inst first = { .op = PTX_OP_CVT, .type = { PTX_F32, to ? byte : PTX_BF16 }, .round = to ? PTX_RN : PTX_RND_NONE };
    if (in->op != PTX_OP_CVT || in->type[!to] != PTX_BF16 || (byte != PTX_S8 && byte != PTX_U8))
        return true;
    in->type[1] = PTX_F32;
    return compute(p, first, PTX_F32, in->operand[1], NULL, &in->operand[1]);
}
